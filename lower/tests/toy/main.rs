//! A fifth machine: the proof that the shared parts make a target. Nothing outside this folder knows it. It goes from IR to
//! bytes, to text and back, and through a simulator; `docs/adding-a-target.md` walks through it.
//!
//! ```text
//!   legal: passes, RULES ──▶ select: patterns ──▶ VCode ──place──▶ emit: Layout ──▶ bytes ──decode──▶ text, lint, sim
//! ```
#![allow(clippy::unwrap_used)]

mod emit;
mod isa;
mod legal;
mod select;
mod sim;
mod target;

use retroshade_ir::Stage;
use retroshade_lower::testing::{Profile, check_random, program_count, random_program};
use retroshade_lower::{Options, TargetIsa, TextOptions, pattern};
use target::Toy;

/// What random programs may use: everything that a vertex program of a machine without textures, arrays and f16 can.
fn profile() -> Profile {
    Profile { ints: true, switches: true, locals: false, mantissa: 23, allow: |_| true, ..Profile::pica().only(&[Stage::Vertex]) }
}

#[test]
fn random_programs() {
    let s = check_random(&Toy, &profile(), 0..program_count(600)).unwrap_or_else(|e| panic!("{e}"));
    println!("{s:?}");
    assert!(s.agree * 10 >= (s.refused + s.limited + s.agree) * 9, "{s:?}");
    assert!(s.exact > 20, "{s:?}");
}

#[test]
fn text_goes_both_ways_and_the_code_is_clean() {
    for seed in 0..60 {
        let (module, _) = random_program(&profile(), seed);
        let Ok(shader) = Toy.compile(&module, &Options::default()) else { continue };
        let o = TextOptions::default();
        assert_eq!(Toy.assemble(&Toy.disassemble(&shader.code, &o).unwrap(), &o).unwrap().code, shader.code);
        assert_eq!(Toy.lint(&shader.code, &o).unwrap(), vec![]);
        let line = shader.asm.lines().next().unwrap();
        assert_eq!(Toy.dis_line(&Toy.asm_line(line, &o).unwrap(), &o).unwrap(), line);
    }
}

#[test]
fn every_pattern_has_a_program() {
    let text = |seed| {
        let shader = Toy.compile(&random_program(&profile(), seed).0, &Options::default()).ok()?;
        String::from_utf8(shader.extra["mir"].clone()).ok()
    };
    let texts: Vec<String> = (0..120).filter_map(text).collect();
    assert_eq!(pattern::without_a_case(select::Lower::PATTERNS, &[], &texts), Vec::<&str>::new());
}

#[test]
fn what_the_machine_lacks_is_named() {
    let source = "shader vertex \"no\"\ninput %a : f32 @location(0)\noutput %o : f32 @location(0)\n\
                  block0:\n    v0 = input.f32 %a\n    v1 = fcvt.f16 v0\n    v2 = fcvt.f32 v1\n    output %o, v2\n    return\n";
    let module = retroshade_ir::parse("no.ir", source).unwrap_or_else(|e| panic!("{:?}", e.diagnostics));
    let e = Toy.compile(&module, &Options::default()).unwrap_err();
    assert_eq!((e.to_string().as_str(), e.exit_status()), ("error[Y0001]: this machine has no `fcvt`", 1));
    assert!(!e.diagnostics()[0].span.is_none(), "the error points at the source");
}

#[test]
fn every_stage_can_be_printed() {
    let options = Options { print_after: ["all".to_string()].into_iter().collect(), ..Options::default() };
    let (module, _) = random_program(&profile(), 1);
    let shader = Toy.compile(&module, &options).unwrap();
    let names: Vec<&str> = shader.dumps.iter().map(|d| d.0.as_str()).collect();
    assert!(["legal", "select", "place", "emit"].iter().all(|s| names.contains(s)), "{names:?}");
}

/// The book quotes the toy; what it quotes stands here, word for word.
#[test]
fn the_walk_through_is_made_of_this_machine() {
    let sources = [
        include_str!("emit.rs"),
        include_str!("isa.rs"),
        include_str!("legal.rs"),
        include_str!("select.rs"),
        include_str!("sim.rs"),
        include_str!("target.rs"),
        include_str!("main.rs"),
    ];
    let book = include_str!("../../../docs/adding-a-target.md");
    let mut blocks = book.split("```rust\n").skip(1).map(|b| b.split("```").next().unwrap()).peekable();
    assert!(blocks.peek().is_some());
    for b in blocks {
        // `…` stands for what the book leaves out.
        for part in b.split("…").map(str::trim).filter(|p| !p.is_empty()) {
            assert!(sources.iter().any(|s| s.contains(part)), "not in the toy:\n{part}");
        }
    }
    let lines: usize = sources.iter().map(|s| s.lines().count()).sum();
    assert!(lines <= 900, "{lines} lines");
}
