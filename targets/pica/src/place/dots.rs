//! Sums of products and dot products: which of the two forms takes fewer instructions depends on how operands lie in registers.
//!
//! A matrix whose rows are registers multiplies a vector by one dot product for each row; a vector times such a matrix is a chain of
//! `mad`s over all columns at once. Both round alike: a dot product rounds its products and its partial sums, first component
//! first. Facts: ISA sheet sections 5, 9.

use crate::isa::forms::Op;
use crate::place::lanes::definitions;
use crate::select::mir::*;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// A sum of products in the order in which it is added up. What is added without a factor has the factor 1.
struct Sum {
    terms: SmallVec<[(Ref, Ref); 4]>,
    /// The operations that make it, besides the one that gives it.
    nodes: SmallVec<[usize; 4]>,
}

impl Sum {
    /// Whether something else reads a part of it, which then stays.
    fn shared(&self, sums: &Sums<'_>) -> bool {
        let nodes = &sums.p.blocks[sums.block].nodes;
        self.nodes.iter().flat_map(|n| nodes[*n].writes()).any(|t| sums.uses[t as usize] != 1)
    }
}

/// What is needed to follow a sum to its products.
struct Sums<'a> {
    p: &'a Program,
    defs: &'a [Makers],
    uses: &'a [u32],
    block: usize,
}

impl Sums<'_> {
    /// The operation in this block that makes a value.
    fn made_for(&self, r: Ref, ops: &[Op]) -> Option<usize> {
        let t = r.as_tmp().filter(|_| !r.neg)?;
        let [(b, n)] = self.defs[t as usize][..] else { return None };
        let node = &self.p.blocks[b].nodes[n];
        (b == self.block && ops.contains(&node.op) && node.test.is_none() && node.dests.len() == 1).then_some(n)
    }

    /// The sums that an operation may be seen to complete.
    fn of(&self, n: usize) -> SmallVec<[Sum; 3]> {
        let node = &self.p.blocks[self.block].nodes[n];
        let s = |k: usize| node.srcs[k][0];
        let mut out = SmallVec::new();
        out.extend(self.from(n, Sum { terms: SmallVec::new(), nodes: SmallVec::new() }));
        // What is added last has no factor: a uniform rather than anything else.
        let mut last: SmallVec<[usize; 2]> = if node.op == Op::Add { smallvec![0, 1] } else { smallvec![] };
        last.sort_by_key(|k| !is_uniform(s(*k)));
        for k in last {
            let Some(next) = self.made_for(s(1 - k), &SUMS) else { continue };
            out.extend(self.from(next, Sum { terms: smallvec![(s(k), ONE)], nodes: smallvec![next] }));
        }
        out
    }

    /// The terms that an operation adds to a sum, the last first.
    fn from(&self, n: usize, mut sum: Sum) -> Option<Sum> {
        let mut at = n;
        while sum.terms.len() < 5 {
            let node = &self.p.blocks[self.block].nodes[at];
            let s = |k: usize| node.srcs[k][0];
            let rest = match node.op {
                Op::Mul => {
                    sum.terms.push((s(0), s(1)));
                    sum.terms.reverse();
                    return Some(sum);
                }
                Op::Mad => {
                    sum.terms.push((s(0), s(1)));
                    s(2)
                }
                Op::Add => {
                    let product = |k: usize| self.made_for(s(k), &[Op::Mul]).map(|m| (m, s(1 - k)));
                    let (m, rest) = [1, 0].into_iter().filter_map(product).find(|(_, rest)| self.made_for(*rest, &SUMS).is_some())?;
                    let product = &self.p.blocks[self.block].nodes[m];
                    sum.terms.push((product.srcs[0][0], product.srcs[1][0]));
                    sum.nodes.push(m);
                    rest
                }
                _ => return None,
            };
            match self.made_for(rest, &SUMS) {
                Some(next) => at = next,
                // The sum starts with it.
                None if is_uniform(rest) => {
                    sum.terms.push((rest, ONE));
                    sum.terms.reverse();
                    return Some(sum);
                }
                None => return None,
            }
            sum.nodes.push(at);
        }
        None
    }
}

/// Operations that sums of products are made of.
const SUMS: [Op; 3] = [Op::Mad, Op::Add, Op::Mul];

fn is_uniform(r: Ref) -> bool {
    matches!(r.leaf, Leaf::Uni { .. })
}

/// The factor of what is added without one.
const ONE: Ref = Ref { leaf: Leaf::Const(0x3f80_0000), neg: false };

/// A sum as a dot product.
struct AsDot {
    op: Op,
    /// The factors on either side; the factor with the implied 1 of DPH is missing.
    sides: [Tuple; 2],
    /// Whether the first side is one uniform register.
    uniform: bool,
}

/// A number times a constant plus a constant, which are never in one instruction otherwise: the DPH of the number three times with
/// both constants and two zeros.
fn scaled(sums: &Sums<'_>, at: usize) -> Option<(Sum, AsDot)> {
    let nodes = &sums.p.blocks[sums.block].nodes;
    let constant = |r: Ref| matches!(r.leaf, Leaf::Const(_));
    let [x, y] = [0, 1].map(|k| nodes[at].srcs[k][0]);
    let (bias, product) = if constant(x) { (x, y) } else { (y, x) };
    let made = sums.made_for(Ref { neg: false, ..product }, &[Op::Mul]).filter(|_| nodes[at].op == Op::Add && constant(bias))?;
    let [x, y] = [0, 1].map(|k| nodes[made].srcs[k][0]);
    let (scale, number) = if constant(x) { (x, y) } else { (y, x) };
    if !constant(scale) || constant(number) || is_uniform(number) {
        return None;
    }
    let scale = if product.neg { scale.negated() } else { scale };
    let zero = Ref::constant(0);
    let sides = [smallvec![scale, zero, zero, bias], smallvec![number; 3]];
    Some((Sum { terms: smallvec![(number, scale), (bias, ONE)], nodes: smallvec![made] }, AsDot { op: Op::Dph, sides, uniform: false }))
}

/// The sum as a dot product of one register with other operands: a uniform one if there is one.
fn as_dot(sum: &Sum) -> Option<AsDot> {
    let register = |r: Ref| if let Leaf::Uni { reg, index, .. } = r.leaf { Some((reg, index)) } else { None };
    let (first, with) = sum.terms[0];
    let both = register(first).is_some() && register(with).is_some();
    let wanted = register(first).or(register(with));
    let kind = |r: Ref| if let Leaf::In(v, _) = r.leaf { Some(v) } else { None };
    let mut sides = [Tuple::new(), Tuple::new()];
    for (a, b) in &sum.terms {
        let swapped = match wanted {
            Some(_) => register(*a) != wanted,
            None if *b == ONE => kind(*a) != kind(first),
            None => kind(*b) != kind(with),
        };
        let (u, o) = if swapped { (*b, *a) } else { (*a, *b) };
        if register(o).is_some() != both || wanted.is_some() && register(u) != wanted {
            return None;
        }
        // The sign stands with the other factor.
        let signless = wanted.is_some() && u.neg;
        sides[0].push(if signless { u.negated() } else { u });
        sides[1].push(if signless { o.negated() } else { o });
    }
    // Two registers are two, not parts of several.
    if both && sides[1].iter().any(|r| r.key() != sides[1][0].key()) {
        return None;
    }
    let op = match sides[0].len() {
        3 => Op::Dp3,
        // The factor 1 of the last component is implied.
        4 if sides[1][3] == ONE => {
            sides[1].pop();
            Op::Dph
        }
        4 if sides[0][3] == ONE && wanted.is_none() => {
            sides.swap(0, 1);
            sides[1].pop();
            Op::Dph
        }
        4 => Op::Dp4,
        _ => return None,
    };
    Some(AsDot { op, sides, uniform: wanted.is_some() })
}

/// Moves that gather a tuple whose lanes come from different places.
fn gathering(t: &Tuple) -> usize {
    let mut keys: SmallVec<[Key; 4]> = t.iter().map(|r| r.key()).collect();
    keys.sort();
    keys.dedup();
    if keys.len() == 1 && keys[0] != Key::Const { 0 } else { keys.iter().filter(|k| **k != Key::Tmp(false)).count() }
}

/// A sum that may become a dot product: its place in the block, what it is now, what it would be.
struct Candidate {
    at: usize,
    sum: Sum,
    dot: AsDot,
}

/// The sums of a block that could be dot products, by bundle.
fn candidates(sums: &Sums<'_>) -> indexmap::IndexMap<u32, Vec<Candidate>> {
    let mut found: indexmap::IndexMap<u32, Vec<Candidate>> = indexmap::IndexMap::new();
    for (at, node) in sums.p.blocks[sums.block].nodes.iter().enumerate() {
        let plain = matches!(node.op, Op::Add | Op::Mad) && node.test.is_none() && node.dests.len() == 1;
        let mut ways = if plain { sums.of(at) } else { SmallVec::new() };
        if let Some((n, dot)) = ways.iter().enumerate().find_map(|(n, sum)| Some((n, as_dot(sum)?))) {
            found.entry(node.bundle).or_default().push(Candidate { at, sum: ways.swap_remove(n), dot });
        } else if let Some((sum, dot)) = if plain { scaled(sums, at) } else { None } {
            found.entry(node.bundle).or_default().push(Candidate { at, sum, dot });
        }
    }
    // Of two uniform registers the second is the one that the lanes share.
    for lanes in found.values_mut() {
        let side = |n: usize| lanes.iter().all(|l| is_uniform(l.dot.sides[1][0]) && l.dot.sides[n] == lanes[0].dot.sides[n]);
        if side(0) && !side(1) {
            lanes.iter_mut().for_each(|l| l.dot.sides.swap(0, 1));
        }
    }
    found
}

/// Whether it is clear without a trial that all lanes of a bundle are shorter as dot products.
fn clearly(sums: &Sums<'_>, lanes: &[Candidate]) -> bool {
    let nodes = &sums.p.blocks[sums.block].nodes;
    let together = |o: &Tuple| match o[0].leaf {
        _ if o.contains(&ONE) || gathering(o) > 0 => false,
        Leaf::In(..) | Leaf::Uni { .. } => true,
        _ => {
            let origin = |r: &Ref| match r.as_tmp().map(|t| &sums.defs[t as usize][..]) {
                Some([(b, n)]) => Some((*b, sums.p.blocks[*b].nodes[*n].bundle, sums.p.blocks[*b].nodes[*n].op)),
                _ => None,
            };
            origin(&o[0]).is_some_and(|x| o.iter().all(|r| origin(r) == Some(x)))
        }
    };
    let [first, ..] = lanes else { return false };
    let width = nodes.iter().filter(|n| n.bundle == nodes[first.at].bundle && matches!(n.op, Op::Add | Op::Mad)).count();
    if lanes.len() != width {
        return false;
    }
    if lanes.len() == 1 {
        // Both factors of one product: nothing has to come together.
        return !first.sum.shared(sums) && (first.sum.terms.len() == 2 || together(&first.dot.sides[0]) && together(&first.dot.sides[1]));
    }
    // Each lane would take as many instructions as terms, and would take one.
    let saved = lanes.len() * (first.sum.terms.len() - 1);
    let rows = lanes.iter().enumerate().all(|(k, l)| {
        let apart = |m: &Candidate| m.dot.sides[0][0].key() != l.dot.sides[0][0].key() && m.dot.sides[1] == l.dot.sides[1];
        l.dot.uniform && lanes[..k].iter().all(apart)
    });
    rows && gathering(&first.dot.sides[1]) < saved
}

/// Bundles that may or may not be shorter as dot products: only the finished program tells.
pub fn doubtful(p: &Program) -> Vec<u32> {
    let mut out = Vec::new();
    let (defs, uses) = (definitions(p), p.use_counts());
    for block in 0..p.blocks.len() {
        let sums = Sums { p, defs: &defs, uses: &uses, block };
        out.extend(candidates(&sums).into_iter().filter(|(_, lanes)| lanes.len() == 1 && !clearly(&sums, lanes)).map(|(b, _)| b));
    }
    out
}

/// Sums of products with the components of one uniform register become dot products where the lanes beside them read other
/// registers: one instruction for each lane instead of several for all. A lone sum does so where its factors stand together, and
/// those of the bundles in `wanted` do wherever they come from.
pub fn form(p: &mut Program, wanted: &[u32]) {
    // Operations stay where they are, and what becomes one reads other operands.
    let (defs, mut uses) = (definitions(p), p.use_counts());
    for block in 0..p.blocks.len() {
        let sums = Sums { p, defs: &defs, uses: &uses, block };
        let mut made: Vec<(usize, AsDot)> = Vec::new();
        for (bundle, lanes) in candidates(&sums) {
            if wanted.contains(&bundle) || clearly(&sums, &lanes) {
                made.extend(lanes.into_iter().map(|c| (c.at, c.dot)));
            }
        }
        let any = !made.is_empty();
        for (n, AsDot { op, sides: [a, b], .. }) in made {
            p.fired.note("dots.form");
            let node = &mut p.blocks[block].nodes[n];
            node.op = op;
            // DPH: the factor with the implied 1 comes first.
            node.srcs = if op == Op::Dph { smallvec![b, a] } else { smallvec![a, b] };
        }
        if any {
            uses = p.use_counts();
        }
    }
    // Products and partial sums that nothing else reads.
    p.remove_dead();
}

/// Bundle numbers of operations that are made here.
const BUNDLES: u32 = 2_000_000_000;

/// Whether an operand's components lie in several uniform registers.
fn scattered(t: &Tuple) -> bool {
    t.iter().all(|r| is_uniform(*r)) && t.iter().any(|r| r.key() != t[0].key())
}

/// Dot products with a column that lies across registers become sums of products, all columns together.
pub fn split(p: &mut Program) {
    let mut bundles = BUNDLES;
    let splits = |n: &Node| matches!(n.op, Op::Dp3 | Op::Dp4 | Op::Dph) && n.srcs.iter().any(scattered);
    for block in 0..p.blocks.len() {
        if !p.blocks[block].nodes.iter().any(splits) {
            continue;
        }
        let mut out: Vec<Node> = Vec::with_capacity(2 * p.blocks[block].nodes.len());
        let mut group: Vec<Node> = Vec::new();
        for n in std::mem::take(&mut p.blocks[block].nodes) {
            let dot = splits(&n);
            let other = |n: &Node| n.srcs.iter().find(|s| !scattered(s)).cloned();
            let joins = dot && group.first().is_none_or(|g| g.op == n.op && other(g) == other(&n) && group.len() < 4);
            if !joins {
                flush(p, &mut group, &mut out, &mut bundles);
            }
            if dot { group.push(n) } else { out.push(n) }
        }
        flush(p, &mut group, &mut out, &mut bundles);
        p.blocks[block].nodes = out;
    }
}

/// The program with some of its dot products as sums of products.
pub fn as_sums(p: &Program, which: &dyn Fn(&Node) -> bool) -> Program {
    let mut p = p.clone();
    let mut bundles = BUNDLES + BUNDLES / 2;
    for block in 0..p.blocks.len() {
        let mut out: Vec<Node> = Vec::new();
        for n in std::mem::take(&mut p.blocks[block].nodes) {
            if !matches!(n.op, Op::Dp3 | Op::Dp4 | Op::Dph) || !which(&n) {
                out.push(n);
                continue;
            }
            flush(&mut p, &mut vec![n.clone()], &mut out, &mut bundles);
            // The sum goes wherever the dot product went.
            if let Some(last) = out.last_mut() {
                last.srcs.iter_mut().for_each(|s| *s = n.dests.iter().map(|_| s[0]).collect());
                last.dests = n.dests;
            }
        }
        p.blocks[block].nodes = out;
    }
    p
}

/// Writes a group of dot products, product by product.
fn flush(p: &mut Program, group: &mut Vec<Node>, out: &mut Vec<Node>, bundles: &mut u32) {
    if !group.is_empty() {
        p.fired.note("dots.split");
    }
    let mut sums: Vec<Option<Ref>> = vec![None; group.len()];
    let count = group.first().map_or(0, |g| g.srcs[0].len().max(g.srcs[1].len()));
    for k in 0..count {
        // The registers may differ from lane to lane: those that read the same ones stay together.
        let mut seen: FxHashMap<(Key, Key), u32> = FxHashMap::default();
        for (g, sum) in group.iter().zip(&mut sums) {
            let (a, b) = (g.srcs[0].get(k).copied(), g.srcs[1].get(k).copied());
            let (Some(x), Some(y)) = (a.or(b), b.or(a)) else { continue };
            let bundle = *seen.entry((x.key(), y.key())).or_insert_with(|| {
                *bundles += 1;
                *bundles
            });
            let last = k + 1 == count;
            let dest = if last { g.dests[0] } else { Dest::Tmp(p.temp(g.span)) };
            let mut n = match (*sum, a, b) {
                (None, _, _) => Node::new(Op::Mul, &[dest], &[&[x], &[y]], g.span),
                (Some(s), Some(a), Some(b)) => Node::new(Op::Mad, &[dest], &[&[a], &[b], &[s]], g.span),
                (Some(s), ..) => Node::new(Op::Add, &[dest], &[&[x], &[s]], g.span),
            };
            n.bundle = bundle;
            if let Dest::Tmp(t) = dest {
                *sum = Some(Ref::tmp(t));
            }
            out.push(n);
        }
    }
    group.clear();
}
