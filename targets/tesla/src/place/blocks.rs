//! Which registers texture operations and wide accesses take: blocks that begin at a multiple of their size.
//!
//! Each operation gets the first block whose registers are free when its arguments are written and its results wait to be read,
//! so that a block serves again as soon as its texels are read. Only what is bound to registers counts: other values go where
//! these are not. A wrong guess costs moves and nothing else, for the allocator has the last word.

use crate::place::flow::Times;
use crate::select::mir::{Dst, Extra, MInst, Src};
use retroshade_lower::{Reg, VCode, VReg};
use retroshade_regalloc::{Occupancy, Ranges};
use std::collections::BTreeMap;

/// What an operation keeps in its block: a time for each register of it.
struct Wish {
    align: usize,
    times: Vec<Ranges>,
    /// The register in which its value is the fragment's result: there it waits anyway.
    results: Vec<Option<u8>>,
}

/// Whether some operation wants a block that it does not have yet.
pub(super) fn are_bound(vc: &VCode<MInst>) -> bool {
    let bound = |i: &MInst| matches!(&i.extra, Extra::Tex(t) if !t.pinned) || matches!(i.extra, Extra::Wide(_));
    vc.blocks.iter().flat_map(|b| &b.insts).any(|(i, _)| bound(i))
}

/// Gives each operation that has no block of its own the first that is free and ends before the register `end`.
pub(super) fn assign(vc: &mut VCode<MInst>, end: usize) {
    let overwritten = overwritten(vc);
    let times = Times::new(vc, &bound(vc, &overwritten));
    let ends = ends(vc);
    let mut taken = Occupancy::new();
    for (b, block) in vc.blocks.iter().enumerate() {
        for (n, (i, _)) in block.insts.iter().enumerate() {
            match &i.extra {
                Extra::Tex(t) if t.pinned => take(&mut taken, t.base as usize, &wish(&t.args, &t.results, b, n, &times, &ends)),
                Extra::Exit(results) => take_results(&mut taken, &overwritten, &times, results),
                _ => {}
            }
        }
    }
    for b in 0..vc.blocks.len() {
        for n in 0..vc.blocks[b].insts.len() {
            let wish = match &vc.blocks[b].insts[n].0.extra {
                Extra::Tex(t) if !t.pinned => wish(&t.args, &t.results, b, n, &times, &ends),
                Extra::Wide(w) if w.load => Wish { align: w.regs.len(), ..wish(&[], &w.regs, b, n, &times, &ends) },
                Extra::Wide(w) => Wish { align: w.regs.len(), ..wish(&w.regs, &[], b, n, &times, &ends) },
                _ => continue,
            };
            let free = |base: &usize| wish.times.iter().enumerate().all(|(k, t)| wish.waits_in(*base, k) || taken.is_free(base + k, t));
            let inside = |base: &usize| base + wish.align <= end;
            let base = (0..end).step_by(wish.align).take_while(inside).find(free).unwrap_or(0);
            take(&mut taken, base, &wish);
            match &mut vc.blocks[b].insts[n].0.extra {
                Extra::Tex(t) => t.base = base as u8,
                Extra::Wide(w) => w.base = base as u8,
                _ => {}
            }
        }
    }
}

/// The registers that operations with blocks and results name, and what results take over.
fn bound(vc: &VCode<MInst>, overwritten: &BTreeMap<VReg, VReg>) -> Vec<bool> {
    let mut bound = vec![false; vc.classes.len()];
    let mut bind = |r: &Reg| {
        if let Some(v) = r.vreg() {
            bound[v.vreg()] = true;
        }
    };
    for (i, _) in vc.blocks.iter().flat_map(|b| &b.insts) {
        match &i.extra {
            Extra::Tex(t) => t.args.iter().chain(&t.results).for_each(&mut bind),
            Extra::Wide(w) => w.regs.iter().for_each(&mut bind),
            Extra::Exit(results) => results.iter().for_each(|(r, _)| {
                let chain = std::iter::successors(r.vreg(), |v| overwritten.get(v).copied());
                chain.for_each(|v| bind(&Reg::Virtual(v)));
            }),
            _ => {}
        }
    }
    bound
}

impl Wish {
    /// Whether a value has its register anyway when the block begins at `base`.
    fn waits_in(&self, base: usize, k: usize) -> bool {
        self.results.get(k).copied().flatten().is_some_and(|n| n as usize == base + k)
    }
}

fn take(taken: &mut Occupancy, base: usize, wish: &Wish) {
    wish.times.iter().enumerate().filter(|(k, _)| !wish.waits_in(base, *k)).for_each(|(k, t)| taken.take(base + k, t));
}

/// An argument is in the block from where it is written if nothing else reads it, otherwise it is copied there at the last moment.
fn wish(args: &[Reg], results: &[Reg], b: usize, n: usize, times: &Times, ends: &BTreeMap<VReg, u8>) -> Wish {
    let at = times.at(b, n);
    let mut out = vec![Ranges::new(); args.len().max(results.len())];
    for (k, r) in args.iter().enumerate() {
        match r.vreg().filter(|v| times.is_private(*v)) {
            Some(v) => out[k].union(times.of(v)),
            None => out[k].add(at, at + 1),
        }
    }
    for (k, r) in results.iter().enumerate() {
        if let Some(v) = r.vreg() {
            out[k].union(times.of(v));
        }
    }
    let results = results.iter().map(|r| ends.get(&r.vreg()?).copied()).collect();
    Wish { align: 4, times: out, results }
}

/// The registers of the fragment's results.
fn ends(vc: &VCode<MInst>) -> BTreeMap<VReg, u8> {
    let insts = vc.blocks.iter().flat_map(|b| &b.insts);
    let results = insts.filter_map(|(i, _)| if let Extra::Exit(results) = &i.extra { Some(results) } else { None });
    results.flatten().filter_map(|(r, n)| Some((r.vreg()?, *n))).collect()
}

/// A fragment's results wait in their registers, and so do the values that they take over.
fn take_results(taken: &mut Occupancy, overwritten: &BTreeMap<VReg, VReg>, times: &Times, results: &[(Reg, u8)]) {
    for (r, n) in results {
        let mut value = r.vreg();
        while let Some(v) = value {
            taken.take(*n as usize, times.of(v));
            value = overwritten.get(&v).copied();
        }
    }
}

/// The register that each result takes over.
fn overwritten(vc: &VCode<MInst>) -> BTreeMap<VReg, VReg> {
    let mut out = BTreeMap::new();
    for (i, _) in vc.blocks.iter().flat_map(|b| &b.insts) {
        let Dst::Reg(Reg::Virtual(new)) = i.dst else { continue };
        let third = if let (true, Src::Reg(r, _)) = (i.tie3, i.src[2]) { Some(r) } else { None };
        if let Some(Reg::Virtual(old)) = i.tied.or(third) {
            out.insert(new, old);
        }
    }
    out
}
