//! float24 arithmetic, shared by the interpreter (as [`Numerics`]) and the simulator.
//!
//! A float24 value travels as the f32 that equals it. Facts: ISA sheet sections 8 and 9; where they leave the rounding
//! open, every operation rounds its exact result to nearest even with 16 mantissa bits, products and partial sums of dot
//! products included, so that `mad` equals `mul` + `add` and `dp3` equals a chain of them.

use retroshade_ir::{FloatCC, Numerics, Opcode, Scalar, numerics as reference};

/// Smallest normal magnitude, 2^-62.
const MIN_NORMAL: f64 = 2.168_404_344_971_009e-19;
/// First magnitude that is infinite, 2^64.
const OVERFLOW: f64 = 18_446_744_073_709_551_616.0;

/// Rounds to float24: nearest even, underflow to +0, overflow to infinity, no negative zero.
pub fn round(x: f64) -> f32 {
    if x.is_nan() {
        return f32::NAN;
    }
    if x.is_infinite() {
        return x as f32;
    }
    // 36 of the 52 mantissa bits go; the carry into the exponent is what rounding up a power of two needs.
    let b = x.to_bits();
    let half = (1u64 << 35) - 1 + (b >> 36 & 1);
    let r = f64::from_bits(b.wrapping_add(half) & !((1u64 << 36) - 1));
    if r.abs() < MIN_NORMAL {
        0.0
    } else if r.abs() >= OVERFLOW {
        f32::INFINITY.copysign(r as f32)
    } else {
        r as f32
    }
}

/// What arithmetic sees of an operand: subnormals count as +0.
fn flush(x: f32) -> f64 {
    if (x as f64).abs() < MIN_NORMAL { 0.0 } else { x as f64 }
}

/// Sum.
pub fn add(a: f32, b: f32) -> f32 {
    round(flush(a) + flush(b))
}

/// Product: zero times infinity is zero.
pub fn mul(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        return f32::NAN;
    }
    let p = flush(a) * flush(b);
    if p.is_nan() { 0.0 } else { round(p) }
}

/// Product, rounded, plus an addend.
pub fn mad(a: f32, b: f32, c: f32) -> f32 {
    add(mul(a, b), c)
}

/// Dot product of the first `n` components, first component first.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut products = a.iter().zip(b).map(|(x, y)| mul(*x, *y));
    let first = products.next().unwrap_or(0.0);
    products.fold(first, add)
}

/// The larger; the second operand if one is NaN.
pub fn max(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The smaller; the second operand if one is NaN.
pub fn min(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// 1 if not less, else 0.
pub fn sge(a: f32, b: f32) -> f32 {
    if a >= b { 1.0 } else { 0.0 }
}

/// 1 if less, else 0.
pub fn slt(a: f32, b: f32) -> f32 {
    if a < b { 1.0 } else { 0.0 }
}

/// Floor.
pub fn floor(a: f32) -> f32 {
    round(libm::floor(flush(a)))
}

/// Reciprocal.
pub fn rcp(a: f32) -> f32 {
    let x = flush(a);
    if x == 0.0 { f32::INFINITY } else { round(1.0 / x) }
}

/// Reciprocal square root.
pub fn rsq(a: f32) -> f32 {
    let x = flush(a);
    if x == 0.0 { f32::INFINITY } else { round(1.0 / libm::sqrt(x)) }
}

/// Power of two.
pub fn ex2(a: f32) -> f32 {
    round(libm::exp2(flush(a)))
}

/// Binary logarithm.
pub fn lg2(a: f32) -> f32 {
    let x = flush(a);
    if x == 0.0 { f32::NEG_INFINITY } else { round(libm::log2(x)) }
}

/// Negation, as an operand's sign does it; the machine knows no negative zero.
pub fn neg(a: f32) -> f32 {
    if a == 0.0 { 0.0 } else { -a }
}

/// Truncation to an address register.
pub fn truncate(a: f32) -> i32 {
    a as i32
}

/// The 24 bits of a value, truncating the mantissa as picasso does.
pub fn to_bits24(x: f32) -> u32 {
    let b = x.to_bits();
    let sign = b >> 31 << 23;
    if x.is_nan() {
        return 0x7f_8000;
    }
    let e = (b >> 23 & 0xff) as i32 - 64;
    if e <= 0 {
        sign
    } else if e >= 127 {
        sign | 0x7f_0000
    } else {
        sign | (e as u32) << 16 | (b & 0x7f_ffff) >> 7
    }
}

/// The value of 24 bits.
pub fn from_bits24(v: u32) -> f32 {
    let (sign, e, m) = (v >> 23 & 1, v >> 16 & 0x7f, v & 0xffff);
    let magnitude = match e {
        0 => m as f32 / 65536.0 * MIN_NORMAL as f32,
        127 if m == 0 => f32::INFINITY,
        127 => f32::NAN,
        _ => f32::from_bits((e + 64) << 23 | m << 7),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// PICA200's arithmetic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Float24;

fn f(a: u32) -> f32 {
    f32::from_bits(a)
}

impl Numerics for Float24 {
    fn name(&self) -> &'static str {
        "float24"
    }
    fn unary(&self, op: Opcode, ty: Scalar, a: u32) -> u32 {
        // The machine has no f16; such values are refused, but constants are folded before.
        if ty == Scalar::F16 {
            return reference::reference_unary(op, ty, a);
        }
        let x = f(a);
        let r = match op {
            Opcode::Fneg => neg(x),
            Opcode::Fabs => return a & 0x7fff_ffff,
            Opcode::Ffloor => floor(x),
            Opcode::Ffract => add(x, neg(floor(x))),
            Opcode::Frcp => rcp(x),
            Opcode::Frsqrt => rsq(x),
            Opcode::Fsqrt => rcp(rsq(x)),
            Opcode::Fexp2 => ex2(x),
            Opcode::Flog2 => lg2(x),
            _ => round(f(reference::reference_unary(op, ty, a)) as f64),
        };
        r.to_bits()
    }
    fn binary(&self, op: Opcode, ty: Scalar, a: u32, b: u32) -> u32 {
        if ty == Scalar::F16 {
            return reference::reference_binary(op, ty, a, b);
        }
        let (x, y) = (f(a), f(b));
        let r = match op {
            Opcode::Fadd => add(x, y),
            Opcode::Fsub => add(x, -y),
            Opcode::Fmul => mul(x, y),
            Opcode::Fdiv => mul(x, rcp(y)),
            Opcode::Fmin => min(x, y),
            Opcode::Fmax => max(x, y),
            _ => round(f(reference::reference_binary(op, ty, a, b)) as f64),
        };
        r.to_bits()
    }
    fn ternary(&self, _: Opcode, _: Scalar, a: u32, b: u32, c: u32) -> u32 {
        mad(f(a), f(b), f(c)).to_bits()
    }
    fn fcmp(&self, cc: FloatCC, _: Scalar, a: u32, b: u32) -> bool {
        cc.eval(f(a), f(b))
    }
    fn convert(&self, op: Opcode, from: Scalar, to: Scalar, a: u32) -> u32 {
        match op {
            Opcode::S2f => round(a as i32 as f64).to_bits(),
            Opcode::U2f => round(a as f64).to_bits(),
            _ => reference::reference_convert(op, from, to, a),
        }
    }
    fn load(&self, ty: Scalar, a: u32) -> u32 {
        if ty == Scalar::F32 { round(f(a) as f64).to_bits() } else { a }
    }
    fn ext(&self, name: &str, args: &[[u32; 4]]) -> Option<[u32; 4]> {
        let op = match name {
            "pica.sge" => sge,
            "pica.slt" => slt,
            _ => return Some(crate::legal::tables::Table::parse(name)?.read(args.first()?[0] as i32)),
        };
        let (a, b) = (args.first()?, args.get(1)?);
        Some(std::array::from_fn(|i| op(f(a[i]), f(b[i])).to_bits()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding() {
        assert_eq!(round(1.0 + 1.0 / 131072.0), 1.0);
        assert_eq!(round(1.0 + 3.0 / 131072.0), 1.0 + 2.0 / 65536.0);
        assert_eq!(round(131073.0), 131072.0);
        assert_eq!(round(-1e-30).to_bits(), 0);
        assert_eq!(round(2e19), f32::INFINITY);
        assert_eq!(to_bits24(1.0), 0x3f_0000);
        assert_eq!(to_bits24(3.0), 0x40_8000);
        assert_eq!(from_bits24(0x7e_ffff) as f64, (2.0 - 1.0 / 65536.0) * 2f64.powi(63));
        for v in [0x3f_0001, 0xbe_8000, 0x01_0000, 0x7f_0000] {
            assert_eq!(to_bits24(from_bits24(v)), v);
        }
    }

    #[test]
    fn special_cases() {
        assert_eq!(mul(0.0, f32::INFINITY), 0.0);
        assert!(mul(0.0, f32::NAN).is_nan());
        assert_eq!(rcp(-0.0), f32::INFINITY);
        assert_eq!(rcp(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(rsq(-0.0), f32::INFINITY);
        assert!(rsq(-1.0).is_nan());
        assert_eq!(max(f32::NAN, 0.0), 0.0);
        assert!(max(0.0, f32::NAN).is_nan());
        assert_eq!(max(0.0, f32::NEG_INFINITY), 0.0);
        let s = from_bits24(0x00_ffff);
        assert_eq!(mul(s, 2.0), 0.0);
        assert_eq!(max(s, 0.0), s);
    }
}
