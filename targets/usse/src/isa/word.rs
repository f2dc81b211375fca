//! Instruction words under construction: form and field values, branch target, where they came from, and which words may
//! become one that repeats.

use crate::isa::access::{self, Access};
use crate::isa::forms::{FORMS, TABLE, VBW, VDP, VMOV, field, row_of};
use crate::isa::operands::{Role, is_unified, operand, read_operand};
use crate::isa::registers::Bank;
use retroshade_emit::form::{EncodeError, FormId};
use retroshade_emit::{FieldName, Word as Fields};
use retroshade_ir::Span;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

/// A word under construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Form and field values.
    pub fields: Fields,
    /// Block that a branch goes to.
    pub target: Option<usize>,
    /// Block whose branch is decided by what it finds out.
    pub decides: Option<usize>,
    /// Where it came from.
    pub span: Span,
    /// A field that was given, but that the form lacks.
    pub(crate) stray: Option<FieldName>,
}

/// A word of each form without values.
static BLANK: LazyLock<Vec<Fields>> = LazyLock::new(|| (0..FORMS.len() as u16).map(|n| Fields::new(FORMS, FormId(n), &[])).collect());

// By hand: what differs in words that are compared is mostly told by their fields.
impl Hash for Word {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mix = |h: u64, v: u64| (h.rotate_left(5) ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let start = mix(u64::from(self.fields.form.0), self.target.map_or(u64::MAX, |to| to as u64));
        state.write_u64(self.fields.values.iter().fold(start, |h, v| mix(h, *v)));
    }
}

impl Word {
    /// A word; fields that are not given are 0.
    pub fn new(form: FormId, fields: impl IntoIterator<Item = (FieldName, u64)>, span: Span) -> Word {
        let mut w = Word { fields: BLANK[usize::from(form.0)].clone(), target: None, decides: None, span, stray: None };
        for (name, v) in fields {
            w.set(name, v);
        }
        w
    }
    /// Its form.
    pub fn form(&self) -> FormId {
        self.fields.form
    }
    /// Sets a field.
    pub fn set(&mut self, name: FieldName, value: u64) {
        if TABLE.set(&mut self.fields, name, value).is_err() {
            self.stray = Some(name);
        }
    }
    /// A field's value; 0 where the form has none of this name.
    pub fn get(&self, name: FieldName) -> u64 {
        TABLE.get(&self.fields, name).unwrap_or(0)
    }
    /// Whether the form has a field.
    pub fn has(&self, name: FieldName) -> bool {
        TABLE.position(self.form(), name).is_some()
    }
    /// Its form and values, if the form has all fields that were given.
    pub fn checked(&self) -> Result<&Fields, EncodeError> {
        match self.stray {
            Some(f) => Err(EncodeError::NoField { form: TABLE.form(self.form()).name, field: f.name().to_string() }),
            None => Ok(&self.fields),
        }
    }
    /// Encodes it.
    pub fn encode(&self) -> Result<u64, EncodeError> {
        self.checked().and_then(|w| TABLE.encode_word(w)).map(|w| w as u64)
    }

    /// The highest count and the number fields that one iteration advances, where words of its kind may be repeated.
    fn advances(&self) -> Option<(u64, &'static [FieldName])> {
        let (most, fields) = row_of(self.form()).advances?;
        match self.form() {
            VMOV if self.get(field!(move_type)) != 0 || !matches!(self.get(field!(move_data_type)), 4 | 5) => None,
            // An immediate is the same in every iteration.
            VBW if self.get(field!(src2_ext)) == 1 && self.get(field!(src2_bank)) == 2 => Some((most, &fields[..2])),
            _ => Some((most, fields)),
        }
    }

    /// Whether all operands are registers that come in sequence, or immediates.
    fn in_sequence(&self) -> bool {
        row_of(self.form()).operands.iter().all(|o| {
            let bank = read_operand(&self.fields, o).reg.bank;
            match o.role {
                Role::Dest | Role::Src1 => is_unified(bank),
                // A move has no other operands.
                _ => self.form() == VMOV || is_unified(bank) || bank == Bank::Imm,
            }
        })
    }

    /// This word with the repeat count with which it also does what `next` does, if there is one.
    pub fn repeat_with(&self, next: &Word) -> Option<Word> {
        let repeat = row_of(self.form()).repeat?;
        if self.form() != next.form() || next.get(repeat) != 0 {
            return None;
        }
        let count = self.get(repeat);
        if self.form() == VDP {
            return self.repeat_dot(next, count);
        }
        let (most, moving) = self.advances()?;
        let advances = moving.iter().all(|f| next.get(*f) == self.get(*f) + count + 1);
        if !advances || count >= most || !self.equals(next, repeat, moving) || !self.in_sequence() || !next.in_sequence() {
            return None;
        }
        let mut out = self.clone();
        out.set(repeat, count + 1);
        Some(out)
    }

    /// Whether another word does the same, wherever it came from.
    pub fn same(&self, other: &Word) -> bool {
        self.fields == other.fields && self.target == other.target && self.stray == other.stray
    }

    /// Whether two words of one form agree in all fields but these.
    fn equals(&self, other: &Word, repeat: FieldName, but: &[FieldName]) -> bool {
        let form = TABLE.form(self.form());
        let leave: Vec<_> = but.iter().chain([&repeat]).filter_map(|f| form.position(*f)).map(|at| at.0 as usize).collect();
        let pairs = self.fields.values.iter().zip(&other.fields.values).enumerate();
        pairs.filter(|(n, _)| !leave.contains(n)).all(|(_, (a, b))| a == b)
    }

    /// Dot products of one vector with rows that follow each other: each iteration writes the next lane and reads two
    /// registers (as the repeat state says) or four (a row of a matrix) further.
    fn repeat_dot(&self, next: &Word, count: u64) -> Option<Word> {
        let moving = [field!(dest_n), field!(write_mask), field!(src1_n), field!(repeat_mode)];
        let place = |w: &Word| {
            let to = read_operand(&w.fields, operand(VDP, Role::Dest)?).reg;
            let row = read_operand(&w.fields, operand(VDP, Role::Src1)?).reg;
            let lane = w.get(field!(write_mask)).trailing_zeros() as u16;
            let first = if to.bank == Bank::I { 4 * to.n } else { to.n };
            (is_unified(row.bank) && (to.bank == Bank::I || is_unified(to.bank))).then_some((to.bank, first, lane, row))
        };
        let ((bank, first, lane, row), (bank2, first2, lane2, row2)) = (place(self)?, place(next)?);
        let k = count as u16 + 1;
        let stride = row2.n.checked_sub(row.n).filter(|d| d % k == 0).map(|d| d / k)?;
        let (own, mode) = (self.get(field!(repeat_mode)), if stride == 4 { 0 } else { 3 });
        let known = matches!(stride, 2 | 4) && (count == 0 || own == mode);
        if !known || count >= 3 || bank != bank2 || row.bank != row2.bank || lane + k > 3 || first + lane + k != first2 + lane2 {
            return None;
        }
        // Lanes of an internal register do not run into the next one.
        let inside = bank != Bank::I || first == first2;
        if !inside || !self.equals(next, field!(repeat_count), &moving) {
            return None;
        }
        let mut out = self.clone();
        out.set(field!(repeat_count), count + 1);
        out.set(field!(repeat_mode), mode);
        Some(out)
    }

    /// What it touches.
    pub fn access(&self) -> Access {
        access::of(&self.fields)
    }
}
