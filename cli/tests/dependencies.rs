//! Every dependency that a manifest declares is used by a source of that crate: `cargo machete`, without having to install it.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Names in a section of a manifest.
fn names(manifest: &str, section: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|l| l.trim() != format!("[{section}]")).skip(1);
    lines
        .take_while(|l| !l.starts_with('['))
        .filter_map(|l| l.split(['=', '.', ' ']).next())
        .filter(|n| !n.is_empty() && !n.starts_with('#'))
        .map(str::to_string)
        .collect()
}

/// The Rust sources at or below a folder.
fn sources(folder: &Path, out: &mut String) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    for p in paths {
        if p.is_dir() {
            sources(&p, out);
        } else if p.extension().is_some_and(|e| e == "rs") {
            out.push_str(&std::fs::read_to_string(p).unwrap());
        }
    }
}

/// Whether a crate's name stands in a source as a path's beginning or in a `use`.
fn uses(text: &str, name: &str) -> bool {
    let ident = name.replace('-', "_");
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(&ident).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(word);
        let after = &text[at + ident.len()..];
        !before && (after.starts_with("::") || after.starts_with(';') || after.starts_with(" as ") || after.starts_with(','))
    })
}

fn members() -> Vec<PathBuf> {
    let root = root();
    let targets = std::fs::read_dir(root.join("targets")).unwrap().map(|e| e.unwrap().path());
    let plain = ["ir", "emit", "regalloc", "lower", "frontend", "filetests", "cli", "benches"].map(|m| root.join(m));
    let mut all: Vec<PathBuf> = plain.into_iter().chain(targets).filter(|p| p.join("Cargo.toml").exists()).collect();
    all.sort();
    all
}

#[test]
fn every_declared_dependency_is_used() {
    let mut unused = Vec::new();
    let mut everywhere = Vec::new();
    for member in members() {
        let manifest = std::fs::read_to_string(member.join("Cargo.toml")).unwrap();
        let (mut own, mut all) = (String::new(), String::new());
        sources(&member.join("src"), &mut own);
        ["src", "tests", "benches", "examples"].iter().for_each(|f| sources(&member.join(f), &mut all));
        for (section, text) in [("dependencies", &own), ("dev-dependencies", &all)] {
            for name in names(&manifest, section) {
                if !uses(text, &name) {
                    unused.push(format!("{}: {name} ({section})", member.file_name().unwrap().to_string_lossy()));
                }
                everywhere.push(name);
            }
        }
    }
    assert!(everywhere.len() > 50, "the manifests were not read: {everywhere:?}");
    let workspace = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    unused.extend(names(&workspace, "workspace.dependencies").into_iter().filter(|n| !everywhere.contains(n)));
    assert!(unused.is_empty(), "declared and not used:\n{}", unused.join("\n"));
}

#[test]
fn a_dependency_that_nobody_uses_is_found() {
    assert!(!uses("use petgraphs::Graph; // petgraph", "petgraph"));
    assert!(uses("use petgraph::Graph;", "petgraph") && uses("pub use regalloc2;", "regalloc2"));
}
