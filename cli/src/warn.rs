//! `-W`: which warnings are shown, and which are errors.

use crate::args::MessageFormat;
use crate::report::{self, Failure};
use retroshade::ir::{Diagnostic, Module, Severity};
use retroshade::lower::nearest::hint;
use retroshade::warnings::NAMES;
use std::cell::Cell;

/// What becomes of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Silent,
    Warning,
    Error,
}

/// What becomes of all of them.
#[derive(Debug)]
pub struct Levels {
    levels: Vec<(&'static str, Level)>,
    failed: Cell<bool>,
}

impl Levels {
    /// Reads `-W` options, later ones over earlier ones: `NAME`, `no-NAME`, `error=NAME`, `all`, `none`, `error`.
    pub fn read(options: &[String]) -> Result<Levels, Failure> {
        let mut levels: Vec<_> = NAMES.iter().map(|(_, code)| (*code, Level::Warning)).collect();
        for o in options {
            let (name, level) = match o.as_str() {
                "none" => (None, Level::Silent),
                "all" => (None, Level::Warning),
                "error" => (None, Level::Error),
                o => match (o.strip_prefix("no-"), o.strip_prefix("error=")) {
                    (Some(n), _) => (Some(n), Level::Silent),
                    (_, Some(n)) => (Some(n), Level::Error),
                    _ => (Some(o), Level::Warning),
                },
            };
            let chosen = name.map(code).transpose()?;
            for l in levels.iter_mut().filter(|l| chosen.is_none_or(|c| c == l.0)) {
                // `error` makes errors of what would be shown.
                l.1 = if name.is_none() && level == Level::Error && l.1 == Level::Silent { Level::Silent } else { level };
            }
        }
        Ok(Levels { levels, failed: Cell::new(false) })
    }

    /// Shows warnings about a module as they are wanted.
    pub fn show(&self, warnings: Vec<Diagnostic>, module: &Module, file: String, format: MessageFormat) {
        let wanted = warnings.into_iter().filter_map(|mut d| {
            match self.levels.iter().find(|l| l.0 == d.code).map_or(Level::Warning, |l| l.1) {
                Level::Silent => return None,
                Level::Warning => d.severity = Severity::Warning,
                Level::Error => {
                    d.severity = Severity::Error;
                    self.failed.set(true);
                }
            }
            Some(d)
        });
        let diagnostics = wanted.collect();
        report::show(&Failure { status: 0, sources: module.sources.clone(), diagnostics, file: Some(file) }, format);
    }

    /// An error if a warning was one.
    pub fn verdict(&self) -> Result<(), Failure> {
        if self.failed.get() { Err(Failure::silent(1)) } else { Ok(()) }
    }
}

/// The code that a name or a code stands for.
fn code(name: &str) -> Result<&'static str, Failure> {
    let meant = if name == "uninitialized" { "uninitialised" } else { name };
    let found = NAMES.iter().find(|(n, c)| *n == meant || *c == name);
    found.map(|f| f.1).ok_or_else(|| Failure::usage(format!("there is no warning `{name}`: {}", hint(name, NAMES.iter().map(|n| n.0)))))
}
