//! Prints the time of each phase by program size, measured once on this machine; `--print N` prints the program of size N.
//!
//! Times are those that the thread spent on a processor where the system tells them (Linux), so that other programs on the
//! machine count less.

use retroshade_benches::{SIZES, synthetic, targets};
use retroshade_ir::{InvocationInputs, Reference, ShaderEnv, interp, passes, text, verify};
use retroshade_lower::Options;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The thread's time on a processor so far, or wall time where the system does not tell.
fn clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // The system brings its count up to date when a thread gives way.
    std::thread::yield_now();
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = spent.and_then(|s| s.split_whitespace().next()?.parse().ok());
    ns.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// The best of a few runs. Runs too short for the clock are taken together.
fn best<T>(runs: usize, mut f: impl FnMut() -> T) -> Duration {
    let start = clock();
    std::hint::black_box(f());
    let once = clock() - start;
    let together = (Duration::from_millis(2).as_nanos() / once.as_nanos().max(1)).clamp(1, 20) as u32;
    let sample = |_| {
        let start = clock();
        (0..together).for_each(|_| {
            std::hint::black_box(f());
        });
        (clock() - start) / together
    };
    (1..runs).map(sample).min().map_or(once, |d| d.min(once))
}

fn cell(d: Option<Duration>, instructions: usize) -> String {
    d.map_or("refused".to_string(), |d| {
        let us = d.as_secs_f64() * 1e6;
        format!("{:.2} ms ({:.2} µs)", us / 1e3, us / instructions as f64)
    })
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, option, size] = args.as_slice()
        && option == "--print"
    {
        print!("{}", text::print(&synthetic(size.parse().unwrap_or(100))));
        return;
    }
    // Sizes and names of machines may be given; all of them otherwise.
    let sizes: Vec<usize> = args[1..].iter().filter_map(|a| a.parse().ok()).collect();
    let named = |isa: &str| args.iter().any(|a| a == isa) || !targets().iter().any(|t| args.iter().any(|a| a == t.name()));
    let sizes = if sizes.is_empty() { SIZES.to_vec() } else { sizes };
    let mut rows: Vec<(String, Vec<String>, Vec<Option<Duration>>)> = Vec::new();
    let mut add = |name: String, d: Option<Duration>, n: usize| match rows.iter_mut().find(|r| r.0 == name) {
        Some(r) => {
            r.1.push(cell(d, n));
            r.2.push(d);
        }
        None => rows.push((name, vec![cell(d, n)], vec![d])),
    };
    let mut slow = std::collections::BTreeSet::new();
    for &size in &sizes {
        let runs = (20_000 / size).clamp(1, 20);
        let module = synthetic(size);
        let n = module.main().inst_count();
        let n_ir = n;
        let printed = text::print(&module);
        add("print".to_string(), Some(best(runs, || text::print(&module))), n);
        add("parse".to_string(), Some(best(runs, || text::parse("synthetic.ir", &printed))), n);
        add("verify".to_string(), Some(best(runs, || verify(&module))), n);
        let optimise = || {
            let mut m = module.clone();
            passes::pipeline(&mut m, &passes::PassOptions::default(), &mut |_, _| {});
            m
        };
        add("passes".to_string(), Some(best(runs, optimise)), n);
        let env = ShaderEnv {
            invocations: vec![InvocationInputs { inputs: vec![vec![0x3f00_0000; 4]; 2] }],
            uniforms: vec![vec![0x3e80_0000; 64]],
            ..ShaderEnv::default()
        };
        add("interpret one invocation".to_string(), Some(best(runs, || interp::run(&module, &env, &Reference))), n);
        let options = Options { check_allocation: false, texts: false, ..Options::default() };
        // Phase by phase on the scalar machine; of several runs the best of each phase.
        let laps: Vec<_> = (0..runs.min(5)).filter_map(|_| retroshade_tesla::phases(&module, &options, &clock).ok()).collect();
        let least = |n: usize| laps.iter().map(|l| l[n].1).min();
        let mut rest = Duration::ZERO;
        for (n, (name, _)) in laps.first().into_iter().flatten().enumerate() {
            add(format!("tesla phase: {name}"), least(n), n_ir);
            if !name.contains("regalloc2") {
                rest += least(n).unwrap_or_default();
            }
        }
        if !laps.is_empty() {
            add("tesla phases without regalloc2".to_string(), Some(rest), n_ir);
        }
        for isa in targets() {
            if slow.contains(isa.name()) || !named(isa.name()) {
                continue;
            }
            let once = clock();
            let _ = isa.compile(&module, &options);
            let once = clock() - once;
            // What takes this long is neither repeated nor tried on larger programs.
            let runs = if once > Duration::from_secs(1) { 1 } else { runs.min(5) };
            if once > Duration::from_secs(4) {
                slow.insert(isa.name());
            }
            let legal = isa.legalise(&module, &options).is_ok().then(|| best(runs, || isa.legalise(&module, &options)));
            add(format!("{}: optimise and legalise", isa.name()), legal, n);
            let all = isa.compile(&module, &options).is_ok().then(|| best(runs, || isa.compile(&module, &options)));
            add(format!("{}: everything, to bytes", isa.name()), all, n);
        }
    }
    println!("# Performance\n");
    println!("Time per phase for the synthetic vertex program of `benches/src/lib.rs` (vector arithmetic, an if/else in every third");
    println!("stretch, a loop in every seventh), best of several runs, in brackets per IR instruction. Written by");
    println!("`cargo run --release -p retroshade-benches --bin performance > docs/performance.md`; `cargo bench -p retroshade-benches`");
    println!("gives distributions. `refused` means that the program exceeds a limit of the machine; an empty cell, that a smaller program");
    println!("took over four seconds. The last column is the exponent of growth between the second and the last size that was compiled.\n");
    print!("| phase |");
    sizes.iter().for_each(|s| print!(" {s} |"));
    println!(" growth |");
    println!("|---|{}---|", "---|".repeat(sizes.len()));
    for (name, cells, times) in &rows {
        let known: Vec<(usize, f64)> = sizes.iter().zip(times).skip(1).filter_map(|(s, d)| d.map(|d| (*s, d.as_secs_f64()))).collect();
        let growth = match (known.first(), known.last()) {
            (Some(a), Some(b)) if b.0 > a.0 && a.1 > 0.0 => format!("n^{:.2}", (b.1 / a.1).ln() / (b.0 as f64 / a.0 as f64).ln()),
            _ => "–".to_string(),
        };
        let missing = " |".repeat(sizes.len() - cells.len());
        println!("| {name} | {} |{missing} {growth} |", cells.join(" | "));
    }
}
