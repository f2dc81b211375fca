//! The container: an ELF object with the code, the register words that a driver programs, and what the program is.
//!
//! Sections: `.text` (code), `.r700.info` (stage and chip, one `name value` per line), `.r700.registers` (register words by
//! the names of AMD's register reference, one `NAME 0xvalue` per line).

use crate::abi::Abi;
use crate::emit::Emitted;
use retroshade_ir::{Module, Primitive, Stage};

const MACHINE_AMDGPU: u16 = 224;

/// The register words of a program, by name.
pub fn registers(e: &Emitted, gprs: u16, m: &Module, abi: &Abi) -> Vec<(&'static str, u32)> {
    // NUM_GPRS 7:0, STACK_SIZE 15:8, DX10_CLAMP 21.
    let resources = gprs as u32 & 0xff | (e.counts.stack as u32 & 0xff) << 8 | 1 << 21;
    let mut out = match m.stage {
        Stage::Fragment => vec![
            ("SQ_PGM_RESOURCES_PS", resources),
            ("SQ_PGM_EXPORTS_PS", (e.depth as u32) | e.colors.max(if e.depth { 0 } else { 1 }) << 1),
            ("DB_SHADER_CONTROL", (e.depth as u32) | (e.kills as u32) << 6),
        ],
        Stage::Geometry => {
            // Sizes in words.
            let item = 4 * abi.ring_slots(m).len() as u32;
            let most = m.geometry.map_or(0, |g| g.max_vertices);
            let kind = m.geometry.map_or(0, |g| match g.output {
                Primitive::Points => 0,
                Primitive::LineStrip => 1,
                _ => 2,
            });
            vec![
                ("SQ_PGM_RESOURCES_GS", resources),
                ("SQ_ESGS_RING_ITEMSIZE", 4 * abi.ring_input_size()),
                ("SQ_GS_VERT_ITEMSIZE", item),
                ("SQ_GSVS_RING_ITEMSIZE", item * most),
                ("VGT_GS_OUT_PRIM_TYPE", kind),
            ]
        }
        _ => vec![("SQ_PGM_RESOURCES_VS", resources), ("SPI_VS_OUT_CONFIG", e.params.max(1).saturating_sub(1) << 1)],
    };
    if e.scratch > 0 {
        let name = match m.stage {
            Stage::Fragment => "SQ_PSTMP_RING_ITEMSIZE",
            Stage::Geometry => "SQ_GSTMP_RING_ITEMSIZE",
            _ => "SQ_VSTMP_RING_ITEMSIZE",
        };
        // In words.
        out.push((name, e.scratch * 4));
    }
    out
}

/// Builds the object.
pub fn build(code: &[u8], registers: &[(&str, u32)], stage: Stage, chip: &str) -> Vec<u8> {
    let words: String = registers.iter().map(|(n, v)| format!("{n} 0x{v:08x}\n")).collect();
    let info = format!("stage {}\nchip {chip}\n", stage.name());
    let names = b"\0.text\0.r700.info\0.r700.registers\0.shstrtab\0";
    let parts: [(u32, u32, u32, &[u8]); 4] = [(1, 1, 6, code), (7, 1, 0, info.as_bytes()), (18, 1, 0, words.as_bytes()), (34, 3, 0, names)];
    let mut body = vec![0u8; 52];
    let mut headers: Vec<[u32; 10]> = vec![[0; 10]];
    for (name, kind, flags, data) in parts {
        body.resize(body.len().next_multiple_of(16), 0);
        headers.push([name, kind, flags, 0, body.len() as u32, data.len() as u32, 0, 0, 8, 0]);
        body.extend_from_slice(data);
    }
    body.resize(body.len().next_multiple_of(4), 0);
    let table = body.len() as u32;
    body.extend(headers.iter().flatten().flat_map(|w| w.to_le_bytes()));
    let mut head = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    head.extend(1u16.to_le_bytes());
    head.extend(MACHINE_AMDGPU.to_le_bytes());
    head.extend([1u32, 0, 0, table, 0].iter().flat_map(|w| w.to_le_bytes()));
    head.extend([52u16, 0, 0, 40, 5, 4].iter().flat_map(|w| w.to_le_bytes()));
    body[..52].copy_from_slice(&head);
    body
}

/// A section's bytes by name; `None` if the bytes are no such object.
pub fn section<'a>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let u16_at = |o: usize| bytes.get(o..o + 2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    let u32_at = |o: usize| bytes.get(o..o + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    if !is_container(bytes) {
        return None;
    }
    let (table, count, strings) = (u32_at(32)? as usize, u16_at(48)? as usize, u16_at(50)? as usize);
    let header = |k: usize| -> Option<(usize, usize, usize)> {
        let at = table.checked_add(k * 40)?;
        Some((u32_at(at)? as usize, u32_at(at + 16)? as usize, u32_at(at + 20)? as usize))
    };
    let (_, names, _) = header(strings)?;
    for k in 1..count {
        let (n, offset, size) = header(k)?;
        let text = bytes.get(names.checked_add(n)?..)?;
        let end = text.iter().position(|c| *c == 0)?;
        if &text[..end] == name.as_bytes() {
            return bytes.get(offset..offset.checked_add(size)?);
        }
    }
    None
}

/// Whether the bytes are this target's object.
pub fn is_container(bytes: &[u8]) -> bool {
    bytes.len() >= 52 && bytes.starts_with(b"\x7fELF\x01\x01") && bytes[18..20] == MACHINE_AMDGPU.to_le_bytes()
}

/// The code of a container, or the bytes themselves.
pub fn code(bytes: &[u8]) -> &[u8] {
    section(bytes, ".text").unwrap_or(bytes)
}
