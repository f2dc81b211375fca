//! `shaderc batch`: the same lines and bytes for every number of jobs, limits, failures.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;
use support::Folder;

/// Runs a batch.
fn batch(f: &Folder, arguments: &[&str]) -> Output {
    f.run(&[&["batch"], arguments].concat())
}

/// Every file below a folder with its bytes.
fn tree(f: &Folder, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(at: &Path, base: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for e in std::fs::read_dir(at).into_iter().flatten().map(|e| e.unwrap().path()) {
            if e.is_dir() {
                walk(&e, base, out);
            } else {
                out.insert(e.strip_prefix(base).unwrap().to_path_buf(), std::fs::read(&e).unwrap());
            }
        }
    }
    let (mut out, base) = (BTreeMap::new(), f.0.join(folder));
    walk(&base, &base, &mut out);
    out
}

fn lines(o: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&o.stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

const GOOD: &str = "@vertex fn main(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> { return p * 2.0; }";
const BAD: &str = "@vertex fn main() -> @builtin(position) vec4<f32> { return nothing; }";

/// The reader of HLSL faults on this text: a compilation says so by its code, whoever started it.
#[test]
fn a_fault_in_hlsl_has_its_code_when_the_batch_is_watched_too() {
    let f = Folder::new("fault").with(
        "src/a.frag.hlsl",
        "bool2x2 f() { bool2x2 n; n[0] = true; n[1] = true; return n; }\nfloat4 main() : SV_Target { return ((true ? f() : f()) + (true ? f() : f()))[0][0] ? 1 : 0; }",
    );
    let o = batch(&f, &["-t", "tesla", "-o", "out", "src"]);
    let all = lines(&o);
    assert_eq!((all.len(), &all[0]["ok"]), (1, &false.into()), "{all:?}");
    assert!(all[0].to_string().contains("F0025"), "{all:?}");
}

#[test]
fn any_number_of_jobs_gives_the_same() {
    let mut f = Folder::new("jobs").with("src/deep/z.wgsl", GOOD).with("src/notes.txt", "no source");
    for n in 0..7 {
        f = f.with(&format!("src/{n}.wgsl"), &GOOD.replace("2.0", &format!("{n}.5")));
    }
    let one = batch(&f, &["-j", "1", "-t", "pica,tesla", "-o", "one", "src"]);
    assert!(one.status.success(), "{}", String::from_utf8_lossy(&one.stderr));
    let four = batch(&f, &["-j", "4", "-t", "pica,tesla", "-o", "four", "src"]);
    assert_eq!(String::from_utf8_lossy(&one.stdout).replace("one/", "four/"), String::from_utf8_lossy(&four.stdout));
    assert_eq!(tree(&f, "one"), tree(&f, "four"));
    let all = lines(&one);
    assert_eq!(all.len(), 16);
    assert!(all.iter().all(|l| l["ok"] == true && l["version"] == 1));
    assert_eq!(all[0]["outputs"][0], "one/0.wgsl.pica.shbin");
    assert!(tree(&f, "one").contains_key(Path::new("deep/z.wgsl.tesla.o")));
    // The same bytes as a command of its own.
    f.succeeds(&["-o", "x.shbin", "src/3.wgsl"]);
    assert_eq!(f.bytes("x.shbin"), tree(&f, "one")[Path::new("3.wgsl.pica.shbin")]);
}

#[test]
fn failures_stop_or_do_not() {
    let f = Folder::new("failures").with("src/a.wgsl", GOOD).with("src/b.wgsl", BAD).with("src/c.wgsl", GOOD);
    for jobs in ["1", "3"] {
        let o = batch(&f, &["-j", jobs, "-t", "pica", "-o", "out", "src"]);
        assert_eq!(o.status.code(), Some(1));
        let all = lines(&o);
        assert_eq!(all.len(), 2);
        assert_eq!((all[1]["ok"].as_bool(), all[1]["diagnostics"][0]["code"].as_str()), (Some(false), Some("F0010")));
        assert_eq!(tree(&f, "out").len(), 1);
        std::fs::remove_dir_all(f.0.join("out")).unwrap();
    }
    let o = batch(&f, &["--keep-going", "-t", "pica", "-o", "out", "src"]);
    assert_eq!((o.status.code(), lines(&o).len(), tree(&f, "out").len()), (Some(1), 3, 2));
}

#[test]
fn what_is_only_included_is_no_item() {
    let shader =
        "#version 450\n#include \"halve.glsl\"\nlayout(location = 0) out vec4 c;\nvoid main() { c = vec4(halve(gl_FragCoord.x)); }\n";
    let f = Folder::new("included").with("src/a.frag", shader).with("src/halve.glsl", "float halve(float x) { return x * 0.5; }\n");
    let o = batch(&f, &["-t", "tesla", "-o", "out", "src"]);
    assert_eq!((o.status.code(), lines(&o).len(), tree(&f, "out").len()), (Some(0), 1, 1), "{}", String::from_utf8_lossy(&o.stdout));
    // Whoever says the stage means every file.
    let o = batch(&f, &["--keep-going", "-t", "tesla", "-o", "all", "src", "--", "--stage", "fragment"]);
    assert_eq!(lines(&o).len(), 2);
}

#[test]
fn manifests() {
    let manifest = "{ \"file\": \"src/a.wgsl\", \"target\": [\"pica\", \"tesla\"] }\n\n{ \"file\": \"src/b.wgsl\", \"options\": [\"--emit\", \"stats\"] }\n";
    let f = Folder::new("manifest").with("src/a.wgsl", GOOD).with("src/b.wgsl", GOOD).with("all.jsonl", manifest);
    let o = batch(&f, &["-t", "usse", "-o", "out", "all.jsonl"]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    let names: Vec<PathBuf> = tree(&f, "out").into_keys().collect();
    assert_eq!(names, ["src/a.wgsl.pica.shbin", "src/a.wgsl.tesla.o", "src/b.wgsl.usse.stats.json"].map(PathBuf::from));
    let twice = f.0.join("twice.jsonl");
    std::fs::write(&twice, "{ \"file\": \"src/a.wgsl\" }\n{ \"file\": \"./src/a.wgsl\" }\n").unwrap();
    let o = batch(&f, &["-t", "usse", "-o", "out", "twice.jsonl"]);
    assert!(o.status.code() == Some(2) && String::from_utf8_lossy(&o.stderr).contains("error[C0015]"), "{o:?}");
    std::fs::write(&twice, "{ \"fil\": \"src/a.wgsl\" }\n").unwrap();
    let o = batch(&f, &["-t", "usse", "-o", "out", "twice.jsonl"]);
    assert!(
        String::from_utf8_lossy(&o.stderr).contains("twice.jsonl:1:1: error[C0018]: an unknown key `fil`: did you mean `file`?"),
        "{o:?}"
    );
}

#[test]
fn options_name_no_files_and_outputs_replace_no_source() {
    let f =
        Folder::new("once").with("src/a.wgsl", GOOD).with("b.wgsl", GOOD).with("two.jsonl", "{ \"file\": [\"src/a.wgsl\", \"b.wgsl\"] }\n");
    // A second `-o` is told of each item, by the command that gets it.
    let o = batch(&f, &["-t", "tesla", "-o", "out", "src", "--", "-o", "elsewhere"]);
    assert!(o.status.code() == Some(2) && tree(&f, "out").is_empty(), "{o:?}");
    std::fs::remove_dir_all(f.0.join("out")).unwrap();
    for options in [["-t", "pica"], ["--depfile", "d"], ["--annotate", "b.wgsl"]] {
        let o = batch(&f, &[&["-t", "tesla", "-o", "out", "src", "--"][..], &options].concat());
        assert_eq!(o.status.code(), Some(2), "{o:?}");
        assert!(String::from_utf8_lossy(&o.stderr).contains("error[C0018]"), "{o:?}");
    }
    let o = batch(&f, &["-t", "tesla", "-o", "out", "two.jsonl"]);
    assert!(o.status.code() == Some(2) || o.status.code() == Some(1), "{o:?}");
    assert!(String::from_utf8_lossy(&o.stderr).contains("two.jsonl:1:1: error[C0018]: a line of a manifest has one `file`"), "{o:?}");
    assert!(!f.0.join("out").exists());
    // IR made of IR would stand where its source does.
    let g = Folder::new("replace").with("in/a.ir", "shader vertex \"a\"\nblock0:\n    return\n").with("in/a.ir.tesla.ir", "; a source\n");
    let o = batch(&g, &["--keep-going", "-t", "tesla", "-o", "in", "in", "--", "--emit", "ir"]);
    assert!(!o.status.success() && String::from_utf8_lossy(&o.stderr).contains("error[C0016]"), "{o:?}");
    assert_eq!(g.bytes("in/a.ir.tesla.ir"), b"; a source\n");
}

#[test]
fn limits_stop_an_item_and_no_other() {
    // A pass over a long program takes more than no time at all.
    let long: String = (0..3000).map(|n| format!("x = sin(x + {n}.0) * x;\n")).collect();
    let slow = format!("@vertex fn main(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> {{ var x = p;\n{long} return x; }}");
    let f = Folder::new("limits").with("src/a.wgsl", &slow).with("src/b.wgsl", GOOD);
    let o = batch(&f, &["--keep-going", "--time", "0", "-j", "1", "-t", "tesla", "-o", "out", "src"]);
    let all = lines(&o);
    assert_eq!((o.status.code(), all[0]["diagnostics"][0]["code"].as_str()), (Some(3), Some("C0020")), "{all:?}");
    if cfg!(unix) {
        let o = batch(&f, &["--memory", "2048", "-t", "pica", "-o", "out", "src/b.wgsl"]);
        assert!(o.status.code() == Some(1), "a source is no manifest");
        std::fs::remove_file(f.0.join("src/a.wgsl")).unwrap();
        let o = batch(&f, &["--memory", "4096", "-t", "pica", "-o", "out", "src"]);
        assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stdout));
    }
}
