//! Places of texels in HLSL that must not be computed twice: glslang takes an argument of `Load` apart into place and level, and computes it for each.

use super::edit::separated;
use super::lex::{Token, close};
use super::names::Names;
use std::collections::BTreeMap;
use std::ops::Range;

/// The textures of a text that have levels, and their types.
pub(super) fn textures<'t>(toks: &[Token<'t>]) -> BTreeMap<&'t str, &'t str> {
    Names::new(toks).variables().filter(|v| is_leveled(v.ty)).map(|v| (toks[v.at].text, v.ty)).collect()
}

/// Whether a type is one of textures with levels, not of single samples.
fn is_leveled(ty: &str) -> bool {
    ["Texture1D", "Texture2D", "Texture3D"].iter().any(|t| ty.starts_with(t)) && !ty.contains("MS")
}

/// Where the call `t.Load(i++)` begins whose name stands at `n`, its first argument and the components of that, if computing it changes something.
/// `declared` are the functions of the text.
pub(super) fn load(
    toks: &[Token<'_>],
    n: usize,
    textures: &BTreeMap<&str, &str>,
    declared: &BTreeMap<&str, bool>,
) -> Option<(usize, Range<usize>, u32)> {
    let is = |n: usize, text: &str| toks.get(n).is_some_and(|t| t.is(text));
    if !toks[n].is("Load") || !is(n + 1, "(") || n < 2 || !is(n - 1, ".") {
        return None;
    }
    let index = (0..n - 1).rev().take_while(|_| is(n - 2, "]")).find(|k| is(*k, "[") && close(toks, *k) == n - 1);
    let start = index.unwrap_or(n - 1).checked_sub(1)?;
    let components = match textures.get(toks[start].text)? {
        ty if ty.starts_with("Texture1D") && !ty.ends_with("Array") => 2,
        ty if ty.starts_with("Texture3D") || ty.starts_with("Texture2D") && ty.ends_with("Array") => 4,
        _ => 3,
    };
    let argument = separated(toks, n + 1).into_iter().next()?;
    let changes = |k: usize| {
        let t = &toks[k];
        matches!(t.text, "++" | "--") || t.text.ends_with('=') && !matches!(t.text, "==" | "!=" | "<=" | ">=") || {
            declared.contains_key(t.text) && is(k + 1, "(")
        }
    };
    argument.clone().any(changes).then_some((start, argument, components))
}
