//! Expansions of single scalar operations for `legal`; every helper appends to the current block.
//!
//! Bit patterns and sequences: the ISA description, section 10; the normalised formats use that x/(2^n - 1) =
//! x·2^-n + x·(1/(2^n - 1) - 2^-n), where the first product is exact.

use retroshade_ir::types::{F16, F32, I1, I32};
use retroshade_ir::{Block, Builder, FloatCC, Function, Imm, InstData, IntCC, Opcode, Scalar, Span, Type, Value, ValueDef};
use retroshade_lower::CompileError;
use smallvec::SmallVec;
use std::collections::BTreeMap;

type Lanes = SmallVec<[Value; 4]>;

/// The new function and the place where instructions go.
pub struct Expand {
    /// Under construction.
    pub func: Function,
    /// Where.
    pub block: Block,
    /// Source location.
    pub span: Span,
    /// No contraction.
    pub precise: bool,
    contract: bool,
    constants: BTreeMap<(Block, Type, u32), Value>,
    /// Quotients that were made by a reciprocal: numerator and divisor.
    quotients: BTreeMap<Value, (Value, Value)>,
}

impl Expand {
    /// Starts on an empty function.
    pub fn new(func: Function, contract: bool) -> Expand {
        Expand {
            func,
            block: Block::from_u32(0),
            span: Span::NONE,
            precise: false,
            contract,
            constants: BTreeMap::new(),
            quotients: BTreeMap::new(),
        }
    }
    /// The finished function, with products and sums contracted.
    pub fn finish(mut self) -> Function {
        if self.contract {
            contract(&mut self.func);
        }
        self.func
    }
    /// A new block parameter.
    pub fn param(&mut self, b: Block, ty: Type) -> Value {
        let n = self.func.blocks[b].params.len() as u16;
        let v = self.func.values.push((ty, ValueDef::Param(b, n)));
        self.func.blocks[b].params.push(v);
        v
    }
    /// Any instruction.
    pub fn push(&mut self, data: InstData, ty: Option<Type>) -> Option<Value> {
        let mut b = builder(&mut self.func, self.block, self.span, self.precise);
        let i = b.push(data, ty.as_slice());
        self.func.insts[i].results.first().copied()
    }
    /// An instruction with a result of a given type.
    pub fn typed(&mut self, op: Opcode, ty: Type, args: &[Value], imm: Imm) -> Value {
        builder(&mut self.func, self.block, self.span, self.precise).typed(op, ty, args, imm)
    }
    /// A machine operation.
    pub fn ext(&mut self, name: &str, ty: Type, args: &[Value]) -> Value {
        self.typed(Opcode::Ext, ty, args, Imm::Ext(name.into()))
    }
    /// A scalar constant, one per block.
    pub fn constant(&mut self, ty: Type, bits: u32) -> Value {
        if let Some(v) = self.constants.get(&(self.block, ty, bits)) {
            return *v;
        }
        let v = self.typed(Opcode::Const, ty, &[], Imm::Const([bits, 0, 0, 0]));
        self.constants.insert((self.block, ty, bits), v);
        v
    }
    fn i(&mut self, x: u32) -> Value {
        self.constant(I32, x)
    }
    fn f(&mut self, x: f32) -> Value {
        self.constant(F32, x.to_bits())
    }
    /// A vector of scalars.
    pub fn build(&mut self, l: &[Value]) -> Value {
        builder(&mut self.func, self.block, self.span, self.precise).build(l)
    }
    /// The lanes of a value.
    pub fn lanes_of(&mut self, v: Value) -> Lanes {
        let n = self.func.ty(v).lanes;
        if n == 1 {
            return [v].into_iter().collect();
        }
        (0..n).map(|k| builder(&mut self.func, self.block, self.span, self.precise).extract(v, k)).collect()
    }
    /// A constant's bits.
    fn bits(&self, v: Value) -> Option<u32> {
        self.func.const_bits(v).map(|b| b[0])
    }
    fn fold(&self, op: Opcode, a: Value, b: Value) -> Option<u32> {
        Some(retroshade_ir::interp::ops::int_binary(op, self.bits(a)?, self.bits(b)?))
    }
    /// A two-operand operation of the first operand's type.
    pub fn bin(&mut self, op: Opcode, a: Value, b: Value) -> Value {
        let ty = self.func.ty(a);
        if ty == I32
            && let Some(r) = self.fold(op, a, b)
        {
            return self.constant(I32, r);
        }
        let zero = |s: &Self, v| s.bits(v) == Some(0);
        match op {
            Opcode::Iadd | Opcode::Ior | Opcode::Ixor | Opcode::Isub | Opcode::Ishl | Opcode::Ushr | Opcode::Sshr
                if ty == I32 && zero(self, b) =>
            {
                a
            }
            Opcode::Iadd | Opcode::Ior | Opcode::Ixor if ty == I32 && zero(self, a) => b,
            _ => self.typed(op, ty, &[a, b], Imm::None),
        }
    }
    fn un(&mut self, op: Opcode, a: Value) -> Value {
        let ty = self.func.ty(a);
        self.typed(op, ty, &[a], Imm::None)
    }
    /// A select.
    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        if a == b {
            return a;
        }
        let ty = self.func.ty(a);
        self.typed(Opcode::Select, ty, &[c, a, b], Imm::None)
    }
    fn fcmp(&mut self, cc: FloatCC, a: Value, b: Value) -> Value {
        self.typed(Opcode::Fcmp, I1, &[a, b], Imm::FloatCC(cc))
    }
    fn icmp(&mut self, cc: IntCC, a: Value, b: Value) -> Value {
        self.typed(Opcode::Icmp, I1, &[a, b], Imm::IntCC(cc))
    }
    /// f16 → f32.
    pub fn to_f32(&mut self, v: Value) -> Value {
        if let Some(x) = self.bits(v) {
            return self.constant(F32, crate::isa::arith::f16_to_f32(x));
        }
        self.typed(Opcode::Fcvt, F32, &[v], Imm::None)
    }
    /// f32 → f16.
    pub fn to_f16(&mut self, v: Value) -> Value {
        self.typed(Opcode::Fcvt, F16, &[v], Imm::None)
    }
    /// A half's 16 bits as an integer.
    fn half_bits(&mut self, v: Value) -> Value {
        self.ext("tesla.half_bits", I32, &[v])
    }
    /// The low 16 bits of an integer as a half.
    fn half_from(&mut self, v: Value) -> Value {
        self.ext("tesla.half_from", F16, &[v])
    }

    /// Sum of products, first lane first.
    pub fn dot(&mut self, ty: Scalar, a: &[Value], b: &[Value]) -> Value {
        let mut sum = None;
        for (x, y) in a.iter().zip(b) {
            let p = self.float2(Opcode::Fmul, ty, *x, *y);
            sum = Some(match sum {
                None => p,
                Some(s) => self.float2(Opcode::Fadd, ty, s, p),
            });
        }
        sum.unwrap_or(a[0])
    }
    fn float2(&mut self, op: Opcode, ty: Scalar, a: Value, b: Value) -> Value {
        if ty == Scalar::F16 {
            let (x, y) = (self.to_f32(a), self.to_f32(b));
            let r = self.bin(op, x, y);
            return self.to_f16(r);
        }
        self.bin(op, a, b)
    }

    /// Whether a value is certainly not NaN.
    fn not_nan(&self, v: Value) -> bool {
        if let Some(b) = self.bits(v) {
            return !f32::from_bits(b).is_nan();
        }
        let Some(i) = self.func.def_inst(v) else { return false };
        let d = &self.func.insts[i];
        match d.op {
            Opcode::U2f | Opcode::S2f => true,
            Opcode::Fmin | Opcode::Fmax => d.args.iter().any(|a| self.not_nan(*a)),
            Opcode::Fneg | Opcode::Fabs => self.not_nan(d.args[0]),
            _ => false,
        }
    }
    fn saturate(&mut self, v: Value) -> Value {
        // Where NaNs may be assumed away it does not matter what becomes of one.
        let safe = self.not_nan(v) || self.contract && !self.precise;
        let s = self.ext("tesla.sat", F32, &[v]);
        if safe {
            return s;
        }
        // The saturating unit keeps a NaN; the maximum turns it into 0.
        let zero = self.f(0.0);
        self.bin(Opcode::Fmax, s, zero)
    }
    /// Whether `v` is `fmax(x, 0)`; gives x.
    fn clamped_below(&self, v: Value) -> Option<Value> {
        let d = self.func.def_if(v, Opcode::Fmax)?;
        let zero = |a: Value| self.bits(a) == Some(0);
        if zero(d.args[1]) {
            Some(d.args[0])
        } else if zero(d.args[0]) {
            Some(d.args[1])
        } else {
            None
        }
    }
    /// Whether a maximum is that of 0 and a sum which cannot exceed 1, such as `1 - length(p)`: the sum's own saturation does it.
    fn only_sign_to_clamp(&self, sum: Value, zero: Value) -> bool {
        let Some(d) = self.func.def_if(sum, Opcode::Fadd).filter(|_| self.bits(zero) == Some(0)) else { return false };
        let most_one = |v: Value| self.bits(v).is_some_and(|k| f32::from_bits(k) <= 1.0);
        let negative = |v: Value| self.func.def_if(v, Opcode::Fneg).is_some_and(|n| self.not_negative(n.args[0], 6));
        (0..2).any(|n| most_one(d.args[n]) && negative(d.args[1 - n]))
    }
    /// Whether a value is a zero, greater than 0, or NaN.
    fn not_negative(&self, v: Value, depth: u32) -> bool {
        if let Some(b) = self.bits(v) {
            return f32::from_bits(b) >= 0.0;
        }
        let (Some(i), Some(rest)) = (self.func.def_inst(v), depth.checked_sub(1)) else { return false };
        let d = &self.func.insts[i];
        let all = || d.args.iter().all(|a| self.not_negative(*a, rest));
        match d.op {
            Opcode::Fabs => true,
            Opcode::Fmul => d.args[0] == d.args[1] || all(),
            Opcode::Fadd => all(),
            Opcode::Fmax => d.args.iter().any(|a| self.not_negative(*a, rest)),
            // A square root; the root of -0 is -0.
            Opcode::Frcp => self.func.def_if(d.args[0], Opcode::Frsqrt).is_some(),
            Opcode::Ext => matches!(&d.imm, Imm::Ext(n) if matches!(&**n, "tesla.sat" | "tesla.ex2")),
            _ => false,
        }
    }
    fn ex2(&mut self, x: Value) -> Value {
        let p = self.ext("tesla.preex2", I32, &[x]);
        self.ext("tesla.ex2", F32, &[p])
    }
    fn raw_shift(&mut self, name: &str, a: Value, n: Value) -> Value {
        if let (Some(a), Some(n)) = (self.bits(a), self.bits(n)) {
            let r = match name {
                "tesla.shl" => a.checked_shl(n).unwrap_or(0),
                "tesla.shr" => a.checked_shr(n).unwrap_or(0),
                _ => ((a as i32) >> n.min(31)) as u32,
            };
            return self.i(r);
        }
        if self.bits(n) == Some(0) {
            return a;
        }
        self.ext(name, I32, &[a, n])
    }
    fn mask32(&mut self, n: Value) -> Value {
        match self.bits(n) {
            Some(c) => self.i(c & 31),
            None => {
                let m = self.i(31);
                self.bin(Opcode::Iand, n, m)
            }
        }
    }

    /// One scalar operation.
    pub fn operation(&mut self, op: Opcode, imm: &Imm, from: Type, to: Type, a: &[Value], span: Span) -> Result<Value, CompileError> {
        use Opcode::*;
        let float16 = from.scalar == Scalar::F16;
        Ok(match op {
            // ---- f16 arithmetic goes through f32; one rounding back is exact for these
            Fadd | Fsub | Fmul | Fdiv | Fmin | Fmax | Fpow | Fma | Fmad | Ffloor | Fceil | Ftrunc | Fround | Ffract | Frcp | Frsqrt
            | Fsqrt | Fexp2 | Flog2 | Fsin | Fcos | Fsaturate | Fsign
                if float16 =>
            {
                let wide: SmallVec<[Value; 4]> = a.iter().map(|v| self.to_f32(*v)).collect();
                let r = self.operation(op, imm, F32, F32, &wide, span)?;
                self.to_f16(r)
            }
            Fneg | Fabs if float16 => {
                let w = self.half_bits(a[0]);
                let (o, m) = if op == Fneg { (Ixor, 0x8000) } else { (Iand, 0x7fff) };
                let m = self.i(m);
                let r = self.bin(o, w, m);
                self.half_from(r)
            }
            Fcmp if float16 => {
                let Imm::FloatCC(cc) = *imm else { return Err(CompileError::Internal("fcmp without relation".into())) };
                let (x, y) = (self.to_f32(a[0]), self.to_f32(a[1]));
                self.fcmp(cc, x, y)
            }
            // ---- f32
            Ffloor if self.quotients.contains_key(&a[0]) => self.floor_of_quotient(a[0]),
            Fadd | Fmul | Ffloor | Fceil | Ftrunc | Fround | Frcp | Frsqrt | Flog2 | Fneg | Fabs | Fmad => {
                self.typed(op, F32, a, Imm::None)
            }
            Fmin if self.bits(a[1]) == Some(0x3f80_0000) && self.clamped_below(a[0]).is_some() && !self.precise => {
                let x = self.clamped_below(a[0]).unwrap_or(a[0]);
                self.ext("tesla.sat", F32, &[x])
            }
            Fmax if self.contract && !self.precise && self.only_sign_to_clamp(a[0], a[1]) => self.ext("tesla.sat", F32, &[a[0]]),
            Fmax if self.contract && !self.precise && self.only_sign_to_clamp(a[1], a[0]) => self.ext("tesla.sat", F32, &[a[1]]),
            Fmin | Fmax => self.bin(op, a[0], a[1]),
            Fsub => {
                let n = self.un(Fneg, a[1]);
                self.bin(Fadd, a[0], n)
            }
            Fma => {
                if self.precise || !self.contract {
                    let p = self.bin(Fmul, a[0], a[1]);
                    self.bin(Fadd, p, a[2])
                } else {
                    self.typed(Fmad, F32, a, Imm::None)
                }
            }
            Fdiv => {
                if let Some(c) = self.bits(a[1]).map(f32::from_bits)
                    && c.is_normal()
                    && (1.0 / c).is_normal()
                    && c.to_bits() & 0x7f_ffff == 0
                {
                    let k = self.f(1.0 / c);
                    return Ok(self.bin(Fmul, a[0], k));
                }
                let r = match self.bits(a[1]) {
                    // The machine's own reciprocal, computed here.
                    Some(c) => self.constant(F32, crate::isa::arith::rcp(c)),
                    None => self.un(Frcp, a[1]),
                };
                if self.bits(a[0]) == Some(0x3f80_0000) {
                    return Ok(r);
                }
                let q = self.bin(Fmul, a[0], r);
                if self.bits(a[1]).is_none() {
                    self.quotients.insert(q, (a[0], a[1]));
                }
                q
            }
            Ffract => {
                let fl = self.un(Ffloor, a[0]);
                let n = self.un(Fneg, fl);
                self.bin(Fadd, a[0], n)
            }
            Fsqrt => {
                let r = self.un(Frsqrt, a[0]);
                self.un(Frcp, r)
            }
            Fexp2 => self.ex2(a[0]),
            Fpow => {
                let l = self.un(Flog2, a[0]);
                let p = self.bin(Fmul, l, a[1]);
                self.ex2(p)
            }
            Fsin | Fcos => {
                let p = self.ext("tesla.presin", I32, &[a[0]]);
                self.ext(if op == Fsin { "tesla.sin" } else { "tesla.cos" }, F32, &[p])
            }
            Fsaturate => self.saturate(a[0]),
            Fsign => {
                let bits = self.typed(Bitcast, I32, &[a[0]], Imm::None);
                let (sign, one) = (self.i(0x8000_0000), self.i(0x3f80_0000));
                let s = self.bin(Iand, bits, sign);
                let s = self.bin(Ior, s, one);
                let s = self.typed(Bitcast, F32, &[s], Imm::None);
                let zero = self.f(0.0);
                let c = self.fcmp(FloatCC::One, a[0], zero);
                self.select(c, s, zero)
            }
            Fcmp | Icmp => self.typed(op, I1, a, imm.clone()),
            // ---- integers
            Iadd | Isub | Imul | Umulhi | Iand | Ior | Ixor | Umin | Umax | Smin | Smax => self.bin(op, a[0], a[1]),
            Inot | Ineg => self.un(op, a[0]),
            Ishl | Ushr | Sshr => {
                let n = self.mask32(a[1]);
                self.bin(op, a[0], n)
            }
            Udiv | Urem => self.unsigned_division(op == Urem, a[0], a[1]),
            Sdiv | Srem => {
                let n = self.i(31);
                let (sa, sb) = (self.bin(Sshr, a[0], n), self.bin(Sshr, a[1], n));
                let abs = |s: &mut Self, v, sign| {
                    let x = s.bin(Ixor, v, sign);
                    s.bin(Isub, x, sign)
                };
                let (x, y) = (abs(self, a[0], sa), abs(self, a[1], sb));
                let q = self.unsigned_division(op == Srem, x, y);
                let sign = if op == Sdiv { self.bin(Ixor, sa, sb) } else { sa };
                abs(self, q, sign)
            }
            Bitcount => self.bitcount(a[0]),
            FindUmsb => self.top_bit(a[0]),
            Ubfe => {
                let (up, right) = self.field(a[1], a[2]);
                let x = self.raw_shift("tesla.shl", a[0], up);
                self.raw_shift("tesla.shr", x, right)
            }
            Sbfe => {
                let (up, right) = self.field(a[1], a[2]);
                let x = self.raw_shift("tesla.shl", a[0], up);
                let r = self.raw_shift("tesla.sar", x, right);
                // An empty field is 0, where the shift would leave copies of the sign.
                match self.bits(right) {
                    Some(n) if n < 32 => r,
                    Some(_) => self.i(0),
                    None => {
                        let (k32, zero) = (self.i(32), self.i(0));
                        let some = self.icmp(IntCC::Ult, right, k32);
                        self.select(some, r, zero)
                    }
                }
            }
            Bfi => {
                let k32 = self.i(32);
                let o = self.bin(Umin, a[2], k32);
                let room = self.bin(Isub, k32, o);
                let c = self.bin(Umin, a[3], room);
                let one = self.i(1);
                let m = self.raw_shift("tesla.shl", one, c);
                let m = self.bin(Isub, m, one);
                let m = self.raw_shift("tesla.shl", m, o);
                let x = self.raw_shift("tesla.shl", a[1], o);
                let x = self.bin(Iand, x, m);
                let nm = match self.bits(m) {
                    Some(b) => self.i(!b),
                    None => self.un(Inot, m),
                };
                let y = self.bin(Iand, a[0], nm);
                self.bin(Ior, x, y)
            }
            // ---- conversions
            F2s | F2u => {
                let x = if float16 { self.to_f32(a[0]) } else { a[0] };
                self.typed(op, I32, &[x], Imm::None)
            }
            S2f | U2f => {
                let r = self.typed(op, F32, &[a[0]], Imm::None);
                if to.scalar == Scalar::F16 { self.to_f16(r) } else { r }
            }
            Fcvt => {
                if from.scalar == to.scalar {
                    a[0]
                } else if float16 {
                    self.to_f32(a[0])
                } else {
                    self.to_f16(a[0])
                }
            }
            _ => return Err(CompileError::unsupported("T0011", span, format!("`{}` is not available on this machine", op.name()))),
        })
    }

    /// The largest whole number in a quotient. The product with a reciprocal may fall just short of a whole number that the
    /// quotient is exactly; then the remainder is as large as the divisor.
    fn floor_of_quotient(&mut self, q: Value) -> Value {
        use Opcode::*;
        let f = self.un(Ffloor, q);
        let Some((n, d)) = self.quotients.get(&q).copied() else { return f };
        let minus = self.un(Fneg, f);
        let rest = self.typed(Fmad, F32, &[minus, d, n], Imm::None);
        let (rest, d) = (self.un(Fabs, rest), self.un(Fabs, d));
        let short = self.fcmp(FloatCC::Oge, rest, d);
        let one = self.f(1.0);
        let next = self.bin(Fadd, f, one);
        self.select(short, next, f)
    }
    /// Left and right shift counts that isolate a bit field.
    fn field(&mut self, offset: Value, count: Value) -> (Value, Value) {
        let k32 = self.i(32);
        let o = self.bin(Opcode::Umin, offset, k32);
        let room = self.bin(Opcode::Isub, k32, o);
        let c = self.bin(Opcode::Umin, count, room);
        (self.bin(Opcode::Isub, room, c), self.bin(Opcode::Isub, k32, c))
    }
    /// Index of the highest set bit through the exponent of a float; -1 for 0.
    fn top_bit(&mut self, v: Value) -> Value {
        let f = self.ext("tesla.u2f_rz", F32, &[v]);
        let b = self.typed(Opcode::Bitcast, I32, &[f], Imm::None);
        let n = self.i(23);
        let e = self.bin(Opcode::Ushr, b, n);
        let bias = self.i(0u32.wrapping_sub(127));
        let e = self.bin(Opcode::Iadd, e, bias);
        let none = self.i(u32::MAX);
        self.bin(Opcode::Smax, e, none)
    }
    fn bitcount(&mut self, v: Value) -> Value {
        use Opcode::*;
        let (k1, k2, k4, k8, k16) = (self.i(1), self.i(2), self.i(4), self.i(8), self.i(16));
        let (m1, m2, m4, m6) = (self.i(0x5555_5555), self.i(0x3333_3333), self.i(0x0f0f_0f0f), self.i(0x3f));
        let t = self.bin(Ushr, v, k1);
        let t = self.bin(Iand, t, m1);
        let x = self.bin(Isub, v, t);
        let t = self.bin(Ushr, x, k2);
        let t = self.bin(Iand, t, m2);
        let x = self.bin(Iand, x, m2);
        let x = self.bin(Iadd, x, t);
        let t = self.bin(Ushr, x, k4);
        let x = self.bin(Iadd, x, t);
        let x = self.bin(Iand, x, m4);
        let t = self.bin(Ushr, x, k8);
        let x = self.bin(Iadd, x, t);
        let t = self.bin(Ushr, x, k16);
        let x = self.bin(Iadd, x, t);
        self.bin(Iand, x, m6)
    }
    /// Quotient or remainder by two rounds of an underestimated reciprocal.
    fn unsigned_division(&mut self, remainder: bool, a: Value, b: Value) -> Value {
        use Opcode::*;
        if let Some(c) = self.bits(b)
            && c.is_power_of_two()
        {
            return if remainder {
                let m = self.i(c - 1);
                self.bin(Iand, a, m)
            } else {
                let n = self.i(c.trailing_zeros());
                self.bin(Ushr, a, n)
            };
        }
        let fa = self.typed(U2f, F32, &[a], Imm::None);
        let fb = match self.bits(b) {
            Some(c) => {
                let r = crate::isa::arith::rcp((c as f32).to_bits());
                self.constant(F32, r.wrapping_sub(2))
            }
            None => {
                let fb = self.typed(U2f, F32, &[b], Imm::None);
                let fb = self.un(Frcp, fb);
                let bits = self.typed(Bitcast, I32, &[fb], Imm::None);
                let minus2 = self.i(0u32.wrapping_sub(2));
                let bits = self.bin(Iadd, bits, minus2);
                self.typed(Bitcast, F32, &[bits], Imm::None)
            }
        };
        let estimate = |s: &mut Self, x| {
            let q = s.ext("tesla.fmul_rz", F32, &[x, fb]);
            s.typed(F2u, I32, &[q], Imm::None)
        };
        let q0 = estimate(self, fa);
        let p = self.bin(Imul, q0, b);
        let r = self.bin(Isub, a, p);
        let fr = self.typed(U2f, F32, &[r], Imm::None);
        let q1 = estimate(self, fr);
        let p = self.bin(Imul, q1, b);
        let m = self.bin(Isub, r, p);
        let over = self.icmp(IntCC::Uge, m, b);
        if remainder {
            let less = self.bin(Isub, m, b);
            return self.select(over, less, m);
        }
        let q = self.bin(Iadd, q0, q1);
        let mask = self.ext("tesla.mask", I32, &[over]);
        self.bin(Isub, q, mask)
    }

    /// The same bits under another type.
    pub fn bitcast(&mut self, from: Type, to: Type, l: &[Value]) -> Lanes {
        match (from.scalar == Scalar::F16, to.scalar == Scalar::F16) {
            (true, false) => (0..to.lanes as usize)
                .map(|n| {
                    let lo = self.half_bits(l[2 * n]);
                    let hi = self.half_bits(l[2 * n + 1]);
                    let k = self.i(16);
                    let hi = self.bin(Opcode::Ishl, hi, k);
                    let w = self.bin(Opcode::Ior, lo, hi);
                    if to.scalar == Scalar::I32 { w } else { self.typed(Opcode::Bitcast, to.lane(), &[w], Imm::None) }
                })
                .collect(),
            (false, true) => {
                let mut out = Lanes::new();
                for v in l {
                    let w = if from.scalar == Scalar::I32 { *v } else { self.typed(Opcode::Bitcast, I32, &[*v], Imm::None) };
                    out.push(self.half_from(w));
                    let k = self.i(16);
                    let hi = self.bin(Opcode::Ushr, w, k);
                    out.push(self.half_from(hi));
                }
                out
            }
            _ if from.scalar == to.scalar => l.into(),
            _ => l
                .iter()
                .map(|v| match self.bits(*v) {
                    Some(b) => self.constant(to.lane(), b),
                    None => self.typed(Opcode::Bitcast, to.lane(), &[*v], Imm::None),
                })
                .collect(),
        }
    }

    /// The packing operations.
    pub fn pack(&mut self, op: Opcode, l: &[Value]) -> Value {
        use Opcode::*;
        let (scale, bits, signed) = match op {
            PackUnorm4x8 => (255.0, 8, false),
            PackSnorm4x8 => (127.0, 8, true),
            PackUnorm2x16 => (65535.0, 16, false),
            PackSnorm2x16 => (32767.0, 16, true),
            _ => {
                let lanes: Lanes = l.iter().map(|v| self.to_f16(*v)).collect();
                return self.bitcast(Type::new(Scalar::F16, 2), I32, &lanes)[0];
            }
        };
        let mut word = None;
        for (n, v) in l.iter().enumerate() {
            let x = if signed {
                // NaN becomes 0: the saturating conversions below do it.
                let (one, minus) = (self.f(1.0), self.f(-1.0));
                let ordered = self.fcmp(FloatCC::Ord, *v, *v);
                let x = self.bin(Fmin, *v, one);
                let x = self.bin(Fmax, x, minus);
                let zero = self.f(0.0);
                self.select(ordered, x, zero)
            } else {
                self.saturate(*v)
            };
            let k = self.f(scale);
            let x = self.bin(Fmul, x, k);
            let i = self.ext(if signed { "tesla.f2s_rn" } else { "tesla.f2u_rn" }, I32, &[x]);
            let i = if signed && n as u32 + 1 < 32 / bits {
                let m = self.i((1 << bits) - 1);
                self.bin(Iand, i, m)
            } else {
                i
            };
            let k = self.i(n as u32 * bits);
            let i = self.bin(Ishl, i, k);
            word = Some(match word {
                None => i,
                Some(w) => self.bin(Ior, w, i),
            });
        }
        word.unwrap_or(l[0])
    }

    /// The unpacking operations.
    pub fn unpack(&mut self, op: Opcode, v: Value) -> Lanes {
        use Opcode::*;
        let (bits, signed) = match op {
            UnpackUnorm4x8 => (8, false),
            UnpackSnorm4x8 => (8, true),
            UnpackUnorm2x16 => (16, false),
            UnpackSnorm2x16 => (16, true),
            _ => {
                let h = self.bitcast(I32, Type::new(Scalar::F16, 2), &[v]);
                return h.iter().map(|x| self.to_f32(*x)).collect();
            }
        };
        let n = 32 / bits;
        // The divisor is 2^d - 1.
        let d = if signed { bits - 1 } else { bits };
        let whole = 1.0 / ((1u64 << d) - 1) as f64;
        let exact = 1.0 / (1u64 << d) as f64;
        (0..n)
            .map(|k| {
                let (up, right) = (32 - bits * (k + 1), 32 - bits);
                let (up, right) = (self.i(up), self.i(right));
                let x = self.bin(Ishl, v, up);
                let x = self.bin(if signed { Sshr } else { Ushr }, x, right);
                let x = self.typed(if signed { S2f } else { U2f }, F32, &[x], Imm::None);
                let (hi, lo) = (self.f(exact as f32), self.f((whole - exact) as f32));
                let p = self.bin(Fmul, x, hi);
                let r = self.typed(Fmad, F32, &[x, lo, p], Imm::None);
                if signed {
                    let minus = self.f(-1.0);
                    self.bin(Fmax, r, minus)
                } else {
                    r
                }
            })
            .collect()
    }
}

/// A value without its `fneg`.
fn behind_sign(func: &Function, v: Value) -> Value {
    let v = func.resolve(v);
    func.def_if(v, Opcode::Fneg).map_or(v, |d| func.resolve(d.args[0]))
}

/// Turns `fadd(fmul(a, b), c)` into `fmad` where the product has no other use and neither is precise.
fn contract(func: &mut Function) {
    let uses = func.use_counts();
    let product = |func: &Function, v: Value| -> Option<(Value, Value, bool)> {
        let mut v = func.resolve(v);
        let mut neg = false;
        if let Some(d) = func.def_if(v, Opcode::Fneg) {
            if uses[v] != 1 {
                return None;
            }
            neg = true;
            v = func.resolve(d.args[0]);
        }
        let d = func.def_if(v, Opcode::Fmul)?;
        (uses[v] == 1 && !d.precise && func.ty(v) == F32).then(|| (d.args[0], d.args[1], neg))
    };
    for b in func.layout.clone() {
        let mut insts = Vec::with_capacity(func.blocks[b].insts.len());
        for i in std::mem::take(&mut func.blocks[b].insts) {
            let d = &func.insts[i];
            if d.op == Opcode::Fadd && !d.precise && d.results.first().is_some_and(|r| func.ty(*r) == F32) {
                let found = [(0, 1), (1, 0)].into_iter().find_map(|(p, o)| Some((product(func, d.args[p])?, d.args[o])));
                if let Some(((x, y, neg), addend)) = found {
                    let x = if neg {
                        let n = func.make_inst(InstData::new(Opcode::Fneg, &[x], Imm::None), &[F32], func.spans[i]);
                        insts.push(n);
                        func.insts[n].results[0]
                    } else {
                        x
                    };
                    // The difference of two products: both are truncated, so that equal products still cancel.
                    if let Some((_, _, other)) = product(func, addend)
                        && other != neg
                        && let Some(p) = func.def_inst(behind_sign(func, addend))
                    {
                        func.insts[p].op = Opcode::Ext;
                        func.insts[p].imm = Imm::Ext("tesla.fmul_rz".into());
                    }
                    func.insts[i].op = Opcode::Fmad;
                    func.insts[i].args = [x, y, addend].into_iter().collect();
                }
            }
            insts.push(i);
        }
        func.blocks[b].insts = insts;
    }
    sweep(func);
}

/// Removes removable instructions without uses, and what only they use.
pub fn sweep(func: &mut Function) {
    let mut uses = func.use_counts();
    loop {
        let mut changed = false;
        // Backwards, so that a chain goes in one walk.
        for b in func.layout.clone().into_iter().rev() {
            let mut kept = std::mem::take(&mut func.blocks[b].insts);
            let all = kept.len();
            kept.reverse();
            kept.retain(|i| {
                let d = &func.insts[*i];
                let dead = d.op.is_removable() && d.results.iter().all(|r| uses[*r] == 0);
                if dead {
                    d.args.iter().for_each(|a| uses[func.resolve(*a)] -= 1);
                }
                !dead
            });
            kept.reverse();
            changed |= kept.len() < all;
            func.blocks[b].insts = kept;
        }
        if !changed {
            return;
        }
    }
}

/// A builder at the end of a block.
pub(crate) fn builder(func: &mut Function, block: Block, span: Span, precise: bool) -> Builder<'_> {
    let mut b = Builder::new(func, block);
    b.span = span;
    b.precise = precise;
    b
}
