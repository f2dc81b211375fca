//! The command on inputs that are wrong: a clear message, the right exit status, nothing half-written.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of one test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let f = std::env::temp_dir().join(format!("shaderc-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&f).unwrap();
        Folder(f)
    }
    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let p = self.0.join(name);
        std::fs::write(&p, contents).unwrap();
        p.display().to_string()
    }
    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn shaderc(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shaderc")).args(arguments).output().unwrap()
}

/// Fails with this status and a message that contains all of these.
fn refuses(arguments: &[&str], status: i32, words: &[&str]) {
    let o = shaderc(arguments);
    let text = String::from_utf8_lossy(&o.stderr).into_owned();
    assert_eq!(o.status.code(), Some(status), "{arguments:?}\n{text}");
    for w in words {
        assert!(text.contains(w), "{arguments:?}: no `{w}` in\n{text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

const GOOD: &str = "shader vertex \"t\"\ninput %a : f32x4 @location(0)\noutput %p : f32x4 @position\nuniform %u : f32x4 @binding(0)\n\
                    block0:\n    v0 = input.f32x4 %a\n    v1 = uniform.f32x4 %u\n    v2 = fadd v0, v1\n    output %p, v2\n    return\n";

#[test]
fn wrong_texts() {
    let f = Folder::new("texts");
    let cases = [
        ("token.ir", GOOD.replace("fadd v0, v1", "fadd v0, = v1"), ":8:19: error[E0001]"),
        ("undefined.ir", GOOD.replace("fadd v0, v1", "fadd v0, v9"), ":8:19: error[E0010]: v9 is not defined"),
        ("type.ir", GOOD.replace("fadd v0, v1", "iadd v0, v1"), ":8:5: error[V0021]"),
        ("unreachable.ir", format!("{GOOD}block1:\n    return\n"), ":12:5: error[V0008]"),
        ("undominated.ir", GOOD.replace("v2 = fadd v0, v1", "v2 = fadd v0, v3\n    v3 = fneg v0"), ":8:5: error[V0011]"),
    ];
    for (name, text, want) in &cases {
        let p = f.file(name, text);
        refuses(&["--target", "pica", "-o", &f.path("out"), &p], 1, &[want]);
        assert!(!Path::new(&f.path("out")).exists(), "{name} left an output");
    }
    let irreducible = "shader vertex \"t\"\nblock0:\n    v0 = undef.i1\n    br_if v0, block1, block2\nblock1:\n    jump block2\nblock2:\n    jump block1\n";
    refuses(&["--target", "pica", &f.file("irreducible.ir", irreducible)], 1, &["error[V0009]"]);
    let o = shaderc(&["--target", "pica", "--message-format", "json", &f.path("undefined.ir")]);
    let line: serde_json::Value = serde_json::from_slice(&o.stderr).unwrap();
    assert_eq!((line["line"].as_u64(), line["column"].as_u64(), line["code"].as_str()), (Some(8), Some(19), Some("E0010")));
}

#[test]
fn what_is_no_text() {
    let f = Folder::new("binary");
    refuses(&["--target", "pica", &f.file("empty.ir", "")], 1, &["the file is empty"]);
    refuses(&["--target", "pica", &f.file("elf.ir", b"\x7fELF\x02\x01\x01\0\0\0")], 1, &["error[E0002]: this is not text"]);
    refuses(&["--target", "pica", &f.file("latin.ir", b"shader \xe9\xff")], 1, &["error[E0002]: this is not text"]);
    refuses(&["--target", "pica", &f.file("large.ir", vec![b' '; 100 << 20])], 3, &["needed 104857600 bytes, available 16777216"]);
    refuses(&["dis", "--target", "pica", &f.path("large.ir")], 3, &["available"]);
    refuses(&["--target", "pica", &f.path("missing.ir")], 1, &["cannot read"]);
}

#[test]
fn deep_nesting() {
    let n = 100_000;
    let mut text = String::from("shader vertex \"deep\"\noutput %o : f32x4 @position\nblock0:\n v0 = undef.i1\n jump block1\n");
    for k in 1..=n {
        text.push_str(&format!("block{k}:\n br_if v0, block{}, block{}\n", k + 1, n * 2 + 2 - k));
    }
    text.push_str(&format!("block{}:\n jump block{}\n", n + 1, n + 2));
    for k in n + 2..=2 * n {
        text.push_str(&format!("block{k}:\n jump block{}\n", k + 1));
    }
    text.push_str(&format!("block{}:\n v1 = fconst.f32x4 1.0\n output %o, v1\n return\n", 2 * n + 1));
    let f = Folder::new("deep");
    refuses(&["--target", "pica", &f.file("deep.ir", text)], 3, &["error[C0013]", "available 65536"]);
}

#[test]
fn runs_without_their_inputs() {
    let f = Folder::new("run");
    let ir = f.file("a.ir", GOOD);
    let bind = f.file("a.json", "{ \"invocations\": [ { \"inputs\": { \"a\": [1, 2, 3, 4] } } ] }");
    refuses(&["run", "--bind", &bind, &ir], 1, &["error[R0003]", "no uniform `u`"]);
    refuses(&["run", "--bind", &f.file("b.json", "{"), &ir], 1, &["not JSON"]);
    let good = f.file("c.json", "{ \"invocations\": [ { \"inputs\": { \"a\": [1, 2, 3, 4] } } ], \"uniforms\": { \"u\": [1, 1, 1, 1] } }");
    let o = shaderc(&["run", "--bind", &good, &ir]);
    let result: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
    assert_eq!(result["invocations"][0]["outputs"]["position"], serde_json::json!([2.0, 3.0, 4.0, 5.0]));
}

#[test]
fn endless_loops_are_stopped() {
    let f = Folder::new("endless");
    let text = "shader vertex \"t\"\noutput %p : f32 @location(0)\nblock0:\n    jump block1\nblock1:\n    v0 = iconst.i1 1\n    \
                br_if v0, block1, block2\nblock2:\n    v1 = fconst.f32 1.0\n    output %p, v1\n    return\n";
    let ir = f.file("a.ir", text);
    let bind = f.file("a.json", "{ \"invocations\": [ { \"inputs\": {} } ] }");
    let o = shaderc(&["run", "--bind", &bind, &ir]);
    assert_eq!(o.status.code(), Some(0), "{}", String::from_utf8_lossy(&o.stderr));
    assert!(String::from_utf8_lossy(&o.stderr).contains("warning[R0002]"));
    let result: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
    assert_eq!(result["invocations"][0]["stopped"], serde_json::json!(true));
    assert_eq!(result["invocations"][0]["outputs"], serde_json::json!({}));
}

#[test]
fn malformed_command_lines() {
    let f = Folder::new("usage");
    let ir = f.file("a.ir", GOOD);
    refuses(&["--target", "nope", &ir], 2, &["there is no target `nope`"]);
    refuses(&["--targt", "pica", &ir], 2, &["--target"]);
    refuses(&[&ir], 2, &["no --target"]);
    refuses(&["--target", "pica"], 2, &["no source file"]);
    refuses(&["--target", "pica", "--emit", "bin", &ir], 2, &["binary"]);
    refuses(&["--target", "pica", &f.file("a.txt", GOOD)], 2, &["--lang"]);
    refuses(&["--target", "pica", "--print-after", "nonsense", &ir], 2, &["`nonsense`", "legal, select, pack, schedule, place, emit"]);
    refuses(&["--target", "pica", "--print-after", "legall", &ir], 2, &["did you mean `legal`?"]);
    refuses(&["--target", "pica", "--lang", "glsll", &ir], 2, &["did you mean `glsl`?"]);
    refuses(&["--target", "pica", "--stage", "vertx", &ir], 2, &["did you mean `vertex`?"]);
    refuses(&["--target", "pica", "--limit", "memry=2", &ir], 2, &["did you mean `memory`?"]);
    refuses(&["@nowhere"], 2, &["response file"]);
    assert_eq!(shaderc(&["--version"]).status.code(), Some(0));
}

#[test]
fn lines_of_hex_keep_their_places() {
    let f = Folder::new("hex");
    for isa in retroshade::targets() {
        let o = shaderc(&["dis", "--target", isa.name(), "--hex", &f.file("lines", "\nnot hex\n\n")]);
        assert_eq!(o.status.code(), Some(1), "{}", isa.name());
        let out = String::from_utf8(o.stdout).unwrap();
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines.len() == 3 && lines[0].is_empty() && lines[1].starts_with("error: ") && lines[2].is_empty(), "{out}");
    }
}

#[test]
fn a_mistyped_name_is_an_error_with_the_nearest_known_one() {
    let f = Folder::new("names");
    let source = "@group(0) @binding(0) var t: texture_2d<f32>; @group(0) @binding(1) var s: sampler; \
                  @fragment fn main(@location(0) c: vec2<f32>) -> @location(0) vec4<f32> { return textureSample(t, s, c); }";
    let wgsl = f.file("a.wgsl", source);
    let bind = |name: &str, text: &str| f.file(name, text);
    let texture = "\"size\": [1, 1], \"texels\": [[1, 1, 1, 1]]";
    let invocations = "\"invocations\": [{ \"inputs\": { \"c\": [0, 0] } }]";
    let cases = [
        (
            format!("{{ {invocations}, \"textures\": {{ \"t\": {{ {texture}, \"filer\": \"linear\" }} }} }}"),
            "`filer`: did you mean `filter`?",
        ),
        (format!("{{ {invocations}, \"texture\": {{}} }}"), "`texture`: did you mean `textures`?"),
        ("{ \"invocations\": [{ \"input\": {} }] }".to_string(), "`input`: did you mean `inputs`?"),
    ];
    for (n, (text, want)) in cases.iter().enumerate() {
        refuses(&["run", "--bind", &bind(&format!("{n}.json"), text), &wgsl], 1, &["error[R0003]", want]);
    }
    refuses(&["--target", "telsa", &wgsl], 2, &["did you mean `tesla`?"]);
    refuses(&["compar", &wgsl], 2, &["there is no command and no file `compar`; did you mean `compare`?"]);
}

#[test]
fn messages_in_json_hold_for_malformed_command_lines() {
    for arguments in
        [&["--message-format", "json", "--targt", "pica"][..], &["--message-format=json", "frob"], &["dis", "--message-format", "json"]]
    {
        let o = shaderc(arguments);
        assert_eq!(o.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(o.stderr).unwrap();
        let v: serde_json::Value = serde_json::from_str(text.trim()).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {text}"));
        assert_eq!((v["code"].as_str(), v["version"].as_u64()), (Some("C0002"), Some(1)));
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let f = Folder::new("mark");
    let wgsl = "@vertex fn main(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> { return p; }";
    let glsl = "#version 330\nin vec4 p; void main() { gl_Position = p; }";
    for (name, text) in [("a.ir", GOOD), ("a.wgsl", wgsl), ("a.vert", glsl)] {
        let o = shaderc(&["--target", "tesla", &f.file(name, format!("\u{feff}{text}"))]);
        assert!(o.status.success(), "{name}: {}", String::from_utf8_lossy(&o.stderr));
    }
}

#[test]
fn long_lines_are_cut() {
    let f = Folder::new("long");
    let long = format!("/*{}*/ fn main( {{ /*{}*/", "é".repeat(5000), "x".repeat(5000));
    let o = shaderc(&["--target", "tesla", &f.file("a.wgsl", long)]);
    let text = String::from_utf8(o.stderr).unwrap();
    assert!(text.len() < 1000 && text.contains('…') && text.contains('^'), "{text}");
}

#[test]
fn filetests_are_files() {
    let f = Folder::new("filetests");
    let empty = f.path("empty");
    std::fs::create_dir_all(&empty).unwrap();
    refuses(&["test", &empty], 1, &["no test in this folder"]);
    refuses(&["test", &f.path("nowhere")], 1, &["no such file"]);
    refuses(&["test", &f.file("huge.ir", vec![b' '; 5 << 20])], 1, &["needed 5242880 bytes, available 4194304"]);
    #[cfg(unix)]
    {
        let folder = f.path("loop");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(f.0.join("loop/a.ir"), format!("; test verify\n{GOOD}")).unwrap();
        std::os::unix::fs::symlink(&folder, f.0.join("loop/back")).unwrap();
        let o = shaderc(&["test", &folder]);
        assert!(String::from_utf8_lossy(&o.stdout).contains("1 passed, 0 failed"), "{o:?}");
        refuses(&["test", "/dev/null"], 1, &["neither a file nor a folder"]);
    }
}
