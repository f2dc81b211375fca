//! NVIDIA Tesla (G80 to GT21x): the scalar SIMT machine with 4- and 8-byte instructions and a divergence stack.
#![forbid(unsafe_code)]

pub mod abi;
pub mod arith;
pub mod asm;
pub mod chip;
mod combine;
mod compile;
pub mod container;
pub mod decode;
pub mod emit;
pub mod encode;
pub mod expand;
pub mod forms;
mod forms_table;
pub mod inst;
pub mod legal;
mod legal_texture;
pub mod lint;
pub mod listing;
mod lower;
mod memory;
pub mod numerics;
pub mod op;
pub mod pairing;
pub mod patterns;
mod sched;
mod select;
pub mod sim;
mod target;
pub mod text;
mod texture;

pub use compile::phases;
pub use target::isa;
