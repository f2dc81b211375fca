//! Known answers, both ways: every systematic row in `vectors.tsv`, and the whole table where it is at hand.
#![allow(clippy::unwrap_used)]

use retroshade_lower::testing::text_beside;
use retroshade_lower::{Syntax, TextOptions};

fn check(table: &str) -> usize {
    let isa = retroshade_pica::isa();
    let native = TextOptions::default();
    let fields = TextOptions { syntax: Syntax::Fields, ..TextOptions::default() };
    let mut rows = 0;
    for row in table.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
        let cells: Vec<&str> = row.split('\t').collect();
        let (word, desc, text) = (cells[0], cells[1], cells[2]);
        let line = if desc == "-" { word.to_string() } else { format!("{word} {desc}") };
        assert_eq!(isa.dis_line(&line, &native).unwrap(), text, "{row}");
        let listing = isa.dis_line(&line, &fields).unwrap();
        assert_eq!(isa.asm_line(&listing, &fields).unwrap(), line, "{listing}");
        let back = isa.asm_line(text, &native).unwrap();
        assert_eq!(isa.dis_line(&back, &native).unwrap(), text, "{row}");
        let parse = |s: &str| u32::from_str_radix(s, 16).unwrap();
        let (w, g) = (parse(word), parse(&back[..8]));
        let free = if desc == "-" {
            0
        } else if w >> 29 >= 6 {
            0x1f
        } else {
            0x7f
        };
        assert_eq!(w & !free, g & !free, "{row}: got {back}");
        rows += 1;
    }
    rows
}

#[test]
fn systematic_rows() {
    assert_eq!(check(include_str!("vectors.tsv")), 2011);
}

#[test]
fn whole_table_where_present() {
    let Some(all) = text_beside("vectors/pica.tsv") else { return };
    assert!(check(&all) >= 2500);
}
