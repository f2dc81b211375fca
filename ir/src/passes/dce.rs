//! Dead code: instructions whose results nobody needs, block parameters without readers, unreachable blocks, stores into
//! local arrays that are never read, outputs that are overwritten at once, and local arrays that are no longer named.

use crate::analysis::Cfg;
use crate::entities::{Block, Inst, Local, Value};
use crate::function::{Function, ValueDef};
use crate::inst::{Imm, MemRef};
use crate::opcode::Opcode;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let mut changed = drop_unreachable(func);
    func.resolve_aliases();
    changed |= overwritten_outputs(func);
    changed |= sweep(func);
    changed
}

/// Removes blocks that the entry does not reach from the layout.
pub fn drop_unreachable(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let before = func.layout.len();
    func.layout.retain(|b| cfg.is_reachable(*b));
    before != func.layout.len()
}

fn local_of(func: &Function, i: Inst) -> Option<Local> {
    match func.insts[i].imm {
        Imm::Mem { var: MemRef::Local(l), .. } => Some(l),
        _ => None,
    }
}

fn sweep(func: &mut Function) -> bool {
    let mut live: EntitySet<Inst> = EntitySet::with_capacity(func.insts.len());
    let mut live_params: EntitySet<Value> = EntitySet::new();
    let mut read: EntitySet<Local> = EntitySet::new();
    let mut stores: SecondaryMap<Local, Vec<Inst>> = SecondaryMap::new();
    let mut edges: SecondaryMap<Block, Vec<(Inst, usize)>> = SecondaryMap::new();
    let mut work: Vec<Value> = Vec::new();
    let mut roots: Vec<Inst> = Vec::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        for (n, t) in d.targets.iter().enumerate() {
            edges[t.block].push((i, n));
        }
        if d.op == Opcode::LocalStore {
            if let Some(l) = local_of(func, i) {
                stores[l].push(i);
            }
        } else if !d.op.is_removable() {
            roots.push(i);
        }
    }
    if let Some(entry) = func.entry() {
        // A function's own parameters belong to its signature.
        for p in &func.blocks[entry].params {
            live_params.insert(*p);
        }
    }
    loop {
        while let Some(i) = roots.pop() {
            if !live.insert(i) {
                continue;
            }
            let d = &func.insts[i];
            work.extend(d.args.iter().copied());
            if d.op == Opcode::LocalLoad
                && let Some(l) = local_of(func, i)
                && read.insert(l)
            {
                roots.append(&mut stores[l]);
            }
        }
        let Some(v) = work.pop() else { break };
        match func.def(v) {
            ValueDef::Result(i, _) => roots.push(i),
            ValueDef::Param(b, n) => {
                if live_params.insert(v) {
                    for (t, k) in &edges[b] {
                        work.extend(func.insts[*t].targets[*k].args.get(n as usize).copied());
                    }
                }
            }
            ValueDef::Alias(_) => {}
        }
    }
    let mut changed = false;
    let layout = func.layout.clone();
    for b in &layout {
        let before = func.blocks[*b].insts.len();
        func.blocks[*b].insts.retain(|i| live.contains(*i));
        changed |= before != func.blocks[*b].insts.len();
    }
    for b in layout {
        let params = &func.blocks[b].params;
        if params.iter().all(|p| live_params.contains(*p)) {
            continue;
        }
        changed = true;
        let keep: Vec<bool> = params.iter().map(|p| live_params.contains(*p)).collect();
        let kept: Vec<Value> = params.iter().copied().filter(|p| live_params.contains(*p)).collect();
        for (n, p) in kept.iter().enumerate() {
            func.values[*p].1 = ValueDef::Param(b, n as u16);
        }
        func.blocks[b].params = kept;
        for (t, k) in &edges[b] {
            let mut n = 0;
            func.insts[*t].targets[*k].args.retain(|_| {
                n += 1;
                keep[n - 1]
            });
        }
    }
    changed | drop_locals(func)
}

/// Local arrays that no instruction names lose their elements (their numbers stay).
fn drop_locals(func: &mut Function) -> bool {
    if func.locals.is_empty() {
        return false;
    }
    let mut used: EntitySet<Local> = EntitySet::new();
    for (_, i) in func.ordered() {
        if let Some(l) = local_of(func, i) {
            used.insert(l);
        }
    }
    let keys: Vec<Local> = func.locals.keys().collect();
    if keys.iter().all(|l| used.contains(*l)) {
        return false;
    }
    // Renumber so that the remaining ones are dense.
    let mut new: SecondaryMap<Local, Option<Local>> = SecondaryMap::new();
    let old = std::mem::take(&mut func.locals);
    for (l, decl) in old {
        if used.contains(l) {
            new[l] = Some(func.locals.push(decl));
        }
    }
    for b in func.layout.clone() {
        for i in func.blocks[b].insts.clone() {
            if let Imm::Mem { var: MemRef::Local(l), .. } = &mut func.insts[i].imm
                && let Some(n) = new[*l]
            {
                *l = n;
            }
        }
    }
    true
}

/// An output that the same block sets again before anyone can see it.
fn overwritten_outputs(func: &mut Function) -> bool {
    let mut changed = false;
    for b in func.layout.clone() {
        let mut later: Vec<(MemRef, u32)> = Vec::new();
        let mut dead: Vec<Inst> = Vec::new();
        for i in func.blocks[b].insts.iter().rev() {
            let d = &func.insts[*i];
            match (d.op, &d.imm) {
                (Opcode::Output, Imm::Mem { var, offset }) if d.args.len() == 1 => {
                    if later.contains(&(*var, *offset)) {
                        dead.push(*i);
                    } else {
                        later.push((*var, *offset));
                    }
                }
                (Opcode::EmitVertex | Opcode::Call, _) => later.clear(),
                _ => {}
            }
        }
        if !dead.is_empty() {
            changed = true;
            func.blocks[b].insts.retain(|i| !dead.contains(i));
        }
    }
    changed
}
