//! Cg's words in HLSL's: names that HLSL reserves, types and functions that it calls otherwise or does not have, initial values in one list.

use super::edit::{Edit, edited};
use super::lex::{Kind, Token, close, tokens};
use super::library::{is_called, is_declared};
use super::upgrade::free;

/// A preprocessed text of Cg in HLSL's words. No token changes its line: what is added stands in front of the first line's directive.
pub(super) fn hlsl(text: &str) -> String {
    let toks = tokens(text);
    let mut edits = names(&toks);
    let own = |name: &str| is_declared(&toks, name);
    let mut functions = String::new();
    for n in 0..toks.len() {
        let (t, called) = (&toks[n], toks.get(n + 1).is_some_and(|t| t.is("(")));
        let word = match t.text {
            "fract" if called && !own("fract") => "frac".into(),
            "mix" if called && !own("mix") => "lerp".into(),
            text if text.starts_with("tex") && texel_type(&toks, n).is_some() => {
                let ty = texel_type(&toks, n).unwrap_or_default();
                let end = toks[close(&toks, n + 4) - 1].end();
                edits.push((t.at..toks[n + 3].end(), format!("(({}){text}", number(ty).unwrap_or_else(|| ty.to_string()))));
                edits.push((end..end, ")".into()));
                continue;
            }
            "unsigned" => {
                let behind = toks.get(n + 1).filter(|t| matches!(t.text, "int" | "short" | "char"));
                edits.push((t.at..behind.unwrap_or(t).end(), "uint".into()));
                continue;
            }
            "short" | "char" if toks.get(n + 1).is_some_and(Token::is_word) => "int".into(),
            "mod" if called && !own("mod") => free("mod"),
            _ if called && truth_matrix(&toks, n).is_some() => {
                functions += &truth_matrix(&toks, n).filter(|f| !functions.contains(f)).unwrap_or_default();
                free(t.text)
            }
            _ if called && factor(&toks, n).is_some() => factor(&toks, n).unwrap_or_default(),
            // `fixed[](1, 2)` goes with its bracket.
            _ if t.is_word() => match number(t.text).filter(|_| !(n > 0 && toks[n - 1].is(".")) && constructed(&toks, n + 1).is_empty()) {
                Some(ty) => ty,
                None => continue,
            },
            "[" => {
                edits.extend(constructed(&toks, n));
                continue;
            }
            "{" => {
                edits.extend(grouped(&toks, n));
                continue;
            }
            _ => continue,
        };
        edits.push((t.at..t.end(), word));
    }
    if is_called(&toks, "mod") && !own("mod") {
        let f = free("mod");
        for n in ["", "2", "3", "4"] {
            functions += &format!("float{n} {f}(float{n} x, float{n} y) {{ return x - y * floor(x / y); }} ");
            if !n.is_empty() {
                functions += &format!("float{n} {f}(float{n} x, float y) {{ return x - y * floor(x / y); }} ");
            }
        }
    }
    for (name, sampler, coordinate) in [("tex1D", "sampler1D", "p.x / p.y"), ("tex2D", "sampler2D", "p.xy / p.z")] {
        let f = format!("{name}proj");
        if is_called(&toks, &f) && !own(&f) {
            let n = if name == "tex1D" { 2 } else { 3 };
            functions += &format!("float4 {f}({sampler} s, float{n} p) {{ return {name}(s, {coordinate}); }} ");
        }
    }
    // Cg's matrices lie row by row unless it says otherwise, HLSL's column by column.
    format!("#pragma pack_matrix(row_major)\n{functions}\n{}", edited(text, edits))
}

/// Words that HLSL reserves and Cg does not, or that Cg's programs name things by all the same.
const RESERVED: &[&str] = &[
    "Buffer",
    "InputPatch",
    "LineStream",
    "OutputPatch",
    "PointStream",
    "TriangleStream",
    "centroid",
    "class",
    "globallycoherent",
    "groupshared",
    "layout",
    "line",
    "lineadj",
    "linear",
    "matrix",
    "namespace",
    "nointerpolation",
    "noperspective",
    "point",
    "precise",
    "sample",
    "sampler",
    "shared",
    "snorm",
    "texture",
    "triangle",
    "triangleadj",
    "unorm",
    "vector",
];

/// Names of things that HLSL takes for its own words, with others in their place. Behind a type or a qualifier stands a word, behind a name never.
fn names(toks: &[Token<'_>]) -> Vec<Edit> {
    let behind = |n: usize| toks.get(n + 1);
    let declared = |w: &str| toks.windows(2).any(|t| t[0].is("struct") && t[1].is(w));
    let name = |n: usize| behind(n).is_none_or(|t| !(t.is_word() || t.is("<") || t.is("(") && toks[n].is("layout")));
    let taken = |n: &usize| RESERVED.binary_search(&toks[*n].text).is_ok() && (name(*n) || declared(toks[*n].text));
    (0..toks.len()).filter(taken).map(|n| (toks[n].at..toks[n].end(), free(toks[n].text))).collect()
}

/// The type of numbers that HLSL has for one of Cg's or of GLSL's, which Cg takes as well.
fn number(word: &str) -> Option<String> {
    let of = |prefix: &str| word.strip_prefix(prefix).filter(|n| n.chars().all(|c| matches!(c, '1'..='4' | 'x')));
    let vector = |prefix: &str| of(prefix).filter(|n| matches!(*n, "2" | "3" | "4"));
    let fixed = of("fixed").map(|n| format!("half{n}"));
    let floats = vector("vec").map(|n| format!("float{n}"));
    let integers = vector("ivec").map(|n| format!("int{n}"));
    fixed.or(floats).or(integers).or(vector("bvec").map(|n| format!("bool{n}")))
}

/// The type of what a function reads from a texture, `tex2D<float>(s, uv)`, which the Vita's Cg has.
fn texel_type<'t>(toks: &[Token<'t>], n: usize) -> Option<&'t str> {
    match toks.get(n + 1..n + 5)? {
        [less, ty, greater, open] if less.is("<") && ty.is_word() && greater.is(">") && open.is("(") => Some(ty.text),
        _ => None,
    }
}

/// A function that makes a matrix of truth values out of each, on which glslang faults.
fn truth_matrix(toks: &[Token<'_>], n: usize) -> Option<String> {
    let [rows @ b'2'..=b'4', b'x', columns @ b'2'..=b'4'] = toks[n].text.strip_prefix("bool")?.as_bytes() else { return None };
    let (rows, columns) = (usize::from(rows - b'0'), usize::from(columns - b'0'));
    let end = close(toks, n + 1).saturating_sub(1);
    let mut depth = 0usize;
    let commas = toks[n + 2..end.max(n + 2)].iter().filter(|t| {
        match t.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && t.is(",")
    });
    if commas.count() + 1 != rows * columns {
        return None;
    }
    let ty = toks[n].text;
    let parameters = (0..rows * columns).map(|k| format!("bool a{k}")).collect::<Vec<_>>().join(", ");
    let row = |r: usize| (0..columns).map(|c| format!("a{}", r * columns + c)).collect::<Vec<_>>().join(", ");
    let body: String = (0..rows).map(|r| format!("m[{r}] = bool{columns}({}); ", row(r))).collect();
    Some(format!("{ty} {}({parameters}) {{ {ty} m; {body}return m; }} ", free(ty)))
}

/// The vector that a factor of one row or column is, `float1x2` in `mul(float1x2(a, b), m)`.
fn factor(toks: &[Token<'_>], n: usize) -> Option<String> {
    let (of, size) = toks[n].text.split_at_checked(toks[n].text.len().checked_sub(3)?)?;
    let open = (0..n).rev().scan(0usize, |depth, k| {
        match toks[k].text {
            ")" => *depth += 1,
            "(" if *depth > 0 => *depth -= 1,
            "(" => return Some(Some(k)),
            ";" | "{" | "}" => return None,
            _ => {}
        }
        Some(None)
    });
    let open = open.flatten().next().filter(|k| *k > 0 && toks[k - 1].is("mul"))?;
    let behind = close(toks, n + 1);
    let length = match size.as_bytes() {
        [b'1', b'x', length] if n == open + 1 && toks.get(behind).is_some_and(|t| t.is(",")) => length,
        [length, b'x', b'1'] if toks[n - 1].is(",") && toks.get(behind).is_some_and(|t| t.is(")")) => length,
        _ => return None,
    };
    matches!(of, "float" | "half").then(|| format!("{of}{}", char::from(*length)))
}

/// `= float[](1, 2)` as `= {1, 2}`.
fn constructed(toks: &[Token<'_>], open: usize) -> Vec<Edit> {
    let end = close(toks, open);
    let value = toks.get(open).is_some_and(|t| t.is("["))
        && open > 1
        && toks[open - 1].is_word()
        && toks[open - 2].is("=")
        && toks.get(end).is_some_and(|t| t.is("("));
    let last = close(toks, end).saturating_sub(1);
    if !value || !toks[last].is(")") {
        return Vec::new();
    }
    vec![(toks[open - 1].at..toks[end].end(), "{".into()), (toks[last].at..toks[last].end(), "}".into())]
}

/// The vectors of an array that are given number by number: `float2 p[2] = { 1, 2, 3, 4 }`.
fn grouped(toks: &[Token<'_>], open: usize) -> Vec<Edit> {
    let number = |t: &Token<'_>| t.text.parse::<usize>().ok();
    let [.., ty, name, bracket, length, closing, set] = &toks[..open] else { return Vec::new() };
    let shape = name.is_word() && bracket.is("[") && closing.is("]") && set.is("=");
    let width = ty.text.strip_prefix("float").or(ty.text.strip_prefix("half")).and_then(|n| n.parse::<usize>().ok());
    let (Some(width @ 2..=4), Some(length), true) = (width, number(length), shape) else { return Vec::new() };
    let end = close(toks, open).saturating_sub(1);
    let mut elements = Vec::new();
    let mut n = open + 1;
    let mut first = n;
    while n < end {
        match toks[n].text {
            "," => {
                elements.push(first..n);
                n += 1;
                first = n;
            }
            "{" => return Vec::new(),
            "(" | "[" => n = close(toks, n),
            _ => n += 1,
        }
    }
    if first < end {
        elements.push(first..end);
    }
    if elements.len() != width * length || elements.iter().any(|e| e.is_empty() || toks[e.start].kind == Kind::Directive) {
        return Vec::new();
    }
    let opens = elements.iter().step_by(width).map(|e| (toks[e.start].at..toks[e.start].at, format!("{}(", ty.text)));
    let closes = elements.chunks(width).map(|c| c[width - 1].end - 1).map(|n| (toks[n].end()..toks[n].end(), ")".to_string()));
    opens.chain(closes).collect()
}
