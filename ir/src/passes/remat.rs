//! Sinking and rematerialisation: constants and plain loads are made anew in each block that uses them, and a pure
//! instruction with one user moves next to it unless that puts it into a loop.
//!
//! Both shorten live ranges at no cost in instructions, since constants and uniforms are operands on these machines.

use super::rewrite::is_speculatable;
use crate::analysis::{Cfg, DomTree, Loops, domtree::inst_blocks};
use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::inst::InstData;
use crate::opcode::Opcode;
use cranelift_entity::SecondaryMap;
use std::collections::BTreeMap;

/// Runs both halves.
pub fn run(func: &mut Function) -> bool {
    func.resolve_aliases();
    let sunk = sink(func);
    let remade = rematerialise(func);
    sunk | remade
}

/// Whether making the value again costs nothing.
pub fn is_free(d: &InstData) -> bool {
    match d.op {
        Opcode::Const | Opcode::Undef => true,
        Opcode::Uniform => d.args.is_empty(),
        _ => false,
    }
}

fn rematerialise(func: &mut Function) -> bool {
    let block_of = inst_blocks(func);
    let mut changed = false;
    for b in func.layout.clone() {
        let mut here: BTreeMap<Value, Value> = BTreeMap::new();
        let mut front: Vec<Inst> = Vec::new();
        for i in func.blocks[b].insts.clone() {
            let count = func.insts[i].args.len();
            let mut places: Vec<(Option<usize>, usize)> = (0..count).map(|n| (None, n)).collect();
            for t in 0..func.insts[i].targets.len() {
                places.extend((0..func.insts[i].targets[t].args.len()).map(|n| (Some(t), n)));
            }
            for (t, n) in places {
                let v = match t {
                    None => func.insts[i].args[n],
                    Some(t) => func.insts[i].targets[t].args[n],
                };
                let Some(def) = func.def_inst(v).filter(|d| is_free(&func.insts[*d]) && block_of[*d].is_some_and(|o| o != b)) else {
                    continue;
                };
                let new = match here.get(&v) {
                    Some(n) => *n,
                    None => {
                        let mut data = func.insts[def].clone();
                        data.results.clear();
                        let (ty, span) = (func.ty(v), func.spans[def]);
                        let copy = func.make_inst(data, &[ty], span);
                        front.push(copy);
                        let r = func.result(copy).unwrap_or(v);
                        here.insert(v, r);
                        r
                    }
                };
                match t {
                    None => func.insts[i].args[n] = new,
                    Some(t) => func.insts[i].targets[t].args[n] = new,
                }
                changed = true;
            }
        }
        if !front.is_empty() {
            front.append(&mut func.blocks[b].insts);
            func.blocks[b].insts = front;
        }
    }
    if changed {
        super::dce::run(func);
    }
    changed
}

/// Moves single-user instructions down into the block of the user.
fn sink(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let loops = Loops::new(&cfg, &dom);
    let block_of = inst_blocks(func);
    // The one block that uses a value, or `None` once there are several.
    let mut user: SecondaryMap<Value, Option<(Block, bool)>> = SecondaryMap::new();
    let mut changed = false;
    let mut arrivals: SecondaryMap<Block, Vec<Inst>> = SecondaryMap::new();
    for b in cfg.rpo().iter().rev() {
        for i in func.blocks[*b].insts.iter().rev() {
            let d = &func.insts[*i];
            let mut at = *b;
            if let ([r], true) = (&d.results[..], is_speculatable(d))
                && let Some((to, true)) = user[*r]
                && to != *b
                && dom.dominates(*b, to)
                && loops.of(to) == loops.of(*b)
                && block_of[*i] == Some(*b)
            {
                arrivals[to].push(*i);
                at = to;
                changed = true;
            }
            for v in d.args.iter().chain(d.targets.iter().flat_map(|t| &t.args)) {
                user[*v] = match user[*v] {
                    None => Some((at, true)),
                    Some((o, one)) => Some((o, one && o == at)),
                };
            }
        }
    }
    if !changed {
        return false;
    }
    let mut moved: cranelift_entity::EntitySet<Inst> = cranelift_entity::EntitySet::new();
    for b in cfg.rpo() {
        for i in &arrivals[*b] {
            moved.insert(*i);
        }
    }
    for b in cfg.rpo() {
        func.blocks[*b].insts.retain(|i| !moved.contains(*i));
    }
    for b in cfg.rpo() {
        // Arrivals were found users first, so the reverse puts definitions first.
        let mut front: Vec<Inst> = arrivals[*b].iter().rev().copied().collect();
        if !front.is_empty() {
            front.append(&mut func.blocks[*b].insts);
            func.blocks[*b].insts = front;
        }
    }
    true
}
