//! Random programs: the simulator on compiled code against the interpreter on the legalised module, bit for bit.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Stage;
use retroshade_lower::Options;
use retroshade_lower::testing::{Profile, Verdict, check_random, diff_with, program_count, random_program};

/// With `RETROSHADE_SURVEY`, lists the first line of every failure instead of stopping at the first.
fn check(profile: &Profile, n: u64) {
    if let Some(seed) = std::env::var("RETROSHADE_SEED").ok().and_then(|s| s.parse::<u64>().ok()) {
        check_random(retroshade_tesla::isa(), profile, seed..seed + 1).unwrap_or_else(|e| panic!("{e}"));
        return;
    }
    if std::env::var_os("RETROSHADE_SURVEY").is_some() {
        let mut seen = std::collections::BTreeMap::<String, (u64, u32)>::new();
        for seed in 0..program_count(n) {
            let (module, env) = random_program(profile, seed);
            let options = Options { fp_contract: seed % 2 == 1, ..Options::default() };
            let run = std::panic::catch_unwind(|| diff_with(retroshade_tesla::isa(), &module, &env, &options));
            let line = match run {
                Ok(Ok(Verdict::Agrees { .. })) => continue,
                Ok(Ok(Verdict::Refused { message, .. })) => format!("refused: {message}"),
                Ok(Err(m)) => m.to_string(),
                Err(_) => "panic".to_string(),
            };
            let key: String = line.chars().filter(|c| !c.is_ascii_digit()).take(110).collect();
            seen.entry(key).or_insert((seed, 0)).1 += 1;
            if seen.len() < 40 && seen.values().any(|v| v.0 == seed) {
                println!("seed {seed}: {}", line.chars().take(400).collect::<String>());
            }
        }
        for (k, (seed, n)) in &seen {
            println!("{n} times, first seed {seed}: {k}");
        }
        assert!(seen.keys().all(|k| k.starts_with("refused")), "see above");
        return;
    }
    check_random(retroshade_tesla::isa(), profile, 0..program_count(n)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn straight_line_vertex_programs() {
    check(&Profile::tesla().straight_line().only(&[Stage::Vertex]), 200);
}

#[test]
fn straight_line_fragment_programs() {
    check(&Profile::tesla().straight_line().only(&[Stage::Fragment]), 200);
}

#[test]
fn programs_with_control_flow() {
    check(&Profile::tesla().only(&[Stage::Vertex, Stage::Fragment]), 300);
}

#[test]
fn all_stages() {
    check(&Profile::tesla(), 500);
}
