//! A source in any of the languages to a verified module, and to code in one step.

use crate::Language;
use crate::diagnostics::messages;
use retroshade_frontend::{self as frontend, FrontError, FrontOptions};
use retroshade_ir::{self as ir, Diagnostic, Module, SourceMap, Span, Stage};
use retroshade_lower::{CompileError, CompiledShader, Options, TargetIsa};
use std::borrow::Cow;
use std::path::Path;
use thiserror::Error;

/// Why a source became no code.
#[derive(Clone, Debug, Error)]
#[error("{}", messages(diagnostics, sources, name))]
#[non_exhaustive]
pub struct SourceError {
    /// The source's name.
    pub name: String,
    /// The texts behind the spans.
    pub sources: SourceMap,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// The exit status of the command: 1 the source is wrong, 3 too much of something, 70 a bug of the compiler.
    pub status: u8,
}

impl SourceError {
    /// Messages about a source, with the exit status that they mean.
    pub fn new(name: &str, status: u8, sources: SourceMap, diagnostics: Vec<Diagnostic>) -> SourceError {
        SourceError { name: name.to_string(), sources, diagnostics, status }
    }
    fn plain(name: &str, code: &'static str, message: String) -> SourceError {
        SourceError::new(name, 1, SourceMap::default(), vec![Diagnostic::error(code, Span::NONE, message)])
    }
    fn front(name: &str, e: FrontError) -> SourceError {
        let status = if e.is_limit() { 3 } else { 1 };
        SourceError::new(name, status, e.sources, e.diagnostics)
    }
    /// A compilation's failure, with the module that was compiled.
    pub fn compile(name: &str, e: CompileError, module: &Module) -> SourceError {
        let e = e.placed(module);
        SourceError::new(name, e.exit_status(), module.sources.clone(), e.diagnostics())
    }
}

/// Text without the byte-order mark that some editors put before it.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// The text of a source. Comments may be in any encoding: other bytes than UTF-8's become a character that no language has.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(without_mark(bytes))
}

/// Reads and verifies a source. `name` stands in messages, and is where `#include` looks from.
pub fn read(language: Language, name: &str, bytes: &[u8], options: &FrontOptions) -> Result<Module, SourceError> {
    let front = |r: Result<Module, FrontError>| r.map_err(|e| SourceError::front(name, e));
    let text = text(bytes);
    let module = match language {
        Language::Ir => ir_text(name, without_mark(bytes), options)?,
        Language::Spirv => front(frontend::spirv(name, bytes, options))?,
        Language::Wgsl => front(frontend::wgsl(name, &text, options))?,
        Language::Glsl => front(frontend::glsl(name, &text, options))?,
        Language::Hlsl => front(frontend::hlsl(name, &text, options))?,
    };
    match ir::verify(&module) {
        Ok(()) => Ok(module),
        // A source in another language was valid, so a rule broken here is the front end's fault.
        Err(diagnostics) => {
            let status = if language == Language::Ir { 1 } else { 70 };
            Err(SourceError::new(name, status, module.sources, diagnostics))
        }
    }
}

/// The names and stages of a source's entry points, where its language has several in one text; none of a source that cannot be read.
pub fn entries(language: Language, bytes: &[u8]) -> Vec<(String, Stage)> {
    match language {
        Language::Wgsl => frontend::wgsl_entries(&text(bytes)),
        Language::Spirv => frontend::spirv_entries(bytes),
        Language::Ir | Language::Glsl | Language::Hlsl => Vec::new(),
    }
}

fn ir_text(name: &str, bytes: &[u8], options: &FrontOptions) -> Result<Module, SourceError> {
    let mut module = ir::parse_bytes(name, bytes).map_err(|e| {
        let status = if e.is_limit() { 3 } else { 1 };
        SourceError::new(name, status, e.sources, e.diagnostics)
    })?;
    if let Some(e) = options.entry.as_ref().filter(|e| **e != module.name) {
        return Err(SourceError::plain(name, "C0007", format!("there is no entry `{e}`; the entry is `{}`", module.name)));
    }
    if let Some(s) = options.stage.filter(|s| *s != module.stage) {
        let m = format!("this is a {} program, not a {} program", module.stage.name(), s.name());
        return Err(SourceError::plain(name, "C0006", m));
    }
    for (n, lo, hi) in &options.ranges {
        module.declare_range(n, *lo, *hi).map_err(|e| SourceError::plain(name, "F0016", format!("the range of `{n}`: {e}")))?;
    }
    Ok(module)
}

/// The front end's options as a machine likes its modules; a caller adds its own wishes.
pub fn front_options(isa: &dyn TargetIsa) -> FrontOptions {
    FrontOptions { functions: isa.keeps_functions(), ..FrontOptions::default() }
}

/// Compiles a source for a machine in one step. The language and, for GLSL and HLSL, the stage follow from the name's ending, and what the
/// machine wants of the front end is chosen for it.
///
/// ```
/// # #[cfg(all(feature = "wgsl", feature = "pica"))] {
/// let source = "@vertex fn main(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> { return p; }";
/// let pica = retroshade_core::target("pica").ok_or("no such target")?;
/// let shader = retroshade_core::compile("a.wgsl", source.as_bytes(), pica, &Default::default(), &Default::default())?;
/// assert!(shader.container.starts_with(b"DVLB"));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compile(
    name: &str,
    bytes: &[u8],
    isa: &dyn TargetIsa,
    front: &FrontOptions,
    options: &Options,
) -> Result<CompiledShader, SourceError> {
    let Some((language, stage)) = Language::of_path(Path::new(name)) else {
        return Err(SourceError::plain(name, "C0002", "no language has this ending".to_string()));
    };
    let front = FrontOptions { functions: isa.keeps_functions(), stage: front.stage.or(stage), ..front.clone() };
    let module = read(language, name, bytes, &front)?;
    let options = Options { verify: false, ..options.clone() };
    isa.compile(&module, &options).map_err(|e| SourceError::compile(name, e, &module))
}

#[cfg(all(test, feature = "glsl"))]
mod tests {
    use super::*;

    #[test]
    fn comments_may_be_in_any_encoding() {
        let options = FrontOptions { stage: Some(Stage::Fragment), ..FrontOptions::default() };
        let text = b"// \xe9l\xe8ve \xff\nfloat4 main(float4 v : COLOR) : COLOR { return v; }\n";
        read(Language::Hlsl, "a.frag.cg", text, &options).expect("a comment");
        let text = b"float4 main(float4 v : COLOR) : COLOR {\n    return v\xe9;\n}\n";
        let e = read(Language::Hlsl, "a.frag.cg", text, &options).expect_err("no comment").to_string();
        assert!(e.contains("2:13") && e.contains("F0011") && e.contains("no UTF-8"), "{e}");
    }
}
