//! The tree of code as a flow of blocks, and when each web lives.
//!
//! Control flow is a lane's own: the arms of an `if` exclude each other although both are executed, because writes are masked.

use crate::select::mir::{Op, Step, Web, leaves};
use retroshade_regalloc::flow::{Flow, FlowBlock, Live, Point};
use retroshade_regalloc::ranges::Ranges;

/// The tree of code as a flow of blocks.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// The flow.
    pub flow: Flow,
    /// What lives at the boundaries of its blocks.
    pub live: Live,
    /// The block of each piece of straight-line code, in the tree's order.
    pub blocks: Vec<usize>,
    /// Loop depth of each.
    pub depth: Vec<u32>,
}

/// When webs live.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// The code.
    pub code: Blocks,
    /// By web.
    pub ranges: Vec<Ranges>,
    /// When each block starts.
    pub starts: Vec<u32>,
}

impl Liveness {
    /// When a piece of code starts; its points follow two apart.
    pub fn start(&self, leaf: usize) -> u32 {
        self.starts[self.code.blocks[leaf]]
    }
}

/// The blocks that lead to what comes next.
type Pending = Vec<usize>;

/// The loop around: its head, and the blocks that leave it.
struct Around {
    head: usize,
    breaks: Pending,
}

struct Walk<I> {
    flow: Flow,
    code: I,
    blocks: Vec<usize>,
    depth: Vec<u32>,
    around: Vec<Around>,
}

impl<I: Iterator<Item = Vec<Point>>> Walk<I> {
    fn block(&mut self, points: Vec<Point>, from: &[usize]) -> usize {
        self.flow.blocks.push(FlowBlock { points, ..FlowBlock::default() });
        let new = self.flow.blocks.len() - 1;
        self.edges(from, new);
        new
    }
    fn edges(&mut self, from: &[usize], to: usize) {
        from.iter().for_each(|b| self.flow.blocks[*b].succs.push(to as u32));
    }
    fn steps(&mut self, steps: &[Step], mut pending: Pending) -> Pending {
        for s in steps {
            match s {
                Step::Code(_) => {
                    let points = self.code.next().unwrap_or_default();
                    let b = self.block(points, &pending);
                    self.blocks.push(b);
                    self.depth.push(self.around.len() as u32);
                    pending = vec![b];
                }
                Step::If { then, other } => {
                    let a = self.steps(then, pending.clone());
                    let b = self.steps(other, pending);
                    pending = a;
                    pending.extend(b);
                    pending.sort_unstable();
                    pending.dedup();
                }
                Step::Loop(body, _) => {
                    let head = self.block(Vec::new(), &pending);
                    self.around.push(Around { head, breaks: Vec::new() });
                    let end = self.steps(body, vec![head]);
                    self.edges(&end, head);
                    pending = self.around.pop().map_or(Vec::new(), |a| a.breaks);
                }
                Step::BreakUnless | Step::Break => {
                    if let Some(a) = self.around.last_mut() {
                        a.breaks.extend(&pending);
                    }
                }
                Step::ContinueUnless | Step::Continue => {
                    if let Some(head) = self.around.last().map(|a| a.head) {
                        self.edges(&pending, head);
                    }
                }
            }
            if matches!(s, Step::Break | Step::Continue) {
                pending = Vec::new();
            }
        }
        pending
    }
}

/// The flow of `steps`, whose pieces of code come as points in the tree's order.
pub fn blocks(steps: &[Step], code: impl Iterator<Item = Vec<Point>>, webs: usize) -> Blocks {
    let flow = Flow { blocks: vec![FlowBlock::default()], values: webs };
    let mut w = Walk { flow, code, blocks: Vec::new(), depth: Vec::new(), around: Vec::new() };
    w.steps(steps, vec![0]);
    Blocks { live: w.flow.live(), flow: w.flow, blocks: w.blocks, depth: w.depth }
}

impl Blocks {
    /// When each web lives.
    pub fn ranges(self) -> Liveness {
        Liveness { ranges: self.flow.ranges(&self.live), starts: self.flow.starts(), code: self }
    }
    /// The webs that live on entry.
    pub fn entry(&self) -> impl Iterator<Item = Web> + '_ {
        self.live.start[0].ones().map(|w| Web(w as u32))
    }
}

/// Code before scheduling: a point for each operation.
pub fn of_operations(steps: &[Step], webs: usize) -> Blocks {
    blocks(steps, leaves(steps).into_iter().map(|l| l.iter().map(point).collect()), webs)
}

/// What an operation reads and writes, webs numbered as the allocator does.
pub fn point(o: &Op) -> Point {
    let mut p = Point::default();
    o.each_read(|w| p.reads.push(w.0));
    o.each_write(|w| p.writes.push(w.0));
    p
}
