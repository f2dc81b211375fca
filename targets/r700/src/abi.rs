//! Where the host puts inputs and constants, and where outputs go.
//!
//! Vertex programs: R0.x vertex index, R0.w instance index, attribute n (in order of location) in R(n+1), loaded by the fetch
//! shader. Fragment programs: inputs in order of location from R0, then other interpolated values, the position, and the face
//! register (x face sign, z coverage, w sample). Parameters are numbered without holes in order of location, position vectors as
//! PA_CL_VS_OUT_CNTL enables them; register words (`container::registers`) say which is which. Each uniform binding is one constant buffer and, 160 higher, one vertex resource.

use cranelift_entity::EntityRef;
use retroshade_ir::analysis::tables;
use retroshade_ir::{Binding, Builtin, Imm, IoDecl, MemRef, Module, Opcode, Output, Primitive, Scalar, Span, Stage};
use retroshade_lower::CompileError;
use std::collections::BTreeSet;

/// Most vec4 registers that a program may use (four are clause temporaries).
pub const MAX_GPRS: u16 = 124;
/// Constant buffers.
pub const MAX_BUFFERS: usize = 16;
/// Bytes that GX2 lets a uniform block, or all registers of uniforms, have.
pub const MOST_BLOCK_BYTES: u32 = 1 << 16;
/// The number that stands for the constant file beside the constant buffers: nothing compiled here reads it, other files' programs may.
pub const REGISTER_FILE: u32 = MAX_BUFFERS as u32;
/// Number of the first constant buffer's vertex resource.
const BUFFER_RESOURCE: u64 = 160;
/// Number of the first storage buffer's vertex resource.
pub const STORAGE_RESOURCE: u64 = 176;
/// The vertex resource of a geometry program's input ring (constant buffers have the numbers below it); its stride is a word.
const RING_RESOURCE: u64 = 175;
/// The resource of a vertex program's first attribute where it fetches them itself.
pub const VERTEX_RESOURCE: u64 = 192;
/// The resource of the first attribute in the fetch shader's own window.
pub const FETCH_RESOURCE: u64 = 160;
/// Registers of a pixel program that the rasteriser fills: SPI_PS_INPUT_CNTL has 32 words, and the fields of the position's and the face's
/// register in SPI_PS_IN_CONTROL have five bits.
const RASTERISED: u64 = 32;
/// Entries of the semantic table (SQ_VTX_SEMANTIC).
pub const SEMANTICS: u64 = 32;
/// Parameters between two stages.
pub const PARAMETERS: u32 = 32;
/// Samplers of a stage, and textures that GX2 can set.
pub const SAMPLERS: u64 = 18;
const GX2_TEXTURES: u64 = 16;
/// Words of the output ring that SQ_GSVS_RING_ITEMSIZE can count.
const MOST_RING_WORDS: u64 = 0x7fff;
/// Pixel export target of the depth vector.
pub const DEPTH_TARGET: u16 = 61;
/// Position export target behind the position: the vector with point size, layer and viewport where one is written.
pub const MISC_TARGET: u16 = 61;
/// A semantic number that no program uses.
pub const NO_SEMANTIC: u32 = 0xff;
/// Locations are semantic numbers of eight bits; those from here on stand for built-in values, the eight cull distances first.
const MAX_LOCATION: u32 = 0xe8;
/// The semantic number of a primitive's number; other built-in values follow.
const PRIMITIVE_SEMANTIC: u32 = 0xf0;
/// Clip and cull distances share two position vectors.
const DISTANCES: u32 = 8;

/// The 16-byte slot of a vertex in the ES-GS ring that a value has, whoever writes or reads it: export stages and geometry programs are
/// compiled apart and meet in it.
pub fn ring_slot(binding: Binding, element: u32) -> Option<u32> {
    match binding {
        Binding::Builtin(Builtin::Position) => Some(0),
        Binding::Builtin(Builtin::PointSize) => Some(1),
        Binding::Location(l) => Some(2 + l + element),
        Binding::Builtin(_) => None,
    }
}

/// Whether a program writes the vector with point size, layer and viewport.
pub fn writes_misc(m: &Module) -> bool {
    let misc = |b: Binding| matches!(b, Binding::Builtin(Builtin::PointSize | Builtin::Layer | Builtin::ViewportIndex));
    m.outputs.values().any(|d| misc(d.binding))
}

/// Whether an output is one of the distances that share position vectors: scalars, four to a vector.
fn is_distance(d: &IoDecl) -> bool {
    matches!(d.binding, Binding::Builtin(Builtin::ClipDistance | Builtin::CullDistance))
}

/// How many distances of a kind a program declares among its outputs.
pub fn distances(m: &Module, kind: Builtin) -> u32 {
    m.outputs.values().filter(|d| d.binding == Binding::Builtin(kind)).map(|d| d.count).sum()
}

/// An input's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputPlace {
    /// First register; array elements follow.
    pub gpr: u8,
    /// First channel.
    pub chan: u8,
}

/// An output's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputPlace {
    /// 0 pixel, 1 position, 2 parameter, [`NOWHERE`], [`RING`].
    pub kind: u8,
    /// Target of the first element.
    pub base: u16,
    /// First channel.
    pub chan: u8,
}

/// The kind of an output's place that the program never writes: nobody has to find it anywhere.
pub const NOWHERE: u8 = 3;
/// The kind of an output's place in the ES-GS ring: the target is the slot.
pub const RING: u8 = 4;

/// Local arrays that hold constants, in a constant buffer behind the program's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constants {
    /// The buffer.
    pub bank: u8,
    /// Its words: each element takes the 16 bytes of a fetch.
    pub words: Vec<u32>,
    /// By local array: the row of its first element.
    rows: Vec<Option<u32>>,
}

/// How a vertex program is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// In front of the rasteriser, attributes loaded by the fetch shader.
    #[default]
    Usual,
    /// As the export stage in front of a geometry program: outputs go to the ES-GS ring.
    ExportStage,
    /// As usual, but it fetches its attributes by clauses of its own.
    OwnFetches,
}

/// Who runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// A driver that reads the object file.
    #[default]
    Object,
    /// GX2 on the Wii U: uniform blocks by their binding, in the resources that GX2 gives them; no scratch memory.
    WiiU,
}

impl Platform {
    /// The platform of a chip.
    pub fn of(chip: Option<&str>) -> Platform {
        if chip == Some(LATTE) { Platform::WiiU } else { Platform::Object }
    }
}

/// The Wii U's chip.
pub const LATTE: &str = "latte";

/// Elements of the stack that a loop takes: a row for a wavefront, which is of 32 lanes on the smaller chips, and on Latte nobody knows.
pub fn loop_entry(chip: Option<&str>) -> u64 {
    if matches!(chip, Some("rv710" | "rv730" | LATTE)) { 8 } else { 4 }
}

/// The interface of a program.
#[derive(Clone, Debug, Default)]
pub struct Abi {
    /// Who runs the program.
    pub platform: Platform,
    /// How the program is run.
    pub role: Role,
    /// Whether the code keeps to what the platform's emulators execute.
    pub emulators: bool,
    /// Elements of the stack that a loop takes.
    pub loop_entry: u64,
    /// Vertex programs: by input declaration, the number of its first attribute.
    pub attributes: Vec<Option<u32>>,
    /// By input declaration.
    pub inputs: Vec<InputPlace>,
    /// By output declaration.
    pub outputs: Vec<OutputPlace>,
    /// By texture declaration: its unit.
    pub units: Vec<u32>,
    /// (group, binding) of each constant buffer.
    pub buffers: Vec<(u32, u32)>,
    /// Constants that the program brings along.
    pub constants: Option<Constants>,
    /// Registers that hold inputs on entry.
    pub input_gprs: u8,
    /// Whether the fetch shader is called.
    pub fetch_shader: bool,
    /// Geometry: by input declaration, the 16-byte slot of a vertex in the input ring.
    pub ring: Vec<Option<u32>>,
}

/// Whether the program reads an input, by its number.
pub(crate) fn reads_input(m: &Module, n: usize) -> bool {
    let f = m.main();
    f.ordered().any(|(_, i)| matches!(f.insts[i].imm, Imm::Mem { var: MemRef::Input(v), .. } if v.index() == n))
}

fn unsupported(d: &IoDecl, what: &str) -> CompileError {
    CompileError::unsupported("R0101", d.span, format!("R700 has no {what} `{}`", d.name))
}

impl Abi {
    /// Lays out a module's interface.
    pub fn of(m: &Module, platform: Platform) -> Result<Abi, CompileError> {
        Abi::in_role(m, Role::Usual, platform)
    }

    /// As [`Abi::of`], for a vertex program in a role.
    pub fn in_role(m: &Module, role: Role, platform: Platform) -> Result<Abi, CompileError> {
        let halves = m.inputs.values().chain(m.outputs.values()).find(|d| d.ty.scalar == Scalar::F16).map(|d| (d.span, &d.name));
        let uniform = m.uniforms.values().find(|u| u.ty.scalar == Scalar::F16).map(|u| (u.span, &u.name));
        if let Some((span, name)) = halves.or(uniform) {
            let message = format!("`{name}`: the machine moves no f16 in or out of a program, only f32 and integers");
            return Err(CompileError::unsupported("R0104", span, message));
        }
        let attributes = vec![None; m.inputs.len()];
        let units = (0..m.textures.len() as u32).collect();
        let inputs = vec![InputPlace { gpr: 0, chan: 0 }; m.inputs.len()];
        let mut abi = Abi { platform, role, attributes, inputs, units, ..Abi::default() };
        let mut located: Vec<(u32, u8, usize)> = Vec::new();
        for (i, (_, d)) in m.inputs.iter().enumerate() {
            if let Binding::Location(l) = d.binding {
                located.push((l, d.blend_source, i));
            }
        }
        located.sort_unstable();
        let decls: Vec<&IoDecl> = m.inputs.values().collect();
        if m.stage == Stage::Geometry {
            abi.geometry_inputs(m)?;
            abi.outputs_of(m)?;
            abi.emitted_vertices(m)?;
            abi.constant_buffers(m, MAX_BUFFERS - 1)?;
            return Ok(abi);
        }
        let mut next = if m.stage == Stage::Vertex { 1u32 } else { 0 };
        // GX2 always sets a fetch shader; elsewhere a program that reads no attribute calls none.
        let calls = located.iter().any(|(_, _, i)| reads_input(m, *i)) || platform == Platform::WiiU;
        abi.fetch_shader = m.stage == Stage::Vertex && role != Role::OwnFetches && calls;
        for (_, _, i) in &located {
            let (span, end) = (decls[*i].span, u64::from(next) + u64::from(decls[*i].count));
            // The first register of a vertex program is no attribute's.
            let (what, needed, most) = match m.stage {
                Stage::Vertex => ("too many attributes for the semantic table", end - 1, SEMANTICS),
                _ => ("too many inputs from the rasteriser", end, RASTERISED),
            };
            if needed > most {
                return Err(CompileError::limit("R0301", span, what, needed, most));
            }
            semantic_number(decls[*i])?;
            abi.inputs[*i] = InputPlace { gpr: next as u8, chan: 0 };
            abi.attributes[*i] = (m.stage == Stage::Vertex).then(|| next - 1);
            next += decls[*i].count;
        }
        if role == Role::OwnFetches {
            next = 1;
        }
        let mut face = None;
        let mut builtins: Vec<(usize, Builtin)> =
            decls.iter().enumerate().filter_map(|(i, d)| if let Binding::Builtin(b) = d.binding { Some((i, b)) } else { None }).collect();
        // What is interpolated comes in one row behind the parameters, the position last.
        builtins.sort_by_key(|(_, b)| match b {
            Builtin::FrontFacing | Builtin::SampleMask | Builtin::SampleIndex => 2,
            Builtin::Position => 1,
            _ => 0,
        });
        for (i, b) in builtins {
            let d = decls[i];
            let mut own = || {
                next += d.count;
                (next - d.count) as u8
            };
            let at = |gpr: u8, chan: u8| InputPlace { gpr, chan };
            abi.inputs[i] = match (m.stage, b) {
                (Stage::Vertex, Builtin::VertexIndex) => at(0, 0),
                (Stage::Vertex, Builtin::InstanceIndex) => at(0, 3),
                (
                    Stage::Fragment,
                    Builtin::Position
                    | Builtin::PointCoord
                    | Builtin::PrimitiveIndex
                    | Builtin::Layer
                    | Builtin::ViewportIndex
                    | Builtin::ClipDistance
                    | Builtin::CullDistance,
                ) => at(own(), 0),
                (Stage::Fragment, Builtin::FrontFacing | Builtin::SampleMask) => {
                    let gpr = *face.get_or_insert_with(own);
                    at(gpr, if b == Builtin::FrontFacing { 0 } else { 2 })
                }
                // The sample is the last channel of a position of its own, in fixed point.
                (Stage::Fragment, Builtin::SampleIndex) => at(own(), 3),
                _ => return Err(unsupported(d, "input")),
            };
        }
        if m.stage == Stage::Fragment && u64::from(next) > RASTERISED {
            let span = m.inputs.values().map(|d| d.span).next_back().unwrap_or(Span::NONE);
            let what = "too many inputs from the rasteriser (position and face take a register each)";
            return Err(CompileError::limit("R0301", span, what, u64::from(next), RASTERISED));
        }
        abi.input_gprs = next as u8;
        abi.outputs_of(m)?;
        abi.constant_buffers(m, MAX_BUFFERS)?;
        Ok(abi)
    }

    /// Geometry inputs: slots of the ring; the primitive's number is in R0.z.
    fn geometry_inputs(&mut self, m: &Module) -> Result<(), CompileError> {
        self.ring = m.inputs.values().map(|d| ring_slot(d.binding, 0)).collect();
        for (i, (_, d)) in m.inputs.iter().enumerate() {
            match (d.binding, self.ring[i]) {
                (Binding::Builtin(Builtin::PrimitiveIndex), _) => self.inputs[i] = InputPlace { gpr: 0, chan: 2 },
                (_, None) => return Err(unsupported(d, "input")),
                _ => semantic_number(d)?,
            }
        }
        if m.geometry.is_some_and(|g| g.input == Primitive::Patch) {
            let message = "R700's geometry programs read points, lines and triangles, no patches";
            return Err(CompileError::unsupported("R0112", Span::NONE, message));
        }
        if let Some(g) = m.geometry.filter(|g| g.invocations > 1) {
            return Err(CompileError::unsupported(
                "R0112",
                Span::NONE,
                format!("R700 runs a geometry program once per primitive, not {} times", g.invocations),
            ));
        }
        self.input_gprs = 2;
        Ok(())
    }

    /// Whether the vertices that a geometry program emits fit what counts them.
    fn emitted_vertices(&self, m: &Module) -> Result<(), CompileError> {
        let most = u64::from(m.geometry.map_or(0, |g| g.max_vertices));
        let words = 4 * self.ring_slots(m).len() as u64 * most;
        if words <= MOST_RING_WORDS {
            return Ok(());
        }
        let what = "the vertices that the program emits take too many words of the ring";
        Err(CompileError::limit("R0309", m.main().place(), what, words, MOST_RING_WORDS))
    }

    /// Whether a texture's unit exists.
    pub fn unit(&self, texture: usize, span: Span) -> Result<u64, CompileError> {
        let (unit, most) = (u64::from(self.units[texture]), if self.platform == Platform::WiiU { GX2_TEXTURES } else { SAMPLERS });
        if unit < most { Ok(unit) } else { Err(CompileError::limit("R0308", span, "too many textures", unit + 1, most)) }
    }

    /// Parameters by their locations, not without holes: Cemu finds what a geometry program exports so.
    pub fn parameters_by_location(&mut self, m: &Module) {
        let places = || m.outputs.values().enumerate().filter_map(|(k, d)| Some((k, parameter(d.binding)?, d.count)));
        if places().all(|(_, l, count)| l + count <= PARAMETERS) {
            for (k, l, _) in places().filter(|p| self.outputs[p.0].kind != NOWHERE).collect::<Vec<_>>() {
                self.outputs[k].base = l as u16;
            }
        }
    }

    /// The ring slot of a geometry input.
    pub fn ring_input(&self, decl: usize) -> Option<u32> {
        self.ring.get(decl).copied().flatten()
    }

    /// 16-byte slots of an input vertex, up to the last one that is read.
    pub fn ring_input_size(&self) -> u32 {
        self.ring.iter().flatten().max().map_or(0, |last| last + 1)
    }

    /// What a geometry program writes for each vertex: the targets that the copy program exports, position first.
    pub fn ring_slots(&self, m: &Module) -> Vec<(u8, u16)> {
        let mut out: Vec<(u8, u16)> = Vec::new();
        for (k, d) in m.outputs.values().enumerate() {
            for e in 0..d.count {
                let (kind, base, _) = self.output(m, k, e);
                out.extend((kind != NOWHERE).then_some((kind, base)));
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// What the export stage writes of a vertex for the ES-GS ring: by target the slot, in order of the slots. Geometry programs read
    /// nothing else.
    pub fn export_slots(&self, m: &Module) -> Vec<((u8, u16), u32)> {
        let mut out = Vec::new();
        for (k, d) in m.outputs.values().enumerate() {
            for e in 0..d.count {
                let (kind, base, _) = self.output(m, k, e);
                out.extend(ring_slot(d.binding, e).filter(|_| kind != NOWHERE).map(|slot| (slot, (kind, base))));
            }
        }
        out.sort_unstable();
        out.dedup();
        out.into_iter().map(|(slot, target)| (target, slot)).collect()
    }

    /// 16-byte slots of a vertex that the export stage writes.
    pub fn export_size(&self, m: &Module) -> u32 {
        self.export_slots(m).last().map_or(0, |s| s.1 + 1)
    }

    fn outputs_of(&mut self, m: &Module) -> Result<(), CompileError> {
        // Parameters in order of location; position vectors behind the position, without holes.
        let written = written(m);
        let kept = |o: Output| m.stage == Stage::Fragment || written.contains(&o);
        let mut located: Vec<(u32, u32)> =
            m.outputs.iter().filter_map(|(o, d)| Some((parameter(d.binding).filter(|_| kept(o))?, d.count))).collect();
        located.sort_unstable();
        let before = |at: u32| located.iter().filter(|(l, _)| *l < at).map(|l| l.1).sum::<u32>();
        let clips = distances(m, Builtin::ClipDistance);
        for (o, d) in m.outputs.iter() {
            if is_distance(d) && d.ty.lanes != 1 {
                return Err(unsupported(d, "vector of distances as the output"));
            }
            let limit = |base: u32, n: u32| -> Result<u16, CompileError> {
                if base + d.count > n {
                    return Err(CompileError::limit("R0302", d.span, "too many outputs", (base + d.count) as u64, n as u64));
                }
                Ok(base as u16)
            };
            let place = |kind, base, chan| OutputPlace { kind, base, chan };
            self.outputs.push(match (m.stage, d.binding) {
                (Stage::Fragment, Binding::Location(l)) => place(0, limit(l + d.blend_source as u32, 8)?, 0),
                (Stage::Fragment, Binding::Builtin(Builtin::FragDepth)) => place(0, DEPTH_TARGET, 0),
                (Stage::Fragment, Binding::Builtin(Builtin::SampleMask)) => place(0, DEPTH_TARGET, 2),
                (Stage::Vertex | Stage::Geometry, Binding::Location(_)) if !kept(o) => place(NOWHERE, 0, 0),
                (Stage::Geometry, Binding::Builtin(Builtin::PrimitiveIndex)) if !kept(o) => place(NOWHERE, 0, 0),
                (Stage::Vertex | Stage::Geometry, Binding::Location(l)) => {
                    limit(l, NO_SEMANTIC)?;
                    place(2, limit(before(l), PARAMETERS)?, 0)
                }
                (Stage::Geometry, Binding::Builtin(Builtin::PrimitiveIndex)) => place(2, limit(before(PRIMITIVE_SEMANTIC), PARAMETERS)?, 0),
                (Stage::Vertex | Stage::Geometry, Binding::Builtin(Builtin::Position)) => place(1, 60, 0),
                (Stage::Vertex | Stage::Geometry, Binding::Builtin(Builtin::PointSize)) => place(1, MISC_TARGET, 0),
                (Stage::Vertex | Stage::Geometry, Binding::Builtin(Builtin::Layer)) => place(1, MISC_TARGET, 2),
                (Stage::Vertex | Stage::Geometry, Binding::Builtin(Builtin::ViewportIndex)) => place(1, MISC_TARGET, 3),
                (Stage::Vertex | Stage::Geometry, Binding::Builtin(b @ (Builtin::ClipDistance | Builtin::CullDistance))) => {
                    // Cull distances stand behind the clip distances.
                    let from = if b == Builtin::CullDistance { clips } else { 0 };
                    limit(from, DISTANCES)?;
                    place(1, MISC_TARGET + writes_misc(m) as u16 + (from / 4) as u16, (from % 4) as u8)
                }
                _ => return Err(unsupported(d, "output")),
            });
        }
        Ok(())
    }

    fn constant_buffers(&mut self, m: &Module, most: usize) -> Result<(), CompileError> {
        let mut buffers: Vec<(u32, u32)> = m.uniforms.values().map(|u| (u.group, u.binding)).collect();
        buffers.sort_unstable();
        buffers.dedup();
        if buffers.len() > most {
            let span = m.uniforms.values().next().map_or(Span::NONE, |u| u.span);
            return Err(CompileError::limit("R0303", span, "too many uniform buffers", buffers.len() as u64, most as u64));
        }
        if self.platform == Platform::WiiU {
            self.gx2_bindings(m, &buffers)?;
        }
        self.buffers = buffers;
        // GX2 knows only what the application binds.
        if self.platform == Platform::Object && self.buffers.len() < most {
            self.constants = constants(m, self.buffers.len() as u8);
        }
        Ok(())
    }

    /// The constant buffer and the row of a local array's first element, where it lies in one.
    pub fn table(&self, local: usize) -> Option<(u8, u32)> {
        let c = self.constants.as_ref()?;
        Some((c.bank, c.rows.get(local).copied().flatten()?))
    }

    /// GX2 names uniform blocks by one number each and binds no other buffers.
    fn gx2_bindings(&self, m: &Module, buffers: &[(u32, u32)]) -> Result<(), CompileError> {
        for u in m.uniforms.values() {
            if u.binding as usize >= MAX_BUFFERS {
                return Err(CompileError::limit("R0303", u.span, "GX2 has 16 uniform blocks", u.binding as u64 + 1, MAX_BUFFERS as u64));
            }
            let end = u64::from(u.offset) + u64::from(u.size());
            if end > u64::from(MOST_BLOCK_BYTES) {
                return Err(CompileError::limit("R0310", u.span, "a uniform block has too many bytes", end, MOST_BLOCK_BYTES.into()));
            }
            if buffers.iter().any(|b| b.1 == u.binding && b.0 != u.group) {
                let message = format!("GX2 numbers uniform blocks by their binding alone: {} has it twice", u.binding);
                return Err(CompileError::unsupported("R0113", u.span, message));
            }
        }
        match m.storage.values().next() {
            Some(s) => Err(CompileError::unsupported("R0113", s.span, "GX2 binds no storage buffers")),
            None => Ok(()),
        }
    }
    /// The constant buffer of a binding.
    pub fn bank(&self, group: u32, binding: u32) -> u8 {
        match self.platform {
            Platform::Object => self.buffers.iter().position(|b| *b == (group, binding)).unwrap_or(0) as u8,
            Platform::WiiU => binding as u8,
        }
    }
    /// The number of the first constant buffer's vertex resource.
    pub fn buffer_resource(&self) -> u64 {
        match self.platform {
            Platform::Object => BUFFER_RESOURCE,
            Platform::WiiU => 0x80,
        }
    }
    /// The vertex resource of a geometry program's input ring, and of a copy program's.
    pub fn ring_resource(&self) -> u64 {
        match self.platform {
            Platform::Object => RING_RESOURCE,
            Platform::WiiU => 0x9f,
        }
    }
    /// Where element `n` of an output goes: kind, target, channel. Distances are scalars packed four to a target.
    pub fn output(&self, m: &Module, decl: usize, element: u32) -> (u8, u16, u8) {
        let p = self.outputs[decl];
        let d = m.outputs.values().nth(decl);
        if d.is_some_and(is_distance) {
            let at = u32::from(p.chan) + element;
            return (p.kind, p.base + (at / 4) as u16, (at % 4) as u8);
        }
        (p.kind, p.base + element as u16, p.chan)
    }
}

/// The number by which the rasteriser matches a value that a vertex or geometry program hands on: its location, or, for a built-in one,
/// a number of its own.
pub fn parameter(binding: Binding) -> Option<u32> {
    match binding {
        Binding::Location(l) => Some(l),
        Binding::Builtin(Builtin::PrimitiveIndex) => Some(PRIMITIVE_SEMANTIC),
        Binding::Builtin(_) => None,
    }
}

/// The same for what a pixel program reads; no number where the rasteriser has the value itself.
pub fn semantic(binding: Binding) -> Option<u32> {
    match binding {
        Binding::Builtin(Builtin::Layer) => Some(PRIMITIVE_SEMANTIC + 1),
        Binding::Builtin(Builtin::ViewportIndex) => Some(PRIMITIVE_SEMANTIC + 2),
        Binding::Builtin(Builtin::ClipDistance) => Some(PRIMITIVE_SEMANTIC + 4),
        Binding::Builtin(Builtin::CullDistance) => Some(MAX_LOCATION),
        b => parameter(b),
    }
}

/// An error where a location has no semantic number.
fn semantic_number(d: &IoDecl) -> Result<(), CompileError> {
    match d.binding {
        Binding::Location(l) if l.saturating_add(d.count) > MAX_LOCATION => {
            let what = "the location has no semantic number";
            Err(CompileError::limit("R0301", d.span, what, u64::from(l) + u64::from(d.count), u64::from(MAX_LOCATION)))
        }
        _ => Ok(()),
    }
}

/// The outputs that the program gives a value.
fn written(m: &Module) -> BTreeSet<Output> {
    let stores = |f: &retroshade_ir::Function| {
        let store = |d: &retroshade_ir::InstData| match d.imm {
            Imm::Mem { var: MemRef::Output(o), .. } if d.op == Opcode::Output && f.def_if(d.args[0], Opcode::Undef).is_none() => Some(o),
            _ => None,
        };
        f.ordered().filter_map(|(_, i)| store(&f.insts[i])).collect::<Vec<_>>()
    };
    m.functions.values().flat_map(stores).collect()
}

/// The constant buffer of a program's tables, and its number.
fn constants(m: &Module, bank: u8) -> Option<Constants> {
    /// What a buffer holds.
    const MOST_ROWS: usize = 4096;
    let f = m.main();
    let found = tables::tables(f);
    let (mut words, mut rows) = (Vec::new(), Vec::new());
    for (l, d) in f.locals.iter() {
        let table = found[l].as_ref().filter(|w| words.len() / 4 + w.len() / d.ty.lanes as usize <= MOST_ROWS);
        rows.push(table.map(|_| words.len() as u32 / 4));
        for element in table.into_iter().flat_map(|w| w.chunks(d.ty.lanes as usize)) {
            words.extend((0..4).map(|k| element.get(k).copied().unwrap_or(0)));
        }
    }
    (!words.is_empty()).then_some(Constants { bank, words, rows })
}

/// Fills in the machine's names for places.
pub fn reflect(r: &mut retroshade_lower::Reflection, abi: &Abi) {
    r.target = "r700".to_string();
    for (k, (x, p)) in r.inputs.iter_mut().zip(&abi.inputs).enumerate() {
        x.register = Some(match abi.ring_input(k) {
            Some(slot) => format!("ring{slot}"),
            None => format!("R{}.{}", p.gpr, ["x", "y", "z", "w"][p.chan as usize & 3]),
        });
    }
    for (x, p) in r.outputs.iter_mut().zip(&abi.outputs) {
        let kind = ["pixel", "position", "param", "", "ring"].get(p.kind as usize).filter(|k| !k.is_empty());
        // Cull distances begin where the clip distances end.
        let chan =
            if x.builtin.as_deref() == Some(Builtin::CullDistance.name()) { ["", ".y", ".z", ".w"][p.chan as usize & 3] } else { "" };
        x.register = kind.map(|k| format!("{k}{}{chan}", p.base));
    }
    for x in &mut r.uniforms {
        let bank = abi.bank(x.group, x.binding);
        let buffer = if bank as u32 == REGISTER_FILE { "C".to_string() } else { format!("CB{bank}") };
        x.register = Some(format!("{buffer}[{}].{}", x.offset / 16, ["x", "y", "z", "w"][x.offset as usize / 4 % 4]));
    }
    if let Some(c) = &abi.constants {
        r.constants.push(retroshade_lower::reflect::ReflectConstants { register: format!("CB{}[0]", c.bank), words: c.words.clone() });
    }
    for (x, unit) in r.textures.iter_mut().zip(&abi.units) {
        x.unit = *unit;
    }
}
