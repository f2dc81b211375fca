//! Sizes of the examples' code, golden: bytes, instructions, short ones, registers, warps and bytes of constants with `-O2` and with `-Os`. `SHADERC_BLESS=1`
//! rewrites the table.
#![allow(clippy::unwrap_used)]

use retroshade_lower::testing::golden;
use retroshade_lower::{OptLevel, Options};
use std::path::PathBuf;

#[test]
fn examples_keep_their_size() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/density.tsv");
    let mut files: Vec<PathBuf> = ["examples", "examples/pica", "examples/vita"]
        .iter()
        .flat_map(|d| std::fs::read_dir(root.join(d)).unwrap())
        .map(|f| f.unwrap().path())
        .filter(|f| f.extension().is_some_and(|x| x == "ir"))
        .collect();
    files.sort();
    let columns = "\tbytes\tinstructions\tshort\tregisters\twarps\tconstants";
    let mut new = format!("# example{columns}{}\n", columns.replace('\t', "\ts:"));
    let mut sums = [[0; 2]; 2];
    for file in files {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let m = retroshade_ir::parse(&name, &text).unwrap_or_else(|_| panic!("{name} does not parse"));
        new += &name;
        for (opt, [bytes, instructions]) in [OptLevel::O2, OptLevel::Os].into_iter().zip(&mut sums) {
            let chip = Some("g200".to_string());
            let s = retroshade_tesla::isa().compile(&m, &Options { chip, opt, ..Options::default() }).unwrap().stats;
            *bytes += s.bytes;
            *instructions += s.instructions;
            assert_eq!(s.detail["centibytes_per_instruction"], u64::from(100 * s.bytes / s.instructions), "{name}");
            assert_eq!(s.detail["short_percent"], 100 * s.detail["short"] / u64::from(s.instructions), "{name}");
            new += &format!(
                "\t{}\t{}\t{}\t{}\t{}\t{}",
                s.bytes, s.instructions, s.detail["short"], s.registers, s.detail["warps"], s.detail["constant_bytes"]
            );
        }
        new.push('\n');
    }
    let [fast, small] = sums;
    new += &format!("# all\t{}\t{}\t\t\t\t\t{}\t{}\n", fast[0], fast[1], small[0], small[1]);
    golden(&table, &new).unwrap();
    // Without short forms an instruction would have eight bytes.
    assert!(small[0] < fast[0], "{fast:?}, {small:?}");
    assert!(small[0] * 10 < small[1] * 65, "{} bytes, {} instructions", small[0], small[1]);
}
