//! Values are made again: one that only waits where registers are scarcest, and whose operands wait there, too, is made anew where it
//! is read. That takes an instruction, and a register less.

use crate::isa::op::Unit;
use crate::place::flow;
use crate::place::sched::counts;
use crate::place::sink::is_movable;
use crate::select::combine::fields;
use crate::select::mir::MInst;
use retroshade_ir::Span;
use retroshade_lower::{MachInst, OperandConstraint, OperandKind, OperandPos, OperandVisitor, Reg, VCode, VReg};
use std::collections::{BTreeMap, BTreeSet};

/// Values that are made again, at most.
const MOST: usize = 12;

/// Where most registers are taken: in a block, from before its instruction `first` to before its instruction `last`.
struct Peak {
    block: usize,
    first: usize,
    last: usize,
    /// What lives there at last.
    live: BTreeSet<VReg>,
}

fn peak(vc: &mut VCode<MInst>, out: &flow::LiveOut) -> Peak {
    let mut most = 0;
    let mut peak = Peak { block: 0, first: 0, last: 0, live: BTreeSet::new() };
    let mut is_live = vec![false; vc.classes.len()];
    for (b, block) in vc.blocks.iter_mut().enumerate() {
        let (mut seen, mut now) = (Vec::new(), 0);
        let mut add = |v: &VReg, now: &mut usize, is_live: &mut [bool]| {
            if counts(*v) && !std::mem::replace(&mut is_live[v.vreg()], true) {
                seen.push(*v);
                *now += 1;
            }
        };
        let mut see = |n: usize, now: usize| {
            if now > most {
                (most, peak.block, peak.first, peak.last) = (now, b, n, n);
            } else if now == most && peak.block == b {
                peak.first = n;
            }
        };
        out[b].iter().for_each(|v| add(v, &mut now, &mut is_live));
        for (n, (i, _)) in block.insts.iter_mut().enumerate().rev() {
            let f = fields(i);
            f.writes.iter().for_each(|w| add(w, &mut now, &mut is_live));
            see(n + 1, now);
            f.writes.iter().for_each(|w| now -= usize::from(std::mem::take(&mut is_live[w.vreg()])));
            f.reads.iter().for_each(|v| add(v, &mut now, &mut is_live));
        }
        see(0, now);
        seen.iter().for_each(|v| is_live[v.vreg()] = false);
    }
    if let Some(block) = vc.blocks.get_mut(peak.block) {
        peak.live = live_before(&mut block.insts, peak.last, &out[peak.block]);
    }
    peak
}

/// What takes registers before an instruction of a block, unused results of the one before included.
fn live_before(insts: &mut [(MInst, Span)], inst: usize, out: &[VReg]) -> BTreeSet<VReg> {
    let mut live: BTreeSet<VReg> = out.iter().copied().filter(|v| counts(*v)).collect();
    for (n, (i, _)) in insts.iter_mut().enumerate().rev() {
        let f = fields(i);
        live.extend(f.writes.iter().filter(|w| counts(**w)));
        if n + 1 == inst {
            break;
        }
        f.writes.iter().for_each(|w| {
            live.remove(w);
        });
        live.extend(f.reads.iter().filter(|v| counts(**v)));
    }
    live
}

/// Where a register is written, and the instructions that read it.
#[derive(Default)]
struct Places {
    home: Option<(usize, usize)>,
    readers: Vec<(usize, usize)>,
    handed: bool,
}

/// Makes values again until at most `limit` registers are live at once; says whether that is so then.
pub(crate) fn run(vc: &mut VCode<MInst>, limit: usize) -> bool {
    for _ in 0..MOST {
        let (starts, ends) = flow::live_in_and_out(vc);
        let peak = peak(vc, &ends);
        if peak.live.len() <= limit {
            return true;
        }
        let places = places(vc);
        // The one that takes fewest instructions, those in loops counted more.
        let depths: Vec<u32> = vc.blocks.iter().map(|b| b.loop_depth.min(6)).collect();
        let cost = |at: &[(usize, usize)]| at.iter().map(|(b, _)| 1u64 << (3 * depths[*b])).sum::<u64>();
        let wins = peak.live.iter().filter_map(|v| Some((repeats(vc, *v, &peak, &places, &starts)?, *v)));
        let Some((at, v)) = wins.min_by_key(|(at, v)| (cost(at), *v)) else { return false };
        let home = places[v.vreg()].home;
        repeat(vc, v, home, &at);
    }
    false
}

fn places(vc: &mut VCode<MInst>) -> Vec<Places> {
    let mut places: Vec<Places> = std::iter::repeat_with(Places::default).take(vc.classes.len()).collect();
    for (b, block) in vc.blocks.iter_mut().enumerate() {
        for (n, (i, _)) in block.insts.iter_mut().enumerate() {
            let f = fields(i);
            f.writes.iter().for_each(|w| places[w.vreg()].home = Some((b, n)));
            f.reads.iter().for_each(|r| places[r.vreg()].readers.push((b, n)));
        }
        block.targets.iter().flat_map(|t| &t.args).for_each(|v| places[v.vreg()].handed = true);
    }
    places
}

/// Where a value has to be made again so that it does not wait at the peak: before the first reader of each block, and of what is
/// behind the peak in its block. `None` if that gains nothing.
fn repeats(vc: &mut VCode<MInst>, v: VReg, peak: &Peak, places: &[Places], starts: &[BTreeSet<VReg>]) -> Option<Vec<(usize, usize)>> {
    let p = &places[v.vreg()];
    let (hb, hn) = p.home.filter(|_| !p.handed)?;
    let i = &mut vc.blocks[hb].insts[hn].0;
    let f = fields(i);
    if f.writes.len() != 1 || !matches!(i.op.unit(), Unit::Alu | Unit::Near) || !is_movable(i, &f) {
        return None;
    }
    let within = |(b, n): (usize, usize)| b == peak.block && (peak.first..=peak.last).contains(&n);
    if within((hb, hn + 1)) || p.readers.iter().any(|r| within(*r)) {
        return None;
    }
    // Parts: a block, or what of the peak's block is behind it.
    let part = |(b, n): (usize, usize)| (b, b == peak.block && n >= peak.last);
    let mut first: BTreeMap<(usize, bool), usize> = BTreeMap::new();
    for r in &p.readers {
        let n = first.entry(part(*r)).or_insert(r.1);
        *n = (*n).min(r.1);
    }
    let own = part((hb, hn));
    let behind = |(b, after): (usize, bool)| if after && b == peak.block { &peak.live } else { &starts[b] };
    let there = first.keys().filter(|k| **k != own).all(|k| f.reads.iter().all(|r| behind(*k).contains(r)));
    let at: Vec<(usize, usize)> = first.into_iter().filter(|(k, _)| *k != own).map(|((b, _), n)| (b, n)).collect();
    (there && !at.is_empty()).then_some(at)
}

/// Makes a value again at some places.
fn repeat(vc: &mut VCode<MInst>, v: VReg, home: Option<(usize, usize)>, at: &[(usize, usize)]) {
    struct Rename(VReg, VReg);
    impl OperandVisitor for Rename {
        fn operand(&mut self, r: &mut Reg, _: OperandConstraint, _: OperandKind, _: OperandPos) {
            if *r == Reg::Virtual(self.0) {
                *r = Reg::Virtual(self.1);
            }
        }
    }
    let Some((hb, hn)) = home else { return };
    let (recipe, span): (MInst, Span) = vc.blocks[hb].insts[hn].clone();
    for (b, n) in at.iter().rev() {
        let new = vc.vreg(v.class(), span);
        let mut rename = Rename(v, new);
        let mut made = recipe.clone();
        made.visit(&mut rename);
        let end = at.iter().filter(|o| o.0 == *b && o.1 > *n).map(|o| o.1).min().unwrap_or(usize::MAX);
        vc.blocks[*b].insts.iter_mut().skip(*n).take(end - n).for_each(|(i, _)| i.visit(&mut rename));
        vc.blocks[*b].insts.insert(*n, (made, span));
    }
    let read = vc.blocks.iter_mut().flat_map(|b| &mut b.insts).any(|(i, _)| fields(i).reads.contains(&v));
    if !read {
        vc.blocks[hb].insts.retain_mut(|(i, _)| !fields(i).writes.contains(&v));
    }
}
