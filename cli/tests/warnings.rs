//! What the command says about programs that compile, and `-W`.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::{Command, Output};

fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let f = std::env::temp_dir().join(format!("shaderc-warnings-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&f).unwrap();
    for (name, text) in files {
        std::fs::write(f.join(name), text).unwrap();
    }
    f
}

fn shaderc(folder: &PathBuf, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shaderc")).current_dir(folder).args(arguments).output().unwrap()
}

/// What a command that succeeds says on stderr.
fn says(folder: &PathBuf, arguments: &[&str]) -> String {
    let o = shaderc(folder, arguments);
    let text = String::from_utf8(o.stderr).unwrap();
    assert!(o.status.success(), "{arguments:?}: {text}");
    text
}

const UNSET: &str = "#version 450\nlayout(location = 0) out vec4 c;\nvoid main() {\n    float x;\n    c = vec4(x * 2.0);\n}\n";
const PARTLY: &str = "#version 450\nlayout(location = 0) in vec3 i;\nlayout(location = 0) out vec4 c;\nvoid main() {\n    c.xyz = i;\n}\n";
const UNUSED: &str = "#version 330\nuniform vec4 used, spare;\nuniform sampler2D image;\nout vec4 c;\nvoid main() { c = used; }\n";
const CLEAN: &str = "#version 330\nin vec2 uv; uniform vec4 tint; uniform sampler2D image; out vec4 c;\n\
                     void main() { vec4 t = vec4(0.0); for (int i = 0; i < 4; i++) { vec4 s; s = texture(image, uv * float(i)); t += s; } c = t * tint; }\n";

#[test]
fn values_that_were_never_set() {
    let f = folder("unset", &[("a.frag", UNSET), ("b.frag", PARTLY)]);
    let text = says(&f, &["-t", "tesla", "-o", "a.o", "a.frag"]);
    assert!(text.starts_with("a.frag:5:") && text.contains("warning[W0001]"), "{text}");
    let text = says(&f, &["-t", "tesla", "-o", "b.o", "b.frag"]);
    assert!(text.contains("warning[W0001]: component w of the output `c`"), "{text}");
}

#[test]
fn bindings_that_nobody_reads() {
    let wgsl = "@group(0) @binding(0) var<uniform> u: vec4<f32>;\n@group(0) @binding(3) var<storage, read> b: array<u32>;\n\
                @fragment fn main() -> @location(0) vec4<f32> { return vec4(1.0); }\n";
    let f = folder("unused", &[("a.frag", UNUSED), ("a.wgsl", wgsl), ("clean.frag", CLEAN)]);
    let text = says(&f, &["-t", "tesla", "-o", "a.o", "a.frag"]);
    assert!(text.contains("warning[W0002]: the uniform `spare` is declared and not used"), "{text}");
    assert!(text.contains("the texture `image`") && !text.contains("`used`"), "{text}");
    // A WGSL module holds the bindings of several programs: each has only its own.
    assert_eq!(says(&f, &["-t", "tesla", "-o", "w.o", "a.wgsl"]), "");
    // Once, whatever the number of targets; and nothing about a program without fault.
    assert_eq!(says(&f, &["-t", "tesla,usse,r700", "-o", "out", "a.frag"]).matches("`spare`").count(), 1);
    assert_eq!(says(&f, &["-t", "tesla", "-o", "c.o", "clean.frag"]), "");
    // Blocks of one array are used if one of them is.
    let array = "struct S { float4 a; };\nConstantBuffer<S> c[2];\nfloat4 main() : SV_Target { return c[1].a; }\n";
    std::fs::write(f.join("a.frag.hlsl"), array).unwrap();
    assert_eq!(says(&f, &["-t", "tesla", "-o", "c.o", "a.frag.hlsl"]), "");
}

#[test]
fn precision_and_layouts_that_cannot_be_had() {
    let high = "#version 300 es\n// highp in a comment\nprecision highp float;\nin vec4 p;\nvoid main() { gl_Position = p; }\n";
    let rows = "#version 450\nlayout(location = 0) in vec4 p;\nlayout(std140, binding = 0, row_major) uniform U { mat4 m; } u;\n\
                void main() { gl_Position = u.m * p; }\n";
    let f = folder("precision", &[("a.vert", high), ("rows.vert", rows)]);
    let text = says(&f, &["-t", "pica", "-o", "a.shbin", "a.vert"]);
    assert!(text.starts_with("a.vert:3:11: warning[W0003]: `highp` cannot be kept"), "{text}");
    assert!(!says(&f, &["-t", "tesla", "-o", "a.o", "a.vert"]).contains("W0003"));
    assert!(says(&f, &["-t", "tesla", "--relaxed-precision", "-o", "a.o", "a.vert"]).contains("warning[W0003]: `--relaxed-precision`"));
    let text = says(&f, &["-t", "pica", "--matrix-layout", "column", "-o", "r.shbin", "rows.vert"]);
    assert!(text.contains("warning[W0004]: `u.m` is row_major in the source"), "{text}");
    let columns = rows.replace("row_major", "column_major");
    let g = folder("columns", &[("columns.vert", &columns)]);
    let text = says(&g, &["-t", "pica", "-o", "c.shbin", "columns.vert"]);
    assert!(text.starts_with("columns.vert:3:") && text.contains("warning[W0004]: `column_major` has no effect"), "{text}");
    assert_eq!(says(&g, &["-t", "pica", "--matrix-layout", "column", "-o", "c.shbin", "columns.vert"]), "");
    assert_eq!(says(&g, &["-t", "tesla", "-o", "c.o", "columns.vert"]), "");
    assert!(says(&f, &["-t", "usse", "--matrix-layout", "row", "-o", "r.gxp", "rows.vert"]).contains("W0004"));
}

#[test]
fn blocks_of_one_binding() {
    let text = "#version 450\nlayout(std140, binding = 3) uniform A { vec4 x; };\nlayout(std140, binding = 3) uniform B { uvec4 y; };\n\
                layout(std140, binding = 4) uniform C { vec4 z; };\nlayout(location = 0) out vec4 c;\nvoid main() { c = x + vec4(y) + z; }\n";
    let f = folder("shared", &[("s.frag", text)]);
    let said = says(&f, &["-t", "tesla", "-o", "s.o", "s.frag"]);
    assert_eq!(said.matches("warning").count(), 1, "{said}");
    assert!(said.starts_with("s.frag:3:") && said.contains("W0004]: the uniform blocks `A` and `B` have one binding, 3"), "{said}");
    // A container has one block to a buffer; the default buffer has all of them, one behind the other.
    assert!(says(&f, &["-t", "usse", "-o", "s.gxp", "s.frag"]).contains("W0004"));
    let o = shaderc(&f, &["-t", "usse", "--uniform-buffers", "-o", "b.gxp", "s.frag"]);
    let text = String::from_utf8(o.stderr).unwrap();
    assert!(o.status.code() == Some(1) && text.contains("U0100]: the blocks `A` and `B` are both uniform buffer 3"), "{text}");
}

/// What two stages declare under one name must be one thing; what only one of them has, or has elsewhere, may be anything.
#[test]
fn stages_that_share_a_name() {
    let vertex = "#version 330\nlayout(std140) uniform Scene { mat4 mvp; vec4 eye; };\nuniform vec4 tint;\nuniform sampler2D map;\nuniform float w[4];\nuniform vec2 own;\n\
                  in vec4 p; out vec2 uv;\nvoid main() { gl_Position = mvp * p + tint + eye + w[1]; uv = texture(map, p.xy).xy + own; }\n";
    let fragment = "#version 330\nlayout(std140) uniform Scene { mat4 mvp; vec3 eye; float fog; };\nuniform vec3 tint;\nuniform sampler3D map;\nuniform float w[8];\n\
                    uniform float alone;\nin vec2 uv; out vec4 c;\nvoid main() { c = vec4(tint + eye, fog) + texture(map, uv.xyx) + w[2] + alone; }\n";
    let alike = fragment.replace("vec3 eye; float fog", "vec4 eye").replace("vec3 tint", "vec4 tint").replace("sampler3D", "sampler2D");
    let alike = alike.replace("w[8]", "w[4]").replace("vec4(tint + eye, fog)", "tint + eye").replace("uv.xyx", "uv");
    let f = folder("shared_names", &[("a.vert", vertex), ("a.frag", fragment), ("b.frag", &alike)]);
    let want = [
        "a.frag:3:14: warning[W0006]: the fragment program declares the uniform `tint` as f32x3, the vertex program as f32x4",
        "a.frag:5:15: warning[W0006]: the fragment program declares the uniform `w` as f32[8], the vertex program as f32[4]",
        "a.frag:4:19: warning[W0006]: the fragment program declares the texture `map` as 3d, the vertex program as 2d",
        "a.frag:2:24: warning[W0006]: the fragment program declares the block `Scene` with `eye` at byte 64 as f32x3, the vertex program with `eye` at byte 64 as f32x4",
    ];
    for (output, after, files) in [("out/", None, &["a.vert", "a.frag"][..]), ("a.o", Some("a.vert"), &["a.frag"])] {
        let mut args = vec!["-t", "tesla", "-o", output];
        args.extend(after.iter().flat_map(|a| ["--after", a]));
        args.extend(files);
        let said = says(&f, &args);
        let lines: Vec<&str> = said.lines().filter(|l| l.contains("warning")).collect();
        assert_eq!(lines, want, "{said}");
        args.push("-Wno-shared");
        assert_eq!(says(&f, &args), "");
    }
    assert_eq!(says(&f, &["-t", "tesla", "-o", "out/", "a.vert", "b.frag"]), "");
}

#[test]
fn initial_values() {
    let first = "#version 330\nuniform float x = 0.5;\nuniform bool on = true;\nstruct S { int n; vec2 p[2]; };\n\
                 uniform S s = S(3, vec2[](vec2(1.0, 2.0), vec2(4.0))), t;\nuniform mat2 m = mat2(1.0, 2.0, 3.0, 4.0);\nout vec4 c;\n\
                 void main() { c = vec4(x, on ? 1.0 : 0.0, s.p[1].x + float(s.n), m[1][0]) + vec4(t.p[0], 0.0, 0.0); }\n";
    let f =
        folder("initial", &[("a.frag", first), ("b.json", r#"{"uniforms": {"x": 2.0, "t.p": [[10, 20], [0, 0]]}, "invocations": [{}]}"#)]);
    let text = says(&f, &["-t", "tesla", "-o", "a.o", "a.frag"]);
    assert!(text.starts_with("a.frag:2:15: warning[W0005]: the container does not hold the initial value of `x`"), "{text}");
    assert_eq!(says(&f, &["-t", "tesla", "-Wno-initial", "-o", "a.o", "a.frag"]), "");
    let o = shaderc(&f, &["-t", "tesla", "--emit", "reflect", "a.frag"]);
    let r: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
    let of = |name: &str| r["uniforms"].as_array().unwrap().iter().find(|u| u["name"] == name).unwrap()["initial"].clone();
    let want =
        [("x", "[0.5]"), ("on", "[true]"), ("s.n", "[3]"), ("s.p", "[1.0,2.0,4.0,4.0]"), ("m", "[1.0,2.0,3.0,4.0]"), ("t.p", "null")];
    for (name, initial) in want {
        assert_eq!(of(name).to_string(), initial, "{name}");
    }
    // What the bind file leaves out has its initial value.
    let o = shaderc(&f, &["run", "--bind", "b.json", "a.frag"]);
    let text = String::from_utf8(o.stdout).unwrap();
    let values: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&o.stderr)));
    assert_eq!(values["invocations"][0]["outputs"]["c"].to_string(), "[12.0,21.0,7.0,3.0]");
}

#[test]
fn integers_that_are_interpolated() {
    let flat = "#version 450\nlayout(location = 1) flat in int id;\nlayout(location = 0) out vec4 c;\nvoid main() { c = vec4(id); }\n";
    let f = folder("flat", &[("a.frag", flat)]);
    let text = says(&f, &["-t", "usse", "-o", "a.gxp", "a.frag"]);
    assert!(text.starts_with("a.frag:2:") && text.contains("warning[U0108]: `id`: the iterators always interpolate"), "{text}");
    assert_eq!(says(&f, &["-t", "usse", "-Wno-flat", "-o", "a.gxp", "a.frag"]), "");
    assert_eq!(says(&f, &["-t", "tesla", "-o", "a.o", "a.frag"]), "");
}

#[test]
fn vertices_without_a_place() {
    let source = "#version 450\nlayout(location = 0) in vec4 p;\nlayout(location = 0) out vec4 q;\nvoid main() { q = p; }\n";
    let placed = source.replace("q = p;", "q = p; gl_Position = p;");
    let f = folder("unplaced", &[("a.vert", source), ("b.vert", &placed)]);
    let text = says(&f, &["-t", "usse", "-o", "a.gxp", "a.vert"]);
    assert!(text.starts_with("a.vert: ") && text.contains("warning[U0109]: the program never writes the position"), "{text}");
    assert_eq!(says(&f, &["-t", "usse", "-Wno-position", "-o", "a.gxp", "a.vert"]), "");
    assert_eq!(says(&f, &["-t", "usse", "-o", "b.gxp", "b.vert"]), "");
}

#[test]
fn masks_that_a_chip_does_not_take() {
    let source = "#version 450\nlayout(location = 0) out vec4 o;\nvoid main() { o = vec4(1); gl_SampleMask[0] = 3; }\n";
    let f = folder("masks", &[("a.frag", source)]);
    let text = says(&f, &["-t", "tesla", "-o", "a.o", "a.frag"]);
    assert!(text.starts_with("a.frag:3:") && text.contains("warning[T0035]: g84 takes no sample mask"), "{text}");
    assert_eq!(says(&f, &["-t", "tesla", "-Wno-sample-mask", "-o", "a.o", "a.frag"]), "");
    assert_eq!(says(&f, &["-t", "tesla", "--chip", "gt215", "-o", "a.o", "a.frag"]), "");
    assert_eq!(says(&f, &["-t", "r700", "-o", "a.gsh", "a.frag"]), "");
}

#[test]
fn warnings_are_chosen() {
    let f = folder("chosen", &[("a.frag", UNUSED), ("u.frag", UNSET)]);
    assert_eq!(says(&f, &["-t", "tesla", "-Wno-unused", "-o", "a.o", "a.frag"]), "");
    assert_eq!(says(&f, &["-t", "tesla", "-Wnone", "-o", "a.o", "a.frag"]), "");
    assert!(says(&f, &["-t", "tesla", "-Wnone", "-Wunused", "-o", "a.o", "a.frag"]).contains("W0002"));
    assert!(says(&f, &["-t", "tesla", "-Wnone", "-WW0002", "-o", "a.o", "a.frag"]).contains("W0002"));
    assert!(says(&f, &["-t", "tesla", "-Werror", "-Wno-unused", "-o", "a.o", "a.frag"]).is_empty());
    for options in [["-Werror", "-o", "x.o"], ["-Werror=unused", "-o", "x.o"]] {
        let o = shaderc(&f, &[&["-t", "tesla", "a.frag"], &options[..]].concat());
        let text = String::from_utf8(o.stderr).unwrap();
        assert_eq!(o.status.code(), Some(1), "{text}");
        assert!(text.contains("error[W0002]") && !f.join("x.o").exists(), "{text}");
    }
    assert!(says(&f, &["-t", "tesla", "-Werror=unused", "-o", "u.o", "u.frag"]).contains("warning[W0001]"));
    let o = shaderc(&f, &["-t", "tesla", "-Wunusde", "a.frag"]);
    assert!(o.status.code() == Some(2) && String::from_utf8(o.stderr).unwrap().contains("did you mean `unused`?"));
    let o = shaderc(&f, &["-t", "tesla", "--message-format", "json", "-o", "a.o", "a.frag"]);
    let line: serde_json::Value = serde_json::from_slice(o.stderr.split(|b| *b == b'\n').next().unwrap()).unwrap();
    assert_eq!((line["severity"].as_str(), line["code"].as_str()), (Some("warning"), Some("W0002")));
}

#[test]
fn colour_on_demand() {
    let f = folder("colour", &[("a.frag", UNUSED)]);
    let plain = says(&f, &["-t", "tesla", "-o", "a.o", "a.frag"]);
    assert!(!plain.contains('\x1b'));
    let text = says(&f, &["-t", "tesla", "--color", "always", "-o", "a.o", "a.frag"]);
    assert!(text.contains("\x1b[1;33mwarning[W0002]:"), "{text:?}");
    let mut bare = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('\x1b') {
        bare.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    bare.push_str(rest);
    assert_eq!(bare, plain);
    assert!(!says(&f, &["-t", "tesla", "--color", "never", "-o", "a.o", "a.frag"]).contains('\x1b'));
}
