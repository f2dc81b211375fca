//! Every example runs: on the interpreter with results worked out elsewhere, and on each machine that can serve it with
//! the simulator's answer equal, bit for bit, to the interpreter's on the legalised program.
#![allow(clippy::unwrap_used)]

use retroshade::ir::{Module, Reference, ShaderEnv, ShaderResult, interp};
use retroshade::lower::bind;
use retroshade::{CompileError, Options};
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

fn load(name: &str) -> (Module, ShaderEnv) {
    let text = std::fs::read_to_string(folder().join(format!("{name}.ir"))).unwrap();
    let module = retroshade::parse(name, &text).unwrap_or_else(|e| panic!("{name}: {:?}", e.diagnostics));
    retroshade::ir::verify(&module).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let env = bind::parse_env(&module, &std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap())
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    (module, env)
}

/// Results as floats: per invocation the words of output `n` (or of the vertices' output `n`), else storage buffer `n`.
fn floats(r: &ShaderResult, n: usize) -> Vec<Vec<f32>> {
    let words = |w: &[u32]| w.iter().map(|x| f32::from_bits(*x)).collect::<Vec<f32>>();
    if r.invocations.is_empty() {
        return vec![words(&r.storage[n])];
    }
    let lane = |i: &retroshade::ir::InvocationResult| {
        if i.primitives.is_empty() { words(&i.outputs[n]) } else { i.primitives.iter().flatten().flat_map(|v| words(&v[n])).collect() }
    };
    r.invocations.iter().map(lane).collect()
}

/// Bits that differ, any NaN being equal to any NaN.
fn differ(a: &ShaderResult, b: &ShaderResult) -> bool {
    let flat = |r: &ShaderResult| -> Vec<u32> {
        let mut w: Vec<u32> = Vec::new();
        for i in &r.invocations {
            w.push(i.discarded as u32);
            if !i.discarded {
                w.extend(i.outputs.iter().flatten());
            }
            w.extend(i.primitives.iter().flatten().flatten().flatten());
        }
        w.extend(r.storage.iter().flatten());
        w
    };
    let (a, b) = (flat(a), flat(b));
    let nan = |x: u32| f32::from_bits(x).is_nan();
    a.len() != b.len() || a.iter().zip(&b).any(|(x, y)| x != y && !(nan(*x) && nan(*y)))
}

/// Runs an example everywhere. `want` lists the expected floats of result `n` for some invocations.
fn check(name: &str, n: usize, want: &[(usize, &[f32])]) {
    let (module, env) = load(name);
    let reference = interp::run(&module, &env, &Reference).unwrap();
    let near = |got: &[f32], want: &[f32], tolerance: f32, who: &str| {
        assert_eq!(got.len(), want.len(), "{name} on {who}");
        for (g, w) in got.iter().zip(want) {
            assert!((g - w).abs() <= tolerance * w.abs().max(1.0), "{name} on {who}: {got:?}, expected {want:?}");
        }
    };
    let got = floats(&reference, n);
    want.iter().for_each(|(i, w)| near(&got[*i], w, 2e-6, "the interpreter"));
    for isa in retroshade::targets() {
        let color_format = retroshade::lower::ColorFormat::F32;
        let options = Options { check_allocation: true, color_format, ..Options::default() };
        let shader = match isa.compile(&module, &options) {
            Ok(s) => s,
            Err(CompileError::Internal(e)) => panic!("{name} on {}: {e}", isa.name()),
            Err(e) => {
                assert_ne!(isa.name(), "tesla", "{name}: {e}");
                println!("{name}: {} refuses: {e}", isa.name());
                continue;
            }
        };
        let legal = interp::run(&shader.legal, &env, isa.numerics()).unwrap_or_else(|e| panic!("{name} legalised for {}: {e}", isa.name()));
        let machine = isa.simulate_in_every_order(&shader, &env).unwrap_or_else(|e| panic!("{name} on {}: {e}", isa.name()));
        assert!(
            !differ(&legal, &machine),
            "{name} on {}: the simulator gives {:?}, the legalised IR {:?}",
            isa.name(),
            floats(&machine, n),
            floats(&legal, n)
        );
        let tolerance = if isa.name() == "pica" { 4e-3 } else { 2e-5 };
        for (g, w) in floats(&machine, n).iter().zip(&got) {
            near(g, w, tolerance, isa.name());
        }
    }
}

#[test]
fn mvp() {
    check("mvp", 0, &[(0, &[3.0, 0.0, 3.0, 1.75]), (1, &[-1.0, -0.75, 0.0, 1.0])]);
}

#[test]
fn lit() {
    let first: &[f32] = &[1.5561005, 1.1061005, 0.9061005, 1.0];
    let last: &[f32] = &[1.403486, 1.403486, 1.453486, 0.5];
    check("lit", 0, &[(0, first), (2, &[0.0; 4]), (3, last)]);
}

#[test]
fn mandelbrot() {
    let rounds = [32.0, 3.0, 2.0, 5.0, 32.0, 1.0, 32.0, 1.0f32];
    let colors: Vec<[f32; 4]> = rounds.iter().map(|r| [r / 32.0, (r / 32.0) * (r / 32.0), (r / 32.0).sqrt(), 1.0]).collect();
    let want: Vec<(usize, &[f32])> = colors.iter().enumerate().map(|(i, c)| (i, &c[..])).collect();
    check("mandelbrot", 0, &want);
}

#[test]
fn blur() {
    check("blur", 0, &[(0, &[0.625, 0.5, 0.375, 1.0]), (3, &[0.21875, 0.15625, 0.21875, 1.0])]);
}

#[test]
fn noise() {
    let all = [0.066_120_07f32, 0.402_103_94, 0.531_566_66, 0.551_559_2].map(|x| [x, x, x, 1.0]);
    let want: Vec<(usize, &[f32])> = all.iter().enumerate().map(|(i, c)| (i, &c[..])).collect();
    check("noise", 0, &want);
}

#[test]
fn skinning() {
    check("skinning", 0, &[(0, &[1.6875, 4.0, -3.75, -3.25]), (1, &[1.875, -2.375, -5.25, -4.75]), (2, &[1.125, -1.5, -3.0, -2.5])]);
}

#[test]
fn wireframe() {
    let outline: &[f32] = &[0.5, 0.5, 0.0, 1.0, 2.0, 0.5, 0.0, 1.0, 0.5, 2.0, 0.0, 1.0, 0.5, 0.5, 0.0, 1.0];
    check("wireframe", 0, &[(0, outline)]);
}

#[test]
fn reduce() {
    check("reduce", 1, &[(0, &[796.25, 784.0])]);
}

#[test]
fn every_example_is_tested() {
    let here = include_str!("examples.rs");
    for f in std::fs::read_dir(folder()).unwrap() {
        let p = f.unwrap().path();
        if p.extension().is_some_and(|e| e == "ir") {
            let name = p.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(here.contains(&format!("check(\"{name}\"")), "examples/{name}.ir has no test");
        }
    }
}
