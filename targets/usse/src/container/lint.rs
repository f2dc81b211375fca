//! The rules of containers as data: what published files keep without exception, or the loader and the hardware need.
//!
//! Facts: the ISA sheet's sections 15, 17 and 19. Rules that need the programs' words are kept apart, since what is known of some
//! published files is everything but their code.

use super::*;
use crate::isa::forms::{BR, DEPTHF, EMIT, KILL, PHAS, SMP, TABLE, field};
use crate::isa::lint::{Line, lines, words};
use crate::isa::operands::{Role, operand, read_operand, value};
use crate::isa::registers::Bank;
use retroshade_lower::TextError;

/// Reports a finding: the byte that it concerns, if there is one, and what is wrong.
pub type Say<'a> = &'a mut dyn FnMut(Option<u64>, String);

/// What must hold of a container.
pub struct Rule {
    /// Its name, which findings begin with.
    pub name: &'static str,
    /// What must hold, and where that is said.
    pub doc: &'static str,
    check: Check,
}

enum Check {
    /// Of the tables alone.
    Tables(fn(&Gxp, Say)),
    /// Of where the parts of the file lie.
    Sections(fn(&[Section], Say)),
    /// Of the programs too: container, primary and secondary program.
    Code(fn(&Gxp, &[Line], &[Line], Say)),
}

const fn tables(name: &'static str, doc: &'static str, check: fn(&Gxp, Say)) -> Rule {
    Rule { name, doc, check: Check::Tables(check) }
}

const fn code(name: &'static str, doc: &'static str, check: fn(&Gxp, &[Line], &[Line], Say)) -> Rule {
    Rule { name, doc, check: Check::Code(check) }
}

/// Every rule.
pub static RULES: &[Rule] = &[
    Rule { name: "sections", doc: "19.1: the parts of the file do not overlap", check: Check::Sections(apart) },
    tables("version", "19.1: minor version 4 or 5", version),
    tables("phases", "17.2, 19.1: one phase, two where pixels are dropped or the depth is replaced; the first begins at 0", phases),
    tables("vertex-flags", "19.2: vertex programs have bit 16 and none of a fragment program's bits", vertex_flags),
    tables("fragment-flags", "19.2: the bits for texels, iterated inputs and sprites say what the descriptors say", fragment_flags),
    tables("parameter", "19.3: categories 0 to 4, known types, at least one element, components that fit", parameter),
    tables(
        "attribute",
        "19.3, 19.4: attributes have four components and begin at a multiple of four registers; no other registers are read as such",
        attribute,
    ),
    tables("uniform", "19.3: a uniform lies inside its buffer, vectors at even words", uniform),
    tables("sampler", "19.3: a sampler says how its results are taken, 1 to 3, and names one of 16 units", sampler),
    tables("query", "19.1: the table of texture queries is there with samplers only, and agrees with them", query),
    tables("buffer-size", "19.1: the default uniform buffer has an even size, DATA begins right behind what is loaded of it", buffer_size),
    tables("container", "19.6: containers lie inside the secondary attributes and do not overlap", containers),
    tables("data-size", "19.1: the count of DATA registers is that of its container", data_size),
    tables("literal", "19.7: literals lie inside their container", literals),
    tables("buffer-flags", "19.1: buffers are marked as loaded, as read from memory, or both, where they are", buffer_flags),
    tables("base", "19.7: addresses of buffers lie inside DATA and belong to buffers that are read from memory", bases),
    tables("texture-state", "19.8: four words in order for each unit, from an even register on, inside DATA", texture_state),
    tables(
        "outputs",
        "19.4: the position is there; the count of registers is the sum of all outputs; texture coordinates are 1, 3 or 7",
        outputs,
    ),
    tables("descriptor", "19.5: input descriptors name known inputs, mark the last ones, and take the registers of their type", descriptor),
    tables("inputs", "17.2: a fragment program with a colour has two attribute registers, and as many as its inputs take", inputs),
    tables("result", "19.5: the result is f16, bytes or f32, of one to four components", result),
    code(
        "phase-header",
        "15.6, 19.1: each phase begins with PHAS, which waits for 7 in the last one and 1 before; none stands elsewhere",
        headers,
    ),
    code("vertex-end", "17.1: a vertex program ends with EMIT, a fragment program has none", vertex_end),
    code("secondary-end", "17.3: the secondary program ends with an end flag, without phases or texture reads", secondary_end),
    code("kill", "15.4, 15.5: KILL and DEPTHF name the register with 0xE000, in programs with their flag and two phases", kill),
    code("texture-read", "14.1: SMP names the state of a texture that the container has", texture_read),
    code("registers", "19.1: the program stays inside the registers that the header counts", registers),
];

/// Findings of a container's bytes.
pub fn lint(bytes: &[u8]) -> Result<Vec<TextError>, TextError> {
    let g = read(bytes)?;
    let mut out = check(&g, &sections(bytes)?, true);
    for code in [&g.secondary, &g.primary] {
        words(code, &mut out);
    }
    Ok(out)
}

/// Findings of a container, each beginning with its rule's name; `code`: whether its programs are there to be looked at.
pub fn check(g: &Gxp, sections: &[Section], code: bool) -> Vec<TextError> {
    let mut out = Vec::new();
    let (primary, secondary) = (lines(&g.primary), lines(&g.secondary));
    for rule in RULES {
        let mut say = |offset: Option<u64>, what: String| {
            out.push(TextError { offset, ..TextError::new(format!("{}: {what}", rule.name)) });
        };
        match rule.check {
            Check::Tables(f) => f(g, &mut say),
            Check::Sections(f) => f(sections, &mut say),
            Check::Code(f) if code => f(g, &primary, &secondary, &mut say),
            Check::Code(_) => {}
        }
    }
    out
}

fn apart(sections: &[Section], say: Say) {
    let mut all: Vec<&Section> = sections.iter().collect();
    all.sort_by_key(|s| s.1.start);
    for pair in all.windows(2) {
        if pair[1].1.start < pair[0].1.end {
            say(Some(pair[1].1.start as u64), format!("the {} and the {} overlap", pair[0].0, pair[1].0));
        }
    }
}

fn version(g: &Gxp, say: Say) {
    if !(4..=5).contains(&g.minor) {
        say(None, format!("minor version {}", g.minor));
    }
}

fn phases(g: &Gxp, say: Say) {
    let two = g.is_fragment() && g.flags & (flag::KILL | flag::DEPTH) != 0;
    if g.phases.len() != 1 + two as usize {
        say(None, format!("{} phases instead of {}", g.phases.len(), 1 + two as usize));
    }
    if g.phases.first().is_some_and(|p| *p != 0) || !g.phases.is_sorted() {
        say(None, format!("the phases begin at {:?}", g.phases));
    }
}

fn vertex_flags(g: &Gxp, say: Say) {
    let fragment_only = flag::KILL | flag::DEPTH | flag::SPRITE | flag::NATIVE_COLOUR | flag::READS_COLOUR | flag::TEXELS | flag::ITERATED;
    if !g.is_fragment() && (g.flags & flag::VERTEX == 0 || g.flags & fragment_only != 0) {
        say(None, format!("flags {:#x}", g.flags));
    }
}

fn inputs_of(g: &Gxp) -> &[Descriptor] {
    match &g.varyings {
        Varyings::Fragment { descriptors, .. } => descriptors,
        _ => &[],
    }
}

fn fragment_flags(g: &Gxp, say: Say) {
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
    for (n, d) in all.iter().enumerate().filter(|(_, d)| d.reads_texture()) {
        if g.texunit_flags >> (4 * (d.unit & 15)) & 1 == 0 {
            say(None, format!("input {n} reads texture unit {}, which is not marked as read before the start", d.unit));
        }
    }
}

fn parameter(g: &Gxp, say: Say) {
    for p in &g.parameters {
        let known = (p.category as usize) < CATEGORIES.len() && (p.ty as usize) < TYPES.len();
        let sized = p.array >= 1 && (p.components <= 4 && (p.components >= 1 || p.ty == 9 || p.category == 4));
        if !known || !sized {
            say(None, format!("`{}` has category {}, type {}, {}x{}", p.name, p.category, p.ty, p.array, p.components));
        }
        if p.category == 0 && g.is_fragment() {
            say(None, format!("`{}` is an attribute of a fragment program", p.name));
        }
    }
}

fn attribute(g: &Gxp, say: Say) {
    for p in g.parameters.iter().filter(|p| p.category == 0) {
        let end = p.resource as u64 + 4 * p.array.max(1) as u64;
        if p.components != 4 || !p.resource.is_multiple_of(4) || end > g.primary_regs as u64 || p.semantic as usize >= SEMANTICS.len() {
            say(None, format!("`{}` has {} components from pa{} on, of {}", p.name, p.components, p.resource, g.primary_regs));
        }
    }
    let Varyings::Vertex { attributes, .. } = g.varyings else { return };
    let declared = |n: u32| {
        let attributes = g.parameters.iter().filter(|p| p.category == 0);
        attributes.into_iter().any(|p| (p.resource..p.resource.saturating_add(p.array.saturating_mul(4))).contains(&n))
    };
    if let Some(n) = (0..64).find(|n| attributes >> n & 1 == 1 && !declared(*n)) {
        say(None, format!("pa{n} is read as an attribute, and belongs to none"));
    }
}

fn uniform(g: &Gxp, say: Say) {
    for p in g.parameters.iter().filter(|p| p.category == 1 && p.ty != 9) {
        let end = p.resource.saturating_add(p.words());
        let odd = p.components > 1 && p.ty <= 2 && !p.resource.is_multiple_of(2);
        if p.container as u16 > DEFAULT_BUFFER || (p.container as u16 == DEFAULT_BUFFER && end > g.default_words) || odd {
            say(None, format!("`{}` takes words {} to {end} of buffer {} with {}", p.name, p.resource, p.container, g.default_words));
        }
    }
}

fn sampler(g: &Gxp, say: Say) {
    for p in g.parameters.iter().filter(|p| p.category == 2) {
        if !(1..=3).contains(&p.semantic) || p.resource as usize >= UNITS {
            say(None, format!("`{}` at unit {} is taken as {}", p.name, p.resource, p.semantic));
        } else if g.texunit_flags >> (4 * p.resource) & 3 == 0 {
            say(None, format!("`{}`: unit {} is not marked as read", p.name, p.resource));
        }
    }
}

fn query(g: &Gxp, say: Say) {
    let samplers: Vec<&Parameter> = g.parameters.iter().filter(|p| p.category == 2).collect();
    if g.minor >= 5 && samplers.is_empty() != g.queries.is_empty() {
        say(None, format!("{} samplers and a table of {} units", samplers.len(), g.queries.len()));
    }
    for p in samplers {
        if let Some(q) = g.queries.get(p.resource as usize)
            && *q != 0x0300 | p.semantic as u16
        {
            say(None, format!("`{}` is taken as {}, its unit as {q:#06x}", p.name, p.semantic));
        }
    }
}

fn buffer_size(g: &Gxp, say: Say) {
    if !g.default_words.is_multiple_of(2) {
        say(None, format!("the default uniform buffer has {} words", g.default_words));
    }
    let Some((_, base, size)) = g.container(DEFAULT_BUFFER) else { return };
    if base != 0 || size as u32 > g.default_words {
        say(None, format!("{size} registers from sa{base} on hold a buffer of {} words", g.default_words));
    }
    // Other buffers may be loaded behind it.
    let loaded = (0..=DEFAULT_BUFFER).filter_map(|n| g.container(n)).map(|(_, base, size)| base.saturating_add(size)).max();
    if g.base(DATA).is_some_and(|data| Some(data) != loaded) {
        say(None, format!("DATA begins at sa{} behind {} registers of uniforms", g.base(DATA).unwrap_or(0), loaded.unwrap_or(0)));
    }
}

fn containers(g: &Gxp, say: Say) {
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

fn data_size(g: &Gxp, say: Say) {
    let size = g.container(DATA).map_or(0, |c| c.2 as u32);
    if size != g.data_count {
        say(None, format!("the header counts {} registers, the container has {size}", g.data_count));
    }
}

/// Registers of DATA, or of the container of literals.
fn room(g: &Gxp, index: u16) -> u32 {
    g.container(index).or(g.container(DATA)).map_or(0, |c| c.2 as u32)
}

fn literals(g: &Gxp, say: Say) {
    for (offset, value) in g.literals.iter().filter(|l| l.0 >= room(g, 16)) {
        say(None, format!("literal {value:#x} at +{offset}"));
    }
}

fn buffer_flags(g: &Gxp, say: Say) {
    for index in 0..=DEFAULT_BUFFER {
        let loaded = g.container(index).is_some_and(|c| c.2 > 0);
        let memory = g.uniform_buffers.iter().any(|u| u.0 == index);
        let marked = g.buffer_flags >> (2 * index) & 3;
        if marked != loaded as u32 | (memory as u32) << 1 {
            say(None, format!("buffer {index} is marked {marked}; loaded: {loaded}, read from memory: {memory}"));
        }
    }
}

fn bases(g: &Gxp, say: Say) {
    for (index, offset, base) in &g.uniform_buffers {
        if *index > DEFAULT_BUFFER || *base < -4 || base % 4 != 0 {
            say(None, format!("the address of buffer {index} plus {base}"));
        }
        if g.base(DATA).unwrap_or(0) as u32 + *offset as u32 >= g.secondary_regs as u32 {
            say(None, format!("the address of buffer {index} at +{offset}"));
        }
    }
}

fn texture_state(g: &Gxp, say: Say) {
    let data = g.base(DATA).unwrap_or(0);
    for four in g.dependent_samplers.chunks(4) {
        let (unit, first) = (four[0].0 / 4, four[0].1);
        let in_order = four.len() == 4 && four.iter().zip(0u16..).all(|(d, k)| *d == (4 * unit + k, first.saturating_add(k)));
        let placed = data.wrapping_add(first).is_multiple_of(2) && (first as u32 + 4) <= room(g, DATA);
        if !in_order || !placed || unit as usize >= UNITS || g.texunit_flags >> (4 * (unit & 15)) & 2 == 0 {
            say(None, format!("the state of unit {unit} at +{first}"));
        }
    }
    for unit in (0..UNITS as u64).filter(|u| g.texunit_flags >> (4 * u) & 2 != 0) {
        if !g.dependent_samplers.iter().any(|d| d.0 as u64 == 4 * unit) {
            say(None, format!("unit {unit} is marked as read by SMP, but has no state"));
        }
    }
}

fn outputs(g: &Gxp, say: Say) {
    let Varyings::Vertex { outputs1: one, outputs2: two, .. } = g.varyings else { return };
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

fn descriptor(g: &Gxp, say: Say) {
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
        let Some(kind) = d.iterated() else { continue };
        if !matches!(kind, 0..=13 | 16) || d.info >> 26 & 3 != 3 || (kind == 13 && d.info >> 20 & 1 == 1) {
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

fn inputs(g: &Gxp, say: Say) {
    if !g.is_fragment() {
        return;
    }
    let taken: u32 = inputs_of(g).iter().map(|d| d.registers().0 + d.registers().1).sum();
    let colour = if g.flags & (flag::NO_COLOUR | flag::NATIVE_COLOUR) == 0 { 2 } else { 0 };
    if (g.primary_regs as u32) < taken.max(colour) {
        say(None, format!("{} attribute registers, the inputs take {taken}", g.primary_regs));
    }
}

fn result(g: &Gxp, say: Say) {
    let Varyings::Fragment { output_start, output_type, components, .. } = g.varyings else { return };
    if !matches!(output_type, 0 | 1 | 7) || !(1..=4).contains(&components) || output_start != 0 {
        say(None, format!("type {output_type}, {components} components from register {output_start} on"));
    }
}

/// The byte of an instruction.
fn at(line: &Line) -> Option<u64> {
    Some(8 * line.n as u64)
}

fn headers(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    for (k, start) in g.phases.iter().enumerate() {
        let wait = if k + 1 == g.phases.len() { 7 } else { 1 };
        match primary.get(*start as usize) {
            Some(l) if l.form == PHAS && value(&l.word, field!(wait_cond)) == wait => {}
            _ => say(Some(8 * *start as u64), format!("phase {k} begins at instruction {start}")),
        }
    }
    for l in primary.iter().filter(|l| l.form == PHAS && !g.phases.contains(&(l.n as u32))) {
        say(at(l), "a phase that the table does not have".to_string());
    }
}

fn vertex_end(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    let emits = primary.iter().filter(|l| l.form == EMIT).count();
    let last = primary.last().is_some_and(|l| l.form == EMIT);
    if emits != (!g.is_fragment()) as usize || last == g.is_fragment() {
        say(None, format!("{emits} EMIT"));
    }
}

fn secondary_end(_: &Gxp, _: &[Line], secondary: &[Line], say: Say) {
    for l in secondary.iter().filter(|l| matches!(l.form, PHAS | EMIT | SMP | KILL | DEPTHF | BR)) {
        say(at(l), format!("{} in the secondary program", l.name()));
    }
    if secondary.last().is_some_and(|l| !l.ends()) {
        say(None, "no end".to_string());
    }
}

fn kill(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    let data = g.base(DATA);
    let literal = g.literals.contains(&(0, 0xe000));
    for (form, bit) in [(KILL, flag::KILL), (DEPTHF, flag::DEPTH)] {
        let all: Vec<&Line> = primary.iter().filter(|l| l.form == form).collect();
        let name = TABLE.form(form).name;
        if all.is_empty() != (g.flags & bit == 0) {
            say(None, format!("flags {:#x} with {} {name}", g.flags, all.len()));
        }
        for l in all {
            let names = |f| Some(value(&l.word, f) as u16) == data;
            if !names(field!(src1_n)) || !names(field!(src2_n)) || !literal {
                say(at(l), format!("{name} does not name the first register of DATA with 0xe000 in it"));
            }
            if g.phases.get(1).is_none_or(|second| l.n as u32 >= *second) {
                say(at(l), format!("{name} behind the first of two phases"));
            }
        }
    }
}

fn texture_read(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    let data = g.base(DATA).unwrap_or(0);
    for l in primary.iter().filter(|l| l.form == SMP) {
        let state = operand(SMP, Role::Src1).map(|o| read_operand(&l.word, o).reg);
        let known = |n: u16| g.dependent_samplers.iter().any(|d| d.0.is_multiple_of(4) && data.wrapping_add(d.1) == n);
        if !state.is_some_and(|s| s.bank == Bank::Sa && known(s.n)) {
            say(at(l), "the texture's state is not in the container".to_string());
        }
    }
}

fn registers(g: &Gxp, primary: &[Line], secondary: &[Line], say: Say) {
    let sa = g.secondary_regs as u32;
    for (program, limits) in [
        (primary, [(Bank::R, g.temps), (Bank::Pa, g.primary_regs as u32), (Bank::Sa, sa)]),
        // The secondary program has one attribute bank.
        (secondary, [(Bank::R, 0), (Bank::Pa, sa), (Bank::Sa, sa)]),
    ] {
        for l in program {
            let touched = l.access.reads.iter().chain(&l.access.writes);
            for (bank, n) in touched.filter(|p| limits.iter().any(|(b, most)| *b == p.0 && p.1 as u32 >= *most)) {
                say(at(l), format!("{}: {bank:?}{n} is beyond what the header counts", l.name()));
            }
        }
    }
}
