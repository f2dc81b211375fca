//! Constant indices of loads and stores become offsets, which is where machines read constant registers from: what unrolling and
//! inlining leave of `lights[k]`. An index beyond a uniform array reads its last element; others beyond their variable stay as they are.

use super::rewrite::{Action, rewrite, splat_bits};
use crate::inst::{Imm, MemRef};
use crate::module::Module;
use crate::opcode::Opcode;
use cranelift_entity::EntityRef;

/// Runs over all functions.
pub fn run(module: &mut Module) -> bool {
    let uniforms: Vec<u32> = module.uniforms.values().map(|u| u.units()).collect();
    let inputs: Vec<u32> = module.inputs.values().map(|d| d.count).collect();
    let outputs: Vec<u32> = module.outputs.values().map(|d| d.count).collect();
    let mut changed = false;
    for func in module.functions.values_mut() {
        let locals: Vec<u32> = func.locals.values().map(|l| l.count).collect();
        changed |= rewrite(func, |b, i| {
            let d = &b.func.insts[i];
            let place = match d.op {
                Opcode::Uniform | Opcode::Input | Opcode::LocalLoad => 0,
                Opcode::Output | Opcode::LocalStore => 1,
                _ => return Action::Keep,
            };
            let (Imm::Mem { var, offset }, Some(index)) = (d.imm.clone(), d.args.get(place).copied()) else { return Action::Keep };
            let Some(k) = splat_bits(b.func, index) else { return Action::Keep };
            let (count, last) = match var {
                MemRef::Uniform(u) => (uniforms[u.index()], true),
                MemRef::Input(n) => (inputs[n.index()], false),
                MemRef::Output(n) => (outputs[n.index()], false),
                MemRef::Local(l) => (locals[l.index()], false),
                _ => return Action::Keep,
            };
            let at = offset.wrapping_add(k);
            if at >= count && (!last || count == 0) {
                return Action::Keep;
            }
            let d = &mut b.func.insts[i];
            d.args.remove(place);
            d.imm = Imm::Mem { var, offset: at.min(count - 1) };
            Action::Changed
        });
    }
    changed
}
