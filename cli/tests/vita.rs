//! PlayStation Vita from source text to containers: the twins of published programs and the examples in `examples/vita`
//! compile, their containers are read back, and the simulator that runs the containers agrees with the interpreter.
//!
//! `RETROSHADE_BLESS=1` rewrites the table of sizes.
#![allow(clippy::unwrap_used)]

use retroshade::Options;
use retroshade::frontend::FrontOptions;
use retroshade::ir::{Module, Stage};
use retroshade::lower::testing::{Rng, Verdict, diff_with, golden, random_env};
use retroshade_usse::container;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn load(path: &Path) -> Module {
    let stage = if path.extension().is_some_and(|e| e == "vert") { Stage::Vertex } else { Stage::Fragment };
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    retroshade::frontend::glsl(&name, &text, &options).unwrap_or_else(|e| panic!("{name}: {:?}", e.diagnostics))
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(root().join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

/// Compiles, reads the container back, runs it beside the interpreter. Gives the number of instructions.
fn check(path: &Path, options: &Options) -> u32 {
    let (isa, module) = (retroshade_usse::isa(), load(path));
    let shader = isa.compile(&module, options).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let g = container::read(&shader.container).unwrap();
    assert_eq!(container::read(&container::write(&g)).unwrap(), g, "{}", path.display());
    assert_eq!(g.is_fragment(), module.stage == Stage::Fragment);
    assert_eq!(isa.lint(&shader.container, &Default::default()).unwrap(), vec![], "{}", path.display());
    assert_eq!((g.primary.len() + g.secondary.len()) as u32, shader.stats.instructions);
    let env = random_env(&module, 16, 23, &mut Rng::new(11));
    match diff_with(isa, &module, &env, options) {
        Ok(Verdict::Agrees { .. }) => {}
        other => panic!("{}: {other:?}", path.display()),
    }
    shader.stats.instructions
}

#[test]
fn twins_keep_their_size_and_agree() {
    let table = root().join("targets/usse/tests/density.tsv");
    let old = std::fs::read_to_string(&table).unwrap();
    let relaxed = Options { relaxed_precision: true, ..Options::default() };
    let (mut ours, mut vendor, mut log, mut lines) = (0, 0, 0.0, String::new());
    let files = sources("targets/usse/tests/twins");
    for f in &files {
        let name = f.file_name().unwrap().to_string_lossy().into_owned();
        let row = old.lines().find(|l| l.split('\t').next() == Some(&name)).unwrap_or_else(|| panic!("{name} is not in the table"));
        let theirs: u32 = row.split('\t').nth(2).unwrap().parse().unwrap();
        let n = check(f, &relaxed);
        check(f, &Options::default());
        ours += n;
        vendor += theirs;
        log += (n as f64 / theirs as f64).ln();
        lines.push_str(&format!("{name}\t{n}\t{theirs}\n"));
    }
    let (sum, mean) = (ours as f64 / vendor as f64, (log / files.len() as f64).exp());
    let head = old.lines().next().unwrap();
    let new = format!("{head}\n# sum {ours}/{vendor} = {sum:.3}, geometric mean {mean:.3}\n{lines}");
    golden(&table, &new).unwrap();
    println!("{ours} of {vendor}: {sum:.3}, geometric mean {mean:.3}");
    assert!(files.len() == 47 && sum <= 1.10 && mean <= 1.10);
}

#[test]
fn examples_compile_and_agree() {
    let names: Vec<String> = sources("examples/vita").iter().map(|f| f.file_name().unwrap().to_string_lossy().into_owned()).collect();
    for name in ["clear", "color", "texture", "lit"] {
        for kind in ["vert", "frag"] {
            assert!(names.contains(&format!("{name}.{kind}")), "{name}.{kind} is missing");
        }
    }
    assert!(names.contains(&"tint.frag".to_string()) && names.contains(&"cutout.frag".to_string()));
    for f in sources("examples/vita") {
        check(&f, &Options::default());
        check(&f, &Options { relaxed_precision: true, ..Options::default() });
    }
}

/// vitaGL's file: how many matrices, which parameters they are, the container.
#[test]
fn vitagl_files_name_their_matrices() {
    let isa = retroshade_usse::isa();
    let shader = isa.compile(&load(&root().join("examples/vita/lit.vert")), &Options::default()).unwrap();
    let file = &shader.extra["vitagl"];
    let (matrices, g) = container::read_vitagl(file).unwrap();
    assert_eq!(g, container::read(&shader.container).unwrap());
    let names: Vec<&str> = matrices.iter().map(|m| g.parameters[*m as usize].name.as_str()).collect();
    assert_eq!(names, ["clip", "view"]);
    assert_eq!(file.len(), 4 * (1 + matrices.len()) + shader.container.len());
    for n in 0..file.len() - 4 {
        assert!(container::read_vitagl(&file[..n]).is_err(), "{n} bytes are read as a vitaGL file");
    }
    let plain = isa.compile(&load(&root().join("examples/vita/color.frag")), &Options::default()).unwrap();
    assert_eq!(container::read_vitagl(&plain.extra["vitagl"]).unwrap().0, [0u32; 0]);
    // The C header holds the same bytes at an address that is a multiple of 16.
    let text = String::from_utf8(plain.extra["header"].clone()).unwrap();
    assert!(text.contains("__attribute__((aligned(16)))"));
    let bytes: Vec<u8> = text
        .split(['{', '}'])
        .nth(1)
        .unwrap()
        .split(',')
        .filter_map(|b| u8::from_str_radix(b.trim().strip_prefix("0x")?, 16).ok())
        .collect();
    assert_eq!(bytes, plain.container);
}
