//! OpenGL's GLSL (`examples/gl`) on every machine that has the stage: machine code equals the legalised IR bit for bit, and the legalised
//! IR the source within the bounds of approximation.

use retroshade::frontend::{FrontOptions, glsl};
use retroshade::ir::{Module, Reference, ShaderResult, Stage, interp};
use retroshade::lower::testing::{Rng, random_env, same_results};
use retroshade::{Options, TargetIsa};

fn load(file: &str) -> Module {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/gl").join(file);
    let text = std::fs::read_to_string(&path).expect("the example");
    let stage = match file.rsplit('.').next() {
        Some("vert") => Stage::Vertex,
        Some("geom") => Stage::Geometry,
        _ => Stage::Fragment,
    };
    glsl(file, &text, &FrontOptions { stage: Some(stage), ..FrontOptions::default() }).unwrap_or_else(|e| panic!("{e}"))
}

fn floats(r: &ShaderResult) -> Vec<f32> {
    let vertices = r.invocations.iter().flat_map(|i| i.primitives.iter().flatten().chain([&i.outputs]));
    vertices.flatten().flatten().map(|w| f32::from_bits(*w)).collect()
}

fn check(isa: &dyn TargetIsa, file: &str) {
    let module = load(file);
    // Colours as they are, so that results can be compared closely.
    let options = Options { color_format: retroshade::lower::ColorFormat::F32, ..Options::default() };
    let what = format!("{file} on {}", isa.name());
    let shader = isa.compile(&module, &options).unwrap_or_else(|e| panic!("{what}: {e}"));
    let legal = isa.legalise(&module, &options).unwrap_or_else(|e| panic!("{what}: {e}"));
    for seed in 0..8 {
        let mut env = random_env(&module, 16, 15, &mut Rng::new(seed));
        // Values of a size that pictures have.
        for w in env.invocations.iter_mut().flat_map(|i| i.inputs.iter_mut()).chain(&mut env.uniforms).flatten() {
            *w = (f32::from_bits(*w) % 4.0).to_bits() & !0x1ff;
        }
        let source = interp::run(&module, &env, &Reference).unwrap_or_else(|e| panic!("{what}: {e}"));
        let want = interp::run(&legal, &env, isa.numerics()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let got = isa.simulate_in_every_order(&shader, &env).unwrap_or_else(|e| panic!("{what}: {e}"));
        same_results(&module, &want, &got).unwrap_or_else(|e| panic!("{what}, seed {seed}: {e}"));
        let (a, b) = (floats(&source), floats(&want));
        assert_eq!(a.len(), b.len(), "{what}");
        let bound = if isa.name() == "pica" { 5e-3 } else { 1e-4 };
        for (x, y) in a.iter().zip(&b) {
            let near = (x - y).abs() <= bound * x.abs().max(1.0) || !x.is_finite() || !y.is_finite();
            assert!(near, "{what}, seed {seed}: {y} instead of {x}");
        }
    }
}

#[test]
fn opengl_programs_run_on_every_machine() {
    for isa in retroshade::targets() {
        for file in ["textured.vert", "textured.frag", "instanced.vert", "outline.geom", "explode.geom"] {
            let stage = load(file).stage;
            // PICA200 assembles triangles only.
            if isa.stages().contains(&stage) && (isa.name(), file) != ("pica", "outline.geom") {
                check(isa, file);
            }
        }
    }
}

#[test]
fn geometry_programs_run_on_two_machines() {
    let with: Vec<&str> = retroshade::targets().iter().filter(|t| t.stages().contains(&Stage::Geometry)).map(|t| t.name()).collect();
    assert!(with.contains(&"tesla") && with.contains(&"pica"), "{with:?}");
    // Three corners and the first one again, in one strip.
    let module = load("outline.geom");
    let env = random_env(&module, 3, 23, &mut Rng::new(1));
    let r = interp::run(&module, &env, &Reference).expect("runs");
    assert!(
        r.invocations.iter().all(|i| i.primitives.len() == 1 && i.primitives[0].len() == 4 && i.primitives[0][0] == i.primitives[0][3])
    );
}
