//! From webs to registers: coalescing, schedule, spilling, and here the allocation itself: every web has its channel by then, so
//! each channel is an interval problem; quads move as one.

pub mod bound;
pub mod coalesce;
pub mod constants;
pub mod deps;
pub mod estimate;
pub mod fit;
pub mod liveness;
pub mod open;
pub mod paths;
pub mod sched;
pub mod spill;
pub mod waves;

use crate::abi::MAX_GPRS;
use crate::select::mir::{Coord, Kind, Mir, Op, PARAMETER, Quad, Step, Web, bursts, leaves};
use liveness::{Blocks, Liveness, blocks, point};
use retroshade_ir::Span;
use retroshade_lower::CompileError;
use retroshade_regalloc::AllocError as Refused;
use retroshade_regalloc::flow::{Flow, Point, Values};
use retroshade_regalloc::lanes::{self, Bank, Conflicts, Lane, Member, Problem, Search, Unit};
use sched::{Item, Searched};
use std::collections::BTreeSet;

/// A piece of code after scheduling.
#[derive(Clone, Debug, Default)]
pub struct Leaf {
    /// Its operations.
    pub ops: Vec<Op>,
    /// Its schedule.
    pub items: Vec<Item>,
    /// The search that found it, where another one may go on from there: the operations are those that were selected.
    pub search: Option<Searched>,
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

/// What each point of a scheduled piece of code reads from and writes to registers.
fn points(leaf: &Leaf) -> Vec<Point> {
    let mut out = Vec::with_capacity(leaf.items.len());
    for item in &leaf.items {
        match item {
            Item::Group(g) => {
                let mut p = Point::default();
                for slot in &g.slots {
                    for (x, f) in slot.src.iter().zip(&slot.forward) {
                        if let (Some(w), None) = (x.as_web(), f) {
                            p.reads.push(w.0);
                        }
                    }
                    p.writes.extend(slot.dst.map(|w| w.0));
                }
                out.push(p);
            }
            Item::Fetch(list) => out.extend(list.iter().map(|i| point(&leaf.ops[*i]))),
            Item::Control(i) => out.push(point(&leaf.ops[*i])),
            Item::Cut => {}
        }
    }
    out
}

/// Slots whose result only PV and PS deliver, or nobody at all: (leaf, item, slot). They are taken out of the flow, which changes nothing
/// of what lives at the boundaries of its blocks.
fn dead_writes(leaves: &[Leaf], code: &mut Blocks, emulators: bool) -> BTreeSet<(usize, usize, usize)> {
    let mut dead = BTreeSet::new();
    for (k, leaf) in leaves.iter().enumerate() {
        // The point of each item, and the writes of it that remain.
        let points = |item: &Item| match item {
            Item::Fetch(list) => list.len(),
            Item::Cut => 0,
            Item::Group(_) | Item::Control(_) => 1,
        };
        let items: Vec<usize> = leaf.items.iter().enumerate().flat_map(|(n, i)| std::iter::repeat_n(n, points(i))).collect();
        let block = code.blocks[k];
        let mut left: Vec<(usize, Values)> = Vec::new();
        code.flow.backward(block, &code.live, |i, after| {
            let Item::Group(g) = &leaf.items[items[i]] else { return };
            let before = dead.len();
            let mut writes = Values::new();
            for (s, slot) in g.slots.iter().enumerate() {
                let op = &leaf.ops[slot.op];
                let read = slot.dst.is_none_or(|w| after.contains(w.0 as usize));
                let whole = emulators && op.form == crate::isa::forms::op2::CUBE;
                if !read && !whole && !op.is_op3() && matches!(op.kind, Kind::Alu | Kind::Reduce) {
                    dead.insert((k, items[i], s));
                } else {
                    writes.extend(slot.dst.map(|w| w.0));
                }
            }
            if dead.len() > before {
                left.push((i, writes));
            }
        });
        for (i, writes) in left {
            code.flow.blocks[block].points[i].writes = writes;
        }
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

/// The quads of exports that become one where their registers follow each other, row by row.
fn rows(mir: &Mir) -> Vec<Vec<Quad>> {
    let chan = |c: &Coord| if let Coord::Web(w) = c { Err(mir.webs[w.0 as usize].chan) } else { Ok(*c) };
    let agree = |kind: u8, x: &Coord, y: &Coord| chan(x) == chan(y) || kind == PARAMETER && [x, y].contains(&&Coord::Masked);
    let free = |q: Quad| mir.quads[q.0 as usize].iter().all(|w| mir.webs[w.0 as usize].fixed.is_none());
    let mut out: Vec<Vec<Quad>> = Vec::new();
    for (a, b) in leaves(&mir.steps).into_iter().flat_map(|l| bursts(l)) {
        let fit = a.src.iter().zip(&b.src).all(|(x, y)| agree(a.kind, x, y));
        let Some((p, q)) = a.burst(b).filter(|(p, q)| fit && free(*p) && free(*q) && !out.iter().any(|r| r.contains(q))) else { continue };
        let known = out.iter().any(|r| r.contains(&p));
        match out.last_mut().filter(|row| row.last() == Some(&p)) {
            Some(row) => row.push(q),
            None if !known => out.push(vec![p, q]),
            None => {}
        }
    }
    out
}

/// Webs in one unit, with how many registers behind its first they are; the register, where it is settled, and when the first begins.
#[derive(Default)]
struct Together {
    fixed: Option<u8>,
    start: u32,
    webs: Vec<(Web, u32)>,
    quads: Vec<Quad>,
}

/// Units: a row of quads, a quad, or a web of its own; those with settled registers first, then quads, then by time.
fn units(mir: &Mir, live: &Liveness, rows: &[Vec<Quad>], within: impl Fn(Web) -> bool) -> Vec<Unit> {
    let mut out: Vec<Together> = Vec::new();
    // The unit of each quad, and its place in a row.
    let mut in_quad: Vec<(Option<usize>, u32)> = vec![(None, 0); mir.quads.len()];
    let row_of = |q: Quad| rows.iter().find(|r| r.contains(&q));
    for (i, info) in mir.webs.iter().enumerate() {
        let Some(start) = live.ranges[i].start() else { continue };
        let web = Web(i as u32);
        let Some(q) = info.quad else {
            out.push(Together { fixed: info.fixed, start, webs: vec![(web, 0)], quads: Vec::new() });
            continue;
        };
        let unit = in_quad[q.0 as usize].0.unwrap_or_else(|| {
            let fixed = mir.quads[q.0 as usize].iter().find_map(|m| mir.webs[m.0 as usize].fixed);
            let quads = row_of(q).cloned().unwrap_or_else(|| vec![q]);
            for (k, other) in quads.iter().enumerate() {
                in_quad[other.0 as usize] = (Some(out.len()), k as u32);
            }
            out.push(Together { fixed, start, webs: Vec::new(), quads });
            out.len() - 1
        });
        let register = in_quad[q.0 as usize].1;
        let u = &mut out[unit];
        u.fixed = u.fixed.or(info.fixed);
        u.start = u.start.min(start);
        u.webs.push((web, register));
    }
    out.sort_by_cached_key(|u| (u.fixed.is_none(), u.webs.len() == 1, u.start, u.webs[0].0));
    // Other exports that may follow each other, those of fixed registers above all.
    let mut near: Vec<Vec<(usize, i32)>> = vec![Vec::new(); out.len()];
    let place = |q: Quad| out.iter().enumerate().find_map(|(n, u)| Some((n, u.quads.iter().position(|x| *x == q)? as i32)));
    for (a, b) in leaves(&mir.steps).into_iter().flat_map(|l| bursts(l)).filter_map(|(a, b)| a.burst(b)) {
        if let (Some((m, a)), Some((n, b))) = (place(a), place(b))
            && m != n
        {
            near[n].push((m, a + 1 - b));
            near[m].push((n, b - 1 - a));
        }
    }
    let member = |(w, register): &(Web, u32)| {
        let chan = mir.webs[w.0 as usize].chan.unwrap_or(0) & 3;
        Member { value: w.0, register: *register, lane: Lane::At(chan) }
    };
    let unit = |(u, near): (Together, Vec<(usize, i32)>)| {
        // A clause temporary before a register that the program would not need otherwise.
        let short = matches!(u.webs[..], [(w, _)] if mir.webs[w.0 as usize].quad.is_none() && within(w));
        let search: &[Search] =
            if short { &[Search::Opened(GPRS), Search::Whole(TEMPS), Search::Whole(GPRS)] } else { &[Search::Whole(GPRS)] };
        let members = u.webs.iter().map(member).collect();
        let fixed = u.fixed.map(|r| (GPRS, r as u32));
        Unit { members, fixed, search: search.into(), near, near_banks: 1 << GPRS, ..Unit::default() }
    };
    out.into_iter().zip(near).map(unit).collect()
}

/// Allocates registers.
pub fn allocate(mir: &Mir, steps: &[Step], leaves: &[Leaf], reserved: u8) -> Result<Placement, AllocError> {
    let mut code = blocks(steps, leaves.iter().map(points), mir.webs.len());
    let dead = dead_writes(leaves, &mut code, mir.emulators);
    let live = code.ranges();
    let undefined = live.code.entry().filter(|w| mir.webs[w.0 as usize].fixed.is_none()).collect();
    let clause = clauses(leaves, &live);
    // Whether a web lives within an ALU clause.
    let within = |w: Web| {
        let r = &live.ranges[w.0 as usize];
        let at = |x: u32| clause.get(x as usize).copied().flatten();
        let first = r.start().and_then(at);
        first.is_some() && r.iter().all(|(a, b)| at(a) == first && at(b - 1) == first)
    };
    let rows = rows(mir);
    // Where the registers do not hold rows, their quads go where they can.
    let apart = (!rows.is_empty()).then(|| units(mir, &live, &[], within));
    let units = units(mir, &live, &rows, within);
    let banks = BANKS.to_vec();
    let problem = Problem { banks, units, conflicts: Conflicts::Ranges(live.ranges.into()), values: mir.webs.len() };
    let arrays: u64 = mir.locals.iter().map(|n| *n as u64).sum();
    let limit = |needed: u64| {
        let message = "the program needs more registers than the machine has";
        AllocError::Limit(CompileError::limit("R0306", Span::NONE, message, needed, MAX_GPRS as u64))
    };
    let placed = match (lanes::place(&problem), apart) {
        (Err(_), Some(units)) => lanes::place(&Problem { units, ..problem }),
        (placed, _) => placed,
    };
    let placed = placed.map_err(|e| match e {
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
    Ok(Placement { gpr, locals, count: next as u16, dead, undefined, flow: live.code.flow, placed })
}
