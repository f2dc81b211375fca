//! Discards in front of loops. Behind a discard an invocation goes on as a helper, which leaves straight code; but a loop that each
//! invocation leaves by its own data might never let it go. In front of such a loop the invocation ends, and where all
//! are discarded together in front of every loop that may have no end: that may be what keeps them from it.

use crate::ssa::clean;
use retroshade_ir::analysis::cfg::Edge;
use retroshade_ir::analysis::domtree::inst_blocks;
use retroshade_ir::analysis::loops::LoopData;
use retroshade_ir::analysis::{Cfg, DomTree, Level, LoopId, Loops, Uniformity};
use retroshade_ir::inst::Imm;
use retroshade_ir::passes::unroll::trip_counts;
use retroshade_ir::{Block, Builder, Function, Inst, Module, Opcode, Reference, Value, ValueDef};

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
    let block_of = inst_blocks(func);
    // A way out that every round comes by, by which a helper leaves, too: it is the only one and all take it together, or what it asks
    // for comes nearer with every round. Where the others may leave by another way, they might never take this one.
    let together = |l: LoopId| {
        let exits = loops.exits(func, l);
        let shared = |e: &Edge| !levels.is_divergent_branch(e.from);
        let every = |e: &&Edge| loops.data(l).latches.iter().all(|latch| dom.dominates(e.from, latch.from));
        let outside = |v: Value| {
            let v = func.resolve(v);
            !loops.defines(l, func, &block_of, v) || func.def_if(v, Opcode::Uniform).is_some_and(|d| d.args.is_empty())
        };
        let mut sure = exits.iter().filter(every).filter(|e| shared(e));
        sure.any(|e| exits.iter().all(shared) || comes_nearer(func, loops.data(l), e.from, &outside))
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

/// Whether a block's branch compares a counter of a loop, which every round changes by one constant, with what stays in it.
fn comes_nearer(func: &Function, l: &LoopData, b: Block, outside: &dyn Fn(Value) -> bool) -> bool {
    let counts = |v: Value| {
        let v = func.resolve(v);
        let ValueDef::Param(header, n) = func.def(v) else { return false };
        let by_constant = |e: &Edge| {
            let next = func.resolve(func.successors(e.from)[e.target as usize].args[usize::from(n)]);
            let sum = func.def_if(next, Opcode::Iadd);
            sum.is_some_and(|d| func.resolve(d.args[0]) == v && func.const_bits(d.args[1]).is_some_and(|k| k[0] != 0))
        };
        header == l.header && l.latches.iter().all(by_constant)
    };
    let Some(t) = func.terminator(b).filter(|t| func.insts[*t].op == Opcode::BrIf) else { return false };
    let asked = func.def_if(func.insts[t].args[0], Opcode::Icmp);
    asked.is_some_and(|d| counts(d.args[0]) && outside(d.args[1]) || counts(d.args[1]) && outside(d.args[0]))
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
