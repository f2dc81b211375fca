//! The target interface of USSE.

use crate::{asm, forms};
use retroshade_ir::{Module, Numerics, Reference, ShaderEnv, ShaderResult, Span, Stage};
use retroshade_lower::{AsmOutput, CompileError, CompiledShader, Options, SimError, TargetIsa, TextError, TextOptions};

struct Usse;

/// The target.
pub fn isa() -> &'static dyn TargetIsa {
    &Usse
}

impl TargetIsa for Usse {
    fn name(&self) -> &'static str {
        "usse"
    }
    fn summary(&self) -> &'static str {
        "PowerVR SGX543 USSE (PlayStation Vita): 64-bit words, vec2/vec4 floats, internal registers, .gxp containers"
    }
    fn chips(&self) -> &'static [&'static str] {
        &[]
    }
    fn stages(&self) -> &'static [Stage] {
        &[Stage::Vertex, Stage::Fragment]
    }
    fn limits(&self, _: Option<&str>) -> Vec<(&'static str, String)> {
        [
            ("temporaries r", "118 of 32 bits"),
            ("primary attributes pa", "up to 128 of 32 bits"),
            ("secondary attributes sa", "up to 128 of 32 bits (uniforms, literals, texture state)"),
            ("outputs o", "position 4, two colours 4, fog 2, ten texture coordinates 2-4, point size 1, clip distances 8"),
            ("internal registers i", "3 of 128 bits, lost at texture reads, loads, branches and waits"),
            ("predicates", "4"),
            ("texture units", "16"),
            ("inputs of a fragment program", "10 texture coordinates, 2 colours, fog, position"),
            ("instruction", "one 64-bit word"),
        ]
        .map(|(k, v)| (k, v.to_string()))
        .to_vec()
    }
    fn numerics(&self) -> &'static dyn Numerics {
        &Reference
    }
    fn legalise(&self, _: &Module, _: &Options) -> Result<Module, CompileError> {
        Err(CompileError::unsupported("U0000", Span::NONE, "not built yet"))
    }
    fn compile(&self, _: &Module, _: &Options) -> Result<CompiledShader, CompileError> {
        Err(CompileError::unsupported("U0000", Span::NONE, "not built yet"))
    }
    fn simulate(&self, _: &CompiledShader, _: &ShaderEnv) -> Result<ShaderResult, SimError> {
        Err(SimError::BadEnv("not built yet".to_string()))
    }
    fn dis_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        asm::dis_line(line, options)
    }
    fn asm_line(&self, line: &str, _: &TextOptions) -> Result<String, TextError> {
        asm::parse(line).map(|w| format!("{w:016x}"))
    }
    fn disassemble(&self, bytes: &[u8], options: &TextOptions) -> Result<String, TextError> {
        let mut out = String::new();
        asm::disassemble_code(bytes, options.syntax, &mut out);
        Ok(out)
    }
    fn assemble(&self, source: &str, _: &TextOptions) -> Result<AsmOutput, Vec<TextError>> {
        asm::assemble(source)
    }
    fn is_container(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(b"GXP\0")
    }
    fn lint(&self, _: &[u8], _: &TextOptions) -> Result<Vec<TextError>, TextError> {
        Ok(Vec::new())
    }
    fn encoding_docs(&self) -> String {
        forms::TABLE.markdown()
    }
}
