//! What code takes at least, as far as that is known: of a program before placement, of one that was placed, of lines before their order.
//!
//! A search lays nothing out that cannot win. Each instruction counts in the shortest form that takes it in the best registers, shorts as
//! if all found partners; moves between registers count once it is known that they stay.

use crate::emit::Machine;
use crate::emit::encode::{Setting, encode, number};
use crate::emit::lines::Line;
use crate::isa::forms::{Op, Shape};
use crate::select::mir::{CC, Dst, Extra, GPR, MInst, Part, Src};
use retroshade_lower::{
    MachInst, OperandConstraint, OperandKind, OperandPos, OperandVisitor, Placed, PlacedInst, PlacedReg, Reg, RegClass, VCode,
};

/// What a layout takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Bytes of code.
    pub bytes: u64,
    /// Instructions.
    pub issues: u64,
    /// `$r` registers.
    pub registers: u32,
    /// Bytes of l[] that values take.
    pub spilled: u32,
}

impl Size {
    /// What is taken at least, where more is known than this. An instruction that this did not count has four bytes.
    pub fn with(self, known: Size) -> Size {
        let more = known.issues.saturating_sub(self.issues);
        Size {
            bytes: known.bytes.max(self.bytes + 4 * more).next_multiple_of(8),
            issues: known.issues.max(self.issues),
            registers: known.registers.max(self.registers),
            spilled: known.spilled.max(self.spilled),
        }
    }
    fn add(&mut self, short: bool) {
        self.issues += 1;
        self.bytes += if short { 4 } else { 8 };
    }
}

/// Whether nothing is emitted for an instruction.
fn is_silent(i: &MInst) -> bool {
    matches!(i.extra, Extra::Jump | Extra::Branch(..) | Extra::Entry(_) | Extra::Exit(_) | Extra::Undefined)
}

/// A move between registers, which may be the same.
fn moved(i: &MInst) -> Option<(Reg, Reg)> {
    match (i.op, i.dst, i.src[0]) {
        (Op::Mov, Dst::Reg(to), Src::Reg(from, Part::Full)) => Some((to, from)),
        _ => None,
    }
}

/// Puts every register into the first one of its class, which any form takes.
struct First;

impl OperandVisitor for First {
    fn operand(&mut self, r: &mut Reg, _: OperandConstraint, _: OperandKind, _: OperandPos) {
        if let Reg::Virtual(v) = *r {
            let class: RegClass = if v.class() == CC { CC } else { GPR };
            *r = Reg::Placed(PlacedReg::Reg { class: class as u8, index: 0 });
        }
    }
}

/// Before placement: registers are not counted.
pub(crate) fn of_selected(vcode: &VCode<MInst>, machine: Machine) -> Size {
    let Machine { chip, space, .. } = machine;
    let setting = Setting { space, short_zero: !chip.flexgrip, a: 0, chip };
    let mut size = Size::default();
    for (i, _) in vcode.blocks.iter().flat_map(|b| &b.insts).filter(|(i, _)| !is_silent(i) && moved(i).is_none()) {
        let mut i = i.clone();
        i.visit(&mut First);
        size.add(encode(&i, Shape::Short, &setting).is_some());
    }
    size
}

/// Of placed code: how many instructions it has at least.
pub(super) fn issues(placed: &Placed<MInst>) -> u64 {
    let stays = |p: &&PlacedInst<MInst>| match p {
        PlacedInst::Move { .. } => true,
        PlacedInst::Inst(i, _) => !is_silent(i) && moved(i).is_none_or(|(to, from)| number(to) != number(from)),
    };
    placed.blocks.iter().flatten().filter(stays).count() as u64
}

/// Of lines before they are ordered: labels and control flow part runs, and a short instruction without a partner is a long one.
pub(super) fn of_lines(lines: &[Line]) -> Size {
    let mut size = Size::default();
    let mut shorts = 0u64;
    for line in lines {
        match line {
            Line::Inst(e) if e.short.is_some() => {
                shorts += 1;
                size.issues += 1;
            }
            Line::Inst(_) => size.add(false),
            Line::Control(_) => size.add(false),
            Line::Join => continue,
            Line::Label(_) | Line::Exit => {}
        }
        if !matches!(line, Line::Inst(_)) {
            size.bytes += 8 * std::mem::take(&mut shorts).div_ceil(2);
        }
    }
    size.bytes += 8 * shorts.div_ceil(2);
    size
}
