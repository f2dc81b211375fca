//! HLSL that glslang reads otherwise than the language says, against values worked out by hand.

mod common;

use common::{checked, compute, floats, run, texture, words};
use retroshade_frontend::{FrontOptions, hlsl};
use retroshade_ir::{Module, Reference, ShaderEnv, Stage, TextureDecl};

fn read(stage: Stage, text: &str) -> Module {
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    match hlsl("a.hlsl", text, &options) {
        Ok(m) => checked(m),
        Err(e) => panic!("{e}\n{text}"),
    }
}

fn refused(stage: Stage, text: &str) -> String {
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    match hlsl("a.hlsl", text, &options) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    }
}

/// Names with their bindings.
fn bindings(m: &Module) -> Vec<(String, u32)> {
    let textures = m.textures.values().map(|t| (t.name.clone(), t.binding));
    let samplers = m.surface.samplers.iter().map(|s| (s.name.clone(), s.binding));
    let storage = m.storage.values().map(|s| (s.name.clone(), s.binding));
    let mut all: Vec<_> = textures.chain(samplers).chain(storage).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn objects_without_a_register_get_the_first_that_is_free() {
    let text = "Texture2D z; Texture2D a[3]; Texture2D b : register(t1); SamplerState s { Filter = MIN_MAG_MIP_POINT; }; SamplerState s2 : register(s0) { AddressU = Wrap; };
StructuredBuffer<float> d; Texture2D<float4> q : register(vs, t7) : register(ps, t[9]);
float4 main() : SV_Target { return q.Sample(s2, 0.1) + b.Sample(s, 0.2) + a[2].Sample(s, .3) + z.Load(0) + d[0]; }
";
    let want = [("a[0]", 2), ("a[1]", 3), ("a[2]", 4), ("b", 1), ("d", 5), ("q", 9), ("s", 1), ("s2", 0), ("z", 0)];
    let got = bindings(&read(Stage::Fragment, text));
    assert_eq!(got, want.map(|(n, k)| (n.to_string(), k)));
    let text = "RWStructuredBuffer<float> u, v : register(u0); RWByteAddressBuffer w; StructuredBuffer<float> t;
[numthreads(1, 1, 1)] void main() { u[0] = t[0]; v[0] = 1; w.Store(0, 2); }
";
    let want = [("t", 0), ("u", 1), ("v", 0), ("w", 2)];
    assert_eq!(bindings(&read(Stage::Compute, text)), want.map(|(n, k)| (n.to_string(), k)));
}

/// `#define NAME;` defines a semicolon; glslang leaves it out.
#[test]
fn a_definition_needs_no_blank() {
    let text = "#define SHOW;
#define MINUS-1
#define F(x) x
float4 main() : SV_Target {
#ifdef SHOW
    return F(3.0) MINUS SHOW
#else
    return 9;
#endif
}
";
    assert_eq!(floats(&run(&read(Stage::Fragment, text), Vec::new(), Vec::new())[0])[0], 2.0);
}

/// Where each uniform lies.
fn offsets(m: &Module) -> Vec<(&str, u32)> {
    m.uniforms.values().map(|u| (u.name.as_str(), u.offset)).collect()
}

#[test]
fn constants_lie_where_direct3d_has_them() {
    let text = "float4 a; float4 b : register(c0); float c; float4x4 m : register(c4); float4 z[2];
cbuffer C { float4 p : register(c3); float q : packoffset(c2) : register(c0); };
float4 main() : SV_Target { return a + b + c + m[0] + z[1] + p + q; }
";
    let m = read(Stage::Fragment, text);
    let mut got = offsets(&m);
    got.sort_unstable();
    assert_eq!(got, [("a", 16), ("b", 0), ("c", 32), ("m", 64), ("p", 0), ("q", 32), ("z", 128)]);
}

#[test]
fn what_follows_a_structure_fills_its_last_register() {
    let text = "struct S { float2 a[2]; float b; float4 c; };
struct T { float3x2 m; float d; row_major float2x3 e; };
struct L { float3x3 rot; float i; };
struct M { L l[2]; float j; };
cbuffer C { S s; float4 p; T t; float q; struct { float x; float y; } u; float2 v; float3 w; M m[2]; float k; }
float4 main() : SV_Target { return s.a[1].y + s.b + s.c + p + t.m[0].x + t.d + t.e[0].x + q + u.y + v.x + w.x + m[1].l[1].i + m[0].j + k; }
";
    let m = read(Stage::Fragment, text);
    let mut got = offsets(&m);
    got.sort_unstable_by_key(|u| u.1);
    let want = [
        ("s.a", 0),
        ("s.b", 24),
        ("s.c", 32),
        ("p", 48),
        ("t.m", 64),
        ("t.d", 92),
        ("t.e", 96),
        ("q", 124),
        ("u.x", 128),
        ("u.y", 132),
        ("v", 136),
        ("w", 144),
        ("m[].l[].rot", 160),
        ("m[].l[].i", 204),
        ("m[].j", 256),
        ("k", 372),
    ];
    assert_eq!(got, want);
}

#[test]
fn constant_buffers_are_values_of_their_type() {
    let text = "struct T { float c; }; struct S { float a; T t; float b[2]; };
ConstantBuffer<S> one : register(b2);
ConstantBuffer<S> two;
float sum(S s) { return s.a + s.t.c + s.b[0] + s.b[1]; }
float4 main() : SV_Target { S s = one; s.a = 100; s.b[1] = two.a; return float4(sum(s), sum(two), one.t.c, s.t.c); }
";
    let m = read(Stage::Fragment, text);
    let places: Vec<(&str, u32, u32)> = m.uniforms.values().map(|u| (u.name.as_str(), u.binding, u.offset)).collect();
    let want = |name, binding| ["a", "t.c", "b"].map(|w| (format!("{name}.{w}"), binding)).to_vec();
    let got: Vec<(String, u32)> = places.iter().map(|p| (p.0.to_string(), p.1)).collect();
    assert_eq!(got, [want("one", 2), want("two", 0)].concat());
    assert_eq!(places.iter().map(|p| p.2).collect::<Vec<_>>(), [0, 16, 32, 0, 16, 32]);
    let values: Vec<&[f32]> = vec![&[1.0], &[2.0], &[3.0, 4.0], &[10.0], &[20.0], &[30.0, 40.0]];
    let out = run(&m, Vec::new(), values.into_iter().map(words).collect());
    assert_eq!(floats(&out[0]), [115.0, 100.0, 2.0, 2.0]);
    // An array's elements have a register each, and are used one by one.
    let text = "struct S { float a; };
ConstantBuffer<S> many[2] : register(b3);
float4 main() : SV_Target { return many[0].a + 10 * many[1].a; }
";
    let m = read(Stage::Fragment, text);
    assert_eq!(m.uniforms.values().map(|u| u.binding).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(floats(&run(&m, Vec::new(), vec![words(&[1.0]), words(&[2.0])])[0])[0], 21.0);
}

#[test]
fn members_hide_those_of_bases() {
    let text = "struct A { float a; float b; float sum() { return a + b; } }; struct B : A { float b; };
B x;
float4 main() : SV_Target { return float4(x.a, x.b, x.sum(), 0); }
";
    let m = read(Stage::Fragment, text);
    let out = run(&m, Vec::new(), m.uniforms.values().map(|u| words(&[1.0 + u.offset as f32])).collect());
    assert_eq!(floats(&out[0]), [1.0, 9.0, 6.0, 0.0]);
}

#[test]
fn structures_have_the_members_of_their_bases() {
    let text = "struct A { float4 a; float g() { return a.w; } };
struct B : A { float b; };
struct C : B { float2 c; };
C x;
float4 main() : SV_Target { return float4(x.a.x, x.b, x.c.y, x.g()); }
";
    let m = read(Stage::Fragment, text);
    assert_eq!(offsets(&m), [("x.a", 0), ("x.b", 16), ("x.c", 20)]);
}

#[test]
fn the_order_of_matrices_is_that_of_their_place() {
    let text = "typedef float2x2 plain;
typedef row_major plain rows;
#pragma pack_matrix(row_major)
plain a;
typedef float2x2 inner;
cbuffer C { float2x2 b; column_major float2x2 c; };
struct S { float2x2 d; };
#pragma pack_matrix(column_major)
S s;
rows e;
float2x2 f;
inner g;
float4 main() : SV_Target { plain h = (plain)1; return a[0].xyxy + b[0].xyxy + c[0].xyxy + s.d[0].xyxy + e[0].xyxy + f[0].xyxy + g[0].xyxy + h[0].xyxy; }
";
    // SPIR-V's rows are HLSL's columns.
    let m = read(Stage::Fragment, text);
    let mut by_columns: Vec<&str> = m.uniforms.values().filter(|u| u.rows).map(|u| u.name.as_str()).collect();
    by_columns.sort_unstable();
    assert_eq!(by_columns, ["c", "f"]);
}

#[test]
fn elements_of_buffers_lie_as_the_pragma_in_front_of_them_says() {
    let text = "float2x2 f;
#pragma pack_matrix(row_major)
RWStructuredBuffer<float2x2> o;
float2x2 rows; struct S { float2x2 m; };
RWStructuredBuffer<S> s;
[numthreads(1, 1, 1)] void main() { float2x2 m = { 1, 2, 3, 4 }; o[0] = m; s[0].m = m + f * 0 + rows * 0; }
";
    let m = read(Stage::Compute, text);
    let by_columns: Vec<&str> = m.uniforms.values().filter(|u| u.rows).map(|u| u.name.as_str()).collect();
    assert_eq!(by_columns, ["f"]);
    let uniforms: Vec<(&str, Vec<u32>)> = m.uniforms.values().map(|u| (u.name.as_str(), vec![0; 4])).collect();
    let out = compute(&m, vec![vec![0; 4], vec![0; 4]], &uniforms);
    assert_eq!(floats(&out[0]), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(floats(&out[1]), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn names_of_matrices_may_be_those_of_variables() {
    let text = "typedef row_major float2x2 rows;
struct S { float rows; };
rows m;
float4 f(float rows) { return rows * (rows) + (float)rows; }
float4 main() : SV_Target { S s; s.rows = 1; ::rows k = (float2x2)m; return f(s.rows) + k[0].xyxy; }
"
    .replace("::rows", "rows");
    let m = read(Stage::Fragment, &text);
    assert!(m.uniforms.values().all(|u| !u.rows));
}

#[test]
fn what_has_no_value_is_a_uniform() {
    let text = "const float4 a; const uniform float b; static const float4 c = 2;
float4 main() : SV_Target { return a + b + c; }
";
    let m = read(Stage::Fragment, text);
    assert_eq!(offsets(&m), [("a", 0), ("b", 16)]);
}

/// What a compute program leaves in its only buffer.
fn computed(text: &str, many: usize) -> Vec<f32> {
    floats(&compute(&read(Stage::Compute, text), vec![vec![0; many]], &[])[0])
}

#[test]
fn labels_suffixes_and_statics() {
    let text = "RWStructuredBuffer<float> o;
float half_of(float x) { o[5] += 1; return x / 2; }
static const float2 a = float2(half_of(3), 1), b = mul(float2(1, 6), float2(1, 1));
static const float3 d = mul(float3(0, 3, 4), float3x3(1, 0, 0, 0, 1, 0, 0, 0, 1)), e = normalize(d);
static const uint two = asuint(2.0) >> 29;
static float c[2] = { a.x, half_of(8) }, later = c[0] + 1;
[numthreads(1, 1, 1)] void main(uint3 c0 : SV_DispatchThreadID, uint later_ : SV_GroupIndex);
int pick(int k) { int w[two + 1]; w[two] = 0; switch (k) { case two + 5: return w[two]; case 2.75f: return 10; case -1.5: return 20; default: return 30; } }
[numthreads(1, 1, 1)] void main(uint3 c0 : SV_DispatchThreadID, uint later_ : SV_GroupIndex) {
    o[0] = a.x + b.y;
    o[4] = later + e.z;
    o[1] = c[0] * 10 + c[1];
    o[2] = pick(2) + pick(-1) * 2 + pick(1);
    o[3] = 3l + 4LU + 0x10L;
}
";
    assert_eq!(computed(text, 6), [8.5, 19.0, 80.0, 23.0, 3.3, 2.0]);
}

#[test]
fn signs_are_whole_numbers() {
    let text = "RWStructuredBuffer<float> o;
[numthreads(1, 1, 1)] void main() {
    float x = o[0]; int k = (int)o[1]; uint u = (uint)o[2];
    o[0] = sign(x) / 2;
    o[1] = (uint)sign(x) >> 31;
    o[2] = sign(k) + sign(u) * 10;
    o[3] = sign(-2.5) * 0.5;
    float2 v = sign(float2(x, 0)) * 0.5;
    o[4] = v.x + v.y;
    o[5] = sign(-3) + sign(0.0);
}
";
    let out = compute(&read(Stage::Compute, text), vec![words(&[-2.5, -7.0, 3.0, 0.0, 0.0, 0.0])], &[]);
    assert_eq!(floats(&out[0]), [0.0, 1.0, 9.0, -0.5, -0.5, -1.0]);
}

#[test]
fn what_is_compared_is_stored() {
    let text = "struct S { int n; uint m; };
RWBuffer<uint> u; RWStructuredBuffer<S> s; RWByteAddressBuffer b; groupshared int g;
[numthreads(1, 1, 1)] void main() {
    g = 4;
    InterlockedCompareStore(u[1], 5, 3);
    InterlockedCompareStore(u[2], 5, 3);
    InterlockedCompareStore(s[0].n, -6, 9);
    InterlockedCompareStore(s[0].m, 1, 9);
    InterlockedCompareStore(g, 4, 7);
    b.InterlockedCompareStore(4, 2, 8);
    u[3] = g;
}
";
    let m = read(Stage::Compute, text);
    let size = |name: &str| m.storage.values().position(|s| s.name.starts_with(name));
    let mut storage = vec![Vec::new(); m.storage.len()];
    for (name, words) in [("u", vec![0, 5, 6, 0]), ("s", vec![-6i32 as u32, 2]), ("b", vec![1, 2])] {
        storage[size(name).expect("buffer")] = words;
    }
    let uniforms: Vec<(&str, Vec<u32>)> = m.uniforms.values().map(|u| (u.name.as_str(), vec![4, 0, 0, 0])).collect();
    let out = compute(&m, storage, &uniforms);
    assert_eq!(out[size("u").expect("u")], [0, 3, 6, 7]);
    assert_eq!(out[size("s").expect("s")], [9, 2]);
    assert_eq!(out[size("b").expect("b")], [1, 8]);
}

#[test]
fn four_offsets_take_the_four_texels_of_a_gather() {
    let text = "Texture2D t; SamplerState s; RWStructuredBuffer<float> o;
[numthreads(1, 1, 1)] void main() {
    float2 at = float2(0.5, 0.5);
    float4 plain = t.GatherRed(s, at);
    float4 alike = t.GatherRed(s, at, int2(0, 0), int2(0, 0), int2(0, 0), int2(0, 0));
    float4 each = t.GatherRed(s, at, int2(0, 0), int2(-1, 0), int2(0, -1), int2(-1, -1));
    o[0] = all(plain == alike) ? 1 : 0;
    o[1] = each.x; o[2] = each.y; o[3] = each.z; o[4] = each.w;
    o[5] = plain.x;
}
";
    let m = read(Stage::Compute, text);
    let texel = |d: &TextureDecl| texture(d, [4, 4, 1], (0..16).map(|k| (k as f32).to_bits()));
    let textures = m.textures.values().map(texel).collect();
    let env = ShaderEnv { storage: vec![vec![0; 6]], textures, workgroups: [1; 3], ..ShaderEnv::default() };
    let result = retroshade_ir::interp::run(&m, &env, &Reference).expect("runs");
    // Texels 5, 6, 9 and 10 lie about the middle: x is below on the left, then against the clock's hands.
    assert_eq!(floats(&result.storage[0]), [1.0, 9.0, 9.0, 2.0, 0.0, 9.0]);
}

#[test]
fn samplers_are_what_reads_them() {
    let text = "sampler v, w; sampler c; sampler2D p; sampler plain; Texture2D t; sampler env;
float4 inner(float3 d, sampler q : register(s0)) { return texCUBE(q, d); }
float4 outer(sampler r, float3 d, sampler x) { return inner(d, r) + tex3D(x, d); }
float4 main(float3 at : TEXCOORD0) : SV_Target { return tex3D(v, at) + tex3D(w, at) + texCUBElod(c, at.xyzz) + tex2D(p, at.xy) + t.Sample(plain, at.xy) + outer(env, at, w); }
";
    let m = read(Stage::Fragment, text);
    let dims: Vec<(String, String)> = m.textures.values().map(|t| (t.name.clone(), format!("{:?}", t.dim))).collect();
    let want =
        [("c", "Cube"), ("env", "Cube"), ("p", "D2"), ("t", "D2"), ("v", "D3"), ("w", "D3")].map(|(a, b)| (a.to_string(), b.to_string()));
    let mut dims = dims;
    dims.sort();
    assert_eq!(dims, want);
}

#[test]
fn what_would_be_something_else_is_refused() {
    let pixel = |body: &str| {
        format!(
            "RWTexture2D<float> t; RWBuffer<float> b; RWBuffer<uint> u; sampler2D s;\nvoid add(float k, inout float x) {{ x += k; }}\nfloat4 main() : SV_Target {{ float4 v = 1; {body} return v; }}\n"
        )
    };
    let cases = [
        ("add(1, t[uint2(0, 0)]);", "`inout`"),
        ("add(1, b[0]);", "`inout`"),
        ("v.xzzx = v;", "`x` is written twice"),
        ("v.rgr += 1;", "`r` is written twice"),
        ("uint k = InterlockedAdd(u[0], 1);", "gives nothing"),
        ("v = tex3D(s, v.xyz);", "`tex3D` reads a `sampler3D`, and `s` is a `sampler2D`"),
    ];
    for (body, want) in cases {
        let got = refused(Stage::Fragment, &pixel(body));
        assert!(got.contains(want), "{body}: {got}");
    }
    // What is near to these is right.
    read(Stage::Fragment, &pixel("add(1, v.x); v.xz = v.zx; v.x == 1; uint k; InterlockedAdd(u[0], 1, k); v += tex2D(s, v.xy);"));
}

#[test]
fn what_is_near_to_the_rewritten_is_left_alone() {
    let text = "RWStructuredBuffer<float> o; RWByteAddressBuffer b;
struct P { float xx; float GatherSum(float a, float c, float d, float e, float f, float g) { return a + g; } };
const struct { float x; } unset;
static const float4 all4[2] = { 0.5f.xxxx, 1.0.xxxx };
float2 half_of(float2 v) { return(float2)(v / 2); }
float2 of_four(float4 v) { float w[2] = { v.xw }; return(float2)w; }
static const float low = mul(float2(1, 2), float2(3, 4)), high = low + 1;
float local(float add) { static float k = high; return k + add; }
struct Base { float2x2 m; };
#pragma pack_matrix(column_major)
struct Derived : Base { float n; };
[numthreads(1, 1, 1)] void main() {
    P p; p.xx = 2;
    for (int i = 0; i < 2; i = i + 1) b.InterlockedAdd(0, 1);
    o[0] = p.xx + p.GatherSum(1, 2, 3, 4, 5, 6);
    o[1] = all4[0].y + all4[1].w + unset.x;
    float2 v = half_of(float2(2, 4));
    for (float3 v = 0; v.x < 1; v.x += 1) { }
    float w[3] = { v, 9 };
    o[2] = w[0] + w[1] * 10 + w[2] * 100;
    float1x3 r = { 1, 2, 3 }, s = r * 2;
    o[3] = s._m02 + s[0].y + of_four(float4(1, 2, 3, 4)).y + local(low);
}
";
    let m = read(Stage::Compute, text);
    assert_eq!(offsets(&m), [("unset.x", 0)]);
    let at = m.storage.values().position(|s| s.name == "o").expect("o");
    let mut storage = vec![vec![0; 1]; 2];
    storage[at] = vec![0; 4];
    let out = compute(&m, storage, &[("unset.x", vec![0])]);
    assert_eq!(floats(&out[at]), [9.0, 1.5, 921.0, 37.0]);
}

#[test]
fn elements_of_matrices_of_any_size_are_multiplied() {
    let text = "static float3x4 a = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
static float2x3 c = { 1, 2, 3, 4, 5, 6 };
struct S { float2x3 m[2]; };
float3x4 twice(float3x4 m) { return m * 2 * 1; }
float4 main() : SV_Target {
    float3x4 b = -a * a, d = 2 * a * b * twice(a);
    b *= a + a;
    S s;
    s.m[1] = c;
    s.m[1] *= c;
    return float4(b[1].x, d[0].y, (s.m[1] * c * transpose((float3x2)1) * 0.5)[1].z, (c * c / c)[1].y);
}
";
    // -25 * 10; 2 * 2 * -4 * 4; 6 * 6 * 6 * 1 * 0.5; 5 * 5 / 5.
    assert_eq!(floats(&run(&read(Stage::Fragment, text), Vec::new(), Vec::new())[0]), [-250.0, -64.0, 108.0, 5.0]);
    let sizes = [("float2x3 a; float3x2 b;", "a * b"), ("float3x4 a; float4x3 b;", "(2 * a) * b")];
    for (declared, product) in sizes {
        let text = format!("{declared} float4 main() : SV_Target {{ return ({product})[0].xyxy; }}");
        let message = refused(Stage::Fragment, &text);
        assert!(message.contains("of two matrices of one size"), "{text}\n{message}");
    }
}
