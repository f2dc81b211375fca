//! Arithmetic on scalars and vectors: numbers, bits, truth values, relations, conversions, derivatives.

use super::binary::{Inst, R, malformed};
use super::convert::Converter;
use super::small::needs_words;
use super::types::{Kind, Num, Ty};
use super::value::{Lane, Val, trace_lane};
use retroshade_ir::inst::Imm;
use retroshade_ir::types::F16;
use retroshade_ir::{FloatCC, IntCC, Opcode, Scalar, Type, Value};
use spirv::{Decoration, Op};

impl<'m> Converter<'m> {
    /// Operands `2..2 + N` as leaves.
    fn leaves<const N: usize>(&mut self, i: &Inst<'_>) -> R<[Value; N]> {
        let mut out = Vec::new();
        for n in 0..N {
            let id = i.word(2 + n)?;
            let v = self.value_leaf(id)?;
            out.push(self.read_as(i.op, id, v));
        }
        out.try_into().map_err(|_| malformed(i.at, "too few operands"))
    }

    /// The type of operands, which must be of one.
    fn one_type(&mut self, i: &Inst<'_>, all: &[Value]) -> R<Type> {
        let t = self.func().ty(all[0]);
        if all.iter().any(|v| self.func().ty(*v) != t) {
            return Err(malformed(i.at, format_args!("{:?} on values of different types", i.op)));
        }
        Ok(t)
    }

    /// Operands of one type, which are numbers of one kind.
    fn numbers<const N: usize>(&mut self, i: &Inst<'_>, all: [Value; N], float: bool) -> R<[Value; N]> {
        let s = self.one_type(i, &all)?.scalar;
        if s.is_float() != float || s == Scalar::I1 {
            return Err(malformed(i.at, format_args!("{:?} on values of the wrong kind", i.op)));
        }
        Ok(all)
    }

    /// Operands of one type, which are truth values.
    fn truths<const N: usize>(&mut self, i: &Inst<'_>, all: [Value; N]) -> R<[Value; N]> {
        if self.one_type(i, &all)?.scalar != Scalar::I1 {
            return Err(malformed(i.at, format_args!("{:?} on values that are no truth values", i.op)));
        }
        Ok(all)
    }

    /// The operands of an operation on numbers of one kind.
    fn of_kind<const N: usize>(&mut self, i: &Inst<'_>, float: bool) -> R<[Value; N]> {
        let all = self.leaves(i)?;
        self.numbers(i, all, float)
    }

    fn truth<const N: usize>(&mut self, i: &Inst<'_>) -> R<[Value; N]> {
        let all = self.leaves(i)?;
        self.truths(i, all)
    }

    /// What is compared for being equal. Where one is a truth value and the other the number that it is in memory, both are truth values: so
    /// glslang compares structures of which one was read from a block.
    fn equals(&mut self, i: &Inst<'_>) -> R<[Value; 2]> {
        let both: [Value; 2] = self.leaves(i)?;
        let [x, y] = both.map(|v| self.func().ty(v));
        if x.lanes == y.lanes && matches!((x.scalar, y.scalar), (Scalar::I1, Scalar::I32) | (Scalar::I32, Scalar::I1)) {
            return Ok(both.map(|v| {
                let ty = self.func().ty(v);
                if ty.scalar == Scalar::I1 {
                    return v;
                }
                let zero = self.splat_const(ty, 0);
                self.b().icmp(IntCC::Ne, v, zero)
            }));
        }
        if matches!(i.op, Op::LogicalEqual | Op::LogicalNotEqual) { self.truths(i, both) } else { self.numbers(i, both, false) }
    }

    pub(crate) fn arithmetic(&mut self, i: &Inst<'m>, ty: Ty) -> R<Val> {
        if let Some(n) = i.rest(2).first().and_then(|id| self.b.small(*id)).filter(|_| needs_words(i.op)) {
            return Err(self.error("F0114", format!("Op{:?} of {}-bit integers exists on none of the machines", i.op, n.width)));
        }
        let v = self.in_words(i, ty)?;
        self.in_range(v, ty)
    }

    fn in_words(&mut self, i: &Inst<'m>, ty: Ty) -> R<Val> {
        self.precise = i.word(1).is_ok_and(|id| self.b.has(id, Decoration::NoContraction));
        if let Some(op) = float2(i.op) {
            let [x, y] = self.of_kind(i, true)?;
            return Ok(Val::Leaf(self.op2(op, x, y)));
        }
        if let Some(op) = int2(i.op) {
            let [x, y] = self.of_kind(i, false)?;
            return Ok(Val::Leaf(self.op2(op, x, y)));
        }
        if let Some(cc) = float_relation(i.op) {
            let [x, y] = self.of_kind(i, true)?;
            return Ok(Val::Leaf(self.b().fcmp(cc, x, y)));
        }
        if let Some(cc) = equality(i.op) {
            let [x, y] = self.equals(i)?;
            return Ok(Val::Leaf(self.b().icmp(cc, x, y)));
        }
        if let Some(cc) = int_relation(i.op) {
            let [x, y] = self.of_kind(i, false)?;
            return Ok(Val::Leaf(self.b().icmp(cc, x, y)));
        }
        Ok(Val::Leaf(match i.op {
            Op::FNegate => {
                let v = self.value(i.word(2)?)?;
                return self.map(&v, &mut |c, x| Ok(c.b().ins(Opcode::Fneg, &[x])));
            }
            Op::SNegate | Op::Not => {
                let [x] = self.of_kind(i, false)?;
                self.op1(if i.op == Op::Not { Opcode::Inot } else { Opcode::Ineg }, x)
            }
            Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
                let [x, y] = self.of_kind(i, false)?;
                let op = match i.op {
                    Op::ShiftLeftLogical => Opcode::Ishl,
                    Op::ShiftRightLogical => Opcode::Ushr,
                    _ => Opcode::Sshr,
                };
                self.op2(op, x, y)
            }
            Op::FRem | Op::FMod => {
                let [x, y] = self.of_kind(i, true)?;
                let q = self.op2(Opcode::Fdiv, x, y);
                let t = self.op1(if i.op == Op::FMod { Opcode::Ffloor } else { Opcode::Ftrunc }, q);
                let p = self.op2(Opcode::Fmul, t, y);
                self.op2(Opcode::Fsub, x, p)
            }
            Op::SMod => {
                let [x, y] = self.of_kind(i, false)?;
                self.floor_mod(x, y)
            }
            Op::IAddCarry | Op::ISubBorrow => {
                let [x, y] = self.of_kind(i, false)?;
                let t = self.func().ty(x);
                let (r, over) = if i.op == Op::IAddCarry {
                    let r = self.op2(Opcode::Iadd, x, y);
                    (r, self.b().icmp(IntCC::Ult, r, x))
                } else {
                    (self.op2(Opcode::Isub, x, y), self.b().icmp(IntCC::Ult, x, y))
                };
                let (one, zero) = (self.splat_const(t, 1), self.splat_const(t, 0));
                let carry = self.b().select(over, one, zero);
                return Ok(Val::agg(vec![Val::Leaf(r), Val::Leaf(carry)]));
            }
            Op::UMulExtended | Op::SMulExtended => {
                let [x, y] = self.of_kind(i, false)?;
                let low = self.op2(Opcode::Imul, x, y);
                let high = self.op2(if i.op == Op::UMulExtended { Opcode::Umulhi } else { Opcode::Smulhi }, x, y);
                return Ok(Val::agg(vec![Val::Leaf(low), Val::Leaf(high)]));
            }
            Op::VectorTimesScalar => {
                let (v, s) = (self.value_leaf(i.word(2)?)?, self.value_leaf(i.word(3)?)?);
                let (tv, ts) = (self.func().ty(v), self.func().ty(s));
                if tv.lane() != ts || !ts.is_float() {
                    return Err(malformed(i.at, "a vector and a scalar of different types"));
                }
                let s = self.splat(s, tv.lanes);
                self.op2(Opcode::Fmul, v, s)
            }
            Op::MatrixTimesScalar => {
                let s = self.value_leaf(i.word(3)?)?;
                let m = self.value(i.word(2)?)?;
                let mut out = Vec::new();
                for c in self.columns(&m)? {
                    let lanes = self.func().ty(c).lanes;
                    let s = self.splat(s, lanes);
                    out.push(self.op2(Opcode::Fmul, c, s));
                }
                return Ok(Self::matrix(out));
            }
            Op::VectorTimesMatrix => {
                let v = self.value_leaf(i.word(2)?)?;
                let m = self.value(i.word(3)?)?;
                self.vec_mat(v, &m)?
            }
            Op::MatrixTimesVector => {
                let m = self.value(i.word(2)?)?;
                let v = self.value_leaf(i.word(3)?)?;
                self.mat_vec(&m, v)?
            }
            Op::MatrixTimesMatrix => {
                let (a, b) = (self.value(i.word(2)?)?, self.value(i.word(3)?)?);
                let product = Val::Product((a, b, self.loops).into());
                // What must not be contracted must not be applied one factor after the other either.
                return if self.precise { Ok(Self::matrix(self.columns(&product)?)) } else { Ok(product) };
            }
            Op::OuterProduct => {
                let (x, y) = (self.value_leaf(i.word(2)?)?, self.value_leaf(i.word(3)?)?);
                let lanes = self.func().ty(x).lanes;
                let mut columns = Vec::new();
                for lane in self.lanes(y) {
                    let s = self.splat(lane, lanes);
                    columns.push(self.op2(Opcode::Fmul, x, s));
                }
                return Ok(Self::matrix(columns));
            }
            Op::Dot => {
                let [x, y] = self.of_kind(i, true)?;
                self.dot(x, y)
            }
            Op::SDot | Op::UDot | Op::SUDot | Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat => self.dot_integers(i)?,
            Op::LogicalAnd | Op::LogicalOr => {
                let [x, y] = self.truth(i)?;
                self.op2(if i.op == Op::LogicalAnd { Opcode::Iand } else { Opcode::Ior }, x, y)
            }
            Op::LogicalNot => {
                let [x] = self.truth(i)?;
                self.op1(Opcode::Inot, x)
            }
            Op::Any | Op::All => {
                let [x] = self.truth(i)?;
                if self.func().ty(x).is_vector() { self.op1(if i.op == Op::Any { Opcode::Any } else { Opcode::All }, x) } else { x }
            }
            Op::IsNan => {
                let [x] = self.of_kind(i, true)?;
                self.b().fcmp(FloatCC::Uno, x, x)
            }
            Op::IsInf | Op::IsFinite => {
                let [x] = self.of_kind(i, true)?;
                let a = self.op1(Opcode::Fabs, x);
                let t = self.func().ty(x);
                let inf = self.fconst(t, f32::INFINITY);
                self.b().fcmp(if i.op == Op::IsInf { FloatCC::Oeq } else { FloatCC::Olt }, a, inf)
            }
            Op::ConvertFToS
            | Op::ConvertFToU
            | Op::ConvertSToF
            | Op::ConvertUToF
            | Op::FConvert
            | Op::UConvert
            | Op::SConvert
            | Op::Bitcast => {
                let id = i.word(2)?;
                let v = self.value(id)?;
                let v = if let Val::Place(_) = v { self.force(&v)? } else { v };
                if i.op == Op::Bitcast
                    && let Some(v) = self.bitcast_small(id, &v, ty)?
                {
                    return Ok(v);
                }
                let Some(num) = ty.num() else { return Err(malformed(i.at, "a conversion to something else than numbers")) };
                return self.map(&v, &mut |c, x| {
                    let x = c.read_as(i.op, id, x);
                    c.convert_leaf(i.op, num, x)
                });
            }
            Op::QuantizeToF16 => {
                let [x] = self.of_kind(i, true)?;
                let t = self.func().ty(x);
                let small = self.b().typed(Opcode::Fcvt, F16.with_lanes(t.lanes), &[x], Imm::None);
                self.b().typed(Opcode::Fcvt, t, &[small], Imm::None)
            }
            Op::BitFieldSExtract | Op::BitFieldUExtract => {
                let x = self.value_leaf(i.word(2)?)?;
                let lanes = self.func().ty(x).lanes;
                let (o, n) = (self.value_leaf(i.word(3)?)?, self.value_leaf(i.word(4)?)?);
                self.need_integers(i, &[x, o, n])?;
                let (o, n) = (self.splat(o, lanes), self.splat(n, lanes));
                self.b().ins(if i.op == Op::BitFieldSExtract { Opcode::Sbfe } else { Opcode::Ubfe }, &[x, o, n])
            }
            Op::BitFieldInsert => {
                let (x, y) = (self.value_leaf(i.word(2)?)?, self.value_leaf(i.word(3)?)?);
                let (o, n) = (self.value_leaf(i.word(4)?)?, self.value_leaf(i.word(5)?)?);
                self.need_integers(i, &[x, y, o, n])?;
                let lanes = self.func().ty(x).lanes;
                let (o, n) = (self.splat(o, lanes), self.splat(n, lanes));
                self.b().ins(Opcode::Bfi, &[x, y, o, n])
            }
            Op::BitReverse | Op::BitCount => {
                let [x] = self.of_kind(i, false)?;
                self.op1(if i.op == Op::BitCount { Opcode::Bitcount } else { Opcode::Bitrev }, x)
            }
            op if derivative(op).is_some() => {
                let [x] = self.of_kind(i, true)?;
                let (axis, hint) = derivative(op).unwrap_or((Axis::X, 0));
                let mut d = |op| self.b().ins_imm(op, &[x], Imm::Hint(hint));
                match axis {
                    Axis::X => d(Opcode::Ddx),
                    Axis::Y => d(Opcode::Ddy),
                    Axis::Both => {
                        let (x, y) = (d(Opcode::Ddx), d(Opcode::Ddy));
                        let (x, y) = (self.op1(Opcode::Fabs, x), self.op1(Opcode::Fabs, y));
                        self.op2(Opcode::Fadd, x, y)
                    }
                }
            }
            op => return Err(self.refused(op)),
        }))
    }

    pub(crate) fn need_integers(&mut self, i: &Inst<'_>, all: &[Value]) -> R<()> {
        for v in all {
            if self.func().ty(*v).scalar != Scalar::I32 {
                return Err(malformed(i.at, format_args!("{:?} on values of the wrong kind", i.op)));
            }
        }
        Ok(())
    }

    /// The remainder with the divisor's sign.
    fn floor_mod(&mut self, x: Value, y: Value) -> Value {
        let t = self.func().ty(y);
        let bits: Vec<Option<u32>> =
            (0..t.lanes).map(|n| if let Lane::Bits(b) = trace_lane(self.func(), y, n) { Some(b) } else { None }).collect();
        if bits.iter().all(|b| b.is_some_and(|b| b.is_power_of_two() && b < 1 << 31)) {
            let one = self.splat_const(t, 1);
            let mask = self.op2(Opcode::Isub, y, one);
            return self.op2(Opcode::Iand, x, mask);
        }
        let r = self.op2(Opcode::Srem, x, y);
        let zero = self.splat_const(t, 0);
        // Where the signs of remainder and divisor differ, one more divisor.
        let differ = if bits.iter().all(|b| b.is_some_and(|b| (b as i32) > 0)) {
            self.b().icmp(IntCC::Slt, r, zero)
        } else {
            let signs = self.op2(Opcode::Ixor, r, y);
            let differ = self.b().icmp(IntCC::Slt, signs, zero);
            let some = self.b().icmp(IntCC::Ne, r, zero);
            self.op2(Opcode::Iand, differ, some)
        };
        let up = self.op2(Opcode::Iadd, r, y);
        self.b().select(differ, up, r)
    }

    /// Dot products of integers: of vectors, or of four bytes in a word.
    fn dot_integers(&mut self, i: &Inst<'_>) -> R<Value> {
        let [x, y] = self.of_kind(i, false)?;
        if matches!(i.op, Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat) {
            return Err(self.error("F0130", format!("the operation Op{:?} exists on none of the machines", i.op)));
        }
        if self.func().ty(x).is_vector() {
            let p = self.op2(Opcode::Imul, x, y);
            return Ok(self.sum(p));
        }
        let (a, b) = match i.op {
            Op::SDot => (Opcode::Sbfe, Opcode::Sbfe),
            Op::UDot => (Opcode::Ubfe, Opcode::Ubfe),
            _ => (Opcode::Sbfe, Opcode::Ubfe),
        };
        Ok(self.dot_packed(a, b, x, y))
    }

    fn convert_leaf(&mut self, op: Op, to: Num, x: Value) -> R<Value> {
        let from = self.func().ty(x);
        let scalar = self.ir_ty(Ty::Scalar(to))?.scalar;
        let out = from.with_scalar(scalar);
        if from.scalar == Scalar::I1 || to.kind == Kind::Bool {
            return Err(malformed(self.at, "a conversion of truth values"));
        }
        let floats = matches!(op, Op::ConvertFToS | Op::ConvertFToU | Op::FConvert);
        if op != Op::Bitcast && floats != from.is_float() {
            return Err(malformed(self.at, format_args!("{op:?} on values of the wrong kind")));
        }
        let op = match op {
            Op::ConvertFToS => Opcode::F2s,
            Op::ConvertFToU => Opcode::F2u,
            Op::ConvertSToF => Opcode::S2f,
            Op::ConvertUToF => Opcode::U2f,
            Op::FConvert if from == out => return Ok(x),
            Op::FConvert => Opcode::Fcvt,
            Op::Bitcast if from != out => Opcode::Bitcast,
            _ => return Ok(x),
        };
        Ok(self.b().typed(op, out, &[x], Imm::None))
    }
}

#[derive(Clone, Copy)]
enum Axis {
    X,
    Y,
    Both,
}

fn derivative(op: Op) -> Option<(Axis, u8)> {
    Some(match op {
        Op::DPdx => (Axis::X, 0),
        Op::DPdy => (Axis::Y, 0),
        Op::Fwidth => (Axis::Both, 0),
        Op::DPdxCoarse => (Axis::X, 1),
        Op::DPdyCoarse => (Axis::Y, 1),
        Op::FwidthCoarse => (Axis::Both, 1),
        Op::DPdxFine => (Axis::X, 2),
        Op::DPdyFine => (Axis::Y, 2),
        Op::FwidthFine => (Axis::Both, 2),
        _ => return None,
    })
}

fn float2(op: Op) -> Option<Opcode> {
    Some(match op {
        Op::FAdd => Opcode::Fadd,
        Op::FSub => Opcode::Fsub,
        Op::FMul => Opcode::Fmul,
        Op::FDiv => Opcode::Fdiv,
        _ => return None,
    })
}

fn int2(op: Op) -> Option<Opcode> {
    Some(match op {
        Op::IAdd => Opcode::Iadd,
        Op::ISub => Opcode::Isub,
        Op::IMul => Opcode::Imul,
        Op::UDiv => Opcode::Udiv,
        Op::SDiv => Opcode::Sdiv,
        Op::UMod => Opcode::Urem,
        Op::SRem => Opcode::Srem,
        Op::BitwiseAnd => Opcode::Iand,
        Op::BitwiseOr => Opcode::Ior,
        Op::BitwiseXor => Opcode::Ixor,
        _ => return None,
    })
}

fn float_relation(op: Op) -> Option<FloatCC> {
    Some(match op {
        Op::FOrdEqual => FloatCC::Oeq,
        Op::FUnordEqual => FloatCC::Ueq,
        Op::FOrdNotEqual | Op::LessOrGreater => FloatCC::One,
        Op::FUnordNotEqual => FloatCC::Une,
        Op::FOrdLessThan => FloatCC::Olt,
        Op::FUnordLessThan => FloatCC::Ult,
        Op::FOrdGreaterThan => FloatCC::Ogt,
        Op::FUnordGreaterThan => FloatCC::Ugt,
        Op::FOrdLessThanEqual => FloatCC::Ole,
        Op::FUnordLessThanEqual => FloatCC::Ule,
        Op::FOrdGreaterThanEqual => FloatCC::Oge,
        Op::FUnordGreaterThanEqual => FloatCC::Uge,
        Op::Ordered => FloatCC::Ord,
        Op::Unordered => FloatCC::Uno,
        _ => return None,
    })
}

/// Relations of integers or truth values.
fn equality(op: Op) -> Option<IntCC> {
    Some(match op {
        Op::IEqual | Op::LogicalEqual => IntCC::Eq,
        Op::INotEqual | Op::LogicalNotEqual => IntCC::Ne,
        _ => return None,
    })
}

fn int_relation(op: Op) -> Option<IntCC> {
    Some(match op {
        Op::UGreaterThan => IntCC::Ugt,
        Op::SGreaterThan => IntCC::Sgt,
        Op::UGreaterThanEqual => IntCC::Uge,
        Op::SGreaterThanEqual => IntCC::Sge,
        Op::ULessThan => IntCC::Ult,
        Op::SLessThan => IntCC::Slt,
        Op::ULessThanEqual => IntCC::Ule,
        Op::SLessThanEqual => IntCC::Sle,
        _ => return None,
    })
}
