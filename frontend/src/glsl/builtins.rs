//! Functions of a text that have the name and the parameters of one that the language has.
//!
//! OpenGL's GLSL lets a program define those anew, and a program in an older version may define one that only a newer version has.
//! glslang takes neither: it says that the parameters' precisions differ. So the program's function gets another name, and so do all of
//! its calls; where the language has more functions of that name, for other types, each is put beside it.

use super::lex::{Kind, Token};
use retroshade_ir::Stage;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A function of the language: its name, the first versions of OpenGL's and OpenGL ES's GLSL that have it (0: none), and types, the
/// result's first. `F I U B` are numbers of 32 bits or truth values, alone or up to four, `V W X Q` two to four of them, `M` a square
/// matrix, `C` its column; `>` marks what is written.
struct Builtin(&'static str, u32, u32, &'static [&'static str]);

const ONE: &[&str] = &["F F"];
const TWO: &[&str] = &["F F F"];
const INTEGERS: &[&str] = &["I I", "U U"];
const COUNTS: &[&str] = &["I I", "I U"];
const BOTH: &[&str] = &["I I I", "I I int", "U U U", "U U uint"];
const BOUNDS: &[&str] = &["I I I I", "I I int int", "U U U U", "U U uint uint"];
const ORDER: &[&str] = &["Q V V", "Q W W"];
const EQUAL: &[&str] = &["Q V V", "Q W W", "Q Q Q"];

/// Those that fragment programs alone have.
const DERIVATIVES: &[&str] = &["dFdx", "dFdy", "fwidth"];

const BUILTINS: &[Builtin] = &[
    Builtin("radians", 110, 100, ONE),
    Builtin("degrees", 110, 100, ONE),
    Builtin("sin", 110, 100, ONE),
    Builtin("cos", 110, 100, ONE),
    Builtin("tan", 110, 100, ONE),
    Builtin("asin", 110, 100, ONE),
    Builtin("acos", 110, 100, ONE),
    Builtin("atan", 110, 100, &["F F", "F F F"]),
    Builtin("sinh", 130, 300, ONE),
    Builtin("cosh", 130, 300, ONE),
    Builtin("tanh", 130, 300, ONE),
    Builtin("asinh", 130, 300, ONE),
    Builtin("acosh", 130, 300, ONE),
    Builtin("atanh", 130, 300, ONE),
    Builtin("pow", 110, 100, TWO),
    Builtin("exp", 110, 100, ONE),
    Builtin("log", 110, 100, ONE),
    Builtin("exp2", 110, 100, ONE),
    Builtin("log2", 110, 100, ONE),
    Builtin("sqrt", 110, 100, ONE),
    Builtin("inversesqrt", 110, 100, ONE),
    Builtin("abs", 110, 100, ONE),
    Builtin("abs", 130, 300, &["I I"]),
    Builtin("sign", 110, 100, ONE),
    Builtin("sign", 130, 300, &["I I"]),
    Builtin("floor", 110, 100, ONE),
    Builtin("ceil", 110, 100, ONE),
    Builtin("fract", 110, 100, ONE),
    Builtin("trunc", 130, 300, ONE),
    Builtin("round", 130, 300, ONE),
    Builtin("roundEven", 130, 300, ONE),
    Builtin("mod", 110, 100, &["F F F", "F F float"]),
    Builtin("modf", 130, 300, &["F F >F"]),
    Builtin("min", 110, 100, &["F F F", "F F float"]),
    Builtin("min", 130, 300, BOTH),
    Builtin("max", 110, 100, &["F F F", "F F float"]),
    Builtin("max", 130, 300, BOTH),
    Builtin("clamp", 110, 100, &["F F F F", "F F float float"]),
    Builtin("clamp", 130, 300, BOUNDS),
    Builtin("mix", 110, 100, &["F F F F", "F F F float"]),
    Builtin("mix", 130, 300, &["F F F B"]),
    Builtin("step", 110, 100, &["F F F", "F float F"]),
    Builtin("smoothstep", 110, 100, &["F F F F", "F float float F"]),
    Builtin("isnan", 130, 300, &["B F"]),
    Builtin("isinf", 130, 300, &["B F"]),
    Builtin("floatBitsToInt", 330, 300, &["I F"]),
    Builtin("floatBitsToUint", 330, 300, &["U F"]),
    Builtin("intBitsToFloat", 330, 300, &["F I"]),
    Builtin("uintBitsToFloat", 330, 300, &["F U"]),
    Builtin("fma", 400, 320, &["F F F F"]),
    Builtin("dFdx", 110, 300, ONE),
    Builtin("dFdy", 110, 300, ONE),
    Builtin("fwidth", 110, 300, ONE),
    Builtin("frexp", 400, 310, &["F F >I"]),
    Builtin("ldexp", 400, 310, &["F F I"]),
    Builtin("length", 110, 100, &["float F"]),
    Builtin("distance", 110, 100, &["float F F"]),
    Builtin("dot", 110, 100, &["float F F"]),
    Builtin("cross", 110, 100, &["vec3 vec3 vec3"]),
    Builtin("normalize", 110, 100, ONE),
    Builtin("faceforward", 110, 100, &["F F F F"]),
    Builtin("reflect", 110, 100, TWO),
    Builtin("refract", 110, 100, &["F F F float"]),
    Builtin("matrixCompMult", 110, 100, &["M M M"]),
    Builtin("outerProduct", 120, 300, &["M C C"]),
    Builtin("transpose", 120, 300, &["M M"]),
    Builtin("determinant", 150, 300, &["float M"]),
    Builtin("inverse", 140, 300, &["M M"]),
    Builtin("lessThan", 110, 100, ORDER),
    Builtin("lessThan", 130, 300, &["Q X X"]),
    Builtin("lessThanEqual", 110, 100, ORDER),
    Builtin("lessThanEqual", 130, 300, &["Q X X"]),
    Builtin("greaterThan", 110, 100, ORDER),
    Builtin("greaterThan", 130, 300, &["Q X X"]),
    Builtin("greaterThanEqual", 110, 100, ORDER),
    Builtin("greaterThanEqual", 130, 300, &["Q X X"]),
    Builtin("equal", 110, 100, EQUAL),
    Builtin("equal", 130, 300, &["Q X X"]),
    Builtin("notEqual", 110, 100, EQUAL),
    Builtin("notEqual", 130, 300, &["Q X X"]),
    Builtin("any", 110, 100, &["bool Q"]),
    Builtin("all", 110, 100, &["bool Q"]),
    Builtin("not", 110, 100, &["Q Q"]),
    Builtin("bitfieldExtract", 400, 310, &["I I int int", "U U int int"]),
    Builtin("bitfieldInsert", 400, 310, &["I I I int int", "U U U int int"]),
    Builtin("bitfieldReverse", 400, 310, INTEGERS),
    Builtin("bitCount", 400, 310, COUNTS),
    Builtin("findLSB", 400, 310, COUNTS),
    Builtin("findMSB", 400, 310, COUNTS),
    Builtin("packHalf2x16", 420, 300, &["uint vec2"]),
    Builtin("unpackHalf2x16", 420, 300, &["vec2 uint"]),
    Builtin("packUnorm2x16", 410, 300, &["uint vec2"]),
    Builtin("unpackUnorm2x16", 410, 300, &["vec2 uint"]),
    Builtin("packSnorm2x16", 420, 300, &["uint vec2"]),
    Builtin("unpackSnorm2x16", 420, 300, &["vec2 uint"]),
    Builtin("packUnorm4x8", 400, 310, &["uint vec4"]),
    Builtin("unpackUnorm4x8", 400, 310, &["vec4 uint"]),
    Builtin("packSnorm4x8", 400, 310, &["uint vec4"]),
    Builtin("unpackSnorm4x8", 400, 310, &["vec4 uint"]),
    // Not beside the program's: these have more forms than are worth writing down, and only versions without them let one be defined.
    Builtin("texture", 130, 300, &["vec4 sampler2D vec2", "vec4 sampler2D vec2 float", "vec4 samplerCube vec3", "vec4 sampler3D vec3"]),
    Builtin("textureLod", 130, 300, &["vec4 sampler2D vec2 float", "vec4 samplerCube vec3 float", "vec4 sampler3D vec3 float"]),
];

/// A type of [`Builtin`] for so many numbers; `None` where there is none of that width.
fn expanded(letter: &str, n: usize) -> Option<String> {
    let vector = |prefix: &str, one: &str, least: usize| match n {
        _ if n < least => None,
        1 => Some(one.to_string()),
        _ => Some(format!("{prefix}vec{n}")),
    };
    match letter {
        "F" => vector("", "float", 1),
        "I" => vector("i", "int", 1),
        "U" => vector("u", "uint", 1),
        "B" => vector("b", "bool", 1),
        "V" | "C" => vector("", "", 2),
        "W" => vector("i", "", 2),
        "X" => vector("u", "", 2),
        "Q" => vector("b", "", 2),
        "M" => (n > 1).then(|| format!("mat{n}")),
        word => Some(word.to_string()),
    }
}

/// All functions of a form: the types of each, the result's first.
fn forms(types: &str) -> impl Iterator<Item = Vec<String>> {
    let general = types.split(' ').any(|t| t.trim_start_matches('>').len() == 1);
    (1..=if general { 4 } else { 1 }).filter_map(move |n| types.split(' ').map(|t| expanded(t.trim_start_matches('>'), n)).collect())
}

/// The program's functions that take the place of the language's.
#[derive(Debug, Default)]
pub(super) struct Redefined {
    /// Their names.
    pub(super) names: BTreeSet<String>,
    /// What stands in front of the text: the language's other functions of these names, each by the name that its calls have now.
    pub(super) beside: String,
}

/// Finds what a text defines anew. `lacks` says whether its dialect is older than these first versions, `renamed` what a name becomes.
pub(super) fn redefined(
    toks: &[Token<'_>],
    (stage, es): (Stage, bool),
    lacks: impl Fn(u32, u32) -> bool,
    renamed: impl Fn(&str) -> String,
) -> Redefined {
    let known = |b: &&Builtin| stage == Stage::Fragment || !DERIVATIVES.contains(&b.0);
    let mut out = Redefined::default();
    for (name, own) in functions(toks) {
        let of_name = || BUILTINS.iter().filter(known).filter(|b| b.0 == name);
        let taken = |types: &Vec<String>| own.iter().any(|params| *params == types[1..]);
        let mut same = of_name().filter(|b| b.3.iter().any(|form| forms(form).any(|types| taken(&types))));
        // OpenGL ES knows no functions that are defined anew.
        if !same.any(|b| lacks(b.1, b.2) || !es && !name.starts_with("texture")) {
            continue;
        }
        // Alone, `mix` of four numbers is the same function by two of its forms.
        let mut seen = BTreeSet::new();
        for form in of_name().filter(|b| !lacks(b.1, b.2)).flat_map(|b| b.3) {
            for types in forms(form).filter(|types| !taken(types) && seen.insert(types.clone())) {
                let list = |part: &dyn Fn(usize, &str) -> String| {
                    let all: Vec<String> = (0..).zip(&types[1..]).map(|(n, t)| part(n, t)).collect();
                    all.join(", ")
                };
                let written: Vec<bool> = form.split(' ').skip(1).map(|t| t.starts_with('>')).collect();
                let params = list(&|n, t| format!("{}{t} p{n}", if written[n] { "out " } else { "" }));
                let call = list(&|n, _| format!("p{n}"));
                let _ = writeln!(out.beside, "{} {}({params}) {{ return {name}({call}); }}", types[0], renamed(name));
            }
        }
        out.names.insert(name.to_string());
    }
    out
}

/// The functions that a text declares or defines: the types of their parameters.
fn functions<'t>(toks: &[Token<'t>]) -> BTreeMap<&'t str, Vec<Vec<String>>> {
    let toks: Vec<&Token<'t>> = toks.iter().filter(|t| t.kind != Kind::Directive).collect();
    let mut out: BTreeMap<&str, Vec<Vec<String>>> = BTreeMap::new();
    let mut depth = 0u32;
    for (n, t) in toks.iter().enumerate() {
        match t.text {
            "{" | "(" => depth += 1,
            "}" | ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let [ty, name, open, ..] = toks[n..] else { break };
        if depth > 0 || !ty.is_word() || !name.is_word() || !open.is("(") || !BUILTINS.iter().any(|b| name.is(b.0)) {
            continue;
        }
        let inner: Vec<&Token<'_>> = toks[n + 3..].iter().copied().take_while(|t| !t.is(")")).collect();
        // Each parameter's type is the first word that qualifies nothing; an array is no type of the language's functions.
        let qualifies = |t: &Token<'_>| matches!(t.text, "const" | "in" | "out" | "inout" | "highp" | "mediump" | "lowp" | "precise");
        let types = inner.split(|t| t.is(",")).map(|param| {
            let ty = param.iter().find(|t| !qualifies(t)).map_or("", |t| t.text);
            let array = if param.iter().any(|t| t.is("[")) { "[]" } else { "" };
            format!("{ty}{array}")
        });
        out.entry(name.text).or_default().push(types.filter(|t| !t.is_empty() && t != "void").collect());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::lex::tokens;
    use super::*;

    #[test]
    fn forms_of_all_widths() {
        assert_eq!(
            forms("F F float").collect::<Vec<_>>(),
            [["float", "float", "float"], ["vec2", "vec2", "float"], ["vec3", "vec3", "float"], ["vec4", "vec4", "float"]]
        );
        assert_eq!(forms("float M").count(), 3);
        assert_eq!(forms("vec3 vec3 vec3").count(), 1);
    }

    #[test]
    fn only_the_same_parameters_redefine() {
        let of = |text: &str, es| redefined(&tokens(text), (Stage::Fragment, es), |desktop, _| desktop > 120, |n| format!("own_{n}"));
        let all = of("float abs(float x) { return 0.5; }", false);
        assert!(all.names.contains("abs"));
        assert!(all.beside.contains("vec3 own_abs(vec3 p0) { return abs(p0); }") && !all.beside.contains("(float p0)"), "{}", all.beside);
        assert!(!all.beside.contains("int"), "1.20 has no such function of integers: {}", all.beside);
        // Another type is an overload, and OpenGL ES redefines nothing.
        assert!(of("float abs(bool x) { return 0.5; }", false).names.is_empty());
        assert!(of("float abs(float x) { return 0.5; }", true).names.is_empty());
        // What the version lacks is free everywhere, and has nothing beside it.
        let all = of("vec2 round(const in vec2 x) { return x; }", true);
        assert!(all.names.contains("round") && all.beside.is_empty());
        // Calls define nothing.
        assert!(of("void main() { float y = abs(x); }", false).names.is_empty());
    }
}
