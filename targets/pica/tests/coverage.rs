//! Every error code of the target has a case, and programs at the edge of the registers are right or refused.
#![allow(clippy::unwrap_used)]

use retroshade_lower::testing::{Rng, Verdict, diff_with, random_env};
use retroshade_lower::{CompileError, Options};
use std::collections::BTreeSet;
use std::path::Path;

fn codes(text: &str, out: &mut BTreeSet<String>, quoted: bool) {
    for (at, _) in text.match_indices("P0") {
        let code = &text[at..(at + 5).min(text.len())];
        let whole = code.len() == 5 && code[1..].chars().all(|c| c.is_ascii_digit());
        if whole && (!quoted || text[..at].ends_with('"')) {
            out.insert(code.to_string());
        }
    }
}

#[test]
fn every_error_code_has_a_case() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut made, mut tested) = (BTreeSet::new(), BTreeSet::new());
    let mut folders = vec![root.join("src")];
    while let Some(folder) = folders.pop() {
        for f in std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()) {
            if f.is_dir() {
                folders.push(f);
            } else {
                codes(&std::fs::read_to_string(f).unwrap(), &mut made, true);
            }
        }
    }
    for f in std::fs::read_dir(root.join("../../filetests/cases/pica")).unwrap() {
        let text = std::fs::read_to_string(f.unwrap().path()).unwrap();
        let errors: String = text.lines().filter_map(|l| l.split("error:").nth(1)).collect::<Vec<_>>().join("\n");
        codes(&errors, &mut tested, false);
    }
    // What concerns several programs, and warnings.
    codes(&std::fs::read_to_string(root.join("../../cli/tests/pica.rs")).unwrap(), &mut tested, false);
    assert!(made.len() > 15, "{made:?}");
    assert_eq!(made.difference(&tested).collect::<Vec<_>>(), Vec::<&String>::new(), "codes without a case");
}

/// `n` vectors that a loop rotates through each other, all alive behind it.
fn rotation(n: usize) -> String {
    let mut t =
        "shader vertex \"rotation\"\ninput %a : f32x4 @location(0)\ninput %n : f32 @location(1)\noutput %position : f32x4 @position\n"
            .to_string();
    t.push_str("block0:\n    v0 = input.f32x4 %a\n    v1 = input.f32 %n\n    v2 = fconst.f32 0.0\n");
    let mut next = 3;
    let mut live = Vec::new();
    for k in 0..n {
        t.push_str(&format!("    v{next} = fconst.f32x4 [{k}.0, 1.0, {}.0, 2.0]\n    v{} = fadd v0, v{next}\n", k * k, next + 1));
        live.push(format!("v{}", next + 1));
        next += 2;
    }
    t.push_str(&format!("    jump block1(v2, {})\n", live.join(", ")));
    let counter = next;
    let params: Vec<String> = (0..n).map(|k| format!("v{}: f32x4", next + 1 + k)).collect();
    let names: Vec<String> = (0..n).map(|k| format!("v{}", next + 1 + k)).collect();
    next += 1 + n;
    t.push_str(&format!("block1(v{counter}: f32, {}):\n", params.join(", ")));
    t.push_str(&format!(
        "    v{next} = fconst.f32 1.0\n    v{} = fadd v{counter}, v{next}\n    v{} = fcmp olt v{}, v1\n",
        next + 1,
        next + 2,
        next + 1
    ));
    t.push_str(&format!("    br_if v{}, block2, block3\nblock2:\n", next + 2));
    let mut turned = names.clone();
    turned.rotate_left(1);
    t.push_str(&format!("    jump block1(v{}, {})\nblock3:\n", next + 1, turned.join(", ")));
    next += 3;
    let mut sum = names[0].clone();
    for (k, v) in names.iter().enumerate().skip(1) {
        t.push_str(&format!(
            "    v{next} = fconst.f32 {k}.5\n    v{} = splat.f32x4 v{next}\n    v{} = fmul {v}, v{}\n    v{} = fadd {sum}, v{}\n",
            next + 1,
            next + 2,
            next + 1,
            next + 3,
            next + 2
        ));
        sum = format!("v{}", next + 3);
        next += 4;
    }
    t.push_str(&format!("    output %position, {sum}\n    return\n"));
    t
}

/// Up to 17 live vectors with a rotation: right, or the pressure error with its numbers and places; never anything else.
#[test]
fn rotations_are_right_or_refused() {
    let isa = retroshade_pica::isa();
    let mut compiled = Vec::new();
    for n in 2..=17 {
        let m = retroshade_ir::parse("rotation", &rotation(n)).unwrap_or_else(|e| panic!("{n}: {e:?}"));
        let env = random_env(&m, 12, 16, &mut Rng::new(n as u64));
        match diff_with(isa, &m, &env, &Options::default()) {
            Ok(Verdict::Agrees { .. }) => compiled.push(n),
            Ok(Verdict::Refused { limit: true, .. }) => {
                let Err(CompileError::Limit { diagnostic, needed, available }) = isa.compile(&m, &Options::default()) else {
                    panic!("{n}")
                };
                assert_eq!((diagnostic.code, available), ("P0300", 64), "{n}");
                assert!(needed > 4 * n as u64, "{n}: {needed}");
                assert!(diagnostic.notes.len() > 8, "{n}: {:?}", diagnostic.notes);
            }
            other => panic!("{n}: {other:?}"),
        }
    }
    println!("rotations of {compiled:?} vectors fit");
    assert!(compiled.iter().max() >= Some(&12), "{compiled:?}");
    assert!(!compiled.contains(&17));
}
