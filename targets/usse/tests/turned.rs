//! Branches that are turned: arms to which no inputs lead and loops of a million rounds are seen by the validator, and damage there is noticed.
#![allow(clippy::unwrap_used)]

use retroshade_lower::validate::meaning::{Effort, Seen, check_with};
use retroshade_lower::validate::validate;
use retroshade_lower::{Cancel, CompiledShader, Options};
use retroshade_usse::container::{self, Gxp};
use retroshade_usse::isa::forms::{BR, decode};

/// No square ends in the bits 10.
const NEVER: &str = r#"shader vertex "never"
input %a : f32x4 @location(0)
output %position : f32x4 @position
output %color : f32x4 @location(0)
uniform %n : i32 @binding(0)
uniform %scale : f32x4 @binding(1)
block0:
    v0 = input.f32x4 %a
    output %position, v0
    v1 = uniform.i32 %n
    v2 = imul v1, v1
    v3 = iconst.i32 3
    v4 = and v2, v3
    v5 = iconst.i32 2
    v6 = icmp eq v4, v5
    br_if v6, block1, block3(v0)
block1:
    v7 = uniform.f32x4 %scale
    v8 = fmul v7, v0
    v9 = fadd v8, v7
    v10 = extract v9, 0
    v11 = extract v9, 1
    v12 = fcmp ogt v10, v11
    br_if v12, block2, block3(v9)
block2:
    v13 = fmul v9, v0
    v14 = shuffle v13, v9, [3, 4, 1, 0]
    v15 = fadd v14, v13
    v16 = fmul v15, v7
    v17 = fadd v16, v14
    v18 = fmul v17, v13
    v19 = fadd v18, v15
    jump block3(v19)
block3(v20: f32x4):
    output %color, v20
    return
"#;

/// Both arms are words under a predicate.
const SHORT: &str = r#"shader vertex "short"
input %a : f32x4 @location(0)
output %position : f32x4 @position
output %color : f32x4 @location(0)
uniform %n : i32 @binding(0)
uniform %scale : f32x4 @binding(1)
block0:
    v0 = input.f32x4 %a
    output %position, v0
    v1 = uniform.i32 %n
    v2 = uniform.f32x4 %scale
    v3 = imul v1, v1
    v4 = iconst.i32 3
    v5 = and v3, v4
    v6 = iconst.i32 2
    v7 = icmp eq v5, v6
    br_if v7, block1, block2
block1:
    v8 = fmul v0, v2
    v9 = fmul v8, v0
    jump block3(v9)
block2:
    v10 = fadd v0, v2
    jump block3(v10)
block3(v11: f32x4):
    output %color, v11
    return
"#;

/// Nobody waits for a million rounds.
const LONG: &str = r#"shader vertex "long"
input %a : f32x4 @location(0)
output %position : f32x4 @position
output %color : f32x4 @location(0)
uniform %scale : f32x4 @binding(0)
block0:
    v0 = input.f32x4 %a
    output %position, v0
    v1 = uniform.f32x4 %scale
    v2 = iconst.i32 0
    v3 = iconst.i32 1
    v4 = iconst.i32 1000000
    jump block1(v2, v0)
block1(v5: i32, v6: f32x4):
    v7 = fmul v6, v1
    v8 = fadd v7, v0
    v9 = iadd v5, v3
    v10 = icmp slt v9, v4
    br_if v10, block1(v9, v8), block2
block2:
    v11 = fmul v8, v1
    output %color, v11
    return
"#;

const STRAIGHT: Effort = Effort { sets: 6, search: 200, detours: 0 };

fn compile(text: &str) -> CompiledShader {
    let module = retroshade_ir::parse("turned.ir", text).unwrap();
    retroshade_usse::isa().compile(&module, &Options::default()).unwrap()
}

fn check(shader: &CompiledShader, effort: Effort) -> Result<Seen, String> {
    check_with(retroshade_usse::isa(), shader, effort, &Cancel::default())
}

/// How many bits of the primary program are noticed when they are flipped, of those that break no rule: without turned branches, and with them.
fn noticed(shader: &CompiledShader) -> [usize; 2] {
    let gxp = container::read(&shader.container).unwrap();
    let mut noticed = [0; 2];
    for bit in 0..64 * gxp.primary.len() {
        let mut primary = gxp.primary.clone();
        primary[bit / 64] ^= 1 << (bit % 64);
        let bad = CompiledShader { container: container::write(&Gxp { primary, ..gxp.clone() }), ..shader.clone() };
        if validate(retroshade_usse::isa(), &bad).is_ok_and(|found| found.is_empty()) {
            noticed[0] += usize::from(check(&bad, STRAIGHT).is_err());
            noticed[1] += usize::from(check(&bad, Effort::default()).is_err());
        }
    }
    println!("{noticed:?}");
    noticed
}

#[test]
fn arms_to_which_nothing_leads() {
    let shader = compile(NEVER);
    let straight = check(&shader, STRAIGHT).unwrap();
    assert_eq!((straight.outcomes, straight.outcomes_reached), (4, 1), "{straight:?}");
    let seen = check(&shader, Effort::default()).unwrap();
    assert_eq!((seen.outcomes_reached, seen.outcomes_turned, seen.unreached.len()), (4, 3, 0), "{seen:?}");
    let [without, with] = noticed(&shader);
    assert!(with >= without + 200, "{without} {with}");
}

#[test]
fn arms_under_predicates() {
    let shader = compile(SHORT);
    let gxp = container::read(&shader.container).unwrap();
    assert!(gxp.primary.iter().all(|w| decode(*w).unwrap().form != BR));
    assert_eq!(check(&shader, STRAIGHT).unwrap().outcomes_reached, 1);
    let seen = check(&shader, Effort::default()).unwrap();
    assert_eq!((seen.outcomes_reached, seen.outcomes_turned, seen.unreached.len()), (2, 1, 0), "{seen:?}");
    let [without, with] = noticed(&shader);
    assert!(with >= without + 50, "{without} {with}");
}

#[test]
fn loops_of_a_million_rounds() {
    let shader = compile(LONG);
    assert_eq!(check(&shader, STRAIGHT).unwrap().sets, 0);
    let seen = check(&shader, Effort::default()).unwrap();
    assert_eq!((seen.outcomes_reached, seen.outcomes_turned, seen.unreached.len()), (2, 2, 0), "{seen:?}");
    let [without, with] = noticed(&shader);
    assert!(without == 0 && with >= 100, "{without} {with}");
}

/// Wherever the program branches, the code says where that is decided.
#[test]
fn every_branch_is_named() {
    for text in [NEVER, SHORT, LONG] {
        let shader = compile(text);
        let main = shader.legal.main();
        let branches = main.layout.iter().filter(|b| main.successors(**b).len() == 2).count();
        assert_eq!(shader.branches.len(), branches, "{text}");
    }
}
