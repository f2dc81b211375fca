//! The Wii U's shader file (`.gsh`, GFD): blocks of headers and programs. Everything but the microcode is big-endian.
//!
//! ```text
//! file header   "Gfx2", version 7.1, GPU 2
//! block         "BLK{", type, size, number      a VS header: GX2VertexShader, arrays, names, patch table, "}BLK"
//! block         "BLK{" ...                      its program: little-endian microcode
//! ...
//! block         type 1                          the end
//! ```
//!
//! Pointers within a header are offsets from its start with a tag; the patch table lists where they stand. A shader group is the
//! n-th header and program of each kind. Source: the structures of wut and decaf, `docs/targets/r700-wiiu.md`.

use super::registers::Registers;
use retroshade_emit::bytes::Bytes;
use retroshade_ir::surface::BlockKind;
use retroshade_ir::{Binding, Module, Scalar, Stage, Type};
use retroshade_lower::Reflection;

const FILE_MAGIC: u32 = 0x4766_7832;
pub(super) const BLOCK_MAGIC: u32 = 0x424c_4b7b;
pub(super) const RELOCATION_MAGIC: u32 = 0x7d42_4c4b;
const FILE_HEADER: usize = 0x20;
const BLOCK_HEADER: usize = 0x20;
pub(super) const RELOCATION_HEADER: usize = 0x28;
/// Tags of pointers to data and to names.
pub(super) const DATA: u32 = 0xd060_0000;
pub(super) const TEXT: u32 = 0xca70_0000;
/// What is left of a pointer without its tag.
pub(super) const OFFSET: u32 = 0xf_ffff;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Kind {
    /// The end of the file.
    End = 1,
    /// A GX2VertexShader.
    VertexHeader = 3,
    /// Its program.
    VertexProgram = 5,
    /// A GX2PixelShader.
    PixelHeader = 6,
    /// Its program.
    PixelProgram = 7,
    /// A GX2GeometryShader.
    GeometryHeader = 8,
    /// Its program.
    GeometryProgram = 9,
    /// Its copy program.
    CopyProgram = 10,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::End,
        Kind::VertexHeader,
        Kind::VertexProgram,
        Kind::PixelHeader,
        Kind::PixelProgram,
        Kind::GeometryHeader,
        Kind::GeometryProgram,
        Kind::CopyProgram,
    ];
    /// The kind that has a number.
    pub fn of(number: u32) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| *k as u32 == number)
    }
    /// What the block is called in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::End => "end",
            Kind::VertexHeader => "vertex shader",
            Kind::VertexProgram => "vertex program",
            Kind::PixelHeader => "pixel shader",
            Kind::PixelProgram => "pixel program",
            Kind::GeometryHeader => "geometry shader",
            Kind::GeometryProgram => "geometry program",
            Kind::CopyProgram => "copy program",
        }
    }
    /// Whether the block is microcode.
    pub const fn is_program(self) -> bool {
        matches!(self, Kind::VertexProgram | Kind::PixelProgram | Kind::GeometryProgram | Kind::CopyProgram)
    }
}

/// A run of register words in a structure.
pub(super) struct Row {
    /// Where the first word is.
    pub(super) at: usize,
    /// Its name up to the number.
    pub(super) name: &'static str,
    /// How many there are.
    pub(super) most: usize,
    /// Where the structure says how many are used.
    pub(super) count: usize,
    /// The others.
    pub(super) unused: u32,
}

/// A structure of GX2: where things stand in it.
pub(super) struct Structure {
    pub(super) size: usize,
    pub(super) words: &'static [(usize, &'static str)],
    pub(super) rows: &'static [Row],
    /// Size of the program.
    pub(super) program: usize,
    pub(super) mode: usize,
    /// Counts of uniform blocks, uniforms, loop variables, samplers; each is followed by the pointer.
    pub(super) blocks: usize,
    pub(super) uniforms: usize,
    pub(super) loops: usize,
    pub(super) samplers: usize,
}

impl Structure {
    /// Arrays: where count and pointer stand, what is in it, bytes of a row, whether rows begin with a name.
    pub(super) fn arrays(&self, vertex: bool) -> Vec<(usize, &'static str, u32, bool)> {
        let mut out = vec![
            (self.blocks, "uniform blocks", 12, true),
            (self.uniforms, "uniforms", 20, true),
            (self.uniforms + 8, "initial values", 20, false),
            (self.loops, "loop variables", 8, false),
            (self.samplers, "samplers", 12, true),
        ];
        out.extend(vertex.then_some((ATTRIBUTES, "attributes", 16, true)));
        out
    }
}

const VERTEX: Structure = Structure {
    size: 0x134,
    words: &[
        (0x00, "SQ_PGM_RESOURCES_VS"),
        (0x00, "SQ_PGM_RESOURCES_ES"),
        (0x04, "VGT_PRIMITIVEID_EN"),
        (0x08, "SPI_VS_OUT_CONFIG"),
        (0x38, "PA_CL_VS_OUT_CNTL"),
        (0x3c, "SQ_VTX_SEMANTIC_CLEAR"),
        (0xc4, "VGT_STRMOUT_BUFFER_EN"),
        (0xc8, "VGT_VERTEX_REUSE_BLOCK_CNTL"),
        (0xcc, "VGT_HOS_REUSE_DEPTH"),
        (0x10c, "SQ_ESGS_RING_ITEMSIZE"),
    ],
    rows: &[
        Row { at: 0x10, name: "SPI_VS_OUT_ID_", most: 10, count: 0x0c, unused: u32::MAX },
        Row { at: 0x44, name: "SQ_VTX_SEMANTIC_", most: 32, count: 0x40, unused: 0xff },
    ],
    program: 0xd0,
    mode: 0xd8,
    blocks: 0xdc,
    uniforms: 0xe4,
    loops: 0xf4,
    samplers: 0xfc,
};
/// Attributes of a GX2VertexShader.
const ATTRIBUTES: usize = 0x104;

const PIXEL: Structure = Structure {
    size: 0xe8,
    words: &[
        (0x00, "SQ_PGM_RESOURCES_PS"),
        (0x04, "SQ_PGM_EXPORTS_PS"),
        (0x08, "SPI_PS_IN_CONTROL_0"),
        (0x0c, "SPI_PS_IN_CONTROL_1"),
        (0x94, "CB_SHADER_MASK"),
        (0x98, "CB_SHADER_CONTROL"),
        (0x9c, "DB_SHADER_CONTROL"),
        (0xa0, "SPI_INPUT_Z"),
    ],
    rows: &[Row { at: 0x14, name: "SPI_PS_INPUT_CNTL_", most: 32, count: 0x10, unused: 0 }],
    program: 0xa4,
    mode: 0xac,
    blocks: 0xb0,
    uniforms: 0xb8,
    loops: 0xc8,
    samplers: 0xd0,
};

const GEOMETRY: Structure = Structure {
    size: 0xc0,
    words: &[
        (0x00, "SQ_PGM_RESOURCES_GS"),
        (0x04, "VGT_GS_OUT_PRIM_TYPE"),
        (0x08, "VGT_GS_MODE"),
        (0x0c, "PA_CL_VS_OUT_CNTL"),
        (0x10, "SQ_PGM_RESOURCES_VS"),
        (0x14, "SQ_GS_VERT_ITEMSIZE"),
        (0x18, "SPI_VS_OUT_CONFIG"),
        (0x48, "VGT_STRMOUT_BUFFER_EN"),
        (0x88, "SQ_GSVS_RING_ITEMSIZE"),
    ],
    rows: &[Row { at: 0x20, name: "SPI_VS_OUT_ID_", most: 10, count: 0x1c, unused: u32::MAX }],
    program: 0x4c,
    mode: 0x5c,
    blocks: 0x60,
    uniforms: 0x68,
    loops: 0x78,
    samplers: 0x80,
};
/// Size of a GX2GeometryShader's copy program.
pub(super) const COPY_PROGRAM: usize = 0x54;

/// DB_SHADER_CONTROL: depth is tested early, and late where that did not do.
const EARLY_THEN_LATE: u32 = 1 << 4;
/// GX2ShaderMode: uniforms in blocks.
const MODE_BLOCKS: u32 = 1;
/// GX2ShaderMode: the same, with a geometry program.
pub const MODE_GEOMETRY: u32 = 2;
/// What loops without a counter of their own are given: 4,095 rounds, one a step.
const LOOP_CONSTANT: u32 = 0x0100_0fff;

/// A shader to write.
pub struct Shader<'a> {
    /// Its module, for names and types.
    pub module: &'a Module,
    /// Its interface by name.
    pub reflection: &'a Reflection,
    /// Microcode.
    pub code: &'a [u8],
    /// Register words, the copy program's among them.
    pub registers: &'a Registers,
    /// Geometry: the copy program.
    pub copy: Option<&'a [u8]>,
    /// Vertex: whether it runs in front of a geometry program.
    pub before_geometry: bool,
    /// Whether the code loops.
    pub loops: bool,
}

/// A header under construction: the structure, its arrays and names.
#[derive(Default)]
struct Header {
    data: Vec<u8>,
    names: Vec<(usize, String)>,
    /// Places of pointers to arrays.
    arrays: Vec<u32>,
}

impl Header {
    fn put(&mut self, at: usize, word: u32) {
        if let Some(place) = self.data.get_mut(at..at + 4) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }
    /// Appends an array of rows; the count and the pointer to it stand at `at`. Rows begin with their name.
    fn array(&mut self, at: usize, rows: Vec<(Option<String>, Vec<u32>)>) {
        if rows.is_empty() {
            return;
        }
        self.put(at, rows.len() as u32);
        self.put(at + 4, self.data.len() as u32 | DATA);
        self.arrays.push(at as u32 + 4);
        for (name, words) in rows {
            if let Some(name) = name {
                self.names.push((self.data.len(), name));
                self.data.extend([0; 4]);
            }
            self.data.extend(words.iter().flat_map(|w| w.to_be_bytes()));
        }
    }
    /// The block: names, patch table and relocation header behind what there is.
    fn finish(mut self) -> Vec<u8> {
        let text = self.data.len() as u32;
        let mut patches: Vec<u32> = self.arrays.iter().map(|p| p | DATA).collect();
        for (at, name) in std::mem::take(&mut self.names) {
            let to = self.data.len() as u32 | TEXT;
            self.put(at, to);
            patches.push(at as u32 | TEXT);
            self.data.extend(name.bytes());
            self.data.push(0);
            self.data.resize(self.data.len().next_multiple_of(4), 0);
        }
        let end = self.data.len() as u32;
        let count = patches.len() as u32;
        let relocation = [RELOCATION_MAGIC, RELOCATION_HEADER as u32, 0, end, DATA, end - text, text | DATA, 0, count, end | DATA];
        self.data.extend(patches.into_iter().chain(relocation).flat_map(|w| w.to_be_bytes()));
        self.data
    }
}

/// GX2ShaderVarType: the code of a scalar, the one of its vector of two; those of three and four follow.
const SCALARS: [(&str, Scalar, u32, u32); 4] =
    [("bool", Scalar::I1, 1, 12), ("i32", Scalar::I32, 2, 15), ("u32", Scalar::I32, 3, 18), ("f32", Scalar::F32, 4, 9)];
/// The code of a matrix of two columns of two; rows, then columns count up.
const MATRICES: u32 = 21;

/// GX2SamplerVarType.
pub const SAMPLER_1D: u32 = 0;
const SAMPLER_2D: u32 = 1;
/// Three dimensions.
pub const SAMPLER_3D: u32 = 3;
/// Six faces.
pub const SAMPLER_CUBE: u32 = 4;

/// GX2ShaderVarType and number of elements of a type as reflection spells it.
fn variable_type(ty: &str) -> (u32, u32) {
    // The elements of all levels lie one after the other.
    let (element, levels) = ty.split_once('[').unwrap_or((ty, ""));
    let count = levels.split(['[', ']']).filter_map(|n| n.parse::<u32>().ok()).fold(1, u32::saturating_mul);
    if let Some((columns, rows)) = element.strip_prefix("mat").and_then(|m| m.split_once('x')) {
        let (c, r): (u32, u32) = (columns.parse().unwrap_or(4), rows.parse().unwrap_or(4));
        return (MATRICES + 3 * (c.clamp(2, 4) - 2) + (r.clamp(2, 4) - 2), count);
    }
    let (scalar, lanes) = element.split_once('x').map_or((element, 1), |(s, n)| (s, n.parse().unwrap_or(1)));
    let (_, _, one, two) = *SCALARS.iter().find(|s| s.0 == scalar).unwrap_or(&SCALARS[3]);
    (if lanes < 2 { one } else { two + lanes - 2 }, count)
}

/// What a GX2ShaderVarType means: type of an element (a matrix: of a column), how the source spells its scalar where that differs,
/// columns of a matrix.
pub fn typed(code: u32) -> Option<(Type, Option<&'static str>, Option<u32>)> {
    if (MATRICES..MATRICES + 9).contains(&code) {
        let (columns, rows) = ((code - MATRICES) / 3 + 2, (code - MATRICES) % 3 + 2);
        return Some((Type::new(Scalar::F32, rows as u8), None, Some(columns)));
    }
    SCALARS.iter().find_map(|(name, scalar, one, two)| {
        let lanes = if code == *one { 1 } else { code.checked_sub(*two).filter(|n| *n < 3)? + 2 };
        Some((Type::new(*scalar, lanes as u8), (*name == "u32" || *name == "bool").then_some(*name), None))
    })
}

/// Name of a uniform block: its own as the source declares it (its variable's, where another block has that name, too), else what stands
/// before the dot in all of its members' names, or a name by its binding.
fn block_name(m: &Module, binding: u32) -> String {
    let declared = || m.surface.blocks.iter().filter(|b| b.kind == BlockKind::Uniform);
    if let Some(own) = declared().find(|b| b.binding == binding && !b.name.is_empty()) {
        let alone = declared().filter(|b| b.name == own.name).count() == 1;
        return if alone || own.instance.is_empty() { &own.name } else { &own.instance }.clone();
    }
    let mut heads = m.uniforms.values().filter(|u| u.binding == binding).map(|u| u.name.split_once(['.', '[']).map(|n| n.0));
    let first = heads.next().flatten();
    match first {
        Some(name) if heads.all(|h| h == Some(name)) => name.to_string(),
        _ => format!("block{binding}"),
    }
}

fn header(s: &Shader<'_>, stage: &Structure) -> Header {
    let mut h = Header { data: vec![0; stage.size], ..Header::default() };
    let mut row_words: Vec<(&Row, usize)> = Vec::new();
    for row in stage.rows {
        (0..row.most).for_each(|n| h.put(row.at + 4 * n, row.unused));
        row_words.push((row, 0));
    }
    for (name, value) in s.registers {
        let value = if name == "DB_SHADER_CONTROL" { value | EARLY_THEN_LATE } else { *value };
        if let Some((at, _)) = stage.words.iter().find(|w| w.1 == name) {
            h.put(*at, value);
        }
        for (row, used) in &mut row_words {
            if let Some(n) = name.strip_prefix(row.name).and_then(|n| n.parse::<usize>().ok()).filter(|n| *n < row.most) {
                h.put(row.at + 4 * n, value);
                *used = (*used).max(n + 1);
            }
        }
    }
    for (row, used) in row_words {
        // Drivers count one word of parameters even where there are none.
        let least = (row.name == "SPI_VS_OUT_ID_") as usize;
        h.put(row.count, used.max(least) as u32);
    }
    h.put(stage.program, s.code.len() as u32);
    let geometry = s.before_geometry || s.module.stage == Stage::Geometry;
    h.put(stage.mode, if geometry { MODE_GEOMETRY } else { MODE_BLOCKS });
    let mut bindings: Vec<u32> = s.module.uniforms.values().map(|u| u.binding).collect();
    bindings.sort_unstable();
    bindings.dedup();
    let end = |b: u32| {
        let own = s.module.uniforms.values().filter(|u| u.binding == b);
        own.map(|u| u.offset + (u.units() - 1) * u.unit + u.ty.lanes as u32 * 4).max().unwrap_or(0).next_multiple_of(16)
    };
    h.array(stage.blocks, bindings.iter().map(|b| (Some(block_name(s.module, *b)), vec![*b, end(*b)])).collect());
    let uniforms = s.reflection.uniforms.iter().map(|u| {
        let (ty, count) = variable_type(&u.ty);
        let block = bindings.iter().position(|b| *b == u.binding).unwrap_or(0) as u32;
        (Some(u.name.clone()), vec![ty, count, u.offset / 4, block])
    });
    h.array(stage.uniforms, uniforms.collect());
    if s.loops {
        h.array(stage.loops, vec![(None, vec![0, LOOP_CONSTANT])]);
    }
    let samplers = s.reflection.textures.iter().map(|t| {
        let ty = match t.dim.as_str() {
            "1d" => SAMPLER_1D,
            "3d" => SAMPLER_3D,
            "cube" => SAMPLER_CUBE,
            _ => SAMPLER_2D,
        };
        (Some(t.name.clone()), vec![ty, t.unit])
    });
    h.array(stage.samplers, samplers.collect());
    h
}

/// The blocks of a shader: its header and programs.
pub fn blocks(s: &Shader<'_>) -> Vec<(Kind, Vec<u8>)> {
    match s.module.stage {
        Stage::Fragment => vec![(Kind::PixelHeader, header(s, &PIXEL).finish()), (Kind::PixelProgram, s.code.to_vec())],
        Stage::Geometry => {
            let mut h = header(s, &GEOMETRY);
            let copy = s.copy.unwrap_or_default();
            h.put(COPY_PROGRAM, copy.len() as u32);
            vec![(Kind::GeometryHeader, h.finish()), (Kind::GeometryProgram, s.code.to_vec()), (Kind::CopyProgram, copy.to_vec())]
        }
        _ => {
            let mut h = header(s, &VERTEX);
            let attributes = s.module.inputs.values().zip(&s.reflection.inputs).filter_map(|(d, r)| {
                let Binding::Location(l) = d.binding else { return None };
                let scalar = if d.ty.scalar == Scalar::I1 { "bool" } else { r.ty.split(['x', '[']).next().unwrap_or("f32") };
                let ty = variable_type(&format!("{scalar}x{}", d.ty.lanes)).0;
                Some((Some(d.name.clone()), vec![ty, if d.count > 1 { d.count } else { 0 }, l]))
            });
            h.array(ATTRIBUTES, attributes.collect());
            vec![(Kind::VertexHeader, h.finish()), (Kind::VertexProgram, s.code.to_vec())]
        }
    }
}

/// Tells an export stage's header what the geometry program behind it needs: the words of a vertex that it reads, and whether it asks
/// for the primitive's number.
pub fn in_front_of(header: &mut [u8], ring_words: u32, primitive: bool) {
    for (name, least) in [("SQ_ESGS_RING_ITEMSIZE", ring_words), ("VGT_PRIMITIVEID_EN", primitive as u32)] {
        let Some((at, _)) = VERTEX.words.iter().find(|w| w.1 == name) else { continue };
        let value = word(header, *at).unwrap_or(0).max(least);
        if let Some(place) = header.get_mut(*at..at + 4) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }
}

/// A file of blocks; headers and programs of a kind keep their order, vertex before pixel before geometry.
pub fn file(mut blocks: Vec<(Kind, Vec<u8>)>) -> Vec<u8> {
    blocks.sort_by_key(|(kind, _)| match kind {
        Kind::VertexHeader | Kind::VertexProgram => 0,
        Kind::PixelHeader | Kind::PixelProgram => 1,
        _ => 2,
    });
    let mut out: Vec<u8> = [FILE_MAGIC, FILE_HEADER as u32, 7, 1, 2, 0, 0, 0].iter().flat_map(|w| w.to_be_bytes()).collect();
    let mut put = |kind: Kind, id: usize, index: usize, data: &[u8]| {
        let head = [BLOCK_MAGIC, BLOCK_HEADER as u32, 1, 0, kind as u32, data.len() as u32, id as u32, index as u32];
        out.extend(head.iter().flat_map(|w| w.to_be_bytes()));
        out.extend(data);
    };
    for (id, (kind, data)) in blocks.iter().enumerate() {
        put(*kind, id, blocks[..id].iter().filter(|b| b.0 == *kind).count(), data);
    }
    put(Kind::End, blocks.len(), 0, &[]);
    out
}

/// A uniform of a header.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// GX2ShaderVarType.
    pub ty: u32,
    /// Elements.
    pub count: u32,
    /// Words from the start of its block.
    pub offset: u32,
    /// Number of its block among the header's; all ones: it lies in the constant file.
    pub block: u32,
}

/// A header as a file has it.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    /// Which structure it is.
    pub kind: Kind,
    data: &'a [u8],
    pub(super) stage: &'static Structure,
}

/// Pixel headers of version 0 lack the buffer at their end.
const LEAST_PIXEL: usize = 0xd8;

impl<'a> Head<'a> {
    /// The header in a block.
    pub fn new(kind: Kind, data: &'a [u8]) -> Result<Head<'a>, String> {
        let (stage, least) = match kind {
            Kind::VertexHeader => (&VERTEX, VERTEX.size),
            Kind::PixelHeader => (&PIXEL, LEAST_PIXEL),
            Kind::GeometryHeader => (&GEOMETRY, GEOMETRY.size),
            _ => return Err("no header".to_string()),
        };
        if data.len() < least {
            return Err(format!("the header has {:#x} bytes of {least:#x}", data.len()));
        }
        Ok(Head { kind, data, stage })
    }
    fn word(&self, at: usize) -> Result<u32, String> {
        word(self.data, at).ok_or_else(|| format!("a pointer leads beyond the header: {at:#x}"))
    }
    /// A register word by name; 0 where this structure has none of that name.
    pub fn register(&self, name: &str) -> u32 {
        self.stage.words.iter().find(|w| w.1 == name).and_then(|w| word(self.data, w.0)).unwrap_or(0)
    }
    /// A run of register words by their name before the number, those in use.
    pub fn row(&self, name: &str) -> Vec<u32> {
        let Some(row) = self.stage.rows.iter().find(|r| r.name == name) else { return Vec::new() };
        let used = word(self.data, row.count).unwrap_or(0).min(row.most as u32) as usize;
        (0..used).filter_map(|n| word(self.data, row.at + 4 * n)).collect()
    }
    /// GX2ShaderMode.
    pub fn mode(&self) -> u32 {
        word(self.data, self.stage.mode).unwrap_or(0)
    }
    /// Rows of an array whose count and pointer stand at `at`: the name, and the `N` words behind it.
    fn array<const N: usize>(&self, at: usize) -> Result<Vec<(String, [u32; N])>, String> {
        let (count, from) = (self.word(at)? as usize, (self.word(at + 4)? & OFFSET) as usize);
        if count > self.data.len() / (4 * N + 4) {
            return Err(format!("an array of {count} rows does not fit the header"));
        }
        let row = |n: usize| {
            let at = from + (4 * N + 4) * n;
            let mut words = [0; N];
            for (k, w) in words.iter_mut().enumerate() {
                *w = self.word(at + 4 + 4 * k)?;
            }
            let name = self.data.get((self.word(at)? & OFFSET) as usize..).unwrap_or_default();
            let name = name.iter().take_while(|c| **c != 0).copied().collect();
            Ok((String::from_utf8(name).map_err(|_| "a name is no text".to_string())?, words))
        };
        (0..count).map(row).collect()
    }
    /// Uniform blocks: name, binding and size.
    pub fn blocks(&self) -> Result<Vec<(String, [u32; 2])>, String> {
        self.array(self.stage.blocks)
    }
    /// Uniforms.
    pub fn uniforms(&self) -> Result<Vec<(String, Variable)>, String> {
        let rows = self.array(self.stage.uniforms)?;
        Ok(rows.into_iter().map(|(name, [ty, count, offset, block])| (name, Variable { ty, count, offset, block })).collect())
    }
    /// Loop constants: number and value.
    pub fn loops(&self) -> Result<Vec<[u32; 2]>, String> {
        let (count, from) = (self.word(self.stage.loops)? as usize, (self.word(self.stage.loops + 4)? & OFFSET) as usize);
        (0..count.min(self.data.len() / 8)).map(|n| Ok([self.word(from + 8 * n)?, self.word(from + 8 * n + 4)?])).collect()
    }
    /// Samplers: name, GX2SamplerVarType, unit.
    pub fn samplers(&self) -> Result<Vec<(String, u32, u32)>, String> {
        Ok(self.array(self.stage.samplers)?.into_iter().map(|(name, [ty, unit])| (name, ty, unit)).collect())
    }
    /// Attributes of a vertex program: name, GX2ShaderVarType, elements, location.
    pub fn attributes(&self) -> Result<Vec<(String, u32, u32, u32)>, String> {
        Ok(self.array(ATTRIBUTES)?.into_iter().map(|(name, [ty, count, location])| (name, ty, count, location)).collect())
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Bytes::big(bytes).u32(at)
}

/// Whether the bytes are such a file.
pub fn is_file(bytes: &[u8]) -> bool {
    bytes.starts_with(&FILE_MAGIC.to_be_bytes())
}

/// The blocks of a sound file, whoever wrote it; those of other kinds (padding, textures) are left out.
pub fn read(bytes: &[u8]) -> Result<Vec<(Kind, &[u8])>, String> {
    if !is_file(bytes) {
        return Err("no Wii U shader file: it does not begin with Gfx2".to_string());
    }
    Ok(super::check::structure(bytes)?.into_iter().filter_map(|b| Some((b.kind?, b.data))).collect())
}
