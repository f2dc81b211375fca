//! Words of HLSL of which glslang makes something else without a message, each written so that it means the same to both.

use super::edit::{Edit, blank, separated};
use super::lex::{Kind, Token, close};
use super::library::is_declared;
use super::names::Names;
use super::outside::declarations;
use std::collections::{BTreeMap, BTreeSet};

/// What `InterlockedCompareStore` leaves behind, which nobody reads.
const UNREAD: &str = "shaderc_unread";

/// The edits of a text, and what is declared in front of it.
pub(super) fn edits(text: &str, toks: &[Token<'_>]) -> (Vec<Edit>, String) {
    let mut out = uniforms(text, toks);
    out.extend(samplers(toks));
    let mut front = BTreeSet::new();
    let stores = toks.iter().any(|t| t.is("InterlockedCompareStore"));
    let names = stores.then(|| Names::new(toks));
    for (n, t) in toks.iter().enumerate() {
        let called = toks.get(n + 1).is_some_and(|t| t.is("("));
        let method = called && n > 0 && toks[n - 1].is(".");
        match t.text {
            "case" => out.extend(label(toks, n + 1)),
            "InterlockedCompareStore" if called && !is_declared(toks, t.text) => {
                if let Some((ty, edits)) = names.as_ref().and_then(|names| compare_store(toks, n, method, names)) {
                    front.insert(ty);
                    out.extend(edits);
                }
            }
            "GatherCmpRed" if method => out.push((t.at..t.end(), "GatherCmp".to_string())),
            text if method && is_gather(text) => out.extend(offsets(toks, n)),
            _ if t.kind == Kind::Number => out.extend(suffix(t, toks.get(n + 1))),
            _ => {}
        }
    }
    let front = front.into_iter().map(|ty| format!("static {ty} {UNREAD}_{ty};\n")).collect();
    (out, front)
}

/// The word `const` of variables outside functions that have no value: they are uniforms, which glslang takes for 0.
fn uniforms(text: &str, toks: &[Token<'_>]) -> Vec<Edit> {
    let mut out = Vec::new();
    for d in declarations(toks).iter().filter(|d| d.parameters.is_none()) {
        let keyword = |w: &str| d.begins_with(toks, w);
        // `const struct { float x; } s;`
        let behind = d.body.as_ref().map_or(d.tokens.end, |b| b.end);
        let to = behind + toks[behind.min(toks.len())..].iter().take_while(|t| !t.is(";")).count();
        let value = toks[d.tokens.start..to].iter().any(|t| t.is("="));
        if keyword("const") && !keyword("static") && !keyword("typedef") && !value {
            let words = d.tokens.clone().filter(|n| toks[*n].is("const"));
            out.extend(words.map(|n| blank(text, toks, n..n + 1)));
        }
    }
    out
}

/// A label that is a float, of which glslang takes the bits.
fn label(toks: &[Token<'_>], n: usize) -> Option<Edit> {
    let t = toks.iter().skip(n).find(|t| !t.is("-") && !t.is("("))?;
    let float = t.kind == Kind::Number && !t.text.starts_with("0x") && !t.text.starts_with("0X") && t.text.contains(['.', 'e', 'E']);
    let value: f64 = t.text.trim_end_matches(['f', 'F', 'h', 'H', 'l', 'L']).parse().ok().filter(|_| float)?;
    Some((t.at..t.end(), format!("{}", value as i32)))
}

/// `InterlockedCompareStore(d, c, v)` as the exchange that gives what was there, which glslang does translate.
fn compare_store<'t>(toks: &[Token<'t>], n: usize, method: bool, names: &Names<'_, 't>) -> Option<(&'t str, [Edit; 2])> {
    let to = separated(toks, n + 1).into_iter().next()?;
    let ty = if method { "uint" } else { destination(&toks[to], names)? };
    let end = toks[close(toks, n + 1).checked_sub(1)?].at;
    let name = (toks[n].at..toks[n].end(), "InterlockedCompareExchange".to_string());
    matches!(ty, "int" | "uint").then(|| (ty, [name, (end..end, format!(", {UNREAD}_{ty}"))]))
}

/// The type of `name[0].member`, where the name may be a buffer's.
fn destination<'t>(path: &[Token<'t>], names: &Names<'_, 't>) -> Option<&'t str> {
    let buffer = names.variable(path.first()?.text).filter(|v| !v.of.is_empty());
    let Some(v) = buffer else { return names.type_of(path).filter(|(_, lengths)| *lengths == 0).map(|(ty, _)| ty) };
    let mut ty = names.toks[v.of.clone()].first().filter(|_| v.of.len() == 1)?.text;
    let mut n = 1 + v.lengths.len() * 3;
    n = if path.get(n)?.is("[") { close(path, n) } else { return None };
    while let Some([dot, member, ..]) = path.get(n..).filter(|p| p.len() > 1) {
        ty = names.member(ty, member.text).filter(|m| dot.is(".") && m.lengths.is_empty())?.ty;
        n += 2;
    }
    (n == path.len()).then_some(ty)
}

/// Whether this is a method that reads a component of four texels.
fn is_gather(name: &str) -> bool {
    let component = |rest: &str| matches!(rest, "" | "Red" | "Green" | "Blue" | "Alpha");
    name.strip_prefix("GatherCmp").or(name.strip_prefix("Gather")).is_some_and(component)
}

/// Offsets for each of four texels: the texel of that place in the square, where glslang's instruction takes the same place of each.
fn offsets(toks: &[Token<'_>], n: usize) -> Vec<Edit> {
    let arguments = separated(toks, n + 1);
    let first = if toks[n].text.starts_with("GatherCmp") { 3 } else { 2 };
    if arguments.len() < first + 4 {
        return Vec::new();
    }
    let places = ["int2(0, 1)", "int2(1, 1)", "int2(1, 0)", "int2(0, 0)"];
    let each = arguments[first..first + 4].iter().zip(places);
    let within = |(a, place): (&std::ops::Range<usize>, &str)| {
        let (from, to) = (toks[a.start].at, toks[a.end - 1].end());
        [(from..from, "((".to_string()), (to..to, format!(") + {place})"))]
    };
    each.flat_map(within).collect()
}

/// `3lu` as `3u`: all integers have 32 bits. The preprocessor may have parted the number from its suffix.
fn suffix(t: &Token<'_>, behind: Option<&Token<'_>>) -> Option<Edit> {
    let of_integers = |s: &str| !s.is_empty() && s.chars().all(|c| "lLuU".contains(c));
    let hex = t.text.starts_with("0x") || t.text.starts_with("0X");
    let float = t.text.contains('.') || !hex && t.text.contains(['e', 'E', 'f', 'F']);
    let digits = t.text.trim_end_matches(['l', 'L', 'u', 'U']);
    let parted = behind.filter(|word| of_integers(word.text));
    let suffix = t.text[digits.len()..].to_string() + parted.map_or("", |word| word.text);
    let end = parted.map_or(t.end(), Token::end);
    let unsigned = if suffix.contains(['u', 'U']) { "u" } else { "" };
    (!float && of_integers(&suffix) && (suffix.contains(['l', 'L']) || end > t.end())).then(|| (t.at..end, format!("{digits}{unsigned}")))
}

/// The textures that a function reads, by its name.
pub(super) fn read_by(function: &str) -> Option<&'static str> {
    let of = |name: &str| function.strip_prefix(name).is_some_and(|rest| matches!(rest, "" | "lod" | "bias" | "grad" | "proj"));
    [("tex1D", "sampler1D"), ("tex2D", "sampler2D"), ("tex3D", "sampler3D"), ("texCUBE", "samplerCUBE")]
        .into_iter()
        .find(|(name, _)| of(name))
        .map(|(_, ty)| ty)
}

/// The kind of each `sampler`, which is what reads it: glslang takes all for those of two dimensions.
fn samplers(toks: &[Token<'_>]) -> Vec<Edit> {
    let mut kinds: BTreeMap<&str, BTreeSet<&'static str>> = BTreeMap::new();
    for w in toks.windows(4) {
        let [before, function, open, name] = w else { continue };
        let kind = match read_by(function.text) {
            Some(kind) => kind,
            None if before.is(".") && ["Sample", "Gather", "CalculateLevelOfDetail"].iter().any(|m| function.text.starts_with(m)) => {
                "SamplerState"
            }
            None => continue,
        };
        if open.is("(") && name.is_word() {
            kinds.entry(name.text).or_default().insert(kind);
        }
    }
    hand_on(toks, &mut kinds);
    let declared = (0..toks.len()).filter(|n| toks[*n].is("sampler") && toks.get(n + 1).is_some_and(Token::is_word));
    let kind = |n: usize| {
        // `sampler a, b;` names several of one kind; among parameters each has its type.
        let mut all: BTreeSet<&str> = BTreeSet::new();
        let mut name = n + 1;
        loop {
            all.extend(toks.get(name).and_then(|t| kinds.get(t.text)).into_iter().flatten());
            let another = toks.get(name + 1).is_some_and(|t| t.is(",")) && !toks.get(name + 3).is_some_and(Token::is_word);
            if !another {
                break;
            }
            name += 2;
        }
        all.first().filter(|k| all.len() == 1 && **k != "sampler2D").map(|k| k.to_string())
    };
    declared.filter_map(|n| Some((toks[n].at..toks[n].end(), kind(n)?))).collect()
}

/// Samplers that are handed to functions are of the kind of their parameters.
fn hand_on<'t>(toks: &[Token<'t>], kinds: &mut BTreeMap<&'t str, BTreeSet<&'static str>>) {
    const ROUNDS: usize = 8;
    if !toks.windows(2).any(|w| w[0].is("sampler") && w[1].is_word()) {
        return;
    }
    let names = Names::new(toks);
    let parameter = |p: std::ops::Range<usize>| toks[p].iter().take_while(|t| !t.is(":") && !t.is("=")).filter(|t| t.is_word()).last();
    for _ in 0..ROUNDS {
        let mut found = Vec::new();
        for n in (0..toks.len()).filter(|n| toks.get(n + 1).is_some_and(|t| t.is("("))) {
            for open in names.functions.get(toks[n].text).into_iter().flatten().filter(|open| **open != n + 1) {
                for (p, a) in separated(toks, *open).into_iter().zip(separated(toks, n + 1)).filter(|(_, a)| a.len() == 1) {
                    let known = parameter(p).and_then(|t| kinds.get(t.text)).cloned().unwrap_or_default();
                    found.push((toks[a.start].text, known));
                }
            }
        }
        let before: usize = kinds.values().map(BTreeSet::len).sum();
        found.into_iter().filter(|(_, k)| !k.is_empty()).for_each(|(name, k)| kinds.entry(name).or_default().extend(k));
        if before == kinds.values().map(BTreeSet::len).sum() {
            return;
        }
    }
}
