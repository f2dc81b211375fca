//! What a container alone says about its program: names, types and registers of everything that goes in and comes out.
//!
//! The declarations are those of a module without code, so that a bind file is read by the container's own names: attributes,
//! uniforms and samplers by their parameters, varyings as `texcoord0`, `color0`, `fog`, `position`. Facts: the ISA sheet's
//! sections 17.1, 17.2 and 19.

use crate::abi::varyings::{COLOR, FOG};
use crate::container::{ATTRIBUTE, Descriptor, Gxp, Parameter, SAMPLER, UNIFORM, Varyings, flag};
use crate::isa::forms::{SMP, decode, field};
use crate::isa::operands::{Role, operand, read_operand, value};
use crate::legal::sizes;
use retroshade_ir::{
    Builtin, Dim, Input, IoDecl, Module, Output, Scalar, Span, Stage, TexDim, Texture, TextureDecl, Type, Uniform, UniformDecl,
};
use retroshade_lower::TextError;

/// How a component stands in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One register each.
    Word,
    /// One register each, of which half precision is kept.
    Rounded,
    /// Two halves in a register.
    Half,
    /// Integers of 16 bits, two in a register.
    Short,
    /// Integers of 8 bits, four in a register.
    Byte,
    /// Fractions of 255, four in a register.
    Colour,
    /// Signed fractions of 10 bits, three in a register.
    Fixed,
}

/// An input and the registers that it goes to.
#[derive(Clone, Copy, Debug)]
pub struct Feed {
    /// The declaration.
    pub input: Input,
    /// The bank and its first register.
    pub to: Source,
    /// Components.
    pub lanes: u8,
    /// How they stand there.
    pub format: Format,
}

/// A texture read that is made before the program starts.
#[derive(Clone, Copy, Debug)]
pub struct Texel {
    /// The coordinate.
    pub coord: Input,
    /// 1 xy, 2 divided by w, 3 divided by z (a cube: three components).
    pub form: u8,
    /// The texture.
    pub texture: Texture,
    /// First register of the result.
    pub pa: u16,
    /// How the result stands there.
    pub format: Format,
}

/// A uniform's place in its buffer.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The declaration.
    pub uniform: Uniform,
    /// Buffer: 14 is the default uniform buffer.
    pub buffer: u8,
    /// First word.
    pub word: u32,
    /// Words from one element to the next.
    pub stride: u32,
}

/// Where a result is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Output registers from this one on.
    O(u16),
    /// Attribute registers from this one on.
    Pa(u16),
    /// The replaced depth.
    Depth,
}

/// A result of the program.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// The declaration.
    pub output: Output,
    /// Where.
    pub from: Source,
    /// Components.
    pub lanes: u8,
    /// How they stand there.
    pub format: Format,
}

/// The interface of a program.
#[derive(Clone, Debug)]
pub struct Interface {
    /// The declarations; the module has no code.
    pub module: Module,
    /// Inputs.
    pub feeds: Vec<Feed>,
    /// Texture reads before the start.
    pub texels: Vec<Texel>,
    /// Uniforms.
    pub places: Vec<Place>,
    /// The unit of each texture.
    pub units: Vec<u32>,
    /// Results.
    pub drains: Vec<Drain>,
}

fn bad(what: impl Into<String>) -> TextError {
    TextError::new(what)
}

/// The declared type of a parameter: what a bind file gives, how it stands in registers, how the source spells it.
fn typed(p: &Parameter) -> Option<(Scalar, Format, Option<&'static str>)> {
    Some(match p.ty {
        0 => (Scalar::F32, Format::Word, None),
        1 => (Scalar::F32, Format::Half, None),
        2 => (Scalar::F32, Format::Fixed, None),
        3 => (Scalar::I32, Format::Word, Some("u32")),
        4 => (Scalar::I32, Format::Word, None),
        5 => (Scalar::I32, Format::Short, Some("u32")),
        6 => (Scalar::I32, Format::Short, None),
        7 => (Scalar::I32, Format::Byte, Some("u32")),
        8 => (Scalar::I32, Format::Byte, None),
        _ => return None,
    })
}

/// Reads the interface of a container.
pub fn of(g: &Gxp) -> Result<Interface, TextError> {
    let stage = if g.is_fragment() { Stage::Fragment } else { Stage::Vertex };
    let mut i = Interface {
        module: Module::new("gxp", stage),
        feeds: Vec::new(),
        texels: Vec::new(),
        places: Vec::new(),
        units: Vec::new(),
        drains: Vec::new(),
    };
    for p in g.parameters.iter().filter(|p| p.category == UNIFORM && p.ty != 9) {
        let (scalar, format, source) = typed(p).ok_or_else(|| bad(format!("uniform `{}` has an unknown type", p.name)))?;
        if format != Format::Word {
            return Err(bad(format!("uniform `{}`: uniforms that do not take whole words are not modelled", p.name)));
        }
        let (lanes, step) = (p.components.clamp(1, 4), p.stride());
        let dims = if p.array > 1 { vec![Dim { count: p.array, stride: 4 * step }] } else { Vec::new() };
        if p.array > 1 << 16 {
            return Err(bad(format!("uniform `{}` has {} elements", p.name, p.array)));
        }
        let uniform = i.module.uniforms.push(UniformDecl {
            name: p.name.clone(),
            ty: Type::new(scalar, lanes),
            dims,
            matrix: false,
            rows: false,
            unit: 4 * step,
            group: 0,
            binding: p.container as u32,
            offset: 4 * p.resource.min(1 << 20),
            range: None,
            source_type: source.map(str::to_string),
            size_of: None,
            span: Span::NONE,
        });
        i.places.push(Place { uniform, buffer: p.container, word: p.resource.min(1 << 20), stride: step });
    }
    for p in g.parameters.iter().filter(|p| p.category == SAMPLER) {
        let texture = i.texture(g, &p.name, p.resource, p.semantic_index & 16 != 0);
        let size = i.module.uniforms.values_mut().find(|d| sizes::texture(&d.name) == Some(&p.name) && d.ty == sizes::SIZE);
        if let Some(size) = size.filter(|d| d.dims.is_empty()) {
            size.size_of = Some(texture);
        }
    }
    match &g.varyings {
        Varyings::Vertex { outputs1, outputs2, half, vertex_index, instance_index, .. } => {
            i.attributes(g, [*vertex_index, *instance_index])?;
            i.vertex_outputs(*outputs1, *outputs2, *half);
        }
        Varyings::Fragment { output_start, output_type, components, descriptors, .. } => {
            let mut pa = 0;
            for d in descriptors {
                pa = i.descriptor(g, d, pa)?;
            }
            i.fragment_outputs(g, *output_start, *output_type, *components)?;
        }
    }
    Ok(i)
}

impl Interface {
    /// The texture of a unit, declared if no parameter names it.
    fn texture(&mut self, g: &Gxp, name: &str, unit: u32, cube: bool) -> Texture {
        if let Some(n) = self.units.iter().position(|u| *u == unit) {
            return Texture::from_u32(n as u32);
        }
        self.units.push(unit);
        let dim = if cube { TexDim::Cube } else { dimensions(g, unit) };
        self.module.textures.push(TextureDecl::new(name, dim, unit))
    }

    fn attributes(&mut self, g: &Gxp, indices: [u16; 2]) -> Result<(), TextError> {
        for (location, p) in (0..).zip(g.parameters.iter().filter(|p| p.category == ATTRIBUTE && !matches!(p.semantic, 15 | 16))) {
            let (scalar, format, source) = typed(p).ok_or_else(|| bad(format!("attribute `{}` has an unknown type", p.name)))?;
            let lanes = p.components.clamp(1, 4);
            let mut d = IoDecl::at_location(&p.name, Type::new(scalar, lanes), location);
            d.source_type = source.map(str::to_string);
            let input = self.module.inputs.push(d);
            self.feeds.push(Feed { input, to: Source::Pa(p.resource.min(255) as u16), lanes, format });
        }
        for (k, builtin) in [Builtin::VertexIndex, Builtin::InstanceIndex].into_iter().enumerate() {
            if g.flags >> (17 + k) & 1 == 1 {
                let mut d = IoDecl::builtin(Type::new(Scalar::I32, 1), builtin);
                d.source_type = Some("u32".to_string());
                let input = self.module.inputs.push(d);
                self.feeds.push(Feed { input, to: Source::Pa(indices[k]), lanes: 1, format: Format::Word });
            }
        }
        Ok(())
    }

    fn drain(&mut self, decl: IoDecl, from: Source, format: Format) {
        let lanes = decl.ty.lanes * decl.count.max(1) as u8;
        let output = self.module.outputs.push(decl);
        self.drains.push(Drain { output, from, lanes, format });
    }

    /// Outputs in their order: position, colours, fog, texture coordinates, point size, clip distances.
    fn vertex_outputs(&mut self, one: u32, two: u32, half: u32) {
        let float = |n: u8| Type::new(Scalar::F32, n);
        self.drain(IoDecl::builtin(float(4), Builtin::Position), Source::O(0), Format::Word);
        let mut o = 4;
        for (bit, name, location, lanes, regs) in [(11, "color0", COLOR, 4, 4), (10, "color1", COLOR + 1, 4, 4), (9, "fog", FOG, 1, 2)] {
            if one >> bit & 1 == 1 {
                self.drain(IoDecl::at_location(name, float(lanes), location), Source::O(o), Format::Word);
                o += regs;
            }
        }
        for t in 0..10 {
            let bits = two >> (3 * t) & 7;
            if bits != 0 {
                let lanes = 1 + bits.count_ones() as u8;
                // The counts of the published program that has them say that halves take as many registers as floats.
                let format = if half >> t & 1 == 1 { Format::Rounded } else { Format::Word };
                self.drain(IoDecl::at_location(&format!("texcoord{t}"), float(lanes), t), Source::O(o), format);
                o += lanes as u16;
            }
        }
        if one >> 8 & 1 == 1 {
            self.drain(IoDecl::builtin(float(1), Builtin::PointSize), Source::O(o), Format::Word);
            o += 1;
        }
        let clips = (one & 0xff).count_ones();
        if clips > 0 {
            let d = IoDecl { count: clips, ..IoDecl::builtin(float(1), Builtin::ClipDistance) };
            self.drain(d, Source::O(o), Format::Word);
        }
    }

    /// The declaration of an iterated input, with at least this many components.
    fn varying(&mut self, kind: u32, lanes: u8) -> Result<Input, TextError> {
        let decl = match kind {
            0..=9 => IoDecl::at_location(&format!("texcoord{kind}"), Type::new(Scalar::F32, lanes), kind),
            0xa => IoDecl::at_location("color0", Type::new(Scalar::F32, 4), COLOR),
            0xb => IoDecl::at_location("color1", Type::new(Scalar::F32, 4), COLOR + 1),
            0xc => IoDecl::at_location("fog", Type::new(Scalar::F32, 1), FOG),
            0xd => IoDecl::builtin(Type::new(Scalar::F32, 4), Builtin::Position),
            0x10 => IoDecl::builtin(Type::new(Scalar::F32, 2), Builtin::PointCoord),
            _ => return Err(bad(format!("an iterated input of unknown kind {kind}"))),
        };
        if let Some(i) = self.module.inputs.keys().find(|i| self.module.inputs[*i].binding == decl.binding) {
            let ty = &mut self.module.inputs[i].ty;
            *ty = Type::new(ty.scalar, ty.lanes.max(decl.ty.lanes));
            return Ok(i);
        }
        Ok(self.module.inputs.push(decl))
    }

    /// One input descriptor: its iterated attribute, then its texture read. Gives the next register.
    fn descriptor(&mut self, g: &Gxp, d: &Descriptor, mut pa: u16) -> Result<u16, TextError> {
        let sprite = d.info >> 30 & 1 == 1;
        let kind = d.info >> 12 & 15;
        if sprite || kind != 15 {
            let lanes = (d.info >> 22 & 3) as u8 + 1;
            let input = self.varying(if sprite { 0x10 } else { kind }, lanes)?;
            let format = match (d.info >> 28 & 3, kind) {
                (2, _) => Format::Half,
                (1, _) => Format::Fixed,
                (0, 0xa | 0xb) if d.info >> 20 & 1 == 0 => Format::Colour,
                (0, _) => Format::Word,
                _ => return Err(bad("an iterated input of unknown type")),
            };
            self.feeds.push(Feed { input, to: Source::Pa(pa), lanes, format });
            pa = pa.saturating_add((d.size >> 4 & 3) as u16 + 1);
        }
        let set = d.info & 15;
        if set != 15 {
            let form = (d.info >> 8 & 3) as u8;
            let unit = d.unit & 15;
            let texture = self.texture(g, &format!("unit{unit}"), unit, false);
            let wide = match form {
                2 => 4,
                3 => 3,
                _ => 2,
            };
            let coord = self.varying(set, wide)?;
            let regs = (d.size >> 6 & 3) as u16 + 1;
            let format = match (d.result >> 4 & 3, regs) {
                (3, _) | (0, 4) => Format::Word,
                (2, _) | (0, 2) => Format::Half,
                // The texture's own format in one register: eight bits a component.
                (0, 1) => Format::Colour,
                _ => return Err(bad("a texture read with a result of unknown type")),
            };
            self.texels.push(Texel { coord, form, texture, pa, format });
            pa = pa.saturating_add(regs);
        }
        Ok(pa)
    }

    fn fragment_outputs(&mut self, g: &Gxp, start: u8, ty: u8, components: u8) -> Result<(), TextError> {
        // Without the flag the program has a colour.
        if g.flags >> 16 & 1 == 0 {
            let format = match ty {
                0 => Format::Word,
                1 => Format::Half,
                2 => Format::Fixed,
                7 => Format::Colour,
                _ => return Err(bad(format!("a colour of type {ty} is not modelled"))),
            };
            let decl = IoDecl::at_location("color", Type::new(Scalar::F32, components.clamp(1, 4)), 0);
            let native = g.flags & flag::NATIVE_COLOUR != 0;
            let place = if native { Source::O(start as u16) } else { Source::Pa(start as u16) };
            if g.flags & flag::READS_COLOUR != 0 {
                let lanes = decl.ty.lanes;
                let input = self.module.inputs.push(IoDecl::builtin(Type::new(Scalar::F32, 4), Builtin::LastColor));
                self.feeds.push(Feed { input, to: place, lanes, format });
            }
            self.drain(decl, place, format);
        }
        if g.flags >> 4 & 1 == 1 {
            self.drain(IoDecl::builtin(Type::new(Scalar::F32, 1), Builtin::FragDepth), Source::Depth, Format::Word);
        }
        Ok(())
    }
}

/// How many dimensions the program's reads of a unit have.
fn dimensions(g: &Gxp, unit: u32) -> TexDim {
    let data = g.base(19).unwrap_or(0);
    let Some(first) = g.dependent_samplers.iter().find(|d| Some(d.0 as u32) == unit.checked_mul(4)).map(|d| data.wrapping_add(d.1)) else {
        return TexDim::D2;
    };
    for w in &g.primary {
        let Some(d) = decode(*w) else { continue };
        let state = operand(SMP, Role::Src1).map(|o| read_operand(&d, o).reg.n);
        if d.form == SMP && state == Some(first) {
            return [TexDim::D1, TexDim::D2, TexDim::D3, TexDim::D2][value(&d, field!(dim)) as usize & 3];
        }
    }
    TexDim::D2
}
