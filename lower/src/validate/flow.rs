//! The analyses: states at the heads of straight runs until nothing changes, then one walk that reports.

use super::state::State;
use super::{Program, Step};
use crate::text::TextError;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// The most findings of a program.
const MOST: usize = 50;

/// What an instruction makes of what is known.
fn apply(p: &Program, s: &Step, state: &mut State) {
    s.drops.iter().for_each(|r| state.lose(r));
    let derived: SmallVec<[bool; 2]> = s.derives.iter().map(|d| d.0.iter().all(|f| state.holds(*f, s.guard))).collect();
    s.loses.iter().for_each(|r| state.lose(r));
    s.ends.iter().for_each(|r| state.end(r));
    s.raises.iter().for_each(|f| state.raise(*f));
    for (f, yes) in s.derives.iter().zip(derived).flat_map(|(d, yes)| d.1.iter().map(move |f| (*f, yes))) {
        if yes { state.give(f, s.guard) } else { state.lose(&(f..f + 1)) }
    }
    for f in &s.writes {
        state.give(*f, s.guard);
        for (n, _) in p.guards.iter().enumerate().filter(|(_, g)| g.0 == *f) {
            state.forget(n);
        }
    }
}

/// Findings of a program.
pub(super) fn check(p: &Program) -> Vec<TextError> {
    if p.steps.is_empty() {
        return Vec::new();
    }
    let heads = heads(p);
    let mut states: Vec<Option<State>> = vec![None; p.steps.len()];
    states[0] = Some(State::new(p.facts, p.guards.len(), &p.preset));
    let mut work = BTreeSet::from([0]);
    while let Some(first) = work.pop_first() {
        let Some(mut state) = states[first].clone() else { continue };
        let mut n = first;
        loop {
            let s = &p.steps[n];
            apply(p, s, &mut state);
            match s.next.as_slice() {
                [one] if one.when.is_none() && !heads[one.to as usize] => n = one.to as usize,
                all => {
                    for e in all {
                        let to = e.to as usize;
                        let mut there = state.clone();
                        e.when.into_iter().for_each(|g| there.assume(g));
                        let changed = match &mut states[to] {
                            Some(old) => old.meet(&there),
                            none => {
                                *none = Some(there);
                                true
                            }
                        };
                        if changed {
                            work.insert(to);
                        }
                    }
                    break;
                }
            }
        }
    }
    report(p, &heads, &states)
}

/// Where straight runs begin: at the start, where ways meet, and behind instructions with several ways on.
fn heads(p: &Program) -> Vec<bool> {
    let mut arrivals = vec![0u32; p.steps.len()];
    arrivals[0] = 2;
    for s in &p.steps {
        for e in &s.next {
            arrivals[e.to as usize] += if s.next.len() > 1 || e.when.is_some() { 2 } else { 1 };
        }
    }
    arrivals.into_iter().map(|n| n > 1).collect()
}

fn report(p: &Program, heads: &[bool], states: &[Option<State>]) -> Vec<TextError> {
    let mut out = Vec::new();
    for (first, state) in states.iter().enumerate() {
        let Some(mut state) = state.clone() else { continue };
        let mut n = first;
        loop {
            let s = &p.steps[n];
            let mut say = |message: String| out.push(TextError { offset: Some(u64::from(s.at)), ..TextError::new(message) });
            s.drops.iter().for_each(|r| state.lose(r));
            for f in s.reads.iter().filter(|f| !state.holds(**f, s.guard)) {
                say(format!("{} is read where no write of it arrives on some path", (p.name)(*f)));
            }
            for (f, what) in s.forbids.iter().filter(|f| state.pending(f.0)) {
                say(format!("{}: {what}", (p.name)(*f)));
            }
            if out.len() > MOST {
                return out;
            }
            apply(p, s, &mut state);
            match s.next.as_slice() {
                [one] if one.when.is_none() && !heads[one.to as usize] => n = one.to as usize,
                _ => break,
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Edge, Fact, Guard, Program, Step};
    use smallvec::smallvec;

    /// Facts 0 to 3 are registers, 4 is a predicate.
    fn program(steps: Vec<Step>) -> Vec<String> {
        let mut p = Program { steps, ..Program::new("", 8, |f| format!("r{f}")) };
        for n in 0..p.steps.len() - 1 {
            if p.steps[n].next.is_empty() {
                p.steps[n].goes(n + 1);
            }
        }
        p.guards = vec![(4, 0)];
        p.check().into_iter().map(|e| e.message).collect()
    }
    fn writes(f: Fact) -> Step {
        Step { writes: smallvec![f], ..Step::default() }
    }
    fn reads(f: Fact) -> Step {
        Step { reads: smallvec![f], ..Step::default() }
    }
    fn when(outcomes: u8) -> Option<Guard> {
        Some(Guard { predicate: 0, outcomes })
    }
    fn to(steps: &[(u32, Option<Guard>)]) -> Step {
        Step { next: steps.iter().map(|(to, when)| Edge { to: *to, when: *when }).collect(), ..Step::default() }
    }
    fn under(outcomes: u8, s: Step) -> Step {
        Step { guard: when(outcomes), ..s }
    }

    #[test]
    fn a_write_must_arrive_on_every_way() {
        assert_eq!(program(vec![writes(0), reads(0)]).len(), 0);
        assert_eq!(program(vec![writes(1), reads(0)]).len(), 1);
        // 0 branches to 1 or 2; 3 reads.
        let branch =
            |second: Step| program(vec![to(&[(1, None), (2, None)]), Step { next: to(&[(3, None)]).next, ..writes(0) }, second, reads(0)]);
        assert_eq!(branch(writes(0)).len(), 0);
        assert_eq!(branch(writes(1)), ["r0 is read where no write of it arrives on some path"]);
    }

    #[test]
    fn a_loop_may_lose_what_it_needs() {
        let round = |inside: Step| program(vec![writes(0), reads(0), inside, to(&[(1, None), (4, None)]), Step::default()]);
        assert_eq!(round(writes(1)).len(), 0);
        assert_eq!(round(Step { loses: smallvec![0..1], ..Step::default() }).len(), 1);
    }

    #[test]
    fn predicates() {
        let both = [under(3, writes(0)), under(12, writes(0)), reads(0)];
        assert_eq!(program(both.to_vec()).len(), 0);
        assert_eq!(program(vec![under(3, writes(0)), under(3, reads(0)), under(12, reads(0))]).len(), 1);
        // Less, equal, greater and unordered are all there is.
        let four = |n: usize| program([1, 2, 4, 8].map(|o| under(o, writes(0))).into_iter().take(n).chain([reads(0)]).collect());
        assert_eq!((four(4).len(), four(3).len()), (0, 1));
        assert_eq!(program(vec![under(1, writes(0)), under(2, writes(0)), under(3, reads(0))]).len(), 0);
        // The predicate changes in between.
        assert_eq!(program(vec![under(3, writes(0)), writes(4), under(3, reads(0))]).len(), 1);
        // A branch on it, and later the predicate itself.
        let later = |outcomes: u8| {
            let taken = Step { next: to(&[(3, None)]).next, ..writes(0) };
            program(vec![to(&[(1, when(3)), (2, when(12))]), taken, writes(1), under(outcomes, reads(0))])
        };
        assert_eq!((later(3).len(), later(12).len()), (0, 1));
    }

    #[test]
    fn what_is_pending_is_met_on_some_way() {
        let raise = Step { raises: smallvec![2], ..Step::default() };
        let end = Step { ends: smallvec![2..3], ..Step::default() };
        let forbid = Step { forbids: smallvec![(2, "on its way")], ..Step::default() };
        assert_eq!(program(vec![raise.clone(), forbid.clone()]), ["r2: on its way"]);
        assert_eq!(program(vec![raise.clone(), end.clone(), forbid.clone()]).len(), 0);
        let some = vec![to(&[(1, None), (2, None)]), Step { next: to(&[(3, None)]).next, ..raise }, end, forbid];
        assert_eq!(program(some).len(), 1);
    }
}
