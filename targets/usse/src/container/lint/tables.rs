//! Rules of the header, the parameters and what the secondary attributes hold.

use super::*;

pub(super) fn version(g: &Gxp, say: Say) {
    let known = match g.minor {
        4 => g.sdk == 0,
        5 => (0x0300..=0x0350).contains(&g.sdk) && g.compiler != 0,
        _ => false,
    };
    if !known {
        say(None, format!("minor version {}, SDK version {:#06x}, compiler version {:#x}", g.minor, g.sdk, g.compiler));
    }
}

pub(super) fn banks(g: &Gxp, say: Say) {
    for (n, what) in [(g.primary_regs as u32, "attribute"), (g.secondary_regs as u32, "secondary attribute"), (g.temps, "temporary")] {
        if n > 128 {
            say(None, format!("{n} {what} registers"));
        }
    }
}

pub(super) fn flags(g: &Gxp, say: Say) {
    let both = 0b110 | 1 << 14 | 1 << 16 | flag::SDK3;
    let known = match g.is_fragment() {
        true => both | flag::FRAGMENT | 0x3f8 | flag::TEXELS | flag::ITERATED | flag::WITH_NATIVE,
        false => both | flag::VERTEX_INDEX | flag::INSTANCE_INDEX,
    };
    if g.flags & !known != 0 {
        say(None, format!("unknown flags {:#x}", g.flags & !known));
    }
    if (g.flags & flag::SDK3 != 0) != (g.sdk >= 0x0300) || !matches!(g.flags & flag::SDK3, 0 | flag::SDK3) {
        say(None, format!("flags {:#x} with SDK version {:#06x}", g.flags, g.sdk));
    }
    let native = g.flags & flag::NATIVE_COLOUR != 0;
    let others = flag::READS_COLOUR | 3 << 8;
    if (g.flags & flag::WITH_NATIVE != 0) != native || (g.flags & others != 0 && !native) {
        say(None, format!("flags {:#x}: 7, 8, 9 and 13 belong to 6", g.flags));
    }
}

pub(super) fn phases(g: &Gxp, say: Say) {
    let two = g.is_fragment() && g.flags & (flag::KILL | flag::DEPTH) != 0;
    if g.phases.len() != 1 + two as usize {
        say(None, format!("{} phases instead of {}", g.phases.len(), 1 + two as usize));
    }
    if g.phases.first().is_some_and(|p| *p != 0) || !g.phases.is_sorted() {
        say(None, format!("the phases begin at {:?}", g.phases));
    }
}

pub(super) fn parameter(g: &Gxp, say: Say) {
    for p in &g.parameters {
        let known = (p.category as usize) < CATEGORIES.len() && (p.ty as usize) < TYPES.len();
        let sized = p.array >= 1 && (p.components <= 4 && (p.components >= 1 || p.ty == 9 || p.category == UNIFORM_BUFFER));
        if !known || !sized {
            say(None, format!("`{}` has category {}, type {}, {}x{}", p.name, p.category, p.ty, p.array, p.components));
        }
        if p.category == ATTRIBUTE && g.is_fragment() {
            say(None, format!("`{}` is an attribute of a fragment program", p.name));
        }
    }
}

pub(super) fn attribute(g: &Gxp, say: Say) {
    for p in g.parameters.iter().filter(|p| p.category == ATTRIBUTE) {
        let end = p.resource as u64 + 4 * p.array.max(1) as u64;
        if p.components != 4 || !p.resource.is_multiple_of(4) || end > g.primary_regs as u64 || p.semantic as usize >= SEMANTICS.len() {
            say(None, format!("`{}` has {} components from pa{} on, of {}", p.name, p.components, p.resource, g.primary_regs));
        }
    }
    for p in g.parameters.iter().filter(|p| p.category == ATTRIBUTE && (p.semantic_index >= 32 || p.container != 0)) {
        say(None, format!("`{}` has semantic index {}, container {}", p.name, p.semantic_index, p.container));
    }
    let Varyings::Vertex { attributes, untyped, .. } = g.varyings else { return };
    if let Some(n) = (g.primary_regs as u32..64).find(|n| (attributes | untyped) >> n & 1 == 1) {
        say(None, format!("pa{n} is read, of {}", g.primary_regs));
    }
    if let Some(n) = (0..64).find(|n| attributes >> n & 1 == 1 && !super::interface::is_attribute(g, *n)) {
        say(None, format!("pa{n} is read as an attribute, and belongs to none"));
    }
}

pub(super) fn uniform(g: &Gxp, say: Say) {
    for p in g.parameters.iter().filter(|p| p.category == UNIFORM && p.ty != 9) {
        let end = p.resource.saturating_add(p.words());
        let odd = p.components > 1 && p.ty <= 2 && !p.resource.is_multiple_of(2);
        if p.semantic != 0 || p.semantic_index != 0 {
            say(None, format!("`{}` has semantic {} {}", p.name, p.semantic, p.semantic_index));
        }
        if words_of(g, p.container as u16).is_none() {
            say(None, format!("`{}` lies in buffer {}, which is not there", p.name, p.container));
        }
        if p.container as u16 > DEFAULT_BUFFER || (p.container as u16 == DEFAULT_BUFFER && end > g.default_words) || odd {
            say(None, format!("`{}` takes words {} to {end} of buffer {} with {}", p.name, p.resource, p.container, g.default_words));
        }
    }
}

pub(super) fn overlap(g: &Gxp, say: Say) {
    let mut all: Vec<&Parameter> = g.parameters.iter().filter(|p| p.category == UNIFORM && p.ty != AGGREGATE).collect();
    all.sort_by_key(|p| (p.container, p.resource));
    for pair in all.windows(2).filter(|w| w[0].container == w[1].container) {
        if pair[1].resource < pair[0].resource.saturating_add(pair[0].words()) {
            say(None, format!("`{}` and `{}` share words", pair[0].name, pair[1].name));
        }
    }
}

pub(super) fn units(g: &Gxp, say: Say) {
    for unit in 0..UNITS as u32 {
        let early = super::interface::inputs_of(g).iter().any(|d| d.reads_texture() && d.unit == unit);
        let state = g.dependent_samplers.iter().any(|d| u32::from(d.0) / 4 == unit);
        let marked = g.texunit_flags >> (4 * unit) & 15;
        if marked != early as u64 | (state as u64) << 1 {
            say(None, format!("unit {unit} is marked {marked}; read before the start: {early}, by SMP: {state}"));
        }
        if marked != 0 && !g.parameters.iter().any(|p| p.category == SAMPLER && p.resource == unit) {
            say(None, format!("unit {unit} is read, and no sampler names it"));
        }
    }
}

pub(super) fn sampler(g: &Gxp, say: Say) {
    for p in g.parameters.iter().filter(|p| p.category == SAMPLER) {
        if !(1..=3).contains(&p.semantic) || p.resource as usize >= UNITS {
            say(None, format!("`{}` at unit {} is taken as {}", p.name, p.resource, p.semantic));
        } else if g.texunit_flags >> (4 * p.resource) & 3 == 0 {
            say(None, format!("`{}`: unit {} is not marked as read", p.name, p.resource));
        }
        if (p.ty, p.components, p.container, p.array) != (0, 4, 0, 1) || !matches!(p.semantic_index, 0 | 16) {
            let what = format!("type {}, {}x{}, container {}", p.ty, p.array, p.components, p.container);
            say(None, format!("`{}` has {what}, semantic index {}", p.name, p.semantic_index));
        }
    }
}

pub(super) fn query(g: &Gxp, say: Say) {
    let samplers: Vec<&Parameter> = g.parameters.iter().filter(|p| p.category == SAMPLER).collect();
    if g.minor >= 5 && samplers.is_empty() != g.queries.is_empty() {
        say(None, format!("{} samplers and a table of {} units", samplers.len(), g.queries.len()));
    }
    for (unit, q) in g.queries.iter().enumerate().filter(|(_, q)| **q != 0) {
        if !samplers.iter().any(|p| p.resource as usize == unit) {
            say(None, format!("unit {unit} is taken as {q:#06x}, and no sampler names it"));
        }
    }
    for p in samplers {
        if let Some(q) = g.queries.get(p.resource as usize)
            && *q != 0x0300 | p.semantic as u16
        {
            say(None, format!("`{}` is taken as {}, its unit as {q:#06x}", p.name, p.semantic));
        }
    }
}

pub(super) fn buffer_size(g: &Gxp, say: Say) {
    if !g.default_words.is_multiple_of(2) {
        say(None, format!("the default uniform buffer has {} words", g.default_words));
    }
    let Some((_, base, size)) = g.container(DEFAULT_BUFFER) else { return };
    let memory = g.uniform_buffers.iter().any(|u| u.0 == DEFAULT_BUFFER);
    if base != 0 || size as u32 > g.default_words || !memory && (size as u32) < g.default_words {
        say(None, format!("{size} registers from sa{base} on hold a buffer of {} words", g.default_words));
    }
    // Other buffers may be loaded behind it.
    let loaded = (0..=DEFAULT_BUFFER).filter_map(|n| g.container(n)).map(|(_, base, size)| base.saturating_add(size)).max();
    if g.base(DATA).is_some_and(|data| Some(data) != loaded) {
        say(None, format!("DATA begins at sa{} behind {} registers of uniforms", g.base(DATA).unwrap_or(0), loaded.unwrap_or(0)));
    }
}

pub(super) fn containers(g: &Gxp, say: Say) {
    let mut all = g.containers.clone();
    all.sort_by_key(|c| c.1);
    for (k, (index, base, size)) in all.iter().enumerate() {
        let end = base.saturating_add(*size);
        if *index > DATA || end > g.secondary_regs {
            say(None, format!("container {index} takes sa{base} to sa{end}, of {}", g.secondary_regs));
        }
        if all.get(k + 1).is_some_and(|next| next.1 < end) {
            say(None, format!("container {index} reaches into the next one"));
        }
        if g.containers.iter().filter(|c| c.0 == *index).count() > 1 {
            say(None, format!("container {index} stands twice"));
        }
    }
}

pub(super) fn data_size(g: &Gxp, say: Say) {
    let size = g.container(DATA).map_or(0, |c| c.2 as u32);
    if size != g.data_count {
        say(None, format!("the header counts {} registers, the container has {size}", g.data_count));
    }
}

/// Registers of DATA, or of the container of literals.
pub(super) fn room(g: &Gxp, index: u16) -> u32 {
    g.container(index).or(g.container(DATA)).map_or(0, |c| c.2 as u32)
}

pub(super) fn literals(g: &Gxp, say: Say) {
    for (offset, value) in g.literals.iter().filter(|l| l.0 >= room(g, 16)) {
        say(None, format!("literal {value:#x} at +{offset}"));
    }
    let mut places: Vec<u32> = g.literals.iter().map(|l| l.0).collect();
    places.sort_unstable();
    for pair in places.windows(2).filter(|w| w[0] == w[1]) {
        say(None, format!("two literals at +{}", pair[0]));
    }
}

/// Words of a uniform buffer that the container has in some form: those that the header or a parameter says, or that are loaded.
fn words_of(g: &Gxp, index: u16) -> Option<u32> {
    if index == DEFAULT_BUFFER {
        return Some(g.default_words);
    }
    let named = g.parameters.iter().find(|p| p.category == UNIFORM_BUFFER && p.resource == u32::from(index));
    named.map(|p| p.array / 4).or(g.container(index).map(|c| u32::from(c.2)))
}

pub(super) fn buffer_flags(g: &Gxp, say: Say) {
    for index in 0..=DEFAULT_BUFFER {
        let loaded = g.container(index).is_some_and(|c| c.2 > 0);
        let memory = g.uniform_buffers.iter().any(|u| u.0 == index);
        let marked = g.buffer_flags >> (2 * index) & 3;
        if marked != loaded as u32 | (memory as u32) << 1 {
            say(None, format!("buffer {index} is marked {marked}; loaded: {loaded}, read from memory: {memory}"));
        }
    }
    if g.buffer_flags >> 30 != 0 {
        say(None, format!("there is no buffer 15 ({:#x})", g.buffer_flags));
    }
}

pub(super) fn bases(g: &Gxp, say: Say) {
    for (index, offset, base) in &g.uniform_buffers {
        let end = words_of(g, *index).map_or(0, |w| 4 * i64::from(w));
        if *index > DEFAULT_BUFFER || *base < -4 || base % 4 != 0 || i64::from(*base) + 4 >= end {
            say(None, format!("the address of buffer {index} plus {base}"));
        }
        if g.base(DATA).unwrap_or(0) as u32 + *offset as u32 >= g.secondary_regs as u32 {
            say(None, format!("the address of buffer {index} at +{offset}"));
        }
    }
}

pub(super) fn texture_state(g: &Gxp, say: Say) {
    let data = g.base(DATA).unwrap_or(0);
    for four in g.dependent_samplers.chunks(4) {
        let (unit, first) = (four[0].0 / 4, four[0].1);
        let in_order = four.len() == 4 && four.iter().zip(0u16..).all(|(d, k)| *d == (4 * unit + k, first.saturating_add(k)));
        let placed = data.wrapping_add(first).is_multiple_of(2) && (first as u32 + 4) <= room(g, DATA);
        if !in_order || !placed || unit as usize >= UNITS {
            say(None, format!("the state of unit {unit} at +{first}"));
        }
    }
}
