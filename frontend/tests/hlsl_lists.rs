//! Lists of initial values and conversions of HLSL, which take everything apart into numbers; values worked out by the language's rules.

mod common;

use common::{checked, floats, run, words};
use retroshade_frontend::{FrontOptions, hlsl};
use retroshade_ir::Stage;

fn options() -> FrontOptions {
    FrontOptions { stage: Some(Stage::Fragment), ..FrontOptions::default() }
}

/// The colour of a fragment program with `v` as its input.
fn colour(text: &str, v: [f32; 4]) -> Vec<f32> {
    let m = hlsl("a.frag.hlsl", text, &options()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let m = checked(m);
    floats(&run(&m, if text.contains("float4 v :") { vec![words(&v)] } else { Vec::new() }, Vec::new())[0])
}

/// The colour of a program whose `main` has these statements, behind these declarations.
fn body(front: &str, statements: &str) -> Vec<f32> {
    colour(&format!("{front}\nfloat4 main(float4 v : TEXCOORD0) : SV_Target {{\n{statements}\n}}\n"), [1.0, 2.0, 3.0, 4.0])
}

/// What is said of a program.
fn refusal(front: &str, statements: &str) -> String {
    let text = format!("{front}\nfloat4 main(float4 v : TEXCOORD0) : SV_Target {{\n{statements}\n}}\n");
    match hlsl("a.frag.hlsl", &text, &options()) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => {
            assert!(e.diagnostics.iter().all(|d| !d.span.is_none() && !d.message.contains("shaderc_")), "{e}");
            e.diagnostics[0].message.clone()
        }
    }
}

#[test]
fn arrays_without_a_length_have_as_many_elements_as_their_numbers_fill() {
    assert_eq!(body("", "float4 a[] = {10, 20, 30, 40, 50, 60, 70, v.x}; return a[1];"), [50.0, 60.0, 70.0, 1.0]);
    assert_eq!(body("", "float2 a[][2] = {1, 2, 3, 4, 5, 6, 7, v.w}; return float4(a[1][0], a[1][1]);"), [5.0, 6.0, 7.0, 4.0]);
    let front = "struct S { float2 a; float b[2]; };";
    assert_eq!(body(front, "S s[] = {1, 2, 3, 4, v, v.wzyx}; return float4(s[1].a, s[2].b[0], s[2].b[1]);"), [1.0, 2.0, 2.0, 1.0]);
    assert_eq!(body("static const float2 t[] = {1, 2, 3, 4};", "return float4(t[1], t[0]);"), [3.0, 4.0, 1.0, 2.0]);
    let text = "float4 a[] = {mul(v, float4x4(v, v, v, v)) / 10, 5, mul(float2x3(v, v.xy), v.xyz), mul(v, v)}; return a[1] + a[0].x;";
    assert_eq!(body("", text), [6.0, 15.0, 13.0, 31.0]);
    assert_eq!(body("", "float a[] = {1, v.xy, {2, v.w}}; return float4(a[2], a[3], a[4], a[1]);"), [2.0, 2.0, 4.0, 1.0]);
    assert_eq!(body("", "float2 a[2] = {1, 2, 3, 4}; float2 b[] = a; return float4(b[1], b[0]);"), [3.0, 4.0, 1.0, 2.0]);
    for (list, part) in [("float4 a[] = {1, 2, 3, 4, 5, 6, 7};", "7 numbers"), ("float2 a[] = {1, v.xyz, v.y};", "5 numbers")] {
        let m = refusal("", &format!("{list} return float4(a[0], a[0]);"));
        assert!(m.contains(part) && m.contains("`a`"), "{m}");
    }
}

#[test]
fn lists_fill_numbers_in_order() {
    assert_eq!(body("", "float4 a[2] = {1, 2, 3, 4, 5, 6, 7, 8}; return a[1] + v;"), [6.0, 8.0, 10.0, 12.0]);
    assert_eq!(body("", "float a[2][2] = {1, 2, 3, v.w}; return float4(a[0][0], a[0][1], a[1][0], a[1][1]);"), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(body("", "float4 a = {9, {{{v.y, {8}}, 7}}}; return a;"), [9.0, 2.0, 8.0, 7.0]);
    assert_eq!(
        body("", "int3 i = {7, 8, 9}; float4 a[3] = {i, i.zy, v.xy, {{1, {2}}, 3}, 4, 5}; return float4(a[0].w, a[1].x, a[1].w, a[2].x);"),
        [9.0, 8.0, 1.0, 2.0]
    );
    assert_eq!(body("", "float2x3 m = {1, v.xy, {v.zw, 6}}; return float4(m[0][2], m[1]);"), [2.0, 3.0, 4.0, 6.0]);
    assert_eq!(body("", "float2x2 m[2] = {v, 5, 6, v.xy}; return float4(m[0][1], m[1][0]);"), [3.0, 4.0, 5.0, 6.0]);
    assert_eq!(body("", "float2x2 m = {v}; float4 a = {m}; float b[5] = {7, m}; return float4(a.yz, b[1], b[4]);"), [2.0, 3.0, 1.0, 4.0]);
    assert_eq!(body("", "int a[3] = {v.x + 0.75, 2.5, v.w}; return float4(a[0], a[1], a[2], 0);"), [1.0, 2.0, 4.0, 0.0]);
    assert_eq!(body("", "float a[2] = {1, 2,}; return float4(a[0], a[1], 0, 0);"), [1.0, 2.0, 0.0, 0.0]);
    assert_eq!(body("static const int n = 2;", "half2 a[n * 2] = {v, v + 4}; return float4(a[1], a[2]);"), [3.0, 4.0, 5.0, 6.0]);
    assert_eq!(body("", "float4 s = 0; for (float2 a[2] = {v}; s.x < 4; s.x += 1) s.zw += a[1]; return s;"), [4.0, 0.0, 12.0, 16.0]);
}

#[test]
fn structures_are_taken_apart_and_filled() {
    let front = "struct In { int i; float3 f[2]; }; struct Out { float2 a; In in_[2]; struct { float x; bool y; } z; };";
    let all = "Out o = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, v, v.xy, 11, v.x > 0};";
    assert_eq!(body(front, &format!("{all} return float4(o.in_[0].f[1], o.in_[1].i);")), [7.0, 8.0, 9.0, 10.0]);
    assert_eq!(body(front, &format!("{all} return float4(o.in_[1].f[1], o.z.x + (o.z.y ? 1 : 0));")), [4.0, 1.0, 2.0, 12.0]);
    let front = "struct S { float a; int b; };";
    assert_eq!(body(front, "S s = {2.5, 3.5}; float4 f = {1, s, 4}; return f;"), [1.0, 2.5, 3.0, 4.0]);
    assert_eq!(body(front, "struct S s[2] = {v}; float4 f = {s[1], s[0]}; return f;"), [3.0, 4.0, 1.0, 2.0]);
    assert_eq!(body(front, "S s = {v.xy}; S t[3] = {s, {8, 9}, s}; return float4(t[1].a, t[1].b, t[2].a, t[2].b);"), [8.0, 9.0, 1.0, 2.0]);
    let types = "typedef float2 P; typedef vector<float, 3> Q; typedef float R[2]; struct S { P p; Q q; R r; };";
    assert_eq!(body(types, "S s = {v, v.wzy}; return float4(s.r, s.p);"), [3.0, 2.0, 1.0, 2.0]);
    assert_eq!(body(types, "S s = {v, v.wzy}; return float4(s.p.y, s.q.z, s.r[0], s.r[1]);"), [2.0, 4.0, 3.0, 2.0]);
}

#[test]
fn names_mean_what_they_do_where_they_stand() {
    let front = "static float2 a = {1, 2}; float f(float3 a) { float b[3] = {a}; return b[2]; }";
    assert_eq!(
        body(front, "float4 r = {a, f(v.xyz), 0}; { float a = 9; float4 t = {a, a, v.xy}; r.w = t.z; } return r;"),
        [1.0, 2.0, 3.0, 1.0]
    );
    let front = "static float4 c = 7; struct M { float2 c; float get() { float2 d[1] = {c}; return d[0].y; } };";
    assert_eq!(body(front, "M m = {v.zw}; return m.get();"), [4.0; 4]);
}

#[test]
fn values_of_a_list_are_computed_once() {
    let front = "static int n = 0; float3 next() { ++n; return float3(n, 10 * n, 100 * n); }";
    assert_eq!(body(front, "float2 a[3] = {next(), next()}; return float4(a[1], a[2].x, n);"), [100.0, 2.0, 20.0, 2.0]);
    assert_eq!(body(front, "float2 a[] = {v.x, next(), v.y++, v.y}; return float4(a[1], a[2].y, n);"), [10.0, 100.0, 3.0, 1.0]);
    assert_eq!(body(front, "float4 a = {next(), n}; return a;"), [1.0, 10.0, 100.0, 1.0]);
    let front = "struct S { float a; float b; }; static int n = 0; S next() { S s; s.a = ++n; s.b = 5; return s; }";
    assert_eq!(body(front, "float a[4] = {next(), next()}; return float4(a[0], a[1], a[2], n);"), [1.0, 5.0, 2.0, 2.0]);
    assert_eq!(body("", "float2 a[2] = {v.xyz * 2, 1 - v.x}; return float4(a[0], a[1]);"), [2.0, 4.0, 6.0, 0.0]);
}

#[test]
fn lists_of_other_lengths_and_unknown_shapes_are_refused() {
    for (list, part) in [
        ("float4 a = {1, 2};", "has 4 numbers, and the list of its values 2"),
        ("float4 a = {v, 1};", "has 4 numbers, and the list of its values 5"),
        ("float4 a[2] = {1, 2, 3, 4, 5, 6, 7, 8, 9};", "has 8 numbers"),
        ("float4 a[2] = {0};", "has 8 numbers"),
        ("float2x2 a = {1, 2, 3};", "has 4 numbers"),
    ] {
        let m = refusal("", &format!("{list} return 0;"));
        assert!(m.contains(part) && m.contains("`a`"), "{m}");
    }
    for (front, text) in [("", "float4 a[];"), ("struct S { float4 a[]; };", ""), ("typedef float4 a[];", "a b = {v};")] {
        let m = refusal(front, &format!("{text} return v;"));
        assert!(m.contains("neither a length nor values"), "{m}");
    }
    let m = refusal("", "float4 a[] = {lit(v.x, v.y, 2), v}; return a[0];");
    assert!(m.contains("`lit`") && m.contains("not known"), "{m}");
    // What has the shape of its variable stays, whatever it is.
    assert_eq!(body("", "float4 a[2] = {lit(v.x, v.y, 2), v}; return a[0];"), [1.0, 1.0, 4.0, 1.0]);
}

#[test]
fn casts_take_number_by_number() {
    let front = "struct A { float3 a; int b; }; struct B { float2 x[2]; };";
    assert_eq!(body(front, "float f[4] = {v}; A a = (A)f; return float4(a.a.z, a.b, a.a.xy);"), [3.0, 4.0, 1.0, 2.0]);
    assert_eq!(body(front, "A a = {v}; float f[4]; f = (float[4])a; return float4(f[3], f[2], f[1], f[0]);"), [4.0, 3.0, 2.0, 1.0]);
    assert_eq!(body(front, "A a; a = (struct A)v; B b = (B)a; return float4(b.x[1], b.x[0]);"), [3.0, 4.0, 1.0, 2.0]);
    assert_eq!(body(front, "int i[3]; i = (int[3])(v + 0.5); return float4(i[0], i[1], i[2], 0);"), [1.0, 2.0, 3.0, 0.0]);
    assert_eq!(body(front, "float f[5] = {v, 5}; int4 i = (int4)f; return i;"), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(body(front, "B b = {v}; float2x2 m = (float2x2)b; return float4(m[1], m[0]);"), [3.0, 4.0, 1.0, 2.0]);
    assert_eq!(body(front, "float2x2 m = {v}; float f[4] = (float[4])m; return float4(f);"), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(body(front, "float f[3] = {v.xyz}; return float4(0, f) + (float4)(B)v;"), [1.0, 3.0, 5.0, 7.0]);
    assert_eq!(body(front, "A a = (A)0; float f[2] = (float[2])1; return float4(a.a, f[1]);"), [0.0, 0.0, 0.0, 1.0]);
    let front = "struct A { float a; float b[3]; }; static int n = 0; float4 next() { ++n; return float4(n, 2, 3, 4); }";
    assert_eq!(body(front, "A a = (A)next(); return float4(a.b[2], a.b[0], a.a, n);"), [4.0, 2.0, 1.0, 1.0]);
    assert_eq!(body(front, "A a; a = (A)(float[4])next(); return float4((float2)a, a.b[2], n);"), [1.0, 2.0, 4.0, 1.0]);
    let m = refusal(front, "A a = (A)v.xyz; return 0;");
    assert!(m.contains("wants 4 numbers, and there are 3"), "{m}");
    for text in ["float f[5] = {v, 5}; float2x2 m = (float2x2)f;", "float3x2 m = {v, v.xy}; A a = (A)m;"] {
        let m = refusal("struct A { float a; float b[3]; };", &format!("{text} return v;"));
        assert!(m.contains("this cast wants 4 numbers"), "{m}");
    }
}

#[test]
fn arrays_and_structures_of_the_same_numbers_are_assigned() {
    let front = "struct A { float3 a; float b; }; struct B { float2 x[2]; }; struct C { float3 a; int b; }; struct D { float2 z; };
float4 sum(A a, float k[2]) { return float4(a.a, a.b) + k[1]; }
A made(float4 v) { B b = {v}; return b; }";
    assert_eq!(body(front, "float f[4] = {v}; A a; a = f; B b; b = a; return float4(b.x[1], a.a.xy);"), [3.0, 4.0, 1.0, 2.0]);
    assert_eq!(body(front, "A a = {v}; float f[4] = a; return float4(f);"), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(body(front, "B b = {v}; D s = {5, 10}; return sum(b, s) + made(v).b;"), [15.0, 16.0, 17.0, 18.0]);
    // Not of other numbers, nor of vectors.
    for text in ["A a; a = v;", "float4 f; A a = {v}; f = a;", "A a = {v}; C c; c = a;", "int i[2] = {1, 2}; float f[2]; f = i;"] {
        refusal(front, &format!("{text} return v;"));
    }
}

#[test]
fn matrices_of_one_row_or_column_are_vectors() {
    assert_eq!(body("", "float1x4 m = {v}; return float4(m[0][3], m._m02, m._12, m[0].x);"), [4.0, 3.0, 2.0, 1.0]);
    assert_eq!(body("", "float4x1 m = {v}; return float4(m[3][0], m._m20, m._21, m[0]);"), [4.0, 3.0, 2.0, 1.0]);
    assert_eq!(
        body("", "float1x3 m; m._m02_m00_m01 = v.xyz; int1x1 k = (int1x1)v.w; return float4(m, k[0][0] + k._m00);"),
        [2.0, 3.0, 1.0, 8.0]
    );
    assert_eq!(body("", "float3x1 m = float3x1(1, 2, 3); m *= 2; int2 n = (int2x1)v.yz; return float4(m, n.y);"), [2.0, 4.0, 6.0, 3.0]);
    let front = "float2x3 t(float4 v) { return float2x3(v.xyz, v.wzy); } float1x3 f(float1x2 a, float4 v) { return mul(a, t(v)); }";
    assert_eq!(body(front, "float1x2 a = {1, 10}; return float4(f(a, v), 0);"), [41.0, 32.0, 23.0, 0.0]);
    let text = "float2x3 t = float2x3(v.xyz, v.wzy); float3x1 c = {1, 10, 100}; float1x3 r = {2, 0, 1}; return float4(mul(t, c), mul(r, c), mul(v.xyz, c));";
    assert_eq!(body("", text), [321.0, 234.0, 102.0, 321.0]);
    assert_eq!(
        body("", "float a[4] = {v}; int1x3 m = (int1x3)a; float b[3] = (float[3])m; return float4(b[2], b[1], b[0], 0);"),
        [3.0, 2.0, 1.0, 0.0]
    );
    assert_eq!(body("static float1x2 s = {5, 6};", "return float4(s[0], v.x + s[0][1], 0);"), [5.0, 6.0, 7.0, 0.0]);
}

#[test]
fn matrices_of_one_row_or_column_are_refused_where_vectors_are_others() {
    let front = "float4x4 big() { return 0; }";
    for text in [
        "float3x1 a = {v.xyz}; float1x3 b = {v.xyz}; return mul(a, b)[1][1];",
        "float3x1 a = {v.xyz}; float1x3 b = {v.xyz}; float3x3 m = mul(a, b); return m[1][1];",
        "float3x1 a = {v.xyz}; float1x3 b = transpose(a); return b[0][1];",
        "float3x1 a = {v.xyz}; float1x3 b = {v.xyz}; return (a + b)[0][0];",
        "float1x4 a = {v}; float4x4 m = big(); return (a + m)[0];",
        "float1x4 a = {v}; return a * big();",
        "float4x1 a = (float4x1)big(); return a;",
        "float1x4 a = float1x4(big()); return a;",
        "float1x4 a = {v}; return a[int(v.x) - 1];",
        "float1x2 a[2] = {v}; return a[1][0][0];",
        "float1x4 a = {v}; return mul(a, a);",
        "float1x4 a = {v}; return a._m10;",
    ] {
        let m = refusal(front, text);
        assert!(m.contains("of one row or one column"), "{m}\n{text}");
    }
    for front in ["float3x1 f() { return float1x3(1, 2, 3); }", "float3x1 f() { return float4(1, 2, 3, 4); }"] {
        let m = refusal(front, "return float4(f(), 1);");
        assert!(m.contains("of one row or one column"), "{m}");
    }
    let m = refusal("", "return float4((float3x1)v, 0);");
    assert!(m.contains("of one row or one column"), "{m}");
    for front in ["float1x4 u;", "cbuffer B { float4x1 u; };", "struct S { float1x2 u; };"] {
        let m = refusal(front, "return v;");
        assert!(m.contains("of one row or one column"), "{m}\n{front}");
    }
}
