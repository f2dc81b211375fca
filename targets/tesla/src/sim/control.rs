//! Warps: the active mask, per-thread states and the divergence stack (sheet 7).

use super::{LANES, Lane, LaneInput, LaneResult, Launch, Program, Step};
use crate::isa::arith::predicate;
use crate::isa::forms::{Cond, Op, field};
use retroshade_lower::{BranchOrder, SimError, Turning};

/// Why a warp stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All of its threads ended.
    End,
    /// It waits for the block.
    Barrier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Branch,
    Call,
    Prebrk,
    Joinat,
    Quadon,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: Kind,
    pc: u32,
    mask: u32,
}

/// State of a thread: running or parked, broke, returned, exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    Ready,
    Broke,
    Returned,
    Exited,
}

/// Entries beyond this are a runaway program, not divergence.
const MAX_STACK: usize = 4096;

/// 32 lanes with one program counter.
#[derive(Debug)]
pub(crate) struct Warp {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) active: u32,
    state: [Thread; LANES],
    stack: Vec<Entry>,
    pc: u32,
    /// The number of the first lane.
    first: u32,
    /// The join of the instruction at `pc` has happened.
    joined: bool,
    ended: bool,
    spent: u64,
}

impl Warp {
    pub(crate) fn new(launch: &Launch, first: u32, inputs: &[LaneInput]) -> Warp {
        let mut lanes: Vec<Lane> = inputs.iter().map(|i| Lane::new(launch, i.clone())).collect();
        let idle = LANES - lanes.len();
        lanes.extend((0..idle).map(|_| Lane::new(launch, LaneInput::default())));
        lanes.iter_mut().zip(0..).for_each(|(l, n)| l.index = n);
        let mut state = [Thread::Ready; LANES];
        state[inputs.len()..].fill(Thread::Exited);
        let active = if inputs.len() >= LANES { u32::MAX } else { (1 << inputs.len()) - 1 };
        Warp { lanes, active, state, stack: Vec::new(), pc: 0, first, joined: false, ended: active == 0, spent: 0 }
    }

    pub(crate) fn finish(self) -> Vec<LaneResult> {
        let result = |mut l: Lane| {
            if !l.strip.is_empty() {
                l.strips.push(std::mem::take(&mut l.strip));
            }
            LaneResult { outputs: l.out, registers: l.r.to_vec(), discarded: l.discarded, strips: l.strips }
        };
        self.lanes.into_iter().map(result).collect()
    }

    /// Runs to the end or to a barrier.
    pub(crate) fn go(&mut self, program: &Program, launch: &mut Launch, shared: &mut [u8]) -> Result<Stop, SimError> {
        while !self.ended {
            self.spent += 1;
            if self.spent > launch.fuel {
                return Err(SimError::OutOfFuel(launch.fuel));
            }
            let step = program.fetch(self.pc)?;
            if self.step(step, launch, shared)? {
                return Ok(Stop::Barrier);
            }
        }
        Ok(Stop::End)
    }

    /// One instruction; whether the warp now waits at a barrier.
    fn step(&mut self, s: &Step, launch: &mut Launch, shared: &mut [u8]) -> Result<bool, SimError> {
        if s.f.end == 2 && !std::mem::take(&mut self.joined) {
            self.pop();
            return Ok(false);
        }
        self.joined = false;
        let mut on = self.predicated(s);
        if matches!(s.op, Op::Bra | Op::Brk | Op::Ret) && s.f.pred != Cond::Always as u64 {
            on ^= self.turned(s.pc, &mut launch.turning);
        }
        let next = s.pc + s.size;
        let target = || s.insn.get(field!(target)) as u32 * 4;
        match s.op {
            Op::Bra => {
                let (taken, rest) = (on, self.active & !on);
                if taken != 0 && rest != 0 {
                    let sides = [(next, rest), (target(), taken)];
                    let first = usize::from(launch.order == BranchOrder::Taken);
                    let (later, mask) = sides[1 - first];
                    self.push(Kind::Branch, later, mask, s.pc)?;
                    (self.pc, self.active) = sides[first];
                } else {
                    self.pc = if taken != 0 { target() } else { next };
                }
                return Ok(false);
            }
            Op::Joinat => self.push(Kind::Joinat, target(), self.active, s.pc)?,
            Op::Prebrk => self.push(Kind::Prebrk, target(), self.active, s.pc)?,
            Op::Preret => self.push(Kind::Call, target(), self.active, s.pc)?,
            Op::Call => {
                self.push(Kind::Call, next, self.active, s.pc)?;
                self.pc = target();
                return Ok(false);
            }
            Op::Brk => {
                if !self.stack.iter().any(|e| e.kind == Kind::Prebrk) {
                    return Err(SimError::Fault { at: s.pc, message: "break without breakaddr".into() });
                }
                return Ok(self.leave(on, Thread::Broke, next));
            }
            Op::Ret => {
                let pending = self.stack.iter().any(|e| e.kind == Kind::Call);
                return Ok(self.leave(on, if pending { Thread::Returned } else { Thread::Exited }, next));
            }
            Op::Quadon => {
                self.push(Kind::Quadon, 0, self.active, s.pc)?;
                self.active = (0..LANES).filter(|l| self.active >> (l & !3) & 15 != 0).fold(0, |m, l| m | 1 << l);
            }
            Op::Quadpop => match self.stack.pop() {
                Some(Entry { kind: Kind::Quadon, mask, .. }) => self.active = mask,
                _ => return Err(SimError::Fault { at: s.pc, message: "quadpop without quadon".into() }),
            },
            Op::Discard => self.each(on, |l| l.discarded = true),
            Op::Bar | Op::BarWarps => {
                if self.stack.iter().any(|e| e.kind == Kind::Branch) {
                    return Err(SimError::Fault { at: s.pc, message: "a barrier where lanes have diverged".into() });
                }
                self.pc = next;
                return Ok(s.insn.get(field!(wait)) != 0);
            }
            Op::Emit => self.each(on, |l| l.strip.push(l.out.clone())),
            Op::Restart => self.each(on, |l| {
                if !l.strip.is_empty() {
                    l.strips.push(std::mem::take(&mut l.strip));
                }
            }),
            Op::Nop | Op::Pmevent => {}
            Op::Trap | Op::Brkpt | Op::BraC => {
                return Err(SimError::Fault { at: s.pc, message: format!("`{}` has no model", s.insn.form().name) });
            }
            _ => self.execute(s, on, launch, shared)?,
        }
        self.pc = next;
        if s.f.end == 1 {
            self.leave(self.active, Thread::Exited, next);
        }
        Ok(false)
    }

    /// Active lanes whose predicate holds.
    fn predicated(&self, s: &Step) -> u32 {
        if s.f.pred == Cond::Always as u64 {
            return self.active;
        }
        // `vote` uses the predicate as its input.
        (0..LANES).filter(|l| self.active >> l & 1 == 1 && predicate(s.f.pred, self.lanes[*l].c[s.f.cc])).fold(0, |m, l| m | 1 << l)
    }

    /// Active lanes that go the other way at a branch.
    fn turned(&self, pc: u32, turning: &mut Turning) -> u32 {
        let lanes = (0..LANES as u32).filter(|l| self.active >> l & 1 == 1);
        lanes.filter(|l| turning.turns(self.first + l, pc)).fold(0, |m, l| m | 1 << l)
    }

    fn each(&mut self, mask: u32, mut f: impl FnMut(&mut Lane)) {
        self.lanes.iter_mut().enumerate().filter(|(l, _)| mask >> l & 1 == 1).for_each(|(_, l)| f(l));
    }

    fn push(&mut self, kind: Kind, pc: u32, mask: u32, at: u32) -> Result<(), SimError> {
        if self.stack.len() >= MAX_STACK {
            return Err(SimError::Fault { at, message: "the divergence stack grows without end".into() });
        }
        self.stack.push(Entry { kind, pc, mask });
        Ok(())
    }

    /// Threads leave the running path; always false (no barrier).
    fn leave(&mut self, who: u32, state: Thread, next: u32) -> bool {
        (0..LANES).filter(|l| who >> l & 1 == 1).for_each(|l| self.state[l] = state);
        self.active &= !who;
        if self.active == 0 {
            self.pop();
        } else {
            self.pc = next;
        }
        false
    }

    fn pop(&mut self) {
        loop {
            let Some(e) = self.stack.pop() else {
                self.ended = true;
                return;
            };
            let mut m = 0;
            for l in (0..LANES).filter(|l| e.mask >> l & 1 == 1) {
                match (e.kind, self.state[l]) {
                    (Kind::Prebrk, Thread::Broke) | (Kind::Call, Thread::Returned) => self.state[l] = Thread::Ready,
                    _ => {}
                }
                if self.state[l] == Thread::Ready {
                    m |= 1 << l;
                }
            }
            if m != 0 {
                self.active = m;
                self.pc = e.pc;
                self.joined = e.kind == Kind::Joinat;
                return;
            }
        }
    }
}
