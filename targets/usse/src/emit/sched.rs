//! The order and the flags of a block's words: copies that are there already, words that repeat, dual issue, and the
//! `nosched` flags that keep internal registers alive.
//!
//! Facts: the ISA sheet's sections 16 and 17.4.

use crate::emit::pairing;
use crate::isa::access::Access;
use crate::isa::dual::Wish;
use crate::isa::forms::{NOP, TABLE, VDUAL, VMOV, WDF, field, row_of};
use crate::isa::registers::Bank;
use crate::isa::word::Word;
use retroshade_ir::Span;
use retroshade_lower::CompileError;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::cell::OnceCell;
use std::hash::BuildHasher;
use std::ops::Deref;
use std::rc::Rc;

/// The secondary program ends with an end flag on its last word, or with a NOP that has one.
pub fn end_secondary(words: &mut Vec<Word>) {
    match words.last_mut() {
        Some(w) if w.form() == VMOV && w.get(field!(move_type)) == 0 => w.set(field!(end_or_src0_bank_ext), 1),
        Some(w) if row_of(w.form()).closes => w.set(field!(end), 1),
        _ => words.push(Word::new(NOP, vec![(field!(end), 1)], Span::NONE)),
    }
}

/// Whether a word's `nosched` flag protects the boundary behind the next word.
fn can_protect(w: &Word) -> bool {
    row_of(w.form()).protects && w.get(field!(end)) == 0
}

/// Makes a word protect that boundary; a dual word always does.
fn hold(w: &mut Word) {
    if w.form() != VDUAL {
        w.set(field!(nosched), 1);
    }
}

/// Forms behind which internal registers are lost whatever the flags say.
fn loses(w: &Word) -> bool {
    row_of(w.form()).loses
}

/// Words behind a place that are looked at for one that may stand there.
const REACH: usize = 24;

/// What a word touches, and what it could be as half of a dual word, once somebody asked.
#[derive(Clone, Debug)]
pub struct Seen(Rc<(Access, OnceCell<Vec<Wish>>)>);

impl Seen {
    /// Looks at a word.
    pub fn of(w: &Word) -> Seen {
        Seen(Rc::new((w.access(), OnceCell::new())))
    }
    /// Looks at a word that is dual already.
    pub fn dual(w: &Word) -> Seen {
        Seen(Rc::new((w.access(), Vec::new().into())))
    }
    /// The operations that the word could be; it must be the one that was looked at.
    pub fn wishes(&self, w: &Word) -> &[Wish] {
        self.0.1.get_or_init(|| pairing::wishes(w))
    }
}

impl Deref for Seen {
    type Target = Access;
    fn deref(&self) -> &Access {
        &self.0.0
    }
}

/// A block, and what became of it.
type Scheduled = (Vec<Word>, Result<Vec<Word>, CompileError>);

/// Blocks that were scheduled before, and what became of them: most come again while ways of building a program are compared.
#[derive(Debug, Default)]
pub struct Known {
    /// By their hash: that of a block is found once.
    blocks: FxHashMap<u64, Vec<Scheduled>>,
    words: FxHashMap<Word, Seen>,
    /// Whether nothing is kept: none will come again.
    forgets: bool,
    /// What became of the last block then.
    last: Vec<Word>,
}

impl Known {
    /// For a program of so many operations that it is not built again and again.
    pub fn forgetful() -> Known {
        Known { forgets: true, ..Known::default() }
    }
    /// As [`schedule`], with dual issue.
    pub fn schedule(&mut self, words: &[Word]) -> Result<&[Word], CompileError> {
        if self.forgets {
            self.last = schedule_with(words.to_vec(), true, &mut Seen::of)?;
            return Ok(&self.last);
        }
        let same = |s: &Scheduled| s.0 == words;
        let hash = FxBuildHasher.hash_one(words);
        let at = match self.blocks.get(&hash).and_then(|all| all.iter().position(same)) {
            Some(at) => at,
            None => {
                let new = schedule_with(words.to_vec(), true, &mut |w| self.seen(w));
                let all = self.blocks.entry(hash).or_default();
                all.push((words.to_vec(), new));
                all.len() - 1
            }
        };
        match self.blocks.get(&hash).and_then(|all| all.get(at)) {
            Some((_, Ok(words))) => Ok(words),
            Some((_, Err(e))) => Err(e.clone()),
            None => Ok(&[]),
        }
    }
    /// How many words that gives.
    pub fn size(&mut self, words: &[Word]) -> Option<usize> {
        self.schedule(words).ok().map(<[Word]>::len)
    }
    /// What a word touches.
    pub fn seen(&mut self, w: &Word) -> Seen {
        if self.forgets {
            return Seen::of(w);
        }
        if let Some(seen) = self.words.get(w) {
            return seen.clone();
        }
        let new = Seen::of(w);
        self.words.insert(w.clone(), new.clone());
        new
    }
}

/// Repeats, pairs and flags of a block: the shorter of what comes out with and without dual issue.
pub fn schedule(words: Vec<Word>, dual: bool) -> Result<Vec<Word>, CompileError> {
    schedule_with(words, dual, &mut Seen::of)
}

fn schedule_with(words: Vec<Word>, dual: bool, look: &mut dyn FnMut(&Word) -> Seen) -> Result<Vec<Word>, CompileError> {
    let (words, seen) = reuse(words, look);
    let (words, seen) = repeats(words, seen);
    let paired = if dual { pairing::pair(&words, &seen) } else { None };
    let plain = protect(words, &seen)?;
    match paired.map(|(words, seen)| protect(words, &seen)) {
        Some(Ok(p)) if p.len() < plain.len() => Ok(p),
        _ => Ok(plain),
    }
}

/// Sets `nosched` wherever internal registers live across a boundary, with NOPs where no word can carry the flag.
fn protect(words: Vec<Word>, access: &[Seen]) -> Result<Vec<Word>, CompileError> {
    let n = words.len();
    let live = pairing::live(access.iter().map(|s| &**s));
    if live.iter().flatten().all(|l| *l == 0) {
        return Ok(words);
    }
    if let Some(k) = (0..n).find(|k| loses(&words[*k]) && live[*k].iter().any(|l| *l != 0)) {
        return Err(CompileError::Internal(format!("an internal register is live across {}", TABLE.form(words[k].form()).name)));
    }
    let mut out: Vec<Word> = Vec::with_capacity(n);
    let mut words: Vec<Option<Word>> = words.into_iter().map(Some).collect();
    for k in 0..n {
        let Some(w) = words[k].take() else { continue };
        // live[k + 1] is what lives across the boundary behind this word.
        if live[k + 1].iter().any(|l| *l != 0) {
            match out.last_mut() {
                Some(p) if can_protect(p) => hold(p),
                // A later word that depends on nothing in between does instead of a NOP.
                _ => match earlier(k, &mut words, access) {
                    Some(mut early) => {
                        hold(&mut early);
                        out.push(early);
                    }
                    None => out.push(Word::new(NOP, vec![(field!(nosched), 1)], w.span)),
                },
            }
        }
        out.push(w);
    }
    Ok(out)
}

/// Takes out a word that may stand before word `first` and everything between.
fn earlier(first: usize, words: &mut [Option<Word>], access: &[Seen]) -> Option<Word> {
    let mut passed = vec![first];
    for k in first + 1..words.len().min(first + REACH) {
        if passed.last().is_some_and(|p| access[*p].fixed) {
            return None;
        }
        let Some(w) = &words[k] else { continue };
        let e = &access[k];
        let outside = e.reads.iter().chain(&e.writes).all(|p| p.0 != Bank::I);
        if can_protect(w) && outside && !matches!(w.form(), NOP | WDF) && passed.iter().all(|p| !access[*p].conflicts(e)) {
            return words[k].take();
        }
        passed.push(k);
    }
    None
}

/// Drops copies into internal registers of what still stands there. What the words that remain touch comes with them.
fn reuse(words: Vec<Word>, look: &mut dyn FnMut(&Word) -> Seen) -> (Vec<Word>, Vec<Seen>) {
    let mut out: Vec<Word> = Vec::with_capacity(words.len());
    let mut access: Vec<Seen> = Vec::with_capacity(words.len());
    let mut held: Vec<usize> = Vec::new();
    for w in words {
        let a = look(&w);
        if a.fixed {
            held.clear();
        } else {
            if held.iter().any(|h| out[*h].same(&w)) {
                continue;
            }
            held.retain(|h| !a.writes.iter().any(|p| access[*h].writes.contains(p) || access[*h].reads.contains(p)));
            let inside = |p: &(Bank, u16)| p.0 == Bank::I;
            if a.guard.is_none() && a.writes.iter().all(inside) && !a.reads.iter().any(inside) {
                held.push(out.len());
            }
        }
        out.push(w);
        access.push(a);
    }
    (out, access)
}

/// Equal words whose registers advance together become one word that repeats; a later word may come forward for that.
fn repeats(words: Vec<Word>, access: Vec<Seen>) -> (Vec<Word>, Vec<Seen>) {
    let mut words: Vec<Option<Word>> = words.into_iter().map(Some).collect();
    let mut out: Vec<Word> = Vec::with_capacity(words.len());
    let mut touched: Vec<Seen> = Vec::with_capacity(words.len());
    let mut passed: Vec<usize> = Vec::with_capacity(REACH);
    for k in 0..words.len() {
        let Some(mut w) = words[k].take() else { continue };
        let mut whole = access[k].clone();
        passed.clear();
        for j in k + 1..words.len().min(k + REACH) {
            let Some(next) = &words[j] else { continue };
            let free = || passed.iter().all(|p| !access[*p].conflicts(&access[j]));
            // An iteration reads nothing that an earlier one writes.
            match w.repeat_with(next).filter(|_| whole.joins(&access[j]) && free()) {
                Some(more) => {
                    w = more;
                    whole = Seen::of(&w);
                    words[j] = None;
                }
                None if access[j].fixed => break,
                None => passed.push(j),
            }
        }
        out.push(w);
        touched.push(whole);
    }
    (out, touched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::operands::{Role, Want, fits, operand};
    use crate::isa::registers::Reg;

    /// `to`.xy = `from`.xy
    fn copy(to: Reg, from: Reg) -> Word {
        let part = |role, reg, lanes| fits(operand(VMOV, role).unwrap(), &Want { reg, lanes, neg: false, abs: false }, &[]).unwrap();
        let mut e = part(Role::Dest, to, [None; 4]);
        e.extend(part(Role::Src1, from, [Some(0), Some(1), None, None]));
        e.extend([(field!(move_data_type), 5), (field!(dest_mask), 3)]);
        Word::new(VMOV, e, Span::NONE)
    }

    #[test]
    fn what_is_forgotten_is_scheduled_the_same() {
        let words = [copy(Reg::i(0), Reg::r(4)), copy(Reg::r(8), Reg::i(0)), copy(Reg::r(10), Reg::r(6))];
        let (mut known, mut forgetful) = (Known::default(), Known::forgetful());
        for words in [&words[..], &words[..1], &words[..]] {
            let once = schedule(words.to_vec(), true).unwrap();
            assert_eq!(known.schedule(words).unwrap(), once);
            assert_eq!(forgetful.schedule(words).unwrap(), once);
        }
        assert_eq!((known.blocks.len(), forgetful.blocks.len(), forgetful.words.len()), (2, 0, 0));
    }

    #[test]
    fn copies_that_stand_there_are_not_made_again() {
        let (inside, from) = (Reg::i(0), Reg::r(4));
        let left = |words: &[Word]| reuse(words.to_vec(), &mut Seen::of).0.len();
        assert_eq!(left(&[copy(inside, from), copy(Reg::r(8), Reg::r(6)), copy(inside, from)]), 2);
        // What is copied changed, or what it was copied to.
        assert_eq!(left(&[copy(inside, from), copy(from, Reg::r(6)), copy(inside, from)]), 3);
        assert_eq!(left(&[copy(inside, from), copy(inside, Reg::r(6)), copy(inside, from)]), 3);
    }
}
