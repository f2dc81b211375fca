//! Places of texels in HLSL that must not be computed twice: glslang takes an argument of `Load` apart into place and level, and computes it for each.

use super::edit::{Edit, separated};
use super::lex::{Token, close, open};
use super::library;
use super::names::Names;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The textures of a text that have levels, and their types.
fn textures<'t>(toks: &[Token<'t>]) -> BTreeMap<&'t str, &'t str> {
    Names::new(toks).variables().filter(|v| is_leveled(v.ty)).map(|v| (toks[v.at].text, v.ty)).collect()
}

/// Whether a type is one of textures with levels, not of single samples.
fn is_leveled(ty: &str) -> bool {
    ["Texture1D", "Texture2D", "Texture3D"].iter().any(|t| ty.starts_with(t)) && !ty.contains("MS")
}

/// What makes each `t.Load(i++)` of a text `(place = (i++), t.Load(place))`, and the declarations of these places.
pub(super) fn loads(toks: &[Token<'_>]) -> (Vec<Edit>, String) {
    if !library::is_called(toks, "Load") {
        return Default::default();
    }
    let (textures, declared) = (textures(toks), library::declared(toks));
    let (mut edits, mut places) = (Vec::new(), BTreeSet::new());
    // Where several end at one place, the inner ones end first.
    for (n, (start, argument, components)) in (0..toks.len()).rev().filter_map(|n| Some((n, load(toks, n, &textures, &declared)?))) {
        let place = format!("shaderc_texel{components}");
        let load: Vec<&str> = toks[start..=n + 1].iter().map(|t| t.text).collect();
        let (end, behind) = (toks[argument.end - 1].end(), toks[close(toks, n + 1) - 1].end());
        edits.push((toks[start].at..toks[argument.start].at, format!("({place} = (")));
        edits.push((end..end, format!("), {}{place}", load.join(" "))));
        edits.push((behind..behind, ")".to_string()));
        places.insert(components);
    }
    (edits, places.iter().map(|n| format!("static int{n} shaderc_texel{n};\n")).collect())
}

/// Where the call `t.Load(i++)` begins whose name stands at `n`, its first argument and the components of that, if computing it changes something.
/// `declared` are the functions of the text.
fn load(
    toks: &[Token<'_>],
    n: usize,
    textures: &BTreeMap<&str, &str>,
    declared: &BTreeMap<&str, bool>,
) -> Option<(usize, Range<usize>, u32)> {
    let is = |n: usize, text: &str| toks.get(n).is_some_and(|t| t.is(text));
    if !toks[n].is("Load") || !is(n + 1, "(") || n < 2 || !is(n - 1, ".") {
        return None;
    }
    let index = Some(n - 2).filter(|k| is(*k, "]")).and_then(|k| open(toks, k));
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
