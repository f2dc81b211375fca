//! The straight line from legalised IR to bytes.

use crate::abi::{Abi, Platform, Role, loop_entry};
use crate::container::ring::Code;
use crate::container::stages;
use crate::emit::{Emitted, emit};
use crate::legal::{Choice, STANDARD, as_it_matters, begin, beginning, form, legalise, preparation, prepare, unroll};
use crate::place::estimate::{Estimate, Rival};
use crate::place::fit::{Retry, fit};
use crate::place::sched::{FETCH_COST, GROUP_COST};
use crate::place::{Leaf, Placement, coalesce, constants, spill, waves};
use crate::select::mir::*;
use crate::select::tidy::{
    ask_directly, hold_integers, join_masks, limit_constants, prefer_lanes, shape_control_flow, shift_with_signs, show_integers,
};
use crate::select::{doubled, early, late, literals, lower};
use retroshade_emit::{EncodeError, LayoutError};
use retroshade_ir::analysis::{Cfg, DomTree, Loops};
use retroshade_ir::{Function, InstData, Module, Opcode, Span, Stage, same};
use retroshade_lower::driver::{Budget, Phase, Trace, climb};
use retroshade_lower::legal::streams;
use retroshade_lower::structure::Structure;
use retroshade_lower::{CompileError, OptLevel, Options};
use std::cell::Cell;

/// What compiling gives before it is wrapped up.
#[derive(Debug)]
pub struct Compiled<'o> {
    /// The legalised module.
    pub legal: Module,
    /// The interface.
    pub abi: Abi,
    /// The code.
    pub emitted: Emitted,
    /// Registers used.
    pub gprs: u16,
    /// Texts asked for so far.
    pub trace: Trace<'o>,
    /// The operations before scheduling, as text.
    pub mir: String,
    /// Where their values live, as text.
    pub places: String,
    /// The programs beside this one.
    pub parts: Vec<crate::container::Part>,
}

/// One way of compiling.
struct Candidate {
    module: Module,
    abi: Abi,
    selected: Selected,
    code: Generated,
}

/// Code that waits for its schedule.
struct Selected {
    mir: Mir,
    /// The same with copies of constants.
    copied: Option<Mir>,
    /// Registers that something else fills.
    reserved: u8,
}

/// A way of legalising: what it gives, and the texts on the way.
struct Way<'o> {
    candidate: Candidate,
    choice: Choice,
    base: Module,
    trace: Trace<'o>,
}

/// A legalised module, and how it came about.
struct Base<'o> {
    module: Module,
    choice: Choice,
    trace: Trace<'o>,
}

/// The code of a module in one role.
struct Generated {
    placed: Placed,
    /// Registers used.
    gprs: u16,
    mir: String,
    places: String,
    /// Whether it is the code with copies of constants.
    copies: bool,
}

/// What is done for a piece of code.
#[derive(Clone, Copy)]
struct Effort {
    /// Tries of the scheduler.
    tries: u64,
    /// Code that it must be better than.
    than: Option<Rival>,
}

/// For the way that is kept.
const THOROUGH: Effort = Effort { tries: 4_500, than: None };
/// While ways are compared, every piece of code is scheduled once.
const ONCE: Effort = Effort { tries: 1, than: None };

/// Elements of scratch memory that ARRAY_SIZE can bound.
pub const MAX_SCRATCH: u32 = 4096;

/// Bytes by which code may grow where loops are unrolled.
const MOST_UNROLLED: u64 = 1024;

/// Programs that unrolling makes at most so large, in hundredths, are not compiled with their loops: of public programs those won where it
/// made them half as large again and more.
const LITTLE_UNROLLED: usize = 125;

/// IR instructions that may be compiled to compare the first few ways of compiling, and all of them.
const WORK: usize = 2_500;
const MORE_WORK: usize = 800;
const FEW: usize = 4;
/// IR instructions that may be compiled to try dot products one by one.
const DOTS_WORK: usize = 1_000;

/// Dot products that are tried one by one in whatever order: with so few of them no way without any is tried beside that.
const FEW_DOTS: usize = 2;

/// Single dot products in a row that are tried in vain before the others are left as they are.
const DOTS_IN_VAIN: u32 = 8;

/// Programs with fewer IR instructions are tried without any branch, too.
const SMALL: usize = 300;

/// What a program executes, in bytes.
fn executed(e: &Emitted) -> u64 {
    GROUP_COST * e.counts.work.groups + FETCH_COST * e.counts.work.fetches / 2
}

/// Code size in bytes, and what it executes is worth.
fn cost(e: &Emitted) -> u64 {
    bytes(e) + executed(e)
}

fn bytes(e: &Emitted) -> u64 {
    e.words.len() as u64 * 4
}

/// The interface of a module in a role.
pub fn interface(module: &Module, role: Role, options: &Options) -> Result<Abi, CompileError> {
    let mut abi = Abi::in_role(module, role, Platform::of(options.chip.as_deref()))?;
    abi.emulators = crate::legal::for_emulators(options);
    abi.loop_entry = loop_entry(options.chip.as_deref());
    if abi.emulators && module.stage == Stage::Geometry {
        abi.parameters_by_location(module);
    }
    Ok(abi)
}

/// The code that a way must be better than, by its legalised module: the best so far in which dot products may be tried one by one,
/// unless this one has none either. What steers clauses counts for nothing in estimates, so both must have as many blocks.
fn rival(all: &[Way<'_>], base: &Module) -> Option<Rival> {
    let blocks = |m: &Module| m.main().layout.len();
    let plain = crate::legal::dots(base) == 0;
    let rivals = all.iter().filter(|w| blocks(&w.base) == blocks(base) && (plain || crate::legal::dots(&w.base) > 0));
    rivals.map(|w| w.candidate.code.placed.estimate).min_by_key(|e| e.cost()).map(Rival::from)
}

/// Compiles one legalised module with some effort.
fn candidate(base: &Module, options: &Options, effort: Effort, trace: &mut Trace<'_>) -> Result<Candidate, CompileError> {
    let mut module = base.clone();
    let tree = crate::legal::structure(&mut module, options, trace)?;
    let abi = interface(&module, Role::Usual, options)?;
    let (selected, code) = generate(&module, &tree, &abi, effort, options)?;
    Ok(Candidate { module, abi, selected, code })
}

fn has_loops(f: &Function) -> bool {
    let cfg = Cfg::new(f);
    !Loops::new(&cfg, &DomTree::new(f, &cfg)).is_empty()
}

/// The ways of legalising that are worth trying: each beside the standard one makes a difference only where the program has
/// what it is about.
fn choices(module: &Module, search: bool) -> Vec<Choice> {
    let standard = STANDARD;
    let mut out = vec![standard];
    if !search {
        return out;
    }
    let count = |f: &dyn Fn(&Function) -> bool| module.functions.values().any(f);
    let has = |f: &Function, ops: &[Opcode]| f.ordered().any(|(_, i)| ops.contains(&f.insts[i].op));
    use Opcode::*;
    let indexed = |d: &InstData| d.op == Opcode::Uniform && !d.args.is_empty();
    if count(&|f| f.ordered().any(|(_, i)| indexed(&f.insts[i]))) {
        out.push(Choice { indices: false, ..standard });
    }
    if count(&|f| has(f, &[Fadd, Fsub, Fma, Fmad, Dot])) {
        out.push(Choice { dots: false, ..standard });
    }
    let small = module.functions.values().map(Function::inst_count).sum::<usize>() < SMALL;
    let branches = count(&|f| f.blocks.len() > 1);
    if count(&|f| !f.locals.is_empty()) {
        out.push(Choice { local: 0, ..standard });
    }
    if branches && small {
        out.push(Choice { select: 128, ..standard });
    }
    if branches && count(&|f| has(f, &[Tex])) {
        out.push(Choice { arms: false, ..standard });
    }
    if count(&has_loops) {
        out.push(Choice { unroll: 0, ..standard });
    }
    out
}

/// Compiles a module: tries it with and without dot products and unrolling, then single dot products the other way. The work
/// is bounded in instructions, so large programs are tried fewer ways.
pub fn compile<'o>(module: &Module, options: &'o Options) -> Result<Compiled<'o>, CompileError> {
    if let Some(span) = streams::beyond_first(module) {
        return Err(CompileError::unsupported("R0102", span, "R700 has one vertex stream"));
    }
    let search = options.opt > OptLevel::O1;
    let mut bases = bases(module, options, search);
    if let [_] = bases[..]
        && single_steps(&bases[0].module) == 0
    {
        let mut only = bases.swap_remove(0);
        let candidate = candidate(&only.module, options, if search { THOROUGH } else { ONCE }, &mut Trace::off())
            .inspect_err(|_| only.trace.module(Phase::Legal, &only.module))?;
        return wrap_up(candidate, &only.module, only.trace, options);
    }
    let mut all: Vec<Way<'_>> = Vec::new();
    let mut first_error = None;
    for Base { module: base, choice, mut trace } in bases {
        match candidate(&base, options, Effort { than: rival(&all, &base), ..ONCE }, &mut Trace::off()) {
            Ok(candidate) => all.push(Way { candidate, choice, base, trace }),
            Err(e) => {
                trace.module(Phase::Legal, &base);
                first_error.get_or_insert(e);
            }
        }
    }
    // Groups are worth bytes, but hardly more than a tenth (or two slots) above the smallest code found; twice that and more where
    // a loop is gone that fetches, and with it much of what is executed.
    let Some(least) = all.iter().map(|w| &w.candidate.code.placed.emitted).min_by_key(|e| bytes(e)) else {
        return Err(first_error.unwrap_or_else(|| CompileError::Internal("no candidate".to_string())));
    };
    let (smallest, most, waits) = (bytes(least), executed(least), least.counts.work.fetches);
    let weighed = |code: &Generated| {
        let e = &code.placed.emitted;
        let unrolled = options.opt != OptLevel::Os && e.counts.work.fetches < waits && 3 * executed(e) < 2 * most;
        let cap = smallest + if unrolled { smallest.clamp(16, MOST_UNROLLED) } else { (smallest / 10).max(16) };
        cost(e) + 4 * bytes(e).saturating_sub(cap)
    };
    let better = |new: &Way<'_>, old: &Way<'_>| weighed(&new.candidate.code) < weighed(&old.candidate.code);
    all.sort_by_key(|w| weighed(&w.candidate.code));
    // Single dot products are tried the other way from the best way that has some.
    let start = all.iter().position(|w| crate::legal::dots(&w.base) > 0).unwrap_or(0);
    let cheapest = (start > 0).then(|| all.remove(0));
    let start = start.saturating_sub(1);
    let mut found = all.swap_remove(start);
    if search {
        found = single_dots(found, options, better);
    }
    if let Some(w) = cheapest.filter(|w| better(w, &found)) {
        found = w;
    }
    let Way { mut candidate, base, trace, .. } = found;
    if search
        && let Ok(code) = scheduled(&candidate.selected, &candidate.abi, THOROUGH, Some(&candidate.code), options)
        && weighed(&code) <= weighed(&candidate.code)
    {
        candidate.code = code;
    }
    wrap_up(candidate, &base, trace, options)
}

/// Modules halfway and the texts so far, by what led there.
type Halfway<'o, K, M = Module> = Vec<(K, M, Trace<'o>)>;

/// The place of a module halfway; it is made where it is not known yet, with the texts of what it comes from.
fn known<'o, K: PartialEq, M>(all: &mut Halfway<'o, K, M>, key: K, from: Trace<'o>, make: impl FnOnce(&mut Trace<'o>) -> M) -> usize {
    all.iter().position(|(k, ..)| *k == key).unwrap_or_else(|| {
        let mut trace = from;
        let m = make(&mut trace);
        all.push((key, m, trace));
        all.len() - 1
    })
}

/// What ways of legalising share.
#[derive(Default)]
struct Shared<'o> {
    /// Optimised up to where loops are unrolled.
    begun: Halfway<'o, Choice>,
    /// Those with loops unrolled; none where there was nothing to unroll.
    unrolled: Halfway<'o, Choice, Option<Module>>,
    /// Optimised.
    prepared: Halfway<'o, Choice>,
    /// Those in which larger operations are formed, by the place among the prepared ones and whether dot products are among them.
    formed: Halfway<'o, (usize, bool)>,
}

impl<'o> Shared<'o> {
    fn prepared(&mut self, module: &Module, options: &'o Options, choice: Choice) -> usize {
        // What is shown is what was kept.
        let (first, mut key) = (beginning(module, choice), preparation(choice));
        let begun = known(&mut self.begun, first, Trace::new(options), |t| begin(module, options, first, t));
        let (mut from, mut trace) = (&self.begun[begun].1, &self.begun[begun].2);
        if key.unroll > 0 && !from.functions.values().any(has_loops) {
            key.unroll = 0;
        }
        if key.unroll > 0 {
            let with = Choice { unroll: key.unroll, ..first };
            let n = known(&mut self.unrolled, with, trace.clone(), |t| unroll(from, options, with, t));
            match &self.unrolled[n] {
                (_, Some(m), t) => (from, trace) = (m, t),
                _ => key.unroll = 0,
            }
        }
        known(&mut self.prepared, key, trace.clone(), |t| prepare(from, options, key, t))
    }

    /// Whether unrolling makes the program, as it is usually begun, so little larger that it surely pays.
    fn hardly_grows(&self, options: &Options) -> bool {
        let most = if options.opt == OptLevel::Os { 100 } else { LITTLE_UNROLLED };
        match (self.begun.first(), self.unrolled.first()) {
            (Some((_, rolled, _)), Some((_, Some(m), _))) => 100 * m.main().inst_count() <= most * rolled.main().inst_count(),
            _ => false,
        }
    }

    fn formed(&mut self, options: &'o Options, prepared: usize, choice: Choice) -> usize {
        // Where no dot products are found, asking for none is the same.
        let none = |f: &((usize, bool), Module, Trace<'_>)| f.0 == (prepared, true) && crate::legal::dots(&f.1) == 0;
        if !choice.dots
            && let Some(same) = self.formed.iter().position(none)
        {
            return same;
        }
        let (_, from, trace) = &self.prepared[prepared];
        known(&mut self.formed, (prepared, choice.dots), trace.clone(), |t| form(from.clone(), options, choice, t))
    }
}

/// The legalised modules that are worth compiling, each once: ways that come to the same in the middle are not followed further.
fn bases<'o>(module: &Module, options: &'o Options, search: bool) -> Vec<Base<'o>> {
    let mut out: Vec<Base<'o>> = Vec::new();
    let mut shared = Shared::default();
    // What was legalised: what mattered of the choice, and the module by its place among those.
    let mut begun: Vec<(Choice, usize)> = Vec::new();
    let mut work = 0;
    for choice in choices(module, search) {
        if work > if out.len() < FEW { WORK } else { MORE_WORK } {
            break;
        }
        if choice.unroll == 0 && shared.hardly_grows(options) {
            continue;
        }
        // The search over single dot products comes by there.
        let covered = |m: &Module| (1..=FEW_DOTS).contains(&single_steps(m)) || single_steps(m) > 0 && is_long(m);
        if !choice.dots && out.first().is_some_and(|b| covered(&b.module)) {
            continue;
        }
        // Without branches there is nothing that more of them would become.
        if choice.select > STANDARD.select && shared.prepared.first().is_some_and(|p| p.1.functions.values().all(|f| f.layout.len() < 2)) {
            continue;
        }
        let known = shared.prepared(module, options, choice);
        let known = shared.formed(options, known, choice);
        let (_, halfway, trace) = &shared.formed[known];
        work += halfway.main().inst_count();
        let matters = as_it_matters(halfway, choice);
        if begun.iter().any(|(c, k)| *c == matters && (*k == known || same(&shared.formed[*k].1, halfway))) {
            continue;
        }
        begun.push((matters, known));
        let base = legalise(halfway.clone(), options, choice);
        if !out.iter().any(|b| same(&b.module, &base)) {
            out.push(Base { module: base, choice, trace: trace.clone() });
        }
    }
    out
}

/// What is handed on, with the programs beside it.
fn wrap_up<'o>(candidate: Candidate, base: &Module, mut trace: Trace<'o>, options: &Options) -> Result<Compiled<'o>, CompileError> {
    let Candidate { module: legal, abi, code, .. } = candidate;
    let Generated { placed, gprs, mir, places, .. } = code;
    trace.module(Phase::Legal, &legal);
    trace.text(Phase::Select, || mir.clone());
    trace.text(Phase::Place, || places.clone());
    if options.check_allocation {
        placed.place.check()?;
    }
    let Placed { mir: code, leaves, place, emitted, .. } = placed;
    let parts = stages::parts(base, &abi, stages::Main { code: Code { mir: code, leaves, place }, emitted: &emitted, gprs }, options)?;
    Ok(Compiled { parts, legal, abi, emitted, gprs, trace, mir, places })
}

/// The dot products of a legalised module that may be tried as sums.
fn single_steps(base: &Module) -> usize {
    let most = if base.main().inst_count() > WORK {
        0
    } else if is_long(base) {
        usize::MAX
    } else {
        16
    };
    crate::legal::dots(base).min(most)
}

/// Whether dot products of a legalised module are tried all at once only.
fn is_long(base: &Module) -> bool {
    base.main().inst_count() > DOTS_WORK
}

/// Where the search over dot products is: they are numbered as they are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dots {
    /// The first that is tried next, and how many with it.
    next: usize,
    width: usize,
    /// Those that are still to be tried.
    left: usize,
    /// Steps in a row that were no better.
    in_vain: u32,
    /// Whether all of them are tried at once, and nothing else is.
    all: bool,
    only: bool,
}

impl Dots {
    /// All at once, then one by one unless that is `only` what is tried.
    fn new(count: usize, only: bool) -> Dots {
        Dots { next: 0, width: count, left: count, in_vain: 0, all: count > 1, only }
    }
    /// While steps go well each takes twice as many as the one before; what fails together is tried one by one.
    fn after(self, better: bool) -> Dots {
        let this = Dots { all: false, ..self };
        match better {
            true => {
                let left = self.left - self.width;
                Dots { left, width: (2 * self.width).min(left), in_vain: 0, ..this }
            }
            false if self.only => Dots { left: 0, ..this },
            false if self.width > 1 => Dots { width: 1, ..this },
            false => Dots { next: self.next + 1, left: self.left - 1, in_vain: self.in_vain + 1, ..this },
        }
    }
    fn is_over(self) -> bool {
        self.left == 0 || self.in_vain == DOTS_IN_VAIN
    }
}

/// Tries the dot products of a way as sums: all at once, which is kept where it executes no more, then one after the other, until [`DOTS_IN_VAIN`] in a row are no better.
fn single_dots<'o>(way: Way<'o>, options: &'o Options, better: impl Fn(&Way<'_>, &Way<'_>) -> bool) -> Way<'o> {
    let ops = way.base.main().inst_count();
    let mut budget = options.budget((DOTS_WORK / ops.max(1)).max(1) as u64 * ops as u64);
    let tried = Cell::new(Dots::new(single_steps(&way.base), is_long(&way.base)));
    let at = Cell::new(tried.get());
    let steps = std::iter::from_fn(|| {
        tried.set(at.get());
        let step = Some(at.get()).filter(|d| !d.is_over())?;
        at.set(step.after(false));
        Some(step)
    });
    let build = |best: &Way<'o>, dots: Dots, budget: &mut Budget| {
        budget.spend(ops);
        let mut base = best.base.clone();
        crate::legal::expand_dots(&mut base, |n, _| (dots.next..dots.next + dots.width).contains(&n));
        crate::legal::reorder(&mut base, options);
        let than = Rival { estimate: best.candidate.code.placed.estimate, no_dearer: dots.all };
        let effort = Effort { than: Some(than), ..ONCE };
        let candidate = candidate(&base, options, effort, &mut Trace::off())?;
        Ok(Way { candidate, base, choice: best.choice, trace: best.trace.clone() })
    };
    climb(way, steps, &mut budget, build, |new, old| {
        let does = |w: &Way<'_>| executed(&w.candidate.code.placed.emitted);
        let yes = better(new, old) && !(tried.get().all && does(new) > does(old));
        if yes {
            at.set(tried.get().after(true));
        }
        yes
    })
}

/// A vertex program in another role, without much search: its code and registers.
pub fn in_role(base: &Module, options: &Options, role: Role) -> Result<(Emitted, u16), CompileError> {
    let mut module = base.clone();
    let tree = crate::legal::structure(&mut module, options, &mut Trace::off())?;
    let abi = interface(&module, role, options)?;
    let (_, code) = generate(&module, &tree, &abi, ONCE, options)?;
    if options.check_allocation {
        code.placed.place.check()?;
    }
    Ok((code.placed.emitted, code.gprs))
}

/// Code that does not fit its encoding: a constant or an address out of reach.
fn too_large(e: LayoutError<Span>) -> CompileError {
    match e {
        LayoutError::Encode { error: EncodeError::DoesNotFit { form, field, value, width }, span, .. } => {
            let message = format!("the program does not fit its encoding: `{field}` of {form}");
            CompileError::limit("R0307", span, message, value, (1 << width.min(63)) - 1)
        }
        other => CompileError::layout("R0307", other),
    }
}

/// Straight-line code that needs no selection: its code and registers.
pub fn straight(mir: Mir) -> Result<(Emitted, u16), CompileError> {
    let (mir, scheduled, place) = fit(&mir, ONCE.tries, 1, None, None).map_err(Retry::error)?;
    let emitted = emit(&mir, &scheduled, &place, 0, false).map_err(too_large)?;
    Ok((emitted, place.count.max(1)))
}

/// The code of a structured module: with all copies coalesced, or with fewer where registers or channels do not suffice.
fn generate(legal: &Module, tree: &Structure, abi: &Abi, effort: Effort, options: &Options) -> Result<(Selected, Generated), CompileError> {
    let mut last = CompileError::Internal("no schedule".to_string());
    for boldness in [2, 1, 0] {
        let attempt = select(legal, tree, abi, boldness).and_then(|s| {
            let code = scheduled(&s, abi, effort, None, options)?;
            Ok((s, code))
        });
        match attempt {
            Ok(code) => return Ok(code),
            Err(Retry::Yes(e)) => last = e,
            Err(retry) => return Err(retry.error()),
        }
    }
    Err(last)
}

/// Selects code; `boldness` 0 coalesces nothing, 1 not where registers of several values would become one.
fn select(legal: &Module, tree: &Structure, abi: &Abi, boldness: u8) -> Result<Selected, Retry> {
    let mut mir = lower(legal, legal.main(), tree, abi).map_err(Retry::No)?;
    ask_directly(&mut mir);
    join_masks(&mut mir);
    late::choose_last(&mut mir);
    early::take_in(&mut mir);
    coalesce::remove_dead(&mut mir);
    literals::spare(&mut mir);
    doubled::double(&mut mir);
    waves::gather(&mut mir);
    if boldness == 0 {
        spill::loosen(&mut mir);
    }
    if boldness > 0 {
        coalesce::coalesce(&mut mir, boldness > 1);
    }
    if !coalesce::settle_quads(&mut mir) {
        return Err(Retry::Yes(CompileError::Internal("the lanes of a register do not fit into four channels".to_string())));
    }
    prefer_lanes(&mut mir);
    shape_control_flow(&mut mir);
    mir.emulators = abi.emulators;
    if abi.emulators {
        hold_integers(&mut mir);
        shift_with_signs(&mut mir);
        show_integers(&mut mir, legal);
    }
    crate::select::fetch::whole_quads(&mut mir);
    limit_constants(&mut mir);
    let reserved = match legal.stage {
        Stage::Vertex => 1,
        Stage::Geometry => 2,
        _ => 0,
    };
    Ok(Selected { copied: constants::copied(&mir), mir, reserved })
}

/// Schedules selected code; `quick` is what comes of it if each piece of code is scheduled once, where that is known: then there is only
/// other code if it may be better.
fn scheduled(selected: &Selected, abi: &Abi, effort: Effort, quick: Option<&Generated>, options: &Options) -> Result<Generated, Retry> {
    let Selected { mir, copied, reserved } = selected;
    let place = |m: &Mir, effort: Effort, from: Option<&Placed>| placed(m, abi, effort, *reserved, from);
    let value = |p: &Option<Placed>| p.as_ref().map_or(u64::MAX, |p| cost(&p.emitted));
    // Copies are better more often than not; where it matters, a schedule of each tells.
    let mut copies = copied.is_some();
    let mut own = None;
    if let Some(copied) = copied
        && effort.tries > ONCE.tries
    {
        match quick.map(|q| (&q.placed, q.copies)) {
            Some((known, true)) => {
                let without = place(mir, Effort { than: Some(known.estimate.into()), ..ONCE }, None).ok();
                own = without.filter(|p| cost(&p.emitted) < cost(&known.emitted));
                copies = own.is_none();
            }
            Some((_, false)) => copies = false,
            None => {
                let (with, without) = (place(copied, ONCE, None).ok(), place(mir, ONCE, None).ok());
                copies = value(&with) <= value(&without);
                own = if copies { with } else { without };
            }
        }
    }
    let from = own.as_ref().or(quick.filter(|q| q.copies == copies).map(|q| &q.placed));
    let found = match copied {
        Some(copied) if copies => match place(copied, effort, from) {
            Err(Retry::Yes(_) | Retry::No(_)) => {
                copies = false;
                place(mir, effort, None)
            }
            done => done,
        },
        _ => place(mir, effort, from),
    };
    let placed = match (found, own) {
        (Err(Retry::NoBetter), Some(own)) => own,
        (found, _) => found?,
    };
    let (text, places) = if options.writes(&[Phase::Select, Phase::Place]) {
        (describe(&placed.mir), placed.place.describe(&placed.mir))
    } else {
        Default::default()
    };
    // The fetch shader or the rasteriser fills a register for each declared input, read or not.
    let gprs = placed.place.count.max(1).max(abi.input_gprs as u16);
    Ok(Generated { placed, gprs, mir: text, places, copies })
}

/// Code with registers, as it was scheduled and as words.
struct Placed {
    mir: Mir,
    leaves: Vec<Leaf>,
    place: Placement,
    emitted: Emitted,
    estimate: Estimate,
}

/// Schedules, allocates and emits; what was placed already is gone on from.
fn placed(mir: &Mir, abi: &Abi, effort: Effort, reserved: u8, from: Option<&Placed>) -> Result<Placed, Retry> {
    let (mir, leaves, place) = fit(mir, effort.tries, reserved, effort.than, from.map(|p| &p.leaves[..]))?;
    if mir.scratch > 0 && abi.platform == Platform::WiiU {
        let message = "the program needs scratch memory, which no call of GX2 provides: fewer live values or shorter local arrays";
        return Err(Retry::No(CompileError::limit("R0306", Span::NONE, message, mir.scratch as u64, 0)));
    }
    if mir.scratch > MAX_SCRATCH {
        let message = "the program needs more scratch memory than its instructions reach";
        return Err(Retry::No(CompileError::limit("R0306", Span::NONE, message, mir.scratch as u64, MAX_SCRATCH as u64)));
    }
    let emitted = emit(&mir, &leaves, &place, abi.loop_entry, abi.fetch_shader).map_err(|e| Retry::No(too_large(e)))?;
    Ok(Placed { estimate: Estimate::of(&mir.steps, &leaves), mir, leaves, place, emitted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(next: usize, width: usize, left: usize, in_vain: u32) -> Dots {
        Dots { next, width, left, in_vain, all: false, only: false }
    }

    #[test]
    fn dot_products_are_tried_at_once_then_one_by_one() {
        let first = Dots::new(5, false);
        assert!(first.all && first.width == 5);
        assert!(first.after(true).is_over(), "none is left");
        assert_eq!(first.after(false), at(0, 1, 5, 0));
        assert_eq!(at(0, 1, 5, 0).after(false), at(1, 1, 4, 1));
        // Each step that is better takes twice as many next; what fails together is tried one by one.
        assert_eq!(at(1, 1, 4, 1).after(true), at(1, 2, 3, 0));
        assert_eq!(at(1, 2, 3, 0).after(true), at(1, 1, 1, 0), "no more than are left");
        assert_eq!(at(1, 2, 3, 0).after(false), at(1, 1, 3, 0));
        assert!(at(3, 1, 4, DOTS_IN_VAIN).is_over());
        assert!(!Dots::new(1, false).all, "one is a single one");
        assert!(Dots::new(0, false).is_over());
        assert!(Dots::new(5, true).after(false).is_over(), "long programs have no time for more");
    }
}
