//! Types as shapes: what a value is made of, where its parts stand in a buffer, and which IR type its leaves have.
//!
//! Values are taken apart down to scalars and vectors: structs, arrays and matrices become trees of leaves.

use super::binary::{Binary, Id, Inst, R, literal, malformed};
use retroshade_ir::types::{Scalar, Type};
use rustc_hash::FxHashMap;
use spirv::{Decoration, Dim, ImageFormat, Op};

/// Types within types.
const MAX_DEPTH: u32 = 64;

/// How a number is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
}

/// A number type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Num {
    /// How it is read.
    pub(crate) kind: Kind,
    /// Its bits.
    pub(crate) width: u32,
}

impl Num {
    /// The IR's scalar; `Err` names what the IR does not have.
    pub(crate) fn ir(self) -> Result<Scalar, String> {
        match (self.kind, self.width) {
            (Kind::Bool, _) => Ok(Scalar::I1),
            (Kind::Signed | Kind::Unsigned, 8 | 16 | 32) => Ok(Scalar::I32),
            (Kind::Float, 32) => Ok(Scalar::F32),
            (Kind::Float, 16) => Ok(Scalar::F16),
            (Kind::Float, w) => Err(format!("{w}-bit float values exist on none of the machines")),
            (_, w) => Err(format!("{w}-bit integer values exist on none of the machines")),
        }
    }

    /// Whether this is an integer that is smaller than a word.
    pub(crate) fn is_small(self) -> bool {
        matches!(self.kind, Kind::Signed | Kind::Unsigned) && matches!(self.width, 8 | 16)
    }

    /// Whether this is a float of half a word.
    pub(crate) fn is_half(self) -> bool {
        self.kind == Kind::Float && self.width == 16
    }

    /// The bits of a number of at most a word.
    pub(crate) fn mask(self) -> u32 {
        u32::MAX >> (32 - self.width.clamp(1, 32))
    }

    /// A constant as this type has it: smaller integers fill their word by their sign.
    pub(crate) fn in_range(self, bits: u32) -> u32 {
        match self.kind {
            _ if !self.is_small() => bits,
            Kind::Signed => ((bits << (32 - self.width)) as i32 >> (32 - self.width)) as u32,
            _ => bits & self.mask(),
        }
    }

    /// The name, where the IR's says less.
    pub(crate) fn source(self) -> Option<&'static str> {
        match self.kind {
            Kind::Unsigned => Some("u32"),
            Kind::Bool => Some("bool"),
            _ => None,
        }
    }
}

/// A shape, small enough to copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ty {
    /// Nothing.
    Void,
    /// One number or truth value.
    Scalar(Num),
    /// Two to four of them.
    Vector(u8, Num),
    /// Columns, rows.
    Matrix(u8, u8, Num),
    /// An array, by its type.
    Array(Id),
    /// A struct, by its type.
    Struct(Id),
    /// A texture, a sampler or both, by its type.
    Resource(Id),
    /// Never a value: a pointer, a function.
    Opaque,
}

/// What an array is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayDef {
    /// The shape of its elements.
    pub(crate) elem: Ty,
    /// How many; none: as many as the buffer holds.
    pub(crate) count: Option<u32>,
    /// Bytes from one to the next, where the module says it.
    pub(crate) stride: Option<u32>,
}

/// A member of a structure.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Its shape.
    pub(crate) ty: Ty,
    /// Its name.
    pub(crate) name: Option<String>,
    /// Its place, where the module says it.
    pub(crate) offset: Option<u32>,
    /// Whether its matrices stand row by row.
    pub(crate) row_major: bool,
    /// Bytes from one column (or row) of its matrices to the next.
    pub(crate) matrix_stride: Option<u32>,
    /// Whether it is declared in relaxed precision.
    pub(crate) relaxed: bool,
}

/// A texture type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageDef {
    /// What a texel is made of.
    pub(crate) num: Option<Num>,
    /// Its dimensions.
    pub(crate) dim: Dim,
    /// Whether it is declared as depth.
    pub(crate) depth: bool,
    /// Whether it has layers.
    pub(crate) arrayed: bool,
    /// Whether it is multisampled.
    pub(crate) multi: bool,
    /// Whether it is read and written without a sampler.
    pub(crate) storage: bool,
    /// What its texels are made of, where the module says it.
    pub(crate) format: ImageFormat,
}

/// A resource type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ResourceDef {
    /// A texture.
    Image(ImageDef),
    /// A sampler.
    Sampler,
    /// Both in one.
    Sampled(ImageDef),
    /// Something that no machine has.
    Refused(&'static str),
}

#[derive(Clone, Debug)]
enum Def {
    Array(ArrayDef),
    Struct(Vec<Member>),
    Resource(ResourceDef),
    Pointer(Id),
}

/// Numbers about a type that would cost too much to count again.
#[derive(Clone, Copy, Debug, Default)]
struct Measure {
    /// Leaves of a value, at least 1.
    leaves: u64,
    /// Shapes inside, arrays counted once.
    nodes: u64,
    /// Types within types.
    depth: u32,
    /// Alignment and size by the rules of std140.
    std140: (u32, u32),
}

/// All types of a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    shapes: FxHashMap<Id, Ty>,
    defs: FxHashMap<Id, Def>,
    measures: FxHashMap<Id, Measure>,
}

/// Whether an operation declares a type.
pub(crate) fn declares(op: Op) -> bool {
    matches!(
        op,
        Op::TypeVoid
            | Op::TypeBool
            | Op::TypeInt
            | Op::TypeFloat
            | Op::TypeVector
            | Op::TypeMatrix
            | Op::TypeImage
            | Op::TypeSampler
            | Op::TypeSampledImage
            | Op::TypeArray
            | Op::TypeRuntimeArray
            | Op::TypeStruct
            | Op::TypeOpaque
            | Op::TypePointer
            | Op::TypeFunction
            | Op::TypeAccelerationStructureKHR
            | Op::TypeRayQueryKHR
            | Op::TypeCooperativeMatrixKHR
            | Op::TypeCooperativeMatrixNV
            | Op::TypeUntypedPointerKHR
    )
}

impl Types {
    /// Takes in a type declaration.
    pub(crate) fn declare(&mut self, b: &Binary<'_>, i: Inst<'_>, defines: &[(String, String)]) -> R<()> {
        let id = i.word(0)?;
        if self.shapes.contains_key(&id) {
            return Err(malformed(i.at, format_args!("%{id} is declared twice")));
        }
        let wrong = |what: &str| malformed(i.at, what);
        let (mut def, mut measure) = (None, Measure { leaves: 1, nodes: 1, depth: 1, std140: (16, 16) });
        let shape = match i.op {
            Op::TypeVoid => Ty::Void,
            Op::TypeBool => Ty::Scalar(Num { kind: Kind::Bool, width: 32 }),
            Op::TypeInt => {
                let kind = if i.word(2)? == 0 { Kind::Unsigned } else { Kind::Signed };
                Ty::Scalar(Num { kind, width: i.word(1)? })
            }
            Op::TypeFloat => Ty::Scalar(Num { kind: Kind::Float, width: i.word(1)? }),
            Op::TypeVector => match (self.shape(i.word(1)?), i.word(2)?) {
                (Some(Ty::Scalar(s)), n @ 2..=4) => Ty::Vector(n as u8, s),
                _ => return Err(wrong("a vector of something else than two to four numbers")),
            },
            Op::TypeMatrix => match (self.shape(i.word(1)?), i.word(2)?) {
                (Some(Ty::Vector(rows, s)), n @ 2..=4) => Ty::Matrix(n as u8, rows, s),
                _ => return Err(wrong("a matrix of something else than two to four vectors")),
            },
            Op::TypeArray | Op::TypeRuntimeArray => {
                let elem = i.word(1)?;
                let inner = self.measure(elem).ok_or_else(|| wrong("an array of an unknown type"))?;
                let count = match i.op {
                    Op::TypeArray => {
                        let n = super::consts::number(b, self, i.word(2)?, defines)
                            .ok_or_else(|| wrong("an array whose length is no number"))?;
                        if n == 0 {
                            return Err(wrong("an array without elements"));
                        }
                        Some(n)
                    }
                    _ => None,
                };
                let stride = b.literal(id, Decoration::ArrayStride);
                let step = inner.std140.1.checked_next_multiple_of(16).unwrap_or(u32::MAX);
                measure = Measure {
                    leaves: inner.leaves.saturating_mul(count.unwrap_or(1).into()),
                    nodes: inner.nodes.saturating_add(1),
                    depth: inner.depth + 1,
                    std140: (inner.std140.0.max(16), step.saturating_mul(count.unwrap_or(1))),
                };
                def = Some(Def::Array(ArrayDef { elem: self.shape(elem).unwrap_or(Ty::Opaque), count, stride }));
                Ty::Array(id)
            }
            Op::TypeStruct => {
                let (members, m) = self.members(b, id, i)?;
                measure = m;
                def = Some(Def::Struct(members));
                Ty::Struct(id)
            }
            Op::TypeImage => {
                def = Some(Def::Resource(self.image(i)?));
                Ty::Resource(id)
            }
            Op::TypeSampler => {
                def = Some(Def::Resource(ResourceDef::Sampler));
                Ty::Resource(id)
            }
            Op::TypeSampledImage => {
                def = Some(Def::Resource(match self.defs.get(&i.word(1)?) {
                    Some(Def::Resource(ResourceDef::Image(d))) => ResourceDef::Sampled(*d),
                    Some(Def::Resource(r @ ResourceDef::Refused(_))) => *r,
                    _ => return Err(wrong("a sampled image of something else than an image")),
                }));
                Ty::Resource(id)
            }
            Op::TypeAccelerationStructureKHR | Op::TypeRayQueryKHR => {
                def = Some(Def::Resource(ResourceDef::Refused("ray tracing exists on none of the machines")));
                Ty::Resource(id)
            }
            Op::TypeCooperativeMatrixKHR | Op::TypeCooperativeMatrixNV => {
                def = Some(Def::Resource(ResourceDef::Refused("cooperative matrices exist on none of the machines")));
                Ty::Resource(id)
            }
            Op::TypePointer => {
                def = Some(Def::Pointer(i.word(2)?));
                Ty::Opaque
            }
            _ => Ty::Opaque,
        };
        if measure.depth > MAX_DEPTH {
            return Err(retroshade_ir::Diagnostic::error(
                "L0102",
                retroshade_ir::Span::NONE,
                format!("types nested more than {MAX_DEPTH} deep (word {})", i.at),
            ));
        }
        match shape {
            Ty::Scalar(_) => measure.std140 = (4, 4),
            Ty::Vector(n, _) => measure.std140 = (if n == 2 { 8 } else { 16 }, 4 * u32::from(n)),
            Ty::Matrix(c, ..) => {
                measure.std140 = (16, 16 * u32::from(c));
                measure.leaves = c.into();
            }
            _ => {}
        }
        self.shapes.insert(id, shape);
        self.measures.insert(id, measure);
        if let Some(d) = def {
            self.defs.insert(id, d);
        }
        Ok(())
    }

    fn members(&self, b: &Binary<'_>, id: Id, i: Inst<'_>) -> R<(Vec<Member>, Measure)> {
        let mut members = Vec::with_capacity(i.operands.len());
        let mut m = Measure { leaves: 0, nodes: 1, depth: 1, std140: (16, 0) };
        for (n, t) in (0u32..).zip(i.rest(1)) {
            // A pointer may be declared later.
            let inner = self.measure(*t).unwrap_or(Measure { leaves: 1, nodes: 1, depth: 1, std140: (16, 16) });
            m.leaves = m.leaves.saturating_add(inner.leaves);
            m.nodes = m.nodes.saturating_add(inner.nodes);
            m.depth = m.depth.max(inner.depth + 1);
            let at = m.std140.1.checked_next_multiple_of(inner.std140.0).unwrap_or(u32::MAX);
            m.std140 = (m.std140.0.max(inner.std140.0), at.saturating_add(inner.std140.1));
            let d = b.of_member(id, n);
            members.push(Member {
                ty: self.shape(*t).unwrap_or(Ty::Opaque),
                name: b.member_names.get(&(id, n)).cloned().filter(|s| !s.is_empty()),
                offset: literal(d, Decoration::Offset),
                row_major: d.iter().any(|(x, _)| *x == Decoration::RowMajor),
                matrix_stride: literal(d, Decoration::MatrixStride),
                relaxed: d.iter().any(|(x, _)| *x == Decoration::RelaxedPrecision),
            });
        }
        m.leaves = m.leaves.max(1);
        m.std140.1 = m.std140.1.checked_next_multiple_of(16).unwrap_or(u32::MAX);
        Ok((members, m))
    }

    fn image(&self, i: Inst<'_>) -> R<ResourceDef> {
        let Some(dim) = Dim::from_u32(i.word(2)?) else { return Err(malformed(i.at, "an unknown image dimension")) };
        let num = match self.shape(i.word(1)?) {
            Some(Ty::Scalar(n)) => Some(n),
            _ => None,
        };
        Ok(ResourceDef::Image(ImageDef {
            num,
            dim,
            depth: i.word(3)? == 1,
            arrayed: i.word(4)? == 1,
            multi: i.word(5)? == 1,
            storage: i.word(6)? == 2,
            format: ImageFormat::from_u32(i.word(7)?).unwrap_or(ImageFormat::Unknown),
        }))
    }

    fn measure(&self, id: Id) -> Option<Measure> {
        self.measures.get(&id).copied()
    }

    /// The shape of a type.
    pub(crate) fn shape(&self, id: Id) -> Option<Ty> {
        self.shapes.get(&id).copied()
    }

    /// What a pointer type points to.
    pub(crate) fn pointee(&self, id: Id) -> Option<Id> {
        match self.defs.get(&id) {
            Some(Def::Pointer(to)) => Some(*to),
            _ => None,
        }
    }

    /// An array type.
    pub(crate) fn array(&self, id: Id) -> ArrayDef {
        match self.defs.get(&id) {
            Some(Def::Array(a)) => *a,
            _ => ArrayDef { elem: Ty::Opaque, count: Some(0), stride: None },
        }
    }

    /// The members of a structure.
    pub(crate) fn struct_members(&self, id: Id) -> &[Member] {
        match self.defs.get(&id) {
            Some(Def::Struct(m)) => m,
            _ => &[],
        }
    }

    /// A resource type.
    pub(crate) fn resource(&self, id: Id) -> ResourceDef {
        match self.defs.get(&id) {
            Some(Def::Resource(r)) => *r,
            _ => ResourceDef::Refused("a resource of this type exists on none of the machines"),
        }
    }

    /// Alignment and size by the rules of std140.
    pub(crate) fn std140(&self, ty: Ty) -> (u32, u32) {
        match ty {
            Ty::Scalar(_) => (4, 4),
            Ty::Vector(n, _) => (if n == 2 { 8 } else { 16 }, 4 * u32::from(n)),
            Ty::Matrix(c, ..) => (16, 16 * u32::from(c)),
            Ty::Array(id) | Ty::Struct(id) => self.measure(id).map_or((16, 16), |m| m.std140),
            _ => (16, 0),
        }
    }

    /// Where the members of a structure stand: what the module says, else by the rules of std140.
    pub(crate) fn offsets(&self, id: Id) -> Vec<u32> {
        let mut at = 0u32;
        let mut out = Vec::new();
        for m in self.struct_members(id) {
            let (align, size) = self.std140(m.ty);
            at = m.offset.unwrap_or(at.checked_next_multiple_of(align).unwrap_or(u32::MAX));
            out.push(at);
            at = at.saturating_add(size);
        }
        out
    }

    /// Bytes from one element of an array to the next.
    pub(crate) fn array_stride(&self, id: Id) -> u32 {
        let a = self.array(id);
        a.stride.unwrap_or_else(|| self.std140(a.elem).1.checked_next_multiple_of(16).unwrap_or(u32::MAX))
    }

    /// Leaves and shapes of a type: how much work it is to walk through a value or a declaration of it.
    pub(crate) fn nodes(&self, ty: Ty) -> u64 {
        match ty {
            Ty::Array(id) | Ty::Struct(id) => self.measure(id).map_or(1, |m| m.nodes),
            _ => 1,
        }
    }
}

impl Ty {
    /// The shape of a component: a lane, a column, an element or a member.
    pub(crate) fn child(self, types: &Types, index: u32) -> Ty {
        match self {
            Ty::Vector(_, s) => Ty::Scalar(s),
            Ty::Matrix(_, rows, s) => Ty::Vector(rows, s),
            Ty::Array(id) => types.array(id).elem,
            Ty::Struct(id) => types.struct_members(id).get(index as usize).map_or(Ty::Opaque, |m| m.ty),
            _ => Ty::Opaque,
        }
    }

    /// How many components there are; 0 where there are none or the number is not fixed.
    pub(crate) fn len(self, types: &Types) -> u32 {
        match self {
            Ty::Vector(n, _) | Ty::Matrix(n, _, _) => n.into(),
            Ty::Array(id) => types.array(id).count.unwrap_or(0),
            Ty::Struct(id) => types.struct_members(id).len() as u32,
            _ => 0,
        }
    }

    /// Whether this is one IR value.
    pub(crate) fn is_leaf(self) -> bool {
        matches!(self, Ty::Scalar(_) | Ty::Vector(..))
    }

    /// The number type of a scalar, vector or matrix.
    pub(crate) fn num(self) -> Option<Num> {
        match self {
            Ty::Scalar(s) | Ty::Vector(_, s) | Ty::Matrix(_, _, s) => Some(s),
            _ => None,
        }
    }

    /// How numbers of this type are read.
    pub(crate) fn kind(self) -> Kind {
        self.num().map_or(Kind::Float, |n| n.kind)
    }

    /// The IR type of a leaf; `Err` names what the IR does not have.
    pub(crate) fn ir(self) -> Result<Type, String> {
        match self {
            Ty::Scalar(s) => Ok(Type::new(s.ir()?, 1)),
            Ty::Vector(n, s) => Ok(Type::new(s.ir()?, n)),
            _ => Err("a value of this type cannot be held in registers".into()),
        }
    }

    /// How many leaves a value has, saturating, at least 1.
    pub(crate) fn leaves(self, types: &Types) -> u64 {
        match self {
            Ty::Matrix(c, _, _) => c.into(),
            Ty::Array(id) | Ty::Struct(id) => types.measure(id).map_or(1, |m| m.leaves),
            _ => 1,
        }
    }

    /// Whether a type holds textures or samplers.
    pub(crate) fn has_resource(self, types: &Types) -> bool {
        match self {
            Ty::Resource(_) => true,
            Ty::Array(id) => types.array(id).elem.has_resource(types),
            Ty::Struct(id) if types.nodes(self) < 4096 => types.struct_members(id).iter().any(|m| m.ty.has_resource(types)),
            _ => false,
        }
    }
}
