//! Why an allocation failed.

use thiserror::Error;

/// A failed allocation; ids are those of the [`crate::Program`], the caller turns them into names and spans.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// More values are live than there are places.
    #[error("{live} values of class {class} are live at once, {limit} places exist")]
    Pressure {
        /// Name of the class.
        class: &'static str,
        /// How many values are live (or the best that any step reached plus one).
        live: u32,
        /// Registers and register slots.
        limit: u32,
        /// How many slots there were too few for the best answer; 0 where there was none.
        lacking: u32,
        /// The instruction at the peak.
        inst: u32,
        /// The values live there.
        vregs: Vec<u32>,
    },
    /// First fit found no place for all units of lanes.
    #[error("{needed} registers of {bank} are needed, {available} exist")]
    Registers {
        /// Name of the bank.
        bank: &'static str,
        /// How many registers this allocation takes without the bank's end.
        needed: u32,
        /// How many there are.
        available: u32,
        /// The first value that found no place.
        value: u32,
        /// How long some place would have been free for it: split there, it fits; none where no place is free at all.
        until: Option<u32>,
        /// The values live where that one begins.
        live: Vec<u32>,
    },
    /// Values that must share a register, or have a settled place, exclude each other there.
    #[error("values {values:?} cannot be placed together")]
    Together {
        /// The values of the unit.
        values: Vec<u32>,
    },
    /// The operands ask for what regalloc2 cannot do or does wrongly; a bug in the target.
    #[error("instruction {inst}: {what}")]
    BadOperands {
        /// The instruction.
        inst: u32,
        /// What is wrong.
        what: String,
    },
    /// regalloc2 refused for another reason; a bug.
    #[error("regalloc2: {0}")]
    Internal(String),
}
