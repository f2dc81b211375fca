//! Placement: a register for every class, a lane for every web. There is no memory, so what does not fit is an error that
//! names what is alive.
//!
//! Largest classes first, lowest register that has room; small classes fill the free lanes of larger ones.

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
                    (Op::Mov, Some(Leaf::In(_, c) | Leaf::Uni { comp: c, .. })) => c,
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
        try_order(c, &classes, &wish, &signatures, p.temps as usize)
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

fn try_order(c: &Classes, classes: &[Few], wish: &[u8], signatures: &[u64], temps: usize) -> Option<Places> {
    let mut places: Places = vec![(0, 0); temps];
    let mut occupied: [[Vec<u32>; 4]; TEMPS as usize] = Default::default();
    let mut preferred: std::collections::BTreeMap<u64, usize> = std::collections::BTreeMap::new();
    for webs in classes {
        let mut found = None;
        // Classes made the same way like the same register: repeated code can then become a procedure.
        let signature = webs.first().map_or(0, |w| signatures[*w as usize]);
        let alike = preferred.get(&signature).copied().filter(|_| signature != 0);
        for reg in alike.into_iter().chain(0..occupied.len()) {
            let mut lanes = vec![u8::MAX; webs.len()];
            let mut budget = 500;
            let mut order: Vec<usize> = (0..webs.len()).collect();
            order.sort_by_key(|k| std::cmp::Reverse(webs.iter().filter(|w| c.with[webs[*k] as usize].contains(**w as usize)).count()));
            if assign(c, webs, &order, 0, &occupied[reg], wish, &mut lanes, &mut budget) {
                found = Some((reg, lanes));
                break;
            }
        }
        let (reg, lanes) = found?;
        preferred.entry(signature).or_insert(reg);
        for (w, lane) in webs.iter().zip(lanes) {
            occupied[reg][lane as usize].push(*w);
            for t in &c.members[*w as usize] {
                places[*t as usize] = (reg as u8, lane);
            }
        }
    }
    Some(places)
}

#[allow(clippy::too_many_arguments)]
fn assign(
    c: &Classes,
    webs: &[u32],
    order: &[usize],
    at: usize,
    occupied: &[Vec<u32>; 4],
    wish: &[u8],
    lanes: &mut [u8],
    budget: &mut u32,
) -> bool {
    let Some(&k) = order.get(at) else { return true };
    if *budget == 0 {
        return false;
    }
    *budget -= 1;
    let w = webs[k] as usize;
    let wanted = c.members[w].iter().map(|t| wish[*t as usize]).find(|l| *l < 4).unwrap_or(0);
    for step in 0..4u8 {
        let lane = if step == 0 { wanted } else { (0..4).filter(|l| *l != wanted).nth(step as usize - 1).unwrap_or(0) };
        let clash = occupied[lane as usize].iter().any(|o| c.with[w].contains(*o as usize))
            || (0..webs.len()).any(|o| lanes[o] == lane && c.with[w].contains(webs[o] as usize));
        if clash {
            continue;
        }
        lanes[k] = lane;
        if assign(c, webs, order, at + 1, occupied, wish, lanes, budget) {
            return true;
        }
        lanes[k] = u8::MAX;
    }
    false
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
