//! Integer division. All exact for nonzero divisors; by zero the result is unspecified but never traps.
//!
//! Two ways for unknown divisors: by a float reciprocal and two float corrections (machines with float conversions and a
//! 32-bit product), or by a scaled reciprocal and high products. Constant divisors need one high product.

use retroshade_ir::{Builder, Imm, InstData, IntCC, Opcode, Scalar, Type, Value};

fn constant(b: &Builder, v: Value) -> Option<u32> {
    retroshade_ir::passes::rewrite::splat_bits(b.func, v)
}

fn f32_of(ty: Type) -> Type {
    ty.with_scalar(Scalar::F32)
}

/// Unsigned quotient through floats: three estimates, each from below, then one comparison. Needs `u2f`, `f2u` (towards
/// zero), `frcp` good to 2 ulp, and a 32-bit product.
fn udiv_by_float(b: &mut Builder, x: Value, y: Value) -> Value {
    let ty = b.func.ty(x);
    let ft = f32_of(ty);
    let fy = b.typed(Opcode::U2f, ft, &[y], Imm::None);
    let r = b.ins(Opcode::Frcp, &[fy]);
    // Four units lower: with the rounding of both conversions, the reciprocal and the product, never too large.
    let bits = b.typed(Opcode::Bitcast, ty, &[r], Imm::None);
    let four = b.iconst(ty, 0u32.wrapping_sub(6));
    let bits = b.ins(Opcode::Iadd, &[bits, four]);
    let r = b.typed(Opcode::Bitcast, ft, &[bits], Imm::None);
    let estimate = |b: &mut Builder, rest: Value| {
        let f = b.typed(Opcode::U2f, ft, &[rest], Imm::None);
        let q = b.ins(Opcode::Fmul, &[f, r]);
        b.typed(Opcode::F2u, ty, &[q], Imm::None)
    };
    let q0 = estimate(b, x);
    let p0 = b.ins(Opcode::Imul, &[q0, y]);
    let rest = b.ins(Opcode::Isub, &[x, p0]);
    let q1 = estimate(b, rest);
    let q = b.ins(Opcode::Iadd, &[q0, q1]);
    let p = b.ins(Opcode::Imul, &[q, y]);
    let rest = b.ins(Opcode::Isub, &[x, p]);
    let more = b.icmp(IntCC::Uge, rest, y);
    let one = b.iconst(ty, 1);
    let next = b.ins(Opcode::Iadd, &[q, one]);
    b.select(more, next, q)
}

/// Unsigned quotient by a reciprocal scaled to 2^32, one Newton step in integers and two corrections. Needs `umulhi`.
fn udiv_by_mulhi(b: &mut Builder, x: Value, y: Value) -> Value {
    let ty = b.func.ty(x);
    let ft = f32_of(ty);
    let fy = b.typed(Opcode::U2f, ft, &[y], Imm::None);
    let r = b.ins(Opcode::Frcp, &[fy]);
    // A little under 2^32, so that the estimate stays below the true reciprocal.
    let scale = b.fconst(ft, f32::from_bits(0x4f7f_fffc));
    let z = b.ins(Opcode::Fmul, &[r, scale]);
    let z = b.typed(Opcode::F2u, ty, &[z], Imm::None);
    let n = b.ins(Opcode::Ineg, &[y]);
    let e = b.ins(Opcode::Imul, &[n, z]);
    let e = b.ins(Opcode::Umulhi, &[z, e]);
    let z = b.ins(Opcode::Iadd, &[z, e]);
    let mut q = b.ins(Opcode::Umulhi, &[x, z]);
    let p = b.ins(Opcode::Imul, &[q, y]);
    let mut rest = b.ins(Opcode::Isub, &[x, p]);
    let one = b.iconst(ty, 1);
    for last in [false, true] {
        let more = b.icmp(IntCC::Uge, rest, y);
        let next = b.ins(Opcode::Iadd, &[q, one]);
        q = b.select(more, next, q);
        if !last {
            let less = b.ins(Opcode::Isub, &[rest, y]);
            rest = b.select(more, less, rest);
        }
    }
    q
}

/// Multiplier and shift for a division by `d` (Granlund and Montgomery): quotient = (mulhi(x, m) [+ x, halved]) >> shift.
fn magic(d: u32) -> (u32, u32, bool) {
    let bits = 32 - (d - 1).leading_zeros(); // ceil(log2 d)
    let m = ((1u128 << (32 + bits)) / u128::from(d) + 1) as u64;
    if m < 1 << 32 {
        return (m as u32, bits, false);
    }
    // One bit too many: try a smaller shift first, which is exact if the error stays small enough.
    let low = ((1u128 << (32 + bits)) / u128::from(d)) as u64;
    let high = (((1u128 << (32 + bits)) + (1u128 << bits)) / u128::from(d)) as u64;
    let (mut low, mut high, mut shift) = (low, high, bits);
    while low >> 1 < high >> 1 && shift > 0 {
        low >>= 1;
        high >>= 1;
        shift -= 1;
    }
    if high < 1 << 32 { (high as u32, shift, false) } else { ((m - (1 << 32)) as u32, bits, true) }
}

fn udiv_const(b: &mut Builder, x: Value, d: u32) -> Value {
    let ty = b.func.ty(x);
    let shift_by = |b: &mut Builder, v: Value, n: u32| {
        if n == 0 {
            return v;
        }
        let n = b.iconst(ty, n);
        b.ins(Opcode::Ushr, &[v, n])
    };
    if d.is_power_of_two() {
        return shift_by(b, x, d.trailing_zeros());
    }
    let (m, shift, extra) = magic(d);
    let k = b.iconst(ty, m);
    let hi = b.ins(Opcode::Umulhi, &[x, k]);
    if !extra {
        return shift_by(b, hi, shift);
    }
    // (x - hi) / 2 + hi keeps the carry.
    let rest = b.ins(Opcode::Isub, &[x, hi]);
    let half = shift_by(b, rest, 1);
    let sum = b.ins(Opcode::Iadd, &[half, hi]);
    shift_by(b, sum, shift - 1)
}

type UnsignedDiv = fn(&mut Builder, Value, Value) -> Value;

fn quotient(b: &mut Builder, x: Value, y: Value, div: UnsignedDiv) -> Value {
    match constant(b, y) {
        Some(d) if d.is_power_of_two() => udiv_const(b, x, d),
        _ => div(b, x, y),
    }
}

fn with_mulhi(b: &mut Builder, x: Value, y: Value) -> Value {
    match constant(b, y) {
        Some(d) if d != 0 => udiv_const(b, x, d),
        _ => udiv_by_mulhi(b, x, y),
    }
}

fn signed(b: &mut Builder, x: Value, y: Value, div: UnsignedDiv, remainder: bool) -> Value {
    let ty = b.func.ty(x);
    let ax = b.ins(Opcode::Iabs, &[x]);
    let ay = match constant(b, y) {
        Some(c) => b.iconst(ty, (c as i32).unsigned_abs()),
        None => b.ins(Opcode::Iabs, &[y]),
    };
    let q = quotient(b, ax, ay, div);
    let zero = b.iconst(ty, 0);
    let (v, sign) = if remainder {
        let p = b.ins(Opcode::Imul, &[q, ay]);
        (b.ins(Opcode::Isub, &[ax, p]), x)
    } else {
        (q, b.ins(Opcode::Ixor, &[x, y]))
    };
    let n = b.ins(Opcode::Ineg, &[v]);
    let negative = b.icmp(IntCC::Slt, sign, zero);
    b.select(negative, n, v)
}

fn expand(b: &mut Builder, d: &InstData, div: UnsignedDiv) -> Option<Value> {
    let (x, y) = (d.args[0], d.args[1]);
    Some(match d.op {
        Opcode::Udiv => quotient(b, x, y, div),
        Opcode::Urem => {
            if let Some(c) = constant(b, y).filter(|c| c.is_power_of_two()) {
                let ty = b.func.ty(x);
                let mask = b.iconst(ty, c - 1);
                return Some(b.ins(Opcode::Iand, &[x, mask]));
            }
            let q = quotient(b, x, y, div);
            let p = b.ins(Opcode::Imul, &[q, y]);
            b.ins(Opcode::Isub, &[x, p])
        }
        Opcode::Sdiv => signed(b, x, y, div, false),
        Opcode::Srem => signed(b, x, y, div, true),
        _ => return None,
    })
}

/// Any of the four divisions through float reciprocals.
pub fn by_float(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    expand(b, d, udiv_by_float)
}

/// Any of the four divisions through high products; constant divisors by a multiplication.
pub fn by_mulhi(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    expand(b, d, with_mulhi)
}
