//! `shaderc reduce`: a source of each language becomes what its failure needs, and nothing else.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod support;

use support::Folder;

/// The program under test, for commands of the reducer.
const SHADERC: &str = env!("CARGO_BIN_EXE_shaderc");

/// Reduces a file; what is left.
fn reduced(f: &Folder, file: &str, command: &str) -> String {
    let o = f.succeeds(&["reduce", file, "--command", command, "-o", "small"]);
    let report = String::from_utf8_lossy(&o.stderr).to_string();
    assert!(report.contains("runs of the command"), "{report}");
    let small = String::from_utf8(f.bytes("small")).unwrap();
    let source = String::from_utf8(f.bytes(file)).unwrap();
    assert!(small.len() < source.len(), "nothing went from\n{small}");
    // What is left shows the failure under the file's own name.
    let check = f.0.join("check");
    std::fs::create_dir_all(&check).unwrap();
    let path = check.join(file);
    std::fs::write(&path, &small).unwrap();
    let shown = std::process::Command::new("sh").arg("-c").arg(command.replace("{}", "\"$0\"")).arg(&path).output().unwrap();
    assert!(shown.status.success(), "the result does not show the failure:\n{small}");
    small
}

// A version that glslang reads at once: of a desktop one that has errors it reads three.
const GLSL: &str = "#version 310 es
precision highp float;
layout(binding = 0) uniform sampler2D albedo;
layout(std140, binding = 1) uniform Light { vec4 tint[4]; } light;
layout(location = 0) out float o;

float square(float x) { return x * x; }

float lit(float base) {
    if (base > 0.5) {
        return base * light.tint[1].y;
    }
    return square(base);
}

void main() {
    float texel = texture(albedo, gl_FragCoord.xy).x;
    for (int i = 0; i < 4; i++) {
        texel += light.tint[i].x; // a comment
    }
    /* the part that matters */
    o = dFdx(gl_FragCoord.x);
    o += lit(texel);
}
";

#[test]
fn glsl_keeps_the_operation_that_a_command_looks_for() {
    let f = Folder::new("reduce-glsl").with("bad.frag", GLSL);
    // What is quick to see is asked first, as one does.
    let small = reduced(&f, "bad.frag", &format!("grep -q dFdx {{}} && {SHADERC} --emit ir {{}} | grep -q '= ddx'"));
    assert!(small.contains("dFdx") && small.contains("void main"), "{small}");
    for gone in ["sampler2D", "Light", "square", "lit", "for", "comment", "matters", "if"] {
        assert!(!small.contains(gone), "`{gone}` is still there:\n{small}");
    }
    assert!(small.len() < 70, "{} bytes are left:\n{small}", small.len());
}

#[test]
fn wgsl_keeps_the_error_that_a_command_looks_for() {
    let source = "struct Uniforms { mvp: mat4x4<f32>, tint: array<vec4<f32>, 4>, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read_write> results: array<u32, 64>;

fn helper(x: u32) -> u32 {
    var total = x;
    for (var i = 0u; i < 3u; i++) { total = total * 5u + i; }
    return total;
}

@compute @workgroup_size(8, 2, 1)
fn main(@builtin(local_invocation_index) n: u32) {
    let t = u.tint[n & 3u];
    if (t.x > 1.0) { results[n] = helper(n); } else { results[n] = u32(t.y); }
}
";
    let f = Folder::new("reduce-wgsl").with("bad.wgsl", source);
    // PICA200 has no compute programs.
    let small = reduced(&f, "bad.wgsl", &format!("{SHADERC} -t pica {{}} 2>&1 | grep -q 'C0011'"));
    for gone in ["Uniforms", "results", "helper", "if", "let"] {
        assert!(!small.contains(gone), "`{gone}` is still there:\n{small}");
    }
    assert!(small.contains("@compute") && small.len() < 60, "{} bytes are left:\n{small}", small.len());
}

const IR: &str = "shader fragment \"t\"
input %a : f32x4 @location(0)
input %b : f32 @location(1)
uniform %u : f32x4 @group(0) @binding(0) @offset(0)
output %o : f32x4 @location(0)
block0:
    v0 = input.f32x4 %a
    v1 = input.f32 %b
    v2 = const.f32 0.25
    v3 = fmul v1, v2
    v4 = call @half(v3)
    v5 = fsqrt v4
    v6 = fcmp olt v5, v2
    br_if v6, block1, block2
block1:
    v7 = fadd v0, v0
    jump block3(v7)
block2:
    v8 = call @dark(v0)
    jump block3(v8)
block3(v9: f32x4):
    output %o, v9
    return

func @half(v0: f32) -> f32 {
block0:
    v1 = const.f32 0.5
    v2 = fmul v0, v1
    return v2
}

func @dark(v0: f32x4) -> f32x4 {
block0:
    v1 = fneg v0
    return v1
}
";

#[test]
fn ir_loses_functions_blocks_and_values() {
    let f = Folder::new("reduce-ir").with("bad.ir", IR);
    let o = f.run(&["--emit", "ir", "bad.ir"]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    let small = reduced(&f, "bad.ir", &format!("{SHADERC} --emit ir {{}} | grep -q '= fsqrt '"));
    for gone in ["call", "func", "br_if", "block1", "%u", "%a", "output"] {
        assert!(!small.contains(gone), "`{gone}` is still there:\n{small}");
    }
    assert!(small.contains("fsqrt") && small.lines().count() <= 5, "{small}");
}

#[test]
fn the_command_must_show_the_failure_at_first_and_files_stay() {
    let f = Folder::new("reduce-no").with("good.frag", GLSL).with("old", "kept");
    let o = f.run(&["reduce", "good.frag", "--command", "false", "-o", "old"]);
    assert_eq!(o.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&o.stderr).contains("good.frag: error[C0030]"), "{o:?}");
    assert_eq!(f.bytes("old"), b"kept");
    let o = f.run(&["reduce", "good.frag", "--command", "true", "-o", "good.frag"]);
    assert!(!o.status.success() && String::from_utf8_lossy(&o.stderr).contains("C0016"), "{o:?}");
    assert_eq!(f.bytes("good.frag"), GLSL.as_bytes());
    // The path is the last argument where the command does not say where it goes; the result goes to stdout.
    let o = f.succeeds(&["reduce", "good.frag", "--command", "grep -q dFdx"]);
    assert_eq!(String::from_utf8_lossy(&o.stdout).trim(), "dFdx");
    let o = f.succeeds(&["reduce", "good.frag", "--attempts", "3", "--command", "grep -q dFdx"]);
    assert!(String::from_utf8_lossy(&o.stderr).contains("3 runs"), "{o:?}");
    let o = f.run(&["reduce", "a.spv", "--command", "true"]);
    assert_eq!(o.status.code(), Some(2));
}
