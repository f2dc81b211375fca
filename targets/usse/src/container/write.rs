//! The writer of containers: the sections in the order of published files.

use super::{Gxp, HEADER, Varyings};

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
    /// A section of `n` entries begins here: its count and offset in the header.
    fn section(&mut self, count: usize, offset: usize, n: usize) {
        self.patch(count, &(n as u32).to_le_bytes());
        self.here(offset);
    }
    /// Makes the field at `field` point to what comes next.
    fn here(&mut self, field: usize) {
        let at = self.at();
        self.point(field, at);
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
    w.patch(0x5c, &g.data_count.to_le_bytes());
    w.patch(0x64, &g.default_words.to_le_bytes());
    w.patch(0x6c, &g.compiler.to_le_bytes());
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
    w.section(0x44, 0x48, g.secondary.len());
    g.secondary.iter().for_each(|c| w.u64(*c));
    w.here(0x4c);
    w.patch(0x3a, &(g.phases.len() as u16).to_le_bytes());
    g.phases.iter().for_each(|p| w.u32(*p));
    w.section(0x3c, 0x40, g.primary.len());
    g.primary.iter().for_each(|c| w.u64(*c));
    w.section(0x70, 0x74, g.literals.len());
    for (o, v) in &g.literals {
        w.u32(*o);
        w.u32(*v);
    }
    // Literals in memory and texture buffers: there are none.
    w.here(0x68);
    w.section(0x80, 0x84, g.dependent_samplers.len());
    for (u, s) in &g.dependent_samplers {
        w.u16(*u);
        w.u16(*s);
    }
    w.here(0x8c);
    w.section(0x90, 0x94, g.containers.len());
    for (i, b, s) in &g.containers {
        w.u16(*i);
        w.u16(0);
        w.u16(*b);
        w.u16(*s);
    }
    w.section(0x78, 0x7c, g.uniform_buffers.len());
    for (i, s, b) in &g.uniform_buffers {
        w.u16(*i);
        w.u16(*s);
        w.u32(*b as u32);
    }
    let first = w.at();
    w.section(0x24, 0x28, g.parameters.len());
    for p in &g.parameters {
        w.u32(0);
        w.u16(p.category as u16 | (p.ty as u16) << 4 | (p.components as u16) << 8 | (p.container as u16) << 12);
        w.0.extend_from_slice(&[p.semantic, p.semantic_index]);
        w.u32(p.array);
        w.u32(p.resource);
    }
    if !g.queries.is_empty() {
        w.here(HEADER - 4);
        g.queries.iter().for_each(|q| w.u16(*q));
    }
    for (n, p) in g.parameters.iter().enumerate() {
        w.here(first + 16 * n);
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
