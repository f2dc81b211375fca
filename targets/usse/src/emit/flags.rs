//! Scheduling flags that depend on the whole program: `skipinv`, `syncstart`, and the container's flag for programs whose
//! instances run one by one.
//!
//! Facts: the ISA sheet's sections 2 and 19.2. Quads contain invalid instances (pixels outside the triangle, dropped pixels) that are
//! executed for the sake of their neighbours' derivatives; `skipinv` leaves them out. `syncstart` makes a quad enter a texture
//! read together where instances may have gone different ways.

use crate::isa::forms::{BR, SMP, V16NMAD, V32NMAD, VLDST, WDF, field};
use crate::isa::word::Word;
use retroshade_ir::Stage;

/// Whether a word reads its neighbours: derivatives, and texture reads that choose their level by them.
fn reads_neighbours(w: &Word) -> bool {
    match w.form() {
        SMP => true,
        V32NMAD | V16NMAD => matches!(w.get(field!(op2)), 3 | 4),
        _ => false,
    }
}

/// Sets `skipinv` on every word that no texture read and no derivative can follow. Vertex programs have no neighbours. Loops
/// are left as they are, so that every instance sees the same end. `starts`: the words at which blocks begin.
pub fn skip_invalid(stage: Stage, words: &mut [Word], starts: &[usize]) {
    let back = |n: usize, w: &Word| w.target.is_some_and(|to| starts.get(to).is_some_and(|start| *start <= n));
    let first = match stage {
        Stage::Fragment => (0..words.len()).rev().find(|n| reads_neighbours(&words[*n]) || back(*n, &words[*n])).map_or(0, |n| n + 1),
        _ => 0,
    };
    for w in &mut words[first..] {
        if w.has(field!(skipinv)) && w.form() != SMP {
            w.set(field!(skipinv), 1);
        }
    }
}

/// Sets `syncstart` on the first texture read of each run, and on derivatives, in blocks that not every instance of a quad
/// must execute.
pub fn enter_together(blocks: &mut [Vec<Word>]) {
    let goes = |b: &[Word], n: usize| -> Vec<usize> {
        let mut to: Vec<usize> = b.iter().filter_map(|w| w.target).collect();
        if !b.last().is_some_and(|w| w.target.is_some() && w.get(field!(pred)) == 0) {
            to.push(n + 1);
        }
        to
    };
    let next: Vec<Vec<usize>> = blocks.iter().enumerate().map(|(n, b)| goes(b, n)).collect();
    if next.iter().enumerate().all(|(n, to)| *to == [n + 1]) {
        return;
    }
    // Whether the end can be reached from some blocks without passing `avoid`, and whether `avoid` itself can.
    let escapes = |from: &[usize], avoid: usize| -> (bool, bool) {
        let (mut seen, mut work) = (vec![false; next.len()], from.to_vec());
        let (mut end, mut again) = (false, false);
        while let Some(n) = work.pop() {
            match n {
                n if n == avoid => again = true,
                n if n >= next.len() => end = true,
                n if !seen[n] => {
                    seen[n] = true;
                    work.extend(&next[n]);
                }
                _ => {}
            }
        }
        (end, again)
    };
    for n in 0..blocks.len() {
        if !blocks[n].iter().any(reads_neighbours) {
            continue;
        }
        let optional = escapes(&[0], n).0;
        let repeated = escapes(&next[n], n).1;
        if !optional && !repeated {
            continue;
        }
        let mut running = false;
        for w in &mut blocks[n] {
            if reads_neighbours(w) {
                if !running || w.form() != SMP {
                    w.set(field!(syncstart), 1);
                }
                running = true;
            } else if w.form() == WDF {
                running = false;
            }
        }
    }
}

/// Whether texture reads stand where instances may have gone different ways, or loads there or at addresses of their own:
/// published programs then ask for instances to be run one by one.
pub fn per_instance(words: &[Word]) -> bool {
    let branches = words.iter().any(|w| w.form() == BR);
    let shared = |w: &Word| w.get(field!(src0_bank)) == 1 && w.get(field!(src0_bank_ext)) == 1;
    words.iter().any(|w| match w.form() {
        SMP => w.get(field!(syncstart)) == 1,
        VLDST => branches || !shared(w),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::{PHAS, VMAD2};
    use retroshade_emit::form::FormId;
    use retroshade_ir::Span;

    fn word(form: FormId) -> Word {
        Word::new(form, Vec::new(), Span::NONE)
    }

    fn branch(to: usize, pred: u64) -> Word {
        Word { target: Some(to), ..Word::new(BR, vec![(field!(pred), pred)], Span::NONE) }
    }

    /// Blocks: before, a side that is passed over, behind.
    #[test]
    fn only_what_may_be_passed_over_is_entered_together() {
        let read = || vec![word(SMP), word(SMP), word(WDF), word(SMP)];
        let mut blocks = vec![read(), vec![branch(3, 1)], read(), read()];
        enter_together(&mut blocks);
        let flags = |b: &[Word]| b.iter().filter(|w| w.form() == SMP).map(|w| w.get(field!(syncstart))).collect::<Vec<_>>();
        assert_eq!(blocks.iter().map(|b| flags(b)).collect::<Vec<_>>(), [vec![0, 0, 0], vec![], vec![1, 0, 1], vec![0, 0, 0]]);
        // A loop is entered again.
        let mut blocks = vec![vec![], read(), vec![branch(1, 1)], vec![]];
        enter_together(&mut blocks);
        assert_eq!(flags(&blocks[1]), [1, 0, 1]);
    }

    #[test]
    fn loads_at_computed_addresses_are_made_one_by_one() {
        let load = |bank, ext| Word::new(VLDST, vec![(field!(src0_bank), bank), (field!(src0_bank_ext), ext)], Span::NONE);
        assert!(!per_instance(&[load(1, 1)]) && per_instance(&[load(0, 0)]) && per_instance(&[load(1, 1), branch(0, 1)]));
        assert!(!per_instance(&[word(SMP)]) && per_instance(&[Word::new(SMP, vec![(field!(syncstart), 1)], Span::NONE)]));
    }

    #[test]
    fn invalid_instances_run_up_to_the_last_texture_read() {
        let program = || vec![word(PHAS), word(VMAD2), word(SMP), word(WDF), word(VMAD2)];
        let flags = |w: &[Word]| w.iter().map(|w| w.get(field!(skipinv))).collect::<Vec<_>>();
        let mut words = program();
        skip_invalid(Stage::Fragment, &mut words, &[1]);
        assert_eq!(flags(&words), [0, 0, 0, 0, 1]);
        let mut words = program();
        words.push(branch(0, 0));
        skip_invalid(Stage::Fragment, &mut words, &[1]);
        assert_eq!(flags(&words), [0; 6]);
        let mut words = program();
        skip_invalid(Stage::Vertex, &mut words, &[1]);
        assert_eq!(flags(&words), [0, 1, 0, 0, 1]);
    }
}
