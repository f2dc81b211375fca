//! Constants that naga does not compute: they are left to run time, where the passes compute them.

use super::edits::{Edited, Edits};
use crate::guard::{Token, tokens};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Built-in functions that naga does not compute of constants, whose numbers are floats in all arguments or in so many.
const NOT_FOLDED: [(&str, usize); 39] = [
    ("mix", 3),
    ("smoothstep", 3),
    ("reflect", 2),
    ("refract", 3),
    ("faceForward", 3),
    ("transpose", 1),
    ("determinant", 1),
    ("modf", 1),
    ("frexp", 1),
    ("ldexp", 1),
    ("quantizeToF16", 1),
    ("pack4x8snorm", 1),
    ("pack4x8unorm", 1),
    ("pack2x16snorm", 1),
    ("pack2x16unorm", 1),
    ("pack2x16float", 1),
    ("dpdx", 1),
    ("dpdy", 1),
    ("fwidth", 1),
    ("dpdxFine", 1),
    ("dpdyFine", 1),
    ("fwidthFine", 1),
    ("dpdxCoarse", 1),
    ("dpdyCoarse", 1),
    ("fwidthCoarse", 1),
    ("bitcast", 0),
    ("extractBits", 0),
    ("insertBits", 0),
    ("pack4xI8", 0),
    ("pack4xU8", 0),
    ("pack4xI8Clamp", 0),
    ("pack4xU8Clamp", 0),
    ("unpack4xI8", 0),
    ("unpack4xU8", 0),
    ("unpack4x8snorm", 0),
    ("unpack4x8unorm", 0),
    ("unpack2x16snorm", 0),
    ("unpack2x16unorm", 0),
    ("unpack2x16float", 0),
];

/// Functions of floats whose arguments are looked at, too, besides constructors.
const OF_FLOATS: [&str; 18] = [
    "abs",
    "sqrt",
    "pow",
    "exp",
    "exp2",
    "log",
    "log2",
    "sin",
    "cos",
    "tan",
    "floor",
    "ceil",
    "fract",
    "normalize",
    "length",
    "dot",
    "cross",
    "distance",
];

/// The row of a function that naga does not compute, whose call the tokens begin with.
fn not_folded(tokens: &[Token<'_>]) -> Option<&'static (&'static str, usize)> {
    let row = NOT_FOLDED.iter().find(|f| f.0 == tokens[0].text)?;
    let called = tokens.get(1).is_some_and(|t| t.text == "(" || t.text == "<" && row.0 == "bitcast");
    called.then_some(row)
}

/// A constant of the module: the tokens of its declaration with the `;`, of its type, if it names one, and of its value.
#[derive(Debug)]
struct Constant {
    declared: Range<usize>,
    ty: Range<usize>,
    value: Range<usize>,
}

/// The text with the value of such constants of the module in the place of their names. What was the declaration becomes a function that nobody calls, so
/// that naga still looks at it.
pub(super) fn in_place(text: &str) -> Option<Edited> {
    let tokens = tokens(text).0;
    let mut constants = constants(&tokens);
    let calls = |c: &Constant| c.value.clone().any(|n| not_folded(&tokens[n..]).is_some());
    let mut known: Vec<&str> = constants.iter().filter(|(_, c)| calls(c)).map(|(name, _)| *name).collect();
    if known.is_empty() {
        return None;
    }
    // What is computed of such a constant is one, too.
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, c) in &constants {
        c.value.clone().filter(|n| is_use(&tokens, *n)).for_each(|n| {
            users.entry(tokens[n].text).or_default().insert(name);
        });
    }
    let mut seen: BTreeSet<&str> = known.iter().copied().collect();
    while let Some(name) = known.pop() {
        known.extend(users.get(name).into_iter().flatten().filter(|user| seen.insert(user)));
    }
    // Where a function has something else of such a name it is not known what the name means; what is no constant makes none.
    let others = others(&tokens);
    let bound = bound(&tokens, &constants);
    let usable = |c: &Constant| {
        let simple = c.ty.is_empty() || is_constructor(&tokens[c.ty.clone()]);
        simple && tokens[c.value.clone()].iter().all(|t| !others.contains(t.text))
    };
    constants.retain(|name, c| seen.contains(name) && !others.contains(name) && !bound.contains(name) && usable(c));
    let mut edits = Edits::default();
    let mut left = ADDED;
    for c in constants.values() {
        let (first, last) = (tokens[c.declared.start], tokens[c.declared.end - 1]);
        edits.over.push((first.at..first.at + first.text.len(), ""));
        edits.add.push((first.at, format!("fn constant_at_{}() {{ let", first.at)));
        edits.add.push((last.at + 1, " }".to_string()));
    }
    for (n, t) in tokens.iter().enumerate() {
        if is_use(&tokens, n) && constants.get(t.text).is_some_and(|c| n != c.declared.start + 1) {
            let value = value(text, &tokens, &constants, t.text, &mut left)?;
            edits.over.push((t.at..t.at + t.text.len(), ""));
            edits.add.push((t.at, value));
        }
    }
    edits.apply(text)
}

/// So many bytes are put into the places of names.
const ADDED: usize = 64 << 10;

/// A constant's value in brackets, as what its type says, with the values of others within it.
fn value(text: &str, tokens: &[Token<'_>], constants: &BTreeMap<&str, Constant>, name: &str, left: &mut usize) -> Option<String> {
    let constant = constants.get(name)?;
    let written = |range: &Range<usize>| match range.is_empty() {
        true => "",
        false => &text[tokens[range.start].at..tokens[range.end - 1].at + tokens[range.end - 1].text.len()],
    };
    *left = left.checked_sub(written(&constant.value).len() + 2)?;
    let mut out = format!("{}(", written(&constant.ty));
    let mut at = tokens[constant.value.start].at;
    for n in constant.value.clone() {
        let t = tokens[n];
        if is_use(tokens, n) && constants.contains_key(t.text) {
            out.push_str(&text[at..t.at]);
            out.push_str(&value(text, tokens, constants, t.text, left)?);
            at = t.at + t.text.len();
        }
    }
    let last = tokens[constant.value.end - 1];
    out.push_str(&text[at..last.at + last.text.len()]);
    out.push(')');
    Some(out)
}

/// Whether a token is no member, neither of something nor where it is declared, and no attribute.
fn is_use(tokens: &[Token<'_>], n: usize) -> bool {
    (n == 0 || !matches!(tokens[n - 1].text, "." | "@")) && tokens.get(n + 1).is_none_or(|t| t.text != ":")
}

/// Whether a type is one that converts what stands in brackets behind it.
fn is_constructor(ty: &[Token<'_>]) -> bool {
    ty.first()
        .is_some_and(|t| matches!(t.text, "bool" | "i32" | "u32" | "f32" | "f16") || t.text.starts_with("vec") || t.text.starts_with("mat"))
}

/// The names of functions, of variables, and of constants and parameters of functions.
fn others<'t>(tokens: &[Token<'t>]) -> BTreeSet<&'t str> {
    let (mut brackets, mut braces) = (0usize, 0usize);
    let mut out = BTreeSet::new();
    for (n, t) in tokens.iter().enumerate() {
        match t.text {
            "(" => brackets += 1,
            ")" => brackets = brackets.saturating_sub(1),
            "{" => braces += 1,
            "}" => braces = braces.saturating_sub(1),
            _ => {}
        }
        let (before, behind) = (tokens[..n].last().map_or("", |t| t.text), tokens.get(n + 1).map_or("", |t| t.text));
        let variable = match before {
            "fn" | "override" | "alias" | "struct" | "let" | "var" => true,
            ">" => matches!(behind, "=" | ":" | ";"),
            "const" => braces > 0,
            _ => brackets > 0 && behind == ":",
        };
        if variable && is_name(t.text) {
            out.insert(t.text);
        }
    }
    out
}

/// The names that are used where naga wants a constant: labels of a `switch`, attributes, and whatever stands outside functions and such constants.
fn bound<'t>(tokens: &[Token<'t>], constants: &BTreeMap<&str, Constant>) -> BTreeSet<&'t str> {
    let values: BTreeSet<usize> = constants.values().flat_map(|c| c.declared.clone()).collect();
    let (mut braces, mut attribute, mut label) = (0usize, None, false);
    let mut brackets = 0usize;
    let mut out = BTreeSet::new();
    for (n, t) in tokens.iter().enumerate() {
        match t.text {
            "{" => (braces, label) = (braces + 1, false),
            "}" => braces = braces.saturating_sub(1),
            "(" => brackets += 1,
            ")" => {
                brackets = brackets.saturating_sub(1);
                attribute = attribute.filter(|depth| brackets > *depth);
            }
            "@" => attribute = tokens.get(n + 2).filter(|t| t.text == "(").map(|_| brackets).or(attribute),
            "case" => label = true,
            ":" => label = false,
            _ if n > 0 && tokens[n - 1].text == "@" => {}
            _ if (label || attribute.is_some() || braces == 0 && !values.contains(&n)) && is_name(t.text) => {
                out.insert(t.text);
            }
            _ => {}
        }
        if label && tokens.get(n + 1).is_some_and(|t| t.text == ":") {
            out.insert(t.text);
        }
    }
    out
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The constants of the module.
fn constants<'t>(tokens: &[Token<'t>]) -> BTreeMap<&'t str, Constant> {
    let (mut out, mut braces) = (BTreeMap::new(), 0usize);
    for (n, t) in tokens.iter().enumerate() {
        match t.text {
            "{" => braces += 1,
            "}" => braces = braces.saturating_sub(1),
            "const" if braces == 0 => {
                let end = tokens[n..].iter().position(|t| t.text == ";").map(|k| n + k);
                let equals = tokens[n..].iter().position(|t| t.text == "=").map(|k| n + k);
                if let (Some(end), Some(equals), Some(name)) = (end, equals, tokens.get(n + 1))
                    && equals + 1 < end
                {
                    let ty = (n + 3).min(equals)..equals;
                    out.insert(name.text, Constant { declared: n..end + 1, ty, value: equals + 1..end });
                }
            }
            _ => {}
        }
    }
    out
}

/// The text with what naga would have to compute of constants, and cannot, left to run time: numbers without a type become `f32`, and a `const` within a
/// function that is set from them a `let`. A `let` that is set to a number, which naga takes for a constant (so that it refuses a division by it if it is
/// 0), becomes a variable. None where there is nothing of these.
pub(super) fn at_run_time(text: &str) -> Option<Edited> {
    let tokens = tokens(text).0;
    let mut suffixes = Vec::new();
    let (mut edits, mut declared) = (Edits::default(), None);
    let mut braces = 0usize;
    for (n, t) in tokens.iter().enumerate() {
        match t.text {
            "{" => braces += 1,
            "}" => braces = braces.saturating_sub(1),
            ";" => declared = None,
            "const" if braces > 0 => declared = Some(t.at..t.at + t.text.len()),
            "let" if braces > 0 && is_set_to_a_number(&tokens[n..]) && !is_written(&tokens, tokens[n + 1].text) => {
                edits.over.push((t.at..t.at + t.text.len(), "var"))
            }
            _ => {
                let Some((_, floats)) = not_folded(&tokens[n..]) else { continue };
                if braces > 0 {
                    if *floats > 0 {
                        floats_in(&tokens, n + 1, *floats, &mut suffixes);
                    }
                    edits.over.extend(declared.take().map(|range| (range, "let")));
                }
            }
        }
    }
    suffixes.sort_unstable();
    suffixes.dedup();
    edits.add.extend(suffixes.into_iter().map(|at| (at, "f".to_string())));
    edits.apply(text)
}

/// The ends of numbers without a type among the arguments that begin at `open`, as far as they are surely floats.
fn floats_in(tokens: &[Token<'_>], open: usize, arguments: usize, out: &mut Vec<usize>) {
    // Of each bracket whether what stands right in it are floats.
    let mut inside = vec![true];
    let mut argument = 0;
    for n in open + 1..tokens.len() {
        let (word, before) = (tokens[n].text, tokens[n - 1].text);
        match word {
            "(" => {
                let named = before.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || before == ">";
                let floats = match before {
                    ">" => tokens.get(n.wrapping_sub(2)).is_some_and(|t| t.text == "f32"),
                    "f32" => true,
                    name if name.starts_with("vec") || name.starts_with("mat") => !name.ends_with(['i', 'u', 'h']),
                    name => !named || OF_FLOATS.contains(&name) || NOT_FOLDED.iter().any(|f| f.0 == name && f.0 != "ldexp"),
                };
                inside.push(floats && inside.last() == Some(&true));
            }
            "[" => inside.push(false),
            ")" | "]" => {
                inside.pop();
                if inside.is_empty() {
                    return;
                }
            }
            "," if inside.len() == 1 => {
                argument += 1;
                if argument == arguments {
                    return;
                }
            }
            number if inside.last() == Some(&true) && is_number_without_type(number) => out.push(tokens[n].at + number.len()),
            _ => {}
        }
    }
}

/// Whether tokens are `let NAME = NUMBER;`, also with a type or a sign.
fn is_set_to_a_number(tokens: &[Token<'_>]) -> bool {
    let end = tokens.iter().position(|t| t.text == ";").unwrap_or(0);
    let value = tokens[..end].iter().position(|t| t.text == "=").map(|n| &tokens[n + 1..end]);
    let is_number = |t: &Token<'_>| t.text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    matches!(value, Some([number] ) if is_number(number)) || matches!(value, Some([sign, number]) if sign.text == "-" && is_number(number))
}

/// Whether something of this name is written or pointed to, which is a mistake if it is no variable.
fn is_written(tokens: &[Token<'_>], name: &str) -> bool {
    let text = |n: Option<usize>| n.and_then(|n| tokens.get(n)).map_or("", |t| t.text);
    (0..tokens.len()).filter(|n| tokens[*n].text == name).any(|n| {
        let before = [1, 2].map(|k| text(n.checked_sub(k)));
        let behind = [1, 2, 3].map(|k| text(Some(n + k)));
        let assigned = match behind {
            ["=", second, _] => second != "=" && !matches!(before[0], "let" | "var" | "const" | ">"),
            ["+", "+", _] | ["-", "-", _] => matches!(text(Some(n + 3)), ";" | ")"),
            ["+" | "-" | "*" | "/" | "%" | "&" | "|" | "^", "=", third] => third != "=",
            ["<", "<", "="] | [">", ">", "="] => true,
            _ => false,
        };
        assigned || before[0] == "&" && matches!(before[1], "(" | "," | "=")
    })
}

fn is_number_without_type(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(|c| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
mod tests {
    use super::{at_run_time, in_place};

    #[test]
    fn constants_that_naga_does_not_compute_are_left_to_run_time() {
        let of = |t: &str| at_run_time(&format!("{{ {t} }}")).map(|e| e.text[2..e.text.len() - 2].to_string());
        for (from, to) in [
            ("let x = mix(1.0, 2, .5);", Some("let x = mix(1.0f, 2f, .5f);")),
            (
                "const a = 3; const x = mix(vec2(1, 0.5), vec2f(), a[2] * 3.0);",
                Some("const a = 3; let   x = mix(vec2(1f, 0.5f), vec2f(), a[2] * 3.0f);"),
            ),
            ("let x = ldexp(1.5, 3) + f32(vec2i(1, 2).x);", Some("let x = ldexp(1.5f, 3) + f32(vec2i(1, 2).x);")),
            ("let x = transpose(mat2x2<f32>(1, 2, 3, 4));", Some("let x = transpose(mat2x2<f32>(1f, 2f, 3f, 4f));")),
            ("let x = mix(1.0f, f(2), select(1h, 2h, true)) + 2.0;", None),
            ("let x = max(1.0, 2.0);", None),
            (
                "let x = 0; let y: u32 = 33u; let z = -1.5; let w = x; let v = 2 + x;",
                Some("var x = 0; var y: u32 = 33u; var z = -1.5; let w = x; let v = 2 + x;"),
            ),
            // Those that are written to are no variables.
            ("let x = 0; x = 1;", None),
            ("for (let x = 0; x < 3; x++) {}", None),
            ("let x = 0; let p = &x;", None),
            (
                "let x = 0; x += 1; let y = 0; if (y == 1) { z(a & y, y - 1); }",
                Some("let x = 0; x += 1; var y = 0; if (y == 1) { z(a & y, y - 1); }"),
            ),
        ] {
            assert_eq!(of(from).as_deref(), to);
        }
    }

    #[test]
    fn constants_of_the_module_stand_where_they_are_used() {
        let of = |t: &str| in_place(t).map(|e| e.text);
        for (from, to) in [
            (
                "const M: f32 = mix(1.0, 2.0, K); const K = 0.5; fn f() -> f32 { return M * a.M; }",
                Some(
                    "fn constant_at_0() { let      M: f32 = mix(1.0, 2.0, K); } const K = 0.5; fn f() -> f32 { return f32(mix(1.0, 2.0, K))  * a.M; }",
                ),
            ),
            (
                "const A = bitcast<u32>(1f);\nconst B = A + 1; fn f() { x = B; }",
                Some(
                    "fn constant_at_0() { let      A = bitcast<u32>(1f); }\nfn constant_at_28() { let      B = (bitcast<u32>(1f))  + 1; } fn f() { x = ((bitcast<u32>(1f)) + 1) ; }",
                ),
            ),
            ("const A = bitcast<u32>(1f); fn f(A: u32) { x = A; }", None),
            ("const A = max(1, 2); fn f() { x = A; }", None),
            ("const A: array<u32, 2> = array(1u, bitcast<u32>(1f)); fn f() { x = A[1]; }", None),
            ("const A = bitcast<u32>(v); var<private> v = 1f; fn f() { x = A; }", None),
            ("const A = bitcast<u32>(1f); @workgroup_size(A) fn f() {}", None),
            ("const A = bitcast<u32>(1f); fn f() { switch x { case 1, A: {} default: {} } }", None),
            ("const A = bitcast<u32>(1f); const_assert A > 1;", None),
            (
                "const size = bitcast<u32>(1f); struct S { @size(16) size: f32 }",
                Some("fn constant_at_0() { let      size = bitcast<u32>(1f); } struct S { @size(16) size: f32 }"),
            ),
            ("const A = unpack4xU8(A).x; fn f() { x = A; }", None),
        ] {
            assert_eq!(of(from).as_deref(), to);
        }
    }
}
