//! `@file` arguments: the file's words in their place, quotes as in a shell.

use crate::report::Failure;
use std::ffi::OsString;

/// Replaces each `@file` by the arguments that the file holds. Such files may not name further ones.
pub fn expand(arguments: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, Failure> {
    let mut out = Vec::new();
    for (n, a) in arguments.enumerate() {
        match a.to_str().and_then(|s| s.strip_prefix('@')) {
            Some(path) if n > 0 && !path.is_empty() => {
                let text = std::fs::read_to_string(path).map_err(|e| Failure::usage(format!("cannot read response file {path}: {e}")))?;
                crate::files::remember(std::path::Path::new(path));
                out.extend(split(&text).into_iter().map(OsString::from));
            }
            _ => out.push(a),
        }
    }
    Ok(out)
}

fn split(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => out.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_and_quotes() {
        assert_eq!(super::split("a 'b c' \"d \\\"e\"\n f\\ g ''"), ["a", "b c", "d \"e", "f g", ""]);
    }
}
