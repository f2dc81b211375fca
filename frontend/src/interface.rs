//! The interface: naga's globals, arguments and results as declarations of the IR.
//!
//! Names are those of the source: `u.color` for a member of a named block, `color` for a member of a GLSL block without
//! instance name or of a structure of inputs or outputs, `location0` for a result without a name. Layouts come from naga, which
//! has computed the offsets by the rules of the source's language.

use crate::convert::{Converter, Lang, R};
use crate::place::{ArrayKey, Place, Root, Slot, StorageBuffer, UniformTree};
use crate::types::{Ty, source_scalar};
use crate::value::Val;
use naga::valid::FunctionInfo;
use naga::{AddressSpace, GlobalVariable, Handle, TypeInner};
use retroshade_ir::inst::MemRef;
use retroshade_ir::module::{Access, Binding, Builtin, Dim, Interpolation, IoDecl, Sampling, Stage, StorageDecl, UniformDecl};
use retroshade_ir::types::{Scalar, Type};
use retroshade_ir::{Opcode, Span, Value};
use std::rc::Rc;

/// Inputs and outputs that have names already.
#[derive(Debug, Default)]
pub(crate) struct Io {
    outputs: Vec<String>,
}

/// Leading words of a storage buffer that are listed one by one.
const MAX_HEAD_WORDS: u64 = 1 << 16;
/// No machine has room for more bytes of uniforms.
const MAX_UNIFORM_BYTES: u64 = 1 << 24;

impl<'m> Converter<'m> {
    /// Declares the globals that the entry can reach (all of them where the source has one entry).
    pub(crate) fn declare_globals(&mut self, ep: &'m naga::EntryPoint, info: &FunctionInfo) -> R<()> {
        let _ = ep;
        let all = self.nm.entry_points.len() == 1 && self.lang != Lang::Wgsl;
        let mut push_binding = 0;
        for (_, g) in self.nm.global_variables.iter() {
            if let Some(b) = g.binding.as_ref().filter(|b| b.group == 0) {
                push_binding = push_binding.max(b.binding + 1);
            }
        }
        for (h, g) in self.nm.global_variables.iter() {
            let used = !info[h].is_empty();
            if !used && !all {
                continue;
            }
            self.span = (self.spans)(self.nm.global_variables.get_span(h));
            let ty = Ty::of(self.nm, g.ty);
            let name = g.name.clone().unwrap_or_default();
            let (group, binding) = match &g.binding {
                Some(b) => (b.group, b.binding),
                None => (0, push_binding),
            };
            match g.space {
                AddressSpace::Uniform | AddressSpace::Immediate => {
                    if g.binding.is_none() {
                        push_binding += 1;
                    }
                    let at = Where { group, binding };
                    let tree = self.declare_uniform(&name, ty, at, 0, &mut Vec::new())?;
                    self.uniforms.insert(h, Rc::new(tree));
                }
                AddressSpace::Storage { access } => {
                    let decl = self.declare_storage(g, ty, group, binding)?;
                    let read_only = !access.contains(naga::StorageAccess::STORE);
                    self.storage.insert(h, StorageBuffer { decl, ty, read_only });
                }
                AddressSpace::WorkGroup => {
                    let mem = self.make_mem(&name, ty, 1, true)?;
                    let slot = self.add_slot(Slot::Mem(Rc::new(mem)));
                    self.shared.insert(h, slot);
                }
                AddressSpace::Private => {
                    if !used {
                        continue;
                    }
                    let key: ArrayKey = (None, h.index() as u32, Default::default());
                    let slot = self.make_slot(&name, ty, &key, false)?;
                    let slot = self.add_slot(slot);
                    self.private.insert(h, slot);
                }
                AddressSpace::Handle => {
                    self.check_resource(g)?;
                    self.declare_texture(h)?;
                }
                AddressSpace::Function => {}
                AddressSpace::TaskPayload | AddressSpace::RayPayload | AddressSpace::IncomingRayPayload => {
                    return Err(self.error("F0120", "mesh and ray-tracing programs run on none of the machines"));
                }
            }
        }
        Ok(())
    }

    /// Gives module variables their first values.
    pub(crate) fn init_private(&mut self) -> R<()> {
        for (h, g) in self.nm.global_variables.iter() {
            let Some(slot) = self.private.get(&h).copied() else { continue };
            self.span = (self.spans)(self.nm.global_variables.get_span(h));
            let ty = Ty::of(self.nm, g.ty);
            if let Some(init) = g.init {
                let v = self.global_expr(init)?;
                let slot = self.slots[slot as usize].clone();
                self.store_slot(&slot, &[], &v, ty)?;
            } else {
                self.start_value(slot, ty)?;
            }
        }
        Ok(())
    }

    /// What a variable without initialiser holds: zero in WGSL, anything elsewhere.
    pub(crate) fn start_value(&mut self, slot: u32, ty: Ty) -> R<()> {
        let slot = self.slots[slot as usize].clone();
        self.fill_slot(&slot, ty)
    }

    fn fill_slot(&mut self, slot: &Slot, ty: Ty) -> R<()> {
        match slot {
            Slot::Leaf(var) => {
                let t = self.ssa.ty(*var);
                let v = if self.lang == Lang::Wgsl { self.splat_const(t, 0) } else { self.undef(t) };
                self.write_var(*var, v);
                Ok(())
            }
            Slot::Agg(parts, _) => {
                for (i, p) in parts.iter().enumerate() {
                    self.fill_slot(p, ty.child(self.nm, i as u32))?;
                }
                Ok(())
            }
            Slot::Mem(_) if self.lang != Lang::Wgsl => Ok(()),
            Slot::Mem(m) => self.zero_mem(m, 1),
        }
    }

    fn declare_uniform(&mut self, name: &str, ty: Ty, at: Where, offset: u32, dims: &mut Vec<Dim>) -> R<UniformTree> {
        match ty {
            Ty::Struct(h) => {
                let TypeInner::Struct { members, .. } = &self.nm.types[h].inner else {
                    return Err(self.error("F0121", "a uniform of a type without layout"));
                };
                let mut parts = Vec::new();
                for (i, m) in members.iter().enumerate() {
                    let part = match &m.name {
                        Some(n) if name.is_empty() => n.clone(),
                        Some(n) => format!("{name}.{n}"),
                        None => format!("{name}.{i}"),
                    };
                    parts.push(self.declare_uniform(&part, Ty::of(self.nm, m.ty), at, offset + m.offset, dims)?);
                }
                Ok(UniformTree::Struct(parts))
            }
            Ty::Array(elem, count, stride) => {
                let Some(count) = count else { return Err(self.error("F0121", format!("the uniform `{name}` has no fixed size"))) };
                if u64::from(count) * u64::from(stride) > MAX_UNIFORM_BYTES {
                    return Err(self.limit(format!(
                        "the uniform `{name}` has {} bytes; no machine has room for more than {MAX_UNIFORM_BYTES}",
                        u64::from(count) * u64::from(stride)
                    )));
                }
                let inner = Ty::of(self.nm, elem);
                let name = if matches!(inner, Ty::Struct(_)) || name.ends_with(']') { format!("{name}[]") } else { name.to_string() };
                dims.push(Dim { count, stride });
                let tree = self.declare_uniform(&name, inner, at, offset, dims);
                dims.pop();
                Ok(UniformTree::Array(stride, Box::new(tree?)))
            }
            Ty::Matrix(columns, rows, scalar) => {
                let stride = Ty::column_stride(rows, scalar);
                dims.push(Dim { count: columns.into(), stride });
                let leaf = self.uniform_leaf(name, Ty::Vector(rows, scalar), true, at, offset, dims);
                dims.pop();
                Ok(UniformTree::Array(stride, Box::new(leaf?)))
            }
            _ => self.uniform_leaf(name, ty, false, at, offset, dims),
        }
    }

    fn uniform_leaf(&mut self, name: &str, ty: Ty, matrix: bool, at: Where, offset: u32, dims: &[Dim]) -> R<UniformTree> {
        if !ty.is_leaf() {
            return Err(self.error("F0121", format!("the uniform `{name}` has a type without layout")));
        }
        let t = self.ir_ty(ty)?;
        let unit = if dims.is_empty() {
            u32::from(t.lanes) * 4
        } else if dims.iter().all(|d| d.stride % 16 == 0) {
            16
        } else {
            dims.iter().fold(0, |a, d| gcd(a, d.stride))
        };
        let decl = UniformDecl {
            name: self.unique_uniform(name, at),
            ty: t,
            dims: dims.to_vec(),
            matrix,
            rows: false,
            unit,
            group: at.group,
            binding: at.binding,
            offset,
            range: None,
            source_type: ty.scalar().and_then(source_scalar).map(str::to_string),
            span: self.span,
        };
        Ok(UniformTree::Leaf(self.out.uniforms.push(decl), t, unit))
    }

    fn unique_uniform(&self, name: &str, at: Where) -> String {
        let name = if name.is_empty() { format!("uniform{}", at.binding) } else { name.to_string() };
        let taken = |n: &str| self.out.uniforms.values().any(|u| u.name == n);
        if !taken(&name) {
            return name;
        }
        let mut n = 1;
        while taken(&format!("{name}_{n}")) {
            n += 1;
        }
        format!("{name}_{n}")
    }

    fn declare_storage(&mut self, g: &GlobalVariable, ty: Ty, group: u32, binding: u32) -> R<retroshade_ir::Storage> {
        let AddressSpace::Storage { access } = g.space else { return Err(self.error("F0121", "not a storage buffer")) };
        let name = g.name.clone().filter(|n| !n.is_empty());
        // A GLSL buffer without instance name is known by its only member, or by its own name.
        let inner = match &self.nm.types[g.ty].inner {
            TypeInner::Struct { members, .. } if members.len() == 1 => members[0].name.clone(),
            _ => None,
        };
        let name = name.or(inner).or(self.nm.types[g.ty].name.clone()).filter(|n| !n.is_empty());
        let name = name.unwrap_or_else(|| format!("storage{binding}"));
        let name = if self.out.storage.values().any(|s| s.name == name) { format!("{name}_{binding}") } else { name };
        let (mut head, mut repeat) = (Vec::new(), Vec::new());
        self.storage_words(ty, &mut head, &mut repeat)?;
        Ok(self.out.storage.push(StorageDecl {
            name,
            head,
            repeat,
            source_type: self.spell(ty),
            access: match (access.contains(naga::StorageAccess::LOAD), access.contains(naga::StorageAccess::STORE)) {
                (true, false) => Access::Read,
                (false, true) => Access::Write,
                _ => Access::ReadWrite,
            },
            group,
            binding,
            span: self.span,
        }))
    }

    /// Lists what the words of a buffer hold; an array of unknown or enormous length at its end repeats.
    fn storage_words(&self, ty: Ty, head: &mut Vec<Scalar>, repeat: &mut Vec<Scalar>) -> R<()> {
        match ty {
            Ty::Struct(h) => {
                let TypeInner::Struct { members, span } = &self.nm.types[h].inner else { return Ok(()) };
                let start = head.len();
                for m in members {
                    let offset = u64::from(m.offset / 4);
                    if offset > MAX_HEAD_WORDS {
                        return Err(self.limit(format!("a member {offset} words into a storage buffer is too far from its start")));
                    }
                    pad(head, start + offset as usize);
                    self.storage_words(Ty::of(self.nm, m.ty), head, repeat)?;
                }
                if repeat.is_empty() {
                    let size = u64::from(*span / 4).min(2 * MAX_HEAD_WORDS);
                    pad(head, start + size as usize);
                }
                Ok(())
            }
            Ty::Array(elem, count, stride) => {
                let mut one = Vec::new();
                self.storage_words(Ty::of(self.nm, elem), &mut one, &mut Vec::new())?;
                pad(&mut one, stride as usize / 4);
                match count {
                    Some(n) if u64::from(n) * one.len() as u64 + (head.len() as u64) < MAX_HEAD_WORDS => {
                        for _ in 0..n {
                            head.extend_from_slice(&one);
                        }
                    }
                    _ => *repeat = one,
                }
                Ok(())
            }
            Ty::Matrix(columns, rows, scalar) => {
                let s = self.word_scalar(scalar)?;
                for _ in 0..columns {
                    let start = head.len();
                    head.extend(std::iter::repeat_n(s, rows.into()));
                    pad(head, start + Ty::column_stride(rows, scalar) as usize / 4);
                }
                Ok(())
            }
            Ty::Vector(n, scalar) => {
                head.extend(std::iter::repeat_n(self.word_scalar(scalar)?, n.into()));
                Ok(())
            }
            Ty::Scalar(scalar) | Ty::Atomic(scalar) => {
                head.push(self.word_scalar(scalar)?);
                Ok(())
            }
            Ty::Opaque => Err(self.error("F0121", "a storage buffer of a type without layout")),
        }
    }

    fn word_scalar(&self, s: naga::Scalar) -> R<Scalar> {
        match self.ir_ty(Ty::Scalar(s))?.scalar {
            Scalar::F16 => Err(self.error("F0122", "half-precision values in a storage buffer: the machines address it by 32-bit words")),
            other => Ok(other),
        }
    }

    /// A type as WGSL spells it.
    fn spell(&self, ty: Ty) -> String {
        let scalar = |s: naga::Scalar| match s.kind {
            naga::ScalarKind::Uint => "u32".to_string(),
            naga::ScalarKind::Sint => "i32".to_string(),
            naga::ScalarKind::Bool => "bool".to_string(),
            _ => format!("f{}", u32::from(s.width) * 8),
        };
        match ty {
            Ty::Scalar(s) => scalar(s),
            Ty::Atomic(s) => format!("atomic<{}>", scalar(s)),
            Ty::Vector(n, s) => format!("vec{n}<{}>", scalar(s)),
            Ty::Matrix(c, r, s) => format!("mat{c}x{r}<{}>", scalar(s)),
            Ty::Array(e, Some(n), _) => format!("array<{}, {n}>", self.spell(Ty::of(self.nm, e))),
            Ty::Array(e, None, _) => format!("array<{}>", self.spell(Ty::of(self.nm, e))),
            Ty::Struct(h) => {
                let members: Vec<String> = (0..ty.len(self.nm)).map(|i| self.spell(ty.child(self.nm, i))).collect();
                match &self.nm.types[h].name {
                    Some(n) => format!("{n}{{{}}}", members.join(", ")),
                    None => format!("{{{}}}", members.join(", ")),
                }
            }
            Ty::Opaque => "?".to_string(),
        }
    }

    /// Declares the entry's arguments as inputs and loads them.
    pub(crate) fn declare_inputs(&mut self, ep: &'m naga::EntryPoint) -> R<(Vec<Val>, Io)> {
        // Names of builtins are taken first: a user's input may not hide one.
        let mut todo: Vec<(String, Handle<naga::Type>, Option<&naga::Binding>, Span)> = Vec::new();
        let mut shapes = Vec::new();
        for (n, a) in (0u32..).zip(&ep.function.arguments) {
            let first = todo.len();
            // An argument stands where it is named, a member where its structure is declared.
            let named = ep.function.expressions.iter().find(|(_, e)| matches!(e, naga::Expression::FunctionArgument(k) if *k == n));
            let span = named.map_or(Span::NONE, |(h, _)| (self.spans)(ep.function.expressions.get_span(h)));
            let span = if span == Span::NONE { self.member_span(a.name.as_deref(), a.ty) } else { span };
            match (&a.binding, &self.nm.types[a.ty].inner) {
                (None, TypeInner::Struct { members, .. }) => {
                    for m in members {
                        let span = self.member_span(m.name.as_deref(), a.ty);
                        todo.push((m.name.clone().unwrap_or_default(), m.ty, m.binding.as_ref(), span));
                    }
                    shapes.push((true, first, todo.len()));
                }
                (b, _) => {
                    todo.push((a.name.clone().unwrap_or_default(), a.ty, b.as_ref(), span));
                    shapes.push((false, first, todo.len()));
                }
            }
        }
        let mut taken: Vec<String> = Vec::new();
        for (_, _, b, _) in &todo {
            if let Some(naga::Binding::BuiltIn(b)) = b {
                taken.push(builtin(*b).map_or(String::new(), |b| b.name().to_string()));
            }
        }
        let mut vals = Vec::new();
        for (name, ty, b, span) in todo {
            let ty = Ty::of(self.nm, ty);
            self.span = span;
            vals.push(self.declare_input(&name, ty, b, &mut taken)?);
        }
        let args =
            shapes.into_iter().map(|(is_struct, a, b)| if is_struct { Val::agg(vals[a..b].to_vec()) } else { vals[a].clone() }).collect();
        Ok((args, Io::default()))
    }

    /// Where an input or output is declared: GLSL keeps a variable of its name, WGSL the structure that it is a member of.
    fn member_span(&self, name: Option<&str>, ty: Handle<naga::Type>) -> Span {
        let globals = &self.nm.global_variables;
        let variable = globals.iter().find(|(_, g)| name.is_some_and(|n| !n.is_empty()) && g.name.as_deref() == name);
        let span = variable.map_or(Span::NONE, |(h, _)| (self.spans)(globals.get_span(h)));
        if span == Span::NONE { (self.spans)(self.nm.types.get_span(ty)) } else { span }
    }

    fn declare_input(&mut self, name: &str, ty: Ty, b: Option<&naga::Binding>, taken: &mut Vec<String>) -> R<Val> {
        if let Some(naga::Binding::BuiltIn(naga::BuiltIn::WorkGroupSize)) = b {
            let size = self.out.workgroup_size;
            return Ok(Val::Leaf(self.constant(Type::new(Scalar::I32, 3), [size[0], size[1], size[2], 0])));
        }
        let mut decl = self.io_decl(name, ty, b)?;
        if matches!(decl.binding, Binding::Location(_)) {
            decl.name = unique(&decl.name, taken, decl.binding);
            taken.push(decl.name.clone());
        }
        let (t, count) = (decl.ty, decl.count);
        let id = self.out.inputs.push(decl);
        if matches!(ty, Ty::Array(..)) {
            let mut parts = Vec::new();
            for n in 0..count {
                parts.push(Val::Leaf(self.b().load(t, MemRef::Input(id), n, None)));
            }
            return Ok(Val::agg(parts));
        }
        Ok(Val::Leaf(self.b().load(t, MemRef::Input(id), 0, None)))
    }

    fn io_decl(&mut self, name: &str, ty: Ty, b: Option<&naga::Binding>) -> R<IoDecl> {
        let (leaf, count) = match ty {
            Ty::Array(elem, Some(n), _) if n <= 32 => (Ty::of(self.nm, elem), n),
            _ => (ty, 1),
        };
        if !leaf.is_leaf() {
            return Err(self.error("F0123", format!("`{name}`: inputs and outputs are scalars and vectors")));
        }
        let t = self.ir_ty(leaf)?;
        let source_type = leaf.scalar().and_then(source_scalar).map(str::to_string);
        let mut decl = match b {
            Some(naga::Binding::BuiltIn(b)) => match builtin(*b) {
                Some(b) => IoDecl::builtin(t, b),
                None => return Err(self.error("F0124", format!("the builtin {b:?} exists on none of the machines"))),
            },
            Some(naga::Binding::Location { location, interpolation, sampling, blend_src, .. }) => {
                let mut d = IoDecl::at_location(name, t, *location);
                if d.name.is_empty() {
                    d.name = format!("location{location}");
                }
                d.interpolation = match interpolation {
                    Some(naga::Interpolation::Linear) => Interpolation::Linear,
                    Some(naga::Interpolation::Flat | naga::Interpolation::PerVertex) => Interpolation::Flat,
                    Some(naga::Interpolation::Perspective) => Interpolation::Perspective,
                    None => d.interpolation,
                };
                d.sampling = match sampling {
                    Some(naga::Sampling::Centroid) => Sampling::Centroid,
                    Some(naga::Sampling::Sample) => Sampling::Sample,
                    _ => Sampling::Center,
                };
                d.blend_source = blend_src.unwrap_or(0) as u8;
                d
            }
            None => return Err(self.error("F0123", format!("`{name}` has neither a location nor a builtin"))),
        };
        decl.count = count;
        decl.source_type = source_type.filter(|s| !(s == "bool" && t == Type::new(Scalar::I1, 1)));
        decl.span = self.span;
        Ok(decl)
    }

    /// Declares the entry's results as outputs and writes them.
    pub(crate) fn declare_and_write_outputs(&mut self, ep: &'m naga::EntryPoint, mut io: Io, slot: &Slot) -> R<()> {
        let Some(result) = &ep.function.result else { return Ok(()) };
        let mut todo: Vec<(String, Ty, Option<&naga::Binding>, Slot)> = Vec::new();
        match (&result.binding, &self.nm.types[result.ty].inner, slot) {
            (None, TypeInner::Struct { members, .. }, Slot::Agg(parts, _)) => {
                for (m, p) in members.iter().zip(parts.iter()) {
                    todo.push((m.name.clone().unwrap_or_default(), Ty::of(self.nm, m.ty), m.binding.as_ref(), p.clone()));
                }
            }
            (b, _, _) => todo.push((String::new(), Ty::of(self.nm, result.ty), b.as_ref(), slot.clone())),
        }
        for (_, _, b, _) in &todo {
            if let Some(naga::Binding::BuiltIn(b)) = b {
                io.outputs.push(builtin(*b).map_or(String::new(), |b| b.name().to_string()));
            }
        }
        let mut invariant: Vec<Value> = Vec::new();
        for (name, ty, b, slot) in todo {
            self.span = self.member_span(Some(&name), result.ty);
            let mut decl = self.io_decl(&name, ty, b)?;
            if matches!(decl.binding, Binding::Location(_)) {
                decl.name = unique(&decl.name, &io.outputs, decl.binding);
                io.outputs.push(decl.name.clone());
            }
            let id = self.out.outputs.push(decl);
            let parts = match &slot {
                Slot::Agg(parts, _) => parts.to_vec(),
                other => vec![other.clone()],
            };
            for (n, p) in parts.iter().enumerate() {
                let Slot::Leaf(var) = p else { continue };
                let v = self.read_var(*var);
                let f = self.func();
                if f.def_if(v, Opcode::Undef).is_some() {
                    continue;
                }
                if matches!(b, Some(naga::Binding::BuiltIn(naga::BuiltIn::Position { invariant: true }))) {
                    invariant.push(v);
                }
                self.b().store(MemRef::Output(id), n as u32, v, None);
            }
        }
        self.mark_precise(invariant);
        Ok(())
    }

    /// Everything that an invariant output is computed from keeps its roundings.
    fn mark_precise(&mut self, mut work: Vec<Value>) {
        let mut seen = std::collections::HashSet::new();
        let f = self.func();
        while let Some(v) = work.pop() {
            if !seen.insert(f.resolve(v)) {
                continue;
            }
            match f.def(v) {
                retroshade_ir::ValueDef::Result(i, _) => {
                    let d = &mut f.insts[i];
                    d.precise |= matches!(d.op.group(), "Float");
                    work.extend(d.args.iter().copied());
                }
                retroshade_ir::ValueDef::Param(b, n) => {
                    for p in f.layout.clone() {
                        for t in f.successors(p) {
                            if t.block == b {
                                work.extend(t.args.get(n as usize));
                            }
                        }
                    }
                }
                retroshade_ir::ValueDef::Alias(w) => work.push(w),
            }
        }
    }

    /// The slot of a global that a pointer expression names.
    pub(crate) fn global_val(&mut self, h: Handle<GlobalVariable>) -> R<Val> {
        let g = &self.nm.global_variables[h];
        let ty = Ty::of(self.nm, g.ty);
        let root = match g.space {
            AddressSpace::Handle => return Ok(Val::Resource(h)),
            AddressSpace::Uniform | AddressSpace::Immediate => Root::Uniform(h),
            AddressSpace::Storage { .. } => Root::Storage(h),
            AddressSpace::WorkGroup => match self.shared.get(&h) {
                Some(s) => Root::Slot(*s),
                None => return Err(self.error("F0125", "a variable that was not declared")),
            },
            _ => match self.private.get(&h) {
                Some(s) => Root::Slot(*s),
                None => return Err(self.error("F0125", "a variable that was not declared")),
            },
        };
        Ok(Val::Place(Place::of(root, ty)))
    }
}

/// Group and binding of a buffer.
#[derive(Clone, Copy, Debug)]
struct Where {
    group: u32,
    binding: u32,
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn pad(words: &mut Vec<Scalar>, to: usize) {
    while words.len() < to {
        words.push(Scalar::I32);
    }
}

/// A name that is not taken: the source's, or `locationN`, or with a number.
fn unique(name: &str, taken: &[String], binding: Binding) -> String {
    let free = |n: &str| !taken.iter().any(|t| t == n);
    if free(name) {
        return name.to_string();
    }
    if let Binding::Location(l) = binding {
        let at = format!("location{l}");
        if free(&at) {
            return at;
        }
    }
    let mut n = 1;
    while !free(&format!("{name}_{n}")) {
        n += 1;
    }
    format!("{name}_{n}")
}

/// The IR's name for one of naga's builtins, if some machine has it.
fn builtin(b: naga::BuiltIn) -> Option<Builtin> {
    use naga::BuiltIn as N;
    Some(match b {
        N::Position { .. } => Builtin::Position,
        N::VertexIndex => Builtin::VertexIndex,
        N::InstanceIndex => Builtin::InstanceIndex,
        N::FrontFacing => Builtin::FrontFacing,
        N::FragDepth => Builtin::FragDepth,
        N::PointSize => Builtin::PointSize,
        N::PointCoord => Builtin::PointCoord,
        N::PrimitiveIndex => Builtin::PrimitiveIndex,
        N::SampleIndex => Builtin::SampleIndex,
        N::SampleMask => Builtin::SampleMask,
        N::ClipDistances => Builtin::ClipDistance,
        N::ViewIndex => Builtin::ViewIndex,
        N::GlobalInvocationId => Builtin::GlobalInvocationId,
        N::LocalInvocationId => Builtin::LocalInvocationId,
        N::LocalInvocationIndex => Builtin::LocalInvocationIndex,
        N::WorkGroupId => Builtin::WorkgroupId,
        N::NumWorkGroups => Builtin::NumWorkgroups,
        _ => return None,
    })
}

/// The IR's stage for one of naga's.
pub(crate) fn stage(s: naga::ShaderStage) -> Option<Stage> {
    match s {
        naga::ShaderStage::Vertex => Some(Stage::Vertex),
        naga::ShaderStage::Fragment => Some(Stage::Fragment),
        naga::ShaderStage::Compute => Some(Stage::Compute),
        _ => None,
    }
}
