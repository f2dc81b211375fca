//! Coalescing of copies, and the channels of registers that several values share.

use super::liveness::{Liveness, of_operations};
use crate::isa::forms::op2;
use crate::select::mir::{Kind, Mir, Op, Quad, Web, each_leaf, leaves};
use retroshade_regalloc::ranges::Ranges;
use std::collections::BTreeSet;

/// By web: the positions that write it, and of which web that is a copy.
fn definitions(mir: &Mir, live: &Liveness) -> Vec<Vec<(u32, Option<Web>)>> {
    let mut out = vec![Vec::new(); mir.webs.len()];
    for (k, leaf) in leaves(&mir.steps).into_iter().enumerate() {
        let base = live.start(k);
        for (i, op) in leaf.iter().enumerate() {
            let from = copy_of(op).map(|c| c.1);
            for w in op.writes() {
                out[w.0 as usize].push((base + 2 * i as u32, from));
            }
        }
    }
    out
}

/// Removes operations whose results nobody reads.
pub fn remove_dead(mir: &mut Mir) {
    let mut readers = vec![0u32; mir.webs.len()];
    for leaf in leaves(&mir.steps) {
        leaf.iter().flat_map(|o| o.reads()).for_each(|w| readers[w.0 as usize] += 1);
    }
    let mut changed = true;
    while std::mem::take(&mut changed) {
        each_leaf(&mut mir.steps, &mut |ops| {
            // Backwards, so that a chain of them goes at once.
            let mut keep = vec![true; ops.len()];
            for (o, keep) in ops.iter().zip(&mut keep).rev() {
                let pure = matches!(o.kind, Kind::Alu | Kind::Reduce) && o.store.is_none() && !o.dst.is_empty();
                *keep = !pure || o.dst.iter().any(|w| readers[w.0 as usize] > 0);
                if !*keep {
                    o.reads().iter().for_each(|w| readers[w.0 as usize] -= 1);
                }
            }
            changed |= keep.contains(&false);
            let mut keep = keep.into_iter();
            ops.retain(|_| keep.next() != Some(false));
        });
    }
    if leaves(&mir.steps).iter().any(|l| l.iter().any(|o| matches!(o.kind, Kind::Write(_)))) {
        remove_unread(mir);
    }
}

/// Removes operations whose results are not read any more, by themselves in the next round least of all: the position in a ring behind
/// the last vertex.
fn remove_unread(mir: &mut Mir) {
    let live = of_operations(&mir.steps, mir.webs.len());
    let mut dead: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (k, leaf) in leaves(&mir.steps).into_iter().enumerate() {
        live.flow.backward(live.blocks[k], &live.live, |i, after| {
            let o = &leaf[i];
            let pure = matches!(o.kind, Kind::Alu | Kind::Reduce) && o.store.is_none() && !o.dst.is_empty();
            if pure && !o.dst.iter().any(|w| after.contains(w.0 as usize)) {
                dead.insert((k, i));
            }
        });
    }
    let (mut k, mut i) = (0, 0);
    each_leaf(&mut mir.steps, &mut |ops| {
        ops.retain(|_| {
            i += 1;
            !dead.contains(&(k, i - 1))
        });
        (k, i) = (k + 1, 0);
    });
}

/// Whether an operation only copies a web.
fn copy_of(op: &Op) -> Option<(Web, Web)> {
    if op.kind != Kind::Alu || op.form != op2::MOV || op.omod != 0 || op.clamp || op.store.is_some() || op.src[0].modified() {
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
            && !ops[d].src.iter().any(|s| matches!(s.place, crate::select::mir::Place::Array { .. }))
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
    let mut live = of_operations(&mir.steps, mir.webs.len()).ranges();
    let mut on_entry = vec![false; mir.webs.len()];
    live.code.entry().for_each(|w| on_entry[w.0 as usize] = true);
    let defs = definitions(mir, &live);
    let ranges = std::mem::take(&mut live.ranges);
    let mut all = Classes { parent: (0..mir.webs.len() as u32).collect(), defs, ranges, on_entry };
    let mut copies: Vec<(u32, Web, Web)> = Vec::new();
    for (k, leaf) in leaves(&mir.steps).into_iter().enumerate() {
        copies.extend(leaf.iter().filter_map(copy_of).map(|(d, s)| (live.code.depth[k], d, s)));
    }
    copies.sort_by_key(|c| std::cmp::Reverse(c.0));
    for (_, d, s) in copies {
        let (a, b) = (all.find(d.0), all.find(s.0));
        if a != b {
            all.copy(mir, a, b, merge_quads);
        }
    }
    let name: Vec<u32> = (0..mir.webs.len() as u32).map(|w| all.find(w)).collect();
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

/// Webs that have become one, by the web that stands for them.
struct Classes {
    parent: Vec<u32>,
    /// What writes them, and of which web that is a copy.
    defs: Vec<Vec<(u32, Option<Web>)>>,
    ranges: Vec<Ranges>,
    on_entry: Vec<bool>,
}

impl Classes {
    fn find(&mut self, mut x: u32) -> u32 {
        while self.parent[x as usize] != x {
            self.parent[x as usize] = self.parent[self.parent[x as usize] as usize];
            x = self.parent[x as usize];
        }
        x
    }

    /// Whether a definition of one clashes with the other, which lives on and is not what it copies.
    fn clash(&mut self, a: u32, b: u32) -> bool {
        let mut one = |x: u32, y: u32| {
            let at_entry = self.on_entry[x as usize] && self.ranges[y as usize].contains(0);
            at_entry
                || (0..self.defs[x as usize].len()).any(|k| {
                    let (at, from) = self.defs[x as usize][k];
                    self.ranges[y as usize].contains(at + 1) && from.is_none_or(|f| self.find(f.0) != y)
                })
        };
        one(a, b) || one(b, a)
    }

    /// The channel and the register of two webs that become one.
    fn settled(mir: &Mir, a: u32, b: u32) -> Option<(Option<u8>, Option<u8>)> {
        let (x, y) = (mir.webs[a as usize], mir.webs[b as usize]);
        let one = |p: Option<u8>, q: Option<u8>| if p.is_some() && q.is_some() && p != q { None } else { Some(p.or(q)) };
        Some((one(x.chan, y.chan)?, one(x.fixed, y.fixed)?))
    }

    /// Makes the webs of a copy one, where that is possible.
    fn copy(&mut self, mir: &mut Mir, a: u32, b: u32, merge_quads: bool) {
        if self.on_entry[a as usize] && self.on_entry[b as usize] || self.clash(a, b) {
            return;
        }
        let Some((chan, _)) = Self::settled(mir, a, b) else { return };
        let quad = match (mir.webs[a as usize].quad, mir.webs[b as usize].quad) {
            (Some(p), Some(q)) if p != q => {
                if !merge_quads || !self.join(mir, p, q, (a, b)) {
                    return;
                }
                Some(p)
            }
            (p, q) => {
                // A settled channel must not clash with another member that lives at the same time.
                let quad = p.or(q);
                if let (Some(q), Some(c)) = (quad, chan) {
                    let merged = union(&self.ranges[a as usize], &self.ranges[b as usize]);
                    let clash = mir.quads[q.0 as usize].clone().into_iter().any(|m| {
                        let m = self.find(m.0);
                        m != a && m != b && mir.webs[m as usize].chan == Some(c) && self.ranges[m as usize].overlaps(&merged)
                    });
                    if clash {
                        return;
                    }
                }
                quad
            }
        };
        self.merge(mir, a, b, quad);
    }

    /// `b` becomes `a`.
    fn merge(&mut self, mir: &mut Mir, a: u32, b: u32, quad: Option<Quad>) {
        let (chan, fixed) = Self::settled(mir, a, b).unwrap_or_default();
        self.parent[b as usize] = a;
        self.ranges[a as usize] = union(&self.ranges[a as usize], &self.ranges[b as usize]);
        let moved = std::mem::take(&mut self.defs[b as usize]);
        self.defs[a as usize].extend(moved);
        self.on_entry[a as usize] |= self.on_entry[b as usize];
        let info = &mut mir.webs[a as usize];
        (info.chan, info.quad, info.fixed) = (chan, quad, fixed);
        if let Some(q) = quad {
            let members = &mut mir.quads[q.0 as usize];
            if !members.contains(&Web(a)) {
                members.push(Web(a));
            }
        }
    }

    /// Members of two quads that hold the same value: one is a copy of the other and nothing else.
    fn twins(&mut self, mir: &Mir, p: &[u32], q: &[u32]) -> Vec<(u32, u32)> {
        let mut out: Vec<(u32, u32)> = Vec::new();
        for x in p {
            for m in q {
                let mut copies = |x: u32, m: u32| match self.defs[m as usize][..] {
                    [(_, Some(from))] => self.find(from.0) == x,
                    _ => false,
                };
                let same = copies(*x, *m) || copies(*m, *x);
                let taken = out.iter().any(|(a, b)| a == x || b == m);
                if same && !taken && Self::settled(mir, *x, *m).is_some() && !self.clash(*x, *m) {
                    out.push((*x, *m));
                }
            }
        }
        out
    }

    /// Tries to make two quads one, given that webs `a` and `b` of them become one; other members that hold the same value do so, too.
    fn join(&mut self, mir: &mut Mir, p: Quad, q: Quad, (a, b): (u32, u32)) -> bool {
        let mut members = |q: Quad, but: u32| {
            let mut m: Vec<u32> = mir.quads[q.0 as usize].iter().map(|w| self.find(w.0)).filter(|m| *m != but).collect();
            m.sort_unstable();
            m.dedup();
            m
        };
        let (first, second) = (members(p, a), members(q, b));
        let mut pairs = self.twins(mir, &first, &second);
        pairs.push((a, b));
        let mut all: Vec<(u32, Option<u8>, Ranges)> = Vec::new();
        for m in first.iter().chain(&second).chain([&a]).filter(|m| !pairs.iter().any(|(_, gone)| gone == *m)) {
            let pair = pairs.iter().find(|(x, _)| x == m);
            let chan = pair.map_or(mir.webs[*m as usize].chan, |(x, y)| Self::settled(mir, *x, *y).and_then(|s| s.0));
            let own = &self.ranges[*m as usize];
            all.push((*m, chan, pair.map_or(own.clone(), |(_, y)| union(own, &self.ranges[*y as usize]))));
        }
        all.sort_by_key(|m| m.0);
        all.dedup_by_key(|m| m.0);
        let fixed: BTreeSet<u8> = first.iter().chain(&second).chain([&a, &b]).filter_map(|m| mir.webs[*m as usize].fixed).collect();
        if fixed.len() > 1 {
            return false;
        }
        // Colour the members greedily: settled channels first, then by start.
        all.sort_by_key(|(m, chan, range)| (chan.is_none(), range.start().unwrap_or(0), *m));
        let mut colour: Vec<u8> = Vec::new();
        for (k, (_, chan, range)) in all.iter().enumerate() {
            let free = |c: u8| !colour.iter().zip(&all[..k]).any(|(d, n)| *d == c && range.overlaps(&n.2));
            match chan.map_or_else(|| (0..4).find(|c| free(*c)), |c| Some(c).filter(|c| free(*c))) {
                Some(c) => colour.push(c),
                None => return false,
            }
        }
        pairs.pop();
        for (x, m) in pairs {
            self.merge(mir, x, m, Some(p));
        }
        let members: Vec<Web> = all.iter().map(|m| Web(m.0)).collect();
        for m in &members {
            mir.webs[m.0 as usize].quad = Some(p);
        }
        mir.quads[p.0 as usize] = members;
        mir.quads[q.0 as usize] = Vec::new();
        true
    }
}

/// Settles the channels of quads with more members than a register has channels: members that never live at the same time
/// share one. Returns whether that was possible.
pub fn settle_quads(mir: &mut Mir) -> bool {
    if mir.quads.iter().all(|q| q.len() <= 4) {
        return true;
    }
    let ranges = of_operations(&mir.steps, mir.webs.len()).ranges().ranges;
    for q in mir.quads.iter().filter(|q| q.len() > 4) {
        let mut members = q.clone();
        members.sort_by_key(|m| (mir.webs[m.0 as usize].chan.is_none(), ranges[m.0 as usize].start().unwrap_or(0), *m));
        let mut taken: [Vec<Web>; 4] = Default::default();
        for m in members {
            let own = &ranges[m.0 as usize];
            let free = |c: u8| !taken[c as usize].iter().any(|n| own.overlaps(&ranges[n.0 as usize]));
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

fn union(a: &Ranges, b: &Ranges) -> Ranges {
    let mut out = a.clone();
    out.union(b);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::mir::Opnd;

    #[test]
    fn a_definition_sinks_to_its_copy_unless_its_operands_change() {
        let copy = |to: u32, of: u32| Op::alu(op2::MOV, &[Opnd::web(Web(of))], Some(Web(to)));
        let sum = Op::alu(op2::ADD, &[Opnd::web(Web(0)), Opnd::web(Web(1))], Some(Web(2)));
        let order = |between: Op| {
            let mut ops = vec![sum.clone(), copy(4, 3), between, copy(3, 2)];
            sink(&mut ops);
            ops.iter().position(|o| o.form == op2::ADD)
        };
        assert_eq!(order(copy(5, 0)), Some(2));
        assert_eq!(order(copy(0, 5)), Some(0), "an operand changes");
        assert_eq!(order(copy(5, 2)), Some(0), "it is read before");
    }
}
