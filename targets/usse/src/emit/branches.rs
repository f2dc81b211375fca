//! Branches between blocks that need not be: to what follows anyway, to another branch, around another branch.
//!
//! Published programs never have `p br +2; br far`, and other readers of the code refuse it: one branch with the inverted
//! predicate stands there instead.

use crate::isa::forms::field;
use crate::isa::word::Word;

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

/// Whether execution comes from before block `from` to block `to` without passing an instruction.
pub fn falls(blocks: &[Vec<Word>], from: usize, to: usize) -> bool {
    to >= from && blocks[from..to].iter().all(|b| b.is_empty())
}

/// The target of a block that does nothing but branch, always.
fn detour(block: &[Word]) -> Option<usize> {
    match block {
        [only] if only.get(field!(pred)) == 0 => only.target,
        _ => None,
    }
}

/// Simplifies branches until nothing changes. Targets are indices of blocks; the one behind the last is the end.
pub fn straighten(blocks: &mut [Vec<Word>]) {
    loop {
        let mut changed = thread(blocks);
        for b in 0..blocks.len() {
            changed |= drop_last(blocks, b) || turn_round(blocks, b);
        }
        if !changed {
            return;
        }
    }
}

/// A branch to blocks that only branch goes on to where they lead, if that is anywhere.
fn thread(blocks: &mut [Vec<Word>]) -> bool {
    let next: Vec<Option<usize>> = blocks.iter().map(|b| detour(b)).collect();
    let end = |from: usize| {
        let mut to = from;
        for _ in 0..next.len() {
            match next.get(to).copied().flatten() {
                Some(far) => to = far,
                None => return Some(to),
            }
        }
        // An endless loop stays one.
        None
    };
    let mut changed = false;
    for w in blocks.iter_mut().flatten() {
        if let Some(to) = w.target
            && let Some(far) = end(to)
        {
            changed |= far != to;
            w.target = Some(far);
        }
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

/// A conditional branch around an unconditional one takes its target, the other way round.
fn turn_round(blocks: &mut [Vec<Word>], b: usize) -> bool {
    // The unconditional one stands behind it, in the same block or as the next one.
    let len = blocks[b].len();
    let is_always = |w: &Word| w.target.is_some() && w.get(field!(pred)) == 0;
    let (first, other) = match blocks[b].last() {
        Some(last) if is_always(last) && len >= 2 => (len - 2, b),
        Some(last) if last.target.is_some() => {
            let Some(next) = (b + 1..blocks.len()).find(|n| !blocks[*n].is_empty()) else { return false };
            // Nobody else may come there.
            let entered = |n: usize| blocks.iter().flatten().any(|w| w.target == Some(n));
            if detour(&blocks[next]).is_none() || (b + 1..=next).any(entered) {
                return false;
            }
            (len - 1, next)
        }
        _ => return false,
    };
    let (Some(around), Some(far)) = (blocks[b][first].target, blocks[other].last().and_then(|w| w.target)) else { return false };
    let Some(pred) = inverted(blocks[b][first].get(field!(pred))).filter(|_| falls(blocks, other + 1, around)) else { return false };
    blocks[other].pop();
    let w = &mut blocks[b][first];
    w.set(field!(pred), pred);
    w.target = Some(far);
    true
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
        assert_eq!(shape(&one), [vec![(None, 0), (Some(2), 5)], vec![(None, 0)], vec![]]);
        let mut two = vec![vec![nop(), branch(2, 1)], vec![branch(3, 0)], vec![nop()], vec![]];
        straighten(&mut two);
        assert_eq!(shape(&two), [vec![(None, 0), (Some(3), 5)], vec![], vec![(None, 0)], vec![]]);
    }

    #[test]
    fn branches_to_branches_go_on() {
        let mut all = vec![vec![branch(2, 1)], vec![nop()], vec![branch(4, 0)], vec![nop()], vec![nop()]];
        straighten(&mut all);
        assert_eq!(all[0][0].target, Some(4));
        // An endless loop stays.
        let mut all = vec![vec![branch(1, 1)], vec![branch(1, 0)], vec![nop()]];
        straighten(&mut all);
        assert_eq!(shape(&all)[1], [(Some(1), 0)]);
        // So do two that go to each other.
        let mut all = vec![vec![branch(2, 1)], vec![branch(2, 0)], vec![branch(1, 0)], vec![nop()]];
        straighten(&mut all);
    }
}
