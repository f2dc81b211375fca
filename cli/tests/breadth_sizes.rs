//! Code sizes over public programs that nobody tuned for, in sums: those that all machines take, and those that each takes. A change
//! that helps the known programs and hurts these shows here. Skips, visibly, where the folder is absent (`../shared` beside the
//! repository, or `RETROSHADE_SHARED`).
#![allow(clippy::unwrap_used)]

use rayon::prelude::*;
use retroshade::frontend::FrontOptions;
use retroshade::ir::Stage;
use retroshade::lower::testing::{beside, golden};
use retroshade::{Options, SourceError, TargetIsa};
use std::fmt::Write;
use std::path::Path;

/// Bytes of the code and operations of the IR.
type Size = (u64, u64);

fn size(isa: &dyn TargetIsa, path: &Path, stage: Option<Stage>, entry: Option<&str>) -> Option<Size> {
    let source = std::fs::read(path).unwrap();
    let front = FrontOptions { stage, entry: entry.map(str::to_string), ..FrontOptions::default() };
    let options = Options { texts: false, ..Options::default() };
    let name = path.to_string_lossy();
    let refused = |e: &SourceError| assert_ne!(e.status, 70, "{name} on {}: an internal error", isa.name());
    let shader = retroshade::compile(&name, &source, isa, &front, &options).inspect_err(refused).ok()?;
    Some((shader.stats.bytes.into(), shader.stats.ir_ops.into()))
}

fn line(out: &mut String, name: &str, target: &str, sizes: &[Size]) {
    let (bytes, operations) = sizes.iter().fold((0, 0), |(b, o), (x, y)| (b + x, o + y));
    let _ = writeln!(out, "{name}\t{target}\t{}\t{bytes}\t{operations}\t{:.3}", sizes.len(), bytes as f64 / operations.max(1) as f64);
}

#[test]
fn sums_of_public_programs() {
    let Some(folder) = beside("breadth") else { return };
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let targets = retroshade::targets();
    let files: Vec<Vec<&str>> = manifest.lines().skip(1).map(|l| l.split('\t').collect()).collect();
    assert!(files.len() > 500);
    let sizes: Vec<Vec<Option<Size>>> = files
        .par_iter()
        .map(|f| {
            let entry = Some(f[3]).filter(|e| !e.is_empty() && *e != "-");
            targets.iter().map(|t| size(*t, &folder.join(f[0]), Stage::from_name(f[2]), entry)).collect()
        })
        .collect();
    let mut out = String::from("# programs that\ttarget\tprograms\tbytes\tIR operations\tbytes per operation\n");
    for (name, all) in [("all machines take", true), ("this one takes", false)] {
        for (k, t) in targets.iter().enumerate() {
            let taken = sizes.iter().filter(|s| !all || s.iter().all(Option::is_some)).filter_map(|s| s[k]);
            line(&mut out, name, t.name(), &taken.collect::<Vec<_>>());
        }
    }
    golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/breadth_sizes.tsv"), &out).unwrap();
}
