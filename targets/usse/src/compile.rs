//! From a legalised module to code and container: layout, selection, placement, words, flags, branches, `.gxp`.
//!
//! Facts: the ISA sheet's section 17 (program structure, `nosched`, phases) and 19 (container).

use crate::abi::{self, Abi};
use crate::container::{self, files, package};
use crate::emit::{Expander, Literals, flags, known, layout, sched};
use crate::isa::asm;
use crate::isa::forms::{NOP, SMP, VDUAL, VMOV, VPCK, row_of};
use crate::isa::registers::Reg;
use crate::isa::word::Word;
use crate::legal;
use crate::place::{self, Placement};
use crate::select::matrix;
use crate::select::mir::Vreg;
use crate::select::{self, Selected};
use indexmap::IndexMap;
use retroshade_ir::interp::Branch;
use retroshade_ir::*;
use retroshade_lower::isa::{Stats, ir_ops};
use retroshade_lower::reflect::uniform_leaves;
use retroshade_lower::{
    Budget, CompileError, CompiledShader, OptLevel, Options, Phase, Reflection, Syntax, Trace, climb, search, shortlist,
};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

/// Compiles a verified source module.
pub fn compile(source: &Module, o: &Options) -> Result<CompiledShader, CompileError> {
    // The attempt that comes closest says what is missing.
    let mut crowded: Option<CompileError> = None;
    for room in Room::ALL {
        match in_room(source, o, room) {
            Err(e) if is_crowded(&e) => {
                if crowded.as_ref().is_none_or(|closest| crowding(&e) < crowding(closest)) {
                    crowded = Some(e);
                }
            }
            other => return other,
        }
    }
    Err(crowded.unwrap_or_else(|| CompileError::Internal("nothing was built".to_string())))
}

/// What is done so that all values find places; each further step costs words.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Room {
    /// Everything is made as late, and as often, as it is needed.
    late: bool,
    /// The lanes of vectors may be anywhere, now here, now there.
    scalars: bool,
    /// Operations stand in the order that keeps the fewest values alive.
    ordered: bool,
    /// Attributes that hold no input are registers, too.
    attributes: bool,
}

impl Room {
    const ENOUGH: Room = Room { late: false, scalars: false, ordered: false, attributes: false };
    const LATE: Room = Room { late: true, ..Room::ENOUGH };
    const SCALARS: Room = Room { scalars: true, ..Room::LATE };
    const ORDERED: Room = Room { ordered: true, ..Room::SCALARS };
    const ALL: [Room; 6] = [
        Room::ENOUGH,
        Room::LATE,
        Room::SCALARS,
        Room::ORDERED,
        Room { attributes: true, ..Room::LATE },
        Room { attributes: true, ..Room::ORDERED },
    ];
}

/// The registers that a program lacks which has more live values than there are.
fn crowding(e: &CompileError) -> Option<u64> {
    match e {
        CompileError::Limit { diagnostic, needed, available, .. } if diagnostic.code == "U0120" => Some(needed - available),
        _ => None,
    }
}

fn is_crowded(e: &CompileError) -> bool {
    crowding(e).is_some()
}

/// The legalised module that [`compile`] makes code of.
pub fn legal(source: &Module, o: &Options) -> Result<Module, CompileError> {
    let m = legal::legalise(source, o, false, false, &mut Trace::off())?;
    // Which values are f16, and how late they are made, depends on the code.
    if !legal::precision::may_narrow(source, o) && !build(&m, o, &Way::default()).is_err_and(|e| is_crowded(&e)) {
        return Ok(m);
    }
    Ok(compile(source, o).map_or(m, |s| s.legal))
}

/// A program that is ready to be packed, with the module that it was made of.
struct Candidate<'o> {
    module: Module,
    built: Built,
    trace: Trace<'o>,
}

/// Compiles with f16 values where they are allowed and without: conversions can cost more than narrow operations save. The
/// colour leaves as f16 in any case.
fn in_room(source: &Module, o: &Options, room: Room) -> Result<CompiledShader, CompileError> {
    let narrow: &[bool] = if legal::precision::may_narrow(source, o) { &[true, false] } else { &[false] };
    let (sink, mut texts) = (room.late, Trace::new(o));
    let front = legal::front(source, o, sink, &mut texts)?;
    let build = |narrow: bool, _: &mut Budget| {
        let mut trace = texts.clone();
        let module = legal::narrowed(front.clone(), o, sink, narrow, &mut trace)?;
        let built = best(&module, o, room)?;
        Ok(Candidate { module, built, trace })
    };
    let found = search(narrow.iter().copied(), &mut o.budget(u64::MAX), build, |c| c.built.size())?;
    finish(found, o, ir_ops(source))
}

/// Programs as they are first built, the smallest, in which vectors in internal registers are tried.
const FINALISTS: usize = 2;

/// The smallest program. Hoisting costs attribute registers and sometimes words, and so do rows.
fn best(module: &Module, o: &Options, room: Room) -> Result<Built, CompileError> {
    let rows: &[bool] = if room.scalars { &[false] } else { &[false, true] };
    let ways = [true, false].into_iter().flat_map(|hoist| rows.iter().map(move |rows| (hoist, *rows)));
    let mut matrices = true;
    // What the plainest way lacks is what the program lacks.
    let mut plain = None;
    let one = |(hoist, rows): (bool, bool), _: &mut Budget| {
        if rows && !matrices {
            return Err(CompileError::Internal("nothing to group".to_string()));
        }
        let built = build(module, o, &Way { hoist, rows, room, ..Way::default() });
        // What cannot be placed may still be placed another way.
        matrices = if rows { matrices } else { built.as_ref().map_or_else(is_crowded, |b| b.selection.matrices) };
        if let (false, false, Err(e)) = (hoist, rows, &built) {
            plain = Some(e.clone());
        }
        built
    };
    let found = shortlist(ways, FINALISTS, &mut o.budget(u64::MAX), one, Built::size);
    let found = match (found, plain) {
        (Ok(found), _) => found,
        (Err(_), Some(e)) => return Err(e),
        // No way that was tried has anything to work on, and no other may be tried.
        (Err(CompileError::Internal(_)), None) => vec![build(module, o, &Way { room, ..Way::default() })?],
        (Err(e), None) => return Err(e),
    };
    let improved = |b: Built, _: &mut Budget| Ok(if o.opt > OptLevel::O1 { improve(module, o, b) } else { b });
    let found = search(found, &mut Budget::unlimited(), improved, Built::size)?;
    Ok(if o.opt > OptLevel::O1 { polish(module, o, found) } else { found })
}

/// The last ways of a program whose vectors are where they shall be.
fn polish(module: &Module, o: &Options, found: Built) -> Built {
    // Places that become free earlier help some programs and break pairs in others.
    let apart = place_and_emit(module, o, &Way { apart: true, ..found.way.clone() }, found.selection.clone());
    let apart = apart.ok().filter(|b| b.size() <= found.size()).map(|b| settle(module, o, b));
    let found = apart.filter(|b| b.size() < found.size()).unwrap_or(found);
    // Published programs have texture coordinates in ascending order; a vector of three costs the next one its place in pairs.
    let found = match abi::textures::is_ascending(&found.selection.abi) {
        true => found,
        false => {
            let ascending = build(module, o, &Way { ascending: true, ..found.way.clone() });
            ascending.ok().filter(|b| b.size() <= found.size()).unwrap_or(found)
        }
    };
    if found.selection.abi.preloaded.is_empty() || found.selection.abi.inputs.is_empty() {
        return found;
    }
    // Published programs have inputs and texels in common descriptors.
    let joined = build(module, o, &Way { joined: true, ..found.way.clone() });
    joined.ok().filter(|b| b.size() <= found.size()).unwrap_or(found)
}

/// How a program is built.
#[derive(Clone, Default)]
struct Way {
    /// What depends on uniforms only goes to the secondary program.
    hoist: bool,
    /// Products of a vector with rows repeat one word.
    rows: bool,
    /// What is done for room.
    room: Room,
    /// Vectors in internal registers.
    inside: BTreeSet<Vreg>,
    /// Lanes of vectors die one by one.
    apart: bool,
    /// Iterated inputs share descriptors with texels.
    joined: bool,
    /// Iterated inputs stand in their order, odd numbers of registers among them.
    ascending: bool,
}

/// A selected program: what does not depend on the places of its values.
struct Selection {
    abi: Abi,
    selected: Selected,
    /// Whether vectors are multiplied with rows of a matrix.
    matrices: bool,
    /// Blocks of its code that were scheduled before.
    scheduled: RefCell<sched::Known>,
    /// Operations of its code that were expanded before, where it is built often enough.
    expanded: Option<RefCell<known::Known>>,
    /// What placing it found out.
    placing: place::Known,
    /// The program that runs once before all others, which no placement changes.
    secondary: OnceCell<Secondary>,
}

/// The secondary program, and the literals that it reads: those of the primary one share their list.
struct Secondary {
    words: Vec<Word>,
    literals: Literals,
}

/// A program before it is packed.
struct Built {
    selection: Rc<Selection>,
    /// Vectors that could live in internal registers.
    candidates: Vec<Vreg>,
    way: Way,
    mir: String,
    places: String,
    placement: Placement,
    primary: layout::Assembled,
    literals: Literals,
    /// The bits of both programs, once somebody asked.
    bits: OnceCell<[Vec<u64>; 2]>,
}

impl Built {
    fn secondary(&self) -> &[Word] {
        self.selection.secondary.get().map_or(&[], |s| &s.words)
    }
    fn size(&self) -> usize {
        self.primary.words.len() + self.secondary().len()
    }
    /// Whether a vector in an internal register would take no more words where it is written and read, were all others to stay
    /// where they are: what that costs in words tells most trials that are lost.
    fn may_gain(&self, v: Vreg) -> bool {
        let Selection { selected, expanded, placing, .. } = &*self.selection;
        if self.way.room.scalars {
            return true;
        }
        let words = |places: &Placement| {
            let (mut known, mut literals) = (expanded.as_ref().map(RefCell::borrow_mut), self.literals.clone());
            let mut x = Expander::new(&selected.primary, places, &mut literals);
            x.known = known.as_deref_mut();
            x.words_at(placing.uses(&selected.primary, v)).ok()
        };
        let inside = placing.moved_inside(&selected.primary, &self.placement, v);
        let (now, then) = (words(&self.placement), inside.and_then(|places| words(&places)));
        now.zip(then).is_some_and(|(now, then)| then <= now)
    }
    /// The bits of both programs, the secondary one first.
    fn code(&self) -> Result<&[Vec<u64>; 2], CompileError> {
        if let Some(known) = self.bits.get() {
            return Ok(known);
        }
        let bits = |w: &Word| w.encode().map_err(|e| CompileError::Internal(e.to_string()));
        let new = [self.secondary().iter().map(bits).collect::<Result<_, _>>()?, layout::encode(&self.primary)?];
        Ok(self.bits.get_or_init(|| new))
    }
}

/// Programs of more operations than this are built for each way alone: what became of their words is not kept.
const REMEMBERED: usize = 1000;

/// Words of code that the search for internal registers may build again and again.
const SEARCH: u64 = 5_000;
/// And those to take vectors back out of them.
const SETTLE: u64 = 500;
/// Programs of more words than this are searched less the larger they are.
const LARGE: usize = 400;

/// A search of fewer steps than this is none.
const FEW: usize = 7;

/// Vectors that are moved in the first step.
const FIRST: usize = 4;

/// What building a program once more takes of a search's budget.
fn trial(b: &Built) -> usize {
    b.size() * b.size().max(LARGE) / LARGE
}

/// Builds a program once more with other vectors in internal registers. Whether its words have codes is not asked.
fn rebuild(
    m: &Module,
    o: &Options,
    best: &Built,
    work: &mut Budget,
    change: impl FnOnce(&mut BTreeSet<Vreg>),
) -> Result<Built, CompileError> {
    work.spend(trial(best));
    let mut way = best.way.clone();
    change(&mut way.inside);
    place_and_expand(m, o, &way, best.selection.clone())
}

/// Moves vectors into internal registers as long as that makes the program no larger: what is stored there takes one word for four
/// lanes. Where that goes well several vectors are moved before the program is built again; if they save less than a word each,
/// they are tried one by one.
fn improve(m: &Module, o: &Options, start: Built) -> Built {
    let mut budget = o.budget(SEARCH);
    // A step or two find nothing that is worth a build.
    if !budget.allows(FEW * trial(&start)) {
        return start;
    }
    coded(m, o, start, |start| move_inside(m, o, start, &mut budget))
}

/// What a search finds, or where it began if the words that it ends with have no codes.
fn coded(m: &Module, o: &Options, start: Built, search: impl FnOnce(Built) -> Built) -> Built {
    let (way, selection) = (start.way.clone(), start.selection.clone());
    let found = search(start);
    if found.way.inside == way.inside || found.code().is_ok() {
        return found;
    }
    place_and_emit(m, o, &way, selection).unwrap_or(found)
}

fn move_inside(m: &Module, o: &Options, start: Built, budget: &mut Budget) -> Built {
    let candidates = start.candidates.clone();
    let (tried, kept) = (Cell::new(0..0), Cell::new(false));
    let steps = std::iter::from_fn(|| {
        let last = tried.take();
        let next = match (kept.take(), last.len()) {
            (true, n) => last.end..last.end + 2 * n,
            (false, 0) => 0..FIRST,
            (false, 1) => last.end..last.end + 1,
            (false, _) => last.start..last.start + 1,
        };
        let next = next.start..next.end.min(candidates.len());
        tried.set(next.clone());
        (!next.is_empty()).then_some(next)
    });
    let step = |best: &Built, more: Range<usize>, work: &mut Budget| {
        let more: Vec<Vreg> = candidates[more].iter().copied().filter(|v| best.may_gain(*v)).collect();
        match more.is_empty() {
            true => Err(CompileError::Internal("nothing that may gain".to_string())),
            false => rebuild(m, o, best, work, |inside| inside.extend(more)),
        }
    };
    let better = |new: &Built, old: &Built| {
        let more = new.way.inside.len() - old.way.inside.len();
        let gain = if more > 1 { more } else { 0 };
        kept.set(new.size() + gain <= old.size());
        kept.get()
    };
    let found = climb(start, steps, budget, step, better);
    // Copies that vanish tie vectors together: each alone loses where all of them gain.
    let rest: Vec<Vreg> = candidates.iter().copied().filter(|v| !found.way.inside.contains(v)).collect();
    let all = |best: &Built, _, work: &mut Budget| rebuild(m, o, best, work, |inside| inside.extend(&rest));
    climb(found, (!rest.is_empty()).then_some(()), budget, all, |new, old| new.size() < old.size())
}

/// Takes those back that are only copied out of internal registers again.
fn settle(m: &Module, o: &Options, start: Built) -> Built {
    let step = |best: &Built, v: Vreg, work: &mut Budget| {
        rebuild(m, o, best, work, |inside| {
            inside.remove(&v);
        })
    };
    let inside: Vec<Vreg> = start.way.inside.iter().copied().collect();
    coded(m, o, start, |start| climb(start, inside, &mut o.budget(SETTLE), step, |new, old| new.size() < old.size()))
}

fn build(m: &Module, o: &Options, way: &Way) -> Result<Built, CompileError> {
    place_and_emit(m, o, way, Rc::new(select_by(m, o, way)?))
}

fn select_by(m: &Module, o: &Options, way: &Way) -> Result<Selection, CompileError> {
    let abi = abi::layout(m, o, way.joined, way.ascending)?;
    let mut selected = select::select(m, &abi, way.hoist)?;
    if way.hoist && selected.hoisted.is_empty() {
        return Err(CompileError::Internal("nothing to hoist".to_string()));
    }
    let grouped = matrix::group(&selected.primary);
    let matrices = grouped.is_some();
    if way.rows {
        selected.primary = grouped.ok_or_else(|| CompileError::Internal("nothing to group".to_string()))?;
    }
    if way.room.scalars {
        selected.primary = place::scalars::split(&selected.primary, &selected.fixed);
    }
    if way.room.ordered {
        place::order::for_pressure(&mut selected.primary);
    }
    let large = selected.primary.blocks.iter().map(|b| b.ops.len()).sum::<usize>() > REMEMBERED;
    let scheduled = RefCell::new(if large { sched::Known::forgetful() } else { sched::Known::default() });
    let expanded = (!large).then(RefCell::default);
    Ok(Selection { abi, selected, matrices, scheduled, expanded, placing: place::Known::default(), secondary: OnceCell::new() })
}

fn secondary(sel: &Selected) -> Result<Secondary, CompileError> {
    let mut literals = Literals { first: sel.free, ..Literals::default() };
    if sel.hoisted.is_empty() {
        return Ok(Secondary { words: Vec::new(), literals });
    }
    let at = (0..sel.secondary.vregs.len() as u32)
        .map(|v| sel.hoisted.get(&Vreg(v)).map(|n| Reg::new(crate::isa::registers::Bank::Pa, *n)))
        .collect();
    let fixed = Placement { at, ..Placement::default() };
    // Literals of both programs share one list; the secondary program reads them as attributes.
    let mut x = Expander::new(&sel.secondary, &fixed, &mut literals);
    x.secondary = true;
    x.run()?;
    let mut words = sched::schedule(std::mem::take(&mut x.blocks[0]), false)?;
    sched::end_secondary(&mut words);
    // One instance runs it, and that one is valid.
    flags::skip_invalid(Stage::Vertex, &mut words, &[]);
    Ok(Secondary { words, literals })
}

/// The rest of a program's way, from a selection that was made the same way.
fn place_and_emit(m: &Module, o: &Options, way: &Way, selection: Rc<Selection>) -> Result<Built, CompileError> {
    let built = place_and_expand(m, o, way, selection)?;
    built.code()?;
    Ok(built)
}

/// The same up to the words, which are as many as their code.
fn place_and_expand(m: &Module, o: &Options, way: &Way, selection: Rc<Selection>) -> Result<Built, CompileError> {
    let Selection { abi, selected: sel, .. } = &*selection;
    let pa = if way.room.attributes { *place::ATTRIBUTES } else { abi.pa };
    let setting = place::Setting {
        fixed: &sel.fixed,
        r: *place::TEMPORARIES,
        pa,
        pa_last: way.room.attributes,
        o: abi.o,
        inside: &way.inside,
        apart: way.apart,
    };
    let (split, places) = if way.room.scalars {
        let mut code = sel.primary.clone();
        let places = place::split::place(&mut code, setting)?;
        (Some(code), places)
    } else {
        (None, place::place(&sel.primary, setting, &selection.placing)?)
    };
    let code = split.as_ref().unwrap_or(&sel.primary);
    if o.check_allocation {
        crate::place::check::placed(code, &places).judge().map_err(CompileError::Internal)?;
    }
    let second = match selection.secondary.get() {
        Some(known) => known,
        None => {
            let new = secondary(sel)?;
            selection.secondary.get_or_init(|| new)
        }
    };
    let mut literals = second.literals.clone();
    // What was split is another program each time.
    let mut expanded = selection.expanded.as_ref().filter(|_| split.is_none()).map(RefCell::borrow_mut);
    let mut x = Expander::new(code, &places, &mut literals);
    x.known = expanded.as_deref_mut();
    x.kill_literal = abi.kill_literal.unwrap_or(0);
    x.run()?;
    let blocks = std::mem::take(&mut x.blocks);
    drop(expanded);
    let end = literals.first as usize + literals.values.len();
    if end > abi::SA_LIMIT as usize {
        return Err(CompileError::Internal(format!("{end} secondary attributes are needed, there are {}", abi::SA_LIMIT)));
    }
    let primary = layout::assemble(m.stage, blocks, sel.phases, &mut selection.scheduled.borrow_mut())?;
    let place = |n: usize| format!("v{n} = {}\n", places.at[n].map_or("-".to_string(), |r| r.to_string()));
    let (text, places_text) = if o.writes(&[Phase::Select, Phase::Place]) {
        (format!("{}\n{}", sel.fired, code.text()), (0..code.vregs.len()).map(place).collect())
    } else {
        Default::default()
    };
    Ok(Built {
        candidates: match &split {
            Some(code) => place::Known::default().candidates(code, &places),
            None => selection.placing.candidates(code, &places),
        },
        way: way.clone(),
        mir: text,
        places: places_text,
        placement: places,
        primary,
        literals,
        selection,
        bits: OnceCell::new(),
    })
}

fn finish(found: Candidate, o: &Options, ir_ops: u32) -> Result<CompiledShader, CompileError> {
    let Candidate { module, built: b, mut trace } = found;
    let [second, words] = b.code()?.clone();
    let gxp = package::package(&package::Program {
        module: &module,
        abi: &b.selection.abi,
        primary: &b.primary.words,
        words: &words,
        secondary: &second,
        literals: &b.literals,
        temps: b.placement.temps,
        attributes: b.selection.abi.pa.max(b.placement.pa),
    });
    let bytes = container::write(&gxp);
    let mut reflection = Reflection::from_module(&module);
    reflection.target = "usse".to_string();
    place_reflection(&mut reflection, &module, &b.selection.abi);
    let all: Vec<u64> = second.iter().chain(&words).copied().collect();
    let code: Vec<u8> = all.iter().flat_map(|w| w.to_le_bytes()).collect();
    let texts = o.writes(&[Phase::Emit]);
    let mut text = if texts { container::describe(&gxp) } else { String::new() };
    for (title, words) in [("secondary", &second), ("primary", &words)] {
        if texts && !words.is_empty() {
            text.push_str(&format!(".{title}\n"));
            let raw: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            asm::disassemble_code(&raw, Syntax::Native, &mut text);
        }
    }
    trace.text(Phase::Select, || b.mir.clone());
    trace.text(Phase::Place, || b.places.clone());
    trace.text(Phase::Emit, || text.clone());
    let mut source_map = Vec::new();
    for (n, w) in b.secondary().iter().chain(&b.primary.words).enumerate() {
        source_map.push((n as u32 * 8..n as u32 * 8 + 8, w.span));
    }
    let branch = |n: usize| module.main().layout.get(n).map(|b| Branch { func: module.entry, block: *b });
    let decisions = (second.len() as u32..).zip(&b.primary.words);
    let branches = decisions.filter_map(|(n, w)| Some((8 * n, w.decides.and_then(branch)?))).collect();
    let count = |f: &dyn Fn(&Word) -> bool| b.primary.words.iter().chain(b.secondary()).filter(|w| f(w)).count() as u64;
    let detail: IndexMap<&'static str, u64> = [
        ("primary", words.len() as u64),
        ("secondary", second.len() as u64),
        ("temporaries", b.placement.temps as u64),
        ("pa", gxp.primary_regs as u64),
        ("sa", gxp.secondary_regs as u64),
        ("literals", b.literals.values.len() as u64),
        ("nops", count(&|w| w.form() == NOP)),
        ("repeats", count(&|w| row_of(w.form()).repeat.is_some_and(|field| w.get(field) > 0))),
        ("dual", count(&|w| w.form() == VDUAL)),
        ("moves", count(&|w| matches!(w.form(), VMOV | VPCK))),
        ("samples", count(&|w| w.form() == SMP)),
        ("phases", gxp.phases.len() as u64),
    ]
    .into_iter()
    .collect();
    let stats = Stats {
        ir_ops,
        bytes: code.len() as u32,
        instructions: all.len() as u32,
        registers: b.placement.temps as u32,
        detail,
        alloc_step: Some("linear".to_string()),
    };
    let mut extra: IndexMap<&'static str, Vec<u8>> = IndexMap::new();
    let hex = all.iter().filter(|_| o.texts).map(|w| format!("{w:016x}\n"));
    extra.insert("hex", hex.collect::<String>().into_bytes());
    extra.insert("header", files::header(&module, &bytes).into_bytes());
    let matrices = files::matrices(&module, &gxp);
    extra.insert("vitagl", container::vitagl(&gxp, &matrices, false));
    extra.insert("vitagl-texture-size", container::vitagl(&gxp, &matrices, true));
    extra.insert("mir", b.mir.into_bytes());
    extra.insert("regalloc", b.places.into_bytes());
    Ok(CompiledShader {
        target: "usse",
        chip: None,
        stage: module.stage,
        code,
        container: bytes,
        reflection,
        stats,
        source_map,
        legal: module,
        asm: text,
        extra,
        dumps: trace.into_dumps(),
        branches,
        seen: None,
    })
}

fn place_reflection(r: &mut Reflection, m: &Module, abi: &Abi) {
    for (n, (i, _)) in m.inputs.iter().enumerate() {
        if let Some(s) = abi.inputs.iter().find(|s| s.input == i) {
            r.inputs[n].register = Some(format!("pa{}", s.pa));
        } else if abi.blended == Some(i) {
            r.inputs[n].register = Some("o0".to_string());
        }
    }
    for (n, (o, _)) in m.outputs.iter().enumerate() {
        if let Some(s) = abi.outputs.iter().find(|s| s.output == o) {
            r.outputs[n].register = Some(if Some(o) == abi.depth {
                "depth".to_string()
            } else {
                format!("{}{}", if m.stage == Stage::Vertex || abi.native { "o" } else { "pa" }, s.reg)
            });
        }
    }
    for (u, d) in m.uniforms.iter() {
        if let Some(s) = abi.uniforms.slot(u) {
            // An array of structures has a place for each member of each element.
            for part in uniform_leaves(d) {
                let word = s.element(d, part.first);
                let place = match s.loaded {
                    Some(first) => format!("sa{}", first as u32 + word),
                    None if s.buffer == container::DEFAULT_BUFFER => format!("[{word}]"),
                    None => format!("{}[{word}]", s.buffer),
                };
                for leaf in r.uniforms.iter_mut().filter(|l| l.name == part.name) {
                    leaf.register = Some(place.clone());
                }
                for size in r.textures.iter_mut().filter_map(|t| t.size.as_mut()).filter(|s| s.name == part.name) {
                    size.register = Some(place.clone());
                }
            }
        }
    }
    for (n, (t, _)) in m.textures.iter().enumerate() {
        let unit = abi.textures.iter().find(|s| s.0 == t).map(|s| s.1).or(abi.preloaded.iter().find(|p| p.texture == t).map(|p| p.unit));
        if let Some(u) = unit {
            r.textures[n].unit = u as u32;
        }
    }
}
