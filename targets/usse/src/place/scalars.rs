//! Vectors as single registers: where vectors find no places in a row, their lanes may be anywhere.
//!
//! Costs a word for each lane, so it is tried only where nothing else fits. What the machine reads or writes in a row stays
//! together: texels and their coordinates, what is loaded, halves, given places.

use crate::select::mir::{Base, Kind, Lane, MProgram, Mop, Vreg};
use retroshade_ir::Scalar;
use std::collections::BTreeMap;

/// Takes the vectors of a program apart.
pub fn split(p: &MProgram, fixed: &BTreeMap<Vreg, crate::isa::registers::Reg>) -> MProgram {
    let mut out = MProgram { blocks: Vec::new(), vregs: p.vregs.clone() };
    let mut kept: Vec<bool> =
        p.vregs.iter().zip(0..).map(|(d, v)| d.lanes < 2 || d.even || d.ty == Scalar::F16 || fixed.contains_key(&Vreg(v))).collect();
    for op in p.blocks.iter().flat_map(|b| &b.ops).filter(|o| !is_lane_wise(&o.kind)) {
        op.dst.iter().for_each(|d| kept[d.0 as usize] = true);
    }
    let lanes: Vec<Vec<Vreg>> = (0..p.vregs.len())
        .map(|v| match kept[v] {
            true => Vec::new(),
            false => (0..p.vregs[v].lanes).map(|_| out.vreg(p.vregs[v].ty, 1, p.vregs[v].span)).collect(),
        })
        .collect();
    let one = |l: &Lane| match l.base {
        Base::V(v, k) if !kept[v.0 as usize] => Lane { base: Base::V(lanes[v.0 as usize][k as usize], 0), ..*l },
        _ => *l,
    };
    for b in &p.blocks {
        let mut ops = Vec::new();
        for op in &b.ops {
            let src: Vec<Vec<Lane>> = op.src.iter().map(|s| s.iter().map(one).collect()).collect();
            let op = Mop { src, ..op.clone() };
            match (&op.kind, op.dst) {
                (Kind::Parallel(dsts), _) => ops.push(parallel(&op, dsts, &lanes)),
                (_, Some(d)) if !kept[d.0 as usize] => each(&op, &lanes[d.0 as usize], &mut ops),
                _ => ops.push(op),
            }
        }
        out.blocks.push(crate::select::mir::MBlock { ops, succs: b.succs.clone() });
    }
    out
}

/// Operations whose lanes have nothing to do with each other.
fn is_lane_wise(kind: &Kind) -> bool {
    match kind {
        Kind::Convert(_, to, scaled) => to.is_float() && !scaled,
        Kind::Float(_) | Kind::Complex(_) | Kind::Copy | Kind::Bit(_) | Kind::Mad => true,
        Kind::Select(_) | Kind::SelectZero(_) | Kind::SelectBool | Kind::Parallel(_) => true,
        _ => false,
    }
}

/// An operation lane by lane. No lane of the result is read by a later one: results are new registers, or a copy's.
fn each(op: &Mop, to: &[Vreg], out: &mut Vec<Mop>) {
    let reads = |v: &Vreg| op.reads().any(|r| r == *v);
    if op.kind == Kind::Copy && to.iter().any(reads) {
        let src = op.src[0].iter().map(|l| vec![*l]).collect();
        return out.push(Mop { kind: Kind::Parallel(to.to_vec()), dst: None, src, ..op.clone() });
    }
    for (k, v) in to.iter().enumerate() {
        let src = op.src.iter().map(|s| s.get(k).copied().into_iter().collect()).collect();
        out.push(Mop { dst: Some(*v), src, ..op.clone() });
    }
}

fn parallel(op: &Mop, dsts: &[Vreg], lanes: &[Vec<Vreg>]) -> Mop {
    let (mut to, mut src) = (Vec::new(), Vec::new());
    for (d, s) in dsts.iter().zip(&op.src) {
        match &lanes[d.0 as usize][..] {
            [] => {
                to.push(*d);
                src.push(s.clone());
            }
            parts => {
                to.extend(parts);
                src.extend(s.iter().map(|l| vec![*l]));
            }
        }
    }
    Mop { kind: Kind::Parallel(to), src, ..op.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::mir::MBlock;
    use retroshade_ir::Span;

    #[test]
    fn a_copy_of_its_own_lanes_is_made_at_once() {
        let mut p = MProgram::default();
        let [v, other] = [0, 1].map(|_| p.vreg(Scalar::F32, 2, Span::NONE));
        let swapped = |of: Vreg| vec![vec![Lane::new(Base::V(of, 1)), Lane::new(Base::V(of, 0))]];
        let copy = |of| Mop::new(Kind::Copy, Some(v), swapped(of), Span::NONE);
        p.blocks.push(MBlock { ops: vec![copy(v), copy(other)], succs: Vec::new() });
        let out = split(&p, &BTreeMap::new());
        let kinds: Vec<&Kind> = out.blocks[0].ops.iter().map(|o| &o.kind).collect();
        assert!(matches!(kinds[..], [Kind::Parallel(to), Kind::Copy, Kind::Copy] if to.len() == 2), "{kinds:?}");
    }
}
