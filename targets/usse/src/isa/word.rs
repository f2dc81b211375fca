//! Instruction words before encoding: form, field values, branch target, and what they touch.

use crate::isa::access::{self, Access};
use crate::isa::forms::TABLE;
use crate::isa::operands::{Encoding, Role, form, is_unified, operand, read_operand};
use crate::isa::registers::Bank;
use retroshade_emit::form::EncodeError;
use retroshade_ir::Span;

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
    /// Fields that count registers of a repeated word, by how much one iteration advances them, and the highest count.
    fn repeatable(&self) -> Option<(&'static [(&'static str, u64)], u64)> {
        match self.form {
            "VMOV" if self.get("move_type") == 0 && matches!(self.get("move_data_type"), 4 | 5) => {
                Some((&[("dest_n", 1), ("src1_n", 1)], 3))
            }
            // An immediate is the same in every iteration.
            "VBW" if self.get("src2_ext") == 1 && self.get("src2_bank") == 2 => Some((&[("dest_n", 1), ("src1_n", 1)], 15)),
            "VBW" => Some((&[("dest_n", 1), ("src1_n", 1), ("src2_n", 1)], 15)),
            "VCOMP" => Some((&[("dest_n", 1), ("src1_n", 1)], 15)),
            _ => None,
        }
    }

    /// Whether all operands are registers that come in sequence, or immediates.
    fn in_sequence(&self) -> bool {
        let Some(d) = self.encode().ok().and_then(crate::isa::forms::decode) else { return false };
        let banks = crate::isa::operands::operands(self.form).iter().map(|o| (o.role, read_operand(&d, o).reg.bank));
        banks.into_iter().all(|(role, b)| match role {
            Role::Dest | Role::Src1 => is_unified(b),
            // A move has no other operands.
            _ => matches!(self.form, "VMOV" | "VCOMP") || is_unified(b) || b == Bank::Imm,
        })
    }

    /// This word with the repeat count with which it also does what `next` does, if there is one.
    pub fn repeat_with(&self, next: &Word) -> Option<Word> {
        if self.form != next.form || next.get("repeat_count") != 0 {
            return None;
        }
        let count = self.get("repeat_count");
        if self.form == "VDP" {
            return self.repeat_dot(next, count);
        }
        let (moving, most) = self.repeatable()?;
        let advances = moving.iter().all(|(f, by)| next.get(f) == self.get(f) + (count + 1) * by);
        let others = |f: &str| f != "repeat_count" && moving.iter().all(|m| m.0 != f);
        if !advances || count >= most || !self.equals(next, others) || !self.in_sequence() || !next.in_sequence() {
            return None;
        }
        let mut out = self.clone();
        out.set("repeat_count", count + 1);
        Some(out)
    }

    /// Whether two words of one form agree in all fields that `which` selects.
    fn equals(&self, other: &Word, which: impl Fn(&str) -> bool) -> bool {
        self.fields.iter().chain(&other.fields).map(|f| f.0).filter(|f| which(f)).all(|f| self.get(f) == other.get(f))
    }

    /// Dot products of one vector with rows that follow each other: each iteration writes the next lane and reads two
    /// registers (as the repeat state says) or four (a row of a matrix) further.
    fn repeat_dot(&self, next: &Word, count: u64) -> Option<Word> {
        const MOVING: [&str; 5] = ["dest_n", "write_mask", "src1_n", "repeat_count", "repeat_mode"];
        let place = |w: &Word| {
            let d = w.encode().ok().and_then(crate::isa::forms::decode)?;
            let to = read_operand(&d, operand("VDP", Role::Dest)?).reg;
            let row = read_operand(&d, operand("VDP", Role::Src1)?).reg;
            let lane = w.get("write_mask").trailing_zeros() as u16;
            let first = if to.bank == Bank::I { 4 * to.n } else { to.n };
            (is_unified(row.bank) && (to.bank == Bank::I || is_unified(to.bank))).then_some((to.bank, first, lane, row))
        };
        let ((bank, first, lane, row), (bank2, first2, lane2, row2)) = (place(self)?, place(next)?);
        let k = count as u16 + 1;
        let stride = row2.n.checked_sub(row.n).filter(|d| d % k == 0).map(|d| d / k)?;
        let (own, mode) = (self.get("repeat_mode"), if stride == 4 { 0 } else { 3 });
        let known = matches!(stride, 2 | 4) && (count == 0 || own == mode);
        if !known || count >= 3 || bank != bank2 || row.bank != row2.bank || lane + k > 3 || first + lane + k != first2 + lane2 {
            return None;
        }
        // Lanes of an internal register do not run into the next one.
        let inside = bank != Bank::I || first == first2;
        if !inside || !self.equals(next, |f| !MOVING.contains(&f)) {
            return None;
        }
        let mut out = self.clone();
        out.set("repeat_count", count + 1);
        out.set("repeat_mode", mode);
        Some(out)
    }

    /// What it touches.
    pub fn access(&self) -> Access {
        self.encode().map_or(Access { fixed: true, ..Access::default() }, access::access)
    }
}
