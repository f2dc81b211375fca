//! Known answers: every word decodes to its field listing and native text, and the listing encodes to the word.
#![allow(clippy::unwrap_used)]

use retroshade_emit::listing::Show;
use retroshade_lower::testing::text_beside;
use retroshade_usse::isa::{forms, text};

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
    let Some(all) = text_beside("vectors/usse.tsv") else { return };
    let rows: Vec<_> = all
        .lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
        .map(|l| l.split('\t').collect::<Vec<_>>())
        .map(|c| (c[0], c[1], c[3]))
        .collect();
    check(&rows, 99.0);
}

/// Words of published programs execute in the simulator, but for those whose meaning is not known.
#[test]
fn published_words_execute() {
    let Some(all) = text_beside("vectors/usse.tsv") else { return };
    let (mut good, mut not) = (0, std::collections::BTreeMap::<String, u32>::new());
    for row in all.lines().filter(|l| !l.starts_with('#')) {
        let c: Vec<&str> = row.split('\t').collect();
        if c.len() < 4 || !c[2].starts_with("real") {
            continue;
        }
        match retroshade_usse::sim::Code::new(&[u64::from_str_radix(c[0], 16).unwrap()], false) {
            Ok(_) => good += 1,
            Err(e) => *not.entry(e.to_string()).or_default() += 1,
        }
    }
    println!("{good} words execute, not: {not:?}");
    assert!(good > 1500 && not.values().sum::<u32>() * 100 <= good, "{good} execute, not: {not:?}");
}

/// The fixed-point blends: what the formula of the encoding says.
#[test]
fn fixed_point_blends() {
    use retroshade_usse::sim::{Code, Draw, Instance};
    let run = |listing: &str, r: [u32; 3]| {
        let d = forms::TABLE.parse_listing(listing).unwrap();
        let w = forms::TABLE.encode_values(d.form, &d.values).unwrap() as u64;
        let code = Code::new(&[w], false).unwrap();
        let mut draw =
            Draw { sa: vec![0; 256], samplers: Vec::new(), memory: Vec::new(), strict: true, quads: false, turning: Default::default() };
        let mut one = Instance::default();
        one.r[..3].copy_from_slice(&r);
        let mut lanes = [one];
        draw.run_primary(&code, &mut lanes).unwrap();
        lanes[0].r[3]
    };
    // source 1 × source 2's alpha + source 2 × 0 (one minus one).
    let over = "SOP2 pred=0 cmod1=0 skipinv=0 nosched=0 asel1=2 dest_bank_ext=0 end=0 src1_bank_ext=0 src2_bank_ext=0 cmod2=0 count=0 amod1=0 asel2=0 csel1=4 csel2=0 amod2=0 dest_bank=0 src1_bank=0 src2_bank=0 dest_n=3 src1_mod=0 cop=0 aop=0 asrc1_mod=0 dest_mod=0 src1_n=1 src2_n=2";
    assert_eq!(run(over, [0, 0xff40_80ff, 0x8000_0000]), 0x8020_4080);
    // Interpolation: source 1 × source 0 + source 2 × (1 - source 0).
    let mix = "SOP3 pred=0 cmod1=0 skipinv=0 nosched=0 cop=0 destbext=0 end=0 src1bext=0 src2bext=0 cmod2=1 amod1=0 asel1=1 dmod=0 aop=0 csel1=4 csel2=4 src0bank=0 destbank=0 src1bank=0 src2bank=0 destn=3 src0n=0 src1n=1 src2n=2";
    assert_eq!(run(mix, [0xff00_ff00, 0x1122_3344, 0x5566_7788]), 0x1166_3388);
}
