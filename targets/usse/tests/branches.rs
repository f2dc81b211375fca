//! No program has a branch that need not be, or a word that nothing comes to.
#![allow(clippy::unwrap_used)]

#[path = "support/branches.rs"]
mod branches;

use branches::needless;
use retroshade_lower::testing::{Profile, program_seeds, random_program};
use retroshade_lower::{OptLevel, Options};
use retroshade_usse::container;

#[test]
fn random_programs_branch_where_they_must() {
    let isa = retroshade_usse::isa();
    let mut programs = 0;
    for seed in program_seeds(400) {
        let (module, _) = random_program(&Profile::usse(), seed);
        for opt in [OptLevel::O1, OptLevel::O2] {
            let Ok(s) = isa.compile(&module, &Options { opt, ..Options::default() }) else { continue };
            let code = container::read(&s.container).unwrap().primary;
            assert_eq!(needless(&code), [""; 0], "seed {seed}");
            programs += code.iter().any(|w| w >> 52 == 0xf80) as u32;
        }
    }
    assert!(programs > 100, "{programs} programs with branches");
}

/// The test itself notices each kind.
#[test]
fn each_kind_is_noticed() {
    let branch = |pred: u64, by: i64| 0xf800_0040_0000_0000 | pred << 56 | (by as u64 & 0xf_ffff);
    let (phas, nop) = (0xfa44_0700_0000_0000, 0xf800_0140_0000_0000);
    for (code, what) in [
        (vec![phas, branch(1, 2), branch(0, 2), nop, nop], "around"),
        (vec![phas, nop, branch(1, -1), nop], "under a predicate"),
        (vec![phas, branch(1, 1), nop], "next word"),
        (vec![phas, branch(1, 3), nop, branch(0, 2), branch(0, -2), nop], "to the branch 4"),
        (vec![phas, branch(0, 2), nop, nop], "nothing comes to 2"),
    ] {
        assert!(needless(&code).iter().any(|f| f.contains(what)), "{what}: {:?}", needless(&code));
    }
    assert_eq!(needless(&[phas, branch(1, 2), nop, nop, branch(0, 0)]), [""; 0]);
    assert_eq!(needless(&[phas, nop, branch(1, 2), branch(0, -2), nop]), [""; 0]);
}
