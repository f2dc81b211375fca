//! PowerVR USSE (SGX543, PlayStation Vita): encodings, containers, simulator and code generation.
//!
//! Facts: the ISA sheet of the machine; `docs/targets/usse.md` tells the story.
#![forbid(unsafe_code)]

pub mod asm;
pub mod dual;
pub mod forms;
mod isa;
pub mod constants;
pub mod micro;
pub mod num;
pub mod sim;
pub mod operands;
pub mod regs;
pub mod swizzle;
pub mod text;

pub use isa::isa;
