//! Random programs on a machine: `random TARGET [FROM] [TO] [--straight] [--stage S] [--no KNOB,…] [--chip C] [--first]`.
//!
//! Prints one line per mismatch and a summary; with `--first` stops at the first one and prints the reduced program. Runs a
//! million programs with `cargo run --release -p retroshade-benches --bin random -- tesla 0 1000000`.

use retroshade::targets;
use retroshade_ir::Stage;
use retroshade_lower::testing::{Profile, Verdict, check_random_with, default_options, diff_with, random_program};
use retroshade_lower::{ColorFormat, Options};
use std::collections::BTreeMap;
use std::process::ExitCode;

fn profile(target: &str, args: &[String]) -> Option<Profile> {
    let mut p = match target {
        "tesla" => Profile::tesla(),
        "usse" => Profile::usse(),
        "r700" => Profile::r700(),
        "pica" => Profile::pica(),
        _ => return None,
    };
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|n| args.get(n + 1));
    if args.iter().any(|a| a == "--straight") {
        p = p.straight_line();
    }
    if let Some(s) = option("--stage") {
        p = p.only(&[Stage::from_name(s)?]);
    }
    for knob in option("--no").map_or("", |s| s).split(',') {
        let flag = match knob {
            "ints" => &mut p.ints,
            "f16" => &mut p.f16,
            "bool_vectors" => &mut p.bool_vectors,
            "textures" => &mut p.textures,
            "rich_textures" => &mut p.rich_textures,
            "branches" => &mut p.branches,
            "loops" => &mut p.loops,
            "divergent_loops" => &mut p.divergent_loops,
            "switches" => &mut p.switches,
            "calls" => &mut p.calls,
            "locals" => &mut p.locals,
            "dynamic_uniforms" => &mut p.dynamic_uniforms,
            "io_arrays" => &mut p.io_arrays,
            "derivatives" => &mut p.derivatives,
            "discard" => &mut p.discard,
            "early_return" => &mut p.early_return,
            _ => continue,
        };
        *flag = false;
    }
    Some(p)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let target = args.first().map_or("", |s| s);
    let isa = targets().into_iter().find(|t| t.name() == target);
    let (Some(isa), Some(profile)) = (isa, profile(target, &args)) else {
        eprintln!("usage: random tesla|usse|r700|pica [FROM] [TO] [--straight] [--stage S] [--no KNOB,…] [--chip C] [--first]");
        return ExitCode::from(2);
    };
    let number = |n: usize, default: u64| args.get(n).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (from, to) = (number(1, 0), number(2, 1000));
    let chip = args.iter().position(|a| a == "--chip").and_then(|n| args.get(n + 1)).cloned();
    // A colour of fewer bits is another value than the source's.
    let options = |seed| Options { chip: chip.clone(), color_format: ColorFormat::F32, ..default_options(seed) };
    if args.iter().any(|a| a == "--first") {
        return match check_random_with(isa, &profile, from..to, &options) {
            Ok(s) => {
                println!("{s:?}");
                ExitCode::SUCCESS
            }
            Err(e) => {
                println!("{e}");
                ExitCode::FAILURE
            }
        };
    }
    let (mut agree, mut exact, mut wrong) = (0, 0, 0);
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    for seed in from..to {
        let (module, env) = random_program(&profile, seed);
        let options = options(seed);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| diff_with(isa, &module, &env, &options)));
        match result {
            Ok(Ok(Verdict::Agrees { exact: e })) => {
                agree += 1;
                exact += u64::from(e);
            }
            Ok(Ok(Verdict::Refused { message, .. })) => {
                // Without the numbers and names that differ from program to program.
                let kind: String = message.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(90).collect();
                *refused.entry(kind).or_default() += 1;
            }
            Ok(Err(e)) => {
                wrong += 1;
                println!("seed {seed} ({}): {}", module.stage.name(), e.to_string().chars().take(200).collect::<String>());
            }
            Err(_) => {
                wrong += 1;
                println!("seed {seed} ({}): panic", module.stage.name());
            }
        }
    }
    for (kind, n) in &refused {
        println!("refused {n} times: {kind}");
    }
    println!("{target}: {agree} agree ({exact} also exactly with their source), {wrong} wrong, {} refused", refused.values().sum::<u64>());
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
