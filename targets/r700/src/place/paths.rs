//! What a program executes: groups and clauses on its shortest and on its longest path, every loop counted as one round.

use super::Leaf;
use super::sched::Item;
use crate::select::mir::Step;

/// What is executed along a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Instruction groups.
    pub groups: u64,
    /// ALU and fetch clauses.
    pub clauses: u64,
    /// The fetch clauses among them.
    pub fetches: u64,
}

impl Path {
    fn then(self, o: Path) -> Path {
        self.times(1, o)
    }
    /// Behind this path another one, so many times.
    fn times(self, n: u64, o: Path) -> Path {
        let sum = |x: u64, y: u64| (x + n * y).min(MOST);
        Path { groups: sum(self.groups, o.groups), clauses: sum(self.clauses, o.clauses), fetches: sum(self.fetches, o.fetches) }
    }
}

/// Loops within loops multiply without end: more than this is all the same.
const MOST: u64 = 1 << 40;

/// Rounds that a loop is taken to make where nobody knows better.
const ROUNDS: u64 = 4;

/// The work of steps: both arms of branches, loops several times. Fetch clauses count by halves: of two arms a wavefront waits for one,
/// and for the other, too, where its lanes disagree, which is taken to be every second time.
pub fn work<'a>(steps: &[Step], leaves: &mut impl Iterator<Item = &'a Leaf>) -> Path {
    let mut all = Path::default();
    for s in steps {
        all = match s {
            Step::Code(_) => {
                let own = leaves.next().map(straight).unwrap_or_default();
                all.then(Path { fetches: 2 * own.fetches, ..own })
            }
            Step::If { then, other } => {
                let (a, b) = (work(then, leaves), work(other, leaves));
                all.then(Path { fetches: a.fetches.max(b.fetches) + a.fetches.min(b.fetches) / 2, ..a.then(b) })
            }
            Step::Loop(body) => all.times(ROUNDS, work(body, leaves)),
            _ => continue,
        };
    }
    all
}

/// The shortest and the longest path through steps, whose pieces of code come from `leaves` in order.
pub fn paths<'a>(steps: &[Step], leaves: &mut impl Iterator<Item = &'a Leaf>) -> [Path; 2] {
    let mut all = [Path::default(); 2];
    for s in steps {
        let own = match s {
            Step::Code(_) => [leaves.next().map(straight).unwrap_or_default(); 2],
            Step::If { then, other } => {
                let (a, b) = (paths(then, leaves), paths(other, leaves));
                [a[0].min(b[0]), a[1].max(b[1])]
            }
            Step::Loop(body) => paths(body, leaves),
            _ => continue,
        };
        all = [all[0].then(own[0]), all[1].then(own[1])];
    }
    all
}

impl Path {
    fn min(self, o: Path) -> Path {
        if (o.groups, o.clauses) < (self.groups, self.clauses) { o } else { self }
    }
    fn max(self, o: Path) -> Path {
        if (o.groups, o.clauses) > (self.groups, self.clauses) { o } else { self }
    }
}

fn straight(leaf: &Leaf) -> Path {
    let mut p = Path::default();
    let mut open = false;
    for item in &leaf.items {
        let group = matches!(item, Item::Group(_));
        p.groups += group as u64;
        p.fetches += matches!(item, Item::Fetch(_)) as u64;
        p.clauses += (group && !open || matches!(item, Item::Fetch(_))) as u64;
        open = group;
    }
    p
}
