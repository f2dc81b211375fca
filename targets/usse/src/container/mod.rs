//! The `.gxp` container: reader and writer.
//!
//! Facts: the ISA sheet's section 19. Every offset is relative to the place where it stands. The reader trusts nothing:
//! every count and offset is checked against the file before it is used.

pub mod interface;

use retroshade_lower::TextError;

/// Bytes of the header.
pub const HEADER: usize = 0x9c;

/// A parameter's category.
pub const CATEGORIES: [&str; 5] = ["attribute", "uniform", "sampler", "auxiliary_surface", "uniform_buffer"];
/// A parameter's type.
pub const TYPES: [&str; 10] = ["f32", "f16", "c10", "u32", "s32", "u16", "s16", "u8", "s8", "aggregate"];
/// Attribute semantics.
pub const SEMANTICS: [&str; 17] = [
    "NONE",
    "ATTR",
    "BCOL",
    "BINORMAL",
    "BLENDINDICES",
    "BLENDWEIGHT",
    "COLOR",
    "DIFFUSE",
    "FOGCOORD",
    "NORMAL",
    "POINTSIZE",
    "POSITION",
    "SPECULAR",
    "TANGENT",
    "TEXCOORD",
    "INDEX",
    "INSTANCE",
];
/// Names of container indices from 14 on.
const CONTAINERS: [&str; 6] = ["default uniform buffer", "texture", "literal", "scratch", "thread", "data"];

/// A named parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// Index into [`CATEGORIES`].
    pub category: u8,
    /// Index into [`TYPES`].
    pub ty: u8,
    /// Components.
    pub components: u8,
    /// Container.
    pub container: u8,
    /// Index into [`SEMANTICS`].
    pub semantic: u8,
    /// Semantic index; bit 4 of a sampler: cube.
    pub semantic_index: u8,
    /// Array size.
    pub array: u32,
    /// Register, word offset or unit.
    pub resource: u32,
}

/// A fragment input descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Attribute and coordinate bits.
    pub info: u32,
    /// Texture unit.
    pub unit: u32,
    /// Register counts.
    pub size: u32,
    /// Result type of the texture part.
    pub result: u32,
}

impl Descriptor {
    /// What it puts where, in words; `pa` is the next register.
    fn shown(&self, pa: &mut u32) -> String {
        const KINDS: [&str; 6] = ["color0", "color1", "fog", "position", "?", "nothing"];
        let mut out = String::new();
        let (kind, sprite) = (self.info >> 12 & 15, self.info >> 30 & 1 == 1);
        if kind != 15 || sprite {
            let name = match kind {
                _ if sprite => "point_coord".to_string(),
                0..=9 => format!("texcoord{kind}"),
                n => KINDS[n as usize - 10].to_string(),
            };
            let ty = match (self.info >> 28 & 3, kind) {
                (2, _) => "f16",
                (1, _) => "c10",
                (_, 10 | 11) if self.info >> 20 & 1 == 0 => "u8",
                _ => "f32",
            };
            out.push_str(&format!(" {name} {ty}x{} in pa{pa}", (self.info >> 22 & 3) + 1));
            *pa += (self.size >> 4 & 3) + 1;
        }
        if self.info & 15 != 15 {
            let form = [".?", ".xy", ".xy / w", ".xy / z"][(self.info >> 8 & 3) as usize];
            let ty = ["its own type", "?", "f16", "f32"][(self.result >> 4 & 3) as usize];
            out.push_str(&format!(" texture unit {} at texcoord{}{form}, {ty} in pa{pa}", self.unit, self.info & 15));
            *pa += (self.size >> 6 & 3) + 1;
        }
        out
    }
}

/// What a program reads and writes besides parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Varyings {
    /// A vertex program's block.
    Vertex {
        /// Attribute registers that are read.
        attributes: u64,
        /// Untyped attribute registers.
        untyped: u64,
        /// Outputs, first word.
        outputs1: u32,
        /// Outputs, second word: three bits per texture coordinate.
        outputs2: u32,
        /// Texture coordinates in half precision.
        half: u32,
        /// Register of the vertex index.
        vertex_index: u16,
        /// Register of the instance index.
        instance_index: u16,
    },
    /// A fragment program's block.
    Fragment {
        /// First register of the result.
        output_start: u8,
        /// Type of the result.
        output_type: u8,
        /// Components of the result.
        components: u8,
        /// Descriptors with a texture part.
        textures: u16,
        /// Input descriptors.
        descriptors: Vec<Descriptor>,
    },
}

/// A container in structured form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gxp {
    /// Minor version: 4 or 5.
    pub minor: u8,
    /// SDK version.
    pub sdk: u16,
    /// Flags of section 19.2.
    pub flags: u32,
    /// Two bits per uniform buffer.
    pub buffer_flags: u32,
    /// Four bits per texture unit.
    pub texunit_flags: u64,
    /// Attribute registers.
    pub primary_regs: u16,
    /// Secondary attribute registers.
    pub secondary_regs: u16,
    /// Temporaries.
    pub temps: u32,
    /// Phases of the primary program.
    pub phases: u16,
    /// Primary program.
    pub primary: Vec<u64>,
    /// Secondary program.
    pub secondary: Vec<u64>,
    /// Registers of the DATA container.
    pub data_count: u32,
    /// Words of the default uniform buffer.
    pub default_words: u32,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// Varyings.
    pub varyings: Varyings,
    /// Literals: register offset, value.
    pub literals: Vec<(u32, u32)>,
    /// Uniform buffers: index, register offset, base value.
    pub uniform_buffers: Vec<(u16, u16, i32)>,
    /// Dependent samplers: unit × 4 + word, register offset.
    pub dependent_samplers: Vec<(u16, u16)>,
    /// Containers: index, first register, size.
    pub containers: Vec<(u16, u16, u16)>,
}

impl Gxp {
    /// Whether it is a fragment program.
    pub fn is_fragment(&self) -> bool {
        self.flags & 1 == 1
    }
    /// First register of a container, if present.
    pub fn base(&self, index: u16) -> Option<u16> {
        self.containers.iter().find(|c| c.0 == index).map(|c| c.1)
    }
}

struct Reader<'a>(&'a [u8]);

fn bad(at: usize, what: impl Into<String>) -> TextError {
    TextError { offset: Some(at as u64), ..TextError::new(what) }
}

impl Reader<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> Result<[u8; N], TextError> {
        let end = at.checked_add(N).ok_or_else(|| bad(at, "an address overflows"))?;
        self.0
            .get(at..end)
            .and_then(|b| b.try_into().ok())
            .ok_or_else(|| bad(at, format!("the file ends at {:#x}, before {end:#x}", self.0.len())))
    }
    fn u8(&self, at: usize) -> Result<u8, TextError> {
        self.bytes::<1>(at).map(|b| b[0])
    }
    fn u16(&self, at: usize) -> Result<u16, TextError> {
        self.bytes(at).map(u16::from_le_bytes)
    }
    fn u32(&self, at: usize) -> Result<u32, TextError> {
        self.bytes(at).map(u32::from_le_bytes)
    }
    fn u64(&self, at: usize) -> Result<u64, TextError> {
        self.bytes(at).map(u64::from_le_bytes)
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
    fn string(&self, at: usize) -> Result<String, TextError> {
        let rest = self.0.get(at..).ok_or_else(|| bad(at, "a name lies outside the file"))?;
        let end = rest.iter().position(|b| *b == 0).ok_or_else(|| bad(at, "a name does not end"))?;
        std::str::from_utf8(&rest[..end]).map(str::to_string).map_err(|_| bad(at, "a name is not UTF-8"))
    }
}

/// Reads a container.
pub fn read(bytes: &[u8]) -> Result<Gxp, TextError> {
    let r = Reader(bytes);
    if r.bytes::<4>(0)? != *b"GXP\0" {
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
    let mut gxp = Gxp {
        minor: r.u8(5)?,
        sdk: r.u16(6)?,
        flags,
        buffer_flags: r.u32(0x18)?,
        texunit_flags: r.u64(0x1c)?,
        primary_regs: r.u16(0x30)?,
        secondary_regs: r.u16(0x32)?,
        temps: r.u32(0x34)?,
        phases: r.u16(0x3a)?,
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

struct Writer(Vec<u8>);

impl Writer {
    fn at(&self) -> usize {
        self.0.len()
    }
    fn u16(&mut self, v: u16) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    fn u32(&mut self, v: u32) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    fn u64(&mut self, v: u64) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    fn patch(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }
    /// Makes the field at `field` point to `target`.
    fn point(&mut self, field: usize, target: usize) {
        self.patch(field, &((target as i64 - field as i64) as i32).to_le_bytes());
    }
}

/// Writes a container.
pub fn write(g: &Gxp) -> Vec<u8> {
    let mut w = Writer(vec![0; HEADER]);
    w.patch(0, b"GXP\0");
    w.patch(4, &[1, g.minor]);
    w.patch(6, &g.sdk.to_le_bytes());
    w.patch(0x14, &g.flags.to_le_bytes());
    w.patch(0x18, &g.buffer_flags.to_le_bytes());
    w.patch(0x1c, &g.texunit_flags.to_le_bytes());
    w.patch(0x30, &g.primary_regs.to_le_bytes());
    w.patch(0x32, &g.secondary_regs.to_le_bytes());
    w.patch(0x34, &g.temps.to_le_bytes());
    w.patch(0x3a, &g.phases.to_le_bytes());
    w.patch(0x5c, &g.data_count.to_le_bytes());
    w.patch(0x64, &g.default_words.to_le_bytes());
    w.point(0x2c, HEADER);
    match &g.varyings {
        Varyings::Vertex { attributes, untyped, outputs1, outputs2, half, vertex_index, instance_index } => {
            w.u64(*attributes);
            w.u64(*untyped);
            w.u32(*outputs1);
            w.u32(*outputs2);
            w.u32(*half);
            w.u16(*vertex_index);
            w.u16(*instance_index);
        }
        Varyings::Fragment { output_start, output_type, components, textures, descriptors } => {
            w.u64(0);
            w.0.extend_from_slice(&[*output_start, 0, *output_type, *components]);
            w.u16(descriptors.len() as u16);
            w.u16(*textures);
            w.u32(4);
            for d in descriptors {
                w.u32(d.info);
                w.u32(d.unit);
                w.u32(d.size);
                w.u32(d.result);
            }
        }
    }
    for (code, count, offset) in [(&g.secondary, 0x44, 0x48), (&g.primary, 0x3c, 0x40)] {
        let at = w.at();
        w.point(offset, at);
        w.patch(count, &(code.len() as u32).to_le_bytes());
        for c in code {
            w.u64(*c);
        }
        if offset == 0x48 {
            let end = w.at();
            w.point(0x4c, end);
        }
    }
    let at = w.at();
    w.point(0x68, at);
    w.point(0x74, at);
    w.patch(0x70, &(g.literals.len() as u32).to_le_bytes());
    for (o, v) in &g.literals {
        w.u32(*o);
        w.u32(*v);
    }
    let at = w.at();
    w.point(0x84, at);
    w.point(0x8c, at);
    w.patch(0x80, &(g.dependent_samplers.len() as u32).to_le_bytes());
    for (u, s) in &g.dependent_samplers {
        w.u16(*u);
        w.u16(*s);
    }
    let at = w.at();
    w.point(0x7c, at);
    w.patch(0x78, &(g.uniform_buffers.len() as u32).to_le_bytes());
    for (i, s, b) in &g.uniform_buffers {
        w.u16(*i);
        w.u16(*s);
        w.u32(*b as u32);
    }
    let at = w.at();
    w.point(0x94, at);
    w.patch(0x90, &(g.containers.len() as u32).to_le_bytes());
    for (i, b, s) in &g.containers {
        w.u16(*i);
        w.u16(0);
        w.u16(*b);
        w.u16(*s);
    }
    let first = w.at();
    w.point(0x28, first);
    w.patch(0x24, &(g.parameters.len() as u32).to_le_bytes());
    for p in &g.parameters {
        w.u32(0);
        w.u16(p.category as u16 | (p.ty as u16) << 4 | (p.components as u16) << 8 | (p.container as u16) << 12);
        w.0.extend_from_slice(&[p.semantic, p.semantic_index]);
        w.u32(p.array);
        w.u32(p.resource);
    }
    for (n, p) in g.parameters.iter().enumerate() {
        let at = w.at();
        w.point(first + 16 * n, at);
        w.0.extend_from_slice(p.name.as_bytes());
        w.0.push(0);
    }
    let size = w.at() as u32;
    w.patch(8, &size.to_le_bytes());
    while !w.at().is_multiple_of(4) {
        w.0.push(0);
    }
    w.0
}

/// What vitaGL's `glShaderBinary` takes (any `binaryFormat`): the number of uniforms that are matrices, their indices in the
/// parameter table, then the container itself up to the end. Each a 32-bit little-endian word; nothing is aligned, since the
/// library copies the container to memory of its own.
pub fn vitagl(g: &Gxp, matrices: &[u32]) -> Vec<u8> {
    let mut w = Writer(Vec::new());
    w.u32(matrices.len() as u32);
    for m in matrices {
        w.u32(*m);
    }
    w.0.extend(write(g));
    w.0
}

/// Reads what [`vitagl`] writes: the parameters that are matrices, and the container.
pub fn read_vitagl(bytes: &[u8]) -> Result<(Vec<u32>, Gxp), TextError> {
    let r = Reader(bytes);
    let n = r.u32(0)? as usize;
    let start = n.checked_add(1).and_then(|n| n.checked_mul(4)).filter(|s| *s <= bytes.len());
    let start = start.ok_or_else(|| bad(0, format!("{n} matrices do not fit the file")))?;
    let matrices = (1..=n).map(|k| r.u32(4 * k)).collect::<Result<Vec<_>, _>>()?;
    let g = read(&bytes[start..])?;
    match matrices.iter().find(|m| **m as usize >= g.parameters.len()) {
        Some(m) => Err(bad(4, format!("there is no parameter {m}"))),
        None => Ok((matrices, g)),
    }
}

/// Shows everything in the container but the code.
pub fn describe(g: &Gxp) -> String {
    let mut out = String::new();
    let kind = if g.is_fragment() { "fragment" } else { "vertex" };
    out.push_str(&format!("# gxp 1.{} {kind} program, sdk {:04x}\n", g.minor, g.sdk));
    out.push_str(&format!("# flags {:#010x}, buffers {:#010x}, texture units {:#x}\n", g.flags, g.buffer_flags, g.texunit_flags));
    out.push_str(&format!(
        "# pa {}, sa {}, temporaries {}, phases {}, data {}, default uniform buffer {} words\n",
        g.primary_regs, g.secondary_regs, g.temps, g.phases, g.data_count, g.default_words
    ));
    for p in &g.parameters {
        let of = |t: &[&'static str], n: u8| t.get(n as usize).map_or_else(|| n.to_string(), |s| s.to_string());
        out.push_str(&format!(
            "# parameter {} {} {}x{}[{}] ",
            of(&CATEGORIES, p.category),
            p.name,
            of(&TYPES, p.ty),
            p.components,
            p.array
        ));
        if p.category == 0 {
            out.push_str(&format!("semantic {}{} ", of(&SEMANTICS, p.semantic), p.semantic_index));
        } else if p.category == 2 && p.semantic_index & 16 != 0 {
            out.push_str("cube ");
        }
        out.push_str(&format!("container {} resource {}\n", p.container, p.resource));
    }
    match &g.varyings {
        Varyings::Vertex { attributes, untyped, outputs1, outputs2, half, vertex_index, instance_index } => {
            out.push_str(&format!(
                "# attributes {attributes:#x} untyped {untyped:#x}; outputs {outputs1:#010x} {outputs2:#010x} half {half:#x}; indices pa{vertex_index} pa{instance_index}\n"
            ));
        }
        Varyings::Fragment { output_start, output_type, components, textures, descriptors } => {
            let ty = TYPES.get(*output_type as usize).unwrap_or(&"?");
            out.push_str(&format!(
                "# result pa{output_start} {ty}x{components}; {textures} of {} inputs read textures\n",
                descriptors.len()
            ));
            let mut pa = 0;
            for d in descriptors {
                out.push_str(&format!("# input {:#010x} unit {} size {:#x} result {:#x}", d.info, d.unit, d.size, d.result));
                out.push_str(&format!(":{}\n", d.shown(&mut pa)));
            }
        }
    }
    for (i, b, s) in &g.containers {
        let name =
            i.checked_sub(14).and_then(|n| CONTAINERS.get(n as usize)).map_or_else(|| format!("uniform buffer {i}"), |n| n.to_string());
        out.push_str(&format!("# container {i} ({name}) sa{b} size {s}\n"));
    }
    for (o, v) in &g.literals {
        out.push_str(&format!("# literal +{o} = {v:#010x} ({})\n", f32::from_bits(*v)));
    }
    for (i, s, b) in &g.uniform_buffers {
        out.push_str(&format!("# uniform buffer {i} address at +{s}, base {b}\n"));
    }
    for (u, s) in &g.dependent_samplers {
        out.push_str(&format!("# texture unit {} word {} at +{s}\n", u / 4, u % 4));
    }
    out
}
