//! GLSL that is not Vulkan's: OpenGL ES 2, OpenGL 1.20 and 3.30, geometry programs. Values are compared with what the language says,
//! places of messages with the user's text.

mod common;

use common::{floats, from_glsl, run, run_compute, words};
use retroshade_frontend::{FrontOptions, glsl};
use retroshade_ir::env::{Filter, Wrap};
use retroshade_ir::{Builtin, Module, Stage, TexDim, TextureData};
use retroshade_ir::{InvocationInputs, Reference, ShaderEnv, interp};

fn texture(width: u32, height: u32, depth: bool, texels: Vec<[u32; 4]>) -> TextureData {
    TextureData {
        dim: TexDim::D2,
        size: [width, height, 1],
        layers: 1,
        levels: 1,
        depth,
        filter: Filter::Nearest,
        wrap: Wrap::Repeat,
        texels,
    }
}

fn output<'a>(m: &Module, outputs: &'a [Vec<u32>], name: &str) -> &'a [u32] {
    let n = m.outputs.values().position(|d| shown(d) == name);
    &outputs[n.unwrap_or_else(|| panic!("no output {name}"))]
}

fn shown(d: &retroshade_ir::module::IoDecl) -> String {
    match d.binding {
        retroshade_ir::module::Binding::Builtin(b) => b.name().to_string(),
        _ => d.name.clone(),
    }
}

fn input_names(m: &Module) -> Vec<String> {
    m.inputs.values().map(shown).collect()
}

fn uniform_names(m: &Module) -> Vec<&str> {
    m.uniforms.values().map(|d| &*d.name).collect()
}

const ES_VERTEX: &str = "#version 100
attribute vec4 a_position;
attribute vec2 a_texCoord;
uniform mat4 u_mvp;
uniform float u_weights[3];
uniform bool u_lit;
varying lowp vec4 v_color;
varying highp vec2 v_blur[3];
#define OFFSET(n) vec2(u_weights[n], 0.0)
void main()
{
    gl_Position = u_mvp * a_position;
    v_color = u_lit ? vec4(0.5) : vec4(0.25);
    v_blur[0] = a_texCoord;
    v_blur[1] = a_texCoord + OFFSET(1);
    for (int i = 2; i < 3; i++) v_blur[i] = a_texCoord - OFFSET(i);
}
";

#[test]
fn opengl_es_vertex() {
    let m = from_glsl(Stage::Vertex, ES_VERTEX);
    assert_eq!(input_names(&m), ["a_position", "a_texCoord"]);
    assert_eq!(uniform_names(&m), ["u_mvp", "u_weights", "u_lit"]);
    // std140: a matrix of 64 bytes, three elements of 16, then the truth value.
    assert_eq!(m.uniforms.values().map(|u| (u.binding, u.offset)).collect::<Vec<_>>(), [(0, 0), (0, 64), (0, 112)]);
    let mvp = words(&[2.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 1.0, 2.0, 3.0, 1.0]);
    let r = run(&m, vec![words(&[1.0, 2.0, 3.0, 1.0]), words(&[0.5, 0.75])], vec![mvp, words(&[1.0, 0.125, 0.25]), vec![1]]);
    assert_eq!(floats(output(&m, &r, "position")), [3.0, 6.0, 9.0, 1.0]);
    assert_eq!(floats(output(&m, &r, "v_color")), [0.5; 4]);
    assert_eq!(floats(output(&m, &r, "v_blur[0]")), [0.5, 0.75]);
    assert_eq!(floats(output(&m, &r, "v_blur[1]")), [0.625, 0.75]);
    assert_eq!(floats(output(&m, &r, "v_blur[2]")), [0.25, 0.75]);
}

#[test]
fn opengl_es_fragment() {
    let m = from_glsl(
        Stage::Fragment,
        "#version 100
#extension GL_OES_standard_derivatives : enable
#ifdef GL_ES
precision mediump float;
#else
#error not the language asked for
#endif
varying vec2 v_uv;
uniform sampler2D u_base, u_layers[2];
uniform float u_alpha;
vec4 twice(sampler2D s, vec2 uv) { return texture2D(s, uv) + texture2D(s, uv, -1.0); }
void main()
{
    vec4 c = texture2D(u_base, v_uv) + twice(u_layers[1], v_uv) + texture2DProj(u_layers[0], vec3(v_uv, 1.0));
    if (c.a < u_alpha) discard;
    gl_FragColor = c;
}
",
    );
    let names: Vec<&str> = m.textures.values().map(|t| &*t.name).collect();
    assert_eq!(names, ["u_base", "u_layers[0]", "u_layers[1]"]);
    let solid = |x: f32| texture(1, 1, false, vec![[x.to_bits(); 4]]);
    let env = ShaderEnv {
        invocations: vec![InvocationInputs { inputs: vec![words(&[0.5, 0.5])] }; 4],
        uniforms: vec![words(&[0.25])],
        textures: vec![solid(1.0), solid(10.0), solid(100.0)],
        ..ShaderEnv::default()
    };
    let r = interp::run(&m, &env, &Reference).expect("runs");
    assert_eq!(floats(output(&m, &r.invocations[0].outputs, "gl_FragColor")), [211.0; 4]);
}

#[test]
fn opengl_3_blocks_matrices_and_initial_values() {
    let m = from_glsl(
        Stage::Vertex,
        "#version 330 core
layout (location = 1) in vec3 pos;
in mat2 frame;
struct Light { vec3 position; float intensity; };
uniform Light lights[2];
out VS_OUT { vec3 where; flat int id; } vs_out;
float scale = lights[1].intensity * 2.0;
void main()
{
    vs_out.where = vec3(frame * pos.xy, pos.z) * scale;
    vs_out.id = gl_VertexID - 5;
    gl_Position = vec4(lights[0].position, 1.0);
}
",
    );
    // Location 1 is taken: two columns do not fit before it.
    let inputs: Vec<String> = input_names(&m);
    assert_eq!(inputs, ["pos", "frame[0]", "frame[1]", "vertex_index"]);
    let at: Vec<_> = m
        .inputs
        .values()
        .filter_map(|d| if let retroshade_ir::module::Binding::Location(l) = d.binding { Some(l) } else { None })
        .collect();
    assert_eq!(at, [1, 2, 3]);
    assert_eq!(uniform_names(&m), ["lights[].position", "lights[].intensity"]);
    let r = run(
        &m,
        vec![words(&[1.0, 2.0, 3.0]), words(&[1.0, 10.0]), words(&[100.0, 1000.0]), vec![2]],
        vec![words(&[7.0, 8.0, 9.0, 0.0, 0.0, 0.0]), words(&[0.0, 0.5])],
    );
    assert_eq!(floats(output(&m, &r, "where")), [201.0, 2010.0, 3.0]);
    assert_eq!(output(&m, &r, "id")[0] as i32, -3);
    assert_eq!(floats(output(&m, &r, "position")), [7.0, 8.0, 9.0, 1.0]);
}

#[test]
fn compatibility_profile() {
    let m = from_glsl(
        Stage::Vertex,
        "#version 120
varying vec3 normal;
void main() {
    normal = gl_NormalMatrix * gl_Normal;
    gl_TexCoord[0] = gl_MultiTexCoord0;
    gl_Position = ftransform();
}
",
    );
    assert_eq!(uniform_names(&m), ["gl_NormalMatrix", "gl_ModelViewProjectionMatrix"]);
    assert!(input_names(&m).contains(&"gl_Vertex".to_string()));
    assert!(m.outputs.values().any(|d| d.name == "gl_TexCoord[0]"));
    let m = from_glsl(Stage::Fragment, "#version 120\nvoid main() { gl_FragData[1] = vec4(1.0); gl_FragData[0] = gl_TexCoord[0]; }");
    assert_eq!(m.outputs.values().map(|d| &*d.name).collect::<Vec<_>>(), ["gl_FragData[0]", "gl_FragData[1]"]);
}

#[test]
fn compute_programs_of_any_version() {
    for version in ["", "#version 140", "#version 300 es", "#version 330", "#version 420", "#version 450 compatibility"] {
        let text = format!("{version}\nlayout(local_size_x = 1) in;\nlayout(std430) buffer B {{ int a; }};\nvoid main() {{ a = 3; }}");
        let m = from_glsl(Stage::Compute, &text);
        assert_eq!(run_compute(&m, vec![vec![0]], Vec::new(), [1, 1, 1]), [[3]], "{version}");
    }
    // What glslang would have, by name.
    let es = "#version 310 es\nlayout(triangles) in;\nlayout(points, max_vertices = 1) out;\nvoid main() { EmitVertex(); }";
    assert!(message(Stage::Geometry, es).1.contains("GL_EXT_geometry_shader GL_OES_geometry_shader"));
}

#[test]
fn state_of_the_compatibility_profile() {
    let m = from_glsl(
        Stage::Vertex,
        "float near(gl_LightSourceParameters l, vec4 p) { return 1.0 / (l.constantAttenuation + l.linearAttenuation * distance(l.position, p)); }
void main() {
    gl_ClipVertex = gl_Vertex;
    gl_FrontColor = gl_FrontMaterial.emission + gl_FrontLightProduct[1].diffuse * near(gl_LightSource[0], gl_Vertex);
    gl_FogFragCoord = (gl_Fog.end - gl_Vertex.z) * gl_Fog.scale + float(gl_MaxLights);
    gl_Position = gl_Vertex;
}
",
    );
    let names = uniform_names(&m);
    for wanted in ["gl_FrontMaterial.emission", "gl_Fog.end", "gl_LightSource[].position", "gl_FrontLightProduct[].diffuse"] {
        assert!(names.contains(&wanted), "{names:?}");
    }
    // As many elements as the text looks at.
    let elements = |name: &str| m.uniforms.values().find(|u| u.name == name).and_then(|u| Some(u.dims.first()?.count));
    assert_eq!((elements("gl_LightSource[].position"), elements("gl_FrontLightProduct[].diffuse")), (Some(1), Some(2)));
}

#[test]
fn versions_with_profiles_define_theirs() {
    for (version, profile) in
        [("150", "core"), ("330", "core"), ("330 core", "core"), ("450", "core"), ("150 compatibility", "compatibility")]
    {
        let text = format!("#version {version}\nout vec4 c;\nvoid main() {{\nc = vec4(GL_{profile}_profile);\n}}\n");
        let m = from_glsl(Stage::Fragment, &text);
        assert_eq!(floats(output(&m, &run(&m, Vec::new(), Vec::new()), "c")), [1.0; 4], "{text}");
    }
}

/// Lines that end in a backslash are joined before there are tokens.
#[test]
fn tokens_go_on_behind_a_backslash() {
    let text = "#version 450\n#def\\\nine TWO 2.\\\n5\n#define THREE /\\\r\n* not this *\\\n/ 3.0\nlayout(loca\\\ntion = 0) out vec4 c;
vo\\\n\\\nid main() { float x = 1.0; x +\\\n= TWO; /* 7 *\\\n/ c = vec4(x, THREE, 4, 0); // and \\\n not this }
c.\\\nw = float(x >\\\n= 3.0); }\n";
    let m = from_glsl(Stage::Fragment, text);
    assert_eq!(floats(output(&m, &run(&m, Vec::new(), Vec::new()), "c")), [3.5, 3.0, 4.0, 1.0]);
}

#[test]
fn a_comment_of_one_line_begins_no_other() {
    let text = "#version 130\n#define ONE 1.0 //* or more\nout vec4 c;\nvoid main() {\n  c = vec4(ONE); // /* not yet\n  c += 1.0; //* the end\n}\n/* */";
    assert_eq!(floats(&run(&from_glsl(Stage::Fragment, text), Vec::new(), Vec::new())[0]), [2.0; 4]);
}

#[test]
fn words_that_became_reserved_and_functions_that_need_asking() {
    let text = "#version 110\nvoid main() { float lowp = 1.0; vec2 precision = vec2(lowp); gl_FragColor = precision.xyxy; }";
    assert_eq!(floats(&run(&from_glsl(Stage::Fragment, text), Vec::new(), Vec::new())[0]), [1.0; 4]);
    let text = "#version 130\n#extension GL_EXT_shader_integer_mix : require\nout vec4 c;\nvoid main() { c = vec4(mix(3, 5, true)); }";
    assert_eq!(floats(&run(&from_glsl(Stage::Fragment, text), Vec::new(), Vec::new())[0]), [5.0; 4]);
    let text = "#version 150\n#extension GL_ARB_derivative_control : enable\nin vec4 v; out vec4 c;\nvoid main() { c = dFdxCoarse(v) + fwidthFine(v); }";
    from_glsl(Stage::Fragment, text);
}

#[test]
fn old_names_of_texture_functions() {
    // A function with a bias exists in fragment programs only, wherever its name stands.
    from_glsl(
        Stage::Vertex,
        "#version 130\n#define shade(s, p) shadow2D(s, p).r\nin vec4 p;\nuniform sampler2DShadow s;\nvoid main() { gl_Position = p * shade(s, p.xyz); }",
    );
    from_glsl(
        Stage::Fragment,
        "uniform sampler1DShadow s;\nvoid main() { gl_FragColor = shadow1D(s, vec3(0.5), 1.0) + shadow1DProj(s, vec4(0.5)); }",
    );
    // Texels counted instead of a texture from 0 to 1.
    let m = from_glsl(
        Stage::Fragment,
        "#extension GL_ARB_texture_rectangle : enable
uniform sampler2DRect t;
varying vec2 uv;
void main() { gl_FragColor = texture2DRect(t, uv) + texture2DRectProj(t, vec3(uv, 2.0)); }
",
    );
    let row = texture(4, 1, false, [1.0f32, 2.0, 4.0, 8.0].map(|x| [x.to_bits(); 4]).to_vec());
    let lanes = vec![InvocationInputs { inputs: vec![words(&[2.5, 0.5])] }; 4];
    let env = ShaderEnv { invocations: lanes, textures: vec![row], ..ShaderEnv::default() };
    let r = interp::run(&m, &env, &Reference).expect("runs");
    assert_eq!(floats(&r.invocations[0].outputs[0]), [6.0; 4]);
    let layers = "#extension GL_EXT_texture_array : enable\n#ifdef GL_EXT_texture_array\nuniform sampler2DArray t;\nvoid main() { gl_FragColor = texture2DArray(t, vec3(0.5)); }\n#endif";
    from_glsl(Stage::Fragment, layers);
    // What 3.30 deprecates is there.
    let both = "#version 330\nuniform sampler2D t, u; in vec2 uv; out vec4 c;\nvoid main() { c = texture2D(t, uv) + texture(u, uv) + vec4(uint(uv.x)); }";
    from_glsl(Stage::Fragment, both);
}

#[test]
fn vertex_programs_sample_the_first_level() {
    let m = from_glsl(
        Stage::Vertex,
        "#version 300 es
in vec2 uv;
uniform sampler2D height, other;
void main() { gl_Position = texture(height, uv) + textureProj(other, vec3(uv, 1.0)) + textureLod(height, uv, 0.0); }
",
    );
    let solid = |x: f32| texture(1, 1, false, vec![[x.to_bits(); 4]]);
    let env = ShaderEnv {
        invocations: vec![InvocationInputs { inputs: vec![words(&[0.5, 0.5])] }],
        textures: vec![solid(1.0), solid(10.0)],
        ..ShaderEnv::default()
    };
    let r = interp::run(&m, &env, &Reference).expect("runs");
    assert_eq!(floats(&r.invocations[0].outputs[0]), [12.0; 4]);
    // The same names in today's form.
    from_glsl(
        Stage::Vertex,
        "#version 120\nuniform sampler2D t;\nvoid main() { gl_Position = texture2D(t, vec2(0.0)) + texture2DLod(t, vec2(0.0), 1.0); }",
    );
}

#[test]
fn gathers_and_shadows() {
    let m = from_glsl(
        Stage::Fragment,
        "#version 400
in vec2 uv;
out vec4 color;
uniform sampler2D map;
uniform sampler2DShadow shadow;
void main() { color = textureGather(map, uv, 1) + vec4(texture(shadow, vec3(uv, 0.5))); }
",
    );
    let quad = texture(2, 2, false, (0..4).map(|n| [0, (n as f32).to_bits(), 0, 0]).collect());
    let depth = texture(1, 1, true, vec![[0.75f32.to_bits(); 4]]);
    let env = ShaderEnv {
        invocations: vec![InvocationInputs { inputs: vec![words(&[0.5, 0.5])] }; 4],
        textures: vec![quad, depth],
        ..ShaderEnv::default()
    };
    let r = interp::run(&m, &env, &Reference).expect("runs");
    // Lower left, lower right, upper right, upper left; the reference is less than the depth, which adds one or nothing alike.
    let got = floats(&r.invocations[0].outputs[0]);
    let base = got[3];
    assert_eq!(got.iter().map(|x| x - base).collect::<Vec<_>>(), [2.0, 3.0, 1.0, 0.0]);
}

const GEOMETRY: &str = "#version 330 core
layout(triangles) in;
layout(triangle_strip, max_vertices = 4) out;
in vec3 color[];
in Data { vec2 uv; } data[];
uniform float shrink;
out vec3 tint;
flat out int prim;
vec4 centre() { return (gl_in[0].gl_Position + gl_in[1].gl_Position + gl_in[2].gl_Position) / 4.0; }
void main() {
    for (int i = 0; i < gl_in.length(); i++) {
        gl_Position = mix(centre(), gl_in[i].gl_Position, shrink);
        tint = color[i] + vec3(data[2 - i].uv, 0.0);
        prim = gl_PrimitiveIDIn + i;
        EmitVertex();
    }
    EndPrimitive();
    EmitVertex();
}
";

#[test]
fn geometry() {
    let m = from_glsl(Stage::Geometry, GEOMETRY);
    assert_eq!(input_names(&m), ["position", "primitive_index", "color", "uv"]);
    assert_eq!(m.inputs.values().map(|d| d.count).collect::<Vec<_>>(), [3, 1, 3, 3]);
    assert_eq!(m.outputs.values().map(shown).collect::<Vec<_>>(), ["position", "tint", "prim"]);
    let g = m.geometry.expect("primitives");
    assert_eq!(g.max_vertices, 4);
    let position: Vec<f32> = (0..12).map(|n| n as f32).collect();
    let color: Vec<f32> = (0..9).map(|n| 100.0 * n as f32).collect();
    let inputs = vec![words(&position), vec![7], words(&color), words(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])];
    let env = ShaderEnv { invocations: vec![InvocationInputs { inputs }], uniforms: vec![words(&[1.0])], ..ShaderEnv::default() };
    let r = interp::run(&m, &env, &Reference).expect("runs");
    let strips = &r.invocations[0].primitives;
    assert_eq!(strips.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(floats(&strips[0][1][0]), [4.0, 5.0, 6.0, 7.0]);
    assert_eq!(floats(&strips[0][1][1]), [303.0, 404.0, 500.0]);
    assert_eq!(strips[0][2][2], [9]);
    assert!(m.inputs.values().any(|d| d.binding == retroshade_ir::module::Binding::Builtin(Builtin::PrimitiveIndex)));
}

/// The place and the text of the first message.
fn message(stage: Stage, source: &str) -> (String, String) {
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    match glsl("x.glsl", source, &options) {
        Ok(_) => panic!("accepted: {source}"),
        Err(e) => {
            let d = &e.diagnostics[0];
            (source[d.span.start as usize..d.span.end as usize].to_string(), d.message.clone())
        }
    }
}

#[test]
fn messages_point_into_the_users_text() {
    let cases = [
        (Stage::Vertex, "#version 100\nattribute vec4 p;\nvoid main() { gl_Position = p + missing; }", "missing", "missing"),
        (
            Stage::Vertex,
            "#version 120\nuniform float b;\nuniform float a = b;\nvoid main() { gl_Position = vec4(a); }",
            "a",
            "initial value",
        ),
        (
            Stage::Geometry,
            "#version 330\nlayout(points) in;\nlayout(points, max_vertices = 1) out;\nvoid main() { gl_Position = gl_in[0].gl_Nothing; EmitVertex(); }",
            "gl_Nothing",
            "no such field",
        ),
        (
            Stage::Geometry,
            "#version 330\nlayout(points) in;\nlayout(points, max_vertices = 1) out;\nin vec4 a[];\nvoid main() { a[0] = vec4(1.0); EmitVertex(); }",
            "",
            "input",
        ),
        (Stage::Geometry, "#version 330\nvoid main() { }", "#version", "input layout primitive"),
        (Stage::Geometry, "#version 330\n#if X(\nvoid main() { }", "", ""),
    ];
    for (stage, source, place, text) in cases {
        let (at, what) = message(stage, source);
        assert!(what.contains(text), "{what}");
        assert!(at.starts_with(place), "`{at}` for {source}: {what}");
    }
}

#[test]
fn messages_behind_what_is_left_out_and_put_in() {
    let text = "#version 120
uniform float c[] = float[](0.5, 1.0);
float f() { return c[1]; };
void main() { gl_FragColor = vec4(f()) + nothing; }";
    assert_eq!(message(Stage::Fragment, text).0, "nothing");
}

#[test]
fn names_that_a_text_only_mentions_are_no_outputs() {
    let three = "#version 300 es
#define varying in
layout(location = 0) out highp vec4 pc_fragColor;
#define gl_FragColor pc_fragColor
precision highp float;
varying vec2 uv;
#ifdef NEVER
float a() { return gl_Color.x + gl_FragData[2].x; }
#endif
void main() { gl_FragColor = uv.xyxy; }
";
    let m = from_glsl(Stage::Fragment, three);
    assert_eq!(m.outputs.values().map(|o| &*o.name).collect::<Vec<_>>(), ["pc_fragColor"]);
    assert_eq!(m.inputs.values().map(|i| &*i.name).collect::<Vec<_>>(), ["uv"]);
    // So does what a macro names.
    let three = "#define colour gl_FragData[0]\n#define normal gl_FragData[2]\nvoid main() { colour = vec4(1.0); normal = vec4(2.0); }";
    let m = from_glsl(Stage::Fragment, three);
    assert_eq!(m.outputs.values().map(|o| &*o.name).collect::<Vec<_>>(), ["gl_FragData[0]", "gl_FragData[1]", "gl_FragData[2]"]);
    let two = "void main() { gl_FragData[0] = vec4(1.0); gl_FragData[1] = vec4(2.0); }";
    assert_eq!(from_glsl(Stage::Fragment, two).outputs.len(), 2);
}

#[test]
fn calls_follow_the_rules_of_the_text_s_version() {
    let text = |version: u32| {
        format!(
            "#version {version}\nfloat f(float a) {{ return 1.0; }}\nfloat f(uint a) {{ return 2.0; }}\nout vec4 o;\nvoid main() {{ o = vec4(f(3)); }}"
        )
    };
    for version in [130, 150, 330] {
        let m = from_glsl(Stage::Fragment, &text(version));
        assert_eq!(floats(&run(&m, Vec::new(), Vec::new())[0]), [1.0; 4], "{version}");
    }
    // Integers become unsigned ones since 4.00.
    for version in [400, 450] {
        assert!(message(Stage::Fragment, &text(version)).1.contains("ambiguous"), "{version}");
    }
}

#[test]
fn lines_go_on_behind_a_backslash() {
    for version in ["110", "120", "330", "400", "450", "300 es", "310 es"] {
        let text = format!(
            "#version {version}\r\n#define TWO \\\r\n    2.0\r\nprecision highp float;\r\n#define OUT {}\r\nvoid main() {{ OUT = vec4(TWO); }}\r\n",
            "o"
        );
        let text = text.replace(
            "void main",
            "#if __VERSION__ < 130\r\n#undef OUT\r\n#define OUT gl_FragColor\r\n#else\r\nout vec4 o;\r\n#endif\r\nvoid main",
        );
        let m = from_glsl(Stage::Fragment, &text);
        assert_eq!(floats(&run(&m, Vec::new(), Vec::new())[0]), [2.0; 4], "{version}");
    }
}

#[test]
fn functions_defined_anew() {
    // A function takes the place of the language's for its types alone; one that only a later version has is the text's own.
    let text = "#version 330
in vec4 a; out vec4 o;
float abs(float x);
float abs(float x) { return x > 0.0 ? 7.0 : 9.0; }
vec3 mix(vec3 a, vec3 b, float t) { return a; }
void main() { o = vec4(abs(a.x), abs(a.yz), abs(-3)) + vec4(mix(a.xyz, vec3(2.0), 0.5), mix(a.w, 1.0, 0.25)); }";
    let m = from_glsl(Stage::Fragment, text);
    assert_eq!(floats(&run(&m, vec![words(&[-1.0, -2.0, 3.0, 4.0])], Vec::new())[0]), [8.0, 0.0, 6.0, 6.25]);
    for version in ["#version 110", "#version 100\nprecision mediump float;"] {
        let text = format!(
            "{version}
varying vec3 a;
float round(float x) {{ return floor(x + 0.5) * 10.0; }}
mat2 transpose(in mat2 m) {{ return mat2(m[0][0], m[1][0], m[0][1], m[1][1]); }}
vec4 texture(sampler2D t, vec2 at) {{ return texture2D(t, at); }}
void main() {{ gl_FragColor = vec4(round(a.x), transpose(mat2(1.0, 2.0, 3.0, 4.0))[0], 0.0); }}"
        );
        let m = from_glsl(Stage::Fragment, &text);
        assert_eq!(floats(&run(&m, vec![words(&[1.75, 0.0, 0.0])], Vec::new())[0]), [20.0, 1.0, 3.0, 0.0], "{version}");
    }
    // OpenGL ES redefines nothing.
    let es =
        "#version 300 es\nprecision mediump float;\nout vec4 o;\nfloat abs(float x) { return 1.0; }\nvoid main() { o = vec4(abs(1.0)); }";
    assert!(message(Stage::Fragment, es).1.contains("precision"));
}

#[test]
fn arrays_of_the_language_have_all_elements_that_are_named() {
    let shown = |m: &Module| m.outputs.values().map(shown).collect::<Vec<_>>();
    let m = from_glsl(Stage::Fragment, "void main() { for (int i = 0; i < 3; i++) gl_FragData[i] = vec4(float(i)); }");
    assert_eq!(m.outputs.len(), 8, "an index is no number");
    let of = run(&m, Vec::new(), Vec::new());
    assert_eq!([0, 1, 2].map(|n| floats(&of[n])[0]), [0.0, 1.0, 2.0]);
    let text = "#define K 2\nconst int last = 1;\nvoid main() { gl_FragData[K] = gl_TexCoord[last]; gl_FragData[0] = vec4(1.0); }";
    let m = from_glsl(Stage::Fragment, text);
    assert_eq!((shown(&m).len(), m.inputs.len()), (3, 2), "names of numbers");
    // A length that the first value gives.
    let text = "#version 120
uniform float c[] = float[](0.5, 1.0 + max(1.0, 2.0));
uniform int i;
void main() { gl_Position = vec4(c[i], gl_DepthRange.far, 0.0, 1.0); }";
    let m = from_glsl(Stage::Vertex, text);
    let count = |name: &str| m.uniforms.values().find(|u| u.name == name).and_then(|u| Some(u.dims.first()?.count));
    assert_eq!(count("c"), Some(2));
    assert!(uniform_names(&m).contains(&"gl_DepthRange.far"));
}

#[test]
fn distances_are_no_varyings_in_any_version() {
    for head in ["#version 130\n#extension GL_ARB_cull_distance : require", "#version 450 compatibility", "#version 450"] {
        let text =
            format!("{head}\nout float gl_CullDistance[1];\nin vec4 p;\nvoid main() {{ gl_Position = p; gl_CullDistance[0] = p.x; }}");
        let m = from_glsl(Stage::Vertex, &text);
        assert!(m.outputs.values().any(|d| shown(d) == "cull_distances"), "{head}");
    }
    let geometry = |count: u32, member: &str| {
        format!(
            "#version 150
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
in gl_PerVertex {{ vec4 gl_Position; float gl_ClipDistance[{count}]; }} gl_in[];
out float v;
void main() {{ v = {member}; gl_Position = gl_in[0].gl_Position; EmitVertex(); }}"
        )
    };
    from_glsl(Stage::Geometry, &geometry(1, "gl_in[1].gl_ClipDistance[0]"));
    let text = message(Stage::Geometry, &geometry(2, "gl_in[1].gl_ClipDistance[1]")).1;
    assert!(text.contains("one of each vertex, not 2"), "{text}");
}

#[test]
fn textures_in_structures() {
    let text = |index: &str| {
        format!(
            "#version 400
struct S {{ sampler2D t; vec4 k; }};
uniform S s[2]; uniform sampler2D q; uniform int n; in vec2 uv; out vec4 c;
vec4 f(S a, vec2 p) {{ return texture(a.t, p) * a.k; }}
void main() {{ c = f(s[0], uv) + texture(s[{index}].t, uv) + texture(q, uv) * float(n); }}"
        )
    };
    let m = from_glsl(Stage::Fragment, &text("1"));
    assert_eq!(uniform_names(&m), ["s[].k", "n"], "no place of a texture among the uniforms");
    let bindings: std::collections::BTreeSet<_> = m.textures.values().map(|t| t.binding).collect();
    assert_eq!((m.textures.len(), bindings.len()), (3, 3), "each has a binding of its own");
    let shown = message(Stage::Fragment, &text("n")).1;
    assert!(shown.contains("an index that is no number"), "{shown}");
}

/// A structure needs no name.
#[test]
fn textures_in_structures_without_a_name() {
    for version in ["150", "450"] {
        let text = format!(
            "#version {version}
in vec2 uv;
out vec4 c;
uniform struct {{ sampler2D image; int size; }} m;
uniform struct {{ float k; float l; }} p;
void main() {{ struct {{ float x; }} s; s.x = p.k + p.l; c = texture(m.image, uv) * float(m.size) * s.x; }}
"
        );
        let m = from_glsl(Stage::Fragment, &text);
        let uniforms: Vec<&str> = m.uniforms.values().map(|u| u.name.as_str()).collect();
        assert_eq!((m.textures.len(), uniforms), (1, vec!["m.size", "p.k", "p.l"]), "{}", retroshade_ir::print(&m));
    }
}

/// The name that it gets moves no place.
#[test]
fn places_behind_structures_without_a_name() {
    let text = "#version 450\nout vec4 c;\nvoid main() { struct { float a; } p; struct { float a; } q; c = vec4(undefined); p.a = 1.0; }\n";
    assert_eq!(message(Stage::Fragment, text).0, "undefined");
}

#[test]
fn counters_have_their_bindings() {
    let text = |version: &str| {
        format!(
            "#version {version}
layout(local_size_x = 1) in;
layout(binding = 0, offset = 4) uniform atomic_uint a;
layout(binding = 2) uniform atomic_uint c;
layout(std430, binding = 1) buffer Q {{ uint q[2]; }};
void main() {{ q[0] = atomicCounterDecrement(c); q[1] = atomicCounterIncrement(a); }}"
        )
    };
    for version in ["430", "310 es"] {
        let m = from_glsl(Stage::Compute, &text(version));
        let binding = |name: &str| m.storage.values().find(|s| s.name == name).map(|s| s.binding);
        assert_eq!((binding("a"), binding("c"), binding("q")), (Some(0), Some(2), Some(1)), "{version}");
        let before = m.storage.values().map(|s| if s.name == "q" { vec![0; 2] } else { vec![5; 2] }).collect();
        let after = run_compute(&m, before, Vec::new(), [1, 1, 1]);
        let of = |name: &str| after[m.storage.values().position(|s| s.name == name).expect("a buffer")].clone();
        assert_eq!((of("a")[1], of("c")[0], of("q")), (6, 4, vec![4, 5]), "{version}");
    }
}

#[test]
fn a_semicolon_behind_a_function_is_nothing() {
    for version in ["", "#version 330", "#version 300 es\nprecision mediump float;"] {
        let output = if version.is_empty() { "#define c gl_FragColor" } else { "out vec4 c;" };
        let text = format!(
            "{version}\n{output}\nstruct S {{ float x; }};\nfloat f() {{ if (true) {{ }}; return S(2.0).x; }};\nvoid main() {{ c = vec4(f()); }};"
        );
        assert_eq!(floats(&run(&from_glsl(Stage::Fragment, &text), Vec::new(), Vec::new())[0])[0], 2.0, "{version}");
    }
}

#[test]
fn what_is_always_defined() {
    let text = "#if defined(__VERSION__) && defined __LINE__ && __VERSION__ >= 130
#ifdef __FILE__
out vec4 c;
#ifndef __VERSION__
nothing
#endif
#ifdef GL_compatibility_profile
void main() { c = vec4(3.0); }
#else
void main() { c = vec4(2.0); }
#endif
#endif
#endif";
    for (version, want) in [("#version 150 compatibility", 3.0), ("#version 130", 2.0), ("#version 450", 2.0)] {
        let text = format!("{version}\n{text}");
        assert_eq!(floats(&run(&from_glsl(Stage::Fragment, &text), Vec::new(), Vec::new())[0])[0], want, "{version}");
    }
}

#[test]
fn lines_are_counted_as_the_text_says() {
    let text = "#define FIRST 40
#line FIRST 7
void main() {
  gl_FragColor = vec4(__LINE__, __FILE__, 0, 0);
#line 3
  gl_FragColor.z = float(__LINE__);
  gl_FragColor.w = nothing; }";
    let right = text.replace("nothing", "1.0");
    assert_eq!(floats(&run(&from_glsl(Stage::Fragment, &right), Vec::new(), Vec::new())[0]), [41.0, 7.0, 3.0, 1.0]);
    // Messages keep to the text as it is.
    assert_eq!(message(Stage::Fragment, text).0, "nothing");
    for version in ["#version 110", "#version 300 es", "#version 330", "#version 450"] {
        let output = if version.ends_with("110") { "#define c gl_FragColor" } else { "out highp vec4 c;" };
        let text = format!("{version}\n{output}\nvoid main() {{ c = vec4(float(__LINE__)); }}")
            .replace("450\nout", "450\nlayout(location = 0) out");
        assert_eq!(floats(&run(&from_glsl(Stage::Fragment, &text), Vec::new(), Vec::new())[0])[0], 3.0, "{version}");
    }
}

#[test]
fn blocks_of_an_array_have_a_binding_each() {
    let text = "#version 150
uniform A { float x; } a[3];
uniform B { float y; } b;
out vec4 c;
void main() { c = vec4(a[1].x, b.y, a[2].x, 0.0); }";
    let m = from_glsl(Stage::Fragment, text);
    let bindings: Vec<_> = m.uniforms.values().map(|u| (&*u.name, u.binding)).collect();
    assert_eq!(bindings, [("a[0].x", 0), ("a[1].x", 1), ("a[2].x", 2), ("b.y", 3)]);
    let text = "#version 450
layout(local_size_x = 1) in;
layout(binding = 1) buffer A { float x; } a[3];
layout(binding = 7) uniform sampler2D t[2];
buffer B { float y; } b;
void main() { b.y = a[2].x + textureLod(t[1], vec2(0.5), 0.0).x; }";
    let m = from_glsl(Stage::Compute, text);
    assert_eq!(m.storage.values().map(|s| s.binding).max(), Some(9));
}

#[test]
fn functions_of_small_numbers_belong_to_the_text_s_version() {
    let text = "#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(location = 0) in float a; layout(location = 0) out vec4 c;
void main() { c = vec4(float(exp2(float16_t(a)))); }";
    let m = from_glsl(Stage::Fragment, text);
    assert!(floats(&run(&m, vec![words(&[20.0])], Vec::new())[0])[0].is_infinite(), "a half has no 2^20");
}

/// Names of old functions are anybody's where the text defines them, and in later versions.
#[test]
fn old_functions_names_may_be_macros() {
    let text = "#version 300 es
precision highp float;
#ifdef texture2DLodEXT
#define A 1.0
#else
#define A 2.0
#endif
#define texture2DLod textureLod
#define texture2DLodEXT texture2DLodEXT_is_no_longer_there
#define texture2DGradEXT 9.0
#ifdef textureGrad
#define B 3.0
#else
#define B 4.0
#endif
struct S { float texture2DProj; };
uniform sampler2D t;
out vec4 o;
void main() {
    S textureCubeLod = S(6.0);
    o = vec4(A, B, textureCubeLod.texture2DProj, texture2DGradEXT) + texture2DLod(t, vec2(0.5), 0.0) * 0.0;
}
";
    let m = from_glsl(Stage::Fragment, text);
    assert_eq!(m.textures.len(), 1);
    let old = "#define texture2DLodEXT(s, p, l) vec4(0.5, 1.0, 2.0, l)
void main() { gl_FragColor = texture2DLodEXT(0, vec2(0.5), 3.0); }
";
    let m = from_glsl(Stage::Fragment, old);
    assert_eq!(floats(&run(&m, Vec::new(), Vec::new())[0]), [0.5, 1.0, 2.0, 3.0]);
}

/// Definitions that the preprocessor skips define nothing.
#[test]
fn old_functions_stay_where_their_definition_is_skipped() {
    for (text, lod) in [
        (
            "#version 120\n#if __VERSION__ >= 130\n#define texture2D texture\n#endif\nuniform sampler2D s;\nvoid main() { gl_FragColor = texture2D(s, vec2(0.5)); }\n",
            false,
        ),
        (
            "#version 120\n#ifdef GL_ES\n#define texture2DLod texture2DLodEXT\n#endif\nuniform sampler2D s;\nvoid main() { gl_FragColor = texture2DLod(s, vec2(0.5), 1.0); }\n",
            true,
        ),
    ] {
        let m = from_glsl(Stage::Fragment, text);
        assert_eq!(retroshade_ir::print(&m).contains("sample level"), lod, "{}", retroshade_ir::print(&m));
    }
    // A mistake elsewhere is told as it is.
    let text = "#define texture2D(s, p) vec4(1.0)\nvoid main() { gl_FragColor = texture2D(0, vec2(0.5)) + wrong; }\n";
    let (place, said) = message(Stage::Fragment, text);
    assert!(said.contains("`wrong`"), "{place} {said}");
}

#[test]
fn colours_of_several_targets_are_not_read() {
    for c in ["inout vec4 c[2]", "inout vec4[2] c"] {
        let text = format!(
            "#version 300 es\n#extension GL_EXT_shader_framebuffer_fetch : require\nprecision highp float;\nlayout(location = 0) {c};\nvoid main() {{ c[0].x += 0.5; }}\n"
        );
        let (place, said) = message(Stage::Fragment, &text);
        assert!(place == "inout" && said.contains("its first target only"), "{place} {said}");
    }
}

/// A pragma that is not whole is passed over; glslang refuses it.
#[test]
fn pragmas_that_are_not_whole_say_nothing() {
    for pragma in ["STDGL", "STDGL invariant", "STDGL invariant(", "STDGL invariant ( all )"] {
        let text = format!("#version 450\n#pragma {pragma}\nin vec4 p;\nvoid main() {{ gl_Position = p * 2.0 + 1.0; }}\n");
        assert_eq!(from_glsl(Stage::Vertex, &text).outputs.len(), 1, "{pragma}");
    }
}

/// `#define NAME;` defines a semicolon; glslang leaves it out.
#[test]
fn a_definition_needs_no_blank() {
    let text = "#version 100
precision highp float;
#define SHOW;
#define MINUS-1.0
#define F(x) x
void main() {
    gl_FragColor = vec4(0.25);
#ifdef SHOW
    gl_FragColor = vec4(F(3.0) MINUS) SHOW
#endif
}
";
    assert_eq!(floats(&run(&from_glsl(Stage::Fragment, text), Vec::new(), Vec::new())[0])[0], 2.0);
}

/// Words that later versions reserve, and functions that the program has for itself.
#[test]
fn names_of_later_versions() {
    let text = "#version 120
uniform sampler2D image2D, usampler3D;
float sampler2DMS = 2.0;
vec4 filter(vec2 iimageCube) { return texture2D(image2D, iimageCube) + texture2D(usampler3D, iimageCube); }
float dFdx(float a) { return a * 2.0; }
void main() { vec2 v = fwidth(vec2(1.0)); gl_FragColor = vec4(dFdx(3.0), v.x, sampler2DMS, 1.0) + 0.0 * filter(v); }
";
    let m = from_glsl(Stage::Fragment, text);
    assert_eq!(m.textures.len(), 2);
    let later = "#version 130\nfloat filter(float x) { return x; }\nvoid main() { gl_FragColor = vec4(filter(1.0)); }\n";
    assert!(message(Stage::Fragment, later).1.contains("filter"));
    let text = "#version 120
attribute vec4 p;
float dFdx(float a) { return a * 2.0; }
void main() { gl_Position = p * dFdx(1.5); }
";
    from_glsl(Stage::Vertex, text);
    let text = "#version 120\n#if 0\n#define ftransform f\n#endif\nvoid main() { gl_FragColor = vec4(1.0); }\n";
    from_glsl(Stage::Fragment, text);
}

/// Each old function is its own, whatever today's name of it is.
#[test]
fn macros_with_old_functions_names_catch_no_others() {
    let reads = |text: &str| {
        let ir = retroshade_ir::print(&from_glsl(Stage::Fragment, text));
        ir.lines().filter(|l| l.contains("= tex.")).map(|l| l.split_once("= ").map_or("", |l| l.1).to_string()).collect::<Vec<_>>()
    };
    let skipped = "#version 120
#ifdef GL_ES
#define texture2DLod texture2DLodEXT
#endif
uniform sampler2D s; uniform vec2 size;
#define texture2DRect(s, p) texture2D(s, (p) / size)
void main() { gl_FragColor = texture2DRect(s, vec2(4.0)) + texture2D(s, vec2(0.5)) + texture2DLod(s, vec2(0.5), 1.0); }
";
    assert_eq!(reads(skipped).len(), 3);
    let later = "#version 120
uniform sampler2D s; uniform samplerCube t;
vec4 q() { return texture2D(s, vec2(0.5)); }
#define texture2D(a, b) vec4(0.25)
void main() { gl_FragColor = q() + textureCube(t, vec3(0.5)) + texture2D(s, vec2(0.5)); }
";
    assert_eq!(reads(later), ["tex.f32x4 sample %s, v0", "tex.f32x4 sample %t, v2"]);
    let itself = "#version 120
uniform sampler2D s; uniform samplerCube t;
#define texture2D(a, b) texture2D(a, (b) * 2.0)
void main() { gl_FragColor = texture2D(s, vec2(0.5)) + textureCube(t, vec3(0.5)); }
";
    assert_eq!(reads(itself).len(), 2);
}

/// The usual stand-in for what an extension has.
#[test]
fn functions_stay_the_language_s_where_their_stand_in_is_skipped() {
    for text in [
        "#version 100
#extension GL_OES_standard_derivatives : enable
precision highp float;
varying float v;
#ifndef GL_OES_standard_derivatives
float fwidth(float x) { return 1.0; }
#endif
void main() { gl_FragColor = vec4(fwidth(v)); }
",
        "#version 130
#if __VERSION__ < 130
float round(float x) { return floor(x + 0.5); }
#endif
void main() { gl_FragColor = vec4(round(1.25)); }
",
    ] {
        from_glsl(Stage::Fragment, text);
    }
}

/// Types stand for themselves in `precision` and where a parameter has no name.
#[test]
fn types_of_later_versions_are_types() {
    for text in [
        "#version 310 es
#extension GL_OES_texture_cube_map_array : require
precision highp float;
precision highp samplerCubeArray;
uniform samplerCubeArray s;
vec4 f(vec4, samplerCubeArray);
out vec4 o;
void main() { o = f(vec4(0.5), s); }
vec4 f(vec4 p, samplerCubeArray s) { return texture(s, p); }
",
        "#version 120
#extension GL_EXT_texture_array : enable
vec4 f(vec3, sampler2DArray, float);
uniform sampler2DArray s;
void main() { gl_FragColor = f(vec3(0.5), s, 1.0); }
vec4 f(vec3 p, sampler2DArray s, float x) { return texture2DArray(s, p) * x; }
",
    ] {
        assert_eq!(from_glsl(Stage::Fragment, text).textures.len(), 1);
    }
}

#[test]
fn opengl_es_has_no_extensions_of_the_desktops() {
    for (head, colour) in [("#version 100\n", "gl_FragColor"), ("#version 300 es\n", "o")] {
        let output = if colour == "o" { "out vec4 o;\n" } else { "" };
        let text = format!(
            "{head}precision highp float;
{output}void main() {{
  vec4 c = vec4(1.0);
#if defined(GL_ARB_gpu_shader5) || defined GL_EXT_gpu_shader4
  c.x = 0.0;
#endif
#ifdef GL_NV_gpu_shader5
  c.y = 0.0;
#endif
#ifndef GL_ARB_shading_language_420pack
  c.z = 2.0;
#endif
#ifdef GL_OES_standard_derivatives
  c.w = 3.0;
#endif
  {colour} = c;
}}
"
        );
        assert_eq!(floats(&run(&from_glsl(Stage::Fragment, &text), Vec::new(), Vec::new())[0])[..3], [1.0, 1.0, 2.0], "{head}");
    }
    // What a text defines itself is defined, and a text without a version may be either.
    for head in [
        "#version 120\n#define GL_OES_own 1\n#ifdef GL_OES_own\n#define HAS\n#endif\n",
        "precision mediump float;\n#ifdef GL_FRAGMENT_PRECISION_HIGH\n#define HAS\n#endif\n",
    ] {
        let text = format!("{head}void main() {{\n#ifdef HAS\ngl_FragColor = vec4(3.0);\n#endif\n}}\n");
        assert_eq!(floats(&run(&from_glsl(Stage::Fragment, &text), Vec::new(), Vec::new())[0])[0], 3.0, "{head}");
    }
    // And the desktop has none of OpenGL ES's.
    let text = "#version 120
void main() {
    gl_FragColor = vec4(1.0);
#if defined(GL_OES_standard_derivatives) || defined(GL_FRAGMENT_PRECISION_HIGH)
    gl_FragColor = vec4(2.0);
#endif
}
";
    assert_eq!(floats(&run(&from_glsl(Stage::Fragment, text), Vec::new(), Vec::new())[0])[0], 1.0);
}

#[test]
fn attributes_belong_to_vertex_programs() {
    let text = "attribute vec4 a; void main() { gl_FragColor = a; }";
    let options = FrontOptions { stage: Some(Stage::Fragment), ..FrontOptions::default() };
    assert!(glsl("x.frag", text, &options).is_err());
    from_glsl(Stage::Vertex, "attribute vec4 a; void main() { gl_Position = a; }");
}

#[test]
fn structures_with_truth_values_are_compared_with_what_blocks_hold() {
    let m = from_glsl(
        Stage::Fragment,
        "#version 450
struct S { bool a; bvec3 b; bool c[2]; };
layout(binding = 0) uniform B { S u; };
layout(location = 0) out vec4 o;
layout(location = 1) out vec2 p;
void main() {
    S same = S(true, bvec3(false, true, true), bool[2](true, false));
    S other = same;
    other.c[1] = true;
    // The kind of the left side decides which comparison glslang takes.
    o = vec4(u == same, u != same, other == u, same.b == u.b);
    p = vec2(same == u, other != u);
}
",
    );
    // What is not 0 is true.
    let uniforms = vec![vec![7], vec![0, 1, 2], vec![3, 0]];
    let out = run(&m, vec![], uniforms);
    assert_eq!(floats(&out[0]), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(floats(&out[1]), [1.0, 1.0]);
}
