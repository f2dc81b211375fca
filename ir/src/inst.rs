//! Instructions: one shape for all of them, so that passes can be generic.

use crate::entities::*;
use crate::opcode::Opcode;
use rustc_hash::FxHasher;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;

/// An instruction: operation, operands, immediate data, branch targets, results.
#[derive(Debug, PartialEq)]
pub struct InstData {
    /// What it does.
    pub op: Opcode,
    /// Value operands.
    pub args: SmallVec<[Value; 4]>,
    /// Everything that is not a value.
    pub imm: Imm,
    /// Branch targets with their arguments; empty unless a terminator.
    pub targets: Vec<BlockCall>,
    /// Results; at most one except for calls.
    pub results: SmallVec<[Value; 1]>,
    /// Forbids contraction and rewriting that may change the result.
    pub precise: bool,
    /// Allows the result to be computed as `mediump` is: see [`crate::analysis::Relaxed`].
    pub relaxed: bool,
}

impl InstData {
    /// An instruction without targets and results.
    pub fn new(op: Opcode, args: &[Value], imm: Imm) -> InstData {
        InstData {
            op,
            args: SmallVec::from_slice(args),
            imm,
            targets: Vec::new(),
            results: SmallVec::new(),
            precise: false,
            relaxed: false,
        }
    }
}

// By hand: a list of values is copied at once, which the derived implementation does one by one. Passes clone a lot.
impl Clone for InstData {
    fn clone(&self) -> InstData {
        InstData {
            op: self.op,
            args: SmallVec::from_slice(&self.args),
            imm: self.imm.clone(),
            targets: self.targets.clone(),
            results: SmallVec::from_slice(&self.results),
            precise: self.precise,
            relaxed: self.relaxed,
        }
    }
}

/// A branch target and the values for its parameters.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct BlockCall {
    /// Where to.
    pub block: Block,
    /// One value per parameter of the block.
    pub args: SmallVec<[Value; 4]>,
}

impl Clone for BlockCall {
    fn clone(&self) -> BlockCall {
        BlockCall { block: self.block, args: SmallVec::from_slice(&self.args) }
    }
}

/// Immediate data of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Imm {
    /// Nothing.
    None,
    /// Bits of each lane (unused lanes 0); f16 in the low half, i1 as 0 or 1.
    Const([u32; 4]),
    /// A float relation.
    FloatCC(FloatCC),
    /// An integer relation.
    IntCC(IntCC),
    /// A lane index (`extract`, `insert`).
    Lane(u8),
    /// A shuffle mask: lanes of the first operand, then of the second.
    Lanes(SmallVec<[u8; 4]>),
    /// A declared variable and a constant element offset, added to the index operand if there is one.
    Mem {
        /// The variable.
        var: MemRef,
        /// Constant part of the element index.
        offset: u32,
    },
    /// An atomic on a shared variable or storage buffer.
    Atomic {
        /// The variable.
        var: MemRef,
        /// Constant part of the element index.
        offset: u32,
        /// The operation.
        op: AtomicOp,
    },
    /// A texture operation.
    Tex(Box<TexInfo>),
    /// A derivative's precision hint: 0 none, 1 coarse, 2 fine.
    Hint(u8),
    /// The callee.
    Func(FuncId),
    /// The stream of `emit_vertex` and `end_primitive`.
    Stream(u8),
    /// The case values of a `switch`, one per target except the last (default).
    Cases(Box<[u32]>),
    /// The name of a machine operation (`tesla.preex2`).
    Ext(Box<str>),
}

impl Imm {
    /// Adds it to a hash. What is frequent is added as words: the derived implementation takes each part by itself.
    #[inline]
    pub(crate) fn add_to(&self, h: &mut FxHasher) {
        match self {
            Imm::None => {}
            Imm::Const([a, b, c, d]) => {
                h.write_u64(u64::from(*a) << 32 | u64::from(*b));
                h.write_u64(u64::from(*c) << 32 | u64::from(*d));
            }
            Imm::Lane(n) => h.write_u8(*n),
            other => other.hash(h),
        }
    }
}

/// A variable that memory operations name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemRef {
    /// A shader input.
    Input(Input),
    /// A shader output.
    Output(Output),
    /// A uniform.
    Uniform(Uniform),
    /// A local array of the function.
    Local(Local),
    /// Workgroup memory.
    Shared(Shared),
    /// A storage buffer.
    Storage(Storage),
}

macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }
        impl $name {
            /// Every variant.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            /// The name in the text form.
            pub const fn name(self) -> &'static str { match self { $($name::$variant => $text,)* } }
            /// Finds a variant by its name.
            pub fn from_name(s: &str) -> Option<$name> { Self::ALL.iter().copied().find(|v| v.name() == s) }
        }
    };
}
pub(crate) use named_enum;

named_enum! {
    /// Float relations: `o…` are false with a NaN, `u…` are true.
    FloatCC {
        /// Neither is NaN.
        Ord "ord",
        /// Some operand is NaN.
        Uno "uno",
        /// Equal.
        Oeq "oeq",
        /// Less or greater.
        One "one",
        /// Less.
        Olt "olt",
        /// Less or equal.
        Ole "ole",
        /// Greater.
        Ogt "ogt",
        /// Greater or equal.
        Oge "oge",
        /// Equal or unordered.
        Ueq "ueq",
        /// Not equal (or unordered).
        Une "une",
        /// Less or unordered.
        Ult "ult",
        /// Less, equal or unordered.
        Ule "ule",
        /// Greater or unordered.
        Ugt "ugt",
        /// Greater, equal or unordered.
        Uge "uge",
    }
}

impl FloatCC {
    /// The relation that holds exactly when this one does not.
    pub const fn inverse(self) -> FloatCC {
        use FloatCC::*;
        match self {
            Ord => Uno,
            Uno => Ord,
            Oeq => Une,
            One => Ueq,
            Olt => Uge,
            Ole => Ugt,
            Ogt => Ule,
            Oge => Ult,
            Ueq => One,
            Une => Oeq,
            Ult => Oge,
            Ule => Ogt,
            Ugt => Ole,
            Uge => Olt,
        }
    }
    /// The relation with exchanged operands.
    pub const fn swapped(self) -> FloatCC {
        use FloatCC::*;
        match self {
            Olt => Ogt,
            Ogt => Olt,
            Ole => Oge,
            Oge => Ole,
            Ult => Ugt,
            Ugt => Ult,
            Ule => Uge,
            Uge => Ule,
            same => same,
        }
    }
    /// Whether the relation holds with a NaN operand.
    pub const fn when_unordered(self) -> bool {
        use FloatCC::*;
        matches!(self, Uno | Ueq | Une | Ult | Ule | Ugt | Uge)
    }
    /// Evaluates the relation on two host floats.
    pub fn eval(self, a: f32, b: f32) -> bool {
        use FloatCC::*;
        if a.is_nan() || b.is_nan() {
            return self.when_unordered();
        }
        match self {
            Ord => true,
            Uno => false,
            Oeq | Ueq => a == b,
            One | Une => a != b,
            Olt | Ult => a < b,
            Ole | Ule => a <= b,
            Ogt | Ugt => a > b,
            Oge | Uge => a >= b,
        }
    }
}

named_enum! {
    /// Integer relations.
    IntCC {
        /// Equal.
        Eq "eq",
        /// Not equal.
        Ne "ne",
        /// Signed less.
        Slt "slt",
        /// Signed less or equal.
        Sle "sle",
        /// Signed greater.
        Sgt "sgt",
        /// Signed greater or equal.
        Sge "sge",
        /// Unsigned less.
        Ult "ult",
        /// Unsigned less or equal.
        Ule "ule",
        /// Unsigned greater.
        Ugt "ugt",
        /// Unsigned greater or equal.
        Uge "uge",
    }
}

impl IntCC {
    /// The relation that holds exactly when this one does not.
    pub const fn inverse(self) -> IntCC {
        use IntCC::*;
        match self {
            Eq => Ne,
            Ne => Eq,
            Slt => Sge,
            Sle => Sgt,
            Sgt => Sle,
            Sge => Slt,
            Ult => Uge,
            Ule => Ugt,
            Ugt => Ule,
            Uge => Ult,
        }
    }
    /// The relation with exchanged operands.
    pub const fn swapped(self) -> IntCC {
        use IntCC::*;
        match self {
            Slt => Sgt,
            Sgt => Slt,
            Sle => Sge,
            Sge => Sle,
            Ult => Ugt,
            Ugt => Ult,
            Ule => Uge,
            Uge => Ule,
            same => same,
        }
    }
    /// Evaluates the relation.
    pub const fn eval(self, a: u32, b: u32) -> bool {
        let (x, y) = (a as i32, b as i32);
        match self {
            IntCC::Eq => a == b,
            IntCC::Ne => a != b,
            IntCC::Slt => x < y,
            IntCC::Sle => x <= y,
            IntCC::Sgt => x > y,
            IntCC::Sge => x >= y,
            IntCC::Ult => a < b,
            IntCC::Ule => a <= b,
            IntCC::Ugt => a > b,
            IntCC::Uge => a >= b,
        }
    }
}

named_enum! {
    /// Atomic operations; `cas` takes (compare, replacement).
    AtomicOp {
        /// Sum.
        Add "add",
        /// Unsigned minimum.
        Umin "umin",
        /// Unsigned maximum.
        Umax "umax",
        /// Signed minimum.
        Smin "smin",
        /// Signed maximum.
        Smax "smax",
        /// Bitwise and.
        And "and",
        /// Bitwise or.
        Or "or",
        /// Bitwise exclusive or.
        Xor "xor",
        /// Exchange.
        Xchg "xchg",
        /// Compare and swap.
        Cas "cas",
    }
}

named_enum! {
    /// What a texture operation does.
    TexOp {
        /// Filtered sample.
        Sample "sample",
        /// Four texels of one component, in the order of WGSL's textureGather.
        Gather "gather",
        /// One texel by integer coordinates and level (and sample index).
        Fetch "fetch",
        /// The size of a level as integers.
        Size "size",
        /// The number of mip levels (i32; no operands).
        Levels "levels",
        /// The level that a sample at these coordinates would access, and as it is computed (two f32; no layer).
        Lod "lod",
    }
}

named_enum! {
    /// How a sample finds its level of detail.
    TexLod {
        /// From the quad's derivatives (level 0 outside fragment programs).
        Implicit "implicit",
        /// As implicit plus a bias operand.
        Bias "bias",
        /// An explicit operand.
        Level "level",
        /// Two gradient operands.
        Grad "grad",
        /// Level 0.
        Zero "zero",
    }
}

impl TexOp {
    /// Offsets in texels that it may have: what APIs promise of samples, and drivers of gathers.
    pub fn offsets(self) -> RangeInclusive<i8> {
        if self == TexOp::Gather { -32..=31 } else { -8..=7 }
    }
}

/// A texture operation in full.
///
/// Operands, in this order, each only where it applies:
/// coordinates (a float vector with as many lanes as the texture has dimensions, 3 for a cube; integers for `fetch`; none for `size`) ·
/// array layer (i32, rounded as [`crate::Builder::array_layer`] does) · depth reference (f32, where `compare`) · bias or level (f32 for samples, i32 for `fetch` and `size`) ·
/// x gradient, y gradient (as the coordinates) · sample index (i32, multisampled `fetch`).
/// Result: four lanes of f32 or i32 by the texture's kind; one f32 for a comparison sample (four for a comparison gather);
/// for `size` the integers width, height, depth as far as the dimension has them, then the number of layers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TexInfo {
    /// What it does.
    pub op: TexOp,
    /// Which texture and sampler.
    pub texture: Texture,
    /// How the level is found (`implicit` where it does not apply; `level` for `fetch`/`size` with a level operand).
    pub lod: TexLod,
    /// Whether it compares with a depth reference.
    pub compare: bool,
    /// Constant texel offset, within [`TexOp::offsets`].
    pub offset: [i8; 3],
    /// The component of a gather.
    pub component: u8,
}
