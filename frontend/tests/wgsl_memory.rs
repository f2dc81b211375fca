//! WGSL's storage textures, subgroups and pointers into memory. Answers are worked out by hand.

mod common;

use common::{compute, from_wgsl, texel_comes_back};
use retroshade_frontend::{FrontOptions, wgsl};
use retroshade_ir::module::{Access, Interpolation};

#[test]
fn storage_textures_are_read_and_written() {
    let m = from_wgsl(
        "@group(0) @binding(0) var a: texture_storage_2d<r32sint, read>;
@group(0) @binding(1) var b: texture_storage_2d_array<rgba8unorm, write>;
@group(0) @binding(2) var<storage, read_write> size: vec4<u32>;
@group(0) @binding(3) var<storage, read_write> seen: array<vec4<i32>, 4>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) n: u32) {
    size = vec4(textureDimensions(a), textureDimensions(b).x, textureNumLayers(b));
    // The last is outside.
    seen[n] = textureLoad(a, vec2(n, 1u));
    textureStore(b, vec2<i32>(i32(n), 0), n / 2u, vec4(0.0, 1.0, 0.5, f32(n)));
}
",
    );
    let names: Vec<(&str, &str, u32, Access)> =
        m.storage.values().map(|s| (s.name.as_str(), s.source_type.as_str(), s.binding, s.access)).collect();
    assert_eq!(names[0], ("a", "texture_storage_2d<r32i>", 0, Access::Read));
    assert_eq!(names[1], ("b", "texture_storage_2d_array<rgba8>", 1, Access::Write));
    // Three columns, two rows of four words; two layers of one row of three.
    let a = vec![1, 2, 3, 99, 5, 6, 7, 99];
    let sizes = [("a.size", vec![3, 2, 1, 4]), ("b.size", vec![3, 1, 2, 3])];
    let r = compute(&m, vec![a, vec![9; 6], vec![0; 4], vec![8; 16]], &sizes);
    assert_eq!(r[2], [3, 2, 3, 2]);
    assert_eq!(r[3], [5, 0, 0, 1, 6, 0, 0, 1, 7, 0, 0, 1, 0, 0, 0, 0]);
    let texel = |alpha: u32| alpha << 24 | 0x80 << 16 | 0xff << 8;
    assert_eq!(r[1], [texel(0), texel(255), 9, 9, 9, texel(255)]);
}

#[test]
fn every_format_of_wgsl_comes_back_as_it_was_written() {
    for (format, kind, value, want) in [
        ("r8unorm", "f32", "vec4(1.0, 0.5, 0.5, 0.5)", [1.0, 0.0, 0.0, 1.0]),
        ("r8snorm", "f32", "vec4(-1.0, 0.5, 0.5, 0.5)", [-1.0, 0.0, 0.0, 1.0]),
        ("r8uint", "u32", "vec4(300u)", [44.0, 0.0, 0.0, 1.0]),
        ("r8sint", "i32", "vec4(-3i)", [-3.0, 0.0, 0.0, 1.0]),
        ("rg8unorm", "f32", "vec4(0.0, 1.0, 0.5, 0.5)", [0.0, 1.0, 0.0, 1.0]),
        ("rg8snorm", "f32", "vec4(1.0, -1.0, 0.5, 0.5)", [1.0, -1.0, 0.0, 1.0]),
        ("rg8uint", "u32", "vec4(1u, 2u, 3u, 4u)", [1.0, 2.0, 0.0, 1.0]),
        ("rg8sint", "i32", "vec4(1, -2, 3, 4)", [1.0, -2.0, 0.0, 1.0]),
        ("rgba8unorm", "f32", "vec4(0.0, 1.0, 2.0, -1.0)", [0.0, 1.0, 1.0, 0.0]),
        ("rgba8snorm", "f32", "vec4(0.0, 1.0, -1.0, -9.0)", [0.0, 1.0, -1.0, -1.0]),
        ("rgba8uint", "u32", "vec4(1u, 2u, 3u, 4u)", [1.0, 2.0, 3.0, 4.0]),
        ("rgba8sint", "i32", "vec4(1, -2, 3, -4)", [1.0, -2.0, 3.0, -4.0]),
        ("bgra8unorm", "f32", "vec4(0.0, 1.0, 1.0, 0.0)", [0.0, 1.0, 1.0, 0.0]),
        ("r16uint", "u32", "vec4(70000u)", [4464.0, 0.0, 0.0, 1.0]),
        ("r16sint", "i32", "vec4(-30000)", [-30000.0, 0.0, 0.0, 1.0]),
        ("r16float", "f32", "vec4(0.25)", [0.25, 0.0, 0.0, 1.0]),
        ("r16unorm", "f32", "vec4(1.0)", [1.0, 0.0, 0.0, 1.0]),
        ("r16snorm", "f32", "vec4(-1.0)", [-1.0, 0.0, 0.0, 1.0]),
        ("rg16uint", "u32", "vec4(1u, 65535u, 3u, 4u)", [1.0, 65535.0, 0.0, 1.0]),
        ("rg16sint", "i32", "vec4(-1, 32767, 3, 4)", [-1.0, 32767.0, 0.0, 1.0]),
        ("rg16float", "f32", "vec4(0.5, -2.0, 3.0, 4.0)", [0.5, -2.0, 0.0, 1.0]),
        ("rg16unorm", "f32", "vec4(0.0, 1.0, 1.0, 1.0)", [0.0, 1.0, 0.0, 1.0]),
        ("rg16snorm", "f32", "vec4(1.0, -1.0, 1.0, 1.0)", [1.0, -1.0, 0.0, 1.0]),
        ("rgba16uint", "u32", "vec4(1u, 2u, 3u, 65536u)", [1.0, 2.0, 3.0, 0.0]),
        ("rgba16sint", "i32", "vec4(1, -2, 3, -4)", [1.0, -2.0, 3.0, -4.0]),
        ("rgba16float", "f32", "vec4(0.5, -2.0, 3.0, 1024.0)", [0.5, -2.0, 3.0, 1024.0]),
        ("rgba16unorm", "f32", "vec4(0.0, 1.0, 2.0, -1.0)", [0.0, 1.0, 1.0, 0.0]),
        ("rgba16snorm", "f32", "vec4(0.0, 1.0, -1.0, -2.0)", [0.0, 1.0, -1.0, -1.0]),
        ("r32uint", "u32", "vec4(7u)", [7.0, 0.0, 0.0, 1.0]),
        ("r32sint", "i32", "vec4(-7)", [-7.0, 0.0, 0.0, 1.0]),
        ("r32float", "f32", "vec4(0.1)", [0.1, 0.0, 0.0, 1.0]),
        ("rg32uint", "u32", "vec4(7u)", [7.0, 7.0, 0.0, 1.0]),
        ("rg32sint", "i32", "vec4(-7)", [-7.0, -7.0, 0.0, 1.0]),
        ("rg32float", "f32", "vec4(0.1)", [0.1, 0.1, 0.0, 1.0]),
        ("rgba32uint", "u32", "vec4(1u, 2u, 3u, 4u)", [1.0, 2.0, 3.0, 4.0]),
        ("rgba32sint", "i32", "vec4(1, -2, 3, -4)", [1.0, -2.0, 3.0, -4.0]),
        ("rgba32float", "f32", "vec4(0.1, -2.0, 3.0, 4.0)", [0.1, -2.0, 3.0, 4.0]),
        ("rgb10a2uint", "u32", "vec4(1023u, 7u, 1024u, 3u)", [1023.0, 7.0, 0.0, 3.0]),
        ("rgb10a2unorm", "f32", "vec4(0.0, 1.0, 2.0, 0.4)", [0.0, 1.0, 1.0, 1.0 / 3.0]),
        ("rg11b10ufloat", "f32", "vec4(0.5, -2.0, 3.0, 4.0)", [0.5, 0.0, 3.0, 1.0]),
    ] {
        let m = from_wgsl(&format!(
            "@group(0) @binding(0) var t: texture_storage_3d<{format}, read_write>;
@group(0) @binding(1) var<storage, read_write> seen: vec4<f32>;
@compute @workgroup_size(1) fn main() {{
    let v: vec4<{kind}> = {value};
    textureStore(t, vec3(1, 1, 1), v);
    seen = vec4<f32>(textureLoad(t, vec3(1, 1, 1)));
}}
"
        ));
        texel_comes_back(&m, format, want);
    }
}

#[test]
fn blue_comes_first_where_the_format_says_so() {
    let m = from_wgsl(
        "@group(0) @binding(0) var t: texture_storage_1d<bgra8unorm, write>;
@compute @workgroup_size(1) fn main() { textureStore(t, 1, vec4(1.0, 0.2, 0.0, 1.0)); }
",
    );
    let r = compute(&m, vec![vec![0; 2]], &[("t.size", vec![2, 1, 1, 2])]);
    assert_eq!(r[0], [0, 0xffff_3300]);
}

#[test]
fn atomics_on_texels() {
    let m = from_wgsl(
        "@group(0) @binding(0) var a: texture_storage_1d<r32uint, atomic>;
@group(0) @binding(1) var b: texture_storage_2d<r32sint, atomic>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
    let n = i32(i);
    textureAtomicAdd(a, n - 1, 10u);
    textureAtomicMax(a, 0, 50u + i);
    textureAtomicMin(b, vec2(0, 0), -n);
    textureAtomicXor(b, vec2(1, 0), n);
}
",
    );
    let sizes = [("a.size", vec![3, 1, 1, 3]), ("b.size", vec![2, 1, 1, 2])];
    let r = compute(&m, vec![vec![1, 2, 3], vec![5, 8]], &sizes);
    // Invocation 0 is outside, 1 comes after the first maximum.
    assert_eq!(r[0], [60, 12, 13]);
    assert_eq!(r[1], [(-3i32) as u32, 8]);
}

#[test]
fn a_subgroup_is_one_invocation() {
    let m = from_wgsl(
        "enable subgroups;
@group(0) @binding(0) var<storage, read_write> o: array<array<u32, 11>, 2>;
@compute @workgroup_size(2) fn main(
    @builtin(local_invocation_index) n: u32,
    @builtin(subgroup_size) size: u32,
    @builtin(subgroup_invocation_id) id: u32,
) {
    let v = n + 7u;
    o[n] = array(
        size, id, select(0u, 1u, subgroupAll(n == 0u)), subgroupAdd(v), subgroupExclusiveAdd(v),
        subgroupExclusiveMul(v), subgroupInclusiveAdd(v), subgroupMin(v), subgroupBallot(n == 1u).x, subgroupBroadcast(v, 0),
        subgroupShuffleXor(v, 0u));
}
",
    );
    let r = compute(&m, vec![vec![0; 22]], &[]);
    let want = |n: u32| [1, 0, u32::from(n == 0), n + 7, 0, 1, n + 7, n + 7, u32::from(n == 1), n + 7, n + 7];
    assert_eq!(r[0][..11], want(0));
    assert_eq!(r[0][11..], want(1));
}

#[test]
fn integers_between_stages_are_flat_without_being_asked() {
    let text = "struct V { @builtin(position) p: vec4<f32>, @location(0) n: vec2<i32>, @location(1) f: f32 }
@vertex fn v(@location(0) n: vec2<i32>) -> V { return V(vec4(0.0), n, 0.5); }
@fragment fn f(v: V, @location(2) k: u32) -> @location(0) vec4<f32> { return vec4(f32(v.n.x), f32(k), v.f, 0.0); }
";
    for (entry, output) in [("v", true), ("f", false)] {
        let m = match wgsl("flat.wgsl", text, &FrontOptions { entry: Some(entry.into()), ..FrontOptions::default() }) {
            Ok(m) => common::checked(m),
            Err(e) => panic!("{e}"),
        };
        let how = |name: &str| {
            let mut all = m.inputs.values().chain(m.outputs.values());
            all.find(|d| d.name == name && d.interpolation == Interpolation::Flat).is_some()
        };
        assert!(how("n") && !how("f") && (output || how("k")), "{}", retroshade_ir::print(&m));
    }
}

#[test]
fn pointers_into_workgroup_memory_and_storage_are_arguments() {
    let m = from_wgsl(
        "requires unrestricted_pointer_parameters;
struct S { k: u32, v: vec4<u32> }
var<workgroup> w: array<S, 4>;
@group(0) @binding(0) var<storage, read_write> s: array<S, 2>;
@group(0) @binding(1) var<storage, read> r: S;
fn put(p: ptr<workgroup, vec4<u32>>, n: u32) { (*p).y = n; }
fn add(p: ptr<storage, S, read_write>, q: ptr<storage, S, read>, n: u32) { (*p).k += n + (*q).k; (*p).v = (*q).v; }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) n: u32) {
    put(&w[n].v, n * 10u);
    workgroupBarrier();
    if (n == 0u) { add(&s[1], &r, w[3].v.y); }
}
",
    );
    assert_eq!(m.shared.len(), 2, "{}", retroshade_ir::print(&m));
    let access: Vec<Access> = m.storage.values().map(|s| s.access).collect();
    assert_eq!(access, [Access::ReadWrite, Access::Read]);
    let r = compute(&m, vec![vec![1; 16], vec![5, 0, 0, 0, 6, 7, 8, 9]], &[]);
    assert_eq!(r[0], [1, 1, 1, 1, 1, 1, 1, 1, 36, 1, 1, 1, 6, 7, 8, 9]);
}

#[test]
fn overrides_are_listed_with_their_values() {
    let text = "@id(7) override scale: f32 = 0.5;
override count: u32;
override on: bool = true;
override twice: u32 = 2u * count;
@compute @workgroup_size(twice) fn main() { if (on) { o = scale; } }
@group(0) @binding(0) var<storage, read_write> o: f32;
";
    let defines = [("count", "3"), ("7", "0.25")].map(|(k, v)| (k.to_string(), v.to_string())).to_vec();
    let m = match wgsl("o.wgsl", text, &FrontOptions { defines, ..FrontOptions::default() }) {
        Ok(m) => m,
        Err(e) => panic!("{e}"),
    };
    assert_eq!(m.workgroup_size, [6, 1, 1]);
    let all: Vec<_> = m.surface.constants.iter().map(|c| (c.id, c.name.as_str(), c.ty.as_str(), c.default, c.value)).collect();
    assert_eq!(
        all,
        [
            (Some(7), "scale", "f32", Some(0.5f32.to_bits()), 0.25f32.to_bits()),
            (None, "count", "u32", None, 3),
            (None, "on", "bool", Some(1), 1),
            (None, "twice", "u32", None, 6),
        ]
    );
}

#[test]
fn overrides_give_workgroup_memory_its_length() {
    let text = "override n: u32 = 3;
override twice = n * 2u;
var<workgroup> a: array<u32, n>;
var<workgroup> b: array<vec4<u32>, twice + 1u>;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(1) fn main() {
    a[n - 1u] = 5u;
    b[twice].y = 7u;
    o[0] = a[n - 1u] + b[twice].y;
}
";
    for (defines, lengths) in [(vec![], [3, 7]), (vec![("n".to_string(), "5".to_string())], [5, 11])] {
        let m = match wgsl("o.wgsl", text, &FrontOptions { defines, ..FrontOptions::default() }) {
            Ok(m) => m,
            Err(e) => panic!("{e}"),
        };
        let all: Vec<u32> = m.shared.values().map(|s| s.count).collect();
        assert_eq!(all, [lengths[0], 4 * lengths[1]], "{}", retroshade_ir::print(&m));
        assert_eq!(compute(&m, vec![vec![0]], &[])[0], [12]);
    }
}

#[test]
fn halves_are_not_taken_for_words() {
    let refused = |body: &str| {
        let text = format!(
            "enable f16;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(1) fn main() {{
{body}
}}
"
        );
        match wgsl("h.wgsl", &text, &FrontOptions::default()) {
            Ok(m) => panic!("{}", retroshade_ir::print(&m)),
            Err(e) => e.to_string(),
        }
    };
    let e = refused("    let v = vec4i(1, 2, 3, i32(o[0]));\n    o[1] = u32(bitcast<vec2f>(v).x);");
    assert!(e.contains("F0115") && e.contains("4 numbers to 2"), "{e}");
    let e = refused("    var h = vec4h(1h);\n    let k = bitcast<f16>(h);");
    assert!(e.contains("F0115") && e.contains("4 numbers to 1"), "{e}");
    let e = refused("    let h = vec4h(1h);\n    o[2] = bitcast<u32>(h);");
    assert!(e.contains("F0010"), "{e}");
}

/// naga takes two halves for one float, and words of two halves for two words.
#[test]
fn halves_are_cast_to_words_and_back() {
    let m = from_wgsl(
        "enable f16;
alias Two = vec2<f16>;
struct S { h: vec4h }
@group(0) @binding(0) var<storage, read_write> o: array<u32, 12>;
@group(0) @binding(1) var<storage, read_write> w: vec2u;
fn half(x: f16) -> Two { return vec2h(x, 2h * x); }
@compute @workgroup_size(1) fn main() {
    const ones = bitcast<vec2h>(0x3c003c00u);
    let a = bitcast<vec2<f16>>(o[0]) + ones;
    let b = bitcast<vec4<f16>>(vec2<f32>(bitcast<f32>(o[1]), 1.0));
    let c = bitcast<Two>(bitcast<i32>(half(b.x)) + 1);
    o[2] = bitcast<u32>(a);
    o[3] = bitcast<u32>(bitcast<f32>(c));
    var s: S;
    s.h = vec4h(b.wz, c);
    let d = bitcast<vec2<i32>>(s.h);
    o[4] = u32(d.x);
    o[5] = u32(d.y);
    w = bitcast<vec2u>(bitcast<vec2f>(s.h));
    for (var k = 6u; bitcast<u32>(vec2h(f16(k), 0h)) < 0x4800u; k++) { o[k] = bitcast<vec2u>(vec2f(1.0, f32(k))).y; }
    o[9] = u32(bitcast<f16>(s.h.w) * bitcast<vec2h>(c).y);
}
",
    );
    // 1, 2 | 0.5, 3: halves of 0x40003c00 and 0x42003800.
    let buffers = compute(&m, vec![vec![0x4000_3c00, 0x4200_3800, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], vec![0, 0]], &[]);
    // c is 0.5 and a bit, 1; b ends in the halves of 1.0: 0 and 1.875.
    assert_eq!(
        buffers[0][2..10],
        [0x4200_4000, 0x3c00_3801, 0x0000_3f80, 0x3c00_3801, 6f32.to_bits(), 7f32.to_bits(), 0, 1],
        "{}",
        retroshade_ir::print(&m)
    );
    assert_eq!(buffers[1], [0x0000_3f80, 0x3c00_3801]);
    // Whose functions the text would be spelled with is another question.
    let own = |body: &str| {
        let text = format!(
            "enable f16;
@group(0) @binding(0) var<storage, read_write> o: array<u32, 4>;
fn pack2x16float(v: vec2f) -> u32 {{ return 77u; }}
@compute @workgroup_size(1) fn main() {{ {body} }}
"
        );
        wgsl("h.wgsl", &text, &FrontOptions::default())
            .map_or_else(|e| e.to_string(), |m| format!("{:?}", compute(&m, vec![vec![1; 4]], &[])[0]))
    };
    assert!(own("let h = vec2h(f16(o[0]), 2h); o[1] = bitcast<u32>(h);").contains("F0010"));
    // A mistake elsewhere is told as it is.
    let e = own("let h = vec2h(1h); o[1] = bitcast<u32>(h) + undefined;");
    assert!(e.contains("undefined"), "{e}");
}

#[test]
fn constants_of_the_module_are_computed() {
    let m = from_wgsl(
        "const BIG = bitcast<f32>(0x7f7fffffu);
const HALF: f32 = mix(0, 1.0, SHARE);
const SHARE = 0.5;
const BOTH = vec2f(HALF + 1.0, BIG);
const BYTES = unpack4xU8(0x04030201u).wzyx;
struct S { HALF: f32 }
@group(0) @binding(0) var<storage, read_write> o: array<f32, 5>;
fn f(n: f32) -> S { return S(HALF * n); }
@compute @workgroup_size(1) fn main() {
    o[0] = f(o[0]).HALF;
    o[1] = BOTH.x;
    o[2] = BOTH.y;
    for (var k = 0u; k < 2u; k++) { o[3u + k] = f32(BYTES[k]) + HALF; }
}
",
    );
    assert_eq!(common::floats(&compute(&m, vec![common::words(&[3.0; 5])], &[])[0]), [1.5, 1.5, f32::MAX, 4.5, 3.5]);
    // Where a function has a name for itself it is not known which of the two is meant, and what naga has to say of the constant stays.
    for function in ["fn f(x: f32) -> f32 { let M = x; return M; }", "fn f(SHARE: f32) -> f32 { return M * SHARE; }"] {
        let text = format!(
            "const SHARE = 0.5;
const M = mix(1.0, 2.0, SHARE);
{function}
@group(0) @binding(0) var<storage, read_write> o: array<f32, 2>;
@compute @workgroup_size(1) fn main() {{ o[1] = f(o[0]); }}
"
        );
        let e = wgsl("f.wgsl", &text, &FrontOptions::default()).map(|_| ()).expect_err("not known");
        assert!(e.to_string().contains("constant expression"), "{e}");
    }
}

#[test]
fn a_name_of_the_loop_is_another_one_in_continuing() {
    let m = from_wgsl(
        "struct S { x: i32 }
@group(0) @binding(0) var<storage, read_write> o: array<i32, 4>;
@compute @workgroup_size(1) fn main() {
    var i = 0;
    loop {
        var x = o[i];
        let s = 3;
        continuing {
            var<function> x = o[x] + s;
            let s = S(x);
            if (x > 2) { let x = x + 1; i += x; } else { i += s.x; }
            break if s.x > 10 || i > 3;
        }
    }
    o[3] = i;
}
",
    );
    // x: o[0] = 1, then o[1] + 3 = 5, and i = 6.
    assert_eq!(compute(&m, vec![vec![1, 2, 0, 0]], &[])[0], [1, 2, 0, 6]);
    let text = |continuing: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<i32, 2>;
@compute @workgroup_size(1) fn main() {{
    var n = 0;
    loop {{ let i = o[0]; continuing {{ {continuing} break if n > 8; }} }}
    o[1] = n;
}}
"
        )
    };
    // What a loop's header declares is the loop's.
    let m = from_wgsl(&text("for (var i = 0; i < 2; i++) { n += 2; } n += i;"));
    assert_eq!(compute(&m, vec![vec![1, 0]], &[])[0], [1, 10]);
    let e = wgsl("f.wgsl", &text("let i = 2; let i = 3; n += i;"), &FrontOptions::default()).map(|_| ()).expect_err("declared twice");
    assert!(e.to_string().contains("redefinition"), "{e}");
}

#[test]
fn a_function_may_end_in_a_loop_that_it_leaves_with_a_value() {
    let text = |leaving: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<i32, 2>;
fn f(n: i32) -> vec2i {{
    var i = n;
    if (n < 0) {{ return vec2i(); }} else {{
        loop {{
            i = i * 2;
            for (var k = 0; ; k++) {{ if (k > 2) {{ break; }} i++; }}
            switch i {{ case 3: {{ break; }} default: {{ i++; }} }}
            if (i > 40) {{ {leaving} }}
        }}
    }}
}}
@compute @workgroup_size(1) fn main() {{ o[0] = f(o[0]).x; o[1] = f(o[1]).y; }}
"
        )
    };
    // 1 → 6, 16, 36, 76.
    let m = from_wgsl(&text("return vec2i(i, -i);"));
    assert_eq!(compute(&m, vec![vec![1, 2u32.wrapping_neg()]], &[])[0], [76, 0]);
    let e = wgsl("f.wgsl", &text("break;"), &FrontOptions::default()).map(|_| ()).expect_err("the end is reached");
    assert!(e.to_string().contains("F0013"), "{e}");
}

/// What stands under a condition that never holds may name elements that are not there, once its function stands in its caller.
#[test]
fn constants_beyond_an_array_are_no_errors() {
    let run = |declarations: &str, body: &str, buffers: Vec<Vec<u32>>| {
        let m = from_wgsl(&format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<i32, 4>;
{declarations}
@compute @workgroup_size(1) fn main() {{ {body} }}
"
        ));
        compute(&m, buffers, &[])[0].clone()
    };
    let o = || vec![1, 2, 3, 4];
    let guarded = "fn f(i: u32) -> i32 { if (i < 4u) { return o[i]; } return 50; }";
    assert_eq!(run(guarded, "o[0] = f(9u) + f(2u);", vec![o()]), [53, 2, 3, 4]);
    assert_eq!(
        run("var<workgroup> w: array<vec2i, 3>;", "var i = 3u; w[i].y = 9; w[1] = vec2i(6, 7); o[1] = w[i - 2u].y;", vec![o()]),
        [1, 7, 3, 4]
    );
    // Nothing is written there, and the last element of a uniform is read.
    assert_eq!(run("", "var i = 4u; o[i] = 9;", vec![o()]), o());
    let m = from_wgsl(
        "struct S { a: array<vec4i, 3>, b: array<mat2x2f, 2> }
@group(0) @binding(0) var<uniform> s: S;
@group(0) @binding(1) var<storage, read_write> o: array<i32, 2>;
@compute @workgroup_size(1) fn main() { var i = 3u; o[0] = s.a[i].x; o[1] = i32(s.b[i][i].y); }
",
    );
    assert!(m.uniforms.len() == 2, "{}", retroshade_ir::print(&m));
}

/// What naga does not compute of numbers without a type is computed at run time, and what is wrong behind it has its own place.
#[test]
fn built_ins_of_constants_are_computed() {
    let text = |body: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<f32, 4>;
@compute @workgroup_size(1) fn main() {{
{body}
}}
"
        )
    };
    let m = from_wgsl(&text(
        "    const k = mix(0.25, 0.75, 0.5);
    let c = mix(vec3(1, 0, 0.5), vec3(0.0), k);
    o[0] = c.x + smoothstep(0.0, 2.0, 1.0);
    o[1] = transpose(mat2x2(1, 2, 3, 4))[1][0];
    o[2] = determinant(mat2x2(1.0, 2.0, 3.0, 4.5));
    o[3] = ldexp(1.5, 3) + c.z;",
    ));
    let r = compute(&m, vec![vec![0; 4]], &[]);
    assert_eq!(common::floats(&r[0]), [1.0, 2.0, -1.5, 12.25]);
    match wgsl("m.wgsl", &text("    let c = mix(1.0, 2.0, 0.5); o[0] = c.x;"), &FrontOptions::default()) {
        Ok(_) => panic!("accepted"),
        Err(e) => assert!(!e.to_string().contains("onstant") && e.diagnostics[0].span.start > 145, "{e}"),
    }
}

#[test]
fn pointers_into_uniforms_are_arguments() {
    let m = from_wgsl(
        "requires unrestricted_pointer_parameters;
@group(0) @binding(0) var<uniform> u: array<vec4f, 4>;
@group(0) @binding(1) var<storage, read_write> o: f32;
fn f(p: ptr<uniform, array<vec4f, 4>>, n: u32) -> f32 { return (*p)[n].y; }
@compute @workgroup_size(1) fn main() { o = f(&u, 2u); }
",
    );
    assert_eq!(m.uniforms.len(), 1, "{}", retroshade_ir::print(&m));
    let words = (0..16).map(|n| (n as f32).to_bits()).collect();
    assert_eq!(common::floats(&compute(&m, vec![vec![0]], &[("u", words)])[0]), [9.0]);
}

#[test]
fn pointers_to_atomics_and_to_arrays_without_a_length_are_arguments() {
    let m = from_wgsl(
        "struct Item { n: atomic<i32>, f: f32 }
struct All { count: atomic<u32>, items: array<Item> }
@group(0) @binding(0) var<storage, read_write> all: All;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
override size = 2u;
var<workgroup> w: array<atomic<u32>, size>;
fn touch(p: ptr<storage, Item, read_write>, k: i32) -> i32 { (*p).f = f32(k); return atomicAdd(&(*p).n, k); }
fn last(p: ptr<storage, array<Item>, read_write>, k: i32) -> u32 {
    let n = arrayLength(p);
    return u32(touch(&(*p)[n - 1u], k));
}
fn bump(p: ptr<workgroup, atomic<u32>>) -> u32 { return atomicAdd(p, 5u) + atomicLoad(p); }
fn unread(p: ptr<workgroup, atomic<u32>>, q: ptr<storage, atomic<u32>, read_write>) -> u32 { return atomicAdd(q, 1u); }
@compute @workgroup_size(1) fn main() {
    let items = &all.items;
    let length = arrayLength(items);
    o[0] = last(items, 4);
    o[1] = last(items, 7);
    o[2] = bump(&w[1]);
    o[3] = bump(&w[1]);
    if (length == 3u) { o[4] = unread(&w[0], &all.count); }
}
",
    );
    // The counter, then three items of a number and a float.
    let r = compute(&m, vec![vec![9, 0, 0, 10, 0, 20, 0], vec![0; 5]], &[]);
    assert_eq!(r[0], [10, 0, 0, 10, 0, 31, 7.0f32.to_bits()]);
    assert_eq!(r[1], [20, 24, 5, 15, 9]);
}

#[test]
fn what_is_wrong_beside_such_pointers_is_told() {
    let text = "fn f(p: ptr<workgroup, u32>) { *p = 1u; }
var<workgroup> w: u32;
@compute @workgroup_size(1) fn main() { f(&w); let d = dpdx(f32(w)); }
";
    match wgsl("p.wgsl", text, &FrontOptions::default()) {
        Ok(_) => panic!("accepted"),
        Err(e) => assert!(e.to_string().contains("its stage does not have"), "{e}"),
    }
}

/// A `let` is no constant expression: what is refused of constants is computed of it.
#[test]
fn what_a_let_is_set_to_is_no_constant() {
    let m = from_wgsl(
        "@group(0) @binding(0) var<storage, read_write> o: array<u32, 5>;
@compute @workgroup_size(1) fn main() {
    let a = o[0];
    let zero = 0u;
    let far: u32 = 33u;
    let beyond = 7;
    var four = array<u32, 4>(1, 2, 3, 4);
    o[1] = a / zero;
    o[2] = a % zero;
    o[3] = a << far;
    o[4] = select(four[beyond] & 0u, 9u, zero == 0u);
}
",
    );
    assert_eq!(compute(&m, vec![vec![5; 5]], &[])[0], [5, 5, 0, 10, 9]);
}

#[test]
fn lanes_may_be_signed() {
    let text = |lane: &str| {
        format!(
            "enable subgroups;
@group(0) @binding(0) var<storage, read_write> o: array<f32, 2>;
@compute @workgroup_size(1) fn main() {{ var i = 0i; let v = o[0]; if (i == 0) {{ o[1] = subgroupShuffle(v, {lane}); }} }}
"
        )
    };
    let m = from_wgsl(&text("i"));
    assert_eq!(common::floats(&compute(&m, vec![common::words(&[2.5, 0.0])], &[])[0]), [2.5, 2.5]);
    assert!(wgsl("f.wgsl", &text("v"), &FrontOptions::default()).is_err(), "a float names no lane");
}

#[test]
fn uniforms_may_lie_as_buffers_do() {
    let m = from_wgsl(
        "requires uniform_buffer_standard_layout;
struct T { p: f32, q: f32 }
struct S { a: f32, w: array<f32, 5>, v: array<vec2f, 3>, m: array<mat2x2f, 2>, t: T, z: f32 }
@group(0) @binding(0) var<uniform> u: S;
@group(0) @binding(1) var<storage, read_write> o: array<f32, 4>;
@compute @workgroup_size(1) fn main() {
    let k = i32(u.a);
    o[0] = u.w[3] + u.v[2].y;
    o[1] = u.w[k] + u.m[1][0].y;
    o[2] = u.v[k].x + u.m[k - 1][1].x;
    o[3] = u.z + u.t.q;
}
",
    );
    let at = |name: &str| m.uniforms.values().find(|d| d.name == name).map(|d| (d.offset, d.unit)).unwrap();
    assert_eq!([at("u.w"), at("u.v"), at("u.m"), at("u.t.q"), at("u.z")], [(4, 4), (24, 8), (48, 8), (84, 4), (88, 4)]);
    let uniforms = [
        ("u.a", common::words(&[2.0])),
        ("u.w", common::words(&[10.0, 11.0, 12.0, 13.0, 14.0])),
        ("u.v", common::words(&[20.0, 21.0, 22.0, 23.0, 24.0, 25.0])),
        ("u.m", common::words(&[30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0])),
        ("u.t.p", common::words(&[40.0])),
        ("u.t.q", common::words(&[41.0])),
        ("u.z", common::words(&[50.0])),
    ];
    assert_eq!(common::floats(&compute(&m, vec![vec![0; 4]], &uniforms)[0]), [38.0, 47.0, 60.0, 91.0]);
}
