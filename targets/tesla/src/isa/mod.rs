//! The machine: its instructions as a table of forms, their text in both directions, what they compute, the chips.

pub mod arith;
pub mod chip;
pub mod decode;
pub mod effects;
pub mod flexgrip;
pub mod forms;
pub mod lint;
pub mod listing;
pub mod op;
pub mod operand;
pub mod parse;
pub mod places;
mod table;
pub mod text;
