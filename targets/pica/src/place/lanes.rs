//! Packing: scalars of one origin become lanes of one instruction, products join their sums, results go straight to outputs.
//!
//! Then a local search merges independent instructions of one kind where the whole program gets shorter by it; every trial
//! runs the later stages (`select::operands`, `place::coalesce`), so its gain is real.

use crate::isa::forms::Op;
use crate::place::{Places, alike, dots, rows, signs, vertices};
use crate::select::mir::*;
use retroshade_lower::structure::Structure;
use smallvec::{SmallVec, smallvec};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Changes a node so that it computes the negated result; false if it cannot.
pub fn push_negation(n: &mut Node) -> bool {
    let negate = |t: &mut Tuple| t.iter_mut().for_each(|r| *r = r.negated());
    match n.op {
        Op::Mov => negate(&mut n.srcs[0]),
        Op::Mul | Op::Dp3 | Op::Dp4 => negate(&mut n.srcs[0]),
        // The implied 1 of dph has no sign: the other factor carries it.
        Op::Dph => return false,
        Op::Add => n.srcs.iter_mut().for_each(negate),
        Op::Mad => {
            negate(&mut n.srcs[0]);
            negate(&mut n.srcs[2]);
        }
        Op::Max | Op::Min => {
            n.srcs.iter_mut().for_each(negate);
            n.op = if n.op == Op::Max { Op::Min } else { Op::Max };
        }
        _ => return false,
    }
    true
}

/// Definitions of each temporary: (block, node).
pub fn definitions(p: &Program) -> Vec<Makers> {
    let mut defs = vec![Makers::new(); p.temps as usize];
    for (b, block) in p.blocks.iter().enumerate() {
        for (n, node) in block.nodes.iter().enumerate() {
            for t in node.writes() {
                defs[t as usize].push((b, n));
            }
        }
    }
    defs
}

/// `add(mul(a, b), c)` with a product that nobody else reads becomes `mad(a, b, c)`: the machine rounds the product.
fn fuse_products(p: &mut Program) {
    let uses = p.use_counts();
    let defs = definitions(p);
    for b in 0..p.blocks.len() {
        for n in 0..p.blocks[b].nodes.len() {
            let node = &p.blocks[b].nodes[n];
            if node.op != Op::Add || node.dests.len() != 1 || node.test.is_some() {
                continue;
            }
            for side in 0..2 {
                let factor = node.srcs[side][0];
                let addend = node.srcs[1 - side][0];
                let Some(t) = factor.as_tmp() else { continue };
                let [(db, dn)] = defs[t as usize][..] else { continue };
                let product = &p.blocks[db].nodes[dn];
                if db != b || uses[t as usize] != 1 || product.op != Op::Mul || product.test.is_some() {
                    continue;
                }
                let (mut x, y) = (product.srcs[0][0], product.srcs[1][0]);
                if factor.neg {
                    x = x.negated();
                }
                // Two uniform factors cost a copy with or without the sum, a uniform factor and another summand only with it.
                let is_uniform = |r: &Ref| matches!(r.leaf, Leaf::Uni { .. } | Leaf::Const(_));
                let uniforms = usize::from(is_uniform(&x) || is_uniform(&y)) + usize::from(is_uniform(&addend));
                let mut inputs: Vec<u8> =
                    [x, y, addend].iter().filter_map(|r| if let Leaf::In(v, _) = r.leaf { Some(v) } else { None }).collect();
                inputs.sort();
                inputs.dedup();
                let copied = uniforms > 1 || inputs.len() > 1;
                if copied && !p.copies {
                    continue;
                }
                // Operands that the block redefines in between (block parameters never are: copies come last).
                let span = node.span;
                let (dests, bundle) = (node.dests.clone(), node.bundle);
                let mut mad = Node::new(Op::Mad, &dests, &[&[x], &[y], &[addend]], span);
                mad.bundle = bundle;
                p.blocks[b].nodes[n] = mad;
                p.fired.note(if copied { "lanes.copied" } else { "lanes.mad" });
                p.blocks[db].nodes[dn].dests.clear();
                p.blocks[db].nodes[dn].srcs.clear();
                p.blocks[db].nodes[dn].op = Op::Nop;
                break;
            }
        }
    }
    for b in &mut p.blocks {
        b.nodes.retain(|n| n.op != Op::Nop);
    }
}

/// Takes `mad`s apart again: a product, then a sum.
pub fn part_products(p: &mut Program, which: &dyn Fn(&Node) -> bool) {
    for b in 0..p.blocks.len() {
        let mut out: Vec<Node> = Vec::new();
        for n in std::mem::take(&mut p.blocks[b].nodes) {
            if n.op != Op::Mad || n.test.is_some() || !which(&n) {
                out.push(n);
                continue;
            }
            let products: SmallVec<[Tmp; 4]> = n.dests.iter().map(|_| p.temp(n.span)).collect();
            let dests = products.iter().map(|t| Dest::Tmp(*t)).collect();
            let sum: Tuple = products.iter().map(|t| Ref::tmp(*t)).collect();
            out.push(Node { op: Op::Mul, dests, srcs: n.srcs[..2].iter().cloned().collect(), ..n.clone() });
            out.push(Node { op: Op::Add, srcs: smallvec![n.srcs[2].clone(), sum], ..n });
        }
        p.blocks[b].nodes = out;
    }
}

/// A temporary's moves to outputs, which all stand in one block and name one output register.
struct OutputMoves {
    block: usize,
    reg: u8,
    /// Whether the negated value is stored.
    neg: bool,
    /// (node, component).
    targets: Vec<(usize, u8)>,
}

/// Whether every way through the program that makes a value also stores it: exactly one definition is executed before the moves,
/// and none after them or on a way that ends without them. Only then may the definitions write the output themselves, because
/// an output that is written twice is said to freeze the chip.
fn stored_once(p: &Program, defs: &[(usize, usize)], moves: &OutputMoves) -> bool {
    // The possible states behind a block, one bit each.
    const NOTHING: u8 = 1;
    const DEFINED: u8 = 2;
    const STORED: u8 = 4;
    let first = moves.targets.iter().map(|t| t.0).min();
    let mut events: Vec<Vec<(usize, bool)>> = vec![Vec::new(); p.blocks.len()];
    defs.iter().for_each(|(b, n)| events[*b].push((*n, true)));
    events[moves.block].extend(first.map(|n| (n, false)));
    events.iter_mut().for_each(|e| e.sort());
    let behind = |b: usize, state: u8| {
        events[b].iter().try_fold(state, |s, (_, defines)| match (defines, s) {
            (_, 0) => Some(0),
            (true, NOTHING) => Some(DEFINED),
            (false, DEFINED) => Some(STORED),
            _ => None,
        })
    };
    let mut before = vec![0u8; p.blocks.len()];
    before[0] = NOTHING;
    let mut work = vec![0];
    while let Some(b) = work.pop() {
        let Some(after) = behind(b, before[b]) else { return false };
        if p.blocks[b].succs.is_empty() && after & DEFINED != 0 {
            return false;
        }
        for s in &p.blocks[b].succs {
            if before[*s] | after != before[*s] {
                before[*s] |= after;
                work.push(*s);
            }
        }
    }
    true
}

/// The moves of each temporary that is only stored, in the order of the temporaries.
fn output_moves(p: &Program, uses: &[u32]) -> BTreeMap<Tmp, OutputMoves> {
    let mut found: BTreeMap<Tmp, Option<OutputMoves>> = BTreeMap::new();
    for (block, b) in p.blocks.iter().enumerate() {
        for (n, node) in b.nodes.iter().enumerate() {
            let (Op::Mov, [Dest::Out(reg, comp)], None) = (node.op, &node.dests[..], &node.test) else { continue };
            let Some(Ref { leaf: Leaf::Tmp(t), neg }) = node.srcs.first().map(|s| s[0]) else { continue };
            let new = || Some(OutputMoves { block, reg: *reg, neg, targets: Vec::new() });
            let moves = found.entry(t).or_insert_with(new);
            if let Some(m) = moves.as_mut().filter(|m| (m.block, m.reg, m.neg) == (block, *reg, neg)) {
                m.targets.push((n, *comp));
            } else {
                *moves = None;
            }
        }
    }
    let only_stored = |t: Tmp, m: &OutputMoves| uses[t as usize] as usize == m.targets.len();
    found.into_iter().filter_map(|(t, m)| m.filter(|m| only_stored(t, m)).map(|m| (t, m))).collect()
}

/// Whether the definitions of a temporary can write the output that it is moved to.
fn may_store(p: &Program, t: Tmp, defs: &[(usize, usize)], all: &BTreeMap<Tmp, OutputMoves>, emits: bool) -> bool {
    let moves = &all[&t];
    let here = defs.iter().filter(|(b, _)| *b == moves.block).count();
    // A conditional move overwrites what stood there. A vertex in between would take the value with it, or miss it.
    if defs.is_empty() || here > 0 && defs.len() > 1 || emits && here != defs.len() || here == 0 && !stored_once(p, defs, moves) {
        return false;
    }
    let able = |(b, n): &(usize, usize)| {
        let d = &p.blocks[*b].nodes[*n];
        let lanes_fit = moves.targets.len() == 1 || !d.elementwise();
        d.op != Op::Call && d.test.is_none() && lanes_fit && (!moves.neg || push_negation(&mut d.clone()))
    };
    if !defs.iter().all(able) {
        return false;
    }
    let [(b, n)] = defs[..] else { return true };
    let nodes = &p.blocks[b].nodes;
    // From the definition to the last of the moves: what two vertices take has two writes.
    let last = moves.targets.iter().map(|t| t.0).max().unwrap_or(n);
    if here > 0 && nodes[n..last].iter().any(|n| n.op == Op::Emit) {
        return false;
    }
    // Lanes of the same vector operation leave together.
    let together = |x: &Dest| match x {
        Dest::Tmp(u) => all.get(u).is_some_and(|m| (m.reg, m.neg) == (moves.reg, moves.neg)),
        Dest::Out(r, _) => *r == moves.reg,
    };
    let d = &nodes[n];
    let mut siblings = nodes.iter().filter(|s| d.elementwise() && s.bundle == d.bundle && s.op == d.op);
    siblings.all(|s| s.dests.iter().all(together))
}

/// Results that are only moved to an output are computed there.
fn write_outputs_directly(p: &mut Program) {
    let emits = p.blocks.iter().any(|b| b.nodes.iter().any(|n| n.op == Op::Emit));
    for _ in 0..4 {
        let moves = output_moves(p, &p.use_counts());
        let defs = definitions(p);
        let mut gone: Vec<(usize, usize)> = Vec::new();
        for (t, m) in &moves {
            let defs = &defs[*t as usize];
            if !may_store(p, *t, defs, &moves, emits) {
                continue;
            }
            p.fired.note("lanes.stored");
            for (b, n) in defs {
                let d = &mut p.blocks[*b].nodes[*n];
                if m.neg {
                    push_negation(d);
                }
                d.dests.retain(|x| *x != Dest::Tmp(*t));
                d.dests.extend(m.targets.iter().map(|(_, comp)| Dest::Out(m.reg, *comp)));
            }
            gone.extend(m.targets.iter().map(|(n, _)| (m.block, *n)));
        }
        if gone.is_empty() {
            return;
        }
        gone.sort();
        for (b, n) in gone.into_iter().rev() {
            p.blocks[b].nodes.remove(n);
        }
    }
}

/// Whether an operation can wait until behind those that follow it: none of them reads it, and no vertex takes its output along.
fn can_wait(o: &Node, behind: &[Node], indices: &[Ref]) -> bool {
    let stores = o.dests.iter().any(|d| matches!(d, Dest::Out(..)));
    let needs = |n: &Node| n.op == Op::Call || n.op == Op::Emit && stores || o.writes().any(|t| reads_tmp(n, indices, t));
    !behind.iter().any(needs)
}

/// Joins the lanes of one origin into one operation.
fn join_bundles(p: &mut Program) {
    let indices = &p.indices;
    for block in &mut p.blocks {
        let mut out: Vec<Node> = Vec::new();
        for n in std::mem::take(&mut block.nodes) {
            let joins = n.elementwise() && n.bundle != u32::MAX;
            let at = if joins {
                out.iter().rposition(|o| {
                    o.bundle == n.bundle && o.op == n.op && o.test == n.test && o.elementwise() && same_target(o, &n) && o.dests.len() < 4
                })
            } else {
                None
            };
            match at.filter(|k| can_wait(&out[*k], &out[k + 1..], indices)) {
                // The joined operation stands where its last lane stood.
                Some(k) => {
                    let mut o = out.remove(k);
                    o.dests.extend(n.dests);
                    for (a, b) in o.srcs.iter_mut().zip(n.srcs) {
                        a.extend(b);
                    }
                    out.push(o);
                }
                None => out.push(n),
            }
        }
        block.nodes = out;
    }
}

/// Whether two operations write the same output register, or both temporaries.
pub fn same_target(a: &Node, b: &Node) -> bool {
    let target = |n: &Node| match n.dests.first() {
        Some(Dest::Out(r, _)) => Some(*r),
        _ => None,
    };
    target(a) == target(b)
}

/// What is tried both ways in the first packing because only the finished program tells which is shorter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// Lanes that read the same register stay together, not those of one operation.
    pub by_register: bool,
    /// Vertices that are made alike share a procedure.
    pub vertices: bool,
    /// Products also join sums whose operands then need a copy, which others may need too.
    pub copies: bool,
    /// Computations of one shape are lanes of one.
    pub alike: bool,
    /// Temporaries that hold the negated value.
    pub negated: Vec<Tmp>,
    /// Bundles of sums that become dot products although their factors do not stand together.
    pub dots: Vec<u32>,
}

/// A change of a packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// By register.
    ByRegister,
    /// Vertices share a procedure.
    Vertices,
    /// Products join sums whose operands need copies.
    Copies,
    /// Computations of one shape are merged.
    Alike,
    /// The sums of this bundle become dot products.
    Dot(u32),
    /// This temporary holds the negated value.
    Negate(Tmp),
}

impl Change {
    /// Makes the change.
    pub fn apply(self, how: &mut Packing) {
        match self {
            Change::ByRegister => how.by_register = true,
            Change::Vertices => how.vertices = true,
            Change::Copies => how.copies = true,
            Change::Alike => how.alike = true,
            Change::Dot(bundle) => how.dots.push(bundle),
            Change::Negate(t) => how.negated.push(t),
        }
    }
}

impl Packing {
    /// The changes that a lowered program offers. What one changes decides what the others can be.
    pub fn changes(&self, p: &Program) -> Vec<Change> {
        let mut q = p.clone();
        prepare(&mut q, self);
        let all = joins_alike(p).then_some(Change::Alike).into_iter().chain(rows::scattered(&q).then_some(Change::ByRegister));
        let all = all.chain(dots::doubtful(&q).into_iter().map(Change::Dot));
        let all = all.chain(vertices::several(p).then_some(Change::Vertices));
        let all = all.chain(signs::mixed(p).into_iter().map(Change::Negate));
        all.chain(joins_by_copies(&q).then_some(Change::Copies)).collect()
    }
}

/// Whether products could join sums if their operands were copied.
fn joins_by_copies(p: &Program) -> bool {
    let joined = |copies: bool| {
        let mut q = Program { copies, ..p.clone() };
        fuse_products(&mut q);
        q.blocks.iter().map(|b| b.nodes.len()).sum::<usize>()
    };
    joined(true) < joined(false)
}

/// Fewer operations saved than this are left to the search.
const ALIKE: usize = 3;

/// Whether merging computations of one shape saves several operations.
fn joins_alike(p: &Program) -> bool {
    let mut q = p.clone();
    separate(&mut q, &mut Vec::new(), &Packing::default());
    join_bundles(&mut q);
    q.link_calls();
    alike::merge(&mut q) >= ALIKE
}

/// Dot products and sums of products, each where it is the shorter form.
fn prepare(p: &mut Program, how: &Packing) {
    p.remove_dead();
    how.negated.iter().for_each(|t| signs::negate(p, *t));
    dots::split(p);
    dots::form(p, &how.dots);
    if how.by_register {
        p.fired.note("rows");
        rows::by_register(p);
        // Rows stand together now.
        dots::form(p, &how.dots);
    }
}

/// The first packing of a lowered program. Adds the control flow of procedures that it makes.
pub fn pack(p: &mut Program, structures: &mut Vec<Structure>, how: &Packing) {
    separate(p, structures, how);
    join_bundles(p);
    p.link_calls();
    if how.alike {
        alike::merge(p);
    }
}

/// The first packing before lanes of one origin are joined.
pub fn separate(p: &mut Program, structures: &mut Vec<Structure>, how: &Packing) {
    prepare(p, how);
    if how.vertices {
        vertices::share(p, structures);
    }
    p.copies = how.copies;
    fuse_products(p);
    write_outputs_directly(p);
    p.remove_dead();
}

/// The packing without search: every vector operation as it stands in the source.
pub fn plain(p: &mut Program) {
    p.remove_dead();
    dots::split(p);
    join_bundles(p);
    p.link_calls();
}

/// Whether a node reads a temporary, as an operand or as an index.
pub(super) fn reads_tmp(n: &Node, indices: &[Ref], t: Tmp) -> bool {
    n.reads().any(|r| {
        r.as_tmp() == Some(t)
            || matches!(r.leaf, Leaf::Uni { index: Some(i), .. } if indices.get(i as usize).and_then(|r| r.as_tmp()) == Some(t))
    })
}

/// Whether `later` depends on `earlier`, directly or through nodes between (same block).
pub fn depends(p: &Program, block: usize, earlier: usize, later: usize) -> bool {
    let (nodes, indices) = (&p.blocks[block].nodes, &p.indices);
    let mut tainted: Vec<Tmp> = nodes[earlier].writes().collect();
    for (k, n) in nodes.iter().enumerate().take(later + 1).skip(earlier + 1) {
        let hit = tainted.iter().any(|t| reads_tmp(n, indices, *t) || p.changes(n).any(|w| w == *t));
        if hit {
            if k == later {
                return true;
            }
            tainted.extend(p.changes(n));
        }
    }
    false
}

/// How a pair of operations becomes one instruction.
struct Merge {
    /// Whether the second one's factors change places.
    swapped: bool,
    /// Operations between the two that move behind them.
    behind: Vec<usize>,
}

/// Whether the operands of a pair are of one kind.
fn one_kind(s: &Tuple, t: &Tuple) -> bool {
    s.iter().chain(t).all(|r| r.key() == s[0].key())
}

/// How the second of a pair is merged into the first, if they may be one instruction. `fits` says which operands can be one.
fn merge(p: &Program, Pair { block, a, b }: Pair, fits: &dyn Fn(&Tuple, &Tuple) -> bool) -> Option<Merge> {
    let nodes = &p.blocks[block].nodes;
    let (x, y) = (&nodes[a], &nodes[b]);
    if x.op != y.op || !x.elementwise() || x.dests.len() + y.dests.len() > 4 || x.test != y.test || !same_target(x, y) {
        return None;
    }
    // Try both orders of commuting factors: operands of one kind belong together.
    let commutes = matches!(x.op, Op::Add | Op::Mul | Op::Mad);
    let swapped = !x.srcs.iter().zip(&y.srcs).all(|(s, t)| fits(s, t));
    if swapped
        && !(commutes
            && fits(&x.srcs[0], &y.srcs[1])
            && fits(&x.srcs[1], &y.srcs[0])
            && x.srcs[2..].iter().zip(&y.srcs[2..]).all(|(s, t)| fits(s, t)))
    {
        return None;
    }
    if nodes[a..b].iter().any(|n| n.op == Op::Emit) || depends(p, block, a, b) || x.writes().any(|t| y.writes().any(|u| t == u)) {
        return None;
    }
    // The merged node stands at the later place if nothing between reads the earlier results, else what does moves behind.
    let mut behind: Vec<usize> = Vec::new();
    let mut tainted: Vec<Tmp> = x.writes().chain(y.writes()).collect();
    let reads = |n: &Node, t: Tmp| reads_tmp(n, &p.indices, t);
    for (k, n) in nodes.iter().enumerate().take(b).skip(a + 1) {
        // What the first operation reads must still be there.
        if p.changes(n).any(|w| reads(x, w)) {
            return None;
        }
        // Nor may what stays come before a reader of what it overwrites.
        let overwrites = p.changes(n).any(|w| tainted.contains(&w) || behind.iter().any(|k| reads(&nodes[*k], w)));
        if overwrites || tainted.iter().any(|t| reads(n, *t)) {
            if y.writes().any(|w| reads(n, w)) || p.changes(n).any(|v| reads(y, v) || y.writes().any(|w| v == w)) {
                return None;
            }
            tainted.extend(p.changes(n));
            behind.push(k);
        }
    }
    Some(Merge { swapped, behind })
}

/// The operations of a block with a pair merged.
fn carried_out(nodes: &[Node], Pair { a, b, .. }: Pair, Merge { swapped, behind }: &Merge) -> Vec<Node> {
    let (mut first, y) = (nodes[a].clone(), &nodes[b]);
    let mut order: SmallVec<[usize; 3]> = (0..y.srcs.len()).collect();
    if *swapped {
        order.swap(0, 1);
    }
    first.dests.extend(y.dests.iter().copied());
    for (s, k) in first.srcs.iter_mut().zip(order) {
        s.extend(y.srcs[k].iter().copied());
    }
    let stays = (a + 1..b).filter(|k| !behind.contains(k)).map(|k| &nodes[k]);
    let waits = behind.iter().map(|k| &nodes[*k]).chain(&nodes[b + 1..]);
    nodes[..a].iter().chain(stays).cloned().chain([first]).chain(waits.cloned()).collect()
}

/// The operations of a block with the second of a pair merged into the first, if they may be one instruction.
pub(super) fn merged(p: &Program, pair: Pair) -> Option<Vec<Node>> {
    Some(carried_out(&p.blocks[pair.block].nodes, pair, &merge(p, pair, &one_kind)?))
}

/// Merges operations whose operands and results already stand in the same registers, those of one origin first.
pub fn join_placed(p: &mut Program, places: &Places) {
    // What depends on what is a matter of places now.
    let mut q = p.at_places(places);
    let register = |r: &Ref| r.as_tmp().map(|t| t / 4);
    let fits = |s: &Tuple, t: &Tuple| one_kind(s, t) && s.iter().chain(t).all(|r| register(r) == register(&s[0]));
    let written = |n: &Node| n.writes().next().map(|t| t / 4);
    for one_origin in [true, false] {
        let mut walk = Walk::new();
        while let Some(pair) = walk.next(&q) {
            let nodes = &q.blocks[pair.block].nodes;
            let (x, y) = (&nodes[pair.a], &nodes[pair.b]);
            if written(x) != written(y) || one_origin && x.bundle != y.bundle {
                continue;
            }
            if let Some(m) = merge(&q, pair, &fits) {
                for program in [&mut q, &mut *p] {
                    let nodes = &mut program.blocks[pair.block].nodes;
                    *nodes = carried_out(nodes, pair, &m);
                }
                walk.merged(pair);
            }
        }
    }
}

/// Failures in a row after which a search ends.
const PATIENCE: usize = 20;

/// How far apart the operations of a pair may stand.
const WINDOW: usize = 48;

/// Two operations of a block.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub block: usize,
    pub a: usize,
    pub b: usize,
}

/// Walks through all pairs, again and again until all were seen since the last merge.
#[derive(Clone, Copy)]
struct Walk {
    next: Pair,
    /// Where the last pair was merged: all pairs from there on were seen in the program as it is now.
    last: (usize, usize),
    /// Whether the walk began anew since then.
    again: bool,
}

impl Walk {
    fn new() -> Walk {
        Walk { next: Pair { block: 0, a: 0, b: 1 }, last: (0, 0), again: false }
    }

    fn next(&mut self, p: &Program) -> Option<Pair> {
        loop {
            let Pair { block, a, b } = self.next;
            if self.again && (block, a) >= self.last {
                return None;
            }
            match p.blocks.get(block) {
                None if self.again => return None,
                None => (self.again, self.next) = (true, Walk::new().next),
                Some(x) if b < x.nodes.len() && b - a < WINDOW => {
                    self.next.b += 1;
                    return Some(Pair { block, a, b });
                }
                Some(x) if a + 1 < x.nodes.len() => self.next = Pair { block, a: a + 1, b: a + 2 },
                Some(_) => self.next = Pair { block: block + 1, a: 0, b: 1 },
            }
        }
    }

    /// A pair was merged: the result is paired anew.
    fn merged(&mut self, pair: Pair) {
        *self = Walk { next: Pair { b: pair.a + 1, ..pair }, last: (pair.block, pair.a), again: false };
    }
}

/// Local search: merges pairs while the cost falls and work is left, of which `cost` takes what it does. The cost is the length of the
/// finished program in units of `word`, `None` if it does not fit or is not below a bound. Where merging goes well, several pairs are
/// merged before the program is finished again; if they save less than a word each, they are tried one by one.
pub fn search(mut p: Program, word: u64, cost: &dyn Fn(&Program, Option<u64>) -> Option<u64>, left: &Cell<usize>) -> Program {
    let mut best = cost(&p, None);
    let (mut walk, mut batch, mut failures) = (Walk::new(), 1, 0);
    loop {
        let (mut new, mut merges) = (p.clone(), 0);
        let (mut ahead, mut passed) = (walk, walk);
        while merges < batch
            && let Some(pair) = ahead.next(&new)
        {
            if let Some(nodes) = merged(&new, pair) {
                passed = ahead;
                ahead.merged(pair);
                new.blocks[pair.block].nodes = nodes;
                merges += 1;
            }
        }
        if merges == 0 || left.get() == 0 {
            return p;
        }
        let bound = |b: u64| if merges > 1 { (b / word + 1).saturating_sub(merges) * word } else { b };
        match cost(&new, best.map(bound)) {
            Some(c) => {
                (best, p, walk) = (Some(c), new, ahead);
                (batch, failures) = (2 * batch, 0);
            }
            None if merges > 1 => batch = 1,
            None => {
                (walk, batch, failures) = (passed, 1, failures + 1);
                if failures == PATIENCE {
                    return p;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retroshade_ir::Span;

    #[test]
    fn an_operation_waits_until_its_first_reader() {
        let node = |to: &[Dest], from: &[Tmp]| {
            let from: Vec<Ref> = from.iter().map(|t| Ref::tmp(*t)).collect();
            Node::new(Op::Mov, to, &[&from], Span::NONE)
        };
        let two = node(&[Dest::Tmp(0), Dest::Tmp(1)], &[2, 3]);
        let reader = |t| node(&[Dest::Tmp(9)], &[t]);
        assert!(can_wait(&two, &[reader(4), reader(5)], &[]));
        assert!(!can_wait(&two, &[reader(4), reader(0)], &[]) && !can_wait(&two, &[reader(1)], &[]));
        let emit = [Node { op: Op::Emit, ..node(&[], &[]) }];
        let stored = node(&[Dest::Out(0, 0)], &[2]);
        assert!(can_wait(&two, &emit, &[]) && can_wait(&stored, &[reader(4)], &[]) && !can_wait(&stored, &emit, &[]));
    }
}
