//! The instruction set: the table of forms, registers, encode and decode, text in both directions, and what the hardware forbids.

pub mod asm;
pub mod dis;
pub mod effects;
pub mod flow;
pub mod forms;
pub mod lint;
pub mod parse;
pub mod places;
pub mod registers;
pub mod text;
pub mod word;
