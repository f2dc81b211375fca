//! What the rest of the compiler asks of this target.

use crate::container::{check, gsh, interface, link, registers, stages};
use crate::isa::{effects, forms, lint, program, text};
use crate::legal::numerics;
use crate::place::sched;
use crate::sim::{self, Reading};
use crate::{abi, compile, container};
use retroshade_ir::interp::Branch;
use retroshade_ir::{Module, Numerics, ShaderEnv, ShaderResult, Stage};
use retroshade_lower::driver::Phase;
use retroshade_lower::isa::{Stats, ir_ops};
use retroshade_lower::validate::Program;
use retroshade_lower::{
    AsmOutput, CompileError, CompiledShader, Course, Options, Reflection, SimError, Simulator, Syntax, TargetIsa, TextError, TextOptions,
};

struct R700;

/// The file of a vertex program that runs in front of a geometry program, among a shader's extras.
const BEFORE_GEOMETRY: &str = "gsh.geometry";
/// The file of a vertex or geometry program that hands built-in values on to a pixel program.
const HANDING_ON: &str = "gsh.handing-on";

/// Registers of a lane that wavefronts share: 256, of which each of the two that alternate has four clause temporaries.
const LANE_REGISTERS: u64 = 256 - 2 * 4;

/// The programs in a container or plain code, decoded.
fn programs(bytes: &[u8]) -> Result<Vec<(String, program::Program)>, TextError> {
    let all = container::programs(bytes).map_err(TextError::new)?;
    all.into_iter().map(|(name, code)| Ok((name, program::Program::decode(&program::words_of(code)?)?))).collect()
}

/// The target.
pub(crate) fn isa() -> &'static dyn TargetIsa {
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
        &["rv770", "rv730", "rv740", "rv710", abi::LATTE]
    }
    fn stages(&self) -> &'static [Stage] {
        &[Stage::Vertex, Stage::Geometry, Stage::Fragment]
    }
    fn limits(&self, _: Option<&str>) -> Vec<(&'static str, String)> {
        vec![
            ("registers", format!("{} vec4 (and 4 clause temporaries)", abi::MAX_GPRS)),
            ("ALU clause", format!("{} slots of 64 bits, literals included", sched::CLAUSE_SLOTS)),
            ("fetch clause", format!("{} fetches", sched::CLAUSE_FETCHES)),
            ("constant buffers", abi::MAX_BUFFERS.to_string()),
            ("colour exports", "8".to_string()),
            ("parameters", "32".to_string()),
        ]
    }
    fn numerics(&self) -> &'static dyn Numerics {
        &numerics::NUMERICS
    }
    fn legalise_verified(&self, module: &Module, options: &Options) -> Result<Module, CompileError> {
        compile::compile(module, options).map(|c| c.legal)
    }
    fn compile_verified(&self, module: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
        let mut c = compile::compile(module, options)?;
        let code: Vec<u8> = c.emitted.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let program = program::Program::decode(&c.emitted.words).map_err(|e| CompileError::Internal(e.to_string()))?;
        let problems = lint::check(&program);
        if let Some(p) = problems.first() {
            return Err(CompileError::Internal(format!("illegal code: {p}")));
        }
        let chip = options.chip.clone().unwrap_or_else(|| "rv770".to_string());
        let registers = registers::registers(&c.emitted, c.gprs, &c.legal, &c.abi);
        let n = c.emitted.counts;
        let stats = Stats {
            ir_ops: ir_ops(module),
            bytes: code.len() as u32,
            instructions: (n.slots + n.fetches + n.cf) as u32,
            registers: c.gprs as u32,
            detail: [
                ("alu_groups", n.groups),
                ("alu_slots", n.slots),
                ("literals", n.literals),
                ("cf", n.cf),
                ("clauses", n.clauses),
                ("fetches", n.fetches),
                ("stack", n.stack),
                ("shortest_groups", n.paths[0].groups),
                ("longest_groups", n.paths[1].groups),
                ("shortest_clauses", n.paths[0].clauses),
                ("longest_clauses", n.paths[1].clauses),
                ("scratch_bytes", c.emitted.scratch as u64 * 16),
                ("wavefronts", LANE_REGISTERS / (c.gprs as u64).max(1)),
            ]
            .into_iter()
            // A program without ALU code has no groups that could be compared.
            .filter(|(name, n)| *n > 0 || !name.starts_with("alu_") && *name != "scratch_bytes")
            .collect(),
            alloc_step: Some("first fit".to_string()),
        };
        let mut reflection = Reflection::from_module(module);
        abi::reflect(&mut reflection, &c.abi);
        c.trace.text(Phase::Emit, || program.listing(Syntax::Native));
        let (hex, asm) = if options.texts { (program.hex_lines(), program.listing(Syntax::Native)) } else { Default::default() };
        let mut extra: indexmap::IndexMap<&'static str, Vec<u8>> =
            [("hex", hex.into_bytes()), ("mir", c.mir.into_bytes()), ("regalloc", c.places.into_bytes())].into_iter().collect();
        let container = match c.abi.platform {
            abi::Platform::Object => container::build(&code, &registers, &c.parts, c.abi.constants.as_ref(), module.stage, &chip),
            abi::Platform::WiiU => {
                let loops = program.cf.iter().any(|w| w.form() == forms::cf::LOOP_START_DX10);
                let part = |name: &str| c.parts.iter().find(|p| p.name == name);
                let bytes = |p: &container::Part| p.words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
                let copy = part("copy").map(bytes);
                let all = [registers, part("copy").map(|p| p.registers.clone()).unwrap_or_default()].concat();
                let one = gsh::Shader {
                    module: &c.legal,
                    reflection: &reflection,
                    code: &code,
                    registers: &all,
                    copy: copy.as_deref(),
                    before_geometry: false,
                    loops,
                };
                if let Some(p) = part(stages::HANDING_ON) {
                    let (code, copy) = (bytes(p), part(stages::HANDING_ON_COPY));
                    let registers = [p.registers.clone(), copy.map(|c| c.registers.clone()).unwrap_or_default()].concat();
                    let copy = copy.map(bytes);
                    let shader = gsh::Shader { code: &code, registers: &registers, copy: copy.as_deref(), ..one };
                    extra.insert(HANDING_ON, gsh::file(gsh::blocks(&shader)));
                }
                if let Some(es) = part("es") {
                    let code = bytes(es);
                    let registers = [es.registers.clone(), registers::attributes(&c.legal, &c.abi)].concat();
                    let shader = gsh::Shader { code: &code, registers: &registers, before_geometry: true, ..one };
                    extra.insert(BEFORE_GEOMETRY, gsh::file(gsh::blocks(&shader)));
                }
                gsh::file(gsh::blocks(&one))
            }
        };
        Ok(CompiledShader {
            target: "r700",
            chip: Some(chip.clone()),
            stage: module.stage,
            container,
            code,
            reflection,
            stats,
            source_map: c.emitted.map,
            branches: c.emitted.branches.into_iter().map(|(at, block)| (at, Branch { func: c.legal.entry, block })).collect(),
            legal: c.legal,
            asm,
            extra,
            dumps: c.trace.into_dumps(),
            seen: None,
        })
    }
    fn simulator<'s>(&'s self, shader: &'s CompiledShader) -> Result<Simulator<'s>, SimError> {
        let bad = |e: String| SimError::BadEnv(e);
        let program = program::words_of(&shader.code).and_then(|w| program::Program::decode(&w)).map_err(|e| bad(e.to_string()))?;
        let abi = abi::Abi::of(&shader.legal, abi::Platform::of(shader.chip.as_deref())).map_err(|e| bad(e.to_string()))?;
        let fetch = match shader.stage {
            Stage::Vertex => {
                let words = stages::fetch_shader(&stages::attributes(&shader.legal, &abi)).map_err(|e| bad(e.to_string()))?;
                Some(program::Program::decode(&words).map_err(|e| bad(e.to_string()))?)
            }
            _ => None,
        };
        let run = move |env: &ShaderEnv, course: Course| {
            sim::run_in(Reading::LeaveAlone, course, &program, fetch.as_ref(), &shader.legal, &abi, env)
        };
        Ok(Box::new(run))
    }
    fn container_interface(&self, bytes: &[u8]) -> Result<Vec<Module>, TextError> {
        Ok(interface::of(bytes)?.into_iter().map(|e| e.module).collect())
    }
    fn container_reflection(&self, bytes: &[u8]) -> Result<Vec<Reflection>, TextError> {
        let reflected = |e: interface::Entry<'_>| {
            let mut r = Reflection::from_container(&e.module);
            abi::reflect(&mut r, &e.abi);
            r
        };
        Ok(interface::of(bytes)?.into_iter().map(reflected).collect())
    }
    fn run_container(&self, bytes: &[u8], interface: &Module, env: &ShaderEnv) -> Result<ShaderResult, SimError> {
        sim::run_file(bytes, &interface.name, env)
    }
    fn link(&self, shaders: &[CompiledShader]) -> Result<Vec<u8>, CompileError> {
        if let [one] = shaders {
            return Ok(one.container.clone());
        }
        if shaders.iter().any(|s| !gsh::is_file(&s.container)) {
            let message = "only the Wii U's files hold several programs: --chip latte";
            return Err(CompileError::unsupported("C0001", retroshade_ir::Span::NONE, message));
        }
        let of = |stage: Stage| shaders.iter().find(|s| s.stage == stage);
        let geometry = of(Stage::Geometry);
        let before = geometry.or(of(Stage::Vertex));
        let handing_on = match (of(Stage::Fragment), before) {
            (Some(pixel), Some(before)) => link::handed_on(&pixel.legal, &before.legal)?,
            _ => false,
        };
        let mut blocks = Vec::new();
        for s in shaders {
            let file = match (geometry, before) {
                (Some(_), _) if s.stage == Stage::Vertex => s.extra.get(BEFORE_GEOMETRY),
                (_, Some(b)) if handing_on && s.stage == b.stage => {
                    let message = "the program has no parameter left for the built-in values that the pixel program reads";
                    let error = || CompileError::unsupported("R0114", retroshade_ir::Span::NONE, message);
                    Some(s.extra.get(HANDING_ON).ok_or_else(error)?)
                }
                _ => Some(&s.container),
            };
            let file = file.ok_or_else(|| {
                let message = "the vertex program does not fit the export stage in front of a geometry program";
                CompileError::unsupported("R0112", retroshade_ir::Span::NONE, message)
            })?;
            let read = gsh::read(file).map_err(CompileError::Internal)?;
            blocks.extend(read.into_iter().map(|(kind, data)| (kind, data.to_vec())));
        }
        if let Some(g) = geometry {
            let abi = abi::Abi::of(&g.legal, abi::Platform::WiiU)?;
            let (size, primitive) = (4 * abi.ring_input_size(), registers::reads_primitive(&g.legal));
            blocks.iter_mut().filter(|b| b.0 == gsh::Kind::VertexHeader).for_each(|b| gsh::in_front_of(&mut b.1, size, primitive));
        }
        Ok(gsh::file(blocks))
    }
    fn dis_line(&self, line: &str, options: &TextOptions) -> Result<String, TextError> {
        text::dis_line(line, options.syntax)
    }
    fn asm_line(&self, line: &str, _: &TextOptions) -> Result<String, TextError> {
        text::asm_line(line).map(|w| text::hex(&w))
    }
    fn disassemble(&self, bytes: &[u8], options: &TextOptions) -> Result<String, TextError> {
        let all = programs(bytes)?;
        // An object shows its main program, a file of several shaders all.
        let file = gsh::is_file(bytes);
        let mut out = String::new();
        for (name, program) in all.iter().take(if file { all.len() } else { 1 }) {
            if file {
                out.push_str(&format!("; {name}\n"));
            }
            out.push_str(&program.listing(options.syntax));
        }
        Ok(out)
    }
    fn assemble(&self, source: &str, _: &TextOptions) -> Result<AsmOutput, Vec<TextError>> {
        let words = program::assemble(source)?;
        Ok(AsmOutput { code: words.iter().flat_map(|w| w.to_le_bytes()).collect(), ..AsmOutput::default() })
    }
    fn container_extension(&self, chip: Option<&str>) -> &'static str {
        match abi::Platform::of(chip) {
            abi::Platform::Object => "o",
            abi::Platform::WiiU => "gsh",
        }
    }
    fn line_places(&self, asm: &str) -> Vec<Option<std::ops::Range<u32>>> {
        crate::isa::places::lines(asm)
    }
    fn is_container(&self, bytes: &[u8]) -> bool {
        container::is_container(bytes)
    }
    fn lint(&self, bytes: &[u8], _: &TextOptions) -> Result<Vec<TextError>, TextError> {
        let mut out = Vec::new();
        for (name, program) in programs(bytes)? {
            let named = |e: TextError| if name.is_empty() { e } else { TextError { message: format!("{name}: {}", e.message), ..e } };
            out.extend(lint::check(&program).into_iter().map(named));
        }
        if gsh::is_file(bytes) {
            let found = check::structure(bytes).and_then(|b| check::words(&b)).map_err(TextError::new)?;
            out.extend(found.into_iter().map(TextError::new));
        }
        Ok(out)
    }
    fn effects(&self, shader: &CompiledShader) -> Result<Vec<Program>, TextError> {
        effects::programs(shader)
    }
    fn encoding_docs(&self) -> String {
        forms::TABLE.markdown()
    }
}
