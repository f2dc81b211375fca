//! Where no inputs lead, the validator turns branches: behind conditions that nothing fulfils and loops that take too long. Code there is damaged, and
//! that is noticed.
#![allow(clippy::unwrap_used)]

use retroshade_lower::testing::lawful_flips;
use retroshade_lower::validate::meaning::{Effort, Seen, check_with};
use retroshade_lower::{Cancel, CompiledShader, Options};

/// Sets alone, and then with turned branches.
const ALONE: Effort = Effort { sets: 6, search: 0, detours: 0 };
const TURNED: Effort = Effort { sets: 6, search: 0, detours: 32 };

/// The values of the sets are too small for `block1`, and more so for `block4`. Loops keep the arms from becoming choices of values.
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
    v6 = uniform.f32x4 %scale
    v7 = extract v6, 1
    v8 = fconst.f32 0.0
    v9 = fconst.f32 1.0
    br_if v5, block1, block7(v0)
block1:
    jump block2(v8, v0)
block2(v10: f32, v11: f32x4):
    v12 = fmul v11, v6
    v13 = shuffle v12, v0, [3, 4, 1, 0]
    v14 = fadd v13, v11
    v15 = fadd v10, v9
    v16 = fcmp olt v15, v7
    br_if v16, block2(v15, v14), block3
block3:
    v17 = fadd v7, v4
    v18 = fconst.f32 3000.0
    v19 = fcmp ogt v17, v18
    br_if v19, block4, block7(v14)
block4:
    v20 = fadd v14, v12
    jump block5(v8, v20)
block5(v21: f32, v22: f32x4):
    v23 = fmul v22, v14
    v24 = shuffle v23, v6, [2, 1, 7, 4]
    v25 = fadd v24, v0
    v26 = fadd v21, v9
    v27 = fcmp olt v26, v7
    br_if v27, block5(v26, v25), block6
block6:
    v28 = fmul v25, v20
    jump block7(v28)
block7(v29: f32x4):
    output %color, v29
    return
"#;

/// Too many rounds for any set.
const LONG: &str = r#"shader vertex "long"
input %a : f32x4 @location(0)
output %position : f32x4 @position
output %color : f32x4 @location(0)
block0:
    v0 = input.f32x4 %a
    output %position, v0
    v1 = extract v0, 0
    v2 = extract v0, 1
    v3 = fconst.f32 0.0
    v4 = fconst.f32 0.0001
    v5 = fconst.f32 6.5
    jump block1(v3, v1)
block1(v6: f32, v7: f32):
    v8 = fmul v7, v2
    v9 = fadd v8, v6
    v10 = fadd v6, v4
    v11 = fcmp olt v10, v5
    br_if v11, block1(v10, v9), block2
block2:
    v12 = fmul v9, v2
    v13 = splat.f32x4 v12
    v14 = fadd v13, v0
    output %color, v14
    return
"#;

/// Checks a program with two efforts, and its code with bits all over it flipped, each for itself; what is seen of it, and how many of the flips that
/// break no rule are noticed.
fn seen_and_noticed(isa: &dyn retroshade::TargetIsa, text: &str) -> ([Seen; 2], [usize; 2]) {
    let module = retroshade_ir::parse("turned.ir", text).unwrap();
    let shader = isa.compile(&module, &Options::default()).unwrap();
    let check = |shader: &CompiledShader, effort| check_with(isa, shader, effort, &Cancel::default());
    let mut noticed = [0; 2];
    for bad in lawful_flips(isa, &shader, 5) {
        noticed[0] += usize::from(check(&bad, ALONE).is_err());
        noticed[1] += usize::from(check(&bad, TURNED).is_err());
    }
    println!("{}: {noticed:?}", isa.name());
    ([ALONE, TURNED].map(|e| check(&shader, e).unwrap()), noticed)
}

#[test]
fn damage_behind_conditions_that_no_set_fulfils_is_noticed() {
    for isa in retroshade::targets() {
        let ([alone, turned], noticed) = seen_and_noticed(isa, FAR);
        assert_eq!(
            (alone.unreached.is_empty(), alone.outcomes_turned, turned.unreached.len()),
            (false, 0, 0),
            "{}: {turned:?}",
            isa.name()
        );
        assert_eq!((turned.outcomes_reached, turned.outcomes_turned > 3), (turned.outcomes, true), "{}: {turned:?}", isa.name());
        assert!(noticed[1] >= noticed[0] + 25, "{}: {noticed:?}", isa.name());
    }
}

#[test]
fn a_loop_that_takes_too_long_is_left() {
    for isa in retroshade::targets() {
        let ([alone, turned], noticed) = seen_and_noticed(isa, LONG);
        assert_eq!((alone.sets, turned.sets, turned.detours > 0), (0, 0, true), "{}: {turned:?}", isa.name());
        assert_eq!((turned.outcomes_reached, turned.unreached.len()), (turned.outcomes, 0), "{}", isa.name());
        assert!(noticed[1] >= noticed[0] + 6, "{}: {noticed:?}", isa.name());
    }
}
