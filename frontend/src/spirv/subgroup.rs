//! Subgroups of one invocation each, which the languages allow: every operation gives what it is given (docs/binding.md).

use super::binary::{Inst, R};
use super::convert::Converter;
use super::types::{Kind, Ty};
use super::value::Val;
use retroshade_ir::{Opcode, Stage, Value};
use spirv::{BuiltIn, Op};

/// The group operation that leaves the invocation itself out.
const EXCLUSIVE: [u32; 2] = [2, 8];

impl<'m> Converter<'m> {
    /// What a builtin of subgroups holds.
    pub(crate) fn subgroup_builtin(&mut self, b: BuiltIn, ty: Ty) -> R<Option<Value>> {
        let t = self.ir_ty(ty)?;
        let first = |c: &mut Self, bits: u32| c.constant(t, [bits, 0, 0, 0]);
        Ok(Some(match b {
            BuiltIn::SubgroupSize => first(self, 1),
            BuiltIn::SubgroupLocalInvocationId => first(self, 0),
            BuiltIn::SubgroupEqMask | BuiltIn::SubgroupGeMask | BuiltIn::SubgroupLeMask => first(self, 1),
            BuiltIn::SubgroupGtMask | BuiltIn::SubgroupLtMask => first(self, 0),
            BuiltIn::NumSubgroups if self.out.stage == Stage::Compute => {
                let all = self.out.workgroup_size.iter().fold(1u32, |n, s| n.saturating_mul(*s));
                first(self, all)
            }
            BuiltIn::SubgroupId if self.out.stage == Stage::Compute => self.local_index(),
            _ => return Ok(None),
        }))
    }

    /// A bit for the one invocation that there is.
    fn ballot(&mut self, is: Value, ty: Ty) -> R<Val> {
        let t = self.ir_ty(ty)?;
        let (one, zero) = (self.iconst(1), self.iconst(0));
        let bit = self.b().select(is, one, zero);
        let lanes: Vec<Value> = (0..t.lanes).map(|n| if n == 0 { bit } else { zero }).collect();
        Ok(Val::Leaf(self.vector(&lanes)))
    }

    fn truth_of(&mut self, yes: bool) -> Value {
        self.splat_const(retroshade_ir::types::I1, yes.into())
    }

    /// The value of a subgroup operation; none: it is no such operation.
    pub(crate) fn subgroup(&mut self, i: &Inst<'m>, ty: Ty) -> R<Option<Val>> {
        let operand = |n: usize| i.word(2 + n);
        Ok(Some(match i.op {
            Op::GroupNonUniformElect => Val::Leaf(self.truth_of(true)),
            Op::GroupNonUniformAllEqual => Val::Leaf(self.truth_of(true)),
            Op::SubgroupAllEqualKHR => Val::Leaf(self.truth_of(true)),
            Op::GroupNonUniformAll
            | Op::GroupNonUniformAny
            | Op::GroupAll
            | Op::GroupAny
            | Op::GroupBroadcast
            | Op::GroupNonUniformBroadcast
            | Op::GroupNonUniformBroadcastFirst
            | Op::GroupNonUniformShuffle
            | Op::GroupNonUniformShuffleXor
            | Op::GroupNonUniformShuffleUp
            | Op::GroupNonUniformShuffleDown
            | Op::GroupNonUniformRotateKHR => self.value(operand(1)?)?,
            Op::SubgroupAllKHR | Op::SubgroupAnyKHR | Op::SubgroupFirstInvocationKHR | Op::SubgroupReadInvocationKHR => {
                self.value(operand(0)?)?
            }
            Op::GroupNonUniformBallot => {
                let is = self.value_leaf(operand(1)?)?;
                self.ballot(is, ty)?
            }
            Op::SubgroupBallotKHR => {
                let is = self.value_leaf(operand(0)?)?;
                self.ballot(is, ty)?
            }
            Op::GroupNonUniformPartitionNV => {
                let yes = self.truth_of(true);
                self.ballot(yes, ty)?
            }
            Op::GroupNonUniformInverseBallot => {
                let mask = self.value_leaf(operand(1)?)?;
                let zero = self.iconst(0);
                Val::Leaf(self.mask_bit(mask, zero))
            }
            Op::GroupNonUniformBallotBitExtract => {
                let (mask, at) = (self.value_leaf(operand(1)?)?, self.value_leaf(operand(2)?)?);
                Val::Leaf(self.mask_bit(mask, at))
            }
            Op::GroupNonUniformBallotBitCount => {
                let mask = self.value_leaf(operand(2)?)?;
                let first = self.lane(mask, 0);
                let k = self.iconst(u32::from(!EXCLUSIVE.contains(&operand(1)?)));
                Val::Leaf(self.op2(Opcode::Iand, first, k))
            }
            Op::GroupNonUniformBallotFindLSB | Op::GroupNonUniformBallotFindMSB => Val::Leaf(self.iconst(0)),
            op => {
                let Some(nothing) = neutral(op, ty) else { return Ok(None) };
                let v = self.value(operand(2)?)?;
                if EXCLUSIVE.contains(&operand(1)?) {
                    let t = self.ir_ty(ty)?;
                    let width = ty.num().map_or(32, |n| n.width);
                    Val::Leaf(match nothing {
                        // The greatest and the least number of a smaller type.
                        Neutral::Bits(bits) if width < 32 && matches!(bits, LEAST | GREATEST) => {
                            self.splat_const(t, (bits as i32 >> (32 - width)) as u32)
                        }
                        Neutral::Bits(bits) => {
                            let v = self.splat_const(t, bits);
                            ty.num().map_or(v, |n| self.wrap(v, n))
                        }
                        Neutral::Float(x) => self.fconst(t, x),
                    })
                } else {
                    v
                }
            }
        }))
    }

    /// Whether a bit of a mask of four words is set.
    fn mask_bit(&mut self, mask: Value, at: Value) -> Value {
        let (five, low) = (self.iconst(5), self.iconst(31));
        let word = self.op2(Opcode::Ushr, at, five);
        let step = self.known(word).map_or(super::place::Step::Dyn(word), super::place::Step::Const);
        let word = self.lane_at(mask, step);
        let bit = self.op2(Opcode::Iand, at, low);
        let down = self.op2(Opcode::Ushr, word, bit);
        let (one, zero) = (self.iconst(1), self.iconst(0));
        let is = self.op2(Opcode::Iand, down, one);
        self.b().icmp(retroshade_ir::IntCC::Ne, is, zero)
    }
}

/// The greatest signed word.
const GREATEST: u32 = i32::MAX as u32;
/// The least signed word.
const LEAST: u32 = i32::MIN as u32;

/// What an operation over no invocations gives.
enum Neutral {
    Bits(u32),
    Float(f32),
}

fn neutral(op: Op, ty: Ty) -> Option<Neutral> {
    Some(match op {
        Op::GroupNonUniformIAdd
        | Op::GroupIAdd
        | Op::GroupIAddNonUniformAMD
        | Op::GroupUMax
        | Op::GroupUMaxNonUniformAMD
        | Op::GroupNonUniformUMax
        | Op::GroupNonUniformBitwiseOr
        | Op::GroupNonUniformBitwiseXor
        | Op::GroupNonUniformLogicalOr
        | Op::GroupNonUniformLogicalXor => Neutral::Bits(0),
        Op::GroupNonUniformIMul | Op::GroupNonUniformLogicalAnd => Neutral::Bits(1),
        Op::GroupNonUniformBitwiseAnd if ty.kind() == Kind::Bool => Neutral::Bits(1),
        Op::GroupNonUniformUMin | Op::GroupUMin | Op::GroupUMinNonUniformAMD | Op::GroupNonUniformBitwiseAnd => Neutral::Bits(u32::MAX),
        Op::GroupNonUniformSMin | Op::GroupSMin | Op::GroupSMinNonUniformAMD => Neutral::Bits(GREATEST),
        Op::GroupNonUniformSMax | Op::GroupSMax | Op::GroupSMaxNonUniformAMD => Neutral::Bits(LEAST),
        Op::GroupNonUniformFAdd | Op::GroupFAdd | Op::GroupFAddNonUniformAMD => Neutral::Float(0.0),
        Op::GroupNonUniformFMul => Neutral::Float(1.0),
        Op::GroupNonUniformFMin | Op::GroupFMin | Op::GroupFMinNonUniformAMD => Neutral::Float(f32::INFINITY),
        Op::GroupNonUniformFMax | Op::GroupFMax | Op::GroupFMaxNonUniformAMD => Neutral::Float(f32::NEG_INFINITY),
        _ => return None,
    })
}

/// Whether an operation is one of subgroups.
pub(crate) fn is_subgroup(op: Op) -> bool {
    let n = op as u32;
    (Op::GroupNonUniformElect as u32..=Op::GroupNonUniformLogicalXor as u32).contains(&n)
        || (Op::GroupAll as u32..=Op::GroupSMax as u32).contains(&n)
        || (Op::GroupIAddNonUniformAMD as u32..=Op::GroupSMaxNonUniformAMD as u32).contains(&n)
        || matches!(
            op,
            Op::GroupNonUniformPartitionNV
                | Op::GroupNonUniformRotateKHR
                | Op::SubgroupBallotKHR
                | Op::SubgroupFirstInvocationKHR
                | Op::SubgroupAllKHR
                | Op::SubgroupAnyKHR
                | Op::SubgroupAllEqualKHR
                | Op::SubgroupReadInvocationKHR
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_subgroups_is_known() {
        assert!(
            is_subgroup(Op::GroupNonUniformElect)
                && is_subgroup(Op::GroupNonUniformLogicalXor)
                && !is_subgroup(Op::GroupNonUniformQuadSwap)
        );
    }
}
