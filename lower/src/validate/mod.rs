//! The validator: what must hold of finished machine code on every path, found from the decoded bytes alone.
//!
//! A machine tells for each instruction what it reads, writes and forbids ([`Step`]), as its rows and its manual have it and not as the
//! compiler meant it. Two analyses over the machine code's own flow graph then check two kinds of facts:
//!
//! * what must hold (`flow.rs`, on **every** way): a place has been written since it was last lost, so that it may be read;
//! * what may be pending (on **some** way): a result that is still on its way, an output that was written already, an address register
//!   that was loaded by the word before. Whoever meets it while it is forbidden breaks a rule of the machine.
//!
//! ```text
//!   container bytes ─TargetIsa::effects─▶ [Program of Steps] ─Program::check─▶ findings
//!   container bytes ─TargetIsa::lint────────────────────────────────────────▶ findings
//! ```
//! What a value means shows only where the code is executed: [`meaning`].
//!
//! Values that depend on a predicate are followed as far as it is known: a place that two instructions under opposite predicates write
//! holds, and so does one that is read only under the predicate that it was written under.

mod flow;
pub mod meaning;
mod paths;
mod state;

pub use paths::Paths;

use crate::isa::{CompiledShader, TargetIsa};
use crate::text::{TextError, TextOptions};
use retroshade_ir::{Module, Opcode};
use smallvec::SmallVec;
use std::ops::Range;

/// A fact's number: for most a place that may hold a value. Machines number and name their own.
pub type Fact = u16;

/// Facts of an instruction.
pub type Facts = SmallVec<[Fact; 8]>;

/// Facts that lie together.
pub type Ranges = SmallVec<[Range<Fact>; 2]>;

/// A condition under which an instruction takes effect: outcomes of a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guard {
    /// The predicate, of [`Program::guards`].
    pub predicate: u8,
    /// A bit for each outcome under which the instruction takes effect.
    pub outcomes: u8,
}

/// Outcomes that a predicate can have.
pub const OUTCOMES: usize = 4;
/// All of them.
const ALL: u8 = 15;

impl Guard {
    /// The condition that holds where this one does not.
    pub fn inverse(self) -> Guard {
        Guard { outcomes: self.outcomes ^ ALL, ..self }
    }
}

/// Most predicates that are told apart; what depends on others is followed as if it always took effect.
pub const MAX_PREDICATES: usize = 8;

/// What is executed behind an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The step.
    pub to: u32,
    /// The condition under which control goes there, where it is a guard.
    pub when: Option<Guard>,
}

/// What an instruction does, in this order.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Its place in the code, in bytes.
    pub at: u32,
    /// The condition under which it takes effect.
    pub guard: Option<Guard>,
    /// No longer holds when it is reached.
    pub drops: Ranges,
    /// Must hold.
    pub reads: Facts,
    /// May not be pending, and what it means if it is.
    pub forbids: SmallVec<[(Fact, &'static str); 4]>,
    /// No longer holds behind it, unless it is written too.
    pub loses: Ranges,
    /// Holds behind it.
    pub writes: Facts,
    /// Facts (second) that hold behind it if others (first) held before, and do not hold otherwise.
    pub derives: Vec<(Facts, Facts)>,
    /// Is no longer pending behind it.
    pub ends: Ranges,
    /// May be pending behind it.
    pub raises: Facts,
    /// Where control goes; nowhere at a program's end.
    pub next: SmallVec<[Edge; 2]>,
}

impl Step {
    /// Goes on with a step.
    pub fn goes(&mut self, to: usize) {
        self.next.push(Edge { to: to as u32, when: None });
    }
}

/// A program's steps. A machine whose instructions mean different things in different surroundings has a step for each.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it is, where a container has several; may be empty.
    pub title: &'static str,
    /// The steps; the first is where the program starts.
    pub steps: Vec<Step>,
    /// How many facts there are.
    pub facts: usize,
    /// What holds at the start.
    pub preset: Vec<Fact>,
    /// The predicates of the guards, and what is asked of each where that can be several things: writing the fact makes what was known under
    /// its outcomes void.
    pub guards: Vec<(Fact, u8)>,
    /// A fact's name in findings.
    pub name: fn(Fact) -> String,
    /// The step that stands for the place behind the last instruction, where the program has one.
    pub end: Option<usize>,
    /// What was found while the steps were made: calls to nowhere, ends that are missing.
    pub findings: Vec<TextError>,
}

impl Program {
    /// A program of nothing yet.
    pub fn new(title: &'static str, facts: usize, name: fn(Fact) -> String) -> Program {
        Program { title, steps: Vec::new(), facts, preset: Vec::new(), guards: Vec::new(), name, end: None, findings: Vec::new() }
    }

    /// The guard of a predicate that is true or false. `None` where there are too many predicates.
    pub fn guard(&mut self, predicate: Fact, inverse: bool) -> Option<Guard> {
        self.guard_of(predicate, 0, if inverse { ALL & !3 } else { 3 })
    }

    /// The guard of some outcomes of a predicate; `question` tells things apart that are asked of one fact. `None` where there are too many.
    pub fn guard_of(&mut self, predicate: Fact, question: u8, outcomes: u8) -> Option<Guard> {
        let known = self.guards.iter().position(|g| *g == (predicate, question));
        let n = known.unwrap_or(self.guards.len());
        if n >= MAX_PREDICATES {
            return None;
        }
        if known.is_none() {
            self.guards.push((predicate, question));
        }
        Some(Guard { predicate: n as u8, outcomes: outcomes & ALL })
    }

    /// Notes something wrong with an instruction.
    pub fn report(&mut self, at: u32, message: impl Into<String>) {
        self.findings.push(TextError { offset: Some(u64::from(at)), ..TextError::new(message) });
    }

    /// Everything that is wrong, in the order of the code.
    pub fn check(&self) -> Vec<TextError> {
        let mut out = self.findings.clone();
        out.extend(flow::check(self));
        if !self.title.is_empty() {
            out.iter_mut().for_each(|e| e.message = format!("{}: {}", self.title, e.message));
        }
        out.sort_by(|a, b| (a.offset, &a.message).cmp(&(b.offset, &b.message)));
        out.dedup();
        out
    }
}

/// What a compiled shader's main program executes, in instructions as its machine counts the steps of its control flow; `None` where the machine
/// does not tell.
pub fn paths<T: TargetIsa + ?Sized>(isa: &T, shader: &CompiledShader) -> Option<Paths> {
    // What runs ahead of the main program stands before it.
    paths::paths(isa.effects(shader).ok()?.last()?)
}

/// Whether a module reads values about which nothing is promised: then code may read registers that nobody wrote.
pub fn has_undefined(module: &Module) -> bool {
    has(module, Opcode::Undef) || has_unreachable(module)
}

/// Whether a module says of some ways that they are never gone: machine code shows them all the same, and nothing need be done there.
pub fn has_unreachable(module: &Module) -> bool {
    has(module, Opcode::Unreachable)
}

fn has(module: &Module, op: Opcode) -> bool {
    module.functions.values().any(|f| f.ordered().any(|(_, i)| f.insts[i].op == op))
}

/// Checks a compiled shader's bytes: the machine's own rules and every path through each program. An empty list is good.
pub fn validate<T: TargetIsa + ?Sized>(isa: &T, shader: &CompiledShader) -> Result<Vec<TextError>, TextError> {
    let options = TextOptions { stage: Some(shader.stage), chip: shader.chip.clone(), ..TextOptions::default() };
    // What a linter says of ways that are never gone means nothing.
    let mut out = if has_unreachable(&shader.legal) { Vec::new() } else { isa.lint(&shader.container, &options)? };
    for p in isa.effects(shader)? {
        out.extend(p.check());
    }
    Ok(out)
}
