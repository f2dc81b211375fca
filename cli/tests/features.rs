//! Every feature of the source languages on values worked out by hand (`features/*`): the interpreter on the source gives the stated results,
//! each machine that has the stage gives them within the bounds of its arithmetic, its machine code equal to its legalised IR bit for bit; or it
//! refuses, as the file says, with a message that has a place in the source.
//!
//! The comments at the top of a file say what goes in and what must come out, in the form of `shaderc run`'s files:
//! `@bind {…}`, `@expect {…}` (only what is named is compared), `@define {…}`,
//! `@chip TARGET: name`, and `@refused TARGET: part of the message`.

use rayon::prelude::*;
use retroshade::frontend::{FrontOptions, glsl, wgsl};
use retroshade::ir::{Module, Reference, Stage, interp};
use retroshade::lower::bind;
use retroshade::lower::testing::same_results;
use retroshade::{Options, TargetIsa};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file's directives, each with its text; a directive goes on over comment lines until the next one.
fn directives(text: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let Some(comment) = line.strip_prefix("//") else { break };
        match comment.trim().strip_prefix('@') {
            Some(d) => {
                let (name, rest) = d.split_once(' ').unwrap_or((d, ""));
                out.push((name.to_string(), rest.to_string()));
            }
            None => {
                if let Some((_, rest)) = out.last_mut() {
                    rest.push_str(comment);
                }
            }
        }
    }
    out
}

fn number(v: &Value) -> Option<f64> {
    match v {
        Value::String(s) => s.parse().ok(),
        Value::Bool(b) => Some(f64::from(u8::from(*b))),
        v => v.as_f64(),
    }
}

/// Where `got` is not what `want` names.
fn differs(want: &Value, got: &Value, tolerance: f64, at: &str) -> Option<String> {
    match (want, got) {
        (Value::Object(w), Value::Object(g)) => w.iter().find_map(|(k, v)| match g.get(k) {
            Some(x) => differs(v, x, tolerance, &format!("{at}.{k}")),
            None => Some(format!("{at}.{k} is missing")),
        }),
        (Value::Array(w), Value::Array(g)) if w.len() == g.len() => {
            w.iter().zip(g).enumerate().find_map(|(n, (v, x))| differs(v, x, tolerance, &format!("{at}[{n}]")))
        }
        _ => match (number(want), number(got)) {
            (Some(w), Some(g)) if (w - g).abs() <= tolerance * w.abs().max(1.0) || w == g => None,
            // A signed result may be stated as the word that it is.
            (Some(w), Some(g)) if (w - g).abs() == 4294967296.0 => None,
            _ => Some(format!("{at} is {got}, not {want}")),
        },
    }
}

fn on_target(isa: &dyn TargetIsa, m: &Module, json: &str, want: &Value, chip: Option<&str>, refused: Option<&str>) -> Result<(), String> {
    let env = bind::parse_env(m, json).map_err(|e| e.to_string())?;
    // Colours as they are, so that results can be compared closely.
    let color_format = retroshade::lower::ColorFormat::F32;
    let options = Options { check_allocation: true, chip: chip.map(str::to_string), color_format, ..Options::default() };
    let shader = match (isa.compile(m, &options), refused) {
        (Ok(s), None) => s,
        (Ok(_), Some(_)) => return Err("is not refused".into()),
        (Err(e), Some(part)) if e.to_string().contains(part.trim()) && e.exit_status() < 70 => {
            let placed = e.diagnostics().iter().all(|d| !d.span.is_none());
            return if placed { Ok(()) } else { Err(format!("a refusal without a place: {e}")) };
        }
        (Err(e), _) => return Err(format!("refused: {e}")),
    };
    let legal = interp::run(&shader.legal, &env, isa.numerics()).map_err(|e| format!("the legalised IR: {e}"))?;
    let got = isa.simulate_in_every_order(&shader, &env).map_err(|e| format!("the simulator: {e}"))?;
    same_results(m, &legal, &got).map_err(|e| format!("the simulator differs from the legalised IR: {e}"))?;
    let tolerance = if isa.name() == "pica" { 2e-3 } else { 2e-6 };
    differs(want, &bind::result_to_json(m, &got), tolerance, "").map_or(Ok(()), Err)
}

fn check(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a source");
    let all = directives(&text);
    let get = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, t)| t.as_str());
    let json = |name: &str| match get(name) {
        Some(t) => serde_json::from_str::<Value>(t).map_err(|e| vec![format!("@{name}: {e}")]),
        None => Ok(Value::Object(Default::default())),
    };
    let parts = || -> Result<_, Vec<String>> { Ok((json("define")?, json("bind")?, json("expect")?)) };
    let (define, env, want) = match parts() {
        Ok(p) => p,
        Err(e) => return e,
    };
    let defines = define.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.as_str().unwrap_or("").to_string())).collect();
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("?");
    let stage = match path.extension().and_then(|e| e.to_str()) {
        Some("vert") => Some(Stage::Vertex),
        Some("frag") => Some(Stage::Fragment),
        Some("comp") => Some(Stage::Compute),
        Some("geom") => Some(Stage::Geometry),
        _ => None,
    };
    let options = FrontOptions { stage, defines, ..FrontOptions::default() };
    let module = if stage.is_none() { wgsl(name, &text, &options) } else { glsl(name, &text, &options) };
    let m = match module {
        Ok(m) => m,
        Err(e) => return vec![e.to_string()],
    };
    if let Err(e) = retroshade::ir::verify(&m) {
        return e.iter().map(|d| format!("the IR is not valid: {d}")).collect();
    }
    let json = env.to_string();
    let env = match bind::parse_env(&m, &json) {
        Ok(e) => e,
        Err(e) => return vec![e.to_string()],
    };
    let source = match interp::run(&m, &env, &Reference) {
        Ok(r) => bind::result_to_json(&m, &r),
        Err(e) => return vec![e.to_string()],
    };
    let mut bad: Vec<String> = differs(&want, &source, 1e-6, "").into_iter().collect();
    for isa in retroshade::targets() {
        if !isa.stages().contains(&m.stage) {
            continue;
        }
        let about = |what: &str| all.iter().filter(|(n, _)| n == what).find_map(|(_, t)| t.strip_prefix(&format!("{}: ", isa.name())));
        if let Err(e) = on_target(isa, &m, &json, &want, about("chip"), about("refused")) {
            bad.push(format!("{}: {e}", isa.name()));
        }
    }
    bad
}

#[test]
fn features_have_their_stated_results() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/features");
    let only = std::env::var("RETROSHADE_ONLY").unwrap_or_default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).expect("the folder").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files.retain(|f| f.to_string_lossy().contains(&only));
    let results: Vec<Vec<String>> = files.par_iter().map(|f| check(f)).collect();
    let mut failed = 0;
    for (f, bad) in files.iter().zip(&results) {
        failed += usize::from(!bad.is_empty());
        for b in bad {
            println!("{}: {b}", f.file_name().unwrap_or_default().to_string_lossy());
        }
    }
    println!("{} files, {failed} with faults", files.len());
    assert!(failed == 0 && !files.is_empty(), "{failed} of {} files", files.len());
}
