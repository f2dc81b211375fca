//! Control-flow clean-up: decided branches, blocks in a row, blocks that only jump on, parameters that always get the
//! same value, equal ends, and switches with one or two targets.
//!
//! No rule makes a reducible graph irreducible: jumps are not threaded through loop headers.

use super::sccp::{decided, jump_to};
use crate::analysis::{Cfg, DomTree, domtree::inst_blocks};
use crate::diag::Span;
use crate::entities::{Block, Inst, Value};
use crate::function::{Function, ValueDef};
use crate::inst::{BlockCall, Imm, InstData, IntCC};
use crate::opcode::Opcode;
use crate::types::{I32, Type};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::collections::HashMap;

/// Runs all rules until none applies (bounded).
pub fn run(func: &mut Function) -> bool {
    let rules = [branches, redundant_params_in, forward_empty, merge_rows, merge_equal_ends];
    let mut any = false;
    for _ in 0..16 {
        func.resolve_aliases();
        let mut cfg = Cfg::new(func);
        let before = func.layout.len();
        func.layout.retain(|b| cfg.is_reachable(*b));
        let mut changed = before != func.layout.len();
        for rule in rules {
            if rule(func, &cfg) {
                changed = true;
                cfg = Cfg::new(func);
            }
        }
        if !changed {
            break;
        }
        any = true;
    }
    any
}

/// Branches whose condition or targets leave no choice; negated conditions.
fn branches(func: &mut Function, _: &Cfg) -> bool {
    let mut changed = false;
    for b in func.layout.clone() {
        let Some(t) = func.terminator(b) else { continue };
        let d = &func.insts[t];
        if !matches!(d.op, Opcode::BrIf | Opcode::Switch) {
            continue;
        }
        let cond = func.resolve(d.args[0]);
        if let Some(bits) = func.const_bits(cond) {
            let n = decided(d, bits[0]);
            jump_to(func, t, n);
            changed = true;
            continue;
        }
        if d.targets.iter().all(|c| *c == d.targets[0]) {
            jump_to(func, t, 0);
            changed = true;
            continue;
        }
        if d.op == Opcode::BrIf
            && let Some(n) = func.def_if(cond, Opcode::Inot)
        {
            let inner = n.args[0];
            let d = &mut func.insts[t];
            d.args[0] = inner;
            d.targets.swap(0, 1);
            changed = true;
            continue;
        }
        if d.op == Opcode::Switch {
            changed |= small_switch(func, b, t);
        }
    }
    changed
}

/// Cases that go where the default goes are dropped; a switch with one case left is a comparison.
fn small_switch(func: &mut Function, b: Block, t: Inst) -> bool {
    let d = &mut func.insts[t];
    let Imm::Cases(cases) = &d.imm else { return false };
    let Some(default) = d.targets.last().cloned() else { return false };
    let kept: Vec<usize> = (0..cases.len()).filter(|n| d.targets[*n] != default).collect();
    let mut changed = false;
    if kept.len() != cases.len() {
        let values: Vec<u32> = kept.iter().map(|n| cases[*n]).collect();
        d.targets = kept.iter().map(|n| d.targets[*n].clone()).chain([default]).collect();
        d.imm = Imm::Cases(values.into());
        changed = true;
    }
    if let (Imm::Cases(cases), 2) = (&d.imm, d.targets.len()) {
        let (case, value) = (cases[0], d.args[0]);
        let span = func.spans[t];
        let ty = func.ty(value);
        let c = func.make_inst(InstData::new(Opcode::Const, &[], Imm::Const([case, 0, 0, 0])), &[ty], span);
        let Some(k) = func.result(c) else { return changed };
        let cmp = func.make_inst(InstData::new(Opcode::Icmp, &[value, k], Imm::IntCC(IntCC::Eq)), &[crate::types::I1], span);
        let Some(r) = func.result(cmp) else { return changed };
        debug_assert_eq!(ty, I32);
        let at = func.blocks[b].insts.len() - 1;
        func.blocks[b].insts.splice(at..at, [c, cmp]);
        let d = &mut func.insts[t];
        d.op = Opcode::BrIf;
        d.imm = Imm::None;
        d.args[0] = r;
        changed = true;
    }
    changed
}

/// Parameters that get one value from everywhere (or themselves round a loop, or nothing in particular).
pub fn redundant_params(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    redundant_params_in(func, &cfg)
}

fn redundant_params_in(func: &mut Function, cfg: &Cfg) -> bool {
    let mut changed = false;
    for b in cfg.rpo() {
        if Some(*b) == func.entry() {
            continue;
        }
        for n in (0..func.blocks[*b].params.len()).rev() {
            let p = func.blocks[*b].params[n];
            let mut only: Option<Value> = None;
            let mut open = false;
            let same = cfg.preds(*b).iter().all(|e| {
                let v = func.resolve(func.successors(e.from)[e.target as usize].args[n]);
                let undefined = func.def_if(v, Opcode::Undef).is_some();
                open |= undefined;
                v == p || undefined || *only.get_or_insert(v) == v
            });
            let value = match only {
                _ if !same => None,
                Some(v) => (!open || reaches(func, cfg, v, *b)).then_some(v),
                None => Some(undef_at_start(func, *b, func.ty(p))),
            };
            if let Some(v) = value {
                drop_param(func, cfg, *b, n);
                func.replace(p, v);
                changed = true;
            }
        }
    }
    if changed {
        func.resolve_aliases();
    }
    changed
}

/// A value of no particular bits, made at the beginning of a block.
pub fn undef_at_start(func: &mut Function, b: Block, ty: Type) -> Value {
    let i = func.make_inst(InstData::new(Opcode::Undef, &[], Imm::None), &[ty], Span::NONE);
    func.blocks[b].insts.insert(0, i);
    func.insts[i].results[0]
}

/// Whether a value is there at the beginning of a block.
fn reaches(func: &Function, cfg: &Cfg, v: Value, b: Block) -> bool {
    let home = match func.def(v) {
        ValueDef::Param(home, _) => Some(home),
        ValueDef::Result(i, _) => inst_blocks(func)[i],
        ValueDef::Alias(_) => None,
    };
    home.is_some_and(|home| home != b && DomTree::new(func, cfg).dominates(home, b))
}

/// Removes a block's parameter and its arguments; the value itself is replaced by the caller.
pub(super) fn drop_param(func: &mut Function, cfg: &Cfg, b: Block, n: usize) {
    func.blocks[b].params.remove(n);
    for (k, v) in func.blocks[b].params.clone().into_iter().enumerate() {
        func.values[v].1 = ValueDef::Param(b, k as u16);
    }
    for e in cfg.preds(b) {
        if let Some(t) = func.terminator(e.from) {
            func.insts[t].targets[e.target as usize].args.remove(n);
        }
    }
}

/// Branches to a block that only jumps go to its target at once.
fn forward_empty(func: &mut Function, cfg: &Cfg) -> bool {
    let empty = |func: &Function, b: Block| matches!(func.blocks[b].insts[..], [jump] if func.insts[jump].op == Opcode::Jump);
    if !cfg.rpo().iter().skip(1).any(|b| empty(func, *b)) {
        return false;
    }
    let dom = DomTree::new(func, cfg);
    let mut header: EntitySet<Block> = EntitySet::new();
    for b in cfg.rpo() {
        for e in cfg.preds(*b) {
            if dom.dominates(*b, e.from) {
                header.insert(*b);
            }
        }
    }
    // How often each parameter is used outside its own block's jump.
    let mut uses = func.use_counts();
    let mut changed = false;
    for b in cfg.rpo() {
        if !empty(func, *b) || Some(*b) == func.entry() || header.contains(*b) {
            continue;
        }
        let jump = func.blocks[*b].insts[0];
        let call = func.insts[jump].targets[0].clone();
        // Loops keep one entry and one way back where they have them.
        if call.block == *b || header.contains(call.block) {
            continue;
        }
        let own = |p: Value| call.args.iter().filter(|a| **a == p).count() as u32;
        if func.blocks[*b].params.iter().any(|p| uses[*p] != own(*p)) {
            continue; // someone behind reads a parameter directly
        }
        let params = func.blocks[*b].params.clone();
        // A block with both ways of one branch leading on through it keeps the difference in its arguments only.
        for e in cfg.preds(*b) {
            let Some(t) = func.terminator(e.from) else { continue };
            let Some(old) = func.insts[t].targets.get(e.target as usize).filter(|c| c.block == *b).cloned() else { continue };
            let new = BlockCall {
                block: call.block,
                args: call.args.iter().map(|a| params.iter().position(|p| p == a).map_or(*a, |n| old.args[n])).collect(),
            };
            // Two ways of one branch into one block with different arguments would be harder for everyone than this block.
            if func.insts[t].targets.iter().any(|c| c.block == new.block && *c != new) {
                continue;
            }
            for a in &old.args {
                uses[*a] = uses[*a].saturating_sub(1);
            }
            for a in &new.args {
                uses[*a] += 1;
            }
            func.insts[t].targets[e.target as usize] = new;
            changed = true;
        }
        // Blocks visited later in this sweep see stale predecessors for `call.block`; they are empty blocks of their own and
        // look their predecessors' targets up again, so at worst the next round finds the rest.
    }
    if changed {
        super::dce::drop_unreachable(func);
    }
    changed
}

/// A block and its only successor, if that has no other predecessor, are one block.
fn merge_rows(func: &mut Function, cfg: &Cfg) -> bool {
    let mut gone: EntitySet<Block> = EntitySet::new();
    let mut changed = false;
    for b in cfg.rpo() {
        if gone.contains(*b) {
            continue;
        }
        while let Some(t) = func.terminator(*b) {
            if func.insts[t].op != Opcode::Jump {
                break;
            }
            let call = func.insts[t].targets[0].clone();
            let next = call.block;
            if next == *b || cfg.preds(next).len() != 1 || Some(next) == func.entry() {
                break;
            }
            func.blocks[*b].insts.pop();
            let data = std::mem::take(&mut func.blocks[next]);
            for (p, a) in data.params.iter().zip(&call.args) {
                func.replace(*p, *a);
            }
            func.blocks[*b].insts.extend(data.insts);
            gone.insert(next);
            changed = true;
        }
    }
    if changed {
        func.layout.retain(|b| !gone.contains(*b));
        func.resolve_aliases();
    }
    changed
}

/// Both ways of a branch into blocks without successors and with equal instructions are one. Equal ends farther apart stay:
/// a join of unrelated branches costs structured machines more than it saves.
fn merge_equal_ends(func: &mut Function, cfg: &Cfg) -> bool {
    let mut seen: HashMap<Vec<u64>, Vec<Block>> = HashMap::new();
    let mut redirect: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    let mut changed = false;
    for b in cfg.rpo() {
        if !func.successors(*b).is_empty() || !func.blocks[*b].params.is_empty() || Some(*b) == func.entry() {
            continue;
        }
        let insts = &func.blocks[*b].insts;
        if insts.len() > 32 || insts.iter().any(|i| matches!(func.insts[*i].op, Opcode::Tex | Opcode::Ddx | Opcode::Ddy | Opcode::Barrier))
        {
            continue;
        }
        // A cheap key; the real comparison follows.
        let key: Vec<u64> = insts.iter().map(|i| func.insts[*i].op as u64).collect();
        let list = seen.entry(key).or_default();
        let from = cfg.single_pred(*b).map(|e| e.from);
        match list.iter().find(|o| from.is_some() && cfg.single_pred(**o).map(|e| e.from) == from && equal_blocks(func, **o, *b)) {
            Some(o) => {
                redirect[*b] = Some(*o);
                changed = true;
            }
            None => list.push(*b),
        }
    }
    if changed {
        for b in func.layout.clone() {
            if let Some(t) = func.terminator(b) {
                for c in func.insts[t].targets.iter_mut() {
                    if let Some(n) = redirect[c.block] {
                        c.block = n;
                    }
                }
            }
        }
        super::dce::drop_unreachable(func);
    }
    changed
}

fn equal_blocks(func: &Function, a: Block, b: Block) -> bool {
    let mut map: HashMap<Value, Value> = HashMap::new();
    func.blocks[a].insts.iter().zip(&func.blocks[b].insts).all(|(x, y)| {
        let (x, y) = (&func.insts[*x], &func.insts[*y]);
        let same = x.op == y.op
            && x.imm == y.imm
            && x.precise == y.precise
            && x.relaxed == y.relaxed
            && x.args.len() == y.args.len()
            && x.args.iter().zip(&y.args).all(|(p, q)| map.get(q).unwrap_or(q) == p)
            && x.results.len() == y.results.len()
            && x.results.iter().zip(&y.results).all(|(p, q)| func.ty(*p) == func.ty(*q));
        for (p, q) in x.results.iter().zip(&y.results) {
            map.insert(*q, *p);
        }
        same
    })
}
