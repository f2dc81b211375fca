//! PowerVR USSE (SGX543, PlayStation Vita): encodings, containers, simulator and code generation.
//!
//! Facts: the ISA sheet of the machine; `docs/targets/usse.md` tells the story.
#![forbid(unsafe_code)]
// Lanes are numbered: several arrays are walked by one lane number.
#![allow(clippy::needless_range_loop, clippy::type_complexity)]

pub mod abi;
pub mod access;
pub mod alloc;
pub mod asm;
pub mod compile;
pub mod constants;
pub mod container;
pub mod dual;
pub mod expand;
pub mod flags;
pub mod forms;
pub mod immediate;
pub mod interface;
mod isa;
pub mod judge;
pub mod kills;
pub mod legal;
pub mod lint;
pub mod live;
pub mod load;
pub mod micro;
pub mod mop;
pub mod names;
pub mod narrow;
pub mod native;
pub mod num;
pub mod operands;
pub mod pack;
pub mod pairing;
pub mod regs;
pub mod rows;
pub mod select;
pub mod sim;
pub mod swizzle;
pub mod text;
pub mod word;

pub use isa::isa;
