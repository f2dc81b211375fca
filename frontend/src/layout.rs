//! Where the parts of a buffer stand.
//!
//! WGSL's and SPIR-V's layouts are in naga's types. GLSL's are not always: naga knows neither `row_major` nor `offset`, gives structures in a
//! uniform block too little alignment, refuses std140 matrices of two rows, and lays push constants out by std140. So the offsets in GLSL's
//! blocks are computed here, by the rules of OpenGL 4.6, section 7.6.2.2 (std140 and std430).

use crate::types::Ty;
use naga::{Handle, Module, Type, TypeInner};

/// By which rules a block is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rules {
    /// As naga's types say.
    #[default]
    Given,
    /// Arrays, structures and columns take multiples of 16 bytes.
    Std140,
    /// Everything takes what it needs.
    Std430,
}

/// What the source says about a member of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key {
    /// `layout(offset = n)`
    pub(crate) offset: Option<u32>,
    /// `layout(align = n)`
    pub(crate) align: Option<u32>,
    /// `layout(row_major)`
    pub(crate) row_major: bool,
}

/// The layout of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The rules for everything in it.
    pub(crate) rules: Rules,
    /// Its members, where the source says something about them.
    pub(crate) keys: Vec<Key>,
}

/// The rules at one place inside a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Local {
    /// The block's.
    pub(crate) rules: Rules,
    /// Whether matrices stand row by row.
    pub(crate) row_major: bool,
}

impl Local {
    /// Bytes from one column of a matrix to the next; from one row to the next where they stand row by row.
    pub(crate) fn column_stride(self, columns: u8, rows: u8, scalar: naga::Scalar) -> u32 {
        let n = Ty::column_stride(if self.row_major { columns } else { rows }, scalar);
        if self.rules == Rules::Std140 { n.next_multiple_of(16) } else { n }
    }

    /// Bytes from one element of an array to the next.
    pub(crate) fn array_stride(self, nm: &Module, element: Handle<Type>, given: u32) -> u32 {
        if self.rules == Rules::Given {
            return given;
        }
        let (align, size) = self.extent(nm, Ty::of(nm, element));
        let align = if self.rules == Rules::Std140 { align.max(16) } else { align };
        size.checked_next_multiple_of(align).unwrap_or(u32::MAX)
    }

    /// Alignment and size.
    fn extent(self, nm: &Module, ty: Ty) -> (u32, u32) {
        let least = if self.rules == Rules::Std140 { 16 } else { 1 };
        let width = |s: naga::Scalar| if s.kind == naga::ScalarKind::Bool { 4 } else { u32::from(s.width) };
        match ty {
            Ty::Scalar(s) | Ty::Atomic(s) => (width(s), width(s)),
            Ty::Vector(n, s) => (width(s) * if n == 2 { 2 } else { 4 }, width(s) * u32::from(n)),
            Ty::Matrix(c, r, s) => {
                let stride = self.column_stride(c, r, s);
                (stride, stride * u32::from(if self.row_major { r } else { c }))
            }
            Ty::Array(element, n, given) => {
                let stride = self.array_stride(nm, element, given);
                (self.extent(nm, Ty::of(nm, element)).0.max(least), stride.saturating_mul(n.unwrap_or(1)))
            }
            Ty::Struct(h) => {
                let (_, align, size) = self.place(nm, h, &[]);
                (align, size)
            }
            Ty::Opaque => (4, 0),
        }
    }

    /// Offsets of a structure's members, its alignment and its size.
    fn place(self, nm: &Module, h: Handle<Type>, keys: &[Key]) -> (Vec<u32>, u32, u32) {
        let TypeInner::Struct { members, span } = &nm.types[h].inner else { return (Vec::new(), 4, 0) };
        if self.rules == Rules::Given {
            return (members.iter().map(|m| m.offset).collect(), 16, *span);
        }
        let (mut at, mut all) = (0u32, if self.rules == Rules::Std140 { 16 } else { 1 });
        let mut offsets = Vec::new();
        for (n, m) in members.iter().enumerate() {
            let key = keys.get(n).copied().unwrap_or_default();
            let inside = Local { row_major: self.row_major || key.row_major, ..self };
            let (align, size) = inside.extent(nm, Ty::of(nm, m.ty));
            all = all.max(align);
            let align = align.max(key.align.unwrap_or(1)).max(1);
            at = key.offset.unwrap_or(at).checked_next_multiple_of(align).unwrap_or(u32::MAX);
            offsets.push(at);
            at = at.saturating_add(size);
        }
        (offsets, all, at.checked_next_multiple_of(all).unwrap_or(u32::MAX))
    }

    /// Offsets of a structure's members; `keys` where it is the block itself.
    pub(crate) fn offsets(self, nm: &Module, h: Handle<Type>, keys: &[Key]) -> Vec<u32> {
        self.place(nm, h, keys).0
    }

    /// Bytes of a structure with the padding at its end.
    pub(crate) fn size(self, nm: &Module, h: Handle<Type>, keys: &[Key]) -> u32 {
        self.place(nm, h, keys).2
    }
}
