//! The tokens of a GLSL text, before or after its preprocessor, with their places.

use std::borrow::Cow;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or keyword.
    Word,
    /// A number.
    Number,
    /// An operator or bracket.
    Punct,
    /// A line that begins with `#`, continuations included.
    Directive,
}

/// A token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// As it stands.
    pub(crate) text: &'a str,
    /// First byte.
    pub(crate) at: usize,
    /// Its line, counted from 0.
    pub(crate) line: u32,
    /// What it is.
    pub(crate) kind: Kind,
}

impl Token<'_> {
    /// Byte after the last.
    pub(crate) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Whether this is exactly `text`.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    /// Whether this is a name or keyword.
    pub(crate) fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }
}

/// Operators of more than one character, longest first.
const OPERATORS: &[&str] =
    &["<<=", ">>=", "++", "--", "<=", ">=", "==", "!=", "&&", "||", "^^", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>"];

/// A text in which no token goes on behind the end of a line: `flo\` with `at` on the next one becomes `float\`. Nothing else moves, so places and
/// lines stay what they are.
pub(super) fn joined(text: &str) -> Cow<'_, str> {
    if !text.contains("\\\n") && !text.contains("\\\r\n") {
        return Cow::Borrowed(text);
    }
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let sign = |c: char| c.is_ascii_punctuation() && !matches!(c, '_' | '\\');
    let (mut out, mut held, mut rest) = (String::with_capacity(text.len()), String::new(), text);
    while let Some(c) = rest.chars().next() {
        let end = ["\\\n", "\\\r\n"].into_iter().find(|end| rest.starts_with(end));
        if let Some(end) = end {
            held.push_str(end);
        } else {
            let one = out.chars().next_back().is_some_and(|b| word(b) && word(c) || sign(b) && sign(c));
            if !one {
                out.push_str(&std::mem::take(&mut held));
            }
            out.push(c);
        }
        rest = &rest[end.map_or(c.len_utf8(), str::len)..];
    }
    Cow::Owned(out + &held)
}

/// Splits a text into tokens; comments are left out.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let b = text.as_bytes();
    let mut out = Vec::with_capacity(text.len() / 4);
    let (mut i, mut line, mut fresh) = (0, 0u32, true);
    while i < b.len() {
        match b[i] {
            b'\n' => {
                line += 1;
                fresh = true;
                i += 1;
            }
            b'\\' if matches!(b.get(i + 1), Some(b'\n' | b'\r')) => {
                let end = i + 1 + usize::from(b[i + 1..].starts_with(b"\r\n"));
                line += u32::from(b.get(end) == Some(&b'\n'));
                i = end + 1;
            }
            c if c.is_ascii_whitespace() => i += 1,
            b'/' if b.get(i + 1) == Some(&b'/') => i = end_of_line(b, i).0,
            b'/' if b.get(i + 1) == Some(&b'*') => {
                let end = text[i + 2..].find("*/").map_or(b.len(), |n| i + n + 4);
                line += lines(&b[i..end]);
                i = end;
            }
            b'#' if fresh => {
                let (end, more) = end_of_line(b, i);
                out.push(Token { text: &text[i..end], at: i, line, kind: Kind::Directive });
                line += more;
                i = end;
            }
            c => {
                fresh = false;
                let (end, kind) = token_end(text, i, c);
                out.push(Token { text: &text[i..end], at: i, line, kind });
                i = end;
            }
        }
    }
    out
}

fn lines(b: &[u8]) -> u32 {
    b.iter().filter(|c| **c == b'\n').count() as u32
}

/// The end of the line at `i`, past continuations and comments of several lines, and how many lines those add. Behind `//` nothing
/// begins a comment.
fn end_of_line(b: &[u8], mut i: usize) -> (usize, u32) {
    let mut more = 0;
    let mut comment = false;
    while i < b.len() && b[i] != b'\n' {
        comment |= b[i..].starts_with(b"//");
        if b[i] == b'\\' && (b[i + 1..].starts_with(b"\n") || b[i + 1..].starts_with(b"\r\n")) {
            i += 1 + usize::from(b[i + 1] == b'\r');
            more += 1;
        } else if !comment && b[i..].starts_with(b"/*") {
            let end = b[i + 2..].windows(2).position(|w| w == b"*/").map_or(b.len(), |n| i + n + 4);
            more += lines(&b[i..end]);
            i = end;
            continue;
        }
        i += 1;
    }
    (i.min(b.len()), more)
}

fn token_end(text: &str, i: usize, c: u8) -> (usize, Kind) {
    let b = text.as_bytes();
    let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let dot_number = c == b'.' && b.get(i + 1).is_some_and(u8::is_ascii_digit);
    if c.is_ascii_digit() || dot_number {
        let mut e = i + 1;
        while e < b.len()
            && (word(b[e]) || b[e] == b'.' && !names_components(&text[e + 1..]) || matches!(b[e], b'+' | b'-') && is_exponent(&text[i..e]))
        {
            e += 1;
        }
        return (e, Kind::Number);
    }
    if word(c) {
        let mut e = i;
        while e < b.len() && word(b[e]) {
            e += 1;
        }
        return (e, Kind::Word);
    }
    if let Some(op) = OPERATORS.iter().find(|op| text[i..].starts_with(**op)) {
        return (i + op.len(), Kind::Punct);
    }
    let mut e = i + 1;
    while !text.is_char_boundary(e) {
        e += 1;
    }
    (e, Kind::Punct)
}

/// Whether `0.5f.xxx` goes on behind its second dot with components, which are no part of the number.
fn names_components(behind: &str) -> bool {
    let word = behind.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(behind, |end| &behind[..end]);
    (1..=4).contains(&word.len()) && ["x", "r"].iter().any(|all| word.chars().all(|c| all.contains(c)))
}

/// Whether a number so far ends in the letter of its exponent.
fn is_exponent(number: &str) -> bool {
    !number.starts_with("0x") && !number.starts_with("0X") && number.ends_with(['e', 'E'])
}

/// The bracket that the one at `end` closes.
pub(crate) fn open(toks: &[Token<'_>], end: usize) -> Option<usize> {
    let mut depth = 0usize;
    for k in (0..=end).rev() {
        match toks[k].text {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" => {
                depth -= 1;
                if depth == 0 {
                    return Some(k);
                }
            }
            _ => {}
        }
    }
    None
}

/// The index behind the bracket that closes the one at `open`.
pub(crate) fn close(toks: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (n, t) in toks.iter().enumerate().skip(open) {
        match t.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return n + 1;
                }
            }
            _ => {}
        }
    }
    toks.len()
}
