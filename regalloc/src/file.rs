//! A machine's register file as data, and where an operand ended.

use regalloc2::{Allocation, MachineEnv, PReg, PRegSet, RegClass};

/// One of the three disjoint register classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassSpec {
    /// Name for messages and dumps (`$r`, `$c`, `R`).
    pub name: &'static str,
    /// Registers that may be allocated: `PReg` 0 … count-1 (at most 64; class `Int` at most 63).
    pub count: u8,
    /// Slot units that a spilled value of the class takes (a power of two).
    pub slot_units: u8,
}

/// What a bank of spill slots is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankKind {
    /// More registers, which operands marked `Any` can name.
    Register,
    /// Memory, reached by loads and stores.
    Memory,
}

/// Consecutive spill slots with one meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotBank {
    /// Name for messages and dumps.
    pub name: &'static str,
    /// The hardware number of the bank's first slot.
    pub first_hw: u32,
    /// Number of slots.
    pub slots: u32,
    /// What they are.
    pub kind: BankKind,
}

/// A register file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegFile {
    /// The classes in the order `Int`, `Float`, `Vector`; absent ones have count 0.
    pub classes: [ClassSpec; 3],
    /// What spill slots are, in order; none: spilling is forbidden.
    pub slots: Vec<SlotBank>,
    /// Registers that hold inputs and can be read in place but never be allocated.
    pub inputs: Vec<PReg>,
    /// Registers of the classes that this function may not use (reserved blocks, arrays).
    pub reserved: PRegSet,
    /// Numbers of registers per class, ascending, up to which more of them cost nothing (threads that share the file fit
    /// as often); none: every register counts.
    pub steps: [Vec<u8>; 3],
}

/// A class that the machine does not have.
pub const NO_CLASS: ClassSpec = ClassSpec { name: "", count: 0, slot_units: 1 };

/// Where an operand ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlacedReg {
    /// A register of a class.
    Reg {
        /// 0 `Int`, 1 `Float`, 2 `Vector`.
        class: u8,
        /// Number within the class.
        index: u8,
    },
    /// A slot of a bank.
    Slot {
        /// Index into [`RegFile::slots`].
        bank: u8,
        /// The hardware number (`first_hw` plus the position in the bank).
        hw: u32,
    },
}

impl RegFile {
    /// Slots that are registers.
    pub fn register_slots(&self) -> u32 {
        self.slots.iter().filter(|b| b.kind == BankKind::Register).map(|b| b.slots).sum()
    }
    /// All slots.
    pub fn all_slots(&self) -> u32 {
        self.slots.iter().map(|b| b.slots).sum()
    }
    /// Translates an allocation; `None` for a slot beyond the last bank.
    pub fn place(&self, a: Allocation) -> Option<PlacedReg> {
        if let Some(p) = a.as_reg() {
            return Some(PlacedReg::Reg { class: p.class() as u8, index: p.hw_enc() as u8 });
        }
        let mut n = a.as_stack()?.index() as u32;
        for (bank, b) in self.slots.iter().enumerate() {
            if n < b.slots {
                return Some(PlacedReg::Slot { bank: bank as u8, hw: b.first_hw + n });
            }
            n -= b.slots;
        }
        None
    }
    /// The environment with the first `k` registers of each class.
    pub fn env(&self, k: [u8; 3]) -> MachineEnv {
        let mut sets = [PRegSet::default(); 3];
        for (class, set) in [RegClass::Int, RegClass::Float, RegClass::Vector].into_iter().zip(&mut sets) {
            for i in 0..k[class as usize].min(self.classes[class as usize].count) {
                let p = PReg::new(i as usize, class);
                if !self.reserved.contains(p) {
                    set.add(p);
                }
            }
        }
        MachineEnv {
            preferred_regs_by_class: sets,
            non_preferred_regs_by_class: [PRegSet::default(); 3],
            scratch_by_class: [None; 3],
            fixed_stack_slots: self.inputs.clone(),
        }
    }
    /// How many registers of a class cost as much as `n`.
    pub fn step(&self, class: usize, n: u32) -> u32 {
        self.steps[class].iter().map(|s| *s as u32).find(|s| *s >= n).unwrap_or(n)
    }
    /// Registers of a class that may be allocated.
    pub fn available(&self, class: usize) -> u32 {
        let c = [RegClass::Int, RegClass::Float, RegClass::Vector][class];
        (0..self.classes[class].count).filter(|i| !self.reserved.contains(PReg::new(*i as usize, c))).count() as u32
    }
}
