//! What the code reads and writes, and when each of its registers lives.

use crate::select::combine::fields;
use crate::select::mir::{Extra, MInst};
use retroshade_lower::{MachInst, OperandConstraint, OperandKind, OperandPos, OperandVisitor, Reg, VCode, VReg};
use retroshade_regalloc::flow::{Touched, solve};
use retroshade_regalloc::{Live, Ranges};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// What lives at the blocks' boundaries, by number.
fn live(vc: &mut VCode<MInst>) -> Live {
    /// What a block reads of before it, and what it writes.
    struct Touches {
        block: u32,
        read_in: Vec<u32>,
        written_in: Vec<u32>,
        reads: Touched,
        writes: Touched,
    }
    impl Touches {
        fn read(&mut self, v: VReg) {
            let (v, b) = (v.vreg(), self.block);
            if self.written_in[v] != b && std::mem::replace(&mut self.read_in[v], b) != b {
                self.reads.push((v as u32, b));
            }
        }
        fn write(&mut self, v: VReg) {
            let (v, b) = (v.vreg(), self.block);
            if std::mem::replace(&mut self.written_in[v], b) != b {
                self.writes.push((v as u32, b));
            }
        }
    }
    // What an instruction writes is visited behind what it reads.
    impl OperandVisitor for Touches {
        fn operand(&mut self, r: &mut Reg, _: OperandConstraint, kind: OperandKind, _: OperandPos) {
            match (r.vreg(), kind) {
                (Some(v), OperandKind::Use) => self.read(v),
                (Some(v), OperandKind::Def) => self.write(v),
                _ => {}
            }
        }
    }
    let nowhere = vec![u32::MAX; vc.classes.len()];
    let mut t = Touches { block: 0, read_in: nowhere.clone(), written_in: nowhere, reads: Touched::new(), writes: Touched::new() };
    let mut preds = vec![SmallVec::new(); vc.blocks.len()];
    for (n, b) in vc.blocks.iter_mut().enumerate() {
        t.block = n as u32;
        b.params.iter().for_each(|v| t.write(*v));
        b.insts.iter_mut().for_each(|(i, _)| i.visit(&mut t));
        b.targets.iter().flat_map(|to| &to.args).for_each(|v| t.read(*v));
        b.targets.iter().for_each(|to| preds[to.block].push(n as u32));
    }
    solve(&preds, t.reads, t.writes)
}

/// Registers live at each block's end, and those that it hands on.
pub(crate) type LiveOut = Vec<Vec<VReg>>;

/// Registers live at each block's start.
pub(super) type LiveIn = Vec<BTreeSet<VReg>>;

/// Finds those that live at the blocks' ends.
pub(crate) fn live_out(vc: &mut VCode<MInst>) -> LiveOut {
    let live = live(vc);
    ends(vc, &live)
}

/// Finds those that live at the blocks' starts.
pub(super) fn live_in(vc: &mut VCode<MInst>) -> LiveIn {
    let live = live(vc);
    starts(vc, &live)
}

/// Finds both.
pub(super) fn live_in_and_out(vc: &mut VCode<MInst>) -> (LiveIn, LiveOut) {
    let live = live(vc);
    (starts(vc, &live), ends(vc, &live))
}

fn ends(vc: &VCode<MInst>, live: &Live) -> LiveOut {
    let of = |n: usize| VReg::new(n, vc.classes[n]);
    let handed = |b: usize| vc.blocks[b].targets.iter().flat_map(|t| &t.args).copied();
    (0..vc.blocks.len())
        .map(|b| {
            let mut out: Vec<VReg> = live.end[b].ones().map(of).chain(handed(b)).collect();
            out.sort_unstable();
            out.dedup();
            out
        })
        .collect()
}

fn starts(vc: &VCode<MInst>, live: &Live) -> LiveIn {
    live.start.iter().map(|l| l.ones().map(|n| VReg::new(n, vc.classes[n])).collect()).collect()
}

/// When registers live: a point for a block's parameters, then one for each instruction, and what goes to the next block is read with the
/// last one; two times a point, the first for reads, the second for writes.
pub(super) struct Times {
    starts: Vec<u32>,
    ranges: Vec<Ranges>,
    private: Vec<bool>,
}

impl Times {
    /// Of those registers of a program that are asked for.
    pub(super) fn new(vc: &mut VCode<MInst>, asked: &[bool]) -> Times {
        let values = vc.classes.len();
        let live = live(vc);
        let mut starts = vec![0];
        let mut reads = vec![0u32; values];
        let mut elsewhere = vec![false; values];
        let mut ranges = vec![Ranges::new(); values];
        // The end of the stretch that is open for each register; 0 where none is.
        let mut open = vec![0u32; values];
        let mut found: Vec<(usize, u32, u32)> = Vec::new();
        for (b, block) in vc.blocks.iter_mut().enumerate() {
            let start = starts[b];
            let end = start + 2 * (block.insts.len() as u32 + 1) + 2;
            let wanted = |v: usize| asked[v];
            live.end[b].ones().filter(|v| wanted(*v)).for_each(|v| open[v] = end);
            let mut touched: Vec<usize> = live.end[b].ones().filter(|v| wanted(*v)).collect();
            let mut read = |v: VReg, at: u32, open: &mut [u32]| {
                let v = v.vreg();
                reads[v] += 1;
                if wanted(v) {
                    open[v] = open[v].max(at + 1);
                    touched.push(v);
                }
            };
            let mut write = |v: VReg, at: u32, open: &mut [u32]| {
                if wanted(v.vreg()) {
                    let to = std::mem::take(&mut open[v.vreg()]);
                    found.push((v.vreg(), at + 1, to.max(at + 2)));
                }
            };
            block.targets.iter().flat_map(|t| &t.args).for_each(|v| read(*v, end - 4, &mut open));
            for (n, (i, _)) in block.insts.iter_mut().enumerate().rev() {
                let at = start + 2 * (n as u32 + 1);
                let f = fields(i);
                f.writes.iter().for_each(|v| write(*v, at, &mut open));
                f.reads.iter().for_each(|v| read(*v, at, &mut open));
                if matches!(i.extra, Extra::Tex(_) | Extra::Wide(_) | Extra::Entry(_)) {
                    f.writes.iter().for_each(|v| elsewhere[v.vreg()] = true);
                }
            }
            for v in &block.params {
                write(*v, start, &mut open);
                elsewhere[v.vreg()] = true;
            }
            for v in touched {
                let to = std::mem::take(&mut open[v]);
                if to > 0 {
                    found.push((v, start, to));
                }
            }
            // Stretches were found from the last to the first.
            found.drain(..).rev().for_each(|(v, from, to)| ranges[v].add(from, to));
            starts.push(end);
        }
        let private = reads.iter().zip(elsewhere).map(|(reads, elsewhere)| *reads == 1 && !elsewhere).collect();
        Times { starts, ranges, private }
    }
    /// When a block's instruction reads its operands.
    pub(super) fn at(&self, block: usize, inst: usize) -> u32 {
        self.starts[block] + 2 * (inst as u32 + 1)
    }
    /// When a register lives that was asked for.
    pub(super) fn of(&self, v: VReg) -> &Ranges {
        &self.ranges[v.vreg()]
    }
    /// Whether a register has one reader and is bound nowhere else.
    pub(super) fn is_private(&self, v: VReg) -> bool {
        self.private[v.vreg()]
    }
}
