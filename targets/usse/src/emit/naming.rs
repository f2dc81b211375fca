//! How placed lanes are named in words: as a register with selectors and modifiers, as a constant that the selectors or the table of
//! constants have, as literals in attributes. The operand tables say which of these a form takes.

use super::*;

impl Expander<'_> {
    /// Names some lanes as one operand, by register and selectors by position and common modifiers: the first way that is taken.
    fn naming(lanes: &[Option<Phys>; 4], ty: Scalar, mut take: impl FnMut(&Want) -> Try) -> Try {
        let (mut first, mut alike, mut low, mut high, mut used): (Option<(Phys, Bank)>, _, _, _, _) = (None, true, u16::MAX, 0, false);
        for l in lanes.iter().flatten() {
            used |= l.spot != Spot::Any;
            if let Spot::At(bank, u) = l.spot {
                let (f, b) = *first.get_or_insert((*l, bank));
                alike &= b == bank && f.neg == l.neg && f.abs == l.abs;
                (low, high) = (u.min(low), u.max(high));
            }
        }
        if !used {
            return take(&Want { reg: Reg::new(Bank::Const, 0), lanes: lanes.map(|l| l.map(|_| 0)), neg: false, abs: false });
        }
        let sign = if ty == Scalar::F16 { 0x8000u32 } else { 0x8000_0000 };
        let selector = |c: u32| -> Option<u8> {
            [(0.0, ZERO), (1.0, ONE), (2.0, TWO), (0.5, HALF)].iter().find(|(x, _)| from_f32(ty, *x) == c).map(|(_, s)| *s)
        };
        let consts = || (0..4).filter_map(|k| if let Spot::C(c) = lanes[k]?.spot { Some((k, c)) } else { None });
        if let Some((first, bank)) = first {
            if !alike {
                return None;
            }
            let mut sel: [Option<u8>; 4] = [None; 4];
            for (k, c) in consts() {
                sel[k] = Some(selector(if first.neg { c ^ sign } else { c })?);
            }
            let align = match (bank, ty) {
                (Bank::I, _) | (_, Scalar::F16) => 4,
                _ => 2,
            };
            let base = low / align * align;
            // A scalar window may begin one pair earlier; try both.
            return [Some(base), (align == 2).then(|| base.checked_sub(2)).flatten()].into_iter().flatten().find_map(|base| {
                if high - base > 3 {
                    return None;
                }
                for k in 0..4 {
                    if let Some(Phys { spot: Spot::At(_, u), .. }) = lanes[k] {
                        sel[k] = Some((u - base) as u8);
                    }
                }
                let n = match (bank, ty) {
                    (Bank::I, _) => base / 4,
                    (_, Scalar::F16) => base / 2,
                    _ => base,
                };
                take(&Want { reg: Reg::new(bank, n), lanes: sel, neg: first.neg, abs: first.abs })
            });
        }
        // Constants only: selectors, the hardware table; each also negated.
        [false, true].into_iter().find_map(|neg| {
            let value = |c: u32| if neg { c ^ sign } else { c };
            let selected = |c: u32| selector(value(c));
            if consts().all(|(_, c)| selected(c).is_some()) {
                let mut lanes = [None; 4];
                consts().for_each(|(k, c)| lanes[k] = selected(c));
                if let Some(found) = take(&Want { reg: Reg::new(Bank::Const, 0), lanes, neg, abs: false }) {
                    return Some(found);
                }
            }
            if !consts().all(|(_, c)| constants::has(ty, value(c))) {
                return None;
            }
            (0..constants::NAMED).find_map(|n| {
                let row = constants::row(ty, n);
                let mut lanes = [None; 4];
                let all = consts().all(|(k, c)| {
                    lanes[k] = row.iter().position(|x| *x == value(c)).map(|at| at as u8);
                    lanes[k].is_some()
                });
                if all { take(&Want { reg: Reg::new(Bank::Const, n as u16), lanes, neg, abs: false }) } else { None }
            })
        })
    }

    /// Constants as literals in attributes; none where some lanes are in registers, or no attribute is left.
    fn literal(&mut self, lanes: &[Option<Phys>; 4], ty: Scalar) -> Option<Want> {
        let mut distinct: SmallVec<[u32; 4]> = SmallVec::new();
        let mut at = [None; 4];
        for (k, l) in lanes.iter().enumerate() {
            let c = match l.map(|l| l.spot) {
                None | Some(Spot::Any) => continue,
                Some(Spot::At(..)) => return None,
                Some(Spot::C(c)) => c,
            };
            let place = distinct.iter().position(|d| *d == c).unwrap_or_else(|| {
                distinct.push(c);
                distinct.len() - 1
            });
            at[k] = Some(place as u8);
        }
        let bank = if self.secondary { Bank::Pa } else { Bank::Sa };
        if ty == Scalar::F16 {
            distinct.resize(4, 0);
            let first = self.literals.place(&[distinct[0] | distinct[1] << 16, distinct[2] | distinct[3] << 16])?;
            return Some(Want { reg: Reg::new(bank, first), lanes: at, neg: false, abs: false });
        }
        let first = self.literals.place(&distinct)?;
        let lanes = at.map(|p: Option<u8>| p.map(|p| p + (first & 1) as u8));
        Some(Want { reg: Reg::new(bank, first & !1), lanes, neg: false, abs: false })
    }

    /// All ways to name some lanes, with literals last if they may be used.
    pub(super) fn namings(&mut self, lanes: &[Option<Phys>; 4], ty: Scalar, literals: bool) -> SmallVec<[Want; 4]> {
        let mut out: SmallVec<[Want; 4]> = SmallVec::new();
        Self::naming(lanes, ty, |w| {
            out.push(*w);
            None
        });
        if literals && lanes.iter().flatten().any(|l| matches!(l.spot, Spot::C(_))) {
            out.extend(self.literal(lanes, ty));
        }
        out
    }

    /// Some lanes as an operand of a form; literals only where nothing else fits.
    pub(super) fn name(&mut self, form: FormId, role: Role, lanes: &[Option<Phys>; 4], ty: Scalar, ctx: &[(FieldName, u64)]) -> Try {
        let o = operand(form, role)?;
        if let Some(found) = Self::naming(lanes, ty, |w| fits(o, w, ctx)) {
            return Some(found);
        }
        if !lanes.iter().flatten().any(|l| matches!(l.spot, Spot::C(_))) {
            return None;
        }
        let w = self.literal(lanes, ty)?;
        fits(o, &w, ctx)
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
