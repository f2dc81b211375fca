//! Every error code of the command and of the front end, by the smallest input that gives it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files to write, and the arguments; a file's name among them stands for its path.
struct Case {
    code: &'static str,
    status: i32,
    files: &'static [(&'static str, &'static str)],
    arguments: &'static [&'static str],
}

const fn case(code: &'static str, status: i32, files: &'static [(&'static str, &'static str)], arguments: &'static [&'static str]) -> Case {
    Case { code, status, files, arguments }
}

const IR: &str = "shader vertex \"t\"\ninput %a : f32x4 @location(0)\noutput %p : f32x4 @position\nblock0:\n    v0 = input.f32x4 %a\n    \
                  output %p, v0\n    return\n";
const COMPUTE: &str = "shader compute \"t\"\nblock0:\n    return\n";
const WGSL: &str = "@vertex fn main(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> { return p; }";
const FRAGMENT: &str = "@fragment fn main(@location(0) c: vec4<f32>) -> @location(0) vec4<f32> { return c; }";
const TEXTURED: &str = "@group(0) @binding(0) var t: texture_cube<f32>; @group(0) @binding(1) var s: sampler; \
                        @fragment fn main(@location(0) c: vec3<f32>) -> @location(0) vec4<f32> { return textureSample(t, s, c); }";
const BOTH: &str = "@vertex fn v(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> { return p; } \
                    @fragment fn f() -> @location(0) vec4<f32> { return vec4(1.0); }";
const TESLA: &[&str] = &["--target", "tesla", "a.wgsl"];

/// Codes that the command gives, each with an input.
#[rustfmt::skip]
const CASES: &[Case] = &[
    case("A0001", 1, &[("a.s", "frobnicate r0\n")], &["asm", "--target", "tesla", "--emit", "bin", "-o", "out.bin", "a.s"]),
    case("C0035", 1, &[("a.ir", "shader vertex \"t\"\nblock0:\n    jump block1\nblock1:\n    jump block1\n")], &["--target", "tesla", "a.ir"]),
    case("C0002", 2, &[("a.ir", IR)], &["--target", "nonesuch", "a.ir"]),
    case("C0003", 1, &[], &["--target", "tesla", "nowhere.ir"]),
    case("C0005", 1, &[("a.ir", IR), ("file", "")], &["--target", "tesla", "-o", "file/out.bin", "a.ir"]),
    case("C0006", 1, &[("a.ir", IR)], &["--target", "tesla", "--stage", "fragment", "a.ir"]),
    case("C0007", 1, &[("a.ir", IR)], &["--target", "tesla", "--entry", "other", "a.ir"]),
    case("C0010", 1, &[("a.ir", IR)], &["--target", "tesla", "--emit", "vitagl", "-o", "out.bin", "a.ir"]),
    case("C0011", 1, &[("a.ir", COMPUTE)], &["--target", "pica", "a.ir"]),
    case("C0014", 1, &[("a.vert", "#version 330\nout vec2 uv;\nvoid main() { gl_Position = vec4(1.0); uv = vec2(1.0); }"), ("b.frag", "#version 330\nin vec4 shade; out vec4 c;\nvoid main() { c = shade; }")], &["--target", "tesla", "--after", "a.vert", "b.frag"]),
    case("C0015", 2, &[("a.ir", IR)], &["--target", "tesla", "-o", "x.o", "--depfile", "x.o", "a.ir"]),
    case("C0016", 2, &[("a.ir", IR)], &["--target", "tesla", "-o", "a.ir", "a.ir"]),
    case("C0017", 1, &[("a.ir", IR), ("b.json", "[]")], &["compare", "--format", "html", "--baseline", "b.json", "a.ir"]),
    case("C0018", 1, &[("a.jsonl", "{ \"file\": \"a.ir\", \"tarket\": \"tesla\" }")], &["batch", "-o", "out.bin", "a.jsonl"]),
    case("C0019", 1, &[], &["explain", "Q1234"]),
    case("C0021", 1, &[("a.s", ""), ("m.json", "{}")], &["dis", "--target", "tesla", "--map", "m.json", "a.s"]),
    case("C0022", 0, &[("a.ir", IR), ("b.json", "{ \"version\": 1, \"shaders\": [] }")], &["compare", "--format", "html", "--baseline", "b.json", "-o", "out.html", "a.ir"]),
    case("F0004", 1, &[("a.wgsl", "enable wgpu_mesh_shader; struct P { x: u32 } var<task_payload> p: P; @task @payload(p) @workgroup_size(1) fn main() -> @builtin(mesh_task_size) vec3<u32> { return vec3(1u); }")], TESLA),
    case("F0005", 1, &[("a.glsl", "#version 450\nvoid main() {}")], &["--target", "tesla", "a.glsl"]),
    case("F0006", 1, &[("a.wgsl", WGSL)], &["--target", "tesla", "--entry", "other", "a.wgsl"]),
    case("F0007", 1, &[("a.wgsl", "@compute @workgroup_size(1) fn a() {} @compute @workgroup_size(1) fn b() {}")], TESLA),
    case("F0010", 1, &[("a.wgsl", "fn main( {")], TESLA),
    case("F0011", 1, &[("a.vert", "#version 450\nvoid main() { gl_Position = undefined_name; }")], &["--target", "tesla", "a.vert"]),
    case("F0012", 1, &[("a.spv", "\u{3}\u{2}#\u{7}")], &["--target", "tesla", "a.spv"]),
    case("F0013", 1, &[("a.wgsl", "var<uniform> u: vec4<f32>; @fragment fn main() -> @location(0) vec4<f32> { return u; }")], TESLA),
    case("F0014", 1, &[("a.wgsl", WGSL)], &["--target", "tesla", "--define", "nothing=1", "a.wgsl"]),
    case("F0015", 1, &[("a.wgsl", "override k: f32; @fragment fn main() -> @location(0) vec4<f32> { return vec4(k); }")], TESLA),
    case("F0016", 1, &[("a.ir", IR)], &["--target", "pica", "--range", "n=1..2", "a.ir"]),
    case("F0024", 1, &[("a.frag", "#version 330\nuniform float y;\nuniform float x = y; out vec4 c; void main() { c = vec4(x); }")], &["--target", "tesla", "a.frag"]),
    case("F0025", 1, &[("a.frag.hlsl", "bool2x2 f() { bool2x2 n; n[0] = true; n[1] = true; return n; }\nfloat4 main() : SV_Target { return ((true ? f() : f()) + (true ? f() : f()))[0][0] ? 1 : 0; }")], &["--target", "tesla", "a.frag.hlsl"]),
    case("F0114", 1, &[("a.wgsl", "@fragment fn main(@location(0) x: f32) -> @location(0) vec4<f32> { return vec4(f32(f64(x) * 2.0lf)); }")], TESLA),
    case("F0022", 1, &[("a.frag", "#version 450\nlayout(binding = 0) uniform texture2D a; layout(binding = 1) uniform sampler b; uniform float k; layout(location = 0) out vec4 o; vec4 f(texture2D t, sampler s) { return texture(sampler2D(t, s), vec2(k)); } void main() { o = f(a, b); }")], &["--target", "tesla", "a.frag"]),
    case("F0120", 1, &[("a.wgsl", "enable wgpu_ray_query; @compute @workgroup_size(1) fn main() { var q: ray_query; _ = rayQueryProceed(&q); }")], TESLA),
    case("F0122", 1, &[("a.comp", "#version 450\n#extension GL_EXT_shader_16bit_storage : enable\n#extension GL_EXT_scalar_block_layout : enable\nlayout(scalar, binding = 0) uniform U { float16_t a[4]; }; layout(binding = 1) buffer B { float c; }; void main() { c = float(a[1]); }")], &["--target", "tesla", "a.comp"]),
    case("F0124", 1, &[("a.frag", "#version 450\nlayout(location = 0) out vec4 o; void main() { o = vec4(gl_HelperInvocation); }")], &["--target", "tesla", "a.frag"]),
    case("F0133", 1, &[("a.comp", "#version 450\n#extension GL_KHR_shader_subgroup_quad : enable\nlayout(binding = 0) buffer B { uint c; }; void main() { c = subgroupQuadSwapHorizontal(c); }")], &["--target", "tesla", "a.comp"]),
    case("F0135", 1, &[("a.frag", "#version 450\n#extension GL_EXT_nonuniform_qualifier : enable\nlayout(binding = 0) uniform sampler2D t[]; layout(location = 0) flat in int i; layout(location = 0) out vec4 c; void main() { c = texture(t[i], vec2(0.0)); }")], &["--target", "tesla", "a.frag"]),
    case("F0151", 1, &[("a.wgsl", "@group(0) @binding(0) var t: texture_storage_2d<r64uint, read_write>; @compute @workgroup_size(1) fn main() { _ = textureDimensions(t); }")], TESLA),
    case("R0003", 1, &[("a.ir", IR), ("b.json", "[")], &["run", "--bind", "b.json", "a.ir"]),
    case("R0004", 3, &[("a.wgsl", FRAGMENT)], &["render", "--size", "100000x100000", "-o", "out.png", "a.wgsl"]),
    case("R0005", 1, &[("a.wgsl", "@fragment fn main(@location(0) c: f32) -> @builtin(frag_depth) f32 { return c; }")], &["render", "--size", "4x4", "-o", "out.png", "a.wgsl"]),
    case("R0006", 1, &[("a.wgsl", TEXTURED), ("t.png", "no picture")], &["render", "--size", "4x4", "-o", "out.png", "--texture", "t=t.png", "a.wgsl"]),
    case("R0007", 1, &[("a.wgsl", BOTH), ("m.obj", "v 0 0 0\n")], &["render", "--mesh", "m.obj", "-o", "out.png", "a.wgsl"]),
];

/// Codes that are tested elsewhere, or that no input gives: a failure of the machine, of naga, or of something that the
/// verifier and naga's validation keep away.
const OTHERWISE: &[(&str, &str)] = &[
    ("C0004", "inputs of more than 64 MiB: `bad_input.rs`"),
    ("C0009", "no target's assembler leaves a program without what its container needs"),
    ("C0013", "`bad_input.rs`"),
    ("C0020", "`batch.rs`"),
    ("C0030", "`reduce.rs`"),
    ("C0031", "`limits.rs`"),
    ("C0032", "`limits.rs`"),
    ("C0033", "`limits.rs`"),
    ("W0001", "`warnings.rs`"),
    ("W0002", "`warnings.rs`"),
    ("W0003", "`warnings.rs`"),
    ("W0004", "`warnings.rs`"),
    ("W0005", "`warnings.rs`"),
    ("W0006", "`warnings.rs`"),
    ("A0002", "`pica.rs`"),
    ("E0002", "`bad_input.rs`"),
    ("R0001", "the bind file's reader finds what is wrong with it first (R0003)"),
    ("R0002", "`bad_input.rs`"),
    ("R0005", "`vita.rs`"),
    ("R0008", "a note, for a picture that is drawn: `pictures.rs`"),
    ("R0009", "a note, for a picture that is drawn: `pictures.rs`"),
    ("F0002", "a panic in a reader"),
    ("F0003", "no thread can be started"),
    ("F0008", "a build without a language"),
    ("F0111", "accesses: naga checks their types"),
    ("F0112", "stores: naga checks their types"),
    ("F0113", "stores: naga checks what may be written"),
    ("F0115", "operands: naga checks their types"),
    ("F0110", "variables: glslang and naga know only types that a program can have"),
    ("F0121", "buffers: naga wants types with a layout"),
    ("F0123", "inputs and outputs: naga wants scalars and vectors with a place"),
    ("F0125", "naga lists what a function uses"),
    ("F0130", "naga computes before it uses"),
    ("F0131", "an override without a value is refused first (F0015)"),
    ("F0134", "naga computes constants"),
    ("F0136", "a store to a texture that samplers read: glslang and naga refuse it first"),
    ("F0140", "operands: naga checks their number and types"),
    ("F0150", "resources: naga checks their types"),
    ("F0137", "atomics on what is no number: glslang and naga check their types"),
    ("F0138", "functions that call themselves: glslang and naga refuse them first"),
    ("F0142", "operations of SPIR-V that no front end writes: no case yet"),
    ("F0154", "a least level of a sample: no case yet"),
    ("F0160", "irreducible control flow, which only SPIR-V can say: no case yet"),
    ("F0152", "naga checks offsets"),
];

fn folder(name: &str) -> PathBuf {
    let f = std::env::temp_dir().join(format!("shaderc-codes-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&f).unwrap();
    f
}

#[test]
fn every_case_gives_its_code() {
    let mut wrong = Vec::new();
    for c in CASES {
        let f = folder(c.code);
        for (name, text) in c.files {
            std::fs::write(f.join(name), text).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_shaderc"));
        command.current_dir(&f).args(["--message-format", "json"]).args(c.arguments);
        let o = command.output().unwrap();
        let text = String::from_utf8_lossy(&o.stderr).into_owned();
        let codes: Vec<String> = text
            .lines()
            .filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok())
            .filter_map(|v| v["code"].as_str().map(str::to_string))
            .collect();
        if !codes.iter().any(|x| x == c.code) || o.status.code() != Some(c.status) {
            wrong.push(format!("{}: status {:?}, codes {codes:?}: {text}", c.code, o.status.code()));
        }
        if f.join("out.png").exists() || f.join("out.bin").exists() {
            wrong.push(format!("{}: wrote a file", c.code));
        }
        std::fs::remove_dir_all(&f).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Codes in quotes in the sources below a folder, but for tests and for the tables that explain them.
fn codes(root: &Path, prefixes: &[char]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut stack = vec![root.to_path_buf()];
    while let Some(p) = stack.pop() {
        if p.is_dir() && !["codes", "tests"].iter().any(|n| p.ends_with(n)) {
            stack.extend(std::fs::read_dir(&p).unwrap().map(|e| e.unwrap().path()));
        }
        if !p.is_file() || p.ends_with("tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&p).unwrap();
        for word in text.split("#[cfg(test)]\nmod tests").next().unwrap_or("").split('"') {
            if word.len() == 5 && word.starts_with(prefixes) && word[1..].bytes().all(|b| b.is_ascii_digit()) {
                out.insert(word.to_string());
            }
        }
    }
    out
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_code_has_a_case() {
    let mut all = codes(&root().join("cli/src"), &['A', 'C', 'R']);
    all.extend(codes(&root().join("core/src"), &['A', 'C', 'R', 'W']));
    all.extend(codes(&root().join("frontend/src"), &['F']));
    let missing: Vec<&String> =
        all.iter().filter(|c| !CASES.iter().any(|x| x.code == *c) && !OTHERWISE.iter().any(|(x, _)| x == c)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
    let given = everywhere();
    let gone: Vec<&str> = CASES.iter().map(|c| c.code).chain(OTHERWISE.iter().map(|o| o.0)).filter(|c| !given.contains(*c)).collect();
    assert!(gone.is_empty(), "{gone:?} are given nowhere");
}

/// Every code that some source gives.
fn everywhere() -> BTreeSet<String> {
    let letters: Vec<char> = ('A'..='X').collect();
    let crates = ["ir", "lower", "emit", "regalloc", "frontend", "core", "filetests", "cli", "capi"];
    let mut all: BTreeSet<String> = crates.iter().flat_map(|c| codes(&root().join(c).join("src"), &letters)).collect();
    all.extend(std::fs::read_dir(root().join("targets")).unwrap().flat_map(|t| codes(&t.unwrap().path().join("src"), &letters)));
    all
}

#[test]
fn every_code_is_explained_and_no_other() {
    let given = everywhere();
    assert!(given.len() > 150);
    let unexplained: Vec<&String> = given.iter().filter(|c| retroshade::codes::explain(c).is_none()).collect();
    assert!(unexplained.is_empty(), "no row in core/src/codes for {unexplained:?}");
    let all = retroshade::codes::all();
    let unused: Vec<&str> = all.iter().map(|e| e.code).filter(|c| !given.contains(*c)).collect();
    assert!(unused.is_empty(), "{unused:?} are given nowhere");
    assert!(all.windows(2).all(|w| w[0].code < w[1].code), "a code has two rows");
    for e in &all {
        assert!(!e.title.is_empty() && e.cause.ends_with(['.', ')']) && e.remedy.ends_with('.'), "{}", e.code);
    }
}

#[test]
fn the_page_of_codes_is_current() {
    let (path, new) = (root().join("docs/codes.md"), retroshade::codes::page());
    if std::env::var_os("SHADERC_BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, &new).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == new, "docs/codes.md is not current: SHADERC_BLESS=1 rewrites it");
}

#[test]
fn explain_says_what_why_and_what_to_do() {
    let run = |arguments: &[&str]| {
        let o = Command::new(env!("CARGO_BIN_EXE_shaderc")).args(arguments).output().unwrap();
        (o.status.code(), String::from_utf8(o.stdout).unwrap(), String::from_utf8(o.stderr).unwrap())
    };
    let (status, text, _) = run(&["explain", "p0303"]);
    assert_eq!(status, Some(0));
    assert!(text.starts_with("P0303: ") && text.contains("96 float registers") && text.contains("--pack-uniforms"), "{text}");
    let (_, list, _) = run(&["explain"]);
    assert!(list.lines().count() > 150 && list.contains("\nF0011  "), "{list}");
    let (status, _, wrong) = run(&["explain", "P0333"]);
    assert_eq!(status, Some(1));
    assert!(wrong.contains("did you mean `P03"), "{wrong}");
}
