//! Expressions: literals, access, composition, operators, conversions.

use crate::convert::{Converter, Lang, R};
use crate::place::{Place, Step};
use crate::types::Ty;
use crate::value::Val;
use naga::{BinaryOperator as Bin, Expression, Handle, Literal, ScalarKind, TypeInner, UnaryOperator};
use retroshade_ir::inst::{Imm, MemRef};
use retroshade_ir::types::{F32, I1, I32, Scalar};
use retroshade_ir::{FloatCC, IntCC, Opcode, Value};

/// How a number is read by an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
}

pub(crate) fn kind_of(s: naga::Scalar) -> Kind {
    match s.kind {
        ScalarKind::Float | ScalarKind::AbstractFloat => Kind::Float,
        ScalarKind::Sint | ScalarKind::AbstractInt => Kind::Signed,
        ScalarKind::Uint => Kind::Unsigned,
        ScalarKind::Bool => Kind::Bool,
    }
}

impl<'m> Converter<'m> {
    /// The shape of an expression's value; for pointers, of what they point to.
    pub(crate) fn expr_ty(&self, h: Handle<Expression>) -> Ty {
        let Some(frame) = self.frames.last() else { return Ty::Opaque };
        let res = &frame.info[h].ty;
        match res.inner_with(&self.nm.types) {
            TypeInner::Pointer { base, .. } => Ty::of(self.nm, *base),
            TypeInner::ValuePointer { size: Some(n), scalar, .. } => Ty::Vector(*n as u8, *scalar),
            TypeInner::ValuePointer { size: None, scalar, .. } => Ty::Scalar(*scalar),
            inner => Ty::of_inner(inner, res.handle()),
        }
    }

    /// How numbers of an expression's type are read.
    pub(crate) fn kind(&self, h: Handle<Expression>) -> Kind {
        self.expr_ty(h).scalar().map_or(Kind::Float, kind_of)
    }

    /// The value of an expression: emitted before, or one of those that need no emission.
    pub(crate) fn expr(&mut self, h: Handle<Expression>) -> R<Val> {
        let Some(frame) = self.frames.last() else { return Err(self.error("F0130", "an expression outside a function")) };
        if let Some(v) = frame.exprs.get(&h) {
            return Ok(v.clone());
        }
        let f = frame.func;
        match &f.expressions[h] {
            Expression::FunctionArgument(n) => match frame.args.get(*n as usize) {
                Some(v) => Ok(v.clone()),
                None => Err(self.error("F0130", "an argument that does not exist")),
            },
            Expression::LocalVariable(v) => {
                let Some(slot) = frame.locals.get(v.index()).copied() else {
                    return Err(self.error("F0130", "a variable that does not exist"));
                };
                let ty = Ty::of(self.nm, f.local_variables[*v].ty);
                Ok(Val::Place(Place::of(crate::place::Root::Slot(slot), ty)))
            }
            Expression::CallResult(_) | Expression::AtomicResult { .. } | Expression::WorkGroupUniformLoadResult { .. } => {
                Err(self.error("F0130", "a result that was not computed"))
            }
            _ => self.eval(h),
        }
    }

    /// The IR value of a scalar or vector expression.
    pub(crate) fn expr_leaf(&mut self, h: Handle<Expression>) -> R<Value> {
        let v = self.expr(h)?;
        self.leaf(&v)
    }

    /// Computes an expression now.
    pub(crate) fn eval(&mut self, h: Handle<Expression>) -> R<Val> {
        let Some(frame) = self.frames.last() else { return Err(self.error("F0130", "an expression outside a function")) };
        let f: &'m naga::Function = frame.func;
        match &f.expressions[h] {
            Expression::Literal(l) => self.literal(*l),
            Expression::Constant(c) => {
                let init = self.nm.constants[*c].init;
                self.global_expr(init)
            }
            Expression::Override(_) => Err(self.error("F0131", "an override without a value: give one with --define NAME=VALUE")),
            Expression::ZeroValue(t) => self.fill(Ty::of(self.nm, *t), Some(0)),
            Expression::Compose { ty, components } => {
                self.value_limit(Ty::of(self.nm, *ty).leaves(self.nm))?;
                let mut parts = Vec::new();
                for c in components {
                    parts.push(self.expr(*c)?);
                }
                self.compose(Ty::of(self.nm, *ty), parts)
            }
            Expression::Access { base, index } => {
                let i = self.expr_leaf(*index)?;
                let step = match self.known(i) {
                    Some(n) => Step::Const(n),
                    None => Step::Dyn(i),
                };
                let base = self.expr(*base)?;
                self.access(&base, step)
            }
            Expression::AccessIndex { base, index } => {
                let base = self.expr(*base)?;
                self.access(&base, Step::Const(*index))
            }
            Expression::Splat { size, value } => {
                let v = self.expr_leaf(*value)?;
                Ok(Val::Leaf(self.splat(v, *size as u8)))
            }
            Expression::Swizzle { size, vector, pattern } => {
                let v = self.expr_leaf(*vector)?;
                let p: Vec<u8> = pattern[..*size as usize].iter().map(|c| *c as u8).collect();
                Ok(Val::Leaf(self.swizzle(v, &p)))
            }
            Expression::GlobalVariable(g) => self.global_val(*g),
            Expression::Load { pointer } => match self.expr(*pointer)? {
                Val::Place(p) => self.load(&p),
                other => Ok(other),
            },
            Expression::ImageSample { .. } => self.image_sample(h),
            Expression::ImageLoad { image, coordinate, array_index, sample, level } => {
                self.image_load(*image, *coordinate, *array_index, *sample, *level)
            }
            Expression::ImageQuery { image, query } => self.image_query(*image, *query),
            Expression::Unary { op, expr } => {
                let kind = self.kind(*expr);
                let v = self.expr(*expr)?;
                self.unary(*op, kind, &v)
            }
            Expression::Binary { op, left, right } => {
                let (lt, rt) = (self.expr_ty(*left), self.expr_ty(*right));
                let (a, b) = (self.expr(*left)?, self.expr(*right)?);
                self.binary(*op, lt, rt, &a, &b)
            }
            Expression::Select { condition, accept, reject } => {
                let c = self.expr_leaf(*condition)?;
                let (a, b) = (self.expr(*accept)?, self.expr(*reject)?);
                self.select_val(c, &a, &b)
            }
            Expression::Derivative { axis, ctrl, expr } => {
                let v = self.expr_leaf(*expr)?;
                let hint = match ctrl {
                    naga::DerivativeControl::None => 0,
                    naga::DerivativeControl::Coarse => 1,
                    naga::DerivativeControl::Fine => 2,
                };
                let mut d = |op| self.b().ins_imm(op, &[v], Imm::Hint(hint));
                Ok(Val::Leaf(match axis {
                    naga::DerivativeAxis::X => d(Opcode::Ddx),
                    naga::DerivativeAxis::Y => d(Opcode::Ddy),
                    naga::DerivativeAxis::Width => {
                        let (x, y) = (d(Opcode::Ddx), d(Opcode::Ddy));
                        let x = self.b().ins(Opcode::Fabs, &[x]);
                        let y = self.b().ins(Opcode::Fabs, &[y]);
                        self.b().ins(Opcode::Fadd, &[x, y])
                    }
                }))
            }
            Expression::Relational { fun, argument } => {
                let v = self.expr_leaf(*argument)?;
                let vector = self.func().ty(v).is_vector();
                Ok(Val::Leaf(match fun {
                    naga::RelationalFunction::All if vector => self.b().ins(Opcode::All, &[v]),
                    naga::RelationalFunction::Any if vector => self.b().ins(Opcode::Any, &[v]),
                    naga::RelationalFunction::All | naga::RelationalFunction::Any => v,
                    naga::RelationalFunction::IsNan => self.b().fcmp(FloatCC::Uno, v, v),
                    naga::RelationalFunction::IsInf => {
                        let a = self.b().ins(Opcode::Fabs, &[v]);
                        let ty = self.func().ty(v);
                        let inf = self.fconst(ty, f32::INFINITY);
                        self.b().fcmp(FloatCC::Oeq, a, inf)
                    }
                }))
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => self.math(*fun, *arg, *arg1, *arg2, *arg3),
            Expression::As { expr, kind, convert } => {
                let from = self.expr_ty(*expr);
                let v = self.expr(*expr)?;
                self.cast(from, *kind, *convert, &v)
            }
            Expression::ArrayLength(e) => {
                let Val::Place(p) = self.expr(*e)? else { return Err(self.error("F0132", "the length of something that is no buffer")) };
                self.array_length(&p)
            }
            Expression::FunctionArgument(_) | Expression::LocalVariable(_) => self.expr(h),
            Expression::SubgroupBallotResult | Expression::SubgroupOperationResult { .. } => {
                Err(self.error("F0133", "subgroup operations exist on none of the machines"))
            }
            Expression::CooperativeLoad { .. } | Expression::CooperativeMultiplyAdd { .. } => {
                Err(self.error("F0133", "cooperative matrices exist on none of the machines"))
            }
            Expression::RayQueryVertexPositions { .. } | Expression::RayQueryProceedResult | Expression::RayQueryGetIntersection { .. } => {
                Err(self.error("F0120", "ray tracing exists on none of the machines"))
            }
            Expression::CallResult(_) | Expression::AtomicResult { .. } | Expression::WorkGroupUniformLoadResult { .. } => {
                Err(self.error("F0130", "a result that was not computed"))
            }
        }
    }

    /// The value of a constant expression of the module.
    pub(crate) fn global_expr(&mut self, h: Handle<Expression>) -> R<Val> {
        let nm = self.nm;
        match &nm.global_expressions[h] {
            Expression::Literal(l) => self.literal(*l),
            Expression::Constant(c) => self.global_expr(nm.constants[*c].init),
            Expression::ZeroValue(t) => self.fill(Ty::of(nm, *t), Some(0)),
            Expression::Compose { ty, components } => {
                self.value_limit(Ty::of(self.nm, *ty).leaves(self.nm))?;
                let mut parts = Vec::new();
                for c in components {
                    parts.push(self.global_expr(*c)?);
                }
                self.compose(Ty::of(nm, *ty), parts)
            }
            Expression::Splat { size, value } => {
                let v = self.global_expr(*value)?;
                let v = self.leaf(&v)?;
                Ok(Val::Leaf(self.splat(v, *size as u8)))
            }
            Expression::Override(_) => Err(self.error("F0131", "an override without a value: give one with --define NAME=VALUE")),
            _ => Err(self.error("F0134", "a constant that cannot be computed at compile time")),
        }
    }

    fn literal(&mut self, l: Literal) -> R<Val> {
        let (ty, bits) = match l {
            Literal::F32(x) => (F32, x.to_bits()),
            Literal::F16(x) => (retroshade_ir::types::F16, x.to_bits().into()),
            Literal::U32(x) => (I32, x),
            Literal::I32(x) => (I32, x as u32),
            Literal::Bool(x) => (I1, x.into()),
            Literal::AbstractInt(x) => (I32, x as u32),
            Literal::AbstractFloat(x) => (F32, (x as f32).to_bits()),
            Literal::F64(_) | Literal::U64(_) | Literal::I64(_) | Literal::U16(_) | Literal::I16(_) => {
                return Err(self.error("F0114", "16- and 64-bit integers and 64-bit floats exist on none of the machines"));
            }
        };
        Ok(Val::Leaf(self.splat_const(ty, bits)))
    }

    /// Puts parts together.
    pub(crate) fn compose(&mut self, ty: Ty, parts: Vec<Val>) -> R<Val> {
        match ty {
            Ty::Vector(n, _) => {
                if let [one] = &parts[..] {
                    let v = self.leaf(one)?;
                    return Ok(Val::Leaf(self.splat(v, n)));
                }
                let mut lanes = Vec::new();
                for p in &parts {
                    let v = self.leaf(p)?;
                    lanes.extend(self.lanes(v));
                }
                lanes.truncate(n.into());
                Ok(Val::Leaf(self.vector(&lanes)))
            }
            Ty::Matrix(c, r, _) if parts.len() == usize::from(c) * usize::from(r) && parts.len() != usize::from(c) => {
                let mut columns = Vec::new();
                for column in parts.chunks(r.into()) {
                    let mut lanes = Vec::new();
                    for p in column {
                        lanes.push(self.leaf(p)?);
                    }
                    columns.push(Val::Leaf(self.vector(&lanes)));
                }
                Ok(Val::agg(columns))
            }
            Ty::Scalar(_) => parts.into_iter().next().ok_or_else(|| self.error("F0130", "an empty value")),
            _ => {
                let mut out = Vec::new();
                for p in &parts {
                    out.push(self.force(p)?);
                }
                Ok(Val::agg(out))
            }
        }
    }

    /// A part of a value or pointer.
    fn access(&mut self, base: &Val, step: Step) -> R<Val> {
        match base {
            Val::Place(p) => {
                let part = self.step(p, step)?;
                // A composite that waits in read-only memory is a value: its scalars and vectors are loaded here, which
                // does no harm to pointers, since what they point to never changes.
                Ok(Val::Place(part))
            }
            Val::Leaf(v) => Ok(Val::Leaf(self.lane_at(*v, step))),
            Val::Agg(parts) => match step {
                Step::Const(n) => match parts.get(n as usize).or(parts.last()) {
                    Some(p) => Ok(p.clone()),
                    None => Err(self.error("F0111", "an index into something that has no parts")),
                },
                Step::Dyn(index) if parts.len() <= 4 => self.pick(&parts.clone(), index),
                Step::Dyn(index) => self.table(&parts.clone(), index),
            },
            Val::Transposed(_) | Val::Product(_) => {
                let m = self.force(base)?;
                self.access(&m, step)
            }
            Val::Resource(_) => Err(self.error("F0135", "arrays of textures and samplers exist on none of the machines")),
        }
    }

    pub(crate) fn unary(&mut self, op: UnaryOperator, kind: Kind, v: &Val) -> R<Val> {
        let op = match (op, kind) {
            (UnaryOperator::Negate, Kind::Float) => Opcode::Fneg,
            (UnaryOperator::Negate, _) => Opcode::Ineg,
            _ => Opcode::Inot,
        };
        self.map(v, &mut |c, x| c.b().ins(op, &[x]))
    }

    /// Applies something to every leaf.
    pub(crate) fn map(&mut self, v: &Val, f: &mut dyn FnMut(&mut Self, Value) -> Value) -> R<Val> {
        match self.force(v)? {
            Val::Leaf(x) => Ok(Val::Leaf(f(self, x))),
            Val::Agg(parts) => {
                let mut out = Vec::new();
                for p in parts.iter() {
                    out.push(self.map(p, f)?);
                }
                Ok(Val::agg(out))
            }
            _ => Err(self.error("F0115", "a number is needed here")),
        }
    }

    pub(crate) fn columns(&mut self, v: &Val) -> R<Vec<Value>> {
        let Val::Agg(parts) = self.force(v)? else { return Err(self.error("F0115", "a matrix is needed here")) };
        parts.iter().map(|p| self.leaf(p)).collect()
    }

    pub(crate) fn matrix(columns: Vec<Value>) -> Val {
        Val::agg(columns.into_iter().map(Val::Leaf).collect())
    }

    fn binary(&mut self, op: Bin, lt: Ty, rt: Ty, a: &Val, b: &Val) -> R<Val> {
        let kind = lt.scalar().map_or(Kind::Float, kind_of);
        match (lt, rt, op) {
            (Ty::Matrix(..), Ty::Matrix(..), Bin::Multiply) => {
                return Ok(Val::Product((a.clone(), b.clone(), self.loops).into()));
            }
            (Ty::Matrix(..), Ty::Vector(..), Bin::Multiply) => {
                let v = self.leaf(b)?;
                return Ok(Val::Leaf(self.mat_vec(a, v)?));
            }
            (Ty::Vector(..), Ty::Matrix(..), Bin::Multiply) => {
                let v = self.leaf(a)?;
                return Ok(Val::Leaf(self.vec_mat(v, b)?));
            }
            (Ty::Matrix(..), _, _) | (_, Ty::Matrix(..), _) => {
                let n = if let (Ty::Matrix(n, ..), _) | (_, Ty::Matrix(n, ..)) = (lt, rt) { n } else { 0 };
                let mut side = |v: &Val, ty: Ty| -> R<Vec<Value>> {
                    if matches!(ty, Ty::Matrix(..)) { self.columns(v) } else { self.leaf(v).map(|x| vec![x; n.into()]) }
                };
                let (x, y) = (side(a, lt)?, side(b, rt)?);
                if matches!(op, Bin::Equal | Bin::NotEqual) {
                    let mut all = None;
                    for (x, y) in x.into_iter().zip(y) {
                        let e = self.operator(op, kind, x, y)?;
                        let e = self.b().ins(if op == Bin::Equal { Opcode::All } else { Opcode::Any }, &[e]);
                        let join = if op == Bin::Equal { Opcode::Iand } else { Opcode::Ior };
                        all = Some(match all {
                            None => e,
                            Some(p) => self.b().ins(join, &[p, e]),
                        });
                    }
                    return all.map(Val::Leaf).ok_or_else(|| self.error("F0115", "a matrix is needed here"));
                }
                let mut out = Vec::new();
                for (x, y) in x.into_iter().zip(y) {
                    out.push(self.operator(op, kind, x, y)?);
                }
                return Ok(Self::matrix(out));
            }
            _ => {}
        }
        let (x, y) = (self.leaf(a)?, self.leaf(b)?);
        Ok(Val::Leaf(self.operator(op, kind, x, y)?))
    }

    /// Matrix times column vector: the sum of the columns times the lanes, or rows' dot products of a transpose.
    pub(crate) fn mat_vec(&mut self, m: &Val, v: Value) -> R<Value> {
        if let Val::Transposed(inner) = m {
            return self.vec_mat(v, &inner.clone());
        }
        if let Some((a, b)) = self.product(m) {
            let v = self.mat_vec(&b, v)?;
            return self.mat_vec(&a, v);
        }
        let columns = self.columns(m)?;
        let mut sum = None;
        for (n, c) in columns.into_iter().enumerate() {
            let lanes = self.func().ty(c).lanes;
            let x = self.lane(v, n as u8);
            let x = self.splat(x, lanes);
            let p = self.b().ins(Opcode::Fmul, &[c, x]);
            sum = Some(match sum {
                None => p,
                Some(s) => self.b().ins(Opcode::Fadd, &[s, p]),
            });
        }
        sum.ok_or_else(|| self.error("F0115", "a matrix is needed here"))
    }

    /// The factors of a product that is best applied one after the other. One from outside the current loop is better
    /// computed once there.
    fn product(&self, m: &Val) -> Option<(Val, Val)> {
        match m {
            Val::Product(p) if p.2 == self.loops => Some((p.0.clone(), p.1.clone())),
            _ => None,
        }
    }

    /// Row vector times matrix: a dot product per column.
    fn vec_mat(&mut self, v: Value, m: &Val) -> R<Value> {
        if let Val::Transposed(inner) = m {
            return self.mat_vec(&inner.clone(), v);
        }
        if let Some((a, b)) = self.product(m) {
            let v = self.vec_mat(v, &a)?;
            return self.vec_mat(v, &b);
        }
        let columns = self.columns(m)?;
        let lanes: Vec<Value> = columns.into_iter().map(|c| self.b().ins(Opcode::Dot, &[v, c])).collect();
        Ok(self.vector(&lanes))
    }

    /// An operator on scalars or vectors; a scalar beside a vector is spread over its lanes.
    pub(crate) fn operator(&mut self, op: Bin, kind: Kind, x: Value, y: Value) -> R<Value> {
        let lanes = self.func().ty(x).lanes.max(self.func().ty(y).lanes);
        let (x, y) = (self.splat(x, lanes), self.splat(y, lanes));
        use Kind::*;
        let simple = match (op, kind) {
            (Bin::Add, Float) => Opcode::Fadd,
            (Bin::Add, _) => Opcode::Iadd,
            (Bin::Subtract, Float) => Opcode::Fsub,
            (Bin::Subtract, _) => Opcode::Isub,
            (Bin::Multiply, Float) => Opcode::Fmul,
            (Bin::Multiply, _) => Opcode::Imul,
            (Bin::Divide, Float) => Opcode::Fdiv,
            (Bin::Divide, Signed) => return Ok(self.int_divide(Opcode::Sdiv, x, y)),
            (Bin::Divide, _) => return Ok(self.int_divide(Opcode::Udiv, x, y)),
            (Bin::Modulo, Float) => {
                let q = self.b().ins(Opcode::Fdiv, &[x, y]);
                let t = self.b().ins(Opcode::Ftrunc, &[q]);
                let p = self.b().ins(Opcode::Fmul, &[t, y]);
                return Ok(self.b().ins(Opcode::Fsub, &[x, p]));
            }
            (Bin::Modulo, Signed) => return Ok(self.int_divide(Opcode::Srem, x, y)),
            (Bin::Modulo, _) => return Ok(self.int_divide(Opcode::Urem, x, y)),
            (Bin::And | Bin::LogicalAnd, _) => Opcode::Iand,
            (Bin::InclusiveOr | Bin::LogicalOr, _) => Opcode::Ior,
            (Bin::ExclusiveOr, _) => Opcode::Ixor,
            (Bin::ShiftLeft, _) => Opcode::Ishl,
            (Bin::ShiftRight, Signed) => Opcode::Sshr,
            (Bin::ShiftRight, _) => Opcode::Ushr,
            (Bin::Equal | Bin::NotEqual | Bin::Less | Bin::LessEqual | Bin::Greater | Bin::GreaterEqual, Float) => {
                let cc = match op {
                    Bin::Equal => FloatCC::Oeq,
                    Bin::NotEqual => FloatCC::Une,
                    Bin::Less => FloatCC::Olt,
                    Bin::LessEqual => FloatCC::Ole,
                    Bin::Greater => FloatCC::Ogt,
                    _ => FloatCC::Oge,
                };
                return Ok(self.b().fcmp(cc, x, y));
            }
            (Bin::Equal | Bin::NotEqual | Bin::Less | Bin::LessEqual | Bin::Greater | Bin::GreaterEqual, _) => {
                let cc = match (op, kind == Signed) {
                    (Bin::Equal, _) => IntCC::Eq,
                    (Bin::NotEqual, _) => IntCC::Ne,
                    (Bin::Less, true) => IntCC::Slt,
                    (Bin::Less, false) => IntCC::Ult,
                    (Bin::LessEqual, true) => IntCC::Sle,
                    (Bin::LessEqual, false) => IntCC::Ule,
                    (Bin::Greater, true) => IntCC::Sgt,
                    (Bin::Greater, false) => IntCC::Ugt,
                    (_, true) => IntCC::Sge,
                    (_, false) => IntCC::Uge,
                };
                return Ok(self.b().icmp(cc, x, y));
            }
        };
        Ok(self.b().ins(simple, &[x, y]))
    }

    /// Integer division. WGSL defines x / 0 = x, x % 0 = 0 and the overflowing quotient: there an unusable divisor becomes 1.
    fn int_divide(&mut self, op: Opcode, x: Value, y: Value) -> Value {
        let ty = self.func().ty(y);
        let safe = (0..ty.lanes).all(|n| match crate::value::trace_lane(self.func(), y, n) {
            crate::value::Lane::Bits(b) => b != 0 && b != u32::MAX,
            _ => false,
        });
        if self.lang != Lang::Wgsl || safe {
            return self.b().ins(op, &[x, y]);
        }
        let zero = self.splat_const(ty, 0);
        let mut bad = self.b().icmp(IntCC::Eq, y, zero);
        if matches!(op, Opcode::Sdiv | Opcode::Srem) {
            let (least, minus) = (self.splat_const(ty, 1 << 31), self.splat_const(ty, u32::MAX));
            let a = self.b().icmp(IntCC::Eq, x, least);
            let b = self.b().icmp(IntCC::Eq, y, minus);
            let both = self.b().ins(Opcode::Iand, &[a, b]);
            bad = self.b().ins(Opcode::Ior, &[bad, both]);
        }
        let one = self.splat_const(ty, 1);
        let y = self.b().select(bad, one, y);
        self.b().ins(op, &[x, y])
    }

    fn cast(&mut self, from: Ty, to: ScalarKind, width: Option<u8>, v: &Val) -> R<Val> {
        let kind = from.scalar().map_or(Kind::Float, kind_of);
        let to_scalar = naga::Scalar { kind: to, width: width.or(from.scalar().map(|s| s.width)).unwrap_or(4) };
        let target = self.ir_ty(Ty::Scalar(to_scalar))?.scalar;
        let convert = width.is_some();
        self.map(v, &mut |c, x| c.cast_leaf(kind, kind_of(to_scalar), target, convert, x))
    }

    fn cast_leaf(&mut self, from: Kind, to: Kind, target: Scalar, convert: bool, x: Value) -> Value {
        let ty = self.func().ty(x);
        let out = ty.with_scalar(target);
        if !convert {
            return if ty == out { x } else { self.b().typed(Opcode::Bitcast, out, &[x], Imm::None) };
        }
        use Kind::*;
        let op = match (from, to) {
            (Bool, Bool) => return x,
            (Bool, Float) => {
                let (one, zero) = (self.fconst(out, 1.0), self.fconst(out, 0.0));
                return self.b().select(x, one, zero);
            }
            (Bool, _) => {
                let (one, zero) = (self.splat_const(out, 1), self.splat_const(out, 0));
                return self.b().select(x, one, zero);
            }
            (Float, Bool) => {
                let zero = self.fconst(ty, 0.0);
                return self.b().fcmp(FloatCC::Une, x, zero);
            }
            (_, Bool) => {
                let zero = self.splat_const(ty, 0);
                return self.b().icmp(IntCC::Ne, x, zero);
            }
            (Float, Float) if ty == out => return x,
            (Float, Float) => Opcode::Fcvt,
            (Float, Signed) => Opcode::F2s,
            (Float, Unsigned) => Opcode::F2u,
            (Signed, Float) => Opcode::S2f,
            (Unsigned, Float) => Opcode::U2f,
            _ => return x,
        };
        self.b().typed(op, out, &[x], Imm::None)
    }

    /// Elements of the array at the end of a storage buffer.
    fn array_length(&mut self, p: &Place) -> R<Val> {
        let crate::place::Address { decl, at, ty, stride, .. } = self.storage_address(p)?;
        if !matches!(ty, Ty::Array(..)) {
            return Err(self.error("F0132", "the length of something that is no array"));
        }
        let words = self.b().typed(Opcode::StorageLen, I32, &[], Imm::Mem { var: MemRef::Storage(decl), offset: 0 });
        let words = if at.0 == 0 {
            words
        } else {
            let k = self.iconst(at.0);
            self.b().ins(Opcode::Isub, &[words, k])
        };
        if stride <= 1 {
            return Ok(Val::Leaf(words));
        }
        let k = self.iconst(stride);
        Ok(Val::Leaf(self.b().ins(Opcode::Udiv, &[words, k])))
    }
}
