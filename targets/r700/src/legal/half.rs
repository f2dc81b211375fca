//! f16 by integers and f32: the machine has no half-precision arithmetic and no conversions.
//!
//! A half is its 16 bits in the low end of a word. Operations run in f32 and round once, which for everything but fused
//! products is what f16 arithmetic gives; conversions are shifts and masks. `r700.half` and `r700.half_bits` only change a
//! value's type.

use retroshade_ir::types::{F16, F32, I32};
use retroshade_ir::{Builder, Imm, InstData, Opcode, Scalar, Type, Value};
use retroshade_lower::legal::{Rule, float, pack};

/// The half with these bits.
fn half(b: &mut Builder, bits: Value) -> Value {
    b.typed(Opcode::Ext, F16, &[bits], Imm::Ext("r700.half".into()))
}

/// The bits of a half.
fn bits(b: &mut Builder, half: Value) -> Value {
    b.typed(Opcode::Ext, I32, &[half], Imm::Ext("r700.half_bits".into()))
}

/// Conversions between f16 and f32.
fn convert(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let from = b.func.ty(d.args[0]);
    let lanes: Vec<Value> = (0..ty.lanes)
        .map(|l| {
            let x = b.extract(d.args[0], l);
            if from.scalar == Scalar::F16 {
                let w = bits(b, x);
                return pack::float_of_half(b, w);
            }
            let w = b.typed(Opcode::Bitcast, I32, &[x], Imm::None);
            let h = pack::half_bits(b, w);
            half(b, h)
        })
        .collect();
    (from.scalar != ty.scalar).then(|| b.build(&lanes))
}

/// Two halves as a word and back.
fn bitcast(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let from = b.func.ty(d.args[0]);
    let (to_half, from_half) = (ty.scalar == Scalar::F16, from.scalar == Scalar::F16);
    if to_half == from_half {
        return None;
    }
    let sixteen = b.iconst(I32, 16);
    let mask = b.iconst(I32, 0xffff);
    let mut out = Vec::new();
    if to_half {
        for l in 0..from.lanes {
            let w = b.extract(d.args[0], l);
            let w = if from.scalar == Scalar::F32 { b.typed(Opcode::Bitcast, I32, &[w], Imm::None) } else { w };
            let low = b.ins(Opcode::Iand, &[w, mask]);
            let high = b.ins(Opcode::Ushr, &[w, sixteen]);
            out.extend([half(b, low), half(b, high)]);
        }
    } else {
        for l in (0..from.lanes).step_by(2) {
            let (x, y) = (b.extract(d.args[0], l), b.extract(d.args[0], l + 1));
            let (low, high) = (bits(b, x), bits(b, y));
            let high = b.ins(Opcode::Ishl, &[high, sixteen]);
            let w = b.ins(Opcode::Ior, &[low, high]);
            out.push(if ty.scalar == Scalar::F32 { b.typed(Opcode::Bitcast, F32, &[w], Imm::None) } else { w });
        }
    }
    Some(b.build(&out))
}

/// Integers become f32 first: what f16 can hold is exact there.
fn of_integer(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    if ty.scalar != Scalar::F16 {
        return None;
    }
    let wide = b.typed(d.op, ty.with_scalar(Scalar::F32), &d.args, d.imm.clone());
    Some(b.typed(Opcode::Fcvt, ty, &[wide], Imm::None))
}

/// Everything that touches f16, tried before the rules for f32.
pub const RULES: &[(Opcode, Rule)] = {
    use Opcode::*;
    &[
        (Fcvt, convert),
        (Bitcast, bitcast),
        (S2f, of_integer),
        (U2f, of_integer),
        (F2s, float::f16_by_f32),
        (F2u, float::f16_by_f32),
        (Fcmp, float::f16_by_f32),
        (Fadd, float::f16_by_f32),
        (Fsub, float::f16_by_f32),
        (Fmul, float::f16_by_f32),
        (Fdiv, float::f16_by_f32),
        (Fma, float::f16_by_f32),
        (Fmad, float::f16_by_f32),
        (Fneg, float::f16_by_f32),
        (Fabs, float::f16_by_f32),
        (Fsign, float::f16_by_f32),
        (Fmin, float::f16_by_f32),
        (Fmax, float::f16_by_f32),
        (Fsaturate, float::f16_by_f32),
        (Ffloor, float::f16_by_f32),
        (Fceil, float::f16_by_f32),
        (Ftrunc, float::f16_by_f32),
        (Fround, float::f16_by_f32),
        (Ffract, float::f16_by_f32),
        (Frcp, float::f16_by_f32),
        (Frsqrt, float::f16_by_f32),
        (Fsqrt, float::f16_by_f32),
        (Fexp2, float::f16_by_f32),
        (Flog2, float::f16_by_f32),
        (Fpow, float::f16_by_f32),
        (Fsin, float::f16_by_f32),
        (Fcos, float::f16_by_f32),
        (Dot, float::f16_by_f32),
        (Ddx, float::f16_by_f32),
        (Ddy, float::f16_by_f32),
    ]
};
