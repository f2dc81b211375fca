//! Conversions that glslang misses in HLSL: functions of one number give 0 for what another function computes in another type, and remainders and
//! roundings of constants are not those of the language.

use super::edit::{edited, separated};
use super::hlsl::{body, names_function};
use super::lex::{Kind, Token, close, tokens};
use super::library::{OF_ONE, OF_SEVERAL, declared, names_floats};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Functions that make numbers of others.
const FLOAT: &str = "shaderc_float";
const UINT: &str = "shaderc_uint";

/// Functions of one float, or a vector of them, that are not among [`OF_ONE`].
const OTHERS_OF_ONE: &[&str] = &["clip", "ddx_coarse", "ddx_fine", "ddy_coarse", "ddy_fine", "f32tof16", "fwidth", "length"];

fn is_of_one(name: &str) -> bool {
    OF_ONE.contains(&name) || OTHERS_OF_ONE.contains(&name)
}

/// Whether a function of the language gives floats only.
fn is_float(name: &str) -> bool {
    let others = ["cross", "determinant", "distance", "f16tof32", "lit", "reflect", "transpose"];
    name.starts_with("tex") || others.contains(&name) || OF_SEVERAL.contains(&name) || is_of_one(name) && name != "f32tof16"
}

/// The argument of the function of one number that is called at `n`, if it is nothing but a call, and the function of the prelude that makes it the
/// number that is wanted.
fn converted(toks: &[Token<'_>], n: usize, declared: &BTreeMap<&str, bool>) -> Option<(Range<usize>, &'static str)> {
    let name = toks[n].text;
    if matches!(name, "%" | "fmod") {
        return divisor(toks, n).filter(|_| !declared.contains_key(name)).map(|range| (range, FLOAT));
    }
    let conversion = match name {
        _ if is_of_one(name) => FLOAT,
        "f16tof32" => UINT,
        _ => return None,
    };
    if !toks.get(n + 1)?.is("(") || n == 0 || toks[n - 1].is(".") || declared.contains_key(name) {
        return None;
    }
    let arguments = separated(toks, n + 1);
    let [argument] = &arguments[..] else { return None };
    if name == "round" && is_constant(&toks[argument.clone()]) {
        return Some((argument.clone(), FLOAT));
    }
    let mut range = argument.clone();
    while range.len() > 1 && (toks[range.start].is("+") || toks[range.start].is("(") && close(toks, range.start) == range.end) {
        let bracket = toks[range.start].is("(");
        range = range.start + 1..range.end - usize::from(bracket);
    }
    // `f(x)`, `a.f(x)`, `a[k].f(x).xy`.
    let (mut k, mut callee) = (range.start, None);
    while k < range.end {
        k = match toks[k].text {
            "(" if k > range.start && toks[k - 1].is_word() => {
                callee = Some(toks[k - 1].text);
                close(toks, k)
            }
            "[" => close(toks, k),
            "." => k + 1,
            _ if toks[k].is_word() => k + 1,
            _ => return None,
        };
    }
    let callee = callee?;
    let float = declared.get(callee).copied().unwrap_or_else(|| is_float(callee) || names_floats(callee));
    (!float || conversion == UINT).then(|| (argument.clone(), conversion))
}

/// The divisor of `fmod` at `n`, or of `%`, where both operands are constants and floats: glslang takes remainders of them for the dividend, or rounds
/// the quotient down.
fn divisor(toks: &[Token<'_>], n: usize) -> Option<Range<usize>> {
    if toks[n].is("fmod") {
        let arguments = separated(toks, n + 1);
        let constant = arguments.len() == 2 && arguments.iter().all(|a| is_constant(&toks[a.clone()]));
        return arguments.into_iter().nth(1).filter(|_| constant);
    }
    let behind = n + 1;
    let end = match toks.get(behind + 1).filter(|t| t.is("(")) {
        Some(_) => close(toks, behind + 1),
        None => behind + 1,
    };
    let right = toks.get(behind..end)?;
    let float = |t: &Token<'_>| {
        names_floats(t.text) || t.kind == Kind::Number && !t.text.starts_with("0x") && t.text.contains(['.', 'e', 'f', 'h'])
    };
    let left = n > 0 && (toks[n - 1].kind == Kind::Number || toks[n - 1].is(")"));
    let floats = float(&right[0]) || n > 0 && float(&toks[n - 1]) && right[0].kind == Kind::Number;
    (left && floats && is_constant(right)).then_some(behind..end)
}

/// Whether an expression is made of numbers only.
fn is_constant(toks: &[Token<'_>]) -> bool {
    let makes = |t: &Token<'_>| ["float", "half", "min16float", "int", "uint"].iter().any(|ty| t.text.starts_with(ty));
    // `0.5.xx` is a number still.
    let component = |k: usize| k > 0 && toks[k - 1].is(".");
    toks.iter().enumerate().all(|(k, t)| t.kind == Kind::Number || !t.is_word() || makes(t) || component(k))
}

/// A preprocessed text in whose functions calls that are the argument of a function of one number are converted before glslang looks at them: it takes
/// such a call for its arguments.
pub(super) fn with_conversions(text: &str) -> String {
    let toks: Vec<Token<'_>> = tokens(text).into_iter().filter(|t| t.kind != Kind::Directive).collect();
    let declared = declared(&toks);
    let (mut edits, mut names) = (Vec::new(), BTreeSet::new());
    let mut n = 2;
    while n < toks.len() {
        if !toks[n].is("(") || !names_function(&toks[n - 2], &toks[n - 1]) {
            n += 1;
            continue;
        }
        let end = close(&toks, n);
        let Some(open) = body(&toks[end..]).map(|at| end + at) else {
            n = end;
            continue;
        };
        n = close(&toks, open);
        for (range, name) in (open..n).filter_map(|k| converted(&toks, k, &declared)) {
            let (at, end) = (toks[range.start].at, toks[range.end - 1].end());
            edits.extend([(at..at, format!("{name}(")), (end..end, ")".to_string())]);
            names.insert(name);
        }
    }
    if edits.is_empty() {
        return text.to_string();
    }
    // No line begins before the first directive.
    conversions(&names) + &edited(text, edits)
}

/// The functions that make numbers of others.
fn conversions(names: &BTreeSet<&str>) -> String {
    let mut out = String::new();
    for name in names {
        for n in ["", "2", "3", "4"] {
            for of in ["float", "int", "uint", "bool"] {
                let to = if *name == FLOAT { "float" } else { "uint" };
                out += &format!("{to}{n} {name}({of}{n} x) {{ return ({to}{n})x; }}\n");
            }
        }
    }
    out
}
