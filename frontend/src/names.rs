//! Where things are named in the user's text: places for what naga reports without one.

use crate::convert::SpanMap;
use naga::WithSpan;
use naga::front::glsl::ErrorKind;
use naga::valid::{EntryPointError, ValidationError};
use pp_rs::token::PreprocessorError as P;
use retroshade_ir::{Diagnostic, FileId, Span};

/// A source text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    /// Its number.
    pub(crate) file: FileId,
    /// The text; empty where the source is none.
    pub(crate) text: &'a str,
}

impl Names<'_> {
    fn span(&self, at: usize, len: usize) -> Span {
        Span::new(self.file, at as u32, (at + len) as u32)
    }

    /// The first line that says anything.
    pub(crate) fn start(&self) -> Span {
        let blank = self.text.len() - self.text.trim_start().len();
        match self.text.trim_start().lines().next() {
            Some(line) => self.span(blank, line.trim_end().len()),
            None => Span::NONE,
        }
    }

    /// Whole words `word` at or behind `from`, outside comments.
    fn words<'s>(&'s self, word: &'s str, from: usize) -> impl Iterator<Item = usize> + 's {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let tail = self.text.get(from..).unwrap_or("");
        let all = tail.match_indices(word).map(move |(at, _)| from + at);
        all.filter(move |at| {
            let (before, after) = (&self.text[..*at], &self.text[at + word.len()..]);
            let line = before.rsplit('\n').next().unwrap_or("");
            let comment = line.contains("//") || before.rfind("/*") > before.rfind("*/");
            !word.is_empty() && !comment && !before.ends_with(part) && !after.starts_with(part)
        })
    }

    /// Where a function is named.
    pub(crate) fn function(&self, name: &str) -> Span {
        let declared = |at: &usize| self.text[at + name.len()..].trim_start().starts_with('(');
        self.words(name, 0).find(declared).map_or_else(|| self.start(), |at| self.span(at, name.len()))
    }

    /// Where an argument of a function is named.
    fn argument(&self, function: &str, name: &str) -> Span {
        let from = self.function(function);
        if from.is_none() {
            return from;
        }
        self.words(name, from.end as usize).next().map_or(from, |at| self.span(at, name.len()))
    }
}

/// An error of naga's validator; one that has no place gets that of the thing that it is about.
pub(crate) fn invalid(e: &WithSpan<ValidationError>, module: &naga::Module, spans: SpanMap, names: Names) -> Diagnostic {
    let mut d = crate::diag::spanned("F0013", e, spans);
    let global = |h: &naga::Handle<naga::GlobalVariable>| {
        let name = module.global_variables.try_get(*h).ok().and_then(|g| g.name.clone()).unwrap_or_default();
        (name, spans(module.global_variables.get_span(*h)))
    };
    let mut place = Span::NONE;
    match e.as_inner() {
        ValidationError::EntryPoint { name, source, .. } => {
            place = names.function(name);
            match source {
                EntryPointError::Argument(n, _) => {
                    let entry = module.entry_points.iter().find(|e| e.name == *name);
                    let argument = entry.and_then(|e| e.function.arguments.get(*n as usize)).and_then(|a| a.name.as_deref());
                    if let Some(a) = argument {
                        place = names.argument(name, a);
                        d.message = d.message.replace(&format!("Argument {n} varying error"), &format!("argument `{a}`"));
                    }
                }
                EntryPointError::BindingCollision(h) | EntryPointError::InvalidGlobalUsage(h, _) => {
                    let (name, at) = global(h);
                    d.message = d.message.replace(&format!("{h:?}"), &format!("`{name}`"));
                    place = at;
                }
                _ => {}
            }
        }
        ValidationError::Function { name, .. } => place = names.function(name),
        _ => {}
    }
    d.message = without_numbers(&d.message);
    if d.span.is_none() {
        d.span = if place.is_none() { names.start() } else { place };
    }
    d
}

/// Drops naga's numbers of expressions, which mean nothing to a reader: `Expression [5] is invalid: `.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("Expression [") {
        let behind = rest[at..].find("is invalid: ").map(|n| at + n + "is invalid: ".len());
        let (Some(behind), true) = (behind, rest[at..].find(']').is_some_and(|n| rest[at + n + 1..].starts_with(" is invalid: "))) else {
            break;
        };
        out.push_str(&rest[..at]);
        rest = &rest[behind..];
    }
    out + rest
}

/// The message of an error of naga's GLSL parser, in words where naga has only the error's name.
pub(crate) fn glsl_message(kind: &ErrorKind, text: &str, span: Span) -> String {
    let ErrorKind::PreprocessorError(p) = kind else { return crate::diag::chain(kind) };
    let said = match p {
        P::UnfinishedBlock => "a conditional block (`#if`, `#ifdef`) is not closed by `#endif`",
        P::ErrorDirective => {
            let at = (span.start as usize).min(text.len());
            let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
            return text[line..].lines().next().unwrap_or("#error").trim().to_string();
        }
        P::IntegerOverflow => "a number is too large",
        P::FloatParsingError => "this is no number",
        P::UnexpectedCharacter => "a character that has no meaning here",
        P::UnexpectedHash => "`#` begins a directive and must be the first thing on its line",
        P::UnexpectedNewLine => "the line ends too early",
        P::UnexpectedEndOfInput => "the text ends too early",
        P::TooFewDefineArguments => "a macro with too few arguments",
        P::TooManyDefineArguments => "a macro with too many arguments",
        P::DuplicateParameter => "two parameters of this macro have the same name",
        P::UnknownDirective => "an unknown directive",
        P::DefineRedefined => "a macro is defined a second time, and differently",
        P::ElifOutsideOfBlock => "`#elif` without `#if`",
        P::ElseOutsideOfBlock => "`#else` without `#if`",
        P::EndifOutsideOfBlock => "`#endif` without `#if`",
        P::ElifAfterElse => "`#elif` behind `#else`",
        P::MoreThanOneElse => "a second `#else`",
        P::MacroNotDefined => "a name in a condition that is not defined",
        P::RecursionLimitReached => "macros that expand too deeply",
        P::DivisionByZero | P::RemainderByZero => "division by zero in a condition",
        _ => return crate::diag::chain(kind),
    };
    said.to_string()
}

/// The errors of naga's GLSL parser: what only follows from an earlier one, or repeats it, is left out.
pub(crate) fn glsl_errors(errors: &[naga::front::glsl::Error], text: &str, spans: SpanMap, names: Names) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = Vec::new();
    let line = |s: Span| names.text.get(..s.start as usize).map_or(0, |t| t.matches('\n').count());
    for e in errors {
        let missing = matches!(&e.kind, ErrorKind::SemanticError(m) if m.starts_with("Missing entry point"));
        if missing && !out.is_empty() {
            continue;
        }
        let mut span = spans(e.meta);
        if span.is_none() {
            span = names.start();
        }
        let directive = out.last().is_some_and(|d| d.message.starts_with("#error") && line(d.span) == line(span));
        if directive {
            continue;
        }
        let message = if missing { "the program has no function `main`".to_string() } else { glsl_message(&e.kind, text, span) };
        out.push(Diagnostic::error("F0011", span, message));
    }
    out
}
