//! Branches that are turned in code that does not come to them as often as the module does.
#![allow(clippy::unwrap_used)]

use retroshade_lower::validate::meaning::check;
use retroshade_lower::{Cancel, Options};
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
