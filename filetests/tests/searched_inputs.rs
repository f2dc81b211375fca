//! What the validator reaches: blocks that only a search for inputs leads to, and those of workgroups that are too large to run whole. Their code is
//! damaged, and that is noticed.
#![allow(clippy::unwrap_used)]

use retroshade_lower::testing::lawful_flips;
use retroshade_lower::validate::meaning::{Effort, check_with};
use retroshade_lower::{Cancel, CompiledShader, Options};

/// No chosen input is as large as the attribute and the uniform have to be for `block2`.
const FAR: &str = r#"shader vertex "far"
input %a : f32x4 @location(0)
output %position : f32x4 @position
output %color : f32x4 @location(0)
uniform %scale : f32x4 @binding(0)
block0:
    v0 = input.f32x4 %a
    output %position, v0
    v1 = extract v0, 2
    v2 = fconst.f32 0.001
    v3 = fmul v1, v2
    v4 = fconst.f32 50.0
    v5 = fcmp ogt v3, v4
    br_if v5, block1, block3(v0)
block1:
    v6 = uniform.f32x4 %scale
    v7 = extract v6, 1
    v8 = fadd v7, v4
    v9 = fconst.f32 3000.0
    v10 = fcmp ogt v8, v9
    br_if v10, block2, block3(v6)
block2:
    v11 = fmul v6, v0
    v12 = fadd v11, v6
    v13 = fmul v12, v0
    v14 = shuffle v13, v12, [3, 4, 1, 0]
    v15 = fadd v14, v13
    v16 = fmul v15, v6
    jump block3(v16)
block3(v17: f32x4):
    output %color, v17
    return
"#;

/// A round takes some 10 steps: 256 invocations of 120 rounds are too many. Only the last one adds.
const LONG: &str = r#"shader compute "long"
workgroup_size(16, 16, 1)
input %local : i32x3 @local_invocation_id
storage %data : i32[] @binding(0)
block0:
    v0 = input.i32x3 %local
    v1 = extract v0, 0
    v2 = extract v0, 1
    v3 = iconst.i32 16
    v4 = imul v2, v3
    v5 = iadd v4, v1
    v6 = iconst.i32 0
    v7 = iconst.i32 1
    v8 = iconst.i32 120
    v9 = iconst.i32 255
    v21 = and v2, v7
    v22 = iconst.i32 32
    v23 = imul v21, v22
    v24 = iadd v23, v1
    jump block1(v6, v5)
block1(v10: i32, v11: i32):
    v12 = imul v11, v3
    v13 = xor v12, v11
    v14 = iadd v13, v10
    v15 = iadd v10, v7
    v16 = icmp slt v15, v8
    br_if v16, block1(v15, v14), block2
block2:
    v17 = icmp eq v5, v9
    br_if v17, block3, block4(v14)
block3:
    v18 = storage_load.i32 %data[v24]
    v19 = iadd v18, v14
    jump block4(v19)
block4(v20: i32):
    storage_store %data[v24], v20
    return
"#;

#[test]
fn of_a_workgroup_that_takes_too_long_a_part_is_compared() {
    let module = retroshade_ir::parse("long.ir", LONG).unwrap();
    let isa = retroshade::target("tesla").unwrap();
    let shader = isa.compile(&module, &Options::default()).unwrap();
    let seen = check_with(isa, &shader, Effort { search: 0, detours: 0, ..Effort::default() }, &Cancel::default()).unwrap();
    assert_eq!((seen.sets, seen.outcomes_reached, seen.unreached.len()), (6, seen.outcomes, 0), "{seen:?}");
}

#[test]
fn damage_where_only_a_search_leads_is_noticed() {
    let alone = Effort { search: 0, detours: 0, ..Effort::default() };
    let searching = Effort { search: 200, ..alone };
    let module = retroshade_ir::parse("far.ir", FAR).unwrap();
    for isa in retroshade::targets() {
        let shader = isa.compile(&module, &Options::default()).unwrap();
        let check = |shader: &CompiledShader, effort| check_with(isa, shader, effort, &Cancel::default());
        let [chosen, searched] = [alone, searching].map(|e| check(&shader, e).unwrap());
        assert!(chosen.outcomes_reached < chosen.outcomes, "{}: {chosen:?}", isa.name());
        assert_eq!((searched.outcomes_reached, searched.unreached.len()), (searched.outcomes, 0), "{}", isa.name());
        // Every bit of the code for itself.
        let mut noticed = [0; 2];
        for bad in lawful_flips(isa, &shader, 1) {
            noticed[0] += usize::from(check(&bad, alone).is_err());
            noticed[1] += usize::from(check(&bad, searching).is_err());
        }
        println!("{}: {noticed:?}", isa.name());
        assert!(noticed[1] >= noticed[0] + 30, "{}: {noticed:?}", isa.name());
    }
}
