//! `shaderc compare`: the same programs on several machines.

use crate::args::{CompareArgs, CompareFormat, MessageFormat};
use crate::compile::{Loaded, pretty};
use crate::files;
use crate::input::{check_chip, options, target};
use crate::limits;
use crate::report::{self, Failure};
use retroshade::ir::Module;
use retroshade::lower::{CompileError, CompiledShader, Options};
use retroshade::page::{Page, to_html};
use retroshade::{TargetIsa, listing, stats};
use serde_json::Value;

/// What a target made of a program.
type Made = (&'static dyn TargetIsa, Result<CompiledShader, CompileError>);

/// A program, what was made of it and its sizes.
struct Item {
    module: Module,
    made: Vec<Made>,
    compared: stats::Compared,
}

/// `shaderc compare`
pub fn compare(a: &CompareArgs, format: MessageFormat) -> Result<(), Failure> {
    let asked: Vec<&'static dyn TargetIsa> = a.targets.iter().map(|t| target(t)).collect::<Result<_, _>>()?;
    let isas = if asked.is_empty() { retroshade::targets() } else { asked.clone() };
    check_chip(&isas, a.codegen.chip.as_deref())?;
    let baseline = baseline(a)?;
    let mut sources = Loaded::new(&a.files, &a.source, format, false, None);
    // Each machine compares what it gets alone.
    let mut forms: [Vec<Module>; 2] = Default::default();
    for functions in isas.iter().map(|i| i.keeps_functions()) {
        if forms[usize::from(functions)].is_empty() {
            forms[usize::from(functions)] = sources.modules(functions)?.to_vec();
        }
    }
    let mut options = Options { texts: a.format == CompareFormat::Html, ..options(&a.codegen) };
    limits::apply(&[("memory".to_string(), limits::MANY)], &mut options, format);
    let mut status = 0;
    let mut items = Vec::new();
    for (n, p) in a.files.iter().enumerate() {
        let Some(module) = forms.iter().find_map(|f| f.get(n)) else { continue };
        let mut made: Vec<Made> = Vec::new();
        // A machine that has no such stage is no news, unless somebody asked for it.
        for isa in isas.iter().filter(|i| !asked.is_empty() || i.stages().contains(&module.stage)) {
            let m = &forms[usize::from(isa.keeps_functions())][n];
            let chip = options.chip.clone().filter(|c| isa.chips().contains(&c.as_str()));
            limits::next();
            let r = isa.compile(m, &Options { chip, ..options.clone() });
            if let Err(e) = &r {
                status = status.max(e.exit_status());
                // The table shows people what is wrong; programs read it where all messages stand, and shader-db's scripts not at all.
                if format == MessageFormat::Json || a.format == CompareFormat::ShaderDb {
                    report::show(&Failure::compile(e, m, &files::display(p)), format);
                }
            }
            made.push((*isa, r));
        }
        let results = made.iter().map(|(i, r)| (i.name(), r)).collect();
        let compared = stats::Compared::new(&files::display(p), module, results);
        items.push(Item { module: module.clone(), made, compared });
    }
    let text = report(a.format, items, baseline.as_ref());
    files::write_or_stdout(a.output.as_deref(), &text)?;
    if status == 0 { Ok(()) } else { Err(Failure::silent(status)) }
}

/// The earlier report of `--baseline`.
fn baseline(a: &CompareArgs) -> Result<Option<Value>, Failure> {
    let Some(path) = &a.baseline else { return Ok(None) };
    if a.format != CompareFormat::Html {
        return Err(Failure::usage("--baseline is for --format html"));
    }
    let name = files::display(path);
    let value: Value = serde_json::from_str(&files::read_text(path)?)
        .map_err(|e| Failure::plain(1, "C0017", format!("{name} is no report of `compare --format json`: {e}")))?;
    if value["shaders"].as_array().is_none() {
        return Err(Failure::plain(1, "C0017", format!("{name} is no report of `compare --format json`: it has no list `shaders`")));
    }
    Ok(Some(value))
}

/// The report in the form asked for.
fn report(format: CompareFormat, items: Vec<Item>, baseline: Option<&Value>) -> Vec<u8> {
    if format == CompareFormat::Html {
        let page = |i: Item| {
            let code = i.made.iter().filter_map(|(isa, r)| Some((isa.name(), listing::lines(*isa, r.as_ref().ok()?)))).collect();
            Page::new(i.compared, &i.module, code)
        };
        let pages: Vec<Page> = items.into_iter().map(page).collect();
        return to_html(&pages, baseline).into_bytes();
    }
    let compared: Vec<stats::Compared> = items.into_iter().map(|i| i.compared).collect();
    match format {
        CompareFormat::Json => pretty(&stats::to_json(&compared)),
        CompareFormat::ShaderDb => stats::to_shader_db(&compared).into_bytes(),
        CompareFormat::Table | CompareFormat::Html => stats::to_table(&compared).into_bytes(),
    }
}
