//! Sizes of the examples' code, golden: bytes, instructions, short ones, registers. `SHADERC_BLESS=1` rewrites the table.
#![allow(clippy::unwrap_used)]

use retroshade_lower::Options;
use retroshade_lower::testing::golden;
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
    let mut new = String::from("# example\tbytes\tinstructions\tshort\tregisters\n");
    let (mut bytes, mut instructions) = (0, 0);
    for file in files {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let m = retroshade_ir::parse(&name, &text).unwrap_or_else(|_| panic!("{name} does not parse"));
        let chip = Some("g200".to_string());
        let s = retroshade_tesla::isa().compile(&m, &Options { chip, ..Options::default() }).unwrap();
        bytes += s.stats.bytes;
        instructions += s.stats.instructions;
        assert_eq!(s.stats.detail["centibytes_per_instruction"], u64::from(100 * s.stats.bytes / s.stats.instructions), "{name}");
        assert_eq!(s.stats.detail["short_percent"], 100 * s.stats.detail["short"] / u64::from(s.stats.instructions), "{name}");
        new += &format!("{name}\t{}\t{}\t{}\t{}\n", s.stats.bytes, s.stats.instructions, s.stats.detail["short"], s.stats.registers);
    }
    new += &format!("# all\t{bytes}\t{instructions}\n");
    golden(&table, &new).unwrap();
    // Without short forms it would be eight.
    assert!(bytes * 10 < instructions * 70, "{bytes} bytes, {instructions} instructions");
}
