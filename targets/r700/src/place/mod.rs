//! From webs to registers: coalescing, schedule, spilling, and here the allocation itself: every web has its channel by then, so
//! each channel is an interval problem; quads move as one.

pub mod check;
pub mod coalesce;
pub mod deps;
pub mod fit;
pub mod liveness;
pub mod paths;
pub mod sched;
pub mod spill;

use crate::abi::MAX_GPRS;
use crate::select::mir::{Kind, Mir, Op, Step, Web};
use liveness::{Liveness, Position, Range, liveness, overlap};
use retroshade_ir::Span;
use retroshade_lower::CompileError;
use sched::Item;
use std::collections::{BTreeMap, BTreeSet};

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
}

impl Placement {
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

/// What each position of a scheduled piece of code reads from and writes to registers, with its item.
pub fn positions(leaf: &Leaf, k: usize, dead: &BTreeSet<(usize, usize, usize)>) -> Vec<(usize, Position)> {
    let mut out = Vec::new();
    let op = |i: usize| Position { reads: leaf.ops[i].reads().to_vec(), writes: leaf.ops[i].writes().to_vec() };
    for (n, item) in leaf.items.iter().enumerate() {
        match item {
            Item::Group(g) => {
                let mut p = Position::default();
                for (s, slot) in g.slots.iter().enumerate() {
                    for (x, f) in slot.src.iter().zip(&slot.forward) {
                        if let (Some(w), None) = (x.as_web(), f) {
                            p.reads.push(w);
                        }
                    }
                    if !dead.contains(&(k, n, s)) {
                        p.writes.extend(slot.dst);
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
    let pos: Vec<Vec<Position>> =
        leaves.iter().enumerate().map(|(k, l)| positions(l, k, dead).into_iter().map(|p| p.1).collect()).collect();
    liveness(steps, &pos, mir.webs.len())
}

/// Slots whose result only PV and PS deliver, or nobody at all.
fn dead_writes(leaves: &[Leaf], live: &Liveness) -> BTreeSet<(usize, usize, usize)> {
    let mut dead = BTreeSet::new();
    for (k, leaf) in leaves.iter().enumerate() {
        let mut set = live.live_out[k].clone();
        for (n, p) in positions(leaf, k, &BTreeSet::new()).into_iter().rev() {
            if let Item::Group(g) = &leaf.items[n] {
                for (s, slot) in g.slots.iter().enumerate() {
                    let op = &leaf.ops[slot.op];
                    if slot.dst.is_some_and(|w| !set.contains(w)) && !op.is_op3() && matches!(op.kind, Kind::Alu | Kind::Reduce) {
                        dead.insert((k, n, s));
                    }
                }
            }
            p.writes.iter().for_each(|w| set.remove(*w));
            p.reads.iter().for_each(|w| set.insert(*w));
        }
    }
    dead
}

/// Clause temporaries.
const CLAUSE_TEMPS: usize = 4;

/// When a channel of a register is taken: starts and ends of stretches, which do not overlap.
#[derive(Default)]
struct Track(BTreeMap<u32, u32>);

impl Track {
    fn free(&self, r: &Range) -> bool {
        r.iter().all(|(a, b)| self.0.range(..b).next_back().is_none_or(|(_, end)| end <= a))
    }
    fn take(&mut self, r: &Range) {
        self.0.extend(r.iter().copied());
    }
}

/// Which ALU clause each point of time lies in, so that values that begin and end in one can be found: the number of clauses
/// that have begun, and whether the point is in one.
fn clauses(leaves: &[Leaf]) -> Vec<Option<u32>> {
    let (mut out, mut number) = (Vec::new(), 0u32);
    for leaf in leaves {
        for item in &leaf.items {
            let n = match item {
                Item::Group(_) => {
                    out.extend([Some(number); 2]);
                    continue;
                }
                Item::Cut => 0,
                Item::Fetch(list) => list.len(),
                Item::Control(_) => 1,
            };
            out.extend(std::iter::repeat_n(None, 2 * n));
            number += 1;
        }
        out.extend([None; 2]);
        number += 1;
    }
    out
}

/// Allocates registers.
pub fn allocate(mir: &Mir, steps: &[Step], leaves: &[Leaf], reserved: u8) -> Result<Placement, AllocError> {
    let first = live(mir, steps, leaves, &BTreeSet::new());
    let dead = dead_writes(leaves, &first);
    let live = live(mir, steps, leaves, &dead);
    let mut out = Placement { gpr: vec![None; mir.webs.len()], dead, ..Placement::default() };
    out.undefined = live.entry.iter().filter(|w| mir.webs[w.0 as usize].fixed.is_none()).collect();
    // Units: a quad, or a web of its own.
    let mut units: Vec<(Option<u8>, u32, Vec<Web>)> = Vec::new();
    let mut in_quad: Vec<Option<usize>> = vec![None; mir.quads.len()];
    for (i, info) in mir.webs.iter().enumerate() {
        let r = &live.ranges[i];
        if r.is_empty() {
            continue;
        }
        let start = r[0].0;
        match info.quad {
            Some(q) => match in_quad[q.0 as usize] {
                Some(u) => {
                    let u = &mut units[u];
                    u.0 = u.0.or(info.fixed);
                    u.1 = u.1.min(start);
                    u.2.push(Web(i as u32));
                }
                None => {
                    in_quad[q.0 as usize] = Some(units.len());
                    let fixed = mir.quads[q.0 as usize].iter().find_map(|m| mir.webs[m.0 as usize].fixed);
                    units.push((info.fixed.or(fixed), start, vec![Web(i as u32)]));
                }
            },
            None => units.push((info.fixed, start, vec![Web(i as u32)])),
        }
    }
    units.sort_by_key(|(fixed, start, webs)| (fixed.is_none(), webs.len() == 1, *start, webs[0]));
    let mut used: Vec<[Track; 4]> = Vec::new();
    let clause = clauses(leaves);
    let mut temporaries: [[Track; 4]; CLAUSE_TEMPS] = Default::default();
    // Whether a web lives within an ALU clause.
    let within = |w: Web| {
        let r = &live.ranges[w.0 as usize];
        let at = |x: u32| clause.get(x as usize).copied().flatten();
        let first = r.first().and_then(|s| at(s.0));
        first.is_some() && r.iter().all(|(a, b)| at(*a) == first && at(b - 1) == first)
    };
    for (fixed, _, webs) in &units {
        for (n, a) in webs.iter().enumerate() {
            for b in &webs[..n] {
                let same = mir.webs[a.0 as usize].chan == mir.webs[b.0 as usize].chan;
                if same && overlap(&live.ranges[a.0 as usize], &live.ranges[b.0 as usize]) {
                    return Err(AllocError::Quad);
                }
            }
        }
        let fits = |regs: &[Track; 4]| {
            webs.iter().all(|w| {
                let c = mir.webs[w.0 as usize].chan.unwrap_or(0) as usize & 3;
                regs[c].free(&live.ranges[w.0 as usize])
            })
        };
        let r = match fixed {
            Some(r) => {
                while used.len() <= *r as usize {
                    used.push(Default::default());
                }
                if !fits(&used[*r as usize]) {
                    return Err(AllocError::Quad);
                }
                *r as usize
            }
            None => match used.iter().position(fits) {
                Some(r) => r,
                None if webs.len() == 1 && mir.webs[webs[0].0 as usize].quad.is_none() && within(webs[0]) && {
                    let w = webs[0];
                    let c = mir.webs[w.0 as usize].chan.unwrap_or(0) as usize & 3;
                    // A clause temporary before a register that the program would not need otherwise.
                    let free = temporaries.iter().position(|t| t[c].free(&live.ranges[w.0 as usize]));
                    if let Some(t) = free {
                        temporaries[t][c].take(&live.ranges[w.0 as usize]);
                        out.gpr[w.0 as usize] = Some(MAX_GPRS as u8 + t as u8);
                    }
                    free.is_some()
                } =>
                {
                    continue;
                }
                None => {
                    used.push(Default::default());
                    used.len() - 1
                }
            },
        };
        for w in webs {
            let c = mir.webs[w.0 as usize].chan.unwrap_or(0) as usize & 3;
            used[r][c].take(&live.ranges[w.0 as usize]);
            out.gpr[w.0 as usize] = Some(r.min(255) as u8);
        }
    }
    let mut next = used.len().max(reserved as usize);
    for n in &mir.locals {
        out.locals.push(next.min(255) as u8);
        next += *n as usize;
    }
    out.count = next as u16;
    if next > MAX_GPRS as usize {
        return Err(AllocError::Limit(CompileError::limit(
            "R0306",
            Span::NONE,
            "the program needs more registers than the machine has",
            next as u64,
            MAX_GPRS as u64,
        )));
    }
    Ok(out)
}
