//! The interface: naga's variables, the entry point's arguments and results as variables of SPIR-V.

use super::builder::Id;
use super::func::Val;
use super::writer::{R, Writer, class};
use naga::{AddressSpace, Binding, BuiltIn as N, Expression, Handle, ImageClass, Interpolation, Sampling, StorageAccess, Type, TypeInner};
use retroshade_ir::{Diagnostic, Span};
use spirv::{BuiltIn, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};

/// An input or output: its variable, its type, and whether that is an array around the number that the source sees.
#[derive(Clone, Copy)]
struct Io {
    variable: Id,
    ty: Id,
    mask: bool,
}

/// The entry point's result while its code is written.
#[derive(Default)]
pub(super) struct Outputs {
    all: Vec<Io>,
    /// Whether they are the members of a structure.
    members: bool,
}

impl<'m> Writer<'m> {
    /// Declares the variables of the module.
    pub(super) fn declare_globals(&mut self, entry: usize) -> R<()> {
        let (module, info) = (self.module, self.info.get_entry_point(entry));
        for (h, g) in module.global_variables.iter().filter(|(_, g)| !self.stand_ins.has(g)) {
            let span = (self.spans)(module.global_variables.get_span(h));
            if matches!(module.types[g.ty].inner, TypeInner::Image { class: ImageClass::External, .. }) {
                if info[h].is_empty() {
                    continue;
                }
                let name = g.name.as_deref().unwrap_or("?");
                return Err(Diagnostic::error("F0151", span, format!("`{name}`: external textures exist on none of the machines")));
            }
            let ty = if self.wrapped(h) { self.wrapper(g.ty) } else { self.ty(g.ty) };
            let init = match (g.space, g.init) {
                (_, Some(init)) => Some(self.constant(init)?),
                (AddressSpace::Private | AddressSpace::WorkGroup, None) => Some(self.out.null(ty)),
                _ => None,
            };
            let id = self.out.variable(class(g.space), ty, init);
            self.out.name(id, g.name.as_deref());
            if let Some(b) = &g.binding {
                self.out.decorate(id, Decoration::DescriptorSet, &[b.group]);
                self.out.decorate(id, Decoration::Binding, &[b.binding]);
            }
            let access = match g.space {
                AddressSpace::Storage { access } => Some(access),
                _ => texture_access(module, g.ty),
            };
            if let Some(access) = access {
                for (right, lacks) in [(StorageAccess::STORE, Decoration::NonWritable), (StorageAccess::LOAD, Decoration::NonReadable)] {
                    if !access.contains(right) {
                        self.out.decorate(id, lacks, &[]);
                    }
                }
            }
            if !info[h].is_empty() {
                self.used.push(id);
            }
            self.globals.insert(h, id);
            self.declared.insert(id, span);
        }
        Ok(())
    }

    /// Whether a variable is a buffer that is no structure, which SPIR-V has only inside of one.
    pub(super) fn wrapped(&self, h: Handle<naga::GlobalVariable>) -> bool {
        let g = &self.module.global_variables[h];
        let buffer =
            !self.stand_ins.has(g) && matches!(g.space, AddressSpace::Uniform | AddressSpace::Storage { .. } | AddressSpace::Immediate);
        buffer && !matches!(self.module.types[g.ty].inner, TypeInner::Struct { .. } | TypeInner::BindingArray { .. })
    }

    /// Writes the entry point.
    pub(super) fn entry(&mut self, ep: &'m naga::EntryPoint) -> R<()> {
        let model = match ep.stage {
            naga::ShaderStage::Vertex => ExecutionModel::Vertex,
            naga::ShaderStage::Fragment => ExecutionModel::Fragment,
            naga::ShaderStage::Compute => ExecutionModel::GLCompute,
            stage => {
                let message = format!("programs of stage {stage:?} run on none of the machines");
                return Err(Diagnostic::error("F0004", Span::NONE, message));
            }
        };
        let id = self.out.id();
        let fragment = ep.stage == naga::ShaderStage::Fragment;
        let module = self.module;
        let mut interface = self.used.clone();
        // The members of a structure are variables of their own.
        let mut arguments: Vec<(Vec<Option<Io>>, Handle<Type>, bool)> = Vec::new();
        for (n, a) in (0u32..).zip(&ep.function.arguments) {
            let named = ep.function.expressions.iter().find(|(_, e)| matches!(e, Expression::FunctionArgument(k) if *k == n));
            let span = named.map_or(Span::NONE, |(h, _)| (self.spans)(ep.function.expressions.get_span(h)));
            let members = members_of(module, a.binding.as_ref(), a.ty);
            let whole = [(a.name.as_deref(), a.ty, a.binding.as_ref())];
            let parts = members.as_deref().unwrap_or(&whole);
            let mut all = Vec::new();
            for (name, ty, binding) in parts {
                let at = if members.is_none() && !span.is_none() { span } else { (self.spans)(module.types.get_span(a.ty)) };
                all.push(self.declare_io(false, fragment, *name, *ty, *binding, at)?);
            }
            interface.extend(all.iter().flatten().map(|io| io.variable));
            arguments.push((all, a.ty, members.is_some()));
        }
        let mut outputs = Outputs::default();
        if let Some(r) = &ep.function.result {
            let members = members_of(module, r.binding.as_ref(), r.ty);
            outputs.members = members.is_some();
            let at = (self.spans)(module.types.get_span(r.ty));
            for (name, ty, binding) in members.unwrap_or_else(|| vec![(None, r.ty, r.binding.as_ref())]) {
                if matches!(binding, Some(Binding::BuiltIn(N::FragDepth))) {
                    self.out.mode(id, ExecutionMode::DepthReplacing, &[]);
                }
                outputs.all.extend(self.declare_io(true, fragment, name, ty, binding, at)?);
            }
            interface.extend(outputs.all.iter().map(|io| io.variable));
        }
        self.out.entry(model, id, &ep.name, &interface);
        self.out.name(id, Some(&ep.name));
        match ep.stage {
            naga::ShaderStage::Compute => self.out.mode(id, ExecutionMode::LocalSize, &ep.workgroup_size),
            naga::ShaderStage::Fragment => self.out.mode(id, ExecutionMode::OriginUpperLeft, &[]),
            _ => {}
        }
        if matches!(ep.early_depth_test, Some(naga::EarlyDepthTest::Force)) {
            self.out.mode(id, ExecutionMode::EarlyFragmentTests, &[]);
        }
        let void = self.out.once(Op::TypeVoid, &[]);
        let ty = self.out.once(Op::TypeFunction, &[void]);
        self.begin(id, void, ty);
        let first = self.out.id();
        self.label(first);
        self.locals()?;
        for (parts, ty, composed) in arguments {
            let ids: Vec<Id> = parts.iter().map(|io| self.load_input(*io, ep.workgroup_size)).collect();
            let id = if composed {
                let ty = self.ty(ty);
                self.op(Op::CompositeConstruct, ty, &ids)
            } else {
                ids[0]
            };
            self.code.args.push(Val::Id(id));
        }
        self.code.outputs = Some(outputs);
        self.body()
    }

    /// Declares an input or output; `None` for the size of the workgroup, which is a constant.
    fn declare_io(
        &mut self,
        output: bool,
        fragment: bool,
        name: Option<&str>,
        ty: Handle<Type>,
        binding: Option<&Binding>,
        at: Span,
    ) -> R<Option<Io>> {
        let mut id_of_ty = self.ty(ty);
        let mut mask = false;
        if let Some(Binding::BuiltIn(b)) = binding {
            match b {
                N::WorkGroupSize => return Ok(None),
                N::SampleMask => {
                    mask = true;
                    let one = self.out.word(1);
                    id_of_ty = self.out.once(Op::TypeArray, &[id_of_ty, one]);
                }
                _ => {}
            }
        }
        let class = if output { StorageClass::Output } else { StorageClass::Input };
        let id = self.out.variable(class, id_of_ty, None);
        self.out.name(id, name);
        self.declared.insert(id, at);
        match binding {
            Some(Binding::BuiltIn(b)) => {
                let Some(number) = builtin(*b, fragment && !output) else {
                    return Err(Diagnostic::error("F0124", at, format!("the builtin {b:?} exists on none of the machines")));
                };
                self.out.decorate(id, Decoration::BuiltIn, &[number as u32]);
                if let N::Position { invariant: true } = b {
                    self.out.decorate(id, Decoration::Invariant, &[]);
                }
            }
            Some(Binding::Location { location, interpolation, sampling, blend_src, .. }) => {
                self.out.decorate(id, Decoration::Location, &[*location]);
                let how = match interpolation {
                    Some(Interpolation::Flat | Interpolation::PerVertex) => Some(Decoration::Flat),
                    Some(Interpolation::Linear) => Some(Decoration::NoPerspective),
                    Some(Interpolation::Perspective) | None => None,
                };
                let place = match sampling {
                    Some(Sampling::Centroid) => Some(Decoration::Centroid),
                    Some(Sampling::Sample) => Some(Decoration::Sample),
                    _ => None,
                };
                for d in [how, place].into_iter().flatten() {
                    self.out.decorate(id, d, &[]);
                }
                if let Some(n) = blend_src {
                    self.out.decorate(id, Decoration::Index, &[*n]);
                }
            }
            None => {}
        }
        Ok(Some(Io { variable: id, ty: id_of_ty, mask }))
    }

    fn load_input(&mut self, io: Option<Io>, workgroup: [u32; 3]) -> Id {
        let Some(io) = io else {
            let size = workgroup.map(|n| self.out.word(n));
            let ty = self.out.numeric(Some(naga::VectorSize::Tri), naga::Scalar::U32);
            return self.out.composite(ty, &size, true);
        };
        let v = self.op(Op::Load, io.ty, &[io.variable]);
        if !io.mask {
            return v;
        }
        let word = self.out.scalar(naga::Scalar::U32);
        self.op(Op::CompositeExtract, word, &[v, 0])
    }

    /// Hands the entry point's result on.
    pub(super) fn write_outputs(&mut self, value: Id) {
        let Some(outputs) = self.code.outputs.take() else { return };
        let module = self.module;
        let types: Vec<Handle<Type>> = match self.code.func.result.as_ref().map(|r| (&module.types[r.ty].inner, r.ty)) {
            Some((TypeInner::Struct { members, .. }, _)) if outputs.members => members.iter().map(|m| m.ty).collect(),
            Some((_, ty)) => vec![ty],
            None => Vec::new(),
        };
        for ((n, io), ty) in (0u32..).zip(&outputs.all).zip(types) {
            let ty = self.ty(ty);
            let part = if outputs.members { self.op(Op::CompositeExtract, ty, &[value, n]) } else { value };
            let part = if io.mask { self.op(Op::CompositeConstruct, io.ty, &[part]) } else { part };
            self.effect(Op::Store, &[io.variable, part]);
        }
        self.code.outputs = Some(outputs);
    }
}

/// A name, a type and a place.
type Part<'m> = (Option<&'m str>, Handle<Type>, Option<&'m Binding>);

/// The members of a structure of inputs or outputs.
fn members_of<'m>(module: &'m naga::Module, binding: Option<&Binding>, ty: Handle<Type>) -> Option<Vec<Part<'m>>> {
    match (binding, &module.types[ty].inner) {
        (None, TypeInner::Struct { members, .. }) => Some(members.iter().map(|m| (m.name.as_deref(), m.ty, m.binding.as_ref())).collect()),
        _ => None,
    }
}

/// How a storage texture, or an array of them, is accessed.
fn texture_access(module: &naga::Module, ty: Handle<Type>) -> Option<StorageAccess> {
    match module.types[ty].inner {
        TypeInner::Image { class: ImageClass::Storage { access, .. }, .. } => Some(access),
        TypeInner::BindingArray { base, .. } => texture_access(module, base),
        _ => None,
    }
}

/// SPIR-V's builtin for one of naga's; those of stages and extensions that no machine has are left out.
fn builtin(b: N, fragment_input: bool) -> Option<BuiltIn> {
    Some(match b {
        N::Position { .. } if fragment_input => BuiltIn::FragCoord,
        N::Position { .. } => BuiltIn::Position,
        N::ViewIndex => BuiltIn::ViewIndex,
        N::ClipDistances => BuiltIn::ClipDistance,
        N::InstanceIndex => BuiltIn::InstanceIndex,
        N::PointSize => BuiltIn::PointSize,
        N::VertexIndex => BuiltIn::VertexIndex,
        N::PrimitiveIndex => BuiltIn::PrimitiveId,
        N::FragDepth => BuiltIn::FragDepth,
        N::PointCoord => BuiltIn::PointCoord,
        N::FrontFacing => BuiltIn::FrontFacing,
        N::SampleIndex => BuiltIn::SampleId,
        N::SampleMask => BuiltIn::SampleMask,
        N::GlobalInvocationId => BuiltIn::GlobalInvocationId,
        N::LocalInvocationId => BuiltIn::LocalInvocationId,
        N::LocalInvocationIndex => BuiltIn::LocalInvocationIndex,
        N::WorkGroupId => BuiltIn::WorkgroupId,
        N::NumWorkGroups => BuiltIn::NumWorkgroups,
        N::NumSubgroups => BuiltIn::NumSubgroups,
        N::SubgroupId => BuiltIn::SubgroupId,
        N::SubgroupSize => BuiltIn::SubgroupSize,
        N::SubgroupInvocationId => BuiltIn::SubgroupLocalInvocationId,
        _ => return None,
    })
}
