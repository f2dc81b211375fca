//! The toy's instructions: one table, from which encoder, decoder, text, documentation and selection come.
//!
//! Words of four bytes; a constant is a word of eight that stands at a multiple of eight. 60 registers of 32 bits.

use retroshade_emit::form::{Field, Form, FormId, FormTable, Index, bits, check};
use retroshade_emit::listing::Show;
use retroshade_emit::{Word, form_id};
use retroshade_ir::{FloatCC, IntCC, Opcode, Scalar};
use retroshade_lower::TextError;

/// What an instruction does, for selection and for the simulator.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// An operation of the IR on operands of one kind, with a result of another.
    Op(Opcode, Scalar, Scalar),
    /// Everything else: the simulator knows it by its form.
    Special,
}
use Does::{Op, Special};
use Opcode::*;
use Scalar::{F32, I32};

const FLOAT_RELATIONS: &[&str] = &["ord", "uno", "oeq", "one", "olt", "ole", "ogt", "oge", "ueq", "une", "ult", "ule", "ugt", "uge"];
const INT_RELATIONS: &[&str] = &["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];
const _: () = assert!(FLOAT_RELATIONS.len() == FloatCC::ALL.len() && INT_RELATIONS.len() == IntCC::ALL.len());

const D: Field = Field::new("d", &[bits(5, 0)]);
const A: Field = Field::new("a", &[bits(11, 6)]);
const B: Field = Field::new("b", &[bits(17, 12)]);
const C: Field = Field::new("c", &[bits(23, 18)]);
const N: Field = Field::new("n", &[bits(23, 12)]);
const UNARY: &[Field] = &[D, A];
const BINARY: &[Field] = &[D, A, B];
const TERNARY: &[Field] = &[D, A, B, C];
const FLOAT_TEST: &[Field] = &[D, A, B, Field::new("cc", &[bits(21, 18)]).named(FLOAT_RELATIONS)];
const INT_TEST: &[Field] = &[D, A, B, Field::new("cc", &[bits(21, 18)]).named(INT_RELATIONS)];
const CONSTANT: &[Field] = &[D, Field::new("value", &[bits(63, 32)])];
const READ: &[Field] = &[D, N];
const READ_AT: &[Field] = &[D, A, N];
const WRITE: &[Field] = &[A, N];
const JUMP: &[Field] = &[Field::new("to", &[bits(23, 6)]).signed()];
const JUMP_IF: &[Field] = &[Field::new("a", &[bits(5, 0)]), Field::new("to", &[bits(23, 6)]).signed()];
const NONE: &[Field] = &[];

/// Rows: name, opcode, bytes, fields, what it does, what the documentation says.
macro_rules! table {
    ($($name:ident $op:literal $size:literal $fields:ident $does:expr, $doc:literal;)*) => {
        pub static FORMS: &[Form<Does>] = &[$(Form {
            name: stringify!($name), size: $size, spaces: 1, mask: 0xff00_0000, bits: $op << 24,
            fields: &[$fields], refines: None, doc: $doc, ext: $does,
        }),*];
        // Rows that selection reaches through the table need no name.
        $(#[doc = $doc] #[allow(dead_code)] pub const $name: FormId = form_id(FORMS, stringify!($name));)*
    };
}

table! {
    HALT  0x00 4 NONE       Special, "The invocation ends.";
    NOP   0x01 4 NONE       Special, "Nothing.";
    CONST 0x02 8 CONSTANT   Special, "d = value.";
    MOV   0x03 4 UNARY      Special, "d = a.";
    IN    0x04 4 READ       Special, "d = word n of the inputs.";
    UNI   0x05 4 READ       Special, "d = word n of the uniforms.";
    UNIX  0x06 4 READ_AT    Special, "d = word n + a of the uniforms.";
    OUT   0x07 4 WRITE      Special, "Word n of the outputs = a.";
    JMP   0x08 4 JUMP       Special, "Goes on `to` words further.";
    JZ    0x09 4 JUMP_IF    Special, "The same where a is 0.";
    FTEST 0x0a 4 FLOAT_TEST Special, "d = 1 where the relation of floats holds, else 0.";
    ITEST 0x0b 4 INT_TEST   Special, "d = 1 where the relation of integers holds, else 0.";
    SEL   0x0c 4 TERNARY    Special, "d = a is 1 ? b : c.";
    ADD   0x10 4 BINARY     Op(Fadd, F32, F32), "a + b.";
    MUL   0x11 4 BINARY     Op(Fmul, F32, F32), "a × b.";
    MIN   0x12 4 BINARY     Op(Fmin, F32, F32), "The smaller.";
    MAX   0x13 4 BINARY     Op(Fmax, F32, F32), "The larger.";
    NEG   0x14 4 UNARY      Op(Fneg, F32, F32), "-a.";
    ABS   0x15 4 UNARY      Op(Fabs, F32, F32), "|a|.";
    FLR   0x16 4 UNARY      Op(Ffloor, F32, F32), "The largest whole number not above.";
    TRC   0x17 4 UNARY      Op(Ftrunc, F32, F32), "The whole part.";
    RND   0x18 4 UNARY      Op(Fround, F32, F32), "The nearest whole number.";
    RCP   0x19 4 UNARY      Op(Frcp, F32, F32), "1 / a.";
    RSQ   0x1a 4 UNARY      Op(Frsqrt, F32, F32), "1 / sqrt(a).";
    EX2   0x1b 4 UNARY      Op(Fexp2, F32, F32), "2 to the a.";
    LG2   0x1c 4 UNARY      Op(Flog2, F32, F32), "Binary logarithm.";
    MAD   0x1d 4 TERNARY    Op(Fmad, F32, F32), "a × b + c, the product rounded.";
    IADD  0x20 4 BINARY     Op(Iadd, I32, I32), "a + b.";
    ISUB  0x21 4 BINARY     Op(Isub, I32, I32), "a - b.";
    IMUL  0x22 4 BINARY     Op(Imul, I32, I32), "Low half of a × b.";
    AND   0x23 4 BINARY     Op(Iand, I32, I32), "a & b.";
    OR    0x24 4 BINARY     Op(Ior, I32, I32), "a | b.";
    XOR   0x25 4 BINARY     Op(Ixor, I32, I32), "a ^ b.";
    SHL   0x26 4 BINARY     Op(Ishl, I32, I32), "a shifted up.";
    SHR   0x27 4 BINARY     Op(Ushr, I32, I32), "a shifted down.";
    SAR   0x28 4 BINARY     Op(Sshr, I32, I32), "a shifted down with its sign.";
    S2F   0x30 4 UNARY      Op(S2f, I32, F32), "Signed integer to float.";
    U2F   0x31 4 UNARY      Op(U2f, I32, F32), "Unsigned integer to float.";
    F2S   0x32 4 UNARY      Op(F2s, F32, I32), "Float to signed integer.";
    F2U   0x33 4 UNARY      Op(F2u, F32, I32), "Float to unsigned integer.";
}
const _: () = check(FORMS);

/// The table.
pub static TABLE: FormTable<Does> = FormTable { target: "toy", spaces: &["code"], forms: FORMS, index: Index::new() };

macro_rules! field { ($($t:tt)*) => { retroshade_emit::field!($crate::isa::FORMS, $($t)*) } }
macro_rules! word { ($($t:tt)*) => { retroshade_emit::word!($crate::isa::FORMS, $($t)*) } }
pub(crate) use {field, word};

/// The word at a byte offset and its size.
pub fn decode(code: &[u8], at: usize) -> Option<(Word, usize)> {
    let word = |size: usize| {
        let bytes = code.get(at..at + size)?;
        TABLE.decode(1, size as u8, bytes.iter().rev().fold(0, |w, b| w << 8 | *b as u128)).map(|w| (w, size))
    };
    word(4).or_else(|| word(8))
}

/// Code as text, a word a line.
pub fn disassemble(code: &[u8]) -> Result<String, TextError> {
    let (mut at, mut out) = (0, String::new());
    while at < code.len() {
        let (w, size) = decode(code, at).ok_or_else(|| TextError::new(format!("there is no instruction at {at:#x}")))?;
        out.push_str(&TABLE.listing(&w, Show::NonZero));
        out.push('\n');
        at += size;
    }
    Ok(out)
}

/// A line of text as bytes.
pub fn assemble_line(line: &str) -> Result<Vec<u8>, TextError> {
    let w = TABLE.parse_listing(line).map_err(|e| TextError::new(e.to_string()))?;
    let bits = TABLE.encode_word(&w).map_err(|e| TextError::new(e.to_string()))?;
    Ok(bits.to_le_bytes()[..TABLE.form(w.form).size as usize].to_vec())
}

/// What the machine forbids: bits without a meaning, constants that are not aligned, jumps out of the program.
pub fn lint(code: &[u8]) -> Result<Vec<TextError>, TextError> {
    let (mut at, mut out) = (0, Vec::new());
    while at < code.len() {
        let mut wrong = |what: &str| out.push(TextError { offset: Some(at as u64), ..TextError::new(what) });
        let (w, size) = decode(code, at).ok_or_else(|| TextError::new(format!("there is no instruction at {at:#x}")))?;
        if w.residue != 0 {
            wrong("bits without a meaning are set");
        }
        if !at.is_multiple_of(size) {
            wrong("a constant stands at no multiple of eight");
        }
        let form = TABLE.form(w.form);
        if let Some(to) = form.position(field!(to)) {
            let distance = form.fields().nth(to.0 as usize).map_or(0, |f| f.signed_value(w[to]));
            if !(0..code.len() as i64).contains(&(at as i64 + 4 * distance)) {
                wrong("a jump leaves the program");
            }
        }
        at += size;
    }
    Ok(out)
}
