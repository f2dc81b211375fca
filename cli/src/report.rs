//! Diagnostics for people and for programs, and the exit status.

use crate::args::{Color, MessageFormat};
use codespan_reporting::diagnostic::{Diagnostic as Rich, Label, Severity as RichSeverity};
use codespan_reporting::files::SimpleFiles;
use codespan_reporting::term;
use indicatif::{ProgressBar, ProgressStyle};
use retroshade::diagnostics::json_line;
use retroshade::ir::{Diagnostic, FileId, Module, Severity, SourceMap, Span};
use retroshade::lower::{CompileError, TextError};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// The most diagnostics shown for one input.
const CAP: usize = 20;

/// A command that did not succeed: what to show, and the exit status.
#[derive(Debug, Default)]
pub struct Failure {
    /// Exit status.
    pub status: u8,
    /// The texts behind the spans.
    pub sources: SourceMap,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// Name to show where a diagnostic has no span.
    pub file: Option<String>,
}

impl Failure {
    /// A failure without a place in a source.
    pub fn plain(status: u8, code: &'static str, message: impl Into<String>) -> Failure {
        Failure { status, diagnostics: vec![Diagnostic::error(code, Span::NONE, message)], ..Failure::default() }
    }
    /// Whether one of its messages has a code.
    pub fn has(&self, code: &str) -> bool {
        self.diagnostics.iter().any(|d| d.code == code)
    }
    /// Something to know about a command that succeeds.
    pub fn note(code: &'static str, message: impl Into<String>) -> Failure {
        let d = Diagnostic { severity: Severity::Note, ..Diagnostic::error(code, Span::NONE, message) };
        Failure { diagnostics: vec![d], ..Failure::default() }
    }
    /// A malformed command line.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::plain(2, "C0002", message)
    }
    /// A failed status without anything more to say.
    pub fn silent(status: u8) -> Failure {
        Failure { status, ..Failure::default() }
    }
    /// The same as a warning, for a command that succeeds nonetheless.
    pub fn into_warning(mut self) -> Failure {
        self.diagnostics.iter_mut().for_each(|d| d.severity = Severity::Warning);
        Failure { status: 0, ..self }
    }
    /// Errors in a source.
    pub fn source(status: u8, sources: SourceMap, diagnostics: Vec<Diagnostic>) -> Failure {
        Failure { status, sources, diagnostics, file: None }
    }
    /// A compilation's failure.
    pub fn compile(e: &CompileError, module: &Module, file: &str) -> Failure {
        let e = e.clone().placed(module);
        Failure { status: e.exit_status(), sources: module.sources.clone(), diagnostics: e.diagnostics(), file: Some(file.to_string()) }
    }
    /// Errors in assembly text or a binary.
    pub fn text(name: &str, source: &str, errors: Vec<TextError>) -> Failure {
        let mut sources = SourceMap::default();
        let file = sources.add(name, source);
        let diagnostics = errors.into_iter().map(|e| text_error(file, source, e)).collect();
        Failure { status: 1, sources, diagnostics, file: Some(name.to_string()) }
    }
}

/// An assembler's error as a diagnostic with a span.
fn text_error(file: FileId, source: &str, e: TextError) -> Diagnostic {
    if e.line == 0 {
        let message = match e.offset {
            Some(o) => format!("at byte {o:#x}: {}", e.message),
            None => e.message,
        };
        return Diagnostic::error("A0001", Span::NONE, message);
    }
    let start = source.split('\n').take(e.line as usize - 1).map(|l| l.len() + 1).sum::<usize>();
    let line = source.get(start..).unwrap_or("").split('\n').next().unwrap_or("");
    let column = line.char_indices().nth((e.column.max(1) - 1) as usize).map_or(line.len(), |(i, _)| i);
    let rest = &line[column..];
    let word = rest.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(rest.len()).max(usize::from(!rest.is_empty()));
    let word = (word..=rest.len()).find(|n| rest.is_char_boundary(*n)).unwrap_or(rest.len());
    let at = start + column;
    Diagnostic::error("A0001", Span::new(file, at as u32, (at + word) as u32), e.message)
}

/// Whether diagnostics are coloured.
static COLORED: AtomicBool = AtomicBool::new(false);

/// Follows `--color`.
pub fn choose_color(choice: Color) {
    let auto = || std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    COLORED.store(choice == Color::Always || choice == Color::Auto && auto(), Ordering::Relaxed);
}

/// The headline's severity and message and the lines with carets, coloured for a terminal.
fn colored(text: &str, d: &Diagnostic) -> String {
    let color = match d.severity {
        Severity::Error => "\x1b[1;31m",
        Severity::Warning => "\x1b[1;33m",
        Severity::Note => "\x1b[1;36m",
    };
    let (headline, rest) = text.split_once('\n').unwrap_or((text, ""));
    let label = format!("{}[{}]:", d.severity, d.code);
    let mut out = match headline.split_once(&label) {
        Some((place, message)) => format!("\x1b[1m{place}{color}{label}\x1b[0;1m{message}\x1b[0m\n"),
        None => format!("{headline}\n"),
    };
    for line in rest.lines() {
        match line.find('^').filter(|_| line.trim_start_matches(['│', '|', ' ']).starts_with('^')) {
            Some(at) => out.push_str(&format!("{}{color}{}\x1b[0m\n", &line[..at], &line[at..])),
            None => out.push_str(&format!("{line}\n")),
        }
    }
    out
}

/// A bar on a terminal's stderr; nothing elsewhere.
pub fn progress(total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(total);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Writes diagnostics to stderr.
pub fn show(f: &Failure, format: MessageFormat) {
    for d in f.diagnostics.iter().take(CAP) {
        say(&match format {
            MessageFormat::Human if COLORED.load(Ordering::Relaxed) => colored(&human(d, f), d),
            MessageFormat::Human => human(d, f),
            MessageFormat::Json => format!("{}\n", json_line(d, &f.sources, f.file.as_deref())),
        });
    }
}

/// The first message about a source in one line, and its place.
pub fn headline(f: &Failure) -> String {
    let text = f.diagnostics.first().map(|d| human(d, f)).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_string()
}

/// Text on stderr. That nobody reads it is no reason to stop, or to leave an output unwritten.
pub fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

fn place(span: Span, f: &Failure) -> Option<(String, u32, u32)> {
    let name = f.sources.name(span.file)?;
    let (line, column) = f.sources.line_column(span.file, span.start)?;
    Some((name.to_string(), line, column))
}

/// The one-line form, then the source line with a caret.
fn human(d: &Diagnostic, f: &Failure) -> String {
    let Some((name, line, column)) = place(d.span, f) else {
        let prefix = f.file.as_ref().map(|n| format!("{n}: ")).unwrap_or_default();
        let mut out = format!("{prefix}{}[{}]: {}\n", d.severity, d.code, d.message);
        for (_, n) in &d.notes {
            out.push_str(&format!("  note: {n}\n"));
        }
        return out;
    };
    let mut out = format!("{name}:{line}:{column}: {}[{}]: {}\n", d.severity, d.code, d.message);
    if let Some(excerpt) = f.sources.text(d.span.file).and_then(|t| cut(t, d.span)) {
        out.push_str(&excerpt);
        for (_, n) in &d.notes {
            out.push_str(&format!("  note: {n}\n"));
        }
        return out;
    }
    // codespan draws the excerpt; its own headline is replaced by the line above.
    let mut files = SimpleFiles::new();
    let mut n = 0;
    while let (Some(name), Some(text)) = (f.sources.name(FileId(n)), f.sources.text(FileId(n))) {
        files.add(name, text);
        n += 1;
    }
    let range = |s: Span| s.start as usize..s.end.max(s.start) as usize;
    let mut rich = Rich::new(match d.severity {
        Severity::Error => RichSeverity::Error,
        Severity::Warning => RichSeverity::Warning,
        Severity::Note => RichSeverity::Note,
    })
    .with_message("")
    .with_label(Label::primary(d.span.file.0 as usize, range(d.span)));
    for (span, note) in &d.notes {
        if f.sources.name(span.file).is_some() {
            rich = rich.with_label(Label::secondary(span.file.0 as usize, range(*span)).with_message(note));
        } else {
            rich = rich.with_notes(vec![format!("note: {note}")]);
        }
    }
    let mut text = String::new();
    if term::emit_to_string(&mut text, &term::Config::default(), &files, &rich).is_ok() {
        out.extend(text.split_inclusive('\n').skip(2).filter(|l| !l.trim().is_empty()));
    }
    out
}

/// The longest source line that is shown whole, in bytes.
const LONG_LINE: usize = 200;

/// The neighbourhood of a place in a line that is too long to be shown, with a caret below.
fn cut(text: &str, span: Span) -> Option<String> {
    let at = (span.start as usize).min(text.len());
    let begin = text.get(..at)?.rfind('\n').map_or(0, |n| n + 1);
    let line = text.get(begin..)?.lines().next()?;
    if line.len() <= LONG_LINE {
        return None;
    }
    let (before, behind) = line.split_at_checked(at - begin)?;
    let skip = before.char_indices().rev().nth(LONG_LINE / 4).map_or(0, |(i, _)| i);
    let end = behind.char_indices().nth(LONG_LINE / 2).map_or(behind.len(), |(i, _)| i);
    let (head, tail) = (if skip > 0 { "…" } else { "" }, if end < behind.len() { "…" } else { "" });
    let shown = format!("{head}{}", &before[skip..]).replace('\t', " ");
    let length = (span.end.saturating_sub(span.start) as usize).clamp(1, end.max(1));
    let carets = "^".repeat(behind.get(..length).map_or(1, |s| s.chars().count().max(1)));
    Some(format!("  {shown}{}{tail}\n  {}{carets}\n", &behind[..end], " ".repeat(shown.chars().count())))
}
