//! Words of operations that were expanded before: most come again while placements of one program are compared.

use crate::isa::registers::Reg;
use crate::isa::word::Word;
use crate::place::Placement;
use crate::select::mir::Mop;
use smallvec::SmallVec;

/// Places of the virtual registers that an operation touches, in the order in which it names them.
pub type Places = SmallVec<[Option<Reg>; 8]>;

/// Where the virtual registers are that an operation touches.
pub fn places(op: &Mop, all: &Placement) -> Places {
    let mut out = Places::new();
    let mut last = None;
    for v in op.writes().chain(op.reads()) {
        if last.replace(v) != Some(v) {
            out.push(all.at[v.0 as usize]);
        }
    }
    out
}

/// What else the words of an operation depend on, where they do.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Internal registers that were taken: asked for where an operand was brought into one.
    pub busy: Option<[bool; 3]>,
    /// Literals before, and after it: asked for where a constant became one.
    pub literals: Option<(Vec<u32>, Vec<u32>)>,
}

#[derive(Debug)]
struct Entry {
    places: Places,
    asked: Asked,
    words: Vec<Word>,
}

/// Words by the number of their operation in the program.
#[derive(Debug, Default)]
pub struct Known(Vec<Vec<Entry>>);

impl Known {
    /// The words of operation `n`, and the literals behind it where it adds some.
    pub fn find(&self, n: usize, places: &Places, busy: [bool; 3], literals: &[u32]) -> Option<(&[Word], Option<&[u32]>)> {
        let same = |e: &&Entry| {
            e.places == *places
                && e.asked.busy.is_none_or(|b| b == busy)
                && e.asked.literals.as_ref().is_none_or(|(before, _)| before == literals)
        };
        let found = self.0.get(n)?.iter().find(same)?;
        Some((&found.words, found.asked.literals.as_ref().map(|(_, after)| &after[..])))
    }
    /// Notes what became of operation `n`.
    pub fn note(&mut self, n: usize, places: Places, asked: Asked, words: Vec<Word>) {
        if self.0.len() <= n {
            self.0.resize_with(n + 1, Vec::new);
        }
        self.0[n].push(Entry { places, asked, words });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_what_was_asked_for() {
        let place = |n: u16| -> Places { std::iter::once(Some(Reg::r(n))).collect() };
        let (free, taken) = ([false; 3], [false, true, false]);
        let mut known = Known::default();
        known.note(2, place(1), Asked::default(), Vec::new());
        known.note(2, place(2), Asked { busy: Some(free), literals: None }, Vec::new());
        known.note(2, place(3), Asked { busy: None, literals: Some((vec![7], vec![7, 9])) }, Vec::new());
        let found =
            |at: u16, busy, literals: &[u32]| known.find(2, &place(at), busy, literals).map(|(_, after)| after.map(<[u32]>::to_vec));
        assert_eq!((found(1, taken, &[8]), found(4, free, &[])), (Some(None), None));
        assert_eq!((found(2, free, &[8]), found(2, taken, &[8])), (Some(None), None));
        assert_eq!((found(3, taken, &[7]), found(3, free, &[8]), found(3, free, &[7, 9])), (Some(Some(vec![7, 9])), None, None));
        assert!(known.find(1, &place(1), free, &[]).is_none() && known.find(9, &place(1), free, &[]).is_none());
    }
}
