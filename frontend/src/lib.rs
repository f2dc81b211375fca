//! The front end: GLSL and HLSL, WGSL and SPIR-V to the IR. The only crate that knows glslang and naga.
//!
//! ```text
//! GLSL, HLSL ─glslang─▶ SPIR-V ─reader─▶ ir::Module
//!       WGSL ─naga─▶ its module ─wgsl─▶ SPIR-V ─reader─▶ ir::Module
//! ```
//!
//! One entry point becomes one module. Functions are inlined (unless the caller wants those kept that stand alone), variables become SSA values, structs and matrices are taken apart
//! into vectors, uniform blocks into leaf declarations (`lights[].pos`). Every instruction carries a span in the user's text.
#![forbid(unsafe_code)]

#[cfg(feature = "glsl")]
mod glsl;
#[cfg(any(feature = "glsl", feature = "wgsl"))]
mod guard;
mod parse;
mod spirv;
mod ssa;
#[cfg(feature = "wgsl")]
mod wgsl;

use retroshade_ir::{Diagnostic, Module, SourceMap, Stage};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a caller may choose.
#[derive(Clone, Debug, Default)]
pub struct FrontOptions {
    /// The entry point; needed only where the source has several for the stage.
    pub entry: Option<String>,
    /// The stage; GLSL needs it, elsewhere it selects among entry points.
    pub stage: Option<Stage>,
    /// Values of overrides and specialisation constants by name or number; in GLSL also preprocessor symbols.
    pub defines: Vec<(String, String)>,
    /// What the program before this one in the pipeline hands on, by name: GLSL inputs without location take the locations of these.
    pub varyings: Vec<(String, u32)>,
    /// Whether functions that are called several times stay functions, for machines that can call; otherwise all are inlined.
    pub functions: bool,
    /// Bounds of integer inputs and uniforms that the caller promises: name, least, most.
    pub ranges: Vec<(String, i64, i64)>,
    /// How `#include` finds files; by default it finds none.
    pub include: Includes,
}

/// How the files are found that GLSL and HLSL include.
#[derive(Clone, Default)]
pub struct Includes(Option<Arc<Find>>);

/// From the name in the source and that of the including file to a name and a text.
type Find = dyn Fn(&str, &str) -> Option<(String, String)> + Send + Sync;

impl Includes {
    /// Finds files with a function: from the name in the source and that of the including file to a name and a text.
    pub fn new(find: impl Fn(&str, &str) -> Option<(String, String)> + Send + Sync + 'static) -> Includes {
        Includes(Some(Arc::new(find)))
    }

    /// Looks beside the including file, then in `folders`; `read` gives the text of a file that is there.
    pub fn search(folders: Vec<PathBuf>, read: impl Fn(&Path) -> Option<String> + Send + Sync + 'static) -> Includes {
        Includes::new(move |name, from| {
            let beside = Path::new(from).parent().unwrap_or(Path::new(""));
            let mut places = std::iter::once(beside).chain(folders.iter().map(PathBuf::as_path)).map(|p| p.join(name));
            places.find_map(|p| Some((p.display().to_string(), read(&p)?)))
        })
    }

    #[cfg(feature = "glsl")]
    fn open(&self, name: &str, from: &str) -> Option<(String, String)> {
        self.0.as_ref().and_then(|find| find(name, from))
    }
}

impl std::fmt::Debug for Includes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Includes(…)" } else { "Includes(none)" })
    }
}

/// Why a source could not be translated: all messages, and the texts that they point into.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", summary(diagnostics))]
#[non_exhaustive]
pub struct FrontError {
    /// The source text.
    pub sources: SourceMap,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

fn summary(d: &[Diagnostic]) -> String {
    d.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("\n")
}

impl FrontError {
    /// Whether the source asks for too much of something (exit status 3) rather than being wrong or unsupported (1).
    pub fn is_limit(&self) -> bool {
        !self.diagnostics.is_empty() && self.diagnostics.iter().all(|d| d.code.starts_with('L'))
    }
}

/// Translates WGSL.
pub fn wgsl(name: &str, source: &str, options: &FrontOptions) -> Result<Module, FrontError> {
    #[cfg(feature = "wgsl")]
    return parse::read(name, source, options, |file, _| wgsl::translate(source, file, options));
    #[cfg(not(feature = "wgsl"))]
    parse::read(name, source, options, |file, _| Err(vec![absent("WGSL", "wgsl", parse::start(file, source))]))
}

/// The names and stages of a WGSL text's entry points, in its order; none of a text that cannot be read.
pub fn wgsl_entries(source: &str) -> Vec<(String, Stage)> {
    #[cfg(feature = "wgsl")]
    return wgsl::entries(source);
    #[cfg(not(feature = "wgsl"))]
    Vec::new()
}

/// Translates GLSL. The stage must be given.
pub fn glsl(name: &str, source: &str, options: &FrontOptions) -> Result<Module, FrontError> {
    by_glslang(name, source, None, options)
}

/// Translates HLSL, and Cg as far as that is HLSL. The stage must be given; the entry point is `main` unless the options say otherwise.
///
/// **Sources that nobody trusts** are read in a process of their own: glslang's reader of HLSL, which is C++ and runs in the caller's process, ends
/// that process by a fault on some sources that are wrong in meaning, and on a few that are right (a choice between `float1` and `float`). What is
/// known of mistakes that do so is refused before it is called. The command reads HLSL in a process of its own:
/// `shaderc --emit ir -o out.ir in.frag.hlsl` gives IR for [`parse`](fn@retroshade_ir::parse), or ends with F0025.
pub fn hlsl(name: &str, source: &str, options: &FrontOptions) -> Result<Module, FrontError> {
    by_glslang(name, source, Some(options.entry.as_deref().unwrap_or("main")), options)
}

#[cfg(feature = "glsl")]
fn by_glslang(name: &str, source: &str, hlsl: Option<&str>, options: &FrontOptions) -> Result<Module, FrontError> {
    parse::read(name, source, options, |file, sources| glsl::translate(source, file, hlsl, sources, options))
}

#[cfg(not(feature = "glsl"))]
fn by_glslang(name: &str, source: &str, hlsl: Option<&str>, options: &FrontOptions) -> Result<Module, FrontError> {
    let language = if hlsl.is_some() { "HLSL" } else { "GLSL" };
    parse::read(name, source, options, |file, _| Err(vec![absent(language, "glsl", parse::start(file, source))]))
}

/// The message of a build that cannot read a language.
#[cfg(not(all(feature = "glsl", feature = "wgsl")))]
fn absent(language: &str, feature: &str, at: retroshade_ir::Span) -> Diagnostic {
    Diagnostic::error("F0008", at, format!("this build reads no {language}: it is made without the feature `{feature}`"))
}

/// What glslang makes of GLSL: SPIR-V with names and lines, without the places that this crate gives to what has none.
#[cfg(feature = "glsl")]
pub fn glsl_words(name: &str, source: &str, options: &FrontOptions) -> Result<Vec<u32>, FrontError> {
    let mut sources = SourceMap::default();
    let file = sources.add(name, source);
    match glsl::compile(source, file, None, &mut sources, options) {
        Ok(c) => Ok(c.words),
        Err(diagnostics) => Err(FrontError { sources, diagnostics }),
    }
}

/// Translates a SPIR-V binary.
pub fn spirv(name: &str, bytes: &[u8], options: &FrontOptions) -> Result<Module, FrontError> {
    parse::read(name, "", options, |_, _| {
        let words = spirv::words(bytes).map_err(|d| vec![d])?;
        spirv::translate(&spirv::Words::new(&words), options)
    })
}

/// The names and stages of a SPIR-V binary's entry points, in its order; none of a binary that cannot be read.
pub fn spirv_entries(bytes: &[u8]) -> Vec<(String, Stage)> {
    spirv::words(bytes).map(|words| spirv::entries(&words)).unwrap_or_default()
}

/// Translates a SPIR-V binary that another compiler made of `text` and whose lines (`OpLine`) are lines of that text.
pub fn spirv_with_text(name: &str, text: &str, bytes: &[u8], options: &FrontOptions) -> Result<Module, FrontError> {
    parse::read(name, text, options, |file, _| {
        let words = spirv::words(bytes).map_err(|d| vec![d])?;
        let place = |_: &str, line: u32, _: u32| parse::line(file, text, line);
        spirv::translate(&spirv::Words { place: &place, ..spirv::Words::new(&words) }, options).map_err(|mut all| {
            all.iter_mut().filter(|d| d.span.is_none()).for_each(|d| d.span = parse::start(file, text));
            all
        })
    })
}

/// Translates a naga module. `source` is the text that its spans point into, where there is one.
#[cfg(feature = "naga-30")]
pub fn from_naga(module: &naga::Module, name: &str, source: &str, options: &FrontOptions) -> Result<Module, FrontError> {
    parse::read(name, source, options, |file, _| wgsl::translate_naga(module, source, file, options))
}
