//! Branches of machine code that need not be, by the bits of the words: shared by the tests of this target and those of the command.

use std::collections::BTreeMap;

/// A branch's predicate and where it goes, by the ISA sheet's section 15.1.
fn branch(code: &[u64], n: usize) -> Option<(u64, usize)> {
    let w = *code.get(n)?;
    let is_branch = w >> 59 == 31 && w >> 52 & 7 == 0 && w >> 38 & 7 == 1;
    let by = ((w << 44) as i64) >> 44;
    is_branch.then_some((w >> 56 & 7, (n as i64 + by) as usize))
}

/// What is wrong with the branches of a program: to the next word, to another branch (but for the one behind the loop that is left), around one that goes
/// on, back under a predicate, words that nothing comes to.
pub fn needless(code: &[u64]) -> Vec<String> {
    let always = |n: usize| branch(code, n).is_some_and(|b| b.0 == 0);
    // By the word that a loop begins with: the last one that goes back to it.
    let loops: BTreeMap<usize, usize> = (0..code.len()).filter_map(|n| branch(code, n).filter(|b| b.1 <= n).map(|b| (b.1, n))).collect();
    // That of the innermost loop around a word.
    let last = |n: usize| loops.range(..=n).map(|(_, last)| *last).filter(|last| *last >= n).min();
    let mut out = Vec::new();
    for n in 0..code.len() {
        let Some((pred, to)) = branch(code, n) else { continue };
        let leaves = last(n).is_some_and(|last| to == last + 1);
        // A word that branches to itself is an endless loop.
        if branch(code, to).is_some_and(|b| (b.0 == 0 || b.0 == pred) && to != n && b.1 != to) && !leaves {
            out.push(format!("{n} branches to the branch {to}"));
        }
        if to == n + 1 {
            out.push(format!("{n} branches to the next word"));
        }
        let back = |n: usize| branch(code, n).is_some_and(|b| b.1 <= n);
        if to == n + 2 && pred != 0 && always(n + 1) && !back(n + 1) {
            out.push(format!("{n} branches around a branch"));
        }
        if to < n && pred != 0 {
            out.push(format!("{n} goes back under a predicate"));
        }
    }
    let mut seen = vec![false; code.len()];
    let is_phase = |w: &u64| w >> 56 == 0xfa && w >> 52 & 7 == 4;
    let mut work: Vec<usize> = (0..code.len()).filter(|n| is_phase(&code[*n])).collect();
    while let Some(n) = work.pop() {
        if n < code.len() && !std::mem::replace(&mut seen[n], true) {
            work.extend(branch(code, n).map(|b| b.1));
            if !always(n) {
                work.push(n + 1);
            }
        }
    }
    out.extend((0..code.len()).filter(|n| !seen[*n]).map(|n| format!("nothing comes to {n}")));
    out
}
