//! PowerVR USSE (SGX543, PlayStation Vita): encodings, containers, simulator and code generation.
//!
//! Facts: the ISA sheet of the machine; `docs/targets/usse.md` tells the story.
#![forbid(unsafe_code)]

pub mod asm;
pub mod constants;
pub mod dual;
pub mod forms;
mod isa;
pub mod micro;
pub mod num;
pub mod operands;
pub mod regs;
pub mod sim;
pub mod swizzle;
pub mod text;

pub use isa::isa;
