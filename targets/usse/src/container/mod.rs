//! The `.gxp` container: its parts, a reader, a writer, and the rules that published containers keep.
//!
//! Facts: the ISA sheet's section 19. Every offset in a file is relative to the place where it stands.

mod describe;
pub mod files;
pub mod interface;
pub mod lint;
pub mod package;
mod read;
mod vitagl;
mod write;

pub use describe::describe;
pub use read::{Section, read, sections};
pub use vitagl::{read_vitagl, vitagl};
pub use write::write;

/// Bytes of the header.
pub const HEADER: usize = 0x9c;
/// Index of the default uniform buffer among the containers.
pub const DEFAULT_BUFFER: u16 = 14;
/// Index of the container with literals, texture state and addresses.
pub const DATA: u16 = 19;
/// Texture units.
pub const UNITS: usize = 16;

/// Bits of `program_flags` (19.2).
pub mod flag {
    /// A fragment program.
    pub const FRAGMENT: u32 = 1;
    /// Instances run one by one.
    pub const PER_INSTANCE: u32 = 1 << 1;
    /// Pixels are dropped.
    pub const KILL: u32 = 1 << 3;
    /// The depth is replaced.
    pub const DEPTH: u32 = 1 << 4;
    /// The sprite coordinate is read.
    pub const SPRITE: u32 = 1 << 5;
    /// The colour is written in the frame buffer's own format.
    pub const NATIVE_COLOUR: u32 = 1 << 6;
    /// The frame buffer's colour is read.
    pub const READS_COLOUR: u32 = 1 << 7;
    /// Set in the one published program with the two bits before.
    pub const WITH_NATIVE: u32 = 1 << 13;
    /// Textures are read before the start.
    pub const TEXELS: u32 = 1 << 11;
    /// Inputs are iterated.
    pub const ITERATED: u32 = 1 << 12;
    /// Always set in vertex programs.
    pub const VERTEX: u32 = 1 << 16;
    /// The same bit in fragment programs: there is no colour.
    pub const NO_COLOUR: u32 = 1 << 16;
    /// The vertex index is read.
    pub const VERTEX_INDEX: u32 = 1 << 17;
    /// The instance index is read.
    pub const INSTANCE_INDEX: u32 = 1 << 18;
    /// Both set from SDK 3.00 on.
    pub const SDK3: u32 = 0b11 << 19;
}

/// What the version fields say: the SDK and compiler of most published containers.
pub const SDK: u16 = 0x0350;
/// The compiler that belongs to [`SDK`].
pub const COMPILER: u32 = 0x33dc0;

/// A parameter's category.
pub const CATEGORIES: [&str; 5] = ["attribute", "uniform", "sampler", "auxiliary_surface", "uniform_buffer"];
/// The category of a vertex program's attributes.
pub const ATTRIBUTE: u8 = 0;
/// The category of uniforms.
pub const UNIFORM: u8 = 1;
/// The category of samplers.
pub const SAMPLER: u8 = 2;
/// The category of uniform buffers, whose resource is the buffer and whose array size its bytes.
pub const UNIFORM_BUFFER: u8 = 4;
/// The type of what has no type of its own.
pub const AGGREGATE: u8 = 9;
/// A parameter's type.
pub const TYPES: [&str; 10] = ["f32", "f16", "c10", "u32", "s32", "u16", "s16", "u8", "s8", "aggregate"];
/// Attribute semantics.
pub const SEMANTICS: [&str; 17] = [
    "NONE",
    "ATTR",
    "BCOL",
    "BINORMAL",
    "BLENDINDICES",
    "BLENDWEIGHT",
    "COLOR",
    "DIFFUSE",
    "FOGCOORD",
    "NORMAL",
    "POINTSIZE",
    "POSITION",
    "SPECULAR",
    "TANGENT",
    "TEXCOORD",
    "INDEX",
    "INSTANCE",
];
/// Names of container indices from 14 on.
const CONTAINERS: [&str; 6] = ["default uniform buffer", "texture", "literal", "scratch", "thread", "data"];

/// A named parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// Index into [`CATEGORIES`].
    pub category: u8,
    /// Index into [`TYPES`].
    pub ty: u8,
    /// Components.
    pub components: u8,
    /// Container.
    pub container: u8,
    /// Attributes: index into [`SEMANTICS`]. Samplers: how the results are taken, [`TAKEN_F32`] and [`TAKEN_F16`].
    pub semantic: u8,
    /// Semantic index; bit 4 of a sampler: cube.
    pub semantic_index: u8,
    /// Array size.
    pub array: u32,
    /// Register, word offset or unit.
    pub resource: u32,
}

impl Parameter {
    /// Words from one array element to the next: floats of two to four components take an even number, others what they are.
    pub fn stride(&self) -> u32 {
        stride(self.ty <= 2, self.components)
    }
    /// Words that it takes in its buffer.
    pub fn words(&self) -> u32 {
        if self.array > 1 { self.array.saturating_mul(self.stride()) } else { self.components as u32 }
    }
}

/// Words from one array element to the next (19.3).
pub fn stride(float: bool, components: u8) -> u32 {
    let n = components.max(1) as u32;
    if float && n > 1 { n.next_multiple_of(2) } else { n }
}

/// How the results of a texture are taken: bits of a sampler's byte 6 and of the query table.
pub const TAKEN_F32: u8 = 1;
/// As f16.
pub const TAKEN_F16: u8 = 2;

/// A fragment input descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Attribute and coordinate bits.
    pub info: u32,
    /// Texture unit.
    pub unit: u32,
    /// Register counts.
    pub size: u32,
    /// Result type of the texture part.
    pub result: u32,
}

impl Descriptor {
    /// The iterated input: 0-9 texture coordinates, 10 and 11 colours, 12 fog, 13 position, 16 the sprite coordinate.
    pub fn iterated(&self) -> Option<u32> {
        match (self.info >> 30 & 1, self.info >> 12 & 15) {
            (1, _) => Some(16),
            (_, 15) => None,
            (_, n) => Some(n),
        }
    }
    /// Components of the iterated input.
    pub fn components(&self) -> u32 {
        (self.info >> 22 & 3) + 1
    }
    /// Whether a texture is read before the start.
    pub fn reads_texture(&self) -> bool {
        self.info & 15 != 15
    }
    /// Registers that the iterated input takes, and those of the texel.
    pub fn registers(&self) -> (u32, u32) {
        let of = |there: bool, n: u32| if there { n + 1 } else { 0 };
        (of(self.iterated().is_some(), self.size >> 4 & 3), of(self.reads_texture(), self.size >> 6 & 3))
    }
}

/// What a program reads and writes besides parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Varyings {
    /// A vertex program's block.
    Vertex {
        /// Attribute registers that are read.
        attributes: u64,
        /// Untyped attribute registers.
        untyped: u64,
        /// Outputs, first word.
        outputs1: u32,
        /// Outputs, second word: three bits per texture coordinate.
        outputs2: u32,
        /// Texture coordinates in half precision.
        half: u32,
        /// Register of the vertex index.
        vertex_index: u16,
        /// Register of the instance index.
        instance_index: u16,
    },
    /// A fragment program's block.
    Fragment {
        /// First register of the result.
        output_start: u8,
        /// Type of the result.
        output_type: u8,
        /// Components of the result.
        components: u8,
        /// Descriptors with a texture part.
        textures: u16,
        /// Input descriptors.
        descriptors: Vec<Descriptor>,
    },
}

/// A container in structured form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gxp {
    /// Minor version: 4 or 5.
    pub minor: u8,
    /// SDK version.
    pub sdk: u16,
    /// Compiler version.
    pub compiler: u32,
    /// Flags of section 19.2.
    pub flags: u32,
    /// Two bits per uniform buffer.
    pub buffer_flags: u32,
    /// Four bits per texture unit.
    pub texunit_flags: u64,
    /// Attribute registers.
    pub primary_regs: u16,
    /// Secondary attribute registers.
    pub secondary_regs: u16,
    /// Temporaries.
    pub temps: u32,
    /// The index of each phase's first instruction in the primary program.
    pub phases: Vec<u32>,
    /// Primary program.
    pub primary: Vec<u64>,
    /// Secondary program.
    pub secondary: Vec<u64>,
    /// Registers of the DATA container.
    pub data_count: u32,
    /// Words of the default uniform buffer.
    pub default_words: u32,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// Varyings.
    pub varyings: Varyings,
    /// Literals: register offset, value.
    pub literals: Vec<(u32, u32)>,
    /// Uniform buffers: index, register offset, base value.
    pub uniform_buffers: Vec<(u16, u16, i32)>,
    /// Dependent samplers: unit × 4 + word, register offset.
    pub dependent_samplers: Vec<(u16, u16)>,
    /// Containers: index, first register, size.
    pub containers: Vec<(u16, u16, u16)>,
    /// How the results of each texture unit are taken; empty without samplers.
    pub queries: Vec<u16>,
}

impl Gxp {
    /// Whether it is a fragment program.
    pub fn is_fragment(&self) -> bool {
        self.flags & 1 == 1
    }
    /// First register of a container, if present.
    pub fn base(&self, index: u16) -> Option<u16> {
        self.container(index).map(|c| c.1)
    }
    /// A container: index, first register, size.
    pub fn container(&self, index: u16) -> Option<(u16, u16, u16)> {
        self.containers.iter().find(|c| c.0 == index).copied()
    }
}
