//! The rules of containers as data: what published files keep without exception, or the loader and the hardware need.
//!
//! Facts: the ISA sheet's sections 15, 17 and 19. Rules that need the programs' words are kept apart, since what is known of some
//! published files is everything but their code.

mod bytes;
mod code;
mod interface;
mod tables;

use self::bytes::{apart, names, size, zeros};
use self::code::{
    colour, headers, index_read, kill, native, phase_end, position, registers, secondary_end, stores, texture_read, vertex_end,
};
use self::interface::{descriptor, fragment_flags, indices, inputs, outputs, result, vertex_flags};
use self::tables::*;
use super::*;
use crate::isa::forms::{BR, DEPTHF, EMIT, KILL, NOP, PHAS, SMP, TABLE, VLDST, field};
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
    /// Of the file's bytes.
    Bytes(fn(&Gxp, &[u8], Say)),
    /// Of the programs too: container, primary and secondary program.
    Code(fn(&Gxp, &[Line], &[Line], Say)),
}

const fn tables(name: &'static str, doc: &'static str, check: fn(&Gxp, Say)) -> Rule {
    Rule { name, doc, check: Check::Tables(check) }
}

const fn code(name: &'static str, doc: &'static str, check: fn(&Gxp, &[Line], &[Line], Say)) -> Rule {
    Rule { name, doc, check: Check::Code(check) }
}

const fn bytes(name: &'static str, doc: &'static str, check: fn(&Gxp, &[u8], Say)) -> Rule {
    Rule { name, doc, check: Check::Bytes(check) }
}

/// Every rule.
pub static RULES: &[Rule] = &[
    Rule { name: "sections", doc: "19.1: the parts of the file do not overlap", check: Check::Sections(apart) },
    bytes(
        "zero",
        "19.1, 19.5, 19.6: what counts scratch memory, literals in memory, texture buffers and samples is 0, and so is padding",
        zeros,
    ),
    bytes("size", "19.1: everything lies within the size that the header says", size),
    bytes("names", "19.3: names lie behind the parameters, are not empty, and no two are equal", names),
    tables("version", "19.1: minor version 4 without an SDK version, or 5 with one from 3.00 to 3.50 and a compiler version", version),
    tables("banks", "3: a bank has 128 registers", banks),
    tables("flags", "19.2: no unknown flags; those of SDK 3.00 with that; those of the frame buffer's colour together", flags),
    tables("phases", "17.2, 19.1: one phase, two where pixels are dropped or the depth is replaced; the first begins at 0", phases),
    tables("vertex-flags", "19.2: vertex programs have bit 16 and none of a fragment program's bits", vertex_flags),
    tables("fragment-flags", "19.2: the bits for texels, iterated inputs and sprites say what the descriptors say", fragment_flags),
    tables("parameter", "19.3: categories 0 to 4, known types, at least one element, components that fit", parameter),
    tables(
        "attribute",
        "19.3, 19.4: attributes have four components and begin at a multiple of four registers; no other registers are read as such",
        attribute,
    ),
    tables("uniform", "19.3: a uniform lies inside its buffer, which is there, vectors at even words; it has no semantic", uniform),
    tables("overlap", "19.3: no two uniforms share a word", overlap),
    tables(
        "sampler",
        "19.3: a sampler says how its results are taken, 1 to 3, names one of 16 units, and has four floats, no container, no array, no semantic index but a cube's",
        sampler,
    ),
    tables("texture-units", "19.1: a unit is marked as read before the start, by SMP or both, where it is, and has a sampler", units),
    tables("query", "19.1: the table of texture queries is there with samplers only, and agrees with them", query),
    tables(
        "buffer-size",
        "19.1: the default uniform buffer has an even size, is loaded whole unless it is read from memory, too, and DATA begins right behind",
        buffer_size,
    ),
    tables("container", "19.6: containers lie inside the secondary attributes and do not overlap", containers),
    tables("data-size", "19.1: the count of DATA registers is that of its container", data_size),
    tables("literal", "19.7: literals lie inside their container, one in a register", literals),
    tables("buffer-flags", "19.1: buffers are marked as loaded, as read from memory, or both, where they are", buffer_flags),
    tables("base", "19.7: addresses of buffers lie inside DATA, and what they point to inside the buffer", bases),
    tables("texture-state", "19.8: four words in order for each unit, from an even register on, inside DATA", texture_state),
    tables(
        "outputs",
        "19.4: the position is there; the count of registers is the sum of all outputs; texture coordinates are 1, 3 or 7; nothing else is set",
        outputs,
    ),
    tables("index", "19.4: vertex and instance index have registers of their own where flags 17 and 18 say so, and none else", indices),
    tables(
        "descriptor",
        "19.5: input descriptors name known inputs, mark the last ones, take the registers of their type, and say nothing of parts that they lack",
        descriptor,
    ),
    tables("inputs", "17.2: a fragment program with a colour has two attribute registers, and as many as its inputs take", inputs),
    tables("result", "19.5: the result is f16, bytes or f32, of one to four components; bytes where there is no colour", result),
    code(
        "phase-header",
        "15.6, 19.1: each phase begins with PHAS, which waits for 7 in the last one and 1 before; none stands elsewhere",
        headers,
    ),
    code("phase-end", "17.2: the first of two phases is closed by a NOP with the end flag; nothing else ends", phase_end),
    code("position", "17.1: a vertex program writes all four components of the position", position),
    code("index-read", "19.4: a vertex program reads registers of attributes and of the indices that its flags name", index_read),
    code("native-colour", "17.2, 19.2: a fragment program writes output registers where flag 6 is set, and there only", native),
    code("colour", "19.2: a program without a colour (flag 16) writes none; one with it has something there", colour),
    code("stores", "19.2: flag 14 is set where something is stored to memory", stores),
    code("vertex-end", "17.1: a vertex program ends with EMIT, a fragment program has none", vertex_end),
    code("secondary-end", "17.3: the secondary program ends with an end flag, without phases or texture reads", secondary_end),
    code("kill", "15.4, 15.5: KILL and DEPTHF name the register with 0xE000, in programs with their flag and two phases", kill),
    code("texture-read", "14.1: SMP names the state of a texture that the container has", texture_read),
    code("registers", "19.1: the program stays inside the registers that the header counts", registers),
];

/// Findings of a container's bytes.
pub fn lint(bytes: &[u8]) -> Result<Vec<TextError>, TextError> {
    let g = read(bytes)?;
    let mut out = check(&g, &sections(bytes)?, bytes, true);
    for code in [&g.secondary, &g.primary] {
        words(code, &mut out);
    }
    Ok(out)
}

/// Findings of a container, each beginning with its rule's name; `code`: whether its programs are there to be looked at.
pub fn check(g: &Gxp, sections: &[Section], bytes: &[u8], code: bool) -> Vec<TextError> {
    let mut out = Vec::new();
    let (primary, secondary) = (lines(&g.primary), lines(&g.secondary));
    for rule in RULES {
        let mut say = |offset: Option<u64>, what: String| {
            out.push(TextError { offset, ..TextError::new(format!("{}: {what}", rule.name)) });
        };
        match rule.check {
            Check::Tables(f) => f(g, &mut say),
            Check::Sections(f) => f(sections, &mut say),
            Check::Bytes(f) => f(g, bytes, &mut say),
            Check::Code(f) if code => f(g, &primary, &secondary, &mut say),
            Check::Code(_) => {}
        }
    }
    out
}
