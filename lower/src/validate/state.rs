//! Sets of facts, and what is known of them at a place.

use super::{Fact, Guard, OUTCOMES};
use std::ops::Range;

/// A set of facts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn has(&self, f: Fact) -> bool {
        self.0.get(usize::from(f) / 64).is_some_and(|w| w >> (f % 64) & 1 == 1)
    }
    fn put(&mut self, f: Fact, on: bool) {
        if let Some(w) = self.0.get_mut(usize::from(f) / 64) {
            *w = *w & !(1 << (f % 64)) | u64::from(on) << (f % 64);
        }
    }
    fn clear(&mut self, range: &Range<Fact>) {
        let (start, end) = (usize::from(range.start), usize::from(range.end));
        for (n, w) in self.0.iter_mut().enumerate().take(end.div_ceil(64)).skip(start / 64) {
            let low = if n == start / 64 { start % 64 } else { 0 };
            let high = if n == end / 64 { end % 64 } else { 64 };
            let below = |b: usize| if b == 64 { u64::MAX } else { (1 << b) - 1 };
            *w &= !(below(high) & !below(low));
        }
    }
    /// Keeps or adds by a function of both words; whether anything changed.
    fn join(&mut self, other: &Set, f: fn(u64, u64) -> u64) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            let new = f(*a, *b);
            changed |= new != *a;
            *a = new;
        }
        changed
    }
}

/// What is known before an instruction.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Holds on every way here.
    holds: Set,
    /// Holds on every way here on which a predicate has an outcome; never less than `holds`.
    under: Vec<Set>,
    /// Is pending on some way here.
    pending: Set,
}

impl State {
    /// At a program's start.
    pub fn new(facts: usize, predicates: usize, preset: &[Fact]) -> State {
        let mut holds = Set(vec![0; facts.div_ceil(64)]);
        preset.iter().for_each(|f| holds.put(*f, true));
        State { under: vec![holds.clone(); OUTCOMES * predicates], pending: Set(vec![0; facts.div_ceil(64)]), holds }
    }
    /// What is known on both ways, where this was known before; whether that is less.
    pub fn meet(&mut self, other: &State) -> bool {
        let both: fn(u64, u64) -> u64 = |a, b| a & b;
        let mut changed = self.holds.join(&other.holds, both);
        for (a, b) in self.under.iter_mut().zip(&other.under) {
            changed |= a.join(b, both);
        }
        changed | self.pending.join(&other.pending, |a, b| a | b)
    }
    /// Whether a fact holds where a guard is true.
    pub fn holds(&self, f: Fact, guard: Option<Guard>) -> bool {
        self.holds.has(f) || guard.is_some_and(|g| g.outcomes != 0 && places(g).all(|n| self.under.get(n).is_some_and(|s| s.has(f))))
    }
    /// Whether a fact may be pending.
    pub fn pending(&self, f: Fact) -> bool {
        self.pending.has(f)
    }
    /// Makes a fact pending.
    pub fn raise(&mut self, f: Fact) {
        self.pending.put(f, true);
    }
    /// Makes facts not pending.
    pub fn end(&mut self, range: &Range<Fact>) {
        self.pending.clear(range);
    }
    /// Makes a fact hold, where a guard is true.
    pub fn give(&mut self, f: Fact, guard: Option<Guard>) {
        if let Some(g) = guard {
            for n in places(g) {
                self.under[n].put(f, true);
            }
            if !places(Guard { outcomes: u8::MAX, ..g }).all(|n| self.under[n].has(f)) {
                return;
            }
        }
        self.holds.put(f, true);
        self.under.iter_mut().for_each(|s| s.put(f, true));
    }
    /// Makes facts not hold.
    pub fn lose(&mut self, range: &Range<Fact>) {
        self.holds.clear(range);
        self.under.iter_mut().for_each(|s| s.clear(range));
    }
    /// A predicate has another outcome now.
    pub fn forget(&mut self, predicate: usize) {
        for s in &mut self.under[OUTCOMES * predicate..OUTCOMES * (predicate + 1)] {
            s.0.clone_from(&self.holds.0);
        }
    }
    /// Goes a way on which a guard is true.
    pub fn assume(&mut self, guard: Guard) {
        let (both, either): (fn(u64, u64) -> u64, fn(u64, u64) -> u64) = (|a, b| a & b, |a, b| a | b);
        let mut known = Set(vec![u64::MAX; self.holds.0.len()]);
        for n in places(guard) {
            known.join(&self.under[n], both);
        }
        self.holds.join(&known, either);
        for s in &mut self.under {
            s.join(&known, either);
        }
        // Nothing is executed under the other outcomes.
        places(guard.inverse()).for_each(|n| self.under[n].0.fill(u64::MAX));
    }
}

/// Where what is known under a guard's outcomes stands.
fn places(g: Guard) -> impl Iterator<Item = usize> {
    (0..OUTCOMES).filter(move |o| g.outcomes >> o & 1 == 1).map(move |o| OUTCOMES * usize::from(g.predicate) + o)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cleared_to_the_bit() {
        for range in [0..3, 60..70, 64..128, 5..5, 127..130, 0..192] {
            let mut s = Set(vec![u64::MAX; 3]);
            s.clear(&range);
            assert!((0..192).all(|f| s.has(f) != range.contains(&f)), "{range:?}");
        }
    }
}
