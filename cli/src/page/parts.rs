//! What a machine's code is made of, and how a line of it is shown.

use crate::lower::isa::Stats;

/// A figure that is a share of the whole: its key, its words for one and for several, and how much one weighs.
type Part = (&'static str, &'static str, &'static str, u64);

/// The figures of each machine that are shares of one whole: of the instructions, R700's of the bytes (a literal has four, a fetch sixteen).
const SHARES: &[(&str, &[Part])] = &[
    ("tesla", &[("short", "short", "short", 1), ("long", "long", "long", 1), ("imm", "immediate", "immediate", 1)]),
    (
        "usse",
        &[
            ("", "single", "single", 1),
            ("repeats", "repeated", "repeated", 1),
            ("dual", "dual issue", "dual issue", 1),
            ("nops", "NOP", "NOPs", 1),
        ],
    ),
    (
        "r700",
        &[
            ("alu_slots", "ALU slot", "ALU slots", 8),
            ("literals", "literal", "literals", 4),
            ("cf", "control flow", "control flow", 8),
            ("fetches", "fetch", "fetches", 16),
        ],
    ),
    ("pica", &[("", "instruction", "instructions", 1), ("nops", "NOP", "NOPs", 1)]),
];

/// What each machine calls its registers, and how many a program may have.
const REGISTERS: &[(&str, (&str, u64))] =
    &[("tesla", ("registers", 126)), ("usse", ("temporaries", 120)), ("r700", ("registers", 124)), ("pica", ("temporaries", 16))];

/// Figures with a bound: name, key and how much there is.
const BOUNDED: &[(&str, &[(&str, &str, u64)])] = &[
    ("usse", &[("primary attributes", "pa", 128), ("secondary attributes", "sa", 128)]),
    ("pica", &[("operand descriptors", "descriptors", 128)]),
];

/// The figures of each machine that are worth a word: of one, and of several.
const REMARKS: &[(&str, &[(&str, &str, &str)])] = &[
    (
        "tesla",
        &[
            ("loops", "loop", "loops"),
            ("local_bytes", "byte of local memory", "bytes of local memory"),
            ("shared_bytes", "byte of shared memory", "bytes of shared memory"),
        ],
    ),
    (
        "usse",
        &[
            ("secondary", "instruction of the secondary program", "instructions of the secondary program"),
            ("moves", "move", "moves"),
            ("literals", "literal", "literals"),
            ("samples", "texture read", "texture reads"),
            ("phases", "phase", "phases"),
            ("loops", "loop", "loops"),
        ],
    ),
    (
        "r700",
        &[
            ("alu_groups", "group", "groups"),
            ("clauses", "clause", "clauses"),
            ("longest_clauses", "clause on the longest path", "clauses on the longest path"),
            ("wavefronts", "wavefront by its registers", "wavefronts by their registers"),
            ("scratch_bytes", "byte of scratch memory", "bytes of scratch memory"),
            ("loops", "loop", "loops"),
        ],
    ),
    ("pica", &[("constants", "constant", "constants"), ("loops", "loop", "loops")]),
];

fn of<T: Copy>(table: &[(&str, T)], target: &str) -> Option<T> {
    table.iter().find(|(t, _)| *t == target).map(|(_, v)| *v)
}

fn figure(s: &Stats, key: &str) -> Option<u64> {
    s.detail.get(key).copied()
}

/// What the code is made of: names, counts and what they weigh together. What is not counted apart is the rest of the instructions.
pub fn shares(target: &str, s: &Stats) -> Vec<(&'static str, u64, u64)> {
    let keys = of(SHARES, target).unwrap_or(&[]);
    let apart: u64 = keys.iter().filter_map(|(key, ..)| figure(s, key)).sum();
    let value = |key: &str| if key.is_empty() { u64::from(s.instructions).saturating_sub(apart) } else { figure(s, key).unwrap_or(0) };
    let share = |(key, one, several, weight): &Part| {
        let n = value(key);
        (if n == 1 { *one } else { *several }, n, n.saturating_mul(*weight))
    };
    keys.iter().map(share).collect()
}

/// A figure beside the most that it can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meter {
    /// What it counts.
    pub what: &'static str,
    /// How far the bar goes, and where it would be full.
    pub share: (u64, u64),
    /// Figure and bound in words.
    pub text: String,
}

/// What of its code the machine executes at most for each vertex, fragment or thread, each loop once: the count, of how many, and in what.
/// USSE's secondary program, which runs once before all, is no part of either.
pub fn work(s: &Stats) -> Option<(u64, u64, &'static str)> {
    if let Some(n) = figure(s, "longest_groups") {
        return Some((n, figure(s, "alu_groups").unwrap_or(n), "groups"));
    }
    let n = figure(s, "longest_instructions")?;
    match (figure(s, "primary"), figure(s, "secondary")) {
        (Some(primary), Some(1..)) => Some((n, primary, "primary")),
        _ => Some((n, u64::from(s.instructions), "instructions")),
    }
}

/// Registers, occupancy, executed work and what else has a bound.
pub fn meters(target: &str, s: &Stats) -> Vec<Meter> {
    let meter = |what, n: u64, most: u64| Meter { what, share: (n, most), text: format!("{n} of {most}") };
    let mut out = Vec::new();
    if let Some((n, all, what)) = work(s).filter(|w| w.1 > 0) {
        let unit = if what == "instructions" { String::new() } else { format!(" {what}") };
        // What is called several times is stored once.
        let text = if n > all { format!("{n}{unit}, {all} stored") } else { format!("{n} of {all}{unit}") };
        out.push(Meter { what: "longest path", share: (n, all), text });
    }
    if let Some((what, most)) = of(REGISTERS, target) {
        out.push(meter(what, u64::from(s.registers), most));
    }
    if let (Some(n), Some(most)) = (figure(s, "warps"), figure(s, "most_warps")) {
        out.push(meter("warps", n, most));
    }
    if let (Some(slots), Some(groups @ 1..)) = (figure(s, "alu_slots"), figure(s, "alu_groups")) {
        let text = format!("{:.1} of 5", slots as f64 / groups as f64);
        out.push(Meter { what: "slots in a group", share: (slots, 5 * groups), text });
    }
    let bounded = of(BOUNDED, target).unwrap_or(&[]).iter();
    out.extend(bounded.filter_map(|(what, key, most)| Some(meter(what, figure(s, key)?, *most))));
    out
}

/// Figures with their words.
pub fn remarks(target: &str, s: &Stats) -> Vec<String> {
    let keys = of(REMARKS, target).unwrap_or(&[]).iter();
    keys.filter_map(|(key, one, several)| match figure(s, key)? {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {several}")),
    })
    .collect()
}

/// A line as it is shown: USSE's without the listing of all fields behind it.
pub fn shown<'a>(target: &str, line: &'a str) -> &'a str {
    match line.split_once(" ; ") {
        Some((native, _)) if target == "usse" => native,
        _ => line,
    }
}
