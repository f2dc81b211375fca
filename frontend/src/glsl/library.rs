//! What glslang computes otherwise than HLSL says. `*` of two square matrices is a product by elements, which glslang takes for the one of linear
//! algebra, `lit` multiplies instead of raising to a power, `ldexp` takes an integer, `abs` and `sign` take unsigned numbers for signed ones,
//! `sign` of floats gives a float, `sincos` and `dst` compute their arguments several times, and of constants `any`, `all` and the functions for a
//! number's bits are wrong.

use super::hlsl::names_function;
use super::lex::{Token, close};
use super::mark::{instructions, op, text};
use std::collections::{BTreeMap, BTreeSet};

/// Functions of the language that compute each component of one operand and give floats.
pub(super) const OF_ONE: &[&str] = &[
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "ddx",
    "ddy",
    "degrees",
    "exp",
    "exp2",
    "floor",
    "frac",
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

/// Those of several operands.
pub(super) const OF_SEVERAL: &[&str] = &["atan2", "fmod", "lerp", "pow", "smoothstep", "step"];

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
            out += &format!("int{n} sign(float{n} x) {{ return x > 0 ? (int{n})1 : x < 0 ? (int{n})-1 : (int{n})0; }}\n");
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

/// The functions that a text declares, and whether all of a name give floats.
pub(super) fn declared<'t>(toks: &[Token<'t>]) -> BTreeMap<&'t str, bool> {
    let mut out = BTreeMap::new();
    for n in (1..toks.len()).filter(|n| declares(toks, *n)) {
        *out.entry(toks[n].text).or_insert(true) &= names_floats(toks[n - 1].text);
    }
    out
}

/// Whether a word names floats, or makes them.
pub(super) fn names_floats(word: &str) -> bool {
    ["float", "half", "min16float", "min10float"].iter().any(|t| word.starts_with(t))
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
