//! The target's face to the rest of the compiler: `TargetIsa` for Tesla.

use crate::compile::FUELS;
use crate::container;
use crate::isa::chip;
use crate::isa::decode::size_of;
use crate::isa::flexgrip;
use crate::isa::forms::TABLE;
use crate::isa::listing::{spaces, word_text};
use crate::isa::parse;
use crate::legal::{self, numerics::TeslaNumerics};
use retroshade_ir::{Diagnostic, Module, Numerics, Stage};
use retroshade_lower::driver::Trace;
use retroshade_lower::validate::Program;
use retroshade_lower::{
    AsmOutput, BranchOrder, CompileError, CompiledShader, Options, SimError, Simulator, Syntax, TargetIsa, TextError, TextOptions,
};

struct Tesla;

/// The target.
pub fn isa() -> &'static dyn TargetIsa {
    &Tesla
}

/// Words of one line of text.
fn line_word(line: &str, options: &TextOptions) -> Result<(u64, u8), TextError> {
    let chip = chip::of_text(options)?;
    if options.syntax == Syntax::Fields {
        let d = TABLE.parse_listing(line).map_err(|e| TextError::new(e.to_string()))?;
        let w = TABLE.encode_values(d.form, &d.values).map_err(|e| TextError::new(e.to_string()))?;
        return Ok((w as u64, TABLE.form(d.form).size));
    }
    let mut error = None;
    for s in spaces(options) {
        match parse::assemble_line(line, s, &chip) {
            Ok(r) => return Ok(r),
            Err(e) => error = error.or(Some(e)),
        }
    }
    Err(TextError::new(error.unwrap_or_default()))
}

fn hex_words(word: u64, size: u8) -> String {
    if size == 4 { format!("{:08x}", word as u32) } else { format!("{:08x} {:08x}", word as u32, word >> 32) }
}

impl TargetIsa for Tesla {
    fn name(&self) -> &'static str {
        "tesla"
    }
    fn summary(&self) -> &'static str {
        "NVIDIA Tesla (G80 to GT21x): scalar SIMT, 4- and 8-byte instructions, divergence stack"
    }
    fn chips(&self) -> &'static [&'static str] {
        chip::NAMES
    }
    fn stages(&self) -> &'static [Stage] {
        Stage::ALL
    }
    fn limits(&self, chip: Option<&str>) -> Vec<(&'static str, String)> {
        let c = chip.and_then(chip::by_name).unwrap_or(&chip::CHIPS[0]);
        let yes = |b: bool| if b { "yes" } else { "no" }.to_string();
        if c.flexgrip {
            return vec![
                ("chip", c.name.to_string()),
                ("stages", "compute; whole numbers, of floats only products".to_string()),
                ("$r registers", format!("{} of 32 bits", flexgrip::REGISTERS)),
                ("register file of a multiprocessor", format!("{} words", c.register_file)),
                ("constant memory", format!("{} bytes", flexgrip::CONSTANT_BYTES)),
                ("global memory", format!("{} bytes, seven buffers", flexgrip::GLOBAL_BYTES)),
                ("shared memory s[]", "16 KiB a workgroup".to_string()),
                ("threads per workgroup", "512".to_string()),
                ("divergence stack", format!("{} entries", flexgrip::STACK)),
            ];
        }
        vec![
            ("chip", c.name.to_string()),
            ("$r registers", "126 of 32 bits, shared by up to 32 threads of a warp; halves in $r0-$r63".to_string()),
            ("register file of a multiprocessor", format!("{} words", c.register_file)),
            ("$c condition registers", "4".to_string()),
            ("$a address registers", "4 of 16 bits".to_string()),
            ("constant spaces", "c0[]-c15[], 64 KiB each".to_string()),
            ("outputs o[]", format!("127 words{}", if c.d3d101 { "" } else { ", 68 of a vertex program" })),
            ("shared memory s[]", "16 KiB a workgroup".to_string()),
            ("threads per workgroup", "512".to_string()),
            ("instruction size", "4 or 8 bytes".to_string()),
            ("texture arguments", "4".to_string()),
            ("global atomics, long s[] loads", yes(c.sm11)),
            ("votes, locks, saturated products", yes(c.sm12)),
            ("double precision", yes(c.fp64)),
            ("gather, sample index", yes(c.d3d101)),
        ]
    }
    fn warnings(&self, modules: &[Module], options: &Options) -> Vec<(usize, Diagnostic)> {
        let Ok(chip) = chip::of_options(options) else { return Vec::new() };
        let masks = modules.iter().enumerate().filter_map(|(n, m)| Some((n, legal::sample_mask(m)?.1)));
        let what = format!("{} takes no sample mask: all samples that a primitive covers are written (`--chip gt215` has one)", chip.name);
        masks.filter(|_| !chip.d3d101).map(|(n, span)| (n, Diagnostic::warning("T0035", span, what.clone()))).collect()
    }
    fn comment(&self) -> &'static str {
        "//"
    }
    fn numerics(&self) -> &'static dyn Numerics {
        &TeslaNumerics
    }
    fn legalise_verified(&self, module: &Module, options: &Options) -> Result<Module, CompileError> {
        let mut m = legal::front(module, options, &mut Trace::off())?;
        // How far loops are unrolled depends on the code, and what takes too many registers is compiled in another way.
        let unrolled = legal::unroll(&mut m, options, FUELS[0], &mut Trace::off());
        if unrolled || module.stage == Stage::Compute || options.max_registers.is_some() {
            return Ok(crate::compile::compile(module, options)?.legal);
        }
        Ok(legal::shape(m, options, &mut Trace::off())?.module)
    }
    fn compile_verified(&self, module: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
        crate::compile::compile(module, options)
    }
    fn branch_orders(&self) -> &'static [BranchOrder] {
        &[BranchOrder::Next, BranchOrder::Taken]
    }
    fn simulator<'s>(&'s self, shader: &'s CompiledShader) -> Result<Simulator<'s>, SimError> {
        let (code, abi) = container::read(&shader.container)
            .ok_or_else(|| SimError::BadEnv("the container cannot be read; containers of Tesla take the feature `elf`".to_string()))?;
        let program = crate::sim::Program::new(&code, shader.stage, chip::by_name(&abi.chip))?;
        Ok(Box::new(move |env, course| crate::sim::bind::simulate(&program, &abi, &shader.legal, env, course)))
    }
    fn dis_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        let words: Option<Vec<u32>> = line.split_whitespace().map(|w| u32::from_str_radix(w.trim_start_matches("0x"), 16).ok()).collect();
        let word = match words.as_deref() {
            Some([w]) if size_of(*w) == 4 => *w as u64,
            Some([w0, w1]) if size_of(*w0) == 8 => *w0 as u64 | (*w1 as u64) << 32,
            Some([_]) => return Err(TextError::new("a long instruction has two words")),
            Some([_, _]) => return Err(TextError::new("a short instruction has one word")),
            _ => return Err(TextError::new("expected one or two hexadecimal words")),
        };
        word_text(word, options)
    }
    fn asm_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        let (word, size) = line_word(line, options)?;
        Ok(hex_words(word, size))
    }
    fn disassemble(&self, bytes: &[u8], options: &TextOptions) -> Result<String, TextError> {
        match container::read(bytes) {
            Some((code, abi)) => {
                let options = TextOptions { stage: options.stage.or(Stage::from_name(&abi.stage)), ..options.clone() };
                Ok(format!("{}{}", abi.describe(), crate::isa::listing::listing(&code, &options)?))
            }
            None => crate::isa::listing::listing(bytes, options),
        }
    }
    fn assemble(&self, source: &str, options: &TextOptions) -> Result<AsmOutput, Vec<TextError>> {
        let mut code = Vec::new();
        let mut errors = Vec::new();
        for (n, line) in source.lines().enumerate() {
            let line = line.split("//").next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            match line_word(line, options) {
                Ok((w, size)) => code.extend_from_slice(&w.to_le_bytes()[..size as usize]),
                Err(e) => errors.push(TextError { line: n as u32 + 1, column: 1, ..e }),
            }
        }
        if errors.is_empty() { Ok(AsmOutput { code, ..AsmOutput::default() }) } else { Err(errors) }
    }
    fn line_places(&self, asm: &str) -> Vec<Option<std::ops::Range<u32>>> {
        asm.lines().map(crate::isa::places::line).collect()
    }
    fn is_container(&self, bytes: &[u8]) -> bool {
        container::read(bytes).is_some()
    }
    fn lint(&self, bytes: &[u8], options: &TextOptions) -> Result<Vec<TextError>, TextError> {
        match container::read(bytes) {
            Some((code, abi)) => {
                let stage = options.stage.or(Stage::from_name(&abi.stage));
                let chip = options.chip.clone().or(Some(abi.chip.clone()));
                crate::isa::lint::lint(&code, Some(abi.registers), &TextOptions { stage, chip, ..options.clone() })
            }
            None => crate::isa::lint::lint(bytes, None, options),
        }
    }
    fn effects(&self, shader: &CompiledShader) -> Result<Vec<Program>, TextError> {
        let (code, abi) = container::read(&shader.container).ok_or_else(|| TextError::new("the container cannot be read"))?;
        Ok(vec![crate::isa::effects::program(&code, &abi, &shader.legal)?])
    }
    fn encoding_docs(&self) -> String {
        TABLE.markdown()
    }
}
