//! Compiling, the default command.

use crate::args::{Cli, CompileArgs, Emit, MessageFormat, SourceArgs};
use crate::containers;
use crate::deliver::{self, Product};
use crate::files;
use crate::input::{before, check_chip, entries, load_after, load_behind, options, target};
use crate::limits;
use crate::report::{self, Failure};
use crate::source_map;
use crate::warn::Levels;
use clap::CommandFactory;
use retroshade::ir::Module;
use retroshade::lower::driver::printable;
use retroshade::lower::nearest::{also, nearest};
use retroshade::lower::{CompiledShader, Options};
use retroshade::{TargetIsa, link, stats, warnings};
use std::path::{Path, PathBuf};

/// How texts are written.
#[derive(Clone, Copy)]
struct Form {
    /// JSON documents are lines: there are several on stdout.
    lines: bool,
    /// Assembly shows the source's lines.
    annotate: bool,
    /// Figures say how much `--verify` saw.
    verify: bool,
}

/// A shader's text or bytes of one kind.
fn product(kind: Emit, file: &str, module: &Module, isa: &dyn TargetIsa, s: &CompiledShader, form: Form) -> Result<Vec<u8>, Failure> {
    let Form { lines, annotate, verify } = form;
    let json = |v: &serde_json::Value| if lines { format!("{v}\n").into_bytes() } else { pretty(v) };
    Ok(match kind {
        Emit::Bin => s.code.clone(),
        Emit::Container | Emit::Gsh => s.container.clone(),
        Emit::Asm if annotate => source_map::annotated(isa, s, &module.sources).into_bytes(),
        Emit::Asm => s.asm.clone().into_bytes(),
        Emit::Ir => retroshade::print(module).into_bytes(),
        Emit::Legal => retroshade::print(&s.legal).into_bytes(),
        Emit::Stats => {
            let c = stats::Compared::new(file, module, vec![(isa.name(), &Ok(s.clone()))]);
            let mut document = stats::to_json(&[c]);
            document["shaders"][0]["targets"][isa.name()]["lines"] = source_map::bytes_by_line(s, &module.sources);
            // Builds with debug assertions always validate: only who asks is told.
            if let Some(seen) = s.seen.as_ref().filter(|_| verify) {
                document["shaders"][0]["targets"][isa.name()]["verified"] = source_map::verified(seen, &module.sources);
            }
            json(&document)
        }
        Emit::Reflect => json(&serde_json::to_value(&s.reflection).unwrap_or_default()),
        Emit::Map => json(&source_map::to_json(s, &module.sources)),
        Emit::Hex => match s.extra.get("hex") {
            Some(h) => h.clone(),
            None => words(&s.code).into_bytes(),
        },
        Emit::Mir
        | Emit::Regalloc
        | Emit::Header
        | Emit::Vitagl
        | Emit::VitaglTextureSize
        | Emit::Mif
        | Emit::MifConstants
        | Emit::MifBench => match s.extra.get(kind.name()) {
            Some(b) => b.clone(),
            None => return Err(Failure::plain(1, "C0010", format!("target {} has no `{}` output", isa.name(), kind.name()))),
        },
    })
}

/// A JSON document over several lines.
pub fn pretty(v: &serde_json::Value) -> Vec<u8> {
    let mut s = serde_json::to_string_pretty(v).unwrap_or_default();
    s.push('\n');
    s.into_bytes()
}

/// 32-bit words in hex, one per line.
fn words(code: &[u8]) -> String {
    code.chunks(4).map(|c| format!("{:08x}\n", c.iter().rev().fold(0u32, |w, b| w << 8 | u32::from(*b)))).collect()
}

/// Reads all files; the errors of all of them are shown before giving up. Warnings are shown where there are levels.
fn load_all(paths: &[PathBuf], source: &SourceArgs, format: MessageFormat, levels: Option<&Levels>) -> Result<Vec<Module>, Failure> {
    let mut modules: Vec<Module> = Vec::new();
    let mut failed: Option<u8> = None;
    let given = before(source)?;
    for (n, p) in paths.iter().enumerate() {
        // A source that is named several times gives one entry point after the other.
        let stage = if paths.iter().filter(|q| *q == p).count() > 1 && source.stage.is_none() {
            entries(p, source).get(paths[..n].iter().filter(|q| *q == p).count()).map(|e| e.1)
        } else {
            None
        };
        let own = stage.map(|s| SourceArgs { stage: Some(s), ..source.clone() });
        let source = own.as_ref().unwrap_or(source);
        // A program that follows another one in the pipeline takes its varyings by name.
        let loaded = match &given {
            Some(before) => load_behind(p, source, Some(before)),
            None => load_after(p, source, modules.last()),
        };
        match loaded {
            Ok(m) => {
                if let Some(levels) = levels {
                    let before = modules.last().filter(|b| link::follows(b.stage, m.stage));
                    let mut warnings = before.map(|b| link::check(b, &m)).unwrap_or_default();
                    warnings.extend(given.as_ref().or(before).map(|b| link::shared(b, &m)).unwrap_or_default());
                    warnings.extend(warnings::of_source(&m));
                    levels.show(warnings, &m, files::display(p), format);
                }
                modules.push(m);
            }
            Err(f) => {
                report::show(&f, format);
                failed = Some(failed.unwrap_or(0).max(f.status));
            }
        }
    }
    match failed {
        Some(s) => Err(Failure::silent(s)),
        None => Ok(modules),
    }
}

/// The stages and passes that `--print-after` names; one that does not exist is an error that lists them.
fn stages(given: &[String]) -> Result<indexmap::IndexSet<String>, Failure> {
    let mut out = indexmap::IndexSet::new();
    for name in given.iter().flat_map(|p| p.split(',')) {
        if !printable().any(|p| p == name) {
            let all: Vec<_> = printable().collect();
            let (list, hint) = (all.join(", "), also(name, all.iter().copied()));
            return Err(Failure::usage(format!("there is nothing to print after `{name}`; stages and passes are {list}{hint}")));
        }
        out.insert(name.to_string());
    }
    Ok(out)
}

/// The complaint about a first file that is none, but nearly the name of a command.
fn mistyped_command(file: &Path) -> Option<Failure> {
    let name = file.to_str().filter(|n| !n.contains('.') && !file.exists())?;
    let all: Vec<String> = Cli::command().get_subcommands().map(|c| c.get_name().to_string()).collect();
    let meant = nearest(name, all.iter().map(String::as_str))?;
    Some(Failure::usage(format!("there is no command and no file `{name}`; did you mean `{meant}`?")))
}

/// Whether all programs go into one container: where that is asked for, or several into a file that holds the stages of a pipeline.
fn links(a: &CompileArgs) -> bool {
    a.link || a.files.len() > 1 && holds_pipelines(a)
}

/// Whether the output's ending is that of a file which holds the stages of a pipeline.
fn holds_pipelines(a: &CompileArgs) -> bool {
    a.output.as_ref().and_then(|o| o.extension()).is_some_and(|e| e.eq_ignore_ascii_case("gsh"))
}

/// The command with a source once for each of its entry points, where they go into one container and none is named.
fn by_entry(a: &CompileArgs) -> CompileArgs {
    let mut out = a.clone();
    if (a.link || holds_pipelines(a)) && a.source.stage.is_none() && a.source.entry.is_none() {
        out.files = a.files.iter().flat_map(|p| vec![p.clone(); entries(p, &a.source).len().max(1)]).collect();
    }
    out
}

/// The default command.
pub fn compile(a: &CompileArgs, format: MessageFormat) -> Result<(), Failure> {
    if a.files.is_empty() {
        return Err(Failure::usage("no source file (try --help)"));
    }
    let a = &by_entry(a);
    if let Some(mistyped) = a.files.first().and_then(|f| mistyped_command(f)) {
        return Err(mistyped);
    }
    let to_stdout = a.output.as_ref().is_none_or(|o| o.as_os_str() == "-");
    let mut kinds: Vec<Emit> = Vec::new();
    for k in &a.emit {
        if !kinds.contains(k) {
            kinds.push(*k);
        }
    }
    if kinds.is_empty() && a.output.as_deref().is_some_and(deliver::is_image) {
        kinds.push(Emit::Mif);
    }
    if kinds.is_empty() {
        kinds.push(if to_stdout && !links(a) { Emit::Asm } else { Emit::Container });
    }
    if kinds == [Emit::Reflect]
        && let Some(outputs) = reflected(a, to_stdout)?
    {
        return deliver::deliver(a, outputs, to_stdout);
    }
    let (isas, chip) = targets(a, &kinds)?;
    let only_ir = kinds == [Emit::Ir];
    if isas.is_empty() && !only_ir {
        let all: Vec<_> = retroshade::targets().iter().map(|t| t.name()).collect();
        return Err(Failure::usage(format!("no --target; targets are {}", all.join(", "))));
    }
    let pieces = kinds.len() * isas.len().max(1) * if links(a) { 1 } else { a.files.len() };
    if kinds.iter().any(|k| k.is_binary()) && to_stdout && (a.output.is_none() || pieces > 1) {
        return Err(Failure::usage("binary goes to stdout only as the one kind of one program and target, with -o -"));
    }
    let mut options = Options { chip, ..options(&a.codegen) };
    limits::apply(&a.limit, &mut options, format);
    options.print_after = stages(&a.print_after)?;
    let textless =
        |k: &Emit| matches!(k, Emit::Bin | Emit::Container | Emit::Gsh | Emit::Ir | Emit::Legal | Emit::Stats | Emit::Reflect | Emit::Map);
    options.texts = !kinds.iter().all(textless);
    let levels = Levels::read(&a.warn)?;
    let mut sources = Loaded::new(&a.files, &a.source, format, &levels);
    let mut outputs: Vec<Product> = Vec::new();
    if isas.is_empty() {
        for (m, p) in sources.modules(false)?.iter().zip(&a.files) {
            outputs.push(Product::new(p, None, None, Emit::Ir, retroshade::print(m).into_bytes()));
        }
    }
    let form = Form { lines: to_stdout && pieces > 1, annotate: a.annotate, verify: a.codegen.verify };
    for isa in &isas {
        let chip = options.chip.clone().filter(|c| isa.chips().contains(&c.as_str()));
        let options = Options { chip, ..options.clone() };
        let modules = sources.modules(isa.keeps_functions())?;
        for (m, p) in modules.iter().zip(&a.files).filter(|_| isas.len() == 1) {
            levels.show(warnings::of_target(m, *isa, &options), m, files::display(p), format);
        }
        target_outputs(a, *isa, modules, &options, &kinds, form, &mut outputs, (&levels, format))?;
    }
    levels.verdict()?;
    deliver::deliver(a, outputs, to_stdout)
}

/// The interfaces of containers; `None` where a file is no container.
fn reflected(a: &CompileArgs, to_stdout: bool) -> Result<Option<Vec<Product>>, Failure> {
    let target = if let [one] = a.target.as_slice() { Some(one.as_str()) } else { None };
    let mut outputs = Vec::new();
    for p in &a.files {
        let Some(c) = containers::open(p, &a.source, target)? else { return Ok(None) };
        let value = c.reflection(&a.source)?;
        let bytes = if to_stdout && a.files.len() > 1 { format!("{value}\n").into_bytes() } else { pretty(&value) };
        outputs.push(Product::new(p, Some(c.isa), None, Emit::Reflect, bytes));
    }
    Ok(Some(outputs))
}

/// The targets asked for, each once, and the chip. Without `--target` the one that the output's ending names; an ending, or
/// `--emit gsh`, that only one chip has means that chip.
fn targets(a: &CompileArgs, kinds: &[Emit]) -> Result<(Vec<&'static dyn TargetIsa>, Option<String>), Failure> {
    let images = kinds.iter().any(|k| matches!(k, Emit::Mif | Emit::MifConstants | Emit::MifBench));
    let named = match a.output.as_deref().filter(|o| !o.is_dir()).and_then(deliver::target_of) {
        None if images => deliver::of_images(),
        None if kinds.contains(&Emit::Gsh) => deliver::of_ending(Emit::Gsh.name()),
        other => other,
    };
    let given = a.codegen.chip.as_deref();
    let mut isas: Vec<&'static dyn TargetIsa> = Vec::new();
    for t in &a.target {
        let isa = target(t)?;
        if !isas.iter().any(|i| i.name() == isa.name()) {
            isas.push(isa);
        }
    }
    if let (true, Some((isa, _))) = (isas.is_empty(), named) {
        isas.push(isa);
    }
    if !isas.is_empty() {
        check_chip(&isas, given)?;
    }
    if let Some((isa, None)) = named
        && kinds.contains(&Emit::Container)
        && !isas.iter().any(|i| i.name() == isa.name())
    {
        return Err(Failure::usage(format!("only target {} writes .{} files", isa.name(), isa.container_extension(None))));
    }
    let Some((isa, Some(chip))) = named else { return Ok((isas, a.codegen.chip.clone())) };
    if isas.iter().any(|i| i.name() != isa.name()) || given.is_some_and(|g| g != chip) {
        let ending = if images { "mif" } else { isa.container_extension(Some(chip)) };
        return Err(Failure::usage(format!("only target {} with --chip {chip} writes .{ending} files", isa.name())));
    }
    Ok((isas, Some(chip.to_string())))
}

/// The command's sources as modules. A machine that calls functions reads them in another form than one that does not, whatever other
/// targets the command has.
pub struct Loaded<'a> {
    paths: &'a [PathBuf],
    source: &'a SourceArgs,
    format: MessageFormat,
    /// Which warnings are shown.
    levels: &'a Levels,
    /// Without and with functions.
    forms: [Option<Vec<Module>>; 2],
}

impl<'a> Loaded<'a> {
    /// Nothing read yet.
    pub fn new(paths: &'a [PathBuf], source: &'a SourceArgs, format: MessageFormat, levels: &'a Levels) -> Loaded<'a> {
        Loaded { paths, source, format, levels, forms: [None, None] }
    }
    /// The modules in one of their forms.
    pub fn modules(&mut self, functions: bool) -> Result<&[Module], Failure> {
        // What is wrong with the sources is said once.
        let levels = Some(self.levels).filter(|_| self.forms.iter().all(Option::is_none));
        let form = &mut self.forms[usize::from(functions)];
        if form.is_none() {
            let source = SourceArgs { functions, ..self.source.clone() };
            *form = Some(load_all(self.paths, &source, self.format, levels)?);
        }
        Ok(form.as_deref().unwrap_or_default())
    }
}

/// Everything asked of one target.
fn target_outputs(
    a: &CompileArgs,
    isa: &'static dyn TargetIsa,
    modules: &[Module],
    options: &Options,
    kinds: &[Emit],
    form: Form,
    outputs: &mut Vec<Product>,
    (levels, format): (&Levels, MessageFormat),
) -> Result<(), Failure> {
    let chip = options.chip.as_deref();
    // The IR as the front end gives it is the same whatever the machine can do.
    if *kinds == [Emit::Ir] && options.print_after.is_empty() {
        outputs.extend(
            modules.iter().zip(&a.files).map(|(m, p)| Product::new(p, Some(isa), chip, Emit::Ir, retroshade::print(m).into_bytes())),
        );
        return Ok(());
    }
    let mut shaders = Vec::new();
    for (m, p) in modules.iter().zip(&a.files) {
        let file = files::display(p);
        limits::next();
        let compiled = isa.compile(m, options);
        let unfinished = options.unfinished.take();
        for (name, text) in compiled.as_ref().map_or(&unfinished, |s| &s.dumps) {
            report::say(&match format {
                MessageFormat::Human => format!("; after {name}\n{}\n", text.trim_end()),
                MessageFormat::Json => format!("{}\n", serde_json::json!({ "version": 1, "after": name, "text": text.trim_end() })),
            });
        }
        shaders.push(compiled.map_err(|e| Failure::compile(&e, m, &file))?);
    }
    for (n, w) in isa.warnings(modules, options) {
        levels.show(vec![w], &modules[n], files::display(&a.files[n]), format);
    }
    for kind in kinds {
        // Programs join in the container; every other kind is one output per program.
        if matches!(kind, Emit::Container | Emit::Gsh) && links(a) {
            let first = files::display(&a.files[0]);
            let bytes = isa.link(&shaders).map_err(|e| Failure::compile(&e, &modules[0], &first))?;
            outputs.push(Product::new(&a.files[0], Some(isa), chip, *kind, bytes));
            continue;
        }
        for ((m, p), s) in modules.iter().zip(&a.files).zip(&shaders) {
            let bytes = product(*kind, &files::display(p), m, isa, s, form)?;
            outputs.push(Product::new(p, Some(isa), chip, *kind, bytes));
        }
    }
    Ok(())
}
