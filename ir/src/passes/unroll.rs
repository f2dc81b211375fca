//! Full unrolling of counted loops under fuel.
//!
//! The trip count is found by executing the loop's own counter on constants. Each round is then peeled off in front of the
//! loop; what remains of the loop can never come round again, which `sccp` proves afterwards. A wrong count would cost size,
//! never correctness.

use crate::analysis::cfg::Edge;
use crate::analysis::{Cfg, DomTree, LoopId, Loops};
use crate::entities::{Block, Inst, Local, Value};
use crate::function::{Function, LocalDecl, ValueDef};
use crate::inst::{BlockCall, Imm, InstData, MemRef};
use crate::numerics::Numerics;
use crate::opcode::Opcode;
use crate::types::Type;
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A loop that is going to be unrolled.
struct Counted {
    header: Block,
    blocks: Vec<Block>,
    trips: usize,
}

/// Runs the pass on innermost loops; `fuel` is the number of instructions that the copies of one loop may have.
pub fn run(func: &mut Function, numerics: &dyn Numerics, fuel: u32, lanes_apart: bool) -> bool {
    if !Cfg::new(func).has_cycle(func) {
        return false;
    }
    let mut any = false;
    let budget = budget(func, fuel);
    // Outer loops become innermost once theirs are gone.
    for _ in 0..8 {
        super::dce::run(func);
        super::licm::add_preheaders(func);
        let cfg = Cfg::new(func);
        let dom = DomTree::new(func, &cfg);
        let loops = Loops::new(&cfg, &dom);
        if !loops.is_reducible() {
            return any;
        }
        let todo = counted(func, numerics, (&cfg, &dom, &loops), fuel, budget);
        if todo.is_empty() {
            return any;
        }
        any = true;
        let sets: Vec<&[Block]> = todo.iter().map(|l| &l.blocks[..]).collect();
        close(func, &sets);
        // Copies go in front of their loop's header.
        let mut copies: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
        for l in &todo {
            let mut entries: Vec<Edge> = cfg.preds(l.header).iter().copied().filter(|e| !l.blocks.contains(&e.from)).collect();
            for _ in 0..l.trips {
                entries = peel(func, l, &entries, &mut copies[l.header]);
            }
        }
        func.layout = func.layout.iter().flat_map(|b| copies[*b].iter().chain([b])).copied().collect();
        super::promote::run(func);
        super::sccp::run(func, numerics);
        super::simplify_cfg::run(func);
        super::simplify::run(func, numerics, lanes_apart);
    }
    any
}

/// The loops that are unrolled with so much `fuel`, by their first blocks; `None` if loops stand in loops, which may be unrolled once
/// theirs are gone.
pub fn unrolled_at_once(func: &Function, numerics: &dyn Numerics, fuel: u32) -> Option<Vec<Block>> {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let loops = Loops::new(&cfg, &dom);
    if !loops.is_reducible() || loops.iter().any(|(_, d)| d.parent.is_some()) {
        return None;
    }
    Some(counted(func, numerics, (&cfg, &dom, &loops), fuel, budget(func, fuel)).iter().map(|l| l.header).collect())
}

/// What one round may add: in proportion to the program, so that large ones take no more rounds than small ones.
fn budget(func: &Function, fuel: u32) -> u64 {
    let size: usize = func.layout.iter().map(|b| real_size(func, *b)).sum();
    (8 * u64::from(fuel)).max(size as u64)
}

/// The innermost loops that are unrolled.
fn counted(func: &Function, numerics: &dyn Numerics, shape: (&Cfg, &DomTree, &Loops), fuel: u32, budget: u64) -> Vec<Counted> {
    let loops = shape.2;
    let mut parents: EntitySet<LoopId> = EntitySet::new();
    loops.iter().filter_map(|(_, d)| d.parent).for_each(|p| {
        parents.insert(p);
    });
    let mut todo = Vec::new();
    let mut total = 0u64;
    for (l, _) in loops.iter().filter(|(l, _)| !parents.contains(*l)) {
        let size: usize = loops.blocks(l).iter().map(|b| real_size(func, *b)).sum();
        let most = fuel as usize / size.max(1);
        if let Some(trips) = trip_count(func, numerics, shape, l, most.min(4096), false) {
            total += (trips * size) as u64;
            if total <= budget {
                todo.push(Counted { header: loops.data(l).header, blocks: loops.blocks(l).to_vec(), trips });
            }
        }
    }
    todo
}

fn real_size(func: &Function, b: Block) -> usize {
    func.blocks[b].insts.iter().filter(|i| !matches!(func.insts[**i].op, Opcode::Const | Opcode::Undef)).count()
}

/// By the block that a loop begins with: how often it comes round where its own constants say so (up to `most` times), and whether nothing
/// else leaves it.
pub fn trip_counts(func: &Function, numerics: &dyn Numerics, most: usize) -> BTreeMap<Block, (u64, bool)> {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let loops = Loops::new(&cfg, &dom);
    let mut out = BTreeMap::new();
    for (l, data) in loops.iter().filter(|_| loops.is_reducible()) {
        if let Some(trips) = trip_count(func, numerics, (&cfg, &dom, &loops), l, most, true) {
            out.insert(data.header, (trips as u64, loops.exits(func, l).len() == 1));
        }
    }
    out
}

/// How often the loop comes round, if its own constants say so: the number of times that the back edge is taken. Unless `exact`, a test
/// that nothing is known of may end it sooner.
fn trip_count(
    func: &Function,
    numerics: &dyn Numerics,
    (cfg, dom, loops): (&Cfg, &DomTree, &Loops),
    l: LoopId,
    most: usize,
    exact: bool,
) -> Option<usize> {
    let data = loops.data(l);
    let [latch] = data.latches[..] else { return None };
    let entry = cfg.preds(data.header).iter().find(|e| !loops.contains(l, e.from))?;
    let params = &func.blocks[data.header].params;
    let first = &func.successors(entry.from)[entry.target as usize].args;
    let next = &func.successors(latch.from)[latch.target as usize].args;
    // Tests that every round passes.
    let exits: Vec<_> = loops
        .exits(func, l)
        .into_iter()
        .filter(|e| dom.dominates(e.from, latch.from))
        .filter_map(|e| func.terminator(e.from).filter(|t| func.insts[*t].op == Opcode::BrIf).map(|t| (func.insts[t].args[0], e.target)))
        .collect();
    if exits.is_empty() {
        return None;
    }
    let mut slice = Slice { func, params, steps: Vec::new(), places: BTreeMap::new(), moved: Vec::new() };
    let tests: Vec<(Option<usize>, u32)> = exits.iter().map(|(cond, target)| (slice.place(*cond, DEPTH), *target)).collect();
    // The parameters that the tests depend on, from round to round.
    let (mut now, mut moves) = (Vec::new(), Vec::new());
    while let Some(n) = slice.moved.get(moves.len()).copied() {
        now.push(func.const_bits(first[n]));
        moves.push(slice.place(next[n], DEPTH));
    }
    let mut values = vec![None; slice.steps.len()];
    for round in 0..=most {
        slice.run(numerics, &now, &mut values);
        let known = |at: &Option<usize>| at.and_then(|at| values[at]);
        if tests.iter().any(|(at, target)| known(at).is_some_and(|bits| (bits[0] & 1 == 1) == (*target == 0))) {
            return Some(round);
        }
        if exact && tests.iter().all(|(at, _)| known(at).is_none()) {
            return None;
        }
        let later: Vec<_> = moves.iter().map(known).collect();
        if later == now {
            return None; // nothing moves: it will never end this way
        }
        now = later;
    }
    None
}

/// How deep the expressions are that count.
const DEPTH: u32 = 32;

/// What a loop's tests are computed from, round by round: only that, operands first.
struct Slice<'f> {
    func: &'f Function,
    /// The loop's parameters, and the numbers of those that count.
    params: &'f [Value],
    moved: Vec<usize>,
    steps: Vec<Step>,
    /// The step of each value.
    places: BTreeMap<Value, usize>,
}

enum Step {
    Known([u32; 4]),
    /// A parameter, by its number among those that count.
    Param(usize),
    Op(Inst, Type, SmallVec<[usize; 4]>, SmallVec<[Type; 4]>),
}

impl Slice<'_> {
    /// The step that computes a value, where constants and parameters are all that it depends on.
    fn place(&mut self, v: Value, depth: u32) -> Option<usize> {
        let v = self.func.resolve(v);
        if let Some(at) = self.places.get(&v) {
            return Some(*at);
        }
        let step = match self.func.def(v) {
            ValueDef::Result(i, _) => {
                let d = &self.func.insts[i];
                if d.op == Opcode::Const {
                    Step::Known(self.func.const_bits(v)?)
                } else {
                    let computed = !d.args.is_empty() && d.op.effect() == crate::opcode::Effect::Pure && d.op != Opcode::Ext;
                    if depth == 0 || !computed {
                        return None;
                    }
                    let mut args = SmallVec::new();
                    for a in &d.args {
                        args.push(self.place(*a, depth - 1)?);
                    }
                    Step::Op(i, self.func.ty(v), args, d.args.iter().map(|a| self.func.ty(*a)).collect())
                }
            }
            _ => {
                self.moved.push(self.params.iter().position(|p| *p == v)?);
                Step::Param(self.moved.len() - 1)
            }
        };
        self.places.insert(v, self.steps.len());
        self.steps.push(step);
        Some(self.steps.len() - 1)
    }

    /// Computes a round from the parameters as they are.
    fn run(&self, numerics: &dyn Numerics, params: &[Option<[u32; 4]>], values: &mut [Option<[u32; 4]>]) {
        for (k, step) in self.steps.iter().enumerate() {
            values[k] = match step {
                Step::Known(bits) => Some(*bits),
                Step::Param(n) => params[*n],
                Step::Op(i, ty, args, types) => {
                    let args: Option<SmallVec<[[u32; 4]; 4]>> = args.iter().map(|a| values[*a]).collect();
                    let d = &self.func.insts[*i];
                    args.and_then(|args| crate::interp::eval(numerics, d.op, &d.imm, *ty, types, &args))
                }
            };
        }
    }
}

/// Values that leave their set of blocks other than as branch arguments go through memory, so that copies of the blocks may define
/// them too; promotion afterwards makes values of them again.
pub(super) fn close(func: &mut Function, sets: &[&[Block]]) {
    let mut set_of: SecondaryMap<Block, Option<usize>> = SecondaryMap::new();
    let mut defined: SecondaryMap<Value, Option<usize>> = SecondaryMap::new();
    for (n, set) in sets.iter().enumerate() {
        for b in *set {
            set_of[*b] = Some(n);
            let results = func.blocks[*b].insts.iter().flat_map(|i| &func.insts[*i].results);
            func.blocks[*b].params.iter().chain(results).for_each(|v| defined[*v] = Some(n));
        }
    }
    let mut locals: BTreeMap<Value, Local> = BTreeMap::new();
    for b in func.layout.clone() {
        let leaves = |v: Value| defined[v].is_some() && defined[v] != set_of[b];
        if !func.blocks[b].insts.iter().any(|i| func.reads(*i).into_iter().any(leaves)) {
            continue;
        }
        let old = std::mem::take(&mut func.blocks[b].insts);
        for i in old {
            let mut renamed: BTreeMap<Value, Value> = BTreeMap::new();
            for v in func.reads(i) {
                if !leaves(v) || renamed.contains_key(&v) {
                    continue;
                }
                let ty = func.ty(v);
                let count = func.locals.len();
                let l = *locals.entry(v).or_insert_with(|| func.locals.push(LocalDecl { name: format!("loop{count}"), ty, count: 1 }));
                let load = InstData::new(Opcode::LocalLoad, &[], Imm::Mem { var: MemRef::Local(l), offset: 0 });
                let load = func.make_inst(load, &[ty], func.spans[i]);
                func.blocks[b].insts.push(load);
                if let Some(r) = func.result(load) {
                    renamed.insert(v, r);
                }
            }
            if !renamed.is_empty() {
                let d = &mut func.insts[i];
                let map = |v: &mut Value| *v = renamed.get(v).copied().unwrap_or(*v);
                d.args.iter_mut().for_each(map);
                d.targets.iter_mut().flat_map(|t| t.args.iter_mut()).for_each(map);
            }
            func.blocks[b].insts.push(i);
        }
    }
    for b in sets.iter().copied().flatten() {
        let store = |func: &mut Function, v: &Value| {
            let l = *locals.get(v)?;
            let data = InstData::new(Opcode::LocalStore, &[*v], Imm::Mem { var: MemRef::Local(l), offset: 0 });
            Some(func.make_inst(data, &[], crate::diag::Span::NONE))
        };
        let mut insts: Vec<Inst> = func.blocks[*b].params.clone().iter().filter_map(|p| store(func, p)).collect();
        for i in std::mem::take(&mut func.blocks[*b].insts) {
            insts.push(i);
            insts.extend(func.insts[i].results.clone().iter().filter_map(|r| store(func, r)));
        }
        func.blocks[*b].insts = insts;
    }
}

/// Copies the loop's blocks once and lets `entries`, the edges into the loop from outside, enter the copy. Its back edges
/// enter the loop: they are returned.
fn peel(func: &mut Function, l: &Counted, entries: &[Edge], copies: &mut Vec<Block>) -> Vec<Edge> {
    let new_block = copy_blocks(func, &l.blocks, Some(l.header));
    copies.extend(l.blocks.iter().map(|b| new_block[b]));
    for e in entries {
        if let Some(t) = func.terminator(e.from) {
            func.insts[t].targets[e.target as usize].block = new_block[&l.header];
        }
    }
    let mut back = Vec::new();
    for n in new_block.values() {
        let targets = func.successors(*n).iter().enumerate().filter(|(_, t)| t.block == l.header);
        back.extend(targets.map(|(k, _)| Edge { from: *n, target: k as u32 }));
    }
    back
}

/// Copies blocks, with new values for all that they define. Branches between them lead to the copies, except those to `outside`.
/// What else uses their values must have been [`close`]d before.
pub(super) fn copy_blocks(func: &mut Function, blocks: &[Block], outside: Option<Block>) -> BTreeMap<Block, Block> {
    let mut new_block: BTreeMap<Block, Block> = BTreeMap::new();
    let mut new_value: BTreeMap<Value, Value> = BTreeMap::new();
    for b in blocks {
        let n = func.blocks.push(Default::default());
        new_block.insert(*b, n);
        for p in func.blocks[*b].params.clone() {
            let ty = func.ty(p);
            let q = func.add_param(n, ty);
            new_value.insert(p, q);
        }
    }
    let mut made: Vec<Inst> = Vec::new();
    for b in blocks {
        let n = new_block[b];
        for i in func.blocks[*b].insts.clone() {
            let mut data = func.insts[i].clone();
            let results = std::mem::take(&mut data.results);
            let types: Vec<_> = results.iter().map(|r| func.ty(*r)).collect();
            let span = func.spans[i];
            let c = func.make_inst(data, &types, span);
            for (r, q) in results.iter().zip(func.insts[c].results.clone()) {
                new_value.insert(*r, q);
            }
            func.blocks[n].insts.push(c);
            made.push(c);
        }
    }
    for c in made {
        let d = &mut func.insts[c];
        for v in d.args.iter_mut().chain(d.targets.iter_mut().flat_map(|t| t.args.iter_mut())) {
            *v = new_value.get(v).copied().unwrap_or(*v);
        }
        for BlockCall { block, .. } in d.targets.iter_mut().filter(|t| Some(t.block) != outside) {
            *block = new_block.get(block).copied().unwrap_or(*block);
        }
    }
    new_block
}
