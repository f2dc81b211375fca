//! Every shader of the corpus that a machine takes runs on random inputs, at least 64 invocations each: machine code equals the legalised IR bit for
//! bit. The legalised IR equals the source word by word where no operation is approximated (contraction off); elsewhere it is near it in all but
//! one of 64 invocations, since branches and `floor` on approximated values take the other side now and then. Shaders whose results are the same in every invocation are reported with the reason.
//! `RETROSHADE_ONLY=text` takes those with `text` in
//! their names. Skips, visibly, where the corpus is absent (`../shared` beside the repository, or `RETROSHADE_SHARED`).

use rayon::prelude::*;
use retroshade::frontend::{FrontOptions, wgsl};
use retroshade::ir::env::{Filter, Wrap};
use retroshade::ir::interp::{InterpError, Limits, run_with};
use retroshade::ir::*;
use retroshade::lower::testing::{Rng, Verdict, beside, diff_with, same_results};
use retroshade::{Options, TargetIsa};

const LANES: u32 = 64;

/// Values of a size that pictures have, with few bits: integers from 0 to 4, floats from -1 to 4.
fn environment(m: &Module, seed: u64, texture: u32) -> ShaderEnv {
    let mut rng = Rng::new(seed);
    let unit = |rng: &mut Rng| (rng.bits() % 4096) as f32 / 4096.0;
    let word = |rng: &mut Rng, s: Scalar| match s {
        Scalar::I32 => rng.bits() % 5,
        Scalar::I1 => rng.bits() % 2,
        Scalar::F16 => numerics::from_f32(Scalar::F16, unit(rng)),
        Scalar::F32 => match rng.bits() % 3 {
            0 => unit(rng) * 2.0 - 1.0,
            1 => unit(rng),
            _ => unit(rng) * 4.0,
        }
        .to_bits(),
    };
    let size: u32 = m.workgroup_size.iter().product();
    let mut env = ShaderEnv { workgroups: [LANES.div_ceil(size.max(1)).max(2), 1, 1], ..ShaderEnv::default() };
    if m.stage != Stage::Compute {
        for n in 0..LANES {
            let inputs = m.inputs.values().map(|d| match d.binding {
                Binding::Builtin(Builtin::Position) if m.stage == Stage::Fragment => {
                    // Quads all over an image of 256 by 256 pixels.
                    let (x, y) = (n / 4 % 4 * 64 + n % 2, n / 16 * 64 + n / 2 % 2);
                    [x as f32 + 8.5, y as f32 + 8.5, 0.5, 1.0].map(f32::to_bits).to_vec()
                }
                Binding::Builtin(Builtin::VertexIndex | Builtin::InstanceIndex) => vec![n],
                _ => (0..d.count.max(1) * u32::from(d.ty.lanes)).map(|_| word(&mut rng, d.ty.scalar)).collect(),
            });
            env.invocations.push(InvocationInputs { inputs: inputs.collect() });
        }
    }
    env.uniforms =
        m.uniforms.values().map(|u| (0..u.elements() * u32::from(u.ty.lanes)).map(|_| word(&mut rng, u.ty.scalar)).collect()).collect();
    for d in m.textures.values() {
        let mut t = TextureData {
            dim: d.dim,
            size: match d.dim {
                TexDim::D1 => [texture, 1, 1],
                TexDim::D2 => [texture, texture, 1],
                TexDim::D3 => [8, 8, 8],
                TexDim::Cube => [8, 8, 1],
            },
            layers: if d.arrayed { 2 } else { 1 },
            levels: 1,
            depth: d.shadow,
            filter: Filter::Nearest,
            wrap: Wrap::Repeat,
            texels: Vec::new(),
        };
        let one = |rng: &mut Rng| if d.kind == Scalar::I32 { rng.bits() % 256 } else { unit(rng).to_bits() };
        t.texels = (0..texture::texel_count(&t)).map(|_| [one(&mut rng), one(&mut rng), one(&mut rng), one(&mut rng)]).collect();
        env.textures.push(t);
    }
    env.storage = m.storage.values().map(|s| (0..s.head.len().max(256)).map(|n| word(&mut rng, s.word(n))).collect()).collect();
    env
}

/// What became of one shader.
enum Outcome {
    /// The machine agrees; whether the source was compared word by word.
    Agrees(bool),
    Refused,
    /// Results that do not vary, and why.
    Constant(String, bool),
    Wrong(String),
}

fn near(decl: Scalar, tolerance: f32, a: u32, b: u32) -> bool {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    a == b || decl == Scalar::F32 && (!x.is_finite() || !y.is_finite() || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0))
}

/// Invocations (or words of storage) in which two results are not near each other, and how many there are.
fn far(m: &Module, tolerance: f32, a: &ShaderResult, b: &ShaderResult) -> (usize, usize) {
    let mut count = (0, 0);
    for (x, y) in a.invocations.iter().zip(&b.invocations) {
        let outputs = m.outputs.values().zip(x.outputs.iter().zip(&y.outputs));
        let good = x.discarded == y.discarded
            && (x.discarded || outputs.into_iter().all(|(d, (v, w))| v.iter().zip(w).all(|(p, q)| near(d.ty.scalar, tolerance, *p, *q))));
        count = (count.0 + usize::from(!good), count.1 + 1);
    }
    for (s, (v, w)) in m.storage.values().zip(a.storage.iter().zip(&b.storage)) {
        for (n, (p, q)) in v.iter().zip(w).enumerate() {
            count = (count.0 + usize::from(!near(s.word(n), tolerance, *p, *q)), count.1 + 1);
        }
    }
    count
}

fn varies(m: &Module, env: &ShaderEnv, r: &ShaderResult) -> bool {
    // Of a compute program: whether the words that it writes differ.
    if m.stage == Stage::Compute {
        let written = |(before, after): (&Vec<u32>, &Vec<u32>)| -> Vec<u32> {
            before.iter().zip(after).filter(|(b, a)| b != a).map(|(_, a)| *a).collect()
        };
        return env.storage.iter().zip(&r.storage).any(|s| written(s).windows(2).any(|w| w[0] != w[1]));
    }
    r.invocations.windows(2).any(|w| w[0].outputs != w[1].outputs || w[0].discarded != w[1].discarded)
}

/// PICA200 reads another of the program's values where an index is out of range, as the IR allows: there, vertices and instances are few enough
/// for the corpus' smallest array that is indexed by them.
fn within_arrays(isa: &dyn TargetIsa, m: &Module, mut env: ShaderEnv) -> ShaderEnv {
    if isa.name() == "pica" {
        let counts = |b: Binding| matches!(b, Binding::Builtin(Builtin::VertexIndex | Builtin::InstanceIndex));
        for i in &mut env.invocations {
            for (_, words) in m.inputs.values().zip(&mut i.inputs).filter(|(d, _)| counts(d.binding)) {
                words.iter_mut().for_each(|w| *w %= 3);
            }
        }
    }
    env
}

fn check(isa: &dyn TargetIsa, m: &Module, seed: u64) -> Outcome {
    let options = Options { color_format: retroshade::lower::ColorFormat::F32, ..Options::default() };
    let (shader, legal) = match (isa.compile(m, &options), isa.legalise(m, &options)) {
        (Ok(s), Ok(l)) => (s, l),
        (Err(e), _) | (_, Err(e)) if e.exit_status() == 70 => return Outcome::Wrong(e.to_string()),
        _ => return Outcome::Refused,
    };
    let limits = Limits { fuel: 1 << 20, ..Limits::default() };
    // Some loops never end on some values: those are no use.
    let runs = (0..4).map(|k| within_arrays(isa, m, environment(m, seed + 500 * k, 8))).find_map(|env| {
        match run_with(m, &env, &Reference, &limits) {
            Err(InterpError::OutOfFuel(_)) => None,
            r => Some((env, r)),
        }
    });
    let (env, source) = match runs {
        Some((env, Ok(r))) => (env, r),
        Some((_, Err(e))) => return Outcome::Wrong(format!("the source does not run: {e}")),
        None => return Outcome::Wrong("the source does not end on any of four inputs".into()),
    };
    let want = match run_with(&legal, &env, isa.numerics(), &limits) {
        Ok(r) => r,
        Err(e) => return Outcome::Wrong(format!("the legalised IR does not run: {e}")),
    };
    let got = match isa.simulate_in_every_order(&shader, &env) {
        Ok(r) => r,
        Err(e) => return Outcome::Wrong(format!("the simulator stops: {e}")),
    };
    if let Err(e) = same_results(m, &want, &got) {
        return Outcome::Wrong(format!("the simulator differs from the legalised IR: {e}"));
    }
    let (bad, all) = far(m, if isa.name() == "pica" { 2e-3 } else { 2e-4 }, &source, &want);
    if bad > 1.max(all / 64) {
        return Outcome::Wrong(format!("the legalised IR differs from the source in {bad} of {all} invocations"));
    }
    let plain = Options { fp_contract: false, color_format: retroshade::lower::ColorFormat::F32, ..Options::default() };
    let exact = match diff_with(isa, m, &env, &plain) {
        Ok(Verdict::Agrees { exact }) => exact,
        Ok(_) => false,
        Err(e) => return Outcome::Wrong(format!("without contraction: {e}")),
    };
    if varies(m, &env, &source) {
        return Outcome::Agrees(exact);
    }
    Outcome::Constant(why(m, seed, &source, &limits), exact)
}

/// Why a shader's results are the same in every invocation.
fn why(m: &Module, seed: u64, source: &ShaderResult, limits: &Limits) -> String {
    let reads = m
        .functions
        .values()
        .any(|f| f.ordered().any(|(_, i)| matches!(f.insts[i].imm, inst::Imm::Mem { var: inst::MemRef::Input(_), .. })));
    if m.stage != Stage::Compute && (m.inputs.is_empty() || !reads) {
        return "it reads no input".into();
    }
    if m.stage == Stage::Fragment && source.invocations.iter().all(|i| i.discarded) {
        return "these values make it discard every fragment".into();
    }
    let shows = |env: &ShaderEnv| run_with(m, env, &Reference, limits).is_ok_and(|r| varies(m, env, &r));
    for other in 1..9 {
        if shows(&environment(m, seed + other * 1000, 8)) {
            return format!("these uniforms hide the inputs; others (seed {other}) do not");
        }
    }
    if shows(&environment(m, seed, 256)) {
        return "it fetches texels by number, and nearly all numbers are outside a texture of 8 by 8; with 256 by 256 they are not".into();
    }
    for factor in [1.0 / 256.0, 64.0, 1024.0] {
        for other in 0..4 {
            let mut env = environment(m, seed + other * 1000, 8);
            for (_, words) in m.uniforms.values().zip(&mut env.uniforms).filter(|(u, _)| u.ty.scalar == Scalar::F32) {
                words.iter_mut().for_each(|w| *w = (f32::from_bits(*w) * factor).to_bits());
            }
            if shows(&env) {
                return format!("its uniforms have another scale (pixels, weights): times {factor} they let the inputs show");
            }
        }
    }
    "UNEXPLAINED".into()
}

fn run(target: &str) {
    let Some(root) = beside("corpus") else { return };
    let only = std::env::var("RETROSHADE_ONLY").ok();
    let isa = retroshade::target(target).expect("a target");
    let manifest = std::fs::read_to_string(root.join("MANIFEST.tsv")).expect("manifest");
    let rows: Vec<Vec<&str>> = manifest.lines().skip(1).map(|l| l.split('\t').collect()).collect();
    let outcomes: Vec<Outcome> = rows
        .par_iter()
        .enumerate()
        .map(|(n, f)| {
            let stage = match f[1] {
                "vert" => Stage::Vertex,
                "comp" => Stage::Compute,
                _ => Stage::Fragment,
            };
            if !isa.stages().contains(&stage) || only.as_ref().is_some_and(|o| !f[0].contains(o)) {
                return Outcome::Refused;
            }
            let text = std::fs::read_to_string(root.join(f[2])).expect("a shader");
            let options = FrontOptions { stage: Some(stage), entry: Some(f[3].to_string()), ..FrontOptions::default() };
            match wgsl(f[2], &text, &options) {
                Ok(m) => check(isa, &m, n as u64 + 1),
                Err(e) => Outcome::Wrong(e.to_string()),
            }
        })
        .collect();
    let (mut agree, mut refused, mut wrong, mut unexplained, mut exactly) = (0, 0, 0, 0, 0);
    for (f, o) in rows.iter().zip(&outcomes) {
        match o {
            Outcome::Agrees(exact) => {
                agree += 1;
                exactly += usize::from(*exact);
            }
            Outcome::Refused => refused += 1,
            Outcome::Constant(reason, exact) => {
                agree += 1;
                exactly += usize::from(*exact);
                unexplained += usize::from(reason == "UNEXPLAINED");
                println!("{}: the same in every invocation: {reason}", f[0]);
            }
            Outcome::Wrong(e) => {
                wrong += 1;
                println!("{}: {e}", f[0]);
            }
        }
    }
    println!("{target}: {agree} agree, {exactly} of them with the source word by word, {wrong} wrong, {refused} refused");
    assert!(agree > 0 && wrong == 0 && unexplained == 0, "{target}: {wrong} wrong, {unexplained} constant for no known reason");
}

#[test]
fn tesla() {
    run("tesla");
}

#[test]
fn usse() {
    run("usse");
}

#[test]
fn r700() {
    run("r700");
}

#[test]
fn pica() {
    run("pica");
}
