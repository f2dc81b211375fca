//! Code for a chip that executes only some forms right (`isa/flexgrip.rs`): operands that they do not take go into registers,
//! flags that they do not set come from an instruction of their own, and operations that the chip lacks are refused.
//!
//! Runs behind the clean-up, so that nothing is made afterwards that the chip lacks.

use crate::emit::encode::forms_of;
use crate::isa::chip::Chip;
use crate::isa::flexgrip;
use crate::isa::forms::{LogicOp, Op, Shape, TABLE, field};
use crate::select::mir::{Dst, Extra, GPR, Index, MInst, Part, Src};
use retroshade_emit::FieldValue;
use retroshade_ir::Span;
use retroshade_lower::{CompileError, Reg, VCode};
use std::collections::BTreeMap;

/// Rewrites or refuses every instruction that the chip does not execute as it is.
pub(crate) fn run(vc: &mut VCode<MInst>, chip: &Chip) -> Result<(), CompileError> {
    for b in 0..vc.blocks.len() {
        let old = std::mem::take(&mut vc.blocks[b].insts);
        let mut r = Rewriter { vc, out: Vec::with_capacity(old.len()), span: Span::NONE, constants: BTreeMap::new() };
        for (i, span) in old {
            r.span = span;
            refuse(&i, span, chip)?;
            r.inst(i);
        }
        let new = r.out;
        vc.blocks[b].insts = new;
    }
    Ok(())
}

/// The error for what a chip does not execute.
pub(crate) fn lacking(chip: &Chip, what: &str, span: Span) -> CompileError {
    CompileError::unsupported("T0044", span, format!("{} does not execute {what} right", chip.name))
}

/// An operation by the name of its first form and what it is for.
fn described(op: Op) -> String {
    let form = [Shape::Long, Shape::Short, Shape::Imm, Shape::Control].into_iter().find_map(|s| forms_of(op, s).first());
    let name = form.map_or("?", |f| TABLE.form(*f).name);
    format!("`{name}` ({})", op.doc().split(" (").next().unwrap_or_default())
}

fn refuse(i: &MInst, span: Span, chip: &Chip) -> Result<(), CompileError> {
    let pseudo = matches!(i.extra, Extra::Jump | Extra::Undefined | Extra::Entry(_) | Extra::Exit(_) | Extra::Branch(..) | Extra::Bar);
    if !pseudo && !chip.has_op(i.op) {
        return Err(lacking(chip, &described(i.op), span));
    }
    if i.src.iter().any(|s| matches!(s, Src::C(_, _, true))) || i.op == Op::LdC && i.index != Index::None {
        return Err(lacking(chip, "a read of c[] by a computed index", span));
    }
    if i.carry.is_some() {
        return Err(lacking(chip, "a sum with a carry", span));
    }
    Ok(())
}

struct Rewriter<'a> {
    vc: &'a mut VCode<MInst>,
    out: Vec<(MInst, Span)>,
    span: Span,
    /// Registers of this block that hold constants.
    constants: BTreeMap<u32, Reg>,
}

impl Rewriter<'_> {
    fn emit(&mut self, i: MInst) {
        self.out.push((i, self.span));
    }
    fn fresh(&mut self) -> Reg {
        self.vc.reg(GPR, self.span)
    }
    fn constant(&mut self, k: u32, own: bool) -> Reg {
        if let Some(r) = self.constants.get(&k).filter(|_| !own) {
            return *r;
        }
        let r = self.fresh();
        self.emit(MInst::new(Op::Mov, Dst::Reg(r), &[Src::Imm(k)]));
        if !own {
            self.constants.insert(k, r);
        }
        r
    }
    /// An operand from memory in a register; a half of c[] is the part of its word.
    fn loaded(&mut self, s: Src, index: Index, half: bool) -> Src {
        let r = self.fresh();
        let part = |off: u32| {
            if !half {
                Part::Full
            } else if off & 2 == 0 {
                Part::Low
            } else {
                Part::High
            }
        };
        match s {
            Src::C(space, off, _) => {
                let word = Src::C(space, off & !3, false);
                self.emit(MInst::new(Op::LdC, Dst::Reg(r), &[word]).with(field!(w), true));
                Src::Reg(r, part(off))
            }
            s => {
                self.emit(MInst { index, ..MInst::new(Op::Mov, Dst::Reg(r), &[s]) });
                Src::Reg(r, if half { Part::Low } else { Part::Full })
            }
        }
    }

    fn inst(&mut self, mut i: MInst) {
        self.flip_constant(&mut i);
        for k in 0..3 {
            if let Some(s) = self.operand(&i, k) {
                i.src[k] = s;
                if !i.src.iter().any(|s| matches!(s, Src::S(..))) && i.extra == Extra::None {
                    i.index = Index::None;
                }
            }
        }
        self.uncomplement(&mut i);
        let flags = i.cdst.filter(|_| !flexgrip::sets_flags(i.op));
        let Some(c) = flags else { return self.emit(i) };
        // The flags of the result are those of its disjunction with itself.
        i.cdst = None;
        let r = match i.dst {
            Dst::Reg(r) => r,
            _ => {
                let r = self.fresh();
                i.dst = Dst::Reg(r);
                r
            }
        };
        let pred = i.pred;
        self.emit(i);
        let test = MInst { cdst: Some(c), pred, ..MInst::new(Op::Logic, Dst::Discard, &[Src::reg(r), Src::reg(r)]) };
        self.emit(test.with(field!(lop), LogicOp::Or));
    }

    /// What takes an operand's place, if it cannot stay.
    fn operand(&mut self, i: &MInst, k: usize) -> Option<Src> {
        let half = i.op == Op::Mul16 || matches!(i.op, Op::MadU16 | Op::MadS16) && k < 2;
        let second = |f: fn(&Src) -> bool| i.src.iter().filter(|s| f(s)).count() > 1;
        match i.src[k] {
            // A shift's count is part of the instruction.
            Src::Imm(_) if matches!(i.op, Op::Shl | Op::Shr | Op::ShlA) && k == 1 => None,
            Src::Imm(n) if i.op == Op::Mov => i.pred.is_some().then(|| Src::reg(self.constant(n, false))),
            Src::Imm(n) if n == 0 || i.op == Op::Logic || i.cdst.is_some() || i.pred.is_some() => {
                let r = self.constant(n, i.tie3 && k == 2);
                Some(if half { Src::Reg(r, Part::Low) } else { Src::reg(r) })
            }
            s @ Src::S(..) if i.op != Op::Mov && (i.index != Index::None || i.op == Op::Mul24) => Some(self.loaded(s, i.index, half)),
            s @ Src::C(_, off, _) if i.op != Op::LdC => {
                let memory = i.src.iter().any(|s| matches!(s, Src::S(..)));
                let plain = matches!(i.op, Op::Add | Op::Set | Op::Logic);
                (!plain || memory || off >= flexgrip::OPERAND_REACH || second(|s| matches!(s, Src::C(..))))
                    .then(|| self.loaded(s, Index::None, half))
            }
            _ => None,
        }
    }
    /// A product's sign change in its constant.
    fn flip_constant(&mut self, i: &mut MInst) {
        if i.op == Op::Fmul
            && let Src::Imm(k) = i.src[1]
            && k != 0
        {
            let signs = i.modifier(field!(neg1)) ^ i.modifier(field!(neg2));
            i.src[1] = Src::Imm(k ^ (signs as u32) << 31);
            i.modify(field!(neg1), false);
            i.modify(field!(neg2), false);
        }
    }
    /// Complemented operands of a logic operation by an instruction of their own.
    fn uncomplement(&mut self, i: &mut MInst) {
        if i.op != Op::Logic || i.modifier(field!(lop)) == LogicOp::Second.raw() {
            return;
        }
        for (k, not) in [(0, field!(not1)), (1, field!(not2))] {
            if i.modifier(not) == 0 {
                continue;
            }
            let r = match i.src[k] {
                Src::Reg(r, _) => r,
                s => {
                    let Src::Reg(r, _) = self.loaded(s, Index::None, false) else { continue };
                    r
                }
            };
            let t = self.fresh();
            let inverted = MInst::new(Op::Logic, Dst::Reg(t), &[Src::reg(r), Src::reg(r)]);
            self.emit(inverted.with(field!(lop), LogicOp::Second).with(field!(not2), true));
            i.src[k] = Src::reg(t);
            i.modify(not, false);
        }
    }
}
