//! Tokens of the text form.
//!
//! Line ends are tokens, since a statement is a line; they are dropped after `,`, `(` and `[` so that long lists can be
//! broken. Words may contain dots (`fconst.f32x4`, `tesla.preex2`).

use crate::diag::{Diagnostic, FileId, Span};

/// What a token is; its text is found through the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tok {
    /// Letters, digits, `_` and `.`, beginning with a letter or `_`.
    Word,
    /// Begins with a digit, or `-` and a digit, `.` or `inf`/`nan`.
    Number,
    /// `%name` or `%"name"`.
    Name,
    /// `@name`.
    At,
    /// `"text"`.
    Str,
    /// A single character of `()[]{},:=+*`.
    Punct(u8),
    /// `->`
    Arrow,
    /// End of a line.
    Newline,
    /// End of the text.
    Eof,
}

/// A token and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) tok: Tok,
    pub(super) start: u32,
    pub(super) end: u32,
}

fn word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'.'
}

/// Splits a text into tokens. Bad characters are reported and skipped.
pub(super) fn lex(file: FileId, text: &str, errors: &mut Vec<Diagnostic>) -> Vec<Token> {
    let b = text.as_bytes();
    let mut out: Vec<Token> = Vec::with_capacity(b.len() / 4 + 2);
    let mut i = 0;
    while i < b.len() {
        let start = i;
        let push = |tok: Tok, end: usize, out: &mut Vec<Token>| out.push(Token { tok, start: start as u32, end: end as u32 });
        match b[i] {
            b' ' | b'\t' | b'\r' => i += 1,
            b'\n' => {
                i += 1;
                let continued = matches!(out.last().map(|t| t.tok), Some(Tok::Punct(b',' | b'(' | b'[')));
                if !continued && !matches!(out.last().map(|t| t.tok), None | Some(Tok::Newline)) {
                    push(Tok::Newline, start, &mut out);
                }
            }
            b';' => {
                while i < b.len() && b[i] != b'\n' {
                    i += 1;
                }
            }
            b'%' | b'@' => {
                let at = b[i] == b'@';
                i += 1;
                if b.get(i) == Some(&b'"') {
                    i = string_end(b, i);
                } else {
                    while i < b.len() && (word_byte(b[i]) || b[i] == b'$') {
                        i += 1;
                    }
                }
                push(if at { Tok::At } else { Tok::Name }, i, &mut out);
            }
            b'"' => {
                i = string_end(b, i);
                if i - start < 2 || b[i - 1] != b'"' {
                    let span = Span::new(file, start as u32, i as u32);
                    errors.push(Diagnostic::error("E0005", span, "this string has no end on its line"));
                }
                push(Tok::Str, i, &mut out);
            }
            b'-' if b.get(i + 1) == Some(&b'>') => {
                i += 2;
                push(Tok::Arrow, i, &mut out);
            }
            b'-' if b.get(i + 1).is_some_and(|c| c.is_ascii_digit() || matches!(c, b'.' | b'i' | b'n')) => {
                i = number_end(b, i + 1);
                push(Tok::Number, i, &mut out);
            }
            c if c.is_ascii_digit() => {
                i = number_end(b, i);
                push(Tok::Number, i, &mut out);
            }
            c if c.is_ascii_alphabetic() || c == b'_' => {
                while i < b.len() && word_byte(b[i]) {
                    i += 1;
                }
                push(Tok::Word, i, &mut out);
            }
            c @ (b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b':' | b'=' | b'+' | b'*') => {
                i += 1;
                push(Tok::Punct(c), i, &mut out);
            }
            _ => {
                let c = text[start..].chars().next().unwrap_or('\0');
                i += c.len_utf8();
                let span = Span::new(file, start as u32, i as u32);
                if c.is_control() {
                    errors.push(Diagnostic::error("E0002", span, format!("this is not text: byte {:#04x} at offset {start}", b[start])));
                    // Binary data: everything after it would be noise.
                    break;
                }
                errors.push(Diagnostic::error("E0005", span, format!("unexpected character `{}`", c.escape_default())));
                if errors.len() >= super::MAX_ERRORS {
                    break;
                }
            }
        }
    }
    let end = b.len() as u32;
    out.push(Token { tok: Tok::Newline, start: end, end });
    out.push(Token { tok: Tok::Eof, start: end, end });
    out
}

/// One past the closing quote of the string that opens at `i`, or the end of its line.
fn string_end(b: &[u8], mut i: usize) -> usize {
    i += 1;
    while i < b.len() && b[i] != b'\n' {
        match b[i] {
            b'"' => return i + 1,
            b'\\' if i + 1 < b.len() && b[i + 1] != b'\n' => i += 2,
            _ => i += 1,
        }
    }
    i.min(b.len())
}

fn number_end(b: &[u8], start: usize) -> usize {
    let hex = b[start] == b'0' && matches!(b.get(start + 1), Some(b'x' | b'X'));
    let mut i = start;
    while i < b.len() && (word_byte(b[i]) || (!hex && i > start && matches!(b[i], b'+' | b'-') && matches!(b[i - 1], b'e' | b'E'))) {
        i += 1;
    }
    i
}

/// The contents of a quoted string (`"a\"b"`), or the text itself if it has no quotes.
pub(super) fn unquote(s: &str) -> String {
    let Some(inner) = s.strip_prefix('"') else { return s.to_string() };
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('0') => out.push('\0'),
                Some(c) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

/// The quoted form that [`unquote`] reads back.
pub(super) fn quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
