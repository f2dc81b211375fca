//! The container of a compiled program: what its layout and its words say, as the vendor's files say it.
//!
//! Facts: the ISA sheet's section 19; where ours differ from published files stands in `tests/published.rs`.

use super::*;
use crate::abi::{Abi, BufferSlot, InputSlot, Preloaded, Started, UniformSlot, Varying};
use crate::emit::{Literals, flags};
use crate::isa::forms::{KILL, PHAS, SMP, field};
use crate::isa::word::Word;
use retroshade_ir::*;
use retroshade_lower::ColorFormat;
use retroshade_lower::reflect::uniform_leaves;

/// A program that is ready to be packed.
pub struct Program<'a> {
    /// The legalised module.
    pub module: &'a Module,
    /// Where its interface lives.
    pub abi: &'a Abi,
    /// The primary program.
    pub primary: &'a [Word],
    /// Its encoded words.
    pub words: &'a [u64],
    /// The secondary program's encoded words.
    pub secondary: &'a [u64],
    /// Literals in secondary attributes.
    pub literals: &'a Literals,
    /// Temporaries.
    pub temps: u16,
    /// Primary attributes in use, those of the inputs among them.
    pub attributes: u16,
}

impl Program<'_> {
    fn vertex(&self) -> bool {
        self.module.stage == Stage::Vertex
    }

    /// How the results of a texture are taken: [`TAKEN_F32`], [`TAKEN_F16`] or both.
    fn taken(&self, texture: Texture) -> u8 {
        let as_type = |half: bool| if half { TAKEN_F16 } else { TAKEN_F32 };
        let early = self.abi.preloaded.iter().filter(|p| p.texture == texture).map(|p| as_type(p.half));
        let state = self.abi.textures.iter().find(|t| t.0 == texture).map(|t| t.2 as u64);
        let reads = self.primary.iter().filter(|w| w.form() == SMP && Some(2 * w.get(field!(src1_n))) == state);
        early.chain(reads.map(|w| as_type(w.get(field!(fconv_type)) == 2))).fold(0, |all, t| all | t)
    }

    /// Textures in use with their units, in the order of the units.
    fn units(&self) -> Vec<(Texture, u8)> {
        let all = self.abi.textures.iter().map(|t| (t.0, t.1)).chain(self.abi.preloaded.iter().map(|p| (p.texture, p.unit)));
        let mut units: Vec<(Texture, u8)> = all.collect();
        units.sort_by_key(|u| u.1);
        units.dedup();
        units
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut out = Vec::new();
        for s in self.abi.inputs.iter().filter(|_| self.vertex()) {
            let d = &self.module.inputs[s.input];
            // The vertex and the instance index are flags, not parameters.
            let Binding::Location(l) = d.binding else { continue };
            out.push(Parameter {
                name: crate::sim::load::attribute_name(d, s.element),
                category: ATTRIBUTE,
                ty: type_code(d.ty.scalar, &d.source_type),
                // Streams are converted to four components, whatever the program reads of them.
                components: 4,
                semantic: 1,
                semantic_index: l as u8 + s.element as u8,
                array: 1,
                resource: s.pa as u32,
                container: 0,
            });
        }
        self.abi.uniforms.slots.iter().for_each(|s| self.uniform(s, &mut out));
        for b in self.abi.uniforms.buffers.iter().filter(|b| b.index != DEFAULT_BUFFER) {
            out.push(Parameter {
                name: b.name.clone(),
                category: UNIFORM_BUFFER,
                ty: AGGREGATE,
                container: b.index as u8,
                array: 4 * b.words,
                resource: b.index as u32,
                ..Parameter::default()
            });
        }
        for (t, unit) in self.units() {
            let d = &self.module.textures[t];
            out.push(Parameter {
                name: d.name.clone(),
                category: SAMPLER,
                components: 4,
                semantic: self.taken(t),
                semantic_index: if d.dim == TexDim::Cube { 16 } else { 0 },
                array: 1,
                resource: unit as u32,
                ..Parameter::default()
            });
        }
        out
    }

    fn uniform(&self, s: &UniformSlot, out: &mut Vec<Parameter>) {
        let d = &self.module.uniforms[s.uniform];
        let leaves = uniform_leaves(d);
        let each = d.elements().max(1) / leaves.len().max(1) as u32;
        let parameter = |name: String, element: u32, array: u32| Parameter {
            name,
            category: UNIFORM,
            ty: type_code(d.ty.scalar, &d.source_type),
            components: d.ty.lanes,
            container: s.buffer as u8,
            array,
            resource: s.element(d, element),
            ..Parameter::default()
        };
        for (leaf, first) in leaves.iter().zip((0..).step_by(each.max(1) as usize)) {
            // The Vita API steps through arrays by its own stride; members of structures with computed indices have another.
            if each < 2 || s.element(d, first + 1) - s.element(d, first) == s.stride {
                out.push(parameter(leaf.name.clone(), first, each));
            } else {
                out.extend((0..each).map(|k| parameter(format!("{}[{k}]", leaf.name), first + k, 1)));
            }
        }
    }

    fn vertex_varyings(&self) -> Varyings {
        let mut attributes = 0u64;
        // The indices have fields of their own.
        for s in self.abi.inputs.iter().filter(|s| !self.abi.indices.contains(&Some(s.pa))) {
            for k in 0..s.lanes.max(1) as u32 {
                attributes |= 1u64.checked_shl(s.pa as u32 + k).unwrap_or(0);
            }
        }
        // The position is always there.
        let (mut outputs1, mut outputs2, mut clip) = (1u32 << 12 | (self.abi.o as u32) << 24, 0u32, 0);
        for s in &self.abi.outputs {
            match (s.varying, &self.module.outputs[s.output].binding) {
                (Some(Varying::TexCoord(t)), _) => outputs2 |= [1, 1, 1, 3, 7][s.lanes as usize] << (3 * t),
                (Some(Varying::Color(n)), _) => outputs1 |= 1 << (11 - n),
                (Some(Varying::Fog), _) => outputs1 |= 1 << 9,
                (_, Binding::Builtin(Builtin::PointSize)) => outputs1 |= 1 << 8,
                (_, Binding::Builtin(Builtin::ClipDistance)) => {
                    outputs1 |= ((1 << s.lanes) - 1) << clip;
                    clip += s.lanes;
                }
                _ => {}
            }
        }
        let [vertex_index, instance_index] = self.abi.indices.map(|i| i.unwrap_or(0));
        Varyings::Vertex { attributes, untyped: 0, outputs1, outputs2, half: 0, vertex_index, instance_index }
    }

    /// The attribute part of a descriptor.
    fn iterated(&self, s: &InputSlot, last: bool, d: &mut Descriptor) {
        let components = |n: u8| (n as u32 - 1) << 22;
        let source = match s.varying {
            Some(Varying::TexCoord(t)) => (t as u32) << 12 | components(s.lanes.max(2)),
            // Floats have a bit of their own here: without it a colour is bytes.
            Some(Varying::Color(n)) => (0xa + n as u32) << 12 | components(4) | (!s.half as u32) << 20,
            Some(Varying::Fog) => 0xc << 12,
            Some(Varying::Position) => 0xd << 12 | components(4),
            Some(Varying::Sprite) => 0xf << 12 | 1 << 30 | components(2),
            None => 0,
        };
        let ty = if s.half { 2 << 28 } else { 0 };
        let centroid = (self.module.inputs[s.input].sampling == Sampling::Centroid) as u32;
        d.info |= centroid << 4 | 0b11 << 26 | source | ty | (last as u32) << 25;
        d.size |= (s.regs as u32 - 1) << 4;
    }

    fn fragment_varyings(&self) -> Varyings {
        let abi = self.abi;
        // The last descriptors with a texture part and with an attribute part are marked.
        let texels = abi.preloaded.len();
        let last = abi.started.iter().rev().find_map(|s| s.input);
        let descriptor = |s: &Started| {
            let mut d = Descriptor { info: 0, unit: 0, size: 0, result: 0 };
            match s.input {
                Some(n) => self.iterated(&abi.inputs[n], last == Some(n), &mut d),
                None => d.info |= 0xf << 12,
            }
            match s.texel {
                Some(n) => early_texel(&abi.preloaded[n], n + 1 == texels, &mut d),
                None => d.info |= 0xf,
            }
            d
        };
        let colour = abi.outputs.iter().find(|s| Some(s.output) != abi.depth);
        Varyings::Fragment {
            output_start: 0,
            output_type: match (colour, abi.colour) {
                // Published programs without a colour say bytes.
                (None, _) | (_, ColorFormat::U8) => 7,
                (_, ColorFormat::F16 | ColorFormat::Auto) => 1,
                (_, ColorFormat::F32) => 0,
            },
            components: colour.map_or(4, |c| c.lanes),
            textures: abi.preloaded.len() as u16,
            descriptors: abi.started.iter().map(descriptor).collect(),
        }
    }

    fn flags(&self) -> u32 {
        let abi = self.abi;
        let sprite = abi.inputs.iter().any(|s| s.varying == Some(Varying::Sprite));
        let colour = abi.outputs.iter().any(|s| Some(s.output) != abi.depth);
        let always: &[(u32, bool)] =
            &[(flag::SDK3, true), (flag::PER_INSTANCE, flags::per_instance(self.primary)), (flag::DEPTH, abi.depth.is_some())];
        let own: &[(u32, bool)] = match self.vertex() {
            true => {
                &[(flag::VERTEX, true), (flag::VERTEX_INDEX, abi.indices[0].is_some()), (flag::INSTANCE_INDEX, abi.indices[1].is_some())]
            }
            false => &[
                (flag::FRAGMENT, true),
                (flag::KILL, self.primary.iter().any(|w| w.form() == KILL)),
                (flag::SPRITE, sprite),
                (flag::NATIVE_COLOUR | flag::READS_COLOUR | flag::WITH_NATIVE, abi.native),
                (flag::TEXELS, !abi.preloaded.is_empty()),
                (flag::ITERATED, !abi.inputs.is_empty()),
                (flag::NO_COLOUR, !colour),
            ],
        };
        always.iter().chain(own).filter(|f| f.1).fold(0, |all, f| all | f.0)
    }
}

/// The texture part of a descriptor: coordinate set, two components.
fn early_texel(p: &Preloaded, last: bool, d: &mut Descriptor) {
    d.info |= p.coord as u32 | 1 << 8 | (last as u32) << 11;
    d.unit = p.unit as u32;
    d.size |= if p.half { 0x40 } else { 0xc0 };
    d.result = if p.half { 0x20 } else { 0x30 };
}

/// The container of a program.
pub fn package(p: &Program) -> Gxp {
    let abi = p.abi;
    let data = abi.data;
    let sa = p.literals.first + p.literals.values.len() as u16;
    let mut literals: Vec<(u32, u32)> = abi.kill_literal.iter().map(|n| ((*n - data) as u32, 0xe000)).collect();
    literals.extend((0..).zip(&p.literals.values).map(|(n, v)| (p.literals.first as u32 + n - data as u32, *v)));
    let dependent = abi.textures.iter().flat_map(|(_, unit, first)| (0..4).map(move |word| (*unit as u16 * 4 + word, first - data + word)));
    let read_before = abi.preloaded.iter().map(|p| (p.unit, 1)).chain(abi.textures.iter().map(|t| (t.1, 2)));
    let buffers = &abi.uniforms.buffers;
    // A buffer is loaded, or read from memory, or both.
    let held = |b: &&BufferSlot| b.loaded.1 > 0 || b.index == DEFAULT_BUFFER;
    let mut containers: Vec<(u16, u16, u16)> = buffers.iter().filter(held).map(|b| (b.index, b.loaded.0, b.loaded.1)).collect();
    let how = |b: &BufferSlot| (b.loaded.1 > 0) as u32 | (b.base.is_some() as u32) << 1;
    if sa > data {
        containers.push((DATA, data, sa - data));
    }
    let mut queries = vec![0; if p.units().is_empty() { 0 } else { UNITS }];
    p.units().iter().for_each(|(t, unit)| queries[*unit as usize] = 0x0300 | p.taken(*t) as u16);
    Gxp {
        minor: 5,
        sdk: SDK,
        compiler: COMPILER,
        flags: p.flags(),
        buffer_flags: buffers.iter().fold(0, |all, b| all | how(b) << (2 * b.index)),
        texunit_flags: read_before.fold(0, |all, (unit, how)| all | how << (4 * unit)),
        primary_regs: p.attributes,
        secondary_regs: sa,
        temps: p.temps as u32,
        phases: (0..).zip(p.primary).filter(|(_, w)| w.form() == PHAS).map(|(n, _)| n).collect(),
        primary: p.words.to_vec(),
        secondary: p.secondary.to_vec(),
        data_count: sa.saturating_sub(data) as u32,
        default_words: abi.uniforms.buffer(DEFAULT_BUFFER).map_or(0, |b| b.words),
        parameters: p.parameters(),
        varyings: if p.vertex() { p.vertex_varyings() } else { p.fragment_varyings() },
        literals,
        uniform_buffers: buffers.iter().filter_map(|b| Some((b.index, b.base? - data, -4))).collect(),
        dependent_samplers: dependent.collect(),
        containers,
        queries,
    }
}

fn type_code(d: Scalar, source: &Option<String>) -> u8 {
    match d {
        Scalar::F32 | Scalar::F16 => 0,
        _ if source.as_deref() == Some("u32") => 3,
        _ => 4,
    }
}
