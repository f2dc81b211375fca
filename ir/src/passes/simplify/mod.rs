//! Folding and algebra. Only rewrites that give the same bits on every machine (any NaN equals any NaN), so the pass may
//! run at any time, before and after legalisation.
//!
//! Constants are folded under a given [`Numerics`]. Rewrites that trade a rounding are passes of their own
//! (`relax`, `contract`, `dot`). Algebra stands in the table of `algebra`; here is what needs more than a pattern.

mod undefined;
mod vector;

pub(crate) use vector::{LaneSource, trace};

use super::algebra::{Class, DEPTH, Facts, Table};
use super::rewrite::{Action, fold, make_const, rewrite_chosen, splat_bits};
use super::settled::{Rememberer, Unsettled};
use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::inst::{Imm, IntCC};
use crate::numerics::Numerics;
use crate::opcode::Opcode;
use crate::types::{Scalar, Type};
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::LazyLock;

static EXACT: LazyLock<Table> = LazyLock::new(|| Table::of(&[Class::Exact]));

/// Runs the pass once over the function. `lanes_apart`: vectors become scalars later.
pub fn run(func: &mut Function, numerics: &dyn Numerics, lanes_apart: bool) -> bool {
    func.resolve_aliases();
    let uses = func.use_counts();
    let facts = Facts { numerics, uses: &uses, lanes_apart, beyond: Cell::new(false) };
    let under = (numerics.name(), lanes_apart);
    let mut unsettled = Unsettled::new(func, Rememberer::Simplify, under, &uses, DEPTH, &facts.beyond);
    let changed = rewrite_chosen(func, &mut unsettled, |b, i| visit(b, i, &facts));
    unsettled.remember(func);
    changed
}

fn visit(b: &mut Builder, i: Inst, facts: &Facts) -> Action {
    let d = &b.func.insts[i];
    let [result] = d.results[..] else { return Action::Keep };
    let ty = b.func.ty(result);
    // Most rewrites want an operand that a certain operation made.
    let [mut by_const, mut by_undef, mut by_splat, mut by_select] = [false; 4];
    for made in d.args.iter().filter_map(|v| b.func.def_inst(*v)) {
        match b.func.insts[made].op {
            Opcode::Const => by_const = true,
            Opcode::Undef => by_undef = true,
            Opcode::Splat => by_splat = true,
            Opcode::Select => by_select = true,
            _ => {}
        }
    }
    if (d.args.is_empty() || by_const)
        && let Some(bits) = fold(b.func, facts.numerics, d, ty)
    {
        make_const(b.func, i, bits);
        return Action::Changed;
    }
    b.precise = d.precise;
    let special = by_undef
        .then(|| undefined::visit(b, i, facts))
        .flatten()
        .or_else(|| by_splat.then(|| on_splats(b, i, result)).flatten())
        .or_else(|| by_const.then(|| constants_right(b, i)).flatten())
        .or_else(|| by_select.then(|| over_choice(b, i, facts)).flatten())
        .or_else(|| match b.func.insts[i].op {
            Opcode::Select => select(b, i, facts),
            Opcode::Bitcast | Opcode::Fcvt => conversion(b, i),
            _ => None,
        });
    let action = match special {
        Some(v) => Action::Replace(v),
        None if vector::is_vector(b.func.insts[i].op) => vector::visit(b, i, facts),
        None => EXACT.apply(b, i, facts),
    };
    match action {
        // A rule that finds nothing better than the instruction itself must not loop.
        Action::Replace(v) if v == result => Action::Keep,
        a => a,
    }
}

/// Constants stand on the right of what is commutative or a comparison.
fn constants_right(b: &mut Builder, i: Inst) -> Option<Value> {
    let d = &b.func.insts[i];
    let imm = match d.imm {
        Imm::None if d.op.is_commutative() => Imm::None,
        Imm::FloatCC(cc) => Imm::FloatCC(cc.swapped()),
        Imm::IntCC(cc) => Imm::IntCC(cc.swapped()),
        _ => return None,
    };
    if b.func.const_bits(d.args[0]).is_none() || b.func.const_bits(d.args[1]).is_some() {
        return None;
    }
    let (op, mut args) = (d.op, d.args.clone());
    args.swap(0, 1);
    Some(b.ins_imm(op, &args, imm))
}

/// Operations on choices between constants, all by one condition, are choices between results.
fn over_choice(b: &mut Builder, i: Inst, facts: &Facts) -> Option<Value> {
    let d = &b.func.insts[i];
    let chosen = |v: &Value| b.func.def_if(*v, Opcode::Select).is_some();
    let kind = d.op != Opcode::Select && !matches!(d.op, Opcode::Ddx | Opcode::Ddy) && d.args.len() <= 3;
    if !kind || !d.args.iter().any(chosen) || !is_lanewise(d.op) {
        return None;
    }
    let d = d.clone();
    let ty = b.func.ty(b.func.result(i)?);
    let mut cond = None;
    let mut sides: [SmallVec<[[u32; 4]; 4]>; 2] = Default::default();
    for a in &d.args {
        let pair = match b.func.def_if(*a, Opcode::Select) {
            Some(s) if cond.is_none_or(|c| c == s.args[0]) => {
                cond = Some(s.args[0]);
                [b.func.const_bits(s.args[1])?, b.func.const_bits(s.args[2])?]
            }
            Some(_) => return None,
            None => [b.func.const_bits(*a)?; 2],
        };
        sides.iter_mut().zip(pair).for_each(|(side, bits)| side.push(bits));
    }
    let types: SmallVec<[Type; 4]> = d.args.iter().map(|a| b.func.ty(*a)).collect();
    let result = |side: &[[u32; 4]]| crate::interp::eval(facts.numerics, d.op, &d.imm, ty, &types, side);
    let (x, y) = (result(&sides[0])?, result(&sides[1])?);
    let same = x[..ty.lanes as usize] == y[..ty.lanes as usize];
    let (x, y) = (b.constant(ty, x), b.constant(ty, y));
    if same { Some(x) } else { Some(b.select(cond?, x, y)) }
}

/// Lane-wise operations on splats are computed once.
fn on_splats(b: &mut Builder, i: Inst, result: Value) -> Option<Value> {
    let d = &b.func.insts[i];
    let ty = b.func.ty(result);
    let splat = |v: &Value| b.func.def_if(*v, Opcode::Splat).is_some();
    if !ty.is_vector() || !d.args.iter().any(splat) || !is_lanewise(d.op) {
        return None;
    }
    let mut args = Vec::new();
    for a in d.args.clone() {
        if let Some(s) = b.func.def_if(a, Opcode::Splat) {
            args.push(Ok(s.args[0]));
        } else if let Some(bits) = splat_bits(b.func, a) {
            args.push(Err((b.func.ty(a).lane(), bits)));
        } else if b.func.ty(a).lanes == 1 {
            args.push(Ok(a));
        } else {
            return None;
        }
    }
    let args: Vec<Value> = args
        .into_iter()
        .map(|a| match a {
            Ok(v) => v,
            Err((ty, bits)) => b.splat_const(ty, bits),
        })
        .collect();
    let (op, imm) = (b.func.insts[i].op, b.func.insts[i].imm.clone());
    let one = b.typed(op, ty.lane(), &args, imm);
    Some(b.splat(one, ty.lanes))
}

/// Whether an operation computes each lane from the same lane of its operands (or from a scalar condition).
pub fn is_lanewise(op: Opcode) -> bool {
    use Opcode::*;
    match op.group() {
        "Float" => op != Dot,
        "Integer" => true,
        "Compare and select" => !matches!(op, Any | All),
        "Conversion" => matches!(op, F2s | F2u | S2f | U2f | Fcvt),
        _ => matches!(op, Ddx | Ddy),
    }
}

fn select(b: &mut Builder, i: Inst, facts: &Facts) -> Option<Value> {
    let [c, x, y] = b.func.insts[i].args[..] else { return None };
    if let Some(s) = b.func.def_if(x, Opcode::Select).filter(|s| s.args[0] == c) {
        let inner = s.args[1];
        return Some(b.select(c, inner, y));
    }
    if last_of_tests(b.func, c, y, facts) == Some(x) {
        return Some(y);
    }
    common_operation(b, c, x, y, facts)
}

/// A choice between two operations that differ in one operand only chooses the operand.
fn common_operation(b: &mut Builder, c: Value, x: Value, y: Value, facts: &Facts) -> Option<Value> {
    let of = |v: Value| b.func.def_inst(v).filter(|_| facts.uses[v] <= 1).map(|i| b.func.insts[i].clone());
    let (p, q) = (of(x)?, of(y)?);
    let plain = is_lanewise(p.op) && p.op != Opcode::Select && !matches!(p.op, Opcode::Ddx | Opcode::Ddy);
    if !plain || (p.op, &p.imm, p.precise) != (q.op, &q.imm, q.precise) || p.args.len() != q.args.len() {
        return None;
    }
    let mut others = q.args.clone();
    let differ = |args: &[Value]| (0..args.len()).filter(|n| p.args[*n] != args[*n]).collect::<SmallVec<[usize; 4]>>();
    if p.op.is_commutative() && differ(&others).len() > 1 {
        others.swap(0, 1);
    }
    let [n] = differ(&others)[..] else { return None };
    if b.func.ty(p.args[n]) != b.func.ty(others[n]) {
        return None;
    }
    let mut args = p.args.clone();
    args[n] = b.select(c, p.args[n], others[n]);
    b.precise |= p.precise;
    Some(b.typed(p.op, b.func.ty(x), &args, p.imm.clone()))
}

/// The value and the constant of a test for equality.
pub fn equality(func: &Function, c: Value) -> Option<(Value, u32)> {
    let d = func.def_if(c, Opcode::Icmp).filter(|d| d.imm == Imm::IntCC(IntCC::Eq))?;
    (func.ty(c).lanes == 1).then_some(())?;
    Some((d.args[0], func.const_bits(d.args[1])?[0]))
}

/// What a chain of selects gives where `c` holds, if `c` and all the chain's conditions ask whether one value is this or that
/// constant: where `c` holds none of the others does.
fn last_of_tests(func: &Function, c: Value, mut chain: Value, facts: &Facts) -> Option<Value> {
    const LONGEST: usize = 16;
    let (v, k) = equality(func, c)?;
    facts.beyond.set(true);
    for _ in 0..LONGEST {
        let Some(s) = func.def_if(chain, Opcode::Select) else { break };
        match equality(func, s.args[0]) {
            Some((w, n)) if w == v && n != k => chain = s.args[2],
            _ => break,
        }
    }
    Some(chain)
}

fn conversion(b: &mut Builder, i: Inst) -> Option<Value> {
    let d = &b.func.insts[i];
    let (a, op) = (d.args[0], d.op);
    let ty = b.func.ty(b.func.result(i)?);
    if b.func.ty(a) == ty {
        return Some(a);
    }
    let v = b.func.def_if(a, op)?.args[0];
    let (from, through) = (b.func.ty(v), b.func.ty(a));
    match op {
        Opcode::Bitcast if from == ty => Some(v),
        // Two steps through another type of the same lanes are one.
        Opcode::Bitcast if from.lanes == through.lanes && through.lanes == ty.lanes && from.scalar != Scalar::F16 => {
            Some(b.typed(Opcode::Bitcast, ty, &[v], Imm::None))
        }
        // f16 → f32 → f16 loses nothing.
        Opcode::Fcvt if ty.scalar == Scalar::F16 && from == ty => Some(v),
        _ => None,
    }
}
