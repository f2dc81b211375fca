//! Loads and masks that become operands of their only user: words of s[], and 1 or 0 by a comparison.

use crate::isa::forms::{AddOp, LogicOp, Op, field};
use crate::isa::op::Effect;
use crate::select::combine::{Uses, exchange};
use crate::select::mir::{Dst, Extra, Index, MInst, Part, Src};
use retroshade_emit::FieldValue;
use retroshade_lower::{Reg, VCode, VReg};
use std::collections::{BTreeMap, BTreeSet};

/// Whether an instruction may change memory or wait for other threads.
fn changes_memory(i: &MInst) -> bool {
    let plain = matches!(i.extra, Extra::None | Extra::Mem { .. });
    let reads = i.op.effect() == Effect::Reads || matches!(i.op, Op::Mov | Op::LdC | Op::LdA);
    !(plain && (reads || matches!(i.dst, Dst::Reg(_) | Dst::Half(_) | Dst::Discard)))
}

/// Words of s[] as the first operand of the arithmetic that alone wants them, where no store comes between.
pub(super) fn fold_shared(vc: &mut VCode<MInst>, b: usize, uses: &Uses) {
    let insts = &mut vc.blocks[b].insts;
    let mut loads: BTreeMap<VReg, usize> = BTreeMap::new();
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    for n in 0..insts.len() {
        let i = &insts[n].0;
        if changes_memory(i) {
            // The header of s[] stays as it is.
            loads.retain(|_, l| !insts[*l].0.reads_shared());
        }
        if let Some((k, l)) = wants(i, &loads) {
            let (src, index) = (insts[l].0.src[0], insts[l].0.index);
            let i = &mut insts[n].0;
            if k == 1 {
                exchange(i);
            }
            (i.src[0], i.index) = (src, index);
            gone.insert(l);
            loads.retain(|_, m| *m != l);
            continue;
        }
        let i = &insts[n].0;
        if let (Op::Mov, Dst::Reg(r @ Reg::Virtual(v)), Src::S(..)) = (i.op, i.dst, i.src[0])
            && i.pred.is_none()
            && i.mods.is_empty()
            && uses.is_private(r)
        {
            loads.insert(v, n);
        }
    }
    let mut n = 0..;
    insts.retain(|_| n.next().is_some_and(|n| !gone.contains(&n)));
}

/// The operand of an instruction that may be a word of s[], and its load.
fn wants(i: &MInst, loads: &BTreeMap<VReg, usize>) -> Option<(usize, usize)> {
    let sum = i.op == Op::Add && i.modifier(field!(addop)) == AddOp::Add.raw();
    let turns = sum || matches!(i.op, Op::Fadd | Op::Fmul | Op::Fmad | Op::Fmin | Op::Fmax | Op::Min | Op::Max);
    let room = i.extra == Extra::None
        && i.index == Index::None
        && i.carry.is_none()
        && i.src.iter().all(|s| match s {
            Src::None | Src::Reg(_, Part::Full) => true,
            Src::Imm(k) => *k == 0,
            _ => false,
        });
    let compares = matches!(i.op, Op::Set | Op::Fset);
    if !room || !turns && !compares {
        return None;
    }
    let load = |k: usize| if let Src::Reg(Reg::Virtual(v), _) = i.src[k] { loads.get(&v).map(|l| (k, *l)) } else { None };
    load(0).or_else(|| load(1).filter(|_| turns))
}

/// `x + (mask & 1)` is `x - mask`: a true mask is -1.
pub(super) fn subtract_masks(vc: &mut VCode<MInst>, b: usize, uses: &Uses) {
    let insts = &mut vc.blocks[b].insts;
    let mut masks: BTreeSet<VReg> = BTreeSet::new();
    let mut ones: BTreeMap<VReg, (usize, Reg)> = BTreeMap::new();
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    for n in 0..insts.len() {
        let i = &insts[n].0;
        let plain = i.pred.is_none() && i.tied.is_none() && i.carry.is_none() && i.extra == Extra::None;
        let Dst::Reg(Reg::Virtual(v)) = i.dst else { continue };
        if !plain {
            continue;
        }
        match (i.op, i.src) {
            (Op::Set | Op::Fset, _) => drop(masks.insert(v)),
            (Op::Logic, [Src::Reg(m @ Reg::Virtual(mv), Part::Full), Src::Imm(1), _])
                if masks.contains(&mv)
                    && i.modifier(field!(lop)) == LogicOp::And.raw()
                    && i.mods.len() <= 1
                    && i.cdst.is_none()
                    && uses.is_private(Reg::Virtual(v)) =>
            {
                ones.insert(v, (n, m));
            }
            (Op::Add, [Src::Reg(..), Src::Reg(..), _]) if i.modifier(field!(addop)) == AddOp::Add.raw() && i.mods.is_empty() => {
                let one =
                    |k: usize| if let Src::Reg(Reg::Virtual(v), Part::Full) = i.src[k] { ones.get(&v).map(|o| (k, *o)) } else { None };
                let Some((k, (l, mask))) = one(1).or_else(|| one(0)) else { continue };
                let i = &mut insts[n].0;
                i.src[0] = i.src[1 - k];
                i.src[1] = Src::reg(mask);
                i.modify(field!(addop), AddOp::Sub);
                gone.insert(l);
            }
            _ => {}
        }
    }
    let mut n = 0..;
    insts.retain(|_| n.next().is_some_and(|n| !gone.contains(&n)));
}
