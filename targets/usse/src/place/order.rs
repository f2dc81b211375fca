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
