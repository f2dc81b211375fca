//! What a source declares beyond what its program needs: blocks with all members, samplers of their own, specialisation constants.
//!
//! Kept for reflection alone. No pass looks at it, and the text form does not have it.

/// What a block is to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockKind {
    /// A uniform buffer.
    #[default]
    Uniform,
    /// Push constants.
    Push,
    /// A storage buffer.
    Storage,
}

impl BlockKind {
    /// As reflection writes it.
    pub const fn name(self) -> &'static str {
        match self {
            BlockKind::Uniform => "uniform",
            BlockKind::Push => "push_constant",
            BlockKind::Storage => "storage",
        }
    }
}

/// A member of a block or of a structure in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockMember {
    /// Name.
    pub name: String,
    /// `f32x4`, `mat4x4`, the name of a structure …: the type of one element.
    pub ty: String,
    /// Bytes from the start of what it is a member of.
    pub offset: u32,
    /// Bytes, without padding behind; 0 where only the buffer's length says it.
    pub size: u32,
    /// Array levels from the outside in: number of elements (0: as many as the buffer holds) and bytes from one to the next.
    pub array: Vec<(u32, u32)>,
    /// Bytes from one column (row, if row-major) of its matrices to the next.
    pub matrix_stride: Option<u32>,
    /// Whether its matrices stand row by row.
    pub row_major: bool,
    /// Members of its structure.
    pub members: Vec<BlockMember>,
}

/// A uniform block, push constants or a storage buffer as declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Name of the block (its type).
    pub name: String,
    /// Name of the variable; empty where there is none.
    pub instance: String,
    /// Bind group or descriptor set.
    pub group: u32,
    /// Binding number.
    pub binding: u32,
    /// Bytes; of a runtime array what stands before it.
    pub size: u32,
    /// Members in the order of declaration.
    pub members: Vec<BlockMember>,
}

/// A sampler that the source has apart from its textures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplerPlace {
    /// Name.
    pub name: String,
    /// Bind group or descriptor set.
    pub group: u32,
    /// Binding number.
    pub binding: u32,
}

/// A constant that is given when the program is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecConstant {
    /// Number; none for an override that has only a name.
    pub id: Option<u32>,
    /// Name, where it is known.
    pub name: String,
    /// `f32 i32 u32 bool`.
    pub ty: String,
    /// Bits of the value that the source gives; none if it gives none.
    pub default: Option<u32>,
    /// Bits of the value that this program was compiled with.
    pub value: u32,
}

/// The value that a uniform has until the host sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialValue {
    /// Name of the uniform's declaration.
    pub uniform: String,
    /// Bits of all its elements, densely, the last dimension fastest.
    pub words: Vec<u32>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surface {
    /// Blocks in the order of declaration.
    pub blocks: Vec<Block>,
    /// Samplers.
    pub samplers: Vec<SamplerPlace>,
    /// Specialisation constants.
    pub constants: Vec<SpecConstant>,
    /// First values of uniforms.
    pub initial: Vec<InitialValue>,
}

impl Surface {
    /// The first value of a uniform: bits of all its elements.
    pub fn initial_of(&self, uniform: &str) -> Option<&[u32]> {
        self.initial.iter().find(|v| v.uniform == uniform).map(|v| &v.words[..])
    }
}
