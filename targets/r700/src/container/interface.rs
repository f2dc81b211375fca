//! What a Wii U file alone says about its programs: declarations, and where each of them lives.
//!
//! GX2's structures name attributes, uniforms and samplers. Varyings are numbers (`varying5`), colours of a pixel program
//! `color0` and so on; everything about them follows from the register words, as the GPU itself reads them.

use super::gsh::{self, Head, Kind, Variable};
use crate::abi::{Abi, DEPTH_TARGET, InputPlace, MOST_BLOCK_BYTES, OutputPlace, Platform, REGISTER_FILE, RING};
use crate::isa::forms::{Format, exp_buf, field, tex};
use crate::isa::program::{Clause, Program, words_of};
use crate::isa::word::{COORD_TYPE, DST_SEL, SRC_SEL, Word};
use retroshade_ir::types::{F32, I1, I32};
use retroshade_ir::{
    Binding, Builtin, Dim, Interpolation, IoDecl, Module, Sampling, Scalar, Span, Stage, TexDim, TextureDecl, Type, UniformDecl,
};
use retroshade_lower::TextError;
use std::collections::BTreeSet;

/// Position, parameters: kinds of exports.
const POSITION: u8 = 1;
const PARAMETER: u8 = 2;
/// A parameter that nobody reads.
const NO_SEMANTIC: u32 = 0xff;

/// A program of a file.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Its declarations; the module has no code.
    pub module: Module,
    /// Where they live.
    pub abi: Abi,
    /// Microcode.
    pub code: &'a [u8],
    /// Whether it reads or writes a ring, as programs around a geometry program do.
    pub ring: bool,
}

fn bad(message: impl Into<String>) -> TextError {
    TextError::new(message)
}

/// The programs of a file, named by kind and number: `vertex0`, `pixel0`, `geometry0`.
pub fn of(bytes: &[u8]) -> Result<Vec<Entry<'_>>, TextError> {
    let blocks = gsh::read(bytes).map_err(bad)?;
    let nth = |kind: Kind, n: usize| blocks.iter().filter(|b| b.0 == kind).nth(n).map(|b| b.1);
    let mut out: Vec<Entry<'_>> = Vec::new();
    for (header, program, name) in [
        (Kind::VertexHeader, Kind::VertexProgram, "vertex"),
        (Kind::PixelHeader, Kind::PixelProgram, "pixel"),
        (Kind::GeometryHeader, Kind::GeometryProgram, "geometry"),
    ] {
        for (n, data) in blocks.iter().filter(|b| b.0 == header).map(|b| b.1).enumerate() {
            let code = nth(program, n).ok_or_else(|| bad(format!("the {name} shader {n} has a header and no program")))?;
            let head = Head::new(header, data).map_err(bad)?;
            out.push(entry(&head, format!("{name}{n}"), code).map_err(|e| bad(format!("{name} shader {n}: {e}")))?);
        }
    }
    Ok(out)
}

fn entry<'a>(head: &Head<'_>, name: String, code: &'a [u8]) -> Result<Entry<'a>, String> {
    let program = words_of(code).and_then(|w| Program::decode(&w)).map_err(|e| e.message)?;
    let stage = match head.kind {
        Kind::VertexHeader => Stage::Vertex,
        Kind::PixelHeader => Stage::Fragment,
        _ => Stage::Geometry,
    };
    let mut i = Interface { module: Module::new(&name, stage), abi: Abi { platform: Platform::WiiU, ..Abi::default() } };
    i.uniforms(head)?;
    i.textures(head, &program)?;
    let ring = stage == Stage::Geometry || stage == Stage::Vertex && head.mode() == gsh::MODE_GEOMETRY;
    match stage {
        Stage::Vertex => {
            i.attributes(head, &program)?;
            if ring {
                i.ring_outputs(&program);
            } else {
                i.vertex_outputs(head);
            }
        }
        Stage::Fragment => {
            i.pixel_inputs(head)?;
            i.pixel_outputs(head);
        }
        _ => {
            i.ring_inputs(&program);
            i.vertex_outputs(head);
        }
    }
    Ok(Entry { module: i.module, abi: i.abi, code, ring })
}

/// Declarations and places under construction.
struct Interface {
    module: Module,
    abi: Abi,
}

/// A flag of a register word.
fn bit(word: u32, n: u32) -> bool {
    word >> n & 1 == 1
}

impl Interface {
    fn input(&mut self, d: IoDecl, gpr: u32, chan: u32, attribute: Option<u32>) {
        self.module.inputs.push(d);
        self.abi.inputs.push(InputPlace { gpr: gpr as u8, chan: chan as u8 });
        self.abi.attributes.push(attribute);
        self.abi.ring.push(None);
    }

    fn output(&mut self, d: IoDecl, kind: u8, base: u16, chan: u8) {
        self.module.outputs.push(d);
        self.abi.outputs.push(OutputPlace { kind, base, chan });
    }

    fn uniforms(&mut self, head: &Head<'_>) -> Result<(), String> {
        let blocks = head.blocks()?;
        for (name, v) in head.uniforms()? {
            let bad = |what: &str| format!("uniform `{name}` {what}");
            // No block: the constant file.
            let binding = match v.block {
                u32::MAX => REGISTER_FILE,
                n => blocks.get(n as usize).ok_or_else(|| bad("lies in a block that there is not"))?.1[0],
            };
            if binding > REGISTER_FILE {
                return Err(bad("lies in a block that GX2 does not have"));
            }
            let u = uniform(&name, &v, binding).ok_or_else(|| bad("has an unknown type"))?;
            if v.offset >= MOST_BLOCK_BYTES / 4 || v.count > MOST_BLOCK_BYTES / 16 || u.offset + u.size() > MOST_BLOCK_BYTES {
                return Err(bad("reaches beyond the 64 KB of a block"));
            }
            self.module.uniforms.push(u);
        }
        Ok(())
    }

    fn textures(&mut self, head: &Head<'_>, program: &Program) -> Result<(), String> {
        for (name, ty, unit) in head.samplers()? {
            let dim = match ty {
                gsh::SAMPLER_1D => TexDim::D1,
                gsh::SAMPLER_3D => TexDim::D3,
                gsh::SAMPLER_CUBE => TexDim::Cube,
                _ => TexDim::D2,
            };
            let mut decl = TextureDecl::new(&name, dim, unit);
            fetches(program).filter(|w| w.get(field!(RESOURCE_ID)) as u32 == unit).for_each(|w| refine(&mut decl, w));
            self.module.textures.push(decl);
            self.abi.units.push(unit);
        }
        Ok(())
    }

    /// Attributes by the semantic table: entry *n* is what the fetch shader puts into register *n* + 1.
    fn attributes(&mut self, head: &Head<'_>, program: &Program) -> Result<(), String> {
        let table = head.row("SQ_VTX_SEMANTIC_");
        for (name, ty, count, location) in head.attributes()? {
            // What the table does not name is not loaded, and so not read.
            let Some(n) = table.iter().position(|s| s & 0xff == location) else { continue };
            let (ty, source, _) = gsh::typed(ty).ok_or_else(|| format!("attribute `{name}` has an unknown type"))?;
            let count = count.clamp(1, table.len() as u32);
            let d = IoDecl { count, source_type: source.map(str::to_string), ..IoDecl::at_location(&name, ty, location) };
            self.input(d, n as u32 + 1, 0, Some(n as u32));
        }
        for (chan, builtin) in [(0, Builtin::VertexIndex), (3, Builtin::InstanceIndex)] {
            if reads_first(program, chan) {
                self.input(IoDecl::builtin(I32, builtin), 0, chan as u32, None);
            }
        }
        Ok(())
    }

    /// What the export stage writes of a vertex, by the slots of the ring.
    fn ring_outputs(&mut self, program: &Program) {
        let writes = program.cf.iter().filter(|w| w.form() == exp_buf::MEM_RING);
        let slots: BTreeSet<u64> =
            writes.flat_map(|w| (0..=w.get(field!(BURST_COUNT))).map(|b| w.get(field!(ARRAY_BASE)) / 4 + b)).collect();
        for slot in slots {
            self.output(in_ring(slot as u32), RING, slot as u16, 0);
        }
    }

    /// What a geometry program fetches of its vertices, by the slots of the ring.
    fn ring_inputs(&mut self, program: &Program) {
        let ring = self.abi.ring_resource();
        let own = fetched(program).filter(|w| w.info().format == Format::VtxGpr && w.get(field!(BUFFER_ID)) == ring);
        let slots: BTreeSet<u64> = own.map(|w| w.get(field!(OFFSET)) / 16).collect();
        for slot in slots {
            self.input(in_ring(slot as u32), 0, 0, None);
            if let Some(last) = self.abi.ring.last_mut() {
                *last = Some(slot as u32);
            }
        }
    }

    /// What goes to the rasteriser: position vectors without holes, parameters by their semantic numbers.
    fn vertex_outputs(&mut self, head: &Head<'_>) {
        let control = head.register("PA_CL_VS_OUT_CNTL");
        let builtin = |ty: Type, b: Builtin| IoDecl::builtin(ty, b);
        self.output(builtin(F32.with_lanes(4), Builtin::Position), POSITION, 60, 0);
        let misc = bit(control, 21);
        for (at, ty, b, chan) in [(16, F32, Builtin::PointSize, 0), (18, I32, Builtin::Layer, 2), (19, I32, Builtin::ViewportIndex, 3)] {
            if misc && bit(control, at) {
                self.output(builtin(ty, b), POSITION, 61, chan);
            }
        }
        // Distances that both clip and cull are clip distances here.
        let (clip, all) = (8 - (control as u8).leading_zeros(), 8 - (control as u8 | (control >> 8) as u8).leading_zeros());
        for (b, from, to) in [(Builtin::ClipDistance, 0, clip), (Builtin::CullDistance, clip, all)] {
            if from < to {
                let target = 61 + misc as u16 + (from / 4) as u16;
                self.output(IoDecl { count: to - from, ..builtin(F32, b) }, POSITION, target, from as u8 % 4);
            }
        }
        let count = (head.register("SPI_VS_OUT_CONFIG") >> 1 & 31) + 1;
        let bytes = head.row("SPI_VS_OUT_ID_").into_iter().flat_map(u32::to_le_bytes);
        for (p, semantic) in bytes.take(count as usize).enumerate().filter(|s| s.1 as u32 != NO_SEMANTIC) {
            self.output(varying(semantic as u32), PARAMETER, p as u16, 0);
        }
    }

    /// Input *n* arrives in register *n*, the position in the register of its own.
    fn pixel_inputs(&mut self, head: &Head<'_>) -> Result<(), String> {
        let (control, face) = (head.register("SPI_PS_IN_CONTROL_0"), head.register("SPI_PS_IN_CONTROL_1"));
        let position = bit(control, 8).then_some(control >> 10 & 31);
        for (n, w) in head.row("SPI_PS_INPUT_CNTL_").into_iter().enumerate().map(|(n, w)| (n as u32, w)) {
            let mut d = match position {
                Some(p) if p == n => IoDecl::builtin(F32.with_lanes(4), Builtin::Position),
                _ if bit(w, 17) => IoDecl::builtin(F32.with_lanes(2), Builtin::PointCoord),
                _ => varying(w & 0xff),
            };
            d.interpolation = match (bit(w, 10), bit(w, 12)) {
                (true, _) => Interpolation::Flat,
                (_, true) => Interpolation::Linear,
                _ => Interpolation::Perspective,
            };
            d.sampling = match (bit(w, 11), bit(w, 18)) {
                (true, _) => Sampling::Centroid,
                (_, true) => Sampling::Sample,
                _ => Sampling::Center,
            };
            self.input(d, n, 0, None);
        }
        if bit(face, 8) {
            if bit(face, 11) {
                return Err("FRONT_FACE_ALL_BITS is not modelled".to_string());
            }
            self.input(IoDecl::builtin(I1, Builtin::FrontFacing), face >> 12 & 31, face >> 9 & 3, None);
        }
        if bit(face, 24) {
            self.input(IoDecl::builtin(I32, Builtin::SampleIndex), face >> 25 & 31, 3, None);
        }
        Ok(())
    }

    /// Colours as the mask has them, depth and coverage in the vector behind them.
    fn pixel_outputs(&mut self, head: &Head<'_>) {
        let (mask, depth) = (head.register("CB_SHADER_MASK"), head.register("DB_SHADER_CONTROL"));
        for k in (0..8u32).filter(|k| mask >> (4 * k) & 15 != 0) {
            self.output(IoDecl::at_location(&format!("color{k}"), F32.with_lanes(4), k), 0, k as u16, 0);
        }
        if bit(depth, 0) {
            self.output(IoDecl::builtin(F32, Builtin::FragDepth), 0, DEPTH_TARGET, 0);
        }
        if bit(depth, 8) {
            self.output(IoDecl::builtin(I32, Builtin::SampleMask), 0, DEPTH_TARGET, 2);
        }
    }
}

/// What stands between vertex and pixel program under a semantic number: four floats, whatever they mean.
fn varying(semantic: u32) -> IoDecl {
    IoDecl { binding: Binding::Location(semantic), ..IoDecl::at_location(&format!("varying{semantic}"), F32.with_lanes(4), semantic) }
}

/// Four words of each vertex in the ES-GS ring.
fn in_ring(slot: u32) -> IoDecl {
    IoDecl { binding: Binding::Location(slot), ..IoDecl::at_location(&format!("ring{slot}"), F32.with_lanes(4), slot) }
}

fn uniform(name: &str, v: &Variable, binding: u32) -> Option<UniformDecl> {
    let (ty, source, columns) = gsh::typed(v.ty)?;
    let mut dims = Vec::new();
    if v.count > 1 {
        dims.push(Dim { count: v.count, stride: 16 * columns.unwrap_or(1) });
    }
    dims.extend(columns.map(|count| Dim { count, stride: 16 }));
    Some(UniformDecl {
        name: name.to_string(),
        ty: if ty.scalar == Scalar::I1 { I32.with_lanes(ty.lanes) } else { ty },
        unit: if dims.is_empty() { ty.lanes as u32 * 4 } else { 16 },
        matrix: columns.is_some(),
        dims,
        rows: false,
        group: 0,
        binding,
        offset: v.offset.saturating_mul(4),
        range: None,
        source_type: source.map(str::to_string),
        size_of: None,
        span: Span::NONE,
    })
}

fn fetched(program: &Program) -> impl Iterator<Item = &Word> {
    let lists = program.clauses.values().filter_map(|c| if let Clause::Fetch(list) = c { Some(list) } else { None });
    lists.flatten().map(|(_, w)| w)
}

fn fetches(program: &Program) -> impl Iterator<Item = &Word> {
    fetched(program).filter(|w| w.info().format == Format::Tex)
}

/// What only the fetches tell: whether a sampler compares, and whether it has layers (their coordinate is not normalised).
fn refine(decl: &mut TextureDecl, w: &Word) {
    let form = w.form();
    let compares = [tex::SAMPLE_C, tex::SAMPLE_C_L, tex::SAMPLE_C_LB, tex::SAMPLE_C_LZ, tex::SAMPLE_C_G].contains(&form);
    decl.shadow |= compares;
    let dims = match decl.dim {
        TexDim::D1 => 1,
        TexDim::D2 => 2,
        TexDim::D3 | TexDim::Cube => return,
    };
    // With a level or bias the reference stands third.
    let third = matches!(form, tex::SAMPLE_C_L | tex::SAMPLE_C_LB);
    decl.arrayed |= !third && w.get(COORD_TYPE[0]) == 1 && w.get(COORD_TYPE[dims]) == 0 && w.get(SRC_SEL[dims]) < 4;
}

/// Whether a channel of R0 is read before it is written, going by the order of the code.
fn reads_first(program: &Program, chan: u8) -> bool {
    let clauses = program.cf.iter().filter_map(|w| program.clauses.get(&(w.get(field!(ADDR)) as u32)));
    for clause in clauses {
        match clause {
            Clause::Alu(groups) => {
                for (_, g) in groups {
                    let mut sources = g.slots.iter().flat_map(|s| s.sources());
                    if sources.any(|x| x.sel == 0 && x.chan == chan && !x.rel) {
                        return true;
                    }
                    if g.slots.iter().any(|s| s.writes() && s.dst == 0 && s.chan == chan) {
                        return false;
                    }
                }
            }
            Clause::Fetch(list) => {
                let count = |w: &Word| if w.info().format == Format::Tex { 4 } else { 1 };
                let reads = |w: &Word| w.get(field!(SRC_GPR)) == 0 && SRC_SEL.into_iter().take(count(w)).any(|f| w.get(f) == chan as u64);
                if list.iter().any(|(_, w)| reads(w)) {
                    return true;
                }
                // Semantic fetches stand in fetch shaders only.
                let writes = |w: &Word| w.get(field!(DST_GPR)) == 0 && w.get(DST_SEL[chan as usize & 3]) < 6;
                if list.iter().any(|(_, w)| writes(w)) {
                    return false;
                }
            }
        }
    }
    false
}
