//! A text as tokens: what can be dropped, and which brackets belong together. It knows no language's grammar, only words, numbers, signs,
//! comments and preprocessor lines.

use std::ops::Range;

/// A token: its bytes, and whether it is a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its bytes, without the blanks around it.
    pub at: Range<usize>,
    /// Whether it means nothing.
    pub comment: bool,
}

/// The tokens of a text. A line that begins with `#` is one token: its end has a meaning.
pub fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let (mut out, mut n) = (Vec::new(), 0);
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'%' | b'@' | b'$') || b >= 128;
    let mut line_begins = true;
    while n < bytes.len() {
        let b = bytes[n];
        if b.is_ascii_whitespace() {
            line_begins |= b == b'\n';
            n += 1;
            continue;
        }
        let rest = &text[n..];
        let line = rest.find('\n').unwrap_or(rest.len());
        let comment = rest.starts_with("//") || rest.starts_with("/*");
        let length = if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |e| e + 2)
        } else if comment || b == b'#' && line_begins {
            line
        } else if word(b) {
            // A number's point and what follows it belong to it.
            let inside = |c: u8| word(c) || b.is_ascii_digit() && c == b'.';
            bytes[n..].iter().position(|c| !inside(*c)).unwrap_or(rest.len())
        } else {
            const PAIRS: [&str; 14] = ["->", "=>", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "++", "--", "+=", "::"];
            PAIRS.iter().find(|p| rest.starts_with(**p)).map_or(1, |p| p.len())
        };
        out.push(Token { at: n..n + length, comment });
        line_begins = false;
        n += length;
    }
    out
}

/// Pairs of brackets as (index of the opening token, index of the closing one), outer ones first.
pub fn brackets(text: &str, tokens: &[Token], open: char, close: char) -> Vec<(usize, usize)> {
    let (mut open_at, mut out) = (Vec::new(), Vec::new());
    for (n, t) in tokens.iter().enumerate().filter(|(_, t)| t.at.len() == 1) {
        if text[t.at.clone()].starts_with(open) {
            open_at.push(n);
        } else if text[t.at.clone()].starts_with(close)
            && let Some(o) = open_at.pop()
        {
            out.push((o, n));
        }
    }
    out.sort_unstable();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|t| &text[t.at]).collect()
    }

    #[test]
    fn words_numbers_signs_lines_and_comments() {
        assert_eq!(
            words("#version 450 core\nx += 1.5e3*a.b; // end\n"),
            ["#version 450 core", "x", "+=", "1.5e3", "*", "a", ".", "b", ";", "// end"]
        );
        assert_eq!(
            words("v0 = const.f32x4 [1, 2] /* a\nb */ # 3"),
            ["v0", "=", "const", ".", "f32x4", "[", "1", ",", "2", "]", "/* a\nb */", "#", "3"]
        );
        assert_eq!(words("é=\"ü"), ["é", "=", "\"", "ü"]);
    }

    #[test]
    fn brackets_meet() {
        let text = "a { b { c } d } }";
        assert_eq!(brackets(text, &tokens(text), '{', '}'), [(1, 7), (3, 5)]);
    }
}
