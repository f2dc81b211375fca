//! Variables to SSA values while blocks are being built, and the clean-up afterwards.
//!
//! The method is that of Braun et al., "Simple and Efficient Construction of Static Single Assignment Form": reading a variable looks
//! for its last definition backwards and makes a block parameter where several meet; blocks whose predecessors are not all
//! known yet get provisional parameters that are completed when the block is sealed.

use retroshade_ir::inst::{Imm, InstData};
use retroshade_ir::types::Type;
use retroshade_ir::{Block, Effect, Function, Inst, Opcode, Span, Value, ValueDef};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// An SSA variable: a leaf of a variable of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Var(pub(crate) u32);

/// A place that control passes on every way to a join behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    block: Block,
    /// Writes noted before it.
    writes: usize,
}

/// Joins behind which more variables than this were written since their gate have no short cut.
const MOST_WRITTEN: usize = 1024;

/// Definitions of variables by block. The maps are only looked up, never walked.
#[derive(Debug, Default)]
pub(crate) struct Ssa {
    types: Vec<Type>,
    /// The variables written so far; within what has been closed, each once.
    written: Vec<Var>,
    /// Short cuts: what is not written between a gate and its join has at the join the value that it has at the gate, so that
    /// no parameter is made for it. Without them a variable would get one at every join that it lives across.
    behind: HashMap<Block, (Block, Box<[Var]>)>,
    defs: HashMap<(Block, Var), Value>,
    preds: HashMap<Block, SmallVec<[Block; 2]>>,
    sealed: HashSet<Block>,
    incomplete: HashMap<Block, Vec<(Var, Value)>>,
    undef: HashMap<Type, Value>,
}

impl Ssa {
    /// A new variable.
    pub(crate) fn var(&mut self, ty: Type) -> Var {
        self.types.push(ty);
        Var(self.types.len() as u32 - 1)
    }

    /// The type of a variable.
    pub(crate) fn ty(&self, v: Var) -> Type {
        self.types[v.0 as usize]
    }

    /// Notes an edge. Several edges between the same blocks count once.
    pub(crate) fn edge(&mut self, from: Block, to: Block) {
        let p = self.preds.entry(to).or_default();
        if !p.contains(&from) {
            p.push(from);
        }
    }

    /// Whether control can reach a block as far as known.
    pub(crate) fn has_preds(&self, b: Block) -> bool {
        self.preds.get(&b).is_some_and(|p| !p.is_empty())
    }

    /// Sets a variable.
    pub(crate) fn write(&mut self, b: Block, var: Var, value: Value) {
        self.written.push(var);
        self.defs.insert((b, var), value);
    }

    /// Reads a variable at the end of what a block holds so far.
    pub(crate) fn read(&mut self, f: &mut Function, b: Block, var: Var) -> Value {
        let mut chain: SmallVec<[Block; 8]> = SmallVec::new();
        let mut at = b;
        let found = loop {
            if let Some(v) = self.defs.get(&(at, var)) {
                break *v;
            }
            if !self.sealed.contains(&at) {
                let p = f.add_param(at, self.ty(var));
                self.incomplete.entry(at).or_default().push((var, p));
                self.defs.insert((at, var), p);
                break p;
            }
            if let Some((gate, written)) = self.behind.get(&at)
                && written.binary_search(&var).is_err()
            {
                if at == b {
                    chain.push(b);
                }
                at = *gate;
                continue;
            }
            let preds = self.preds.get(&at).cloned().unwrap_or_default();
            match preds[..] {
                [] => break self.undef(f, self.ty(var)),
                [only] => {
                    chain.push(at);
                    at = only;
                }
                _ => {
                    let p = f.add_param(at, self.ty(var));
                    self.defs.insert((at, var), p);
                    self.complete(f, at, var, p);
                    break p;
                }
            }
        };
        for c in chain {
            self.defs.insert((c, var), found);
        }
        found
    }

    /// A gate at the end of what a block holds so far.
    pub(crate) fn gate(&self, block: Block) -> Gate {
        Gate { block, writes: self.written.len() }
    }

    /// Every way to the blocks leads through the gate, and what lies between is finished.
    pub(crate) fn close(&mut self, gate: Gate, joins: &[Block]) {
        let mut since = self.written.split_off(gate.writes);
        since.sort_unstable();
        since.dedup();
        if since.len() <= MOST_WRITTEN {
            for b in joins {
                self.behind.insert(*b, (gate.block, since.clone().into_boxed_slice()));
            }
        }
        self.written.append(&mut since);
    }

    /// All predecessors of the block are known now.
    pub(crate) fn seal(&mut self, f: &mut Function, b: Block) {
        if !self.sealed.insert(b) {
            return;
        }
        for (var, p) in self.incomplete.remove(&b).unwrap_or_default() {
            self.complete(f, b, var, p);
        }
    }

    /// Passes the variable's value along every edge into `b` for the parameter `param`. Reading may add further parameters
    /// to `b` and complete them first, so arguments are set by position.
    fn complete(&mut self, f: &mut Function, b: Block, var: Var, param: Value) {
        let ValueDef::Param(_, n) = f.values[param].1 else { return };
        for p in self.preds.get(&b).cloned().unwrap_or_default() {
            let v = self.read(f, p, var);
            let Some(t) = f.terminator(p) else { continue };
            for call in f.insts[t].targets.iter_mut().filter(|t| t.block == b) {
                if call.args.len() <= n as usize {
                    call.args.resize(n as usize + 1, param);
                }
                call.args[n as usize] = v;
            }
        }
    }

    /// The one undefined value of a type, made in the entry block.
    pub(crate) fn undef(&mut self, f: &mut Function, ty: Type) -> Value {
        if let Some(v) = self.undef.get(&ty) {
            return *v;
        }
        let i = f.make_inst(InstData::new(Opcode::Undef, &[], Imm::None), &[ty], Span::NONE);
        let entry = f.layout[0];
        f.blocks[entry].insts.insert(0, i);
        let v = f.insts[i].results[0];
        self.undef.insert(ty, v);
        v
    }
}

/// Tidies a finished function: parameters that always get the same value, unreachable blocks, jumps to a block with one
/// predecessor, instructions without use.
pub(crate) fn clean(f: &mut Function) {
    remove_unreachable(f);
    redundant_params(f);
    fuse_blocks(f);
    remove_dead(f);
}

fn remove_unreachable(f: &mut Function) {
    let Some(entry) = f.entry() else { return };
    let mut seen = HashSet::from([entry]);
    let mut work = vec![entry];
    while let Some(b) = work.pop() {
        for t in f.successors(b) {
            if seen.insert(t.block) {
                work.push(t.block);
            }
        }
    }
    f.layout.retain(|b| seen.contains(b));
}

/// Arguments that reach each parameter of each block, in layout order.
fn incoming(f: &Function) -> HashMap<Block, Vec<(Inst, usize)>> {
    let mut m: HashMap<Block, Vec<(Inst, usize)>> = HashMap::new();
    for b in &f.layout {
        if let Some(t) = f.terminator(*b) {
            for (n, call) in f.insts[t].targets.iter().enumerate() {
                m.entry(call.block).or_default().push((t, n));
            }
        }
    }
    m
}

fn redundant_params(f: &mut Function) {
    let edges = incoming(f);
    loop {
        let mut changed = false;
        for b in f.layout.clone().into_iter().skip(1) {
            let Some(into) = edges.get(&b) else { continue };
            for n in 0..f.blocks[b].params.len() {
                let p = f.blocks[b].params[n];
                if matches!(f.values[p].1, ValueDef::Alias(_)) {
                    continue;
                }
                let mut only = None;
                let mut several = false;
                for (t, k) in into {
                    let v = f.resolve(f.insts[*t].targets[*k].args[n]);
                    if v == p {
                        continue;
                    }
                    match only {
                        None => only = Some(v),
                        Some(o) if o == v => {}
                        Some(_) => several = true,
                    }
                }
                if let (Some(v), false) = (only, several) {
                    f.replace(p, v);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    f.resolve_aliases();
    keep_params(f, &edges, |f, p| !matches!(f.values[p].1, ValueDef::Alias(_)));
}

/// Drops the parameters for which `keep` is false, with their arguments.
fn keep_params(f: &mut Function, edges: &HashMap<Block, Vec<(Inst, usize)>>, keep: impl Fn(&Function, Value) -> bool) {
    for b in f.layout.clone().into_iter().skip(1) {
        let kept: Vec<bool> = f.blocks[b].params.iter().map(|p| keep(f, *p)).collect();
        if kept.iter().all(|k| *k) {
            continue;
        }
        for (t, k) in edges.get(&b).map_or(&[][..], |v| v) {
            let mut n = 0;
            f.insts[*t].targets[*k].args.retain(|_| {
                n += 1;
                kept[n - 1]
            });
        }
        let mut n = 0;
        f.blocks[b].params.retain(|_| {
            n += 1;
            kept[n - 1]
        });
        for (n, p) in f.blocks[b].params.clone().into_iter().enumerate() {
            f.values[p].1 = ValueDef::Param(b, n as u16);
        }
    }
}

fn fuse_blocks(f: &mut Function) {
    let mut preds: HashMap<Block, u32> = HashMap::new();
    for b in &f.layout {
        for t in f.successors(*b) {
            *preds.entry(t.block).or_default() += 1;
        }
    }
    let mut gone = HashSet::new();
    for b in f.layout.clone() {
        if gone.contains(&b) {
            continue;
        }
        while let Some(t) = f.terminator(b).filter(|t| f.insts[*t].op == Opcode::Jump) {
            let call = f.insts[t].targets[0].clone();
            if call.block == b || preds.get(&call.block) != Some(&1) || f.layout.first() == Some(&call.block) {
                break;
            }
            for (p, a) in f.blocks[call.block].params.clone().into_iter().zip(call.args) {
                f.replace(p, a);
            }
            let tail = std::mem::take(&mut f.blocks[call.block].insts);
            f.blocks[call.block].params.clear();
            f.blocks[b].insts.pop();
            f.blocks[b].insts.extend(tail);
            gone.insert(call.block);
        }
    }
    f.layout.retain(|b| !gone.contains(b));
    f.resolve_aliases();
}

fn remove_dead(f: &mut Function) {
    let edges = incoming(f);
    let mut live: HashSet<Value> = HashSet::new();
    let mut work: Vec<Value> = Vec::new();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        if matches!(d.op.effect(), Effect::Write | Effect::Terminator) {
            work.extend(d.args.iter().copied());
        }
    }
    while let Some(v) = work.pop() {
        if !live.insert(v) {
            continue;
        }
        match f.values[v].1 {
            ValueDef::Result(i, _) => work.extend(f.insts[i].args.iter().copied()),
            ValueDef::Param(b, n) => {
                for (t, k) in edges.get(&b).map_or(&[][..], |e| e) {
                    work.extend(f.insts[*t].targets[*k].args.get(n as usize));
                }
            }
            ValueDef::Alias(w) => work.push(w),
        }
    }
    keep_params(f, &edges, |_, p| live.contains(&p));
    for b in f.layout.clone() {
        let insts = std::mem::take(&mut f.blocks[b].insts);
        let kept = insts.into_iter().filter(|i| !f.insts[*i].op.is_removable() || f.insts[*i].results.iter().any(|r| live.contains(r)));
        f.blocks[b].insts = kept.collect();
    }
}
