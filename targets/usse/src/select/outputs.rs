//! Outputs: where they are written, where the colour is rounded, how a program ends.

use super::*;
use crate::abi::varyings::{self, Varying};

impl Selector<'_> {
    /// The values that are written to an output.
    fn written(&self, o: Output) -> Vec<Value> {
        let f = self.f;
        let writes = |i: &Inst| matches!(f.insts[*i].imm, Imm::Mem { var: MemRef::Output(x), .. } if x == o);
        f.ordered().map(|(_, i)| i).filter(writes).filter_map(|i| f.insts[i].args.first().copied()).collect()
    }

    /// The f32 that a value was before it was rounded to f16.
    fn unrounded(&self, v: Value) -> Option<Value> {
        let half = self.f.def_if(v, Opcode::Fcvt)?.args[0];
        let full = self.f.def_if(half, Opcode::Fcvt)?.args[0];
        (self.f.ty(full).scalar == Scalar::F32 && self.f.ty(half).scalar == Scalar::F16).then_some(full)
    }

    pub(super) fn is_rounded_late(&self, o: Output) -> bool {
        let all = self.written(o);
        self.abi.half_colour() && all.len() > 1 && all.iter().all(|v| self.unrounded(*v).is_some())
    }

    fn users_of<'b>(&'b self, d: &'b InstData) -> impl Iterator<Item = &'b InstData> {
        d.results.iter().flat_map(|r| &self.users[*r]).map(|(_, i)| &self.f.insts[*i])
    }

    /// Whether a value is only rounded for the colour.
    pub(super) fn only_rounds_colour(&self, d: &InstData) -> bool {
        self.users_of(d).all(|user| user.op == Opcode::Fcvt && self.only_output(user))
    }

    /// Whether a value only goes to the colour output.
    pub(super) fn only_output(&self, d: &InstData) -> bool {
        self.users_of(d).all(|user| matches!(user.imm, Imm::Mem { var: MemRef::Output(o), .. } if Some(o) != self.abi.depth))
    }

    /// The output that an instruction writes: the declaration, the element.
    fn written_by(&self, d: &InstData) -> Result<(Output, u32), CompileError> {
        match d.imm {
            Imm::Mem { var: MemRef::Output(o), offset } if d.args.len() == 1 => Ok((o, offset)),
            _ => Err(self.unsupported("outputs cannot be indexed by a computed value")),
        }
    }

    /// The value that an output takes: its lanes, whether they are halves for the colour, whether the source is f16.
    fn taken(&mut self, d: &InstData) -> (Vec<Lane>, bool, bool) {
        let half = self.f.ty(d.args[0]).scalar == Scalar::F16;
        let narrow = self.abi.half_colour() && (half || f16_source(self.f, d.args[0]));
        let from = self.f.def_if(d.args[0], Opcode::Fcvt).map(|c| c.args[0]).filter(|_| narrow && !half);
        (self.value_lanes(from.unwrap_or(d.args[0])), narrow, half)
    }

    /// The only write of the colour, in the last block, happens at the end.
    pub(super) fn output_last(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, _) = self.parts(i);
        let key = self.written_by(d)?;
        let same =
            |(_, i): &(Block, Inst)| matches!(self.f.insts[*i].imm, Imm::Mem { var: MemRef::Output(x), offset } if (x, offset) == key);
        let once = self.f.ordered().filter(same).count() == 1;
        let ends = self.f.terminator(self.f.layout[self.at]).is_some_and(|t| self.f.insts[t].op == Opcode::Return);
        if !once || !ends || self.m.stage != Stage::Fragment || Some(key.0) == self.abi.depth {
            return Ok(false);
        }
        let (src, narrow, _) = self.taken(d);
        self.final_colour = Some((src, narrow));
        Ok(true)
    }

    /// Integers travel to a fragment program in halves.
    pub(super) fn output_halves(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, _) = self.parts(i);
        let key = self.written_by(d)?;
        let Some(v) = self.outputs.get(&key).copied() else { return Ok(false) };
        if self.f.ty(d.args[0]).scalar != Scalar::I32 || self.out.primary.data(v).ty != Scalar::F32 {
            return Ok(false);
        }
        let mut lanes = Vec::new();
        for l in self.value_lanes(d.args[0]) {
            if let Base::C(c) = l.base {
                lanes.extend(varyings::halves(c).map(Lane::c));
                continue;
            }
            let convert = Kind::Convert(Format::U16, Format::F32, false);
            let word = self.plain(vec![l], types::I32);
            lanes.extend(self.make(convert.clone(), types::F32, vec![word.clone()]));
            // A second, empty source stands for the high half.
            lanes.extend(self.make(convert, types::F32, vec![word, Vec::new()]));
        }
        self.emit(Kind::Copy, Some(v), vec![lanes]);
        Ok(true)
    }

    pub(super) fn output_place(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, _) = self.parts(i);
        let key = self.written_by(d)?;
        let v = *self.outputs.get(&key).ok_or_else(|| self.unsupported("an output outside its array"))?;
        let (src, narrow, half) = self.taken(d);
        let late = if self.rounds_late && Some(key.0) != self.abi.depth { self.unrounded(d.args[0]) } else { None };
        let convert = match self.out.primary.data(v).ty {
            _ if late.is_some() => None,
            Scalar::F16 if !narrow => Some(Kind::Convert(Format::F32, Format::F16, false)),
            Scalar::F32 if half => Some(Kind::Convert(Format::F16, Format::F32, false)),
            _ => None,
        };
        let src = match (late, &convert) {
            (Some(full), _) => self.value_lanes(full),
            (None, Some(_)) => self.plain(src, self.f.ty(d.args[0])),
            _ => src,
        };
        self.emit(convert.unwrap_or(Kind::Copy), Some(v), vec![src]);
        Ok(true)
    }

    /// A vertex program's outputs stay where they are. Copies to them sink to the end, so that values may be computed in place
    /// and still be read.
    fn finish_vertex(&mut self) {
        let slots = self.abi.outputs.iter();
        let keep: Vec<Vec<Lane>> = slots.filter_map(|s| self.outputs.get(&(s.output, s.element)).map(|v| Self::of(*v, s.lanes))).collect();
        let at = self.at;
        let outs: Vec<Vreg> = self.outputs.values().copied().collect();
        let ops = std::mem::take(&mut self.out.primary.blocks[at].ops);
        let count = |v: Vreg| ops.iter().filter(|o| o.dst == Some(v)).count();
        let sinks = |o: &Mop| o.kind == Kind::Copy && o.dst.is_some_and(|v| outs.contains(&v) && count(v) == 1);
        let (late, early): (Vec<Mop>, Vec<Mop>) = ops.iter().cloned().partition(sinks);
        self.out.primary.blocks[at].ops = early;
        self.out.primary.blocks[at].ops.extend(late);
        let rest = self.write_rest();
        self.emit(Kind::Keep, None, keep.into_iter().chain(rest).collect());
    }

    /// Components that the source does not have but the machine needs, or programs of others may read: those of the position and of
    /// colours are what attributes without them are, 0, 0, 0, 1.
    fn write_rest(&mut self) -> Vec<Vec<Lane>> {
        const DEFAULT: [u32; 4] = [0, 0, 0, 0x3f80_0000];
        let has_position = self.m.outputs.values().any(|d| d.binding == Binding::Builtin(Builtin::Position));
        let position = (!has_position).then_some((0, 0));
        let colours = self.abi.outputs.iter().filter(|s| matches!(s.varying, Some(Varying::Color(_)))).map(|s| (s.reg, s.lanes));
        let gaps: Vec<(u16, u8)> = position.into_iter().chain(colours).filter(|(_, lanes)| *lanes < 4).collect();
        let fill = |(reg, lanes): (u16, u8)| {
            let v = self.out.primary.vreg(Scalar::F32, 4 - lanes, self.span);
            self.out.fixed.insert(v, Reg::new(Bank::O, reg + u16::from(lanes)));
            self.emit(Kind::Copy, Some(v), vec![DEFAULT[usize::from(lanes)..].iter().map(|c| Lane::c(*c)).collect()]);
            Self::of(v, 4 - lanes)
        };
        gaps.into_iter().map(fill).collect()
    }

    pub(super) fn finish(&mut self, _: Inst) -> Result<bool, CompileError> {
        if self.m.stage == Stage::Vertex {
            self.finish_vertex();
            return Ok(true);
        }
        if let Some(o) = self.abi.depth {
            let v = self.outputs[&(o, 0)];
            // DEPTHF's operand is known for r0 only.
            let r0 = self.out.primary.vreg(Scalar::F32, 1, self.span);
            self.out.fixed.insert(r0, Reg::r(0));
            self.emit(Kind::Copy, Some(r0), vec![Self::of(v, 1)]);
            self.emit(Kind::Depth, None, vec![Self::of(r0, 1)]);
            self.out.phases = true;
        }
        if self.out.phases {
            self.emit(Kind::EndPhase, None, Vec::new());
        }
        let Some(slot) = self.abi.outputs.iter().find(|s| Some(s.output) != self.abi.depth) else { return Ok(true) };
        let (key, lanes) = ((slot.output, slot.element), slot.lanes);
        let (src, narrow) = match self.final_colour.take() {
            Some(v) => v,
            None => (Self::of(self.outputs[&key], lanes), self.abi.half_colour() && !self.rounds_late),
        };
        let from = self.m.outputs[key.0].ty.scalar;
        let to = if self.abi.half_colour() { Scalar::F16 } else { from };
        if self.abi.colour == ColorFormat::U8 {
            // Four bytes in one register.
            let r = self.out.primary.vreg(Scalar::I32, 1, self.span);
            self.out.fixed.insert(r, self.frame_register());
            let src = self.plain(src, Type::new(from, lanes));
            self.emit(Kind::Convert(Format::F32, Format::U8, true), Some(r), vec![src]);
            self.emit(Kind::Keep, None, vec![Self::of(r, 1)]);
            return Ok(true);
        }
        let r = self.out.primary.vreg(to, lanes, self.span);
        self.out.fixed.insert(r, self.frame_register());
        if to == Scalar::F16 && !narrow {
            let src = self.plain(src, Type::new(from, lanes));
            self.emit(Kind::Convert(Format::F32, Format::F16, false), Some(r), vec![src]);
        } else {
            self.emit(Kind::Copy, Some(r), vec![src]);
        }
        self.emit(Kind::Keep, None, vec![Self::of(r, lanes)]);
        Ok(true)
    }

    /// Output variables that some path leaves unwritten begin as zeros.
    pub(super) fn initialise_outputs(&mut self) {
        let entry = crate::place::live::at_entry(&self.out.primary);
        let unset: Vec<Vreg> = self.outputs.values().copied().filter(|v| entry.contains(v)).collect();
        for v in unset {
            let n = self.out.primary.data(v).lanes as usize;
            let op = Mop::new(Kind::Copy, Some(v), vec![vec![Lane::c(0); n]], Span::NONE);
            self.out.primary.blocks[0].ops.insert(0, op);
        }
    }
}

/// Whether a value is an f16 that was widened for the output.
fn f16_source(f: &Function, v: Value) -> bool {
    f.def_if(v, Opcode::Fcvt).is_some_and(|d| f.ty(d.args[0]).scalar == Scalar::F16)
}
