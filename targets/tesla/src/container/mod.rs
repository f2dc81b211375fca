//! The container: an ELF file, or the code alone in a build without the feature `elf`.

#[cfg(feature = "elf")]
mod elf;
pub mod mif;
#[cfg(feature = "elf")]
pub use elf::{read, write};

#[cfg(not(feature = "elf"))]
mod plain;
#[cfg(not(feature = "elf"))]
pub use plain::{read, write};
