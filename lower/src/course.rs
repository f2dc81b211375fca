//! How a run on a simulator goes where the code alone does not decide it: the order of sides on which lanes disagree, and branches that are
//! turned, so that places are seen to which no inputs lead.

use retroshade_ir::interp::{Branch, Visit, Visits};
use std::collections::{BTreeMap, BTreeSet};

/// Which side of a branch runs first where the lanes of a warp disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BranchOrder {
    /// Lanes that go on with the next instruction.
    #[default]
    Next,
    /// Lanes that take the branch.
    Taken,
}

/// The way that a run takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Course<'a> {
    /// Which side runs first.
    pub order: BranchOrder,
    /// Where branches go the other way.
    pub turns: Option<&'a Turns>,
}

impl Course<'_> {
    /// One that turns nothing.
    pub fn in_order(order: BranchOrder) -> Course<'static> {
        Course { order, turns: None }
    }
}

impl<'a> Course<'a> {
    /// What tells a run that now begins where to turn.
    pub fn turning(self) -> Turning<'a> {
        Turning { turns: self.turns, visits: Visits::default() }
    }
}

/// Places at which the code goes the other way than it says itself.
#[derive(Clone, Debug)]
pub struct Turns {
    branches: BTreeMap<u32, Branch>,
    visits: BTreeSet<Visit>,
}

impl Turns {
    /// Those of some visits, of code with these branches ([`CompiledShader::branches`](crate::CompiledShader::branches)).
    pub fn new(branches: &[(u32, Branch)], visits: &BTreeSet<Visit>) -> Turns {
        Turns { branches: branches.iter().copied().collect(), visits: visits.clone() }
    }
}

/// Follows a run and turns its branches.
#[derive(Clone, Debug, Default)]
pub struct Turning<'a> {
    turns: Option<&'a Turns>,
    visits: Visits,
}

impl Turning<'_> {
    /// Whether an invocation goes the other way that now decides at byte `at` of the code where to go. It is to be asked whenever an
    /// invocation comes there, once.
    pub fn turns(&mut self, invocation: u32, at: u32) -> bool {
        let Some(turns) = self.turns else { return false };
        let Some(branch) = turns.branches.get(&at) else { return false };
        turns.visits.contains(&self.visits.next(invocation, *branch))
    }
}
