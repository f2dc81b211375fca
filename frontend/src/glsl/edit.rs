//! Changes of a text by its tokens. None changes the line of what stands behind it.

use super::lex::{Token, close};
use std::ops::Range;

/// What is written instead of which bytes.
pub(super) type Edit = (Range<usize>, String);

/// A text with parts replaced; what begins within a part that is replaced already stays as it is.
pub(super) fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut from) = (String::with_capacity(text.len() + 64), 0);
    for (range, what) in edits {
        if range.start >= from {
            out.push_str(&text[from..range.start]);
            out.push_str(&what);
            from = range.end;
        }
    }
    out + &text[from..]
}

/// Nothing instead of these tokens, but as many lines as they had.
pub(super) fn blank(text: &str, toks: &[Token<'_>], range: Range<usize>) -> Edit {
    let bytes = toks[range.start].at..toks[range.end - 1].end();
    let lines = text[bytes.clone()].chars().filter(|c| *c == '\n').collect();
    (bytes, lines)
}

/// What stands between the commas in the bracket at `open`; nothing may.
pub(super) fn list(toks: &[Token<'_>], open: usize) -> Vec<Range<usize>> {
    let end = close(toks, open).saturating_sub(1);
    let (mut out, mut n, mut from) = (Vec::new(), open + 1, open + 1);
    while n < end {
        match toks[n].text {
            "," => {
                out.push(from..n);
                n += 1;
                from = n;
            }
            "(" | "[" | "{" => n = close(toks, n).min(end),
            _ => n += 1,
        }
    }
    if from < end {
        out.push(from..end);
    }
    out
}

/// The same without what is empty.
pub(super) fn separated(toks: &[Token<'_>], open: usize) -> Vec<Range<usize>> {
    let mut all = list(toks, open);
    all.retain(|range| !range.is_empty());
    all
}

/// The list in the parentheses at `open` without some of its parts.
pub(super) fn without(text: &str, toks: &[Token<'_>], open: usize, gone: impl Fn(&Range<usize>) -> bool) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut stays = false;
    for range in separated(toks, open) {
        // A comma goes with the part behind it; of the ones that stay the first has none.
        let comma = range.start > open + 1;
        if gone(&range) {
            edits.push(blank(text, toks, range.start - usize::from(comma)..range.end));
        } else {
            if comma && !stays {
                edits.push(blank(text, toks, range.start - 1..range.start));
            }
            stays = true;
        }
    }
    edits
}
