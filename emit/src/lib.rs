//! Encodings as data: the one place where bits are described.
//!
//! A target writes a static [`FormTable`]; the encoder, decoder, field listing, assembler, disassembler, documentation
//! and coverage all read it. The emitter writes bytes only through [`FormTable::encode`], and simulators execute only
//! what [`FormTable::decode`] returns, so no bit is described twice.
//!
//! ```text
//!   Form + field values ──encode──▶ bits ──▶ CodeBuffer ──▶ bytes
//!   bytes ──▶ bits ──decode──▶ Decoded { form, values } ──▶ listing / native text / simulator
//! ```
#![forbid(unsafe_code)]

pub mod buffer;
pub mod docs;
pub mod form;
pub mod listing;
pub mod names;

pub use buffer::{CodeBuffer, FixupKind, Label};
pub use form::{Bits, Decoded, EncodeError, Field, Form, FormId, FormTable, Kind, Word};
pub use names::{FieldIndex, FieldName, FieldValue, field_in, field_index, field_name, form_id, highest, texts};
