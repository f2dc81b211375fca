//! Undefined values take whatever is cheapest.

use super::super::algebra::Facts;
use super::super::rewrite::make_undef;
use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::inst::{Imm, IntCC};
use crate::opcode::Opcode;
use crate::types::Scalar;

/// What an operation on an undefined value becomes.
pub(super) fn visit(b: &mut Builder, i: Inst, facts: &Facts) -> Option<Value> {
    use Opcode::*;
    let d = &b.func.insts[i];
    let undefined = |v: &Value| b.func.def_if(*v, Undef).is_some();
    if !d.args.iter().any(undefined) {
        return None;
    }
    let (op, args) = (d.op, d.args.clone());
    let ty = b.func.ty(b.func.result(i)?);
    let first = undefined(&args[0]);
    match op {
        // What is known decides.
        Select if b.func.const_bits(args[0]).is_some() => None,
        // A choice with an undefined side is the other side, and so is one by an undefined condition.
        Select if undefined(&args[1]) => Some(args[2]),
        Select if undefined(&args[2]) || first => Some(args[1]),
        // The choice that makes the result a constant.
        Iand | Imul | Umin | Umulhi => Some(b.splat_const(ty, 0)),
        Ior | Umax => Some(b.splat_const(ty, if ty.scalar == Scalar::I1 { 1 } else { u32::MAX })),
        // A comparison comes out as the code behind it is least: an undefined index meets no element, so that nothing need be stored.
        Icmp | Fcmp => {
            let holds = match &b.func.insts[i].imm {
                // Equal operands are neither less nor greater, and a NaN settles every comparison of floats.
                Imm::IntCC(cc) => matches!(cc, IntCC::Ne | IntCC::Sle | IntCC::Sge | IntCC::Ule | IntCC::Uge),
                Imm::FloatCC(cc) => cc.when_unordered(),
                _ => return None,
            };
            Some(b.splat_const(ty, u32::from(holds)))
        }
        // Whatever the other operand is, every result is possible.
        Iadd | Isub | Ixor | Inot | Ineg | Fneg => Some(make_undef(b, ty)),
        Fadd | Fsub | Fmul | Fdiv | Fma | Fmad => Some(make_undef(b, ty)),
        Splat | Extract => Some(make_undef(b, ty)),
        Insert if undefined(&args[1]) => Some(args[0]),
        Bitcast if b.func.ty(args[0]).lanes == ty.lanes => Some(make_undef(b, ty)),
        Build if args.iter().all(undefined) => Some(make_undef(b, ty)),
        Shuffle if args.iter().all(undefined) => Some(make_undef(b, ty)),
        Shuffle if undefined(&args[1]) => {
            let Imm::Lanes(mask) = &b.func.insts[i].imm else { return None };
            let width = b.func.ty(args[0]).lanes;
            let mask: smallvec::SmallVec<[u8; 4]> = mask.iter().map(|m| if *m < width { *m } else { 0 }).collect();
            Some(b.shuffle(args[0], args[0], &mask))
        }
        // A vector that is otherwise one scalar in all lanes. (Where lanes are values of their own, the others stay undefined.)
        Build if !facts.lanes_apart => {
            let defined = args.iter().copied().find(|v| !undefined(v))?;
            let all = args.iter().all(|v| undefined(v) || *v == defined);
            all.then(|| b.splat(defined, ty.lanes))
        }
        _ => None,
    }
}
