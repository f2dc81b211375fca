//! Instructions by class: ALU operations, groups with their literals, and decoded control-flow and fetch words.
//!
//! These are the emitter's and the simulator's view of the form table; every bit still goes through it.

use crate::isa::forms::{self, Format, Info, TABLE, Unit};
use retroshade_emit::form::{Decoded, EncodeError, FormId};
use smallvec::SmallVec;

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

impl Alu {
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
    /// Its sources, as many as the operation has.
    pub fn sources(&self) -> &[Src] {
        &self.src[..self.info().srcs as usize]
    }
    /// Whether it changes a register.
    pub fn writes(&self) -> bool {
        self.write || self.info().format == Format::Op3
    }
    /// Encodes the word pair.
    pub fn encode(&self) -> Result<u64, EncodeError> {
        let [a, b, c] = self.src;
        let flag = |x: bool| x as u64;
        let mut v: SmallVec<[(&str, u64); 26]> = SmallVec::from_slice(&[
            ("SRC0_SEL", a.sel as u64),
            ("SRC0_REL", flag(a.rel)),
            ("SRC0_CHAN", a.chan as u64),
            ("SRC0_NEG", flag(a.neg)),
            ("SRC1_SEL", b.sel as u64),
            ("SRC1_REL", flag(b.rel)),
            ("SRC1_CHAN", b.chan as u64),
            ("SRC1_NEG", flag(b.neg)),
            ("INDEX_MODE", self.index_mode as u64),
            ("PRED_SEL", self.pred_sel as u64),
            ("LAST", flag(self.last)),
            ("BANK_SWIZZLE", self.bank as u64),
            ("DST_GPR", self.dst as u64),
            ("DST_REL", flag(self.dst_rel)),
            ("DST_CHAN", self.chan as u64),
            ("CLAMP", flag(self.clamp)),
        ]);
        if self.info().format == Format::Op3 {
            v.extend([("SRC2_SEL", c.sel as u64), ("SRC2_REL", flag(c.rel)), ("SRC2_CHAN", c.chan as u64), ("SRC2_NEG", flag(c.neg))]);
        } else {
            v.extend([
                ("SRC0_ABS", flag(a.abs)),
                ("SRC1_ABS", flag(b.abs)),
                ("UPDATE_EXECUTE_MASK", flag(self.update_exec)),
                ("UPDATE_PRED", flag(self.update_pred)),
                ("WRITE_MASK", flag(self.write)),
                ("OMOD", self.omod as u64),
            ]);
        }
        TABLE.encode(self.form, &v).map(|w| w as u64)
    }
    /// Reads a decoded ALU word.
    pub fn from_decoded(d: &Decoded) -> Alu {
        let g = |name: &str| TABLE.value(d, name).unwrap_or(0);
        let src = |s: &str, r: &str, c: &str, n: &str, a: &str| Src {
            sel: g(s) as u16,
            chan: g(c) as u8,
            rel: g(r) != 0,
            neg: g(n) != 0,
            abs: g(a) != 0,
        };
        let op3 = TABLE.form(d.form).ext.format == Format::Op3;
        Alu {
            form: d.form,
            src: [
                src("SRC0_SEL", "SRC0_REL", "SRC0_CHAN", "SRC0_NEG", "SRC0_ABS"),
                src("SRC1_SEL", "SRC1_REL", "SRC1_CHAN", "SRC1_NEG", "SRC1_ABS"),
                src("SRC2_SEL", "SRC2_REL", "SRC2_CHAN", "SRC2_NEG", ""),
            ],
            index_mode: g("INDEX_MODE") as u8,
            pred_sel: g("PRED_SEL") as u8,
            last: g("LAST") != 0,
            update_exec: g("UPDATE_EXECUTE_MASK") != 0,
            update_pred: g("UPDATE_PRED") != 0,
            write: op3 || g("WRITE_MASK") != 0,
            omod: g("OMOD") as u8,
            bank: g("BANK_SWIZZLE") as u8,
            dst: g("DST_GPR") as u8,
            dst_rel: g("DST_REL") != 0,
            chan: g("DST_CHAN") as u8,
            clamp: g("CLAMP") != 0,
        }
    }
    /// Decodes an ALU word pair; bits without a meaning are an error.
    pub fn decode(word: u64) -> Option<Alu> {
        let d = TABLE.decode(forms::ALU, 8, word as u128)?;
        (d.residue == 0).then(|| Alu::from_decoded(&d))
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
            let u = match s.info().unit {
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
        let mut out = Vec::new();
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
    /// Decodes four 32-bit words as a fetch of a space.
    pub fn decode_fetch(space: u32, w: [u32; 4]) -> Option<Word> {
        Word::decode(space, 16, w.iter().rev().fold(0u128, |a, x| a << 32 | *x as u128))
    }
    /// What the table says about it.
    pub fn info(&self) -> &'static Info {
        &TABLE.form(self.0.form).ext
    }
    /// A field's raw value; 0 where the form has no such field.
    pub fn get(&self, name: &str) -> u64 {
        TABLE.value(&self.0, name).unwrap_or(0)
    }
    /// The opcode's short name.
    pub fn name(&self) -> &'static str {
        self.info().short
    }
}
