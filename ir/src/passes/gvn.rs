//! Global value numbering over the dominator tree: a pure instruction that a dominating one already computed is replaced.
//!
//! Loads from memory and operations that depend on neighbouring lanes are merged only within a block, loads only where no
//! write lies between.

use crate::analysis::{Cfg, DomTree};
use crate::entities::{Block, Value};
use crate::function::Function;
use crate::inst::{Imm, MemRef};
use crate::opcode::{Effect, Opcode};
use crate::passes::rewrite::resolve_operands;
use crate::passes::simplify_cfg::drop_param;
use crate::types::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::hash_map::Entry;

#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: Opcode,
    ty: Type,
    args: SmallVec<[Value; 4]>,
    imm: Imm,
    precise: bool,
    /// The block and the number of writes before, for what may not be merged across them.
    local: Option<(Block, u32)>,
}

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    func.resolve_aliases();
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    // A value and the block that computes it. Only ever looked up, never iterated: the order of the map cannot reach the
    // output. What a finished subtree left behind dominates nothing that comes later.
    let mut seen: FxHashMap<Key, (Value, Block)> = FxHashMap::with_capacity_and_hasher(func.inst_count(), Default::default());
    let mut changed = false;
    for b in dom.preorder().collect::<Vec<_>>() {
        let mut writes = 0;
        let old = std::mem::take(&mut func.blocks[b].insts);
        let mut kept = Vec::with_capacity(old.len());
        for i in old {
            resolve_operands(func, i);
            let d = &func.insts[i];
            let effect = d.op.effect();
            if effect == Effect::Write {
                writes += 1;
            }
            let (Effect::Pure | Effect::Convergent | Effect::Read, [result]) = (effect, &d.results[..]) else {
                kept.push(i);
                continue;
            };
            let result = *result;
            let mut args = SmallVec::from_slice(&d.args);
            let mut imm = d.imm.clone();
            if d.op.is_commutative() && args[0] > args[1] {
                args.swap(0, 1);
            } else if matches!(d.op, Opcode::Fcmp | Opcode::Icmp) && args[0] > args[1] {
                args.swap(0, 1);
                imm = match imm {
                    Imm::FloatCC(cc) => Imm::FloatCC(cc.swapped()),
                    Imm::IntCC(cc) => Imm::IntCC(cc.swapped()),
                    other => other,
                };
            }
            let local = match effect {
                Effect::Pure => None,
                Effect::Convergent => Some((b, 0)),
                _ => Some((b, writes)),
            };
            let key = Key { op: d.op, ty: func.ty(result), args, imm, precise: d.precise, local };
            match seen.entry(key) {
                Entry::Occupied(e) if dom.dominates(e.get().1, b) => {
                    let (kept, relaxed) = (e.get().0, d.relaxed);
                    if let Some(k) = func.def_inst(kept) {
                        func.insts[k].relaxed &= relaxed;
                    }
                    func.replace(result, kept);
                    changed = true;
                }
                e => {
                    e.insert_entry((result, b));
                    kept.push(i);
                }
            }
        }
        func.blocks[b].insts = kept;
    }
    changed |= same_arguments(func, &cfg);
    if changed {
        func.resolve_aliases();
    }
    changed
}

/// Two parameters of a block that always get equal arguments are one.
fn same_arguments(func: &mut Function, cfg: &Cfg) -> bool {
    let mut changed = false;
    for b in cfg.rpo() {
        let params = func.blocks[*b].params.clone();
        if params.len() < 2 || params.len() > 64 || cfg.preds(*b).is_empty() {
            continue;
        }
        // The last ones first: the places of those before stay what they are.
        for n in (1..params.len()).rev() {
            for m in 0..n {
                let equal = func.ty(params[m]) == func.ty(params[n])
                    && func.resolve(params[m]) == params[m]
                    && cfg.preds(*b).iter().all(|e| {
                        let args = &func.successors(e.from)[e.target as usize].args;
                        let (x, y) = (func.resolve(args[m]), func.resolve(args[n]));
                        x == y || (x == params[m] && y == params[n])
                    });
                if equal {
                    drop_param(func, cfg, *b, n);
                    func.replace(params[n], params[m]);
                    changed = true;
                    break;
                }
            }
        }
    }
    changed
}

/// Whether an instruction's memory is written somewhere by the function.
pub fn is_written(func: &Function, var: MemRef) -> bool {
    func.ordered().any(|(_, i)| {
        let d = &func.insts[i];
        d.op.effect() == Effect::Write && matches!(&d.imm, Imm::Mem { var: v, .. } | Imm::Atomic { var: v, .. } if *v == var)
    })
}
