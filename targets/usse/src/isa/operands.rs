//! What operands of words are, read from them and written into them as the rows of the table say.
//!
//! Selection, allocation, the assembler and the simulator ask the same question of it: [`fits`], "can this operand be
//! written with this swizzle, bank and modifier here?". Facts: the ISA sheet's sections 3, 5, 7 and 8 to 14.

use crate::isa::forms::{TABLE, VPCK, field, row_of};
use crate::isa::registers::{self, Bank, Reg};
pub use crate::isa::row::{Lanes, Mods, Operand, Pieces, Role, Role::*, Scale};
use crate::isa::swizzle::*;
use retroshade_emit::FieldName;
use retroshade_emit::form::{Decoded, FormId};
use smallvec::SmallVec;

/// One operand of a form by role.
pub fn operand(form: FormId, role: Role) -> Option<&'static Operand> {
    row_of(form).operands.iter().find(|o| o.role == role)
}

/// A source (or destination) as read: register, selectors, modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Src {
    /// Register.
    pub reg: Reg,
    /// Selector of each lane.
    pub sel: Swizzle,
    /// Negated, after the absolute value.
    pub neg: bool,
    /// Absolute value.
    pub abs: bool,
}

impl Src {
    /// A register, lanes in order.
    pub const fn new(reg: Reg) -> Src {
        Src { reg, sel: IDENTITY, neg: false, abs: false }
    }
    /// With other selectors.
    pub const fn sel(self, sel: Swizzle) -> Src {
        Src { sel, ..self }
    }
}

/// A field's value; 0 where the form has no such field.
pub fn value(d: &Decoded, name: FieldName) -> u64 {
    TABLE.get(d, name).unwrap_or(0)
}

fn gather(d: &Decoded, pieces: Pieces) -> u64 {
    pieces.iter().map(|(f, s)| value(d, *f) << s).sum()
}

/// Whether the operand's number counts pairs in this word.
pub fn doubled(d: &Decoded, o: &Operand) -> bool {
    match o.scale {
        Scale::Pairs => true,
        Scale::Single => false,
        Scale::PairsIf(f, mask) => mask >> value(d, f) & 1 == 1,
    }
}

/// Reads an operand out of a decoded word.
pub fn read_operand(d: &Decoded, o: &Operand) -> Src {
    let of = |f: Option<FieldName>| f.map_or(0, |f| value(d, f));
    let pairs = doubled(d, o);
    let (mut n, mut bits) = (value(d, o.num), o.bits);
    if !pairs && o.role == Src1 && d.form == VPCK {
        (n, bits) = (n << 1 | value(d, field!(comp0_sel_bit1)), 7);
    }
    let reg = registers::read(o.table, of(o.bank), of(o.ext), n, bits, pairs);
    let sel = match o.lanes {
        Lanes::Fixed => IDENTITY,
        Lanes::Set(set, p) => set[gather(d, p) as usize % set.len()],
        Lanes::SetBy(f, a, b, p) => {
            let set = if value(d, f) == 0 { a } else { b };
            set[gather(d, p) as usize % set.len()]
        }
        Lanes::Free(p) => {
            let e = gather(d, p);
            std::array::from_fn(|k| (e >> (3 * k) & 7) as u8)
        }
    };
    let (neg, abs) = match o.mods {
        Mods::None => (false, false),
        Mods::Two(f) => (value(d, f) & 1 != 0, value(d, f) & 2 != 0),
        Mods::Abs(f) => (false, value(d, f) != 0),
        Mods::Neg(f) => (value(d, f) != 0, false),
        Mods::Both(n, a) => (value(d, n) != 0, value(d, a) != 0),
    };
    Src { reg, sel, neg, abs }
}

/// What an operand needs.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    /// The register; for a pair, its even number.
    pub reg: Reg,
    /// The lanes that are read.
    pub lanes: Wanted,
    /// Negated.
    pub neg: bool,
    /// Absolute.
    pub abs: bool,
}

/// Field values that write an operand: (field, value).
pub type Encoding = SmallVec<[(FieldName, u64); 16]>;

/// Can this operand be written with this register, swizzle and modifiers? The fields that do it, if so.
///
/// `context` holds the fields already chosen that the answer depends on (types, three or four lanes).
pub fn fits(o: &Operand, want: &Want, context: &[(FieldName, u64)]) -> Option<Encoding> {
    match o.mods {
        Mods::None if want.neg || want.abs => return None,
        Mods::Abs(_) if want.neg => return None,
        Mods::Neg(_) if want.abs => return None,
        _ => {}
    }
    let ctx = |f: FieldName| context.iter().find(|(n, _)| *n == f).map_or(0, |(_, v)| *v);
    let pairs = match o.scale {
        Scale::Pairs => true,
        Scale::Single => false,
        Scale::PairsIf(f, mask) => mask >> ctx(f) & 1 == 1,
    };
    let mut out = Encoding::new();
    let wide = !pairs && o.role == Src1 && matches!(o.scale, Scale::PairsIf(f, _) if f == field!(src_fmt));
    let (code, ext, n) = registers::write(o.table, o.ext.is_some(), want.reg, if wide { 7 } else { o.bits }, pairs)?;
    out.extend(o.bank.map(|f| (f, code)));
    out.extend(o.ext.map(|f| (f, ext)));
    if wide {
        out.push((o.num, n >> 1));
        out.push((field!(comp0_sel_bit1), n & 1));
    } else {
        out.push((o.num, n));
    }
    let mut put = |pieces: Pieces, v: u64| {
        for (i, (f, s)) in pieces.iter().enumerate() {
            let upto = pieces.get(i + 1).map_or(63, |p| p.1) - s;
            out.push((*f, v >> s & ((1 << upto) - 1)));
        }
    };
    match o.lanes {
        Lanes::Fixed => {
            if (0..4).any(|k| want.lanes[k].is_some_and(|l| l as usize != k)) {
                return None;
            }
        }
        Lanes::Set(set, p) => put(p, find(set, want.lanes)? as u64),
        Lanes::SetBy(f, a, b, p) => put(p, find(if ctx(f) == 0 { a } else { b }, want.lanes)? as u64),
        Lanes::Free(p) => {
            let first = want.lanes.iter().flatten().next().copied().unwrap_or(0);
            let v = (0..4).map(|k| (want.lanes[k].unwrap_or(first) as u64) << (3 * k)).sum();
            put(p, v);
        }
    }
    match o.mods {
        Mods::None => {}
        Mods::Two(f) => out.push((f, want.neg as u64 | (want.abs as u64) << 1)),
        Mods::Abs(f) => out.push((f, want.abs as u64)),
        Mods::Neg(f) => out.push((f, want.neg as u64)),
        Mods::Both(n, a) => {
            out.push((n, want.neg as u64));
            out.push((a, want.abs as u64));
        }
    }
    Some(out)
}

/// Whether a bank holds 32-bit registers that come in sequence.
pub fn is_unified(b: Bank) -> bool {
    matches!(b, Bank::R | Bank::O | Bank::Pa | Bank::Sa)
}
