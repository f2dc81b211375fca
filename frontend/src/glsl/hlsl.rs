//! What is done to HLSL and Cg around the preprocessor, and the mistakes on which glslang's parser of HLSL ends the whole process instead of
//! refusing the text: they are found before it is called.

use super::lex::{Kind, Token, close, tokens};
use super::meaning;
use super::places::{Files, trace};
use super::upgrade::directive;
use retroshade_ir::{Diagnostic, Span, Stage};

/// The text under a word that HLSL reserves: the parser takes that for the end, while the preprocessor goes on.
pub(super) fn unparsed(text: &str) -> String {
    format!("goto\n{text}")
}

/// What the preprocessor made of [`unparsed`] text, without that word.
pub(super) fn read(preprocessed: &str) -> String {
    preprocessed.replacen("goto", "", 1)
}

/// A text whose directives the preprocessor takes as other compilers do. Pragmas are for these; what else stands behind `#ifdef X` is passed over.
pub(super) fn directives(text: &str, toks: &[Token<'_>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for t in toks {
        let Some((name, rest)) = directive(t) else { continue };
        let words = tokens(rest);
        let kept = match name {
            "pragma" if words.first().is_none_or(|w| !w.is("pack_matrix")) => 0,
            "ifdef" | "ifndef" if words.len() > 1 => t.text.len() - rest.len() + words[0].end(),
            "else" | "endif" if !words.is_empty() => t.text.len() - rest.len(),
            // glslang leaves out the whole of `#define NAME;`.
            "define" if matches!(&words[..], [name, value, ..] if name.end() == value.at && !value.is("(")) => {
                let behind = t.text.len() - rest.len() + words[0].end();
                out.push_str(&text[from..t.at + behind]);
                out.push(' ');
                from = t.at + behind;
                continue;
            }
            _ => continue,
        };
        out.push_str(&text[from..t.at + kept]);
        out.extend(t.text[kept..].chars().filter(|c| *c == '\n'));
        from = t.end();
    }
    out + &text[from..]
}

/// The first mistake of a preprocessed text; `start` is where the user's text begins.
pub(super) fn fatal(text: &str, entry: (&str, Stage), files: &Files, start: Span) -> Option<Diagnostic> {
    let (toks, _) = trace(text, files);
    let found = mistake(&toks).or_else(|| meaning::mistake(&toks, entry))?;
    refused(text, found, files, start)
}

/// The message about the token of a preprocessed text that has this place without its directives.
pub(super) fn refused(text: &str, (n, message): (usize, String), files: &Files, start: Span) -> Option<Diagnostic> {
    let (toks, places) = trace(text, files);
    let place = places.get(n).copied().flatten();
    Some(Diagnostic::error("F0011", place.map_or(start, |p| files.token(p, toks[n].text)), message))
}

/// What a brace opened.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Function,
    Switch,
    Other,
}

fn mistake(toks: &[Token<'_>]) -> Option<(usize, String)> {
    let mut scopes: Vec<Scope> = Vec::new();
    // What the next brace opens, if it is this one.
    let mut next = (0, Scope::Other);
    for (n, t) in toks.iter().enumerate() {
        let word_before = n > 0 && toks[n - 1].is_word();
        let within = |scope| scopes.iter().rev().take_while(|s| **s != Scope::Function).any(|s| *s == scope);
        let next_is = |what: &str| toks.get(n + 1).is_some_and(|t| t.is(what));
        match t.text {
            text if is_matrix(text)
                && text.starts_with("bool")
                && (next_is("(") || toks.get(n + 2).is_some_and(|t| t.is("=")) && toks.get(n + 3).is_some_and(|t| t.is("{"))) =>
            {
                return Some((n, format!("`{text}`: {}", meaning::TRUTHS)));
            }
            text if is_number(text) && next_is("{") => {
                return Some((n, format!("`{text}` is made of what stands in parentheses, not in braces")));
            }
            "msad4" => return Some((n, "`msad4`: glslang does not translate this function".to_string())),
            // Only what sets them is right.
            _ if n > 0 && toks[n - 1].is(".") && !next_is("=") && names_elements(t.text) => {
                return Some((n, format!("`{}`: glslang does not translate parts of several elements of a matrix: name one", t.text)));
            }
            // Behind a name stands an array's length or an index, elsewhere or in two brackets an attribute.
            "[" if (word_before || n > 0 && toks[n - 1].is("]")) && !toks.get(n + 1).is_some_and(|t| t.is("[")) => {
                if let Some(k) = no_expression(&toks[n..close(toks, n)]) {
                    return Some((n + k, format!("`[` wants an expression and `]`, not `{}`", toks[n + k].text)));
                }
            }
            "case" | "default" if !within(Scope::Switch) => return Some((n, format!("`{}` stands in no `switch`", t.text))),
            "{" => scopes.push(if next.0 == n { next.1 } else { Scope::Other }),
            "}" => drop(scopes.pop()),
            "(" if word_before && toks[n - 1].is("switch") => next = (close(toks, n), Scope::Switch),
            "(" if n > 1 && names_function(&toks[n - 2], &toks[n - 1]) => {
                let end = close(toks, n);
                let Some(body) = body(&toks[end..]) else { continue };
                if scopes.contains(&Scope::Function) {
                    return Some((n - 1, format!("the function `{}` stands in another one", toks[n - 1].text)));
                }
                let parameters = n + 1..end.saturating_sub(1).max(n + 1);
                if let Some(k) = unnamed(&toks[parameters]) {
                    return Some((n + 1 + k, format!("the parameter of type `{}` has no name", toks[n + 1 + k].text)));
                }
                next = (end + body, Scope::Function);
            }
            _ => {}
        }
    }
    None
}

/// Whether a word names several elements of a matrix, as `_m00_m11` and `_11_22` do.
pub(super) fn names_elements(word: &str) -> bool {
    let digits = |s: &str| s.len() == 2 && s.bytes().all(|b| b.is_ascii_digit());
    let mut elements = word.split('_').skip(1);
    word.starts_with('_') && elements.clone().count() > 1 && elements.all(|e| digits(e.strip_prefix('m').unwrap_or(e)))
}

/// Whether a word may be the name of a function that is declared: a type ends before it.
pub(super) fn names_function(before: &Token<'_>, word: &Token<'_>) -> bool {
    let ends_type = before.is(">") || before.is("]") || before.is_word() && !matches!(before.text, "else" | "do" | "return" | "case");
    ends_type && word.is_word() && !matches!(word.text, "if" | "for" | "while" | "switch")
}

/// The token at which a text in brackets stops being an expression: operands and operators take turns.
fn no_expression(toks: &[Token<'_>]) -> Option<usize> {
    // Of each bracket: itself, and whether a list may stand in it.
    let mut open = vec![("[", false)];
    // Whether an operand has been read, and whether another one may follow: it may have been the type of a cast.
    let (mut operand, mut cast) = (false, false);
    let mut n = 1;
    while n < toks.len() {
        let t = &toks[n];
        let before = &toks[n - 1];
        let good = match t.text {
            "(" => {
                open.push(("(", operand));
                (operand, cast) = (false, false);
                true
            }
            "[" => {
                open.push(("[", false));
                std::mem::take(&mut operand)
            }
            ")" => {
                let (bracket, list) = open.pop()?;
                let from = toks[..n].iter().rposition(|t| t.is("("));
                let good = bracket == "(" && (operand || list && before.is("("));
                (operand, cast) = (true, !list && from.is_some_and(|k| is_type(&toks[k + 1..n])));
                good
            }
            "]" => {
                let (bracket, _) = open.pop()?;
                let good = bracket == "[" && (operand || n == 1);
                if good && open.is_empty() {
                    return None;
                }
                (operand, cast) = (true, false);
                good
            }
            "," => open.last().is_some_and(|(_, list)| *list) && std::mem::take(&mut operand),
            "++" | "--" => true,
            "+" | "-" => {
                operand = false;
                true
            }
            "!" | "~" => !operand,
            "{" | "}" | ";" => false,
            // Of a choice, or the first or second half of `::`.
            ":" => std::mem::take(&mut operand) || before.is(":"),
            text if matches!(t.kind, Kind::Word | Kind::Number) => {
                let free = !operand || cast || t.is_word() && is_sign(before.text);
                (operand, cast) = (true, false);
                let next = toks.get(n + 1).map_or("", |t| t.text);
                if matches!(text, "vector" | "matrix") && next == "<" {
                    n += toks[n..].iter().position(|t| t.is(">")).unwrap_or(0);
                }
                // A type is called, or in parentheses; it is no operand.
                free && !is_statement(text) && (!is_number(text) || matches!(next, "(" | ")"))
            }
            _ => std::mem::take(&mut operand),
        };
        if !good {
            return Some(n);
        }
        n += 1;
    }
    Some(toks.len().saturating_sub(1))
}

/// Whether this is the type of a number or of several.
fn is_type(toks: &[Token<'_>]) -> bool {
    match toks {
        [word, angle, ..] => is_sign(word.text) || angle.is("<"),
        [word] => is_number(word.text) || word.text.starts_with("min1") || word.is("dword"),
        [] => false,
    }
}

/// Words that begin the name of a type of two words.
fn is_sign(t: &str) -> bool {
    matches!(t, "unsigned" | "const" | "snorm" | "unorm" | "row_major" | "column_major")
}

/// Keywords that no expression has.
pub(super) fn is_statement(t: &str) -> bool {
    is_modifier(t)
        || matches!(
            t,
            "if" | "else"
                | "for"
                | "while"
                | "do"
                | "switch"
                | "case"
                | "default"
                | "break"
                | "continue"
                | "discard"
                | "return"
                | "goto"
                | "struct"
                | "cbuffer"
                | "tbuffer"
                | "static"
                | "extern"
                | "shared"
                | "groupshared"
                | "volatile"
                | "register"
                | "packoffset"
                | "void"
        )
}

/// Where the brace of a function's body stands, if it comes next, its semantic aside.
pub(super) fn body(behind: &[Token<'_>]) -> Option<usize> {
    match behind {
        [colon, word, brace, ..] if colon.is(":") && word.is_word() => brace.is("{").then_some(2),
        [brace, ..] => brace.is("{").then_some(0),
        [] => None,
    }
}

/// The place of the type of the first parameter that has no name.
fn unnamed(parameters: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0usize;
    let each = parameters.split(|t| {
        match t.text {
            "(" | "[" | "<" => depth += 1,
            ")" | "]" | ">" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && t.is(",")
    });
    let mut first = 0;
    for p in each {
        let end = p.iter().position(|t| t.is(":") || t.is("=")).unwrap_or(p.len());
        let mut words = (0..end).filter(|k| !is_modifier(p[*k].text));
        let ty = words.next();
        // `Texture2D<float4>` is a type still.
        let more = match ty {
            Some(k) if p.get(k + 1).is_some_and(|t| t.is("<")) => {
                p[k..end].iter().position(|t| t.is(">")).and_then(|close| p[k + close + 1..end].first())
            }
            _ => words.next().map(|k| &p[k]),
        };
        match (ty, more.filter(|t| !t.is("["))) {
            (Some(k), None) if p[k].is_word() && !p[k].is("void") => return Some(first + k),
            _ => first += p.len() + 1,
        }
    }
    None
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
pub(super) fn is_number(t: &str) -> bool {
    let scalar = t.trim_end_matches(|c: char| matches!(c, '1'..='4' | 'x'));
    matches!(scalar, "float" | "half" | "int" | "uint" | "bool" | "double")
}

/// Whether this is the type of a matrix.
pub(super) fn is_matrix(ty: &str) -> bool {
    let size = ty.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    is_number(ty) && matches!(size.as_bytes(), [b'1'..=b'4', b'x', b'1'..=b'4'])
}
