//! Why a compilation ended without code.

use crate::text::TextError;
use retroshade_ir::{Diagnostic, Module, Span};
use thiserror::Error;

/// A compilation's failure. The command line maps the variants to its exit statuses.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The input is wrong, or uses what the machine lacks (exit status 1).
    #[error("{}", .0.first().map_or_else(|| "invalid input".to_string(), ToString::to_string))]
    Invalid(Vec<Diagnostic>),
    /// Too much of something that the machine has (exit status 3).
    #[error("{diagnostic} (needed {needed}, available {available})")]
    Limit {
        /// What ran out, where, and what is live.
        diagnostic: Box<Diagnostic>,
        /// How much the program needs.
        needed: u64,
        /// How much the machine has.
        available: u64,
    },
    /// Code that breaks a rule of its machine, by the validator (exit status 70).
    #[error("the validator objects to the code: {}", .0.first().map_or_else(String::new, ToString::to_string))]
    Unsound(Vec<TextError>),
    /// Code that computes something else than the legalised IR, by the validator (exit status 70).
    #[error("the code does not compute what the program means: {0}")]
    Wrong(String),
    /// A broken promise inside the compiler (exit status 70).
    #[error("internal error: {0}")]
    Internal(String),
}

impl CompileError {
    /// A single error about a place: something that the machine lacks.
    pub fn unsupported(code: &'static str, span: Span, message: impl Into<String>) -> CompileError {
        CompileError::Invalid(vec![Diagnostic::error(code, span, message)])
    }
    /// A limit.
    pub fn limit(code: &'static str, span: Span, message: impl Into<String>, needed: u64, available: u64) -> CompileError {
        CompileError::Limit { diagnostic: Box::new(Diagnostic::error(code, span, message)), needed, available }
    }
    /// The caller has ended the compilation.
    pub fn cancelled(module: &Module) -> CompileError {
        CompileError::Limit {
            diagnostic: Box::new(Diagnostic::error("C0033", module.main().place(), "the compilation was ended before it was done")),
            needed: 1,
            available: 0,
        }
    }
    /// The same error; what has no place in the source gets that of the program's first instruction, so that a file and a line are always named.
    pub fn placed(mut self, module: &Module) -> CompileError {
        let place = module.main().place();
        let give = |d: &mut Diagnostic| {
            if d.span.is_none() {
                d.span = place;
            }
        };
        match &mut self {
            CompileError::Invalid(all) => all.iter_mut().for_each(give),
            CompileError::Limit { diagnostic, .. } => give(diagnostic),
            CompileError::Unsound(_) | CompileError::Wrong(_) | CompileError::Internal(_) => {}
        }
        self
    }
    /// The exit status of the command line.
    pub fn exit_status(&self) -> u8 {
        match self {
            CompileError::Invalid(_) => 1,
            CompileError::Limit { .. } => 3,
            CompileError::Unsound(_) | CompileError::Wrong(_) | CompileError::Internal(_) => 70,
        }
    }
    /// The diagnostics to show.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            CompileError::Invalid(d) => d.clone(),
            CompileError::Limit { diagnostic, needed, available } => {
                let mut d = (**diagnostic).clone();
                d.message = format!("{} (needed {needed}, available {available})", d.message);
                vec![d]
            }
            CompileError::Unsound(found) => {
                let say = |e: &TextError| match e.offset {
                    Some(at) => format!("the validator objects to the code at byte {at:#x}: {}", e.message),
                    None => format!("the validator objects to the code: {}", e.message),
                };
                found.iter().map(|e| Diagnostic::error("X0004", Span::NONE, say(e))).collect()
            }
            CompileError::Wrong(_) => vec![Diagnostic::error("X0005", Span::NONE, self.to_string())],
            CompileError::Internal(m) => vec![Diagnostic::error("X0001", Span::NONE, format!("internal error: {m}"))],
        }
    }
}
