//! WGSL by way of naga: prepared, parsed, validated, overrides given their values, and one entry point written as SPIR-V for the reader.
//!
//! ```text
//! text ─naga─▶ its module ─writer, interface─▶ words
//!                            └─ func ─▶ expr ─▶ math, image, subgroup
//! ```
//!
//! naga's IR is close to SPIR-V: the writer has an arm for each of its expressions and statements and no features of its own. Lines in the
//! words are places in the source, byte for byte.

mod builder;
mod constants;
mod edits;
mod errors;
mod expr;
mod func;
mod halves;
mod image;
mod interface;
mod math;
mod names;
mod overrides;
mod pointers;
mod prepare;
mod scopes;
mod subgroup;
mod writer;

use crate::spirv::Words;
use crate::spirv::consts::number_of;
use crate::{FrontOptions, guard, spirv};
use edits::Edited;
use naga::back::PipelineConstants;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use names::Names;
use pointers::StandIns;
use retroshade_ir::{Diagnostic, FileId, Module, Span, Stage};
use std::borrow::Cow;
use writer::{SpanMap, Writer};

type Errors = Vec<Diagnostic>;

fn direct_span(s: naga::Span, file: FileId, len: usize) -> Span {
    match s.to_range() {
        Some(r) if r.start <= r.end && r.end <= len => Span::new(file, r.start as u32, r.end as u32),
        _ => Span::NONE,
    }
}

/// The names and stages of a text's entry points, in its order; none of a text that cannot be read.
pub(crate) fn entries(text: &str) -> Vec<(String, Stage)> {
    if guard::check_text(text, FileId(0), false).is_err() {
        return Vec::new();
    }
    let read = Readable::new(text);
    let Some(module) = read.parse().ok().or_else(|| read.at_run_time()?.parse().ok()) else { return Vec::new() };
    module.entry_points.into_iter().filter_map(|e| Some((e.name, stage(e.stage)?))).collect()
}

/// Translates WGSL.
pub(crate) fn translate(text: &str, file: FileId, options: &FrontOptions) -> Result<Module, Errors> {
    guard::check_text(text, file, false).map_err(|d| vec![d])?;
    let names = Names { file, text };
    let read = Readable::new(text);
    parsed(&read, options, names).or_else(|first| {
        let Some(read) = read.at_run_time() else { return Err(first) };
        // The first mistake that comes behind such a function is the program's.
        let at = |e: &Errors| e.first().map(|d| d.span.start);
        parsed(&read, options, names).map_err(|second| if at(&second) > at(&first) { second } else { first })
    })
}

/// Changes a text that needs it.
type Change = fn(&str) -> Option<Edited>;

/// A text as naga is to read it, and the way back from its places.
struct Readable<'t> {
    source: &'t str,
    /// What was changed, one upon the other.
    edits: Vec<Edited>,
}

impl<'t> Readable<'t> {
    fn new(source: &'t str) -> Readable<'t> {
        let read = Readable::unchanged(source);
        read.changed(&[prepare::known, halves::spelled_out, scopes::parted]).unwrap_or(read)
    }

    fn unchanged(source: &'t str) -> Readable<'t> {
        Readable { source, edits: Vec::new() }
    }

    fn parse(&self) -> Result<naga::Module, naga::front::wgsl::ParseError> {
        naga::front::wgsl::parse_str(self.text())
    }

    /// With what naga does not compute of constants left to run time, if there is any of it.
    fn at_run_time(&self) -> Option<Readable<'t>> {
        // What was a constant of the module may have casts that are within a function now.
        self.changed(&[constants::in_place, halves::spelled_out, constants::at_run_time])
    }

    /// With more changes, if there are any.
    fn changed(&self, changes: &[Change]) -> Option<Readable<'t>> {
        let mut read = Readable { source: self.source, edits: self.edits.clone() };
        for change in changes {
            read.edits.extend(change(read.text()));
        }
        (read.edits.len() > self.edits.len()).then_some(read)
    }

    fn text(&self) -> &str {
        self.edits.last().map_or(self.source, |e| &e.text)
    }

    /// Where the source has what is here.
    fn back(&self, s: naga::Span) -> naga::Span {
        let back = |at: usize| self.edits.iter().rev().fold(at, |at, e| e.back(at)) as u32;
        s.to_range().map_or(s, |r| naga::Span::new(back(r.start), back(r.end)))
    }
}

/// Translates what naga is to read.
fn parsed(read: &Readable<'_>, options: &FrontOptions, names: Names<'_>) -> Result<Module, Errors> {
    let spans = |s: naga::Span| direct_span(read.back(s), names.file, names.text.len());
    let mut module = read.parse().map_err(|e| vec![errors::parse(&e, &spans, names)])?;
    prepare::ends_of_functions(&mut module);
    prepare::flat_integers(&mut module);
    prepare::unsigned_lanes(&mut module);
    module_of(&module, true, options, (&spans, names))
}

/// Translates a naga module; `text` is what its spans point into.
#[cfg(feature = "naga-30")]
pub(crate) fn translate_naga(module: &naga::Module, text: &str, file: FileId, options: &FrontOptions) -> Result<Module, Errors> {
    let spans = |s: naga::Span| direct_span(s, file, text.len());
    module_of(module, false, options, (&spans, Names { file, text }))
}

/// What is validated in a module's place. Of a workgroup with several dimensions naga takes no number of a subgroup, which the language does not
/// forbid; the workgroup's shape matters to nothing else that it checks.
fn flat(module: &naga::Module) -> Cow<'_, naga::Module> {
    let mut module = Cow::Borrowed(module);
    if module.entry_points.iter().any(|e| e.workgroup_size[1..].iter().any(|n| *n > 1)) {
        for e in &mut module.to_mut().entry_points {
            e.workgroup_size[1..].iter_mut().for_each(|n| *n = (*n).min(1));
        }
    }
    module
}

fn validator(wgsl: bool) -> Validator {
    // Bindings that the source leaves out are given by this crate; uniformity is the program's own business, as in GLSL.
    // Uniforms lie as their types say (`uniform_buffer_standard_layout`): of structures naga's validator checks nothing else by that flag.
    let mut flags = ValidationFlags::all() - ValidationFlags::CONTROL_FLOW_UNIFORMITY - ValidationFlags::STRUCT_LAYOUTS;
    if !wgsl {
        flags -= ValidationFlags::BINDINGS;
    }
    Validator::new(flags, Capabilities::all())
}

/// Translates what naga has read, from WGSL or from something else.
fn module_of(module: &naga::Module, wgsl: bool, options: &FrontOptions, (spans, names): (SpanMap, Names<'_>)) -> Result<Module, Errors> {
    let (module, stand_ins, info) = match validator(wgsl).validate(&flat(module)) {
        Ok(info) => (Cow::Borrowed(module), StandIns::default(), info),
        Err(e) => {
            let Some((m, stand_ins)) = pointers::replaced(&e, module) else { return Err(vec![errors::invalid(&e, module, spans, names)]) };
            let info = validator(wgsl).validate(&flat(&m)).map_err(|e| vec![errors::invalid(&e, &m, spans, names)])?;
            (Cow::Owned(m), stand_ins, info)
        }
    };
    let module = &*module;
    let entry = choose(module, options, names)?;
    let mut constants = PipelineConstants::default();
    for (k, v) in &options.defines {
        let key = module
            .overrides
            .iter()
            .find(|(_, o)| o.name.as_deref() == Some(k) || o.id.is_some_and(|i| i.to_string() == *k))
            .map(|(_, o)| o.id.map_or_else(|| k.clone(), |i| i.to_string()));
        let Some(key) = key else {
            let known: Vec<&str> = module.overrides.iter().filter_map(|(_, o)| o.name.as_deref()).collect();
            let known = if known.is_empty() { "the source has none".to_string() } else { format!("known are {}", known.join(", ")) };
            return Err(vec![Diagnostic::error(
                "F0014",
                Span::NONE,
                format!("--define {k}: no override or specialisation constant of that name; {known}"),
            )]);
        };
        constants.insert(
            key,
            number_of(v)
                .ok_or_else(|| vec![Diagnostic::error("F0014", Span::NONE, format!("--define {k}: `{v}` is no number or truth value"))])?,
        );
    }
    let ep = &module.entry_points[entry];
    let (source, (module, info)) = (
        module,
        naga::back::pipeline_constants::process_overrides(module, &info, Some((ep.stage, &ep.name)), &constants)
            .map_err(|e| vec![without_value(&e, module, spans)])?,
    );
    let entry = choose(&module, options, names)?;
    let (words, declared) = Writer::write(&module, &info, entry, (spans, names.text), &stand_ins)?;
    let words = Words {
        all: !wgsl,
        place: &|_, start, end| Span::new(names.file, start, end),
        declared: &|id, _| declared.get(&id).copied().unwrap_or(Span::NONE),
        ..Words::new(&words)
    };
    // The entry point is chosen, and overrides have their values.
    let options = FrontOptions { entry: None, stage: None, defines: Vec::new(), ..options.clone() };
    let mut out = spirv::translate(&words, &options)?;
    out.surface.constants = overrides::constants(source, &module, &constants);
    Ok(out)
}

/// An override that has no value, or one that it cannot have.
fn without_value(e: &naga::back::pipeline_constants::PipelineConstantError, module: &naga::Module, spans: SpanMap) -> Diagnostic {
    use naga::back::pipeline_constants::PipelineConstantError as E;
    if let E::ValidationError(inner) = e {
        return errors::spanned("F0015", inner, spans);
    }
    let E::MissingValue(key) = e else { return Diagnostic::error("F0015", Span::NONE, e.to_string()) };
    let is = |o: &naga::Override| o.name.as_ref() == Some(key) || o.id.is_some_and(|i| i.to_string() == *key);
    let found = module.overrides.iter().find(|(_, o)| is(o));
    let at = found.map_or(Span::NONE, |(h, _)| spans(module.overrides.get_span(h)));
    let name = found.and_then(|(_, o)| o.name.as_deref()).unwrap_or(key);
    Diagnostic::error("F0015", at, format!("`{name}` has no value: give it one with --define {key}=VALUE"))
}

/// The entry point that the options mean.
fn choose(module: &naga::Module, options: &FrontOptions, names: Names<'_>) -> Result<usize, Errors> {
    let fits = |e: &naga::EntryPoint| {
        options.entry.as_ref().is_none_or(|n| *n == e.name) && options.stage.is_none_or(|s| stage(e.stage) == Some(s))
    };
    let found: Vec<usize> = module.entry_points.iter().enumerate().filter(|(_, e)| fits(e)).map(|(i, _)| i).collect();
    let list = || {
        let all: Vec<String> = module.entry_points.iter().map(|e| format!("{} ({:?})", e.name, e.stage).to_lowercase()).collect();
        if all.is_empty() { "the source has none".to_string() } else { format!("the source has {}", all.join(", ")) }
    };
    match found[..] {
        [one] => Ok(one),
        [] => {
            let place = module.entry_points.first().map_or_else(|| names.start(), |e| names.function(&e.name));
            Err(vec![Diagnostic::error("F0006", place, format!("no entry point fits; {}", list()))])
        }
        [_, second, ..] => Err(vec![Diagnostic::error(
            "F0007",
            names.function(&module.entry_points[second].name),
            format!("several entry points fit: choose one with --entry or --stage; {}", list()),
        )]),
    }
}

/// The IR's stage for one of naga's.
fn stage(s: naga::ShaderStage) -> Option<Stage> {
    match s {
        naga::ShaderStage::Vertex => Some(Stage::Vertex),
        naga::ShaderStage::Fragment => Some(Stage::Fragment),
        naga::ShaderStage::Compute => Some(Stage::Compute),
        _ => None,
    }
}
