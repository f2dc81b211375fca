//! The examples in `examples/pica`: size of the code (golden, beside what the hand-written original takes), and simulator =
//! interpreter on random inputs. `SHADERC_BLESS=1` rewrites the table.
#![allow(clippy::unwrap_used)]

use retroshade_lower::Options;
use retroshade_lower::testing::{Rng, Verdict, diff_with, golden, random_env};
use std::path::PathBuf;

#[test]
fn examples_keep_their_size() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/density.tsv");
    let old = std::fs::read_to_string(&table).unwrap();
    let isa = retroshade_pica::isa();
    let (mut ours, mut hand, mut log) = (0, 0, 0.0);
    let mut new = String::new();
    for line in old.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        if line.starts_with('#') || cells.len() < 2 {
            new.push_str(&format!("{line}\n"));
            continue;
        }
        let text = std::fs::read_to_string(root.join(format!("examples/pica/{}.ir", cells[0]))).unwrap();
        let m = retroshade_ir::parse(cells[0], &text).unwrap_or_else(|_| panic!("{} does not parse", cells[0]));
        let s = isa.compile(&m, &Options::default()).unwrap();
        let written: u32 = cells[1].parse().unwrap();
        new.push_str(&format!(
            "{}\t{written}\t{}\t{}\t{}\n",
            cells[0], s.stats.instructions, s.stats.detail["descriptors"], s.stats.registers
        ));
        ours += s.stats.instructions;
        hand += written;
        log += (s.stats.instructions as f64 / written as f64).ln();
        let env = random_env(&m, 24, 16, &mut Rng::new(7));
        match diff_with(isa, &m, &env, &Options::default()) {
            Ok(Verdict::Agrees { .. }) => {}
            other => panic!("{}: {other:?}", cells[0]),
        }
    }
    golden(&table, &new).unwrap();
    println!("{ours} of {hand}: {:.3}, geometric mean {:.3}", ours as f64 / hand as f64, (log / 22.0).exp());
    assert!(ours * 100 <= hand * 92);
}

#[test]
fn vertex_and_geometry_program_share_a_file() {
    let read = |n: &str, text: &str| {
        let m = retroshade_ir::parse(n, text).unwrap_or_else(|_| panic!("{n} does not parse"));
        retroshade_pica::isa().compile(&m, &Options::default()).unwrap()
    };
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../filetests/cases/pica/geometry.ir");
    let text = std::fs::read_to_string(path).unwrap().replace("%p : f32x4[1] @location(0)", "%p : f32x4[1] @position");
    let vertex = "shader vertex \"v\"\ninput %a : f32x4 @location(0)\noutput %p : f32x4 @position\noutput %c : f32x4 @location(1)\n\
                  block0:\n    v0 = input.f32x4 %a\n    v1 = fadd v0, v0\n    output %p, v0\n    output %c, v1\n    return\n";
    let (g, v) = (read("geometry.ir", &text), read("v.ir", vertex));
    let words = (g.code.len() + v.code.len()) / 4;
    let joined = retroshade_pica::isa().link(&[g, v]).unwrap();
    let bin = retroshade_pica::container::Shbin::read(&joined).unwrap();
    assert_eq!(bin.code.len(), words);
    assert_eq!(bin.executables.iter().map(|e| e.geometry).collect::<Vec<_>>(), [false, true]);
    assert!(bin.executables[1].entry == bin.executables[0].end);
    assert_eq!(retroshade_pica::isa().lint(&joined, &Default::default()).unwrap(), vec![]);
    // As text it is two files, each with its own code, and comes back as the same programs.
    let text = retroshade_pica::isa().disassemble(&joined, &Default::default()).unwrap();
    let (first, second) = text.split_once(";;;; file 2").unwrap();
    assert!(second.contains(".gsh point") && second.contains("setemit") && !first.contains("setemit"), "{text}");
    let again = retroshade_pica::isa().assemble(&text, &Default::default()).unwrap().container.unwrap();
    let again = retroshade_pica::container::Shbin::read(&again).unwrap();
    let kinds = |b: &retroshade_pica::container::Shbin| b.executables.iter().map(|e| (e.geometry, e.entry, e.end)).collect::<Vec<_>>();
    assert_eq!((kinds(&again), &again.code), (kinds(&bin), &bin.code));
}
