//! The register words that a driver programs to run a program, by the names of AMD's register reference.
//!
//! Both sides of the rasteriser are matched by semantic numbers: parameter *p* of the vertex side has the number in byte *p* of
//! SPI_VS_OUT_ID, input *n* of the pixel side (in register *n*) the one in SPI_PS_INPUT_CNTL_*n*. The number is the location.

use crate::abi::{self, Abi, NO_SEMANTIC, NOWHERE, writes_misc};
use crate::emit::Emitted;
use retroshade_ir::{Binding, Builtin, Interpolation, IoDecl, MemRef, Module, Primitive, Sampling, Stage};
use retroshade_lower::reflect::Used;

/// Register words by name.
pub type Registers = Vec<(String, u32)>;

/// NUM_GPRS 7:0, STACK_SIZE 15:8, DX10_CLAMP 21.
pub fn resources(e: &Emitted, gprs: u16) -> u32 {
    gprs as u32 & 0xff | (e.counts.stack as u32 & 0xff) << 8 | 1 << 21
}

fn named(list: &[(&str, u32)]) -> Registers {
    list.iter().map(|(n, v)| (n.to_string(), *v)).collect()
}

/// The register words of a program.
pub fn registers(e: &Emitted, gprs: u16, m: &Module, abi: &Abi) -> Registers {
    let resources = resources(e, gprs);
    let mut out = match m.stage {
        Stage::Fragment => {
            let mut out = named(&[("SQ_PGM_RESOURCES_PS", resources)]);
            out.extend(pixel(e, m, abi));
            out
        }
        Stage::Geometry => geometry(resources, m, abi),
        _ => {
            let mut out = named(&[("SQ_PGM_RESOURCES_VS", resources)]);
            out.extend(exports(m, abi));
            out.extend(attributes(m, abi));
            out
        }
    };
    if e.scratch > 0 {
        let name = match m.stage {
            Stage::Fragment => "SQ_PSTMP_RING_ITEMSIZE",
            Stage::Geometry => "SQ_GSTMP_RING_ITEMSIZE",
            _ => "SQ_VSTMP_RING_ITEMSIZE",
        };
        // In words.
        out.extend(named(&[(name, e.scratch * 4)]));
    }
    out
}

/// By parameter: its location.
fn parameters(m: &Module, abi: &Abi) -> Vec<u32> {
    let mut out = Vec::new();
    for (k, d) in m.outputs.values().enumerate() {
        let Some(l) = abi::parameter(d.binding).filter(|_| abi.output(m, k, 0).0 != NOWHERE) else { continue };
        for e in 0..d.count {
            let p = abi.output(m, k, e).1 as usize;
            out.resize(out.len().max(p + 1), NO_SEMANTIC);
            out[p] = l + e;
        }
    }
    out
}

/// What the vertex stage in front of the rasteriser exports: of a vertex program, or of a geometry program's copy program.
pub fn exports(m: &Module, abi: &Abi) -> Registers {
    let parameters = parameters(m, abi);
    let mut out = named(&[("SPI_VS_OUT_CONFIG", (parameters.len().max(1) as u32 - 1) << 1)]);
    for (n, four) in parameters.chunks(4).enumerate() {
        let byte = |k: usize| four.get(k).copied().unwrap_or(NO_SEMANTIC) << (8 * k);
        out.push((format!("SPI_VS_OUT_ID_{n}"), (0..4).map(byte).sum()));
    }
    let has = |b: Builtin| m.outputs.values().any(|d| d.binding == Binding::Builtin(b));
    let (clip, cull) = (abi::distances(m, Builtin::ClipDistance), abi::distances(m, Builtin::CullDistance));
    // The first `n` of the eight distances.
    let first = |n: u32| (1u32 << n.min(8)) - 1;
    let bit = |on: bool, n: u32| (on as u32) << n;
    // What clips is in bits 0 to 7, what culls in bits 8 to 15.
    let control = first(clip)
        | (first(clip + cull) & !first(clip)) << 8
        | bit(has(Builtin::PointSize), 16)
        | bit(has(Builtin::Layer), 18)
        | bit(has(Builtin::ViewportIndex), 19)
        | bit(writes_misc(m), 21)
        | bit(clip + cull > 0, 22)
        | bit(clip + cull > 4, 23);
    out.extend(named(&[("PA_CL_VS_OUT_CNTL", control)]));
    out.extend(reuse(parameters.len()));
    out.extend(named(&[("VGT_STRMOUT_BUFFER_EN", 0), ("VGT_PRIMITIVEID_EN", 0)]));
    out
}

/// How many vertices are reused: fewer where they have many parameters, as drivers have it.
fn reuse(parameters: usize) -> Registers {
    let many = parameters > 21;
    named(&[("VGT_VERTEX_REUSE_BLOCK_CNTL", if many { 2 } else { 14 }), ("VGT_HOS_REUSE_DEPTH", if many { 4 } else { 16 })])
}

/// What the export stage has in front of a geometry program, besides its resources.
pub fn export_stage(m: &Module, abi: &Abi) -> Registers {
    let mut out = named(&[("SQ_ESGS_RING_ITEMSIZE", 4 * abi.export_size(m))]);
    out.extend(reuse(abi.export_slots(m).iter().filter(|s| s.0.0 == 2).count()));
    out.extend(named(&[("VGT_STRMOUT_BUFFER_EN", 0), ("VGT_PRIMITIVEID_EN", 0)]));
    out
}

/// The semantic table through which a fetch shader finds registers: entry *n* is register *n* + 1.
pub fn attributes(m: &Module, abi: &Abi) -> Registers {
    let table = attribute_locations(m, abi);
    let mut out = named(&[("SQ_VTX_SEMANTIC_CLEAR", !(((1u64 << table.len().min(32)) - 1) as u32))]);
    out.extend(table.into_iter().take(32).enumerate().map(|(n, l)| (format!("SQ_VTX_SEMANTIC_{n}"), l)));
    out
}

/// By attribute of a vertex program: its location.
pub fn attribute_locations(m: &Module, abi: &Abi) -> Vec<u32> {
    let mut out = Vec::new();
    for (k, d) in m.inputs.values().enumerate() {
        if let (Binding::Location(l), Some(first)) = (d.binding, abi.attributes.get(k).copied().flatten()) {
            out.resize(out.len().max((first + d.count) as usize), NO_SEMANTIC);
            (0..d.count).for_each(|e| out[(first + e) as usize] = l + e);
        }
    }
    out
}

fn geometry(resources: u32, m: &Module, abi: &Abi) -> Registers {
    // Sizes in words.
    let item = 4 * abi.ring_slots(m).len() as u32;
    let most = m.geometry.map_or(0, |g| g.max_vertices);
    let kind = m.geometry.map_or(0, |g| match g.output {
        Primitive::Points => 0,
        Primitive::LineStrip => 1,
        _ => 2,
    });
    // Scenario G; how often a strip may be cut follows from the vertices.
    let cut = match most {
        0..=128 => 3,
        129..=256 => 2,
        257..=512 => 1,
        _ => 0,
    };
    named(&[
        ("SQ_PGM_RESOURCES_GS", resources),
        ("SQ_ESGS_RING_ITEMSIZE", 4 * abi.ring_input_size()),
        ("SQ_GS_VERT_ITEMSIZE", item),
        ("SQ_GSVS_RING_ITEMSIZE", item * most),
        ("VGT_GS_OUT_PRIM_TYPE", kind),
        ("VGT_GS_MODE", 3 | cut << 3),
        ("VGT_GS_MAX_VERT_OUT", most),
        ("VGT_PRIMITIVEID_EN", reads_primitive(m) as u32),
    ])
}

/// Whether a geometry program asks for the primitive's number.
pub fn reads_primitive(m: &Module) -> bool {
    let used = Used::of(m);
    m.inputs.iter().any(|(i, d)| d.binding == Binding::Builtin(Builtin::PrimitiveIndex) && used.vars.contains(&MemRef::Input(i)))
}

fn pixel(e: &Emitted, m: &Module, abi: &Abi) -> Registers {
    let outputs = |b: Builtin| m.outputs.values().any(|d| d.binding == Binding::Builtin(b));
    let (depth, mask) = (outputs(Builtin::FragDepth), outputs(Builtin::SampleMask));
    let input = |b: Builtin| m.inputs.values().zip(&abi.inputs).find(|(d, _)| d.binding == Binding::Builtin(b));
    let bit = |on: bool, n: u32| (on as u32) << n;
    // Everything interpolated, by its register.
    let mut rows: Vec<(u8, u32)> = Vec::new();
    for (d, place) in m.inputs.values().zip(&abi.inputs) {
        if matches!(d.binding, Binding::Builtin(Builtin::FrontFacing | Builtin::SampleMask | Builtin::SampleIndex)) {
            continue;
        }
        let position = d.binding == Binding::Builtin(Builtin::Position);
        for k in 0..d.count {
            // Where nothing is interpolated, it does not matter at which place.
            let flat = position || d.interpolation == Interpolation::Flat;
            let word = abi::semantic(d.binding).map_or(NO_SEMANTIC - 1, |s| s + k)
                | bit(flat, 10)
                | bit(d.sampling == Sampling::Centroid && !flat, 11)
                | bit(d.interpolation == Interpolation::Linear && !flat, 12)
                | bit(d.binding == Binding::Builtin(Builtin::PointCoord), 17)
                | bit(d.sampling == Sampling::Sample && !flat, 18);
            rows.push((place.gpr + k as u8, word));
        }
    }
    rows.sort_unstable();
    let linear = m.inputs.values().any(|d| d.interpolation == Interpolation::Linear);
    let position = input(Builtin::Position);
    let at = |p: Option<(&IoDecl, &crate::abi::InputPlace)>| p.map_or(0, |p| p.1.gpr as u32);
    let sampled = |s: Sampling| position.is_some_and(|p| p.0.sampling == s);
    let interpolated = |s: Sampling| {
        let of = |d: &IoDecl| matches!(d.binding, Binding::Location(_)) && d.interpolation != Interpolation::Flat;
        m.inputs.values().any(|d| of(d) && d.sampling == s)
    };
    // Barycentric coordinates at centroids only, centres only, or both; open drivers ask for centres where the position is read.
    let centres = interpolated(Sampling::Center) || sampled(Sampling::Center);
    let places = match (interpolated(Sampling::Centroid), centres) {
        (true, false) => 0,
        (true, true) => 2,
        _ => 1,
    };
    // Perspective gradients always.
    let control0 = rows.len() as u32
        | bit(position.is_some(), 8)
        | bit(sampled(Sampling::Centroid), 9)
        | at(position) << 10
        | places << 26
        | 1 << 28
        | bit(linear, 29)
        | bit(sampled(Sampling::Sample), 30)
        | bit(interpolated(Sampling::Sample), 31);
    // Face sign and coverage share a register.
    let face = input(Builtin::FrontFacing).or(input(Builtin::SampleMask));
    let sample = input(Builtin::SampleIndex);
    let control1 = bit(face.is_some(), 8) | at(face) << 12 | bit(sample.is_some(), 24) | at(sample) << 25;
    // Targets that nothing is written to are exported all the same, with masked channels, and drivers give them a mask: a target
    // without one in front of another can hang the machine, and Cemu takes an export for none of its targets.
    let colors = e.colors.max(!e.depth as u32).min(8);
    let mut out = named(&[
        ("SQ_PGM_EXPORTS_PS", bit(e.depth, 0) | colors << 1),
        ("SPI_PS_IN_CONTROL_0", control0),
        ("SPI_PS_IN_CONTROL_1", control1),
        ("SPI_INPUT_Z", position.is_some() as u32),
    ]);
    out.extend(rows.into_iter().enumerate().map(|(n, (_, w))| (format!("SPI_PS_INPUT_CNTL_{n}"), w)));
    out.extend(named(&[
        ("CB_SHADER_MASK", u32::MAX.checked_shr(32 - 4 * colors).unwrap_or(0)),
        ("CB_SHADER_CONTROL", (1u32 << colors) - 1),
        ("DB_SHADER_CONTROL", bit(depth, 0) | bit(e.kills, 6) | bit(mask, 8)),
    ]));
    out
}
