//! From a file to a verified module, whatever its language.

use crate::args::{CodegenArgs, SourceArgs};
use crate::files;
use crate::report::Failure;
use retroshade::frontend::{FrontOptions, Includes};
use retroshade::ir::{Module, Stage};
use retroshade::link;
use retroshade::lower::{ColorFormat, MatrixLayout, OptLevel, Options};
use retroshade::{Language, source};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The language by `--lang` or the file's extension.
fn language(path: &Path, args: &SourceArgs) -> Result<(Language, Option<Stage>), Failure> {
    let of_path = Language::of_path(path);
    let names = || Language::NAMES.map(|l| l.0).join(", ");
    match args.lang.or(of_path.map(|l| l.0)) {
        Some(l) => Ok((l, args.stage.or(of_path.and_then(|l| l.1)))),
        None if path.is_dir() => Err(Failure::usage(format!("{} is a folder; `batch` and `compare` take folders", path.display()))),
        None if path.as_os_str() == "-" => Err(Failure::usage(format!("`-` needs --lang ({})", names()))),
        None => Err(Failure::usage(format!("{}: unknown kind of file; name the language with --lang ({})", path.display(), names()))),
    }
}

/// Whether a file says that it is a source, by its name or the command line.
pub fn is_source(path: &Path, args: &SourceArgs) -> bool {
    args.lang.is_some() || path.as_os_str() == "-" || language(path, args).is_ok()
}

/// The names and stages of those of a source's entry points that the command line allows, where its language has several in one file.
pub fn entries(path: &Path, args: &SourceArgs) -> Vec<(String, Stage)> {
    let Ok((language @ (Language::Wgsl | Language::Spirv), stage)) = language(path, args) else { return Vec::new() };
    let mut all = files::read(path).map(|bytes| source::entries(language, &bytes)).unwrap_or_default();
    all.retain(|(name, s)| args.entry.as_ref().is_none_or(|e| e == name) && stage.is_none_or(|asked| asked == *s));
    all
}

/// All sources at or below a folder, in the order of their names. GLSL that does not say its stage is there to be included, unless the
/// stage is `given`.
pub fn sources_below(folder: &Path, given: bool) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    walk(folder, &mut BTreeSet::new(), &mut found)?;
    found.retain(|f| given || !matches!(Language::of_path(f), Some((Language::Glsl, None))));
    if found.is_empty() { Err(Failure::plain(1, "C0003", format!("{} has no source", folder.display()))) } else { Ok(found) }
}

/// A folder that was seen is not entered again.
fn walk(folder: &Path, seen: &mut BTreeSet<PathBuf>, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let fail = |e: std::io::Error| Failure::plain(1, "C0003", format!("cannot read {}: {e}", folder.display()));
    if !seen.insert(folder.canonicalize().map_err(fail)?) {
        return Ok(());
    }
    let entries = std::fs::read_dir(folder).map_err(fail)?.collect::<Result<Vec<_>, _>>().map_err(fail)?;
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|e| e.path()).collect();
    paths.sort();
    for p in paths {
        if p.is_dir() {
            walk(&p, seen, found)?;
        } else if p.is_file() && Language::of_path(&p).is_some() {
            found.push(p);
        }
    }
    Ok(())
}

/// Reads and verifies a module, and the one that `--after` names.
pub fn load(path: &Path, args: &SourceArgs) -> Result<Module, Failure> {
    load_behind(path, args, before(args)?.as_ref())
}

/// The module that `--after` names.
pub fn before(args: &SourceArgs) -> Result<Option<Module>, Failure> {
    let first = |p: &PathBuf| load(p, &SourceArgs { define: args.define.clone(), include: args.include.clone(), ..SourceArgs::default() });
    args.after.as_ref().map(first).transpose()
}

/// Reads and verifies a module that finds what it reads in the one that `--after` names.
pub fn load_behind(path: &Path, args: &SourceArgs, before: Option<&Module>) -> Result<Module, Failure> {
    let module = load_after(path, args, before)?;
    if let Some(before) = before {
        linked(before, &module, path)?;
    }
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
    let (language, stage) = language(path, args)?;
    let name = files::display(path);
    let before = before.filter(|b| stage.is_some_and(|s| link::follows(b.stage, s)));
    let read = |p: &Path| if p.is_file() { files::read(p).ok().map(|b| source::text(&b).into_owned()) } else { None };
    let options = FrontOptions {
        entry: args.entry.clone(),
        stage,
        defines: defines(args)?,
        varyings: before.map(link::varyings).unwrap_or_default(),
        ranges: args.range.clone(),
        functions: args.functions,
        include: Includes::search(args.include.clone(), read),
    };
    if language == Language::Ir {
        small_enough(path, &name)?;
    }
    let mut module = source::read(language, &name, &files::read(path)?, &options)
        .map_err(|e| Failure { file: Some(name), ..Failure::source(e.status, e.sources, e.diagnostics) })?;
    if let Some(b) = before {
        link::inherit(b, &mut module);
    }
    Ok(module)
}

/// The parser of the IR has its own, smaller cap: the size is looked at before the file is read.
fn small_enough(path: &Path, name: &str) -> Result<(), Failure> {
    let size = std::fs::metadata(path).map_or(0, |m| m.len());
    if path.as_os_str() == "-" || size <= retroshade::ir::text::MAX_BYTES as u64 {
        return Ok(());
    }
    let m = format!("{name} is too large (needed {size} bytes, available {})", retroshade::ir::text::MAX_BYTES);
    Err(Failure::plain(3, retroshade::ir::text::LIMIT_CODE, m))
}

/// The values of `--define`.
fn defines(args: &SourceArgs) -> Result<Vec<(String, String)>, Failure> {
    args.define
        .iter()
        .map(|d| match d.split_once('=').unwrap_or((d, "1")) {
            ("", _) => Err(Failure::usage(format!("`{d}` is not NAME=VALUE"))),
            (k, v) => Ok((k.to_string(), v.to_string())),
        })
        .collect()
}

/// Compilation options from the command line.
pub fn options(args: &CodegenArgs) -> Options {
    let plain = Options::default();
    Options {
        validate: args.verify || plain.validate,
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
            "f16" => ColorFormat::F16,
            _ => ColorFormat::Auto,
        },
        robust: args.robust,
        matrix_layout: args.matrix_layout.as_deref().map(|l| if l == "row" { MatrixLayout::Row } else { MatrixLayout::Column }),
        pack_uniforms: args.pack_uniforms,
        emulators: args.robust_emulators,
        // `load` has done that.
        verify: false,
        max_registers: args.max_registers,
        uniform_buffers: args.uniform_buffers,
        ..plain
    }
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
pub fn check_chip(isas: &[&dyn retroshade::TargetIsa], chip: Option<&str>) -> Result<(), Failure> {
    let Some(chip) = chip else { return Ok(()) };
    let chips: Vec<&str> = isas.iter().flat_map(|i| i.chips()).copied().collect();
    if chips.contains(&chip) {
        return Ok(());
    }
    let names: Vec<&str> = isas.iter().map(|i| i.name()).collect();
    Err(Failure::usage(retroshade::lower::no_chip(&names, &chips, chip)))
}
