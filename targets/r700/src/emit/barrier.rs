//! Which control-flow instructions must wait: BARRIER stays only where an unfinished clause or export is in the way.
//!
//! Clauses and exports may overlap as long as none reads or writes what an unfinished one writes or reads. Instructions that
//! change masks or the stack, memory exports and places that a jump may lead to always wait.

use crate::isa::forms::{Effect, Format, TABLE, cf_alu, field};
use crate::isa::program::{Clause, Program, fetch_space};
use crate::isa::word::Group;
use retroshade_emit::Word;
use std::collections::BTreeSet;

/// What a clause or an export reads and writes: registers as bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Touched {
    reads: u128,
    writes: u128,
    /// Execute masks or valid bits change.
    masks: bool,
}

const ALL: u128 = u128::MAX;

fn bit(r: u64) -> u128 {
    1 << (r & 127)
}

impl Touched {
    /// Adds a group.
    pub fn group(&mut self, g: &Group) {
        for s in &g.slots {
            for x in s.sources().iter().filter(|x| x.is_gpr()) {
                self.reads |= if x.rel { ALL } else { bit(x.sel as u64) };
            }
            if s.writes() {
                self.writes |= if s.dst_rel { ALL } else { bit(s.dst as u64) };
            }
            self.masks |= s.alu().effect == Effect::Kill || s.update_exec;
        }
    }
    /// Adds a fetch.
    pub fn fetch(&mut self, w: &Word) {
        self.reads |= TABLE.get(w, field!(SRC_GPR)).map_or(0, bit);
        self.writes |= TABLE.get(w, field!(DST_GPR)).map_or(0, bit);
    }
    /// An export of a register and `burst` more.
    pub fn export(gpr: u64, burst: u64) -> Touched {
        Touched { reads: (0..=burst).fold(0, |r, k| r | bit(gpr + k)), ..Touched::default() }
    }
}

/// By control-flow instruction: whether it must wait for what comes before it. `None` stands for what nothing may pass.
pub fn needed(list: &[Option<Touched>]) -> Vec<bool> {
    needed_beside(list, |_| false)
}

/// As [`needed`], where some wait anyway: nothing before them is unfinished then.
fn needed_beside(list: &[Option<Touched>], waits: impl Fn(usize) -> bool) -> Vec<bool> {
    // What has not been waited for; `None` after instructions that nothing may pass.
    let mut open: Option<Touched> = Some(Touched::default());
    let mut out = Vec::with_capacity(list.len());
    for (i, own) in list.iter().enumerate() {
        let wait = match (open, own) {
            (Some(o), Some(t)) => o.masks || t.reads & o.writes != 0 || t.writes & (o.reads | o.writes) != 0,
            _ => true,
        };
        open = match own {
            Some(t) if wait || waits(i) => Some(*t),
            Some(t) => open.map(|o| Touched { reads: o.reads | t.reads, writes: o.writes | t.writes, masks: o.masks | t.masks }),
            None => None,
        };
        out.push(wait);
    }
    out
}

/// As [`needed`], for a decoded program and what waits in it.
pub fn needed_in(p: &Program) -> Vec<bool> {
    let jumps = |w: &&crate::isa::word::Word| w.info().format == Format::Cf && fetch_space(w).is_none() && w.get(field!(ADDR)) != 0;
    let targets: BTreeSet<u64> = p.cf.iter().filter(jumps).map(|w| w.get(field!(ADDR))).collect();
    let touched = |i: usize| {
        let w = &p.cf[i];
        let clause = || p.clauses.get(&(w.get(field!(ADDR)) as u32));
        if targets.contains(&(i as u64)) {
            return None;
        }
        let mut t = Touched::default();
        match w.info().format {
            Format::CfAlu if w.form() == cf_alu::ALU => {
                let Some(Clause::Alu(groups)) = clause() else { return None };
                groups.iter().for_each(|(_, g)| t.group(g));
            }
            Format::ExpSwiz => t = Touched::export(w.get(field!(RW_GPR)), w.get(field!(BURST_COUNT))),
            Format::Cf if fetch_space(w).is_some() => {
                let Some(Clause::Fetch(list)) = clause() else { return None };
                list.iter().for_each(|(_, f)| t.fetch(&f.0));
            }
            _ => return None,
        }
        Some(t)
    };
    let list: Vec<_> = (0..p.cf.len()).map(touched).collect();
    needed_beside(&list, |i| p.cf[i].get(field!(BARRIER)) == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touches(reads: u128, writes: u128) -> Option<Touched> {
        Some(Touched { reads, writes, masks: false })
    }
    /// Which of the later ones waits; the first has nothing before it.
    fn waits(list: &[Option<Touched>]) -> Vec<bool> {
        needed(list)[1..].to_vec()
    }

    #[test]
    fn what_meets_an_unfinished_clause_waits() {
        let first = touches(0b0001, 0b0010);
        assert_eq!(waits(&[first, touches(0b0010, 0)]), [true], "reads what is written");
        assert_eq!(waits(&[first, touches(0, 0b0001)]), [true], "writes what is read");
        assert_eq!(waits(&[first, touches(0, 0b0010)]), [true], "writes what is written");
        assert_eq!(waits(&[first, touches(0b0001, 0b0100)]), [false], "reads what is read");
    }

    #[test]
    fn everything_since_the_last_wait_is_unfinished() {
        let apart = touches(0b01_0000, 0b10_0000);
        for (first, last) in [(touches(1, 0), touches(0, 1)), (touches(0, 1), touches(1, 0)), (touches(0, 1), touches(0, 1))] {
            assert_eq!(waits(&[first, apart, last]), [false, true]);
            // Who waits has everything behind it, and is itself the first that is unfinished.
            assert_eq!(waits(&[first, last, apart, touches(0b10_0000, 0)]), [true, false, true]);
            assert_eq!(waits(&[first, last, apart, touches(0b100, 0b1000)]), [true, false, false]);
        }
    }

    #[test]
    fn what_waits_without_need_is_waited_for_too() {
        let (clause, apart, reader) = (touches(0, 1), touches(0b10, 0b100), touches(1, 0));
        assert_eq!(needed_beside(&[clause, apart, reader], |_| false), [false, false, true]);
        assert_eq!(needed_beside(&[clause, apart, reader], |i| i == 1), [false, false, false]);
        assert_eq!(needed_beside(&[clause, apart, reader, touches(0b100, 0)], |i| i == 1), [false, false, false, true]);
    }

    #[test]
    fn masks_and_what_is_not_known_make_the_next_one_wait() {
        let kills = Some(Touched { masks: true, ..Touched::default() });
        assert_eq!(waits(&[kills, touches(1, 2)]), [true]);
        assert_eq!(waits(&[kills, touches(1, 2), touches(4, 8)]), [true, false]);
        assert_eq!(waits(&[touches(1, 2), kills, touches(4, 8)]), [false, true]);
        assert_eq!(waits(&[touches(1, 2), None, touches(4, 8)]), [true, true]);
    }
}
