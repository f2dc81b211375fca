//! Discards in front of loops. Behind a discard an invocation goes on as a helper, which leaves straight code; but a loop that each
//! invocation leaves by its own data might never let it go. In front of such a loop the invocation ends, and where all
//! are discarded together in front of every loop that may have no end: that may be what keeps them from it.

use crate::ssa::clean;
use retroshade_ir::analysis::{Cfg, DomTree, Level, LoopId, Loops, Uniformity};
use retroshade_ir::inst::Imm;
use retroshade_ir::passes::unroll::trip_counts;
use retroshade_ir::{Block, Builder, Function, Inst, Module, Opcode, Reference};

/// Rounds up to which a loop is followed to learn that it ends.
const ROUNDS: usize = 1024;

/// Ends invocations at those of `discards` behind which a loop may wait for them.
pub(super) fn end_before_loops(m: &mut Module, discards: &[Inst]) {
    if discards.is_empty() {
        return;
    }
    let func = m.main();
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let loops = Loops::new(&cfg, &dom);
    if loops.is_empty() {
        return;
    }
    let counted = trip_counts(func, &Reference, ROUNDS);
    let levels = Uniformity::new(m, func);
    // A way out that every round comes by, and that all take together.
    let together = |l: LoopId| {
        let every = |b: Block| loops.data(l).latches.iter().all(|e| dom.dominates(b, e.from));
        loops.exits(func, l).iter().any(|e| every(e.from) && !levels.is_divergent_branch(e.from))
    };
    let lets_go = |l: LoopId, alone: bool| counted.contains_key(&loops.data(l).header) || alone && together(l);
    let alone = |b: Block, i: Inst| levels.is_divergent(func.insts[i].args[0]) || levels.block_level(b) == Level::Divergent;
    let ends = |b: Block, i: Inst| discards.contains(&i) && loops.any_ahead(func, b, |l| !lets_go(l, alone(b, i)));
    let places: Vec<(Block, Inst)> = func.ordered().filter(|(b, i)| ends(*b, *i)).collect();
    if places.is_empty() {
        return;
    }
    let func = m.main_mut();
    // The last one of a block first: the others stay where they are.
    places.into_iter().rev().for_each(|(b, i)| end_at(func, b, i));
    clean(func);
}

/// Puts the end of an invocation in the place of a discard.
fn end_at(func: &mut Function, b: Block, discard: Inst) {
    let Some(at) = func.blocks[b].insts.iter().position(|i| *i == discard) else { return };
    let span = func.spans[discard];
    let cond = func.insts[discard].args[0];
    let rest = func.blocks[b].insts.split_off(at);
    let (end, next) = (func.blocks.push(Default::default()), func.blocks.push(Default::default()));
    func.blocks[next].insts.extend(&rest[1..]);
    let mut build = Builder::new(func, b);
    build.span = span;
    build.br_if(cond, (end, &[]), (next, &[]));
    build.switch_to(end);
    build.branch(Opcode::Kill, &[], Imm::None, &[]);
    let place = func.layout.iter().position(|x| *x == b).map_or(func.layout.len(), |n| n + 1);
    func.layout.splice(place..place, [end, next]);
}
