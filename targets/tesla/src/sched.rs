//! Scheduling before placement: texture reads and memory loads early, work between a transcendental and its user.
//!
//! A list schedule per block. Among the instructions whose operands are there it takes, in this order, one that does not
//! wait, one that leads to a texture read or a load (the longest way first), the one that stood first. A limit on live
//! registers keeps it within the occupancy step of the program as selected: a multiprocessor's register file is shared by
//! its warps, so that a register more costs nothing up to the next step ([`step_end`]) and a pair of warps beyond it.
//!
//! Latencies, and the size of the register file: the ISA description, sections 9.6 and 12 (13). The hardware interlocks, so
//! that a wrong latency costs time only.

use crate::combine::fields;
use crate::inst::{CC, Dst, Extra, Index, MInst, Src};
use crate::op::Op;
use retroshade_ir::Span;
use retroshade_lower::{VCode, VReg};
use std::collections::{BTreeMap, BTreeSet};

/// Cycles until a result is there; an instruction takes [`ISSUE`] for a warp.
const ALU: u32 = 22;
const SFU: u32 = 36;
const MEMORY: u32 = 400;
const ISSUE: u32 = 4;
/// Texture results that may wait for their users at a time: the blocks of registers that selection hands out.
const FLIGHT: usize = 3;
/// Blocks beyond this size keep their order.
const LARGEST: usize = 4000;

/// Warps that fit a multiprocessor when each thread has `registers`: an even number, and no more than it can hold.
fn warps(file: u32, registers: u32) -> u32 {
    let most = if file > 8192 { 32 } else { 24 };
    ((file / (32 * registers.max(1))) & !1).min(most)
}

/// The most registers a thread may have with the same number of warps.
pub(crate) fn step_end(file: u32, registers: u32) -> u32 {
    let w = warps(file, registers).max(2);
    (registers..128).take_while(|r| warps(file, *r) >= w).last().unwrap_or(registers).min(126)
}

/// Whether as many warps fit afterwards.
pub(crate) fn same_occupancy(file: u32, before: u32, after: u32) -> bool {
    warps(file, after) >= warps(file, before)
}

fn latency(i: &MInst) -> u32 {
    if is_distant(i) {
        return MEMORY;
    }
    match i.op {
        Op::Rcp | Op::Rsqrt | Op::Lg2 | Op::Sin | Op::Cos | Op::Ex2 | Op::Presin | Op::Preex2 => SFU,
        _ => ALU,
    }
}

/// A texture read or a load from memory.
fn is_distant(i: &MInst) -> bool {
    matches!(i.extra, Extra::Tex(_)) || matches!(i.op, Op::LdG | Op::LdL)
}

/// What orders instructions besides registers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    None,
    /// Reads memory, or must not pass a change of the active lanes.
    Read,
    /// Changes memory, outputs as a whole, or the active lanes.
    Write,
}

fn effect(i: &MInst) -> Effect {
    if matches!(i.extra, Extra::Tex(_) | Extra::Quad(..)) || matches!(i.op, Op::LdG | Op::LdL | Op::LdS) {
        return Effect::Read;
    }
    let moves = matches!(i.op, Op::Mov | Op::LdC | Op::LdA) && matches!(i.extra, Extra::None | Extra::Mem { .. });
    let value =
        matches!(i.dst, Dst::Reg(_) | Dst::Half(_) | Dst::Out(_) | Dst::Discard) && matches!(i.extra, Extra::None | Extra::Mem { .. });
    let atomic = matches!(i.op, Op::AtomAdd | Op::AtomMin | Op::AtomMax | Op::AtomAnd | Op::AtomOr | Op::AtomXor | Op::Exch | Op::Cas);
    if moves || value && !atomic { Effect::None } else { Effect::Write }
}

/// The program's pressure in `$r` registers, at most: values live at once in the order given.
pub(crate) fn pressure(vc: &VCode<MInst>) -> u32 {
    let mut copy = vc.clone();
    let live = live_out(&mut copy);
    (0..copy.blocks.len()).map(|b| block_pressure(&mut copy, b, &live[b])).max().unwrap_or(0)
}

fn counts(v: VReg) -> bool {
    v.class() != CC
}

fn block_pressure(vc: &mut VCode<MInst>, b: usize, out: &BTreeSet<VReg>) -> u32 {
    let mut live: BTreeSet<VReg> = out.iter().copied().filter(|v| counts(*v)).collect();
    let mut most = live.len();
    for (i, _) in vc.blocks[b].insts.iter_mut().rev() {
        let f = fields(i);
        for w in &f.writes {
            live.remove(w);
        }
        live.extend(f.reads.iter().copied().filter(|v| counts(*v)));
        most = most.max(live.len());
    }
    most as u32
}

/// Registers live at each block's end.
fn live_out(vc: &mut VCode<MInst>) -> Vec<BTreeSet<VReg>> {
    let n = vc.blocks.len();
    let mut reads: Vec<BTreeSet<VReg>> = vec![BTreeSet::new(); n];
    let mut writes: Vec<BTreeSet<VReg>> = vec![BTreeSet::new(); n];
    for (k, b) in vc.blocks.iter_mut().enumerate() {
        writes[k].extend(&b.params);
        for (i, _) in &mut b.insts {
            let f = fields(i);
            reads[k].extend(f.reads.iter().filter(|r| !writes[k].contains(r)));
            writes[k].extend(&f.writes);
        }
        reads[k].extend(b.targets.iter().flat_map(|t| &t.args).filter(|r| !writes[k].contains(r)));
    }
    let mut live: Vec<BTreeSet<VReg>> = reads.clone();
    let mut out: Vec<BTreeSet<VReg>> = vec![BTreeSet::new(); n];
    loop {
        let mut changed = false;
        for k in (0..n).rev() {
            let mut o: BTreeSet<VReg> = BTreeSet::new();
            for t in &vc.blocks[k].targets {
                o.extend(&live[t.block]);
                o.extend(&t.args);
            }
            if o != out[k] {
                changed = true;
                live[k].extend(o.iter().filter(|r| !writes[k].contains(r)));
                out[k] = o;
            }
        }
        if !changed {
            return out;
        }
    }
}

/// Schedules all blocks within a limit of live registers; says whether anything moved.
pub(crate) fn run(vc: &mut VCode<MInst>, limit: u32) -> bool {
    let live = live_out(vc);
    let mut changed = false;
    for b in 0..vc.blocks.len() {
        let n = vc.blocks[b].insts.len();
        if n > 3 && n <= LARGEST && vc.blocks[b].insts.iter().any(|(i, _)| latency(i) > ALU) {
            let block = &mut vc.blocks[b];
            changed |= schedule(&mut block.insts, &block.params, &live[b], limit);
        }
    }
    changed
}

struct Node {
    after: u32,
    before: Vec<u32>,
    /// Cycles from here to the end of the block.
    height: u32,
    /// As `height`, through a texture read or load; 0 if none depends on it.
    urgency: u32,
    reads: BTreeSet<VReg>,
    writes: Vec<VReg>,
}

/// The dependences of a block; the last instruction depends on all.
fn graph(insts: &mut [(MInst, Span)]) -> Vec<Node> {
    let mut writer: BTreeMap<VReg, usize> = BTreeMap::new();
    let mut outputs: BTreeMap<u32, usize> = BTreeMap::new();
    let mut change: Option<usize> = None;
    let mut observers: Vec<usize> = Vec::new();
    let mut nodes: Vec<Node> = Vec::with_capacity(insts.len());
    let last = insts.len() - 1;
    for (n, (i, _)) in insts.iter_mut().enumerate() {
        let f = fields(i);
        let mut after: BTreeSet<usize> = f.reads.iter().filter_map(|r| writer.get(r).copied()).collect();
        f.writes.iter().for_each(|w| {
            writer.insert(*w, n);
        });
        match effect(i) {
            Effect::None => {}
            Effect::Read => {
                after.extend(change);
                observers.push(n);
            }
            Effect::Write => {
                after.extend(change);
                after.append(&mut observers.drain(..).collect());
                after.extend(std::mem::take(&mut outputs).into_values());
                change = Some(n);
            }
        }
        if let Dst::Out(o) = i.dst {
            after.extend(change);
            after.extend(outputs.insert(o, n));
        }
        // What an index reads may be s[] or p[] words through `$a`: they are not written by instructions that are not effects.
        if matches!(i.src[0], Src::S(..)) && i.index != Index::None {
            after.extend(change);
            observers.push(n);
        }
        if n == last {
            after = (0..n).collect();
        }
        for a in &after {
            nodes[*a].before.push(n as u32);
        }
        nodes.push(Node {
            after: after.len() as u32,
            before: Vec::new(),
            height: 0,
            urgency: 0,
            reads: f.reads.into_iter().collect(),
            writes: f.writes.to_vec(),
        });
    }
    for n in (0..nodes.len()).rev() {
        let own = latency(&insts[n].0);
        let users: Vec<(u32, u32)> = nodes[n].before.iter().map(|u| (nodes[*u as usize].height, nodes[*u as usize].urgency)).collect();
        nodes[n].height = own + users.iter().map(|u| u.0).max().unwrap_or(0);
        let through = users.iter().map(|u| u.1).max().unwrap_or(0);
        nodes[n].urgency = if is_distant(&insts[n].0) {
            nodes[n].height
        } else if through > 0 {
            own + through
        } else {
            0
        };
    }
    nodes
}

fn schedule(insts: &mut Vec<(MInst, Span)>, params: &[VReg], out: &BTreeSet<VReg>, limit: u32) -> bool {
    let mut nodes = graph(insts);
    let n = insts.len();
    // Reads left of each register; one that lives on is never the last.
    let mut left: BTreeMap<VReg, u32> = BTreeMap::new();
    let mut inside: BTreeSet<VReg> = params.iter().copied().collect();
    for node in &nodes {
        node.reads.iter().for_each(|r| *left.entry(*r).or_default() += 1);
        inside.extend(&node.writes);
    }
    for r in out {
        *left.entry(*r).or_default() += 1;
    }
    let mut live: BTreeSet<VReg> = left.keys().copied().filter(|r| !inside.contains(r)).collect();
    live.extend(params.iter().filter(|p| left.contains_key(p)));
    let pressure = |live: &BTreeSet<VReg>| live.iter().filter(|r| counts(**r)).count();
    let mut here = pressure(&live);
    let mut flags = live.len() - here;
    let mut ready: BTreeSet<usize> = (0..n).filter(|k| nodes[*k].after == 0).collect();
    let mut at: Vec<u32> = vec![0; n];
    let mut flight: BTreeMap<VReg, ()> = BTreeMap::new();
    let mut now = 0;
    let mut order = Vec::with_capacity(n);
    while let Some(&first) = ready.first() {
        // Growth of the pressure, and of flags.
        let growth = |k: usize| -> (i32, i32) {
            let (mut g, mut f) = (0, 0);
            for r in &nodes[k].reads {
                if left.get(r) == Some(&1) {
                    if counts(*r) { g -= 1 } else { f -= 1 }
                }
            }
            for w in &nodes[k].writes {
                if left.contains_key(w) {
                    if counts(*w) { g += 1 } else { f += 1 }
                }
            }
            (g, f)
        };
        let mut best: Option<((bool, u32, std::cmp::Reverse<u32>, usize), usize)> = None;
        for k in ready.iter().copied() {
            let (g, f) = growth(k);
            let texture = matches!(insts[k].0.extra, Extra::Tex(_));
            let over = here as i32 + g > limit as i32 && g > 0 || flags as i32 + f > 3 && f > 0 || texture && flight.len() / 4 >= FLIGHT;
            // Over the limit the old order is the safest guide.
            let wait = if over { 0 } else { at[k].saturating_sub(now) };
            let key = (over, wait, std::cmp::Reverse(if over { 0 } else { nodes[k].urgency }), k);
            if best.as_ref().is_none_or(|b| key < b.0) {
                best = Some((key, k));
            }
        }
        let k = best.map_or(first, |b| b.1);
        ready.remove(&k);
        order.push(k);
        now = now.max(at[k]) + ISSUE;
        for r in nodes[k].reads.clone() {
            flight.remove(&r);
            if let Some(l) = left.get_mut(&r) {
                *l -= 1;
                if *l == 0 {
                    live.remove(&r);
                }
            }
        }
        for w in nodes[k].writes.clone() {
            if left.contains_key(&w) {
                live.insert(w);
                if matches!(insts[k].0.extra, Extra::Tex(_)) {
                    flight.insert(w, ());
                }
            }
        }
        here = pressure(&live);
        flags = live.len() - here;
        let done = now - ISSUE + latency(&insts[k].0);
        for u in std::mem::take(&mut nodes[k].before) {
            let u = u as usize;
            at[u] = at[u].max(done);
            nodes[u].after -= 1;
            if nodes[u].after == 0 {
                ready.insert(u);
            }
        }
    }
    if order.len() != n || order.iter().enumerate().all(|(a, b)| a == *b) {
        return false;
    }
    let mut old: Vec<Option<(MInst, Span)>> = std::mem::take(insts).into_iter().map(Some).collect();
    insts.extend(order.into_iter().filter_map(|k| old[k].take()));
    true
}

/// Cycles that the program waits for results, each block counted once (eightfold per loop around it).
pub(crate) fn stalls(vc: &VCode<MInst>) -> u64 {
    let mut copy = vc.clone();
    let mut total = 0u64;
    for b in &mut copy.blocks {
        let mut there: BTreeMap<VReg, u32> = BTreeMap::new();
        let mut now = 0u32;
        let mut waited = 0u64;
        for (i, _) in &mut b.insts {
            let f = fields(i);
            let start = f.reads.iter().filter_map(|r| there.get(r)).copied().max().unwrap_or(0).max(now);
            waited += u64::from(start - now);
            f.writes.iter().for_each(|w| {
                there.insert(*w, start + latency(i));
            });
            now = start + ISSUE;
        }
        total += waited << (3 * b.loop_depth.min(6));
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupancy_steps() {
        // 8192 words: 24 warps with 10 registers, 16 with 16, 8 with 32.
        assert_eq!([1, 10, 11, 15, 17, 22, 33].map(|r| step_end(8192, r)), [10, 10, 11, 16, 18, 25, 42]);
        assert!(same_occupancy(8192, 4, 10));
        assert!(!same_occupancy(8192, 16, 17));
        assert!(same_occupancy(16384, 4, 16));
        assert!(!same_occupancy(16384, 16, 17));
    }
}
