//! The ways in which a program is compiled, and which of them is kept: the one with the fewest words.
//!
//! ```text
//!   way (functions kept, loops unrolled, tables) ──▶ legal ─▶ select ─▶ pack ──▶ draft, whose words rank it
//!   the best drafts ──▶ other packings, pairs merged while the program gets shorter
//!                       each trial: operands ─▶ coalesce ─▶ place ─▶ emit
//! ```

use crate::abi::{self, Abi};
use crate::container::{Shbin, header, tables};
use crate::emit::descriptors::ENTRIES;
use crate::emit::{Emitted, branches, descriptor_spill, emit, used_registers};
use crate::isa::asm::{self, LinkError};
use crate::isa::dis;
use crate::isa::forms::Op;
use crate::isa::lint::{Rule, lint};
use crate::isa::word::{Instr, Pattern, descriptor};
use crate::legal::{self, Begun, Legal, Variant, legalise_as, procedures};
use crate::place::coalesce::{Classes, coalesce, interference};
use crate::place::components::{self, COMPONENTS};
use crate::place::lanes::Packing;
use crate::place::{Places, check, lanes, order, place};
use crate::select::mir::Program;
use crate::select::operands::{prepare, prepare_shared};
use indexmap::IndexMap;
use retroshade_ir::{FuncId, Function, Inst, Module, Opcode, Span, Stage};
use retroshade_lower::structure::Structure;
use retroshade_lower::{Budget, CompileError, CompiledShader, OptLevel, Options, Phase, Trace, climb, search, shortlist};
use std::cell::Cell;

/// Work of the search in one way, in operations passed through the later stages.
const SEARCH: usize = 40_000;
/// Work of all ways together.
const WORK: u64 = 3 * SEARCH as u64;
/// A draft that is longer than another one by more than this part of it is not followed further.
const MARGIN: usize = 1000;
/// Above this many operations a trial costs more than linear, so fewer are made.
const LARGE: usize = 110;
/// With fewer trials than this there is none: they would find little and cost as much as all the rest.
const FEW: usize = 16;

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

/// Runs the later stages: with copies made early if that is shorter and fits, and where registers run out with copies made anew for each
/// use. Counts the rounds of coalescing, which is what takes the time.
fn finish(p: &Program, s: &[Structure], outlined: bool, rounds: &mut usize) -> Result<Finished, Failure> {
    let (shared, early) = prepare_shared(p);
    let early = early.and_then(|p| finish_prepared(coalesce(p, true, rounds)?, s, outlined).ok());
    if let Some(done) = early {
        return Ok(done);
    }
    let anew = || prepare(p, false);
    match coalesce(shared, true, rounds).map(|c| finish_prepared(c, s, outlined)) {
        Some(Err(Failure::Pressure(first))) => finish_anew(anew(), s, outlined, rounds).ok_or(Failure::Pressure(first)),
        None => finish_anew(anew(), s, outlined, rounds).ok_or_else(|| Failure::Pressure(Box::new(prepare(p, true)))),
        Some(done) => done,
    }
}

/// The later stages with a copy for each use, if that fits.
fn finish_anew(p: Program, s: &[Structure], outlined: bool, rounds: &mut usize) -> Option<Finished> {
    finish_prepared(coalesce(p, false, rounds)?, s, outlined).ok()
}

/// Places and emits.
fn finish_prepared((program, classes): (Program, Classes), s: &[Structure], outlined: bool) -> Result<Finished, Failure> {
    let Some(places) = place(&program, &classes) else { return Err(Failure::Pressure(Box::new(program))) };
    let emitted = emit(&program, &places, s, outlined).map_err(Failure::Broken)?;
    Ok(Finished { program, places, emitted })
}

enum Failure {
    /// Registers ran out; the program as it was then.
    Pressure(Box<Program>),
    Broken(String),
}

/// A program whose values find no registers, placed component by component: the packing and the code. Lanes of one origin are
/// an operation or stay apart, in the order of the source or in one that keeps little alive, whichever fits first; where nothing
/// does, the error is that with the fewest values alive.
fn tight(selected: &Packed, limit: usize) -> (Packed, Outcome) {
    let mut best: Option<((u8, usize), Packed, Outcome)> = None;
    for (joined, reordered) in [(true, false), (true, true), (false, false), (false, true)] {
        let (packed, outcome) = tight_with(selected, joined, reordered);
        let rank = match &outcome {
            Ok(f) => match link(&mut f.emitted.clone()) {
                Ok((words, _)) if words.len() <= limit => return (packed, outcome),
                Ok((words, _)) => (0, words.len()),
                Err(_) => (1, 0),
            },
            Err(Failure::Pressure(p)) => (2, interference(p).peak.0),
            Err(Failure::Broken(_)) => (3, 0),
        };
        if best.as_ref().is_none_or(|(old, ..)| rank < *old) {
            best = Some((rank, packed, outcome));
        }
    }
    match best {
        Some((_, packed, outcome)) => (packed, outcome),
        None => (selected.clone(), Err(Failure::Broken("nothing was tried".to_string()))),
    }
}

/// How often operations are taken apart for descriptors; the last time all that can be.
const PARTINGS: usize = 4;

/// One such packing. What needs too many descriptors for `mad`, and has no register for the products, has products of its own.
fn tight_with(selected: &Packed, joined: bool, reordered: bool) -> (Packed, Outcome) {
    let (mut p, mut s) = selected.clone();
    match joined {
        true => lanes::pack(&mut p, &mut s, &Packing::default()),
        false => {
            lanes::separate(&mut p, &mut s, &Packing::default());
            p.link_calls();
        }
    }
    if reordered {
        order::for_pressure(&mut p);
    }
    let mut outcome = tight_once(&p, &s);
    for round in 1..=PARTINGS {
        let Ok(done) = &outcome else { break };
        let stuck: Vec<Span> = descriptor_spill::stuck(&done.emitted.code).iter().map(|n| done.emitted.spans[*n]).collect();
        if stuck.is_empty() {
            break;
        }
        lanes::part_products(&mut p, &|n| round == PARTINGS || stuck.contains(&n.span));
        match tight_once(&p, &s) {
            Ok(new) => outcome = Ok(new),
            Err(_) => break,
        }
    }
    ((p, s), outcome)
}

/// Places and emits a packing, with fewer kinds of operations while they need too many descriptors.
fn tight_once(p: &Program, s: &[Structure]) -> Outcome {
    let (mut program, places) = components::fit(p).map_err(Failure::Pressure)?;
    let mut most = ENTRIES;
    loop {
        let emitted = emit(&program, &places, s, true).map_err(Failure::Broken)?;
        match link(&mut emitted.clone()) {
            Err(LinkError::Descriptors(_, _, false)) if most > 0 => {
                most -= ENTRIES / 8;
                components::fewer_patterns(&mut program, &places, most);
            }
            _ => return Ok(Finished { program, places, emitted }),
        }
    }
}

/// A word in the cost of a program.
const WORD: u64 = 1 << 24;

/// Words, then constants, then distinct descriptors roughly, then registers; nothing where that is not below a bound.
fn cost_below(f: &Finished, bound: Option<u64>) -> Option<u64> {
    let long = |c: &u64| bound.is_some_and(|b| *c >= b);
    let words = f.emitted.code.len() as u64 * WORD + ((f.emitted.constants.regs.len() as u64) << 20);
    if long(&words) {
        return None;
    }
    let mut descriptors: Vec<Pattern> = f.emitted.code.iter().filter_map(descriptor).collect();
    let mut mads: Vec<Pattern> = descriptors.iter().copied().filter(|d| d.low).collect();
    let extra = descriptor_spill::extra_words(&mut mads) as u64 * WORD;
    descriptors.sort_unstable();
    descriptors.dedup_by_key(|d| (d.value, d.care));
    Some((words | (descriptors.len() as u64) << 8 | f.emitted.registers as u64) + extra).filter(|c| !long(c))
}

fn cost(f: &Finished) -> Option<u64> {
    cost_below(f, None)
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

/// Whether matrices are chosen at computed places, as those that a program blends are.
fn blends(m: &Module) -> bool {
    let chosen = |f: &Function, i: Inst| f.insts[i].op == Opcode::Uniform && !f.insts[i].args.is_empty();
    m.uniforms.values().any(|u| u.matrix && u.dims.len() > 1)
        && m.functions.values().any(|f| f.ordered().filter(|(_, i)| chosen(f, *i)).count() > 1)
}

/// A change of the way that is tried on the best so far.
enum Step<'a> {
    /// Matrices are blended before they are applied.
    Blend,
    /// A function stays one, perhaps with loops that stay loops.
    Keep(&'a String, bool),
}

/// A compiled program, how it was compiled, and how long its draft was.
struct Made {
    way: Variant,
    draft: usize,
    shader: CompiledShader,
}

impl Made {
    fn words(&self) -> u32 {
        self.shader.stats.instructions
    }
}

/// Whether a program that does not fit might do so in another way: what is several times too much stays too much.
fn nearly(e: &CompileError) -> bool {
    matches!(e, CompileError::Limit { needed, available, .. } if *needed <= 4 * available)
}

/// The ways of one program: what several of them share, and which were followed.
struct Ways<'a> {
    source: &'a Module,
    options: &'a Options,
    begun: Vec<(Vec<String>, Begun<'a>)>,
    followed: Vec<Variant>,
}

impl<'a> Ways<'a> {
    fn new(source: &'a Module, options: &'a Options) -> Ways<'a> {
        Ways { source, options, begun: Vec::new(), followed: Vec::new() }
    }

    fn begin(&mut self, keep: &[String]) -> Result<Begun<'a>, CompileError> {
        if let Some((_, known)) = self.begun.iter().find(|(k, _)| k == keep) {
            return Ok(known.clone());
        }
        let new = legal::begin(self.source, self.options, keep, Trace::new(self.options))?;
        self.begun.push((keep.to_vec(), new.clone()));
        Ok(new)
    }

    /// Follows a way up to its draft; none where another way led to the same program.
    fn draft(&mut self, way: Variant) -> Result<Draft<'a>, CompileError> {
        if self.followed.contains(&way) {
            return Err(CompileError::Internal("this way was followed before".to_string()));
        }
        let begun = self.begin(&way.keep)?;
        let legal = legalise_as(begun, self.source, self.options, &way)?;
        if !legal.unrolled {
            self.followed.push(Variant { unroll: 0, ..way.clone() });
        }
        self.followed.push(way.clone());
        drafted(legal, way, self.options)
    }

    /// Completes a draft unless it is too much longer than that of the best so far.
    fn complete(&self, draft: Draft<'_>, best: Option<usize>, budget: &mut Budget) -> Result<Made, CompileError> {
        if best.is_some_and(|b| draft.words > b + b / MARGIN) {
            return Err(CompileError::Internal("another draft is shorter".to_string()));
        }
        let (way, words) = (draft.way.clone(), draft.words);
        Ok(Made { way, draft: words, shader: completed(draft, self.source, self.options, budget)? })
    }
}

/// Whether registers ran out, or descriptors, which may be because no register is free to do without them.
fn is_crowded(e: &CompileError) -> bool {
    matches!(e, CompileError::Limit { diagnostic, .. } if ["P0300", "P0305"].contains(&diagnostic.code))
}

/// Whether descriptors ran out.
fn lacks_descriptors(e: &CompileError) -> bool {
    matches!(e, CompileError::Limit { diagnostic, .. } if diagnostic.code == "P0305")
}

/// The first way in which a program fits component by component; otherwise an error: that of too many descriptors stays.
fn crowded(all: impl Iterator<Item = Variant>, ways: &mut Ways<'_>, mut best: Result<Made, CompileError>) -> Result<Made, CompileError> {
    for way in all {
        let tight = ways.draft(Variant { tight: true, ..way });
        match tight.and_then(|d| ways.complete(d, None, &mut ways.options.budget(WORK))) {
            Ok(made) => return Ok(made),
            // Another way led to the same program.
            Err(CompileError::Internal(_)) => {}
            Err(new) => best = best.map_err(|old| if lacks_descriptors(&old) || fewer(&old, &new) { old } else { new }),
        }
    }
    best
}

/// Whether an error asks for less than another one of the same kind.
fn fewer(a: &CompileError, b: &CompileError) -> bool {
    match (a, b) {
        (CompileError::Limit { diagnostic: x, needed: n, .. }, CompileError::Limit { diagnostic: y, needed: m, .. }) => {
            x.code == y.code && n <= m
        }
        _ => false,
    }
}

/// Compiles a verified module. Where a function stays a procedure or a loop a loop only if the program is shorter for it.
pub fn compile(source: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
    let first = Variant::of(options);
    let mut ways = Ways::new(source, options);
    if matches!(options.opt, OptLevel::O0 | OptLevel::O1) {
        let mut follow = |way| completed(ways.draft(way)?, source, options, &mut options.budget(u64::MAX));
        return match follow(first.clone()) {
            Err(e) if is_crowded(&e) => follow(Variant { tight: true, ..first }),
            done => done,
        };
    }
    let loops = loops(source);
    // Strips have room to be unrolled, and vertices that are made alike share a procedure.
    let long = (loops && source.stage == Stage::Geometry).then(|| Variant { unroll: STRIPS, ..first.clone() });
    let rolled = |way: &Variant| loops.then(|| Variant { unroll: 0, ..way.clone() });
    let keeping = |way: &Variant, name: &str| Variant { keep: way.keep.iter().cloned().chain([name.to_string()]).collect(), ..way.clone() };
    let functions: Vec<String> = procedures::keepable(source).into_iter().take(CANDIDATES).collect();
    let mut budget = options.budget(WORK);
    let mut shortest = |all: Vec<Variant>, budget: &mut Budget| {
        let drafts = shortlist(all, usize::MAX, budget, |way, _| ways.draft(way), |d| d.words)?;
        let mut best = None;
        let complete = |d: Draft<'_>, b: &mut Budget| {
            let made = ways.complete(d, best, b)?;
            best.get_or_insert(made.draft);
            Ok(made)
        };
        search(drafts, budget, complete, Made::words)
    };
    let mut best = shortest([first.clone()].into_iter().chain(rolled(&first)).chain(long).collect(), &mut budget);
    if let Err(e) = &best {
        // Tables take registers that uniforms may need, and small arrays can be selects as well; in the source's order less may be alive.
        let refused = matches!(e, CompileError::Invalid(_));
        let selects = (nearly(e) || refused && arrays(source)).then(|| Variant { tables: false, algebra: false, ..first.clone() });
        // What is too long in its callers may not be by itself.
        let all = procedures::keepable(source);
        let whole = (all.len() > 1 && nearly(e)).then(|| Variant { keep: all.into_iter().collect(), ..first.clone() });
        // What counts an array's elements in a function need not be proven where it is called.
        let kept = functions.iter().map(|f| keeping(&first, f)).filter(|_| nearly(e) || refused);
        let more: Vec<Variant> = whole.into_iter().chain(selects.clone()).chain(selects.as_ref().and_then(rolled)).chain(kept).collect();
        if !more.is_empty() {
            best = shortest(more, &mut budget).or(best);
        }
    }
    if best.as_ref().is_err_and(|e| nearly(e) && is_crowded(e)) {
        let plain = Variant { tables: false, algebra: false, ..first.clone() };
        let all = [first.clone()].into_iter().chain(rolled(&first)).chain([plain]);
        let all: Vec<Variant> = all.collect();
        best = crowded(all.iter().cloned(), &mut ways, best);
        // What lacks descriptors lacks them then, too.
        if best.as_ref().is_err_and(|e| nearly(e) && !lacks_descriptors(e)) {
            best = crowded(all.into_iter().map(|way| Variant { late: true, ..way }), &mut ways, best);
        }
    }
    // A loop that only calls is unrolled sooner.
    let kept =
        functions.iter().flat_map(|f| [Step::Keep(f, false), Step::Keep(f, true)]).filter(|s| loops || !matches!(s, Step::Keep(_, true)));
    let steps = blends(source).then_some(Step::Blend).into_iter().chain(kept);
    let step = |best: &Made, step: Step<'_>, budget: &mut Budget| {
        let way = match step {
            Step::Blend => Variant { blend: true, ..best.way.clone() },
            Step::Keep(f, roll) => {
                let way = if best.way.keep.contains(f) { best.way.clone() } else { keeping(&best.way, f) };
                if roll { Variant { unroll: 0, ..way } } else { way }
            }
        };
        let draft = ways.draft(way)?;
        // Blended matrices make a longer draft: what they save shows when it is searched.
        let shortest = (!matches!(step, Step::Blend)).then_some(best.draft);
        ways.complete(draft, shortest, budget)
    };
    Ok(climb(best?, steps, &mut budget, step, |new, old| new.words() < old.words()).shader)
}

/// Compiles a verified module with as many functions as procedures as can be, whether or not the program is shorter for it.
pub fn compile_keeping(source: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
    let keep = procedures::keepable(source);
    let draft = Ways::new(source, options).draft(Variant { keep, ..Variant::of(options) });
    match draft.and_then(|d| completed(d, source, options, &mut options.budget(WORK))) {
        Err(CompileError::Internal(e)) => Err(CompileError::Internal(e)),
        Err(_) => compile(source, options),
        done => done,
    }
}

/// Compiles a verified module with its temporaries placed component by component, whether or not they fit in another way.
pub fn compile_tight(source: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
    let draft = Ways::new(source, options).draft(Variant { tight: true, ..Variant::of(options) })?;
    completed(draft, source, options, &mut options.budget(WORK))
}

/// The module that code is made of.
pub fn legal_module(source: &Module, options: &Options) -> Result<Module, CompileError> {
    if procedures::keepable(source).is_empty() && !loops(source) && !arrays(source) && !blends(source) {
        return legal::legalise(source, options);
    }
    match compile(source, options) {
        Ok(s) => Ok(s.legal),
        Err(_) => legal::legalise(source, options),
    }
}

/// Words that a program may have.
fn most_words(stage: Stage) -> usize {
    if stage == Stage::Vertex { asm::VERTEX_WORDS } else { 4096 }
}

/// A program on its way, with the control flow of its functions.
type Packed = (Program, Vec<Structure>);

/// What the later stages make of it.
type Outcome = Result<Finished, Failure>;

/// A way up to its first packing, which tells how long the program will be.
struct Draft<'o> {
    way: Variant,
    module: Module,
    trace: Trace<'o>,
    abi: Abi,
    /// Its functions: the entry, then those that stay procedures.
    functions: Vec<FuncId>,
    /// As it was selected.
    selected: Packed,
    /// The first packing.
    packed: Packed,
    /// What comes of that; none where it is far too long.
    outcome: Option<Outcome>,
    /// Rounds of coalescing that took.
    rounds: usize,
    /// About how long the program is.
    words: usize,
}

fn nodes(p: &Program) -> usize {
    p.blocks.iter().map(|b| b.nodes.len() + 1).sum()
}

/// Nothing makes a program several times shorter: four lanes are an operation, and so are a product and its sum.
fn too_many(nodes: usize, most: usize, p: &Program, limit: usize) -> Result<(), CompileError> {
    let first = p.blocks.iter().flat_map(|b| &b.nodes).nth(limit).map_or(Span::NONE, |n| n.span);
    if nodes > most {
        return Err(CompileError::limit("P0306", first, "the program is too long", nodes as u64 / 8, limit as u64));
    }
    Ok(())
}

/// The packing of a program by default, or another one.
fn pack((p, structures): &Packed, how: &Packing) -> Packed {
    let (mut p, mut s) = (p.clone(), structures.clone());
    lanes::pack(&mut p, &mut s, how);
    (p, s)
}

fn drafted<'o>(legal: Legal<'o>, way: Variant, options: &Options) -> Result<Draft<'o>, CompileError> {
    let Legal { module, structures, mut trace, .. } = legal;
    let abi = abi::assign(&module, abi::Layout::of(options))?;
    let limit = most_words(module.stage);
    let functions = structures.iter().map(|s| s.0).collect();
    let selected: Packed = crate::select::lower(&module, &abi, &structures)?;
    trace.text(Phase::Select, || selected.0.to_string());
    too_many(selected.0.blocks.iter().map(|b| b.nodes.len()).sum(), 64 * limit, &selected.0, limit)?;
    let packed = if options.opt == OptLevel::O0 {
        let mut plain = selected.clone();
        lanes::plain(&mut plain.0);
        plain
    } else {
        pack(&selected, &Packing::default())
    };
    let mut rounds = 0;
    // What is far too long gets no shorter by a search of minutes.
    let short = nodes(&packed.0) <= 8 * limit;
    let (packed, outcome) = match way.tight && short {
        true => {
            let (packed, outcome) = tight(&selected, limit);
            (packed, Some(outcome))
        }
        false => {
            let outcome = short.then(|| finish(&packed.0, &packed.1, true, &mut rounds));
            (packed, outcome)
        }
    };
    let words = match &outcome {
        Some(Ok(f)) => f.emitted.code.len(),
        // Who fits at once comes first.
        _ => usize::MAX / 2,
    };
    Ok(Draft { way, module, trace, abi, functions, selected, packed, outcome, rounds, words })
}

/// The packing with the shortest program, and what merging pairs of operations makes of it.
/// The later stages' outcome is there where nothing was tried.
fn improved(d: &mut Draft<'_>, limit: usize, budget: &mut Budget) -> Option<Outcome> {
    let (source, nodes) = (&d.selected, nodes(&d.packed.0));
    let trial = nodes * nodes.max(LARGE) / LARGE;
    let share = [1, 2, 4, 8, 16].map(|k| SEARCH / k).into_iter().find(|s| budget.allows(*s)).unwrap_or(0);
    let left = Cell::new(share.saturating_sub(trial * d.rounds));
    let finished = |p: &Program, s: &[Structure], outlined: bool| {
        let mut rounds = 0;
        let done = finish(p, s, outlined, &mut rounds);
        left.set(left.get().saturating_sub(trial * rounds));
        done.ok()
    };
    let few = left.get() < FEW * trial;
    let as_it_is = d.outcome.take();
    let words = as_it_is.as_ref().and_then(|f| f.as_ref().ok()).map_or(nodes, |f| f.emitted.code.len());
    let hopeless = words > limit + limit / 4;
    if hopeless || few {
        budget.spend(share);
        return as_it_is;
    }
    let as_it_is = as_it_is.and_then(Result::ok);
    let mut best = (as_it_is.and_then(|f| cost(&f)), Packing::default(), std::mem::take(&mut d.packed));
    let (mut tried, mut offered) = (Vec::new(), best.1.changes(&source.0));
    while let Some(change) = offered.iter().find(|c| !tried.contains(*c)).copied().filter(|_| left.get() > 0) {
        tried.push(change);
        let mut how = best.1.clone();
        change.apply(&mut how);
        let new = pack(source, &how);
        if let Some(cost) = finished(&new.0, &new.1, true).and_then(|f| cost_below(&f, best.0)) {
            offered = how.changes(&source.0);
            best = (Some(cost), how, new);
        }
    }
    let (_, _, (p, structures)) = best;
    let merged = |outlined: bool| {
        lanes::search(p.clone(), WORD, &|p, bound| finished(p, &structures, outlined).and_then(|f| cost_below(&f, bound)), &left)
    };
    let with = merged(true);
    // Repeated sequences hide what merging them would save: once more as if there were no procedures for them.
    let repeats = finished(&with, &structures, true).is_some_and(|f| f.emitted.sequences > 0);
    let plain = repeats.then(|| merged(false));
    let cost = |p: &Program| finished(p, &structures, true).and_then(|f| cost(&f));
    let better = plain.filter(|p| cost(p).is_some_and(|c| cost(&with).is_none_or(|old| c < old)));
    budget.spend(share - left.get());
    d.packed = (better.unwrap_or(with), structures);
    None
}

/// The rest of a way, from its draft.
fn completed(mut draft: Draft<'_>, source: &Module, options: &Options, budget: &mut Budget) -> Result<CompiledShader, CompileError> {
    let layout = abi::Layout::of(options);
    let limit = most_words(draft.module.stage);
    let ready = match options.opt {
        _ if draft.way.tight => draft.outcome.take(),
        OptLevel::O0 | OptLevel::O1 => draft.outcome.take(),
        _ => improved(&mut draft, limit, budget),
    };
    let Draft { module, mut trace, mut abi, functions, packed: (p, structures), .. } = draft;
    trace.text(Phase::Pack, || p.to_string());
    too_many(p.blocks.iter().map(|b| 8 * b.nodes.len()).sum(), 64 * limit, &p, limit)?;
    let mut done = match ready.unwrap_or_else(|| finish(&p, &structures, true, &mut 0)) {
        Ok(f) => check(&f.program, &f.places).map(|()| f).map_err(CompileError::Internal)?,
        Err(Failure::Broken(m)) => return Err(CompileError::Internal(m)),
        Err(Failure::Pressure(p)) => {
            too_many(p.blocks.iter().map(|b| 8 * b.nodes.len()).sum(), 16 * limit, &p, limit)?;
            return Err(pressure(&p));
        }
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
    let (words, descriptors) = link(&mut done.emitted).map_err(|error| unlinked(&error, &done.emitted))?;
    too_long(&done.emitted, limit)?;
    let exe = tables::executable(&module, &abi, &done.emitted, words.len())?;
    let bin = Shbin { code: words.clone(), descriptors: descriptors.clone(), executables: vec![exe] };
    permitted(&bin, &module)?;
    let text = match options.writes(&[Phase::Emit]) {
        true => dis::disassemble(&bin).map_err(|e| CompileError::Internal(e.to_string()))?,
        false => String::new(),
    };
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
    extra.insert("header", header::of_program(&bin, &reflection).into_bytes());
    if options.texts {
        extra.insert("mir", format!("{p}{}\n", p.fired).into_bytes());
        extra.insert("regalloc", done.registers().into_bytes());
        extra.insert("hex", hex(&done.emitted.code, &bin).into_bytes());
    }
    let branches = branches::named(&done.emitted, &done.program, &module, &functions);
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
        branches,
        seen: None,
    })
}

/// Words and descriptors; where `mad`s need too many of the few that they reach, the rarest are taken apart.
fn link(e: &mut Emitted) -> Result<asm::Linked, LinkError> {
    match asm::link(&e.code) {
        Err(LinkError::Descriptors(_, _, true)) => {
            let mut marks: Vec<&mut u32> = e.branches.iter_mut().map(|b| &mut b.0).chain([&mut e.main]).collect();
            let fits = descriptor_spill::split_mads(&mut e.code, &mut e.spans, &mut marks);
            e.registers = if fits { used_registers(&e.code) } else { e.registers };
            asm::link(&e.code)
        }
        other => other,
    }
}

/// What the hardware forbids must never leave the compiler.
fn permitted(bin: &Shbin, m: &Module) -> Result<(), CompileError> {
    retroshade_lower::isa::ends(m)?;
    let findings = lint(bin).map_err(|e| CompileError::Internal(format!("lint: {}", e.message)))?;
    // The linter knows constants that no pass has folded.
    if findings.iter().any(|f| f.rule == Rule::Endless) {
        return Err(retroshade_lower::isa::endless(m));
    }
    // A geometry program may never emit a vertex, and ways that are never taken need not write anything.
    let open = m.stage == Stage::Geometry || m.main().ordered().any(|(_, i)| m.main().insts[i].op == Opcode::Unreachable);
    match findings.iter().find(|f| !open || f.rule != Rule::OutputsMissing) {
        Some(f) => Err(CompileError::Internal(format!("lint: {}\n{}", f.error.message, dis::disassemble(bin).unwrap_or_default()))),
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
fn pressure(p: &Program) -> CompileError {
    let i = interference(p);
    let (lanes, block, node) = i.peak;
    let span = p.blocks.get(block).and_then(|b| b.nodes.get(node)).map_or(Span::NONE, |n| n.span);
    let what = match lanes > COMPONENTS {
        true => "too many values are alive at once, counted in components",
        false => "too many values are alive at once: their number of components would fit, but not where operations need them together",
    };
    let mut e = CompileError::limit("P0300", span, what, lanes as u64, COMPONENTS as u64);
    if let CompileError::Limit { diagnostic, .. } = &mut e {
        let mut spans: Vec<Span> = i.peak_set.ones().filter_map(|t| p.spans.get(t).copied()).collect();
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
