//! `shaderc compare`: the same programs on several machines.
//!
//! What cannot be read or compiled is listed beside what can; the exit status says that it was there.

use crate::args::{CompareArgs, CompareFormat, MessageFormat, SourceArgs};
use crate::compile::pretty;
use crate::files;
use crate::input::{check_chip, entries, load, options, sources_below, target};
use crate::limits;
use crate::report::{self, Failure};
use retroshade::diagnostics::json_line;
use retroshade::ir::Module;
use retroshade::lower::{CompileError, CompiledShader, Options};
use retroshade::page::{Page, Report, to_html};
use retroshade::stats::Failed;
use retroshade::{TargetIsa, listing, stats};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a target made of a program.
type Made = (&'static dyn TargetIsa, Result<CompiledShader, CompileError>);

/// A program as the targets want it: without and with functions.
struct Program {
    file: String,
    forms: [Option<Module>; 2],
}

/// A program, what was made of it and its sizes.
struct Item {
    module: Module,
    made: Vec<Made>,
    compared: stats::Compared,
}

/// What the command's files hold.
#[derive(Default)]
struct Sources {
    programs: Vec<Program>,
    failed: Vec<Failed>,
    /// The gravest status of what failed.
    status: u8,
}

impl Sources {
    /// Reads all files, and those of folders, each once.
    fn read(a: &CompareArgs, isas: &[&dyn TargetIsa], format: MessageFormat) -> Sources {
        let mut out = Sources::default();
        let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
        for given in &a.files {
            let found = if given.is_dir() { sources_below(given, a.source.stage.is_some()) } else { Ok(vec![given.clone()]) };
            match found {
                Ok(all) => all.into_iter().filter(|p| seen.insert(p.clone())).for_each(|p| out.file(&p, &a.source, isas, format)),
                Err(f) => out.fail(given, None, &f, format),
            }
        }
        out
    }

    /// Reads a file, each of its entry points as a program.
    fn file(&mut self, path: &Path, source: &SourceArgs, isas: &[&dyn TargetIsa], format: MessageFormat) {
        let found = entries(path, source);
        if found.len() < 2 {
            return self.entry(path, None, source, isas, format);
        }
        for (name, stage) in found {
            let own = SourceArgs { entry: Some(name.clone()), stage: Some(stage), ..source.clone() };
            self.entry(path, Some(name), &own, isas, format);
        }
    }

    fn entry(&mut self, path: &Path, entry: Option<String>, source: &SourceArgs, isas: &[&dyn TargetIsa], format: MessageFormat) {
        let mut forms = [None, None];
        // Each machine compares what it gets alone.
        for functions in isas.iter().map(|i| i.keeps_functions()) {
            let form = &mut forms[usize::from(functions)];
            if form.is_none() {
                match load(path, &SourceArgs { functions, ..source.clone() }) {
                    Ok(m) => *form = Some(m),
                    Err(f) => return self.fail(path, entry, &f, format),
                }
            }
        }
        self.programs.push(Program { file: files::display(path), forms });
    }

    fn fail(&mut self, path: &Path, entry: Option<String>, f: &Failure, format: MessageFormat) {
        let (file, message) = (files::display(path), report::headline(f));
        self.status = self.status.max(f.status);
        // What is wrong with a text is found wrong for each of its entry points.
        if let Some(known) = self.failed.iter_mut().find(|k| k.file == file && k.message == message) {
            known.entry = None;
            return;
        }
        report::show(f, format);
        let name = f.file.as_deref().or(Some(&file));
        let diagnostics = f.diagnostics.iter().map(|d| json_line(d, &f.sources, name)).collect();
        self.failed.push(Failed { file, entry, message, diagnostics });
    }
}

/// `shaderc compare`
pub fn compare(a: &CompareArgs, format: MessageFormat) -> Result<(), Failure> {
    let asked: Vec<&'static dyn TargetIsa> = a.targets.iter().map(|t| target(t)).collect::<Result<_, _>>()?;
    let isas = if asked.is_empty() { retroshade::targets() } else { asked.clone() };
    check_chip(&isas, a.codegen.chip.as_deref())?;
    let baseline = baseline(a)?;
    let Sources { programs, failed, mut status } = Sources::read(a, &isas, format);
    if programs.is_empty() {
        return Err(Failure::silent(status));
    }
    let mut options = Options { texts: a.format == CompareFormat::Html, ..options(&a.codegen) };
    limits::apply(&[("memory".to_string(), limits::MANY)], &mut options, format);
    let mut items = Vec::new();
    for p in programs {
        let Some(module) = p.forms.iter().flatten().next() else { continue };
        let mut made: Vec<Made> = Vec::new();
        // A machine that has no such stage is no news, unless somebody asked for it.
        for isa in isas.iter().filter(|i| !asked.is_empty() || i.stages().contains(&module.stage)) {
            let Some(m) = &p.forms[usize::from(isa.keeps_functions())] else { continue };
            let chip = options.chip.clone().filter(|c| isa.chips().contains(&c.as_str()));
            limits::next();
            let r = isa.compile(m, &Options { chip, ..options.clone() });
            if let Err(e) = &r {
                status = status.max(e.exit_status());
                // The table shows people what is wrong; programs read it where all messages stand, and shader-db's scripts not at all.
                if format == MessageFormat::Json || a.format == CompareFormat::ShaderDb {
                    report::show(&Failure::compile(e, m, &p.file), format);
                }
            }
            made.push((*isa, r));
        }
        let results = made.iter().map(|(i, r)| (i.name(), r)).collect();
        let compared = stats::Compared::new(&p.file, module, results);
        items.push(Item { module: module.clone(), made, compared });
    }
    if let Some(b) = &baseline
        && !items.iter().any(|i| stats::earlier(b, &i.compared).is_some())
    {
        let file = a.baseline.as_deref().map(files::display).unwrap_or_default();
        report::show(&Failure::note("C0022", format!("the baseline {file} has none of these shaders")), format);
    }
    let text = report(a.format, items, &failed, baseline.as_ref());
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
    let wrong = |what: String| Failure::plain(1, "C0017", format!("{name} is no report of `compare --format json`: {what}"));
    let value: Value = serde_json::from_str(&files::read_text(path)?).map_err(|e| wrong(e.to_string()))?;
    stats::check_report(&value).map_err(wrong)?;
    Ok(Some(value))
}

/// The report in the form asked for.
fn report(format: CompareFormat, items: Vec<Item>, failed: &[Failed], baseline: Option<&Value>) -> Vec<u8> {
    if format == CompareFormat::Html {
        let page = |i: Item| {
            let code = i.made.iter().filter_map(|(isa, r)| Some((isa.name(), listing::lines(*isa, r.as_ref().ok()?)))).collect();
            Page::new(i.compared, &i.module, code)
        };
        let pages: Vec<Page> = items.into_iter().map(page).collect();
        return to_html(&Report { pages: &pages, failed, baseline }).into_bytes();
    }
    let compared: Vec<stats::Compared> = items.into_iter().map(|i| i.compared).collect();
    match format {
        CompareFormat::Json => pretty(&stats::report_json(&compared, failed)),
        CompareFormat::ShaderDb => stats::to_shader_db(&compared).into_bytes(),
        CompareFormat::Table | CompareFormat::Html => stats::to_table(&compared, failed).into_bytes(),
    }
}
