//! From a text to SPIR-V and what that does not say: glslang's runs, and what is done to the text before and to the words after them.

use super::glslang::{self, Entry, Parsed, Program};
use super::lex::{self, Token};
use super::places::Files;
use super::upgrade::{self, Dialect, Skipped, Upgrade};
use super::{Compiled, Errors};
use super::{
    casts, cg, constant_buffers, convert, globals, hlsl, library, lists, mark, messages, namespaces, packing, places, products, thin,
};
use crate::parse::start;
use crate::{FrontOptions, guard};
use retroshade_ir::{Diagnostic, FileId, SourceMap, Span, Stage};
use std::collections::BTreeSet;

/// Files within files.
const MAX_INCLUDES: usize = 32;
/// Files that one text includes, each time counted.
const MAX_FILES: usize = 256;

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

/// The stage that is asked for.
fn stage(hlsl: bool, options: &FrontOptions) -> Result<Stage, Errors> {
    options.stage.ok_or_else(|| {
        let (language, behind) = if hlsl { ("HLSL", ".hlsl") } else { ("GLSL", "") };
        let [first @ .., last] = ["vert", "geom", "frag", "comp"].map(|s| format!(".{s}{behind}"));
        let m = format!("{language} does not say its stage: give --stage or a file name that ends in {} or {last}", first.join(", "));
        vec![Diagnostic::error("F0005", Span::NONE, m)]
    })
}

/// Names and what they stand for.
type Defines = Vec<(String, String)>;

/// What the caller defines: for specialisation constants, and for the preprocessor.
fn defined(toks: &[Token<'_>], options: &FrontOptions) -> Result<(Defines, Defines), Errors> {
    let constants = specialisation_constants(toks);
    let (defines, macros): (Defines, Defines) =
        options.defines.iter().cloned().partition(|(k, _)| constants.contains(k) || k.parse::<u32>().is_ok());
    if let Some((k, _)) = macros.iter().find(|(k, v)| !is_name(k) || v.contains('\n') || !v.is_ascii()) {
        let m = format!("--define {k}: a symbol is a name and a value of one line");
        return Err(vec![Diagnostic::error("F0014", Span::NONE, m)]);
    }
    Ok((defines, macros))
}

/// A text before glslang reads it.
struct Source<'a> {
    text: &'a str,
    file: FileId,
    toks: &'a [Token<'a>],
    stage: Stage,
    /// The entry point of HLSL; `None` is GLSL.
    hlsl: Option<&'a str>,
    upgrade: &'a Upgrade,
    /// The text in words that glslang knows.
    ours: &'a str,
    /// What the caller defines for the preprocessor.
    macros: Defines,
}

impl Source<'_> {
    /// The whole program for glslang, in a version that is faster to start, or the one that knows most.
    fn whole(&self, version: Option<u32>) -> String {
        match self.hlsl {
            None => self.upgrade.header(self.toks, &self.macros, version) + self.ours + &self.upgrade.footer(),
            Some(_) => {
                let macros: String = self.macros.iter().map(|(k, v)| format!("#define {k} {v}\n")).collect();
                macros + "#line 1\n" + &hlsl::directives(self.text, self.toks)
            }
        }
    }
    /// The start of the text.
    fn start(&self) -> Span {
        start(self.file, self.text)
    }
    /// A program of this text.
    fn program<'p>(&self, text: &'p str, entry: Option<Entry<'p>>) -> Program<'p> {
        Program { text, stage: self.stage, hlsl: entry, relaxed: true, late: false, preprocess: false }
    }
}

/// What one run of glslang has included.
struct Included {
    /// All texts: definitions of one file are used in another, and what all of them come to is what counts.
    text: String,
    files: usize,
}

/// The files of a text as glslang's runs come upon them.
struct Reading<'a> {
    source: &'a Source<'a>,
    sources: &'a mut SourceMap,
    options: &'a FrontOptions,
    files: Files,
    /// What is wrong with included ones.
    refused: Errors,
}

impl<'a> Reading<'a> {
    fn new(source: &'a Source<'a>, sources: &'a mut SourceMap, options: &'a FrontOptions) -> Reading<'a> {
        let mut files = Files::default();
        files.add(sources.name(source.file).unwrap_or(""), source.file, source.text, source.toks, source.ours);
        Reading { source, sources, options, files, refused: Vec::new() }
    }

    /// A run of glslang; the error is its log.
    fn attempt(&mut self, program: &Program<'_>) -> Result<Parsed, String> {
        let mut so_far = Included { text: self.source.text.to_string(), files: 0 };
        glslang::parse(program, &mut |name, from, depth| self.include(&mut so_far, name, from, depth))
    }

    /// A file that is included: its name and its text for glslang.
    fn include(&mut self, so_far: &mut Included, name: &str, from: &str, depth: usize) -> Option<(String, String)> {
        so_far.files += 1;
        if so_far.files > MAX_FILES || depth > MAX_INCLUDES {
            let m = format!("more than {MAX_FILES} files are included, or {MAX_INCLUDES} deep");
            self.refused.push(Diagnostic::error("L0003", self.source.start(), m));
        }
        if !self.refused.is_empty() {
            return None;
        }
        let from = if from.is_empty() { self.sources.name(self.source.file).unwrap_or("") } else { from };
        let (name, body) = self.options.include.open(name, from)?;
        let known = (0..).map(FileId).map_while(|f| self.sources.name(f).map(|n| (f, n))).find(|(_, n)| *n == name).map(|(f, _)| f);
        let id = known.unwrap_or_else(|| self.sources.add(&name, &body));
        so_far.text.push('\n');
        so_far.text.push_str(&body);
        if let Err(mut d) = guard::check_text(&so_far.text, id, true) {
            d.span = start(id, &body);
            self.refused.push(d);
            return None;
        }
        let body = lex::joined(&body);
        let toks = lex::tokens(&body);
        if let Some(d) = foreign(&toks, id).or_else(|| unopened(&toks, id)) {
            self.refused.push(d);
            return None;
        }
        let ours = self.source.upgrade.text(&body, &toks);
        self.files.add(&name, id, &body, &toks, &ours);
        Some((name, if self.source.hlsl.is_some() { hlsl::directives(&body, &toks) } else { ours }))
    }

    /// HLSL, preprocessed and in the words that glslang's reader of it gets right, and its entry point. `None` where nothing can be said of what
    /// is wrong: glslang will.
    fn modern(&mut self, name: &str) -> Result<Option<(String, String)>, Errors> {
        let (stage, first) = (self.source.stage, self.source.start());
        let cg = self.sources.name(self.source.file).is_some_and(|n| n.ends_with(".cg"));
        let whole = hlsl::unparsed(&self.source.whole(None));
        let preprocess = Program { preprocess: true, ..self.source.program(&whole, Some(Entry { name, function: name })) };
        let only = self.attempt(&preprocess).map_err(|log| messages::errors(&log, "F0011", &self.files, &|_| None, first))?;
        let pre = hlsl::read(&only.preprocessed());
        let files = &self.files;
        let mut malformed = Vec::new();
        let written_out = namespaces::written_out(&pre);
        let modern = match written_out {
            Ok(pre) => {
                // On some malformed texts glslang's parser faults: what it would read is looked at before.
                let (text, entry) = cg::Old { entry: &upgrade::global(name), stage, cg }.modern(&pre);
                let passes = [constant_buffers::blocks, thin::vectors, products::divided, lists::nested, casts::converted];
                let text = passes.into_iter().fold(text, |text, pass| {
                    pass(&text).unwrap_or_else(|m| {
                        malformed.extend(hlsl::refused(&text, m, files, first));
                        text
                    })
                });
                malformed.extend(hlsl::fatal(&text, (&entry, stage), files, first));
                Some((convert::with_conversions(&text), entry))
            }
            Err(m) => {
                malformed.extend(hlsl::refused(&pre, m, files, first));
                None
            }
        };
        if malformed.is_empty() { Ok(modern) } else { Err(malformed) }
    }

    /// GLSL or modern HLSL, read by glslang, and whether that took a later version of Vulkan's rules. Where it cannot be read, its log; `skipped`
    /// is then what the preprocessor skips, if the text seems to define something that may be meant as the language's own.
    fn parsed(&mut self, modern: Option<&(String, String)>, skipped: Option<&mut Option<Skipped>>) -> Result<(Parsed, bool), String> {
        let source = self.source;
        let entry = source.hlsl.map(|name| Entry { name, function: modern.map_or(name, |m| &m.1) });
        let whole = |version| modern.map_or_else(|| source.whole(version), |m| m.0.clone());
        let mut parsed = Err(String::new());
        for version in source.upgrade.faster(source.toks).into_iter().map(Some).chain([None]) {
            if parsed.is_err() {
                parsed = self.attempt(&source.program(&whole(version), entry));
            }
        }
        // Subgroups and blocks of shared memory belong to later versions, which take longer to start.
        let late = parsed.as_ref().is_err_and(|log| messages::needs_later(log));
        if late {
            parsed = self.attempt(&Program { late, ..source.program(&whole(None), entry) });
        }
        if parsed.is_err()
            && let Some(skipped) = skipped
            && source.upgrade.may_skip()
        {
            let preprocessed = self.attempt(&Program { late, preprocess: true, ..source.program(&whole(None), entry) });
            *skipped = preprocessed.ok().map(|p| source.upgrade.skipped(&p.preprocessed()));
        }
        parsed.map(|p| (p, late))
    }
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
    let first = compile_with(text, file, hlsl, sources, options, &Skipped::default(), Some(&mut skipped));
    // Only the preprocessor knows which definitions it reads: `texture2D` of one that it skips is the language's.
    let compiled = match (first, skipped) {
        (Err(first), Some(known)) => compile_with(text, file, hlsl, sources, options, &known, None).map_err(|_| first),
        (first, _) => first,
    };
    compiled.map_err(|mut all| {
        all.iter_mut().for_each(|d| d.message = upgrade::readable(&d.message));
        all
    })
}

/// Compiles a text of which it is known what the preprocessor skips; or says what that is, where it may be the reason of an error.
fn compile_with(
    text: &str,
    file: FileId,
    hlsl: Option<&str>,
    sources: &mut SourceMap,
    options: &FrontOptions,
    known: &Skipped,
    skipped: Option<&mut Option<Skipped>>,
) -> Result<Compiled, Errors> {
    guard::check_text(text, file, true).map_err(|d| vec![d])?;
    let stage = stage(hlsl.is_some(), options)?;
    let text = &*lex::joined(text);
    let toks = lex::tokens(text);
    if let Some(d) = foreign(&toks, file).or_else(|| unopened(&toks, file)) {
        return Err(vec![d]);
    }
    let (defines, macros) = defined(&toks, options)?;
    let upgrade = match hlsl {
        Some(_) => Upgrade::none(stage),
        None => Upgrade::new(Dialect::of(&toks), stage, &toks, &macros, known),
    };
    if let Some(d) = upgrade.refused(&toks, file) {
        return Err(vec![d]);
    }
    let ours = upgrade.text(text, &toks);
    let source = Source { text, file, toks: &toks, stage, hlsl, upgrade: &upgrade, ours: &ours, macros };
    let mut reading = Reading::new(&source, sources, options);
    let modern = hlsl.map_or(Ok(None), |name| reading.modern(name));
    let parsed = modern.map(|m| (reading.parsed(m.as_ref(), skipped), m));
    if !reading.refused.is_empty() {
        return Err(reading.refused);
    }
    let (parsed, modern) = parsed?;
    let (parsed, late) = parsed.map_err(|log| messages::errors(&log, "F0011", &reading.files, &|_| None, source.start()))?;
    let entry = hlsl.map(|name| Entry { name, function: modern.as_ref().map_or(name, |m| &m.1) });
    translated(&source, reading.files, &parsed, &Program { late, ..source.program("", entry) }, defines)
}

/// The words of a program that glslang has read: once more, with marks for what SPIR-V does not say, and what is said of it.
fn translated(source: &Source<'_>, files: Files, parsed: &Parsed, program: &Program<'_>, defines: Defines) -> Result<Compiled, Errors> {
    let (hlsl, first) = (source.hlsl.is_some(), source.start());
    let pre = parsed.preprocessed();
    let (inner, places) = places::trace(&pre, &files);
    let globals = if hlsl { globals::of_hlsl(&inner) } else { globals::globals(&inner) };
    let names = files.names();
    let declared = |n: usize| Some(files.token(places.get(n).copied().flatten()?, inner.get(n)?.text));
    let function = |name: &str| inner.iter().position(|t| t.is(name)).and_then(declared);
    let marked = mark::marked(&pre, &inner, hlsl, &|n| places.get(n).copied().flatten(), &globals.initial);
    let again = |relaxed| glslang::parse(&Program { text: &marked, relaxed, ..*program }, &mut |_, _, _| None);
    let failed = |log: String| messages::errors(&log, "F0011", &files, &function, first);
    let with_places = again(true);
    match &with_places {
        Err(log) if !hlsl && !globals.initial.is_empty() => return Err(messages::errors(log, "F0024", &files, &function, first)),
        // Without what was put in its functions would not be HLSL's, and statics undefined.
        Err(log) if hlsl => return Err(failed(log.clone())),
        _ => {}
    }
    let mut words = with_places.as_ref().unwrap_or(parsed).words().map_err(failed)?;
    if hlsl {
        words = packing::packed(library::by_element(&products::multiplied(&words), &inner), &inner);
    }
    let untranslatable = |m: &str| vec![Diagnostic::error("F0022", first, m)];
    let invented = if !hlsl { mark::invented(&words, &globals) } else { None };
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
    let words = mark::finish(&words, &names, &globals, hlsl);
    // Variables that the language declares stand where they are named first.
    let named = inner.iter().enumerate().rev().map(|(n, t)| (upgrade::plain(t.text), n));
    let builtins = named.filter(|(name, _)| name.starts_with("gl_")).map(|(name, n)| (name.to_string(), n));
    let all = builtins.chain(globals.places.iter().map(|(name, n)| (name.clone(), *n)));
    let declared = all.filter_map(|(name, n)| Some((name, declared(n)?))).collect();
    Ok(Compiled { words, globals, declared, files, defines })
}
