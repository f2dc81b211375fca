//! Statics of HLSL whose first value functions of the text compute: they are set where the entry point begins. glslang takes the call for one that a
//! function without a name makes, and refuses it as a call of itself. Declarations of the entry point that have no body are left out.

use super::edit::{Edit, blank};
use super::lex::Token;
use super::outside::{declarations, declarators};
use std::collections::BTreeSet;

/// Functions of the language that are the library's own, and so functions of the text to glslang.
const LIBRARY: &[&str] = &["abs", "all", "any", "asfloat", "asint", "asuint", "dst", "ldexp", "lit", "mul", "sign"];

/// What sets the statics of a text in its entry point.
pub(super) fn edits(text: &str, toks: &[Token<'_>], entry: &str) -> Vec<Edit> {
    let all = declarations(toks);
    let named = |d: &super::outside::Declaration| d.parameters.map(|open| toks[open - 1].text);
    let functions: BTreeSet<&str> = all.iter().filter_map(named).chain(LIBRARY.iter().copied()).collect();
    let own = all.iter().find(|d| named(d) == Some(entry) && d.body.is_some());
    let mut out = Vec::new();
    let mut begin = String::new();
    for d in &all {
        if named(d) == Some(entry) && d.body.is_none() && own.is_some() && d.tokens.end < toks.len() {
            out.push(blank(text, toks, d.attributes..d.tokens.end + 1));
        }
        if d.parameters.is_some() || d.body.is_some() || !d.begins_with(toks, "static") {
            continue;
        }
        let Some((ty, names)) = declarators(toks, d.tokens.clone()) else { continue };
        let Some(behind) = names.first().map(|n| toks[ty].end()..toks[n.name].at) else { continue };
        let spelt = format!("{}{}", toks[ty].text, text[behind].trim_end());
        for v in names {
            let Some(set) = v.rest.clone().find(|n| toks[*n].is("=")) else { continue };
            let value = &toks[set + 1..v.rest.end];
            let calls = value.windows(2).any(|w| functions.contains(w[0].text) && w[1].is("("));
            let (Some(from), Some(to), true) = (value.first(), value.last(), calls) else { continue };
            let (name, value) = (toks[v.name].text, text[from.at..to.end()].replace('\n', " "));
            let lengths: String = v.lengths.iter().map(|r| &text[toks[r.start].at..toks[r.end - 1].end()]).collect();
            // A list is the value of a declaration alone.
            begin += &format!(" {{ {spelt} shaderc_first{lengths} = {value}; {name} = shaderc_first; }}");
            out.push(blank(text, toks, set..v.rest.end));
            out.extend(d.tokens.clone().filter(|n| toks[*n].is("const")).map(|n| blank(text, toks, n..n + 1)));
        }
    }
    if let Some(body) = own.and_then(|d| d.body.clone()).filter(|_| !begin.is_empty()) {
        let at = toks[body.start - 1].end();
        out.push((at..at, begin));
    }
    out
}
