//! From a source to a module: the thread that it is read on, and the bounds that the caller promises.

use crate::{FrontError, FrontOptions};
use retroshade_ir::{Diagnostic, FileId, Module, SourceMap, Span};

/// Stack of the reader: glslang's, naga's and this crate's recursion needs far less within the limits of `guard`.
#[cfg(not(target_family = "wasm"))]
const STACK: usize = 192 << 20;

type Errors = Vec<Diagnostic>;

/// Where messages go that belong to no line: the first line that says anything.
pub(crate) fn start(file: FileId, text: &str) -> Span {
    let blank = text.len() - text.trim_start().len();
    let line = text.trim_start().lines().next();
    line.map_or(Span::NONE, |l| Span::new(file, blank as u32, (blank + l.trim_end().len()) as u32))
}

/// A line, counted from 1, without the blanks around it.
pub(crate) fn line(file: FileId, text: &str, number: u32) -> Span {
    let mut at = 0;
    for (l, n) in text.split_inclusive('\n').zip(1..) {
        if n == number {
            let begin = at + l.len() - l.trim_start().len();
            return Span::new(file, begin as u32, (begin + l.trim().len()) as u32);
        }
        at += l.len();
    }
    Span::NONE
}

/// Reads a source with `f`, on a thread of its own; a panic there ends as an error.
pub(crate) fn read<F>(name: &str, text: &str, options: &FrontOptions, f: F) -> Result<Module, FrontError>
where
    F: FnOnce(FileId, &mut SourceMap) -> Result<Module, Errors> + Send,
{
    let mut sources = SourceMap::default();
    let file = sources.add(name, text);
    match on_worker(start(file, text), || f(file, &mut sources)) {
        Ok(m) => with_ranges(m, options, sources),
        Err(diagnostics) => Err(FrontError { sources, diagnostics }),
    }
}

/// The module with the bounds that the caller promises.
fn with_ranges(mut m: Module, options: &FrontOptions, sources: SourceMap) -> Result<Module, FrontError> {
    let mut diagnostics = Vec::new();
    for (name, lo, hi) in &options.ranges {
        if let Err(e) = m.declare_range(name, *lo, *hi) {
            diagnostics.push(Diagnostic::error("F0016", Span::NONE, format!("--range {name}: {e}")));
        }
    }
    m.sources = sources.clone();
    if diagnostics.is_empty() { Ok(m) } else { Err(FrontError { sources, diagnostics }) }
}

/// WebAssembly has one thread, and its host's stack.
#[cfg(target_family = "wasm")]
fn on_worker<F: FnOnce() -> Result<Module, Errors> + Send>(_: Span, f: F) -> Result<Module, Errors> {
    f()
}

/// Runs a translation on a thread of its own; a panic in it is reported with what it says, at `start`.
#[cfg(not(target_family = "wasm"))]
fn on_worker<F: FnOnce() -> Result<Module, Errors> + Send>(start: Span, f: F) -> Result<Module, Errors> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("frontend".into()).stack_size(STACK).spawn_scoped(scope, f);
        match worker {
            Ok(handle) => handle.join().unwrap_or_else(|payload| {
                let said = payload.downcast_ref::<&str>().map(|s| s.to_string()).or_else(|| payload.downcast_ref::<String>().cloned());
                let said = said.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
                Err(vec![Diagnostic::error("F0002", start, format!("the reader of the source failed on it (a bug): {said}"))])
            }),
            Err(e) => Err(vec![Diagnostic::error("F0003", Span::NONE, format!("no thread to read the source on: {e}"))]),
        }
    })
}
