//! The calls of glslang: a text in, what it says and SPIR-V out.

use ::glslang::error::GlslangError;
use ::glslang::include::{IncludeHandler, IncludeResult, IncludeType};
use ::glslang::limits::ResourceLimits;
use ::glslang::{
    Compiler, CompilerOptions, Shader, ShaderInput, ShaderMessage, ShaderOptions, ShaderSource, ShaderStage, SourceLanguage, SpirvVersion,
    Target, VulkanVersion,
};
use retroshade_ir::Stage;

/// An entry point of HLSL: what it is called, and the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) function: &'a str,
}

/// A program for glslang.
pub(crate) struct Program<'a> {
    pub(crate) text: &'a str,
    pub(crate) stage: Stage,
    /// The entry point of HLSL; `None` is GLSL.
    pub(crate) hlsl: Option<Entry<'a>>,
    /// Whether OpenGL's loose uniforms and the like are taken, which Vulkan does not have.
    pub(crate) relaxed: bool,
    /// Whether the text asks for what only later versions of Vulkan have.
    pub(crate) late: bool,
    /// Whether only errors of the preprocessor count.
    pub(crate) preprocess: bool,
}

/// A file that a text includes: its name and text by the name in the source, that of the including file (empty: the first) and the depth.
pub(crate) type Include<'a> = &'a mut dyn FnMut(&str, &str, usize) -> Option<(String, String)>;

/// A program that glslang takes.
pub(crate) struct Parsed {
    shader: Shader<'static>,
}

struct Includer<'a>(Include<'a>);

impl IncludeHandler for Includer<'_> {
    fn include(&mut self, _: IncludeType, name: &str, from: &str, depth: usize) -> Option<IncludeResult> {
        let (name, data) = (self.0)(name, from, depth)?;
        // glslang takes both as C strings.
        (!name.contains('\0') && !data.contains('\0')).then_some(IncludeResult { name, data })
    }
}

fn stage(stage: Stage) -> ShaderStage {
    match stage {
        Stage::Vertex => ShaderStage::Vertex,
        Stage::Geometry => ShaderStage::Geometry,
        Stage::Fragment => ShaderStage::Fragment,
        Stage::Compute => ShaderStage::Compute,
    }
}

/// Parses a program; the error is glslang's log.
pub(crate) fn parse(program: &Program<'_>, include: Include<'_>) -> Result<Parsed, String> {
    let compiler = Compiler::acquire().ok_or("ERROR: glslang could not be started")?;
    if program.text.contains('\0') {
        return Err("ERROR: 0:1: '' : the text contains the character 0".into());
    }
    let source = ShaderSource::from(program.text);
    let mut messages = ShaderMessage::DISPLAY_ERROR_COLUMN;
    if program.hlsl.is_none() {
        messages |= ShaderMessage::CASCADING_ERRORS;
    } else {
        messages |= ShaderMessage::READ_HLSL | ShaderMessage::HLSL_OFFSETS | ShaderMessage::HLSL_DX9_COMPATIBLE;
    }
    if program.preprocess {
        messages |= ShaderMessage::ONLY_PREPROCESSOR;
    }
    let (version, spirv_version) =
        if program.late { (VulkanVersion::Vulkan1_3, SpirvVersion::SPIRV1_6) } else { (VulkanVersion::Vulkan1_0, SpirvVersion::SPIRV1_0) };
    let options = CompilerOptions {
        source_language: if program.hlsl.is_some() { SourceLanguage::HLSL } else { SourceLanguage::GLSL },
        target: Target::Vulkan { version, spirv_version },
        version_profile: None,
        messages,
    };
    let mut includer = Includer(include);
    let limits: ResourceLimits = ::glslang::limits::DEFAULT_LIMITS;
    let none: Option<&[(&str, Option<&str>)]> = None;
    let input = ShaderInput::new_with_limits(&source, &limits, stage(program.stage), &options, none, Some(&mut includer)).map_err(log)?;
    let mut shader = Shader::new(compiler, input);
    let places = ShaderOptions::AUTO_MAP_BINDINGS | ShaderOptions::AUTO_MAP_LOCATIONS;
    shader.options(if program.relaxed { places | ShaderOptions::VULKAN_RULES_RELAXED } else { places });
    if let Some(entry) = program.hlsl {
        shader.entry_point(entry.name);
        shader.source_entry_point(entry.function);
    }
    Ok(Parsed { shader: shader.parse().map_err(log)? })
}

fn log(e: GlslangError) -> String {
    match e {
        GlslangError::PreprocessError(l) | GlslangError::ParseError(l) | GlslangError::MapIoError(l) | GlslangError::LinkError(l) => l.log,
        other => format!("ERROR: {other}"),
    }
}

impl Parsed {
    /// The text after the preprocessor.
    pub(crate) fn preprocessed(&self) -> String {
        self.shader.get_preprocessed_code()
    }

    /// SPIR-V; the error is the log.
    pub(crate) fn words(&self) -> Result<Vec<u32>, String> {
        self.shader.compile().map_err(log)
    }
}
