//! Placement: a register for every class, a lane for every web. There is no memory, so what does not fit is an error that
//! names what is alive.
//!
//! Largest classes first, lowest register that has room; small classes fill the free lanes of larger ones.

pub mod alike;
pub mod check;
pub mod coalesce;
pub mod components;
pub mod dots;
pub mod lanes;
pub mod order;
pub mod rows;
pub mod signs;
pub mod vertices;

use crate::isa::forms::Op;
use crate::isa::registers::TEMPS;
use crate::place::coalesce::{Classes, Few};
use crate::select::mir::*;
use retroshade_regalloc::lanes::{self as regalloc, Bank, Conflicts, Lane, Member, Problem, Search, Unit};

/// Register and lane of every temporary.
pub type Places = Vec<(u8, u8)>;

/// The lane where a temporary would like to be, so that swizzles repeat and descriptors are shared.
fn wishes(p: &Program) -> Vec<u8> {
    let mut wish = vec![u8::MAX; p.temps as usize];
    let nodes = || p.blocks.iter().flat_map(|b| &b.nodes);
    for n in nodes().filter(|n| !n.elementwise()) {
        for s in n.srcs.iter().filter(|s| s.len() > 1) {
            for (l, r) in s.iter().enumerate() {
                if let Some(t) = r.as_tmp()
                    && wish[t as usize] == u8::MAX
                {
                    wish[t as usize] = l as u8;
                }
            }
        }
    }
    // Element by element a lane goes to where its result goes, backward through the program.
    for _ in 0..3 {
        for n in nodes().filter(|n| n.elementwise()) {
            for (l, d) in n.dests.iter().enumerate() {
                let lane = match d {
                    Dest::Out(_, c) => *c,
                    Dest::Tmp(t) => wish[*t as usize],
                };
                for r in n.srcs.iter().map(|s| s[l]) {
                    if let Some(t) = r.as_tmp()
                        && wish[t as usize] == u8::MAX
                    {
                        wish[t as usize] = lane;
                    }
                }
            }
        }
    }
    for n in nodes().filter(|n| n.op != Op::Call) {
        for (l, d) in n.dests.iter().enumerate() {
            if let Dest::Tmp(t) = d
                && wish[*t as usize] == u8::MAX
            {
                wish[*t as usize] = match (n.op, n.elementwise().then(|| n.srcs[0][l].leaf)) {
                    (Op::Mov, Some(Leaf::In(_, c) | Leaf::Uni { comp: c, .. })) if n.dests.len() > 1 => c,
                    _ => l as u8,
                };
            }
        }
    }
    wish
}

/// Places all classes, if there is room for them.
pub fn place(p: &Program, c: &Classes) -> Option<Places> {
    let wish = wishes(p);
    let used: Vec<bool> = {
        let mut u = vec![false; p.temps as usize];
        for n in p.blocks.iter().flat_map(|b| &b.nodes) {
            crate::place::coalesce::reads(p, n).iter().for_each(|t| u[*t as usize] = true);
            n.writes().for_each(|t| u[t as usize] = true);
        }
        u
    };
    let mut classes: Vec<Few> =
        c.webs.iter().filter(|w| w.iter().any(|x| c.members[*x as usize].iter().any(|t| used[*t as usize]))).cloned().collect();
    let degree = |w: &Few| w.iter().map(|x| c.with[*x as usize].count_ones(..)).sum::<usize>();
    let width = |w: &Few| -> usize { c.colour(w).map_or(4, |l| l.iter().max().map_or(0, |m| *m as usize + 1)) };
    let signatures = signatures(p, c);
    (0..3).find_map(|order| {
        match order {
            0 => classes.sort_by_cached_key(|w| (std::cmp::Reverse(width(w)), w.first().copied())),
            1 => classes.sort_by_cached_key(|w| (std::cmp::Reverse(degree(w)), w.first().copied())),
            _ => classes.sort_by_cached_key(|w| (std::cmp::Reverse(width(w)), std::cmp::Reverse(degree(w)))),
        }
        in_order(c, &classes, &wish, &signatures)
    })
}

/// How each class is made: a hash of the operations that write it and of their operands outside temporaries. Indexed by web.
fn signatures(p: &Program, c: &Classes) -> Vec<u64> {
    let mut out = vec![0u64; p.temps as usize];
    for n in p.blocks.iter().flat_map(|b| &b.nodes) {
        let mut h = 0xcbf2_9ce4_8422_2325u64 ^ n.op as u64;
        for r in n.srcs.iter().flatten() {
            let k = match r.leaf {
                Leaf::Tmp(_) => 1,
                Leaf::In(v, l) => 2 + 64 * (v as u64 * 4 + l as u64),
                Leaf::Uni { reg, comp, .. } => 3 + 64 * (reg as u64 * 4 + comp as u64),
                Leaf::Const(b) => 4 + 64 * b as u64,
            };
            h = (h ^ k).wrapping_mul(0x100_0000_01b3);
        }
        for t in n.writes().take(1) {
            let class = c.class_of(t) as usize;
            for w in &c.webs[class] {
                out[*w as usize] = out[*w as usize].wrapping_mul(31).wrapping_add(h);
            }
        }
    }
    out
}

/// Places classes in an order: all webs of one share a register.
fn in_order(c: &Classes, classes: &[Few], wish: &[u8], signatures: &[u64]) -> Option<Places> {
    let lane = |w: u32| c.members[w as usize].iter().map(|t| wish[*t as usize]).find(|l| *l < 4).unwrap_or(0);
    let unit = |webs: &Few| Unit {
        members: webs.iter().map(|w| Member { value: *w, register: 0, lane: Lane::Any(lane(*w)) }).collect(),
        search: [Search::Whole(0)][..].into(),
        // Classes made the same way like the same register: repeated code can then become a procedure.
        alike: webs.first().map(|w| signatures[*w as usize]).filter(|s| *s != 0),
        ..Unit::default()
    };
    let problem = Problem {
        banks: vec![Bank { name: "r", registers: TEMPS as u32, lanes: 4 }],
        units: classes.iter().map(unit).collect(),
        conflicts: Conflicts::Graph(&c.with),
        values: c.with.len(),
    };
    let placed = regalloc::place(&problem).ok()?;
    let mut places: Places = vec![(0, 0); wish.len()];
    for (web, at) in placed.values.iter().enumerate() {
        for t in at.iter().flat_map(|_| &c.members[web]) {
            places[*t as usize] = at.map_or((0, 0), |p| (p.register as u8, p.lane));
        }
    }
    Some(places)
}

/// Proves a placement: no two temporaries that are alive together share a lane, every operand names one register.
///
/// Recomputed from the program alone, so it does not trust the classes.
pub fn check(p: &Program, places: &Places) -> Result<(), String> {
    let i = crate::place::coalesce::interference(p);
    for (a, with) in i.with.iter().enumerate() {
        for b in with.ones() {
            if places[a] == places[b] {
                return Err(format!("temporaries {a} and {b} overlap in r{} lane {}", places[a].0, places[a].1));
            }
        }
    }
    let one = |t: &[Ref]| {
        let mut regs = t.iter().filter_map(|r| r.as_tmp()).map(|t| places[t as usize].0);
        let first = regs.next();
        regs.all(|r| Some(r) == first)
    };
    for n in p.blocks.iter().flat_map(|b| &b.nodes) {
        if !n.srcs.iter().all(|s| one(s)) {
            return Err("an operand names two registers".to_string());
        }
        let mut regs = n.writes().filter(|_| n.op != Op::Call).map(|t| places[t as usize].0);
        let first = regs.next();
        if !regs.all(|r| Some(r) == first) {
            return Err("results go to two registers".to_string());
        }
    }
    Ok(())
}
