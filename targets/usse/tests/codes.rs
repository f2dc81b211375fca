//! Every error code of the target has a case that provokes it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn texts(folder: &Path, out: &mut Vec<String>) {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    for p in all {
        if p.is_dir() {
            texts(&p, out);
        } else {
            out.push(String::from_utf8_lossy(&std::fs::read(&p).unwrap()).into_owned());
        }
    }
}

#[test]
fn every_error_code_has_a_case() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut sources, mut cases) = (Vec::new(), Vec::new());
    texts(&root.join("src"), &mut sources);
    texts(&root.join("../../filetests/cases/usse"), &mut cases);
    let code = |w: &str| w.len() == 5 && w.starts_with('U') && w[1..].bytes().all(|b| b.is_ascii_digit());
    let codes: BTreeSet<&str> = sources.iter().flat_map(|t| t.split('"')).filter(|w| code(w)).collect();
    assert!(codes.len() >= 7, "{codes:?}");
    // A branch of half a million words is tested where branches are resolved (`emit/layout.rs`), warnings where the command
    // gives them (`cli/tests/warnings.rs`).
    let elsewhere = ["U0121", "U0108", "U0109"];
    let missing: Vec<_> =
        codes.into_iter().filter(|c| !elsewhere.contains(c) && !cases.iter().any(|t| t.contains(&format!("error: {c}")))).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}
