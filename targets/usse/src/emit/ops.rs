//! Expansion of the operations that are not lane by lane: dot products, moves, integers, conversions, tests, memory.

use super::*;
use crate::isa::forms::{I32MAD2, SMP, V16NMAD, V32NMAD, VDP, VLDST, VMOV, VTST, field};
use retroshade_emit::FieldName;

/// VTST's fields for a relation whose answer goes to predicate `p`, under predicate `pred`.
fn outcome(rel: Rel, p: u8, pred: u64) -> [(FieldName, u64); 7] {
    let (sign, zero, both) = rel.fields();
    [
        (field!(sign_test), sign),
        (field!(zero_test), zero),
        (field!(test_crcomb_and), both),
        (field!(pdst_n), p as u64),
        (field!(dest_ext), 1),
        (field!(dest_bank), 1),
        (field!(pred), pred),
    ]
}

/// Some lanes of a group at their positions, and the mask of these.
fn picked(lanes: &[(usize, usize)], src: &[Phys]) -> (u8, [Option<Phys>; 4]) {
    let (mut mask, mut out) = (0, [None; 4]);
    for (p, k) in lanes {
        out[*p] = Some(src[*k]);
        mask |= 1u8 << p;
    }
    (mask, out)
}

/// Lane `lane` of a VPCK of bytes takes byte `byte`.
fn select_byte(w: &mut Word, lane: usize, byte: u64) {
    match lane {
        0 => {
            w.set(field!(comp_sel_0_bit0), byte & 1);
            // The lowest bit of the second source is the other one.
            w.set(field!(src2_n), byte >> 1);
        }
        1 => w.set(field!(comp_sel_1), byte),
        2 => w.set(field!(comp_sel_2), byte),
        _ => w.set(field!(comp_sel_3), byte),
    }
}

impl Expander<'_> {
    /// A vector times rows: one VDP each, with the vector in an internal register, so that the words can become one that
    /// repeats.
    pub(super) fn rows(&mut self, op: &Mop) -> Result<(), CompileError> {
        let (bank, unit, _, ty) = self.result(op)?;
        let src = self.sources(op, ty);
        let n = src[0].len();
        let ctx: &[(FieldName, u64)] = &[(field!(opcode2), (n == 4) as u64)];
        let want = |s: &[Phys]| -> [Option<Phys>; 4] { std::array::from_fn(|k| s.get(k).copied()) };
        let mut vector = want(&src[0]);
        if self.name(VDP, Src0, &vector, ty, ctx).is_none() {
            // Constants may come from the swizzle.
            let mut some = vector.map(|l| l.filter(|l| !matches!(l.spot, Spot::C(_))));
            let at = self.blocks[self.at].len();
            self.bring_inside(0, &mut some, ty)?;
            let mixed = std::array::from_fn(|k| some[k].or(vector[k]));
            if self.name(VDP, Src0, &mixed, ty, ctx).is_some() {
                vector = mixed;
            } else {
                self.blocks[self.at].truncate(at);
                self.bring_inside(0, &mut vector, ty)?;
            }
        }
        let size = if bank == Bank::I { 4 } else { 2 };
        for (k, row) in src[1..].iter().enumerate() {
            let to = unit + k as u16;
            let row = self.name(VDP, Src1, &want(row), ty, ctx).ok_or_else(|| internal("a row of a matrix"))?;
            self.vdp(bank, to, 1 << (to % size), ctx, row, &vector)?;
        }
        Ok(())
    }

    pub(super) fn dot(&mut self, op: &Mop) -> Result<(), CompileError> {
        let (bank, unit, _, ty) = self.result(op)?;
        let src = self.sources(op, ty);
        let n = src[0].len();
        let lanes = |s: &[Phys], last: Option<Phys>| -> [Option<Phys>; 4] {
            std::array::from_fn(|k| s.get(k).copied().or(if k == 3 { last } else { None }))
        };
        let c = |x: f32| Some(Phys { spot: Spot::C(from_f32(ty, x)), neg: false, abs: false });
        let group = match (bank, ty) {
            (Bank::I, _) | (_, Scalar::F16) => 4,
            _ => 2,
        };
        let mask = 1u64 << (unit % group);
        let nmad = if ty == Scalar::F16 { V16NMAD } else { V32NMAD };
        for (a, b) in [(0, 1), (1, 0)] {
            // A fourth lane of a three-lane product is 0 × 1.
            let (x, y) = (lanes(&src[a], c(0.0)), lanes(&src[b], c(1.0)));
            let Some(mut e) = self.dest(nmad, bank, unit, ty, &[]) else { break };
            let (Some(p), Some(q)) = (self.name(nmad, Src1, &x, ty, &[]), self.name(nmad, Src2, &y, ty, &[])) else { continue };
            e.extend(p);
            e.extend(q);
            e.extend([(field!(op2), 7), (field!(dest_mask), mask)]);
            self.push(nmad, e);
            return Ok(());
        }
        // VDP: one factor in an internal register, the other with a free swizzle (or in a second one).
        let want = |s: &[Phys]| -> [Option<Phys>; 4] { std::array::from_fn(|k| s.get(k).copied()) };
        for (a, b) in [(0, 1), (1, 0)] {
            let ctx: &[(FieldName, u64)] = &[(field!(opcode2), (n == 4) as u64)];
            let free = want(&src[a]);
            let Some(p) = self.name(VDP, Src1, &free, Scalar::F32, ctx).filter(|_| ty == Scalar::F32) else { continue };
            let mut fixed = want(&src[b]);
            self.bring_inside(0, &mut fixed, ty)?;
            return self.vdp(bank, unit, mask, ctx, p, &fixed);
        }
        let (mut x, mut y) = (want(&src[0]), want(&src[1]));
        self.bring_inside(0, &mut x, ty)?;
        self.bring_inside(1, &mut y, ty)?;
        let ctx: &[(FieldName, u64)] = &[(field!(opcode2), (n == 4) as u64)];
        if ty == Scalar::F16 {
            let (x, y) = (
                lanes(&x[..n].iter().flatten().copied().collect::<Vec<_>>(), c(0.0)),
                lanes(&y[..n].iter().flatten().copied().collect::<Vec<_>>(), c(1.0)),
            );
            let mut e = self.dest(nmad, bank, unit, ty, &[]).ok_or_else(|| internal("a dot product"))?;
            e.extend(self.name(nmad, Src1, &x, ty, &[]).ok_or_else(|| internal("a dot product"))?);
            e.extend(self.name(nmad, Src2, &y, ty, &[]).ok_or_else(|| internal("a dot product"))?);
            e.extend([(field!(op2), 7), (field!(dest_mask), mask)]);
            self.push(nmad, e);
            return Ok(());
        }
        let p = self.name(VDP, Src1, &y, Scalar::F32, ctx).ok_or_else(|| internal("a dot product"))?;
        self.vdp(bank, unit, mask, ctx, p, &x)
    }

    pub(super) fn vdp(
        &mut self,
        bank: Bank,
        unit: u16,
        mask: u64,
        ctx: &[(FieldName, u64)],
        src1: Encoding,
        gpi: &[Option<Phys>; 4],
    ) -> Result<(), CompileError> {
        let mut e = self.dest(VDP, bank, unit, Scalar::F32, ctx).ok_or_else(|| internal("a dot product"))?;
        e.extend(src1);
        e.extend(self.name(VDP, Src0, gpi, Scalar::F32, ctx).ok_or_else(|| internal("a dot product"))?);
        e.extend([(field!(write_mask), mask), (field!(repeat_mode), 3), ctx[0]]);
        self.push(VDP, e);
        Ok(())
    }

    /// Moves that happen at once. Words go first whose destination nobody still has to read.
    pub(super) fn moves(&mut self, mut todo: Vec<(Bank, u16, Phys, Scalar)>, pred: Option<Pred>) -> Result<(), CompileError> {
        let spot = |m: &(Bank, u16, Phys, Scalar)| Spot::At(m.0, m.1);
        // The register (not only the half) matters for hazards.
        let reg = |b: Bank, u: u16, ty: Scalar| (b, if ty == Scalar::F16 && b != Bank::I { u / 2 } else { u });
        todo.retain(|m| m.2.spot != Spot::Any && !(m.2.spot == spot(m) && m.2.plain()));
        let mut parked: Vec<((u16, u16), Spot)> = Vec::new();
        while !todo.is_empty() {
            let reads = |m: &(Bank, u16, Phys, Scalar), r: (Bank, u16)| matches!(m.2.spot, Spot::At(b, u) if reg(b, u, m.3) == r);
            let mut done = false;
            let mut n = 0;
            while n < todo.len() {
                let first = todo[n];
                let size = if first.3 == Scalar::F16 || first.0 == Bank::I { 4 } else { 2 };
                let group: Vec<usize> = (0..todo.len())
                    .filter(|k| todo[*k].0 == first.0 && todo[*k].3 == first.3 && todo[*k].1 / size == first.1 / size)
                    .collect();
                // Whole groups, then single lanes.
                let mut sets = vec![group.clone()];
                // Lanes that come from one window may go together.
                let window = |m: &(Bank, u16, Phys, Scalar)| match m.2.spot {
                    Spot::At(b, u) => Some((b, u / 4, m.2.neg, m.2.abs)),
                    _ => None,
                };
                let alike: Vec<usize> = group.iter().copied().filter(|k| window(&todo[*k]) == window(&first)).collect();
                if alike.len() > 1 && alike.len() < group.len() {
                    sets.push(alike);
                }
                if group.len() > 2 {
                    sets.extend(group.chunks(2).map(|c| c.to_vec()));
                }
                if group.len() > 1 {
                    sets.push(vec![n]);
                }
                for set in sets {
                    let safe = set.iter().all(|k| {
                        let r = reg(todo[*k].0, todo[*k].1, todo[*k].3);
                        (0..todo.len()).all(|j| set.contains(&j) || !reads(&todo[j], r))
                    });
                    if !safe {
                        continue;
                    }
                    let base = first.1 / size * size;
                    let mut lanes = [None; 4];
                    let mut mask = 0u8;
                    for k in &set {
                        let p = (todo[*k].1 - base) as usize;
                        lanes[p] = Some(todo[*k].2);
                        mask |= 1 << p;
                    }
                    if let Some(w) = self.copy_word(first.3, (first.0, base), mask, &lanes, pred) {
                        self.blocks[self.at].push(w);
                        let mut k = 0;
                        todo.retain(|_| {
                            k += 1;
                            !set.contains(&(k - 1))
                        });
                        done = true;
                        break;
                    }
                    if let (1, Spot::C(c), None) = (set.len(), first.2.spot, pred)
                        && first.0 != Bank::I
                        && first.3 != Scalar::F16
                        && let Some(w) = self.immediate((first.0, todo[set[0]].1), c)
                    {
                        self.blocks[self.at].push(w);
                        todo.remove(set[0]);
                        done = true;
                        break;
                    }
                    if set.len() == 1 {
                        // A lone lane that no copy reaches: through an internal register.
                        let mut one = lanes;
                        self.bring_inside(1, &mut one, first.3)?;
                        let w = self.copy_word(first.3, (first.0, base), mask, &one, pred).ok_or_else(|| internal("a copy"))?;
                        self.blocks[self.at].push(w);
                        todo.remove(set[0]);
                        done = true;
                        break;
                    }
                }
                if done {
                    break;
                }
                n += 1;
            }
            if !done {
                // A cycle: what stands in one of the registers to be written steps aside, so that its place is free.
                let spot_reg = |m: &(Bank, u16, Phys, Scalar)| match m.2.spot {
                    Spot::At(b, u) => Some(reg(b, u, m.3)),
                    _ => None,
                };
                // Everyone's destination is still read by another: following the readers leads into a cycle.
                let blocker = |n: usize| {
                    let d = reg(todo[n].0, todo[n].1, todo[n].3);
                    (0..todo.len()).find(|k| *k != n && spot_reg(&todo[*k]) == Some(d))
                };
                let inside = (0..todo.len()).try_fold(0, |n, _| blocker(n)).ok_or_else(|| internal("moves that wait for each other"))?;
                let r = reg(todo[inside].0, todo[inside].1, todo[inside].3);
                parked.retain(|p| todo.iter().any(|m| m.2.spot == p.1));
                let mut spots: Vec<(Spot, Scalar, u16)> = Vec::new();
                for m in todo.iter().filter(|m| spot_reg(m) == Some(r)) {
                    if !spots.iter().any(|s| s.0 == m.2.spot) {
                        spots.push((m.2.spot, m.3, m.1 & 3));
                    }
                }
                for (from, ty, wish) in spots {
                    // Whole registers are read from lane x only.
                    let mut places = vec![(2, 0), (0, 0), (1, 0)];
                    if ty != Scalar::I32 {
                        places = vec![(2, wish), (2, 0), (2, 1), (2, 2), (2, 3), (0, wish)];
                    }
                    let place = places
                        .iter()
                        .find(|p| parked.iter().all(|x| x.0 != **p))
                        .ok_or_else(|| internal("moves that wait for each other"))?;
                    let mut one = [None; 4];
                    one[place.1 as usize] = Some(Phys { spot: from, neg: false, abs: false });
                    self.bring_inside(place.0, &mut one, ty)?;
                    let there = one[place.1 as usize].map_or(from, |l| l.spot);
                    parked.push((*place, there));
                    todo.iter_mut().filter(|m| m.2.spot == from).for_each(|m| m.2.spot = there);
                }
            }
        }
        Ok(())
    }

    /// A choice lane by lane: a conditional move where one word can name everything, else a test and two moves.
    pub(super) fn conditional(&mut self, op: &Mop, rel: Option<Rel>) -> Result<(), CompileError> {
        let (bank, unit, lanes, ty) = self.result(op)?;
        let cond = self.sources(op, if rel.is_some() { Scalar::F32 } else { Scalar::I32 }).swap_remove(0);
        let src = self.sources(op, ty);
        for k in 0..lanes as usize {
            let to = (bank, unit + k as u16);
            let word = match rel {
                Some(rel) => self.move_by_sign(to, rel, cond[k], src[1][k], src[2][k]),
                None => self.move_by_flag(to, cond[k], src[1][k], src[2][k]),
            };
            if let Some(w) = word {
                self.blocks[self.at].push(w);
                continue;
            }
            let zero = Lane::c(0);
            let kind = if rel.is_some() { TestKind::Float(Scalar::F32) } else { TestKind::Signed };
            let test = Mop::new(Kind::Keep, None, vec![vec![op.src[0][k]], vec![zero]], op.span);
            self.test(&test, kind, rel.unwrap_or(Rel::Ne), 0)?;
            self.moves(vec![(bank, to.1, src[2][k], ty)], None)?;
            self.moves(vec![(bank, to.1, src[1][k], ty)], Some((0, false)))?;
        }
        Ok(())
    }

    /// VMOV on a condition of whole registers.
    fn move_by_flag(&mut self, to: (Bank, u16), cond: Phys, a: Phys, b: Phys) -> Option<Word> {
        const TYPE: (FieldName, u64) = (field!(move_data_type), 2);
        if to.0 == Bank::I || !matches!(cond.spot, Spot::At(..)) {
            return None;
        }
        let to = Want { reg: Reg::new(to.0, to.1), lanes: [None; 4], neg: false, abs: false };
        let mut e = fits(operand(VMOV, Dest)?, &to, &[TYPE])?;
        e.extend(self.single(VMOV, Src0, cond)?);
        for (role, l) in [(Src1, a), (Src2, b)] {
            e.extend(self.single(VMOV, role, l)?.into_iter().filter(|f| f.0 != field!(src0_swiz)));
        }
        e.extend([(field!(move_type), 1), (field!(test_bit_1), 1), (field!(dest_mask), 15), TYPE]);
        Some(Word::new(VMOV, e, self.span))
    }

    /// VMOV on a float compared with zero: the condition stands in the lane that is written, both values in one lane of theirs.
    fn move_by_sign(&mut self, to: (Bank, u16), rel: Rel, cond: Phys, a: Phys, b: Phys) -> Option<Word> {
        let ctx: &[(FieldName, u64)] = &[(field!(move_data_type), 5)];
        let lane = if to.0 == Bank::I { to.1 & 3 } else { to.1 & 1 };
        let Spot::At(bank, unit) = cond.spot else { return None };
        let (pair, at) = if bank == Bank::I { (unit / 4, unit & 3) } else { (unit & !1, unit & 1) };
        if at != lane {
            return None;
        }
        let one = |l: Phys| std::array::from_fn(|k| (k == lane as usize).then_some(l));
        for literals in [false, true] {
            let (first, second) = (self.namings(&one(a), Scalar::F32, literals), self.namings(&one(b), Scalar::F32, literals));
            for (x, y) in first.iter().flat_map(|x| second.iter().map(move |y| (x, y))) {
                let plain = |w: &Want| !w.neg && !w.abs;
                if x.lanes != y.lanes || !plain(x) || !plain(y) {
                    continue;
                }
                let src0 = Want { reg: Reg::new(bank, pair), lanes: [None; 4], neg: false, abs: false };
                let parts = [
                    self.dest(VMOV, to.0, to.1, Scalar::F32, ctx),
                    fits(operand(VMOV, Src0)?, &src0, ctx),
                    fits(operand(VMOV, Src1)?, x, ctx),
                    fits(operand(VMOV, Src2)?, y, ctx),
                ];
                let Some(parts) = parts.into_iter().collect::<Option<Vec<_>>>() else { continue };
                let mut e: Encoding = parts.into_iter().flatten().collect();
                let test = match rel {
                    Rel::Eq => 0,
                    Rel::Ne => 1,
                    Rel::Lt => 2,
                    Rel::Le => 3,
                    _ => return None,
                };
                e.extend([
                    (field!(move_type), 1),
                    (field!(test_bit_2), test >> 1),
                    (field!(test_bit_1), test & 1),
                    (field!(dest_mask), 1 << lane),
                    ctx[0],
                ]);
                return Some(Word::new(VMOV, e, self.span));
            }
        }
        None
    }

    pub(super) fn mad(&mut self, op: &Mop) -> Result<(), CompileError> {
        let (bank, unit, lanes, _) = self.result(op)?;
        let src = self.sources(op, Scalar::I32);
        for k in 0..lanes as usize {
            let (mut a, mut b, c) = (src[0][k], src[1][k], src[2][k]);
            if matches!(a.spot, Spot::C(_)) && !matches!(b.spot, Spot::C(_)) || a.neg && !b.neg {
                std::mem::swap(&mut a, &mut b);
            }
            if a.neg {
                a.neg = false;
                b.neg = !b.neg;
            }
            let mut e = self.dest_single(I32MAD2, (bank, unit + k as u16)).ok_or_else(|| internal("an integer product"))?;
            for (role, l) in [(Src0, a), (Src1, b), (Src2, c)] {
                let l = if let (Spot::C(v), true) = (l.spot, l.neg) {
                    Phys { spot: Spot::C(v.wrapping_neg()), neg: false, abs: false }
                } else {
                    l
                };
                e.extend(self.single(I32MAD2, role, l).ok_or_else(|| internal("an integer product"))?);
            }
            self.push(I32MAD2, e);
        }
        Ok(())
    }

    pub(super) fn convert(&mut self, op: &Mop, from: Format, to: Format, scaled: bool) -> Result<(), CompileError> {
        let (bank, unit, lanes, ty) = self.result(op)?;
        let from_ty = match from {
            Format::F16 => Scalar::F16,
            Format::F32 => Scalar::F32,
            _ => Scalar::I32,
        };
        let src = self.sources(op, from_ty);
        if scaled && from == Format::U8 {
            // Bytes of one register, as many as a word writes.
            for (first, group) in Self::groups(bank, unit, lanes, ty) {
                let (mask, lane) = (
                    group.iter().fold(0, |m, (p, _)| m | 1u8 << p),
                    group.iter().fold([None; 4], |mut l, (p, _)| {
                        l[*p] = Some(src[0][0]);
                        l
                    }),
                );
                let mut w = self.pack_word(from, to, (bank, first), mask, &lane).ok_or_else(|| internal("a conversion from bytes"))?;
                group.iter().for_each(|(p, k)| select_byte(&mut w, *p, *k as u64));
                w.set(field!(scale), 1);
                self.blocks[self.at].push(w);
            }
            return Ok(());
        }
        if scaled {
            // A colour of bytes: all lanes into one register.
            let mut lane = std::array::from_fn(|k| src[0].get(k).copied());
            let mask = (1u8 << src[0].len()) - 1;
            if self.pack_word(from, to, (bank, unit), mask, &lane).is_none() {
                self.bring_inside(0, &mut lane, from_ty)?;
            }
            let mut w = self.pack_word(from, to, (bank, unit), mask, &lane).ok_or_else(|| internal("a conversion"))?;
            w.set(field!(scale), 1);
            self.blocks[self.at].push(w);
            return Ok(());
        }
        if !to.is_float() {
            // Into the low half of a cleared register; a second source goes into the high half.
            for k in 0..lanes as usize {
                let at = (bank, unit + k as u16);
                if to == Format::U16 && self.convert_both(from, at, src[0][k], src.get(1).map(|s| s[k])) {
                    continue;
                }
                if op.src.len() == 1 {
                    let w = self
                        .bit_copy((bank, at.1), 1 << (at.1 & 1), &[Some(Phys { spot: Spot::C(0), neg: false, abs: false }); 4], None)
                        .ok_or_else(|| internal("a conversion"))?;
                    self.blocks[self.at].push(w);
                }
                for (half, s) in src.iter().enumerate() {
                    let fmt = if half == 0 && src.len() > 1 { Format::U16 } else { to };
                    let mut one = [None; 4];
                    one[half] = Some(s[k]);
                    if self.pack_word(from, fmt, at, 1 << half, &one).is_none() {
                        self.bring_inside(0, &mut one, from_ty)?;
                    }
                    let w = self.pack_word(from, fmt, at, 1 << half, &one).ok_or_else(|| internal("a conversion"))?;
                    self.blocks[self.at].push(w);
                }
            }
            return Ok(());
        }
        if !from.is_float() {
            for (first, group) in Self::groups(bank, unit, lanes, ty) {
                for one in group.chunks(1) {
                    let (p, k) = one[0];
                    let mut lane = [None; 4];
                    lane[p] = Some(self.in_register(src[0][k])?);
                    if self.pack_word(from, to, (bank, first), 1 << p, &lane).is_none() {
                        return Err(internal("a conversion from an integer"));
                    }
                    if let Some(mut w) = self.pack_word(from, to, (bank, first), 1 << p, &lane) {
                        if op.src.len() > 1 {
                            w.set(field!(comp_sel_0_bit0), 1);
                        }
                        self.blocks[self.at].push(w);
                    }
                }
            }
            return Ok(());
        }
        for (first, group) in Self::groups(bank, unit, lanes, ty) {
            let mut rest: &[(usize, usize)] = &group;
            while !rest.is_empty() {
                // As many lanes as one word takes.
                let mut n = rest.len();
                loop {
                    let (mask, mut lane) = picked(&rest[..n], &src[0]);
                    if let Some(w) = self.pack_word(from, to, (bank, first), mask, &lane) {
                        self.blocks[self.at].push(w);
                        break;
                    }
                    if to == Format::F16 && from == Format::F32 && self.convert_in_two((bank, first), rest, &src[0]) {
                        break;
                    }
                    if n == 1 || to == Format::F16 {
                        self.bring_inside(0, &mut lane, from_ty)?;
                        let w = self.pack_word(from, to, (bank, first), mask, &lane).ok_or_else(|| internal("a conversion"))?;
                        self.blocks[self.at].push(w);
                        break;
                    }
                    n -= 1;
                }
                rest = &rest[n..];
            }
        }
        Ok(())
    }

    /// Converts two f32 lanes (0 where there is no second one) to the unsigned halves of a register with one word, where there is one.
    fn convert_both(&mut self, from: Format, to: (Bank, u16), low: Phys, high: Option<Phys>) -> bool {
        if from != Format::F32 {
            return false;
        }
        let before = self.mark();
        let zero = Phys { spot: Spot::C(0), neg: false, abs: false };
        let literals = if self.secondary { Bank::Pa } else { Bank::Sa };
        let named = |x: &mut Self, l: Phys| match l.spot {
            Spot::C(c) => x.literals.place(&[c]).map(|at| Phys::at(literals, at)),
            _ => Some(l),
        };
        let word = match (named(self, low), named(self, high.unwrap_or(zero))) {
            (Some(low), Some(high)) => self.pack_word(from, Format::U16, to, 3, &[Some(low), Some(high), None, None]),
            _ => None,
        };
        match word {
            Some(w) => self.blocks[self.at].push(w),
            None => drop(self.take_back(&before)),
        }
        self.blocks[self.at].len() > before.words
    }

    /// Converts a group of f32 lanes to f16 with two words, where the first does not overwrite what the second reads.
    fn convert_in_two(&mut self, (bank, first): (Bank, u16), lanes: &[(usize, usize)], src: &[Phys]) -> bool {
        let reads = |k: usize, reg: u16| match src[k].spot {
            Spot::At(b, u) => b == bank && b != Bank::I && u == reg,
            _ => false,
        };
        for set in 1..(1u32 << lanes.len()) - 1 {
            let side = |on: u32| -> Vec<(usize, usize)> {
                lanes.iter().enumerate().filter(|(n, _)| set >> n & 1 == on).map(|(_, l)| *l).collect()
            };
            let (early, late) = (side(1), side(0));
            if early.iter().any(|(p, _)| late.iter().any(|(_, k)| reads(*k, first / 2 + *p as u16 / 2))) {
                continue;
            }
            let at = self.blocks[self.at].len();
            for half in [early, late] {
                let (mask, lane) = picked(&half, src);
                if let Some(w) = self.pack_word(Format::F32, Format::F16, (bank, first), mask, &lane) {
                    self.blocks[self.at].push(w);
                }
            }
            if self.blocks[self.at].len() == at + 2 {
                return true;
            }
            self.blocks[self.at].truncate(at);
        }
        false
    }

    /// An integer operand in a register: constants become literals, or an instruction carries them to an internal register.
    fn in_register(&mut self, l: Phys) -> Result<Phys, CompileError> {
        let c = match l.spot {
            Spot::C(c) => c,
            Spot::Any => 0,
            Spot::At(..) => return Ok(l),
        };
        if let Some(at) = self.literals.place(&[c]) {
            return Ok(Phys::at(if self.secondary { Bank::Pa } else { Bank::Sa }, at));
        }
        let n = self.scratch(0)?;
        let w = self.immediate((Bank::I, n * 4), c).ok_or_else(|| internal("an immediate"))?;
        self.blocks[self.at].push(w);
        Ok(Phys::at(Bank::I, n * 4))
    }

    pub(super) fn test(&mut self, op: &Mop, kind: TestKind, rel: Rel, p: u8) -> Result<(), CompileError> {
        let pred = Self::predicate(VTST, op.pred).ok_or_else(|| internal("a predicate"))?;
        let TestKind::Float(ty) = kind else {
            let (a, b) = (self.phys(&op.src[0][0], Scalar::I32), self.phys(&op.src[1][0], Scalar::I32));
            let mut e = self.single(VTST, Src1, a).ok_or_else(|| internal("a test"))?;
            e.retain(|f| f.0 != field!(chan_cc));
            e.extend(self.single_test(b)?);
            e.extend([(field!(alu_sel), 1), (field!(alu_op), if kind == TestKind::Signed { 14 } else { 15 })]);
            e.extend(outcome(rel, p, pred));
            self.push(VTST, e);
            return Ok(());
        };
        let (mut a, mut b) = (self.phys(&op.src[0][0], ty), self.phys(&op.src[1][0], ty));
        let mut forced = false;
        loop {
            // Literals only where nothing else fits.
            let orders = [(a, b, rel), (b, a, rel.swapped())];
            for (literals, (x, y, rel)) in [false, true].into_iter().flat_map(|l| orders.map(|o| (l, o))) {
                if let Some(mut e) = self.test_operands(x, y, ty, literals) {
                    e.extend([(field!(alu_op), 14), (field!(prec), (ty == Scalar::F32) as u64)]);
                    e.extend(outcome(rel, p, pred));
                    self.push(VTST, e);
                    return Ok(());
                }
            }
            if forced {
                return Err(internal("a test"));
            }
            forced = true;
            for (n, l) in [(0, &mut a), (1, &mut b)] {
                let mut one = [Some(*l), None, None, None];
                self.bring_inside(n, &mut one, ty)?;
                *l = one[0].unwrap_or(*l);
            }
        }
    }

    pub(super) fn single_test(&mut self, b: Phys) -> Result<Encoding, CompileError> {
        self.single(VTST, Src2, b).ok_or_else(|| internal("a test"))
    }

    /// Operands of a float test: the lanes must agree, or the second one be lane x.
    fn test_operands(&mut self, a: Phys, b: Phys, ty: Scalar, literals: bool) -> Try {
        if !b.plain() || a.abs {
            return None;
        }
        let o2 = operand(VTST, Src2)?;
        for w1 in self.namings(&[Some(a), None, None, None], ty, literals) {
            let Some(lane1) = w1.lanes[0].filter(|l| *l < 4) else { continue };
            let Some(e1) = fits(operand(VTST, Src1)?, &w1, &[(field!(alu_sel), 0)]) else { continue };
            for w2 in self.namings(&[Some(b), None, None, None], ty, literals) {
                if w2.neg || w2.abs {
                    continue;
                }
                let Some(lane2) = w2.lanes[0].filter(|l| *l < 4) else { continue };
                if lane2 != 0 && lane2 != lane1 {
                    continue;
                }
                let Some(e2) = fits(o2, &Want { lanes: [None; 4], ..w2 }, &[(field!(alu_sel), 0)]) else { continue };
                let mut e = e1.clone();
                e.extend(e2);
                e.push((field!(src2_vscomp), (lane2 == 0 && lane1 != 0) as u64));
                return Some(e);
            }
        }
        None
    }

    pub(super) fn sample(&mut self, op: &Mop, state: u16, dims: u8, lod: u8, has_lod: bool) -> Result<(), CompileError> {
        let dst = op.dst.and_then(|d| self.places.at[d.0 as usize]).ok_or_else(|| internal("a texture read"))?;
        let half = op.dst.is_some_and(|d| self.program.data(d).ty == Scalar::F16);
        let place = |l: Option<&Lane>| match l.map(|l| l.base) {
            Some(Base::V(v, 0)) => self.places.at[v.0 as usize],
            _ => None,
        };
        let (coord, level) = (place(op.src[0].first()), place(op.src.get(1).and_then(|s| s.first())));
        let coord = coord.ok_or_else(|| internal("texture coordinates"))?;
        let want = |reg: Reg| Want { reg, lanes: [None; 4], neg: false, abs: false };
        let mut e =
            fits(operand(SMP, Src0).ok_or_else(|| internal("SMP"))?, &want(coord), &[]).ok_or_else(|| internal("texture coordinates"))?;
        e.extend(
            fits(operand(SMP, Src1).ok_or_else(|| internal("SMP"))?, &want(Reg::new(Bank::Sa, state)), &[])
                .ok_or_else(|| internal("texture state"))?,
        );
        match (has_lod, level) {
            (true, Some(l)) => e.extend(
                fits(operand(SMP, Src2).ok_or_else(|| internal("SMP"))?, &want(l), &[]).ok_or_else(|| internal("a texture level"))?,
            ),
            _ => e.extend([(field!(src2_bank), 2), (field!(src2_ext), 1), (field!(src2_n), 0)]),
        }
        let coord_half = matches!(op.src[0].first().map(|l| l.base), Some(Base::V(v, _)) if self.program.data(v).ty == Scalar::F16);
        e.extend([
            (field!(dest_use_pa), (dst.bank == Bank::Pa) as u64),
            (field!(dest_n), dst.n as u64),
            (field!(fconv_type), if half { 2 } else { 3 }),
            (field!(src0_type), coord_half as u64),
            (field!(dim), dims as u64 - 1),
            (field!(lod_mode), lod as u64),
        ]);
        if !matches!(dst.bank, Bank::Pa | Bank::R) {
            return Err(internal("a texture result outside r and pa"));
        }
        self.push(SMP, e);
        self.pending.extend((0..if half { 2 } else { 4 }).map(|k| Reg::new(dst.bank, dst.n + k)));
        Ok(())
    }

    pub(super) fn load(&mut self, op: &Mop, offset: u32) -> Result<(), CompileError> {
        let d = op.dst.ok_or_else(|| internal("a load"))?;
        let dst = self.places.at[d.0 as usize].ok_or_else(|| internal("a load"))?;
        let n = self.program.data(d).lanes as u64;
        let a = self.phys(&op.src[0][0], Scalar::I32);
        let mut e = self.single(VLDST, Src0, a).ok_or_else(|| internal("a load's address"))?;
        e.extend([
            (field!(src1_bank), 2),
            (field!(src1_bank_ext), 1),
            (field!(src1_n), offset as u64),
            (field!(src2_bank), 2),
            (field!(src2_bank_ext), 1),
        ]);
        e.extend([
            (field!(op1), 1),
            (field!(mask_count), n - 1),
            (field!(dest_bank_primattr), (dst.bank == Bank::Pa) as u64),
            (field!(dest_n), dst.n as u64),
        ]);
        self.push(VLDST, e);
        self.pending.extend((0..n as u16).map(|k| Reg::new(dst.bank, dst.n + k)));
        Ok(())
    }
}
