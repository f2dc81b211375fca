//! Branches that are turned: an arm that no inputs reach, a loop that takes too long and what stands behind it are run on the machines and compared.
#![allow(clippy::unwrap_used)]

use retroshade_lower::testing::with_code;
use retroshade_lower::validate::meaning::{Effort, Seen, check_with};
use retroshade_lower::validate::validate;
use retroshade_lower::{Cancel, CompiledShader, Options, TargetIsa};

/// The machines whose branches are named, outcomes that are reached (of `select`s some are not), and how many of flipped bits are noticed at least.
const MACHINES: [(&str, usize, usize); 2] = [("tesla", 10, 500), ("pica", 8, 130)];

/// A loop of sixty thousand rounds, and conditions that exclude each other: by the flags, and by a boolean.
const FAR: &str = r#"shader vertex "far"
input %a : f32x4 @location(0)
output %position : f32x4 @position
output %color : f32x4 @location(0)
uniform %scale : f32x4 @binding(0)
uniform %twice : i1 @binding(1)
block0:
    v0 = input.f32x4 %a
    output %position, v0
    v1 = uniform.f32x4 %scale
    v2 = fconst.f32 0.0
    v3 = fconst.f32 1.0
    v4 = fconst.f32 60000.0
    v5 = extract v0, 0
    jump block1(v2, v5)
block1(v6: f32, v7: f32):
    v8 = fmul v7, v5
    v9 = fadd v8, v7
    v10 = fadd v6, v3
    v11 = fcmp olt v10, v4
    br_if v11, block1(v10, v9), block2
block2:
    v12 = fconst.f32 3.0
    v13 = fcmp ogt v5, v12
    br_if v13, block3, block6(v1)
block3:
    v14 = extract v1, 1
    v15 = fadd v14, v9
    v16 = fcmp olt v5, v3
    br_if v16, block4, block6(v0)
block4:
    v17 = uniform.i1 %twice
    v18 = fmul v1, v0
    v19 = fadd v18, v1
    br_if v17, block5, block6(v19)
block5:
    v20 = shuffle v19, v18, [3, 4, 1, 0]
    v21 = fadd v20, v19
    v22 = splat.f32x4 v15
    v23 = fmul v21, v22
    jump block6(v23)
block6(v24: f32x4):
    output %color, v24
    return
"#;

/// One set and no search: no inputs come to an end.
fn check(isa: &dyn TargetIsa, shader: &CompiledShader, detours: usize) -> Result<Seen, String> {
    check_with(isa, shader, Effort { sets: 1, search: 0, detours }, &Cancel::default())
}

#[test]
fn what_no_inputs_reach_is_reached_and_damage_there_is_noticed() {
    let module = retroshade_ir::parse("far.ir", FAR).unwrap();
    for (name, outcomes, least) in MACHINES {
        let isa = retroshade::target(name).unwrap();
        let shader = isa.compile(&module, &Options::default()).unwrap();
        let straight = check(isa, &shader, 0).unwrap();
        assert_eq!((straight.sets, straight.outcomes_reached), (0, 0), "{name}: {straight:?}");
        let seen = check(isa, &shader, Effort::default().detours).unwrap();
        assert_eq!((seen.outcomes_reached, seen.outcomes_turned, seen.unreached.len()), (outcomes, outcomes, 0), "{name}: {seen:?}");
        // Every bit of the code for itself.
        let (mut judged, mut noticed) = (0, 0);
        for bit in 0..8 * shader.code.len() {
            let mut code = shader.code.clone();
            code[bit / 8] ^= 1 << (bit % 8);
            let bad = with_code(&shader, code);
            if validate(isa, &bad).is_ok_and(|found| found.is_empty()) {
                judged += 1;
                noticed += usize::from(check(isa, &bad, Effort::default().detours).is_err());
            }
        }
        println!("{name}: {noticed} of {judged}");
        assert!(noticed >= least, "{name}: {noticed} of {judged}");
    }
}
