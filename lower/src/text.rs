//! Text of machine code: what `asm`, `dis` and `lint` ask of a target.

use thiserror::Error;

/// Which text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// The syntax that users of the machine know.
    #[default]
    Native,
    /// The lossless field listing.
    Fields,
}

/// What text depends on.
#[derive(Clone, Debug, Default)]
pub struct TextOptions {
    /// Which text.
    pub syntax: Syntax,
    /// Stage, where encodings depend on it; absent: the target's most permissive choice.
    pub stage: Option<retroshade_ir::Stage>,
    /// Chip; absent: every instruction that any chip has.
    pub chip: Option<String>,
    /// Whether the assembler leaves out the padding that the hardware needs.
    pub no_padding: bool,
}

/// An error in assembly text, a binary or a container.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct TextError {
    /// Line and column from 1 in a text, or 0.
    pub line: u32,
    /// Column.
    pub column: u32,
    /// Byte offset in a binary, where that says more.
    pub offset: Option<u64>,
    /// What is wrong.
    pub message: String,
}

impl TextError {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> TextError {
        TextError { line: 0, column: 0, offset: None, message: message.into() }
    }
    /// An error at a line and column (from 1).
    pub fn at(line: u32, column: u32, message: impl Into<String>) -> TextError {
        TextError { line, column, offset: None, message: message.into() }
    }
}

/// What assembling a file gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsmOutput {
    /// Code words, little-endian.
    pub code: Vec<u8>,
    /// The platform's file, where the text says enough for one.
    pub container: Option<Vec<u8>>,
    /// A C header with the places of the uniforms, where the platform's own assembler writes one.
    pub header: Option<String>,
    /// Warnings.
    pub warnings: Vec<TextError>,
}
