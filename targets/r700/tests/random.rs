//! Random programs: the simulator on compiled code against the interpreter on the legalised module, bit for bit, lanes
//! diverging. Compiling runs the checker on every program that is emitted; a complaint of its is a failure here.
//!
//! `RETROSHADE_RANDOM=n` runs n programs of each kind.

use retroshade_ir::Stage;
use retroshade_lower::testing::{Profile, check_random, program_count};

fn check(profile: &Profile, from: u64, default: u64) {
    let n = program_count(default);
    let summary = check_random(retroshade_r700::isa(), profile, from..from + n).unwrap_or_else(|e| panic!("{e}"));
    println!("{summary:?}");
    // What the machine lacks is refused; most programs must compile and agree.
    assert!(summary.agree * 10 >= n * 8, "{summary:?}");
}

#[test]
fn vertex_and_fragment_programs() {
    check(&Profile { f16: false, ..Profile::r700() }, 0, 1_700);
}

#[test]
fn straight_line_programs() {
    check(&Profile { f16: false, ..Profile::r700() }.straight_line(), 10_000, 700);
}

#[test]
fn geometry_programs() {
    check(&Profile { f16: false, ..Profile::r700() }.only(&[Stage::Geometry]), 20_000, 450);
}

#[test]
fn programs_on_wavefronts_of_64_lanes() {
    check(&Profile { f16: false, lanes: 64, ..Profile::r700() }, 30_000, 250);
}
