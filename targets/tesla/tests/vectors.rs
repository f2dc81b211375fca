//! Known answers: every row of `vectors.tsv` decodes to its text, and canonical rows encode back to their words.
//!
//! The rows come from the public disassembler envydis run over systematic words; columns: words, text, stages, chips,
//! `c` where the words are canonical, form.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Stage;
use retroshade_lower::{TargetIsa, TextOptions};
use retroshade_tesla::isa::chip::{self, EVERYTHING};
use retroshade_tesla::isa::decode::{decode, encode, space};

struct Row {
    words: &'static str,
    word: u64,
    text: &'static str,
    stages: Vec<Stage>,
    chips: &'static str,
    canonical: bool,
}

fn rows() -> Vec<Row> {
    include_str!("vectors.tsv")
        .lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
        .map(|l| {
            let c: Vec<&str> = l.split('\t').collect();
            let word = c[0].split(' ').rev().fold(0u64, |w, h| w << 32 | u64::from_str_radix(h, 16).unwrap());
            let stages = c[2]
                .split(',')
                .flat_map(|s| match s {
                    "any" => Stage::ALL.to_vec(),
                    "vp" => vec![Stage::Vertex],
                    "gp" => vec![Stage::Geometry],
                    "fp" => vec![Stage::Fragment],
                    _ => vec![Stage::Compute],
                })
                .collect();
            Row { words: c[0], word, text: c[1], stages, chips: c[3], canonical: c[4] == "c" }
        })
        .collect()
}

#[test]
fn every_row_decodes_to_its_text_in_every_listed_stage_and_in_no_other() {
    let mut bad = Vec::new();
    let rows = rows();
    assert_eq!(rows.len(), 3344);
    for r in &rows {
        for s in Stage::ALL {
            let got = decode(r.word, space(*s), &EVERYTHING).and_then(|i| retroshade_tesla::isa::text::disassemble(&i));
            let listed = r.stages.contains(s);
            if listed != (got.as_deref() == Ok(r.text)) {
                bad.push(format!("{} {s:?}: want {} | got {got:?}", r.words, r.text));
            }
        }
    }
    assert!(bad.is_empty(), "{} wrong:\n{}", bad.len(), bad[..bad.len().min(60)].join("\n"));
}

#[test]
fn canonical_rows_encode_back_from_the_decoded_structure() {
    for r in rows().iter().filter(|r| r.canonical) {
        let i = decode(r.word, space(r.stages[0]), &EVERYTHING).unwrap();
        assert_eq!(i.d.residue, 0, "{}", r.words);
        assert_eq!(encode(i.d.form, &i.d.values).unwrap(), r.word, "{}", r.text);
    }
}

#[test]
fn chips_decode_what_they_have() {
    for r in rows() {
        for name in ["g80", "g84", "mcp77", "g200", "gt215"] {
            let c = chip::by_name(name).unwrap();
            let want = r.chips == "all" || r.chips.split(',').any(|x| x == name);
            let got = r.stages.iter().any(|s| decode(r.word, space(*s), c).is_ok());
            assert_eq!(want, got, "{} {} on {name}", r.words, r.text);
        }
    }
}

#[test]
fn text_assembles_to_the_words_for_all_but_ambiguous_rows() {
    let isa: &dyn TargetIsa = retroshade_tesla::isa();
    let (mut bad, mut other, mut n) = (Vec::new(), Vec::new(), 0);
    for r in rows().iter().filter(|r| r.canonical) {
        n += 1;
        let o = TextOptions { stage: Some(r.stages[0]), ..TextOptions::default() };
        match isa.asm_line(r.text, &o) {
            Ok(w) if w == r.words => {}
            Ok(w) if isa.dis_line(&w, &o).as_deref() == Ok(r.text) && w.len() <= r.words.len() => {
                other.push(format!("{} -> {w}: {}", r.words, r.text))
            }
            w => bad.push(format!("{}: {} -> {w:?}", r.words, r.text)),
        }
    }
    assert!(bad.is_empty(), "{} wrong:\n{}", bad.len(), bad[..bad.len().min(40)].join("\n"));
    assert!(other.len() * 100 <= n * 3, "{} of {n} ambiguous:\n{}", other.len(), other[..other.len().min(150)].join("\n"));
}
