//! What a machine's code is made of, and how a line of it is shown.

use crate::lower::isa::Stats;

/// The figures of each machine that are shares of one whole.
const SHARES: &[(&str, &[(&str, &str)])] = &[
    ("tesla", &[("short", "short"), ("long", "long"), ("imm", "immediate")]),
    ("usse", &[("primary", "primary"), ("secondary", "secondary")]),
    ("r700", &[("alu_slots", "ALU"), ("literals", "literals"), ("cf", "control flow"), ("fetches", "fetches")]),
    ("pica", &[("instructions", "instructions"), ("nops", "NOPs")]),
];

/// The figures of each machine that are worth a word.
const REMARKS: &[(&str, &[(&str, &str)])] = &[
    ("tesla", &[("warps", "warps"), ("local_bytes", "bytes of local memory")]),
    ("usse", &[("repeats", "repeats"), ("dual", "dual issues"), ("moves", "moves"), ("nops", "NOPs"), ("phases", "phases")]),
    ("r700", &[("alu_groups", "groups"), ("longest_groups", "groups on the longest path"), ("clauses", "clauses")]),
    ("pica", &[("descriptors", "descriptors"), ("constants", "constants")]),
];

fn of<T: Copy>(table: &[(&str, T)], target: &str) -> Option<T> {
    table.iter().find(|(t, _)| *t == target).map(|(_, v)| *v)
}

/// What the code is made of: names and counts.
pub fn shares(target: &str, s: &Stats) -> Vec<(&'static str, u64)> {
    let count = |key: &str| s.detail.get(key).copied().unwrap_or(0);
    let keys = of(SHARES, target).unwrap_or(&[]);
    // What is not counted apart is the rest of the instructions.
    let value = |key: &str| if key == "instructions" { u64::from(s.instructions).saturating_sub(count("nops")) } else { count(key) };
    keys.iter().map(|(key, what)| (*what, value(key))).collect()
}

/// Figures with their words.
pub fn remarks(target: &str, s: &Stats) -> Vec<String> {
    let keys = of(REMARKS, target).unwrap_or(&[]);
    let count = |key: &str| s.detail.get(key).copied().filter(|n| *n > 0);
    let mut out: Vec<String> = keys.iter().filter_map(|(key, what)| Some(format!("{} {what}", count(key)?))).collect();
    if let (Some(slots), Some(groups @ 1..)) = (s.detail.get("alu_slots"), s.detail.get("alu_groups")) {
        out.push(format!("{:.1} slots in a group", *slots as f64 / *groups as f64));
    }
    out
}

/// A line as it is shown: USSE's without the listing of all fields behind it.
pub fn shown<'a>(target: &str, line: &'a str) -> &'a str {
    match line.split_once(" ; ") {
        Some((native, _)) if target == "usse" => native,
        _ => line,
    }
}
