//! Lane placement: units of one or more lanes into banks of registers, first fit in the order given.
//!
//! ```text
//!   bank r      lane 0   1   2   3        a unit: members that share a register (quads, webs of one operand)
//!   r0          a.0 a.1  ·   b            or follow each other (vectors of 32-bit registers),
//!   r1          c   c    c   c            in fixed lanes or in any
//! ```
//!
//! For each unit the places are tried in this order: the fixed one; those near other units that would make a copy vanish; the
//! register of the unit that is made alike; then every register of the banks it may search. The first where all members are
//! free at all times at which they live is taken. A bank that is too small is overrun for the moment, so that an error can
//! say how many registers *this* allocation needs.

use crate::error::AllocError;
use crate::flow::{Flow, ValueSet};
use crate::judge;
use crate::ranges::{Occupancy, Ranges};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Registers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bank {
    /// Name for messages.
    pub name: &'static str,
    /// How many there are.
    pub registers: u32,
    /// Lanes of each.
    pub lanes: u8,
}

/// Where a member of a unit may be within its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// In this lane.
    At(u8),
    /// In any; this one is tried first.
    Any(u8),
}

/// A value in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The value.
    pub value: u32,
    /// How many registers behind the unit's first.
    pub register: u32,
    /// Which lane.
    pub lane: Lane,
}

/// Where a unit looks for a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Registers of a bank that have been used before: they cost nothing.
    Opened(u8),
    /// All registers of a bank.
    Whole(u8),
}

impl Search {
    /// The bank.
    pub fn bank(self) -> u8 {
        match self {
            Search::Opened(b) | Search::Whole(b) => b,
        }
    }
}

/// How a unit must not lie to another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// The other unit.
    pub unit: usize,
    /// How many registers behind its first one, in banks of one lane a register.
    pub distances: Vec<i32>,
    /// Not in the same register, in banks of several lanes.
    pub register: bool,
}

/// Members that are placed together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// The members.
    pub members: SmallVec<[Member; 4]>,
    /// Bank and register, where that is settled.
    pub fixed: Option<(u8, u32)>,
    /// The first register is a multiple of this; 0 counts as 1.
    pub step: u32,
    /// Where to look, in order.
    pub search: SmallVec<[Search; 3]>,
    /// Units placed before, and how many registers behind them a copy would vanish.
    pub near: Vec<(usize, i32)>,
    /// Banks in which such a place is welcome, one bit each.
    pub near_banks: u8,
    /// Units that must not be touched in part, because the operation reads them while it writes this one.
    pub apart: Vec<Apart>,
    /// Units with the same number like the same register.
    pub alike: Option<u64>,
}

/// Which values cannot share a place.
pub enum Conflicts<'a> {
    /// Those that live at the same time.
    Ranges(Rc<[Ranges]>),
    /// Those that a graph joins.
    Graph(&'a [ValueSet]),
}

/// What is to be placed.
pub struct Problem<'a> {
    /// The banks.
    pub banks: Vec<Bank>,
    /// The units in the order in which they are placed.
    pub units: Vec<Unit>,
    /// Which values exclude each other.
    pub conflicts: Conflicts<'a>,
    /// How many values there are.
    pub values: usize,
}

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Bank.
    pub bank: u8,
    /// Register; the first one of a value that takes several.
    pub register: u32,
    /// Lane.
    pub lane: u8,
}

/// Where everything is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Bank and first register of each unit.
    pub units: Vec<(u8, u32)>,
    /// Place of each value that is in a unit.
    pub values: Vec<Option<Place>>,
    /// Registers in use of each bank: one past the highest.
    pub used: Vec<u32>,
}

/// Steps that the search for lanes within one register may take.
const LANE_STEPS: u32 = 500;

/// Places all units.
pub fn place(p: &Problem) -> Result<Placement, AllocError> {
    let mut s = State {
        p,
        taken: p.banks.iter().map(|_| Taken::new(&p.conflicts)).collect(),
        out: Placement { units: Vec::with_capacity(p.units.len()), values: vec![None; p.values], used: vec![0; p.banks.len()] },
        alike: BTreeMap::new(),
        overrun: None,
        until: None,
    };
    for (n, u) in p.units.iter().enumerate() {
        s.unit(n, u)?;
    }
    match s.overrun {
        None => Ok(s.out),
        Some((bank, unit)) => {
            let b = p.banks[bank as usize];
            let value = p.units[unit].members.first().map_or(0, |m| m.value);
            Err(AllocError::Registers {
                bank: b.name,
                needed: s.out.used[bank as usize],
                available: b.registers,
                value,
                until: s.until,
                live: p.conflicts.with(value, p.values),
            })
        }
    }
}

impl Conflicts<'_> {
    fn between(&self, a: u32, b: u32) -> bool {
        match self {
            Conflicts::Ranges(r) => r[a as usize].overlaps(&r[b as usize]),
            Conflicts::Graph(g) => g[a as usize].contains(b as usize),
        }
    }
    /// The values that live when `value` begins to.
    fn with(&self, value: u32, values: usize) -> Vec<u32> {
        let at = match self {
            Conflicts::Ranges(r) => r[value as usize].start(),
            Conflicts::Graph(_) => None,
        };
        let lives = |v: u32| match (self, at) {
            (Conflicts::Ranges(r), Some(at)) => r[v as usize].contains(at),
            _ => self.between(value, v),
        };
        (0..values as u32).filter(|v| *v == value || lives(*v)).collect()
    }
}

/// What is in a bank so far, by number of the lane.
enum Taken {
    Times(Occupancy),
    Values(Vec<ValueSet>),
}

impl Taken {
    fn new(c: &Conflicts<'_>) -> Taken {
        match c {
            Conflicts::Ranges(_) => Taken::Times(Occupancy::new()),
            Conflicts::Graph(_) => Taken::Values(Vec::new()),
        }
    }
    fn is_free(&self, lane: usize, value: u32, c: &Conflicts<'_>) -> bool {
        match (self, c) {
            (Taken::Times(o), Conflicts::Ranges(r)) => o.is_free(lane, &r[value as usize]),
            (Taken::Values(v), Conflicts::Graph(g)) => v.get(lane).is_none_or(|l| g[value as usize].is_disjoint(l)),
            _ => false,
        }
    }
    fn take(&mut self, lane: usize, value: u32, c: &Conflicts<'_>) {
        match (self, c) {
            (Taken::Times(o), Conflicts::Ranges(r)) => o.take(lane, &r[value as usize]),
            (Taken::Values(v), _) => {
                if v.len() <= lane {
                    v.resize(lane + 1, ValueSet::new());
                }
                v[lane].grow_and_insert(value as usize);
            }
            _ => {}
        }
    }
}

type Lanes = SmallVec<[u8; 4]>;

struct State<'a> {
    p: &'a Problem<'a>,
    taken: Vec<Taken>,
    out: Placement,
    /// Where the first of those that are alike went.
    alike: BTreeMap<u64, (u8, u32)>,
    /// The first unit that found no place, and the bank that was overrun for it.
    overrun: Option<(u8, usize)>,
    /// How long that unit would have found a place.
    until: Option<u32>,
}

impl State<'_> {
    fn unit(&mut self, n: usize, u: &Unit) -> Result<(), AllocError> {
        self.consistent(u)?;
        let found = match u.fixed {
            Some(at) => Some((at, self.lanes(u, at, true).ok_or_else(|| together(u))?)),
            None => self.candidates(u),
        };
        let (at, lanes) = match found {
            Some(f) => f,
            None => self.beyond(n, u)?,
        };
        let bank = self.p.banks[at.0 as usize];
        for (m, lane) in u.members.iter().zip(lanes) {
            let register = at.1 + m.register;
            self.taken[at.0 as usize].take((register * bank.lanes as u32 + lane as u32) as usize, m.value, &self.p.conflicts);
            let place = &mut self.out.values[m.value as usize];
            place.get_or_insert(Place { bank: at.0, register, lane });
            let used = &mut self.out.used[at.0 as usize];
            *used = (*used).max(register + 1);
        }
        if let Some(k) = u.alike {
            self.alike.entry(k).or_insert(at);
        }
        self.out.units.push(at);
        Ok(())
    }

    /// Two members in one lane of one register must never live together.
    fn consistent(&self, u: &Unit) -> Result<(), AllocError> {
        for (n, a) in u.members.iter().enumerate() {
            let clash = |b: &Member| {
                a.value != b.value
                    && a.register == b.register
                    && matches!((a.lane, b.lane), (Lane::At(x), Lane::At(y)) if x == y)
                    && self.p.conflicts.between(a.value, b.value)
            };
            if u.members[..n].iter().any(clash) {
                return Err(together(u));
            }
        }
        Ok(())
    }

    /// The first place that fits, in the order of preference.
    fn candidates(&self, u: &Unit) -> Option<((u8, u32), Lanes)> {
        let step = u.step.max(1);
        let height = u.members.iter().map(|m| m.register + 1).max().unwrap_or(1);
        let fits = |bank: u8, register: u32| {
            let inside = register + height <= self.p.banks[bank as usize].registers && register.is_multiple_of(step);
            inside.then(|| self.lanes(u, (bank, register), false)).flatten().map(|l| ((bank, register), l))
        };
        let near = u.near.iter().filter_map(|(other, distance)| {
            let (bank, register) = *self.out.units.get(*other)?;
            (u.near_banks >> bank & 1 == 1).then_some(())?;
            fits(bank, register.checked_add_signed(*distance)?)
        });
        let alike = u.alike.and_then(|k| self.alike.get(&k)).and_then(|(b, r)| fits(*b, *r));
        let searched = u.search.iter().flat_map(|s| {
            let bank = s.bank();
            let end = match s {
                Search::Opened(_) => self.out.used[bank as usize],
                Search::Whole(_) => self.p.banks[bank as usize].registers,
            };
            (0..end).step_by(step as usize).filter_map(move |r| fits(bank, r))
        });
        near.chain(alike).chain(searched).next()
    }

    /// Lanes for all members at a place, if they are free there. Units with settled places may share them.
    fn lanes(&self, u: &Unit, at: (u8, u32), settled: bool) -> Option<Lanes> {
        if !settled && !self.apart(u, at) {
            return None;
        }
        if u.members.iter().any(|m| matches!(m.lane, Lane::At(l) if !self.is_free(at, m, l))) {
            return None;
        }
        let (mut lanes, mut open): (Lanes, SmallVec<[usize; 4]>) = Default::default();
        for (k, m) in u.members.iter().enumerate() {
            match m.lane {
                Lane::At(l) => lanes.push(l),
                Lane::Any(_) => {
                    lanes.push(u8::MAX);
                    open.push(k);
                }
            }
        }
        if open.is_empty() {
            return Some(lanes);
        }
        // Those with the most rivals first.
        let rivals = |k: &usize| u.members.iter().filter(|m| self.p.conflicts.between(u.members[*k].value, m.value)).count();
        open.sort_by_key(|k| std::cmp::Reverse(rivals(k)));
        self.assign(u, at, &open, &mut lanes, &mut LANE_STEPS.clone()).then_some(lanes)
    }

    fn is_free(&self, (bank, register): (u8, u32), m: &Member, lane: u8) -> bool {
        let n = (register + m.register) * self.p.banks[bank as usize].lanes as u32 + lane as u32;
        self.taken[bank as usize].is_free(n as usize, m.value, &self.p.conflicts)
    }

    fn assign(&self, u: &Unit, at: (u8, u32), open: &[usize], lanes: &mut Lanes, steps: &mut u32) -> bool {
        let Some((&k, rest)) = open.split_first() else { return true };
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        let (m, count) = (&u.members[k], self.p.banks[at.0 as usize].lanes);
        let wish = if let Lane::Any(w) = m.lane { w } else { 0 };
        for lane in std::iter::once(wish).chain((0..count).filter(|l| *l != wish)) {
            let rival = |o: &Member, l: u8| l == lane && o.register == m.register && self.p.conflicts.between(m.value, o.value);
            if !self.is_free(at, m, lane) || u.members.iter().zip(lanes.iter()).any(|(o, l)| rival(o, *l)) {
                continue;
            }
            lanes[k] = lane;
            if self.assign(u, at, rest, lanes, steps) {
                return true;
            }
            lanes[k] = u8::MAX;
        }
        false
    }

    /// Whether a place leaves those alone that the unit must not touch.
    fn apart(&self, u: &Unit, at: (u8, u32)) -> bool {
        u.apart.iter().all(|a| match self.out.units.get(a.unit) {
            Some(o) if o.0 == at.0 && self.p.banks[at.0 as usize].lanes > 1 => !a.register || o.1 != at.1,
            Some(o) if o.0 == at.0 => !a.distances.contains(&(at.1 as i32 - o.1 as i32)),
            _ => true,
        })
    }

    /// The latest time up to which some place is free for a unit from its start on; none where none is free at all.
    fn free_until(&self, u: &Unit) -> Option<u32> {
        let Conflicts::Ranges(ranges) = &self.p.conflicts else { return None };
        let height = u.members.iter().map(|m| m.register + 1).max().unwrap_or(1);
        let start = u.members.iter().filter_map(|m| ranges[m.value as usize].start()).min()?;
        let until = |bank: u8, register: u32| {
            let lane = |m: &Member| match m.lane {
                Lane::At(l) | Lane::Any(l) => l,
            };
            let Taken::Times(taken) = &self.taken[bank as usize] else { return None };
            let place = |m: &Member| (register + m.register) * self.p.banks[bank as usize].lanes as u32 + lane(m) as u32;
            u.members.iter().map(|m| taken.free_until(place(m) as usize, &ranges[m.value as usize])).min()
        };
        let banks = u.search.iter().map(|s| s.bank());
        let places = banks.flat_map(|b| {
            let end = (self.p.banks[b as usize].registers + 1).saturating_sub(height);
            (0..end).step_by(u.step.max(1) as usize).map(move |r| (b, r))
        });
        places.filter(|at| self.apart(u, *at)).filter_map(|(b, r)| until(b, r)).max().filter(|t| *t > start)
    }

    /// A place beyond the end of the largest bank that the unit may search.
    fn beyond(&mut self, n: usize, u: &Unit) -> Result<((u8, u32), Lanes), AllocError> {
        let banks = u.search.iter().map(|s| s.bank());
        let size = |b: &u8| (self.p.banks[*b as usize].registers, *b);
        let bank = banks.max_by_key(size).ok_or_else(|| together(u))?;
        if self.overrun.is_none() {
            self.overrun = Some((bank, n));
            self.until = self.free_until(u);
        }
        let step = u.step.max(1);
        let height = u.members.iter().map(|m| m.register + 1).max().unwrap_or(1);
        let first = (self.p.banks[bank as usize].registers + 1).saturating_sub(height).next_multiple_of(step);
        let end = self.out.used[bank as usize].next_multiple_of(step).max(first) + step;
        let mut places = (first..=end).step_by(step as usize);
        places.find_map(|r| self.lanes(u, (bank, r), false).map(|l| ((bank, r), l))).ok_or_else(|| together(u))
    }
}

fn together(u: &Unit) -> AllocError {
    AllocError::Together { values: u.members.iter().map(|m| m.value).collect() }
}

/// Proves a placement with regalloc2's checker: every read finds the value that the program means.
pub fn check(flow: &Flow, placement: &Placement, banks: &[Bank]) -> Result<(), AllocError> {
    let mut first = Vec::with_capacity(banks.len());
    let mut next = 0;
    for (b, used) in banks.iter().zip(&placement.used) {
        first.push(next);
        next += used * b.lanes as u32;
    }
    let at = |v: u32| {
        let place = placement.values.get(v as usize).copied().flatten();
        place.map(|p| (v, first[p.bank as usize] + p.register * banks[p.bank as usize].lanes as u32 + p.lane as u32))
    };
    let all = |list: &[u32]| list.iter().filter_map(|v| at(*v)).collect::<Vec<judge::At>>();
    let step = |p: &crate::flow::Point| {
        let defs = p.written().filter_map(at).collect();
        // What is written early is written while all operands are still needed.
        let (uses, late) = if p.early.is_empty() { (all(&p.reads), all(&p.late)) } else { (Vec::new(), p.read().filter_map(at).collect()) };
        judge::Step::Op { uses, late, defs }
    };
    let blocks = flow
        .blocks
        .iter()
        .map(|b| judge::Block { steps: b.points.iter().map(step).collect(), succs: b.succs.iter().map(|s| *s as usize).collect() })
        .collect();
    let entry = flow.live().start.first().map(|s| s.ones().filter_map(|v| at(v as u32)).collect()).unwrap_or_default();
    judge::Placed { blocks, entry }.judge().map_err(AllocError::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    const R: Bank = Bank { name: "r", registers: 4, lanes: 1 };
    const QUADS: Bank = Bank { name: "R", registers: 2, lanes: 4 };

    fn vector(value: u32, registers: u32) -> Unit {
        let members = (0..registers).map(|register| Member { value, register, lane: Lane::At(0) }).collect();
        Unit { members, search: [Search::Whole(0)][..].into(), ..Unit::default() }
    }

    fn lane(value: u32, lane: Lane) -> Member {
        Member { value, register: 0, lane }
    }

    fn ranges(list: &[(u32, u32)]) -> Conflicts<'static> {
        Conflicts::Ranges(list.iter().map(|(a, b)| Ranges::one(*a, *b)).collect())
    }

    fn run(banks: &[Bank], units: Vec<Unit>, times: &[(u32, u32)]) -> Result<Placement, AllocError> {
        place(&Problem { banks: banks.to_vec(), units, conflicts: ranges(times), values: times.len() })
    }

    #[test]
    fn vectors_take_consecutive_registers_and_reuse_them() {
        let p = run(&[R], vec![vector(0, 2), vector(1, 1), vector(2, 2)], &[(0, 4), (1, 9), (4, 9)]).unwrap();
        assert_eq!(p.units, [(0, 0), (0, 2), (0, 0)]);
        assert_eq!(p.used, [3]);
        let even = Unit { step: 2, ..vector(2, 2) };
        let p = run(&[R], vec![vector(0, 1), vector(1, 1), even], &[(0, 4), (1, 9), (3, 9)]).unwrap();
        assert_eq!(p.units[2], (0, 2));
    }

    #[test]
    fn an_error_says_how_many_registers_would_do() {
        let e = run(&[R], vec![vector(0, 2), vector(1, 2), vector(2, 3)], &[(0, 9), (1, 9), (2, 9)]).unwrap_err();
        assert_eq!(e.to_string(), "7 registers of r are needed, 4 exist");
        assert!(matches!(e, AllocError::Registers { value: 2, until: None, live, .. } if live == [0, 1, 2]));
        // One register is left, and the second vector takes two.
        let e = run(&[R], vec![vector(0, 3), vector(1, 2)], &[(0, 9), (1, 9)]).unwrap_err();
        assert_eq!(e.to_string(), "5 registers of r are needed, 4 exist");
    }

    #[test]
    fn an_error_says_how_long_a_place_would_have_been_free() {
        // Two of four registers are free from 2 on, one of them until 5, the other until 7.
        let times = [(0, 20), (0, 20), (5, 20), (7, 20), (2, 20)];
        let units = [0, 1, 2, 3, 4].map(|v| vector(v, 1)).to_vec();
        let e = run(&[R], units, &times).unwrap_err();
        assert!(matches!(e, AllocError::Registers { value: 4, until: Some(7), .. }), "{e:?}");
        // Both of them are until the first is not.
        let units = [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2)].map(|(v, registers)| vector(v, registers)).to_vec();
        let e = run(&[R], units, &times).unwrap_err();
        assert!(matches!(e, AllocError::Registers { value: 4, until: Some(5), .. }), "{e:?}");
    }

    #[test]
    fn quads_share_a_register_lane_by_lane() {
        let quad = Unit {
            members: [lane(0, Lane::At(1)), lane(1, Lane::Any(1)), lane(2, Lane::Any(0))][..].into(),
            search: [Search::Whole(0)][..].into(),
            ..Unit::default()
        };
        let single = Unit { members: [lane(3, Lane::Any(0))][..].into(), search: [Search::Whole(0)][..].into(), ..Unit::default() };
        let p = run(&[QUADS], vec![quad, single], &[(0, 9), (0, 9), (3, 9), (4, 9)]).unwrap();
        let lanes: Vec<u8> = p.values.iter().flatten().map(|v| v.lane).collect();
        assert_eq!((lanes, p.used[0]), (vec![1, 0, 2, 3], 1));
    }

    #[test]
    fn members_that_exclude_each_other_are_refused() {
        let clash = Unit {
            members: [lane(0, Lane::At(1)), lane(1, Lane::At(1))][..].into(),
            search: [Search::Whole(0)][..].into(),
            ..Unit::default()
        };
        assert!(matches!(run(&[QUADS], vec![clash.clone()], &[(0, 5), (4, 9)]), Err(AllocError::Together { .. })));
        assert!(run(&[QUADS], vec![clash], &[(0, 5), (5, 9)]).is_ok());
    }

    #[test]
    fn preferences_come_before_the_search_and_used_registers_before_new_ones() {
        let spare = Bank { name: "t", registers: 1, lanes: 1 };
        let near = Unit { near: vec![(0, 1)], near_banks: 1, ..vector(1, 1) };
        assert_eq!(run(&[R], vec![vector(0, 1), near], &[(0, 2), (2, 4)]).unwrap().units[1], (0, 1));
        let order = [Search::Opened(0), Search::Whole(1), Search::Whole(0)];
        let unit = |v| Unit { search: order[..].into(), ..vector(v, 1) };
        let p = run(&[R, spare], vec![vector(0, 1), unit(1), unit(2), unit(3)], &[(0, 2), (1, 9), (2, 9), (3, 9)]).unwrap();
        assert_eq!(p.units, [(0, 0), (1, 0), (0, 0), (0, 1)]);
    }

    #[test]
    fn units_keep_apart_where_they_must() {
        let apart = |distances: &[i32]| Unit {
            apart: vec![Apart { unit: 0, distances: distances.to_vec(), register: true }],
            near: vec![(0, 0)],
            near_banks: 1,
            ..vector(1, 2)
        };
        let place = |distances: &[i32]| run(&[R], vec![vector(0, 2), apart(distances)], &[(0, 2), (2, 4)]).unwrap().units[1];
        assert_eq!(place(&[-1, 0, 1]), (0, 2));
        assert_eq!(place(&[0]), (0, 1));
        assert_eq!(place(&[-1, 1]), (0, 0));
        // A distance is from the other unit to this one.
        assert_eq!(place(&[0, 1]), (0, 2));
        assert_eq!(place(&[-1, 0]), (0, 1));
    }

    #[test]
    fn the_checker_sees_through_a_wrong_placement() {
        let point = |reads: &[u32], writes: &[u32]| crate::flow::Point { reads: reads.into(), writes: writes.into(), ..Default::default() };
        let points = vec![point(&[], &[0]), point(&[], &[1]), point(&[0, 1], &[])];
        let flow = Flow { blocks: vec![crate::flow::FlowBlock { points, succs: SmallVec::new() }], values: 2 };
        let conflicts = Conflicts::Ranges(flow.ranges(&flow.live()).into());
        let mut p = place(&Problem { banks: vec![R], units: vec![vector(0, 1), vector(1, 1)], conflicts, values: 2 }).unwrap();
        assert_eq!(check(&flow, &p, &[R]), Ok(()));
        p.values[1] = p.values[0];
        assert!(check(&flow, &p, &[R]).is_err());
    }
}
