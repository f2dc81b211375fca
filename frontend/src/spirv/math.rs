//! GLSL.std.450 and the other extended instruction sets, written in the IR's operations.
//!
//! Accuracies are those that Vulkan and WGSL ask for. The polynomials were fitted for this project by the Remez exchange: arc tangent on 0…1
//! with relative error below 4.4e-6 (WGSL allows 4096 ulp, 2.4e-4), arc cosine by its quotient with sqrt(1 - x) with absolute error below
//! 4.8e-6 (WGSL: 6.8e-5).

use super::binary::{Inst, R, malformed};
use super::convert::Converter;
use super::types::{Kind, Ty};
use super::value::Val;
use retroshade_ir::inst::Imm;
use retroshade_ir::types::{F32, I32, Scalar, Type};
use retroshade_ir::{FloatCC, IntCC, Opcode, Value};
use spirv::GlslStd450Op as G;
use std::f32::consts::{FRAC_PI_2, LN_2, LOG2_E, PI};

/// atan(t) / t by powers of t².
const ATAN: [f32; 6] = [0.999_995_6, -0.332_994_6, 0.195_635_93, -0.121_239_07, 0.057_477_314, -0.013_480_47];
/// (asin(x) / x - 1) / x² by powers of x², for 0 ≤ x ≤ 1/2: relative error 2e-6.
const ASIN: [f32; 3] = [0.166_801_26, 0.071_899_8, 0.064_107_31];
/// acos(x) / sqrt(1 - x) by powers of x, for 0 ≤ x ≤ 1.
const ACOS: [f32; 5] = [1.570_791_5, -0.214_280_61, 0.085_638_38, -0.037_618_218, 0.009_732_97];

/// Number of DebugLine in NonSemantic.Shader.DebugInfo.100.
const DEBUG_LINE: u32 = 103;
/// Number of DebugNoLine there.
const DEBUG_NO_LINE: u32 = 104;
/// Number of DebugSource there.
const DEBUG_SOURCE: u32 = 35;

impl<'m> Converter<'m> {
    /// An instruction of an imported set.
    pub(crate) fn extended(&mut self, i: &Inst<'m>) -> R<()> {
        let set = self.b.sets.get(&i.word(2)?).map_or("", String::as_str);
        if set == "NonSemantic.Shader.DebugInfo.100" {
            return self.debug(i);
        }
        if set.starts_with("NonSemantic.") {
            return Ok(());
        }
        if set != "GLSL.std.450" {
            return Err(self.error("F0130", format!("the instruction set {set} exists on none of the machines")));
        }
        let Some(op) = G::from_u32(i.word(3)?) else { return Err(malformed(i.at, "an unknown instruction of GLSL.std.450")) };
        let ty = self.result_ty(i)?;
        let v = self.glsl(op, i, ty)?;
        let v = self.in_range(v, ty)?;
        if let Val::Leaf(x) = v
            && ty.is_leaf()
        {
            let t = self.ir_ty(ty)?;
            if self.func().ty(x) != t {
                return Err(malformed(i.at, format_args!("{op:?} gives another type than it says")));
            }
        }
        self.set(i.word(1)?, v);
        Ok(())
    }

    /// Lines of the debug set.
    fn debug(&mut self, i: &Inst<'m>) -> R<()> {
        match i.word(3)? {
            DEBUG_LINE => {
                let number = |id: u32| self.consts.get(&id).and_then(|c| c.bits());
                let file =
                    self.b.debug.get(&i.word(4)?).filter(|d| d.operands.get(3) == Some(&DEBUG_SOURCE)).and_then(|d| d.operands.get(4));
                let file = file.and_then(|f| self.b.strings.get(f)).map_or("", String::as_str);
                if let (Some(line), Some(column)) = (number(i.word(5)?), number(i.word(7)?)) {
                    self.span = (self.facts.place)(file, line, column);
                }
            }
            DEBUG_NO_LINE => self.span = retroshade_ir::Span::NONE,
            _ => {}
        }
        Ok(())
    }

    /// Operands of an instruction of GLSL.std.450, which must be as many, of floats or of integers.
    fn operands(&mut self, op: G, i: &Inst<'_>) -> R<Vec<Value>> {
        let (count, float) = shape_of(op);
        if i.rest(4).len() < count {
            return Err(malformed(i.at, format_args!("{op:?} with too few operands")));
        }
        let mut all = Vec::new();
        for id in &i.rest(4)[..count] {
            let v = self.value_leaf(*id)?;
            let v = self.read_as_glsl(op, *id, v);
            let scalar = self.func().ty(v).scalar;
            let exponent = op == G::Ldexp && all.len() == 1;
            if scalar == Scalar::I1 || scalar.is_float() != (float && !exponent) {
                return Err(malformed(i.at, format_args!("{op:?} on values of the wrong kind")));
            }
            all.push(v);
        }
        // All of one type, but for the scalars of refract and the exponents of ldexp.
        let t = self.func().ty(all[0]);
        for (n, v) in all.iter().enumerate() {
            let u = self.func().ty(*v);
            let fits = match op {
                G::Refract if n == 2 => u == t.lane(),
                G::Ldexp if n == 1 => u.lanes == t.lanes,
                _ => u == t,
            };
            if !fits {
                return Err(malformed(i.at, format_args!("{op:?} on values of different types")));
            }
        }
        Ok(all)
    }

    fn glsl(&mut self, op: G, i: &Inst<'m>, ty: Ty) -> R<Val> {
        match op {
            G::Determinant => {
                let m = self.value(i.word(4)?)?;
                let m = self.grid(&m)?;
                return Ok(Val::Leaf(self.determinant(&m)?));
            }
            G::MatrixInverse => {
                let m = self.value(i.word(4)?)?;
                let m = self.grid(&m)?;
                return self.inverse(&m);
            }
            G::InterpolateAtCentroid | G::InterpolateAtSample | G::InterpolateAtOffset => {
                let what = "an input can be interpolated at a place of the program's choice on none of the machines";
                return Err(self.error("F0142", format!("{what} ({op:?})")));
            }
            G::PackDouble2x32 | G::UnpackDouble2x32 => {
                return Err(self.error("F0114", format!("64-bit float values exist on none of the machines ({op:?})")));
            }
            _ => {}
        }
        let all = self.operands(op, i)?;
        let x = all[0];
        let t = self.func().ty(x);
        let v = match op {
            G::Modf | G::ModfStruct => {
                let whole = self.op1(Opcode::Ftrunc, x);
                let fract = self.op2(Opcode::Fsub, x, whole);
                return self.with_second(op == G::Modf, i, fract, whole);
            }
            G::Frexp | G::FrexpStruct => {
                let (fract, exponent) = self.frexp(x)?;
                return self.with_second(op == G::Frexp, i, fract, exponent);
            }
            G::FAbs => self.op1(Opcode::Fabs, x),
            G::SAbs => self.op1(Opcode::Iabs, x),
            G::FSign => self.op1(Opcode::Fsign, x),
            G::SSign => {
                let (one, minus) = (self.splat_const(t, 1), self.splat_const(t, u32::MAX));
                let v = self.op2(Opcode::Smin, x, one);
                self.op2(Opcode::Smax, v, minus)
            }
            G::Round | G::RoundEven => self.op1(Opcode::Fround, x),
            G::Trunc => self.op1(Opcode::Ftrunc, x),
            G::Floor => self.op1(Opcode::Ffloor, x),
            G::Ceil => self.op1(Opcode::Fceil, x),
            G::Fract => self.op1(Opcode::Ffract, x),
            G::Radians => self.times(x, PI / 180.0),
            G::Degrees => self.times(x, 180.0 / PI),
            G::Sin => self.op1(Opcode::Fsin, x),
            G::Cos => self.op1(Opcode::Fcos, x),
            G::Tan => {
                let (s, c) = (self.op1(Opcode::Fsin, x), self.op1(Opcode::Fcos, x));
                self.op2(Opcode::Fdiv, s, c)
            }
            G::Asin => self.asin(x),
            G::Acos => self.acos(x),
            G::Atan => self.atan(x),
            G::Atan2 => self.atan2(x, all[1]),
            G::Sinh | G::Cosh | G::Tanh | G::Asinh | G::Acosh | G::Atanh => self.hyperbolic(op, x),
            G::Pow => self.op2(Opcode::Fpow, x, all[1]),
            G::Exp => self.exp(x),
            G::Log => self.log(x),
            G::Exp2 => self.op1(Opcode::Fexp2, x),
            G::Log2 => self.op1(Opcode::Flog2, x),
            G::Sqrt => self.op1(Opcode::Fsqrt, x),
            G::InverseSqrt => self.op1(Opcode::Frsqrt, x),
            G::FMin | G::NMin => self.op2(Opcode::Fmin, x, all[1]),
            G::UMin => self.op2(Opcode::Umin, x, all[1]),
            G::SMin => self.op2(Opcode::Smin, x, all[1]),
            G::FMax | G::NMax => self.op2(Opcode::Fmax, x, all[1]),
            G::UMax => self.op2(Opcode::Umax, x, all[1]),
            G::SMax => self.op2(Opcode::Smax, x, all[1]),
            G::FClamp | G::NClamp => self.clamp(Kind::Float, x, all[1], all[2]),
            G::UClamp => self.clamp(Kind::Unsigned, x, all[1], all[2]),
            G::SClamp => self.clamp(Kind::Signed, x, all[1], all[2]),
            G::FMix => self.mix(x, all[1], all[2]),
            G::Step => {
                let c = self.b().fcmp(FloatCC::Oge, all[1], x);
                let (one, zero) = (self.fconst(t, 1.0), self.fconst(t, 0.0));
                self.b().select(c, one, zero)
            }
            G::SmoothStep => self.smooth_step(x, all[1], all[2]),
            G::Fma => self.b().ins(Opcode::Fma, &[x, all[1], all[2]]),
            G::Ldexp => self.ldexp(x, all[1])?,
            G::PackSnorm4x8 => self.convert(Opcode::PackSnorm4x8, I32, x),
            G::PackUnorm4x8 => self.convert(Opcode::PackUnorm4x8, I32, x),
            G::PackSnorm2x16 => self.convert(Opcode::PackSnorm2x16, I32, x),
            G::PackUnorm2x16 => self.convert(Opcode::PackUnorm2x16, I32, x),
            G::PackHalf2x16 => self.convert(Opcode::PackHalf2x16, I32, x),
            G::UnpackSnorm4x8 => self.convert(Opcode::UnpackSnorm4x8, F32.with_lanes(4), x),
            G::UnpackUnorm4x8 => self.convert(Opcode::UnpackUnorm4x8, F32.with_lanes(4), x),
            G::UnpackSnorm2x16 => self.convert(Opcode::UnpackSnorm2x16, F32.with_lanes(2), x),
            G::UnpackUnorm2x16 => self.convert(Opcode::UnpackUnorm2x16, F32.with_lanes(2), x),
            G::UnpackHalf2x16 => self.convert(Opcode::UnpackHalf2x16, F32.with_lanes(2), x),
            G::Length => self.length(x),
            G::Distance => {
                let d = self.op2(Opcode::Fsub, x, all[1]);
                self.length(d)
            }
            G::Cross if t.lanes == 3 => {
                let y = all[1];
                let (a, b) = (self.swizzle(x, &[1, 2, 0]), self.swizzle(y, &[2, 0, 1]));
                let (c, d) = (self.swizzle(x, &[2, 0, 1]), self.swizzle(y, &[1, 2, 0]));
                let (p, q) = (self.op2(Opcode::Fmul, a, b), self.op2(Opcode::Fmul, c, d));
                self.op2(Opcode::Fsub, p, q)
            }
            G::Normalize => {
                let d = self.dot(x, x);
                let r = self.op1(Opcode::Frsqrt, d);
                let r = self.splat(r, t.lanes);
                self.op2(Opcode::Fmul, x, r)
            }
            G::FaceForward => {
                // faceforward(n, i, reference): n where dot(reference, i) < 0.
                let d = self.dot(all[1], all[2]);
                let zero = self.fconst(t.lane(), 0.0);
                let c = self.b().fcmp(FloatCC::Olt, d, zero);
                let n = self.op1(Opcode::Fneg, x);
                self.b().select(c, x, n)
            }
            G::Reflect => {
                let d = self.dot(all[1], x);
                let d = self.times(d, 2.0);
                let d = self.splat(d, t.lanes);
                let p = self.op2(Opcode::Fmul, d, all[1]);
                self.op2(Opcode::Fsub, x, p)
            }
            G::Refract => self.refract(x, all[1], all[2]),
            G::FindILsb => self.op1(Opcode::FindLsb, x),
            G::FindSMsb => self.op1(Opcode::FindSmsb, x),
            G::FindUMsb => self.op1(Opcode::FindUmsb, x),
            _ => return Err(malformed(i.at, format_args!("{op:?} of {} gives no {ty:?}", t))),
        };
        Ok(Val::Leaf(v))
    }

    /// Two results: the second through a pointer, or both in a structure.
    fn with_second(&mut self, pointer: bool, i: &Inst<'m>, first: Value, second: Value) -> R<Val> {
        if pointer {
            let p = self.pointer(i.word(5)?)?;
            self.store(&p, &Val::Leaf(second))?;
            return Ok(Val::Leaf(first));
        }
        Ok(Val::agg(vec![Val::Leaf(first), Val::Leaf(second)]))
    }

    fn hyperbolic(&mut self, op: G, x: Value) -> Value {
        let t = self.func().ty(x);
        match op {
            G::Sinh | G::Cosh => {
                let (p, n) = self.exp_pair(x);
                let s = self.op2(if op == G::Sinh { Opcode::Fsub } else { Opcode::Fadd }, p, n);
                self.times(s, 0.5)
            }
            G::Tanh => {
                // Beyond ±10 the result is ±1 in single precision; clamping keeps the exponentials finite.
                let (lo, hi) = (self.fconst(t, -10.0), self.fconst(t, 10.0));
                let x = self.op2(Opcode::Fmax, x, lo);
                let x = self.op2(Opcode::Fmin, x, hi);
                let (p, n) = self.exp_pair(x);
                let (d, s) = (self.op2(Opcode::Fsub, p, n), self.op2(Opcode::Fadd, p, n));
                self.op2(Opcode::Fdiv, d, s)
            }
            G::Asinh => {
                let a = self.op1(Opcode::Fabs, x);
                let s = self.op2(Opcode::Fmul, a, a);
                let s = self.plus(s, 1.0);
                let s = self.op1(Opcode::Fsqrt, s);
                let s = self.op2(Opcode::Fadd, a, s);
                let l = self.log(s);
                self.sign_of(l, x)
            }
            G::Acosh => {
                let s = self.op2(Opcode::Fmul, x, x);
                let s = self.plus(s, -1.0);
                let s = self.op1(Opcode::Fsqrt, s);
                let s = self.op2(Opcode::Fadd, x, s);
                self.log(s)
            }
            _ => {
                let one = self.fconst(t, 1.0);
                let (p, n) = (self.op2(Opcode::Fadd, one, x), self.op2(Opcode::Fsub, one, x));
                let q = self.op2(Opcode::Fdiv, p, n);
                let l = self.log(q);
                self.times(l, 0.5)
            }
        }
    }

    fn smooth_step(&mut self, low: Value, high: Value, at: Value) -> Value {
        let t = self.func().ty(at);
        let n = self.op2(Opcode::Fsub, at, low);
        let d = self.op2(Opcode::Fsub, high, low);
        let s = self.op2(Opcode::Fdiv, n, d);
        let s = self.op1(Opcode::Fsaturate, s);
        let (two, three) = (self.fconst(t, 2.0), self.fconst(t, 3.0));
        let p = self.op2(Opcode::Fmul, two, s);
        let p = self.op2(Opcode::Fsub, three, p);
        let q = self.op2(Opcode::Fmul, s, s);
        self.op2(Opcode::Fmul, q, p)
    }

    pub(crate) fn op1(&mut self, op: Opcode, x: Value) -> Value {
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
        let (max, min) = match kind {
            Kind::Float => (Opcode::Fmax, Opcode::Fmin),
            Kind::Signed => (Opcode::Smax, Opcode::Smin),
            _ => (Opcode::Umax, Opcode::Umin),
        };
        let v = self.op2(max, x, low);
        self.op2(min, v, high)
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
    pub(crate) fn sum(&mut self, v: Value) -> Value {
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

    pub(crate) fn dot_packed(&mut self, left: Opcode, right: Opcode, x: Value, y: Value) -> Value {
        let mut sum = None;
        for n in 0..4 {
            let (a, b) = (self.byte(left, x, n), self.byte(right, y, n));
            let p = self.op2(Opcode::Imul, a, b);
            sum = Some(match sum {
                None => p,
                Some(s) => self.op2(Opcode::Iadd, s, p),
            });
        }
        sum.unwrap_or(x)
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

    /// Above a half by asin(x) = π/2 - 2 asin(sqrt((1 - x) / 2)), so that what is small keeps its digits.
    fn asin(&mut self, x: Value) -> Value {
        let ty = self.func().ty(x);
        let a = self.op1(Opcode::Fabs, x);
        let half = self.fconst(ty, 0.5);
        let h = self.op2(Opcode::Fmul, a, half);
        let h = self.op2(Opcode::Fsub, half, h);
        // x² and (1 - x) / 2 meet at a half.
        let square = self.op2(Opcode::Fmul, a, a);
        let z = self.op2(Opcode::Fmin, h, square);
        let s = self.op1(Opcode::Fsqrt, z);
        let p = self.polynomial(z, &ASIN);
        let cube = self.op2(Opcode::Fmul, s, z);
        let more = self.op2(Opcode::Fmul, cube, p);
        let r = self.op2(Opcode::Fadd, more, s);
        let (twice, quarter) = (self.times(r, 2.0), self.fconst(ty, FRAC_PI_2));
        let other = self.op2(Opcode::Fsub, quarter, twice);
        let large = self.b().fcmp(FloatCC::Ogt, a, half);
        let r = self.b().select(large, other, r);
        self.sign_of(r, x)
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

    fn frexp(&mut self, x: Value) -> R<(Value, Value)> {
        let ty = self.func().ty(x);
        if ty.lane() != F32 {
            // Each half is a float, and its fraction is a half.
            let whole = self.convert(Opcode::Fcvt, F32.with_lanes(ty.lanes), x);
            let (f, e) = self.frexp(whole)?;
            return Ok((self.convert(Opcode::Fcvt, ty, f), e));
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
        Ok((f, exponent))
    }

    fn ldexp(&mut self, x: Value, e: Value) -> R<Value> {
        let ty = self.func().ty(x);
        if ty.lane() != F32 {
            let whole = self.convert(Opcode::Fcvt, F32.with_lanes(ty.lanes), x);
            let r = self.ldexp(whole, e)?;
            return Ok(self.convert(Opcode::Fcvt, ty, r));
        }
        let int = ty.with_scalar(I32.scalar);
        let e = self.splat(e, ty.lanes);
        // Two factors, so that neither leaves the range of exponents; below 2^-252 a factor has no bits and is 0, as what is so small may be.
        let (lo, hi, one, bias, shift) = (
            self.splat_const(int, -254i32 as u32),
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

/// How many operands an instruction has, and whether they are floats.
fn shape_of(op: G) -> (usize, bool) {
    match op {
        G::SAbs | G::SSign | G::FindILsb | G::FindSMsb | G::FindUMsb => (1, false),
        G::UnpackSnorm2x16 | G::UnpackUnorm2x16 | G::UnpackHalf2x16 | G::UnpackSnorm4x8 | G::UnpackUnorm4x8 => (1, false),
        G::UMin | G::SMin | G::UMax | G::SMax => (2, false),
        G::UClamp | G::SClamp => (3, false),
        G::FClamp | G::NClamp | G::FMix | G::SmoothStep | G::Fma | G::FaceForward | G::Refract => (3, true),
        G::Atan2 | G::Pow | G::FMin | G::NMin | G::FMax | G::NMax | G::Step | G::Ldexp => (2, true),
        G::Distance | G::Cross | G::Reflect => (2, true),
        _ => (1, true),
    }
}
