//! The registers of HLSL's textures, samplers and buffers: those that name none get the first that are free of their kind, in the order of
//! declaration, as Direct3D gives them; glslang gives all the first. `register(c1)` says nothing within a buffer of constants, and registers of other
//! stages say nothing in this one.

use super::declared::take;
use super::edit::{Edit, blank};
use super::hlsl::is_number;
use super::lex::{Kind, Token, close};
use super::names::Names;
use super::outside::{Declarator, declarations, declarators, members};
use retroshade_ir::Stage;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Arrays of more objects than these are not counted.
const MOST: i64 = 256;

/// The kind of registers that objects of a type have: `t` for what is read, `s` for samplers, `u` for what is written. Loose constants have `c`.
fn kind(ty: &str) -> Option<char> {
    let read = ["Texture1D", "Texture2D", "Texture3D", "TextureCube", "Buffer", "StructuredBuffer", "ByteAddressBuffer"];
    let written = ["RW", "AppendStructuredBuffer", "ConsumeStructuredBuffer", "RasterizerOrdered"];
    if read.iter().any(|t| ty.starts_with(t)) {
        Some('t')
    } else if written.iter().any(|t| ty.starts_with(t)) {
        Some('u')
    } else {
        (ty.starts_with("Sampler") || ty.starts_with("sampler")).then_some('s')
    }
}

/// What `register(...)` behind a name says.
struct Register {
    /// The colon, the word and the parentheses.
    tokens: Range<usize>,
    /// Its kind and number, if this stage has it; in another space it is no number of this one.
    place: Option<(char, u32)>,
    /// As glslang reads it, if that is otherwise than it stands.
    spelt: Option<String>,
    /// Whether this stage has it.
    ours: bool,
}

/// The registers behind a name.
fn registers(toks: &[Token<'_>], rest: Range<usize>, stage: Stage) -> Vec<Register> {
    let own = match stage {
        Stage::Vertex => "vs",
        Stage::Fragment => "ps",
        Stage::Geometry => "gs",
        Stage::Compute => "cs",
    };
    let mut out = Vec::new();
    for n in rest.clone().filter(|n| *n > rest.start && toks[*n].is("register") && toks[*n - 1].is(":")) {
        let end = close(toks, n + 1);
        if !toks.get(n + 1).is_some_and(|t| t.is("(")) || end > rest.end {
            continue;
        }
        let inner: Vec<&str> = toks.get(n + 2..end - 1).unwrap_or_default().iter().map(|t| t.text).collect();
        let parts: Vec<String> = inner.split(|t| *t == ",").map(|p| p.concat()).collect();
        let profile = |p: &str| ["vs", "ps", "gs", "cs", "hs", "ds"].into_iter().find(|s| p == *s || p.starts_with(&format!("{s}_")));
        let stage_of = parts.first().and_then(|p| profile(p));
        let parts = &parts[usize::from(stage_of.is_some())..];
        let Some(name) = parts.first() else { continue };
        // `t[1]`
        let plain = name.replace(['[', ']'], "");
        let number = plain.get(1..).and_then(|n| n.parse().ok());
        let place = plain.chars().next().zip(number).map(|(c, n): (char, u32)| (c.to_ascii_lowercase(), n));
        let space = parts.get(1).is_some_and(|s| s != "space0");
        let spelt = (stage_of.is_some() || plain != *name).then(|| {
            let rest = parts.get(1).map_or(String::new(), |s| format!(", {s}"));
            format!(": register({plain}{rest})")
        });
        let ours = stage_of.is_none_or(|s| s == own);
        out.push(Register { tokens: n - 1..end, place: place.filter(|_| ours && !space), spelt, ours });
    }
    out
}

/// Registers of constants that a variable takes by itself, `float4x3 m[2]`; nothing of types that are not plain.
fn constants(toks: &[Token<'_>], first: usize, ty: &str, rows_first: bool) -> Option<i64> {
    let [rows, columns] = match ty.as_bytes() {
        [.., rows @ b'1'..=b'4', b'x', columns @ b'1'..=b'4'] => [rows, columns].map(|n| i64::from(n - b'0')),
        _ => [1, 1],
    };
    let said = |w: &str| toks[first..].iter().take_while(|t| t.is_word()).any(|t| t.is(w));
    let by_rows = said("row_major") || rows_first && !said("column_major");
    is_number(ty).then_some(if by_rows { rows } else { columns })
}

/// What gives every object a register of its own.
pub(super) fn edits(text: &str, toks: &[Token<'_>], stage: Stage) -> Vec<Edit> {
    let mut edits = Vec::new();
    // Of each kind what is taken, and those that have none with how many they take.
    let mut taken: BTreeMap<char, BTreeSet<u32>> = BTreeMap::new();
    let mut free: Vec<(char, usize, u32)> = Vec::new();
    let names = Names::new(toks);
    let mut object = |edits: &mut Vec<Edit>, kind: char, each: i64, d: &Declarator| {
        let all = registers(toks, d.rest.clone(), stage);
        let length = |r: &Range<usize>| names.integer(toks.get(r.start + 1..r.end - 1)?).filter(|n| (1..=MOST).contains(n));
        let many = d.lengths.iter().try_fold(each, |all, r| Some(all * length(r)?)).filter(|n| *n <= MOST * MOST);
        for r in &all {
            let bytes = || toks[r.tokens.start].at..toks[r.tokens.end - 1].end();
            if !r.ours {
                edits.push(blank(text, toks, r.tokens.clone()));
            } else if let Some(spelt) = &r.spelt {
                edits.push((bytes(), spelt.clone()));
            }
        }
        let named = all.iter().any(|r| r.ours);
        if let Some((_, first)) = all.iter().filter_map(|r| r.place).find(|p| p.0 == kind) {
            let many = many.unwrap_or(1) as u32;
            taken.entry(kind).or_default().extend(first..first.saturating_add(many));
        } else if let Some(many) = many.filter(|_| !named) {
            let behind = d.lengths.last().map_or(d.name, |r| r.end - 1);
            free.push((kind, toks[behind].end(), many as u32));
        }
    };
    let all = declarations(toks);
    // Where one loose constant has a register the others do not share theirs; where none has, they are packed.
    let at_constant = |n: usize| toks[n].is("register") && toks.get(n + 2).is_some_and(|t| t.text.starts_with(['c', 'C']));
    let placed = all.iter().filter(|d| d.body.is_none() && d.parameters.is_none()).any(|d| d.tokens.clone().any(at_constant));
    let rows_first = toks.iter().any(|t| t.kind == Kind::Directive && t.text.contains("row_major"));
    for d in all.iter().filter(|d| d.parameters.is_none()) {
        let block = ["cbuffer", "tbuffer"].iter().any(|b| d.begins_with(toks, b));
        if let Some(body) = d.body.clone().filter(|_| block) {
            for member in members(toks, body) {
                for m in declarators(toks, member).map_or_else(Vec::new, |d| d.1) {
                    let nothing = registers(toks, m.rest.clone(), stage).into_iter().filter(|r| r.place.is_some_and(|p| p.0 == 'c'));
                    edits.extend(nothing.map(|r| blank(text, toks, r.tokens)));
                }
            }
            continue;
        }
        if ["static", "typedef", "struct", "class", "groupshared", "const"].iter().any(|w| d.begins_with(toks, w)) {
            continue;
        }
        let Some((ty, all)) = declarators(toks, d.tokens.clone()) else { continue };
        if let Some(kind) = kind(toks[ty].text) {
            all.iter().for_each(|v| object(&mut edits, kind, 1, v));
            // glslang, which passes over a sampler's states, has no register in front of them.
            edits.extend(d.body.as_ref().filter(|b| b.end < toks.len()).map(|b| blank(text, toks, b.start - 1..b.end + 1)));
        } else if let Some(many) = constants(toks, d.tokens.start, toks[ty].text, rows_first).filter(|_| placed) {
            all.iter().for_each(|v| object(&mut edits, 'c', many, v));
        }
    }
    for (kind, behind, many) in free {
        let n = take(taken.entry(kind).or_default(), many);
        edits.push((behind..behind, format!(" : register({kind}{n})")));
    }
    edits
}
