//! What the languages have and the machines give another form: storage and buffer textures as memory, subgroups of one invocation, halves in
//! buffers, arrays of buffers, blocks of workgroup memory. Answers are worked out by hand.

mod common;

use common::{compute, floats, from_glsl, from_wgsl, run, run_compute, texel_comes_back};
use retroshade_frontend::{FrontOptions, glsl};
use retroshade_ir::{InvocationInputs, Reference, ShaderEnv, Stage};

fn refused(stage: Stage, text: &str) -> String {
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    match glsl("x", text, &options) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.diagnostics.iter().map(|d| format!("{} {}", d.code, d.message)).collect::<Vec<_>>().join("\n"),
    }
}

#[test]
fn storage_textures_are_buffers_of_texels() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
layout(local_size_x = 4) in;
layout(binding = 0, r32i) uniform iimage2D a;
layout(binding = 1, rgba8) uniform writeonly image2D b;
layout(binding = 2) buffer O { ivec2 size; ivec4 seen[4]; } o;
void main() {
    int n = int(gl_LocalInvocationIndex);
    o.size = imageSize(a);
    // The last is outside.
    o.seen[n] = imageLoad(a, ivec2(n, 1));
    imageStore(b, ivec2(n, n / 2), vec4(0.0, 1.0, 0.5, float(n)));
}
",
    );
    let names: Vec<(&str, &str, u32)> = m.storage.values().map(|s| (s.name.as_str(), s.source_type.as_str(), s.binding)).collect();
    assert_eq!(names[0], ("a", "texture_storage_2d<r32i>", 0));
    assert_eq!(names[1], ("b", "texture_storage_2d<rgba8>", 1));
    // Three columns, two rows of four words.
    let a = vec![1, 2, 3, 99, 5, 6, 7, 99];
    let sizes = [("a.size", vec![3, 2, 1, 4]), ("b.size", vec![4, 2, 1, 5])];
    let r = compute(&m, vec![a, vec![9; 10], vec![0; 20]], &sizes);
    assert_eq!(r[2][..2], [3, 2]);
    assert_eq!(r[2][4..], [5, 0, 0, 1, 6, 0, 0, 1, 7, 0, 0, 1, 0, 0, 0, 0]);
    let texel = |alpha: u32| alpha << 24 | 0x80 << 16 | 0xff << 8;
    assert_eq!(r[1], [texel(0), texel(255), 9, 9, 9, 9, 9, texel(255), texel(255), 9]);
}

#[test]
fn texels_of_every_format_are_read_as_they_were_written() {
    // Format, prefix of the image type, what is written, what comes back.
    let cases: &[(&str, &str, &str, [f32; 4])] = &[
        ("rgba32f", "", "vec4(0.1, -2.0, 3.0, 4.0)", [0.1, -2.0, 3.0, 4.0]),
        ("rg32f", "", "vec4(0.1, -2.0, 3.0, 4.0)", [0.1, -2.0, 0.0, 1.0]),
        ("r32f", "", "vec4(0.1)", [0.1, 0.0, 0.0, 1.0]),
        ("rgba16f", "", "vec4(0.5, -2.0, 3.0, 1024.0)", [0.5, -2.0, 3.0, 1024.0]),
        ("rg16f", "", "vec4(0.5, -2.0, 3.0, 4.0)", [0.5, -2.0, 0.0, 1.0]),
        ("r16f", "", "vec4(0.25)", [0.25, 0.0, 0.0, 1.0]),
        ("r11f_g11f_b10f", "", "vec4(0.5, -2.0, 3.0, 4.0)", [0.5, 0.0, 3.0, 1.0]),
        ("rgba16", "", "vec4(0.0, 1.0, 2.0, -1.0)", [0.0, 1.0, 1.0, 0.0]),
        ("rgb10_a2", "", "vec4(0.0, 1.0, 2.0, 0.4)", [0.0, 1.0, 1.0, 1.0 / 3.0]),
        ("rgba8_snorm", "", "vec4(0.0, 1.0, -1.0, -9.0)", [0.0, 1.0, -1.0, -1.0]),
        ("rg8", "", "vec4(0.0, 1.0, 1.0, 1.0)", [0.0, 1.0, 0.0, 1.0]),
        ("rgba32i", "i", "ivec4(1, -2, 3, -4)", [1.0, -2.0, 3.0, -4.0]),
        ("rgba16i", "i", "ivec4(1, -2, 3, -4)", [1.0, -2.0, 3.0, -4.0]),
        ("rg8i", "i", "ivec4(1, -2, 3, -4)", [1.0, -2.0, 0.0, 1.0]),
        ("rgb10_a2ui", "u", "uvec4(1023, 7, 1024, 3)", [1023.0, 7.0, 0.0, 3.0]),
        ("r8ui", "u", "uvec4(300)", [44.0, 0.0, 0.0, 1.0]),
    ];
    for (format, prefix, value, want) in cases {
        let text = format!(
            "#version 450
layout(local_size_x = 1) in;
layout(binding = 0, {format}) uniform {prefix}image3D t;
layout(binding = 1) buffer O {{ vec4 seen; }} o;
void main() {{
    imageStore(t, ivec3(1, 1, 1), {value});
    o.seen = vec4(imageLoad(t, ivec3(1, 1, 1)));
}}
"
        );
        let m = from_glsl(Stage::Compute, &text);
        texel_comes_back(&m, format, *want);
    }
}

#[test]
fn atomics_on_texels() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
layout(local_size_x = 4) in;
layout(binding = 0, r32ui) uniform uimage1D a;
layout(binding = 1) buffer O { uint old[4]; } o;
void main() {
    int n = int(gl_LocalInvocationIndex);
    o.old[n] = imageAtomicAdd(a, n - 1, 10u);
    imageAtomicMax(a, 0, 50u + n);
    imageAtomicCompSwap(a, 1, 12u, 77u);
}
",
    );
    let r = compute(&m, vec![vec![1, 2, 3, 4], vec![5; 4]], &[("a.size", vec![3, 1, 1, 4])]);
    assert_eq!(r[0], [60, 77, 13, 4]);
    // Invocation 0 is outside, 1 comes after the first maximum.
    assert_eq!(r[1], [0, 50, 2, 3]);
}

#[test]
fn arrays_of_storage_textures() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
layout(local_size_x = 2) in;
layout(binding = 0, r32ui) uniform uimageBuffer a[2];
void main() {
    uint n = gl_LocalInvocationIndex;
    imageStore(a[n], 1, imageLoad(a[1u - n], 0) + 5u);
}
",
    );
    let size = vec![2, 1, 1, 2];
    let r = compute(&m, vec![vec![1, 0], vec![2, 0]], &[("a[0].size", size.clone()), ("a[1].size", size)]);
    assert_eq!(r, [[1, 7], [2, 6]]);
}

#[test]
fn buffer_textures_are_read() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
layout(local_size_x = 1) in;
layout(binding = 0) uniform usamplerBuffer t;
layout(binding = 1) buffer O { uvec4 seen[2]; int size; } o;
void main() { o.seen[0] = texelFetch(t, 1); o.seen[1] = texelFetch(t, 2); o.size = textureSize(t); }
",
    );
    let r = compute(&m, vec![(0..12).collect(), vec![9; 9]], &[("t.size", vec![2, 1, 1, 8])]);
    assert_eq!(r[1], [4, 5, 6, 7, 0, 0, 0, 0, 2]);
}

#[test]
fn samples_stand_side_by_side() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
layout(local_size_x = 3) in;
layout(binding = 0, rg32i) uniform iimage2DMS t;
layout(binding = 1) buffer O { ivec4 seen[3]; int samples; ivec2 size; } o;
void main() {
    int n = int(gl_LocalInvocationIndex);
    o.seen[n] = imageLoad(t, ivec2(1, 0), n);
    imageStore(t, ivec2(0, 1), n, ivec4(n + 50));
    o.samples = imageSamples(t);
    o.size = imageSize(t);
}
",
    );
    // Two columns of two samples of two words, in two rows.
    let t: Vec<u32> = (0..16).collect();
    let r = compute(&m, vec![t, vec![9; 16]], &[("t.size", vec![2, 2, 1, 8]), ("t.samples", vec![2])]);
    assert_eq!(r[0], [0, 1, 2, 3, 4, 5, 6, 7, 50, 50, 51, 51, 12, 13, 14, 15]);
    // Sample 2 does not exist.
    assert_eq!(r[1], [4, 5, 0, 1, 6, 7, 0, 1, 0, 0, 0, 0, 2, 9, 2, 2]);
}

#[test]
fn the_level_of_a_sample_follows_from_how_the_place_moves() {
    let m = from_glsl(
        Stage::Fragment,
        "#version 450
layout(binding = 0) uniform sampler2D t;
layout(binding = 1) uniform samplerCube c;
layout(location = 0) out vec4 o;
void main() {
    o.xy = textureQueryLod(t, gl_FragCoord.xy * vec2(0.5, 0.25));
    o.zw = textureQueryLod(c, vec3(2.0, gl_FragCoord.xy * 4.0));
}
",
    );
    let texture = |dim, size: [u32; 3], layers| retroshade_ir::TextureData {
        dim,
        size,
        layers,
        levels: 3,
        depth: false,
        filter: retroshade_ir::env::Filter::Nearest,
        wrap: retroshade_ir::env::Wrap::Clamp,
        texels: vec![[0; 4]; 2048],
    };
    let at = |x: f32, y: f32| InvocationInputs { inputs: vec![[x, y, 0.0, 1.0].map(f32::to_bits).to_vec()] };
    let env = ShaderEnv {
        invocations: vec![at(0.5, 0.5), at(1.5, 0.5), at(0.5, 1.5), at(1.5, 1.5)],
        textures: vec![texture(retroshade_ir::TexDim::D2, [16, 16, 1], 1), texture(retroshade_ir::TexDim::Cube, [4, 4, 1], 6)],
        ..ShaderEnv::default()
    };
    let r = retroshade_ir::interp::run(&m, &env, &Reference).unwrap();
    let o = floats(&r.invocations[0].outputs[0]);
    // Eight texels to the next pixel in x, four in y: level 3 of 0 to 2.
    assert_eq!(o[..2], [2.0, 3.0]);
    // On the face +x, 2.0 away: 4 / 2 of half a face of four texels: four texels, level 2. The second and third coordinate stay below 2.
    assert_eq!(o[2..], [2.0, 2.0]);
}

#[test]
fn a_subgroup_is_one_invocation() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_vote : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable
layout(local_size_x = 2) in;
layout(binding = 0) buffer O { uint x[2][16]; } o;
void main() {
    uint n = gl_LocalInvocationIndex;
    uint v = n + 7u;
    uint all[16] = uint[16](
        gl_SubgroupSize, gl_SubgroupInvocationID, gl_NumSubgroups, gl_SubgroupID,
        uint(subgroupElect()), uint(subgroupAll(n == 0u)), uint(subgroupAllEqual(v)), subgroupAdd(v),
        subgroupExclusiveAdd(v), subgroupExclusiveMul(v), subgroupExclusiveMin(v), subgroupInclusiveMax(v),
        subgroupBallot(n == 1u).x, subgroupBallotBitCount(subgroupBallot(true)), subgroupBroadcast(v, 0u), subgroupShuffleXor(v, 0u));
    o.x[n] = all;
}
",
    );
    let r = compute(&m, vec![vec![0; 32]], &[]);
    let want = |n: u32| [1, 0, 2, n, 1, u32::from(n == 0), 1, n + 7, 0, 1, u32::MAX, n + 7, u32::from(n == 1), 1, n + 7, n + 7];
    assert_eq!(r[0][..16], want(0));
    assert_eq!(r[0][16..], want(1));
    let quad = "#version 450
#extension GL_KHR_shader_subgroup_quad : enable
layout(local_size_x = 4) in;
layout(binding = 0) buffer O { uint x; } o;
void main() { o.x = subgroupQuadSwapHorizontal(gl_LocalInvocationIndex); }
";
    assert!(refused(Stage::Compute, quad).contains("operations on quads"), "{}", refused(Stage::Compute, quad));
}

/// Kernels that compilers of networks write have workgroups of two dimensions and declare these always.
#[test]
fn a_subgroup_has_numbers_in_every_workgroup() {
    let m = from_wgsl(
        "enable subgroups;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
struct In { @builtin(subgroup_id) id: u32, @builtin(local_invocation_id) at: vec3u }
@compute @workgroup_size(2, 2, 1)
fn main(@builtin(local_invocation_index) i: u32, @builtin(subgroup_invocation_id) s: u32, @builtin(subgroup_size) n: u32, in: In) {
    o[i] = s + 10u * n + 100u * in.id + 1000u * in.at.y;
}
",
    );
    assert_eq!(compute(&m, vec![vec![0; 4]], &[])[0], [10, 110, 1210, 1310]);
}

#[test]
fn halves_in_buffers() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
layout(local_size_x = 4) in;
layout(binding = 0) buffer A { float16_t one; float two; f16vec3 three; f16vec2 pair[]; } a;
layout(binding = 1) buffer B { int n; float16_t each[]; } b;
void main() {
    uint n = gl_LocalInvocationIndex;
    b.each[n] = a.pair[n].y + a.one;
    if (n == 0u) { a.three = f16vec3(1.0, 2.0, 4.0); a.two = float(a.pair.length()); b.n = b.each.length(); }
}
",
    );
    let half = |x: f32| {
        u32::from(match x {
            0.5 => 0x3800u16,
            1.0 => 0x3c00,
            1.5 => 0x3e00,
            2.0 => 0x4000,
            2.5 => 0x4100,
            3.0 => 0x4200,
            3.5 => 0x4300,
            4.0 => 0x4400,
            4.5 => 0x4480,
            _ => panic!("{x}"),
        })
    };
    // one (and two bytes of nothing), two, three (and two bytes), pairs.
    let pairs: Vec<u32> = [1.0, 2.0, 3.0, 4.0].iter().map(|x| half(*x) << 16 | 0x1234).collect();
    let mut a = vec![0xabcd_0000 | half(0.5), 0, 0, 0xbeef_0000];
    a.extend(pairs);
    let r = compute(&m, vec![a, vec![0, 0, 0xffff_ffff]], &[]);
    assert_eq!(r[0][1], 4f32.to_bits());
    assert_eq!(r[0][2..4], [half(2.0) << 16 | half(1.0), 0xbeef_0000 | half(4.0)]);
    assert_eq!(r[1], [4, half(2.5) << 16 | half(1.5), half(4.5) << 16 | half(3.5)]);
}

#[test]
fn arrays_of_storage_buffers() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
layout(local_size_x = 2) in;
layout(binding = 3) buffer A { uint n; uint x[]; } a[2];
void main() {
    uint n = gl_LocalInvocationIndex;
    a[n].n = a[1].x[n] + uint(a[n].x.length());
    atomicAdd(a[0].x[0], 1u);
}
",
    );
    let at: Vec<(&str, u32)> = m.storage.values().map(|s| (s.name.as_str(), s.binding)).collect();
    assert_eq!(at, [("a[0]", 3), ("a[1]", 4)]);
    let r = compute(&m, vec![vec![0, 10, 20, 30], vec![0, 40, 50]], &[]);
    assert_eq!(r, [vec![43, 12, 20, 30], vec![52, 40, 50]]);
}

#[test]
fn blocks_of_workgroup_memory_are_one_memory() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
#extension GL_EXT_shared_memory_block : enable
layout(local_size_x = 2) in;
shared A { vec3 v; float f[2]; } a;
shared B { uvec4 w[2]; } b;
layout(binding = 0) buffer O { uvec4 seen[2]; } o;
void main() {
    uint n = gl_LocalInvocationIndex;
    if (n == 0u) a.v = vec3(1.0, 2.0, 3.0);
    a.f[n] = float(n) + 0.5;
    barrier();
    o.seen[n] = b.w[n];
}
",
    );
    assert_eq!(m.shared.len(), 1);
    let r = compute(&m, vec![vec![0; 8]], &[]);
    let f = floats(&r[0]);
    assert_eq!(f[..5], [1.0, 2.0, 3.0, 0.5, 1.5], "std430: the array follows the vector");
}

#[test]
fn parameters_of_a_draw_are_uniforms() {
    let m = from_glsl(
        Stage::Vertex,
        "#version 460
layout(location = 0) out ivec3 o;
void main() { o = ivec3(gl_BaseVertex, gl_BaseInstance, gl_DrawID); gl_Position = vec4(0.0); }
",
    );
    let names: Vec<&str> = m.uniforms.values().map(|u| u.name.as_str()).collect();
    let values = names.iter().map(|n| vec![["base_vertex", "base_instance", "draw_index"].iter().position(|w| w == n).unwrap() as u32 + 5]);
    let outputs = run(&m, Vec::new(), values.collect());
    assert!(outputs.contains(&vec![5, 6, 7]), "{outputs:?}");
}

#[test]
fn earlier_colours_and_samples_are_fetched() {
    let m = from_glsl(
        Stage::Fragment,
        "#version 450
layout(input_attachment_index = 0, binding = 0) uniform subpassInput before;
layout(binding = 1) uniform sampler2DMS many;
layout(location = 0) out vec4 o;
void main() { o = subpassLoad(before) + texelFetch(many, ivec2(0, 1), 2); }
",
    );
    let image = |layers: u32, first: f32| {
        let texels = (0..4 * layers).map(|n| [(first + n as f32).to_bits(), 0, 0, 0]).collect();
        retroshade_ir::TextureData {
            dim: retroshade_ir::TexDim::D2,
            size: [2, 2, 1],
            layers,
            levels: 1,
            depth: false,
            filter: retroshade_ir::env::Filter::Nearest,
            wrap: retroshade_ir::env::Wrap::Clamp,
            texels,
        }
    };
    let at = |x: f32, y: f32| InvocationInputs { inputs: vec![[x, y, 0.0, 1.0].map(f32::to_bits).to_vec()] };
    let env = ShaderEnv {
        invocations: vec![at(0.5, 0.5), at(1.5, 0.5), at(0.5, 1.5), at(1.5, 1.5)],
        textures: vec![image(1, 0.0), image(4, 100.0)],
        ..ShaderEnv::default()
    };
    let r = retroshade_ir::interp::run(&m, &env, &Reference).unwrap();
    let red: Vec<f32> = r.invocations.iter().map(|i| f32::from_bits(i.outputs[0][0])).collect();
    // Sample 2 of the texel in the second row: image 2, texel 2.
    assert_eq!(red, [110.0, 111.0, 112.0, 113.0]);
}

#[test]
fn atomics_on_floats_are_repeated_exchanges() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
#extension GL_EXT_shader_atomic_float : enable
layout(local_size_x = 3) in;
layout(binding = 0) buffer B { float sum; float old[3]; } b;
layout(binding = 1, r32f) uniform image2D t;
void main() {
    uint n = gl_LocalInvocationIndex;
    b.old[n] = atomicAdd(b.sum, float(n) + 0.5);
    imageAtomicAdd(t, ivec2(0, n), 2.0);
}
",
    );
    let texels = [1.0f32, 1.0, 1.0].map(f32::to_bits).to_vec();
    let r = compute(&m, vec![vec![0; 4], texels], &[("t.size", vec![1, 2, 1, 1])]);
    assert_eq!(floats(&r[0]), [4.5, 0.0, 0.5, 2.0]);
    assert_eq!(floats(&r[1]), [3.0, 3.0, 1.0]);
}

#[test]
fn cull_distances_are_outputs() {
    let m = from_glsl(
        Stage::Vertex,
        "#version 450
out gl_PerVertex { vec4 gl_Position; float gl_CullDistance[2]; };
void main() { gl_Position = vec4(0.0); gl_CullDistance[0] = 1.0; gl_CullDistance[1] = -1.0; }
",
    );
    assert!(retroshade_ir::print(&m).contains("@cull_distances"), "{}", retroshade_ir::print(&m));
}

#[test]
fn atomics_on_floats_of_workgroup_memory() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
#extension GL_EXT_shader_atomic_float : enable
layout(local_size_x = 4) in;
shared float sum;
shared vec2 other[4];
layout(binding = 0) buffer B { float all; vec2 seen[4]; } b;
void main() {
    uint n = gl_LocalInvocationIndex;
    if (n == 0u) sum = 0.5;
    other[n].y = float(n);
    barrier();
    atomicAdd(sum, float(n));
    barrier();
    b.all = sum;
    b.seen[n] = vec2(other[3u - n].y, 1.0);
}
",
    );
    let r = compute(&m, vec![vec![0; 10]], &[]);
    let f = floats(&r[0]);
    assert_eq!(f[0], 6.5);
    assert_eq!(f[2..], [3.0, 1.0, 2.0, 1.0, 1.0, 1.0, 0.0, 1.0]);
}

#[test]
fn integers_smaller_than_a_word_wrap() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_8bit_storage : enable
#extension GL_EXT_shader_16bit_storage : enable
layout(local_size_x = 1) in;
layout(constant_id = 0) const int16_t K = int16_t(-3);
layout(binding = 0) buffer A { int16_t a; uint16_t b; int8_t c; uint8_t d; i16vec3 v; uint8_t bytes[]; } x;
layout(binding = 1) buffer O { int o[24]; float f[4]; } y;
shared i8vec4 pile;
int16_t twice(int16_t n) { return n * int16_t(2); }
void main() {
    int n = 0;
    y.o[n++] = int(x.a + int16_t(1));
    y.o[n++] = int(x.b * x.b);
    y.o[n++] = int(-x.c);
    y.o[n++] = int(abs(x.c));
    y.o[n++] = int(x.d << 1);
    y.o[n++] = int(x.d >> 1);
    y.o[n++] = int(~x.d);
    y.o[n++] = int(x.c >> 1);
    y.o[n++] = int(int8_t(int(x.b) + 45));
    y.o[n++] = int(int16_t(x.b));
    y.o[n++] = int(uint16_t(x.c));
    y.o[n++] = int(x.b > uint16_t(7)) + 2 * int(x.c < int8_t(0)) + 4 * int(int16_t(x.b) == K);
    y.o[n++] = int(x.b / uint16_t(10)) + int(x.c % int8_t(7) == int8_t(0));
    y.o[n++] = int(twice(x.a));
    y.o[n++] = int(min(x.a, K)) + int(max(x.d, uint8_t(250)));
    y.o[n++] = int(pack32(x.v.zx));
    y.o[n++] = int(unpack8(uint32_t(0x80ff7f01u)).z) + int(int8_t(unpack8(uint32_t(0x80ff7f01u)).w));
    y.o[n++] = int(float16BitsToInt16(float16_t(-2.0)));
    y.o[n++] = int(bitCount(int(x.v.y)));
    switch (int(x.v.y)) { case -2: y.o[n++] = 77; break; default: y.o[n++] = 0; }
    pile = i8vec4(1, -1, 100, 200);
    pile.w += int8_t(100);
    y.o[n++] = int(pile.w) + int(pile.y);
    y.o[n++] = int(x.bytes.length());
    y.f[0] = float(x.c);
    y.f[1] = float(int16BitsToFloat16(int16_t(0x3c00)));
    y.f[2] = float(x.b);
    x.bytes[1] = uint8_t(0x1ff);
    x.v = i16vec3(-1, 2, -3);
    x.a = x.a + x.a;
    x.d = uint8_t(9);
}
",
    );
    // 32767, 65535; -128, 200; (1, -2, 3), bytes 0xaa and on.
    let a = vec![0xffff_7fff, 0x1234_c880, 0xfffe_0001, 0xbbaa_0003, 0x7766_5544];
    let r = compute(&m, vec![a, vec![0; 28]], &[]);
    let want: [i32; 22] =
        [-32768, 1, -128, -128, 144, 100, 55, -64, 44, -1, 65408, 3, 6553, -2, -3 + 250, 0x0001_0003, 255 - 128, -16384, 31, 77, 44 - 1, 6];
    let got: Vec<i32> = r[1].iter().map(|w| *w as i32).collect();
    assert_eq!(got[..22], want);
    assert_eq!(floats(&r[1])[24..27], [-128.0, 1.0, 65535.0]);
    assert_eq!(r[0], [0xffff_fffe, 0x1234_0980, 0x0002_ffff, 0xffaa_fffd, 0x7766_5544]);
}

#[test]
fn integers_smaller_than_a_word_in_uniforms() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_8bit_storage : enable
#extension GL_EXT_shader_16bit_storage : enable
layout(local_size_x = 1) in;
layout(std140, binding = 0) uniform U { i16vec2 a; u8vec2 b; int8_t c; i16vec3 d; uint8_t e[3]; } u;
layout(binding = 1) buffer O { int o[8]; int k; } y;
void main() {
    y.o[0] = int(u.a.x); y.o[1] = int(u.a.y); y.o[2] = int(u.b.y); y.o[3] = int(u.c);
    y.o[4] = int(u.d.y); y.o[5] = int(u.d.z); y.o[6] = int(u.e[y.k]); y.o[7] = int(u.e[0]);
}
",
    );
    let mut places: Vec<(u32, usize)> = m.uniforms.values().map(|u| (u.offset, u.dims.len())).collect();
    places.sort_unstable();
    assert_eq!(places, [(0, 0), (4, 0), (8, 0), (12, 0), (16, 1)]);
    let word = |u: &retroshade_ir::module::UniformDecl| match u.offset {
        0 => vec![0xfffe_0005],
        4 => vec![0x00fd_c801],
        8 => vec![0x8000_0000],
        12 => vec![0x0000_7fff],
        _ => vec![0x0a, 0x0b, 0xff0c],
    };
    let env = ShaderEnv {
        storage: vec![vec![0, 0, 0, 0, 0, 0, 0, 0, 2]],
        uniforms: m.uniforms.values().map(word).collect(),
        workgroups: [1; 3],
        ..ShaderEnv::default()
    };
    let r = retroshade_ir::interp::run(&m, &env, &Reference).unwrap();
    let got: Vec<i32> = r.storage[0].iter().map(|w| *w as i32).collect();
    assert_eq!(got[..8], [5, -2, 0xc8, -3, -32768, 32767, 12, 10]);
}

/// What stands under a condition that never holds may name elements that are not there, once its function stands in its caller.
#[test]
fn constants_beyond_an_array_are_no_errors() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
layout(std430, binding = 0) buffer B { int o[4]; mat2 m[2]; };
layout(std140, binding = 1) uniform U { int u[4]; };
shared ivec2 s[3];
int fetch(uint i) { if (i < 3u) { return o[i] + u[i] + s[i].y; } return -1; }
void main() {
    s[0] = s[1] = s[2] = ivec2(1, 2);
    o[0] = fetch(9u);
    o[1] = fetch(2u);
    uint k = 7u;
    if (k < 2u) m[k][k].y = 3.0;
}
",
    );
    let r = compute(&m, vec![vec![1; 12]], &[("u", vec![10; 4])]);
    assert_eq!(r[0], [u32::MAX, 13, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
}

/// Blocks at one binding are views of the same words, whatever they take them for.
#[test]
fn buffers_at_one_binding_are_one() {
    let text = "#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer A { float f[]; } a;
layout(std430, binding = 0) buffer B { uint u[]; } b;
layout(std430, binding = 0) readonly buffer C { int head; vec2 v[]; } c;
layout(std430, binding = 1) buffer O { uint o[]; };
void main() {
    a.f[0] = 2.0;
    o[0] = b.u[0];
    b.u[0] = 7u;
    o[1] = floatBitsToUint(a.f[0]);
    o[2] = b.u[0] + 1u;
    b.u[3] = 0x40400000u;
    o[3] = uint(c.v[0].y);
    o[4] = uint(c.head);
}
";
    let m = from_glsl(Stage::Compute, text);
    assert_eq!(m.storage.values().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["a", "o"]);
    let out = run_compute(&m, vec![vec![0; 4], vec![0; 5]], Vec::new(), [1; 3]);
    assert_eq!(out[1], [0x4000_0000, 7, 8, 3, 7]);
}

#[test]
fn a_buffer_that_one_view_writes_is_written() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
layout(local_size_x = 1) in;
layout(binding = 0) readonly buffer A { uint a[4]; } x;
layout(binding = 0) writeonly buffer B { uint b[4]; } y;
layout(binding = 1) readonly buffer C { uint c[4]; } z;
layout(binding = 1) readonly buffer D { uint d[4]; } w;
void main() { y.b[1] = x.a[0] + z.c[2] + w.d[3]; }
",
    );
    let access: Vec<_> = m.storage.values().map(|s| s.access).collect();
    assert_eq!(access, [retroshade_ir::module::Access::ReadWrite, retroshade_ir::module::Access::Read]);
}

#[test]
fn matrices_in_buffers_lie_by_rows_or_by_columns() {
    let m = from_glsl(
        Stage::Compute,
        "#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer A {
    int k;
    layout(row_major) mat3x2 m;
    layout(column_major) mat3x2 c;
    layout(row_major) mat2x3 n[2];
} x;
layout(std430, binding = 1) buffer O { float o[]; } y;
void main() {
    vec2 column = x.m[1], chosen = x.m[x.k];
    vec3 other = x.n[1][1];
    vec2 product = x.m * vec3(1.0, 10.0, 100.0);
    float all[] = { column.x, column.y, x.m[2][1], chosen.x, chosen.y, x.m[x.k][x.k - 1], product.x, product.y, other.x, other.y, other.z };
    for (int i = 0; i < 11; i++) y.o[i] = all[i];
    x.m[0] = vec2(50.0, 60.0);
    x.m[x.k][1] = 70.0;
    x.n[0][1].y = 80.0;
    x.c = x.m;
}
",
    );
    let row = |r: [f32; 3]| r.map(f32::to_bits);
    // Two rows of three in 16 bytes each; three columns of two; twice three rows of two.
    let mut words = [vec![2, 0, 0, 0], row([1.0, 2.0, 3.0]).to_vec(), vec![0], row([4.0, 5.0, 6.0]).to_vec(), vec![0]].concat();
    words.extend([0; 6]);
    words.extend((0..12).map(|n| (n as f32).to_bits()));
    let out = run_compute(&m, vec![words, vec![0; 11]], vec![], [1, 1, 1]);
    assert_eq!(floats(&out[1]), [2.0, 5.0, 6.0, 3.0, 6.0, 6.0, 321.0, 654.0, 7.0, 9.0, 11.0]);
    assert_eq!(floats(&out[0][4..7]), [50.0, 2.0, 3.0]);
    assert_eq!(floats(&out[0][8..11]), [60.0, 5.0, 70.0]);
    assert_eq!(floats(&out[0][12..18]), [50.0, 60.0, 2.0, 5.0, 3.0, 70.0]);
    assert_eq!(floats(&out[0][18..30]), [0.0, 1.0, 2.0, 80.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
}
