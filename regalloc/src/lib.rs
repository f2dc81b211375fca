//! Register allocation: register files as data, regalloc2 behind a ladder, its checker as the judge.
//!
//! ```text
//!   Program (operands, blocks) ──guards──▶ MaxLive ──▶ Ion, file cut to the pressure ──▶ Ion, whole file ──▶ tree scan
//!                                            │                      └── first answer without forbidden slots wins ──┘
//!                                            └─ more live than places: AllocError::Pressure     └▶ checker ▶ Allocation
//! ```
//! A caller may have the tree scan before Ion (`ladder::Scan::First`): it takes much less time, and often no more moves. What is
//! [`known`] of a program serves all its allocations.
//!
//! One rule for all machines: a `PReg` is a register that any instruction form can name; a spill slot is a place in the
//! machine's *next* bank; `Any` means that the field can name both. A machine without memory refuses slots beyond its
//! register banks.
//!
//! Machines whose registers have lanes, or come in rows, place them with [`lanes`]; what finds no place there is brought into an
//! [`order`] that keeps little alive.
#![forbid(unsafe_code)]

pub mod error;
pub mod file;
pub mod flow;
pub mod judge;
pub mod known;
pub mod ladder;
pub mod lanes;
pub mod liveness;
pub mod order;
mod places;
pub mod program;
pub mod ranges;
pub mod tree;

pub use error::AllocError;
pub use file::{BankKind, ClassSpec, PlacedReg, RegFile, SlotBank};
pub use flow::{Flow, FlowBlock, Live, Point, ValueList, ValueSet};
pub use known::Known;
pub use ladder::{AllocOptions, AllocStep, Allocated, Scan, allocate, allocate_in};
pub use program::{BlockInfo, Program, ProgramBuilder};
pub use ranges::{Occupancy, Ranges};
pub use regalloc2;
pub use regalloc2::Ctx;
