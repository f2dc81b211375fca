//! Instructions by class: ALU operations, groups with their literals, and decoded control-flow and fetch words.
//!
//! These are the emitter's and the simulator's view of the form table; every bit still goes through it.

use crate::isa::forms::{self, AluInfo, Format, Info, TABLE, Unit, field, op2, op3};
use retroshade_emit::form::{Decoded, EncodeError, FormId};
use retroshade_emit::{FieldIndex, FieldName};
use smallvec::SmallVec;
use std::ops::{Index, IndexMut};

/// Source selects with a meaning of their own (the manual's ALU_SRC_* values).
pub mod sel {
    /// First clause temporary.
    pub const CLAUSE_TEMP: u16 = 124;
    /// First constant of kcache set 0.
    pub const KCACHE0: u16 = 128;
    /// First constant of kcache set 1.
    pub const KCACHE1: u16 = 160;
    /// 0, float and integer.
    pub const ZERO: u16 = 248;
    /// 1.0
    pub const ONE: u16 = 249;
    /// Integer 1.
    pub const ONE_INT: u16 = 250;
    /// Integer -1.
    pub const M_ONE_INT: u16 = 251;
    /// 0.5
    pub const HALF: u16 = 252;
    /// A literal word of the group.
    pub const LITERAL: u16 = 253;
    /// The previous group's vector results.
    pub const PV: u16 = 254;
    /// The previous group's T result.
    pub const PS: u16 = 255;
    /// First entry of the constant file.
    pub const CFILE: u16 = 256;
}

/// The selects of a fetch's coordinates.
pub const SRC_SEL: [FieldName; 4] = [field!(SRC_SEL_X), field!(SRC_SEL_Y), field!(SRC_SEL_Z), field!(SRC_SEL_W)];
/// The selects of a fetch's result.
pub const DST_SEL: [FieldName; 4] = [field!(DST_SEL_X), field!(DST_SEL_Y), field!(DST_SEL_Z), field!(DST_SEL_W)];
/// The selects of an export.
pub const EXPORT_SEL: [FieldName; 4] = [field!(SEL_X), field!(SEL_Y), field!(SEL_Z), field!(SEL_W)];
/// Bank, mode and first line of the two constant sets of a clause.
pub const KCACHE: [[FieldName; 3]; 2] = [
    [field!(KCACHE_BANK0), field!(KCACHE_MODE0), field!(KCACHE_ADDR0)],
    [field!(KCACHE_BANK1), field!(KCACHE_MODE1), field!(KCACHE_ADDR1)],
];
/// Which coordinates are normalised.
pub const COORD_TYPE: [FieldName; 4] = [field!(COORD_TYPE_X), field!(COORD_TYPE_Y), field!(COORD_TYPE_Z), field!(COORD_TYPE_W)];

/// The opcode's bits in a fetch's first word.
const FETCH_OPCODE: u32 = 0x1f;

/// A source operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Src {
    /// Source select.
    pub sel: u16,
    /// Channel, 0-3.
    pub chan: u8,
    /// Relative to the index register.
    pub rel: bool,
    /// Negated, after the absolute value.
    pub neg: bool,
    /// Absolute value (OP2).
    pub abs: bool,
}

impl Src {
    /// A plain operand.
    pub const fn new(sel: u16, chan: u8) -> Src {
        Src { sel, chan, rel: false, neg: false, abs: false }
    }
    /// Whether this reads a GPR (clause temporaries included).
    pub const fn is_gpr(&self) -> bool {
        self.sel < 128
    }
    /// Whether this reads one of the two kcache sets.
    pub const fn is_kcache(&self) -> bool {
        self.sel >= 128 && self.sel < 192
    }
    /// Whether this is a constant in the sense of the T unit's cycle rule: kcache, constant file, inline, literal.
    pub const fn is_constant(&self) -> bool {
        self.is_kcache() || (self.sel >= 244 && self.sel <= 253) || self.sel >= 256
    }
}

/// An ALU operation in its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alu {
    /// Its form.
    pub form: FormId,
    /// Sources; those beyond the operation's count are zero in what the compiler emits.
    pub src: [Src; 3],
    /// Index register: 0-3 AR.x-w, 4 aL, 5 and 6 global.
    pub index_mode: u8,
    /// 0 always, 2 where the predicate is 0, 3 where it is 1.
    pub pred_sel: u8,
    /// Last of its group.
    pub last: bool,
    /// PRED_SET*: lanes that fail become inactive.
    pub update_exec: bool,
    /// PRED_SET*: writes the predicate.
    pub update_pred: bool,
    /// Writes its register (OP3 always does).
    pub write: bool,
    /// Output modifier: 0 none, 1 ×2, 2 ×4, 3 ÷2.
    pub omod: u8,
    /// Bank swizzle.
    pub bank: u8,
    /// Destination register.
    pub dst: u8,
    /// Destination relative to the index register.
    pub dst_rel: bool,
    /// Destination channel.
    pub chan: u8,
    /// Clamp to 0…1.
    pub clamp: bool,
}

/// Where a source operand stands in word 0, which all ALU forms share.
struct SourceFields {
    sel: FieldIndex,
    rel: FieldIndex,
    chan: FieldIndex,
    neg: FieldIndex,
}

const SRC0: SourceFields = SourceFields {
    sel: field!(op2::MOV.SRC0_SEL),
    rel: field!(op2::MOV.SRC0_REL),
    chan: field!(op2::MOV.SRC0_CHAN),
    neg: field!(op2::MOV.SRC0_NEG),
};
const SRC1: SourceFields = SourceFields {
    sel: field!(op2::MOV.SRC1_SEL),
    rel: field!(op2::MOV.SRC1_REL),
    chan: field!(op2::MOV.SRC1_CHAN),
    neg: field!(op2::MOV.SRC1_NEG),
};

/// The fields of an ALU word by place; no form has more. All are 0 unless set.
#[derive(Default)]
struct Fields([u64; 24]);

impl Index<FieldIndex> for Fields {
    type Output = u64;
    fn index(&self, at: FieldIndex) -> &u64 {
        &self.0[at.0 as usize]
    }
}

impl IndexMut<FieldIndex> for Fields {
    fn index_mut(&mut self, at: FieldIndex) -> &mut u64 {
        &mut self.0[at.0 as usize]
    }
}

impl Alu {
    /// Whether it moves a value to where it lies already.
    pub fn is_idle(&self) -> bool {
        let to = Src::new(self.dst as u16, self.chan);
        let plain = self.omod == 0 && !self.clamp && !self.dst_rel && !self.update_exec && !self.update_pred;
        self.form == op2::MOV && self.write && plain && self.src[0] == to
    }
    /// An operation with nothing set.
    pub fn new(form: FormId) -> Alu {
        Alu {
            form,
            src: [Src::default(); 3],
            index_mode: 0,
            pred_sel: 0,
            last: false,
            update_exec: false,
            update_pred: false,
            write: true,
            omod: 0,
            bank: 0,
            dst: 0,
            dst_rel: false,
            chan: 0,
            clamp: false,
        }
    }
    /// What the table says about the operation.
    pub fn info(&self) -> &'static Info {
        &TABLE.form(self.form).ext
    }
    /// The ALU operation's part of that.
    pub fn alu(&self) -> &'static AluInfo {
        &self.info().alu
    }
    /// Its sources, as many as the operation has.
    pub fn sources(&self) -> &[Src] {
        &self.src[..self.alu().srcs as usize]
    }
    /// Whether it changes a register.
    pub fn writes(&self) -> bool {
        self.write || self.info().format == Format::Op3
    }
    /// Encodes the word pair.
    pub fn encode(&self) -> Result<u64, EncodeError> {
        let [a, b, c] = self.src;
        let mut w = Fields::default();
        for (at, s) in [SRC0, SRC1].iter().zip([a, b]) {
            (w[at.sel], w[at.rel], w[at.chan], w[at.neg]) = (s.sel as u64, s.rel as u64, s.chan as u64, s.neg as u64);
        }
        w[field!(op2::MOV.INDEX_MODE)] = self.index_mode as u64;
        w[field!(op2::MOV.PRED_SEL)] = self.pred_sel as u64;
        w[field!(op2::MOV.LAST)] = self.last as u64;
        if self.info().format == Format::Op3 {
            w[field!(op3::CNDE.SRC2_SEL)] = c.sel as u64;
            w[field!(op3::CNDE.SRC2_REL)] = c.rel as u64;
            w[field!(op3::CNDE.SRC2_CHAN)] = c.chan as u64;
            w[field!(op3::CNDE.SRC2_NEG)] = c.neg as u64;
        } else {
            w[field!(op2::MOV.SRC0_ABS)] = a.abs as u64;
            w[field!(op2::MOV.SRC1_ABS)] = b.abs as u64;
            w[field!(op2::MOV.UPDATE_EXECUTE_MASK)] = self.update_exec as u64;
            w[field!(op2::MOV.UPDATE_PRED)] = self.update_pred as u64;
            w[field!(op2::MOV.WRITE_MASK)] = self.write as u64;
            w[field!(op2::MOV.OMOD)] = self.omod as u64;
        }
        for (at, value) in self.destination().into_iter().zip([self.bank, self.dst, self.dst_rel as u8, self.chan, self.clamp as u8]) {
            w[at] = value as u64;
        }
        TABLE.encode_values(self.form, &w.0).map(|w| w as u64)
    }
    /// Where the form has its bank swizzle, register, relative bit, channel and clamp.
    fn destination(&self) -> [FieldIndex; 5] {
        if self.info().format == Format::Op3 {
            [
                field!(op3::CNDE.BANK_SWIZZLE),
                field!(op3::CNDE.DST_GPR),
                field!(op3::CNDE.DST_REL),
                field!(op3::CNDE.DST_CHAN),
                field!(op3::CNDE.CLAMP),
            ]
        } else {
            [
                field!(op2::MOV.BANK_SWIZZLE),
                field!(op2::MOV.DST_GPR),
                field!(op2::MOV.DST_REL),
                field!(op2::MOV.DST_CHAN),
                field!(op2::MOV.CLAMP),
            ]
        }
    }
    /// An operation of a form with these fields.
    fn read(form: FormId, field: impl Fn(FieldIndex) -> u64) -> Alu {
        let mut a = Alu::new(form);
        for (s, at) in a.src.iter_mut().zip([SRC0, SRC1]) {
            *s =
                Src { sel: field(at.sel) as u16, chan: field(at.chan) as u8, rel: field(at.rel) != 0, neg: field(at.neg) != 0, abs: false };
        }
        a.index_mode = field(field!(op2::MOV.INDEX_MODE)) as u8;
        a.pred_sel = field(field!(op2::MOV.PRED_SEL)) as u8;
        a.last = field(field!(op2::MOV.LAST)) != 0;
        if a.info().format == Format::Op3 {
            a.src[2] = Src {
                sel: field(field!(op3::CNDE.SRC2_SEL)) as u16,
                chan: field(field!(op3::CNDE.SRC2_CHAN)) as u8,
                rel: field(field!(op3::CNDE.SRC2_REL)) != 0,
                neg: field(field!(op3::CNDE.SRC2_NEG)) != 0,
                abs: false,
            };
        } else {
            a.src[0].abs = field(field!(op2::MOV.SRC0_ABS)) != 0;
            a.src[1].abs = field(field!(op2::MOV.SRC1_ABS)) != 0;
            a.update_exec = field(field!(op2::MOV.UPDATE_EXECUTE_MASK)) != 0;
            a.update_pred = field(field!(op2::MOV.UPDATE_PRED)) != 0;
            a.write = field(field!(op2::MOV.WRITE_MASK)) != 0;
            a.omod = field(field!(op2::MOV.OMOD)) as u8;
        }
        let [bank, dst, rel, chan, clamp] = a.destination().map(field);
        (a.bank, a.dst, a.dst_rel, a.chan, a.clamp) = (bank as u8, dst as u8, rel != 0, chan as u8, clamp != 0);
        a
    }
    /// Decodes an ALU word pair; bits without a meaning are an error.
    pub fn decode(word: u64) -> Option<Alu> {
        let (form, residue) = TABLE.find(forms::ALU, 8, word as u128)?;
        let mut values = Fields::default();
        values.0.iter_mut().zip(TABLE.form(form).fields()).for_each(|(v, f)| *v = f.get(word as u128));
        (residue == 0).then(|| Alu::read(form, |at| values[at]))
    }
}

/// An instruction group: one to five operations and their literal words (0, 2 or 4 in memory).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The operations in slot order.
    pub slots: SmallVec<[Alu; 5]>,
    /// The literal words.
    pub literals: SmallVec<[u32; 4]>,
}

impl Group {
    /// Size in 64-bit slots, literals included.
    pub fn size(&self) -> usize {
        self.slots.len() + self.literals.len().div_ceil(2)
    }
    /// Number of literal words that the operands ask for, rounded up to pairs.
    pub fn literal_words(slots: &[Alu]) -> usize {
        let highest = slots
            .iter()
            .flat_map(|s| s.src[..if s.info().format == Format::Op3 { 3 } else { 2 }].iter())
            .filter(|s| s.sel == sel::LITERAL)
            .map(|s| s.chan as usize + 1)
            .max();
        highest.map_or(0, |n| n.div_ceil(2) * 2)
    }
    /// The unit (0-3 = X…W, 4 = T) that executes each slot, or `None` where the hardware has none for it.
    pub fn units(&self) -> Option<SmallVec<[u8; 5]>> {
        let mut taken = [false; 5];
        let mut out = SmallVec::new();
        for s in &self.slots {
            let u = match s.alu().unit {
                Unit::Trans => 4,
                Unit::Any if taken[s.chan as usize] => 4,
                _ => s.chan,
            };
            if std::mem::replace(&mut taken[u as usize], true) {
                return None;
            }
            out.push(u);
        }
        Some(out)
    }
    /// Encodes the group.
    pub fn encode(&self) -> Result<Vec<u32>, EncodeError> {
        let mut out = Vec::with_capacity(2 * self.size());
        for s in &self.slots {
            let w = s.encode()?;
            out.extend([w as u32, (w >> 32) as u32]);
        }
        out.extend(self.literals.iter());
        if self.literals.len() % 2 == 1 {
            out.push(0);
        }
        Ok(out)
    }
    /// Decodes the group at the start of `words`; returns it and the number of words it takes.
    pub fn decode(words: &[u32]) -> Option<(Group, usize)> {
        let mut g = Group::default();
        let mut at = 0;
        loop {
            let lo = *words.get(at)?;
            let hi = *words.get(at + 1)?;
            let a = Alu::decode(lo as u64 | (hi as u64) << 32)?;
            at += 2;
            g.slots.push(a);
            if a.last {
                break;
            }
            if g.slots.len() == 5 {
                return None;
            }
        }
        let n = Group::literal_words(&g.slots);
        g.literals = SmallVec::from_slice(words.get(at..at + n)?);
        Some((g, at + n))
    }
}

/// A decoded control-flow or fetch word with named access to its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(pub Decoded);

impl Word {
    /// Decodes a word of a space; bits without a meaning are an error.
    pub fn decode(space: u32, size: u8, word: u128) -> Option<Word> {
        let d = TABLE.decode(space, size, word)?;
        (d.residue == 0).then_some(Word(d))
    }
    /// Decodes two 32-bit words as control flow or export.
    pub fn decode_cf(lo: u32, hi: u32) -> Option<Word> {
        Word::decode(forms::CF | forms::EXPORT, 8, lo as u128 | (hi as u128) << 32)
    }
    /// Decodes four 32-bit words as a fetch of a space. A vertex fetch may stand in a texture clause: its opcode, 0, is no texture's.
    pub fn decode_fetch(space: u32, w: [u32; 4]) -> Option<Word> {
        let space = if space == forms::TEX && w[0] & FETCH_OPCODE == 0 { forms::VTX } else { space };
        Word::decode(space, 16, w.iter().rev().fold(0u128, |a, x| a << 32 | *x as u128))
    }
    /// What the table says about it.
    pub fn info(&self) -> &'static Info {
        &TABLE.form(self.0.form).ext
    }
    /// A field's raw value; 0 where this form lacks the field.
    pub fn get(&self, field: FieldName) -> u64 {
        TABLE.get(&self.0, field).unwrap_or(0)
    }
    /// The form.
    pub fn form(&self) -> FormId {
        self.0.form
    }
    /// The opcode's short name.
    pub fn name(&self) -> &'static str {
        self.info().short
    }
}
