//! Output words that their values are computed into: `r = a + b; o[n] = r` is `o[n] = a + b`.

use crate::emit::encode::forms_of;
use crate::isa::forms::{Op, Shape, TABLE, field};
use crate::select::combine::{Uses, constant};
use crate::select::mir::{Dst, Extra, GPR, Index, MInst, Part, Src};
use retroshade_ir::Stage;
use retroshade_lower::{Reg, VCode, VReg};
use std::collections::{BTreeMap, BTreeSet};

/// A move into an output word, and what computes its only operand.
struct Route {
    off: u32,
    /// Block and instruction of the move.
    to: (usize, usize),
    from: (usize, usize),
}

/// Does so where the value has no other use; whether there was such a place.
pub(super) fn write_in_place(vc: &mut VCode<MInst>, stage: Stage) -> bool {
    let routes = routes(vc, stage);
    let mut gone: Vec<Vec<usize>> = vec![Vec::new(); vc.blocks.len()];
    for r in &routes {
        let i = &mut vc.blocks[r.from.0].insts[r.from.1].0;
        i.dst = Dst::Out(r.off);
        i.tie3 = false;
        gone[r.to.0].push(r.to.1);
    }
    for (b, gone) in gone.iter().enumerate().filter(|(_, g)| !g.is_empty()) {
        let mut n = 0..;
        vc.blocks[b].insts.retain(|_| n.next().is_some_and(|n| !gone.contains(&n)));
    }
    for b in routes.iter().map(|r| r.from.0).collect::<BTreeSet<_>>() {
        free_of_immediates(vc, b);
    }
    !routes.is_empty()
}

fn routes(vc: &mut VCode<MInst>, stage: Stage) -> Vec<Route> {
    if !matches!(stage, Stage::Vertex | Stage::Geometry) || vc.blocks.iter().flat_map(|b| &b.insts).any(|(i, _)| i.op == Op::StO) {
        return Vec::new();
    }
    let uses = Uses::new(vc);
    let mut writers: BTreeMap<u32, u32> = BTreeMap::new();
    let mut made: BTreeMap<VReg, (usize, usize)> = BTreeMap::new();
    for (b, block) in vc.blocks.iter().enumerate() {
        for (n, (i, _)) in block.insts.iter().enumerate() {
            match i.dst {
                Dst::Out(off) => *writers.entry(off).or_default() += 1,
                Dst::Reg(Reg::Virtual(v)) if is_routable(i) => drop(made.insert(v, (b, n))),
                _ => {}
            }
        }
    }
    // Whatever reaches the only end of a vertex program goes through it: a word may be written before, wherever its value is known.
    let mut ends = (0..vc.blocks.len()).filter(|b| vc.blocks[*b].targets.is_empty());
    let end = ends.next().filter(|_| stage == Stage::Vertex && ends.next().is_none());
    let mut out = Vec::new();
    for (b, block) in vc.blocks.iter().enumerate() {
        for (n, (i, _)) in block.insts.iter().enumerate() {
            let Some((off, v)) = moved_out(i).filter(|(_, v)| uses.count(Reg::Virtual(*v)) == 1) else { continue };
            let Some(from) = made.get(&v).copied() else { continue };
            let between = |(i, _): &(MInst, _)| i.dst == Dst::Out(off) || matches!(i.op, Op::Emit | Op::Restart);
            let near = from.0 == b && !block.insts[from.1..n].iter().any(between);
            let far = from.0 != b && end == Some(b) && writers.get(&off) == Some(&1);
            if near || far {
                out.push(Route { off, to: (b, n), from });
            }
        }
    }
    out
}

/// `o[off] = v`: the word and the register.
fn moved_out(i: &MInst) -> Option<(u32, VReg)> {
    match (i.op, i.dst, i.src[0]) {
        (Op::Mov, Dst::Out(off), Src::Reg(Reg::Virtual(v), Part::Full))
            if i.pred.is_none() && i.mods.is_empty() && i.index == Index::None =>
        {
            Some((off, v))
        }
        _ => None,
    }
}

/// Whether an instruction's result may be an output word: its long form says so, and a constant of its own has another place.
fn is_routable(i: &MInst) -> bool {
    let near_memory = matches!(i.op, Op::LdA | Op::LdL | Op::LdS | Op::LdG);
    let constant = matches!(i.op, Op::Mov) && matches!(i.src[0], Src::Imm(k) if k != 0);
    i.extra == Extra::None
        && i.pred.is_none()
        && i.tied.is_none()
        && i.carry.is_none()
        && !near_memory
        && !constant
        && forms_of(i.op, Shape::Long).iter().any(|f| TABLE.position(*f, field!(do)).is_some())
}

/// Immediate forms have no output words: constants beside them go into registers, those of a later load as well, which moves up.
fn free_of_immediates(vc: &mut VCode<MInst>, b: usize) {
    let old = std::mem::take(&mut vc.blocks[b].insts);
    let mut loads: BTreeMap<u32, usize> = BTreeMap::new();
    for (n, (i, _)) in old.iter().enumerate() {
        if let Some((_, k)) = constant(i) {
            loads.entry(k).or_insert(n);
        }
    }
    let mut held: BTreeMap<u32, Reg> = BTreeMap::new();
    let mut early: BTreeSet<usize> = BTreeSet::new();
    let mut new = Vec::with_capacity(old.len());
    for (n, (i, span)) in old.iter().enumerate() {
        if early.contains(&n) {
            continue;
        }
        if let Some((v, k)) = constant(i) {
            held.entry(k).or_insert(Reg::Virtual(v));
        }
        let mut i = i.clone();
        if let (Dst::Out(_), Src::Imm(k), false) = (i.dst, i.src[1], matches!(i.op, Op::Shl | Op::Shr))
            && k != 0
        {
            let r = *held.entry(k).or_insert_with(|| {
                let later = loads.get(&k).and_then(|m| Some((*m, constant(&old[*m].0)?.0)));
                let r = later.map_or_else(
                    || vc.reg(GPR, *span),
                    |(m, v)| {
                        early.insert(m);
                        Reg::Virtual(v)
                    },
                );
                new.push((MInst::new(Op::Mov, Dst::Reg(r), &[Src::Imm(k)]), *span));
                r
            });
            let part = if matches!(i.op, Op::Mul16 | Op::MadU16) { Part::Low } else { Part::Full };
            i.src[1] = Src::Reg(r, part);
        }
        new.push((i, *span));
    }
    vc.blocks[b].insts = new;
}
