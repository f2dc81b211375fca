//! Coalescing of copies, and the channels of registers that several values share.

use super::liveness::{Liveness, of_operations};
use crate::isa::forms::op2;
use crate::select::mir::{Kind, Mir, Op, Web, each_leaf, leaves};
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
    let mut live = of_operations(&mir.steps, mir.webs.len());
    let mut defs = definitions(mir, &live);
    let mut on_entry = vec![false; mir.webs.len()];
    live.entry().for_each(|w| on_entry[w.0 as usize] = true);
    let mut ranges = std::mem::take(&mut live.ranges);
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
            defs[x as usize]
                .iter()
                .any(|(at, from)| ranges[y as usize].contains(at + 1) && from.is_none_or(|f| find(&mut parent, f.0) != y))
                || on_entry[x as usize] && ranges[y as usize].contains(0)
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
                        m != a && m != b && mir.webs[m as usize].chan == Some(c) && ranges[m as usize].overlaps(&merged)
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
fn join(mir: &mut Mir, p: u32, q: u32, (a, b): (u32, u32), chan: Option<u8>, ranges: &[Ranges], find: &mut dyn FnMut(u32) -> u32) -> bool {
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
        (settled.is_none(), range(*m).start().unwrap_or(0), *m)
    });
    let mut colour: Vec<(u32, u8)> = Vec::new();
    for m in &members {
        let settled = if *m == a { chan } else { mir.webs[*m as usize].chan };
        let free = |c: u8| !colour.iter().any(|(n, d)| *d == c && range(*m).overlaps(range(*n)));
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
        mir.webs[m.0 as usize].quad = Some(crate::select::mir::Quad(p));
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
    let ranges = of_operations(&mir.steps, mir.webs.len()).ranges;
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
