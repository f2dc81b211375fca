//! Uniformity: is a value the same for every invocation of a draw, of a wave, or for none in particular?
//!
//! Divergence spreads along data, along control (a block parameter joins what a divergent branch separated) and in time
//! (a value that leaves a loop in which invocations spend different numbers of rounds). A loop's own counters stay
//! uniform even if invocations leave the loop one by one: those that are still in it agree.

use super::cfg::{Cfg, Csr, users};
use super::domtree::{DomTree, PostDomTree};
use super::loops::{LoopId, Loops};
use crate::entities::{Block, Inst, Value};
use crate::function::{Function, ValueDef};
use crate::inst::{Imm, MemRef};
use crate::module::{Access, Binding, Builtin, Module};
use crate::opcode::Opcode;
use cranelift_entity::SecondaryMap;
use std::collections::{BTreeMap, BTreeSet};

/// For whom a value is the same; later means fewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Known when the program is compiled.
    #[default]
    Constant,
    /// The same for all invocations of a draw or dispatch.
    Draw,
    /// The same for all invocations of a wave that are active together.
    Wave,
    /// May differ between invocations.
    Divergent,
}

/// The level of every value, branch and block of a function.
#[derive(Clone, Debug, Default)]
pub struct Uniformity {
    levels: SecondaryMap<Value, Level>,
    branches: SecondaryMap<Block, Level>,
    control: SecondaryMap<Block, Level>,
}

impl Uniformity {
    /// Analyses a function. Parameters of helper functions count as divergent.
    pub fn new(module: &Module, func: &Function) -> Uniformity {
        let cfg = Cfg::new(func);
        let dom = DomTree::new(func, &cfg);
        let loops = Loops::new(&cfg, &dom);
        let post = PostDomTree::new(func, &cfg);
        let mut a = Analysis::new(module, func, &cfg, &loops, &post);
        a.run();
        a.out
    }
    /// A value's level.
    pub fn level(&self, v: Value) -> Level {
        self.levels[v]
    }
    /// Whether a value is the same for the whole draw.
    pub fn is_draw_uniform(&self, v: Value) -> bool {
        self.levels[v] <= Level::Draw
    }
    /// Whether a value may differ within a wave.
    pub fn is_divergent(&self, v: Value) -> bool {
        self.levels[v] == Level::Divergent
    }
    /// The level of a block's branch decision ([`Level::Constant`] where there is nothing to decide).
    pub fn branch_level(&self, b: Block) -> Level {
        self.branches[b]
    }
    /// Whether invocations of one wave may leave a block in different directions.
    pub fn is_divergent_branch(&self, b: Block) -> bool {
        self.branches[b] == Level::Divergent
    }
    /// The level of whether a block runs at all: [`Level::Divergent`] if only a part of a wave may run it.
    pub fn block_level(&self, b: Block) -> Level {
        self.control[b]
    }
}

/// How a block is reached from a branch: through one successor (`false`), or it is a join itself (`true`).
type Labels = BTreeMap<Block, (Block, bool)>;

struct Analysis<'a> {
    module: &'a Module,
    func: &'a Function,
    cfg: &'a Cfg,
    loops: &'a Loops,
    post: &'a PostDomTree,
    out: Uniformity,
    /// Numbers of the instructions that read a value.
    users: Csr,
    block_of: SecondaryMap<Inst, Option<Block>>,
    /// The outermost loop that contains the definition but not some use.
    escapes: SecondaryMap<Value, Option<LoopId>>,
    exit_level: SecondaryMap<LoopId, Level>,
    /// The level of the branches that a block joins.
    join_level: SecondaryMap<Block, Level>,
    work: Vec<Inst>,
    /// Whether an instruction is in `work`.
    waits: SecondaryMap<Inst, bool>,
    /// Steps left for following single branches; when it is used up, every join counts.
    budget: usize,
}

impl<'a> Analysis<'a> {
    fn new(module: &'a Module, func: &'a Function, cfg: &'a Cfg, loops: &'a Loops, post: &'a PostDomTree) -> Analysis<'a> {
        let mut a = Analysis {
            module,
            func,
            cfg,
            loops,
            post,
            out: Uniformity::default(),
            users: users(func),
            block_of: SecondaryMap::new(),
            escapes: SecondaryMap::new(),
            exit_level: SecondaryMap::new(),
            join_level: SecondaryMap::new(),
            work: Vec::new(),
            waits: SecondaryMap::new(),
            budget: 100_000 + 64 * cfg.rpo().len(),
        };
        a.out.levels.resize(func.values.len());
        a.block_of.resize(func.insts.len());
        a.waits.resize(func.insts.len());
        for b in cfg.rpo() {
            for i in &func.blocks[*b].insts {
                a.block_of[*i] = Some(*b);
                a.ask(*i);
            }
        }
        a.work.reverse();
        if !loops.is_empty() {
            a.note_escapes();
        }
        a
    }

    /// Finds the values that are read outside of a loop that makes them.
    fn note_escapes(&mut self) {
        let func = self.func;
        for b in self.cfg.rpo() {
            for i in &func.blocks[*b].insts {
                for v in func.reads(*i) {
                    let v = func.resolve(v);
                    let home = match func.def(v) {
                        ValueDef::Result(made, _) => self.block_of[made],
                        ValueDef::Param(home, _) => Some(home),
                        ValueDef::Alias(_) => None,
                    };
                    // An argument that leaves a loop makes its parameter divergent, not itself: see `terminator`.
                    if let Some(home) = home {
                        self.note_escape(v, home, *b);
                    }
                }
            }
        }
    }

    fn note_escape(&mut self, v: Value, def: Block, at: Block) {
        let mut l = self.loops.of(def);
        while let Some(id) = l.filter(|id| !self.loops.contains(*id, at)) {
            if self.escapes[v].is_none_or(|top| self.loops.data(id).depth < self.loops.data(top).depth) {
                self.escapes[v] = Some(id);
            }
            l = self.loops.data(id).parent;
        }
    }

    fn run(&mut self) {
        if self.func.layout.first() != self.module.main().layout.first() || !std::ptr::eq(self.func, self.module.main()) {
            // A helper's (or a copy's) parameters: nothing is known of the callers.
            if let Some(entry) = self.func.entry() {
                for p in self.func.blocks[entry].params.clone() {
                    self.raise(p, Level::Divergent);
                }
            }
        }
        while let Some(i) = self.work.pop() {
            self.waits[i] = false;
            let func = self.func;
            let d = &func.insts[i];
            if d.op.is_terminator() {
                self.terminator(i);
                continue;
            }
            let level = self.transfer(i);
            d.results.iter().for_each(|r| self.raise(*r, level));
        }
    }

    /// Looks at an instruction again.
    fn ask(&mut self, i: Inst) {
        if !std::mem::replace(&mut self.waits[i], true) {
            self.work.push(i);
        }
    }

    fn args_level(&self, i: Inst) -> Level {
        let d = &self.func.insts[i];
        d.args.iter().map(|v| self.out.levels[self.func.resolve(*v)]).max().unwrap_or_default()
    }

    fn raise(&mut self, v: Value, level: Level) {
        let mut level = level;
        // What leaves a loop is as divergent as the decision to leave it.
        if let Some(top) = self.escapes[v] {
            let def = match self.func.values[v].1 {
                ValueDef::Result(i, _) => self.block_of[i],
                ValueDef::Param(b, _) => Some(b),
                ValueDef::Alias(_) => None,
            };
            let mut l = def.and_then(|b| self.loops.of(b));
            while let Some(id) = l {
                if level > Level::Constant {
                    level = level.max(self.exit_level[id]);
                }
                if id == top {
                    break;
                }
                l = self.loops.data(id).parent;
            }
        }
        if level > self.out.levels[v] {
            self.out.levels[v] = level;
            for n in 0..self.users.of(v.as_u32()).len() {
                self.ask(Inst::from_u32(self.users.of(v.as_u32())[n]));
            }
        }
    }

    fn transfer(&self, i: Inst) -> Level {
        use Opcode::*;
        let d = &self.func.insts[i];
        let args = self.args_level(i);
        let var = match &d.imm {
            Imm::Mem { var, .. } => Some(*var),
            _ => None,
        };
        match d.op {
            Const => Level::Constant,
            Undef => Level::Constant,
            Uniform | StorageLen => args.max(Level::Draw),
            Tex => args.max(Level::Draw),
            Input => match var {
                Some(MemRef::Input(n)) => match self.module.inputs.get(n).map(|io| io.binding) {
                    Some(Binding::Builtin(Builtin::NumWorkgroups | Builtin::ViewIndex)) => args.max(Level::Draw),
                    Some(Binding::Builtin(Builtin::WorkgroupId)) => args.max(Level::Wave),
                    _ => Level::Divergent,
                },
                _ => Level::Divergent,
            },
            StorageLoad => match var {
                Some(MemRef::Storage(n)) if self.module.storage.get(n).is_some_and(|s| s.access == Access::Read) => args.max(Level::Draw),
                _ => Level::Divergent,
            },
            LocalLoad | SharedLoad | Atomic | Call => Level::Divergent,
            _ => args,
        }
    }

    fn terminator(&mut self, i: Inst) {
        let Some(b) = self.block_of[i] else { return };
        let func = self.func;
        let d = &func.insts[i];
        // Data into block parameters; a parameter whose incoming values are all the same does not care how they came.
        for t in &d.targets {
            let params = &func.blocks[t.block].params;
            let mut left = Level::Constant;
            let mut l = self.loops.of(b);
            while let Some(id) = l.filter(|id| !params.is_empty() && !self.loops.contains(*id, t.block)) {
                left = left.max(self.exit_level[id]);
                l = self.loops.data(id).parent;
            }
            for (n, (p, v)) in params.iter().zip(&t.args).enumerate() {
                let v = func.resolve(*v);
                let mut level = self.out.levels[v];
                if level > Level::Constant {
                    level = level.max(left);
                }
                if !self.same_on_all_edges(t.block, n) {
                    // Several constants make a value that depends on the way, so it is no constant.
                    level = level.max(self.join_level[t.block]).max(Level::Draw);
                }
                self.raise(*p, level);
            }
        }
        let level = if d.targets.len() > 1 { self.args_level(i) } else { Level::Constant };
        if level > self.out.branches[b] {
            self.out.branches[b] = level;
            self.branch(b, level);
        }
    }

    fn same_on_all_edges(&self, block: Block, param: usize) -> bool {
        let mut seen = None;
        for e in self.cfg.preds(block) {
            let v = self.func.successors(e.from)[e.target as usize].args.get(param).map(|v| self.func.resolve(*v));
            if seen.is_some() && seen != Some(v) {
                return false;
            }
            seen = Some(v);
        }
        true
    }

    /// Follows the ways out of a branch: marks the blocks between it and its immediate post-dominator, and the joins.
    fn branch(&mut self, b: Block, level: Level) {
        let func = self.func;
        let stop = self.post.ipdom(b);
        let mut l = self.loops.of(b);
        while let Some(id) = l.filter(|id| stop.is_none_or(|s| !self.loops.contains(*id, s))) {
            self.raise_exit(id, level);
            l = self.loops.data(id).parent;
        }
        // Each block's label: through which successor it is reached; several make it a join, its own label from there on.
        let mut label: Labels = Default::default();
        let mut joins = Vec::new();
        let mut work: BTreeSet<(usize, Block)> = BTreeSet::new();
        let visit = |label: &mut Labels, work: &mut BTreeSet<(usize, Block)>, joins: &mut Vec<Block>, s: Block, from: (Block, bool)| {
            let Some(n) = self.cfg.rpo_index(s) else { return };
            match label.get(&s).copied() {
                None => {
                    label.insert(s, from);
                }
                Some(old) if old == from || old == (s, true) => return,
                Some(_) => {
                    label.insert(s, (s, true));
                    joins.push(s);
                }
            }
            if s != b && Some(s) != stop {
                work.insert((n, s));
            }
        };
        for t in func.successors(b) {
            visit(&mut label, &mut work, &mut joins, t.block, (t.block, false));
        }
        // Two targets that are one block join there at once.
        for t in func.successors(b) {
            if func.successors(b).iter().filter(|u| u.block == t.block).count() > 1 && !joins.contains(&t.block) {
                joins.push(t.block);
            }
        }
        while let Some((_, s)) = work.pop_first() {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            let from = label[&s];
            for t in func.successors(s) {
                visit(&mut label, &mut work, &mut joins, t.block, from);
            }
        }
        if self.budget == 0 {
            for s in self.cfg.rpo().to_vec() {
                self.out.control[s] = self.out.control[s].max(level);
                if self.cfg.preds(s).len() > 1 {
                    self.join(s, level);
                }
            }
            return;
        }
        for s in label.keys().copied().filter(|s| Some(*s) != stop && *s != b) {
            self.out.control[s] = self.out.control[s].max(level);
        }
        if label.contains_key(&b) {
            self.out.control[b] = self.out.control[b].max(level);
        }
        for s in joins {
            self.join(s, level);
        }
    }

    fn join(&mut self, s: Block, level: Level) {
        if level > self.join_level[s] {
            self.join_level[s] = level;
            for e in self.cfg.preds(s) {
                self.func.terminator(e.from).into_iter().for_each(|i| self.ask(i));
            }
        }
    }

    fn raise_exit(&mut self, l: LoopId, level: Level) {
        if level <= self.exit_level[l] {
            return;
        }
        self.exit_level[l] = level;
        for e in self.loops.exits(self.func, l) {
            self.func.terminator(e.from).into_iter().for_each(|i| self.ask(i));
        }
        for b in self.loops.blocks(l) {
            let insts = self.func.blocks[*b].insts.iter().flat_map(|i| self.func.insts[*i].results.iter());
            let values: Vec<Value> =
                self.func.blocks[*b].params.iter().chain(insts).copied().filter(|v| self.escapes[*v].is_some()).collect();
            for v in values {
                // The value may be a constant step by step and yet leave the loop with its round's number.
                let level = self.out.levels[v];
                self.raise(v, level);
            }
        }
    }
}
