//! naga types seen as shapes: what a value is made of, and which IR type its leaves have.
//!
//! Values are taken apart down to scalars and vectors: structs, arrays and matrices become trees of leaves.

use naga::{ArraySize, Handle, TypeInner};
use retroshade_ir::types::{Scalar, Type};

/// A shape, small enough to copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ty {
    /// One number or truth value.
    Scalar(naga::Scalar),
    /// Two to four of them.
    Vector(u8, naga::Scalar),
    /// Columns, rows.
    Matrix(u8, u8, naga::Scalar),
    /// Element type, length (`None`: as long as the buffer), distance in bytes.
    Array(Handle<naga::Type>, Option<u32>, u32),
    /// A struct, by its type.
    Struct(Handle<naga::Type>),
    /// A single atomic number.
    Atomic(naga::Scalar),
    /// A resource or pointer: never a value.
    Opaque,
}

impl Ty {
    /// The shape of a declared type.
    pub(crate) fn of(module: &naga::Module, handle: Handle<naga::Type>) -> Ty {
        Ty::of_inner(&module.types[handle].inner, Some(handle))
    }

    /// The shape of a type given by its content; structs need their handle.
    pub(crate) fn of_inner(inner: &TypeInner, handle: Option<Handle<naga::Type>>) -> Ty {
        match *inner {
            TypeInner::Scalar(s) => Ty::Scalar(s),
            TypeInner::Vector { size, scalar } => Ty::Vector(size as u8, scalar),
            TypeInner::Matrix { columns, rows, scalar } => Ty::Matrix(columns as u8, rows as u8, scalar),
            TypeInner::Atomic(s) => Ty::Atomic(s),
            TypeInner::Array { base, size, stride } => match size {
                ArraySize::Constant(n) => Ty::Array(base, Some(n.get()), stride),
                ArraySize::Dynamic => Ty::Array(base, None, stride),
                ArraySize::Pending(_) => Ty::Opaque,
            },
            TypeInner::Struct { .. } => handle.map_or(Ty::Opaque, Ty::Struct),
            _ => Ty::Opaque,
        }
    }

    /// The shape of a component: a lane, a column, an element or a member.
    pub(crate) fn child(self, module: &naga::Module, index: u32) -> Ty {
        match self {
            Ty::Vector(_, s) => Ty::Scalar(s),
            Ty::Matrix(_, rows, s) => Ty::Vector(rows, s),
            Ty::Array(elem, _, _) => Ty::of(module, elem),
            Ty::Struct(h) => match &module.types[h].inner {
                TypeInner::Struct { members, .. } => members.get(index as usize).map_or(Ty::Opaque, |m| Ty::of(module, m.ty)),
                _ => Ty::Opaque,
            },
            _ => Ty::Opaque,
        }
    }

    /// How many components there are; 0 where there are none or the number is not fixed.
    pub(crate) fn len(self, module: &naga::Module) -> u32 {
        match self {
            Ty::Vector(n, _) | Ty::Matrix(n, _, _) => n.into(),
            Ty::Array(_, n, _) => n.unwrap_or(0),
            Ty::Struct(h) => match &module.types[h].inner {
                TypeInner::Struct { members, .. } => members.len() as u32,
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Whether this is one IR value.
    pub(crate) fn is_leaf(self) -> bool {
        matches!(self, Ty::Scalar(_) | Ty::Vector(..) | Ty::Atomic(_))
    }

    /// The number type of a scalar, vector or matrix.
    pub(crate) fn scalar(self) -> Option<naga::Scalar> {
        match self {
            Ty::Scalar(s) | Ty::Vector(_, s) | Ty::Matrix(_, _, s) | Ty::Atomic(s) => Some(s),
            _ => None,
        }
    }

    /// The IR type of a leaf; `Err` names what the IR does not have.
    pub(crate) fn ir(self) -> Result<Type, String> {
        match self {
            Ty::Scalar(s) | Ty::Atomic(s) => Ok(Type::new(ir_scalar(s)?, 1)),
            Ty::Vector(n, s) => Ok(Type::new(ir_scalar(s)?, n)),
            _ => Err("a value of this type cannot be held in registers".into()),
        }
    }

    /// How many leaves a value has, saturating.
    pub(crate) fn leaves(self, module: &naga::Module) -> u64 {
        match self {
            Ty::Scalar(_) | Ty::Vector(..) | Ty::Atomic(_) => 1,
            Ty::Matrix(c, _, _) => c.into(),
            Ty::Array(elem, n, _) => Ty::of(module, elem).leaves(module).saturating_mul(n.unwrap_or(0).into()),
            Ty::Struct(h) => struct_leaves(module, h),
            Ty::Opaque => 0,
        }
    }

    /// Bytes from one column of a matrix to the next, as WGSL, std140 and std430 agree where naga accepts the type.
    pub(crate) fn column_stride(rows: u8, scalar: naga::Scalar) -> u32 {
        u32::from(scalar.width) * if rows == 2 { 2 } else { 4 }
    }
}

/// Leaves of a structure. Types only name earlier ones, and structures of structures may hold 2^n of them: one pass over the types counts
/// each once.
fn struct_leaves(module: &naga::Module, of: Handle<naga::Type>) -> u64 {
    let mut known: Vec<u64> = Vec::with_capacity(of.index() + 1);
    for (h, t) in module.types.iter() {
        let at = |h: &Handle<naga::Type>| known.get(h.index()).copied().unwrap_or(0);
        let n = match &t.inner {
            TypeInner::Struct { members, .. } => members.iter().fold(0u64, |n, m| n.saturating_add(at(&m.ty))),
            TypeInner::Array { base, size: ArraySize::Constant(n), .. } => at(base).saturating_mul(n.get().into()),
            TypeInner::Matrix { columns, .. } => *columns as u64,
            TypeInner::Scalar(_) | TypeInner::Vector { .. } | TypeInner::Atomic(_) => 1,
            _ => 0,
        };
        known.push(n);
        if h == of {
            return n;
        }
    }
    0
}

/// The IR's scalar for one of naga's.
pub(crate) fn ir_scalar(s: naga::Scalar) -> Result<Scalar, String> {
    use naga::ScalarKind as K;
    match (s.kind, s.width) {
        (K::Bool, _) => Ok(Scalar::I1),
        (K::Sint | K::Uint, 4) => Ok(Scalar::I32),
        (K::Float, 4) => Ok(Scalar::F32),
        (K::Float, 2) => Ok(Scalar::F16),
        (K::AbstractInt, _) => Ok(Scalar::I32),
        (K::AbstractFloat, _) => Ok(Scalar::F32),
        (kind, width) => Err(format!("{}-bit {} values exist on none of the machines", u32::from(width) * 8, kind_name(kind))),
    }
}

fn kind_name(k: naga::ScalarKind) -> &'static str {
    match k {
        naga::ScalarKind::Float | naga::ScalarKind::AbstractFloat => "float",
        naga::ScalarKind::Bool => "truth",
        _ => "integer",
    }
}

/// The scalar's name as WGSL spells it, where the IR's name says less.
pub(crate) fn source_scalar(s: naga::Scalar) -> Option<&'static str> {
    match s.kind {
        naga::ScalarKind::Uint => Some("u32"),
        naga::ScalarKind::Bool => Some("bool"),
        _ => None,
    }
}
