//! From a source to a validated naga module with one chosen entry, and on to the translation.
//!
//! Everything runs on a thread of its own with a large stack, since naga's parsers and this crate recurse; a panic inside naga ends
//! as an error.

use crate::convert::{Converter, Lang};
use crate::glsl::{self, Plan};
use crate::names::{self, Names};
use crate::place::ArrayKey;
use crate::truth::{self, Hidden, Layouts};
use crate::{FrontError, FrontOptions, diag, guard, interface, patch};
use naga::back::PipelineConstants;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use retroshade_ir::{Diagnostic, FileId, Module, SourceMap, Span, Stage};
use std::collections::BTreeSet;

/// A source in one of the languages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    Wgsl(&'a str),
    Glsl(&'a str),
    Spirv(&'a [u8]),
}

/// What a source says beyond naga's module.
#[derive(Clone, Debug, Default)]
struct Extra {
    /// Uniform blocks that naga takes for plain variables.
    hidden: Hidden,
    /// Layouts of blocks that naga's types do not have.
    layouts: Layouts,
    /// A geometry program's interface.
    geometry: Option<Plan>,
    /// Whether products and sums must not be contracted.
    precise: bool,
    /// Whether functions may stay functions.
    functions: bool,
}

/// Stack of the worker: naga's recursion limits and the guard's allow far less.
const STACK: usize = 192 << 20;

type Errors = Vec<Diagnostic>;

/// Translates a source.
pub(crate) fn run(name: &str, source: Source<'_>, options: &FrontOptions) -> Result<Module, FrontError> {
    let mut sources = SourceMap::default();
    let file = sources.add(name, if let Source::Wgsl(t) | Source::Glsl(t) = source { t } else { "" });
    let start = if let Source::Wgsl(text) | Source::Glsl(text) = source { Names { file, text }.start() } else { Span::NONE };
    let result = on_worker(start, || work(source, file, options));
    match result {
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

/// Translates a naga module.
#[cfg(feature = "naga-30")]
pub(crate) fn from_naga(module: &naga::Module, name: &str, source: &str, options: &FrontOptions) -> Result<Module, FrontError> {
    let mut sources = SourceMap::default();
    let file = sources.add(name, source);
    let spans = |s: naga::Span| direct_span(s, file, source.len());
    let result = on_worker(Names { file, text: source }.start(), || {
        translate(module, Lang::Spirv, options, &options.defines, (&spans, Names { file, text: source }), Extra::default())
    });
    match result {
        Ok(m) => with_ranges(m, options, sources),
        Err(diagnostics) => Err(FrontError { sources, diagnostics }),
    }
}

/// Runs a translation on a thread of its own; a panic in it is reported with what it says, at `start`.
fn on_worker<F: FnOnce() -> Result<Module, Errors> + Send>(start: Span, f: F) -> Result<Module, Errors> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("frontend".into()).stack_size(STACK).spawn_scoped(scope, f);
        match worker {
            Ok(handle) => handle.join().unwrap_or_else(|payload| {
                let said = payload.downcast_ref::<&str>().map(|s| s.to_string()).or_else(|| payload.downcast_ref::<String>().cloned());
                let said = said.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
                let message = format!("naga, which reads the source, failed on it (a bug in naga): {said}");
                Err(vec![Diagnostic::error("F0002", start, message)])
            }),
            Err(e) => Err(vec![Diagnostic::error("F0003", Span::NONE, format!("no thread to read the source on: {e}"))]),
        }
    })
}

fn direct_span(s: naga::Span, file: FileId, len: usize) -> Span {
    match s.to_range() {
        Some(r) if r.start <= r.end && r.end <= len => Span::new(file, r.start as u32, r.end as u32),
        _ => Span::NONE,
    }
}

fn work(source: Source<'_>, file: FileId, options: &FrontOptions) -> Result<Module, Errors> {
    match source {
        Source::Wgsl(text) => {
            guard::check_text(text, file, false).map_err(|d| vec![d])?;
            let spans = |s: naga::Span| direct_span(s, file, text.len());
            // naga knows no language feature of this name, but takes the programs: pointers to parts of variables become what they point to.
            let directive = "requires unrestricted_pointer_parameters;";
            let plain = text.replace(directive, &" ".repeat(directive.len()));
            let module = naga::front::wgsl::parse_str(&plain).map_err(|e| vec![diag::wgsl(&e, &spans)])?;
            translate(&module, Lang::Wgsl, options, &options.defines, (&spans, Names { file, text }), Extra::default())
        }
        Source::Glsl(text) => {
            guard::check_text(text, file, true).map_err(|d| vec![d])?;
            let stage = match options.stage {
                Some(Stage::Vertex) => naga::ShaderStage::Vertex,
                Some(Stage::Fragment) => naga::ShaderStage::Fragment,
                Some(Stage::Compute) => naga::ShaderStage::Compute,
                // naga has no geometry stage: `glsl` leaves a program without inputs and outputs, which any stage could be.
                Some(Stage::Geometry) => naga::ShaderStage::Compute,
                None => {
                    return Err(vec![Diagnostic::error(
                        "F0005",
                        Span::NONE,
                        "GLSL does not say its stage: give --stage or a file name that ends in .vert, .geom, .frag or .comp",
                    )]);
                }
            };
            let constants = glsl::specialisation_constants(text);
            let macros: Vec<(String, String)> = options.defines.iter().filter(|(k, _)| !constants.contains(&**k)).cloned().collect();
            let rewritten = glsl::rewrite(text, file, options.stage.unwrap_or(Stage::Fragment), &macros, &options.varyings)?;
            let spans = |s: naga::Span| match &rewritten {
                Some(r) => r.span(s, file),
                None => direct_span(s, file, text.len()),
            };
            let mut o = naga::front::glsl::Options::from(stage);
            // A rewritten text has been through the preprocessor.
            for (k, v) in macros.iter().filter(|_| rewritten.is_none()) {
                o.defines.insert(k.clone(), v.clone());
            }
            let user = Names { file, text };
            let text = rewritten.as_ref().map_or(text, |r| r.text());
            let mut module = naga::front::glsl::Frontend::default()
                .parse(&o, text)
                .map_err(|e| names::glsl_errors(&e.errors, user.text, &spans, user))?;
            let mut geometry = None;
            let mut precise = false;
            if let Some(r) = &rewritten {
                patch::names(&mut module, &r.renames, &r.instances);
                patch::gathers(&mut module);
                geometry = r.geometry.as_ref();
                precise = r.precise;
            }
            patch::clip_distances(&mut module);
            // Symbols that name specialisation constants set those; the others were for the preprocessor.
            let named: Vec<(String, String)> = options.defines.iter().filter(|(k, _)| is_override(&module, k)).cloned().collect();
            let none = Default::default();
            let (hidden, layouts) = truth::hide(&mut module, rewritten.as_ref().map_or(&none, |r| &r.layouts));
            let extra = Extra { hidden, layouts, geometry: geometry.cloned(), precise, functions: false };
            let mut out = translate(&module, Lang::Glsl, options, &named, (&spans, user), extra)?;
            if let Some(r) = &rewritten {
                out.inputs.values_mut().filter(|d| r.unplaced.0.contains(&d.name)).for_each(|d| d.unplaced = true);
                out.outputs.values_mut().filter(|d| r.unplaced.1.contains(&d.name)).for_each(|d| d.unplaced = true);
            }
            Ok(out)
        }
        Source::Spirv(bytes) => {
            let words = crate::spirv::words(bytes).map_err(|d| vec![d])?;
            crate::spirv::translate(&crate::spirv::Words::new(&words, Lang::Spirv), options)
        }
    }
}

fn is_override(m: &naga::Module, name: &str) -> bool {
    m.overrides.iter().any(|(_, o)| o.name.as_deref() == Some(name) || o.id.is_some_and(|i| i.to_string() == name))
}

fn validator(lang: Lang) -> Validator {
    // Bindings that the source leaves out are given by this crate; uniformity is the program's own business, as in GLSL.
    let mut flags = ValidationFlags::all() - ValidationFlags::CONTROL_FLOW_UNIFORMITY;
    if lang != Lang::Wgsl {
        flags -= ValidationFlags::BINDINGS;
    }
    Validator::new(flags, Capabilities::all())
}

fn translate(
    module: &naga::Module,
    lang: Lang,
    options: &FrontOptions,
    defines: &[(String, String)],
    (spans, names): (&dyn Fn(naga::Span) -> Span, Names<'_>),
    mut extra: Extra,
) -> Result<Module, Errors> {
    let info: ModuleInfo = validator(lang).validate(module).map_err(|e| vec![names::invalid(&e, module, spans, names)])?;
    let entry = choose(module, options, &extra, names)?;
    let mut constants = PipelineConstants::default();
    for (k, v) in defines {
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
            number(v)
                .ok_or_else(|| vec![Diagnostic::error("F0014", Span::NONE, format!("--define {k}: `{v}` is no number or truth value"))])?,
        );
    }
    let ep = &module.entry_points[entry];
    let (module, info) = naga::back::pipeline_constants::process_overrides(module, &info, Some((ep.stage, &ep.name)), &constants)
        .map_err(|e| vec![without_value(&e, module, spans)])?;
    let entry = choose(&module, options, &extra, names)?;
    extra.functions = options.functions;
    convert(&module, &info, entry, lang, spans, &extra)
}

/// An override that has no value, or one that it cannot have.
fn without_value(
    e: &naga::back::pipeline_constants::PipelineConstantError,
    module: &naga::Module,
    spans: &dyn Fn(naga::Span) -> Span,
) -> Diagnostic {
    use naga::back::pipeline_constants::PipelineConstantError as E;
    if let E::ValidationError(inner) = e {
        return diag::spanned("F0015", inner, spans);
    }
    let E::MissingValue(key) = e else { return Diagnostic::error("F0015", Span::NONE, diag::chain(e)) };
    let is = |o: &naga::Override| o.name.as_ref() == Some(key) || o.id.is_some_and(|i| i.to_string() == *key);
    let found = module.overrides.iter().find(|(_, o)| is(o));
    let at = found.map_or(Span::NONE, |(h, _)| spans(module.overrides.get_span(h)));
    let name = found.and_then(|(_, o)| o.name.as_deref()).unwrap_or(key);
    Diagnostic::error("F0015", at, format!("`{name}` has no value: give it one with --define {key}=VALUE"))
}

fn number(v: &str) -> Option<f64> {
    match v {
        "true" => Some(1.0),
        "false" => Some(0.0),
        _ => match v.strip_prefix("0x") {
            Some(h) => u32::from_str_radix(h, 16).ok().map(f64::from),
            None => v.trim_end_matches(['f', 'u', 'i']).parse().ok(),
        },
    }
}

/// The entry point that the options mean.
fn choose(module: &naga::Module, options: &FrontOptions, extra: &Extra, names: Names<'_>) -> Result<usize, Errors> {
    let stage = |e: &naga::EntryPoint| if extra.geometry.is_some() { Some(Stage::Geometry) } else { interface::stage(e.stage) };
    let fits =
        |e: &naga::EntryPoint| options.entry.as_ref().is_none_or(|n| *n == e.name) && options.stage.is_none_or(|s| stage(e) == Some(s));
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

/// Translates, again and again until no array needs to move to memory any more.
fn convert(
    module: &naga::Module,
    info: &ModuleInfo,
    entry: usize,
    lang: Lang,
    spans: &dyn Fn(naga::Span) -> Span,
    extra: &Extra,
) -> Result<Module, Errors> {
    let ep = &module.entry_points[entry];
    let stage = if extra.geometry.is_some() { Some(Stage::Geometry) } else { interface::stage(ep.stage) };
    let Some(stage) = stage else {
        return Err(vec![Diagnostic::error("F0004", Span::NONE, format!("programs of stage {:?} run on none of the machines", ep.stage))]);
    };
    let mut demand: BTreeSet<ArrayKey> = BTreeSet::new();
    loop {
        let mut c = Converter::new(module, info, lang, spans, &ep.name, stage, &demand);
        c.hidden = extra.hidden.clone();
        c.layouts = extra.layouts.clone();
        c.geometry = extra.geometry.as_ref();
        c.out.geometry = extra.geometry.as_ref().map(|g| g.info);
        c.out.workgroup_size = if stage == Stage::Compute { ep.workgroup_size } else { [1; 3] };
        c.out.early_depth = matches!(ep.early_depth_test, Some(naga::EarlyDepthTest::Force));
        if extra.functions {
            c.choose_kept(&ep.function);
        }
        let done = c.run(entry);
        let mut diags = std::mem::take(&mut c.diags);
        if let Err(d) = done
            && !diags.contains(&d)
        {
            diags.push(d);
        }
        if !diags.is_empty() {
            return Err(diags);
        }
        let wanted = std::mem::take(&mut c.wanted);
        let mut out = std::mem::replace(&mut c.out, Module::new("", stage));
        drop(c);
        if wanted.is_subset(&demand) {
            if extra.precise {
                patch::keep_roundings(&mut out);
            }
            return Ok(out);
        }
        demand.extend(wanted);
    }
}
