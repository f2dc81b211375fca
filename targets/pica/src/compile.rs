//! The whole way from a module to a `.shbin`, and what is told about it.

use crate::abi::semantics;
use crate::abi::{self, Abi};
use crate::container::{Constant, Executable, Shbin, header};
use crate::emit::descriptor_spill;
use crate::emit::{Emitted, emit, used_registers};
use crate::isa::asm::LinkError;
use crate::isa::forms::Op;
use crate::isa::lint::lint;
use crate::isa::registers::{FLOAT_UNIFORMS, TEMPS};
use crate::isa::word::Instr;
use crate::isa::{asm, dis};
use crate::legal::numerics::to_bits24;
use crate::legal::procedures;
use crate::legal::{self, Legal, Variant, legalise_as};
use crate::place::coalesce::{Classes, coalesce, interference};
use crate::place::lanes;
use crate::place::{Places, check, place};
use crate::select::mir::{Leaf, Program, Rounds};
use crate::select::operands::prepare;
use indexmap::IndexMap;
use retroshade_ir::{Module, Scalar, Span, Stage};
use retroshade_lower::structure::Structure;
use retroshade_lower::{CompileError, CompiledShader, OptLevel, Options};

/// Work of the packing search, in operations passed through the later stages.
const SEARCH: usize = 40_000;
/// Above this many operations a trial costs more than linear, so fewer are made.
const LARGE: usize = 110;

/// A program that fits, with its code.
struct Finished {
    program: Program,
    places: Places,
    emitted: Emitted,
}

/// Runs the later stages; where registers run out, again with copies made anew for each use.
fn finish(p: &Program, s: &[Structure]) -> Result<Finished, Failure> {
    match finish_with(p, s, true) {
        Err(Failure::Pressure(first, n)) => finish_with(p, s, false).map_err(|_| Failure::Pressure(first, n)),
        other => other,
    }
}

/// The later stages; the error is the number of registers that would be needed.
fn finish_with(p: &Program, s: &[Structure], share: bool) -> Result<Finished, Failure> {
    let prepared = prepare(p, share);
    let Some((program, classes)): Option<(Program, Classes)> = coalesce(prepared.clone()) else {
        return Err(Failure::Pressure(Box::new(prepared), TEMPS + 1));
    };
    let places = match place(&program, &classes) {
        Ok(x) => x,
        Err(n) => return Err(Failure::Pressure(Box::new(program), n)),
    };
    check(&program, &places).map_err(Failure::Broken)?;
    let emitted = emit(&program, &places, s).map_err(Failure::Broken)?;
    Ok(Finished { program, places, emitted })
}

enum Failure {
    Pressure(Box<Program>, u8),
    Broken(String),
}

/// Words, then distinct descriptors roughly, then registers.
fn cost(f: &Finished) -> u64 {
    let descriptors: std::collections::BTreeSet<_> =
        f.emitted.code.iter().filter_map(|i| crate::isa::word::encode(i).ok()?.desc).map(|d| (d.value, d.care)).collect();
    (f.emitted.code.len() as u64) << 24
        | (f.emitted.constants.regs.len() as u64) << 20
        | (descriptors.len() as u64) << 8
        | f.emitted.registers as u64
}

/// Most functions that are tried as procedures.
const CANDIDATES: usize = 6;

/// Operations that unrolling may make where a strip grows in a loop: there is room for thousands of words.
const STRIPS: u32 = 3000;

/// Whether unrolling could make a difference.
fn loops(m: &Module) -> bool {
    m.functions.values().any(crate::select::loops::has_loop)
}

/// Whether there are local arrays.
fn arrays(m: &Module) -> bool {
    m.functions.values().any(|f| !f.locals.is_empty())
}

/// Compiles a verified module. Where a function stays a procedure or a loop a loop only if the program is shorter for it.
pub fn compile(source: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
    best(source, options, &mut Vec::new())
}

fn best(source: &Module, options: &Options, log: &mut Vec<String>) -> Result<CompiledShader, CompileError> {
    let mut variant = Variant::of(options);
    let mut best = compile_as(source, options, &variant);
    if matches!(options.opt, OptLevel::O0 | OptLevel::O1) {
        return best;
    }
    let mut attempt = |best: &mut Result<CompiledShader, CompileError>, variant: &mut Variant, new: Variant| {
        let made = compile_as(source, options, &new);
        let words = made.as_ref().map(|s| s.stats.instructions);
        log.push(match &words {
            Ok(n) => format!("{new:?}: {n} words"),
            Err(e) => format!("{new:?}: {e}"),
        });
        if words.is_ok_and(|n| best.as_ref().map_or(true, |b| n < b.stats.instructions)) {
            (*best, *variant) = (made, new);
        }
    };
    // Tables take registers that uniforms may need, small arrays can be selects as well.
    if best.is_err() && arrays(source) {
        let selects = Variant { tables: false, ..variant.clone() };
        attempt(&mut best, &mut variant, selects);
    }
    if loops(source) {
        let rolled = Variant { unroll: 0, ..variant.clone() };
        attempt(&mut best, &mut variant, rolled);
        if best.is_err() && source.stage == Stage::Geometry {
            let long = Variant { unroll: STRIPS, ..variant.clone() };
            attempt(&mut best, &mut variant, long);
        }
    }
    for name in procedures::keepable(source).into_iter().take(CANDIDATES) {
        let mut new = variant.clone();
        new.keep.push(name);
        // A loop that only calls is unrolled sooner.
        let rolled = Variant { unroll: 0, ..new.clone() };
        attempt(&mut best, &mut variant, new.clone());
        if loops(source) && rolled != new {
            attempt(&mut best, &mut variant, rolled);
        }
    }
    if let (Ok(s), true) = (&mut best, options.wants("variants")) {
        s.dumps.push(("variants".to_string(), log.join("\n")));
    }
    best
}

/// Compiles a verified module with as many functions as procedures as can be, whether or not the program is shorter for it.
pub fn compile_keeping(source: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
    let keep = procedures::keepable(source);
    match compile_as(source, options, &Variant { keep, ..Variant::of(options) }) {
        Err(CompileError::Internal(e)) => Err(CompileError::Internal(e)),
        Err(_) => compile(source, options),
        done => done,
    }
}

/// The module that code is made of.
pub fn legal_module(source: &Module, options: &Options) -> Result<Module, CompileError> {
    if procedures::keepable(source).is_empty() && !loops(source) && !arrays(source) {
        return Ok(legal::legalise(source, options)?.module);
    }
    match compile(source, options) {
        Ok(s) => Ok(s.legal),
        Err(_) => Ok(legal::legalise(source, options)?.module),
    }
}

fn compile_as(source: &Module, options: &Options, variant: &Variant) -> Result<CompiledShader, CompileError> {
    let Legal { module, structures, mut dumps } = legalise_as(source, options, variant)?;
    let mut abi = abi::assign(&module)?;
    let (mut p, structures): (Program, Vec<Structure>) = crate::select::lower(&module, &abi, &structures)?;
    let dump = |name: &str, p: &Program, dumps: &mut Vec<(String, String)>| {
        if options.wants(name) {
            dumps.push((name.to_string(), listing(p)));
        }
    };
    dump("lower", &p, &mut dumps);
    lanes::pack(&mut p, options.opt != OptLevel::O0);
    dump("pack", &p, &mut dumps);
    // What is far too long gets no shorter by a search of minutes.
    let limit = if module.stage == Stage::Vertex { asm::VERTEX_WORDS } else { 4096 };
    let hopeless = |p: &Program| finish(p, &structures).is_ok_and(|f| f.emitted.code.len() > limit + limit / 4);
    if !matches!(options.opt, OptLevel::O0 | OptLevel::O1) && !hopeless(&p) {
        let words = |p: &Program| finish(p, &structures).ok().map(|f| cost(&f));
        let nodes: usize = p.blocks.iter().map(|b| b.nodes.len() + 1).sum();
        p = lanes::search(p, &words, (SEARCH / nodes.max(1) * LARGE / nodes.max(LARGE)).min(1000) as u32);
        dump("merge", &p, &mut dumps);
    }
    let mut done = match finish(&p, &structures) {
        Ok(f) => f,
        Err(Failure::Broken(m)) => return Err(CompileError::Internal(m)),
        Err(Failure::Pressure(p, n)) => return Err(pressure(&p, n)),
    };
    if options.check_allocation {
        for part in crate::place::check::placed(&done.program, &done.places) {
            part.judge().map_err(CompileError::Internal)?;
        }
    }
    dump("place", &done.program, &mut dumps);
    abi.integers = p.integers.clone();
    unread(&done.program, &mut abi);
    let mir = listing(&done.program);
    // Addresses beyond the limit would not fit their fields.
    too_long(&done.emitted, limit)?;
    let (words, descriptors) = match asm::link(&done.emitted.code) {
        Err(LinkError::Descriptors(_, _, true)) => {
            let e = &mut done.emitted;
            let fits = descriptor_spill::split_mads(&mut e.code, &mut e.spans, &mut [&mut e.main]);
            e.registers = if fits { used_registers(&e.code) } else { e.registers };
            asm::link(&e.code)
        }
        other => other,
    }
    .map_err(|e| unlinked(&e, &done.emitted))?;
    too_long(&done.emitted, limit)?;
    let exe = executable(&module, &abi, &done.emitted, words.len())?;
    let bin = Shbin { code: words.clone(), descriptors: descriptors.clone(), executables: vec![exe] };
    let container = bin.write();
    // What the hardware forbids must never leave the compiler.
    match lint(&bin) {
        Ok(findings) => {
            // A geometry program may never emit a vertex.
            let dead = |e: &&retroshade_lower::TextError| module.stage == Stage::Geometry && e.message.contains("is never written");
            if let Some(e) = findings.iter().find(|e| !dead(e)) {
                return Err(CompileError::Internal(format!("lint: {}\n{}", e.message, dis::disassemble(&bin).unwrap_or_default())));
            }
        }
        Err(e) => return Err(CompileError::Internal(format!("lint: {}", e.message))),
    }
    let text = dis::disassemble(&bin).map_err(|e| CompileError::Internal(e.to_string()))?;
    let nops = done.emitted.code.iter().filter(|i| i.op == Op::Nop).count();
    let reflection = abi::reflect(source, &abi);
    let mut detail = IndexMap::new();
    detail.insert("descriptors", descriptors.len() as u64);
    detail.insert("constants", bin.executables[0].constants.len() as u64);
    detail.insert("nops", nops as u64);
    let mut extra: IndexMap<&'static str, Vec<u8>> = IndexMap::new();
    extra.insert("mir", mir.into_bytes());
    extra.insert("header", header::of_program(&bin, &reflection).into_bytes());
    extra.insert("hex", hex(&done.emitted.code, &bin).into_bytes());
    Ok(CompiledShader {
        target: "pica",
        chip: None,
        stage: module.stage,
        code: words.iter().flat_map(|w| w.to_le_bytes()).collect(),
        container,
        reflection,
        stats: retroshade_lower::isa::Stats {
            ir_ops: retroshade_lower::isa::ir_ops(source),
            bytes: 4 * words.len() as u32,
            instructions: words.len() as u32,
            registers: done.emitted.registers,
            detail,
            alloc_step: Some("classes".to_string()),
        },
        source_map: done.emitted.spans.iter().enumerate().map(|(n, s)| (4 * n as u32..4 * n as u32 + 4, *s)).collect(),
        legal: module,
        asm: text,
        extra,
        dumps,
    })
}

/// Which of the uniforms that count loops are nothing else.
fn unread(p: &Program, abi: &mut Abi) {
    let counting = abi.integers.iter().filter_map(|i| if let Rounds::Uniform { uniform, .. } = i.rounds { Some(uniform) } else { None });
    for u in counting.collect::<Vec<_>>() {
        let abi::Place::Float { reg, comp } = abi.uniforms[u] else { continue };
        let tests = p.blocks.iter().flat_map(|b| &b.test).flat_map(|t| t.refs());
        let reads = p.blocks.iter().flat_map(|b| &b.nodes).flat_map(|n| n.reads().collect::<Vec<_>>());
        let is = |r: crate::select::mir::Ref| matches!(r.leaf, Leaf::Uni { reg: x, comp: c, .. } if u16::from(x) == reg && c == comp);
        abi.unread[u] = !tests.chain(reads).chain(p.indices.iter().copied()).any(is);
    }
}

/// The tables of the program's entry.
fn executable(m: &Module, abi: &Abi, e: &Emitted, words: usize) -> Result<Executable, CompileError> {
    let mut constants: Vec<Constant> = Vec::new();
    for (k, r) in e.constants.regs.iter().enumerate() {
        let reg = FLOAT_UNIFORMS as usize - 1 - k.min(FLOAT_UNIFORMS as usize - 1);
        if reg < abi.free as usize {
            let needed = abi.free as u64 + e.constants.regs.len() as u64;
            return Err(CompileError::limit(
                "P0303",
                Span::NONE,
                "uniforms and constants do not fit the float registers",
                needed,
                FLOAT_UNIFORMS as u64,
            ));
        }
        constants.push(Constant::Float(reg as u16, r.map(|v| v.map_or(0, |v| to_bits24(f32::from_bits(v))))));
    }
    constants.extend(abi.integers.iter().filter_map(|i| match i.rounds {
        Rounds::Known(n) => Some(Constant::Int(u16::from(i.register), [(n - 1) as u8, 0, i.step, 0])),
        Rounds::Uniform { .. } => None,
    }));
    constants.extend(e.truth.map(|b| Constant::Bool(u16::from(b), true)));
    if constants.is_empty() {
        // Programs without any constant are reported to hang the machine.
        constants.push(if abi.free < FLOAT_UNIFORMS {
            Constant::Float(FLOAT_UNIFORMS as u16 - 1, [0; 4])
        } else {
            Constant::Bool(15, false)
        });
    }
    let outputs = abi::output_entries(m, abi);
    Ok(Executable {
        geometry: m.stage == Stage::Geometry,
        merge: m.stage == Stage::Geometry && outputs.iter().any(|o| o.kind == 9),
        entry: 0,
        end: e.main.min(words as u32),
        inputs: m.inputs.iter().flat_map(|(k, d)| (0..d.count).map(move |e| (k, e))).fold(0, |s, (k, e)| {
            match abi::input_place(m, abi, k, e) {
                abi::InputPlace::Register(r) => s | 1 << (r & 15),
                abi::InputPlace::Uniform(_) => s,
            }
        }),
        mode: match abi.vertices {
            abi::Vertices::Registers => 0,
            abi::Vertices::Variable(_) => 1,
            abi::Vertices::Fixed(_) => 2,
        },
        whole: if let abi::Vertices::Variable(n) = abi.vertices { n } else { 0 },
        vertices: if let abi::Vertices::Fixed(n) = abi.vertices { n } else { 0 },
        outputs_mask: outputs.iter().fold(0, |s, o| s | 1 << o.reg),
        constants,
        uniforms: abi::uniform_entries(m, abi, &abi::reflect(m, abi)),
        outputs,
        ..Executable::default()
    })
}

/// Refuses a program with more words than the memory holds, at the first that is one too many.
fn too_long(e: &Emitted, limit: usize) -> Result<(), CompileError> {
    if e.code.len() <= limit {
        return Ok(());
    }
    let first = e.spans.iter().take(limit + 1).rfind(|s| **s != Span::NONE).copied().unwrap_or(Span::NONE);
    Err(CompileError::limit("P0306", first, "the program is too long", e.code.len() as u64, limit as u64))
}

/// What does not fit the descriptor table, and the operations that need its entries.
fn unlinked(e: &LinkError, emitted: &Emitted) -> CompileError {
    let (needed, available, mad) = match e {
        LinkError::Instruction(at, m) => {
            return CompileError::Internal(format!("instruction {at} ({:?}): {m}", emitted.code.get(*at).map(|i| i.op)));
        }
        LinkError::Descriptors(needed, available, mad) => (*needed as u64, *available as u64, *mad),
    };
    let what = if mad { "too many different operand descriptors for `mad`" } else { "too many different operand descriptors" };
    // One operation for each entry.
    let mut seen = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    for (i, s) in emitted.code.iter().zip(&emitted.spans).filter(|(i, _)| i.has_descriptor() && (!mad || i.op == Op::Mad)) {
        let Some(d) = crate::isa::word::encode(i).ok().and_then(|e| e.desc) else { continue };
        if !seen.contains(&d) && !spans.contains(s) {
            spans.push(*s);
        }
        seen.push(d);
    }
    let mut e = CompileError::limit("P0305", spans.last().copied().unwrap_or(Span::NONE), what, needed, available);
    if let CompileError::Limit { diagnostic, .. } = &mut e {
        spans.pop();
        diagnostic.notes.extend(spans.into_iter().rev().take(24).map(|s| (s, "this operation needs an entry".to_string())));
    }
    e
}

/// Which values are alive where too many are.
fn pressure(p: &Program, needed: u8) -> CompileError {
    let i = interference(p);
    let (lanes, block, node) = i.peak;
    let span = p.blocks.get(block).and_then(|b| b.nodes.get(node)).map_or(Span::NONE, |n| n.span);
    let needed = u64::from(needed).min(64).max((lanes as u64).div_ceil(4)).max(TEMPS as u64 + 1);
    let mut e =
        CompileError::limit("P0300", span, format!("too many values are alive at once: {lanes} components here"), needed, TEMPS as u64);
    if let CompileError::Limit { diagnostic, .. } = &mut e {
        let mut spans: Vec<Span> = i.peak_set.iter().filter_map(|t| p.spans.get(t).copied()).collect();
        spans.sort();
        for same in spans.chunk_by(|a, b| a == b).take(24) {
            let n = same.len();
            let what =
                if n == 1 { "a component of this is alive there".to_string() } else { format!("{n} components of this are alive there") };
            diagnostic.notes.push((same[0], what));
        }
    }
    e
}

/// One instruction per line as `dis --hex` reads: the word, then its descriptor.
fn hex(code: &[Instr], bin: &Shbin) -> String {
    let mut out = String::new();
    for (_, w) in code.iter().zip(&bin.code) {
        out.push_str(&format!("{w:08x}"));
        if let Some(d) = crate::isa::word::descriptor_index(*w).and_then(|d| bin.descriptors.get(d as usize)) {
            out.push_str(&format!(" {d:08x}"));
        }
        out.push('\n');
    }
    out
}

/// The program as text, for dumps.
pub fn listing(p: &Program) -> String {
    let leaf = |r: &crate::select::mir::Ref| {
        let c = |k: u8| crate::isa::registers::COMPONENTS[k as usize & 3];
        let s = match r.leaf {
            Leaf::Tmp(t) => format!("t{t}"),
            Leaf::In(v, k) => format!("v{v}.{}", c(k)),
            Leaf::Uni { reg, comp, index: None } => format!("c{reg}.{}", c(comp)),
            Leaf::Uni { reg, comp, index: Some(i) } => format!("c{reg}[i{i}].{}", c(comp)),
            Leaf::Const(b) => format!("{:?}", f32::from_bits(b)),
        };
        if r.neg { format!("-{s}") } else { s }
    };
    let mut out = String::new();
    for (n, i) in p.indices.iter().enumerate() {
        out.push_str(&format!("i{n} = {}\n", leaf(i)));
    }
    for (n, b) in p.blocks.iter().enumerate() {
        out.push_str(&format!("block{n}: -> {:?}\n", b.succs));
        for x in &b.nodes {
            let dests: Vec<String> = x
                .dests
                .iter()
                .map(|d| match d {
                    crate::select::mir::Dest::Tmp(t) => format!("t{t}"),
                    crate::select::mir::Dest::Out(r, c) => format!("o{r}.{}", crate::isa::registers::COMPONENTS[*c as usize & 3]),
                })
                .collect();
            let srcs: Vec<String> = x.srcs.iter().map(|s| format!("({})", s.iter().map(leaf).collect::<Vec<_>>().join(" "))).collect();
            let test = x.test.as_ref().map_or(String::new(), |t| format!(" if {t:?}"));
            out.push_str(&format!("    {} = {} {}{test}\n", dests.join(" "), crate::isa::forms::name(x.op), srcs.join(" ")));
        }
        if let Some(t) = &b.test {
            out.push_str(&format!("    test {t:?}\n"));
        }
    }
    out
}

/// Whether a declared type has a register form.
pub fn has_register_form(s: Scalar) -> bool {
    s != Scalar::F16
}

/// Whether the geometry programs of a file find the vertices that they read: each fits a vertex program.
fn interfaces(shaders: &[CompiledShader]) -> Result<(), CompileError> {
    let of = |stage: Stage| shaders.iter().filter(move |s| s.stage == stage).map(|s| &s.legal);
    for g in of(Stage::Geometry) {
        let mut first = None;
        for v in of(Stage::Vertex) {
            match semantics::fits(v, g) {
                Ok(()) => {
                    first = None;
                    break;
                }
                Err(e) => first = first.or(Some(e)),
            }
        }
        if let Some(e) = first {
            return Err(e);
        }
    }
    Ok(())
}

/// Joins programs into one file: the code one behind the other, descriptors shared, an entry point for each.
pub fn join(shaders: &[CompiledShader]) -> Result<Vec<u8>, CompileError> {
    let mut code: Vec<Instr> = Vec::new();
    let mut executables = Vec::new();
    let mut vertex_words = 0;
    // Vertex code must lie in the first words.
    let mut order: Vec<&CompiledShader> = shaders.iter().collect();
    order.sort_by_key(|s| s.stage != Stage::Vertex);
    let internal = |e: retroshade_lower::TextError| CompileError::Internal(e.to_string());
    interfaces(shaders)?;
    for s in order {
        let bin = Shbin::read(&s.container).map_err(internal)?;
        let base = code.len() as u16;
        for mut i in dis::decode_all(&bin).map_err(internal)? {
            if matches!(i.op, Op::Call | Op::Callc | Op::Callu | Op::Ifc | Op::Ifu | Op::For | Op::Jmpc | Op::Jmpu) {
                i.target += base;
            }
            code.push(i);
        }
        for mut e in bin.executables {
            e.entry += base as u32;
            e.end += base as u32;
            executables.push(e);
        }
        if s.stage == Stage::Vertex {
            vertex_words = code.len() as u32;
        }
    }
    let mut spans = vec![Span::NONE; code.len()];
    let linked = match asm::link(&code) {
        // Each fitted by itself: `mad`s share their few entries now.
        Err(LinkError::Descriptors(_, _, true)) => {
            let mut marks: Vec<&mut u32> = executables.iter_mut().flat_map(|e| [&mut e.entry, &mut e.end]).collect();
            marks.push(&mut vertex_words);
            descriptor_spill::split_mads(&mut code, &mut spans, &mut marks);
            asm::link(&code)
        }
        other => other,
    };
    if vertex_words as usize > asm::VERTEX_WORDS {
        let m = "the vertex programs are too long together";
        return Err(CompileError::limit("P0306", Span::NONE, m, u64::from(vertex_words), asm::VERTEX_WORDS as u64));
    }
    if code.len() > 4096 {
        return Err(CompileError::limit("P0306", Span::NONE, "the programs are too long together", code.len() as u64, 4096));
    }
    let (code, descriptors) = linked.map_err(|e| unlinked(&e, &Emitted { code: code.clone(), spans, ..Emitted::default() }))?;
    Ok(Shbin { code, descriptors, executables }.write())
}
