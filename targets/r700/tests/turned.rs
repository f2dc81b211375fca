//! What the validator sees where it turns branches: places to which no inputs lead, and what is behind a loop that takes too long.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Opcode;
use retroshade_ir::interp::Branch;
use retroshade_lower::testing::{Profile, default_options, random_program, with_code};
use retroshade_lower::validate::meaning::{Effort, check_with};
use retroshade_lower::validate::validate;
use retroshade_lower::{Cancel, CompiledShader, Options};
use std::collections::BTreeSet;

/// A loop of a million rounds, then two conditions that never hold: no square ends in the bits 10, and n * (n + 1) is even.
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
    br_if v14, block3, block6(v7)
block3:
    v15 = shuffle v7, v0, [3, 4, 1, 0]
    v16 = fadd v15, v7
    v17 = iadd v10, v1
    v18 = and v17, v3
    v19 = icmp eq v18, v3
    br_if v19, block4, block5(v16)
block4:
    v20 = fmul v16, v0
    v21 = fadd v20, v7
    v22 = shuffle v21, v16, [7, 2, 5, 0]
    v23 = fadd v22, v21
    jump block5(v23)
block5(v24: f32x4):
    v25 = fmul v24, v16
    jump block6(v25)
block6(v26: f32x4):
    output %color, v26
    return
"#;

#[test]
fn damage_where_no_inputs_lead_is_noticed() {
    let module = retroshade_ir::parse("hidden.ir", HIDDEN).unwrap();
    let isa = retroshade_r700::isa();
    let shader = isa.compile(&module, &Options::default()).unwrap();
    let check = |shader: &CompiledShader, effort| check_with(isa, shader, effort, &Cancel::default());
    let [straight, turned] = [Effort { detours: 0, ..Effort::default() }, Effort::default()];
    assert_eq!(check(&shader, straight).unwrap().outcomes_reached, 0);
    let seen = check(&shader, turned).unwrap();
    assert_eq!((seen.sets, seen.outcomes, seen.outcomes_reached, seen.outcomes_turned, seen.unreached.len()), (0, 6, 6, 6, 0), "{seen:?}");
    // Every bit of the code for itself.
    let mut noticed = [0; 2];
    for bit in 0..8 * shader.code.len() {
        let mut code = shader.code.clone();
        code[bit / 8] ^= 1 << (bit % 8);
        let bad = with_code(&shader, code);
        if validate(isa, &bad).is_ok_and(|found| found.is_empty()) {
            noticed[0] += usize::from(check(&bad, straight).is_err());
            noticed[1] += usize::from(check(&bad, turned).is_err());
        }
    }
    println!("{noticed:?}");
    assert!(noticed[0] == 0 && noticed[1] >= 100, "{noticed:?}");
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
    assert!(all > 200 && named * 100 >= all * 95, "{named} of {all}");
}
