//! PICA200 (Nintendo 3DS): vertex and geometry programs on a float24 vector machine without memory.
#![forbid(unsafe_code)]

pub mod forms;
pub mod inst;
pub mod parse;
pub mod regs;
pub mod text;

use retroshade_ir::{Module, Numerics, Reference, ShaderEnv, ShaderResult, Span, Stage};
use retroshade_lower::{AsmOutput, CompileError, CompiledShader, Options, SimError, TargetIsa, TextError, TextOptions};

struct Pica;

/// The target.
pub fn isa() -> &'static dyn TargetIsa {
    &Pica
}

fn missing() -> TextError {
    TextError::new("not built yet")
}

impl TargetIsa for Pica {
    fn name(&self) -> &'static str {
        "pica"
    }
    fn summary(&self) -> &'static str {
        "PICA200 (Nintendo 3DS): vec4 float24, 16 temporaries, no memory, shared operand descriptors"
    }
    fn chips(&self) -> &'static [&'static str] {
        &[]
    }
    fn stages(&self) -> &'static [Stage] {
        &[Stage::Vertex, Stage::Geometry]
    }
    fn limits(&self, _: Option<&str>) -> Vec<(&'static str, String)> {
        [
            ("vertex program", "512 words"),
            ("geometry program", "4096 words"),
            ("operand descriptors", "128 (mad reaches 32)"),
            ("temporaries", "16 × f24x4 (r0-r15)"),
            ("inputs", "16 × f24x4 (v0-v15)"),
            ("outputs", "7 with a meaning (o0-o6)"),
            ("float uniforms", "96 × f24x4 (c0-c95), constants included"),
            ("integer uniforms", "4 × u8x4 (i0-i3)"),
            ("boolean uniforms", "16 (b0-b15)"),
            ("nesting", "if 8, call 4, loop 4"),
        ]
        .map(|(k, v)| (k, v.to_string()))
        .to_vec()
    }
    fn numerics(&self) -> &'static dyn Numerics {
        &Reference
    }
    fn legalise(&self, _: &Module, _: &Options) -> Result<Module, CompileError> {
        Err(CompileError::unsupported("C0000", Span::NONE, "not built yet"))
    }
    fn compile(&self, _: &Module, _: &Options) -> Result<CompiledShader, CompileError> {
        Err(CompileError::unsupported("C0000", Span::NONE, "not built yet"))
    }
    fn simulate(&self, _: &CompiledShader, _: &ShaderEnv) -> Result<ShaderResult, SimError> {
        Err(SimError::BadEnv("not built yet".to_string()))
    }
    fn dis_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        text::dis_line(line, options)
    }
    fn asm_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        text::asm_line(line, options)
    }
    fn disassemble(&self, _: &[u8], _: &TextOptions) -> Result<String, TextError> {
        Err(missing())
    }
    fn assemble(&self, _: &str, _: &TextOptions) -> Result<AsmOutput, Vec<TextError>> {
        Err(vec![missing()])
    }
    fn is_container(&self, _: &[u8]) -> bool {
        false
    }
    fn lint(&self, _: &[u8], _: &TextOptions) -> Result<Vec<TextError>, TextError> {
        Err(missing())
    }
    fn encoding_docs(&self) -> String {
        forms::TABLE.markdown()
    }
}
