//! What the code reads and writes, and when each of its registers lives.

use crate::select::combine::fields;
use crate::select::mir::{Extra, MInst};
use retroshade_lower::{VCode, VReg};
use retroshade_regalloc::{Flow, FlowBlock, Live, Point, Ranges};
use std::collections::BTreeSet;

/// The code as reads and writes: a point for a block's parameters, then one for each instruction; the last also reads what goes to
/// the next block.
pub(super) fn flow(vc: &mut VCode<MInst>) -> Flow {
    let values = vc.classes.len();
    let number = |v: &VReg| v.vreg() as u32;
    let blocks = vc
        .blocks
        .iter_mut()
        .map(|b| {
            let mut points = vec![Point { writes: b.params.iter().map(number).collect(), ..Point::default() }];
            points.extend(b.insts.iter_mut().map(|(i, _)| {
                let f = fields(i);
                Point { reads: f.reads.iter().map(number).collect(), writes: f.writes.iter().map(number).collect(), ..Point::default() }
            }));
            if let Some(last) = points.last_mut() {
                last.reads.extend(b.targets.iter().flat_map(|t| &t.args).map(number));
            }
            FlowBlock { points, succs: b.targets.iter().map(|t| t.block as u32).collect() }
        })
        .collect();
    Flow { blocks, values }
}

/// Registers live at each block's end, and those that it hands on.
pub(crate) type LiveOut = Vec<Vec<VReg>>;

/// Finds them.
pub(crate) fn live_out(vc: &mut VCode<MInst>) -> LiveOut {
    let Live { end, .. } = flow(vc).live();
    let of = |n: usize| VReg::new(n, vc.classes[n]);
    let handed = |b: usize| vc.blocks[b].targets.iter().flat_map(|t| &t.args).copied();
    (0..vc.blocks.len())
        .map(|b| {
            let mut out: Vec<VReg> = end[b].ones().map(of).chain(handed(b)).collect();
            out.sort_unstable();
            out.dedup();
            out
        })
        .collect()
}

/// Registers live at each block's start.
pub(super) fn live_in(vc: &mut VCode<MInst>) -> Vec<BTreeSet<VReg>> {
    let start = flow(vc).live().start;
    start.iter().map(|l| l.ones().map(|n| VReg::new(n, vc.classes[n])).collect()).collect()
}

/// When each register lives.
pub(super) struct Times {
    starts: Vec<u32>,
    ranges: Vec<Ranges>,
    private: Vec<bool>,
}

impl Times {
    /// Of a program.
    pub(super) fn new(vc: &mut VCode<MInst>) -> Times {
        let flow = flow(vc);
        let mut reads = vec![0u32; flow.values];
        flow.blocks.iter().flat_map(|b| &b.points).flat_map(|p| &p.reads).for_each(|v| reads[*v as usize] += 1);
        let mut private: Vec<bool> = reads.iter().map(|n| *n == 1).collect();
        for b in &mut vc.blocks {
            let elsewhere = b.insts.iter_mut().filter(|(i, _)| matches!(i.extra, Extra::Tex(_) | Extra::Wide(_) | Extra::Entry(_)));
            let elsewhere = elsewhere.flat_map(|(i, _)| fields(i).writes).chain(b.params.iter().copied());
            elsewhere.for_each(|v| private[v.vreg()] = false);
        }
        Times { starts: flow.starts(), ranges: flow.ranges(&flow.live()), private }
    }
    /// When a block's instruction reads its operands.
    pub(super) fn at(&self, block: usize, inst: usize) -> u32 {
        self.starts[block] + 2 * (inst as u32 + 1)
    }
    /// When a register lives.
    pub(super) fn of(&self, v: VReg) -> &Ranges {
        &self.ranges[v.vreg()]
    }
    /// Whether a register has one reader and is bound nowhere else.
    pub(super) fn is_private(&self, v: VReg) -> bool {
        self.private[v.vreg()]
    }
}
