//! What the command leaves behind: nothing overwritten, nothing stale, names that tell programs apart.
#![allow(clippy::unwrap_used)]

mod support;

use support::Folder;

const VERTEX: &str = "#version 330\nin vec4 pos;\nuniform mat4 mvp;\nout vec2 uv;\nvoid main() { gl_Position = mvp * pos; uv = pos.xy; }\n";
const FRAGMENT: &str = "#version 330\nin vec2 uv;\nout vec4 c;\nvoid main() { c = vec4(uv, 0.0, 1.0); }\n";

trait Outputs {
    /// A command that must end with this status and these words.
    fn refuses(&self, arguments: &[&str], status: i32, words: &str);
    /// Names of the files in a folder, sorted.
    fn list(&self, folder: &str) -> Vec<String>;
}

impl Outputs for Folder {
    fn refuses(&self, arguments: &[&str], status: i32, words: &str) {
        let o = self.run(arguments);
        let text = String::from_utf8_lossy(&o.stderr).into_owned();
        assert_eq!(o.status.code(), Some(status), "{arguments:?}\n{text}");
        assert!(text.contains(words), "{arguments:?}: no `{words}` in\n{text}");
    }
    fn list(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.0.join(folder)) else { return Vec::new() };
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn stages_for_the_wii_u_are_one_file() {
    let f = Folder::new("gsh").with("texture.vert", VERTEX).with("texture.frag", FRAGMENT);
    f.succeeds(&["-o", "texture.gsh", "texture.vert", "texture.frag"]);
    f.succeeds(&["--link", "-o", "linked.gsh", "texture.vert", "texture.frag"]);
    assert_eq!(f.bytes("texture.gsh"), f.bytes("linked.gsh"));
}

#[test]
fn stages_of_one_stem_stay_apart() {
    let f = Folder::new("stem").with("texture.vert", VERTEX).with("texture.frag", FRAGMENT);
    f.succeeds(&["-t", "usse", "-o", "out/", "texture.vert", "texture.frag"]);
    assert_eq!(f.list("out"), ["texture.frag.usse.gxp", "texture.vert.usse.gxp"]);
    // One after the other gives the same names, each of its own.
    let both = f.bytes("out/texture.vert.usse.gxp");
    f.succeeds(&["-t", "usse", "--emit", "container,asm,stats,reflect,legal", "-o", "out", "texture.frag"]);
    assert_eq!(f.bytes("out/texture.vert.usse.gxp"), both);
    assert_eq!(f.list("out").len(), 6);
    for ending in ["legal.ir", "reflect.json", "s", "stats.json"] {
        assert!(f.list("out").contains(&format!("texture.frag.usse.{ending}")), "{ending}");
    }
}

#[test]
fn two_outputs_of_one_name_are_refused_before_anything_is_written() {
    let f = Folder::new("same").with("a/x.vert", VERTEX).with("b/x.vert", VERTEX);
    f.refuses(&["-t", "tesla", "-o", "out", "a/x.vert", "b/x.vert"], 2, "error[C0015]");
    assert!(f.list("out").is_empty());
    f.refuses(&["-t", "tesla", "-o", "x.o", "--depfile", "x.o", "a/x.vert"], 2, "error[C0015]");
}

#[test]
fn an_output_never_replaces_an_input() {
    let f = Folder::new("input").with("x.vert", VERTEX).with("y.frag", FRAGMENT);
    f.refuses(&["-t", "tesla", "-o", "./x.vert", "x.vert"], 2, "error[C0016]");
    f.refuses(&["-t", "tesla", "-o", "y.o", "--depfile", "x.vert", "--after", "x.vert", "y.frag"], 2, "error[C0016]");
    f.refuses(&["compare", "-o", "x.vert", "x.vert"], 2, "error[C0016]");
    f.succeeds(&["-t", "tesla", "-o", "x.s", "--emit", "asm", "x.vert"]);
    f.refuses(&["asm", "-t", "tesla", "-o", "x.s", "x.s"], 2, "error[C0016]");
    assert_eq!(f.bytes("x.vert"), VERTEX.as_bytes());
    assert_eq!(f.list("."), ["x.s", "x.vert", "y.frag"]);
}

#[test]
fn a_makefile_rule_names_every_file_that_was_read() {
    let f = Folder::new("depfile").with("x.vert", VERTEX).with("y.frag", FRAGMENT);
    f.succeeds(&["-t", "tesla", "-o", "y.o", "--depfile", "y.d", "--after", "x.vert", "y.frag"]);
    let rule = String::from_utf8(f.bytes("y.d")).unwrap();
    let (first, alone) = rule.split_once('\n').unwrap();
    let (output, inputs) = first.split_once(": ").unwrap();
    assert_eq!(output, "y.o");
    // What the command line does not list among the sources may go without an error.
    assert_eq!(alone, "x.vert:\n");
    let mut inputs: Vec<&str> = inputs.split(' ').collect();
    inputs.sort_unstable();
    assert_eq!(inputs, ["x.vert", "y.frag"]);
}

#[test]
fn other_targets_change_nothing() {
    // Called twice, so that a machine with calls may keep it as a function.
    let helper = "#version 330\nin vec4 pos;\nin vec3 n;\nuniform vec4 light[4];\nout vec4 c;\n\
        vec4 lit(vec4 l, vec3 n) { float d = max(dot(l.xyz, n), 0.0); return vec4(d * l.w, d * d, exp2(d), inversesqrt(d + 1.0)); }\n\
        void main() { gl_Position = pos; c = lit(light[0], n) + lit(light[1], n) + lit(light[2], n) + lit(light[3], n); }\n";
    let f = Folder::new("others").with("a.vert", helper);
    f.succeeds(&["-t", "pica", "--emit", "bin", "-o", "alone", "a.vert"]);
    for others in ["pica,tesla", "tesla,pica", "tesla,r700,usse,pica"] {
        f.succeeds(&["-t", others, "--emit", "bin", "-o", "out", "a.vert"]);
        assert_eq!(f.bytes("out/a.vert.pica.bin"), f.bytes("alone"), "{others}");
    }
    let sizes = |targets: &str| {
        let o = f.succeeds(&["compare", "--targets", targets, "--format", "json", "a.vert"]);
        let v: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
        v["shaders"][0]["targets"]["pica"]["bytes"].as_u64().unwrap()
    };
    assert_eq!(sizes("pica"), sizes("tesla,pica"));
    assert_eq!(sizes("pica"), f.bytes("alone").len() as u64);
}

#[test]
fn the_ending_names_the_target() {
    let f = Folder::new("ending").with("a.vert", VERTEX);
    f.succeeds(&["-o", "a.gxp", "a.vert"]);
    assert_eq!(&f.bytes("a.gxp")[..3], b"GXP");
    f.succeeds(&["-o", "a.shbin", "a.vert"]);
    assert_eq!(&f.bytes("a.shbin")[..4], b"DVLB");
    // Two machines write `.o`.
    f.refuses(&["-o", "a.o", "a.vert"], 2, "no --target");
    // An ending that only one chip has means that chip.
    f.succeeds(&["-o", "a.gsh", "a.vert"]);
    f.succeeds(&["--emit", "gsh", "-o", "out.bin", "a.vert"]);
    assert!(f.bytes("a.gsh").starts_with(b"Gfx2") && f.bytes("a.gsh") == f.bytes("out.bin"));
    f.refuses(&["-o", "b.gsh", "--chip", "rv730", "a.vert"], 2, "--chip latte");
    // A container is reflected as it is.
    let shown = f.succeeds(&["--emit", "reflect", "a.gsh"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("\"vertex0\""));
}

#[test]
fn several_programs_make_one_container_only_when_asked() {
    let geometry = "#version 330\nlayout(triangles) in; layout(triangle_strip, max_vertices = 3) out;\nin vec2 uv[]; out vec2 uv2;\n\
        void main() { for (int i = 0; i < 3; i++) { gl_Position = gl_in[i].gl_Position; uv2 = uv[i]; EmitVertex(); } EndPrimitive(); }\n";
    let f = Folder::new("link").with("a.vert", VERTEX).with("a.geom", geometry);
    f.refuses(&["-t", "pica", "-o", "a.shbin", "a.vert", "a.geom"], 2, "--link");
    f.succeeds(&["-t", "pica", "--link", "-o", "a.shbin", "a.vert", "a.geom"]);
    f.succeeds(&["-t", "pica", "-o", "out", "a.vert", "a.geom"]);
    assert_eq!(f.list("out"), ["a.geom.pica.shbin", "a.vert.pica.shbin"]);
    assert!(f.bytes("a.shbin").len() > f.bytes("out/a.vert.pica.shbin").len());
    f.refuses(&["-t", "tesla", "--link", "-o", "a.o", "a.vert", "a.geom"], 1, "error[C0001]");
}

#[test]
fn several_documents_on_stdout_are_lines() {
    let f = Folder::new("lines").with("a.vert", VERTEX).with("b.frag", FRAGMENT);
    let o = f.succeeds(&["-t", "tesla,usse", "--emit", "stats,reflect", "a.vert", "b.frag"]);
    let text = String::from_utf8(o.stdout).unwrap();
    assert_eq!(text.lines().count(), 8);
    for l in text.lines() {
        let v: serde_json::Value = serde_json::from_str(l).unwrap();
        assert_eq!(v["version"], 1);
    }
}

/// A command through a shell, which makes what the arguments alone cannot.
#[cfg(unix)]
fn shell(f: &Folder, command: &str) -> std::process::Output {
    let mut c = std::process::Command::new("sh");
    c.args(["-c", command, env!("CARGO_BIN_EXE_shaderc")]).current_dir(&f.0);
    c.output().unwrap()
}

#[cfg(unix)]
#[test]
fn links_are_written_through_and_read_only_files_stay() {
    let f = Folder::new("links").with("a.vert", VERTEX);
    f.succeeds(&["-t", "usse", "-o", "real.gxp", "a.vert"]);
    let whole = f.bytes("real.gxp");
    std::fs::write(f.0.join("real.gxp"), "old").unwrap();
    std::os::unix::fs::symlink("real.gxp", f.0.join("link.gxp")).unwrap();
    f.succeeds(&["-o", "link.gxp", "a.vert"]);
    assert!(std::fs::symlink_metadata(f.0.join("link.gxp")).unwrap().is_symlink() && f.bytes("real.gxp") == whole);
    // What is open as a process' output is written, whatever it is called.
    let o = shell(&f, "ln -s /proc/self/fd/1 out; $0 -t usse -o out a.vert > redirected");
    if std::path::Path::new("/proc/self/fd").exists() {
        assert!(o.status.success() && f.bytes("redirected") == whole, "{o:?}");
    }
    let mut read_only = std::fs::metadata(f.0.join("real.gxp")).unwrap().permissions();
    read_only.set_readonly(true);
    std::fs::set_permissions(f.0.join("real.gxp"), read_only).unwrap();
    f.refuses(&["-o", "real.gxp", "a.vert"], 1, "error[C0005]");
}

#[cfg(unix)]
#[test]
fn messages_that_nobody_reads_stop_nothing() {
    let unused = "#version 330\nuniform vec4 spare;\nin vec4 pos;\nvoid main() { gl_Position = pos; }\n";
    let f = Folder::new("unread").with("a.vert", unused);
    if std::path::Path::new("/dev/full").exists() {
        let o = shell(&f, "$0 -t usse -o a.gxp a.vert 2> /dev/full");
        assert!(o.status.success() && f.bytes("a.gxp").starts_with(b"GXP"), "{o:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_once_for_all_targets() {
    let f = Folder::new("pipe").with("a.vert", VERTEX);
    let o = shell(&f, "cat a.vert | $0 -t pica,tesla,usse --lang glsl --stage vertex -o out /dev/stdin");
    assert!(o.status.success(), "{o:?}");
    assert_eq!(f.list("out"), ["stdin.pica.shbin", "stdin.tesla.o", "stdin.usse.gxp"]);
}

#[test]
fn names_of_folders_and_endings_are_believed() {
    let f = Folder::new("names").with("a.vert", VERTEX).with("words", "-t usse a.vert");
    f.succeeds(&["-t", "usse", "-o", "new/", "a.vert"]);
    assert_eq!(f.list("new"), ["a.vert.usse.gxp"]);
    f.refuses(&["-t", "pica", "-o", "a.gxp", "a.vert"], 2, "only target usse writes .gxp files");
    f.refuses(&["-o", "words", "@words"], 2, "error[C0016]");
    f.refuses(&["-t", "usse", "-o", "./out/", "--depfile", "out/a.vert.usse.gxp", "a.vert"], 2, "error[C0015]");
    f.refuses(&["-t", "usse,pica", "--chip", "rv770", "-o", "out", "a.vert"], 2, "targets usse, pica have no chips");
    f.refuses(&["-t", "tesla,r700", "--chip", "g79", "-o", "out", "a.vert"], 2, "targets tesla, r700 have no chip `g79`");
    f.succeeds(&["-t", "pica", "--emit", "asm", "-o", "a.s", "a.vert"]);
    f.refuses(&["asm", "-t", "pica", "--header", "z", "-o", "z", "a.s"], 2, "error[C0015]");
    f.refuses(&["asm", "-t", "pica", "--header", "z", "a.s"], 2, "--header goes with a container");
    assert_eq!(f.list("."), ["a.s", "a.vert", "new", "words"]);
}

#[test]
fn every_command_speaks_json() {
    let test = "; test run\n; target pica\nshader vertex \"x\"\nblock0:\n return\n; run: {} => {\"position\": [1,2,3,4]}\n";
    let f = Folder::new("json").with("a.frag", FRAGMENT).with("bad.ir", test).with("a.vert", VERTEX);
    let objects = |text: &[u8]| -> Vec<serde_json::Value> {
        let text = String::from_utf8_lossy(text);
        text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
    };
    let o = f.run(&["test", "--message-format", "json", "bad.ir"]);
    let lines = objects(&o.stdout);
    assert_eq!((o.status.code(), &lines[0]["ok"], &lines[1]["failed"]), (Some(1), &false.into(), &1.into()));
    let o = f.run(&["compare", "--targets", "pica,tesla", "--message-format", "json", "a.frag"]);
    assert_eq!((o.status.code(), &objects(&o.stderr)[0]["code"]), (Some(1), &"C0011".into()));
    let o = f.run(&["-t", "pica", "-o", "a.shbin", "--print-after", "legal", "--message-format", "json", "a.vert"]);
    assert_eq!((o.status.code(), &objects(&o.stderr)[0]["after"]), (Some(0), &"legal".into()));
    let o = f.run(&["reduce", "--message-format", "json", "--command", "true", "-o", "small.ir", "bad.ir"]);
    assert!(o.status.success() && objects(&o.stderr)[0]["runs"].is_u64(), "{o:?}");
}

/// Every machine shows its program after the stages that all have.
#[test]
fn texts_after_stages() {
    let f = Folder::new("stages").with("a.vert", VERTEX);
    for target in ["tesla", "usse", "r700", "pica"] {
        for stage in ["legal", "select", "place", "emit"] {
            let o = f.run(&["-t", target, "-o", "a.out", "--print-after", stage, "a.vert"]);
            let text = String::from_utf8_lossy(&o.stderr);
            let shown = text.lines().skip_while(|l| !l.starts_with(&format!("; after {stage}"))).count();
            assert!(o.status.success() && shown > 2, "{target} after {stage}: {text}");
        }
    }
}

/// What was asked for is shown of a program, too, that does not fit its machine.
#[test]
fn texts_after_stages_of_what_is_refused() {
    let inputs: String = (0..40).map(|n| format!("input %a{n} : f32x4 @location({n})\n")).collect();
    let sum: String = (0..40).map(|n| format!("    v{n} = input %a{n}\n    v{} = fadd v{}, v{n}\n", n + 51, n + 50)).collect();
    let ir = format!(
        "shader vertex \"main\"\n{inputs}output %p : f32x4 @position\nblock0:\n    v50 = fconst.f32x4 [0.0, 0.0, 0.0, 1.0]\n{sum}    output %p, v90\n    return\n"
    );
    let f = Folder::new("refused_stages").with("a.ir", &ir);
    for target in ["usse", "r700", "pica"] {
        let o = f.run(&["-t", target, "-o", "a.out", "--print-after", "legal", "a.ir"]);
        let text = String::from_utf8_lossy(&o.stderr);
        assert!(!o.status.success() && text.contains("; after legal\nshader vertex") && text.contains("error["), "{target}: {text}");
    }
}

/// Both entry points of a WGSL file make one file for the Wii U; endings may be in capitals.
#[test]
fn one_source_with_two_entry_points() {
    let wgsl = "struct V { @builtin(position) p: vec4f, @location(2) c: vec4f }\n@vertex fn vs(@location(0) a: vec4f) -> V { return V(a, a.wzyx); }\n@fragment fn fs(v: V) -> @location(0) vec4f { return v.c; }\n";
    let f = Folder::new("entries").with("w.wgsl", wgsl).with("texture.vert", VERTEX).with("texture.frag", FRAGMENT);
    f.succeeds(&["-o", "w.gsh", "w.wgsl"]);
    f.succeeds(&["--link", "--emit", "gsh", "-o", "linked.bin", "w.wgsl"]);
    assert_eq!(f.bytes("w.gsh"), f.bytes("linked.bin"));
    let reflected = |file: &str| String::from_utf8(f.succeeds(&["--emit", "reflect", file]).stdout).unwrap();
    let shown = reflected("w.gsh");
    assert!(shown.contains("vertex0") && shown.contains("pixel0"), "{shown}");
    f.succeeds(&["--stage", "fragment", "-o", "alone.gsh", "w.wgsl"]);
    assert!(!reflected("alone.gsh").contains("vertex0"));
    f.succeeds(&["-o", "A.GSH", "texture.vert", "texture.frag"]);
    f.succeeds(&["-o", "a.gsh", "texture.vert", "texture.frag"]);
    assert_eq!(f.bytes("A.GSH"), f.bytes("a.gsh"));
}
