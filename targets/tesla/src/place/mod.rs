//! Placement: the register file handed to the allocator, values spilled to l[], and the order before it.
//!
//! `$r0`–`$r63` are a class, since halves and immediates reach no further; `$r64`… are slots that most operands can name.

pub(crate) mod sched;

use crate::isa::chip::Chip;
use crate::select::mir::{GPR, MInst, Part, Src};
use retroshade_lower::{
    AllocOptions, BankKind, ClassSpec, CompileError, MachInst, NO_CLASS, OperandConstraint, OperandKind, OperandPos, OperandVisitor,
    Options, PReg, PRegSet, Placed, PlacedInst, PlacedReg, Reg, RegFile, SlotBank, VCode, place,
};

/// `$r` registers beyond the low half of the file that may be allocated; `$r126` is a scratch, `$r127` reads as zero.
const HIGH: u32 = 62;

/// The register file: `$r0`–`$r63` in a class, `$r64`… as slots, l[] behind them; `$c0`–`$c3`.
fn file(memory: Option<u32>, chip: &Chip) -> RegFile {
    let mut slots = vec![SlotBank { name: "$r64+", first_hw: 64, slots: HIGH, kind: BankKind::Register }];
    let mut reserved = PRegSet::default();
    if let Some(base) = memory {
        slots.push(SlotBank { name: "l[]", first_hw: base, slots: 4096, kind: BankKind::Memory });
        for n in 60..64 {
            reserved.add(PReg::new(n, GPR));
        }
    }
    RegFile {
        classes: [ClassSpec { name: "$c", count: 4, slot_units: 1 }, ClassSpec { name: "$r", count: 64, slot_units: 1 }, NO_CLASS],
        slots,
        inputs: Vec::new(),
        reserved,
        steps: [Vec::new(), sched::steps(chip.register_file), Vec::new()],
    }
}

/// Slots of l[] count in words: their byte addresses follow the local arrays.
fn spill_addresses(placed: &mut Placed<MInst>, base: u32) -> u32 {
    struct Scale {
        base: u32,
        top: u32,
    }
    impl Scale {
        fn one(&mut self, p: &mut PlacedReg) {
            if let PlacedReg::Slot { bank: 1, hw } = p {
                *hw = self.base + *hw * 4;
                self.top = self.top.max(*hw + 4);
            }
        }
    }
    impl OperandVisitor for Scale {
        fn operand(&mut self, r: &mut Reg, _: OperandConstraint, _: OperandKind, _: OperandPos) {
            if let Reg::Placed(p) = r {
                self.one(p);
            }
        }
    }
    let mut s = Scale { base, top: base };
    for i in placed.blocks.iter_mut().flatten() {
        match i {
            PlacedInst::Move { from, to, .. } => {
                s.one(from);
                s.one(to);
            }
            PlacedInst::Inst(i, _) => i.visit(&mut s),
        }
    }
    s.top
}

/// Allocation in at most so many registers; also the bytes of l[] that spilled values take, behind `base`.
pub(crate) fn place_all(
    vcode: &VCode<MInst>,
    base: u32,
    chip: &Chip,
    most: Option<u32>,
    options: &Options,
) -> Result<(Placed<MInst>, u32), CompileError> {
    let alloc = AllocOptions { check: options.check_allocation, most: most.map(|n| [4, n, 0]), ..AllocOptions::default() };
    match place(vcode, &file(None, chip), &alloc, "T0100") {
        Ok(p) => Ok((p, 0)),
        Err(CompileError::Limit { .. }) if most.is_none() => {
            let mut p = place(vcode, &file(Some(0), chip), &alloc, "T0100")?;
            let top = spill_addresses(&mut p, base);
            Ok((p, top - base))
        }
        Err(e) => Err(e),
    }
}

/// Whether a half beyond `$r31` meets an immediate: those forms count halves in six bits.
pub(crate) fn halves_out_of_reach(placed: &Placed<MInst>) -> bool {
    let far = |s: &Src| matches!(s, Src::Reg(r, Part::Low | Part::High) if crate::emit::encode::number(*r).is_none_or(|n| n > 31));
    placed.blocks.iter().flatten().any(|p| match p {
        PlacedInst::Inst(i, _) => matches!(i.src[1], Src::Imm(k) if k != 0) && i.src.iter().any(far),
        PlacedInst::Move { .. } => false,
    })
}
