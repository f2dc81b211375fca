//! The interface: variables of the module as declarations of the IR.
//!
//! Names are those of the source: `u.color` for a member of a named block, `color` for a member of a block without instance name or of a block
//! of inputs or outputs. Layouts are what the module says. What has no place gets one by the rules of docs/binding.md.

use super::binary::{Deco, Global, Id, R, literal, malformed};
use super::convert::Converter;
use super::packed::{Packed, packed_key};
use super::place::{Mem, Memory, Place, Root, Slot, UniformTree};
use super::types::{Kind, Num, Ty};
use retroshade_ir::inst::{Imm, MemRef};
use retroshade_ir::module::{Binding, Builtin, Dim, Interpolation, IoDecl, Sampling, Stage, UniformDecl};
use retroshade_ir::types::{I1, I32};
use retroshade_ir::words::Meaning;
use retroshade_ir::{Opcode, Value};
use rustc_hash::FxHashMap;
use spirv::{BuiltIn, Decoration, StorageClass};
use std::rc::Rc;

/// The block into which glslang puts GLSL's uniforms that stand outside any.
pub(crate) const LOOSE: &str = "gl_DefaultUniformBlock";
/// The one for HLSL's.
pub(crate) const LOOSE_HLSL: &str = "$Global";
/// No machine has room for more bytes of uniforms.
const MAX_UNIFORM_BYTES: u64 = 1 << 20;
/// Declarations that one variable may fall apart into.
pub(super) const MAX_LEAVES: u64 = 1 << 12;
/// Values that the smallest machine hands over as coordinates.
const COORDINATES: u32 = 10;
/// Elements of an array of inputs or outputs.
const MAX_LOCATIONS: u32 = 128;
/// The highest location.
const MAX_LOCATION: u32 = 1 << 10;

/// Whether a block has only this compiler's name, around uniforms that the source has outside blocks.
pub(crate) fn is_loose(block: &str) -> bool {
    matches!(block, LOOSE | LOOSE_HLSL)
}

/// A uniform buffer and a place in it.
#[derive(Clone, Copy, Debug, Default)]
struct Where {
    group: u32,
    binding: u32,
    /// Whether matrices stand row by row.
    row_major: bool,
    /// Bytes from one column or row to the next, where the module says it.
    matrix_stride: Option<u32>,
    /// Whether the source declares it in relaxed precision.
    relaxed: bool,
}

/// What the source says about an input or output.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Says {
    builtin: Option<BuiltIn>,
    /// Where it is.
    pub(crate) location: Option<u32>,
    /// The first lane there.
    pub(crate) component: Option<u32>,
    /// Which of a target's two colours.
    pub(crate) index: Option<u32>,
    interpolation: Option<Interpolation>,
    sampling: Sampling0,
    /// Whether its computation must not vary.
    pub(crate) invariant: bool,
    patch: bool,
    relaxed: bool,
}

/// [`Sampling`] with a default.
type Sampling0 = Option<Sampling>;

impl Says {
    /// What decorations add to what is known of the whole.
    pub(crate) fn and(mut self, list: &[Deco<'_>]) -> Says {
        for (d, words) in list {
            let first = words.first().copied();
            match d {
                Decoration::BuiltIn => self.builtin = first.and_then(BuiltIn::from_u32),
                Decoration::Location => self.location = first,
                Decoration::Component => self.component = first,
                Decoration::Index => self.index = first,
                Decoration::Flat | Decoration::PerVertexKHR => self.interpolation = Some(Interpolation::Flat),
                Decoration::NoPerspective => self.interpolation = Some(Interpolation::Linear),
                Decoration::Centroid => self.sampling = Some(Sampling::Centroid),
                Decoration::Sample => self.sampling = Some(Sampling::Sample),
                Decoration::Invariant => self.invariant = true,
                Decoration::Patch => self.patch = true,
                Decoration::RelaxedPrecision => self.relaxed = true,
                _ => {}
            }
        }
        self
    }

    /// Puts how it is interpolated into its declaration, and which colour it is.
    pub(crate) fn describe(self, decl: &mut IoDecl) {
        if let Some(i) = self.interpolation {
            decl.interpolation = i;
        }
        if let Some(s) = self.sampling {
            decl.sampling = s;
        }
        decl.blend_source = self.index.unwrap_or(0).min(1) as u8;
    }
}

/// Inputs or outputs while they are declared.
pub(crate) struct Io {
    pub(crate) output: bool,
    /// Vertices of a geometry program's inputs: every input has one element per vertex.
    pub(crate) vertices: Option<u32>,
    /// The next location for what has none of its own.
    pub(crate) next: u32,
    pub(crate) taken: Vec<String>,
    unplaced: bool,
    /// Of a block: how much of its parts' names is the instance's, and what the other program knows instead.
    link: Option<(usize, String)>,
    /// The next location for a part that the program before does not write, where it writes others.
    missing: Option<u32>,
    /// Locations that several of them share.
    pub(crate) packed: FxHashMap<u32, Packed>,
}

impl Io {
    /// The name by which another program knows a part, where that is not its own: blocks are matched by the block's name.
    fn linked(&self, part: &str) -> Option<String> {
        let (instance, block) = self.link.as_ref()?;
        Some(format!("{block}{}", part.get(*instance..)?))
    }
}

impl<'m> Converter<'m> {
    /// The place of a variable of the module.
    pub(crate) fn global_place(&mut self, id: Id) -> R<Option<Place>> {
        Ok(self.globals.get(&id).map(|(root, ty)| Place::of(*root, *ty)))
    }

    /// The user's name of a variable of the module: its own, or its block's.
    pub(crate) fn global_name(&self, g: &Global) -> String {
        let block = self.b.name(g.ty).unwrap_or_default();
        self.b.name(g.id).unwrap_or(block).to_string()
    }

    /// Declares what the entry uses.
    pub(crate) fn declare_globals(&mut self, globals: &[Global], used: &super::Used) -> R<()> {
        self.give_bindings(globals);
        self.loose_uniforms(globals)?;
        for g in globals {
            self.at = g.at;
            self.span = (self.facts.declared)(g.id, &self.global_name(g));
            let Some(ty) = self.types.shape(g.ty) else { return Err(malformed(g.at, "a variable of an unknown type")) };
            let name = self.b.name(g.id).unwrap_or_default().to_string();
            match g.storage {
                StorageClass::Uniform if self.b.has(block_of(self, ty).unwrap_or(g.ty), Decoration::BufferBlock) => {
                    self.storage_buffer(g, ty)?
                }
                StorageClass::StorageBuffer => self.storage_buffer(g, ty)?,
                StorageClass::Uniform | StorageClass::PushConstant => {
                    let (group, binding) = self.bindings.get(&g.id).copied().unwrap_or_default();
                    let tree = self.uniform_blocks(&name, ty, Where { group, binding, ..Where::default() })?;
                    self.uniforms.insert(g.id, Rc::new(tree));
                    self.globals.insert(g.id, (Root::Uniform(g.id), ty));
                }
                StorageClass::UniformConstant => {
                    if ty.has_resource(self.types) {
                        self.globals.insert(g.id, (Root::Resource(g.id), ty));
                        self.declare_textures(g.id, ty, &name)?;
                    }
                }
                StorageClass::Workgroup if self.is_laid_out(ty) => self.shared_block(g, ty)?,
                StorageClass::Workgroup => {
                    if ty.leaves(self.types) > 1 << 20 {
                        return Err(self.limit(format!("the workgroup variable `{name}` is too large for any machine")));
                    }
                    let lanes = used.lanes.contains(&g.id);
                    let mem = self.make_mem(&name, ty, 1, if lanes { Memory::SharedLanes } else { Memory::Shared })?;
                    let slot = self.add_slot(Slot::Mem(Rc::new(mem)));
                    self.globals.insert(g.id, (Root::Slot(slot), ty));
                }
                StorageClass::Private | StorageClass::Function if self.used.tables.contains_key(&g.id) => {
                    let c = self.used.tables[&g.id];
                    self.globals.insert(g.id, (Root::Constant(c), ty));
                }
                StorageClass::Private | StorageClass::Function => {
                    let slot = self.make_slot(&name, ty, &(g.id, Default::default()), false)?;
                    let slot = self.add_slot(slot);
                    self.globals.insert(g.id, (Root::Slot(slot), ty));
                }
                StorageClass::Input | StorageClass::Output => {}
                StorageClass::AtomicCounter => return Err(self.error("F0137", "atomic counters exist on none of the machines")),
                StorageClass::Image => return Err(self.error("F0151", "storage textures exist on none of the machines")),
                StorageClass::PhysicalStorageBuffer | StorageClass::CrossWorkgroup | StorageClass::Generic => {
                    return Err(self.error("F0125", "memory that is addressed by pointers exists on none of the machines"));
                }
                _ => return Err(self.error("F0120", "mesh and ray-tracing programs run on none of the machines")),
            }
        }
        self.initial_values(globals)?;
        for output in [false, true] {
            self.declare_io(globals, used, output)?;
        }
        Ok(())
    }

    /// First values of the module's variables.
    pub(crate) fn first_values(&mut self, globals: &[Global]) -> R<()> {
        let mut zeroed = false;
        for g in globals {
            let Some((Root::Slot(slot), ty)) = self.globals.get(&g.id).copied() else { continue };
            let slot = self.slots[slot as usize].clone();
            match (g.storage, g.init) {
                (StorageClass::Input, _) => {}
                (StorageClass::Workgroup, None) => {}
                (StorageClass::Workgroup, Some(_)) => {
                    self.zero_shared(&slot)?;
                    zeroed = true;
                }
                (_, Some(init)) => self.first_value(&slot, init, ty)?,
                (_, None) => self.fill_slot(&slot)?,
            }
        }
        if zeroed {
            self.b().effect(Opcode::Barrier, &[], Imm::None);
        }
        Ok(())
    }

    /// Uniforms outside any block: the members of one std140 block, in the order of declaration.
    fn loose_uniforms(&mut self, globals: &[Global]) -> R<()> {
        let mut offset = 0u32;
        for g in globals.iter().filter(|g| g.storage == StorageClass::UniformConstant) {
            let Some(ty) = self.types.shape(g.ty).filter(|t| self.has_number(*t)) else { continue };
            self.at = g.at;
            self.span = (self.facts.declared)(g.id, &self.global_name(g));
            let (align, size) = self.types.std140(ty);
            offset = offset.checked_next_multiple_of(align).unwrap_or(u32::MAX);
            let name = self.b.name(g.id).unwrap_or_default().to_string();
            let relaxed = self.b.has(g.id, Decoration::RelaxedPrecision);
            let at = Where { group: 0, binding: self.default_binding, relaxed, ..Where::default() };
            self.uniform_limits(&name, ty)?;
            let tree = self.declare_uniform(&name, ty, at, offset, &mut Vec::new())?;
            self.uniforms.insert(g.id, Rc::new(tree));
            self.globals.insert(g.id, (Root::Uniform(g.id), ty));
            offset = offset.saturating_add(size);
        }
        Ok(())
    }

    pub(crate) fn uniform_limits(&self, name: &str, ty: Ty) -> R<()> {
        if self.types.nodes(ty) > MAX_LEAVES {
            return Err(self.limit(format!("the uniform `{name}` has more than {MAX_LEAVES} members")));
        }
        Ok(())
    }

    /// A uniform block, or an array of them at consecutive bindings.
    fn uniform_blocks(&mut self, name: &str, ty: Ty, at: Where) -> R<UniformTree> {
        self.uniform_limits(name, ty)?;
        let Ty::Array(id) = ty else { return self.declare_uniform(name, ty, at, 0, &mut Vec::new()) };
        let a = self.types.array(id);
        let Some(n) = a.count.filter(|n| *n <= 64) else {
            return Err(self.error("F0121", format!("`{name}` is an array of more blocks than any machine has room for")));
        };
        let mut parts = Vec::new();
        for k in 0..n {
            let at = Where { binding: at.binding.saturating_add(k), ..at };
            parts.push(self.uniform_blocks(&format!("{name}[{k}]"), a.elem, at)?);
        }
        Ok(UniformTree::Struct(parts))
    }

    fn declare_uniform(&mut self, name: &str, ty: Ty, at: Where, offset: u32, dims: &mut Vec<Dim>) -> R<UniformTree> {
        match ty {
            Ty::Struct(id) => {
                let mut parts = Vec::new();
                let offsets = self.types.offsets(id);
                let types = self.types;
                let members = types.struct_members(id);
                let loose = self.b.name(id).is_some_and(is_loose);
                for (i, m) in (0u32..).zip(members) {
                    if loose {
                        self.span = (self.facts.declared)(id, m.name.as_deref().unwrap_or_default());
                    }
                    // glslang's place of a texture that stood in a structure, which is a variable of its own.
                    if m.name.as_deref().is_some_and(|n| n.starts_with("/*")) {
                        parts.push(UniformTree::Placeholder);
                        continue;
                    }
                    // A structure that only wraps something has no name for it.
                    let part = if members.len() == 1 && m.name.is_none() { name.to_string() } else { self.member_name(name, ty, i) };
                    let at = Where { row_major: m.row_major, matrix_stride: m.matrix_stride, relaxed: at.relaxed || m.relaxed, ..at };
                    let place = offset.saturating_add(offsets.get(i as usize).copied().unwrap_or(0));
                    parts.push(self.declare_uniform(&part, m.ty, at, place, dims)?);
                }
                Ok(UniformTree::Struct(parts))
            }
            Ty::Array(id) => {
                let a = self.types.array(id);
                let Some(count) = a.count else { return Err(self.error("F0121", format!("the uniform `{name}` has no fixed size"))) };
                if a.elem.has_resource(self.types) {
                    return Ok(UniformTree::Nothing);
                }
                let stride = self.types.array_stride(id);
                if u64::from(count) * u64::from(stride) > MAX_UNIFORM_BYTES || dims.len() > 8 {
                    return Err(self.limit(format!(
                        "the uniform `{name}` has {} bytes; no machine has room for more than {MAX_UNIFORM_BYTES}",
                        u64::from(count) * u64::from(stride)
                    )));
                }
                let name = if matches!(a.elem, Ty::Struct(_)) || name.ends_with(']') { format!("{name}[]") } else { name.to_string() };
                dims.push(Dim { count, stride });
                let tree = self.declare_uniform(&name, a.elem, at, offset, dims);
                dims.pop();
                Ok(UniformTree::Array { count, stride, elem: Box::new(tree?) })
            }
            Ty::Matrix(columns, rows, num) => {
                let stride = at.matrix_stride.unwrap_or(16);
                // Row by row it is a matrix whose columns are the rows.
                let (count, lanes) = if at.row_major { (rows, columns) } else { (columns, rows) };
                dims.push(Dim { count: count.into(), stride });
                let leaf = self.uniform_leaf(name, Ty::Vector(lanes, num), true, at, offset, dims);
                dims.pop();
                let tree = UniformTree::Array { count: count.into(), stride, elem: Box::new(leaf?) };
                Ok(if at.row_major { UniformTree::Rows(rows, Box::new(tree)) } else { tree })
            }
            Ty::Resource(_) => Ok(UniformTree::Nothing),
            _ => self.uniform_leaf(name, ty, false, at, offset, dims),
        }
    }

    fn uniform_leaf(&mut self, name: &str, ty: Ty, matrix: bool, at: Where, offset: u32, dims: &[Dim]) -> R<UniformTree> {
        if !ty.is_leaf() {
            return Err(self.error("F0121", format!("the uniform `{name}` has a type without layout")));
        }
        if let Some(num) = ty.num().filter(|n| n.is_small() || n.is_half()) {
            return self.small_uniform(name, ty, num, at, offset, dims);
        }
        let declared = self.facts.bools.contains(name);
        let truth = declared && matches!(ty, Ty::Scalar(_)) && dims.is_empty();
        let t = if truth { I1 } else { self.ir_ty(ty)? };
        if u64::from(offset) > MAX_UNIFORM_BYTES {
            return Err(
                self.limit(format!("the uniform `{name}` stands at byte {offset}; no machine has room for more than {MAX_UNIFORM_BYTES}"))
            );
        }
        if !offset.is_multiple_of(4) || dims.iter().any(|d| d.stride == 0 || !d.stride.is_multiple_of(4)) {
            return Err(self.error("F0122", format!("the uniform `{name}` does not stand at a multiple of four bytes")));
        }
        let unit = if dims.is_empty() {
            u32::from(t.lanes) * 4
        } else if dims.iter().all(|d| d.stride.is_multiple_of(16)) {
            16
        } else {
            dims.iter().fold(0, |a, d| gcd(a, d.stride))
        };
        let source = if declared { Some("bool") } else { ty.num().and_then(Num::source) };
        let decl = UniformDecl {
            name: self.unique_uniform(name, at),
            ty: t,
            dims: dims.to_vec(),
            matrix,
            rows: matrix && at.row_major,
            unit,
            group: at.group,
            binding: at.binding,
            offset,
            range: None,
            source_type: source.map(str::to_string),
            size_of: None,
            span: self.span,
        };
        let id = self.out.uniforms.push(decl);
        if at.relaxed && !truth {
            self.relaxed.insert(id);
        }
        Ok(if truth { UniformTree::Truth(id) } else { UniformTree::Leaf(id, t, unit) })
    }

    /// Numbers smaller than a word, as the words that hold them; others may be in the same words.
    fn small_uniform(&mut self, name: &str, ty: Ty, num: Num, at: Where, offset: u32, dims: &[Dim]) -> R<UniformTree> {
        if u64::from(offset) > MAX_UNIFORM_BYTES {
            return Err(
                self.limit(format!("the uniform `{name}` stands at byte {offset}; no machine has room for more than {MAX_UNIFORM_BYTES}"))
            );
        }
        if dims.iter().any(|d| d.stride == 0 || !d.stride.is_multiple_of(4)) {
            return Err(self.error("F0122", format!("elements of the uniform `{name}` do not stand at multiples of four bytes")));
        }
        let lanes = self.ir_ty(ty)?.lanes;
        let unit = match dims {
            [] => 4,
            _ if dims.iter().all(|d| d.stride.is_multiple_of(16)) => 16,
            _ => dims.iter().fold(0, |a, d| gcd(a, d.stride)),
        };
        let mut words = Vec::new();
        for k in 0..(offset % 4 + u32::from(lanes) * num.width / 8).div_ceil(4) {
            let offset = offset / 4 * 4 + 4 * k;
            let same = |u: &UniformDecl| (u.group, u.binding, u.offset, &u.dims[..]) == (at.group, at.binding, offset, dims) && u.ty == I32;
            words.push(match self.out.uniforms.iter().find(|(_, u)| same(u)) {
                Some((id, _)) => id,
                None => self.out.uniforms.push(UniformDecl {
                    name: self.unique_uniform(name, at),
                    ty: I32,
                    dims: dims.to_vec(),
                    matrix: false,
                    rows: false,
                    unit,
                    group: at.group,
                    binding: at.binding,
                    offset,
                    range: None,
                    source_type: Some("u32".to_string()),
                    size_of: None,
                    span: self.span,
                }),
            });
        }
        Ok(UniformTree::Small(words.into(), unit, num, lanes, offset % 4 * 8))
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

    /// A type as WGSL spells it.
    pub(crate) fn spell(&self, ty: Ty) -> String {
        let num = |n: Num| match n.kind {
            Kind::Bool => "bool".to_string(),
            Kind::Signed => format!("i{}", n.width),
            Kind::Unsigned => format!("u{}", n.width),
            Kind::Float => format!("f{}", n.width),
        };
        match ty {
            Ty::Scalar(n) => num(n),
            Ty::Vector(k, n) => format!("vec{k}<{}>", num(n)),
            Ty::Matrix(c, r, n) => format!("mat{c}x{r}<{}>", num(n)),
            Ty::Array(id) => match self.types.array(id).count {
                Some(n) => format!("array<{}, {n}>", self.spell(self.types.array(id).elem)),
                None => format!("array<{}>", self.spell(self.types.array(id).elem)),
            },
            Ty::Struct(id) => {
                let members = self.types.struct_members(id);
                // A structure that only wraps something has no name for it.
                if let [one] = members
                    && one.name.is_none()
                {
                    return self.spell(one.ty);
                }
                let members: Vec<String> = members.iter().map(|m| self.spell(m.ty)).collect();
                format!("{}{{{}}}", self.b.name(id).unwrap_or_default(), members.join(", "))
            }
            _ => "?".to_string(),
        }
    }

    /// Declares inputs or outputs: those with locations of their own first choose, the others take the lowest free ones.
    fn declare_io(&mut self, globals: &[Global], used: &super::Used, output: bool) -> R<()> {
        let class = if output { StorageClass::Output } else { StorageClass::Input };
        let geometry_input = self.out.stage == Stage::Geometry && !output;
        let all: Vec<&Global> = globals.iter().filter(|g| g.storage == class).collect();
        let packed = self.shared_locations(&all, geometry_input);
        let mut io = Io { output, vertices: None, next: 0, taken: Vec::new(), unplaced: false, link: None, missing: None, packed };
        let mut free = Free::default();
        for g in &all {
            let says = Says::default().and(self.b.decorations(g.id));
            let ty = self.types.shape(g.ty).unwrap_or(Ty::Opaque);
            self.builtin_names(ty, says, &mut io.taken);
            let inner = if geometry_input && says.builtin.is_none() { ty.child(self.types, 0) } else { ty };
            if let Some(l) = says.location {
                if l > MAX_LOCATION {
                    let name = self.global_name(g);
                    return Err(self.limit(format!("`{name}` is at location {l}; no machine has more than {MAX_LOCATION}")));
                }
                free.take(l, self.locations(inner));
            }
            if let Ty::Struct(id) = inner {
                for n in 0..inner.len(self.types) {
                    if let Some(l) = literal(self.b.of_member(id, n), Decoration::Location) {
                        free.take(l, self.locations(inner.child(self.types, n)));
                    }
                }
            }
        }
        // What no output is called stays apart from all that the program before hands on.
        if !output {
            self.facts.varyings.iter().for_each(|(_, l)| free.take(*l, 1));
        }
        let all = self.colours_last(all, output);
        for g in all {
            self.at = g.at;
            let shown = self.global_name(g);
            self.span = (self.facts.declared)(g.id, &shown);
            let Some(mut ty) = self.types.shape(g.ty) else { return Err(malformed(g.at, "a variable of an unknown type")) };
            let whole = ty;
            let mut says = Says::default().and(self.b.decorations(g.id));
            if says.patch {
                return Err(self.error("F0004", "tessellation programs run on none of the machines"));
            }
            io.vertices = None;
            // One element for each vertex, also of what is a builtin by itself, as HLSL's compilers have it.
            if geometry_input && let Ty::Array(id) = ty {
                let a = self.types.array(id);
                io.vertices = a.count;
                ty = a.elem;
            }
            let name = self.b.name(g.id).unwrap_or_default().to_string();
            let block = matches!(ty, Ty::Struct(id) if self.b.has(id, Decoration::Block));
            let members_placed = matches!(ty, Ty::Struct(id) if (0..ty.len(self.types)).any(|n| {
                self.b.of_member(id, n).iter().any(|(d, _)| matches!(d, Decoration::Location | Decoration::BuiltIn))
            }));
            (io.unplaced, io.missing, io.link) = (false, None, None);
            let base = if block { String::new() } else { name.clone() };
            if says.location.is_none() && says.builtin.is_none() && !members_placed {
                let of = block_of(self, ty).filter(|id| self.b.has(*id, Decoration::Block)).and_then(|id| self.b.name(id));
                io.link = of.map(|of| if block { (0, format!("{of}.")) } else { (base.len(), of.to_string()) });
                // The locations of what the program before calls by these names, else the lowest free ones.
                let mut parts = Vec::new();
                if !output && !self.facts.varyings.is_empty() {
                    self.parts(&base, ty, &mut parts);
                }
                let missing = parts.iter().filter(|p| self.handed(p, &io).is_none()).count() as u32;
                says.location = Some(if missing < parts.len() as u32 {
                    io.missing = Some(free.find(missing));
                    0
                } else if !output && is_last_colour(&name) {
                    0
                } else {
                    free.find(self.locations(ty))
                });
                io.unplaced = true;
            }
            io.next = says.location.unwrap_or(0);
            let slot = match ty {
                Ty::Struct(_) if used.members.contains_key(&g.id) && self.is_builtin_block(ty) => {
                    self.builtin_block(g, ty, says, used, &mut io)?
                }
                _ if says.builtin.is_some() && !used.globals.contains(&g.id) => continue,
                _ => self.io_tree(&base, ty, says, &mut io, 0)?,
            };
            let slot = self.add_slot(slot);
            self.globals.insert(g.id, (Root::Slot(slot), whole));
        }
        Ok(())
    }

    /// What travels from a vertex program to a fragment program, in the order in which it chooses locations. Colours and fog have places of their
    /// own on machines that have few: where there are more than these have coordinates, they choose last.
    fn colours_last<'g>(&self, mut all: Vec<&'g Global>, output: bool) -> Vec<&'g Global> {
        let travels = self.out.stage == if output { Stage::Vertex } else { Stage::Fragment };
        let chooses = |g: &Global| !self.b.has(g.id, Decoration::Location) && !self.b.has(g.id, Decoration::BuiltIn);
        let needs = |g: &&Global| self.types.shape(g.ty).filter(|_| chooses(g)).map_or(0, |ty| self.locations(ty));
        if travels && all.iter().map(needs).sum::<u32>() > COORDINATES {
            all.sort_by_key(|g| {
                let lanes = match self.types.shape(g.ty) {
                    Some(Ty::Vector(n, _)) => n,
                    _ => 1,
                };
                chooses(g) && self.b.name(g.id).is_some_and(|name| Meaning::of(name, lanes).is_some())
            });
        }
        all
    }

    /// The location that the program before gave to an output of this name.
    fn handed(&self, name: &str, io: &Io) -> Option<u32> {
        let linked = io.linked(name);
        // What the fragment program calls a colour is that of the side one looks at.
        let name = match name {
            "gl_Color" => "gl_FrontColor",
            "gl_SecondaryColor" => "gl_FrontSecondaryColor",
            _ => linked.as_deref().unwrap_or(name),
        };
        self.facts.varyings.iter().find(|v| v.0 == name).map(|v| v.1)
    }

    /// The names of the parts of an input or output, as far as it takes locations that there are.
    fn parts(&self, name: &str, ty: Ty, out: &mut Vec<String>) {
        match ty {
            Ty::Struct(_) | Ty::Matrix(..) | Ty::Array(_) if (1..=MAX_LOCATIONS).contains(&self.locations(ty)) => {
                for n in 0..ty.len(self.types) {
                    let structure = matches!(ty, Ty::Struct(_));
                    let part = if structure { self.member_name(name, ty, n) } else { format!("{name}[{n}]") };
                    self.parts(&part, ty.child(self.types, n), out);
                }
            }
            _ => out.push(name.to_string()),
        }
    }

    fn is_builtin_block(&self, ty: Ty) -> bool {
        let Ty::Struct(id) = ty else { return false };
        (0..ty.len(self.types)).any(|n| literal(self.b.of_member(id, n), Decoration::BuiltIn).is_some())
    }

    fn builtin_names(&self, ty: Ty, says: Says, taken: &mut Vec<String>) {
        if let Some(b) = says.builtin.and_then(builtin) {
            taken.push(b.name().to_string());
        }
        let inner = match ty {
            Ty::Array(id) => self.types.array(id).elem,
            t => t,
        };
        if let Ty::Struct(id) = inner {
            for n in 0..inner.len(self.types) {
                let b = literal(self.b.of_member(id, n), Decoration::BuiltIn).and_then(BuiltIn::from_u32).and_then(builtin);
                taken.extend(b.map(|b| b.name().to_string()));
            }
        }
    }

    /// `gl_PerVertex`: only the members that the program uses.
    fn builtin_block(&mut self, g: &Global, ty: Ty, says: Says, used: &super::Used, io: &mut Io) -> R<Slot> {
        let Ty::Struct(id) = ty else { return Err(malformed(g.at, "a block that is no structure")) };
        let mut parts = Vec::new();
        for n in 0..ty.len(self.types) {
            let child = ty.child(self.types, n);
            if used.member(g.id, n) {
                let name = self.member_name("", ty, n);
                let says = says.and(self.b.of_member(id, n));
                parts.push(self.io_tree(&name, child, says, io, 1)?);
            } else {
                // Never looked at.
                parts.push(Slot::Agg(Rc::new([]), None));
            }
        }
        if io.vertices.is_some() {
            return self.per_vertex(parts, io);
        }
        Ok(Slot::Agg(parts.into(), None))
    }

    fn per_vertex(&mut self, parts: Vec<Slot>, io: &Io) -> R<Slot> {
        let mems = parts.into_iter().map(|p| match p {
            Slot::Mem(m) => match &*m {
                Mem::Array(_, inner) => (**inner).clone(),
                other => other.clone(),
            },
            _ => Mem::Struct(Vec::new()),
        });
        let inner = Mem::Struct(mems.collect());
        Ok(Slot::Mem(Rc::new(Mem::Array(io.vertices.unwrap_or(1), Box::new(inner)))))
    }

    /// Locations that a type takes.
    pub(crate) fn locations(&self, ty: Ty) -> u32 {
        match ty {
            Ty::Matrix(c, ..) => c.into(),
            Ty::Array(id) => {
                let a = self.types.array(id);
                a.count.unwrap_or(1).saturating_mul(self.locations(a.elem))
            }
            Ty::Struct(_) if self.types.nodes(ty) <= MAX_LEAVES => {
                (0..ty.len(self.types)).fold(0, |n, k| n.saturating_add(self.locations(ty.child(self.types, k))))
            }
            _ => 1,
        }
    }

    /// Declares an input or output, or the parts of one.
    fn io_tree(&mut self, name: &str, ty: Ty, says: Says, io: &mut Io, depth: u32) -> R<Slot> {
        if ty.is_leaf() {
            return self.io_leaf(name, ty, 1, says, io);
        }
        if self.locations(ty) > MAX_LOCATIONS || depth > 16 {
            return Err(self.limit(format!("`{name}` takes {} locations; no machine has more than {MAX_LOCATIONS}", self.locations(ty))));
        }
        if let (Some(b), Ty::Array(id)) = (says.builtin, ty) {
            let a = self.types.array(id);
            let Some(n) = a.count.filter(|_| a.elem.is_leaf()) else {
                return Err(self.error("F0123", format!("`{name}`: a builtin of this type")));
            };
            // The coverage of the first 32 samples is all that there is.
            let n = if b == BuiltIn::SampleMask { 1 } else { n };
            let slot = self.io_leaf(name, a.elem, n, says, io)?;
            return Ok(if matches!(slot, Slot::Leaf(_)) { Slot::Agg(Rc::new([slot]), None) } else { slot });
        }
        let mut parts = Vec::new();
        for n in 0..ty.len(self.types) {
            let child = ty.child(self.types, n);
            let (part, inner) = match ty {
                Ty::Struct(id) => {
                    let list = self.b.of_member(id, n);
                    if let Some(l) = literal(list, Decoration::Location) {
                        io.next = l.min(MAX_LOCATION);
                    }
                    (self.member_name(name, ty, n), says.and(list))
                }
                Ty::Matrix(..) | Ty::Array(_) => (format!("{name}[{n}]"), says),
                _ => return Err(self.error("F0123", format!("`{name}`: inputs and outputs are numbers and what is made of them"))),
            };
            parts.push(self.io_tree(&part, child, inner, io, depth + 1)?);
        }
        if parts.is_empty() {
            return Err(self.error("F0123", format!("`{name}`: inputs and outputs are numbers and what is made of them")));
        }
        if io.vertices.is_some() {
            return self.per_vertex(parts, io);
        }
        Ok(Slot::Agg(parts.into(), None))
    }

    fn io_leaf(&mut self, name: &str, ty: Ty, count: u32, says: Says, io: &mut Io) -> R<Slot> {
        let t = self.ir_ty(ty)?;
        if let Some(b) = says.builtin.filter(|_| !io.output) {
            if let Some(v) = self.subgroup_builtin(b, ty)? {
                let var = self.ssa.var(t);
                self.write_var(var, v);
                return Ok(Slot::Leaf(var));
            }
            if let (Some(name), Stage::Vertex) = (draw_parameter(b), self.out.stage) {
                let u = self.extra_uniform(name, t, ty.num().and_then(Num::source));
                let var = self.ssa.var(t);
                let v = self.b().load(t, MemRef::Uniform(u), 0, None);
                self.write_var(var, v);
                return Ok(Slot::Leaf(var));
            }
        }
        let mut decl = match says.builtin {
            Some(b) => match builtin(b) {
                Some(b) => IoDecl::builtin(t, b),
                None => return Err(self.error("F0124", lacking(b))),
            },
            None if !io.output && matches!(name, "gl_LastFragColorARM" | "gl_LastFragData[0]") => IoDecl::builtin(t, Builtin::LastColor),
            None if !io.output && is_last_colour(name) => {
                return Err(self.error("F0124", format!("`{name}`: a program can read the colour of its first target only")));
            }
            None => {
                if let Some(missing) = io.missing {
                    let handed = self.handed(name, io);
                    io.next = handed.unwrap_or(missing);
                    io.missing = Some(missing + u32::from(handed.is_none()));
                }
                if io.packed.contains_key(&packed_key(io.next, says.index)) {
                    return self.packed_leaf(name, ty, says, io);
                }
                let mut d = IoDecl::at_location(name, t, io.next);
                io.next += 1;
                if d.name.is_empty() {
                    d.name = format!("location{}", io.next - 1);
                }
                d.name = unique(&d.name, &io.taken, d.binding);
                io.taken.push(d.name.clone());
                d
            }
        };
        says.describe(&mut decl);
        decl.count = io.vertices.unwrap_or(count);
        decl.source_type = ty.num().and_then(Num::source).map(str::to_string).filter(|s| !(s == "bool" && t == I1));
        if matches!(decl.binding, Binding::Builtin(b) if is_number(b)) {
            // WGSL's type; GLSL takes them for signed.
            decl.source_type = Some("u32".to_string());
        }
        let placed = if io.output { &self.facts.unplaced.1 } else { &self.facts.unplaced.0 };
        decl.unplaced = says.builtin.is_none() && (io.unplaced || placed.contains(&decl.name));
        decl.linked = io.linked(name).filter(|l| says.builtin.is_none() && *l != decl.name);
        decl.span = self.span;
        if io.output {
            let id = self.out.outputs.push(decl);
            let vars: Vec<_> = (0..count).map(|_| self.ssa.var(t)).collect();
            for (n, v) in (0u32..).zip(&vars) {
                self.outputs.push((*v, MemRef::Output(id), n));
                if says.invariant {
                    self.invariant.insert(v.0);
                }
            }
            return Ok(if count == 1 && says.builtin.is_none_or(|b| !is_array(b)) {
                Slot::Leaf(vars[0])
            } else {
                Slot::Agg(vars.into_iter().map(Slot::Leaf).collect(), None)
            });
        }
        let distances = says.builtin.is_some_and(is_array) && says.builtin != Some(BuiltIn::SampleMask);
        if distances && io.vertices.is_some() && count > 1 {
            return Err(self.error("F0124", format!("`{name}`: a geometry program can read one of each vertex, not {count}")));
        }
        let id = self.out.inputs.push(decl);
        let leaf = Mem::Leaf(MemRef::Input(id), t);
        if let Some(n) = io.vertices {
            let leaf = if distances { Mem::Array(count, Box::new(leaf)) } else { leaf };
            return Ok(Slot::Mem(Rc::new(Mem::Array(n, Box::new(leaf)))));
        }
        if distances {
            return Ok(Slot::Mem(Rc::new(Mem::Array(count, Box::new(leaf)))));
        }
        let var = self.ssa.var(t);
        let mut b = self.b();
        b.relaxed = says.relaxed;
        let v = b.load(t, MemRef::Input(id), 0, None);
        self.write_var(var, v);
        Ok(Slot::Leaf(var))
    }

    /// Writes the outputs as they are now.
    pub(crate) fn write_outputs(&mut self) {
        let mut invariant: Vec<Value> = Vec::new();
        for (var, output, n) in self.outputs.clone() {
            let v = self.read_var(var);
            if self.func().def_if(v, Opcode::Undef).is_some() {
                continue;
            }
            if self.invariant.contains(&var.0) {
                invariant.push(v);
            }
            self.b().store(output, n, v, None);
        }
        invariant.extend(self.write_packed());
        self.mark_precise(invariant);
    }

    /// Everything that an invariant output is computed from keeps its roundings.
    fn mark_precise(&mut self, mut work: Vec<Value>) {
        let mut seen = rustc_hash::FxHashSet::default();
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
}

/// The block behind a variable's type, through arrays.
fn block_of(c: &Converter<'_>, ty: Ty) -> Option<Id> {
    match ty {
        Ty::Struct(id) => Some(id),
        Ty::Array(id) => block_of(c, c.types.array(id).elem),
        _ => None,
    }
}

/// Locations that are taken.
#[derive(Default)]
struct Free(Vec<bool>);

impl Free {
    fn take(&mut self, first: u32, count: u32) {
        for l in first.min(1 << 12)..first.saturating_add(count).min(1 << 12) {
            if self.0.len() <= l as usize {
                self.0.resize(l as usize + 1, false);
            }
            self.0[l as usize] = true;
        }
    }

    /// The lowest free ones in a row.
    fn find(&mut self, count: u32) -> u32 {
        let mut first = 0u32;
        let taken = |l: u32| self.0.get(l as usize).copied().unwrap_or(false);
        while first < 1 << 12 && (first..first.saturating_add(count.min(1 << 12))).any(taken) {
            first += 1;
        }
        self.take(first, count);
        first
    }
}

/// Whether a builtin counts something.
fn is_number(b: Builtin) -> bool {
    matches!(b, Builtin::VertexIndex | Builtin::InstanceIndex | Builtin::PrimitiveIndex | Builtin::SampleIndex | Builtin::SampleMask)
}

fn is_array(b: BuiltIn) -> bool {
    matches!(b, BuiltIn::ClipDistance | BuiltIn::CullDistance | BuiltIn::SampleMask)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A name that is not taken: the source's, or `locationN`, or with a number.
pub(crate) fn unique(name: &str, taken: &[String], binding: Binding) -> String {
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

/// The uniform by which a program learns what a draw was called with: no machine tells programs.
fn draw_parameter(b: BuiltIn) -> Option<&'static str> {
    Some(match b {
        BuiltIn::BaseVertex => "base_vertex",
        BuiltIn::BaseInstance => "base_instance",
        BuiltIn::DrawIndex => "draw_index",
        _ => return None,
    })
}

/// Whether an input is the frame buffer's colour, which takes no location.
fn is_last_colour(name: &str) -> bool {
    name.starts_with("gl_LastFrag")
}

/// What no machine tells a program or takes from it.
fn lacking(b: BuiltIn) -> String {
    let what = match b {
        BuiltIn::HelperInvocation => "whether an invocation is a helper (gl_HelperInvocation) cannot be asked",
        BuiltIn::SamplePosition => "where in its pixel a sample lies (gl_SamplePosition) cannot be asked",
        BuiltIn::BaryCoordKHR | BuiltIn::BaryCoordNoPerspKHR => "barycentric coordinates cannot be read",
        BuiltIn::FragStencilRefEXT => {
            return "a program's own stencil value (gl_FragStencilRefARB): R700 alone could export one, which is not built".to_string();
        }
        _ => return format!("the builtin {b:?} exists on none of the machines"),
    };
    format!("{what} on any of the machines")
}

/// The IR's name for a builtin, if some machine has it.
fn builtin(b: BuiltIn) -> Option<Builtin> {
    Some(match b {
        BuiltIn::Position | BuiltIn::FragCoord => Builtin::Position,
        BuiltIn::PointSize => Builtin::PointSize,
        BuiltIn::ClipDistance => Builtin::ClipDistance,
        BuiltIn::CullDistance => Builtin::CullDistance,
        BuiltIn::VertexId | BuiltIn::VertexIndex => Builtin::VertexIndex,
        BuiltIn::InstanceId | BuiltIn::InstanceIndex => Builtin::InstanceIndex,
        BuiltIn::PrimitiveId => Builtin::PrimitiveIndex,
        BuiltIn::InvocationId => Builtin::InvocationId,
        BuiltIn::Layer => Builtin::Layer,
        BuiltIn::ViewportIndex => Builtin::ViewportIndex,
        BuiltIn::PointCoord => Builtin::PointCoord,
        BuiltIn::FrontFacing => Builtin::FrontFacing,
        BuiltIn::SampleId => Builtin::SampleIndex,
        BuiltIn::SampleMask => Builtin::SampleMask,
        BuiltIn::FragDepth => Builtin::FragDepth,
        BuiltIn::ViewIndex => Builtin::ViewIndex,
        BuiltIn::NumWorkgroups => Builtin::NumWorkgroups,
        BuiltIn::WorkgroupId => Builtin::WorkgroupId,
        BuiltIn::LocalInvocationId => Builtin::LocalInvocationId,
        BuiltIn::GlobalInvocationId => Builtin::GlobalInvocationId,
        BuiltIn::LocalInvocationIndex => Builtin::LocalInvocationIndex,
        _ => return None,
    })
}
