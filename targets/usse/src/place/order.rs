//! An order of macro-operations in which few registers are alive at once.

use crate::place::live::Registers;
use crate::select::mir::{Kind, MProgram, Mop, Pred};
use retroshade_regalloc::order::{arrange, dependences, for_pressure as order};
use retroshade_regalloc::{Point, ValueSet};

/// Predicates.
const PREDICATES: usize = 4;

/// Brings each block's operations into an order that keeps little alive.
pub fn for_pressure(p: &mut MProgram) {
    let registers = Registers::of(p, true);
    let live = registers.flow.live();
    // Predicates count as values behind all others.
    let values = registers.flow.values;
    for (b, block) in p.blocks.iter_mut().enumerate() {
        let touched = |(point, op): (&Point, &Mop)| {
            let mut point = point.clone();
            let number = |p: u8| values as u32 + u32::from(p);
            point.reads.extend(asked(op).into_iter().flatten().map(|p| number(p.0)));
            if let Kind::Test(_, _, p) | Kind::SetPred(p, _) = op.kind {
                point.writes.push(number(p));
                // Where it does not hold, what was there stays.
                point.reads.extend(op.pred.map(|_| number(p)));
            }
            point
        };
        let points: Vec<Point> = registers.flow.blocks[b].points.iter().zip(&block.ops).map(touched).collect();
        let before = dependences(&points, values + PREDICATES, |n| stays(&block.ops[n].kind));
        let mut behind = ValueSet::with_capacity(values + PREDICATES);
        live.end[b].ones().for_each(|v| behind.insert(v));
        arrange(&mut block.ops, &order(&points, &before, behind));
    }
}

/// The predicates that an operation reads.
fn asked(op: &Mop) -> [Option<Pred>; 2] {
    let own = match op.kind {
        Kind::Select(p) => Some(p),
        Kind::Kill(p) | Kind::Branch(_, p) => p,
        _ => None,
    };
    [op.pred, own]
}

/// Whether nothing may pass an operation.
fn stays(kind: &Kind) -> bool {
    matches!(kind, Kind::Kill(_) | Kind::Depth | Kind::Branch(..) | Kind::EndPhase | Kind::Keep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::mir::{Base, Lane, MBlock, Rel, TestKind, Vreg};
    use retroshade_ir::{Opcode, Scalar, Span};
    use retroshade_lower::testing::Rng;
    use std::collections::{BTreeMap, BTreeSet};

    /// What each operation, told apart by a constant among its sources, sees of registers and predicates, and before what stays where it is.
    fn seen(ops: &[Mop]) -> BTreeMap<u32, (u64, BTreeSet<u32>)> {
        let mix = |a: u64, b: u64| (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (mut registers, mut predicates) = (BTreeMap::new(), [0u64; PREDICATES]);
        let (mut out, mut before) = (BTreeMap::new(), BTreeSet::new());
        for op in ops {
            let tag = op.src.iter().flatten().find_map(|l| if let Base::C(c) = l.base { Some(c) } else { None }).unwrap();
            let mut h = op.reads().fold(u64::from(tag), |h, v| mix(h, registers.get(&v).copied().unwrap_or(0)));
            for (p, holds) in asked(op).into_iter().flatten() {
                h = mix(h, predicates[p as usize] ^ u64::from(holds));
            }
            if let Kind::Test(_, _, p) | Kind::SetPred(p, _) = op.kind {
                let old = predicates[p as usize];
                predicates[p as usize] = if op.pred.is_some() { mix(h, old) } else { h };
            }
            registers.extend(op.dst.map(|d| (d, h)));
            let fence = if matches!(op.kind, Kind::Kill(_)) { before.clone() } else { BTreeSet::new() };
            out.insert(tag, (h, fence));
            before.insert(tag);
        }
        out
    }

    #[test]
    fn every_operation_sees_what_it_saw() {
        let mut moved = 0;
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let mut p = MProgram::default();
            let v: Vec<Vreg> = (0..6).map(|_| p.vreg(Scalar::F32, 1, Span::NONE)).collect();
            let mut ops = Vec::new();
            for tag in 0..24 {
                let (own, other) = (vec![Lane::c(tag)], vec![Lane::new(Base::V(v[rng.below(6)], 0))]);
                let (to, q, holds) = (Some(v[rng.below(6)]), rng.below(2) as u8, rng.chance(50));
                let (kind, dst, src) = match rng.below(8) {
                    0 | 1 => (Kind::Copy, to, vec![own]),
                    2 => (Kind::Float(Opcode::Fadd), to, vec![own, other]),
                    3 | 4 => (Kind::Test(TestKind::Signed, Rel::Ne, q), None, vec![other, own]),
                    5 => (Kind::SetPred(q, holds), None, vec![own]),
                    6 => (Kind::Select((q, holds)), to, vec![own, other]),
                    _ if rng.chance(30) => (Kind::Kill(Some((q, holds))), None, vec![own]),
                    _ => (Kind::Select((1 - q, holds)), to, vec![other, own]),
                };
                let guarded = matches!(kind, Kind::Test(..) | Kind::SetPred(..)) && rng.chance(40);
                ops.push(Mop { pred: guarded.then_some((1 - q, holds)), ..Mop::new(kind, dst, src, Span::NONE) });
            }
            p.blocks.push(MBlock { ops: ops.clone(), succs: Vec::new() });
            for_pressure(&mut p);
            let tags = |ops: &[Mop]| ops.iter().map(|o| format!("{o:?}")).collect::<Vec<_>>();
            moved += usize::from(tags(&ops) != tags(&p.blocks[0].ops));
            assert_eq!(seen(&p.blocks[0].ops), seen(&ops), "seed {seed}");
        }
        assert!(moved > 200, "{moved}");
    }
}
