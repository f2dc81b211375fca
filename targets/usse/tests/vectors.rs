//! Known answers: every word decodes to its field listing and native text, and the listing encodes to the word.
#![allow(clippy::unwrap_used)]

use retroshade_emit::listing::Show;
use retroshade_usse::{forms, text};

fn check(rows: &[(&str, &str, &str)], needed_text_percent: f64) {
    let (mut wrong, mut text_wrong) = (Vec::new(), Vec::new());
    for (word, native, listing) in rows {
        let w = u64::from_str_radix(word, 16).unwrap();
        let Some(d) = forms::decode(w) else {
            wrong.push(format!("{word}: not decoded, want {listing}"));
            continue;
        };
        let got = forms::TABLE.listing(&d, Show::All);
        if got != *listing {
            wrong.push(format!("{word}: {got}\n   want {listing}"));
        }
        let back = forms::TABLE.parse_listing(listing).unwrap();
        let again = forms::TABLE.encode_values(back.form, &back.values).unwrap();
        if again != w as u128 {
            wrong.push(format!("{word}: encodes as {again:016x}"));
        }
        let got = text::native(&d);
        if got != *native {
            text_wrong.push(format!("{word}: {got}\n   want {native}\n  {listing}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong, first:\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n"));
    let good = 100.0 * (rows.len() - text_wrong.len()) as f64 / rows.len() as f64;
    for t in text_wrong.iter().take(if good < needed_text_percent { 40 } else { 5 }) {
        println!("{t}");
    }
    println!("native text: {good:.2} % of {} rows", rows.len());
    assert!(good >= needed_text_percent, "native text agrees on {good:.2} % only");
}

#[test]
fn systematic_rows() {
    let all = include_str!("vectors.tsv");
    let rows: Vec<_> = all.lines().map(|l| l.split('\t').collect::<Vec<_>>()).map(|c| (c[0], c[1], c[2])).collect();
    assert!(rows.len() > 3000);
    check(&rows, 99.0);
}

#[test]
fn every_row_of_the_shared_file() {
    // The shared folder lies beside the repository.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
    let found = ["shared", "../shared"].iter().find_map(|p| std::fs::read_to_string(format!("{root}/{p}/vectors/usse.tsv")).ok());
    let Some(all) = found else {
        eprintln!("skipped: no shared vectors beside the repository");
        return;
    };
    let rows: Vec<_> = all
        .lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
        .map(|l| l.split('\t').collect::<Vec<_>>())
        .map(|c| (c[0], c[1], c[3]))
        .collect();
    check(&rows, 99.0);
}
