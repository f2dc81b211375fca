//! Branches that are turned where the code has none: arms under predicates are seen by the validator where no inputs lead, and damage there is
//! noticed. What is the same on all machines stands in `filetests/tests/turned_branches.rs`.
#![allow(clippy::unwrap_used)]

use retroshade_lower::testing::{Profile, default_options, random_program};
use retroshade_lower::validate::meaning::{Effort, Seen, check_with};
use retroshade_lower::validate::validate;
use retroshade_lower::{Cancel, CompiledShader, Options};
use retroshade_usse::container::{self, Gxp};
use retroshade_usse::isa::forms::{BR, decode};

/// Both arms are words under a predicate; no square ends in the bits 10.
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

/// Wherever programs branch, the code says where that is decided.
#[test]
fn every_branch_is_named() {
    let mut all = 0;
    for seed in 0..60 {
        let (m, _) = random_program(&Profile::usse(), seed);
        let Ok(shader) = retroshade_usse::isa().compile(&m, &default_options(seed)) else { continue };
        let main = shader.legal.main();
        let branches = main.layout.iter().filter(|b| main.successors(**b).len() == 2).count();
        assert_eq!(shader.branches.len(), branches, "seed {seed}");
        all += branches;
    }
    assert!(all > 20, "{all}");
}
