//! Random programs through every step of the ladder, judged by regalloc2's checker; never a slot where none exists.

#![allow(clippy::unwrap_used)]

use regalloc2::checker::Checker;
use regalloc2::{Operand, OperandConstraint, OperandKind, OperandPos, PReg, PRegSet, RegClass, VReg};
use retroshade_regalloc::file::NO_CLASS;
use retroshade_regalloc::tree::Tree;
use retroshade_regalloc::{
    AllocError, AllocOptions, AllocStep, Allocated, BankKind, ClassSpec, Known, Program, ProgramBuilder, RegFile, Scan, SlotBank, allocate,
};

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

const V: RegClass = RegClass::Vector;

fn file(registers: u8, slots: &[(u32, BankKind)]) -> RegFile {
    RegFile {
        classes: [NO_CLASS, NO_CLASS, ClassSpec { name: "r", count: registers, slot_units: 1 }],
        slots: slots.iter().map(|(n, kind)| SlotBank { name: "s", first_hw: 0, slots: *n, kind: *kind }).collect(),
        inputs: (16..32).filter(|i| *i >= registers as usize).map(|i| PReg::new(i, V)).collect(),
        reserved: PRegSet::default(),
        steps: Default::default(),
    }
}

/// Parameters, instructions, targets with their arguments.
type RawBlock = (Vec<VReg>, Vec<Vec<Operand>>, Vec<(u32, Vec<VReg>)>);

/// A random program that keeps about `live` values alive: a line, a diamond or a loop, per `shape`.
fn program(rng: &mut Rng, live: usize, shape: u64, tied: bool, fixed: bool) -> Program {
    let mut classes = Vec::new();
    let new = |classes: &mut Vec<RegClass>| {
        classes.push(V);
        VReg::new(classes.len() - 1, V)
    };
    let any_def = |v| Operand::new(v, OperandConstraint::Any, OperandKind::Def, OperandPos::Late);
    let any_use = |v| Operand::new(v, OperandConstraint::Any, OperandKind::Use, OperandPos::Early);
    let mut blocks: Vec<RawBlock> = Vec::new();
    let mut pool: Vec<VReg> = Vec::new();
    let body = |rng: &mut Rng, classes: &mut Vec<RegClass>, pool: &mut Vec<VReg>, n: usize| {
        let mut insts = Vec::new();
        for _ in 0..n {
            let (a, b) = (rng.below(pool.len() as u64) as usize, rng.below(pool.len() as u64) as usize);
            let d = new(classes);
            let fix = fixed && rng.below(6) == 0;
            let ops = if fix {
                let r = PReg::new(rng.below(4) as usize, V);
                vec![
                    Operand::new(pool[a], OperandConstraint::FixedReg(r), OperandKind::Use, OperandPos::Early),
                    Operand::new(d, OperandConstraint::FixedReg(r), OperandKind::Def, OperandPos::Late),
                ]
            } else if tied && rng.below(3) == 0 {
                vec![
                    Operand::reg_use(pool[a]),
                    any_use(pool[b]),
                    Operand::new(d, OperandConstraint::Reuse(0), OperandKind::Def, OperandPos::Late),
                ]
            } else {
                vec![any_use(pool[a]), any_use(pool[b]), any_def(d)]
            };
            insts.push(ops);
            pool[a] = d;
        }
        insts
    };
    let mut entry = Vec::new();
    for _ in 0..live {
        classes.push(V);
        let v = VReg::new(classes.len() - 1, V);
        entry.push(vec![Operand::reg_def(v)]);
        pool.push(v);
    }
    entry.extend(body(rng, &mut classes, &mut pool, 10));
    let params = |classes: &mut Vec<RegClass>| -> Vec<VReg> {
        (0..live)
            .map(|_| {
                classes.push(V);
                VReg::new(classes.len() - 1, V)
            })
            .collect()
    };
    match shape {
        0 => {
            entry.extend(body(rng, &mut classes, &mut pool, 40));
            blocks.push((vec![], entry, vec![]));
        }
        1 => {
            blocks.push((vec![], entry, vec![(1, vec![]), (2, vec![])]));
            let (mut left, mut right) = (pool.clone(), pool.clone());
            let l = body(rng, &mut classes, &mut left, 12);
            let r = body(rng, &mut classes, &mut right, 12);
            blocks.push((vec![], l, vec![(3, left)]));
            blocks.push((vec![], r, vec![(3, right)]));
            pool = params(&mut classes);
            let tail = body(rng, &mut classes, &mut pool, 10);
            blocks.push((pool_params(&classes, live), tail, vec![]));
        }
        _ => {
            blocks.push((vec![], entry, vec![(1, pool.clone())]));
            pool = params(&mut classes);
            let header = pool.clone();
            let inner = body(rng, &mut classes, &mut pool, 15);
            blocks.push((header, inner, vec![(2, vec![]), (3, vec![])]));
            let k = rng.below(live as u64) as usize;
            if rng.below(2) == 0 {
                pool.rotate_left(k);
            }
            blocks.push((vec![], vec![], vec![(1, pool.clone())]));
            blocks.push((vec![], vec![], vec![]));
        }
    }
    let last = blocks.len() - 1;
    let mut b = ProgramBuilder::new(classes, [1; 3]);
    for (n, (params, insts, targets)) in blocks.into_iter().enumerate() {
        b.block(params, 0);
        for i in insts {
            b.inst(&i, PRegSet::default());
        }
        if n == last {
            for v in &pool {
                b.inst(&[any_use(*v)], PRegSet::default());
            }
        }
        b.terminate(&[], PRegSet::default(), targets);
    }
    b.finish()
}

/// The parameters of the joining block are the `live` registers made just before its body of ten instructions.
fn pool_params(classes: &[RegClass], live: usize) -> Vec<VReg> {
    let first = classes.len() - 10 - live;
    (first..first + live).map(|v| VReg::new(v, V)).collect()
}

#[test]
fn tree_scan_answers_pass_the_checker() {
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    let mut solved = [0; 3];
    for round in 0..600u64 {
        let live = 4 + rng.below(11) as usize;
        let p = program(&mut rng, live, round % 3, round % 2 == 0, round % 5 == 0);
        let f = file(16, &[]);
        let known = Known::new(&p, &f).unwrap();
        let tree = Tree::new(&p, &f, &known);
        let answers = [tree.scan([0, 0, 16]), tree.spread([0, 0, 16])];
        for out in answers.into_iter().flatten().map(|found| found.output) {
            solved[(round % 3) as usize] += 1;
            assert_eq!(out.num_spillslots, 0);
            let env = f.env([64; 3]);
            let mut c = Checker::new(&p, &env);
            c.prepare(&out);
            if let Err(e) = c.run() {
                panic!("round {round}, {live} live: {e:?}");
            }
        }
    }
    assert!(solved.iter().all(|n| *n > 240), "{solved:?}");
}

#[test]
fn straight_lines_are_coloured_with_as_many_registers_as_are_live() {
    let mut rng = Rng(77);
    for _ in 0..50 {
        let p = program(&mut rng, 15, 0, false, false);
        let f = file(16, &[]);
        let known = Known::new(&p, &f).unwrap();
        let peak = known.max_live()[2];
        assert!(Tree::new(&p, &f, &known).scan([0, 0, peak.min(16)]).is_some(), "{peak} live");
    }
}

#[test]
fn what_few_took_can_be_told() {
    let mut rng = Rng(5);
    let mut solved = 0;
    for round in 0..60u64 {
        let live = 4 + rng.below(11) as usize;
        let p = program(&mut rng, live, round % 3, round % 2 == 0, round % 5 == 0);
        let f = file(16, &[]);
        let with = |scan| allocate(&p, &f, &AllocOptions { check: true, scan, ..Default::default() });
        let Ok(few) = with(Scan::Few) else { continue };
        let text = |a: Allocated| format!("{:?} {:?} {:?}", a.output.allocs, a.output.edits, a.used);
        let [told, found] = [Some(few.used), None].map(|used| with(Scan::Spread(used)).ok().map(text));
        assert_eq!(told, found);
        solved += u32::from(told.is_some());
    }
    assert!(solved > 20, "{solved}");
}

/// A line of instructions.
fn line(values: usize, insts: &[&[Operand]]) -> Program {
    let mut b = ProgramBuilder::new(vec![V; values], [1; 3]);
    b.block(vec![], 0);
    insts.iter().for_each(|i| b.inst(i, PRegSet::default()));
    b.terminate(&[], PRegSet::default(), vec![]);
    b.finish()
}

fn place_of(out: &regalloc2::Output, inst: usize, operand: usize) -> usize {
    out.allocs[out.inst_alloc_offsets[inst] as usize + operand].as_reg().unwrap().hw_enc()
}

#[test]
fn a_result_in_its_operands_place_stays_out_of_registers_that_others_are_bound_to() {
    let [a, sum, bound] = [0, 1, 2].map(|n| VReg::new(n, V));
    let fixed = |v, kind, pos| Operand::new(v, OperandConstraint::FixedReg(PReg::new(0, V)), kind, pos);
    let p = line(
        3,
        &[
            &[Operand::reg_def(a)],
            &[Operand::reg_use(a), Operand::new(sum, OperandConstraint::Reuse(0), OperandKind::Def, OperandPos::Late)],
            &[fixed(bound, OperandKind::Def, OperandPos::Late)],
            &[fixed(bound, OperandKind::Use, OperandPos::Early), Operand::reg_use(sum)],
        ],
    );
    let f = file(16, &[]);
    let out = Tree::new(&p, &f, &Known::new(&p, &f).unwrap()).scan([0, 0, 2]).unwrap().output;
    assert_eq!((place_of(&out, 0, 0), place_of(&out, 1, 1), place_of(&out, 2, 0)), (1, 1, 0));
    assert!(out.edits.is_empty(), "{:?}", out.edits);
}

#[test]
fn an_operand_that_lives_on_is_copied_before_its_place_is_overwritten() {
    let [a, sum] = [0, 1].map(|n| VReg::new(n, V));
    let p = line(
        2,
        &[
            &[Operand::reg_def(a)],
            &[Operand::reg_use(a), Operand::new(sum, OperandConstraint::Reuse(0), OperandKind::Def, OperandPos::Late)],
            &[Operand::reg_use(a), Operand::reg_use(sum)],
        ],
    );
    let f = file(16, &[]);
    let out = Tree::new(&p, &f, &Known::new(&p, &f).unwrap()).scan([0, 0, 2]).unwrap().output;
    assert_eq!(out.edits.len(), 1);
    assert_eq!((place_of(&out, 0, 0), place_of(&out, 1, 1), place_of(&out, 2, 0), place_of(&out, 2, 1)), (0, 1, 0, 1));
}

#[test]
fn a_result_takes_the_place_of_an_operand_that_another_one_reads_too() {
    let [a, sum] = [0, 1].map(|n| VReg::new(n, V));
    let moves = |pos| {
        let p = line(
            2,
            &[
                &[Operand::reg_def(a)],
                &[
                    Operand::new(a, OperandConstraint::Reg, OperandKind::Use, pos),
                    Operand::reg_use(a),
                    Operand::new(sum, OperandConstraint::Reuse(1), OperandKind::Def, OperandPos::Late),
                ],
                &[Operand::reg_use(sum)],
            ],
        );
        let f = file(16, &[]);
        Tree::new(&p, &f, &Known::new(&p, &f).unwrap()).scan([0, 0, 2]).unwrap().output.edits.len()
    };
    // Unless that one reads it when the result is there.
    assert_eq!([OperandPos::Early, OperandPos::Late].map(moves), [0, 1]);
}

#[test]
fn the_tree_scan_comes_first_where_it_takes_few_moves() {
    let mut rng = Rng(77);
    let (mut tree, mut ion) = (0, 0);
    for round in 0..120u64 {
        let live = 4 + rng.below(11) as usize;
        let p = program(&mut rng, live, round % 3, round % 2 == 0, false);
        let f = file(16, &[]);
        let with = |scan| allocate(&p, &f, &AllocOptions { check: true, scan, ..Default::default() });
        let found = [with(Scan::First { spread: round % 2 == 1 }), with(Scan::Last)];
        let [Ok(first), Ok(last)] = found else { continue };
        if first.step == AllocStep::TreeScan {
            tree += 1;
        } else {
            ion += 1;
            assert_eq!(format!("{:?}", first.output), format!("{:?}", last.output));
        }
    }
    assert!(tree > 20 && ion > 5, "{tree} and {ion}");
}

#[test]
fn nothing_stands_in_registers_that_an_instruction_spoils() {
    let [before, result] = [0, 1].map(|n| VReg::new(n, V));
    let mut spoiled = PRegSet::default();
    [0, 2].iter().for_each(|n| spoiled.add(PReg::new(*n, V)));
    let mut b = ProgramBuilder::new(vec![V; 2], [1; 3]);
    b.block(vec![], 0);
    b.inst(&[Operand::reg_def(before)], PRegSet::default());
    b.inst(&[Operand::reg_def(result)], spoiled);
    b.inst(&[Operand::reg_use(before), Operand::reg_use(result)], PRegSet::default());
    b.terminate(&[], PRegSet::default(), vec![]);
    let p = b.finish();
    let f = file(16, &[]);
    let out = Tree::new(&p, &f, &Known::new(&p, &f).unwrap()).scan([0, 0, 4]).unwrap().output;
    assert_eq!((place_of(&out, 0, 0), place_of(&out, 1, 0)), (1, 3));
}

#[test]
fn values_go_where_they_are_wanted_in_the_end() {
    let [other, a, b] = [0, 1, 2].map(|n| VReg::new(n, V));
    let fixed = |v| Operand::new(v, OperandConstraint::FixedReg(PReg::new(2, V)), OperandKind::Use, OperandPos::Early);
    let p = line(
        3,
        &[
            &[Operand::reg_def(other)],
            &[Operand::reg_def(a)],
            &[Operand::reg_use(a), Operand::reg_def(b)],
            &[fixed(b), Operand::reg_use(other)],
        ],
    );
    let f = file(16, &[]);
    let out = Tree::new(&p, &f, &Known::new(&p, &f).unwrap()).scan([0, 0, 3]).unwrap().output;
    assert_eq!((place_of(&out, 0, 0), place_of(&out, 1, 0), place_of(&out, 2, 1)), (0, 2, 2));
    assert!(out.edits.is_empty(), "{:?}", out.edits);
}

#[test]
fn spread_values_take_the_registers_that_are_free_for_longest() {
    let v: Vec<VReg> = (0..4).map(|n| VReg::new(n, V)).collect();
    let step = |n: usize| [Operand::reg_use(v[n]), Operand::reg_def(v[n + 1])];
    let p = line(4, &[&[Operand::reg_def(v[0])], &step(0), &step(1), &step(2), &[Operand::reg_use(v[3])]]);
    let f = file(16, &[]);
    let known = Known::new(&p, &f).unwrap();
    let places = |out: regalloc2::Output| [place_of(&out, 0, 0), place_of(&out, 1, 1), place_of(&out, 2, 1), place_of(&out, 3, 1)];
    assert_eq!(places(Tree::new(&p, &f, &known).scan([0, 0, 3]).unwrap().output), [0; 4]);
    assert_eq!(places(Tree::new(&p, &f, &known).spread([0, 0, 3]).unwrap().output), [0, 1, 2, 0]);
}

#[test]
fn the_ladder_never_answers_with_a_slot_that_does_not_exist() {
    let mut rng = Rng(4242);
    let (mut fine, mut refused, mut steps) = (0, 0, [0; 3]);
    for round in 0..300u64 {
        let live = 8 + rng.below(10) as usize;
        let p = program(&mut rng, live, round % 3, true, round % 4 == 0);
        match allocate(&p, &file(16, &[]), &AllocOptions { check: true, ..Default::default() }) {
            Ok(a) => {
                assert_eq!(a.slots, 0);
                fine += 1;
                steps[match a.step {
                    AllocStep::IonTight => 0,
                    AllocStep::IonFull => 1,
                    AllocStep::TreeScan => 2,
                }] += 1;
            }
            Err(AllocError::Pressure { live: n, limit, .. }) => {
                assert_eq!(limit, 16);
                assert!(n >= 13 || round % 4 == 0, "{n} live values should fit 16 registers");
                refused += 1;
            }
            Err(e) => panic!("{e}"),
        }
    }
    assert!(fine > 150 && refused > 10 && steps[2] > 5, "{fine} {refused} {steps:?}");
}

#[test]
fn register_slots_hold_what_does_not_fit() {
    let mut rng = Rng(99);
    for round in 0..60u64 {
        let p = program(&mut rng, 20, round % 3, false, false);
        let a = allocate(&p, &file(16, &[(32, BankKind::Register)]), &AllocOptions { check: true, ..Default::default() }).unwrap();
        assert!(a.slots > 0 && a.slots <= 32, "{}", a.slots);
    }
}
