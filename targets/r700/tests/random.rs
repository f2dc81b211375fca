//! Random programs: the simulator on compiled code against the interpreter on the legalised module, bit for bit, lanes
//! diverging. Compiling runs the checker on every program that is emitted; a complaint of its is a failure here.
//!
//! `RETROSHADE_RANDOM=n` runs n programs of each kind, `RETROSHADE_FROM=m` those from that many seeds further on.

#![allow(clippy::unwrap_used)]

use retroshade_ir::Stage;
use retroshade_lower::testing::{Profile, check_random_with, default_options, program_seeds, random_program};
use retroshade_lower::{Course, OptLevel, Options};
use retroshade_r700::abi::{Abi, Platform};
use retroshade_r700::isa::program::{Program, words_of};
use retroshade_r700::sim::{self, Reading};

fn check(profile: &Profile, from: u64, default: u64) {
    let seeds = program_seeds(default);
    let n = seeds.end - seeds.start;
    // Half of them with everything, the others as cheaper levels compile them.
    let level = [OptLevel::O2, OptLevel::O1, OptLevel::O2, OptLevel::O0];
    let options = |seed: u64| Options { opt: level[(seed / 2) as usize % 4], check_allocation: true, ..default_options(seed) };
    let summary = check_random_with(retroshade_r700::isa(), profile, from + seeds.start..from + seeds.end, &options)
        .unwrap_or_else(|e| panic!("{e}"));
    println!("{summary:?}");
    // What the machine lacks is refused; most programs must compile and agree.
    assert!(summary.agree * 10 >= n * 8, "{summary:?}");
}

#[test]
fn vertex_and_fragment_programs() {
    check(&Profile::r700(), 0, 1_100);
}

#[test]
fn straight_line_programs() {
    check(&Profile::r700().straight_line(), 10_000, 450);
}

#[test]
fn geometry_programs() {
    check(&Profile::r700().only(&[Stage::Geometry]), 20_000, 300);
}

#[test]
fn programs_on_wavefronts_of_64_lanes() {
    check(&Profile { lanes: 64, ..Profile::r700() }, 30_000, 160);
}

/// As many values alive as there are channels, and more: an order that keeps few alive, and scratch memory.
#[test]
fn crowded_programs() {
    check(&Profile::r700().crowded(470), 70_000, 10);
    check(&Profile::r700().crowded(540), 70_000, 10);
}

/// A few instructions each, so that very many of them can run.
#[test]
fn small_programs() {
    check(&Profile { size: (3, 24), lanes: 4, ..Profile::r700() }, 60_000, 300);
}

/// The code gives the same in both readings of the manual: no lane leaves a loop while a branch is open within it.
#[test]
fn both_readings_of_else_and_pop() {
    let profile = Profile { derivatives: false, ..Profile::r700().only(&[Stage::Fragment]) };
    let mut loops = 0;
    for seed in 50_000..50_300 {
        let (m, env) = random_program(&profile, seed);
        let Ok(s) = retroshade_r700::isa().compile(&m, &default_options(seed)) else { continue };
        let program = Program::decode(&words_of(&s.code).unwrap()).unwrap();
        loops += program.cf.iter().any(|w| w.name() == "LOOP_START_DX10") as u32;
        let abi = Abi::of(&s.legal, Platform::Object).unwrap();
        let run =
            |reading| sim::run_in(reading, Course::default(), &program, None, &s.legal, &abi, &env).map(|r| format!("{:?}", r.invocations));
        assert_eq!(run(Reading::LeaveAlone), run(Reading::Revive), "seed {seed}\n{}", s.asm);
    }
    assert!(loops > 30, "{loops}");
}
