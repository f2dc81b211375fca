//! Integer and bit rules. All exact.

use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::inst::{Imm, IntCC};
use crate::opcode::Opcode;
use crate::passes::rewrite::{Action, splat_bits};
use crate::types::Scalar;

/// One instruction.
pub(super) fn visit(b: &mut Builder, i: Inst) -> Action {
    use Opcode::*;
    let d = b.func.insts[i].clone();
    let Some(result) = b.func.result(i) else { return Action::Keep };
    let ty = b.func.ty(result);
    let ones = if ty.scalar == Scalar::I1 { 1 } else { u32::MAX };
    let x = d.args[0];
    let (cx, cy) = (splat_bits(b.func, x), d.args.get(1).and_then(|v| splat_bits(b.func, *v)));
    // Constants stand on the right.
    if d.op.is_commutative() && cx.is_some() && cy.is_none() {
        return Action::Replace(b.ins(d.op, &[d.args[1], x]));
    }
    let zero = |b: &mut Builder| Action::Replace(b.splat_const(ty, 0));
    match (d.op, cy) {
        (Iadd | Isub | Ior | Ixor | Ishl | Ushr | Sshr, Some(0)) => return Action::Replace(x),
        (Ishl | Ushr | Sshr, Some(n)) if n >= 32 => {
            let n = b.iconst(ty, n & 31);
            return Action::Replace(b.ins(d.op, &[x, n]));
        }
        (Iand, Some(0)) | (Imul, Some(0)) | (Umulhi, Some(0 | 1)) | (Urem, Some(1)) => return zero(b),
        (Iand, Some(m)) if m == ones => return Action::Replace(x),
        (Ior, Some(m)) if m == ones => return Action::Replace(b.splat_const(ty, ones)),
        (Ixor, Some(m)) if m == ones => return Action::Replace(b.ins(Inot, &[x])),
        (Imul | Udiv | Sdiv, Some(1)) => return Action::Replace(x),
        (Imul, Some(u32::MAX)) => return Action::Replace(b.ins(Ineg, &[x])),
        (Imul, Some(c)) if c.is_power_of_two() => {
            let n = b.iconst(ty, c.trailing_zeros());
            return Action::Replace(b.ins(Ishl, &[x, n]));
        }
        (Udiv, Some(c)) if c.is_power_of_two() => {
            let n = b.iconst(ty, c.trailing_zeros());
            return Action::Replace(b.ins(Ushr, &[x, n]));
        }
        (Urem, Some(c)) if c.is_power_of_two() => {
            let n = b.iconst(ty, c - 1);
            return Action::Replace(b.ins(Iand, &[x, n]));
        }
        (Isub, Some(c)) => {
            let n = b.iconst(ty, c.wrapping_neg());
            return Action::Replace(b.ins(Iadd, &[x, n]));
        }
        (Umin, Some(0)) => return zero(b),
        (Umax, Some(0)) => return Action::Replace(x),
        // Two constants in a chain are one.
        (Iadd | Iand | Ior | Ixor | Imul, Some(c)) => {
            if let Some((v, c0)) = with_const(b.func, x, d.op) {
                let folded = crate::interp::ops::int_binary(d.op, c0, c);
                let n = b.iconst(ty, folded & ones);
                return Action::Replace(b.ins(d.op, &[v, n]));
            }
        }
        (Ishl | Ushr | Sshr, Some(c)) => {
            if let Some((v, c0)) = with_const(b.func, x, d.op) {
                let sum = c + (c0 & 31);
                if sum < 32 {
                    let n = b.iconst(ty, sum);
                    return Action::Replace(b.ins(d.op, &[v, n]));
                }
                if d.op != Sshr {
                    return zero(b);
                }
                let n = b.iconst(ty, 31);
                return Action::Replace(b.ins(Sshr, &[v, n]));
            }
        }
        _ => {}
    }
    if let Some(y) = d.args.get(1).copied()
        && x == y
    {
        match d.op {
            Isub | Ixor => return zero(b),
            Iand | Ior | Umin | Umax | Smin | Smax => return Action::Replace(x),
            _ => {}
        }
    }
    match d.op {
        Isub if cx == Some(0) => return Action::Replace(b.ins(Ineg, &[d.args[1]])),
        Isub => {
            if let Some(n) = b.func.def_if(d.args[1], Ineg) {
                let n = n.args[0];
                return Action::Replace(b.ins(Iadd, &[x, n]));
            }
        }
        Iadd => {
            if let Some(n) = b.func.def_if(d.args[1], Ineg) {
                let n = n.args[0];
                return Action::Replace(b.ins(Isub, &[x, n]));
            }
            if let Some(n) = b.func.def_if(x, Ineg) {
                let n = n.args[0];
                return Action::Replace(b.ins(Isub, &[d.args[1], n]));
            }
        }
        Ineg | Inot => {
            if let Some(n) = b.func.def_if(x, d.op) {
                return Action::Replace(n.args[0]);
            }
            if d.op == Inot
                && let Some(c) = b.func.def_inst(x).map(|i| b.func.insts[i].clone())
            {
                match c.imm {
                    Imm::IntCC(cc) => return Action::Replace(b.icmp(cc.inverse(), c.args[0], c.args[1])),
                    Imm::FloatCC(cc) => return Action::Replace(b.fcmp(cc.inverse(), c.args[0], c.args[1])),
                    _ => {}
                }
            }
        }
        Iabs => {
            if let Some(n) = b.func.def_if(x, Ineg) {
                let n = n.args[0];
                return Action::Replace(b.ins(Iabs, &[n]));
            }
            if b.func.def_if(x, Iabs).is_some() {
                return Action::Replace(x);
            }
        }
        Ubfe | Sbfe => return field(b, &d.args, d.op),
        Iand | Ior if ty.scalar == Scalar::I1 => {
            // x and not x, x or not x
            let (p, q) = (d.args[0], d.args[1]);
            let opposite = b.func.def_if(p, Inot).is_some_and(|n| n.args[0] == q) || b.func.def_if(q, Inot).is_some_and(|n| n.args[0] == p);
            if opposite {
                return Action::Replace(b.splat_const(ty, (d.op == Ior) as u32));
            }
        }
        _ => {}
    }
    Action::Keep
}

/// Bit fields at constant places are shifts or masks where one operation does it.
fn field(b: &mut Builder, args: &[Value], op: Opcode) -> Action {
    let (Some(offset), Some(count)) = (splat_bits(b.func, args[1]), splat_bits(b.func, args[2])) else { return Action::Keep };
    let ty = b.func.ty(args[0]);
    let offset = offset.min(32);
    let count = count.min(32 - offset);
    if count == 0 {
        return Action::Replace(b.splat_const(ty, 0));
    }
    if offset + count == 32 {
        let n = b.iconst(ty, offset);
        return Action::Replace(b.ins(if op == Opcode::Ubfe { Opcode::Ushr } else { Opcode::Sshr }, &[args[0], n]));
    }
    if op == Opcode::Ubfe && offset == 0 {
        let n = b.iconst(ty, u32::MAX >> (32 - count));
        return Action::Replace(b.ins(Opcode::Iand, &[args[0], n]));
    }
    Action::Keep
}

fn with_const(f: &Function, v: Value, op: Opcode) -> Option<(Value, u32)> {
    let d = f.def_if(v, op)?;
    Some((d.args[0], splat_bits(f, d.args[1])?))
}

/// Integer comparisons.
pub(super) fn icmp(b: &mut Builder, i: Inst, cc: IntCC) -> Action {
    let d = b.func.insts[i].clone();
    let (x, y) = (d.args[0], d.args[1]);
    let Some(result) = b.func.result(i) else { return Action::Keep };
    let ty = b.func.ty(result);
    if x == y {
        return Action::Replace(b.splat_const(ty, cc.eval(0, 0) as u32));
    }
    if b.func.const_bits(x).is_some() && b.func.const_bits(y).is_none() {
        return Action::Replace(b.icmp(cc.swapped(), y, x));
    }
    let Some(c) = splat_bits(b.func, y) else { return Action::Keep };
    let operand = b.func.ty(x);
    if operand.scalar == Scalar::I1 {
        match (cc, c) {
            (IntCC::Ne, 0) | (IntCC::Eq, 1) => return Action::Replace(x),
            (IntCC::Eq, 0) | (IntCC::Ne, 1) => return Action::Replace(b.ins(Opcode::Inot, &[x])),
            _ => {}
        }
    }
    let constant = match (cc, c) {
        (IntCC::Ult, 0) | (IntCC::Ugt, u32::MAX) | (IntCC::Slt, 0x8000_0000) | (IntCC::Sgt, 0x7fff_ffff) => Some(0),
        (IntCC::Uge, 0) | (IntCC::Ule, u32::MAX) | (IntCC::Sge, 0x8000_0000) | (IntCC::Sle, 0x7fff_ffff) => Some(1),
        _ => None,
    };
    if let Some(k) = constant {
        return Action::Replace(b.splat_const(ty, k));
    }
    match (cc, c) {
        (IntCC::Ult, 1) | (IntCC::Ule, 0) => {
            let z = b.iconst(operand, 0);
            return Action::Replace(b.icmp(IntCC::Eq, x, z));
        }
        (IntCC::Ugt, 0) | (IntCC::Uge, 1) => {
            let z = b.iconst(operand, 0);
            return Action::Replace(b.icmp(IntCC::Ne, x, z));
        }
        _ => {}
    }
    if matches!(cc, IntCC::Eq | IntCC::Ne) {
        // x + a == b is x == b - a; select(c, 1, 0) != 0 is c.
        if let Some((v, a)) = with_const(b.func, x, Opcode::Iadd) {
            let k = b.iconst(operand, c.wrapping_sub(a));
            return Action::Replace(b.icmp(cc, v, k));
        }
        if let Some((v, a)) = with_const(b.func, x, Opcode::Ixor) {
            let k = b.iconst(operand, c ^ a);
            return Action::Replace(b.icmp(cc, v, k));
        }
    }
    // A comparison of a choice between two constants is the condition, its opposite, or known.
    if let Some(s) = b.func.def_if(x, Opcode::Select)
        && b.func.ty(s.args[0]).lanes == ty.lanes
    {
        let cond = s.args[0];
        if let (Some(p), Some(q)) = (splat_bits(b.func, s.args[1]), splat_bits(b.func, s.args[2])) {
            return match (cc.eval(p, c), cc.eval(q, c)) {
                (true, false) => Action::Replace(cond),
                (false, true) => Action::Replace(b.ins(Opcode::Inot, &[cond])),
                (same, _) => Action::Replace(b.splat_const(ty, same as u32)),
            };
        }
    }
    Action::Keep
}
