//! NVIDIA Tesla (G80 to GT21x): the scalar SIMT machine with 4- and 8-byte instructions and a divergence stack.
//!
//! ```text
//!   Module ─legal─▶ scalar IR, structure ─select─▶ MInst/VReg ─place─▶ MInst/$r ─emit─▶ words ─container─▶ ELF
//!                                       abi: a[] c[] o[] $r0…      isa: forms, text, arithmetic      sim: runs words
//! ```
#![forbid(unsafe_code)]

pub mod abi;
mod compile;
pub mod container;
pub mod emit;
pub mod isa;
pub mod legal;
mod place;
mod reflect;
mod search;
pub mod select;
pub mod sim;
mod target;

pub use compile::phases;
pub use target::isa;
