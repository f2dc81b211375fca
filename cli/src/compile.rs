//! Compiling (the default command) and `compare`.

use crate::args::{CompareArgs, CompareFormat, CompileArgs, Emit};
use crate::files;
use crate::input::{self, check_chip, load, load_after, options, target};
use crate::report::{self, Failure};
use retroshade::ir::Module;
use retroshade::lower::{CompiledShader, Options};
use retroshade::{TargetIsa, link, stats};
use std::path::{Path, PathBuf};

/// A shader's text or bytes of one kind.
fn product(kind: Emit, file: &str, module: &Module, isa: &dyn TargetIsa, s: &CompiledShader) -> Result<Vec<u8>, Failure> {
    Ok(match kind {
        Emit::Bin => s.code.clone(),
        Emit::Container => s.container.clone(),
        Emit::Asm => s.asm.clone().into_bytes(),
        Emit::Ir => retroshade::print(module).into_bytes(),
        Emit::Legal => retroshade::print(&s.legal).into_bytes(),
        Emit::Stats => {
            let c = stats::Compared::new(file, module, vec![(isa.name(), &Ok(s.clone()))]);
            pretty(&stats::to_json(&[c]))
        }
        Emit::Reflect => pretty(&serde_json::to_value(&s.reflection).unwrap_or_default()),
        Emit::Hex => match s.extra.get("hex") {
            Some(h) => h.clone(),
            None => words(&s.code).into_bytes(),
        },
        Emit::Mir | Emit::Regalloc | Emit::Header | Emit::Vitagl => match s.extra.get(kind.name()) {
            Some(b) => b.clone(),
            None => return Err(Failure::plain(1, "C0010", format!("target {} has no `{}` output", isa.name(), kind.name()))),
        },
    })
}

fn pretty(v: &serde_json::Value) -> Vec<u8> {
    let mut s = serde_json::to_string_pretty(v).unwrap_or_default();
    s.push('\n');
    s.into_bytes()
}

/// 32-bit words in hex, one per line.
fn words(code: &[u8]) -> String {
    code.chunks(4).map(|c| format!("{:08x}\n", c.iter().rev().fold(0u32, |w, b| w << 8 | u32::from(*b)))).collect()
}

/// Reads all files; the errors of all of them are shown before giving up.
fn load_all(
    paths: &[PathBuf],
    source: &crate::args::SourceArgs,
    format: crate::args::MessageFormat,
    pipeline: bool,
) -> Result<Vec<Module>, Failure> {
    let mut modules: Vec<Module> = Vec::new();
    let mut failed: Option<u8> = None;
    for p in paths {
        // A program that follows another one in the pipeline takes its varyings by name.
        let loaded = match modules.last() {
            Some(before) if pipeline && source.after.is_none() => load_after(p, source, Some(before)),
            _ => load(p, source),
        };
        match loaded {
            Ok(m) => {
                if let Some(before) = modules.last().filter(|b| pipeline && link::follows(b.stage, m.stage))
                    && let Err(f) = input::linked(before, &m, p)
                {
                    report::show(&f.into_warning(), format);
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

/// The default command.
pub fn compile(a: &CompileArgs, format: crate::args::MessageFormat) -> Result<(), Failure> {
    if a.files.is_empty() {
        return Err(Failure::usage("no source file (try --help)"));
    }
    let mut isas: Vec<&'static dyn TargetIsa> = Vec::new();
    for t in &a.target {
        let isa = target(t)?;
        check_chip(isa, a.codegen.chip.as_deref().filter(|_| a.target.len() == 1))?;
        if !isas.iter().any(|i| i.name() == isa.name()) {
            isas.push(isa);
        }
    }
    let to_stdout = a.output.as_ref().is_none_or(|o| o.as_os_str() == "-");
    let mut kinds = a.emit.clone();
    if kinds.is_empty() {
        kinds.push(if to_stdout { Emit::Asm } else { Emit::Container });
    }
    let only_ir = kinds == [Emit::Ir];
    if isas.is_empty() && !only_ir {
        let all: Vec<_> = retroshade::targets().iter().map(|t| t.name()).collect();
        return Err(Failure::usage(format!("no --target; targets are {}", all.join(", "))));
    }
    let binary = kinds.iter().filter(|k| k.is_binary()).count();
    let pieces = kinds.len() * isas.len().max(1);
    if binary > 0 && to_stdout && (a.output.is_none() || pieces > 1) {
        return Err(Failure::usage("binary goes to stdout only as the one kind of one target, with -o -"));
    }
    let source = crate::args::SourceArgs { functions: !isas.is_empty() && isas.iter().all(|i| i.keeps_functions()), ..a.source.clone() };
    let modules = load_all(&a.files, &source, format, true)?;
    let mut options = options(&a.codegen);
    options.print_after = a.print_after.iter().flat_map(|p| p.split(',')).map(str::to_string).collect();
    options.texts = kinds.iter().any(|k| !matches!(k, Emit::Bin | Emit::Container | Emit::Ir | Emit::Legal | Emit::Stats | Emit::Reflect));
    let mut outputs: Vec<(String, Vec<u8>)> = Vec::new();
    if only_ir && isas.is_empty() {
        for (m, p) in modules.iter().zip(&a.files) {
            outputs.push((format!("{}.ir", stem(p)), retroshade::print(m).into_bytes()));
        }
    }
    for isa in &isas {
        let chip = options.chip.clone().filter(|c| isas.len() == 1 || isa.chips().contains(&c.as_str()));
        let options = Options { chip, ..options.clone() };
        target_outputs(a, *isa, &modules, &options, &kinds, &mut outputs, format)?;
    }
    deliver(a, outputs, to_stdout)
}

/// Everything asked of one target.
fn target_outputs(
    a: &CompileArgs,
    isa: &'static dyn TargetIsa,
    modules: &[Module],
    options: &Options,
    kinds: &[Emit],
    outputs: &mut Vec<(String, Vec<u8>)>,
    format: crate::args::MessageFormat,
) -> Result<(), Failure> {
    let mut shaders = Vec::new();
    for (m, p) in modules.iter().zip(&a.files) {
        let file = files::display(p);
        let shader = input::compile(isa, m, options).map_err(|e| Failure::compile(&e, m, &file))?;
        for (name, text) in &shader.dumps {
            eprintln!("; after {name}\n{}", text.trim_end());
        }
        shaders.push(shader);
    }
    for (n, w) in isa.warnings(modules) {
        let file = files::display(&a.files[n]);
        report::show(&Failure { status: 0, sources: modules[n].sources.clone(), diagnostics: vec![w], file: Some(file) }, format);
    }
    for kind in kinds {
        // Several programs join in the container; every other kind is one output per program.
        if *kind == Emit::Container && shaders.len() > 1 {
            let first = files::display(&a.files[0]);
            let bytes = isa.link(&shaders).map_err(|e| Failure::compile(&e, &modules[0], &first))?;
            outputs.push((format!("{}.{}.{}", stem(&a.files[0]), isa.name(), kind.name()), bytes));
            continue;
        }
        for ((m, p), s) in modules.iter().zip(&a.files).zip(&shaders) {
            let bytes = product(*kind, &files::display(p), m, isa, s)?;
            outputs.push((format!("{}.{}.{}", stem(p), isa.name(), kind.name()), bytes));
        }
    }
    Ok(())
}

fn stem(p: &Path) -> String {
    match p.file_stem().and_then(|s| s.to_str()) {
        Some("-") | None => "stdin".to_string(),
        Some(s) => s.to_string(),
    }
}

/// Writes all outputs, now that nothing can fail any more but writing itself.
fn deliver(a: &CompileArgs, outputs: Vec<(String, Vec<u8>)>, to_stdout: bool) -> Result<(), Failure> {
    let mut written: Vec<PathBuf> = Vec::new();
    match &a.output {
        Some(o) if !to_stdout && (outputs.len() > 1 || o.is_dir()) => {
            std::fs::create_dir_all(o).map_err(|e| Failure::plain(1, "C0005", format!("cannot make folder {}: {e}", o.display())))?;
            for (name, bytes) in &outputs {
                let path = o.join(name);
                files::write(&path, bytes)?;
                written.push(path);
            }
        }
        Some(o) if !to_stdout => {
            for (_, bytes) in &outputs {
                files::write(o, bytes)?;
                written.push(o.clone());
            }
        }
        _ => {
            for (_, bytes) in &outputs {
                files::stdout(bytes)?;
            }
        }
    }
    if let Some(d) = &a.depfile {
        let escape = |p: &Path| p.display().to_string().replace(' ', "\\ ").replace('$', "$$").replace('#', "\\#");
        let outs: Vec<_> = written.iter().map(|p| escape(p)).collect();
        let ins: Vec<_> = a.files.iter().filter(|p| p.as_os_str() != "-").map(|p| escape(p)).collect();
        let outs = if outs.is_empty() { "-".to_string() } else { outs.join(" ") };
        files::write(d, format!("{outs}: {}\n", ins.join(" ")).as_bytes())?;
    }
    Ok(())
}

/// `shaderc compare`
pub fn compare(a: &CompareArgs, format: crate::args::MessageFormat) -> Result<(), Failure> {
    let mut isas = Vec::new();
    for t in &a.targets {
        isas.push(target(t)?);
    }
    if isas.is_empty() {
        isas = retroshade::targets();
    }
    if let [one] = isas.as_slice() {
        check_chip(*one, a.codegen.chip.as_deref())?;
    }
    let modules = load_all(&a.files, &a.source, format, false)?;
    // A machine that calls gets what it would get alone; standard input can be read only once.
    let readable = a.files.iter().all(|f| f.as_os_str() != "-");
    let kept = if readable && isas.iter().any(|i| i.keeps_functions()) {
        let source = crate::args::SourceArgs { functions: true, ..a.source.clone() };
        load_all(&a.files, &source, format, false)?
    } else {
        Vec::new()
    };
    let options = options(&a.codegen);
    let mut status = 0;
    let mut compared = Vec::new();
    for (n, (m, p)) in modules.iter().zip(&a.files).enumerate() {
        let file = files::display(p);
        let mut results = Vec::new();
        for isa in &isas {
            let m = kept.get(n).filter(|_| isa.keeps_functions()).unwrap_or(m);
            let chip = options.chip.clone().filter(|c| isas.len() == 1 || isa.chips().contains(&c.as_str()));
            let r = input::compile(*isa, m, &Options { chip, ..options.clone() });
            if let Err(e) = &r {
                status = status.max(e.exit_status());
            }
            results.push((isa.name(), r));
        }
        compared.push(stats::Compared::new(&file, m, results.iter().map(|(n, r)| (*n, r)).collect()));
    }
    let text = match a.format {
        CompareFormat::Table => stats::to_table(&compared).into_bytes(),
        CompareFormat::Json => pretty(&stats::to_json(&compared)),
        CompareFormat::Html => stats::to_html(&compared).into_bytes(),
        CompareFormat::ShaderDb => stats::to_shader_db(&compared).into_bytes(),
    };
    files::write_or_stdout(a.output.as_deref(), &text)?;
    if status == 0 { Ok(()) } else { Err(Failure::silent(status)) }
}
