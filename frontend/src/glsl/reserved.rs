//! Words that Vulkan's GLSL reserves and older versions leave to the program: what a text calls so gets another name.

use super::lex::Token;
use super::upgrade::is_basic_type;
use std::collections::BTreeSet;

/// Words of Vulkan's GLSL and the first versions of OpenGL's and OpenGL ES's that reserve them (0: none).
const WORDS: &[(&str, u32, u32)] = &[
    ("lowp", 130, 100),
    ("mediump", 130, 100),
    ("highp", 130, 100),
    ("precision", 130, 100),
    ("invariant", 120, 100),
    ("centroid", 120, 300),
    ("flat", 130, 300),
    ("smooth", 130, 300),
    ("noperspective", 130, 0),
    ("uint", 130, 300),
    ("uvec2", 130, 300),
    ("uvec3", 130, 300),
    ("uvec4", 130, 300),
    ("switch", 130, 300),
    ("case", 130, 300),
    ("default", 130, 300),
    ("layout", 140, 300),
    ("filter", 130, 300),
    ("sample", 400, 320),
    ("precise", 400, 320),
    ("patch", 400, 320),
    ("subroutine", 400, 0),
    ("double", 100, 100),
    ("dvec2", 100, 100),
    ("coherent", 420, 310),
    ("restrict", 420, 310),
    ("readonly", 420, 310),
    ("writeonly", 420, 310),
    ("resource", 420, 310),
    ("common", 420, 310),
    ("partition", 420, 310),
    ("active", 420, 310),
    ("shared", 430, 310),
    ("buffer", 430, 310),
    ("atomic_uint", 420, 310),
    ("sampler", 0, 0),
    ("samplerShadow", 0, 0),
    ("texture1D", 0, 0),
    ("texture2D", 0, 0),
    ("texture3D", 0, 0),
    ("textureCube", 0, 0),
    ("subpassInput", 0, 0),
    ("texture2DLod", 0, 0),
    ("textureCubeLod", 0, 0),
    ("texture2DProj", 0, 0),
    ("shadow2D", 0, 0),
    ("ftransform", 0, 0),
    ("mat2x2", 120, 300),
    ("mat2x3", 120, 300),
    ("mat2x4", 120, 300),
    ("mat3x2", 120, 300),
    ("mat3x3", 120, 300),
    ("mat3x4", 120, 300),
    ("mat4x2", 120, 300),
    ("mat4x3", 120, 300),
    ("mat4x4", 120, 300),
];

/// What follows `sampler` and `image`.
const KINDS: &[&str] = &["1D", "2D", "3D", "2DRect", "Cube", "Buffer", "1DArray", "2DArray", "CubeArray", "2DMS", "2DMSArray"];

/// The first versions of OpenGL's and OpenGL ES's GLSL that reserve a word of Vulkan's (0: none).
fn since(word: &str) -> Option<(u32, u32)> {
    if let Some((_, desktop, es)) = WORDS.iter().find(|w| w.0 == word) {
        return Some((*desktop, *es));
    }
    let of_integers = word.strip_prefix(['i', 'u']);
    let behind = |prefix| [Some(word), of_integers].into_iter().flatten().find_map(|w| w.strip_prefix(prefix));
    if behind("image").is_some_and(|kind| KINDS.contains(&kind)) {
        return Some((130, 300));
    }
    match behind("sampler").filter(|kind| KINDS.contains(&kind.strip_suffix("Shadow").unwrap_or(kind)))? {
        "2DMS" | "2DMSArray" => Some((150, 310)),
        "Buffer" => Some((140, 320)),
        "CubeArray" | "CubeArrayShadow" => Some((400, 320)),
        kind => (!word.starts_with('s') || kind.contains("Array")).then_some((130, 300)),
    }
}

/// The names among them that a text declares, in a version that lacks what these versions have.
pub(super) fn names(toks: &[Token<'_>], lacks: impl Fn(u32, u32) -> bool) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for w in toks.windows(3) {
        let [before, t, after] = w else { continue };
        // `vec4 sample;`, `, sample)`: a name where one is declared. `, texture2D(` is a call.
        let declared = t.is_word()
            && !(before.is(",") && after.is("("))
            && (before.is_word() && !matches!(before.text, "return" | "else" | "in" | "uniform") || before.is(",") || before.is("]"))
            && matches!(after.text, ";" | "=" | "," | ")" | "[" | "(");
        // What is a type elsewhere may stand for itself in `precision` and without a name.
        let behind_type =
            is_basic_type(before.text) || before.text.contains("sampler") || before.is(",") && matches!(after.text, ";" | "=");
        let declared = declared && (behind_type || WORDS.iter().any(|w| t.is(w.0)));
        if declared && since(t.text).is_some_and(|(desktop, es)| lacks(desktop, es)) {
            names.insert(t.text.to_string());
        }
    }
    names
}
