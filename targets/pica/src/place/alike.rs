//! Computations of one shape: several sines, say, are long chains of the same operations, whose lanes fit into one register. Merging the
//! chains pays once all of both is merged, which a search that judges pair by pair may never see; here they are merged at once.

use crate::place::lanes::{Pair, definitions, merged};
use crate::select::mir::*;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Blocks with more operations are left alone: pairs are tried one by one.
const LARGE: usize = 400;

/// Operations that a computation has at least, one behind the other.
const DEPTH: u32 = 3;

/// What an operation computes but for the lanes it reads, and the operations behind one another that it takes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    hash: u64,
    depth: u32,
}

/// The shapes of a block's operations.
fn shapes(p: &Program, block: usize, defs: &[Makers]) -> Vec<Shape> {
    let mut out: Vec<Shape> = Vec::with_capacity(p.blocks[block].nodes.len());
    for (n, node) in p.blocks[block].nodes.iter().enumerate() {
        let mut depth = 0;
        let mut of = |r: &Ref| {
            let made = r.as_tmp().and_then(|t| match defs[t as usize][..] {
                [(b, k)] if b == block && k < n => out.get(k).copied(),
                _ => None,
            });
            depth = depth.max(made.map_or(0, |s| s.depth));
            // Numbers that differ lie beside each other in a register of constants.
            (r.key(), made.map(|s| s.hash))
        };
        let operands: Vec<Vec<(Key, Option<u64>)>> = node.srcs.iter().map(|s| s.iter().map(&mut of).collect()).collect();
        let same = node.elementwise() && operands.iter().all(|s| s.iter().all(|x| *x == s[0]));
        let mut h = FxHasher::default();
        node.op.hash(&mut h);
        operands.iter().for_each(|s| if same { s.first().hash(&mut h) } else { s.hash(&mut h) });
        out.push(Shape { hash: h.finish(), depth: depth + 1 });
    }
    out
}

/// The next pair of operations of one shape that may be one instruction, and the block with them merged.
fn next(p: &Program, block: usize, from: usize) -> Option<(usize, Vec<Node>)> {
    let shapes = shapes(p, block, &definitions(p));
    (from..shapes.len()).find_map(|a| {
        let same = |b: &usize| shapes[*b] == shapes[a] && p.blocks[block].nodes[*b].test.is_none();
        (a + 1..shapes.len()).filter(same).find_map(|b| Some((a, merged(p, Pair { block, a, b })?)))
    })
}

/// Whether computations of some length have one shape.
pub fn any(p: &Program) -> bool {
    let defs = definitions(p);
    (0..p.blocks.len()).filter(|b| p.blocks[*b].nodes.len() <= LARGE).any(|b| {
        let mut long: Vec<u64> = shapes(p, b, &defs).into_iter().filter(|s| s.depth >= DEPTH).map(|s| s.hash).collect();
        long.sort_unstable();
        long.windows(2).any(|w| w[0] == w[1])
    })
}

/// Merges them.
pub fn merge(p: &mut Program) {
    p.fired.note("alike");
    for block in (0..p.blocks.len()).filter(|b| p.blocks[*b].nodes.len() <= LARGE).collect::<Vec<_>>() {
        let mut from = 0;
        while let Some((at, nodes)) = next(p, block, from) {
            p.blocks[block].nodes = nodes;
            // What stood before it has no partner, or has one only now.
            from = at;
        }
    }
}
