//! What the words of a container do to registers, predicates, fences and quads, for the validator.
//!
//! Facts: the ISA sheet's sections 2 (`skipinv`, `syncstart`), 14 (texture reads and loads are fenced), 16 (iterations of a repeated word),
//! 17 (what holds at the start and the end, lifetimes of internal registers) and 19 (what the loader fills). The words are read as the
//! simulator reads them; what the compiler meant is not asked.

use crate::container::Gxp;
use crate::container::interface::{self, Format, Source};
use crate::isa::access::{self, Access, Place, Places, lane};
use crate::isa::forms::{EMIT, NOP, PHAS, SMP, TABLE, VDUAL, VMOV, WDF, decode, field};
use crate::isa::operands::value;
use crate::isa::operation::{Advance, Flow, Kind, Micro, translate};
use crate::isa::registers::{Bank, Reg};
use retroshade_emit::FieldName;
use retroshade_emit::form::Decoded;
use retroshade_ir::{Binding, Builtin, Imm, InstData, MemRef, Module, Opcode, Output, Scalar};
use retroshade_lower::TextError;
use retroshade_lower::validate::{Edge, Fact, Facts, Guard, Program, Step, has_undefined, has_unreachable};

/// Registers of a bank.
const SIZE: u16 = 256;
/// First lane of the internal registers, behind the four banks.
const INTERNAL: Fact = 4 * SIZE;
/// First predicate.
const PREDICATE: Fact = INTERNAL + 12;
/// First index register.
const INDEX: Fact = PREDICATE + 4;
/// Places.
const PLACES: Fact = INDEX + 4;
/// The same places once more: what invalid instances have computed, too.
const VALID: Fact = PLACES;
/// By fence: temporaries and primary attributes that a read will bring (pending).
const FLYING: Fact = 2 * PLACES;
const ALL: usize = (FLYING + 2 * 2 * SIZE) as usize;

/// The fact of a place.
fn fact((bank, n): Place) -> Option<Fact> {
    let n = n.min(SIZE - 1);
    Some(match bank {
        Bank::R => n,
        Bank::O => SIZE + n,
        Bank::Pa => 2 * SIZE + n,
        Bank::Sa => 3 * SIZE + n,
        Bank::I => INTERNAL + n.min(11),
        Bank::Global => PREDICATE + (n & 3),
        Bank::Index => INDEX + (n & 3),
        _ => return None,
    })
}

/// A fact's name.
fn name(f: Fact) -> String {
    let lane = |n: u16| format!("i{}.{}", n / 4, ["x", "y", "z", "w"][usize::from(n & 3)]);
    match f {
        FLYING.. => {
            let n = (f - FLYING) % (2 * SIZE);
            name(if n < SIZE { n } else { n + SIZE })
        }
        VALID.. => format!("{} for invalid instances", name(f - VALID)),
        INDEX.. => format!("idx{}", f - INDEX),
        PREDICATE.. => format!("p{}", f - PREDICATE),
        INTERNAL.. => lane(f - INTERNAL),
        _ => format!("{}{}", ["r", "o", "pa", "sa"][usize::from(f / SIZE)], f % SIZE),
    }
}

/// What a fence has yet to bring, if a place can be that.
fn flying(place: Fact, fence: u16) -> Option<Fact> {
    let n = match place / SIZE {
        0 => place,
        // Primary attributes stand behind the temporaries.
        2 => place - SIZE,
        _ => return None,
    };
    (place < INTERNAL).then_some(FLYING + fence * 2 * SIZE + n)
}

/// The programs of a container; `legal` is what it was made of: where its values are undefined, registers may be read that nobody wrote.
pub fn programs(g: &Gxp, legal: &Module) -> Result<Vec<Program>, TextError> {
    let i = interface::of(g)?;
    let mut constants: Vec<Fact> = Vec::new();
    let mut sa = |n: u32| constants.extend(u16::try_from(n).ok().filter(|n| *n < SIZE).map(|n| 3 * SIZE + n));
    let data = u32::from(g.base(19).unwrap_or(0));
    for (_, base, size) in g.containers.iter().filter(|c| c.0 <= 14) {
        (0..*size).for_each(|k| sa(u32::from(*base) + u32::from(k)));
    }
    let literals = g.base(16).map_or(data, u32::from);
    g.literals.iter().for_each(|(o, _)| sa(literals.saturating_add(*o)));
    g.uniform_buffers.iter().for_each(|(_, o, _)| sa(data + u32::from(*o)));
    g.dependent_samplers.iter().for_each(|(_, o)| sa(data + u32::from(*o)));
    let mut out = Vec::new();
    if !g.secondary.is_empty() {
        // There both attribute banks are one file.
        let preset = constants.iter().map(|f| f - SIZE).collect();
        let p = program("secondary program", &g.secondary, true, false, preset)?;
        constants.extend(p.steps.iter().flat_map(|s| &s.writes).filter(|f| (2 * SIZE..3 * SIZE).contains(*f)).map(|f| f + SIZE));
        out.push(p);
    }
    let mut preset = constants;
    let registers = |from: &Source, format: Format, lanes: u16| -> Vec<Fact> {
        let (bank, n) = match from {
            Source::O(n) => (Bank::O, *n),
            Source::Pa(n) => (Bank::Pa, *n),
            Source::Depth => return Vec::new(),
        };
        let each = match format {
            Format::Word | Format::Rounded => 1,
            Format::Half | Format::Short => 2,
            Format::Byte | Format::Colour => 4,
            Format::Fixed => 3,
        };
        (0..lanes.div_ceil(each)).filter_map(|k| fact((bank, n + k))).collect()
    };
    for f in &i.feeds {
        // The loader fills all components of an attribute.
        let lanes = if g.is_fragment() || f.lanes == 1 { u16::from(f.lanes) } else { 4 };
        preset.extend(registers(&f.to, f.format, lanes));
    }
    i.texels.iter().for_each(|t| preset.extend(registers(&Source::Pa(t.pa), t.format, 4)));
    let undefined = has_undefined(legal);
    preset.extend((0..INTERNAL).filter(|_| undefined));
    // The container counts texture coordinates in pairs, of which a program with one lane writes the first.
    let lanes = |d: &interface::Drain| if !g.is_fragment() && d.lanes == 2 { 1 } else { u16::from(d.lanes) };
    let results: Vec<Fact> = i.drains.iter().flat_map(|d| registers(&d.from, d.format, lanes(d))).collect();
    let mut primary = program("", &g.primary, false, g.is_fragment(), preset)?;
    // What the program writes anywhere it must write everywhere, the position if it has one, and all where its source leaves out none.
    let position = legal.outputs.values().any(|d| d.binding == Binding::Builtin(Builtin::Position));
    let whole = legal.outputs.keys().all(|k| is_stored(legal, k));
    // A vertex program's first registers are the position, whether its source has one or not.
    let places = |f: &Fact| !g.is_fragment() && (SIZE..SIZE + 4).contains(f);
    let stored = |f: &Fact| primary.steps.iter().any(|s| s.writes.contains(f)) || if places(f) { position } else { whole };
    let all = !has_unreachable(legal);
    let left: Facts = results.into_iter().filter(|f| all && stored(f)).collect();
    if let Some(end) = primary.steps.last_mut() {
        end.reads.extend(left);
    }
    out.push(primary);
    Ok(out)
}

/// Whether a module writes an output at all.
fn is_stored(m: &Module, output: Output) -> bool {
    let writes = |d: &InstData| d.op == Opcode::Output && matches!(d.imm, Imm::Mem { var: MemRef::Output(k), .. } if k == output);
    m.functions.values().any(|f| f.ordered().any(|(_, i)| writes(&f.insts[i])))
}

/// A decoded word.
struct Line {
    word: Decoded,
    micros: Vec<Micro>,
    /// Its first step.
    step: usize,
}

impl Line {
    fn get(&self, name: FieldName) -> u64 {
        value(&self.word, name)
    }
    /// Whether it protects the boundary behind the next word (17.4).
    fn protects(&self) -> bool {
        self.word.form == VDUAL || (self.word.form != PHAS && self.get(field!(nosched)) == 1)
    }
    /// Whether internal registers are gone behind it in any case.
    fn ends_lifetimes(&self) -> bool {
        self.word.form == NOP || self.micros.iter().any(|m| m.flow != Flow::Next)
    }
    fn ends(&self) -> bool {
        let form = self.word.form;
        let moved = form == VMOV && self.get(field!(end_or_src0_bank_ext)) == 1 && self.get(field!(move_type)) == 0;
        form == EMIT || moved || (form != PHAS && self.get(field!(end)) == 1)
    }
    /// Whether its result depends on the neighbours of the quad.
    fn reads_neighbours(&self) -> bool {
        self.micros.iter().any(|m| matches!(&m.kind, Kind::Sample(_) | Kind::Float(Opcode::Ddx | Opcode::Ddy, _)))
    }
    fn branch(&self, n: usize) -> Option<usize> {
        self.micros.iter().find_map(|m| if let Flow::Branch(by) = m.flow { usize::try_from(n as i64 + i64::from(by)).ok() } else { None })
    }
}

fn program(title: &'static str, words: &[u64], secondary: bool, quads: bool, preset: Vec<Fact>) -> Result<Program, TextError> {
    let mut p = Program::new(title, ALL, name);
    let wrong = |n: usize, m: String| TextError { offset: Some(8 * n as u64), ..TextError::new(m) };
    let mut state = Advance::START;
    let mut lines: Vec<Line> = Vec::new();
    let mut step = 0;
    for (n, w) in words.iter().enumerate() {
        let word = decode(*w).ok_or_else(|| wrong(n, format!("{w:016x} is no instruction")))?;
        let micros = translate(&word, word.form, secondary, &mut state).map_err(|m| wrong(n, m))?;
        let steps = micros.len().max(1);
        lines.push(Line { word, micros, step });
        step += steps;
    }
    let fenced = lines.iter().any(|l| matches!(l.micros.first().map(|m| &m.kind), Some(Kind::Sample(_) | Kind::Load { .. })));
    let end = step;
    let targets: Vec<usize> = lines.iter().enumerate().filter_map(|(n, l)| l.branch(n)).collect();
    for (n, l) in lines.iter().enumerate() {
        let lost = n == 0
            || targets.contains(&n)
            || lines[n - 1].ends_lifetimes()
            || !n.checked_sub(2).and_then(|k| lines.get(k)).is_some_and(Line::protects);
        for (k, m) in l.micros.iter().enumerate() {
            let mut s = of_micro(&mut p, l, m, fenced, quads);
            s.at = 8 * n as u32;
            if k == 0 && lost {
                s.drops.push(INTERNAL..INTERNAL + 12);
            }
            within_a_word(&mut s, k);
            let last = k + 1 == l.micros.len();
            let followed = lines.get(n + 1).is_some_and(|l| l.micros.first().is_some_and(|m| m.phase));
            let next = if !last { l.step + k + 1 } else { lines.get(n + 1).map_or(end, |l| l.step) };
            match m.flow {
                Flow::Branch(_) => {
                    let to = l.branch(n).filter(|t| *t <= lines.len());
                    let Some(to) = to else {
                        p.report(s.at, "a branch leaves the program");
                        p.steps.push(s);
                        continue;
                    };
                    let guard = s.guard.take();
                    s.next.push(Edge { to: lines.get(to).map_or(end, |l| l.step) as u32, when: guard });
                    if m.pred.is_some() {
                        s.next.push(Edge { to: next as u32, when: guard.map(Guard::inverse) });
                    }
                }
                _ if last && l.ends() && !followed => s.goes(end),
                _ => s.goes(next),
            }
            p.steps.push(s);
        }
    }
    // Where the program is left.
    p.end = Some(end);
    p.steps.push(Step { at: 8 * words.len() as u32, ..Step::default() });
    p.preset = preset.iter().copied().chain(preset.iter().map(|f| f + VALID)).collect();
    if quads {
        together(&mut p, &lines);
    }
    Ok(p)
}

/// No iteration of a repeated word reads what an earlier one has written: they are executed one after the other (16).
fn within_a_word(s: &mut Step, k: usize) {
    const OWN: &str = "an iteration reads what an earlier iteration of its word has written";
    if k == 0 {
        s.ends.push(0..PLACES);
    } else {
        let reads: Vec<Fact> = s.reads.iter().copied().filter(|f| *f < PREDICATE).collect();
        s.forbids.extend(reads.into_iter().map(|f| (f, OWN)));
    }
    let writes: Vec<Fact> = s.writes.iter().copied().filter(|f| *f < PREDICATE).collect();
    s.raises.extend(writes);
}

/// What one iteration of a word does.
fn of_micro(p: &mut Program, l: &Line, m: &Micro, fenced: bool, quads: bool) -> Step {
    let mut s = Step::default();
    let guard = |p: &mut Program, (n, inverse): (u8, bool)| -> Option<Guard> { p.guard(PREDICATE + u16::from(n & 3), inverse) };
    s.guard = m.pred.and_then(|w| guard(p, w));
    let mut a = Access::default();
    let mut waits = Places::new();
    match &m.kind {
        Kind::Sample(q) => {
            a.reads.extend((0..usize::from(q.dims)).filter_map(|k| lane(m.src[0].reg, k, q.coord)));
            waits.clone_from(&a.reads);
            a.reads.extend((0..4).filter_map(|k| lane(m.src[1].reg, k, Scalar::F32)));
            let extra = m.src[2].reg;
            match (q.lod, q.dims) {
                (1 | 2, _) => a.reads.extend(lane(extra, 0, Scalar::F32)),
                (3, 3) => a.reads.extend((0..3).chain(4..7).filter_map(|k| lane(extra, k, Scalar::F32))),
                (3, n) => a.reads.extend((0..2 * usize::from(n)).filter_map(|k| lane(extra, k, Scalar::F32))),
                _ => {}
            }
        }
        Kind::Load { .. } => a.reads.extend(m.src.iter().filter_map(|s| lane(s.reg, 0, Scalar::F32))),
        Kind::Depth => a.reads.extend(lane(m.src[0].reg, 0, Scalar::F32)),
        _ if m.flow == Flow::Next => {
            // What an index leads to is not known; the index is.
            let mut plain = m.clone();
            for reg in plain.src.iter_mut().map(|s| &mut s.reg).chain([&mut plain.dst]) {
                if let Bank::Indexed(k) = reg.bank {
                    a.reads.push((Bank::Index, u16::from(k)));
                    *reg = Reg::new(Bank::Imm, 0);
                }
            }
            if plain.dst.bank == Bank::Index {
                a.writes.push((Bank::Index, plain.dst.n));
                plain.dst = Reg::new(Bank::Imm, 0);
            }
            // `None` says that order matters, not that something is missing.
            let _ = access::add(&plain, &mut a);
            if let Kind::Test { to: None, .. } = m.kind
                && a.writes.is_empty()
            {
                a.writes.extend(lane(plain.dst, 0, Scalar::F32));
            }
            if matches!(m.kind, Kind::Float(Opcode::Ddx | Opcode::Ddy, _)) {
                waits.clone_from(&a.reads);
            }
        }
        _ => {}
    }
    a.writes.extend(access::brought(m).into_iter().flatten());
    let predicate = m.pred.map(|(n, _)| PREDICATE + u16::from(n & 3));
    s.reads = a.reads.iter().filter_map(|r| fact(*r)).chain(predicate).collect();
    s.writes = a.writes.iter().filter_map(|w| fact(*w)).collect();
    fences(&mut s, l, m, fenced);
    if !quads {
        return s;
    }
    // What neighbours read must be computed by instances that do not count, too, and so must be what led there.
    s.reads.extend(waits.iter().filter_map(|r| fact(*r)).map(|f| f + VALID));
    let skips = TABLE.get(&l.word, field!(skipinv)) == Some(1);
    if skips {
        s.loses.extend(s.writes.iter().map(|f| f + VALID..f + VALID + 1));
    } else if !s.writes.is_empty() {
        let from: Facts = s.reads.iter().filter(|f| **f < VALID).map(|f| f + VALID).collect();
        let to: Facts = s.writes.iter().map(|f| f + VALID).collect();
        s.derives.push((from, to));
    }
    s
}

/// What is on its way may be neither read nor written, until a WDF waits for its fence.
fn fences(s: &mut Step, l: &Line, m: &Micro, fenced: bool) {
    const EARLY: &str = "a texture read or load has not been waited for (WDF)";
    if !fenced {
        return;
    }
    let fence = (l.get(field!(drc_sel)) & 1) as u16;
    for f in s.reads.iter().chain(&s.writes) {
        s.forbids.extend((0..2).filter_map(|d| flying(*f, d)).map(|f| (f, EARLY)));
    }
    if access::brought(m).is_some() {
        s.raises.extend(s.writes.iter().filter_map(|f| flying(*f, fence)));
    }
    if l.word.form == WDF {
        let first = FLYING + fence * 2 * SIZE;
        s.ends.push(first..first + 2 * SIZE);
    }
}

/// Words that read their neighbours enter together (`syncstart`) where not all instances of a quad come by, once each (2): the first
/// texture read of a run, and every derivative.
fn together(p: &mut Program, lines: &[Line]) {
    let reach = |from: usize, avoid: usize, to: usize| -> bool {
        let (mut seen, mut work) = (vec![false; p.steps.len()], vec![from]);
        while let Some(n) = work.pop() {
            if n == to {
                return true;
            }
            if n != avoid && !std::mem::replace(&mut seen[n], true) {
                work.extend(p.steps[n].next.iter().map(|e| e.to as usize));
            }
        }
        false
    };
    let end = p.steps.len() - 1;
    if lines.iter().all(|l| l.micros.iter().all(|m| !matches!(m.flow, Flow::Branch(_)))) {
        return;
    }
    let mut missing = Vec::new();
    let mut running = false;
    for (n, l) in lines.iter().enumerate() {
        let begins = lines.iter().enumerate().any(|(k, l)| l.branch(k) == Some(n));
        running &= !begins && l.word.form != WDF && l.branch(n).is_none();
        if !l.reads_neighbours() {
            continue;
        }
        let continues = running && l.word.form == SMP;
        running = true;
        if continues || TABLE.get(&l.word, field!(syncstart)) == Some(1) {
            continue;
        }
        let optional = reach(0, l.step, end);
        let again = p.steps[l.step].next.iter().any(|e| reach(e.to as usize, usize::MAX, l.step));
        if optional || again {
            missing.push(8 * n as u32);
        }
    }
    missing.into_iter().for_each(|at| p.report(at, "the instances of a quad must come here together (syncstart)"));
}
