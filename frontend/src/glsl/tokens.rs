//! GLSL after its preprocessor: tokens that know their place in the user's text, and the text that is made of them for naga.

use naga::front::glsl::ErrorKind;
use pp_rs::pp::Preprocessor;
use pp_rs::token::{Location, PreprocessorError, Punct, TokenValue};
use retroshade_ir::{Diagnostic, FileId, Span};

/// Errors of the preprocessor that are worth reporting.
const MAX_ERRORS: usize = 20;

/// A token and the part of the user's text that it stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tok {
    /// As naga will read it.
    pub(crate) text: String,
    /// First byte.
    pub(crate) at: u32,
    /// Byte after the last.
    pub(crate) end: u32,
}

impl Tok {
    /// A token that stands where another one does.
    pub(crate) fn like(&self, text: impl Into<String>) -> Tok {
        Tok { text: text.into(), at: self.at, end: self.end }
    }

    /// Whether this is a name or a keyword.
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }

    /// Whether the token is exactly `text`.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text
    }
}

/// What the preprocessor leaves.
#[derive(Debug, Default)]
pub(crate) struct Preprocessed {
    /// The tokens.
    pub(crate) toks: Vec<Tok>,
    /// The number after `#version`.
    pub(crate) version: Option<u64>,
}

/// Runs the preprocessor.
pub(crate) fn preprocess(text: &str, file: FileId, defines: &[(String, String)]) -> Result<Preprocessed, Vec<Diagnostic>> {
    let mut p = Preprocessor::new(text);
    let mut errors = Vec::new();
    let mut report = |e: PreprocessorError, l: Location| {
        let span = Span::new(file, l.start.min(text.len() as u32), l.end.min(text.len() as u32));
        let message = crate::names::glsl_message(&ErrorKind::PreprocessorError(e), text, span);
        errors.push(Diagnostic::error("F0011", span, message));
        errors.len() < MAX_ERRORS
    };
    // OpenGL ES programs ask for it before anything else.
    if is_es(text) {
        for name in ["GL_ES", "GL_FRAGMENT_PRECISION_HIGH"] {
            if let Err((e, l)) = p.add_define(name, "1") {
                report(e, l);
            }
        }
    }
    for (k, v) in defines {
        if let Err((e, _)) = p.add_define(k, v) {
            report(e, Location::default());
        }
    }
    let mut out = Preprocessed::default();
    // What `--define` brings has places in its own text.
    let within = |n: u32| n.min(text.len() as u32);
    for item in p {
        let token = match item {
            Ok(t) => t,
            Err((e, l)) => {
                if !report(e, l) {
                    break;
                }
                continue;
            }
        };
        let word = match token.value {
            TokenValue::Ident(name) => name,
            TokenValue::Integer(i) => format!("{}{}", i.value, if i.signed { "" } else { "u" }),
            TokenValue::Float(f) => match f.width {
                16 => format!("{:?}hf", f.value),
                64 => format!("{:?}lf", f.value),
                _ if f.value.is_infinite() => "1e39".to_string(),
                _ => format!("{:?}", f.value),
            },
            TokenValue::Punct(p) => punct(p).to_string(),
            TokenValue::Version(v) => {
                if let Some(TokenValue::Integer(i)) = v.tokens.first().map(|t| &t.value) {
                    out.version = Some(i.value);
                }
                continue;
            }
            TokenValue::Extension(_) | TokenValue::Pragma(_) => continue,
        };
        out.toks.push(Tok { text: word, at: within(token.location.start), end: within(token.location.end) });
    }
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}

/// Whether the `#version` line names a version of OpenGL ES.
fn is_es(text: &str) -> bool {
    let line = text.lines().map(str::trim_start).find(|l| l.starts_with('#') && l[1..].trim_start().starts_with("version"));
    line.is_some_and(|l| {
        let words: Vec<&str> = l.split_whitespace().collect();
        words.contains(&"es") || words.last() == Some(&"100")
    })
}

fn punct(p: Punct) -> &'static str {
    use Punct as P;
    match p {
        P::AddAssign => "+=",
        P::SubAssign => "-=",
        P::MulAssign => "*=",
        P::DivAssign => "/=",
        P::ModAssign => "%=",
        P::LeftShiftAssign => "<<=",
        P::RightShiftAssign => ">>=",
        P::AndAssign => "&=",
        P::XorAssign => "^=",
        P::OrAssign => "|=",
        P::Increment => "++",
        P::Decrement => "--",
        P::LogicalAnd => "&&",
        P::LogicalOr => "||",
        P::LogicalXor => "^^",
        P::LessEqual => "<=",
        P::GreaterEqual => ">=",
        P::EqualEqual => "==",
        P::NotEqual => "!=",
        P::LeftShift => "<<",
        P::RightShift => ">>",
        P::LeftBrace => "{",
        P::RightBrace => "}",
        P::LeftParen => "(",
        P::RightParen => ")",
        P::LeftBracket => "[",
        P::RightBracket => "]",
        P::LeftAngle => "<",
        P::RightAngle => ">",
        P::Semicolon => ";",
        P::Comma => ",",
        P::Colon => ":",
        P::Dot => ".",
        P::Equal => "=",
        P::Bang => "!",
        P::Minus => "-",
        P::Tilde => "~",
        P::Plus => "+",
        P::Star => "*",
        P::Slash => "/",
        P::Percent => "%",
        P::Pipe => "|",
        P::Caret => "^",
        P::Ampersand => "&",
        P::Question => "?",
    }
}

/// The text for naga, and where each part of it comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Out {
    /// The text.
    pub(crate) text: String,
    map: Vec<(u32, u32, u32)>,
}

impl Out {
    /// Appends a token.
    pub(crate) fn tok(&mut self, t: &Tok) {
        self.map.push((self.text.len() as u32, t.at, t.end));
        self.text.push_str(&t.text);
        self.text.push(if matches!(&*t.text, ";" | "{" | "}") { '\n' } else { ' ' });
    }

    /// Appends text that stands for a token of the user's.
    pub(crate) fn put(&mut self, like: &Tok, text: &str) {
        self.tok(&like.like(text));
    }

    /// Appends another text.
    pub(crate) fn append(&mut self, other: &Out) {
        let base = self.text.len() as u32;
        self.map.extend(other.map.iter().map(|(o, a, e)| (o + base, *a, *e)));
        self.text.push_str(&other.text);
    }

    /// The user's text behind a range of this one.
    pub(crate) fn source(&self, start: usize, end: usize) -> Option<(u32, u32)> {
        let at = |p: usize| self.map.partition_point(|(o, _, _)| *o as usize <= p).checked_sub(1).and_then(|n| self.map.get(n));
        let first = at(start)?;
        let last = at(end.saturating_sub(1).max(start))?;
        Some(if last.1 >= first.1 { (first.1, last.2.max(first.2)) } else { (first.1, first.2) })
    }
}
