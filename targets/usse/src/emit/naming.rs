//! How placed lanes are named in words: as a register with selectors and modifiers, as a constant that the selectors or the table of
//! constants have, as literals in attributes. The operand tables say which of these a form takes.

use super::*;

impl Expander<'_> {
    /// Ways to name some lanes as one operand: register and selectors by position, and common modifiers.
    pub(super) fn namings(&mut self, lanes: &[Option<Phys>; 4], ty: Scalar, literals: bool) -> SmallVec<[Want; 4]> {
        let mut out = SmallVec::new();
        let used: SmallVec<[(usize, Phys); 4]> =
            (0..4).filter_map(|k| lanes[k].map(|l| (k, l))).filter(|(_, l)| l.spot != Spot::Any).collect();
        if used.is_empty() {
            let sel = std::array::from_fn(|k| lanes[k].map(|_| k as u8));
            out.push(Want { reg: Reg::new(Bank::Const, 0), lanes: sel.map(|s: Option<u8>| s.map(|_| 0)), neg: false, abs: false });
            return out;
        }
        let sign = if ty == Scalar::F16 { 0x8000u32 } else { 0x8000_0000 };
        let selector = |c: u32| -> Option<u8> {
            [(0.0, ZERO), (1.0, ONE), (2.0, TWO), (0.5, HALF)].iter().find(|(x, _)| from_f32(ty, *x) == c).map(|(_, s)| *s)
        };
        let regs: SmallVec<[(usize, Phys, Bank, u16); 4]> =
            used.iter().filter_map(|(k, l)| if let Spot::At(b, u) = l.spot { Some((*k, *l, b, u)) } else { None }).collect();
        let consts: SmallVec<[(usize, u32); 4]> =
            used.iter().filter_map(|(k, l)| if let Spot::C(c) = l.spot { Some((*k, c)) } else { None }).collect();
        if let Some((_, first, bank, _)) = regs.first().copied() {
            if regs.iter().any(|(_, l, b, _)| *b != bank || l.neg != first.neg || l.abs != first.abs) {
                return out;
            }
            let mut sel: [Option<u8>; 4] = [None; 4];
            for (k, c) in &consts {
                let c = if first.neg { c ^ sign } else { *c };
                let Some(s) = selector(c) else { return out };
                sel[*k] = Some(s);
            }
            let (low, high) = regs.iter().fold((u16::MAX, 0), |(l, h), r| (l.min(r.3), h.max(r.3)));
            let align = match (bank, ty) {
                (Bank::I, _) | (_, Scalar::F16) => 4,
                _ => 2,
            };
            let base = low / align * align;
            // A scalar window may begin one pair earlier; try both.
            for base in [Some(base), (align == 2).then(|| base.checked_sub(2)).flatten()].into_iter().flatten() {
                if high - base > 3 {
                    continue;
                }
                let mut sel = sel;
                for (k, _, _, u) in &regs {
                    sel[*k] = Some((u - base) as u8);
                }
                let n = match (bank, ty) {
                    (Bank::I, _) => base / 4,
                    (_, Scalar::F16) => base / 2,
                    _ => base,
                };
                out.push(Want { reg: Reg::new(bank, n), lanes: sel, neg: first.neg, abs: first.abs });
            }
            return out;
        }
        // Constants only: selectors, the hardware table, literals; each also negated.
        for neg in [false, true] {
            let values: SmallVec<[(usize, u32); 4]> = consts.iter().map(|(k, c)| (*k, if neg { c ^ sign } else { *c })).collect();
            if let Some(sels) = values.iter().map(|(k, c)| selector(*c).map(|s| (*k, s))).collect::<Option<Vec<_>>>() {
                let mut lanes = [None; 4];
                for (k, s) in sels {
                    lanes[k] = Some(s);
                }
                out.push(Want { reg: Reg::new(Bank::Const, 0), lanes, neg, abs: false });
            }
            for n in 0..48u16 {
                let half = |k: u8| {
                    if ty == Scalar::F16 {
                        constants::CONSTANTS[n as usize][k as usize / 2] >> (16 * (k & 1)) & 0xffff
                    } else {
                        constants::CONSTANTS[n as usize][k as usize]
                    }
                };
                let lanes_of = if ty == Scalar::F16 { 4 } else { 2 };
                let mut lanes = [None; 4];
                if values.iter().all(|(k, c)| {
                    lanes[*k] = (0..lanes_of).find(|j| half(*j) == *c);
                    lanes[*k].is_some()
                }) {
                    out.push(Want { reg: Reg::new(Bank::Const, n), lanes, neg, abs: false });
                }
            }
        }
        if literals {
            let bank = if self.secondary { Bank::Pa } else { Bank::Sa };
            let mut distinct: Vec<u32> = Vec::new();
            for (_, c) in &consts {
                if !distinct.contains(c) {
                    distinct.push(*c);
                }
            }
            if ty == Scalar::F16 {
                distinct.resize(4, 0);
                let words = [distinct[0] | distinct[1] << 16, distinct[2] | distinct[3] << 16];
                let Some(at) = self.literals.place(&words) else { return out };
                let mut lanes = [None; 4];
                for (k, c) in &consts {
                    lanes[*k] = distinct.iter().position(|d| d == c).map(|p| p as u8);
                }
                out.push(Want { reg: Reg::new(bank, at), lanes, neg: false, abs: false });
            } else {
                let Some(at) = self.literals.place(&distinct) else { return out };
                let base = at & !1;
                let mut lanes = [None; 4];
                for (k, c) in &consts {
                    lanes[*k] = distinct.iter().position(|d| d == c).map(|p| p as u8 + (at - base) as u8);
                }
                out.push(Want { reg: Reg::new(bank, base), lanes, neg: false, abs: false });
            }
        }
        out
    }

    /// Some lanes as an operand of a form; literals only where nothing else fits.
    pub(super) fn name(&mut self, form: FormId, role: Role, lanes: &[Option<Phys>; 4], ty: Scalar, ctx: &[(FieldName, u64)]) -> Try {
        let o = operand(form, role)?;
        for literals in [false, true] {
            if literals && !lanes.iter().flatten().any(|l| matches!(l.spot, Spot::C(_))) {
                break;
            }
            for w in self.namings(lanes, ty, literals) {
                if let Some(e) = fits(o, &w, ctx) {
                    return Some(e);
                }
            }
        }
        None
    }

    /// The group around a lane as a form's destination.
    pub(super) fn dest(&self, form: FormId, bank: Bank, unit: u16, ty: Scalar, ctx: &[(FieldName, u64)]) -> Try {
        let o = operand(form, Dest)?;
        let n = match (bank, ty) {
            (Bank::I, _) => unit / 4,
            (_, Scalar::F16) => unit / 4 * 2,
            _ => unit & !1,
        };
        fits(o, &Want { reg: Reg::new(bank, n), lanes: [None; 4], neg: false, abs: false }, ctx)
    }

    /// One whole register as an operand.
    pub(super) fn single(&mut self, form: FormId, role: Role, l: Phys) -> Try {
        let o = operand(form, role)?;
        let reg = match l.spot {
            Spot::Any => Reg::r(0),
            Spot::At(Bank::I, u) if u & 3 == 0 => Reg::i(u / 4),
            Spot::At(Bank::I, _) => return None,
            Spot::At(b, u) => Reg::new(b, u),
            Spot::C(c) if c < 64 && role != Src0 => Reg::imm(c as u16),
            Spot::C(c) => match self.literals.place(&[c]) {
                Some(at) => Reg::new(if self.secondary { Bank::Pa } else { Bank::Sa }, at),
                // No attribute is left for a literal: an instruction carries it to an internal register, one for each operand.
                None => {
                    let n = self.scratch(role as u16 % 3).ok()?;
                    let w = self.immediate((Bank::I, n * 4), c)?;
                    self.blocks[self.at].push(w);
                    Reg::i(n)
                }
            },
        };
        // Tests on whole registers are integer tests.
        let ctx: &[(FieldName, u64)] = match form {
            VTST => &[(field!(alu_sel), 1)],
            VMOV => &[(field!(move_data_type), 2)],
            _ => &[],
        };
        fits(o, &Want { reg, lanes: [None; 4], neg: l.neg, abs: l.abs }, ctx)
    }

    /// One whole register as a destination.
    pub(super) fn dest_single(&self, form: FormId, (bank, unit): (Bank, u16)) -> Try {
        let n = if bank == Bank::I { unit / 4 } else { unit };
        fits(operand(form, Dest)?, &Want { reg: Reg::new(bank, n), lanes: [None; 4], neg: false, abs: false }, &[])
    }
}
