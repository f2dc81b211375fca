//! Programs of one pipeline that are compiled one by one: names decide in OpenGL's GLSL, and what does not fit is said.

use retroshade::frontend::{FrontOptions, glsl, wgsl};
use retroshade::ir::Stage;
use retroshade::ir::module::Binding;
use retroshade::{Module, link};

const VERTEX: &str = "attribute vec4 position;
varying vec3 normal;
varying vec2 uv[2];
varying vec4 tint;
void main() { gl_Position = position; normal = position.xyz; uv[0] = position.xy; uv[1] = position.zw; tint = position.wzyx; }
";

fn fragment(declarations: &str, value: &str, varyings: Vec<(String, u32)>) -> Module {
    let text = format!("precision mediump float;\n{declarations}\nvoid main() {{ gl_FragColor = {value}; }}\n");
    let options = FrontOptions { stage: Some(Stage::Fragment), varyings, ..FrontOptions::default() };
    glsl("b.frag", &text, &options).unwrap_or_else(|e| panic!("{e}"))
}

fn vertex() -> Module {
    let options = FrontOptions { stage: Some(Stage::Vertex), ..FrontOptions::default() };
    glsl("a.vert", VERTEX, &options).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn inputs_take_the_locations_of_outputs_of_their_names() {
    let v = vertex();
    let given = link::varyings(&v);
    // Another order, and not all of them.
    let f = fragment("varying vec4 tint; varying vec2 uv[2];", "tint + vec4(uv[0], uv[1])", given.clone());
    for d in f.inputs.values() {
        let Binding::Location(at) = d.binding else { continue };
        assert!(given.contains(&(d.name.clone(), at)), "`{}` at {at}, but {given:?}", d.name);
    }
    assert!(link::check(&v, &f).is_empty());
    // By themselves the numbers go by the order of declaration, which is another one here.
    let alone = fragment("varying vec4 tint; varying vec2 uv[2];", "tint + vec4(uv[0], uv[1])", Vec::new());
    assert!(!link::check(&v, &alone).is_empty());
}

#[test]
fn what_nobody_writes_is_named() {
    let v = vertex();
    let f = fragment("varying vec4 tint; varying vec2 missing;", "tint + missing.xyxy", link::varyings(&v));
    let found = link::check(&v, &f);
    assert_eq!(found.len(), 1);
    assert!(found[0].message.contains("`missing`") && found[0].message.contains("`tint`") && !found[0].span.is_none(), "{}", found[0]);
    // What is declared and never read does no harm.
    let f = fragment("varying vec4 tint; varying vec2 missing;", "tint", link::varyings(&v));
    assert!(link::check(&v, &f).is_empty());
    // Too few lanes, and another kind of number.
    let f = fragment("varying vec4 normal;", "normal", link::varyings(&v));
    assert!(link::check(&v, &f)[0].message.contains("f32x4"), "{:?}", link::check(&v, &f));
}

#[test]
fn colours_of_the_compatibility_profile_have_two_names() {
    let options = |stage, varyings| FrontOptions { stage: Some(stage), varyings, ..FrontOptions::default() };
    let vertex = "void main() { gl_TexCoord[1] = gl_Vertex; gl_FrontColor = gl_Color; gl_FrontSecondaryColor = gl_SecondaryColor; gl_Position = ftransform(); }";
    let v = glsl("c.vert", vertex, &options(Stage::Vertex, Vec::new())).unwrap_or_else(|e| panic!("{e}"));
    let fragment = "void main() { gl_FragColor = gl_Color * gl_TexCoord[1] + gl_SecondaryColor; }";
    let f = glsl("c.frag", fragment, &options(Stage::Fragment, link::varyings(&v))).unwrap_or_else(|e| panic!("{e}"));
    assert!(link::check(&v, &f).is_empty(), "{:?}", link::check(&v, &f));
    // An array that is longer here than there does not take what stands behind it there.
    let vertex = "varying vec4 gl_TexCoord[2]; varying vec4 tint; void main() { gl_TexCoord[1] = tint = gl_Position = gl_Vertex; }";
    let v = glsl("d.vert", vertex, &options(Stage::Vertex, Vec::new())).unwrap_or_else(|e| panic!("{e}"));
    let fragment = "varying vec4 gl_TexCoord[3]; varying vec4 tint; void main() { gl_FragColor = gl_TexCoord[1] * tint; }";
    let f = glsl("d.frag", fragment, &options(Stage::Fragment, link::varyings(&v))).unwrap_or_else(|e| panic!("{e}"));
    assert!(link::check(&v, &f).is_empty(), "{:?}", link::check(&v, &f));
}

#[test]
fn structures_and_blocks_are_matched_part_by_part() {
    let load = |stage: Stage, text: &str, varyings: Vec<(String, u32)>| {
        let options = FrontOptions { stage: Some(stage), varyings, ..FrontOptions::default() };
        glsl("s", text, &options).unwrap_or_else(|e| panic!("{e}"))
    };
    let shared = "#version 330\nstruct Inner { mat2 turn[2]; vec3 shift; }; struct Light { Inner where; float power; };\n";
    let vertex = format!(
        "{shared}in vec4 p; out vec4 tint; out Light lights[2]; out Surface {{ vec2 uv; vec3 normal; }} surface;
        void main() {{
            gl_Position = p; tint = p.wzyx; surface.uv = p.xy; surface.normal = p.yzw;
            for (int n = 0; n < 2; n++) lights[n] = Light(Inner(mat2[2](mat2(p.x), mat2(p.y)), p.xyz), p.w);
        }}"
    );
    let fragment = format!(
        "{shared}in Surface {{ vec2 uv; vec3 normal; }} seen; in Light lights[2]; in vec4 tint; out vec4 c;
        void main() {{ c = tint * vec4(seen.uv, seen.normal.z, lights[1].power) + vec4(lights[0].where.turn[1][1], lights[1].where.shift.zz); }}"
    );
    let v = load(Stage::Vertex, &vertex, Vec::new());
    let f = load(Stage::Fragment, &fragment, link::varyings(&v));
    assert!(link::check(&v, &f).is_empty(), "{:?}", link::check(&v, &f));
    for d in f.inputs.values() {
        let written = v.outputs.values().find(|o| o.name == d.name).map(|o| o.binding);
        assert_eq!(written, Some(d.binding), "`{}`", d.name);
    }
}

/// The Khronos CTS has them in `linkage_geometry` and `linkage_io_block`.
#[test]
fn blocks_are_matched_by_their_own_names() {
    let load = |stage: Stage, text: &str, varyings: Vec<(String, u32)>| {
        let options = FrontOptions { stage: Some(stage), varyings, ..FrontOptions::default() };
        glsl("s", text, &options).unwrap_or_else(|e| panic!("{e}"))
    };
    let vertex = "#version 450
        in vec4 p; out A { float x; } a[2]; out B { float x; } b[2]; out C { float x; } c; out D { float x; } d; out float x;
        void main() { gl_Position = p; a[0].x = p.x; a[1].x = p.y; b[0].x = p.z; b[1].x = p.w; c.x = 1; d.x = 2; x = 3; }";
    let v = load(Stage::Vertex, vertex, Vec::new());
    let fragment = "#version 450
        in B { float x; } a[2]; in D { float x; } c; in A { float x; } other[2]; in C { float x; }; layout(location = 0) out vec4 o;
        void main() { o = vec4(a[0].x + a[1].x, c.x, other[0].x + other[1].x, x); }";
    let f = load(Stage::Fragment, fragment, link::varyings(&v));
    assert!(link::check(&v, &f).is_empty(), "{:?}", link::check(&v, &f));
    let linked = |m: &Module, input: bool| {
        let all = if input { &m.inputs.values().collect::<Vec<_>>() } else { &m.outputs.values().collect::<Vec<_>>() };
        let of = |d: &&retroshade::ir::module::IoDecl| Some((d.linked.clone()?, d.binding));
        let mut all: Vec<_> = all.iter().filter_map(of).collect();
        all.sort();
        all
    };
    assert_eq!(linked(&v, false), linked(&f, true));
    assert_eq!(linked(&f, true).iter().map(|l| &*l.0).collect::<Vec<_>>(), ["A[0].x", "A[1].x", "B[0].x", "B[1].x", "C.x", "D.x"]);
    // They stay what they are in the text of the IR.
    let again = retroshade::ir::parse("v.ir", &retroshade::ir::print(&v)).unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(link::varyings(&again), link::varyings(&v));
    // What is in no block is not what is in one.
    let f = load(
        Stage::Fragment,
        "#version 450\nin E { float x; }; layout(location = 0) out vec4 o; void main() { o = vec4(x); }",
        link::varyings(&v),
    );
    assert!(link::check(&v, &f)[0].message.contains("does not write"), "{:?}", link::check(&v, &f));
}

#[test]
fn wgsl_is_matched_by_location() {
    let text = "struct V { @builtin(position) p: vec4<f32>, @location(1) a: vec4<f32> }
        @vertex fn vs() -> V { var v: V; return v; }
        @fragment fn good(@location(1) b: vec4<f32>) -> @location(0) vec4<f32> { return b; }
        @fragment fn bad(@location(0) b: vec4<f32>) -> @location(0) vec4<f32> { return b; }";
    let load = |entry: &str| {
        let options = FrontOptions { entry: Some(entry.into()), ..FrontOptions::default() };
        wgsl("c.wgsl", text, &options).unwrap_or_else(|e| panic!("{e}"))
    };
    assert!(link::check(&load("vs"), &load("good")).is_empty());
    assert_eq!(link::check(&load("vs"), &load("bad")).len(), 1);
}
