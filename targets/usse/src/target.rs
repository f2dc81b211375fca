//! The target interface of USSE.

use crate::abi::varyings;
use crate::compile;
use crate::container::{self, interface};
use crate::isa::{asm, effects, forms, lint};
use crate::legal::numerics::UsseNumerics;
use crate::sim::load;
use retroshade_ir::{Diagnostic, Module, Numerics, ShaderEnv, ShaderResult, Stage};
use retroshade_lower::validate::Program;
use retroshade_lower::{AsmOutput, CompileError, CompiledShader, Course, Options, SimError, Simulator, TargetIsa, TextError, TextOptions};

struct Usse;

/// The one instance.
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
            ("temporaries r", "120 of 32 bits"),
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
    fn own_options(&self) -> &'static [&'static str] {
        &["relaxed-precision", "color-format"]
    }
    fn numerics(&self) -> &'static dyn Numerics {
        static NUM: UsseNumerics = UsseNumerics;
        &NUM
    }
    fn legalise_verified(&self, module: &Module, options: &Options) -> Result<Module, CompileError> {
        compile::legal(module, options)
    }
    fn compile_verified(&self, module: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
        compile::compile(module, options)
    }
    fn simulator<'s>(&'s self, shader: &'s CompiledShader) -> Result<Simulator<'s>, SimError> {
        let program = load::Program::read(&shader.container)?;
        Ok(Box::new(move |env, course| program.run(&shader.legal, env, course)))
    }
    fn container_interface(&self, bytes: &[u8]) -> Result<Vec<Module>, TextError> {
        Ok(vec![interface::of(&container::read(bytes)?)?.module])
    }
    fn run_container(&self, bytes: &[u8], _: &Module, env: &ShaderEnv) -> Result<ShaderResult, SimError> {
        load::execute(&load::Program::read(bytes)?, env, false, Course::default())
    }
    fn warnings(&self, modules: &[Module], _: &Options) -> Vec<(usize, Diagnostic)> {
        modules.iter().enumerate().flat_map(|(n, m)| varyings::warnings(m).into_iter().map(move |w| (n, w))).collect()
    }
    fn dis_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        asm::dis_line(line, options)
    }
    fn asm_line(&self, line: &str, _: &TextOptions) -> Result<String, TextError> {
        asm::parse(line).map(|w| format!("{w:016x}"))
    }
    fn disassemble(&self, bytes: &[u8], options: &TextOptions) -> Result<String, TextError> {
        let mut out = String::new();
        if self.is_container(bytes) {
            let g = container::read(bytes)?;
            out.push_str(&container::describe(&g));
            for (title, words) in [("secondary", &g.secondary), ("primary", &g.primary)] {
                if !words.is_empty() {
                    out.push_str(&format!(".{title}\n"));
                    let raw: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                    asm::disassemble_code(&raw, options.syntax, &mut out);
                }
            }
            return Ok(out);
        }
        asm::disassemble_code(bytes, options.syntax, &mut out);
        Ok(out)
    }
    fn assemble(&self, source: &str, _: &TextOptions) -> Result<AsmOutput, Vec<TextError>> {
        asm::assemble(source)
    }
    fn container_extension(&self, _: Option<&str>) -> &'static str {
        "gxp"
    }
    fn line_places(&self, asm: &str) -> Vec<Option<std::ops::Range<u32>>> {
        asm.lines().map(crate::isa::places::line).collect()
    }
    fn is_container(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(b"GXP\0")
    }
    fn lint(&self, bytes: &[u8], _: &TextOptions) -> Result<Vec<TextError>, TextError> {
        lint::lint(bytes)
    }
    fn effects(&self, shader: &CompiledShader) -> Result<Vec<Program>, TextError> {
        effects::programs(&container::read(&shader.container)?, &shader.legal)
    }
    fn encoding_docs(&self) -> String {
        forms::TABLE.markdown()
    }
}
