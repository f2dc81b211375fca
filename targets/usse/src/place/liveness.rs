//! Liveness of virtual registers over a program of macro-operations.

use crate::isa::names::Format;
use crate::select::mir::{Kind, MProgram, Vreg};
use std::collections::BTreeSet;

/// Registers live at the start of each block.
pub fn live_in(p: &MProgram) -> Vec<BTreeSet<Vreg>> {
    let n = p.blocks.len();
    let mut live: Vec<BTreeSet<Vreg>> = vec![BTreeSet::new(); n];
    loop {
        let mut changed = false;
        for b in (0..n).rev() {
            let mut now = live_out(p, &live, b);
            for op in p.blocks[b].ops.iter().rev() {
                for w in op.writes() {
                    now.remove(&w);
                }
                now.extend(op.reads());
            }
            if now != live[b] {
                live[b] = now;
                changed = true;
            }
        }
        if !changed {
            return live;
        }
    }
}

/// Registers live at the end of a block.
pub fn live_out(p: &MProgram, live: &[BTreeSet<Vreg>], b: usize) -> BTreeSet<Vreg> {
    p.blocks[b].succs.iter().flat_map(|s| live[*s].iter().copied()).collect()
}

/// Stretches of positions in which each register holds a value. Operation `g` reads at `2g` and writes at `2g + 1`.
pub fn intervals(p: &MProgram) -> Vec<Vec<(u32, u32)>> {
    let live = live_in(p);
    let mut out: Vec<Vec<(u32, u32)>> = vec![Vec::new(); p.vregs.len()];
    let mut start = 0u32;
    for (b, block) in p.blocks.iter().enumerate() {
        let end = start + block.ops.len() as u32;
        // The end of the stretch that is open for each live register.
        let mut open: std::collections::BTreeMap<Vreg, u32> = live_out(p, &live, b).into_iter().map(|v| (v, 2 * end)).collect();
        for (n, op) in block.ops.iter().enumerate().rev() {
            let g = start + n as u32;
            for w in op.writes() {
                let to = open.remove(&w).unwrap_or(2 * g + 2);
                out[w.0 as usize].push((2 * g + 1 - early(&op.kind, p, w) as u32, to));
            }
            // What a select takes under its predicate is read after the other side was written.
            let late = op.kind.late();
            for (k, src) in op.src.iter().enumerate() {
                for l in src {
                    if let crate::select::mir::Base::V(r, _) = l.base {
                        let to = 2 * g + 1 + (Some(k) == late) as u32;
                        let e = open.entry(r).or_insert(to);
                        *e = (*e).max(to);
                    }
                }
            }
        }
        for (v, to) in open {
            out[v.0 as usize].push((2 * start, to));
        }
        start = end;
    }
    for v in &mut out {
        v.sort_unstable();
        // Neighbours join.
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for s in v.drain(..) {
            match joined.last_mut() {
                Some(l) if l.1 >= s.0 => l.1 = l.1.max(s.1),
                _ => joined.push(s),
            }
        }
        *v = joined;
    }
    out
}

/// Whether the destination needs a place of its own whatever its sources are. Lane-wise operations on several lanes are
/// checked against their sources at placement instead.
pub fn early(kind: &Kind, p: &MProgram, dst: Vreg) -> bool {
    match kind {
        // One word reads everything before it writes four halves or bytes.
        Kind::Convert(_, Format::F16, _) | Kind::Convert(_, _, true) => false,
        Kind::Convert(_, to, _) => p.data(dst).lanes > 1 || !to.is_float(),
        // Each product reads the vector after the lanes before were written.
        Kind::Rows => true,
        Kind::Mad | Kind::SelectZero(_) | Kind::SelectBool => p.data(dst).lanes > 1,
        _ => false,
    }
}

/// Vectors that could live in an internal register: made and used up within one block, with nothing between that loses it.
pub fn candidates(p: &MProgram, places: &crate::place::Placement) -> Vec<Vreg> {
    use retroshade_ir::Scalar;
    let mut out = Vec::new();
    let live = live_in(p);
    let across: BTreeSet<Vreg> = live.into_iter().flatten().collect();
    let mut writes = vec![0u32; p.vregs.len()];
    for op in p.blocks.iter().flat_map(|b| &b.ops) {
        op.writes().for_each(|w| writes[w.0 as usize] += 1);
    }
    let mut last = vec![None; p.vregs.len()];
    for b in &p.blocks {
        // The last read of each register in this block, and the next operation behind which internal registers are lost.
        for (n, op) in b.ops.iter().enumerate() {
            op.reads().for_each(|r| last[r.0 as usize] = Some(n));
        }
        let mut lost = vec![b.ops.len(); b.ops.len() + 1];
        for (n, op) in b.ops.iter().enumerate().rev() {
            lost[n] = if loses(&op.kind) { n } else { lost[n + 1] };
        }
        for (n, op) in b.ops.iter().enumerate() {
            let Some(v) = op.dst else { continue };
            let d = p.data(v);
            let kind = matches!(op.kind, Kind::Float(_) | Kind::Copy | Kind::Select(_) | Kind::Rows);
            if !kind || d.ty != Scalar::F32 || !(3..=4).contains(&d.lanes) || across.contains(&v) || places.at[v.0 as usize].is_none() {
                continue;
            }
            if matches!(places.at[v.0 as usize], Some(r) if r.bank == crate::isa::registers::Bank::O) && op.kind == Kind::Copy {
                continue;
            }
            if writes[v.0 as usize] == 1 && last[v.0 as usize].is_some_and(|l| l > n && lost[n] > l) {
                out.push(v);
            }
        }
        b.ops.iter().flat_map(|o| o.reads()).for_each(|r| last[r.0 as usize] = None);
    }
    out
}

/// Whether internal registers do not survive an operation.
fn loses(kind: &Kind) -> bool {
    matches!(kind, Kind::Sample { .. } | Kind::Load { .. } | Kind::Kill(_) | Kind::Depth | Kind::Branch(..) | Kind::EndPhase | Kind::Keep)
}
