//! Why machines of many registers place lanes: code that is full from the first instruction to the last, as regalloc2 and as the
//! lanes place it. This is regalloc2's best case, single registers that every operand can name; the first 64 are its class, the
//! others its slots.

#![allow(clippy::unwrap_used)]

use regalloc2::{Operand, OperandConstraint, OperandKind, OperandPos, PRegSet, RegClass, RegallocOptions, VReg};
use retroshade_regalloc::file::NO_CLASS;
use retroshade_regalloc::flow::{Flow, FlowBlock, Point};
use retroshade_regalloc::lanes::{self, Bank, Conflicts, Lane, Member, Problem, Search, Unit};
use retroshade_regalloc::{AllocError, AllocOptions, BankKind, ClassSpec, Program, ProgramBuilder, RegFile, SlotBank, allocate, regalloc2};

/// Registers of regalloc2's class, and those that are slots.
const CLASS: u8 = 64;
const SLOTS: usize = 76;

/// Values that are read, and the one that is made.
type Line = (Vec<u32>, Option<u32>);

/// A straight line with `live` values alive at each place.
fn dense(seed: u64, live: u32) -> (Vec<Line>, u32) {
    let mut state = seed * 7919 + 12345;
    let mut below = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let mut alive: Vec<u32> = (0..live).collect();
    let mut code: Vec<Line> = alive.iter().map(|v| (Vec::new(), Some(*v))).collect();
    for made in live..live + 400 {
        let (a, b) = (alive[below(alive.len())], alive[below(alive.len())]);
        let dies = alive.swap_remove(below(live as usize));
        let mut reads = vec![dies, a, b];
        reads.sort_unstable();
        reads.dedup();
        code.push((reads, Some(made)));
        alive.push(made);
    }
    code.extend(alive.iter().map(|v| (vec![*v], None)));
    (code, live + 400)
}

fn program(code: &[Line], values: u32) -> Program {
    let mut p = ProgramBuilder::new(vec![RegClass::Float; values as usize], [1; 3]);
    let operand = |v: u32, kind, pos| Operand::new(VReg::new(v as usize, RegClass::Float), OperandConstraint::Any, kind, pos);
    p.block(Vec::new(), 0);
    for (reads, made) in code {
        let reads = reads.iter().map(|v| operand(*v, OperandKind::Use, OperandPos::Early));
        let all: Vec<Operand> = reads.chain(made.map(|v| operand(v, OperandKind::Def, OperandPos::Late))).collect();
        p.inst(&all, PRegSet::empty());
    }
    p.terminate(&[], PRegSet::empty(), Vec::new());
    p.finish()
}

/// The class, and so many registers behind it.
fn file(slots: usize) -> RegFile {
    RegFile {
        classes: [NO_CLASS, ClassSpec { name: "r", count: CLASS, slot_units: 1 }, NO_CLASS],
        slots: vec![SlotBank { name: "high", first_hw: CLASS.into(), slots: slots as u32, kind: BankKind::Register }],
        inputs: Vec::new(),
        reserved: PRegSet::empty(),
        steps: Default::default(),
    }
}

/// The slots that regalloc2 takes.
fn slots(code: &[Line], values: u32) -> usize {
    let file = file(0);
    regalloc2::run(&program(code, values), &file.env([0, CLASS, 0]), &RegallocOptions::default()).unwrap().num_spillslots
}

/// Whether the lanes find places in so many registers.
fn lanes_fit(code: &[Line], values: u32, registers: u32) -> bool {
    let point =
        |(reads, made): &Line| Point { reads: reads.iter().copied().collect(), writes: made.iter().copied().collect(), ..Point::default() };
    let block = FlowBlock { points: code.iter().map(point).collect(), ..FlowBlock::default() };
    let flow = Flow { blocks: vec![block], values: values as usize };
    let unit = |value| Unit {
        members: [Member { value, register: 0, lane: Lane::At(0) }][..].into(),
        search: [Search::Whole(0)][..].into(),
        ..Unit::default()
    };
    let conflicts = Conflicts::Ranges(flow.ranges(&flow.live()).into());
    let banks = vec![Bank { name: "r", registers, lanes: 1 }];
    lanes::place(&Problem { banks, units: (0..values).map(unit).collect(), conflicts, values: values as usize }).is_ok()
}

#[test]
fn lanes_take_what_lives_and_slots_more() {
    let fitting = |live: u32| {
        let all: Vec<(Vec<Line>, u32)> = (0..10).map(|seed| dense(seed, live)).collect();
        let slots = all.iter().filter(|(code, values)| slots(code, *values) <= SLOTS).count();
        let lanes = all.iter().filter(|(code, values)| lanes_fit(code, *values, live)).count();
        println!("{live} alive: regalloc2 fits in {CLASS} + {SLOTS} registers {slots} times of 10, the lanes in {live} {lanes} times");
        (slots, lanes)
    };
    assert_eq!(fitting(60), (10, 10));
    assert_eq!(fitting(90), (10, 10));
    // All registers would do for 140.
    let (slots, lanes) = fitting(125);
    assert!(slots < 5 && lanes == 10);
    assert_eq!(fitting(140).1, 10);
}

#[test]
fn an_answer_says_how_many_slots_it_lacks() {
    let mut lacking_some = 0;
    for seed in 0..10 {
        let (code, values) = dense(seed, 125);
        match allocate(&program(&code, values), &file(SLOTS), &AllocOptions::default()) {
            Ok(a) => assert_eq!(a.slots as usize, slots(&code, values)),
            Err(AllocError::Pressure { lacking, .. }) => {
                assert_eq!(SLOTS + lacking as usize, slots(&code, values));
                lacking_some += 1;
            }
            Err(e) => panic!("{e}"),
        }
    }
    assert!(lacking_some > 5);
}

#[test]
fn what_is_known_to_be_too_many_is_not_tried() {
    let (code, values) = dense(0, 60);
    let program = program(&code, values);
    let of = |too_many| allocate(&program, &file(SLOTS), &AllocOptions { too_many, ..AllocOptions::default() });
    let most = of(u32::MAX).unwrap().max_live[1];
    assert!(of(most + 1).is_ok());
    assert!(matches!(of(most), Err(AllocError::Pressure { live, lacking: 0, .. }) if live == most));
}
