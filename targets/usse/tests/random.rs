//! Random programs: the simulator on compiled code against the interpreter on the legalised module, bit for bit.

use retroshade_lower::testing::{Profile, check_random, program_count};

fn check(profile: &Profile, default: u64) {
    let summary = check_random(retroshade_usse::isa(), profile, 0..program_count(default)).unwrap_or_else(|e| panic!("{e}"));
    assert!(summary.agree > summary.agree.saturating_add(summary.refused) / 8, "{summary:?}");
}

/// Floats, plain textures, control flow: most of these compile.
#[test]
fn float_programs() {
    check(&Profile { ints: false, rich_textures: false, io_arrays: false, f16: false, ..Profile::usse() }, 60);
}
