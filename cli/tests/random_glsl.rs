//! Random GLSL programs on every machine that takes them, against their own evaluator (`frontend/tests/glsl_generator`): the simulator gives the same words, and the
//! same as the legalised IR. `RETROSHADE_RANDOM` is the number of programs; with it every program runs on every machine, without it each on one of them.
#![allow(clippy::unwrap_used)]

#[path = "../../frontend/tests/glsl_generator/mod.rs"]
mod glsl_generator;

use glsl_generator::judge::{Verdict, compare, environment, judge_all};
use glsl_generator::rewrite::rewrite;
use glsl_generator::{Program, Stage, eval};
use retroshade::frontend::{FrontOptions, glsl as read_glsl};
use retroshade::ir::{self, interp};
use retroshade::lower::testing::{program_seeds, same_results};
use retroshade::{Options, TargetIsa};

const MACHINES: [&str; 4] = ["tesla", "r700", "usse", "pica"];

fn one(seed: u64, machines: &[usize], rewritten: bool) -> Result<[usize; 4], Verdict> {
    let mut p = Program::new(seed, Program::wish(seed));
    let inputs = p.inputs_for(seed, 4);
    let want = eval::run(&p, &inputs);
    if rewritten {
        rewrite(&mut p, &inputs, seed);
    }
    let text = p.glsl();
    let mut compared = [0; 4];
    if want.stopped {
        return Ok(compared);
    }
    let stage = match p.stage {
        Stage::Vertex => ir::Stage::Vertex,
        Stage::Fragment => ir::Stage::Fragment,
        Stage::Compute => ir::Stage::Compute,
    };
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    let m = read_glsl("random", &text, &options).map_err(|e| Verdict::Refused(format!("{e}\n{text}")))?;
    let env = environment(&m, &p, &inputs);
    for n in machines {
        let isa: &dyn TargetIsa = retroshade::target(MACHINES[*n]).unwrap();
        let fault = |e: &dyn std::fmt::Display| Verdict::Wrong(format!("{}: {e}\n{text}", isa.name()));
        let shader = match isa.compile(&m, &Options::default()) {
            Ok(s) => s,
            Err(e) if e.exit_status() == 70 => return Err(fault(&e)),
            // What a machine lacks.
            Err(_) => continue,
        };
        let legal = interp::run(&shader.legal, &env, isa.numerics()).map_err(|e| fault(&e))?;
        let got = isa.simulate(&shader, &env).map_err(|e| fault(&e))?;
        same_results(&m, &legal, &got).map_err(|e| fault(&format!("differs from the legalised IR: {e}")))?;
        compared[*n] += compare(&m, &p, &want, &got, isa.name() == "pica").map_err(|e| fault(&e))?;
    }
    Ok(compared)
}

fn all(what: &str, count: u64, rewritten: bool) {
    let every = std::env::var_os("RETROSHADE_RANDOM").is_some();
    let sum = judge_all(&format!("{what} on tesla, r700, usse, pica"), program_seeds(count), |seed| {
        let machines: Vec<usize> = if every { (0..4).collect() } else { vec![(seed / 12 % 4) as usize] };
        one(seed, &machines, rewritten)
    });
    assert!(sum.compared.iter().all(|n| *n as u64 * 20 > sum.accepted), "too little is compared");
}

#[test]
fn machines_compute_what_programs_say() {
    all("GLSL", 700, false);
}

/// The same after rewrites that change nothing of it: opaque predicates, dead branches, loops of one round, exchanged arms and operands.
#[test]
fn machines_compute_the_same_after_rewrites() {
    all("rewritten GLSL", 240, true);
}
