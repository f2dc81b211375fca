//! Names that GLSL had before version 4.50, or has for what naga spells differently.

/// A texture function of old GLSL: its name today, and whether it returned a vector where today's returns a number.
pub(crate) fn texture_function(name: &str) -> Option<(&'static str, bool)> {
    let (shadow, rest) = match name.strip_prefix("shadow") {
        Some(r) => (true, r),
        None => (false, name.strip_prefix("texture")?),
    };
    let rest = ["1D", "2D", "3D", "Cube"].iter().find_map(|d| rest.strip_prefix(d))?;
    let rest = rest.strip_suffix("EXT").or(rest.strip_suffix("ARB")).unwrap_or(rest);
    let now = match rest {
        "" => "texture",
        "Lod" => "textureLod",
        "Grad" => "textureGrad",
        "Offset" => "textureOffset",
        "Proj" => "textureProj",
        "ProjLod" => "textureProjLod",
        "ProjGrad" => "textureProjGrad",
        _ => return None,
    };
    Some((now, shadow))
}

/// Whether a function takes a combined sampler as its first argument.
pub(crate) fn takes_sampler(name: &str) -> bool {
    name.starts_with("texture") || name.starts_with("texelFetch")
}

/// The texture type and the sampler type behind a combined sampler type, and the constructor that joins them.
pub(crate) fn sampler_type(name: &str) -> Option<(String, &'static str, String)> {
    if name == "samplerExternalOES" {
        return Some(("texture2D".into(), "sampler", "sampler2D".into()));
    }
    let (kind, rest) = match name.split_once("sampler") {
        Some((k @ ("" | "i" | "u"), r)) => (k, r),
        _ => return None,
    };
    let (shape, shadow) = rest.strip_suffix("Shadow").map_or((rest, false), |s| (s, true));
    if !matches!(shape, "1D" | "2D" | "3D" | "Cube" | "1DArray" | "2DArray" | "CubeArray" | "2DMS" | "2DMSArray") {
        return None;
    }
    Some((format!("{kind}texture{shape}"), if shadow { "samplerShadow" } else { "sampler" }, name.to_string()))
}

/// Columns and the column's type of a matrix type.
pub(crate) fn matrix_type(name: &str) -> Option<(u32, String)> {
    let size = name.strip_prefix("mat")?;
    let digits: Vec<u32> = size.split('x').map(|d| d.parse().ok()).collect::<Option<_>>()?;
    let (columns, rows) = match digits[..] {
        [n] => (n, n),
        [c, r] => (c, r),
        _ => return None,
    };
    ((2..=4).contains(&columns) && (2..=4).contains(&rows)).then(|| (columns, format!("vec{rows}")))
}

/// Whether a word names a type that the language has by itself.
pub(crate) fn is_basic_type(name: &str) -> bool {
    matches!(name, "void" | "bool" | "int" | "uint" | "float" | "double" | "float16_t")
        || matrix_type(name).is_some()
        || ["vec", "ivec", "uvec", "bvec", "dvec", "f16vec"]
            .iter()
            .any(|p| name.strip_prefix(p).is_some_and(|n| matches!(n, "2" | "3" | "4")))
}

/// Words that may stand before the type of a declaration.
pub(crate) fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "in" | "out"
            | "uniform"
            | "attribute"
            | "varying"
            | "const"
            | "flat"
            | "smooth"
            | "noperspective"
            | "centroid"
            | "sample"
            | "invariant"
            | "precise"
            | "shared"
            | "buffer"
            | "coherent"
            | "volatile"
            | "restrict"
            | "readonly"
            | "writeonly"
            | "patch"
            | "layout"
    ) || is_precision(word)
}

/// `highp`, `mediump`, `lowp`: every machine computes in one precision.
pub(crate) fn is_precision(word: &str) -> bool {
    matches!(word, "highp" | "mediump" | "lowp")
}

/// Variables of the compatibility profile and how a program would declare them itself: vertex inputs, uniforms, and values handed on.
pub(crate) fn compatibility(name: &str, vertex: bool) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "gl_Vertex" if vertex => ("attribute", "vec4"),
        "gl_Normal" if vertex => ("attribute", "vec3"),
        "gl_Color" if vertex => ("attribute", "vec4"),
        "gl_MultiTexCoord0" | "gl_MultiTexCoord1" | "gl_MultiTexCoord2" | "gl_MultiTexCoord3" if vertex => ("attribute", "vec4"),
        "gl_Color" => ("varying", "vec4"),
        "gl_FrontColor" if vertex => ("varying", "vec4"),
        "gl_FogFragCoord" => ("varying", "float"),
        "gl_ModelViewProjectionMatrix" | "gl_ModelViewMatrix" | "gl_ProjectionMatrix" => ("uniform", "mat4"),
        "gl_NormalMatrix" => ("uniform", "mat3"),
        _ => return None,
    })
}
