//! The assembler on native text: whatever it makes of a text prints as that text again, and where the text says everything the
//! word is the one that it came from.
#![allow(clippy::unwrap_used)]

use retroshade_lower::testing::text_beside;
use retroshade_usse::isa::{asm, forms, parse as native, text};
use std::collections::BTreeMap;

/// Fields that the text does not show.
const SILENT: [&str; 22] = [
    "skipinv",
    "nosched",
    "syncstart",
    "sync_start",
    "syncend",
    "sync",
    "end",
    "onceonly",
    "exception",
    "pwait",
    "sync_ext",
    "br_monitor",
    "any_inst",
    "all_inst",
    "drc_sel",
    "minpack",
    "mask_count",
    "clip_plane_enable",
    "clip_plane_n",
    "unknown",
    "repeat_sel",
    "src0_comp_sel",
];

/// Forms whose native text names no operands.
const WITHOUT_OPERANDS: [&str; 4] = ["KILL", "SOP2", "SOP2M", "SOP3"];

/// Words whose text is read, those that come back without what the text leaves out, and what is not read, by form.
fn survey(rows: impl Iterator<Item = (u64, String)>) -> (u32, u32, BTreeMap<&'static str, (u32, String)>) {
    let (mut read, mut same, mut not) = (0, 0, BTreeMap::<&'static str, (u32, String)>::new());
    for (word, shown) in rows {
        let d = forms::decode(word).unwrap();
        let form = forms::TABLE.form(d.form);
        match native::parse(&shown) {
            Ok(w) => {
                read += 1;
                assert_eq!(text::native(&forms::decode(w).unwrap()).replace("  ", " "), shown.replace("  ", " "), "{word:016x}");
                let clear = |w: u64| {
                    let d = forms::decode(w).unwrap();
                    let fields = form.fields().map(|f| (f.name, forms::TABLE.value(&d, f.name).unwrap_or(0)));
                    fields.filter(|f| !SILENT.contains(&f.0) || form.name == "NOP").collect::<Vec<_>>()
                };
                same += (forms::decode(w).unwrap().form == d.form && clear(w) == clear(word)) as u32;
            }
            Err(_) => {
                let of = not.entry(form.name).or_insert((0, shown));
                of.0 += 1;
            }
        }
    }
    (read, same, not)
}

#[test]
fn texts_of_known_words() {
    let all = include_str!("vectors.tsv");
    let words = all.lines().map(|l| u64::from_str_radix(l.split('\t').next().unwrap(), 16).unwrap());
    let rows = words.map(|w| (w, text::native(&forms::decode(w).unwrap())));
    let (read, same, not) = survey(rows);
    println!("{read} read, {same} the same, not read: {not:#?}");
    assert!(read > 3700 && not.keys().all(|f| WITHOUT_OPERANDS.contains(f)), "{read} read, not: {not:#?}");
}

#[test]
fn texts_of_published_words() {
    let Some(all) = text_beside("vectors/usse.tsv") else { return };
    let rows = all.lines().map(|l| l.split('\t').collect::<Vec<_>>()).filter(|c| c.len() > 3 && c[2].starts_with("real"));
    let (read, same, not) =
        survey(rows.map(|c| u64::from_str_radix(c[0], 16).unwrap()).map(|w| (w, text::native(&forms::decode(w).unwrap()))));
    println!("{read} read, {same} the same, not read: {not:#?}");
    assert!(read > 1500 && not.keys().all(|f| WITHOUT_OPERANDS.contains(f)), "{read} read, not: {not:#?}");
}

/// A file that says where a container's data begin: KILL names that register.
#[test]
fn programs_that_kill() {
    let with = |head: &str| asm::assemble(&format!("{head}\n0000: PHAS wait=1 temps=0\n0008: !p1 KILL\n")).map(|o| o.code);
    let code = with("# container 19 (data) sa4 size 2").unwrap();
    let d = forms::decode(u64::from_le_bytes(code[8..].try_into().unwrap())).unwrap();
    assert_eq!(["pred", "src1_n", "src2_n"].map(|f| forms::TABLE.value(&d, f).unwrap()), [2, 4, 4]);
    assert!(with("# container 14 (default uniform buffer) sa0 size 4").is_err());
}

/// Both readings of a line, with and without the listing behind it, and what is neither.
#[test]
fn lines() {
    let of = |l: &str| asm::parse(l).map_err(|e| e.message);
    assert_eq!(of("EMIT.vertex.end"), Ok(0xfb27_5000_a020_0000));
    assert_eq!(of("EMIT"), Ok(0xfb27_5000_a020_0000));
    assert_eq!(of("PHAS wait=7 temps=0"), Ok(0xfa44_0700_0000_0000));
    assert_eq!(of("NOP.nosched"), Ok(0xf800_0940_0000_0000));
    assert_eq!(of("NOP"), Ok(0xf800_0140_0000_0000));
    assert_eq!(of("NOP syncend=0 end=1 nosched=0"), Ok(0xf804_0140_0000_0000));
    // The listing wins over the text before it.
    assert_eq!(of("NOP ; NOP syncend=0 end=1 nosched=0"), Ok(0xf804_0140_0000_0000));
    assert!(of("KILL").unwrap_err().contains("leaves out its operands"));
    assert!(of("VMUL i0.xyzw sa0.xyzw").unwrap_err().contains("no instruction"));
    assert!(of("VMUL r1.x r0.x r0.x").is_err(), "an odd register is no pair");
    for junk in ["", "p0", "!p1", "p0 p0", ".", "VMOV.f32", "VPCKF16", "abs(", "r[idx", "VMAD2 a b c d", "BR x", "MOV r0.x #0x100000000"] {
        assert!(of(junk).is_err(), "{junk}");
    }
}
