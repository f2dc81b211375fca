//! Fetches in small arms of branches, of textures or from tables, stand before the branch: with the fetches there they share a clause,
//! and the arms become selects. A fetch that not every lane needs costs less than the clauses, jumps and waits of its own.

use retroshade_ir::analysis::Cfg;
use retroshade_ir::passes::rewrite::{cost, is_speculatable};
use retroshade_ir::{Block, Function, Inst, InstData, Opcode};

/// Fetches of both arms of a branch.
const FETCHES: usize = 2;

/// Moves the code of both arms of such branches before them; `limit` bounds what it costs, fetches aside.
pub fn run(func: &mut Function, limit: u32) -> bool {
    let mut changed = false;
    func.resolve_aliases();
    let cfg = Cfg::new(func);
    // Inner branches first: what came out of their arms counts for the outer ones.
    for b in cfg.rpo().iter().rev().copied() {
        let Some(arms) = arms(func, &cfg, b) else { continue };
        let code: Vec<Inst> = arms.iter().flat_map(|a| body(func, *a)).copied().collect();
        let fetches = code.iter().filter(|i| is_fetch(&func.insts[**i])).count();
        // Nothing that moves writes, so a load finds the same before the branch.
        let moves = |i: &Inst| is_speculatable(&func.insts[*i]) || is_fetch(&func.insts[*i]);
        let work: u32 = code.iter().filter(|i| !is_fetch(&func.insts[**i])).map(|i| cost(func, *i)).sum();
        let join = func.successors(arms[0]).first().map_or(&[][..], |t| &func.blocks[t.block].params);
        let selects: u32 = join.iter().map(|p| u32::from(func.ty(*p).lanes)).sum();
        if fetches == 0 || fetches > FETCHES || work + selects > limit || !code.iter().all(moves) {
            continue;
        }
        let Some(branch) = func.blocks[b].insts.pop() else { continue };
        func.blocks[b].insts.extend(&code);
        func.blocks[b].insts.push(branch);
        for a in arms {
            let last = func.blocks[a].insts.len() - 1;
            func.blocks[a].insts.drain(..last);
        }
        changed = true;
    }
    changed
}

/// A sample, or a load by a computed index, which is within bounds by now.
fn is_fetch(d: &InstData) -> bool {
    d.op == Opcode::Tex || d.op == Opcode::LocalLoad && !d.args.is_empty()
}

/// A block's instructions but the one that ends it.
fn body(f: &Function, b: Block) -> &[Inst] {
    f.blocks[b].insts.split_last().map_or(&[], |(_, body)| body)
}

/// The blocks of a branch's own on the ways to where both meet.
fn arms(f: &Function, cfg: &Cfg, b: Block) -> Option<Vec<Block>> {
    let t = f.terminator(b).filter(|t| f.insts[*t].op == Opcode::BrIf)?;
    let to = [f.insts[t].targets[0].block, f.insts[t].targets[1].block];
    let next = |a: Block| {
        let own = cfg.preds(a).len() == 1 && f.blocks[a].params.is_empty() && a != b;
        let jump = f.terminator(a).map(|t| &f.insts[t]).filter(|d| own && d.op == Opcode::Jump)?;
        Some(jump.targets[0].block)
    };
    match (next(to[0]), next(to[1])) {
        (Some(p), Some(q)) if p == q => Some(to.to_vec()),
        (Some(p), _) if p == to[1] => Some(vec![to[0]]),
        (_, Some(q)) if q == to[0] => Some(vec![to[1]]),
        _ => None,
    }
}
