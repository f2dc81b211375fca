//! An order of operations in which few components are alive at once.
//!
//! From a block's end backward, whichever operation leaves the least to be kept for it: one whose operands are alive anyway ends
//! the life of its results at once.

use crate::isa::forms::Op;
use crate::place::coalesce::{reads, test_reads};
use crate::select::mir::*;
use smallvec::SmallVec;

/// Brings each block's operations into an order that keeps little alive.
pub fn for_pressure(p: &mut Program) {
    let live = crate::place::coalesce::flow(p).live();
    for b in 0..p.blocks.len() {
        let mut needed = vec![false; p.temps as usize];
        live.end[b].ones().for_each(|t| needed[t] = true);
        test_reads(p, &p.blocks[b]).iter().chain(&p.blocks[b].keeps).for_each(|t| needed[*t as usize] = true);
        let order = backward(p, &p.blocks[b].nodes, needed);
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut p.blocks[b].nodes).into_iter().map(Some).collect();
        p.blocks[b].nodes = order.into_iter().rev().filter_map(|n| nodes[n].take()).collect();
    }
}

/// The operations of a block from the last to the first; `needed` is what lives behind it.
fn backward(p: &Program, nodes: &[Node], mut needed: Vec<bool>) -> Vec<usize> {
    let read: Vec<SmallVec<[Tmp; 12]>> = nodes.iter().map(|n| distinct(reads(p, n).into_iter())).collect();
    let written: Vec<SmallVec<[Tmp; 12]>> = nodes.iter().map(|n| distinct(p.changes(n))).collect();
    let before = dependences(nodes, &read, &written, p.temps as usize);
    // How many operations still stand behind each.
    let mut behind = vec![0usize; nodes.len()];
    before.iter().flatten().for_each(|n| behind[*n] += 1);
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|n| behind[*n] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    let kept = |n: usize, needed: &[bool]| {
        let more = read[n].iter().filter(|t| !needed[**t as usize] || written[n].contains(t)).count() as i32;
        let less = written[n].iter().filter(|t| needed[**t as usize]).count() as i32;
        more - less
    };
    while let Some(k) = (0..ready.len()).min_by_key(|k| (kept(ready[*k], &needed), std::cmp::Reverse(ready[*k]))) {
        let n = ready.swap_remove(k);
        order.push(n);
        written[n].iter().for_each(|t| needed[*t as usize] = false);
        read[n].iter().for_each(|t| needed[*t as usize] = true);
        for m in &before[n] {
            behind[*m] -= 1;
            if behind[*m] == 0 {
                ready.push(*m);
            }
        }
    }
    order
}

fn distinct(all: impl Iterator<Item = Tmp>) -> SmallVec<[Tmp; 12]> {
    let mut all: SmallVec<[Tmp; 12]> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Per operation those that must stand before it.
fn dependences(nodes: &[Node], read: &[SmallVec<[Tmp; 12]>], written: &[SmallVec<[Tmp; 12]>], temps: usize) -> Vec<Vec<usize>> {
    let mut out: Vec<Vec<usize>> = Vec::with_capacity(nodes.len());
    let mut writer: Vec<Option<usize>> = vec![None; temps];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); temps];
    // Vertices and calls stay where they are.
    let (mut fence, mut since): (Option<usize>, Vec<usize>) = (None, Vec::new());
    for (n, node) in nodes.iter().enumerate() {
        let mut before: Vec<usize> = Vec::new();
        for t in &read[n] {
            before.extend(writer[*t as usize]);
            readers[*t as usize].push(n);
        }
        for t in &written[n] {
            before.extend(writer[*t as usize].replace(n));
            before.extend(std::mem::take(&mut readers[*t as usize]).into_iter().filter(|r| *r != n));
        }
        before.extend(fence);
        if matches!(node.op, Op::Call | Op::Emit) {
            before.append(&mut since);
            fence = Some(n);
        } else {
            since.push(n);
        }
        before.sort_unstable();
        before.dedup();
        out.push(before);
    }
    out
}
