//! Known answers: every row decodes to its listing and encodes back, LLVM's text matches, programs survive a round trip.
#![allow(clippy::unwrap_used)]

use retroshade_lower::{Syntax, TextOptions};
use retroshade_r700::program::{Program, assemble};

const ROWS: &str = include_str!("vectors.tsv");

fn rows() -> impl Iterator<Item = [&'static str; 4]> {
    ROWS.lines().filter(|l| !l.starts_with('#') && !l.starts_with("hex\t") && !l.is_empty()).map(|l| {
        let mut c = l.split('\t');
        std::array::from_fn(|_| c.next().unwrap())
    })
}

#[test]
fn single_instructions_round_trip() {
    let isa = retroshade_r700::isa();
    let o = TextOptions { syntax: Syntax::Fields, ..TextOptions::default() };
    let mut bad = Vec::new();
    for [hex, _, kind, fields] in rows().filter(|r| r[2] != "program") {
        let d = isa.dis_line(&format!("{kind}: {hex}"), &o).unwrap_or_else(|e| e.to_string());
        let a = isa.asm_line(fields, &o).unwrap_or_else(|e| e.to_string());
        if d != fields || a != hex {
            bad.push(format!("{kind}: {hex}\n  want {fields}\n  dis  {d}\n  asm  {a}"));
        }
    }
    assert!(bad.is_empty(), "{} rows differ:\n{}", bad.len(), bad[..bad.len().min(8)].join("\n"));
}

#[test]
fn llvm_text_matches() {
    let isa = retroshade_r700::isa();
    let squeeze = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut good, mut bad) = (0, Vec::new());
    for [hex, llvm, kind, _] in rows().filter(|r| r[2] != "program" && r[1] != "-") {
        let d = isa.dis_line(&format!("{kind}: {hex}"), &TextOptions::default()).unwrap_or_else(|e| e.to_string());
        if squeeze(&d) == squeeze(llvm) {
            good += 1;
        } else {
            bad.push(format!("{hex}\n  want {llvm}\n  got  {d}"));
        }
    }
    assert!(bad.len() * 100 <= good, "{} of {} differ:\n{}", bad.len(), good + bad.len(), bad[..bad.len().min(12)].join("\n"));
}

#[test]
fn programs_round_trip() {
    for [hex, _, _, name] in rows().filter(|r| r[2] == "program") {
        let words: Vec<u32> = hex.split(' ').map(|w| u32::from_str_radix(w, 16).unwrap()).collect();
        let p = Program::decode(&words).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(assemble(&p.listing(Syntax::Fields)).unwrap(), words, "{name}");
    }
}
