//! An order of operations in which few values are alive, for code that fits in no other.
//!
//! From the end of a stretch of code backward, whichever operation leaves the least to be kept for it comes next: one whose
//! operands are alive anyway ends the life of its results at once.

use crate::flow::{Point, ValueSet, Values};
use std::cmp::Reverse;

/// For each operation those that must stand before it: the writers of what it reads, the readers and writers of what it
/// writes. Nothing passes a `fence`.
pub fn dependences(points: &[Point], values: usize, fence: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let mut out: Vec<Vec<usize>> = Vec::with_capacity(points.len());
    let mut writer: Vec<Option<usize>> = vec![None; values];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); values];
    let (mut last, mut since): (Option<usize>, Vec<usize>) = (None, Vec::new());
    for (n, p) in points.iter().enumerate() {
        let mut before: Vec<usize> = Vec::new();
        for v in distinct(p.read()) {
            before.extend(writer[v as usize]);
            readers[v as usize].push(n);
        }
        for v in distinct(p.written()) {
            before.extend(writer[v as usize].replace(n));
            before.extend(std::mem::take(&mut readers[v as usize]).into_iter().filter(|r| *r != n));
        }
        before.extend(last);
        if fence(n) {
            before.append(&mut since);
            last = Some(n);
        } else {
            since.push(n);
        }
        before.sort_unstable();
        before.dedup();
        out.push(before);
    }
    out
}

/// The operations in the new order, by number. `needed` is what lives behind them.
pub fn for_pressure(points: &[Point], before: &[Vec<usize>], needed: ValueSet) -> Vec<usize> {
    let code = Code {
        read: points.iter().map(|p| distinct(p.read())).collect(),
        written: points.iter().map(|p| distinct(p.written())).collect(),
        before,
    };
    let late = code.backward(needed.clone(), false);
    let opening = code.backward(needed, true);
    if opening.1 < late.1 { opening.0 } else { late.0 }
}

/// Puts what stands in a list into another order, by number; what the order does not name goes.
pub fn arrange<T>(all: &mut Vec<T>, order: &[usize]) {
    let mut old: Vec<Option<T>> = std::mem::take(all).into_iter().map(Some).collect();
    all.extend(order.iter().filter_map(|n| old[*n].take()));
}

/// A stretch of code, operation by operation.
struct Code<'a> {
    read: Vec<Values>,
    written: Vec<Values>,
    before: &'a [Vec<usize>],
}

impl Code<'_> {
    /// An order, and how many values live in it at once. Of equals the latest is chosen, or with `opening` one behind which more
    /// can be chosen from.
    fn backward(&self, mut needed: ValueSet, opening: bool) -> (Vec<usize>, usize) {
        let Code { read, written, before } = self;
        // How many operations still stand behind each.
        let mut behind = vec![0usize; read.len()];
        before.iter().flatten().for_each(|n| behind[*n] += 1);
        let mut ready: Vec<usize> = (0..read.len()).filter(|n| behind[*n] == 0).collect();
        let mut order = Vec::with_capacity(read.len());
        let kept = |n: usize, needed: &ValueSet| {
            let more = read[n].iter().filter(|v| !needed.contains(**v as usize) || written[n].contains(v)).count() as i32;
            let less = written[n].iter().filter(|v| needed.contains(**v as usize)).count() as i32;
            more - less
        };
        let opens = |n: usize, behind: &[usize]| if opening { before[n].iter().filter(|m| behind[**m] == 1).count() } else { 0 };
        let mut alive = needed.count_ones(..);
        let mut peak = alive;
        loop {
            let key = |k: &usize| (kept(ready[*k], &needed), Reverse(opens(ready[*k], &behind)), Reverse(ready[*k]));
            let Some(k) = (0..ready.len()).min_by_key(key) else { break };
            let n = ready.swap_remove(k);
            order.push(n);
            alive = alive.saturating_add_signed(kept(n, &needed) as isize);
            peak = peak.max(alive);
            written[n].iter().for_each(|v| needed.set(*v as usize, false));
            read[n].iter().for_each(|v| needed.insert(*v as usize));
            for m in &before[n] {
                behind[*m] -= 1;
                if behind[*m] == 0 {
                    ready.push(*m);
                }
            }
        }
        order.reverse();
        (order, peak)
    }
}

fn distinct(all: impl Iterator<Item = u32>) -> Values {
    let mut all: Values = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Flow, FlowBlock};

    fn point(reads: &[u32], writes: &[u32]) -> Point {
        Point { reads: reads.into(), writes: writes.into(), ..Point::default() }
    }
    fn peak(points: Vec<Point>, values: usize) -> u32 {
        let flow = Flow { blocks: vec![FlowBlock { points, ..FlowBlock::default() }], values };
        flow.peak(&flow.live(), |_| 1).2
    }
    fn reordered(points: &[Point], values: usize, fence: impl Fn(usize) -> bool) -> Vec<Point> {
        let order = for_pressure(points, &dependences(points, values, fence), ValueSet::with_capacity(values));
        order.into_iter().map(|n| points[n].clone()).collect()
    }

    /// Eight values that are all made before the first is added to the sum.
    fn made_at_once() -> Vec<Point> {
        let made = (1..9).map(|v| point(&[], &[v]));
        made.chain((1..9).map(|v| point(&[0, v], &[0]))).collect()
    }

    #[test]
    fn values_are_made_where_they_are_read() {
        let points: Vec<Point> = [point(&[], &[0])].into_iter().chain(made_at_once()).collect();
        assert_eq!(peak(points.clone(), 9), 9);
        assert_eq!(peak(reordered(&points, 9, |_| false), 9), 2);
    }

    /// Two chains side by side whose links are multiplied with each other, the last ones first, and then added up in another order:
    /// a product of two links keeps one value for two, but only that of the last ones lets the chains be undone.
    #[test]
    fn links_are_used_up_from_the_last_one_on() {
        let links = 12;
        let (a, b, x) = (|k: u32| k, |k: u32| links + k, |k: u32| 2 * links + k);
        let mut points: Vec<Point> = Vec::new();
        for k in 0..links {
            let last = k.checked_sub(1);
            points.push(point(&last.map_or(vec![], |l| vec![a(l)]), &[a(k)]));
            points.push(point(&last.map_or(vec![a(k)], |l| vec![b(l), a(k)]), &[b(k)]));
        }
        points.extend((0..links).rev().map(|k| point(&[a(k), b(k)], &[x(k)])));
        points.extend((0..links).map(|k| point(&[x(5 * k % links)], &[])));
        let values = 3 * links as usize;
        assert_eq!(peak(points.clone(), values), 2 * links);
        assert!(peak(reordered(&points, values, |_| false), values) <= links + 2);
    }

    #[test]
    fn nothing_passes_a_fence() {
        let points: Vec<Point> = [point(&[], &[0])].into_iter().chain(made_at_once()).collect();
        assert_eq!(peak(reordered(&points, 9, |n| n == 9), 9), 9);
    }

    #[test]
    fn what_is_written_again_keeps_its_order() {
        let points = vec![point(&[], &[0]), point(&[0], &[1]), point(&[], &[0]), point(&[0, 1], &[])];
        assert_eq!(dependences(&points, 2, |_| false), [vec![], vec![0], vec![0, 1], vec![1, 2]]);
        assert_eq!(reordered(&points, 2, |_| false), points);
        // All that read it come before.
        let points = vec![point(&[], &[0]), point(&[0], &[]), point(&[0], &[]), point(&[], &[0]), point(&[], &[])];
        assert_eq!(dependences(&points, 1, |_| false)[3], [0, 1, 2]);
        assert_eq!(dependences(&points, 1, |n| n == 2)[2..], [vec![0, 1], vec![0, 1, 2], vec![2]]);
    }
}
