//! Where the interface lives: attributes, outputs, uniforms, texture state, literals.
//!
//! Facts: the ISA sheet's sections 17 and 19. Code generation and the container writer compute it from the legalised module
//! alone; the simulator's loader knows the container only.

pub mod textures;
pub mod uniforms;
pub mod varyings;

use crate::legal::precision::color_format;
use retroshade_ir::*;
use retroshade_lower::{ColorFormat, CompileError, Options};
pub use textures::{Direct, Preloaded, Started};
pub use uniforms::{BufferSlot, UniformSlot, Uniforms};
pub use varyings::Varying;

/// Registers of the secondary attribute bank that may be used.
pub const SA_LIMIT: u16 = 128;
/// Words of uniforms that may be loaded into registers; the rest stays in memory. Texture state comes first, and some room
/// is left for literals.
const UNIFORM_REGS: u32 = 88;
/// Secondary attributes kept for literals, the kill word and the addresses of buffers.
const OTHER_REGS: u32 = 20;

/// An input in place.
#[derive(Clone, Debug)]
pub struct InputSlot {
    /// The declaration.
    pub input: Input,
    /// Element of an array.
    pub element: u32,
    /// First register.
    pub pa: u16,
    /// Registers that it takes.
    pub regs: u16,
    /// Components: lanes that the program sees, or the halves of its integers.
    pub lanes: u8,
    /// What a fragment input is.
    pub varying: Option<Varying>,
    /// Iterated as f16.
    pub half: bool,
}

/// An output in place.
#[derive(Clone, Copy, Debug)]
pub struct OutputSlot {
    /// The declaration.
    pub output: Output,
    /// Element of an array.
    pub element: u32,
    /// First register of the `o` bank (vertex, colours of the frame buffer's own format) or of `pa`.
    pub reg: u16,
    /// Lanes.
    pub lanes: u8,
    /// What a vertex program's output travels as.
    pub varying: Option<Varying>,
}

/// The whole layout.
#[derive(Clone, Debug, Default)]
pub struct Abi {
    /// Inputs in use.
    pub inputs: Vec<InputSlot>,
    /// Number of attribute registers that hold inputs.
    pub pa: u16,
    /// Outputs in use.
    pub outputs: Vec<OutputSlot>,
    /// Output registers.
    pub o: u16,
    /// Uniforms in use and their buffers.
    pub uniforms: Uniforms,
    /// First register of the DATA container.
    pub data: u16,
    /// The literal of KILL and DEPTHF, if they are used.
    pub kill_literal: Option<u16>,
    /// Reads of textures at unmodified inputs.
    pub direct: Vec<Direct>,
    /// Texture reads made before the program starts.
    pub preloaded: Vec<Preloaded>,
    /// What a fragment program's registers hold at its start, in their order.
    pub started: Vec<Started>,
    /// Texture state: (texture, unit, first register).
    pub textures: Vec<(Texture, u8, u16)>,
    /// First free register behind all that.
    pub free: u16,
    /// Depth output.
    pub depth: Option<Output>,
    /// How the colour leaves the program.
    pub colour: ColorFormat,
    /// Whether the colour is written in the frame buffer's own registers.
    pub native: bool,
    /// The input that is the frame buffer's colour.
    pub blended: Option<Input>,
    /// Attribute registers of the vertex and instance index.
    pub indices: [Option<u16>; 2],
}

impl Abi {
    /// Whether the colour is f16.
    pub fn half_colour(&self) -> bool {
        self.colour == ColorFormat::F16
    }
}

pub(crate) fn unsupported(span: Span, what: impl Into<String>) -> CompileError {
    CompileError::unsupported("U0100", span, what)
}

/// Where a variable is declared, or else where it is first used.
fn place_of(m: &Module, declared: Span, var: MemRef) -> Span {
    if declared != Span::NONE {
        return declared;
    }
    let f = m.main();
    let used = f.ordered().find(|(_, i)| matches!(f.insts[*i].imm, Imm::Mem { var: v, .. } if v == var) && f.spans[*i] != Span::NONE);
    used.map_or(Span::NONE, |(_, i)| f.spans[i])
}

/// What a program names.
#[derive(Default)]
struct Used {
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    uniforms: Vec<Uniform>,
    /// Uniforms with computed indices.
    dynamic: Vec<Uniform>,
    textures: Vec<Texture>,
    kills: bool,
}

impl Used {
    /// What is read by instructions; `direct` reads of textures, and inputs that are coordinates of those only, are not.
    fn of(m: &Module, direct: &[Direct]) -> Used {
        let f = m.main();
        let mut used = Used::default();
        let early = |i: &Inst| direct.iter().any(|d| d.inst == *i);
        let only_coordinate = |i: Inst| {
            let r = f.result(i);
            !direct.is_empty() && r.is_some_and(|r| f.ordered().all(|(_, u)| !f.reads(u).contains(&r) || early(&u)))
        };
        for (_, i) in f.ordered() {
            let d = &f.insts[i];
            match &d.imm {
                Imm::Mem { var: MemRef::Input(v), .. } if !only_coordinate(i) => used.inputs.push(*v),
                Imm::Mem { var: MemRef::Output(v), .. } => used.outputs.push(*v),
                Imm::Mem { var: MemRef::Uniform(v), .. } => {
                    used.uniforms.push(*v);
                    used.dynamic.extend((!d.args.is_empty()).then_some(*v));
                }
                Imm::Tex(t) if !early(&i) => used.textures.push(t.texture),
                _ => {}
            }
            used.kills |= matches!(d.op, Opcode::Discard | Opcode::Kill);
        }
        used
    }
}

/// Computes the layout of a legalised module; `joined`: iterated inputs share descriptors with texels; `ascending`: they stand in
/// the order of what they are, wherever that puts odd numbers of registers.
pub fn layout(m: &Module, o: &Options, joined: bool, ascending: bool) -> Result<Abi, CompileError> {
    // Only fragment programs have a colour; theirs is settled below.
    let mut abi = Abi { colour: ColorFormat::F32, direct: textures::direct(m), ..Abi::default() };
    let used = Used::of(m, &abi.direct);
    match m.stage {
        Stage::Vertex => vertex(m, &mut abi, &used)?,
        Stage::Fragment => fragment(m, &mut abi, &used, o)?,
        s => return Err(unsupported(Span::NONE, format!("USSE runs vertex and fragment programs only, not {} programs", s.name()))),
    }
    let states = m.textures.keys().filter(|t| used.textures.contains(t)).count() as u32;
    abi.uniforms = uniforms::place(m, o, &used.uniforms, &used.dynamic, states)?;
    let mut sa = abi.uniforms.registers();
    abi.data = sa;
    if used.kills || abi.depth.is_some() {
        abi.kill_literal = Some(sa);
        // Texture state begins at an even register.
        sa += 1 + (states > 0) as u16;
    }
    let direct = abi.direct.clone();
    sa = textures::place(m, &mut abi, &used.textures, &direct, sa)?;
    if m.stage == Stage::Fragment {
        textures::start(&mut abi, joined, ascending);
    }
    for b in abi.uniforms.buffers.iter_mut().filter(|b| b.base.is_some()) {
        b.base = Some(sa);
        sa += 1;
    }
    abi.free = sa;
    if sa > SA_LIMIT {
        return Err(CompileError::Internal(format!("{sa} secondary attributes are laid out, there are {SA_LIMIT}")));
    }
    Ok(abi)
}

/// Primary attributes of 32 bits.
const ATTRIBUTES: u16 = 128;

/// Locations of attributes: more semantic indices no reader of containers is known to take.
const LOCATIONS: u64 = 32;

fn vertex(m: &Module, abi: &mut Abi, used: &Used) -> Result<(), CompileError> {
    let mut pa = 0;
    for (i, d) in m.inputs.iter().filter(|(i, _)| used.inputs.contains(i)) {
        match d.binding {
            Binding::Location(_) => {
                for element in 0..d.count.max(1) {
                    abi.inputs.push(InputSlot { input: i, element, pa, regs: 4, lanes: d.ty.lanes, varying: None, half: false });
                    pa += 4;
                }
            }
            Binding::Builtin(Builtin::VertexIndex | Builtin::InstanceIndex) => {}
            Binding::Builtin(b) => return Err(unsupported(d.span, format!("vertex programs cannot read `{}`", b.name()))),
        }
    }
    for (i, d) in m.inputs.iter().filter(|(i, _)| used.inputs.contains(i)) {
        let which = match d.binding {
            Binding::Builtin(Builtin::VertexIndex) => 0,
            Binding::Builtin(Builtin::InstanceIndex) => 1,
            _ => continue,
        };
        abi.indices[which] = Some(pa);
        abi.inputs.push(InputSlot { input: i, element: 0, pa, regs: 1, lanes: 1, varying: None, half: false });
        pa += 1;
    }
    if pa > ATTRIBUTES {
        return Err(CompileError::limit("U0107", Span::NONE, "too many registers of attributes", pa.into(), ATTRIBUTES.into()));
    }
    abi.pa = pa;
    for (_, d) in m.inputs.iter().filter(|(i, _)| used.inputs.contains(i)) {
        let Binding::Location(l) = d.binding else { continue };
        let locations = u64::from(l) + u64::from(d.count.max(1));
        if locations > LOCATIONS {
            return Err(CompileError::limit("U0107", d.span, "the location of an attribute", locations, LOCATIONS));
        }
    }
    // The position is always there; then what travels in its order, the point size, clip distances.
    let mut slots: Vec<OutputSlot> = Vec::new();
    let mut handed = Vec::new();
    for (output, d) in m.outputs.iter() {
        let lanes = varyings::components(d);
        let slot = |element, varying| OutputSlot { output, element, reg: 0, lanes, varying };
        match d.binding {
            Binding::Builtin(Builtin::Position) => abi.outputs.push(slot(0, None)),
            _ if !used.outputs.contains(&output) => {}
            Binding::Location(_) => {
                for element in 0..d.count.max(1) {
                    let varying = varyings::of(d, element)?;
                    handed.push((d, varying));
                    slots.push(slot(element, Some(varying)));
                }
            }
            Binding::Builtin(Builtin::PointSize) => slots.push(slot(0, None)),
            Binding::Builtin(Builtin::ClipDistance) => slots.extend((0..d.count.max(1)).map(|e| slot(e, None))),
            Binding::Builtin(b) => return Err(unsupported(d.span, format!("vertex programs cannot write `{}`", b.name()))),
        }
    }
    varyings::distinct(handed.into_iter())?;
    let rank = |s: &OutputSlot| (s.varying.is_none(), s.varying, m.outputs[s.output].binding != Binding::Builtin(Builtin::PointSize));
    slots.sort_by_key(rank);
    let mut reg = 4;
    for s in slots {
        abi.outputs.push(OutputSlot { reg, ..s });
        reg += s.varying.map_or(s.lanes.into(), |v| v.registers(s.lanes));
    }
    abi.o = reg;
    Ok(())
}

/// Whether every read of an input is converted to f16 at once, with the caller's or the source's leave.
fn only_as_half(m: &Module, input: Input, o: &Options) -> bool {
    let f = m.main();
    let is_read = |i: &Inst| matches!(f.insts[*i].imm, Imm::Mem { var: MemRef::Input(v), .. } if v == input);
    let all: Vec<Inst> = f.ordered().map(|(_, i)| i).filter(is_read).collect();
    if !o.relaxed_precision && !all.iter().all(|i| f.insts[*i].relaxed) {
        return false;
    }
    let reads: Vec<Value> = all.into_iter().filter_map(|i| f.result(i)).collect();
    f.ordered().all(|(_, i)| {
        let d = &f.insts[i];
        !f.reads(i).iter().any(|v| reads.contains(v))
            || (d.op == Opcode::Fcvt && d.results.first().is_some_and(|r| f.ty(*r).scalar == Scalar::F16))
    })
}

/// What a fragment program's input is, if it is iterated.
fn iterated(d: &IoDecl, element: u32) -> Result<Varying, CompileError> {
    let refused = |why: &str| Err(unsupported(d.span, why));
    match d.binding {
        Binding::Location(_) => varyings::of(d, element),
        Binding::Builtin(Builtin::Position) => Ok(Varying::Position),
        Binding::Builtin(Builtin::PointCoord) => Ok(Varying::Sprite),
        Binding::Builtin(Builtin::FrontFacing) => refused("`front_facing`: nothing tells a program which side of a triangle it shades"),
        Binding::Builtin(b) => refused(&format!("fragment programs cannot read `{}`", b.name())),
    }
}

fn fragment(m: &Module, abi: &mut Abi, used: &Used, options: &Options) -> Result<(), CompileError> {
    abi.colour = color_format(m, options);
    let mut slots = Vec::new();
    let mut handed = Vec::new();
    for (i, d) in m.inputs.iter().filter(|(i, _)| used.inputs.contains(i)) {
        if d.binding == Binding::Builtin(Builtin::LastColor) {
            (abi.native, abi.blended) = (true, Some(i));
            continue;
        }
        for element in 0..d.count.max(1) {
            let varying = iterated(d, element)?;
            if varying.location().is_some() {
                handed.push((d, varying));
            }
            // Published programs take colours as halves where the source says so, and everything else as floats.
            let half = matches!(varying, Varying::Color(_)) && (d.ty.scalar == Scalar::F16 || only_as_half(m, i, options));
            let lanes = varyings::components(d);
            let regs = match varying {
                Varying::Fog => 1,
                // A colour is always four components, as in published programs.
                Varying::Color(_) => {
                    if half {
                        2
                    } else {
                        4
                    }
                }
                _ if half => lanes.max(2).div_ceil(2).into(),
                _ => lanes.max(2) as u16,
            };
            slots.push(InputSlot { input: i, element, pa: 0, regs, lanes, varying: Some(varying), half });
        }
    }
    varyings::distinct(handed.into_iter())?;
    // Even sizes first keeps pairs aligned. Registers are given when it is settled which texels come beside them.
    slots.sort_by_key(|s| (s.regs % 2, s.varying.map(Varying::rank)));
    abi.inputs = slots;
    let mut colour = None;
    for (o, d) in m.outputs.iter().filter(|(o, _)| used.outputs.contains(o)) {
        let span = place_of(m, d.span, MemRef::Output(o));
        match d.binding {
            Binding::Location(0) if d.count <= 1 && d.blend_source == 0 && d.ty.is_float() => colour = Some(o),
            Binding::Builtin(Builtin::FragDepth) => abi.depth = Some(o),
            Binding::Location(_) => {
                return Err(unsupported(span, format!("`{}`: fragment programs have one float colour output", d.name)));
            }
            Binding::Builtin(b) => return Err(unsupported(d.span, format!("fragment programs cannot write `{}`", b.name()))),
        }
    }
    if let (true, Some(o)) = (abi.native && abi.colour == ColorFormat::F32, colour) {
        let why = "the frame buffer's own registers have 64 bits: its colour is read as f16 or bytes";
        return Err(unsupported(place_of(m, m.outputs[o].span, MemRef::Output(o)), why));
    }
    if let Some(o) = colour {
        let lanes = m.outputs[o].ty.lanes;
        abi.outputs.push(OutputSlot { output: o, element: 0, reg: 0, lanes, varying: None });
        match abi.colour {
            _ if abi.native => {}
            ColorFormat::F32 => abi.pa = abi.pa.max(4),
            _ => abi.pa = abi.pa.max(2),
        }
    }
    if abi.native {
        abi.o = if abi.half_colour() { 2 } else { 1 };
    }
    if let Some(o) = abi.depth {
        abi.outputs.push(OutputSlot { output: o, element: 0, reg: 0, lanes: 1, varying: None });
    }
    Ok(())
}
