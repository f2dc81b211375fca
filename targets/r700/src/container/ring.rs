//! The main program of a vertex stage as export stage: writes to the ES-GS ring stand in the place of its exports.
//!
//! Writes have no selects, so what an export takes from other channels or as a constant moves to its own channel first, in a group at the
//! end. Nothing else changes.

use crate::abi::MAX_GPRS;
use crate::isa::forms::{exp_buf, op2};
use crate::place::sched::{CLAUSE_SLOTS, Group, Item, Slot};
use crate::place::{Leaf, Placement};
use crate::select::mir::{Coord, Export, Kind, Mir, Op, Opnd, Web, WebInfo, Write};
use smallvec::SmallVec;

/// A program with its schedule and its registers.
pub struct Code {
    /// The operations.
    pub mir: Mir,
    /// Their schedule.
    pub leaves: Vec<Leaf>,
    /// Their registers.
    pub place: Placement,
}

/// Writes to these slots instead of exporting to their targets; whether that was possible. What is exported elsewhere has no slot.
pub fn to_ring(code: &mut Code, slots: &[((u8, u16), u32)]) -> bool {
    let Some(leaf) = code.leaves.last_mut() else { return false };
    let export = |op: &Op| if let Kind::Export(e) = &op.kind { Some((**e).clone()) } else { None };
    let exports: Vec<(usize, Export)> = leaf.ops.iter().enumerate().filter_map(|(i, op)| Some((i, export(op)?))).collect();
    let slot = |e: &Export| slots.iter().find(|s| s.0 == (e.kind, e.base)).map(|s| s.1);
    let idle = |e: &Export| e.src.iter().all(|x| *x == Coord::Masked);
    if exports.iter().any(|(_, e)| slot(e).is_none() && !idle(e)) {
        return false;
    }
    let register =
        |e: &Export, place: &Placement| e.src.iter().find_map(|c| if let Coord::Web(w) = c { place.gpr[w.0 as usize] } else { None });
    let registers: Vec<Option<u8>> = exports.iter().map(|(_, e)| register(e, &code.place)).collect();
    let end = leaf.items.iter().position(|i| matches!(i, Item::Control(i) if matches!(leaf.ops[*i].kind, Kind::Export(_))));
    let mut end = end.unwrap_or(leaf.items.len());
    for ((i, e), own) in exports.iter().zip(&registers) {
        let mut src = e.src.map(|x| if let Coord::Web(w) = x { Some(w) } else { None });
        if !e.src.iter().enumerate().all(|(c, x)| in_place(&code.mir, c, x)) {
            // A register that no other export takes may be put in order.
            let free = own.filter(|_| registers.iter().filter(|r| *r == own).count() == 1);
            let Some(to) = free.or_else(|| (code.place.count < MAX_GPRS).then_some(code.place.count as u8)) else { return false };
            code.place.count = code.place.count.max(u16::from(to) + 1);
            let mut group = Group::default();
            for (c, x) in e.src.iter().enumerate() {
                let from = match x {
                    Coord::Web(w) => Opnd::web(*w),
                    Coord::Zero => Opnd::float(0.0),
                    Coord::One => Opnd::float(1.0),
                    Coord::Masked => continue,
                };
                if free.is_some() && in_place(&code.mir, c, x) {
                    continue;
                }
                let web = Web(code.mir.webs.len() as u32);
                code.mir.webs.push(WebInfo { chan: Some(c as u8), settled: true, ..WebInfo::default() });
                code.place.gpr.push(Some(to));
                src[c] = Some(web);
                group.slots.push(moved(leaf.ops.len(), from, web, c as u8));
                leaf.ops.push(Op::alu(op2::MOV, &[from], Some(web)));
            }
            if clause(&leaf.items[..end]) + group.slots.len() > CLAUSE_SLOTS {
                leaf.items.insert(end, Item::Cut);
                end += 1;
            }
            leaf.items.insert(end, Item::Group(group));
            end += 1;
        }
        let base = slot(e).map_or(0, |s| s as u16 * 4);
        leaf.ops[*i].kind = Kind::Write(Box::new(Write { form: exp_buf::MEM_RING, kind: 0, base, src, quad: e.quad, index: None }));
    }
    true
}

/// Whether a lane needs no move.
fn in_place(mir: &Mir, lane: usize, x: &Coord) -> bool {
    match x {
        Coord::Web(w) => mir.webs[w.0 as usize].chan == Some(lane as u8),
        x => *x == Coord::Masked,
    }
}

/// Slots of the clause that is open at the end.
fn clause(items: &[Item]) -> usize {
    let groups = items.iter().rev().map_while(|i| if let Item::Group(g) = i { Some(g) } else { None });
    groups.map(|g| g.slots.len() + g.literals.len().div_ceil(2)).sum()
}

/// A move to a channel by its own unit.
fn moved(op: usize, from: Opnd, to: Web, chan: u8) -> Slot {
    Slot {
        op,
        form: op2::MOV,
        src: SmallVec::from_slice(&[from]),
        forward: [None; 3],
        dst: Some(to),
        store: None,
        unit: chan,
        chan,
        bank: 0,
        pred: false,
        omod: 0,
        clamp: false,
    }
}
