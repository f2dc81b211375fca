//! What compiling leaves behind: one file or a folder of them, a makefile rule, or text on stdout.
//!
//! Everything is checked before the first byte is written: two outputs of one name, and outputs that are inputs, are errors.

use crate::args::{CompileArgs, Emit};
use crate::files;
use crate::report::Failure;
use retroshade::TargetIsa;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// One output of a compilation.
#[derive(Debug)]
pub struct Product {
    /// Its name in an output folder.
    pub name: OsString,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl Product {
    /// An output of a source for a target and chip. The whole name of the source is kept, so that `a.vert` and `a.frag` stay apart.
    pub fn new(source: &Path, isa: Option<&dyn TargetIsa>, chip: Option<&str>, kind: Emit, bytes: Vec<u8>) -> Product {
        let source = source.file_name().filter(|s| *s != "-").unwrap_or(OsStr::new("stdin"));
        let target = isa.map(|i| format!("{}.", i.name())).unwrap_or_default();
        let mut name = source.to_os_string();
        name.push(format!(".{target}{}", ending(kind, isa, chip)));
        Product { name, bytes }
    }
}

/// The platform's ending for a kind of output.
fn ending(kind: Emit, isa: Option<&dyn TargetIsa>, chip: Option<&str>) -> &'static str {
    match kind {
        Emit::Container | Emit::Gsh => isa.map_or("o", |i| i.container_extension(chip)),
        Emit::Asm => "s",
        Emit::Legal => "legal.ir",
        Emit::Stats => "stats.json",
        Emit::Reflect => "reflect.json",
        Emit::Map => "map.json",
        Emit::Header => "h",
        Emit::Bin | Emit::Hex | Emit::Ir | Emit::Mir | Emit::Regalloc | Emit::Vitagl => kind.name(),
        // Only the builds of the library differ.
        Emit::VitaglTextureSize => Emit::Vitagl.name(),
        Emit::Mif => "mif",
        Emit::MifConstants => "constants.mif",
        Emit::MifBench => "bench.vhd",
    }
}

/// A target and, where only one of its chips is meant, that chip.
pub type Meant = (&'static dyn TargetIsa, Option<&'static str>);

/// The one target and chip whose containers have a file's ending; no chip where the target's default has it.
pub fn target_of(output: &Path) -> Option<Meant> {
    of_ending(&output.extension()?.to_str()?.to_ascii_lowercase())
}

/// Whether a file is named like a memory image of Tesla's chip flexgripplus.
pub fn is_image(output: &Path) -> bool {
    !output.is_dir() && output.extension().is_some_and(|e| e.eq_ignore_ascii_case("mif"))
}

/// The one chip that has memory images.
pub fn of_images() -> Option<Meant> {
    const CHIP: &str = "flexgripplus";
    retroshade::targets().into_iter().find(|t| t.chips().contains(&CHIP)).map(|t| (t, Some(CHIP)))
}

/// As [`target_of`], by the ending.
pub fn of_ending(ending: &str) -> Option<Meant> {
    let chips = |t: &'static dyn TargetIsa| std::iter::once(None).chain(t.chips().iter().map(|c| Some(*c)));
    let meant = |t: &'static dyn TargetIsa| chips(t).find(|c| t.container_extension(*c) == ending).map(|c| (t, c));
    let found: Vec<Meant> = retroshade::targets().into_iter().filter_map(meant).collect();
    if let [one] = found.as_slice() { Some(*one) } else { None }
}

/// Writes all outputs, now that nothing can fail any more but writing itself.
pub fn deliver(a: &CompileArgs, outputs: Vec<Product>, to_stdout: bool) -> Result<(), Failure> {
    // A name that ends like a folder's is one.
    let named = a.output.as_ref().is_some_and(|o| o.as_os_str().as_encoded_bytes().ends_with(b"/"));
    let folder = outputs.len() > 1 || named;
    let written: Vec<PathBuf> = match &a.output {
        Some(o) if !to_stdout && (folder || o.is_dir()) => {
            if folder && !named && !o.is_dir() && target_of(o).is_some() {
                let m = format!(
                    "{} outputs need a folder, and {} is named like a file; --link makes one container",
                    outputs.len(),
                    o.display()
                );
                return Err(Failure::usage(m));
            }
            outputs.iter().map(|p| o.join(&p.name)).collect()
        }
        Some(o) if !to_stdout => vec![o.clone()],
        _ => Vec::new(),
    };
    let all: Vec<&Path> = written.iter().chain(&a.depfile).map(PathBuf::as_path).collect();
    files::check_outputs(&all)?;
    if written.is_empty() {
        outputs.iter().try_for_each(|p| files::stdout(&p.bytes))?;
    }
    if let Some(o) = a.output.as_ref().filter(|_| folder && !to_stdout) {
        std::fs::create_dir_all(o).map_err(|e| Failure::plain(1, "C0005", format!("cannot make folder {}: {e}", o.display())))?;
    }
    for (path, product) in written.iter().zip(&outputs) {
        files::write(path, &product.bytes)?;
    }
    match &a.depfile {
        Some(d) => files::write(d, depfile(&written, &a.files).as_bytes()),
        None => Ok(()),
    }
}

/// The makefile rule: every output depends on every file that was read. What the command line does not name gets a rule without
/// commands, so that a file that is gone is no error while its reader still names it.
fn depfile(written: &[PathBuf], named: &[PathBuf]) -> String {
    let escape = |p: &Path| {
        let text = p.display().to_string().replace(' ', "\\ ").replace('$', "$$").replace('#', "\\#");
        // On Windows a colon stands behind a drive's letter.
        if cfg!(windows) { text } else { text.replace(':', "\\:") }
    };
    let outputs: Vec<_> = written.iter().map(|p| escape(p)).collect();
    let inputs: Vec<_> = files::inputs().iter().map(|p| escape(p)).collect();
    let outputs = if outputs.is_empty() { "-".to_string() } else { outputs.join(" ") };
    let alone: String = files::inputs().iter().filter(|p| !named.contains(p)).map(|p| format!("{}:\n", escape(p))).collect();
    format!("{outputs}: {}\n{alone}", inputs.join(" "))
}
