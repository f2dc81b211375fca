//! If-conversion: small sides of a branch are executed by everyone and their results selected.
//!
//! Two tests of which one way leads to the same block become one test.
//!
//! Both sides may contain only what may run anywhere; the same output stored on both sides becomes one store of a select. Where the
//! machine discards by a comparison anyway, a discard on one side becomes one under both conditions.

use super::rewrite::{cost, is_speculatable};
use crate::analysis::Cfg;
use crate::builder::Builder;
use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::inst::{Imm, InstData};
use crate::opcode::Opcode;
use smallvec::SmallVec;

/// About what a branch costs: the most that stands before the second of two tests that become one, and what is converted before
/// anything else is.
pub const CHEAPEST: u32 = 4;

/// Runs the pass: a branch is converted if both sides together cost at most `limit` (see [`cost`]), selects included. `discards`:
/// also where a side discards.
pub fn run(func: &mut Function, limit: u32, discards: bool) -> bool {
    let mut any = false;
    // Each round joins what it converted, which may make outer branches convertible; costs add up, so rounds are few.
    loop {
        func.resolve_aliases();
        let order = Cfg::new(func).rpo().to_vec();
        let mut preds: cranelift_entity::SecondaryMap<Block, u32> = cranelift_entity::SecondaryMap::new();
        for b in &order {
            for t in func.successors(*b) {
                preds[t.block] += 1;
            }
        }
        let mut changed = false;
        for b in order.iter().rev() {
            changed |= merge_tests(func, *b, limit.min(CHEAPEST), &mut preds) || convert(func, *b, limit, discards, &mut preds);
        }
        if !changed {
            return any;
        }
        any = true;
        super::dce::drop_unreachable(func);
        super::simplify_cfg::run(func);
    }
}

/// One side of a branch: its instructions without the jump, what it passes on, and where it goes.
struct Side {
    insts: Vec<Inst>,
    args: SmallVec<[Value; 4]>,
    to: Block,
    block: Option<Block>,
}

fn side(func: &Function, b: Block, n: usize, join: Option<Block>, preds: &cranelift_entity::SecondaryMap<Block, u32>) -> Option<Side> {
    let call = &func.successors(b)[n];
    if Some(call.block) == join {
        return Some(Side { insts: Vec::new(), args: call.args.clone(), to: call.block, block: None });
    }
    let s = call.block;
    let (last, body) = func.blocks[s].insts.split_last()?;
    let d = &func.insts[*last];
    if preds[s] != 1 || d.op != Opcode::Jump || d.targets[0].block == s || d.targets[0].block == b || !func.blocks[s].params.is_empty() {
        return None;
    }
    Some(Side { insts: body.to_vec(), args: d.targets[0].args.clone(), to: d.targets[0].block, block: Some(s) })
}

fn convert(func: &mut Function, b: Block, limit: u32, discards: bool, preds: &mut cranelift_entity::SecondaryMap<Block, u32>) -> bool {
    let Some(t) = func.terminator(b).filter(|t| func.insts[*t].op == Opcode::BrIf) else { return false };
    let (then, other) = (func.insts[t].targets[0].block, func.insts[t].targets[1].block);
    // Diamond, or a triangle with either side empty; both targets the same block counts too.
    let sides = if then == other {
        side(func, b, 0, Some(then), preds).zip(side(func, b, 1, Some(then), preds))
    } else {
        let (p, q) = (side(func, b, 0, None, preds), side(func, b, 1, None, preds));
        match (p, q) {
            (Some(p), Some(q)) if p.to == q.to => Some((p, q)),
            (Some(p), _) if p.to == other => side(func, b, 1, Some(other), preds).map(|q| (p, q)),
            (_, Some(q)) if q.to == then => side(func, b, 0, Some(then), preds).map(|p| (p, q)),
            _ => None,
        }
    };
    let Some((p, q)) = sides else { return false };
    if p.to == b {
        return false;
    }
    let is_discard = |func: &Function, i: Inst| func.insts[i].op == Opcode::Discard;
    let ends = p.insts.iter().chain(&q.insts).filter(|i| is_discard(func, **i)).count() as u32;
    if ends > 0 && !discards {
        return false;
    }
    let Some(stores) = paired_stores(func, &p.insts, &q.insts) else { return false };
    let is_store = |func: &Function, i: Inst| func.insts[i].op == Opcode::Output;
    let selects: u32 = p.args.iter().zip(&q.args).filter(|(x, y)| x != y).map(|(x, _)| u32::from(func.ty(*x).lanes)).sum();
    let select_stores: u32 = stores.iter().map(|(x, _)| u32::from(func.ty(func.insts[*x].args[0]).lanes)).sum();
    let total: u32 =
        p.insts.iter().chain(&q.insts).filter(|i| !is_store(func, **i)).map(|i| cost(func, *i)).sum::<u32>() + selects + select_stores;
    if total + ends > limit {
        return false;
    }
    // Everything goes into `b`, then the selects, then the paired stores.
    let cond = func.insts[t].args[0];
    let span = func.spans[t];
    func.blocks[b].insts.pop();
    let truth = func.ty(cond);
    let add = |func: &mut Function, op: Opcode, args: &[Value]| {
        let i = func.make_inst(InstData::new(op, args, Imm::None), &[truth], span);
        func.blocks[b].insts.push(i);
        func.result(i).unwrap_or(cond)
    };
    for (side, taken) in [(&p, true), (&q, false)] {
        for i in &side.insts {
            if is_store(func, *i) {
                continue;
            }
            if is_discard(func, *i) {
                let ends = func.insts[*i].args[0];
                let here = if taken { cond } else { add(func, Opcode::Inot, &[cond]) };
                func.insts[*i].args[0] = add(func, Opcode::Iand, &[here, ends]);
            }
            func.blocks[b].insts.push(*i);
        }
    }
    let select = |func: &mut Function, x: Value, y: Value| {
        if x == y {
            return x;
        }
        let ty = func.ty(x);
        let i = func.make_inst(InstData::new(Opcode::Select, &[cond, x, y], Imm::None), &[ty], span);
        func.blocks[b].insts.push(i);
        func.result(i).unwrap_or(x)
    };
    let args: SmallVec<[Value; 4]> = p.args.iter().zip(&q.args).map(|(x, y)| select(func, *x, *y)).collect();
    for (x, y) in &stores {
        let v = select(func, func.insts[*x].args[0], func.insts[*y].args[0]);
        func.insts[*x].args[0] = v;
        func.blocks[b].insts.push(*x);
    }
    let mut jump = InstData::new(Opcode::Jump, &[], Imm::None);
    jump.targets.push(crate::inst::BlockCall { block: p.to, args });
    let jump = func.make_inst(jump, &[], span);
    func.blocks[b].insts.push(jump);
    for s in [p.block, q.block].into_iter().flatten() {
        func.blocks[s].insts.clear();
        preds[s] = 0;
    }
    preds[p.to] -= 1;
    true
}

/// The stores of both sides by pairs if each side stores the same outputs once at constant places; `None` if a side
/// contains anything else that may not run unconditionally.
fn paired_stores(func: &Function, p: &[Inst], q: &[Inst]) -> Option<Vec<(Inst, Inst)>> {
    let stores = |side: &[Inst]| -> Option<Vec<Inst>> {
        let mut out = Vec::new();
        for i in side {
            let d = &func.insts[*i];
            if d.op == Opcode::Output && d.args.len() == 1 {
                out.push(*i);
            } else if !is_speculatable(d) && d.op != Opcode::Discard {
                return None;
            }
        }
        Some(out)
    };
    let (p, q) = (stores(p)?, stores(q)?);
    if p.len() != q.len() {
        return None;
    }
    let mut pairs = Vec::new();
    for x in &p {
        let same = |i: &&Inst| func.insts[**i].imm == func.insts[*x].imm;
        if p.iter().filter(same).count() != 1 || q.iter().filter(same).count() != 1 {
            return None;
        }
        let y = q.iter().find(same)?;
        if func.ty(func.insts[*x].args[0]) != func.ty(func.insts[*y].args[0]) {
            return None;
        }
        pairs.push((*x, *y));
    }
    Some(pairs)
}

/// Two tests in a row of which one way leads to the same block are one test: `if (a) { if (b) … }`, `if (a || b)`, and early
/// returns that share their end. The second test's block must be the first one's own and may run anywhere.
fn merge_tests(func: &mut Function, b: Block, limit: u32, preds: &mut cranelift_entity::SecondaryMap<Block, u32>) -> bool {
    let branch = |func: &Function, b: Block| func.terminator(b).filter(|t| func.insts[*t].op == Opcode::BrIf);
    let Some(first) = branch(func, b) else { return false };
    for entered in 0..2 {
        let inner = func.insts[first].targets[entered].block;
        let other = func.insts[first].targets[1 - entered].clone();
        if preds[inner] != 1 || inner == b || other.block == inner || !func.blocks[inner].params.is_empty() {
            continue;
        }
        let Some(second) = branch(func, inner) else { continue };
        let Some(shared) = (0..2).find(|n| func.insts[second].targets[*n].block == other.block) else { continue };
        let (same, onward) = (func.insts[second].targets[shared].clone(), func.insts[second].targets[1 - shared].clone());
        if onward.block == other.block || onward.block == b || other.block == b {
            continue;
        }
        let body = func.blocks[inner].insts.split_last().map_or(&[][..], |(_, body)| body).to_vec();
        let selects: u32 = same.args.iter().zip(&other.args).filter(|(x, y)| x != y).map(|(x, _)| u32::from(func.ty(*x).lanes)).sum();
        let work: u32 = body.iter().map(|i| cost(func, *i)).sum();
        if !body.iter().all(|i| is_speculatable(&func.insts[*i])) || work + selects > limit {
            continue;
        }
        let (c, d) = (func.insts[first].args[0], func.insts[second].args[0]);
        func.blocks[b].insts.pop();
        func.blocks[b].insts.extend(body);
        let mut bl = Builder::new(func, b);
        // Onward if the first test enters and the second does not take the shared way.
        let enters = if entered == 0 { c } else { bl.ins(Opcode::Inot, &[c]) };
        let passes = if shared == 1 { d } else { bl.ins(Opcode::Inot, &[d]) };
        let args: SmallVec<[Value; 4]> =
            same.args.iter().zip(&other.args).map(|(x, y)| if x == y { *x } else { bl.select(enters, *x, *y) }).collect();
        let cond = bl.ins(Opcode::Iand, &[enters, passes]);
        bl.br_if(cond, (onward.block, &onward.args), (other.block, &args));
        func.blocks[inner].insts.clear();
        preds[inner] = 0;
        preds[other.block] -= 1;
        return true;
    }
    false
}
