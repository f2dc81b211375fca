//! What a program executes: groups and clauses on its shortest and on its longest path. Loops whose own constants say how often they come
//! round do so on both (where something else leaves such a loop, too, the shortest path leaves it there); the shortest path leaves another
//! loop at its first exit, the longest one goes round once.

use super::Leaf;
use super::sched::Item;
use crate::select::mir::{Step, Trips};

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
            Step::Loop(body, _) => all.times(ROUNDS, work(body, leaves)),
            _ => continue,
        };
    }
    all
}

/// The shortest and the longest path through steps, whose pieces of code come from `leaves` in order.
pub fn paths<'a>(steps: &[Step], leaves: &mut impl Iterator<Item = &'a Leaf>, trips: &Trips) -> [Path; 2] {
    ways(steps, leaves, trips).through
}

/// The ways through steps.
struct Ways {
    /// The shortest and the longest one to their end.
    through: [Path; 2],
    /// The shortest and the longest one out of the loop around them, if one leaves it.
    out: Option<[Path; 2]>,
}

fn ways<'a>(steps: &[Step], leaves: &mut impl Iterator<Item = &'a Leaf>, trips: &Trips) -> Ways {
    let mut all = Ways { through: [Path::default(); 2], out: None };
    for s in steps {
        let (own, out) = match s {
            Step::Code(_) => ([leaves.next().map(straight).unwrap_or_default(); 2], None),
            Step::If { then, other } => {
                let (a, b) = (ways(then, leaves, trips), ways(other, leaves, trips));
                let [x, y] = [0, 1].map(|n| (a.through[n], b.through[n]));
                ([x.0.min(x.1), y.0.max(y.1)], either(a.out, b.out))
            }
            Step::Loop(body, header) => {
                let body = ways(body, leaves, trips);
                let out = body.out.unwrap_or(body.through);
                let [shortest, longest] = [0, 1].map(|n| {
                    let (round, last) = (body.through[n], out[n]);
                    move |rounds: u64| Path::default().times(rounds, round).then(last)
                });
                let both = match trips.get(header) {
                    Some((rounds, true)) => [shortest(*rounds), longest(*rounds)],
                    Some((rounds, false)) => [out[0], longest(*rounds)],
                    None => [out[0], body.through[1]],
                };
                (both, None)
            }
            Step::Break | Step::BreakUnless => ([Path::default(); 2], Some([Path::default(); 2])),
            Step::Continue | Step::ContinueUnless => continue,
        };
        all.out = either(all.out, out.map(|o| [0, 1].map(|n| all.through[n].then(o[n]))));
        all.through = [0, 1].map(|n| all.through[n].then(own[n]));
    }
    all
}

fn either(a: Option<[Path; 2]>, b: Option<[Path; 2]>) -> Option<[Path; 2]> {
    match (a, b) {
        (Some(a), Some(b)) => Some([a[0].min(b[0]), a[1].max(b[1])]),
        (a, b) => a.or(b),
    }
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
