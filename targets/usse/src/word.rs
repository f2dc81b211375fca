//! Instruction words before encoding: form, field values, branch target, and what they do to internal registers.

use crate::forms::TABLE;
use crate::operands::{Encoding, field, form, operands, read_operand};
use crate::regs::Bank;
use crate::text::{pack_selectors, repeats};
use retroshade_emit::form::EncodeError;
use retroshade_ir::Span;

/// Registers that a word touches: bank, first, one past the last.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Read.
    pub reads: Vec<(Bank, u16, u16)>,
    /// Written.
    pub writes: Vec<(Bank, u16, u16)>,
}

impl Effects {
    /// Whether the order of two words matters.
    pub fn conflicts(&self, other: &Effects) -> bool {
        let meet =
            |a: &[(Bank, u16, u16)], b: &[(Bank, u16, u16)]| a.iter().any(|x| b.iter().any(|y| x.0 == y.0 && x.1 < y.2 && y.1 < x.2));
        meet(&self.writes, &other.writes) || meet(&self.writes, &other.reads) || meet(&self.reads, &other.writes)
    }
}

/// A word under construction.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// Form.
    pub form: &'static str,
    /// Fields; the rest is 0.
    pub fields: Encoding,
    /// Block that a branch goes to.
    pub target: Option<usize>,
    /// Where it came from.
    pub span: Span,
}

impl Word {
    /// A word without fields.
    pub fn new(form: &'static str, fields: Encoding, span: Span) -> Word {
        Word { form, fields, target: None, span }
    }
    /// Sets a field.
    pub fn set(&mut self, name: &'static str, value: u64) {
        match self.fields.iter_mut().find(|(n, _)| *n == name) {
            Some(f) => f.1 = value,
            None => self.fields.push((name, value)),
        }
    }
    /// A field's value.
    pub fn get(&self, name: &str) -> u64 {
        self.fields.iter().find(|(n, _)| *n == name).map_or(0, |f| f.1)
    }
    /// Whether the form has a field.
    pub fn has(&self, name: &str) -> bool {
        TABLE.form(form(self.form)).field_index(name).is_some()
    }
    /// Encodes it.
    pub fn encode(&self) -> Result<u64, EncodeError> {
        TABLE.encode(form(self.form), &self.fields).map(|w| w as u64)
    }
    /// Fields that count registers of a repeated word: destination, source, and how many iterations its count can name.
    fn repeatable(&self) -> Option<(&'static str, &'static str, u64)> {
        match self.form {
            "VMOV" if self.get("move_type") == 0 && matches!(self.get("move_data_type"), 4 | 5) => Some(("dest_n", "src1_n", 3)),
            // The second operand is the same immediate in every iteration.
            "VBW" if self.get("src2_ext") == 1 && self.get("src2_bank") == 2 => Some(("dest_n", "src1_n", 15)),
            _ => None,
        }
    }

    /// The repeat count with which this word also does what `next` does, if there is one.
    pub fn repeat_with(&self, next: &Word) -> Option<u64> {
        let (dest, src, most) = self.repeatable()?;
        let count = self.get("repeat_count");
        let name = |w: &Word, f: &'static str| w.get(f);
        let advances = |f| name(next, f) == name(self, f) + count + 1;
        let moves = |f: &str| f == dest || f == src;
        let all = || self.fields.iter().chain(&next.fields).map(|f| f.0);
        let same = all().all(|f| moves(f) || f == "repeat_count" || self.get(f) == next.get(f));
        if self.form != next.form || !same || !advances(dest) || !advances(src) || count >= most || next.get("repeat_count") != 0 {
            return None;
        }
        // Only registers that come in sequence advance.
        let unified = |w: &Word| {
            let d = w.encode().ok().and_then(crate::forms::decode);
            let of = |role| d.as_ref().zip(crate::operands::operand(w.form, role)).map(|(d, o)| read_operand(d, o).reg.bank);
            let good = |b: Option<Bank>| b.is_some_and(crate::operands::is_unified);
            good(of(crate::operands::Role::Dest)) && good(of(crate::operands::Role::Src1))
        };
        (unified(self) && unified(next)).then_some(count + 1)
    }

    /// Registers outside the internal ones that it touches, generously; `None` for words that nothing may pass.
    pub fn effects(&self) -> Option<Effects> {
        let vector = matches!(self.form, "VMAD2" | "V32NMAD" | "V16NMAD" | "VMAD" | "VDP" | "VCOMP" | "VMOV" | "VPCK" | "VBW" | "LIMM");
        let derivative = matches!(self.form, "V32NMAD" | "V16NMAD") && matches!(self.get("op2"), 3 | 4);
        if !vector || derivative || self.get("pred") != 0 || self.get("end") != 0 || self.get("end_or_src0_bank_ext") != 0 {
            return None;
        }
        let d = self.encode().ok().and_then(crate::forms::decode)?;
        let mut e = Effects::default();
        // A repeated word reaches at most four registers further with each iteration.
        let reach = 4 + 4 * repeats(&d);
        for o in operands(self.form) {
            let r = read_operand(&d, o).reg;
            if !crate::operands::is_unified(r.bank) {
                if matches!(r.bank, Bank::Indexed(_) | Bank::Index) {
                    return None;
                }
                continue;
            }
            let to = if o.role == crate::operands::Role::Dest { &mut e.writes } else { &mut e.reads };
            to.push((r.bank, r.n, r.n + reach));
        }
        Some(e)
    }

    /// Lanes of internal registers that it reads and writes.
    pub fn internal(&self) -> ([u8; 3], [u8; 3]) {
        let (mut reads, mut writes) = ([0u8; 3], [0u8; 3]);
        let Some(d) = self.encode().ok().and_then(crate::forms::decode) else { return (reads, writes) };
        let mask = match self.form {
            "VCOMP" | "VMAD" | "VDP" => field(&d, "write_mask"),
            "VBW" | "I32MAD2" | "VTST" | "LIMM" => 1,
            // Whole registers have one lane.
            "VMOV" if field(&d, "move_data_type") < 3 => 1,
            _ => field(&d, "dest_mask"),
        } as u8;
        // Half-precision masks outside internal registers name pairs of lanes.
        let halves = (self.form == "VMAD2" && field(&d, "dat_fmt") == 1) || (self.form == "VMOV" && field(&d, "move_data_type") == 4);
        let to = crate::operands::operand(self.form, crate::operands::Role::Dest).map(|o| read_operand(&d, o).reg.bank);
        let mask = if halves && to != Some(Bank::I) { crate::text::pair_mask(mask) } else { mask };
        let dot = self.form == "VDP" || (matches!(self.form, "V32NMAD" | "V16NMAD") && field(&d, "op2") == 7);
        for o in operands(self.form) {
            let s = read_operand(&d, o);
            if s.reg.bank != Bank::I || s.reg.n > 2 {
                continue;
            }
            let n = s.reg.n as usize;
            if o.role == crate::operands::Role::Dest {
                let mut m = mask;
                if self.form == "VDP" {
                    for k in 0..=repeats(&d) {
                        m |= mask << k | mask >> (4 - k.min(4));
                    }
                }
                writes[n] |= m & 15;
                continue;
            }
            let sel = match self.form {
                "VPCK" => pack_selectors(&d),
                _ => s.sel,
            };
            let read = match self.form {
                "VCOMP" | "VTST" => 1,
                "VDP" if field(&d, "opcode2") == 0 => 7,
                _ if dot => 15,
                "VBW" | "I32MAD2" => 1,
                _ => mask,
            };
            for k in (0..4).filter(|k| read >> k & 1 == 1) {
                if sel[k] < 4 {
                    reads[n] |= 1 << sel[k];
                }
            }
        }
        (reads, writes)
    }
}
