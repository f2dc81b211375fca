//! Integers of 8 and 16 bits: words whose upper bits follow from the lower ones by the sign of the type, as the machines have only words.
//!
//! Every operation brings its result back into that form; one that reads its operands with the other sign than their types have changes
//! them first. Bits are taken across such numbers, halves and words by putting them side by side in words.

use super::binary::{Id, R, malformed};
use super::convert::Converter;
use super::types::{Kind, Num, Ty};
use super::value::Val;
use retroshade_ir::inst::Imm;
use retroshade_ir::types::{F32, I32, Scalar};
use retroshade_ir::{Opcode, Value};
use spirv::{GlslStd450Op as G, Op};

/// The sign with which an operation reads its operands, where that matters.
pub(crate) fn reading(op: Op) -> Option<Kind> {
    Some(match op {
        Op::UDiv
        | Op::UMod
        | Op::ULessThan
        | Op::ULessThanEqual
        | Op::UGreaterThan
        | Op::UGreaterThanEqual
        | Op::ShiftRightLogical
        | Op::UConvert
        | Op::ConvertUToF
        | Op::BitCount
        | Op::IEqual
        | Op::INotEqual => Kind::Unsigned,
        Op::SDiv
        | Op::SRem
        | Op::SMod
        | Op::SLessThan
        | Op::SLessThanEqual
        | Op::SGreaterThan
        | Op::SGreaterThanEqual
        | Op::ShiftRightArithmetic
        | Op::SConvert
        | Op::ConvertSToF => Kind::Signed,
        _ => return None,
    })
}

/// As [`reading`], of GLSL's instructions.
fn reading_of_glsl(op: G) -> Option<Kind> {
    Some(match op {
        G::UMin | G::UMax | G::UClamp | G::FindUMsb => Kind::Unsigned,
        G::SAbs | G::SSign | G::SMin | G::SMax | G::SClamp | G::FindSMsb => Kind::Signed,
        _ => return None,
    })
}

/// Whether an operation means another one on smaller integers than on words.
pub(crate) fn needs_words(op: Op) -> bool {
    matches!(
        op,
        Op::IAddCarry
            | Op::ISubBorrow
            | Op::UMulExtended
            | Op::SMulExtended
            | Op::BitFieldInsert
            | Op::BitFieldSExtract
            | Op::BitFieldUExtract
            | Op::BitReverse
            | Op::SDot
            | Op::UDot
            | Op::SUDot
    )
}

impl Converter<'_> {
    /// A word as an integer of a smaller type.
    pub(crate) fn wrap(&mut self, v: Value, n: Num) -> Value {
        let t = self.func().ty(v);
        if !n.is_small() || t.scalar != Scalar::I32 {
            return v;
        }
        if n.kind == Kind::Unsigned {
            let mask = self.splat_const(t, n.mask());
            return self.op2(Opcode::Iand, v, mask);
        }
        let (from, bits) = (self.splat_const(t, 0), self.splat_const(t, n.width));
        self.b().ins(Opcode::Sbfe, &[v, from, bits])
    }

    /// A value as its type has it.
    pub(crate) fn in_range(&mut self, v: Val, ty: Ty) -> R<Val> {
        match ty.num() {
            Some(n) if n.is_small() => self.map(&v, &mut |c, x| Ok(c.wrap(x, n))),
            _ => Ok(v),
        }
    }

    fn read_with(&mut self, sign: Option<Kind>, id: Id, v: Value) -> Value {
        match (sign, self.b.small(id)) {
            (Some(kind), Some(n)) if n.kind != kind => self.wrap(v, Num { kind, ..n }),
            _ => v,
        }
    }

    /// An operand as its operation reads it.
    pub(crate) fn read_as(&mut self, op: Op, id: Id, v: Value) -> Value {
        self.read_with(reading(op), id, v)
    }

    /// An operand as an instruction of GLSL's set reads it.
    pub(crate) fn read_as_glsl(&mut self, op: G, id: Id, v: Value) -> Value {
        self.read_with(reading_of_glsl(op), id, v)
    }

    /// `OpBitcast` where numbers that are smaller than a word take part; none where only words do.
    pub(crate) fn bitcast_small(&mut self, id: Id, v: &Val, to: Ty) -> R<Option<Val>> {
        let Val::Leaf(x) = *v else { return Ok(None) };
        let t = self.func().ty(x);
        let from = match (self.b.small(id), t.scalar) {
            (Some(n), _) => n.width,
            (None, Scalar::F16) => 16,
            _ => 32,
        };
        let (Some(num), true) = (to.num(), to.is_leaf()) else { return Ok(None) };
        if from == 32 && num.width == 32 || t.scalar == Scalar::I1 || num.kind == Kind::Bool {
            return Ok(None);
        }
        let want = self.ir_ty(to)?;
        if u32::from(t.lanes) * from != u32::from(want.lanes) * num.width {
            return Err(malformed(self.at, "bits of another size than the type's"));
        }
        let lanes = self.raw(x, from);
        let words: Vec<Value> = lanes.chunks(32 / from as usize).map(|l| self.side_by_side(l, from)).collect();
        let mut out = Vec::new();
        for n in 0..u32::from(want.lanes) {
            let at = n * num.width;
            let word = words[(at / 32) as usize];
            let shift = self.iconst(at % 32);
            out.push(self.number_in_word(word, shift, num));
        }
        let v = self.vector(&out);
        Ok(Some(Val::Leaf(if want.scalar == Scalar::F16 { self.b().typed(Opcode::Fcvt, want, &[v], Imm::None) } else { v })))
    }

    /// The lanes of a value as bits at the bottom of words, of `width` each.
    pub(crate) fn raw(&mut self, v: Value, width: u32) -> Vec<Value> {
        let t = self.func().ty(v);
        if t.scalar == Scalar::F16 {
            let zero = self.fconst(F32, 0.0);
            let wide = self.b().typed(Opcode::Fcvt, t.with_scalar(Scalar::F32), &[v], Imm::None);
            let lanes = self.lanes(wide);
            return lanes
                .into_iter()
                .map(|l| {
                    let both = self.vector(&[l, zero]);
                    self.b().typed(Opcode::PackHalf2x16, I32, &[both], Imm::None)
                })
                .collect();
        }
        let v = if t.is_float() { self.b().typed(Opcode::Bitcast, t.with_scalar(Scalar::I32), &[v], Imm::None) } else { v };
        let v = self.wrap(v, Num { kind: Kind::Unsigned, width });
        self.lanes(v)
    }

    /// Bits at the bottom of words, side by side in one.
    pub(crate) fn side_by_side(&mut self, lanes: &[Value], width: u32) -> Value {
        let mut word = lanes[0];
        for (n, l) in (1u32..).zip(&lanes[1..]) {
            let up = self.iconst(n * width);
            let l = self.op2(Opcode::Ishl, *l, up);
            word = self.op2(Opcode::Ior, word, l);
        }
        word
    }

    /// As [`Converter::number_in_word`], at a known bit.
    pub(crate) fn number_at(&mut self, word: Value, bit: u32, n: Num) -> Value {
        if n.is_half() && bit.is_multiple_of(16) {
            let both = self.b().typed(Opcode::UnpackHalf2x16, F32.with_lanes(2), &[word], Imm::None);
            return self.lane(both, (bit / 16) as u8);
        }
        let shift = self.iconst(bit);
        self.number_in_word(word, shift, n)
    }

    /// A number that begins at a bit of a word; a half as a float.
    pub(crate) fn number_in_word(&mut self, word: Value, shift: Value, n: Num) -> Value {
        if n.width == 32 {
            return if n.kind == Kind::Float { self.b().typed(Opcode::Bitcast, F32, &[word], Imm::None) } else { word };
        }
        if n.kind == Kind::Float {
            let low = self.op2(Opcode::Ushr, word, shift);
            let both = self.b().typed(Opcode::UnpackHalf2x16, F32.with_lanes(2), &[low], Imm::None);
            return self.lane(both, 0);
        }
        let bits = self.iconst(n.width);
        self.b().ins(if n.kind == Kind::Signed { Opcode::Sbfe } else { Opcode::Ubfe }, &[word, shift, bits])
    }
}
