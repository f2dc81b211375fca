//! Containers as inputs of `run` and `--emit reflect`: a file that says by itself what its programs take and give.

use crate::args::SourceArgs;
use crate::files;
use crate::input::is_source;
use crate::report::Failure;
use retroshade::TargetIsa;
use retroshade::ir::Module;
use retroshade::lower::Reflection;
use std::path::Path;

/// A container, and the target that knows it.
pub struct Container {
    /// The target.
    pub isa: &'static dyn TargetIsa,
    /// The file.
    pub bytes: Vec<u8>,
    name: String,
}

/// The file as a container; `None` where it is a source, or no container of the target if one is named.
pub fn open(file: &Path, source: &SourceArgs, target: Option<&str>) -> Result<Option<Container>, Failure> {
    if is_source(file, source) {
        return Ok(None);
    }
    let bytes = files::read(file)?;
    let mut all = retroshade::targets().into_iter();
    let isa = all.find(|t| t.is_container(&bytes) && target.is_none_or(|n| n == t.name()));
    Ok(isa.map(|isa| Container { isa, bytes, name: files::display(file) }))
}

impl Container {
    /// The interface of the program that `--stage` and `--entry` ask for; they may be left out where there is only one.
    pub fn program(&self, source: &SourceArgs) -> Result<Module, Failure> {
        let all = self.isa.container_interface(&self.bytes).map_err(|e| Failure::text(&self.name, "", vec![e]))?;
        let listed = all.iter().map(|m| format!("`{}` ({})", m.name, m.stage.name())).collect::<Vec<_>>().join(", ");
        let asked = |m: &Module| source.stage.is_none_or(|s| s == m.stage) && source.entry.as_ref().is_none_or(|e| *e == m.name);
        let mut fit = all.into_iter().filter(asked);
        match (fit.next(), fit.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err(Failure::plain(1, "C0007", format!("{} has no such program; it has {listed}", self.name))),
            _ => Err(Failure::usage(format!("{} has several programs, choose by --stage or --entry: {listed}", self.name))),
        }
    }

    /// What the callers of its programs bind by: one document, a list of them where it has several programs.
    pub fn reflection(&self, source: &SourceArgs) -> Result<serde_json::Value, Failure> {
        let all = self.isa.container_reflection(&self.bytes).map_err(|e| Failure::text(&self.name, "", vec![e]))?;
        let stage = source.stage.map(|s| s.name());
        let asked = |r: &Reflection| stage.is_none_or(|s| s == r.stage) && source.entry.as_ref().is_none_or(|e| *e == r.entry);
        let found: Vec<_> = all.iter().filter(|r| asked(r)).map(|r| serde_json::to_value(r).unwrap_or_default()).collect();
        match found.as_slice() {
            [] => Err(Failure::plain(1, "C0007", format!("{} has no such program", self.name))),
            [one] => Ok(one.clone()),
            _ => Ok(found.into()),
        }
    }
}
