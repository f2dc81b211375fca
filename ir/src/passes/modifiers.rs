//! Operand-modifier folding: the sign of a product moves to a factor, where every one of these machines takes it for free;
//! signs and absolute values of each other cancel. What an operand then carries is folded into it by selection.
//!
//! Exact: rounding to nearest and truncation treat both signs alike. Sums are left alone, since a sum that cancels is +0
//! whichever way it is written; so are absolute values of products, which some machines would have to compute twice.

use super::rewrite::{Action, rewrite_of};
use crate::function::Function;
use crate::opcode::Opcode;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    func.resolve_aliases();
    let uses = func.use_counts();
    rewrite_of(func, &[Opcode::Fneg, Opcode::Fabs], |b, i| {
        let d = b.func.insts[i].clone();
        let x = d.args[0];
        let inner = b.func.def_inst(x).map(|n| b.func.insts[n].clone());
        match inner {
            // Signs of signs: the outermost decides, or two cancel.
            Some(m) if m.op == Opcode::Fneg && d.op == Opcode::Fneg => Action::Replace(m.args[0]),
            Some(m) if matches!(m.op, Opcode::Fneg | Opcode::Fabs) && d.op == Opcode::Fabs => {
                Action::Replace(b.ins(Opcode::Fabs, &[m.args[0]]))
            }
            // A product that is needed with its sign changed only. A constant factor takes the sign at compile time.
            Some(m) if m.op == Opcode::Fmul && d.op == Opcode::Fneg && uses[x] == 1 => {
                let n = (0..2).find(|n| b.func.def_if(m.args[*n], Opcode::Const).is_some()).unwrap_or(0);
                let mut args = m.args.clone();
                args[n] = b.ins(Opcode::Fneg, &[args[n]]);
                b.precise = m.precise;
                Action::Replace(b.ins(Opcode::Fmul, &args))
            }
            _ => Action::Keep,
        }
    })
}
