//! The filetest runner: source files whose comments say what to run and what must come out.
//!
//! Comments begin with `;` in `.ir` files and with `//` in GLSL and WGSL.
//!
//! ```text
//! ; test COMMAND [precise-output]     cat verify opt(PASS,…) interpret naga legalise lower regalloc emit disasm run
//! ;                                   compile compile(expect-fail)
//! ; target NAME [opt=0] [chip=g80]    for commands from legalise on; one line per target
//! ; pattern NAME …                    patterns that must fire in `lower`: what a case is about, to be searched for
//! ; rule OPERATION …                  operations that `legalise` and `lower` must have replaced
//! ; check: TEXT                       filecheck directives (check nextln sameln not unordered regex) on every output,
//! ; check@WORD: TEXT                  or only on the output of one command or target
//! ; error: [CODE][@COLUMN] TEXT       an error on this line; `verify` and `compile(expect-fail)` want exactly these
//! ; error@TARGET: …                   … from one target only; `@0` for errors without a place, or anywhere
//! ; env: JSON                         uniforms, textures, storage, workgroups of the runs that follow
//! ; tolerance: NUMBER                 of the runs that follow (default 0 interpreted, 0.001 on machines)
//! ; run: INPUTS => OUTPUTS            JSON objects by name, or lists of them; `storage` and `discarded` are names too
//! ; expected COMMAND [TARGET]         with `precise-output`: the exact output, one comment per line, to the file's end
//! ```
//!
//! With `SHADERC_BLESS=1` exact outputs are rewritten. On machines, `run` also demands that the simulator's result equals
//! the interpreter's on the legalised IR bit for bit.
#![forbid(unsafe_code)]

mod commands;
mod directives;
mod execute;

use retroshade_lower::TargetIsa;
use std::path::{Path, PathBuf};

pub use directives::{Directives, Test};

/// What the runner may use; handed in, since targets stand above it.
#[derive(Clone, Default)]
pub struct Registry {
    /// The targets.
    pub targets: Vec<&'static dyn TargetIsa>,
    /// Whether exact expectations are rewritten.
    pub bless: bool,
}

impl Registry {
    /// A target by name.
    pub fn target(&self, name: &str) -> Option<&'static dyn TargetIsa> {
        self.targets.iter().copied().find(|t| t.name() == name)
    }
}

/// Extensions of files that the runner understands.
const EXTENSIONS: &[&str] = &["ir", "wgsl", "vert", "frag", "geom", "comp", "glsl", "hlsl", "cg"];

/// The largest test file, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// All test files at or below the given paths, sorted. A folder that a symbolic link leads back to is walked once; a path without any test
/// file is an error, and so is what is neither file nor folder.
pub fn discover(paths: &[PathBuf]) -> Result<Vec<PathBuf>, std::io::Error> {
    let error = |kind, p: &Path, what: &str| std::io::Error::new(kind, format!("{}: {what}", p.display()));
    let mut out = Vec::new();
    let mut walked = std::collections::BTreeSet::new();
    for path in paths {
        let before = out.len();
        let mut again = false;
        let mut stack = vec![path.clone()];
        while let Some(p) = stack.pop() {
            let meta = std::fs::metadata(&p).map_err(|_| error(std::io::ErrorKind::NotFound, &p, "no such file"))?;
            if meta.is_dir() {
                if !walked.insert(p.canonicalize()?) {
                    again = true;
                    continue;
                }
                for e in std::fs::read_dir(&p)? {
                    let e = e?.path();
                    let known = e.extension().and_then(|x| x.to_str()).is_some_and(|x| EXTENSIONS.contains(&x));
                    if known || e.is_dir() {
                        stack.push(e);
                    }
                }
            } else if !meta.is_file() {
                return Err(error(std::io::ErrorKind::InvalidInput, &p, "this is neither a file nor a folder"));
            } else if meta.len() > MAX_BYTES {
                let what = format!("too large for a test (needed {} bytes, available {MAX_BYTES})", meta.len());
                return Err(error(std::io::ErrorKind::InvalidInput, &p, &what));
            } else {
                out.push(p);
            }
        }
        if out.len() == before && !again {
            let what = format!("no test in this folder (files ending in {})", EXTENSIONS.join(", "));
            return Err(error(std::io::ErrorKind::NotFound, path, &what));
        }
    }
    out.sort();
    out.dedup();
    Ok(out)
}

/// Runs all tests of a file; the error is a report for people.
pub fn run_file(path: &Path, registry: &Registry) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("test");
    let blessed = run_text(name, &bytes, registry)?;
    match blessed {
        Some(new) if new != text => {
            retroshade_lower::outfile::write(path, new.as_bytes()).map_err(|e| format!("cannot write {}: {e}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Runs all tests of a text named `name`; gives the text with rewritten expectations where the registry blesses.
pub fn run_text(name: &str, bytes: &[u8], registry: &Registry) -> Result<Option<String>, String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let comment = if name.ends_with(".ir") { ";" } else { "//" };
    let directives = Directives::parse(&text, comment)?;
    if directives.tests.is_empty() {
        return Err(format!("no `{comment} test COMMAND` line"));
    }
    let mut failures = Vec::new();
    let mut new_text = text.clone();
    for test in &directives.tests {
        let outputs = match commands::run(name, bytes, test, &directives, registry) {
            Ok(o) => o,
            Err(e) => {
                failures.push(format!("test {}: {e}", test.title()));
                continue;
            }
        };
        for o in outputs {
            let title = o.target.as_ref().map_or_else(|| test.title(), |t| format!("{} {t}", test.title()));
            if let Err(e) = check(&o, test, &directives, comment, registry.bless, &mut new_text) {
                failures.push(format!("test {title}: {e}"));
            }
        }
    }
    if failures.is_empty() { Ok(registry.bless.then_some(new_text)) } else { Err(failures.join("\n")) }
}

/// Holds one output against the file's expectations.
fn check(
    o: &commands::Output,
    test: &Test,
    directives: &Directives,
    comment: &str,
    bless: bool,
    new_text: &mut String,
) -> Result<(), String> {
    let relevant: Vec<&str> = directives
        .checks
        .iter()
        .filter(|c| c.only.as_ref().is_none_or(|w| *w == test.command || Some(w) == o.target.as_ref()))
        .map(|c| c.directive.as_str())
        .collect();
    if !relevant.is_empty() {
        let mut builder = filecheck::CheckerBuilder::new();
        for d in relevant {
            builder.directive(d).map_err(|e| format!("bad directive `{d}`: {e}"))?;
        }
        let checker = builder.finish();
        let good = checker.check(&o.text, filecheck::NO_VARIABLES).map_err(|e| e.to_string())?;
        if !good {
            let (_, report) = checker.explain(&o.text, filecheck::NO_VARIABLES).map_err(|e| e.to_string())?;
            return Err(format!("filecheck failed\n{report}"));
        }
    }
    if test.precise {
        let key = o.target.as_ref().map_or_else(|| test.command.clone(), |t| format!("{} {t}", test.command));
        let expected = directives.expected.iter().find(|e| e.0 == key).map_or("", |e| e.1.as_str());
        if expected.trim_end() != o.text.trim_end() {
            if bless {
                directives::replace_expected(new_text, comment, &key, &o.text);
            } else {
                let diff = similar::TextDiff::from_lines(expected, &o.text);
                let diff = diff.unified_diff().header("expected", "actual").to_string();
                return Err(format!("the output is not the expected one (SHADERC_BLESS=1 rewrites it)\n{diff}"));
            }
        }
    }
    Ok(())
}
