//! The C interface: a source goes in, a result comes out that holds code, container, reflection and messages until it is freed.
//!
//! `include/retroshade.h` is what cbindgen makes of this file (`cbindgen --config cbindgen.toml --output include/retroshade.h`).
//! Every pointer that comes out lives as long as its result; strings end with a zero byte and are UTF-8.

use retroshade_core::diagnostics::json_line;
use retroshade_core::frontend::FrontOptions;
use retroshade_core::ir::{Diagnostic, SourceMap, Span, Stage};
use retroshade_core::lower::{MatrixLayout, OptLevel, Options, no_chip};
use retroshade_core::{CompiledShader, SourceError};
use retroshade_core::{Language, source, warnings};
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// What is to be compiled. Members that may be null say so.
#[repr(C)]
pub struct RetroshadeSource {
    /// Name of the source in messages; its ending says the language where `language` is null.
    pub name: *const c_char,
    /// Text or SPIR-V.
    pub bytes: *const u8,
    /// Number of bytes.
    pub size: usize,
    /// "ir", "wgsl", "glsl", "hlsl" or "spv"; null: by the name.
    pub language: *const c_char,
    /// "vertex", "geometry", "fragment" or "compute"; null: by the name or the source.
    pub stage: *const c_char,
    /// Entry point; null: the only one.
    pub entry: *const c_char,
}

/// How it is compiled. All members zero are the defaults.
#[repr(C)]
pub struct RetroshadeOptions {
    /// 0: optimise fully; 1: not at all; 2: cheaply; 3: for size.
    pub optimisation: u32,
    /// Chip within the target's family; null: the target's default.
    pub chip: *const c_char,
    /// Whether products and sums keep their roundings.
    pub no_contraction: bool,
    /// Whether texels, colours and what is computed from them may be f16.
    pub relaxed_precision: bool,
    /// Whether indices are clamped to their arrays.
    pub robust: bool,
    /// Whether matrices of uniforms that the source does not place lie column by column (PICA200).
    pub column_matrices: bool,
}

/// What came out. Freed by `retroshade_free`.
pub struct RetroshadeResult {
    status: i32,
    code: Vec<u8>,
    container: Vec<u8>,
    assembly: CString,
    reflection: CString,
    diagnostics: CString,
}

/// A string without the zero bytes that would end it early.
fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// The string behind a pointer; `None` for null and for what is no UTF-8.
///
/// # Safety
/// The pointer is null or points to a string that ends with a zero byte.
unsafe fn text<'a>(p: *const c_char) -> Option<Option<&'a str>> {
    if p.is_null() {
        return Some(None);
    }
    // SAFETY: the caller promises the zero byte.
    unsafe { CStr::from_ptr(p) }.to_str().ok().map(Some)
}

/// A program, and lines about what its author should hear of it.
type Done = (CompiledShader, String);

/// What the caller asks for, as Rust has it.
struct Request<'a> {
    name: &'a str,
    bytes: &'a [u8],
    language: Option<&'a str>,
    stage: Option<&'a str>,
    entry: Option<&'a str>,
    target: &'a str,
    options: Options,
}

/// A request that cannot be understood: status 2.
fn usage(name: &str, message: String) -> SourceError {
    SourceError::new(name, 2, SourceMap::default(), vec![Diagnostic::error("C0002", Span::NONE, message)])
}

impl Request<'_> {
    fn compile(&self) -> Result<Done, SourceError> {
        let isa = retroshade_core::target(self.target).ok_or_else(|| {
            let all: Vec<_> = retroshade_core::targets().iter().map(|t| t.name()).collect();
            usage(self.name, format!("there is no target `{}`; targets are {}", self.target, all.join(", ")))
        })?;
        let of_name = Language::of_path(Path::new(self.name));
        let language = match self.language {
            Some(l) => Language::from_name(l),
            None => of_name.map(|l| l.0),
        };
        let language = language.ok_or_else(|| usage(self.name, "neither the language nor the name's ending says what this is".into()))?;
        let stage = match self.stage {
            Some(s) => Some(Stage::from_name(s).ok_or_else(|| usage(self.name, format!("there is no stage `{s}`")))?),
            None => of_name.and_then(|l| l.1),
        };
        if let Some(c) = self.options.chip.as_deref().filter(|c| !isa.chips().contains(c)) {
            return Err(usage(self.name, no_chip(&[isa.name()], isa.chips(), c)));
        }
        let front = FrontOptions { entry: self.entry.map(str::to_string), stage, ..source::front_options(isa) };
        let module = source::read(language, self.name, self.bytes, &front)?;
        let options = Options { verify: false, ..self.options.clone() };
        let shader = isa.compile(&module, &options).map_err(|e| SourceError::compile(self.name, e, &module))?;
        let warnings = [warnings::of_source(&module), warnings::of_target(&module, isa, &options)].concat();
        Ok((shader, lines(&warnings, &module.sources, self.name)))
    }
}

/// A JSON object a line.
fn lines(diagnostics: &[Diagnostic], sources: &SourceMap, name: &str) -> String {
    diagnostics.iter().map(|d| format!("{}\n", json_line(d, sources, Some(name)))).collect()
}

impl RetroshadeResult {
    fn of(done: Result<Done, SourceError>) -> RetroshadeResult {
        let mut result = RetroshadeResult {
            status: 0,
            code: Vec::new(),
            container: Vec::new(),
            assembly: CString::default(),
            reflection: CString::default(),
            diagnostics: CString::default(),
        };
        match done {
            Ok((s, warnings)) => {
                result.diagnostics = c_string(&warnings);
                result.reflection = c_string(&serde_json::to_string(&s.reflection).unwrap_or_default());
                result.assembly = c_string(&s.asm);
                (result.code, result.container) = (s.code, s.container);
            }
            Err(e) => {
                result.status = i32::from(e.status);
                result.diagnostics = c_string(&lines(&e.diagnostics, &e.sources, &e.name));
            }
        }
        result
    }
}

/// Compiles a source for a target ("tesla", "usse", "r700", "pica"). `options` may be null. The result is never null and says by
/// `retroshade_status` how it went; it is freed by `retroshade_free`.
///
/// # Safety
/// `source` points to a source whose `bytes` has `size` bytes; strings end with a zero byte; nothing changes them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retroshade_compile(
    source: *const RetroshadeSource,
    target: *const c_char,
    options: *const RetroshadeOptions,
) -> *mut RetroshadeResult {
    // SAFETY: the caller promises that the pointers are null or good.
    let request = unsafe { source.as_ref().and_then(|s| request(s, target, options.as_ref())) };
    let done = match request {
        None => Err(usage("", "a source, its name, its bytes and a target are needed, all texts in UTF-8".into())),
        Some(r) => catch_unwind(AssertUnwindSafe(|| r.compile())).unwrap_or_else(|_| {
            let bug = Diagnostic::error("X0001", Span::NONE, "internal error: this is a bug, please report it");
            Err(SourceError::new(r.name, 70, SourceMap::default(), vec![bug]))
        }),
    };
    Box::into_raw(Box::new(RetroshadeResult::of(done)))
}

/// The request behind C's pointers, if what must be there is.
///
/// # Safety
/// As for [`retroshade_compile`].
unsafe fn request<'a>(s: &'a RetroshadeSource, target: *const c_char, options: Option<&'a RetroshadeOptions>) -> Option<Request<'a>> {
    let mut chosen = Options::default();
    if let Some(o) = options {
        chosen.opt = [OptLevel::O2, OptLevel::O0, OptLevel::O1, OptLevel::Os].get(o.optimisation as usize).copied()?;
        chosen.fp_contract = !o.no_contraction;
        chosen.relaxed_precision = o.relaxed_precision;
        chosen.robust = o.robust;
        chosen.matrix_layout = o.column_matrices.then_some(MatrixLayout::Column);
        // SAFETY: a string or null.
        chosen.chip = unsafe { text(o.chip) }?.map(str::to_string);
    }
    if s.bytes.is_null() {
        return None;
    }
    // SAFETY: the caller promises that many bytes, and strings or null.
    unsafe {
        Some(Request {
            name: text(s.name)??,
            bytes: std::slice::from_raw_parts(s.bytes, s.size),
            language: text(s.language)?,
            stage: text(s.stage)?,
            entry: text(s.entry)?,
            target: text(target)??,
            options: chosen,
        })
    }
}

/// 0: done; 1: the source is wrong or asks for what the machine lacks; 2: the request is malformed; 3: too much of something that the
/// machine has; 70: a bug of the compiler.
///
/// # Safety
/// `result` comes from `retroshade_compile` and has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retroshade_status(result: *const RetroshadeResult) -> i32 {
    // SAFETY: as promised.
    unsafe { (*result).status }
}

/// The platform's file (`.shbin`, `.gxp`, ELF …) and its size; null if there is none.
///
/// # Safety
/// `result` comes from `retroshade_compile` and has not been freed; `size` is good to write to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retroshade_container(result: *const RetroshadeResult, size: *mut usize) -> *const u8 {
    // SAFETY: as promised.
    unsafe { bytes(&(*result).container, size) }
}

/// The code words, little-endian, nothing else, and their size; null if there are none.
///
/// # Safety
/// `result` comes from `retroshade_compile` and has not been freed; `size` is good to write to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retroshade_code(result: *const RetroshadeResult, size: *mut usize) -> *const u8 {
    // SAFETY: as promised.
    unsafe { bytes(&(*result).code, size) }
}

/// # Safety
/// `size` is good to write to.
unsafe fn bytes(all: &[u8], size: *mut usize) -> *const u8 {
    // SAFETY: as promised.
    unsafe { *size = all.len() };
    if all.is_empty() { std::ptr::null() } else { all.as_ptr() }
}

/// The machine's assembly text; empty if there is none.
///
/// # Safety
/// `result` comes from `retroshade_compile` and has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retroshade_assembly(result: *const RetroshadeResult) -> *const c_char {
    // SAFETY: as promised.
    unsafe { (*result).assembly.as_ptr() }
}

/// What a caller binds by, as JSON (`docs/binding.md`); empty if there is none.
///
/// # Safety
/// `result` comes from `retroshade_compile` and has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retroshade_reflection(result: *const RetroshadeResult) -> *const c_char {
    // SAFETY: as promised.
    unsafe { (*result).reflection.as_ptr() }
}

/// What is wrong, or, where the status is 0, what the author should hear of (warnings): one JSON object a line, as `--message-format json`
/// writes it; empty if there is nothing.
///
/// # Safety
/// `result` comes from `retroshade_compile` and has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retroshade_diagnostics(result: *const RetroshadeResult) -> *const c_char {
    // SAFETY: as promised.
    unsafe { (*result).diagnostics.as_ptr() }
}

/// Frees a result; null is fine.
///
/// # Safety
/// `result` is null, or comes from `retroshade_compile` and has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retroshade_free(result: *mut RetroshadeResult) {
    if !result.is_null() {
        // SAFETY: it was made by `Box::into_raw`.
        drop(unsafe { Box::from_raw(result) });
    }
}

/// The version of the library, `MAJOR.MINOR.PATCH`.
#[unsafe(no_mangle)]
pub extern "C" fn retroshade_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(v) => v,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}
