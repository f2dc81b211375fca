//! Jump threading: a block that only asks what its predecessors know already is passed by. Each way that knows the answer goes to a
//! copy of the block that does not ask: flags, and branches on the same condition one behind the other.
//!
//! Graphs stay reducible: loop headers are neither copied nor entered from a copy.

use super::rewrite::cost;
use super::sccp::jump_to;
use super::unroll::{close, copy_blocks};
use crate::analysis::cfg::Edge;
use crate::analysis::{Cfg, DomTree};
use crate::entities::{Block, Value};
use crate::function::{Function, ValueDef};
use crate::inst::{BlockCall, Imm};
use crate::opcode::{Effect, Opcode};
use cranelift_entity::EntitySet;
use smallvec::SmallVec;

/// The most that a block may cost which is copied.
const COPIED: u32 = 4;

/// The most copies in one run.
const MOST: usize = 64;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let mut changed = false;
    for _ in 0..MOST {
        func.resolve_aliases();
        let Some((block, known)) = find(func) else { break };
        apply(func, block, &known);
        changed = true;
    }
    if changed {
        super::promote::run(func);
        super::simplify_cfg::run(func);
    }
    changed
}

/// A block that may be passed by, and for each edge into it the way on, if that is known.
fn find(func: &Function) -> Option<(Block, Vec<(Edge, usize)>)> {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let mut header: EntitySet<Block> = EntitySet::new();
    for b in cfg.rpo() {
        if cfg.preds(*b).iter().any(|e| dom.dominates(*b, e.from)) {
            header.insert(*b);
        }
    }
    cfg.rpo().iter().skip(1).find_map(|b| {
        let t = func.terminator(*b).filter(|t| func.insts[*t].op == Opcode::BrIf)?;
        let fits = cfg.preds(*b).len() > 1
            && !header.contains(*b)
            && (0..2).all(|way| !header.contains(func.successors(*b)[way].block) && !header.contains(onward(func, *b, way).block))
            && func.blocks[*b].insts.iter().all(|i| matches!(func.insts[*i].op.effect(), Effect::Pure | Effect::Terminator))
            && func.blocks[*b].insts.iter().map(|i| cost(func, *i)).sum::<u32>() <= COPIED + test_cost(func, *b);
        if !fits {
            return None;
        }
        let cond = func.insts[t].args[0];
        let known: Vec<(Edge, usize)> =
            cfg.preds(*b).iter().filter_map(|e| Some((*e, usize::from(!answer(func, &cfg, &dom, *b, *e, cond)?)))).collect();
        // Where some do not know, only flags may skip to a join: a jump into the arm of an `if` is dear on machines that keep control
        // flow in a stack.
        let all = known.len() == cfg.preds(*b).len();
        let skips = |e: &Edge, way: usize| is_flag(func, *e, cond) && cfg.preds(onward(func, *b, way).block).len() > 1;
        let known: Vec<(Edge, usize)> = known.into_iter().filter(|(e, way)| all || skips(e, *way)).collect();
        (!known.is_empty()).then_some((*b, known))
    })
}

/// Where one way of a block's branch leads, empty blocks passed by.
fn onward(func: &Function, block: Block, way: usize) -> BlockCall {
    let call = func.successors(block)[way].clone();
    match func.blocks[call.block].insts[..] {
        [jump] if func.insts[jump].op == Opcode::Jump && func.blocks[call.block].params.is_empty() => func.insts[jump].targets[0].clone(),
        _ => call,
    }
}

/// The comparison goes away with the branch.
fn test_cost(func: &Function, b: Block) -> u32 {
    let cond = func.terminator(b).map(|t| func.insts[t].args[0]);
    cond.and_then(|c| func.def_inst(c)).filter(|i| func.blocks[b].insts.contains(i)).map_or(0, |i| cost(func, i))
}

/// Whether a condition is a constant that an edge brings along.
fn is_flag(func: &Function, e: Edge, cond: Value) -> bool {
    let call = &func.successors(e.from)[e.target as usize];
    matches!(func.def(cond), ValueDef::Param(at, n) if at == call.block && func.const_bits(call.args[n as usize]).is_some())
}

/// The condition's value for those who come along an edge.
fn answer(func: &Function, cfg: &Cfg, dom: &DomTree, b: Block, e: Edge, cond: Value) -> Option<bool> {
    let args = &func.successors(e.from)[e.target as usize].args;
    let seen = |v: Value| match func.def(v) {
        ValueDef::Param(at, n) if at == b => args[n as usize],
        _ => v,
    };
    let v = seen(cond);
    if let Some(bits) = func.const_bits(v) {
        return Some(bits[0] & 1 == 1);
    }
    // A comparison here of what arrives as a constant.
    if let Some(i) = func.def_inst(v)
        && func.blocks[b].insts.contains(&i)
    {
        let d = &func.insts[i];
        let values: Option<SmallVec<[[u32; 4]; 4]>> = d.args.iter().map(|a| func.const_bits(seen(*a))).collect();
        let types: SmallVec<[_; 4]> = d.args.iter().map(|a| func.ty(*a)).collect();
        let integers = matches!(d.imm, Imm::IntCC(_)) && d.op == Opcode::Icmp;
        let bits =
            values.filter(|_| integers).and_then(|v| crate::interp::eval(&crate::Reference, d.op, &d.imm, func.ty(cond), &types, &v));
        return bits.map(|b| b[0] & 1 == 1);
    }
    // A branch on the same condition on the way.
    let mut at = Some((e.from, Some(e)));
    while let Some((from, edge)) = at {
        let asks = func.terminator(from).is_some_and(|t| func.insts[t].op == Opcode::BrIf && func.insts[t].args[0] == v);
        if let (true, Some(e)) = (asks, edge) {
            return Some(e.target == 0);
        }
        at = match cfg.single_pred(from) {
            Some(e) => Some((e.from, Some(e))),
            None => dom.idom(from).map(|d| (d, None)),
        };
    }
    None
}

/// Sends the edges that know the way to copies of the block without the question.
fn apply(func: &mut Function, block: Block, known: &[(Edge, usize)]) {
    close(func, &[&[block]]);
    for way in 0..2 {
        let edges: Vec<Edge> = known.iter().filter(|(_, w)| *w == way).map(|(e, _)| *e).collect();
        if edges.is_empty() {
            continue;
        }
        let copy = copy_without_branch(func, block, way);
        for e in edges {
            if let Some(t) = func.terminator(e.from) {
                func.insts[t].targets[e.target as usize].block = copy;
            }
        }
    }
    super::dce::drop_unreachable(func);
}

/// A copy of the block that goes one way without asking.
fn copy_without_branch(func: &mut Function, block: Block, way: usize) -> Block {
    let call = onward(func, block, way);
    if let Some(t) = func.terminator(block) {
        func.insts[t].targets[way] = call;
    }
    let copy = copy_blocks(func, &[block], None)[&block];
    if let Some(t) = func.terminator(copy) {
        jump_to(func, t, way);
    }
    let at = func.layout.iter().position(|b| *b == block).unwrap_or(0);
    func.layout.insert(at, copy);
    copy
}
