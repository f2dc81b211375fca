//! What the front end costs: the PICA200 programs of `examples/pica`, written by hand in the IR, against their GLSL twins. A twin may not take more
//! instructions. Skips, visibly, where the twins are absent (`../shared` beside the repository, or `RETROSHADE_SHARED`).

use retroshade::Options;
use retroshade::frontend::{FrontOptions, glsl};
use retroshade::ir::Stage;
use retroshade::lower::testing::beside;
use std::path::{Path, PathBuf};

#[test]
fn glsl_takes_no_more_instructions_than_ir_written_by_hand() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(shared) = beside("density/pica") else { return };
    let isa = retroshade::target("pica").expect("a target");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(here.join("../examples/pica")).expect("examples").filter_map(|e| e.ok().map(|e| e.path())).collect();
    files.sort();
    let (mut pairs, mut worse, mut sums) = (0, Vec::new(), (0, 0));
    for ir in files {
        let stem = ir.file_stem().and_then(|s| s.to_str()).unwrap_or("").to_string();
        let (Ok(text), Ok(twin)) = (std::fs::read_to_string(&ir), std::fs::read_to_string(shared.join(format!("{stem}.vert")))) else {
            continue;
        };
        let by_hand = retroshade::ir::parse(&stem, &text).unwrap_or_else(|e| panic!("{stem}: {:?}", e.diagnostics));
        // As the command does it for this machine.
        let options = FrontOptions { stage: Some(Stage::Vertex), functions: isa.keeps_functions(), ..FrontOptions::default() };
        let front = glsl(&stem, &twin, &options).unwrap_or_else(|e| panic!("{stem}: {e}"));
        let count = |m| isa.compile(m, &Options::default()).unwrap_or_else(|e| panic!("{stem}: {e}")).stats.instructions;
        let (a, b) = (count(&by_hand), count(&front));
        println!("{stem:20} {a:4} by hand, {b:4} from GLSL");
        sums = (sums.0 + a, sums.1 + b);
        pairs += 1;
        if b > a {
            worse.push(format!("{stem}: {b} instead of {a}"));
        }
    }
    println!("{pairs} pairs, {} by hand, {} from GLSL", sums.0, sums.1);
    assert!(pairs >= 20 && worse.is_empty(), "{worse:?}");
}
