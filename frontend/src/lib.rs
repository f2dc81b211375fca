//! The front end: WGSL, GLSL and SPIR-V to the IR, through naga. The only crate that knows naga.
//!
//! ```text
//! text ─guard─▶ naga module ─validate, overrides─▶ convert ─▶ ir::Module
//! ```
//!
//! One entry point becomes one module. Functions are inlined (unless the caller wants those kept that stand alone), variables become SSA values, structs and matrices are taken apart
//! into vectors, uniform blocks into leaf declarations (`lights[].pos`). Every instruction carries a span in the user's text.
#![forbid(unsafe_code)]

mod convert;
mod diag;
mod expr;
mod glsl;
mod guard;
mod interface;
mod keep;
mod layout;
mod math;
mod names;
mod parse;
mod patch;
mod place;
mod spirv;
mod ssa;
mod stmt;
mod texture;
mod truth;
mod types;
mod value;

use retroshade_ir::{Diagnostic, Module, SourceMap, Stage};

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
    parse::run(name, parse::Source::Wgsl(source), options)
}

/// Translates GLSL. The stage must be given.
pub fn glsl(name: &str, source: &str, options: &FrontOptions) -> Result<Module, FrontError> {
    parse::run(name, parse::Source::Glsl(source), options)
}

/// Translates a SPIR-V binary.
pub fn spirv(name: &str, bytes: &[u8], options: &FrontOptions) -> Result<Module, FrontError> {
    parse::run(name, parse::Source::Spirv(bytes), options)
}

/// Translates a naga module. `source` is the text that its spans point into, where there is one.
#[cfg(feature = "naga-30")]
pub fn from_naga(module: &naga::Module, name: &str, source: &str, options: &FrontOptions) -> Result<Module, FrontError> {
    parse::from_naga(module, name, source, options)
}
