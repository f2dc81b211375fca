//! The declarations outside functions of a text in HLSL, one after the other.

use super::declared;
use super::lex::{Kind, Token, close};
use std::ops::Range;

/// What stands outside functions.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    /// From its first word, attributes aside, to its semicolon, or to the brace of its body.
    pub(super) tokens: Range<usize>,
    /// Where its attributes begin, or it does.
    pub(super) attributes: usize,
    /// What stands between its braces: members of a structure or buffer, statements of a function.
    pub(super) body: Option<Range<usize>>,
    /// The parenthesis of a function's parameters.
    pub(super) parameters: Option<usize>,
    /// Whether it gives a value.
    pub(super) set: bool,
}

impl Declaration {
    /// Whether a word stands among its qualifiers or as its type.
    pub(super) fn begins_with(&self, toks: &[Token<'_>], word: &str) -> bool {
        toks[self.tokens.clone()].iter().take_while(|t| t.is_word()).any(|t| t.is(word))
    }
}

/// The declarations of a text.
pub(super) fn declarations(toks: &[Token<'_>]) -> Vec<Declaration> {
    let mut out = Vec::new();
    let mut n = 0;
    while n < toks.len() {
        while toks.get(n).is_some_and(|t| t.is(";") || t.is("}") || t.kind == Kind::Directive) {
            n += 1;
        }
        let attributes = n;
        while toks.get(n).is_some_and(|t| t.is("[")) {
            n = close(toks, n);
        }
        let first = n;
        let (mut set, mut parameters, mut body) = (false, None, None);
        while n < toks.len() && !toks[n].is(";") {
            match toks[n].text {
                // A list in braces is a value.
                "{" if set => n = close(toks, n),
                "{" => {
                    let behind = close(toks, n);
                    body = Some(n + 1..behind.saturating_sub(1).max(n + 1));
                    break;
                }
                "(" => {
                    let named = n > first + 1 && toks[n - 1].is_word() && !toks[first..n].iter().any(|t| t.is(":"));
                    parameters = parameters.or((named && !set).then_some(n));
                    n = close(toks, n);
                }
                "[" => n = close(toks, n),
                text => {
                    set |= text == "=";
                    n += 1;
                }
            }
        }
        if n > first {
            out.push(Declaration { tokens: first..n, attributes, body: body.clone(), parameters, set });
        }
        n = body.map_or(n, |b| b.end) + 1;
    }
    out
}

/// A name that is declared, its lengths, and what stands behind them.
#[derive(Clone, Debug)]
pub(super) struct Declarator {
    pub(super) name: usize,
    pub(super) lengths: Vec<Range<usize>>,
    /// Semantics, registers and the first value, up to the comma or the end.
    pub(super) rest: Range<usize>,
}

/// The type of a declaration of variables without its semicolon, and their names: qualifiers stand before the type.
pub(super) fn declarators(toks: &[Token<'_>], range: Range<usize>) -> Option<(usize, Vec<Declarator>)> {
    let ty = range.clone().find(|n| !is_qualifier(toks[*n].text)).filter(|n| toks[*n].is_word())?;
    let mut n = ty + 1;
    if toks.get(n).is_some_and(|t| t.is("<")) {
        n += 1 + toks[n..range.end].iter().position(|t| t.is(">"))?;
    }
    let mut out = Vec::new();
    while n < range.end && toks[n].is_word() {
        let name = n;
        n += 1;
        let mut lengths = Vec::new();
        while n < range.end && toks[n].is("[") {
            lengths.push(n..close(toks, n));
            n = close(toks, n);
        }
        let from = n;
        while n < range.end && !toks[n].is(",") {
            n = if matches!(toks[n].text, "(" | "[" | "{") { close(toks, n) } else { n + 1 };
        }
        out.push(Declarator { name, lengths, rest: from..n.min(range.end) });
        n += 1;
    }
    Some((ty, out))
}

/// The members of a structure or buffer, declaration by declaration without their semicolons; functions among them are left out.
pub(super) fn members(toks: &[Token<'_>], body: Range<usize>) -> Vec<Range<usize>> {
    let inner = &toks[..body.end];
    let mut out = Vec::new();
    let (mut n, mut first) = (body.start, body.start);
    while n < body.end {
        match inner[n].text {
            ";" => {
                out.push(first..n);
                first = n + 1;
                n += 1;
            }
            "{" => {
                n = close(inner, n);
                // A function's body ends its declaration.
                first = n;
            }
            "(" | "[" => n = close(inner, n),
            _ => n += 1,
        }
    }
    out.retain(|r| !r.is_empty());
    out
}

/// Words that may stand in front of a variable's type.
pub(super) fn is_qualifier(word: &str) -> bool {
    let todays = ["shared", "groupshared", "volatile", "precise", "globallycoherent", "snorm", "unorm", "linear", "sample"];
    declared::is_qualifier(word) || todays.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::{declarations, declarators, members};
    use crate::glsl::lex::tokens;

    #[test]
    fn declarations_end_at_their_semicolons_and_bodies() {
        let text = "#pragma x\n static const float a[2] = { 1, 2 }, b; [numthreads(1, 1, 1)] void f(int n) { ; } struct S { float m; float g() { return m; } int k[3], l; };
            cbuffer C : register(b1) { float2 p : packoffset(c1); } Texture2D<float4> t, u[2] : register(t1);";
        let toks = tokens(text);
        let all = declarations(&toks);
        let spelt = |r: std::ops::Range<usize>| toks[r].iter().map(|t| t.text).collect::<Vec<_>>().join(" ");
        let heads: Vec<String> = all.iter().map(|d| spelt(d.tokens.clone())).collect();
        assert_eq!(
            heads,
            [
                "static const float a [ 2 ] = { 1 , 2 } , b",
                "void f ( int n )",
                "struct S",
                "cbuffer C : register ( b1 )",
                "Texture2D < float4 > t , u [ 2 ] : register ( t1 )"
            ]
        );
        let functions: Vec<bool> = all.iter().map(|d| d.parameters.is_some()).collect();
        assert_eq!(functions, [false, true, false, false, false]);
        let inner: Vec<Vec<String>> =
            all.iter().map(|d| d.body.clone().map_or(Vec::new(), |b| members(&toks, b).into_iter().map(spelt).collect())).collect();
        assert_eq!(inner[2], ["float m", "int k [ 3 ] , l"]);
        assert_eq!(inner[3], ["float2 p : packoffset ( c1 )"]);
        let (ty, names) = declarators(&toks, all[4].tokens.clone()).expect("variables");
        assert_eq!(toks[ty].text, "Texture2D");
        let names: Vec<_> = names.into_iter().map(|d| (toks[d.name].text, d.lengths.len(), spelt(d.rest))).collect();
        assert_eq!(names, [("t", 0, String::new()), ("u", 1, ": register ( t1 )".to_string())]);
    }
}
