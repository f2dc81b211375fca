//! Sizes of Tesla code beside what Mesa's nv50 makes of the same programs: bytes, instructions, registers and warps, over the corpus and
//! the breadth set beside the repository, and beside nvcc's over the kernels of `density/tesla`; without them the test says that it skips.
//! Programs with loops count for the warps only, because unrolling policies differ. `SHADERC_BLESS=1` rewrites the tables.
//!
//! Constants that a program brings along in c[] are counted beside the code, four bytes each.
#![allow(clippy::unwrap_used)]

use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::{Module, Stage};
use retroshade::lower::isa::Stats;
use retroshade::lower::testing::{beside, golden, table_beside};
use retroshade::lower::{OptLevel, Options};
use std::collections::BTreeMap;
use std::path::Path;

fn stage(name: &str) -> Option<Stage> {
    Some(match name {
        "vert" | "vertex" => Stage::Vertex,
        "geom" | "geometry" => Stage::Geometry,
        "frag" | "fragment" => Stage::Fragment,
        "comp" | "compute" => Stage::Compute,
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

fn compile(m: &Module, opt: OptLevel) -> Option<Stats> {
    let options = Options { chip: Some("g80".to_string()), opt, ..Options::default() };
    retroshade::target("tesla").unwrap().compile(m, &options).ok().map(|c| c.stats)
}

/// Warps that a multiprocessor of G80 holds, in pairs.
fn warps(registers: u64) -> u64 {
    ((8192 / (32 * registers)) & !1).min(24)
}

/// Geometric means, and how often warps differ.
#[derive(Default)]
struct Means {
    logs: [f64; 4],
    count: f64,
    fewer: u32,
    more: u32,
}

impl Means {
    /// Adds a program: our bytes, instructions, registers and bytes with `-Os`, and the peer's.
    fn add(&mut self, own: [u64; 4], peer: [u64; 4]) {
        for ((log, own), peer) in self.logs.iter_mut().zip(own).zip(peer) {
            *log += (own.max(1) as f64 / peer.max(1) as f64).ln();
        }
        self.count += 1.0;
        self.fewer += u32::from(warps(own[2]) < warps(peer[2]));
        self.more += u32::from(warps(own[2]) > warps(peer[2]));
    }
    fn text(&self) -> String {
        let [bytes, instructions, registers, small] = self.logs.map(|l| (l / self.count.max(1.0)).exp());
        format!(
            "# geometric means of {}: bytes {bytes:.3}, with -Os {small:.3}, instructions {instructions:.3}, registers {registers:.3}; fewer warps {}, more {}\n",
            self.count, self.fewer, self.more
        )
    }
}

const HEADER: &str =
    "# program\tbytes\tconstants\tinstructions\tregisters\twarps\tbytes with -Os\tits bytes\tits instructions\tits registers\tits warps\n";

/// One line of a table; registers are at least `least` on both sides.
fn line(name: &str, m: &Module, [bytes, instructions, registers]: [u64; 3], least: u64, means: &mut Means) -> Option<String> {
    let (fast, small) = (compile(m, OptLevel::O2)?, compile(m, OptLevel::Os)?);
    let (own, its) = (u64::from(fast.registers).max(least), registers.max(least));
    means.add([fast.bytes.into(), fast.instructions.into(), own, small.bytes.into()], [bytes, instructions, its, bytes]);
    Some(format!(
        "{name}\t{}\t{}\t{}\t{own}\t{}\t{}\t{bytes}\t{instructions}\t{its}\t{}\n",
        fast.bytes,
        fast.detail["constant_bytes"],
        fast.instructions,
        warps(own),
        small.bytes,
        warps(its)
    ))
}

fn finish(set: &str, new: &str, means: &Means) {
    print!("{set}: {}", means.text());
    golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/tesla_density/{set}.tsv")), &format!("{new}{}", means.text()))
        .unwrap();
}

/// Measures a set against Mesa and compares with the golden table. At most one program in twenty may have fewer warps.
fn measure(set: &str, peers: &str) {
    let Some(folder) = beside(set) else { return };
    let (Some(rows), Some(peers)) = (table_beside(&format!("{set}/MANIFEST.tsv")), table_beside(peers)) else { return };
    let peers: BTreeMap<&str, &BTreeMap<String, String>> = peers.iter().map(|p| (&*p["file"], p)).collect();
    let (mut new, mut means, mut with_loops) = (HEADER.to_string(), Means::default(), Means::default());
    for row in &rows {
        let Some(peer) = peers.get(&*row["file"]) else { continue };
        let source = row.get("wgsl").unwrap_or(&row["file"]);
        let loops = match row.get("features") {
            Some(f) => f.split(',').any(|f| f == "loop"),
            None => peer.get("nv50_loops").is_none_or(|n| n != "0"),
        };
        let figure = |name: &str| peer.get(name).and_then(|n| n.parse::<u64>().ok());
        let (Some(bytes), Some(instructions), Some(registers), Some(stage), false) =
            (figure("nv50_bytes"), figure("nv50_inst"), figure("nv50_gpr"), stage(&row["stage"]), matches!(&**source, "" | "-"))
        else {
            continue;
        };
        let Some(m) = module(&folder, source, stage, row.get("entry").map_or("", |e| e)) else { continue };
        let (name, means) = match loops {
            true => (format!("{} (loop)", row["file"]), &mut with_loops),
            false => (row["file"].clone(), &mut means),
        };
        new.extend(line(&name, &m, [bytes, instructions, registers], 4, means));
    }
    let (count, fewer) = (means.count + with_loops.count, means.fewer + with_loops.fewer);
    let all = format!("# with loops {count} programs: fewer warps {fewer}, more {}\n", means.more + with_loops.more);
    print!("{all}");
    finish(set, &format!("{new}{all}"), &means);
    assert!(f64::from(fewer) * 20.0 <= count, "{all}");
}

#[test]
fn the_corpus_keeps_its_sizes() {
    measure("corpus", "density/mesa.tsv");
}

#[test]
fn the_breadth_set_keeps_its_sizes() {
    measure("breadth", "density/breadth-mesa.tsv");
}

/// Kernels that nvcc compiled. Every workgroup finds room.
#[test]
fn kernels_keep_their_sizes() {
    let Some(folder) = beside("density/tesla") else { return };
    let Ok(table) = std::fs::read_to_string(folder.join("nvcc.tsv")) else { return };
    let (mut new, mut means) = (HEADER.to_string(), Means::default());
    for row in table.lines().filter(|l| !l.starts_with('#')) {
        let cells: Vec<&str> = row.split('\t').collect();
        let peer: Vec<u64> = cells[1..].iter().filter_map(|c| c.parse().ok()).collect();
        let m = module(&folder, &format!("{}.comp", cells[0]), Stage::Compute, "").unwrap();
        new += &line(cells[0], &m, [peer[1], peer[0], peer[2]], 1, &mut means).unwrap();
    }
    finish("nvcc", &new, &means);
}
