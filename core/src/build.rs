//! Shaders in build scripts: compile in `build.rs`, include the result as aligned bytes and typed constants.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), retroshade_core::build::BuildError> {
//!     retroshade_core::build::Shader::new("shaders/textured.vert").target("pica").build()
//! }
//! ```
//! ```ignore
//! // main.rs
//! mod textured { include!(concat!(env!("OUT_DIR"), "/textured_vert.rs")); }
//! upload(textured::CONTAINER);
//! let mvp = textured::uniforms::MVP; // knows its register, offset and type
//! ```
//! The generated file needs nothing but `core`.

use crate::Language;
use crate::diagnostics::messages;
use crate::frontend::{FrontOptions, Includes};
use crate::ir::{Module, Stage};
use crate::lower::reflect::Reflection;
use crate::lower::{CompiledShader, OptLevel, Options};
use crate::source::{self, SourceError};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use thiserror::Error;

/// Why a shader could not be built.
#[derive(Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The source is wrong or asks for what the machine lacks; one line per message, with place.
    #[error("{0}")]
    Source(String),
    /// There is no such target, stage or folder.
    #[error("{0}")]
    Usage(String),
}

/// The messages themselves: what a build script's `main` returns is shown by `Debug`.
impl std::fmt::Debug for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A shader to compile.
#[derive(Clone, Debug)]
pub struct Shader {
    path: PathBuf,
    after: Option<PathBuf>,
    target: String,
    folders: Vec<PathBuf>,
    front: FrontOptions,
    options: Options,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Built {
    /// The compiled program.
    pub shader: CompiledShader,
    /// Every file that was read.
    pub files: Vec<PathBuf>,
    path: PathBuf,
}

impl Built {
    /// Rust source that includes it: see the module's documentation. The bytes are those of the files named like it,
    /// with the endings `.container` and `.code`.
    pub fn rust(&self) -> String {
        let stem = stem(&self.path);
        self.rust_with(&format!("*include_bytes!(\"{stem}.container\")"), &format!("*include_bytes!(\"{stem}.code\")"))
    }
    /// The same with these expressions, arrays of bytes, for container and code.
    pub fn rust_with(&self, container: &str, code: &str) -> String {
        rust_source(&self.shader.reflection, container, code, &self.path)
    }
}

/// The files that a compilation has read.
type Files = Arc<Mutex<Vec<PathBuf>>>;

/// Reads a file and remembers it.
fn read(path: &Path, files: &Files) -> std::io::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    if let Ok(mut all) = files.lock()
        && !all.iter().any(|p| p == path)
    {
        all.push(path.to_path_buf());
    }
    Ok(bytes)
}

impl Shader {
    /// A shader from a file: `.vert .frag .comp .geom .glsl .hlsl .cg .wgsl .spv .ir`. The target is PICA200 until another one is chosen.
    pub fn new(path: impl Into<PathBuf>) -> Shader {
        Shader {
            path: path.into(),
            after: None,
            target: "pica".into(),
            folders: Vec::new(),
            front: FrontOptions::default(),
            options: Options::default(),
        }
    }
    /// The machine: `pica usse r700 tesla`.
    pub fn target(mut self, name: &str) -> Shader {
        self.target = name.into();
        self
    }
    /// The entry point, where the source has several.
    pub fn entry(mut self, name: &str) -> Shader {
        self.front.entry = Some(name.into());
        self
    }
    /// The stage, where the file's ending does not say it.
    pub fn stage(mut self, stage: Stage) -> Shader {
        self.front.stage = Some(stage);
        self
    }
    /// The program before this one in the pipeline: GLSL inputs without location take those of its outputs of the same names, and it must
    /// write what this one reads.
    pub fn after(mut self, path: impl Into<PathBuf>) -> Shader {
        self.after = Some(path.into());
        self
    }
    /// A preprocessor symbol, override or specialisation constant.
    pub fn define(mut self, name: &str, value: &str) -> Shader {
        self.front.defines.push((name.into(), value.into()));
        self
    }
    /// A folder in which `#include` looks, after the one of the including file.
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Shader {
        self.folders.push(folder.into());
        self
    }
    /// A promise: an integer input or uniform stays within bounds, both included.
    pub fn range(mut self, name: &str, bounds: std::ops::RangeInclusive<i64>) -> Shader {
        self.front.ranges.push((name.into(), *bounds.start(), *bounds.end()));
        self
    }
    /// How hard to optimise.
    pub fn opt_level(mut self, level: OptLevel) -> Shader {
        self.options.opt = level;
        self
    }
    /// The chip within the target's family.
    pub fn chip(mut self, name: &str) -> Shader {
        self.options.chip = Some(name.into());
        self
    }

    /// Compiles without writing anything.
    pub fn compile(&self) -> Result<Built, BuildError> {
        let isa = crate::target(&self.target).ok_or_else(|| {
            let all: Vec<_> = crate::targets().iter().map(|t| t.name()).collect();
            BuildError::Usage(format!("there is no target `{}`; targets are {}", self.target, all.join(", ")))
        })?;
        let files = Files::default();
        let module = self.load(&files)?;
        let options = Options { verify: false, ..self.options.clone() };
        let name = self.path.display().to_string();
        let shader = isa.compile(&module, &options).map_err(|e| SourceError::compile(&name, e, &module))?;
        let files = files.lock().map(|f| f.clone()).unwrap_or_default();
        Ok(Built { shader, files, path: self.path.clone() })
    }

    /// Compiles and writes `STEM.rs`, `STEM.container` and `STEM.code` into a folder, which is made if need be; gives the path of the first.
    /// The stem of `shaders/textured.vert` is `textured_vert`.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, BuildError> {
        let built = self.compile()?;
        if std::env::var_os("OUT_DIR").is_some() {
            built.files.iter().for_each(|f| println!("cargo::rerun-if-changed={}", f.display()));
        }
        let stem = stem(&self.path);
        std::fs::create_dir_all(folder).map_err(|source| BuildError::Io { path: folder.to_path_buf(), source })?;
        self.claim(&folder.join(&stem))?;
        let put = |ending: &str, bytes: &[u8]| {
            let path = folder.join(format!("{stem}.{ending}"));
            retroshade_lower::outfile::write(&path, bytes).map_err(|source| BuildError::Io { path: path.clone(), source })?;
            Ok::<PathBuf, BuildError>(path)
        };
        put("container", &built.shader.container)?;
        put("code", &built.shader.code)?;
        put("rs", built.rust().as_bytes())
    }

    /// For a build script: writes into Cargo's `OUT_DIR` and asks Cargo to watch every file that was read.
    pub fn build(&self) -> Result<(), BuildError> {
        let folder =
            std::env::var_os("OUT_DIR").ok_or_else(|| BuildError::Usage("OUT_DIR is not set: this is for build scripts".into()))?;
        self.write(Path::new(&folder)).map(|_| ())
    }

    /// Two shaders of one build script, or one for two machines, must not replace each other's files.
    fn claim(&self, files: &Path) -> Result<(), BuildError> {
        static TAKEN: Mutex<BTreeMap<PathBuf, (PathBuf, String)>> = Mutex::new(BTreeMap::new());
        let own = (self.path.clone(), self.target.clone());
        let Ok(mut taken) = TAKEN.lock() else { return Ok(()) };
        let (path, target) = taken.entry(files.to_path_buf()).or_insert_with(|| own.clone());
        if (&own.0, &own.1) == (path, target) {
            return Ok(());
        }
        let (new, before) = (own.0.display(), path.display());
        let m = format!("{new} for {} would replace the files of {before} for {target}: write them to two folders", own.1);
        Err(BuildError::Usage(m))
    }

    /// What the program before this one is read with: symbols are the pipeline's, everything else is this program's own.
    fn front_before(&self) -> FrontOptions {
        FrontOptions { defines: self.front.defines.clone(), ..FrontOptions::default() }
    }

    fn load(&self, files: &Files) -> Result<Module, BuildError> {
        let name = self.path.display().to_string();
        let Some((language, stage)) = Language::of_path(&self.path) else {
            return Err(BuildError::Usage(format!("{name}: no language has this ending")));
        };
        let bytes = read(&self.path, files).map_err(|source| BuildError::Io { path: self.path.clone(), source })?;
        let before = match &self.after {
            Some(p) => Some(Shader { path: p.clone(), after: None, front: self.front_before(), ..self.clone() }.load(files)?),
            None => None,
        };
        let seen = files.clone();
        let include = move |p: &Path| Some(source::text(&read(p, &seen).ok()?).into_owned());
        let front = FrontOptions {
            varyings: before.as_ref().map(crate::link::varyings).unwrap_or_default(),
            functions: crate::target(&self.target).is_some_and(|t| t.keeps_functions()),
            stage: self.front.stage.or(stage),
            include: Includes::search(self.folders.clone(), include),
            ..self.front.clone()
        };
        let module = source::read(language, &name, &bytes, &front)?;
        let unmatched = before.map(|b| crate::link::check(&b, &module)).unwrap_or_default();
        if !unmatched.is_empty() {
            return Err(BuildError::Source(messages(&unmatched, &module.sources, &name)));
        }
        Ok(module)
    }
}

impl From<SourceError> for BuildError {
    fn from(e: SourceError) -> BuildError {
        BuildError::Source(e.to_string())
    }
}

fn stem(path: &Path) -> String {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("shader");
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// `lights[2].pos` → `LIGHTS_2_POS`, made unique.
fn constant_name(name: &str, taken: &mut Vec<String>) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_uppercase()),
            _ if out.ends_with('_') => {}
            _ => out.push('_'),
        }
    }
    let trimmed = out.trim_matches('_');
    let base =
        if trimmed.is_empty() || trimmed.starts_with(|c: char| c.is_ascii_digit()) { format!("N{trimmed}") } else { trimmed.to_string() };
    let mut name = base.clone();
    let mut n = 2;
    while taken.contains(&name) {
        name = format!("{base}_{n}");
        n += 1;
    }
    taken.push(name.clone());
    name
}

/// The Rust type of a reflected type: `f32x4` → `[f32; 4]`, `mat4x3` → `[[f32; 3]; 4]`, `f32x4[48]` → `[[f32; 4]; 48]`.
fn rust_type(ty: &str) -> String {
    let (base, mut arrays) = ty.split_once('[').map_or((ty, ""), |(b, a)| (b, a));
    let mut out = match base.strip_prefix("mat").and_then(|m| m.split_once('x')) {
        Some((columns, rows)) => format!("[[f32; {rows}]; {columns}]"),
        None => {
            let (scalar, lanes) = base.split_once('x').map_or((base, None), |(s, n)| (s, Some(n)));
            // Half-precision values are their bits.
            let scalar = match scalar {
                "f16" => "u16",
                "i1" => "bool",
                s => s,
            };
            lanes.map_or(scalar.to_string(), |n| format!("[{scalar}; {n}]"))
        }
    };
    while let Some((n, rest)) = arrays.split_once(']') {
        out = format!("[{out}; {n}]");
        arrays = rest.strip_prefix('[').unwrap_or("");
    }
    out
}

fn rust_source(r: &Reflection, container: &str, code: &str, path: &Path) -> String {
    let file = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let mut s = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        s,
        "// Made by retroshade {} from {file} for {}: a {} program, entry {:?}.\n\n\
         #[repr(C, align(4))]\nstruct Aligned<T: ?Sized>(T);\n\n\
         /// The platform's file, aligned to 4 bytes.\n\
         pub static CONTAINER: &[u8] = {{\n    static DATA: &Aligned<[u8]> = &Aligned({container});\n    &DATA.0\n}};\n\
         /// The code words alone, aligned to 4 bytes.\n\
         pub static CODE: &[u8] = {{\n    static DATA: &Aligned<[u8]> = &Aligned({code});\n    &DATA.0\n}};\n\n\
         /// A uniform whose value has type `T` (matrices are lists of columns).\n\
         #[derive(Clone, Copy, Debug)]\npub struct Uniform<T> {{\n    /// Name in the source.\n    pub name: &'static str,\n    /// Bind group.\n    \
         pub group: u32,\n    /// Binding.\n    pub binding: u32,\n    /// Byte offset in the binding.\n    pub offset: u32,\n    \
         /// Register or address in the machine's notation; empty if the program does not need it.\n    pub register: &'static str,\n    \
         /// Whether the program reads it.\n    pub used: bool,\n    /// The type of its value.\n    pub value: core::marker::PhantomData<T>,\n}}\n\n",
        env!("CARGO_PKG_VERSION"),
        r.target,
        r.stage,
        r.entry,
    );
    s.push_str("/// Uniforms.\npub mod uniforms {\n    use super::Uniform;\n    use core::marker::PhantomData;\n");
    let mut taken = Vec::new();
    for u in &r.uniforms {
        let register = u.register.as_deref().unwrap_or("");
        let _ = writeln!(
            s,
            "    /// `{}`\n    pub const {}: Uniform<{}> = Uniform {{ name: {:?}, group: {}, binding: {}, offset: {}, register: {register:?}, used: {}, value: PhantomData }};",
            u.name,
            constant_name(&u.name, &mut taken),
            rust_type(&u.ty),
            u.name,
            u.group,
            u.binding,
            u.offset,
            u.used,
        );
    }
    s.push_str("}\n\n/// Registers of the inputs.\npub mod inputs {\n");
    let mut taken = Vec::new();
    for i in &r.inputs {
        let register = i.register.as_deref().unwrap_or("");
        let _ = writeln!(s, "    /// `{}`: {}\n    pub const {}: &str = {register:?};", i.name, i.ty, constant_name(&i.name, &mut taken));
    }
    s.push_str("}\n\n/// Units of the textures.\npub mod textures {\n");
    let mut taken = Vec::new();
    for t in &r.textures {
        let _ = writeln!(s, "    /// `{}`: {}\n    pub const {}: u32 = {};", t.name, t.dim, constant_name(&t.name, &mut taken), t.unit);
    }
    s.push_str("}\n");
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_types() {
        let mut taken = Vec::new();
        assert_eq!(constant_name("lights[2].pos", &mut taken), "LIGHTS_2_POS");
        assert_eq!(constant_name("lights_2.pos", &mut taken), "LIGHTS_2_POS_2");
        assert_eq!(constant_name("3d", &mut taken), "N3D");
        for (ty, rust) in [
            ("f32", "f32"),
            ("u32x3", "[u32; 3]"),
            ("mat4x3", "[[f32; 3]; 4]"),
            ("f32x4[48]", "[[f32; 4]; 48]"),
            ("mat2x2[3][5]", "[[[[f32; 2]; 2]; 3]; 5]"),
            ("bool", "bool"),
            ("f16x2", "[u16; 2]"),
        ] {
            assert_eq!(rust_type(ty), rust);
        }
    }

    #[test]
    fn a_shader_becomes_rust_that_compiles() {
        let dir = std::env::temp_dir().join(format!("retroshade-build-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let source = dir.join("tiny.vert");
        let text = "#version 450\nlayout(location = 0) in vec4 pos;\nlayout(std140, binding = 0) uniform U { mat4 mvp; vec4 tint[3]; } u;\n\
                    layout(location = 2) out vec4 color;\nvoid main() { gl_Position = u.mvp * pos; color = u.tint[1]; }\n";
        std::fs::write(&source, text).unwrap();
        let rs = Shader::new(&source).target("pica").write(&dir).unwrap();
        let text = std::fs::read_to_string(&rs).unwrap();
        assert!(text.contains("pub const U_MVP: Uniform<[[f32; 4]; 4]>"), "{text}");
        assert!(text.contains("pub const U_TINT: Uniform<[[f32; 4]; 3]>"), "{text}");
        let check = std::process::Command::new("rustc")
            .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--out-dir"])
            .arg(&dir)
            .arg(&rs)
            .output();
        match check {
            Ok(out) => assert!(out.status.success(), "{}\n{text}", String::from_utf8_lossy(&out.stderr)),
            Err(_) => println!("skipped: no rustc to compile the generated file with"),
        }
        let e = Shader::new(&source).target("usse").write(&dir).unwrap_err().to_string();
        assert!(e.contains("would replace the files of"), "{e}");
        Shader::new(&source).target("usse").write(&dir.join("usse")).unwrap();
        std::fs::write(&source, "#version 450\nvoid main() {\n    gl_Position = nothing;\n}\n").unwrap();
        let e = Shader::new(&source).compile().unwrap_err().to_string();
        assert!(e.contains("tiny.vert:3:19: error["), "{e}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
