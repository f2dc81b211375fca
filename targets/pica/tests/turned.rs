//! Branches that are turned where the code is not like the module: conditions that are asked twice, marks that contradict each other, calls that
//! are left out.
#![allow(clippy::unwrap_used)]

use retroshade_ir::interp::{Detour, Limits, run_detour};
use retroshade_lower::testing::{Rng, random_env, same_results};
use retroshade_lower::validate::meaning::check;
use retroshade_lower::{BranchOrder, Cancel, CompiledShader, Course, Options, Turns};
use retroshade_pica::compile::compile_keeping;

/// Nobody needs what `@outer` gives, so that its calls are left out: the code comes to the branch of `@inner` once, the module three times.
const IDLE: &str = r#"shader vertex "idle"
input %a : f32x4 @location(0)
output %position : f32x4 @position
output %color : f32x4 @location(0)
block0:
    v0 = input.f32x4 %a
    output %position, v0
    v1 = extract v0, 0
    v2 = call @outer(v1)
    v3 = extract v0, 1
    v4 = call @outer(v3)
    v5 = fadd v1, v3
    v6, v7 = call @inner(v5)
    output %color, v7
    return

func @outer(v0: f32) -> f32 {
block0:
    v1 = fconst.f32 0.5
    v2 = fmul v0, v1
    v3, v4 = call @inner(v2)
    v5 = fadd v3, v0
    return v5
}

func @inner(v0: f32) -> f32, f32x4 {
block0:
    v1 = fcmp ule v0, v0
    br_if v1, block1, block2
block1:
    v2 = fconst.f32 0.0
    jump block3(v2)
block2:
    jump block3(v0)
block3(v3: f32):
    v4 = fconst.f32 -1.625
    v5 = splat.f32x4 v3
    return v4, v5
}
"#;

#[test]
fn visits_count_only_where_every_call_is_made() {
    let module = retroshade_ir::parse("idle.ir", IDLE).unwrap();
    let shader = compile_keeping(&module, &Options::default()).unwrap();
    assert_eq!(shader.legal.functions.len(), 3);
    check(retroshade_pica::isa(), &shader, &Cancel::default()).unwrap();
    assert!(shader.branches.is_empty(), "{:?}", shader.branches);
}

/// Runs module and code with each branch for itself taking each side, on its first visit and on all; gives how many branches there are.
fn turn_each(shader: &CompiledShader) -> usize {
    let isa = retroshade_pica::isa();
    let env = random_env(&shader.legal, 4, 8, &mut Rng::new(1));
    let run = isa.simulator(shader).unwrap();
    for (_, branch) in &shader.branches {
        for (side, visits) in [(0, 0..1), (1, 0..1), (0, 0..u32::MAX), (1, 0..u32::MAX)] {
            let mut detour = Detour::default();
            detour.send(*branch, visits.clone(), side);
            let Ok(want) = run_detour(&shader.legal, &env, isa.numerics(), &Limits::default(), None, &mut detour) else { continue };
            let turns = Turns::new(&shader.branches, detour.turned());
            let got = run(&env, Course { order: BranchOrder::Next, turns: Some(&turns) }).unwrap();
            same_results(&shader.legal, &want, &got).unwrap_or_else(|e| panic!("{branch:?} takes side {side} on visits {visits:?}: {e}"));
        }
    }
    shader.branches.len()
}

/// `block3` has two ways in, so that a mark says whether it is still to be done: both arms write the output where that is turned, or none.
const MARKED: &str = r#"shader vertex "marked"
input %a : f32x4 @location(0)
output %position : f32x4 @position
block0:
    v0 = input.f32x4 %a
    v1 = extract v0, 0
    v2 = fconst.f32 0.5
    v3 = fcmp ogt v1, v2
    br_if v3, block1, block3
block1:
    v4 = extract v0, 1
    v5 = fcmp ogt v4, v2
    br_if v5, block2, block3
block2:
    v6 = fmul v0, v0
    output %position, v6
    return
block3:
    v7 = fadd v0, v0
    output %position, v7
    return
"#;

/// LOOP counts the rounds; who leaves earlier takes another value along, behind a jump and a BREAKC that ask the same flags.
const LEFT: &str = r#"shader vertex "left"
input %a : f32x4 @location(0)
output %position : f32x4 @position
uniform %rows : f32x4[40] @binding(0)
block0:
    v0 = input.f32x4 %a
    v1 = iconst.i32 0
    v2 = iconst.i32 1
    v3 = iconst.i32 40
    v4 = fconst.f32 0.5
    v5 = fconst.f32 -1.0
    jump block1(v1, v0)
block1(v6: i32, v7: f32x4):
    v8 = icmp slt v6, v3
    br_if v8, block2, block4(v5)
block2:
    v9 = uniform.f32x4 %rows[v6]
    v10 = fadd v7, v9
    v11 = extract v10, 0
    v12 = fcmp ogt v11, v4
    v16 = extract v0, 1
    br_if v12, block4(v16), block3
block3:
    v13 = iadd v6, v2
    jump block1(v13, v10)
block4(v14: f32):
    v15 = splat.f32x4 v14
    output %position, v15
    return
"#;

#[test]
fn marks_and_flags_follow() {
    for (text, branches) in [(MARKED, 3), (LEFT, 1)] {
        let shader = retroshade_pica::isa().compile(&retroshade_ir::parse("text.ir", text).unwrap(), &Options::default()).unwrap();
        assert_eq!(turn_each(&shader), branches, "{}", shader.asm);
    }
}
