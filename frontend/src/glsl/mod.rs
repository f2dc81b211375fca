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

use crate::parse::start;
use crate::spirv::{self, Words};
use crate::{FrontOptions, guard};
use globals::Globals;
use glslang::{Entry, Program};
use lex::Token;
use places::Files;
use retroshade_ir::{Diagnostic, FileId, Module, SourceMap, Span};
use std::collections::{BTreeMap, BTreeSet};
use upgrade::{Dialect, Skipped, Upgrade};

/// Files within files.
const MAX_INCLUDES: usize = 32;
/// Files that one text includes, each time counted.
const MAX_FILES: usize = 256;

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

/// The first character outside comments that GLSL does not have.
fn foreign(toks: &[Token<'_>], file: FileId) -> Option<Diagnostic> {
    let t = toks.iter().find(|t| t.kind != lex::Kind::Directive && (!t.text.is_ascii() || t.text.contains('\0')))?;
    let c = t.text.chars().find(|c| !c.is_ascii() || *c == '\0').unwrap_or(' ');
    let span = Span::new(file, t.at as u32, t.end() as u32);
    let what = if c == char::REPLACEMENT_CHARACTER {
        "this is no UTF-8, which only comments need not be".to_string()
    } else {
        format!("the character {c:?} is not part of the language")
    };
    Some(Diagnostic::error("F0011", span, what))
}

/// A directive that belongs to an `#if` which is not there: behind several of them glslang's preprocessor writes outside its own memory.
fn unopened(toks: &[Token<'_>], file: FileId) -> Option<Diagnostic> {
    let mut open = 0;
    for t in toks.iter().filter(|t| t.kind == lex::Kind::Directive) {
        // A name may be continued on the next line, and comments may stand before it.
        let line = t.text[1..].replace("\\\r\n", "").replace("\\\n", "");
        match lex::tokens(&line).first().map_or("", |t| t.text) {
            "if" | "ifdef" | "ifndef" => open += 1,
            name @ ("elif" | "else" | "endif") if open == 0 => {
                let span = Span::new(file, t.at as u32, t.end() as u32);
                return Some(Diagnostic::error("F0011", span, format!("`#{name}`: no `#if` is open")));
            }
            "endif" => open -= 1,
            _ => {}
        }
    }
    None
}

/// The names of a text's specialisation constants: a definition of such a name gives the constant its value and is no macro.
fn specialisation_constants(toks: &[Token<'_>]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for (n, _) in toks.iter().enumerate().filter(|(_, t)| t.is("constant_id")) {
        // `layout(constant_id = 3) const int count = 2;`
        let behind = toks[n..].iter().take_while(|t| !t.is(";") && !t.is("=") || t.line == toks[n].line && !t.is(";"));
        let words: Vec<&Token<'_>> = behind.collect();
        if let Some(p) = words.iter().position(|t| t.is(")")) {
            let end = words[p..].iter().position(|t| t.is("=")).map_or(words.len(), |e| p + e);
            out.extend(words[p + 1..end].last().map(|t| t.text.to_string()));
        }
    }
    out
}

fn is_name(s: &str) -> bool {
    s.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && s.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

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

/// Compiles GLSL, or with `hlsl` HLSL of that entry point. Files that the text includes are added to `sources`.
pub(crate) fn compile(
    text: &str,
    file: FileId,
    hlsl: Option<&str>,
    sources: &mut SourceMap,
    options: &FrontOptions,
) -> Result<Compiled, Errors> {
    let mut skipped = None;
    let first = compile_with(text, file, hlsl, sources, options, &mut skipped);
    // Only the preprocessor knows which definitions it reads: `texture2D` of one that it skips is the language's.
    let compiled = match first {
        Err(_) if skipped.is_some() => compile_with(text, file, hlsl, sources, options, &mut skipped).or(first),
        _ => first,
    };
    compiled.map_err(|mut all| {
        all.iter_mut().for_each(|d| d.message = upgrade::readable(&d.message));
        all
    })
}

/// Compiles a text of which the preprocessor skips something. Says what, if nothing was known of it and it may be the reason of an error.
fn compile_with(
    text: &str,
    file: FileId,
    hlsl: Option<&str>,
    sources: &mut SourceMap,
    options: &FrontOptions,
    skipped: &mut Option<Skipped>,
) -> Result<Compiled, Errors> {
    let first_try = skipped.is_none();
    let known = skipped.take().unwrap_or_default();
    guard::check_text(text, file, true).map_err(|d| vec![d])?;
    let stage = options.stage.ok_or_else(|| {
        let (language, behind) = if hlsl.is_some() { ("HLSL", ".hlsl") } else { ("GLSL", "") };
        let [first @ .., last] = ["vert", "geom", "frag", "comp"].map(|s| format!(".{s}{behind}"));
        let m = format!("{language} does not say its stage: give --stage or a file name that ends in {} or {last}", first.join(", "));
        vec![Diagnostic::error("F0005", Span::NONE, m)]
    })?;
    let text = &*lex::joined(text);
    let toks = lex::tokens(text);
    if let Some(d) = foreign(&toks, file).or_else(|| unopened(&toks, file)) {
        return Err(vec![d]);
    }
    let constants = specialisation_constants(&toks);
    let (defines, macros): (Vec<_>, Vec<_>) =
        options.defines.iter().cloned().partition(|(k, _)| constants.contains(k) || k.parse::<u32>().is_ok());
    if let Some((k, _)) = macros.iter().find(|(k, v)| !is_name(k) || v.contains('\n') || !v.is_ascii()) {
        let m = format!("--define {k}: a symbol is a name and a value of one line");
        return Err(vec![Diagnostic::error("F0014", Span::NONE, m)]);
    }
    let upgrade = match hlsl {
        Some(_) => Upgrade::none(stage),
        None => Upgrade::new(Dialect::of(&toks), stage, &toks, &macros, &known),
    };
    if let Some(d) = upgrade.refused(&toks, file) {
        return Err(vec![d]);
    }
    let ours = upgrade.text(text, &toks);
    let mut files = Files::default();
    let name = sources.name(file).unwrap_or("").to_string();
    files.add(&name, file, text, &toks, &ours);
    let function = hlsl.map(upgrade::global);
    let old = function.as_deref().map(|entry| cg::Old { entry, stage, cg: name.ends_with(".cg") });
    let ours = if hlsl.is_some() { hlsl::directives(text, &toks) } else { ours };
    let mut refused = Vec::new();
    let mut attempt = |files: &mut Files, whole: &str, hlsl: Option<Entry<'_>>, late: bool, preprocess: bool| {
        let mut total = text.to_string();
        let mut count = 0;
        let mut include = |name: &str, from: &str, depth: usize| -> Option<(String, String)> {
            let from = if from.is_empty() { sources.name(file).unwrap_or("") } else { from };
            count += 1;
            if count > MAX_FILES || depth > MAX_INCLUDES {
                let m = format!("more than {MAX_FILES} files are included, or {MAX_INCLUDES} deep");
                refused.push(Diagnostic::error("L0003", start(file, text), m));
                return None;
            }
            if !refused.is_empty() {
                return None;
            }
            let (name, body) = options.include.open(name, from)?;
            let known = (0..).map(FileId).map_while(|f| sources.name(f).map(|n| (f, n))).find(|(_, n)| *n == name).map(|(f, _)| f);
            let id = known.unwrap_or_else(|| sources.add(&name, &body));
            // Definitions of one file are used in another: what all of them come to is what counts.
            total.push('\n');
            total.push_str(&body);
            if let Err(mut d) = guard::check_text(&total, id, true) {
                d.span = start(id, &body);
                refused.push(d);
                return None;
            }
            let body = lex::joined(&body);
            let toks = lex::tokens(&body);
            if let Some(d) = foreign(&toks, id).or_else(|| unopened(&toks, id)) {
                refused.push(d);
                return None;
            }
            let ours = upgrade.text(&body, &toks);
            files.add(&name, id, &body, &toks, &ours);
            Some((name, if hlsl.is_some() { hlsl::directives(&body, &toks) } else { ours }))
        };
        glslang::parse(&Program { text: whole, stage, hlsl, relaxed: true, late, preprocess }, &mut include)
    };
    let whole = |version: Option<u32>| match hlsl {
        None => upgrade.header(&toks, &macros, version) + &ours + &upgrade.footer(),
        Some(_) => macros.iter().map(|(k, v)| format!("#define {k} {v}\n")).collect::<String>() + "#line 1\n" + &ours,
    };
    let first = start(file, text);
    let mut malformed = Vec::new();
    let mut modern = None;
    if let Some(old) = &old {
        match attempt(&mut files, &hlsl::unparsed(&whole(None)), hlsl.map(|name| Entry { name, function: name }), false, true) {
            Ok(only) => {
                let pre = hlsl::read(&only.preprocessed());
                match namespaces::written_out(&pre) {
                    Ok(pre) => {
                        // On some malformed texts glslang's parser faults: what it would read is looked at before.
                        let (text, entry) = old.modern(&pre);
                        let passes = [constant_buffers::blocks, thin::vectors, products::divided, lists::nested, casts::converted];
                        let text = passes.into_iter().fold(text, |text, pass| {
                            pass(&text).unwrap_or_else(|m| {
                                malformed.extend(hlsl::refused(&text, m, &files, first));
                                text
                            })
                        });
                        malformed.extend(hlsl::fatal(&text, (&entry, stage), &files, first));
                        modern = Some((convert::with_conversions(&text), entry));
                    }
                    Err(m) => malformed.extend(hlsl::refused(&pre, m, &files, first)),
                }
            }
            Err(log) => malformed = messages::errors(&log, "F0011", &files, &|_| None, first),
        }
    }
    let (modern, entry) = modern.unzip();
    let hlsl = hlsl.map(|name| Entry { name, function: entry.as_deref().unwrap_or(name) });
    let whole = |version: Option<u32>| modern.clone().unwrap_or_else(|| whole(version));
    let mut parsed = Err(String::new());
    let mut late = false;
    for version in upgrade.faster(&toks).into_iter().map(Some).chain([None]) {
        if parsed.is_err() && malformed.is_empty() {
            parsed = attempt(&mut files, &whole(version), hlsl, late, false);
        }
    }
    // Subgroups and blocks of shared memory belong to later versions, which take longer to start.
    if parsed.as_ref().is_err_and(|log| messages::needs_later(log)) {
        late = true;
        parsed = attempt(&mut files, &whole(None), hlsl, late, false);
    }
    if parsed.is_err() && first_try && upgrade.may_skip() {
        *skipped = attempt(&mut files, &whole(None), hlsl, late, true).ok().map(|p| upgrade.skipped(&p.preprocessed()));
    }
    if let Some(errors) = [refused, malformed].into_iter().find(|e| !e.is_empty()) {
        return Err(errors);
    }
    let parsed = parsed.map_err(|log| messages::errors(&log, "F0011", &files, &|_| None, first))?;
    let pre = parsed.preprocessed();
    let (inner, places) = places::trace(&pre, &files);
    let globals = if hlsl.is_some() { globals::of_hlsl(&inner) } else { globals::globals(&inner) };
    let names = files.names();
    let declared = |n: usize| Some(files.token(places.get(n).copied().flatten()?, inner.get(n)?.text));
    let function = |name: &str| inner.iter().position(|t| t.is(name)).and_then(declared);
    let marked = mark::marked(&pre, &inner, hlsl.is_some(), &|n| places.get(n).copied().flatten(), &globals.initial);
    let again = |relaxed| glslang::parse(&Program { text: &marked, stage, hlsl, relaxed, late, preprocess: false }, &mut |_, _, _| None);
    let failed = |log: String| messages::errors(&log, "F0011", &files, &function, first);
    let with_places = again(true);
    match &with_places {
        Err(log) if hlsl.is_none() && !globals.initial.is_empty() => return Err(messages::errors(log, "F0024", &files, &function, first)),
        // Without what was put in its functions would not be HLSL's, and statics undefined.
        Err(log) if hlsl.is_some() => return Err(failed(log.clone())),
        _ => {}
    }
    let mut words = with_places.as_ref().unwrap_or(&parsed).words().map_err(failed)?;
    if hlsl.is_some() {
        words = packing::packed(library::by_element(&products::multiplied(&words), &inner), &inner);
    }
    let untranslatable = |m: &str| vec![Diagnostic::error("F0022", first, m)];
    let invented = if hlsl.is_none() { mark::invented(&words, &globals) } else { None };
    match invented {
        Some(mark::Invented::OfStructures) => {
            let m = "an array of structures that hold textures has an index that is no number: give the textures an array of their own";
            return Err(untranslatable(m));
        }
        Some(mark::Invented::ByFunction) => {
            let m = "textures and samplers that are parameters of functions need all uniforms in blocks: glslang cannot do both";
            words = again(false).and_then(|p| p.words()).map_err(|_| untranslatable(m))?;
        }
        None => {}
    }
    let words = mark::finish(&words, &names, &globals, hlsl.is_some());
    // Variables that the language declares stand where they are named first.
    let named = inner.iter().enumerate().rev().map(|(n, t)| (upgrade::plain(t.text), n));
    let builtins = named.filter(|(name, _)| name.starts_with("gl_")).map(|(name, n)| (name.to_string(), n));
    let all = builtins.chain(globals.places.iter().map(|(name, n)| (name.clone(), *n)));
    let declared = all.filter_map(|(name, n)| Some((name, declared(n)?))).collect();
    Ok(Compiled { words, globals, declared, files, defines })
}
