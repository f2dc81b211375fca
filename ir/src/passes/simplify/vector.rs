//! Rules for building and taking apart vectors.

use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::inst::Imm;
use crate::opcode::Opcode;
use crate::passes::algebra::{DEPTH, Facts};
use crate::passes::rewrite::Action;
use smallvec::SmallVec;
use std::cell::Cell;

/// Where a lane of a vector comes from, as far as that is visible.
pub(crate) enum LaneSource {
    /// A scalar value.
    Scalar(Value),
    /// A constant.
    Const(u32),
    /// A lane of another vector.
    Lane(Value, u8),
}

/// Follows one lane of a vector through vector operations.
pub(crate) fn trace(f: &Function, v: Value, lane: u8) -> LaneSource {
    trace_far(f, v, lane, &Cell::new(false))
}

/// As [`trace`]; tells whether it looked further than the algebra does.
fn trace_far(f: &Function, mut v: Value, mut lane: u8, far: &Cell<bool>) -> LaneSource {
    let mut steps = 0u8;
    loop {
        far.set(far.get() || steps >= DEPTH);
        steps = steps.saturating_add(1);
        let Some(i) = f.def_inst(v) else { return LaneSource::Lane(v, lane) };
        let d = &f.insts[i];
        match (d.op, &d.imm) {
            (Opcode::Const, Imm::Const(bits)) => return LaneSource::Const(bits[lane as usize & 3]),
            (Opcode::Splat, _) => return LaneSource::Scalar(d.args[0]),
            (Opcode::Build, _) => {
                return d.args.get(lane as usize).map_or(LaneSource::Lane(v, lane), |a| LaneSource::Scalar(*a));
            }
            (Opcode::Insert, Imm::Lane(n)) => {
                if *n == lane {
                    return LaneSource::Scalar(d.args[1]);
                }
                v = d.args[0];
            }
            (Opcode::Shuffle, Imm::Lanes(mask)) => {
                let Some(m) = mask.get(lane as usize) else { return LaneSource::Lane(v, lane) };
                let width = f.ty(d.args[0]).lanes;
                (v, lane) = if *m < width { (d.args[0], *m) } else { (d.args[1], *m - width) };
            }
            _ => return LaneSource::Lane(v, lane),
        }
    }
}

/// Whether an operation only arranges lanes.
pub(super) fn is_vector(op: Opcode) -> bool {
    matches!(op, Opcode::Splat | Opcode::Build | Opcode::Extract | Opcode::Insert | Opcode::Shuffle)
}

/// One instruction.
pub(super) fn visit(b: &mut Builder, i: Inst, facts: &Facts) -> Action {
    use Opcode::*;
    let d = &b.func.insts[i];
    // What is made of scalars is the most frequent, and nothing becomes of it.
    if d.op == Build && d.args.first() != d.args.last() && d.args.first().is_some_and(|v| b.func.def_if(*v, Extract).is_none()) {
        return Action::Keep;
    }
    let Some(result) = b.func.result(i) else { return Action::Keep };
    let ty = b.func.ty(result);
    if let (Extract, Imm::Lane(n)) = (d.op, &d.imm) {
        let (from, n) = (d.args[0], *n);
        if b.func.ty(from).lanes == 1 {
            return Action::Replace(from);
        }
        return match trace_far(b.func, from, n, &facts.beyond) {
            LaneSource::Scalar(v) => Action::Replace(v),
            LaneSource::Const(c) => Action::Replace(b.splat_const(ty, c)),
            LaneSource::Lane(v, lane) if (v, lane) != (from, n) => Action::Replace(b.extract(v, lane)),
            LaneSource::Lane(..) => Action::Keep,
        };
    }
    let d = d.clone();
    match (d.op, &d.imm) {
        (Splat, _) if ty.lanes == 1 => Action::Replace(d.args[0]),
        (Build, _) => {
            if d.args.iter().all(|a| *a == d.args[0]) {
                return Action::Replace(b.splat(d.args[0], ty.lanes));
            }
            let lanes: Option<SmallVec<[(Value, u8); 4]>> = d
                .args
                .iter()
                .map(|a| b.func.def_if(*a, Extract).and_then(|e| if let Imm::Lane(n) = e.imm { Some((e.args[0], n)) } else { None }))
                .collect();
            lanes.map_or(Action::Keep, |l| from_lanes(b, &l, result))
        }
        (Insert, Imm::Lane(_)) => {
            // A vector all of whose lanes are visible scalars is built at once.
            let mut lanes: SmallVec<[Value; 4]> = SmallVec::new();
            for n in 0..ty.lanes {
                match trace_far(b.func, result, n, &facts.beyond) {
                    LaneSource::Scalar(v) => lanes.push(v),
                    LaneSource::Const(c) => {
                        let v = b.splat_const(ty.lane(), c);
                        lanes.push(v);
                    }
                    LaneSource::Lane(..) => return Action::Keep,
                }
            }
            Action::Replace(b.build(&lanes))
        }
        (Shuffle, Imm::Lanes(mask)) => {
            let width = b.func.ty(d.args[0]).lanes;
            let identity = |base: u8| mask.len() == width as usize && mask.iter().enumerate().all(|(n, m)| *m == base + n as u8);
            if identity(0) {
                return Action::Replace(d.args[0]);
            }
            if identity(width) && b.func.ty(d.args[1]).lanes == ty.lanes {
                return Action::Replace(d.args[1]);
            }
            let mut lanes: SmallVec<[(Value, u8); 4]> = SmallVec::new();
            let mut scalars: SmallVec<[Value; 4]> = SmallVec::new();
            for n in 0..ty.lanes {
                match trace_far(b.func, result, n, &facts.beyond) {
                    LaneSource::Scalar(v) => scalars.push(v),
                    LaneSource::Const(c) if lanes.is_empty() => {
                        let v = b.splat_const(ty.lane(), c);
                        scalars.push(v);
                    }
                    LaneSource::Const(_) => return Action::Keep,
                    LaneSource::Lane(v, lane) => lanes.push((v, lane)),
                }
            }
            if scalars.len() == ty.lanes as usize {
                return Action::Replace(b.build(&scalars));
            }
            if lanes.len() == ty.lanes as usize {
                let same = lanes
                    .iter()
                    .zip(mask)
                    .all(|((v, l), m)| (*v, *l) == if *m < width { (d.args[0], *m) } else { (d.args[1], *m - width) });
                if !same {
                    return from_lanes(b, &lanes, result);
                }
                // Only the second operand is read.
                if mask.iter().all(|m| *m >= width) {
                    let mask: SmallVec<[u8; 4]> = mask.iter().map(|m| m - width).collect();
                    return Action::Replace(b.shuffle(d.args[1], d.args[1], &mask));
                }
                if mask.iter().all(|m| *m < width) && d.args[1] != d.args[0] {
                    return Action::Replace(b.shuffle(d.args[0], d.args[0], mask));
                }
            }
            Action::Keep
        }
        _ => Action::Keep,
    }
}

/// A vector of lanes of at most two vectors of one type: the vector itself or a shuffle.
fn from_lanes(b: &mut Builder, lanes: &[(Value, u8)], result: Value) -> Action {
    let ty = b.func.ty(result);
    let first = lanes[0].0;
    let second = lanes.iter().map(|l| l.0).find(|v| *v != first).unwrap_or(first);
    if lanes.iter().any(|l| l.0 != first && l.0 != second) || b.func.ty(second) != b.func.ty(first) {
        return Action::Keep;
    }
    let width = b.func.ty(first).lanes;
    if second == first && width == ty.lanes && lanes.iter().enumerate().all(|(n, l)| l.1 == n as u8) {
        return Action::Replace(first);
    }
    let mask: SmallVec<[u8; 4]> = lanes.iter().map(|l| if l.0 == first { l.1 } else { width + l.1 }).collect();
    Action::Replace(b.shuffle(first, second, &mask))
}
