//! Random programs: the simulator on the code against the interpreter on the legalised IR, bit for bit.

use retroshade_ir::Stage;
use retroshade_lower::testing::{Profile, check_random, program_count};

fn check(stage: Stage, programs: u64) {
    let profile = Profile::pica().only(&[stage]);
    let s = check_random(retroshade_pica::isa(), &profile, 0..program_count(programs)).unwrap_or_else(|e| panic!("{e}"));
    println!("{s:?}");
    // A harness that refuses everything would prove nothing.
    assert!(s.agree * 2 > s.refused + s.limited, "{s:?}");
}

#[test]
fn random_programs() {
    check(Stage::Vertex, 2500);
}

#[test]
fn random_geometry() {
    check(Stage::Geometry, 500);
}
