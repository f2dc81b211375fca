//! From a validated naga module to SPIR-V: the state of the translation, types and constants.
//!
//! The words go to the reader of this crate, which also takes what SPIR-V leaves to extensions. What naga's IR means beyond SPIR-V (zero
//! in every variable, division that is total) is written out here.

use super::builder::{Builder, Id, put};
use super::func::Code;
use super::pointers::StandIns;
use naga::proc::IndexableLength;
use naga::valid::ModuleInfo;
use naga::{AddressSpace, ArraySize, Expression, Function, Handle, ImageClass, ImageDimension, Literal, ScalarKind, Type, TypeInner};
use retroshade_ir::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use spirv::{Decoration, Op, StorageClass};

/// A result whose error is a finished diagnostic.
pub(super) type R<T> = Result<T, Diagnostic>;

/// Maps a place in what naga parsed to the user's text.
pub(super) type SpanMap<'a> = &'a dyn Fn(naga::Span) -> Span;

/// The state of a translation.
pub(super) struct Writer<'m> {
    pub(super) module: &'m naga::Module,
    pub(super) info: &'m ModuleInfo,
    pub(super) spans: SpanMap<'m>,
    /// The text that spans point into.
    pub(super) text: &'m str,
    /// Variables that stand for parameters and arguments.
    pub(super) stand_ins: &'m StandIns,
    pub(super) out: Builder,
    types: FxHashMap<Handle<Type>, Id>,
    /// Structures around buffers that are none, by what they hold.
    wrappers: FxHashMap<Handle<Type>, Id>,
    constants: FxHashMap<Handle<Expression>, Id>,
    /// Variables of the module.
    pub(super) globals: FxHashMap<Handle<naga::GlobalVariable>, Id>,
    /// Those that the entry point uses.
    pub(super) used: Vec<Id>,
    /// Functions that are called, and those of them that are not written yet.
    functions: FxHashMap<Handle<Function>, Id>,
    waiting: Vec<(Handle<Function>, Id)>,
    /// Where variables of the module are declared.
    pub(super) declared: FxHashMap<Id, Span>,
    /// The function being written.
    pub(super) code: Code<'m>,
    pub(super) diags: Vec<Diagnostic>,
}

impl<'m> Writer<'m> {
    /// The words of one entry point and what they use, and where its variables are declared.
    pub(super) fn write(
        module: &'m naga::Module,
        info: &'m ModuleInfo,
        entry: usize,
        (spans, text): (SpanMap<'m>, &'m str),
        stand_ins: &'m StandIns,
    ) -> Result<(Vec<u32>, FxHashMap<Id, Span>), Vec<Diagnostic>> {
        let ep = &module.entry_points[entry];
        let mut w = Writer {
            module,
            info,
            spans,
            text,
            stand_ins,
            out: Builder::new(),
            types: FxHashMap::default(),
            wrappers: FxHashMap::default(),
            constants: FxHashMap::default(),
            globals: FxHashMap::default(),
            used: Vec::new(),
            functions: FxHashMap::default(),
            waiting: Vec::new(),
            declared: FxHashMap::default(),
            code: Code::new(&ep.function, info.get_entry_point(entry)),
            diags: Vec::new(),
        };
        let mut done = w.declare_globals(entry).and_then(|()| w.entry(ep));
        while let (Ok(()), Some((function, id))) = (&done, w.waiting.pop()) {
            w.code = Code::new(&module.functions[function], &info[function]);
            done = w.function(id);
        }
        if let Err(d) = done {
            w.report(d);
        }
        if w.diags.is_empty() { Ok((w.out.finish(), w.declared)) } else { Err(w.diags) }
    }

    /// Keeps a message.
    pub(super) fn report(&mut self, d: Diagnostic) {
        if !self.diags.contains(&d) {
            self.diags.push(d);
        }
    }

    /// The id of a function, which will be written.
    pub(super) fn callee(&mut self, f: Handle<Function>) -> Id {
        if let Some(id) = self.functions.get(&f) {
            return *id;
        }
        let id = self.out.id();
        self.functions.insert(f, id);
        self.waiting.push((f, id));
        id
    }

    /// A declared type.
    pub(super) fn ty(&mut self, h: Handle<Type>) -> Id {
        if let Some(id) = self.types.get(&h) {
            return *id;
        }
        let module = self.module;
        let ty = &module.types[h];
        let id = match &ty.inner {
            TypeInner::Array { base, size, stride } => {
                let base = self.ty(*base);
                // A length that an override gives is known by now.
                let id = match size.resolve(self.module.to_ctx()) {
                    Ok(IndexableLength::Known(n)) => {
                        let n = self.out.word(n);
                        self.out.declare(Op::TypeArray, &[base, n])
                    }
                    _ => self.out.declare(Op::TypeRuntimeArray, &[base]),
                };
                self.out.decorate(id, Decoration::ArrayStride, &[*stride]);
                id
            }
            TypeInner::Struct { members, .. } => {
                let parts: Vec<Id> = members.iter().map(|m| self.ty(m.ty)).collect();
                let id = self.out.declare(Op::TypeStruct, &parts);
                self.out.name(id, ty.name.as_deref());
                for (n, m) in (0u32..).zip(members) {
                    self.out.member_name(id, n, m.name.as_deref());
                    self.place_member(id, n, m.offset, m.ty);
                }
                id
            }
            inner => self.inner(inner),
        };
        self.types.insert(h, id);
        id
    }

    /// Where a member stands, and how a matrix in it.
    fn place_member(&mut self, id: Id, n: u32, offset: u32, mut ty: Handle<Type>) {
        self.out.decorate_member(id, n, Decoration::Offset, &[offset]);
        while let TypeInner::Array { base, .. } = self.module.types[ty].inner {
            ty = base;
        }
        if let TypeInner::Matrix { rows, scalar, .. } = self.module.types[ty].inner {
            self.out.decorate_member(id, n, Decoration::ColMajor, &[]);
            let lanes = if rows == naga::VectorSize::Bi { 2 } else { 4 };
            self.out.decorate_member(id, n, Decoration::MatrixStride, &[u32::from(scalar.width) * lanes]);
        }
    }

    /// The structure around a buffer that is none.
    pub(super) fn wrapper(&mut self, of: Handle<Type>) -> Id {
        if let Some(id) = self.wrappers.get(&of) {
            return *id;
        }
        let part = self.ty(of);
        let id = self.out.declare(Op::TypeStruct, &[part]);
        self.place_member(id, 0, 0, of);
        self.wrappers.insert(of, id);
        id
    }

    /// A type by its content, where it has no declaration of its own.
    pub(super) fn inner(&mut self, inner: &TypeInner) -> Id {
        match *inner {
            TypeInner::Scalar(s) | TypeInner::Atomic(s) => self.out.scalar(s),
            TypeInner::Vector { size, scalar } => self.out.numeric(Some(size), scalar),
            TypeInner::Matrix { columns, rows, scalar } => {
                let column = self.out.numeric(Some(rows), scalar);
                self.out.once(Op::TypeMatrix, &[column, columns as u32])
            }
            TypeInner::Pointer { base, space } => {
                let to = self.ty(base);
                self.out.pointer(class(space), to)
            }
            TypeInner::ValuePointer { size, scalar, space } => {
                let to = self.out.numeric(size, scalar);
                self.out.pointer(class(space), to)
            }
            TypeInner::Image { dim, arrayed, class } => self.image_type(dim, arrayed, class),
            TypeInner::Sampler { .. } => self.out.once(Op::TypeSampler, &[]),
            TypeInner::BindingArray { base, size } => {
                let base = self.ty(base);
                match size {
                    ArraySize::Constant(n) => {
                        let n = self.out.word(n.get());
                        self.out.once(Op::TypeArray, &[base, n])
                    }
                    ArraySize::Dynamic | ArraySize::Pending(_) => self.out.once(Op::TypeRuntimeArray, &[base]),
                }
            }
            TypeInner::AccelerationStructure { .. } => self.out.once(Op::TypeAccelerationStructureKHR, &[]),
            TypeInner::RayQuery { .. } => self.out.once(Op::TypeRayQueryKHR, &[]),
            TypeInner::CooperativeMatrix { .. } => self.out.once(Op::TypeCooperativeMatrixKHR, &[]),
            // These have declarations, and are declared by them.
            TypeInner::Array { .. } | TypeInner::Struct { .. } => self.out.once(Op::TypeVoid, &[]),
        }
    }

    pub(super) fn image_type(&mut self, dim: ImageDimension, arrayed: bool, class: ImageClass) -> Id {
        let (kind, depth, multi, storage) = match class {
            ImageClass::Sampled { kind, multi } => (kind, false, multi, None),
            ImageClass::Depth { multi } => (ScalarKind::Float, true, multi, None),
            ImageClass::Storage { format, .. } => (naga::Scalar::from(format).kind, false, false, Some(super::image::format(format))),
            ImageClass::External => (ScalarKind::Float, false, false, None),
        };
        let texel = self.out.scalar(naga::Scalar { kind, width: 4 });
        let dim = match dim {
            ImageDimension::D1 => spirv::Dim::Dim1D,
            ImageDimension::D2 => spirv::Dim::Dim2D,
            ImageDimension::D3 => spirv::Dim::Dim3D,
            ImageDimension::Cube => spirv::Dim::DimCube,
        };
        let (sampled, format) = storage.map_or((1, spirv::ImageFormat::Unknown), |format| (2, format));
        let operands = [texel, dim as u32, depth.into(), arrayed.into(), multi.into(), sampled, format as u32];
        self.out.once(Op::TypeImage, &operands)
    }

    /// A literal.
    pub(super) fn literal(&mut self, l: Literal) -> Id {
        let scalar = if let Literal::AbstractFloat(_) = l { naga::Scalar::F32 } else { l.scalar() };
        self.out.number(scalar, bits_of(l))
    }

    /// A constant composite of a type.
    pub(super) fn constant_composite(&mut self, ty: Handle<Type>, parts: &[Id]) -> Id {
        let id = self.ty(ty);
        if !matches!(self.module.types[ty].inner, TypeInner::Vector { .. }) {
            return self.out.composite(id, parts, false);
        }
        // Vectors in a vector are taken apart.
        let lanes: Option<Vec<_>> = parts.iter().map(|p| self.out.lanes(*p)).collect();
        match lanes {
            Some(lanes) => self.out.composite(id, &lanes.concat(), true),
            None => self.out.composite(id, parts, false),
        }
    }

    /// Zero in a type.
    pub(super) fn zero(&mut self, ty: Handle<Type>) -> Id {
        match self.module.types[ty].inner {
            TypeInner::Scalar(s) => self.out.filled(None, s, 0),
            TypeInner::Vector { size, scalar } => self.out.filled(Some(size), scalar, 0),
            _ => {
                let id = self.ty(ty);
                self.out.null(id)
            }
        }
    }

    /// A constant expression of the module.
    pub(super) fn constant(&mut self, h: Handle<Expression>) -> R<Id> {
        if let Some(id) = self.constants.get(&h) {
            return Ok(*id);
        }
        let module = self.module;
        let id = match &module.global_expressions[h] {
            Expression::Literal(l) => self.literal(*l),
            Expression::Constant(c) => self.constant(module.constants[*c].init)?,
            Expression::ZeroValue(t) => self.zero(*t),
            Expression::Compose { ty, components } => {
                let parts = components.iter().map(|c| self.constant(*c)).collect::<R<Vec<_>>>()?;
                self.constant_composite(*ty, &parts)
            }
            Expression::Splat { size, value } => {
                let one = self.constant(*value)?;
                match self.info[*value].inner_with(&module.types).scalar() {
                    Some(s) => {
                        let ty = self.out.numeric(Some(*size), s);
                        self.out.composite(ty, &vec![one; *size as usize], true)
                    }
                    None => one,
                }
            }
            _ => {
                let at = (self.spans)(module.global_expressions.get_span(h));
                return Err(Diagnostic::error("F0134", at, "a constant that cannot be computed at compile time"));
            }
        };
        self.constants.insert(h, id);
        Ok(id)
    }

    /// An instruction with a result in the function being written.
    pub(super) fn op(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.out.id();
        put(&mut self.out.functions, op, &[&[ty, id], operands].concat());
        id
    }

    /// An instruction without a result.
    pub(super) fn effect(&mut self, op: Op, operands: &[u32]) {
        put(&mut self.out.functions, op, operands);
    }
}

/// The bits of a literal; of a number without a type those of the type that it becomes.
pub(super) fn bits_of(l: Literal) -> u64 {
    match l {
        Literal::F64(x) => x.to_bits(),
        Literal::F32(x) => x.to_bits().into(),
        Literal::F16(x) => x.to_bits().into(),
        Literal::U16(x) => x.into(),
        Literal::I16(x) => x as u64,
        Literal::U32(x) => x.into(),
        Literal::I32(x) => x as u64,
        Literal::U64(x) => x,
        Literal::I64(x) | Literal::AbstractInt(x) => x as u64,
        Literal::Bool(x) => x.into(),
        Literal::AbstractFloat(x) => (x as f32).to_bits().into(),
    }
}

/// Where variables of an address space live.
pub(super) fn class(space: AddressSpace) -> StorageClass {
    match space {
        AddressSpace::Function => StorageClass::Function,
        AddressSpace::Private => StorageClass::Private,
        AddressSpace::WorkGroup => StorageClass::Workgroup,
        AddressSpace::Uniform => StorageClass::Uniform,
        AddressSpace::Storage { .. } => StorageClass::StorageBuffer,
        AddressSpace::Handle => StorageClass::UniformConstant,
        AddressSpace::Immediate => StorageClass::PushConstant,
        AddressSpace::TaskPayload => StorageClass::TaskPayloadWorkgroupEXT,
        AddressSpace::RayPayload => StorageClass::RayPayloadKHR,
        AddressSpace::IncomingRayPayload => StorageClass::IncomingRayPayloadKHR,
    }
}
