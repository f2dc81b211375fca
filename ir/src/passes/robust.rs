//! Index clamping (`--robust`): every computed index is clamped, as unsigned, to the last element that exists.

use super::rewrite::{Action, rewrite_of};
use crate::builder::Builder;
use crate::entities::{FuncId, Value};
use crate::inst::{AtomicOp, Imm, MemRef};
use crate::module::Module;
use crate::opcode::Opcode;
use crate::types::I32;
use cranelift_entity::SecondaryMap;

/// Clamps every computed index of all functions.
pub fn run(module: &mut Module) -> bool {
    clamp_where(module, |_| true)
}

/// Clamps the computed indices of uniforms only: for machines where what lies behind an array is not the last element.
pub fn uniforms(module: &mut Module) -> bool {
    clamp_where(module, |var| matches!(var, MemRef::Uniform(_)))
}

/// Operations that may have an index.
const INDEXED: &[Opcode] = {
    use Opcode::*;
    &[Input, Uniform, LocalLoad, SharedLoad, StorageLoad, Output, LocalStore, SharedStore, StorageStore, Atomic]
};

fn clamp_where(module: &mut Module, wanted: impl Fn(MemRef) -> bool) -> bool {
    let mut counts = Counts::default();
    for (n, d) in &module.inputs {
        counts.inputs[n] = d.count;
    }
    for (n, d) in &module.outputs {
        counts.outputs[n] = d.count;
    }
    for (n, d) in &module.uniforms {
        counts.uniforms[n] = d.units();
    }
    for (n, d) in &module.shared {
        counts.shared[n] = d.count;
    }
    let ids: Vec<FuncId> = module.functions.keys().collect();
    let mut changed = false;
    for id in ids {
        changed |= rewrite_of(&mut module.functions[id], INDEXED, |b, i| {
            let d = &b.func.insts[i];
            let (var, offset) = match d.imm {
                Imm::Mem { var, offset } | Imm::Atomic { var, offset, .. } => (var, offset),
                _ => return Action::Keep,
            };
            // The index is the last operand where the operation has one more than it needs.
            let fixed = match d.op {
                Opcode::Output | Opcode::LocalStore | Opcode::SharedStore | Opcode::StorageStore => 1,
                Opcode::Atomic => match d.imm {
                    Imm::Atomic { op: AtomicOp::Cas, .. } => 2,
                    _ => 1,
                },
                _ => 0,
            };
            let Some(index) = d.args.get(fixed).copied().filter(|_| wanted(var)) else { return Action::Keep };
            let words = match d.op {
                Opcode::StorageLoad => d.results.first().map_or(1, |r| u32::from(b.func.ty(*r).lanes)),
                Opcode::StorageStore => u32::from(b.func.ty(d.args[0]).lanes),
                _ => 1,
            };
            let Some(clamped) = clamp(b, &counts, var, offset, words, index) else { return Action::Keep };
            // The constant part is in the sum now: clamping before adding it would change good indices such as -1 + 1.
            let data = &mut b.func.insts[i];
            data.args[fixed] = clamped;
            if let Imm::Mem { offset, .. } | Imm::Atomic { offset, .. } = &mut data.imm {
                *offset = 0;
            }
            Action::Changed
        });
    }
    changed
}

#[derive(Default)]
struct Counts {
    inputs: SecondaryMap<crate::entities::Input, u32>,
    outputs: SecondaryMap<crate::entities::Output, u32>,
    uniforms: SecondaryMap<crate::entities::Uniform, u32>,
    shared: SecondaryMap<crate::entities::Shared, u32>,
}

/// The clamped sum of index and offset; `None` if that is clamped already, by the source or by an earlier run.
fn clamp(b: &mut Builder, counts: &Counts, var: MemRef, offset: u32, words: u32, index: Value) -> Option<Value> {
    let count = match var {
        MemRef::Input(n) => counts.inputs[n],
        MemRef::Output(n) => counts.outputs[n],
        MemRef::Uniform(n) => counts.uniforms[n],
        MemRef::Shared(n) => counts.shared[n],
        MemRef::Local(l) => b.func.locals[l].count,
        MemRef::Storage(_) => {
            // At most max(length - words, 0), as signed numbers: a length never reaches 2³¹ words.
            let at = sum(b, index, offset);
            let len = b.typed(Opcode::StorageLen, I32, &[], Imm::Mem { var, offset: 0 });
            let k = b.iconst(I32, words.wrapping_neg());
            let room = b.ins(Opcode::Iadd, &[len, k]);
            let zero = b.iconst(I32, 0);
            let last = b.ins(Opcode::Smax, &[room, zero]);
            return Some(b.ins(Opcode::Umin, &[at, last]));
        }
    };
    let last = count.saturating_sub(1);
    let bound = b.func.def_if(index, Opcode::Umin).and_then(|m| super::rewrite::splat_bits(b.func, m.args[1]));
    if bound.is_some_and(|c| c.checked_add(offset).is_some_and(|c| c <= last)) {
        return None;
    }
    let at = sum(b, index, offset);
    let k = b.iconst(I32, last);
    Some(b.ins(Opcode::Umin, &[at, k]))
}

fn sum(b: &mut Builder, index: Value, offset: u32) -> Value {
    if offset == 0 {
        return index;
    }
    let k = b.iconst(I32, offset);
    b.ins(Opcode::Iadd, &[index, k])
}
