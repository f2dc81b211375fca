//! PowerVR USSE (SGX543, PlayStation Vita): encodings, containers, simulator and code generation.
//!
//! Facts: the ISA sheet of the machine; `docs/targets/usse.md` tells the story.
#![forbid(unsafe_code)]

pub mod dual;
pub mod forms;
pub mod operands;
pub mod regs;
pub mod swizzle;
pub mod text;

use retroshade_ir::{Module, Numerics, Reference, ShaderEnv, ShaderResult, Span, Stage};
use retroshade_lower::{AsmOutput, CompileError, CompiledShader, Options, SimError, TargetIsa, TextError, TextOptions};

struct Usse;

/// The target.
pub fn isa() -> &'static dyn TargetIsa {
    &Usse
}

fn missing() -> TextError {
    TextError::new("not built yet")
}

impl TargetIsa for Usse {
    fn name(&self) -> &'static str {
        "usse"
    }
    fn summary(&self) -> &'static str {
        ""
    }
    fn chips(&self) -> &'static [&'static str] {
        &[]
    }
    fn stages(&self) -> &'static [Stage] {
        &[]
    }
    fn limits(&self, _: Option<&str>) -> Vec<(&'static str, String)> {
        Vec::new()
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
    fn dis_line(&self, _: &str, _: &TextOptions) -> Result<String, TextError> {
        Err(missing())
    }
    fn asm_line(&self, _: &str, _: &TextOptions) -> Result<String, TextError> {
        Err(missing())
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
        String::new()
    }
}
