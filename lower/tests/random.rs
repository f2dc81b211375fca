//! The random programs themselves: valid, terminating, varied, the same for the same seed, and reducible.

use retroshade_ir::{Opcode, Reference, Stage, interp, text, verify};
use retroshade_lower::testing::{Profile, ProgramStats, program_count, random_program, shrink};

#[test]
fn programs_are_varied() {
    let mut stats = ProgramStats::default();
    let count = program_count(10_000);
    for seed in 0..count {
        let (module, env) = random_program(&Profile::everything(), seed);
        if let Err(e) = verify(&module) {
            panic!("seed {seed}: {}\n{}", e[0], text::print(&module));
        }
        let limits = interp::Limits { fuel: 1 << 16, ..interp::Limits::default() };
        let result =
            interp::run_with(&module, &env, &Reference, &limits).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", text::print(&module)));
        stats.add(&module, &result);
    }
    let percent = |n: u64| n * 100 / stats.programs;
    println!(
        "{count} programs: median {} instructions, {} % divergent, {} % varying, {} % exact, {} % of the output words NaN",
        stats.median_size(),
        percent(stats.divergent),
        percent(stats.varying),
        percent(stats.exact),
        stats.nans * 100 / stats.words
    );
    assert!(stats.median_size() >= 60);
    assert!(percent(stats.divergent) >= 40);
    assert!(percent(stats.varying) >= 90);
    assert!(percent(stats.exact) >= 20);
    assert!(stats.nans * 100 / stats.words <= 10);
    for op in Opcode::ALL {
        let n = stats.ops.get(op).copied().unwrap_or(0);
        assert!(n >= count / 200 || *op == Opcode::Ext, "{} occurs {n} times", op.name());
    }
}

#[test]
fn a_seed_names_a_program() {
    for seed in 0..50 {
        let (a, env) = random_program(&Profile::tesla(), seed);
        let (b, again) = random_program(&Profile::tesla(), seed);
        assert_eq!(text::print(&a), text::print(&b));
        assert_eq!(env, again);
        let parsed = text::parse("again.ir", &text::print(&a)).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert_eq!(interp::run(&a, &env, &Reference), interp::run(&parsed, &env, &Reference), "seed {seed}");
    }
}

#[test]
fn profiles_are_kept() {
    for seed in 0..300 {
        let (m, _) = random_program(&Profile::pica(), seed);
        assert_eq!(m.stage, Stage::Vertex);
        for f in m.functions.values() {
            for (_, i) in f.ordered() {
                let op = f.insts[i].op;
                assert!(
                    !matches!(
                        op,
                        Opcode::Tex | Opcode::Ubfe | Opcode::Ddx | Opcode::Fsin | Opcode::Discard | Opcode::StorageLoad | Opcode::Atomic
                    ),
                    "{}",
                    op.name()
                );
            }
        }
        let (m, _) = random_program(&Profile::r700().straight_line(), seed);
        assert!(m.functions.values().all(|f| f.layout.len() == 1), "seed {seed}");
    }
}

#[test]
fn failing_programs_shrink() {
    // Pretend that every program with a branch fails.
    let fails = |m: &retroshade_ir::Module| m.functions.values().any(|f| f.ordered().any(|(_, i)| f.insts[i].op == Opcode::BrIf));
    let mut seen = 0;
    for seed in 0..20 {
        let (module, env) = random_program(&Profile::tesla(), seed);
        if !fails(&module) {
            continue;
        }
        seen += 1;
        let (small, small_env) = shrink(&module, &env, &mut |m, e| fails(m) && interp::run(m, e, &Reference).is_ok());
        let size: usize = small.functions.values().map(|f| f.inst_count()).sum();
        assert!(size <= 20, "seed {seed}: {size} instructions left\n{}", text::print(&small));
        assert!(interp::run(&small, &small_env, &Reference).is_ok());
    }
    assert!(seen > 5);
}
