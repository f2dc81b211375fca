//! SPIR-V, the hub of the front end: words to the IR, SSA to SSA.
//!
//! GLSL arrives here by way of glslang, WGSL by way of naga's writer, and binaries as they are.

use crate::FrontOptions;
use crate::convert::Lang;
use retroshade_ir::{Diagnostic, Module, Span};
use std::collections::BTreeSet;

/// A SPIR-V module and what the one who made it knows beyond its words.
pub(crate) struct Words<'a> {
    /// The module, header included.
    pub(crate) words: &'a [u32],
    /// The language that it was written in.
    pub(crate) lang: Lang,
    /// Global variables in the order of declaration: a block by its instance name or, where it has none, its own. Others follow in the order
    /// of the words.
    pub(crate) order: Vec<String>,
    /// Inputs and outputs whose locations the source does not name.
    pub(crate) unplaced: (BTreeSet<String>, BTreeSet<String>),
    /// Uniforms that the source declares as truth values, by their names in the interface; SPIR-V has them as integers.
    pub(crate) bools: BTreeSet<String>,
    /// The span of a file's line and column (0: unknown).
    pub(crate) place: &'a dyn Fn(&str, u32, u32) -> Span,
    /// Where a global variable is declared, by name.
    pub(crate) declared: &'a dyn Fn(&str) -> Span,
}

impl<'a> Words<'a> {
    /// Words of which nothing more is known.
    pub(crate) fn new(words: &'a [u32], lang: Lang) -> Words<'a> {
        Words {
            words,
            lang,
            order: Vec::new(),
            unplaced: Default::default(),
            bools: BTreeSet::new(),
            place: &|_, _, _| Span::NONE,
            declared: &|_| Span::NONE,
        }
    }
}

/// Translates one entry point.
pub(crate) fn translate(w: &Words<'_>, options: &FrontOptions) -> Result<Module, Vec<Diagnostic>> {
    let _ = (w.words, w.lang, &w.order, &w.unplaced, &w.bools, w.place, w.declared, options);
    Err(vec![Diagnostic::error("F0012", Span::NONE, "this reader of SPIR-V is not finished")])
}
