//! Builder methods that are named by operations: `b.fmul(x, y)?`. Operands are checked by the verifier's rules, and what is wrong is an
//! error of the call that did it, not of the module much later.

use crate::builder::Builder;
use crate::entities::Value;
use crate::inst::{Imm, InstData};
use crate::opcode::Opcode;
use crate::types::Type;
use std::panic::Location;
use thiserror::Error;

/// Operands that an operation does not take.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{at}: {message}")]
#[non_exhaustive]
pub struct TypeError {
    /// The rule, as the verifier numbers it (V0021).
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// The call.
    pub at: &'static Location<'static>,
}

impl Builder<'_> {
    /// Appends an operation after checking its operands. `ty` is the result's type where it does not follow from the operands.
    #[track_caller]
    fn checked(&mut self, op: Opcode, ty: Option<Type>, args: &[Value]) -> Result<Value, TypeError> {
        let at = Location::caller();
        let wrong = |(code, message)| TypeError { code, message, at };
        if let Some(v) = args.iter().find(|v| !self.func.values.is_valid(**v)) {
            return Err(wrong(("V0010", format!("operand {v} of `{}` is not defined", op.name()))));
        }
        let types: Vec<Type> = args.iter().map(|v| self.func.ty(*v)).collect();
        let inferred = ty.or_else(|| op.infer(&types, 0)).unwrap_or(crate::types::I1);
        crate::verify::operation(self.func, &InstData::new(op, args, Imm::None), inferred).map_err(wrong)?;
        Ok(self.typed(op, inferred, args, Imm::None))
    }
}

macro_rules! named {
    ($($name:ident $op:ident ($($arg:ident),*);)*) => {
        impl Builder<'_> {
            $(
                #[doc = concat!("`", stringify!($name), "`, its operands checked.")]
                #[track_caller]
                pub fn $name(&mut self, $($arg: Value),*) -> Result<Value, TypeError> {
                    self.checked(Opcode::$op, None, &[$($arg),*])
                }
            )*
        }
        #[cfg(test)]
        const NAMED: &[(&str, Opcode)] = &[$((stringify!($name), Opcode::$op)),*];
    };
}

macro_rules! converted {
    ($($name:ident $op:ident;)*) => {
        impl Builder<'_> {
            $(
                #[doc = concat!("`", stringify!($name), "` to a type, its operand checked.")]
                #[track_caller]
                pub fn $name(&mut self, ty: Type, a: Value) -> Result<Value, TypeError> {
                    self.checked(Opcode::$op, Some(ty), &[a])
                }
            )*
        }
        #[cfg(test)]
        const CONVERTED: &[(&str, Opcode)] = &[$((stringify!($name), Opcode::$op)),*];
    };
}

named! {
    fadd Fadd(a, b); fsub Fsub(a, b); fmul Fmul(a, b); fdiv Fdiv(a, b); fma Fma(a, b, c); fmad Fmad(a, b, c);
    fneg Fneg(a); fabs Fabs(a); fmin Fmin(a, b); fmax Fmax(a, b); ffloor Ffloor(a); fceil Fceil(a); ftrunc Ftrunc(a); fround Fround(a);
    ffract Ffract(a); frcp Frcp(a); frsqrt Frsqrt(a); fsqrt Fsqrt(a); fexp2 Fexp2(a); flog2 Flog2(a); fsin Fsin(a); fcos Fcos(a);
    fpow Fpow(a, b); fsaturate Fsaturate(a); fsign Fsign(a); dot Dot(a, b);
    iadd Iadd(a, b); isub Isub(a, b); imul Imul(a, b); umulhi Umulhi(a, b); smulhi Smulhi(a, b); udiv Udiv(a, b); sdiv Sdiv(a, b);
    urem Urem(a, b); srem Srem(a, b); ineg Ineg(a); iabs Iabs(a); and Iand(a, b); or Ior(a, b); xor Ixor(a, b); not Inot(a);
    shl Ishl(a, count); shr Ushr(a, count); sar Sshr(a, count); umin Umin(a, b); umax Umax(a, b); smin Smin(a, b); smax Smax(a, b);
    bitcount Bitcount(a); bitrev Bitrev(a); find_umsb FindUmsb(a); find_smsb FindSmsb(a); find_lsb FindLsb(a);
    ubfe Ubfe(a, offset, count); sbfe Sbfe(a, offset, count); bfi Bfi(base, insert, offset, count);
    any Any(a); all All(a);
}

converted! {
    f2s F2s; f2u F2u; s2f S2f; u2f U2f; fcvt Fcvt; bitcast Bitcast;
    pack_unorm4x8 PackUnorm4x8; pack_snorm4x8 PackSnorm4x8; pack_unorm2x16 PackUnorm2x16; pack_snorm2x16 PackSnorm2x16;
    pack_half2x16 PackHalf2x16; unpack_unorm4x8 UnpackUnorm4x8; unpack_snorm4x8 UnpackSnorm4x8; unpack_unorm2x16 UnpackUnorm2x16;
    unpack_snorm2x16 UnpackSnorm2x16; unpack_half2x16 UnpackHalf2x16;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::{Module, Stage};
    use crate::types::{F32, I32};

    #[test]
    fn every_operation_on_values_has_a_method_of_its_name() {
        for op in Opcode::ALL.iter().filter(|o| matches!(o.group(), "Float" | "Integer" | "Conversion")) {
            let found = NAMED.iter().chain(CONVERTED).find(|(_, o)| o == op);
            assert_eq!(found.map(|f| f.0), Some(op.name()));
        }
    }

    #[test]
    fn wrong_operands_are_errors_at_the_call() {
        let mut m = Module::new("t", Stage::Vertex);
        let block = m.main_mut().add_block();
        let mut b = Builder::new(m.main_mut(), block);
        let (x, y, n) = (b.fconst(F32, 1.0), b.fconst(F32.with_lanes(2), 2.0), b.iconst(I32, 3));
        let sum = b.fadd(x, x).unwrap();
        assert_eq!(b.func.ty(sum), F32);
        let line = line!() + 1;
        let e = b.fmul(x, y).unwrap_err();
        assert_eq!((e.code, e.at.line(), e.message.as_str()), ("V0021", line, "operand 1 of `fmul` is f32x2; it must be f32"));
        assert!(e.at.file().ends_with("operations.rs") && e.to_string().contains(&format!(":{line}:")));
        assert_eq!(b.iadd(x, x).unwrap_err().code, "V0021");
        assert_eq!(b.dot(x, x).unwrap_err().code, "V0021");
        assert_eq!(b.fneg(Value::from_u32(99)).unwrap_err().code, "V0010");
        assert_eq!(b.s2f(F32.with_lanes(2), n).unwrap_err().code, "V0022");
        let converted = b.s2f(F32, n).unwrap();
        assert_eq!(b.func.ty(converted), F32);
        // What was refused has left nothing behind.
        assert_eq!(b.func.inst_count(), 5);
    }
}
