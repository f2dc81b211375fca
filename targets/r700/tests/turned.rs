//! What the validator sees where it turns branches: places to which no inputs lead, and what is behind a loop that takes too long.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Opcode;
use retroshade_ir::interp::Branch;
use retroshade_lower::testing::{Profile, default_options, random_program, with_code};
use retroshade_lower::validate::meaning::{Effort, check_with};
use retroshade_lower::validate::validate;
use retroshade_lower::{Cancel, CompiledShader, Options};
use std::collections::BTreeSet;

/// A loop of a million rounds, then two conditions that never hold: no square ends in the bits 10, and n * (n + 1) is even. Loops keep the arms
/// from becoming selects.
const HIDDEN: &str = r#"shader vertex "hidden"
input %a : f32x4 @location(0)
output %position : f32x4 @position
output %color : f32x4 @location(0)
uniform %n : i32 @binding(0)
block0:
    v0 = input.f32x4 %a
    output %position, v0
    v1 = uniform.i32 %n
    v2 = iconst.i32 0
    v3 = iconst.i32 1
    v4 = iconst.i32 1000000
    jump block1(v2, v0)
block1(v5: i32, v6: f32x4):
    v7 = fadd v6, v0
    v8 = iadd v5, v3
    v9 = icmp slt v8, v4
    br_if v9, block1(v8, v7), block2
block2:
    v10 = imul v1, v1
    v11 = iconst.i32 3
    v12 = and v10, v11
    v13 = iconst.i32 2
    v14 = icmp eq v12, v13
    br_if v14, block3, block9(v7)
block3:
    v15 = shuffle v7, v0, [3, 4, 1, 0]
    v16 = fadd v15, v7
    jump block4(v2, v16)
block4(v17: i32, v18: f32x4):
    v19 = fmul v18, v0
    v20 = shuffle v19, v7, [6, 1, 3, 4]
    v21 = fadd v20, v16
    v22 = iadd v17, v3
    v23 = icmp slt v22, v1
    br_if v23, block4(v22, v21), block5
block5:
    v24 = iadd v10, v1
    v25 = and v24, v3
    v26 = icmp eq v25, v3
    br_if v26, block6, block8(v21)
block6:
    v27 = fadd v21, v16
    jump block7(v2, v27)
block7(v28: i32, v29: f32x4):
    v30 = fmul v29, v16
    v31 = shuffle v30, v21, [7, 2, 5, 0]
    v32 = fadd v31, v7
    v33 = iadd v28, v3
    v34 = icmp slt v33, v10
    br_if v34, block7(v33, v32), block8(v32)
block8(v35: f32x4):
    v36 = fmul v35, v16
    jump block9(v36)
block9(v37: f32x4):
    output %color, v37
    return
"#;

#[test]
fn damage_where_no_inputs_lead_is_noticed() {
    let module = retroshade_ir::parse("hidden.ir", HIDDEN).unwrap();
    let isa = retroshade_r700::isa();
    let shader = isa.compile(&module, &Options::default()).unwrap();
    let check = |shader: &CompiledShader, effort| check_with(isa, shader, effort, &Cancel::default());
    let straight = check(&shader, Effort { detours: 0, ..Effort::default() }).unwrap();
    assert_eq!((straight.sets, straight.outcomes_reached), (0, 0), "nothing could be noticed: {straight:?}");
    let seen = check(&shader, Effort::default()).unwrap();
    assert_eq!(
        (seen.sets, seen.outcomes, seen.outcomes_reached, seen.outcomes_turned, seen.unreached.len()),
        (0, 10, 10, 10, 0),
        "{seen:?}"
    );
    // Bits all over the code, each for itself.
    let damaged = (0..8 * shader.code.len()).step_by(7).map(|bit| {
        let mut code = shader.code.clone();
        code[bit / 8] ^= 1 << (bit % 8);
        with_code(&shader, code)
    });
    let lawful: Vec<CompiledShader> = damaged.filter(|bad| validate(isa, bad).is_ok_and(|found| found.is_empty())).collect();
    let noticed = lawful.iter().filter(|bad| check(bad, Effort::default()).is_err()).count();
    println!("{noticed} of {}", lawful.len());
    assert!(noticed >= 100, "{noticed} of {}", lawful.len());
}

/// Wherever there is code on either side of a branch, one operation decides it.
#[test]
fn most_branches_can_be_turned() {
    let (mut all, mut named) = (0, 0);
    for seed in 0..200 {
        let (m, _) = random_program(&Profile::r700(), seed);
        let Ok(s) = retroshade_r700::isa().compile(&m, &default_options(seed)) else { continue };
        let (func, f) = (s.legal.entry, s.legal.main());
        let branches = f.layout.iter().filter(|b| f.terminator(**b).is_some_and(|t| f.insts[t].op == Opcode::BrIf));
        let branches: BTreeSet<Branch> = branches.map(|block| Branch { func, block: *block }).collect();
        let places: BTreeSet<Branch> = s.branches.iter().map(|b| b.1).collect();
        assert!(places.is_subset(&branches), "seed {seed}: {places:?} of {branches:?}");
        (all, named) = (all + branches.len(), named + places.len());
    }
    println!("{named} of {all}");
    assert!(all > 60 && named * 100 >= all * 95, "{named} of {all}");
}
