//! Random programs: the simulator on the code against the interpreter on the legalised IR, bit for bit.

use retroshade_ir::Stage;
use retroshade_lower::Options;
use retroshade_lower::testing::{Profile, check_random_with, default_options, program_seeds};

fn check(stage: Stage, programs: u64) {
    check_profile(&Profile::pica().only(&[stage]), programs);
}

fn check_profile(profile: &Profile, programs: u64) {
    let options = |seed| Options { validate: true, check_allocation: true, ..default_options(seed) };
    let s = check_random_with(retroshade_pica::isa(), profile, program_seeds(programs), &options).unwrap_or_else(|e| panic!("{e}"));
    println!("{s:?}");
    // A harness that refuses everything would prove nothing.
    assert!(s.agree * 2 > s.refused + s.limited, "{s:?}");
}

#[test]
fn random_programs() {
    check(Stage::Vertex, 1_600);
}

#[test]
fn random_geometry() {
    check(Stage::Geometry, 350);
}

/// A few instructions each, so that very many of them can run.
#[test]
fn small_programs() {
    check_profile(&Profile { size: (3, 24), lanes: 4, ..Profile::pica() }, 600);
}

/// Nearly as many values alive as there are components.
#[test]
fn crowded_programs() {
    check_profile(&Profile { size: (4, 30), ..Profile::pica().crowded(44) }, 60);
}
