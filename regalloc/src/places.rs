//! Sets of places: registers and register slots, as bits.

use fixedbitset::FixedBitSet;
use regalloc2::{Allocation, PRegSet};

/// A set of registers and register slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    registers: PRegSet,
    slots: FixedBitSet,
}

impl Places {
    /// The registers among them.
    pub fn registers(&self) -> PRegSet {
        self.registers
    }
    /// Whether a place is in the set.
    pub fn contains(&self, a: Allocation) -> bool {
        match (a.as_reg(), a.as_stack()) {
            (Some(r), _) => self.registers.contains(r),
            (_, Some(s)) => self.slots.contains(s.index()),
            _ => false,
        }
    }
    /// Adds a place.
    pub fn insert(&mut self, a: Allocation) {
        if let Some(r) = a.as_reg() {
            self.registers.add(r);
        } else if let Some(s) = a.as_stack() {
            self.slots.grow_and_insert(s.index());
        }
    }
    /// Takes a place out.
    pub fn remove(&mut self, a: Allocation) {
        if let Some(r) = a.as_reg() {
            self.registers.remove(r);
        } else if let Some(s) = a.as_stack().filter(|s| self.slots.contains(s.index())) {
            self.slots.set(s.index(), false);
        }
    }
    /// This and another set.
    pub fn with(&self, other: &Places) -> Places {
        let mut all = self.clone();
        all.registers.union_from(other.registers);
        if !other.slots.is_empty() {
            all.slots.union_with(&other.slots);
        }
        all
    }
}

impl Extend<Allocation> for Places {
    fn extend<I: IntoIterator<Item = Allocation>>(&mut self, all: I) {
        all.into_iter().for_each(|a| self.insert(a));
    }
}

impl FromIterator<Allocation> for Places {
    fn from_iter<I: IntoIterator<Item = Allocation>>(all: I) -> Places {
        let mut places = Places::default();
        places.extend(all);
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regalloc2::{PReg, RegClass, SpillSlot};

    #[test]
    fn both_sets_have_registers_and_slots() {
        let (r, slot) = (|n| Allocation::reg(PReg::new(n, RegClass::Int)), |n| Allocation::stack(SpillSlot::new(n)));
        let (mut a, b): (Places, Places) = ([r(1), slot(2)].into_iter().collect(), [r(3), slot(70)].into_iter().collect());
        let all = a.with(&b);
        assert!([r(1), r(3), slot(2), slot(70)].into_iter().all(|x| all.contains(x)) && !all.contains(r(2)) && !all.contains(slot(3)));
        a.remove(slot(2));
        a.remove(slot(70));
        assert!(!a.contains(slot(2)) && a.contains(r(1)));
    }
}
