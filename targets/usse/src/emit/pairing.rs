//! Dual issue: two words of a block that may be executed together become one VDUAL word.
//!
//! A word is read as the operations of section 9 that it could be (`wishes`); two that do not depend on each other, with
//! nothing between that one of them may not pass, are offered to `dual::encode`. Only f32 words are taken: what a f16 dual
//! word rounds is known for stores outside internal registers alone. Facts: the ISA sheet's sections 9 and 17.4.

use crate::emit::sched::Seen;
use crate::isa::access::{Access, Place};
use crate::isa::dual::{self, DualOp, Operand, Wish};
use crate::isa::forms::{V32NMAD, VCOMP, VDP, VDUAL, VMAD, VMAD2, VMOV, VPCK, field};
use crate::isa::operands::Role::{self, *};
use crate::isa::operands::{Src, operand, read_operand, value};
use crate::isa::registers::{Bank, Reg};
use crate::isa::swizzle::{HALF, ONE, TWO, ZERO};
use crate::isa::text::pack_selectors;
use crate::isa::word::Word;
use crate::sim::constant;
use retroshade_emit::FieldName;

/// How far apart the two words may stand.
const WINDOW: usize = 16;

/// Lanes of internal registers that are live before each word, and behind the last one.
pub fn live<'a>(access: impl DoubleEndedIterator<Item = &'a Access> + ExactSizeIterator) -> Vec<[u8; 3]> {
    needs(access).iter().map(Needed::all).collect()
}

/// What is needed before each word, and behind the last one.
fn needs<'a>(access: impl DoubleEndedIterator<Item = &'a Access> + ExactSizeIterator) -> Vec<Needed> {
    let mut needs = vec![Needed::default(); access.len() + 1];
    for (k, word) in access.enumerate().rev() {
        needs[k] = needs[k + 1].before(word);
    }
    needs
}

fn is_inside(p: &Place) -> bool {
    p.0 == Bank::I
}

/// Predicates that words are executed under, each also inverted.
const GUARDS: usize = 8;

/// Lanes of internal registers that are read further on: in any case, and under a predicate (twice its number, one more where inverted).
#[derive(Clone, Copy, Default)]
struct Needed {
    always: [u8; 3],
    under: [[u8; 3]; GUARDS],
}

impl Needed {
    fn all(&self) -> [u8; 3] {
        std::array::from_fn(|i| self.under.iter().fold(self.always[i], |all, u| all | u[i]))
    }

    /// What is needed before a word, from what is needed behind it.
    fn before(mut self, word: &Access) -> Needed {
        // Most words neither touch an internal register nor decide a predicate.
        let decides = word.writes.iter().any(|p| p.0 == Bank::Global);
        if !decides && !word.writes.iter().chain(&word.reads).any(is_inside) {
            return self;
        }
        let (r, w) = (Access::lanes(&word.reads), Access::lanes(&word.writes));
        let guard = word.guard.map(|(p, inverse)| 2 * usize::from(p) + usize::from(inverse)).filter(|g| *g < GUARDS);
        for i in 0..3 {
            match guard {
                // Where the predicate does not hold, the old value stays.
                Some(g) => {
                    self.under[g ^ 1][i] |= self.always[i] & w[i];
                    self.always[i] &= !w[i];
                    self.under[g][i] &= !w[i];
                }
                None if word.guard.is_none() => {
                    self.always[i] &= !w[i];
                    self.under.iter_mut().for_each(|u| u[i] &= !w[i]);
                }
                None => {}
            }
            // Nothing is known of a predicate before it is decided.
            for p in (0..GUARDS).filter(|g| decides && word.decides(*g as u8 / 2)) {
                self.always[i] |= std::mem::take(&mut self.under[p][i]);
            }
            match guard {
                Some(g) => self.under[g][i] |= r[i],
                None => self.always[i] |= r[i],
            }
        }
        self
    }
}

/// The words of a block with pairs made one, and what those touch, if there are any pairs.
pub fn pair(words: &[Word], access: &[Seen]) -> Option<(Vec<Word>, Vec<Seen>)> {
    // One of two stores inside.
    if !access.iter().any(|a| a.writes.iter().any(is_inside)) {
        return None;
    }
    // Right from word `a` on.
    let mut needed = needs(access.iter().map(|s| &**s));
    let (mut a, first) = (0..words.len()).find_map(|a| Some((a, partner(a, words, access, &needed)?)))?;
    let (mut words, mut access, mut first) = (words.to_vec(), access.to_vec(), Some(first));
    while a < words.len() {
        if let Some((b, at, word)) = first.take().or_else(|| partner(a, &words, &access, &needed)) {
            let gone = if at == a { b } else { a };
            access[at] = Seen::dual(&word);
            words[at] = word;
            words.remove(gone);
            access.remove(gone);
            needed.remove(gone);
            for k in (a..b).rev() {
                needed[k] = needed[k + 1].before(&access[k]);
            }
            if gone == a {
                continue;
            }
        }
        a += 1;
    }
    Some((words, access))
}

/// The first later word that can share a word with word `a`: which one, where the common word stands, and the word.
fn partner(a: usize, words: &[Word], access: &[Seen], needed: &[Needed]) -> Option<(usize, usize, Word)> {
    let able = |k: usize| access[k].wishes(&words[k]);
    let own = able(a);
    if own.is_empty() {
        return None;
    }
    let end = (a + WINDOW).min(words.len());
    let stop = (a + 1..end).find(|k| access[*k].fixed).unwrap_or(end);
    for b in a + 1..stop {
        let some = own.iter().any(|x| able(b).iter().any(|y| dual::may_share(x, y)));
        if !some || !access[a].joins(&access[b]) {
            continue;
        }
        let between = &access[a + 1..b];
        let up = between.iter().all(|m| !m.conflicts(&access[b]));
        let down = between.iter().all(|m| !m.conflicts(&access[a]));
        for at in [(up, a), (down, b)].into_iter().filter_map(|(ok, at)| ok.then_some(at)) {
            let after = needed[at + 1].all();
            let spare = |w: &Wish| match w.dest.bank {
                Bank::I => Wish { spare: !after[w.dest.n as usize % 3] & 15, ..w.clone() },
                _ => w.clone(),
            };
            for (x, y) in own.iter().flat_map(|x| able(b).iter().map(move |y| (x, y))) {
                if let Some(mut e) = dual::encode(&spare(x), &spare(y)) {
                    e.push((field!(skipinv), words[a].get(field!(skipinv)) & words[b].get(field!(skipinv))));
                    return Some((b, at, Word::new(VDUAL, e, words[a].span)));
                }
            }
        }
    }
    None
}

/// A constant of the hardware table that the swizzle sets have too.
fn known(bits: u32) -> Option<u8> {
    [(0.0f32, ZERO), (1.0, ONE), (2.0, TWO), (0.5, HALF)].iter().find(|(x, _)| x.to_bits() == bits).map(|(_, s)| *s)
}

/// A source with the lanes that are read.
fn source(s: &Src, lanes: u8) -> Option<Operand> {
    let mut out = Operand { reg: None, lanes: [None; 4], neg: s.neg, abs: s.abs };
    for k in (0..4).filter(|k| lanes >> k & 1 == 1) {
        let sel = s.sel[k];
        out.lanes[k] = Some(match s.reg.bank {
            _ if (ZERO..=HALF).contains(&sel) => sel,
            Bank::Const if sel < 2 => known(constant(s.reg.n as usize, sel as usize))?,
            Bank::R | Bank::O | Bank::Pa | Bank::Sa | Bank::I if sel < 4 => {
                out.reg = Some(s.reg);
                sel
            }
            _ => return None,
        });
    }
    Some(out)
}

/// The same source for a scalar operation: the register itself, its lane x.
fn scalar(o: &Operand, mask: u8) -> Option<Operand> {
    let mut lanes = (0..4).filter(|k| mask >> k & 1 == 1).map(|k| o.lanes[k]);
    let first = lanes.next()??;
    if lanes.any(|l| l != Some(first)) {
        return None;
    }
    let only = |l| [Some(l), None, None, None];
    Some(match o.reg {
        Some(r) if first < 4 && r.bank != Bank::I => Operand { reg: Some(Reg::new(r.bank, r.n + first as u16)), lanes: only(0), ..*o },
        Some(_) if first >= 4 => Operand { reg: None, lanes: only(first), ..*o },
        _ => Operand { lanes: only(first), ..*o },
    })
}

fn is(o: &Operand, c: u8, neg: bool) -> bool {
    o.reg.is_none() && o.neg == neg && o.lanes.iter().flatten().all(|l| *l == c)
}

/// What a word could be as half of a dual word.
pub fn wishes(w: &Word) -> Vec<Wish> {
    read(w).unwrap_or_default()
}

fn read(w: &Word) -> Option<Vec<Wish>> {
    use DualOp::*;
    let d = w.checked().ok()?;
    let f = |n: FieldName| value(d, n);
    let name = d.form;
    if [field!(pred), field!(end), field!(end_or_src0_bank_ext), field!(repeat_count), field!(syncstart), field!(clip_plane_enable)]
        .into_iter()
        .any(|n| f(n) != 0)
    {
        return None;
    }
    let get = |role: Role| operand(name, role).map(|o| read_operand(d, o));
    let mut mask = match name {
        VMAD | VDP | VCOMP => f(field!(write_mask)),
        _ => f(field!(dest_mask)),
    } as u8;
    let dest = get(Dest)?.reg;
    let (mut lanes, mut n) = (mask, 0);
    let (op, src) = match name {
        VMAD2 if f(field!(dat_fmt)) == 0 => (Vmad, vec![get(Src0)?, get(Src1)?, get(Src2)?]),
        VMAD => (Vmad, vec![get(Src0)?, get(Src1)?, get(Src2)?]),
        V32NMAD => {
            let op = match f(field!(op2)) {
                0 => Vmul,
                1 => Vadd,
                2 => Fsubflr,
                7 => Vdp,
                _ => return None,
            };
            n = 4;
            (op, vec![get(Src1)?, get(Src2)?])
        }
        VDP => {
            n = 3 + f(field!(opcode2)) as usize;
            (Vdp, vec![get(Src1)?, get(Src0)?])
        }
        VCOMP if f(field!(dest_type)) == 0 && f(field!(src_type)) == 0 => {
            ([Frcp, Frsq, Flog, Fexp][f(field!(op2)) as usize], vec![get(Src1)?])
        }
        VMOV if f(field!(move_type)) == 0 && f(field!(move_data_type)) == 5 => (Vmov, vec![get(Src1)?]),
        VPCK if f(field!(src_fmt)) == 6 && f(field!(dest_fmt)) == 6 && f(field!(scale)) == 0 => {
            let (a, b) = (get(Src1)?, get(Src2)?);
            let mut s = a.sel(pack_selectors(d));
            // Two pairs are one operand where the second follows the first.
            let read = |low: bool| (0..4).any(|k| mask >> k & 1 == 1 && (s.sel[k] < 2) == low);
            if b.reg.bank != Bank::Imm && read(false) {
                if !read(true) {
                    s = Src { reg: b.reg, sel: s.sel.map(|l| l.wrapping_sub(2) & 3), ..s };
                } else if b.reg != Reg::new(a.reg.bank, a.reg.n + 2) || a.reg.bank == Bank::I {
                    return None;
                }
            }
            (Vmov, vec![s])
        }
        _ => return None,
    };
    if op == Vdp {
        lanes = if n == 4 { 15 } else { 7 };
    }
    let mut src: Vec<Operand> = src.iter().map(|s| source(s, lanes)).collect::<Option<_>>()?;
    if op == Vdp && n == 4 && src.iter().all(|s| s.lanes[3].is_some_and(|l| l >= ZERO)) && src.iter().any(|s| s.lanes[3] == Some(ZERO)) {
        // A fourth product of 0 is none: a dot product has no negative zero.
        n = 3;
        src.iter_mut().for_each(|s| s.lanes[3] = None);
    }
    let (op, src) = simplified(op, src);
    let unified = dest.bank != Bank::I;
    let mut out = Vec::new();
    let mut add = |op: DualOp, dest: Reg, mask: u8, src: Vec<Operand>| {
        // One vector of each operand; a scalar result outside internal registers is one register.
        out.push(Wish { op, dest, mask, spare: 0, src, lanes: n });
    };
    if op.is_vector_store() {
        add(op, dest, mask, src.clone());
    }
    // A scalar operation writes one register, or one value to several lanes of an internal one.
    let (mut to, whole) = (dest, mask);
    if unified {
        if mask.count_ones() != 1 {
            return Some(out);
        }
        to.n += mask.trailing_zeros() as u16;
        mask = 1;
    }
    if op == Vdp {
        add(op, to, mask, src);
        return Some(out);
    }
    let Some(one) = src.iter().map(|s| scalar(s, whole)).collect::<Option<Vec<_>>>() else { return Some(out) };
    let constant = |c: u8, neg: bool| Operand { reg: None, lanes: [Some(c), None, None, None], neg, abs: false };
    match op {
        Vmad => add(Fmad, to, mask, one),
        Vmul => add(Fmul, to, mask, one),
        Vadd => add(Fadd, to, mask, one),
        // A copy is a product with 1.
        Vmov => add(Fmul, to, mask, vec![one[0], constant(ONE, false)]),
        _ => add(op, to, mask, one),
    }
    Some(out)
}

/// Products with 1 and sums with -0 need fewer sources.
fn simplified(op: DualOp, src: Vec<Operand>) -> (DualOp, Vec<Operand>) {
    use DualOp::*;
    let one = |o: &Operand| is(o, ONE, false) && !o.abs;
    match op {
        Vmad if one(&src[0]) => (Vadd, vec![src[1], src[2]]),
        Vmad if one(&src[1]) => (Vadd, vec![src[0], src[2]]),
        Vmad if is(&src[2], ZERO, true) => simplified(Vmul, vec![src[0], src[1]]),
        Vmul if one(&src[0]) => (Vmov, vec![src[1]]),
        Vmul if one(&src[1]) => (Vmov, vec![src[0]]),
        _ => (op, src),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::decode;
    use crate::isa::operands::{Encoding, Want, fits};
    use retroshade_emit::form::FormId;
    use retroshade_ir::Span;

    fn word(name: FormId, fields: Encoding) -> Word {
        Word::new(name, fields, Span::NONE)
    }

    /// A product of two vectors as V32NMAD.
    fn times(to: Reg, mask: u64, a: Reg, b: Reg) -> Word {
        let part = |role, reg| {
            let lanes = if role == Dest { [None; 4] } else { [0, 1, 2, 3].map(|l| (mask >> l & 1 == 1).then_some(l)) };
            fits(operand(V32NMAD, role).unwrap(), &Want { reg, lanes, neg: false, abs: false }, &[]).unwrap()
        };
        let mut e = part(Dest, to);
        e.extend(part(Src1, a));
        e.extend(part(Src2, b));
        e.push((field!(dest_mask), mask));
        word(V32NMAD, e)
    }
    /// i`to`.xyz = i0.xyz × sa4.xyz.
    fn product(to: u16) -> Word {
        times(Reg::i(to), 7, Reg::i(0), Reg::new(Bank::Sa, 4))
    }

    /// The reciprocal of lane y of an internal register.
    fn inverse(to: Reg, mask: u64, of: Reg) -> Word {
        let reg = |role, reg, lane| {
            let lanes = if role == Dest { [None; 4] } else { [lane, None, None, None] };
            fits(operand(VCOMP, role).unwrap(), &Want { reg, lanes, neg: false, abs: false }, &[]).unwrap()
        };
        let mut e = reg(Dest, to, None);
        e.extend(reg(Src1, of, Some(1)));
        e.push((field!(write_mask), mask));
        word(VCOMP, e)
    }
    /// r7 = rcp(i2.y).
    fn reciprocal() -> Word {
        inverse(Reg::r(6), 2, Reg::i(2))
    }

    /// The words with pairs made one.
    fn paired(words: &[Word]) -> Vec<Word> {
        let access: Vec<Seen> = words.iter().map(Seen::of).collect();
        pair(words, &access).map_or_else(|| words.to_vec(), |p| p.0)
    }

    #[test]
    fn a_product_and_a_reciprocal_share_a_word() {
        let out = paired(&[product(1), reciprocal()]);
        assert_eq!(out.len(), 1);
        let d = decode(out[0].encode().unwrap()).unwrap();
        let text = crate::isa::text::native(&d);
        assert_eq!(d.form, VDUAL);
        assert!(text.contains("VMUL i1.xyz i0.xyz sa4.xyz") && text.contains("FRCP r7.x i2.y"), "{text}");
    }

    #[test]
    fn what_depends_stays_apart() {
        // The reciprocal reads what the product writes.
        assert_eq!(paired(&[product(2), reciprocal()]).len(), 2);
        // Two operands outside internal registers, one too many.
        assert_eq!(paired(&[product(1), product(2)]).len(), 2);
    }
    #[test]
    fn one_goes_to_the_other_over_what_it_does_not_touch() {
        // The reciprocal reads what the second product writes; the first one may stand behind that.
        let out = paired(&[product(1), product(2), reciprocal()]);
        assert_eq!(out.iter().map(|w| w.form()).collect::<Vec<_>>(), [V32NMAD, VDUAL]);
        // Not where it reads what the first one writes.
        assert_eq!(paired(&[product(1), times(Reg::i(2), 7, Reg::i(1), Reg::new(Bank::Sa, 8)), reciprocal()]).len(), 3);
    }

    #[test]
    fn lanes_that_are_read_later_are_not_overwritten() {
        // One half of a dual word writes x, y and z of an internal register: both have a y that is read later.
        let (x, y) = (Reg::i(1), Reg::i(2));
        let one = times(x, 1, Reg::i(0), Reg::new(Bank::Sa, 4));
        let other = inverse(y, 1, Reg::i(0));
        assert_eq!(paired(&[one.clone(), other.clone(), times(Reg::r(8), 3, x, y)]).len(), 3);
        assert_eq!(paired(&[one, other, times(Reg::r(8), 1, x, y)]).len(), 2);
    }
}
