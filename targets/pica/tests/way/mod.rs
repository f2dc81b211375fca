//! The target, compiled in a way that it takes for some programs only.

use retroshade_ir::{Module, Numerics, Stage};
use retroshade_lower::{AsmOutput, CompileError, CompiledShader, Options, SimError, Simulator, TargetIsa, TextError, TextOptions};

/// The target with another compilation.
pub struct Way(pub fn(&Module, &Options) -> Result<CompiledShader, CompileError>);

impl TargetIsa for Way {
    fn name(&self) -> &'static str {
        "pica"
    }
    fn summary(&self) -> &'static str {
        "compiled in one way"
    }
    fn chips(&self) -> &'static [&'static str] {
        &[]
    }
    fn stages(&self) -> &'static [Stage] {
        retroshade_pica::isa().stages()
    }
    fn limits(&self, _: Option<&str>) -> Vec<(&'static str, String)> {
        Vec::new()
    }
    fn numerics(&self) -> &'static dyn Numerics {
        retroshade_pica::isa().numerics()
    }
    fn legalise_verified(&self, module: &Module, options: &Options) -> Result<Module, CompileError> {
        (self.0)(module, options).map(|s| s.legal)
    }
    fn compile_verified(&self, module: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
        (self.0)(module, &Options { check_allocation: true, ..options.clone() })
    }
    fn simulator<'s>(&'s self, shader: &'s CompiledShader) -> Result<Simulator<'s>, SimError> {
        retroshade_pica::isa().simulator(shader)
    }
    fn dis_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        retroshade_pica::isa().dis_line(line, options)
    }
    fn asm_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        retroshade_pica::isa().asm_line(line, options)
    }
    fn disassemble(&self, bytes: &[u8], options: &TextOptions) -> Result<String, TextError> {
        retroshade_pica::isa().disassemble(bytes, options)
    }
    fn assemble(&self, source: &str, options: &TextOptions) -> Result<AsmOutput, Vec<TextError>> {
        retroshade_pica::isa().assemble(source, options)
    }
    fn is_container(&self, bytes: &[u8]) -> bool {
        retroshade_pica::isa().is_container(bytes)
    }
    fn lint(&self, bytes: &[u8], options: &TextOptions) -> Result<Vec<TextError>, TextError> {
        retroshade_pica::isa().lint(bytes, options)
    }
    fn encoding_docs(&self) -> String {
        String::new()
    }
}
