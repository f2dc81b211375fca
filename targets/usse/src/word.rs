//! Instruction words before encoding: form, field values, branch target, and what they do to internal registers.

use crate::forms::TABLE;
use crate::operands::{Encoding, field, form, operands, read_operand};
use crate::regs::Bank;
use crate::text::{pack_selectors, repeats};
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
    /// Lanes of internal registers that it reads and writes.
    pub fn internal(&self) -> ([u8; 3], [u8; 3]) {
        let (mut reads, mut writes) = ([0u8; 3], [0u8; 3]);
        let Some(d) = self.encode().ok().and_then(crate::forms::decode) else { return (reads, writes) };
        let mask = match self.form {
            "VCOMP" | "VMAD" | "VDP" => field(&d, "write_mask"),
            "VBW" | "I32MAD2" | "VTST" | "LIMM" => 1,
            _ => field(&d, "dest_mask"),
        } as u8;
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
