//! What Cg and Direct3D 9 write otherwise than today's HLSL, put into its words line by line: `float4 out p`, semantics without `SV_`, which glslang
//! does not know in structures, samplers and initial values as `uniform` parameters of the entry point. Stages of Cg meet by semantics.

use super::edit::{Edit, edited, separated, without};
use super::hlsl::{is_matrix, is_number, names_elements};
use super::lex::{Kind, Token, close, tokens};
use super::meaning::is_single_value;
use super::names::{Names, structure};
use super::{entry, first, inherit, interface, majority, otherwise, registers, words};
use retroshade_ir::Stage;
use std::collections::BTreeSet;
use std::ops::Range;

/// A text of old: its entry point and stage, and whether it is Cg.
pub(super) struct Old<'a> {
    pub(super) entry: &'a str,
    pub(super) stage: Stage,
    pub(super) cg: bool,
}

impl Old<'_> {
    /// The text in HLSL's words, and its entry point. Nothing changes its line.
    pub(super) fn modern(&self, text: &str) -> (String, String) {
        let text = if self.cg { words::hlsl(text) } else { text.to_string() };
        let text = self.amended(text);
        let text = edited(&text, spelt_otherwise(&tokens(&text)));
        let reads = several_elements(&tokens(&text));
        let text = if reads.is_empty() { text } else { edited(&text, reads) };
        let toks = tokens(&text);
        let mut edits = Vec::new();
        for (n, t) in toks.iter().enumerate().skip(2) {
            let swapped = matches!(t.text, "out" | "inout") && toks[n - 1].is_word() && matches!(toks[n - 2].text, "(" | ",");
            if swapped && toks.get(n + 1).is_some_and(Token::is_word) {
                edits.push((toks[n - 1].at..t.end(), format!("{} {}", t.text, toks[n - 1].text)));
            }
        }
        edits.extend(miscomputed(&toks).into_iter().map(|n| (toks[n].at..toks[n].end(), String::new())));
        edits.extend((0..toks.len()).filter_map(|n| whole_matrix(&toks[n..])));
        edits.extend(byte_sizes(&toks));
        edits.extend(qualified_members(&toks).into_iter().map(|n| (toks[n].at..toks[n].end(), String::new())));
        if let Some((more, wrapper)) = entry::called(&text, &toks, self.entry, self.stage).filter(|_| self.cg) {
            edits.extend(more);
            return (edited(&text, edits) + &wrapper, interface::ENTRY.to_string());
        }
        let open = (1..toks.len()).find(|n| toks[*n].is("(") && toks[n - 1].is(self.entry));
        // A text with a semantic of today's means by the others what HLSL does: names.
        if !toks.iter().any(|t| t.text.get(..3).is_some_and(|s| s.eq_ignore_ascii_case("SV_"))) {
            let caller = open.map_or_else(Vec::new, |open| self.caller(&toks, open));
            edits.extend((2..toks.len()).filter(|n| toks[n - 1].is(":")).filter_map(|n| self.semantic(&toks, n, &caller)));
        }
        edits.extend(open.map_or_else(Vec::new, |open| hoisted(&text, &toks, open)));
        (edited(&text, edits), self.entry.to_string())
    }

    /// The text as glslang reads it rightly; each change is made in the text that the ones before it leave.
    fn amended(&self, text: String) -> String {
        let change = |text: String, edits: &dyn Fn(&str, &[Token<'_>]) -> (Vec<Edit>, String)| {
            let (edits, front) = edits(&text, &tokens(&text));
            if edits.is_empty() { text } else { front + &edited(&text, edits) }
        };
        let text = change(text, &|text, toks| (majority::edits(text, toks), String::new()));
        let text = inherit::written_out(&text).unwrap_or(text);
        let text = change(text, &otherwise::edits);
        let text = change(text, &|text, toks| (first::edits(text, toks, self.entry), String::new()));
        // Those of Cg are given by its entry point.
        if self.cg { text } else { change(text, &|text, toks| (registers::edits(text, toks, self.stage), String::new())) }
    }

    /// The types by which the entry point meets the host instead of the other stage: a vertex program's parameters, a fragment program's results.
    fn caller<'t>(&self, toks: &[Token<'t>], open: usize) -> Vec<&'t str> {
        let end = close(toks, open).saturating_sub(1).max(open);
        let mut out: Vec<&str> = Vec::new();
        for p in toks[open + 1..end.max(open + 1)].split(|t| t.is(",")) {
            let written = p.iter().any(|t| matches!(t.text, "out" | "inout"));
            if written == (self.stage == Stage::Fragment) {
                out.extend(p.iter().map(|t| t.text));
            }
        }
        if self.stage == Stage::Fragment && open > 1 {
            out.push(toks[open - 2].text);
        }
        out
    }

    /// A semantic as HLSL has it.
    fn semantic(&self, toks: &[Token<'_>], n: usize, caller: &[&str]) -> Option<Edit> {
        let t = &toks[n];
        let name = t.text.to_ascii_uppercase();
        let fragment = self.stage == Stage::Fragment;
        match &*name {
            "POSITION" | "POSITION0" => return Some((t.at..t.end(), "SV_Position".into())),
            "WPOS" | "VPOS" if fragment => return Some((t.at..t.end(), "SV_Position".into())),
            "DEPTH" | "DEPTH0" if fragment => return Some((t.at..t.end(), "SV_Depth".into())),
            _ => {}
        }
        // The declaration from its first word on, in a structure or among parameters.
        let before = toks[..n].iter().rposition(|t| matches!(t.text, ";" | "{" | "(" | "," | "}"))?;
        let declaration = &toks[before + 1..n];
        // Behind the parameters stands the result's.
        if declaration.iter().any(|t| t.is(")")) {
            return None;
        }
        let between = match toks[before].text {
            "(" | "," => declaration.iter().any(|t| t.is("out")) != fragment,
            _ => {
                let brace = toks[..=before].iter().rposition(|t| t.is("{"))?;
                brace > 1 && toks[brace - 2].is("struct") && !caller.contains(&toks[brace - 1].text)
            }
        };
        let first = declaration.first().filter(|t| between && t.is_word() && declaration.len() > 2)?;
        let size = name == "PSIZE" && !fragment;
        size.then(|| (first.at..first.at, "[[vk::builtin(\"PointSize\")]] ".into()))
    }
}

/// Each `const` of what glslang computes itself and otherwise than HLSL: it takes the product of square matrices by `*` for the one of linear algebra,
/// compares vectors by their first components, and has no remainder of floats. Of vectors and floats the word is left out where such an operation
/// stands in a statement with them, and where that makes no uniform of them.
fn miscomputed(toks: &[Token<'_>]) -> Vec<usize> {
    let (mut compared, mut divided) = (BTreeSet::new(), BTreeSet::new());
    for statement in toks.split(|t| matches!(t.text, ";" | "{" | "}")) {
        let has = |ops: &[&str]| statement.iter().any(|t| ops.contains(&t.text));
        let names = || statement.iter().filter(|t| t.is_word()).map(|t| t.text);
        if has(&["==", "!=", "<", ">", "<=", ">="]) {
            compared.extend(names());
        }
        if has(&["%", "%="]) {
            divided.extend(names());
        }
    }
    let mut out = Vec::new();
    let mut depth = 0usize;
    for (n, t) in toks.iter().enumerate() {
        match t.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "const" => {
                let qualifies =
                    |t: &&Token<'_>| matches!(t.text, "const" | "static" | "row_major" | "column_major" | "precise" | "uniform");
                let behind = toks[n + 1..].iter().take_while(qualifies).count();
                let [ty, declared @ ..] = &toks[n + 1 + behind..] else { continue };
                let is_static = toks[..n].iter().rev().take_while(qualifies).chain(&toks[n + 1..=n + behind]).any(|t| t.is("static"));
                let among = |names: &BTreeSet<&str>| declarators(declared).any(|name| names.contains(name));
                let vector = is_number(ty.text) && ty.text.ends_with(['2', '3', '4']) && among(&compared);
                let remainder = ["float", "half", "double"].iter().any(|f| ty.text.starts_with(f)) && among(&divided);
                if is_square(ty.text) || (is_static || depth > 0) && (vector || remainder) {
                    out.push(n);
                }
            }
            _ => {}
        }
    }
    out
}

/// The names of `a = f(x, y), b[2];`.
fn declarators<'a, 't>(toks: &'a [Token<'t>]) -> impl Iterator<Item = &'t str> + use<'a, 't> {
    let mut n = 0;
    std::iter::from_fn(move || {
        let name = toks.get(n).filter(|t| t.is_word())?.text;
        while toks.get(n).is_some_and(|t| !matches!(t.text, "," | ";" | ")" | "}")) {
            n = if matches!(toks[n].text, "(" | "[" | "{") { close(toks, n) } else { n + 1 };
        }
        n = if toks.get(n).is_some_and(|t| t.is(",")) { n + 1 } else { toks.len() };
        Some(name)
    })
}

fn is_square(ty: &str) -> bool {
    matches!(ty.as_bytes(), [_, .., a, b'x', b] if a == b && a.is_ascii_digit())
}

/// `b.GetDimensions(n);` of a byte address buffer, of which glslang counts words.
fn byte_sizes(toks: &[Token<'_>]) -> Vec<Edit> {
    let buffers: BTreeSet<&str> =
        toks.windows(2).filter(|w| matches!(w[0].text, "ByteAddressBuffer" | "RWByteAddressBuffer")).map(|w| w[1].text).collect();
    let size = |n: usize| {
        let [name, dot, method, open, rest @ ..] = &toks[n..] else { return None };
        let called = buffers.contains(name.text) && dot.is(".") && method.is("GetDimensions") && open.is("(");
        let end = rest.iter().position(|t| t.is(")")).filter(|_| called)?;
        let size: String = rest[..end].iter().map(|t| t.text).collect();
        let semicolon = rest.get(end + 1).filter(|t| t.is(";"))?;
        Some([(name.at..name.at, "{ ".to_string()), (semicolon.end()..semicolon.end(), format!(" {size} *= 4; }}"))])
    };
    if buffers.is_empty() { Vec::new() } else { (0..toks.len()).filter_map(size).flatten().collect() }
}

/// Words for which glslang knows others only, or knows others better: `float1` is no vector to its code, `SV_Position0` no system value.
fn spelt_otherwise(toks: &[Token<'_>]) -> Vec<Edit> {
    let mut out = Vec::new();
    for (n, t) in toks.iter().enumerate().filter(|(_, t)| t.is_word()) {
        let word = match t.text {
            "float1" | "half1" | "int1" | "uint1" | "bool1" | "double1" => t.text[..t.text.len() - 1].to_string(),
            "unsigned" if toks.get(n + 1).is_some_and(|t| t.is("int")) => {
                out.push((t.at..toks[n + 1].end(), "uint".to_string()));
                continue;
            }
            text if n > 0 && toks[n - 1].is(":") => match text.strip_suffix('0') {
                Some(name) if is_single_value(name) => name.to_string(),
                _ => continue,
            },
            text => match ["float32_t", "int32_t", "uint32_t"].iter().find_map(|ty| Some((ty, text.strip_prefix(ty)?))) {
                Some((ty, size)) if size.chars().all(|c| matches!(c, '1'..='4' | 'x')) => format!("{}{size}", &ty[..ty.len() - 4]),
                _ => continue,
            },
        };
        out.push((t.at..t.end(), word));
    }
    out
}

/// `(float2x2)7` with a float: glslang writes a matrix of whole numbers as floats of the same bits.
fn whole_matrix(toks: &[Token<'_>]) -> Option<Edit> {
    let [open, ty, end, rest @ ..] = toks else { return None };
    if !open.is("(") || !end.is(")") || !is_matrix(ty.text) || ty.text.starts_with(['i', 'u', 'b']) {
        return None;
    }
    let number = rest.iter().find(|t| !t.is("-"))?;
    let digits = number.text.trim_end_matches(['u', 'U']);
    (!digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())).then(|| (number.at..number.end(), format!("{digits}.0")))
}

/// Tokens of what several elements are read of: it is written again for each.
const MOST_READ: usize = 256;

/// Reads of several elements of a matrix, `m._m00_m11`, as what is made of each, `float2(m._m00, m._m11)`: glslang only sets them.
fn several_elements(toks: &[Token<'_>]) -> Vec<Edit> {
    let reads = |n: usize| n > 1 && toks[n - 1].is(".") && names_elements(toks[n].text) && !toks.get(n + 1).is_some_and(|t| t.is("="));
    let all: Vec<usize> = (0..toks.len()).filter(|n| reads(*n)).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let names = Names::new(toks);
    let edit = |n: usize| {
        // `name[0].member`, in whose brackets nothing happens, and which is written once for each.
        let least = n.saturating_sub(MOST_READ);
        let mut first = n - 2;
        loop {
            while toks[first].is("]") {
                let inner = least + toks.get(least..first)?.iter().rposition(|t| matches!(t.text, "[" | "]" | "(" | "++" | "--"))?;
                first = inner.checked_sub(1).filter(|_| toks[inner].is("["))?;
            }
            if first < 2 || !toks[first - 1].is(".") {
                break;
            }
            first -= 2;
            if first < least {
                return None;
            }
        }
        let (ty, lengths) = names.type_of(&toks[first..n - 1])?;
        let scalar = ty.get(..ty.len().checked_sub(3)?).filter(|_| lengths == 0 && is_matrix(ty))?;
        let of: String = toks[first..n - 1].iter().map(|t| t.text).collect();
        let parts: Vec<String> = toks[n].text.split('_').skip(1).map(|e| format!("{of}._{e}")).collect();
        (parts.len() <= 4).then(|| (toks[first].at..toks[n].end(), format!("{scalar}{}({})", parts.len(), parts.join(", "))))
    };
    all.into_iter().filter_map(edit).collect()
}

/// The qualifiers of members that say nothing (`const`) or what the structure's use says anyway (`in`, `out`): with them glslang takes a member for
/// a constant or a parameter, and ends the process.
fn qualified_members(toks: &[Token<'_>]) -> Vec<usize> {
    let mut out = Vec::new();
    // Of each bracket whether a structure's members stand right in it.
    let mut scopes = Vec::new();
    for (n, t) in toks.iter().enumerate() {
        match t.text {
            "{" => scopes.push(structure(toks, n).is_some()),
            "(" | "[" => scopes.push(false),
            "}" | ")" | "]" => drop(scopes.pop()),
            "const" | "in" | "out" | "inout" if scopes.last() == Some(&true) && !(n > 0 && toks[n - 1].is("static")) => out.push(n),
            _ => {}
        }
    }
    out
}

/// The parameters of the entry point that its caller cannot give, in front of it.
fn hoisted(text: &str, toks: &[Token<'_>], open: usize) -> Vec<Edit> {
    let end = close(toks, open).saturating_sub(1);
    let list = &toks[open..=end];
    if !toks[end].is(")") || list.iter().any(|t| t.kind == Kind::Directive) {
        return Vec::new();
    }
    let ends = |t: &Token<'_>| matches!(t.text, ";" | "}" | "]") || t.kind == Kind::Directive;
    let first = toks[..open].iter().rposition(ends).map_or(0, |n| n + 1);
    let parameters = separated(toks, open);
    let moves = |p: &Range<usize>| {
        let p = &toks[p.clone()];
        let sampler = p.get(1).is_some_and(|t| t.text.to_ascii_lowercase().starts_with("sampler"));
        p.first().is_some_and(|t| t.is("uniform")) && (sampler || p.iter().any(|t| t.is("=")))
    };
    if !parameters.iter().any(moves) {
        return Vec::new();
    }
    let spelt = |p: &Range<usize>| toks[p.clone()].iter().map(|t| t.text).collect::<Vec<_>>().join(" ");
    let front: String = parameters.iter().filter(|p| moves(p)).map(|p| spelt(p) + "; ").collect();
    let mut edits = vec![(toks[first].at..toks[first].at, front)];
    edits.extend(without(text, toks, open, moves));
    edits
}

#[cfg(test)]
mod tests {
    use super::Old;
    use retroshade_ir::Stage;

    #[test]
    fn every_beginning_of_a_text_is_read() {
        let text = "struct Out { float4 c : COLOR; float d : DEPTH; };
Out main(uniform sampler2D first : TEXUNIT0, float2 out uv : TEXCOORD0, uniform float bright = f(0.5, 1), uniform float4 tint[2],
    uniform samplerCUBE second) : COLOR { return x ? y : POSITION; }";
        for end in 0..=text.len() {
            for stage in [Stage::Vertex, Stage::Fragment] {
                let old = Old { entry: "main", stage, cg: true };
                let (read, _) = old.modern(&text[..end]);
                // HLSL's entry point comes last.
                let read = read.split("\nvoid shaderc_entry").next().unwrap_or("");
                // Two lines come first.
                let read = read.splitn(3, '\n').nth(2).unwrap_or("");
                assert_eq!(read.matches('\n').count(), text[..end].matches('\n').count(), "{read}");
            }
        }
    }

    #[test]
    fn every_beginning_of_todays_text_is_read() {
        let text = "#pragma pack_matrix(row_major)
typedef row_major float2x2 rows; struct A { rows r; }; struct B : A { float4x4 m[2]; };
#pragma pack_matrix(column_major)
cbuffer C : register(b1) { B b; float k : packoffset(c1) : register(c0); } const float4 u; sampler v; float w[3] : register(c2);
Texture2D<float4> t[2], s : register(ps, t[1]); RWBuffer<uint> o; static const float a[2] = { f(1), 2l }, c = mul(3, 4);
void main(); [numthreads(1, 1, 1)] void main() { InterlockedCompareStore(o[1], 2, 3LU); switch (1) { case -2.5: break; }
t[0].GatherRed(v, 1, 2, 3, 4, 5); tex3D(v, 1); m._m00_m11 = 1; }";
        for end in 0..=text.len() {
            let old = Old { entry: "main", stage: Stage::Compute, cg: false };
            let (read, _) = old.modern(&text[..end]);
            let own = usize::from(read.starts_with("static uint shaderc_unread"));
            assert_eq!(read.matches('\n').count(), text[..end].matches('\n').count() + own, "{read}");
        }
    }
}
