//! Statics of HLSL whose first value functions of the text compute: they are set where the entry point begins. glslang takes the call for one that a
//! function without a name makes, and refuses it as a call of itself or faults. Declarations of the entry point that have no body are left out.

use super::edit::{Edit, blank, separated};
use super::lex::{Token, close, open};
use super::outside::{Declaration, Declarator, declarations, declarators};
use std::collections::BTreeSet;

/// Functions of the language that are the library's own, and so functions of the text to glslang.
const LIBRARY: &[&str] = &["abs", "all", "any", "asfloat", "asint", "asuint", "dst", "ldexp", "lit", "mul", "sign"];

/// The function that sets them.
const SETS: &str = "shaderc_statics";

struct Text<'a, 't> {
    toks: &'a [Token<'t>],
    all: Vec<Declaration>,
    functions: BTreeSet<&'t str>,
}

impl<'a, 't> Text<'a, 't> {
    fn new(toks: &'a [Token<'t>]) -> Self {
        let all = declarations(toks);
        let functions = all.iter().filter_map(|d| named(toks, d)).chain(LIBRARY.iter().copied()).collect();
        Text { toks, all, functions }
    }

    /// The variables of a declaration outside functions that have values: the type's token, the variable, and where its value begins.
    fn values(&self, d: &Declaration) -> Vec<(usize, Declarator, usize)> {
        let variables = d.parameters.is_none() && d.body.is_none() && !d.begins_with(self.toks, "typedef");
        let Some((ty, names)) = declarators(self.toks, d.tokens.clone()).filter(|_| variables) else { return Vec::new() };
        let value = |v: Declarator| Some((ty, v.clone(), v.rest.clone().find(|n| self.toks[*n].is("="))? + 1));
        names.into_iter().filter_map(value).collect()
    }

    /// Names that stand where glslang wants constants or looks before the entry point begins: labels, lengths, parameters' own values, statics of
    /// functions and structures; and those on which the values of these rest.
    fn early(&self) -> BTreeSet<&'t str> {
        let toks = self.toks;
        let words = |range: std::ops::Range<usize>| toks[range].iter().filter(|t| t.is_word()).map(|t| t.text);
        let value = |range: std::ops::Range<usize>| range.clone().find(|n| toks[*n].is("=")).unwrap_or(range.end)..range.end;
        let until = |n: usize, ends: &[&str]| n + toks[n..].iter().take_while(|t| !ends.contains(&t.text)).count();
        let mut early: BTreeSet<&str> = BTreeSet::new();
        for d in &self.all {
            if let Some(open) = d.parameters {
                separated(toks, open).into_iter().for_each(|p| early.extend(words(value(p))));
            } else if let Some(body) = &d.body {
                early.extend(words(body.end.min(toks.len())..until(body.end.min(toks.len()), &[";"])));
            }
            for n in d.parameters.and(d.body.clone()).unwrap_or_default().filter(|n| toks[*n].is("static")) {
                early.extend(words(value(n..until(n, &[";"]))));
            }
        }
        for n in 0..toks.len() {
            let mut name = n;
            while name > 0 && toks[name].is("[") && toks[name - 1].is("]") {
                name = open(toks, name - 1).unwrap_or(0);
            }
            if toks[n].is("[") && name > 1 && toks[name - 1].is_word() && names_type(&toks[name - 2]) {
                early.extend(words(n..close(toks, n)));
            } else if toks[n].is("case") {
                early.extend(words(n..until(n, &[":"])));
            }
        }
        loop {
            let before = early.len();
            for (_, v, from) in self.all.iter().flat_map(|d| self.values(d)) {
                if early.contains(toks[v.name].text) {
                    early.extend(words(from..v.rest.end));
                }
            }
            if early.len() == before {
                return early;
            }
        }
    }

    fn calls(&self, value: &[Token<'t>]) -> bool {
        value.windows(2).any(|w| self.functions.contains(w[0].text) && w[1].is("("))
    }
}

/// Whether a variable's name may follow: its type ends here, or another variable.
fn names_type(t: &Token<'_>) -> bool {
    t.is_word() && !t.is("return") || t.is(">") || t.is(",")
}

/// The name of a function.
fn named<'t>(toks: &[Token<'t>], d: &Declaration) -> Option<&'t str> {
    d.parameters.map(|open| toks[open - 1].text)
}

/// What sets the statics of a text in its entry point.
pub(super) fn edits(text: &str, toks: &[Token<'_>], entry: &str) -> Vec<Edit> {
    let t = Text::new(toks);
    let is_entry = |d: &&Declaration| named(toks, d) == Some(entry);
    let own = t.all.iter().filter(is_entry).find(|d| d.body.is_some());
    let mut out = Vec::new();
    let mut sets = String::new();
    let statics = |d: &&Declaration| d.begins_with(toks, "static");
    let some = t.all.iter().filter(statics).flat_map(|d| t.values(d)).any(|(_, v, from)| t.calls(&toks[from..v.rest.end]));
    let early = if some { t.early() } else { BTreeSet::new() };
    // What is set late, on which the values of others rest.
    let mut late: BTreeSet<&str> = BTreeSet::new();
    for d in &t.all {
        if is_entry(&d) && d.body.is_none() && own.is_some() && d.tokens.end < toks.len() {
            out.push(blank(text, toks, d.attributes..d.tokens.end + 1));
        }
        if !some || !statics(&d) {
            continue;
        }
        for (ty, v, from) in t.values(d) {
            let value = &toks[from..v.rest.end];
            let (Some(first), Some(last)) = (value.first(), value.last()) else { continue };
            let name = toks[v.name].text;
            if !t.calls(value) && !value.iter().any(|t| late.contains(t.text)) || early.contains(name) {
                continue;
            }
            late.insert(name);
            let generic = declared_type(text, toks, ty, d);
            let lengths: String = v.lengths.iter().map(|r| &text[toks[r.start].at..toks[r.end - 1].end()]).collect();
            let value = text[first.at..last.end()].replace('\n', " ");
            // A list is the value of a declaration alone.
            sets += &format!("{{ {generic} shaderc_first{lengths} = {value}; {name} = shaderc_first; }} ");
            out.push(blank(text, toks, from - 1..v.rest.end));
            out.extend(d.tokens.clone().filter(|n| toks[*n].is("const")).map(|n| blank(text, toks, n..n + 1)));
        }
    }
    if let Some((d, body)) = own.and_then(|d| Some((d, d.body.clone()?))).filter(|_| !sets.is_empty()) {
        let (at, begin) = (toks[d.attributes].at, toks[body.start - 1].end());
        out.push((at..at, format!("void {SETS}() {{ {sets}}} ")));
        out.push((begin..begin, format!(" {SETS}();")));
    }
    out
}

/// The type of a declaration's variables, with what stands in angle brackets behind it.
fn declared_type<'x>(text: &'x str, toks: &[Token<'_>], ty: usize, d: &Declaration) -> &'x str {
    let generic = toks.get(ty + 1).is_some_and(|t| t.is("<"));
    let end = if generic { (ty..d.tokens.end).find(|n| toks[*n].is(">")).unwrap_or(ty) } else { ty };
    &text[toks[ty].at..toks[end].end()]
}

/// A uniform whose first value a function computes: the host has to know it.
pub(super) fn mistake(toks: &[Token<'_>]) -> Option<(usize, String)> {
    let t = Text::new(toks);
    let uniform = |d: &&Declaration| !["static", "groupshared"].iter().any(|w| d.begins_with(toks, w));
    t.all.iter().filter(uniform).flat_map(|d| t.values(d)).find_map(|(_, v, from)| {
        let value = &toks[from..v.rest.end];
        let call = (from..v.rest.end).find(|n| t.functions.contains(toks[*n].text) && toks.get(n + 1).is_some_and(|t| t.is("(")));
        let m =
            format!("`{}`: the first value of a uniform is a constant, which no function computes: declare it `static`", toks[v.name].text);
        call.filter(|_| t.calls(value)).map(|n| (n, m))
    })
}
