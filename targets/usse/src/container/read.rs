//! The reader of containers. It trusts nothing: every count and offset is checked against the file before it is used.

use super::{Descriptor, Gxp, HEADER, Parameter, UNITS, Varyings};
use retroshade_emit::bytes::Bytes;
use retroshade_lower::TextError;
use std::ops::Range;

pub(super) struct Reader<'a>(pub(super) Bytes<'a>);

pub(super) fn bad(at: usize, what: impl Into<String>) -> TextError {
    TextError { offset: Some(at as u64), ..TextError::new(what) }
}

impl Reader<'_> {
    fn there<T>(&self, at: usize, found: Option<T>) -> Result<T, TextError> {
        found.ok_or_else(|| bad(at, format!("the file ends at {:#x}, before a number that begins at {at:#x} does", self.0.len())))
    }
    fn u8(&self, at: usize) -> Result<u8, TextError> {
        self.there(at, self.0.u8(at))
    }
    fn u16(&self, at: usize) -> Result<u16, TextError> {
        self.there(at, self.0.u16(at))
    }
    pub(super) fn u32(&self, at: usize) -> Result<u32, TextError> {
        self.there(at, self.0.u32(at))
    }
    fn u64(&self, at: usize) -> Result<u64, TextError> {
        self.there(at, self.0.u64(at))
    }
    /// The target of a relative offset.
    fn target(&self, at: usize) -> Result<usize, TextError> {
        let v = self.u32(at)? as i32;
        usize::try_from(at as i64 + v as i64)
            .ok()
            .filter(|t| *t <= self.0.len())
            .ok_or_else(|| bad(at, "an offset points outside the file"))
    }
    /// A table of `count` entries of `size` bytes: their addresses.
    fn table(&self, count_at: usize, offset_at: usize, size: usize, what: &str) -> Result<Vec<usize>, TextError> {
        let n = self.u32(count_at)? as usize;
        if n == 0 {
            return Ok(Vec::new());
        }
        let first = self.target(offset_at)?;
        if n.checked_mul(size).and_then(|b| b.checked_add(first)).is_none_or(|end| end > self.0.len()) {
            return Err(bad(count_at, format!("{n} {what} do not fit the file")));
        }
        Ok((0..n).map(|k| first + k * size).collect())
    }
    /// `size` bytes behind a relative offset.
    fn span(&self, at: usize, size: usize, what: &str) -> Result<Range<usize>, TextError> {
        let first = if size == 0 { at } else { self.target(at)? };
        match first.checked_add(size).filter(|end| *end <= self.0.len()) {
            Some(end) => Ok(first..end),
            None => Err(bad(at, format!("the {what} does not fit the file"))),
        }
    }
    fn string(&self, at: usize) -> Result<String, TextError> {
        let name = self.0.name(at).ok_or_else(|| bad(at, "a name lies outside the file or does not end"))?;
        std::str::from_utf8(name).map(str::to_string).map_err(|_| bad(at, "a name is not UTF-8"))
    }
}

/// Reads a container.
pub fn read(bytes: &[u8]) -> Result<Gxp, TextError> {
    let r = Reader(Bytes::little(bytes));
    if r.there(0, r.0.array::<4>(0))? != *b"GXP\0" {
        return Err(bad(0, "not a .gxp container"));
    }
    if r.u8(4)? != 1 {
        return Err(bad(4, format!("unknown version {}", r.u8(4)?)));
    }
    let size = r.u32(8)? as usize;
    if size > bytes.len() || size < HEADER {
        return Err(bad(8, format!("the header says {size} bytes, the file has {}", bytes.len())));
    }
    r.u32(HEADER - 4)?;
    let code = |count_at: usize, offset_at: usize| -> Result<Vec<u64>, TextError> {
        r.table(count_at, offset_at, 8, "instructions")?.into_iter().map(|a| r.u64(a)).collect()
    };
    let flags = r.u32(0x14)?;
    let mut parameters = Vec::new();
    for at in r.table(0x24, 0x28, 16, "parameters")? {
        let bits = r.u16(at + 4)?;
        let name_at = usize::try_from(at as i64 + r.u32(at)? as i32 as i64).map_err(|_| bad(at, "a name lies outside the file"))?;
        parameters.push(Parameter {
            name: r.string(name_at)?,
            category: (bits & 15) as u8,
            ty: (bits >> 4 & 15) as u8,
            components: (bits >> 8 & 15) as u8,
            container: (bits >> 12) as u8,
            semantic: r.u8(at + 6)?,
            semantic_index: r.u8(at + 7)?,
            array: r.u32(at + 8)?,
            resource: r.u32(at + 12)?,
        });
    }
    let v = r.target(0x2c)?;
    let varyings = if flags & 1 == 0 {
        Varyings::Vertex {
            attributes: r.u64(v)?,
            untyped: r.u64(v + 8)?,
            outputs1: r.u32(v + 16)?,
            outputs2: r.u32(v + 20)?,
            half: r.u32(v + 24)?,
            vertex_index: r.u16(v + 28)?,
            instance_index: r.u16(v + 30)?,
        }
    } else {
        let n = r.u16(v + 12)? as usize;
        let first = r.target(v + 16)?;
        let mut descriptors = Vec::new();
        for k in 0..n {
            let at = first + 16 * k;
            descriptors.push(Descriptor { info: r.u32(at)?, unit: r.u32(at + 4)?, size: r.u32(at + 8)?, result: r.u32(at + 12)? });
        }
        Varyings::Fragment {
            output_start: r.u8(v + 8)?,
            output_type: r.u8(v + 10)?,
            components: r.u8(v + 11)?,
            textures: r.u16(v + 14)?,
            descriptors,
        }
    };
    let minor = r.u8(5)?;
    let phases = r.span(0x4c, 4 * r.u16(0x3a)? as usize, "phase table")?.step_by(4).map(|at| r.u32(at)).collect::<Result<_, _>>()?;
    // Older headers end before the offset of the query table.
    let queries = match minor >= 5 && r.u32(HEADER - 4)? != 0 {
        true => r.span(HEADER - 4, 2 * UNITS, "table of texture queries")?.step_by(2).map(|at| r.u16(at)).collect::<Result<_, _>>()?,
        false => Vec::new(),
    };
    let mut gxp = Gxp {
        minor,
        sdk: r.u16(6)?,
        compiler: r.u32(0x6c)?,
        flags,
        buffer_flags: r.u32(0x18)?,
        texunit_flags: r.u64(0x1c)?,
        primary_regs: r.u16(0x30)?,
        secondary_regs: r.u16(0x32)?,
        temps: r.u32(0x34)?,
        phases,
        primary: code(0x3c, 0x40)?,
        secondary: code(0x44, 0x48)?,
        data_count: r.u32(0x5c)?,
        default_words: r.u32(0x64)?,
        parameters,
        varyings,
        literals: Vec::new(),
        uniform_buffers: Vec::new(),
        dependent_samplers: Vec::new(),
        containers: Vec::new(),
        queries,
    };
    for at in r.table(0x70, 0x74, 8, "literals")? {
        gxp.literals.push((r.u32(at)?, r.u32(at + 4)?));
    }
    for at in r.table(0x78, 0x7c, 8, "uniform buffers")? {
        gxp.uniform_buffers.push((r.u16(at)?, r.u16(at + 2)?, r.u32(at + 4)? as i32));
    }
    for at in r.table(0x80, 0x84, 4, "dependent samplers")? {
        gxp.dependent_samplers.push((r.u16(at)?, r.u16(at + 2)?));
    }
    for at in r.table(0x90, 0x94, 8, "containers")? {
        gxp.containers.push((r.u16(at)?, r.u16(at + 4)?, r.u16(at + 6)?));
    }
    Ok(gxp)
}

/// A part of a file: its name and bytes.
pub type Section = (&'static str, Range<usize>);

/// The parts of a file that are not empty, in the order of the header.
pub fn sections(bytes: &[u8]) -> Result<Vec<Section>, TextError> {
    let r = Reader(Bytes::little(bytes));
    let fragment = r.u32(0x14)? & 1 == 1;
    let varyings = r.target(0x2c)?;
    let mut out = vec![("header", 0..HEADER), ("varyings", varyings..varyings + if fragment { 20 } else { 32 })];
    if fragment {
        let n = r.u16(varyings + 12)? as usize;
        let at = r.target(varyings + 16)?;
        out.push(("input descriptors", at..at + 16 * n));
    }
    for (name, count, offset, size) in [
        ("secondary program", 0x44, 0x48, 8),
        ("primary program", 0x3c, 0x40, 8),
        ("literals", 0x70, 0x74, 8),
        ("dependent samplers", 0x80, 0x84, 4),
        ("containers", 0x90, 0x94, 8),
        ("uniform buffers", 0x78, 0x7c, 8),
        ("parameters", 0x24, 0x28, 16),
    ] {
        let all = r.table(count, offset, size, name)?;
        out.extend(all.first().map(|first| (name, *first..first + all.len() * size)));
    }
    out.push(("phase table", r.span(0x4c, 4 * r.u16(0x3a)? as usize, "phase table")?));
    if r.u8(5)? >= 5 && r.u32(HEADER - 4)? != 0 {
        out.push(("texture queries", r.span(HEADER - 4, 2 * UNITS, "table of texture queries")?));
    }
    out.retain(|(_, at)| !at.is_empty());
    Ok(out)
}
