//! AMD R700 (RV770 family): clauses, five-wide instruction groups and a control-flow program.
//!
//! The rooms, in the order in which a shader walks through them:
//!
//! ```text
//! legal      the IR becomes what the machine has, and nothing else
//! abi        where inputs, outputs, constants and textures live
//! select     values become scalar operations over webs (MIR)
//! place      copies vanish; schedule, groups and clauses; webs become registers, or go to scratch memory
//! emit       groups become words: clauses, control flow, exports, barriers
//! container  the object, the register words that a driver programs, the programs beside the main one
//! isa        the instruction set as data: encode, decode, text in both directions, lint
//! sim        executes programs
//! target     the interface to the rest of the compiler; compile holds the ways that are tried
//! ```
//!
//! Facts come from AMD's "R700-Family Instruction Set Architecture" and from what open drivers program; `docs/targets/r700.md`
//! describes the machine as this crate sees it.
#![forbid(unsafe_code)]

pub mod abi;
pub mod compile;
pub mod container;
pub mod emit;
pub mod isa;
pub mod legal;
pub mod place;
pub mod select;
pub mod sim;
mod target;

/// The target.
pub fn isa() -> &'static dyn retroshade_lower::TargetIsa {
    target::isa()
}
