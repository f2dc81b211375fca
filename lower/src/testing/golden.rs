//! Golden tables: sizes and the like that a test computes and the repository keeps.

use std::path::Path;

/// Compares a table with what is computed now; with `SHADERC_BLESS=1` in the environment it is written instead. The error
/// shows both.
pub fn golden(table: &Path, new: &str) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", table.display());
    if std::env::var_os("SHADERC_BLESS").is_some() {
        return std::fs::write(table, new).map_err(failed);
    }
    let old = std::fs::read_to_string(table).map_err(failed)?;
    if old == new {
        return Ok(());
    }
    Err(format!("{} changed: look, then set SHADERC_BLESS=1\nkept:\n{old}\nnow:\n{new}", table.display()))
}
