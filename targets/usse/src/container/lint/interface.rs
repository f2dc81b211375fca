//! Rules of what goes into a program and comes out of it.

use super::*;

pub(super) fn inputs_of(g: &Gxp) -> &[Descriptor] {
    match &g.varyings {
        Varyings::Fragment { descriptors, .. } => descriptors,
        _ => &[],
    }
}

pub(super) fn vertex_flags(g: &Gxp, say: Say) {
    let fragment_only = flag::KILL | flag::DEPTH | flag::SPRITE | flag::NATIVE_COLOUR | flag::READS_COLOUR | flag::TEXELS | flag::ITERATED;
    if !g.is_fragment() && (g.flags & flag::VERTEX == 0 || g.flags & fragment_only != 0) {
        say(None, format!("flags {:#x}", g.flags));
    }
}

pub(super) fn fragment_flags(g: &Gxp, say: Say) {
    let all = inputs_of(g);
    let has = |is: fn(&Descriptor) -> bool| all.iter().any(is);
    for (bit, there, what) in [
        (flag::TEXELS, has(Descriptor::reads_texture), "texels"),
        (flag::ITERATED, has(|d| d.iterated().is_some()), "iterated inputs"),
        (flag::SPRITE, has(|d| d.iterated() == Some(16)), "the sprite coordinate"),
    ] {
        if g.is_fragment() && (g.flags & bit != 0) != there {
            say(None, format!("flags {:#x} and descriptors differ about {what}", g.flags));
        }
    }
}

pub(super) fn outputs(g: &Gxp, say: Say) {
    let Varyings::Vertex { outputs1: one, outputs2: two, half, .. } = g.varyings else { return };
    let halves = (0..32).filter(|t| half >> t & 1 == 1).find(|t| *t >= 10 || two >> (3 * t) & 7 == 0);
    if one & 0x00ff_e000 != 0 || two >> 30 != 0 || halves.is_some() {
        say(None, format!("{one:#010x} {two:#010x} half {half:#x}: there are no such outputs"));
    }
    if one >> 12 & 1 == 0 {
        say(None, "no position".to_string());
    }
    let flags = |bits: u32, registers: u32| (one & bits).count_ones() * registers;
    let mut sum = 4 + flags(0x1ff, 1) + flags(1 << 9, 2) + flags(3 << 10, 4);
    for t in 0..10 {
        let bits = two >> (3 * t) & 7;
        if !matches!(bits, 0 | 1 | 3 | 7) {
            say(None, format!("texture coordinate {t} has lanes {bits}"));
        }
        sum += if bits == 0 { 0 } else { 1 + bits.count_ones() };
    }
    if sum != one >> 24 {
        say(None, format!("{} registers are counted, the outputs take {sum}", one >> 24));
    }
}

/// What a descriptor says of parts that it does not have, or that nothing is known of.
fn stray(d: &Descriptor) -> Option<&'static str> {
    const UNKNOWN: u32 = 0b1110 << 4 | 0b100 << 8 | 0xf << 16 | 1 << 21 | 1 << 24 | 1 << 31;
    if d.info & UNKNOWN != 0 || d.size & !0xf0 != 0 || d.result & !0x30 != 0 {
        return Some("bits without a meaning");
    }
    if !d.reads_texture() && (d.info >> 8 & 3, d.unit, d.size >> 6, d.result) != (0, 0, 0, 0) {
        return Some("it reads no texture");
    }
    if d.iterated().is_none() && (d.info >> 4 & 1, d.info >> 20 & 0x3ff & !(1 << 5), d.size >> 4 & 3) != (0, 0, 0) {
        return Some("it iterates nothing");
    }
    let registers = match d.result >> 4 & 3 {
        2 => 1..=1,
        3 => 3..=3,
        _ => 0..=3,
    };
    let read = matches!(d.info >> 8 & 3, 1..=3) && d.unit < UNITS as u32 && registers.contains(&(d.size >> 6));
    (d.reads_texture() && !read).then_some("no such texture read")
}

pub(super) fn descriptor(g: &Gxp, say: Say) {
    let Varyings::Fragment { textures, descriptors, .. } = &g.varyings else { return };
    let texels = descriptors.iter().filter(|d| d.reads_texture()).count();
    if texels != *textures as usize {
        say(None, format!("{textures} texels are counted, {texels} descriptors read textures"));
    }
    let last = |is: fn(&Descriptor) -> bool| descriptors.iter().rposition(is);
    let ends = [(11, last(Descriptor::reads_texture)), (25, last(|d| d.iterated().is_some()))];
    for (n, d) in descriptors.iter().enumerate() {
        for (bit, end) in ends {
            if (d.info >> bit & 1 == 1) != (end == Some(n)) {
                say(None, format!("input {n} ({:#010x}): bit {bit} marks the last one", d.info));
            }
        }
        if let Some(what) = stray(d) {
            say(None, format!("input {n} ({:#010x}, unit {}, {:#x}, {:#x}): {what}", d.info, d.unit, d.size, d.result));
        }
        let Some(kind) = d.iterated() else { continue };
        if !matches!(kind, 0..=13 | 16) || d.info >> 26 & 3 != 3 || (!matches!(kind, 10 | 11) && d.info >> 20 & 1 == 1) {
            say(None, format!("input {n} ({:#010x}) is no known input", d.info));
        }
        let colour = matches!(kind, 10 | 11);
        let want = match (d.info >> 28 & 3, colour && d.info >> 20 & 1 == 0) {
            (2, _) => d.components().div_ceil(2),
            (1, _) | (_, true) => 1,
            _ => d.components(),
        };
        if d.registers().0 != want {
            say(None, format!("input {n} ({:#010x}) takes {} registers instead of {want}", d.info, d.registers().0));
        }
    }
}

pub(super) fn inputs(g: &Gxp, say: Say) {
    if !g.is_fragment() {
        return;
    }
    let taken: u32 = inputs_of(g).iter().map(|d| d.registers().0 + d.registers().1).sum();
    let colour = if g.flags & (flag::NO_COLOUR | flag::NATIVE_COLOUR) == 0 { 2 } else { 0 };
    if (g.primary_regs as u32) < taken.max(colour) {
        say(None, format!("{} attribute registers, the inputs take {taken}", g.primary_regs));
    }
}

pub(super) fn result(g: &Gxp, say: Say) {
    let Varyings::Fragment { output_start, output_type, components, .. } = g.varyings else { return };
    if !matches!(output_type, 0 | 1 | 7) || !(1..=4).contains(&components) || output_start != 0 {
        say(None, format!("type {output_type}, {components} components from register {output_start} on"));
    }
    if g.flags & flag::NO_COLOUR != 0 && output_type != 7 {
        say(None, format!("type {output_type} without a colour"));
    }
}

/// The registers of the vertex and the instance index, where they are read.
pub(super) fn index_registers(g: &Gxp) -> Vec<u16> {
    let Varyings::Vertex { vertex_index, instance_index, .. } = g.varyings else { return Vec::new() };
    let both = [(flag::VERTEX_INDEX, vertex_index), (flag::INSTANCE_INDEX, instance_index)];
    both.into_iter().filter(|(bit, _)| g.flags & bit != 0).map(|i| i.1).collect()
}

/// Whether a register belongs to a declared attribute.
pub(super) fn is_attribute(g: &Gxp, n: u32) -> bool {
    let all = g.parameters.iter().filter(|p| p.category == ATTRIBUTE);
    all.into_iter().any(|p| (p.resource..p.resource.saturating_add(p.array.saturating_mul(4))).contains(&n))
}

pub(super) fn indices(g: &Gxp, say: Say) {
    let Varyings::Vertex { attributes, vertex_index, instance_index, .. } = g.varyings else { return };
    let used = index_registers(g);
    for n in &used {
        if *n >= g.primary_regs || is_attribute(g, u32::from(*n)) || attributes.checked_shr((*n).into()).unwrap_or(0) & 1 == 1 {
            say(None, format!("an index in pa{n}, of {}", g.primary_regs));
        }
    }
    for (bit, n) in [(flag::VERTEX_INDEX, vertex_index), (flag::INSTANCE_INDEX, instance_index)] {
        if g.flags & bit == 0 && n != 0 {
            say(None, format!("pa{n} for an index that flags {:#x} do not name", g.flags));
        }
    }
    if matches!(used[..], [a, b] if a == b) {
        say(None, format!("both indices in pa{}", used[0]));
    }
}
