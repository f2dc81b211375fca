//! GLSL and HLSL by way of glslang: what is done to texts before it, and to its messages behind it.

mod common;

use common::{floats, from_glsl, run, texture, words};
use retroshade_frontend::{FrontError, FrontOptions, Includes, glsl, glsl_words, hlsl, spirv_with_text};
use retroshade_ir::{Binding, Builtin, InvocationInputs, IoDecl, Module, Opcode, Reference, ShaderEnv, Span, Stage, TextureDecl};
use std::sync::{Arc, Mutex};

fn options(stage: Stage) -> FrontOptions {
    FrontOptions { stage: Some(stage), ..FrontOptions::default() }
}

fn refused(stage: Stage, text: &str) -> FrontError {
    match glsl("x.frag", text, &options(stage)) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e,
    }
}

/// Line, column and message of every error.
fn errors(e: &FrontError) -> Vec<(u32, u32, String)> {
    let place = |d: &retroshade_ir::Diagnostic| e.sources.line_column(d.span.file, d.span.start).unwrap_or((0, 0));
    e.diagnostics.iter().map(|d| (place(d).0, place(d).1, d.message.clone())).collect()
}

/// The colour of a fragment program without inputs.
fn colour(m: &Module) -> Vec<f32> {
    floats(&run(m, Vec::new(), Vec::new())[0])
}

#[test]
fn all_errors_are_shown_with_both_types() {
    let text = "#version 450
layout(location = 0) out vec4 o;
struct S { float a; };
float f(vec3 x, int k) { return x.x; }
void main() {
    vec3 v = vec2(1.0);
    int i = 1.5;
    o = missing + vec4(1.0);
    S s;
    s.b = 1.0;
    o.x = f(vec2(1.0), 2);
    mat3 m = mat4(1.0);
    float a[3] = float[2](1.0, 2.0);
    o = vec4(vec2(1.0) * vec3(2.0), 1.0);
}
";
    let found = errors(&refused(Stage::Fragment, text));
    let want = [
        (6, 12, "`=`: cannot convert from `vec2` to `vec3`"),
        (7, 11, "`=`: cannot convert from `float` to `int`"),
        (8, 9, "`missing`: undeclared identifier"),
        (10, 7, "`b`: no such field in structure `s`"),
        (11, 11, "`f`: no matching overloaded function found"),
        (12, 12, "`=`: cannot convert from `mat4` to `mat3`"),
        (13, 16, "`=`: cannot convert from `float[2]` to `float[3]`"),
    ];
    for (line, column, message) in want {
        assert!(found.contains(&(line, column, message.to_string())), "{message}: {found:?}");
    }
    let last = &found[found.len() - 1];
    assert!(last.0 == 14 && last.2.contains("`*`") && last.2.contains("`vec2`") && last.2.contains("`vec3`"), "{last:?}");
    // What follows from an error on the same line is none of its own.
    assert_eq!(found.len(), 8, "{found:?}");
}

#[test]
fn nothing_of_the_grammar_reaches_a_user() {
    for (text, part) in [
        ("#version 450\nvoid main() { int a = ; }", "`;` makes no sense here"),
        ("#version 450\nvoid main() { float }", "`}`"),
        ("#version 450\nvoid main() { for (;;", "expected "),
        (
            "#version 450\nfloat g(float x);\nfloat f(float x) { return g(x); }\nfloat g(float x) { return f(x); }\nvoid main() { f(1.0); }",
            "calls itself",
        ),
        ("#version 450\nfloat g(float x);\nvoid main() { g(1.0); }", "`g` is called and has no body"),
        ("#version 450\n#ifdef A\nvoid main() { }", "`#endif`"),
        ("#version 450\n#include \"no.h\"\nvoid main() { }", "no.h"),
        ("#version 450\nvoid f() { }", "`main`"),
        ("#version 450\nvoid main() { float \u{e9} = 1.0; }", "é"),
    ] {
        let e = refused(Stage::Vertex, text);
        let d = &e.diagnostics[0];
        assert!(d.message.contains(part), "{d}\n{text}");
        let grammar = ["SEMICOLON", "IDENTIFIER", "BRACE", "PAREN", "syntax error", "shaderc_", "temp ", "highp "];
        assert!(grammar.iter().all(|g| !d.message.contains(g)), "{d}");
        assert!(e.diagnostics.iter().all(|d| !d.span.is_none()), "{e}");
    }
}

#[test]
fn messages_point_at_the_users_words() {
    // An older word, a macro, an included place further to the left, a renamed name.
    let e = refused(Stage::Fragment, "#version 100\nprecision mediump float;\nvoid main() { gl_FragColor = texture2D(1.0); }");
    assert_eq!(errors(&e)[0].0..errors(&e)[0].1, 3..30);
    assert!(e.diagnostics[0].message.starts_with("`texture2D`"), "{e}");
    let e = refused(Stage::Fragment, "#version 450\n#define TWO 2.0 * nothing\nout vec4 o;\nvoid main() { o = vec4(1.0) *      TWO; }");
    assert_eq!(errors(&e)[0].0, 4);
    let e = refused(Stage::Fragment, "#version 110\nvoid main() { vec2 sample = vec3(1.0); }");
    assert!(e.diagnostics.iter().all(|d| !d.message.contains("shaderc")), "{e}");
}

#[test]
fn statements_are_known_by_their_places() {
    let text = "#version 450
layout(location = 0) out vec4 o;
#define ADD(x) \\
    o += vec4(x)
void main() {
    o = vec4(0.0); ADD(dFdx(o.x));
    for (int i = 0; i < 3; i++)
        if (i != 1) o.y += 1.0; else o.z += fwidth(o.x);
}
";
    let m = from_glsl(Stage::Fragment, text);
    let mut places = std::collections::BTreeSet::new();
    let f = &m.functions[m.entry];
    for d in f.spans.values() {
        places.insert(&text[d.start as usize..d.end as usize]);
    }
    for want in ["o = vec4(0.0)", "ADD(dFdx(o.x))", "o.y += 1.0", "o.z += fwidth(o.x)"] {
        assert!(places.iter().any(|p| p.starts_with(want)), "{want}: {places:?}");
    }
}

#[test]
fn files_are_included() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let include = Includes::new(move |name, from| {
        log.lock().expect("a list").push((name.to_string(), from.to_string()));
        let text = match name {
            "two.glsl" => "#include \"deep.glsl\"\nfloat two() { return one() + one(); }\n",
            "deep.glsl" => "float one() { return __VERSION__ == 110 ? 1.0 : 0.0; }\n",
            "wrong.glsl" => "float three() {\n    return nothing;\n}\n",
            _ => return None,
        };
        Some((format!("inc/{name}"), text.to_string()))
    });
    let o = FrontOptions { include: include.clone(), ..options(Stage::Fragment) };
    // What an old dialect has may stand in an included file, too.
    let m = glsl("a.frag", "#include \"two.glsl\"\nvoid main() { gl_FragColor = vec4(two()); }", &o).expect("two files");
    assert_eq!(colour(&m), [2.0; 4]);
    let names: Vec<&str> = (0..3).filter_map(|n| m.sources.name(retroshade_ir::FileId(n))).collect();
    assert_eq!(names, ["a.frag", "inc/two.glsl", "inc/deep.glsl"]);
    assert!(asked.lock().expect("a list").contains(&("deep.glsl".to_string(), "inc/two.glsl".to_string())));
    let e = glsl("a.frag", "\n#include \"wrong.glsl\"\nvoid main() { gl_FragColor = vec4(three()); }", &o).expect_err("wrong");
    let d = &e.diagnostics[0];
    assert_eq!(
        (e.sources.name(d.span.file), e.sources.line_column(d.span.file, d.span.start)),
        (Some("inc/wrong.glsl"), Some((2, 12))),
        "{e}"
    );
}

#[test]
fn files_that_include_themselves_end() {
    let include = Includes::new(|name, _| Some((name.to_string(), format!("#include \"{name}\"\n#include \"{name}\"\n"))));
    let o = FrontOptions { include, ..options(Stage::Fragment) };
    assert!(glsl("a.frag", "#include \"b\"\nvoid main() { gl_FragColor = vec4(1.0); }", &o).is_err());
    // Each file alone is harmless.
    let include = Includes::new(|name, _| {
        let n: usize = name.parse().ok()?;
        let text: String = (n * 8..n * 8 + 8).map(|i| format!("#define A{} A{i} + A{i}\n", i + 1)).collect();
        Some((name.to_string(), text))
    });
    let o = FrontOptions { include, ..options(Stage::Fragment) };
    let all: String = (0..6).map(|n| format!("#include \"{n}\"\n")).collect();
    let e = glsl("a.frag", &format!("#define A0 1.0\n{all}void main() {{ gl_FragColor = vec4(A47); }}"), &o).expect_err("too many tokens");
    assert!(e.is_limit(), "{e}");
}

#[test]
fn symbols_pragmas_and_versions() {
    let text = "#version 300 es
#pragma unknown thing (
#pragma optimize off
#line 500
precision highp float;
out vec4 o;
#if __VERSION__ == 300 && defined(GL_ES) && !defined(VULKAN)
void main() { o = vec4(SIZE, float(__VERSION__), 0.0, 1.0); }
#endif
";
    let o = FrontOptions { defines: vec![("SIZE".into(), "4.0".into())], ..options(Stage::Fragment) };
    assert_eq!(colour(&glsl("a.frag", text, &o).expect("a program")), [4.0, 300.0, 0.0, 1.0]);
    for (version, number) in
        [("#version 110\n", 110.0), ("", 110.0), ("#version 150 compatibility\n", 150.0), ("#version 330 compatibility\n", 330.0)]
    {
        let m = from_glsl(Stage::Fragment, &format!("{version}void main() {{ gl_FragColor = vec4(__VERSION__); }}"));
        assert_eq!(colour(&m), [number; 4], "{version}");
    }
    for version in ["330", "410", "440", "450", "460", "310 es", "320 es"] {
        let text = format!("#version {version}\nprecision highp float;\nout vec4 o;\nvoid main() {{ o = vec4(__VERSION__); }}");
        let number: f32 = version.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        assert_eq!(colour(&from_glsl(Stage::Fragment, &text)), [number; 4], "{version}");
    }
    // What only 4.50 has is there in 4.50, and only there.
    let fine = "out vec4 o;\nvoid main() { o = dFdxFine(vec4(1.0)); }";
    from_glsl(Stage::Fragment, &format!("#version 450\n{fine}"));
    assert!(glsl("a.frag", &format!("#version 440\n{fine}"), &options(Stage::Fragment)).is_err());
}

#[test]
fn later_words_are_names_in_older_dialects() {
    let m = from_glsl(
        Stage::Fragment,
        "#version 110
uniform sampler2D texture;
uniform float buffer, shared;
float sampler(float sample) { return sample * 2.0; }
void main() { float flat = sampler(buffer), active = shared; gl_FragColor = texture2D(texture, vec2(0.5)) + vec4(flat + active); }
",
    );
    let names: Vec<&str> = m.uniforms.values().map(|u| &*u.name).chain(m.textures.values().map(|t| &*t.name)).collect();
    assert_eq!(names, ["buffer", "shared", "texture"]);
    // Vulkan's `sampler` is OpenGL's favourite name.
    let m = from_glsl(
        Stage::Fragment,
        "#version 330\nuniform sampler2D sampler;\nout vec4 o;\nvoid main() { o = texture(sampler, vec2(0.0)); }",
    );
    assert_eq!(m.textures.values().map(|t| &*t.name).collect::<Vec<_>>(), ["sampler"]);
}

#[test]
fn hlsl_and_cg() {
    let text = "cbuffer B : register(b0) { float4 tint; };
struct I { float4 pos : SV_Position; float2 uv : TEXCOORD0; };
float4 main(I i) : SV_Target { return tint * i.uv.xyxy; }
";
    let m = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect("HLSL");
    assert_eq!(m.uniforms.values().map(|u| &*u.name).collect::<Vec<_>>(), ["tint"]);
    assert!(m.inputs.values().any(|d| d.name == "uv") && m.outputs.values().any(|d| d.name == "location0"), "{:?}", m.inputs);
    let text = "void main(float4 p : POSITION, uniform float4x4 wvp, out float4 o : POSITION, out float2 t : TEXCOORD0) { o = mul(wvp, p); t = p.xy; }";
    let m = hlsl("a.vert.cg", text, &options(Stage::Vertex)).expect("Cg");
    assert_eq!(m.uniforms.values().map(|u| &*u.name).collect::<Vec<_>>(), ["wvp"]);
    assert_eq!(m.outputs.len(), 2);
    let one = words(&[1.0, 0.0, 0.0, 5.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let r = run(&m, vec![words(&[1.0, 2.0, 3.0, 1.0])], vec![one]);
    // The matrix stands by rows.
    assert!(r.iter().any(|o| floats(o) == [6.0, 2.0, 3.0, 1.0]), "{r:?}");
    // glslang takes this call and ends the process when it comes to writing it.
    let text = "uint4 main(uint4 v : A) : SV_Target {\n    return msad4(v.x, v.xy, v);\n}\n";
    let e = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect_err("wrong");
    assert!(e.to_string().contains("`msad4`"), "{e}");
    let e = hlsl("a.frag.hlsl", "float4 main() : SV_Target {\n    return missing;\n}\n", &options(Stage::Fragment)).expect_err("wrong");
    assert_eq!(errors(&e)[0].0, 2, "{e}");
}

#[test]
fn remainders_of_hlsl_have_the_sign_of_what_is_divided() {
    let text = "float4 main(float4 v : TEXCOORD0) : SV_Target { return float4(fmod(v.x, 2.0), v.x % 2.0, (int)v.y % 3, (int)v.y / 3); }";
    let m = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect("HLSL");
    let r = run(&m, vec![words(&[-5.5, -7.0, 0.0, 0.0])], Vec::new());
    assert_eq!(floats(&r[0]), [-1.5, -1.5, -1.0, -2.0]);
}

#[test]
fn vertices_of_hlsl_have_positions_of_their_own() {
    let text = "struct V { float4 p : SV_Position; float4 c : TEXCOORD0; };
struct O { float4 p : SV_Position; float4 c : TEXCOORD0; };
[maxvertexcount(3)] void main(triangle V v[3], inout TriangleStream<O> s)
{
    for (int k = 0; k < 3; k++) { O o; o.p = v[2 - k].p; o.c = v[k].c; s.Append(o); }
}
";
    let m = hlsl("a.geom.hlsl", text, &options(Stage::Geometry)).expect("HLSL");
    let counts = m.inputs.values().map(|d| (&*d.name, d.count)).collect::<Vec<_>>();
    assert_eq!(counts, [("position", 3), ("c", 3)]);
    let vertex = |x: f32| [x, 0.0, 0.0, 1.0];
    let inputs = m.inputs.values().map(|_| words(&[vertex(1.0), vertex(2.0), vertex(3.0)].concat())).collect();
    let env = ShaderEnv { invocations: vec![InvocationInputs { inputs }], ..ShaderEnv::default() };
    let r = retroshade_ir::interp::run(&m, &env, &Reference).expect("it ends");
    let first = |w: &Vec<u32>| f32::from_bits(w[0]);
    let strip: Vec<Vec<f32>> = r.invocations[0].primitives[0].iter().map(|v| v.iter().map(first).collect()).collect();
    assert_eq!(strip, [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]]);
}

#[test]
fn cg_as_the_vita_has_it() {
    let compile = |stage: Stage, name: &str, text: &str| hlsl(name, text, &options(stage)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let all = |d: &IoDecl| (d.name.clone(), d.binding);
    let outputs = |m: &Module| m.outputs.values().map(all).collect::<Vec<_>>();
    let inputs = |m: &Module| m.inputs.values().map(all).collect::<Vec<_>>();
    let at = |name: &str, n: u32| (name.to_string(), Binding::Location(n));
    let position = ("position".to_string(), Binding::Builtin(Builtin::Position));
    let text = "void main(float3 position, float2 uv, uniform float4x4 wvp,
    float4 out p : POSITION,
    float4 out c : COLOR,
    float2 out t : TEXCOORD0)
{
    p = mul(float4(position, 1.f), wvp);
    t = uv;
    c = p;
}
";
    let m = compile(Stage::Vertex, "a.vert.cg", text);
    assert_eq!(outputs(&m), [position.clone(), at("c", 10), at("t", 0)]);
    let text = "struct In { float4 position : POSITION; float2 uv : TEXCOORD3; };
struct Out { float fog : FOG; float4 p : POSITION; float2 t : TEXCOORD2; float size : PSIZE; };
Out main(In i) { Out o; o.p = i.position; o.t = i.uv; o.fog = o.size = 1; return o; }
";
    let m = compile(Stage::Vertex, "a.vert.cg", text);
    let size = ("point_size".to_string(), Binding::Builtin(Builtin::PointSize));
    assert_eq!(outputs(&m), [at("fog", 12), position.clone(), at("t", 2), size.clone()]);
    assert_eq!(inputs(&m), [at("position", 0), at("uv", 1)]);
    // HLSL of Direct3D 9 has locations in the order of declaration.
    assert_eq!(outputs(&compile(Stage::Vertex, "a.vert.hlsl", text)), [at("fog", 0), position.clone(), at("t", 1), size]);
    // Where HLSL's own name stands, `POSITION` is a name like any other.
    let today = text.replace("float2 t : TEXCOORD2", "float4 w : SV_Position").replace("o.t = i.uv", "o.w = i.position");
    assert!(outputs(&compile(Stage::Vertex, "a.vert.hlsl", &today)).contains(&at("p", 1)));
    let text = "struct Out { float4 c : COLOR; float d : DEPTH; };
Out main(float4 k : COLOR, float4 w : WPOS, float2 t : TEXCOORD1) { Out o; o.c = k + w; o.d = t.x; return o; }
";
    let m = compile(Stage::Fragment, "a.frag.cg", text);
    assert_eq!(inputs(&m), [at("k", 10), position, at("t", 1)]);
    assert_eq!(outputs(&m), [at("c", 0), ("frag_depth".to_string(), Binding::Builtin(Builtin::FragDepth))]);
    let text = "float4 main(uniform sampler2D first : TEXUNIT0, float2 uv : TEXCOORD0, uniform float bright = 0.5,
    uniform float4 tint[2],
    uniform samplerCUBE second, float2 last : TEXCOORD4) : COLOR
{
    return tex2D(first, uv) * bright * tint[1] + texCUBE(second, missing) + last.x;
}
";
    let e = hlsl("a.frag.cg", text, &options(Stage::Fragment)).expect_err("wrong");
    assert_eq!(errors(&e)[0].0, 5, "{e}");
    let m = compile(Stage::Fragment, "a.frag.cg", &text.replace("missing", "uv.xyy"));
    assert_eq!(m.textures.values().map(|t| &*t.name).collect::<Vec<_>>(), ["first", "second"]);
    assert!(m.uniforms.values().any(|u| u.name == "tint") && m.surface.initial_of("bright") == Some(&words(&[0.5])[..]));
    assert_eq!(inputs(&m), [at("uv", 0), at("last", 4)]);
}

#[test]
fn products_and_functions_of_hlsl_are_its_own() {
    let products = "cbuffer B { float2x2 m, n; };
float2x2 square(inout float2x2 a) { a *= a; return a; }
float4 main(float4 v : TEXCOORD0) : SV_Target {
    float2x2 p = mul(m, n), q = m * n;
    return float4(square(q)) + float4(mul(2, p)[1], mul(p, v.xy));
}
";
    let mut with_own = products.replace("mul(", "times(");
    with_own.insert_str(
        0,
        "float2x2 times(float2x2 a, float2x2 b) { return mul(a, b); }\nfloat2x2 times(float a, float2x2 b) { return a * b; }\n",
    );
    with_own.insert_str(0, "float2 times(float2x2 a, float2 b) { return mul(a, b); }\n");
    for text in [products, &with_own] {
        let m = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect("HLSL");
        // m = 1 2 | 3 4, n = 5 6 | 7 8, by columns; m times n is 19 22 | 43 50.
        let matrices = vec![words(&[1.0, 3.0, 2.0, 4.0]), words(&[5.0, 7.0, 6.0, 8.0])];
        let r = run(&m, vec![words(&[1.0, 0.5, 0.0, 0.0])], matrices);
        assert_eq!(floats(&r[0]), [25.0 + 86.0, 144.0 + 100.0, 441.0 + 30.0, 1024.0 + 68.0], "{text}");
    }
    // Constants too, which glslang would multiply itself.
    let text = "static const float2x2 k = { 1, 2, 3, 4 };
float4 main(float4 v : TEXCOORD0) : SV_Target { const row_major float2x2 m = float2x2(1, 2, 3, 5); return float4(k * m + v.x); }
";
    let m = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect("HLSL");
    let r = run(&m, vec![words(&[1.0, 0.0, 0.0, 0.0])], Vec::new());
    assert_eq!(floats(&r[0]), [2.0, 5.0, 10.0, 21.0]);
    // Matrices that are not square multiply with nothing but `mul`; a text with a `mul` of its own has that one.
    let text = "float4 main(float4 v : TEXCOORD0) : SV_Target {
    float2x3 a = float2x3(v.xyz, v.yzw);
    return float4(mul(a, transpose(a)));
}
";
    let m = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect("HLSL");
    let r = run(&m, vec![words(&[1.0, 2.0, 0.0, 1.0])], Vec::new());
    assert_eq!(floats(&r[0]), [5.0, 2.0, 2.0, 5.0]);
    let text = "float2x2 mul(float2x2 a, float2x2 b) { return a + b; }
float4 main(float4 v : TEXCOORD0) : SV_Target { return float4(mul(float2x2(v), float2x2(v))); }
";
    let m = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect("HLSL");
    let r = run(&m, vec![words(&[1.0, 2.0, 0.0, 1.0])], Vec::new());
    assert_eq!(floats(&r[0]), [2.0, 4.0, 0.0, 2.0]);
    let text = "float4 main(float4 v : TEXCOORD0) : SV_Target {
    float l = v.w;
    return lit(v.x, v.y, 3) + ldexp(v, float4(1, 2, -1, 3)) + ldexp(l, 2);
}
";
    let m = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect("HLSL");
    let r = run(&m, vec![words(&[0.5, 0.25, 4.0, 0.5])], Vec::new());
    assert_eq!(floats(&r[0]), [1.0 + 1.0 + 2.0, 0.5 + 1.0 + 2.0, 0.015625 + 2.0 + 2.0, 1.0 + 4.0 + 2.0]);
    // Several elements of a matrix.
    let text = "struct S { float2x2 m[2]; };
float4 main(float4 v : TEXCOORD0) : SV_Target {
    S s;
    s.m[1] = float2x2(v);
    s.m[1]._m00_m11 = s.m[1]._m11_m00;
    return float4(s.m[1]._12_21, s.m[1]._m00_m11.yx);
}
";
    let m = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect("HLSL");
    assert_eq!(floats(&run(&m, vec![words(&[1.0, 2.0, 3.0, 4.0])], Vec::new())[0]), [2.0, 3.0, 1.0, 4.0]);
}

#[test]
fn statements_of_hlsl_have_places() {
    let text = "cbuffer B : register(b0) { float4 tint; };
static const float table[2] = { 1.0, 2.0 };
struct I { float2 uv : TEXCOORD0; };
namespace tools {
    float4 twice(float4 c, float k = 2.0)
    {
        return c - k;
    }
}
float4 sum(float4 c)
{
    float4 d = c;
    [loop] for (int n = 0; n < int(tint.x); n++)
        d += c;
    return d;
}
float4 main(I i) : SV_Target
{
    if (i.uv.x > 0.5)
        return sum(tint);
    switch (int(tint.y)) {
        case 1: return sqrt(tint);
        default: break;
    }
    return tint * i.uv.xyxy;
}
";
    let m = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect("HLSL");
    let f = m.main();
    let places = |op: Opcode| -> Vec<&str> {
        let of = |s: Span| text.get(s.start as usize..s.end as usize).unwrap_or("nowhere");
        f.ordered().filter(|(_, i)| f.insts[*i].op == op).map(|(_, i)| of(f.spans[i])).collect()
    };
    assert_eq!(places(Opcode::Fmul), ["return tint * i.uv.xyxy"]);
    assert_eq!(places(Opcode::Fcmp), ["i.uv.x > 0.5"]);
    assert_eq!(places(Opcode::Fadd), ["d += c"]);
    assert_eq!(places(Opcode::Fsqrt), ["return sqrt(tint)"]);
    assert!(places(Opcode::Iadd).contains(&"n++"), "{:?}", places(Opcode::Iadd));
    let first = "float4x4 m = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, k;
static float s = 3.0;
const float c = 4.0;
sampler2D t : register(s0);
float4 f(float4 x, float y = 2.0) { return x * y; }
uniform float2 a[2] : register(c9) = { float2(1, 2), float2(3, 4) };
float4 main(float2 uv : TEXCOORD0) : SV_Target { return f(mul(m, tex2D(t, uv)) + mul(k, uv.xyxy), s + c) + a[1].xyxy; }
";
    let m = hlsl("a.frag.hlsl", first, &options(Stage::Fragment)).expect("HLSL");
    assert_eq!(m.surface.initial.iter().map(|v| &*v.uniform).collect::<Vec<_>>(), ["m", "a"]);
    assert_eq!(m.surface.initial_of("a"), Some(&words(&[1.0, 2.0, 3.0, 4.0])[..]));
    // By columns, as the buffer has it.
    let m = m.surface.initial_of("m").map(floats).unwrap_or_default();
    assert_eq!(m[..8], [1.0, 5.0, 9.0, 13.0, 2.0, 6.0, 10.0, 14.0]);
    let swizzle = "float4x4 m;\nfloat4 main(float2 uv : TEXCOORD0) : SV_Target\n{\n    float a = uv.x;\n    return dot(m[0].xy, mul(m, m)._m00_m10) + a;\n}\n";
    let e = hlsl("a.frag.hlsl", swizzle, &options(Stage::Fragment)).expect_err("a swizzle of a matrix");
    assert!(errors(&e)[0].0 == 5 && e.to_string().contains("F0011"), "{e}");
    let integers = "int4 main(int4 v : A) : SV_Target\n{\n    return mad(v, v, v);\n}\n";
    let e = hlsl("a.frag.hlsl", integers, &options(Stage::Fragment)).expect_err("mad of integers");
    assert!(errors(&e)[0].0 == 3 && e.to_string().contains("F0022") && !e.to_string().contains("word"), "{e}");
    let wide = "float4 main(float2 uv : TEXCOORD0) : SV_Target\n{\n    float4 a = uv.xyxy;\n    double d = uv.x;\n    return a * (float)(d * d);\n}\n";
    let e = hlsl("a.frag.hlsl", wide, &options(Stage::Fragment)).expect_err("64 bits");
    assert_eq!(errors(&e)[0].0, 4, "{e}");
}

/// glslang computes what it takes apart once for each part.
#[test]
fn arguments_of_hlsl_are_computed_once() {
    let text = "RWByteAddressBuffer b : register(u0);
RWStructuredBuffer<float> f : register(u1);
static uint n = 0;
uint2 next() { n++; return uint2(n, n + 10); }
float4 many(float x) { n++; return float4(x, x, x, n); }
[numthreads(1, 1, 1)] void main() {
    b.Store4(0, b.Load4(0).wzyx);
    if (n == 0) b.Store2(16, next()); else b.Store2(20, next());
    b.Store2(n * 8 + 16, uint2(n, 7));
    float x = 1;
    sincos(x, x, f[0]);
    f[1] = x;
    float4 d = dst(many(2), many(3));
    f[2] = d.w;
    f[3] = n;
}
";
    let m = hlsl("a.comp.hlsl", text, &options(Stage::Compute)).expect("HLSL");
    let at = |name: &str| m.storage.values().position(|d| d.name == name).unwrap();
    let mut buffers = vec![vec![1, 2, 3, 4, 0, 0, 0, 0], vec![0; 4]];
    if at("b") == 1 {
        buffers.swap(0, 1);
    }
    let after = common::run_compute(&m, buffers, vec![], [1, 1, 1]);
    assert_eq!(after[at("b")], [4, 3, 2, 1, 1, 11, 1, 7]);
    common::close("sines", &floats(&after[at("f")]), &[1f32.cos(), 1f32.sin(), 3.0, 3.0], 1e-6);
}

#[test]
fn places_of_hlsl_texels_are_computed_once() {
    let text = "Texture2D<float4> t, more[2];
Texture2D<int3> whole;
Texture2DArray<float> layers;
RWStructuredBuffer<int> o;
static int n = 0;
int next() { return n++; }
[numthreads(1, 1, 1)] void main() {
    int i = 0;
    float r = t.Load(int3(i++, 0, 0)).x + t.Load(int3(next(), 0, 0), int2(0, 0)).y;
    r += layers.Load(int4(i++, i, 0, 0)) + more[i - 1].Load(int3(next(), 0, 0)).z;
    r += t.Load(int3(t.Load(int3(next(), 0, 0)).x, sqrt(next()), 0)).z;
    o[0] = i;
    o[1] = n;
    if (t.Load(int3(next(), 0, 0)).x < 2) o[2] = n;
    o[3] = r == -1 ? 1 : 0;
    int3 twice = whole.Load(whole.Load(int3(i++, 0, 0)));
    o[4] = twice.x * 10 + i;
}
";
    let m = hlsl("a.comp.hlsl", text, &options(Stage::Compute)).expect("HLSL");
    let texel = |d: &TextureDecl| texture(d, [4, 1, 1], 1..5);
    let textures = m.textures.values().map(texel).collect();
    let env = ShaderEnv { storage: vec![vec![0; 5]], textures, workgroups: [1; 3], ..ShaderEnv::default() };
    let result = retroshade_ir::interp::run(&m, &env, &Reference).expect("runs");
    assert_eq!(result.storage[0], [2, 4, 5, 0, 43]);
}

/// glslang takes a call for its arguments where a function of one number converts what it gives.
#[test]
fn calls_in_functions_of_one_number() {
    let text = "RWStructuredBuffer<float> f : register(u0);
static int n = 0;
int four() { n++; return 4; }
int2 pair() { n++; return int2(3, 4); }
uint one(int a, int b = 0) { n++; return 0x3c00 + b; }
int area(int2 v) { return v.x * v.y; }
float half_of(float x) { n++; return x / 2; }
struct S { int k; int nine() { n++; return 9; } };
static const float two = sqrt(4);
[numthreads(1, 1, 1)] void main() {
    S s; s.k = 0;
    int2 v = int2(n, n + 4);
    f[0] = sqrt(four());
    f[1] = length(pair());
    f[2] = sqrt((s.nine()));
    f[3] = sqrt(+dot(v, v));
    f[4] = saturate(min(v.y, 3));
    f[5] = f16tof32(one(1));
    f[6] = f32tof16(one(1) == 0x3c00);
    f[7] = sqrt(half_of(8)) + two;
    f[8] = rsqrt(pair()).y + sqrt(area(int2(4, v.y))) - 4;
    f[9] = n;
    uint u = 0xfffffffa;
    f[10] = f[9] > abs(u) ? 1 : 0;
}
";
    let m = hlsl("a.comp.hlsl", text, &options(Stage::Compute)).expect("HLSL");
    let after = common::run_compute(&m, vec![vec![0; 11]], vec![], [1, 1, 1]);
    common::close("values", &floats(&after[0]), &[2.0, 5.0, 3.0, 4.0, 1.0, 1.0, 15360.0, 4.0, 0.5, 7.0, 0.0], 1e-6);
}

/// Texts on which glslang's reader of HLSL would end the process.
#[test]
fn hlsl_that_glslang_does_not_survive() {
    let refused = [
        ("float4 main(float2 : TEXCOORD0) : SV_Target { return 1; }", 1, "has no name"),
        ("float4 main(in float2, float4 c : COLOR) : SV_Target { return c; }", 1, "has no name"),
        ("float4 main(float4 a : COLOR, In : TEXCOORD1) : SV_Target { return a; }", 1, "has no name"),
        ("float4 main(float4 a[: TEXCOORD0) : SV_Target { return 1; }", 1, "not `:`"),
        ("float4 main(float4 a[) : SV_Target { return 1; }", 1, "not `)`"),
        ("float4 k[2 3];\nfloat4 main() : SV_Target { return k[1]; }", 1, "not `3`"),
        ("float4 k[(2) 3];\nfloat4 main() : SV_Target { return k[1]; }", 1, "not `3`"),
        ("float4 k[2, 3];\nfloat4 main() : SV_Target { return k[1]; }", 1, "not `,`"),
        ("float4 k[float];\nfloat4 main() : SV_Target { return k[1]; }", 1, "not `float`"),
        ("float4 main(float4 a : COLOR) : SV_Target { case 1: return a; }", 1, "`case` stands in no `switch`"),
        ("float4 main(float4 a : COLOR) : SV_Target { switch (1) { case 1: break; } default: return a; }", 1, "`default` stands in no"),
        ("float4 main(float4 a : COLOR) : SV_Target { float f() { return 1; } return a; }", 1, "`f` stands in another one"),
        // The preprocessor writes outside its own memory when this goes on.
        ("#else\n#endif\n#endif\nfloat4 main() : SV_Target { return 1; }", 1, "`#else`: no `#if` is open"),
        // What macros hide.
        ("#define N 3if\nfloat4 k[N];\nfloat4 main() : SV_Target { return k[1]; }", 2, "not `if`"),
        ("#define AT(n) [n 4]\nfloat4 k AT(3);\nfloat4 main() : SV_Target { return k[1]; }", 2, "not `4`"),
        ("#define P float2\nfloat4 main(P : TEXCOORD0) : SV_Target { return 1; }", 2, "has no name"),
        // What is wrong in meaning.
        (
            "bool2x2 f(float4 a) { bool2x2 n; n[0] = a.xy > 0; n[1] = a.zw > 0; return n; }\nfloat4 main(float4 a : COLOR) : SV_Target { return any(f(a) + f(a)); }",
            2,
            "compute with matrices of truth values",
        ),
        (
            "bool2x2 f(float4 a) { bool2x2 n; n[0] = a.xy > 0; n[1] = a.zw > 0; return n; }\nfloat4 main(float4 a : COLOR) : SV_Target { return any(2 * (f(a))); }",
            2,
            "compute with matrices of truth values",
        ),
        (
            "float2x2 f(float4 a) { return float2x2(a); }\nfloat4 main(float4 a : COLOR) : SV_Target { return any((f(a)) < 2); }",
            2,
            "compare matrices",
        ),
        ("RWByteAddressBuffer b;\nfloat4 main() : SV_Target { b.InterlockedMax(); return 1; }", 2, "wants 2 to 3 operands, not 0"),
        ("RWByteAddressBuffer b;\nfloat4 main() : SV_Target { b.InterlockedCompareExchange(0, 1, 2); return 1; }", 2, "wants 4 operands"),
        ("RWByteAddressBuffer b;\nfloat4 main() : SV_Target { b.GetDimensions(1); return 1; }", 2, "writes into a variable"),
        ("float4 main() : SV_Target { InterlockedAdd(1, 1); return 1; }", 1, "writes into a variable"),
        ("float4 main() : SV_Target { return modf(1.5, 2.5); }", 1, "writes into a variable"),
        ("RWByteAddressBuffer b;\nfloat4 main() : SV_Target { b.Store2(1, 2); return 1; }", 2, "wants a vector of 2 numbers"),
        ("static int x;\n[numthreads(x, 1, 1)]\nfloat4 main() : SV_Target { return 1; }", 2, "constants, which `x` is not"),
        ("int f() { return 1; }\n[numthreads(1, f(), 1)]\nfloat4 main() : SV_Target { return 1; }", 2, "constants, which `f` is not"),
        ("[numthreads((1, 2), 1, 1)]\nfloat4 main() : SV_Target { return 1; }", 1, "constants, which `,` is not"),
        ("[numthreads]\nfloat4 main() : SV_Target { return 1; }", 1, "three numbers in parentheses"),
        ("float4 k[1 - 2];\nfloat4 main() : SV_Target { return 1; }", 1, "one element or more, not -1"),
        ("static const int n = -2;\nfloat4 main(float4 c[n] : C) : SV_Target { return 1; }", 2, "one element or more, not -2"),
        ("struct S { float4 k[1 << 30] : K; };\nfloat4 main(S s) : SV_Target { return s.k[0]; }", 1, "no machine has room"),
        ("struct S { float4 k[] : K; };\nfloat4 main(S s) : SV_Target { return s.k[0]; }", 2, "`S` has an array without a length"),
        ("struct S { float4 k; StructuredBuffer<float4> b; };\nfloat4 main(S s) : SV_Target { return 1; }", 2, "`S` has a buffer"),
        ("float4 main(ByteAddressBuffer b : B) : SV_Target { return 1; }", 1, "is a buffer"),
        ("StructuredBuffer<float4> main() : SV_Target { return 1; }", 1, "is a buffer"),
        ("TextureBuffer<float4> b;\nfloat4 main() : SV_Target { return 1; }", 1, "wants a structure with members, which `float4`"),
        ("float4 main() : SV_Target { return saturate(nowhere); }", 1, "`nowhere`: unknown variable"),
        ("float4 main() : SV_Target { return nowhere++; }", 1, "`nowhere`: unknown variable"),
        ("Texture2D t;\nfloat4 main() : SV_Target { return t++; }", 2, "wants a number, which `t` is not"),
        ("float4 main() : SV_Target { float s[2]; return s--.x; }", 1, "wants a number, which `s` is not"),
        ("void f() {}\nfloat4 main() : SV_Target { return f()++; }", 2, "not what a function returns"),
        ("float4 main() : SV_Target { return GetRenderTargetSampleCount(); }", 1, "does not translate this function"),
        (
            "Texture2D t;\nSamplerState s;\nTexture2D f() { return t; }\nfloat4 main() : SV_Target { return f().Sample(s, 1); }",
            4,
            "textures that functions return",
        ),
        ("float4 main(Texture2D<float4>) : SV_Target { return 1; }", 1, "has no name"),
        ("float4 main(float4[2] : A) : SV_Target { return 1; }", 1, "has no name"),
        ("void f(out float x) { x = 2; }\nfloat4 main() : SV_Target { f(1.0); return 1; }", 2, "writes into a variable"),
        ("float4 f() { return 1; }\nfloat4 main() : SV_Target { return f++; }", 2, "`f` is a function"),
        (
            "RWTexture2D<uint4> t;\nfloat4 main(uint2 v : V) : SV_Target { InterlockedAdd(t[v].y, 1); return 1; }",
            2,
            "wants a whole element",
        ),
        (
            "float4x3 m; float4 main(float3x3 a : A) : SV_Target { m = float4x3(a, float3(1, 2, 3)); return m[0].xyzz; }",
            1,
            "of a matrix and more",
        ),
        (
            "float4 main(float2x2 a : A) : SV_Target { return float4x4(float2x2(a[0], a[1]), a[0], a[1], a[0], a[1], a[0], a[1])[0]; }",
            1,
            "and more",
        ),
        ("float4 main(float2x2 a : A) : SV_Target {\n float2 v = transpose(a)._m00_m11; return v.xyxy; }", 2, "`_m00_m11`"),
        ("float4 main(float4 p : SV_Position1) : SV_Target { return p; }", 1, "no system value"),
        ("float4 other(float4 p : SV_Position) : SV_Target { return p; }", 1, "no entry point `main` (see --entry): it has `other`"),
        ("float4 main(float a : A) : SV_Target { int e; return frexp(a, e); }", 1, "not `int`"),
        ("float4 main(float2x3 a : A) : SV_Target { return isfinite(a)[0].x; }", 1, "for `float2x3`"),
        ("Texture2D t;\nfloat4 main() : SV_Target { clip(t); return 1; }", 2, "for `Texture2D`"),
        (
            "struct M { static float a() { return b(); } static float b() { return 2; } };\nfloat4 main() : SV_Target { return M::a(); }",
            1,
            "`b`: glslang does not translate",
        ),
        ("struct S { triangle float4 v : V; };\nfloat4 main(S s) : SV_Target { return s.v; }", 1, "not for members"),
        ("float4 main(float c[2][2] : SV_ClipDistance) : SV_Target { return 1; }", 1, "wants numbers of floating point"),
        ("float4 main(float3x3 c : SV_CullDistance) : SV_Target { return 1; }", 1, "wants numbers of floating point"),
        ("float4 main() : SV_Target { return max(bool++, 1); }", 1, "not the type `bool`"),
        ("struct E { };\nTextureBuffer<E> b;\nfloat4 main() : SV_Target { return 1; }", 2, "wants a structure with members"),
        ("static float k[1 / 0];\nfloat4 main() : SV_Target { return k[0]; }", 1, "one element or more, not 0"),
        ("[numthreads({1, 2}, 1)]\nfloat4 main() : SV_Target { return 1; }", 1, "constants, which `{` is not"),
        // Types of whole expressions.
        ("int2x2 m;\nfloat4 main() : SV_Target { int2x2 n = m + 1; return n[0][1]; }", 1, "does not translate matrices of integers"),
        (
            "float2x2 m;\nfloat4 main() : SV_Target { return all(m[0] > m[1]) && m == m ? 1 : 0; }",
            2,
            "`==`: glslang does not compare matrices",
        ),
        ("bool2x2 m;\nfloat4 main() : SV_Target { bool2x2 n = m + m; return n[0][1] ? 1 : 0; }", 2, "take rows"),
        ("bool2x2 m;\nfloat4 main() : SV_Target { return m ? 1 : 0; }", 2, "matrices of truth values: take rows"),
        ("float4 main(float4 p : P) : SV_Target { bool2x2 n; n = p.x; return n[0][1] ? 1 : 0; }", 1, "set its rows"),
        ("float4 main(float4 p : P) : SV_Target { float a[2]; float a[3]; a[1] = p.x; return a[1]; }", 1, "`a` is declared twice"),
        (
            "struct S { float a[2], a[3]; };\nfloat4 main(float4 p : P) : SV_Target { S s; s.a[1] = p.x; return s.a[1]; }",
            1,
            "`a` is declared twice",
        ),
        ("bool2x2 f(float x) { return x; }\nfloat4 main(float4 p : P) : SV_Target { return f(p.x)[0][0] ? 1 : 0; }", 1, "set its rows"),
        ("float2x2 q;\nfloat4 main() : SV_Target { bool2x2 n = clamp(q, q, q); return n[0][0] ? 1 : 0; }", 2, "set its rows"),
        ("float4 main(float4 p : P) : SV_Target { const int n = p.x; return n--; }", 1, "and `n` is a constant"),
        ("ByteAddressBuffer b; float2x2 q;\nfloat4 main() : SV_Target { return b.Load(q); }", 2, "not a matrix"),
        ("float4 main() : SV_Target { return float4{1, 2, 3, 4}; }", 1, "in parentheses, not in braces"),
        ("float4 main(OutputPatch<float4, 3> p) : SV_Target { return p[0]; }", 1, "belongs to tessellation"),
        ("bool2x2 m; float4 k[2];\nfloat4 main() : SV_Target { return k[m % 2]; }", 2, "matrices of truth values"),
        ("float4 main() : SV_Target { return (float4)1.0++; }", 1, "wants a variable, not a number"),
        // What glslang takes for something else.
        ("float4 main(float f : VFACE) : SV_Target { return f; }", 1, "`SV_IsFrontFace` says the same"),
        ("float4 main(uint c : SV_Coverage) : SV_Target { return c; }", 1, "`SV_Coverage`"),
        // glslang goes on behind its first error only where it is told to.
        ("float4 main() : SV_Target { return (COLOR0); }", 1, "`COLOR0`: unknown variable"),
    ];
    for (text, line, why) in refused {
        let e = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect_err(text);
        assert!(errors(&e)[0].0 == line && e.to_string().contains(why), "{text}: {e}");
    }
    let stream = |body: &str, input: &str| {
        format!(
            "struct S {{ float4 p : SV_Position; }}; struct Q {{ int2 x; }};\n[maxvertexcount(3)] void main({input}, inout PointStream<S> o) {{ Q q; {body} }}"
        )
    };
    let appended = [
        ("o.Append(q);", "point S i[1]", "a stream of `S` takes nothing else"),
        ("o.Append(1);", "point S i[1]", "a stream of `S` takes nothing else"),
        ("o.Append(i);", "point S i[1]", "a stream of `S` takes nothing else"),
        ("o.Append();", "point S i[1]", "wants 1 operand, not 0"),
        ("o.Append(i);", "point S i", "`i` wants as many elements"),
    ];
    for (body, input, why) in appended {
        let text = stream(body, input);
        let e = hlsl("a.geom.hlsl", &text, &options(Stage::Geometry)).expect_err(&text);
        assert!(errors(&e)[0].0 == 2 && e.to_string().contains(why), "{text}: {e}");
    }
    for head in ["float4 main(point S i[1]) : SV_Position", "void main(point S i[1], inout PointStream<S> o, inout PointStream<S> more)"] {
        let text = format!("struct S {{ float4 p : SV_Position; }};\n[maxvertexcount(3)] {head} {{ return i[0].p; }}");
        let e = hlsl("a.geom.hlsl", &text, &options(Stage::Geometry)).expect_err(&text);
        assert!(errors(&e)[0].0 == 2 && e.to_string().contains("is `void` and has one stream"), "{text}: {e}");
    }
    let text = stream("o.Append(i[0]); o.RestartStrip();", "point S i[1]");
    assert!(hlsl("a.geom.hlsl", &text, &options(Stage::Geometry)).is_ok(), "{text}");
    // What looks like it and is right.
    let right = [
        "struct S { const float4 a : A; in float2 b : B; };\nfloat4 main(S s) : SV_Target { return s.a.wzyx + s.b.xyxy; }",
        "struct S { float x; float Load() { return x; } void Append(float a, float b) { x = a + b; } };\nfloat4 main(float4 a : A) : SV_Target { S s; s.Append(a.x, 1); return s.Load(); }",
        "static const int n = 3, m = n - 2;\nfloat4 k[n][m * 2 + 1];\nfloat4 main(int i : I) : SV_Target { float t[1 << m]; t[0] = 2; return k[n - 3][i] * t[0]; }",
        "groupshared float g[4];\nRWByteAddressBuffer b;\nfloat4 main(uint i : I) : SV_Target { uint o, n; b.InterlockedAdd(0, 1, o); b.InterlockedMax(4, i); b.GetDimensions(n); b.Store2(0, uint2(1, 2)); return b.Load(0) + n + o; }",
        "float4 main(float4 a : A) : SV_Target { (a.x)++; return -(a).y++; }",
        "int once(const int n) { return n; }\nint more() { int n = 1; n++; return once(n); }\nvoid f(float a[2]) {}\nvoid g(float a[2]) { { float b[2]; f(b); } float b[3]; }\nfloat1 u;\nfloat4 main(float4 p : SV_Position0, bool f : SV_IsFrontFace0) : SV_Target0 { float c = p.x > 1 ? u : p.y; uint32_t2 i = 3; unsigned int j = i.x; vector<float32_t, 2> v = c; return float4(v, i) * (j + more()); }",
        "SamplerState s { Filter = MIN_MAG_MIP_LINEAR; };\nTexture2D t : register(t1, space1);\nfloat4 main(float4 a : A) : SV_Target { for (int i = 0, j = 1; i < 3; i++, j++) a += j; return t.Sample(s, a.xy); }",
        "struct { float4 a, b; } x, y;\ncbuffer C { float4 c, d; };\ntypedef float4 V;\nstatic V v = (V)1, w = v;\nfloat4 main() : SV_Target { return (x.a) * y.b + (c) - d * (w); }",
    ];
    for text in right {
        assert!(
            hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).is_ok(),
            "{text}: {:?}",
            hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).err()
        );
    }
    // Declarations need no names, and a macro may bring them.
    let text = "[[vk::binding(1)]] Texture2D unread;\n[[spv::format_rgba32f]] [[spv::nonwritable]] RWTexture1D<float4> too;\nstruct S { float x; float twice(float y) { return y * 2; } };\nstatic const int n[] = { 1, 2 };\n[numthreads(1, 1, 1)] void f() {}\nnamespace tools { static const int m = 2; }\nfloat4 main(float4 a : COLOR) : SV_Target { float t[(uint)tools::m + min(1, 2)][2]; [unroll] for (int i = 0; i < 3; i++) { t[i++][(int)a.x] = 1; switch (i) { case 1: { break; } default: break; } } [branch] if (a.x > 1) { S s; a.x = s.twice(a.x); } return t[a.x > 0 ? n[1] : -n[0] + 1][!true] * a[int(a.y)]; }\n";
    assert!(hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).is_ok(), "{text}");
    let text = "#define ARG float4 a : COLOR\nfloat4 f(float4, float);\nfloat4 f(float4 x, float y) { return x * y; }\nfloat4 main(ARG) : SV_Target { float t[2] = { 1, 2 }; return f(a, t[1]); }\n";
    assert!(hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).is_ok(), "{text}");
}

#[test]
fn threads_and_order_change_nothing() {
    let texts = [
        (Stage::Fragment, "#version 450\nlayout(location = 0) out vec4 o;\nuniform float k;\nvoid main() { o = vec4(k); }"),
        (Stage::Vertex, "attribute vec4 p;\nuniform mat4 m;\nvarying vec4 v;\nvoid main() { gl_Position = m * p; v = p; }"),
        (Stage::Fragment, "#version 310 es\nprecision highp float;\nout vec4 o;\nvoid main() { o = vec4(1.0); }"),
        (Stage::Fragment, "#version 450\nvoid main() { wrong }"),
        (Stage::Fragment, "#version 330\nout vec4 o;\nvoid main() { o = gl_FragCoord; }"),
    ];
    let result = |n: usize| glsl_words("a", texts[n].1, &options(texts[n].0)).map_err(|e| e.to_string());
    let alone: Vec<_> = (0..texts.len()).map(result).collect();
    std::thread::scope(|s| {
        for start in 0..8 {
            let (alone, result) = (&alone, &result);
            s.spawn(move || {
                for n in 0..3 * texts.len() {
                    let n = (start + n) % texts.len();
                    assert_eq!(result(n), alone[n]);
                }
            });
        }
    });
}

#[test]
fn textures_and_samplers_as_parameters() {
    let body = "vec4 f(texture2D t, sampler s, vec2 p) { return texture(sampler2D(t, s), p); }
layout(location = 0) out vec4 o;
void main() { o = f(image, filtering, vec2(0.5)) * k; }
";
    let declared = "layout(binding = 0) uniform texture2D image;\nlayout(binding = 1) uniform sampler filtering;\n";
    let m = from_glsl(Stage::Fragment, &format!("#version 450\n{declared}layout(binding = 2) uniform B {{ float k; }};\n{body}"));
    assert_eq!(m.textures.values().map(|t| &*t.name).collect::<Vec<_>>(), ["image"]);
    // With its rules for loose uniforms, glslang reads a texture of its own making.
    let e = refused(Stage::Fragment, &format!("#version 450\n{declared}uniform float k;\n{body}"));
    assert_eq!(e.diagnostics[0].code, "F0022", "{e}");
}

/// The operations of a program that are marked as relaxed, in order.
fn relaxed(m: &Module) -> Vec<&'static str> {
    let f = m.main();
    f.ordered().filter(|(_, i)| f.insts[*i].relaxed).map(|(_, i)| f.insts[i].op.name()).collect()
}

#[test]
fn precision_qualifiers_are_kept_on_values() {
    let m = from_glsl(
        Stage::Fragment,
        "#version 300 es
precision mediump float;
uniform sampler2D tex;
uniform vec4 tint;
uniform highp float far;
in vec2 uv;
in highp vec2 place;
out vec4 colour;
void main() { colour = texture(tex, uv) * tint + vec4(place * far, 0.0, 1.0); }
",
    );
    // A sum with something in high precision is in high precision.
    assert_eq!(relaxed(&m), ["input", "tex", "uniform", "fmul"]);
    // Texts of OpenGL ES 1.00 often have no `#version`.
    let m = from_glsl(
        Stage::Fragment,
        "precision mediump float;
uniform sampler2D tex;
varying vec2 uv;
void main() { gl_FragColor = texture2D(tex, uv) * 0.5; }
",
    );
    assert_eq!(relaxed(&m), ["input", "tex", "fmul"]);
    // Desktop programs have no precision but what they ask for.
    let m = from_glsl(
        Stage::Fragment,
        "#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in mediump vec4 b;
layout(location = 0) out vec4 colour;
void main() { colour = a * b; mediump vec4 c = b + b; colour += c; }
",
    );
    assert_eq!(relaxed(&m), ["input", "fadd"]);
}

/// SPIR-V that somebody else made of a text: its lines are the text's.
#[test]
fn lines_of_a_foreign_compilers_words() {
    let text = "#version 450\nlayout(location = 0) in vec4 a;\nlayout(location = 0) out vec4 o;\nvoid main() {\n    vec4 b = a * 2.0;\n  \
                  o = sqrt(b);\n}\n";
    let words = glsl_words("a.frag", text, &options(Stage::Fragment)).unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let m = spirv_with_text("a.frag", text, &bytes, &FrontOptions::default()).unwrap();
    let f = m.main();
    let (_, root) = f.ordered().find(|(_, i)| f.insts[*i].op == Opcode::Fsqrt).unwrap();
    let span = f.spans[root];
    assert_eq!(m.sources.line_column(span.file, span.start), Some((6, 3)));
    let statement = &text[span.start as usize..span.end as usize];
    assert_eq!(statement, "o = sqrt(b);");
    // What is wrong with the words as a whole stands at the beginning.
    let e = spirv_with_text("a.frag", text, &bytes[..bytes.len() - 8], &FrontOptions::default()).unwrap_err();
    assert!(e.diagnostics.iter().all(|d| !d.span.is_none()), "{e}");
}

#[test]
fn functions_of_hlsl_on_constants_and_unsigned_numbers() {
    let text = "RWStructuredBuffer<uint> o;
static int counted;
int next() { static int sum; sum += 2; return ++counted + sum; }
[numthreads(1, 1, 1)] void main(uint3 t : SV_DispatchThreadID) {
    o[0] = any(float4(0, 0, 0, 0.5)) ? 1 : 0;
    o[1] = all(float2(0.5, 0)) ? 1 : 0;
    o[2] = any(int4(0, 0, 0, 4));
    o[3] = abs(0xfffffff0u + t.x);
    o[4] = sign(0xfffffff0u + t.x);
    o[5] = asuint(5u) + asint(7) + asuint(-1);
    o[6] = asuint(asfloat(2.5)) + asuint(1.0);
    o[7] = next() + next() + uint(((float2x2)0)[1].y + ((float2x2)7)[0].y);
    o[8] = WavePrefixSum(5u) + WaveActiveSum(3u);
}
";
    let m = hlsl("a.comp.hlsl", text, &options(Stage::Compute)).expect("HLSL");
    let bits = 2.5f32.to_bits().wrapping_add(1.0f32.to_bits());
    assert_eq!(common::run_compute(&m, vec![vec![0; 9]], Vec::new(), [1, 1, 1])[0], [1, 0, 1, 0xffff_fff0, 1, 11, bits, 16, 3]);
}

/// What glslang would compute itself, and otherwise.
#[test]
fn constants_of_hlsl_are_compared_by_all_components() {
    let text = "static const float2 a = float2(1, 2), b = float2(1, 3);
static const float k = 7.5, third[3] = { 1, 2, 3 };
RWStructuredBuffer<float> o;
RWByteAddressBuffer bytes;
uint odd(uint n) { if (n > 1) return(n > 3) ? 1 : 2; return 0; }
[numthreads(1, 1, 1)] void main() {
    const int2 z = 0, c = int2(1, 2), d = int2(1, 5);
    bool2 e = a == b, f = c != d, g = a < b;
    o[0] = e.y ? 1 : 0;
    o[1] = f.y ? 1 : 0;
    o[2] = g.y ? 1 : 0;
    o[3] = k % 2;
    o[4] = third[1] + a.y;
    uint size[2];
    if (f.y) bytes.GetDimensions(size[1]);
    else size[1] = 0;
    bytes.Store(0, size[1] + odd(size[1]));
}
";
    let m = hlsl("a.comp.hlsl", text, &options(Stage::Compute)).expect("HLSL");
    let out = common::run_compute(&m, vec![vec![0; 5], vec![0; 3]], Vec::new(), [1, 1, 1]);
    assert_eq!(out[0].iter().map(|w| f32::from_bits(*w)).collect::<Vec<_>>(), [0.0, 1.0, 1.0, 1.5, 4.0]);
    assert_eq!(out[1], [13, 0, 0]);
}

#[test]
fn remainders_and_roundings_of_hlsl_constants() {
    let text = "RWStructuredBuffer<float> o;
[numthreads(1, 1, 1)] void main() {
    float2 r = float2(-7.5, 5) % float2(2, 3);
    o[0] = -7.5 % 2;
    o[1] = 5 % 3.5;
    o[2] = r.x;
    o[3] = r.y;
    o[4] = fmod(-7.5, 2);
    o[5] = round(2.5);
    o[6] = 7 % 4;
}
";
    let m = hlsl("a.comp.hlsl", text, &options(Stage::Compute)).expect("HLSL");
    let out = common::run_compute(&m, vec![vec![0; 7]], Vec::new(), [1, 1, 1]);
    assert_eq!(floats(&out[0]), [-1.5, 1.5, -1.5, 2.0, -1.5, 2.0, 3.0]);
}

#[test]
fn buffers_of_hlsl_without_a_register_have_bindings_of_their_own() {
    let text = "float4 tint;
cbuffer A { float4 x; };
cbuffer B : register(b0) { float4 y; };
cbuffer C { float4 z; };
float4 main(float4 p : SV_Position) : SV_Target { return x + y * tint + z; }
";
    let m = hlsl("a.frag.hlsl", text, &options(Stage::Fragment)).expect("HLSL");
    let mut all: Vec<_> = m.uniforms.values().map(|u| (u.binding, &*u.name)).collect();
    all.sort_unstable();
    assert_eq!(all.iter().map(|u| u.0).collect::<Vec<_>>(), [0, 1, 2, 3], "{all:?}");
    assert_eq!(all[0].1, "y");
}

#[test]
fn what_has_no_binding_stands_behind_arrays_of_textures() {
    let text = "#version 450
layout(location = 0) out vec4 o;
layout(binding = 1) uniform sampler2D t[3];
layout(std140) uniform B { vec4 v; };
void main() { o = texture(t[0], v.xy) + texture(t[2], v.zw); }
";
    let m = glsl("a.frag", text, &options(Stage::Fragment)).expect("GLSL");
    assert_eq!(m.uniforms.values().map(|u| (&*u.name, u.binding)).collect::<Vec<_>>(), [("v", 4)]);
    assert_eq!(m.textures.values().map(|t| t.binding).collect::<Vec<_>>(), [1, 2, 3]);
}
