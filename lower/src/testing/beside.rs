//! Material that lies beside the repository where the project is developed and tested, but not at a user's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file or folder in `../shared` beside the repository, or in the folder that `RETROSHADE_SHARED` names. Where there is none, a
/// visible line says that the test is skipped.
pub fn beside(path: &str) -> Option<PathBuf> {
    let folder =
        std::env::var_os("RETROSHADE_SHARED").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let found = Some(folder.join(path)).filter(|at| at.exists());
    if found.is_none() {
        println!("skipped: no shared/{path} beside the repository");
    }
    found
}

/// The text of a file [`beside`] the repository.
pub fn text_beside(path: &str) -> Option<String> {
    std::fs::read_to_string(beside(path)?).ok()
}

/// The rows of a tab-separated table [`beside`] the repository, by the names of its columns.
pub fn table_beside(path: &str) -> Option<Vec<BTreeMap<String, String>>> {
    let text = text_beside(path)?;
    let mut lines = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(|l| l.split('\t').map(str::to_string));
    let header: Vec<String> = lines.next()?.collect();
    Some(lines.map(|cells| header.iter().cloned().zip(cells).collect()).collect())
}
