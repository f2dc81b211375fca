//! Sine and cosine: range reduction for machines whose functions want a bounded argument, and polynomials for those that
//! have none.

use retroshade_ir::{Builder, InstData, Opcode, Type, Value};
use std::f32::consts::TAU;

/// x / 2π brought into [-1/2, 1/2): fract(x × 1/2π + 1/2) - 1/2. The error grows with |x| as 2^-24 × |x|; within
/// [-π, π] it is below 2^-23 turns.
pub fn turns(b: &mut Builder, x: Value) -> Value {
    let ty = b.func.ty(x);
    let (scale, half, minus) = (b.fconst(ty, 1.0 / TAU), b.fconst(ty, 0.5), b.fconst(ty, -0.5));
    let t = b.ins(Opcode::Fmul, &[x, scale]);
    let t = b.ins(Opcode::Fadd, &[t, half]);
    let f = b.ins(Opcode::Ffract, &[t]);
    b.ins(Opcode::Fadd, &[f, minus])
}

/// x brought into [-π, π) by whole turns, for machines whose functions take radians in a bounded range.
pub fn reduced_radians(b: &mut Builder, x: Value) -> Value {
    let t = turns(b, x);
    let ty = b.func.ty(x);
    let tau = b.fconst(ty, TAU);
    b.ins(Opcode::Fmul, &[t, tau])
}

/// Sine by a polynomial: absolute error below 2^-13 within [-π, π] (WGSL asks 2^-11).
pub fn fsin_poly(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let t = turns(b, d.args[0]);
    Some(sin_turns(b, t, ty))
}

/// Cosine by the sine's polynomial a quarter turn on; the same bound.
pub fn fcos_poly(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let (scale, quarter, minus) = (b.fconst(ty, 1.0 / TAU), b.fconst(ty, 0.75), b.fconst(ty, -0.5));
    let t = b.ins(Opcode::Fmul, &[d.args[0], scale]);
    let t = b.ins(Opcode::Fadd, &[t, quarter]);
    let f = b.ins(Opcode::Ffract, &[t]);
    let t = b.ins(Opcode::Fadd, &[f, minus]);
    Some(sin_turns(b, t, ty))
}

/// sin(2πt) for t in [-1/2, 1/2]: folded to [-1/4, 1/4], then an odd polynomial of degree 7.
fn sin_turns(b: &mut Builder, t: Value, ty: Type) -> Value {
    // Fold: u = min(max(t, -1/2 - t), 1/2 - t) has the same sine.
    let (half, minus_half) = (b.fconst(ty, 0.5), b.fconst(ty, -0.5));
    let low = b.ins(Opcode::Fsub, &[minus_half, t]);
    let high = b.ins(Opcode::Fsub, &[half, t]);
    let u = b.ins(Opcode::Fmax, &[t, low]);
    let u = b.ins(Opcode::Fmin, &[u, high]);
    // Taylor coefficients of sin(2πu), the last two adjusted for the interval's ends.
    let s = b.ins(Opcode::Fmul, &[u, u]);
    let c = [-74.6, 81.574, -41.341_68, TAU].map(|x| b.fconst(ty, x));
    let mut p = b.ins(Opcode::Fmul, &[c[0], s]);
    p = b.ins(Opcode::Fadd, &[p, c[1]]);
    for k in &c[2..] {
        p = b.ins(Opcode::Fmul, &[p, s]);
        p = b.ins(Opcode::Fadd, &[p, *k]);
    }
    b.ins(Opcode::Fmul, &[p, u])
}
