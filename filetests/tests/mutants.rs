//! The list of mutants (`tools/mutants/list.txt`) applies to the sources as they are: no change of the compiler leaves it behind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A mutant of the list: its name, the file, and the text that stands there with what it becomes.
struct Mutant<'a> {
    name: &'a str,
    file: &'a str,
    tests: &'a str,
    old: &'a str,
    new: &'a str,
}

fn mutant(part: &str) -> Option<Mutant<'_>> {
    let (head, rest) = part.split_once("\n<<<\n")?;
    let (old, rest) = rest.split_once("\n===\n")?;
    let (new, _) = rest.split_once("\n>>>")?;
    let mut lines = head.lines();
    Some(Mutant {
        name: lines.next()?,
        file: lines.next()?.strip_prefix("file: ")?,
        tests: lines.next()?.strip_prefix("tests: ")?,
        old,
        new,
    })
}

#[test]
fn every_mutant_applies() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let list = std::fs::read_to_string(root.join("tools/mutants/list.txt")).expect("the list");
    let (mut names, mut areas) = (BTreeSet::new(), BTreeMap::new());
    let mut wrong = Vec::new();
    for part in list.split("\n## ").skip(1) {
        let Some(m) = mutant(part) else { panic!("cannot be read: {}", part.lines().next().unwrap_or_default()) };
        assert!(names.insert(m.name), "two mutants are named {}", m.name);
        let source = std::fs::read_to_string(root.join(m.file)).unwrap_or_else(|e| panic!("{}: {}: {e}", m.name, m.file));
        match source.matches(m.old).count() {
            1 if m.old != m.new && !m.tests.is_empty() => {}
            n => wrong.push(format!("{}: its text stands {n} times in {}", m.name, m.file)),
        }
        let folders = if m.file.starts_with("targets/") { 2 } else { 1 };
        *areas.entry(m.file.split('/').take(folders).collect::<Vec<_>>().join("/")).or_insert(0) += 1;
    }
    assert!(wrong.is_empty(), "mutants that no longer apply (mend tools/mutants/list.txt):\n{}", wrong.join("\n"));
    // Each part of the compiler has its share.
    let targets = ["targets/tesla", "targets/r700", "targets/usse", "targets/pica"].map(|t| (t, 22));
    for (area, least) in [("ir", 25), ("lower", 25), ("emit", 8), ("regalloc", 15), ("frontend", 12)].into_iter().chain(targets) {
        assert!(areas.get(area).copied().unwrap_or(0) >= least, "{area}: {areas:?}");
    }
    assert!(names.len() >= 270, "{}", names.len());
}
