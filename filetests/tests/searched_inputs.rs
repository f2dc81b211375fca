//! The validator searches for inputs: words of a block that the chosen inputs do not reach are damaged, and that is noticed.
#![allow(clippy::unwrap_used)]

use retroshade_lower::testing::with_code;
use retroshade_lower::validate::meaning::{Effort, check_with};
use retroshade_lower::validate::validate;
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

#[test]
fn damage_where_only_a_search_leads_is_noticed() {
    let alone = Effort { search: 0, ..Effort::default() };
    let module = retroshade_ir::parse("far.ir", FAR).unwrap();
    for isa in retroshade::targets() {
        let shader = isa.compile(&module, &Options::default()).unwrap();
        let check = |shader: &CompiledShader, effort| check_with(isa, shader, effort, &Cancel::default());
        let [chosen, searched] = [alone, Effort::default()].map(|e| check(&shader, e).unwrap());
        assert!(chosen.outcomes_reached < chosen.outcomes, "{}: {chosen:?}", isa.name());
        assert_eq!((searched.outcomes_reached, searched.unreached.len()), (searched.outcomes, 0), "{}", isa.name());
        // Every bit of the code for itself.
        let mut noticed = [0; 2];
        for bit in 0..8 * shader.code.len() {
            let mut code = shader.code.clone();
            code[bit / 8] ^= 1 << (bit % 8);
            let bad = with_code(&shader, code);
            if validate(isa, &bad).is_ok_and(|found| found.is_empty()) {
                noticed[0] += usize::from(check(&bad, alone).is_err());
                noticed[1] += usize::from(check(&bad, Effort::default()).is_err());
            }
        }
        println!("{}: {noticed:?}", isa.name());
        assert!(noticed[1] >= noticed[0] + 30, "{}: {noticed:?}", isa.name());
    }
}
