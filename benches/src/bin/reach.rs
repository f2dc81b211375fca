//! `reach [--list] [--damage N] [--search N] FILE|FOLDER… [TARGET…]`: how much of programs the validator sees run, and what that costs.
//!
//! Every entry point of every source is compiled for each machine and judged three times: on the chosen sets of inputs alone, with those that
//! are searched for, and where branches are turned, too. `--list` names the places that stay unreached; `--damage N` also flips a bit of the
//! code N times in each program of which the chosen sets miss something, and counts the flips that break no rule and are noticed by meaning.
//! `--search N` has another effort of the search ([`Effort::search`]).

use retroshade::lower::testing::{Rng, with_code};
use retroshade::lower::validate::meaning::{Effort, Seen, check_with};
use retroshade::lower::validate::validate;
use retroshade::lower::{Cancel, CompiledShader, Options};
use retroshade::{Language, Module, TargetIsa, source, targets};
use retroshade_benches::clock;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const ALONE: Effort = Effort { sets: 6, search: 0, detours: 0 };

/// All sources at or below a path, by name.
fn files(path: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        out.push(path.to_path_buf());
        return Ok(());
    }
    let mut here: Vec<PathBuf> = std::fs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    here.sort();
    here.iter().filter(|p| p.is_dir() || Language::of_path(p).is_some()).try_for_each(|p| files(p, out))
}

/// The programs of a source as a machine gets them.
fn programs(path: &Path, isa: &dyn TargetIsa) -> Vec<(String, Module)> {
    let (Some((language, stage)), Ok(bytes)) = (Language::of_path(path), std::fs::read(path)) else { return Vec::new() };
    let name = path.display().to_string();
    let mut entries: Vec<_> = source::entries(language, &bytes).into_iter().map(|(n, s)| (Some(n), Some(s))).collect();
    if entries.len() < 2 {
        entries = vec![(None, stage)];
    }
    let read = |(entry, stage): (Option<String>, _)| {
        let title = entry.as_ref().map_or(name.clone(), |e| format!("{name} {e}"));
        let options = source::front_options(isa);
        let options = retroshade::frontend::FrontOptions { entry, stage, ..options };
        Some((title, source::read(language, &name, &bytes, &options).ok()?))
    };
    entries.into_iter().filter_map(read).collect()
}

/// What is asked for.
struct How {
    list: bool,
    damages: u64,
    efforts: [Effort; 3],
}

/// Sums over the programs of a machine.
#[derive(Default)]
struct Sums {
    programs: usize,
    blocks: usize,
    outcomes: usize,
    /// Programs without an unreached block, reached blocks, reached outcomes, sets and time: of the chosen sets alone, with the search, and with
    /// turned branches.
    with: [(usize, usize, usize, u64, Duration); 3],
    compile: Duration,
    rules: Duration,
    damaged: usize,
    noticed: [usize; 3],
}

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let list = args.iter().any(|a| a == "--list");
    args.retain(|a| a != "--list");
    let mut number = |option: &str| {
        let n = args.iter().position(|a| a == option)?;
        let given = args.get(n + 1).and_then(|n| n.parse().ok());
        args.drain(n..(n + 2).min(args.len()));
        given
    };
    let damages = number("--damage").unwrap_or(0);
    let search = number("--search").unwrap_or(Effort::default().search);
    let searching = Effort { search, ..ALONE };
    let how = How { list, damages, efforts: [ALONE, searching, Effort { detours: Effort::default().detours, ..searching }] };
    let (names, paths): (Vec<String>, Vec<String>) = args.into_iter().partition(|a| targets().iter().any(|t| t.name() == a));
    let mut sources = Vec::new();
    for path in &paths {
        if let Err(e) = files(Path::new(path), &mut sources) {
            eprintln!("{path}: {e}");
            return ExitCode::FAILURE;
        }
    }
    if sources.is_empty() {
        eprintln!("usage: reach [--list] [--damage N] [--search N] FILE|FOLDER… [TARGET…]");
        return ExitCode::from(2);
    }
    println!("| machine | programs | all blocks reached | blocks | outcomes | sets | part of compile time | damage noticed |");
    println!("|---|---|---|---|---|---|---|---|");
    for isa in targets().into_iter().filter(|t| names.is_empty() || names.iter().any(|n| n == t.name())) {
        let mut sums = Sums::default();
        for (name, m) in sources.iter().flat_map(|p| programs(p, isa)) {
            one(isa, &name, &m, &how, &mut sums);
        }
        println!("{}", row(isa.name(), &sums));
    }
    ExitCode::SUCCESS
}

/// The processor time of a call, and what it gives.
fn timed<R>(f: impl FnOnce() -> R) -> (Duration, R) {
    let start = clock();
    let r = f();
    (clock().saturating_sub(start), r)
}

fn one(isa: &dyn TargetIsa, name: &str, m: &Module, how: &How, sums: &mut Sums) {
    let options = Options { validate: false, texts: false, ..Options::default() };
    let (compile, Ok(shader)) = timed(|| isa.compile(m, &options)) else { return };
    let (rules, _) = timed(|| validate(isa, &shader));
    let mut last = Seen::default();
    let mut missing = false;
    for (n, effort) in how.efforts.into_iter().enumerate() {
        let (time, seen) = timed(|| check_with(isa, &shader, effort, &Cancel::default()));
        let seen = match seen {
            Ok(seen) => seen,
            Err(e) => {
                println!("WRONG on {}: {name}: {e}", isa.name());
                return;
            }
        };
        missing |= n == 0 && seen.outcomes_reached < seen.outcomes;
        let w = &mut sums.with[n];
        w.0 += usize::from(seen.unreached.is_empty());
        w.1 += seen.blocks - seen.unreached.len();
        w.2 += seen.outcomes_reached;
        w.3 += seen.sets + seen.detours;
        w.4 += time;
        last = seen;
    }
    sums.programs += 1;
    sums.blocks += last.blocks;
    sums.outcomes += last.outcomes;
    sums.compile += compile;
    sums.rules += rules;
    if how.list && !last.unreached.is_empty() {
        let places: Vec<String> =
            last.unreached.iter().map(|s| m.sources.line_column(s.file, s.start).map_or("?".to_string(), |(l, _)| l.to_string())).collect();
        println!("{}: {name}: {} of {} blocks: {}", isa.name(), last.unreached.len(), last.blocks, places.join(", "));
    }
    if missing {
        damage(isa, &shader, how, sums);
    }
}

/// Flips bits of a program's code, one at a time.
fn damage(isa: &dyn TargetIsa, shader: &CompiledShader, how: &How, sums: &mut Sums) {
    let mut rng = Rng::new(shader.code.len() as u64);
    for _ in 0..how.damages {
        let mut code = shader.code.clone();
        let at = rng.below(code.len());
        code[at] ^= 1 << rng.below(8);
        let bad = with_code(shader, code);
        if validate(isa, &bad).map_or(true, |found| !found.is_empty()) {
            continue;
        }
        sums.damaged += 1;
        for (n, effort) in how.efforts.into_iter().enumerate() {
            sums.noticed[n] += usize::from(check_with(isa, &bad, effort, &Cancel::default()).is_err());
        }
    }
}

fn row(machine: &str, s: &Sums) -> String {
    let share = |n: usize, of: usize| format!("{:.1} %", 100.0 * n as f64 / of.max(1) as f64);
    let cost = |d: Duration| format!("{:.0} %", 100.0 * (s.rules + d).as_secs_f64() / s.compile.as_secs_f64().max(1e-9));
    let each = |f: &dyn Fn(usize) -> String| (0..s.with.len()).map(f).collect::<Vec<_>>().join(" → ");
    format!(
        "| {machine} | {} | {} | {} of {} | {} of {} | {} | {} | {} of {} |",
        s.programs,
        each(&|n| s.with[n].0.to_string()),
        each(&|n| share(s.with[n].1, s.blocks)),
        s.blocks,
        each(&|n| share(s.with[n].2, s.outcomes)),
        s.outcomes,
        each(&|n| s.with[n].3.to_string()),
        each(&|n| cost(s.with[n].4)),
        each(&|n| s.noticed[n].to_string()),
        s.damaged
    )
}
