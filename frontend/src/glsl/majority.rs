//! How HLSL's matrices lie in memory: a `#pragma pack_matrix` holds from its place on, and a type's name says what was said where the name was
//! given. glslang takes the pragma for the whole text and forgets what a `typedef` says, so both are written out at each matrix.

use super::edit::{Edit, blank};
use super::hlsl::is_matrix;
use super::lex::{Kind, Token, tokens};
use super::names::Names as Variables;
use super::outside::{Declaration, declarations, declarators, is_qualifier, members};
use super::upgrade::directive;
use std::collections::BTreeMap;
use std::ops::Range;

/// What a pragma asks for.
fn packing(t: &Token<'_>) -> Option<&'static str> {
    let (_, rest) = directive(t).filter(|(name, _)| *name == "pragma")?;
    match *tokens(rest).iter().map(|t| t.text).collect::<Vec<_>>() {
        ["pack_matrix", "(", "row_major", ")"] => Some("row_major"),
        ["pack_matrix", "(", "column_major", ")"] => Some("column_major"),
        _ => None,
    }
}

fn is_packing(word: &str) -> bool {
    matches!(word, "row_major" | "column_major")
}

struct Text<'a, 't> {
    toks: &'a [Token<'t>],
    pragmas: Vec<(usize, &'static str)>,
}

impl<'t> Text<'_, 't> {
    /// What the pragmas in front of a token say.
    fn said(&self, n: usize) -> Option<&'static str> {
        self.pragmas.iter().rev().find(|p| p.0 < n).map(|p| p.1)
    }

    /// What a declaration of matrices says itself, or the pragmas for it; and where its type stands.
    fn of(&self, range: Range<usize>) -> Option<(usize, Option<&'t str>)> {
        let (ty, _) = declarators(self.toks, range.clone())?;
        let own = self.toks[range.start..ty].iter().map(|t| t.text).find(|w| is_packing(w));
        Some((ty, own.or(self.said(range.start))))
    }

    /// `typedef row_major float2x2 rows;` as the name, what it says, and the type. The type may have such a name itself.
    fn named(&self, d: &Declaration, names: &Names<'t>) -> Option<(&'t str, Named<'t>)> {
        let inner = d.tokens.start + 1..d.tokens.end;
        let (ty, said) = self.of(inner.clone())?;
        let of = self.toks[ty].text;
        let (known, of) = names.get(of).copied().unwrap_or((None, of));
        match &*declarators(self.toks, inner)?.1 {
            [one] if one.lengths.is_empty() && is_matrix(of) => Some((self.toks[one.name].text, (known.or(said), of))),
            _ => None,
        }
    }
}

/// What a name for a matrix says of its order, and its type.
type Named<'t> = (Option<&'t str>, &'t str);
type Names<'t> = BTreeMap<&'t str, Named<'t>>;

/// What writes the order of every matrix out, if a text says it in one of the ways that glslang does not follow.
pub(super) fn edits(text: &str, toks: &[Token<'_>]) -> Vec<Edit> {
    let pragmas: Vec<(usize, &str)> = toks.iter().enumerate().filter_map(|(n, t)| Some((n, packing(t)?))).collect();
    let begins = toks.iter().position(|t| t.kind != Kind::Directive).unwrap_or(0);
    let late = pragmas.last().is_some_and(|p| p.0 > begins) || pragmas.windows(2).any(|p| p[0].1 != p[1].1);
    let all = declarations(toks);
    let named = toks.windows(2).any(|w| w[0].is("typedef") && is_packing(w[1].text) || w[1].is("typedef") && is_packing(w[0].text));
    if !late && !named {
        return Vec::new();
    }
    let t = Text { toks, pragmas };
    let mut names = Names::new();
    for d in all.iter().filter(|d| d.begins_with(toks, "typedef")) {
        let named = t.named(d, &names);
        names.extend(named);
    }
    // What elements of buffers are cannot be said but by a pragma: the one for these stays, and everything else says it itself.
    let element = |n: &usize| *n > 0 && toks[n - 1].is("<") && is_matrix(toks[*n].text);
    let kept = (0..toks.len()).filter(element).find_map(|n| t.said(n));
    let mut out: Vec<Edit> = t.pragmas.iter().filter(|p| Some(p.1) != kept).map(|p| blank(text, toks, p.0..p.0 + 1)).collect();
    let mut lies = |range: Range<usize>| {
        let Some((ty, said)) = t.of(range.clone()) else { return };
        let word = &toks[ty];
        let own = toks[range.start..ty].iter().any(|t| is_packing(t.text));
        let (said, spelt) = match names.get(word.text) {
            Some((packing, of)) if !own => (packing.or(said), *of),
            Some((_, of)) => (None, *of),
            None if is_matrix(word.text) || word.is("matrix") => (said.filter(|_| !own), word.text),
            None => return,
        };
        let said = said.or(kept.filter(|_| !own).map(|_| "column_major")).map_or(String::new(), |s| format!("{s} "));
        out.push((word.at..word.end(), said + spelt));
    };
    for d in &all {
        let keyword = |w: &str| d.begins_with(toks, w);
        match &d.body {
            Some(body) if d.parameters.is_none() => members(toks, body.clone()).into_iter().for_each(&mut lies),
            None if d.parameters.is_none() && !["typedef", "static", "groupshared", "const"].iter().any(|w| keyword(w)) => {
                lies(d.tokens.clone())
            }
            _ => {}
        }
    }
    if names.is_empty() {
        return out;
    }
    // Elsewhere the order says nothing, and a variable may have such a name.
    let variables = Variables::new(toks);
    let places: Vec<usize> = out.iter().map(|e| e.0.start).collect();
    for (n, word) in toks.iter().enumerate().filter(|(n, w)| names.contains_key(w.text) && !(*n > 0 && toks[n - 1].is("."))) {
        let typedef = all.iter().any(|d| d.tokens.contains(&n) && d.begins_with(toks, "typedef"));
        let behind = |what: &str| toks.get(n + 1).is_some_and(|t| t.is(what));
        let begins = n == 0 || !toks[n - 1].is_word() || is_qualifier(toks[n - 1].text) || toks[n - 1].is("return");
        let is_type = begins && (toks.get(n + 1).is_some_and(Token::is_word) || behind("(") || behind(")") && n > 0 && toks[n - 1].is("("));
        let variable =
            || variables.all(word.text).iter().any(|v| !toks[..v.at].iter().rev().take_while(|t| !t.is(";")).any(|t| t.is("typedef")));
        let is_type = is_type && (toks.get(n + 1).is_some_and(Token::is_word) || !variable());
        if is_type && !typedef && !places.contains(&word.at) {
            out.push((word.at..word.end(), names[word.text].1.to_string()));
        }
    }
    out
}
