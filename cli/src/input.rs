//! From a file to a verified module, whatever its language.

use crate::args::{CodegenArgs, Lang, SourceArgs};
use crate::files;
use crate::report::Failure;
use retroshade::frontend::{self, FrontOptions, Includes};
use retroshade::ir::{Module, SourceMap, Span, Stage};
use retroshade::link;
use retroshade::lower::{ColorFormat, CompileError, CompiledShader, MatrixLayout, OptLevel, Options};
use std::path::Path;

/// The language by `--lang` or the file's extension.
fn language(path: &Path, args: &SourceArgs) -> Result<(Lang, Option<Stage>), Failure> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    // `x.vert.hlsl` names its stage too.
    let inner = path.file_stem().map(Path::new).and_then(|s| s.extension()).and_then(|e| e.to_str()).unwrap_or("");
    let (lang, stage) = match extension {
        "ir" => (Some(Lang::Ir), None),
        "wgsl" => (Some(Lang::Wgsl), None),
        "spv" => (Some(Lang::Spv), None),
        "glsl" => (Some(Lang::Glsl), retroshade::stage_of_extension(inner)),
        "hlsl" | "cg" => (Some(Lang::Hlsl), retroshade::stage_of_extension(inner)),
        "vert" | "geom" | "frag" | "comp" => (Some(Lang::Glsl), retroshade::stage_of_extension(extension)),
        _ => (None, None),
    };
    match args.lang.or(lang) {
        Some(l) => Ok((l, args.stage.or(stage))),
        None if path.as_os_str() == "-" => Err(Failure::usage("`-` needs --lang (ir, wgsl, glsl, hlsl, spv)")),
        None => Err(Failure::usage(format!(
            "{}: unknown kind of file; name the language with --lang (ir, wgsl, glsl, hlsl, spv)",
            path.display()
        ))),
    }
}

/// Whether a file says that it is a source, by its name or the command line.
pub fn is_source(path: &Path, args: &SourceArgs) -> bool {
    args.lang.is_some() || path.as_os_str() == "-" || language(path, args).is_ok()
}

/// Reads and verifies a module, and the one that `--after` names.
pub fn load(path: &Path, args: &SourceArgs) -> Result<Module, Failure> {
    let Some(first) = &args.after else { return load_after(path, args, None) };
    let before = load(first, &SourceArgs { define: args.define.clone(), include: args.include.clone(), ..SourceArgs::default() })?;
    let module = load_after(path, args, Some(&before))?;
    linked(&before, &module, path)?;
    Ok(module)
}

/// Whether a program finds what it reads among what the one before it writes.
pub fn linked(before: &Module, module: &Module, path: &Path) -> Result<(), Failure> {
    let wrong = link::check(before, module);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure { file: Some(files::display(path)), ..Failure::source(1, module.sources.clone(), wrong) })
}

/// Reads and verifies a module that follows another one in a pipeline.
pub fn load_after(path: &Path, args: &SourceArgs, before: Option<&Module>) -> Result<Module, Failure> {
    let (lang, stage) = language(path, args)?;
    let name = files::display(path);
    let before = before.filter(|b| stage.is_some_and(|s| link::follows(b.stage, s)));
    let mut module = match lang {
        Lang::Ir => ir_text(path, &name, args)?,
        _ => front_end(lang, path, &name, stage, args, before)?,
    };
    if let Some(b) = before {
        link::inherit(b, &mut module);
    }
    if let (Some(s), true) = (args.stage, lang == Lang::Ir)
        && s != module.stage
    {
        let m = format!("{name} is a {} program, not a {} program", module.stage.name(), s.name());
        return Err(Failure::plain(1, "C0006", m));
    }
    Ok(module)
}

fn ir_text(path: &Path, name: &str, args: &SourceArgs) -> Result<Module, Failure> {
    // The parser has its own, smaller cap: look at the size before reading.
    let size = std::fs::metadata(path).map_or(0, |m| m.len());
    if path.as_os_str() != "-" && size > retroshade::ir::text::MAX_BYTES as u64 {
        let m = format!("{name} is too large (needed {size} bytes, available {})", retroshade::ir::text::MAX_BYTES);
        return Err(Failure::plain(3, retroshade::ir::text::LIMIT_CODE, m));
    }
    let bytes = files::without_mark(files::read(path)?);
    let module = retroshade::ir::parse_bytes(name, &bytes).map_err(|e| {
        let status = if e.is_limit() { 3 } else { 1 };
        Failure { file: Some(name.to_string()), ..Failure::source(status, e.sources, e.diagnostics) }
    })?;
    if let Some(e) = args.entry.as_ref().filter(|e| **e != module.name) {
        return Err(Failure::plain(1, "C0007", format!("{name} has no entry `{e}`; its entry is `{}`", module.name)));
    }
    let mut module = module;
    for (n, lo, hi) in &args.range {
        module.declare_range(n, *lo, *hi).map_err(|e| Failure::plain(1, "F0016", format!("{name}: --range {n}: {e}")))?;
    }
    verified(module, name)
}

/// The module itself if it obeys the rules of the IR.
fn verified(module: Module, name: &str) -> Result<Module, Failure> {
    match retroshade::ir::verify(&module) {
        Ok(()) => Ok(module),
        Err(diagnostics) => {
            let sources: SourceMap = module.sources;
            Err(Failure { file: Some(name.to_string()), ..Failure::source(1, sources, diagnostics) })
        }
    }
}

fn front_end(
    lang: Lang,
    path: &Path,
    name: &str,
    stage: Option<Stage>,
    args: &SourceArgs,
    before: Option<&Module>,
) -> Result<Module, Failure> {
    let mut defines = Vec::new();
    for d in &args.define {
        let (k, v) = d.split_once('=').unwrap_or((d, "1"));
        if k.is_empty() {
            return Err(Failure::usage(format!("`{d}` is not NAME=VALUE")));
        }
        defines.push((k.to_string(), v.to_string()));
    }
    let varyings = before.map(link::varyings).unwrap_or_default();
    let read = |p: &Path| if p.is_file() { files::read_text(p).ok() } else { None };
    let options = FrontOptions {
        entry: args.entry.clone(),
        stage,
        defines,
        varyings,
        ranges: args.range.clone(),
        functions: args.functions,
        include: Includes::search(args.include.clone(), read),
    };
    let module = if lang == Lang::Spv {
        frontend::spirv(name, &files::read(path)?, &options)
    } else {
        let text = files::read_text(path)?;
        match lang {
            Lang::Wgsl => frontend::wgsl(name, &text, &options),
            Lang::Hlsl => frontend::hlsl(name, &text, &options),
            _ => frontend::glsl(name, &text, &options),
        }
    };
    let module = module.map_err(|e| {
        let status = if e.is_limit() { 3 } else { 1 };
        Failure { file: Some(name.to_string()), ..Failure::source(status, e.sources, e.diagnostics) }
    })?;
    // The source was valid, so a rule broken here is the front end's fault.
    verified(module, name).map_err(|f| Failure { status: 70, ..f })
}

/// Compilation options from the command line.
pub fn options(args: &CodegenArgs) -> Options {
    Options {
        opt: match args.opt.as_str() {
            "0" => OptLevel::O0,
            "1" => OptLevel::O1,
            "s" => OptLevel::Os,
            _ => OptLevel::O2,
        },
        chip: args.chip.clone(),
        fp_contract: args.fp_contract == "on",
        relaxed_precision: args.relaxed_precision,
        color_format: match args.color_format.as_str() {
            "u8" => ColorFormat::U8,
            "f32" => ColorFormat::F32,
            _ => ColorFormat::F16,
        },
        robust: args.robust,
        matrix_layout: args.matrix_layout.as_deref().map(|l| if l == "row" { MatrixLayout::Row } else { MatrixLayout::Column }),
        pack_uniforms: args.pack_uniforms,
        emulators: args.robust_emulators,
        ..Options::default()
    }
}

/// The most IR instructions that are compiled; beyond any program that a machine could hold.
const MAX_INSTRUCTIONS: usize = 1 << 16;

/// Compiles for a target, or says why that cannot be.
pub fn compile(isa: &dyn retroshade::TargetIsa, module: &Module, options: &Options) -> Result<CompiledShader, CompileError> {
    suits(isa, module)?;
    isa.compile(module, options)
}

/// Whether the target has the module's stage, and the module a size that makes sense.
pub fn suits(isa: &dyn retroshade::TargetIsa, module: &Module) -> Result<(), CompileError> {
    if !isa.stages().contains(&module.stage) {
        let message = format!("target {} has no {} programs", isa.name(), module.stage.name());
        return Err(CompileError::unsupported("C0011", Span::NONE, message));
    }
    let count: usize = module.functions.values().map(retroshade::ir::Function::inst_count).sum();
    if count > MAX_INSTRUCTIONS {
        let message = "the program has too many instructions";
        return Err(CompileError::limit("C0013", Span::NONE, message, count as u64, MAX_INSTRUCTIONS as u64));
    }
    Ok(())
}

/// A target, or a usage error that lists them.
pub fn target(name: &str) -> Result<&'static dyn retroshade::TargetIsa, Failure> {
    retroshade::target(name).ok_or_else(|| {
        let all: Vec<_> = retroshade::targets().iter().map(|t| t.name()).collect();
        let hint = retroshade::lower::nearest::hint(name, all.iter().copied());
        Failure::usage(format!("there is no target `{name}`; {}", hint.replace("known are", "targets are")))
    })
}

/// Checks `--chip` against a target's list.
pub fn check_chip(isa: &dyn retroshade::TargetIsa, chip: Option<&str>) -> Result<(), Failure> {
    match chip {
        Some(c) if !isa.chips().is_empty() && !isa.chips().contains(&c) => {
            Err(Failure::usage(format!("target {} has no chip `{c}`; chips are {}", isa.name(), isa.chips().join(", "))))
        }
        _ => Ok(()),
    }
}
