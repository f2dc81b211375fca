//! Scheduling before placement: values late, few values live at once, or texture reads and memory loads early and work between a
//! transcendental and its user.
//!
//! The last is a list schedule per block. Among the instructions whose operands are there it takes, in this order, one that does not
//! wait, one that leads to a texture read or a load (the longest way first), the one that stood first. A limit on live
//! registers keeps it within the occupancy step of the program before: a multiprocessor's register file is shared by
//! its warps, so that a register more costs nothing up to the next step ([`step_end`]) and a pair of warps beyond it.
//!
//! Latencies, and the size of the register file: the ISA description, sections 9.6 and 12 (13). The hardware interlocks, so
//! that a wrong latency costs time only.

use crate::isa::op::{Effect as OpEffect, Op, Unit};
use crate::place::flow::LiveOut;
use crate::select::combine::fields;
use crate::select::mir::{CC, Dst, Extra, MInst};
use retroshade_ir::Span;
use retroshade_lower::{VCode, VReg};
use retroshade_regalloc::order::arrange;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Cycles that an instruction takes for a warp.
const ISSUE: u32 = 4;
/// Texture results that may wait for their users at a time: the blocks of registers that selection hands out.
const FLIGHT: usize = 3;
/// Blocks beyond this size keep their order.
const LARGEST: usize = 4000;

/// Warps that a multiprocessor can hold.
pub(crate) fn most_warps(file: u32) -> u32 {
    if file > 8192 { 32 } else { 24 }
}

/// Warps that fit a multiprocessor when each thread has `registers`: an even number, and no more than it can hold.
pub(crate) fn warps(file: u32, registers: u32) -> u32 {
    ((file / (32 * registers.max(1))) & !1).min(most_warps(file))
}

/// Registers of the file that a workgroup takes when each thread has `registers`: its warps come in pairs, its share in units.
pub(crate) fn workgroup(file: u32, threads: u32, registers: u32) -> u32 {
    let unit = if file > 8192 { 512 } else { 256 };
    (threads.div_ceil(32).next_multiple_of(2) * 32 * registers).next_multiple_of(unit)
}

/// The most registers a thread may have with the same number of warps.
pub(crate) fn step_end(file: u32, registers: u32) -> u32 {
    let w = warps(file, registers).max(2);
    (registers..128).take_while(|r| warps(file, *r) >= w).last().unwrap_or(registers).min(126)
}

/// The most registers a thread may have with more warps than with `registers`; 0 if there cannot be more.
pub(crate) fn enough(file: u32, registers: u32) -> u32 {
    let w = warps(file, registers);
    (1..registers).rev().find(|r| warps(file, *r) > w).unwrap_or(0)
}

/// The ends of the occupancy steps among `$r0`–`$r63`.
pub(crate) fn steps(file: u32) -> Vec<u8> {
    std::iter::successors(Some(step_end(file, 1)), |end| Some(step_end(file, end + 1)))
        .take_while(|end| *end < 64)
        .map(|n| n as u8)
        .collect()
}

fn latency(i: &MInst) -> u32 {
    // Nothing waits for a store.
    if i.op.effect() == OpEffect::Stores { Unit::Alu.latency() } else { i.op.unit().latency() }
}

/// A texture read or a load from memory.
fn is_distant(i: &MInst) -> bool {
    i.op.unit() == Unit::Far && matches!(i.op.effect(), OpEffect::Pure | OpEffect::Reads)
}

/// What orders instructions besides registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    /// Reads memory, or must not pass a change of the active lanes.
    Read,
    /// Changes memory, outputs as a whole, or the active lanes.
    Write,
}

pub(super) fn effect(i: &MInst) -> Effect {
    if i.extra == Extra::Undefined {
        return Effect::None;
    }
    if matches!(i.extra, Extra::Tex(_) | Extra::Quad(..)) || i.op.effect() == OpEffect::Reads {
        return Effect::Read;
    }
    let moves = matches!(i.op, Op::Mov | Op::LdC | Op::LdA) && matches!(i.extra, Extra::None | Extra::Mem { .. });
    let value =
        matches!(i.dst, Dst::Reg(_) | Dst::Half(_) | Dst::Out(_) | Dst::Discard) && matches!(i.extra, Extra::None | Extra::Mem { .. });
    if moves || value && i.op.effect() != OpEffect::Atomic { Effect::None } else { Effect::Write }
}

/// How many values live at once in an order, at most.
#[derive(Clone, Copy, Default)]
pub(crate) struct Most {
    /// Values that take a `$r` register.
    pub values: u32,
    /// With the copies that textures ask for.
    pub with_copies: u32,
    /// Whether some value is one that no path reads.
    pub undefined: bool,
}

/// Counts them.
pub(crate) fn most_live(vc: &mut VCode<MInst>, live: &LiveOut) -> Most {
    let mut is_live = vec![false; vc.classes.len()];
    let mut most = Most::default();
    for (block, out) in vc.blocks.iter_mut().zip(live) {
        let here = block_pressure(&mut block.insts, out, &mut is_live);
        most.see(&block.insts, &here);
    }
    most
}

impl Most {
    /// One block more.
    fn see(&mut self, insts: &[(MInst, Span)], here: &Pressure) {
        self.values = self.values.max(here.values);
        self.with_copies = self.with_copies.max(here.with_copies);
        self.undefined |= insts.iter().any(|(i, _)| i.extra == Extra::Undefined);
    }
}

/// Whether a register takes one of the file's.
pub(super) fn counts(v: VReg) -> bool {
    v.class() != CC
}

/// The pressure of instructions.
struct Pressure {
    /// Values live at once, at most.
    values: u32,
    /// With the copies that textures ask for.
    with_copies: u32,
    /// In any order: where they begin or end.
    any: u32,
}

/// See [`pressure_of`]: of a block's instructions in their order.
fn block_pressure(insts: &mut [(MInst, Span)], out: &[VReg], is_live: &mut [bool]) -> Pressure {
    let backwards = insts.iter_mut().rev().map(|(i, _)| {
        let f = fields(i);
        (f.reads, f.writes, &*i)
    });
    pressure_of(backwards, out, is_live)
}

/// Of instructions from the last to the first, with what each reads and writes. `is_live` is scratch: all false before and after.
fn pressure_of<'a, R: AsRef<[VReg]>, W: AsRef<[VReg]>>(
    backwards: impl Iterator<Item = (R, W, &'a MInst)>,
    out: &[VReg],
    is_live: &mut [bool],
) -> Pressure {
    let mut seen: Vec<VReg> = Vec::with_capacity(2 * out.len() + 16);
    let mut now = 0;
    let mut read = |v: VReg, is_live: &mut [bool], now: &mut u32| {
        if counts(v) && !std::mem::replace(&mut is_live[v.vreg()], true) {
            seen.push(v);
            *now += 1;
        }
    };
    out.iter().for_each(|v| read(*v, is_live, &mut now));
    let end = now;
    let mut p = Pressure { values: now, with_copies: now, any: 0 };
    for (reads, writes, i) in backwards {
        for w in writes.as_ref() {
            now -= u32::from(std::mem::take(&mut is_live[w.vreg()]));
        }
        // Arguments of textures that live on are copied into their block.
        let copied = match &i.extra {
            Extra::Tex(t) => t.args.iter().filter(|r| r.vreg().is_some_and(|v| is_live[v.vreg()])).count(),
            _ => 0,
        };
        reads.as_ref().iter().for_each(|v| read(*v, is_live, &mut now));
        p.values = p.values.max(now);
        p.with_copies = p.with_copies.max(now + copied as u32);
    }
    seen.iter().for_each(|v| is_live[v.vreg()] = false);
    p.any = now.max(end);
    p
}

/// Schedules all blocks within a limit of live registers; says whether anything moved.
pub(crate) fn run(vc: &mut VCode<MInst>, live: &LiveOut, limit: u32) -> bool {
    let registers = vc.classes.len();
    let mut changed = false;
    for (block, out) in vc.blocks.iter_mut().zip(live) {
        let n = block.insts.len();
        if n > 3 && n <= LARGEST && block.insts.iter().any(|(i, _)| latency(i) > Unit::Alu.latency()) {
            changed |= schedule(&mut block.insts, &block.params, out, limit, registers);
        }
    }
    changed
}

/// Makes values late: each block's effects and results stay in their order, and what they need comes right before them, what takes
/// most registers first. Says whether anything moved.
pub(crate) fn lazily(vc: &mut VCode<MInst>) -> bool {
    let registers = vc.classes.len();
    let mut changed = false;
    for block in vc.blocks.iter_mut().filter(|b| b.insts.len() > 3 && b.insts.len() <= LARGEST) {
        let order = late_order(&graph(&mut block.insts, registers));
        changed |= reorder(&mut block.insts, &order);
    }
    changed
}

/// What each instruction comes after.
type Needs = Vec<SmallVec<[u32; 4]>>;

fn needs(nodes: &[Node]) -> Needs {
    let mut needs: Needs = nodes.iter().map(|n| SmallVec::with_capacity(n.after as usize)).collect();
    for (k, node) in nodes.iter().enumerate() {
        node.before.iter().for_each(|u| needs[*u as usize].push(k as u32));
    }
    needs
}

/// Registers that the way to each value takes, as if nothing were shared; sorts its operands by that, the most first.
fn weights(nodes: &[Node], needs: &mut Needs) -> Vec<usize> {
    let mut weight = vec![0; nodes.len()];
    for k in 0..nodes.len() {
        needs[k].sort_unstable_by_key(|p| (std::cmp::Reverse(weight[*p as usize]), *p));
        let through = needs[k].iter().enumerate().map(|(at, p)| weight[*p as usize] + at).max().unwrap_or(0);
        weight[k] = through.max(nodes[k].writes.iter().filter(|w| counts(**w)).count());
    }
    weight
}

fn late_order(nodes: &[Node]) -> Vec<usize> {
    let n = nodes.len();
    let mut needs = needs(nodes);
    weights(nodes, &mut needs);
    let mut order = Vec::with_capacity(n);
    let mut placed = vec![false; n];
    let last = n - 1;
    // A value that nothing in the block but its end needs is a result; the end comes last.
    let results = (0..n).filter(|k| nodes[*k].before.iter().all(|u| *u as usize == last));
    for root in results.chain([last]) {
        let mut stack = vec![(root, 0)];
        while let Some((k, at)) = stack.pop() {
            if placed[k] {
                continue;
            }
            match needs[k].get(at) {
                Some(p) => {
                    stack.push((k, at + 1));
                    stack.push((*p as usize, 0));
                }
                _ => {
                    placed[k] = true;
                    order.push(k);
                }
            }
        }
    }
    order
}

/// Keeps few values alive: each block gets, of several orders that aim at it, the one that keeps fewest. Says how many those are.
pub(crate) fn tightly(vc: &mut VCode<MInst>, live: &LiveOut) -> Most {
    let registers = vc.classes.len();
    let mut is_live = vec![false; registers];
    let mut most = Most::default();
    for (block, out) in vc.blocks.iter_mut().zip(live) {
        let mut least = block_pressure(&mut block.insts, out, &mut is_live);
        if (4..=LARGEST).contains(&block.insts.len()) && least.with_copies > least.any {
            tighten(&mut block.insts, out, registers, &mut least, &mut is_live);
        }
        most.see(&block.insts, &least);
    }
    most
}

/// Brings a block into an order that keeps fewer values alive than it does, if one is found. `is_live` is scratch.
fn tighten(insts: &mut Vec<(MInst, Span)>, out: &[VReg], registers: usize, least: &mut Pressure, is_live: &mut [bool]) {
    let nodes = graph(insts, registers);
    let orders = TightOrders::new(&nodes, out, registers);
    let mut best = None;
    for n in 0..TightOrders::COUNT {
        let Some(order) = orders.below(n, least.with_copies).filter(|order| order.len() == nodes.len()) else { continue };
        let backwards = order.iter().rev().map(|k| (&nodes[*k].reads, &nodes[*k].writes, &insts[*k].0));
        let pressure = pressure_of(backwards, out, is_live);
        if pressure.with_copies < least.with_copies {
            (*least, best) = (pressure, Some(order));
        }
    }
    if let Some(order) = best {
        reorder(insts, &order);
    }
}

/// Orders of a block by which always what frees most registers comes next: some from the back that differ in what they prefer among
/// equals, and one from the front.
struct TightOrders<'a> {
    nodes: &'a [Node],
    needs: Needs,
    /// Instructions on the longest way to each.
    depth: Vec<i32>,
    weight: Vec<usize>,
    touches: Touches,
    out: &'a [VReg],
}

impl<'a> TightOrders<'a> {
    const COUNT: usize = 4;

    fn new(nodes: &'a [Node], out: &'a [VReg], registers: usize) -> TightOrders<'a> {
        let mut needs = needs(nodes);
        let mut depth = vec![0; nodes.len()];
        for k in 0..nodes.len() {
            depth[k] = needs[k].iter().map(|p| depth[*p as usize] + 1).max().unwrap_or(0);
        }
        let weight = weights(nodes, &mut needs);
        TightOrders { nodes, needs, depth, weight, touches: Touches::new(nodes, registers), out }
    }
    /// One of them; `None` if as many as `limit` live at once in it.
    fn below(&self, n: usize, limit: u32) -> Option<Vec<usize>> {
        match n {
            0 => self.backwards(limit, |k| -self.depth[k]),
            1 => self.backwards(limit, |_| 0),
            2 => self.backwards(limit, |k| self.weight[k] as i32),
            _ => Some(forwards(self.nodes, &self.touches, self.out)),
        }
    }
    fn backwards(&self, limit: u32, prefer: impl Fn(usize) -> i32) -> Option<Vec<usize>> {
        let TightOrders { nodes, needs, touches, .. } = self;
        let mut live = vec![false; touches.registers()];
        let mut now = 0;
        self.out.iter().for_each(|v| now += i32::from(!std::mem::replace(&mut live[v.vreg()], true) && counts(*v)));
        let mut users: Vec<usize> = nodes.iter().map(|n| n.before.len()).collect();
        let mut ready = vec![nodes.len() - 1];
        let mut order = Vec::with_capacity(nodes.len());
        // Of equals the last one.
        let mut ranks = Ranks::new(nodes.iter().enumerate().map(|(k, n)| (growth_back(n, &live), prefer(k), LARGEST - k)));
        let mut flags = 0;
        while let Some(place) = ranks.first(&ready, flags) {
            let k = ready.swap_remove(place);
            let grown = ranks.growth(k);
            debug_assert_eq!(grown, growth_back(&nodes[k], &live));
            order.push(k);
            now += grown[0];
            flags += grown[1];
            if now >= limit as i32 {
                return None;
            }
            for (list, lives, more) in [(&nodes[k].writes[..], false, 1), (&nodes[k].reads[..], true, -1)] {
                for v in list.iter().filter(|v| std::mem::replace(&mut live[v.vreg()], lives) != lives) {
                    touches.of(*v).for_each(|n| ranks.grow(n, usize::from(!counts(*v)), more));
                }
            }
            for p in needs[k].iter().map(|p| *p as usize) {
                users[p] -= 1;
                if users[p] == 0 {
                    ready.push(p);
                }
            }
        }
        order.reverse();
        Some(order)
    }
}

/// Instructions in the order in which they are wanted, kept up with what lives: by the growth of the pressure and of flags, by a
/// preference and by a place, packed into a number each.
struct Ranks(Vec<u64>);

impl Ranks {
    /// Where the growths begin in a rank, and what stands for none.
    const GROWTH: [(u32, i64); 2] = [(48, 1 << 11), (40, 1 << 7)];

    fn new(of: impl Iterator<Item = ([i32; 2], i32, usize)>) -> Ranks {
        let rank = |(growth, preference, place): ([i32; 2], i32, usize)| {
            let growth = growth.iter().zip(Ranks::GROWTH).map(|(g, (at, none))| ((i64::from(*g) + none) as u64) << at).sum::<u64>();
            growth + (((preference + (1 << 23)) as u64) << 16) + place as u64
        };
        Ranks(of.map(rank).collect())
    }
    fn growth(&self, k: usize) -> [i32; 2] {
        let [(at, none), (flags, no_flags)] = Ranks::GROWTH;
        [(self.0[k] >> at) as i64 - none, (self.0[k] >> flags & 0xff) as i64 - no_flags].map(|g| g as i32)
    }
    /// The growth of the pressure (0) or of flags (1) is another one.
    fn grow(&mut self, k: usize, which: usize, more: i64) {
        self.0[k] = self.0[k].wrapping_add((more << Ranks::GROWTH[which].0) as u64);
    }
    /// Where the first one stands among these, so many flags being alive: before all others one after which these suffice.
    fn first(&self, ready: &[usize], flags: i32) -> Option<usize> {
        /// Flags that there are, but one.
        const FLAGS: i32 = 3;
        let rank = |k: usize| {
            let [_, f] = self.growth(k);
            self.0[k] | u64::from(f > 0 && flags + f > FLAGS) << 63
        };
        (0..ready.len()).min_by_key(|p| rank(ready[*p]))
    }
}

/// By register, the instructions that read or write it.
struct Touches {
    starts: Vec<u32>,
    by: Vec<u32>,
}

impl Touches {
    fn new(nodes: &[Node], registers: usize) -> Touches {
        let all = |n: &Node| n.reads.iter().chain(&n.writes).map(|v| v.vreg()).collect::<SmallVec<[usize; 12]>>();
        let mut starts = vec![0; registers + 1];
        nodes.iter().flat_map(all).for_each(|v| starts[v + 1] += 1);
        for v in 0..registers {
            starts[v + 1] += starts[v];
        }
        let (mut next, mut by) = (starts.clone(), vec![0; starts[registers] as usize]);
        for (k, n) in nodes.iter().enumerate() {
            for v in all(n) {
                by[next[v] as usize] = k as u32;
                next[v] += 1;
            }
        }
        Touches { starts, by }
    }
    fn registers(&self) -> usize {
        self.starts.len() - 1
    }
    fn of(&self, v: VReg) -> impl Iterator<Item = usize> + '_ {
        self.by[self.starts[v.vreg()] as usize..self.starts[v.vreg() + 1] as usize].iter().map(|k| *k as usize)
    }
}

fn forwards(nodes: &[Node], touches: &Touches, out: &[VReg]) -> Vec<usize> {
    // Reads left of each register; one that lives on is never the last.
    let mut left = vec![0u32; touches.registers()];
    nodes.iter().flat_map(|node| &node.reads).chain(out).for_each(|r| left[r.vreg()] += 1);
    let mut missing: Vec<u32> = nodes.iter().map(|n| n.after).collect();
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|k| missing[*k] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    let mut ranks = Ranks::new(nodes.iter().enumerate().map(|(k, n)| (growth(n, &left), 0, k)));
    let mut flags = 0;
    while let Some(place) = ranks.first(&ready, flags) {
        let k = ready.swap_remove(place);
        let grown = ranks.growth(k);
        debug_assert_eq!(grown, growth(&nodes[k], &left));
        order.push(k);
        flags += grown[1];
        for r in &nodes[k].reads {
            left[r.vreg()] -= 1;
            // Whoever is left to read it frees it; it was written before.
            if left[r.vreg()] == 1 {
                touches.of(*r).for_each(|n| ranks.grow(n, usize::from(!counts(*r)), -1));
            }
        }
        for u in &nodes[k].before {
            missing[*u as usize] -= 1;
            if missing[*u as usize] == 0 {
                ready.push(*u as usize);
            }
        }
    }
    order
}

/// Growth of the pressure, and of flags, when an instruction comes before others that keep these registers alive.
fn growth_back(node: &Node, live: &[bool]) -> [i32; 2] {
    let mut g = [0; 2];
    node.reads.iter().filter(|r| !live[r.vreg()]).for_each(|r| g[usize::from(!counts(*r))] += 1);
    node.writes.iter().filter(|w| live[w.vreg()]).for_each(|w| g[usize::from(!counts(*w))] -= 1);
    g
}

/// Growth of the pressure, and of flags, when an instruction comes next and so many reads of each register are left.
fn growth(node: &Node, left: &[u32]) -> [i32; 2] {
    let mut g = [0; 2];
    node.reads.iter().filter(|r| left[r.vreg()] == 1).for_each(|r| g[usize::from(!counts(*r))] -= 1);
    node.writes.iter().filter(|w| left[w.vreg()] > 0).for_each(|w| g[usize::from(!counts(*w))] += 1);
    g
}

/// Puts instructions in another order; says whether it is one.
fn reorder(insts: &mut Vec<(MInst, Span)>, order: &[usize]) -> bool {
    if order.len() != insts.len() || order.iter().enumerate().all(|(a, b)| a == *b) {
        return false;
    }
    arrange(insts, order);
    true
}

struct Node {
    after: u32,
    before: SmallVec<[u32; 4]>,
    /// Cycles from here to the end of the block.
    height: u32,
    /// As `height`, through a texture read or load; 0 if none depends on it.
    urgency: u32,
    /// Each register once.
    reads: SmallVec<[VReg; 8]>,
    writes: SmallVec<[VReg; 4]>,
}

/// The dependences of a block; the last instruction depends on all.
fn graph(insts: &mut [(MInst, Span)], registers: usize) -> Vec<Node> {
    let mut writer: Vec<Option<usize>> = vec![None; registers];
    let mut outputs: BTreeMap<u32, usize> = BTreeMap::new();
    let mut change: Option<usize> = None;
    let mut observers: Vec<usize> = Vec::new();
    let mut nodes: Vec<Node> = Vec::with_capacity(insts.len());
    let last = insts.len() - 1;
    // What is in registers at entry would not outlive an instruction before it.
    let entry = matches!(insts[0].0.extra, Extra::Entry(_));
    for (n, (i, _)) in insts.iter_mut().enumerate() {
        let mut f = fields(i);
        f.reads.sort_unstable();
        f.reads.dedup();
        let mut after: SmallVec<[usize; 8]> = SmallVec::new();
        for r in &f.reads {
            if let Some(k) = writer[r.vreg()] {
                after.push(k);
            }
        }
        f.writes.iter().for_each(|w| writer[w.vreg()] = Some(n));
        match effect(i) {
            Effect::None => {}
            Effect::Read => {
                after.extend(change);
                observers.push(n);
            }
            Effect::Write => {
                after.extend(change);
                after.extend(observers.drain(..));
                after.extend(std::mem::take(&mut outputs).into_values());
                change = Some(n);
            }
        }
        if let Dst::Out(o) = i.dst {
            after.extend(change);
            after.extend(outputs.insert(o, n));
        }
        if i.reads_shared() {
            after.extend(change);
            observers.push(n);
        }
        if n == last {
            after = (0..n).collect();
        } else if entry && n > 0 {
            after.push(0);
        }
        after.sort_unstable();
        after.dedup();
        for a in &after {
            nodes[*a].before.push(n as u32);
        }
        nodes.push(Node { after: after.len() as u32, before: SmallVec::new(), height: 0, urgency: 0, reads: f.reads, writes: f.writes });
    }
    for n in (0..nodes.len()).rev() {
        let own = latency(&insts[n].0);
        let users = nodes[n].before.iter().map(|u| &nodes[*u as usize]);
        let (below, through) = users.fold((0, 0), |(h, t), u| (h.max(u.height), t.max(u.urgency)));
        nodes[n].height = own + below;
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

fn schedule(insts: &mut Vec<(MInst, Span)>, params: &[VReg], out: &[VReg], limit: u32, registers: usize) -> bool {
    let mut nodes = graph(insts, registers);
    let n = insts.len();
    // Reads left of each register; one that lives on is never the last.
    let mut left = vec![0u32; registers];
    let mut live = vec![false; registers];
    // Live registers and flags.
    let mut now_live = [0i32; 2];
    let group = |v: VReg| usize::from(!counts(v));
    for r in nodes.iter().flat_map(|node| &node.reads).chain(out) {
        left[r.vreg()] += 1;
    }
    // At the start: parameters that are read, and what is read and not written here.
    let mut inside = vec![false; registers];
    nodes.iter().flat_map(|node| &node.writes).for_each(|w| inside[w.vreg()] = true);
    let read = nodes.iter().flat_map(|node| &node.reads).chain(out).filter(|r| !inside[r.vreg()]);
    for r in read.chain(params.iter().filter(|p| left[p.vreg()] > 0)) {
        if !std::mem::replace(&mut live[r.vreg()], true) {
            now_live[group(*r)] += 1;
        }
    }
    let mut ready: Vec<usize> = (0..n).filter(|k| nodes[*k].after == 0).collect();
    let mut at: Vec<u32> = vec![0; n];
    let mut flight: Vec<VReg> = Vec::new();
    let mut now = 0;
    let mut order = Vec::with_capacity(n);
    while !ready.is_empty() {
        let key = |k: usize| {
            // Nothing makes more alive than it writes.
            let most = nodes[k].writes.len() as i32;
            let tight = now_live[0] + most > limit as i32 || now_live[1] + most > 3;
            let grown = || {
                let [g, f] = growth(&nodes[k], &left);
                now_live[0] + g > limit as i32 && g > 0 || now_live[1] + f > 3 && f > 0
            };
            let texture = matches!(insts[k].0.extra, Extra::Tex(_));
            let over = tight && grown() || texture && flight.len() / 4 >= FLIGHT;
            // Over the limit the old order is the safest guide.
            let wait = if over { 0 } else { at[k].saturating_sub(now) };
            (over, wait, std::cmp::Reverse(if over { 0 } else { nodes[k].urgency }), k)
        };
        let Some(place) = (0..ready.len()).min_by_key(|p| key(ready[*p])) else { break };
        let k = ready.swap_remove(place);
        order.push(k);
        now = now.max(at[k]) + ISSUE;
        for r in &nodes[k].reads {
            flight.retain(|f| f != r);
            left[r.vreg()] -= 1;
            if left[r.vreg()] == 0 && std::mem::take(&mut live[r.vreg()]) {
                now_live[group(*r)] -= 1;
            }
        }
        for w in nodes[k].writes.iter().filter(|w| left[w.vreg()] > 0) {
            if !std::mem::replace(&mut live[w.vreg()], true) {
                now_live[group(*w)] += 1;
            }
            if matches!(insts[k].0.extra, Extra::Tex(_)) {
                flight.push(*w);
            }
        }
        let done = now - ISSUE + latency(&insts[k].0);
        for u in std::mem::take(&mut nodes[k].before) {
            let u = u as usize;
            at[u] = at[u].max(done);
            nodes[u].after -= 1;
            if nodes[u].after == 0 {
                ready.push(u);
            }
        }
    }
    reorder(insts, &order)
}

/// Cycles that the program waits for results, each block counted once (eightfold per loop around it).
pub(crate) fn stalls(vc: &mut VCode<MInst>) -> u64 {
    // When a register of the block with this number is there.
    let mut there: Vec<(usize, u32)> = vec![(usize::MAX, 0); vc.classes.len()];
    let mut total = 0u64;
    for (n, b) in vc.blocks.iter_mut().enumerate() {
        let mut now = 0u32;
        let mut waited = 0u64;
        for (i, _) in &mut b.insts {
            let f = fields(i);
            let times = f.reads.iter().map(|r| there[r.vreg()]).filter(|t| t.0 == n).map(|t| t.1);
            let start = times.max().unwrap_or(0).max(now);
            waited += u64::from(start - now);
            f.writes.iter().for_each(|w| there[w.vreg()] = (n, start + latency(i)));
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
        assert_eq!([4, 10, 16, 17].map(|r| warps(8192, r)), [24, 24, 16, 14]);
        assert_eq!([4, 16, 17].map(|r| warps(16384, r)), [32, 32, 30]);
    }
}
