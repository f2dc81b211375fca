//! Random GLSL programs (`glsl/`): their own evaluator = the interpreter on the translation = every simulator that takes them, from GLSL, from glslang's
//! SPIR-V where `glslangValidator` is installed, and from what `spirv-opt` makes of that where it is. `RETROSHADE_RANDOM` is the number of programs; with it
//! every program runs on every machine, without it each on one of them in turn. `RETROSHADE_SEED` is the first seed.
#![allow(clippy::unwrap_used)]

mod glsl;

use glsl::eval::{Inputs, Outcome, run};
use glsl::{Program, Stage};
use rayon::prelude::*;
use retroshade::frontend::{FrontOptions, glsl as read_glsl, spirv as read_spirv};
use retroshade::ir::module::Binding;
use retroshade::ir::numerics::Reference;
use retroshade::ir::{self, InvocationInputs, Module, ShaderEnv, ShaderResult, interp};
use retroshade::lower::testing::same_results;
use retroshade::{Options, TargetIsa};
use std::fmt::Write;
use std::process::Command;

const MACHINES: [&str; 4] = ["tesla", "r700", "usse", "pica"];

/// What became of a program.
#[derive(Default)]
struct Tally {
    accepted: usize,
    /// Invocations compared on the interpreter, and on each machine.
    interpreted: usize,
    machines: [usize; 4],
}

fn environment(m: &Module, p: &Program, inputs: &Inputs) -> ShaderEnv {
    let words = |binding: u32| -> &[u32] { p.blocks.iter().position(|b| b.binding == binding).map_or(&[], |n| &inputs.blocks[n]) };
    let uniform = |d: &retroshade::ir::UniformDecl| {
        let block = words(d.binding);
        let word = |n: u32, lane: u32| block.get(((d.offset + d.element_offset(n)) / 4 + lane) as usize).copied().unwrap_or(0);
        (0..d.elements()).flat_map(|n| (0..u32::from(d.ty.lanes)).map(move |l| (n, l))).map(|(n, l)| word(n, l)).collect()
    };
    let input = |values: &Vec<Vec<u32>>| {
        let one = |d: &retroshade::ir::IoDecl| match d.binding {
            Binding::Location(l) => values[l as usize].clone(),
            Binding::Builtin(_) => vec![0; d.count.max(1) as usize * d.ty.lanes as usize],
        };
        InvocationInputs { inputs: m.inputs.values().map(one).collect() }
    };
    ShaderEnv {
        invocations: if p.stage == Stage::Compute { Vec::new() } else { inputs.invocations.iter().map(input).collect() },
        uniforms: m.uniforms.values().map(uniform).collect(),
        textures: Vec::new(),
        storage: m.storage.values().map(|d| words(d.binding).to_vec()).collect(),
        workgroups: [inputs.groups as u32, 1, 1],
    }
}

/// Equal, but for the sign of zero.
fn equal(a: u32, b: u32) -> bool {
    a == b || (a | b) == 1 << 31
}

/// Compares what came out with what should; the number of invocations compared.
fn compare(m: &Module, p: &Program, want: &Outcome, got: &ShaderResult, coarse: bool) -> Result<usize, String> {
    let fair = |n: usize| want.exact[n] && (!coarse || want.coarse[n]);
    if p.stage == Stage::Compute {
        // Invocations share what they have: one that is not exact spoils the others.
        if !(0..want.exact.len()).all(fair) {
            return Ok(0);
        }
        for (d, words) in m.storage.values().zip(&got.storage) {
            let n = p.blocks.iter().position(|b| b.binding == d.binding).ok_or("a buffer that nobody declared")?;
            for (k, (g, w)) in words.iter().zip(&want.blocks[n]).enumerate() {
                if !equal(*g, *w) {
                    return Err(format!("word {k} of `{}` is {g:#x}, not {w:#x}", d.name));
                }
            }
        }
        return Ok(want.exact.len());
    }
    let mut compared = 0;
    for (n, r) in got.invocations.iter().enumerate().filter(|r| fair(r.0)) {
        let Some(outputs) = &want.outputs[n] else {
            if !r.discarded {
                return Err(format!("invocation {n} is not discarded"));
            }
            continue;
        };
        if r.discarded {
            return Err(format!("invocation {n} is discarded"));
        }
        for (d, words) in m.outputs.values().zip(&r.outputs) {
            let Binding::Location(l) = d.binding else { continue };
            if !words.iter().zip(&outputs[l as usize]).all(|(g, w)| equal(*g, *w)) {
                return Err(format!("`{}` of invocation {n} is {words:x?}, not {:x?}", d.name, outputs[l as usize]));
            }
        }
        compared += 1;
    }
    Ok(compared)
}

/// One form of a program: the interpreter, then the machines.
fn judge(
    form: &str,
    m: &Module,
    p: &Program,
    inputs: &Inputs,
    want: &Outcome,
    machines: &[usize],
    tally: &mut Tally,
) -> Result<(), String> {
    let env = environment(m, p, inputs);
    let got = interp::run(m, &env, &Reference).map_err(|e| format!("{form}: the interpreter: {e}"))?;
    tally.interpreted += compare(m, p, want, &got, false).map_err(|e| format!("{form}: the interpreter: {e}"))?;
    for n in machines {
        let isa: &dyn TargetIsa = retroshade::target(MACHINES[*n]).unwrap();
        let shader = match isa.compile(m, &Options::default()) {
            Ok(s) => s,
            Err(e) if e.exit_status() == 70 => return Err(format!("{form}: {}: {e}", isa.name())),
            Err(_) => continue,
        };
        let fault = |e: &dyn std::fmt::Display| format!("{form}: {}: {e}", isa.name());
        let legal = interp::run(&shader.legal, &env, isa.numerics()).map_err(|e| fault(&e))?;
        let got = isa.simulate(&shader, &env).map_err(|e| fault(&e))?;
        same_results(m, &legal, &got).map_err(|e| fault(&format!("differs from the legalised IR: {e}")))?;
        tally.machines[*n] += compare(m, p, want, &got, isa.name() == "pica").map_err(|e| fault(&e))?;
    }
    Ok(())
}

fn installed(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success())
}

/// glslang's SPIR-V of a program, and what `spirv-opt` makes of it.
fn through_spirv(seed: u64, p: &Program, text: &str, optimiser: bool) -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let dir = std::env::temp_dir().join(format!("random_glsl.{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let path = |ending: &str| dir.join(format!("{seed}.{ending}"));
    let source = path(["vert", "frag", "comp"][p.stage as usize]);
    std::fs::write(&source, text).map_err(|e| e.to_string())?;
    let run = |c: &mut Command| match c.output() {
        Ok(o) if o.status.success() => Ok(()),
        Ok(o) => Err(format!("{c:?}: {}", String::from_utf8_lossy(&o.stdout))),
        Err(e) => Err(e.to_string()),
    };
    run(Command::new("glslangValidator").arg("-V").arg("-o").arg(path("spv")).arg(&source))?;
    let mut out = vec![("SPIR-V", std::fs::read(path("spv")).map_err(|e| e.to_string())?)];
    if optimiser {
        run(Command::new("spirv-opt").arg("-O").arg(path("spv")).arg("-o").arg(path("opt.spv")))?;
        out.push(("optimised SPIR-V", std::fs::read(path("opt.spv")).map_err(|e| e.to_string())?));
    }
    ["spv", "opt.spv"].iter().for_each(|e| drop(std::fs::remove_file(path(e))));
    drop(std::fs::remove_file(source));
    Ok(out)
}

/// Why a program is not compared, and the text for the report.
enum Verdict {
    Refused(String),
    Wrong(String),
}

/// Which form of the programs is read.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Glsl,
    /// With or without what the optimiser makes of it.
    Spirv(bool),
}

fn one(seed: u64, machines: &[usize], form: Form) -> Result<Tally, Verdict> {
    let p = Program::new(seed, Program::wish(seed));
    let text = p.glsl();
    let inputs = p.inputs_for(seed, 4);
    let want = run(&p, &inputs);
    let mut tally = Tally::default();
    if want.stopped {
        return Ok(tally);
    }
    let stage = [ir::Stage::Vertex, ir::Stage::Fragment, ir::Stage::Compute][p.stage as usize];
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    let wrong = |e: String| Verdict::Wrong(format!("{e}\n{text}"));
    let refused = |e: String| Verdict::Refused(format!("{e}\n{text}"));
    match form {
        Form::Glsl => {
            let m = read_glsl("random", &text, &options).map_err(|e| refused(e.to_string()))?;
            judge("GLSL", &m, &p, &inputs, &want, machines, &mut tally).map_err(wrong)?;
        }
        Form::Spirv(optimiser) => {
            for (name, bytes) in through_spirv(seed, &p, &text, optimiser).map_err(wrong)? {
                let m = read_spirv("random.spv", &bytes, &options).map_err(|e| refused(format!("{name}: {e}")))?;
                judge(name, &m, &p, &inputs, &want, machines, &mut tally).map_err(wrong)?;
            }
        }
    }
    tally.accepted = 1;
    Ok(tally)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

/// So many programs; the report has the whole text of the first that fail.
fn all(what: &str, usual: u64, form: Form) {
    let (wanted, first) = (number("RETROSHADE_RANDOM"), number("RETROSHADE_SEED").unwrap_or(0));
    let count = wanted.unwrap_or(usual);
    let work = |seed: u64| {
        let machines: Vec<usize> = if wanted.is_some() { (0..4).collect() } else { vec![(seed / 12 % 4) as usize] };
        // A panic counts as a wrong program, with its seed.
        let r = std::panic::catch_unwind(|| one(seed, &machines, form));
        (seed, r.unwrap_or_else(|_| Err(Verdict::Wrong("a panic".into()))))
    };
    let results: Vec<(u64, Result<Tally, Verdict>)> = (first..first + count).into_par_iter().map(work).collect();
    let mut sum = Tally::default();
    let (mut refused, mut wrong, mut report) = (0, 0, String::new());
    for (seed, r) in results {
        let (word, text) = match r {
            Ok(t) => {
                sum.accepted += t.accepted;
                sum.interpreted += t.interpreted;
                (0..4).for_each(|n| sum.machines[n] += t.machines[n]);
                continue;
            }
            Err(Verdict::Refused(t)) => {
                refused += 1;
                ("refused", t)
            }
            Err(Verdict::Wrong(t)) => {
                wrong += 1;
                ("wrong", t)
            }
        };
        let lines = if wrong + refused < 4 { 400 } else { 3 };
        let text: Vec<&str> = text.lines().take(lines).collect();
        writeln!(report, "seed {seed} {word}: {}", text.join("\n")).unwrap();
    }
    println!(
        "{report}{what}: {count} programs, {} accepted, {refused} refused, {wrong} wrong; {} invocations interpreted, {:?} on {MACHINES:?}",
        sum.accepted, sum.interpreted, sum.machines
    );
    assert!(wrong == 0, "{wrong} programs are wrong");
    assert!(sum.accepted as u64 * 100 >= count * 95, "{} of {count} accepted", sum.accepted);
    assert!(sum.interpreted as u64 > 2 * count && sum.machines.iter().all(|n| *n as u64 * 20 > count), "too little is compared");
}

#[test]
#[ignore = "until GLSL goes through glslang"]
fn glsl_computes_what_it_says() {
    all("GLSL", 5_000, Form::Glsl);
}

#[test]
#[ignore = "until SPIR-V has a reader of its own"]
fn spirv_computes_what_it_says() {
    if !installed("glslangValidator") {
        println!("skipped: no glslangValidator");
        return;
    }
    all("SPIR-V", 120, Form::Spirv(installed("spirv-opt")));
}
