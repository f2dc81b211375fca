//! Built-in functions, written in the IR's operations.
//!
//! Definitions are WGSL's (GLSL's and SPIR-V's agree where naga maps them to the same function), and so are the accuracies aimed at.
//! The polynomials were fitted for this project by the Remez exchange: arc tangent on 0…1 with relative error below 4.4e-6
//! (WGSL allows 4096 ulp, 2.4e-4), arc cosine by its quotient with sqrt(1 - x) with absolute error below 4.8e-6 (WGSL: 6.8e-5).

use crate::convert::{Converter, R};
use crate::expr::Kind;
use crate::value::Val;
use naga::{Expression, Handle, MathFunction as M};
use retroshade_ir::inst::Imm;
use retroshade_ir::types::{F16, F32, I32, Type};
use retroshade_ir::{FloatCC, IntCC, Opcode, Value};
use std::f32::consts::{FRAC_PI_2, LN_2, LOG2_E, PI};

/// atan(t) / t by powers of t².
const ATAN: [f32; 6] = [0.999_995_6, -0.332_994_6, 0.195_635_93, -0.121_239_07, 0.057_477_314, -0.013_480_47];
/// acos(x) / sqrt(1 - x) by powers of x, for 0 ≤ x ≤ 1.
const ACOS: [f32; 5] = [1.570_791_5, -0.214_280_61, 0.085_638_38, -0.037_618_218, 0.009_732_97];

impl Converter<'_> {
    /// A built-in function.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn math(
        &mut self,
        fun: M,
        arg: Handle<Expression>,
        arg1: Option<Handle<Expression>>,
        arg2: Option<Handle<Expression>>,
        arg3: Option<Handle<Expression>>,
    ) -> R<Val> {
        // Functions of matrices first.
        match fun {
            M::Transpose => {
                let m = self.expr(arg)?;
                return Ok(match m {
                    Val::Transposed(inner) => (*inner).clone(),
                    m => Val::Transposed(m.into()),
                });
            }
            M::Determinant => {
                let m = self.expr(arg)?;
                let m = self.grid(&m)?;
                return Ok(Val::Leaf(self.determinant(&m)?));
            }
            M::Inverse => {
                let m = self.expr(arg)?;
                let m = self.grid(&m)?;
                return self.inverse(&m);
            }
            _ => {}
        }
        let kind = self.kind(arg);
        let x = self.expr_leaf(arg)?;
        let mut rest = Vec::new();
        for a in [arg1, arg2, arg3].into_iter().flatten() {
            rest.push(self.expr_leaf(a)?);
        }
        let ty = self.func().ty(x);
        // Operands of the wrong number cannot come out of a validated module.
        let need = match fun {
            M::Clamp | M::Fma | M::Mix | M::SmoothStep | M::FaceForward | M::Refract | M::ExtractBits => 2,
            M::InsertBits => 3,
            M::Min
            | M::Max
            | M::Atan2
            | M::Ldexp
            | M::Pow
            | M::Dot
            | M::Dot4I8Packed
            | M::Dot4U8Packed
            | M::Outer
            | M::Cross
            | M::Distance
            | M::Reflect
            | M::Step => 1,
            _ => 0,
        };
        if rest.len() < need {
            return Err(self.error("F0140", format!("{fun:?} with too few arguments")));
        }
        let v = match fun {
            M::Abs => match kind {
                Kind::Float => self.op1(Opcode::Fabs, x),
                Kind::Signed => self.op1(Opcode::Iabs, x),
                _ => x,
            },
            M::Min => self.op2(by_kind(kind, Opcode::Fmin, Opcode::Smin, Opcode::Umin), x, rest[0]),
            M::Max => self.op2(by_kind(kind, Opcode::Fmax, Opcode::Smax, Opcode::Umax), x, rest[0]),
            M::Clamp => self.clamp(kind, x, rest[0], rest[1]),
            M::Saturate => self.op1(Opcode::Fsaturate, x),
            M::Cos => self.op1(Opcode::Fcos, x),
            M::Sin => self.op1(Opcode::Fsin, x),
            M::Tan => {
                let (s, c) = (self.op1(Opcode::Fsin, x), self.op1(Opcode::Fcos, x));
                self.op2(Opcode::Fdiv, s, c)
            }
            M::Sinh | M::Cosh => {
                let (p, n) = self.exp_pair(x);
                let s = self.op2(if fun == M::Sinh { Opcode::Fsub } else { Opcode::Fadd }, p, n);
                self.times(s, 0.5)
            }
            M::Tanh => {
                // Beyond ±10 the result is ±1 in single precision; clamping keeps the exponentials finite.
                let (lo, hi) = (self.fconst(ty, -10.0), self.fconst(ty, 10.0));
                let x = self.op2(Opcode::Fmax, x, lo);
                let x = self.op2(Opcode::Fmin, x, hi);
                let (p, n) = self.exp_pair(x);
                let (d, s) = (self.op2(Opcode::Fsub, p, n), self.op2(Opcode::Fadd, p, n));
                self.op2(Opcode::Fdiv, d, s)
            }
            M::Acos => self.acos(x),
            M::Asin => {
                let a = self.op1(Opcode::Fabs, x);
                let r = self.acos_positive(a);
                let half = self.fconst(ty, FRAC_PI_2);
                let r = self.op2(Opcode::Fsub, half, r);
                self.sign_of(r, x)
            }
            M::Atan => self.atan(x),
            M::Atan2 => self.atan2(x, rest[0]),
            M::Asinh => {
                let a = self.op1(Opcode::Fabs, x);
                let s = self.op2(Opcode::Fmul, a, a);
                let s = self.plus(s, 1.0);
                let s = self.op1(Opcode::Fsqrt, s);
                let s = self.op2(Opcode::Fadd, a, s);
                let l = self.log(s);
                self.sign_of(l, x)
            }
            M::Acosh => {
                let s = self.op2(Opcode::Fmul, x, x);
                let s = self.plus(s, -1.0);
                let s = self.op1(Opcode::Fsqrt, s);
                let s = self.op2(Opcode::Fadd, x, s);
                self.log(s)
            }
            M::Atanh => {
                let one = self.fconst(ty, 1.0);
                let (p, n) = (self.op2(Opcode::Fadd, one, x), self.op2(Opcode::Fsub, one, x));
                let q = self.op2(Opcode::Fdiv, p, n);
                let l = self.log(q);
                self.times(l, 0.5)
            }
            M::Radians => self.times(x, PI / 180.0),
            M::Degrees => self.times(x, 180.0 / PI),
            M::Ceil => self.op1(Opcode::Fceil, x),
            M::Floor => self.op1(Opcode::Ffloor, x),
            M::Round => self.op1(Opcode::Fround, x),
            M::Fract => self.op1(Opcode::Ffract, x),
            M::Trunc => self.op1(Opcode::Ftrunc, x),
            M::Modf => {
                let whole = self.op1(Opcode::Ftrunc, x);
                let fract = self.op2(Opcode::Fsub, x, whole);
                return Ok(Val::agg(vec![Val::Leaf(fract), Val::Leaf(whole)]));
            }
            M::Frexp => return self.frexp(x),
            M::Ldexp => self.ldexp(x, rest[0])?,
            M::Exp => self.exp(x),
            M::Exp2 => self.op1(Opcode::Fexp2, x),
            M::Log => self.log(x),
            M::Log2 => self.op1(Opcode::Flog2, x),
            M::Pow => self.op2(Opcode::Fpow, x, rest[0]),
            M::Dot if kind == Kind::Float => self.dot(x, rest[0]),
            M::Dot => {
                let p = self.op2(Opcode::Imul, x, rest[0]);
                self.sum(p)
            }
            M::Dot4I8Packed => self.dot_packed(Opcode::Sbfe, x, rest[0]),
            M::Dot4U8Packed => self.dot_packed(Opcode::Ubfe, x, rest[0]),
            M::Outer => {
                let mut columns = Vec::new();
                for lane in self.lanes(rest[0]) {
                    let s = self.splat(lane, ty.lanes);
                    columns.push(self.op2(Opcode::Fmul, x, s));
                }
                return Ok(Self::matrix(columns));
            }
            M::Cross => {
                let y = rest[0];
                let (a, b) = (self.swizzle(x, &[1, 2, 0]), self.swizzle(y, &[2, 0, 1]));
                let (c, d) = (self.swizzle(x, &[2, 0, 1]), self.swizzle(y, &[1, 2, 0]));
                let (p, q) = (self.op2(Opcode::Fmul, a, b), self.op2(Opcode::Fmul, c, d));
                self.op2(Opcode::Fsub, p, q)
            }
            M::Distance => {
                let d = self.op2(Opcode::Fsub, x, rest[0]);
                self.length(d)
            }
            M::Length => self.length(x),
            M::Normalize => {
                let d = self.dot(x, x);
                let r = self.op1(Opcode::Frsqrt, d);
                let r = self.splat(r, ty.lanes);
                self.op2(Opcode::Fmul, x, r)
            }
            M::FaceForward => {
                // faceForward(n, i, reference): n where dot(i, reference) < 0.
                let d = self.dot(rest[0], rest[1]);
                let zero = self.fconst(ty.lane(), 0.0);
                let c = self.b().fcmp(FloatCC::Olt, d, zero);
                let n = self.op1(Opcode::Fneg, x);
                self.b().select(c, x, n)
            }
            M::Reflect => {
                let d = self.dot(rest[0], x);
                let d = self.times(d, 2.0);
                let d = self.splat(d, ty.lanes);
                let p = self.op2(Opcode::Fmul, d, rest[0]);
                self.op2(Opcode::Fsub, x, p)
            }
            M::Refract => self.refract(x, rest[0], rest[1]),
            M::Sign if kind == Kind::Float => self.op1(Opcode::Fsign, x),
            M::Sign => {
                let (one, minus) = (self.splat_const(ty, 1), self.splat_const(ty, u32::MAX));
                let v = self.op2(Opcode::Smin, x, one);
                self.op2(Opcode::Smax, v, minus)
            }
            M::Fma => self.b().ins(Opcode::Fma, &[x, rest[0], rest[1]]),
            M::Mix => self.mix(x, rest[0], rest[1]),
            M::Step => {
                let y = rest[0];
                let c = self.b().fcmp(FloatCC::Oge, y, x);
                let (one, zero) = (self.fconst(ty, 1.0), self.fconst(ty, 0.0));
                self.b().select(c, one, zero)
            }
            M::SmoothStep => {
                let (low, high, at) = (x, rest[0], rest[1]);
                let n = self.op2(Opcode::Fsub, at, low);
                let d = self.op2(Opcode::Fsub, high, low);
                let t = self.op2(Opcode::Fdiv, n, d);
                let t = self.op1(Opcode::Fsaturate, t);
                let (two, three) = (self.fconst(ty, 2.0), self.fconst(ty, 3.0));
                let p = self.op2(Opcode::Fmul, two, t);
                let p = self.op2(Opcode::Fsub, three, p);
                let s = self.op2(Opcode::Fmul, t, t);
                self.op2(Opcode::Fmul, s, p)
            }
            M::Sqrt => self.op1(Opcode::Fsqrt, x),
            M::InverseSqrt => self.op1(Opcode::Frsqrt, x),
            M::QuantizeToF16 => {
                let small = self.b().typed(Opcode::Fcvt, F16.with_lanes(ty.lanes), &[x], Imm::None);
                self.b().typed(Opcode::Fcvt, ty, &[small], Imm::None)
            }
            M::CountTrailingZeros => {
                // find_lsb gives -1 for 0, which is above 32 as an unsigned number.
                let n = self.op1(Opcode::FindLsb, x);
                let k = self.splat_const(ty, 32);
                self.op2(Opcode::Umin, n, k)
            }
            M::CountLeadingZeros => {
                let n = self.op1(Opcode::FindUmsb, x);
                let k = self.splat_const(ty, 31);
                self.op2(Opcode::Isub, k, n)
            }
            M::CountOneBits => self.op1(Opcode::Bitcount, x),
            M::ReverseBits => self.op1(Opcode::Bitrev, x),
            M::ExtractBits => {
                let (o, n) = (self.splat(rest[0], ty.lanes), self.splat(rest[1], ty.lanes));
                self.b().ins(if kind == Kind::Signed { Opcode::Sbfe } else { Opcode::Ubfe }, &[x, o, n])
            }
            M::InsertBits => {
                let (o, n) = (self.splat(rest[1], ty.lanes), self.splat(rest[2], ty.lanes));
                self.b().ins(Opcode::Bfi, &[x, rest[0], o, n])
            }
            M::FirstTrailingBit => self.op1(Opcode::FindLsb, x),
            M::FirstLeadingBit => self.op1(if kind == Kind::Signed { Opcode::FindSmsb } else { Opcode::FindUmsb }, x),
            M::Pack4x8snorm => self.convert(Opcode::PackSnorm4x8, I32, x),
            M::Pack4x8unorm => self.convert(Opcode::PackUnorm4x8, I32, x),
            M::Pack2x16snorm => self.convert(Opcode::PackSnorm2x16, I32, x),
            M::Pack2x16unorm => self.convert(Opcode::PackUnorm2x16, I32, x),
            M::Pack2x16float => self.convert(Opcode::PackHalf2x16, I32, x),
            M::Unpack4x8snorm => self.convert(Opcode::UnpackSnorm4x8, F32.with_lanes(4), x),
            M::Unpack4x8unorm => self.convert(Opcode::UnpackUnorm4x8, F32.with_lanes(4), x),
            M::Unpack2x16snorm => self.convert(Opcode::UnpackSnorm2x16, F32.with_lanes(2), x),
            M::Unpack2x16unorm => self.convert(Opcode::UnpackUnorm2x16, F32.with_lanes(2), x),
            M::Unpack2x16float => self.convert(Opcode::UnpackHalf2x16, F32.with_lanes(2), x),
            M::Pack4xI8 | M::Pack4xU8 => self.pack_bytes(x),
            M::Pack4xI8Clamp | M::Pack4xU8Clamp => {
                let signed = fun == M::Pack4xI8Clamp;
                let (lo, hi) = if signed { (-128i32 as u32, 127) } else { (0, 255) };
                let (lo, hi) = (self.splat_const(ty, lo), self.splat_const(ty, hi));
                let (max, min) = if signed { (Opcode::Smax, Opcode::Smin) } else { (Opcode::Umax, Opcode::Umin) };
                let v = self.op2(max, x, lo);
                let v = self.op2(min, v, hi);
                self.pack_bytes(v)
            }
            M::Unpack4xI8 | M::Unpack4xU8 => {
                let op = if fun == M::Unpack4xI8 { Opcode::Sbfe } else { Opcode::Ubfe };
                let lanes: Vec<Value> = (0..4).map(|n| self.byte(op, x, n)).collect();
                self.vector(&lanes)
            }
            M::Transpose | M::Determinant | M::Inverse => return Err(self.error("F0140", "a function of matrices on something else")),
        };
        Ok(Val::Leaf(v))
    }

    fn op1(&mut self, op: Opcode, x: Value) -> Value {
        self.b().ins(op, &[x])
    }

    pub(crate) fn op2(&mut self, op: Opcode, x: Value, y: Value) -> Value {
        self.b().ins(op, &[x, y])
    }

    fn convert(&mut self, op: Opcode, to: Type, x: Value) -> Value {
        self.b().typed(op, to, &[x], Imm::None)
    }

    pub(crate) fn times(&mut self, x: Value, k: f32) -> Value {
        let ty = self.func().ty(x);
        let k = self.fconst(ty, k);
        self.op2(Opcode::Fmul, x, k)
    }

    fn plus(&mut self, x: Value, k: f32) -> Value {
        let ty = self.func().ty(x);
        let k = self.fconst(ty, k);
        self.op2(Opcode::Fadd, x, k)
    }

    fn clamp(&mut self, kind: Kind, x: Value, low: Value, high: Value) -> Value {
        if kind == Kind::Float && self.is_const(low, 0) {
            let ty = self.func().ty(high);
            let one = retroshade_ir::numerics::from_f32(ty.scalar, 1.0);
            if self.is_const(high, one) {
                return self.op1(Opcode::Fsaturate, x);
            }
        }
        let v = self.op2(by_kind(kind, Opcode::Fmax, Opcode::Smax, Opcode::Umax), x, low);
        self.op2(by_kind(kind, Opcode::Fmin, Opcode::Smin, Opcode::Umin), v, high)
    }

    fn exp(&mut self, x: Value) -> Value {
        let y = self.times(x, LOG2_E);
        self.op1(Opcode::Fexp2, y)
    }

    fn log(&mut self, x: Value) -> Value {
        let y = self.op1(Opcode::Flog2, x);
        self.times(y, LN_2)
    }

    /// exp(x) and exp(-x).
    fn exp_pair(&mut self, x: Value) -> (Value, Value) {
        let y = self.times(x, LOG2_E);
        let n = self.op1(Opcode::Fneg, y);
        (self.op1(Opcode::Fexp2, y), self.op1(Opcode::Fexp2, n))
    }

    pub(crate) fn dot(&mut self, x: Value, y: Value) -> Value {
        if self.func().ty(x).is_vector() { self.op2(Opcode::Dot, x, y) } else { self.op2(Opcode::Fmul, x, y) }
    }

    fn length(&mut self, x: Value) -> Value {
        if !self.func().ty(x).is_vector() {
            return self.op1(Opcode::Fabs, x);
        }
        let d = self.op2(Opcode::Dot, x, x);
        self.op1(Opcode::Fsqrt, d)
    }

    /// a × (1 - t) + b × t, which is exact at both ends.
    fn mix(&mut self, a: Value, b: Value, t: Value) -> Value {
        let lanes = self.func().ty(a).lanes;
        let t_ty = self.func().ty(t);
        let one = self.fconst(t_ty, 1.0);
        let s = self.op2(Opcode::Fsub, one, t);
        let (s, t) = (self.splat(s, lanes), self.splat(t, lanes));
        let (p, q) = (self.op2(Opcode::Fmul, a, s), self.op2(Opcode::Fmul, b, t));
        self.op2(Opcode::Fadd, p, q)
    }

    /// Sum of integer lanes.
    fn sum(&mut self, v: Value) -> Value {
        let lanes = self.lanes(v);
        let mut sum = lanes[0];
        for l in &lanes[1..] {
            sum = self.op2(Opcode::Iadd, sum, *l);
        }
        sum
    }

    fn byte(&mut self, op: Opcode, x: Value, n: u32) -> Value {
        let (at, count) = (self.iconst(8 * n), self.iconst(8));
        self.b().ins(op, &[x, at, count])
    }

    fn dot_packed(&mut self, op: Opcode, x: Value, y: Value) -> Value {
        let mut sum = None;
        for n in 0..4 {
            let (a, b) = (self.byte(op, x, n), self.byte(op, y, n));
            let p = self.op2(Opcode::Imul, a, b);
            sum = Some(match sum {
                None => p,
                Some(s) => self.op2(Opcode::Iadd, s, p),
            });
        }
        sum.unwrap_or(x)
    }

    /// Four lanes' low bytes in a word, the first lowest.
    fn pack_bytes(&mut self, v: Value) -> Value {
        let lanes = self.lanes(v);
        let mut word = lanes[0];
        for (n, l) in lanes.iter().enumerate() {
            let (at, count) = (self.iconst(8 * n as u32), self.iconst(8));
            word = if n == 0 {
                let mask = self.iconst(0xff);
                self.op2(Opcode::Iand, *l, mask)
            } else {
                self.b().ins(Opcode::Bfi, &[word, *l, at, count])
            };
        }
        word
    }

    /// A polynomial by Horner's rule, lowest coefficient first.
    fn polynomial(&mut self, x: Value, c: &[f32]) -> Value {
        let ty = self.func().ty(x);
        let mut p = self.fconst(ty, c[c.len() - 1]);
        for k in c[..c.len() - 1].iter().rev() {
            let m = self.op2(Opcode::Fmul, p, x);
            p = self.plus(m, *k);
        }
        p
    }

    fn acos_positive(&mut self, a: Value) -> Value {
        let ty = self.func().ty(a);
        let one = self.fconst(ty, 1.0);
        let r = self.op2(Opcode::Fsub, one, a);
        let r = self.op1(Opcode::Fsqrt, r);
        let p = self.polynomial(a, &ACOS);
        self.op2(Opcode::Fmul, r, p)
    }

    fn acos(&mut self, x: Value) -> Value {
        let ty = self.func().ty(x);
        let a = self.op1(Opcode::Fabs, x);
        let r = self.acos_positive(a);
        let (pi, zero) = (self.fconst(ty, PI), self.fconst(ty, 0.0));
        let other = self.op2(Opcode::Fsub, pi, r);
        let c = self.b().fcmp(FloatCC::Olt, x, zero);
        self.b().select(c, other, r)
    }

    /// `r` (≥ 0) with the sign of `x`.
    fn sign_of(&mut self, r: Value, x: Value) -> Value {
        let ty = self.func().ty(x);
        let zero = self.fconst(ty, 0.0);
        let c = self.b().fcmp(FloatCC::Olt, x, zero);
        let n = self.op1(Opcode::Fneg, r);
        self.b().select(c, n, r)
    }

    /// The arc tangent of t for 0 ≤ t ≤ 1.
    fn atan_unit(&mut self, t: Value) -> Value {
        let s = self.op2(Opcode::Fmul, t, t);
        let p = self.polynomial(s, &ATAN);
        self.op2(Opcode::Fmul, p, t)
    }

    fn atan(&mut self, x: Value) -> Value {
        let ty = self.func().ty(x);
        let (one, half) = (self.fconst(ty, 1.0), self.fconst(ty, FRAC_PI_2));
        let a = self.op1(Opcode::Fabs, x);
        let big = self.b().fcmp(FloatCC::Ogt, a, one);
        let inv = self.op1(Opcode::Frcp, a);
        let t = self.b().select(big, inv, a);
        let r = self.atan_unit(t);
        let other = self.op2(Opcode::Fsub, half, r);
        let r = self.b().select(big, other, r);
        self.sign_of(r, x)
    }

    fn atan2(&mut self, y: Value, x: Value) -> Value {
        let ty = self.func().ty(x);
        let (ax, ay) = (self.op1(Opcode::Fabs, x), self.op1(Opcode::Fabs, y));
        let steep = self.b().fcmp(FloatCC::Ogt, ay, ax);
        let (low, high) = (self.op2(Opcode::Fmin, ax, ay), self.op2(Opcode::Fmax, ax, ay));
        let t = self.op2(Opcode::Fdiv, low, high);
        let r = self.atan_unit(t);
        let half = self.fconst(ty, FRAC_PI_2);
        let other = self.op2(Opcode::Fsub, half, r);
        let r = self.b().select(steep, other, r);
        let (pi, zero) = (self.fconst(ty, PI), self.fconst(ty, 0.0));
        let left = self.b().fcmp(FloatCC::Olt, x, zero);
        let other = self.op2(Opcode::Fsub, pi, r);
        let r = self.b().select(left, other, r);
        // Both zero: the quotient is no number, the result zero.
        let none = self.b().fcmp(FloatCC::Oeq, high, zero);
        let r = self.b().select(none, zero, r);
        self.sign_of(r, y)
    }

    fn refract(&mut self, i: Value, n: Value, eta: Value) -> Value {
        let ty = self.func().ty(i);
        let (one, zero) = (self.fconst(ty.lane(), 1.0), self.fconst(ty.lane(), 0.0));
        let d = self.dot(n, i);
        let dd = self.op2(Opcode::Fmul, d, d);
        let s = self.op2(Opcode::Fsub, one, dd);
        let e2 = self.op2(Opcode::Fmul, eta, eta);
        let s = self.op2(Opcode::Fmul, e2, s);
        let k = self.op2(Opcode::Fsub, one, s);
        let ed = self.op2(Opcode::Fmul, eta, d);
        let root = self.op1(Opcode::Fsqrt, k);
        let f = self.op2(Opcode::Fadd, ed, root);
        let (eta, f) = (self.splat(eta, ty.lanes), self.splat(f, ty.lanes));
        let (a, b) = (self.op2(Opcode::Fmul, eta, i), self.op2(Opcode::Fmul, f, n));
        let r = self.op2(Opcode::Fsub, a, b);
        let c = self.b().fcmp(FloatCC::Olt, k, zero);
        let none = self.fconst(ty, 0.0);
        self.b().select(c, none, r)
    }

    fn frexp(&mut self, x: Value) -> R<Val> {
        let ty = self.func().ty(x);
        if ty.lane() != F32 {
            return Err(self.error("F0141", "frexp of half-precision values"));
        }
        let int = ty.with_scalar(I32.scalar);
        let bits = self.convert(Opcode::Bitcast, int, x);
        let (at, count) = (self.splat_const(int, 23), self.splat_const(int, 8));
        let e = self.b().ins(Opcode::Ubfe, &[bits, at, count]);
        let bias = self.splat_const(int, 126);
        let exponent = self.op2(Opcode::Isub, e, bias);
        // The same fraction under the exponent of 0.5 … 1.
        let (keep, half) = (self.splat_const(int, 0x807f_ffff), self.splat_const(int, 0x3f00_0000));
        let f = self.op2(Opcode::Iand, bits, keep);
        let f = self.op2(Opcode::Ior, f, half);
        let f = self.convert(Opcode::Bitcast, ty, f);
        // Zero (denormals are flushed) stays zero with exponent zero.
        let none = self.splat_const(int, 0);
        let zero = self.b().icmp(IntCC::Eq, e, none);
        let fzero = self.fconst(ty, 0.0);
        let f = self.b().select(zero, fzero, f);
        let exponent = self.b().select(zero, none, exponent);
        Ok(Val::agg(vec![Val::Leaf(f), Val::Leaf(exponent)]))
    }

    fn ldexp(&mut self, x: Value, e: Value) -> R<Value> {
        let ty = self.func().ty(x);
        if ty.lane() != F32 {
            return Err(self.error("F0141", "ldexp of half-precision values"));
        }
        let int = ty.with_scalar(I32.scalar);
        let e = self.splat(e, ty.lanes);
        // Two factors, so that neither leaves the range of exponents.
        let (lo, hi, one, bias, shift) = (
            self.splat_const(int, -252i32 as u32),
            self.splat_const(int, 254),
            self.splat_const(int, 1),
            self.splat_const(int, 127),
            self.splat_const(int, 23),
        );
        let e = self.op2(Opcode::Smax, e, lo);
        let e = self.op2(Opcode::Smin, e, hi);
        let a = self.op2(Opcode::Sshr, e, one);
        let b = self.op2(Opcode::Isub, e, a);
        let mut v = x;
        for part in [a, b] {
            let p = self.op2(Opcode::Iadd, part, bias);
            let p = self.op2(Opcode::Ishl, p, shift);
            let p = self.convert(Opcode::Bitcast, ty, p);
            v = self.op2(Opcode::Fmul, v, p);
        }
        Ok(v)
    }

    /// The elements of a matrix, column by column.
    fn grid(&mut self, m: &Val) -> R<Vec<Vec<Value>>> {
        let Val::Agg(columns) = self.force(m)? else { return Err(self.error("F0115", "a matrix is needed here")) };
        let mut out = Vec::new();
        for c in columns.iter() {
            let v = self.leaf(c)?;
            out.push(self.lanes(v));
        }
        if out.iter().any(|c| c.len() != out.len()) {
            return Err(self.error("F0140", "a square matrix is needed here"));
        }
        Ok(out)
    }

    /// The determinant of a matrix without some rows and columns.
    fn minor(&mut self, m: &[Vec<Value>], columns: &[usize], rows: &[usize]) -> Value {
        if let ([c], [r]) = (columns, rows) {
            return m[*c][*r];
        }
        if let ([a, b], [r, s]) = (columns, rows) {
            let p = self.op2(Opcode::Fmul, m[*a][*r], m[*b][*s]);
            let q = self.op2(Opcode::Fmul, m[*b][*r], m[*a][*s]);
            return self.op2(Opcode::Fsub, p, q);
        }
        let mut sum = None;
        for (n, c) in columns.iter().enumerate() {
            let others: Vec<usize> = columns.iter().copied().filter(|x| x != c).collect();
            let d = self.minor(m, &others, &rows[1..]);
            let p = self.op2(Opcode::Fmul, m[*c][rows[0]], d);
            sum = Some(match sum {
                None => p,
                Some(s) => self.op2(if n % 2 == 1 { Opcode::Fsub } else { Opcode::Fadd }, s, p),
            });
        }
        sum.unwrap_or(m[0][0])
    }

    fn determinant(&mut self, m: &[Vec<Value>]) -> R<Value> {
        let all: Vec<usize> = (0..m.len()).collect();
        Ok(self.minor(m, &all, &all))
    }

    /// The inverse by cofactors.
    fn inverse(&mut self, m: &[Vec<Value>]) -> R<Val> {
        let n = m.len();
        let all: Vec<usize> = (0..n).collect();
        let without = |k: usize| -> Vec<usize> { all.iter().copied().filter(|x| *x != k).collect() };
        let mut cofactors = vec![Vec::new(); n];
        for (c, column) in cofactors.iter_mut().enumerate() {
            for r in 0..n {
                let d = self.minor(m, &without(c), &without(r));
                column.push(if (c + r) % 2 == 1 { self.op1(Opcode::Fneg, d) } else { d });
            }
        }
        // The determinant along the first row, from cofactors that exist already.
        let mut det = None;
        for c in 0..n {
            let p = self.op2(Opcode::Fmul, m[c][0], cofactors[c][0]);
            det = Some(match det {
                None => p,
                Some(d) => self.op2(Opcode::Fadd, d, p),
            });
        }
        let Some(det) = det else { return Err(self.error("F0140", "a square matrix is needed here")) };
        let inv = self.op1(Opcode::Frcp, det);
        let mut columns = Vec::new();
        for r in 0..n {
            // Column r of the inverse holds the cofactors of row r.
            let lanes: Vec<Value> = (0..n).map(|c| cofactors[c][r]).collect();
            let v = self.vector(&lanes);
            let s = self.splat(inv, n as u8);
            columns.push(self.op2(Opcode::Fmul, v, s));
        }
        Ok(Self::matrix(columns))
    }
}

fn by_kind(k: Kind, float: Opcode, signed: Opcode, unsigned: Opcode) -> Opcode {
    match k {
        Kind::Float => float,
        Kind::Signed => signed,
        _ => unsigned,
    }
}
