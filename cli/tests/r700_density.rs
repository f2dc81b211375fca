//! Sizes of R700 code for programs that nobody tuned for: bytes and instruction groups, and how they compare with the least of what
//! Mesa's three back ends make of each, over the corpus and the breadth set beside the repository; without them the test says that it
//! skips. Programs with loops are left out, because unrolling policies differ. `SHADERC_BLESS=1` rewrites the tables.
#![allow(clippy::unwrap_used)]

use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::{Module, Stage};
use retroshade::lower::Options;
use retroshade::lower::testing::{beside, golden, table_beside};
use std::collections::BTreeMap;
use std::path::Path;

fn stage(name: &str) -> Option<Stage> {
    Some(match name {
        "vert" | "vertex" => Stage::Vertex,
        "geom" | "geometry" => Stage::Geometry,
        "frag" | "fragment" => Stage::Fragment,
        _ => return None,
    })
}

fn module(folder: &Path, file: &str, stage: Stage, entry: &str) -> Option<Module> {
    let path = folder.join(file);
    let options = FrontOptions { stage: Some(stage), entry: Some(entry.to_string()).filter(|e| !e.is_empty()), ..FrontOptions::default() };
    let bytes = std::fs::read(&path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let read = match path.extension()?.to_str()? {
        "wgsl" => frontend::wgsl(file, &text, &options),
        "spv" => frontend::spirv(file, &bytes, &options),
        _ => frontend::glsl(file, &text, &options),
    };
    read.ok()
}

/// Measures a set against its peers and compares with the golden table.
fn measure(set: &str, peers: &str) {
    let Some(folder) = beside(set) else { return };
    let (Some(rows), Some(peers)) = (table_beside(&format!("{set}/MANIFEST.tsv")), table_beside(peers)) else { return };
    let peers: BTreeMap<&str, &BTreeMap<String, String>> = peers.iter().map(|p| (&*p["file"], p)).collect();
    let isa = retroshade::target("r700").unwrap();
    let mut new = "# file\tbytes\tgroups\tbytes of the least\tgroups of the least\n".to_string();
    let (mut logs, mut counts) = ([0.0f64; 2], [0u32; 2]);
    for row in &rows {
        let Some(peer) = peers.get(&*row["file"]) else { continue };
        let source = row.get("wgsl").unwrap_or(&row["file"]);
        let loops = match row.get("features") {
            Some(f) => f.split(',').any(|f| f == "loop"),
            None => peer.get("nv50_loops").is_none_or(|n| n != "0"),
        };
        let figure = |name: &str| peer.get(name).and_then(|n| n.parse::<u64>().ok());
        let (Some(bytes), Some(groups), Some(stage), false) =
            (figure("rv770_best_bytes"), figure("rv770_best_alu_groups"), stage(&row["stage"]), loops || matches!(&**source, "" | "-"))
        else {
            continue;
        };
        let Some(m) = module(&folder, source, stage, row.get("entry").map_or("", |e| e)) else { continue };
        let Ok(code) = isa.compile(&m, &Options::default()) else { continue };
        let own = [code.stats.bytes as u64, code.stats.detail.get("alu_groups").copied().unwrap_or(0)];
        let mut cells = Vec::new();
        for (k, (own, peer)) in own.into_iter().zip([bytes, groups]).enumerate() {
            let ratio = own as f64 / peer as f64;
            cells.push(if own > 0 && peer > 0 { format!("{ratio:.3}") } else { "-".to_string() });
            if own > 0 && peer > 0 {
                logs[k] += ratio.ln();
                counts[k] += 1;
            }
        }
        new.push_str(&format!("{}\t{}\t{}\t{}\t{}\n", row["file"], own[0], own[1], cells[0], cells[1]));
    }
    let mean = |k: usize| (logs[k] / counts[k].max(1) as f64).exp();
    new.push_str(&format!("# geometric means: bytes {:.3} of {}, groups {:.3} of {}\n", mean(0), counts[0], mean(1), counts[1]));
    println!("{set}: bytes {:.3} of {}, groups {:.3} of {}", mean(0), counts[0], mean(1), counts[1]);
    golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/r700_density/{set}.tsv")), &new).unwrap();
}

#[test]
fn the_corpus_keeps_its_sizes() {
    measure("corpus", "density/mesa.tsv");
}

#[test]
fn the_breadth_set_keeps_its_sizes() {
    measure("breadth", "density/breadth-mesa.tsv");
}
