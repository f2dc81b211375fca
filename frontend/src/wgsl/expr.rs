//! Expressions: access, composition, operators, conversions.

use super::builder::Id;
use super::func::Val;
use super::writer::{R, Writer};
use naga::{
    AddressSpace, BinaryOperator as Bin, Expression, Handle, Scalar, ScalarKind, StorageAccess, TypeInner, UnaryOperator, VectorSize,
};
use naga::{DerivativeAxis as Axis, DerivativeControl as Control, RelationalFunction};
use retroshade_ir::Diagnostic;
use spirv::Op;

impl<'m> Writer<'m> {
    /// The type of an expression.
    pub(super) fn type_of(&mut self, h: Handle<Expression>) -> Id {
        let module = self.module;
        let info = self.code.info;
        match info[h].ty.handle() {
            Some(t) => self.ty(t),
            None => self.inner(info[h].ty.inner_with(&module.types)),
        }
    }

    /// The number of lanes and the number type of an expression.
    pub(super) fn numeric_of(&self, h: Handle<Expression>) -> R<(Option<VectorSize>, Scalar)> {
        match *self.inner_of(h) {
            TypeInner::Scalar(s) | TypeInner::Matrix { scalar: s, .. } => Ok((None, s)),
            TypeInner::Vector { size, scalar } => Ok((Some(size), scalar)),
            _ => Err(self.error("F0115", "a scalar or vector is needed here")),
        }
    }

    /// What an expression is: written before, or one of those that need no place in the order.
    fn val(&mut self, h: Handle<Expression>) -> R<Val> {
        match self.code.values[h.index()] {
            Some(v) => Ok(v),
            None => self.eval(h),
        }
    }

    /// The id of an expression's value.
    pub(super) fn value(&mut self, h: Handle<Expression>) -> R<Id> {
        match self.val(h)? {
            Val::Id(id) => Ok(id),
            Val::At(pointer) => {
                let ty = self.type_of(h);
                Ok(self.op(Op::Load, ty, &[pointer]))
            }
        }
    }

    /// The id of a pointer.
    pub(super) fn pointer(&mut self, h: Handle<Expression>) -> R<Id> {
        match self.val(h)? {
            Val::Id(id) | Val::At(id) => Ok(id),
        }
    }

    /// A constant expression, if it is one.
    pub(super) fn constant_of(&mut self, h: Handle<Expression>) -> R<Option<Id>> {
        if let Some(v) = self.code.values[h.index()] {
            let constant = |id: &Id| self.out.is_constant(*id);
            return Ok(if let Val::Id(id) = v { Some(id).filter(constant) } else { None });
        }
        let (module, func) = (self.module, self.code.func);
        let id = match &func.expressions[h] {
            Expression::Literal(l) => self.literal(*l),
            Expression::Constant(c) => self.constant(module.constants[*c].init)?,
            Expression::ZeroValue(t) => self.zero(*t),
            Expression::Compose { ty, components } => {
                let Some(parts) = components.iter().map(|c| self.constant_of(*c)).collect::<R<Option<Vec<_>>>>()? else {
                    return Ok(None);
                };
                self.constant_composite(*ty, &parts)
            }
            Expression::Splat { size, value } => {
                let Some(one) = self.constant_of(*value)? else { return Ok(None) };
                let ty = self.type_of(h);
                self.out.composite(ty, &vec![one; *size as usize], true)
            }
            _ => return Ok(None),
        };
        self.code.values[h.index()] = Some(Val::Id(id));
        Ok(Some(id))
    }

    /// Writes an expression.
    pub(super) fn eval(&mut self, h: Handle<Expression>) -> R<Val> {
        if let Some(id) = self.constant_of(h)? {
            return Ok(Val::Id(id));
        }
        let func = self.code.func;
        Ok(Val::Id(match &func.expressions[h] {
            Expression::FunctionArgument(n) => return self.parameter(*n),
            Expression::LocalVariable(v) => self.local_variable(*v)?,
            Expression::GlobalVariable(g) => return self.global(*g),
            Expression::Access { base, index } => {
                let index = self.value(*index)?;
                return self.access(h, *base, index);
            }
            Expression::AccessIndex { base, index } => return self.access_index(h, *base, *index),
            Expression::Load { pointer } => return self.load(h, *pointer),
            Expression::Compose { components, .. } => {
                let parts = components.iter().map(|c| self.value(*c)).collect::<R<Vec<_>>>()?;
                let ty = self.type_of(h);
                self.op(Op::CompositeConstruct, ty, &parts)
            }
            Expression::Splat { size, value } => {
                let v = self.value(*value)?;
                let (_, scalar) = self.numeric_of(*value)?;
                self.splat(v, *size, scalar)
            }
            Expression::Swizzle { size, vector, pattern } => {
                let v = self.value(*vector)?;
                let ty = self.type_of(h);
                let mut operands = vec![v, v];
                operands.extend(pattern[..*size as usize].iter().map(|c| *c as u32));
                self.op(Op::VectorShuffle, ty, &operands)
            }
            Expression::ImageSample { .. } => self.image_sample(h)?,
            Expression::ImageLoad { .. } => self.image_load(h)?,
            Expression::ImageQuery { image, query } => self.image_query(h, *image, *query)?,
            Expression::Unary { op, expr } => {
                let v = self.value(*expr)?;
                let ty = self.type_of(h);
                let op = match (op, self.numeric_of(*expr)?.1.kind) {
                    (UnaryOperator::Negate, ScalarKind::Float) => Op::FNegate,
                    (UnaryOperator::Negate, _) => Op::SNegate,
                    (UnaryOperator::LogicalNot, _) => Op::LogicalNot,
                    (UnaryOperator::BitwiseNot, _) => Op::Not,
                };
                self.op(op, ty, &[v])
            }
            Expression::Binary { op, left, right } => self.binary(h, *op, *left, *right)?,
            Expression::Select { condition, accept, reject } => {
                let operands = [self.value(*condition)?, self.value(*accept)?, self.value(*reject)?];
                let ty = self.type_of(h);
                self.op(Op::Select, ty, &operands)
            }
            Expression::Derivative { axis, ctrl, expr } => {
                let v = self.value(*expr)?;
                let ty = self.type_of(h);
                let op = match (axis, ctrl) {
                    (Axis::X, Control::None) => Op::DPdx,
                    (Axis::X, Control::Coarse) => Op::DPdxCoarse,
                    (Axis::X, Control::Fine) => Op::DPdxFine,
                    (Axis::Y, Control::None) => Op::DPdy,
                    (Axis::Y, Control::Coarse) => Op::DPdyCoarse,
                    (Axis::Y, Control::Fine) => Op::DPdyFine,
                    (Axis::Width, Control::None) => Op::Fwidth,
                    (Axis::Width, Control::Coarse) => Op::FwidthCoarse,
                    (Axis::Width, Control::Fine) => Op::FwidthFine,
                };
                self.op(op, ty, &[v])
            }
            Expression::Relational { fun, argument } => {
                let v = self.value(*argument)?;
                let ty = self.type_of(h);
                let op = match fun {
                    RelationalFunction::All => Op::All,
                    RelationalFunction::Any => Op::Any,
                    RelationalFunction::IsNan => Op::IsNan,
                    RelationalFunction::IsInf => Op::IsInf,
                };
                self.op(op, ty, &[v])
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let args: Vec<_> = [Some(*arg), *arg1, *arg2, *arg3].into_iter().flatten().collect();
                self.math(h, *fun, &args)?
            }
            Expression::As { expr, kind, convert } => self.cast(h, *expr, *kind, *convert)?,
            Expression::ArrayLength(e) => self.array_length(h, *e)?,
            Expression::CooperativeLoad { .. } | Expression::CooperativeMultiplyAdd { .. } => {
                return Err(self.error("F0133", "cooperative matrices exist on none of the machines"));
            }
            Expression::RayQueryVertexPositions { .. } | Expression::RayQueryProceedResult | Expression::RayQueryGetIntersection { .. } => {
                return Err(self.error("F0120", "ray tracing exists on none of the machines"));
            }
            Expression::Override(_) => return Err(self.error("F0131", "an override without a value: give one with --define NAME=VALUE")),
            // Constants have been written above, results by their statements.
            _ => return Err(self.error("F0130", "a result that was not computed")),
        }))
    }

    fn parameter(&self, n: u32) -> R<Val> {
        self.code.args.get(n as usize).copied().ok_or_else(|| self.error("F0130", "an argument that does not exist"))
    }

    /// A pointer to a variable of the module, or a texture.
    fn global(&mut self, g: Handle<naga::GlobalVariable>) -> R<Val> {
        if let Some(n) = self.stand_ins.parameter(&self.module.global_variables[g]) {
            return self.parameter(n);
        }
        let Some(id) = self.globals.get(&g).copied() else { return Err(self.error("F0125", "a variable that was not declared")) };
        let module = self.module;
        let var = &module.global_variables[g];
        if var.space == AddressSpace::Handle {
            return Ok(Val::At(id));
        }
        if !self.wrapped(g) {
            return Ok(Val::Id(id));
        }
        let to = self.ty(var.ty);
        let ty = self.out.pointer(super::writer::class(var.space), to);
        let zero = self.out.word(0);
        Ok(Val::Id(self.op(Op::AccessChain, ty, &[id, zero])))
    }

    /// A load; composites in memory that never changes are loaded where a part of them is needed.
    fn load(&mut self, h: Handle<Expression>, pointer: Handle<Expression>) -> R<Val> {
        let p = self.pointer(pointer)?;
        let constant = match self.inner_of(pointer).pointer_space() {
            Some(AddressSpace::Uniform | AddressSpace::Immediate) => true,
            Some(AddressSpace::Storage { access }) => !access.contains(StorageAccess::STORE),
            _ => false,
        };
        if constant && !matches!(self.inner_of(h), TypeInner::Scalar(_) | TypeInner::Vector { .. }) {
            return Ok(Val::At(p));
        }
        let ty = self.type_of(h);
        if self.is_atomic(pointer) {
            let (scope, order) = (self.out.word(spirv::Scope::Device as u32), self.out.word(0));
            return Ok(Val::Id(self.op(Op::AtomicLoad, ty, &[p, scope, order])));
        }
        Ok(Val::Id(self.op(Op::Load, ty, &[p])))
    }

    /// A part of a value or pointer by a constant index.
    fn access_index(&mut self, h: Handle<Expression>, base: Handle<Expression>, index: u32) -> R<Val> {
        let pointer = self.inner_of(base).pointer_space().is_some();
        match self.val(base)? {
            Val::Id(v) if !pointer => {
                let ty = self.type_of(h);
                Ok(Val::Id(self.op(Op::CompositeExtract, ty, &[v, index])))
            }
            _ => {
                let index = self.out.word(index);
                self.access(h, base, index)
            }
        }
    }

    /// A part of a value or pointer.
    fn access(&mut self, h: Handle<Expression>, base: Handle<Expression>, index: Id) -> R<Val> {
        let ty = self.type_of(h);
        let pointer = self.inner_of(base).pointer_space().is_some();
        match self.val(base)? {
            Val::Id(p) if pointer => Ok(Val::Id(self.op(Op::AccessChain, ty, &[p, index]))),
            Val::Id(v) => {
                if matches!(self.inner_of(base), TypeInner::Vector { .. }) {
                    return Ok(Val::Id(self.op(Op::VectorExtractDynamic, ty, &[v, index])));
                }
                let whole = self.type_of(base);
                let held = self.held(whole, v);
                let to = self.out.pointer(spirv::StorageClass::Function, ty);
                let part = self.op(Op::AccessChain, to, &[held, index]);
                Ok(Val::Id(self.op(Op::Load, ty, &[part])))
            }
            Val::At(p) => {
                // The reader asks a pointer only for what it points to.
                let to = self.out.pointer(spirv::StorageClass::Uniform, ty);
                let part = self.op(Op::AccessChain, to, &[p, index]);
                Ok(match self.inner_of(h) {
                    TypeInner::Scalar(_) | TypeInner::Vector { .. } => Val::Id(self.op(Op::Load, ty, &[part])),
                    _ => Val::At(part),
                })
            }
        }
    }

    /// A scalar in every lane.
    pub(super) fn splat(&mut self, v: Id, size: VectorSize, scalar: Scalar) -> Id {
        let ty = self.out.numeric(Some(size), scalar);
        match self.out.is_constant(v) {
            true => self.out.composite(ty, &vec![v; size as usize], true),
            false => self.op(Op::CompositeConstructReplicateEXT, ty, &[v]),
        }
    }

    fn binary(&mut self, h: Handle<Expression>, op: Bin, left: Handle<Expression>, right: Handle<Expression>) -> R<Id> {
        use TypeInner::{Matrix, Scalar as One, Vector};
        let (mut x, mut y) = (self.value(left)?, self.value(right)?);
        let ty = self.type_of(h);
        let (lt, rt) = (self.inner_of(left), self.inner_of(right));
        if matches!(op, Bin::Equal | Bin::NotEqual) && !matches!(lt, One(_) | Vector { .. }) {
            let same = self.equal(lt, x, y)?;
            return Ok(if op == Bin::Equal { same } else { self.op(Op::LogicalNot, ty, &[same]) });
        }
        match (lt, rt, op) {
            (Matrix { .. }, Matrix { .. }, Bin::Multiply) => return Ok(self.op(Op::MatrixTimesMatrix, ty, &[x, y])),
            (Matrix { .. }, Vector { .. }, Bin::Multiply) => return Ok(self.op(Op::MatrixTimesVector, ty, &[x, y])),
            (Vector { .. }, Matrix { .. }, Bin::Multiply) => return Ok(self.op(Op::VectorTimesMatrix, ty, &[x, y])),
            (Matrix { .. }, One(_), Bin::Multiply) => return Ok(self.op(Op::MatrixTimesScalar, ty, &[x, y])),
            (One(_), Matrix { .. }, Bin::Multiply) => return Ok(self.op(Op::MatrixTimesScalar, ty, &[y, x])),
            (Matrix { columns, rows, scalar }, Matrix { .. }, _) => {
                let column = self.out.numeric(Some(*rows), *scalar);
                let mut parts = Vec::new();
                for n in 0..*columns as u32 {
                    let (a, b) = (self.op(Op::CompositeExtract, column, &[x, n]), self.op(Op::CompositeExtract, column, &[y, n]));
                    parts.push(self.operator(op, (Some(*rows), *scalar), column, a, b)?);
                }
                return Ok(self.op(Op::CompositeConstruct, ty, &parts));
            }
            (Vector { size, .. }, One(s), _) => y = self.splat(y, *size, *s),
            (One(s), Vector { size, .. }, _) => x = self.splat(x, *size, *s),
            _ => {}
        }
        let (size, scalar) = self.numeric_of(left)?;
        let size = size.or(self.numeric_of(right)?.0);
        self.operator(op, (size, scalar), ty, x, y)
    }

    /// Whether all parts of two composites are equal.
    fn equal(&mut self, inner: &TypeInner, x: Id, y: Id) -> R<Id> {
        let module = self.module;
        let truth = self.out.scalar(Scalar::BOOL);
        let (parts, types): (u32, Vec<&TypeInner>) = match inner {
            TypeInner::Scalar(s) => return self.operator(Bin::Equal, (None, *s), truth, x, y),
            TypeInner::Vector { size, scalar } => {
                let lanes = self.out.numeric(Some(*size), Scalar::BOOL);
                let same = self.operator(Bin::Equal, (Some(*size), *scalar), lanes, x, y)?;
                return Ok(self.op(Op::All, truth, &[same]));
            }
            TypeInner::Matrix { columns, rows, scalar } => {
                let column = TypeInner::Vector { size: *rows, scalar: *scalar };
                return self.equal_parts((0..*columns as u32).map(|n| (n, &column)), x, y);
            }
            TypeInner::Struct { members, .. } => (members.len() as u32, members.iter().map(|m| &module.types[m.ty].inner).collect()),
            TypeInner::Array { base, size: naga::ArraySize::Constant(n), .. } if n.get() <= 64 => {
                (n.get(), vec![&module.types[*base].inner; n.get() as usize])
            }
            _ => return Err(self.error("F0115", "a scalar or vector is needed here")),
        };
        self.equal_parts((0..parts).zip(types), x, y)
    }

    fn equal_parts<'t>(&mut self, parts: impl Iterator<Item = (u32, &'t TypeInner)>, x: Id, y: Id) -> R<Id> {
        let truth = self.out.scalar(Scalar::BOOL);
        let mut all = self.out.number(Scalar::BOOL, 1);
        for (n, inner) in parts {
            let ty = match self.module.types.iter().find(|(_, t)| t.inner == *inner) {
                Some((h, _)) => self.ty(h),
                None => self.inner(inner),
            };
            let (a, b) = (self.op(Op::CompositeExtract, ty, &[x, n]), self.op(Op::CompositeExtract, ty, &[y, n]));
            let same = self.equal(inner, a, b)?;
            all = self.op(Op::LogicalAnd, truth, &[all, same]);
        }
        Ok(all)
    }

    /// An operator on two scalars or vectors of the same type.
    fn operator(&mut self, op: Bin, (size, scalar): (Option<VectorSize>, Scalar), ty: Id, x: Id, y: Id) -> R<Id> {
        use ScalarKind::{Bool, Float, Sint};
        let op = match (op, scalar.kind) {
            (Bin::Add, Float) => Op::FAdd,
            (Bin::Add, _) => Op::IAdd,
            (Bin::Subtract, Float) => Op::FSub,
            (Bin::Subtract, _) => Op::ISub,
            (Bin::Multiply, Float) => Op::FMul,
            (Bin::Multiply, _) => Op::IMul,
            (Bin::Divide, Float) => Op::FDiv,
            (Bin::Modulo, Float) => Op::FRem,
            (Bin::Divide, Sint) => return Ok(self.divide(Op::SDiv, (size, scalar), ty, x, y)),
            (Bin::Divide, _) => return Ok(self.divide(Op::UDiv, (size, scalar), ty, x, y)),
            (Bin::Modulo, Sint) => return Ok(self.divide(Op::SRem, (size, scalar), ty, x, y)),
            (Bin::Modulo, _) => return Ok(self.divide(Op::UMod, (size, scalar), ty, x, y)),
            (Bin::LogicalAnd, _) | (Bin::And, Bool) => Op::LogicalAnd,
            (Bin::LogicalOr, _) | (Bin::InclusiveOr, Bool) => Op::LogicalOr,
            (Bin::ExclusiveOr, Bool) => Op::LogicalNotEqual,
            (Bin::And, _) => Op::BitwiseAnd,
            (Bin::InclusiveOr, _) => Op::BitwiseOr,
            (Bin::ExclusiveOr, _) => Op::BitwiseXor,
            (Bin::ShiftLeft, _) => Op::ShiftLeftLogical,
            (Bin::ShiftRight, Sint) => Op::ShiftRightArithmetic,
            (Bin::ShiftRight, _) => Op::ShiftRightLogical,
            (Bin::Equal, Float) => Op::FOrdEqual,
            (Bin::Equal, Bool) => Op::LogicalEqual,
            (Bin::Equal, _) => Op::IEqual,
            (Bin::NotEqual, Float) => Op::FUnordNotEqual,
            (Bin::NotEqual, Bool) => Op::LogicalNotEqual,
            (Bin::NotEqual, _) => Op::INotEqual,
            (Bin::Less, Float) => Op::FOrdLessThan,
            (Bin::Less, Sint) => Op::SLessThan,
            (Bin::Less, _) => Op::ULessThan,
            (Bin::LessEqual, Float) => Op::FOrdLessThanEqual,
            (Bin::LessEqual, Sint) => Op::SLessThanEqual,
            (Bin::LessEqual, _) => Op::ULessThanEqual,
            (Bin::Greater, Float) => Op::FOrdGreaterThan,
            (Bin::Greater, Sint) => Op::SGreaterThan,
            (Bin::Greater, _) => Op::UGreaterThan,
            (Bin::GreaterEqual, Float) => Op::FOrdGreaterThanEqual,
            (Bin::GreaterEqual, Sint) => Op::SGreaterThanEqual,
            (Bin::GreaterEqual, _) => Op::UGreaterThanEqual,
        };
        Ok(self.op(op, ty, &[x, y]))
    }

    /// Integer division. WGSL defines x / 0 = x, x % 0 = 0 and the overflowing quotient: an unusable divisor becomes 1.
    fn divide(&mut self, op: Op, (size, scalar): (Option<VectorSize>, Scalar), ty: Id, x: Id, y: Id) -> Id {
        if self.out.bits(y).is_some_and(|lanes| lanes.iter().all(|b| *b != 0 && *b != u32::MAX)) {
            return self.op(op, ty, &[x, y]);
        }
        let truth = self.out.numeric(size, Scalar::BOOL);
        let [zero, one, least, minus] = [0, 1, 1 << 31, u32::MAX].map(|bits| self.out.filled(size, scalar, bits));
        let mut bad = self.op(Op::IEqual, truth, &[y, zero]);
        if matches!(op, Op::SDiv | Op::SRem) {
            let (a, b) = (self.op(Op::IEqual, truth, &[x, least]), self.op(Op::IEqual, truth, &[y, minus]));
            let both = self.op(Op::LogicalAnd, truth, &[a, b]);
            bad = self.op(Op::LogicalOr, truth, &[bad, both]);
        }
        let y = self.op(Op::Select, ty, &[bad, one, y]);
        self.op(op, ty, &[x, y])
    }

    fn cast(&mut self, h: Handle<Expression>, expr: Handle<Expression>, to: ScalarKind, width: Option<naga::Bytes>) -> R<Id> {
        use ScalarKind::{Bool, Float, Sint, Uint};
        let v = self.value(expr)?;
        let ty = self.type_of(h);
        let (size, from) = self.numeric_of(expr)?;
        let Some(width) = width else {
            self.same_shape(h, (size, from), to)?;
            return Ok(self.op(Op::Bitcast, ty, &[v]));
        };
        let to = Scalar { kind: to, width };
        let one = if to.kind == Float { 1f32.to_bits() } else { 1 };
        let op = match (from.kind, to.kind) {
            (Bool, Bool) => return Ok(v),
            (Bool, _) => {
                let one = if to == Scalar::F16 { 0x3c00 } else { one };
                let (one, zero) = (self.out.filled(size, to, one), self.out.filled(size, to, 0));
                return Ok(self.op(Op::Select, ty, &[v, one, zero]));
            }
            (kind, Bool) => {
                let zero = self.out.filled(size, from, 0);
                return Ok(self.op(if kind == Float { Op::FUnordNotEqual } else { Op::INotEqual }, ty, &[v, zero]));
            }
            (Float, Float) => Op::FConvert,
            (Float, Sint) => Op::ConvertFToS,
            (Float, _) => Op::ConvertFToU,
            (Sint, Float) => Op::ConvertSToF,
            (_, Float) => Op::ConvertUToF,
            _ if from.width == to.width => Op::Bitcast,
            (Uint, _) => Op::UConvert,
            _ => Op::SConvert,
        };
        Ok(self.op(op, ty, &[v]))
    }

    /// Of what a `bitcast` names, naga keeps the kind of number alone: other lanes, halves that become words and words that become halves are something
    /// else for it. (A name that the program gave the type is not looked through.)
    fn same_shape(&self, h: Handle<Expression>, (size, from): (Option<VectorSize>, Scalar), to: ScalarKind) -> R<()> {
        let span = (self.spans)(self.code.func.expressions.get_span(h));
        let named = self.text.get(span.start as usize..span.end as usize).and_then(|t| t.strip_prefix("bitcast"));
        let named = named.map(|t| t.split('(').next().unwrap_or(t).trim().trim_start_matches('<').trim_end_matches('>').trim());
        let from_halves = from == Scalar::F16;
        let to_halves = named.map_or(from_halves, |n| n.contains("f16") || n.starts_with("vec") && n.ends_with('h'));
        if from_halves != to_halves || from_halves && to != ScalarKind::Float {
            let m = "`bitcast` between halves and words is not read: `pack2x16float` and `unpack2x16float` do the same";
            return Err(Diagnostic::error("F0115", span, m));
        }
        let lanes = size.map_or(1, |n| n as u32);
        let other = match named.and_then(|n| n.strip_prefix("vec")) {
            Some(n) => n.chars().next().and_then(|n| n.to_digit(10)).filter(|n| *n != lanes),
            None => matches!(named, Some("f32" | "i32" | "u32" | "f16") if lanes != 1).then_some(1),
        };
        match other {
            Some(n) => Err(Diagnostic::error("F0115", span, format!("`bitcast` of {lanes} numbers to {n} of the same size"))),
            None => Ok(()),
        }
    }

    /// Elements of the array at the end of a storage buffer.
    fn array_length(&mut self, h: Handle<Expression>, array: Handle<Expression>) -> R<Id> {
        let func = self.code.func;
        let ty = self.type_of(h);
        let (buffer, member) = match func.expressions[array] {
            Expression::GlobalVariable(g) if self.wrapped(g) => (self.globals.get(&g).copied().unwrap_or_default(), 0),
            Expression::AccessIndex { base, index } => (self.pointer(base)?, index),
            // A parameter points to the array itself.
            _ => (self.pointer(array)?, 0),
        };
        Ok(self.op(Op::ArrayLength, ty, &[buffer, member]))
    }
}
