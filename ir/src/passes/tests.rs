//! Small programs through single passes and the whole pipeline; the interpreter's answer must not change.

use super::*;
use crate::interp;
use crate::{Module, Reference, ShaderEnv, parse, print};

fn module(text: &str) -> Module {
    match parse("test.ir", text) {
        Ok(m) => m,
        Err(e) => panic!("{e:?}"),
    }
}

fn env(m: &Module) -> ShaderEnv {
    let mut seed = 1u32;
    let mut word = |float: bool| {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        if float { ((seed >> 8) as f32 / 4194304.0 - 2.0).to_bits() } else { (seed >> 20) & 15 }
    };
    let mut env = ShaderEnv { workgroups: [1; 3], ..ShaderEnv::default() };
    for _ in 0..8 {
        let inputs = m.inputs.values().map(|d| (0..d.count * u32::from(d.ty.lanes)).map(|_| word(d.ty.is_float())).collect()).collect();
        env.invocations.push(crate::InvocationInputs { inputs });
    }
    env.uniforms =
        m.uniforms.values().map(|d| (0..d.elements() * u32::from(d.ty.lanes)).map(|_| word(d.ty.is_float())).collect()).collect();
    env
}

fn same(text: &str, options: &PassOptions) -> Module {
    let before = module(text);
    let env = env(&before);
    let expected = interp::run(&before, &env, &Reference);
    let mut after = before.clone();
    pipeline(&mut after, options, &mut |name, m| {
        let got = interp::run(m, &env, &Reference);
        assert_eq!(expected, got, "after {name}:\n{}", print(m));
    });
    after
}

const LOOP: &str = r#"
shader vertex "loop"
input %x : f32x4 @location(0)
uniform %u : f32x4[8] @binding(0)
output %o : f32x4 @location(0)
local %t : f32x4[3]
block0:
    v0 = input.f32x4 %x
    v1 = iconst.i32 0
    v2 = fconst.f32x4 0.0
    local_store %t[1], v2
    jump block1(v1)
block1(v3: i32):
    v4 = iconst.i32 4
    v5 = icmp slt v3, v4
    br_if v5, block2, block3
block2:
    v6 = uniform.f32x4 %u[v3]
    v7 = local_load.f32x4 %t[1]
    v8 = fmul v6, v0
    v9 = fadd v7, v8
    local_store %t[1], v9
    v10 = iconst.i32 1
    v11 = iadd v3, v10
    jump block1(v11)
block3:
    v12 = local_load.f32x4 %t[1]
    v13 = extract v12, 0
    v14 = fconst.f32 0.0
    v15 = fcmp ogt v13, v14
    br_if v15, block4, block5
block4:
    v16 = fneg v12
    output %o, v16
    jump block6
block5:
    output %o, v12
    jump block6
block6:
    return
"#;

#[test]
fn a_loop_comes_round_as_often_as_its_counter_says() {
    let m = module(LOOP);
    let func = m.functions.values().next().expect("a function");
    let trips: Vec<_> = unroll::trip_counts(func, &Reference, 100).into_values().collect();
    assert_eq!(trips, [(4, true)]);
}

#[test]
fn a_loop_over_a_local_array_becomes_straight_line_code() {
    let m = same(LOOP, &PassOptions::default());
    assert_eq!(m.main().layout.len(), 1, "{}", print(&m));
    assert!(!m.main().ordered().any(|(_, i)| m.main().insts[i].op == crate::Opcode::LocalLoad));
    let m = same(LOOP, &PassOptions { scalarise: true, unroll_fuel: 0, ..PassOptions::default() });
    assert!(m.main().layout.len() > 1);
    let m = same(LOOP, &PassOptions { level: 0, ..PassOptions::default() });
    assert!(m.main().layout.len() > 1);
}

#[test]
fn contraction_makes_a_chain() {
    let mut m = module(LOOP);
    pipeline(&mut m, &PassOptions { fp_contract: FpContract::Fmad, ..PassOptions::default() }, &mut |_, _| {});
    let fmads = m.main().ordered().filter(|(_, i)| m.main().insts[*i].op == crate::Opcode::Fmad).count();
    assert!(fmads >= 3, "{}", print(&m));
}

fn count(m: &Module, op: crate::Opcode) -> usize {
    m.main().ordered().filter(|(_, i)| m.main().insts[*i].op == op).count()
}

const INEXACT: &str = r#"
shader vertex "inexact"
input %x : f32x4 @location(0)
output %o : f32x4 @location(0)
block0:
    v0 = input.f32x4 %x
    v1 = extract v0, 0
    v2 = extract v0, 1
    v3 = fconst.f32 0.0
    v4 = fmul v1, v3
    v5 = fadd v2, v4
    v6 = fsqrt v2
    v7 = fdiv v5, v6
    v8 = fconst.f32 3.0
    v9 = fdiv v7, v8
    v10 = splat.f32x4 v9
    output %o, v10
    return
"#;

#[test]
fn inexact_algebra_needs_contraction() {
    let mut m = module(INEXACT);
    pipeline(&mut m, &PassOptions { fp_contract: FpContract::Fmad, ..PassOptions::default() }, &mut |_, _| {});
    assert_eq!(
        (count(&m, crate::Opcode::Fdiv), count(&m, crate::Opcode::Frsqrt), count(&m, crate::Opcode::Fadd)),
        (0, 1, 0),
        "{}",
        print(&m)
    );
    let m = same(INEXACT, &PassOptions::default());
    assert_eq!((count(&m, crate::Opcode::Fdiv), count(&m, crate::Opcode::Fadd)), (2, 1), "{}", print(&m));
}

const INDEXED: &str = r#"
shader vertex "indexed"
input %i : i32 @location(0)
uniform %u : f32x4[4] @binding(0)
output %o : f32x4 @location(0)
local %t : f32x4[2]
block0:
    v0 = input.i32 %i
    v1 = iconst.i32 1
    v2 = and v0, v1
    v3 = isub v2, v1
    v4 = uniform.f32x4 %u[v3 + 1]
    v5 = uniform.f32x4 %u[v0]
    local_store %t[0], v4
    local_store %t[1], v5
    v6 = local_load.f32x4 %t[v2]
    v7 = fmul v6, v5
    v8 = fadd v7, v4
    output %o, v8
    return
"#;

/// Runs passes by name, as `test opt` does.
fn by_names(text: &str, names: &[&str]) -> Module {
    let before = module(text);
    let env = env(&before);
    let mut m = before.clone();
    for n in names {
        by_name(n).map(|p| (p.run)(&mut m, &PassOptions::default()));
    }
    assert_eq!(interp::run(&before, &env, &Reference), interp::run(&m, &env, &Reference), "{}", print(&m));
    m
}

#[test]
fn clamping_keeps_good_indices() {
    let m = by_names(INDEXED, &["robust"]);
    assert_eq!(count(&m, crate::Opcode::Umin), 3, "{}", print(&m));
}

#[test]
fn passes_by_name_have_useful_defaults() {
    let m = by_names(INDEXED, &["local_select", "promote", "contract", "dce"]);
    assert_eq!((count(&m, crate::Opcode::LocalLoad), count(&m, crate::Opcode::Fmad)), (0, 1), "{}", print(&m));
}

#[test]
fn compacting_forgets_what_nothing_names_and_keeps_the_order() {
    let mut m = same(LOOP, &PassOptions::default());
    let (before, made) = (m.clone(), m.main().insts.len());
    m.compact();
    assert_eq!(print(&m), print(&before));
    assert!(crate::verify(&m).is_ok());
    let f = m.main();
    assert!(f.insts.len() == f.inst_count() && f.insts.len() < made, "{} of {made}", f.insts.len());
    // Instructions and values that stay are numbered as they were, the ones before the others.
    let order = |m: &Module| {
        let mut all: Vec<_> = m.main().ordered().map(|(_, i)| i).enumerate().collect();
        all.sort_by_key(|(_, i)| *i);
        all.into_iter().map(|(n, _)| n).collect::<Vec<_>>()
    };
    assert_eq!(order(&m), order(&before));
}

/// What passes remember spares them work and changes nothing else: with it and without it they do the same, step by step.
#[test]
fn memory_changes_nothing() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    let mut paths: Vec<_> = std::fs::read_dir(folder).expect("examples").map(|e| e.expect("a file").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "ir"));
    paths.sort();
    assert!(paths.len() > 4);
    let mut spared = 0;
    for path in paths {
        let mut with = module(&std::fs::read_to_string(&path).expect("a text"));
        let mut without = with.clone();
        let options = PassOptions { fp_contract: FpContract::Fmad, local_select: 8, ..PassOptions::default() };
        let rounds =
            ["inline", "promote", "unroll", "local_select", "bounds", "if_convert", "scalarise", "licm", "modifiers", "dot", "contract"];
        for name in rounds {
            for name in [name, "simplify", "relax", "sccp", "gvn", "simplify_cfg", "dce", "simplify", "relax"] {
                without.functions.values_mut().for_each(|f| f.memory.clear());
                spared += with.functions.values().map(|f| f.memory.settled()).sum::<usize>();
                let changed = [&mut with, &mut without].map(|m| sequence(m, &[name], &options));
                assert_eq!(changed[0], changed[1], "{name} in {}", path.display());
                assert_eq!(print(&with), print(&without), "{name} in {}", path.display());
            }
            with.compact();
            without.compact();
        }
    }
    assert!(spared > 0);
}

/// What changes in front of an operand is seen from the instruction that was left as it was.
#[test]
fn memory_sees_changes_in_front_of_operands() {
    use crate::types::F32;
    use crate::{Builder, Function, Opcode};
    let mut f = Function::new("f");
    let block = f.add_block();
    let p = f.add_param(block, F32);
    let mut b = Builder::new(&mut f, block);
    let sum = b.ins(Opcode::Fadd, &[p, p]);
    let negative = b.ins(Opcode::Fneg, &[sum]);
    b.ret(&[negative]);
    assert!(!simplify::run(&mut f, &Reference, true));
    assert!(f.memory.settled() > 0);
    let made = f.def_inst(sum).expect("an instruction");
    f.insts[made].op = Opcode::Fneg;
    f.insts[made].args.truncate(1);
    assert!(simplify::run(&mut f, &Reference, true));
    let last = f.terminator(block).expect("an end");
    assert_eq!(f.insts[last].args[..], [p]);
}
