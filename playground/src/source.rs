//! A request's text as a module.

use crate::Request;
use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::{Module, Stage};
use retroshade::source::{SourceError, read};
use retroshade::{Language, ir};
use std::path::Path;

/// Reads a source. `functions` says whether the machine keeps them.
pub fn module(r: &Request, words: &[u8], entry: &str, stage: Option<Stage>, functions: bool) -> Result<Module, SourceError> {
    let (language, named) = Language::of_path(Path::new(&r.name)).unwrap_or((Language::Ir, None));
    let entry = Some(entry).filter(|e| !e.is_empty()).map(str::to_string);
    let options = FrontOptions { entry, stage: stage.or(named), functions, ..FrontOptions::default() };
    if words.is_empty() {
        return read(language, &r.name, r.text.as_bytes(), &options);
    }
    let wrong = |sources, diagnostics| SourceError::new(&r.name, 1, sources, diagnostics);
    let module = frontend::spirv_with_text(&r.name, &r.text, words, &options).map_err(|e| wrong(e.sources, e.diagnostics))?;
    ir::verify(&module).map_err(|d| wrong(module.sources.clone(), d))?;
    Ok(module)
}
