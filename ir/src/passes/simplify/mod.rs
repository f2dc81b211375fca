//! Folding and algebra. Only rewrites that give the same bits on every machine (any NaN equals any NaN), so the pass may
//! run at any time, before and after legalisation.
//!
//! Constants are folded under a given [`Numerics`]. Rewrites that trade a rounding are passes of their own
//! (`contract`, `dot`, `reassociate`); none of the rules here looks at signs of zero loosely.

mod float;
mod int;
mod vector;

pub(crate) use vector::{LaneSource, trace};

use super::rewrite::{Action, fold, make_const, rewrite};
use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::inst::{Imm, IntCC};
use crate::numerics::Numerics;
use crate::opcode::Opcode;
use crate::types::Scalar;
use cranelift_entity::SecondaryMap;

/// Runs the pass once over the function.
pub fn run(func: &mut Function, numerics: &dyn Numerics) -> bool {
    func.resolve_aliases();
    let cx = Cx { numerics, uses: func.use_counts() };
    rewrite(func, |b, i| visit(b, i, &cx))
}

/// What rules may ask besides the function itself.
struct Cx<'a> {
    numerics: &'a dyn Numerics,
    /// Uses when the pass began; new values have none.
    uses: SecondaryMap<Value, u32>,
}

impl Cx<'_> {
    fn single_use(&self, v: Value) -> bool {
        self.uses[v] <= 1
    }
}

fn visit(b: &mut Builder, i: Inst, cx: &Cx) -> Action {
    let numerics = cx.numerics;
    let d = &b.func.insts[i];
    let [result] = d.results[..] else { return Action::Keep };
    let ty = b.func.ty(result);
    if let Some(bits) = fold(b.func, numerics, d, ty) {
        make_const(b.func, i, bits);
        return Action::Changed;
    }
    b.precise = b.func.insts[i].precise;
    if let Some(v) = common(b, i, result) {
        return Action::Replace(v);
    }
    let group = b.func.insts[i].op.group();
    let action = match group {
        "Float" => float::visit(b, i, cx),
        "Integer" => int::visit(b, i),
        "Compare and select" => compare(b, i, numerics),
        "Conversion" => conversion(b, i),
        "Vector" => vector::visit(b, i),
        _ => Action::Keep,
    };
    match action {
        // A rule that finds nothing better than the instruction itself must not loop.
        Action::Replace(v) if v == result => Action::Keep,
        a => a,
    }
}

/// Rules for any operation: lane-wise operations on splats are computed once.
fn common(b: &mut Builder, i: Inst, result: Value) -> Option<Value> {
    let d = &b.func.insts[i];
    let ty = b.func.ty(result);
    if !ty.is_vector() || d.args.is_empty() || !is_lanewise(d.op) {
        return None;
    }
    let mut args = Vec::new();
    let mut real = false;
    for a in d.args.clone() {
        if let Some(s) = b.func.def_if(a, Opcode::Splat) {
            args.push(Ok(s.args[0]));
            real = true;
        } else if let Some(bits) = super::rewrite::splat_bits(b.func, a) {
            args.push(Err((b.func.ty(a).lane(), bits)));
        } else if b.func.ty(a).lanes == 1 {
            args.push(Ok(a));
        } else {
            return None;
        }
    }
    if !real {
        return None;
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

fn compare(b: &mut Builder, i: Inst, numerics: &dyn Numerics) -> Action {
    use Opcode::*;
    let d = b.func.insts[i].clone();
    let Some(result) = b.func.result(i) else { return Action::Keep };
    match d.op {
        Icmp => {
            let Imm::IntCC(cc) = d.imm else { return Action::Keep };
            int::icmp(b, i, cc)
        }
        Fcmp => {
            // neg(a) ? neg(b) is b ? a.
            let Imm::FloatCC(cc) = d.imm else { return Action::Keep };
            if let (Some(x), Some(y)) = (b.func.def_if(d.args[0], Fneg), b.func.def_if(d.args[1], Fneg)) {
                let (x, y) = (x.args[0], y.args[0]);
                return Action::Replace(b.fcmp(cc.swapped(), x, y));
            }
            // Constants stand on the right.
            if b.func.const_bits(d.args[0]).is_some() {
                return Action::Replace(b.fcmp(cc.swapped(), d.args[1], d.args[0]));
            }
            // neg(a) ? constant is a ? neg(constant), the relation turned round.
            if let Some(x) = b.func.def_if(d.args[0], Fneg)
                && let Some(bits) = b.func.const_bits(d.args[1])
            {
                let x = x.args[0];
                let ty = b.func.ty(x);
                let c = b.constant(ty, bits.map(|w| numerics.unary(Fneg, ty.scalar, w)));
                return Action::Replace(b.fcmp(cc.swapped(), x, c));
            }
            Action::Keep
        }
        Select => select(b, i, result),
        Any | All => {
            let a = d.args[0];
            if b.func.ty(a).lanes == 1 {
                return Action::Replace(a);
            }
            if let Some(s) = b.func.def_if(a, Splat) {
                return Action::Replace(s.args[0]);
            }
            // not any(not x) and its like are left to the targets; De Morgan pays only inside.
            if let Some(n) = b.func.def_if(a, Inot) {
                let inner = n.args[0];
                let v = b.ins(if d.op == Any { All } else { Any }, &[inner]);
                return Action::Replace(b.ins(Inot, &[v]));
            }
            Action::Keep
        }
        _ => Action::Keep,
    }
}

fn select(b: &mut Builder, i: Inst, result: Value) -> Action {
    use Opcode::*;
    let d = b.func.insts[i].clone();
    let [c, x, y] = d.args[..] else { return Action::Keep };
    let ty = b.func.ty(result);
    if x == y {
        return Action::Replace(x);
    }
    if let Some(bits) = super::rewrite::splat_bits(b.func, c) {
        return Action::Replace(if bits & 1 == 1 { x } else { y });
    }
    // A lane-wise condition that is the same in all lanes.
    if let Some(s) = b.func.def_if(c, Splat) {
        let s = s.args[0];
        return Action::Replace(b.select(s, x, y));
    }
    if let Some(n) = b.func.def_if(c, Inot) {
        let n = n.args[0];
        return Action::Replace(b.select(n, y, x));
    }
    if ty.scalar == Scalar::I1 && b.func.ty(c).lanes == ty.lanes {
        let (cx, cy) = (super::rewrite::splat_bits(b.func, x), super::rewrite::splat_bits(b.func, y));
        match (cx, cy) {
            (Some(1), Some(0)) => return Action::Replace(c),
            (Some(0), Some(1)) => return Action::Replace(b.ins(Inot, &[c])),
            (Some(1), None) => return Action::Replace(b.ins(Ior, &[c, y])),
            (None, Some(0)) => return Action::Replace(b.ins(Iand, &[c, x])),
            (Some(0), None) => {
                let n = b.ins(Inot, &[c]);
                return Action::Replace(b.ins(Iand, &[n, y]));
            }
            (None, Some(1)) => {
                let n = b.ins(Inot, &[c]);
                return Action::Replace(b.ins(Ior, &[n, x]));
            }
            _ => {}
        }
    }
    // A select that asks the same question again.
    if let Some(s) = b.func.def_if(x, Select)
        && s.args[0] == c
    {
        let inner = s.args[1];
        return Action::Replace(b.select(c, inner, y));
    }
    if let Some(s) = b.func.def_if(y, Select)
        && s.args[0] == c
    {
        let inner = s.args[2];
        return Action::Replace(b.select(c, x, inner));
    }
    if last_of_tests(b.func, c, y) == Some(x) {
        return Action::Replace(y);
    }
    // Both sides negated: negate once.
    if let (Some(p), Some(q)) = (b.func.def_if(x, Fneg), b.func.def_if(y, Fneg)) {
        let (p, q) = (p.args[0], q.args[0]);
        let s = b.select(c, p, q);
        return Action::Replace(b.ins(Fneg, &[s]));
    }
    Action::Keep
}

/// The value and the constant of a test for equality.
pub fn equality(func: &Function, c: Value) -> Option<(Value, u32)> {
    let d = func.def_if(c, Opcode::Icmp).filter(|d| d.imm == Imm::IntCC(IntCC::Eq))?;
    (func.ty(c).lanes == 1).then_some(())?;
    Some((d.args[0], func.const_bits(d.args[1])?[0]))
}

/// What a chain of selects gives where `c` holds, if `c` and all the chain's conditions ask whether one value is this or that
/// constant: where `c` holds none of the others does.
fn last_of_tests(func: &Function, c: Value, mut chain: Value) -> Option<Value> {
    const LONGEST: usize = 16;
    let (v, k) = equality(func, c)?;
    for _ in 0..LONGEST {
        let Some(s) = func.def_if(chain, Opcode::Select) else { break };
        match equality(func, s.args[0]) {
            Some((w, n)) if w == v && n != k => chain = s.args[2],
            _ => break,
        }
    }
    Some(chain)
}

fn conversion(b: &mut Builder, i: Inst) -> Action {
    use Opcode::*;
    let d = b.func.insts[i].clone();
    let Some(result) = b.func.result(i) else { return Action::Keep };
    let ty = b.func.ty(result);
    let a = d.args[0];
    match d.op {
        Bitcast | Fcvt if b.func.ty(a) == ty => return Action::Replace(a),
        Bitcast => {
            if let Some(inner) = b.func.def_if(a, Bitcast) {
                let v = inner.args[0];
                if b.func.ty(v) == ty {
                    return Action::Replace(v);
                }
                // Two steps through another type of the same lanes are one.
                if b.func.ty(v).lanes == b.func.ty(a).lanes && b.func.ty(a).lanes == ty.lanes && b.func.ty(v).scalar != Scalar::F16 {
                    return Action::Replace(b.typed(Bitcast, ty, &[v], Imm::None));
                }
            }
        }
        // f16 → f32 → f16 loses nothing.
        Fcvt if ty.scalar == Scalar::F16 => {
            if let Some(inner) = b.func.def_if(a, Fcvt)
                && b.func.ty(inner.args[0]) == ty
            {
                return Action::Replace(inner.args[0]);
            }
        }
        _ => {}
    }
    Action::Keep
}
