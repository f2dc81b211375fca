//! Which bytes a line of assembly stands for: the comment behind each instruction says it.

use std::ops::Range;

/// The bytes of an instruction's line, whose comment is its address and whether it is short.
pub fn line(text: &str) -> Option<Range<u32>> {
    let (_, comment) = text.rsplit_once("// ")?;
    let (at, size) = comment.split_once(' ')?;
    let at = u32::from_str_radix(at, 16).ok()?;
    Some(at..at + if size.trim() == "s" { 4 } else { 8 })
}
