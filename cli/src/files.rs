//! Reading inputs and writing outputs: size caps, `-`, and files that appear whole or not at all.
//!
//! The command remembers what it has read: makefile rules list it, and no output may take its place.

use crate::limits::{largest_input, saw};
use crate::report::Failure;
use retroshade::lower::outfile;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// Every file that was read, in order.
static INPUTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Standard input, which can be read only once and may be wanted for several targets.
static STDIN: OnceLock<Vec<u8>> = OnceLock::new();

/// What was read from pipes and devices.
static PIPES: Mutex<Vec<(PathBuf, Vec<u8>)>> = Mutex::new(Vec::new());

/// A path as diagnostics show it.
pub fn display(path: &Path) -> String {
    if path.as_os_str() == "-" { "<stdin>".to_string() } else { path.display().to_string() }
}

/// Every file that was read so far, each once, in order.
pub fn inputs() -> Vec<PathBuf> {
    INPUTS.lock().map(|i| i.clone()).unwrap_or_default()
}

/// Notes a file that was read.
pub fn remember(path: &Path) {
    if let Ok(mut i) = INPUTS.lock()
        && !i.iter().any(|p| p == path)
    {
        i.push(path.to_path_buf());
    }
}

/// Refuses outputs that would replace each other or an input.
pub fn check_outputs(outputs: &[&Path]) -> Result<(), Failure> {
    for (n, o) in outputs.iter().enumerate() {
        // Devices and pipes keep nothing that could be lost.
        if o.as_os_str() == "-" || std::fs::metadata(o).is_ok_and(|m| !m.is_file()) {
            continue;
        }
        if outputs[..n].iter().any(|p| same_file(p, o)) {
            return Err(Failure::plain(2, "C0015", format!("two outputs would be written to {}", o.display())));
        }
        if inputs().iter().any(|i| same_file(i, o)) {
            return Err(Failure::plain(2, "C0016", format!("the output {} is also an input", o.display())));
        }
    }
    Ok(())
}

/// Whether two paths name one file, which need not exist yet, nor the folders above it.
fn same_file(a: &Path, b: &Path) -> bool {
    a == b || place(a).is_some_and(|x| place(b) == Some(x))
}

/// A path without links and dots, as far as it exists.
pub fn place(p: &Path) -> Option<PathBuf> {
    if let Ok(p) = p.canonicalize() {
        return Some(p);
    }
    let folder = p.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(if folder == p { folder.to_path_buf() } else { place(folder)? }.join(p.file_name()?))
}

/// Reads a file or stdin. A pipe can be read only once and may be wanted for several targets.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = display(path);
    let fail = |e: std::io::Error| Failure::plain(1, "C0003", format!("cannot read {name}: {e}"));
    let mut bytes = Vec::new();
    let most = largest_input();
    let too_large = |n: u64| {
        let m = format!("{name} is too large (needed {n} bytes, available {most})");
        Failure::plain(3, "C0004", m)
    };
    if path.as_os_str() == "-" {
        match STDIN.get() {
            Some(b) => bytes.clone_from(b),
            None => {
                std::io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
                let _ = STDIN.set(bytes.clone());
            }
        }
    } else if let Some(b) = PIPES.lock().ok().and_then(|p| Some(p.iter().find(|p| p.0 == path)?.1.clone())) {
        bytes = b;
    } else {
        let file = std::fs::File::open(path).map_err(fail)?;
        let meta = file.metadata().map_err(fail)?;
        if meta.is_dir() {
            return Err(Failure::plain(1, "C0003", format!("cannot read {name}: it is a folder")));
        }
        if meta.len() > most {
            return Err(too_large(meta.len()));
        }
        bytes.reserve(meta.len() as usize);
        file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
        if !meta.is_file()
            && let Ok(mut p) = PIPES.lock()
        {
            p.push((path.to_path_buf(), bytes.clone()));
        }
    }
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64));
    }
    saw(bytes.len() as u64);
    if path.as_os_str() != "-" {
        remember(path);
    }
    Ok(bytes)
}

/// Text without the byte-order mark that some editors put before it.
pub fn without_mark(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(..3);
    }
    bytes
}

/// Reads text.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = without_mark(read(path)?);
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
    check_outputs(&[path])?;
    let fail = |e: std::io::Error| Failure::plain(1, "C0005", format!("cannot write {}: {e}", path.display()));
    outfile::write(path, bytes).map_err(fail)
}

/// Writes to `-o`, or stdout without one.
pub fn write_or_stdout(path: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    match path {
        Some(p) => write(p, bytes),
        None => stdout(bytes),
    }
}
