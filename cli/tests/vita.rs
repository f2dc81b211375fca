//! PlayStation Vita from source text to containers: the twins of published programs and the examples in `examples/vita`
//! compile, their containers are read back, and the simulator that runs the containers agrees with the interpreter.
//!
//! `SHADERC_BLESS=1` rewrites the table of sizes.
#![allow(clippy::unwrap_used)]

#[path = "../../targets/usse/tests/support/branches.rs"]
mod branches;

use retroshade::Options;
use retroshade::frontend::FrontOptions;
use retroshade::ir::{Module, Stage};
use retroshade::lower::testing::{Rng, Verdict, diff_with, golden, random_env};
use retroshade::lower::{ColorFormat, OptLevel};
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
    assert_eq!(branches::needless(&g.primary), [""; 0], "{}", path.display());
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

/// `run x.gxp` needs nothing but the file: names are those of the container, and what comes out is what the source gives.
#[test]
fn containers_run_on_their_own() {
    let folder = std::env::temp_dir().join(format!("retroshade-vita-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let shaderc = |args: &[&str]| {
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_shaderc")).args(args).current_dir(&folder).output().unwrap();
        (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let outputs = |json: &str, name: &str| {
        let v: serde_json::Value = serde_json::from_str(json).unwrap();
        v["invocations"].as_array().unwrap().iter().map(|i| (i["outputs"][name].clone(), i["discarded"].clone())).collect::<Vec<_>>()
    };
    let source = root().join("examples/vita/cutout.frag");
    let source = source.to_str().unwrap();
    let bind = |uv: &str, shade: &str| {
        let one = |a: f32| format!(r#"{{"inputs": {{"{uv}": [0.25, 0.5], "{shade}": [1, 0.5, 0.25, {a}]}}}}"#);
        let all: Vec<String> = [1.0, 0.125, 0.75, 0.5].map(one).to_vec();
        let texture = r#"{"size": [2, 1], "texels": [[1, 0.5, 2, 0.75], [0, 0, 0, 0]]}"#;
        format!(r#"{{"invocations": [{}], "textures": {{"tex": {texture}}}}}"#, all.join(", "))
    };
    std::fs::write(folder.join("source.json"), bind("uv", "shade")).unwrap();
    std::fs::write(folder.join("own.json"), bind("texcoord0", "texcoord1")).unwrap();
    assert_eq!(shaderc(&["--target", "usse", "-o", "a.gxp", source]).0, Some(0));
    let (want, own) = (shaderc(&["run", "--bind", "source.json", source]), shaderc(&["run", "--bind", "own.json", "a.gxp"]));
    assert_eq!((want.0, own.0), (Some(0), Some(0)), "{} {}", want.2, own.2);
    let (want, own) = (outputs(&want.1, "colour"), outputs(&own.1, "color"));
    assert_eq!(want[1].1, true);
    assert_eq!(want, own);
    // What the container declares must be given; a file that is neither source nor container is said to be so.
    let missing = shaderc(&["run", "--bind", "source.json", "a.gxp"]);
    assert!(missing.0 == Some(1) && missing.2.contains("texcoord"), "{}", missing.2);
    std::fs::write(folder.join("b.gxp"), [0; 64]).unwrap();
    assert_eq!(shaderc(&["run", "--bind", "own.json", "b.gxp"]).0, Some(2));
    let whole = std::fs::read(folder.join("a.gxp")).unwrap();
    std::fs::write(folder.join("b.gxp"), &whole[..whole.len() / 2]).unwrap();
    assert_eq!(shaderc(&["run", "--bind", "own.json", "b.gxp"]).0, Some(1));
    // A program that does what the machine cannot.
    let mut g = container::read(&whole).unwrap();
    g.primary[1] = 0xb000_0000_0000_0000;
    std::fs::write(folder.join("b.gxp"), container::write(&g)).unwrap();
    let fault = shaderc(&["run", "--bind", "own.json", "b.gxp"]);
    assert!(fault.0 == Some(1) && fault.2.contains("R0005") && fault.2.contains("is no instruction"), "{}", fault.2);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Some case makes each pattern of selection fire.
#[test]
fn every_pattern_has_a_case() {
    let mut texts = Vec::new();
    for folder in
        ["filetests/cases/usse", "filetests/cases/usse/selection", "filetests/cases/ops", "targets/usse/tests/twins", "examples/vita"]
    {
        for path in sources(folder).into_iter().filter(|p| p.is_file()) {
            let module = match path.extension().and_then(|e| e.to_str()) {
                Some("ir") => retroshade::parse("case", &std::fs::read_to_string(&path).unwrap()).ok(),
                Some("vert" | "frag") => Some(load(&path)),
                _ => None,
            };
            let Some(module) = module.filter(|m| matches!(m.stage, Stage::Vertex | Stage::Fragment)) else { continue };
            for (opt, relaxed_precision, color_format) in [
                (OptLevel::O2, false, ColorFormat::Auto),
                (OptLevel::O2, true, ColorFormat::Auto),
                (OptLevel::O2, false, ColorFormat::F16),
                (OptLevel::O0, false, ColorFormat::Auto),
            ] {
                let options = Options { opt, relaxed_precision, color_format, ..Options::default() };
                // Some cases are there to be refused.
                if let Ok(shader) = retroshade_usse::isa().compile(&module, &options) {
                    texts.push(String::from_utf8(shader.extra["mir"].clone()).unwrap());
                }
            }
        }
    }
    assert_eq!(retroshade_usse::select::patterns_without_a_case(&texts), Vec::<&str>::new());
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
    // Libraries that know texture sizes read one byte more before the container: no texture's is wanted.
    let sized = &shader.extra["vitagl-texture-size"];
    assert_eq!((container::read_vitagl(sized).unwrap(), sized.len()), ((matrices.clone(), g.clone()), file.len() + 1));
    // That of a texture which a fragment program asks for is told by its sampler's name.
    let fetch = isa.compile(&load(&root().join("filetests/cases/usse/texel-fetch.frag")), &Options::default()).unwrap();
    let sized = &fetch.extra["vitagl-texture-size"];
    assert_eq!((sized[4], &sized[5..12], sized[68]), (1, &b"image\0\0"[..], 0));
    let written = container::read(&sized[69..]).unwrap();
    assert!(written.parameters.iter().any(|p| p.name == "vgl_smp0") && !written.parameters.iter().any(|p| p.name == "image.size"));
    assert_eq!(container::read_vitagl(sized).unwrap().1, container::read(&fetch.container).unwrap());
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
