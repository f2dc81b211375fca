//! Rules of the file itself: where its parts lie, and what every published file leaves 0.

use super::*;

pub(super) fn apart(sections: &[Section], say: Say) {
    let mut all: Vec<&Section> = sections.iter().collect();
    all.sort_by_key(|s| s.1.start);
    for pair in all.windows(2) {
        if pair[1].1.start < pair[0].1.end {
            say(Some(pair[1].1.start as u64), format!("the {} and the {} overlap", pair[0].0, pair[1].0));
        }
    }
}

/// Fields that are 0 in every published file: where they stand in the header, their bytes, what they would count.
const ZEROS: &[(usize, usize, &str)] = &[
    (0x38, 2, "temporaries of a program for each sample"),
    (0x50, 4, "registers of scratch memory"),
    (0x54, 4, "registers of a thread's memory"),
    (0x58, 4, "literals in memory"),
    (0x60, 4, "texture buffers"),
    (0x88, 4, "words of texture buffers' state"),
];

/// The little-endian number of some bytes; 0 outside the file.
fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    let all = at.checked_add(size).and_then(|end| bytes.get(at..end)).unwrap_or(&[]);
    all.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// The place that the relative offset at `at` names.
fn target(bytes: &[u8], at: usize) -> usize {
    (at as i64 + number(bytes, at, 4) as u32 as i32 as i64).max(0) as usize
}

pub(super) fn zeros(g: &Gxp, bytes: &[u8], say: Say) {
    for (at, size, what) in ZEROS {
        let n = number(bytes, *at, *size);
        if n != 0 {
            say(Some(*at as u64), format!("{n} {what}"));
        }
    }
    let varyings = target(bytes, 0x2c);
    let padding = if g.is_fragment() { &[(0, 8), (9, 1)][..] } else { &[] };
    let containers = target(bytes, 0x94);
    let gaps = (0..g.containers.len()).map(|k| (containers + 8 * k + 2, 2));
    for (at, size) in padding.iter().map(|(at, size)| (varyings + at, *size)).chain(gaps) {
        if number(bytes, at, size) != 0 {
            say(Some(at as u64), format!("{:#x} where nothing stands", number(bytes, at, size)));
        }
    }
}

/// Where the parameters' names begin and end.
fn name_places(g: &Gxp, bytes: &[u8]) -> Vec<(usize, usize)> {
    let table = target(bytes, 0x28);
    let place = |(n, p): (usize, &Parameter)| {
        let at = target(bytes, table + 16 * n);
        (at, at + p.name.len() + 1)
    };
    g.parameters.iter().enumerate().map(place).collect()
}

pub(super) fn size(g: &Gxp, bytes: &[u8], say: Say) {
    let size = number(bytes, 8, 4) as usize;
    let parts = sections(bytes).unwrap_or_default();
    let names = name_places(g, bytes).into_iter().map(|n| n.1);
    let end = parts.into_iter().map(|s| s.1.end).chain(names).max().unwrap_or(0);
    if end > size {
        say(Some(8), format!("{size} bytes, the last part ends at {end}"));
    }
}

pub(super) fn names(g: &Gxp, bytes: &[u8], say: Say) {
    let table = target(bytes, 0x28);
    for ((n, p), (at, _)) in g.parameters.iter().enumerate().zip(name_places(g, bytes)) {
        if at < table + 16 * g.parameters.len() || p.name.is_empty() {
            say(Some((table + 16 * n) as u64), format!("`{}` at {at:#x}", p.name));
        }
        if g.parameters[..n].iter().any(|before| before.name == p.name) {
            say(Some((table + 16 * n) as u64), format!("two parameters `{}`", p.name));
        }
    }
}
