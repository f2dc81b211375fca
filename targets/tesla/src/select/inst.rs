//! Selection of one instruction: what has a pattern goes by the list; inputs, outputs, memory and textures have files of their own.

use crate::isa::forms::{Access, LogicOp, Op, SystemRegister, Ty, field};
use crate::select::Lower;
use crate::select::mir::*;
use retroshade_ir::{Binding, Builtin, Imm, Inst, InstData, Interpolation, MemRef, Opcode, Sampling, Scalar, Stage, Value};
use retroshade_lower::pattern::Matcher;
use retroshade_lower::{CompileError, Reg};
use smallvec::SmallVec;

/// Bits of an address register.
const ADDRESS_BITS: u32 = 16;

fn internal(what: impl Into<String>) -> CompileError {
    CompileError::Internal(what.into())
}

impl<'a> Lower<'a> {
    /// Selects one instruction that is no terminator.
    pub(crate) fn inst(&mut self, i: Inst, patterns: &Matcher<'a, Lower<'a>>) -> Result<(), CompileError> {
        use Opcode::*;
        if self.covered[i] {
            return Ok(());
        }
        let func = self.func;
        let d = &func.insts[i];
        if d.op.is_removable() && d.results.iter().all(|r| self.facts.uses[*r] == 0) {
            return Ok(());
        }
        match d.op {
            // Named where they are used.
            Const | Undef | Fneg | Fabs | Fcmp | Icmp | Build | Extract | Bitcast | Splat | Insert | Shuffle => Ok(()),
            Uniform if d.args.is_empty() => Ok(()),
            Ext if matches!(&d.imm, Imm::Ext(n) if matches!(&**n, "tesla.mask" | "tesla.half_from")) => Ok(()),
            Input => self.input(d),
            Output => self.output(d),
            Uniform | LocalLoad | LocalStore | SharedLoad | SharedStore | StorageLoad | StorageStore | StorageLen | Atomic => {
                self.memory(d)
            }
            Tex => self.texture(d),
            op if patterns.select(self, op, i)? => Ok(()),
            op => Err(CompileError::unsupported("T0012", self.span, format!("`{}` is not available on this machine", op.name()))),
        }
    }

    // ---- interface

    fn input(&mut self, d: &InstData) -> Result<(), CompileError> {
        let Imm::Mem { var: MemRef::Input(n), offset } = d.imm else { return Err(internal("input without a variable")) };
        let decl = self.module.inputs[n].clone();
        let v = d.results[0];
        let lanes = self.func.ty(v).lanes;
        let used = self.used_lanes(v);
        let n = n.as_u32();
        match self.module.stage {
            Stage::Vertex if d.args.is_empty() => Ok(()),
            Stage::Vertex => {
                self.note("input.indexed");
                let words = decl.ty.lanes as u32;
                let base = self.abi.input_offset(n, offset, 0).ok_or_else(|| internal("an input without a place"))?;
                let index = self.address(d.args[0], words * 4)?;
                for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
                    let r = self.lane_register(v, l);
                    self.emit(MInst {
                        index,
                        extra: Extra::Mem { off: base + 4 * l as u32, ty: Access::B32, space: 0 },
                        ..MInst::new(Op::LdA, Dst::Reg(r), &[])
                    });
                }
                Ok(())
            }
            Stage::Geometry => {
                if decl.binding == Binding::Builtin(Builtin::PrimitiveIndex) {
                    self.note("input.primitive");
                    let r = self.lane_register(v, 0);
                    self.emit(MInst::new(Op::Mov, Dst::Reg(r), &[Src::A(0x18)]));
                    return Ok(());
                }
                self.note("input.vertex");
                // The vertex's address stands in a[]; a computed vertex number needs it in a register first.
                let vertex = match d.args.first() {
                    None => Index::Vertex(offset),
                    Some(v) => {
                        let index = self.address(*v, 4)?;
                        let r = self.fresh();
                        self.emit(MInst {
                            index,
                            extra: Extra::Mem { off: 4 * offset, ty: Access::B32, space: 0 },
                            ..MInst::new(Op::LdA, Dst::Reg(r), &[])
                        });
                        Index::Reg(r, 0)
                    }
                };
                for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
                    let off = self.abi.input_offset(n, 0, l as u32).ok_or_else(|| internal("an input without a place"))?;
                    let r = self.lane_register(v, l);
                    self.emit(MInst { index: vertex, ..MInst::new(Op::Mov, Dst::Reg(r), &[Src::P(off)]) });
                }
                Ok(())
            }
            Stage::Fragment => {
                let index = match d.args.first() {
                    Some(a) => self.address(*a, decl.ty.lanes as u32 * 4)?,
                    None => Index::None,
                };
                self.varying(v, n, offset, &decl, (lanes, used), index)
            }
            Stage::Compute => self.compute_input(v, &decl, lanes, used),
        }
    }
    /// Which lanes of a value are read.
    pub(crate) fn used_lanes(&self, v: Value) -> u8 {
        if self.func.ty(v).is_vector() { self.facts.read_lanes[v] } else { 1 }
    }
    /// The register of a lane that is being defined.
    pub(crate) fn lane_register(&mut self, v: Value, lane: u8) -> Reg {
        if !self.func.ty(v).is_vector() {
            return Reg::Virtual(self.new_value(v));
        }
        let r = self.fresh();
        self.lanes.insert((v, lane), r);
        r
    }
    fn varying(
        &mut self,
        v: Value,
        n: u32,
        element: u32,
        decl: &retroshade_ir::IoDecl,
        (lanes, used): (u8, u8),
        index: Index,
    ) -> Result<(), CompileError> {
        let v4 = |off: u32| Extra::Mem { off, ty: Access::B32, space: 0 };
        match decl.binding {
            Binding::Builtin(Builtin::Position) => {
                for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
                    self.note("varying.position");
                    let off = self.abi.position_offset(l as u32);
                    let r = self.lane_register(v, l);
                    self.emit(MInst { extra: v4(off), ..MInst::new(Op::Interp, Dst::Reg(r), &[]) });
                }
                return Ok(());
            }
            Binding::Builtin(Builtin::FrontFacing) => {
                self.note("varying.facing");
                let r = self.lane_register(v, 0);
                self.emit(MInst { extra: v4(0x3fc), ..MInst::new(Op::InterpFlat, Dst::Reg(r), &[]) });
                return Ok(());
            }
            Binding::Builtin(Builtin::SampleIndex) => {
                self.note("varying.sample");
                if !self.chip.d3d101 {
                    return Err(CompileError::unsupported("T0031", self.span, format!("{} has no sample index", self.chip.name)));
                }
                let r = self.lane_register(v, 0);
                self.emit(MInst::new(Op::MovFromSr, Dst::Reg(r), &[]).with(field!(sr), SystemRegister::SampleId));
                return Ok(());
            }
            _ => {}
        }
        self.note("varying");
        let w = match decl.interpolation {
            Interpolation::Perspective => Some(self.perspective()),
            _ => None,
        };
        for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
            let off = self.abi.input_offset(n, element, l as u32).ok_or_else(|| internal("a varying without a place"))?;
            let r = self.lane_register(v, l);
            let cent = u8::from(decl.sampling != Sampling::Center);
            let i = match (decl.interpolation, w) {
                (Interpolation::Flat, _) => MInst::new(Op::InterpFlat, Dst::Reg(r), &[]),
                (_, Some(w)) if cent == 1 => MInst::new(Op::InterpCentMul, Dst::Reg(r), &[Src::reg(w)]),
                (_, Some(w)) => MInst::new(Op::InterpMul, Dst::Reg(r), &[Src::reg(w)]),
                _ if cent == 1 => MInst::new(Op::InterpCent, Dst::Reg(r), &[]),
                _ => MInst::new(Op::Interp, Dst::Reg(r), &[]),
            };
            if decl.ty.scalar == Scalar::I1 {
                // An interface word 0 or 1 becomes a mask.
                let t = self.fresh();
                self.emit(MInst { extra: v4(off), index, dst: Dst::Reg(t), ..i });
                self.mask_of(Src::reg(t), r);
                continue;
            }
            self.emit(MInst { extra: v4(off), index, ..i });
        }
        Ok(())
    }
    /// 1 / v[w], once per block.
    fn perspective(&mut self) -> Reg {
        if let Some(r) = self.here.w {
            return r;
        }
        let w = self.fresh();
        let off = self.abi.position_offset(3);
        self.emit(MInst { extra: Extra::Mem { off, ty: Access::B32, space: 0 }, ..MInst::new(Op::Interp, Dst::Reg(w), &[]) });
        let r = self.fresh();
        self.emit(MInst::new(Op::Rcp, Dst::Reg(r), &[Src::reg(w)]));
        self.here.w = Some(r);
        r
    }
    fn compute_input(&mut self, v: Value, decl: &retroshade_ir::IoDecl, lanes: u8, used: u8) -> Result<(), CompileError> {
        self.note("compute.builtin");
        let Binding::Builtin(b) = decl.binding else {
            return Err(CompileError::unsupported("T0032", self.span, "a compute program has no user inputs"));
        };
        let size = self.module.workgroup_size;
        for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
            let dst = self.lane_register(v, l);
            match b {
                Builtin::LocalInvocationId => self.local_id(dst, l)?,
                Builtin::WorkgroupId => self.header(dst, Self::group_word(l)),
                Builtin::NumWorkgroups => {
                    let off = [8, 10, crate::abi::GRID_Z][l as usize % 3];
                    self.header(dst, off);
                }
                Builtin::GlobalInvocationId if size[l as usize % 3] <= 1 => self.header(dst, Self::group_word(l)),
                Builtin::GlobalInvocationId => {
                    // The group's number is a half-word, its size at most 512.
                    let t = match self.thread_id {
                        Some(tid) if l == 0 && size[1] <= 1 && size[2] <= 1 && size[0] > 1 => tid,
                        _ => {
                            let t = self.fresh();
                            self.local_id(t, l)?;
                            t
                        }
                    };
                    let size = Src::Imm(size[l as usize % 3].max(1));
                    let group = Src::S(1, Self::group_word(l));
                    self.emit(MInst { tie3: true, ..MInst::new(Op::MadU16, Dst::Reg(dst), &[group, size, Src::reg(t)]) });
                }
                Builtin::LocalInvocationIndex if size[1] <= 1 && size[2] <= 1 => self.local_id(dst, 0)?,
                Builtin::LocalInvocationIndex => {
                    // x + size.x × (y + size.y × z)
                    let (x, mut y) = (self.fresh(), self.fresh());
                    self.local_id(x, 0)?;
                    self.local_id(y, 1)?;
                    if size[2] > 1 {
                        let (z, a, s) = (self.fresh(), self.fresh(), self.fresh());
                        self.local_id(z, 2)?;
                        self.emit(MInst::new(Op::Mul24, Dst::Reg(a), &[Src::reg(z), Src::Imm(size[1].max(1))]));
                        self.emit(MInst::new(Op::Add, Dst::Reg(s), &[Src::reg(a), Src::reg(y)]));
                        y = s;
                    }
                    let c = self.fresh();
                    self.emit(MInst::new(Op::Mul24, Dst::Reg(c), &[Src::reg(y), Src::Imm(size[0].max(1))]));
                    self.emit(MInst::new(Op::Add, Dst::Reg(dst), &[Src::reg(c), Src::reg(x)]));
                }
                _ => {
                    return Err(CompileError::unsupported(
                        "T0033",
                        self.span,
                        format!("`{}` is not available in compute programs", b.name()),
                    ));
                }
            }
        }
        Ok(())
    }
    fn local_id(&mut self, dst: Reg, axis: u8) -> Result<(), CompileError> {
        let tid = self.thread_id.ok_or_else(|| internal("no thread id"))?;
        let size = self.module.workgroup_size;
        match axis {
            _ if size[axis as usize % 3] <= 1 => self.emit(MInst::new(Op::Mov, Dst::Reg(dst), &[Src::Imm(0)])),
            // Nothing but x is in the register then.
            0 if size[1] <= 1 && size[2] <= 1 => self.emit(MInst::new(Op::Mov, Dst::Reg(dst), &[Src::reg(tid)])),
            0 => self.emit(MInst::new(Op::Logic, Dst::Reg(dst), &[Src::reg(tid), Src::Imm(0xffff)]).with(field!(lop), LogicOp::And)),
            1 => {
                let t = self.fresh();
                self.emit(MInst::new(Op::Shr, Dst::Reg(t), &[Src::reg(tid), Src::Imm(16)]));
                self.emit(MInst::new(Op::Logic, Dst::Reg(dst), &[Src::reg(t), Src::Imm(0x3ff)]).with(field!(lop), LogicOp::And));
            }
            _ => self.emit(MInst::new(Op::Shr, Dst::Reg(dst), &[Src::reg(tid), Src::Imm(26)])),
        }
        Ok(())
    }
    /// Where the header of s[] has the workgroup's number.
    const fn group_word(axis: u8) -> u32 {
        [0xc, 0xe, crate::abi::GRID_Z + 2][axis as usize % 3]
    }
    /// A 16-bit word of the workgroup's header.
    fn header(&mut self, dst: Reg, off: u32) {
        self.emit(MInst::new(Op::Mov, Dst::Reg(dst), &[Src::S(1, off)]));
    }

    fn output(&mut self, d: &InstData) -> Result<(), CompileError> {
        let Imm::Mem { var: MemRef::Output(o), offset } = d.imm else { return Err(internal("output without a variable")) };
        let o = o.as_u32();
        let ty = self.func.ty(d.args[0]);
        let parts: SmallVec<[Value; 4]> = match self.def(d.args[0]) {
            Some(b) if b.op == Opcode::Build => b.args.iter().copied().collect(),
            _ if ty.lanes == 1 => [d.args[0]].into_iter().collect(),
            _ => SmallVec::new(),
        };
        for lane in 0..ty.lanes as u32 {
            let part = parts.get(lane as usize).copied();
            let words = self.module.stage != Stage::Fragment;
            // A word that nobody gives a value is not written.
            if words && part.is_some_and(|v| self.func.def_if(v, Opcode::Undef).is_some()) {
                continue;
            }
            if let Some(v) = part
                && self.module.stage != Stage::Fragment
                && d.args.len() == 1
                && self.signed_output(v, (o, offset, lane))?
            {
                continue;
            }
            if self.module.stage == Stage::Fragment {
                if d.args.len() > 1 {
                    return Err(CompileError::unsupported("T0034", self.span, "fragment outputs take constant indices only"));
                }
                let word = crate::abi::Word { decl: o, element: offset, lane };
                let Some((reg, _)) = self.abi.results.iter().find(|r| r.1 == word).cloned() else { continue };
                self.note("result");
                self.results.insert(reg, part.map_or((d.args[0], Some(lane as u8)), |v| (v, None)));
                continue;
            }
            let src = match part {
                Some(v) if matches!(self.func.ty(v).scalar, Scalar::I1 | Scalar::F16) => Src::reg(self.result_register(v)?),
                Some(v) => self.operand(v)?,
                None => self.lane(d.args[0], lane as u8)?,
            };
            let off = self.abi.output_offset(o, offset, lane).ok_or_else(|| internal("an output without a place"))?;
            if d.args.len() > 1 {
                let r = self.in_register(src);
                self.note("output.indexed");
                let decl = &self.module.outputs[retroshade_ir::Output::from_u32(o)];
                let index = self.address(d.args[1], decl.ty.lanes as u32 * 4)?;
                self.emit(MInst {
                    index,
                    extra: Extra::Mem { off, ty: Access::B32, space: 0 },
                    ..MInst::new(Op::StO, Dst::None, &[Src::None, Src::None, Src::reg(r)])
                });
                continue;
            }
            self.note("output.move");
            match src {
                Src::C(..) => self.emit(MInst::new(Op::LdC, Dst::Out(off), &[src]).with(field!(w), true)),
                Src::Imm(k) if k != 0 => {
                    let r = self.in_register(src);
                    self.emit(MInst::new(Op::Mov, Dst::Out(off), &[Src::reg(r)]));
                }
                s => self.emit(MInst::new(Op::Mov, Dst::Out(off), &[s])),
            }
        }
        Ok(())
    }
    /// An output word that is a result of arithmetic with another sign: a conversion with a sign writes it. (It would flush a
    /// denormal and make every NaN the same, which such results are already.)
    fn signed_output(&mut self, v: Value, (o, element, lane): (u32, u32, u32)) -> Result<bool, CompileError> {
        use Opcode::*;
        let v = self.func.resolve(v);
        let Some(d) = self.def(v).filter(|d| matches!(d.op, Fneg | Fabs) && self.func.ty(v).scalar == Scalar::F32) else {
            return Ok(false);
        };
        let (x, neg) = (self.func.resolve(d.args[0]), d.op == Fneg);
        let flushed =
            self.def(x).is_some_and(|d| matches!(d.op, Fadd | Fsub | Fmul | Fmad | Frcp | Frsqrt | Flog2 | Ffloor | Fceil | Ftrunc));
        let (Some(r), false, true) = (self.regs[x], self.is_in_register(v), flushed) else { return Ok(false) };
        let off = self.abi.output_offset(o, element, lane).ok_or_else(|| internal("an output without a place"))?;
        self.note("output.sign");
        let i = MInst::new(Op::Cvt(Ty::F32, Ty::F32), Dst::Out(off), &[Src::reg(Reg::Virtual(r))]);
        self.emit(i.with(field!(neg1), neg).with(field!(abs1), !neg));
        Ok(true)
    }
    /// `$a` for an index counted in units of `unit` bytes.
    pub(crate) fn address(&mut self, index: Value, unit: u32) -> Result<Index, CompileError> {
        if unit.is_power_of_two() && unit.trailing_zeros() < ADDRESS_BITS {
            self.note("address.shift");
            let unit = unit.trailing_zeros();
            // A shift before this one is part of it.
            let shifted = self.def(index).filter(|d| d.op == Opcode::Ishl).map(|d| (d.args[0], d.args[1]));
            let joined = shifted.and_then(|(x, k)| Some((x, self.bits(k)?))).filter(|(_, k)| k + unit < ADDRESS_BITS);
            let (index, shift) = joined.map_or((index, unit), |(x, k)| (x, k + unit));
            return Ok(Index::Reg(self.register(index)?, shift as u8));
        }
        let r = self.register(index)?;
        self.note("address.product");
        let key = (self.func.resolve(index), unit);
        if let Some(t) = self.here.products.get(&key) {
            return Ok(Index::Reg(*t, 0));
        }
        let t = self.fresh();
        self.emit(MInst::new(Op::Mul24, Dst::Reg(t), &[Src::reg(r), Src::Imm(unit)]));
        self.here.products.insert(key, t);
        Ok(Index::Reg(t, 0))
    }
}
