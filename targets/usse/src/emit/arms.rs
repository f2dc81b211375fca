//! Short arms of conditions under their predicate instead of behind a branch.
//!
//! ```text
//!     !p0 BR else            p0 VMUL pa0.xy …
//!     VMUL pa0.xy …    →     p0 BR end
//!     BR end             else:
//! else:
//! ```
//!
//! An arm is flattened where that is fewer words: always where nothing in it decides the predicate, loses internal registers or must be
//! reached by branching, unless words of it would have been one.

use crate::emit::sched::Known;
use crate::emit::{Expander, branches};
use crate::isa::forms::field;
use crate::isa::word::Word;
use crate::select::mir::Pred;

/// Words that are executed in vain, at most, where the condition does not hold: about what a branch costs.
const LONGEST: usize = 6;

/// Flattens arms in all blocks; a block takes the words of the arms behind it. Whether there were any.
pub fn flatten(blocks: &mut [Vec<Word>], known: &mut Known) -> bool {
    let mut changed = false;
    // How many branches lead to each block.
    let mut entries = vec![0u32; blocks.len() + 1];
    blocks.iter().flatten().filter_map(|w| w.target).for_each(|to| entries[to] += 1);
    for b in 0..blocks.len() {
        while let Some((arm, words)) = joined(blocks, b, &entries, known) {
            let gone = blocks[b].last().and_then(|w| w.target);
            gone.iter().for_each(|to| entries[*to] -= 1);
            blocks[b].pop();
            blocks[b].extend(words);
            blocks[arm].clear();
            changed = true;
        }
    }
    changed
}

/// The arm behind block `b`, and what its words are in place of that block's branch where it is better flattened.
fn joined(blocks: &[Vec<Word>], b: usize, entries: &[u32], known: &mut Known) -> Option<(usize, Vec<Word>)> {
    let branch = blocks[b].last()?;
    let around = branch.target.filter(|to| *to > b)?;
    let pred = branches::inverted(branch.get(field!(pred))).and_then(branches::named)?;
    let arm = (b + 1..blocks.len()).find(|n| !blocks[*n].is_empty())?;
    let entered = entries[b + 1..=arm].iter().any(|n| *n > 0);
    if entered || blocks[arm].len() > LONGEST || !branches::falls(blocks, arm + 1, around) {
        return None;
    }
    let flat = blocks[arm].iter().map(|w| under(w, pred, known)).collect::<Option<Vec<Word>>>()?;
    // The branch is saved.
    (known.size(&flat)? <= known.size(&blocks[arm])?).then_some((arm, flat))
}

/// A word of an arm under the arm's predicate.
fn under(w: &Word, pred: Pred, known: &mut Known) -> Option<Word> {
    if w.get(field!(pred)) != 0 || !w.has(field!(pred)) {
        return None;
    }
    let access = known.seen(w);
    // The branch behind an arm goes under the predicate, too.
    let leaves = w.target.is_some();
    if access.fixed && !leaves || access.decides(pred.0) {
        return None;
    }
    let mut out = w.clone();
    out.set(field!(pred), Expander::predicate(w.form(), Some(pred))?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::{BR, VBW, VTST};
    use retroshade_ir::Span;

    fn branch(to: usize, pred: u64) -> Word {
        Word { target: Some(to), ..Word::new(BR, vec![(field!(pred), pred)], Span::NONE) }
    }
    fn copy(to: u64) -> Word {
        Word::new(VBW, vec![(field!(dest_n), to), (field!(src1_n), 20 + 3 * to)], Span::NONE)
    }
    fn preds(words: &[Word]) -> Vec<(Option<usize>, u64)> {
        words.iter().map(|w| (w.target, w.get(field!(pred)))).collect()
    }

    #[test]
    fn both_arms_of_a_condition() {
        let mut blocks = vec![vec![copy(0), branch(2, 5)], vec![copy(1), branch(3, 0)], vec![copy(2)], vec![copy(3)]];
        flatten(&mut blocks, &mut Known::default());
        assert_eq!(preds(&blocks[0]), [(None, 0), (None, 1), (None, 5)]);
        assert!(blocks[1].is_empty() && blocks[2].is_empty());
    }

    #[test]
    fn what_must_be_branched_to_stays() {
        // Somebody else comes to the arm.
        let entered = vec![vec![branch(2, 5)], vec![copy(1)], vec![branch(1, 1)]];
        // The arm decides the predicate.
        let test = Word::new(VTST, Vec::new(), Span::NONE);
        let decides = vec![vec![branch(2, 5)], vec![test, copy(1)], vec![copy(2)]];
        // It is long.
        let long = vec![vec![branch(2, 5)], (1..LONGEST as u64 + 2).map(copy).collect(), vec![copy(2)]];
        for blocks in [entered, decides, long] {
            let mut now = blocks.clone();
            flatten(&mut now, &mut Known::default());
            assert_eq!(now, blocks);
        }
    }
}
