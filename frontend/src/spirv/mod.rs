//! SPIR-V, the hub of the front end: words to the IR, SSA to SSA.
//!
//! ```text
//! words ─binary─▶ tables ─used, flow─▶ interface, functions ─▶ ir::Module
//! ```
//!
//! GLSL arrives here by way of glslang, WGSL by way of `wgsl`, and binaries as they are. One entry point becomes one module. Control
//! flow stays the graph that it is, phis become block parameters. Functions are translated in place, variables become SSA values, structs and
//! matrices are taken apart into vectors.

mod arithmetic;
mod atomic;
mod binary;
mod bindings;
mod composite;
pub(crate) mod consts;
mod convert;
mod flow;
mod func;
mod image;
mod initial;
mod interface;
mod keep;
mod kills;
mod math;
mod matrix;
mod memory;
mod ops;
mod packed;
mod place;
mod small;
mod storage;
mod storage_image;
mod subgroup;
mod surface;
mod texel;
mod types;
mod used;
mod value;

use crate::FrontOptions;
use binary::{Binary, Entry, Global, Id};
use consts::{Const, Consts};
use convert::Converter;
use place::ArrayKey;
use retroshade_ir::module::{Access, GeometryInfo, Primitive};
use retroshade_ir::{Diagnostic, Imm, MemRef, Module, Opcode, Span, Stage};
use rustc_hash::FxHashMap;
use spirv::{BuiltIn, Decoration, ExecutionMode, ExecutionModel, StorageClass};
use std::collections::BTreeSet;
use used::Used;
#[cfg(feature = "glsl")]
pub(crate) use {
    initial::INITIAL,
    interface::{LOOSE, LOOSE_HLSL},
};

type Errors = Vec<Diagnostic>;

/// A SPIR-V module and what the one who made it knows beyond its words.
pub(crate) struct Words<'a> {
    /// The module, header included.
    pub(crate) words: &'a [u32],
    /// Whether resources are declared that the entry does not use, where it is the only one.
    pub(crate) all: bool,
    /// Global variables in the order of declaration: a block by its instance name or, where it has none, its own. Others follow in the order
    /// of the words.
    pub(crate) order: Vec<String>,
    /// Inputs and outputs whose locations the source does not name.
    pub(crate) unplaced: (BTreeSet<String>, BTreeSet<String>),
    /// Uniforms that the source declares as truth values, by their names in the interface; SPIR-V has them as integers.
    pub(crate) bools: BTreeSet<String>,
    /// The span of a file's line and column (0: unknown).
    pub(crate) place: &'a dyn Fn(&str, u32, u32) -> Span,
    /// Where a global variable is declared, by id and name.
    pub(crate) declared: &'a dyn Fn(Id, &str) -> Span,
}

impl<'a> Words<'a> {
    /// Words of which nothing more is known.
    pub(crate) fn new(words: &'a [u32]) -> Words<'a> {
        Words {
            words,
            all: true,
            order: Vec::new(),
            unplaced: Default::default(),
            bools: BTreeSet::new(),
            place: &|_, _, _| Span::NONE,
            declared: &|_, _| Span::NONE,
        }
    }
}

/// What the translation knows beyond the words.
pub(crate) struct Facts<'a> {
    place: &'a dyn Fn(&str, u32, u32) -> Span,
    declared: &'a dyn Fn(Id, &str) -> Span,
    unplaced: &'a (BTreeSet<String>, BTreeSet<String>),
    bools: &'a BTreeSet<String>,
    /// What the program before this one hands on.
    varyings: &'a [(String, u32)],
}

/// The words of a binary, in the machine's order of bytes.
pub(crate) fn words(bytes: &[u8]) -> Result<Vec<u32>, Diagnostic> {
    let limit = binary::MAX_WORDS * 4;
    if bytes.len() > limit {
        return Err(Diagnostic::error("L0001", Span::NONE, format!("the binary has {} bytes; the limit is {limit}", bytes.len())));
    }
    if !bytes.len().is_multiple_of(4) {
        return Err(binary::malformed(bytes.len() / 4, format_args!("{} bytes are no whole number of words", bytes.len())));
    }
    let big = bytes.first_chunk::<4>().is_some_and(|b| u32::from_be_bytes(*b) == spirv::MAGIC_NUMBER);
    let word = |b: &[u8]| {
        let b = [b[0], b[1], b[2], b[3]];
        if big { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) }
    };
    Ok(bytes.chunks_exact(4).map(word).collect())
}

/// The names and stages of all entry points that a machine could run, in their order; none of words that cannot be read.
pub(crate) fn entries(words: &[u32]) -> Vec<(String, Stage)> {
    let Ok(b) = Binary::read(words, &[]) else { return Vec::new() };
    b.entries.iter().filter_map(|e| Some((e.name.clone(), stage(e.model)?))).collect()
}

/// Translates one entry point.
pub(crate) fn translate(w: &Words<'_>, options: &FrontOptions) -> Result<Module, Errors> {
    let one = |d: Diagnostic| vec![d];
    let b = Binary::read(w.words, &options.defines).map_err(one)?;
    unknown_defines(&b, options)?;
    let (entry, stage) = choose(&b, options)?;
    let mut consts = Consts::new(&b, &b.types, &options.defines);
    let mut known: FxHashMap<Id, Const> = FxHashMap::default();
    for id in b.constants.keys() {
        known.insert(*id, consts.get(*id).map_err(one)?);
    }
    let used = Used::new(&b, entry, &|id| known.get(&id).and_then(Const::bits)).map_err(one)?;
    let facts = Facts { place: w.place, declared: w.declared, unplaced: &w.unplaced, bools: &w.bools, varyings: &options.varyings };
    let globals = in_order(&b, w, entry, &used);
    let mut demand: BTreeSet<ArrayKey> = BTreeSet::new();
    // Again and again until no array needs to move to memory any more.
    loop {
        let mut c = Converter::new(&b, &known, &facts, &used, &entry.name, stage, &demand);
        let done = modes(&mut c, &b, entry, &known).and_then(|()| c.run(entry.function, &globals, &used, options.functions));
        let mut diags = std::mem::take(&mut c.diags);
        diags.extend(done.err().filter(|d| !diags.contains(d)));
        diags.iter_mut().filter(|d| d.span.is_none()).for_each(|d| d.span = c.span);
        if !diags.is_empty() {
            return Err(diags);
        }
        let wanted = std::mem::take(&mut c.wanted);
        let out = std::mem::replace(&mut c.out, Module::new("", stage));
        drop(c);
        if wanted.is_subset(&demand) {
            return sound(out);
        }
        demand.extend(wanted);
    }
}

/// A module that breaks rules which nobody checked so far gives IR that breaks others.
fn sound(mut m: Module) -> Result<Module, Errors> {
    // A buffer that is declared as only written, but has parts of vectors or matrices written, is read for the rest.
    for f in m.functions.values() {
        for (_, i) in f.ordered() {
            let d = &f.insts[i];
            if let (Opcode::StorageLoad, Imm::Mem { var: MemRef::Storage(s), .. }) = (d.op, &d.imm)
                && m.storage[*s].access == Access::Write
            {
                m.storage[*s].access = Access::ReadWrite;
            }
        }
    }
    match retroshade_ir::verify(&m) {
        Ok(()) => Ok(m),
        Err(all) => {
            let first = all.into_iter().next();
            let (span, message) = first.map_or((Span::NONE, String::new()), |d| (d.span, d.message));
            Err(vec![Diagnostic::error("F0012", span, format!("this is no valid SPIR-V: {message}"))])
        }
    }
}

fn unknown_defines(b: &Binary<'_>, options: &FrontOptions) -> Result<(), Errors> {
    for (k, _) in &options.defines {
        if !b.specs.iter().any(|id| consts::names(b, *id, k)) {
            let known: Vec<String> = b
                .specs
                .iter()
                .map(|id| b.name(*id).map_or_else(|| b.literal(*id, Decoration::SpecId).unwrap_or(0).to_string(), str::to_string))
                .collect();
            let known = if known.is_empty() { "the source has none".to_string() } else { format!("known are {}", known.join(", ")) };
            let message = format!("--define {k}: no override or specialisation constant of that name; {known}");
            return Err(vec![Diagnostic::error("F0014", Span::NONE, message)]);
        }
    }
    Ok(())
}

fn stage(m: ExecutionModel) -> Option<Stage> {
    match m {
        ExecutionModel::Vertex => Some(Stage::Vertex),
        ExecutionModel::Geometry => Some(Stage::Geometry),
        ExecutionModel::Fragment => Some(Stage::Fragment),
        ExecutionModel::GLCompute => Some(Stage::Compute),
        _ => None,
    }
}

/// The entry point that the options mean.
fn choose<'b>(b: &'b Binary<'_>, options: &FrontOptions) -> Result<(&'b Entry, Stage), Errors> {
    let fits = |e: &&Entry| options.entry.as_ref().is_none_or(|n| *n == e.name) && options.stage.is_none_or(|s| stage(e.model) == Some(s));
    let found: Vec<&Entry> = b.entries.iter().filter(fits).collect();
    let list = || {
        let all: Vec<String> = b.entries.iter().map(|e| format!("{} ({:?})", e.name, e.model).to_lowercase()).collect();
        if all.is_empty() { "the source has none".to_string() } else { format!("the source has {}", all.join(", ")) }
    };
    match found[..] {
        [one] => match stage(one.model) {
            Some(s) => Ok((one, s)),
            None => {
                Err(vec![Diagnostic::error("F0004", Span::NONE, format!("programs of stage {:?} run on none of the machines", one.model))])
            }
        },
        [] => Err(vec![Diagnostic::error("F0006", Span::NONE, format!("no entry point fits; {}", list()))]),
        _ => Err(vec![Diagnostic::error(
            "F0007",
            Span::NONE,
            format!("several entry points fit: choose one with --entry or --stage; {}", list()),
        )]),
    }
}

/// The variables that the entry's module declares, in the order of declaration.
fn in_order(b: &Binary<'_>, w: &Words<'_>, entry: &Entry, used: &Used) -> Vec<Global> {
    let all = b.entries.len() == 1 && w.all;
    let place = |g: &Global| {
        let block = b.name(g.ty).unwrap_or_default();
        let name = b.name(g.id).unwrap_or(block);
        let declared = w.order.iter().position(|n| n == name || n == block).unwrap_or(usize::MAX);
        // In geometry programs the position comes first, then the other builtins.
        let rank = if block == "gl_PerVertex" { 0 } else { 1 + usize::from(!name.starts_with("gl_")) };
        (if entry.model == ExecutionModel::Geometry { rank } else { 0 }, declared)
    };
    // What an old dialect of GLSL may have built in is declared wherever its text has the name.
    let maybe = |g: &Global| b.name(g.id).is_some_and(|n| n.starts_with("gl_")) && b.literal(g.id, Decoration::BuiltIn).is_none();
    let wanted = |g: &&Global| match g.storage {
        StorageClass::Input | StorageClass::Output => entry.interface.contains(&g.id) && !maybe(g) || used.globals.contains(&g.id),
        StorageClass::Private | StorageClass::Function | StorageClass::Workgroup => used.globals.contains(&g.id),
        _ => all || entry.interface.contains(&g.id) || used.globals.contains(&g.id),
    };
    let mut globals: Vec<Global> = b.globals.iter().filter(wanted).copied().collect();
    globals.sort_by_key(place);
    globals
}

/// Execution modes.
fn modes(c: &mut Converter<'_>, b: &Binary<'_>, entry: &Entry, known: &FxHashMap<Id, Const>) -> binary::R<()> {
    let mut geometry = GeometryInfo { input: Primitive::Triangles, output: Primitive::TriangleStrip, max_vertices: 0, invocations: 1 };
    let number = |id: &u32| known.get(id).and_then(Const::bits).unwrap_or(1);
    for (_, mode, words, ids) in b.modes.iter().filter(|m| m.0 == entry.function) {
        let values: Vec<u32> = words.iter().map(|w| if *ids { number(w) } else { *w }).collect();
        let first = values.first().copied().unwrap_or(1);
        match mode {
            ExecutionMode::LocalSize | ExecutionMode::LocalSizeId => {
                for (size, v) in c.out.workgroup_size.iter_mut().zip(&values) {
                    *size = *v;
                }
            }
            ExecutionMode::EarlyFragmentTests => c.out.early_depth = true,
            ExecutionMode::Invocations => geometry.invocations = first,
            ExecutionMode::OutputVertices => geometry.max_vertices = first,
            ExecutionMode::InputPoints => geometry.input = Primitive::Points,
            ExecutionMode::InputLines => geometry.input = Primitive::Lines,
            ExecutionMode::InputLinesAdjacency => geometry.input = Primitive::LinesAdjacency,
            ExecutionMode::Triangles => geometry.input = Primitive::Triangles,
            ExecutionMode::InputTrianglesAdjacency => geometry.input = Primitive::TrianglesAdjacency,
            ExecutionMode::OutputPoints => geometry.output = Primitive::Points,
            ExecutionMode::OutputLineStrip => geometry.output = Primitive::LineStrip,
            ExecutionMode::OutputTriangleStrip => geometry.output = Primitive::TriangleStrip,
            _ => {}
        }
    }
    // A constant decorated as the size of a workgroup outweighs the mode.
    let size = b.constants.keys().filter(|id| b.literal(**id, Decoration::BuiltIn) == Some(BuiltIn::WorkgroupSize as u32)).min();
    if let Some(size) = size.and_then(|id| known.get(id)) {
        for (n, s) in c.out.workgroup_size.iter_mut().enumerate() {
            *s = size.part(n).and_then(|p| p.bits()).unwrap_or(*s);
        }
    }
    if c.out.stage == Stage::Geometry {
        c.out.geometry = Some(geometry);
    }
    if c.out.workgroup_size.contains(&0) {
        return Err(Diagnostic::error("F0012", Span::NONE, "a workgroup without invocations"));
    }
    Ok(())
}
