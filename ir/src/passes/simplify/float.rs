//! Float rules. Each keeps the bits: `x + 0` stays (it turns -0 into 0), `x + -0` goes.

use super::Cx;
use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::numerics::{from_f32, to_f32};
use crate::opcode::Opcode;
use crate::passes::rewrite::{Action, splat_float};
use crate::types::Type;

fn neg_of(f: &Function, v: Value) -> Option<Value> {
    f.def_if(v, Opcode::Fneg).map(|d| d.args[0])
}

/// The constant with flipped signs, if `v` is one.
fn negated_const(b: &mut Builder, v: Value) -> Option<Value> {
    let bits = b.func.const_bits(v)?;
    let ty = b.func.ty(v);
    let mut out = [0; 4];
    for n in 0..ty.lanes as usize {
        out[n] = from_f32(ty.scalar, -to_f32(ty.scalar, bits[n]));
    }
    Some(b.constant(ty, out))
}

fn is(f: &Function, v: Value, x: f32) -> bool {
    splat_float(f, v).is_some_and(|c| c.to_bits() == x.to_bits())
}

/// A power of two whose reciprocal is exact and normal in the type.
fn exact_reciprocal(ty: Type, x: f32) -> Option<f32> {
    let bits = x.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32 - 127;
    let limit = if ty.scalar == crate::types::Scalar::F16 { 13 } else { 125 };
    (bits & 0x7f_ffff == 0 && exponent.abs() <= limit).then(|| 1.0 / x)
}

/// One instruction.
pub(super) fn visit(b: &mut Builder, i: Inst, cx: &Cx) -> Action {
    use Opcode::*;
    let d = b.func.insts[i].clone();
    let Some(result) = b.func.result(i) else { return Action::Keep };
    let ty = b.func.ty(result);
    let x = d.args[0];
    match d.op {
        Fneg => {
            if let Some(v) = neg_of(b.func, x) {
                return Action::Replace(v);
            }
            // -(a - b) is not b - a (signs of zero), but -(c × a) is (-c) × a.
            if let Some(m) = b.func.def_if(x, Fmul)
                && !m.precise
                && cx.single_use(x)
            {
                let (p, q) = (m.args[0], m.args[1]);
                if let Some(n) = negated_const(b, q) {
                    return Action::Replace(b.ins(Fmul, &[p, n]));
                }
                if let Some(n) = neg_of(b.func, p) {
                    return Action::Replace(b.ins(Fmul, &[n, q]));
                }
                if let Some(n) = neg_of(b.func, q) {
                    return Action::Replace(b.ins(Fmul, &[p, n]));
                }
            }
        }
        Fabs => {
            if let Some(v) = neg_of(b.func, x) {
                return Action::Replace(b.ins(Fabs, &[v]));
            }
            if b.func.def_if(x, Fabs).is_some() || b.func.def_if(x, Fsaturate).is_some() {
                return Action::Replace(x);
            }
        }
        Fadd => return add(b, &d.args),
        Fsub => {
            let y = d.args[1];
            if is(b.func, y, 0.0) {
                return Action::Replace(x);
            }
            if is(b.func, x, -0.0) {
                return Action::Replace(b.ins(Fneg, &[y]));
            }
            if let Some(v) = neg_of(b.func, y) {
                return Action::Replace(b.ins(Fadd, &[x, v]));
            }
            if let Some(c) = negated_const(b, y) {
                return Action::Replace(b.ins(Fadd, &[x, c]));
            }
            // x - floor(x)
            if b.func.def_if(y, Ffloor).is_some_and(|f| f.args[0] == x) && !d.precise {
                return Action::Replace(b.ins(Ffract, &[x]));
            }
        }
        Fmul => {
            let y = d.args[1];
            if b.func.const_bits(x).is_some() && b.func.const_bits(y).is_none() {
                return Action::Replace(b.ins(Fmul, &[y, x]));
            }
            if is(b.func, y, 1.0) {
                return Action::Replace(x);
            }
            if is(b.func, y, -1.0) {
                return Action::Replace(b.ins(Fneg, &[x]));
            }
            if let (Some(p), Some(q)) = (neg_of(b.func, x), neg_of(b.func, y)) {
                return Action::Replace(b.ins(Fmul, &[p, q]));
            }
            if let Some(p) = neg_of(b.func, x)
                && let Some(c) = negated_const(b, y)
            {
                return Action::Replace(b.ins(Fmul, &[p, c]));
            }
        }
        Fdiv => {
            let y = d.args[1];
            if is(b.func, y, 1.0) {
                return Action::Replace(x);
            }
            if is(b.func, x, 1.0) && !d.precise {
                return Action::Replace(b.ins(Frcp, &[y]));
            }
            if let Some(r) = splat_float(b.func, y).and_then(|c| exact_reciprocal(ty, c)) {
                let r = b.fconst(ty, r);
                return Action::Replace(b.ins(Fmul, &[x, r]));
            }
            if let (Some(p), Some(q)) = (neg_of(b.func, x), neg_of(b.func, y)) {
                return Action::Replace(b.ins(Fdiv, &[p, q]));
            }
        }
        Fma | Fmad => {
            let (y, z) = (d.args[1], d.args[2]);
            if b.func.const_bits(x).is_some() && b.func.const_bits(y).is_none() {
                return Action::Replace(b.ins(d.op, &[y, x, z]));
            }
            if is(b.func, y, 1.0) {
                return Action::Replace(b.ins(Fadd, &[x, z]));
            }
            if is(b.func, y, -1.0) {
                return Action::Replace(b.ins(Fsub, &[z, x]));
            }
            if is(b.func, z, -0.0) && d.op == Fma {
                return Action::Replace(b.ins(Fmul, &[x, y]));
            }
            if let (Some(p), Some(q)) = (neg_of(b.func, x), neg_of(b.func, y)) {
                return Action::Replace(b.ins(d.op, &[p, q, z]));
            }
            if let Some(p) = neg_of(b.func, x)
                && let Some(c) = negated_const(b, y)
            {
                return Action::Replace(b.ins(d.op, &[p, c, z]));
            }
        }
        Fmin | Fmax => {
            let y = d.args[1];
            if x == y {
                return Action::Replace(x);
            }
            if b.func.const_bits(x).is_some() && b.func.const_bits(y).is_none() {
                return Action::Replace(b.ins(d.op, &[y, x]));
            }
            if let (Some(p), Some(q)) = (neg_of(b.func, x), neg_of(b.func, y)) {
                let m = b.ins(if d.op == Fmin { Fmax } else { Fmin }, &[p, q]);
                return Action::Replace(b.ins(Fneg, &[m]));
            }
            if d.op == Fmin && !d.precise && is(b.func, y, 1.0) {
                // min(max(v, 0), 1): a NaN becomes 0 in both forms.
                let inner = b.func.def_if(x, Fmax).map(|m| (m.args[0], m.args[1]));
                if let Some((p, q)) = inner {
                    if is(b.func, q, 0.0) {
                        return Action::Replace(b.ins(Fsaturate, &[p]));
                    }
                    if is(b.func, p, 0.0) {
                        return Action::Replace(b.ins(Fsaturate, &[q]));
                    }
                }
            }
            let saturated = b.func.def_if(x, Fsaturate).is_some();
            let c = splat_float(b.func, y);
            if saturated && (d.op == Fmin && c.is_some_and(|c| c >= 1.0) || d.op == Fmax && c.is_some_and(|c| c.to_bits() == 0 || c < 0.0))
            {
                return Action::Replace(x);
            }
        }
        Fsaturate => {
            if b.func.def_if(x, Fsaturate).is_some() {
                return Action::Replace(x);
            }
            if let Some(m) = b.func.def_if(x, Fmax) {
                let (p, q) = (m.args[0], m.args[1]);
                if splat_float(b.func, q).is_some_and(|c| c <= 0.0) {
                    return Action::Replace(b.ins(Fsaturate, &[p]));
                }
            }
        }
        Ffloor | Fceil | Ftrunc | Fround => {
            if [Ffloor, Fceil, Ftrunc, Fround].iter().any(|op| b.func.def_if(x, *op).is_some()) {
                return Action::Replace(x);
            }
            if let Some(c) = b.func.def_inst(x).map(|i| b.func.insts[i].op)
                && matches!(c, S2f | U2f)
            {
                return Action::Replace(x);
            }
        }
        Frcp => {
            if let Some(m) = b.func.def_if(x, Fsqrt)
                && !d.precise
                && !m.precise
            {
                let v = m.args[0];
                return Action::Replace(b.ins(Frsqrt, &[v]));
            }
        }
        _ => {}
    }
    Action::Keep
}

fn add(b: &mut Builder, args: &[Value]) -> Action {
    let (x, y) = (args[0], args[1]);
    if b.func.const_bits(x).is_some() && b.func.const_bits(y).is_none() {
        return Action::Replace(b.ins(Opcode::Fadd, &[y, x]));
    }
    if is(b.func, y, -0.0) {
        return Action::Replace(x);
    }
    if let Some(v) = neg_of(b.func, y) {
        return Action::Replace(b.ins(Opcode::Fsub, &[x, v]));
    }
    if let Some(v) = neg_of(b.func, x) {
        return Action::Replace(b.ins(Opcode::Fsub, &[y, v]));
    }
    Action::Keep
}
