//! `corpus FOLDER [TABLE] [TARGET…]`: the time that code generation takes for all `.wgsl` files below a folder, in one process.
//!
//! Processor time, the best of five runs, from the verified IR to the bytes; the front end is left out. TABLE is a tab-separated
//! table whose first column names files (without `.wgsl`) and that has a column of milliseconds for each peer (`nv50_link_ms`,
//! `rv770sb_link_ms`): their sums are taken over the files that are compiled here.

use retroshade::frontend::FrontOptions;
use retroshade::{Language, Module, TargetIsa, source, targets};
use retroshade_benches::{best, options};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const RUNS: usize = 5;

/// The peers' columns.
const PEERS: &[(&str, &str, &str)] = &[("tesla", "nv50_link_ms", "nv50"), ("r700", "rv770sb_link_ms", "r600 with sb")];

/// All `.wgsl` files below a folder, by name.
fn files(folder: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut here: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    here.sort();
    for path in here {
        if path.is_dir() {
            files(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "wgsl") {
            out.push(path);
        }
    }
    Ok(())
}

/// Milliseconds of a peer, by file.
fn column(table: &str, name: &str) -> BTreeMap<String, f64> {
    let mut lines = table.lines().map(|l| l.split('\t').collect::<Vec<_>>());
    let Some(n) = lines.next().and_then(|head| head.iter().position(|h| *h == name)) else { return BTreeMap::new() };
    lines.filter_map(|l| Some((l.first()?.to_string(), l.get(n)?.parse().ok()?))).collect()
}

/// A line of the table: programs, sum, median, time per IR operation, and the peer's sum.
fn line(isa: &dyn TargetIsa, modules: &[(String, Module)], table: &str) -> String {
    let mut times: Vec<Duration> = Vec::new();
    let (mut ops, mut peer_sum, mut slowest) = (0, 0.0, (Duration::ZERO, ""));
    let peer = PEERS.iter().find(|p| p.0 == isa.name());
    let known = peer.map(|p| column(table, p.1)).unwrap_or_default();
    for (name, m) in modules {
        if isa.compile(m, &options()).is_err() {
            continue;
        }
        let time = best(RUNS, || isa.compile(m, &options()));
        slowest = slowest.max((time, name));
        times.push(time);
        ops += m.functions.values().map(|f| f.inst_count()).sum::<usize>();
        peer_sum += known.get(name).copied().unwrap_or(0.0);
    }
    times.sort();
    let sum: Duration = times.iter().sum();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let of_peer = peer
        .filter(|_| peer_sum > 0.0)
        .map_or("–".to_string(), |p| format!("{}: {peer_sum:.0} ms, ours {:.2} of it", p.2, ms(sum) / peer_sum));
    let each = ms(sum) * 1e3 / ops.max(1) as f64;
    format!(
        "| {} | {} | {:.0} ms | {:.2} ms | {each:.1} µs | {} {:.0} ms | {of_peer} |",
        isa.name(),
        times.len(),
        ms(sum),
        ms(median),
        slowest.1,
        ms(slowest.0)
    )
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = args.first().map(PathBuf::from) else {
        eprintln!("usage: corpus FOLDER [TABLE] [TARGET…]");
        return ExitCode::from(2);
    };
    let mut paths = Vec::new();
    if let Err(e) = files(&folder, &mut paths) {
        eprintln!("{}: {e}", folder.display());
        return ExitCode::FAILURE;
    }
    let table = args[1..].iter().find(|a| a.contains('.')).and_then(|p| std::fs::read_to_string(p).ok()).unwrap_or_default();
    let mut modules = Vec::new();
    for path in &paths {
        let short = path.strip_prefix(&folder).unwrap_or(path).with_extension("");
        let name = short.to_string_lossy().into_owned();
        let Ok(bytes) = std::fs::read(path) else { continue };
        if let Ok(m) = source::read(Language::Wgsl, &name, &bytes, &FrontOptions::default()) {
            modules.push((name, m));
        }
    }
    println!("| machine | programs | sum | median | per IR operation | longest | the peer's code generation |");
    println!("|---|---|---|---|---|---|---|");
    let named = |isa: &dyn TargetIsa| args.iter().any(|a| a == isa.name()) || !targets().iter().any(|t| args.iter().any(|a| a == t.name()));
    targets().into_iter().filter(|t| named(*t)).for_each(|t| println!("{}", line(t, &modules, &table)));
    ExitCode::SUCCESS
}
