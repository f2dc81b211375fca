//! From webs to registers: coalescing, schedule, spilling, and here the allocation itself: every web has its channel by then, so
//! each channel is an interval problem; quads move as one.

pub mod coalesce;
pub mod deps;
pub mod fit;
pub mod liveness;
pub mod paths;
pub mod sched;
pub mod spill;
pub mod waves;

use crate::abi::MAX_GPRS;
use crate::select::mir::{Kind, Mir, Op, Step, Web};
use liveness::{Liveness, liveness, numbers};
use retroshade_ir::Span;
use retroshade_lower::CompileError;
use retroshade_regalloc::AllocError as Refused;
use retroshade_regalloc::flow::{Flow, Point};
use retroshade_regalloc::lanes::{self, Bank, Conflicts, Lane, Member, Problem, Search, Unit};
use sched::Item;
use std::collections::BTreeSet;

/// A piece of code after scheduling.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Its operations.
    pub ops: Vec<Op>,
    /// Its schedule.
    pub items: Vec<Item>,
}

/// Registers of a program.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// Register of each web.
    pub gpr: Vec<Option<u8>>,
    /// First register of each local array.
    pub locals: Vec<u8>,
    /// Registers used.
    pub count: u16,
    /// Slots whose result nobody reads from a register: (leaf, item, slot).
    pub dead: BTreeSet<(usize, usize, usize)>,
    /// Webs live on entry that no input provides.
    pub undefined: Vec<Web>,
    /// The program and its places, as the checker reads them.
    flow: Flow,
    placed: lanes::Placement,
}

impl Placement {
    /// Proves the placement with regalloc2's checker.
    pub fn check(&self) -> Result<(), CompileError> {
        lanes::check(&self.flow, &self.placed, &BANKS).map_err(|e| CompileError::Internal(e.to_string()))
    }
    /// The registers as text: a line for each value that has one, then local arrays.
    pub fn describe(&self, mir: &Mir) -> String {
        let mut out = String::new();
        for (n, (gpr, info)) in self.gpr.iter().zip(&mir.webs).enumerate() {
            if let Some(r) = gpr {
                let chan = ['x', 'y', 'z', 'w'][info.chan.unwrap_or(0) as usize & 3];
                out.push_str(&format!("w{n} R{r}.{chan}\n"));
            }
        }
        for (n, (first, count)) in self.locals.iter().zip(&mir.locals).enumerate().filter(|l| *l.1.1 > 0) {
            out.push_str(&format!("array{n} R{first}..R{}\n", *first as u32 + *count as u32 - 1));
        }
        out
    }
}

/// Where allocation failed.
#[derive(Clone, Debug)]
pub enum AllocError {
    /// Two members of a quad share a channel at the same time; coalescing was too bold.
    Quad,
    /// Not enough registers.
    Limit(CompileError),
}

/// What each point of a scheduled piece of code reads from and writes to registers, with its item.
fn points(leaf: &Leaf, k: usize, dead: &BTreeSet<(usize, usize, usize)>) -> Vec<(usize, Point)> {
    let mut out = Vec::new();
    let op = |i: usize| Point { reads: numbers(&leaf.ops[i].reads()), writes: numbers(&leaf.ops[i].writes()), ..Point::default() };
    for (n, item) in leaf.items.iter().enumerate() {
        match item {
            Item::Group(g) => {
                let mut p = Point::default();
                for (s, slot) in g.slots.iter().enumerate() {
                    for (x, f) in slot.src.iter().zip(&slot.forward) {
                        if let (Some(w), None) = (x.as_web(), f) {
                            p.reads.push(w.0);
                        }
                    }
                    if !dead.contains(&(k, n, s)) {
                        p.writes.extend(slot.dst.map(|w| w.0));
                    }
                }
                out.push((n, p));
            }
            Item::Fetch(list) => out.extend(list.iter().map(|i| (n, op(*i)))),
            Item::Control(i) => out.push((n, op(*i))),
            Item::Cut => {}
        }
    }
    out
}

fn live(mir: &Mir, steps: &[Step], leaves: &[Leaf], dead: &BTreeSet<(usize, usize, usize)>) -> Liveness {
    let code = leaves.iter().enumerate().map(|(k, l)| points(l, k, dead).into_iter().map(|p| p.1).collect());
    liveness(steps, code, mir.webs.len())
}

/// Slots whose result only PV and PS deliver, or nobody at all.
fn dead_writes(leaves: &[Leaf], live: &Liveness) -> BTreeSet<(usize, usize, usize)> {
    let mut dead = BTreeSet::new();
    for (k, leaf) in leaves.iter().enumerate() {
        let items: Vec<usize> = points(leaf, k, &BTreeSet::new()).into_iter().map(|p| p.0).collect();
        live.flow.backward(live.blocks[k], &live.live, |i, after| {
            let Item::Group(g) = &leaf.items[items[i]] else { return };
            for (s, slot) in g.slots.iter().enumerate() {
                let op = &leaf.ops[slot.op];
                let read = slot.dst.is_none_or(|w| after.contains(w.0 as usize));
                if !read && !op.is_op3() && matches!(op.kind, Kind::Alu | Kind::Reduce) {
                    dead.insert((k, items[i], s));
                }
            }
        });
    }
    dead
}

/// Clause temporaries.
const CLAUSE_TEMPS: usize = 4;

/// Which ALU clause each point of time lies in, so that values that begin and end in one can be found: the number of clauses
/// that have begun, and whether the point is in one.
fn clauses(leaves: &[Leaf], live: &Liveness) -> Vec<Option<u32>> {
    let mut out = vec![None; live.starts.last().copied().unwrap_or(0) as usize];
    let mut number = 0u32;
    for (k, leaf) in leaves.iter().enumerate() {
        let mut at = live.start(k) as usize;
        for item in &leaf.items {
            let n = match item {
                Item::Group(_) => {
                    out[at..at + 2].fill(Some(number));
                    at += 2;
                    continue;
                }
                Item::Cut => 0,
                Item::Fetch(list) => list.len(),
                Item::Control(_) => 1,
            };
            at += 2 * n;
            number += 1;
        }
        number += 1;
    }
    out
}

/// Registers of a program, and those of a clause.
const BANKS: [Bank; 2] =
    [Bank { name: "R", registers: MAX_GPRS as u32, lanes: 4 }, Bank { name: "T", registers: CLAUSE_TEMPS as u32, lanes: 4 }];
const GPRS: u8 = 0;
const TEMPS: u8 = 1;

/// Units: a quad, or a web of its own; those with settled registers first, then quads, then by time.
fn units(mir: &Mir, live: &Liveness, within: impl Fn(Web) -> bool) -> Vec<Unit> {
    let mut out: Vec<(Option<u8>, u32, Vec<Web>)> = Vec::new();
    let mut in_quad: Vec<Option<usize>> = vec![None; mir.quads.len()];
    for (i, info) in mir.webs.iter().enumerate() {
        let Some(start) = live.ranges[i].start() else { continue };
        let web = Web(i as u32);
        match info.quad.map(|q| (q, in_quad[q.0 as usize])) {
            Some((_, Some(u))) => {
                let u = &mut out[u];
                u.0 = u.0.or(info.fixed);
                u.1 = u.1.min(start);
                u.2.push(web);
            }
            Some((q, None)) => {
                in_quad[q.0 as usize] = Some(out.len());
                let fixed = mir.quads[q.0 as usize].iter().find_map(|m| mir.webs[m.0 as usize].fixed);
                out.push((info.fixed.or(fixed), start, vec![web]));
            }
            None => out.push((info.fixed, start, vec![web])),
        }
    }
    out.sort_by_key(|(fixed, start, webs)| (fixed.is_none(), webs.len() == 1, *start, webs[0]));
    let member = |w: &Web| {
        let chan = mir.webs[w.0 as usize].chan.unwrap_or(0) & 3;
        Member { value: w.0, register: 0, lane: Lane::At(chan) }
    };
    let unit = |(fixed, _, webs): (Option<u8>, u32, Vec<Web>)| {
        // A clause temporary before a register that the program would not need otherwise.
        let short = webs.len() == 1 && mir.webs[webs[0].0 as usize].quad.is_none() && within(webs[0]);
        let search: &[Search] =
            if short { &[Search::Opened(GPRS), Search::Whole(TEMPS), Search::Whole(GPRS)] } else { &[Search::Whole(GPRS)] };
        let members = webs.iter().map(member).collect();
        Unit { members, fixed: fixed.map(|r| (GPRS, r as u32)), search: search.into(), ..Unit::default() }
    };
    out.into_iter().map(unit).collect()
}

/// Allocates registers.
pub fn allocate(mir: &Mir, steps: &[Step], leaves: &[Leaf], reserved: u8) -> Result<Placement, AllocError> {
    let first = live(mir, steps, leaves, &BTreeSet::new());
    let dead = dead_writes(leaves, &first);
    let live = live(mir, steps, leaves, &dead);
    let undefined = live.entry().filter(|w| mir.webs[w.0 as usize].fixed.is_none()).collect();
    let clause = clauses(leaves, &live);
    // Whether a web lives within an ALU clause.
    let within = |w: Web| {
        let r = &live.ranges[w.0 as usize];
        let at = |x: u32| clause.get(x as usize).copied().flatten();
        let first = r.start().and_then(at);
        first.is_some() && r.iter().all(|(a, b)| at(a) == first && at(b - 1) == first)
    };
    let units = units(mir, &live, within);
    let banks = BANKS.to_vec();
    let problem = Problem { banks, units, conflicts: Conflicts::Ranges(live.ranges), values: mir.webs.len() };
    let arrays: u64 = mir.locals.iter().map(|n| *n as u64).sum();
    let limit = |needed: u64| {
        let message = "the program needs more registers than the machine has";
        AllocError::Limit(CompileError::limit("R0306", Span::NONE, message, needed, MAX_GPRS as u64))
    };
    let placed = lanes::place(&problem).map_err(|e| match e {
        Refused::Registers { needed, .. } => limit(needed as u64 + arrays),
        _ => AllocError::Quad,
    })?;
    let register = |p: lanes::Place| if p.bank == TEMPS { MAX_GPRS as u8 + p.register as u8 } else { p.register as u8 };
    let gpr = placed.values.iter().map(|v| v.map(register)).collect();
    let mut next = placed.used[GPRS as usize].max(reserved as u32) as u64;
    if next + arrays > MAX_GPRS as u64 {
        return Err(limit(next + arrays));
    }
    let mut locals = Vec::new();
    for n in &mir.locals {
        locals.push(next as u8);
        next += *n as u64;
    }
    Ok(Placement { gpr, locals, count: next as u16, dead, undefined, flow: live.flow, placed })
}
