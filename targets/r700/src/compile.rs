//! The straight line from legalised IR to bytes.

use crate::abi::{Abi, Platform, Role};
use crate::emit::{Emitted, emit};
use crate::isa::forms::{TABLE, op2};
use crate::legal::{Choice, legalise};
use crate::place::sched::{Numbering, Stuck, schedule};
use crate::place::{AllocError, Leaf, Placement, allocate};
use crate::select::lower;
use crate::select::mir::*;
use retroshade_ir::analysis::{Cfg, DomTree, Loops};
use retroshade_ir::{Function, Module, Opcode, Stage};
use retroshade_lower::structure::Structure;
use retroshade_lower::{CompileError, OptLevel, Options};
use retroshade_regalloc::judge::Placed;
use std::collections::BTreeSet;

/// What compiling gives before it is wrapped up.
#[derive(Debug)]
pub struct Compiled {
    /// The legalised module.
    pub legal: Module,
    /// The interface.
    pub abi: Abi,
    /// The code.
    pub emitted: Emitted,
    /// Registers used.
    pub gprs: u16,
    /// Texts asked for.
    pub dumps: Vec<(String, String)>,
    /// The scheduled program as text.
    pub mir: String,
    /// The programs beside this one.
    pub parts: Vec<crate::container::Part>,
}

/// One way of compiling, and what it costs.
struct Candidate {
    cost: u64,
    module: Module,
    emitted: Emitted,
    gprs: u16,
    mir: String,
    placed: Option<Placed>,
}

/// What a group is worth in bytes when whole programs are compared: it is a group of four cycles, too.
const GROUP_WEIGHT: u64 = 20;

/// Tries of the scheduler while ways of compiling are compared, and for the way that is kept.
const QUICK: u64 = 600;
const THOROUGH: u64 = 40_000;

/// Live values (of 496 channels) above which the first attempt at spilling moves some to memory, and where attempts end.
const SPILL_FROM: u32 = 360;
const SPILL_TO: u32 = 40;

/// Elements of scratch memory that ARRAY_SIZE can bound.
pub const MAX_SCRATCH: u32 = 4096;

/// IR instructions that may be compiled to compare ways of compiling.
const WORK: usize = 3_000;

/// Code size in bytes, and what its groups are worth.
fn cost(e: &Emitted) -> u64 {
    e.words.len() as u64 * 4 + GROUP_WEIGHT * e.counts.groups
}

/// Compiles one legalised module; `effort` scales the search of the scheduler.
fn candidate(base: &Module, options: &Options, effort: u64, dumps: &mut Vec<(String, String)>) -> Result<Candidate, CompileError> {
    let mut module = base.clone();
    let tree = crate::legal::structure(&mut module, options, dumps)?;
    let abi = Abi::of(&module, Platform::of(options.chip.as_deref()))?;
    let mut last = CompileError::Internal("no schedule".to_string());
    for boldness in [2, 1, 0] {
        match generate(&module, &tree, &abi, effort, boldness, options.check_allocation) {
            Ok((emitted, gprs, mir, placed)) => return Ok(Candidate { cost: cost(&emitted), module, emitted, gprs, mir, placed }),
            Err(Retry::No(e)) => return Err(e),
            Err(Retry::Yes(e)) => last = e,
        }
    }
    Err(last)
}

/// The ways of legalising that are worth trying: each beside the standard one makes a difference only where the program has
/// what it is about.
fn choices(module: &Module, search: bool) -> Vec<Choice> {
    let standard = Choice { dot: 3, unroll: 256, select: 16, balance: false };
    let mut out = vec![standard];
    if !search {
        return out;
    }
    let count = |f: &dyn Fn(&Function) -> bool| module.functions.values().any(f);
    let has = |f: &Function, ops: &[Opcode]| f.ordered().any(|(_, i)| ops.contains(&f.insts[i].op));
    use Opcode::*;
    if count(&|f| has(f, &[Fadd, Fsub, Fma, Fmad, Dot])) {
        out.extend([Choice { dot: 4, ..standard }, Choice { dot: 2, ..standard }, Choice { dot: 0, ..standard }]);
    }
    let branches = count(&|f| f.blocks.len() > 1);
    if branches || count(&|f| has(f, &[Select])) {
        out.push(Choice { dot: 2, balance: true, ..standard });
    }
    if branches {
        out.extend([Choice { select: 48, ..standard }, Choice { dot: 0, select: 48, ..standard }]);
    }
    let loops = count(&|f| {
        let cfg = Cfg::new(f);
        !Loops::new(&cfg, &DomTree::new(f, &cfg)).is_empty()
    });
    if loops {
        out.extend([Choice { unroll: 0, ..standard }, Choice { dot: 0, unroll: 0, ..standard }]);
    }
    out
}

/// Compiles a module: tries it with and without dot products and unrolling, then single dot products the other way. The work
/// is bounded in instructions, so large programs are tried fewer ways.
pub fn compile(module: &Module, options: &Options) -> Result<Compiled, CompileError> {
    let mut dumps = Vec::new();
    let search = options.opt > OptLevel::O1;
    let quick = if search { QUICK } else { 1 };
    let mut all: Vec<(Candidate, Module)> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut first_error = None;
    let mut work = 0;
    for choice in choices(module, search) {
        if work > WORK {
            break;
        }
        let base = match legalise(module, options, choice, &mut Vec::new()) {
            Ok(b) => b,
            Err(e) => {
                first_error.get_or_insert(e);
                continue;
            }
        };
        let text = retroshade_ir::print(&base);
        work += base.main().inst_count();
        if seen.contains(&text) {
            continue;
        }
        seen.push(text);
        match candidate(&base, options, quick, &mut Vec::new()) {
            Ok(c) => all.push((c, base)),
            Err(e) => {
                first_error.get_or_insert(e);
            }
        }
    }
    // Groups are worth bytes, but hardly more than a tenth (or two slots) above the smallest code found.
    let bytes = |c: &Candidate| c.emitted.words.len() as u64 * 4;
    let smallest = all.iter().map(|c| bytes(&c.0)).min().unwrap_or(0);
    let cap = smallest + (smallest / 10).max(16);
    let weighed = |c: &Candidate| c.cost + 4 * bytes(c).saturating_sub(cap);
    all.sort_by_key(|c| weighed(&c.0));
    // Single dot products are tried the other way from the best candidate that has some.
    let start = all.iter().position(|c| crate::legal::dots(&c.1) > 0).unwrap_or(0);
    let other_best = (start > 0).then(|| all.remove(0));
    let start = start.saturating_sub(1);
    let Some((mut found, mut base)) = (start < all.len()).then(|| all.swap_remove(start)) else {
        return Err(first_error.unwrap_or_else(|| CompileError::Internal("no candidate".to_string())));
    };
    let ops = base.main().inst_count();
    if search {
        let (mut k, mut left) = (0, WORK / 2);
        while k < crate::legal::dots(&base).min(16) && ops <= left {
            left -= ops;
            let mut other = base.clone();
            crate::legal::expand_dots(&mut other, |n, _| n == k);
            match candidate(&other, options, quick, &mut Vec::new()) {
                Ok(c) if weighed(&c) < weighed(&found) => (found, base) = (c, other),
                _ => k += 1,
            }
        }
    }
    if let Some((c, b)) = other_best.filter(|c| weighed(&c.0) < weighed(&found)) {
        (found, base) = (c, b);
    }
    if search || options.wants("legal") {
        let full = candidate(&base, options, if search { THOROUGH } else { quick }, &mut dumps)?;
        if weighed(&full) <= weighed(&found) {
            found = full;
        }
    }
    if options.wants("mir") {
        dumps.push(("mir".to_string(), found.mir.clone()));
    }
    if let Some(placed) = &found.placed {
        placed.judge().map_err(CompileError::Internal)?;
    }
    let abi = Abi::of(&found.module, Platform::of(options.chip.as_deref()))?;
    let parts = crate::container::stages::parts(&base, &abi, options)?;
    Ok(Compiled { parts, legal: found.module, abi, emitted: found.emitted, gprs: found.gprs, dumps, mir: found.mir })
}

/// A vertex program in another role, without much search: its code and registers.
pub fn in_role(base: &Module, options: &Options, role: Role) -> Result<(Emitted, u16), CompileError> {
    let mut module = base.clone();
    let tree = crate::legal::structure(&mut module, options, &mut Vec::new())?;
    let abi = Abi::in_role(&module, role, Platform::of(options.chip.as_deref()))?;
    let mut last = CompileError::Internal("no schedule".to_string());
    for boldness in [2, 1, 0] {
        match generate(&module, &tree, &abi, 1, boldness, options.check_allocation) {
            Ok((emitted, gprs, _, placed)) => {
                if let Some(p) = placed {
                    p.judge().map_err(CompileError::Internal)?;
                }
                return Ok((emitted, gprs));
            }
            Err(Retry::No(e)) => return Err(e),
            Err(Retry::Yes(e)) => last = e,
        }
    }
    Err(last)
}

/// Straight-line code that needs no selection: its code and registers.
pub fn straight(mir: Mir, stage: Stage) -> Result<(Emitted, u16), CompileError> {
    let error = |r: Retry| match r {
        Retry::Yes(e) | Retry::No(e) => e,
    };
    let (mir, scheduled, place) = fit(mir, QUICK, 1).map_err(error)?;
    let emitted = emit(&mir, &scheduled, &place, stage, false).map_err(|e| CompileError::Internal(e.to_string()))?;
    Ok((emitted, place.count.max(1)))
}

/// Whether a failure may vanish with less coalescing.
enum Retry {
    Yes(CompileError),
    No(CompileError),
}

/// Code, registers used, a listing, and the placement where the checker shall see it.
type Generated = (Emitted, u16, String, Option<Placed>);

fn generate(legal: &Module, tree: &Structure, abi: &Abi, effort: u64, boldness: u8, check: bool) -> Result<Generated, Retry> {
    let mut mir = lower(legal, legal.main(), tree, abi).map_err(Retry::No)?;
    crate::place::coalesce::remove_dead(&mut mir);
    if boldness == 0 {
        crate::place::spill::loosen(&mut mir);
    }
    if boldness > 0 {
        crate::place::coalesce::coalesce(&mut mir, boldness > 1);
    }
    if !crate::place::coalesce::settle_quads(&mut mir) {
        return Err(Retry::Yes(CompileError::Internal("the lanes of a register do not fit into four channels".to_string())));
    }
    simplify(&mut mir.steps);
    crate::select::fetch::whole_quads(&mut mir);
    limit_constants(&mut mir);
    let reserved = match legal.stage {
        Stage::Vertex => 1,
        Stage::Geometry => 2,
        _ => 0,
    };
    let (mir, scheduled, place) = fit(mir, effort, reserved)?;
    if mir.scratch > 0 && abi.platform == Platform::WiiU {
        let message = "the program needs scratch memory, which no call of GX2 provides: fewer live values or shorter local arrays";
        return Err(Retry::No(CompileError::limit("R0306", retroshade_ir::Span::NONE, message, mir.scratch as u64, 0)));
    }
    if mir.scratch > MAX_SCRATCH {
        let message = "the program needs more scratch memory than its instructions reach";
        return Err(Retry::No(CompileError::limit("R0306", retroshade_ir::Span::NONE, message, mir.scratch as u64, MAX_SCRATCH as u64)));
    }
    let emitted = emit(&mir, &scheduled, &place, legal.stage, abi.fetch_shader).map_err(|e| {
        Retry::No(CompileError::limit("R0307", retroshade_ir::Span::NONE, format!("the program does not fit its encoding: {e}"), 1, 0))
    })?;
    let placed = check.then(|| crate::place::check::placed(&mir, &scheduled, &place));
    Ok((emitted, place.count.max(1), describe(&mir), placed))
}

/// Schedules and allocates; where the registers do not suffice, more and more values go to scratch memory.
fn fit(mir: Mir, effort: u64, reserved: u8) -> Result<(Mir, Vec<Leaf>, Placement), Retry> {
    let mut most = SPILL_FROM;
    let mut code = mir.clone();
    loop {
        let scheduled = schedule_all(&mut code, effort)?;
        let error = match allocate(&code, &code.steps, &scheduled, reserved) {
            Ok(p) => match define_undefined(code, scheduled, p, effort, reserved) {
                Err(Retry::No(e)) => e,
                done => return done,
            },
            Err(AllocError::Limit(e)) => e,
            Err(AllocError::Quad) => return Err(Retry::Yes(CompileError::Internal("two lanes of one register overlap".to_string()))),
        };
        code = mir.clone();
        if most < SPILL_TO || !crate::place::spill::spill(&mut code, most) {
            // With less coalescing fewer values are tied to others in registers.
            return Err(Retry::Yes(error));
        }
        most = most * 2 / 3;
    }
}

/// Webs that some path leaves undefined start as 0, as the IR says of outputs that are never written.
fn define_undefined(
    mut mir: Mir,
    scheduled: Vec<Leaf>,
    place: Placement,
    effort: u64,
    reserved: u8,
) -> Result<(Mir, Vec<Leaf>, Placement), Retry> {
    if place.undefined.is_empty() {
        return Ok((mir, scheduled, place));
    }
    let mut first: Vec<Op> = place.undefined.iter().map(|w| Op::alu(op2::MOV, &[Opnd::bits(0)], Some(*w))).collect();
    match mir.steps.first_mut() {
        Some(Step::Code(c)) => {
            first.append(c);
            *c = first;
        }
        _ => mir.steps.insert(0, Step::Code(first)),
    }
    for info in &mut mir.webs {
        if !info.settled {
            info.chan = None;
        }
    }
    let scheduled = schedule_all(&mut mir, effort)?;
    let place = match allocate(&mir, &mir.steps, &scheduled, reserved) {
        Ok(p) => p,
        Err(AllocError::Limit(e)) => return Err(Retry::No(e)),
        Err(AllocError::Quad) => return Err(Retry::Yes(CompileError::Internal("two lanes of one register overlap".to_string()))),
    };
    Ok((mir, scheduled, place))
}

/// Schedules every piece of code; operations that fit nowhere get their operands moved to other channels.
fn schedule_all(mir: &mut Mir, effort: u64) -> Result<Vec<Leaf>, Retry> {
    for info in &mut mir.webs {
        info.settled = info.chan.is_some();
    }
    let total: usize = leaves(&mir.steps).iter().map(|l| l.len()).sum();
    // Pieces share the tries by their length; each is scheduled once at least.
    let share = |n: usize| effort * n as u64 / total.max(1) as u64;
    let mut out: Vec<Leaf> = Vec::new();
    let mut names = Numbering::default();
    let code: Vec<Vec<Op>> = leaves(&mir.steps).into_iter().cloned().collect();
    for (k, ops) in code.into_iter().enumerate() {
        let mut ops = ops;
        let mut rounds = 0;
        // Every round adds moves, so the bound must not grow with them.
        let most = 24 + ops.len().min(40);
        loop {
            match schedule(&ops, mir, share(ops.len()), &mut names) {
                Ok((items, chan)) => {
                    for (w, c) in chan {
                        mir.webs[w.0 as usize].chan = Some(c);
                    }
                    out.push(Leaf { ops, items });
                    break;
                }
                Err(Stuck::Op(i)) => {
                    rounds += 1;
                    if rounds > most {
                        return Err(Retry::Yes(CompileError::Internal(format!("`{}` fits no instruction group", ops[i].name()))));
                    }
                    spread(mir, k, i);
                    ops = leaves(&mir.steps)[k].clone();
                }
            }
        }
    }
    Ok(out)
}

/// Moves an operation's register operands to channels of their own.
fn spread(mir: &mut Mir, leaf: usize, i: usize) {
    let mut ops = leaves(&mir.steps)[leaf].clone();
    let reduce = ops[i].kind == Kind::Reduce;
    let mut moves = Vec::new();
    for k in 0..ops[i].src.len() {
        let s = ops[i].src[k];
        if s.as_web().is_some() {
            let w = mir.web();
            mir.webs[w.0 as usize].chan = Some(if reduce { k as u8 / 2 } else { k as u8 });
            mir.webs[w.0 as usize].settled = true;
            moves.push(Op::alu(op2::MOV, &[Opnd { place: s.place, neg: false, abs: false }], Some(w)));
            ops[i].src[k].place = Place::Web(w);
        }
    }
    ops.splice(i..i, moves);
    let mut n = 0;
    each_leaf(&mut mir.steps, &mut |l| {
        if n == leaf {
            *l = ops.clone();
        }
        n += 1;
    });
}

/// Copies constants to registers where one operation names more than a group can read.
fn limit_constants(mir: &mut Mir) {
    let mut webs = std::mem::take(&mut mir.webs);
    each_leaf(&mut mir.steps, &mut |ops| {
        let old = std::mem::take(ops);
        for mut op in old {
            let (mut pairs, mut words): (BTreeSet<u64>, BTreeSet<u32>) = (BTreeSet::new(), BTreeSet::new());
            if op.is_alu() {
                let float = op.float_operands();
                for s in &mut op.src {
                    let over = match s.place {
                        Place::Const(b, i, c) => {
                            let key = (b as u64) << 32 | (i as u64) << 1 | c as u64 >> 1;
                            !pairs.contains(&key) && pairs.len() == 2 || {
                                pairs.insert(key);
                                false
                            }
                        }
                        Place::Bits(b) if inline_constant(b, float).is_none() => {
                            let known = words.contains(&b) || float && words.contains(&(b ^ 0x8000_0000));
                            !known && words.len() == 4 || {
                                words.insert(b);
                                false
                            }
                        }
                        _ => false,
                    };
                    if over {
                        webs.push(WebInfo::default());
                        let w = Web(webs.len() as u32 - 1);
                        let mut m = Op::alu(op2::MOV, &[Opnd { place: s.place, neg: false, abs: false }], Some(w));
                        m.span = op.span;
                        ops.push(m);
                        s.place = Place::Web(w);
                    }
                }
            }
            ops.push(op);
        }
    });
    mir.webs = webs;
}

/// An arm that only leaves the loop becomes ALU_BREAK, one that only ends its round ALU_CONTINUE; empty pieces of code vanish.
fn simplify(steps: &mut Vec<Step>) {
    let old = std::mem::take(steps);
    for s in old {
        match s {
            Step::If { mut then, mut other } => {
                simplify(&mut then);
                simplify(&mut other);
                let leaves = matches!(other.as_slice(), [Step::Break]);
                let waits = matches!(other.as_slice(), [Step::Continue]);
                if leaves || waits {
                    steps.push(if leaves { Step::BreakUnless } else { Step::ContinueUnless });
                    steps.append(&mut then);
                } else if then.is_empty() && other.is_empty() {
                    // Nothing depends on the predicate any more.
                    if let Some(Step::Code(c)) = steps.last_mut()
                        && c.last().is_some_and(|o| o.kind == Kind::Pred)
                    {
                        c.pop();
                    }
                } else {
                    steps.push(Step::If { then, other });
                }
            }
            Step::Loop(mut body) => {
                simplify(&mut body);
                steps.push(Step::Loop(body));
            }
            Step::Code(c) => {
                // Two pieces without control flow between them are one.
                match steps.last_mut() {
                    Some(Step::Code(before))
                        if before.last().is_none_or(|o| o.is_alu() && o.kind != Kind::Pred || matches!(o.kind, Kind::Fetch(_))) =>
                    {
                        before.extend(c)
                    }
                    _ if c.is_empty() => {}
                    _ => steps.push(Step::Code(c)),
                }
            }
            other => steps.push(other),
        }
    }
}

/// The operations as text.
fn describe(mir: &Mir) -> String {
    fn opnd(o: &Opnd) -> String {
        let base = match o.place {
            Place::Web(w) => format!("w{}", w.0),
            Place::Const(b, i, c) => format!("c{b}[{i}].{}", b"xyzw"[c as usize & 3] as char),
            Place::Bits(b) => format!("{b:#x}"),
            Place::Array { local, offset, chan, rel } => {
                format!("array{local}[{offset}{}].{}", if rel { "+AR" } else { "" }, b"xyzw"[chan as usize & 3] as char)
            }
        };
        let base = if o.abs { format!("|{base}|") } else { base };
        if o.neg { format!("-{base}") } else { base }
    }
    fn walk(steps: &[Step], depth: usize, out: &mut String) {
        let pad = "  ".repeat(depth);
        for s in steps {
            match s {
                Step::Code(ops) => {
                    for o in ops {
                        let dst: Vec<String> = o.writes().iter().map(|w| format!("w{}", w.0)).collect();
                        let src: Vec<String> = match &o.kind {
                            Kind::Fetch(_) | Kind::Export(_) | Kind::Write(_) => o.reads().iter().map(|w| format!("w{}", w.0)).collect(),
                            _ => o.src.iter().map(opnd).collect(),
                        };
                        let name = match &o.kind {
                            Kind::Fetch(f) => TABLE.form(f.word.form).name,
                            Kind::Export(_) => "EXPORT",
                            Kind::Write(w) => TABLE.form(w.form).name,
                            Kind::Control(form) => TABLE.form(*form).name,
                            _ => o.name(),
                        };
                        out.push_str(&format!("{pad}{} = {name} {}\n", dst.join(", "), src.join(", ")));
                    }
                }
                Step::If { then, other } => {
                    out.push_str(&format!("{pad}if\n"));
                    walk(then, depth + 1, out);
                    out.push_str(&format!("{pad}else\n"));
                    walk(other, depth + 1, out);
                }
                Step::Loop(b) => {
                    out.push_str(&format!("{pad}loop\n"));
                    walk(b, depth + 1, out);
                }
                Step::BreakUnless => out.push_str(&format!("{pad}break unless\n")),
                Step::ContinueUnless => out.push_str(&format!("{pad}continue unless\n")),
                Step::Break => out.push_str(&format!("{pad}break\n")),
                Step::Continue => out.push_str(&format!("{pad}continue\n")),
            }
        }
    }
    let mut out = String::new();
    walk(&mir.steps, 0, &mut out);
    out
}
