//! Modules: one shader entry, its helper functions and its interface.

use crate::diag::{SourceMap, Span};
use crate::entities::*;
use crate::function::Function;
use crate::inst::named_enum;
use crate::surface::Surface;
use crate::types::{Scalar, Type};
use cranelift_entity::PrimaryMap;

named_enum! {
    /// A shader stage.
    Stage {
        /// Vertex program.
        Vertex "vertex",
        /// Geometry program.
        Geometry "geometry",
        /// Fragment program.
        Fragment "fragment",
        /// Compute program.
        Compute "compute",
    }
}

named_enum! {
    /// Values that the machine provides or consumes; names as in WGSL.
    Builtin {
        /// Clip position (vertex, geometry) or fragment coordinate.
        Position "position",
        /// Index of the vertex.
        VertexIndex "vertex_index",
        /// Index of the instance.
        InstanceIndex "instance_index",
        /// Whether the fragment belongs to a front face (i1).
        FrontFacing "front_facing",
        /// The colour that the frame buffer has where a fragment is drawn (a fragment program's input).
        LastColor "last_color",
        /// Depth written by a fragment program.
        FragDepth "frag_depth",
        /// Point size.
        PointSize "point_size",
        /// Position within a point sprite.
        PointCoord "point_coord",
        /// Index of the primitive.
        PrimitiveIndex "primitive_index",
        /// How many vertices the patch has that a geometry program reads.
        VertexCount "vertex_count",
        /// Sample index.
        SampleIndex "sample_index",
        /// Coverage.
        SampleMask "sample_mask",
        /// Clip distances.
        ClipDistance "clip_distances",
        /// Cull distances: a primitive goes where one of them is below zero at all its vertices.
        CullDistance "cull_distances",
        /// Layer of the render target.
        Layer "layer",
        /// Viewport.
        ViewportIndex "viewport_index",
        /// Index of the view.
        ViewIndex "view_index",
        /// Geometry instance.
        InvocationId "invocation_id",
        /// Compute: global id (i32x3).
        GlobalInvocationId "global_invocation_id",
        /// Compute: id within the workgroup (i32x3).
        LocalInvocationId "local_invocation_id",
        /// Compute: flat id within the workgroup.
        LocalInvocationIndex "local_invocation_index",
        /// Compute: id of the workgroup (i32x3).
        WorkgroupId "workgroup_id",
        /// Compute: number of workgroups (i32x3).
        NumWorkgroups "num_workgroups",
    }
}

named_enum! {
    /// How a fragment input is interpolated.
    Interpolation {
        /// Perspective-correct.
        Perspective "perspective",
        /// Linear in screen space.
        Linear "linear",
        /// The provoking vertex's value.
        Flat "flat",
    }
}

named_enum! {
    /// Where a fragment input is evaluated.
    Sampling {
        /// Pixel centre.
        Center "center",
        /// Within the covered part.
        Centroid "centroid",
        /// Per sample.
        Sample "sample",
    }
}

/// What an input or output is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binding {
    /// A user location.
    Location(u32),
    /// A value of the machine.
    Builtin(Builtin),
}

/// An input or output.
#[derive(Clone, Debug, PartialEq)]
pub struct IoDecl {
    /// Name without `%`.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// Array length; 1 if not an array. Geometry inputs: the number of vertices.
    pub count: u32,
    /// Location or builtin.
    pub binding: Binding,
    /// Whether the source names no location: the front end took the lowest free one.
    pub unplaced: bool,
    /// The name by which another program of the pipeline knows it, where that is not its own: `Block.member`.
    pub linked: Option<String>,
    /// Second source of dual-source blending.
    pub blend_source: u8,
    /// Interpolation of fragment inputs (and the vertex outputs that feed them).
    pub interpolation: Interpolation,
    /// Sampling of fragment inputs.
    pub sampling: Sampling,
    /// Declared bounds of an integer.
    pub range: Option<(i64, i64)>,
    /// The type as the source spells it where that differs (`u32`, `bool`).
    pub source_type: Option<String>,
    /// Where it was declared.
    pub span: Span,
}

impl IoDecl {
    /// A scalar or vector at a location, with default interpolation.
    pub fn at_location(name: &str, ty: Type, location: u32) -> IoDecl {
        IoDecl::new(name, ty, Binding::Location(location))
    }
    /// A builtin under its WGSL name.
    pub fn builtin(ty: Type, builtin: Builtin) -> IoDecl {
        IoDecl::new(builtin.name(), ty, Binding::Builtin(builtin))
    }
    /// A declaration with defaults for the rest.
    pub fn new(name: &str, ty: Type, binding: Binding) -> IoDecl {
        IoDecl {
            name: name.to_string(),
            ty,
            count: 1,
            binding,
            unplaced: false,
            linked: None,
            blend_source: 0,
            interpolation: if ty.is_float() { Interpolation::Perspective } else { Interpolation::Flat },
            sampling: Sampling::Center,
            range: None,
            source_type: None,
            span: Span::NONE,
        }
    }
}

/// One dimension of a uniform: an array level or a matrix's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Number of elements.
    pub count: u32,
    /// Distance between elements in bytes.
    pub stride: u32,
}

/// A uniform: a leaf of the source's uniform blocks.
///
/// A member of an array of structs is one declaration whose name carries `[]` where the index goes (`lights[].pos`);
/// reflection and `run` list its elements one by one. `dims` are the array levels from the outside in, matrix columns last.
/// Loads address elements in steps of `unit` bytes from `offset`.
#[derive(Clone, Debug, PartialEq)]
pub struct UniformDecl {
    /// Name without `%`; `[]` marks the place of an index into an array of structs.
    pub name: String,
    /// Type of one element (a matrix: of one column).
    pub ty: Type,
    /// Array levels and matrix columns, outermost first; empty for a scalar or vector.
    pub dims: Vec<Dim>,
    /// Whether the last of `dims` counts a matrix's columns.
    pub matrix: bool,
    /// Whether the vectors of a matrix are its rows (`row_major`): the source says how it lies.
    pub rows: bool,
    /// Bytes that an index of 1 advances: 16 in std140 arrays; the element's size where `dims` is empty.
    pub unit: u32,
    /// Bind group or descriptor set.
    pub group: u32,
    /// Binding number.
    pub binding: u32,
    /// Byte offset within the binding.
    pub offset: u32,
    /// Declared bounds of an integer.
    pub range: Option<(i64, i64)>,
    /// The scalar as the source spells it where that differs (`u32`, `bool`).
    pub source_type: Option<String>,
    /// The texture that it describes: width, height, depth (1 where there is none) and number of levels of level 0, as four floats.
    /// Legalisation declares it for machines on which a program cannot ask; no source does.
    pub size_of: Option<Texture>,
    /// Where it was declared.
    pub span: Span,
}

impl UniformDecl {
    /// Number of elements of type `ty` (columns of a matrix count).
    pub fn elements(&self) -> u32 {
        self.dims.iter().map(|d| d.count).product()
    }
    /// Number of addressable units: one past the highest element index that a load may name.
    pub fn units(&self) -> u32 {
        1 + self.dims.iter().map(|d| (d.count.max(1) - 1) * (d.stride / self.unit.max(1))).sum::<u32>()
    }
    /// Byte offset (from `offset`) of the `n`th element counted densely, last dimension fastest.
    pub fn element_offset(&self, mut n: u32) -> u32 {
        let mut at = 0;
        for d in self.dims.iter().rev() {
            at += n % d.count.max(1) * d.stride;
            n /= d.count.max(1);
        }
        at
    }
    /// The element that a load reads at an index in units, counted densely: the last where the index is out of range.
    pub fn element(&self, index: u32) -> u64 {
        let mut byte = u64::from(index) * u64::from(self.unit.max(1));
        let end: u64 = self.dims.iter().map(|d| (u64::from(d.count.max(1)) - 1) * u64::from(d.stride)).sum();
        byte = byte.min(end);
        let mut element = 0;
        for d in &self.dims {
            let k = byte.checked_div(u64::from(d.stride)).unwrap_or(0).min(u64::from(d.count.max(1)) - 1);
            byte -= k * u64::from(d.stride);
            element = element * u64::from(d.count.max(1)) + k;
        }
        element
    }
    /// Bytes from `offset` to the end of the last element.
    pub fn size(&self) -> u32 {
        self.dims.iter().map(|d| (d.count.max(1) - 1) * d.stride).sum::<u32>() + self.ty.lanes as u32 * 4
    }
}

named_enum! {
    /// Texture dimensions.
    TexDim {
        /// One.
        D1 "1d",
        /// Two.
        D2 "2d",
        /// Three.
        D3 "3d",
        /// Six faces.
        Cube "cube",
    }
}

/// A texture together with its sampler.
#[derive(Clone, Debug, PartialEq)]
pub struct TextureDecl {
    /// Name without `%`.
    pub name: String,
    /// Name of the sampler where the source has them apart.
    pub sampler: Option<String>,
    /// Dimensions.
    pub dim: TexDim,
    /// Whether it has layers.
    pub arrayed: bool,
    /// Whether it holds depth for comparison.
    pub shadow: bool,
    /// Whether it is multisampled.
    pub multisampled: bool,
    /// What a texel's components are: `F32` or `I32`.
    pub kind: Scalar,
    /// Whether integer texels are signed.
    pub signed: bool,
    /// Bind group or descriptor set.
    pub group: u32,
    /// Binding number.
    pub binding: u32,
    /// Where it was declared.
    pub span: Span,
}

impl TextureDecl {
    /// A declaration with defaults for the rest: one layer, no comparison, one sample, floats, group 0.
    pub fn new(name: &str, dim: TexDim, binding: u32) -> TextureDecl {
        TextureDecl {
            name: name.to_string(),
            sampler: None,
            dim,
            arrayed: false,
            shadow: false,
            multisampled: false,
            kind: Scalar::F32,
            signed: false,
            group: 0,
            binding,
            span: Span::NONE,
        }
    }
}

named_enum! {
    /// What a program does with a storage buffer.
    Access {
        /// Only loads.
        Read "read",
        /// Only stores.
        Write "write",
        /// Both.
        ReadWrite "read_write",
    }
}

/// A storage buffer: 32-bit words whose meaning repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageDecl {
    /// Name without `%`.
    pub name: String,
    /// What the leading words hold.
    pub head: Vec<Scalar>,
    /// What each further stretch of words holds, over and over; empty if the buffer has a fixed size.
    pub repeat: Vec<Scalar>,
    /// The type as the source spells it (`array<f32>`).
    pub source_type: String,
    /// What the program does with it.
    pub access: Access,
    /// Bind group or descriptor set.
    pub group: u32,
    /// Binding number.
    pub binding: u32,
    /// Where it was declared.
    pub span: Span,
}

impl StorageDecl {
    /// What word `n` holds.
    pub fn word(&self, n: usize) -> Scalar {
        if n < self.head.len() {
            self.head[n]
        } else if self.repeat.is_empty() {
            Scalar::I32
        } else {
            self.repeat[(n - self.head.len()) % self.repeat.len()]
        }
    }
}

/// A variable that a compute workgroup shares.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedDecl {
    /// Name without `%`.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// Number of elements.
    pub count: u32,
    /// Where it was declared.
    pub span: Span,
}

named_enum! {
    /// What a geometry program reads or writes.
    Primitive {
        /// Single points.
        Points "points",
        /// Two vertices.
        Lines "lines",
        /// Two vertices and their neighbours.
        LinesAdjacency "lines_adjacency",
        /// Three vertices.
        Triangles "triangles",
        /// Three vertices and their neighbours.
        TrianglesAdjacency "triangles_adjacency",
        /// As many vertices as the inputs declare, or up to that many (input).
        Patch "patch",
        /// Connected lines (output).
        LineStrip "line_strip",
        /// Connected triangles (output).
        TriangleStrip "triangle_strip",
    }
}

impl Primitive {
    /// Vertices that one input primitive has; 0 where the inputs say it.
    pub const fn vertices(self) -> u32 {
        match self {
            Primitive::Patch => 0,
            Primitive::Points => 1,
            Primitive::Lines | Primitive::LineStrip => 2,
            Primitive::LinesAdjacency => 4,
            Primitive::Triangles | Primitive::TriangleStrip => 3,
            Primitive::TrianglesAdjacency => 6,
        }
    }
}

/// What a geometry program declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeometryInfo {
    /// What it reads.
    pub input: Primitive,
    /// What it writes.
    pub output: Primitive,
    /// The most vertices that it emits.
    pub max_vertices: u32,
    /// How often it runs per primitive.
    pub invocations: u32,
}

/// A shader: its interface, its entry and its helper functions.
#[derive(Clone, Debug)]
pub struct Module {
    /// Name of the entry.
    pub name: String,
    /// Stage.
    pub stage: Stage,
    /// Compute: threads per workgroup.
    pub workgroup_size: [u32; 3],
    /// Geometry: primitives.
    pub geometry: Option<GeometryInfo>,
    /// Fragment: depth and stencil are tested before the program runs.
    pub early_depth: bool,
    /// Inputs.
    pub inputs: PrimaryMap<Input, IoDecl>,
    /// Outputs.
    pub outputs: PrimaryMap<Output, IoDecl>,
    /// Uniforms.
    pub uniforms: PrimaryMap<Uniform, UniformDecl>,
    /// Textures with samplers.
    pub textures: PrimaryMap<Texture, TextureDecl>,
    /// Storage buffers.
    pub storage: PrimaryMap<Storage, StorageDecl>,
    /// Workgroup memory.
    pub shared: PrimaryMap<Shared, SharedDecl>,
    /// Functions.
    pub functions: PrimaryMap<FuncId, Function>,
    /// The entry's function.
    pub entry: FuncId,
    /// The source texts behind all spans.
    pub sources: SourceMap,
    /// What the source declares for its host.
    pub surface: Surface,
}

impl Module {
    /// Promises that integer inputs and uniforms of a name stay within bounds, as `@range` does in the text form.
    ///
    /// The error says what is wrong with the name or the bounds.
    pub fn declare_range(&mut self, name: &str, lo: i64, hi: i64) -> Result<(), String> {
        if lo > hi || lo < i64::from(i32::MIN) || hi > i64::from(u32::MAX) {
            return Err(format!("{lo}..{hi} is no range of 32-bit integers"));
        }
        let inputs = self.inputs.values_mut().map(|d| (&d.name, d.ty, &mut d.range));
        let uniforms = self.uniforms.values_mut().map(|d| (&d.name, d.ty, &mut d.range));
        let (mut known, mut found, mut wrong) = (Vec::new(), false, None);
        for (n, ty, range) in inputs.chain(uniforms) {
            if ty.scalar == crate::types::Scalar::I32 {
                known.push(n.clone());
            }
            if n == name && ty.scalar == crate::types::Scalar::I32 {
                *range = Some((lo, hi));
                found = true;
            } else if n == name {
                wrong = Some(format!("`{name}` is {ty}, not an integer"));
            }
        }
        known.sort();
        let list = if known.is_empty() { "there are none".to_string() } else { format!("there are {}", known.join(", ")) };
        if found { Ok(()) } else { Err(wrong.unwrap_or_else(|| format!("no integer input or uniform is named `{name}`; {list}"))) }
    }
    /// A module with an empty entry function.
    pub fn new(name: &str, stage: Stage) -> Module {
        let mut functions = PrimaryMap::new();
        let entry = functions.push(Function::new(name));
        Module {
            name: name.to_string(),
            stage,
            workgroup_size: [1; 3],
            geometry: None,
            early_depth: false,
            inputs: PrimaryMap::new(),
            outputs: PrimaryMap::new(),
            uniforms: PrimaryMap::new(),
            textures: PrimaryMap::new(),
            storage: PrimaryMap::new(),
            shared: PrimaryMap::new(),
            functions,
            entry,
            sources: SourceMap::default(),
            surface: Surface::default(),
        }
    }
    /// The entry function.
    pub fn main(&self) -> &Function {
        &self.functions[self.entry]
    }
    /// Forgets what no function needs any more: see [`Function::compact`].
    pub fn compact(&mut self) {
        self.functions.values_mut().for_each(Function::compact);
    }
    /// The entry function, to change.
    pub fn main_mut(&mut self) -> &mut Function {
        &mut self.functions[self.entry]
    }
}
