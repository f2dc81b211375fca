//! Where a fragment lies, and which of its samples it is.

use retroshade_ir::passes::rewrite::{Action, rewrite_of};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::{Binding, Builtin, Function, Imm, MemRef, Module, Opcode, Stage, Value};
use std::collections::HashSet;

/// Languages have 1/w in the last lane of a fragment's position, the rasteriser hands over w: `r700.clip_w` stands for what it makes
/// of the one, and costs nothing; its reciprocal is the other again.
pub fn reciprocal_w(m: &mut Module) -> bool {
    if m.stage != Stage::Fragment {
        return false;
    }
    let position = m.inputs.iter().find(|(_, d)| d.binding == Binding::Builtin(Builtin::Position)).map(|(k, _)| k);
    let Some(position) = position.map(MemRef::Input) else { return false };
    let mut changed = false;
    for f in m.functions.values_mut() {
        let wanted = whole(f);
        changed |= rewrite_of(f, &[Opcode::Input], |b, i| {
            let d = b.func.insts[i].clone();
            let read = matches!(d.imm, Imm::Mem { var, .. } if var == position);
            if !read || !d.results.iter().any(|r| wanted.contains(r)) {
                return Action::Keep;
            }
            let whole = b.typed(Opcode::Input, F32.with_lanes(4), &d.args, d.imm.clone());
            let [x, y, z, w] = [0, 1, 2, 3].map(|l| b.extract(whole, l));
            let w = b.typed(Opcode::Ext, F32, &[w], Imm::Ext("r700.clip_w".into()));
            let w = b.ins(Opcode::Frcp, &[w]);
            Action::Replace(b.build(&[x, y, z, w]))
        });
    }
    changed
}

/// The rasteriser hands over the coverage of the whole pixel, where languages have, for each sample apart, the bit of that one.
pub fn own_sample(m: &mut Module) -> bool {
    let input = |b: Builtin| m.inputs.iter().find(|(_, d)| d.binding == Binding::Builtin(b)).map(|(k, _)| MemRef::Input(k));
    let (Some(mask), Some(sample)) = (input(Builtin::SampleMask), input(Builtin::SampleIndex)) else { return false };
    let mut changed = false;
    for f in m.functions.values_mut() {
        changed |= rewrite_of(f, &[Opcode::Input], |b, i| {
            let d = b.func.insts[i].clone();
            if !matches!(d.imm, Imm::Mem { var, .. } if var == mask) {
                return Action::Keep;
            }
            let whole = b.typed(Opcode::Input, I32, &d.args, d.imm.clone());
            let number = b.typed(Opcode::Input, I32, &[], Imm::Mem { var: sample, offset: 0 });
            let one = b.iconst(I32, 1);
            let bit = b.ins(Opcode::Ishl, &[one, number]);
            Action::Replace(b.ins(Opcode::Iand, &[whole, bit]))
        });
    }
    changed
}

/// Values of which more is used than their first three lanes.
fn whole(func: &Function) -> HashSet<Value> {
    let insts = func.ordered().map(|(_, i)| &func.insts[i]);
    let uses = insts.filter(|d| !matches!((d.op, &d.imm), (Opcode::Extract, Imm::Lane(0..=2))));
    uses.flat_map(|d| d.args.iter().chain(d.targets.iter().flat_map(|t| &t.args))).map(|v| func.resolve(*v)).collect()
}
