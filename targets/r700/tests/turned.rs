//! Branches that the validator can turn. What it sees there stands in `filetests/tests/turned_branches.rs`.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Opcode;
use retroshade_ir::interp::Branch;
use retroshade_lower::testing::{Profile, default_options, random_program};
use std::collections::BTreeSet;

/// Wherever there is code on either side of a branch, one operation decides it.
#[test]
fn most_branches_can_be_turned() {
    let (mut all, mut named) = (0, 0);
    for seed in 0..200 {
        let (m, _) = random_program(&Profile::r700(), seed);
        let Ok(s) = retroshade_r700::isa().compile(&m, &default_options(seed)) else { continue };
        let (func, f) = (s.legal.entry, s.legal.main());
        let branches = f.layout.iter().filter(|b| f.terminator(**b).is_some_and(|t| f.insts[t].op == Opcode::BrIf));
        let branches: BTreeSet<Branch> = branches.map(|block| Branch { func, block: *block }).collect();
        let places: BTreeSet<Branch> = s.branches.iter().map(|b| b.1).collect();
        assert!(places.is_subset(&branches), "seed {seed}: {places:?} of {branches:?}");
        (all, named) = (all + branches.len(), named + places.len());
    }
    println!("{named} of {all}");
    assert!(all > 60 && named * 100 >= all * 95, "{named} of {all}");
}
