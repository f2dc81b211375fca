//! Branches between blocks that need not be: to what follows anyway, to another branch, around another branch; and words that
//! nothing comes to.
//!
//! Published programs never have `p br +2; br far`, and other readers of the code refuse it: one branch with the inverted
//! predicate stands there instead. Nor do they ever go back under a predicate: there the two stand. A loop whose way out stands
//! behind it is left to the word behind it, where an emulator's reader goes whatever a branch says.

use crate::isa::forms::{PHAS, VTST, field};
use crate::isa::word::Word;
use crate::select::mir::Pred;

/// P3 knows p0 and p1 inverted; the code that means the opposite.
pub fn inverted(pred: u64) -> Option<u64> {
    Some(match pred {
        1 => 5,
        2 => 6,
        5 => 1,
        6 => 2,
        _ => return None,
    })
}

/// The predicate that a code names.
pub fn named(pred: u64) -> Option<Pred> {
    Some(match pred {
        1 => (0, false),
        2 => (1, false),
        5 => (0, true),
        6 => (1, true),
        _ => return None,
    })
}

/// Marks the tests that decide where blocks branch: the last one of the predicate before the branch, whatever becomes of that. Nothing else reads the
/// predicate behind it.
pub fn mark(blocks: &mut [Vec<Word>]) {
    for (n, words) in blocks.iter_mut().enumerate() {
        let Some(at) = words.iter().position(|w| w.target.is_some()) else { continue };
        let Some((p, _)) = named(pred(&words[at])) else { continue };
        let test = words[..at].iter_mut().rfind(|w| w.form() == VTST && w.get(field!(pdst_n)) == u64::from(p));
        test.into_iter().for_each(|w| w.decides = Some(n));
    }
}

/// Whether execution comes from before block `from` to block `to` without passing an instruction.
pub fn falls(blocks: &[Vec<Word>], from: usize, to: usize) -> bool {
    to >= from && blocks[from..to].iter().all(|b| b.is_empty())
}

/// Simplifies branches until nothing changes. Targets are indices of blocks; the one behind the last is the end.
pub fn straighten(blocks: &mut [Vec<Word>]) {
    loop {
        let mut changed = drop_dead(blocks) | thread(blocks);
        for b in 0..blocks.len() {
            changed |= drop_last(blocks, b) || turn_round(blocks, b);
        }
        if !changed {
            return;
        }
    }
}

fn pred(w: &Word) -> u64 {
    w.get(field!(pred))
}

fn is_always(w: &Word) -> bool {
    w.target.is_some() && pred(w) == 0
}

/// Words that nothing comes to go: those behind a branch that is always taken, and blocks that nobody enters. The machine itself
/// enters phases.
fn drop_dead(blocks: &mut [Vec<Word>]) -> bool {
    let mut changed = false;
    for b in blocks.iter_mut() {
        if let Some(n) = b.iter().position(is_always).filter(|n| n + 1 < b.len()) {
            b.truncate(n + 1);
            changed = true;
        }
    }
    let phases = blocks.iter().enumerate().filter(|(_, b)| b.iter().any(|w| w.form() == PHAS)).map(|(n, _)| n);
    let mut work: Vec<usize> = std::iter::once(0).chain(phases).collect();
    let mut entered = vec![false; blocks.len()];
    while let Some(n) = work.pop() {
        if n >= blocks.len() || std::mem::replace(&mut entered[n], true) {
            continue;
        }
        work.extend(blocks[n].iter().filter_map(|w| w.target));
        if !blocks[n].last().is_some_and(is_always) {
            work.push(n + 1);
        }
    }
    for (b, _) in blocks.iter_mut().zip(entered).filter(|(b, entered)| !entered && !b.is_empty()) {
        b.clear();
        changed = true;
    }
    changed
}

/// Where execution under a branch's predicate goes from the start of block `n` without anything done: what the block's first
/// branch says, or the next block.
fn onward(blocks: &[Vec<Word>], n: usize, under: u64) -> Option<usize> {
    match &blocks.get(n)?[..] {
        [] => Some(n + 1),
        [first, rest @ ..] => match first.target {
            Some(to) if pred(first) == 0 || pred(first) == under => Some(to),
            Some(_) if rest.is_empty() && inverted(under) == Some(pred(first)) => Some(n + 1),
            _ => None,
        },
    }
}

/// A branch to other branches goes on to where they lead, if that is anywhere. One that leaves a loop stays behind it.
fn thread(blocks: &mut [Vec<Word>]) -> bool {
    let targets = |n: usize| blocks[n].iter().filter_map(|w| w.target);
    let loops: Vec<(usize, usize)> =
        (0..blocks.len()).flat_map(|last| targets(last).filter(move |first| *first <= last).map(move |first| (first, last))).collect();
    let leaves = |from: usize, to: usize| {
        let behind = |(first, last): &(usize, usize)| (*first..=*last).contains(&from) && to > *last && falls(blocks, last + 1, to);
        loops.iter().any(behind)
    };
    let end = |from: usize, under: u64| {
        let mut to = from;
        for _ in 0..=blocks.len() {
            match onward(blocks, to, under) {
                Some(far) => to = far,
                None => return Some(to),
            }
        }
        // An endless loop stays one.
        None
    };
    let words = blocks.iter().enumerate().flat_map(|(n, b)| b.iter().map(move |w| (n, w)));
    let goes = |(n, w): (usize, &Word)| w.target.map(|to| if leaves(n, to) { Some(to) } else { end(to, pred(w)) });
    let far: Vec<Option<usize>> = words.filter_map(goes).collect();
    let mut changed = false;
    let branches = blocks.iter_mut().flatten().filter(|w| w.target.is_some());
    for (w, far) in branches.zip(far).filter(|(_, far)| far.is_some()) {
        changed |= far != w.target;
        w.target = far;
    }
    changed
}

/// A branch to what follows anyway goes.
fn drop_last(blocks: &mut [Vec<Word>], b: usize) -> bool {
    let last = blocks[b].last().and_then(|w| w.target);
    let goes = last.is_some_and(|to| falls(blocks, b + 1, to));
    if goes {
        blocks[b].pop();
    }
    goes
}

/// A conditional branch around an unconditional one takes its target, the other way round; one beside an unconditional one to the
/// same place goes.
fn turn_round(blocks: &mut [Vec<Word>], b: usize) -> bool {
    // The unconditional one stands behind it, in the same block or as the next one.
    let len = blocks[b].len();
    let (first, other) = match blocks[b].last() {
        Some(last) if is_always(last) && len >= 2 => (len - 2, b),
        Some(last) if last.target.is_some() => match (b + 1..blocks.len()).find(|n| !blocks[*n].is_empty()) {
            Some(next) if is_always(&blocks[next][0]) => (len - 1, next),
            _ => return false,
        },
        _ => return false,
    };
    let (Some(around), Some(far)) = (blocks[b][first].target, blocks[other].last().and_then(|w| w.target)) else { return false };
    if around == far {
        blocks[b].remove(first);
        return true;
    }
    // Nobody else may come there.
    let entered = |n: usize| blocks.iter().flatten().any(|w| w.target == Some(n));
    if other != b && (b + 1..=other).any(entered) {
        return false;
    }
    let Some(pred) = inverted(pred(&blocks[b][first])).filter(|_| falls(blocks, other + 1, around)) else { return false };
    blocks[other].pop();
    let w = &mut blocks[b][first];
    w.set(field!(pred), pred);
    w.target = Some(far);
    true
}

/// Loops go round by branches that are always taken, behind one that leaves: no published program has another branch that goes back, and an emulator's
/// reader of the code does not end on one.
pub fn latches(blocks: &mut [Vec<Word>]) {
    for (b, words) in blocks.iter_mut().enumerate() {
        let back = |w: &Word| w.target.filter(|to| *to <= b).zip(inverted(pred(w)));
        let n = words.len();
        let (at, to, exit) = match &words[..] {
            [.., w, last] if is_always(last) && last.target.is_some_and(|to| to > b) && back(w).is_some() => (n - 2, back(w), last.target),
            [.., w] => (n - 1, back(w), Some(b + 1)),
            [] => continue,
        };
        let Some((start, leaves)) = to else { continue };
        let mut round = words[at].clone();
        words.truncate(at + 1);
        words[at].set(field!(pred), leaves);
        words[at].target = exit;
        round.set(field!(pred), 0);
        round.target = Some(start);
        words.push(round);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::{BR, NOP};
    use retroshade_ir::Span;

    fn branch(to: usize, pred: u64) -> Word {
        Word { target: Some(to), ..Word::new(BR, vec![(field!(pred), pred)], Span::NONE) }
    }
    fn nop() -> Word {
        Word::new(NOP, Vec::new(), Span::NONE)
    }
    fn shape(blocks: &[Vec<Word>]) -> Vec<Vec<(Option<usize>, u64)>> {
        blocks.iter().map(|b| b.iter().map(|w| (w.target, w.get(field!(pred)))).collect()).collect()
    }

    #[test]
    fn no_branch_around_a_branch() {
        // `if (!p0) goto end`, once in one block, once with the jump in a block of its own.
        let mut one = vec![vec![nop(), branch(1, 1), branch(2, 0)], vec![nop()], vec![]];
        straighten(&mut one);
        // An empty block is gone through to the one behind it.
        assert_eq!(shape(&one), [vec![(None, 0), (Some(3), 5)], vec![(None, 0)], vec![]]);
        let mut two = vec![vec![nop(), branch(2, 1)], vec![branch(3, 0)], vec![nop()], vec![]];
        straighten(&mut two);
        assert_eq!(shape(&two), [vec![(None, 0), (Some(4), 5)], vec![], vec![(None, 0)], vec![]]);
    }

    #[test]
    fn branches_to_branches_go_on() {
        let mut all = vec![vec![branch(2, 1)], vec![nop()], vec![branch(4, 0)], vec![nop()], vec![nop()]];
        straighten(&mut all);
        assert_eq!(all[0][0].target, Some(4));
        // What is asked again under the same predicate is known.
        let mut all = vec![vec![branch(2, 1)], vec![nop(), branch(4, 0)], vec![branch(4, 5)], vec![nop()], vec![nop()]];
        straighten(&mut all);
        assert_eq!(all[0][0].target, Some(3));
        let mut all = vec![vec![branch(2, 1)], vec![nop(), branch(4, 0)], vec![branch(4, 5), nop()], vec![nop()], vec![nop()]];
        straighten(&mut all);
        assert_eq!(all[0][0].target, Some(2), "there is something to do behind the branch that is not taken");
        let mut all = vec![vec![branch(2, 1)], vec![nop(), branch(1, 1)], vec![branch(4, 1), nop()], vec![nop()], vec![nop()]];
        straighten(&mut all);
        assert_eq!((all[0][0].target, all[1][1].target), (Some(4), Some(1)));
        // An endless loop stays.
        let mut all = vec![vec![branch(1, 1)], vec![branch(1, 0)], vec![nop()]];
        straighten(&mut all);
        assert_eq!(shape(&all)[1], [(Some(1), 0)]);
        // One that a branch goes around, too.
        let mut all = vec![vec![nop(), branch(2, 1)], vec![branch(1, 0)], vec![nop()]];
        straighten(&mut all);
        assert_eq!(shape(&all), [vec![(None, 0), (Some(2), 1)], vec![(Some(1), 0)], vec![(None, 0)]]);
        // So do two that go to each other.
        let mut all = vec![vec![branch(2, 1)], vec![branch(2, 0)], vec![branch(1, 0)], vec![nop()]];
        straighten(&mut all);
        assert!(all.concat().iter().any(|w| w.target.is_some()));
    }

    #[test]
    fn loops_are_left_to_the_word_behind_them() {
        // A loop in the first arm of two, with a test at its head; behind it the way around the other arm.
        let mut head =
            vec![vec![nop(), branch(4, 5)], vec![branch(3, 5)], vec![nop(), branch(1, 0)], vec![branch(5, 0)], vec![nop()], vec![nop()]];
        let before = head.clone();
        straighten(&mut head);
        assert_eq!(head, before);
        // With a test at its foot, too.
        let mut foot =
            vec![vec![nop(), branch(3, 5)], vec![nop(), branch(1, 1), branch(2, 0)], vec![branch(4, 0)], vec![nop()], vec![nop()]];
        straighten(&mut foot);
        latches(&mut foot);
        assert_eq!(shape(&foot)[1..3], [vec![(None, 0), (Some(2), 5), (Some(1), 0)], vec![(Some(4), 0)]]);
    }

    #[test]
    fn loops_go_round_by_branches_that_are_always_taken() {
        let mut all = vec![vec![nop()], vec![nop(), branch(1, 1)], vec![nop()]];
        latches(&mut all);
        assert_eq!(shape(&all), [vec![(None, 0)], vec![(None, 0), (Some(2), 5), (Some(1), 0)], vec![(None, 0)]]);
        // One that leaves is there already.
        let mut all = vec![vec![nop(), branch(0, 5), branch(2, 0)], vec![nop()], vec![nop()]];
        latches(&mut all);
        assert_eq!(shape(&all), [vec![(None, 0), (Some(2), 1), (Some(0), 0)], vec![(None, 0)], vec![(None, 0)]]);
        // What goes on stays.
        let mut all = vec![vec![nop(), branch(2, 1)], vec![branch(0, 0)], vec![nop()]];
        let before = all.clone();
        latches(&mut all);
        assert_eq!(all, before);
    }

    #[test]
    fn what_nothing_comes_to_goes() {
        // Two ways to one place, and a jump that only the first branch went to.
        let mut all = vec![vec![nop(), branch(1, 1), branch(2, 0)], vec![branch(3, 0)], vec![nop()], vec![nop()]];
        straighten(&mut all);
        assert_eq!(shape(&all), [vec![(None, 0), (Some(3), 1)], vec![], vec![(None, 0)], vec![(None, 0)]]);
        let mut all = vec![vec![branch(2, 1), branch(2, 0), nop()], vec![nop()], vec![nop()]];
        straighten(&mut all);
        assert_eq!(shape(&all), [vec![], vec![], vec![(None, 0)]]);
        // A phase is entered by the machine.
        let phase = || vec![nop(), Word::new(PHAS, Vec::new(), Span::NONE)];
        let mut all = vec![vec![nop(), branch(0, 0)], phase()];
        straighten(&mut all);
        assert_eq!(all[1], phase());
    }
}
