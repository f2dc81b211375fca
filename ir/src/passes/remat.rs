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

/// Whether a value is free to make anew: a constant, a plain uniform, or a lane of one.
fn free_tree(func: &Function, v: Value) -> Option<Inst> {
    let i = func.def_inst(v)?;
    let d = &func.insts[i];
    let free = is_free(d) || d.op == Opcode::Extract && func.def_inst(d.args[0]).is_some_and(|a| is_free(&func.insts[a]));
    free.then_some(i)
}

fn rematerialise(func: &mut Function) -> bool {
    let block_of = inst_blocks(func);
    let mut changed = false;
    for b in func.layout.clone() {
        let mut copies = Copies { block: b, here: BTreeMap::new(), front: Vec::new(), block_of: &block_of };
        for i in func.blocks[b].insts.clone() {
            for n in 0..func.insts[i].args.len() {
                if let Some(new) = copies.of(func, func.insts[i].args[n]) {
                    func.insts[i].args[n] = new;
                }
            }
            for t in 0..func.insts[i].targets.len() {
                for n in 0..func.insts[i].targets[t].args.len() {
                    if let Some(new) = copies.of(func, func.insts[i].targets[t].args[n]) {
                        func.insts[i].targets[t].args[n] = new;
                    }
                }
            }
        }
        let mut front = copies.front;
        if !front.is_empty() {
            changed = true;
            front.append(&mut func.blocks[b].insts);
            func.blocks[b].insts = front;
        }
    }
    if changed {
        super::dce::run(func);
    }
    changed
}

/// Free values made anew in one block.
struct Copies<'a> {
    block: Block,
    here: BTreeMap<Value, Value>,
    front: Vec<Inst>,
    block_of: &'a SecondaryMap<Inst, Option<Block>>,
}

impl Copies<'_> {
    /// The value to use instead, if the value comes from another block and is free.
    fn of(&mut self, func: &mut Function, v: Value) -> Option<Value> {
        if let Some(n) = self.here.get(&v) {
            return Some(*n);
        }
        let def = free_tree(func, v).filter(|d| self.block_of[*d].is_some_and(|o| o != self.block))?;
        let mut data = func.insts[def].clone();
        data.results.clear();
        if data.op == Opcode::Extract {
            // The vector may be made in this very block by then; otherwise it comes along.
            if let Some(a) = self.of(func, data.args[0]) {
                data.args[0] = a;
            } else if func.def_inst(data.args[0]).is_some_and(|a| self.block_of[a] == Some(self.block)) {
                return None;
            }
        }
        let (ty, span) = (func.ty(v), func.spans[def]);
        let copy = func.make_inst(data, &[ty], span);
        self.front.push(copy);
        let r = func.result(copy)?;
        self.here.insert(v, r);
        Some(r)
    }
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
