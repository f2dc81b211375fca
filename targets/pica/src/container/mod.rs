//! The `.shbin` file: DVLB (index), DVLP (program), DVLE (entry points with their tables).
//!
//! Layout and order are picasso's; the reader trusts nothing. Facts: ISA sheet sections 13 and 14.

pub mod header;
pub mod join;
pub mod tables;

use retroshade_emit::bytes::Bytes;
use retroshade_lower::TextError;

/// Magic words.
const DVLB: &[u8; 4] = b"DVLB";
const DVLP: &[u8; 4] = b"DVLP";
const DVLE: &[u8; 4] = b"DVLE";
const DVLP_HEADER: usize = 40;
const DVLE_HEADER: usize = 64;
const DVLE_VERSION: u16 = 0x1002;
/// No real file has more of anything; keeps hostile counts from costing memory.
const MAX_ITEMS: u32 = 1 << 16;

/// A constant loaded when the program is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constant {
    /// Boolean register and value.
    Bool(u16, bool),
    /// Integer register and components.
    Int(u16, [u8; 4]),
    /// Float register and float24 bits.
    Float(u16, [u32; 4]),
}

/// An output: what it means and which components of which register carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputEntry {
    /// Semantic type.
    pub kind: u16,
    /// Register.
    pub reg: u16,
    /// Mask, bit 0 = x.
    pub mask: u8,
}

/// A named register range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniformEntry {
    /// Name.
    pub name: String,
    /// First register in the table's numbering.
    pub first: u16,
    /// Last register.
    pub last: u16,
}

/// A named place in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelEntry {
    /// Number.
    pub id: u16,
    /// Word offset.
    pub at: u32,
    /// Length in words.
    pub len: u32,
    /// Name.
    pub name: String,
}

/// First number of each register kind in uniform tables.
pub mod numbering {
    /// Inputs.
    pub const INPUT: u16 = 0x00;
    /// Float uniforms.
    pub const FLOAT: u16 = 0x10;
    /// Integer uniforms.
    pub const INT: u16 = 0x70;
    /// Boolean uniforms.
    pub const BOOL: u16 = 0x78;
}

/// Names of the output types; index = type.
pub const OUTPUT_TYPES: [&str; 10] =
    ["position", "normalquat", "color", "texcoord0", "texcoord0w", "texcoord1", "texcoord2", "7", "view", "dummy"];
/// How many components each output type takes.
pub const OUTPUT_COMPONENTS: [u8; 10] = [4, 4, 4, 2, 1, 2, 2, 4, 3, 4];
/// Output registers that the output map reaches, o0 and up: others carry dummies. Geometry programs have no others.
pub const MEANT_OUTPUTS: u8 = 7;

/// An entry point with its tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executable {
    /// Whether this is a geometry program.
    pub geometry: bool,
    /// Whether the output maps of both programs are merged.
    pub merge: bool,
    /// Entry word.
    pub entry: u32,
    /// First word after main.
    pub end: u32,
    /// Declared inputs.
    pub inputs: u16,
    /// Declared outputs.
    pub outputs_mask: u16,
    /// Geometry: 0 point, 1 variable, 2 fixed.
    pub mode: u8,
    /// Fixed mode: first uniform of the vertex array.
    pub array: u8,
    /// Variable mode: number of whole vertices.
    pub whole: u8,
    /// Fixed mode: number of vertices.
    pub vertices: u8,
    /// Constants.
    pub constants: Vec<Constant>,
    /// Labels.
    pub labels: Vec<LabelEntry>,
    /// Outputs.
    pub outputs: Vec<OutputEntry>,
    /// Uniforms and named inputs.
    pub uniforms: Vec<UniformEntry>,
}

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shbin {
    /// Code words.
    pub code: Vec<u32>,
    /// Operand descriptors.
    pub descriptors: Vec<u32>,
    /// Entry points.
    pub executables: Vec<Executable>,
}

struct Writer(Vec<u8>);

impl Writer {
    fn u8(&mut self, v: u8) {
        self.0.push(v);
    }
    fn u16(&mut self, v: u16) {
        self.0.extend(v.to_le_bytes());
    }
    fn u32(&mut self, v: u32) {
        self.0.extend(v.to_le_bytes());
    }
}

impl Shbin {
    /// The file's bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut w = Writer(DVLB.to_vec());
        w.u32(self.executables.len() as u32);
        let tables: Vec<Vec<u8>> = self.executables.iter().map(Executable::write).collect();
        let program = DVLP_HEADER + 4 * self.code.len() + 8 * self.descriptors.len();
        let mut at = 8 + 4 * tables.len() + program;
        for t in &tables {
            w.u32(at as u32);
            at += t.len();
        }
        w.0.extend(DVLP);
        w.u32(0);
        w.u32(DVLP_HEADER as u32);
        w.u32(self.code.len() as u32);
        w.u32((DVLP_HEADER + 4 * self.code.len()) as u32);
        w.u32(self.descriptors.len() as u32);
        w.u32(program as u32);
        for _ in 0..3 {
            w.u32(0);
        }
        for c in &self.code {
            w.u32(*c);
        }
        for d in &self.descriptors {
            w.u32(*d);
            w.u32(0);
        }
        tables.iter().for_each(|t| w.0.extend(t));
        w.0
    }
    /// Whether the bytes begin like a `.shbin`.
    pub fn is_shbin(bytes: &[u8]) -> bool {
        bytes.starts_with(DVLB)
    }
    /// Reads a file.
    pub fn read(bytes: &[u8]) -> Result<Shbin, TextError> {
        let r = Reader { bytes };
        if !Shbin::is_shbin(bytes) {
            return Err(bad(0, "no DVLB header"));
        }
        let n = r.count(4)?;
        let program = 8 + 4 * n as usize;
        r.magic(program, DVLP)?;
        let word = |k: usize| r.u32(program + 4 * k);
        let (code_at, code_len) = (word(2)?, r.count(program + 12)?);
        let (desc_at, desc_len) = (word(4)?, r.count(program + 20)?);
        let code = (0..code_len as usize).map(|k| r.u32(program + code_at as usize + 4 * k)).collect::<Result<Vec<_>, _>>()?;
        let descriptors = (0..desc_len as usize).map(|k| r.u32(program + desc_at as usize + 8 * k)).collect::<Result<Vec<_>, _>>()?;
        let executables = (0..n as usize).map(|k| Executable::read(&r, r.u32(8 + 4 * k)? as usize)).collect::<Result<Vec<_>, _>>()?;
        Ok(Shbin { code, descriptors, executables })
    }
}

impl Executable {
    fn write(&self) -> Vec<u8> {
        let mut symbols: Vec<u8> = Vec::new();
        let mut symbol = |name: &str| {
            let at = symbols.len() as u32;
            symbols.extend(name.bytes());
            symbols.push(0);
            at
        };
        let mut body = Writer(Vec::new());
        for c in &self.constants {
            match c {
                Constant::Bool(n, v) => {
                    body.u16(0);
                    body.u16(*n);
                    body.u32(*v as u32);
                    (0..3).for_each(|_| body.u32(0));
                }
                Constant::Int(n, v) => {
                    body.u16(1);
                    body.u16(*n);
                    v.iter().for_each(|b| body.u8(*b));
                    (0..3).for_each(|_| body.u32(0));
                }
                Constant::Float(n, v) => {
                    body.u16(2);
                    body.u16(*n);
                    v.iter().for_each(|b| body.u32(*b));
                }
            }
        }
        let labels_at = body.0.len();
        for l in &self.labels {
            body.u32(l.id as u32);
            body.u32(l.at);
            body.u32(l.len);
            let s = symbol(&l.name);
            body.u32(s);
        }
        let outputs_at = body.0.len();
        for o in &self.outputs {
            body.u16(o.kind);
            body.u16(o.reg);
            body.u8(o.mask);
            (0..3).for_each(|_| body.u8(0));
        }
        let uniforms_at = body.0.len();
        for u in &self.uniforms {
            let s = symbol(&u.name);
            body.u32(s);
            body.u16(u.first);
            body.u16(u.last);
        }
        let symbols_at = body.0.len();
        let mut w = Writer(DVLE.to_vec());
        w.u16(DVLE_VERSION);
        w.u8(self.geometry as u8);
        w.u8(self.merge as u8);
        w.u32(self.entry);
        w.u32(self.end);
        w.u16(self.inputs);
        w.u16(self.outputs_mask);
        w.u8(self.mode);
        w.u8(self.array);
        w.u8(self.whole);
        w.u8(self.vertices);
        let tables = [
            (0, self.constants.len()),
            (labels_at, self.labels.len()),
            (outputs_at, self.outputs.len()),
            (uniforms_at, self.uniforms.len()),
            (symbols_at, symbols.len()),
        ];
        for (at, n) in tables {
            w.u32((DVLE_HEADER + at) as u32);
            w.u32(n as u32);
        }
        w.0.extend(body.0);
        w.0.extend(symbols);
        while !w.0.len().is_multiple_of(4) {
            w.u8(0);
        }
        w.0
    }

    fn read(r: &Reader<'_>, at: usize) -> Result<Executable, TextError> {
        r.magic(at, DVLE)?;
        let table = |k: usize| -> Result<(usize, usize), TextError> {
            Ok((at.saturating_add(r.u32(at + 0x18 + 8 * k)? as usize), r.count(at + 0x1c + 8 * k)? as usize))
        };
        let mut e = Executable {
            geometry: match r.u8(at + 6)? {
                0 => false,
                1 => true,
                _ => return Err(bad(at + 6, "neither a vertex nor a geometry program")),
            },
            merge: r.u8(at + 7)? != 0,
            entry: r.u32(at + 8)?,
            end: r.u32(at + 12)?,
            inputs: r.u16(at + 16)?,
            outputs_mask: r.u16(at + 18)?,
            mode: r.u8(at + 20)?,
            array: r.u8(at + 21)?,
            whole: r.u8(at + 22)?,
            vertices: r.u8(at + 23)?,
            ..Executable::default()
        };
        let (constants, n) = table(0)?;
        for k in 0..n {
            let p = constants + 20 * k;
            let reg = r.u16(p + 2)?;
            let words = [r.u32(p + 4)?, r.u32(p + 8)?, r.u32(p + 12)?, r.u32(p + 16)?];
            e.constants.push(match r.u16(p)? {
                0 if reg < 16 => Constant::Bool(reg, words[0] != 0),
                1 if reg < 4 => Constant::Int(reg, words[0].to_le_bytes()),
                2 if reg < 96 => Constant::Float(reg, words.map(|w| w & 0xff_ffff)),
                _ => return Err(bad(p, "not a constant")),
            });
        }
        let (symbols, size) = table(4)?;
        let name = |offset: u32| -> Result<String, TextError> {
            let start = symbols.saturating_add(offset as usize);
            let all = r.bytes.get(start..symbols.saturating_add(size)).ok_or_else(|| bad(start, "a name lies outside the symbol table"))?;
            let end = all.iter().position(|b| *b == 0).ok_or_else(|| bad(start, "a name does not end"))?;
            std::str::from_utf8(&all[..end]).map(str::to_string).map_err(|_| bad(start, "a name is not text"))
        };
        let (labels, n) = table(1)?;
        for k in 0..n {
            let p = labels + 16 * k;
            e.labels.push(LabelEntry { id: r.u16(p)?, at: r.u32(p + 4)?, len: r.u32(p + 8)?, name: name(r.u32(p + 12)?)? });
        }
        let (outputs, n) = table(2)?;
        for k in 0..n {
            let p = outputs + 8 * k;
            let o = OutputEntry { kind: r.u16(p)?, reg: r.u16(p + 2)?, mask: r.u8(p + 4)? };
            if o.kind as usize >= OUTPUT_TYPES.len() || o.reg > 15 || o.mask > 15 {
                return Err(bad(p, "not an output"));
            }
            e.outputs.push(o);
        }
        let (uniforms, n) = table(3)?;
        for k in 0..n {
            let p = uniforms + 8 * k;
            let u = UniformEntry { name: name(r.u32(p)?)?, first: r.u16(p + 4)?, last: r.u16(p + 6)? };
            if u.last < u.first || u.last >= 0x88 {
                return Err(bad(p, "not a register range"));
            }
            e.uniforms.push(u);
        }
        Ok(e)
    }
}

fn bad(at: usize, message: &str) -> TextError {
    TextError { offset: Some(at as u64), ..TextError::new(format!("damaged .shbin: {message}")) }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn there<T>(at: usize, found: Option<T>) -> Result<T, TextError> {
        found.ok_or_else(|| bad(at, "it ends too early"))
    }
    fn u8(&self, at: usize) -> Result<u8, TextError> {
        Self::there(at, Bytes::little(self.bytes).u8(at))
    }
    fn u16(&self, at: usize) -> Result<u16, TextError> {
        Self::there(at, Bytes::little(self.bytes).u16(at))
    }
    fn u32(&self, at: usize) -> Result<u32, TextError> {
        Self::there(at, Bytes::little(self.bytes).u32(at))
    }
    fn count(&self, at: usize) -> Result<u32, TextError> {
        let n = self.u32(at)?;
        if n > MAX_ITEMS || n as usize > self.bytes.len() { Err(bad(at, "a count is too large")) } else { Ok(n) }
    }
    fn magic(&self, at: usize, want: &[u8; 4]) -> Result<(), TextError> {
        if &Self::there(at, Bytes::little(self.bytes).array::<4>(at))? == want { Ok(()) } else { Err(bad(at, "a header is missing")) }
    }
}
