//! The optimisation passes on random programs: under the reference arithmetic every pass must leave every result as it was.

use retroshade_ir::passes::{InlinePolicy, PASSES, PassOptions, by_name, pipeline};
use retroshade_ir::{Module, Opcode, Reference, ShaderEnv, ShaderResult, interp, text, verify};
use retroshade_lower::testing::{Profile, Rng, program_count, random_env, random_program, same_results, shrink};
use std::path::{Path, PathBuf};

/// Steps of a program as it comes; what passes make of it may take more (a load that becomes selects), and long loops many more.
const FUEL: u64 = 1 << 20;

fn run(m: &Module, env: &ShaderEnv, fuel: u64) -> Option<ShaderResult> {
    let limits = interp::Limits { fuel, ..interp::Limits::default() };
    interp::run_with(m, env, &Reference, &limits).ok()
}

/// A transformation that shows the module after each of its steps.
type Change<'a> = &'a dyn Fn(&mut Module, &mut dyn FnMut(&str, &Module));

/// What is wrong after a transformation, if something is.
fn wrong(m: &Module, env: &ShaderEnv, change: Change) -> Option<String> {
    let want = run(m, env, FUEL)?;
    let mut found: Option<String> = None;
    let mut after = m.clone();
    change(&mut after, &mut |name, now| {
        if found.is_some() {
            return;
        }
        if let Err(e) = verify(now) {
            found = Some(format!("after {name}: invalid: {}", e[0]));
            return;
        }
        match run(now, env, 16 * FUEL) {
            None => found = Some(format!("after {name}: does not run")),
            Some(got) => {
                if let Err(e) = same_results(m, &want, &got) {
                    found = Some(format!("after {name}: {e}"));
                }
            }
        }
    });
    found
}

fn check(what: &str, profile: &Profile, seeds: std::ops::Range<u64>, change: Change) {
    for seed in seeds {
        let (m, env) = random_program(profile, seed);
        if wrong(&m, &env, change).is_none() {
            continue;
        }
        let (small, small_env) = shrink(&m, &env, &mut |m, e| wrong(m, e, change).is_some());
        let message = wrong(&small, &small_env, change).unwrap_or_default();
        let mut dump = String::new();
        let mut after = small.clone();
        change(&mut after, &mut |name, now| dump += &format!("--- {name}\n{}", text::print(now)));
        panic!("{what}, seed {seed}: {message}\n{}\n{dump}", text::print(&small));
    }
}

fn option_sets() -> Vec<(&'static str, PassOptions)> {
    let base = PassOptions::default();
    vec![
        ("default", base.clone()),
        ("scalar", PassOptions { scalarise: true, lower_switches: true, ..base.clone() }),
        ("eager", PassOptions { unroll_fuel: 1000, if_convert_cost: 200, local_select: 16, scalarise: true, dot: 2, ..base.clone() }),
        ("calls", PassOptions { inline: InlinePolicy::Smaller, unroll_fuel: 0, ..base.clone() }),
        ("minimal", PassOptions { level: 0, ..base }),
    ]
}

/// Inexact by design; their rules are tested one by one. `contract` does nothing under the options here.
const INEXACT: &[&str] = &["relax", "chain"];

#[test]
fn the_pipeline_keeps_results() {
    for (name, options) in option_sets() {
        check(name, &Profile::everything(), 0..program_count(400), &|m, dump| pipeline(m, &options, dump));
    }
}

#[test]
fn each_pass_alone_keeps_results() {
    let options = PassOptions { local_select: 8, unroll_fuel: 400, if_convert_cost: 40, ..PassOptions::default() };
    for pass in PASSES.iter().filter(|p| !INEXACT.contains(&p.name)) {
        check(pass.name, &Profile::everything(), 0..program_count(150), &|m, dump| {
            if (pass.run)(m, &options) {
                dump(pass.name, m);
            }
        });
    }
    assert!(by_name("no such pass").is_none());
}

/// The project's own programs in the text form.
fn own_programs() -> Vec<(PathBuf, Module)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../filetests/cases");
    let mut folders = vec![root];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("cases") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "ir") {
                files.push(path);
            }
        }
    }
    files.sort();
    // Cases about errors do not parse; what an undefined value shows is nobody's promise; machine operations need a machine; random
    // inputs do not keep to declared bounds.
    let bounded = |m: &Module| m.inputs.values().all(|d| d.range.is_none()) && m.uniforms.values().all(|d| d.range.is_none());
    let open = |m: &Module| m.functions.values().flat_map(|f| f.insts.values()).any(|d| matches!(d.op, Opcode::Undef | Opcode::Ext));
    let program = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        let m = retroshade_ir::parse("case.ir", &text).ok().filter(|m| verify(m).is_ok() && !open(m) && bounded(m))?;
        Some((path, m))
    };
    files.into_iter().filter_map(program).collect()
}

#[test]
fn each_pass_keeps_the_results_of_the_projects_own_programs() {
    let options = PassOptions { local_select: 8, unroll_fuel: 400, if_convert_cost: 40, dot: 2, ..PassOptions::default() };
    let programs = own_programs();
    assert!(programs.len() > 300, "{} programs", programs.len());
    let mut failures = Vec::new();
    for (n, (path, m)) in programs.iter().enumerate() {
        let env = random_env(m, 8, 23, &mut Rng::new(n as u64 + 1));
        let robust = |m: &mut Module, dump: &mut dyn FnMut(&str, &Module)| {
            retroshade_ir::passes::robust::run(m);
            dump("robust", m);
        };
        // An index outside its array reads what it likes.
        if wrong(m, &env, &robust).is_some() {
            continue;
        }
        for pass in PASSES.iter().filter(|p| !INEXACT.contains(&p.name)) {
            let found = wrong(m, &env, &|m, dump| {
                if (pass.run)(m, &options) {
                    dump(pass.name, m);
                }
            });
            failures.extend(found.map(|what| format!("{}: {what}", path.display())));
        }
        for (name, options) in option_sets() {
            let found = wrong(m, &env, &|m, dump| pipeline(m, &options, dump));
            failures.extend(found.map(|what| format!("{}, {name}: {what}", path.display())));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
