//! The optimisation passes on random programs: under the reference arithmetic every pass must leave every result as it was.

use retroshade_ir::passes::{InlinePolicy, PASSES, PassOptions, by_name, pipeline};
use retroshade_ir::{Module, Reference, ShaderEnv, ShaderResult, interp, text, verify};
use retroshade_lower::testing::{Profile, program_count, random_program, same_results, shrink};

fn run(m: &Module, env: &ShaderEnv) -> Option<ShaderResult> {
    let limits = interp::Limits { fuel: 1 << 17, ..interp::Limits::default() };
    interp::run_with(m, env, &Reference, &limits).ok()
}

/// A transformation that shows the module after each of its steps.
type Change<'a> = &'a dyn Fn(&mut Module, &mut dyn FnMut(&str, &Module));

/// What is wrong after a transformation, if something is.
fn wrong(m: &Module, env: &ShaderEnv, change: Change) -> Option<String> {
    let want = run(m, env)?;
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
        match run(now, env) {
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

#[test]
fn the_pipeline_keeps_results() {
    for (name, options) in option_sets() {
        check(name, &Profile::everything(), 0..program_count(400), &|m, dump| pipeline(m, &options, dump));
    }
}

#[test]
fn each_pass_alone_keeps_results() {
    let options = PassOptions { local_select: 8, unroll_fuel: 400, if_convert_cost: 40, ..PassOptions::default() };
    // `relax` is inexact by design; `contract` does nothing under these options.
    for pass in PASSES.iter().filter(|p| p.name != "relax") {
        check(pass.name, &Profile::everything(), 0..program_count(150), &|m, dump| {
            if (pass.run)(m, &options) {
                dump(pass.name, m);
            }
        });
    }
    assert!(by_name("no such pass").is_none());
}
