//! PowerVR USSE (SGX543, PlayStation Vita): encodings, containers, simulator and code generation.
//!
//! The rooms, in the order in which a shader walks through them:
//!
//! ```text
//! legal      the IR becomes what the machine has, and nothing else
//! abi        where attributes, varyings, uniforms, texture state and literals live
//! select     values become operations on virtual registers (MIR)
//! place      virtual registers become registers
//! emit       operations become words: form choice, pairs, repeats, flags, branches
//! container  words become a .gxp file; its reader, its rules
//! isa        the instruction set as data: encode, decode, text in both directions, what a word does
//! sim        runs containers
//! target     the interface to the rest of the compiler; compile holds the ways that are tried
//! ```
//!
//! Facts: the ISA sheet of the machine; `docs/targets/usse.md` tells the story.
#![forbid(unsafe_code)]
// Lanes are numbered: several arrays are walked by one lane number.
#![allow(clippy::needless_range_loop, clippy::type_complexity)]

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
