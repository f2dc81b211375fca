//! Push constants, std430, specialisation constants, half precision, names of arrays of structures: places and values.

mod common;

use common::{checked, floats, from_glsl, from_wgsl, run, run_compute, words};
use retroshade_frontend::{FrontOptions, glsl, spirv, wgsl};
use retroshade_ir::{Module, Scalar, Stage};

#[test]
fn push_constants_are_one_more_binding() {
    let m = from_glsl(
        Stage::Vertex,
        "#version 450
        layout(location = 0) in vec4 p;
        layout(binding = 2) uniform U { vec4 shift; } u;
        layout(push_constant) uniform Push { mat4 mvp; vec2 scale[2]; } push;
        void main() { gl_Position = push.mvp * p + u.shift + vec4(push.scale[1], 0.0, 0.0); }",
    );
    let places: Vec<_> = m.uniforms.values().map(|u| (u.name.as_str(), u.group, u.binding, u.offset)).collect();
    // A push constant block has the layout that naga gives it: std140 unless it says otherwise.
    assert_eq!(places, [("u.shift", 0, 2, 0), ("push.mvp", 0, 3, 0), ("push.scale", 0, 3, 64)]);
    let identity = words(&[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let r = run(&m, vec![words(&[1.0, 2.0, 3.0, 4.0])], vec![words(&[10.0; 4]), identity, words(&[0.0, 0.0, 100.0, 200.0])]);
    assert_eq!(floats(&r[0]), [111.0, 212.0, 13.0, 14.0]);
}

#[test]
fn storage_buffers_follow_std430() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
        layout(local_size_x = 4) in;
        struct Item { vec3 a; float b; vec2 c; };
        layout(std430, binding = 0) buffer B { float head; mat2 m; float list[3]; Item items[]; } b;
        layout(binding = 1) readonly buffer C { uint k[]; } c;
        void main() {
            uint i = gl_GlobalInvocationID.x;
            b.items[i].a = vec3(float(i), b.list[i % 3u], b.head);
            b.items[i].c = b.m * vec2(1.0, float(c.k[i]));
            b.items[i].b += 1.0;
        }",
    );
    let names: Vec<&str> = m.storage.values().map(|s| &*s.name).collect();
    assert_eq!(names, ["b", "c"]);
    // head 0, m at 8, list at 24, items at 48 with 32 bytes each.
    let mut buffer = vec![0u32; 12 + 4 * 8];
    buffer[0] = 9.0f32.to_bits();
    for (n, x) in [1.0f32, 2.0, 3.0, 4.0].iter().enumerate() {
        buffer[2 + n] = x.to_bits();
    }
    for n in 0..3 {
        buffer[6 + n] = (n as f32 * 10.0).to_bits();
    }
    let out = run_compute(&m, vec![buffer, vec![5, 6, 7, 8]], vec![], [1, 1, 1]);
    for i in 0..4usize {
        let item = floats(&out[0][12 + 8 * i..20 + 8 * i]);
        let k = 5.0 + i as f32;
        assert_eq!(item[..6], [i as f32, (i % 3) as f32 * 10.0, 9.0, 1.0, 1.0 + 3.0 * k, 2.0 + 4.0 * k], "item {i}");
    }
}

#[test]
fn arrays_of_structures_have_one_declaration_a_member() {
    let m = from_wgsl(
        "struct Bone { pose: mat3x4<f32>, weights: array<vec4<f32>, 2> }
        struct Scene { bones: array<Bone, 4>, time: f32 }
        @group(0) @binding(0) var<uniform> scene: Scene;
        @vertex fn main(@location(0) i: u32) -> @builtin(position) vec4<f32> {
            return scene.bones[i].pose[2] + scene.bones[i].weights[i & 1u] * scene.time;
        }",
    );
    let names: Vec<_> = m.uniforms.values().map(|u| (u.name.as_str(), u.offset, u.dims.len())).collect();
    assert_eq!(names, [("scene.bones[].pose", 0, 2), ("scene.bones[].weights", 48, 2), ("scene.time", 320, 0)]);
    let pose: Vec<f32> = (0..48).map(|n| n as f32).collect();
    let weights: Vec<f32> = (0..32).map(|n| 100.0 * n as f32).collect();
    let r = run(&m, vec![vec![3]], vec![words(&pose), words(&weights), words(&[2.0])]);
    let at = |c: usize| (36 + 8 + c) as f32 + 200.0 * (24 + 4 + c) as f32;
    assert_eq!(floats(&r[0]), [at(0), at(1), at(2), at(3)]);
}

#[test]
fn half_precision_where_it_is_enabled() {
    let source = "enable f16;
        @group(0) @binding(0) var<uniform> scale: vec4<f32>;
        @fragment fn main(@location(0) x: vec2<f32>) -> @location(0) vec4<f32> {
            let h = vec2<f16>(x) * f16(scale.x);
            let s = h.x + h.y * 0.5h;
            return vec4<f32>(f32(s), vec2<f32>(h), f32(sqrt(h.x)));
        }";
    let m = from_wgsl(source);
    assert!(m.functions.values().any(|f| f.values.values().any(|(t, _)| t.scalar == Scalar::F16)));
    let r = floats(&run(&m, vec![words(&[1.0009765625, 2049.0])], vec![words(&[4.0, 0.0, 0.0, 0.0])])[0]);
    // 2049 is no half-precision number: it is rounded to 2048 before the product.
    assert_eq!(r, [4100.0, 4.00390625, 8192.0, 2.0]);
    // Without `enable f16;` there is no such type.
    assert!(wgsl("h.wgsl", &source.replace("enable f16;", ""), &FrontOptions::default()).is_err());
}

#[test]
fn halves_of_uniform_blocks_stand_where_the_layout_puts_them() {
    let m = from_wgsl(
        "enable f16;
        struct S { a: f16, b: f16, v: vec3<f16>, m: mat3x4<f16> }
        @group(0) @binding(0) var<uniform> u: S;
        @fragment fn main(@builtin(position) p: vec4<f32>) -> @location(0) vec4<f32> {
            return vec4<f32>(u.m[2]) + 10.0 * vec4<f32>(u.m[i32(p.x)]) + vec4<f32>(vec3<f32>(u.v), f32(u.a + 2.0h * u.b));
        }",
    );
    // Eight bytes each: the two scalars, the vector, three columns.
    let places: Vec<_> = m.uniforms.values().map(|u| u.offset).collect();
    assert_eq!(places, [0, 8, 12, 16, 20]);
    let half = |lo: u32, hi: u32| hi << 16 | lo;
    // 1 to 4 as halves.
    let (one, two, three, four) = (0x3c00, 0x4000, 0x4200, 0x4400);
    let columns = |lo: [u32; 3], hi: [u32; 3]| (0..3).map(|c| half(lo[c], hi[c])).collect::<Vec<_>>();
    let uniforms = vec![
        vec![half(one, two)],
        vec![half(three, four)],
        vec![half(one, 0xffff)],
        columns([one, two, three], [two, three, four]),
        columns([three, four, one], [four, one, two]),
    ];
    let r = floats(&run(&m, vec![words(&[1.0, 0.0, 0.0, 0.0])], uniforms)[0]);
    // Column 2 is (3, 4, 1, 2), column 1 (2, 3, 4, 1); the vector (3, 4, 1), and 1 + 2 * 2.
    assert_eq!(r, [26.0, 38.0, 42.0, 17.0]);
}

fn with(defines: &[(&str, &str)]) -> FrontOptions {
    let defines = defines.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    FrontOptions { stage: Some(Stage::Fragment), defines, ..FrontOptions::default() }
}

fn value(m: &Module) -> f32 {
    floats(&run(m, vec![], vec![])[0])[0]
}

#[test]
fn specialisation_constants_in_glsl() {
    let source = "#version 450
        #ifndef FACTOR
        #define FACTOR 1.0
        #endif
        layout(constant_id = 3) const int count = 2;
        layout(location = 0) out vec4 o;
        void main() { float s = 0.0; for (int i = 0; i < count; i++) s += FACTOR; o = vec4(s); }";
    let get = |d: &[(&str, &str)]| glsl("s.frag", source, &with(d)).map(|m| value(&checked(m)));
    assert_eq!(get(&[]).expect("runs"), 2.0);
    assert_eq!(get(&[("count", "5")]).expect("runs"), 5.0);
    assert_eq!(get(&[("3", "4"), ("FACTOR", "0.5")]).expect("runs"), 2.0);
}

#[test]
fn specialisation_constants_in_spirv() {
    // float count = 2.0 with SpecId 3; the program returns it.
    let string = |s: &str| -> Vec<u32> {
        let mut b = s.as_bytes().to_vec();
        b.push(0);
        b.resize(b.len().next_multiple_of(4), 0);
        b.chunks(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    };
    let mut entry = vec![15, 4, 1];
    entry.extend(string("main"));
    entry.push(2);
    let mut name = vec![5, 9];
    name.extend(string("count"));
    let program: Vec<Vec<u32>> = vec![
        vec![17, 1],
        vec![14, 0, 1],
        entry,
        vec![16, 1, 7],
        name,
        vec![71, 2, 30, 0],
        vec![71, 9, 1, 3],
        vec![19, 4],
        vec![33, 5, 4],
        vec![22, 6, 32],
        vec![50, 6, 9, 2.0f32.to_bits()],
        vec![32, 12, 3, 6],
        vec![59, 12, 2, 3],
        vec![54, 4, 1, 0, 5],
        vec![248, 15],
        vec![62, 2, 9],
        vec![253],
        vec![56],
    ];
    let mut all = vec![0x0723_0203u32, 0x10000, 0, 20, 0];
    for i in &program {
        all.push((i.len() as u32) << 16 | i[0]);
        all.extend(&i[1..]);
    }
    let bytes: Vec<u8> = all.iter().flat_map(|w| w.to_le_bytes()).collect();
    let get = |d: &[(&str, &str)]| spirv("s.spv", &bytes, &with(d)).map(|m| value(&checked(m)));
    assert_eq!(get(&[]).expect("runs"), 2.0);
    assert_eq!(get(&[("3", "7.5")]).expect("runs"), 7.5);
    assert_eq!(get(&[("count", "-1")]).expect("runs"), -1.0);
    assert!(get(&[("other", "1")]).is_err_and(|e| e.diagnostics[0].message.contains("other")));
}
