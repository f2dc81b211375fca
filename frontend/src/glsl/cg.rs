//! What Cg and Direct3D 9 write otherwise than today's HLSL, put into its words line by line: `float4 out p`, semantics without `SV_`, which glslang
//! does not know in structures, samplers and initial values as `uniform` parameters of the entry point. Stages of Cg meet by semantics.

use super::edit::{Edit, edited, separated, without};
use super::hlsl::{is_matrix, names_elements};
use super::lex::{Kind, Token, close, tokens};
use super::names::{Names, structure};
use super::{entry, interface, words};
use retroshade_ir::Stage;
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
        edits.extend(
            toks.iter()
                .enumerate()
                .filter(|(n, t)| t.is("const") && declares_matrix(&toks[n + 1..]))
                .map(|(_, t)| (t.at..t.end(), String::new())),
        );
        edits.extend((0..toks.len()).filter_map(|n| whole_matrix(&toks[n..])));
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

/// Whether what stands behind `const` declares a square matrix: glslang computes with constants itself, and takes their product by `*` for the one
/// of linear algebra, which nobody sees any more behind it.
fn declares_matrix(behind: &[Token<'_>]) -> bool {
    let mut words = behind.iter().skip_while(|t| matches!(t.text, "static" | "row_major" | "column_major" | "precise" | "uniform"));
    words.next().is_some_and(|t| matches!(t.text.as_bytes(), [_, .., a, b'x', b] if a == b && a.is_ascii_digit()))
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
                assert_eq!(read.lines().count(), text[..end].lines().count(), "{read}");
            }
        }
    }
}
