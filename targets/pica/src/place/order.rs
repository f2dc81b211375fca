//! An order of operations in which few components are alive at once.

use crate::isa::forms::Op;
use crate::place::coalesce::{flow, reads, test_reads};
use crate::select::mir::*;
use retroshade_regalloc::order::{arrange, dependences, for_pressure as order};
use retroshade_regalloc::{Point, ValueSet};

/// Brings each block's operations into an order that keeps little alive.
pub fn for_pressure(p: &mut Program) {
    let live = flow(p).live();
    for b in 0..p.blocks.len() {
        let mut needed = ValueSet::with_capacity(p.temps as usize);
        live.end[b].ones().for_each(|t| needed.insert(t));
        test_reads(p, &p.blocks[b]).iter().chain(&p.blocks[b].keeps).for_each(|t| needed.insert(*t as usize));
        let nodes = &p.blocks[b].nodes;
        let point = |n: &Node| Point { reads: reads(p, n).into_iter().collect(), writes: p.changes(n).collect(), ..Point::default() };
        let points: Vec<Point> = nodes.iter().map(point).collect();
        // Vertices and calls stay where they are.
        let before = dependences(&points, p.temps as usize, |n| matches!(nodes[n].op, Op::Call | Op::Emit));
        arrange(&mut p.blocks[b].nodes, &order(&points, &before, needed));
    }
}
