//! Random programs: the simulator on compiled code against the interpreter on the legalised module, bit for bit, lanes
//! diverging. Compiling runs the checker on every program that is emitted; a complaint of its is a failure here.
//!
//! `RETROSHADE_RANDOM=n` runs n programs of each kind.

use retroshade_ir::Stage;
use retroshade_lower::testing::{Profile, check_random_with, default_options, program_count};
use retroshade_lower::{OptLevel, Options};

fn check(profile: &Profile, from: u64, default: u64) {
    let n = program_count(default);
    // Half of them with everything, the others as cheaper levels compile them.
    let level = [OptLevel::O2, OptLevel::O1, OptLevel::O2, OptLevel::O0];
    let options = |seed: u64| Options { opt: level[(seed / 2) as usize % 4], ..default_options(seed) };
    let summary = check_random_with(retroshade_r700::isa(), profile, from..from + n, &options).unwrap_or_else(|e| panic!("{e}"));
    println!("{summary:?}");
    // What the machine lacks is refused; most programs must compile and agree.
    assert!(summary.agree * 10 >= n * 8, "{summary:?}");
}

#[test]
fn vertex_and_fragment_programs() {
    check(&Profile::r700(), 0, 1_700);
}

#[test]
fn straight_line_programs() {
    check(&Profile::r700().straight_line(), 10_000, 700);
}

#[test]
fn geometry_programs() {
    check(&Profile::r700().only(&[Stage::Geometry]), 20_000, 450);
}

#[test]
fn programs_on_wavefronts_of_64_lanes() {
    check(&Profile { lanes: 64, ..Profile::r700() }, 30_000, 250);
}
