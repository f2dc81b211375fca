//! The placement as regalloc2's checker reads it: every channel of a register is a place, every web a name.
//!
//! Control flow is a lane's own: the arms of an `if` exclude each other, because writes are masked.

use super::liveness::Position;
use crate::place::{Leaf, Placement, positions};
use crate::select::mir::{Mir, Step, Web};
use retroshade_regalloc::judge::{At, Block, Placed, Step as Placing};

struct Flow<'a> {
    mir: &'a Mir,
    place: &'a Placement,
    leaves: Vec<Vec<Position>>,
    /// Number of the next piece of straight-line code.
    leaf: usize,
    blocks: Vec<Block>,
}

impl Flow<'_> {
    fn at(&self, w: Web) -> Option<At> {
        let chan = self.mir.webs[w.0 as usize].chan.unwrap_or(0) as u32;
        Some((w.0, self.place.gpr[w.0 as usize]? as u32 * 4 + chan))
    }
    fn block(&mut self) -> usize {
        self.blocks.push(Block::default());
        self.blocks.len() - 1
    }
    fn edge(&mut self, from: Option<usize>, to: usize) {
        if let Some(from) = from {
            self.blocks[from].succs.push(to);
        }
    }
    /// Walks steps from a block (none where no lane arrives); gives the block where control goes on.
    fn walk(&mut self, steps: &[Step], mut now: Option<usize>, around: Option<(usize, usize)>) -> Option<usize> {
        for s in steps {
            match s {
                Step::Code(_) => {
                    let code = std::mem::take(&mut self.leaves[self.leaf]);
                    self.leaf += 1;
                    let Some(now) = now else { continue };
                    for p in &code {
                        let list = |webs: &[Web]| webs.iter().filter_map(|w| self.at(*w)).collect();
                        let step = Placing::Op { uses: list(&p.reads), late: Vec::new(), defs: list(&p.writes) };
                        self.blocks[now].steps.push(step);
                    }
                }
                Step::If { then, other } => {
                    let (t, o) = (self.block(), self.block());
                    self.edge(now, t);
                    self.edge(now, o);
                    let te = self.walk(then, now.map(|_| t), around);
                    let oe = self.walk(other, now.map(|_| o), around);
                    let join = self.block();
                    self.edge(te, join);
                    self.edge(oe, join);
                    now = te.or(oe).map(|_| join);
                }
                Step::Loop(body) => {
                    let (head, exit) = (self.block(), self.block());
                    self.edge(now, head);
                    let end = self.walk(body, now.map(|_| head), Some((head, exit)));
                    self.edge(end, head);
                    now = now.map(|_| exit);
                }
                Step::BreakUnless | Step::ContinueUnless => {
                    let next = self.block();
                    if let Some((head, exit)) = around {
                        self.edge(now, if matches!(s, Step::BreakUnless) { exit } else { head });
                    }
                    self.edge(now, next);
                    now = now.map(|_| next);
                }
                Step::Break | Step::Continue => {
                    if let Some((head, exit)) = around {
                        self.edge(now, if matches!(s, Step::Break) { exit } else { head });
                    }
                    now = None;
                }
            }
        }
        now
    }
}

/// The program with its places.
pub fn placed(mir: &Mir, leaves: &[Leaf], place: &Placement) -> Placed {
    let leaves = leaves.iter().enumerate().map(|(k, l)| positions(l, k, &place.dead).into_iter().map(|p| p.1).collect()).collect();
    let mut flow = Flow { mir, place, leaves, leaf: 0, blocks: Vec::new() };
    let first = flow.block();
    flow.walk(&mir.steps, Some(first), None);
    let mut out = Placed { blocks: std::mem::take(&mut flow.blocks), entry: Vec::new() };
    out.entry = out.live_at_entry().into_iter().filter_map(|w| flow.at(Web(w))).collect();
    out
}
