//! The text form of the IR: lexer, parser and printer. `docs/ir.md` has the grammar.
//!
//! Parsing goes line by line without recursion, so no input can exhaust the stack: [`lexer`] makes tokens, `parser` reads
//! declarations and instructions with values by number, `resolve` connects uses to definitions and infers types.
//! Errors are collected (up to [`MAX_ERRORS`]); a faulty line is skipped and work goes on.

mod decls;
mod insts;
mod lexer;
mod numbers;
mod parser;
mod print;
mod resolve;

pub use numbers::{format_float, parse_float};
pub use print::{print, print_function};

use crate::diag::{Diagnostic, SourceMap, Span};
use crate::module::Module;
use thiserror::Error;

/// The largest text that the parser accepts, in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// The most errors reported for one text.
pub const MAX_ERRORS: usize = 20;
/// The code of the error for a text beyond [`MAX_BYTES`] or another resource cap.
pub const LIMIT_CODE: &str = "E0003";

/// Why a text is not a module: the errors, and the text that their spans point into.
#[derive(Clone, Debug, Error)]
#[error("{}", .diagnostics.first().map_or_else(|| "invalid text".to_string(), ToString::to_string))]
pub struct ParseFailure {
    /// The text.
    pub sources: SourceMap,
    /// What is wrong, in the order of the text; at least one.
    pub diagnostics: Vec<Diagnostic>,
}

impl ParseFailure {
    /// Whether a resource cap was exceeded, rather than the text being wrong.
    pub fn is_limit(&self) -> bool {
        self.diagnostics.iter().any(|d| d.code == LIMIT_CODE)
    }
}

/// Reads a module. `name` is the file's name in diagnostics.
///
/// The result is well-formed as a data structure; [`crate::verify`] checks what it means.
pub fn parse(name: &str, text: &str) -> Result<Module, ParseFailure> {
    let mut sources = SourceMap::default();
    if text.len() > MAX_BYTES {
        let file = sources.add(name, "");
        let m = format!("the text is too large (needed {} bytes, available {MAX_BYTES})", text.len());
        return Err(ParseFailure { sources, diagnostics: vec![Diagnostic::error(LIMIT_CODE, Span::new(file, 0, 0), m)] });
    }
    let file = sources.add(name, text);
    match parser::run(file, text) {
        Ok(mut module) => {
            module.sources = sources;
            Ok(module)
        }
        Err(diagnostics) => Err(ParseFailure { sources, diagnostics }),
    }
}

/// As [`parse`], from bytes that may not be text at all.
pub fn parse_bytes(name: &str, bytes: &[u8]) -> Result<Module, ParseFailure> {
    if bytes.len() > MAX_BYTES {
        let mut sources = SourceMap::default();
        let file = sources.add(name, "");
        let m = format!("the text is too large (needed {} bytes, available {MAX_BYTES})", bytes.len());
        return Err(ParseFailure { sources, diagnostics: vec![Diagnostic::error(LIMIT_CODE, Span::new(file, 0, 0), m)] });
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(name, text),
        Err(e) => {
            let good = std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default();
            let mut sources = SourceMap::default();
            let file = sources.add(name, good);
            let at = good.len() as u32;
            let d = Diagnostic::error("E0002", Span::new(file, at, at), format!("this is not text: invalid UTF-8 at byte {at}"));
            Err(ParseFailure { sources, diagnostics: vec![d] })
        }
    }
}

#[cfg(test)]
mod tests;
