//! Where the host puts inputs and constants, and where outputs go.
//!
//! Vertex programs: R0.x vertex index, R0.w instance index, attribute n (in order of location) in R(n+1), loaded by the fetch
//! shader. Fragment programs: inputs in order of location from R0, then other interpolated values, the position, and the face
//! register (x face sign, z coverage, w sample). Parameters are numbered without holes in order of location, position vectors as
//! PA_CL_VS_OUT_CNTL enables them; register words (`container::registers`) say which is which. Each uniform binding is one constant buffer and, 160 higher, one vertex resource.

use retroshade_ir::analysis::tables;
use retroshade_ir::{Binding, Builtin, Imm, IoDecl, MemRef, Module, Opcode, Output, Primitive, Scalar, Stage};
use retroshade_lower::CompileError;
use std::collections::BTreeSet;

/// Most vec4 registers that a program may use (four are clause temporaries).
pub const MAX_GPRS: u16 = 124;
/// Constant buffers.
pub const MAX_BUFFERS: usize = 16;
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
/// Vertex resources that a fetch can name.
const RESOURCES: u64 = 256;
/// Pixel export target of the depth vector.
pub const DEPTH_TARGET: u16 = 61;
/// Position export target behind the position: the vector with point size, layer and viewport where one is written.
const MISC_TARGET: u16 = 61;
/// Locations are semantic numbers of eight bits; those from here on stand for built-in values.
pub const MAX_LOCATION: u32 = 0xf0;

/// Whether a program writes the vector with point size, layer and viewport.
pub fn writes_misc(m: &Module) -> bool {
    let misc = |b: Binding| matches!(b, Binding::Builtin(Builtin::PointSize | Builtin::Layer | Builtin::ViewportIndex));
    m.outputs.values().any(|d| misc(d.binding))
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
    /// 0 pixel, 1 position, 2 parameter, [`NOWHERE`].
    pub kind: u8,
    /// Target of the first element.
    pub base: u16,
    /// First channel.
    pub chan: u8,
}

/// The kind of an output's place that the program never writes: nobody has to find it anywhere.
pub const NOWHERE: u8 = 3;

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

/// The interface of a program.
#[derive(Clone, Debug, Default)]
pub struct Abi {
    /// Who runs the program.
    pub platform: Platform,
    /// How the program is run.
    pub role: Role,
    /// Whether the code keeps to what the platform's emulators execute.
    pub emulators: bool,
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
            abi.geometry_inputs(m, &located)?;
            abi.outputs_of(m)?;
            abi.constant_buffers(m, MAX_BUFFERS - 1)?;
            return Ok(abi);
        }
        let mut next = if m.stage == Stage::Vertex { 1u32 } else { 0 };
        // GX2 always sets a fetch shader; elsewhere a program without attributes calls none.
        let calls = !located.is_empty() || platform == Platform::WiiU;
        abi.fetch_shader = m.stage == Stage::Vertex && role != Role::OwnFetches && calls;
        for (_, _, i) in &located {
            let (span, end) = (decls[*i].span, u64::from(next) + u64::from(decls[*i].count));
            if end > u64::from(MAX_GPRS) {
                return Err(CompileError::limit("R0301", span, "too many inputs for the registers", end, u64::from(MAX_GPRS)));
            }
            // Each attribute is a resource, the first register no attribute's.
            let resources = RESOURCES - if role == Role::OwnFetches { VERTEX_RESOURCE } else { FETCH_RESOURCE };
            if m.stage == Stage::Vertex && end - 1 > resources {
                return Err(CompileError::limit("R0301", span, "too many attributes for the fetches' resources", end - 1, resources));
            }
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
                    | Builtin::ClipDistance,
                ) => at(own(), 0),
                (Stage::Fragment, Builtin::FrontFacing | Builtin::SampleMask | Builtin::SampleIndex) => {
                    let gpr = *face.get_or_insert_with(own);
                    at(
                        gpr,
                        match b {
                            Builtin::FrontFacing => 0,
                            Builtin::SampleMask => 2,
                            _ => 3,
                        },
                    )
                }
                _ => return Err(unsupported(d, "input")),
            };
        }
        abi.input_gprs = next as u8;
        abi.outputs_of(m)?;
        abi.constant_buffers(m, MAX_BUFFERS)?;
        Ok(abi)
    }

    /// Geometry inputs: ring slots in order of location, then built-in values; the primitive's number is in R0.z.
    fn geometry_inputs(&mut self, m: &Module, located: &[(u32, u8, usize)]) -> Result<(), CompileError> {
        self.ring = vec![None; m.inputs.len()];
        let mut slots = located.iter().map(|(_, _, i)| *i).collect::<Vec<_>>();
        for (i, (_, d)) in m.inputs.iter().enumerate() {
            match d.binding {
                Binding::Location(_) => {}
                Binding::Builtin(Builtin::PrimitiveIndex) => self.inputs[i] = InputPlace { gpr: 0, chan: 2 },
                Binding::Builtin(Builtin::Position | Builtin::PointSize) => slots.push(i),
                _ => return Err(unsupported(d, "input")),
            }
        }
        // Located ones in their order, then the position, then the point size.
        let last = |i: &usize| m.inputs.values().nth(*i).map(|d| d.binding == Binding::Builtin(Builtin::PointSize));
        slots[located.len()..].sort_by_key(last);
        for (slot, i) in slots.into_iter().enumerate() {
            self.ring[i] = Some(slot as u32);
        }
        if m.geometry.is_some_and(|g| g.input == Primitive::Patch) {
            let message = "R700's geometry programs read points, lines and triangles, no patches";
            return Err(CompileError::unsupported("R0112", retroshade_ir::Span::NONE, message));
        }
        if let Some(g) = m.geometry.filter(|g| g.invocations > 1) {
            return Err(CompileError::unsupported(
                "R0112",
                retroshade_ir::Span::NONE,
                format!("R700 runs a geometry program once per primitive, not {} times", g.invocations),
            ));
        }
        self.input_gprs = 2;
        Ok(())
    }

    /// The ring slot of a geometry input.
    pub fn ring_input(&self, decl: usize) -> Option<u32> {
        self.ring.get(decl).copied().flatten()
    }

    /// 16-byte slots of an input vertex.
    pub fn ring_input_size(&self) -> u32 {
        self.ring.iter().flatten().count() as u32
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

    /// Where the export stage puts its outputs in a vertex of the ES-GS ring, in slots of 16 bytes: parameters in their
    /// order, the position, the point size. Geometry programs read nothing else.
    pub fn export_slots(&self, m: &Module) -> Vec<(u8, u16)> {
        let mut out: Vec<(u8, u16)> =
            self.ring_slots(m).into_iter().filter(|s| s.0 == 2 || s.0 == 1 && s.1 < MISC_TARGET + writes_misc(m) as u16).collect();
        out.sort_by_key(|s| (s.0 == 1, s.1));
        out
    }

    fn outputs_of(&mut self, m: &Module) -> Result<(), CompileError> {
        // Parameters in order of location; position vectors behind the position, without holes.
        let written = written(m);
        // What a geometry program reads is found by what is declared; the rasteriser takes what is there.
        let kept = |o: Output| m.stage == Stage::Fragment || self.role == Role::ExportStage || written.contains(&o);
        let mut located: Vec<(u32, u32)> = m
            .outputs
            .iter()
            .filter_map(|(o, d)| if let (Binding::Location(l), true) = (d.binding, kept(o)) { Some((l, d.count)) } else { None })
            .collect();
        located.sort_unstable();
        let before = |at: u32| located.iter().filter(|(l, _)| *l < at).map(|l| l.1).sum::<u32>();
        let clip = MISC_TARGET + writes_misc(m) as u16;
        for (o, d) in m.outputs.iter() {
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
                (Stage::Vertex | Stage::Geometry, Binding::Location(l)) if l + d.count <= MAX_LOCATION => {
                    place(2, limit(before(l), 32)?, 0)
                }
                (Stage::Vertex | Stage::Geometry, Binding::Location(l)) => place(2, limit(l, MAX_LOCATION)?, 0),
                (Stage::Vertex | Stage::Geometry, Binding::Builtin(Builtin::Position)) => place(1, 60, 0),
                (Stage::Vertex | Stage::Geometry, Binding::Builtin(Builtin::PointSize)) => place(1, MISC_TARGET, 0),
                (Stage::Vertex | Stage::Geometry, Binding::Builtin(Builtin::Layer)) => place(1, MISC_TARGET, 2),
                (Stage::Vertex | Stage::Geometry, Binding::Builtin(Builtin::ViewportIndex)) => place(1, MISC_TARGET, 3),
                (Stage::Vertex | Stage::Geometry, Binding::Builtin(Builtin::ClipDistance)) => place(1, clip, 0),
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
            let span = m.uniforms.values().next().map_or(retroshade_ir::Span::NONE, |u| u.span);
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
    /// Where element `n` of an output goes: kind, target, channel. Clip distances are scalars packed four to a target.
    pub fn output(&self, m: &Module, decl: usize, element: u32) -> (u8, u16, u8) {
        let p = self.outputs[decl];
        let d = m.outputs.values().nth(decl);
        if d.is_some_and(|d| d.binding == Binding::Builtin(Builtin::ClipDistance) && d.ty.lanes == 1) {
            return (p.kind, p.base + (element / 4) as u16, (element % 4) as u8);
        }
        (p.kind, p.base + element as u16, p.chan)
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
    for (x, p) in r.inputs.iter_mut().zip(&abi.inputs) {
        x.register = Some(format!("R{}.{}", p.gpr, ["x", "y", "z", "w"][p.chan as usize & 3]));
    }
    for (x, p) in r.outputs.iter_mut().zip(&abi.outputs) {
        let kind = ["pixel", "position", "param"].get(p.kind as usize);
        x.register = kind.map(|k| format!("{k}{}", p.base));
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
