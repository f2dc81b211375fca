//! Instructions: which of the reader's parts translates what; variables, pointers, barriers, vertices.

use super::atomic::is_atomic;
use super::binary::{Id, Inst, R, malformed};
use super::convert::Converter;
use super::place::{Place, Root, Slot, Step};
use super::subgroup::is_subgroup;
use super::types::Ty;
use super::value::Val;
use retroshade_ir::inst::Imm;
use retroshade_ir::types::{I1, I32};
use retroshade_ir::{Opcode, Stage};
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
            Op::ImageWrite => self.texel_write(i),
            op if i.operands.len() < 2 => Err(self.refused(op)),
            _ => {
                let id = i.word(1)?;
                let ty = self.result_ty(i)?;
                let before = self.func().insts.len();
                let v = self.compute(i, ty)?;
                if self.b.has(id, Decoration::RelaxedPrecision) {
                    self.relax(i.op, before);
                }
                self.check(i, ty, &v)?;
                self.set(id, v);
                Ok(())
            }
        }
    }

    /// Marks what an instruction of relaxed precision became: what computes its result, not its addresses and coordinates.
    fn relax(&mut self, op: Op, before: usize) {
        let f = self.func();
        for n in before..f.insts.len() {
            let i = retroshade_ir::Inst::from_u32(n as u32);
            let d = &f.insts[i];
            let marked = match d.op.group() {
                "Texture" => is_image(op),
                "Memory" => op == Op::Load,
                "Constants" | "Control" => false,
                _ => op != Op::Load && !is_image(op),
            };
            if marked && matches!(&d.results[..], [v] if f.ty(*v).is_number()) {
                f.insts[i].relaxed = true;
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
        if self.used.passed.contains(&id) || self.b.has(id, Decoration::NonWritable) {
            // What it is set to is what is passed on, or read; before that it is anything, if it is of numbers at all.
            let anything = self.undef_of(ty).unwrap_or_else(|_| Val::agg(Vec::new()));
            let held = self.hold(anything);
            self.set(id, Val::Place(Place::of(Root::Held(held), ty)));
            if let Some(init) = i.operands.get(3) {
                let v = self.value(*init)?;
                self.set_held(held, v)?;
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
                // WGSL has pointers to such arrays themselves.
                let p = if matches!(p.ty, Ty::Array(_)) { p } else { self.step(&p, Step::Const(i.word(3)?))? };
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
                if let (Ty::Vector(n, _), Val::Leaf(x)) = (ty, &v) {
                    return Ok(Val::Leaf(self.splat(*x, n)));
                }
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
            Op::Select if self.types.pointee(i.word(0)?).is_some() => {
                Err(self.error("F0112", "a choice between pointers exists on none of the machines"))
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
            op if is_subgroup(op) => match self.subgroup(i, ty)? {
                Some(v) => Ok(v),
                None => Err(self.refused(op)),
            },
            _ => self.arithmetic(i, ty),
        }
    }

    /// An operation that no machine has.
    pub(crate) fn refused(&self, op: Op) -> retroshade_ir::Diagnostic {
        let name = format!("{op:?}");
        let what = match &name[..] {
            n if n.contains("Quad") => "operations on quads exist on none of the machines",
            n if n.starts_with("Group") || n.starts_with("Subgroup") => "this operation on subgroups exists on none of the machines",
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
}

fn is_image(op: Op) -> bool {
    let n = op as u32;
    (Op::SampledImage as u32..=Op::ImageQuerySamples as u32).contains(&n) || op == Op::ImageTexelPointer
}
