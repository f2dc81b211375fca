//! The programs beside the main one do what it does: the export stage's outputs in the ring, attributes by clauses of the
//! program's own, the copy program's exports. The fetch shader runs whenever a vertex program is simulated.
#![allow(clippy::unwrap_used)]

use retroshade_ir::{Binding, Builtin, Module, ShaderEnv, Stage};
use retroshade_lower::testing::{Profile, default_options, random_program};
use retroshade_lower::{CompiledShader, SimError};
use retroshade_r700::abi::{Abi, Platform, Role};
use retroshade_r700::isa::program::{Clause, Program, words_of};
use retroshade_r700::isa::word::Group;
use retroshade_r700::{container, sim};

/// Random programs of a stage that compile.
fn programs(stage: Stage, count: u64) -> impl Iterator<Item = (u64, Module, ShaderEnv, CompiledShader)> {
    let profile = Profile::r700().only(&[stage]);
    (0..count).filter_map(move |seed| {
        let (m, env) = random_program(&profile, seed);
        let s = retroshade_r700::isa().compile(&m, &default_options(seed)).ok()?;
        Some((seed, m, env, s))
    })
}

fn section(s: &CompiledShader, name: &str) -> Program {
    let code = container::section(&s.container, name).unwrap_or_else(|| panic!("no section {name}"));
    Program::decode(&words_of(code).unwrap()).unwrap()
}

#[test]
fn vertex_programs_in_other_roles() {
    let isa = retroshade_r700::isa();
    let (mut rings, mut own) = (0, 0);
    for (seed, _, env, s) in programs(Stage::Vertex, 60) {
        let expected = isa.simulate(&s, &env).unwrap();
        for (name, role) in [(".r700.es", Role::ExportStage), (".r700.direct", Role::OwnFetches)] {
            let abi = Abi::in_role(&s.legal, role, Platform::Object).unwrap();
            let got = match sim::run(&section(&s, name), None, &s.legal, &abi, &env) {
                Err(SimError::BadEnv(_)) => continue,
                got => got.unwrap_or_else(|e| panic!("seed {seed}, {name}: {e}")),
            };
            *(if role == Role::ExportStage { &mut rings } else { &mut own }) += 1;
            for (lane, (x, y)) in got.invocations.iter().zip(&expected.invocations).enumerate() {
                for (k, d) in s.legal.outputs.values().enumerate() {
                    // The rings hold what a geometry program can read.
                    let passed = matches!(d.binding, Binding::Location(_) | Binding::Builtin(Builtin::Position | Builtin::PointSize));
                    if role == Role::OwnFetches || passed {
                        assert_eq!(x.outputs[k], y.outputs[k], "seed {seed}, {name}, lane {lane}, output {}", d.name);
                    }
                }
            }
        }
    }
    assert!(rings > 40 && own > 20, "{rings} {own}");
}

/// The groups of a program.
fn groups(p: &Program) -> Vec<Group> {
    let alu = p.clauses.values().filter_map(|c| if let Clause::Alu(groups) = c { Some(groups) } else { None });
    alu.flatten().map(|(_, g)| g.clone()).collect()
}

#[test]
fn the_export_stage_is_the_main_program_and_moves_to_lanes() {
    let compiled = |colour: &str| {
        let source = format!(
            "shader vertex \"sum\"\ninput %place : f32x4 @location(0)\ninput %tint : f32x4 @location(1)\n\
             output %position : f32x4 @position\noutput %color : f32x4 @location(0)\nblock0:\n    v0 = input.f32x4 %place\n    \
             v1 = input.f32x4 %tint\n    v2 = fadd v0, v1\n    output %position, v2\n{colour}    output %color, v9\n    return\n"
        );
        let module = retroshade_ir::text::parse("sum.ir", &source).unwrap();
        let s = retroshade_r700::isa().compile(&module, &default_options(0)).unwrap();
        (groups(&section(&s, ".text")), groups(&section(&s, ".r700.es")))
    };
    let (main, ring) = compiled("    v9 = fmul v2, v1\n");
    assert_eq!(ring, main, "everything is in its lane");
    // Two lanes that change places and a constant one take a group.
    let swapped = "    v3 = extract v1, 0\n    v4 = extract v1, 1\n    v5 = extract v1, 2\n    v6 = fconst.f32 1.0\n    \
                   v9 = build v4, v3, v5, v6\n";
    let (main, ring) = compiled(swapped);
    assert_eq!(ring[..main.len()], main);
    assert_eq!(ring.len(), main.len() + 1);
    let lanes: Vec<u8> = ring[main.len()].slots.iter().map(|s| s.chan).collect();
    assert_eq!(lanes, [0, 1, 3]);
}

#[test]
fn copy_programs_export_the_ring() {
    let isa = retroshade_r700::isa();
    let mut vertices = 0;
    for (seed, _, env, s) in programs(Stage::Geometry, 40) {
        let abi = Abi::of(&s.legal, Platform::Object).unwrap();
        let result = isa.simulate(&s, &env).unwrap();
        let all: Vec<Vec<Vec<u32>>> = result.invocations.iter().flat_map(|i| &i.primitives).flatten().cloned().collect();
        let got = sim::copied(&section(&s, ".r700.copy"), &s.legal, &abi, &all).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert_eq!(got, all, "seed {seed}");
        vertices += all.len();
    }
    assert!(vertices > 300, "{vertices}");
}

#[test]
fn every_program_of_a_container_is_checked() {
    for (seed, m, _, s) in programs(Stage::Vertex, 6) {
        assert!(retroshade_r700::isa().lint(&s.container, &Default::default()).unwrap().is_empty(), "seed {seed}");
        let registers = std::str::from_utf8(container::section(&s.container, ".r700.es.registers").unwrap()).unwrap();
        assert!(
            ["SQ_PGM_RESOURCES_ES", "SQ_ESGS_RING_ITEMSIZE", "VGT_VERTEX_REUSE_BLOCK_CNTL", "VGT_HOS_REUSE_DEPTH"]
                .iter()
                .all(|n| registers.contains(n)),
            "{}",
            m.name
        );
    }
}

/// What the export stage writes is what a geometry program of the same interface reads.
#[test]
fn both_sides_of_a_ring_agree() {
    let vertex = "shader vertex \"v\"\ninput %a : f32x4 @location(0)\noutput %s : f32 @point_size\noutput %c : f32x2 @location(3)\noutput %p : f32x4 @position\noutput %b : f32x3 @location(1)\nblock0:\n    v0 = input.f32x4 %a\n    v1 = extract v0, 0\n    v2 = shuffle v0, v0, [1, 2]\n    v3 = shuffle v0, v0, [3, 2, 1]\n    output %s, v1\n    output %c, v2\n    output %p, v0\n    output %b, v3\n    return\n";
    let geometry = "shader geometry \"g\"\ngeometry points -> points max_vertices(1)\ninput %s : f32[1] @point_size\ninput %c : f32x2[1] @location(3)\ninput %p : f32x4[1] @position\ninput %b : f32x3[1] @location(1)\noutput %o : f32x4 @position\nblock0:\n    v0 = input.f32x4 %p\n    output %o, v0\n    emit_vertex\n    return\n";
    let parse = |t: &str| retroshade_ir::parse("ring", t).unwrap_or_else(|e| panic!("{e}\n{t}"));
    let (v, g) = (parse(vertex), parse(geometry));
    let writes = Abi::of(&v, Platform::Object).unwrap();
    let reads = Abi::of(&g, Platform::Object).unwrap();
    let slots = writes.export_slots(&v);
    for (k, d) in g.inputs.values().enumerate() {
        let n = v.outputs.values().position(|o| o.binding == d.binding).unwrap();
        let (kind, base, _) = writes.output(&v, n, 0);
        assert_eq!(reads.ring_input(k), slots.iter().find(|s| s.0 == (kind, base)).map(|s| s.1), "{}", d.name);
    }
    assert_eq!((reads.ring_input_size(), writes.export_size(&v)), (6, 6));
    assert_eq!(slots.iter().map(|s| s.1).collect::<Vec<_>>(), [0, 1, 3, 5], "position, point size, locations 1 and 3");
    // A program that reads less finds what it reads where it was.
    let less = parse(
        "shader geometry \"l\"\ngeometry points -> points max_vertices(1)\ninput %c : f32x2[1] @location(3)\noutput %o : f32x4 @position\nblock0:\n    v0 = input.f32x2 %c\n    v1 = shuffle v0, v0, [0, 1, 0, 1]\n    output %o, v1\n    emit_vertex\n    return\n",
    );
    assert_eq!(Abi::of(&less, Platform::Object).unwrap().ring_input(0), Some(5));
}
