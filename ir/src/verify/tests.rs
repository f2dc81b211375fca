//! A case for every rule: the smallest text (or hand-made module) that breaks it, with the place of the report.
use super::*;
use crate::module::Stage;
use crate::types::{F32, I32};
use crate::{Builder, InstData, parse};

/// Text after the `shader STAGE "t"` line, the stage, and what is reported as `line:column code`.
const CASES: &[(&str, &str, &str)] = &[
    ("vertex", "block0:\n v0 = iconst.i32 1", "3:2 V0001"),
    ("vertex", "block0:\n return\n return", "3:2 V0002"),
    ("vertex", "block0:\n jump block1\nblock1(v0: f32):\n return", "3:2 V0004"),
    ("vertex", "block0:\n v1 = iconst.i32 1\n jump block1(v1)\nblock1(v0: f32):\n return", "4:2 V0005"),
    ("vertex", "block0:\n jump block1\nblock1:\n jump block0", "5:2 V0006"),
    ("vertex", "block0(v0: f32):\n return", "3:2 V0007"),
    ("vertex", "block0:\n return\nblock1:\n return", "5:2 V0008"),
    ("vertex", "block0:\n v0 = undef.i1\n br_if v0, block1, block2\nblock1:\n jump block2\nblock2:\n jump block1", "6:2 V0009"),
    ("vertex", "block0:\n v1 = fneg v0\n v0 = fconst.f32 1\n return", "3:2 V0011"),
    (
        "vertex",
        "block0:\n v0 = undef.i1\n br_if v0, block1, block2\nblock1:\n v1 = fconst.f32 1\n jump block3\nblock2:\n jump block3\nblock3:\n v2 = fneg v1\n return",
        "11:2 V0011",
    ),
    ("vertex", "block0:\n v0 = fconst.f32 1\n v1 = fadd v0\n return", "4:2 V0020"),
    ("vertex", "block0:\n v0 = iconst.i32 1\n v1 = fneg v0\n return", "4:2 V0021"),
    ("vertex", "block0:\n v0 = iconst.i32 1\n v1 = fconst.f32 1\n v2 = iadd v0, v1\n return", "5:2 V0021"),
    ("vertex", "block0:\n v0 = fconst.f32 1\n v1 = fneg.f32x2 v0\n return", "4:2 V0022"),
    ("vertex", "block0:\n v0 = fconst.f32x2 1\n v1 = extract v0, 2\n return", "4:2 V0024"),
    ("vertex", "block0:\n v0 = fconst.f32x2 1\n v1 = shuffle v0, v0, [0, 4]\n return", "4:2 V0024"),
    ("vertex", "block0:\n v0 = iconst.i32 1\n switch v0, [1: block1, 1: block1], block1\nblock1:\n return", "4:2 V0025"),
    ("vertex", "block0:\n v0 = iconst.i1 2\n return", "3:2 V0026"),
    ("vertex", "input %a : f32[3] @location(0)\nblock0:\n v0 = input.f32 %a[3]\n return", "4:2 V0030"),
    ("vertex", "output %a : f32x4 @location(0)\nblock0:\n v0 = fconst.f32x2 1\n output %a, v0\n return", "5:2 V0031"),
    ("compute", "storage %b : f32[] @binding(0) @access(read)\nblock0:\n v0 = fconst.f32 1\n storage_store %b, v0\n return", "5:2 V0033"),
    ("fragment", "texture %t : 2d f32 @binding(0)\nblock0:\n v0 = fconst.f32 1\n v1 = tex.f32x4 sample %t, v0\n return", "5:2 V0040"),
    (
        "fragment",
        "texture %t : 2d f32 @binding(0)\nblock0:\n v0 = fconst.f32x2 1\n v1 = tex.f32x4 gather component(4) %t, v0\n return",
        "5:2 V0041",
    ),
    (
        "fragment",
        "texture %t : 2d f32 @binding(0)\nblock0:\n v0 = fconst.f32x2 1\n v1 = tex.f32x4 sample offset(8, 0, 0) %t, v0\n return",
        "5:2 V0041",
    ),
    (
        "fragment",
        "texture %t : 2d f32 @binding(0)\nblock0:\n v0 = fconst.f32x2 1\n v1 = tex.f32x4 gather offset(0, -33, 0) %t, v0\n return",
        "5:2 V0041",
    ),
    ("vertex", "block0:\n v0 = iconst.i1 true\n discard v0\n return", "4:2 V0050"),
    ("vertex", "shared %s : f32\nblock0:\n return", "2:1 V0051"),
    ("vertex", "input %s : f32x4 @position\nblock0:\n return", "2:1 V0052"),
    ("vertex", "input %s : f32 @location(1)\ninput %t : f32 @location(1)\nblock0:\n return", "3:1 V0053"),
    ("vertex", "uniform %s : f32 @binding(1) @offset(2)\nblock0:\n return", "2:1 V0054"),
    ("vertex", "uniform %s : f32[0] @binding(1)\nblock0:\n return", "2:1 V0054"),
    ("geometry", "geometry triangles -> points max_vertices(1)\ninput %s : f32[2] @location(1)\nblock0:\n return", "3:1 V0055"),
    ("vertex", "input %\"a\\0b\" : f32 @location(1)\nblock0:\n return", "2:1 V0056"),
    ("vertex", "block0:\n call @f()\n return\nfunc @f() {\nblock0:\n call @f()\n return\n}", "7:2 V0061"),
    ("vertex", "block0:\n v0 = fconst.f32 1\n return v0", "4:2 V0062"),
    ("geometry", "geometry triangles -> points max_vertices(1)\nblock0:\n emit_vertex 4\n return", "4:2 V0063"),
    ("vertex", "block0:\n v0 = fconst.f32 1\n v1 = relaxed fcmp olt v0, v0\n return", "4:2 V0064"),
    ("vertex", "block0:\n v0 = fconst.f32 1\n v1 = ext.f32 pica.rcp v0\n return", "4:2 V0070"),
];

fn report(m: &Module) -> Vec<String> {
    let errors = verify(m).err().unwrap_or_default();
    let at = |d: &Diagnostic| m.sources.line_column(d.span.file, d.span.start).unwrap_or((0, 0));
    errors.iter().map(|d| format!("{}:{} {}", at(d).0, at(d).1, d.code)).collect()
}

#[test]
fn every_case_is_reported_once_at_its_place() {
    for (stage, text, want) in CASES {
        let text = format!("shader {stage} \"t\"\n{text}\n");
        let m = parse("t", &text).unwrap_or_else(|e| panic!("{text}\n{:?}", e.diagnostics));
        assert_eq!(report(&m), [*want], "{text}");
    }
}

fn vertex() -> (Module, Block) {
    let mut m = Module::new("t", Stage::Vertex);
    let b = m.main_mut().add_block();
    (m, b)
}

/// What no text can express.
fn hand_made() -> Vec<(&'static str, Module)> {
    let mut out = Vec::new();
    let (mut m, b) = vertex();
    Builder::new(m.main_mut(), b).jump(Block::from_u32(7), &[]);
    out.push(("V0003", m));
    let (mut m, b) = vertex();
    let mut builder = Builder::new(m.main_mut(), b);
    let lost = builder.func.make_inst(InstData::new(Opcode::Undef, &[], Imm::None), &[F32], Span::NONE);
    let lost = builder.func.insts[lost].results[0];
    builder.ins(Opcode::Fneg, &[lost]);
    builder.ret(&[]);
    out.push(("V0010", m));
    let (mut m, b) = vertex();
    let mut builder = Builder::new(m.main_mut(), b);
    builder.typed(Opcode::Const, I32, &[], Imm::None);
    builder.ret(&[]);
    out.push(("V0023", m));
    let (mut m, b) = vertex();
    let mut builder = Builder::new(m.main_mut(), b);
    builder.load(F32, crate::MemRef::Uniform(Uniform::from_u32(3)), 0, None);
    builder.ret(&[]);
    out.push(("V0032", m));
    let (mut m, b) = vertex();
    let entry = m.entry;
    let mut builder = Builder::new(m.main_mut(), b);
    builder.effect(Opcode::Call, &[], Imm::Func(entry));
    builder.ret(&[]);
    out.push(("V0060", m));
    for wrong in [Hand::BlockTwice, Hand::NoBlock, Hand::InstTwice, Hand::NoInst, Hand::NoValue, Hand::NoEntry, Hand::FiveLanes] {
        out.push(("V0012", wrong.module()));
    }
    out
}

/// Tables that are wrong.
enum Hand {
    BlockTwice,
    NoBlock,
    InstTwice,
    NoInst,
    NoValue,
    NoEntry,
    FiveLanes,
}

impl Hand {
    fn module(self) -> Module {
        let (mut m, b) = vertex();
        let f = m.main_mut();
        let ty = if let Hand::FiveLanes = self { F32.with_lanes(5) } else { F32 };
        let v = Builder::new(f, b).constant(ty, [0; 4]);
        Builder::new(f, b).ret(&[]);
        match self {
            Hand::BlockTwice => f.layout.push(b),
            Hand::NoBlock => f.layout.push(Block::from_u32(9)),
            Hand::InstTwice => f.blocks[b].insts.insert(0, Inst::from_u32(0)),
            Hand::NoInst => f.blocks[b].insts.insert(0, Inst::from_u32(9)),
            Hand::NoValue => f.insts[Inst::from_u32(0)].results[0] = Value::from_u32(9),
            Hand::NoEntry => m.entry = FuncId::from_u32(3),
            Hand::FiveLanes => assert_eq!(f.ty(v).lanes, 5),
        }
        m
    }
}

#[test]
fn a_place_without_a_text_is_told_in_words() {
    let (mut m, b) = vertex();
    let mut builder = Builder::new(m.main_mut(), b);
    let one = builder.iconst(I32, 1);
    builder.ins(Opcode::Fneg, &[one]);
    builder.ret(&[]);
    let errors = verify(&m).unwrap_err();
    assert_eq!(
        errors[0].message,
        "operand 0 of `fneg` is i32; it must be a float, or a vector of it (instruction 1 of block0 of the entry)"
    );
}

#[test]
fn hand_made_modules_are_reported() {
    for (code, m) in hand_made() {
        assert_eq!(report(&m), [format!("0:0 {code}")]);
    }
}

#[test]
fn every_rule_has_a_case() {
    let hand = hand_made();
    for (rule, _) in RULES {
        let text = CASES.iter().any(|c| c.2.ends_with(rule));
        assert!(text || hand.iter().any(|h| h.0 == *rule), "no case for {rule}");
    }
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    // 100,000 ifs inside each other.
    let n = 100_000;
    let mut text = String::from("shader vertex \"deep\"\nblock0:\n v0 = undef.i1\n jump block1\n");
    for k in 1..=n {
        text.push_str(&format!("block{k}:\n br_if v0, block{}, block{}\n", k + 1, n * 2 + 2 - k));
    }
    text.push_str(&format!("block{}:\n jump block{}\n", n + 1, n + 2));
    for k in n + 2..=2 * n {
        text.push_str(&format!("block{k}:\n jump block{}\n", k + 1));
    }
    text.push_str(&format!("block{}:\n return\n", 2 * n + 1));
    let m = parse("deep", &text).unwrap_or_else(|e| panic!("{:?}", e.diagnostics));
    assert_eq!(report(&m), [""; 0]);
    assert_eq!(crate::print(&parse("again", &crate::print(&m)).unwrap()), crate::print(&m));
}
