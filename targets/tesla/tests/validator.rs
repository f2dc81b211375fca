//! The validator on damaged words: instructions that are gone, other registers, another order.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Stage;
use retroshade_lower::CompiledShader;
use retroshade_lower::testing::{Noticed, Profile, noticed, noticed_by_meaning, with_code};

/// An instruction that does nothing, with neither `exit` nor `join`.
const NOTHING: u64 = 0xe000_0780_f000_0001;

/// Places of the long instructions of a kind (0: neither control flow, nor an immediate, nor one that ends or joins; 3: an immediate).
fn long(code: &[u8], kind: u32) -> Vec<usize> {
    let mut out = Vec::new();
    let mut at = 0;
    while at + 4 <= code.len() {
        let word = u32::from_le_bytes(code[at..at + 4].try_into().unwrap());
        if word & 1 == 0 {
            at += 4;
            continue;
        }
        let high = u32::from_le_bytes(code[at + 4..at + 8].try_into().unwrap());
        if word & 3 == 1 && high & 3 == kind {
            out.push(at);
        }
        at += 8;
    }
    out
}

/// The shader with each long instruction of a kind changed for itself.
fn each(s: &CompiledShader, kind: u32, change: &dyn Fn(u64) -> u64) -> Vec<CompiledShader> {
    let changed = long(&s.code, kind).into_iter().filter_map(|at| {
        let mut code = s.code.clone();
        let old = u64::from_le_bytes(code[at..at + 8].try_into().unwrap());
        code[at..at + 8].copy_from_slice(&change(old).to_le_bytes());
        (code != s.code).then(|| with_code(s, code))
    });
    changed.collect()
}

fn check(stage: Stage, programs: u64, change: &dyn Fn(u64) -> u64) -> Noticed {
    let profile = Profile::tesla().straight_line().only(&[stage]);
    let found = noticed(retroshade_tesla::isa(), &profile, 0..programs, &|s| each(s, 0, change));
    println!("{found:?}");
    found
}

#[test]
fn instructions_that_are_gone_are_missed() {
    for stage in [Stage::Vertex, Stage::Fragment] {
        let found = check(stage, 25, &|_| NOTHING);
        // The others' registers hold something else, which only their values would tell.
        assert!(found.at_least(3), "{found:?}");
    }
}

#[test]
fn other_destinations_leave_nothing() {
    // Another register, in the field that all long forms have.
    let found = check(Stage::Vertex, 25, &|w| w ^ 0x40);
    assert!(found.at_least(3), "{found:?}");
}

#[test]
fn other_operands_mean_something_else() {
    // Another destination, first source or immediate, the first two sources exchanged (which sums and products do not mind).
    let swap = |w: u64| w & !0x7f_fe00 | (w >> 7 & 0xfe00) | (w & 0xfe00) << 7;
    let changes: [(u32, &dyn Fn(u64) -> u64, usize); 4] =
        [(0, &|w| w ^ 1 << 2, 65), (0, &|w| w ^ 1 << 9, 62), (0, &swap, 36), (3, &|w| w ^ 1 << 50, 47)];
    for (kind, change, percent) in changes {
        let found = noticed_by_meaning(retroshade_tesla::isa(), &Profile::tesla(), 0..200, &|s| each(s, kind, change));
        println!("{found:?}");
        assert!(found.at_least(percent), "{found:?}");
    }
}
