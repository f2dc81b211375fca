//! Placement component by component, whether or not the program fits in another way: random programs, on the simulator against the
//! interpreter on the legalised IR, bit for bit.

mod way;

use retroshade_lower::testing::{Profile, check_random, program_seeds};
use retroshade_pica::compile::compile_tight;
use way::Way;

const PROGRAMS: u64 = 900;

#[test]
fn random_programs() {
    let s = check_random(&Way(compile_tight), &Profile::pica(), program_seeds(PROGRAMS)).unwrap_or_else(|e| panic!("{e}"));
    println!("{s:?}");
    assert!(s.agree > 4 * (s.refused + s.limited), "{s:?}");
}
