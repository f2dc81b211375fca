//! Writes `docs/corpus.md`: what every target makes of every shader of a corpus.
//!
//! usage: corpus_table FOLDER [OUT]     FOLDER has a `MANIFEST.tsv` with the columns file, stage, wgsl, entry, glsl_for_naga

use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::{Module, Stage};
use retroshade::lower::Options;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

fn stage(s: &str) -> Stage {
    match s {
        "vert" => Stage::Vertex,
        "geom" => Stage::Geometry,
        "comp" => Stage::Compute,
        _ => Stage::Fragment,
    }
}

fn load(path: &Path, stage: Stage, entry: Option<&str>) -> Result<Module, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let options = FrontOptions { stage: Some(stage), entry: entry.map(str::to_string), ..FrontOptions::default() };
    let name = path.display().to_string();
    let glsl = path.extension().is_none_or(|e| e != "wgsl");
    if glsl { frontend::glsl(&name, &text, &options) } else { frontend::wgsl(&name, &text, &options) }.map_err(|e| e.to_string())
}

/// A target's answer: bytes and instructions, or why not.
fn outcome(target: &dyn retroshade::TargetIsa, module: &Result<Module, String>) -> Result<String, String> {
    let module = module.as_ref().map_err(|e| format!("front end: {e}"))?;
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target.compile(module, &Options::default())));
    match made {
        Ok(Ok(s)) => Ok(format!("{} B, {}", s.stats.bytes, s.stats.instructions)),
        Ok(Err(e)) => Err(e.diagnostics().iter().map(|d| d.to_string()).collect::<Vec<_>>().join("; ")),
        Err(_) => Err("panic".to_string()),
    }
}

/// What the vertex and fragment programs above may use and PowerVR USSE has not.
const LACKS: &str = "\n## What PowerVR USSE lacks\n
Every vertex and fragment program compiles for it but those that use one of these; the machine's page says why each is impossible there.\n
* storage buffers and atomics
* texel offsets of other levels than 0, array textures, comparison, multisampled and integer textures
* several colour outputs, integer colours
* `flat` floats, and more than two integers at a location
* `front_facing`, sample and primitive indices
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("usage: corpus_table FOLDER [OUT]")?;
    let out = args.next();
    let folder = Path::new(&folder);
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv"))?;
    let targets = retroshade::targets();
    let mut text = String::from(
        "# The corpus on every target\n\nMade by `cargo run -p retroshade --example corpus_table FOLDER docs/corpus.md`. A cell holds bytes and instructions of the code, or the number of the\n\
         reason below why the target refuses. A shader that exists in both languages has two rows.\n\n",
    );
    let _ = writeln!(text, "| shader | stage |{}", targets.iter().map(|t| format!(" {} |", t.name())).collect::<String>());
    let _ = writeln!(text, "|---|---|{}", "---|".repeat(targets.len()));
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut order = Vec::new();
    let mut ok = vec![0; targets.len()];
    let mut total = 0;
    for line in manifest.lines().skip(1).filter(|l| !l.starts_with('#')) {
        let f: Vec<&str> = line.split('\t').collect();
        let [_, kind, wgsl, entry, glsl, ..] = f[..] else { continue };
        let mut jobs = vec![(wgsl, Some(entry))];
        if glsl != "-" {
            jobs.push((glsl, None));
        }
        for (file, entry) in jobs {
            total += 1;
            let module = load(&folder.join(file), stage(kind), entry);
            let name = entry.filter(|e| *e != "main").map_or(file.to_string(), |e| format!("{file} `{e}`"));
            let _ = write!(text, "| {name} | {kind} |");
            for (n, t) in targets.iter().enumerate() {
                match outcome(*t, &module) {
                    Ok(size) => {
                        ok[n] += 1;
                        let _ = write!(text, " {size} |");
                    }
                    Err(reason) => {
                        let k = *reasons.entry(reason.clone()).or_insert_with(|| {
                            order.push(reason);
                            order.len()
                        });
                        let _ = write!(text, " ({k}) |");
                    }
                }
            }
            text.push('\n');
        }
    }
    let _ = writeln!(
        text,
        "\nCompiled of {total}: {}.\n\n## Reasons\n",
        targets.iter().zip(&ok).map(|(t, n)| format!("{} {n}", t.name())).collect::<Vec<_>>().join(", ")
    );
    for (k, r) in order.iter().enumerate() {
        let _ = writeln!(text, "{}. {}", k + 1, r.replace('|', "\\|").replace('\n', " "));
    }
    text.push_str(LACKS);
    match out {
        Some(o) => std::fs::write(o, text)?,
        None => print!("{text}"),
    }
    Ok(())
}
