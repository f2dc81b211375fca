//! A code buffer with labels, fixups, alignment and relocations.
//!
//! Targets append encoded words; a word that names a label is appended with a [`FixupKind`] that says how the label's
//! byte offset becomes a field's value. [`CodeBuffer::finish`] patches the words and lists the relocations.

use crate::form::{Decoded, EncodeError, FormTable};
use thiserror::Error;

/// A position in the code that may not be known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(u32);

/// How a label's byte offset turns into a field's value.
#[derive(Clone, Copy, Debug)]
pub struct FixupKind {
    /// The field that receives the value.
    pub field: &'static str,
    /// Value from (byte offset of the label, byte offset of the instruction).
    pub value: fn(target: u32, at: u32) -> i64,
    /// Whether the field holds an absolute address, so that the loader must relocate it.
    pub absolute: bool,
}

#[derive(Clone, Debug)]
struct Fixup {
    at: u32,
    decoded: Decoded,
    label: Label,
    kind: FixupKind,
}

/// A word whose field depends on the load address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Byte offset of the instruction.
    pub at: u32,
    /// Byte offset of the target within the code.
    pub target: u32,
    /// The field concerned.
    pub field: &'static str,
}

/// Why a buffer could not be finished.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferError {
    /// A label was used and never bound.
    #[error("label {0} is used at offset {1:#x} and bound nowhere")]
    Unbound(u32, u32),
    /// A branch does not reach.
    #[error("the branch at offset {at:#x} does not reach its target: {error}")]
    OutOfReach {
        /// Byte offset of the branch.
        at: u32,
        /// The field error.
        error: EncodeError,
    },
}

/// Code under construction.
#[derive(Clone, Debug, Default)]
pub struct CodeBuffer {
    bytes: Vec<u8>,
    labels: Vec<Option<u32>>,
    fixups: Vec<Fixup>,
}

impl CodeBuffer {
    /// An empty buffer.
    pub fn new() -> CodeBuffer {
        CodeBuffer::default()
    }
    /// Current byte offset.
    pub fn offset(&self) -> u32 {
        self.bytes.len() as u32
    }
    /// A fresh, unbound label.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }
    /// Binds a label to the current offset.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.offset());
    }
    /// Appends `size` bytes of an encoded word, little-endian.
    pub fn put(&mut self, word: u128, size: u8) {
        self.bytes.extend_from_slice(&word.to_le_bytes()[..size as usize]);
    }
    /// Appends a word one field of which waits for `label`.
    pub fn put_with_label<X>(&mut self, table: &FormTable<X>, decoded: Decoded, label: Label, kind: FixupKind) -> Result<(), EncodeError> {
        let word = table.encode_values(decoded.form, &decoded.values)?;
        let at = self.offset();
        self.put(word, table.form(decoded.form).size);
        self.fixups.push(Fixup { at, decoded, label, kind });
        Ok(())
    }
    /// Appends copies of `filler` until the offset is a multiple of `align`.
    pub fn align(&mut self, align: u32, filler: u128, size: u8) {
        while !self.offset().is_multiple_of(align) {
            self.put(filler, size);
        }
    }
    /// Patches every fixup; returns the code and its relocations.
    pub fn finish<X>(mut self, table: &FormTable<X>) -> Result<(Vec<u8>, Vec<Relocation>), BufferError> {
        let mut relocations = Vec::new();
        for f in std::mem::take(&mut self.fixups) {
            let target = self.labels[f.label.0 as usize].ok_or(BufferError::Unbound(f.label.0, f.at))?;
            let form = table.form(f.decoded.form);
            let mut values = f.decoded.values.clone();
            let out = |error| BufferError::OutOfReach { at: f.at, error };
            let i = form
                .field_index(f.kind.field)
                .ok_or_else(|| out(EncodeError::NoField { form: form.name, field: f.kind.field.to_string() }))?;
            values[i] = (f.kind.value)(target, f.at) as u64;
            let word = table.encode_values(f.decoded.form, &values).map_err(out)?;
            let (at, size) = (f.at as usize, form.size as usize);
            self.bytes[at..at + size].copy_from_slice(&word.to_le_bytes()[..size]);
            if f.kind.absolute {
                relocations.push(Relocation { at: f.at, target, field: f.kind.field });
            }
        }
        Ok((self.bytes, relocations))
    }
}
