//! What a pass need not look at again: instructions that it left as they were, where nothing that it looks at has changed since.
//!
//! A pass of local rewrites looks at an instruction, at what makes its operands, at what makes theirs, and so on for a few steps. Of each
//! instruction it remembers a print: what the instruction was when the pass saw it last. Where the prints of an instruction and of all that
//! is so near are what they were, the pass would leave it as it is once more. Passes in between need not say what they change.

use super::rewrite::{Choice, Outcome};
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::inst::InstData;
use cranelift_entity::{EntityRef, SecondaryMap};
use rustc_hash::FxHasher;
use std::cell::Cell;
use std::hash::Hasher;

/// Passes that remember.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rememberer {
    /// Exact algebra.
    Simplify,
    /// Algebra that is not exact.
    Relax,
}

/// What passes remember of a function; it goes with the function's copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory([Prints; 2]);

/// What one pass remembers.
#[derive(Clone, Debug, Default)]
struct Prints {
    /// The options that it ran under: under other ones it might do something else.
    under: (&'static str, bool),
    /// By instruction: its print; whether it was left as it was is in the lowest bit.
    of: Vec<u64>,
}

/// The bit of a print that says whether the instruction was left as it was.
const LEFT: u64 = 1;

/// A print of what an instruction is, and of whether its result is used more than once.
fn print(content: u64, shared: bool) -> u64 {
    (if shared { !content } else { content }) & !LEFT
}

/// What an instruction is: its operation and data, its operands and their types.
pub(crate) fn content(func: &Function, d: &InstData, result: Value) -> u64 {
    let mut h = FxHasher::default();
    let ty = func.ty(result);
    h.write_u32(u32::from_le_bytes([d.op as u8, ty.scalar as u8, ty.lanes, d.precise.into()]));
    for v in &d.args {
        let ty = func.ty(*v);
        h.write_u64(u64::from(v.as_u32()) << 16 | u64::from(u16::from_le_bytes([ty.scalar as u8, ty.lanes])));
    }
    d.imm.add_to(&mut h);
    h.finish()
}

impl Memory {
    /// Forgets everything.
    #[cfg(test)]
    pub(crate) fn clear(&mut self) {
        *self = Memory::default();
    }
    /// How many instructions were left as they were.
    #[cfg(test)]
    pub(crate) fn settled(&self) -> usize {
        self.0.iter().flat_map(|p| &p.of).filter(|p| **p & LEFT == LEFT).count()
    }
    /// Whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|p| p.of.is_empty())
    }
    /// What is remembered when a function is numbered anew: `was` tells what each instruction was in the old numbers, `is` in the new ones, in
    /// the order of the new ones and by its old number.
    pub(crate) fn renumbered(&self, was: &[(Inst, u64)], is: &[u64]) -> Memory {
        let of = |prints: &Prints| {
            let renumbered = |((old, was), is): (&(Inst, u64), &u64)| {
                let known = prints.of.get(old.index()).copied().unwrap_or(0);
                let shared = [false, true].into_iter().find(|shared| print(*was, *shared) == known & !LEFT);
                shared.map_or(0, |shared| print(*is, shared) | known & LEFT)
            };
            Prints { under: prints.under, of: was.iter().zip(is).map(renumbered).collect() }
        };
        Memory(self.0.each_ref().map(of))
    }
}

/// No change is so near that it matters.
const FAR: u8 = u8::MAX;

/// The instructions that a pass has to look at.
pub(crate) struct Unsettled<'a> {
    prints: Prints,
    who: Rememberer,
    uses: &'a SecondaryMap<Value, u32>,
    /// How many steps the pass looks from an instruction to what makes its operands.
    depth: u8,
    /// Set while an instruction is looked at, if the pass looked further than that.
    beyond: &'a Cell<bool>,
    /// By value: how many steps back something changed.
    near: Vec<u8>,
    /// The print of the instruction that is looked at.
    now: u64,
}

impl<'a> Unsettled<'a> {
    /// Of a function whose values are used so often: for a pass with such options, which looks `depth` steps far unless it says `beyond`.
    pub(crate) fn new(
        func: &mut Function,
        who: Rememberer,
        under: (&'static str, bool),
        uses: &'a SecondaryMap<Value, u32>,
        depth: u8,
        beyond: &'a Cell<bool>,
    ) -> Unsettled<'a> {
        let mut prints = std::mem::take(&mut func.memory.0[who as usize]);
        if prints.under != under {
            prints = Prints { under, of: Vec::new() };
        }
        prints.of.resize(func.insts.len(), 0);
        // What no instruction makes does not change.
        Unsettled { prints, who, uses, depth, beyond, near: vec![FAR; func.values.len()], now: 0 }
    }
    /// Lets the function keep what is known for the next run.
    pub(crate) fn remember(self, func: &mut Function) {
        func.memory.0[self.who as usize] = self.prints;
    }
    fn print(&self, func: &Function, d: &InstData, result: Value) -> u64 {
        print(content(func, d, result), self.uses[result] > 1)
    }
}

impl Choice for Unsettled<'_> {
    fn asks(&mut self, func: &Function, i: Inst) -> bool {
        let d = &func.insts[i];
        let [result] = d.results[..] else { return false };
        self.now = self.print(func, d, result);
        let was = self.prints.of[i.index()];
        let mut near = if was & !LEFT == self.now { FAR } else { 0 };
        for v in &d.args {
            // What the pass itself made is new.
            let made = self.near.get(v.index()).copied().unwrap_or(0);
            near = near.min(made.saturating_add(1));
        }
        self.near[result.index()] = near;
        self.beyond.set(false);
        was & LEFT == 0 || near <= self.depth
    }
    fn saw(&mut self, func: &Function, i: Inst, outcome: Outcome) {
        match outcome {
            Outcome::Left => self.prints.of[i.index()] = self.now | if self.beyond.get() { 0 } else { LEFT },
            Outcome::Open => self.prints.of[i.index()] = self.now,
            Outcome::Changed => {
                let d = &func.insts[i];
                if let [result] = d.results[..] {
                    self.prints.of[i.index()] = self.print(func, d, result);
                    self.near[result.index()] = 0;
                }
            }
            Outcome::Gone => {}
        }
    }
}
