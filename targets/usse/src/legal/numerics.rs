//! The machine's arithmetic, shared by the interpreter on legalised IR and by the simulator.
//!
//! Facts: the ISA sheet's sections 5, 8, 10, 11.2 and 12. What the sheet leaves open (denormals, fused or separate rounding
//! of a mad, the last bit of the transcendental functions) is chosen here once: IEEE single, product and sum rounded
//! separately in f32; f16 computes in f32 and rounds once when it is stored.

use retroshade_ir::numerics::{from_f32, reference_unary, to_f32};
use retroshade_ir::{FloatCC, Numerics, Opcode, Scalar};

/// A fraction as the nearest fraction of 255: what a colour of bytes keeps.
pub const UNORM8: &str = "usse.unorm8";

/// USSE's arithmetic.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsseNumerics;

impl Numerics for UsseNumerics {
    fn name(&self) -> &'static str {
        "usse"
    }
    fn unary(&self, op: Opcode, ty: Scalar, a: u32) -> u32 {
        one_nan(ty, reference_unary(op, ty, a))
    }
    fn ternary(&self, op: Opcode, ty: Scalar, a: u32, b: u32, c: u32) -> u32 {
        let x = match (op, ty) {
            (Opcode::Fmad, Scalar::F16) => from_f32(ty, to_f32(ty, a) * to_f32(ty, b) + to_f32(ty, c)),
            _ => retroshade_ir::numerics::reference_ternary(op, ty, a, b, c),
        };
        one_nan(ty, x)
    }
    fn dot(&self, ty: Scalar, a: &[u32], b: &[u32]) -> u32 {
        // The sum is kept in f32 and rounded at the end.
        let sum = a.iter().zip(b).map(|(x, y)| to_f32(ty, *x) * to_f32(ty, *y)).reduce(|s, p| s + p);
        // Adding +0 hides the sign of a zero sum, which a fourth product of 0 × 1 would change.
        one_nan(ty, from_f32(ty, sum.unwrap_or(0.0) + 0.0))
    }
    fn binary(&self, op: Opcode, ty: Scalar, a: u32, b: u32) -> u32 {
        let (x, y) = (to_f32(ty, a), to_f32(ty, b));
        let result = match op {
            // Symmetric, so that operands may be exchanged: the number beats a NaN, -0 is below +0.
            Opcode::Fmin | Opcode::Fmax if x.is_nan() => b,
            Opcode::Fmin | Opcode::Fmax if y.is_nan() => a,
            Opcode::Fmin if x == y => a | b,
            Opcode::Fmax if x == y => a & b,
            Opcode::Fmin => {
                if x < y {
                    a
                } else {
                    b
                }
            }
            Opcode::Fmax => {
                if x > y {
                    a
                } else {
                    b
                }
            }
            _ => retroshade_ir::numerics::reference_binary(op, ty, a, b),
        };
        one_nan(ty, result)
    }
    fn fcmp(&self, cc: FloatCC, ty: Scalar, a: u32, b: u32) -> bool {
        cc.eval(to_f32(ty, a), to_f32(ty, b))
    }
    fn ext(&self, name: &str, args: &[[u32; 4]]) -> Option<[u32; 4]> {
        let lanes = |f: &dyn Fn(u32) -> u32| args.first().map(|a| a.map(f));
        match name {
            // VPCK between f32 and the halves of a register, numeric value.
            "usse.pack16u" | "usse.pack16s" => {
                let (low, high) = (args.first()?, args.get(1)?);
                let (from, to) = if name == "usse.pack16u" { (0.0, 65535.0) } else { (-32768.0, 32767.0) };
                let one = |k: usize| pack_int(f32::from_bits(low[k]), 0.0, 65535.0) | pack_int(f32::from_bits(high[k]), from, to) << 16;
                Some([one(0), 0, 0, 0])
            }
            UNORM8 => lanes(&|a| (pack_norm(f32::from_bits(a), 0.0, 255.0) as f32 / 255.0).to_bits()),
            "usse.u16f" => lanes(&|a| ((a & 0xffff) as f32).to_bits()),
            "usse.u16hf" => lanes(&|a| ((a >> 16) as f32).to_bits()),
            "usse.s16hf" => lanes(&|a| ((a >> 16) as u16 as i16 as f32).to_bits()),
            _ => None,
        }
    }
}

/// A result, NaNs being one: what sign and payload the machine gives them is not known, and negations move between the operations.
fn one_nan(ty: Scalar, x: u32) -> u32 {
    match ty {
        _ if !to_f32(ty, x).is_nan() => x,
        Scalar::F16 => 0x7e00,
        _ => 0x7fc0_0000,
    }
}

/// Plain conversion to an integer: towards zero, saturating; NaN gives 0.
pub fn pack_int(x: f32, low: f32, high: f32) -> u32 {
    if x.is_nan() { 0 } else { libm::truncf(x).clamp(low, high) as i32 as u32 }
}

/// Scaled conversion: clamp to `low`…1, multiply, round to nearest even.
pub fn pack_norm(x: f32, low: f32, scale: f32) -> u32 {
    if x.is_nan() { 0 } else { libm::rintf(x.clamp(low, 1.0) * scale) as i32 as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_makes_one_nan() {
        let (n, nan, inf) = (UsseNumerics, 0xffc1_2345, f32::INFINITY.to_bits());
        for x in [
            n.unary(Opcode::Fneg, Scalar::F32, nan),
            n.unary(Opcode::Ffract, Scalar::F32, inf),
            n.binary(Opcode::Fsub, Scalar::F32, inf, inf),
            n.binary(Opcode::Fmax, Scalar::F32, nan, nan),
            n.ternary(Opcode::Fmad, Scalar::F32, nan, 0, 0),
            n.dot(Scalar::F32, &[nan, 0, 0], &[0, 0, 0]),
        ] {
            assert_eq!(x, 0x7fc0_0000);
        }
        assert_eq!(n.unary(Opcode::Fabs, Scalar::F16, 0xfe01), 0x7e00);
        assert_eq!(n.unary(Opcode::Fneg, Scalar::F32, 0), 0x8000_0000);
    }
}
