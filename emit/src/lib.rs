//! Encodings as data: the one place where bits are described.
//!
//! A target writes a static [`FormTable`]; the encoder, decoder, field listing, assembler, disassembler, documentation
//! and coverage all read it. The emitter writes bytes only through [`Layout`], and simulators execute only what
//! [`FormTable::decode`] returns, so no bit is described twice.
//!
//! ```text
//!   Word { form, values } ──▶ Layout (labels, alignment) ──encode──▶ bytes
//!   bytes ──decode──▶ Word { form, values } ──▶ listing / native text / simulator
//! ```
#![forbid(unsafe_code)]

pub mod bytes;
pub mod docs;
pub mod form;
pub mod layout;
pub mod listing;
pub mod names;

pub use form::{Bits, Decoded, EncodeError, Field, Form, FormId, FormTable, Index, Kind, Word};
pub use layout::{Code, Fixup, Label, Layout, LayoutError, Relocation, Rule};
pub use names::{FieldIndex, FieldName, FieldValue, Named, field_in, field_index, field_name, field_places, form_id, highest, texts};
