//! The simulator: executes decoded words on wavefronts of 64 lanes.
//!
//! Control flow (here) follows the state machine of the sheet (active, and inactive by branch, by continue and by break) with a
//! stack of entries; ALU groups (`alu.rs`) read everything before they write, PV and PS hold the previous group's results; fetches
//! (`fetch.rs`) go through the texture functions that the interpreter uses; `memory.rs` has exports, rings and scratch memory.
//! `launch.rs` puts values where a host puts them, `load.rs` does so for a file of the Wii U.

mod alu;
mod fetch;
mod launch;
mod load;
mod memory;

pub use launch::{copied, run, run_in};
pub use load::run_file;

use crate::abi::Abi;
use crate::isa::forms::{Format, cf, cf_alu, exp_buf, field};
use crate::isa::program::{Program, fetch_space};
use crate::isa::word::Word;
use launch::Attribute;
use retroshade_ir::{Module, ShaderEnv};
use retroshade_lower::{SimError, Turning};
use std::collections::BTreeMap;

const LANES: usize = 64;
const FUEL: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    Branch,
    Continue,
    Break,
}

#[derive(Clone, Debug)]
enum Entry {
    Branch(Vec<State>),
    Loop(Vec<State>),
}

impl Entry {
    fn states(&self) -> &[State] {
        match self {
            Entry::Branch(s) | Entry::Loop(s) => s,
        }
    }
}

#[derive(Clone)]
struct Lane {
    gpr: Vec<[u32; 4]>,
    ar: [i32; 4],
    pv: [u32; 4],
    ps: u32,
    pred: bool,
    killed: bool,
    gradients: [[u32; 4]; 2],
    /// The layer that SET_CUBEMAP_INDEX left.
    layer: u32,
    exports: BTreeMap<(u8, u16), [u32; 4]>,
    /// Geometry: the input ring, the output ring, vertices emitted, the open strip and the finished ones.
    ring: Vec<u32>,
    written: BTreeMap<u64, u32>,
    emitted: u32,
    /// Scratch memory, by element.
    scratch: BTreeMap<u64, [u32; 4]>,
    strip: Vec<Vec<Vec<u32>>>,
    strips: Vec<Vec<Vec<Vec<u32>>>>,
}

impl Lane {
    fn new(gpr: Vec<[u32; 4]>, ring: Vec<u32>) -> Lane {
        Lane {
            gpr,
            ring,
            ar: [0; 4],
            pv: [0; 4],
            ps: 0,
            pred: false,
            killed: false,
            gradients: [[0; 4]; 2],
            layer: 0,
            exports: BTreeMap::new(),
            written: BTreeMap::new(),
            emitted: 0,
            scratch: BTreeMap::new(),
            strip: Vec::new(),
            strips: Vec::new(),
        }
    }
}

/// What ELSE and POP do to lanes that have left a loop, or wait for its next round, while a branch is open: the manual can be read
/// both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Nothing.
    #[default]
    LeaveAlone,
    /// They become what they were when the branch was opened.
    Revive,
}

struct Machine<'a> {
    reading: Reading,
    program: &'a Program,
    module: &'a Module,
    abi: &'a Abi,
    env: &'a ShaderEnv,
    buffers: Vec<Vec<u32>>,
    lanes: Vec<Lane>,
    state: Vec<State>,
    stack: Vec<Entry>,
    fuel: u64,
    /// The fetch shader, and the vertex buffers by attribute: bytes of an element, and elements by index.
    fetch: Option<&'a Program>,
    attributes: &'a [Attribute],
    /// Whether a write to scratch memory is on its way.
    unacknowledged: bool,
    /// Which branches are turned, and the number of the first lane, as invocations count.
    turning: Turning<'a>,
    first: u32,
    /// Whether the current instruction leaves killed lanes out (VALID_PIXEL_MODE).
    valid_only: bool,
}

impl Machine<'_> {
    fn fault(&self, at: u32, message: impl Into<String>) -> SimError {
        SimError::Fault { at: at * 8, message: message.into() }
    }

    fn active(&self, lane: usize) -> bool {
        self.state[lane] == State::Active && !(self.valid_only && self.lanes[lane].killed)
    }

    fn any_active(&self) -> bool {
        self.state.contains(&State::Active)
    }

    fn pop(&mut self, n: u64, at: u32) -> Result<(), SimError> {
        for _ in 0..n {
            let e = self.stack.pop().ok_or_else(|| self.fault(at, "the stack is empty"))?;
            for (s, old) in self.state.iter_mut().zip(e.states()) {
                if self.reading == Reading::Revive || !matches!(s, State::Break | State::Continue) {
                    *s = *old;
                }
            }
        }
        Ok(())
    }

    fn loop_entry(&self, at: u32) -> Result<usize, SimError> {
        self.stack.iter().rposition(|e| matches!(e, Entry::Loop(_))).ok_or_else(|| self.fault(at, "no loop is open"))
    }

    /// Instructions without BARRIER need not find the results of those before them, nor these their registers as they were: so
    /// a run of them is executed backwards. Where a barrier is missing, that shows.
    fn execute(&mut self) -> Result<(), SimError> {
        let program = self.program;
        let overlaps = |w: &Word| w.form() == cf_alu::ALU || w.info().format == Format::ExpSwiz || fetch_space(w).is_some();
        let mut pc = 0u32;
        loop {
            let Some(list) = program.cf.get(pc as usize..).filter(|l| !l.is_empty()) else {
                return Err(self.fault(pc, "ran past the control-flow list"));
            };
            let more = list[1..].iter().take_while(|w| w.get(field!(BARRIER)) == 0 && overlaps(w)).count();
            let run = if overlaps(&list[0]) { more as u32 + 1 } else { 1 };
            let mut next = pc;
            for at in (pc..pc + run).rev() {
                next = self.step(at)?;
            }
            if list[..run as usize].iter().any(|w| w.get(field!(END_OF_PROGRAM)) == 1) {
                return Ok(());
            }
            pc = if run > 1 { pc + run } else { next };
        }
    }

    /// Executes one control-flow instruction; gives the address of the one to go on with.
    fn step(&mut self, at: u32) -> Result<u32, SimError> {
        let w = &self.program.cf[at as usize];
        self.fuel = self.fuel.checked_sub(1).ok_or(SimError::OutOfFuel(FUEL))?;
        let addr = w.get(field!(ADDR)) as u32;
        let mut pc = at + 1;
        match w.info().format {
            Format::CfAlu => {
                let push = w.form() == cf_alu::ALU_PUSH_BEFORE;
                if push {
                    self.stack.push(Entry::Branch(self.state.clone()));
                }
                let before = self.state.clone();
                if self.any_active() {
                    self.alu_clause(w, addr)?;
                }
                let leave = match w.form() {
                    cf_alu::ALU_BREAK => Some(State::Break),
                    cf_alu::ALU_CONTINUE => Some(State::Continue),
                    _ => None,
                };
                if let Some(to) = leave {
                    for (s, b) in self.state.iter_mut().zip(&before) {
                        if *b == State::Active && *s == State::Branch {
                            *s = to;
                        }
                    }
                }
                match w.form() {
                    cf_alu::ALU_POP_AFTER => self.pop(1, at)?,
                    cf_alu::ALU_POP2_AFTER => self.pop(2, at)?,
                    cf_alu::ALU_ELSE_AFTER => return Err(self.fault(at, "ALU_ELSE_AFTER is not modelled")),
                    _ => {}
                }
            }
            Format::ExpSwiz => self.export(w),
            Format::ExpBuf if w.form() == exp_buf::MEM_RING => self.ring_write(w),
            Format::ExpBuf if w.form() == exp_buf::MEM_SCRATCH => self.scratch_write(w),
            Format::ExpBuf => return Err(self.fault(at, format!("{} is not modelled", w.name()))),
            _ => match w.form() {
                cf::NOP => {}
                cf::CALL_FS => self.call_fetch()?,
                cf::WAIT_ACK => self.unacknowledged = false,
                cf::TEX | cf::VTX | cf::VTX_TC => {
                    if self.any_active() {
                        self.valid_only = w.get(field!(VALID_PIXEL_MODE)) == 1;
                        self.fetch_clause(self.program, addr)?;
                        self.valid_only = false;
                    }
                }
                cf::EMIT_VERTEX => self.emit_vertex(),
                cf::CUT_VERTEX => {
                    for lane in 0..self.lanes.len() {
                        let l = &mut self.lanes[lane];
                        if self.state[lane] == State::Active && !l.strip.is_empty() {
                            let strip = std::mem::take(&mut l.strip);
                            l.strips.push(strip);
                        }
                    }
                }
                cf::PUSH => {
                    if self.any_active() {
                        self.stack.push(Entry::Branch(self.state.clone()));
                    } else {
                        self.pop(w.get(field!(POP_COUNT)), at)?;
                        pc = addr;
                    }
                }
                cf::JUMP => {
                    if !self.any_active() {
                        self.pop(w.get(field!(POP_COUNT)), at)?;
                        pc = addr;
                    }
                }
                cf::ELSE => {
                    let top = self.stack.last().ok_or_else(|| self.fault(at, "the stack is empty"))?.clone();
                    for (s, e) in self.state.iter_mut().zip(top.states()) {
                        if *e == State::Active {
                            *s = match *s {
                                State::Active => State::Branch,
                                State::Branch => State::Active,
                                _ if self.reading == Reading::Revive => State::Active,
                                other => other,
                            };
                        }
                    }
                    if !self.any_active() {
                        self.pop(w.get(field!(POP_COUNT)), at)?;
                        pc = addr;
                    }
                }
                cf::POP => self.pop(w.get(field!(POP_COUNT)), at)?,
                cf::LOOP_START_DX10 => {
                    if self.any_active() {
                        self.stack.push(Entry::Loop(self.state.clone()));
                    } else {
                        self.pop(w.get(field!(POP_COUNT)), at)?;
                        pc = addr;
                    }
                }
                cf::LOOP_BREAK | cf::LOOP_CONTINUE => {
                    let to = if w.form() == cf::LOOP_BREAK { State::Break } else { State::Continue };
                    self.state.iter_mut().filter(|s| **s == State::Active).for_each(|s| *s = to);
                    // The jump is taken only when no lane of the loop is left that could still run.
                    let k = self.loop_entry(at)?;
                    let done = self.stack[k]
                        .states()
                        .iter()
                        .zip(&self.state)
                        .all(|(e, s)| *e != State::Active || matches!(s, State::Break | State::Continue));
                    if done {
                        self.stack.truncate(k + 1);
                        pc = addr;
                    }
                }
                cf::LOOP_END => {
                    let k = self.loop_entry(at)?;
                    if k + 1 != self.stack.len() {
                        return Err(self.fault(at, "a branch is still open at the end of a loop"));
                    }
                    let entry = self.stack[k].clone();
                    for (s, e) in self.state.iter_mut().zip(entry.states()) {
                        if *s == State::Continue && *e == State::Active {
                            *s = State::Active;
                        }
                    }
                    if self.any_active() {
                        pc = addr;
                    } else {
                        self.state.copy_from_slice(entry.states());
                        self.stack.pop();
                    }
                }
                _ => return Err(self.fault(at, format!("{} is not modelled", w.name()))),
            },
        }
        Ok(pc)
    }
}
