//! Clean-up of selected code before placement, where it is known what each block holds: which form an instruction can take
//! depends on its neighbours' operands.
//!
//! * `x × 2` is `x + x`: a short form instead of an immediate one, and the same bits.
//! * c[] and p[] words read through `$a` become operands of their only user, and words of s[] and masks (`operands.rs`).
//! * A mask that is tested right behind its computation sets the flags itself.
//! * A value that is only computed to be moved over another one under a predicate is computed there, under that predicate.
//! * A multiply-add whose addend dies takes its register: short and immediate forms need that.
//! * A constant that is used once, by a tied multiply-add, becomes its immediate. Others go to constant memory (`literals.rs`); where
//!   short forms do not reach that, one that many short-capable instructions use goes into a register.
//! * Where bytes count first, or are worth it (`search.rs`), an attribute that meets c[] operands more than once goes into a register: no
//!   short form takes both.
//! * Values go straight into output words (`outputs.rs`).
//!
//! Nothing here changes a value: operands are named differently, and products by two are exact.

use crate::abi::Abi;
use crate::isa::forms::{LogicOp, Op, field};
use crate::select::mir::{Dst, Extra, GPR, Index, MInst, Part, Src};
use crate::select::{literals, operands, outputs};
use retroshade_ir::{Span, Stage};
use retroshade_lower::{MachInst, OperandConstraint, OperandKind, OperandPos, OperandVisitor, OptLevel, Reg, VCode, VReg};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// What counts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Issue slots.
    Instructions,
    /// The size of the code.
    Bytes,
}

impl Goal {
    /// What an optimisation level asks for.
    pub(crate) fn of(level: OptLevel) -> Goal {
        if level == OptLevel::Os { Goal::Bytes } else { Goal::Instructions }
    }
    /// Uses of a constant that pay for a register and a load: each saves four bytes, the load costs eight and a slot.
    fn shared(self) -> usize {
        match self {
            Goal::Bytes => 3,
            Goal::Instructions => 6,
        }
    }
    /// Uses of an attribute that pay for a register and a move: each saves four bytes, the move costs as many, and a slot of eight where those count.
    fn attribute(self) -> usize {
        match self {
            Goal::Bytes => 2,
            Goal::Instructions => 3,
        }
    }
}

/// The last byte offset of c[] that a short form reaches, and its last space.
pub(super) const SHORT_C: (u32, u8) = (0x7c, 1);

/// Runs all of it, for few bytes or for few instructions; whether values went straight into output words.
pub(crate) fn run(vc: &mut VCode<MInst>, stage: Stage, goal: Goal, abi: &mut Abi) -> bool {
    // A kernel's code is all that a launch needs.
    let literals = stage != Stage::Compute;
    let near = literals && literals::are_near(abi);
    for b in 0..vc.blocks.len() {
        vc.blocks[b].insts.iter_mut().for_each(|(i, _)| double(i));
    }
    let uses = Uses::new(vc);
    for b in 0..vc.blocks.len() {
        operands::subtract_masks(vc, b, &uses);
        if stage == Stage::Compute {
            operands::fold_shared(vc, b, &uses);
        } else {
            fold_indexed(vc, b, &uses);
        }
    }
    drop_unused(vc);
    let uses = Uses::new(vc);
    for b in 0..vc.blocks.len() {
        test_where_computed(vc, b, &uses);
        predicate(vc, b, &uses, near);
    }
    let direct = outputs::write_in_place(vc, stage);
    let uses = Uses::new(vc);
    let mut left = uses.count.clone();
    for b in 0..vc.blocks.len() {
        tie(vc, b, &uses, &mut left);
        inline_constants(vc, b, &uses);
        if !near {
            share_constants(vc, b, goal);
        }
    }
    if goal == Goal::Bytes {
        share_attributes(vc, goal);
    }
    drop_unused(vc);
    if literals {
        literals::run(vc, abi);
    }
    direct
}

/// Registers that an instruction reads and writes.
#[derive(Default)]
pub(crate) struct Fields {
    pub reads: SmallVec<[VReg; 8]>,
    pub writes: SmallVec<[VReg; 4]>,
}

impl OperandVisitor for Fields {
    fn operand(&mut self, r: &mut Reg, _: OperandConstraint, kind: OperandKind, _: OperandPos) {
        if let Some(v) = r.vreg() {
            match kind {
                OperandKind::Use => self.reads.push(v),
                OperandKind::Def => self.writes.push(v),
            }
        }
    }
}

/// The registers of an instruction.
pub(crate) fn fields(i: &mut MInst) -> Fields {
    let mut f = Fields::default();
    i.visit(&mut f);
    f
}

/// How often registers are read, and whether outside the block that writes them.
pub(super) struct Uses {
    count: Vec<u32>,
    /// Read by another block, or handed to one.
    escapes: Vec<bool>,
}

impl Uses {
    pub(super) fn new(vc: &mut VCode<MInst>) -> Uses {
        let n = vc.classes.len();
        let mut u = Uses { count: vec![0; n], escapes: vec![false; n] };
        // Within a block, registers are written before they are read.
        let mut home = vec![usize::MAX; n];
        for (k, b) in vc.blocks.iter_mut().enumerate() {
            b.params.iter().for_each(|p| home[p.vreg()] = k);
            let mut note = Note { uses: &mut u, home: &mut home, block: k };
            b.insts.iter_mut().for_each(|(i, _)| i.visit(&mut note));
            for r in b.targets.iter().flat_map(|t| &t.args) {
                u.count[r.vreg()] += 1;
                u.escapes[r.vreg()] = true;
            }
        }
        u
    }
    pub(super) fn count(&self, r: Reg) -> u32 {
        r.vreg().map_or(u32::MAX, |v| self.count.get(v.vreg()).copied().unwrap_or(u32::MAX))
    }
    /// Whether a register has one reader, in the block that writes it.
    pub(super) fn is_private(&self, r: Reg) -> bool {
        self.count(r) == 1 && !self.escapes(r)
    }
    fn escapes(&self, r: Reg) -> bool {
        r.vreg().is_none_or(|v| self.escapes.get(v.vreg()).copied().unwrap_or(true))
    }
}

/// Counts what a block's instructions read; what one writes is visited behind what it reads.
struct Note<'a> {
    uses: &'a mut Uses,
    home: &'a mut [usize],
    block: usize,
}

impl OperandVisitor for Note<'_> {
    fn operand(&mut self, r: &mut Reg, _: OperandConstraint, kind: OperandKind, _: OperandPos) {
        let Some(v) = r.vreg() else { return };
        match kind {
            OperandKind::Use => {
                self.uses.count[v.vreg()] += 1;
                self.uses.escapes[v.vreg()] |= self.home[v.vreg()] != self.block;
            }
            OperandKind::Def => self.home[v.vreg()] = self.block,
        }
    }
}

/// Whether the instruction could be short if its operands allowed.
pub(super) fn may_be_short(i: &MInst) -> bool {
    matches!(i.op, Op::Fadd | Op::Fmul | Op::Fmad)
        && matches!(i.dst, Dst::Reg(_))
        && i.cdst.is_none()
        && i.pred.is_none()
        && i.index == Index::None
        && i.modifier(field!(rnd)) == 0
        && (i.op != Op::Fmad || i.tie3)
}

/// `x × 2` as `x + x`.
fn double(i: &mut MInst) {
    if i.op == Op::Fmul
        && let [Src::Reg(r, Part::Full), Src::Imm(k), _] = i.src
        && k & 0x7fff_ffff == 2.0f32.to_bits()
        && i.modifier(field!(rnd)) == 0
    {
        let neg = i.modifier(field!(neg1)) ^ i.modifier(field!(neg2)) ^ u64::from(k >> 31);
        i.op = Op::Fadd;
        i.src = [Src::reg(r), Src::reg(r), Src::None];
        i.modify(field!(neg1), neg);
        i.modify(field!(neg2), neg);
    }
}

/// Removes what nobody reads.
fn drop_unused(vc: &mut VCode<MInst>) {
    let mut uses = Uses::new(vc);
    for b in vc.blocks.iter_mut().rev() {
        let mut keep = vec![true; b.insts.len()];
        for (n, (i, _)) in b.insts.iter_mut().enumerate().rev() {
            let value = matches!(i.op, Op::Interp | Op::InterpMul | Op::InterpFlat | Op::Fadd | Op::Fmul | Op::Fmad | Op::Add | Op::Shl);
            let pure = (value || matches!(i.op, Op::Mov | Op::LdC | Op::LdA | Op::LdL))
                && matches!(i.dst, Dst::Reg(_))
                && i.cdst.is_none()
                && matches!(i.extra, Extra::None | Extra::Mem { .. });
            if !pure {
                continue;
            }
            let f = fields(i);
            if f.writes.iter().all(|w| uses.count[w.vreg()] == 0) {
                keep[n] = false;
                f.reads.iter().for_each(|r| uses.count[r.vreg()] -= 1);
            }
        }
        let mut k = keep.into_iter();
        b.insts.retain(|_| k.next().unwrap_or(true));
    }
}

/// How often `$a1`…`$a3` are set for a sequence of indices, taken in turn.
fn address_loads(sequence: &[Index]) -> usize {
    let mut held = [Index::None; 3];
    let mut next = 0;
    let mut loads = 0;
    for i in sequence {
        if !held.contains(i) {
            held[next % 3] = *i;
            next += 1;
            loads += 1;
        }
    }
    loads
}

/// c[] and p[] words read through `$a` as operands of their only user, where that does not set `$a` more often.
fn fold_indexed(vc: &mut VCode<MInst>, b: usize, uses: &Uses) {
    let insts = &vc.blocks[b].insts;
    let mut loads: BTreeMap<VReg, usize> = BTreeMap::new();
    // Users and the operand in question.
    let mut folds: Vec<(usize, usize, usize)> = Vec::new();
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    for (n, (i, _)) in insts.iter().enumerate() {
        let plain = matches!(i.op, Op::Fadd | Op::Fmul | Op::Fmad | Op::Fmin | Op::Fmax)
            && i.index == Index::None
            && i.pred.is_none()
            && !i.src.iter().any(|s| matches!(s, Src::C(..) | Src::S(..) | Src::P(_)) || matches!(s, Src::Imm(k) if *k != 0));
        if plain {
            // c[] stands second or third, a vertex's attribute first; the other of two operands must be free to stand in its place.
            let fits = |k: usize, l: usize| match insts[l].0.src[0] {
                Src::P(_) => k < 2,
                _ => k != 0 || !matches!(i.src[1], Src::None),
            };
            let found = (0..3).rev().find_map(|k| match i.src[k] {
                Src::Reg(Reg::Virtual(v), Part::Full) => loads.get(&v).filter(|l| fits(k, **l)).map(|l| (k, *l)),
                _ => None,
            });
            if let Some((k, l)) = found {
                folds.push((n, k, l));
                taken.insert(l);
            }
        }
        let indexed = match (i.op, i.src[0]) {
            (Op::LdC, Src::C(_, off, true)) => off <= 0x1fc,
            (Op::Mov, Src::P(_)) => true,
            _ => false,
        };
        if let (Dst::Reg(r), true) = (i.dst, indexed && i.pred.is_none())
            && uses.is_private(r)
            && let Some(v) = r.vreg()
        {
            loads.insert(v, n);
        }
    }
    if folds.is_empty() {
        return;
    }
    let user: BTreeMap<usize, usize> = folds.iter().map(|(n, _, l)| (*n, *l)).collect();
    let before: Vec<Index> = insts.iter().map(|(i, _)| i.index).filter(|x| *x != Index::None).collect();
    let after: Vec<Index> = insts
        .iter()
        .enumerate()
        .filter(|(n, _)| !taken.contains(n))
        .map(|(n, (i, _))| user.get(&n).map_or(i.index, |l| insts[*l].0.index))
        .filter(|x| *x != Index::None)
        .collect();
    if address_loads(&after) > address_loads(&before) + folds.len() / 2 {
        return;
    }
    for (n, k, l) in folds {
        let (src, index) = (vc.blocks[b].insts[l].0.src[0], vc.blocks[b].insts[l].0.index);
        let i = &mut vc.blocks[b].insts[n].0;
        i.index = index;
        if k == 2 {
            i.tie3 = false;
        }
        let place = match src {
            Src::P(_) => 0,
            _ => k.max(1),
        };
        if k != place {
            exchange(i);
        }
        i.src[place] = src;
    }
}

/// Exchanges the first two operands of a sum, a product or a choice of the larger or smaller one.
pub(super) fn exchange(i: &mut MInst) {
    i.src.swap(0, 1);
    // A product has one sign.
    if i.op != Op::Fmad {
        for (a, b) in [(field!(neg1), field!(neg2)), (field!(abs1), field!(abs2))] {
            let (first, second) = (i.modifier(a), i.modifier(b));
            i.modify(a, second);
            i.modify(b, first);
        }
    }
}

/// `r = a & b; $c = flags of r | r` is one instruction with both results, or with the flags only. No other flags may be set
/// in between: there are four `$c`.
fn test_where_computed(vc: &mut VCode<MInst>, b: usize, uses: &Uses) {
    let mut masks: BTreeMap<VReg, usize> = BTreeMap::new();
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    for n in 0..vc.blocks[b].insts.len() {
        let i = &vc.blocks[b].insts[n].0;
        if let (Op::Logic, Dst::Discard, Some(c)) = (i.op, i.dst, i.cdst)
            && i.modifier(field!(lop)) == LogicOp::Or as u64
            && i.pred.is_none()
            && let [Src::Reg(r @ Reg::Virtual(v), Part::Full), Src::Reg(again, Part::Full), _] = i.src
            && r == again
            && let Some(d) = masks.get(&v).copied()
        {
            let mask = &mut vc.blocks[b].insts[d].0;
            mask.cdst = Some(c);
            // The test reads it twice.
            if uses.count(r) == 2 && !uses.escapes(r) {
                mask.dst = Dst::Discard;
            }
            gone.insert(n);
            masks.clear();
            continue;
        }
        if i.cdst.is_some() {
            masks.clear();
        }
        let plain = i.cdst.is_none() && i.pred.is_none() && i.tied.is_none() && i.index == Index::None && in_the_way(i).is_none();
        if let (Op::Logic | Op::Set | Op::Fset, Dst::Reg(Reg::Virtual(v)), true) = (i.op, i.dst, plain) {
            masks.insert(v, n);
        }
    }
    if !gone.is_empty() {
        let mut n = 0..;
        vc.blocks[b].insts.retain(|_| n.next().is_some_and(|n| !gone.contains(&n)));
    }
}

/// Arithmetic that may stand under a predicate, with operands that can be named elsewhere in the block.
fn predicable(i: &MInst, uses: &Uses) -> Option<VReg> {
    let arithmetic = matches!(
        i.op,
        Op::Fadd | Op::Fmul | Op::Fmad | Op::Fmin | Op::Fmax | Op::Add | Op::Logic | Op::Shl | Op::Shr | Op::Min | Op::Max | Op::LdC
    ) || matches!(i.op, Op::Cvt(..) | Op::CvtInt(..) | Op::Rcp | Op::Rsqrt | Op::Slct | Op::Fset | Op::Set);
    let Dst::Reg(r @ Reg::Virtual(v)) = i.dst else { return None };
    let plain = i.cdst.is_none() && i.pred.is_none() && i.carry.is_none() && i.tied.is_none();
    let named = i.index == Index::None
        && i.extra == Extra::None
        && i.src.iter().all(|s| matches!(s, Src::None | Src::Reg(_, Part::Full) | Src::Imm(_) | Src::C(_, _, false) | Src::A(_)));
    (arithmetic && plain && named && uses.is_private(r)).then_some(v)
}

/// Whether the operation has a short form.
fn has_short(i: &MInst) -> bool {
    matches!(i.op, Op::Fadd | Op::Fmul | Op::Fmad | Op::Add | Op::Rcp)
}

/// The constant of an immediate form, which has no room for a predicate. Shift counts have a field of their own.
fn in_the_way(i: &MInst) -> Option<(usize, u32)> {
    if matches!(i.op, Op::Shl | Op::Shr) {
        return None;
    }
    i.src.iter().enumerate().find_map(|(n, s)| if let Src::Imm(k) = s { (*k != 0).then_some((n, *k)) } else { None })
}

/// The registers that instructions take over for their results, in ascending order.
fn consumed(insts: &[(MInst, Span)]) -> Vec<VReg> {
    let third = |i: &MInst| if let (true, Src::Reg(r, _)) = (i.tie3, i.src[2]) { r.vreg() } else { None };
    let mut all: Vec<VReg> = insts.iter().flat_map(|(i, _)| [i.tied.and_then(Reg::vreg), third(i)]).flatten().collect();
    all.sort_unstable();
    all
}

/// `t = operation; r = t where c holds, old elsewhere` is the operation itself under the predicate, writing over `old`.
/// With `near` literals a constant of the operation costs nothing.
fn predicate(vc: &mut VCode<MInst>, b: usize, uses: &Uses, near: bool) {
    // What is moved and what is overwritten.
    let moves = vc.blocks[b].insts.iter().filter(|(i, _)| i.op == Op::Mov && i.pred.is_some() && i.tied.is_some());
    let of_move = |(i, _): &(MInst, _)| [i.tied.and_then(Reg::vreg), if let Src::Reg(r, _) = i.src[0] { r.vreg() } else { None }];
    let mut wanted: Vec<VReg> = moves.flat_map(of_move).flatten().collect();
    if wanted.is_empty() {
        return;
    }
    wanted.sort_unstable();
    wanted.dedup();
    let place = |v: &VReg| wanted.binary_search(v).ok();
    // By what is wanted: its last reader, and the operation that makes it.
    let mut last: Vec<Option<usize>> = vec![None; wanted.len()];
    for (n, (i, _)) in vc.blocks[b].insts.iter_mut().enumerate() {
        fields(i).reads.iter().filter_map(place).for_each(|v| last[v] = Some(n));
    }
    let insts = &vc.blocks[b].insts;
    let mut defined: Vec<Option<usize>> = vec![None; wanted.len()];
    let made = |v: VReg, defined: &[Option<usize>]| place(&v).and_then(|v| defined[v]);
    // The move, the operation, and whether it is the value moved and not the one overwritten.
    let mut found: Vec<(usize, usize, bool)> = Vec::new();
    let mut constants: BTreeMap<u32, usize> = BTreeMap::new();
    for (n, (i, _)) in insts.iter().enumerate() {
        if let (Op::Mov, Some(_), Some(Reg::Virtual(t)), Src::Reg(Reg::Virtual(s), Part::Full)) = (i.op, i.pred, i.tied, i.src[0])
            && i.mods.is_empty()
            && let Some((d, moved)) = made(s, &defined).map(|d| (d, true)).or(made(t, &defined).map(|d| (d, false)))
            // A value that lives on is copied first, which costs what a short operation would have.
            && (moved || place(&s).is_some_and(|s| last[s] == Some(n)) && !uses.escapes(Reg::Virtual(s)) || !(has_short(&insts[d].0) && in_the_way(&insts[d].0).is_none()))
        {
            found.push((n, d, moved));
            if let Some((_, k)) = in_the_way(&insts[d].0) {
                *constants.entry(k).or_default() += 1;
            }
        }
        if let Some(v) = predicable(i, uses).and_then(|v| place(&v)) {
            defined[v] = Some(n);
        }
    }
    // A constant needs a register now: that pays if something else has one, or if two operations share it.
    let mut loads: BTreeMap<u32, (usize, VReg)> = BTreeMap::new();
    let consumed = consumed(insts);
    for (n, (i, _)) in insts.iter().enumerate() {
        if let Some((v, k)) = constant(i).filter(|(v, k)| constants.contains_key(k) && consumed.binary_search(v).is_err()) {
            loads.entry(k).or_insert((n, v));
        }
    }
    found.retain(|(_, d, _)| in_the_way(&insts[*d].0).is_none_or(|(_, k)| near || loads.contains_key(&k) || constants.get(&k) > Some(&1)));
    if found.is_empty() {
        return;
    }
    let operations: BTreeMap<usize, (usize, bool)> = found.into_iter().map(|(n, d, moved)| (n, (d, moved))).collect();
    let gone: BTreeSet<usize> = operations.values().map(|o| o.0).collect();
    let mut held: BTreeMap<u32, Reg> = BTreeMap::new();
    let mut early: BTreeSet<usize> = BTreeSet::new();
    let old = std::mem::take(&mut vc.blocks[b].insts);
    let made: BTreeMap<usize, (MInst, Span)> = gone.iter().map(|d| (*d, old[*d].clone())).collect();
    let mut new = Vec::with_capacity(old.len());
    for (n, (i, span)) in old.into_iter().enumerate() {
        let Some((d, moved)) = operations.get(&n) else {
            if let Some((v, k)) = constant(&i)
                && loads.get(&k) == Some(&(n, v))
            {
                held.insert(k, Reg::Virtual(v));
            }
            if !gone.contains(&n) && !early.contains(&n) {
                new.push((i, span));
            }
            continue;
        };
        let (pred, tied) = match (i.pred, i.src[0]) {
            (Some((c, code)), Src::Reg(r, _)) if !moved => (Some((c, code.inverse())), Some(r)),
            _ => (i.pred, i.tied),
        };
        let mut o = MInst { dst: i.dst, pred, tied, tie3: false, ..made[d].0.clone() };
        if let Some((at, k)) = in_the_way(&o) {
            let r = *held.entry(k).or_insert_with(|| {
                // One that stands further down moves up.
                let r = match loads.get(&k) {
                    Some((m, v)) => {
                        early.insert(*m);
                        Reg::Virtual(*v)
                    }
                    None => vc.reg(GPR, span),
                };
                new.push((MInst::new(Op::Mov, Dst::Reg(r), &[Src::Imm(k)]), span));
                r
            });
            o.src[at] = Src::reg(r);
        }
        new.push((o, made[d].1));
    }
    vc.blocks[b].insts = new;
}

/// Ties multiply-adds to addends that die in them; `left` counts the reads that are still to come.
fn tie(vc: &mut VCode<MInst>, b: usize, uses: &Uses, left: &mut [u32]) {
    for (i, _) in &mut vc.blocks[b].insts {
        let f = fields(i);
        f.reads.iter().for_each(|r| left[r.vreg()] -= 1);
        if matches!(i.op, Op::Fmad | Op::MadU16)
            && !i.tie3
            && i.cdst.is_none()
            && i.pred.is_none()
            && i.tied.is_none()
            && let (Dst::Reg(_), Src::Reg(r @ Reg::Virtual(v), Part::Full)) = (i.dst, i.src[2])
            && !uses.escapes(r)
            && left[v.vreg()] == 0
        {
            i.tie3 = true;
        }
    }
}

/// A constant that only one tied multiply-add reads becomes its immediate.
fn inline_constants(vc: &mut VCode<MInst>, b: usize, uses: &Uses) {
    let mut known: BTreeMap<VReg, u32> = BTreeMap::new();
    for (i, _) in &mut vc.blocks[b].insts {
        if let Some((v, k)) = constant(i) {
            known.insert(v, k);
        }
        if i.op != Op::Fmad || !may_be_short(i) {
            continue;
        }
        for k in 0..2 {
            let (Src::Reg(r @ Reg::Virtual(v), _), Src::Reg(..)) = (i.src[k], i.src[1 - k]) else { continue };
            let Some(value) = known.get(&v) else { continue };
            if uses.count(r) == 1 && *value != 0 {
                i.src[k] = i.src[1];
                i.src[1] = Src::Imm(*value);
                break;
            }
        }
    }
}

/// A plain move of a constant: its register and the constant.
pub(super) fn constant(i: &MInst) -> Option<(VReg, u32)> {
    match (i.op, i.dst, i.src[0]) {
        (Op::Mov, Dst::Reg(Reg::Virtual(v)), Src::Imm(k)) if i.pred.is_none() && i.tied.is_none() => Some((v, k)),
        _ => None,
    }
}

/// The constant of an instruction that would be short without it.
fn shareable(i: &MInst) -> Option<u32> {
    match i.src {
        [Src::Reg(..), Src::Imm(k), _] if k != 0 && may_be_short(i) => Some(k & 0x7fff_ffff),
        _ => None,
    }
}

/// Constants that several instructions of a block use.
fn share_constants(vc: &mut VCode<MInst>, b: usize, goal: Goal) {
    let mut count: BTreeMap<u32, usize> = BTreeMap::new();
    for (i, _) in &vc.blocks[b].insts {
        if let Some(k) = shareable(i) {
            *count.entry(k).or_default() += 1;
        }
    }
    let of_count = |k: u32| count.get(&(k & 0x7fff_ffff));
    let loaded = |i: &MInst| constant(i).is_some_and(|(_, k)| of_count(k).is_some());
    if count.values().all(|n| *n < goal.shared()) && !vc.blocks[b].insts.iter().any(|(i, _)| loaded(i)) {
        return;
    }
    // A register that an instruction takes over for its result cannot be shared.
    let consumed = consumed(&vc.blocks[b].insts);
    let mut held: BTreeMap<u32, (Reg, bool)> = BTreeMap::new();
    let old = std::mem::take(&mut vc.blocks[b].insts);
    let mut new = Vec::with_capacity(old.len());
    for (mut i, span) in old {
        if let Some((v, k)) = constant(&i).filter(|c| consumed.binary_search(&c.0).is_err()) {
            held.entry(k & 0x7fff_ffff).or_insert((Reg::Virtual(v), k >> 31 == 1));
        }
        if let Some(k) = shareable(&i)
            && let Src::Imm(value) = i.src[1]
            && (held.contains_key(&k) || count.get(&k).is_some_and(|n| *n >= goal.shared()))
        {
            let (r, negative) = *held.entry(k).or_insert_with(|| {
                let r = vc.reg(GPR, span);
                new.push((MInst::new(Op::Mov, Dst::Reg(r), &[Src::Imm(k)]), span));
                (r, false)
            });
            i.src[1] = Src::reg(r);
            if negative != (value >> 31 == 1) {
                let field = if i.op == Op::Fmad { field!(neg1) } else { field!(neg2) };
                let old = i.modifier(field);
                i.modify(field, old ^ 1);
            }
        }
        new.push((i, span));
    }
    vc.blocks[b].insts = new;
}

/// The attribute of an instruction that would be short if it were in a register.
fn attribute_beside_constant(i: &MInst) -> Option<u32> {
    let Src::A(off) = i.src[0] else { return None };
    let c = i.src[1..].iter().find_map(|s| if let Src::C(space, off, false) = s { Some((*off, *space)) } else { None })?;
    (may_be_short(i) && c.0 <= SHORT_C.0 && c.1 <= SHORT_C.1).then_some(off)
}

/// Attributes that meet c[] operands often enough go into registers, block by block; whether there were any.
pub(crate) fn share_attributes(vc: &mut VCode<MInst>, goal: Goal) -> bool {
    let mut any = false;
    for b in 0..vc.blocks.len() {
        any |= share_in_block(vc, b, goal.attribute());
    }
    any
}

fn share_in_block(vc: &mut VCode<MInst>, b: usize, least: usize) -> bool {
    let mut count: BTreeMap<u32, usize> = BTreeMap::new();
    for (i, _) in &vc.blocks[b].insts {
        if let Some(off) = attribute_beside_constant(i) {
            *count.entry(off).or_default() += 1;
        }
    }
    if !count.values().any(|n| *n >= least) {
        return false;
    }
    let mut held: BTreeMap<u32, Reg> = BTreeMap::new();
    let old = std::mem::take(&mut vc.blocks[b].insts);
    let mut new = Vec::with_capacity(old.len());
    for (mut i, span) in old {
        if let Some(off) = attribute_beside_constant(&i).filter(|off| count.get(off).is_some_and(|n| *n >= least)) {
            let r = *held.entry(off).or_insert_with(|| {
                let r = vc.reg(GPR, span);
                new.push((MInst::new(Op::Mov, Dst::Reg(r), &[Src::A(off)]), span));
                r
            });
            i.src[0] = Src::reg(r);
        }
        new.push((i, span));
    }
    vc.blocks[b].insts = new;
    true
}
