//! `Numerics`: how a machine computes. One implementation per target is shared by the interpreter on legalised IR and by
//! the target's simulator, so that both agree bit for bit.
//!
//! Values are raw words: f32 bits, f16 bits in the low half, integers, i1 as 0 or 1. Integer, bit, compare, select and
//! memory operations are the same on all machines after legalisation and are not asked of `Numerics`, except comparisons
//! of floats (flushed denormals, float24).

use crate::half;
use crate::inst::FloatCC;
use crate::opcode::Opcode;
use crate::types::Scalar;

/// A machine's arithmetic. Every method's default is the reference (IEEE, `libm`).
pub trait Numerics: Sync {
    /// A name for messages.
    fn name(&self) -> &'static str {
        "reference"
    }
    /// A one-operand float operation (`fneg` … `fsign`).
    fn unary(&self, op: Opcode, ty: Scalar, a: u32) -> u32 {
        crate::numerics::reference_unary(op, ty, a)
    }
    /// A two-operand float operation (`fadd` … `fpow`).
    fn binary(&self, op: Opcode, ty: Scalar, a: u32, b: u32) -> u32 {
        crate::numerics::reference_binary(op, ty, a, b)
    }
    /// `fma` (fused) and `fmad` (the machine's own rounding of the product).
    fn ternary(&self, op: Opcode, ty: Scalar, a: u32, b: u32, c: u32) -> u32 {
        crate::numerics::reference_ternary(op, ty, a, b, c)
    }
    /// Dot product of two vectors of equal length.
    fn dot(&self, ty: Scalar, a: &[u32], b: &[u32]) -> u32 {
        let mut sum = self.binary(Opcode::Fmul, ty, a[0], b[0]);
        for (x, y) in a.iter().zip(b).skip(1) {
            let p = self.binary(Opcode::Fmul, ty, *x, *y);
            sum = self.binary(Opcode::Fadd, ty, sum, p);
        }
        sum
    }
    /// Float comparison.
    fn fcmp(&self, cc: FloatCC, ty: Scalar, a: u32, b: u32) -> bool {
        cc.eval(to_f32(ty, a), to_f32(ty, b))
    }
    /// Conversions `f2s f2u s2f u2f fcvt`.
    fn convert(&self, op: Opcode, from: Scalar, to: Scalar, a: u32) -> u32 {
        crate::numerics::reference_convert(op, from, to, a)
    }
    /// What a float becomes on its way into the machine: inputs, uniforms, constants, texels (float24 rounds here).
    fn load(&self, ty: Scalar, a: u32) -> u32 {
        let _ = ty;
        a
    }
    /// A machine operation by name, lane by lane of nothing: all operand words in, result words out. `None`: no such one.
    fn ext(&self, name: &str, args: &[[u32; 4]]) -> Option<[u32; 4]> {
        let _ = (name, args);
        None
    }
}

/// The reference arithmetic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

impl Numerics for Reference {}

/// A float word as a host float.
pub fn to_f32(ty: Scalar, a: u32) -> f32 {
    match ty {
        Scalar::F16 => half::to_f32(a as u16),
        _ => f32::from_bits(a),
    }
}

/// A host float as a word of type `ty`, rounded to nearest.
pub fn from_f32(ty: Scalar, a: f32) -> u32 {
    match ty {
        Scalar::F16 => u32::from(half::from_f32(a)),
        _ => a.to_bits(),
    }
}

/// Reference result of a one-operand float operation.
pub fn reference_unary(op: Opcode, ty: Scalar, a: u32) -> u32 {
    let x = to_f32(ty, a);
    let r = match op {
        Opcode::Fneg => return if ty == Scalar::F16 { a ^ 0x8000 } else { a ^ 0x8000_0000 },
        Opcode::Fabs => return if ty == Scalar::F16 { a & 0x7fff } else { a & 0x7fff_ffff },
        Opcode::Ffloor => libm::floorf(x),
        Opcode::Fceil => libm::ceilf(x),
        Opcode::Ftrunc => libm::truncf(x),
        Opcode::Fround => libm::rintf(x),
        Opcode::Ffract => x - libm::floorf(x),
        Opcode::Frcp => 1.0 / x,
        Opcode::Frsqrt => 1.0 / libm::sqrtf(x),
        Opcode::Fsqrt => libm::sqrtf(x),
        Opcode::Fexp2 => libm::exp2f(x),
        Opcode::Flog2 => libm::log2f(x),
        Opcode::Fsin => libm::sinf(x),
        Opcode::Fcos => libm::cosf(x),
        Opcode::Fsaturate => {
            if x >= 1.0 {
                1.0
            } else if x > 0.0 {
                x
            } else {
                0.0
            }
        }
        Opcode::Fsign => {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                0.0
            }
        }
        _ => f32::NAN,
    };
    from_f32(ty, r)
}

/// Reference result of a two-operand float operation.
pub fn reference_binary(op: Opcode, ty: Scalar, a: u32, b: u32) -> u32 {
    let (x, y) = (to_f32(ty, a), to_f32(ty, b));
    let r = match op {
        Opcode::Fadd => x + y,
        Opcode::Fsub => x - y,
        Opcode::Fmul => x * y,
        Opcode::Fdiv => x / y,
        // Zeros are ordered by sign, so that clamping to 0…1 and `fsaturate` are the same function.
        Opcode::Fmin => {
            if y < x || x.is_nan() || x == y && y.is_sign_negative() {
                y
            } else {
                x
            }
        }
        Opcode::Fmax => {
            if y > x || x.is_nan() || x == y && y.is_sign_positive() {
                y
            } else {
                x
            }
        }
        Opcode::Fpow => libm::powf(x, y),
        _ => f32::NAN,
    };
    from_f32(ty, r)
}

/// Reference result of `fma` and `fmad`.
pub fn reference_ternary(op: Opcode, ty: Scalar, a: u32, b: u32, c: u32) -> u32 {
    let (x, y, z) = (to_f32(ty, a), to_f32(ty, b), to_f32(ty, c));
    match (op, ty) {
        (Opcode::Fma, Scalar::F32) => libm::fmaf(x, y, z).to_bits(),
        // Exact in binary64: 11 × 11 bits plus a binary16 addend fit 53 bits but for the far tail, which cannot round twice wrongly.
        (Opcode::Fma, _) => u32::from(half::from_f64(x as f64 * y as f64 + z as f64)),
        _ => {
            let p = from_f32(ty, x * y);
            from_f32(ty, to_f32(ty, p) + z)
        }
    }
}

/// Reference result of a conversion.
pub fn reference_convert(op: Opcode, from: Scalar, to: Scalar, a: u32) -> u32 {
    match op {
        Opcode::F2s => (to_f32(from, a) as i32) as u32,
        Opcode::F2u => to_f32(from, a) as u32,
        Opcode::S2f => from_f32(to, a as i32 as f32),
        Opcode::U2f => from_f32(to, a as f32),
        Opcode::Fcvt => from_f32(to, to_f32(from, a)),
        _ => a,
    }
}
