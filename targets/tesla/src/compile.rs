//! The straight line from a source module to code: legalise, select, place, emit, wrap.

use crate::abi::Abi;
use crate::container::{self, mif};
use crate::emit::least::{self, Size};
use crate::emit::{self, Machine};
use crate::isa::chip::{self, Chip};
use crate::isa::decode::space;
use crate::isa::flexgrip;
use crate::isa::lint;
use crate::legal::{self, Prepared};
use crate::place::{Aim, Order, Room, halves_out_of_reach, place_all, sched, sink};
use crate::reflect::reflect;
use crate::search::{Laid, Search};
use crate::select::combine::{self, Goal};
use crate::select::mir::MInst;
use crate::select::{self, Selected, restrict};
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::Uniformity;
use retroshade_ir::interp::Branch;
use retroshade_ir::passes::rewrite::cost;
use retroshade_ir::passes::unroll::unrolled_at_once;
use retroshade_ir::{Binding, Block, Builtin, Module, Opcode, Reference, Span, Stage};
use retroshade_lower::driver::{Phase, Trace};
use retroshade_lower::isa::{Stats, ir_ops};
use retroshade_lower::structure::Structure;
use retroshade_lower::{CompileError, CompiledShader, Memory, OptLevel, Options, VCode};
use std::cell::RefCell;

/// The interface must fit the spaces that operands can name.
fn within_reach(abi: &Abi, legal: &Module, chip: &Chip) -> Result<(), CompileError> {
    let stage = legal.stage;
    for d in legal.outputs.values() {
        let m = match d.binding {
            Binding::Builtin(Builtin::Layer | Builtin::ViewportIndex) if stage == Stage::Vertex => {
                "only geometry programs choose layers and viewports on this machine"
            }
            _ => continue,
        };
        return Err(CompileError::unsupported("T0033", d.span, m));
    }
    let limit = |code, what, needed: usize, available: u64| {
        if needed as u64 > available { Err(CompileError::limit(code, Span::NONE, what, needed as u64, available)) } else { Ok(()) }
    };
    let inputs = match stage {
        // The last word of v[] is the facing.
        Stage::Fragment => 255 - u64::from(crate::abi::position_words(abi.position_mask)),
        // The registers that enable attributes have so many bits.
        Stage::Vertex if !chip.d3d101 => 64,
        _ => 128,
    };
    // What a vertex program hands on is mapped word by word.
    let outputs = if stage == Stage::Vertex && !chip.d3d101 { 68 } else { 127 };
    limit("T0104", "too many words of inputs", abi.inputs.len(), inputs)?;
    limit("T0105", "too many words of outputs", abi.outputs.len(), outputs)?;
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
    if options.opt != OptLevel::O0 && combine::run(&mut selected.vcode, legal.stage, Goal::of(options.opt), abi) {
        selected.patterns.note("output.direct");
    }
    if chip.flexgrip {
        restrict::run(&mut selected.vcode, chip)?;
    }
    Ok(selected)
}

/// Instructions that the copies of a loop's body may have, from much unrolling to none.
pub(crate) const FUELS: [u32; 3] = [256, 24, 0];

/// Bytes by which code may grow where loops are unrolled.
const MOST_UNROLLED: u32 = 1024;

/// Compiles a verified source module.
pub(crate) fn compile(source: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
    let chip = chip::of_options(options)?;
    let most = options.max_registers.unwrap_or(chip.registers()).min(chip.registers());
    let threads = if source.stage == Stage::Compute { source.workgroup_size.iter().map(|n| (*n).max(1)).product() } else { 0 };
    let needed = |registers| sched::workgroup(chip.register_file, threads, registers);
    let fits = |registers| registers <= most && needed(registers) <= chip.register_file;
    let first = unroll(source, options, chip, &fits)?;
    if fits(first.stats.registers) {
        return Ok(first);
    }
    // Such a workgroup cannot be launched, or the caller wants fewer registers. As it is, then without unrolled loops, then with
    // values in l[].
    let registers = (1..=most.min(chip.room().registers)).rev().find(|r| fits(*r)).unwrap_or(0);
    let simple = Options { opt: options.opt.min(OptLevel::O1), ..options.clone() };
    for (options, spill) in [(options, false), (&simple, false), (&simple, true)] {
        let fuel = if options.opt == OptLevel::Os { 0 } else { FUELS[0] };
        match compile_in(source, options, fuel, Room { registers, spill, ..chip.room() }) {
            Ok(s) if fits(s.stats.registers) => return Ok(s),
            Ok(_) | Err(CompileError::Limit { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    if registers == most {
        return Err(CompileError::limit("T0109", Span::NONE, "too many registers", first.stats.registers.into(), most.into()));
    }
    let what = format!("too many registers of the {threads} threads of a workgroup");
    Err(CompileError::limit("T0107", Span::NONE, what, needed(first.stats.registers).into(), chip.register_file.into()))
}

/// Operations of a module as it is before it is legalised, lane by lane.
fn operations(m: &Module) -> u32 {
    let f = m.main();
    f.ordered().map(|(_, i)| cost(f, i)).sum()
}

/// Bytes that an operation before legalisation becomes, in the mean of a program: usually, and at the least and the most.
const USUAL: u32 = 6;
const EXTREMES: [u32; 2] = [2, 16];

/// Programs with more operations than this are compiled with the unrolling that seems to pay.
const LARGE: u32 = 1000;

/// Compiles with the unrolling that pays: as much as the first fuel allows, unless the code is much larger then (`-Os`: larger at all)
/// or more than what is wanted. Which one pays is seen before the search for a layout, often before anything is laid out.
fn unroll(source: &Module, options: &Options, chip: &'static Chip, fits: &dyn Fn(u32) -> bool) -> Result<CompiledShader, CompileError> {
    let spare = if options.opt == OptLevel::Os { 0 } else { MOST_UNROLLED };
    let mut trace = Trace::new(options);
    let front = legal::front(source, options, &mut trace)?;
    let rolled = operations(&front);
    // Copies of a body may leave an array in registers, whatever they cost.
    let [least, most] = if rolled > LARGE { [USUAL; 2] } else { EXTREMES };
    let arrays = !front.main().locals.is_empty();
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    let (mut failed, mut skipped, mut last, mut last_loops) = (None, false, usize::MAX, None);
    for fuel in FUELS {
        // Less fuel that makes the same copies makes no difference.
        let loops = if rolled > LARGE { unrolled_at_once(front.main(), &Reference, fuel) } else { None };
        if loops.is_some() && std::mem::replace(&mut last_loops, loops.clone()) == loops {
            continue;
        }
        let mut trace = trace.clone();
        let mut module = front.clone();
        let unrolled = legal::unroll(&mut module, options, fuel, &mut trace);
        let made = module.main().insts.len();
        if std::mem::replace(&mut last, made) == made {
            continue;
        }
        let all = operations(&module);
        let copies = all.saturating_sub(rolled);
        if unrolled && !arrays && spare > 0 && least * copies > 2 * spare {
            skipped = true;
            continue;
        }
        match legal::shape(module, options, &mut trace).and_then(|prepared| draft(prepared, options, chip.room(), trace)) {
            Ok(draft) => drafts.push(draft),
            Err(e @ CompileError::Internal(_)) => return Err(e),
            Err(e) => failed = failed.or(Some(e)),
        }
        // Where nothing was unrolled there is nothing else to try, and what is hardly larger cannot be too large: a program without the
        // copies has at least half their bytes an operation.
        let fewer = |d: &Draft<'_>| d.bytes() - (u64::from(d.bytes()) * u64::from(rolled) / u64::from(2 * all.max(rolled).max(1))) as u32;
        let hardly = |d: &Draft<'_>| d.local_bytes() == 0 && (most * copies <= spare || fewer(d) <= spare);
        let enough = |d: &Draft<'_>| fits(d.laid.code.registers) && (d.bytes() < spare || hardly(d));
        if !unrolled || drafts.last().is_some_and(enough) {
            break;
        }
    }
    // Memory of each thread is slow: an array that copies of the body leave in registers is worth any number of them.
    let local = |d: &Draft<'_>| if spare > 0 { d.local_bytes() } else { 0 };
    let least = drafts.iter().map(local).min().unwrap_or(0);
    drafts.retain(|d| local(d) == least);
    let least = drafts.iter().map(Draft::bytes).min().unwrap_or(0);
    let kept = drafts.iter().position(|d| fits(d.laid.code.registers) && d.bytes() <= least + spare);
    let kept = kept.unwrap_or(drafts.len().saturating_sub(1));
    match drafts.into_iter().nth(kept) {
        Some(draft) => complete(source, draft),
        // Loops may be what cannot be compiled.
        None if skipped => compile_in(source, options, FUELS[0], chip.room()),
        None => Err(failed.unwrap_or_else(|| CompileError::Internal("no way to compile".to_string()))),
    }
}

/// Compiles for so many registers of each thread.
fn compile_in(source: &Module, options: &Options, fuel: u32, room: Room) -> Result<CompiledShader, CompileError> {
    let mut trace = Trace::new(options);
    let prepared = legal::prepare(source, options, fuel, &mut trace)?;
    complete(source, draft(prepared, options, room, trace)?)
}

/// A program that was prepared, and what its code depends on beside instructions and their order.
struct Ground<'o> {
    legal: Module,
    structure: Structure,
    uniformity: Uniformity,
    abi: Abi,
    room: Room,
    chip: &'static Chip,
    options: &'o Options,
    /// Placement's, kept between layouts.
    memory: RefCell<Memory>,
}

impl Ground<'_> {
    fn machine(&self) -> Machine {
        Machine { chip: self.chip, space: space(self.legal.stage), room: self.room }
    }
    /// Places instructions and emits them; `None` if an immediate stands beside a half that it cannot name, or where `wins` wants nothing
    /// that takes as much as this does at least.
    fn lay_out(
        &self,
        order: &mut Order,
        blocks: &SecondaryMap<Block, u32>,
        aim: Aim,
        wins: &dyn Fn(Size) -> bool,
    ) -> Result<Option<Laid>, CompileError> {
        let Ground { chip, room, options, .. } = self;
        let (mut placed, spilled) = place_all(order, self.abi.local_bytes, chip, *room, aim, options, &mut self.memory.borrow_mut())?;
        if halves_out_of_reach(&placed) {
            return Ok(None);
        }
        let wins = |size| wins(Size { spilled, ..size });
        let pair = options.opt != OptLevel::O0;
        let code = emit::emit(&mut placed, &self.structure.nodes, blocks, &self.uniformity, self.machine(), pair, &wins)?;
        Ok(code.map(|code| Laid { code, placed, spilled }))
    }
}

/// A program with its first layout.
struct Draft<'o> {
    ground: Ground<'o>,
    /// What was selected but its code, which is in the order.
    selected: Selected,
    order: Order,
    laid: Laid,
    trace: Trace<'o>,
}

impl Draft<'_> {
    fn bytes(&self) -> u32 {
        self.laid.code.bytes.len() as u32
    }
    /// Memory of each thread.
    fn local_bytes(&self) -> u32 {
        self.ground.abi.local_bytes + self.laid.spilled
    }
}

/// Selects a module that was prepared, and lays it out as it was selected.
fn draft<'o>(prepared: Prepared, options: &'o Options, room: Room, trace: Trace<'o>) -> Result<Draft<'o>, CompileError> {
    let chip = chip::of_options(options)?;
    let Prepared { module: legal, structure, .. } = prepared;
    let abi = Abi::new(&legal, chip);
    within_reach(&abi, &legal, chip)?;
    if chip.flexgrip {
        flexgrip::within_reach(&abi)?;
    }
    let uniformity = Uniformity::new(&legal, legal.main());
    let mut ground = Ground { legal, structure, uniformity, abi, room, chip, options, memory: RefCell::default() };
    for halves in [true, false] {
        let mut selected = select(&ground.legal, &ground.uniformity, &mut ground.abi, chip, options, halves)?;
        let mut trace = trace.clone();
        trace.text(Phase::Select, || mir_text(&selected));
        let mut order = Order::new(std::mem::take(&mut selected.vcode));
        if let Some(mut laid) = ground.lay_out(&mut order, &selected.blocks, Aim::Place, &|_| true)? {
            if options.opt != OptLevel::O0 && laid.code.bare_ends > 0 {
                end_in_load(&mut ground, &selected, &mut order, &mut laid)?;
            }
            return Ok(Draft { ground, selected, order, laid, trace });
        }
    }
    Err(CompileError::Internal("a half out of reach where none was selected".into()))
}

/// Lets a load of a constant carry the program's end, where nothing else does and that is shorter.
fn end_in_load(ground: &mut Ground, selected: &Selected, order: &mut Order, laid: &mut Laid) -> Result<(), CompileError> {
    let before = ground.abi.clone();
    if let Some(mut ending) = select::literals::at_the_end(order.code(), &mut ground.abi).map(Order::new)
        && let Some(new) = ground.lay_out(&mut ending, &selected.blocks, Aim::Place, &|_| true)?
        && new.code.bytes.len() < laid.code.bytes.len()
    {
        *order = ending;
        *laid = new;
    } else {
        ground.abi = before;
    }
    Ok(())
}

/// Finds the best layout of a program, and wraps it.
fn complete(source: &Module, draft: Draft) -> Result<CompiledShader, CompileError> {
    let Draft { mut ground, mut selected, mut order, mut laid, mut trace } = draft;
    let options = ground.options;
    if options.opt != OptLevel::O0 {
        let spilled = laid.spilled > 0;
        let blocks = &selected.blocks;
        let lay_out = |order: &mut Order, aim: Aim, wins: &dyn Fn(Size) -> bool| {
            let aim = match aim {
                Aim::Most(n) if spilled || n > 64 => Aim::Place,
                aim => aim,
            };
            ground.lay_out(order, blocks, aim, wins)
        };
        let shape = || sink::Shape::new(ground.legal.main(), blocks);
        let least = |vcode: &mut VCode<MInst>| least::of_selected(vcode, ground.machine());
        let search = Search {
            lay_out: &lay_out,
            shape: &shape,
            least: &least,
            goal: Goal::of(options.opt),
            file: ground.chip.register_file,
            fewest: ground.machine().fewest_registers(),
            roomy: !ground.room.spill || ground.room == Room::WHOLE,
        };
        let best = search.run(order, laid);
        (laid, order) = (best.laid, best.order);
    }
    selected.vcode = order.into_code();
    if options.opt != OptLevel::O0 {
        trace.text(Phase::Schedule, || mir_text(&selected));
    }
    trace.text(Phase::Place, || laid.placed.text());
    let main = ground.legal.main();
    ground.abi.barriers = main.ordered().filter(|(_, i)| main.insts[*i].op == Opcode::Barrier).count().min(1) as u32;
    ground.abi.local_bytes += laid.spilled;
    ground.abi.registers = laid.code.registers;
    finish(source, ground, laid, selected, trace)
}

/// Runs a compilation phase by phase and tells how long each took by `clock`, for benchmarks. The second layout of a
/// scheduled program is not part of it, nor is one with fewer loops unrolled.
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
    let Prepared { module: legal, structure, .. } = legal::prepare(source, options, FUELS[0], &mut Trace::off())?;
    lap("optimise and legalise");
    let mut abi = Abi::new(&legal, chip);
    let uniformity = Uniformity::new(&legal, legal.main());
    let mut selected = select(&legal, &uniformity, &mut abi, chip, options, true)?;
    lap("select");
    let mut order = Order::new(std::mem::take(&mut selected.vcode));
    let (mut placed, _) = place_all(&mut order, abi.local_bytes, chip, Room::WHOLE, Aim::Place, options, &mut Memory::default())?;
    lap("place (regalloc2)");
    let machine = Machine { chip, space: space(legal.stage), room: Room::WHOLE };
    emit::emit(&mut placed, &structure.nodes, &selected.blocks, &uniformity, machine, true, &|_| true)?;
    lap("emit");
    Ok(out)
}

fn finish(source: &Module, ground: Ground, laid: Laid, selected: Selected, mut trace: Trace) -> Result<CompiledShader, CompileError> {
    let Ground { legal, abi, chip, options: wanted, .. } = ground;
    let Laid { code, placed, .. } = laid;
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
    stats.detail.insert("shared_bytes", abi.shared_bytes.into());
    stats.detail.insert("control", code.control as u64);
    stats.detail.insert("constant_bytes", abi.constants.as_ref().map_or(0, |c| 4 * c.words.len() as u64));
    stats.detail.insert("warps", sched::warps(chip.register_file, code.registers).into());
    stats.detail.insert("most_warps", sched::most_warps(chip.register_file).into());
    let instructions = u64::from(stats.instructions.max(1));
    stats.detail.insert("short_percent", 100 * u64::from(code.counts[0]) / instructions);
    stats.detail.insert("centibytes_per_instruction", 100 * u64::from(stats.bytes) / instructions);
    if chip.flexgrip {
        flexgrip::program_fits(code.bytes.len())?;
    }
    // Nothing slips through: every word is one that the chip executes.
    if let Some(what) = lint::first_stranger(&code.bytes, legal.stage, chip) {
        return Err(CompileError::unsupported("T0044", Span::NONE, what));
    }
    let reflection = reflect(source, &abi);
    let container = container::write(&code, &abi).map_err(CompileError::Internal)?;
    let mut asm = String::new();
    let mut extra = indexmap::IndexMap::new();
    if chip.flexgrip {
        extra.extend(mif::images(&code, &abi, source));
    }
    if wanted.writes(&[Phase::Emit]) {
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
        branches: code.branches.into_iter().map(|(at, block)| (at, Branch { func: legal.entry, block })).collect(),
        source_map: code.source_map,
        legal,
        asm,
        extra,
        dumps: trace.into_dumps(),
        seen: None,
    })
}

/// The selected program, and which patterns applied.
fn mir_text(selected: &Selected) -> String {
    format!("{}{}\n", selected.vcode.text(), selected.patterns)
}
