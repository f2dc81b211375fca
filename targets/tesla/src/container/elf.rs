//! The container: an ELF relocatable object with the code, one relocation per absolute branch and a metadata section.
//!
//! `.text` holds the words; `.rel.text` a relocation of type 1 (the branch target's byte address in the split field of
//! the control form) against the program's start; `.tesla.abi` the interface as JSON ([`crate::abi::Abi`]).

use crate::abi::Abi;
use crate::emit::Code;
use object::write::{Object, Relocation, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, Object as _, ObjectSection, RelocationFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};

/// Relocation type: word address of a code location, bits 15:0 at 26:11 and 21:16 at 51:46.
pub const R_CODE_ADDRESS: u32 = 1;

/// Writes the object.
pub fn write(code: &Code, abi: &Abi) -> Result<Vec<u8>, String> {
    // ELF has no machine number for these chips; i386 stands for "32-bit little-endian", the section name for the machine.
    let mut o = Object::new(BinaryFormat::Elf, Architecture::I386, Endianness::Little);
    let text = o.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
    o.append_section_data(text, &code.bytes, 64);
    let start = o.add_symbol(Symbol {
        name: abi.entry.as_bytes().to_vec(),
        value: 0,
        size: code.bytes.len() as u64,
        kind: SymbolKind::Text,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(text),
        flags: SymbolFlags::None,
    });
    for (at, _) in &code.relocations {
        let r = Relocation {
            offset: *at as u64,
            symbol: start,
            // The field holds the offset from the start already; the loader adds the start.
            addend: 0,
            flags: RelocationFlags::Elf { r_type: object::elf::RelocationType(R_CODE_ADDRESS) },
        };
        o.add_relocation(text, r).map_err(|e| e.to_string())?;
    }
    let meta = o.add_section(Vec::new(), b".tesla.abi".to_vec(), SectionKind::Other);
    let json = serde_json::to_vec(abi).map_err(|e| e.to_string())?;
    o.append_section_data(meta, &json, 1);
    let bytes = o.write().map_err(|e| e.to_string())?;
    match read(&bytes) {
        Some((back, _)) if back == code.bytes => Ok(bytes),
        _ => Err("the container does not give the code back".to_string()),
    }
}

/// Reads code and interface back; `None` if the bytes are no container of this machine.
pub fn read(bytes: &[u8]) -> Option<(Vec<u8>, Abi)> {
    if !bytes.starts_with(b"\x7fELF") {
        return None;
    }
    let f = object::File::parse(bytes).ok()?;
    let abi = serde_json::from_slice(f.section_by_name(".tesla.abi")?.data().ok()?).ok()?;
    Some((f.section_by_name(".text")?.data().ok()?.to_vec(), abi))
}
