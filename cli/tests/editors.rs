//! What `editors/` tells editors: the grammar knows the IR's text, the problem matcher the command's messages.
#![allow(clippy::unwrap_used)]

use regex::Regex;
use retroshade::ir::Opcode;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn json(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(root().join("editors/vscode").join(path)).unwrap()).unwrap()
}

/// A rule of the grammar.
fn rule(grammar: &Value, name: &str) -> Regex {
    Regex::new(grammar["repository"][name]["match"].as_str().unwrap()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn every_rule_is_used_and_is_an_expression() {
    let grammar = json("syntaxes/retroshade-ir.tmLanguage.json");
    let used: Vec<&str> = grammar["patterns"].as_array().unwrap().iter().map(|p| &p["include"].as_str().unwrap()[1..]).collect();
    let rules: Vec<&String> = grammar["repository"].as_object().unwrap().keys().collect();
    assert_eq!(used, rules);
    rules.iter().for_each(|r| drop(rule(&grammar, r)));
}

#[test]
fn operations_are_known() {
    let operation = rule(&json("syntaxes/retroshade-ir.tmLanguage.json"), "operation");
    for o in Opcode::ALL {
        let line = format!("    v1, v2 = precise {}.f32x4 v3", o.name());
        let found = operation.captures(&line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!((&found[1], &found[2], &found[3], &found[4]), ("v1, v2", "precise", o.name(), ".f32x4"));
    }
}

/// What the grammar colours of a line, as an editor does: the earliest match of all rules, of those the first; groups where a rule has them.
fn coloured(grammar: &Value, rules: &[(&str, Regex)], line: &str) -> Vec<(usize, usize)> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some((name, found)) =
        rules.iter().filter_map(|(n, r)| Some((*n, r.captures_at(line, at)?))).min_by_key(|(_, f)| f.get(0).unwrap().start())
    {
        let whole = found.get(0).unwrap();
        let parts = found.iter().skip(1).flatten();
        match grammar["repository"][name]["name"].as_str() {
            Some(_) => out.push((whole.start(), whole.end())),
            None => out.extend(parts.map(|m| (m.start(), m.end()))),
        }
        at = whole.end().max(at + 1);
        if at > line.len() {
            break;
        }
    }
    out
}

/// Every word and number of the filetests and examples has a colour.
#[test]
fn every_word_is_coloured() {
    let grammar = json("syntaxes/retroshade-ir.tmLanguage.json");
    let names: Vec<&str> = grammar["patterns"].as_array().unwrap().iter().map(|p| &p["include"].as_str().unwrap()[1..]).collect();
    let rules: Vec<(&str, Regex)> = names.into_iter().map(|n| (n, rule(&grammar, n))).collect();
    let word = Regex::new(r"\w+").unwrap();
    let mut folders = vec![root().join("examples"), root().join("filetests/cases")];
    let mut words = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = if path.extension().is_some_and(|e| e == "ir") { std::fs::read_to_string(&path).unwrap() } else { String::new() };
            for line in text.lines() {
                let all = coloured(&grammar, &rules, line);
                for w in word.find_iter(line) {
                    assert!(
                        all.iter().any(|(from, to)| *from <= w.start() && w.end() <= *to),
                        "{}: `{}` in {line}",
                        path.display(),
                        w.as_str()
                    );
                    words += 1;
                }
            }
        }
    }
    assert!(words > 50_000, "{words}");
}

#[test]
fn messages_match() {
    let package = json("package.json");
    let pattern = &package["contributes"]["problemMatchers"][0]["pattern"];
    let expression = Regex::new(pattern["regexp"].as_str().unwrap()).unwrap();
    let folder = std::env::temp_dir().join(format!("shaderc-editors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a b.wgsl"), "@fragment\nfn main() -> @location(0) vec4f {\n    return nothing;\n}\n").unwrap();
    let o = Command::new(env!("CARGO_BIN_EXE_shaderc")).current_dir(&folder).args(["--target", "tesla", "a b.wgsl"]).output().unwrap();
    let text = String::from_utf8(o.stderr).unwrap();
    let found = text.lines().find_map(|l| expression.captures(l)).unwrap_or_else(|| panic!("{text}"));
    let part = |name: &str| found[pattern[name].as_u64().unwrap() as usize].to_string();
    assert_eq!([part("file"), part("line"), part("column"), part("severity")], ["a b.wgsl", "3", "12", "error"]);
    assert!(part("code").starts_with('F') && part("message").contains("nothing"));
    std::fs::remove_dir_all(&folder).unwrap();
}
