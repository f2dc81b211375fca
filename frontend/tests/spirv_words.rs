//! The SPIR-V reader: programs of glslang with known results, operations word by word, and damaged modules.
#![allow(clippy::unwrap_used)]

mod common;
use ::spirv::Op;
use common::*;
use retroshade_frontend::{FrontOptions, spirv};
use retroshade_ir::{Module, Stage};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn file(name: &str) -> Vec<u8> {
    let dir: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spirv");
    std::fs::read(dir.join(name)).unwrap()
}

fn read(name: &str) -> Module {
    match spirv(name, &file(name), &FrontOptions::default()) {
        Ok(m) => checked(m),
        Err(e) => panic!("{name}: {e}"),
    }
}

/// Runs a compute program of one workgroup on one buffer, or several.
fn compute(name: &str, storage: &[(&str, &[u32])]) -> Vec<u32> {
    let m = read(name);
    let buffers = m.storage.values().map(|d| storage.iter().find(|(n, _)| *n == d.name).unwrap().1.to_vec()).collect();
    let at = m.storage.values().position(|d| d.name == storage[0].0).unwrap();
    run_compute(&m, buffers, vec![], [1, 1, 1])[at].clone()
}

#[test]
fn programs_of_glslang() {
    assert_eq!(compute("dowhile.spv", &[("B", &[4, 0])]), [4, 5], "continue in do-while tests the condition");
    assert_eq!(compute("shortcircuit.spv", &[("B", &[3, 0])]), [3, 100], "|| leaves its right side alone");
    assert_eq!(compute("dbl.spv", &[("B", &[0; 4])]), [0, 1, 6, 2], "q[k++] += 5 evaluates k++ once");
    assert_eq!(compute("arr2d.spv", &[("B", &[0; 7])]), [0, 0, 1, 2, 10, 11, 12], "int m[2][3]");
    assert_eq!(compute("arr2u.spv", &[("B", &[0; 7]), ("K", &[0, 1, 2, 3, 4, 5, 6])]), [0, 1, 2, 3, 4, 5, 6], "int k[2][3] in a buffer");
    assert_eq!(compute("arr2dl.spv", &[("B", &[0; 4])]), [0, 5, 7, 23], "length() of arrays of arrays");
    // The text is small_constants.spvasm; the values are SPIR-V's definition of each operation.
    let constants = [61440, 0xffff_f000, 1, 1, 3840, 0xffff_ff00, 15360, 0xffff_fc00, 1.5f32.to_bits(), 3.140_625f32.to_bits(), 2];
    assert_eq!(compute("small_constants.spv", &[("B", &[0; 11])]), constants, "specialisation constants of less than a word");
    assert_eq!(floats(&compute("sharedvec.spv", &[("a", &[0; 4])])), [1.0, 2.0, 3.0, 4.0], "lanes of a shared vector");
}

#[test]
fn outputs_with_first_values() {
    let m = read("first_values.spv");
    let by_name: Vec<_> = m.outputs.values().map(|o| o.name.as_str()).zip(run(&m, vec![], vec![])).collect();
    let want = |x: &[f32]| words(x);
    assert_eq!(by_name, [("clip_distances", want(&[1.0, 2.0])), ("position", want(&[1.0, 2.0, 1.0, 1.0]))]);
}

/// A copy reads what it copies, as a load does.
#[test]
fn arguments_that_are_copied() {
    let m = read("copied_argument.spv");
    assert_eq!(run(&m, vec![], vec![]), [words(&[28.0])]);
}

#[test]
fn switches_over_64_bits_are_refused_as_such() {
    let e = spirv("switch64.spv", &file("switch64.spv"), &FrontOptions::default()).unwrap_err();
    assert!(e.to_string().contains("F0114"), "{e}");
}

#[test]
fn switches_in_any_order() {
    for (n, want) in [(5, 105), (6, 6), (1, 100)] {
        assert_eq!(compute("swdefault.spv", &[("B", &[n, 0])]), [n, want], "default in the middle");
    }
    for (n, want) in [(0, 111), (1, 110), (2, 100), (7, 111)] {
        assert_eq!(compute("swspv.spv", &[("B", &[n, 0])]), [n, want], "default first");
    }
}

/// A module made word by word: a compute program whose buffer of integers the body reads and writes.
struct Asm {
    words: Vec<u32>,
    next: u32,
}

const VOID: u32 = 1;
const U32: u32 = 2;
const I32: u32 = 3;
const BOOL: u32 = 4;
const PTR: u32 = 5;
const BUFFER: u32 = 6;
const MAIN: u32 = 7;
const ZERO: u32 = 8;

impl Asm {
    fn new() -> Asm {
        let mut a = Asm { words: vec![::spirv::MAGIC_NUMBER, 0x1_0300, 0, 0, 0], next: 30 };
        a.op(Op::Capability, &[1]);
        a.op(Op::MemoryModel, &[0, 1]);
        a.op(Op::EntryPoint, &[5, MAIN, u32::from_le_bytes(*b"main"), 0]);
        a.op(Op::ExecutionMode, &[MAIN, 17, 1, 1, 1]);
        a.op(Op::Decorate, &[10, 6, 4]);
        a.op(Op::MemberDecorate, &[11, 0, 35, 0]);
        a.op(Op::Decorate, &[11, 2]);
        a.op(Op::TypeVoid, &[VOID]);
        a.op(Op::TypeFunction, &[12, VOID]);
        a.op(Op::TypeInt, &[U32, 32, 0]);
        a.op(Op::TypeInt, &[I32, 32, 1]);
        a.op(Op::TypeBool, &[BOOL]);
        a.op(Op::TypeRuntimeArray, &[10, U32]);
        a.op(Op::TypeStruct, &[11, 10]);
        a.op(Op::TypePointer, &[13, 12, 11]);
        a.op(Op::TypePointer, &[PTR, 12, U32]);
        a.op(Op::Variable, &[13, BUFFER, 12]);
        for (id, n) in (ZERO..10).zip([0, 1]).chain((14..24).zip(2..)) {
            a.op(Op::Constant, &[U32, id, n]);
        }
        a
    }

    fn op(&mut self, op: Op, operands: &[u32]) {
        self.words.push((operands.len() as u32 + 1) << 16 | op as u32);
        self.words.extend(operands);
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// The constant of a small number.
    fn small(n: u32) -> u32 {
        if n < 2 { ZERO + n } else { 12 + n }
    }

    fn begin(&mut self) {
        self.op(Op::Function, &[VOID, MAIN, 0, 12]);
        let label = self.id();
        self.op(Op::Label, &[label]);
    }

    fn load(&mut self, n: u32) -> u32 {
        let (p, v) = (self.id(), self.id());
        self.op(Op::AccessChain, &[PTR, p, BUFFER, ZERO, Asm::small(n)]);
        self.op(Op::Load, &[U32, v, p]);
        v
    }

    fn store(&mut self, n: u32, v: u32) {
        let p = self.id();
        self.op(Op::AccessChain, &[PTR, p, BUFFER, ZERO, Asm::small(n)]);
        self.op(Op::Store, &[p, v]);
    }

    fn end(mut self) -> Vec<u8> {
        self.op(Op::Return, &[]);
        self.op(Op::FunctionEnd, &[]);
        self.words[3] = self.next + 1;
        self.words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }
}

/// What a binary operation gives for two words.
fn binary(op: Op, cases: &[(u32, u32, u32)]) {
    let mut a = Asm::new();
    a.begin();
    let (x, y, r) = (a.load(0), a.load(1), a.id());
    a.op(op, &[U32, r, x, y]);
    a.store(2, r);
    let m = checked(spirv("op.spv", &a.end(), &FrontOptions::default()).unwrap());
    for (x, y, want) in cases {
        let out = run_compute(&m, vec![vec![*x, *y, 77]], vec![], [1, 1, 1]);
        assert_eq!(out[0][2], *want, "{op:?} of {x:#x} and {y:#x}");
    }
}

#[test]
fn operations_on_integers() {
    let n = |x: i32| x as u32;
    binary(
        Op::SMod,
        &[(7, 3, 1), (n(-7), 3, 2), (7, n(-3), n(-2)), (n(-7), n(-3), n(-1)), (6, n(-3), 0), (0x7fff_fffe, 0x7fff_ffff, 0x7fff_fffe)],
    );
    binary(Op::SRem, &[(7, 3, 1), (n(-7), 3, n(-1)), (7, n(-3), 1)]);
    binary(Op::UMod, &[(0xffff_fff9, 10, 0xffff_fff9 % 10)]);
    binary(Op::SDiv, &[(n(-7), 2, n(-3)), (0xffff_ffff, 0xffff_ffff, 1)]);
    binary(Op::UDiv, &[(n(-7), 2, n(-7) / 2)]);
    binary(Op::ShiftRightArithmetic, &[(n(-8), 1, n(-4))]);
    binary(Op::ShiftRightLogical, &[(n(-8), 1, 0x7fff_fffc)]);
    binary(Op::IMul, &[(0x1_0001, 0x1_0001, 0x2_0001)]);
    binary(Op::BitwiseXor, &[(6, 3, 5)]);
}

#[test]
fn extended_arithmetic() {
    for (op, x, y, want) in [
        (Op::IAddCarry, 0xffff_ffff, 2, [1, 1]),
        (Op::IAddCarry, 5, 6, [11, 0]),
        (Op::ISubBorrow, 2, 5, [0xffff_fffd, 1]),
        (Op::UMulExtended, 0x8000_0000, 6, [0, 3]),
        (Op::SMulExtended, 0xffff_ffff, 5, [0xffff_fffb, 0xffff_ffff]),
    ] {
        let mut a = Asm::new();
        a.op(Op::TypeStruct, &[25, U32, U32]);
        a.begin();
        let (p, q, r) = (a.load(0), a.load(1), a.id());
        a.op(op, &[25, r, p, q]);
        for n in 0..2 {
            let part = a.id();
            a.op(Op::CompositeExtract, &[U32, part, r, n]);
            a.store(2 + n, part);
        }
        let m = checked(spirv("op.spv", &a.end(), &FrontOptions::default()).unwrap());
        assert_eq!(run_compute(&m, vec![vec![x, y, 0, 0]], vec![], [1, 1, 1])[0][2..], want, "{op:?}");
    }
}

/// A remainder by a constant has the constant's sign.
#[test]
fn remainders_by_constants() {
    for (k, cases) in [(-3i32, [(7, -2), (-7, -1), (6, 0)]), (5, [(7, 2), (-7, 3), (-10, 0)]), (4, [(7, 3), (-7, 1), (-8, 0)])] {
        let mut a = Asm::new();
        a.op(Op::Constant, &[U32, 25, k as u32]);
        a.begin();
        let (x, r) = (a.load(0), a.id());
        a.op(Op::SMod, &[U32, r, x, 25]);
        a.store(1, r);
        let m = checked(spirv("op.spv", &a.end(), &FrontOptions::default()).unwrap());
        for (x, want) in cases {
            let out = run_compute(&m, vec![vec![x as u32, 77]], vec![], [1, 1, 1]);
            assert_eq!(out[0][1] as i32, want, "{x} mod {k}");
        }
    }
}

/// Of a negative number of eight bits those are counted that it has, not those of its word.
#[test]
fn bits_of_small_numbers_are_counted() {
    let mut a = Asm::new();
    a.op(Op::TypeInt, &[25, 8, 1]);
    a.begin();
    let (x, small, count) = (a.load(0), a.id(), a.id());
    a.op(Op::SConvert, &[25, small, x]);
    a.op(Op::BitCount, &[U32, count, small]);
    a.store(1, count);
    let m = checked(spirv("op.spv", &a.end(), &FrontOptions::default()).unwrap());
    for (x, want) in [(0xff, 8), (0x80, 1), (0x17f, 7), (0, 0)] {
        assert_eq!(run_compute(&m, vec![vec![x, 77]], vec![], [1, 1, 1])[0][1], want, "{x:#x}");
    }
}

/// A loop whose two phis exchange their values: they change at once.
#[test]
fn phis_change_at_once() {
    let mut a = Asm::new();
    a.begin();
    let n = a.load(0);
    let [header, body, next, exit, x, y, i, more, c] = [(); 9].map(|()| a.id());
    // The label of the block that `begin` opened.
    let first = 31;
    a.op(Op::Branch, &[header]);
    a.op(Op::Label, &[header]);
    a.op(Op::Phi, &[U32, x, ZERO, first, y, next]);
    a.op(Op::Phi, &[U32, y, Asm::small(1), first, x, next]);
    a.op(Op::Phi, &[U32, i, ZERO, first, more, next]);
    a.op(Op::LoopMerge, &[exit, next, 0]);
    a.op(Op::Branch, &[body]);
    a.op(Op::Label, &[body]);
    a.op(Op::ULessThan, &[BOOL, c, i, n]);
    a.op(Op::BranchConditional, &[c, next, exit]);
    a.op(Op::Label, &[next]);
    a.op(Op::IAdd, &[U32, more, i, Asm::small(1)]);
    a.op(Op::Branch, &[header]);
    a.op(Op::Label, &[exit]);
    a.store(1, x);
    a.store(2, y);
    let m = checked(spirv("phi.spv", &a.end(), &FrontOptions::default()).unwrap());
    for n in 0..5 {
        let out = run_compute(&m, vec![vec![n, 9, 9]], vec![], [1, 1, 1]);
        assert_eq!(out[0], [n, n % 2, 1 - n % 2]);
    }
}

/// Names of a fragment program's parts, and its arrays of samplers.
#[test]
fn texel_fetch_with_an_offset() {
    let m = read("fetchoff.spv");
    assert_eq!(m.stage, Stage::Fragment);
    assert_eq!(m.textures.values().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["t"]);
}

/// SPIR-V takes any characters, but a line break would end the comment in which a listing names a buffer.
#[test]
fn names_lose_control_characters() {
    let mut a = Asm::new();
    a.op(Op::Name, &[BUFFER, u32::from_le_bytes(*b"a\nb\0")]);
    a.begin();
    let v = a.load(0);
    a.store(1, v);
    let m = checked(spirv("x.spv", &a.end(), &FrontOptions::default()).unwrap());
    assert_eq!(m.storage.values().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["a_b"]);
}

#[test]
fn damaged_modules() {
    for name in ["damaged_sizes.spv", "damaged_load.spv", "damaged_pointer.spv"] {
        let e = spirv(name, &file(name), &FrontOptions::default()).unwrap_err();
        assert!(e.diagnostics[0].code == "F0012" || e.is_limit(), "{name}: {e}");
    }
    // An endless count of words, an id beyond all, a string without end, a function without end.
    let mut a = Asm::new();
    a.words.push(0xffff_0000 | Op::Name as u32);
    assert!(spirv("x.spv", &a.end(), &FrontOptions::default()).unwrap_err().to_string().contains("word"));
    let mut a = Asm::new();
    a.op(Op::Name, &[MAIN, 0x4141_4141]);
    a.begin();
    assert!(spirv("x.spv", &a.end(), &FrontOptions::default()).unwrap_err().to_string().contains("without end"));
    let mut a = Asm::new();
    a.begin();
    a.op(Op::FunctionCall, &[VOID, 40, MAIN]);
    assert!(spirv("x.spv", &a.end(), &FrontOptions::default()).unwrap_err().to_string().contains("calls itself"));
}

/// Ten thousand modules with words changed, dropped and doubled: an error or a sound program, and soon.
#[test]
fn mutated_modules() {
    let seeds: Vec<Vec<u8>> = [
        "dowhile.spv",
        "arr2d.spv",
        "shortcircuit.spv",
        "swspv.spv",
        "sharedvec.spv",
        "fetchoff.spv",
        "do_continue.spv",
        "damaged_sizes.spv",
        "texels.spv",
        "lone.spv",
        "surface.spv",
    ]
    .map(file)
    .into();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n.max(1) as u64) as usize
    };
    let (mut taken, mut longest) = (0, Duration::ZERO);
    for round in 0..10_000 {
        let mut words: Vec<u32> =
            seeds[round % seeds.len()].chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        for _ in 0..1 + random(4) {
            let at = 5 + random(words.len() - 5);
            match random(6) {
                0 => words[at] ^= 1 << random(32),
                1 => words[at] = random(100) as u32,
                2 => words[at] = words[5 + random(words.len() - 5)],
                3 => words[at] = u32::MAX >> random(32),
                4 => words.truncate(at.max(20)),
                _ => {
                    let end = (at + random(12)).min(words.len());
                    let part = words[at..end].to_vec();
                    words.splice(at..at, part);
                }
            }
        }
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let start = Instant::now();
        if let Ok(m) = spirv("m.spv", &bytes, &FrontOptions::default()) {
            checked(m);
            taken += 1;
        }
        longest = longest.max(start.elapsed());
    }
    println!("{taken} of 10000 are still programs; the longest took {longest:?}");
    assert!(taken > 100 && taken < 9_900);
}
