//! What machine code reads and writes, block by block, and the one liveness analysis over it.
//!
//! Values are plain numbers: a target says which number each of its virtual registers, lanes or webs has. At a point things
//! happen in the order *early writes, reads, late reads and writes*; times count two a point, so that a value that dies and
//! one that is born at a point can share a place:
//!
//! ```text
//!   time of point i in a block that starts at s:   s + 2i        reads (and early writes)
//!                                                  s + 2i + 1    writes (and late reads)
//!   the block ends at s + 2n + 2, where the next one starts
//! ```

use crate::ranges::Ranges;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

/// A set of values.
pub type ValueSet = FixedBitSet;

/// Values, in the order of the operands.
pub type Values = SmallVec<[u32; 4]>;

/// What one operation does with values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Read before anything but `early` is written.
    pub reads: Values,
    /// Read when results may be there already.
    pub late: Values,
    /// Written after the reads.
    pub writes: Values,
    /// Written while operands are still read.
    pub early: Values,
}

impl Point {
    /// Everything written.
    pub fn written(&self) -> impl Iterator<Item = u32> + '_ {
        self.early.iter().chain(&self.writes).copied()
    }
    /// Everything read.
    pub fn read(&self) -> impl Iterator<Item = u32> + '_ {
        self.reads.iter().chain(&self.late).copied()
    }
}

/// A block of code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowBlock {
    /// Operations in order.
    pub points: Vec<Point>,
    /// Where control goes next.
    pub succs: SmallVec<[u32; 2]>,
}

/// A program as reads and writes. Block 0 is the entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Blocks in the order of the code.
    pub blocks: Vec<FlowBlock>,
    /// Values are numbered below this.
    pub values: usize,
}

/// Values in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueList(Vec<u32>);

impl ValueList {
    /// Whether a value is in the list.
    pub fn contains(&self, v: usize) -> bool {
        self.0.binary_search(&(v as u32)).is_ok()
    }
    /// The values.
    pub fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|v| *v as usize)
    }
}

/// What lives at the boundaries of every block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// At each block's start.
    pub start: Vec<ValueList>,
    /// At each block's end.
    pub end: Vec<ValueList>,
}

/// (value, block): what a block reads of before it, or what it writes.
pub type Touched = Vec<(u32, u32)>;

/// The one liveness analysis: from every block that reads a value of before it back to the blocks that write it. Work is
/// proportional to the size of the result, so that programs of 50,000 instructions cost no more than their length.
pub fn solve(preds: &[SmallVec<[u32; 2]>], mut reads: Touched, mut writes: Touched) -> Live {
    reads.sort_unstable();
    // Who writes it is asked of what another block reads only.
    let mut known = vec![false; reads.last().map_or(0, |r| r.0 as usize + 1)];
    reads.iter().for_each(|r| known[r.0 as usize] = true);
    writes.retain(|w| known.get(w.0 as usize).is_some_and(|k| *k));
    writes.sort_unstable();
    let mut live = Live { start: vec![ValueList::default(); preds.len()], end: vec![ValueList::default(); preds.len()] };
    // The value that each block is known to write, the latest so far: values come in ascending order.
    let mut written = vec![u32::MAX; preds.len()];
    let (mut known, mut work) = (0, Vec::new());
    for (v, b) in reads {
        while let Some((x, at)) = writes.get(known).filter(|x| x.0 <= v) {
            written[*at as usize] = *x;
            known += 1;
        }
        work.push(b as usize);
        while let Some(b) = work.pop() {
            // Values come in ascending order, so a block has this one already if it has it last.
            if live.start[b].0.last() == Some(&v) {
                continue;
            }
            live.start[b].0.push(v);
            for q in preds[b].iter().map(|q| *q as usize) {
                if live.end[q].0.last() != Some(&v) {
                    live.end[q].0.push(v);
                }
                if written[q] != v {
                    work.push(q);
                }
            }
        }
    }
    live
}

impl Flow {
    /// Values live at the boundaries of every block.
    pub fn live(&self) -> Live {
        let mut preds: Vec<SmallVec<[u32; 2]>> = self.blocks.iter().map(|_| SmallVec::new()).collect();
        let (mut reads, mut writes) = (Touched::new(), Touched::new());
        // The last block that read each value of before it, and the last that wrote it.
        let (mut read_in, mut written_in) = (vec![u32::MAX; self.values], vec![u32::MAX; self.values]);
        for (b, block) in self.blocks.iter().enumerate() {
            let b = b as u32;
            block.succs.iter().for_each(|s| preds[*s as usize].push(b));
            for p in &block.points {
                for v in p.read().filter(|v| written_in[*v as usize] != b) {
                    if std::mem::replace(&mut read_in[v as usize], b) != b {
                        reads.push((v, b));
                    }
                }
                for v in p.written() {
                    if std::mem::replace(&mut written_in[v as usize], b) != b {
                        writes.push((v, b));
                    }
                }
            }
        }
        solve(&preds, reads, writes)
    }

    /// Walks a block backward: `visit(point, what lives behind it)`; afterwards the set is that of the block's start.
    pub fn backward(&self, b: usize, live: &Live, mut visit: impl FnMut(usize, &ValueSet)) -> ValueSet {
        let mut now = ValueSet::with_capacity(self.values);
        live.end[b].ones().for_each(|v| now.insert(v));
        for (i, p) in self.blocks[b].points.iter().enumerate().rev() {
            visit(i, &now);
            step(p, &mut now);
        }
        now
    }

    /// The time at which each block starts, and the end of the last one.
    pub fn starts(&self) -> Vec<u32> {
        let mut at = 0;
        let mut out = Vec::with_capacity(self.blocks.len() + 1);
        for b in &self.blocks {
            out.push(at);
            at += 2 * b.points.len() as u32 + 2;
        }
        out.push(at);
        out
    }

    /// When each value lives.
    pub fn ranges(&self, live: &Live) -> Vec<Ranges> {
        let starts = self.starts();
        let mut out: Vec<Ranges> = (0..self.values).map(|_| Ranges::new()).collect();
        // The end of the stretch that is open for each value; 0 where none is.
        let mut open = vec![0u32; self.values];
        let mut found: Vec<(u32, u32, u32)> = Vec::new();
        for (b, block) in self.blocks.iter().enumerate() {
            let mut touched: Values = Values::new();
            for v in live.end[b].ones() {
                open[v] = starts[b + 1];
            }
            for (i, p) in block.points.iter().enumerate().rev() {
                let at = starts[b] + 2 * i as u32;
                for (list, from) in [(&p.writes, at + 1), (&p.early, at)] {
                    for v in list {
                        let to = std::mem::take(&mut open[*v as usize]);
                        found.push((*v, from, to.max(at + 2)));
                    }
                }
                for (list, to) in [(&p.reads, at + 1), (&p.late, at + 2)] {
                    for v in list {
                        open[*v as usize] = open[*v as usize].max(to);
                        touched.push(*v);
                    }
                }
            }
            for v in live.end[b].ones().map(|v| v as u32).chain(touched) {
                let to = std::mem::take(&mut open[v as usize]);
                if to > 0 {
                    found.push((v, starts[b], to));
                }
            }
            // Stretches were found from the last to the first.
            found.drain(..).rev().for_each(|(v, from, to)| out[v as usize].add(from, to));
        }
        out
    }

    /// Where most values live at once: (block, point, how many by `weight`).
    pub fn peak(&self, live: &Live, weight: impl Fn(usize) -> u32) -> (usize, usize, u32) {
        let mut peak = (0, 0, 0);
        for b in 0..self.blocks.len() {
            self.backward(b, live, |i, now| {
                let dead = self.blocks[b].points[i].written().filter(|v| !now.contains(*v as usize));
                let n = now.ones().chain(dead.map(|v| v as usize)).map(&weight).sum();
                if n > peak.2 {
                    peak = (b, i, n);
                }
            });
        }
        peak
    }
}

/// The effect of an operation on what lives, walking backward.
fn step(p: &Point, live: &mut ValueSet) {
    p.written().for_each(|v| live.remove(v as usize));
    p.read().for_each(|v| live.insert(v as usize));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(reads: &[u32], writes: &[u32]) -> Point {
        Point { reads: reads.into(), writes: writes.into(), ..Point::default() }
    }

    /// 0 is carried around the loop of block 1, 1 is made and read in it, 2 is read after it.
    fn counted() -> Flow {
        let block = |points: Vec<Point>, succs: &[u32]| FlowBlock { points, succs: succs.into() };
        let blocks = vec![
            block(vec![point(&[], &[0]), point(&[], &[2])], &[1]),
            block(vec![point(&[0], &[1]), point(&[1, 0], &[0])], &[1, 2]),
            block(vec![point(&[2], &[])], &[]),
        ];
        Flow { blocks, values: 3 }
    }

    #[test]
    fn what_a_loop_carries_lives_all_around_it() {
        let f = counted();
        let live = f.live();
        let set = |s: &ValueList| s.ones().collect::<Vec<_>>();
        assert_eq!((set(&live.start[0]), set(&live.end[0])), (vec![], vec![0, 2]));
        assert_eq!((set(&live.start[1]), set(&live.end[1])), (vec![0, 2], vec![0, 2]));
        assert_eq!(set(&live.end[2]), Vec::<usize>::new());
        let r = f.ranges(&live);
        assert_eq!(r[0].iter().collect::<Vec<_>>(), [(1, 12)]);
        assert_eq!(r[1].iter().collect::<Vec<_>>(), [(7, 9)]);
        assert_eq!(r[2].iter().collect::<Vec<_>>(), [(3, 13)]);
        assert_eq!(f.peak(&live, |_| 1), (1, 0, 3));
    }

    #[test]
    fn places_can_be_shared_where_one_value_dies_and_another_is_born() {
        let shares = |p: Point| {
            let f =
                Flow { blocks: vec![FlowBlock { points: vec![point(&[], &[0]), p, point(&[1], &[])], succs: SmallVec::new() }], values: 2 };
            let r = f.ranges(&f.live());
            !r[0].overlaps(&r[1])
        };
        assert!(shares(point(&[0], &[1])));
        assert!(!shares(Point { late: [0][..].into(), writes: [1][..].into(), ..Point::default() }), "read after the result is there");
        assert!(!shares(Point { reads: [0][..].into(), early: [1][..].into(), ..Point::default() }), "written while it is read");
    }

    #[test]
    fn a_result_that_nobody_reads_takes_its_place_for_a_moment() {
        let f = Flow { blocks: vec![FlowBlock { points: vec![point(&[], &[0])], succs: SmallVec::new() }], values: 1 };
        assert_eq!(f.ranges(&f.live())[0].iter().collect::<Vec<_>>(), [(1, 2)]);
    }
}
