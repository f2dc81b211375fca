//! Where code comes from: `--emit map`, `--annotate`, the lines of `stats`.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

const VERTEX: &str = "#version 330\nin vec4 p;\nuniform mat4 m;\nuniform vec4 k;\nvoid main() {\n    vec4 q = m * p;\n    q = q * k;\n    gl_Position = q;\n}\n";

fn folder(name: &str) -> PathBuf {
    let f = std::env::temp_dir().join(format!("shaderc-map-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&f).unwrap();
    std::fs::write(f.join("a.vert"), VERTEX).unwrap();
    f
}

fn shaderc(folder: &PathBuf, arguments: &[&str]) -> Vec<u8> {
    let o = Command::new(env!("CARGO_BIN_EXE_shaderc")).current_dir(folder).args(arguments).output().unwrap();
    assert!(o.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&o.stderr));
    o.stdout
}

fn json(folder: &PathBuf, arguments: &[&str]) -> Value {
    serde_json::from_slice(&shaderc(folder, arguments)).unwrap()
}

#[test]
fn every_stretch_of_code_names_its_source() {
    let f = folder("map");
    for isa in retroshade::targets() {
        let map = json(&f, &["-t", isa.name(), "--emit", "map", "a.vert"]);
        let code = shaderc(&f, &["-t", isa.name(), "--emit", "bin", "-o", "-", "a.vert"]);
        assert_eq!((map["version"].as_u64(), map["bytes"].as_u64()), (Some(1), Some(code.len() as u64)), "{}", isa.name());
        let ranges = map["ranges"].as_array().unwrap();
        let mut end = 0;
        let mut lines = Vec::new();
        for r in ranges {
            let (from, to) = (r["start"].as_u64().unwrap(), r["end"].as_u64().unwrap());
            assert!(from >= end && to > from && to <= code.len() as u64 && r["file"] == "a.vert", "{}: {map}", isa.name());
            end = to;
            lines.push(r["line"].as_u64().unwrap());
        }
        for line in [6, 7] {
            assert!(lines.contains(&line), "{}: nothing comes from line {line}: {map}", isa.name());
        }
    }
}

#[test]
fn assembly_shows_the_source() {
    let f = folder("annotate");
    for isa in retroshade::targets() {
        let plain = String::from_utf8(shaderc(&f, &["-t", isa.name(), "a.vert"])).unwrap();
        let text = String::from_utf8(shaderc(&f, &["-t", isa.name(), "--annotate", "a.vert"])).unwrap();
        let comment = |line: usize, source: &str| format!("{} a.vert:{line}: {source}\n", isa.comment());
        assert!(text.contains(&comment(6, "vec4 q = m * p;")) && text.contains(&comment(7, "q = q * k;")), "{}:\n{text}", isa.name());
        let without: String = text.lines().filter(|l| !l.contains(" a.vert:")).map(|l| format!("{l}\n")).collect();
        assert_eq!(without, plain, "{}", isa.name());
    }
}

#[test]
fn statistics_say_what_verify_reached() {
    let f = folder("verified");
    // The chosen inputs are small; a fraction above 1 is not found by any search, and the branch is turned.
    let text = "#version 330\nin vec4 p;\nuniform vec4 k;\nvoid main() {\n    gl_Position = p;\n    if (k.x * 0.001 > 50.0)\n        for (int i = 0; i < int(k.y); i++) gl_Position *= p.yzwx + k.z;\n    \
                if (fract(k.x) > 2.0)\n        for (int i = 0; i < int(k.y); i++) gl_Position *= p.yzwx + k.w;\n}\n";
    std::fs::write(f.join("a.vert"), text).unwrap();
    // PICA200 has no loops of unknown length.
    for isa in retroshade::targets().into_iter().filter(|t| t.name() != "pica") {
        let of = |arguments: &[&str]| {
            let all = [&["-t", isa.name(), "--emit", "stats", "a.vert"], arguments].concat();
            json(&f, &all)["shaders"][0]["targets"][isa.name()].clone()
        };
        assert!(of(&[])["verified"].is_null(), "{}", isa.name());
        let v = of(&["--verify"])["verified"].clone();
        let number = |name: &str| v[name].as_u64().unwrap();
        assert!(number("input_sets") >= 6 && number("detours") > 0, "{}: {v}", isa.name());
        assert_eq!((number("blocks_reached"), &v["unreached"]), (number("blocks"), &serde_json::json!([])), "{}: {v}", isa.name());
        assert!(number("outcomes_turned") > 0 && number("outcomes_reached") <= number("outcomes"), "{}: {v}", isa.name());
    }
}

#[test]
fn statistics_have_bytes_by_line() {
    let f = folder("stats");
    for isa in retroshade::targets() {
        let stats = json(&f, &["-t", isa.name(), "--emit", "stats", "a.vert"]);
        let target = &stats["shaders"][0]["targets"][isa.name()];
        let lines = target["lines"].as_object().unwrap();
        let sum: u64 = lines.values().map(|n| n.as_u64().unwrap()).sum();
        assert!(lines.contains_key("a.vert:6") && sum > 0 && sum <= target["bytes"].as_u64().unwrap() + 8, "{}: {target}", isa.name());
    }
}

#[test]
fn a_disassembly_shows_the_source() {
    let f = folder("dis");
    for isa in retroshade::targets() {
        shaderc(&f, &["-t", isa.name(), "--emit", "map", "-o", "map.json", "a.vert"]);
        shaderc(&f, &["-t", isa.name(), "-o", "a.bin", "a.vert"]);
        let text = String::from_utf8(shaderc(&f, &["dis", "--map", "map.json", "a.bin"])).unwrap();
        let comments = text.lines().filter(|l| l.starts_with(&format!("{} a.vert:", isa.comment()))).count();
        assert!(comments >= 2, "{}:\n{text}", isa.name());
    }
}
