//! A group under construction, and the constant lines of the clause around it: what still has room for an operation.

use crate::isa::ports::{self, SlotReads};
use smallvec::SmallVec;

/// Constant lines that an ALU clause locks: at most two sets of one or two neighbouring lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines {
    /// (buffer, line), in ascending order.
    all: [(u8, u16); MOST_LINES],
    count: usize,
    /// Whether there are more than these, which no sets cover.
    more: bool,
}

/// Lines in two sets.
const MOST_LINES: usize = 4;

impl Lines {
    /// Adds a line of a buffer; whether it is a new one.
    pub fn insert(&mut self, bank: u8, line: u16) -> bool {
        let Err(at) = self.all[..self.count].binary_search(&(bank, line)) else { return false };
        if self.count == MOST_LINES {
            self.more = true;
        } else {
            self.all.copy_within(at..self.count, at + 1);
            self.all[at] = (bank, line);
            self.count += 1;
        }
        true
    }
    /// The sets that cover the lines, or `None` where two do not suffice: (buffer, first line, lines).
    pub fn sets(&self) -> Option<SmallVec<[(u8, u16, u8); MOST_LINES]>> {
        let mut out: SmallVec<[(u8, u16, u8); MOST_LINES]> = SmallVec::new();
        for (bank, line) in &self.all[..self.count] {
            match out.last_mut() {
                Some((b, first, n)) if *b == *bank && *line == *first + 1 && *n == 1 => *n = 2,
                _ => out.push((*bank, *line, 1)),
            }
        }
        (!self.more && out.len() <= 2).then_some(out)
    }
}

/// An operation in the open group.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub(super) op: u32,
    pub(super) unit: u8,
    pub(super) chan: u8,
    pub(super) bank: u8,
    /// First of its operands (reductions have two for each unit), and whether its result counts.
    pub(super) first: u8,
    pub(super) result: bool,
}

/// A group under construction. Copied for every try that is not hopeless from the start.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) slots: [Taken; 5],
    pub(super) reads: [SlotReads; 5],
    pub(super) count: usize,
    pub(super) units: [bool; 5],
    pub(super) literals: [u32; 4],
    pub(super) words: usize,
    pub(super) pairs: [u32; 2],
    pub(super) halves: usize,
    pub(super) ports: ports::Ports,
    /// Constant lines of the clause with this group.
    pub(super) lines: Lines,
    pub(super) exclusive: bool,
    pub(super) mova: bool,
    pub(super) relative: bool,
}

impl Open {
    pub(super) fn new(lines: Lines) -> Open {
        let slot = Taken { op: 0, unit: 0, chan: 0, bank: 0, first: 0, result: false };
        Open {
            slots: [slot; 5],
            reads: [SlotReads::default(); 5],
            count: 0,
            units: [false; 5],
            literals: [0; 4],
            words: 0,
            pairs: [0; 2],
            halves: 0,
            ports: ports::Ports::default(),
            lines,
            exclusive: false,
            mova: false,
            relative: false,
        }
    }
    pub(super) fn size(&self) -> usize {
        self.count + self.words.div_ceil(2)
    }
    /// A literal's word; operands carry the sign where they may.
    pub(super) fn literal(&mut self, bits: u32, float: bool) -> bool {
        let words = &self.literals[..self.words];
        if words.contains(&bits) || float && words.contains(&(bits ^ 0x8000_0000)) {
            return true;
        }
        if self.words == 4 {
            return false;
        }
        self.literals[self.words] = bits;
        self.words += 1;
        true
    }
    /// Whether there is room for these halves of constant registers.
    pub(super) fn has_room_for(&self, halves: &[u32]) -> bool {
        let taken = &self.pairs[..self.halves];
        self.halves + halves.iter().filter(|h| !taken.contains(h)).count() <= self.pairs.len()
    }
    pub(super) fn half(&mut self, key: u32) -> bool {
        if self.pairs[..self.halves].contains(&key) {
            return true;
        }
        if self.halves == 2 {
            return false;
        }
        self.pairs[self.halves] = key;
        self.halves += 1;
        true
    }
    /// Bank swizzles for the slot added last: one beside the chosen ones, or new ones for all.
    pub(super) fn banks(&mut self, from: usize) -> bool {
        let mut fits = true;
        for k in from..self.count {
            let found = ports::different(&self.reads[k]).iter().find_map(|s| {
                let mut p = self.ports;
                ports::reserve(&self.reads[k], *s, &mut p).then_some((*s, p))
            });
            match found {
                Some((s, p)) => (self.slots[k].bank, self.ports) = (s as u8, p),
                None => {
                    fits = false;
                    break;
                }
            }
        }
        if fits {
            return true;
        }
        let Some(all) = ports::swizzles(&self.reads[..self.count]) else { return false };
        self.ports = ports::Ports::default();
        for (k, s) in all.iter().enumerate() {
            self.slots[k].bank = *s;
            ports::reserve(&self.reads[k], *s as usize, &mut self.ports);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_locks_two_sets_of_one_or_two_neighbouring_lines() {
        let sets = |lines: &[(u8, u16)]| {
            let mut all = Lines::default();
            for (bank, line) in lines {
                all.insert(*bank, *line);
            }
            all.sets().map(|s| s.to_vec())
        };
        assert_eq!(sets(&[(0, 3), (0, 2)]), Some(vec![(0, 2, 2)]));
        assert_eq!(sets(&[(0, 2), (0, 3), (0, 4)]), Some(vec![(0, 2, 2), (0, 4, 1)]));
        assert_eq!(sets(&[(0, 2), (0, 4)]), Some(vec![(0, 2, 1), (0, 4, 1)]));
        assert_eq!(sets(&[(0, 2), (1, 3)]), Some(vec![(0, 2, 1), (1, 3, 1)]));
        assert_eq!(sets(&[(0, 2), (0, 4), (0, 6)]), None);
        assert_eq!(sets(&[(0, 5), (0, 4), (0, 3), (0, 2)]), Some(vec![(0, 2, 2), (0, 4, 2)]));
        assert_eq!(sets(&[(0, 5), (0, 4), (0, 3), (0, 2), (0, 6)]), None);
    }
}
