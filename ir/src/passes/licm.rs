//! Loop-invariant code motion: pure instructions whose operands come from outside a loop move before it.
//!
//! Constants and plain loads of inputs and uniforms stay: they are operands on these machines, and moving them only makes
//! values live for longer.

use super::rewrite::{cost, is_speculatable};
use crate::analysis::{Cfg, DomTree, Loops, domtree::inst_blocks};
use crate::entities::Block;
use crate::function::Function;
use crate::inst::{BlockCall, Imm, InstData};
use crate::opcode::Opcode;
use cranelift_entity::SecondaryMap;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    func.resolve_aliases();
    if !Cfg::new(func).has_cycle(func) {
        return false;
    }
    let mut changed = add_preheaders(func);
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let loops = Loops::new(&cfg, &dom);
    if loops.is_empty() || !loops.is_reducible() {
        return changed;
    }
    let mut block_of = inst_blocks(func);
    // Inner loops first: what leaves an inner loop may leave the outer one next.
    for (l, data) in loops.iter().rev() {
        let Some(pre) = cfg.preds(data.header).iter().map(|e| e.from).find(|p| !loops.contains(l, *p)) else { continue };
        let order: Vec<Block> = {
            let mut v = loops.blocks(l).to_vec();
            v.sort_by_key(|b| cfg.rpo_index(*b));
            v
        };
        for b in order {
            let mut moved = Vec::new();
            for i in func.blocks[b].insts.clone() {
                let d = &func.insts[i];
                let plain = match d.op {
                    Opcode::Const | Opcode::Undef => true,
                    Opcode::Input | Opcode::Uniform => d.args.is_empty(),
                    _ => false,
                };
                if !is_speculatable(d) || d.results.is_empty() || d.args.iter().any(|v| loops.defines(l, func, &block_of, *v)) {
                    continue;
                }
                // Plain operands move only with someone who needs them; that is settled by rematerialisation later.
                if plain || cost(func, i) > 0 || !d.args.is_empty() {
                    moved.push(i);
                    block_of[i] = Some(pre);
                }
            }
            if moved.is_empty() {
                continue;
            }
            changed |= moved.iter().any(|i| cost(func, *i) > 0);
            let mut gone = moved.iter().peekable();
            func.blocks[b].insts.retain(|i| gone.next_if_eq(&i).is_none());
            let at = func.blocks[pre].insts.len().saturating_sub(1);
            func.blocks[pre].insts.splice(at..at, moved);
        }
    }
    changed
}

/// Gives every loop exactly one edge from outside, from a block that only leads there.
pub fn add_preheaders(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let loops = Loops::new(&cfg, &dom);
    let mut made: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    let mut changed = false;
    for (l, data) in loops.iter() {
        let outside: Vec<_> = cfg.preds(data.header).iter().copied().filter(|e| !loops.contains(l, e.from)).collect();
        if let [one] = outside[..]
            && func.successors(one.from).len() == 1
        {
            continue;
        }
        if outside.is_empty() {
            continue; // the entry block itself is a header
        }
        let pre = func.blocks.push(Default::default());
        let types: Vec<_> = func.blocks[data.header].params.iter().map(|p| func.ty(*p)).collect();
        let args = types.into_iter().map(|ty| func.add_param(pre, ty)).collect();
        let mut jump = InstData::new(Opcode::Jump, &[], Imm::None);
        jump.targets.push(BlockCall { block: data.header, args });
        let jump = func.make_inst(jump, &[], crate::diag::Span::NONE);
        func.blocks[pre].insts.push(jump);
        for e in outside {
            if let Some(t) = func.terminator(e.from) {
                func.insts[t].targets[e.target as usize].block = pre;
            }
        }
        made[data.header] = Some(pre);
        changed = true;
    }
    if changed {
        func.layout = func.layout.iter().flat_map(|b| made[*b].into_iter().chain([*b])).collect();
    }
    changed
}
