//! Signs that nothing carries: operands have a bit for them, outputs have not, so the negative of a sum takes a move on its way out.
//! A sum of negatives takes none. Both are the same but for the sign of a zero.

use cranelift_entity::SecondaryMap;
use retroshade_ir::passes::rewrite::{Action, rewrite_of};
use retroshade_ir::types::F32;
use retroshade_ir::{Builder, Function, Opcode, Value};

/// Runs over a function of single numbers.
pub fn run(func: &mut Function) -> bool {
    let uses = func.use_counts();
    let mut leaves: SecondaryMap<Value, bool> = SecondaryMap::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        if matches!(d.op, Opcode::Output | Opcode::Build) {
            d.args.iter().for_each(|v| leaves[func.resolve(*v)] = true);
        }
    }
    rewrite_of(func, &[Opcode::Fneg], |b, i| {
        if !b.func.result(i).is_some_and(|r| leaves[r] && b.func.ty(r) == F32) {
            return Action::Keep;
        }
        let sum = b.func.insts[i].args[0];
        let Some(d) = b.func.def_inst(sum).map(|s| b.func.insts[s].clone()).filter(|d| !d.precise && uses[sum] == 1) else {
            return Action::Keep;
        };
        Action::Replace(match (d.op, &d.args[..]) {
            (Opcode::Fsub, [x, y]) => b.ins(Opcode::Fsub, &[*y, *x]),
            (Opcode::Fadd, [x, y]) if x != y => {
                let (x, y) = (minus(b, *x), minus(b, *y));
                b.ins(Opcode::Fadd, &[x, y])
            }
            (Opcode::Fmad, [x, y, z]) => {
                let (x, z) = (minus(b, *x), minus(b, *z));
                b.ins(Opcode::Fmad, &[x, *y, z])
            }
            _ => return Action::Keep,
        })
    })
}

/// The negative of a value.
fn minus(b: &mut Builder<'_>, v: Value) -> Value {
    match b.func.def_if(v, Opcode::Fneg).map(|d| d.args[0]) {
        Some(x) => x,
        None => b.ins(Opcode::Fneg, &[v]),
    }
}
