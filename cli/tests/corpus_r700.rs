//! Every shader of the corpus that R700 can take compiles, and its code gives what its legalised IR gives, bit for bit, on
//! random inputs. The corpus lies beside the repository; without it the test says that it skips.
#![allow(clippy::unwrap_used)]

use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::Stage;
use retroshade::lower::Options;
use retroshade::lower::testing::{Rng, Verdict, beside, diff_with, random_env};

/// Compute programs have no stage on this machine.
fn stage(s: &str) -> Option<Stage> {
    Some(match s {
        "vert" => Stage::Vertex,
        "geom" => Stage::Geometry,
        "frag" => Stage::Fragment,
        _ => return None,
    })
}

#[test]
fn the_corpus_compiles_and_agrees() {
    let Some(folder) = beside("corpus") else { return };
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let isa = retroshade::target("r700").unwrap();
    let (mut agree, mut stopped, mut wrong) = (0, 0, Vec::new());
    for line in manifest.lines().skip(1).filter(|l| !l.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, kind, wgsl, entry, ..] = cells[..] else { continue };
        let (Some(stage), false) = (stage(kind), matches!(wgsl, "" | "-")) else { continue };
        let text = std::fs::read_to_string(folder.join(wgsl)).unwrap();
        let options = FrontOptions { stage: Some(stage), entry: Some(entry.to_string()), ..FrontOptions::default() };
        let m = match frontend::wgsl(wgsl, &text, &options) {
            Ok(m) => m,
            Err(e) => {
                wrong.push(format!("{file}: {e}"));
                continue;
            }
        };
        // One quick schedule each: sizes are tested elsewhere.
        let options = Options { opt: retroshade::lower::OptLevel::O1, ..Options::default() };
        let env = random_env(&m, 8, 12, &mut Rng::new(5));
        match diff_with(isa, &m, &env, &options) {
            Ok(Verdict::Agrees { .. }) => agree += 1,
            // Random inputs may make loops endless; such programs prove nothing here.
            Ok(Verdict::Refused { message, .. }) if message.contains("does not run") => stopped += 1,
            Ok(Verdict::Refused { message, .. }) => wrong.push(format!("{file}: {message}")),
            Err(e) => wrong.push(format!("{file}: {e}")),
        }
    }
    println!("{agree} agree, {stopped} never end on these inputs, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(agree > 150, "{agree}");
}
