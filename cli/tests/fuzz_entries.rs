//! A smoke run of every fuzzing entry on the stable toolchain: its seeds, and each of them damaged in some ways.
//!
//! `RETROSHADE_RANDOM=n` damages each seed n times.
#![allow(clippy::unwrap_used)]

#[path = "../../fuzz/entries.rs"]
#[allow(dead_code)]
mod entries;

use retroshade::frontend::{FrontOptions, glsl_words};
use retroshade::ir::Stage;
use retroshade::lower::testing::{Rng, program_count};
use retroshade::{Options, TextOptions};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files below a folder with one of these endings, in the order of their names.
fn files(folder: &Path, endings: &[&str], out: &mut Vec<Vec<u8>>) {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().map(|e| e.unwrap().path()).collect();
    all.sort();
    for p in all {
        if p.is_dir() {
            files(&p, endings, out);
        } else if p.extension().is_some_and(|e| endings.iter().any(|x| e == *x)) {
            out.push(std::fs::read(p).unwrap());
        }
    }
}

/// Every n-th file with such an ending, of those that the project has, at most `most`.
fn some(folders: &[&str], endings: &[&str], most: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    folders.iter().for_each(|f| files(&root().join(f), endings, &mut all));
    let step = all.len().div_ceil(most).max(1);
    all.into_iter().step_by(step).collect()
}

/// Compiled examples of a machine: code, container, text.
fn compiled(machine: &str) -> Vec<(Vec<u8>, Vec<u8>, String)> {
    let isa = retroshade::target(machine).unwrap();
    let sources = some(&["examples", "filetests/cases/ops"], &["ir"], 30);
    let modules = sources.iter().filter_map(|s| retroshade::ir::parse_bytes("seed.ir", s).ok());
    let shaders = modules.filter_map(|m| isa.compile(&m, &Options::default()).ok());
    shaders.map(|s| (s.code, s.container, s.asm)).collect()
}

/// The seeds of an entry.
fn seeds(entry: &str) -> Vec<Vec<u8>> {
    let cases = ["filetests/cases", "examples"];
    if let Some(machine) = entry.strip_prefix("asm_") {
        return compiled(machine)
            .into_iter()
            .map(|s| s.2.into_bytes())
            .chain(some(&[&format!("targets/{machine}/tests")], &["s", "pica"], 4))
            .collect();
    }
    match entry {
        "ir" | "compile" => some(&cases, &["ir"], 60),
        "wgsl" => some(&cases, &["wgsl"], 40),
        "glsl" => some(&cases, &["vert", "frag", "geom", "comp"], 25),
        "hlsl" => some(&cases, &["hlsl"], 20)
            .into_iter()
            .chain([b"float4 main(float4 a : TEXCOORD0) : SV_Target { return a * 2; }".to_vec()])
            .collect(),
        "cg" => some(&cases, &["cg"], 30),
        "spirv" => {
            let words = |stage: Stage, ending: &str| {
                let read = move |s: Vec<u8>| {
                    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
                    glsl_words("seed", std::str::from_utf8(&s).unwrap_or_default(), &options).ok()
                };
                some(&cases, &[ending], 12)
                    .into_iter()
                    .filter_map(read)
                    .map(|w| w.iter().flat_map(|w| w.to_le_bytes()).collect())
                    .collect::<Vec<Vec<u8>>>()
            };
            [words(Stage::Vertex, "vert"), words(Stage::Fragment, "frag")].concat()
        }
        "dis" => {
            let machines = retroshade::targets().into_iter().enumerate();
            machines.flat_map(|(n, isa)| compiled(isa.name()).into_iter().map(move |s| [vec![n as u8], s.0].concat())).collect()
        }
        "container" => retroshade::targets().into_iter().flat_map(|isa| compiled(isa.name()).into_iter().map(|s| s.1)).collect(),
        "bind" => some(&["examples"], &["json"], 20).into_iter().chain([BIND.as_bytes().to_vec()]).collect(),
        "image" => {
            some(&["examples", "docs/gallery"], &["png", "obj", "gltf", "glb"], 8).into_iter().chain([OBJ.as_bytes().to_vec()]).collect()
        }
        _ => Vec::new(),
    }
}

const BIND: &str = r#"{ "invocations": [{ "a": [1, 2, 3, 4] }], "uniforms": { "u": [1, 2, 3], "n": 4 },
    "textures": { "t": { "size": [2, 1], "texels": [[0, 0, 0, 1], [1, 1, 1, 1]] } } }"#;
const OBJ: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nvt 0 0\nf 1/1/1 2/1/1 3/1/1\n";

/// A seed with bytes changed, dropped, doubled or taken from elsewhere.
fn damaged(seed: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut out = seed.to_vec();
    for _ in 0..1 + rng.below(3) {
        if out.is_empty() {
            break;
        }
        let at = rng.below(out.len());
        let end = (at + 1 + rng.below(16)).min(out.len());
        match rng.below(5) {
            0 => out[at] = rng.below(256) as u8,
            1 => drop(out.drain(at..end)),
            2 => {
                let part = out[at..end].to_vec();
                out.splice(at..at, part);
            }
            3 => {
                let from = rng.below(out.len());
                let part = out[from..(from + 8).min(out.len())].to_vec();
                out.splice(at..end, part);
            }
            _ => out[at] ^= 1 << rng.below(8),
        }
    }
    out
}

fn smoke(entry: &str) {
    let (_, run) = entries::ALL.iter().find(|e| e.0 == entry).unwrap();
    let seeds = seeds(entry);
    assert!(!seeds.is_empty(), "`{entry}` has no seeds");
    let mut rng = Rng::new(0x5eed);
    let mut inputs = 0;
    for (n, seed) in seeds.iter().enumerate() {
        for k in 0..=program_count(6) {
            let bytes = if k == 0 { seed.clone() } else { damaged(seed, &mut rng) };
            inputs += 1;
            if let Err(panic) = std::panic::catch_unwind(|| run(&bytes)) {
                let m = panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|s| s.to_string()));
                panic!("`{entry}`, seed {n}, damage {k}: {}\n{}", m.unwrap_or_default(), String::from_utf8_lossy(&bytes));
            }
        }
    }
    println!("{entry}: {inputs} inputs");
}

macro_rules! entries {
    ($($name:ident)*) => {
        $(#[test] fn $name() { smoke(stringify!($name)); })*

        #[test]
        fn every_entry_has_a_target_and_a_smoke_run() {
            let named = [$(stringify!($name)),*];
            assert_eq!(entries::ALL.iter().map(|e| e.0).collect::<Vec<_>>(), named);
            for n in named {
                assert!(root().join(format!("fuzz/fuzz_targets/{n}.rs")).is_file(), "{n}");
            }
        }
    };
}

entries! { ir wgsl glsl hlsl cg spirv compile asm_tesla asm_usse asm_r700 asm_pica dis container bind image }

/// What compiled code says of itself is accepted by the assembler, so that the entries begin with something that works.
#[test]
fn seeds_of_assembly_are_assembly() {
    for isa in retroshade::targets() {
        let good = compiled(isa.name()).iter().filter(|s| isa.assemble(&s.2, &TextOptions::default()).is_ok()).count();
        assert!(good > 0, "{}", isa.name());
    }
}
