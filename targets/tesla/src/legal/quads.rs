//! Lookups at level 0 that have no argument left for it are made by whole quads ([`level_zero`](crate::select)), which only works where all pixels
//! of a quad go the same way. In an arm of a branch they are made before it, with what they need.

use super::texture::arguments;
use crate::isa::chip::MOST_ARGUMENTS;
use cranelift_entity::EntitySet;
use retroshade_ir::analysis::domtree::inst_blocks;
use retroshade_ir::analysis::{Cfg, DomTree, Level, Uniformity};
use retroshade_ir::opcode::Effect;
use retroshade_ir::{Block, Function, Imm, Inst, InstData, Module, Stage, TexLod, TexOp, ValueDef};

/// Moves them; what cannot move stays, and is refused by selection.
pub(crate) fn hoist(m: &mut Module) {
    if m.stage != Stage::Fragment {
        return;
    }
    let by_quads = |d: &InstData| {
        let Imm::Tex(t) = &d.imm else { return false };
        let level_zero = t.op == TexOp::Gather || t.op == TexOp::Sample && matches!(t.lod, TexLod::Zero | TexLod::Level);
        level_zero && arguments(&m.textures[t.texture], t) >= MOST_ARGUMENTS
    };
    let f = m.main();
    if !f.ordered().any(|(_, i)| by_quads(&f.insts[i])) {
        return;
    }
    let levels = Uniformity::new(m, f);
    let apart = |b: Block| levels.block_level(b) == Level::Divergent;
    let found: Vec<(Block, Inst)> = f.ordered().filter(|(b, i)| apart(*b) && by_quads(&f.insts[*i])).collect();
    if found.is_empty() {
        return;
    }
    let dom = DomTree::new(f, &Cfg::new(f));
    let together = |b: Block| std::iter::successors(Some(b), |b| dom.idom(*b)).find(|b| !apart(*b));
    let moves: Vec<(Block, Inst)> = found.into_iter().filter_map(|(b, i)| Some((together(b)?, i))).collect();
    for (to, i) in moves {
        move_with_operands(m.main_mut(), &dom, i, to);
    }
}

/// Moves an instruction to the end of a block that dominates its own, with all that computes its operands; nothing where that is not possible.
fn move_with_operands(f: &mut Function, dom: &DomTree, inst: Inst, to: Block) {
    let block_of = inst_blocks(f);
    let (mut order, mut seen): (Vec<Inst>, EntitySet<Inst>) = (Vec::new(), EntitySet::new());
    // Operands before their users.
    let mut work = vec![(inst, false)];
    while let Some((i, done)) = work.pop() {
        if done {
            order.push(i);
            continue;
        }
        if !seen.insert(i) {
            continue;
        }
        let d = &f.insts[i];
        let moves = d.op.effect() == Effect::Pure || i == inst || matches!(&d.imm, Imm::Tex(t) if reads_anywhere(t.op, t.lod));
        if !moves {
            return;
        }
        work.push((i, true));
        for v in &d.args {
            match f.def(f.resolve(*v)) {
                ValueDef::Param(b, _) if dom.dominates(b, to) => {}
                ValueDef::Result(of, _) => match block_of[of] {
                    Some(b) if dom.dominates(b, to) => {}
                    Some(_) => work.push((of, false)),
                    None => return,
                },
                _ => return,
            }
        }
    }
    for i in &order {
        if let Some(b) = block_of[*i] {
            f.blocks[b].insts.retain(|x| x != i);
        }
    }
    let end = f.blocks[to].insts.len().saturating_sub(1);
    f.blocks[to].insts.splice(end..end, order);
}

/// Whether a lookup means the same wherever it stands.
fn reads_anywhere(op: TexOp, lod: TexLod) -> bool {
    matches!(op, TexOp::Fetch | TexOp::Size | TexOp::Levels)
        || op == TexOp::Sample && matches!(lod, TexLod::Zero | TexLod::Level | TexLod::Grad)
}
