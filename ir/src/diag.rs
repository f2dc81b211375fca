//! Source locations and diagnostics.

use std::fmt;

/// Index of a file in a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A stretch of source text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file; `u32::MAX` where there is none.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// No location.
    pub const NONE: Span = Span { file: FileId(u32::MAX), start: 0, end: 0 };
    /// A stretch of a file.
    pub const fn new(file: FileId, start: u32, end: u32) -> Span {
        Span { file, start, end }
    }
    /// Whether this is [`Span::NONE`].
    pub fn is_none(self) -> bool {
        self.file.0 == u32::MAX
    }
}

impl Default for Span {
    fn default() -> Span {
        Span::NONE
    }
}

/// The texts that spans point into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    files: Vec<(String, String)>,
}

impl SourceMap {
    /// Adds a file.
    pub fn add(&mut self, name: &str, text: &str) -> FileId {
        self.files.push((name.to_string(), text.to_string()));
        FileId(self.files.len() as u32 - 1)
    }
    /// A file's name.
    pub fn name(&self, f: FileId) -> Option<&str> {
        self.files.get(f.0 as usize).map(|(n, _)| n.as_str())
    }
    /// A file's text.
    pub fn text(&self, f: FileId) -> Option<&str> {
        self.files.get(f.0 as usize).map(|(_, t)| t.as_str())
    }
    /// Line and column, counted from 1, the column in characters; `None` without a location.
    pub fn line_column(&self, f: FileId, at: u32) -> Option<(u32, u32)> {
        let text = self.text(f)?;
        let mut at = (at as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let line = before.bytes().filter(|b| *b == b'\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
        Some((line, column))
    }
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information that belongs to another diagnostic.
    Note,
    /// Suspicious, but work goes on.
    Warning,
    /// The input is wrong or cannot be served.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// A message about a place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// Stable code (`E0102`): a letter for the area, four digits.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
    /// Further lines, each with its own place (or [`Span::NONE`]).
    pub notes: Vec<(Span, String)>,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, code, message: message.into(), span, notes: Vec::new() }
    }
    /// A warning.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }
    /// Adds a note.
    pub fn note(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.notes.push((span, message.into()));
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity, self.code, self.message)
    }
}
