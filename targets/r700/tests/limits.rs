//! Programs at and beyond the machine's limits: correct code or the named limit, never a wrong program.
#![allow(clippy::unwrap_used)]

use retroshade_lower::Options;
use retroshade_lower::testing::{Profile, Rng, Verdict, diff_with, random_env, random_program};
use std::fmt::Write;

/// Compiles and compares on a diverging wavefront; `Err` is what the compiler refuses the program for.
fn run(text: &str) -> Result<(), String> {
    let m = retroshade_ir::parse("limits", text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let env = random_env(&m, 64, 23, &mut Rng::new(3));
    match diff_with(retroshade_r700::isa(), &m, &env, &Options::default()) {
        Ok(Verdict::Agrees { .. }) => Ok(()),
        Ok(Verdict::Refused { message, .. }) => Err(message),
        Err(e) => panic!("{e}"),
    }
}

const HEAD: &str =
    "shader fragment \"limits\"\ninput %a : f32x4 @location(0)\ninput %n : i32 @location(1)\noutput %c : f32x4 @location(0)\n";

/// `live` values that are all made before the first of them is used; no algebra joins them.
fn many_live(live: usize) -> String {
    let mut s = format!("{HEAD}block0:\n    v0 = input.f32x4 %a\n    v1 = extract v0, 0\n    v2 = extract v0, 1\n    v3 = fadd v1, v2\n");
    let mut last = 3;
    let mut all = Vec::new();
    for k in 0..live {
        let by = ["v1", "v2"][k % 2];
        writeln!(s, "    v{} = fmad v{last}, {by}, v2\n    v{} = ffract v{}", last + 1, last + 2, last + 1).unwrap();
        last += 2;
        all.push(last);
    }
    let mut sum = all[0];
    for k in all[1..].iter().rev() {
        writeln!(s, "    v{} = fmad v{sum}, v1, v{k}", last + 1).unwrap();
        last += 1;
        sum = last;
    }
    writeln!(s, "    v{} = build v{sum}, v1, v2, v3\n    output %c, v{}\n    return", last + 1, last + 1).unwrap();
    s
}

#[test]
fn three_hundred_live_scalars() {
    run(&many_live(300)).unwrap();
}

#[test]
fn more_values_than_registers() {
    run(&many_live(900)).unwrap();
}

/// The Wii U has no scratch memory: where no more values live at once than there are channels, registers must do.
#[test]
fn channels_are_shared_evenly() {
    for seed in [70_002, 70_004, 70_006, 70_011] {
        let (m, _) = random_program(&Profile::r700().crowded(490), seed);
        let options = Options { chip: Some("latte".to_string()), ..Options::default() };
        retroshade_r700::isa().compile(&m, &options).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
}

/// What goes to memory is about what the registers do not hold.
#[test]
fn little_more_than_what_does_not_fit_is_spilled() {
    let m = retroshade_ir::parse("limits", &many_live(620)).unwrap();
    let s = retroshade_r700::isa().compile(&m, &Options::default()).unwrap();
    let values = s.stats.detail.get("scratch_bytes").map_or(0, |b| b / 4);
    assert!((1..200).contains(&values), "{values} values in scratch memory, of 620 that live where there are 496 channels");
}

#[test]
fn more_values_than_registers_across_branches_and_loops() {
    // 700 values live across a loop that changes some of them, with a branch inside.
    let mut s = format!("{HEAD}block0:\n    v0 = input.f32x4 %a\n    v1 = extract v0, 0\n    v2 = extract v0, 1\n    v3 = fadd v1, v2\n");
    s.push_str("    v5 = input.i32 %n\n    v6 = iconst.i32 7\n    v7 = and v5, v6\n    v8 = iconst.i32 0\n    v9 = iconst.i32 1\n");
    let live = 700;
    for k in 0..live {
        writeln!(s, "    v{} = fmad v{}, v{}, v2", 1000 + k, if k == 0 { 3 } else { 999 + k }, 1 + k % 2).unwrap();
    }
    s.push_str("    jump block1(v8, v3, v1000)\nblock1(v10: i32, v11: f32, v12: f32):\n    v13 = icmp sge v10, v7\n    br_if v13, block5(v11, v12), block2\n");
    s.push_str("block2:\n    v20 = iadd v10, v9\n    v21 = fmad v11, v1007, v1300\n    v22 = fcmp ogt v21, v1200\n    br_if v22, block3, block4(v21, v12)\n");
    s.push_str("block3:\n    v30 = fmul v12, v1100\n    v31 = fadd v21, v1500\n    v32 = fcmp olt v31, v1650\n    br_if v32, block5(v31, v30), block4(v31, v30)\n");
    s.push_str("block4(v40: f32, v41: f32):\n    jump block1(v20, v40, v41)\nblock5(v50: f32, v51: f32):\n    v52 = fadd v50, v51\n");
    let mut last = 52;
    for k in (0..live).rev() {
        writeln!(s, "    v{} = fadd v{last}, v{}", 3000 + k, 1000 + k).unwrap();
        last = 3000 + k;
    }
    writeln!(s, "    v9999 = build v{last}, v1, v2, v50\n    output %c, v9999\n    return").unwrap();
    run(&s).unwrap();
}

#[test]
fn more_texels_than_registers() {
    let mut s = format!(
        "{HEAD}texture %t : 2d f32 @binding(0)\nblock0:\n    v0 = input.f32x4 %a\n    v1 = extract v0, 0\n    v2 = extract v0, 1\n"
    );
    for k in 0..150 {
        writeln!(s, "    v{} = fmad v{}, v1, v2", 100 + k, if k == 0 { 2 } else { 99 + k }).unwrap();
        writeln!(s, "    v{} = build v{}, v1", 300 + k, 100 + k).unwrap();
        writeln!(s, "    v{} = tex.f32x4 sample zero %t, v{}", 500 + k, 300 + k).unwrap();
    }
    s.push_str("    v1000 = fadd v0, v0\n");
    for k in 0..150 {
        writeln!(s, "    v{} = fmad v{}, v{}, v0", 1001 + k, 1000 + k, 649 - k).unwrap();
    }
    s.push_str("    output %c, v1150\n    return\n");
    run(&s).unwrap();
}

#[test]
fn arrays_longer_than_the_registers_kept_for_them() {
    let s = "local %t : f32x4[100]\nlocal %u : f32[300]\nblock0:
    v0 = input.f32x4 %a
    v1 = input.i32 %n
    v2 = iconst.i32 255
    v3 = and v1, v2
    v4 = extract v0, 1
    v5 = iconst.i32 40
    local_store %t[v3], v0
    local_store %u[v3], v4
    local_store %t[7], v0
    v6 = local_load.f32x4 %t[v3]
    v7 = umin v3, v5
    v8 = fadd v6, v6
    local_store %t[v7 + 50], v8
    v9 = local_load.f32x4 %t[v7 + 48]
    v10 = local_load.f32x4 %t[v7 + 50]
    v11 = local_load.f32 %u[v3]
    v12 = local_load.f32 %u[v7]
    v13 = fadd v9, v10
    v14 = fadd v11, v12
    v15 = splat.f32x4 v14
    v16 = fadd v13, v15
    output %c, v16
    return
";
    run(&format!("{HEAD}{s}")).unwrap();
}

#[test]
fn forty_nested_ifs() {
    let mut s =
        format!("{HEAD}texture %t : 2d f32 @binding(0)\nblock0:\n    v0 = input.f32x4 %a\n    v1 = input.i32 %n\n    v2 = extract v0, 0\n");
    let depth = 40;
    // Every level fetches, so that no branch becomes a select.
    s.push_str("    v3 = extract v0, 1\n    v4 = build v2, v3\n    v5 = fconst.f32 0.0\n    jump block1(v5)\n");
    for d in 0..depth {
        let (b, x, v) = (1 + d, 100 + 10 * d, 101 + 10 * d);
        let (c, k) = (102 + 10 * d, 103 + 10 * d);
        writeln!(s, "block{b}(v{x}: f32):\n    v{k} = iconst.i32 {d}\n    v{c} = icmp sgt v1, v{k}").unwrap();
        let (t, e) = (104 + 10 * d, 105 + 10 * d);
        writeln!(s, "    v{t} = tex.f32x4 sample zero %t, v4\n    v{e} = extract v{t}, {}\n    v{v} = fadd v{x}, v{e}", d % 4).unwrap();
        writeln!(s, "    br_if v{c}, block{}(v{v}), block200(v{x})", b + 1).unwrap();
    }
    writeln!(s, "block{}(v9000: f32):\n    v9001 = fmul v9000, v2\n    jump block200(v9001)", depth + 1).unwrap();
    s.push_str("block200(v9100: f32):\n    v9101 = build v9100, v9100, v2, v3\n    output %c, v9101\n    return\n");
    run(&s).unwrap();
}

#[test]
fn a_loop_in_a_loop_with_breaks_from_both() {
    let s = format!(
        "{HEAD}block0:
    v0 = input.f32x4 %a
    v1 = input.i32 %n
    v2 = extract v0, 0
    v3 = iconst.i32 0
    v4 = iconst.i32 1
    v5 = iconst.i32 7
    v6 = and v1, v5
    v7 = fconst.f32 0.5
    jump block1(v3, v2)
block1(v10: i32, v11: f32):
    v12 = icmp sge v10, v6
    br_if v12, block9(v11), block2(v3, v11)
block2(v20: i32, v21: f32):
    v22 = icmp sge v20, v5
    br_if v22, block6(v21), block3
block3:
    v30 = fmad v21, v7, v2
    v31 = iadd v20, v10
    v32 = icmp eq v31, v6
    br_if v32, block6(v30), block4
block4:
    v40 = fcmp ogt v30, v7
    v41 = iadd v20, v4
    br_if v40, block9(v30), block2(v41, v30)
block6(v60: f32):
    v61 = iadd v10, v4
    jump block1(v61, v60)
block9(v90: f32):
    v91 = build v90, v2, v7, v7
    output %c, v91
    return
"
    );
    run(&s).unwrap();
}

#[test]
fn two_hundred_distinct_literals() {
    let mut s = format!("{HEAD}block0:\n    v0 = input.f32x4 %a\n    v1 = extract v0, 0\n    v2 = extract v0, 1\n");
    let mut last = 1;
    for k in 0..200 {
        let (c, v) = (1000 + 2 * k, 1001 + 2 * k);
        writeln!(s, "    v{c} = fconst.f32 {}.25\n    v{v} = fmad v{last}, v2, v{c}", k + 3).unwrap();
        last = v;
    }
    writeln!(s, "    v5000 = build v{last}, v1, v2, v1\n    output %c, v5000\n    return").unwrap();
    run(&s).unwrap();
}

#[test]
fn eighteen_textures() {
    let mut s = HEAD.to_string();
    for k in 0..18 {
        writeln!(s, "texture %t{k} : 2d f32 @binding({k})").unwrap();
    }
    s.push_str("block0:\n    v0 = input.f32x4 %a\n    v1 = extract v0, 0\n    v2 = extract v0, 1\n    v3 = build v1, v2\n    v4 = fconst.f32x4 [0.0, 0.0, 0.0, 0.0]\n");
    let mut last = 4;
    for k in 0..18 {
        let (t, v) = (100 + 2 * k, 101 + 2 * k);
        writeln!(s, "    v{t} = tex.f32x4 sample zero %t{k}, v3\n    v{v} = fadd v{last}, v{t}").unwrap();
        last = v;
    }
    writeln!(s, "    output %c, v{last}\n    return").unwrap();
    run(&s).unwrap();
}

/// Loops within loops: the work on them must not multiply with every level.
#[test]
fn twenty_nested_loops() {
    let levels = 20;
    let mut s = format!(
        "{HEAD}block0:\n    v0 = input.f32x4 %a\n    v1 = input.i32 %n\n    v2 = iconst.i32 1\n    v3 = and v1, v2\n    v4 = iconst.i32 0\n    v5 = extract v0, 0\n"
    );
    // Block 1 + k heads loop k, block 101 + k closes it; each runs once or twice.
    let sum = |k: usize| if k == 0 { "v5".to_string() } else { format!("v{}", 1001 + 10 * (k - 1)) };
    for k in 0..levels {
        let v = 1000 + 10 * k;
        writeln!(s, "    jump block{}(v4, {})\nblock{}(v{v}: i32, v{}: f32):", 1 + k, sum(k), 1 + k, v + 1).unwrap();
    }
    writeln!(s, "    v5000 = fadd {}, v5\n    jump block{}(v5000)", sum(levels), 100 + levels).unwrap();
    for k in (0..levels).rev() {
        let v = 6000 + 10 * k;
        let next = if k == 0 { "block200".to_string() } else { format!("block{}", 100 + k) };
        writeln!(
            s,
            "block{}(v{v}: f32):\n    v{} = iadd v{}, v2\n    v{} = icmp sle v{}, v3\n    br_if v{}, block{}(v{}, v{v}), {next}(v{v})",
            101 + k,
            v + 1,
            1000 + 10 * k,
            v + 2,
            v + 1,
            v + 2,
            1 + k,
            v + 1
        )
        .unwrap();
    }
    s.push_str("block200(v9000: f32):\n    v9001 = build v9000, v5, v5, v5\n    output %c, v9001\n    return\n");
    let m = retroshade_ir::parse("limits", &s).unwrap_or_else(|e| panic!("{e:?}\n{s}"));
    retroshade_r700::isa().compile(&m, &Options::default()).unwrap();
}
