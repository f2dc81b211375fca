//! Files that lie beside the repository here and in CI, but not at a user's.

/// A file of the folder, by its path there; says that the test is skipped where there is none.
pub fn read(path: &str) -> Option<String> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let at = std::env::var_os("RETROSHADE_SHARED").map_or(beside.into(), std::path::PathBuf::from);
    let found = std::fs::read_to_string(at.join(path)).ok();
    if found.is_none() {
        eprintln!("skipped: no shared/{path} beside the repository");
    }
    found
}
