//! Integer division. All exact for nonzero divisors; by zero the result is unspecified but never traps.
//!
//! Three ways for unknown divisors: by a float reciprocal and two float corrections (machines with float conversions and a
//! 32-bit product), by a scaled reciprocal and high products, or bit by bit. Constant divisors need one high product.

use retroshade_ir::{Builder, Imm, InstData, IntCC, Opcode, Scalar, Type, Value};

fn constant(b: &Builder, v: Value) -> Option<u32> {
    retroshade_ir::passes::rewrite::splat_bits(b.func, v)
}

fn f32_of(ty: Type) -> Type {
    ty.with_scalar(Scalar::F32)
}

/// A quotient that is right or one too small, and what it leaves of the dividend: less than twice the divisor.
struct Estimate {
    quotient: Value,
    rest: Value,
}

impl Estimate {
    /// The quotient and the rest of a better estimate: `more` is added where the rest still has the divisor in it.
    fn corrected(self, b: &mut Builder, y: Value) -> Estimate {
        let ty = b.func.ty(y);
        let one = b.iconst(ty, 1);
        let more = b.icmp(IntCC::Uge, self.rest, y);
        let next = b.ins(Opcode::Iadd, &[self.quotient, one]);
        Estimate { quotient: b.select(more, next, self.quotient), rest: reduced(b, self.rest, y) }
    }
}

/// A rest below twice the divisor, less the divisor if that is in it: a difference below zero is a huge number.
fn reduced(b: &mut Builder, rest: Value, y: Value) -> Value {
    let less = b.ins(Opcode::Isub, &[rest, y]);
    b.ins(Opcode::Umin, &[rest, less])
}

/// An estimate through floats: two steps, each from below. Needs `u2f`, `f2u` (towards zero), `frcp` good to 2 ulp, and a 32-bit
/// product.
fn by_reciprocal(b: &mut Builder, x: Value, y: Value) -> Estimate {
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
    let p1 = b.ins(Opcode::Imul, &[q1, y]);
    Estimate { quotient: b.ins(Opcode::Iadd, &[q0, q1]), rest: b.ins(Opcode::Isub, &[rest, p1]) }
}

/// An estimate by a reciprocal scaled to 2^32, one Newton step in integers and one correction. Needs `umulhi`.
fn by_high_product(b: &mut Builder, x: Value, y: Value) -> Estimate {
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
    let q = b.ins(Opcode::Umulhi, &[x, z]);
    let p = b.ins(Opcode::Imul, &[q, y]);
    let rest = b.ins(Opcode::Isub, &[x, p]);
    Estimate { quotient: q, rest }.corrected(b, y)
}

/// The quotient bit by bit, for machines without floats: shifts, comparisons and differences only.
fn by_bits(b: &mut Builder, x: Value, y: Value) -> Estimate {
    let ty = b.func.ty(x);
    let one = b.iconst(ty, 1);
    let (mut quotient, mut rest) = (b.iconst(ty, 0), b.iconst(ty, 0));
    for n in (0..32).rev() {
        let place = b.iconst(ty, n);
        let digit = b.ins(Opcode::Ushr, &[x, place]);
        let digit = b.ins(Opcode::Iand, &[digit, one]);
        let doubled = b.ins(Opcode::Ishl, &[rest, one]);
        let next = b.ins(Opcode::Ior, &[doubled, digit]);
        // Where the rest has its top bit, the doubled one has 33 bits, which no divisor has.
        let fits = b.icmp(IntCC::Uge, next, y);
        let zero = b.iconst(ty, 0);
        let long = b.icmp(IntCC::Slt, rest, zero);
        let fits = b.ins(Opcode::Ior, &[fits, long]);
        let less = b.ins(Opcode::Isub, &[next, y]);
        rest = b.select(fits, less, next);
        let bit = b.iconst(ty, 1 << n);
        let with = b.ins(Opcode::Ior, &[quotient, bit]);
        quotient = b.select(fits, with, quotient);
    }
    Estimate { quotient, rest }
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

/// How a machine estimates quotients, and whether constant divisors are a high product.
#[derive(Clone, Copy)]
struct Way {
    estimate: fn(&mut Builder, Value, Value) -> Estimate,
    high_products: bool,
}

const FLOAT: Way = Way { estimate: by_reciprocal, high_products: false };
const MULHI: Way = Way { estimate: by_high_product, high_products: true };
const BITS: Way = Way { estimate: by_bits, high_products: true };

impl Way {
    /// Whether the quotient by a constant needs no estimate.
    fn is_short(self, d: u32) -> bool {
        d.is_power_of_two() || self.high_products && d != 0
    }

    fn quotient(self, b: &mut Builder, x: Value, y: Value) -> Value {
        match constant(b, y).filter(|d| self.is_short(*d)) {
            Some(d) => udiv_const(b, x, d),
            None => (self.estimate)(b, x, y).corrected(b, y).quotient,
        }
    }

    fn remainder(self, b: &mut Builder, x: Value, y: Value) -> Value {
        let ty = b.func.ty(x);
        match constant(b, y).filter(|d| self.is_short(*d)) {
            Some(d) if d.is_power_of_two() => {
                let mask = b.iconst(ty, d - 1);
                b.ins(Opcode::Iand, &[x, mask])
            }
            Some(d) => {
                let q = udiv_const(b, x, d);
                let p = b.ins(Opcode::Imul, &[q, y]);
                b.ins(Opcode::Isub, &[x, p])
            }
            None => {
                let rest = (self.estimate)(b, x, y).rest;
                reduced(b, rest, y)
            }
        }
    }
}

/// Quotient or remainder by ±2^n: what rounds towards zero is added to negative numbers first.
fn signed_power(b: &mut Builder, x: Value, d: i32, remainder: bool) -> Option<Value> {
    let n = d.unsigned_abs().trailing_zeros();
    if !d.unsigned_abs().is_power_of_two() || n == 0 || n == 31 {
        return None;
    }
    let ty = b.func.ty(x);
    let shift = |b: &mut Builder, op: Opcode, v: Value, n: u32| {
        let n = b.iconst(ty, n);
        b.ins(op, &[v, n])
    };
    let sign = shift(b, Opcode::Sshr, x, 31);
    let bias = shift(b, Opcode::Ushr, sign, 32 - n);
    let sum = b.ins(Opcode::Iadd, &[x, bias]);
    if remainder {
        let mask = b.iconst(ty, 0u32.wrapping_sub(1 << n));
        let whole = b.ins(Opcode::Iand, &[sum, mask]);
        return Some(b.ins(Opcode::Isub, &[x, whole]));
    }
    let q = shift(b, Opcode::Sshr, sum, n);
    Some(if d < 0 { b.ins(Opcode::Ineg, &[q]) } else { q })
}

fn signed(b: &mut Builder, x: Value, y: Value, way: Way, remainder: bool) -> Value {
    let ty = b.func.ty(x);
    let known = constant(b, y);
    if let Some(v) = known.and_then(|d| signed_power(b, x, d as i32, remainder)) {
        return v;
    }
    let ax = b.ins(Opcode::Iabs, &[x]);
    let ay = match known {
        Some(c) => b.iconst(ty, (c as i32).unsigned_abs()),
        None => b.ins(Opcode::Iabs, &[y]),
    };
    let zero = b.iconst(ty, 0);
    let (v, sign) = if remainder { (way.remainder(b, ax, ay), x) } else { (way.quotient(b, ax, ay), b.ins(Opcode::Ixor, &[x, y])) };
    let n = b.ins(Opcode::Ineg, &[v]);
    let negative = b.icmp(IntCC::Slt, sign, zero);
    b.select(negative, n, v)
}

fn expand(b: &mut Builder, d: &InstData, way: Way) -> Option<Value> {
    let (x, y) = (d.args[0], d.args[1]);
    Some(match d.op {
        Opcode::Udiv => way.quotient(b, x, y),
        Opcode::Urem => way.remainder(b, x, y),
        Opcode::Sdiv => signed(b, x, y, way, false),
        Opcode::Srem => signed(b, x, y, way, true),
        _ => return None,
    })
}

/// Any of the four divisions through float reciprocals.
pub fn by_float(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    expand(b, d, FLOAT)
}

/// Any of the four divisions through high products; constant divisors by a multiplication.
pub fn by_mulhi(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    expand(b, d, MULHI)
}

/// Any of the four divisions bit by bit; constant divisors by a multiplication.
pub fn bit_by_bit(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    expand(b, d, BITS)
}
