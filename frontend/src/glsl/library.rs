//! What glslang computes otherwise than HLSL says. `*` of two square matrices is a product by elements, which glslang takes for the one of linear
//! algebra, `lit` multiplies instead of raising to a power, `ldexp` takes an integer, `abs` and `sign` take unsigned numbers for signed ones,
//! `sincos` and `dst` compute their arguments several times, of constants `any`, `all` and the functions for a number's bits are wrong, and functions
//! of one number give 0 for what another function computes in another type.

use super::edit::{edited, separated};
use super::hlsl::{body, names_function};
use super::lex::{Kind, Token, close, tokens};
use super::mark::{instructions, op, text};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Functions of one float, or a vector of them.
const OF_FLOAT: &[&str] = &[
    "acos",
    "asin",
    "atan",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "ddx",
    "ddx_coarse",
    "ddx_fine",
    "ddy",
    "ddy_coarse",
    "ddy_fine",
    "degrees",
    "exp",
    "exp2",
    "f32tof16",
    "floor",
    "frac",
    "fwidth",
    "length",
    "log",
    "log10",
    "log2",
    "normalize",
    "radians",
    "rcp",
    "round",
    "rsqrt",
    "saturate",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
];

/// Whether a function of the language gives floats only.
fn is_float(name: &str) -> bool {
    let others = [
        "atan2",
        "cross",
        "determinant",
        "distance",
        "f16tof32",
        "fmod",
        "lerp",
        "lit",
        "pow",
        "reflect",
        "smoothstep",
        "step",
        "transpose",
    ];
    name.starts_with("tex") || others.contains(&name) || OF_FLOAT.contains(&name) && name != "f32tof16"
}

/// The functions that a text declares, and whether all of a name give floats.
pub(super) fn declared<'t>(toks: &[Token<'t>]) -> BTreeMap<&'t str, bool> {
    let mut out = BTreeMap::new();
    for n in (1..toks.len()).filter(|n| declares(toks, *n)) {
        *out.entry(toks[n].text).or_insert(true) &= names_floats(toks[n - 1].text);
    }
    out
}

/// Whether a word names floats, or makes them.
fn names_floats(word: &str) -> bool {
    ["float", "half", "min16float", "min10float"].iter().any(|t| word.starts_with(t))
}

/// The argument of the function of one number that is called at `n`, if it is nothing but a call, and the function of the prelude that makes it the
/// number that is wanted.
fn converted(toks: &[Token<'_>], n: usize, declared: &BTreeMap<&str, bool>) -> Option<(Range<usize>, &'static str)> {
    let name = toks[n].text;
    if matches!(name, "%" | "fmod") {
        return divisor(toks, n).filter(|_| !declared.contains_key(name)).map(|range| (range, FLOAT));
    }
    let conversion = match name {
        _ if OF_FLOAT.contains(&name) => FLOAT,
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
    toks.iter().all(|t| t.kind == Kind::Number || !t.is_word() || makes(t))
}

const FLOAT: &str = "shaderc_float";
const UINT: &str = "shaderc_uint";

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

/// The functions as HLSL has them, for a text that uses the language's own. glslang's product has its operands in the other order, since rows of
/// HLSL are its columns.
pub(super) fn prelude(toks: &[Token<'_>]) -> String {
    let wanted = |name: &str| is_called(toks, name) && !is_declared(toks, name);
    let mut out = String::new();
    if wanted("mul") {
        for n in 2..=4 {
            let m = format!("float{n}x{n}");
            out += &format!("{m} mul({m} a, {m} b) {{ return b * a; }}\n");
            // What is no matrix must not become one by the overload above.
            out += &format!("{m} mul(float a, {m} b) {{ return b * a; }}\n{m} mul({m} a, float b) {{ return a * b; }}\n");
        }
    }
    if wanted("lit") {
        out += "float4 lit(float l, float h, float m) { return float4(1, max(l, 0), l < 0 || h < 0 ? 0 : pow(h, m), 1); }\n";
    }
    if wanted("ldexp") {
        for f in ["float", "float2", "float3", "float4"] {
            out += &format!("{f} ldexp({f} x, {f} e) {{ return x * exp2(e); }}\n");
        }
    }
    if wanted("dst") {
        out += "float4 dst(float4 a, float4 b) { return float4(1, a.y * b.y, a.z, b.w); }\n";
    }
    for n in ["", "2", "3", "4"] {
        if wanted("sincos") {
            out += &format!("void sincos(float{n} x, out float{n} s, out float{n} c) {{ s = sin(x); c = cos(x); }}\n");
        }
        for f in ["any", "all"].into_iter().filter(|f| wanted(f)) {
            for ty in ["float", "int", "uint"] {
                let truth = if n.is_empty() { "x != 0".to_string() } else { format!("{f}(x != 0)") };
                out += &format!("bool {f}({ty}{n} x) {{ return {truth}; }}\n");
            }
        }
        if wanted("abs") {
            out += &format!("uint{n} abs(uint{n} x) {{ return x; }}\n");
        }
        if wanted("sign") {
            out += &format!("int{n} sign(uint{n} x) {{ return (int{n})min(x, 1u); }}\n");
        }
        // Bits of what has them already.
        for (f, ty, of) in [("asuint", "uint", ["uint", "int"]), ("asint", "int", ["int", "uint"])] {
            if wanted(f) {
                of.iter().for_each(|of| out += &format!("{ty}{n} {f}({of}{n} x) {{ return ({ty}{n})x; }}\n"));
            }
        }
        if wanted("asfloat") {
            out += &format!("float{n} asfloat(float{n} x) {{ return x; }}\n");
        }
    }
    out
}

pub(super) fn is_called(toks: &[Token<'_>], name: &str) -> bool {
    toks.windows(2).any(|w| w[0].is(name) && w[1].is("("))
}

/// Whether the word at `n` is the name of a function that is declared here: `a > f(x)` is no `vector<float, 2> f(float x) {`.
fn declares(toks: &[Token<'_>], n: usize) -> bool {
    let (before, open) = (&toks[n - 1], n + 1);
    toks.get(open).is_some_and(|t| t.is("("))
        && names_function(before, &toks[n])
        && (before.is_word() || toks.get(close(toks, open)).is_some_and(|t| t.is("{")))
}

pub(super) fn is_declared(toks: &[Token<'_>], name: &str) -> bool {
    (1..toks.len()).any(|n| toks[n].is(name) && declares(toks, n))
}

/// A module in which `*` of two matrices is by elements and the prelude's `mul` is the instruction. A product of matrices of one type that is not
/// in `mul` was written as `*`.
pub(super) fn by_element(words: &[u32], toks: &[Token<'_>]) -> Vec<u32> {
    let mut out = words.get(..5).unwrap_or_default().to_vec();
    if is_declared(toks, "mul") || !instructions(words).any(|(opcode, _)| opcode == op::MATRIX_TIMES_MATRIX) {
        return words.to_vec();
    }
    let fresh = |out: &mut Vec<u32>| {
        out[3] += 1;
        out[3] - 1
    };
    // The prelude's functions of two matrices; of matrix types the column and how many; the types of matrices.
    let (mut own, mut matrices, mut types) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
    for (opcode, inst) in instructions(words) {
        match (opcode, inst) {
            (op::NAME, [_, id, name @ ..]) if text(name).starts_with("mul(m") && text(name).contains(";m") => {
                own.insert(*id);
            }
            (op::TYPE_MATRIX, [_, id, column, n]) => {
                matrices.insert(*id, (*column, *n));
            }
            (_, [_, ty, id, ..]) if matrices.contains_key(ty) => {
                types.insert(*id, *ty);
            }
            _ => {}
        }
        match (opcode, inst) {
            // Arguments are variables.
            (op::FUNCTION_CALL, [_, ty, id, f, a, b]) if own.contains(f) => {
                let [x, y] = [a, b].map(|variable| {
                    let value = fresh(&mut out);
                    out.extend([4 << 16 | op::LOAD, *ty, value, *variable]);
                    value
                });
                out.extend([5 << 16 | op::MATRIX_TIMES_MATRIX, *ty, *id, y, x]);
            }
            (op::MATRIX_TIMES_MATRIX, [_, ty, id, a, b]) if [a, b].iter().all(|v| types.get(*v) == Some(ty)) => {
                let (column, n) = matrices[ty];
                let mut columns = Vec::new();
                for k in 0..n {
                    let [x, y] = [a, b].map(|matrix| {
                        let value = fresh(&mut out);
                        out.extend([5 << 16 | op::COMPOSITE_EXTRACT, column, value, *matrix, k]);
                        value
                    });
                    columns.push(fresh(&mut out));
                    out.extend([5 << 16 | op::F_MUL, column, columns[k as usize], x, y]);
                }
                out.extend([(3 + n) << 16 | op::COMPOSITE_CONSTRUCT, *ty, *id]);
                out.extend(columns);
            }
            _ => out.extend(inst),
        }
    }
    out
}
