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
use retroshade_ir::{Binding, Module, Scalar, Stage};
use retroshade_lower::Reflection;

const FILE_MAGIC: u32 = 0x4766_7832;
const BLOCK_MAGIC: u32 = 0x424c_4b7b;
const RELOCATION_MAGIC: u32 = 0x7d42_4c4b;
const FILE_HEADER: usize = 0x20;
const BLOCK_HEADER: usize = 0x20;
const RELOCATION_HEADER: usize = 0x28;
/// Tags of pointers to data and to names.
const DATA: u32 = 0xd060_0000;
const TEXT: u32 = 0xca70_0000;

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
    /// Whether the block is microcode.
    pub const fn is_program(self) -> bool {
        matches!(self, Kind::VertexProgram | Kind::PixelProgram | Kind::GeometryProgram | Kind::CopyProgram)
    }
}

/// A run of register words in a structure.
struct Row {
    /// Where the first word is.
    at: usize,
    /// Its name up to the number.
    name: &'static str,
    /// How many there are.
    most: usize,
    /// Where the structure says how many are used.
    count: usize,
    /// The others.
    unused: u32,
}

/// A structure of GX2: where things stand in it.
struct Structure {
    size: usize,
    words: &'static [(usize, &'static str)],
    rows: &'static [Row],
    /// Size of the program.
    program: usize,
    mode: usize,
    /// Counts of uniform blocks, uniforms, loop variables, samplers; each is followed by the pointer.
    blocks: usize,
    uniforms: usize,
    loops: usize,
    samplers: usize,
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
const COPY_PROGRAM: usize = 0x54;

/// DB_SHADER_CONTROL: depth is tested early, and late where that did not do.
const EARLY_THEN_LATE: u32 = 1 << 4;
/// GX2ShaderMode: uniforms in blocks; with a geometry program.
const MODE_BLOCKS: u32 = 1;
const MODE_GEOMETRY: u32 = 2;
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

/// GX2ShaderVarType and number of elements of a type as reflection spells it.
fn variable_type(ty: &str) -> (u32, u32) {
    let (element, count) = match ty.split_once('[') {
        Some((e, n)) => (e, n.split(']').next().and_then(|n| n.parse().ok()).unwrap_or(1)),
        None => (ty, 1),
    };
    if let Some((columns, rows)) = element.strip_prefix("mat").and_then(|m| m.split_once('x')) {
        let (c, r): (u32, u32) = (columns.parse().unwrap_or(4), rows.parse().unwrap_or(4));
        return (21 + 3 * (c.clamp(2, 4) - 2) + (r.clamp(2, 4) - 2), count);
    }
    let (scalar, lanes) = element.split_once('x').map_or((element, 1), |(s, n)| (s, n.parse().unwrap_or(1)));
    // Scalars, then vectors of two and more.
    let (one, two) = match scalar {
        "bool" => (1, 12),
        "i32" => (2, 15),
        "u32" => (3, 18),
        _ => (4, 9),
    };
    (if lanes < 2 { one } else { two + lanes - 2 }, count)
}

/// Name of a uniform block: what stands before the dot in all of its members' names, or a name by its binding.
fn block_name(m: &Module, binding: u32) -> String {
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
            "1d" => 0,
            "3d" => 3,
            "cube" => 4,
            _ => 1,
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

/// Whether the bytes are such a file.
pub fn is_file(bytes: &[u8]) -> bool {
    bytes.starts_with(&FILE_MAGIC.to_be_bytes())
}

/// The blocks of a file, whoever wrote it; those of other kinds (padding, textures) are left out.
pub fn read(bytes: &[u8]) -> Result<Vec<(Kind, &[u8])>, String> {
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    if !is_file(bytes) {
        return Err("no Wii U shader file: it does not begin with Gfx2".to_string());
    }
    let mut at = word(4).unwrap_or(0) as usize;
    let mut out = Vec::new();
    loop {
        let short = || format!("the file ends within the block at byte {at:#x}");
        let field = |n: usize| at.checked_add(4 * n).and_then(word).ok_or_else(short);
        let (magic, header, kind, size) = (field(0)?, field(1)? as usize, field(4)?, field(5)? as usize);
        if magic != BLOCK_MAGIC {
            return Err(format!("no block at byte {at:#x}"));
        }
        let from = at.checked_add(header).ok_or_else(short)?;
        let data = from.checked_add(size).and_then(|to| bytes.get(from..to)).ok_or_else(short)?;
        match Kind::ALL.into_iter().find(|k| *k as u32 == kind) {
            Some(Kind::End) => return Ok(out),
            Some(k) => out.push((k, data)),
            None => {}
        }
        at = from + size;
    }
}
