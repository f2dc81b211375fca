//! Drops clamps, masks, remainders and comparisons that the ranges of integers decide already; divisions by powers of two of
//! numbers that are never negative become shifts and masks. Constant summands of such numbers become offsets of loads.
//!
//! Ranges come from constants, masks, loop bounds and the branches on the way ([`Ranges`]). A clamped index that cannot be
//! beyond its array costs nothing after this.

use super::rewrite::{Action, rewrite, splat_bits};
use crate::analysis::{Range, Ranges};
use crate::builder::Builder;
use crate::entities::{Block, Inst, Value};
use crate::inst::{Imm, InstData, IntCC};
use crate::module::Module;
use crate::opcode::Opcode;
use crate::types::Scalar;

/// Runs over all functions.
pub fn run(module: &mut Module) -> bool {
    let mut changed = false;
    for id in module.functions.keys().collect::<Vec<_>>() {
        let func = &module.functions[id];
        if !func.ordered().any(|(_, i)| is_candidate(func.insts[i].op)) {
            continue;
        }
        let ranges = Ranges::new(module, func);
        changed |= rewrite(&mut module.functions[id], |b, i| {
            let op = b.func.insts[i].op;
            if op == Opcode::Uniform {
                return constant_part(b, &ranges, i);
            }
            if op != Opcode::Icmp && !is_candidate(op) {
                return Action::Keep;
            }
            let d = b.func.insts[i].clone();
            let Some(result) = d.results.first().copied() else { return Action::Keep };
            let block = b.block;
            if op == Opcode::Icmp {
                return compare(b, &ranges, block, &d, result);
            }
            if b.func.ty(result).scalar != Scalar::I32 {
                return Action::Keep;
            }
            let (x, y) = (ranges.range_at(d.args[0], block), ranges.range_at(d.args[1], block));
            arithmetic(b, &d, x, y)
        });
    }
    changed
}

/// The constant summand of a computed index goes into the load's offset where the rest is no negative number: machines that clamp
/// or scale the rest by itself read the same element then.
fn constant_part(b: &mut Builder, ranges: &Ranges, i: Inst) -> Action {
    let d = &b.func.insts[i];
    let (Imm::Mem { var, offset }, Some(index)) = (d.imm.clone(), d.args.first().copied()) else { return Action::Keep };
    let Some(sum) = b.func.def_if(index, Opcode::Iadd) else { return Action::Keep };
    let part = [(0, 1), (1, 0)].into_iter().find_map(|(x, k)| Some((sum.args[x], splat_bits(b.func, sum.args[k])?)));
    let Some((x, k)) = part.filter(|(_, k)| *k <= MAX_CONSTANT) else { return Action::Keep };
    let range = ranges.range_at(x, b.block);
    if !range.is_non_negative() || range.hi > i64::from(MAX_CONSTANT) || offset > MAX_CONSTANT {
        return Action::Keep;
    }
    let d = &mut b.func.insts[i];
    d.args[0] = x;
    d.imm = Imm::Mem { var, offset: offset + k };
    Action::Changed
}

/// Indices and offsets that are looked at: far above every array, and their sums wrap around nowhere.
const MAX_CONSTANT: u32 = 1 << 20;

/// Operations that may turn out to do nothing. Comparisons are looked at only where one of these is about.
fn is_candidate(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Umin | Umax | Smin | Smax | Iand | Udiv | Sdiv | Urem | Srem)
}

fn arithmetic(b: &mut Builder, d: &InstData, x: Range, y: Range) -> Action {
    use Opcode::*;
    let unsigned = x.is_non_negative() && y.is_non_negative();
    let first = Action::Replace(d.args[0]);
    let second = Action::Replace(d.args[1]);
    match d.op {
        Umin | Smin if (unsigned || d.op == Smin) && x.hi <= y.lo => first,
        Umin | Smin if (unsigned || d.op == Smin) && y.hi <= x.lo => second,
        Umax | Smax if (unsigned || d.op == Smax) && x.lo >= y.hi => first,
        Umax | Smax if (unsigned || d.op == Smax) && y.lo >= x.hi => second,
        Iand if x.is_non_negative() => match splat_bits(b.func, d.args[1]) {
            // Of a mask those bits count that the number may have.
            Some(m) => {
                let possible = ((1u64 << (64 - x.hi.leading_zeros())) - 1) as u32;
                if m & possible == possible {
                    return first;
                }
                if m & possible == m {
                    return Action::Keep;
                }
                let m = b.iconst(b.func.ty(d.args[0]), m & possible);
                Action::Replace(b.ins(Iand, &[d.args[0], m]))
            }
            None => Action::Keep,
        },
        Urem | Srem if unsigned && x.hi < y.lo => first,
        Udiv | Sdiv if unsigned && x.hi < y.lo => Action::Replace(b.iconst(b.func.ty(d.args[0]), 0)),
        Sdiv | Srem if unsigned => match splat_bits(b.func, d.args[1]) {
            Some(k) if k.is_power_of_two() => {
                let ty = b.func.ty(d.args[0]);
                let (op, bits) = if d.op == Sdiv { (Ushr, k.trailing_zeros()) } else { (Iand, k - 1) };
                let k = b.iconst(ty, bits);
                Action::Replace(b.ins(op, &[d.args[0], k]))
            }
            _ => Action::Keep,
        },
        _ => Action::Keep,
    }
}

/// A comparison with only one possible outcome.
fn compare(b: &mut Builder, ranges: &Ranges, block: Block, d: &InstData, result: Value) -> Action {
    let Imm::IntCC(cc) = d.imm else { return Action::Keep };
    let ty = b.func.ty(result);
    if b.func.ty(d.args[0]).scalar != Scalar::I32 {
        return Action::Keep;
    }
    let (x, y) = (ranges.range_at(d.args[0], block), ranges.range_at(d.args[1], block));
    match outcome(cc, x, y) {
        Some(known) => Action::Replace(b.splat_const(ty, u32::from(known))),
        None => Action::Keep,
    }
}

/// The outcome, if all pairs of numbers from two ranges have the same.
fn outcome(cc: IntCC, x: Range, y: Range) -> Option<bool> {
    use IntCC::*;
    let decided = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
    if matches!(cc, Ult | Ule | Ugt | Uge) && !(x.is_non_negative() && y.is_non_negative()) {
        return None;
    }
    match cc {
        Eq => decided(x.lo == x.hi && x == y, x.hi < y.lo || y.hi < x.lo),
        Ne => decided(x.hi < y.lo || y.hi < x.lo, x.lo == x.hi && x == y),
        Slt | Ult => decided(x.hi < y.lo, x.lo >= y.hi),
        Sle | Ule => decided(x.hi <= y.lo, x.lo > y.hi),
        Sgt | Ugt => decided(x.lo > y.hi, x.hi <= y.lo),
        Sge | Uge => decided(x.lo >= y.hi, x.hi < y.lo),
    }
}
