//! Computations of one shape: several sines, say, are long chains of the same operations, whose lanes fit into one register. Merging the
//! chains pays once all of both is merged, which a search that judges pair by pair may never see; here they are merged at once.

use crate::place::lanes::{Pair, definitions, merged};
use crate::select::mir::*;
use rustc_hash::FxHasher;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// Blocks with more operations are left alone: pairs are tried one by one.
const LARGE: usize = 400;

/// Operations behind one another whose kinds and operands are compared. What stands further back may differ: one angle comes from a product,
/// the next from a sum.
const DEPTH: usize = 3;

/// What each of a block's operations computes but for the lanes it reads.
fn shapes(p: &Program, block: usize, defs: &[Makers]) -> Vec<u64> {
    let nodes = &p.blocks[block].nodes;
    let mut out: Vec<u64> = vec![0; nodes.len()];
    for _ in 0..DEPTH {
        out = nodes.iter().enumerate().map(|(n, node)| shape(node, |r| made(r, block, n, defs).map(|k| out[k]))).collect();
    }
    out
}

/// The operation before the `n`th of a block that alone makes an operand.
fn made(r: Ref, block: usize, n: usize, defs: &[Makers]) -> Option<usize> {
    match defs[r.as_tmp()? as usize][..] {
        [(b, k)] if b == block && k < n => Some(k),
        _ => None,
    }
}

/// A hash of an operation and of what its operands are.
fn shape(node: &Node, of: impl Fn(Ref) -> Option<u64>) -> u64 {
    // Numbers that differ lie beside each other in a register of constants.
    let operand = |r: &Ref| (r.key(), of(*r));
    let operands: SmallVec<[SmallVec<[(Key, Option<u64>); 4]>; 3]> = node.srcs.iter().map(|s| s.iter().map(operand).collect()).collect();
    let one = node.elementwise() && operands.iter().all(|s| s.iter().all(|x| *x == s[0]));
    let mut h = FxHasher::default();
    node.op.hash(&mut h);
    operands.iter().for_each(|s| if one { s.first().hash(&mut h) } else { s.hash(&mut h) });
    h.finish()
}

/// The next pair of operations of one shape that may be one instruction, and the block with them merged.
fn next(p: &Program, block: usize, from: usize) -> Option<(usize, Vec<Node>)> {
    let shapes = shapes(p, block, &definitions(p));
    (from..shapes.len()).find_map(|a| {
        let same = |b: &usize| shapes[*b] == shapes[a] && p.blocks[block].nodes[*b].test.is_none();
        (a + 1..shapes.len()).filter(same).find_map(|b| Some((a, merged(p, Pair { block, a, b })?)))
    })
}

/// Merges them, and says how many operations that saves.
pub fn merge(p: &mut Program) -> usize {
    p.fired.note("alike");
    let mut saved = 0;
    for block in (0..p.blocks.len()).filter(|b| p.blocks[*b].nodes.len() <= LARGE).collect::<Vec<_>>() {
        let mut from = 0;
        while let Some((at, nodes)) = next(p, block, from) {
            p.blocks[block].nodes = nodes;
            saved += 1;
            // What stood before it has no partner, or has one only now.
            from = at;
        }
    }
    saved
}
