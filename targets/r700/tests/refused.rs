//! Every reason to refuse a program has a case here, and each names its code.
#![allow(clippy::unwrap_used)]

use retroshade_lower::{Options, TargetIsa};
use std::collections::BTreeSet;
use std::fmt::Write;

const FRAGMENT: &str =
    "shader fragment \"refused\"\ninput %a : f32x4 @location(0)\ninput %n : i32 @location(1)\noutput %c : f32x4 @location(0)\n";
const BODY: &str = "block0:\n    v0 = input.f32x4 %a\n    v1 = input.i32 %n\n";
const END: &str = "    output %c, v9\n    return\n";

fn fragment(declarations: &str, body: &str) -> String {
    format!("{FRAGMENT}{declarations}\n{BODY}{body}{END}")
}

fn geometry(invocations: &str, body: &str) -> String {
    format!(
        "shader geometry \"refused\"\ngeometry points -> point_list\ninput %a : f32x4[1] @location(0)\noutput %c : f32x4 @position\nblock0:\n    v0 = input.f32x4 %a\n    output %c, v0\n{body}    return\n"
    )
    .replace("point_list", &format!("points max_vertices(2){invocations}"))
}

fn cases() -> Vec<(&'static str, String)> {
    let mut inputs = String::from("shader fragment \"refused\"\noutput %c : f32x4 @location(0)\n");
    let mut sum = String::new();
    for k in 0..8 {
        writeln!(inputs, "input %i{k} : f32x4[16] @location({})", 16 * k).unwrap();
        writeln!(sum, "    v{k} = input.f32x4 %i{k}").unwrap();
    }
    let mut buffers = String::new();
    for k in 0..17 {
        writeln!(buffers, "uniform %u{k} : f32x4 @binding({k})").unwrap();
    }
    // An array that fills scratch memory, and more values in each lane than registers.
    let mut live = String::from("    local_store %t[v1], v0\n    v11 = local_load.f32x4 %t[v1 + 3]\n    v12 = fadd v0, v11\n");
    let (mut last, count) = (12, 520);
    for _ in 0..count {
        writeln!(live, "    v{} = fmad v{last}, v0, v11", last + 1).unwrap();
        last += 1;
    }
    let mut total = 12;
    for k in (13..=last).rev() {
        let next = 10_000 + k;
        writeln!(live, "    v{next} = fmad v{total}, v{k}, v0").unwrap();
        total = next;
    }
    writeln!(live, "    v9 = fadd v{total}, v0").unwrap();
    vec![
        ("R0101", fragment("input %v : i32 @view_index", "    v2 = input.i32 %v\n    v3 = s2f.f32 v2\n    v9 = splat.f32x4 v3\n")),
        ("R0102", geometry("", "    emit_vertex 1\n")),
        ("R0103", fragment("storage %s : f32[] @binding(0)", "    v2 = extract v0, 0\n    storage_store %s, v2\n    v9 = fadd v0, v0\n")),
        ("R0104", format!("{FRAGMENT}input %h : f16x4 @location(2)\n{BODY}    v2 = input.f16x4 %h\n    v9 = fcvt.f32x4 v2\n{END}")),
        ("R0106", fragment("uniform %u : f32x4[9] @binding(0) @unit(8)", "    v2 = uniform.f32x4 %u[v1]\n    v9 = fadd v2, v0\n")),
        (
            "R0110",
            fragment("texture %t : 2d f32 @binding(0)", "    v2 = shuffle v0, v0, [0, 1]\n    v9 = tex.f32x4 gather component(2) %t, v2\n"),
        ),
        (
            "R0111",
            fragment(
                "texture %t : cube shadow f32 @binding(0)",
                "    v2 = shuffle v0, v0, [0, 1, 2]\n    v3 = extract v0, 3\n    v4 = tex.f32 sample level compare %t, v2, v3, v3\n    v9 = splat.f32x4 v4\n",
            ),
        ),
        ("R0112", geometry(" invocations(2)", "    emit_vertex\n")),
        (
            "R0113",
            fragment("storage %s : f32[] @binding(0)", "    v2 = storage_load.f32 %s[v1]\n    v3 = splat.f32x4 v2\n    v9 = fadd v0, v3\n"),
        ),
        ("R0301", format!("{inputs}block0:\n{sum}    v9 = fadd v0, v7\n{END}")),
        ("R0302", format!("{FRAGMENT}output %d : f32x4 @location(8)\n{BODY}    output %d, v0\n    v9 = fadd v0, v0\n{END}")),
        ("R0303", fragment(&buffers, "    v2 = uniform.f32x4 %u16\n    v9 = fadd v0, v2\n")),
        ("R0304", fragment("local %t : f32x4[5000]", "    local_store %t[v1], v0\n    v9 = local_load.f32x4 %t[v1 + 3]\n")),
        ("R0305", fragment("uniform %u : f32x4[9] @binding(0) @offset(81920)", "    v9 = uniform.f32x4 %u[v1]\n")),
        ("R0306", fragment("local %t : f32x4[4094]", &live)),
        ("R0308", {
            let all: String = (0..19).map(|k| format!("texture %t{k} : 2d f32 @binding({k})\n")).collect();
            fragment(&all, "    v2 = shuffle v0, v0, [0, 1]\n    v9 = tex.f32x4 sample zero %t18, v2\n")
        }),
        ("R0309", {
            let stores: String = (0..31).map(|k| format!("    output %x[{k}], v0\n")).collect();
            let many = geometry("", &format!("{stores}    emit_vertex\n")).replace("max_vertices(2)", "max_vertices(256)");
            many.replace("block0", "output %x : f32x4[31] @location(0)\nblock0")
        }),
        ("R0310", fragment("uniform %u : f32x4[4097:16] @binding(0)", "    v9 = uniform.f32x4 %u[v1]\n")),
        ("R0307", fragment("uniform %u : f32x4 @binding(0) @offset(81920)", "    v2 = uniform.f32x4 %u\n    v9 = fadd v0, v2\n")),
    ]
}

#[test]
fn every_case_names_its_code() {
    let isa: &dyn TargetIsa = retroshade_r700::isa();
    for (code, text) in cases() {
        let m = retroshade_ir::parse(code, &text).unwrap_or_else(|e| panic!("{code}: {e}\n{text}"));
        if let Err(e) = retroshade_ir::verify(&m) {
            panic!("{code}: {e:?}\n{text}");
        }
        // What the Wii U alone lacks.
        let options = Options { chip: ["R0113", "R0310"].contains(&code).then(|| "latte".to_string()), ..Options::default() };
        let e = isa.compile(&m, &options).map(|s| s.asm).unwrap_err().to_string();
        assert!(e.contains(code), "{code}: {e}");
    }
}

#[test]
fn every_code_has_a_case() {
    let mut codes = BTreeSet::new();
    let mut stack = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(p) = stack.pop() {
        if p.is_dir() {
            stack.extend(std::fs::read_dir(&p).unwrap().map(|e| e.unwrap().path()));
            continue;
        }
        let text = std::fs::read_to_string(&p).unwrap();
        codes.extend(
            text.split('"')
                .filter(|w| w.len() == 5 && w.starts_with('R') && w[1..].bytes().all(|b| b.is_ascii_digit()))
                .map(str::to_string),
        );
    }
    // What only programs of one file lack has its case among theirs (`wiiu.rs`).
    let tested: BTreeSet<String> = cases().into_iter().map(|c| c.0.to_string()).chain(["R0114".to_string()]).collect();
    assert_eq!(codes, tested);
}
