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
        /// The instruction at the peak.
        inst: u32,
        /// The values live there.
        vregs: Vec<u32>,
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
