//! Placement: the register file handed to the allocator, values spilled to l[], and the order before it.
//!
//! `$r0`–`$r63` are a class, since halves and immediates reach no further; `$r64`… are slots that most operands can name.

pub(crate) mod again;
mod blocks;
pub(crate) mod flow;
mod order;
pub(crate) mod sched;
pub(crate) mod sink;

use crate::isa::chip::Chip;
use crate::search::SEARCHED;
use crate::select::mir::{Extra, GPR, MInst, Part, Src};
pub(crate) use order::Order;
use retroshade_ir::Span;
use retroshade_lower::{
    AllocOptions, BankKind, ClassSpec, CompileError, MachInst, Memory, NO_CLASS, OperandConstraint, OperandKind, OperandPos,
    OperandVisitor, Options, PReg, PRegSet, Placed, PlacedInst, PlacedReg, Reg, RegFile, Scan, SlotBank, place_in,
};

/// Registers that may be allocated; `$r126` is a scratch, `$r127` reads as zero.
pub(crate) const REGISTERS: u32 = 126;
/// Registers that halves and immediates reach.
const LOW: u32 = 64;
/// Registers through which values in l[] pass on their way to an instruction.
pub(crate) const SCRATCH: u8 = 4;

/// How many registers a program may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// `$r` registers.
    pub registers: u32,
    /// Whether values may go to l[].
    pub spill: bool,
    /// The register behind them, through which a `$c` moves while no value goes to l[].
    pub behind: u32,
}

impl Room {
    /// The whole file.
    pub const WHOLE: Room = Room { registers: REGISTERS, spill: true, behind: REGISTERS };

    fn low(self) -> u32 {
        self.registers.min(LOW)
    }
    /// The first of the [`SCRATCH`] registers: they end the low half of what there is.
    pub fn scratch(self) -> u8 {
        (self.low() as u8).saturating_sub(SCRATCH)
    }
    /// Where the blocks of texture operations and wide accesses end: before the [`SCRATCH`] registers, if there are any.
    fn blocks(self, spill: bool) -> usize {
        let end = if spill { self.scratch() } else { self.low() as u8 };
        usize::from(end.min(LOW as u8 - SCRATCH))
    }
    /// The register through which a `$c` moves to another.
    pub fn flag_scratch(self) -> PlacedReg {
        if self == Room::WHOLE || !self.spill {
            return PlacedReg::Slot { bank: 0, hw: self.behind };
        }
        self.memory_scratch()
    }
    /// The register through which a `$c` moves to and from l[].
    pub fn memory_scratch(self) -> PlacedReg {
        PlacedReg::Reg { class: GPR as u8, index: self.scratch() + SCRATCH - 1 }
    }
}

/// The register file: `$r0`–`$r63` in a class, `$r64`… as slots, l[] behind them where values may go there; `$c0`–`$c3`.
fn file(room: Room, memory: bool, chip: &Chip) -> RegFile {
    let high = room.registers.saturating_sub(LOW);
    let mut slots = vec![SlotBank { name: "$r64+", first_hw: LOW, slots: high, kind: BankKind::Register }];
    let mut reserved = PRegSet::default();
    if memory {
        slots.push(SlotBank { name: "l[]", first_hw: 0, slots: 4096, kind: BankKind::Memory });
        for n in room.scratch()..room.low() as u8 {
            reserved.add(PReg::new(n as usize, GPR));
        }
    }
    let low = ClassSpec { name: "$r", count: room.low() as u8, slot_units: 1 };
    RegFile {
        classes: [ClassSpec { name: "$c", count: 4, slot_units: 1 }, low, NO_CLASS],
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

/// Takes out values that no path reads, and copies of them: their registers hold anything.
fn drop_undefined(placed: &mut Placed<MInst>) {
    struct Writes(Vec<PlacedReg>);
    impl OperandVisitor for Writes {
        fn operand(&mut self, r: &mut Reg, _: OperandConstraint, kind: OperandKind, _: OperandPos) {
            if let (Reg::Placed(p), OperandKind::Def) = (*r, kind) {
                self.0.push(p);
            }
        }
    }
    let undefined = |i: &PlacedInst<MInst>| matches!(i, PlacedInst::Inst(MInst { extra: Extra::Undefined, .. }, _));
    for block in placed.blocks.iter_mut().filter(|b| b.iter().any(undefined)) {
        let mut open: Vec<PlacedReg> = Vec::new();
        block.retain_mut(|i| match i {
            PlacedInst::Move { from, to, .. } => {
                let nothing = open.contains(from);
                open.retain(|p| p != to);
                if nothing {
                    open.push(*to);
                }
                !nothing
            }
            PlacedInst::Inst(i, _) => {
                let mut written = Writes(Vec::new());
                i.visit(&mut written);
                open.retain(|p| !written.0.contains(p));
                if i.extra == Extra::Undefined {
                    open.append(&mut written.0);
                }
                i.extra != Extra::Undefined
            }
        });
    }
}

/// What an allocation aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// A place for everything.
    Place,
    /// At most so many registers and nothing in l[].
    Most(u32),
    /// Few registers, even if that takes moves.
    Few,
    /// The same, spread over the registers that the same warps leave; how many of each class `Few` takes, where that is known.
    Spread(Option<[u32; 3]>),
}

/// Allocation in memory that is kept between layouts; also the bytes of l[] that spilled values take, behind `base`.
pub(crate) fn place_all(
    order: &mut Order,
    base: u32,
    chip: &Chip,
    room: Room,
    aim: Aim,
    options: &Options,
    memory: &mut Memory,
) -> Result<(Placed<MInst>, u32), CompileError> {
    let spill = room.spill && aim == Aim::Place;
    let registers = file(room, false, chip);
    let bound = order.bound(room.blocks(spill), &registers);
    let vcode = order.bound_code(&bound);
    let most = if let Aim::Most(n) = aim { Some([4, n, 0]) } else { None };
    let scan = match aim {
        // Programs that are not searched are laid out once: registers that are apart leave their forms free.
        Aim::Place => Scan::First { spread: vcode.len() > SEARCHED },
        Aim::Most(_) => Scan::Last,
        Aim::Few => Scan::Few,
        Aim::Spread(few) => Scan::Spread(few),
    };
    let mut alloc = AllocOptions { check: options.check_allocation, most, scan, ..AllocOptions::default() };
    // Where the file is cut down and l[] is allowed, it is known that there is no way without.
    if !spill || room == Room::WHOLE {
        match place_in(vcode, &bound.view, &registers, &alloc, "T0100", memory) {
            Ok(mut p) => {
                drop_undefined(&mut p);
                return Ok((p, 0));
            }
            Err(CompileError::Limit { .. }) if spill => alloc.memory = true,
            Err(e) => return Err(e),
        }
    }
    if let Some(n) = bound.view.last_fixed(GPR).filter(|n| *n >= usize::from(room.scratch())) {
        let what = "too few registers beside those through which values in l[] pass";
        return Err(CompileError::limit("T0100", Span::NONE, what, (n + 1 + usize::from(SCRATCH)) as u64, room.registers.into()));
    }
    let mut p = place_in(vcode, &bound.view, &file(room, true, chip), &alloc, "T0100", memory)?;
    drop_undefined(&mut p);
    let top = spill_addresses(&mut p, base);
    Ok((p, top - base))
}

/// Whether a half beyond `$r31` meets an immediate: those forms count halves in six bits.
pub(crate) fn halves_out_of_reach(placed: &Placed<MInst>) -> bool {
    let far = |s: &Src| matches!(s, Src::Reg(r, Part::Low | Part::High) if crate::emit::encode::number(*r).is_none_or(|n| n > 31));
    placed.blocks.iter().flatten().any(|p| match p {
        PlacedInst::Inst(i, _) => matches!(i.src[1], Src::Imm(k) if k != 0) && i.src.iter().any(far),
        PlacedInst::Move { .. } => false,
    })
}
