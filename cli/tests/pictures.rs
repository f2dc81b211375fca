//! `render` without further options, by short names, as an animation, as a sheet, and with models from files.
#![allow(clippy::unwrap_used)]

use retroshade::render::Image;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let f = std::env::temp_dir().join(format!("shaderc-pictures-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&f);
        std::fs::create_dir_all(&f).unwrap();
        Folder(f)
    }
    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_shaderc")).current_dir(&self.0).arg("render").args(arguments).output().unwrap()
    }
    /// What a successful command says on stderr.
    fn draws(&self, arguments: &[&str]) -> String {
        let o = self.run(arguments);
        let text = String::from_utf8_lossy(&o.stderr).into_owned();
        assert!(o.status.success(), "{arguments:?}\n{text}");
        text
    }
    fn refuses(&self, arguments: &[&str], status: i32, words: &str) {
        let o = self.run(arguments);
        let text = String::from_utf8_lossy(&o.stderr).into_owned();
        assert_eq!(o.status.code(), Some(status), "{arguments:?}\n{text}");
        assert!(text.contains(words), "{arguments:?}: no `{words}` in\n{text}");
    }
    fn image(&self, name: &str) -> Image {
        Image::from_png(&std::fs::read(self.0.join(name)).unwrap()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/gallery").join(name).display().to_string()
}

/// Pixels that are neither transparent nor of the first pixel's colour.
fn drawn(image: &Image) -> usize {
    image.rgba.chunks(4).filter(|p| p[3] > 0 && **p != image.rgba[..4]).count()
}

const UNIFORMS: &str = "#version 330\nuniform float iTime; uniform vec2 u_resolution; uniform mat3 turn; uniform sampler2D paper; uniform ivec2 mouse;\n\
                        in vec2 uv; out vec4 c;\nvoid main() { vec2 p = (turn * vec3(gl_FragCoord.xy / u_resolution, 1.0)).xy; \
                        c = vec4(p + float(mouse.x), iTime, 1.0) * texture(paper, uv); }\n";

#[test]
fn a_program_alone_is_enough() {
    let f = Folder::new("alone");
    std::fs::write(f.0.join("all.frag"), UNIFORMS).unwrap();
    f.refuses(&["all.vert"], 2, "is a vertex program by its name");
    let said = f.draws(&["all.frag"]);
    for part in
        ["note[R0008]", "iTime = 0", "u_resolution = [256.0,256.0]", "paper = a test pattern", "mouse = [0,0]", "note[R0009]", "all.png"]
    {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
    let image = f.image("all.png");
    assert_eq!((image.width, image.height), (256, 256));
    assert!(drawn(&image) > 10_000);
    // The test pattern has its gradient and its squares: neighbours in a square are near, squares differ.
    assert_ne!(image.rgba[4 * 20..4 * 20 + 3], image.rgba[4 * 50..4 * 50 + 3]);
}

#[test]
fn a_picture_is_called_what_it_is() {
    let f = Folder::new("endings");
    std::fs::write(f.0.join("all.frag"), UNIFORMS).unwrap();
    f.refuses(&["-o", "all.gif", "all.frag"], 2, "name the output .png, not .gif");
    f.refuses(&["--frames", "3", "-o", "all.JPG", "all.frag"], 2, "an animated PNG");
    assert!(!f.0.join("all.gif").exists());
}

#[test]
fn machines_draw_what_the_interpreter_draws_of_stand_ins() {
    let f = Folder::new("machines");
    std::fs::write(f.0.join("all.frag"), UNIFORMS).unwrap();
    f.draws(&["--size", "32x32", "-o", "i.png", "all.frag"]);
    f.draws(&["--size", "32x32", "-o", "t.png", "--target", "tesla", "all.frag"]);
    assert!(f.image("i.png").difference(&f.image("t.png"), 2) < 0.02);
}

#[test]
fn the_end_of_a_name_is_enough() {
    let f = Folder::new("names");
    let waves = example("waves.wgsl");
    f.draws(&["--size", "16x16", "--uniform", "scene.time=1.5", "-o", "whole.png", &waves]);
    f.draws(&["--size", "16x16", "--uniform", "time=1.5", "-o", "short.png", &waves]);
    f.draws(&["--size", "16x16", "-o", "zero.png", &waves]);
    f.draws(&["--size", "16x16", "--time", "1.5", "-o", "option.png", &waves]);
    assert_eq!(f.image("whole.png"), f.image("short.png"));
    assert_eq!(f.image("whole.png"), f.image("option.png"));
    assert_ne!(f.image("whole.png"), f.image("zero.png"));
    f.refuses(&["--uniform", "tme=1", &waves], 1, "known are scene.sources, scene.time");
    f.refuses(&["--uniform", "scene.tme=1", &waves], 1, "did you mean `scene.time`?");
    let two = "#version 330\nstruct L { vec4 colour; }; uniform L a; uniform L b; out vec4 c;\nvoid main() { c = a.colour + b.colour; }\n";
    std::fs::write(f.0.join("two.frag"), two).unwrap();
    f.refuses(&["--uniform", "colour=[1,0,0,1]", "two.frag"], 1, "--uniform colour may be a.colour or b.colour");
}

#[test]
fn an_animation_moves() {
    let f = Folder::new("frames");
    f.draws(&["--size", "16x16", "--frames", "4", "--fps", "2", "-o", "a.png", &example("waves.wgsl")]);
    let bytes = std::fs::read(f.0.join("a.png")).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
    assert_eq!(reader.info().animation_control().map(|a| (a.num_frames, a.num_plays)), Some((4, 0)));
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for _ in 0..4 {
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut data).unwrap();
        let control = reader.info().frame_control().unwrap();
        assert_eq!((control.delay_num, control.delay_den), (1, 2));
        assert!(!frames.contains(&data), "a picture is there twice");
        frames.push(data);
    }
    f.refuses(&["--frames", "0", &example("waves.wgsl")], 2, "--frames");
    f.refuses(&["--size", "4096x4096", "--frames", "9", &example("waves.wgsl")], 3, "needed 150994944 pixels, available 67108864");
}

#[test]
fn a_sheet_shows_every_machine() {
    let f = Folder::new("sheet");
    f.draws(&["--sheet", "--size", "48x32", "-o", "s.png", &example("bricks.frag")]);
    let sheet = f.image("s.png");
    // Interpreter, Tesla, USSE and R700; PICA200 has no fragment programs.
    assert_eq!((sheet.width, sheet.height), (8 + 4 * 56, 8 + 2 * 52));
    f.draws(&["--sheet", "--size", "48x32", "--mesh", "cube", "-o", "m.png", &example("lit.vert"), &example("lit.frag")]);
    assert_eq!(f.image("m.png").width, 8 + 5 * 56);
    f.refuses(&["--sheet", "--target", "tesla", &example("bricks.frag")], 2, "--sheet");
}

const OBJ: &str = "v 0 0 0\nv 30 0 0\nv 0 30 0\nv 0 0 30\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

/// A triangle as glTF: positions and indices in a buffer of their own.
fn gltf(uri: &str) -> String {
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0,"translation":[5,0,0]}}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1}}]}}],
        "buffers":[{{"byteLength":42,"uri":"{uri}"}}],"bufferViews":[{{"buffer":0,"byteLength":36}},{{"buffer":0,"byteOffset":36,"byteLength":6}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[-1,-1,0],"max":[1,1,0]}},
        {{"bufferView":1,"componentType":5123,"count":3,"type":"SCALAR"}}]}}"#
    )
}

#[test]
fn models_come_from_files() {
    let f = Folder::new("models");
    std::fs::write(f.0.join("m.obj"), OBJ).unwrap();
    let positions = [[-1f32, -1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]];
    let mut buffer: Vec<u8> = positions.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    buffer.extend([0u16, 1, 2].iter().flat_map(|n| n.to_le_bytes()));
    std::fs::write(f.0.join("m.bin"), &buffer).unwrap();
    std::fs::write(f.0.join("m.gltf"), gltf("m.bin")).unwrap();
    let programs = [example("lit.vert"), example("lit.frag")];
    for model in ["m.obj", "m.gltf"] {
        f.draws(&["--size", "64x64", "--mesh", model, "-o", "m.png", &programs[0], &programs[1]]);
        let n = drawn(&f.image("m.png"));
        assert!((400..3000).contains(&n), "{model}: {n} pixels");
    }
    for (was, is, words) in [
        (r#""mesh":0,"#, r#""mesh":0,"children":[0],"#, "two places"),
        (r#""indices":1"#, r#""indices":0"#, "no unsigned numbers"),
        (r#""POSITION":0"#, r#""POSITION":1"#, "R0007"),
        (r#""POSITION":0"#, r#""POSITION":0,"COLOR_0":1"#, "R0007"),
    ] {
        let text = gltf("m.bin");
        assert!(text.contains(was));
        std::fs::write(f.0.join("wrong.gltf"), text.replace(was, is)).unwrap();
        f.refuses(&["--mesh", "wrong.gltf", "-o", "m.png", &programs[0], &programs[1]], 1, words);
    }
    std::fs::write(f.0.join("m.gltf"), gltf("nowhere.bin")).unwrap();
    f.refuses(&["--mesh", "m.gltf", "-o", "m.png", &programs[0], &programs[1]], 1, "nowhere.bin");
    std::fs::write(f.0.join("m.obj"), "v 0 0 0\nf 1 2 3\n").unwrap();
    f.refuses(&["--mesh", "m.obj", "-o", "m.png", &programs[0], &programs[1]], 1, "R0007");
    f.refuses(&["--mesh", "teapot", "-o", "m.png", &programs[0], &programs[1]], 2, "triangle, quad, cube, sphere, and files");
}

const ENTRIES: &str = "@vertex fn v(@location(0) p: vec3f) -> @builtin(position) vec4f { return vec4(p.xy, 0.0, 1.0); }\n\
                       @fragment fn red() -> @location(0) vec4f { return vec4(1.0, 0.0, 0.0, 1.0); }\n\
                       @fragment fn green() -> @location(0) vec4f { return vec4(0.0, 1.0, 0.0, 1.0); }\n";

#[test]
fn an_entry_is_one_of_a_pictures_two_programs() {
    let f = Folder::new("entries");
    std::fs::write(f.0.join("e.wgsl"), ENTRIES).unwrap();
    for (entry, colour) in [("red", [255, 0, 0, 255]), ("green", [0, 255, 0, 255])] {
        f.draws(&["--size", "32x32", "--mesh", "quad", "--entry", entry, "-o", "e.png", "e.wgsl"]);
        let image = f.image("e.png");
        let middle = 4 * (16 * 32 + 16);
        assert_eq!(image.rgba[middle..middle + 4], colour, "{entry}");
    }
    f.refuses(&["--mesh", "quad", "--entry", "blue", "-o", "e.png", "e.wgsl"], 1, "F0006");
    f.refuses(&["--mesh", "quad", "-o", "e.png", "e.wgsl"], 1, "F0007");
}

#[test]
fn a_buffer_that_nobody_gave_is_zero() {
    let f = Folder::new("buffer");
    let source = "@group(0) @binding(0) var<storage> b: array<vec4f>;\n\
                  @fragment fn f() -> @location(0) vec4f { return b[1] + vec4(0.0, 0.0, 1.0, 1.0); }\n";
    std::fs::write(f.0.join("b.wgsl"), source).unwrap();
    let said = f.draws(&["--size", "8x8", "-o", "b.png", "b.wgsl"]);
    assert!(said.contains("words of zero"), "{said}");
    assert_eq!(f.image("b.png").rgba[..4], [0, 0, 255, 255]);
}

#[test]
fn the_picture_takes_nobodys_place() {
    let f = Folder::new("place");
    std::fs::write(f.0.join("t.frag"), "#version 330\nuniform sampler2D t; in vec2 uv; out vec4 c; void main() { c = texture(t, uv); }\n")
        .unwrap();
    std::fs::copy(example("tiles.png"), f.0.join("t.png")).unwrap();
    f.refuses(&["--texture", "t=t.png", "t.frag"], 2, "C0016");
}
