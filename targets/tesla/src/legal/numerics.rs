//! `Numerics` of Tesla: what IR operations compute once the module is legalised, by the functions of `arith.rs`.
//!
//! Operations that the machine lacks do not occur in legalised modules; they keep the reference result, so that folding
//! before legalisation stays right.

use crate::isa::arith::{self, Round};
use crate::isa::forms::Cond;
use retroshade_ir::numerics::{reference_binary, reference_convert, reference_ternary, reference_unary};
use retroshade_ir::{FloatCC, Numerics, Opcode, Scalar};

/// Tesla's arithmetic.
#[derive(Clone, Copy, Debug, Default)]
pub struct TeslaNumerics;

/// The relation of `fset` for an IR comparison.
pub const fn relation(cc: FloatCC) -> Cond {
    match cc {
        FloatCC::Ord => Cond::Ordered,
        FloatCC::Uno => Cond::Unordered,
        FloatCC::Oeq => Cond::Equal,
        FloatCC::One => Cond::NotEqual,
        FloatCC::Olt => Cond::Less,
        FloatCC::Ole => Cond::LessEqual,
        FloatCC::Ogt => Cond::Greater,
        FloatCC::Oge => Cond::GreaterEqual,
        FloatCC::Ueq => Cond::EqualUnordered,
        FloatCC::Une => Cond::NotEqualUnordered,
        FloatCC::Ult => Cond::LessUnordered,
        FloatCC::Ule => Cond::LessEqualUnordered,
        FloatCC::Ugt => Cond::GreaterUnordered,
        FloatCC::Uge => Cond::GreaterEqualUnordered,
    }
}

impl Numerics for TeslaNumerics {
    fn name(&self) -> &'static str {
        "tesla"
    }
    fn unary(&self, op: Opcode, ty: Scalar, a: u32) -> u32 {
        if ty != Scalar::F32 {
            return reference_unary(op, ty, a);
        }
        match op {
            Opcode::Ffloor => arith::cvt_f32(a, Some(Round::Down)),
            Opcode::Fceil => arith::cvt_f32(a, Some(Round::Up)),
            Opcode::Ftrunc => arith::cvt_f32(a, Some(Round::Zero)),
            Opcode::Fround => arith::cvt_f32(a, Some(Round::Nearest)),
            Opcode::Frcp => arith::rcp(a),
            Opcode::Frsqrt => arith::rsqrt(a),
            Opcode::Flog2 => arith::lg2(a),
            _ => reference_unary(op, ty, a),
        }
    }
    fn binary(&self, op: Opcode, ty: Scalar, a: u32, b: u32) -> u32 {
        if ty != Scalar::F32 {
            return reference_binary(op, ty, a, b);
        }
        match op {
            Opcode::Fadd => arith::fadd(a, b, Round::Nearest),
            Opcode::Fsub => arith::fadd(a, b ^ 0x8000_0000, Round::Nearest),
            Opcode::Fmul => arith::fmul(a, b, Round::Nearest),
            Opcode::Fmin => arith::fmin(a, b),
            Opcode::Fmax => arith::fmax(a, b),
            _ => reference_binary(op, ty, a, b),
        }
    }
    fn ternary(&self, op: Opcode, ty: Scalar, a: u32, b: u32, c: u32) -> u32 {
        match (op, ty) {
            (Opcode::Fmad, Scalar::F32) => arith::fmad(a, b, c),
            _ => reference_ternary(op, ty, a, b, c),
        }
    }
    fn fcmp(&self, cc: FloatCC, ty: Scalar, a: u32, b: u32) -> bool {
        match ty {
            Scalar::F32 => arith::fset(relation(cc) as u64, a, b),
            _ => cc.eval(retroshade_ir::numerics::to_f32(ty, a), retroshade_ir::numerics::to_f32(ty, b)),
        }
    }
    fn convert(&self, op: Opcode, from: Scalar, to: Scalar, a: u32) -> u32 {
        match (op, from, to) {
            (Opcode::F2s, Scalar::F32, _) => arith::f32_to_int(a, Round::Zero, 32, true),
            (Opcode::F2u, Scalar::F32, _) => arith::f32_to_int(a, Round::Zero, 32, false),
            (Opcode::S2f, _, Scalar::F32) => arith::int_to_f32(a as i32 as i64, Round::Nearest),
            (Opcode::U2f, _, Scalar::F32) => arith::int_to_f32(a as i64, Round::Nearest),
            (Opcode::Fcvt, Scalar::F32, Scalar::F16) => arith::f32_to_f16(a, Round::Nearest),
            (Opcode::Fcvt, Scalar::F16, Scalar::F32) => arith::f16_to_f32(a),
            (Opcode::Fcvt, Scalar::F32, Scalar::F32) => arith::cvt_f32(a, None),
            _ => reference_convert(op, from, to, a),
        }
    }
    fn ext(&self, name: &str, args: &[[u32; 4]]) -> Option<[u32; 4]> {
        let a = args.first().map_or(0, |w| w[0]);
        let b = args.get(1).map_or(0, |w| w[0]);
        let r = match name {
            "tesla.presin" => arith::presin(a),
            "tesla.preex2" => arith::preex2(a),
            "tesla.sin" => arith::sin(a),
            "tesla.cos" => arith::cos(a),
            "tesla.ex2" => arith::ex2(a),
            "tesla.sat" => arith::fsat(arith::cvt_f32(a, None)),
            "tesla.fmul_rz" => arith::fmul(a, b, Round::Zero),
            "tesla.f2u_rn" => arith::f32_to_int(a, Round::Nearest, 32, false),
            "tesla.f2s_rn" => arith::f32_to_int(a, Round::Nearest, 32, true),
            "tesla.u2f_rz" => arith::int_to_f32(a as i64, Round::Zero),
            "tesla.shl" => a.checked_shl(b).unwrap_or(0),
            "tesla.shr" => a.checked_shr(b).unwrap_or(0),
            "tesla.sar" => ((a as i32) >> b.min(31)) as u32,
            "tesla.mask" => 0u32.wrapping_sub(a & 1),
            "tesla.half_bits" => a & 0xffff,
            "tesla.half_from" => a & 0xffff,
            _ => return None,
        };
        Some([r, 0, 0, 0])
    }
}
