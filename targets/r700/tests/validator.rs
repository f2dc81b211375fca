//! The validator on damaged words: barriers that are missing, operations that are gone, groups in another order.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Stage;
use retroshade_lower::CompiledShader;
use retroshade_lower::testing::{Noticed, Profile, noticed, with_code};
use retroshade_r700::isa::forms::{Effect, Format};
use retroshade_r700::isa::program::{Clause, Program, words_of};
use retroshade_r700::isa::word::Alu;

fn words(s: &CompiledShader) -> Vec<u32> {
    words_of(&s.code).unwrap()
}

fn shader(s: &CompiledShader, words: &[u32]) -> CompiledShader {
    with_code(s, words.iter().flat_map(|w| w.to_le_bytes()).collect())
}

fn check(stage: Stage, programs: u64, damage: &dyn Fn(&CompiledShader) -> Vec<CompiledShader>) -> Noticed {
    let found = noticed(retroshade_r700::isa(), &Profile::r700().only(&[stage]), 0..programs, damage);
    println!("{found:?}");
    found
}

#[test]
fn barriers_are_missed() {
    // All of a program's at once: something must be in the way of something.
    let found = check(Stage::Fragment, 100, &|s| {
        let mut w = words(s);
        let n = Program::decode(&w).unwrap().cf.len();
        (0..n).for_each(|k| w[2 * k + 1] &= !(1 << 31));
        if n < 4 { Vec::new() } else { vec![shader(s, &w)] }
    });
    assert!(found.at_least(100), "{found:?}");
    // One by one: some wait for nothing.
    let found = check(Stage::Fragment, 60, &|s| {
        let all = words(s);
        let n = Program::decode(&all).unwrap().cf.len();
        let without = |k: usize| {
            let mut w = all.clone();
            w[2 * k + 1] &= !(1 << 31);
            (w != all).then(|| shader(s, &w))
        };
        (1..n).filter_map(without).collect()
    });
    assert!(found.at_least(90), "{found:?}");
}

/// A program damaged at each of its operations that fit: `bit` of one of the two words is turned over.
fn at_each(s: &CompiledShader, fits: &dyn Fn(&Alu) -> bool, (word, bit): (usize, u32)) -> Vec<CompiledShader> {
    let all = words(s);
    let p = Program::decode(&all).unwrap();
    let groups = p.clauses.values().filter_map(|c| if let Clause::Alu(g) = c { Some(g) } else { None }).flatten();
    let slots = groups.flat_map(|(unit, g)| g.slots.iter().enumerate().map(move |(k, a)| (*unit as usize + k, a)));
    let damaged = |at: usize| {
        let mut w = all.clone();
        w[2 * at + word] ^= 1 << bit;
        shader(s, &w)
    };
    slots.filter(|(_, a)| fits(a)).map(|(at, _)| damaged(at)).collect()
}

#[test]
fn operations_that_are_gone_are_missed() {
    // WRITE_MASK of operations with two operands.
    let plain = |a: &Alu| a.write && !a.dst_rel && a.info().format == Format::Op2 && a.alu().effect == Effect::Plain;
    let found = check(Stage::Vertex, 20, &|s| at_each(s, &plain, (1, 4)));
    // The others' registers hold something else, which only their values would tell.
    assert!(found.at_least(10), "{found:?}");
}

#[test]
fn other_sources_hold_nothing() {
    // Another register in the first operand.
    let reads = |a: &Alu| a.sources().first().is_some_and(|x| x.is_gpr() && !x.rel);
    let found = check(Stage::Vertex, 20, &|s| at_each(s, &reads, (0, 5)));
    assert!(found.at_least(60), "{found:?}");
}
