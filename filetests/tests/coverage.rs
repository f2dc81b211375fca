//! Says which operations and error codes of the IR have no case.

use retroshade_filetests::discover;
use retroshade_ir::Opcode;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn cases() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = discover(&[root]).expect("cases");
    files.into_iter().map(|p| (p.clone(), String::from_utf8_lossy(&std::fs::read(&p).expect("readable")).into_owned())).collect()
}

#[test]
fn every_operation_is_printed_and_run() {
    let mut cat = BTreeSet::new();
    for (path, text) in cases() {
        if path.extension().is_some_and(|e| e == "ir") && text.contains("test cat") && text.contains("test interpret") {
            let m = retroshade_ir::parse("case", &text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            cat.extend(m.functions.values().flat_map(|f| f.insts.values().map(|d| d.op)));
        }
    }
    // Machine operations have no meaning without a machine.
    let missing: Vec<_> = Opcode::ALL.iter().filter(|o| !cat.contains(o) && **o != Opcode::Ext).map(|o| o.name()).collect();
    assert!(missing.is_empty(), "no case with {missing:?}");
}

/// Codes in the sources of the IR, in quotes.
fn codes() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ir/src");
    let mut out = BTreeSet::new();
    let mut stack = vec![root.join("text"), root.join("verify")];
    while let Some(p) = stack.pop() {
        for e in std::fs::read_dir(&p).expect("sources") {
            let e = e.expect("entry").path();
            if e.is_dir() {
                stack.push(e);
            } else if !e.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&e).expect("source");
                for word in text.split('"') {
                    if word.len() == 5 && word.starts_with(['E', 'V']) && word[1..].bytes().all(|b| b.is_ascii_digit()) {
                        out.insert(word.to_string());
                    }
                }
            }
        }
    }
    out
}

#[test]
fn every_error_code_of_the_ir_has_a_case() {
    // E0003 is the size limit (tested with the command); the others cannot be written as text (tested in `ir`).
    let elsewhere = ["E0003", "V0003", "V0010", "V0012", "V0023", "V0032", "V0060"];
    let all: String = cases().into_iter().map(|c| c.1).collect();
    let missing: Vec<_> = codes().into_iter().filter(|c| !elsewhere.contains(&c.as_str()) && !all.contains(&format!("{c}@"))).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}
