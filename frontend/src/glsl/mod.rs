//! GLSL and HLSL by way of glslang, the reference implementation: preprocessed, checked and turned into SPIR-V there, read by
//! [`crate::spirv`].
//!
//! ```text
//! text ─upgrade─▶ one dialect ─glslang─▶ preprocessed text ─mark─▶ with places ─glslang─▶ SPIR-V ─reader─▶ ir::Module
//! ```
//!
//! What SPIR-V does not say (the order of declarations, which members are truth values) is read off the preprocessed text.

mod builtins;
mod casts;
mod cg;
mod compile;
mod constant_buffers;
mod convert;
mod declared;
mod destinations;
mod edit;
mod entry;
mod first;
mod globals;
mod glslang;
mod hlsl;
mod inherit;
mod interface;
mod lex;
mod library;
mod lists;
mod majority;
mod mark;
mod meaning;
mod messages;
mod names;
mod namespaces;
mod once;
mod otherwise;
mod outside;
mod packing;
mod places;
mod products;
mod registers;
mod reserved;
mod scopes;
mod shapes;
mod thin;
mod typed;
mod upgrade;
mod words;

use crate::FrontOptions;
use crate::parse::start;
use crate::spirv::{self, Words};
use globals::Globals;
use places::Files;
use retroshade_ir::{Diagnostic, FileId, Module, SourceMap, Span};
use std::collections::BTreeMap;

pub(crate) use compile::compile;

/// SPIR-V of a program, and what it does not say.
pub(crate) struct Compiled {
    pub(crate) words: Vec<u32>,
    /// The order and places of declarations.
    pub(crate) globals: Globals,
    /// Where what `globals` names stands.
    declared: BTreeMap<String, Span>,
    files: Files,
    /// What is defined for specialisation constants.
    pub(crate) defines: Vec<(String, String)>,
}

impl Compiled {
    /// A message that names something points at it rather than at its statement, and one without a place at the first line.
    fn narrow(&self, d: &mut Diagnostic, start: Span) {
        let name = d.message.split('`').nth(1).and_then(|n| n.split(['.', '[']).next()).unwrap_or("");
        // What a namespace declares stands there by its last word.
        let name = name.rsplit("::").next().unwrap_or(name);
        if d.span.is_none() {
            d.span = self.declared.get(name).copied().or_else(|| self.files.first(name)).unwrap_or(start);
        } else if let Some(s) = self.files.narrow(d.span, name) {
            d.span = s;
        }
    }
}

type Errors = Vec<Diagnostic>;

/// Translates GLSL, or with `hlsl` HLSL of that entry point. Files that the text includes are added to `sources`.
pub(crate) fn translate(
    text: &str,
    file: FileId,
    hlsl: Option<&str>,
    sources: &mut SourceMap,
    options: &FrontOptions,
) -> Result<Module, Errors> {
    let c = compile(text, file, hlsl, sources, options)?;
    let place = |file: &str, line, column| c.files.statement(file, line, column);
    let declared = |_, name: &str| {
        let known = c.declared.get(name).copied();
        // HLSL's declarations are not read; a name stands first where it is declared.
        let last = name.rsplit("::").next().unwrap_or(name);
        known.or_else(|| c.files.first(last).filter(|_| hlsl.is_some())).unwrap_or(Span::NONE)
    };
    let words = Words {
        order: c.globals.order.clone(),
        bools: c.globals.bools.clone(),
        place: &place,
        declared: &declared,
        ..Words::new(&c.words)
    };
    let options = FrontOptions { defines: c.defines.clone(), ..options.clone() };
    spirv::translate(&words, &options).map_err(|mut all| {
        for d in &mut all {
            c.narrow(d, start(file, text));
            if let Some(what) = d.message.strip_prefix("this is no valid SPIR-V: ") {
                let what = what.split(" (word").next().unwrap_or(what);
                *d = Diagnostic::error("F0022", d.span, format!("glslang makes invalid SPIR-V of this ({what}): write it otherwise"));
            }
        }
        all
    })
}
