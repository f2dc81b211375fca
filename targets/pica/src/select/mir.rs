//! The program between IR and words: operations on tuples of scalars whose registers and lanes are still open.
//!
//! Every scalar of the IR is a *temporary*, an input or uniform component, or a constant; vectors exist only as the tuples
//! that instructions read and write. Which temporaries share a register is decided by `place::coalesce`, where they live by
//! `place`. A temporary may have several definitions (block parameters, conditional moves).

use crate::isa::forms::Op;
use crate::isa::registers::COMPONENTS;
use crate::isa::word::{Cond, CondOp};
use retroshade_ir::Span;
use retroshade_lower::pattern::Fired;
use smallvec::SmallVec;

/// A scalar temporary.
pub type Tmp = u32;

/// Where a scalar comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Leaf {
    /// A temporary.
    Tmp(Tmp),
    /// An input register's component.
    In(u8, u8),
    /// A float uniform's component, with the number of a dynamic index.
    Uni {
        /// Register.
        reg: u8,
        /// Component.
        comp: u8,
        /// Index value that is added.
        index: Option<u32>,
    },
    /// A constant, as f32 bits; never negative zero.
    Const(u32),
}

/// A scalar operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ref {
    /// Source.
    pub leaf: Leaf,
    /// Whether it is negated. Constants carry their sign themselves.
    pub neg: bool,
}

impl Ref {
    /// A temporary.
    pub const fn tmp(t: Tmp) -> Ref {
        Ref { leaf: Leaf::Tmp(t), neg: false }
    }
    /// A constant; negative zero becomes zero.
    pub fn constant(bits: u32) -> Ref {
        let bits = crate::legal::numerics::round(f32::from_bits(bits) as f64).to_bits();
        Ref { leaf: Leaf::Const(if bits == 0x8000_0000 { 0 } else { bits }), neg: false }
    }
    /// The negated operand.
    pub fn negated(self) -> Ref {
        match self.leaf {
            Leaf::Const(b) => Ref::constant(b ^ 0x8000_0000),
            _ => Ref { neg: !self.neg, ..self },
        }
    }
    /// The temporary, if it is one.
    pub fn as_tmp(self) -> Option<Tmp> {
        if let Leaf::Tmp(t) = self.leaf { Some(t) } else { None }
    }
    /// What an operand tuple must have in common.
    pub fn key(self) -> Key {
        match self.leaf {
            Leaf::Tmp(_) => Key::Tmp(self.neg),
            Leaf::In(v, _) => Key::In(v, self.neg),
            Leaf::Uni { reg, index, .. } => Key::Uni(reg, index, self.neg),
            Leaf::Const(_) => Key::Const,
        }
    }
}

/// The kind of source that a whole operand has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// Temporaries with this sign.
    Tmp(bool),
    /// One input register.
    In(u8, bool),
    /// One uniform register.
    Uni(u8, Option<u32>, bool),
    /// Constants.
    Const,
}

/// Where a result lane goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dest {
    /// A temporary.
    Tmp(Tmp),
    /// An output register's component.
    Out(u8, u8),
}

/// The operations that write a temporary, mostly one: (block, node).
pub type Makers = SmallVec<[(usize, usize); 1]>;

/// A tuple of operands.
pub type Tuple = SmallVec<[Ref; 4]>;

/// A condition for a branch or a conditional move.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// One or two comparisons (left, code, right) and how their flags are joined.
    Flags(Vec<(Ref, u8, Ref)>, Cond),
    /// A boolean uniform, and the value that is wanted.
    Bool(u8, bool),
}

impl Test {
    /// The test that holds exactly when this one does not.
    pub fn not(&self) -> Test {
        match self {
            Test::Flags(c, cond) => Test::Flags(c.clone(), cond.not()),
            Test::Bool(b, want) => Test::Bool(*b, !want),
        }
    }
    /// The scalars that it reads.
    pub fn refs(&self) -> SmallVec<[Ref; 4]> {
        match self {
            Test::Flags(c, _) => c.iter().flat_map(|(a, _, b)| [*a, *b]).collect(),
            Test::Bool(..) => SmallVec::new(),
        }
    }
}

/// One operation.
///
/// Element by element, `srcs[k][n]` belongs to `dests[n]`; for dot products and scalar functions the tuples are whole
/// operands, and every destination receives the same value.
#[derive(Debug, PartialEq)]
pub struct Node {
    /// Operation.
    pub op: Op,
    /// Results.
    pub dests: SmallVec<[Dest; 4]>,
    /// Operands.
    pub srcs: SmallVec<[Tuple; 3]>,
    /// For a move, or a vertex' slot: happens only where this holds.
    pub test: Option<Test>,
    /// For `emit`: slot and flags; for `call`: the procedure's number.
    pub emit: (u8, bool, bool),
    /// Instructions of one origin stay together.
    pub bundle: u32,
    /// Where it comes from.
    pub span: Span,
}

// By hand: operands are copied at once, which the derived implementation does one by one. The search for a packing clones a lot.
impl Clone for Node {
    fn clone(&self) -> Node {
        let mut srcs = SmallVec::new();
        self.srcs.iter().for_each(|s| srcs.push(Tuple::from_slice(s)));
        Node { op: self.op, dests: SmallVec::from_slice(&self.dests), srcs, test: self.test.clone(), ..*self }
    }
}

impl Node {
    /// An operation.
    pub fn new(op: Op, dests: &[Dest], srcs: &[&[Ref]], span: Span) -> Node {
        let srcs = srcs.iter().map(|s| Tuple::from_slice(s)).collect();
        Node { op, dests: SmallVec::from_slice(dests), srcs, test: None, emit: (0, false, false), bundle: u32::MAX, span }
    }
    /// A call of a procedure, without operands and results.
    pub fn call(procedure: usize) -> Node {
        Node { emit: (procedure as u8, false, false), ..Node::new(Op::Call, &[], &[], Span::NONE) }
    }
    /// Whether lanes are independent of each other.
    pub fn elementwise(&self) -> bool {
        matches!(self.op, Op::Add | Op::Mul | Op::Mad | Op::Max | Op::Min | Op::Sge | Op::Slt | Op::Flr | Op::Mov)
    }
    /// Everything that is read, the test included.
    pub fn reads(&self) -> impl Iterator<Item = Ref> + '_ {
        self.srcs.iter().flatten().copied().chain(self.test.iter().flat_map(|t| t.refs()))
    }
    /// Temporaries that are written.
    pub fn writes(&self) -> impl Iterator<Item = Tmp> + '_ {
        self.dests.iter().filter_map(|d| if let Dest::Tmp(t) = d { Some(*t) } else { None })
    }
}

/// A block: operations, then perhaps a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MBlock {
    /// Operations.
    pub nodes: Vec<Node>,
    /// The branch's test.
    pub test: Option<Test>,
    /// Successors.
    pub succs: SmallVec<[usize; 2]>,
    /// Immediate dominator.
    pub idom: Option<usize>,
    /// Where the branch comes from.
    pub span: Span,
    /// Temporaries that the block's end leaves to a procedure's caller.
    pub keeps: Vec<Tmp>,
}

/// A function that stays one: a stretch of blocks that calls name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Procedure {
    /// Its blocks.
    pub blocks: std::ops::Range<usize>,
    /// Temporaries that the callers set.
    pub params: Vec<Tmp>,
    /// Temporaries that the callers read.
    pub results: Vec<Tmp>,
}

/// A loop that a LOOP instruction counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The integer register that holds the rounds.
    pub register: u8,
    /// The boolean uniform that says whether there is a round at all.
    pub guard: Option<u8>,
}

/// Where the number of rounds comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// A constant, 1 to 256.
    Known(u32),
    /// `add` plus (or minus) the value of an integer uniform.
    Uniform {
        /// The uniform.
        uniform: retroshade_ir::Uniform,
        /// Whether its value is subtracted.
        minus: bool,
        /// What is added.
        add: i64,
    },
}

/// Contents of an integer register: rounds less one, first value of aL, what a round adds to aL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// The register: constants from i3 downward, uniforms from i0 upward.
    pub register: u8,
    /// Rounds.
    pub rounds: Rounds,
    /// What each round adds to aL, which starts at 0.
    pub step: u8,
    /// The boolean uniform that says whether there is a round at all.
    pub guard: Option<u8>,
}

/// Indices from here on are the counters of loops, by number of the loop.
pub const LOOP_COUNTER: u32 = 1 << 31;

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Blocks in the order of the code.
    pub blocks: Vec<MBlock>,
    /// Number of temporaries.
    pub temps: u32,
    /// Dynamic indices: the float that is truncated.
    pub indices: Vec<Ref>,
    /// Counted loops by header.
    pub counts: indexmap::IndexMap<usize, Count>,
    /// Integer registers that they use.
    pub integers: Vec<Integer>,
    /// Functions that stay procedures; their blocks follow those of the entry.
    pub procedures: Vec<Procedure>,
    /// What a call of each may overwrite, those that it calls itself included.
    pub clobbers: Vec<Vec<Tmp>>,
    /// Functions that may be under way at once, the entry included.
    pub nesting: usize,
    /// Constant registers that tables take, from the last downward.
    pub tables: Vec<[Option<u32>; 4]>,
    /// A boolean uniform that nothing else uses, for jumps that are always taken.
    pub truth: Option<u8>,
    /// Whether products may need copies of operands to join their sums; constants are then copied together.
    pub copies: bool,
    /// Names of temporaries for messages: where they are made.
    pub spans: Vec<Span>,
    /// Which patterns have fired.
    pub fired: Fired,
}

impl Program {
    /// A new temporary.
    pub fn temp(&mut self, span: Span) -> Tmp {
        self.temps += 1;
        self.spans.push(span);
        self.temps - 1
    }
    /// Index scalars behind a set of operands.
    pub fn index_reads<'a>(&'a self, refs: impl Iterator<Item = Ref> + 'a) -> impl Iterator<Item = Ref> + 'a {
        refs.filter_map(|r| if let Leaf::Uni { index: Some(i), .. } = r.leaf { self.indices.get(i as usize).copied() } else { None })
    }
    /// Everything that a call of a procedure writes, those that it calls itself included.
    pub fn overwritten(&self, procedure: usize) -> Vec<Tmp> {
        let mut out = Vec::new();
        let mut seen = vec![false; self.procedures.len()];
        let mut work = vec![procedure];
        while let Some(n) = work.pop() {
            let Some(q) = self.procedures.get(n).filter(|_| !std::mem::replace(&mut seen[n], true)) else { continue };
            out.extend(q.params.iter().chain(&q.results));
            for node in self.blocks[q.blocks.clone()].iter().flat_map(|b| &b.nodes) {
                out.extend(node.writes());
                if node.op == Op::Call {
                    work.push(node.emit.0 as usize);
                }
            }
        }
        out.sort();
        out.dedup();
        out
    }
    /// Which procedures the entry calls, directly or not; callers stand before their callees.
    pub fn called(&self) -> Vec<bool> {
        let mut called = vec![false; self.procedures.len()];
        let first = self.procedures.first().map_or(self.blocks.len(), |q| q.blocks.start);
        let visit = |blocks: std::ops::Range<usize>, called: &mut Vec<bool>| {
            let calls = self.blocks[blocks].iter().flat_map(|b| &b.nodes).filter(|n| n.op == Op::Call);
            calls.for_each(|n| called[n.emit.0 as usize] = true);
        };
        visit(0..first, &mut called);
        for (n, q) in self.procedures.iter().enumerate() {
            if called[n] {
                visit(q.blocks.clone(), &mut called);
            }
        }
        called
    }
    /// What nobody calls does nothing.
    fn remove_uncalled(&mut self) {
        let called = self.called();
        for (q, _) in self.procedures.iter_mut().zip(called).filter(|(_, called)| !called) {
            for b in &mut self.blocks[q.blocks.clone()] {
                b.nodes.clear();
                b.keeps.clear();
                b.test = None;
            }
            q.params.clear();
            q.results.clear();
        }
    }
    /// Calls read what their procedures read of the callers' temporaries, besides the parameters.
    pub fn link_calls(&mut self) {
        let mut outside: Vec<Vec<Tmp>> = vec![Vec::new(); self.procedures.len()];
        // Callees stand behind their callers.
        for (n, q) in self.procedures.iter().enumerate().rev() {
            let mut written: Vec<Tmp> = q.params.clone();
            let mut read: Vec<Tmp> = Vec::new();
            for b in &self.blocks[q.blocks.clone()] {
                for node in &b.nodes {
                    written.extend(node.writes());
                    let refs: Vec<Ref> = node.reads().collect();
                    read.extend(refs.iter().filter_map(|r| r.as_tmp()));
                    read.extend(self.index_reads(refs.into_iter()).filter_map(Ref::as_tmp));
                    if node.op == Op::Call {
                        read.extend(outside.get(node.emit.0 as usize).into_iter().flatten());
                    }
                }
                let refs: Vec<Ref> = b.test.iter().flat_map(|t| t.refs()).collect();
                read.extend(refs.iter().filter_map(|r| r.as_tmp()));
                read.extend(self.index_reads(refs.into_iter()).filter_map(Ref::as_tmp));
            }
            read.sort();
            read.dedup();
            read.retain(|t| !written.contains(t));
            outside[n] = read;
        }
        self.clobbers = (0..self.procedures.len()).map(|n| self.overwritten(n)).collect();
        for n in self.blocks.iter_mut().flat_map(|b| &mut b.nodes).filter(|n| n.op == Op::Call) {
            let Some(q) = self.procedures.get(n.emit.0 as usize) else { continue };
            n.srcs = q.params.iter().chain(&outside[n.emit.0 as usize]).map(|t| Tuple::from_slice(&[Ref::tmp(*t)])).collect();
        }
    }
    /// Parameters that their procedure does not read are not passed.
    pub fn drop_unread_params(&mut self) {
        for _ in 0..4 {
            let mut read = vec![false; self.temps as usize];
            let nodes = self.blocks.iter().flat_map(|b| &b.nodes).filter(|n| n.op != Op::Call).flat_map(|n| n.reads());
            let tests = self.blocks.iter().flat_map(|b| &b.test).flat_map(|t| t.refs());
            for t in nodes.chain(tests).chain(self.indices.iter().copied()).filter_map(Ref::as_tmp) {
                read[t as usize] = true;
            }
            let unread: Vec<Tmp> = self.procedures.iter().flat_map(|q| &q.params).copied().filter(|t| !read[*t as usize]).collect();
            let mut changed = false;
            self.procedures.iter_mut().for_each(|q| q.params.retain(|t| !unread.contains(t)));
            for b in &mut self.blocks {
                for n in b.nodes.iter_mut().filter(|n| n.op == Op::Call) {
                    n.srcs.retain(|s| s.iter().all(|r| r.as_tmp().is_none_or(|t| !unread.contains(&t))));
                }
                let before = b.nodes.len();
                b.nodes.retain(|n| n.op != Op::Mov || !matches!(n.dests[..], [Dest::Tmp(t)] if unread.contains(&t)));
                changed |= before != b.nodes.len();
            }
            if !changed {
                return;
            }
        }
    }
    /// Temporaries that a node changes, which for a call are more than its results.
    pub fn changes<'a>(&'a self, n: &'a Node) -> impl Iterator<Item = Tmp> + 'a {
        let inside = if n.op == Op::Call { self.clobbers.get(n.emit.0 as usize) } else { None };
        n.writes().chain(inside.into_iter().flatten().copied())
    }
    /// How often each temporary is read.
    pub fn use_counts(&self) -> Vec<u32> {
        let mut n = vec![0; self.temps as usize];
        for b in &self.blocks {
            for r in b.nodes.iter().flat_map(Node::reads).chain(b.test.iter().flat_map(|t| t.refs())) {
                if let Leaf::Tmp(t) = r.leaf {
                    n[t as usize] += 1;
                }
                if let Leaf::Uni { index: Some(i), .. } = r.leaf
                    && let Some(t) = self.indices.get(i as usize).and_then(|r| r.as_tmp())
                {
                    n[t as usize] += 1;
                }
            }
        }
        n
    }
    /// Temporaries that something with an effect needs, directly or not.
    fn needed(&self) -> Vec<bool> {
        let mut need = vec![false; self.temps as usize];
        let mut makers = vec![Makers::new(); self.temps as usize];
        let mut work: Vec<Tmp> = Vec::new();
        let want = |refs: &mut dyn Iterator<Item = Ref>, work: &mut Vec<Tmp>| {
            for r in refs {
                work.extend(r.as_tmp());
                if let Leaf::Uni { index: Some(i), .. } = r.leaf {
                    work.extend(self.indices.get(i as usize).and_then(|r| r.as_tmp()));
                }
            }
        };
        for (b, block) in self.blocks.iter().enumerate() {
            for (n, node) in block.nodes.iter().enumerate() {
                node.writes().for_each(|t| makers[t as usize].push((b, n)));
                if node.op == Op::Emit || node.dests.iter().any(|d| matches!(d, Dest::Out(..))) || self.stores(node) {
                    want(&mut node.reads(), &mut work);
                }
            }
            want(&mut block.test.iter().flat_map(|t| t.refs()), &mut work);
        }
        while let Some(t) = work.pop() {
            if std::mem::replace(&mut need[t as usize], true) {
                continue;
            }
            for (b, n) in &makers[t as usize] {
                let node = &self.blocks[*b].nodes[*n];
                if node.elementwise() {
                    // Only the lane that makes it.
                    let lanes = node.dests.iter().enumerate().filter(|(_, d)| **d == Dest::Tmp(t)).map(|(l, _)| l);
                    for l in lanes {
                        want(&mut node.srcs.iter().map(|s| s[l]), &mut work);
                    }
                    want(&mut node.test.iter().flat_map(|x| x.refs()), &mut work);
                } else {
                    want(&mut node.reads(), &mut work);
                }
            }
        }
        need
    }
    /// Whether an operation calls a procedure that writes outputs.
    fn stores(&self, n: &Node) -> bool {
        let called = self.procedures.get(n.emit.0 as usize).filter(|_| n.op == Op::Call);
        called.is_some_and(|q| {
            self.blocks[q.blocks.clone()].iter().flat_map(|b| &b.nodes).any(|n| n.dests.iter().any(|d| matches!(d, Dest::Out(..))))
        })
    }
    /// The same program with the place of each temporary, four components a register, as its number.
    pub fn at_places(&self, places: &[(u8, u8)]) -> Program {
        let place = |t: &mut Tmp| {
            let (register, lane) = places[*t as usize];
            *t = 4 * u32::from(register) + u32::from(lane);
        };
        let scalar = |r: &mut Ref| {
            if let Leaf::Tmp(t) = &mut r.leaf {
                place(t);
            }
        };
        let test = |t: &mut Test| {
            if let Test::Flags(f, _) = t {
                f.iter_mut().for_each(|x| [&mut x.0, &mut x.2].into_iter().for_each(scalar));
            }
        };
        let mut p = self.clone();
        for b in &mut p.blocks {
            for n in &mut b.nodes {
                n.dests.iter_mut().for_each(|d| {
                    if let Dest::Tmp(t) = d {
                        place(t)
                    }
                });
                n.srcs.iter_mut().flatten().for_each(scalar);
                n.test.iter_mut().for_each(test);
            }
            b.test.iter_mut().for_each(test);
            b.keeps.iter_mut().for_each(place);
        }
        p.indices.iter_mut().for_each(scalar);
        p.procedures.iter_mut().flat_map(|q| q.params.iter_mut().chain(&mut q.results)).for_each(place);
        p.clobbers.iter_mut().flatten().for_each(place);
        p
    }
    /// Removes lanes that nobody needs, and operations without lanes.
    pub fn remove_dead(&mut self) {
        let need = self.needed();
        let storing: Vec<bool> = (0..self.procedures.len()).map(|n| self.stores(&Node::call(n))).collect();
        for b in &mut self.blocks {
            for n in &mut b.nodes {
                let dead: Vec<usize> = (0..n.dests.len()).filter(|l| matches!(n.dests[*l], Dest::Tmp(t) if !need[t as usize])).collect();
                for l in dead.into_iter().rev() {
                    n.dests.remove(l);
                    if n.elementwise() {
                        for s in &mut n.srcs {
                            s.remove(l);
                        }
                    }
                }
            }
            b.nodes.retain(|n| !n.dests.is_empty() || n.op == Op::Emit || n.op == Op::Call && storing[n.emit.0 as usize]);
            b.keeps.retain(|t| need[*t as usize]);
        }
        self.procedures.iter_mut().for_each(|q| q.results.retain(|t| need[*t as usize]));
        self.remove_uncalled();
    }
}

impl std::fmt::Display for Ref {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let c = |k: u8| COMPONENTS[k as usize & 3];
        f.write_str(if self.neg { "-" } else { "" })?;
        match self.leaf {
            Leaf::Tmp(t) => write!(f, "t{t}"),
            Leaf::In(v, k) => write!(f, "v{v}.{}", c(k)),
            Leaf::Uni { reg, comp, index: None } => write!(f, "c{reg}.{}", c(comp)),
            Leaf::Uni { reg, comp, index: Some(i) } if i >= LOOP_COUNTER => write!(f, "c{reg}[aL].{}", c(comp)),
            Leaf::Uni { reg, comp, index: Some(i) } => write!(f, "c{reg}[i{i}].{}", c(comp)),
            Leaf::Const(b) => write!(f, "{:?}", f32::from_bits(b)),
        }
    }
}

impl std::fmt::Display for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Test::Bool(b, want) => write!(f, "{}b{b}", if *want { "" } else { "!" }),
            Test::Flags(tests, cond) => {
                let part = |k: usize, want: bool| {
                    let (a, code, b) = tests[k.min(tests.len() - 1)];
                    let name = crate::isa::forms::COMPARISONS[code as usize & 7];
                    format!("{}({a} {name} {b})", if want { "" } else { "!" })
                };
                match cond.op {
                    CondOp::X => write!(f, "{}", part(0, cond.x)),
                    CondOp::Y => write!(f, "{}", part(1, cond.y)),
                    CondOp::And => write!(f, "{} && {}", part(0, cond.x), part(1, cond.y)),
                    CondOp::Or => write!(f, "{} || {}", part(0, cond.x), part(1, cond.y)),
                }
            }
        }
    }
}

impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (n, d) in self.dests.iter().enumerate() {
            f.write_str(if n > 0 { " " } else { "" })?;
            match d {
                Dest::Tmp(t) => write!(f, "t{t}")?,
                Dest::Out(r, c) => write!(f, "o{r}.{}", COMPONENTS[*c as usize & 3])?,
            }
        }
        write!(f, "{}{}", if self.dests.is_empty() { "" } else { " = " }, crate::isa::forms::name(self.op))?;
        for s in &self.srcs {
            let parts: Vec<String> = s.iter().map(ToString::to_string).collect();
            write!(f, " ({})", parts.join(" "))?;
        }
        match &self.test {
            Some(t) => write!(f, " if {t}"),
            None => Ok(()),
        }
    }
}

/// The program as text, for dumps.
impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (n, i) in self.indices.iter().enumerate() {
            writeln!(f, "i{n} = {i}")?;
        }
        for (n, b) in self.blocks.iter().enumerate() {
            let to: Vec<String> = b.succs.iter().map(|s| format!("block{s}")).collect();
            writeln!(f, "block{n}:{}{}", if to.is_empty() { "" } else { " -> " }, to.join(", "))?;
            for x in &b.nodes {
                writeln!(f, "    {x}")?;
            }
            if let Some(t) = &b.test {
                writeln!(f, "    test {t}")?;
            }
        }
        Ok(())
    }
}
