//! The straight line from a source module to code: legalise, select, place, emit, wrap.

use crate::abi::Abi;
use crate::chip::{self, Chip};
use crate::combine;
use crate::container;
use crate::decode::space;
use crate::emit::{self, Code};
use crate::inst::MInst;
use crate::legal;
use crate::lower;
use crate::sched;
use retroshade_ir::analysis::Uniformity;
use retroshade_ir::{Binding, Module, Opcode, Span, Stage};
use retroshade_lower::isa::{Stats, ir_ops};
use retroshade_lower::{
    AllocOptions, BankKind, ClassSpec, CompileError, CompiledShader, NO_CLASS, OptLevel, Options, PRegSet, Placed, PlacedInst,
    ReflectConstants, Reflection, RegFile, SlotBank, VCode, place,
};

/// `$r` registers beyond the low half of the file that may be allocated; `$r126` is a scratch, `$r127` reads as zero.
const HIGH: u32 = 62;

/// The chip of a compilation.
pub(crate) fn chip_of(options: &Options) -> Result<&'static Chip, CompileError> {
    let name = options.chip.as_deref().unwrap_or("g84");
    chip::by_name(name).ok_or_else(|| CompileError::unsupported("T0001", Span::NONE, format!("unknown chip `{name}`")))
}

/// The register file: `$r0`–`$r63` in a class, `$r64`… as slots, l[] behind them; `$c0`–`$c3`.
fn file(memory: Option<u32>, chip: &Chip) -> RegFile {
    let mut slots = vec![SlotBank { name: "$r64+", first_hw: 64, slots: HIGH, kind: BankKind::Register }];
    let mut reserved = PRegSet::default();
    if let Some(base) = memory {
        slots.push(SlotBank { name: "l[]", first_hw: base, slots: 4096, kind: BankKind::Memory });
        for n in 60..64 {
            reserved.add(retroshade_lower::PReg::new(n, crate::inst::GPR));
        }
    }
    RegFile {
        classes: [ClassSpec { name: "$c", count: 4, slot_units: 1 }, ClassSpec { name: "$r", count: 64, slot_units: 1 }, NO_CLASS],
        slots,
        inputs: Vec::new(),
        reserved,
        steps: [Vec::new(), sched::steps(chip.register_file), Vec::new()],
    }
}

/// Slots of l[] count in words: their byte addresses follow the local arrays.
fn spill_addresses(placed: &mut Placed<MInst>, base: u32) -> u32 {
    use retroshade_lower::{MachInst, OperandVisitor, PlacedReg, Reg};
    struct Scale {
        base: u32,
        top: u32,
    }
    impl Scale {
        fn one(&mut self, p: &mut PlacedReg) {
            if let PlacedReg::Slot { bank: 1, hw } = p {
                *hw = self.base + *hw * 4;
                self.top = self.top.max(*hw + 4);
            }
        }
    }
    impl OperandVisitor for Scale {
        fn operand(
            &mut self,
            r: &mut Reg,
            _: retroshade_lower::OperandConstraint,
            _: retroshade_lower::OperandKind,
            _: retroshade_lower::OperandPos,
        ) {
            if let Reg::Placed(p) = r {
                self.one(p);
            }
        }
    }
    let mut s = Scale { base, top: base };
    for i in placed.blocks.iter_mut().flatten() {
        match i {
            PlacedInst::Move { from, to, .. } => {
                s.one(from);
                s.one(to);
            }
            PlacedInst::Inst(i, _) => i.visit(&mut s),
        }
    }
    s.top
}

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
) -> Result<lower::Selected, CompileError> {
    let mut selected = lower::select(legal, uniformity, abi, chip, half_immediates)?;
    if options.opt != OptLevel::O0 {
        combine::run(&mut selected.vcode, legal.stage);
    }
    Ok(selected)
}

/// Allocation in at most so many registers; also the bytes of l[] that spilled values take, behind `base`.
fn place_all(
    vcode: &VCode<MInst>,
    base: u32,
    chip: &Chip,
    most: Option<u32>,
    options: &Options,
) -> Result<(Placed<MInst>, u32), CompileError> {
    let alloc = AllocOptions { check: options.check_allocation, most: most.map(|n| [4, n, 0]), ..AllocOptions::default() };
    match place(vcode, &file(None, chip), &alloc, "T0100") {
        Ok(p) => Ok((p, 0)),
        Err(CompileError::Limit { .. }) if most.is_none() => {
            let mut p = place(vcode, &file(Some(0), chip), &alloc, "T0100")?;
            let top = spill_addresses(&mut p, base);
            Ok((p, top - base))
        }
        Err(e) => Err(e),
    }
}

/// Whether a half beyond `$r31` meets an immediate: those forms count halves in six bits.
fn halves_out_of_reach(placed: &Placed<MInst>) -> bool {
    use crate::inst::{Part, Src};
    let far = |s: &Src| matches!(s, Src::Reg(r, Part::Low | Part::High) if crate::encode::number(*r).is_none_or(|n| n > 31));
    placed.blocks.iter().flatten().any(|p| match p {
        PlacedInst::Inst(i, _) => matches!(i.src[1], Src::Imm(k) if k != 0) && i.src.iter().any(far),
        PlacedInst::Move { .. } => false,
    })
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
    lay_out: &dyn Fn(&VCode<MInst>, u32) -> Result<Laid, CompileError>,
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

/// Compiles a verified source module.
pub(crate) fn compile(source: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
    let chip = chip_of(options)?;
    let mut dumps = Vec::new();
    let (legal, structure) = legal::prepare(source, options, &mut |pass, m| {
        if options.wants(pass) {
            dumps.push((pass.to_string(), retroshade_ir::print(m)));
        }
    })?;
    let mut abi = Abi::new(&legal, chip.name);
    within_reach(&abi, legal.stage)?;
    let uniformity = Uniformity::new(&legal, legal.main());
    let convergent = legal.main().ordered().any(|(_, i)| {
        let d = &legal.main().insts[i];
        matches!(d.op, Opcode::Ddx | Opcode::Ddy | Opcode::Barrier) || (d.op == Opcode::Tex && legal.stage == Stage::Fragment)
    });
    let mut selected = select(&legal, &uniformity, &mut abi, chip, options, true)?;
    let (mut placed, mut spilled) = place_all(&selected.vcode, abi.local_bytes, chip, None, options)?;
    if halves_out_of_reach(&placed) {
        selected = select(&legal, &uniformity, &mut abi, chip, options, false)?;
        (placed, spilled) = place_all(&selected.vcode, abi.local_bytes, chip, None, options)?;
    }
    let blocks = selected.blocks.clone();
    let bytes = |placed: &Placed<MInst>| {
        let optimise = options.opt != OptLevel::O0;
        emit::emit(placed, &structure.nodes, &blocks, &uniformity, space(legal.stage), convergent, optimise)
    };
    let mut laid = Laid { code: bytes(&placed)?, placed, spilled };
    let lay_out = |vcode: &VCode<MInst>, most: u32| {
        let (placed, spilled) = place_all(vcode, abi.local_bytes, chip, (spilled == 0 && most <= 64).then_some(most), options)?;
        if halves_out_of_reach(&placed) {
            return Err(CompileError::Internal("an immediate beside a half that it cannot name".into()));
        }
        Ok(Laid { code: bytes(&placed)?, placed, spilled })
    };
    if options.opt != OptLevel::O0
        && let Some((better, vcode)) = scheduled(&mut selected.vcode, &laid, chip.register_file, &lay_out)?
    {
        laid = better;
        selected.vcode = vcode;
    }
    let Laid { code, placed, spilled } = laid;
    abi.local_bytes += spilled;
    abi.barriers = legal.main().ordered().filter(|(_, i)| legal.main().insts[*i].op == Opcode::Barrier).count().min(1) as u32;
    abi.registers = code.registers;
    finish(source, legal, abi, code, &selected, placed, chip, options, dumps)
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
    let chip = chip_of(options)?;
    let (legal, structure) = legal::prepare(source, options, &mut |_, _| {})?;
    lap("optimise and legalise");
    let mut abi = Abi::new(&legal, chip.name);
    let uniformity = Uniformity::new(&legal, legal.main());
    let selected = select(&legal, &uniformity, &mut abi, chip, options, true)?;
    lap("select");
    let (placed, _) = place_all(&selected.vcode, abi.local_bytes, chip, None, options)?;
    lap("place (regalloc2)");
    emit::emit(&placed, &structure.nodes, &selected.blocks, &uniformity, space(legal.stage), false, true)?;
    lap("emit");
    Ok(out)
}

#[allow(clippy::too_many_arguments)]
fn finish(
    source: &Module,
    legal: Module,
    abi: Abi,
    code: Code,
    selected: &lower::Selected,
    placed: Placed<MInst>,
    chip: &Chip,
    wanted: &Options,
    dumps: Vec<(String, String)>,
) -> Result<CompiledShader, CompileError> {
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
        asm = crate::listing::listing(&code.bytes, &options).map_err(|e| CompileError::Internal(e.message))?;
        extra.insert("mir", mir_text(selected).into_bytes());
        extra.insert("regalloc", placed.text().into_bytes());
        extra.insert("hex", crate::listing::hex(&code.bytes).into_bytes());
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
        dumps,
    })
}

/// The selected program, and which patterns applied.
fn mir_text(selected: &lower::Selected) -> String {
    let fired: Vec<&str> = selected.patterns.iter().copied().collect();
    format!("{}; patterns: {}\n", selected.vcode.text(), fired.join(" "))
}

fn reflect(source: &Module, abi: &Abi) -> Reflection {
    let mut r = Reflection::from_module(source);
    r.target = "tesla".to_string();
    let stage = source.stage;
    for (n, i) in r.inputs.iter_mut().enumerate() {
        let decl = &source.inputs[retroshade_ir::Input::from_u32(n as u32)];
        let letter = match stage {
            Stage::Vertex => "a",
            Stage::Geometry => "p",
            _ => "v",
        };
        let first = (0..4).find_map(|l| abi.input_offset(n as u32, 0, l));
        i.register = match decl.binding {
            Binding::Builtin(retroshade_ir::Builtin::Position) if stage == Stage::Fragment => Some("v[0x0]".to_string()),
            _ => first.map(|o| format!("{letter}[{o:#x}]")),
        };
    }
    for (n, o) in r.outputs.iter_mut().enumerate() {
        o.register = match stage {
            Stage::Fragment => abi.results.iter().find(|x| x.1.decl == n as u32).map(|x| format!("$r{}", x.0)),
            _ => abi.output_offset(n as u32, 0, 0).map(|x| format!("o[{x:#x}]")),
        };
    }
    for u in &mut r.uniforms {
        let place = abi.uniforms.iter().zip(source.uniforms.values()).find(|(_, d)| (d.group, d.binding) == (u.group, u.binding));
        if let Some((p, d)) = place {
            u.register = Some(format!("c{}[{:#x}]", p.space, p.offset - d.offset + u.offset));
        }
    }
    if let Some(c) = &abi.constants {
        r.constants.push(ReflectConstants { register: format!("c{}[0x0]", c.space), words: c.words.clone() });
    }
    for (n, t) in r.textures.iter_mut().enumerate() {
        t.unit = n as u32;
    }
    for (n, s) in r.storage.iter_mut().enumerate() {
        s.register = Some(match abi.storage_spaces.get(n).copied().flatten() {
            Some(space) => format!("c{space}[{:#x}]", crate::abi::BUFFER_HEADER),
            None => format!("g{n}[]"),
        });
    }
    r
}
