//! Known answers: every row decodes to its listing and encodes back, LLVM's text matches, programs survive a round trip.
#![allow(clippy::unwrap_used)]

use retroshade_lower::{Syntax, TextOptions};
use retroshade_r700::isa::parse;
use retroshade_r700::isa::program::{Program, assemble};
use retroshade_r700::isa::word::{Group, Word};

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
        assert_eq!(assemble(&p.listing(Syntax::Native)).unwrap(), words, "{name}");
    }
}

/// LLVM's text alone, where it says everything, and else the complete line of a listing.
#[test]
fn native_text_reads_back() {
    let isa = retroshade_r700::isa();
    let o = TextOptions::default();
    let (mut whole, mut wrong, mut bad) = (0, Vec::new(), Vec::new());
    for [hex, llvm, kind, fields] in rows().filter(|r| r[2] != "program") {
        // A row that LLVM prints in full must give its words; others give words of the same text.
        if llvm != "-" {
            let line = isa.dis_line(&format!("{kind}: {hex}"), &o).unwrap_or_else(|e| e.to_string());
            match isa.asm_line(&format!("{kind}: {line}"), &o) {
                Ok(words) => {
                    whole += (words == hex) as u32;
                    let again = isa.dis_line(&format!("{kind}: {words}"), &o).unwrap_or_else(|e| e.to_string());
                    if again != line {
                        wrong.push(format!("{line}\n  gives {words}\n  which is {again}"));
                    }
                }
                Err(e) => wrong.push(format!("{line}: {e}")),
            }
        }
        let space = retroshade_r700::isa::text::KINDS.iter().find(|k| k.0 == kind).unwrap().1;
        let words: Vec<u32> = hex.split(' ').map(|w| u32::from_str_radix(w, 16).unwrap()).collect();
        let lines = match kind {
            "alu" => retroshade_r700::isa::text::complete_lines(&Group::decode(&words).unwrap().0),
            _ => {
                let value = words.iter().rev().fold(0u128, |a, x| a << 32 | *x as u128);
                vec![parse::word(&Word::decode(space, words.len() as u8 * 4, value).unwrap())]
            }
        };
        let back: Result<Vec<Vec<u32>>, _> = lines.iter().map(|l| parse::read(space, l)).collect();
        if back.as_ref().map(|b| b.concat()).as_ref() != Ok(&words) {
            bad.push(format!("{fields}\n  {lines:?}\n  {back:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} texts:\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n"));
    assert!(bad.is_empty(), "{} lines:\n{}", bad.len(), bad[..bad.len().min(8)].join("\n"));
    println!("{whole} rows from LLVM's text alone");
    assert!(whole > 700, "{whole}");
}
