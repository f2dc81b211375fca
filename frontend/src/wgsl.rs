//! WGSL by way of naga: parsed, validated, overrides given their values, and one entry point translated.

use crate::convert::{Converter, Lang};
use crate::names::Names;
use crate::place::ArrayKey;
use crate::{FrontOptions, guard, interface, wgsl_errors};
use naga::back::PipelineConstants;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use retroshade_ir::{Diagnostic, FileId, Module, Span, Stage};
use std::collections::BTreeSet;

type Errors = Vec<Diagnostic>;

fn direct_span(s: naga::Span, file: FileId, len: usize) -> Span {
    match s.to_range() {
        Some(r) if r.start <= r.end && r.end <= len => Span::new(file, r.start as u32, r.end as u32),
        _ => Span::NONE,
    }
}

/// Translates WGSL.
pub(crate) fn translate(text: &str, file: FileId, options: &FrontOptions) -> Result<Module, Errors> {
    guard::check_text(text, file, false).map_err(|d| vec![d])?;
    let spans = |s: naga::Span| direct_span(s, file, text.len());
    let names = Names { file, text };
    // naga knows no language feature of this name, but takes the programs: pointers to parts of variables become what they point to.
    let directive = "requires unrestricted_pointer_parameters;";
    let plain = text.replace(directive, &" ".repeat(directive.len()));
    let module = naga::front::wgsl::parse_str(&plain).map_err(|e| vec![wgsl_errors::parse(&e, &spans, names)])?;
    module_of(&module, Lang::Wgsl, options, (&spans, names))
}

/// Translates a naga module; `text` is what its spans point into.
#[cfg(feature = "naga-30")]
pub(crate) fn translate_naga(module: &naga::Module, text: &str, file: FileId, options: &FrontOptions) -> Result<Module, Errors> {
    let spans = |s: naga::Span| direct_span(s, file, text.len());
    module_of(module, Lang::Spirv, options, (&spans, Names { file, text }))
}

fn validator(lang: Lang) -> Validator {
    // Bindings that the source leaves out are given by this crate; uniformity is the program's own business, as in GLSL.
    let mut flags = ValidationFlags::all() - ValidationFlags::CONTROL_FLOW_UNIFORMITY;
    if lang != Lang::Wgsl {
        flags -= ValidationFlags::BINDINGS;
    }
    Validator::new(flags, Capabilities::all())
}

fn module_of(
    module: &naga::Module,
    lang: Lang,
    options: &FrontOptions,
    (spans, names): (&dyn Fn(naga::Span) -> Span, Names<'_>),
) -> Result<Module, Errors> {
    let info: ModuleInfo = validator(lang).validate(module).map_err(|e| vec![wgsl_errors::invalid(&e, module, spans, names)])?;
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
            number(v)
                .ok_or_else(|| vec![Diagnostic::error("F0014", Span::NONE, format!("--define {k}: `{v}` is no number or truth value"))])?,
        );
    }
    let ep = &module.entry_points[entry];
    let (module, info) = naga::back::pipeline_constants::process_overrides(module, &info, Some((ep.stage, &ep.name)), &constants)
        .map_err(|e| vec![without_value(&e, module, spans)])?;
    let entry = choose(&module, options, names)?;
    convert(&module, &info, entry, lang, spans, options.functions)
}

/// An override that has no value, or one that it cannot have.
fn without_value(
    e: &naga::back::pipeline_constants::PipelineConstantError,
    module: &naga::Module,
    spans: &dyn Fn(naga::Span) -> Span,
) -> Diagnostic {
    use naga::back::pipeline_constants::PipelineConstantError as E;
    if let E::ValidationError(inner) = e {
        return wgsl_errors::spanned("F0015", inner, spans);
    }
    let E::MissingValue(key) = e else { return Diagnostic::error("F0015", Span::NONE, e.to_string()) };
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
fn choose(module: &naga::Module, options: &FrontOptions, names: Names<'_>) -> Result<usize, Errors> {
    let fits = |e: &naga::EntryPoint| {
        options.entry.as_ref().is_none_or(|n| *n == e.name) && options.stage.is_none_or(|s| interface::stage(e.stage) == Some(s))
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

/// Translates, again and again until no array needs to move to memory any more.
fn convert(
    module: &naga::Module,
    info: &ModuleInfo,
    entry: usize,
    lang: Lang,
    spans: &dyn Fn(naga::Span) -> Span,
    functions: bool,
) -> Result<Module, Errors> {
    let ep = &module.entry_points[entry];
    let Some(stage) = interface::stage(ep.stage) else {
        return Err(vec![Diagnostic::error("F0004", Span::NONE, format!("programs of stage {:?} run on none of the machines", ep.stage))]);
    };
    let mut demand: BTreeSet<ArrayKey> = BTreeSet::new();
    loop {
        let mut c = Converter::new(module, info, lang, spans, &ep.name, stage, &demand);
        c.out.workgroup_size = if stage == Stage::Compute { ep.workgroup_size } else { [1; 3] };
        c.out.early_depth = matches!(ep.early_depth_test, Some(naga::EarlyDepthTest::Force));
        if functions {
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
        let out = std::mem::replace(&mut c.out, Module::new("", stage));
        drop(c);
        if wanted.is_subset(&demand) {
            return Ok(out);
        }
        demand.extend(wanted);
    }
}
