//! The corpus's programs without loops beside what Mesa makes of them.

use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::Stage;
use retroshade::lower::testing::{beside, table_beside};
use retroshade::{Options, TargetIsa};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The bytes of a WGSL program on a machine.
fn bytes(path: &Path, stage: Stage, entry: &str, isa: &dyn TargetIsa, chip: Option<&str>) -> u32 {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.display().to_string();
    let options =
        FrontOptions { stage: Some(stage), entry: Some(entry.to_string()), functions: isa.keeps_functions(), ..FrontOptions::default() };
    let module = frontend::wgsl(&name, &text, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    let options = Options { chip: chip.map(str::to_string), ..Options::default() };
    isa.compile(&module, &options).unwrap_or_else(|e| panic!("{name} on {}: {e}", isa.name())).stats.bytes
}

/// The table `docs/density/mesa.tsv`, where the corpus is at hand.
pub fn measure() -> Option<String> {
    let corpus = beside("corpus")?;
    let mesa: BTreeMap<String, BTreeMap<String, String>> =
        table_beside("density/mesa.tsv")?.into_iter().map(|r| (r["file"].clone(), r)).collect();
    let manifest = table_beside("corpus/MANIFEST.tsv")?;
    let mut out = String::from("# compiler and program\tour bytes\tits bytes\n");
    for (name, column, target, chip) in [("nv50", "nv50_bytes", "tesla", Some("g80")), ("rv770", "rv770_best_bytes", "r700", None)] {
        let isa = retroshade::target(target).unwrap();
        for r in &manifest {
            let Some(theirs) = mesa.get(&r["file"]).and_then(|m| m[column].parse::<u32>().ok()) else { continue };
            if ["", "-"].contains(&r["wgsl"].as_str()) || r["features"].split(',').any(|f| f == "loop") {
                continue;
            }
            let stage = match r["stage"].as_str() {
                "vert" => Stage::Vertex,
                "comp" => Stage::Compute,
                _ => Stage::Fragment,
            };
            let ours = bytes(&corpus.join(&r["wgsl"]), stage, &r["entry"], isa, chip);
            let _ = writeln!(out, "{name} {}\t{ours}\t{theirs}", r["file"]);
        }
    }
    Some(out)
}
