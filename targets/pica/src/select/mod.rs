//! Selection: legalised IR to tuples of scalars.
//!
//! Builds, shuffles, splats, extracts, negations and constants cost nothing: they only rename lanes. Equal scalar
//! computations are found again by value, lane by lane. Vector operations stay together as a first packing. Which operation
//! becomes what: `patterns.rs`.

pub mod loops;
pub mod mir;
pub mod operands;
pub mod patterns;

use crate::abi::{Abi, InputPlace, Place, Transposed, Vertices, constant_lane, input_place};
use crate::isa::forms::Op;
use crate::isa::word::{Cond, CondOp};
use crate::select::loops::Plan;
use crate::select::mir::*;
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::{Cfg, DomTree};
use retroshade_ir::*;
use retroshade_lower::CompileError;
use retroshade_lower::pattern::Matcher;
use retroshade_lower::structure::{Node as Tree, Structure};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// Key of a scalar computation.
type ValueKey = (Op, SmallVec<[Ref; 8]>);

struct Lowering<'a> {
    m: &'a Module,
    f: &'a Function,
    abi: &'a Abi,
    p: Program,
    lanes: SecondaryMap<Value, Tuple>,
    known: SecondaryMap<Value, bool>,
    /// Scalar computations already made, and in which blocks of the program.
    numbered: FxHashMap<ValueKey, SmallVec<[(usize, Tmp); 1]>>,
    /// Truth values, kept as tests.
    tests: FxHashMap<Value, Test>,
    block_of: FxHashMap<Block, usize>,
    at: usize,
    span: Span,
    /// Whether the instruction at hand counts with infinities and NaN.
    precise: bool,
    bundle: u32,
    /// Counted loops by header, and how many those of other functions are.
    plans: indexmap::IndexMap<Block, Plan>,
    plans_before: usize,
    /// The procedure that is being lowered, and the numbers of all.
    procedure: Option<usize>,
    procedure_of: FxHashMap<FuncId, usize>,
    /// Per procedure, once a call of it is lowered: the scalars that all calls so far pass alike.
    alike: Vec<Option<Vec<Option<Ref>>>>,
    /// Results of the last call in this block: where they were copied to, and from.
    returned: Vec<(Tmp, Tmp)>,
    /// Places in the strip that a vertex may have at each block's start, for geometry programs: one bit each.
    strips: Vec<u8>,
    /// Those at the current place.
    strip: u8,
    /// Where the place is counted, if not every vertex knows it.
    place: Option<Tmp>,
}

/// Lowers a legalised module: the entry, then the functions that stay procedures, none before one that calls it. The structures
/// are in that order.
///
/// Counted loops change shape; the structures that fit the program come back with it.
pub fn lower(m: &Module, abi: &Abi, structures: &[(FuncId, Structure)]) -> Result<(Program, Vec<Structure>), CompileError> {
    let mut reshaped = Vec::new();
    let mut p = Program::default();
    let mut procedure_of = FxHashMap::default();
    for (id, _) in structures.iter().skip(1) {
        let f = &m.functions[*id];
        procedure_of.insert(*id, p.procedures.len());
        let params = f.entry().map_or(0, |e| f.blocks[e].params.iter().map(|v| f.ty(*v).lanes as usize).sum());
        let results = f.results.iter().map(|t| t.lanes as usize).sum();
        let params = (0..params).map(|_| p.temp(Span::NONE)).collect();
        let results = (0..results).map(|_| p.temp(Span::NONE)).collect();
        p.procedures.push(Procedure { blocks: 0..0, params, results });
    }
    let mut bundle = 0;
    let mut plans_before = 0;
    let mut alike = vec![None; p.procedures.len()];
    p.nesting = nesting(m, m.entry);
    if p.nesting > CALLS {
        return Err(CompileError::unsupported("P0005", Span::NONE, "procedures call each other too deeply"));
    }
    let depth = crate::isa::lint::LOOP_DEPTH / p.nesting;
    for (n, (id, structure)) in structures.iter().enumerate() {
        let f = &m.functions[*id];
        let base = p.blocks.len();
        let plans = loops::find(m, f, abi, &structure.nodes, &p.integers, depth);
        let structure = Structure { nodes: loops::reshape(&structure.nodes, &plans) };
        let order = structure.blocks();
        let cfg = Cfg::new(f);
        let dom = DomTree::new(f, &cfg);
        let block_of: FxHashMap<Block, usize> = order.iter().enumerate().map(|(n, b)| (*b, base + n)).collect();
        let mut l = Lowering {
            m,
            f,
            abi,
            p: std::mem::take(&mut p),
            lanes: SecondaryMap::new(),
            known: SecondaryMap::new(),
            numbered: FxHashMap::default(),
            tests: FxHashMap::default(),
            block_of,
            at: 0,
            span: Span::NONE,
            precise: false,
            bundle,
            plans,
            plans_before,
            procedure: n.checked_sub(1),
            procedure_of: procedure_of.clone(),
            alike: std::mem::take(&mut alike),
            returned: Vec::new(),
            strips: strips(f, &order, &cfg),
            strip: 1,
            place: None,
        };
        l.function(&order, &cfg, &dom, &structure)?;
        if n > 0 {
            l.p.procedures[n - 1].blocks = base..base + order.len();
        }
        bundle = l.bundle + 1;
        plans_before += l.plans.len();
        alike = l.alike;
        p = l.p;
        reshaped.push(structure);
    }
    let bools =
        abi.uniforms.values().filter(|p| matches!(p, Place::Bool(_))).count() + p.integers.iter().filter(|i| i.guard.is_some()).count();
    p.drop_unread_params();
    p.truth = (bools <= usize::from(TRUTH)).then_some(TRUTH);
    Ok((p, reshaped))
}

/// The boolean uniform that is a constant for jumps that are always taken; the one behind it belongs to the hardware.
const TRUTH: u8 = 14;

/// Functions that may be under way at once, the entry included: a repeated sequence may be called from the innermost.
const CALLS: usize = 4;

/// The longest chain of calls from a function on.
fn nesting(m: &Module, id: FuncId) -> usize {
    let f = &m.functions[id];
    let callees =
        f.ordered().filter_map(|(_, i)| if let (Opcode::Call, Imm::Func(c)) = (f.insts[i].op, &f.insts[i].imm) { Some(*c) } else { None });
    1 + callees.map(|c| nesting(m, c)).max().unwrap_or(0)
}

impl<'a> Lowering<'a> {
    fn function(&mut self, order: &[Block], cfg: &Cfg, dom: &DomTree, structure: &Structure) -> Result<(), CompileError> {
        for b in order {
            let idom = dom.idom(*b).and_then(|d| self.block_of.get(&d).copied());
            let succs = self.f.successors(*b).iter().filter_map(|t| self.block_of.get(&t.block).copied()).collect();
            self.p.blocks.push(MBlock { idom, succs, ..MBlock::default() });
        }
        for (header, plan) in &self.plans {
            let (Some(header), Some(latch)) = (self.block_of.get(header).copied(), self.block_of.get(&plan.latch).copied()) else {
                continue;
            };
            self.p.counts.insert(header, Count { register: plan.integer.register, guard: plan.integer.guard });
            // The way out starts at the end of the body, whose last part is executed in every round.
            let exit = plan.arm.first().copied().or_else(|| self.exit_of(plan, &structure.nodes));
            if let Some(exit) = exit.and_then(|b| self.block_of.get(&b).copied()) {
                self.p.blocks[latch].succs.push(exit);
            }
            if let Some(last) = plan.arm.last().and_then(|b| self.block_of.get(b).copied()) {
                self.p.blocks[last].succs.push(header);
            }
            if !self.p.integers.contains(&plan.integer) {
                self.p.integers.push(plan.integer);
            }
        }
        self.leave_loops(&structure.nodes);
        let matcher = Matcher::new(Lowering::PATTERNS);
        self.place = (0..order.len()).any(|n| self.unsure(order[n], self.strips[n])).then(|| self.p.temp(Span::NONE));
        self.at = self.block_of[&order[0]];
        self.place_is(0);
        for b in order {
            self.at = self.block_of[b];
            self.returned.clear();
            self.strip = order.iter().position(|o| o == b).and_then(|n| self.strips.get(n).copied()).unwrap_or(1);
            self.params(*b, cfg);
            for i in &self.f.blocks[*b].insts {
                self.span = self.f.spans[*i];
                self.precise = self.f.insts[*i].precise;
                self.bundle += 1;
                let op = self.f.insts[*i].op;
                if !matcher.select(self, op, *i)? {
                    return self.internal(format!("`{}` is not legal", op.name()));
                }
            }
        }
        for b in order {
            self.edge_copies(*b, cfg)?;
        }
        // A counted loop needs no test.
        for plan in self.plans.values() {
            if let Some(n) = self.block_of.get(&plan.test) {
                self.p.blocks[*n].test = None;
            }
        }
        Ok(())
    }

    /// Where a counted loop's test leads out.
    fn exit_of(&self, plan: &Plan, nodes: &[Tree]) -> Option<Block> {
        let targets = self.f.successors(plan.test);
        let inside = |b: &Block| loops::members(nodes, plan.latch).is_some_and(|m| m.contains(b));
        targets.iter().map(|t| t.block).find(|b| !inside(b))
    }

    /// Behind a counted loop nothing counts as computed inside: a header that tests first is not executed once more.
    fn leave_loops(&mut self, nodes: &[Tree]) {
        for n in nodes {
            match n {
                Tree::If { then, other, .. } => {
                    self.leave_loops(then);
                    self.leave_loops(other);
                }
                Tree::Loop { header, body } => {
                    self.leave_loops(body);
                    let mut members = Vec::new();
                    loops::collect(body, &mut members);
                    let members: Vec<usize> = members.iter().filter_map(|b| self.block_of.get(b).copied()).collect();
                    let Some(header) = self.block_of.get(header).copied().filter(|h| self.p.counts.contains_key(h)) else { continue };
                    let before = self.p.blocks[header].idom;
                    for (k, b) in self.p.blocks.iter_mut().enumerate() {
                        if !members.contains(&k) && b.idom.is_some_and(|d| members.contains(&d)) {
                            b.idom = before;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// A call: operands to where the procedure wants them, results away from where the next call puts its own.
    fn call(&mut self, d: &InstData) -> Result<(), CompileError> {
        let Some(n) = (if let Imm::Func(id) = d.imm { self.procedure_of.get(&id).copied() } else { None }) else {
            return self.internal("a call of a function that is not kept");
        };
        let q = self.p.procedures[n].clone();
        let mut operands: Vec<Ref> = Vec::new();
        for a in &d.args {
            operands.extend(self.get(*a)?);
        }
        self.alike[n] = Some(match self.alike[n].take() {
            // What counts in a loop of the caller may count otherwise inside.
            None => operands.iter().map(|r| Some(*r).filter(|r| !counts(*r))).collect(),
            Some(a) => a.into_iter().zip(&operands).map(|(a, r)| a.filter(|a| a == r)).collect(),
        });
        let mut k = 0;
        for a in &d.args {
            for _ in 0..self.f.ty(*a).lanes {
                // What the call before has returned is still where it was.
                let kept = operands[k].as_tmp().and_then(|t| self.returned.iter().find(|r| r.0 == t));
                let from = kept.map_or(operands[k], |r| Ref { leaf: Leaf::Tmp(r.1), ..operands[k] });
                let mut n = Node::new(Op::Mov, &[Dest::Tmp(q.params[k])], &[&[from]], self.span);
                n.bundle = self.bundle;
                self.p.blocks[self.at].nodes.push(n);
                k += 1;
            }
            self.bundle += 1;
        }
        let mut call = Node::new(Op::Call, &[], &[], self.span);
        call.dests = q.results.iter().map(|t| Dest::Tmp(*t)).collect();
        call.srcs = q.params.iter().map(|t| smallvec![Ref::tmp(*t)]).collect();
        call.emit.0 = n as u8;
        self.p.blocks[self.at].nodes.push(call);
        self.returned.clear();
        let mut results = q.results.iter();
        for r in &d.results {
            self.bundle += 1;
            let lanes: Tuple = (0..self.f.ty(*r).lanes)
                .filter_map(|_| results.next())
                .map(|t| {
                    let x = self.p.temp(self.span);
                    let mut n = Node::new(Op::Mov, &[Dest::Tmp(x)], &[&[Ref::tmp(*t)]], self.span);
                    n.bundle = self.bundle;
                    self.p.blocks[self.at].nodes.push(n);
                    self.returned.push((x, *t));
                    Ref::tmp(x)
                })
                .collect();
            self.set(*r, lanes);
        }
        Ok(())
    }

    /// A procedure's end: its results to where the callers look for them.
    fn results(&mut self, d: &InstData) -> Result<(), CompileError> {
        let Some(q) = self.procedure.map(|n| self.p.procedures[n].clone()) else { return Ok(()) };
        let mut results = q.results.iter();
        for a in &d.args {
            self.bundle += 1;
            for (r, t) in self.get(*a)?.into_iter().zip(&mut results) {
                let mut n = Node::new(Op::Mov, &[Dest::Tmp(*t)], &[&[r]], self.span);
                n.bundle = self.bundle;
                self.p.blocks[self.at].nodes.push(n);
            }
        }
        self.p.blocks[self.at].keeps = q.results;
        Ok(())
    }

    fn internal<T>(&self, message: impl Into<String>) -> Result<T, CompileError> {
        Err(CompileError::Internal(format!("selection: {}", message.into())))
    }

    fn set(&mut self, v: Value, lanes: Tuple) {
        self.lanes[v] = lanes;
        self.known[v] = true;
    }

    fn get(&self, v: Value) -> Result<Tuple, CompileError> {
        let v = self.f.resolve(v);
        if self.known[v] { Ok(self.lanes[v].clone()) } else { self.internal(format!("{v} has no lanes")) }
    }

    /// Parameters: renamed if there is one predecessor or one constant, else temporaries that the edges set.
    fn params(&mut self, b: Block, cfg: &Cfg) {
        let preds = cfg.preds(b).to_vec();
        // What all callers have in the same place a procedure finds there.
        let given = |n: usize| {
            let alike = self.alike.get(n).and_then(|a| a.clone()).unwrap_or_default();
            let params = self.p.procedures[n].params.iter().enumerate();
            let found: Vec<Ref> = params.map(|(k, t)| alike.get(k).copied().flatten().unwrap_or(Ref::tmp(*t))).collect();
            found.into_iter()
        };
        let mut given = self.procedure.filter(|_| self.f.entry() == Some(b)).map(given);
        for (n, p) in self.f.blocks[b].params.iter().enumerate() {
            let ty = self.f.ty(*p);
            if let Some(given) = &mut given {
                let lanes = given.take(ty.lanes as usize).collect();
                self.set(*p, lanes);
                continue;
            }
            let args: Vec<Value> = preds.iter().map(|e| self.f.successors(e.from)[e.target as usize].args[n]).collect();
            if let [one] = args[..]
                && let Ok(l) = self.get(one)
            {
                if let Some(t) = self.tests.get(&self.f.resolve(one)).cloned() {
                    self.tests.insert(*p, t);
                }
                self.set(*p, l);
                continue;
            }
            // For messages: where the value comes from that comes in first.
            let made = args.first().and_then(|a| self.f.def_inst(self.f.resolve(*a))).map_or(self.span, |i| self.f.spans[i]);
            let lanes = (0..ty.lanes)
                .map(|l| {
                    let mut consts = args.iter().map(|a| constant_lane(self.f, *a, l));
                    let first = consts.next().flatten();
                    match first {
                        Some(c) if consts.all(|k| k == Some(c)) => self.constant(ty.scalar, c),
                        _ => Ref::tmp(self.p.temp(made)),
                    }
                })
                .collect();
            self.set(*p, lanes);
        }
    }

    fn constant(&self, scalar: Scalar, bits: u32) -> Ref {
        match scalar {
            Scalar::F32 => Ref::constant(bits),
            _ => Ref::constant((bits as i32 as f32).to_bits()),
        }
    }

    /// Copies into the parameters of a block's successors, as the last operations of the block.
    fn edge_copies(&mut self, b: Block, cfg: &Cfg) -> Result<(), CompileError> {
        let from = self.block_of[&b];
        let targets: Vec<BlockCall> = self.f.successors(b).to_vec();
        for t in &targets {
            if cfg.preds(t.block).len() < 2 {
                continue;
            }
            let params = self.f.blocks[t.block].params.clone();
            let mut pairs: Vec<(Tmp, Ref, u32)> = Vec::new();
            for (k, (p, a)) in params.iter().zip(&t.args).enumerate() {
                for (d, s) in self.get(*p)?.iter().zip(self.get(*a)?) {
                    if let Leaf::Tmp(d) = d.leaf
                        && s != Ref::tmp(d)
                    {
                        pairs.push((d, s, k as u32));
                    }
                }
            }
            if !pairs.is_empty() && targets.len() > 1 {
                return self.internal("a critical edge carries values");
            }
            self.bundle += 1;
            let base = self.bundle;
            // A source that another copy overwrites, or whose index does, is saved first.
            let overwritten: Vec<Tmp> = pairs.iter().map(|p| p.0).collect();
            let mut saved: FxHashMap<Leaf, Tmp> = FxHashMap::default();
            for (d, s, k) in &mut pairs {
                let read = s.as_tmp().or_else(|| self.p.index_reads([*s].into_iter()).find_map(Ref::as_tmp));
                if read.is_some_and(|t| t != *d && overwritten.contains(&t)) {
                    let fresh = match saved.get(&s.leaf) {
                        Some(x) => *x,
                        None => {
                            let x = self.p.temp(self.span);
                            saved.insert(s.leaf, x);
                            let mut n = Node::new(Op::Mov, &[Dest::Tmp(x)], &[&[Ref { leaf: s.leaf, neg: false }]], self.span);
                            n.bundle = base + 1000 + *k;
                            self.p.blocks[from].nodes.push(n);
                            x
                        }
                    };
                    s.leaf = Leaf::Tmp(fresh);
                }
            }
            for (d, s, k) in pairs {
                let mut n = Node::new(Op::Mov, &[Dest::Tmp(d)], &[&[s]], self.span);
                n.bundle = base + k;
                self.p.blocks[from].nodes.push(n);
            }
            self.bundle += params.len() as u32 + 2001;
        }
        Ok(())
    }

    /// What a computation is without computing: the machine knows no negative zero, and nothing but a NaN times zero is zero.
    fn trivial(op: Op, lane: &[Ref], precise: bool) -> Option<Ref> {
        let is = |r: Ref, v: f32| r.leaf == Leaf::Const(v.to_bits());
        let either = |what: &dyn Fn(Ref, Ref) -> Option<Ref>| what(lane[0], lane[1]).or_else(|| what(lane[1], lane[0]));
        match op {
            Op::Add => either(&|z, other| is(z, 0.0).then_some(other)),
            Op::Mul => either(&|k, other| match k {
                k if is(k, 0.0) && !precise => Some(k),
                k if is(k, 1.0) => Some(other),
                k if is(k, -1.0) => Some(other.negated()),
                _ => None,
            }),
            _ => None,
        }
    }

    /// What was made in the nearest block that dominates the current one.
    fn above(&self, made: &[(usize, Tmp)]) -> Option<Tmp> {
        let mut b = Some(self.at);
        while let Some(n) = b {
            if let Some((_, t)) = made.iter().rev().find(|(at, _)| *at == n) {
                return Some(*t);
            }
            b = self.p.blocks[n].idom;
        }
        None
    }

    /// A scalar computation, made once per dominating block.
    fn scalar(&mut self, op: Op, srcs: &[&[Ref]]) -> Ref {
        let key: ValueKey = (op, srcs.iter().flat_map(|s| s.iter().copied()).collect());
        if let Some(t) = self.numbered.get(&key).and_then(|made| self.above(made)) {
            return Ref::tmp(t);
        }
        let t = self.p.temp(self.span);
        self.numbered.entry(key).or_default().push((self.at, t));
        let mut n = Node::new(op, &[Dest::Tmp(t)], srcs, self.span);
        n.bundle = self.bundle;
        self.p.blocks[self.at].nodes.push(n);
        Ref::tmp(t)
    }

    fn elementwise(&mut self, op: Op, args: &[Tuple]) -> Tuple {
        let lanes: Vec<SmallVec<[Ref; 3]>> = (0..args[0].len()).map(|l| args.iter().map(|a| a[l]).collect()).collect();
        // A trivial lane beside others of its kind costs nothing where it is, and a move elsewhere; so do lanes that would go apart.
        let keys = |l: &[Ref]| l.iter().map(|r| r.key()).collect::<SmallVec<[Key; 3]>>();
        let precise = self.precise;
        let what = |l: &[Ref]| Self::trivial(op, l, precise).map(Ref::key);
        let beside = |l: &[Ref]| lanes.iter().any(|m| keys(m) == keys(l) && what(m) != what(l));
        let lane = |l: &SmallVec<[Ref; 3]>| match Self::trivial(op, l, precise).filter(|_| !beside(l)) {
            Some(r) => r,
            None => {
                let s: SmallVec<[&[Ref]; 3]> = l.iter().map(std::slice::from_ref).collect();
                self.scalar(op, &s)
            }
        };
        lanes.iter().map(lane).collect()
    }

    fn input(&mut self, d: &InstData) -> Result<Tuple, CompileError> {
        let (Imm::Mem { var: MemRef::Input(k), offset }, Some(v)) = (&d.imm, d.results.first()) else {
            return self.internal("input without variable");
        };
        let (k, lanes) = (*k, self.f.ty(*v).lanes);
        let Some(x) = d.args.first() else {
            return Ok((0..lanes)
                .map(|c| match input_place(self.m, self.abi, k, *offset) {
                    InputPlace::Register(reg) => Ref { leaf: Leaf::In(reg, c), neg: false },
                    InputPlace::Uniform(reg) => Ref { leaf: Leaf::Uni { reg, comp: c, index: None }, neg: false },
                })
                .collect());
        };
        // Vertices in uniforms: the index counts vertices, the machine registers.
        let mut vertex = self.get(self.f.resolve(*x))?[0];
        let number = |n: u8| Ref::constant(f32::from(n).to_bits());
        let (stride, base) = (self.abi.stride, self.abi.inputs[k]);
        let (index, reg) = match self.abi.vertices {
            Vertices::Registers => {
                return Err(CompileError::unsupported("P0104", self.span, "an input register cannot be indexed by a computed value"));
            }
            // Those behind the whole ones have one attribute.
            Vertices::Variable(whole) if self.m.inputs[k].count > u32::from(whole) => {
                if *offset > 0 {
                    vertex = self.scalar(Op::Add, &[&[number(*offset as u8)], &[vertex]]);
                }
                let among = self.scalar(Op::Min, &[&[number(whole)], &[vertex]]);
                (self.scalar(Op::Mad, &[&[among], &[number(stride - 1)], &[vertex]]), 1 + base)
            }
            Vertices::Variable(_) => (self.scalar(Op::Mul, &[&[number(stride)], &[vertex]]), 1 + base + *offset as u8 * stride),
            Vertices::Fixed(_) if stride == 1 => (vertex, base + *offset as u8),
            Vertices::Fixed(_) => (self.scalar(Op::Mul, &[&[number(stride)], &[vertex]]), base + *offset as u8 * stride),
        };
        let index = Some(self.index_number(index));
        Ok((0..lanes).map(|comp| Ref { leaf: Leaf::Uni { reg, comp, index }, neg: false }).collect())
    }

    /// The number of a computed index.
    fn index_number(&mut self, r: Ref) -> u32 {
        let found = self.p.indices.iter().position(|i| *i == r);
        found.unwrap_or_else(|| {
            self.p.indices.push(r);
            self.p.indices.len() - 1
        }) as u32
    }

    fn uniform(&mut self, d: &InstData) -> Result<Tuple, CompileError> {
        let (Imm::Mem { var: MemRef::Uniform(k), offset }, Some(v)) = (&d.imm, d.results.first().copied()) else {
            return self.internal("uniform without variable");
        };
        let u = &self.m.uniforms[*k];
        let Place::Float { reg, comp, rows } = self.abi.uniforms[*k] else { return self.internal("a uniform without place") };
        let mut shift = 0;
        let index = match d.args.first() {
            None => None,
            // The counter of a loop: the machine's own.
            Some(_) if let Some((n, by)) = self.plans.values().enumerate().find_map(|(n, p)| p.shift(v).map(|s| (n, s))) => {
                shift = by;
                Some(LOOP_COUNTER | (self.plans_before + n) as u32)
            }
            Some(x) => {
                if u.unit != 16 {
                    let what = format!("elements of `{}` are not 16 bytes apart and cannot be indexed", u.name);
                    return Err(CompileError::unsupported("P0104", self.span, what));
                }
                let x = self.f.resolve(*x);
                let r = match rows {
                    None => self.get(x)?[0],
                    Some(t) => match self.in_rows(x, t)? {
                        Some(r) => r,
                        None => {
                            let what = format!(
                                "a column of `{}` cannot be chosen by a computed value where its rows are registers: `--matrix-layout column`",
                                u.name
                            );
                            return Err(CompileError::unsupported("P0104", self.span, what));
                        }
                    },
                };
                Some(self.index_number(r))
            }
        };
        let lane = |l: u32| {
            let byte = match rows {
                // The first element's column, in the rows of its matrix.
                Some(t) => {
                    let column = crate::abi::column(u, *offset);
                    let first = offset - column;
                    16 * (first / t.from * t.to + first % t.from + l) + 4 * column + u32::from(comp) * 4
                }
                None => u32::from(comp) * 4 + offset * u.unit + 4 * l,
            };
            let reg = (i64::from(reg) + shift + i64::from(byte / 16)).clamp(0, 95) as u8;
            Ref { leaf: Leaf::Uni { reg, comp: (byte % 16 / 4) as u8, index }, neg: false }
        };
        Ok((0..u32::from(self.f.ty(v).lanes)).map(lane).collect())
    }

    /// An index that counts columns as one that counts rows: whole matrices only, else nothing.
    fn in_rows(&mut self, x: Value, t: Transposed) -> Result<Option<Ref>, CompileError> {
        let x = self.f.resolve(x);
        let whole = |bits: u32| {
            let v = f32::from_bits(bits);
            (v % t.from as f32 == 0.0).then(|| Ref::constant((v / t.from as f32 * t.to as f32).to_bits()))
        };
        let of_const = |f: &Function, v: Value| match (f.const_bits(f.resolve(v)), f.ty(v).scalar) {
            (Some(c), Scalar::F32) => Some(c[0]),
            (Some(c), _) => Some((c[0] as i32 as f32).to_bits()),
            _ => None,
        };
        if let Some(c) = of_const(self.f, x) {
            return Ok(whole(c));
        }
        let Some(d) = self.f.def_inst(x).map(|i| self.f.insts[i].clone()) else { return Ok(None) };
        let op = match d.op {
            Opcode::F2s | Opcode::S2f | Opcode::U2f => return self.in_rows(d.args[0], t),
            Opcode::Fmul => {
                let factor =
                    [(0, 1), (1, 0)].into_iter().find_map(|(k, other)| Some((whole(of_const(self.f, d.args[k])?)?, d.args[other])));
                let Some((factor, other)) = factor else { return Ok(None) };
                let other = self.get(other)?[0];
                return Ok(Some(if factor == Ref::constant(1f32.to_bits()) {
                    other
                } else {
                    self.scalar(Op::Mul, &[&[factor], &[other]])
                }));
            }
            Opcode::Fmax => Op::Max,
            Opcode::Fmin => Op::Min,
            Opcode::Fadd => Op::Add,
            _ => return Ok(None),
        };
        let (Some(a), Some(b)) = (self.in_rows(d.args[0], t)?, self.in_rows(d.args[1], t)?) else { return Ok(None) };
        Ok(Some(self.scalar(op, &[&[a], &[b]])))
    }

    fn output(&mut self, d: &InstData, value: &Tuple) -> Result<(), CompileError> {
        let Imm::Mem { var: MemRef::Output(k), .. } = d.imm else { return self.internal("output without variable") };
        self.write_output(k, value);
        Ok(())
    }

    fn write_output(&mut self, k: Output, value: &Tuple) {
        let reg = self.abi.outputs[k];
        for (l, r) in value.iter().enumerate() {
            if self.abi.dead[k][l].is_some() {
                continue;
            }
            let mut n = Node::new(Op::Mov, &[Dest::Out(reg, l as u8)], &[&[*r]], self.span);
            n.bundle = self.bundle;
            self.p.blocks[self.at].nodes.push(n);
        }
    }

    /// The numbers behind truth values that are stored.
    fn numbers(&self, v: Value) -> Result<Tuple, CompileError> {
        let Some(d) = self.f.def_inst(self.f.resolve(v)).map(|i| &self.f.insts[i]) else { return self.internal("a stored truth value") };
        match (d.op, &d.imm) {
            (Opcode::Build, _) => d.args.iter().map(|a| self.numbers(*a).map(|t| t[0])).collect(),
            (Opcode::Fcmp, Imm::FloatCC(FloatCC::Une)) => self.get(d.args[0]),
            (Opcode::Const, Imm::Const(bits)) => {
                Ok((0..self.f.ty(v).lanes as usize).map(|l| Ref::constant(if bits[l] & 1 == 1 { 1f32.to_bits() } else { 0 })).collect())
            }
            (Opcode::Splat, _) => {
                let n = self.numbers(d.args[0])?[0];
                Ok((0..self.f.ty(v).lanes).map(|_| n).collect())
            }
            _ => self.internal("a stored truth value is no comparison"),
        }
    }

    fn test(&self, v: Value) -> Result<Test, CompileError> {
        match self.tests.get(&self.f.resolve(v)) {
            Some(t) => Ok(t.clone()),
            None => self.internal(format!("{v} is not a test")),
        }
    }

    /// Comparisons and what joins two of them.
    fn test_of(&self, d: &InstData) -> Result<Test, CompileError> {
        match (d.op, &d.imm) {
            (Opcode::Inot, _) => Ok(self.test(d.args[0])?.not()),
            (Opcode::Iand | Opcode::Ior, _) => {
                let (Test::Flags(a, x), Test::Flags(b, y)) = (self.test(d.args[0])?, self.test(d.args[1])?) else {
                    return self.internal("a boolean uniform is joined");
                };
                if a.len() != 1 || b.len() != 1 {
                    return self.internal("more than two comparisons are joined");
                }
                let op = if d.op == Opcode::Iand { CondOp::And } else { CondOp::Or };
                Ok(Test::Flags(vec![a[0], b[0]], Cond { op, x: x.x, y: y.x }))
            }
            (Opcode::Fcmp, Imm::FloatCC(cc)) => {
                let (a, b) = (self.get(d.args[0])?[0], self.get(d.args[1])?[0]);
                let one = |code: u8, want: bool| Test::Flags(vec![(a, code, b)], Cond { op: CondOp::X, x: want, y: true });
                let (eq, ne, lt, le, gt, ge) = (0, 1, 2, 3, 4, 5);
                Ok(match cc {
                    FloatCC::Oeq => one(eq, true),
                    FloatCC::Une => one(ne, true),
                    FloatCC::Olt => one(lt, true),
                    FloatCC::Ole => one(le, true),
                    FloatCC::Ogt => one(gt, true),
                    FloatCC::Oge => one(ge, true),
                    FloatCC::Ult => one(ge, false),
                    FloatCC::Ule => one(gt, false),
                    FloatCC::Ugt => one(le, false),
                    FloatCC::Uge => one(lt, false),
                    FloatCC::One => Test::Flags(vec![(a, lt, b), (a, gt, b)], Cond { op: CondOp::Or, x: true, y: true }),
                    FloatCC::Ueq => Test::Flags(vec![(a, lt, b), (a, gt, b)], Cond { op: CondOp::And, x: false, y: false }),
                    FloatCC::Ord => Test::Flags(vec![(a, eq, a), (b, eq, b)], Cond { op: CondOp::And, x: true, y: true }),
                    FloatCC::Uno => Test::Flags(vec![(a, eq, a), (b, eq, b)], Cond { op: CondOp::Or, x: false, y: false }),
                })
            }
            _ => self.internal("not a test"),
        }
    }

    /// A move of the false value, then one of the true value under the test.
    fn select(&mut self, d: &InstData) -> Result<Tuple, CompileError> {
        let (mut test, mut yes, mut no) = (self.test(d.args[0])?, self.get(d.args[1])?, self.get(d.args[2])?);
        // Moving a constant last keeps the computed value in place.
        let constants = |t: &Tuple| t.iter().filter(|r| matches!(r.leaf, Leaf::Const(_) | Leaf::Uni { .. } | Leaf::In(..))).count();
        if constants(&no) > constants(&yes) {
            std::mem::swap(&mut yes, &mut no);
            test = test.not();
        }
        let mut out = Tuple::new();
        let (mut always, mut maybe) = (Vec::new(), Vec::new());
        for (y, n) in yes.iter().zip(&no) {
            if y == n {
                out.push(*y);
                continue;
            }
            let t = self.p.temp(self.span);
            let mut first = Node::new(Op::Mov, &[Dest::Tmp(t)], &[&[*n]], self.span);
            first.bundle = self.bundle + 500_000_000;
            let mut second = Node::new(Op::Mov, &[Dest::Tmp(t)], &[&[*y]], self.span);
            second.bundle = self.bundle + 1_000_000_000;
            second.test = Some(test.clone());
            always.push(first);
            maybe.push(second);
            out.push(Ref::tmp(t));
        }
        self.p.blocks[self.at].nodes.extend(always);
        self.p.blocks[self.at].nodes.extend(maybe);
        Ok(out)
    }

    /// Strips become triangles: vertex k goes to slot k mod 3, from the third on each sends one, every other reversed. Where
    /// several places are possible, those who come by count, and the slot is chosen among those of all.
    fn emit_vertex(&mut self) {
        let slot = |k: u32| ((k % 3) as u8, k >= 2, k >= 2 && k % 2 == 1);
        let places: Vec<u32> = (0..8).filter(|k| self.strip >> k & 1 == 1).collect();
        let number = |k: u32| Ref::constant((k as f32).to_bits());
        for two in places.chunks(2) {
            for (k, op) in two.iter().zip([CondOp::X, CondOp::Y]) {
                let mut n = Node::new(Op::Emit, &[], &[], self.span);
                n.emit = slot(*k);
                if let (Some(t), true) = (self.place, places.len() > 1) {
                    let flags = two.iter().map(|k| (number(*k), 0, Ref::tmp(t))).collect();
                    n.test = Some(Test::Flags(flags, Cond { op, x: true, y: true }));
                }
                self.p.blocks[self.at].nodes.push(n);
            }
        }
        self.strip = next_in_strip(self.strip);
        let Some(t) = self.place else { return };
        if places.len() < 2 {
            return self.place_is(self.strip.trailing_zeros());
        }
        let nodes = &mut self.p.blocks[self.at].nodes;
        nodes.push(Node::new(Op::Add, &[Dest::Tmp(t)], &[&[number(1)], &[Ref::tmp(t)]], self.span));
        if places.contains(&7) {
            let mut n = Node::new(Op::Mov, &[Dest::Tmp(t)], &[&[number(2)]], self.span);
            n.test = Some(Test::Flags(vec![(number(8), 0, Ref::tmp(t))], Cond { op: CondOp::X, x: true, y: true }));
            nodes.push(n);
        }
    }

    /// Whether a block that starts at these places emits a vertex whose own is not known.
    fn unsure(&self, b: Block, mut places: u8) -> bool {
        self.f.blocks[b].insts.iter().any(|i| {
            let unsure = self.f.insts[*i].op == Opcode::EmitVertex && places.count_ones() > 1;
            places = after(self.f.insts[*i].op, places);
            unsure
        })
    }

    /// Where places are counted: this one is known.
    fn place_is(&mut self, k: u32) {
        let Some(t) = self.place else { return };
        let n = Node::new(Op::Mov, &[Dest::Tmp(t)], &[&[Ref::constant((k as f32).to_bits())]], self.span);
        self.p.blocks[self.at].nodes.push(n);
    }
}

/// Whether a loop's own counter is part of the operand's address.
fn counts(r: Ref) -> bool {
    matches!(r.leaf, Leaf::Uni { index: Some(i), .. } if i >= LOOP_COUNTER)
}

/// The places after one more vertex: from the third on they repeat every six, slot and winding.
fn next_in_strip(places: u8) -> u8 {
    places << 1 | places >> 7 << 2
}

/// The places behind an operation.
fn after(op: Opcode, places: u8) -> u8 {
    match op {
        Opcode::EmitVertex => next_in_strip(places),
        Opcode::EndPrimitive if places != 0 => 1,
        _ => places,
    }
}

/// Places in the strip that a vertex may have at each block's start.
fn strips(f: &Function, order: &[Block], cfg: &Cfg) -> Vec<u8> {
    let mut at: Vec<u8> = order.iter().map(|b| u8::from(f.entry() == Some(*b))).collect();
    let after = |b: Block, places: u8| f.blocks[b].insts.iter().fold(places, |s, i| after(f.insts[*i].op, s));
    loop {
        let mut changed = false;
        for (n, b) in order.iter().enumerate() {
            let from = cfg.preds(*b).iter().filter_map(|e| order.iter().position(|o| *o == e.from).map(|p| after(e.from, at[p])));
            let all = from.fold(at[n], |s, p| s | p);
            changed |= std::mem::replace(&mut at[n], all) != all;
        }
        if !changed {
            return at;
        }
    }
}
