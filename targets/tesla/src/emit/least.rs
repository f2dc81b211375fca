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
    /// Whether nothing here is more than what was taken in the end; registers aside, for a value that no instruction names takes none.
    pub fn is_within(self, taken: Size) -> bool {
        let known = self.with(Size::default());
        known.bytes <= taken.bytes && known.issues <= taken.issues && known.spilled <= taken.spilled
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
pub(super) fn of_lines(lines: &[Line<'_>]) -> Size {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::lines::Enc;
    use crate::isa::chip::EVERYTHING;
    use crate::isa::forms::{Cond, FP};
    use crate::place::Room;
    use retroshade_ir::Span;
    use retroshade_lower::AllocStep;

    const MACHINE: Machine = Machine { chip: &EVERYTHING, space: FP, room: Room::WHOLE };

    fn at(index: u8) -> Reg {
        Reg::Placed(PlacedReg::Reg { class: GPR as u8, index })
    }
    fn sum(to: Reg, a: Reg, b: Reg) -> MInst {
        MInst::new(Op::Fadd, Dst::Reg(to), &[Src::reg(a), Src::reg(b)])
    }
    fn copy(to: Reg, from: Reg) -> MInst {
        MInst::new(Op::Mov, Dst::Reg(to), &[Src::reg(from)])
    }

    #[test]
    fn each_instruction_counts_in_its_shortest_form() {
        let mut code = VCode::new();
        let block = code.block(0);
        let [a, b] = [0; 2].map(|_| code.reg(GPR, Span::NONE));
        let c = code.reg(CC, Span::NONE);
        let size = |code: &mut VCode<MInst>, i: MInst| {
            code.push(block, i, Span::NONE);
            let Size { bytes, issues, .. } = of_selected(code, MACHINE);
            (bytes, issues)
        };
        assert_eq!(size(&mut code, sum(a, b, b)), (4, 1));
        assert_eq!(size(&mut code, MInst { pred: Some((c, Cond::Equal)), tied: Some(a), ..sum(a, b, b) }), (12, 2));
        // Either register may be the other one in the end.
        assert_eq!(size(&mut code, copy(b, a)), (12, 2));
        assert_eq!(size(&mut code, MInst { extra: Extra::Jump, ..MInst::new(Op::Nop, Dst::None, &[]) }), (12, 2));
    }

    #[test]
    fn moves_that_stay_have_four_bytes() {
        let inst = |i| PlacedInst::Inst(i, Span::NONE);
        let [from, to] = [1, 2].map(|index| PlacedReg::Reg { class: GPR as u8, index });
        let block = vec![inst(sum(at(1), at(2), at(3))), inst(copy(at(1), at(1))), PlacedInst::Move { class: GPR as u8, from, to }];
        let placed = Placed { blocks: vec![block], step: AllocStep::IonTight, max_live: [0; 3], used: [0; 3], slots: 0, rematerialised: 0 };
        assert_eq!(issues(&placed), 2);
        let known = Size { issues: 2, registers: 4, ..Size::default() };
        let least = Size { bytes: 4, issues: 1, registers: 6, spilled: 0 };
        assert_eq!(least.with(known), Size { bytes: 8, issues: 2, registers: 6, spilled: 0 });
        assert!(least.is_within(least.with(known)) && !least.with(known).is_within(Size { bytes: 8, ..least }));
    }

    #[test]
    fn a_label_parts_shorts() {
        let setting = Setting { space: FP, short_zero: true, a: 0, chip: &EVERYTHING };
        let short = || Line::Inst(Enc::new(sum(at(1), at(2), at(3)).into(), setting, Span::NONE).expect("a form"));
        let bytes = |lines: &[Line]| of_lines(lines).bytes;
        assert_eq!(bytes(&[short(), short(), short(), short()]), 16);
        assert_eq!(bytes(&[short(), short(), short(), Line::Exit, short()]), 24);
        assert_eq!(bytes(&[short(), Line::Join, short()]), 8);
    }
}
