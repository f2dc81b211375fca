//! The encoding table: every instruction format with every opcode, and the operand descriptor as a form of its own.
//!
//! Facts: ISA sheet sections 3 (formats), 4 (opcodes), 5 (descriptors). Bits that the sheet leaves out are listed as a
//! `rest` field, so that the field listing loses nothing.

use retroshade_emit::form::{Bits, Field, Form, FormId, FormTable, Index, bits, check};
use retroshade_emit::form_id;

/// What an instruction does; the inverted forms share their partner's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Op {
    Add,
    Dp3,
    Dp4,
    Dph,
    Dst,
    Ex2,
    Lg2,
    Litp,
    Mul,
    Sge,
    Slt,
    Flr,
    Max,
    Min,
    Rcp,
    Rsq,
    Mova,
    Mov,
    Break,
    Nop,
    End,
    Breakc,
    Call,
    Callc,
    Callu,
    Ifu,
    Ifc,
    For,
    Emit,
    Setemit,
    Jmpc,
    Jmpu,
    Cmp,
    Mad,
    /// Not an instruction: the operand descriptor.
    Descriptor,
}

/// An instruction's format (ISA sheet section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// No operands.
    F0,
    /// Wide source 1, narrow source 2.
    F1,
    /// Narrow source 1, wide source 2.
    F1i,
    /// One wide source.
    F1u,
    /// Comparison.
    F1c,
    /// Condition, target.
    F2,
    /// Uniform, target.
    F3,
    /// Vertex id and flags.
    F4,
    /// Three sources, the second wide.
    F5,
    /// Three sources, the third wide.
    F5i,
    /// Operand descriptor.
    Desc,
}

/// What the target adds to a form.
#[derive(Clone, Copy, Debug)]
pub struct PicaForm {
    /// Operation.
    pub op: Op,
    /// Format.
    pub format: Format,
}

/// Decode space of instruction words.
pub const CODE: u32 = 1;
/// Decode space of operand descriptors.
pub const OPERAND: u32 = 2;

/// Names of the comparison codes.
pub const COMPARISONS: &[&str] = &["eq", "ne", "lt", "le", "gt", "ge", "6", "7"];
const INDEX: &[&str] = &["none", "a0.x", "a0.y", "aL"];
const CONDOP: &[&str] = &["or", "and", "x", "y"];

const fn at(name: &'static str, b: &'static [Bits]) -> Field {
    Field::new(name, b)
}

const F0: &[&[Field]] = &[&[at("rest", &[bits(25, 0)])]];
const F1: &[&[Field]] = &[&[
    at("DST", &[bits(25, 21)]),
    at("IDX", &[bits(20, 19)]).named(INDEX),
    at("SRC1", &[bits(18, 12)]),
    at("SRC2", &[bits(11, 7)]),
    at("DESC", &[bits(6, 0)]),
]];
const F1I: &[&[Field]] = &[&[
    at("DST", &[bits(25, 21)]),
    at("IDX", &[bits(20, 19)]).named(INDEX),
    at("SRC1", &[bits(18, 14)]),
    at("SRC2", &[bits(13, 7)]),
    at("DESC", &[bits(6, 0)]),
]];
const F1U: &[&[Field]] = &[&[
    at("DST", &[bits(25, 21)]),
    at("IDX", &[bits(20, 19)]).named(INDEX),
    at("SRC1", &[bits(18, 12)]),
    at("rest", &[bits(11, 7)]),
    at("DESC", &[bits(6, 0)]),
]];
const F1C: &[&[Field]] = &[&[
    at("CMPX", &[bits(26, 24)]).named(COMPARISONS),
    at("CMPY", &[bits(23, 21)]).named(COMPARISONS),
    at("IDX", &[bits(20, 19)]).named(INDEX),
    at("SRC1", &[bits(18, 12)]),
    at("SRC2", &[bits(11, 7)]),
    at("DESC", &[bits(6, 0)]),
]];
const F2: &[&[Field]] = &[&[
    at("REFX", &[bits(25, 25)]),
    at("REFY", &[bits(24, 24)]),
    at("CONDOP", &[bits(23, 22)]).named(CONDOP),
    at("DST", &[bits(21, 10)]),
    at("rest", &[bits(9, 8)]),
    at("NUM", &[bits(7, 0)]),
]];
const F3: &[&[Field]] =
    &[&[at("UNIFORM", &[bits(25, 22)]), at("DST", &[bits(21, 10)]), at("rest", &[bits(9, 8)]), at("NUM", &[bits(7, 0)])]];
const F4: &[&[Field]] =
    &[&[at("VTXID", &[bits(25, 24)]), at("PRIM", &[bits(23, 23)]), at("INV", &[bits(22, 22)]), at("rest", &[bits(21, 0)])]];
const F5: &[&[Field]] = &[&[
    at("DST", &[bits(28, 24)]),
    at("IDX", &[bits(23, 22)]).named(INDEX),
    at("SRC1", &[bits(21, 17)]),
    at("SRC2", &[bits(16, 10)]),
    at("SRC3", &[bits(9, 5)]),
    at("DESC", &[bits(4, 0)]),
]];
const F5I: &[&[Field]] = &[&[
    at("DST", &[bits(28, 24)]),
    at("IDX", &[bits(23, 22)]).named(INDEX),
    at("SRC1", &[bits(21, 17)]),
    at("SRC2", &[bits(16, 12)]),
    at("SRC3", &[bits(11, 5)]),
    at("DESC", &[bits(4, 0)]),
]];
const DESC: &[&[Field]] = &[&[
    at("MASK", &[bits(3, 0)]),
    at("NEG1", &[bits(4, 4)]),
    at("SEL1", &[bits(12, 5)]),
    at("NEG2", &[bits(13, 13)]),
    at("SEL2", &[bits(21, 14)]),
    at("NEG3", &[bits(22, 22)]),
    at("SEL3", &[bits(30, 23)]),
    at("rest", &[bits(31, 31)]),
]];

const fn form(name: &'static str, op: Op, format: Format, opcode: u32, doc: &'static str) -> Form<PicaForm> {
    // The opcode is given as its top bits stand in the six-bit field; formats 1c, 5 and 5i look at fewer of them.
    let (width, fields): (u32, &'static [&'static [Field]]) = match format {
        Format::F0 => (6, F0),
        Format::F1 => (6, F1),
        Format::F1i => (6, F1I),
        Format::F1u => (6, F1U),
        Format::F1c => (5, F1C),
        Format::F2 => (6, F2),
        Format::F3 => (6, F3),
        Format::F4 => (6, F4),
        Format::F5 => (3, F5),
        Format::F5i => (3, F5I),
        Format::Desc => (0, DESC),
    };
    let mask = if width == 0 { 0 } else { (((1u32 << width) - 1) << (32 - width)) as u128 };
    let spaces = if width == 0 { OPERAND } else { CODE };
    Form { name, size: 4, spaces, mask, bits: ((opcode << 26) as u128) & mask, fields, refines: None, doc, ext: PicaForm { op, format } }
}

use Format as F;

/// All forms.
pub static FORMS: &[Form<PicaForm>] = &[
    form("add", Op::Add, F::F1, 0x00, "s1 + s2."),
    form("dp3", Op::Dp3, F::F1, 0x01, "Three-component dot product to every written component."),
    form("dp4", Op::Dp4, F::F1, 0x02, "Four-component dot product."),
    form("dph", Op::Dph, F::F1, 0x03, "Four-component dot product with 1 in place of s1.w."),
    form("dst", Op::Dst, F::F1, 0x04, "(1, s1.y s2.y, s1.z, s2.w)."),
    form("ex2", Op::Ex2, F::F1u, 0x05, "2 to the s1.x."),
    form("lg2", Op::Lg2, F::F1u, 0x06, "Binary logarithm of s1.x."),
    form("litp", Op::Litp, F::F1u, 0x07, "Clamps for lighting; sets both condition flags."),
    form("mul", Op::Mul, F::F1, 0x08, "s1 × s2, where 0 × infinity is 0."),
    form("sge", Op::Sge, F::F1, 0x09, "s1 >= s2 ? 1 : 0."),
    form("slt", Op::Slt, F::F1, 0x0a, "s1 < s2 ? 1 : 0."),
    form("flr", Op::Flr, F::F1u, 0x0b, "Floor."),
    form("max", Op::Max, F::F1, 0x0c, "s1 > s2 ? s1 : s2."),
    form("min", Op::Min, F::F1, 0x0d, "s1 < s2 ? s1 : s2."),
    form("rcp", Op::Rcp, F::F1u, 0x0e, "1 / s1.x."),
    form("rsq", Op::Rsq, F::F1u, 0x0f, "1 / sqrt(s1.x)."),
    form("mova", Op::Mova, F::F1u, 0x12, "Loads the address registers, truncating."),
    form("mov", Op::Mov, F::F1u, 0x13, "s1."),
    form("dphi", Op::Dph, F::F1i, 0x18, "dph with the wide source second."),
    form("dsti", Op::Dst, F::F1i, 0x19, "dst with the wide source second."),
    form("sgei", Op::Sge, F::F1i, 0x1a, "sge with the wide source second."),
    form("slti", Op::Slt, F::F1i, 0x1b, "slt with the wide source second."),
    form("break", Op::Break, F::F0, 0x20, "Leaves the loop."),
    form("nop", Op::Nop, F::F0, 0x21, "Nothing."),
    form("end", Op::End, F::F0, 0x22, "Stops."),
    form("breakc", Op::Breakc, F::F2, 0x23, "Leaves the loop if the condition holds."),
    form("call", Op::Call, F::F2, 0x24, "Runs the words DST … DST+NUM-1."),
    form("callc", Op::Callc, F::F2, 0x25, "Call if the condition holds."),
    form("callu", Op::Callu, F::F3, 0x26, "Call if the boolean is true."),
    form("ifu", Op::Ifu, F::F3, 0x27, "Structured if on a boolean uniform."),
    form("ifc", Op::Ifc, F::F2, 0x28, "Structured if on the condition flags."),
    form("for", Op::For, F::F3, 0x29, "Repeats up to and including word DST."),
    form("emit", Op::Emit, F::F0, 0x2a, "Emits a vertex (geometry)."),
    form("setemit", Op::Setemit, F::F4, 0x2b, "Sets up the next emit."),
    form("jmpc", Op::Jmpc, F::F2, 0x2c, "Jumps if the condition holds."),
    form("jmpu", Op::Jmpu, F::F3, 0x2d, "Jumps if the boolean is true, or false with bit 0 of NUM."),
    form("cmp", Op::Cmp, F::F1c, 0x2e, "Sets the condition flags from components x and y."),
    form("madi", Op::Mad, F::F5i, 0x30, "mad with the wide source third."),
    form("mad", Op::Mad, F::F5, 0x38, "s1 × s2 + s3; the product is rounded."),
    form("operand", Op::Descriptor, F::Desc, 0, "Operand descriptor: write mask, swizzles, negations."),
];
const _: () = check(FORMS);

/// The operand descriptor.
pub const OPERANDS: FormId = form_id(FORMS, "operand");

/// A field of the table by name: one that no form has does not compile.
macro_rules! field { ($($t:tt)*) => { retroshade_emit::field!($crate::isa::forms::FORMS, $($t)*) } }
pub(crate) use field;
/// A word of the table by its form and fields.
macro_rules! word { ($($t:tt)*) => { retroshade_emit::word!($crate::isa::forms::FORMS, $($t)*) } }
pub(crate) use word;

/// The table.
pub static TABLE: FormTable<PicaForm> = FormTable { target: "pica", spaces: &["code", "descriptors"], forms: FORMS, index: Index::new() };

/// Number of sources that an operation takes.
pub const fn sources(op: Op) -> usize {
    match op {
        Op::Add | Op::Dp3 | Op::Dp4 | Op::Dph | Op::Dst | Op::Mul | Op::Sge | Op::Slt | Op::Max | Op::Min | Op::Cmp => 2,
        Op::Ex2 | Op::Lg2 | Op::Litp | Op::Flr | Op::Rcp | Op::Rsq | Op::Mova | Op::Mov => 1,
        Op::Mad => 3,
        _ => 0,
    }
}

/// The operation with this mnemonic; those of the inverted forms say no more than their partners', the operands decide.
pub fn mnemonic(name: &str) -> Option<Op> {
    FORMS.iter().find(|f| f.name == name && f.ext.format != F::Desc).map(|f| f.ext.op)
}

/// The mnemonic of an operation.
pub fn name(op: Op) -> &'static str {
    FORMS.iter().find(|f| f.ext.op == op && !matches!(f.ext.format, F::F1i | F::F5i)).map_or("?", |f| f.name)
}
