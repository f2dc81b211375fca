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
    let Some(mut leaf) = code.leaves.pop() else { return false };
    let export = |op: &Op| if let Kind::Export(e) = &op.kind { Some((**e).clone()) } else { None };
    let exports: Vec<(usize, Export)> = leaf.ops.iter().enumerate().filter_map(|(i, op)| Some((i, export(op)?))).collect();
    let registers: Vec<Option<u8>> = exports.iter().map(|(_, e)| code.register(e)).collect();
    // Exports come last: nothing behind them reads what moves.
    let mut end =
        leaf.items.iter().position(|item| matches!(item, Item::Control(i) if export(&leaf.ops[*i]).is_some())).unwrap_or(leaf.items.len());
    for ((i, e), own) in exports.iter().zip(&registers) {
        let slot = slots.iter().find(|s| s.0 == (e.kind, e.base)).map(|s| s.1);
        if slot.is_none() && e.src.iter().any(|x| *x != Coord::Masked) {
            return false;
        }
        // A register that no other export takes may be put in order, and what stands in its lane there may stay.
        let alone = own.filter(|_| registers.iter().filter(|r| *r == own).count() == 1);
        let Some((src, moves)) = code.in_lanes(e, alone, &mut leaf.ops) else { return false };
        if !moves.slots.is_empty() {
            if clause(&leaf.items[..end]) + moves.slots.len() > CLAUSE_SLOTS {
                leaf.items.insert(end, Item::Cut);
                end += 1;
            }
            leaf.items.insert(end, Item::Group(moves));
            end += 1;
        }
        let base = slot.unwrap_or(0) as u16 * 4;
        leaf.ops[*i].kind = Kind::Write(Box::new(Write { form: exp_buf::MEM_RING, kind: 0, base, src, quad: e.quad, index: None }));
    }
    code.leaves.push(leaf);
    true
}

impl Code {
    /// The register of what an export takes.
    fn register(&self, e: &Export) -> Option<u8> {
        e.src.iter().find_map(|c| if let Coord::Web(w) = c { self.place.gpr[w.0 as usize] } else { None })
    }

    /// What an export takes, each in its own channel, and the moves that bring it there: within its register, or to a new one, as long as
    /// there are some. The moves are added to the operations.
    fn in_lanes(&mut self, e: &Export, within: Option<u8>, ops: &mut Vec<Op>) -> Option<([Option<Web>; 4], Group)> {
        let mut src = e.src.map(|x| if let Coord::Web(w) = x { Some(w) } else { None });
        let settled = |mir: &Mir, lane: usize| match e.src[lane] {
            Coord::Web(w) => mir.webs[w.0 as usize].chan == Some(lane as u8),
            x => x == Coord::Masked,
        };
        let mut moves = Group::default();
        if (0..4).all(|lane| settled(&self.mir, lane)) {
            return Some((src, moves));
        }
        let to = within.or_else(|| (self.place.count < MAX_GPRS).then_some(self.place.count as u8))?;
        self.place.count = self.place.count.max(u16::from(to) + 1);
        for lane in 0..4 {
            let from = match e.src[lane] {
                Coord::Web(w) => Opnd::web(w),
                Coord::Zero => Opnd::float(0.0),
                Coord::One => Opnd::float(1.0),
                Coord::Masked => continue,
            };
            if within.is_some() && settled(&self.mir, lane) {
                continue;
            }
            let web = self.mir.web();
            self.mir.webs[web.0 as usize] = WebInfo { chan: Some(lane as u8), settled: true, ..WebInfo::default() };
            self.place.gpr.push(Some(to));
            src[lane] = Some(web);
            moves.slots.push(moved(ops.len(), from, web, lane as u8));
            ops.push(Op::alu(op2::MOV, &[from], Some(web)));
        }
        Some((src, moves))
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
