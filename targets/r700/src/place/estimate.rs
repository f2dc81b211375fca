//! What code will cost once it has registers, as its schedule tells: enough to drop a way that is no better than another one.

use super::Leaf;
use super::paths::work;
use super::sched::{FETCH_COST, GROUP_COST, Item};
use crate::select::mir::Step;

/// Bytes of one slot, of a control-flow instruction and of a fetch.
const SLOT: u64 = 8;
const FETCH: u64 = 16;
/// By how much an estimate may be wrong: moves that change nothing go only when registers are known.
const SLACK: u64 = 16;

/// Bytes of the clauses, and what these bytes and what they execute are worth together. Exports and what steers clauses are not counted:
/// they are the same in ways that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    bytes: u64,
    cost: u64,
}

impl Estimate {
    /// The estimate of scheduled code.
    pub fn of(steps: &[Step], leaves: &[Leaf]) -> Estimate {
        let mut bytes = 0;
        for leaf in leaves {
            let mut open = false;
            for item in &leaf.items {
                let begins = std::mem::replace(&mut open, matches!(item, Item::Group(_))) != open && open;
                bytes += match item {
                    Item::Group(g) => SLOT * (g.slots.len() + g.literals.len().div_ceil(2)) as u64,
                    Item::Fetch(list) => SLOT + FETCH * list.len() as u64,
                    Item::Cut | Item::Control(_) => 0,
                };
                bytes += SLOT * u64::from(begins);
            }
        }
        let done = work(steps, &mut leaves.iter());
        Estimate { bytes, cost: bytes + GROUP_COST * done.groups + FETCH_COST * done.fetches / 2 }
    }

    /// Whether code is surely no better than other code.
    pub fn no_better_than(self, other: Estimate) -> bool {
        self.bytes >= other.bytes && self.cost >= other.cost + SLACK
    }
}
