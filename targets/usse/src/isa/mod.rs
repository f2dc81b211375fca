//! The instruction set: the table of forms, operands and what each may be, registers, text in both directions, and what a
//! word does.

pub mod access;
pub mod asm;
pub mod constants;
pub mod dual;
pub mod effects;
pub mod forms;
pub mod immediate;
pub mod lint;
pub mod names;
pub mod operands;
pub mod operation;
pub mod parse;
pub mod places;
pub mod registers;
pub mod row;
pub mod swizzle;
pub mod text;
pub mod word;
