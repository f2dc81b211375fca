//! Live ranges of webs over the tree of code.
//!
//! Liveness is per lane: the two arms of an `if` exclude each other although both are executed, because writes are masked.

use crate::select::mir::{Op, Step, Web};
use std::collections::BTreeMap;

/// What a position of straight-line code reads and writes; reads happen before writes.
#[derive(Clone, Debug, Default)]
pub struct Position {
    /// Webs read.
    pub reads: Vec<Web>,
    /// Webs written.
    pub writes: Vec<Web>,
}

/// Live ranges: half-open intervals over doubled positions, ascending.
pub type Range = Vec<(u32, u32)>;

/// A set of webs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebSet(Vec<u64>);

impl WebSet {
    fn new(webs: usize) -> WebSet {
        WebSet(vec![0; webs.div_ceil(64)])
    }
    /// Adds a web.
    pub fn insert(&mut self, w: Web) {
        self.0[w.0 as usize / 64] |= 1 << (w.0 % 64);
    }
    /// Takes a web out.
    pub fn remove(&mut self, w: Web) {
        self.0[w.0 as usize / 64] &= !(1 << (w.0 % 64));
    }
    /// Whether a web is in it.
    pub fn contains(&self, w: Web) -> bool {
        self.0.get(w.0 as usize / 64).is_some_and(|x| x >> (w.0 % 64) & 1 == 1)
    }
    /// Adds the webs of another set.
    pub fn union(&mut self, other: &WebSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
    /// Its webs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Web> + '_ {
        self.0.iter().enumerate().filter(|w| *w.1 != 0).flat_map(|(k, w)| {
            let bit = move |n: u32| (w >> n & 1 == 1).then_some(Web(k as u32 * 64 + n));
            (0..64).filter_map(bit)
        })
    }
}

/// Live sets and ranges of a program.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    /// By web.
    pub ranges: Vec<Range>,
    /// Webs live at the end of each piece of straight-line code, in the tree's order.
    pub live_out: Vec<WebSet>,
    /// Webs live on entry.
    pub entry: WebSet,
    /// Loop depth of each piece of code.
    pub depth: Vec<u32>,
}

/// What a piece of straight-line code does to a live set.
struct Effect {
    /// Read before they are written.
    reads: WebSet,
    writes: WebSet,
}

struct Walk {
    leaves: Vec<Effect>,
    live_out: Vec<WebSet>,
    depth: Vec<u32>,
    /// What was found live at the start of each loop so far, by its first leaf and depth. Sets only grow, so an inner loop
    /// goes on from there in the outer loop's next round: without that, rounds would multiply with nesting.
    heads: BTreeMap<(usize, u32), WebSet>,
    webs: usize,
}

impl Walk {
    /// Walks backwards; `end` is the number of the leaf after `steps`. Returns what is live before them and their first leaf.
    fn steps(&mut self, steps: &[Step], end: usize, after: WebSet, exit: Option<(&WebSet, &WebSet)>, depth: u32) -> (WebSet, usize) {
        let (mut live, mut leaf) = (after, end);
        for s in steps.iter().rev() {
            match s {
                Step::Code(_) => {
                    leaf -= 1;
                    self.depth[leaf] = depth;
                    self.live_out[leaf].clone_from(&live);
                    let e = &self.leaves[leaf];
                    for ((l, r), w) in live.0.iter_mut().zip(&e.reads.0).zip(&e.writes.0) {
                        *l = *l & !w | r;
                    }
                }
                Step::If { then, other } => {
                    let (o, middle) = self.steps(other, leaf, live.clone(), exit, depth);
                    (live, leaf) = self.steps(then, middle, live, exit, depth);
                    live.union(&o);
                }
                Step::Loop(body) => {
                    let key = (leaf, depth);
                    let mut head = self.heads.remove(&key).unwrap_or_else(|| WebSet::new(self.webs));
                    let first = loop {
                        let (new, first) = self.steps(body, leaf, head.clone(), Some((&live, &head)), depth + 1);
                        if new == head {
                            break first;
                        }
                        head = new;
                    };
                    leaf = first;
                    live.clone_from(&head);
                    self.heads.insert(key, head);
                }
                Step::BreakUnless | Step::ContinueUnless => {
                    if let Some((b, c)) = exit {
                        live.union(if matches!(s, Step::BreakUnless) { b } else { c });
                    }
                }
                Step::Break => live = exit.map_or_else(|| WebSet::new(self.webs), |e| e.0.clone()),
                Step::Continue => live = exit.map_or_else(|| WebSet::new(self.webs), |e| e.1.clone()),
            }
        }
        (live, leaf)
    }
}

/// Computes liveness of `webs` webs over `steps`, whose pieces of code are given as positions in the tree's order.
pub fn liveness(steps: &[Step], leaves: &[Vec<Position>], webs: usize) -> Liveness {
    let effect = |leaf: &Vec<Position>| {
        let mut e = Effect { reads: WebSet::new(webs), writes: WebSet::new(webs) };
        for p in leaf.iter().rev() {
            p.writes.iter().for_each(|w| {
                e.writes.insert(*w);
                e.reads.remove(*w);
            });
            p.reads.iter().for_each(|w| e.reads.insert(*w));
        }
        e
    };
    let mut w = Walk {
        leaves: leaves.iter().map(effect).collect(),
        live_out: vec![WebSet::default(); leaves.len()],
        depth: vec![0; leaves.len()],
        heads: BTreeMap::new(),
        webs,
    };
    let (entry, _) = w.steps(steps, leaves.len(), WebSet::new(webs), None, 0);
    let mut ranges: Vec<Range> = vec![Vec::new(); webs];
    // Open ends, by web, while walking backwards.
    let mut open: Vec<Option<u32>> = vec![None; webs];
    let mut opened: Vec<Web> = Vec::new();
    let mut base = 0u32;
    for (k, leaf) in leaves.iter().enumerate() {
        let end = base + 2 * leaf.len() as u32 + 1;
        opened.extend(w.live_out[k].iter());
        opened.iter().for_each(|x| open[x.0 as usize] = Some(end + 1));
        let mut found: Vec<(Web, u32, u32)> = Vec::new();
        for (i, p) in leaf.iter().enumerate().rev() {
            let at = base + 2 * i as u32;
            for x in &p.writes {
                let until = open[x.0 as usize].take().unwrap_or(at + 2);
                found.push((*x, at + 1, until));
            }
            for x in &p.reads {
                if open[x.0 as usize].is_none() {
                    open[x.0 as usize] = Some(at + 1);
                    opened.push(*x);
                }
            }
        }
        for x in opened.drain(..) {
            if let Some(until) = open[x.0 as usize].take() {
                found.push((x, base, until));
            }
        }
        found.sort_unstable_by_key(|f| (f.1, f.0));
        for (x, a, b) in found {
            let r = &mut ranges[x.0 as usize];
            match r.last_mut() {
                Some(last) if last.1 >= a => last.1 = last.1.max(b),
                _ => r.push((a, b)),
            }
        }
        base = end + 1;
    }
    Liveness { ranges, live_out: w.live_out, entry, depth: w.depth }
}

/// Whether two ranges overlap.
pub fn overlap(a: &Range, b: &Range) -> bool {
    let (Some(first), Some(last)) = (a.first(), a.last()) else { return false };
    // Long ranges are entered where the other one begins.
    let mut j = b.partition_point(|r| r.1 <= first.0);
    if b.get(j).is_none_or(|r| r.0 >= last.1) {
        return false;
    }
    let mut i = a.partition_point(|r| r.1 <= b[j].0);
    while i < a.len() && j < b.len() {
        if a[i].1 <= b[j].0 {
            i += 1;
        } else if b[j].1 <= a[i].0 {
            j += 1;
        } else {
            return true;
        }
    }
    false
}

/// The union of two ranges.
pub fn union(a: &Range, b: &Range) -> Range {
    let mut all: Vec<(u32, u32)> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    let mut out: Range = Vec::new();
    for (s, e) in all {
        match out.last_mut() {
            Some(l) if l.1 >= s => l.1 = l.1.max(e),
            _ => out.push((s, e)),
        }
    }
    out
}

/// One position per operation.
pub fn positions(ops: &[Op]) -> Vec<Position> {
    ops.iter().map(|o| Position { reads: o.reads().to_vec(), writes: o.writes().to_vec() }).collect()
}
