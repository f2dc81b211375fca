//! Every dependency that a manifest declares is used by a source of that crate (`cargo machete`, without having to install it), and
//! few are needed by a program that wants one machine.
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
            let text = std::fs::read_to_string(&p).unwrap();
            // Modules of another crate's tests: the folder that they stand in.
            for path in text.split("#[path = \"").skip(1).filter_map(|t| t.split('"').next()) {
                let there = folder.join(path);
                let around = |f: &Path| f.canonicalize().is_ok_and(|f| folder.canonicalize().is_ok_and(|own| own.starts_with(f)));
                if there.is_file() && !around(there.parent().unwrap()) {
                    sources(there.parent().unwrap(), out);
                }
            }
            out.push_str(&text);
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
    let plain =
        ["ir", "emit", "regalloc", "lower", "frontend", "core", "filetests", "cli", "capi", "macros", "benches"].map(|m| root.join(m));
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

/// The crates of a build of the library without its defaults, this workspace's own and those that only compile among them.
fn crates(features: &str) -> Vec<String> {
    let arguments = ["tree", "--offline", "--locked", "-p", "retroshade", "--no-default-features", "--features", features, "-e", "normal"];
    let cargo = std::process::Command::new(env!("CARGO")).current_dir(root()).args(arguments).args(["--prefix", "none"]).output().unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let text = String::from_utf8(cargo.stdout).unwrap();
    let mut names: Vec<String> = text.lines().map(|l| l.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn a_program_with_one_machine_needs_few_crates() {
    for target in ["tesla", "usse", "r700", "pica"] {
        let all = crates(target);
        assert!(all.len() < 30, "{target}: {} crates: {}", all.len(), all.join(", "));
        for heavy in ["clap", "codespan", "naga", "glslang", "png", "rayon", "indicatif", "filecheck"] {
            assert!(!all.iter().any(|c| c.starts_with(heavy)), "{target} brings {heavy}");
        }
    }
}

#[test]
fn every_crate_can_be_packed_in_the_order_of_publishing() {
    let script = std::process::Command::new("bash")
        .arg(root().join("tools/publish"))
        .args(["--dry-run", "--offline", "--quiet"])
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages"))
        .output();
    let Ok(out) = script else {
        println!("skipped: no bash");
        return;
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for member in members() {
        let manifest = std::fs::read_to_string(member.join("Cargo.toml")).unwrap();
        if manifest.contains("publish = false") {
            continue;
        }
        for key in ["version", "license", "repository", "keywords", "categories", "description"] {
            assert!(manifest.lines().any(|l| l.starts_with(key)), "{}: no {key}", member.display());
        }
    }
}
