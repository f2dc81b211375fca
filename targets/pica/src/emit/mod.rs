//! From placed operations to words: operands, constants, address registers, comparisons, blocks and jumps.
//!
//! Ifs become IFC/IFU with their parts, unless a loop's exit lies inside; then, and for loops, jumps at block level are
//! used, which leave nothing on the stacks. Facts: ISA sheet sections 10 and 11.

pub mod branches;
pub mod descriptor_spill;
pub mod descriptors;
pub mod jumps;

use crate::isa::forms::Op;
use crate::isa::lint::IF_DEPTH;
use crate::isa::registers::{FLOAT_UNIFORMS, Index, Reg, Src};
use crate::isa::word::{Cond, CondOp, Instr};
use crate::place::Places;
use crate::select::mir::*;
use retroshade_ir::{Block, Span};
use retroshade_lower::structure::{Node as Tree, Structure};
use rustc_hash::FxHashMap;

/// Constant registers: downward from the last float uniform.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    /// Values of each register, `None` where free.
    pub regs: Vec<[Option<u32>; 4]>,
}

impl Constants {
    /// Finds registers for sets of values that one operand needs together, beside and behind those of tables.
    fn allocate(mut sets: Vec<Vec<u32>>, tables: Vec<[Option<u32>; 4]>) -> Constants {
        for s in &mut sets {
            s.sort();
            s.dedup();
        }
        sets.sort_by_key(|s| std::cmp::Reverse(s.len()));
        sets.dedup();
        let mut c = Constants { regs: tables };
        for s in sets {
            let negated: Vec<u32> = s.iter().map(|v| negate(*v)).collect();
            let missing = |r: &[Option<u32>; 4], s: &[u32]| s.iter().filter(|v| !r.contains(&Some(**v))).count();
            let free = |r: &[Option<u32>; 4]| r.iter().filter(|v| v.is_none()).count();
            let best = c
                .regs
                .iter()
                .enumerate()
                .flat_map(|(k, r)| [(k, false, missing(r, &s), free(r)), (k, true, missing(r, &negated), free(r))])
                .filter(|(_, _, m, f)| m <= f)
                .min_by_key(|(k, n, m, _)| (*m, *k, *n));
            let (k, values) = match best {
                Some((k, n, ..)) => (k, if n { negated } else { s }),
                None => {
                    c.regs.push([None; 4]);
                    (c.regs.len() - 1, s)
                }
            };
            for v in values {
                if !c.regs[k].contains(&Some(v))
                    && let Some(slot) = c.regs[k].iter_mut().find(|x| x.is_none())
                {
                    *slot = Some(v);
                }
            }
        }
        c
    }
    /// Register, sign and components of a tuple of values.
    fn find(&self, values: &[u32]) -> Option<(u8, bool, Vec<u8>)> {
        for (k, r) in self.regs.iter().enumerate() {
            for neg in [false, true] {
                let at = |v: &u32| r.iter().position(|x| *x == Some(if neg { negate(*v) } else { *v })).map(|c| c as u8);
                if let Some(comps) = values.iter().map(at).collect::<Option<Vec<u8>>>() {
                    // More constants than registers are refused when the program is complete.
                    return Some((FLOAT_UNIFORMS - 1 - k.min(FLOAT_UNIFORMS as usize - 1) as u8, neg, comps));
                }
            }
        }
        None
    }
}

fn negate(v: u32) -> u32 {
    if v == 0 { 0 } else { v ^ 0x8000_0000 }
}

/// Code in structured form; addresses come last.
#[derive(Clone, Debug)]
pub enum Item {
    /// An instruction.
    I(Instr, Span),
    /// A place that jumps lead to.
    Label(usize),
    /// A jump; the condition stands in the instruction. Where it decides the branch of a block, that block.
    Jump(Instr, usize, Option<Block>),
    /// BREAKC, which decides the branch of a block.
    Break(Instr, Block),
    /// IFC or IFU with its two parts, and the block whose branch it decides.
    If(Instr, Option<Block>, Vec<Item>, Vec<Item>),
    /// LOOP with its body.
    For(Instr, Vec<Item>),
}

/// The emitted program.
#[derive(Clone, Debug, Default)]
pub struct Emitted {
    /// Instructions.
    pub code: Vec<Instr>,
    /// Where each comes from.
    pub spans: Vec<Span>,
    /// Constants.
    pub constants: Constants,
    /// The boolean uniform that must be a constant true.
    pub truth: Option<u8>,
    /// Registers in use.
    pub registers: u32,
    /// Words of the main procedure; called ones follow.
    pub main: u32,
    /// Repeated sequences that became procedures.
    pub sequences: usize,
    /// Words that decide branches: the function, from 0 for the entry, and the block.
    pub branches: Vec<(u32, usize, Block)>,
}

struct Emitter<'a> {
    p: &'a Program,
    places: &'a Places,
    constants: Constants,
    order: FxHashMap<Block, usize>,
    labels: usize,
    /// Blocks of the loop bodies and ifs around calls count, so less is left for each function.
    if_depth: usize,
    /// Enclosing loops: labels of the next round and of the exit, none where LOOP counts.
    loops: Vec<Option<(usize, usize)>>,
    /// Whether the constant boolean is in use.
    truth: bool,
    /// Procedures that do nothing, because their results are where their parameters are.
    idle: Vec<bool>,
    /// Which indices a0.x and a0.y hold.
    held: Held,
}

/// The indices in a0.x and a0.y.
type Held = [Option<u32>; 2];

/// Every tuple of constants that an operand needs.
fn constant_sets(p: &Program) -> Vec<Vec<u32>> {
    let values = |t: &[Ref]| -> Vec<u32> { t.iter().filter_map(|r| if let Leaf::Const(v) = r.leaf { Some(v) } else { None }).collect() };
    let mut sets = Vec::new();
    let mut test = |t: &Option<Test>| {
        if let Some(Test::Flags(f, _)) = t {
            sets.push(values(&f.iter().map(|x| x.0).collect::<Vec<_>>()));
            sets.push(values(&f.iter().map(|x| x.2).collect::<Vec<_>>()));
        }
    };
    for b in &p.blocks {
        b.nodes.iter().for_each(|n| test(&n.test));
        test(&b.test);
    }
    sets.extend(p.blocks.iter().flat_map(|b| &b.nodes).flat_map(|n| &n.srcs).map(|s| values(s)));
    // An index that is a constant goes through MOVA.
    sets.extend(p.indices.iter().map(|r| values(&[*r])));
    sets.retain(|s| !s.is_empty());
    sets
}

/// Emits a placed program: the entry, then the functions that stay procedures, then, with `outlined`, sequences that stand in
/// several places.
pub fn emit(p: &Program, places: &Places, structures: &[Structure], outlined: bool) -> Result<Emitted, String> {
    let mut e = Emitter {
        p,
        places,
        constants: Constants::allocate(constant_sets(p), p.tables.clone()),
        order: FxHashMap::default(),
        labels: 0,
        if_depth: IF_DEPTH / p.nesting.max(1),
        loops: Vec::new(),
        truth: false,
        idle: vec![false; p.procedures.len()],
        held: Held::default(),
    };
    let mut lists = vec![Vec::new(); structures.len()];
    let called = p.called();
    // Callees first: a call of nothing is none.
    for (n, s) in structures.iter().enumerate().rev().filter(|(n, _)| *n == 0 || called[*n - 1]) {
        let base = n.checked_sub(1).map_or(0, |n| p.procedures[n].blocks.start);
        e.order = s.blocks().iter().enumerate().map(|(n, b)| (*b, base + n)).collect();
        e.held = Held::default();
        let mut items = e.list(&s.nodes, 0)?;
        if n == 0 {
            items.push(Item::I(Instr::new(Op::End), Span::NONE));
        } else if size(&items) == 0 {
            e.idle[n - 1] = true;
            items.clear();
        }
        lists[n] = items;
    }
    if let Some(b) = p.truth.filter(|_| e.truth) {
        lists.iter_mut().for_each(|l| jumps::thread(l, b));
    }
    let mut out = Emitted::default();
    let mut jumps = Vec::new();
    let sequences = if outlined { outline(&mut lists) } else { Vec::new() };
    e.truth |= lists.iter_mut().fold(false, |any, l| jumps::instead(l, p.truth, &mut e.labels) | any);
    let mut labels = vec![0; e.labels];
    // Start and length of the functions, then of the sequences.
    let mut starts = Vec::new();
    for (n, mut items) in lists.into_iter().enumerate() {
        let start = out.code.len();
        // Where a function ends neither a branch nor a call may stand, be it one of a sequence.
        if n > 0 && !items.is_empty() && !ends_plain(&items) {
            items.push(Item::I(Instr::new(Op::Nop), Span::NONE));
        }
        flatten(items, n, &mut out, &mut labels, &mut jumps)?;
        starts.push((start, out.code.len() - start));
        if n == 0 {
            out.main = out.code.len() as u32;
        }
    }
    for (at, label) in jumps {
        out.code[at].target = labels[label] as u16;
    }
    out.sequences = sequences.len();
    for body in sequences {
        starts.push((out.code.len(), body.len()));
        for (i, span) in body {
            out.code.push(i);
            out.spans.push(span);
        }
    }
    for i in out.code.iter_mut().filter(|i| i.op == Op::Call) {
        // Until here the target is the number of what is called; functions count from 1, sequences behind them.
        let (start, len) = starts.get(i.target as usize).copied().ok_or("a call of nothing")?;
        (i.target, i.num) = (start as u16, u8::try_from(len).map_err(|_| "a procedure is too long".to_string())?);
    }
    out.registers = used_registers(&out.code);
    out.constants = e.constants;
    out.truth = p.truth.filter(|_| e.truth);
    Ok(out)
}

/// Temporaries up to the highest that is written.
pub fn used_registers(code: &[Instr]) -> u32 {
    code.iter()
        .filter_map(|i| if let (true, Reg::R(n)) = (i.writes_register(), i.dst) { Some(n as u32 + 1) } else { None })
        .max()
        .unwrap_or(0)
}

/// Whether a block may end behind this list without a NOP.
fn ends_plain(items: &[Item]) -> bool {
    matches!(items.last(), Some(Item::I(i, _)) if !matches!(i.op, Op::Call | Op::Callc | Op::Callu | Op::Jmpc | Op::Jmpu | Op::Break | Op::Breakc))
}

fn size(items: &[Item]) -> usize {
    items
        .iter()
        .map(|i| match i {
            Item::I(..) | Item::Jump(..) | Item::Break(..) => 1,
            Item::Label(_) => 0,
            Item::If(_, _, a, b) => 1 + size(a) + size(b),
            Item::For(_, a) => 1 + size(a),
        })
        .sum()
}

fn flatten(
    items: Vec<Item>,
    function: usize,
    out: &mut Emitted,
    labels: &mut [usize],
    jumps: &mut Vec<(usize, usize)>,
) -> Result<(), String> {
    for i in items {
        let at = out.code.len();
        let mut flow = |i: Instr, decides: Option<Block>| {
            out.code.push(i);
            out.spans.push(Span::NONE);
            out.branches.extend(decides.map(|b| (at as u32, function, b)));
        };
        match i {
            Item::I(i, span) => {
                if i.op == Op::Mova && out.code.last().is_some_and(|l| l.op == Op::Mova) {
                    out.code.push(Instr::new(Op::Nop));
                    out.spans.push(span);
                }
                out.code.push(i);
                out.spans.push(span);
            }
            Item::Label(l) => labels[l] = at,
            Item::Jump(i, l, decides) => {
                jumps.push((at, l));
                flow(i, decides);
            }
            Item::Break(i, block) => flow(i, Some(block)),
            Item::For(i, body) => {
                flow(i, None);
                flatten(body, function, out, labels, jumps)?;
                out.code[at].target = (out.code.len() - 1) as u16;
            }
            Item::If(i, decides, then, other) => {
                flow(i, decides);
                flatten(then, function, out, labels, jumps)?;
                let else_at = out.code.len();
                flatten(other, function, out, labels, jumps)?;
                out.code[at].target = else_at as u16;
                out.code[at].num = u8::try_from(out.code.len() - else_at).map_err(|_| "an else part is too long".to_string())?;
            }
        }
    }
    Ok(())
}

/// Straight runs of instructions, as paths: the list is found again by walking the same way.
fn runs<'a>(items: &'a [Item], out: &mut Vec<Vec<&'a Instr>>) {
    let mut run = Vec::new();
    for i in items {
        match i {
            Item::I(x, _) if x.has_descriptor() => run.push(x),
            _ => out.push(std::mem::take(&mut run)),
        }
        if let Item::If(_, _, a, b) = i {
            runs(a, out);
            runs(b, out);
        }
        if let Item::For(_, a) = i {
            runs(a, out);
        }
    }
    out.push(run);
}

/// Replaces every occurrence of a sequence by a call.
fn replace(items: &mut Vec<Item>, body: &[Instr], call: Instr) -> usize {
    let (mut n, mut k, mut kept) = (0, 0, 0);
    while k < items.len() {
        if let Item::If(_, _, a, b) = &mut items[k] {
            for part in [a, b] {
                n += replace(part, body, call);
                if !part.is_empty() && !ends_plain(part) {
                    part.push(Item::I(Instr::new(Op::Nop), Span::NONE));
                }
            }
        }
        if let Item::For(_, part) = &mut items[k] {
            n += replace(part, body, call);
            if !ends_plain(part) {
                part.push(Item::I(Instr::new(Op::Nop), Span::NONE));
            }
        }
        let here = items.len() - k >= body.len() && items[k..].iter().zip(body).all(|(i, b)| matches!(i, Item::I(x, _) if x == b));
        if here {
            let span = if let Item::I(_, s) = &items[k] { *s } else { Span::NONE };
            items[k] = Item::I(call, span);
            n += 1;
        }
        items.swap(kept, k);
        kept += 1;
        k += if here { body.len() } else { 1 };
    }
    items.truncate(kept);
    n
}

/// Longest sequence that becomes a procedure.
const PROCEDURE: usize = 32;

/// Sequences of at least three instructions that stand in several places, and how often (without overlap within a run).
fn repeated(runs: &[Vec<&Instr>]) -> Vec<(Vec<Instr>, usize)> {
    // One run behind the other; no sequence goes beyond the end of one.
    let all: Vec<Option<&Instr>> = runs.iter().flat_map(|r| r.iter().copied().map(Some).chain([None])).collect();
    let mut numbers: FxHashMap<&Instr, u32> = FxHashMap::with_capacity_and_hasher(all.len(), Default::default());
    let mut number = |i| {
        let next = numbers.len() as u32;
        *numbers.entry(i).or_insert(next)
    };
    let code: Vec<Option<u32>> = all.iter().map(|i| i.map(&mut number)).collect();
    // Starts of sequences that may still repeat, and which of them begin alike: a repeated sequence's beginning repeats, too.
    let mut starts: Vec<(u32, u32)> = (0..code.len() as u32).map(|n| (0, n)).collect();
    let mut out = Vec::new();
    for len in 1..=PROCEDURE {
        let longer = |(alike, n): (u32, u32)| Some((alike, code[n as usize + len - 1]?, n));
        let mut found: Vec<(u32, u32, u32)> = starts.drain(..).filter_map(longer).collect();
        found.sort_unstable();
        for (number, at) in found.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|at| at.len() > 1).enumerate() {
            starts.extend(at.iter().map(|(.., n)| (number as u32, *n)));
            if len < 3 {
                continue;
            }
            let (mut count, mut end) = (0, 0);
            for n in at.iter().map(|(.., n)| *n as usize) {
                if n >= end {
                    count += 1;
                    end = n + len;
                }
            }
            if count > 1 {
                out.push(((at[0].2 as usize, len), count));
            }
        }
    }
    // In the order of the code, short ones first.
    out.sort_unstable();
    out.into_iter().map(|((n, len), count)| (all[n..n + len].iter().flatten().map(|i| **i).collect(), count)).collect()
}

/// Sequences that stand in several places become procedures where that is shorter: a call is one word, a return none.
fn outline(lists: &mut Vec<Vec<Item>>) -> Vec<Vec<(Instr, Span)>> {
    let first = lists.len();
    let mut procedures: Vec<Vec<(Instr, Span)>> = Vec::new();
    loop {
        let size_of = |lists: &[Vec<Item>]| lists.iter().map(|l| size(l)).sum::<usize>();
        let before = size_of(lists);
        let mut all = Vec::new();
        lists.iter().for_each(|l| runs(l, &mut all));
        let counts = repeated(&all);
        let gain = |len: usize, n: usize| (len * n) as i64 - (len + n) as i64;
        let mut best: Vec<(i64, Vec<Instr>)> = counts.into_iter().map(|(s, n)| (gain(s.len(), n), s)).filter(|(g, _)| *g > 0).collect();
        best.sort_by_key(|(g, s)| (std::cmp::Reverse(*g), s.len()));
        let mut done = true;
        // A MOVA at the end could meet another behind the call, and what is flat gets no NOP.
        let mova = |s: &[Instr]| s.last().is_some_and(|i| i.op == Op::Mova) || s.windows(2).any(|w| w.iter().all(|i| i.op == Op::Mova));
        best.retain(|(_, s)| !mova(s));
        for (_, body) in best.into_iter().take(8) {
            let mut trial = lists.clone();
            // The number of the procedure stands in the target until addresses are known.
            let call = Instr { target: (first + procedures.len()) as u16, ..Instr::new(Op::Call) };
            let n: usize = trial.iter_mut().map(|l| replace(l, &body, call)).sum();
            if n > 1 && size_of(&trial) + body.len() < before {
                *lists = trial;
                procedures.push(body.iter().map(|i| (*i, Span::NONE)).collect());
                done = false;
                break;
            }
        }
        if done || procedures.len() >= 16 {
            return procedures;
        }
    }
}

/// A comparison and a condition on it that always holds: a number equals itself or does not, whatever it is.
fn holds(out: &mut Vec<Item>) -> Cond {
    let mut cmp = Instr::new(Op::Cmp);
    cmp.src = [Src::new(Reg::R(0)).swizzled([0; 4]); 3];
    cmp.cmp = [0, 1];
    out.push(Item::I(cmp, Span::NONE));
    Cond { op: CondOp::Or, x: true, y: true }
}

/// Whether the nodes leave the loop around them.
fn leaves(nodes: &[Tree]) -> bool {
    nodes.iter().any(|n| match n {
        Tree::Break | Tree::Continue => true,
        Tree::If { then, other, .. } => leaves(then) || leaves(other),
        _ => false,
    })
}

impl Emitter<'_> {
    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels - 1
    }

    fn list(&mut self, nodes: &[Tree], depth: usize) -> Result<Vec<Item>, String> {
        let mut out = Vec::new();
        for n in nodes {
            match n {
                Tree::Block(b) => self.block(*self.order.get(b).ok_or("a block is missing")?, &mut out)?,
                Tree::If { from, then, other, .. } => self.branch(*from, then, other, depth, &mut out)?,
                Tree::Loop { header, body } => match self.count(*header) {
                    Some(c) => self.counted(c, body, depth, &mut out)?,
                    None => self.looped(body, &mut out)?,
                },
                // In a counted loop the ifs around a break are jumps: it stands at the loop's own level. Emulators pass over BREAK, which no published
                // program has, and all know BREAKC.
                Tree::Break => match self.loops.last().ok_or("a break outside a loop")? {
                    Some((_, exit)) => self.always(*exit, &mut out),
                    None => {
                        let cond = holds(&mut out);
                        out.push(Item::I(Instr { cond, ..Instr::new(Op::Breakc) }, Span::NONE));
                    }
                },
                Tree::Continue => {
                    let (next, _) = self.loops.last().copied().flatten().ok_or("a continue outside a loop")?;
                    self.always(next, &mut out);
                }
            }
        }
        Ok(out)
    }

    /// The loop's counter, if it has one.
    fn count(&self, header: Block) -> Option<Count> {
        self.p.counts.get(self.order.get(&header)?).copied()
    }

    /// Whether a loop without counter lies inside: those jump back at block level.
    fn jumps_back(&self, nodes: &[Tree]) -> bool {
        nodes.iter().any(|n| match n {
            Tree::Loop { header, body } => self.count(*header).is_none() || self.jumps_back(body),
            Tree::If { then, other, .. } => self.jumps_back(then) || self.jumps_back(other),
            _ => false,
        })
    }

    /// A jump that is always taken: by a constant boolean, or by a comparison.
    fn always(&mut self, label: usize, out: &mut Vec<Item>) {
        if let Some(b) = self.p.truth {
            self.truth = true;
            return out.push(Item::Jump(Instr { uniform: b, ..Instr::new(Op::Jmpu) }, label, None));
        }
        let cond = holds(out);
        out.push(Item::Jump(Instr { cond, ..Instr::new(Op::Jmpc) }, label, None));
    }

    /// Jumps to a label where the test holds, which may be that of a block's branch.
    fn jump_if(&mut self, test: &Test, label: usize, decides: Option<Block>, out: &mut Vec<Item>) -> Result<(), String> {
        let jump = match test {
            Test::Bool(b, want) => Instr { uniform: *b, num: !want as u8, ..Instr::new(Op::Jmpu) },
            Test::Flags(_, cond) => {
                out.push(self.compare(test)?);
                Instr { cond: *cond, ..Instr::new(Op::Jmpc) }
            }
        };
        out.push(Item::Jump(jump, label, decides));
        Ok(())
    }

    /// The test of the branch that ends a block.
    fn test(&self, block: Block) -> Result<Test, String> {
        let n = *self.order.get(&block).ok_or("a block is missing")?;
        self.p.blocks[n].test.clone().ok_or_else(|| "a branch without test".to_string())
    }

    fn compare(&self, test: &Test) -> Result<Item, String> {
        let Test::Flags(f, _) = test else { return Err("a boolean is compared".to_string()) };
        let second = f.get(1).unwrap_or(&f[0]);
        let mut i = Instr::new(Op::Cmp);
        i.cmp = [f[0].1, second.1];
        i.src[0] = self.operand(&[(0, f[0].0), (1, second.0)])?;
        i.src[1] = self.operand(&[(0, f[0].2), (1, second.2)])?;
        Ok(Item::I(i, Span::NONE))
    }

    fn branch(&mut self, from: Block, then: &[Tree], other: &[Tree], depth: usize, out: &mut Vec<Item>) -> Result<(), String> {
        let mut test = self.test(from)?;
        if let (Some(Some((_, exit))), [Tree::Break], []) = (self.loops.last(), then, other) {
            return self.jump_if(&test, *exit, Some(from), out);
        }
        if let (Some(Some((_, exit))), [], [Tree::Break]) = (self.loops.last(), then, other) {
            return self.jump_if(&test.not(), *exit, Some(from), out);
        }
        if self.loops.last() == Some(&None) && (leaves(then) || leaves(other)) && self.break_if(from, then, other, depth, out)? {
            return Ok(());
        }
        let jumps = leaves(then) || leaves(other) || depth >= self.if_depth || self.jumps_back(then) || self.jumps_back(other);
        let before = self.held;
        let mut a = self.list(then, depth + 1)?;
        let behind = std::mem::replace(&mut self.held, before);
        let mut b = self.list(other, depth + 1)?;
        // Behind both parts: what either leaves.
        self.held = std::array::from_fn(|k| self.held[k].filter(|h| behind[k] == Some(*h)));
        if size(&a) == 0 && size(&b) == 0 {
            // Labels of inner loops may remain.
            out.append(&mut a);
            out.append(&mut b);
            return Ok(());
        }
        // IFU tests for true only, and the else part is the one that may be missing and must be short.
        let swap = size(&a) == 0 || matches!(test, Test::Bool(_, false)) && size(&b) > 0 || size(&b) > 250 && size(&a) <= 250;
        if swap {
            std::mem::swap(&mut a, &mut b);
            test = test.not();
        }
        if jumps || size(&b) > 250 || matches!(test, Test::Bool(_, false)) {
            let (second, end) = (self.label(), self.label());
            self.jump_if(&test.not(), second, Some(from), out)?;
            out.append(&mut a);
            if size(&b) > 0 {
                self.always(end, out);
            }
            out.push(Item::Label(second));
            out.append(&mut b);
            out.push(Item::Label(end));
            return Ok(());
        }
        let nop = || Item::I(Instr::new(Op::Nop), Span::NONE);
        if !ends_plain(&a) {
            a.push(nop());
        }
        if size(&b) > 0 && !ends_plain(&b) {
            b.push(nop());
        }
        let flow = match &test {
            Test::Bool(n, _) => Instr { uniform: *n, ..Instr::new(Op::Ifu) },
            Test::Flags(_, cond) => {
                out.push(self.compare(&test)?);
                Instr { cond: *cond, ..Instr::new(Op::Ifc) }
            }
        };
        out.push(Item::If(flow, Some(from), a, b));
        Ok(())
    }

    /// Leaves a counted loop where the test holds, if nothing on the way out needs more than the flags, which last while
    /// values are passed on; says whether it did.
    fn break_if(&mut self, from: Block, then: &[Tree], other: &[Tree], depth: usize, out: &mut Vec<Item>) -> Result<bool, String> {
        let (arm, leave) = match (then, other) {
            (arm, []) => (arm, self.test(from)?),
            ([], arm) => (arm, self.test(from)?.not()),
            _ => return Ok(false),
        };
        let (Test::Flags(_, cond), Some((Tree::Break, blocks))) = (&leave, arm.split_last()) else { return Ok(false) };
        if !blocks.iter().all(|b| matches!(b, Tree::Block(_))) {
            return Ok(false);
        }
        let before = self.held;
        let mut items = self.list(blocks, depth)?;
        self.held = before;
        if items.iter().any(|i| !matches!(i, Item::I(i, _) if !matches!(i.op, Op::Cmp | Op::Litp | Op::Call))) {
            return Ok(false);
        }
        out.push(self.compare(&leave)?);
        let leaves = Instr { cond: *cond, ..Instr::new(Op::Breakc) };
        if items.is_empty() {
            out.push(Item::Break(leaves, from));
            return Ok(true);
        }
        // Where the jump goes, the flags show the way to BREAKC as well.
        let skip = self.label();
        out.push(Item::Jump(Instr { cond: cond.not(), ..Instr::new(Op::Jmpc) }, skip, Some(from)));
        out.append(&mut items);
        out.extend([Item::Label(skip), Item::I(leaves, Span::NONE)]);
        Ok(true)
    }

    /// LOOP: the number of rounds stands in an integer constant, and nothing is compared.
    fn counted(&mut self, c: Count, body: &[Tree], depth: usize, out: &mut Vec<Item>) -> Result<(), String> {
        self.loops.push(None);
        self.held = Held::default();
        let mut items = self.list(body, depth + usize::from(c.guard.is_some()))?;
        self.held = Held::default();
        self.loops.pop();
        if size(&items) == 0 {
            return Ok(());
        }
        if !ends_plain(&items) {
            items.push(Item::I(Instr::new(Op::Nop), Span::NONE));
        }
        let flow = Item::For(Instr { uniform: c.register, ..Instr::new(Op::For) }, items);
        match c.guard {
            Some(b) => {
                let nop = Item::I(Instr::new(Op::Nop), Span::NONE);
                out.push(Item::If(Instr { uniform: b, ..Instr::new(Op::Ifu) }, None, vec![flow, nop], Vec::new()));
            }
            None => out.push(flow),
        }
        Ok(())
    }

    fn looped(&mut self, body: &[Tree], out: &mut Vec<Item>) -> Result<(), String> {
        let (start, exit) = (self.label(), self.label());
        self.loops.push(Some((start, exit)));
        self.held = Held::default();
        out.push(Item::Label(start));
        // A test at the very end jumps back itself.
        let bottom = match body.split_last() {
            Some((Tree::If { from, then, other, .. }, rest))
                if matches!((&then[..], &other[..]), ([Tree::Break], []) | ([], [Tree::Break])) =>
            {
                Some((*from, then.is_empty(), rest))
            }
            _ => None,
        };
        match bottom {
            Some((from, stays, rest)) => {
                let mut items = self.list(rest, 0)?;
                out.append(&mut items);
                let again = if stays { self.test(from)? } else { self.test(from)?.not() };
                self.jump_if(&again, start, Some(from), out)?;
            }
            None => {
                let mut items = self.list(body, 0)?;
                out.append(&mut items);
                self.always(start, out);
            }
        }
        out.push(Item::Label(exit));
        self.held = Held::default();
        self.loops.pop();
        Ok(())
    }

    /// Register, index, sign and component of a scalar.
    fn scalar(&self, r: Ref) -> (Reg, Index, u8) {
        match r.leaf {
            Leaf::Tmp(t) => (Reg::R(self.places[t as usize].0), Index::None, self.places[t as usize].1),
            Leaf::In(v, c) => (Reg::V(v), Index::None, c),
            Leaf::Uni { reg, comp, .. } => (Reg::C(reg), Index::None, comp),
            Leaf::Const(_) => (Reg::C(0), Index::None, 0),
        }
    }

    /// An operand from (result component, scalar) pairs.
    fn operand(&self, lanes: &[(u8, Ref)]) -> Result<Src, String> {
        let mut swz = [u8::MAX; 4];
        let first = lanes.first().ok_or("an empty operand")?.1;
        let mut s = Src::new(Reg::R(0));
        if let Leaf::Const(_) = first.leaf {
            let values: Option<Vec<u32>> = lanes.iter().map(|(_, r)| if let Leaf::Const(v) = r.leaf { Some(v) } else { None }).collect();
            let (reg, neg, comps) = values.and_then(|v| self.constants.find(&v)).ok_or("a constant was not allocated")?;
            s.reg = Reg::C(reg);
            s.neg = neg;
            for ((l, _), c) in lanes.iter().zip(comps) {
                swz[*l as usize] = c;
            }
        } else {
            let (reg, _, _) = self.scalar(first);
            s.reg = reg;
            s.neg = first.neg;
            for (l, r) in lanes {
                let (other, _, c) = self.scalar(*r);
                if other != reg || r.neg != first.neg {
                    return Err("an operand names two registers".to_string());
                }
                swz[*l as usize] = c;
            }
        }
        // Components that do not matter repeat their left neighbour, so that texts are short.
        let start = swz.iter().copied().find(|c| *c < 4).unwrap_or(0);
        let mut last = start;
        for c in &mut swz {
            if *c > 3 { *c = last } else { last = *c }
        }
        Ok(Src { swz, ..s })
    }

    /// The instruction of a placed operation; `None` if nothing moves.
    fn instruction(&self, n: &Node) -> Result<Option<Instr>, String> {
        let place = |d: &Dest| match d {
            Dest::Tmp(t) => (Reg::R(self.places[*t as usize].0), self.places[*t as usize].1),
            Dest::Out(r, c) => (Reg::O(*r), *c),
        };
        let mut lanes: Vec<usize> = (0..n.dests.len()).collect();
        if n.op == Op::Mov {
            // Lanes that stay where they are.
            lanes.retain(|l| {
                let r = n.srcs[0][*l];
                let stays = !r.neg && matches!(r.leaf, Leaf::Tmp(t) if place(&n.dests[*l]) == (Reg::R(self.places[t as usize].0), self.places[t as usize].1));
                !stays
            });
        }
        let Some(first) = lanes.first() else { return Ok(None) };
        let dst = place(&n.dests[*first]).0;
        let mut i = Instr { dst, ..Instr::new(n.op) };
        for l in &lanes {
            let (reg, c) = place(&n.dests[*l]);
            if reg != dst {
                return Err("results go to two registers".to_string());
            }
            i.mask |= 1 << c;
        }
        for (k, s) in n.srcs.iter().enumerate() {
            let pairs: Vec<(u8, Ref)> = if n.elementwise() {
                lanes.iter().map(|l| (place(&n.dests[*l]).1, s[*l])).collect()
            } else {
                s.iter().enumerate().map(|(l, r)| (l as u8, *r)).collect()
            };
            i.src[k] = self.operand(&pairs)?;
        }
        Ok(Some(i))
    }

    fn block(&mut self, b: usize, out: &mut Vec<Item>) -> Result<(), String> {
        let block = &self.p.blocks[b];
        let mut held = self.held;
        let mut k = 0;
        while k < block.nodes.len() {
            let n = &block.nodes[k];
            if n.op == Op::Call {
                if self.idle.get(n.emit.0 as usize) == Some(&true) {
                    k += 1;
                    continue;
                }
                out.push(Item::I(Instr { target: 1 + u16::from(n.emit.0), ..Instr::new(Op::Call) }, n.span));
                held = Held::default();
                k += 1;
                continue;
            }
            if n.op == Op::Emit {
                k = self.vertex(&block.nodes, k, out)?;
                continue;
            }
            if let Some(test) = &n.test {
                // All moves under one test share the comparison and the jump.
                let mut end = k;
                let mut moves = Vec::new();
                let first = k;
                while end < block.nodes.len() && block.nodes[end].test.as_ref() == Some(test) {
                    if index_of(&block.nodes[end]).is_some_and(|i| !held.contains(&Some(i))) && end > k {
                        break;
                    }
                    self.load_index(b, end, index_of(&block.nodes[end]), &mut held, out)?;
                    if let Some(i) = self.indexed(&block.nodes[end], &held)? {
                        moves.push(Item::I(i, block.nodes[end].span));
                    }
                    end += 1;
                }
                if !moves.is_empty() {
                    let skip = self.label();
                    self.jump_if(&test.not(), skip, None, out)?;
                    out.append(&mut moves);
                    out.push(Item::Label(skip));
                }
                k = end;
                block.nodes[first..end].iter().for_each(|n| self.outdated(n, &mut held));
                continue;
            }
            self.load_index(b, k, index_of(n), &mut held, out)?;
            if let Some(i) = self.indexed(n, &held)? {
                out.push(Item::I(i, n.span));
            }
            self.outdated(n, &mut held);
            k += 1;
        }
        self.held = held;
        Ok(())
    }

    /// Forgets indices whose value an operation changes.
    fn outdated(&self, n: &Node, held: &mut Held) {
        for h in held.iter_mut() {
            let of = h.and_then(|i| self.p.indices[i as usize].as_tmp());
            if of.is_some_and(|t| n.writes().any(|w| w == t)) {
                *h = None;
            }
        }
    }

    /// A vertex: its slot, chosen among several where the place in the strip is not known, then EMIT. Gives the next operation.
    fn vertex(&mut self, nodes: &[Node], at: usize, out: &mut Vec<Item>) -> Result<usize, String> {
        let mut k = at;
        let mut compared: Option<&Test> = None;
        while let Some(n) = nodes.get(k).filter(|n| n.op == Op::Emit) {
            k += 1;
            let slot = Item::I(Instr { emit: n.emit, ..Instr::new(Op::Setemit) }, n.span);
            let Some(test @ Test::Flags(flags, cond)) = &n.test else {
                out.push(slot);
                break;
            };
            if !matches!(compared, Some(Test::Flags(f, _)) if f == flags) {
                out.push(self.compare(test)?);
                compared = Some(test);
            }
            let skip = self.label();
            out.push(Item::Jump(Instr { cond: cond.not(), ..Instr::new(Op::Jmpc) }, skip, None));
            out.extend([slot, Item::Label(skip)]);
        }
        out.push(Item::I(Instr::new(Op::Emit), nodes[at].span));
        Ok(k)
    }

    fn indexed(&self, n: &Node, held: &Held) -> Result<Option<Instr>, String> {
        let Some(mut i) = self.instruction(n)? else { return Ok(None) };
        for (k, s) in n.srcs.iter().enumerate() {
            if let Some(Leaf::Uni { index: Some(x), .. }) = s.first().map(|r| r.leaf) {
                if x >= LOOP_COUNTER {
                    i.src[k].index = Index::AL;
                    continue;
                }
                let at = held.iter().position(|h| *h == Some(x)).ok_or("an index was not loaded")?;
                i.src[k].index = [Index::A0x, Index::A0y][at];
            }
        }
        Ok(Some(i))
    }

    /// Loads an index into an address register, with the next one beside it where one MOVA can do both.
    fn load_index(&self, b: usize, at: usize, want: Option<u32>, held: &mut Held, out: &mut Vec<Item>) -> Result<(), String> {
        let Some(want) = want else { return Ok(()) };
        if held.contains(&Some(want)) {
            return Ok(());
        }
        let block = &self.p.blocks[b];
        let later: Vec<u32> = block.nodes[at..].iter().filter_map(index_of).collect();
        let source = self.p.indices[want as usize];
        // Another index that is needed later, already computed, and in the same register.
        let partner = later.iter().copied().find(|i| {
            let r = self.p.indices[*i as usize];
            let ready = r.as_tmp().is_none_or(|t| !block.nodes[at..].iter().any(|n| n.writes().any(|w| w == t)));
            *i != want && r.neg == source.neg && ready && same_register(self, r, source)
        });
        let pairs: Vec<(u8, Ref)> = match partner {
            Some(j) => {
                *held = [Some(want), Some(j)];
                vec![(0, source), (1, self.p.indices[j as usize])]
            }
            None => {
                let next = |i: Option<u32>| i.and_then(|i| later.iter().position(|l| *l == i)).unwrap_or(usize::MAX);
                let slot = usize::from(held[0].is_some() && next(held[1]) > next(held[0]));
                held[slot] = Some(want);
                vec![(slot as u8, source)]
            }
        };
        let mut i = Instr::new(Op::Mova);
        i.mask = pairs.iter().fold(0, |m, (l, _)| m | 1 << l);
        i.src[0] = self.operand(&pairs)?;
        out.push(Item::I(i, block.nodes[at].span));
        Ok(())
    }
}

/// The index that an operation needs in an address register.
fn index_of(n: &Node) -> Option<u32> {
    n.srcs.iter().flatten().find_map(|r| match r.leaf {
        Leaf::Uni { index, .. } => index.filter(|i| *i < LOOP_COUNTER),
        _ => None,
    })
}

fn same_register(e: &Emitter<'_>, a: Ref, b: Ref) -> bool {
    match (a.leaf, b.leaf) {
        (Leaf::Tmp(_), Leaf::Tmp(_)) | (Leaf::In(..), Leaf::In(..)) | (Leaf::Uni { .. }, Leaf::Uni { .. }) => {
            e.scalar(a).0 == e.scalar(b).0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
