//! Random programs: the simulator on compiled code against the interpreter on the legalised module, bit for bit, and where
//! nothing is approximated the legalised module against its source.
//!
//! `RETROSHADE_RANDOM=1000000 cargo test --release -p retroshade-tesla --test random thousands` runs a million programs.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Stage;
use retroshade_lower::testing::{Profile, Summary, check_random_with, default_options, program_seeds};
use retroshade_lower::{OptLevel, Options};

/// Chips in turn, since each compiles something else: the first without atomics and s[] loads, the default, the first with
/// locks in s[], and one of the last, which can gather.
fn options(seed: u64) -> Options {
    let chip = ["gt215", "g84", "g200", "gt215", "g84", "gt215", "g80"][(seed % 7) as usize];
    let opt = if seed.is_multiple_of(11) { OptLevel::O0 } else { OptLevel::O2 };
    Options { chip: Some(chip.to_string()), opt, ..default_options(seed) }
}

fn check(profile: &Profile, n: u64) -> Summary {
    check_random_with(retroshade_tesla::isa(), profile, program_seeds(n), &options).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn straight_line_vertex_programs() {
    let s = check(&Profile::tesla().straight_line().only(&[Stage::Vertex]), 200);
    assert_eq!(s.refused + s.limited, 0, "{:?}", s.reasons);
}

#[test]
fn straight_line_fragment_programs() {
    let s = check(&Profile::tesla().straight_line().only(&[Stage::Fragment]), 200);
    assert_eq!(s.refused + s.limited, 0, "{:?}", s.reasons);
}

/// What `lower/tests/random.rs` asserts of the generator holds for these programs: the profile is the one with everything.
#[test]
fn thousands_of_programs() {
    // A few more, since some chips refuse some programs: 2,500 run.
    let s = check(&Profile::tesla(), 2_625);
    let all = s.agree + s.refused + s.limited;
    println!("{} agree ({} also exactly with their source), {} refused, {} limited", s.agree, s.exact, s.refused, s.limited);
    // Atomics need a chip that has them; nothing else is refused, and nothing exceeds a limit.
    let atomics = |r: &str| r.contains("atomics");
    assert!(s.reasons.iter().all(|(_, r)| atomics(r)), "{:?}", s.reasons);
    assert_eq!(s.limited, 0, "{:?}", s.reasons);
    assert!(s.agree * 2_625 >= all * 2_500, "{s:?}");
    assert!(s.exact * 100 >= all * 15, "{s:?}");
}

/// A few instructions each, so that very many of them can run.
#[test]
fn small_programs() {
    let s = check(&Profile { size: (3, 24), lanes: 4, ..Profile::tesla() }, 600);
    println!("{s:?}");
    assert!(s.agree * 20 >= (s.agree + s.refused + s.limited) * 19, "{s:?}");
}

/// Values, flags and results that wait in memory, also where an arm is predicated or an index is computed.
#[test]
fn programs_in_few_registers() {
    let few = |seed: u64| Options { max_registers: Some(8 + (seed % 8) as u32), ..options(seed) };
    let profile = Profile::tesla();
    let s = check_random_with(retroshade_tesla::isa(), &profile, program_seeds(300), &few).unwrap_or_else(|e| panic!("{e}"));
    println!("{s:?}");
    assert!(s.agree * 3 >= (s.agree + s.refused + s.limited) * 2, "{s:?}");
}
