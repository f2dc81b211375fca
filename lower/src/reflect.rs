//! What a caller binds by: names, types and places of a program's interface (`--emit reflect`).
//!
//! [`Reflection::from_module`] fills in all that follows from declarations; targets add registers and units afterwards.
//! Uniforms that are members of arrays of structs (`lights[].pos`) are listed element by element; `run` uses the same
//! names ([`uniform_leaves`]).

use retroshade_ir::surface::{Block, BlockKind, BlockMember, SpecConstant, Surface};
use retroshade_ir::{
    Binding, Builtin, FuncId, Function, Imm, IoDecl, MemRef, Module, Scalar, Stage, StorageDecl, Texture, TextureDecl, Type, UniformDecl,
};
#[cfg(feature = "json")]
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One input or output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct ReflectIo {
    /// Name as the source has it.
    pub name: String,
    /// `f32x4`, `u32`, `f32x4[3]` …
    #[cfg_attr(feature = "json", serde(rename = "type"))]
    pub ty: String,
    /// User location.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub location: Option<u32>,
    /// Builtin, by its WGSL name.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub builtin: Option<String>,
    /// Interpolation of fragment inputs.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub interpolation: Option<String>,
    /// Register or address in the machine's notation.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub register: Option<String>,
    /// Whether the program reads (writes) it.
    pub used: bool,
}

/// An integer register that counts a loop for a uniform: the caller keeps it in step with the uniform's value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct ReflectLoop {
    /// The register in the machine's notation.
    pub register: String,
    /// Name under which the container lists the register.
    pub name: String,
    /// The register's first component is `add + sign × value`, at least 0: the rounds less one.
    pub add: i64,
    /// 1 or -1.
    pub sign: i64,
    /// The second component: the counter's first value.
    pub first: u8,
    /// The third component: what a round adds to the counter.
    pub step: u8,
    /// The boolean register that says whether `add + sign × value` is at least 0; absent where that is certain.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub guard: Option<String>,
}

/// One uniform.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct ReflectUniform {
    /// Name as the source has it.
    pub name: String,
    /// `f32x4`, `mat4x4`, `f32x4[48]` …
    #[cfg_attr(feature = "json", serde(rename = "type"))]
    pub ty: String,
    /// Bind group.
    pub group: u32,
    /// Binding.
    pub binding: u32,
    /// Byte offset in the binding.
    pub offset: u32,
    /// Bytes from there to the end of the last element.
    #[cfg_attr(feature = "json", serde(default))]
    pub size: u32,
    /// Bytes from one element to the next, one number for each array level from the outside in.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub array_strides: Vec<u32>,
    /// Bytes from one column of a matrix to the next.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub matrix_stride: Option<u32>,
    /// Name of the block that it is a member of.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub block: Option<String>,
    /// Whether it is a push constant.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub push_constant: bool,
    /// Register or address in the machine's notation.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub register: Option<String>,
    /// Loops that the uniform counts in a register of their own.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub loops: Vec<ReflectLoop>,
    /// The value that the source gives it until the program sets it: all numbers in order, matrices by column. Containers do not hold it.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub initial: Vec<Literal>,
    /// Whether the program reads it.
    pub used: bool,
}

/// One texture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct ReflectTexture {
    /// Name as the source has it.
    pub name: String,
    /// Sampler, where the source has it apart.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub sampler: Option<String>,
    /// Bind group of that sampler.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub sampler_group: Option<u32>,
    /// Binding of that sampler.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub sampler_binding: Option<u32>,
    /// `1d 2d 3d cube`.
    pub dim: String,
    /// Layers a test harness should supply; 1 if not an array.
    pub layers: u32,
    /// Whether it is an array.
    pub arrayed: bool,
    /// Whether it compares.
    pub depth: bool,
    /// Bind group.
    pub group: u32,
    /// Binding.
    pub binding: u32,
    /// The machine's unit.
    pub unit: u32,
    /// What the caller has to set to the texture's size, where the program cannot ask for it.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub size: Option<ReflectSize>,
    /// Whether the program uses it.
    pub used: bool,
}

/// A uniform that the compiler has declared for a texture's size: four floats, width, height, depth and number of levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct ReflectSize {
    /// Its name in the container.
    pub name: String,
    /// Register or address in the machine's notation.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub register: Option<String>,
}

/// One storage buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct ReflectStorage {
    /// Name as the source has it.
    pub name: String,
    /// Bind group.
    pub group: u32,
    /// Binding.
    pub binding: u32,
    /// `array<f32>` …
    #[cfg_attr(feature = "json", serde(rename = "type"))]
    pub ty: String,
    /// `read write read_write`.
    pub access: String,
    /// Name of its block.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub block: Option<String>,
    /// Place in the machine's notation.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub register: Option<String>,
    /// Whether the program uses it.
    pub used: bool,
}

/// Constants that a driver puts into constant memory besides the uniforms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct ReflectConstants {
    /// First place in the machine's notation.
    pub register: String,
    /// Words from there on.
    pub words: Vec<u32>,
}

/// A member of a block or of a structure in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct ReflectMember {
    /// Name as the source has it.
    pub name: String,
    /// `f32x4`, `mat4x4`, the name of a structure: the type of one element.
    #[cfg_attr(feature = "json", serde(rename = "type"))]
    pub ty: String,
    /// Bytes from the start of what it is a member of.
    pub offset: u32,
    /// Bytes without padding behind; 0 where only the buffer's length says it.
    pub size: u32,
    /// Elements, one number for each array level from the outside in; 0: as many as the buffer holds.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub array: Vec<u32>,
    /// Bytes from one element to the next, level by level.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub array_strides: Vec<u32>,
    /// Bytes from one column (row, if row-major) of its matrices to the next.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub matrix_stride: Option<u32>,
    /// Whether its matrices stand row by row.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub row_major: bool,
    /// Members of its structure.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub members: Vec<ReflectMember>,
}

/// A uniform block, push constants or a storage buffer with everything that the source declares in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct ReflectBlock {
    /// `uniform push_constant storage`.
    pub kind: String,
    /// Name of the block.
    pub name: String,
    /// Name of the variable; empty where there is none.
    pub instance: String,
    /// Bind group.
    pub group: u32,
    /// Binding.
    pub binding: u32,
    /// Bytes; of a runtime array what stands before it.
    pub size: u32,
    /// Members in the order of declaration.
    pub members: Vec<ReflectMember>,
}

/// A value as JSON writes it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(untagged))]
pub enum Literal {
    /// Truth values.
    Bool(bool),
    /// Integers.
    Integer(i64),
    /// Numbers.
    Float(f64),
    /// `nan`, `inf` and `-inf`.
    Special(String),
}

impl Default for Literal {
    fn default() -> Literal {
        Literal::Integer(0)
    }
}

impl Literal {
    /// A float: the shortest decimal that gives the same f32.
    pub fn float(x: f32) -> Literal {
        match x {
            _ if x.is_nan() => Literal::Special("nan".into()),
            f32::INFINITY => Literal::Special("inf".into()),
            f32::NEG_INFINITY => Literal::Special("-inf".into()),
            // The shortest text of the f32, read as f64, is printed with the same digits.
            _ => Literal::Float(format!("{x:e}").parse().unwrap_or(f64::from(x))),
        }
    }
}

/// A constant that is given when the program is compiled (`--define`).
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct ReflectConstant {
    /// Its number.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub id: Option<u32>,
    /// Its name, where it is known.
    pub name: String,
    /// `f32 i32 u32 bool`.
    #[cfg_attr(feature = "json", serde(rename = "type"))]
    pub ty: String,
    /// What the source gives it; absent if nothing.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub default: Option<Literal>,
    /// What this program was compiled with.
    pub value: Literal,
}

/// A program's interface.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize))]
pub struct Reflection {
    /// Format version: 1.
    pub version: u32,
    /// Target.
    pub target: String,
    /// Stage.
    pub stage: String,
    /// Entry.
    pub entry: String,
    /// Workgroup size.
    pub local_size: [u32; 3],
    /// Inputs.
    pub inputs: Vec<ReflectIo>,
    /// Outputs.
    pub outputs: Vec<ReflectIo>,
    /// Uniforms, arrays of structs listed element by element.
    pub uniforms: Vec<ReflectUniform>,
    /// Textures.
    pub textures: Vec<ReflectTexture>,
    /// Storage buffers.
    pub storage: Vec<ReflectStorage>,
    /// Blocks as the source declares them, with members that the program does not read.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub blocks: Vec<ReflectBlock>,
    /// Specialisation constants and overrides.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub spec_constants: Vec<ReflectConstant>,
    /// Constants in constant memory.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub constants: Vec<ReflectConstants>,
}

/// A part of a uniform declaration that has a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniformLeaf {
    /// Name with all indices into arrays of structs.
    pub name: String,
    /// Type as `reflect` writes it.
    pub ty: String,
    /// First element, counted densely.
    pub first: u32,
    /// Number of elements (columns of a matrix count).
    pub count: u32,
    /// Byte offset within the binding.
    pub offset: u32,
    /// Sizes of the array levels and, last, of a matrix that the value has.
    pub shape: Vec<u32>,
    /// Distances in bytes that belong to the shape.
    pub strides: Vec<u32>,
}

/// The most leaves of one declaration; a declaration with more is given as one leaf.
const MAX_LEAVES: u64 = 1 << 16;

/// The named parts of a uniform, in order.
pub fn uniform_leaves(u: &UniformDecl) -> Vec<UniformLeaf> {
    let mut outer = u.name.matches("[]").count().min(u.dims.len() - usize::from(u.matrix && !u.dims.is_empty()));
    if u.dims[..outer].iter().map(|d| d.count as u64).product::<u64>() > MAX_LEAVES {
        outer = 0;
    }
    let leaves = u.dims[..outer].iter().fold(1u32, |n, d| n.saturating_mul(d.count));
    let inner = &u.dims[outer..];
    let count = inner.iter().fold(1u32, |n, d| n.saturating_mul(d.count));
    let shape: Vec<u32> = inner.iter().map(|d| d.count).collect();
    let strides: Vec<u32> = inner.iter().map(|d| d.stride).collect();
    let ty = shaped_name(&scalar_name(u.ty, u.source_type.as_deref()), u.ty.lanes, &shape, u.matrix);
    (0..leaves)
        .map(|n| {
            let mut at = Vec::new();
            let mut rest = n;
            for d in u.dims[..outer].iter().rev() {
                at.push(rest % d.count.max(1));
                rest /= d.count.max(1);
            }
            let mut name = u.name.clone();
            while let Some(k) = at.pop() {
                name = name.replacen("[]", &format!("[{k}]"), 1);
            }
            let first = n * count;
            UniformLeaf {
                name,
                ty: ty.clone(),
                first,
                count,
                offset: u.offset.wrapping_add(u.element_offset(first)),
                shape: shape.clone(),
                strides: strides.clone(),
            }
        })
        .collect()
}

/// The scalar of a type as the source spells it: `f32 f16 i32 u32 bool`.
pub fn scalar_name(ty: Type, source: Option<&str>) -> String {
    let source = source.map(|s| s.split(['x', '[', '<']).next().unwrap_or(s));
    match (ty.scalar, source) {
        (_, Some(s @ ("u32" | "bool" | "i32" | "f32" | "f16"))) => s.to_string(),
        (Scalar::I1, _) => "bool".to_string(),
        (s, _) => s.name().to_string(),
    }
}

/// A type with array levels (outermost first) and, if `matrix`, columns as the last of `shape`. Written `T[inner][outer]`.
fn shaped_name(scalar: &str, lanes: u8, shape: &[u32], matrix: bool) -> String {
    let (arrays, mut name) = match shape.split_last() {
        Some((columns, arrays)) if matrix => (arrays, format!("mat{columns}x{lanes}")),
        _ if lanes > 1 => (shape, format!("{scalar}x{lanes}")),
        _ => (shape, scalar.to_string()),
    };
    for n in arrays.iter().rev() {
        name.push_str(&format!("[{n}]"));
    }
    name
}

/// The name under which an input or output is bound: its builtin's WGSL name or its own.
pub fn io_name(io: &IoDecl) -> String {
    match io.binding {
        Binding::Builtin(b) => b.name().to_string(),
        Binding::Location(n) if io.name.is_empty() => format!("location{n}"),
        Binding::Location(_) => io.name.clone(),
    }
}

/// Whether an input or output is a list: an array, or what a geometry program reads of each vertex.
pub fn io_is_array(io: &IoDecl, input: bool, stage: Stage) -> bool {
    let of_primitive = matches!(io.binding, Binding::Builtin(Builtin::PrimitiveIndex | Builtin::InvocationId));
    io.count > 1 || input && stage == Stage::Geometry && !of_primitive
}

pub(crate) fn io_type(io: &IoDecl, input: bool, stage: Stage) -> String {
    let shape: &[u32] = if io_is_array(io, input, stage) { &[io.count] } else { &[] };
    shaped_name(&scalar_name(io.ty, io.source_type.as_deref()), io.ty.lanes, shape, false)
}

/// The type of a storage buffer as the source spells it, or made of what its words hold.
fn storage_type(s: &StorageDecl) -> String {
    if !s.source_type.is_empty() {
        return s.source_type.clone();
    }
    let words = if s.repeat.is_empty() { &s.head } else { &s.repeat };
    format!("array<{}>", words.first().map_or("u32", |w| w.name()))
}

/// Which variables and textures a module's reachable code names.
#[derive(Clone, Debug, Default)]
pub struct Used {
    /// Variables.
    pub vars: BTreeSet<MemRef>,
    /// Textures.
    pub textures: BTreeSet<Texture>,
}

impl Used {
    /// Looks through the entry and all functions that it can call.
    pub fn of(module: &Module) -> Used {
        let mut used = Used::default();
        let (mut seen, mut work) = (BTreeSet::from([module.entry]), vec![module.entry]);
        while let Some(id) = work.pop() {
            let Some(f) = module.functions.get(id) else { continue };
            used.collect(f, |callee: FuncId| {
                if seen.insert(callee) {
                    work.push(callee);
                }
            });
        }
        used
    }
    /// Everything that is declared.
    pub fn all(module: &Module) -> Used {
        let vars = module.inputs.keys().map(MemRef::Input).chain(module.uniforms.keys().map(MemRef::Uniform));
        let vars = vars.chain(module.outputs.keys().map(MemRef::Output));
        Used { vars: vars.collect(), textures: module.textures.keys().collect() }
    }
    fn collect(&mut self, f: &Function, mut call: impl FnMut(FuncId)) {
        for (_, i) in f.ordered() {
            match &f.insts[i].imm {
                Imm::Mem { var, .. } | Imm::Atomic { var, .. } => {
                    self.vars.insert(*var);
                }
                Imm::Tex(t) => {
                    self.textures.insert(t.texture);
                }
                Imm::Func(callee) => call(*callee),
                _ => {}
            }
        }
    }
}

/// The block at a binding.
fn block_at(surface: &Surface, group: u32, binding: u32, storage: bool) -> Option<&Block> {
    surface.blocks.iter().find(|b| (b.group, b.binding) == (group, binding) && (b.kind == BlockKind::Storage) == storage)
}

fn member(m: &BlockMember) -> ReflectMember {
    ReflectMember {
        name: m.name.clone(),
        ty: m.ty.clone(),
        offset: m.offset,
        size: m.size,
        array: m.array.iter().map(|a| a.0).collect(),
        array_strides: m.array.iter().map(|a| a.1).collect(),
        matrix_stride: m.matrix_stride,
        row_major: m.row_major,
        members: m.members.iter().map(member).collect(),
    }
}

fn block(b: &Block) -> ReflectBlock {
    ReflectBlock {
        kind: b.kind.name().to_string(),
        name: b.name.clone(),
        instance: b.instance.clone(),
        group: b.group,
        binding: b.binding,
        size: b.size,
        members: b.members.iter().map(member).collect(),
    }
}

/// The bits of a scalar.
fn literal(scalar: &str, bits: u32) -> Literal {
    match scalar {
        "bool" => Literal::Bool(bits != 0),
        "i32" => Literal::Integer(i64::from(bits as i32)),
        "u32" => Literal::Integer(i64::from(bits)),
        _ => Literal::float(f32::from_bits(bits)),
    }
}

fn spec_constant(c: &SpecConstant) -> ReflectConstant {
    let value = |bits: u32| literal(&c.ty, bits);
    ReflectConstant { id: c.id, name: c.name.clone(), ty: c.ty.clone(), default: c.default.map(value), value: value(c.value) }
}

impl Reflection {
    /// The interface of a module without target, registers and units (units are numbered in order of declaration).
    pub fn from_module(module: &Module) -> Reflection {
        Reflection::with(module, &Used::of(module))
    }

    /// All declarations of a module without code, as a container shows them; what its program uses is not known.
    pub fn from_container(interface: &Module) -> Reflection {
        Reflection::with(interface, &Used::all(interface))
    }

    fn with(module: &Module, used: &Used) -> Reflection {
        let surface = &module.surface;
        let sampler = |d: &TextureDecl| surface.samplers.iter().find(|s| d.sampler.as_deref() == Some(&s.name));
        let size = |t: Texture| {
            let of = module.uniforms.iter().find(|(u, d)| d.size_of == Some(t) && used.vars.contains(&MemRef::Uniform(*u)));
            of.map(|(_, d)| ReflectSize { name: d.name.clone(), register: None })
        };
        let io = |d: &IoDecl, input: bool, used: bool| ReflectIo {
            name: io_name(d),
            ty: io_type(d, input, module.stage),
            location: if let Binding::Location(n) = d.binding { Some(n) } else { None },
            builtin: if let Binding::Builtin(b) = d.binding { Some(b.name().to_string()) } else { None },
            interpolation: (input && module.stage == Stage::Fragment && matches!(d.binding, Binding::Location(_)))
                .then(|| d.interpolation.name().to_string()),
            register: None,
            used,
        };
        Reflection {
            version: 1,
            target: String::new(),
            stage: module.stage.name().to_string(),
            entry: module.name.clone(),
            local_size: module.workgroup_size,
            inputs: module.inputs.iter().map(|(i, d)| io(d, true, used.vars.contains(&MemRef::Input(i)))).collect(),
            outputs: module.outputs.iter().map(|(o, d)| io(d, false, used.vars.contains(&MemRef::Output(o)))).collect(),
            uniforms: module
                .uniforms
                .iter()
                .filter(|(_, d)| d.size_of.is_none())
                .flat_map(|(u, d)| {
                    let used = used.vars.contains(&MemRef::Uniform(u));
                    let (group, binding) = (d.group, d.binding);
                    let block = block_at(surface, group, binding, false);
                    let name = block.map(|b| b.name.clone()).filter(|n| !n.is_empty());
                    let push = block.is_some_and(|b| b.kind == BlockKind::Push);
                    let matrix = d.matrix;
                    let lanes = u32::from(d.ty.lanes) * 4;
                    let initial = surface.initial_of(&d.name).unwrap_or_default();
                    let scalar = scalar_name(d.ty, d.source_type.as_deref());
                    let value = move |l: &UniformLeaf| {
                        let first = l.first as usize * d.ty.lanes as usize;
                        let words = initial.get(first..first + l.count as usize * d.ty.lanes as usize).unwrap_or_default();
                        words.iter().map(|w| literal(&scalar, *w)).collect()
                    };
                    uniform_leaves(d).into_iter().map(move |l| ReflectUniform {
                        initial: value(&l),
                        size: lanes + l.shape.iter().zip(&l.strides).map(|(n, s)| n.saturating_sub(1).saturating_mul(*s)).sum::<u32>(),
                        matrix_stride: l.strides.last().copied().filter(|_| matrix),
                        array_strides: l.strides[..l.strides.len() - usize::from(matrix && !l.strides.is_empty())].to_vec(),
                        block: name.clone(),
                        push_constant: push,
                        name: l.name,
                        ty: l.ty,
                        group,
                        binding,
                        offset: l.offset,
                        register: None,
                        loops: Vec::new(),
                        used,
                    })
                })
                .collect(),
            textures: module
                .textures
                .iter()
                .enumerate()
                .map(|(n, (t, d))| ReflectTexture {
                    name: d.name.clone(),
                    sampler: d.sampler.clone(),
                    sampler_group: sampler(d).map(|s| s.group),
                    sampler_binding: sampler(d).map(|s| s.binding),
                    dim: d.dim.name().to_string(),
                    layers: if d.arrayed { 4 } else { 1 },
                    arrayed: d.arrayed,
                    depth: d.shadow,
                    group: d.group,
                    binding: d.binding,
                    unit: n as u32,
                    size: size(t),
                    used: used.textures.contains(&t),
                })
                .collect(),
            storage: module
                .storage
                .iter()
                .map(|(s, d)| ReflectStorage {
                    name: d.name.clone(),
                    group: d.group,
                    binding: d.binding,
                    ty: storage_type(d),
                    access: d.access.name().to_string(),
                    block: block_at(surface, d.group, d.binding, true).map(|b| b.name.clone()).filter(|n| !n.is_empty()),
                    register: None,
                    used: used.vars.contains(&MemRef::Storage(s)),
                })
                .collect(),
            blocks: surface.blocks.iter().map(block).collect(),
            spec_constants: surface.constants.iter().map(spec_constant).collect(),
            constants: Vec::new(),
        }
    }
}
