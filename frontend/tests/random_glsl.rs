//! Random GLSL programs (`glsl_generator/`): their own evaluator = the interpreter on the translation, from GLSL, from glslang's SPIR-V where `glslangValidator` is
//! installed, and from what `spirv-opt` makes of that where it is. `RETROSHADE_RANDOM` is the number of programs, `RETROSHADE_FROM` the first seed.
#![allow(clippy::unwrap_used)]

mod glsl_generator;

use glsl_generator::judge::{Verdict, compare, environment, installed, judge_all, through_spirv};
use glsl_generator::rewrite::rewrite;
use glsl_generator::{Program, Stage, eval};
use retroshade_frontend::{FrontError, FrontOptions, glsl as read_glsl, spirv as read_spirv};
use retroshade_ir::{Module, Reference, interp};
use retroshade_lower::testing::program_seeds;

/// One form of a program on the interpreter.
fn judge(
    p: &Program,
    text: &str,
    form: &str,
    read: Result<Module, FrontError>,
    want: &eval::Outcome,
    inputs: &eval::Inputs,
) -> Result<usize, Verdict> {
    let m = read.map_err(|e| Verdict::Refused(format!("{form}: {e}\n{text}")))?;
    let wrong = |e: String| Verdict::Wrong(format!("{form}: {e}\n{text}"));
    let got = interp::run(&m, &environment(&m, p, inputs), &Reference).map_err(|e| wrong(e.to_string()))?;
    compare(&m, p, want, &got, false).map_err(wrong)
}

/// The options, the inputs and the right results of a program; none where it runs too long.
fn prepare(seed: u64) -> (Program, String, FrontOptions, eval::Inputs, Option<eval::Outcome>) {
    let p = Program::new(seed, Program::wish(seed));
    let stage = match p.stage {
        Stage::Vertex => retroshade_ir::Stage::Vertex,
        Stage::Fragment => retroshade_ir::Stage::Fragment,
        Stage::Compute => retroshade_ir::Stage::Compute,
    };
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    let (text, inputs) = (p.glsl(), p.inputs_for(seed, 4));
    let want = eval::run(&p, &inputs);
    (p, text, options, inputs, (!want.stopped).then_some(want))
}

#[test]
fn glsl_computes_what_it_says() {
    let sum = judge_all("GLSL", program_seeds(1_200), |seed| {
        let (p, text, options, inputs, want) = prepare(seed);
        let Some(want) = want else { return Ok([0; 4]) };
        let m = read_glsl("random", &text, &options);
        judge(&p, &text, "GLSL", m, &want, &inputs).map(|n| [n, 0, 0, 0])
    });
    assert!(sum.compared[0] as u64 > 2 * sum.accepted, "too little is compared");
}

/// What rewrites made of a program computes what the program does.
#[test]
fn rewritten_glsl_computes_the_same() {
    let sum = judge_all("rewritten GLSL", program_seeds(300), |seed| {
        let (mut p, _, options, inputs, want) = prepare(seed);
        let Some(want) = want else { return Ok([0; 4]) };
        let rewrites = rewrite(&mut p, &inputs, seed);
        let text = p.glsl();
        let m = read_glsl("random", &text, &options);
        judge(&p, &text, "rewritten GLSL", m, &want, &inputs).map(|n| [n, rewrites, 0, 0])
    });
    assert!(sum.compared[0] as u64 > 2 * sum.accepted, "too little is compared");
    assert!(sum.compared[1] as u64 > 4 * sum.accepted, "too little is rewritten");
}

#[test]
fn spirv_computes_what_it_says() {
    if !installed("glslangValidator") {
        println!("skipped: no glslangValidator");
        return;
    }
    let optimiser = installed("spirv-opt");
    let sum = judge_all("SPIR-V", program_seeds(120), |seed| {
        let (p, text, options, inputs, want) = prepare(seed);
        let Some(want) = want else { return Ok([0; 4]) };
        let mut compared = [0; 4];
        for (k, (form, bytes)) in through_spirv(seed, &p, &text, optimiser).map_err(Verdict::Wrong)?.into_iter().enumerate() {
            compared[k] = judge(&p, &text, form, read_spirv("random.spv", &bytes, &options), &want, &inputs)?;
        }
        Ok(compared)
    });
    assert!(sum.compared[0] as u64 > 2 * sum.accepted, "too little is compared");
}
