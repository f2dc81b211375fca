//! Mistakes on which glslang's reader of HLSL ends the whole process instead of refusing the text: they are found before it is called.

use super::lex::{Token, close};
use retroshade_ir::{Diagnostic, FileId, Span};

/// The first of them. A macro may stand for anything, so only what no macro hides is refused.
pub(super) fn fatal(toks: &[Token<'_>], file: FileId) -> Option<Diagnostic> {
    let at = |t: &Token<'_>, m: String| Diagnostic::error("F0011", Span::new(file, t.at as u32, t.end() as u32), m);
    let mut depth = 0usize;
    for (n, t) in toks.iter().enumerate() {
        match t.text {
            "msad4" => return Some(at(t, "`msad4`: glslang does not translate this function".to_string())),
            "[" => {
                if let Some(next) = toks.get(n + 1).filter(|t| ends_nothing(t.text)) {
                    return Some(at(next, format!("`[` wants an expression or `]`, not `{}`", next.text)));
                }
            }
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "(" if depth == 0 && n > 0 && toks[n - 1].is_word() => {
                let end = close(toks, n);
                let parameters = &toks[n + 1..end.saturating_sub(1).max(n + 1)];
                if let Some(ty) = has_body(&toks[end..]).then(|| unnamed(parameters)).flatten() {
                    return Some(at(ty, format!("the parameter of type `{}` has no name", ty.text)));
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a token can neither begin an expression nor end a pair of brackets.
fn ends_nothing(t: &str) -> bool {
    matches!(t, ":" | ";" | "," | ")" | "}" | "=" | "?" | "*" | "/" | "%" | "&&" | "||" | "==" | "!=" | "<=" | ">=")
}

/// Whether a function's body comes next, its semantic aside.
fn has_body(behind: &[Token<'_>]) -> bool {
    match behind {
        [colon, word, brace, ..] if colon.is(":") && word.is_word() => brace.is("{"),
        [brace, ..] => brace.is("{"),
        [] => false,
    }
}

/// The type of the first parameter that has no name.
fn unnamed<'t, 'a>(parameters: &'t [Token<'a>]) -> Option<&'t Token<'a>> {
    let mut depth = 0usize;
    let mut each = parameters.split(|t| {
        match t.text {
            "(" | "[" | "<" => depth += 1,
            ")" | "]" | ">" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && t.is(",")
    });
    each.find_map(|p| {
        let end = p.iter().position(|t| t.is(":") || t.is("=")).unwrap_or(p.len());
        let words: Vec<&Token<'a>> = p[..end].iter().filter(|t| !is_modifier(t.text)).collect();
        match words[..] {
            // A name alone may be a macro, unless it is a number's type or has a semantic.
            [ty] if ty.is_word() && !ty.is("void") && (is_number(ty.text) || p.get(end).is_some_and(|t| t.is(":"))) => Some(ty),
            _ => None,
        }
    })
}

fn is_modifier(t: &str) -> bool {
    matches!(
        t,
        "in" | "out"
            | "inout"
            | "const"
            | "uniform"
            | "nointerpolation"
            | "linear"
            | "noperspective"
            | "centroid"
            | "sample"
            | "precise"
            | "point"
            | "line"
            | "triangle"
            | "lineadj"
            | "triangleadj"
    )
}

/// Whether this is `float`, `int4`, `half3x3` or the like.
fn is_number(t: &str) -> bool {
    let scalar = t.trim_end_matches(|c: char| matches!(c, '1'..='4' | 'x'));
    matches!(scalar, "float" | "half" | "int" | "uint" | "bool" | "double")
}
