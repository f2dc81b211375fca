//! Placement: virtual registers to `r`, free `pa` and (by preference of their consumers) `o` registers, chosen vectors to
//! internal registers.
//!
//! `regalloc` places units in the order of their first times, at the place that makes a copy vanish if it is free, else at the
//! first free one; input registers are reused as soon as their input is dead. Here stands what a unit is: which registers
//! follow each other, what it would like to be near, and which sources its place must not touch.

pub mod check;
pub mod live;
pub mod order;
pub mod scalars;
pub mod split;

use crate::isa::forms::{V16NMAD, V32NMAD, VDP, VMAD, VMAD2, row_of};
use crate::isa::operands::{Operand, Want, fits};
use crate::isa::registers::{Bank, BankTable, Reg};
use crate::place::live::Registers;
use crate::select::mir::{self, Base, Kind, MProgram, Mop, Vreg};
use retroshade_emit::form::FormId;
use retroshade_ir::{Scalar, Span};
use retroshade_lower::CompileError;
use retroshade_regalloc::lanes::{self, Apart, Conflicts, Lane, Member, Problem, Search, Unit};
use retroshade_regalloc::{AllocError, Ranges};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::LazyLock;

/// Temporaries that every operand of the vector forms can name, by the operand tables.
pub static TEMPORARIES: LazyLock<u16> = LazyLock::new(|| nameable(Bank::R));

/// Primary attributes that they can name.
pub static ATTRIBUTES: LazyLock<u16> = LazyLock::new(|| nameable(Bank::Pa));

fn nameable(bank: Bank) -> u16 {
    const FORMS: [FormId; 5] = [VMAD2, V32NMAD, V16NMAD, VMAD, VDP];
    let names = |o: &Operand, n: u16| {
        let want = Want { reg: Reg::new(bank, n), lanes: [None; 4], neg: false, abs: false };
        o.table == BankTable::Gpi || fits(o, &want, &[]).is_some()
    };
    let pair = |n: u16| FORMS.iter().flat_map(|f| row_of(*f).operands).all(|o| names(o, n));
    (0..u16::MAX).step_by(2).find(|n| !pair(*n)).unwrap_or(0)
}

/// Where values are.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// First register of each virtual register; `None` where it is never used.
    pub at: Vec<Option<Reg>>,
    /// Temporaries in use.
    pub temps: u16,
    /// Primary attributes in use.
    pub pa: u16,
    /// Internal registers in use, and when.
    pub inside: Vec<(u16, Ranges)>,
}

/// What a program is placed with.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// Places that are given.
    pub fixed: &'a BTreeMap<Vreg, Reg>,
    /// Temporaries that may be used.
    pub r: u16,
    /// `pa` registers below this may be used.
    pub pa: u16,
    /// Whether those come last: most of them hold no input.
    pub pa_last: bool,
    /// `o` registers below this may be used by preference.
    pub o: u16,
    /// Vectors that go to internal registers.
    pub inside: &'a BTreeSet<Vreg>,
    /// Whether the lanes of a vector die one by one.
    pub apart: bool,
}

/// The banks, in the order in which `regalloc` knows them.
const BANKS: [Bank; 4] = [Bank::Pa, Bank::R, Bank::O, Bank::I];
const PA: u8 = 0;
const R: u8 = 1;
const O: u8 = 2;
const I: u8 = 3;
/// Internal registers.
const INSIDE: u16 = 3;

fn number(b: Bank) -> u8 {
    BANKS.iter().position(|x| *x == b).unwrap_or(0) as u8
}

/// What placing needs to know of a program, whatever goes to internal registers.
pub struct Facts {
    registers: Registers,
    /// When each value lives, and each virtual register.
    ranges: Rc<[Ranges]>,
    lives: Vec<Ranges>,
    /// Virtual registers that live at all, by their first time.
    by_time: Vec<Vreg>,
    /// Vectors that could live in an internal register, and whether they are copies.
    inside: Vec<(Vreg, bool)>,
    code: Rc<Code>,
}

/// What its operations say by themselves.
struct Code {
    hints: Hints,
    fetched: BTreeSet<Vreg>,
    addresses: BTreeSet<Vreg>,
    kept_apart: Vec<KeptApart>,
}

impl Code {
    fn of(p: &MProgram) -> Code {
        Code { hints: hints(p), fetched: live::fetched(p), addresses: live::addresses(p), kept_apart: kept_apart(p) }
    }
}

impl Facts {
    /// Looks at a program; `apart`: the lanes of a vector die one by one.
    fn of(p: &MProgram, apart: bool, code: Rc<Code>) -> Facts {
        let registers = Registers::of(p, apart);
        let live = registers.flow.live();
        let ranges: Rc<[Ranges]> = registers.flow.ranges(&live).into();
        let times = |v: Vreg| {
            let mut all = Ranges::new();
            registers.values(v).for_each(|n| all.union(&ranges[n as usize]));
            all
        };
        let lives: Vec<Ranges> = (0..p.vregs.len() as u32).map(|v| times(Vreg(v))).collect();
        let mut by_time: Vec<Vreg> = (0..p.vregs.len() as u32).map(Vreg).filter(|v| !lives[v.0 as usize].is_empty()).collect();
        by_time.sort_by_key(|v| lives[v.0 as usize].start());
        let inside = if apart { Vec::new() } else { live::candidates(p, &registers, &live) };
        Facts { registers, ranges, lives, by_time, inside, code }
    }
}

/// What is known of a program so far: placing it again in another way starts from there.
#[derive(Default)]
pub struct Known {
    facts: [OnceCell<Facts>; 2],
    uses: OnceCell<Vec<Vec<Use>>>,
    code: OnceCell<Rc<Code>>,
}

/// An operation that writes or reads a virtual register, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Its block.
    pub block: u32,
    /// Its number there.
    pub op: u32,
    /// Its time.
    pub position: u32,
}

/// The operations that touch each virtual register, in order.
fn uses(p: &MProgram) -> Vec<Vec<Use>> {
    let mut out: Vec<Vec<Use>> = vec![Vec::new(); p.vregs.len()];
    let mut position = 0;
    for (block, b) in (0..).zip(&p.blocks) {
        for (op, o) in (0..).zip(&b.ops) {
            let here = Use { block, op, position };
            for v in o.writes().chain(o.reads()) {
                let all = &mut out[v.0 as usize];
                if all.last() != Some(&here) {
                    all.push(here);
                }
            }
            position += 2;
        }
        // A block's end has a time of its own.
        position += 2;
    }
    out
}

impl Known {
    fn facts(&self, p: &MProgram, apart: bool) -> &Facts {
        let code = || self.code.get_or_init(|| Rc::new(Code::of(p))).clone();
        self.facts[usize::from(apart)].get_or_init(|| Facts::of(p, apart, code()))
    }
    /// The operations that touch a virtual register.
    pub fn uses(&self, p: &MProgram, v: Vreg) -> &[Use] {
        &self.uses.get_or_init(|| uses(p))[v.0 as usize]
    }
    /// A placement with one vector in an internal register that is free, and all else where it was.
    pub fn moved_inside(&self, p: &MProgram, places: &Placement, v: Vreg) -> Option<Placement> {
        let life = &self.facts(p, false).lives[v.0 as usize];
        let taken = |n: u16| places.inside.iter().any(|(m, s)| *m == n && s.overlaps(life));
        let n = (0..INSIDE).find(|n| !taken(*n))?;
        let mut out = places.clone();
        out.at[v.0 as usize] = Some(Reg::i(n));
        out.inside.push((n, life.clone()));
        Some(out)
    }
    /// Vectors that could live in an internal register.
    pub fn candidates(&self, p: &MProgram, places: &Placement) -> Vec<Vreg> {
        let output = |v: Vreg| places.at[v.0 as usize].is_some_and(|place| place.bank == Bank::O);
        let placed = |v: Vreg| places.at[v.0 as usize].is_some();
        let all = &self.facts(p, false).inside;
        all.iter().filter(|(v, copy)| placed(*v) && !(*copy && output(*v))).map(|(v, _)| *v).collect()
    }
}

/// Places a program.
pub fn place(p: &MProgram, s: Setting, known: &Known) -> Result<Placement, CompileError> {
    // Pairs at even registers save words; where they do not fit, any place will do.
    let loosely = |_| place_aligned(p, Setting { apart: true, ..s }, false, known.facts(p, true));
    Ok(place_aligned(p, s, true, known.facts(p, s.apart)).or_else(loosely)?)
}

fn place_aligned(p: &MProgram, s: Setting, pairs: bool, facts: &Facts) -> Result<Placement, Failure> {
    let Facts { registers, ranges, lives, .. } = facts;
    let order = order(p, s, facts);
    let mut out = Placement { at: vec![None; p.vregs.len()], ..Placement::default() };
    let bank = |name, registers, lanes| lanes::Bank { name, registers, lanes };
    let banks = vec![bank("pa", s.pa.into(), 1), bank("r", s.r.into(), 1), bank("o", s.o.into(), 1), bank("i", INSIDE.into(), 4)];
    // Given places may lie beyond what is free to use.
    let banks = settled(banks, p, s);
    let problem = Problem {
        units: units(p, s, facts, &order, pairs),
        banks,
        conflicts: Conflicts::Ranges(ranges.clone()),
        values: registers.flow.values,
    };
    let placed = lanes::place(&problem).map_err(|e| failure(p, s, registers, e))?;
    for (v, (bank, n)) in order.iter().zip(&placed.units) {
        out.at[v.0 as usize] = Some(Reg::new(BANKS[*bank as usize], *n as u16));
        if *bank == I {
            out.inside.push((*n as u16, lives[v.0 as usize].clone()));
        }
    }
    (out.temps, out.pa) = (placed.used[R as usize] as u16, placed.used[PA as usize] as u16);
    Ok(out)
}

/// Banks that hold the places that are given, too.
fn settled(mut banks: Vec<lanes::Bank>, p: &MProgram, s: Setting) -> Vec<lanes::Bank> {
    for (v, reg) in s.fixed {
        let b = &mut banks[number(reg.bank) as usize];
        b.registers = b.registers.max((reg.n + p.data(*v).regs()).into());
    }
    banks
}

/// The virtual registers in the order in which they are placed: internal registers, given places, then by first time.
fn order(p: &MProgram, s: Setting, facts: &Facts) -> Vec<Vreg> {
    let (mut inside, mut fixed) = (vec![false; p.vregs.len()], vec![false; p.vregs.len()]);
    s.inside.iter().for_each(|v| inside[v.0 as usize] = true);
    s.fixed.keys().for_each(|v| fixed[v.0 as usize] = true);
    let mut out: Vec<Vreg> = Vec::with_capacity(p.vregs.len());
    out.extend(facts.by_time.iter().filter(|v| inside[v.0 as usize]));
    out.extend(s.fixed.keys());
    out.extend(facts.by_time.iter().filter(|v| !inside[v.0 as usize] && !fixed[v.0 as usize]));
    out
}

/// What `regalloc` places.
fn units(p: &MProgram, s: Setting, facts: &Facts, order: &[Vreg], pairs: bool) -> Vec<Unit> {
    let registers = &facts.registers;
    let Code { hints, fetched, addresses, kept_apart } = &*facts.code;
    let mut unit_of = vec![None; p.vregs.len()];
    order.iter().enumerate().for_each(|(n, v)| unit_of[v.0 as usize] = Some(n));
    // Inputs that are dead first, then temporaries, then outputs that are not written yet.
    let banks: &[u8] = if s.pa_last { &[R, O, PA] } else { &[PA, R, O] };
    let free = |v: Vreg| {
        let bound = fetched.contains(&v) || addresses.contains(&v);
        banks.iter().filter(|b| !(bound && **b == O)).map(|b| Search::Whole(*b)).collect()
    };
    let unit = |v: &Vreg| {
        let d = p.data(*v);
        let inside = s.inside.contains(v);
        let member = |(k, value): (u8, u32)| match inside {
            true => Member { value, register: 0, lane: Lane::At(k) },
            false => Member { value, register: k.into(), lane: Lane::At(0) },
        };
        let near = hints[v.0 as usize].iter().filter_map(|(o, off)| Some((unit_of[o.0 as usize]?, *off)));
        Unit {
            members: (0..).zip(registers.values(*v)).map(member).collect(),
            fixed: s.fixed.get(v).map(|r| (number(r.bank), r.n.into())),
            step: if !inside && ((d.regs() > 1 && pairs) || d.even) { 2 } else { 1 },
            search: if inside { [Search::Whole(I)][..].into() } else { free(*v) },
            near: if inside { Vec::new() } else { near.collect() },
            near_banks: 1 << PA | 1 << R | u8::from(!fetched.contains(v)) << O,
            apart: Vec::new(),
            alike: None,
        }
    };
    let mut all: Vec<Unit> = order.iter().map(unit).collect();
    keep_apart(kept_apart, &mut all, &unit_of);
    all
}

/// Why a program could not be placed.
pub enum Failure {
    /// A register found no place, but would have until this time (see [`Registers`]).
    Until(Vreg, u32, CompileError),
    /// More values are live than there are registers.
    Crowded(CompileError),
    /// Something else.
    Other(CompileError),
}

impl From<Failure> for CompileError {
    fn from(f: Failure) -> CompileError {
        match f {
            Failure::Until(_, _, e) | Failure::Crowded(e) | Failure::Other(e) => e,
        }
    }
}

/// An error that says how many registers this program needs.
fn failure(p: &MProgram, s: Setting, registers: &Registers, e: AllocError) -> Failure {
    match e {
        AllocError::Registers { bank: "r" | "pa", needed, available, value, until, .. } => {
            let v = registers.vreg(value);
            let span = p.vregs.get(v.0 as usize).map_or(Span::NONE, |d| d.span);
            let all = u64::from(s.r + s.pa + s.o);
            let what = "too many values are live here for the registers";
            let e = CompileError::limit("U0120", span, what, all + u64::from(needed - available), all);
            match until {
                Some(t) => Failure::Until(v, t, e),
                None => Failure::Crowded(e),
            }
        }
        other => Failure::Other(CompileError::Internal(other.to_string())),
    }
}

/// What a lane-wise operation on several lanes writes and reads in different words: one of its lanes, and the lane of a source
/// that another of its lanes reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Crossing {
    source: Vreg,
    written: u8,
    read: u8,
}

/// The crossings of each result: words are written one after the other, so a source may share the result's place only where
/// no word writes what a later one reads.
fn crossings(p: &MProgram) -> BTreeMap<Vreg, BTreeSet<Crossing>> {
    let mut out: BTreeMap<Vreg, BTreeSet<Crossing>> = BTreeMap::new();
    for op in p.blocks.iter().flat_map(|b| &b.ops) {
        let Some(d) = op.dst else { continue };
        if p.data(d).lanes < 2 || !matches!(op.kind, Kind::Float(_) | Kind::Complex(_) | Kind::Bit(_)) {
            continue;
        }
        // A last register's spare half may be written too.
        let lanes = if p.data(d).ty == Scalar::F16 { p.data(d).lanes.next_multiple_of(2) } else { p.data(d).lanes };
        for (k, l) in op.src.iter().flat_map(|s| s.iter().enumerate()) {
            if let Base::V(source, read) = l.base {
                let written = (0..lanes).filter(|w| *w as usize != k);
                out.entry(d).or_default().extend(written.map(|written| Crossing { source, written, read }));
            }
        }
    }
    out
}

/// A result that must not lie to a source at some distances, in registers behind it, or share one of four lanes with it.
struct KeptApart {
    result: Vreg,
    source: Vreg,
    distances: Vec<i32>,
    register: bool,
}

fn kept_apart(p: &MProgram) -> Vec<KeptApart> {
    let mut out = Vec::new();
    for (result, of) in crossings(p) {
        let of: Vec<Crossing> = of.into_iter().collect();
        for of in of.chunk_by(|a, b| a.source == b.source) {
            let (distances, register) = distances(p, result, of);
            out.push(KeptApart { result, source: of[0].source, distances, register });
        }
    }
    out
}

/// Tells of each result and source the one that is placed later how it must not lie to the other.
fn keep_apart(all: &[KeptApart], units: &mut [Unit], unit_of: &[Option<usize>]) {
    for k in all {
        let (Some(r), Some(s)) = (unit_of[k.result.0 as usize], unit_of[k.source.0 as usize]) else { continue };
        let register = k.register;
        match r > s {
            true => units[r].apart.push(Apart { unit: s, distances: k.distances.clone(), register }),
            false => units[s].apart.push(Apart { unit: r, distances: k.distances.iter().map(|d| -d).collect(), register }),
        }
    }
}

/// How many registers behind a source its result must not begin, and whether they may not share one of four lanes.
fn distances(p: &MProgram, result: Vreg, crossings: &[Crossing]) -> (Vec<i32>, bool) {
    let (mut out, mut register) = (Vec::new(), false);
    for c in crossings {
        let (r, s) = (p.data(result), p.data(c.source));
        register |= c.written == c.read;
        let between = i32::from(c.read) - i32::from(c.written);
        match (r.ty == Scalar::F16, s.ty == Scalar::F16) {
            (false, false) => out.push(between),
            // Two halves a register.
            (true, true) if between % 2 == 0 => out.push(between / 2),
            (true, true) => {}
            _ => out.extend(1 - i32::from(r.regs())..i32::from(s.regs())),
        }
    }
    out.sort_unstable();
    out.dedup();
    (out, register)
}

/// For each register the places that would save words: (other register, distance). Copies that vanish come first, then
/// operands of one word that lie beside each other.
fn hints(p: &MProgram) -> Hints {
    let mut out = vec![Vec::new(); p.vregs.len()];
    p.blocks.iter().flat_map(|b| &b.ops).for_each(|op| copy_hints(p, op, &mut out));
    p.blocks.iter().flat_map(|b| &b.ops).for_each(|op| operand_hints(p, op, &mut out));
    out
}

/// By register: others, and how far behind them it would like to be.
type Hints = Vec<Vec<(Vreg, i32)>>;

fn copy_hints(p: &MProgram, op: &Mop, out: &mut Hints) {
    let dsts: Vec<Vreg> = match &op.kind {
        Kind::Copy | Kind::Select(_) => op.dst.into_iter().collect(),
        Kind::Parallel(d) => d.clone(),
        _ => return,
    };
    let half = |v: Vreg, n: i32| if p.data(v).ty == Scalar::F16 { n / 2 } else { n };
    let selects = matches!(op.kind, Kind::Select(_));
    let srcs: Vec<&Vec<mir::Lane>> = if selects { op.src.iter().rev().collect() } else { op.src.iter().collect() };
    for (n, src) in srcs.iter().enumerate() {
        let Some(dst) = dsts.get(if selects { 0 } else { n }) else { continue };
        for (k, l) in src.iter().enumerate() {
            let (Base::V(v, j), true) = (l.base, l.is_plain()) else { continue };
            if (p.data(*dst).ty == Scalar::F16) == (p.data(v).ty == Scalar::F16) {
                let off = half(*dst, k as i32) - half(v, j.into());
                out[v.0 as usize].push((*dst, off));
                out[dst.0 as usize].push((v, -off));
            }
        }
    }
}

/// Lanes of several registers that one operand names together.
fn operand_hints(p: &MProgram, op: &Mop, out: &mut Hints) {
    if !matches!(op.kind, Kind::Float(_) | Kind::Dot) {
        return;
    }
    for src in &op.src {
        let lanes = src.iter().zip(0i32..).filter_map(|(l, k)| if let Base::V(v, j) = l.base { Some((v, k - i32::from(j))) } else { None });
        let mut lanes = lanes.filter(|(v, _)| p.data(*v).ty != Scalar::F16);
        let Some((first, at)) = lanes.next() else { continue };
        for (v, k) in lanes.filter(|(v, _)| *v != first) {
            out[v.0 as usize].push((first, k - at));
            out[first.0 as usize].push((v, at - k));
        }
    }
}
