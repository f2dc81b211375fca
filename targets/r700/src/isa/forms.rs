//! The encoding table: every control-flow, export, ALU and fetch word of the R700 family.
//!
//! A row says everything about its instruction: bits, operands, unit, what it reads and gives, its effect, a line of words.
//! Printer, reader, scheduler, simulator and lint ask the row; what an ALU operation computes is one arm of
//! `legal::numerics::alu`, which matches all of [`Op`].
//!
//! Bit positions follow the "R700-Family Instruction Set Architecture" (word layouts of chapters 3, 4, 5 and 9); names are
//! `FORMAT:OPCODE` as the known-answer listing spells them. Which word a program holds at an address follows from the
//! control-flow program, not from the bits, so every form belongs to a decode space.

use retroshade_emit::form::{Bits, Field, Form, FormId, FormTable, Index, bits, check};
use retroshade_emit::{form_id, names};

/// Decode space of control-flow words.
pub const CF: u32 = 1;
/// Decode space of export words (control-flow words too, listed apart).
pub const EXPORT: u32 = 2;
/// Decode space of ALU words.
pub const ALU: u32 = 4;
/// Decode space of texture fetches.
pub const TEX: u32 = 8;
/// Decode space of vertex fetches and memory reads.
pub const VTX: u32 = 16;

/// The word format of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Branches, loops, calls and fetch clauses.
    Cf,
    /// ALU clauses.
    CfAlu,
    /// Exports with a swizzle.
    ExpSwiz,
    /// Memory exports.
    ExpBuf,
    /// ALU operations of up to two operands.
    Op2,
    /// ALU operations of three operands.
    Op3,
    /// Texture fetches.
    Tex,
    /// Vertex fetches into a register.
    VtxGpr,
    /// Vertex fetches through the semantic table.
    VtxSem,
    /// Memory reads.
    MemRd,
}

names! {
    /// Data formats of fetches, those that programs here use.
    pub enum DataFormat {
        Word = 13 "32",
        Float = 14 "32_FLOAT",
        Words2 = 29 "32_32",
        Floats2 = 30 "32_32_FLOAT",
        Words4 = 34 "32_32_32_32",
        Floats4 = 35 "32_32_32_32_FLOAT",
        Words3 = 47 "32_32_32",
        Floats3 = 48 "32_32_32_FLOAT",
    }
}

names! {
    /// What is added to a vertex fetch's index.
    pub enum FetchType {
        /// The vertex offset.
        Vertex = 0 "vertex",
        /// The instance offset.
        Instance = 1 "instance",
        /// Nothing.
        Plain = 2 "no index offset",
    }
}

/// Where an ALU operation may execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Not an ALU operation.
    None,
    /// A vector unit or T.
    Any,
    /// Vector units only.
    Vec,
    /// T only.
    Trans,
    /// 64-bit operations: pairs or all four vector units.
    Wide,
    /// Reductions over all four vector units.
    Reduce,
}

/// What the operands of an ALU operation are, or its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// Floats: operands take signs and absolute values, results the output modifiers and CLAMP.
    Float,
    /// Anything else: modifiers are left alone.
    Bits,
}

/// What an ALU operation does beside giving a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing.
    Plain,
    /// PRED_SET*: sets the predicate, may switch lanes off.
    Predicate,
    /// KILL*: ends lanes.
    Kill,
    /// MOVA*: writes an index register.
    Index,
}

/// An ALU operation.
#[derive(Clone, Copy, Debug)]
pub struct AluInfo {
    /// Which.
    pub op: Op,
    /// Number of source operands.
    pub srcs: u8,
    /// Where it executes.
    pub unit: Unit,
    /// What its operands are.
    pub operands: Number,
    /// What its result is.
    pub result: Number,
    /// What else it does.
    pub effect: Effect,
}

/// What the target adds to a form.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Word format.
    pub format: Format,
    /// Opcode number within the format.
    pub op: u16,
    /// Opcode name without the format.
    pub short: &'static str,
    /// The ALU operation; NOP's for the other formats.
    pub alu: AluInfo,
}

/// What words that are no ALU operation have in its place.
const NO_ALU: AluInfo =
    AluInfo { op: Op::NOP, srcs: 0, unit: Unit::None, operands: Number::Bits, result: Number::Bits, effect: Effect::Plain };

const fn f(name: &'static str, range: &'static [Bits]) -> Field {
    Field::new(name, range)
}

macro_rules! fields {
    ($($name:literal $hi:literal $lo:literal;)*) => { &[$(f($name, &[bits($hi, $lo)])),*] };
}

/// Fields of CF words.
#[rustfmt::skip]
const CF_FIELDS: &[Field] = fields! {
    "ADDR" 31 0;
    "POP_COUNT" 34 32;
    "CF_CONST" 39 35;
    "COND" 41 40;
    "COUNT" 44 42;
    "CALL_COUNT" 50 45;
    "COUNT_3" 51 51;
    "END_OF_PROGRAM" 53 53;
    "VALID_PIXEL_MODE" 54 54;
    "WHOLE_QUAD_MODE" 62 62;
    "BARRIER" 63 63;
};

/// Fields of CF_ALU words.
#[rustfmt::skip]
const CF_ALU_FIELDS: &[Field] = fields! {
    "ADDR" 21 0;
    "KCACHE_BANK0" 25 22;
    "KCACHE_BANK1" 29 26;
    "KCACHE_MODE0" 31 30;
    "KCACHE_MODE1" 33 32;
    "KCACHE_ADDR0" 41 34;
    "KCACHE_ADDR1" 49 42;
    "COUNT" 56 50;
    "ALT_CONST" 57 57;
    "WHOLE_QUAD_MODE" 62 62;
    "BARRIER" 63 63;
};

/// Fields of exports with a swizzle.
#[rustfmt::skip]
const EXP_SWIZ_FIELDS: &[Field] = fields! {
    "ARRAY_BASE" 12 0;
    "TYPE" 14 13;
    "RW_GPR" 21 15;
    "RW_REL" 22 22;
    "INDEX_GPR" 29 23;
    "ELEM_SIZE" 31 30;
    "SEL_X" 34 32;
    "SEL_Y" 37 35;
    "SEL_Z" 40 38;
    "SEL_W" 43 41;
    "BURST_COUNT" 52 49;
    "END_OF_PROGRAM" 53 53;
    "VALID_PIXEL_MODE" 54 54;
    "WHOLE_QUAD_MODE" 62 62;
    "BARRIER" 63 63;
};

/// Fields of memory exports.
#[rustfmt::skip]
const EXP_BUF_FIELDS: &[Field] = fields! {
    "ARRAY_BASE" 12 0;
    "TYPE" 14 13;
    "RW_GPR" 21 15;
    "RW_REL" 22 22;
    "INDEX_GPR" 29 23;
    "ELEM_SIZE" 31 30;
    "ARRAY_SIZE" 43 32;
    "COMP_MASK" 47 44;
    "BURST_COUNT" 52 49;
    "END_OF_PROGRAM" 53 53;
    "VALID_PIXEL_MODE" 54 54;
    "WHOLE_QUAD_MODE" 62 62;
    "BARRIER" 63 63;
};

/// Word 0 of every ALU operation.
#[rustfmt::skip]
const ALU_WORD0: &[Field] = fields! {
    "SRC0_SEL" 8 0;
    "SRC0_REL" 9 9;
    "SRC0_CHAN" 11 10;
    "SRC0_NEG" 12 12;
    "SRC1_SEL" 21 13;
    "SRC1_REL" 22 22;
    "SRC1_CHAN" 24 23;
    "SRC1_NEG" 25 25;
    "INDEX_MODE" 28 26;
    "PRED_SEL" 30 29;
    "LAST" 31 31;
};

/// Word 1 of OP2.
#[rustfmt::skip]
const OP2_FIELDS: &[Field] = fields! {
    "SRC0_ABS" 32 32;
    "SRC1_ABS" 33 33;
    "UPDATE_EXECUTE_MASK" 34 34;
    "UPDATE_PRED" 35 35;
    "WRITE_MASK" 36 36;
    "OMOD" 38 37;
    "BANK_SWIZZLE" 52 50;
    "DST_GPR" 59 53;
    "DST_REL" 60 60;
    "DST_CHAN" 62 61;
    "CLAMP" 63 63;
};

/// Word 1 of OP3.
#[rustfmt::skip]
const OP3_FIELDS: &[Field] = fields! {
    "SRC2_SEL" 40 32;
    "SRC2_REL" 41 41;
    "SRC2_CHAN" 43 42;
    "SRC2_NEG" 44 44;
    "BANK_SWIZZLE" 52 50;
    "DST_GPR" 59 53;
    "DST_REL" 60 60;
    "DST_CHAN" 62 61;
    "CLAMP" 63 63;
};

/// Fields of texture fetches.
#[rustfmt::skip]
const TEX_FIELDS: &[Field] = fields! {
    "BC_FRAC_MODE" 5 5;
    "FETCH_WHOLE_QUAD" 7 7;
    "RESOURCE_ID" 15 8;
    "SRC_GPR" 22 16;
    "SRC_REL" 23 23;
    "ALT_CONST" 24 24;
    "DST_GPR" 38 32;
    "DST_REL" 39 39;
    "DST_SEL_X" 43 41;
    "DST_SEL_Y" 46 44;
    "DST_SEL_Z" 49 47;
    "DST_SEL_W" 52 50;
    "LOD_BIAS" 59 53;
    "COORD_TYPE_X" 60 60;
    "COORD_TYPE_Y" 61 61;
    "COORD_TYPE_Z" 62 62;
    "COORD_TYPE_W" 63 63;
    "OFFSET_X" 68 64;
    "OFFSET_Y" 73 69;
    "OFFSET_Z" 78 74;
    "SAMPLER_ID" 83 79;
    "SRC_SEL_X" 86 84;
    "SRC_SEL_Y" 89 87;
    "SRC_SEL_Z" 92 90;
    "SRC_SEL_W" 95 93;
};

/// Fields of vertex fetches.
#[rustfmt::skip]
const VTX_FIELDS: &[Field] = fields! {
    "FETCH_TYPE" 6 5;
    "FETCH_WHOLE_QUAD" 7 7;
    "BUFFER_ID" 15 8;
    "SRC_GPR" 22 16;
    "SRC_REL" 23 23;
    "SRC_SEL_X" 25 24;
    "MEGA_FETCH_COUNT" 31 26;
    "DST_GPR" 38 32;
    "DST_REL" 39 39;
    "DST_SEL_X" 43 41;
    "DST_SEL_Y" 46 44;
    "DST_SEL_Z" 49 47;
    "DST_SEL_W" 52 50;
    "USE_CONST_FIELDS" 53 53;
    "DATA_FORMAT" 59 54;
    "NUM_FORMAT_ALL" 61 60;
    "FORMAT_COMP_ALL" 62 62;
    "SRF_MODE_ALL" 63 63;
    "OFFSET" 79 64;
    "ENDIAN_SWAP" 81 80;
    "CONST_BUF_NO_STRIDE" 82 82;
    "MEGA_FETCH" 83 83;
    "ALT_CONST" 84 84;
};

/// Fields of semantic vertex fetches.
#[rustfmt::skip]
const VTX_SEM_FIELDS: &[Field] = fields! {
    "FETCH_TYPE" 6 5;
    "FETCH_WHOLE_QUAD" 7 7;
    "BUFFER_ID" 15 8;
    "SRC_GPR" 22 16;
    "SRC_REL" 23 23;
    "SRC_SEL_X" 25 24;
    "MEGA_FETCH_COUNT" 31 26;
    "SEMANTIC_ID" 39 32;
    "DST_SEL_X" 43 41;
    "DST_SEL_Y" 46 44;
    "DST_SEL_Z" 49 47;
    "DST_SEL_W" 52 50;
    "USE_CONST_FIELDS" 53 53;
    "DATA_FORMAT" 59 54;
    "NUM_FORMAT_ALL" 61 60;
    "FORMAT_COMP_ALL" 62 62;
    "SRF_MODE_ALL" 63 63;
    "OFFSET" 79 64;
    "ENDIAN_SWAP" 81 80;
    "CONST_BUF_NO_STRIDE" 82 82;
    "MEGA_FETCH" 83 83;
    "ALT_CONST" 84 84;
};

/// Fields of memory reads.
#[rustfmt::skip]
const MEM_FIELDS: &[Field] = fields! {
    "ELEM_SIZE" 6 5;
    "FETCH_WHOLE_QUAD" 7 7;
    "MEM_OP" 10 8;
    "UNCACHED" 11 11;
    "INDEXED" 12 12;
    "SRC_SEL_Y" 14 13;
    "SRC_GPR" 22 16;
    "SRC_REL" 23 23;
    "SRC_SEL_X" 25 24;
    "BURST_COUNT" 29 26;
    "DST_GPR" 38 32;
    "DST_REL" 39 39;
    "DST_SEL_X" 43 41;
    "DST_SEL_Y" 46 44;
    "DST_SEL_Z" 49 47;
    "DST_SEL_W" 52 50;
    "DATA_FORMAT" 59 54;
    "NUM_FORMAT_ALL" 61 60;
    "FORMAT_COMP_ALL" 62 62;
    "SRF_MODE_ALL" 63 63;
    "ARRAY_BASE" 76 64;
    "ENDIAN_SWAP" 81 80;
    "ARRAY_SIZE" 95 84;
};

/// Position of the opcode in CF and export words.
const CF_INST: Bits = bits(61, 55);
/// Position of the opcode in CF_ALU words.
const CF_ALU_INST: Bits = bits(61, 58);
/// Position of OP2's opcode.
const OP2_INST: Bits = bits(49, 39);
/// Position of OP3's opcode.
const OP3_INST: Bits = bits(49, 45);
/// Position of a fetch's opcode.
const FETCH_INST: Bits = bits(4, 0);

const fn at(b: Bits, v: u128) -> u128 {
    v << b.lo
}

const fn mask(b: Bits) -> u128 {
    at(b, (1 << b.width) - 1)
}

macro_rules! form {
    ($prefix:literal $name:ident, $op:expr, $at:expr, $size:literal, $space:expr, $fields:expr, $format:ident, $alu:expr, $doc:expr) => {
        Form {
            name: concat!($prefix, ":", stringify!($name)),
            size: $size,
            spaces: $space,
            mask: mask($at),
            bits: at($at, $op),
            fields: $fields,
            refines: None,
            doc: $doc,
            ext: Info { format: Format::$format, op: $op as u16, short: stringify!($name), alu: $alu },
        }
    };
}

/// The rows of a format as constants in a module of its name.
macro_rules! names_of {
    ($(#[$doc:meta])* $module:ident $prefix:literal $($name:ident $row:literal;)*) => {
        $(#[$doc])*
        pub mod $module {
            use super::{FORMS, FormId, form_id};
            $(#[doc = $row] pub const $name: FormId = form_id(FORMS, concat!($prefix, ":", stringify!($name)));)*
        }
    };
}

macro_rules! table {
    (
        cf { $($cf_op:literal $cf:ident $cf_doc:literal;)* }
        cf_alu { $($ac_op:literal $ac:ident $ac_doc:literal;)* }
        exp_swiz { $($sw_op:literal $sw:ident $sw_doc:literal;)* }
        exp_buf { $($mx_op:literal $mx:ident $mx_doc:literal;)* }
        op2 { $($o2_op:literal $o2:ident $o2_srcs:literal $o2_unit:ident $o2_in:ident $o2_out:ident $o2_does:ident $o2_doc:literal;)* }
        op3 { $($o3_op:literal $o3:ident $o3_srcs:literal $o3_unit:ident $o3_in:ident $o3_out:ident $o3_does:ident $o3_doc:literal;)* }
        tex { $($tx_op:literal $tx:ident $tx_doc:literal;)* }
        vtx { $($vx_op:literal $vx:ident $vx_prefix:literal $vx_format:ident $vx_fields:ident $vx_doc:literal;)* }
    ) => {
        /// The forms.
        pub static FORMS: &[Form<Info>] = &[
            $(form!("CF" $cf, $cf_op, CF_INST, 8, CF, &[CF_FIELDS], Cf, NO_ALU, $cf_doc),)*
            $(form!("CF_ALU" $ac, $ac_op, CF_ALU_INST, 8, CF, &[CF_ALU_FIELDS], CfAlu, NO_ALU, $ac_doc),)*
            $(form!("EXP_SWIZ" $sw, $sw_op, CF_INST, 8, EXPORT, &[EXP_SWIZ_FIELDS], ExpSwiz, NO_ALU, $sw_doc),)*
            $(form!("EXP_BUF" $mx, $mx_op, CF_INST, 8, EXPORT, &[EXP_BUF_FIELDS], ExpBuf, NO_ALU, $mx_doc),)*
            $(form!("OP2" $o2, $o2_op, OP2_INST, 8, ALU, &[ALU_WORD0, OP2_FIELDS], Op2, AluInfo {
                op: Op::$o2, srcs: $o2_srcs, unit: Unit::$o2_unit, operands: Number::$o2_in, result: Number::$o2_out, effect: Effect::$o2_does
            }, $o2_doc),)*
            $(form!("OP3" $o3, $o3_op, OP3_INST, 8, ALU, &[ALU_WORD0, OP3_FIELDS], Op3, AluInfo {
                op: Op::$o3, srcs: $o3_srcs, unit: Unit::$o3_unit, operands: Number::$o3_in, result: Number::$o3_out, effect: Effect::$o3_does
            }, $o3_doc),)*
            $(form!("TEX" $tx, $tx_op, FETCH_INST, 16, TEX, &[TEX_FIELDS], Tex, NO_ALU, $tx_doc),)*
            $(form!($vx_prefix $vx, $vx_op, FETCH_INST, 16, VTX, &[$vx_fields], $vx_format, NO_ALU, $vx_doc),)*
        ];

        /// The ALU operations, spelled as in the manual.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op { $(#[doc = $o2_doc] $o2,)* $(#[doc = $o3_doc] $o3,)* }

        names_of! {
            /// Branches, loops, calls and fetch clauses.
            cf "CF" $($cf $cf_doc;)*
        }
        names_of! {
            /// ALU clauses.
            cf_alu "CF_ALU" $($ac $ac_doc;)*
        }
        names_of! {
            /// Exports with a swizzle.
            exp_swiz "EXP_SWIZ" $($sw $sw_doc;)*
        }
        names_of! {
            /// Memory exports.
            exp_buf "EXP_BUF" $($mx $mx_doc;)*
        }
        names_of! {
            /// ALU operations of up to two operands.
            op2 "OP2" $($o2 $o2_doc;)*
        }
        names_of! {
            /// ALU operations of three operands.
            op3 "OP3" $($o3 $o3_doc;)*
        }
        names_of! {
            /// Texture fetches.
            tex "TEX" $($tx $tx_doc;)*
        }
        /// Vertex fetches and memory reads.
        pub mod vtx {
            use super::{FORMS, FormId, form_id};
            $(#[doc = $vx_doc] pub const $vx: FormId = form_id(FORMS, concat!($vx_prefix, ":", stringify!($vx)));)*
        }
    };
}

#[rustfmt::skip]
table! {
    cf {
        0x00 NOP "nothing (carries END_OF_PROGRAM)";
        0x01 TEX "run a texture-fetch clause at ADDR, COUNT+1 instructions";
        0x02 VTX "run a vertex-fetch clause through the vertex cache";
        0x03 VTX_TC "run a vertex-fetch clause through the texture cache (chips without a vertex cache)";
        0x04 LOOP_START "DX9 loop: count/start/step from loop constant CF_CONST, maintains aL";
        0x05 LOOP_END "end of any loop, ADDR = instruction after LOOP_START";
        0x06 LOOP_START_DX10 "loop without counter, leaves only through break";
        0x07 LOOP_START_NO_AL "DX9 repeat: counted, does not touch aL";
        0x08 LOOP_CONTINUE "active lanes that pass COND wait for LOOP_END; ADDR = LOOP_END";
        0x09 LOOP_BREAK "active lanes that pass COND leave the loop; ADDR = LOOP_END";
        0x0a JUMP "if no lane passes COND: pop POP_COUNT, go to ADDR";
        0x0b PUSH "push state, then deactivate active lanes failing COND; if none passes: no push, pop POP_COUNT, go to ADDR";
        0x0c PUSH_ELSE "push, then act as ELSE; R6xx/R7xx only";
        0x0d ELSE "swap active and inactive-branch lanes relative to the last push; if none is active: pop POP_COUNT, go to ADDR";
        0x0e POP "pop POP_COUNT entries; ADDR = next instruction by convention";
        0x0f POP_JUMP "pop, then JUMP; R6xx/R7xx only";
        0x10 POP_PUSH "pop, then PUSH; R6xx/R7xx only";
        0x11 POP_PUSH_ELSE "pop, then PUSH_ELSE; R6xx/R7xx only";
        0x12 CALL "call subroutine at ADDR if any lane passes COND; POP_COUNT must be 0";
        0x13 CALL_FS "call the fetch shader (address from a state register, ADDR ignored)";
        0x14 RETURN "return from CALL / CALL_FS";
        0x15 EMIT_VERTEX "GS: vertex is complete in the ring";
        0x16 EMIT_CUT_VERTEX "GS: emit, then cut the strip";
        0x17 CUT_VERTEX "GS: cut the strip";
        0x18 KILL "kill active lanes that pass COND";
        0x19 END_PROGRAM "reserved in the manual, do not emit";
        0x1a WAIT_ACK "wait until acknowledged writes have landed";
        0x1b TEX_ACK "TEX that waits for outstanding acks";
        0x1c VTX_ACK "VTX with ack";
        0x1d VTX_TC_ACK "VTX_TC with ack";
    }
    cf_alu {
        8 ALU "run the clause";
        9 ALU_PUSH_BEFORE "PUSH (unconditional), ALU";
        10 ALU_POP_AFTER "ALU, POP 1";
        11 ALU_POP2_AFTER "ALU, POP 2";
        13 ALU_CONTINUE "ALU; lanes that it switched off wait for LOOP_END";
        14 ALU_BREAK "ALU; lanes that it switched off leave the loop";
        15 ALU_ELSE_AFTER "ALU, then ELSE";
    }
    exp_swiz {
        0x27 EXPORT "pixel/position/parameter export";
        0x28 EXPORT_DONE "last export of its TYPE";
    }
    exp_buf {
        0x20 MEM_STREAM0 "stream-out buffer 0 write";
        0x21 MEM_STREAM1 "stream-out buffer 1";
        0x22 MEM_STREAM2 "stream-out buffer 2";
        0x23 MEM_STREAM3 "stream-out buffer 3";
        0x24 MEM_SCRATCH "scratch (spill) write";
        0x25 MEM_REDUCTION "reduction buffer write";
        0x26 MEM_RING "ES-GS or GS-VS ring write";
        0x3a MEM_EXPORT "general memory write (R700)";
    }
    op2 {
        0x00 ADD 2 Any Float Float Plain "a + b";
        0x01 MUL 2 Any Float Float Plain "DX9 multiply: if a==±0 or b==±0 (after modifiers and denormal flush) the result is +0 even against Inf/NaN; else a*b";
        0x02 MUL_IEEE 2 Any Float Float Plain "a * b, IEEE (0*Inf = NaN)";
        0x03 MAX 2 Any Float Float Plain "a >= b ? a : b (any NaN: picks b)";
        0x04 MIN 2 Any Float Float Plain "a < b ? a : b (any NaN: picks b)";
        0x05 MAX_DX10 2 Any Float Float Plain "like maxNum: if one operand is NaN the other is returned; else a >= b ? a : b";
        0x06 MIN_DX10 2 Any Float Float Plain "like minNum: if one operand is NaN the other is returned; else a < b ? a : b";
        0x07 FREXP_64 1 Wide Float Float Plain "64-bit split into mantissa and exponent, see 64-bit section";
        0x08 SETE 2 Any Float Float Plain "a == b ? 1.0 : 0.0";
        0x09 SETGT 2 Any Float Float Plain "a > b ? 1.0 : 0.0";
        0x0a SETGE 2 Any Float Float Plain "a >= b ? 1.0 : 0.0";
        0x0b SETNE 2 Any Float Float Plain "a != b ? 1.0 : 0.0 (NaN: 1.0)";
        0x0c SETE_DX10 2 Any Float Bits Plain "a == b ? 0xFFFFFFFF : 0";
        0x0d SETGT_DX10 2 Any Float Bits Plain "a > b ? 0xFFFFFFFF : 0";
        0x0e SETGE_DX10 2 Any Float Bits Plain "a >= b ? 0xFFFFFFFF : 0";
        0x0f SETNE_DX10 2 Any Float Bits Plain "a != b ? 0xFFFFFFFF : 0 (NaN: all ones)";
        0x10 FRACT 1 Any Float Float Plain "a - floor(a), in [0,1)";
        0x11 TRUNC 1 Any Float Float Plain "round toward zero, stays float";
        0x12 CEIL 1 Any Float Float Plain "round up, stays float";
        0x13 RNDNE 1 Any Float Float Plain "round to nearest, ties to even, stays float";
        0x14 FLOOR 1 Any Float Float Plain "round down, stays float";
        0x15 MOVA 1 Vec Float Float Index "AR.slot = dst = clampAR(floor(a+0.5))";
        0x16 MOVA_FLOOR 1 Vec Float Float Index "AR.slot = dst = clampAR(floor(a))";
        0x17 ADD_64 2 Wide Float Float Plain "64-bit add";
        0x18 MOVA_INT 1 Vec Bits Bits Index "AR.slot = dst = clampAR(signed int a)";
        0x19 MOV 1 Any Float Float Plain "copy; bit-exact when no modifier is set";
        0x1a NOP 0 Any Bits Bits Plain "nothing";
        0x1b MUL_64 2 Wide Float Float Plain "64-bit multiply";
        0x1c FLT64_TO_FLT32 1 Wide Float Float Plain "64 to 32 bit";
        0x1d FLT32_TO_FLT64 1 Wide Float Float Plain "32 to 64 bit";
        0x1e PRED_SETGT_UINT 2 Any Bits Bits Predicate "p = a >u b; dst = p ? 0.0 : 1.0";
        0x1f PRED_SETGE_UINT 2 Any Bits Bits Predicate "p = a >=u b; dst = p ? 0.0 : 1.0";
        0x20 PRED_SETE 2 Any Float Bits Predicate "p = a == b; dst = p ? 0.0 : 1.0";
        0x21 PRED_SETGT 2 Any Float Bits Predicate "p = a > b; dst = p ? 0.0 : 1.0";
        0x22 PRED_SETGE 2 Any Float Bits Predicate "p = a >= b; dst = p ? 0.0 : 1.0";
        0x23 PRED_SETNE 2 Any Float Bits Predicate "p = a != b; dst = p ? 0.0 : 1.0";
        0x24 PRED_SET_INV 1 Any Float Bits Predicate "p = (a == 1.0); dst = p ? 0.0 : (a == 0.0 ? 1.0 : a)";
        0x25 PRED_SET_POP 2 Any Float Bits Predicate "p = (a <= b); dst = p ? 0.0 : a - b";
        0x26 PRED_SET_CLR 0 Any Float Bits Predicate "p = false; dst = +MAX_FLOAT";
        0x27 PRED_SET_RESTORE 1 Any Float Bits Predicate "p = (a == 0.0); dst = p ? 0.0 : a";
        0x28 PRED_SETE_PUSH 2 Any Float Bits Predicate "p = (b == 0.0 and a == 0.0); dst = p ? 0.0 : a + 1.0";
        0x29 PRED_SETGT_PUSH 2 Any Float Bits Predicate "p = (b > 0.0 and a == 0.0); dst = p ? 0.0 : a + 1.0";
        0x2a PRED_SETGE_PUSH 2 Any Float Bits Predicate "p = (b >= 0.0 and a == 0.0); dst = p ? 0.0 : a + 1.0";
        0x2b PRED_SETNE_PUSH 2 Any Float Bits Predicate "p = (b != 0.0 and a == 0.0); dst = p ? 0.0 : a + 1.0";
        0x2c KILLE 2 Any Float Bits Kill "k = a == b; dst = k ? 1.0 : 0.0";
        0x2d KILLGT 2 Any Float Bits Kill "k = a > b; dst = k ? 1.0 : 0.0";
        0x2e KILLGE 2 Any Float Bits Kill "k = a >= b; dst = k ? 1.0 : 0.0";
        0x2f KILLNE 2 Any Float Bits Kill "k = a != b; dst = k ? 1.0 : 0.0";
        0x30 AND_INT 2 Any Bits Bits Plain "a & b";
        0x31 OR_INT 2 Any Bits Bits Plain "a or b, bitwise";
        0x32 XOR_INT 2 Any Bits Bits Plain "a ^ b";
        0x33 NOT_INT 1 Any Bits Bits Plain "~a";
        0x34 ADD_INT 2 Any Bits Bits Plain "a + b mod 2^32";
        0x35 SUB_INT 2 Any Bits Bits Plain "a - b mod 2^32";
        0x36 MAX_INT 2 Any Bits Bits Plain "signed max";
        0x37 MIN_INT 2 Any Bits Bits Plain "signed min";
        0x38 MAX_UINT 2 Any Bits Bits Plain "unsigned max";
        0x39 MIN_UINT 2 Any Bits Bits Plain "unsigned min";
        0x3a SETE_INT 2 Any Bits Bits Plain "a == b ? 0xFFFFFFFF : 0";
        0x3b SETGT_INT 2 Any Bits Bits Plain "a >s b ? 0xFFFFFFFF : 0";
        0x3c SETGE_INT 2 Any Bits Bits Plain "a >=s b ? 0xFFFFFFFF : 0";
        0x3d SETNE_INT 2 Any Bits Bits Plain "a != b ? 0xFFFFFFFF : 0";
        0x3e SETGT_UINT 2 Any Bits Bits Plain "a >u b ? 0xFFFFFFFF : 0";
        0x3f SETGE_UINT 2 Any Bits Bits Plain "a >=u b ? 0xFFFFFFFF : 0";
        0x40 KILLGT_UINT 2 Any Bits Bits Kill "k = a >u b; dst = k ? 1.0 : 0.0";
        0x41 KILLGE_UINT 2 Any Bits Bits Kill "k = a >=u b; dst = k ? 1.0 : 0.0";
        0x42 PRED_SETE_INT 2 Any Bits Bits Predicate "p = a == b (int); dst = p ? 0.0 : 1.0";
        0x43 PRED_SETGT_INT 2 Any Bits Bits Predicate "p = a >s b; dst = p ? 0.0 : 1.0";
        0x44 PRED_SETGE_INT 2 Any Bits Bits Predicate "p = a >=s b; dst = p ? 0.0 : 1.0";
        0x45 PRED_SETNE_INT 2 Any Bits Bits Predicate "p = a != b (int); dst = p ? 0.0 : 1.0";
        0x46 KILLE_INT 2 Any Bits Bits Kill "k = a == b (int); dst = k ? 1.0 : 0.0";
        0x47 KILLGT_INT 2 Any Bits Bits Kill "k = a >s b; dst as above";
        0x48 KILLGE_INT 2 Any Bits Bits Kill "k = a >=s b; dst as above";
        0x49 KILLNE_INT 2 Any Bits Bits Kill "k = a != b (int); dst as above";
        0x4a PRED_SETE_PUSH_INT 2 Any Bits Bits Predicate "p = (int b == 0 and float a == 0.0); dst = p ? 0.0 : a + 1.0";
        0x4b PRED_SETGT_PUSH_INT 2 Any Bits Bits Predicate "same with b >s 0";
        0x4c PRED_SETGE_PUSH_INT 2 Any Bits Bits Predicate "same with b >=s 0";
        0x4d PRED_SETNE_PUSH_INT 2 Any Bits Bits Predicate "same with b != 0";
        0x4e PRED_SETLT_PUSH_INT 2 Any Bits Bits Predicate "same with b <s 0";
        0x4f PRED_SETLE_PUSH_INT 2 Any Bits Bits Predicate "same with b <=s 0";
        0x50 DOT4 2 Reduce Float Float Plain "sum over the four slots of MUL(a,b) (DX9 multiply)";
        0x51 DOT4_IEEE 2 Reduce Float Float Plain "sum over the four slots of MUL_IEEE(a,b)";
        0x52 CUBE 2 Reduce Float Bits Plain "cube-map face selection, see 5.5";
        0x53 MAX4 1 Reduce Float Float Plain "max over the four slots' a";
        0x61 EXP_IEEE 1 Trans Float Float Plain "2^a (a==0: 1.0)";
        0x62 LOG_CLAMPED 1 Trans Float Float Plain "log2(a), -Inf replaced by -MAX_FLOAT (a==1: 0.0)";
        0x63 LOG_IEEE 1 Trans Float Float Plain "log2(a) (a==1: 0.0; ±0: -Inf; a<0: NaN)";
        0x64 RECIP_CLAMPED 1 Trans Float Float Plain "1/a, ±Inf replaced by ±MAX_FLOAT";
        0x65 RECIP_FF 1 Trans Float Float Plain "1/a, ±Inf replaced by ±0";
        0x66 RECIP_IEEE 1 Trans Float Float Plain "1/a (±0 gives ±Inf, ±Inf gives ±0)";
        0x67 RECIPSQRT_CLAMPED 1 Trans Float Float Plain "1/sqrt(a), ±Inf replaced by ±MAX_FLOAT";
        0x68 RECIPSQRT_FF 1 Trans Float Float Plain "1/sqrt(a), ±Inf replaced by ±0";
        0x69 RECIPSQRT_IEEE 1 Trans Float Float Plain "1/sqrt(a) (±0 gives ±Inf; a<0: NaN)";
        0x6a SQRT_IEEE 1 Trans Float Float Plain "sqrt(a) (a<0: NaN, -0: -0)";
        0x6b FLT_TO_INT 1 Trans Float Bits Plain "float to signed int, toward zero, saturating, NaN: 0";
        0x6c INT_TO_FLT 1 Trans Bits Float Plain "signed int to float, nearest even";
        0x6d UINT_TO_FLT 1 Trans Bits Float Plain "unsigned int to float, nearest even";
        0x6e SIN 1 Trans Float Float Plain "sin(2*pi*a), abs(a) <= 256 (beyond: 0 [?]); normal use after range reduction to [-0.5,0.5)";
        0x6f COS 1 Trans Float Float Plain "cos(2*pi*a), same domain";
        0x70 ASHR_INT 2 Any Bits Bits Plain "a >>s (b & 31)";
        0x71 LSHR_INT 2 Any Bits Bits Plain "a >>u (b & 31)";
        0x72 LSHL_INT 2 Any Bits Bits Plain "a << (b & 31)";
        0x73 MULLO_INT 2 Trans Bits Bits Plain "low 32 bits of the signed product";
        0x74 MULHI_INT 2 Trans Bits Bits Plain "high 32 bits of the signed product";
        0x75 MULLO_UINT 2 Trans Bits Bits Plain "low 32 bits of the unsigned product (same bits as MULLO_INT)";
        0x76 MULHI_UINT 2 Trans Bits Bits Plain "high 32 bits of the unsigned product";
        0x77 RECIP_INT 1 Trans Bits Bits Plain "approximate integer reciprocal, signed; scaling unknown, avoid";
        0x78 RECIP_UINT 1 Trans Bits Bits Plain "approximately 2^32 / a (a==0: 0xFFFFFFFF); see 5.7";
        0x79 FLT_TO_UINT 1 Trans Float Bits Plain "float to unsigned int, toward zero, saturating, negative and NaN: 0; trans only";
        0x7a LDEXP_64 2 Wide Float Float Plain "64-bit a.. times 2^int, see 64-bit section";
        0x7b FRACT_64 1 Wide Float Float Plain "64-bit fraction";
        0x7c PRED_SETGT_64 2 Wide Float Bits Predicate "64-bit compare, p = a > b";
        0x7d PRED_SETE_64 2 Wide Float Bits Predicate "64-bit compare, p = a == b";
        0x7e PRED_SETGE_64 2 Wide Float Bits Predicate "64-bit compare, p = a >= b";
    }
    op3 {
        0x08 MULADD_64 3 Wide Float Float Plain "64-bit a*b+c";
        0x09 MULADD_64_M2 3 Wide Float Float Plain "(a*b+c)*2";
        0x0a MULADD_64_M4 3 Wide Float Float Plain "(a*b+c)*4";
        0x0b MULADD_64_D2 3 Wide Float Float Plain "(a*b+c)/2";
        0x0c MUL_LIT 3 Trans Float Float Plain "if b==-MAX_FLOAT or b==-Inf or b is NaN or c<=0.0 or c is NaN: -MAX_FLOAT; else a*b";
        0x0d MUL_LIT_M2 3 Trans Float Float Plain "MUL_LIT result *2";
        0x0e MUL_LIT_M4 3 Trans Float Float Plain "MUL_LIT result *4";
        0x0f MUL_LIT_D2 3 Trans Float Float Plain "MUL_LIT result /2";
        0x10 MULADD 3 Any Float Float Plain "MUL(a,b) + c (DX9 multiply: 0*x = 0)";
        0x11 MULADD_M2 3 Any Float Float Plain "(MUL(a,b)+c)*2";
        0x12 MULADD_M4 3 Any Float Float Plain "(MUL(a,b)+c)*4";
        0x13 MULADD_D2 3 Any Float Float Plain "(MUL(a,b)+c)/2";
        0x14 MULADD_IEEE 3 Any Float Float Plain "a*b + c, IEEE zero rule, product rounded before the add";
        0x15 MULADD_IEEE_M2 3 Any Float Float Plain "(a*b+c)*2";
        0x16 MULADD_IEEE_M4 3 Any Float Float Plain "(a*b+c)*4";
        0x17 MULADD_IEEE_D2 3 Any Float Float Plain "(a*b+c)/2";
        0x18 CNDE 3 Any Float Float Plain "a == 0.0 ? b : c";
        0x19 CNDGT 3 Any Float Float Plain "a > 0.0 ? b : c";
        0x1a CNDGE 3 Any Float Float Plain "a >= 0.0 ? b : c (NaN a: c)";
        0x1c CNDE_INT 3 Any Bits Bits Plain "int a == 0 ? b : c";
        0x1d CNDGT_INT 3 Any Bits Bits Plain "int a >s 0 ? b : c";
        0x1e CNDGE_INT 3 Any Bits Bits Plain "int a >=s 0 ? b : c";
    }
    tex {
        3 LD "unfiltered load, integer coordinates (x,y,z) and mip level in w";
        4 GET_TEXTURE_RESINFO "returns width, height, depth (or layers), mip count for the mip level in x";
        5 GET_NUMBER_OF_SAMPLES "sample count";
        6 GET_LOD "computed LOD (clamped, unclamped)";
        7 GET_GRADIENTS_H "horizontal screen derivative of the source (ddx), per channel";
        8 GET_GRADIENTS_V "vertical derivative (ddy)";
        9 GET_LERP "bilinear weights";
        10 KEEP_GRADIENTS "compute and keep gradients for following fetches";
        11 SET_GRADIENTS_H "load dX gradients used by the *_G ops of the same clause";
        12 SET_GRADIENTS_V "load dY gradients";
        13 PASS "returns the address unchanged; reserved in the manual";
        14 SET_CUBEMAP_INDEX "array index for cube-map arrays";
        15 FETCH4 "four texels of one channel";
        16 SAMPLE "filtered sample, implicit LOD";
        17 SAMPLE_L "LOD in w";
        18 SAMPLE_LB "LOD bias: LOD_BIAS field / w";
        19 SAMPLE_LZ "LOD 0";
        20 SAMPLE_G "LOD from SET_GRADIENTS_*";
        21 SAMPLE_G_L "gradients set before, LOD in w";
        22 SAMPLE_G_LB "gradients set before, LOD bias: LOD_BIAS field / w";
        23 SAMPLE_G_LZ "gradients set before, LOD 0";
        24 SAMPLE_C "depth compare, reference in w";
        25 SAMPLE_C_L "depth compare, reference in z, LOD in w";
        26 SAMPLE_C_LB "depth compare, reference in z, LOD bias in w";
        27 SAMPLE_C_LZ "depth compare, LOD 0";
        28 SAMPLE_C_G "depth compare, LOD from SET_GRADIENTS_*";
        29 SAMPLE_C_G_L "depth compare, gradients set before, LOD in w";
        30 SAMPLE_C_G_LB "depth compare, gradients set before, LOD bias";
        31 SAMPLE_C_G_LZ "depth compare, gradients set before, LOD 0";
    }
    vtx {
        0 FETCH "VTX_GPR" VtxGpr VTX_FIELDS "vertex fetch into a register";
        1 SEMANTIC "VTX_SEM" VtxSem VTX_SEM_FIELDS "vertex fetch through the semantic table";
        2 MEM_OP "MEM_RD" MemRd MEM_FIELDS "memory read; listed with the number of MEM_OP after its name";
    }
}

#[allow(long_running_const_eval)]
const _: () = check(FORMS);

/// The table.
pub static TABLE: FormTable<Info> =
    FormTable { target: "r700", spaces: &["cf", "export", "alu", "tex", "vtx"], forms: FORMS, index: Index::new() };

/// A field's name as a constant: in a known form, or in any.
macro_rules! field {
    ($($t:tt)*) => { retroshade_emit::field!($crate::isa::forms::FORMS, $($t)*) };
}
pub(crate) use field;

/// A word by form and fields.
macro_rules! word {
    ($($t:tt)*) => { retroshade_emit::word!($crate::isa::forms::FORMS, $($t)*) };
}
pub(crate) use word;

/// Whether a form runs a fetch clause.
pub const fn fetches(form: FormId) -> bool {
    matches!(form, cf::TEX | cf::VTX | cf::VTX_TC | cf::TEX_ACK | cf::VTX_ACK | cf::VTX_TC_ACK)
}
