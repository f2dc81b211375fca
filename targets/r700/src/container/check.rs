//! Whether a Wii U file is what it says: its structure, on which everything else rests, and its words against its programs.
//!
//! [`structure`] looks at what a loader follows: versions, blocks, sizes, counts, pointers and the patch table. A file that is broken there
//! is refused by every reader. [`words`] compares what is left with the decoded programs: what it finds is told by `lint` alone, since a
//! program may run all the same.

use super::gsh::{self, Kind, OFFSET, Structure};
use super::usage::Usage;
use crate::abi::MOST_BLOCK_BYTES;
use crate::isa::program::{Program, words_of};
use retroshade_emit::bytes::Bytes;
use std::collections::BTreeMap;

/// A block as it stands in a file.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// What it holds; `None`: padding, textures, compute programs.
    pub kind: Option<Kind>,
    /// Where its data begins.
    pub at: usize,
    /// Its data.
    pub data: &'a [u8],
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Bytes::big(bytes).u32(at)
}

/// The rules for one word: what it is called, what it is, what it should be.
fn equal(what: &str, got: u32, want: u32) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what} is {got:#x}, not {want:#x}")) }
}

/// The blocks of a file, all of them sound.
pub fn structure(bytes: &[u8]) -> Result<Vec<Block<'_>>, String> {
    let head = |n: usize| word(bytes, 4 * n).ok_or("the file ends within its header");
    for (n, what, want) in [
        (1, "the size of the file's header", 0x20),
        (2, "the file's version", 7),
        (3, "the file's minor version", 1),
        (4, "the GPU's version", 2),
    ] {
        equal(what, head(n)?, want)?;
    }
    for (n, what, most) in
        [(5, "the file's alignment", 1), (6, "a reserved word of the file's header", 0), (7, "a reserved word of the file's header", 0)]
    {
        if head(n)? > most {
            return Err(format!("{what} is {:#x}, at most {most}", head(n)?));
        }
    }
    let blocks = blocks(bytes)?;
    for (header, programs, most) in [
        (Kind::VertexHeader, &[Kind::VertexProgram][..], gsh::MODE_GEOMETRY),
        (Kind::PixelHeader, &[Kind::PixelProgram], gsh::MODE_GEOMETRY),
        (Kind::GeometryHeader, &[Kind::GeometryProgram, Kind::CopyProgram], gsh::MODE_GEOMETRY),
    ] {
        let of = |kind: Kind| blocks.iter().filter(move |b| b.kind == Some(kind));
        for kind in programs {
            let (have, want) = (of(*kind).count(), of(header).count());
            if have != want {
                return Err(format!("there are {want} {}s and {have} {}s", header.name(), kind.name()));
            }
        }
        for (n, b) in of(header).enumerate() {
            let named = |e: String| format!("{} {n}: {e}", header.name());
            let h = gsh::Head::new(header, b.data).map_err(named)?;
            let sizes = [h.stage.program, gsh::COPY_PROGRAM];
            for (kind, at) in programs.iter().zip(sizes) {
                let size = of(*kind).nth(n).map_or(0, |p| p.data.len() as u32);
                equal(&format!("the size of its {}", kind.name()), word(b.data, at).unwrap_or(0), size).map_err(named)?;
            }
            if h.mode() > most {
                return Err(named(format!("its mode is {}, at most {most}", h.mode())));
            }
            relocation(b.data, h.stage, header).map_err(named)?;
        }
    }
    Ok(blocks)
}

/// Walks from block to block.
fn blocks(bytes: &[u8]) -> Result<Vec<Block<'_>>, String> {
    let mut at = 0x20;
    let mut out: Vec<Block<'_>> = Vec::new();
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    loop {
        let short = || format!("the file ends within the block at byte {at:#x}");
        let field = |n: usize| word(bytes, at + 4 * n).ok_or_else(short);
        if field(0)? != gsh::BLOCK_MAGIC {
            return Err(format!("no block at byte {at:#x}"));
        }
        let (number, size) = (field(4)?, field(5)? as usize);
        let what = |word: &str| format!("the {word} of the block at byte {at:#x}");
        equal(&what("header's size"), field(1)?, 0x20)?;
        // Pixel headers of version 0 lack the buffer at their end.
        if (field(2)?, field(3)?) != (1, 0) && (number, field(2)?) != (Kind::PixelHeader as u32, 0) {
            return Err(format!("{} is {}.{}, not 1.0", what("version"), field(2)?, field(3)?));
        }
        if number == 0 || number == 4 || number > 15 {
            return Err(format!("{} is {number}, which nothing has", what("type")));
        }
        // What the last block is called differs.
        if number != Kind::End as u32 {
            equal(&what("id"), field(6)?, out.len() as u32)?;
        }
        let index = seen.entry(number).or_default();
        equal(&what("index"), field(7)?, *index)?;
        *index += 1;
        let from = at + 0x20;
        let data = from.checked_add(size).and_then(|to| bytes.get(from..to)).ok_or_else(short)?;
        at = from + size;
        let kind = Kind::of(number);
        if kind == Some(Kind::End) {
            equal("the size of the last block", size as u32, 0)?;
            return if at == bytes.len() { Ok(out) } else { Err(format!("{} bytes stand behind the last block", bytes.len() - at)) };
        }
        out.push(Block { kind, at: from, data });
    }
}

/// The patch table and what it patches: every pointer of the structure and its arrays, and nothing else.
fn relocation(data: &[u8], stage: &Structure, kind: Kind) -> Result<(), String> {
    let head = data.len().checked_sub(gsh::RELOCATION_HEADER).ok_or("it has no relocation header")?;
    let field = |n: usize| word(data, head + 4 * n).unwrap_or(0);
    let size = field(3);
    for (n, what, want) in [
        (0, "the mark of the relocation header", gsh::RELOCATION_MAGIC),
        (1, "the size of the relocation header", gsh::RELOCATION_HEADER as u32),
        (2, "a reserved word of the relocation header", 0),
        (4, "the relocation header's pointer to the data", gsh::DATA),
        (7, "the base of the patches", 0),
        (9, "the pointer to the patch table", size | gsh::DATA),
    ] {
        equal(what, field(n), want)?;
    }
    let count = field(8);
    if u64::from(size) + 4 * u64::from(count) != head as u64 {
        return Err(format!("{count} patches from byte {size:#x} do not end where the relocation header begins"));
    }
    let (text, from) = (field(5), field(6));
    if from & !OFFSET != gsh::DATA || (from & OFFSET).checked_add(text) != Some(size) {
        return Err(format!("{text} bytes of names at {from:#x} do not end where the patch table begins"));
    }
    // What is patched: the place, and the tag of what stands there.
    let mut patched: BTreeMap<u32, u32> = BTreeMap::new();
    for n in 0..count {
        let entry = word(data, (size + 4 * n) as usize).unwrap_or(0);
        let (place, tag) = (entry & OFFSET, entry & !OFFSET);
        let pointer = word(data, place as usize).unwrap_or(0);
        // Zeros are passed over.
        if entry == 0 {
            continue;
        }
        if tag != gsh::DATA && tag != gsh::TEXT || !place.is_multiple_of(4) || place + 4 > size {
            return Err(format!("patch {n} ({entry:#x}) names no word of the header"));
        }
        if pointer & !OFFSET != tag || pointer & OFFSET >= size {
            return Err(format!("patch {n} is for the word {pointer:#x} at {place:#x}, which is no such pointer"));
        }
        if patched.insert(place, tag).is_some() {
            return Err(format!("two patches are for the word at {place:#x}"));
        }
    }
    for (place, tag) in pointers(data, stage, kind, size)? {
        if patched.remove(&place) != Some(tag) {
            return Err(format!("the pointer at {place:#x} has no patch"));
        }
    }
    match patched.first_key_value() {
        Some((place, _)) => Err(format!("the word at {place:#x} is patched and no pointer")),
        None => Ok(()),
    }
}

/// Where pointers stand, and their tags; arrays and names lie within the `size` bytes before the patch table.
fn pointers(data: &[u8], stage: &Structure, kind: Kind, size: u32) -> Result<Vec<(u32, u32)>, String> {
    let mut out = Vec::new();
    for (at, what, row, named) in stage.arrays(kind == Kind::VertexHeader) {
        let (count, pointer) = (word(data, at).unwrap_or(0), word(data, at + 4).unwrap_or(0));
        if count == 0 {
            equal(&format!("the pointer to no {what}"), pointer, 0)?;
            continue;
        }
        out.push((at as u32 + 4, gsh::DATA));
        let from = u64::from(pointer & OFFSET);
        if !from.is_multiple_of(4) || from + u64::from(count) * row as u64 > u64::from(size) {
            return Err(format!("{count} {what} at {pointer:#x} do not fit the header"));
        }
        for n in 0..if named { count } else { 0 } {
            let place = from as u32 + n * row;
            let name = (word(data, place as usize).unwrap_or(0) & OFFSET) as usize;
            let ends = data.get(name..size as usize).is_some_and(|t| t.contains(&0));
            if !ends {
                return Err(format!("the name of one of the {what} does not end"));
            }
            out.push((place, gsh::TEXT));
        }
    }
    for row in stage.rows {
        let used = word(data, row.count).unwrap_or(0);
        if used as usize > row.most {
            return Err(format!("{used} words {}… are used, there are {}", row.name, row.most));
        }
    }
    if word(data, stage.program + 4) != Some(0) {
        return Err("the pointer to its program is not 0, which only a loader sets".to_string());
    }
    Ok(out)
}

/// What the words of a sound file say that its programs do not do, or cannot.
pub fn words(blocks: &[Block<'_>]) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    let of = |kind: Kind| blocks.iter().filter(move |b| b.kind == Some(kind));
    let usage = |b: &Block<'_>| words_of(b.data).and_then(|w| Program::decode(&w)).map(|p| Usage::of(&p)).map_err(|e| e.message);
    for (header, program) in
        [(Kind::VertexHeader, Kind::VertexProgram), (Kind::PixelHeader, Kind::PixelProgram), (Kind::GeometryHeader, Kind::GeometryProgram)]
    {
        for (n, (h, p)) in of(header).zip(of(program)).enumerate() {
            let head = gsh::Head::new(header, h.data)?;
            let own = usage(p)?;
            let mut found = Vec::new();
            resources(&head, &own, &mut found);
            variables(&head, &own, &mut found)?;
            match header {
                Kind::VertexHeader => vertex(&head, &own, &mut found)?,
                Kind::PixelHeader => pixel(&head, &own, &mut found),
                _ => {
                    if let Some(copy) = of(Kind::CopyProgram).nth(n) {
                        let copy = usage(copy)?;
                        registers_of("its copy program", head.register("SQ_PGM_RESOURCES_VS"), &copy, 1, &mut found);
                        parameters(&head, &copy, &mut found);
                        geometry(&head, &own, &mut found);
                    }
                }
            }
            out.extend(found.into_iter().map(|f| format!("{} {n}: {f}", header.name())));
        }
    }
    Ok(out)
}

/// NUM_GPRS and STACK_SIZE of a word of resources; the fetch shader or the rasteriser fills `filled` registers.
fn registers_of(who: &str, word: u32, own: &Usage, filled: u32, out: &mut Vec<String>) {
    /// Everything that SQ_PGM_RESOURCES has, of whatever stage.
    const KNOWN: u32 = 0xffff | 1 << 21 | 1 << 22 | 1 << 23 | 7 << 24 | 1 << 28 | 1 << 29 | 1 << 30 | 1 << 31;
    let (gprs, stack) = (word & 0xff, word >> 8 & 0xff);
    let needed = own.gprs.max(filled);
    if gprs < needed || gprs > 127 {
        out.push(format!("NUM_GPRS is {gprs}; {who} uses {needed} registers"));
    }
    if stack < own.stack {
        out.push(format!("STACK_SIZE is {stack}; {who} needs {}", own.stack));
    }
    if word & !KNOWN != 0 {
        out.push(format!("SQ_PGM_RESOURCES has bits that mean nothing: {:#x}", word & !KNOWN));
    }
}

fn resources(head: &gsh::Head<'_>, own: &Usage, out: &mut Vec<String>) {
    let (name, filled) = match head.kind {
        Kind::VertexHeader => ("SQ_PGM_RESOURCES_VS", head.row("SQ_VTX_SEMANTIC_").len() as u32 + 1),
        Kind::PixelHeader => ("SQ_PGM_RESOURCES_PS", head.register("SPI_PS_IN_CONTROL_0") & 0x3f),
        _ => ("SQ_PGM_RESOURCES_GS", 2),
    };
    registers_of("its program", head.register(name), own, filled, out);
    let ring = own.ring_words > 0;
    let needs = match (head.kind, head.mode()) {
        (Kind::GeometryHeader, m) => (m != gsh::MODE_GEOMETRY).then_some("geometry"),
        (Kind::VertexHeader, gsh::MODE_GEOMETRY) => (!ring && own.parameters.is_some()).then_some("blocks or registers"),
        (Kind::VertexHeader, _) if ring => Some("geometry"),
        (_, 0) => (own.buffers != 0).then_some("blocks"),
        _ => None,
    };
    if let Some(mode) = needs {
        out.push(format!("its mode is {}; its program is one for the mode of {mode}", head.mode()));
    }
}

/// Uniforms, blocks, samplers and loop constants.
fn variables(head: &gsh::Head<'_>, own: &Usage, out: &mut Vec<String>) -> Result<(), String> {
    let blocks = head.blocks()?;
    for (name, [binding, size]) in &blocks {
        if *binding > 15 || *size > MOST_BLOCK_BYTES {
            out.push(format!("the block `{name}` has the number {binding} and {size} bytes; there are 16 of {MOST_BLOCK_BYTES}"));
        }
    }
    for (name, v) in head.uniforms()? {
        let size = match v.block {
            u32::MAX => Some(1 << 12),
            n => blocks.get(n as usize).map(|b| b.1[1]),
        };
        if gsh::typed(v.ty).is_none() || v.count == 0 || size.is_none_or(|s| u64::from(v.offset) * 4 >= u64::from(s)) {
            out.push(format!(
                "the uniform `{name}` has type {}, {} elements, offset {} and block {}",
                v.ty, v.count, v.offset, v.block as i32
            ));
        }
    }
    for (name, ty, unit) in head.samplers()? {
        if !matches!(ty, 0 | 1 | 3 | 4) || unit > 17 {
            out.push(format!("the sampler `{name}` has type {ty} and unit {unit}"));
        }
    }
    let loops = head.loops()?;
    for constant in own.loops.iter().filter(|c| !loops.iter().any(|l| l[0] == **c)) {
        out.push(format!("its program counts a loop by constant {constant}, which no loop variable sets"));
    }
    for [offset, value] in loops {
        if offset > 31 || value & 0xfff == 0 {
            out.push(format!("the loop variable {offset} has the value {value:#x}"));
        }
    }
    Ok(())
}

fn vertex(head: &gsh::Head<'_>, own: &Usage, out: &mut Vec<String>) -> Result<(), String> {
    let table = head.row("SQ_VTX_SEMANTIC_");
    let clear = head.register("SQ_VTX_SEMANTIC_CLEAR");
    let all = !(((1u64 << table.len().min(32)) - 1) as u32);
    if clear != all && clear != u32::MAX {
        out.push(format!("SQ_VTX_SEMANTIC_CLEAR is {clear:#x} with {} semantics", table.len()));
    }
    for (name, ty, count, location) in head.attributes()? {
        if gsh::typed(ty).is_none() || count > 32 || location > 0xff {
            out.push(format!("the attribute `{name}` has type {ty}, {count} elements and location {location}"));
        }
    }
    if head.mode() != gsh::MODE_GEOMETRY {
        parameters(head, own, out);
    } else if head.register("SQ_ESGS_RING_ITEMSIZE") < own.ring_words {
        let size = head.register("SQ_ESGS_RING_ITEMSIZE");
        out.push(format!("ringItemsize is {size}; its program writes {} words of a vertex", own.ring_words));
    }
    for (name, known) in
        [("VGT_PRIMITIVEID_EN", 1), ("VGT_STRMOUT_BUFFER_EN", 0xf), ("VGT_VERTEX_REUSE_BLOCK_CNTL", 0xff), ("VGT_HOS_REUSE_DEPTH", 0xff)]
    {
        if head.register(name) > known {
            out.push(format!("{name} is {:#x}", head.register(name)));
        }
    }
    Ok(())
}

/// What a program in front of the rasteriser exports, and what its words say of that.
fn parameters(head: &gsh::Head<'_>, own: &Usage, out: &mut Vec<String>) {
    let config = head.register("SPI_VS_OUT_CONFIG");
    let exported = own.parameters.unwrap_or(0).max(1);
    let (count, rows) = ((config >> 1 & 31) + 1, head.row("SPI_VS_OUT_ID_").len() as u32);
    if count != exported || config & !0x3f3f != 0 {
        out.push(format!("SPI_VS_OUT_CONFIG ({config:#x}) has {count} parameters; the program exports {exported}"));
    }
    if rows != count.div_ceil(4) {
        out.push(format!("num_spi_vs_out_id is {rows} for {count} parameters"));
    }
    let control = head.register("PA_CL_VS_OUT_CNTL");
    let enabled = 1 + (21..24).filter(|n| control >> n & 1 == 1).count() as u32;
    if own.positions > enabled || control >> 26 != 0 {
        out.push(format!("PA_CL_VS_OUT_CNTL ({control:#x}) has {enabled} position vectors; the program exports {}", own.positions));
    }
}

fn pixel(head: &gsh::Head<'_>, own: &Usage, out: &mut Vec<String>) {
    let (control, inputs) = (head.register("SPI_PS_IN_CONTROL_0"), head.row("SPI_PS_INPUT_CNTL_").len() as u32);
    if control & 0x3f != inputs {
        out.push(format!("SPI_PS_IN_CONTROL_0 has {} inputs, num_spi_ps_input_cntl is {inputs}", control & 0x3f));
    }
    let exports = head.register("SQ_PGM_EXPORTS_PS");
    let (colours, depth) = (exports >> 1, exports & 1 == 1);
    if colours != own.colours || depth != own.depth {
        out.push(format!(
            "SQ_PGM_EXPORTS_PS is {exports:#x}; the program exports {} colours{}",
            own.colours,
            if own.depth { " and depth" } else { "" }
        ));
    }
    let targets = head.register("CB_SHADER_CONTROL");
    if targets.count_ones() != colours {
        out.push(format!("CB_SHADER_CONTROL ({targets:#x}) has other targets than SQ_PGM_EXPORTS_PS colours ({colours})"));
    }
    let mask = head.register("CB_SHADER_MASK");
    if mask.checked_shr(4 * own.colours).unwrap_or(0) != 0 {
        out.push(format!("CB_SHADER_MASK ({mask:#x}) has colours that the program does not export"));
    }
    let db = head.register("DB_SHADER_CONTROL");
    let told = db & 1 == 1 || db >> 1 & 1 == 1 || db >> 8 & 1 == 1;
    if told != own.depth || (db >> 6 & 1 == 1) != own.kills {
        out.push(format!("DB_SHADER_CONTROL ({db:#x}) does not say what the program exports and kills"));
    }
    let position = control >> 8 & 1;
    if position != head.register("SPI_INPUT_Z") {
        out.push("SPI_INPUT_Z is not as SPI_PS_IN_CONTROL_0 has the position".to_string());
    }
}

fn geometry(head: &gsh::Head<'_>, own: &Usage, out: &mut Vec<String>) {
    let (item, ring) = (head.register("SQ_GS_VERT_ITEMSIZE"), head.register("SQ_GSVS_RING_ITEMSIZE"));
    if item < own.ring_words || item == 0 || !ring.is_multiple_of(item) || ring > 0x7fff {
        out.push(format!("SQ_GS_VERT_ITEMSIZE is {item} and ringItemSize {ring}; the program writes {} words of a vertex", own.ring_words));
    }
    let (kind, mode) = (head.register("VGT_GS_OUT_PRIM_TYPE"), head.register("VGT_GS_MODE"));
    if kind > 2 || mode & 3 != 3 || mode & !0x2_401f != 0 {
        out.push(format!("VGT_GS_OUT_PRIM_TYPE is {kind:#x}, VGT_GS_MODE {mode:#x}"));
    }
}
