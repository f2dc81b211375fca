//! Mistakes in what HLSL writes to, of which glslang makes something else without a message.

use super::edit::separated;
use super::lex::{Token, open};
use super::names::Names;
use super::otherwise::read_by;
use std::ops::Range;

/// The first mistake of a preprocessed text, and its token.
pub(super) fn mistake(toks: &[Token<'_>], names: &Names<'_, '_>) -> Option<(usize, String)> {
    (0..toks.len()).find_map(|n| {
        let t = &toks[n];
        let called = toks.get(n + 1).is_some_and(|t| t.is("("));
        match t.text {
            text if is_assignment(text) => written_twice(toks, n, names),
            "InterlockedCompareStore" if called && !names.functions.contains_key(t.text) => {
                Some((n, format!("`{}`: it is not known of which type its destination is: use `InterlockedCompareExchange`", t.text)))
            }
            text if called && text.starts_with("Interlocked") && !names.functions.contains_key(text) => no_value(toks, n),
            text if called && read_by(text).is_some() => other_sampler(toks, n, names),
            text if called && names.functions.contains_key(text) => unread_element(toks, n, names),
            _ => None,
        }
    })
}

fn is_assignment(t: &str) -> bool {
    t.ends_with('=') && !matches!(t, "==" | "!=" | "<=" | ">=")
}

/// `v.xx = a`
fn written_twice(toks: &[Token<'_>], n: usize, names: &Names<'_, '_>) -> Option<(usize, String)> {
    let part = n.checked_sub(1).filter(|k| *k > 0 && toks[*k - 1].is("."))?;
    let word = toks[part].text;
    // A member may be called so.
    if names.variables().any(|v| v.within.is_some() && toks[v.at].is(word)) {
        return None;
    }
    let swizzle = (2..=4).contains(&word.len()) && ["xyzw", "rgba"].iter().any(|all| word.chars().all(|c| all.contains(c)));
    let twice = word.char_indices().find(|(k, c)| word[k + 1..].contains(*c)).filter(|_| swizzle)?.1;
    Some((part, format!("`{word}`: `{twice}` is written twice")))
}

/// `x = InterlockedAdd(a, 1)`
fn no_value(toks: &[Token<'_>], n: usize) -> Option<(usize, String)> {
    // `b[0].InterlockedAdd` begins where its path does.
    let mut first = n;
    while first > 1 && toks[first - 1].is(".") {
        first -= 2;
        while toks[first].is("]") {
            first = open(toks, first)?.checked_sub(1)?;
        }
    }
    let before = &toks[first.checked_sub(1)?];
    let value = before.is("return") || is_assignment(before.text) || matches!(before.text, "+" | "-" | "*" | "/" | "==" | "!=" | "<" | ">");
    value.then(|| (n, format!("`{}` gives nothing: its last operand is what stood there before", toks[n].text)))
}

/// `tex3D` of a sampler of two dimensions.
fn other_sampler(toks: &[Token<'_>], n: usize, names: &Names<'_, '_>) -> Option<(usize, String)> {
    let wanted = read_by(toks[n].text)?;
    let arg = separated(toks, n + 1).into_iter().next().filter(|a| a.len() == 1)?;
    let declared = names.variable(toks[arg.start].text)?.ty;
    let is = if declared == "sampler" { "sampler2D" } else { declared };
    let kinds = ["sampler1D", "sampler2D", "sampler3D", "samplerCUBE"];
    (kinds.contains(&is) && is != wanted)
        .then(|| (arg.start, format!("`{}` reads a `{wanted}`, and `{}` is a `{is}`", toks[n].text, toks[arg.start].text)))
}

/// An element of a typed buffer or texture that a function reads and writes: glslang writes it only.
fn unread_element(toks: &[Token<'_>], n: usize, names: &Names<'_, '_>) -> Option<(usize, String)> {
    let element = |a: &Range<usize>| {
        let path = &toks[a.clone()];
        let v = names.variable(path.first()?.text)?;
        let typed = v.ty.starts_with("RWTexture") || v.ty == "RWBuffer" || v.ty.starts_with("RasterizerOrderedTexture");
        (typed && path.get(1)?.is("[")).then_some(a.start)
    };
    let arguments = separated(toks, n + 1);
    let read = |k: usize| {
        names.functions[toks[n].text].iter().any(|open| {
            let p = separated(toks, *open);
            p.len() == arguments.len() && toks[p[k].clone()].iter().any(|t| t.is("inout"))
        })
    };
    // A declaration has parameters, which are no elements.
    let at = arguments.iter().enumerate().find_map(|(k, a)| element(a).filter(|_| read(k)))?;
    Some((at, format!("`{}`: glslang does not read an element that is handed over as `inout`: hand a variable over", toks[at].text)))
}
