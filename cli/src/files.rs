//! Reading inputs and writing outputs: size caps, `-`, and files that appear whole or not at all.

use crate::report::Failure;
use std::io::{Read, Write};
use std::path::Path;

/// The largest input of any kind, in bytes.
const MAX_INPUT: u64 = 64 << 20;

/// A path as diagnostics show it.
pub fn display(path: &Path) -> String {
    if path.as_os_str() == "-" { "<stdin>".to_string() } else { path.display().to_string() }
}

/// Reads a file or stdin.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = display(path);
    let fail = |e: std::io::Error| Failure::plain(1, "C0003", format!("cannot read {name}: {e}"));
    let mut bytes = Vec::new();
    let too_large = |n: u64| {
        let m = format!("{name} is too large (needed {n} bytes, available {MAX_INPUT})");
        Failure::plain(3, "C0004", m)
    };
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut bytes).map_err(fail)?;
    } else {
        let file = std::fs::File::open(path).map_err(fail)?;
        let meta = file.metadata().map_err(fail)?;
        if meta.is_dir() {
            return Err(Failure::plain(1, "C0003", format!("cannot read {name}: it is a folder")));
        }
        if meta.len() > MAX_INPUT {
            return Err(too_large(meta.len()));
        }
        file.take(MAX_INPUT + 1).read_to_end(&mut bytes).map_err(fail)?;
    }
    if bytes.len() as u64 > MAX_INPUT {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Reads text.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = read(path)?;
    String::from_utf8(bytes).map_err(|e| {
        Failure::plain(1, "E0002", format!("{}: this is not text: invalid UTF-8 at byte {}", display(path), e.utf8_error().valid_up_to()))
    })
}

/// Writes to stdout; a closed pipe is nobody's error.
pub fn stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::plain(1, "C0005", format!("cannot write: {e}"))),
        _ => Ok(()),
    }
}

/// Writes a file: to a neighbour first, then renamed, so that nobody sees half of it.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return stdout(bytes);
    }
    let fail = |e: std::io::Error| Failure::plain(1, "C0005", format!("cannot write {}: {e}", path.display()));
    // Devices and pipes cannot be renamed over.
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return std::fs::write(path, bytes).map_err(fail);
    }
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let done = std::fs::write(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, path));
    done.map_err(|e| {
        let _ = std::fs::remove_file(&temporary);
        fail(e)
    })
}

/// Writes to `-o`, or stdout without one.
pub fn write_or_stdout(path: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    match path {
        Some(p) => write(p, bytes),
        None => stdout(bytes),
    }
}
