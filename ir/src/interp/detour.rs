//! Runs that go where no inputs lead: at chosen branches the program takes a side that is chosen for it, whatever its condition says.
//!
//! What a place computes is a matter of the values that arrive there, not of the reasons for coming. A [`Detour`] makes `br_if`s take sides, and
//! notes where that is not what the program says, so that other code of the same program can be turned at the same places.

use super::InterpError;
use super::open::open;
use super::ops::Word4;
use crate::analysis::Ranges;
use crate::entities::{Block, FuncId, Value};
use crate::function::Function;
use crate::inst::InstData;
use crate::types::Scalar;
use cranelift_entity::SecondaryMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A `br_if`, by the block that it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch {
    /// The function.
    pub func: FuncId,
    /// The block.
    pub block: Block,
}

/// A place in a run: an invocation comes to a branch for the nth time, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Visit {
    /// Its number: in the environment's list, in a workgroup that of the thread.
    pub invocation: u32,
    /// Where it comes.
    pub branch: Branch,
    /// How often it was there before.
    pub nth: u32,
}

/// How often invocations have come to branches.
#[derive(Clone, Debug, Default)]
pub struct Visits(BTreeMap<(u32, Branch), u32>);

impl Visits {
    /// The visit of an invocation that comes to a branch now.
    pub fn next(&mut self, invocation: u32, branch: Branch) -> Visit {
        let count = self.0.entry((invocation, branch)).or_default();
        let nth = *count;
        *count += 1;
        Visit { invocation, branch, nth }
    }
}

/// Sides that branches take in a run, and where that is not what the program says.
#[derive(Clone, Debug, Default)]
pub struct Detour {
    rules: BTreeMap<Branch, Vec<(Range<u32>, u32)>>,
    visits: Visits,
    turned: BTreeSet<Visit>,
    promised: Option<SecondaryMap<FuncId, Ranges>>,
}

impl Detour {
    /// Makes a branch take a side (0 where the condition holds, 1 where not) on some of the visits of each invocation. A later rule goes
    /// before an earlier one.
    pub fn send(&mut self, branch: Branch, visits: Range<u32>, side: u32) {
        self.rules.entry(branch).or_default().push((visits, side));
    }
    /// Whether no branch is made to take a side.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
    /// The same sides for another run.
    pub fn again(&self) -> Detour {
        Detour { rules: self.rules.clone(), ..Detour::default() }
    }
    /// The same sides for a run that is [open](super::Limits::closed) where an integer has a value that it cannot have, as far as these
    /// ranges know: code that relies on a range is not asked what it does outside.
    pub fn within(&self, promised: SecondaryMap<FuncId, Ranges>) -> Detour {
        Detour { promised: Some(promised), ..self.again() }
    }
    /// Where a run went another way than the program says.
    pub fn turned(&self) -> &BTreeSet<Visit> {
        &self.turned
    }

    /// Whether integers have to keep to their ranges.
    pub(super) fn is_bound(&self) -> bool {
        self.promised.is_some()
    }
    /// The side that an invocation takes which has come to a branch that `says` another, or the same.
    pub(super) fn side(&mut self, invocation: u32, branch: Branch, says: u32) -> u32 {
        let Some(rules) = self.rules.get(&branch) else { return says };
        let visit = self.visits.next(invocation, branch);
        let side = rules.iter().rev().find(|(visits, _)| visits.contains(&visit.nth)).map_or(says, |(_, side)| *side);
        if side != says {
            self.turned.insert(visit);
        }
        side
    }

    /// An error where an operand is out of its range.
    pub(super) fn keeps(&self, at: Branch, f: &Function, d: &InstData, read: &dyn Fn(Value) -> Word4) -> Result<(), InterpError> {
        let Some(ranges) = self.promised.as_ref().and_then(|p| p.get(at.func)) else { return Ok(()) };
        let targets = d.targets.iter().flat_map(|t| &t.args);
        for v in d.args.iter().chain(targets).filter(|v| f.ty(**v).scalar == Scalar::I32) {
            let (range, ty) = (ranges.range_at(*v, at.block), f.ty(*v));
            let mut words = read(*v).into_iter().take(usize::from(ty.lanes));
            if words.any(|w| !(range.lo..=range.hi).contains(&i64::from(w as i32))) {
                return open("an integer has a value that it cannot have");
            }
        }
        Ok(())
    }
}
