//! Repeated calls: a call of a function without effects with the arguments of an earlier call that dominates it takes its results.
//!
//! Runs before inlining, while what is called is one operation; control flow inside the function does not matter.

use crate::analysis::{CallGraph, Cfg, DomTree};
use crate::entities::{Block, FuncId, Value};
use crate::function::Function;
use crate::inst::Imm;
use crate::module::Module;
use crate::opcode::{Effect, Opcode};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What a function's results depend on besides its arguments, and whether it does more than compute them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nature {
    Pure,
    /// Looks at neighbouring invocations: merged only within a block.
    Convergent,
    Effects,
}

/// Runs the pass.
pub fn run(module: &mut Module) -> bool {
    let Some(order) = CallGraph::new(module).callees_first() else { return false };
    let mut natures: SecondaryMap<FuncId, Nature> = SecondaryMap::with_default(Nature::Effects);
    let mut changed = false;
    for id in order {
        natures[id] = nature(&module.functions[id], &natures);
        changed |= merge(&mut module.functions[id], &natures);
    }
    changed
}

fn nature(func: &Function, natures: &SecondaryMap<FuncId, Nature>) -> Nature {
    let of = |d: &crate::inst::InstData| match (d.op, &d.imm) {
        (Opcode::Call, Imm::Func(f)) => natures[*f],
        // A function's arrays are its own, and new in each call.
        (Opcode::LocalLoad | Opcode::LocalStore, _) => Nature::Pure,
        (Opcode::Kill, _) => Nature::Effects,
        _ => match d.op.effect() {
            Effect::Pure | Effect::Terminator => Nature::Pure,
            Effect::Convergent => Nature::Convergent,
            Effect::Read | Effect::Write => Nature::Effects,
        },
    };
    func.ordered().map(|(_, i)| of(&func.insts[i])).max().unwrap_or(Nature::Pure)
}

fn merge(func: &mut Function, natures: &SecondaryMap<FuncId, Nature>) -> bool {
    let calls = func.ordered().filter(|(_, i)| func.insts[*i].op == Opcode::Call).count();
    if calls < 2 {
        return false;
    }
    // Equal arguments are one value then.
    super::gvn::run(func);
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let mut seen: FxHashMap<(FuncId, SmallVec<[Value; 4]>), Vec<(Block, SmallVec<[Value; 4]>)>> = FxHashMap::default();
    let mut changed = false;
    for b in dom.preorder().collect::<Vec<_>>() {
        for i in func.blocks[b].insts.clone() {
            func.resolve_operands(i);
            let d = &func.insts[i];
            let (Opcode::Call, Imm::Func(f)) = (d.op, &d.imm) else { continue };
            if natures[*f] == Nature::Effects {
                continue;
            }
            let same_block = natures[*f] == Nature::Convergent;
            let results: SmallVec<[Value; 4]> = d.results.iter().copied().collect();
            let earlier = seen.entry((*f, d.args.iter().copied().collect())).or_default();
            let found = earlier.iter().find(|(at, _)| *at == b || !same_block && dom.dominates(*at, b)).map(|(_, r)| r.clone());
            match found {
                Some(old) => {
                    results.iter().zip(&old).for_each(|(r, o)| func.replace(*r, *o));
                    func.blocks[b].insts.retain(|k| *k != i);
                    changed = true;
                }
                None => earlier.push((b, results)),
            }
        }
    }
    if changed {
        func.resolve_aliases();
    }
    changed
}
