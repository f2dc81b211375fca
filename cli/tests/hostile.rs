//! Inputs that made naga hang, use gigabytes or overflow its stack, and their relatives: the program ends with a message, within an address space
//! that leaves little beside its own code and stack, and long before a limit of processor time that only a hang reaches.
//!
//! The classes are those of wgpu's issues 4352, 5652, 5757, 5759, 6872, 6964 and 7687 and naga's 930, 1496 and 2591; the texts are our own.
#![cfg(unix)]

use std::path::PathBuf;
use std::process::Command;

/// Kilobytes: the program, its 192 MiB of stack, the allocator's reserves, and 256 MiB.
const SPACE: u32 = 900_000;

fn folder() -> PathBuf {
    let f = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    std::fs::create_dir_all(&f).expect("a folder");
    f
}

/// Compiles for Tesla; gives the exit status and what was said.
fn compile(name: &str, source: &[u8]) -> (Option<i32>, String) {
    let path = folder().join(name);
    std::fs::write(&path, source).expect("written");
    let script = format!("ulimit -v {SPACE}; ulimit -t 20; exec \"$0\" --target tesla --emit stats -o /dev/null \"$1\"");
    let out = Command::new("sh").arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_shaderc")).arg(&path).output().expect("runs");
    (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
}

fn refused(name: &str, source: &str) {
    let (status, text) = compile(name, source.as_bytes());
    assert!(matches!(status, Some(1 | 3)), "{name}: {status:?} {text}");
    assert!(text.contains("error["), "{name}: {text}");
}

/// Anything but a crash, a hang or too much memory.
fn harmless(name: &str, source: &str) {
    let (status, text) = compile(name, source.as_bytes());
    assert!(matches!(status, Some(0 | 1 | 3)), "{name}: {status:?} {text}");
}

fn w(body: &str) -> String {
    format!("@fragment fn main(@location(0) x: f32) -> @location(0) vec4<f32> {{ {body} }}")
}

fn g(body: &str) -> String {
    format!("#version 450\nlayout(location = 0) in float x;\nlayout(location = 0) out vec4 o;\n{body}")
}

fn around(open: &str, inner: &str, close: &str, n: usize) -> String {
    format!("{}{inner}{}", open.repeat(n), close.repeat(n))
}

#[test]
fn deep_nesting() {
    refused("parens-open.wgsl", &format!("fn f() {{ return {}", "(".repeat(20_000)));
    refused("parens.wgsl", &w(&format!("return vec4({});", around("(", "x", ")", 100_000))));
    refused("braces-open.wgsl", &format!("fn f() {}", "{".repeat(20_000)));
    refused("parens.frag", &g(&format!("void main() {{ o = vec4({}); }}", around("(", "x", ")", 20_000))));
    refused("braces.frag", &g(&format!("void main() {{ {} }}", around("if (x > 0.0) {", "o.x = 1.0;", "}", 5_000))));
    refused("else-if.frag", &g(&format!("void main() {{ {} {{ }} }}", "if (x == 1.0) { o.x = 1.0; } else ".repeat(5_000))));
    refused("parens-es.frag", &format!("#version 100\nvoid main() {{ gl_FragColor = vec4({}); }}", around("(", "1.0", ")", 30_000)));
    refused("not.wgsl", &w(&format!("return vec4({}x);", "!".repeat(100_000))));
    refused("address.wgsl", &w(&format!("var a = 1.0; return vec4({}a);", "*&".repeat(50_000))));
    refused("pointer.wgsl", &format!("alias t = {}; {}", around("ptr<function,", "f32", ">", 50_000), w("return vec4(x);")));
    refused("index.wgsl", &w(&format!("var a: array<i32, 4>; return vec4(f32({}));", around("a[", "0", "]", 9_000))));
    refused("swizzle.wgsl", &w(&format!("let v = vec4(x); return v{};", ".xyzw".repeat(9_000))));
    refused("braced-values.frag", &g(&format!("void main() {{ float a[3] = {}; }}", around("{", "1.0", "}", 30_000))));
    harmless("assign.frag", &g(&format!("void main() {{ float a; {} x; o = vec4(a); }}", "a = ".repeat(40_000))));
    harmless("comments.wgsl", &"/*".repeat(200_000));
    harmless("calls.wgsl", &{
        let f: String = (1..3_000).map(|i| format!("fn f_{i}(x: f32) -> f32 {{ return f_{}(x); }}\n", i - 1)).collect();
        format!("fn f_0(x: f32) -> f32 {{ return x; }}\n{f}{}", w("return vec4(f_2999(x));"))
    });
}

#[test]
fn gigabytes_in_one_line() {
    refused("6872.wgsl", "fn g() { let c = 6 < array<f32, 49496295>(); }");
    refused("value.wgsl", &w("let b = array<f32, 49496295>(); return vec4(b[i32(x)]);"));
    refused("equal.wgsl", &format!("const b = array<f32, 4294967295>() == array<f32, 4294967295>(); {}", w("return vec4(x);")));
    refused("composed.wgsl", &format!("const b = array<vec4<f32>, 49496295>(); const d = array(b, b, b); {}", w("return d[1][i32(x)];")));
    harmless("element.wgsl", &w("const b = array<array<array<f32, 3000>, 3000>, 3000>(); return vec4(b[1][2][3]);"));
    refused("workgroup.wgsl", "var<workgroup> a: array<u32, 1073741824>; @compute @workgroup_size(64) fn main() { a[0] = 1u; }");
    refused("size.wgsl", "@compute @workgroup_size(4294967295, 4294967295, 4294967295) fn main() { }");
    refused(
        "override.wgsl",
        "override n: u32 = 4294967295; var<workgroup> a: array<u32, n>; @compute @workgroup_size(64) fn main() { a[0] = 1u; }",
    );
    refused(
        "members.wgsl",
        &format!("struct S {{ @size(4294967292) a: f32, b: f32 }}; @group(0) @binding(0) var<storage> s: S; {}", w("return vec4(s.b);")),
    );
    refused("array.frag", &g("const float a[999999999] = float[](1.0); void main() { o = vec4(a[int(x)]); }"));
    refused("arrays.frag", &g("float a[65536][65536][65536]; void main() { o = vec4(a[1][2][3]); }"));
    refused("uniforms.frag", &g("layout(binding = 0) uniform U { mat4 a[65536][65536][65536]; }; void main() { o = a[1][2][3][0]; }"));
    refused("samplers.frag", "#version 100\nuniform sampler2D t[99999999];\nvoid main() { gl_FragColor = texture2D(t[0], vec2(0.0)); }");
    refused("varyings.frag", "#version 100\nvarying vec4 v[99999999];\nvoid main() { gl_FragColor = v[0]; }");
    harmless("shift.vert", "#version 450\nvoid main() { int x = 1 << -1; gl_Position = vec4(x); }");
    refused(
        "vertices.geom",
        "#version 330\nlayout(points) in; layout(points, max_vertices = 4294967295) out;\nvoid main() { EmitVertex(); }",
    );
}

#[test]
fn multiplication() {
    let structs: String = (1..28).map(|i| format!("struct s_{i} {{ a: s_{0}, b: s_{0} }}\n", i - 1)).collect();
    refused(
        "structs.wgsl",
        &format!("struct s_0 {{ x: f32 }}\n{structs}{}", w(&format!("var s: s_27; return vec4(s{}.x);", ".a".repeat(27)))),
    );
    refused(
        "macros.frag",
        &g(&{
            let d: String = (1..60).map(|i| format!("#define A{i} A{0} + A{0}\n", i - 1)).collect();
            format!("#define A0 1.0\n{d}void main() {{ o = vec4(A59); }}")
        }),
    );
    refused("macros-in-macros.frag", &g("#define f(x) f(x) f(x)\n#define g(x) f(f(f(f(x))))\nvoid main() { o = vec4(g(g(g(g(g(1)))))); }"));
    refused("macro-hash.frag", "#version 450\n#define m#0#\n#if m\nvoid main() {}");
    refused("macro-open.frag", "#version 450\n#define a b(\n#define b(x)\nb(a)\nvoid main() {}");
    refused("if-open.vert", &format!("#version 100\n{}void main() {{}}", "#if 1\n".repeat(3_000)));
    harmless("if-parens.frag", &format!("#version 450\n#if {}\n#endif\nvoid main() {{}}", around("(", "1", ")", 20_000)));
    refused("functions.wgsl", &{
        let f: String = (1..40).map(|i| format!("fn f_{i}(x: f32) -> f32 {{ return f_{0}(x) + f_{0}(x * 2.0); }}\n", i - 1)).collect();
        format!("fn f_0(x: f32) -> f32 {{ return x + 1.0; }}\n{f}{}", w("return vec4(f_39(x));"))
    });
    refused("constants.wgsl", &{
        let c: String = (1..40).map(|i| format!("const a_{i} = array(a_{0}, a_{0});\n", i - 1)).collect();
        format!("const a_0 = array(1.0, 2.0);\n{c}{}", w(&format!("return vec4(a_39{});", "[1]".repeat(40))))
    });
}

/// A SPIR-V module from its instructions: opcode and operands.
fn spirv(bound: u32, instructions: &[&[u32]]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x10000, 0, bound, 0];
    for i in instructions {
        words.push((i.len() as u32) << 16 | i[0]);
        words.extend(&i[1..]);
    }
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

#[test]
fn binaries() {
    // `main` as a literal string.
    const MAIN: [u32; 2] = [u32::from_le_bytes(*b"main"), 0];
    let head: [&[u32]; 8] = [
        &[17, 1],
        &[14, 0, 0],
        &[15, 4, 1, MAIN[0], MAIN[1]],
        &[19, 4],
        &[33, 5, 4],
        &[22, 6, 32],
        &[21, 8, 32, 0],
        &[43, 8, 9, 2_147_483_651],
    ];
    let body: [&[u32]; 7] = [&[32, 11, 7, 10], &[54, 4, 1, 0, 5], &[248, 15], &[59, 11, 14, 7], &[62, 14, 13], &[253], &[56]];
    // A null array of two thousand million floats, stored into a variable.
    let null = [&head[..], &[&[28, 10, 6, 9], &[46, 10, 13]], &body[..]].concat();
    // An array of arrays, 3,000 deep.
    let types: Vec<Vec<u32>> = (0..3000).map(|i| vec![28, 100 + i, if i == 0 { 6 } else { 99 + i }, 9]).collect();
    let deep = [&head[..], &types.iter().map(|t| &t[..]).collect::<Vec<_>>(), &[&[32, 11, 7, 3099]], &body[1..4], &body[5..]].concat();
    for (name, bytes) in [("null.spv", spirv(50, &null)), ("deep.spv", spirv(5000, &deep)), ("bound.spv", spirv(u32::MAX, &null))] {
        let (status, text) = compile(name, &bytes);
        assert!(matches!(status, Some(1 | 3)) && text.contains("error["), "{name}: {status:?} {text}");
    }
}
