//! The validator on damaged words: barriers that are missing, operations that are gone, groups in another order.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Stage;
use retroshade_lower::CompiledShader;
use retroshade_lower::testing::{Noticed, Profile, noticed, noticed_by_meaning, noticed_of_what_differs, with_code};
use retroshade_r700::isa::forms::{Effect, Format};
use retroshade_r700::isa::program::{Clause, Program, words_of};
use retroshade_r700::isa::word::{Alu, sel};

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

/// A program damaged at each of its operations that fit: `change` makes other words of its two.
fn each(s: &CompiledShader, fits: &dyn Fn(&Alu) -> bool, change: &dyn Fn([u32; 2]) -> [u32; 2]) -> Vec<CompiledShader> {
    let all = words(s);
    let p = Program::decode(&all).unwrap();
    let groups = p.clauses.values().filter_map(|c| if let Clause::Alu(g) = c { Some(g) } else { None }).flatten();
    let slots = groups.flat_map(|(unit, g)| g.slots.iter().enumerate().map(move |(k, a)| (2 * (*unit as usize + k), a)));
    let damaged = |at: usize| {
        let mut w = all.clone();
        [w[at], w[at + 1]] = change([w[at], w[at + 1]]);
        (w != all).then(|| shader(s, &w))
    };
    slots.filter(|(_, a)| fits(a)).filter_map(|(at, _)| damaged(at)).collect()
}

#[test]
fn operations_that_are_gone_are_missed() {
    // WRITE_MASK of operations with two operands.
    let plain = |a: &Alu| a.write && !a.dst_rel && a.info().format == Format::Op2 && a.alu().effect == Effect::Plain;
    let found = check(Stage::Vertex, 20, &|s| each(s, &plain, &|[a, b]| [a, b ^ 1 << 4]));
    // The others' registers hold something else, which only their values would tell.
    assert!(found.at_least(10), "{found:?}");
}

#[test]
fn other_sources_hold_nothing() {
    // Another register in the first operand.
    let reads = |a: &Alu| a.sources().first().is_some_and(|x| x.is_gpr() && !x.rel);
    let found = check(Stage::Vertex, 20, &|s| each(s, &reads, &|[a, b]| [a ^ 1 << 5, b]));
    assert!(found.at_least(60), "{found:?}");
}

#[test]
fn other_operands_mean_something_else() {
    // Another register or literal in the first operand, another register written.
    let reads = |a: &Alu| a.sources().first().is_some_and(|x| x.is_gpr() && !x.rel);
    let literal = |a: &Alu| a.sources().first().is_some_and(|x| x.sel == sel::LITERAL);
    let writes = |a: &Alu| a.write && !a.dst_rel && a.info().format == Format::Op2 && a.alu().effect == Effect::Plain;
    type Case<'a> = (&'a dyn Fn(&Alu) -> bool, &'a dyn Fn([u32; 2]) -> [u32; 2], usize);
    let cases: [Case; 3] =
        [(&reads, &|[a, b]| [a ^ 1, b], 80), (&literal, &|[a, b]| [a ^ 1 << 10, b], 60), (&writes, &|[a, b]| [a, b ^ 1 << 21], 86)];
    for (fits, change, percent) in cases {
        let found = noticed_by_meaning(retroshade_r700::isa(), &Profile::r700(), 0..200, &|s| each(s, fits, change));
        println!("{found:?}");
        assert!(found.at_least(percent), "{found:?}");
    }
}

#[test]
fn exchanged_operands_mean_something_else() {
    let two = |a: &Alu| a.sources().len() == 2 && a.sources().iter().all(|x| x.is_gpr() && !x.rel);
    let ordered = |a: &Alu| two(a) && ["SETG", "SH", "SUB"].iter().any(|n| a.info().short.contains(n));
    let swap = |[a, b]: [u32; 2]| [a & !0x3ff_ffff | a >> 13 & 0x1fff | (a & 0x1fff) << 13, b];
    let (found, alike) = noticed_of_what_differs(retroshade_r700::isa(), &Profile::r700(), 0..400, &|s| each(s, &ordered, &swap));
    println!("{found:?}, {alike} that nothing shows");
    // What nothing shows is mostly how often empty loops go round, or what a shift drops.
    assert!(found.at_least(85) && 100 * alike <= 36 * (found.damaged + alike), "{found:?}, {alike}");
}
