//! Sums of products and dot products: which of the two forms takes fewer instructions depends on how operands lie in registers.
//!
//! A matrix whose rows are registers multiplies a vector by one dot product for each row; a vector times such a matrix is a chain of
//! `mad`s over all columns at once. Both round alike: a dot product rounds its products and its partial sums, first component
//! first. Facts: ISA sheet sections 5, 9.

use crate::isa::forms::Op;
use crate::place::lanes::definitions;
use crate::select::mir::*;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

/// A sum of products in the order in which it is added up. What is added without a factor has the factor 1.
struct Sum {
    terms: SmallVec<[(Ref, Ref); 4]>,
    /// The operations that make it, besides the one that gives it.
    nodes: SmallVec<[usize; 4]>,
}

/// What is needed to follow a sum to its products.
struct Sums<'a> {
    p: &'a Program,
    defs: Vec<Vec<(usize, usize)>>,
    uses: Vec<u32>,
    block: usize,
}

impl Sums<'_> {
    /// The operation in this block that makes a value which nothing else reads.
    fn made_for(&self, r: Ref, ops: &[Op]) -> Option<usize> {
        let t = r.as_tmp().filter(|t| !r.neg && self.uses[*t as usize] == 1)?;
        let [(b, n)] = self.defs[t as usize][..] else { return None };
        let node = &self.p.blocks[b].nodes[n];
        (b == self.block && ops.contains(&node.op) && node.test.is_none() && node.dests.len() == 1).then_some(n)
    }

    /// The sum that an operation completes.
    fn of(&self, n: usize) -> Option<Sum> {
        const SUMS: [Op; 3] = [Op::Mad, Op::Add, Op::Mul];
        let uniform = |r: Ref| matches!(r.leaf, Leaf::Uni { .. });
        let mut sum = Sum { terms: SmallVec::new(), nodes: SmallVec::new() };
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
                    let product = [(1, 0), (0, 1)].into_iter().find_map(|(k, other)| Some((self.made_for(s(k), &[Op::Mul])?, s(other))));
                    match product.filter(|(_, rest)| self.made_for(*rest, &SUMS).is_some()) {
                        Some((m, rest)) => {
                            let m_node = &self.p.blocks[self.block].nodes[m];
                            sum.terms.push((m_node.srcs[0][0], m_node.srcs[1][0]));
                            sum.nodes.push(m);
                            rest
                        }
                        None if at == n && uniform(s(0)) != uniform(s(1)) => {
                            let k = usize::from(uniform(s(1)));
                            sum.terms.push((s(k), ONE));
                            s(1 - k)
                        }
                        None => return None,
                    }
                }
                _ => return None,
            };
            match self.made_for(rest, &SUMS) {
                Some(next) => at = next,
                // The sum starts with it.
                None if uniform(rest) => {
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

/// The factor of what is added without one.
const ONE: Ref = Ref { leaf: Leaf::Const(0x3f80_0000), neg: false };

/// The sum as a dot product of a uniform register and other operands: (operation, uniform side, other side).
fn as_dot(sum: &Sum) -> Option<(Op, Tuple, Tuple)> {
    let register = |r: Ref| if let Leaf::Uni { reg, index, .. } = r.leaf { Some((reg, index)) } else { None };
    let (a, b) = sum.terms[0];
    let wanted = register(a).or(register(b))?;
    let (mut uniforms, mut others) = (Tuple::new(), Tuple::new());
    for (a, b) in &sum.terms {
        let (u, o) = if register(*a) == Some(wanted) { (*a, *b) } else { (*b, *a) };
        if register(u) != Some(wanted) || register(o).is_some() {
            return None;
        }
        // The sign stands with the other factor.
        uniforms.push(Ref { neg: false, ..u });
        others.push(if u.neg { o.negated() } else { o });
    }
    let op = match others.len() {
        3 => Op::Dp3,
        // The factor 1 of the last component is implied.
        4 if others[3] == ONE => {
            others.pop();
            Op::Dph
        }
        4 => Op::Dp4,
        _ => return None,
    };
    let factors = || others.iter().filter(|r| **r != ONE);
    let key = factors().next()?.key();
    (key != Key::Const && factors().all(|r| r.key() == key)).then_some((op, uniforms, others))
}

/// Sums of products with the components of one uniform register become dot products where the lanes beside them read other
/// registers: one instruction for each lane instead of several for all. A lone sum does so where its other factors stand together.
pub fn form(p: &mut Program) {
    for block in 0..p.blocks.len() {
        let sums = Sums { p, defs: definitions(p), uses: p.use_counts(), block };
        // By bundle: what each of its lanes would be.
        let mut found: indexmap::IndexMap<u32, Vec<(usize, Sum, Op, Tuple, Tuple)>> = indexmap::IndexMap::new();
        let nodes = &p.blocks[block].nodes;
        for (n, node) in nodes.iter().enumerate() {
            let plain = matches!(node.op, Op::Add | Op::Mad) && node.test.is_none() && node.dests.len() == 1;
            let Some(sum) = (if plain { sums.of(n) } else { None }) else { continue };
            if let Some((op, u, o)) = as_dot(&sum) {
                found.entry(node.bundle).or_default().push((n, sum, op, u, o));
            }
        }
        let width = |bundle: u32| nodes.iter().filter(|n| n.bundle == bundle && matches!(n.op, Op::Add | Op::Mad)).count();
        let together = |o: &Tuple| match o[0].leaf {
            _ if o.contains(&ONE) => false,
            Leaf::In(..) => true,
            _ => {
                let origin = |r: &Ref| match r.as_tmp().map(|t| &sums.defs[t as usize][..]) {
                    Some([(b, n)]) => Some((*b, p.blocks[*b].nodes[*n].bundle, p.blocks[*b].nodes[*n].op)),
                    _ => None,
                };
                origin(&o[0]).is_some_and(|x| o.iter().all(|r| origin(r) == Some(x)))
            }
        };
        let mut gone: Vec<usize> = Vec::new();
        let mut made: Vec<(usize, Op, Tuple, Tuple)> = Vec::new();
        for (bundle, lanes) in found {
            let rows = lanes.iter().enumerate().all(|(k, l)| lanes[..k].iter().all(|m| m.3[0].key() != l.3[0].key() && m.4 == l.4));
            if lanes.len() != width(bundle) || !rows || lanes.len() == 1 && !together(&lanes[0].4) {
                continue;
            }
            for (n, sum, op, u, o) in lanes {
                gone.extend(sum.nodes);
                made.push((n, op, u, o));
            }
        }
        for (n, op, u, o) in made {
            let node = &mut p.blocks[block].nodes[n];
            node.op = op;
            // DPH: the factor with the implied 1 comes first.
            node.srcs = if op == Op::Dph { smallvec![o, u] } else { smallvec![u, o] };
        }
        gone.sort();
        gone.dedup();
        for n in gone.into_iter().rev() {
            p.blocks[block].nodes.remove(n);
        }
    }
}

/// Bundle numbers of operations that are made here.
const BUNDLES: u32 = 2_000_000_000;

/// Whether an operand's components lie in several uniform registers.
fn scattered(t: &Tuple) -> bool {
    let uniform = |r: &Ref| matches!(r.leaf, Leaf::Uni { .. });
    t.iter().all(uniform) && t.iter().any(|r| r.key() != t[0].key())
}

/// Dot products with a column that lies across registers become sums of products, all columns together.
pub fn split(p: &mut Program) {
    let mut bundles = BUNDLES;
    for block in 0..p.blocks.len() {
        let mut out: Vec<Node> = Vec::new();
        let mut group: Vec<Node> = Vec::new();
        for n in std::mem::take(&mut p.blocks[block].nodes) {
            let dot = matches!(n.op, Op::Dp3 | Op::Dp4 | Op::Dph) && n.srcs.iter().any(scattered);
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

/// Writes a group of dot products, product by product.
fn flush(p: &mut Program, group: &mut Vec<Node>, out: &mut Vec<Node>, bundles: &mut u32) {
    let mut sums: Vec<Option<Ref>> = vec![None; group.len()];
    let count = group.first().map_or(0, |g| g.srcs[0].len().max(g.srcs[1].len()));
    for k in 0..count {
        // The registers may differ from lane to lane: those that read the same ones stay together.
        let mut seen: HashMap<(Key, Key), u32> = HashMap::new();
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
