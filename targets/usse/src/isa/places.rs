//! Which bytes a line of assembly stands for: each instruction begins with its address.

use std::ops::Range;

/// The bytes of an instruction's line.
pub fn line(text: &str) -> Option<Range<u32>> {
    let (at, _) = text.split_once(": ")?;
    let at = u32::from_str_radix(at, 16).ok()?;
    Some(at..at + 8)
}
