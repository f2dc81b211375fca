//! Every shader of the corpus and of the density sets converts and verifies. Skips, visibly, where they are absent.

use retroshade_frontend::{FrontOptions, glsl, wgsl};
use retroshade_ir::{Module, Stage};
use std::path::{Path, PathBuf};

fn shared() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let at = std::env::var_os("RETROSHADE_SHARED").map_or(root, PathBuf::from);
    if at.join("corpus/MANIFEST.tsv").exists() {
        Some(at)
    } else {
        println!("skipped: {} is not there", at.display());
        None
    }
}

fn stage(s: &str) -> Stage {
    match s {
        "vert" => Stage::Vertex,
        "comp" => Stage::Compute,
        "geom" => Stage::Geometry,
        _ => Stage::Fragment,
    }
}

/// Converts, verifies and prints; gives the message where one of them fails.
fn convert(path: &Path, stage: Stage, entry: Option<&str>) -> Result<Module, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let options = FrontOptions { stage: Some(stage), entry: entry.map(str::to_string), ..FrontOptions::default() };
    let name = path.display().to_string();
    let result = if path.extension().is_some_and(|e| e == "wgsl") { wgsl(&name, &text, &options) } else { glsl(&name, &text, &options) };
    let module = result.map_err(|e| e.to_string())?;
    retroshade_ir::verify(&module).map_err(|e| e.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("; "))?;
    let text = retroshade_ir::print(&module);
    let again = retroshade_ir::parse(&name, &text).map_err(|e| {
        format!("printed text does not parse: {}\n{text}", e.diagnostics.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("; "))
    })?;
    if retroshade_ir::print(&again) != text {
        return Err("printed text changes when parsed and printed again".into());
    }
    if std::env::var_os("RETROSHADE_SHOW").is_some_and(|s| name.contains(&*s.to_string_lossy())) {
        println!("{text}");
    }
    Ok(module)
}

fn report(failures: &[String], total: usize) {
    for f in failures {
        println!("{f}");
    }
    println!("{} of {total} convert", total - failures.len());
    assert!(total > 0 && failures.is_empty(), "{} of {total} fail", failures.len());
}

#[test]
fn corpus() {
    let Some(root) = shared() else { return };
    let manifest = std::fs::read_to_string(root.join("corpus/MANIFEST.tsv")).expect("manifest");
    let (mut failures, mut total) = (Vec::new(), 0);
    for line in manifest.lines().skip(1) {
        let f: Vec<&str> = line.split('\t').collect();
        let mut jobs = vec![(f[2], Some(f[3]))];
        if f[4] != "-" {
            jobs.push((f[4], None));
        }
        for (file, entry) in jobs {
            total += 1;
            if let Err(e) = convert(&root.join("corpus").join(file), stage(f[1]), entry) {
                failures.push(format!("{file}: {e}"));
            }
        }
    }
    report(&failures, total);
}

#[test]
fn density() {
    let Some(root) = shared() else { return };
    let (mut failures, mut total) = (Vec::new(), 0);
    for folder in ["pica", "r700", "usse/glsl"] {
        let Ok(dir) = std::fs::read_dir(root.join("density").join(folder)) else { continue };
        let mut files: Vec<PathBuf> = dir.filter_map(|e| e.ok().map(|e| e.path())).collect();
        files.sort();
        for path in files {
            let Some(ext @ ("vert" | "frag" | "comp")) = path.extension().and_then(|e| e.to_str()) else { continue };
            total += 1;
            if let Err(e) = convert(&path, stage(ext), None) {
                failures.push(format!("{}: {e}", path.display()));
            }
        }
    }
    report(&failures, total);
}
