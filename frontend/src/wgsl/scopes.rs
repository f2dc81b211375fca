//! The scope of `continuing`. It lies within the loop's body, so that a name of the body may be declared anew; for naga the two are one scope. The
//! name in `continuing` gets a longer one.

use super::edits::{Edited, Edits};
use crate::guard::{Token, tokens};
use std::collections::BTreeSet;

/// What a brace opens.
#[derive(Debug)]
struct Scope<'t> {
    loops: bool,
    continuing: bool,
    declared: BTreeSet<&'t str>,
}

/// The text in which no `continuing` declares what its loop's body has; none where none does.
pub(super) fn parted(text: &str) -> Option<Edited> {
    if !text.contains("continuing") {
        return None;
    }
    let tokens = tokens(text).0;
    let mut edits = Edits::default();
    let mut scopes: Vec<Scope<'_>> = Vec::new();
    let mut brackets = 0usize;
    for (n, t) in tokens.iter().enumerate() {
        match t.text {
            "(" => brackets += 1,
            ")" => brackets = brackets.saturating_sub(1),
            "{" => {
                let before = tokens[..n].last().map_or("", |t| t.text);
                scopes.push(Scope { loops: before == "loop", continuing: before == "continuing", declared: BTreeSet::new() });
            }
            "}" => {
                scopes.pop();
            }
            // What stands in brackets is a loop's own.
            "let" | "const" | "var" if brackets == 0 => {
                let Some((name, at)) = declared(&tokens[n..]).map(|(name, k)| (name, n + k)) else { continue };
                let Some(first) = scopes.last_mut().map(|s| s.declared.insert(name)) else { continue };
                if let [.., body, Scope { continuing: true, .. }] = &scopes[..]
                    && first
                    && body.loops
                    && body.declared.contains(name)
                {
                    rename(&tokens, at, &mut edits);
                }
            }
            _ => {}
        }
    }
    edits.apply(text)
}

/// The name that a declaration gives, and which of its tokens that is.
fn declared<'t>(tokens: &[Token<'t>]) -> Option<(&'t str, usize)> {
    // `var<function> x`
    let at = match tokens.get(1)?.text {
        "<" => tokens.iter().position(|t| t.text == ">")? + 1,
        _ => 1,
    };
    Some((tokens.get(at)?.text, at))
}

/// Renames what the token `at` declares, up to the end of its scope.
fn rename(tokens: &[Token<'_>], at: usize, edits: &mut Edits) {
    let name = tokens[at].text;
    let mut longer = format!("{name}_");
    while tokens.iter().any(|t| t.text == longer) {
        longer.push('_');
    }
    let mut depth = 0usize;
    let mut seen = false;
    for (n, t) in tokens.iter().enumerate().skip(at) {
        match t.text {
            "{" => depth += 1,
            "}" if depth == 0 => break,
            "}" => depth -= 1,
            // The value that it is set to has the name's other meaning.
            ";" => seen = true,
            word if word == name && (n == at || seen && tokens[n - 1].text != ".") => {
                edits.add.push((t.at + name.len(), longer[name.len()..].to_string()));
            }
            _ => {}
        }
    }
}
