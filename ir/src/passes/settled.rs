//! What a pass need not look at again: instructions that it left as they were, where nothing that it looks at has changed since.
//!
//! A pass of local rewrites looks at an instruction, at what makes its operands, at what makes theirs, and so on for a few steps. Of each
//! instruction it remembers a print: what the instruction was when the pass saw it last. Where the prints of an instruction and of all that
//! is so near are what they were, the pass would leave it as it is once more. Passes in between need not say what they change.

use super::rewrite::{Choice, Outcome};
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::inst::InstData;
use crate::types::Type;
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

/// What an instruction is: its operation and data, its operands and their types, to which `each` operand is shown.
#[inline]
pub(crate) fn content(d: &InstData, ty: Type, mut each: impl FnMut(Value) -> Type) -> u64 {
    let mut h = FxHasher::default();
    h.write_u32(u32::from_le_bytes([d.op as u8, ty.scalar as u8, ty.lanes, d.precise.into()]));
    for v in &d.args {
        let ty = each(*v);
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
    /// Remembers in the place of an instruction, which was `was`, the one that is numbered next and is `is`: the same in other numbers.
    pub(crate) fn renumber(&mut self, old: &Memory, number: Inst, was: u64, is: u64) {
        for (new, old) in self.0.iter_mut().zip(&old.0).filter(|(_, old)| !old.of.is_empty()) {
            let known = old.of.get(number.index()).copied().unwrap_or(0);
            let shared = [false, true].into_iter().find(|shared| print(was, *shared) == known & !LEFT);
            new.of.push(shared.map_or(0, |shared| print(is, shared) | known & LEFT));
            new.under = old.under;
        }
    }
}

/// No change is so near that it matters.
const FAR: u8 = u8::MAX - 1;

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
    /// An instruction's print, and how many steps back from it something changed in what makes its operands.
    #[inline]
    fn look(&self, func: &Function, d: &InstData, result: Value) -> (u64, u8) {
        let mut near = FAR;
        let content = content(d, func.ty(result), |v| {
            // What the pass itself made is new.
            let made = self.near.get(v.index()).copied().unwrap_or(0);
            near = near.min(made + 1);
            func.ty(v)
        });
        (print(content, self.uses[result] > 1), near)
    }
}

impl Choice for Unsettled<'_> {
    fn asks(&mut self, func: &Function, i: Inst) -> bool {
        let d = &func.insts[i];
        let [result] = d.results[..] else { return false };
        let (now, mut near) = self.look(func, d, result);
        let was = self.prints.of[i.index()];
        if was & !LEFT != now {
            near = 0;
        }
        self.near[result.index()] = near;
        if d.args.is_empty() {
            // Nothing becomes of these by themselves.
            self.prints.of[i.index()] = now;
            return false;
        }
        self.now = now;
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
                    self.prints.of[i.index()] = self.look(func, d, result).0;
                    self.near[result.index()] = 0;
                }
            }
            Outcome::Gone => {}
        }
    }
}
