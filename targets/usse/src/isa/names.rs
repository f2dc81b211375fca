//! Words of the native text by the fields that choose them, for the printer (`text.rs`) and the reader (`native.rs`) alike.
//!
//! Facts: the known answers' disassembler, whose spellings these are; `?` where it knows no name.

use crate::isa::forms::field;
use retroshade_emit::{FieldName, names};

/// V32NMAD and V16NMAD by `op2`, behind `V` and `VF16`.
pub const VECTOR: [&str; 8] = ["MUL", "ADD", "FRC", "DSX", "DSY", "MIN", "MAX", "DP"];
/// VCOMP by `op2`.
pub const COMPLEX: [&str; 4] = ["VRCP", "VRSQ", "VLOG", "VEXP"];
names! {
    /// VPCK's formats: `dest_fmt` and `src_fmt`.
    pub enum Format {
        /// Unsigned bytes.
        U8 = 0 "U8",
        /// Signed bytes.
        S8 = 1 "S8",
        /// Not known.
        O8 = 2 "O8",
        /// Unsigned integers of 16 bits.
        U16 = 3 "U16",
        /// Signed integers of 16 bits.
        S16 = 4 "S16",
        /// Halves.
        F16 = 5 "F16",
        /// Single-precision floats.
        F32 = 6 "F32",
        /// Signed fractions of ten bits.
        C10 = 7 "C10",
    }
}

impl Format {
    /// Whether its lanes are floats or fractions, which come in pairs of registers.
    pub fn is_float(self) -> bool {
        self as u8 >= Format::F16 as u8
    }
}

/// VMOV by `move_type`.
pub const MOVES: [&str; 4] = ["VMOV", "VMOVC", "VMOVCU8", "VMOVC"];
/// VMOV by `move_data_type`.
pub const MOVE_TYPES: [&str; 8] = ["i8", "i16", "i32", "c10", "f16", "f32", "?", "?"];
/// VMOV's comparisons with zero by `test_bit_2` and `test_bit_1`.
pub const RELATIONS: [&str; 4] = ["==", "!=", "<", "<="];
/// SMP by `dim`.
pub const SAMPLES: [&str; 4] = ["SMP1d", "SMP2d", "SMP3d", "SMP?"];
/// SMP's result by `fconv_type`.
pub const CONVERSIONS: [&str; 4] = ["", "?", "f16", "f32"];
/// SMP's coordinates by `src0_type`.
pub const COORDINATES: [&str; 4] = ["f32", "f16", "c10", "?"];
/// SMP by `sb_mode`.
pub const SAMPLE_MODES: [&str; 4] = ["", "gather4", "info", "gather4.uv"];
/// What compilers' texts put before a saturating I16MAD.
pub const SATURATED: &str = "Saturation in i16mad not yet supported! | ";

/// VBW by `op1` and `op2`.
const BITWISE: [(u64, u64, &str); 8] =
    [(2, 0, "AND"), (2, 1, "OR"), (3, 0, "XOR"), (4, 0, "SHL"), (4, 1, "ROL"), (5, 0, "SHR"), (5, 1, "ASR"), (6, 0, "RLP")];

/// The name of a VBW operation.
pub fn bitwise(op1: u64, op2: u64) -> &'static str {
    let exact = BITWISE.iter().find(|b| (b.0, b.1) == (op1, op2));
    // `op2` says nothing where there is one operation only.
    exact.or_else(|| BITWISE.iter().find(|b| b.0 == op1)).map_or("RLP", |b| b.2)
}

/// `op1` and `op2` of a VBW operation.
pub fn bitwise_code(name: &str) -> Option<[(FieldName, u64); 2]> {
    BITWISE.iter().find(|b| b.2 == name).map(|b| [(field!(op1), b.0), (field!(op2), b.1)])
}
