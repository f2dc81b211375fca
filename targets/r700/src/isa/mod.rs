//! The instruction set: the table of forms, words and groups, whole programs, text in both directions, and the machine's rules.

pub mod effects;
pub mod forms;
pub mod lint;
pub mod parse;
pub mod places;
pub mod ports;
pub mod program;
pub mod text;
pub mod word;
