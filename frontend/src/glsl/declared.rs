//! What Cg's declarations say, word by word: qualifiers, type, name, lengths and semantic of each variable.

use super::lex::{Token, close};
use super::upgrade::{free, member, plain};
use std::collections::BTreeSet;
use std::ops::Range;

/// What one declarator says.
#[derive(Clone, Debug)]
pub(super) struct Variable<'t> {
    pub(super) qualifiers: Vec<&'t str>,
    pub(super) ty: &'t str,
    pub(super) name: &'t str,
    pub(super) dims: String,
    pub(super) semantic: Option<&'t str>,
    /// Its tokens, in the slice that was read.
    pub(super) tokens: Range<usize>,
    /// The last token before its semantic.
    pub(super) named: usize,
}

impl Variable<'_> {
    pub(super) fn has(&self, qualifier: &str) -> bool {
        self.qualifiers.contains(&qualifier)
    }

    /// How its matrices lie in memory, where it says so.
    pub(super) fn packing(&self) -> &'static str {
        if self.has("column_major") {
            "column_major "
        } else if self.has("row_major") {
            "row_major "
        } else {
            ""
        }
    }

    pub(super) fn is_uniform(&self) -> bool {
        self.has("uniform") || is_sampler(self.ty)
    }
}

/// A member of a structure that is none itself, or a variable that is none.
#[derive(Clone, Debug)]
pub(super) struct Leaf<'t> {
    pub(super) path: Vec<&'t str>,
    pub(super) packing: &'static str,
    pub(super) ty: &'t str,
    pub(super) dims: String,
    pub(super) uniform: bool,
    pub(super) semantic: Option<&'t str>,
}

impl Leaf<'_> {
    pub(super) fn written(&self) -> String {
        self.path.join(".")
    }

    /// The variable that stands for it where its structure is taken apart.
    pub(super) fn alone(&self) -> String {
        self.path[1..].iter().fold(free(plain(self.path[0])), |all, m| member(&all, m))
    }

    /// Locations that it takes.
    pub(super) fn size(&self) -> u32 {
        let rows = match self.ty.as_bytes() {
            [.., rows @ b'1'..=b'4', b'x', b'1'..=b'4'] => u32::from(rows - b'0'),
            _ => 1,
        };
        elements(&self.dims) * rows
    }
}

/// How many elements an array of lengths as `[2][3]` has.
pub(super) fn elements(dims: &str) -> u32 {
    dims.split(['[', ']']).filter_map(|n| n.parse::<u32>().ok()).fold(1, u32::saturating_mul).clamp(1, 256)
}

/// Takes the first run of so many numbers that are free, and gives its first.
pub(super) fn take(taken: &mut BTreeSet<u32>, many: u32) -> u32 {
    let first = (0..).find(|n| (*n..n + many).all(|k| !taken.contains(&k))).unwrap_or(0);
    taken.extend(first..first + many);
    first
}

pub(super) fn is_sampler(ty: &str) -> bool {
    ty.get(..7).is_some_and(|t| t.eq_ignore_ascii_case("sampler"))
}

pub(super) fn is_qualifier(t: &str) -> bool {
    matches!(
        t,
        "in" | "out"
            | "inout"
            | "uniform"
            | "varying"
            | "const"
            | "static"
            | "extern"
            | "row_major"
            | "column_major"
            | "centroid"
            | "nointerpolation"
            | "noperspective"
    )
}

/// The variables of a declaration without its semicolon.
pub(super) fn variables<'t>(toks: &[Token<'t>]) -> Vec<Variable<'t>> {
    let is = |n: usize, what: &str| toks.get(n).is_some_and(|t| t.is(what));
    let mut n = 0;
    let mut qualifiers = Vec::new();
    let qualify = |n: &mut usize, to: &mut Vec<&'t str>| {
        while let Some(t) = toks.get(*n).filter(|t| is_qualifier(t.text)) {
            to.push(t.text);
            *n += 1;
        }
    };
    qualify(&mut n, &mut qualifiers);
    let Some(ty) = toks.get(n).filter(|t| t.is_word()) else { return Vec::new() };
    n += 1;
    // `float4 out p`.
    qualify(&mut n, &mut qualifiers);
    let mut out = Vec::new();
    let mut first = 0;
    while let Some(name) = toks.get(n).filter(|t| t.is_word()) {
        n += 1;
        let from = n;
        while is(n, "[") {
            n = close(toks, n);
        }
        let dims = toks[from..n].iter().map(|t| t.text).collect();
        let named = n - 1;
        let semantic = toks.get(n + 1).filter(|t| is(n, ":") && t.is_word()).map(|t| t.text);
        while n < toks.len() && !is(n, ",") {
            n = if matches!(toks[n].text, "(" | "[" | "{") { close(toks, n) } else { n + 1 };
        }
        out.push(Variable { qualifiers: qualifiers.clone(), ty: ty.text, name: name.text, dims, semantic, tokens: first..n, named });
        n += 1;
        first = n;
    }
    out
}

/// The semantic without an old name's abbreviation, and its number.
pub(super) fn semantic(s: &str) -> (String, u32) {
    let name = s.to_ascii_uppercase();
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let n = name[word.len()..].parse().unwrap_or(0);
    let word = match word {
        "TEX" => "TEXCOORD",
        "COL" => "COLOR",
        "HPOS" => "POSITION",
        "PSIZ" => "PSIZE",
        "FOGC" => "FOG",
        "DEPR" => "DEPTH",
        "VPOS" => "WPOS",
        "VFACE" => "FACE",
        w => w,
    };
    (word.to_string(), n)
}
