//! Operations of subgroups.

use super::builder::Id;
use super::func::Val;
use super::writer::{R, Writer};
use naga::{CollectiveOperation, Expression, GatherMode, Handle, ScalarKind, SubgroupOperation};
use spirv::{GroupOperation, Op};

impl Writer<'_> {
    /// An operation among the invocations of a subgroup.
    fn in_subgroup(&mut self, op: Op, operands: &[Id], result: Handle<Expression>) {
        let ty = self.type_of(result);
        let scope = self.out.word(spirv::Scope::Subgroup as u32);
        let id = self.op(op, ty, &[&[scope], operands].concat());
        self.code.values[result.index()] = Some(Val::Id(id));
    }

    /// Which invocations say yes.
    pub(super) fn ballot(&mut self, result: Handle<Expression>, predicate: Option<Handle<Expression>>) -> R<()> {
        let yes = match predicate {
            Some(p) => self.value(p)?,
            None => self.out.number(naga::Scalar::BOOL, 1),
        };
        self.in_subgroup(Op::GroupNonUniformBallot, &[yes], result);
        Ok(())
    }

    /// A value of another invocation.
    pub(super) fn gather(&mut self, mode: &GatherMode, argument: Handle<Expression>, result: Handle<Expression>) -> R<()> {
        let (op, from) = match mode {
            GatherMode::BroadcastFirst => (Op::GroupNonUniformBroadcastFirst, None),
            GatherMode::Broadcast(n) => (Op::GroupNonUniformBroadcast, Some(self.value(*n)?)),
            GatherMode::Shuffle(n) => (Op::GroupNonUniformShuffle, Some(self.value(*n)?)),
            GatherMode::ShuffleDown(n) => (Op::GroupNonUniformShuffleDown, Some(self.value(*n)?)),
            GatherMode::ShuffleUp(n) => (Op::GroupNonUniformShuffleUp, Some(self.value(*n)?)),
            GatherMode::ShuffleXor(n) => (Op::GroupNonUniformShuffleXor, Some(self.value(*n)?)),
            GatherMode::QuadBroadcast(n) => (Op::GroupNonUniformQuadBroadcast, Some(self.value(*n)?)),
            GatherMode::QuadSwap(direction) => (Op::GroupNonUniformQuadSwap, Some(self.out.word(*direction as u32))),
        };
        let mut operands = vec![self.value(argument)?];
        operands.extend(from);
        self.in_subgroup(op, &operands, result);
        Ok(())
    }

    /// A value of all invocations together, or of those up to this one.
    pub(super) fn collective(
        &mut self,
        op: SubgroupOperation,
        over: CollectiveOperation,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> R<()> {
        use ScalarKind::{Bool, Float, Sint};
        let v = self.value(argument)?;
        let op = match (op, self.numeric_of(argument)?.1.kind) {
            (SubgroupOperation::All, _) => {
                self.in_subgroup(Op::GroupNonUniformAll, &[v], result);
                return Ok(());
            }
            (SubgroupOperation::Any, _) => {
                self.in_subgroup(Op::GroupNonUniformAny, &[v], result);
                return Ok(());
            }
            (SubgroupOperation::Add, Float) => Op::GroupNonUniformFAdd,
            (SubgroupOperation::Add, _) => Op::GroupNonUniformIAdd,
            (SubgroupOperation::Mul, Float) => Op::GroupNonUniformFMul,
            (SubgroupOperation::Mul, _) => Op::GroupNonUniformIMul,
            (SubgroupOperation::Min, Float) => Op::GroupNonUniformFMin,
            (SubgroupOperation::Min, Sint) => Op::GroupNonUniformSMin,
            (SubgroupOperation::Min, _) => Op::GroupNonUniformUMin,
            (SubgroupOperation::Max, Float) => Op::GroupNonUniformFMax,
            (SubgroupOperation::Max, Sint) => Op::GroupNonUniformSMax,
            (SubgroupOperation::Max, _) => Op::GroupNonUniformUMax,
            (SubgroupOperation::And, Bool) => Op::GroupNonUniformLogicalAnd,
            (SubgroupOperation::And, _) => Op::GroupNonUniformBitwiseAnd,
            (SubgroupOperation::Or, Bool) => Op::GroupNonUniformLogicalOr,
            (SubgroupOperation::Or, _) => Op::GroupNonUniformBitwiseOr,
            (SubgroupOperation::Xor, Bool) => Op::GroupNonUniformLogicalXor,
            (SubgroupOperation::Xor, _) => Op::GroupNonUniformBitwiseXor,
        };
        let over = match over {
            CollectiveOperation::Reduce => GroupOperation::Reduce,
            CollectiveOperation::InclusiveScan => GroupOperation::InclusiveScan,
            CollectiveOperation::ExclusiveScan => GroupOperation::ExclusiveScan,
        };
        self.in_subgroup(op, &[over as u32, v], result);
        Ok(())
    }
}
