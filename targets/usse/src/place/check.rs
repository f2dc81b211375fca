//! The placement as regalloc2's checker reads it: every half of a register is a place, every half of a value a name.

use crate::isa::registers::Bank;
use crate::place::Placement;
use crate::place::live::early;
use crate::select::mir::{Base, Kind, Lane, MProgram, Mop, Vreg};
use retroshade_ir::Scalar;
use retroshade_regalloc::judge::{At, Block, Placed, Step};

/// The most halves of a value: eight 32-bit lanes.
const HALVES: u32 = 16;
/// Registers a bank has at most, so that banks do not share places.
const BANK: u32 = 256;

/// A number for each bank that a value can be placed in.
fn bank(b: Bank) -> u32 {
    match b {
        Bank::R => 0,
        Bank::O => 1,
        Bank::Pa => 2,
        _ => 3,
    }
}

/// Halves of a lane of a virtual register, where they are.
fn lane(p: &MProgram, places: &Placement, v: Vreg, lane: u8) -> Vec<At> {
    let Some(reg) = places.at[v.0 as usize] else { return Vec::new() };
    // An internal register has four lanes.
    let n = if reg.bank == Bank::I { 4 * reg.n } else { reg.n };
    let base = (bank(reg.bank) * BANK + n as u32) * 2;
    let halves = if p.data(v).ty == Scalar::F16 { lane as u32..lane as u32 + 1 } else { 2 * lane as u32..2 * lane as u32 + 2 };
    halves.map(|h| (v.0 * HALVES + h, base + h)).collect()
}

fn step(p: &MProgram, places: &Placement, op: &Mop) -> Step {
    let all = |v: Vreg| (0..p.data(v).lanes).flat_map(|l| lane(p, places, v, l)).collect::<Vec<At>>();
    let read = |l: &Lane| if let Base::V(v, k) = l.base { lane(p, places, v, k) } else { Vec::new() };
    let (mut uses, mut late) = (Vec::new(), Vec::new());
    let early = op.writes().any(|w| early(&op.kind, p, w));
    for (k, src) in op.src.iter().enumerate() {
        // What a select takes under its predicate is read after the other side was written.
        let after = early || Some(k) == op.kind.late();
        let to = if after { &mut late } else { &mut uses };
        to.extend(src.iter().flat_map(read));
    }
    if matches!(op.kind, Kind::Select(_)) {
        // The side that is copied first may share its place with the result, and so may the other where that is no copy at all.
        let defs: Vec<At> = op.writes().flat_map(all).collect();
        let (same, other): (Vec<At>, Vec<At>) = late.into_iter().partition(|u| defs.iter().any(|d| d.1 == u.1));
        uses.extend(same);
        late = other;
    }
    Step::Op { uses, late, defs: op.writes().flat_map(all).collect() }
}

/// The program with its places.
pub fn placed(p: &MProgram, places: &Placement) -> Placed {
    let block =
        |b: &crate::select::mir::MBlock| Block { steps: b.ops.iter().map(|o| step(p, places, o)).collect(), succs: b.succs.clone() };
    let mut out = Placed { blocks: p.blocks.iter().map(block).collect(), entry: Vec::new() };
    for name in out.live_at_entry() {
        let (v, half) = (Vreg(name / HALVES), name % HALVES);
        let k = if p.data(v).ty == Scalar::F16 { half } else { half / 2 };
        out.entry.extend(lane(p, places, v, k as u8).into_iter().filter(|a| a.0 == name));
    }
    out
}
