//! When values live and when places are taken: sets of half-open stretches of time.

use smallvec::{Array, SmallVec};

/// The times at which a value lives: stretches `from..to` in ascending order, none of which meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(SmallVec<[(u32, u32); 2]>);

impl Ranges {
    /// No time at all.
    pub fn new() -> Ranges {
        Ranges::default()
    }
    /// One stretch.
    pub fn one(from: u32, to: u32) -> Ranges {
        let mut r = Ranges::new();
        r.add(from, to);
        r
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The first point.
    pub fn start(&self) -> Option<u32> {
        self.0.first().map(|s| s.0)
    }
    /// One past the last point.
    pub fn end(&self) -> Option<u32> {
        self.0.last().map(|s| s.1)
    }
    /// The stretches.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().copied()
    }
    /// Whether a point is in the set.
    pub fn contains(&self, at: u32) -> bool {
        let n = self.0.partition_point(|s| s.0 <= at);
        n > 0 && at < self.0[n - 1].1
    }
    /// Adds a stretch; what it meets becomes one with it.
    pub fn add(&mut self, from: u32, to: u32) {
        if from < to {
            add(&mut self.0, from, to);
        }
    }
    /// Adds all of another set.
    pub fn union(&mut self, other: &Ranges) {
        other.iter().for_each(|(a, b)| self.add(a, b));
    }
    /// Whether the two have a point in common.
    pub fn overlaps(&self, other: &Ranges) -> bool {
        let (Some(start), Some(end)) = (self.start(), self.end()) else { return false };
        // Long sets are entered where the other one begins.
        let mut j = other.0.partition_point(|s| s.1 <= start);
        if other.0.get(j).is_none_or(|s| s.0 >= end) {
            return false;
        }
        let mut i = self.0.partition_point(|s| s.1 <= other.0[j].0);
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            if a.1 <= b.0 {
                i += 1;
            } else if b.1 <= a.0 {
                j += 1;
            } else {
                return true;
            }
        }
        false
    }
}

/// Adds a stretch to others in ascending order; what it meets becomes one with it.
fn add<A: Array<Item = (u32, u32)>>(all: &mut SmallVec<A>, from: u32, to: u32) {
    // Mostly the new stretch comes last.
    if all.last().is_none_or(|l| l.1 < from) {
        return all.push((from, to));
    }
    let first = all.partition_point(|s| s.1 < from);
    let last = all.partition_point(|s| s.0 <= to);
    let (mut from, mut to) = (from, to);
    if first < last {
        (from, to) = (from.min(all[first].0), to.max(all[last - 1].1));
        all.drain(first..last);
    }
    all.insert(first, (from, to));
}

impl FromIterator<(u32, u32)> for Ranges {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(stretches: I) -> Ranges {
        let mut r = Ranges::new();
        stretches.into_iter().for_each(|(a, b)| r.add(a, b));
        r
    }
}

/// When each of many places is taken: the stretches of each in ascending order, none of which meet.
#[derive(Default)]
pub struct Occupancy(Vec<SmallVec<[(u32, u32); 4]>>);

impl Occupancy {
    /// Every place free at all times.
    pub fn new() -> Occupancy {
        Occupancy::default()
    }
    /// Whether a place is free at all these times.
    pub fn is_free(&self, place: usize, times: &Ranges) -> bool {
        let Some(taken) = self.0.get(place) else { return true };
        // Mostly all of it was before.
        let Some(last) = taken.last() else { return true };
        times.iter().all(|(from, to)| {
            last.1 <= from || {
                let n = taken.partition_point(|s| s.0 < to);
                n == 0 || taken[n - 1].1 <= from
            }
        })
    }
    /// The first of these times at which a place is taken; the end of all time where it is free.
    pub fn free_until(&self, place: usize, times: &Ranges) -> u32 {
        let Some(taken) = self.0.get(place) else { return u32::MAX };
        let first = |(from, to): (u32, u32)| {
            // What is taken when the stretch begins, or else begins first in it.
            let next = taken.get(taken.partition_point(|s| s.1 <= from)).filter(|s| s.0 < to)?;
            Some(next.0.max(from))
        };
        times.iter().find_map(first).unwrap_or(u32::MAX)
    }
    /// Takes a place; values with fixed places may share one, then the times become one.
    pub fn take(&mut self, place: usize, times: &Ranges) {
        if self.0.len() <= place {
            self.0.resize_with(place + 1, SmallVec::new);
        }
        times.iter().for_each(|(from, to)| add(&mut self.0[place], from, to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u64) -> Ranges {
        let mut next = |n: u64| {
            *seed ^= *seed << 13;
            *seed ^= *seed >> 7;
            *seed ^= *seed << 17;
            *seed % n
        };
        (0..next(6)).map(|_| next(40) as u32).map(|a| (a, a + 1 + (a * 7) % 5)).collect()
    }

    /// Every question answered point by point.
    #[test]
    fn sets_behave_like_sets_of_points() {
        let mut seed = 0x2545_f491_4f6c_dd1d;
        let points = |r: &Ranges| (0..64).filter(|p| r.iter().any(|(a, b)| (a..b).contains(p))).collect::<Vec<u32>>();
        for _ in 0..3000 {
            let (a, b) = (random(&mut seed), random(&mut seed));
            let (x, y) = (points(&a), points(&b));
            assert!((0..64).all(|p| a.contains(p) == x.contains(&p)));
            assert_eq!(a.overlaps(&b), x.iter().any(|p| y.contains(p)), "{a:?} {b:?}");
            let mut u = a.clone();
            u.union(&b);
            assert!(points(&u).iter().all(|p| x.contains(p) || y.contains(p)) && points(&u).len() >= x.len().max(y.len()));
            assert!(u.iter().zip(u.iter().skip(1)).all(|(s, t)| s.1 < t.0), "stretches that meet are one: {u:?}");
            let mut taken = Occupancy::new();
            taken.take(3, &a);
            assert_eq!(taken.is_free(3, &b), !a.overlaps(&b));
            assert_eq!(taken.free_until(3, &b), y.iter().copied().find(|p| x.contains(p)).unwrap_or(u32::MAX), "{a:?} {b:?}");
            taken.take(3, &b);
            assert_eq!((0..64).filter(|p| !taken.is_free(3, &Ranges::one(*p, p + 1))).collect::<Vec<u32>>(), points(&u));
            assert!(taken.is_free(2, &u) && taken.is_free(9, &u));
        }
    }
}
