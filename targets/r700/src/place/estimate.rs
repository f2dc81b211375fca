//! What code will cost once it has registers, as its schedule tells: enough to drop a way that is no better than another one.

use super::Leaf;
use super::paths::work;
use super::sched::{FETCH_COST, GROUP_COST, Item};
use crate::select::mir::Step;

/// Bytes of a slot, of a pair of literals and of a control-flow instruction.
const WORD: u64 = 8;
/// Bytes of a fetch.
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
            let mut inside = false;
            for item in &leaf.items {
                let group = matches!(item, Item::Group(_));
                // The instruction that starts a clause.
                bytes += WORD * u64::from(group && !inside || matches!(item, Item::Fetch(_)));
                bytes += match item {
                    Item::Group(g) => WORD * (g.slots.len() + g.literals.len().div_ceil(2)) as u64,
                    Item::Fetch(list) => FETCH * list.len() as u64,
                    Item::Cut | Item::Control(_) => 0,
                };
                inside = group;
            }
        }
        let done = work(steps, &mut leaves.iter());
        Estimate { bytes, cost: bytes + GROUP_COST * done.groups + FETCH_COST * done.fetches / 2 }
    }

    /// What bytes and what they execute are worth.
    pub const fn cost(self) -> u64 {
        self.cost
    }

    /// What they execute alone.
    const fn executed(self) -> u64 {
        self.cost - self.bytes
    }

    /// Whether code is surely no better than other code.
    pub fn no_better_than(self, other: Estimate) -> bool {
        self.bytes >= other.bytes && self.cost >= other.cost + SLACK
    }
}

/// Code that other code must be better than.
#[derive(Clone, Copy, Debug)]
pub struct Rival {
    /// What it costs.
    pub estimate: Estimate,
    /// Whether other code must not execute more, however few bytes it has.
    pub no_dearer: bool,
}

impl Rival {
    /// Whether other code is surely not wanted.
    pub fn beats(self, other: Estimate) -> bool {
        other.no_better_than(self.estimate) || self.no_dearer && other.executed() > self.estimate.executed()
    }
}

impl From<Estimate> for Rival {
    fn from(estimate: Estimate) -> Rival {
        Rival { estimate, no_dearer: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::sched::Group;

    fn estimate(items: Vec<Item>) -> Estimate {
        Estimate::of(&[Step::Code(Vec::new())], &[Leaf { items, ..Leaf::default() }])
    }
    fn group(literals: &[u32]) -> Item {
        Item::Group(Group { slots: Vec::new(), literals: literals.into() })
    }

    #[test]
    fn clauses_count_once_and_literals_by_pairs() {
        let plain = estimate(vec![group(&[]), group(&[])]);
        assert_eq!(plain, Estimate { bytes: 8, cost: 8 + 2 * GROUP_COST });
        assert_eq!(estimate(vec![group(&[]), Item::Cut, group(&[1, 2, 3])]).bytes, 2 * 8 + 2 * 8);
        let fetch = estimate(vec![group(&[]), Item::Fetch(vec![0, 1]), group(&[])]);
        assert_eq!(fetch, Estimate { bytes: 3 * 8 + 2 * 16, cost: 3 * 8 + 2 * 16 + 2 * GROUP_COST + FETCH_COST });
    }

    #[test]
    fn only_what_is_larger_and_dearer_is_surely_no_better() {
        let at = |bytes, cost| Estimate { bytes, cost };
        assert!(at(100, 200 + SLACK).no_better_than(at(100, 200)));
        assert!(!at(100, 199 + SLACK).no_better_than(at(100, 200)));
        assert!(!at(92, 300).no_better_than(at(100, 200)), "smaller code may weigh more than what it executes");
        assert!(!Rival::from(at(100, 200)).beats(at(92, 300)));
        assert!(Rival { estimate: at(100, 200), no_dearer: true }.beats(at(92, 193)), "unless it must not execute more");
        assert!(!Rival { estimate: at(100, 200), no_dearer: true }.beats(at(92, 192)));
    }
}
