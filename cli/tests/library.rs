//! The library as other programs use it: modules that they build by hand, wrong ones among them.
#![allow(clippy::unwrap_used)]

use retroshade::ir::types::{F32, I32};
use retroshade::ir::{Binding, Block, Builder, Builtin, FuncId, Imm, InstData, IoDecl, MemRef, Module, Opcode, Output, Stage, Value};
use retroshade::{CompileError, Options};

/// A vertex program in which `wrong` does something before it returns.
fn vertex<T>(wrong: impl FnOnce(&mut Builder) -> T) -> Module {
    let mut m = Module::new("t", Stage::Vertex);
    m.outputs.push(IoDecl::new("position", F32.with_lanes(4), Binding::Builtin(Builtin::Position)));
    let b = m.main_mut().add_block();
    let mut builder = Builder::new(m.main_mut(), b);
    wrong(&mut builder);
    builder.ret(&[]);
    m
}

/// What hands can get wrong, and the rule that it breaks.
fn invalid() -> Vec<(&'static str, Module)> {
    let raw = |op, args: &[Value], imm| InstData::new(op, args, imm);
    let mut all = vec![
        (
            "V0021",
            vertex(|b| {
                let one = b.iconst(I32, 1);
                let two = b.fconst(F32, 2.0);
                b.push(raw(Opcode::Fadd, &[one, two], Imm::None), &[F32]);
            }),
        ),
        ("V0010", vertex(|b| b.push(raw(Opcode::Fneg, &[Value::from_u32(99)], Imm::None), &[F32]))),
        ("V0020", vertex(|b| b.push(raw(Opcode::Fma, &[], Imm::None), &[F32]))),
        (
            "V0022",
            vertex(|b| {
                let x = b.fconst(F32, 1.0);
                b.push(raw(Opcode::Fneg, &[x], Imm::None), &[F32.with_lanes(3)]);
            }),
        ),
        ("V0023", vertex(|b| b.push(raw(Opcode::Const, &[], Imm::None), &[F32]))),
        (
            "V0031",
            vertex(|b| {
                let x = b.fconst(F32, 1.0);
                b.store(MemRef::Output(Output::from_u32(0)), 0, x, None);
            }),
        ),
        (
            "V0032",
            vertex(|b| {
                let x = b.fconst(F32, 1.0);
                b.store(MemRef::Output(Output::from_u32(7)), 0, x, None);
            }),
        ),
        ("V0003", vertex(|b| b.jump(Block::from_u32(40), &[]))),
        ("V0002", vertex(|b| b.ret(&[]))),
        (
            "V0050",
            vertex(|b| {
                let x = b.fconst(F32, 1.0);
                b.push(raw(Opcode::Ddx, &[x], Imm::None), &[F32]);
            }),
        ),
        ("V0060", vertex(|b| b.effect(Opcode::Call, &[], Imm::Func(FuncId::from_u32(5))))),
        ("V0001", Module::new("empty", Stage::Vertex)),
    ];
    let mut twice = vertex(|_| {});
    let first = twice.main().layout[0];
    twice.main_mut().layout.push(first);
    all.push(("V0012", twice));
    let mut nowhere = vertex(|_| {});
    nowhere.entry = FuncId::from_u32(3);
    all.push(("V0012", nowhere));
    all
}

#[test]
fn invalid_modules_are_refused_with_their_place_on_every_target() {
    for isa in retroshade::targets() {
        for (rule, m) in invalid() {
            for result in [isa.compile(&m, &Options::default()).map(drop), isa.legalise(&m, &Options::default()).map(drop)] {
                let Err(CompileError::Invalid(d)) = result else { panic!("{}: {rule}: {result:?}", isa.name()) };
                let found = d.iter().find(|d| d.code == rule).unwrap_or_else(|| panic!("{}: {rule}: {d:?}", isa.name()));
                let placed = found.message.contains("block0") || found.message.contains("entry");
                assert!(placed, "{}: no place in `{}`", isa.name(), found.message);
            }
        }
    }
}

#[test]
fn a_place_in_a_text_is_kept() {
    let text = "shader vertex \"t\"\nblock0:\n    v0 = iconst.i32 1\n    v1 = fneg v0\n    return\n";
    let m = retroshade::parse("a.ir", text).unwrap();
    for isa in retroshade::targets() {
        let Err(CompileError::Invalid(d)) = isa.compile(&m, &Options::default()) else { panic!("{}", isa.name()) };
        assert_eq!(m.sources.line_column(d[0].span.file, d[0].span.start), Some((4, 5)));
    }
}
