//! Wrong shaders: each is refused with a code, a message that names the thing, and the place in the user's text where it stands.

use retroshade::frontend::{FrontOptions, glsl, wgsl};
use retroshade::ir::Stage;

/// Kind of file, source, line, column, code, part of the message.
const WRONG: &[(&str, &str, u32, u32, &str, &str)] = &[
    (
        "wgsl",
        "fn f(x: i32) -> i32 { return g(x); }\n\
         fn g(x: i32) -> i32 { return f(x - 1); }\n\
         @fragment fn main() -> @location(0) vec4<f32> {\n\
         \x20   return vec4(f32(f(3)));\n\
         }\n",
        2,
        4,
        "F0010",
        "`f` is cyclic",
    ),
    (
        "wgsl",
        "const n = 3 / 0;\n\
         @fragment fn main() -> @location(0) vec4<f32> {\n\
         \x20   return vec4(f32(n));\n\
         }\n",
        1,
        11,
        "F0010",
        "Division by zero",
    ),
    (
        "wgsl",
        "@fragment fn main() -> @location(0) vec4<f32> {\n\
         \x20   var a = array<f32, 3>(1.0, 2.0, 3.0);\n\
         \x20   return vec4(a[5]);\n\
         }\n",
        3,
        17,
        "F0013",
        "index 5",
    ),
    (
        "wgsl",
        "override scale: f32;\n\
         @fragment fn main() -> @location(0) vec4<f32> {\n\
         \x20   return vec4(scale);\n\
         }\n",
        1,
        1,
        "F0015",
        "`scale` has no value: give it one with --define scale",
    ),
    (
        "wgsl",
        "enable subgroups;\n\
         @group(0) @binding(0) var<storage, read_write> o: array<u32>;\n\
         @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {\n\
         \x20   o[i] = quadSwapX(i);\n\
         }\n",
        4,
        12,
        "F0133",
        "operations on quads",
    ),
    ("wgsl", "enable one_browser;\n@fragment fn main() {}\n", 1, 8, "F0010", "`one_browser` is no extension of WGSL that is read here"),
    (
        "wgsl",
        "var<push_constant> p: u32;\n@fragment fn main() {}\n",
        1,
        5,
        "F0010",
        "`push_constant` is no address space of WGSL; today's name is `immediate`",
    ),
    (
        "wgsl",
        "var<uniform> u: vec4<f32>;\n\
         @fragment fn main() -> @location(0) vec4<f32> { return u; }\n",
        1,
        14,
        "F0013",
        "`u`",
    ),
    (
        "wgsl",
        "@vertex fn main(@location(0) a: vec4<f32>, @location(0) b: vec4<f32>) -> @builtin(position) vec4<f32> { return a + b; }\n",
        1,
        57,
        "F0013",
        "`b`",
    ),
    ("wgsl", "@fragment fn main(@location(0) a: bool) -> @location(0) vec4<f32> { return vec4(1.0); }\n", 1, 32, "F0013", "`a`"),
    (
        "wgsl",
        "fn f(x: f32) -> f32 {\n\
         \x20   if (x > 1.0) { return 2.0; }\n\
         }\n\
         @fragment fn main(@location(0) a: f32) -> @location(0) vec4<f32> { return vec4(f(a)); }\n",
        1,
        4,
        "F0013",
        "`f`",
    ),
    (
        "wgsl",
        "@vertex fn main() -> @builtin(position) vec4<f32> {\n\
         \x20   let x = 1.0\n\
         \x20   return vec4(x);\n\
         }\n",
        3,
        5,
        "F0010",
        "expected `;`",
    ),
    (
        "wgsl",
        "@group(0) @binding(0) var t: texture_2d<f32>;\n\
         @group(0) @binding(1) var s: sampler_comparison;\n\
         @fragment fn main(@location(0) uv: vec2<f32>) -> @location(0) vec4<f32> { return textureSample(t, s, uv); }\n",
        3,
        82,
        "F0013",
        "comparisons need",
    ),
    (
        "wgsl",
        "@group(0) @binding(0) var t: binding_array<texture_2d<f32>, 4>;\n\
         @group(0) @binding(9) var s: sampler;\n\
         @fragment fn main(@location(0) uv: vec2<f32>, @location(1) @interpolate(flat) i: i32) -> @location(0) vec4<f32> { return textureSample(t[i], s, uv); }\n",
        1,
        30,
        "F0010",
        "wgpu_binding_array",
    ),
    (
        "wgsl",
        "@vertex fn main() -> @builtin(position) vec4<f32> {\n\
         \x20   let x: i32 = 1.5;\n\
         \x20   return vec4<f32>(f32(x));\n\
         }\n",
        2,
        18,
        "F0010",
        "`x`",
    ),
    (
        "wgsl",
        "@vertex fn main() -> @builtin(position) vec4<f32> {\n\
         \x20   return frobnicate(vec4(1.0));\n\
         }\n",
        2,
        12,
        "F0010",
        "`frobnicate`",
    ),
    (
        "wgsl",
        "@vertex fn main() -> @builtin(position) vec4<f32> {\n\
         \x20   return vec3<f32>(1.0, 2.0, 3.0);\n\
         }\n",
        2,
        12,
        "F0013",
        "return",
    ),
    (
        "wgsl",
        "@vertex fn main(@location(0) a: vec3<f32>) -> @builtin(position) vec4<f32> {\n\
         \x20   let m = mat4x4<f32>();\n\
         \x20   return m * a;\n\
         }\n",
        3,
        12,
        "F0013",
        "`*` has no meaning",
    ),
    (
        "wgsl",
        "@fragment fn a() -> @location(0) vec4<f32> { return vec4(1.0); }\n\
         @fragment fn b() -> @location(0) vec4<f32> { return vec4(0.0); }\n",
        2,
        14,
        "F0007",
        "a (fragment), b (fragment)",
    ),
    ("wgsl", "fn helper() -> f32 { return 1.0; }\n", 1, 1, "F0006", "no entry point"),
    (
        "wgsl",
        "@group(0) @binding(0) var t: texture_storage_2d<r64uint, read_write>;\n\
         @compute @workgroup_size(1) fn main() {\n\
         \x20   _ = textureDimensions(t);\n\
         }\n",
        1,
        23,
        "F0151",
        "`t` has texels of 64 bits a channel",
    ),
    (
        "wgsl",
        "@fragment fn main() -> @location(0) vec4<f32> {\n\
         \x20   let x = 1.0lf;\n\
         \x20   return vec4(f32(x));\n\
         }\n",
        3,
        17,
        "F0114",
        "none of the machines",
    ),
    (
        "frag",
        "#if 1\n\
         # /* none */ ifdef GL_ES\n\
         precision highp float;\n\
         #endif\n\
         void main() {}\n\
         #endif\n\
         #end\\\nif\n",
        7,
        1,
        "F0011",
        "`#endif`: no `#if` is open",
    ),
    (
        "frag",
        "#version 450\n\
         layout(location = 0) out vec4 o;\n\
         void main() { double d = 1.0; o = vec4(float(d)); }\n",
        3,
        15,
        "F0114",
        "64-bit float",
    ),
    (
        "frag",
        "#version 450\n\
         layout(location = 0) out vec4 o;\n\
         float f(float a, float b) { return a + b; }\n\
         void main() { o = vec4(f(1.0)); }\n",
        4,
        24,
        "F0011",
        "`f`",
    ),
    (
        "frag",
        "#version 450\n\
         layout(location = 0) in vec4 c;\n\
         layout(location = 0) out vec4 o;\n\
         void main() { c.x = 1.0; o = c; }\n",
        4,
        19,
        "F0011",
        "can't modify shader input",
    ),
    (
        "frag",
        "#version 330\n\
         uniform float k = gl_FragCoord.x;\n\
         out vec4 o;\n\
         void main() { o = vec4(k); }\n",
        2,
        15,
        "F0024",
        "`k`",
    ),
    (
        "frag",
        "#version 450\n\
         layout(location = 0) out vec4 o;\n\
         struct S { float a; };\n\
         void main() { S s; s.a = 1.0; o = vec4(s.b); }\n",
        4,
        42,
        "F0011",
        "`b`: no such field",
    ),
    (
        "frag",
        "#version 450\n\
         layout(location = 0) out vec4 o;\n\
         void main() { vec2 a = vec2(1.0); o = a.xyzw; }\n",
        3,
        41,
        "F0011",
        "xyzw",
    ),
    (
        "frag",
        "#version 450\n\
         layout(location = 0) out vec4 o;\n\
         void main() {\n\
         \x20   o = vec4(1.0)\n\
         }\n",
        5,
        1,
        "F0011",
        "expected `,` or `;`",
    ),
    (
        "frag",
        "#version 450\n\
         layout(location = 0) out vec4 o;\n\
         void main() {\n\
         \x20   o = vec4(brightness);\n\
         }\n",
        4,
        14,
        "F0011",
        "brightness",
    ),
    (
        "frag",
        "#version 450\n\
         layout(location = 0) out vec4 o;\n\
         void main() {\n\
         \x20   vec3 a = vec4(1.0);\n\
         \x20   o = vec4(a, 1.0);\n\
         }\n",
        4,
        12,
        "F0011",
        "cannot convert from `vec4` to `vec3`",
    ),
    (
        "frag",
        "precision mediump float;\n\
         varying vec2 uv;\n\
         void main() {\n\
         \x20   gl_FragColor = texture9D(uv);\n\
         }\n",
        4,
        20,
        "F0011",
        "texture9D",
    ),
    (
        "frag",
        "#version 450\n\
         #ifdef A\n\
         layout(location = 0) out vec4 o;\n\
         void main() { o = vec4(1.0); }\n",
        2,
        1,
        "F0011",
        "#endif",
    ),
    (
        "frag",
        "#version 450\n\
         #error this is not for you\n\
         void main() { }\n",
        2,
        1,
        "F0011",
        "this is not for you",
    ),
    (
        "frag",
        "#version 450\n\
         layout(location = 0) out vec4 o;\n\
         void mian() { o = vec4(1.0); }\n",
        1,
        1,
        "F0011",
        "`main`",
    ),
    (
        "vert",
        "#version 450\n\
         layout(location = 0) out vec4 o;\n\
         void main() { o = dFdx(gl_FragCoord); }\n",
        3,
        24,
        "F0011",
        "gl_FragCoord",
    ),
    (
        "comp",
        "#version 450\n\
         #extension GL_EXT_nonuniform_qualifier : enable\n\
         layout(local_size_x = 1) in;\n\
         layout(binding = 0) uniform samplerBuffer img[];\n\
         layout(binding = 9) buffer B { vec4 x; int n; };\n\
         void main() { x = texelFetch(img[n], 0); }\n",
        4,
        43,
        "F0135",
        "the array of textures `img` has no length",
    ),
];

#[test]
fn wrong_shaders_are_refused_where_they_are_wrong() {
    for (ending, source, line, column, code, part) in WRONG {
        let stage = match *ending {
            "vert" => Some(Stage::Vertex),
            "frag" => Some(Stage::Fragment),
            "comp" => Some(Stage::Compute),
            _ => None,
        };
        let options = FrontOptions { stage, ..FrontOptions::default() };
        let file = format!("wrong.{ending}");
        let result = if stage.is_none() { wgsl(&file, source, &options) } else { glsl(&file, source, &options) };
        let Err(e) = result else { panic!("not refused:\n{source}") };
        let d = &e.diagnostics[0];
        let place = e.sources.line_column(d.span.file, d.span.start);
        assert_eq!((d.code, place), (*code, Some((*line, *column))), "{d}\n{source}");
        assert!(d.message.contains(part), "{d}\n{source}");
        assert!(e.diagnostics.iter().all(|d| !d.span.is_none()), "{e}\n{source}");
    }
}
