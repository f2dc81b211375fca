//! Loops that do nothing: without effects, left to one place, and with no value that anyone reads behind them. They are passed by;
//! that such a loop ends is taken for granted, as the languages allow.

use crate::analysis::{Cfg, DomTree, LoopId, Loops, domtree::inst_blocks};
use crate::entities::{Block, Inst};
use crate::function::{Function, ValueDef};
use crate::inst::BlockCall;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    func.resolve_aliases();
    let cfg = Cfg::new(func);
    if !cfg.has_cycle(func) {
        return false;
    }
    let dom = DomTree::new(func, &cfg);
    let loops = Loops::new(&cfg, &dom);
    if loops.is_empty() || !loops.is_reducible() {
        return false;
    }
    let block_of = inst_blocks(func);
    let Some(read) = read_behind(func, &cfg, &loops, &block_of) else { return false };
    let unread = loops.iter().filter(|(l, _)| !read.contains(*l));
    let dead: Vec<(LoopId, Block, BlockCall)> =
        unread.filter_map(|(l, data)| Some((l, data.header, way_out(func, &loops, l, &block_of)?))).collect();
    for (l, header, out) in &dead {
        for e in cfg.preds(*header).iter().filter(|e| !loops.contains(*l, e.from)) {
            if let Some(t) = func.terminator(e.from) {
                func.insts[t].targets[e.target as usize] = out.clone();
            }
        }
    }
    !dead.is_empty() && super::dce::drop_unreachable(func)
}

/// The loops whose values are read behind them, be it without passing through parameters; `None` if that cannot be told.
fn read_behind(func: &Function, cfg: &Cfg, loops: &Loops, block_of: &SecondaryMap<Inst, Option<Block>>) -> Option<EntitySet<LoopId>> {
    let mut read = EntitySet::new();
    for b in cfg.rpo() {
        for v in func.blocks[*b].insts.iter().flat_map(|i| func.reads(*i)) {
            let home = match func.def(v) {
                ValueDef::Result(i, _) => block_of[i]?,
                ValueDef::Param(home, _) => home,
                ValueDef::Alias(_) => return None,
            };
            let mut around = loops.of(home);
            while let Some(l) = around.filter(|l| !loops.contains(*l, *b)) {
                read.insert(l);
                around = loops.data(l).parent;
            }
        }
    }
    Some(read)
}

/// Where a loop leads to that does nothing, if its values are not read behind it.
fn way_out(func: &Function, loops: &Loops, l: LoopId, block_of: &SecondaryMap<Inst, Option<Block>>) -> Option<BlockCall> {
    let inside = |v| loops.defines(l, func, block_of, v);
    let mut out: Option<&BlockCall> = None;
    for b in loops.blocks(l) {
        let (last, rest) = func.blocks[*b].insts.split_last()?;
        let exits = || func.insts[*last].targets.iter().filter(|t| !loops.contains(l, t.block));
        if func.insts[*last].targets.is_empty() || rest.iter().any(|i| !func.insts[*i].op.is_removable()) {
            return None;
        }
        for t in exits() {
            if t.args.iter().any(|v| inside(*v)) || out.is_some_and(|o| o.block != t.block || o.args != t.args) {
                return None;
            }
            out = Some(t);
        }
    }
    out.cloned()
}
