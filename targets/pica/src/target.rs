//! The target as the rest of the compiler sees it.

use crate::abi::semantics;
use crate::container::{Shbin, join};
use crate::isa::{asm, dis, effects, forms, lint, text};
use crate::legal::numerics;
use crate::{compile, sim};
use retroshade_ir::{Diagnostic, Module, Numerics, Stage};
use retroshade_lower::validate::Program;
use retroshade_lower::{AsmOutput, CompileError, CompiledShader, Options, SimError, Simulator, Syntax, TargetIsa, TextError, TextOptions};

struct Pica;

/// The target.
pub fn isa() -> &'static dyn TargetIsa {
    &Pica
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
    fn own_options(&self) -> &'static [&'static str] {
        &["matrix-layout", "pack-uniforms"]
    }
    fn numerics(&self) -> &'static dyn Numerics {
        &numerics::Float24
    }
    fn legalise_verified(&self, module: &Module, options: &Options) -> Result<Module, CompileError> {
        compile::legal_module(module, options)
    }
    fn compile_verified(&self, module: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
        compile::compile(module, options)
    }
    fn simulator<'s>(&'s self, shader: &'s CompiledShader) -> Result<Simulator<'s>, SimError> {
        let program = sim::Loaded::new(shader)?;
        Ok(Box::new(move |env, course| program.run(env, course)))
    }
    fn link(&self, shaders: &[CompiledShader]) -> Result<Vec<u8>, CompileError> {
        match shaders {
            [one] => Ok(one.container.clone()),
            _ => join::join(shaders),
        }
    }
    fn container_extension(&self, _: Option<&str>) -> &'static str {
        "shbin"
    }
    fn keeps_functions(&self) -> bool {
        true
    }
    fn warnings(&self, modules: &[Module], _: &Options) -> Vec<(usize, Diagnostic)> {
        semantics::warnings(modules)
    }
    fn dis_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        text::dis_line(line, options)
    }
    fn asm_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        text::asm_line(line, options)
    }
    fn disassemble(&self, bytes: &[u8], options: &TextOptions) -> Result<String, TextError> {
        if !Shbin::is_shbin(bytes) {
            // Bare words have no operand descriptors: their fields are all that can be said.
            return dis::bare(bytes);
        }
        let bin = Shbin::read(bytes)?;
        if options.syntax == Syntax::Fields { dis::listing(&bin) } else { dis::disassemble(&bin) }
    }
    fn assemble(&self, source: &str, options: &TextOptions) -> Result<AsmOutput, Vec<TextError>> {
        if options.syntax == Syntax::Fields {
            return Err(vec![TextError::new("field listings are assembled line by line")]);
        }
        asm::assemble(source, !options.no_padding)
    }
    fn line_places(&self, asm: &str) -> Vec<Option<std::ops::Range<u32>>> {
        crate::isa::places::lines(asm)
    }
    fn is_container(&self, bytes: &[u8]) -> bool {
        Shbin::is_shbin(bytes)
    }
    fn lint(&self, bytes: &[u8], options: &TextOptions) -> Result<Vec<TextError>, TextError> {
        let findings = |bytes: &[u8]| Ok(lint::lint(&Shbin::read(bytes)?)?.into_iter().map(|f| f.error).collect());
        if Shbin::is_shbin(bytes) {
            return findings(bytes);
        }
        // Not a container: assembly text.
        let text = std::str::from_utf8(bytes).map_err(|_| TextError::new("neither a .shbin nor assembly text"))?;
        match self.assemble(text, options) {
            Ok(out) => out.container.map_or(Ok(Vec::new()), |c| findings(&c)),
            Err(errors) => Ok(errors),
        }
    }
    fn effects(&self, shader: &CompiledShader) -> Result<Vec<Program>, TextError> {
        effects::programs(&Shbin::read(&shader.container)?, &shader.legal)
    }
    fn encoding_docs(&self) -> String {
        forms::TABLE.markdown()
    }
}
