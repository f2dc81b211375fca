//! Instructions: memory, composites, arithmetic, comparisons, conversions, atomics, barriers.

use super::binary::{Id, Inst, R, malformed};
use super::convert::Converter;
use super::place::{Mem, Place, Root, Slot, Step};
use super::types::{Kind, Num, Ty};
use super::value::{Lane, Val, trace_lane};
use retroshade_ir::inst::{AtomicOp, Imm, MemRef};
use retroshade_ir::types::{F16, I1, I32};
use retroshade_ir::{FloatCC, IntCC, Opcode, Stage, Value};
use spirv::{Decoration, Op};

impl<'m> Converter<'m> {
    /// The shape of an instruction's result.
    pub(crate) fn result_ty(&self, i: &Inst<'_>) -> R<Ty> {
        self.types.shape(i.word(0)?).ok_or_else(|| malformed(i.at, "an unknown type"))
    }

    /// An instruction that ends no block.
    pub(crate) fn inst(&mut self, i: &Inst<'m>) -> R<()> {
        match i.op {
            Op::Nop | Op::Phi | Op::SelectionMerge | Op::LoopMerge | Op::MemoryBarrier | Op::Name | Op::ModuleProcessed => Ok(()),
            Op::Line => {
                let file = self.b.strings.get(&i.word(0)?).map_or("", String::as_str);
                self.span = (self.facts.place)(file, i.word(1)?, i.word(2)?);
                Ok(())
            }
            Op::NoLine => {
                self.span = retroshade_ir::Span::NONE;
                Ok(())
            }
            Op::Variable => self.variable(i),
            Op::Store => {
                let v = self.value(i.word(1)?)?;
                let p = self.pointer(i.word(0)?)?;
                self.store(&p, &v)
            }
            Op::CopyMemory => {
                let from = self.pointer(i.word(1)?)?;
                let v = self.load(&from)?;
                let v = self.force(&v)?;
                let to = self.pointer(i.word(0)?)?;
                self.store(&to, &v)
            }
            Op::FunctionCall => self.call(i),
            Op::ExtInst => self.extended(i),
            Op::ControlBarrier => {
                // Of a subgroup, whose invocations run in step, it is none.
                if self.out.stage == Stage::Compute {
                    self.b().effect(Opcode::Barrier, &[], Imm::None);
                }
                Ok(())
            }
            Op::DemoteToHelperInvocation => {
                let yes = self.splat_const(I1, 1);
                self.b().effect(Opcode::Discard, &[yes], Imm::None);
                Ok(())
            }
            Op::EmitVertex | Op::EmitStreamVertex => {
                let stream = self.stream(i)?;
                self.write_outputs();
                self.b().effect(Opcode::EmitVertex, &[], Imm::Stream(stream));
                Ok(())
            }
            Op::EndPrimitive | Op::EndStreamPrimitive => {
                let stream = self.stream(i)?;
                self.b().effect(Opcode::EndPrimitive, &[], Imm::Stream(stream));
                Ok(())
            }
            op if is_atomic(op) => self.atomic(i),
            Op::ImageWrite => Err(self.error("F0136", "a store to a texture: none of the machines can write textures from a program")),
            _ => {
                let id = i.word(1)?;
                let ty = self.result_ty(i)?;
                let v = self.compute(i, ty)?;
                self.check(i, ty, &v)?;
                self.set(id, v);
                Ok(())
            }
        }
    }

    /// A module whose operands do not fit its result type is malformed.
    fn check(&mut self, i: &Inst<'_>, ty: Ty, v: &Val) -> R<()> {
        if let Val::Leaf(x) = v
            && ty.is_leaf()
        {
            let t = self.ir_ty(ty)?;
            if self.func().ty(*x) != t {
                let has = self.func().ty(*x);
                return Err(malformed(i.at, format_args!("{:?} gives {has} where its type says {t}", i.op)));
            }
        }
        Ok(())
    }

    fn stream(&mut self, i: &Inst<'_>) -> R<u8> {
        if i.operands.is_empty() {
            return Ok(0);
        }
        let v = self.value_leaf(i.word(0)?)?;
        match self.known(v) {
            Some(n @ 0..=3) => Ok(n as u8),
            _ => Err(malformed(i.at, "a vertex stream that does not exist")),
        }
    }

    /// What a pointer points to.
    pub(crate) fn pointer(&mut self, id: Id) -> R<Place> {
        match self.value(id)? {
            Val::Place(p) => Ok(p),
            _ => Err(malformed(self.at, format_args!("%{id} is no pointer"))),
        }
    }

    fn variable(&mut self, i: &Inst<'m>) -> R<()> {
        let id = i.word(1)?;
        let Some(ty) = self.types.pointee(i.word(0)?).and_then(|t| self.types.shape(t)) else {
            return Err(self.error("F0112", "variables that hold pointers exist on none of the machines"));
        };
        if let Some(c) = self.used.tables.get(&id) {
            self.set(id, Val::Place(Place::of(Root::Constant(*c), ty)));
            return Ok(());
        }
        if self.used.passed.contains(&id) {
            // What it is set to is what is passed on.
            let held = self.hold(Val::Agg(Vec::new().into()));
            self.set(id, Val::Place(Place::of(Root::Held(held), ty)));
            if let Some(init) = i.operands.get(3) {
                let v = self.value(*init)?;
                self.held[held as usize] = v;
            }
            return Ok(());
        }
        let name = self.b.name(id).unwrap_or_default();
        let slot = self.make_slot(name, ty, &(id, Default::default()), false)?;
        match i.operands.get(3) {
            Some(_) if self.used.filled.contains(&id) => self.fill_slot(&slot)?,
            Some(init) => self.first_value(&slot, *init, ty)?,
            None => self.fill_slot(&slot)?,
        }
        let slot = self.add_slot(slot);
        self.set(id, Val::Place(Place::of(Root::Slot(slot), ty)));
        Ok(())
    }

    /// Sets a variable to its first value.
    pub(crate) fn first_value(&mut self, slot: &Slot, init: Id, ty: Ty) -> R<()> {
        if let (Slot::Mem(m), Some(super::consts::Const::Null)) = (slot, self.consts.get(&init)) {
            return self.zero_mem(m);
        }
        let v = self.value(init)?;
        self.store_slot(slot, &[], &v, ty)
    }

    /// A variable without a first value holds anything.
    pub(crate) fn fill_slot(&mut self, slot: &Slot) -> R<()> {
        match slot {
            Slot::Leaf(var) => {
                let t = self.ssa.ty(*var);
                let v = self.undef(t);
                self.write_var(*var, v);
                Ok(())
            }
            Slot::Agg(parts, _) => parts.iter().try_for_each(|p| self.fill_slot(p)),
            Slot::Mem(_) => Ok(()),
        }
    }

    /// An index as a step.
    fn index(&mut self, id: Id) -> R<Step> {
        let v = self.value_leaf(id)?;
        if self.func().ty(v) != I32 {
            return Err(malformed(self.at, "an index that is no 32-bit integer"));
        }
        Ok(self.known(v).map_or(Step::Dyn(v), Step::Const))
    }

    fn chain(&mut self, i: &Inst<'_>, first: usize) -> R<Val> {
        let mut p = self.pointer(i.word(2)?)?;
        for id in i.rest(first) {
            let s = self.index(*id)?;
            if let (Ty::Struct(_), Step::Dyn(_)) = (p.ty, s) {
                return Err(malformed(i.at, "a member chosen by a computed value"));
            }
            p = self.step(&p, s)?;
        }
        Ok(Val::Place(p))
    }

    /// The value of an instruction that has one.
    fn compute(&mut self, i: &Inst<'m>, ty: Ty) -> R<Val> {
        match i.op {
            Op::Undef => self.undef_of(ty),
            Op::Load => {
                let p = self.pointer(i.word(2)?)?;
                self.load(&p)
            }
            Op::AccessChain | Op::InBoundsAccessChain => self.chain(i, 3),
            Op::ArrayLength => {
                let p = self.pointer(i.word(2)?)?;
                let p = self.step(&p, Step::Const(i.word(3)?))?;
                self.array_length(&p)
            }
            Op::CopyObject | Op::CopyLogical | Op::ExpectKHR => self.value(i.word(2)?),
            Op::VectorExtractDynamic => {
                let v = self.value_leaf(i.word(2)?)?;
                let s = self.index(i.word(3)?)?;
                Ok(Val::Leaf(self.lane_at(v, s)))
            }
            Op::VectorInsertDynamic => {
                let (v, x) = (self.value_leaf(i.word(2)?)?, self.value_leaf(i.word(3)?)?);
                let s = self.index(i.word(4)?)?;
                Ok(Val::Leaf(self.with_lane(v, s, x)))
            }
            Op::VectorShuffle => self.vector_shuffle(i),
            Op::CompositeConstruct => {
                let mut parts = Vec::new();
                self.value_limit(ty.leaves(self.types))?;
                for id in i.rest(2) {
                    parts.push(self.value(*id)?);
                }
                self.compose(ty, parts)
            }
            Op::CompositeConstructReplicateEXT => {
                let v = self.value(i.word(2)?)?;
                self.value_limit(ty.leaves(self.types))?;
                self.compose(ty, vec![v; ty.len(self.types) as usize])
            }
            Op::CompositeExtract => {
                let mut v = self.value(i.word(2)?)?;
                for n in i.rest(3) {
                    v = self.part_of(&v, *n)?;
                }
                match v {
                    Val::Place(p) => self.load(&p),
                    v => Ok(v),
                }
            }
            Op::CompositeInsert => {
                let part = self.value(i.word(2)?)?;
                let whole = self.value(i.word(3)?)?;
                self.value_limit(ty.leaves(self.types))?;
                self.insert_part(&whole, i.rest(4), &part)
            }
            Op::Select => {
                let c = self.value_leaf(i.word(2)?)?;
                let (a, b) = (self.value(i.word(3)?)?, self.value(i.word(4)?)?);
                self.choose(c, &a, &b)
            }
            Op::Transpose => Ok(match self.value(i.word(2)?)? {
                Val::Transposed(inner) => (*inner).clone(),
                m => Val::Transposed(m.into()),
            }),
            op if is_image(op) => self.image(i, ty),
            _ => self.arithmetic(i, ty),
        }
    }

    /// A part of a value by a constant index.
    fn part_of(&mut self, v: &Val, n: u32) -> R<Val> {
        match v {
            Val::Place(p) => {
                let part = self.step(p, Step::Const(n))?;
                self.load(&part)
            }
            Val::Leaf(x) => {
                if n >= u32::from(self.func().ty(*x).lanes) {
                    return Err(malformed(self.at, "a lane that does not exist"));
                }
                Ok(Val::Leaf(self.lane(*x, n as u8)))
            }
            Val::Agg(parts) => parts.get(n as usize).cloned().ok_or_else(|| malformed(self.at, "a part that does not exist")),
            Val::Transposed(_) | Val::Product(_) => {
                let m = self.force(v)?;
                self.part_of(&m, n)
            }
            Val::Resource(_) => Err(malformed(self.at, "a part of a texture")),
        }
    }

    fn insert_part(&mut self, whole: &Val, path: &[u32], part: &Val) -> R<Val> {
        let Some((n, rest)) = path.split_first() else { return self.force(part) };
        match self.force(whole)? {
            Val::Leaf(v) => {
                if *n >= u32::from(self.func().ty(v).lanes) || !rest.is_empty() {
                    return Err(malformed(self.at, "a lane that does not exist"));
                }
                let x = self.leaf(part)?;
                Ok(Val::Leaf(self.insert_lane(v, x, *n as u8)))
            }
            Val::Agg(parts) => {
                let Some(old) = parts.get(*n as usize) else { return Err(malformed(self.at, "a part that does not exist")) };
                let new = self.insert_part(old, rest, part)?;
                let mut all = parts.to_vec();
                all[*n as usize] = new;
                Ok(Val::agg(all))
            }
            _ => Err(malformed(self.at, "a part of something without parts")),
        }
    }

    fn vector_shuffle(&mut self, i: &Inst<'_>) -> R<Val> {
        let (a, b) = (self.value_leaf(i.word(2)?)?, self.value_leaf(i.word(3)?)?);
        let mask = i.rest(4);
        let first = u32::from(self.func().ty(a).lanes);
        let all = first + u32::from(self.func().ty(b).lanes);
        if !(2..=4).contains(&mask.len()) || mask.iter().any(|m| *m >= all && *m != u32::MAX) {
            return Err(malformed(i.at, "a shuffle of lanes that do not exist"));
        }
        if mask.iter().all(|m| *m < first) {
            let pattern: Vec<u8> = mask.iter().map(|m| *m as u8).collect();
            return Ok(Val::Leaf(self.swizzle(a, &pattern)));
        }
        if mask.iter().all(|m| *m >= first && *m != u32::MAX) {
            let pattern: Vec<u8> = mask.iter().map(|m| (*m - first) as u8).collect();
            return Ok(Val::Leaf(self.swizzle(b, &pattern)));
        }
        // A vector with some lanes replaced.
        if mask.len() == first as usize && mask.iter().zip(0..).any(|(m, n)| *m == n) {
            let mut v = a;
            for (n, m) in (0u32..).zip(mask) {
                if *m == n || *m == u32::MAX {
                    continue;
                }
                let x = if *m < first { self.lane(a, *m as u8) } else { self.lane(b, (*m - first) as u8) };
                v = self.insert_lane(v, x, n as u8);
            }
            return Ok(Val::Leaf(v));
        }
        let mut lanes = Vec::new();
        for m in mask {
            let m = if *m == u32::MAX { 0 } else { *m };
            lanes.push(if m < first { self.lane(a, m as u8) } else { self.lane(b, (m - first) as u8) });
        }
        Ok(Val::Leaf(self.vector(&lanes)))
    }

    /// Puts parts together.
    pub(crate) fn compose(&mut self, ty: Ty, parts: Vec<Val>) -> R<Val> {
        if let Ty::Vector(n, _) = ty {
            let mut lanes = Vec::new();
            for p in &parts {
                let v = self.leaf(p)?;
                lanes.extend(self.lanes(v));
            }
            if lanes.len() != usize::from(n) {
                return Err(malformed(self.at, "a vector of another number of lanes than its type says"));
            }
            let lane = self.func().ty(lanes[0]);
            if lanes.iter().any(|l| self.func().ty(*l) != lane) {
                return Err(malformed(self.at, "a vector of lanes of different types"));
            }
            return Ok(Val::Leaf(self.vector(&lanes)));
        }
        if !matches!(ty, Ty::Matrix(..) | Ty::Array(_) | Ty::Struct(_)) || parts.len() != ty.len(self.types) as usize {
            return Err(malformed(self.at, "a composite of other parts than its type says"));
        }
        let mut out = Vec::new();
        for (n, p) in (0u32..).zip(&parts) {
            let v = self.force(p)?;
            let child = ty.child(self.types, n);
            if let (true, Val::Leaf(x)) = (child.is_leaf(), &v) {
                let t = self.ir_ty(child)?;
                if self.func().ty(*x) != t {
                    return Err(malformed(self.at, "a composite with a part of another type than it says"));
                }
            }
            out.push(v);
        }
        Ok(Val::agg(out))
    }

    /// `select` on every leaf; the condition is one truth value or one per lane.
    fn choose(&mut self, c: Value, a: &Val, b: &Val) -> R<Val> {
        if let (Val::Leaf(x), Val::Leaf(y)) = (a, b) {
            let (x, y, lanes) = (*x, *y, self.func().ty(c).lanes);
            let (tx, ty) = (self.func().ty(x), self.func().ty(y));
            if tx != ty || self.func().ty(c).scalar != retroshade_ir::Scalar::I1 || lanes != 1 && lanes != tx.lanes {
                return Err(malformed(self.at, "a choice between values of different types"));
            }
        }
        if let Some(k) = self.known(c) {
            return Ok(if k != 0 { a.clone() } else { b.clone() });
        }
        self.select_val(c, a, b)
    }

    /// Applies something to every leaf.
    pub(crate) fn map(&mut self, v: &Val, f: &mut dyn FnMut(&mut Self, Value) -> R<Value>) -> R<Val> {
        match self.force(v)? {
            Val::Leaf(x) => Ok(Val::Leaf(f(self, x)?)),
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

    /// Operands `2..2 + N` as leaves, which must be of one type.
    fn same<const N: usize>(&mut self, i: &Inst<'_>) -> R<[Value; N]> {
        let mut out = Vec::new();
        for n in 0..N {
            out.push(self.value_leaf(i.word(2 + n)?)?);
        }
        let all: [Value; N] = out.try_into().map_err(|_| malformed(i.at, "too few operands"))?;
        let t = all.first().map(|v| self.func().ty(*v));
        if all.iter().any(|v| Some(self.func().ty(*v)) != t) {
            return Err(malformed(i.at, format_args!("{:?} on values of different types", i.op)));
        }
        Ok(all)
    }

    /// The operands of an operation on numbers of one kind.
    fn of_kind<const N: usize>(&mut self, i: &Inst<'_>, float: bool) -> R<[Value; N]> {
        let all = self.same::<N>(i)?;
        let s = self.func().ty(all[0]).scalar;
        if s.is_float() != float || s == retroshade_ir::Scalar::I1 {
            return Err(malformed(i.at, format_args!("{:?} on values of the wrong kind", i.op)));
        }
        Ok(all)
    }

    fn truth<const N: usize>(&mut self, i: &Inst<'_>) -> R<[Value; N]> {
        let all = self.same::<N>(i)?;
        if self.func().ty(all[0]).scalar != retroshade_ir::Scalar::I1 {
            return Err(malformed(i.at, format_args!("{:?} on values that are no truth values", i.op)));
        }
        Ok(all)
    }

    fn arithmetic(&mut self, i: &Inst<'m>, ty: Ty) -> R<Val> {
        self.precise = i.word(1).is_ok_and(|id| self.b.has(id, Decoration::NoContraction));
        if let Some(op) = float2(i.op) {
            let [x, y] = self.of_kind(i, true)?;
            return Ok(Val::Leaf(self.op2(op, x, y)));
        }
        if let Some(op) = int2(i.op) {
            let [x, y] = self.of_kind(i, false)?;
            return Ok(Val::Leaf(self.op2(op, x, y)));
        }
        if let Some(cc) = float_relation(i.op) {
            let [x, y] = self.of_kind(i, true)?;
            return Ok(Val::Leaf(self.b().fcmp(cc, x, y)));
        }
        if let Some(cc) = int_relation(i.op) {
            let [x, y] = self.of_kind(i, false)?;
            return Ok(Val::Leaf(self.b().icmp(cc, x, y)));
        }
        Ok(Val::Leaf(match i.op {
            Op::FNegate => {
                let v = self.value(i.word(2)?)?;
                return self.map(&v, &mut |c, x| Ok(c.b().ins(Opcode::Fneg, &[x])));
            }
            Op::SNegate | Op::Not => {
                let [x] = self.of_kind(i, false)?;
                self.op1(if i.op == Op::Not { Opcode::Inot } else { Opcode::Ineg }, x)
            }
            Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
                let [x, y] = self.of_kind(i, false)?;
                let op = match i.op {
                    Op::ShiftLeftLogical => Opcode::Ishl,
                    Op::ShiftRightLogical => Opcode::Ushr,
                    _ => Opcode::Sshr,
                };
                self.op2(op, x, y)
            }
            Op::FRem | Op::FMod => {
                let [x, y] = self.of_kind(i, true)?;
                let q = self.op2(Opcode::Fdiv, x, y);
                let t = self.op1(if i.op == Op::FMod { Opcode::Ffloor } else { Opcode::Ftrunc }, q);
                let p = self.op2(Opcode::Fmul, t, y);
                self.op2(Opcode::Fsub, x, p)
            }
            Op::SMod => {
                let [x, y] = self.of_kind(i, false)?;
                self.floor_mod(x, y)
            }
            Op::IAddCarry | Op::ISubBorrow => {
                let [x, y] = self.of_kind(i, false)?;
                let t = self.func().ty(x);
                let (r, over) = if i.op == Op::IAddCarry {
                    let r = self.op2(Opcode::Iadd, x, y);
                    (r, self.b().icmp(IntCC::Ult, r, x))
                } else {
                    (self.op2(Opcode::Isub, x, y), self.b().icmp(IntCC::Ult, x, y))
                };
                let (one, zero) = (self.splat_const(t, 1), self.splat_const(t, 0));
                let carry = self.b().select(over, one, zero);
                return Ok(Val::agg(vec![Val::Leaf(r), Val::Leaf(carry)]));
            }
            Op::UMulExtended | Op::SMulExtended => {
                let [x, y] = self.of_kind(i, false)?;
                let low = self.op2(Opcode::Imul, x, y);
                let high = self.op2(if i.op == Op::UMulExtended { Opcode::Umulhi } else { Opcode::Smulhi }, x, y);
                return Ok(Val::agg(vec![Val::Leaf(low), Val::Leaf(high)]));
            }
            Op::VectorTimesScalar => {
                let (v, s) = (self.value_leaf(i.word(2)?)?, self.value_leaf(i.word(3)?)?);
                let (tv, ts) = (self.func().ty(v), self.func().ty(s));
                if tv.lane() != ts || !ts.is_float() {
                    return Err(malformed(i.at, "a vector and a scalar of different types"));
                }
                let s = self.splat(s, tv.lanes);
                self.op2(Opcode::Fmul, v, s)
            }
            Op::MatrixTimesScalar => {
                let s = self.value_leaf(i.word(3)?)?;
                let m = self.value(i.word(2)?)?;
                let mut out = Vec::new();
                for c in self.columns(&m)? {
                    let lanes = self.func().ty(c).lanes;
                    let s = self.splat(s, lanes);
                    out.push(self.op2(Opcode::Fmul, c, s));
                }
                return Ok(Self::matrix(out));
            }
            Op::VectorTimesMatrix => {
                let v = self.value_leaf(i.word(2)?)?;
                let m = self.value(i.word(3)?)?;
                self.vec_mat(v, &m)?
            }
            Op::MatrixTimesVector => {
                let m = self.value(i.word(2)?)?;
                let v = self.value_leaf(i.word(3)?)?;
                self.mat_vec(&m, v)?
            }
            Op::MatrixTimesMatrix => {
                let (a, b) = (self.value(i.word(2)?)?, self.value(i.word(3)?)?);
                return Ok(Val::Product((a, b, self.loops).into()));
            }
            Op::OuterProduct => {
                let (x, y) = (self.value_leaf(i.word(2)?)?, self.value_leaf(i.word(3)?)?);
                let lanes = self.func().ty(x).lanes;
                let mut columns = Vec::new();
                for lane in self.lanes(y) {
                    let s = self.splat(lane, lanes);
                    columns.push(self.op2(Opcode::Fmul, x, s));
                }
                return Ok(Self::matrix(columns));
            }
            Op::Dot => {
                let [x, y] = self.of_kind(i, true)?;
                self.dot(x, y)
            }
            Op::SDot | Op::UDot | Op::SUDot | Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat => self.dot_integers(i)?,
            Op::LogicalEqual | Op::LogicalNotEqual => {
                let [x, y] = self.truth(i)?;
                self.b().icmp(if i.op == Op::LogicalEqual { IntCC::Eq } else { IntCC::Ne }, x, y)
            }
            Op::LogicalAnd | Op::LogicalOr => {
                let [x, y] = self.truth(i)?;
                self.op2(if i.op == Op::LogicalAnd { Opcode::Iand } else { Opcode::Ior }, x, y)
            }
            Op::LogicalNot => {
                let [x] = self.truth(i)?;
                self.op1(Opcode::Inot, x)
            }
            Op::Any | Op::All => {
                let [x] = self.truth(i)?;
                if self.func().ty(x).is_vector() { self.op1(if i.op == Op::Any { Opcode::Any } else { Opcode::All }, x) } else { x }
            }
            Op::IsNan => {
                let [x] = self.of_kind(i, true)?;
                self.b().fcmp(FloatCC::Uno, x, x)
            }
            Op::IsInf | Op::IsFinite => {
                let [x] = self.of_kind(i, true)?;
                let a = self.op1(Opcode::Fabs, x);
                let t = self.func().ty(x);
                let inf = self.fconst(t, f32::INFINITY);
                self.b().fcmp(if i.op == Op::IsInf { FloatCC::Oeq } else { FloatCC::Olt }, a, inf)
            }
            Op::ConvertFToS
            | Op::ConvertFToU
            | Op::ConvertSToF
            | Op::ConvertUToF
            | Op::FConvert
            | Op::UConvert
            | Op::SConvert
            | Op::Bitcast => {
                let v = self.value(i.word(2)?)?;
                let Some(num) = ty.num() else { return Err(malformed(i.at, "a conversion to something else than numbers")) };
                let v = self.map(&v, &mut |c, x| c.convert_leaf(i.op, num, x))?;
                return Ok(v);
            }
            Op::QuantizeToF16 => {
                let [x] = self.of_kind(i, true)?;
                let t = self.func().ty(x);
                let small = self.b().typed(Opcode::Fcvt, F16.with_lanes(t.lanes), &[x], Imm::None);
                self.b().typed(Opcode::Fcvt, t, &[small], Imm::None)
            }
            Op::BitFieldSExtract | Op::BitFieldUExtract => {
                let x = self.value_leaf(i.word(2)?)?;
                let lanes = self.func().ty(x).lanes;
                let (o, n) = (self.value_leaf(i.word(3)?)?, self.value_leaf(i.word(4)?)?);
                self.need_integers(i, &[x, o, n])?;
                let (o, n) = (self.splat(o, lanes), self.splat(n, lanes));
                self.b().ins(if i.op == Op::BitFieldSExtract { Opcode::Sbfe } else { Opcode::Ubfe }, &[x, o, n])
            }
            Op::BitFieldInsert => {
                let (x, y) = (self.value_leaf(i.word(2)?)?, self.value_leaf(i.word(3)?)?);
                let (o, n) = (self.value_leaf(i.word(4)?)?, self.value_leaf(i.word(5)?)?);
                self.need_integers(i, &[x, y, o, n])?;
                let lanes = self.func().ty(x).lanes;
                let (o, n) = (self.splat(o, lanes), self.splat(n, lanes));
                self.b().ins(Opcode::Bfi, &[x, y, o, n])
            }
            Op::BitReverse | Op::BitCount => {
                let [x] = self.of_kind(i, false)?;
                self.op1(if i.op == Op::BitCount { Opcode::Bitcount } else { Opcode::Bitrev }, x)
            }
            op if derivative(op).is_some() => {
                let [x] = self.of_kind(i, true)?;
                let (axis, hint) = derivative(op).unwrap_or((Axis::X, 0));
                let mut d = |op| self.b().ins_imm(op, &[x], Imm::Hint(hint));
                match axis {
                    Axis::X => d(Opcode::Ddx),
                    Axis::Y => d(Opcode::Ddy),
                    Axis::Both => {
                        let (x, y) = (d(Opcode::Ddx), d(Opcode::Ddy));
                        let (x, y) = (self.op1(Opcode::Fabs, x), self.op1(Opcode::Fabs, y));
                        self.op2(Opcode::Fadd, x, y)
                    }
                }
            }
            op => return Err(self.refused(op)),
        }))
    }

    /// An operation that no machine has.
    pub(crate) fn refused(&self, op: Op) -> retroshade_ir::Diagnostic {
        let name = format!("{op:?}");
        let what = match &name[..] {
            n if n.starts_with("Group") || n.starts_with("Subgroup") => "subgroup operations exist on none of the machines",
            n if n.contains("Ray") || n.starts_with("HitObject") || n.contains("AccelerationStructure") => {
                "ray tracing exists on none of the machines"
            }
            n if n.starts_with("CooperativeMatrix") => "cooperative matrices exist on none of the machines",
            n if n.contains("Sparse") => "sparse textures exist on none of the machines",
            n if n.contains("Ptr") => "pointers as values exist on none of the machines",
            n if n.contains("Interlock") => "ordered access to the same pixel exists on none of the machines",
            n if n.contains("Clock") => "a clock that programs can read exists on none of the machines",
            "IsHelperInvocationEXT" => "whether an invocation is a helper cannot be asked on any of the machines",
            _ => return self.error("F0130", format!("the operation Op{name} exists on none of the machines")),
        };
        self.error("F0133", format!("{what} (Op{name})"))
    }

    fn need_integers(&mut self, i: &Inst<'_>, all: &[Value]) -> R<()> {
        for v in all {
            if self.func().ty(*v).scalar != retroshade_ir::Scalar::I32 {
                return Err(malformed(i.at, format_args!("{:?} on values of the wrong kind", i.op)));
            }
        }
        Ok(())
    }

    /// The remainder with the divisor's sign.
    fn floor_mod(&mut self, x: Value, y: Value) -> Value {
        let t = self.func().ty(y);
        let bits: Vec<Option<u32>> =
            (0..t.lanes).map(|n| if let Lane::Bits(b) = trace_lane(self.func(), y, n) { Some(b) } else { None }).collect();
        if bits.iter().all(|b| b.is_some_and(|b| b.is_power_of_two() && b < 1 << 31)) {
            let one = self.splat_const(t, 1);
            let mask = self.op2(Opcode::Isub, y, one);
            return self.op2(Opcode::Iand, x, mask);
        }
        let r = self.op2(Opcode::Srem, x, y);
        let zero = self.splat_const(t, 0);
        // Where the signs of remainder and divisor differ, one more divisor.
        let differ = if bits.iter().all(|b| b.is_some_and(|b| (b as i32) > 0)) {
            self.b().icmp(IntCC::Slt, r, zero)
        } else {
            let signs = self.op2(Opcode::Ixor, r, y);
            let differ = self.b().icmp(IntCC::Slt, signs, zero);
            let some = self.b().icmp(IntCC::Ne, r, zero);
            self.op2(Opcode::Iand, differ, some)
        };
        let up = self.op2(Opcode::Iadd, r, y);
        self.b().select(differ, up, r)
    }

    /// Dot products of integers: of vectors, or of four bytes in a word.
    fn dot_integers(&mut self, i: &Inst<'_>) -> R<Value> {
        let [x, y] = self.of_kind(i, false)?;
        if matches!(i.op, Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat) {
            return Err(self.error("F0130", format!("the operation Op{:?} exists on none of the machines", i.op)));
        }
        if self.func().ty(x).is_vector() {
            let p = self.op2(Opcode::Imul, x, y);
            return Ok(self.sum(p));
        }
        let (a, b) = match i.op {
            Op::SDot => (Opcode::Sbfe, Opcode::Sbfe),
            Op::UDot => (Opcode::Ubfe, Opcode::Ubfe),
            _ => (Opcode::Sbfe, Opcode::Ubfe),
        };
        Ok(self.dot_packed(a, b, x, y))
    }

    fn convert_leaf(&mut self, op: Op, to: Num, x: Value) -> R<Value> {
        let from = self.func().ty(x);
        let scalar = self.ir_ty(Ty::Scalar(to))?.scalar;
        let out = from.with_scalar(scalar);
        if from.scalar == retroshade_ir::Scalar::I1 || to.kind == Kind::Bool {
            return Err(malformed(self.at, "a conversion of truth values"));
        }
        let floats = matches!(op, Op::ConvertFToS | Op::ConvertFToU | Op::FConvert);
        if op != Op::Bitcast && floats != from.is_float() {
            return Err(malformed(self.at, format_args!("{op:?} on values of the wrong kind")));
        }
        let op = match op {
            Op::ConvertFToS => Opcode::F2s,
            Op::ConvertFToU => Opcode::F2u,
            Op::ConvertSToF => Opcode::S2f,
            Op::ConvertUToF => Opcode::U2f,
            Op::FConvert if from == out => return Ok(x),
            Op::FConvert => Opcode::Fcvt,
            Op::Bitcast if from != out => {
                let half = |s: retroshade_ir::Scalar| s == retroshade_ir::Scalar::F16;
                if half(from.scalar) != half(scalar) {
                    return Err(self.error("F0141", "the bits of half-precision values cannot be taken on any of the machines"));
                }
                Opcode::Bitcast
            }
            _ => return Ok(x),
        };
        Ok(self.b().typed(op, out, &[x], Imm::None))
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
        if columns.len() != usize::from(self.func().ty(v).lanes) {
            return Err(malformed(self.at, "a matrix and a vector that do not fit"));
        }
        let mut sum = None;
        for (n, c) in columns.into_iter().enumerate() {
            let lanes = self.func().ty(c).lanes;
            let x = self.lane(v, n as u8);
            let x = self.splat(x, lanes);
            let p = self.op2(Opcode::Fmul, c, x);
            sum = Some(match sum {
                None => p,
                Some(s) => self.op2(Opcode::Fadd, s, p),
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
        let t = self.func().ty(v);
        if columns.iter().any(|c| self.func().ty(*c) != t) {
            return Err(malformed(self.at, "a matrix and a vector that do not fit"));
        }
        let lanes: Vec<Value> = columns.into_iter().map(|c| self.op2(Opcode::Dot, v, c)).collect();
        Ok(self.vector(&lanes))
    }

    /// Elements of the array at the end of a storage buffer.
    fn array_length(&mut self, p: &Place) -> R<Val> {
        let super::place::Address { decl, at, ty, stride, .. } = self.storage_address(p)?;
        if !matches!(ty, Ty::Array(_)) {
            return Err(malformed(self.at, "the length of something that is no array"));
        }
        let words = self.b().typed(Opcode::StorageLen, I32, &[], Imm::Mem { var: MemRef::Storage(decl), offset: 0 });
        let words = if at.0 == 0 {
            words
        } else {
            let k = self.iconst(at.0);
            self.op2(Opcode::Isub, words, k)
        };
        if stride <= 1 {
            return Ok(Val::Leaf(words));
        }
        let k = self.iconst(stride);
        Ok(Val::Leaf(self.op2(Opcode::Udiv, words, k)))
    }

    fn atomic(&mut self, i: &Inst<'m>) -> R<()> {
        let first = usize::from(i.op != Op::AtomicStore) * 2;
        let p = self.pointer(i.word(first)?)?;
        if p.ty.kind() == Kind::Float || format!("{:?}", i.op).starts_with("AtomicF") {
            return Err(self.error("F0137", "atomics on floats exist on none of the machines"));
        }
        if !matches!(p.ty, Ty::Scalar(_)) || self.ir_ty(p.ty)? != I32 {
            return Err(self.error("F0137", "atomics on something else than 32-bit integers exist on none of the machines"));
        }
        let value = |n: usize| i.word(first + 3 + n);
        match i.op {
            Op::AtomicStore => {
                let v = self.value(value(0)?)?;
                return self.store(&p, &v);
            }
            Op::AtomicLoad => {
                let v = self.load(&p)?;
                self.set(i.word(1)?, v);
                return Ok(());
            }
            _ => {}
        }
        // Memory of one invocation is its own: no one can come between.
        if let Root::Slot(n) = p.root
            && !matches!(self.slots[n as usize], Slot::Mem(_))
        {
            return Err(self.error("F0137", "an atomic on a variable that is not shared"));
        }
        let (var, (offset, index)) = self.atomic_address(&p)?;
        let mut args = Vec::new();
        let op = match i.op {
            Op::AtomicIIncrement => {
                args.push(self.iconst(1));
                AtomicOp::Add
            }
            Op::AtomicIDecrement => {
                args.push(self.iconst(u32::MAX));
                AtomicOp::Add
            }
            Op::AtomicISub => {
                let v = self.value_leaf(value(0)?)?;
                args.push(self.op1(Opcode::Ineg, v));
                AtomicOp::Add
            }
            Op::AtomicCompareExchange => {
                // Pointer, scope, two semantics, new value, value to compare with.
                args.push(self.value_leaf(value(2)?)?);
                args.push(self.value_leaf(value(1)?)?);
                AtomicOp::Cas
            }
            op => {
                args.push(self.value_leaf(value(0)?)?);
                match op {
                    Op::AtomicIAdd => AtomicOp::Add,
                    Op::AtomicSMin => AtomicOp::Smin,
                    Op::AtomicUMin => AtomicOp::Umin,
                    Op::AtomicSMax => AtomicOp::Smax,
                    Op::AtomicUMax => AtomicOp::Umax,
                    Op::AtomicAnd => AtomicOp::And,
                    Op::AtomicOr => AtomicOp::Or,
                    Op::AtomicXor => AtomicOp::Xor,
                    Op::AtomicExchange => AtomicOp::Xchg,
                    op => return Err(self.refused(op)),
                }
            }
        };
        self.need_integers(i, &args)?;
        args.extend(index);
        let old = self.b().typed(Opcode::Atomic, I32, &args, Imm::Atomic { var, offset, op });
        self.set(i.word(1)?, Val::Leaf(old));
        Ok(())
    }

    fn atomic_address(&mut self, p: &Place) -> R<(MemRef, (u32, Option<Value>))> {
        match p.root {
            Root::Storage(_) => {
                let super::place::Address { decl, at, .. } = self.storage_address(p)?;
                Ok((MemRef::Storage(decl), at))
            }
            Root::Slot(n) => {
                let Slot::Mem(m) = self.slots[n as usize].clone() else {
                    return Err(self.error("F0137", "an atomic on a variable that is not shared"));
                };
                let mut node: &Mem = &m;
                let mut at = (0u32, None);
                for s in &p.path {
                    match (node, s) {
                        (Mem::Struct(parts), Step::Const(k)) => match parts.get(*k as usize) {
                            Some(x) => node = x,
                            None => return Err(self.error("F0111", "a member that does not exist")),
                        },
                        (Mem::Array(count, elem), s) => {
                            at = self.mem_index(*count, at, *s);
                            node = elem;
                        }
                        (Mem::Lanes(count, lane), s) => {
                            at = self.mem_index((*count).into(), at, *s);
                            node = lane;
                        }
                        _ => return Err(self.error("F0137", "an atomic on a part of a vector")),
                    }
                }
                match node {
                    Mem::Leaf(var @ MemRef::Shared(_), _) => Ok((*var, at)),
                    _ => Err(self.error("F0137", "an atomic on a variable that is not shared")),
                }
            }
            _ => Err(self.error("F0113", "a uniform cannot be written")),
        }
    }
}

#[derive(Clone, Copy)]
enum Axis {
    X,
    Y,
    Both,
}

fn derivative(op: Op) -> Option<(Axis, u8)> {
    Some(match op {
        Op::DPdx => (Axis::X, 0),
        Op::DPdy => (Axis::Y, 0),
        Op::Fwidth => (Axis::Both, 0),
        Op::DPdxCoarse => (Axis::X, 1),
        Op::DPdyCoarse => (Axis::Y, 1),
        Op::FwidthCoarse => (Axis::Both, 1),
        Op::DPdxFine => (Axis::X, 2),
        Op::DPdyFine => (Axis::Y, 2),
        Op::FwidthFine => (Axis::Both, 2),
        _ => return None,
    })
}

fn float2(op: Op) -> Option<Opcode> {
    Some(match op {
        Op::FAdd => Opcode::Fadd,
        Op::FSub => Opcode::Fsub,
        Op::FMul => Opcode::Fmul,
        Op::FDiv => Opcode::Fdiv,
        _ => return None,
    })
}

fn int2(op: Op) -> Option<Opcode> {
    Some(match op {
        Op::IAdd => Opcode::Iadd,
        Op::ISub => Opcode::Isub,
        Op::IMul => Opcode::Imul,
        Op::UDiv => Opcode::Udiv,
        Op::SDiv => Opcode::Sdiv,
        Op::UMod => Opcode::Urem,
        Op::SRem => Opcode::Srem,
        Op::BitwiseAnd => Opcode::Iand,
        Op::BitwiseOr => Opcode::Ior,
        Op::BitwiseXor => Opcode::Ixor,
        _ => return None,
    })
}

fn float_relation(op: Op) -> Option<FloatCC> {
    Some(match op {
        Op::FOrdEqual => FloatCC::Oeq,
        Op::FUnordEqual => FloatCC::Ueq,
        Op::FOrdNotEqual | Op::LessOrGreater => FloatCC::One,
        Op::FUnordNotEqual => FloatCC::Une,
        Op::FOrdLessThan => FloatCC::Olt,
        Op::FUnordLessThan => FloatCC::Ult,
        Op::FOrdGreaterThan => FloatCC::Ogt,
        Op::FUnordGreaterThan => FloatCC::Ugt,
        Op::FOrdLessThanEqual => FloatCC::Ole,
        Op::FUnordLessThanEqual => FloatCC::Ule,
        Op::FOrdGreaterThanEqual => FloatCC::Oge,
        Op::FUnordGreaterThanEqual => FloatCC::Uge,
        Op::Ordered => FloatCC::Ord,
        Op::Unordered => FloatCC::Uno,
        _ => return None,
    })
}

fn int_relation(op: Op) -> Option<IntCC> {
    Some(match op {
        Op::IEqual => IntCC::Eq,
        Op::INotEqual => IntCC::Ne,
        Op::UGreaterThan => IntCC::Ugt,
        Op::SGreaterThan => IntCC::Sgt,
        Op::UGreaterThanEqual => IntCC::Uge,
        Op::SGreaterThanEqual => IntCC::Sge,
        Op::ULessThan => IntCC::Ult,
        Op::SLessThan => IntCC::Slt,
        Op::ULessThanEqual => IntCC::Ule,
        Op::SLessThanEqual => IntCC::Sle,
        _ => return None,
    })
}

pub(crate) fn is_atomic(op: Op) -> bool {
    let n = op as u32;
    (Op::AtomicLoad as u32..=Op::AtomicXor as u32).contains(&n)
        || matches!(op, Op::AtomicFAddEXT | Op::AtomicFMinEXT | Op::AtomicFMaxEXT | Op::AtomicFlagTestAndSet | Op::AtomicFlagClear)
}

fn is_image(op: Op) -> bool {
    let n = op as u32;
    (Op::SampledImage as u32..=Op::ImageQuerySamples as u32).contains(&n) || op == Op::ImageTexelPointer
}
