//! Random WGSL programs on every machine, against a tree walk on Rust's own numbers (`frontend/tests/generator`): the simulator gives the same
//! words, floats within the bounds of the machine's arithmetic; it equals the legalised IR bit for bit. `RETROSHADE_RANDOM` is the number of programs.
#![allow(clippy::unwrap_used)]

#[path = "../../frontend/tests/generator/mod.rs"]
mod generator;

use generator::{Dice, Inputs, Program};
use rayon::prelude::*;
use retroshade::frontend::{FrontOptions, wgsl};
use retroshade::ir::module::Binding;
use retroshade::ir::{InvocationInputs, Module, Scalar, ShaderEnv, ShaderResult, interp};
use retroshade::lower::testing::{program_seeds, same_results};
use retroshade::{Options, TargetIsa};

const LANES: usize = 16;

fn inputs(d: &mut Dice) -> Inputs {
    Inputs {
        a: [0; 4].map(|_| (d.below(65) as f32 - 32.0) * 0.125),
        b: [0; 4].map(|_| d.below(17) as i32 - 8),
        c: [0; 4].map(|_| if d.one_in(6) { d.bits() } else { d.below(9) }),
    }
}

fn environment(m: &Module, all: &[Inputs]) -> ShaderEnv {
    let one = |i: &Inputs| {
        let words = m.inputs.values().map(|d| match d.binding {
            Binding::Location(0) => i.a.iter().map(|x| x.to_bits()).collect(),
            Binding::Location(1) => i.b.iter().map(|x| *x as u32).collect(),
            _ => i.c.to_vec(),
        });
        InvocationInputs { inputs: words.collect() }
    };
    ShaderEnv { invocations: all.iter().map(one).collect(), ..ShaderEnv::default() }
}

/// What became of a program on a machine: runs that agree with the tree walk, and all that were compared; `None`: refused.
fn on(isa: &dyn TargetIsa, seed: u64) -> Result<Option<(usize, usize)>, String> {
    let floats = isa.name() == "pica";
    let mut p = Program::new(seed, floats);
    p.halves = isa.name() == "usse";
    let source = p.wgsl();
    let Ok(m) = wgsl("random.wgsl", &source, &FrontOptions::default()) else { return Ok(None) };
    let options = Options { fp_contract: false, color_format: retroshade::lower::ColorFormat::F32, ..Options::default() };
    let shader = match isa.compile(&m, &options) {
        Ok(s) => s,
        Err(e) if e.exit_status() == 70 => return Err(format!("{e}\n{source}")),
        Err(_) => return Ok(None),
    };
    let mut d = Dice::new(seed + 2_000_000);
    let all: Vec<Inputs> = (0..LANES).map(|_| inputs(&mut d)).collect();
    let env = environment(&m, &all);
    let legal = interp::run(&shader.legal, &env, isa.numerics()).map_err(|e| format!("{e}\n{source}"))?;
    let got = isa.simulate_in_every_order(&shader, &env).map_err(|e| format!("{e}\n{source}"))?;
    same_results(&m, &legal, &got).map_err(|e| format!("the simulator differs from the legalised IR: {e}\n{source}"))?;
    let (mut good, mut count) = (0, 0);
    for (n, i) in all.iter().enumerate() {
        let (want, special) = p.run(i);
        if !special {
            count += 1;
            let agrees = agrees(&m, &got, n, &want, if floats { 2e-3 } else { 1e-4 });
            good += usize::from(agrees);
            if !agrees && std::env::var_os("RETROSHADE_SEED").is_some() {
                let floats = |w: &[u32]| w.iter().map(|x| f32::from_bits(*x)).collect::<Vec<_>>();
                let outputs = got.invocations[n].outputs.iter().map(|o| floats(o)).collect::<Vec<_>>();
                println!("{source}\ninputs {i:?}\nexpected {:?}\ngot {outputs:?}", want.iter().map(|w| floats(w)).collect::<Vec<_>>());
            }
        }
    }
    Ok(Some((good, count)))
}

fn agrees(m: &Module, r: &ShaderResult, n: usize, want: &[Vec<u32>], bound: f32) -> bool {
    let mut at: Vec<(u32, usize)> = Vec::new();
    for (k, d) in m.outputs.values().enumerate() {
        if let Binding::Location(l) = d.binding {
            at.push((l, k));
        }
    }
    at.sort_unstable();
    let float: Vec<bool> = m.outputs.values().map(|d| d.ty.scalar == Scalar::F32).collect();
    at.iter().zip(want).all(|((_, k), w)| {
        r.invocations[n].outputs[*k].iter().zip(w).all(|(g, w)| {
            let (x, y) = (f32::from_bits(*g), f32::from_bits(*w));
            g == w || float[*k] && (x - y).abs() <= bound * y.abs().max(1.0)
        })
    })
}

fn run(target: &str, least: f64) {
    let seeds = program_seeds(60);
    let count = seeds.end - seeds.start;
    let isa = retroshade::target(target).unwrap();
    let all: Vec<(u64, Result<_, String>)> = seeds.into_par_iter().map(|seed| (seed, on(isa, seed))).collect();
    let (mut good, mut runs, mut refused) = (0, 0, 0);
    for (seed, r) in all {
        match r {
            Ok(Some((g, n))) => {
                if g < n {
                    println!("{target}: seed {seed}: {g} of {n}");
                }
                (good, runs) = (good + g, runs + n);
            }
            Ok(None) => refused += 1,
            Err(e) => panic!("{target}, seed {seed}: {e}"),
        }
    }
    println!("{target}: {good} of {runs} runs give the tree walk's results, {refused} of {count} programs refused");
    assert!(runs > count as usize && good as f64 >= least * runs as f64, "{good} of {runs} runs");
}

#[test]
fn tesla() {
    run("tesla", 1.0);
}

#[test]
fn r700() {
    run("r700", 1.0);
}

#[test]
fn usse() {
    run("usse", 1.0);
}

#[test]
fn pica() {
    // Some runs leave the range of 24-bit floats, or lose their digits to a difference.
    run("pica", 0.995);
}
