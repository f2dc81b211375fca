//! Which bytes a line of assembly stands for: control flow is numbered, clauses say where they start.

use std::ops::Range;

/// Bytes of a control-flow instruction, an ALU operation and a pair of literals.
const UNIT: u32 = 8;
/// Bytes of a fetch.
const FETCH: u32 = 16;

/// The bytes of each line of a program's text.
pub fn lines(asm: &str) -> Vec<Option<Range<u32>>> {
    let (mut at, mut fetches) = (0, false);
    let place = |line: &str| {
        if let Some((head, start)) = line.trim_end_matches(':').split_once(" clause starting at ") {
            fetches = head == "Fetch";
            at = UNIT * start.parse::<u32>().ok()?;
            return None;
        }
        // Between the control flow and the clauses, and between clauses.
        if line.trim() == "PAD" {
            at += UNIT;
            return Some(at - UNIT..at);
        }
        if !line.starts_with(' ') {
            let number: u32 = line.rsplit_once(';')?.1.trim().parse().ok()?;
            at = UNIT * (number + 1);
            return Some(at - UNIT..at);
        }
        // A line of literals has as many as stand behind the group, two in a unit.
        let literals = line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        let size = match (fetches, literals) {
            (true, _) => FETCH,
            (false, true) => UNIT * (line.split(", ").count() as u32).div_ceil(2),
            (false, false) => UNIT,
        };
        at += size;
        Some(at - size..at)
    };
    asm.lines().map(place).collect()
}
