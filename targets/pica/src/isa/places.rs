//! Which bytes a line of assembly stands for: what is indented and no directive is one word, in order.

use std::ops::Range;

/// The bytes of each line of a program's text.
pub fn lines(asm: &str) -> Vec<Option<Range<u32>>> {
    let mut at = 0;
    let place = |line: &str| {
        let instruction = line.starts_with(' ') && !line.trim_start().starts_with('.');
        instruction.then(|| {
            at += 4;
            at - 4..at
        })
    };
    asm.lines().map(place).collect()
}
