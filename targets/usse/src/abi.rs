//! Where the interface lives: attributes, outputs, uniforms, texture state, literals.
//!
//! Facts: the ISA sheet's sections 17 and 19. Code generation and the container writer compute it from the legalised module
//! alone; the simulator's loader knows the container only.

use retroshade_ir::*;
use retroshade_lower::{ColorFormat, CompileError, Options};

/// Registers of the secondary attribute bank that may be used.
pub const SA_LIMIT: u16 = 128;
/// Words of uniforms that may be loaded into registers; the rest stays in memory. Texture state comes first, and some room
/// is left for literals.
const UNIFORM_REGS: u32 = 88;
/// Secondary attributes kept for literals, the kill word and the address of the buffer.
const OTHER_REGS: u32 = 20;

/// A fragment input's iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iterated {
    /// Texture coordinate set.
    TexCoord(u8),
    /// The position of the pixel.
    Position,
    /// The position within a point sprite.
    Sprite,
}

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
    /// Lanes that the program sees.
    pub lanes: u8,
    /// How a fragment input is iterated.
    pub iterated: Option<Iterated>,
    /// Iterated as f16.
    pub half: bool,
}

/// A texture read that the machine makes before the program starts.
#[derive(Clone, Copy, Debug)]
pub struct Preloaded {
    /// Texture.
    pub texture: Texture,
    /// Its unit.
    pub unit: u8,
    /// The input that holds the coordinate, and the element.
    pub input: (Input, u32),
    /// Texture coordinate set.
    pub coord: u8,
    /// First register of the result.
    pub pa: u16,
    /// The result is f16.
    pub half: bool,
}

/// A vertex output in place.
#[derive(Clone, Copy, Debug)]
pub struct OutputSlot {
    /// The declaration.
    pub output: Output,
    /// Element of an array.
    pub element: u32,
    /// First register of the `o` bank (vertex) or of `pa` (fragment).
    pub reg: u16,
    /// Lanes.
    pub lanes: u8,
    /// Texture coordinate set of a varying.
    pub coord: Option<u8>,
}

/// A uniform in place.
#[derive(Clone, Copy, Debug)]
pub struct UniformSlot {
    /// The declaration.
    pub uniform: Uniform,
    /// Word offset in the default uniform buffer.
    pub word: u32,
    /// Words from one element to the next.
    pub stride: u32,
    /// Whether it is read from memory.
    pub memory: bool,
    /// Whether it keeps the layout that the source declares: members of structures that are read with a computed index.
    pub declared: bool,
}

impl UniformSlot {
    /// The word of an element, counted densely.
    pub fn element(&self, d: &UniformDecl, n: u32) -> u32 {
        self.word + if self.declared { d.element_offset(n) / 4 } else { n * self.stride }
    }
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
    /// Uniforms in use.
    pub uniforms: Vec<UniformSlot>,
    /// Words of the default uniform buffer.
    pub buffer_words: u32,
    /// Words of it that are loaded into registers.
    pub buffer_regs: u16,
    /// First register of the DATA container.
    pub data: u16,
    /// The literal of KILL and DEPTHF, if they are used.
    pub kill_literal: Option<u16>,
    /// Texture reads made before the program starts.
    pub preloaded: Vec<Preloaded>,
    /// Texture state: (texture, unit, first register).
    pub textures: Vec<(Texture, u8, u16)>,
    /// The register that holds the address of the uniform buffer.
    pub buffer_base: Option<u16>,
    /// First free register behind all that.
    pub free: u16,
    /// Depth output.
    pub depth: Option<Output>,
    /// How the colour leaves the program.
    pub colour: ColorFormat,
    /// Attribute registers of the vertex and instance index.
    pub indices: [Option<u16>; 2],
}

impl Abi {
    /// Whether the colour is f16.
    pub fn half_colour(&self) -> bool {
        self.colour == ColorFormat::F16
    }
}

/// Whether the units in which an index counts are the elements, one after the other: not so for members of structures.
fn is_dense(d: &UniformDecl) -> bool {
    let mut stride = d.unit;
    d.dims.iter().rev().all(|dim| {
        let follows = dim.stride == stride;
        stride = dim.stride * dim.count;
        follows
    })
}

fn unsupported(span: Span, what: impl Into<String>) -> CompileError {
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

/// Computes the layout of a legalised module.
pub fn layout(m: &Module, o: &Options) -> Result<Abi, CompileError> {
    let f = m.main();
    // Only fragment programs have a colour; theirs is settled below.
    let mut abi = Abi { colour: ColorFormat::F32, ..Abi::default() };
    let (mut used_in, mut used_out, mut used_uni, mut used_tex) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut kills = false;
    let mut dynamic = Vec::new();
    // Samples at unmodified inputs in the entry block; the inputs may then have no other use.
    let mut direct: Vec<(Texture, Input, u32, bool)> = Vec::new();
    let mut coordinates: Vec<Inst> = Vec::new();
    if let (Some(entry), Stage::Fragment) = (f.entry(), m.stage) {
        for i in &f.blocks[entry].insts {
            if let Some((t, input, element)) = crate::legal::precision::direct_sample(f, *i, &m.textures, &m.inputs) {
                let half = f.result(*i).is_some_and(|r| f.ty(r).scalar == Scalar::F16);
                direct.push((t, input, element, half));
                coordinates.push(*i);
            }
        }
    }
    let only_coordinate = |i: Inst| {
        let r = f.result(i);
        direct.iter().any(|_| true) && r.is_some_and(|r| f.ordered().all(|(_, u)| !f.reads(u).contains(&r) || coordinates.contains(&u)))
    };
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        match &d.imm {
            Imm::Mem { var: MemRef::Input(v), .. } if only_coordinate(i) => {
                let _ = v;
            }
            Imm::Tex(t) if coordinates.contains(&i) => {
                let _ = t;
            }
            Imm::Mem { var: MemRef::Input(v), .. } => used_in.push(*v),
            Imm::Mem { var: MemRef::Output(v), .. } => used_out.push(*v),
            Imm::Mem { var: MemRef::Uniform(v), .. } => {
                used_uni.push(*v);
                if !d.args.is_empty() {
                    dynamic.push(*v);
                }
            }
            Imm::Tex(t) => used_tex.push(t.texture),
            _ => {}
        }
        kills |= matches!(d.op, Opcode::Discard | Opcode::Kill);
    }
    match m.stage {
        Stage::Vertex => vertex(m, &mut abi, &used_in, &used_out)?,
        Stage::Fragment => fragment(m, &mut abi, &used_in, &used_out, o)?,
        s => return Err(unsupported(Span::NONE, format!("USSE runs vertex and fragment programs only, not {} programs", s.name()))),
    }
    // Uniforms: register-resident first, arrays with computed indices and what does not fit behind them.
    let mut word = 0;
    let mut place = |abi: &mut Abi, u: Uniform, memory: bool, limit: u32| -> bool {
        let d = &m.uniforms[u];
        let at = if d.ty.lanes > 1 { u32::next_multiple_of(word, 2) } else { word };
        let stride = crate::container::stride(d.ty.is_float(), d.ty.lanes);
        let slot = UniformSlot { uniform: u, word: at, stride, memory, declared: memory && !is_dense(d) };
        let end = slot_end(m, &slot);
        if end > limit {
            return false;
        }
        abi.uniforms.push(slot);
        word = end;
        true
    };
    let states = m.textures.keys().filter(|t| used_tex.contains(t)).count() as u32;
    let room = UNIFORM_REGS.min((SA_LIMIT as u32 - OTHER_REGS).saturating_sub(4 * states));
    let mut later = Vec::new();
    for (u, _) in m.uniforms.iter().filter(|(u, _)| used_uni.contains(u)) {
        if dynamic.contains(&u) || !place(&mut abi, u, false, room) {
            later.push(u);
        }
    }
    let regs = abi.uniforms.iter().map(|s| slot_end(m, s)).max().unwrap_or(0);
    for u in &later {
        if !place(&mut abi, *u, true, 1 << 14) {
            let d = &m.uniforms[*u];
            return Err(CompileError::limit(
                "U0101",
                d.span,
                "the uniforms do not fit the default uniform buffer",
                d.size() as u64 / 4,
                1 << 14,
            ));
        }
    }
    // Sizes are even, and what follows the uniforms follows at once.
    abi.buffer_words = abi.uniforms.iter().map(|s| slot_end(m, s)).max().unwrap_or(0).next_multiple_of(2);
    abi.buffer_regs = regs.next_multiple_of(2) as u16;
    let mut sa = abi.buffer_regs;
    abi.data = sa;
    if kills || abi.depth.is_some() {
        abi.kill_literal = Some(sa);
        // Texture state begins at an even register.
        sa += 1 + (states > 0) as u16;
    }
    let mut unit = 0;
    for (t, d) in m.textures.iter() {
        let early: Vec<_> = direct.iter().filter(|x| x.0 == t).copied().collect();
        for (_, input, element, half) in &early {
            let location = if let Binding::Location(l) = m.inputs[*input].binding { l + element } else { 0 };
            let coord = location as u8;
            // A read that stands twice is made once.
            if !abi.preloaded.iter().any(|p| p.texture == t && p.coord == coord && p.half == *half) {
                abi.preloaded.push(Preloaded { texture: t, unit, input: (*input, *element), coord, pa: 0, half: *half });
            }
        }
        if !used_tex.contains(&t) && !early.is_empty() {
            unit += 1;
        }
        if used_tex.contains(&t) {
            if d.arrayed || d.shadow || d.multisampled || d.kind != Scalar::F32 {
                let what = if d.shadow {
                    "comparison"
                } else if d.arrayed {
                    "array"
                } else if d.multisampled {
                    "multisampled"
                } else {
                    "integer"
                };
                return Err(unsupported(d.span, format!("`{}`: the machine has no {what} textures", d.name)));
            }
            abi.textures.push((t, unit, sa));
            sa += 4;
            unit += 1;
        }
    }
    // Texels stand before the iterated inputs.
    let mut texels = 0;
    for p in &mut abi.preloaded {
        p.pa = texels;
        texels += if p.half { 2 } else { 4 };
    }
    if texels > 0 {
        for s in &mut abi.inputs {
            s.pa += texels;
        }
        let inputs = abi.inputs.iter().map(|s| s.pa + s.regs).max().unwrap_or(texels);
        abi.pa = abi.pa.max(inputs);
    }
    if unit > 16 {
        return Err(CompileError::limit("U0102", Span::NONE, "too many textures", unit as u64, 16));
    }
    if !later.is_empty() {
        abi.buffer_base = Some(sa);
        sa += 1;
    }
    abi.free = sa;
    if sa > SA_LIMIT {
        return Err(CompileError::Internal(format!("{sa} secondary attributes are laid out, there are {SA_LIMIT}")));
    }
    Ok(abi)
}

fn slot_end(m: &Module, s: &UniformSlot) -> u32 {
    let d = &m.uniforms[s.uniform];
    let n = d.elements().max(1);
    match (s.declared, n) {
        (true, _) => s.word + d.size().div_ceil(4),
        (_, 1) => s.word + d.ty.lanes as u32,
        _ => s.word + n * s.stride,
    }
}

fn vertex(m: &Module, abi: &mut Abi, used_in: &[Input], used_out: &[Output]) -> Result<(), CompileError> {
    let mut pa = 0;
    for (i, d) in m.inputs.iter().filter(|(i, _)| used_in.contains(i)) {
        match d.binding {
            Binding::Location(_) => {
                for element in 0..d.count.max(1) {
                    abi.inputs.push(InputSlot { input: i, element, pa, regs: 4, lanes: d.ty.lanes, iterated: None, half: false });
                    pa += 4;
                }
            }
            Binding::Builtin(b @ (Builtin::VertexIndex | Builtin::InstanceIndex)) => {
                let _ = b;
            }
            Binding::Builtin(b) => return Err(unsupported(d.span, format!("vertex programs cannot read `{}`", b.name()))),
        }
    }
    for (i, d) in m.inputs.iter().filter(|(i, _)| used_in.contains(i)) {
        let which = match d.binding {
            Binding::Builtin(Builtin::VertexIndex) => 0,
            Binding::Builtin(Builtin::InstanceIndex) => 1,
            _ => continue,
        };
        abi.indices[which] = Some(pa);
        abi.inputs.push(InputSlot { input: i, element: 0, pa, regs: 1, lanes: 1, iterated: None, half: false });
        pa += 1;
    }
    abi.pa = pa;
    let mut reg = 4;
    for (o, d) in m.outputs.iter() {
        if d.binding == Binding::Builtin(Builtin::Position) {
            abi.outputs.push(OutputSlot { output: o, element: 0, reg: 0, lanes: d.ty.lanes, coord: None });
        }
    }
    let mut varyings: Vec<(u32, Output)> = m
        .outputs
        .iter()
        .filter(|(o, _)| used_out.contains(o))
        .filter_map(|(o, d)| if let Binding::Location(l) = d.binding { Some((l, o)) } else { None })
        .collect();
    varyings.sort();
    let mut coord = 0;
    for (location, o) in varyings {
        let d = &m.outputs[o];
        if !d.ty.is_float() {
            return Err(unsupported(d.span, format!("`{}`: the machine interpolates floats only", d.name)));
        }
        coord = coord.max(location);
        for element in 0..d.count.max(1) {
            if coord >= 10 {
                return Err(CompileError::limit(
                    "U0104",
                    d.span,
                    format!("`{}` needs texture coordinate {coord}", d.name),
                    coord as u64 + 1,
                    10,
                ));
            }
            abi.outputs.push(OutputSlot { output: o, element, reg, lanes: d.ty.lanes, coord: Some(coord as u8) });
            reg += d.ty.lanes.max(2) as u16;
            coord += 1;
        }
    }
    for (o, d) in m.outputs.iter().filter(|(o, _)| used_out.contains(o)) {
        if let Binding::Builtin(b) = d.binding {
            match b {
                Builtin::Position => {}
                Builtin::PointSize => {
                    abi.outputs.push(OutputSlot { output: o, element: 0, reg, lanes: 1, coord: None });
                    reg += 1;
                }
                Builtin::ClipDistance => {}
                _ => return Err(unsupported(d.span, format!("vertex programs cannot write `{}`", b.name()))),
            }
        }
    }
    for (o, d) in m.outputs.iter().filter(|(o, _)| used_out.contains(o)) {
        if d.binding == Binding::Builtin(Builtin::ClipDistance) {
            for element in 0..d.count.max(1) {
                abi.outputs.push(OutputSlot { output: o, element, reg, lanes: d.ty.lanes, coord: None });
                reg += d.ty.lanes as u16;
            }
        }
    }
    abi.o = reg;
    Ok(())
}

/// Whether every read of an input is converted to f16 at once.
fn only_as_half(m: &Module, input: Input) -> bool {
    let f = m.main();
    let mut reads = Vec::new();
    for (_, i) in f.ordered() {
        if matches!(f.insts[i].imm, Imm::Mem { var: MemRef::Input(v), .. } if v == input) {
            reads.extend(f.result(i));
        }
    }
    f.ordered().all(|(_, i)| {
        let d = &f.insts[i];
        !f.reads(i).iter().any(|v| reads.contains(v))
            || (d.op == Opcode::Fcvt && d.results.first().is_some_and(|r| f.ty(*r).scalar == Scalar::F16))
    })
}

fn fragment(m: &Module, abi: &mut Abi, used_in: &[Input], used_out: &[Output], options: &Options) -> Result<(), CompileError> {
    let mut pa = 0;
    let mut slots = Vec::new();
    for (i, d) in m.inputs.iter().filter(|(i, _)| used_in.contains(i)) {
        let iterated = match d.binding {
            Binding::Location(l) if l < 10 => Iterated::TexCoord(l as u8),
            Binding::Location(l) => {
                return Err(CompileError::limit("U0104", d.span, format!("`{}` needs texture coordinate {l}", d.name), l as u64 + 1, 10));
            }
            Binding::Builtin(Builtin::Position) => Iterated::Position,
            Binding::Builtin(Builtin::PointCoord) => Iterated::Sprite,
            Binding::Builtin(b) => return Err(unsupported(d.span, format!("fragment programs cannot read `{}`", b.name()))),
        };
        if !d.ty.is_float() {
            return Err(unsupported(d.span, format!("`{}`: the machine interpolates floats only", d.name)));
        }
        for element in 0..d.count.max(1) {
            let iterated = if let Iterated::TexCoord(l) = iterated { Iterated::TexCoord(l + element as u8) } else { iterated };
            let half = matches!(iterated, Iterated::TexCoord(_))
                && (d.ty.scalar == Scalar::F16 || (options.relaxed_precision && only_as_half(m, i)));
            let regs =
                if half { d.ty.lanes.max(2) as u16 / 2 + (d.ty.lanes as u16 & (d.ty.lanes > 1) as u16) } else { d.ty.lanes.max(2) as u16 };
            slots.push(InputSlot { input: i, element, pa: 0, regs, lanes: d.ty.lanes, iterated: Some(iterated), half });
        }
    }
    // Even sizes first keeps pairs aligned.
    slots.sort_by_key(|s| s.regs % 2);
    for mut s in slots {
        s.pa = pa;
        pa += s.regs;
        abi.inputs.push(s);
    }
    abi.pa = pa;
    let mut colour = None;
    for (o, d) in m.outputs.iter().filter(|(o, _)| used_out.contains(o)) {
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
    let declared_half = colour.is_some_and(|o| m.outputs[o].ty.scalar == Scalar::F16);
    abi.colour = if declared_half { ColorFormat::F16 } else { options.color_format };
    if let Some(o) = colour {
        let lanes = m.outputs[o].ty.lanes;
        abi.outputs.push(OutputSlot { output: o, element: 0, reg: 0, lanes, coord: None });
        abi.pa = abi.pa.max(if abi.colour == ColorFormat::F32 { 4 } else { 2 });
    }
    if let Some(o) = abi.depth {
        abi.outputs.push(OutputSlot { output: o, element: 0, reg: 0, lanes: 1, coord: None });
    }
    Ok(())
}
