//! Random programs: the simulator on the code against the interpreter on the legalised IR, bit for bit.

use retroshade_lower::testing::{Profile, check_random, program_count};

#[test]
fn random_programs() {
    let s = check_random(retroshade_pica::isa(), &Profile::pica(), 0..program_count(3000)).unwrap_or_else(|e| panic!("{e}"));
    println!("{s:?}");
    // A harness that refuses everything would prove nothing.
    assert!(s.agree * 2 > s.refused + s.limited, "{s:?}");
}
