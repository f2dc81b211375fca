//! Live ranges of webs over the tree of code, and coalescing of copies.
//!
//! Liveness is per lane: the two arms of an `if` exclude each other although both are executed, because writes are masked.

use crate::mir::{Kind, Mir, Op, Step, Web};
use std::collections::BTreeSet;

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

/// Live sets and ranges of a program.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    /// By web.
    pub ranges: Vec<Range>,
    /// Webs live at the end of each piece of straight-line code, in the tree's order.
    pub live_out: Vec<BTreeSet<Web>>,
    /// Webs live on entry.
    pub entry: BTreeSet<Web>,
    /// Loop depth of each piece of code.
    pub depth: Vec<u32>,
}

struct Walk<'a> {
    leaves: &'a [Vec<Position>],
    live_out: Vec<BTreeSet<Web>>,
    depth: Vec<u32>,
}

fn count(steps: &[Step]) -> usize {
    steps
        .iter()
        .map(|s| match s {
            Step::Code(_) => 1,
            Step::If { then, other } => count(then) + count(other),
            Step::Loop(body) => count(body),
            _ => 0,
        })
        .sum()
}

impl Walk<'_> {
    /// Walks backwards; `first` is the number of the first leaf of `steps`. Returns what is live before them.
    fn steps(
        &mut self,
        steps: &[Step],
        first: usize,
        after: BTreeSet<Web>,
        exit: Option<(&BTreeSet<Web>, &BTreeSet<Web>)>,
        depth: u32,
    ) -> BTreeSet<Web> {
        let mut live = after;
        let mut leaf = first + count(steps);
        for s in steps.iter().rev() {
            match s {
                Step::Code(_) => {
                    leaf -= 1;
                    self.depth[leaf] = depth;
                    self.live_out[leaf] = live.clone();
                    for p in self.leaves[leaf].iter().rev() {
                        p.writes.iter().for_each(|w| {
                            live.remove(w);
                        });
                        live.extend(p.reads.iter().copied());
                    }
                }
                Step::If { then, other } => {
                    let (a, b) = (count(then), count(other));
                    leaf -= a + b;
                    let mut x = self.steps(then, leaf, live.clone(), exit, depth);
                    x.extend(self.steps(other, leaf + a, live, exit, depth));
                    live = x;
                }
                Step::Loop(body) => {
                    leaf -= count(body);
                    let mut head = BTreeSet::new();
                    loop {
                        let new = self.steps(body, leaf, head.clone(), Some((&live, &head)), depth + 1);
                        if new == head {
                            break;
                        }
                        head = new;
                    }
                    live = head;
                }
                Step::BreakUnless | Step::ContinueUnless => {
                    if let Some((b, c)) = exit {
                        live.extend(if matches!(s, Step::BreakUnless) { b } else { c }.iter().copied());
                    }
                }
                Step::Break => live = exit.map_or_else(BTreeSet::new, |e| e.0.clone()),
                Step::Continue => live = exit.map_or_else(BTreeSet::new, |e| e.1.clone()),
            }
        }
        live
    }
}

/// Computes liveness of `webs` webs over `steps`, whose pieces of code are given as positions in the tree's order.
pub fn liveness(steps: &[Step], leaves: &[Vec<Position>], webs: usize) -> Liveness {
    let mut w = Walk { leaves, live_out: vec![BTreeSet::new(); leaves.len()], depth: vec![0; leaves.len()] };
    let entry = w.steps(steps, 0, BTreeSet::new(), None, 0);
    let mut ranges: Vec<Range> = vec![Vec::new(); webs];
    let mut base = 0u32;
    for (k, leaf) in leaves.iter().enumerate() {
        let end = base + 2 * leaf.len() as u32 + 1;
        // Open ends, by web, while walking backwards.
        let mut open: std::collections::BTreeMap<Web, u32> = w.live_out[k].iter().map(|x| (*x, end + 1)).collect();
        let mut found: Vec<(Web, u32, u32)> = Vec::new();
        for (i, p) in leaf.iter().enumerate().rev() {
            let at = base + 2 * i as u32;
            for x in &p.writes {
                let until = open.remove(x).unwrap_or(at + 2);
                found.push((*x, at + 1, until));
            }
            for x in &p.reads {
                open.entry(*x).or_insert(at + 1);
            }
        }
        found.extend(open.into_iter().map(|(x, until)| (x, base, until)));
        found.sort_unstable_by_key(|f| f.1);
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

/// Whether a range holds a point.
fn lives(r: &Range, at: u32) -> bool {
    let n = r.partition_point(|(a, _)| *a <= at);
    n > 0 && at < r[n - 1].1
}

/// By web: the positions that write it, and of which web that is a copy.
fn definitions(mir: &Mir) -> Vec<Vec<(u32, Option<Web>)>> {
    let mut out = vec![Vec::new(); mir.webs.len()];
    let mut base = 0;
    for leaf in leaves(&mir.steps) {
        for (i, op) in leaf.iter().enumerate() {
            let from = copy_of(op).map(|c| c.1);
            for w in op.writes() {
                out[w.0 as usize].push((base + 2 * i as u32, from));
            }
        }
        base += 2 * leaf.len() as u32 + 2;
    }
    out
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

/// The pieces of code of a tree, in order.
pub fn leaves(steps: &[Step]) -> Vec<&Vec<Op>> {
    let mut out = Vec::new();
    for s in steps {
        match s {
            Step::Code(c) => out.push(c),
            Step::If { then, other } => {
                out.extend(leaves(then));
                out.extend(leaves(other));
            }
            Step::Loop(b) => out.extend(leaves(b)),
            _ => {}
        }
    }
    out
}

/// Applies a function to every piece of code, in order.
pub fn each_leaf(steps: &mut [Step], f: &mut dyn FnMut(&mut Vec<Op>)) {
    for s in steps {
        match s {
            Step::Code(c) => f(c),
            Step::If { then, other } => {
                each_leaf(then, f);
                each_leaf(other, f);
            }
            Step::Loop(b) => each_leaf(b, f),
            _ => {}
        }
    }
}

/// One position per operation.
pub fn positions(ops: &[Op]) -> Vec<Position> {
    ops.iter().map(|o| Position { reads: o.reads().to_vec(), writes: o.writes().to_vec() }).collect()
}

/// Removes operations whose results nobody reads.
pub fn remove_dead(mir: &mut Mir) {
    loop {
        let mut read = vec![false; mir.webs.len()];
        for leaf in leaves(&mir.steps) {
            leaf.iter().flat_map(|o| o.reads()).for_each(|w| read[w.0 as usize] = true);
        }
        let mut changed = false;
        each_leaf(&mut mir.steps, &mut |ops| {
            let before = ops.len();
            ops.retain(|o| {
                let pure = matches!(o.kind, Kind::Alu | Kind::Reduce) && o.store.is_none();
                !pure || o.dst.is_empty() || o.dst.iter().any(|w| read[w.0 as usize])
            });
            changed |= ops.len() != before;
        });
        if !changed {
            return;
        }
    }
}

/// Whether an operation only copies a web.
fn copy_of(op: &Op) -> Option<(Web, Web)> {
    if op.kind != Kind::Alu || op.name() != "MOV" || op.omod != 0 || op.clamp || op.store.is_some() || op.src[0].modified() {
        return None;
    }
    Some((*op.dst.first()?, op.src[0].as_web()?))
}

/// Moves definitions that only a later copy reads down to it, so that the old value of a loop variable is dead by then.
fn sink(ops: &mut Vec<Op>) {
    let mut k = ops.len();
    while k > 0 {
        k -= 1;
        let Some((dst, src)) = copy_of(&ops[k]) else { continue };
        let Some(d) = ops[..k].iter().rposition(|o| o.dst.contains(&src)) else { continue };
        let movable = ops[d].kind == Kind::Alu
            && ops[d].store.is_none()
            && !ops[d].src.iter().any(|s| matches!(s.place, crate::mir::Place::Array { .. }))
            && ops[d].dst.len() == 1;
        let read_between = ops[d + 1..k].iter().any(|o| o.reads().contains(&src));
        let reads = ops[d].reads();
        let clobbered = ops[d + 1..k].iter().any(|o| o.writes().iter().any(|w| reads.contains(w)));
        let useful = ops[d + 1..k].iter().any(|o| o.reads().contains(&dst));
        if movable && !read_between && !clobbered && useful {
            let op = ops.remove(d);
            ops.insert(k - 1, op);
        }
    }
}

/// Coalesces copies: webs that never live at the same time with different values become one.
///
/// `merge_quads`: also lets quads grow together, several members sharing a channel at different times.
pub fn coalesce(mir: &mut Mir, merge_quads: bool) {
    each_leaf(&mut mir.steps, &mut sink);
    let pos: Vec<Vec<Position>> = leaves(&mir.steps).into_iter().map(|l| positions(l)).collect();
    let live = liveness(&mir.steps, &pos, mir.webs.len());
    let mut defs = definitions(mir);
    let entry = live.entry;
    let mut on_entry: Vec<bool> = (0..mir.webs.len() as u32).map(|w| entry.contains(&Web(w))).collect();
    let mut ranges = live.ranges;
    let mut parent: Vec<u32> = (0..mir.webs.len() as u32).collect();
    fn find(parent: &mut [u32], mut x: u32) -> u32 {
        while parent[x as usize] != x {
            parent[x as usize] = parent[parent[x as usize] as usize];
            x = parent[x as usize];
        }
        x
    }
    let mut copies: Vec<(u32, Web, Web)> = Vec::new();
    for (k, leaf) in leaves(&mir.steps).into_iter().enumerate() {
        copies.extend(leaf.iter().filter_map(copy_of).map(|(d, s)| (live.depth[k], d, s)));
    }
    copies.sort_by_key(|c| std::cmp::Reverse(c.0));
    for (_, d, s) in copies {
        let (a, b) = (find(&mut parent, d.0), find(&mut parent, s.0));
        if a == b || on_entry[a as usize] && on_entry[b as usize] {
            continue;
        }
        // A definition clashes with another web that lives on, unless it is a copy of that web.
        let mut clash = |x: u32, y: u32| {
            defs[x as usize].iter().any(|(at, from)| lives(&ranges[y as usize], at + 1) && from.is_none_or(|f| find(&mut parent, f.0) != y))
                || on_entry[x as usize] && lives(&ranges[y as usize], 0)
        };
        if clash(a, b) || clash(b, a) {
            continue;
        }
        let (x, y) = (mir.webs[a as usize], mir.webs[b as usize]);
        let chan = match (x.chan, y.chan) {
            (Some(c), Some(e)) if c != e => continue,
            (c, e) => c.or(e),
        };
        if x.fixed.is_some() && y.fixed.is_some() && x.fixed != y.fixed {
            continue;
        }
        let quad = match (x.quad, y.quad) {
            (Some(p), Some(q)) if p != q => {
                if !merge_quads || !join(mir, p.0, q.0, (a, b), chan, &ranges, &mut |w| find(&mut parent, w)) {
                    continue;
                }
                Some(p)
            }
            (p, q) => {
                // A settled channel must not clash with another member that lives at the same time.
                let quad = p.or(q);
                if let (Some(q), Some(c)) = (quad, chan) {
                    let merged = union(&ranges[a as usize], &ranges[b as usize]);
                    let clash = mir.quads[q.0 as usize].clone().into_iter().any(|m| {
                        let m = find(&mut parent, m.0);
                        m != a && m != b && mir.webs[m as usize].chan == Some(c) && overlap(&ranges[m as usize], &merged)
                    });
                    if clash {
                        continue;
                    }
                }
                quad
            }
        };
        parent[b as usize] = a;
        ranges[a as usize] = union(&ranges[a as usize], &ranges[b as usize]);
        let moved = std::mem::take(&mut defs[b as usize]);
        defs[a as usize].extend(moved);
        on_entry[a as usize] |= on_entry[b as usize];
        let fixed = x.fixed.or(y.fixed);
        let info = &mut mir.webs[a as usize];
        (info.chan, info.quad, info.fixed) = (chan, quad, fixed);
        if let Some(q) = quad {
            let members = &mut mir.quads[q.0 as usize];
            if !members.contains(&Web(a)) {
                members.push(Web(a));
            }
        }
    }
    let name: Vec<u32> = (0..mir.webs.len() as u32).map(|w| find(&mut parent, w)).collect();
    let rename = |w: Web| Web(name[w.0 as usize]);
    each_leaf(&mut mir.steps, &mut |ops| {
        ops.iter_mut().for_each(|o| o.rename(&rename));
        ops.retain(|o| copy_of(o).is_none_or(|(d, s)| d != s));
    });
    for q in &mut mir.quads {
        q.iter_mut().for_each(|w| *w = rename(*w));
        q.sort_unstable();
        q.dedup();
    }
}

/// Tries to make quads `p` and `q` one, given that webs `a` and `b` of them become one with channel `chan`.
fn join(mir: &mut Mir, p: u32, q: u32, (a, b): (u32, u32), chan: Option<u8>, ranges: &[Range], find: &mut dyn FnMut(u32) -> u32) -> bool {
    let mut members: Vec<u32> = mir.quads[p as usize].iter().chain(&mir.quads[q as usize]).map(|w| find(w.0)).collect();
    members.sort_unstable();
    members.dedup();
    let fixed: BTreeSet<u8> = members.iter().filter_map(|m| mir.webs[*m as usize].fixed).collect();
    if fixed.len() > 1 {
        return false;
    }
    // Colour the members greedily: settled channels first, then by start.
    let merged = union(&ranges[a as usize], &ranges[b as usize]);
    let range = |m: u32| if m == a || m == b { &merged } else { &ranges[m as usize] };
    members.retain(|m| *m != b);
    members.sort_by_key(|m| {
        let settled = if *m == a { chan } else { mir.webs[*m as usize].chan };
        (settled.is_none(), range(*m).first().map_or(0, |r| r.0), *m)
    });
    let mut colour: Vec<(u32, u8)> = Vec::new();
    for m in &members {
        let settled = if *m == a { chan } else { mir.webs[*m as usize].chan };
        let free = |c: u8| !colour.iter().any(|(n, d)| *d == c && overlap(range(*m), range(*n)));
        let c = match settled {
            Some(c) if free(c) => Some(c),
            Some(_) => None,
            None => (0..4).find(|c| free(*c)),
        };
        match c {
            Some(c) => colour.push((*m, c)),
            None => return false,
        }
    }
    let all: Vec<Web> = members.iter().map(|m| Web(*m)).collect();
    for m in &all {
        mir.webs[m.0 as usize].quad = Some(crate::mir::Quad(p));
    }
    mir.quads[p as usize] = all;
    mir.quads[q as usize] = Vec::new();
    true
}

/// Settles the channels of quads with more members than a register has channels: members that never live at the same time
/// share one. Returns whether that was possible.
pub fn settle_quads(mir: &mut Mir) -> bool {
    if mir.quads.iter().all(|q| q.len() <= 4) {
        return true;
    }
    let pos: Vec<Vec<Position>> = leaves(&mir.steps).into_iter().map(|l| positions(l)).collect();
    let ranges = liveness(&mir.steps, &pos, mir.webs.len()).ranges;
    for q in mir.quads.iter().filter(|q| q.len() > 4) {
        let mut members = q.clone();
        members.sort_by_key(|m| (mir.webs[m.0 as usize].chan.is_none(), ranges[m.0 as usize].first().map_or(0, |r| r.0), *m));
        let mut taken: [Vec<Web>; 4] = Default::default();
        for m in members {
            let own = &ranges[m.0 as usize];
            let free = |c: u8| !taken[c as usize].iter().any(|n| overlap(own, &ranges[n.0 as usize]));
            let c = match mir.webs[m.0 as usize].chan {
                Some(c) => Some(c).filter(|c| free(*c)),
                None => (0..4).find(|c| free(*c)),
            };
            let Some(c) = c else { return false };
            taken[c as usize].push(m);
            mir.webs[m.0 as usize].chan = Some(c);
        }
    }
    true
}
