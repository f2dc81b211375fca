//! Namespaces of HLSL: which declaration a name means, by the rules of C++, against values worked out by hand.

mod common;

use common::{checked, floats, run, words};
use retroshade_frontend::{FrontOptions, hlsl};
use retroshade_ir::{Module, Opcode, Stage};

fn read(text: &str) -> Module {
    let options = FrontOptions { stage: Some(Stage::Fragment), ..FrontOptions::default() };
    match hlsl("a.hlsl", text, &options) {
        Ok(m) => checked(m),
        Err(e) => panic!("{e}\n{text}"),
    }
}

/// The first message, and line and column.
fn refused(text: &str) -> (String, (u32, u32)) {
    let options = FrontOptions { stage: Some(Stage::Fragment), ..FrontOptions::default() };
    match hlsl("a.hlsl", text, &options) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => {
            assert!(e.diagnostics.iter().all(|d| !d.message.contains("shaderc_")), "{e}");
            let d = &e.diagnostics[0];
            (d.message.clone(), e.sources.line_column(d.span.file, d.span.start).unwrap_or((0, 0)))
        }
    }
}

/// What `main` gives that returns this behind these declarations; uniforms are numbers, and 7.
fn value(before: &str, result: &str) -> Vec<f32> {
    let m = read(&format!("{before}\nfloat4 main() : SV_Target {{ return {result}; }}\n"));
    let uniforms = m.uniforms.values().map(|_| words(&[7.0])).collect();
    floats(&run(&m, Vec::new(), uniforms)[0])
}

/// Declarations, what `main` returns, and its value.
type Case = (&'static str, &'static str, [f32; 4]);

fn all(cases: &[Case]) {
    for (before, result, want) in cases {
        assert_eq!(value(before, result), *want, "{before}\n{result}");
    }
}

#[test]
fn the_innermost_scope_comes_first() {
    all(&[
        (
            "static const float K = 100; float f(float x) { return -x; }
namespace M { static const float K = 3; float f(float x) { return x; } float g(float x) { return f(x) + K; } }",
            "float4(M::g(2), M::K, K, f(1))",
            [5.0, 3.0, 100.0, -1.0],
        ),
        (
            "static float g = 50; namespace A { static float g = 1; void inc() { g += 1; } float get() { return A::g; } }
float two() { A::inc(); return A::get(); }",
            "float4(two(), g, 0, 0)",
            [2.0, 50.0, 0.0, 0.0],
        ),
        (
            "namespace M { static const float PI = 3; static const float HALF = PI * 0.5; float f(float x) { return x * HALF; } float g(float x) { return f(x) + 1; } }",
            "float4(M::PI, M::HALF, M::g(2), 1)",
            [3.0, 1.5, 4.0, 1.0],
        ),
        // What is declared behind a use is not meant by it.
        (
            "float f() { return 1; } namespace M { float g() { return f(); } float f() { return 2; } float h() { return f(); } }",
            "float4(M::g(), M::h(), M::f(), f())",
            [1.0, 2.0, 2.0, 1.0],
        ),
        // Three deep, and from the middle one.
        (
            "static float x = 1; namespace A { static float x = 2; namespace B { float a() { return x; } static float x = 3; float b() { return x + ::x + A::x; } } float c() { return B::x + x; } }",
            "float4(A::B::a(), A::B::b(), A::c(), x)",
            [2.0, 6.0, 5.0, 1.0],
        ),
    ]);
}

#[test]
fn variables_parameters_and_members_hide() {
    all(&[
        (
            "namespace M { static float k = 5; float p(float k) { return k; } float l() { float k = 2; return k + M::k; } float o() { { float k = 9; } return k; }
float i() { float s = 0; for (int k = 0; k < 3; k++) s += k; return s + k; } }",
            "float4(M::p(1), M::l(), M::o(), M::i())",
            [1.0, 7.0, 5.0, 8.0],
        ),
        (
            "namespace M { static float a = 5, b = 6; struct S { float a; float get() { return a + b; } float later() { return c; } float c; };
static float c = 70; float t() { S s; s.a = 1; s.c = 3; return s.get() * 10 + s.later(); } float u() { return a; } }",
            "float4(M::t(), M::u(), M::a, M::b)",
            [73.0, 5.0, 5.0, 6.0],
        ),
        // Members of bases, too; and the first value of a variable that has the name of another.
        (
            "namespace M { static float a = 5; struct B { float a; }; struct S : B { float twice() { return a * 2; } };
float t() { S s; s.a = 4; float b = a, c = b; return s.twice() + c; } float l(float a, float b = 2) { return a + b; } }",
            "float4(M::t(), M::l(1), M::a, 0)",
            [13.0, 3.0, 5.0, 0.0],
        ),
        // A global that something hides is still named by `::`.
        (
            "static float g = 4; uniform float u; struct S { float g; float sum() { return g + ::g; } };
float f(float g) { return g * ::g; } float h() { float u = 1; return u + ::u; } float m() { S s; s.g = 1; return s.sum(); }",
            "float4(f(3), h(), m(), g)",
            [12.0, 8.0, 5.0, 4.0],
        ),
        // Words behind a dot or a colon are none of a namespace's.
        (
            "namespace M { static float x = 5; static float COLOR = 6; float f(float4 v : COLOR) : TEXCOORD { return v.x + x + COLOR; } static float loop = 1;
float g() { float s = 0; [loop] for (int i = 0; i < 2; i++) s += loop; return s; } }",
            "float4(M::f(float4(1, 2, 3, 4)), M::g(), true ? M::x : M::COLOR, 0)",
            [12.0, 2.0, 5.0, 0.0],
        ),
    ]);
}

#[test]
fn types_and_functions_have_paths() {
    all(&[
        (
            "namespace M { struct S { float a; }; typedef float2 P; S make(float x) { S s; s.a = x; return s; } float2 over(P p) { return p; } float3 over(float3 p) { return p + 1; }
float get(S s) { return s.a; } }",
            "float4(M::get(M::make(2)), M::over(float2(1, 2)), M::over(float3(1, 2, 3)).x)",
            [2.0, 1.0, 2.0, 2.0],
        ),
        (
            "namespace M { struct S { float a; float b; }; } M::S f(M::S s[2], out M::S o) { o = s[1]; return s[0]; }
float4 t() { M::S s[2] = { { 1, 2 }, { 3, 4 } }; ::M::S o; M::S r = f(s, o); return float4(r.a, r.b, o.a, ((M::S)5).b); }",
            "t()",
            [1.0, 2.0, 3.0, 5.0],
        ),
        (
            "namespace A { namespace B { float f() { return 1; } } float g() { return B::f(); } } namespace A { namespace B { float h() { return f() + g(); } } }
namespace A::B { float i() { return h() + 1; } }",
            "float4(A::g(), A::B::f(), A::B::h(), A::B::i())",
            [1.0, 1.0, 2.0, 3.0],
        ),
        // A prototype, and a body that stands outside.
        (
            "namespace A { static float k = 3; float f(float x); float g() { return f(1); } float f(float x) { return x + k; } float h(); float i(); } float A::h() { return k * 2; } float ::A::i() { return k; }",
            "float4(A::g(), A::h(), A::i(), 0)",
            [4.0, 6.0, 3.0, 0.0],
        ),
        // A function of the language's name is the namespace's within it, and the language's elsewhere.
        (
            "namespace M { float pow(float x, float y) { return x * y; } float f() { return pow(2, 3) + ::pow(2, 3); } float lerp(float x) { return x; } }",
            "float4(M::f(), pow(2, 3), M::pow(2, 4), M::lerp(9))",
            [14.0, 8.0, 8.0, 9.0],
        ),
        (
            "namespace M { static const int N = 2; float f(float a[N]) { return a[N - 1]; } float g(int n) { switch (n) { case N: return 1; default: return 0; } } }
float h() { float a[M::N] = { 1, 2 }; return M::f(a); }",
            "float4(h(), M::g(2), M::g(M::N + 1), 0)",
            [2.0, 1.0, 0.0, 0.0],
        ),
    ]);
}

#[test]
fn namespaces_are_used_and_named_again() {
    all(&[
        (
            "namespace A { static float x = 1; namespace B { static float y = 2; } } using namespace A; float f() { return x + B::y; }
namespace C { using namespace A::B; float g() { return y; } } namespace D = A::B;",
            "float4(f(), C::g(), D::y, C::y)",
            [3.0, 2.0, 2.0, 2.0],
        ),
        (
            "namespace A { float f(float x) { return x + 1; } float f(float2 x) { return x.y; } static float k = 3; } static float k = 8;
float g() { using A::f; using A::k; return f(1) + f(float2(0, 10)) + k; } float h() { return k; } namespace E { using A::k; }",
            "float4(g(), h(), E::k, 0)",
            [15.0, 8.0, 3.0, 0.0],
        ),
        // Only up to the end of its block.
        (
            "namespace A { float f() { return 1; } } float f(int n) { return 2; } float g() { { using namespace A; float x = 1; } return f(3); } namespace { float q() { return 6; } }",
            "float4(g(), q(), 0, 0)",
            [2.0, 6.0, 0.0, 0.0],
        ),
    ]);
}

#[test]
fn uniforms_and_textures_are_called_by_their_paths() {
    let text = "static float k = 3;
namespace A { float4 c; cbuffer C { float k; } float f() { return k; } Texture2D t; SamplerState s; struct V { float2 a; }; V v; namespace B { cbuffer C : register(b3) { float2 m[2]; } } }
float4 main() : SV_Target { return A::c + k + A::k + A::f() + A::t.Sample(A::s, 0.5) + A::v.a.x + A::B::m[1].x; }
";
    let m = read(text);
    let mut names: Vec<&str> = m.uniforms.values().map(|u| u.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["A::B::m", "A::c", "A::k", "A::v.a"]);
    let textures: Vec<&str> = m.textures.values().map(|t| t.name.as_str()).collect();
    assert_eq!(textures, ["A::t"]);
    let mut blocks: Vec<&str> = m.surface.blocks.iter().map(|b| b.name.as_str()).collect();
    blocks.sort_unstable();
    assert_eq!(blocks, ["", "A::B::C", "A::C"]);
    // A name that says `::` once keeps it to itself.
    let m = read("uniform float u; float f(float u) { return u + ::u; } float4 main() : SV_Target { return f(1); }");
    assert_eq!(m.uniforms.values().next().map(|u| u.name.as_str()), Some("u"));
}

#[test]
fn an_entry_point_may_stand_in_a_namespace() {
    let text = "float4 main() : SV_Target { return 1; } namespace A { float f() { return 2; } float4 main() : SV_Target { return f(); } }";
    let options = FrontOptions { stage: Some(Stage::Fragment), entry: Some("A::main".to_string()), ..FrontOptions::default() };
    let m = checked(hlsl("a.hlsl", text, &options).expect("HLSL"));
    assert_eq!(floats(&run(&m, Vec::new(), Vec::new())[0]), [2.0; 4]);
    assert_eq!(m.main().name, "A::main");
}

#[test]
fn what_no_namespace_has_is_refused_where_it_stands() {
    let cases = [
        (
            "namespace A { float f() { return 1; } }\nfloat4 main() : SV_Target { return A::g(); }",
            (2, 39),
            "the namespace `A` has no `g` so far",
        ),
        ("namespace A { float g() { return 1; } }\nfloat4 main() : SV_Target { return g(); }", (2, 36), "`g`"),
        ("namespace A {\nfloat4 main() : SV_Target { return 1; }", (1, 13), "this namespace is not closed by `}`"),
        ("float4 main() : SV_Target {\n return Q::f(1); }", (2, 9), "no namespace `Q` is known here"),
        (
            "namespace M { namespace N { float4 f() { return 1; } } }\nfloat4 main() : SV_Target { return N::f(); }",
            (2, 36),
            "no namespace `N`",
        ),
        ("using namespace A;\nfloat4 main() : SV_Target { return 1; }", (1, 17), "no namespace `A` is known here"),
        (
            "namespace A { struct S { float a; }; }\nusing T = A::S;\nfloat4 main() : SV_Target { return 1; }",
            (2, 1),
            "only `using namespace A;` and `using A::f;`",
        ),
        (
            "namespace A { static float k = 1; }\nstatic float k = 2;\nusing namespace A;\nfloat4 main() : SV_Target { return k; }",
            (4, 36),
            "`k` may be `k` or `A::k`: write its namespace",
        ),
        (
            "namespace A { float f(float2 x) { return 1; } }\nfloat4 main() : SV_Target {\n  return A::f();\n}",
            (3, 13),
            "`A::f`: no matching",
        ),
        ("namespace A { void f() {\n  float x = y; } }\nfloat4 main() : SV_Target { return 1; }", (2, 13), "`y`: unknown variable"),
        ("void f() { namespace A { } }\nfloat4 main() : SV_Target { return 1; }", (1, 12), "a namespace stands in another one"),
        (
            "namespace A { float f() { return 1; } } float f() { return 2; } using A::f;\nfloat4 main() : SV_Target { return 1; }",
            (1, 74),
            "`f` is declared here and by `using`",
        ),
        ("namespace\nfloat4 main() : SV_Target { return 1; }", (2, 8), "`{` are expected"),
    ];
    for (text, place, message) in cases {
        let (got, at) = refused(text);
        assert!(got.contains(message) && at == place, "{text}\n{got} {at:?}");
    }
}

#[test]
fn places_are_those_of_the_text() {
    let text = "namespace A { struct S { float a; };
  float f(float x) {
    float y = x * 3.0; return y; }
  static S s; }
float4 main(float2 v : TEXCOORD) : SV_Target {
  A::s.a = v.x / 2.0; A::s.a -= 1.0;
  return A::f(v.y) + ::A::s.a; }
";
    let m = read(text);
    let f = m.main();
    let of = |op: Opcode| {
        let all = f.ordered().filter(|(_, i)| f.insts[*i].op == op);
        all.map(|(_, i)| &text[f.spans[i].start as usize..f.spans[i].end as usize]).collect::<Vec<_>>()
    };
    assert_eq!(of(Opcode::Fmul), ["float y = x * 3.0"]);
    assert_eq!(of(Opcode::Fdiv), ["A::s.a = v.x / 2.0"]);
    assert_eq!(of(Opcode::Fsub), ["A::s.a -= 1.0"]);
    assert_eq!(of(Opcode::Fadd), ["return A::f(v.y) + ::A::s.a"]);
}
