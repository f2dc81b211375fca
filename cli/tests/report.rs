//! `compare`: the page for a browser, the baseline, and the lines of code that it shows.
#![allow(clippy::unwrap_used)]

mod support;

use regex::Regex;
use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::Stage;
use retroshade::{Options, listing};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::Folder;

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
    assert!(page.contains("<td class=\"helped\" data-of=\"helped\">1</td><td class=\"hurt\" data-of=\"hurt\">0</td>"));
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

const GOOD: &str = "@vertex fn main(@location(0) p: vec4f) -> @builtin(position) vec4f { return p * 2.0; }";
const BAD: &str = "@vertex fn main() -> @builtin(position) vec4f { return nothing; }";
const BOTH: &str = "@vertex fn vs(@location(0) p: vec4f) -> @builtin(position) vec4f { return p; }\n\
    @fragment fn one() -> @location(0) vec4f { return vec4f(1.0); }\n@fragment fn two(@location(0) c: vec4f) -> @location(0) vec4f { return c * c; }\n";

fn json(o: &Output) -> serde_json::Value {
    serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&o.stderr)))
}

fn html(f: &Folder, arguments: &[&str]) -> String {
    String::from_utf8(f.run(&[&["compare", "--format", "html"], arguments].concat()).stdout).unwrap()
}

/// Entries of a report in its order, with their files.
fn entries(report: &serde_json::Value) -> Vec<String> {
    let name = |s: &serde_json::Value| format!("{}:{}", s["file"].as_str().unwrap(), s["entry"].as_str().unwrap());
    report["shaders"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn all_entry_points_are_compared() {
    let f = Folder::new("report-entries").with("both.wgsl", BOTH);
    let run = |more: &[&str]| f.succeeds(&[&["compare", "both.wgsl"], more].concat());
    let names = |more: &[&str]| entries(&json(&run(&[&["--format", "json"], more].concat())));
    assert_eq!(names(&[]), ["both.wgsl:vs", "both.wgsl:one", "both.wgsl:two"]);
    assert_eq!(names(&["--stage", "fragment"]), ["both.wgsl:one", "both.wgsl:two"]);
    assert_eq!(names(&["--entry", "two"]), ["both.wgsl:two"]);
    let page = html(&f, &["both.wgsl"]);
    assert_eq!(page.matches("<section class=\"shader\"").count(), 3);
    assert!(page.contains("both.wgsl <b>two</b>") && page.contains("next: both.wgsl <b>one</b>"));
    let table = String::from_utf8(run(&[]).stdout).unwrap();
    assert!(table.contains("both.wgsl vs ") && table.contains("both.wgsl two "), "{table}");
    let lines = String::from_utf8(run(&["--format", "shader-db"]).stdout).unwrap();
    assert!(lines.contains("both.wgsl:vs:pica - ") && lines.contains("both.wgsl:two:r700 - "), "{lines}");
}

/// SPIR-V's entry points may have one name in several stages.
#[test]
fn entry_points_of_a_binary_are_compared() {
    // Two empty programs, both called `main`: a vertex and a compute program.
    let main = [u32::from_le_bytes(*b"main"), 0];
    let words: Vec<u32> = [
        &[0x0723_0203, 0x0001_0000, 0, 8, 0, 2 << 16 | 17, 1, 3 << 16 | 14, 0, 1][..],
        &[5 << 16 | 15, 0, 3, main[0], main[1], 5 << 16 | 15, 5, 4, main[0], main[1], 6 << 16 | 16, 4, 17, 1, 1, 1],
        &[2 << 16 | 19, 1, 3 << 16 | 33, 2, 1],
        &[5 << 16 | 54, 1, 3, 0, 2, 2 << 16 | 248, 5, 1 << 16 | 253, 1 << 16 | 56],
        &[5 << 16 | 54, 1, 4, 0, 2, 2 << 16 | 248, 6, 1 << 16 | 253, 1 << 16 | 56],
    ]
    .concat();
    let f = Folder::new("report-binary");
    std::fs::write(f.0.join("two.spv"), words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    let report = json(&f.run(&["compare", "--format", "json", "--targets", "tesla", "two.spv"]));
    let stages: Vec<_> = report["shaders"].as_array().unwrap().iter().map(|s| s["stage"].as_str().unwrap()).collect();
    assert_eq!((entries(&report), stages), (vec!["two.spv:main".to_string(); 2], vec!["vertex", "compute"]));
    // Names of lines tell them apart, and a baseline's sizes are those of the same stage.
    let o = f.run(&["compare", "--format", "shader-db", "--targets", "tesla", "two.spv"]);
    assert!(String::from_utf8_lossy(&o.stdout).contains("two.spv:main:compute:tesla - type: 5"), "{o:?}");
    let compute = &report["shaders"][1]["targets"]["tesla"]["bytes"];
    let mut before = report.clone();
    before["shaders"][1]["targets"]["tesla"]["bytes"] = (2 * compute.as_u64().unwrap()).into();
    std::fs::write(f.0.join("before.json"), before.to_string()).unwrap();
    let page = html(&f, &["--targets", "tesla", "--baseline", "before.json", "two.spv"]);
    assert!(page.contains(&format!("{compute} <span class=\"helped\">-50.0 %</span>")), "{page}");
}

#[test]
fn what_cannot_be_read_is_listed() {
    let f = Folder::new("report-failed").with("in/a.wgsl", GOOD).with("in/bad.wgsl", BAD).with("in/b.wgsl", &GOOD.replace("2.0", "p.x"));
    let files = ["in/a.wgsl", "in/bad.wgsl", "in/b.wgsl"];
    let o = f.run(&[&["compare", "--format", "json"], &files[..]].concat());
    assert_eq!(o.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&o.stderr).contains("in/bad.wgsl:1:56: error[F0010]"), "{}", String::from_utf8_lossy(&o.stderr));
    let report = json(&o);
    assert_eq!(entries(&report), ["in/a.wgsl:main", "in/b.wgsl:main"]);
    let failed = &report["failed"][0];
    assert_eq!((&failed["file"], &failed["diagnostics"][0]["code"]), (&"in/bad.wgsl".into(), &"F0010".into()));
    assert!(failed["error"].as_str().unwrap().starts_with("in/bad.wgsl:1:56: error[F0010]: ") && failed.get("entry").is_none());
    // The page has it without the folder of all; the folder is said once.
    let page = html(&f, &files);
    assert!(page.contains("<li><b>bad.wgsl</b> <span class=\"hurt\">1:56: error[F0010]: "), "{page}");
    assert!(page.contains("1 source that could not be read, all in in/.") && !page.contains("in/a.wgsl"));
    let o = f.run(&[&["compare"], &files[..]].concat());
    let table = String::from_utf8(o.stdout).unwrap();
    assert_eq!(o.status.code(), Some(1));
    assert!(table.lines().last().unwrap().starts_with("in/bad.wgsl ") && table.contains("error[F0010]"), "{table}");
    // A file that is not there is no different, a command without any shader has no report.
    let o = f.run(&["compare", "--format", "json", "in/a.wgsl", "in/none.wgsl", "in/notes.txt"]);
    assert_eq!((o.status.code(), json(&o)["failed"].as_array().unwrap().len()), (Some(2), 2));
    let o = f.run(&["compare", "--format", "html", "-o", "x.html", "in/bad.wgsl"]);
    assert!(o.status.code() == Some(1) && !f.0.join("x.html").exists());
    // What is wrong for every entry point is told once.
    let wrong = BOTH.replace("return p;", "return vec4f(p.x, p);");
    let f = f.with("in/both.wgsl", &wrong);
    let o = f.run(&["compare", "--format", "json", "in/a.wgsl", "in/both.wgsl"]);
    assert_eq!((o.status.code(), json(&o)["failed"].as_array().unwrap().len()), (Some(1), 1), "{}", String::from_utf8_lossy(&o.stderr));
}

#[test]
fn folders_are_taken_as_batch_takes_them() {
    let include = "float halve(float x) { return x * 0.5; }\n";
    let f = Folder::new("report-folder").with("src/deep/z.wgsl", GOOD).with("src/a.wgsl", BOTH).with("src/notes.txt", "no source");
    let f = f.with("src/halve.glsl", include).with("empty/readme", "");
    let names = |given: &[&str]| entries(&json(&f.succeeds(&[&["compare", "--format", "json", "--targets", "tesla"], given].concat())));
    assert_eq!(names(&["src"]), ["src/a.wgsl:vs", "src/a.wgsl:one", "src/a.wgsl:two", "src/deep/z.wgsl:main"]);
    // Each source once.
    assert_eq!(names(&["src/deep/z.wgsl", "src"]).len(), 4);
    let o = f.run(&["compare", "empty"]);
    assert!(o.status.code() == Some(1) && String::from_utf8_lossy(&o.stderr).contains("C0003"));
    let o = f.run(&["-t", "tesla", "src"]);
    assert!(o.status.code() == Some(2) && String::from_utf8_lossy(&o.stderr).contains("src is a folder"));
}

/// Totals are over what a machine takes: nothing is no small size, and what all take stands apart.
#[test]
fn totals_say_of_what_they_are() {
    let f = Folder::new("report-totals").with("a.wgsl", BOTH);
    let page = html(&f, &["--targets", "tesla,pica", "a.wgsl", "--stage", "fragment"]);
    assert!(page.contains("<td data-of=\"shaders\">0 <span class=\"quiet\">+ 2 refused</span></td><td data-of=\"bytes\">–</td>"), "{page}");
    assert_eq!(page.matches("\">–</td>").count(), 4);
    assert!(!page.contains("class=\"common\""));
    let page = html(&f, &["a.wgsl"]);
    assert!(page.contains("<h2 class=\"common\">Of the 1 shader that all of tesla, usse, r700, pica take</h2>"), "{page}");
    assert_eq!(page.matches("<table class=\"totals\">").count(), 2);
    let report = json(&f.succeeds(&["compare", "--format", "json", "a.wgsl"]));
    assert_eq!((&report["common"]["shaders"], &report["totals"]["tesla"]["shaders"]), (&1.into(), &3.into()));
    for t in ["tesla", "usse", "r700", "pica"] {
        assert_eq!(report["common"]["totals"][t]["bytes"], report["shaders"][0]["targets"][t]["bytes"], "{t}");
    }
    // Where all take the same there is one table.
    let page = html(&f, &["--stage", "fragment", "a.wgsl"]);
    assert!(!page.contains("class=\"common\"") && page.matches("<table class=\"totals\">").count() == 1);
}

/// Bars of one shader have its own scale, R700's shares are shares of its bytes, USSE's path is one of its primary program.
#[test]
fn bars_are_of_one_whole() {
    let f = Folder::new("report-bars").with("small.wgsl", GOOD).with("large.vert", LOOPS);
    let page = html(&f, &["small.wgsl", "large.vert"]);
    for bars in page.split("<div class=\"entry\"").skip(1) {
        let bars = bars.split("</div>").next().unwrap();
        assert!(bars.contains("class=\"bar\" style=\"--share:1.0000\""), "{bars}");
    }
    assert!(page.contains("Every shader has a scale of its own"));
    for file in ["examples/fog.wgsl", "examples/gallery/waves.wgsl"] {
        let figures = figures(file, "r700");
        let of = |key: &str| figures["detail"][key].as_u64().unwrap();
        let parts = 8 * of("alu_slots") + 4 * of("literals") + 8 * of("cf") + 16 * of("fetches");
        assert_eq!(Some(parts), figures["bytes"].as_u64(), "{figures}");
        let page = String::from_utf8(compare(&["--format", "html", "--targets", "r700", file]).stdout).unwrap();
        let slots = of("alu_slots");
        assert!(page.contains(&format!("style=\"flex-grow:{}\" title=\"ALU slots: {slots} (", 8 * slots)), "{page}");
    }
    let scaled = "#version 450\nlayout(location = 0) in vec4 p; layout(set = 0, binding = 0) uniform U { vec4 a; vec4 b; };\n\
        void main() { gl_Position = p * normalize(a * b + a.wzyx); }\n";
    let f = f.with("second.vert", scaled);
    let report = json(&f.succeeds(&["compare", "--format", "json", "--targets", "usse", "second.vert"]));
    let detail = &report["shaders"][0]["targets"]["usse"]["detail"];
    assert!(detail["secondary"].as_u64().unwrap() > 0, "{detail}");
    let page = html(&f, &["--targets", "usse", "second.vert"]);
    assert!(page.contains(&format!(">{} of {} primary<", detail["longest_instructions"], detail["primary"])), "{page}");
}

#[test]
fn a_baseline_is_looked_at() {
    let f = Folder::new("report-baseline").with("a.wgsl", GOOD).with("b.wgsl", GOOD);
    let sizes = |bytes: &str| {
        format!(
            "{{\"version\":1,\"shaders\":[{{\"file\":\"a.wgsl\",\"entry\":\"main\",\"targets\":{{\"tesla\":{{\"ok\":true,\"bytes\":{bytes}}}}}}}]}}"
        )
    };
    let f = f.with("version.json", "{\"version\":7,\"shaders\":[]}").with("negative.json", &sizes("-8")).with("text.json", &sizes("\"8\""));
    let f = f.with("nameless.json", "{\"version\":1,\"shaders\":[{}]}").with("none.json", "{\"version\":1,\"shaders\":[]}");
    let f = f.with("good.json", &sizes("800"));
    let run = |baseline: &str| f.run(&["compare", "--format", "html", "--baseline", baseline, "a.wgsl", "b.wgsl"]);
    for (wrong, what) in [
        ("version.json", "its version is 7"),
        ("negative.json", "`bytes` is -8"),
        ("text.json", "has no size on tesla"),
        ("nameless.json", "shader 0 has no `file`"),
    ] {
        let o = run(wrong);
        let said = String::from_utf8_lossy(&o.stderr).into_owned();
        assert!(
            o.status.code() == Some(1) && said.contains("error[C0017]") && said.contains(what) && o.stdout.is_empty(),
            "{wrong}: {said}"
        );
    }
    let o = run("none.json");
    assert!(o.status.success() && String::from_utf8_lossy(&o.stderr).contains("note[C0022]"));
    assert!(String::from_utf8_lossy(&o.stdout).contains("The baseline has none of 2 shaders"));
    let o = run("good.json");
    assert!(o.status.success() && o.stderr.is_empty());
    assert!(String::from_utf8_lossy(&o.stdout).contains("The baseline has 1 of 2 shaders"));
}
