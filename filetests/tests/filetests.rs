//! One test per file of `cases/`, run by libtest-mimic.

use libtest_mimic::{Arguments, Failed, Trial};
use retroshade_filetests::{Registry, discover, run_file};
use std::path::Path;

fn main() {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let registry = Registry { targets: retroshade::targets(), bless: std::env::var_os("SHADERC_BLESS").is_some_and(|v| v == "1") };
    let files = discover(std::slice::from_ref(&root)).unwrap_or_default();
    let trials = files
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            let registry = registry.clone();
            Trial::test(name, move || run_file(&path, &registry).map_err(Failed::from))
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}
