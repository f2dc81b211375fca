//! PICA200 (Nintendo 3DS): vertex and geometry programs on a float24 vector machine without memory.
//!
//! The rooms, in the order in which a shader walks through them:
//!
//! ```text
//! legal      the IR becomes what the machine has, and nothing else: integers and truth values become floats
//! abi        where inputs, outputs and uniforms live, and what the fixed pipeline makes of outputs
//! select     values become tuples of scalars (MIR); which loops LOOP counts; operands that the machine takes
//! place      scalars become lanes of operations, registers and components
//! emit       operations become instructions: constants, address registers, blocks, jumps, descriptors
//! container  words become a .shbin file; its reader
//! isa        the instruction set as data: encode, decode, text in both directions, what the hardware forbids
//! sim        runs containers
//! target     the interface to the rest of the compiler; compile holds the ways that are tried
//! ```
//!
//! Facts: the ISA sheet of the machine; `docs/targets/pica.md` tells the story.
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
