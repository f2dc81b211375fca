//! Counted loops: which loops a LOOP instruction can count, from constants or from integer uniforms, and which of their
//! uniform indices the machine's own loop counter aL replaces.
//!
//! LOOP runs 1 to 256 rounds, so the number must be proven: by counting a constant loop as the machine would, or from the
//! uniform's declared range. Facts: ISA sheet sections 7 (aL), 10 (LOOP).

use crate::abi::{Abi, Place};
use crate::select::mir::{Integer, Rounds};
use cranelift_entity::SecondaryMap;
use indexmap::IndexMap;
use retroshade_ir::*;
use retroshade_lower::structure::Node as Tree;
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, BTreeSet};

/// Most rounds of a LOOP.
const ROUNDS: u32 = 256;
/// Integer registers.
const REGISTERS: u8 = 4;
/// Boolean uniforms that a program may take: the last one belongs to the hardware.
const BOOLS: u8 = 15;
/// Largest aL that every source agrees on.
const LARGEST: i64 = 127;

/// How a loop is counted.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The block whose test would leave it.
    pub test: Block,
    /// The place of that test in the loop's body.
    pub at: usize,
    /// Blocks on its way out, which pass values: they go to the body's end.
    pub arm: Vec<Block>,
    /// The block that leads back.
    pub latch: Block,
    /// The integer register.
    pub integer: Integer,
    /// Uniform loads whose index is aL, and what else is added to it.
    pub by_counter: BTreeMap<Value, i64>,
}

impl Plan {
    /// What is added to aL for a load, if aL is its index.
    pub fn shift(&self, load: Value) -> Option<i64> {
        self.by_counter.get(&load).copied()
    }
}

/// Finds the counted loops of a function, innermost first, at most `depth` inside each other. `given` are the registers of
/// other functions.
pub fn find(m: &Module, f: &Function, abi: &Abi, nodes: &[Tree], given: &[Integer], depth: usize) -> IndexMap<Block, Plan> {
    let bools = abi.uniforms.values().filter(|p| matches!(p, Place::Bool(_))).count() + given.iter().filter(|i| i.guard.is_some()).count();
    let given = given.to_vec();
    let shape = Shape::of(f);
    let mut finder = Finder { m, f, abi, shape, plans: IndexMap::new(), bools: bools as u8, given, depth };
    finder.walk(nodes);
    finder.plans
}

/// Whether a function jumps back somewhere.
pub fn has_loop(f: &Function) -> bool {
    let place = |b: &Block| f.layout.iter().position(|x| x == b);
    f.layout.iter().enumerate().any(|(n, b)| f.successors(*b).iter().any(|t| place(&t.block).is_some_and(|p| p <= n)))
}

/// Whether a function, or one that it calls, has a loop.
pub fn reaches_loop(m: &Module, id: FuncId) -> bool {
    let f = &m.functions[id];
    has_loop(f) || f.ordered().any(|(_, i)| matches!((f.insts[i].op, &f.insts[i].imm), (Opcode::Call, Imm::Func(c)) if reaches_loop(m, *c)))
}

/// A loop's counter: what is known of it before registers are given out.
struct Counter {
    exits: Exits,
    param: Value,
    start: Option<f32>,
    step: f32,
    rounds: Rounds,
    /// Rounds at most, and whether there may be none.
    most: i64,
    maybe_none: bool,
}

/// Who reads what, and where that stands.
struct Shape {
    /// The instructions that read each value.
    users: SecondaryMap<Value, Vec<Inst>>,
    /// The block of each instruction.
    block_of: SecondaryMap<Inst, Option<Block>>,
    /// The blocks that lead to each block, in the order of the layout.
    before: SecondaryMap<Block, Vec<Block>>,
}

impl Shape {
    fn of(f: &Function) -> Shape {
        let (mut block_of, mut before) = (SecondaryMap::new(), SecondaryMap::<Block, Vec<Block>>::new());
        f.ordered().for_each(|(b, i)| block_of[i] = Some(b));
        for b in &f.layout {
            for t in f.successors(*b) {
                if before[t.block].last() != Some(b) {
                    before[t.block].push(*b);
                }
            }
        }
        Shape { users: crate::legal::indices::users(f), block_of, before }
    }

    /// Whether one of some values, under all names that cost nothing, is read outside some blocks.
    fn escape(&self, f: &Function, values: Vec<Value>, members: &[Block]) -> bool {
        let (mut seen, mut work): (BTreeSet<Value>, _) = (values.iter().copied().collect(), values);
        while let Some(v) = work.pop() {
            for u in &self.users[v] {
                if self.block_of[*u].is_none_or(|b| !members.contains(&b)) {
                    return true;
                }
                let d = &f.insts[*u];
                if is_read_late(d.op) {
                    work.extend(d.results.iter().copied().filter(|r| seen.insert(*r)));
                }
            }
        }
        false
    }
}

struct Finder<'a> {
    m: &'a Module,
    f: &'a Function,
    abi: &'a Abi,
    shape: Shape,
    plans: IndexMap<Block, Plan>,
    bools: u8,
    given: Vec<Integer>,
    depth: usize,
}

impl Finder<'_> {
    fn walk(&mut self, nodes: &[Tree]) {
        for n in nodes {
            match n {
                Tree::If { then, other, .. } => {
                    self.walk(then);
                    self.walk(other);
                }
                Tree::Loop { header, body } => {
                    self.walk(body);
                    // A loop that jumps back must not stand inside a block.
                    if !self.jumps_back(body)
                        && self.height(body) < self.depth
                        && let Some(c) = count(self.m, self.f, &self.shape, *header, body)
                    {
                        self.plan(*header, body, c);
                    }
                }
                _ => {}
            }
        }
    }

    fn jumps_back(&self, nodes: &[Tree]) -> bool {
        nodes.iter().any(|n| match n {
            Tree::Loop { header, .. } => !self.plans.contains_key(header),
            Tree::If { then, other, .. } => self.jumps_back(then) || self.jumps_back(other),
            _ => false,
        })
    }

    /// Counted loops inside each other.
    fn height(&self, nodes: &[Tree]) -> usize {
        let of = |n: &Tree| match n {
            Tree::Loop { body, .. } => 1 + self.height(body),
            Tree::If { then, other, .. } => self.height(then).max(self.height(other)),
            _ => 0,
        };
        nodes.iter().map(of).max().unwrap_or(0)
    }

    /// Gives the loop a register, if one is left.
    fn plan(&mut self, header: Block, body: &[Tree], c: Counter) {
        let (step, by_counter) = self.by_counter(body, &c);
        let taken = |rounds: &Rounds| {
            let used: Vec<u8> = self.plans.values().map(|p| p.integer).chain(self.given.iter().copied()).map(|i| i.register).collect();
            match rounds {
                Rounds::Known(_) => (0..REGISTERS).rev().find(|r| !used.contains(r)),
                Rounds::Uniform { .. } => (0..REGISTERS).find(|r| !used.contains(r)),
            }
        };
        let same =
            self.plans.values().map(|p| p.integer).chain(self.given.iter().copied()).find(|i| i.rounds == c.rounds && i.step == step);
        let integer = match same {
            Some(i) => i,
            None => {
                let Some(register) = taken(&c.rounds) else { return };
                let guard = if c.maybe_none {
                    if self.bools >= BOOLS {
                        return;
                    }
                    self.bools += 1;
                    Some(self.bools - 1)
                } else {
                    None
                };
                Integer { register, rounds: c.rounds, step, guard }
            }
        };
        let Some(Tree::Block(latch)) = body.last() else { return };
        self.plans.insert(header, Plan { test: c.exits.test, at: c.exits.at, arm: c.exits.arm, latch: *latch, integer, by_counter });
    }

    /// Loads that aL can index: (what a round adds, load → what else is added).
    fn by_counter(&self, body: &[Tree], c: &Counter) -> (u8, BTreeMap<Value, i64>) {
        let none = (0, BTreeMap::new());
        let Some(start) = c.start.filter(|_| c.step > 0.0) else { return none };
        if self.counts_inside(body) {
            return none;
        }
        let mut here = Vec::new();
        collect(body, &mut here);
        let mut found: IndexMap<i64, Vec<(Value, i64)>> = IndexMap::new();
        for i in here.iter().flat_map(|b| &self.f.blocks[*b].insts) {
            let d = &self.f.insts[*i];
            let (Opcode::Uniform, Imm::Mem { var: MemRef::Uniform(u), offset }, Some(x)) = (d.op, &d.imm, d.args.first()) else { continue };
            let Some((scale, shift)) = self.affine(*x, c.param) else { continue };
            let (step, shift) = (scale * c.step as i64, shift + scale * start as i64);
            let Place::Float { reg, rows, .. } = self.abi.uniforms[*u] else { continue };
            let at = i64::from(reg) + i64::from(*offset) + shift;
            // Rows that lie as far apart as the columns would: whole matrices are counted.
            let whole = |t: crate::abi::Transposed| t.from == t.to && scale % i64::from(t.from) == 0 && shift % i64::from(t.from) == 0;
            let fits = rows.is_none_or(whole)
                && (1..=255).contains(&step)
                && step * (c.most - 1) <= LARGEST
                && (0..96).contains(&at)
                && self.m.uniforms[*u].unit == 16;
            if fits && self.stays(d.results[0], &here) {
                found.entry(step).or_default().push((d.results[0], shift));
            }
        }
        // One step for all: the one that most loads share.
        let Some((step, loads)) = found.into_iter().rev().max_by_key(|(_, l)| l.len()) else { return none };
        (step as u8, loads.into_iter().collect())
    }

    /// Whether a LOOP may be executed inside, by a call as well: nobody has shown that aL survives it.
    fn counts_inside(&self, nodes: &[Tree]) -> bool {
        nodes.iter().any(|n| {
            match n {
            Tree::Block(b) => self.f.blocks[*b].insts.iter().any(|i| {
                matches!((self.f.insts[*i].op, &self.f.insts[*i].imm), (Opcode::Call, Imm::Func(callee)) if reaches_loop(self.m, *callee))
            }),
            Tree::If { then, other, .. } => self.counts_inside(then) || self.counts_inside(other),
            Tree::Loop { header, body } => self.plans.contains_key(header) || self.counts_inside(body),
            _ => false,
        }
        })
    }

    /// An index that is scale × counter + shift, all whole.
    fn affine(&self, x: Value, counter: Value) -> Option<(i64, i64)> {
        let x = self.f.resolve(x);
        if x == counter {
            return Some((1, 0));
        }
        let d = &self.f.insts[self.f.def_inst(x)?];
        let whole = |v: Value| {
            let c = f32::from_bits(self.f.const_bits(self.f.resolve(v))?[0]);
            (c.fract() == 0.0 && c.abs() < 4096.0).then_some(c as i64)
        };
        let pair = |op: fn((i64, i64), i64) -> (i64, i64)| {
            let (a, b) = (d.args[0], d.args[1]);
            match (whole(a), whole(b)) {
                (_, Some(k)) => Some(op(self.affine(a, counter)?, k)),
                (Some(k), _) => Some(op(self.affine(b, counter)?, k)),
                _ => None,
            }
        };
        match d.op {
            Opcode::F2s | Opcode::S2f => self.affine(d.args[0], counter),
            Opcode::Fmul => pair(|(s, t), k| (s * k, t * k)),
            Opcode::Fadd => pair(|(s, t), k| (s, t + k)),
            Opcode::Fsub => whole(d.args[1]).and_then(|k| self.affine(d.args[0], counter).map(|(s, t)| (s, t - k))),
            _ => None,
        }
        .filter(|(s, t)| s.abs() < 4096 && t.abs() < 4096)
    }

    /// Whether a loaded value, under all names that cost nothing, is used up where aL still is what it was.
    fn stays(&self, v: Value, here: &[Block]) -> bool {
        let mut seen = BTreeSet::new();
        let mut work = vec![v];
        while let Some(v) = work.pop() {
            if !seen.insert(v) {
                continue;
            }
            for u in &self.shape.users[v] {
                if self.shape.block_of[*u].is_none_or(|b| !here.contains(&b)) {
                    return false;
                }
                let d = &self.f.insts[*u];
                if is_read_late(d.op) {
                    work.extend(d.results.iter().copied());
                }
                for t in &d.targets {
                    let passed = t.args.iter().zip(&self.f.blocks[t.block].params);
                    work.extend(passed.filter(|(a, _)| self.f.resolve(**a) == v).map(|(_, p)| *p));
                }
            }
        }
        true
    }
}

/// Whether an operation makes nothing where it stands: who uses its result reads the registers behind the operands, addressed or not.
fn is_read_late(op: Opcode) -> bool {
    use Opcode::*;
    let name = matches!(op, Build | Splat | Extract | Insert | Shuffle | Fneg | S2f | U2f | F2s | F2u);
    name || matches!(op, Select | Fcmp | Iand | Ior | Inot | Uniform | Input | Ext)
}

/// The exit of a loop that LOOP could count.
#[derive(Clone)]
struct Exits {
    /// The block of the test that counts.
    test: Block,
    /// Whether the loop goes on where the test holds.
    stays: bool,
    /// Whether the test stands at the end of the body, not behind the header.
    bottom: bool,
    /// Its place in the body.
    at: usize,
    /// Blocks on the way out: they only pass values.
    arm: Vec<Block>,
}

/// What a node leaves the loop by: (block of the test, stays while true, blocks on the way out).
pub fn exit(n: &Tree) -> Option<(Block, bool, Vec<Block>)> {
    let Tree::If { from, then, other, .. } = n else { return None };
    let (arm, stays) = match (&then[..], &other[..]) {
        (arm, []) => (arm, false),
        ([], arm) => (arm, true),
        _ => return None,
    };
    let (Tree::Break, blocks) = arm.split_last()? else { return None };
    let blocks = blocks.iter().map(|n| if let Tree::Block(b) = n { Some(*b) } else { None });
    Some((*from, stays, blocks.collect::<Option<Vec<Block>>>()?))
}

/// Whether a block does nothing but pass values on.
fn passes(f: &Function, b: Block) -> bool {
    f.blocks[b].insts.iter().all(|i| matches!(f.insts[*i].op, Opcode::Jump | Opcode::Const))
}

/// The exits of a loop, if one can be counted: it stands at the loop's own level. Others leave by BREAK, wherever they stand.
fn exits(f: &Function, header: Block, body: &[Tree]) -> Option<Exits> {
    let all: Vec<(usize, (Block, bool, Vec<Block>))> = body.iter().enumerate().filter_map(|(k, n)| Some((k, exit(n)?))).collect();
    let last = |at: usize| body[at + 1..].iter().all(|n| matches!(n, Tree::Block(b) if passes(f, *b)));
    let counts = |(at, (from, _, arm)): &(usize, (Block, bool, Vec<Block>))| {
        let first = *at == 1 && *from == header && matches!(body[0], Tree::Block(b) if b == header);
        (last(*at) || first) && arm.iter().all(|b| passes(f, *b))
    };
    // The first round's test, if there is one, else the last's.
    let chosen = all.iter().position(counts)?;
    let (at, (test, stays, arm)) = all[chosen].clone();
    Some(Exits { test, stays, bottom: last(at), at, arm })
}

/// The tree without the tests that LOOP makes; what those passed on their way out stands at the loops' ends.
pub fn reshape(nodes: &[Tree], plans: &IndexMap<Block, Plan>) -> Vec<Tree> {
    let mut out = Vec::new();
    for n in nodes {
        out.push(match n {
            Tree::Loop { header, body } => {
                let mut inner = reshape(body, plans);
                if let Some(p) = plans.get(header) {
                    inner.remove(p.at);
                    inner.extend(p.arm.iter().map(|b| Tree::Block(*b)));
                }
                Tree::Loop { header: *header, body: inner }
            }
            Tree::If { from, cond, then, other } => {
                Tree::If { from: *from, cond: *cond, then: reshape(then, plans), other: reshape(other, plans) }
            }
            other => other.clone(),
        });
    }
    out
}

/// An end of a loop's way: a constant, or an integer uniform with its declared range.
#[derive(Clone, Copy)]
enum End {
    Known(f32),
    Uniform(Uniform, i64, i64),
}

fn end(m: &Module, f: &Function, v: Value) -> Option<End> {
    let v = f.resolve(v);
    if let Some(c) = f.const_bits(v) {
        return Some(End::Known(f32::from_bits(c[0])));
    }
    let load = f.resolve(f.def_if(v, Opcode::S2f).or(f.def_if(v, Opcode::U2f))?.args[0]);
    let d = f.def_if(load, Opcode::Uniform)?;
    let Imm::Mem { var: MemRef::Uniform(u), .. } = d.imm else { return None };
    let decl = &m.uniforms[u];
    let (lo, hi) = decl.range.filter(|_| d.args.is_empty() && decl.dims.is_empty() && decl.ty == types::I32)?;
    Some(End::Uniform(u, lo, hi))
}

fn count(m: &Module, f: &Function, shape: &Shape, header: Block, body: &[Tree]) -> Option<Counter> {
    let exits = exits(f, header, body)?;
    let Exits { test: from, stays, bottom, .. } = exits;
    let passes_values = !exits.arm.is_empty();
    let branch = f.terminator(from)?;
    let cond = f.resolve(*f.insts[branch].args.first()?);
    let test = f.def_if(cond, Opcode::Fcmp)?;
    let Imm::FloatCC(cc) = test.imm else { return None };
    let (a, b) = (f.resolve(test.args[0]), f.resolve(test.args[1]));
    let mut members = Vec::new();
    collect(body, &mut members);
    members.retain(|b| !exits.arm.contains(b));
    // Behind the last round the values for the next one are set, and a header that tests first is not executed again:
    // nothing behind the loop may need what that changes.
    let gone: Vec<Value> = if bottom {
        f.blocks[header].params.to_vec()
    } else {
        f.blocks[header].insts.iter().flat_map(|i| f.insts[*i].results.iter().copied()).collect()
    };
    let stale = |v: Value| {
        let mut seen = BTreeSet::new();
        let mut work: SmallVec<[Value; 4]> = smallvec![v];
        while let Some(v) = work.pop().map(|v| f.resolve(v)) {
            if gone.contains(&v) {
                return true;
            }
            if let Some(i) = f.def_inst(v).filter(|i| is_read_late(f.insts[*i].op) && seen.insert(v)) {
                work.extend(f.insts[i].args.iter().copied());
            }
        }
        false
    };
    let passed = f.insts[branch].targets.iter().filter(|t| !members.contains(&t.block)).any(|t| t.args.iter().any(|v| stale(*v)));
    let repeats = |i: &Inst| matches!(f.insts[*i].op, Opcode::Output | Opcode::EmitVertex | Opcode::EndPrimitive);
    if passed || shape.escape(f, gone, &members) || !bottom && f.blocks[header].insts.iter().any(repeats) {
        return None;
    }
    for (k, p) in f.blocks[header].params.iter().enumerate() {
        // All predecessors but the latch bring the start value.
        let (mut start, mut next) = (None, None);
        let mut preds = 0;
        for b in &shape.before[header] {
            for t in f.successors(*b).iter().filter(|t| t.block == header) {
                preds += 1;
                if members.contains(b) { next = t.args.get(k).map(|v| f.resolve(*v)) } else { start = t.args.get(k).map(|v| f.resolve(*v)) }
            }
        }
        let (Some(start), Some(next)) = (start, next) else { continue };
        let Some(start) = end(m, f, start).filter(|_| preds == 2) else { continue };
        let Some(step) = f.def_if(next, Opcode::Fadd).or(f.def_if(next, Opcode::Fsub)) else { continue };
        let (s0, s1) = (f.resolve(step.args[0]), f.resolve(step.args[1]));
        let (by, down) = match (f.const_bits(s0), f.const_bits(s1)) {
            (_, Some(c)) if s0 == *p => (c[0], step.op == Opcode::Fsub),
            (Some(c), _) if s1 == *p && step.op == Opcode::Fadd => (c[0], false),
            _ => continue,
        };
        let by = if down { -f32::from_bits(by) } else { f32::from_bits(by) };
        let is_counter = |v: Value| v == *p || bottom && v == next;
        let (limit, swapped) = match (end(m, f, a), end(m, f, b)) {
            (_, Some(c)) if is_counter(a) => (c, false),
            (Some(c), _) if is_counter(b) => (c, true),
            _ => continue,
        };
        let tested_next = if swapped { b == next } else { a == next };
        let counter =
            |start, rounds, most, maybe_none| Some(Counter { exits: exits.clone(), param: *p, start, step: by, rounds, most, maybe_none });
        let (start, limit) = match (start, limit) {
            (End::Known(s), End::Known(l)) => {
                if let Some(rounds) = constant_rounds(
                    s,
                    by,
                    l,
                    |limit, x| (if swapped { cc.eval(limit, x) } else { cc.eval(x, limit) }) == stays,
                    tested_next,
                    bottom,
                ) {
                    return counter(Some(s), Rounds::Known(rounds), i64::from(rounds), false);
                }
                continue;
            }
            ends => ends,
        };
        // One end is a uniform: steps of one, and a test for order.
        let cc = if swapped { cc.swapped() } else { cc };
        let cc = if stays { cc } else { cc.inverse() };
        // NaN does not occur: unordered comparisons are as good as ordered ones.
        let (upward, inclusive) = match cc {
            FloatCC::Olt | FloatCC::Ult => (true, 0),
            FloatCC::Ole | FloatCC::Ule => (true, 1),
            FloatCC::Ogt | FloatCC::Ugt => (false, 0),
            FloatCC::Oge | FloatCC::Uge => (false, 1),
            _ => continue,
        };
        if by != if upward { 1.0 } else { -1.0 } {
            continue;
        }
        // Tested before its step at the end of the body, the counter goes one round further.
        let further = i64::from(bottom && !tested_next);
        let (uniform, minus, constant, lo, hi, first) = match (start, limit) {
            (End::Known(s), End::Uniform(u, lo, hi)) if s.fract() == 0.0 => (u, !upward, s, lo, hi, Some(s)),
            (End::Uniform(u, lo, hi), End::Known(l)) if l.fract() == 0.0 => (u, upward, l, lo, hi, None),
            _ => continue,
        };
        if constant.abs() > 65536.0 {
            continue;
        }
        // Upward from a constant: limit - start; every other case likewise.
        let add = inclusive + further + if minus { constant as i64 } else { -(constant as i64) };
        let rounds = |v: i64| add + if minus { -v } else { v };
        let (least, most) = (rounds(lo).min(rounds(hi)), rounds(lo).max(rounds(hi)));
        // Without a round nothing sets what the way out passes.
        let none = least < 1;
        if most > i64::from(ROUNDS) || most < 1 || none && (bottom || passes_values) {
            continue;
        }
        return counter(first, Rounds::Uniform { uniform, minus, add }, most, none);
    }
    None
}

/// Counts as the machine would.
fn constant_rounds(start: f32, by: f32, limit: f32, goes_on: impl Fn(f32, f32) -> bool, tested_next: bool, bottom: bool) -> Option<u32> {
    let load = |x: f32| crate::legal::numerics::round(f64::from(x));
    let (mut i, limit) = (load(start), load(limit));
    let mut rounds = 0;
    while rounds <= ROUNDS {
        let after = crate::legal::numerics::add(i, load(by));
        if bottom {
            rounds += 1;
        }
        if !goes_on(limit, if tested_next { after } else { i }) {
            break;
        }
        if !bottom {
            rounds += 1;
        }
        i = after;
    }
    (1..=ROUNDS).contains(&rounds).then_some(rounds)
}

/// The blocks of the innermost loop that a block leads back in.
pub fn members(nodes: &[Tree], latch: Block) -> Option<Vec<Block>> {
    nodes.iter().find_map(|n| match n {
        Tree::If { then, other, .. } => members(then, latch).or_else(|| members(other, latch)),
        Tree::Loop { body, .. } => members(body, latch).or_else(|| {
            let mut all = Vec::new();
            collect(body, &mut all);
            all.contains(&latch).then_some(all)
        }),
        _ => None,
    })
}

/// The blocks of a list.
pub fn collect(nodes: &[Tree], out: &mut Vec<Block>) {
    for n in nodes {
        match n {
            Tree::Block(b) => out.push(*b),
            Tree::If { then, other, .. } => {
                collect(then, out);
                collect(other, out);
            }
            Tree::Loop { body, .. } => collect(body, out),
            _ => {}
        }
    }
}
