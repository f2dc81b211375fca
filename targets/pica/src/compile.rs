//! The ways in which a program is compiled, and which of them is kept: the one with the fewest words.
//!
//! ```text
//!   way (functions kept, loops unrolled, tables) ──▶ legal ─▶ select ─▶ pack ─▶ merge pairs while the program gets shorter
//!                                                    each trial: operands ─▶ coalesce ─▶ place ─▶ emit
//! ```

use crate::abi;
use crate::container::{Shbin, header, tables};
use crate::emit::{Emitted, descriptor_spill, emit, used_registers};
use crate::isa::asm::{self, LinkError};
use crate::isa::dis;
use crate::isa::forms::Op;
use crate::isa::lint::lint;
use crate::isa::registers::TEMPS;
use crate::isa::word::Instr;
use crate::legal::{self, Legal, Variant, legalise_as, procedures};
use crate::place::coalesce::{Classes, coalesce, interference};
use crate::place::{Places, check, lanes, place};
use crate::select::mir::Program;
use crate::select::operands::prepare;
use indexmap::IndexMap;
use retroshade_ir::{Module, Opcode, Span, Stage};
use retroshade_lower::structure::Structure;
use retroshade_lower::{Budget, CompileError, CompiledShader, OptLevel, Options, Phase, Trace, climb, search};

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

impl Finished {
    /// The program, then where each of its temporaries lives.
    fn registers(&self) -> String {
        let mut out = self.program.to_string();
        let mut named: Vec<u32> = self.program.blocks.iter().flat_map(|b| &b.nodes).flat_map(|n| n.writes()).collect();
        named.sort();
        named.dedup();
        for (t, (reg, lane)) in named.iter().filter_map(|t| Some((t, self.places.get(*t as usize)?))) {
            out.push_str(&format!("t{t}: r{reg}.{}\n", crate::isa::registers::COMPONENTS[*lane as usize & 3]));
        }
        out
    }
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

/// In the statistics: matrices of uniforms lie column by column.
pub const COLUMNS: &str = "column_matrices";
/// In the statistics: uniforms share registers.
pub const PACKED: &str = "packed_uniforms";

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

/// A compiled program, and how it was compiled.
struct Made {
    way: Variant,
    shader: CompiledShader,
}

impl Made {
    fn words(&self) -> u32 {
        self.shader.stats.instructions
    }
}

/// Compiles a verified module. Where a function stays a procedure or a loop a loop only if the program is shorter for it.
pub fn compile(source: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
    let first = Variant::of(options);
    if matches!(options.opt, OptLevel::O0 | OptLevel::O1) {
        return compile_as(source, options, &first);
    }
    let loops = loops(source);
    let rolled = |way: &Variant| loops.then(|| Variant { unroll: 0, ..way.clone() });
    let keeping = |way: &Variant, name: &str| Variant { keep: way.keep.iter().cloned().chain([name.to_string()]).collect(), ..way.clone() };
    let functions: Vec<String> = procedures::keepable(source).into_iter().take(CANDIDATES).collect();
    let mut budget = Budget::unlimited();
    let mut build = |way: Variant, _: &mut Budget| Ok(Made { shader: compile_as(source, options, &way)?, way });
    let mut best = search([first.clone()].into_iter().chain(rolled(&first)), &mut budget, &mut build, Made::words);
    if best.is_err() {
        // Tables take registers that uniforms may need, small arrays can be selects as well; strips have room to be unrolled.
        let selects = arrays(source).then(|| Variant { tables: false, ..first.clone() });
        let long = (loops && source.stage == Stage::Geometry).then(|| Variant { unroll: STRIPS, ..first.clone() });
        let kept = functions.iter().map(|f| keeping(&first, f));
        let more = selects.clone().into_iter().chain(selects.as_ref().and_then(rolled)).chain(long).chain(kept);
        best = search(more, &mut budget, &mut build, Made::words).or(best);
    }
    // A loop that only calls is unrolled sooner.
    let steps = functions.iter().flat_map(|f| [(f, false), (f, true)]).filter(|(_, roll)| loops || !roll);
    let step = |best: &Made, (f, roll): (&String, bool), budget: &mut Budget| {
        let way = if best.way.keep.contains(f) { best.way.clone() } else { keeping(&best.way, f) };
        build(if roll { Variant { unroll: 0, ..way } } else { way }, budget)
    };
    Ok(climb(best?, steps, &mut budget, step, |new, old| new.words() < old.words()).shader)
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

/// Words that a program may have.
fn most_words(stage: Stage) -> usize {
    if stage == Stage::Vertex { asm::VERTEX_WORDS } else { 4096 }
}

fn compile_as(source: &Module, options: &Options, way: &Variant) -> Result<CompiledShader, CompileError> {
    let mut trace = Trace::new(options);
    let layout = abi::Layout::of(options);
    let Legal { module, structures } = legalise_as(source, options, way, &mut trace)?;
    let mut abi = abi::assign(&module, layout)?;
    let limit = most_words(module.stage);
    let (mut p, structures): (Program, Vec<Structure>) = crate::select::lower(&module, &abi, &structures)?;
    trace.text(Phase::Select, || p.to_string());
    lanes::pack(&mut p, options.opt != OptLevel::O0);
    trace.text(Phase::Pack, || p.to_string());
    let nodes: usize = p.blocks.iter().map(|b| b.nodes.len() + 1).sum();
    // Nothing makes a program several times shorter.
    if nodes > 8 * limit {
        let first = p.blocks.iter().flat_map(|b| &b.nodes).nth(limit).map_or(Span::NONE, |n| n.span);
        return Err(CompileError::limit("P0306", first, "the program is too long", nodes as u64, limit as u64));
    }
    // What is far too long gets no shorter by a search of minutes.
    let hopeless = |p: &Program| finish(p, &structures).is_ok_and(|f| f.emitted.code.len() > limit + limit / 4);
    if !matches!(options.opt, OptLevel::O0 | OptLevel::O1) && !hopeless(&p) {
        let words = |p: &Program| finish(p, &structures).ok().map(|f| cost(&f));
        p = lanes::search(p, &words, (SEARCH / nodes.max(1) * LARGE / nodes.max(LARGE)).min(1000) as u32);
        trace.text(Phase::Pack, || p.to_string());
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
    trace.text(Phase::Place, || done.program.to_string());
    abi.integers = p.integers.clone();
    tables::unread(&done.program, &mut abi);
    // Addresses beyond the limit would not fit their fields.
    too_long(&done.emitted, limit)?;
    let (words, descriptors) = link(&mut done.emitted)?;
    too_long(&done.emitted, limit)?;
    let exe = tables::executable(&module, &abi, &done.emitted, words.len())?;
    let bin = Shbin { code: words.clone(), descriptors: descriptors.clone(), executables: vec![exe] };
    permitted(&bin, &module)?;
    let text = dis::disassemble(&bin).map_err(|e| CompileError::Internal(e.to_string()))?;
    trace.text(Phase::Emit, || text.clone());
    let reflection = abi::reflect(source, &abi);
    let mut detail = IndexMap::new();
    detail.insert("descriptors", descriptors.len() as u64);
    detail.insert("constants", bin.executables[0].constants.len() as u64);
    detail.insert("nops", done.emitted.code.iter().filter(|i| i.op == Op::Nop).count() as u64);
    // What is not the default, for those who load uniforms.
    if !layout.rows {
        detail.insert(COLUMNS, 1);
    }
    if layout.packed {
        detail.insert(PACKED, 1);
    }
    let mut extra: IndexMap<&'static str, Vec<u8>> = IndexMap::new();
    extra.insert("mir", p.to_string().into_bytes());
    extra.insert("regalloc", done.registers().into_bytes());
    extra.insert("header", header::of_program(&bin, &reflection).into_bytes());
    extra.insert("hex", hex(&done.emitted.code, &bin).into_bytes());
    Ok(CompiledShader {
        target: "pica",
        chip: None,
        stage: module.stage,
        code: words.iter().flat_map(|w| w.to_le_bytes()).collect(),
        container: bin.write(),
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
        dumps: trace.into_dumps(),
    })
}

/// Words and descriptors; where `mad`s need too many of the few that they reach, the rarest are taken apart.
fn link(e: &mut Emitted) -> Result<asm::Linked, CompileError> {
    match asm::link(&e.code) {
        Err(LinkError::Descriptors(_, _, true)) => {
            let fits = descriptor_spill::split_mads(&mut e.code, &mut e.spans, &mut [&mut e.main]);
            e.registers = if fits { used_registers(&e.code) } else { e.registers };
            asm::link(&e.code)
        }
        other => other,
    }
    .map_err(|error| unlinked(&error, e))
}

/// What the hardware forbids must never leave the compiler.
fn permitted(bin: &Shbin, m: &Module) -> Result<(), CompileError> {
    let findings = lint(bin).map_err(|e| CompileError::Internal(format!("lint: {}", e.message)))?;
    // A geometry program may never emit a vertex, and ways that are never taken need not write anything.
    let open = m.stage == Stage::Geometry || m.main().ordered().any(|(_, i)| m.main().insts[i].op == Opcode::Unreachable);
    let dead = |e: &&retroshade_lower::TextError| open && e.message.contains("has a meaning");
    match findings.iter().find(|e| !dead(e)) {
        Some(e) => Err(CompileError::Internal(format!("lint: {}\n{}", e.message, dis::disassemble(bin).unwrap_or_default()))),
        None => Ok(()),
    }
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
pub fn unlinked(e: &LinkError, emitted: &Emitted) -> CompileError {
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
