//! The toy as a target: what the command line and the library ask of a machine.

use crate::{emit, isa, legal, select, sim};
use retroshade_emit::Code;
use retroshade_ir::{Module, Numerics, Reference, Stage};
use retroshade_lower::isa::{Stats, ir_ops};
use retroshade_lower::*;

/// The machine.
pub struct Toy;

/// Sixty registers, no memory to spill into.
fn registers() -> RegFile {
    RegFile {
        classes: [ClassSpec { name: "r", count: 60, slot_units: 1 }, NO_CLASS, NO_CLASS],
        slots: Vec::new(),
        inputs: Vec::new(),
        reserved: PRegSet::default(),
        steps: Default::default(),
    }
}

impl TargetIsa for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }
    fn summary(&self) -> &'static str {
        "A scalar machine of sixty registers, for the book"
    }
    fn chips(&self) -> &'static [&'static str] {
        &[]
    }
    fn stages(&self) -> &'static [Stage] {
        &[Stage::Vertex]
    }
    fn limits(&self, _: Option<&str>) -> Vec<(&'static str, String)> {
        vec![("registers", "60".to_string())]
    }
    fn numerics(&self) -> &'static dyn Numerics {
        &Reference
    }
    fn legalise_verified(&self, module: &Module, options: &Options) -> Result<Module, CompileError> {
        legal::legalise(module, options, &mut Trace::off())
    }
    fn compile_verified(&self, module: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
        let mut trace = Trace::new(options);
        let legal = legal::legalise(module, options, &mut trace)?;
        let (mut code, fired) = select::select(&legal)?;
        let mir = format!("{}{fired}\n", code.text());
        trace.text(Phase::Select, || mir.clone());
        let placed = place(&mut code, &registers(), &AllocOptions { check: options.check_allocation, ..AllocOptions::default() }, "Y0002")?;
        trace.text(Phase::Place, || placed.text());
        let Code { bytes, source_map, .. } = emit::emit(&code, &placed)?;
        let asm = isa::disassemble(&bytes).map_err(|e| CompileError::Internal(e.to_string()))?;
        trace.text(Phase::Emit, || asm.clone());
        let mut reflection = Reflection::from_module(module);
        reflection.target = "toy".to_string();
        Ok(CompiledShader {
            target: "toy",
            chip: None,
            stage: module.stage,
            container: bytes.clone(),
            reflection,
            stats: Stats {
                ir_ops: ir_ops(module),
                bytes: bytes.len() as u32,
                instructions: asm.lines().count() as u32,
                registers: placed.used[0],
                alloc_step: Some(placed.step.name().to_string()),
                ..Stats::default()
            },
            code: bytes,
            source_map: source_map.into_iter().filter(|(_, s)| !s.is_none()).collect(),
            legal,
            asm,
            extra: [("mir", mir.into_bytes()), ("regalloc", placed.text().into_bytes())].into_iter().collect(),
            dumps: trace.into_dumps(),
            branches: Vec::new(),
            seen: None,
        })
    }
    fn simulator<'s>(&'s self, shader: &'s CompiledShader) -> Result<Simulator<'s>, SimError> {
        Ok(Box::new(move |env, _| sim::run(&shader.code, &shader.legal, env)))
    }
    fn dis_line(&self, line: &str, _: &TextOptions) -> Result<String, TextError> {
        let bytes = hex(line).ok_or_else(|| TextError::new("expected bytes in hex"))?;
        isa::disassemble(&bytes).map(|t| t.trim_end().to_string())
    }
    fn asm_line(&self, line: &str, _: &TextOptions) -> Result<String, TextError> {
        Ok(isa::assemble_line(line)?.iter().map(|b| format!("{b:02x}")).collect())
    }
    fn disassemble(&self, bytes: &[u8], _: &TextOptions) -> Result<String, TextError> {
        isa::disassemble(bytes)
    }
    fn assemble(&self, source: &str, _: &TextOptions) -> Result<AsmOutput, Vec<TextError>> {
        let (mut code, mut errors) = (Vec::new(), Vec::new());
        for (n, line) in source.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            match isa::assemble_line(line) {
                Ok(bytes) => code.extend(bytes),
                Err(e) => errors.push(TextError { line: n as u32 + 1, column: 1, ..e }),
            }
        }
        if errors.is_empty() { Ok(AsmOutput { code, ..AsmOutput::default() }) } else { Err(errors) }
    }
    fn is_container(&self, _: &[u8]) -> bool {
        false
    }
    fn lint(&self, bytes: &[u8], _: &TextOptions) -> Result<Vec<TextError>, TextError> {
        isa::lint(bytes)
    }
    fn encoding_docs(&self) -> String {
        isa::TABLE.markdown()
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|c| u8::from_str_radix(std::str::from_utf8(c).ok()?, 16).ok()).collect()
}
