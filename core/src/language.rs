//! Source languages, and what a file's name says of them.

use retroshade_ir::Stage;
use std::path::Path;

/// A source language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// The IR's text form.
    Ir,
    /// WGSL.
    Wgsl,
    /// GLSL; the stage must be known.
    Glsl,
    /// HLSL, and Cg as far as that is HLSL; the stage must be known.
    Hlsl,
    /// SPIR-V.
    Spirv,
}

impl Language {
    /// All of them, under the names that `--lang` takes.
    pub const NAMES: [(&'static str, Language); 5] =
        [("ir", Language::Ir), ("wgsl", Language::Wgsl), ("glsl", Language::Glsl), ("hlsl", Language::Hlsl), ("spv", Language::Spirv)];

    /// A language by its name.
    pub fn from_name(name: &str) -> Option<Language> {
        Language::NAMES.iter().find(|l| l.0 == name).map(|l| l.1)
    }

    /// The language and, where it says that too, the stage that a file's name stands for: `.ir .wgsl .spv`, `.vert .geom .frag .comp`
    /// (GLSL), `.glsl .hlsl .cg` with the stage before the ending (`x.vert.hlsl`).
    pub fn of_path(path: &Path) -> Option<(Language, Option<Stage>)> {
        let extension = |p: &Path| p.extension().and_then(|e| e.to_str()).unwrap_or_default().to_string();
        let inner = || stage_of_extension(&extension(Path::new(path.file_stem().unwrap_or_default())));
        Some(match extension(path).as_str() {
            "ir" => (Language::Ir, None),
            "wgsl" => (Language::Wgsl, None),
            "spv" => (Language::Spirv, None),
            "glsl" => (Language::Glsl, inner()),
            "hlsl" | "cg" => (Language::Hlsl, inner()),
            e @ ("vert" | "geom" | "frag" | "comp") => (Language::Glsl, stage_of_extension(e)),
            _ => return None,
        })
    }
}

/// The stage that a file's ending names: `.vert .geom .frag .comp`, and those that HLSL's tools use.
fn stage_of_extension(extension: &str) -> Option<Stage> {
    Some(match extension {
        "vert" | "vs" => Stage::Vertex,
        "geom" | "gs" => Stage::Geometry,
        "frag" | "ps" | "fs" => Stage::Fragment,
        "comp" | "cs" => Stage::Compute,
        _ => return None,
    })
}
