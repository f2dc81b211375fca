//! The straight line from a source module to code: legalise, select, place, emit, wrap.

use crate::abi::Abi;
use crate::container;
use crate::emit::{self, Code};
use crate::isa::chip::{self, Chip};
use crate::isa::decode::space;
use crate::legal;
use crate::place::{Room, halves_out_of_reach, place_all, sched};
use crate::reflect::reflect;
use crate::select::mir::MInst;
use crate::select::{self, Selected, combine};
use retroshade_ir::analysis::Uniformity;
use retroshade_ir::{Module, Opcode, Span, Stage};
use retroshade_lower::driver::{Phase, Trace};
use retroshade_lower::isa::{Stats, ir_ops};
use retroshade_lower::{CompileError, CompiledShader, OptLevel, Options, Placed, VCode};

/// The interface must fit the spaces that operands can name.
fn within_reach(abi: &Abi, stage: Stage) -> Result<(), CompileError> {
    let limit = |code, what, needed: usize, available: u64| {
        if needed as u64 > available { Err(CompileError::limit(code, Span::NONE, what, needed as u64, available)) } else { Ok(()) }
    };
    let inputs = match stage {
        // The last word of v[] is the facing.
        Stage::Fragment => 255 - u64::from(crate::abi::position_words(abi.position_mask)),
        _ => 128,
    };
    limit("T0104", "too many words of inputs", abi.inputs.len(), inputs)?;
    limit("T0105", "too many words of outputs", abi.outputs.len(), 127)?;
    if stage == Stage::Compute {
        limit("T0107", "too many threads in a workgroup", abi.workgroup_size.iter().product::<u32>() as usize, 512)?;
        limit("T0108", "too many bytes of workgroup memory", abi.shared_bytes as usize, 0x4000)?;
    }
    limit("T0106", "results in too many registers", abi.results.iter().map(|r| r.0 as usize + 1).max().unwrap_or(0), 60)
}

/// Selection and its clean-up.
fn select(
    legal: &Module,
    uniformity: &Uniformity,
    abi: &mut Abi,
    chip: &Chip,
    options: &Options,
    half_immediates: bool,
) -> Result<Selected, CompileError> {
    let mut selected = select::select(legal, uniformity, abi, chip, half_immediates)?;
    if options.opt != OptLevel::O0 {
        combine::run(&mut selected.vcode, legal.stage);
    }
    Ok(selected)
}

/// A program after placement and emission.
struct Laid {
    code: Code,
    placed: Placed<MInst>,
    spilled: u32,
}

/// Programs beyond this size are not laid out a second time.
const SCHEDULED: usize = 600;

/// The program with its latencies hidden, if that makes it wait less and costs neither bytes nor warps.
fn scheduled(
    plain: &mut VCode<MInst>,
    laid: &Laid,
    register_file: u32,
    lay_out: LayOut,
) -> Result<Option<(Laid, VCode<MInst>)>, CompileError> {
    if plain.len() > SCHEDULED {
        return Ok(None);
    }
    let waits = sched::stalls(plain);
    let live = sched::live_out(plain);
    let pressure = sched::pressure(plain, &live);
    // Blocks for textures take more registers than the values live at once: the boldest limit may prove too bold.
    let end = sched::step_end(register_file, laid.code.registers);
    let spare = end - laid.code.registers.min(end);
    let mut limits = vec![end.max(pressure), pressure + spare, pressure];
    limits.dedup();
    for limit in limits {
        let mut vcode = plain.clone();
        if !sched::run(&mut vcode, &live, limit) || sched::stalls(&mut vcode) >= waits {
            continue;
        }
        // What does not fit is no reason to fail: there is a program that does.
        let Ok(new) = lay_out(&vcode, end) else { continue };
        if new.code.bytes.len() <= laid.code.bytes.len()
            && sched::same_occupancy(register_file, laid.code.registers, new.code.registers)
            && new.spilled <= laid.spilled
        {
            return Ok(Some((new, vcode)));
        }
    }
    Ok(None)
}

/// How a program is laid out in at most so many registers.
type LayOut<'a> = &'a dyn Fn(&VCode<MInst>, u32) -> Result<Laid, CompileError>;

/// The program with its values made late, if that takes fewer registers and no more bytes.
fn late(plain: &mut VCode<MInst>, laid: &Laid, lay_out: LayOut) -> Option<(Laid, VCode<MInst>)> {
    if plain.len() > SCHEDULED {
        return None;
    }
    let live = sched::live_out(plain);
    let mut vcode = plain.clone();
    if !sched::lazily(&mut vcode) || sched::pressure(&mut vcode, &live) >= sched::pressure(plain, &live) {
        return None;
    }
    let new = lay_out(&vcode, laid.code.registers).ok()?;
    let fewer = new.code.registers < laid.code.registers && new.code.bytes.len() <= laid.code.bytes.len() && new.spilled <= laid.spilled;
    fewer.then_some((new, vcode))
}

/// Further layouts that are tried for fewer registers.
const TRIES: u32 = 2;

/// The same order in as few registers as cost no bytes.
fn squeezed(vcode: &mut VCode<MInst>, mut laid: Laid, lay_out: LayOut) -> Laid {
    if vcode.len() > SCHEDULED || laid.spilled > 0 {
        return laid;
    }
    let live = sched::live_out(vcode);
    let mut least = sched::pressure(vcode, &live).max(4);
    for _ in 0..TRIES {
        if least >= laid.code.registers {
            break;
        }
        match lay_out(vcode, least) {
            Ok(new) if new.code.bytes.len() <= laid.code.bytes.len() && new.code.registers < laid.code.registers => laid = new,
            _ => least += (laid.code.registers - least).div_ceil(2),
        }
    }
    laid
}

/// Compiles a verified source module.
pub(crate) fn compile(source: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
    let chip = chip::of_options(options)?;
    let first = compile_in(source, options, chip, Room::WHOLE)?;
    if source.stage != Stage::Compute {
        return Ok(first);
    }
    let threads: u32 = source.workgroup_size.iter().map(|n| (*n).max(1)).product();
    let needed = |registers| sched::workgroup(chip.register_file, threads, registers);
    if needed(first.stats.registers) <= chip.register_file {
        return Ok(first);
    }
    // Such a workgroup cannot be launched. Fewer registers as it is, then without unrolled loops, then with values in l[].
    let registers = (1..Room::WHOLE.registers).rev().find(|r| needed(*r) <= chip.register_file).unwrap_or(0);
    let simple = Options { opt: options.opt.min(OptLevel::O1), ..options.clone() };
    for (options, spill) in [(options, false), (&simple, false), (&simple, true)] {
        match compile_in(source, options, chip, Room { registers, spill }) {
            Ok(s) if needed(s.stats.registers) <= chip.register_file => return Ok(s),
            Ok(_) | Err(CompileError::Limit { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    let what = format!("too many registers of the {threads} threads of a workgroup");
    Err(CompileError::limit("T0107", Span::NONE, what, needed(first.stats.registers).into(), chip.register_file.into()))
}

/// Compiles for so many registers of each thread.
fn compile_in(source: &Module, options: &Options, chip: &'static Chip, room: Room) -> Result<CompiledShader, CompileError> {
    let mut trace = Trace::new(options);
    let (legal, structure) = legal::prepare(source, options, &mut trace)?;
    let mut abi = Abi::new(&legal, chip.name);
    within_reach(&abi, legal.stage)?;
    let uniformity = Uniformity::new(&legal, legal.main());
    let mut selected = select(&legal, &uniformity, &mut abi, chip, options, true)?;
    let (mut placed, mut spilled) = place_all(&selected.vcode, abi.local_bytes, chip, room, None, options)?;
    if halves_out_of_reach(&placed) {
        selected = select(&legal, &uniformity, &mut abi, chip, options, false)?;
        (placed, spilled) = place_all(&selected.vcode, abi.local_bytes, chip, room, None, options)?;
    }
    let blocks = selected.blocks.clone();
    let bytes = |placed: &Placed<MInst>| {
        emit::emit(placed, &structure.nodes, &blocks, &uniformity, space(legal.stage), room, options.opt != OptLevel::O0)
    };
    trace.text(Phase::Select, || mir_text(&selected));
    let mut laid = Laid { code: bytes(&placed)?, placed, spilled };
    let lay_out = |vcode: &VCode<MInst>, most: u32| {
        let (placed, spilled) = place_all(vcode, abi.local_bytes, chip, room, (spilled == 0 && most <= 64).then_some(most), options)?;
        if halves_out_of_reach(&placed) {
            return Err(CompileError::Internal("an immediate beside a half that it cannot name".into()));
        }
        Ok(Laid { code: bytes(&placed)?, placed, spilled })
    };
    if options.opt != OptLevel::O0 {
        if let Some(better) = late(&mut selected.vcode, &laid, &lay_out) {
            (laid, selected.vcode) = better;
        }
        if let Some(better) = scheduled(&mut selected.vcode, &laid, chip.register_file, &lay_out)? {
            (laid, selected.vcode) = better;
        }
        laid = squeezed(&mut selected.vcode, laid, &lay_out);
        trace.text(Phase::Schedule, || mir_text(&selected));
    }
    trace.text(Phase::Place, || laid.placed.text());
    abi.local_bytes += laid.spilled;
    abi.barriers = legal.main().ordered().filter(|(_, i)| legal.main().insts[*i].op == Opcode::Barrier).count().min(1) as u32;
    abi.registers = laid.code.registers;
    finish(source, Compiled { legal, abi, laid, selected, chip }, options, trace)
}

/// Runs a compilation phase by phase and tells how long each took by `clock`, for benchmarks. The second layout of a
/// scheduled program is not part of it.
pub fn phases(
    source: &Module,
    options: &Options,
    clock: &dyn Fn() -> std::time::Duration,
) -> Result<Vec<(&'static str, std::time::Duration)>, CompileError> {
    let mut out = Vec::new();
    let mut start = clock();
    let mut lap = |name| {
        let now = clock();
        out.push((name, now - start));
        start = now;
    };
    let chip = chip::of_options(options)?;
    let (legal, structure) = legal::prepare(source, options, &mut Trace::off())?;
    lap("optimise and legalise");
    let mut abi = Abi::new(&legal, chip.name);
    let uniformity = Uniformity::new(&legal, legal.main());
    let selected = select(&legal, &uniformity, &mut abi, chip, options, true)?;
    lap("select");
    let (placed, _) = place_all(&selected.vcode, abi.local_bytes, chip, Room::WHOLE, None, options)?;
    lap("place (regalloc2)");
    emit::emit(&placed, &structure.nodes, &selected.blocks, &uniformity, space(legal.stage), Room::WHOLE, true)?;
    lap("emit");
    Ok(out)
}

/// All that a compilation found out.
struct Compiled {
    legal: Module,
    abi: Abi,
    laid: Laid,
    selected: Selected,
    chip: &'static Chip,
}

fn finish(source: &Module, compiled: Compiled, wanted: &Options, mut trace: Trace) -> Result<CompiledShader, CompileError> {
    let Compiled { legal, abi, laid: Laid { code, placed, .. }, selected, chip } = compiled;
    let options = retroshade_lower::TextOptions { stage: Some(legal.stage), chip: Some(chip.name.to_string()), ..Default::default() };
    let mut stats = Stats {
        ir_ops: ir_ops(source),
        bytes: code.bytes.len() as u32,
        instructions: code.counts.iter().sum(),
        registers: code.registers,
        detail: Default::default(),
        alloc_step: Some(placed.step.name().to_string()),
    };
    for (name, v) in [("short", code.counts[0]), ("long", code.counts[1]), ("imm", code.counts[2]), ("local_bytes", abi.local_bytes)] {
        stats.detail.insert(name, v as u64);
    }
    stats.detail.insert("control", code.control as u64);
    stats.detail.insert("constant_bytes", abi.constants.as_ref().map_or(0, |c| 4 * c.words.len() as u64));
    let instructions = u64::from(stats.instructions.max(1));
    stats.detail.insert("short_percent", 100 * u64::from(code.counts[0]) / instructions);
    stats.detail.insert("centibytes_per_instruction", 100 * u64::from(stats.bytes) / instructions);
    let reflection = reflect(source, &abi);
    let container = container::write(&code, &abi).map_err(CompileError::Internal)?;
    let mut asm = String::new();
    let mut extra = indexmap::IndexMap::new();
    if wanted.texts {
        asm = crate::isa::listing::listing(&code.bytes, &options).map_err(|e| CompileError::Internal(e.message))?;
        trace.text(Phase::Emit, || asm.clone());
        extra.insert("mir", mir_text(&selected).into_bytes());
        extra.insert("regalloc", placed.text().into_bytes());
        extra.insert("hex", crate::isa::listing::hex(&code.bytes).into_bytes());
    }
    Ok(CompiledShader {
        target: "tesla",
        chip: Some(chip.name.to_string()),
        stage: legal.stage,
        code: code.bytes,
        container,
        reflection,
        stats,
        source_map: code.source_map,
        legal,
        asm,
        extra,
        dumps: trace.into_dumps(),
    })
}

/// The selected program, and which patterns applied.
fn mir_text(selected: &Selected) -> String {
    format!("{}{}\n", selected.vcode.text(), selected.patterns)
}
