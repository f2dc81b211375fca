//! What groups, fetches and exports do to registers, forwarded results, masks and unfinished clauses, for the validator.
//!
//! Facts: the sheet's sections 2 (BARRIER), 3 (branches and loops), 4.5 (PV and PS), 4.8 (index registers), 5.4 (predicates), 6.4 (scratch
//! memory) and 8.2 (clause temporaries); AMD's "R700-Family Instruction Set Architecture", chapters 3 and 4. The program is followed as one
//! lane sees it: where its mask is cleared, it goes on behind the ELSE, POP or LOOP_END that sets it again.

use crate::abi::{Abi, NOWHERE, Platform};
use crate::isa::forms::{Effect, Format, Op, Unit, cf, cf_alu, exp_buf, field, tex};
use crate::isa::program::{Clause, Program as Code, fetch_space, words_of};
use crate::isa::word::{Alu, DST_SEL, EXPORT_SEL, Group, SRC_SEL, Src, Word, sel};
use crate::select::VERTEX_OFFSETS;
use retroshade_ir::{Module, Stage};
use retroshade_lower::validate::{Edge, Fact, Facts, Guard, Program, Step, has_unreachable};
use retroshade_lower::{CompiledShader, TextError};

/// Channels of registers.
const GPR: Fact = 0;
/// First channel of the clause temporaries.
const TEMPORARY: Fact = 4 * sel::CLAUSE_TEMP;
/// PV.x to PV.w, PS.
const FORWARD: Fact = 512;
/// AR.x to AR.w.
const INDEX: Fact = FORWARD + 5;
/// The predicate bit.
const PREDICATE: Fact = INDEX + 4;
/// The gradients that SET_GRADIENTS_H and _V leave, and a cube's layer.
const GRADIENT: Fact = PREDICATE + 1;
/// TYPE of an export to a parameter.
const PARAMETER: u64 = 2;
/// Exports by type and target.
const EXPORT: Fact = GRADIENT + 3;
/// Registers that an unfinished clause or export reads (pending), and that one writes.
const UNREAD: Fact = EXPORT + 3 * 64;
const UNWRITTEN: Fact = UNREAD + 128;
/// Something is unfinished; an unfinished clause changes which lanes count (pending).
const UNFINISHED: Fact = UNWRITTEN + 128;
const MASKS: Fact = UNFINISHED + 1;
/// Scratch memory has not confirmed a write (pending).
const SCRATCH: Fact = MASKS + 1;
const ALL: usize = SCRATCH as usize + 1;

const CHANNELS: [&str; 4] = ["x", "y", "z", "w"];

/// A fact's name.
fn name(f: Fact) -> String {
    let channel = |n: Fact| CHANNELS[usize::from(n & 3)];
    match f {
        SCRATCH.. => "scratch memory".to_string(),
        MASKS.. => "the execute mask".to_string(),
        UNFINISHED.. => "a clause or export".to_string(),
        UNWRITTEN.. => format!("R{}", f - UNWRITTEN),
        UNREAD.. => format!("R{}", f - UNREAD),
        EXPORT.. => format!("export {} of type {}", (f - EXPORT) % 64, (f - EXPORT) / 64),
        GRADIENT.. => {
            ["the horizontal gradient", "the vertical gradient", "the layer of a cube map"][usize::from(f - GRADIENT)].to_string()
        }
        PREDICATE.. => "the predicate".to_string(),
        INDEX.. => format!("AR.{}", channel(f - INDEX)),
        FORWARD.. if f == FORWARD + 4 => "PS".to_string(),
        FORWARD.. => format!("PV.{}", channel(f - FORWARD)),
        TEMPORARY.. => format!("T{}.{}", (f - TEMPORARY) / 4, channel(f)),
        GPR.. => format!("R{}.{}", f / 4, channel(f)),
    }
}

fn gpr(r: u64, channel: u64) -> Fact {
    GPR + 4 * (r & 127) as Fact + (channel & 3) as Fact
}

fn export(kind: u64, target: u64) -> Fact {
    EXPORT + 64 * kind.min(2) as Fact + (target & 63) as Fact
}

/// The main program of a compiled shader.
pub fn programs(shader: &CompiledShader) -> Result<Vec<Program>, TextError> {
    let code = Code::decode(&words_of(&shader.code)?)?;
    let abi = Abi::of(&shader.legal, Platform::of(shader.chip.as_deref())).map_err(|e| TextError::new(e.to_string()))?;
    let mut b = Builder::new(&code);
    let attributes = b.preset(&shader.legal, &abi);
    b.walk(&attributes, &results(&shader.legal, &abi));
    Ok(vec![b.program])
}

/// What must have been exported at the end.
fn results(m: &Module, abi: &Abi) -> Facts {
    let mut out = Facts::new();
    if m.stage != Stage::Geometry && !has_unreachable(m) {
        for (k, d) in m.outputs.values().enumerate() {
            let all = (0..d.count).map(|e| abi.output(m, k, e));
            out.extend(all.filter(|o| o.0 != NOWHERE).map(|(kind, base, _)| export(u64::from(kind), u64::from(base))));
        }
    }
    out
}

/// A branch or loop that is open.
struct Open {
    /// Steps behind which a lane may be switched off until the next ELSE or POP.
    waiting: Vec<usize>,
    /// For a loop, its first instruction; steps that leave it, and steps that wait for its end.
    round: Option<usize>,
    leaving: Vec<usize>,
    next_round: Vec<usize>,
}

/// Makes the steps of a program.
struct Builder<'a> {
    code: &'a Code,
    program: Program,
    /// The first step of each control-flow instruction, and one for the end.
    first: Vec<usize>,
    /// Ways on that are not the next step: from a step to a control-flow instruction.
    ways: Vec<(usize, usize)>,
    open: Vec<Open>,
}

/// What a clause or export touches, as far as barriers matter.
#[derive(Default)]
struct Touched {
    reads: u128,
    writes: u128,
    masks: bool,
}

fn bit(r: u64) -> u128 {
    1 << (r & 127)
}

impl<'a> Builder<'a> {
    fn new(code: &'a Code) -> Builder<'a> {
        Builder { code, program: Program::new("", ALL, name), first: Vec::new(), ways: Vec::new(), open: Vec::new() }
    }

    /// What the hardware puts into registers; what a fetch shader will is given back.
    fn preset(&mut self, m: &Module, abi: &Abi) -> Facts {
        let mut fetched = Facts::new();
        let all = |r: u64| (0..4).map(move |c| gpr(r, c));
        for (k, d) in m.inputs.values().enumerate() {
            if abi.ring_input(k).is_some() {
                continue;
            }
            let place = abi.inputs[k];
            let registers = (0..u64::from(d.count.max(1))).flat_map(|e| all(u64::from(place.gpr) + e));
            if abi.attributes.get(k).copied().flatten().is_some() {
                fetched.extend(registers)
            } else {
                self.program.preset.extend(registers)
            }
        }
        match m.stage {
            Stage::Vertex => self.program.preset.extend([gpr(0, 0), gpr(0, 3)]),
            Stage::Geometry => {
                self.program.preset.extend(VERTEX_OFFSETS.iter().map(|(r, c)| gpr(u64::from(*r), u64::from(*c))));
                self.program.preset.push(gpr(0, 2));
            }
            _ => {}
        }
        // An array begins somewhere at or behind the lowest register that an index is added to; what lies there counts as written.
        let groups = self.code.clauses.values().filter_map(|c| if let Clause::Alu(g) = c { Some(g) } else { None }).flatten();
        let lowest = groups.flat_map(|(_, g)| &g.slots).filter(|s| s.writes() && s.dst_rel).map(|s| u64::from(s.dst)).min();
        if let Some(r) = lowest {
            self.program.preset.extend((r..u64::from(sel::CLAUSE_TEMP)).flat_map(all));
        }
        fetched
    }

    fn push(&mut self, at: u32, step: Step) -> usize {
        let n = self.program.steps.len();
        self.program.steps.push(Step { at: 8 * at, ..step });
        n
    }

    /// All instructions in their order; then the ways between them.
    fn walk(&mut self, attributes: &Facts, results: &Facts) {
        let mut ends = Vec::new();
        for n in 0..self.code.cf.len() {
            let w = &self.code.cf[n];
            self.first.push(self.program.steps.len());
            self.entry(n as u32, w);
            match w.info().format {
                Format::CfAlu => self.alu_clause(n, w),
                Format::Cf if fetch_space(w).is_some() => self.fetch_clause(w),
                Format::Cf => self.flow(n, w, attributes),
                _ => {}
            }
            if w.get(field!(END_OF_PROGRAM)) == 1 {
                ends.push(self.program.steps.len() - 1);
            }
        }
        let end = self.push(self.code.cf.len() as u32, Step { reads: results.clone(), ..Step::default() });
        self.first.push(end);
        self.program.end = Some(end);
        for n in 0..end {
            // Ways that leave the line have been noted; all others go on with the next step, the last of them to the end.
            let to = if ends.contains(&n) { end } else { n + 1 };
            if !self.ways.iter().any(|w| w.0 == n && w.1 == usize::MAX) {
                self.program.steps[n].goes(to);
            }
        }
        for (from, to) in std::mem::take(&mut self.ways) {
            if let Some(first) = self.first.get(to) {
                self.program.steps[from].next.push(Edge { to: *first as u32, when: None });
            }
        }
        if !self.open.is_empty() {
            self.program.report(8 * self.code.cf.len() as u32, "a branch or loop is open at the program's end");
        }
    }

    /// Lanes never go on with the instruction behind a step.
    fn leaves_line(&mut self, step: usize) {
        self.ways.push((step, usize::MAX));
    }

    /// What an instruction must wait for (BARRIER), and what it leaves unfinished.
    fn entry(&mut self, at: u32, w: &Word) {
        const BEFORE: &str = "an instruction without BARRIER reads what an unfinished one writes";
        const AFTER: &str = "an instruction without BARRIER writes what an unfinished one reads";
        const TWICE: &str = "an instruction without BARRIER writes what an unfinished one writes";
        const ORDER: &str = "it is unfinished where an instruction without BARRIER changes masks, the stack or memory";
        const LANES: &str = "an unfinished clause changes it, and an instruction without BARRIER depends on it";
        let mut s = Step::default();
        let own = self.touched(w);
        if w.get(field!(BARRIER)) == 1 {
            s.ends.push(UNREAD..SCRATCH);
        } else {
            s.forbids.push((MASKS, LANES));
            match &own {
                None => s.forbids.push((UNFINISHED, ORDER)),
                Some(t) => {
                    for r in 0..128u16 {
                        if t.reads >> r & 1 == 1 {
                            s.forbids.push((UNWRITTEN + r, BEFORE));
                        }
                        if t.writes >> r & 1 == 1 {
                            s.forbids.extend([(UNWRITTEN + r, TWICE), (UNREAD + r, AFTER)]);
                        }
                    }
                }
            }
        }
        if let Some(t) = own {
            s.raises.push(UNFINISHED);
            s.raises.extend((0..128).filter(|r| t.reads >> r & 1 == 1).map(|r| UNREAD + r));
            s.raises.extend((0..128).filter(|r| t.writes >> r & 1 == 1).map(|r| UNWRITTEN + r));
            s.raises.extend(t.masks.then_some(MASKS));
        }
        match w.info().format {
            Format::ExpSwiz => {
                let (kind, burst) = (w.get(field!(TYPE)), w.get(field!(BURST_COUNT)));
                for k in 0..=burst {
                    let lanes = EXPORT_SEL.into_iter().map(|f| w.get(f)).filter(|s| *s < 4);
                    // Parameters in a burst share their selects: lanes that nobody reads may hold anything.
                    if kind != PARAMETER || burst == 0 {
                        s.reads.extend(lanes.map(|c| gpr(w.get(field!(RW_GPR)) + k, c)));
                    }
                    s.writes.push(export(kind, w.get(field!(ARRAY_BASE)) + k));
                }
            }
            Format::ExpBuf => {
                let lanes = (0..4).filter(|c| w.get(field!(COMP_MASK)) >> c & 1 == 1);
                for k in 0..=w.get(field!(BURST_COUNT)) {
                    s.reads.extend(lanes.clone().map(|c| gpr(w.get(field!(RW_GPR)) + k, c)));
                }
                if w.get(field!(TYPE)) & 1 == 1 {
                    s.reads.push(gpr(w.get(field!(INDEX_GPR)), 0));
                }
                if w.form() == exp_buf::MEM_SCRATCH {
                    s.raises.push(SCRATCH);
                }
            }
            _ => {}
        }
        self.push(at, s);
    }

    /// What may overlap others; `None` for what changes masks, the stack, control or memory.
    fn touched(&self, w: &Word) -> Option<Touched> {
        let mut t = Touched::default();
        let clause = || self.code.clauses.get(&(w.get(field!(ADDR)) as u32));
        match w.info().format {
            Format::CfAlu if w.form() == cf_alu::ALU => {
                let Some(Clause::Alu(groups)) = clause() else { return None };
                for s in groups.iter().flat_map(|(_, g)| &g.slots) {
                    for x in s.sources().iter().filter(|x| x.is_gpr() && x.sel < sel::CLAUSE_TEMP) {
                        t.reads |= if x.rel { u128::MAX } else { bit(u64::from(x.sel)) };
                    }
                    if s.writes() && u16::from(s.dst) < sel::CLAUSE_TEMP {
                        t.writes |= if s.dst_rel { u128::MAX } else { bit(u64::from(s.dst)) };
                    }
                    t.masks |= s.alu().effect == Effect::Kill || s.update_exec;
                }
            }
            Format::Cf if fetch_space(w).is_some() => {
                let Some(Clause::Fetch(list)) = clause() else { return None };
                for (_, f) in list {
                    t.reads |= if reads_nothing(f) { 0 } else { bit(f.get(field!(SRC_GPR))) };
                    t.writes |= if writes_nothing(f) { 0 } else { bit(f.get(field!(DST_GPR))) };
                }
            }
            Format::ExpSwiz => {
                (0..=w.get(field!(BURST_COUNT))).for_each(|k| t.reads |= bit(w.get(field!(RW_GPR)) + k));
            }
            _ => return None,
        }
        Some(t)
    }

    fn alu_clause(&mut self, n: usize, w: &Word) {
        if matches!(w.form(), cf_alu::ALU_PUSH_BEFORE) {
            self.branch();
        }
        let Some(Clause::Alu(groups)) = self.code.clauses.get(&(w.get(field!(ADDR)) as u32)) else {
            self.program.report(8 * n as u32, "no ALU clause begins where the instruction says");
            return;
        };
        let mut switches = false;
        for (k, (at, g)) in groups.iter().enumerate() {
            let first = self.program.steps.len();
            self.group(*at, g);
            if k == 0 {
                // Nothing of another clause is left.
                self.program.steps[first].drops.extend([TEMPORARY..FORWARD, FORWARD..GRADIENT]);
            }
            switches |= g.slots.iter().any(|s| s.update_exec);
        }
        let last = self.program.steps.len() - 1;
        if switches {
            match w.form() {
                cf_alu::ALU_BREAK => self.leave(last, true),
                cf_alu::ALU_CONTINUE => self.leave(last, false),
                _ => match self.open.last_mut() {
                    Some(o) => o.waiting.push(last),
                    None => self.program.report(8 * n as u32, "lanes are switched off where no branch is open to switch them on"),
                },
            }
        }
        match w.form() {
            cf_alu::ALU_POP_AFTER => self.pop(n, 1),
            cf_alu::ALU_POP2_AFTER => self.pop(n, 2),
            _ => {}
        }
    }

    /// The operands of a group are read before any result is written; each operation by its own predicate.
    fn group(&mut self, at: u32, g: &Group) {
        let guard = |p: &mut Program, s: &Alu| -> Option<Guard> {
            match s.pred_sel {
                2 => p.guard(PREDICATE, true),
                3 => p.guard(PREDICATE, false),
                _ => None,
            }
        };
        let guards: Vec<Option<Guard>> = g.slots.iter().map(|s| guard(&mut self.program, s)).collect();
        let units = g.units().unwrap_or_default();
        let mut kinds: Vec<Option<Guard>> = guards.clone();
        kinds.sort_unstable();
        kinds.dedup();
        for k in &kinds {
            let mut s = Step { guard: *k, ..Step::default() };
            for (a, _) in g.slots.iter().zip(&guards).filter(|(_, own)| *own == k) {
                s.reads.extend(a.sources().iter().filter_map(source));
                if a.sources().iter().any(|x| x.rel) || a.writes() && a.dst_rel {
                    s.reads.extend((a.index_mode < 4).then_some(INDEX + Fact::from(a.index_mode)));
                }
                s.reads.extend(k.map(|_| PREDICATE));
            }
            self.push(at, s);
        }
        // Forwarded results come whether or not a register is written.
        let mut s = Step::default();
        s.loses.push(FORWARD..INDEX);
        for (a, unit) in g.slots.iter().zip(&units) {
            let sum = a.alu().unit == Unit::Reduce && a.alu().op != Op::CUBE;
            s.writes.push(FORWARD + if sum { 0 } else { Fact::from(*unit) });
        }
        self.push(at, s);
        for k in &kinds {
            let mut s = Step { guard: *k, ..Step::default() };
            for (a, _) in g.slots.iter().zip(&guards).filter(|(_, own)| *own == k) {
                if a.writes() && !a.dst_rel {
                    s.writes.push(gpr(u64::from(a.dst), u64::from(a.chan)));
                }
                if a.alu().effect == Effect::Index {
                    s.writes.push(INDEX + Fact::from(a.chan & 3));
                }
                if a.update_pred {
                    s.writes.push(PREDICATE);
                }
            }
            self.push(at, s);
        }
    }

    fn fetch_clause(&mut self, w: &Word) {
        let addr = w.get(field!(ADDR)) as u32;
        let Some(Clause::Fetch(list)) = self.code.clauses.get(&addr) else { return };
        for (at, f) in list {
            let mut s = Step::default();
            let src = f.get(field!(SRC_GPR));
            match f.info().format {
                Format::Tex => {
                    if !reads_nothing(f) {
                        s.reads.extend(SRC_SEL.into_iter().map(|x| f.get(x)).filter(|c| *c < 4).map(|c| gpr(src, c)));
                    }
                    match f.form() {
                        tex::SET_GRADIENTS_H => s.writes.push(GRADIENT),
                        tex::SET_GRADIENTS_V => s.writes.push(GRADIENT + 1),
                        tex::SET_CUBEMAP_INDEX => s.writes.push(GRADIENT + 2),
                        tex::SAMPLE_G | tex::SAMPLE_C_G => s.reads.extend([GRADIENT, GRADIENT + 1]),
                        _ => {}
                    }
                }
                Format::MemRd => {
                    s.forbids.push((SCRATCH, "it is read before a write to it has been waited for (WAIT_ACK)"));
                    if f.get(field!(INDEXED)) == 1 {
                        s.reads.push(gpr(src, f.get(field!(SRC_SEL_X))));
                    }
                }
                _ => s.reads.push(gpr(src, f.get(field!(SRC_SEL_X)))),
            }
            if !writes_nothing(f) {
                let given = DST_SEL.into_iter().enumerate().filter(|(_, x)| f.get(*x) < 6);
                s.writes.extend(given.map(|(c, _)| gpr(f.get(field!(DST_GPR)), c as u64)));
            }
            self.push(*at, s);
        }
    }

    fn flow(&mut self, n: usize, w: &Word, attributes: &Facts) {
        let here = self.program.steps.len() - 1;
        match w.form() {
            cf::PUSH => self.branch(),
            cf::ELSE => match self.open.last_mut().filter(|o| o.round.is_none()) {
                Some(o) => {
                    let off = std::mem::replace(&mut o.waiting, vec![here]);
                    self.ways.extend(off.into_iter().map(|s| (s, n + 1)));
                    self.leaves_line(here);
                }
                None => self.program.report(8 * n as u32, "ELSE where no branch is open"),
            },
            cf::POP => self.pop(n, w.get(field!(POP_COUNT))),
            cf::LOOP_START | cf::LOOP_START_DX10 | cf::LOOP_START_NO_AL => {
                self.open.push(Open { waiting: Vec::new(), round: Some(n + 1), leaving: Vec::new(), next_round: Vec::new() });
            }
            cf::LOOP_BREAK | cf::LOOP_CONTINUE => {
                self.leave(here, w.form() == cf::LOOP_BREAK);
                self.leaves_line(here);
            }
            cf::LOOP_END => match self.open.pop() {
                Some(Open { waiting, round: Some(round), leaving, next_round }) => {
                    self.ways.push((here, round));
                    self.leaves_line(here);
                    self.ways.extend(next_round.into_iter().map(|s| (s, round)));
                    self.ways.extend(waiting.into_iter().chain(leaving).map(|s| (s, n + 1)));
                }
                _ => self.program.report(8 * n as u32, "LOOP_END where no loop is open"),
            },
            cf::CALL_FS => self.program.steps[here].writes.extend(attributes.iter().copied()),
            cf::WAIT_ACK => self.program.steps[here].ends.push(SCRATCH..SCRATCH + 1),
            _ => {}
        }
    }

    fn branch(&mut self) {
        self.open.push(Open { waiting: Vec::new(), round: None, leaving: Vec::new(), next_round: Vec::new() });
    }

    /// A lane leaves the innermost loop, or this round of it.
    fn leave(&mut self, step: usize, whole: bool) {
        match self.open.iter_mut().rev().find(|o| o.round.is_some()) {
            Some(o) if whole => o.leaving.push(step),
            Some(o) => o.next_round.push(step),
            None => {
                let at = self.program.steps[step].at;
                self.program.report(at, "a break or continue outside of a loop");
            }
        }
    }

    fn pop(&mut self, n: usize, count: u64) {
        for _ in 0..count {
            match self.open.pop().filter(|o| o.round.is_none()) {
                Some(o) => self.ways.extend(o.waiting.into_iter().map(|s| (s, n + 1))),
                None => self.program.report(8 * n as u32, "a POP where no branch is open"),
            }
        }
    }
}

/// The fact that an operand reads, if a program can write it; an index leads nobody knows where.
fn source(x: &Src) -> Option<Fact> {
    match x.sel {
        0..128 if x.rel => None,
        0..128 => Some(gpr(u64::from(x.sel), u64::from(x.chan))),
        sel::PV => Some(FORWARD + Fact::from(x.chan & 3)),
        sel::PS => Some(FORWARD + 4),
        _ => None,
    }
}

/// Whether a fetch has no register as address.
fn reads_nothing(f: &Word) -> bool {
    match f.info().format {
        Format::MemRd => f.get(field!(INDEXED)) == 0,
        _ => SRC_SEL.into_iter().all(|x| f.get(x) >= 4) && f.info().format == Format::Tex,
    }
}

/// Whether a fetch leaves its result elsewhere than in a register.
fn writes_nothing(f: &Word) -> bool {
    matches!(f.form(), tex::SET_GRADIENTS_H | tex::SET_GRADIENTS_V | tex::SET_CUBEMAP_INDEX) || DST_SEL.into_iter().all(|x| f.get(x) >= 6)
}
