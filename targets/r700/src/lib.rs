//! AMD R700 (RV770 family): clauses, five-wide instruction groups and a control-flow program.
//!
//! Facts come from AMD's "R700-Family Instruction Set Architecture" and from what open drivers program; `docs/targets/r700.md`
//! describes the machine as this crate sees it.
#![forbid(unsafe_code)]

pub mod forms;
pub mod inst;
pub mod program;
pub mod text;

use retroshade_ir::{Module, Numerics, Reference, ShaderEnv, ShaderResult, Span, Stage};
use retroshade_lower::{AsmOutput, CompileError, CompiledShader, Options, SimError, TargetIsa, TextError, TextOptions};

struct R700;

/// The target.
pub fn isa() -> &'static dyn TargetIsa {
    &R700
}

impl TargetIsa for R700 {
    fn name(&self) -> &'static str {
        "r700"
    }
    fn summary(&self) -> &'static str {
        "AMD R700 (RV770 family), VLIW5 with a control-flow program"
    }
    fn chips(&self) -> &'static [&'static str] {
        &["rv770", "rv730", "rv740", "rv710"]
    }
    fn stages(&self) -> &'static [Stage] {
        &[Stage::Vertex, Stage::Geometry, Stage::Fragment]
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
    fn dis_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        text::dis_line(line, options.syntax)
    }
    fn asm_line(&self, line: &str, _: &TextOptions) -> Result<String, TextError> {
        text::asm_line(line).map(|w| text::hex(&w))
    }
    fn disassemble(&self, bytes: &[u8], options: &TextOptions) -> Result<String, TextError> {
        Ok(program::Program::decode(&program::words_of(bytes)?)?.listing(options.syntax))
    }
    fn assemble(&self, source: &str, _: &TextOptions) -> Result<AsmOutput, Vec<TextError>> {
        let words = program::assemble(source)?;
        Ok(AsmOutput { code: words.iter().flat_map(|w| w.to_le_bytes()).collect(), container: None, warnings: Vec::new() })
    }
    fn is_container(&self, _: &[u8]) -> bool {
        false
    }
    fn lint(&self, _: &[u8], _: &TextOptions) -> Result<Vec<TextError>, TextError> {
        Ok(Vec::new())
    }
    fn encoding_docs(&self) -> String {
        forms::TABLE.markdown()
    }
}
