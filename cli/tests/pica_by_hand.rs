//! Programs in the style of published ones beside what an expert writes for them by hand: `targets/pica/tests/hand/NAME.vert` or
//! `.geom`, and `NAME.pica`. Both give the same outputs on the simulator; the table keeps the words of both.
//! `SHADERC_BLESS=1` rewrites it.
#![allow(clippy::unwrap_used)]

use retroshade::frontend::FrontOptions;
use retroshade::ir::{Module, Scalar, ShaderEnv, ShaderResult, Stage};
use retroshade::lower::testing::{Rng, golden, random_env};
use retroshade::lower::{CompiledShader, Options};
use retroshade_pica::container::Shbin;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../targets/pica/tests")
}

fn module(path: &Path) -> Module {
    let stage = if path.extension().is_some_and(|e| e == "geom") { Stage::Geometry } else { Stage::Vertex };
    let options = FrontOptions { stage: Some(stage), functions: true, ..FrontOptions::default() };
    let text = std::fs::read_to_string(path).unwrap();
    retroshade::frontend::glsl("hand", &text, &options).unwrap_or_else(|e| panic!("{}: {:?}", path.display(), e.diagnostics))
}

/// Inputs and uniforms in sixteenths between -4 and 4: products and sums of a few are exact.
fn env(m: &Module, seed: u64) -> ShaderEnv {
    let mut rng = Rng::new(seed);
    let mut env = random_env(m, 16, 8, &mut rng);
    let mut fill = |words: &mut Vec<u32>, scalar: Scalar| {
        if scalar == Scalar::F32 {
            words.iter_mut().for_each(|w| *w = ((rng.int() % 129) as f32 / 16.0 - 4.0).to_bits());
        }
    };
    for (words, u) in env.uniforms.iter_mut().zip(m.uniforms.values()) {
        fill(words, u.ty.scalar);
    }
    for i in &mut env.invocations {
        for (words, d) in i.inputs.iter_mut().zip(m.inputs.values()) {
            fill(words, d.ty.scalar);
        }
    }
    env
}

/// All outputs, vertices of strips included.
fn outputs(r: &ShaderResult) -> Vec<f32> {
    let invocations = r.invocations.iter();
    let words = invocations.flat_map(|i| i.outputs.iter().chain(i.primitives.iter().flatten().flatten()).flatten());
    words.map(|w| f32::from_bits(*w)).collect()
}

/// The largest difference, as a part of the larger of 1 and the value.
fn difference(ours: &CompiledShader, hand: &CompiledShader, env: &ShaderEnv) -> f32 {
    let isa = retroshade_pica::isa();
    let (a, b) = (outputs(&isa.simulate(ours, env).unwrap()), outputs(&isa.simulate(hand, env).unwrap()));
    assert_eq!(a.len(), b.len());
    let near = |(a, b): (&f32, &f32)| if a == b || a.is_nan() && b.is_nan() { 0.0 } else { (a - b).abs() / a.abs().max(1.0) };
    a.iter().zip(&b).map(near).fold(0.0, f32::max)
}

#[test]
fn as_short_as_by_hand() {
    let isa = retroshade_pica::isa();
    let table = folder().join("hand.tsv");
    let (mut new, mut logs, mut worst) = ("# program\twords written by hand\tours\n".to_string(), Vec::new(), 0.0f64);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder().join("hand")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for path in files.iter().filter(|p| p.extension().is_some_and(|e| e != "pica")) {
        let name = path.file_stem().unwrap().to_string_lossy();
        let m = module(path);
        let ours = isa.compile(&m, &Options::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let text = std::fs::read_to_string(path.with_extension("pica")).unwrap();
        let container = isa.assemble(&text, &Default::default()).unwrap_or_else(|e| panic!("{name}: {e:?}")).container.unwrap();
        assert_eq!(isa.lint(&container, &Default::default()).unwrap(), vec![], "{name}");
        let words = Shbin::read(&container).unwrap().code.len();
        let hand = CompiledShader { container, ..ours.clone() };
        for seed in 0..8 {
            let d = difference(&ours, &hand, &env(&m, seed));
            assert!(d < 1.0 / 64.0, "{name}: outputs differ by {d}\n{}\n{text}", ours.asm);
        }
        let ratio = f64::from(ours.stats.instructions) / words as f64;
        println!("{name}: {} of {words}, {ratio:.3}", ours.stats.instructions);
        new.push_str(&format!("{name}\t{words}\t{}\n", ours.stats.instructions));
        logs.push(ratio.ln());
        worst = worst.max(ratio);
    }
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    println!("{} programs, geometric mean {mean:.3}, worst {worst:.3}", logs.len());
    golden(&table, &new).unwrap();
    assert!(logs.len() >= 12 && mean <= 0.95 && worst <= 1.05, "{mean:.3} {worst:.3}");
}
