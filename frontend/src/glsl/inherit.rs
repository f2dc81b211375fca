//! Structures of HLSL that have all members of another one: glslang leaves those of the other out.

use super::edit::{Edit, edited};
use super::lex::{Kind, Token, close, tokens};
use super::outside::{declarators, members};
use super::upgrade::free;
use std::collections::BTreeSet;

/// Structures of structures.
const MAX_DEPTH: usize = 16;

/// A text whose structures have all their members themselves. Nothing changes its line.
pub(super) fn written_out(text: &str) -> Option<String> {
    let mut out: Option<String> = None;
    for _ in 0..MAX_DEPTH {
        let current = out.as_deref().unwrap_or(text);
        let edits = once(&tokens(current));
        if edits.is_empty() {
            break;
        }
        out = Some(edited(current, edits));
    }
    out
}

/// `struct B : A {` with the members of `A`, where these are all written out already.
fn once(toks: &[Token<'_>]) -> Vec<Edit> {
    let mut out = Vec::new();
    for n in (0..toks.len()).filter(|n| matches!(toks[*n].text, "struct" | "class")) {
        let [name, colon, base, open, ..] = &toks[n + 1..] else { continue };
        if !(name.is_word() && colon.is(":") && base.is_word() && open.is("{")) {
            continue;
        }
        let declared = |k: usize| matches!(toks[k].text, "struct" | "class") && toks[k + 1].is(base.text);
        let Some(k) = (0..n).filter(|k| declared(*k)).find(|k| toks.get(k + 2).is_some_and(|t| t.is("{"))) else { continue };
        let inner = &toks[k + 3..close(toks, k + 2).saturating_sub(1).max(k + 3)];
        // A member of the same name hides that of the base.
        let body = n + 5..close(toks, n + 4).saturating_sub(1).max(n + 5);
        let own = members(toks, body).into_iter().filter_map(|m| declarators(toks, m)).flat_map(|d| d.1);
        let hidden: BTreeSet<&str> = own.map(|d| toks[d.name].text).collect();
        let spelt = |t: &Token<'_>| if hidden.contains(t.text) { free(t.text) } else { t.text.to_string() };
        let members: Vec<String> = inner.iter().filter(|t| t.kind != Kind::Directive).map(spelt).collect();
        out.push((colon.at..base.end(), String::new()));
        out.push((open.end()..open.end(), format!(" {}", members.join(" "))));
    }
    out
}
