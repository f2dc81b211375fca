//! Dead code: instructions whose results nobody needs, block parameters without readers, unreachable blocks, stores into
//! local arrays that are never read, outputs that are overwritten at once, and local arrays that are no longer named.

use crate::analysis::cfg::reverse_post_order;
use crate::entities::{Block, Inst, Local, Value};
use crate::function::{Function, ValueDef};
use crate::inst::{Imm, MemRef};
use crate::opcode::Opcode;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let changed = drop_unreachable(func);
    func.resolve_aliases();
    changed | sweep(func)
}

/// Removes blocks that the entry does not reach from the layout.
pub fn drop_unreachable(func: &mut Function) -> bool {
    let reached = reverse_post_order(func);
    if reached.len() == func.layout.len() {
        return false;
    }
    let mut there: EntitySet<Block> = EntitySet::new();
    there.extend(reached);
    func.layout.retain(|b| there.contains(*b));
    true
}

fn local_of(func: &Function, i: Inst) -> Option<Local> {
    match func.insts[i].imm {
        Imm::Mem { var: MemRef::Local(l), .. } => Some(l),
        _ => None,
    }
}

/// What is needed, as far as it is known.
struct Live<'a> {
    func: &'a Function,
    insts: Vec<bool>,
    params: EntitySet<Value>,
    /// What needs its operands yet, and parameters of blocks that need their values.
    work: Vec<Inst>,
    joins: Vec<(Block, usize)>,
    /// Where each block's parameters get their values: branches and places among their targets.
    edges: SecondaryMap<Block, Vec<(Inst, usize)>>,
}

impl Live<'_> {
    fn inst(&mut self, i: Inst) {
        if !std::mem::replace(&mut self.insts[i.index()], true) {
            self.work.push(i);
        }
    }
    fn value(&mut self, v: Value) {
        match self.func.def(v) {
            ValueDef::Result(i, _) => self.inst(i),
            ValueDef::Param(b, n) if self.params.insert(v) => self.joins.push((b, n.into())),
            ValueDef::Param(..) | ValueDef::Alias(_) => {}
        }
    }
}

fn sweep(func: &mut Function) -> bool {
    let mut live = Live {
        func,
        insts: vec![false; func.insts.len()],
        params: EntitySet::new(),
        work: Vec::new(),
        joins: Vec::new(),
        edges: SecondaryMap::new(),
    };
    let mut read: EntitySet<Local> = EntitySet::new();
    let mut stores: SecondaryMap<Local, Vec<Inst>> = SecondaryMap::new();
    // The last stores to outputs of a block that nobody saw yet: what sets the same output again leaves the one before to nobody.
    let mut unseen: Vec<(MemRef, u32, usize)> = Vec::new();
    let mut roots: Vec<Option<Inst>> = Vec::new();
    for b in &func.layout {
        unseen.clear();
        for i in &func.blocks[*b].insts {
            let d = &func.insts[*i];
            if d.op.is_removable() {
                continue;
            }
            match (d.op, &d.imm) {
                (Opcode::LocalStore, Imm::Mem { var: MemRef::Local(l), .. }) => {
                    stores[*l].push(*i);
                    continue;
                }
                (Opcode::LocalStore, _) => continue,
                (Opcode::Output, Imm::Mem { var, offset }) if d.args.len() == 1 => {
                    match unseen.iter_mut().find(|(v, o, _)| (v, o) == (var, offset)) {
                        Some((.., root)) => {
                            roots[*root] = None;
                            *root = roots.len();
                        }
                        None => unseen.push((*var, *offset, roots.len())),
                    }
                }
                (Opcode::EmitVertex | Opcode::Call, _) => unseen.clear(),
                _ => {}
            }
            roots.push(Some(*i));
            for (n, t) in d.targets.iter().enumerate() {
                if !func.blocks[t.block].params.is_empty() {
                    live.edges[t.block].push((*i, n));
                }
            }
        }
    }
    if let Some(entry) = func.entry() {
        // A function's own parameters belong to its signature.
        live.params.extend(func.blocks[entry].params.iter().copied());
    }
    roots.into_iter().flatten().for_each(|i| live.inst(i));
    loop {
        while let Some(i) = live.work.pop() {
            let d = &func.insts[i];
            d.args.iter().for_each(|v| live.value(*v));
            if d.op == Opcode::LocalLoad
                && let Some(l) = local_of(func, i)
                && read.insert(l)
            {
                std::mem::take(&mut stores[l]).into_iter().for_each(|i| live.inst(i));
            }
        }
        let Some((b, n)) = live.joins.pop() else { break };
        for k in 0..live.edges[b].len() {
            let (t, target) = live.edges[b][k];
            func.insts[t].targets[target].args.get(n).into_iter().for_each(|v| live.value(*v));
        }
    }
    let Live { insts: live, params: live_params, edges, .. } = live;
    let mut changed = false;
    let layout = func.layout.clone();
    for b in &layout {
        let before = func.blocks[*b].insts.len();
        func.blocks[*b].insts.retain(|i| live[i.index()]);
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
