//! `compare`: the page for a browser, the baseline, and the lines of code that it shows.
#![allow(clippy::unwrap_used)]

use regex::Regex;
use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::Stage;
use retroshade::{Options, listing};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn compare(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shaderc")).current_dir(root()).arg("compare").args(arguments).output().unwrap()
}

const LOOPS: &str = "#version 450\nlayout(location = 0) in vec4 p; layout(location = 1) in vec4 q;\n\
    layout(set = 0, binding = 0) uniform U { mat4 m; vec4 a[8]; int n; float k; };\nlayout(location = 0) out vec4 c;\n\
    void main() {\n    vec4 s = vec4(0.0);\n    for (int i = 0; i < n; i++) {\n        s += a[i] * q.x;\n        if (s.x > k) break;\n    }\n\
    if (k > 2.0) {\n        s = s * q + vec4(3.1, 4.2, 5.3, 6.4);\n        for (int j = 0; j < 5; j++) s = s * s + a[j];\n    }\n    gl_Position = m * p;\n    c = s;\n}\n";

/// Every byte of the code belongs to one line, in any order of lines, and lines know where they come from.
#[test]
fn lines_cover_the_code() {
    let mut texts: Vec<(String, Stage, String)> = vec![("loops".to_string(), Stage::Vertex, LOOPS.to_string())];
    for (file, stage) in [
        ("gl/textured.vert", Stage::Vertex),
        ("gl/textured.frag", Stage::Fragment),
        ("gl/outline.geom", Stage::Geometry),
        ("gallery/lit.vert", Stage::Vertex),
        ("gallery/lit.frag", Stage::Fragment),
        ("gallery/bricks.frag", Stage::Fragment),
        ("gallery/mandelbrot.frag", Stage::Fragment),
    ] {
        texts.push((file.to_string(), stage, std::fs::read_to_string(root().join("examples").join(file)).unwrap()));
    }
    let (mut programs, mut placed) = (0, 0);
    for (file, stage, text) in texts {
        let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
        let module = frontend::glsl(&file, &text, &options).unwrap_or_else(|e| panic!("{file}: {e}"));
        for isa in retroshade::targets().into_iter().filter(|i| i.stages().contains(&stage)) {
            let Ok(shader) = isa.compile(&module, &Options::default()) else { continue };
            let lines = listing::lines(isa, &shader);
            let mut covered = vec![0u8; shader.code.len()];
            for l in &lines {
                let Some(bytes) = l.bytes.clone() else { continue };
                for at in bytes {
                    let Some(c) = covered.get_mut(at as usize) else {
                        panic!("{file} on {}: `{}` lies behind the code", isa.name(), l.text)
                    };
                    *c += 1;
                }
                placed += usize::from(!l.span.is_none());
            }
            let wrong = covered.iter().position(|n| *n != 1);
            assert_eq!(wrong, None, "{file} on {}: this byte is not in one line\n{}", isa.name(), shader.asm);
            programs += 1;
        }
    }
    assert!(programs >= 20 && placed > 300, "{programs} programs, {placed} lines with a place");
}

#[test]
fn the_page_stands_alone() {
    let o = compare(&["--format", "html", "examples/gallery/lit.vert", "examples/gallery/waves.wgsl"]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    let page = String::from_utf8(o.stdout).unwrap();
    // Nothing is fetched, and text is text.
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "the page has `{outside}`");
    }
    assert!(page.contains("vec4&lt;f32&gt;") || page.contains("array&lt;vec4f, 3&gt;"));
    // Every shader once, its code on each machine that has the stage, its source with numbers of lines.
    assert_eq!(page.matches("<section class=\"shader\"").count(), 2);
    assert_eq!(page.matches("<h3 class=\"m-pica\">pica</h3><pre>").count(), 1);
    for t in ["tesla", "usse", "r700"] {
        assert_eq!(page.matches(&format!("<h3 class=\"m-{t}\">{t}</h3><pre>")).count(), 2, "{t}");
    }
    assert!(page.contains("<i data-a=\"1\" data-b=\"1\">"));
    // Instructions of the IR and of every machine lead to the source.
    for title in [
        "<h3 class=\"\">IR</h3>",
        "<h3 class=\"m-tesla\">tesla</h3><pre>",
        "<h3 class=\"m-usse\">usse</h3><pre>",
        "<h3 class=\"m-r700\">r700</h3><pre>",
    ] {
        for column in page.split(title).skip(1) {
            let lines = column.split("</pre>").next().unwrap();
            assert!(lines.matches("<i data-a=").count() > 8, "{title}");
        }
    }
    // What the code is made of, and what it takes of the machine.
    for part in ["longest path", "of 126", "warps", "slots in a group", "operand descriptors", "secondary attributes", "temporaries"] {
        assert!(page.contains(part), "the page has no `{part}`");
    }
    let opened = page.matches("<div").count();
    assert_eq!(opened, page.matches("</div>").count());
}

/// A fragment program is no error because one machine has none.
#[test]
fn machines_without_the_stage_are_left_out() {
    let o = compare(&["examples/gallery/waves.wgsl"]);
    let text = String::from_utf8_lossy(&o.stdout).into_owned();
    assert!(o.status.success() && text.contains("r700") && !text.contains("pica"), "{text}");
    let o = compare(&["--targets", "pica", "examples/gallery/waves.wgsl"]);
    assert_eq!(o.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&o.stdout).contains("C0011"));
}

#[test]
fn a_baseline_shows_what_changed() {
    let folder = std::env::temp_dir().join(format!("shaderc-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("before.json");
    let name = file.display().to_string();
    let o = compare(&["--format", "json", "-o", &name, "examples/gallery/lit.vert"]);
    assert!(o.status.success());
    let mut before: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let bytes = before["shaders"][0]["targets"]["tesla"]["bytes"].as_u64().unwrap();
    before["shaders"][0]["targets"]["tesla"]["bytes"] = (bytes * 2).into();
    std::fs::write(&file, before.to_string()).unwrap();
    let o = compare(&["--format", "html", "--baseline", &name, "examples/gallery/lit.vert"]);
    let page = String::from_utf8(o.stdout).unwrap();
    assert!(page.contains(&format!("{bytes} <span class=\"helped\">-50.0 %</span>")), "{page}");
    assert!(page.contains("<td class=\"helped\">1</td><td class=\"hurt\">0</td>"));
    std::fs::write(&file, "{}").unwrap();
    let o = compare(&["--format", "html", "--baseline", &name, "examples/gallery/lit.vert"]);
    assert_eq!(o.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&o.stderr).contains("C0017"));
    let _ = std::fs::remove_dir_all(&folder);
}

/// Figures of `compare --format json` of a file on a target.
fn figures(file: &str, target: &str) -> serde_json::Value {
    let o = compare(&["--format", "json", "--targets", target, file]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    let all: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
    all["shaders"][0]["targets"][target].clone()
}

/// A program with one loop that stays one, and an arm: the longest path goes through both once.
#[test]
fn the_longest_path_is_told() {
    let folder = std::env::temp_dir().join(format!("shaderc-paths-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("loops.vert");
    let text = "#version 450\nlayout(location = 0) in vec4 p;\nlayout(set = 0, binding = 0) uniform U { mat4 m; vec4 a[8]; int n; };\n\
        layout(location = 0) out vec4 c;\nvoid main() {\n    vec4 s = p;\n    for (int i = 0; i < n; i++) s = s * s.yzwx + a[i];\n    gl_Position = m * p;\n    c = s;\n}\n";
    std::fs::write(&file, text).unwrap();
    for t in ["tesla", "usse", "r700", "pica"] {
        let f = figures(file.to_str().unwrap(), t);
        let d = &f["detail"];
        assert_eq!(d["loops"], 1, "{t}: {f}");
        let unit = if t == "r700" { "groups" } else { "instructions" };
        let [shortest, longest] = ["shortest", "longest"].map(|k| d[format!("{k}_{unit}")].as_u64().unwrap());
        let all = if t == "r700" { d["alu_groups"].as_u64() } else { f["instructions"].as_u64() }.unwrap();
        assert!(0 < shortest && shortest < longest && longest <= all + 2, "{t}: {shortest} to {longest} of {all}");
        // Each loop once: all of the code. PICA200's flow knows the loop's first test apart from the others.
        assert!(longest + 3 >= all, "{t}: {longest} of {all}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    // Straight code is executed whole.
    let f = figures("examples/gallery/lit.vert", "tesla");
    assert_eq!((&f["detail"]["longest_instructions"], &f["detail"]["loops"]), (&f["instructions"], &0.into()));
}

#[test]
fn words_of_usse_that_repeat_are_counted() {
    let f = figures("examples/pica/skin.vert", "usse");
    let o =
        Command::new(env!("CARGO_BIN_EXE_shaderc")).current_dir(root()).args(["-t", "usse", "examples/pica/skin.vert"]).output().unwrap();
    let asm = String::from_utf8(o.stdout).unwrap();
    let repeated = Regex::new(r" repeat_count=[1-9]").unwrap();
    let told = asm.lines().filter(|l| repeated.is_match(l)).count();
    assert!(told > 0);
    assert_eq!(f["detail"]["repeats"], told);
    assert_eq!(f["detail"]["dual"], asm.lines().filter(|l| l.contains(" ; VDUAL ")).count());
}

/// Lines as shader-db's scripts look for them: nouveau's by names in any order, r600's by what stands behind the stage.
#[test]
fn shader_db_reads_it() {
    let files = ["examples/gallery/lit.vert", "examples/gallery/waves.wgsl", "examples/gallery/relief.wgsl"];
    let o = compare(&[&["--format", "shader-db"], &files[..]].concat());
    let text = String::from_utf8(o.stdout).unwrap();
    assert!(o.status.success());
    let (nouveau, other) = (Regex::new(r"(\S+) - type: ([^,]*), (.*)").unwrap(), Regex::new(r"(\S+) - (.*) shader: (.*)").unwrap());
    let mut names = Vec::new();
    for line in text.lines() {
        if line.contains(":tesla - ") {
            let found = nouveau.captures(line).unwrap_or_else(|| panic!("{line}"));
            for field in ["local", "shared", "gpr", "inst", "bytes"] {
                assert!(Regex::new(&format!(r"{field}: (\d+)")).unwrap().is_match(line), "no {field} in {line}");
            }
            assert!(other.captures(line).is_none());
            names.push((found[1].to_string(), found[2].to_string()));
            continue;
        }
        let found = other.captures(line).unwrap_or_else(|| panic!("{line}"));
        let parts: Vec<(&str, &str)> = found.get(3).unwrap().as_str().split(", ").map(|p| p.split_once(' ').unwrap()).collect();
        assert!(parts.iter().all(|(n, name)| n.parse::<u64>().is_ok() && !name.contains(' ')), "{line}");
        if line.contains(":r700 - ") {
            let first: Vec<&str> = parts.iter().take(6).map(|p| p.1).collect();
            assert_eq!(first, ["dw", "gprs", "alu_groups", "loops", "cf", "stack"]);
        }
        names.push((found[1].to_string(), found[2].to_string()));
    }
    let before = names.len();
    names.sort();
    names.dedup();
    assert_eq!((before, names.len()), (8, 8), "{text}");
    assert!(names.contains(&("examples/gallery/relief.wgsl:main:tesla".to_string(), "5".to_string())), "{names:?}");
    // What is refused has no line, and a message.
    let o = compare(&["--format", "shader-db", "--targets", "pica,tesla", "examples/gallery/waves.wgsl"]);
    assert_eq!((o.status.code(), String::from_utf8_lossy(&o.stdout).lines().count()), (Some(1), 1));
    assert!(String::from_utf8_lossy(&o.stderr).contains("C0011"));
}
