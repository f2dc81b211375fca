//! Prints the time of each phase by program size, measured once on this machine; `--print N` prints the program of size N.

use retroshade::targets;
use retroshade_benches::{SIZES, best, clock, options, synthetic, tesla_phases};
use retroshade_ir::{InvocationInputs, Reference, ShaderEnv, interp, passes, text, verify};
use std::time::Duration;

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
        let options = options();
        // Phase by phase on the scalar machine.
        let laps = tesla_phases(&module, runs.min(5));
        for (name, time) in &laps {
            add(format!("tesla phase: {name}"), Some(*time), n);
        }
        if !laps.is_empty() {
            let rest = laps.iter().filter(|(name, _)| !name.contains("regalloc2")).map(|(_, time)| *time).sum();
            add("tesla phases without regalloc2".to_string(), Some(rest), n);
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
    println!("stretch, a loop in every seventh): processor time, best of several runs, in brackets per IR instruction. Written by");
    println!("`cargo run --release -p retroshade-benches --bin performance`; `cargo bench -p retroshade-benches`");
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
