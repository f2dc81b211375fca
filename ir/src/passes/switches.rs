//! Switches: cases that fall through get bodies of their own, those that only pick values become selects, and all of them become
//! chains of comparisons where a machine wants that.

use super::rewrite::{cost, is_speculatable};
use super::unroll::copy_blocks;
use crate::analysis::Cfg;
use crate::builder::Builder;
use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::inst::{BlockCall, Imm, InstData, IntCC};
use crate::opcode::Opcode;
use crate::types::I32;
use smallvec::SmallVec;

/// Switches all of whose cases lead to one block, at most through a block of their own that may run anywhere, become selects, if
/// the comparisons, the selects and what stands in the cases cost at most `limit`.
pub fn pick_values(func: &mut Function, limit: u32) -> bool {
    func.resolve_aliases();
    let mut changed = false;
    for b in func.layout.clone() {
        let Some(t) = func.terminator(b).filter(|t| func.insts[*t].op == Opcode::Switch) else { continue };
        let cfg = Cfg::new(func);
        if cfg.is_reachable(b)
            && let Some(arms) = arms(func, &cfg, b, t).filter(|a| price(func, a) <= limit)
        {
            convert(func, b, t, &arms);
            changed = true;
        }
    }
    if changed {
        super::dce::drop_unreachable(func);
    }
    changed
}

/// One way out of a switch.
struct Arm {
    /// The cases; none for the default.
    cases: SmallVec<[u32; 4]>,
    insts: Vec<Inst>,
    to: BlockCall,
}

/// The ways of a switch, the default last, if all lead to one block.
fn arms(func: &Function, cfg: &Cfg, b: Block, t: Inst) -> Option<Vec<Arm>> {
    let d = &func.insts[t];
    let Imm::Cases(cases) = &d.imm else { return None };
    let own = |c: &BlockCall| cfg.preds(c.block).iter().all(|e| e.from == b) && func.blocks[c.block].params.is_empty();
    let mut arms: Vec<(BlockCall, Arm)> = Vec::new();
    for (n, call) in d.targets.iter().enumerate() {
        let case = cases.get(n).copied();
        if let (Some(case), Some((_, arm))) = (case, arms.iter_mut().find(|(c, _)| c == call)) {
            arm.cases.push(case);
            continue;
        }
        let (last, body) = func.blocks[call.block].insts.split_last()?;
        let jump = &func.insts[*last];
        let through = own(call) && jump.op == Opcode::Jump && body.iter().all(|i| is_speculatable(&func.insts[*i]));
        let (insts, to) = if through { (body.to_vec(), jump.targets[0].clone()) } else { (Vec::new(), call.clone()) };
        arms.push((call.clone(), Arm { cases: case.into_iter().collect(), insts, to }));
    }
    // Cases that go where the default goes are the default.
    let default = arms.last()?.0.clone();
    arms.retain(|(c, a)| *c != default || a.cases.is_empty());
    let join = arms.first()?.1.to.block;
    (join != b && arms.iter().all(|(_, a)| a.to.block == join)).then(|| arms.into_iter().map(|(_, a)| a).collect())
}

/// What the selects would cost.
fn price(func: &Function, arms: &[Arm]) -> u32 {
    let work: u32 = arms.iter().flat_map(|a| &a.insts).map(|i| cost(func, *i)).sum();
    let tests: usize = arms.iter().map(|a| a.cases.len()).sum();
    let lanes: u32 = arms[0].to.args.iter().map(|v| u32::from(func.ty(*v).lanes)).sum();
    work + tests as u32 + lanes * (arms.len() as u32 - 1)
}

fn convert(func: &mut Function, b: Block, t: Inst, arms: &[Arm]) {
    let value = func.insts[t].args[0];
    let span = func.spans[t];
    func.blocks[b].insts.pop();
    for arm in arms {
        func.blocks[b].insts.extend(&arm.insts);
    }
    let Some((default, cases)) = arms.split_last() else { return };
    let mut args = default.to.args.clone();
    let mut bl = Builder::new(func, b);
    bl.span = span;
    for arm in cases {
        let mut cond: Option<Value> = None;
        for case in &arm.cases {
            let k = bl.iconst(I32, *case);
            let c = bl.icmp(IntCC::Eq, value, k);
            cond = Some(cond.map_or(c, |o| bl.ins(Opcode::Ior, &[o, c])));
        }
        let Some(cond) = cond else { continue };
        for (a, v) in args.iter_mut().zip(&arm.to.args) {
            if *a != *v {
                *a = bl.select(cond, *v, *a);
            }
        }
    }
    bl.jump(default.to.block, &args);
}

/// Turns every switch into a chain of comparisons, one for each place that cases lead to: for machines without a jump table, and
/// before if-conversion.
pub fn lower(func: &mut Function) -> bool {
    let mut changed = false;
    let old = std::mem::take(&mut func.layout);
    let mut layout = Vec::with_capacity(old.len());
    for b in old {
        layout.push(b);
        let Some(t) = func.terminator(b).filter(|t| func.insts[*t].op == Opcode::Switch) else { continue };
        let (d, span) = (func.insts[t].clone(), func.spans[t]);
        let (Imm::Cases(cases), Some(default)) = (&d.imm, d.targets.last().cloned()) else { continue };
        func.blocks[b].insts.pop();
        let ways = ways(cases, &d.targets, &default);
        let mut at = b;
        for (n, (way, cases)) in ways.iter().enumerate() {
            let mut bl = Builder::new(func, at);
            bl.span = span;
            let cond = is_one_of(&mut bl, d.args[0], cases);
            let other = if n + 1 == ways.len() {
                default.clone()
            } else {
                let block = bl.func.blocks.push(Default::default());
                layout.push(block);
                BlockCall { block, args: Default::default() }
            };
            at = other.block;
            let mut br = InstData::new(Opcode::BrIf, &[cond], Imm::None);
            br.targets = [way.clone(), other].into_iter().collect();
            bl.push(br, &[]);
        }
        if ways.is_empty() {
            let mut bl = Builder::new(func, b);
            bl.span = span;
            bl.jump(default.block, &default.args);
        }
        changed = true;
    }
    func.layout = layout;
    changed
}

/// The places that cases lead to, but for the default's, each with its cases.
fn ways(cases: &[u32], targets: &[BlockCall], default: &BlockCall) -> Vec<(BlockCall, Vec<i32>)> {
    let mut ways: Vec<(BlockCall, Vec<i32>)> = Vec::new();
    for (case, call) in cases.iter().zip(targets).filter(|(_, call)| *call != default) {
        match ways.iter_mut().find(|(way, _)| way == call) {
            Some((_, cases)) => cases.push(*case as i32),
            None => ways.push((call.clone(), vec![*case as i32])),
        }
    }
    ways
}

/// Whether a number is one of the cases: rows of neighbours by their ends, others one by one.
fn is_one_of(b: &mut Builder, value: Value, cases: &[i32]) -> Value {
    let mut sorted = cases.to_vec();
    sorted.sort_unstable();
    let mut any: Option<Value> = None;
    for row in sorted.chunk_by(|x, y| x.checked_add(1) == Some(*y)) {
        let (first, last) = (row[0], row[row.len() - 1]);
        let tests = if row.len() > 2 {
            let (first, last) = (b.iconst(I32, first as u32), b.iconst(I32, last as u32));
            let (above, below) = (b.icmp(IntCC::Sge, value, first), b.icmp(IntCC::Sle, value, last));
            vec![b.ins(Opcode::Iand, &[above, below])]
        } else {
            let equal = |case: &i32| {
                let case = b.iconst(I32, *case as u32);
                b.icmp(IntCC::Eq, value, case)
            };
            row.iter().map(equal).collect()
        };
        for test in tests {
            any = Some(any.map_or(test, |o| b.ins(Opcode::Ior, &[o, test])));
        }
    }
    any.unwrap_or(value)
}

/// What a body into which another case falls may cost to be copied, and how many are copied.
const FALL_COST: u32 = 8;
const MOST_FALLS: usize = 32;

/// A case that falls through into another gets a copy of that one's body, if it is small and free of effects: each case is a way by
/// itself then.
pub fn copy_falls(func: &mut Function) -> bool {
    func.resolve_aliases();
    let switch = |func: &Function, b: Block| func.terminator(b).is_some_and(|t| func.insts[t].op == Opcode::Switch);
    if !func.layout.iter().any(|b| switch(func, *b)) {
        return false;
    }
    let mut changed = false;
    for _ in 0..MOST_FALLS {
        let cfg = Cfg::new(func);
        let fall = cfg.rpo().iter().find_map(|b| {
            let preds = cfg.preds(*b);
            let from = preds.iter().find(|e| func.successors(e.from).len() == 1 && e.from != *b)?.from;
            (preds.iter().any(|e| switch(func, e.from)) && is_copied(func, *b)).then_some((from, *b))
        });
        let Some((from, body)) = fall else { break };
        copy_behind(func, from, body);
        changed = true;
    }
    changed
}

/// A block that only computes a little for the block behind it.
fn is_copied(func: &Function, b: Block) -> bool {
    let Some((last, body)) = func.blocks[b].insts.split_last() else { return false };
    let own: Vec<Value> = func.blocks[b].params.iter().copied().chain(body.iter().flat_map(|i| func.insts[*i].results.to_vec())).collect();
    let elsewhere = func.ordered().filter(|(at, _)| *at != b).any(|(_, i)| func.reads(i).iter().any(|v| own.contains(v)));
    let price: u32 = body.iter().map(|i| cost(func, *i)).sum();
    func.insts[*last].op == Opcode::Jump
        && func.insts[*last].targets[0].block != b
        && price <= FALL_COST
        && body.iter().all(|i| is_speculatable(&func.insts[*i]))
        && !elsewhere
}

/// Gives the jump from one block to another a copy of that one to lead to.
fn copy_behind(func: &mut Function, from: Block, body: Block) {
    let copy = copy_blocks(func, &[body], None)[&body];
    if let Some(jump) = func.terminator(from) {
        func.insts[jump].targets[0].block = copy;
    }
    let at = func.layout.iter().position(|b| *b == from).map_or(func.layout.len(), |n| n + 1);
    func.layout.insert(at, copy);
}
