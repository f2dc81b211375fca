//! The container: an ELF object with the code, the register words that a driver programs, and what the program is.
//!
//! Sections: `.text` (code), `.r700.info` (stage and chip, one `name value` per line), `.r700.registers` (register words by
//! the names of AMD's register reference, one `NAME 0xvalue` per line). Programs beside the main one (`stages.rs`) are
//! sections `.r700.fetch`, `.r700.es`, `.r700.direct` and `.r700.copy`, their register words `.r700.es.registers` and so on.
//! `.r700.constants` is what a driver binds as the constant buffer that `.r700.info` names.

pub mod check;
pub mod gsh;
pub mod interface;
pub mod link;
pub mod registers;
pub mod ring;
pub mod stages;
pub mod usage;

use crate::abi::Constants;
use registers::Registers;
use retroshade_emit::bytes::Bytes;
use retroshade_ir::Stage;

const MACHINE_AMDGPU: u16 = 224;

/// A program beside the main one, as a section of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name of the section behind `.r700.`.
    pub name: &'static str,
    /// Its code.
    pub words: Vec<u32>,
    /// Its register words.
    pub registers: Registers,
}

/// Builds the object.
pub fn build(code: &[u8], registers: &Registers, parts: &[Part], constants: Option<&Constants>, stage: Stage, chip: &str) -> Vec<u8> {
    let listed = |r: &Registers| r.iter().map(|(n, v)| format!("{n} 0x{v:08x}\n")).collect::<String>().into_bytes();
    let buffer = constants.map_or(String::new(), |c| format!("constants {}\n", c.bank));
    let info = format!("stage {}\nchip {chip}\n{buffer}", stage.name()).into_bytes();
    let mut sections: Vec<(String, u32, u32, Vec<u8>)> = vec![
        (".text".to_string(), 1, 6, code.to_vec()),
        (".r700.info".to_string(), 1, 0, info),
        (".r700.registers".to_string(), 1, 0, listed(registers)),
    ];
    if let Some(c) = constants {
        sections.push((".r700.constants".to_string(), 1, 2, c.words.iter().flat_map(|w| w.to_le_bytes()).collect()));
    }
    for p in parts {
        sections.push((format!(".r700.{}", p.name), 1, 6, p.words.iter().flat_map(|w| w.to_le_bytes()).collect()));
        if !p.registers.is_empty() {
            sections.push((format!(".r700.{}.registers", p.name), 1, 0, listed(&p.registers)));
        }
    }
    let mut names = vec![0u8];
    let mut starts = Vec::new();
    for name in sections.iter().map(|s| s.0.as_str()).chain([".shstrtab"]) {
        starts.push(names.len() as u32);
        names.extend(name.as_bytes());
        names.push(0);
    }
    let count = sections.len() as u16 + 2;
    sections.push((String::new(), 3, 0, names));
    let parts = sections.iter().zip(starts).map(|((_, kind, flags, data), name)| (name, *kind, *flags, data.as_slice()));
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
    head.extend([52u16, 0, 0, 40, count, count - 1].iter().flat_map(|w| w.to_le_bytes()));
    body[..52].copy_from_slice(&head);
    body
}

/// A section's bytes by name; `None` if the bytes are no such object.
pub fn section<'a>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let (u16_at, u32_at) = (|o: usize| Bytes::little(bytes).u16(o), |o: usize| Bytes::little(bytes).u32(o));
    if !is_object(bytes) {
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

/// Whether the bytes are this target's object or a file of the Wii U.
pub fn is_container(bytes: &[u8]) -> bool {
    gsh::is_file(bytes) || is_object(bytes)
}

fn is_object(bytes: &[u8]) -> bool {
    bytes.len() >= 52 && bytes.starts_with(b"\x7fELF\x01\x01") && bytes[18..20] == MACHINE_AMDGPU.to_le_bytes()
}

/// The programs in a container, each with its name; bytes that are none are one program.
pub fn programs(bytes: &[u8]) -> Result<Vec<(String, &[u8])>, String> {
    if gsh::is_file(bytes) {
        let mut out: Vec<(String, &[u8])> = Vec::new();
        for (kind, code) in gsh::read(bytes)?.into_iter().filter(|b| b.0.is_program()) {
            let name = match kind {
                gsh::Kind::VertexProgram => "vertex",
                gsh::Kind::PixelProgram => "pixel",
                gsh::Kind::GeometryProgram => "geometry",
                _ => "copy",
            };
            let number = out.iter().filter(|p| p.0.starts_with(name)).count();
            out.push((format!("{name} {number}"), code));
        }
        return Ok(out);
    }
    let mut out = vec![(String::new(), section(bytes, ".text").unwrap_or(bytes))];
    for name in ["fetch", "es", "direct", "copy"] {
        out.extend(section(bytes, &format!(".r700.{name}")).map(|code| (name.to_string(), code)));
    }
    Ok(out)
}
