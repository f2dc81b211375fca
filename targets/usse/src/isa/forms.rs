//! The encoding table: every instruction group of the machine, field by field, most significant bit first.
//!
//! A row says where the bits are, what each operand may be, which predicates there are, how the word repeats, and what the
//! scheduler has to know of it. Facts: the ISA sheet's sections 3 to 17. Names are the sheet's, so that a listing reads as the known
//! answers do. `row.rs` explains the words of a row.

use crate::isa::registers::BankTable::{Dest as TD, Gpi, Src as TS, Src0 as T0};
use crate::isa::row::Role::*;
use crate::isa::row::{Lanes, Mods, Predicates, Row, Scale, Unit, op, row};
use crate::isa::swizzle::*;
use retroshade_emit::form::{self, Field, Form, FormId, FormTable, Index, bits};
use retroshade_emit::{Word, form_id};

const fn ones(hi: u32, lo: u32) -> u128 {
    let width = hi - lo + 1;
    ((1u128 << width) - 1) << lo
}

/// The name of a field: of any form, or of a known one (`VMOV.pred`). A wrong name does not compile.
macro_rules! field { ($($t:tt)*) => { retroshade_emit::field!($crate::isa::forms::FORMS, $($t)*) } }
pub(crate) use field;

/// A comment's text without the space that it begins with.
const fn line(comment: &'static str) -> &'static str {
    match comment.as_bytes() {
        [b' ', rest @ ..] => match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(_) => comment,
        },
        _ => comment,
    }
}

macro_rules! refines {
    (none) => {
        None
    };
    ($name:ident) => {
        Some(stringify!($name))
    };
}

/// The table in the notation of the manual: name, the more general form, fixed bits in brackets, `hi:lo name` fields, the row.
/// Each row is a constant too: a wrong name of a form does not compile.
macro_rules! table {
    ($($(#[doc = $doc:literal])+ $name:ident $refines:ident [$($fhi:literal : $flo:literal = $fv:literal),*]
        {$($hi:literal : $lo:literal $field:ident),*} $row:expr;)*) => {
        /// Every form.
        pub static FORMS: &[Form<&'static Row>] = &[$(Form {
            name: stringify!($name),
            size: 8,
            spaces: 1,
            mask: 0 $(| ones($fhi, $flo))*,
            bits: 0 $(| (($fv as u128) << $flo))*,
            fields: &[&[$(Field::new(stringify!($field), &[bits($hi, $lo)])),*]],
            refines: refines!($refines),
            doc: line(concat!($($doc),+)),
            ext: &rows::$name,
        }),*];
        mod rows {
            use super::*;
            $(pub static $name: Row = $row;)*
        }
        $($(#[doc = $doc])+ pub const $name: FormId = form_id(FORMS, stringify!($name));)*
    };
}

/// VMOV's float types: pairs and swizzles.
const FLOAT_MOVES: u32 = 1 << 3 | 1 << 4 | 1 << 5;

/// VPCK's source formats whose registers come in pairs.
const FLOAT_FORMATS: u32 = 1 << 5 | 1 << 6 | 1 << 7;

/// The row of V32NMAD and V16NMAD: a source with a free swizzle and one with a table.
#[rustfmt::skip]
macro_rules! nmad {
    () => { row(&[
        op(Dest, TD, Some(field!(dest_bank_sel)), Some(field!(dest_bank_ext)), field!(dest_n), 6),
        op(Src1, TS, Some(field!(src1_bank_sel)), Some(field!(src1_bank_ext)), field!(src1_n), 6)
            .lanes(Lanes::Free(&[(field!(src1_swiz_0_6), 0), (field!(src1_swiz_7_8), 7), (field!(src1_swiz_9), 9), (field!(src1_swiz_10_11), 10)]))
            .mods(Mods::Two(field!(src1_mod))),
        op(Src2, TS, Some(field!(src2_bank_sel)), Some(field!(src2_bank_ext)), field!(src2_n), 6)
            .lanes(Lanes::Set(&VEC4, &[(field!(src2_swiz), 0)])).mods(Mods::Abs(field!(src2_mod))),
    ]).unit(Unit::Float).predicated(Predicates::P3V, field!(pred)).protects() };
}

#[rustfmt::skip]
table! {
    /// Vector multiply-add with three unified sources.
    VMAD2 none [63:59 = 0b00000]
        {58:58 dat_fmt, 57:56 pred, 55:55 skipinv, 53:53 src0_swiz_bits2, 52:52 syncstart, 50:50 src0_abs, 49:49 src1_bank_ext,
        48:48 src2_bank_ext, 47:45 src2_swiz, 44:44 src1_swiz_bit2, 43:43 nosched, 42:39 dest_mask, 38:37 src1_mod,
        36:35 src2_mod, 34:34 src0_bank, 33:32 dest_bank, 31:30 src1_bank, 29:28 src2_bank, 27:22 dest_n,
        21:20 src1_swiz_bits01, 19:18 src0_swiz_bits01, 17:12 src0_n, 11:6 src1_n, 5:0 src2_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), None, field!(dest_n), 6),
            op(Src0, T0, Some(field!(src0_bank)), None, field!(src0_n), 6)
                .lanes(Lanes::Set(&MAD2_SRC0, &[(field!(src0_swiz_bits01), 0), (field!(src0_swiz_bits2), 2)]))
                .mods(Mods::Abs(field!(src0_abs))),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_n), 6)
                .lanes(Lanes::Set(&MAD2_SRC1, &[(field!(src1_swiz_bits01), 0), (field!(src1_swiz_bit2), 2)]))
                .mods(Mods::Two(field!(src1_mod))),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_bank_ext)), field!(src2_n), 6)
                .lanes(Lanes::Set(&MAD2_SRC2, &[(field!(src2_swiz), 0)])).mods(Mods::Two(field!(src2_mod))),
        ]).unit(Unit::Float).predicated(Predicates::P2V, field!(pred)).protects();
    /// f32 multiply, add, fract, derivatives, minimum, maximum, dot4.
    V32NMAD none [63:59 = 0b00001]
        {58:56 pred, 55:55 skipinv, 54:53 src1_swiz_10_11, 52:52 syncstart, 51:51 dest_bank_ext, 50:50 src1_swiz_9,
        49:49 src1_bank_ext, 48:48 src2_bank_ext, 47:44 src2_swiz, 43:43 nosched, 42:39 dest_mask, 38:37 src1_mod,
        36:36 src2_mod, 35:34 src1_swiz_7_8, 33:32 dest_bank_sel, 31:30 src1_bank_sel, 29:28 src2_bank_sel, 27:22 dest_n,
        21:15 src1_swiz_0_6, 14:12 op2, 11:6 src1_n, 5:0 src2_n}
        nmad!();
    /// As V32NMAD in f16.
    V16NMAD none [63:59 = 0b00010]
        {58:56 pred, 55:55 skipinv, 54:53 src1_swiz_10_11, 52:52 syncstart, 51:51 dest_bank_ext, 50:50 src1_swiz_9,
        49:49 src1_bank_ext, 48:48 src2_bank_ext, 47:44 src2_swiz, 43:43 nosched, 42:39 dest_mask, 38:37 src1_mod,
        36:36 src2_mod, 35:34 src1_swiz_7_8, 33:32 dest_bank_sel, 31:30 src1_bank_sel, 29:28 src2_bank_sel, 27:22 dest_n,
        21:15 src1_swiz_0_6, 14:12 op2, 11:6 src1_n, 5:0 src2_n}
        nmad!();
    /// dest = gpi0 × src1 + gpi1.
    VMAD none [63:59 = 0b00011, 53:53 = 0b1]
        {58:56 pred, 55:55 skipinv, 54:54 gpi1_swiz_ext, 52:52 opcode2, 51:51 dest_use_bank_ext, 50:50 end, 49:49 src1_bank_ext,
        48:47 repeat_mode, 46:46 gpi0_abs, 45:44 repeat_count, 43:43 nosched, 42:39 write_mask, 38:38 src1_neg, 37:37 src1_abs,
        36:36 gpi1_neg, 35:35 gpi1_abs, 34:34 gpi0_swiz_ext, 33:32 dest_bank, 31:30 src1_bank, 29:28 gpi0_n, 27:22 dest_n,
        21:18 gpi0_swiz, 17:14 gpi1_swiz, 13:12 gpi1_n, 11:11 gpi0_neg, 10:10 src1_swiz_ext, 9:6 src1_swiz, 5:0 src1_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_use_bank_ext)), field!(dest_n), 6),
            op(Src0, Gpi, None, None, field!(gpi0_n), 2)
                .lanes(Lanes::SetBy(field!(opcode2), &VEC3_EXT, &VEC4_EXT, &[(field!(gpi0_swiz), 0), (field!(gpi0_swiz_ext), 4)]))
                .mods(Mods::Both(field!(gpi0_neg), field!(gpi0_abs))),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_n), 6)
                .lanes(Lanes::SetBy(field!(opcode2), &VEC3_EXT, &VEC4_EXT, &[(field!(src1_swiz), 0), (field!(src1_swiz_ext), 4)]))
                .mods(Mods::Both(field!(src1_neg), field!(src1_abs))),
            op(Src2, Gpi, None, None, field!(gpi1_n), 2)
                .lanes(Lanes::SetBy(field!(opcode2), &VEC3_EXT, &VEC4_EXT, &[(field!(gpi1_swiz), 0), (field!(gpi1_swiz_ext), 4)]))
                .mods(Mods::Both(field!(gpi1_neg), field!(gpi1_abs))),
        ]).unit(Unit::Float).predicated(Predicates::P3V, field!(pred)).protects().closes().repeats(field!(repeat_count));
    /// dest = dot(src1, gpi0).
    VDP none [63:59 = 0b00011, 53:53 = 0b0]
        {58:56 pred, 55:55 skipinv, 54:54 clip_plane_enable, 52:52 opcode2, 51:51 dest_use_bank_ext, 50:50 end,
        49:49 src1_bank_ext, 48:47 repeat_mode, 46:46 gpi0_abs, 45:44 repeat_count, 43:43 nosched, 42:39 write_mask,
        38:38 src1_neg, 37:37 src1_abs, 36:34 clip_plane_n, 33:32 dest_bank, 31:30 src1_bank, 29:28 gpi0_n, 27:22 dest_n,
        21:18 gpi0_swiz, 17:15 src1_swiz_w, 14:12 src1_swiz_z, 11:9 src1_swiz_y, 8:6 src1_swiz_x, 5:0 src1_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_use_bank_ext)), field!(dest_n), 6),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_n), 6)
                .lanes(Lanes::Free(&[(field!(src1_swiz_x), 0), (field!(src1_swiz_y), 3), (field!(src1_swiz_z), 6), (field!(src1_swiz_w), 9)]))
                .mods(Mods::Both(field!(src1_neg), field!(src1_abs))),
            op(Src0, Gpi, None, None, field!(gpi0_n), 2).lanes(Lanes::SetBy(field!(opcode2), &VEC3, &VEC4, &[(field!(gpi0_swiz), 0)]))
                .mods(Mods::Abs(field!(gpi0_abs))),
        ]).unit(Unit::Float).predicated(Predicates::P3V, field!(pred)).protects().repeats(field!(repeat_count));
    /// Two operations in one word.
    VDUAL none [63:60 = 0b0010]
        {59:59 comp_count_type, 58:58 gpi1_neg, 57:56 sv_pred, 55:55 skipinv, 54:54 dual_op1_ext_vec3_or_has_w_vec4,
        53:53 type_f16, 52:52 gpi1_swizz_ext, 51:48 unified_store_swizz, 47:47 unified_store_neg, 46:44 dual_op1,
        43:43 dual_op2_ext, 42:42 prim_ustore, 41:38 gpi0_swizz, 37:34 gpi1_swizz, 33:32 prim_dest_bank,
        31:30 unified_store_slot_bank, 29:28 prim_dest_num_gpi_case, 27:21 prim_dest_num, 20:18 dual_op2, 17:16 src_config,
        15:15 gpi2_slot_num_bit_1, 14:14 gpi2_slot_num_bit_0_or_unified_store_abs, 13:12 gpi1_slot_num, 11:10 gpi0_slot_num,
        9:7 write_mask_non_gpi, 6:0 unified_store_slot_num}
        row(&[]).unit(Unit::Float).predicated(Predicates::P2V, field!(sv_pred)).protects();
    /// Reciprocal, reciprocal square root, log2, exp2.
    VCOMP none [63:59 = 0b00110]
        {58:56 pred, 55:55 skipinv, 54:53 dest_type, 52:52 syncstart, 51:51 dest_bank_ext, 50:50 end, 49:49 src1_bank_ext,
        47:44 repeat_count, 43:43 nosched, 42:41 op2, 40:39 src_type, 38:37 src1_mod, 36:35 src_comp, 33:32 dest_bank,
        31:30 src1_bank, 27:21 dest_n, 13:7 src1_n, 3:0 write_mask}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_bank_ext)), field!(dest_n), 7),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_n), 7)
                .lanes(Lanes::Set(&LANE, &[(field!(src_comp), 0)])).mods(Mods::Two(field!(src1_mod))),
        ]).unit(Unit::Scalar).predicated(Predicates::P3, field!(pred)).protects().closes().repeats(field!(repeat_count)).advances(15, &[field!(dest_n), field!(src1_n)]);
    /// Move and conditional move.
    VMOV none [63:59 = 0b00111]
        {58:56 pred, 55:55 skipinv, 54:54 test_bit_2, 53:53 src0_comp_sel, 52:52 syncstart, 51:51 dest_bank_ext,
        50:50 end_or_src0_bank_ext, 49:49 src1_bank_ext, 48:48 src2_bank_ext, 47:46 move_type, 45:44 repeat_count,
        43:43 nosched, 42:40 move_data_type, 39:39 test_bit_1, 38:35 src0_swiz, 34:34 src0_bank_sel, 33:32 dest_bank_sel,
        31:30 src1_bank_sel, 29:28 src2_bank_sel, 27:24 dest_mask, 23:18 dest_n, 17:12 src0_n, 11:6 src1_n, 5:0 src2_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank_sel)), Some(field!(dest_bank_ext)), field!(dest_n), 6)
                .scale(Scale::PairsIf(field!(move_data_type), FLOAT_MOVES)),
            op(Src0, T0, Some(field!(src0_bank_sel)), Some(field!(end_or_src0_bank_ext)), field!(src0_n), 6)
                .scale(Scale::PairsIf(field!(move_data_type), FLOAT_MOVES)),
            op(Src1, TS, Some(field!(src1_bank_sel)), Some(field!(src1_bank_ext)), field!(src1_n), 6)
                .scale(Scale::PairsIf(field!(move_data_type), FLOAT_MOVES))
                .lanes(Lanes::Set(&VEC4, &[(field!(src0_swiz), 0)])),
            op(Src2, TS, Some(field!(src2_bank_sel)), Some(field!(src2_bank_ext)), field!(src2_n), 6)
                .scale(Scale::PairsIf(field!(move_data_type), FLOAT_MOVES))
                .lanes(Lanes::Set(&VEC4, &[(field!(src0_swiz), 0)])),
        ]).unit(Unit::Move).predicated(Predicates::P3, field!(pred)).protects().repeats(field!(repeat_count)).advances(3, &[field!(dest_n), field!(src1_n)]);
    /// Pack, unpack and convert.
    VPCK VBW [63:59 = 0b01000]
        {58:56 pred, 55:55 skipinv, 54:54 nosched, 53:53 unknown, 52:52 syncstart, 51:51 dest_bank_ext, 50:50 end,
        49:49 src1_bank_ext, 48:48 src2_bank_ext, 47:44 repeat_count, 43:41 src_fmt, 40:38 dest_fmt, 37:34 dest_mask,
        33:32 dest_bank_sel, 31:30 src1_bank_sel, 29:28 src2_bank_sel, 27:21 dest_n, 20:19 comp_sel_3, 18:18 scale,
        17:16 comp_sel_1, 15:14 comp_sel_2, 13:8 src1_n, 7:7 comp0_sel_bit1, 6:1 src2_n, 0:0 comp_sel_0_bit0}
        row(&[
            op(Dest, TD, Some(field!(dest_bank_sel)), Some(field!(dest_bank_ext)), field!(dest_n), 7).single(),
    // An integer source has one more bit below the number; see `read_operand`.
            op(Src1, TS, Some(field!(src1_bank_sel)), Some(field!(src1_bank_ext)), field!(src1_n), 6)
                .scale(Scale::PairsIf(field!(src_fmt), FLOAT_FORMATS)),
            op(Src2, TS, Some(field!(src2_bank_sel)), Some(field!(src2_bank_ext)), field!(src2_n), 6),
        ]).unit(Unit::Move).predicated(Predicates::P3, field!(pred)).protects().closes().repeats(field!(repeat_count));
    /// Test into a predicate.
    VTST VBW [63:59 = 0b01001]
        {58:56 pred, 55:55 skipinv, 54:54 nosched, 53:53 onceonly, 52:52 syncstart, 51:51 dest_ext, 50:50 src1_neg,
        49:49 src1_ext, 48:48 src2_ext, 47:47 prec, 46:46 src2_vscomp, 45:44 rpt_count, 43:42 sign_test, 41:40 zero_test,
        39:39 test_crcomb_and, 38:36 chan_cc, 35:34 pdst_n, 33:32 dest_bank, 31:30 src1_bank, 29:28 src2_bank, 27:21 dest_n,
        20:20 test_wben, 19:18 alu_sel, 17:14 alu_op, 13:7 src1_n, 6:0 src2_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_ext)), field!(dest_n), 7).scale(Scale::PairsIf(field!(alu_sel), 1)),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_ext)), field!(src1_n), 7)
                .scale(Scale::PairsIf(field!(alu_sel), 1))
                .lanes(Lanes::Set(&LANE, &[(field!(chan_cc), 0)]))
                .mods(Mods::Neg(field!(src1_neg))),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_ext)), field!(src2_n), 7).scale(Scale::PairsIf(field!(alu_sel), 1)),
        ]).unit(Unit::Test).predicated(Predicates::P3, field!(pred)).protects().repeats(field!(rpt_count));
    /// Test into a lane mask.
    VTSTMSK VBW [63:59 = 0b01111]
        {58:56 pred, 55:55 skipinv, 54:54 nosched, 53:53 onceonly, 52:52 syncstart, 51:51 dest_ext, 50:50 test_flag_2,
        49:49 src1_ext, 48:48 src2_ext, 47:47 prec, 46:46 src2_vscomp, 45:44 rpt_count, 43:42 sign_test, 41:40 zero_test,
        39:39 test_crcomb_and, 37:36 tst_mask_type, 33:32 dest_bank, 31:30 src1_bank, 29:28 src2_bank, 27:21 dest_n,
        20:20 test_wben, 19:18 alu_sel, 17:14 alu_op, 13:7 src1_n, 6:0 src2_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_ext)), field!(dest_n), 7).scale(Scale::PairsIf(field!(alu_sel), 1)),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_ext)), field!(src1_n), 7).scale(Scale::PairsIf(field!(alu_sel), 1))
                .mods(Mods::Neg(field!(test_flag_2))),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_ext)), field!(src2_n), 7).scale(Scale::PairsIf(field!(alu_sel), 1)),
        ]).unit(Unit::Test).predicated(Predicates::P3, field!(pred)).protects();
    /// Bitwise operations and shifts.
    VBW none [63:62 = 0b01]
        {61:59 op1, 58:56 pred, 55:55 skipinv, 54:54 nosched, 53:53 repeat_sel, 52:52 sync_start, 51:51 dest_ext, 50:50 end,
        49:49 src1_ext, 48:48 src2_ext, 47:44 repeat_count, 43:43 src2_invert, 42:38 src2_rot, 37:36 src2_exth, 35:35 op2,
        34:34 bitwise_partial, 33:32 dest_bank, 31:30 src1_bank, 29:28 src2_bank, 27:21 dest_n, 20:14 src2_sel, 13:7 src1_n,
        6:0 src2_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_ext)), field!(dest_n), 7).single(),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_ext)), field!(src1_n), 7).single(),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_ext)), field!(src2_n), 7).single(),
        ]).unit(Unit::Integer).predicated(Predicates::P3, field!(pred)).protects().closes().repeats(field!(repeat_count)).advances(15, &[field!(dest_n), field!(src1_n), field!(src2_n)]);
    /// 16 × 16 + 32 integer multiply-add.
    I32MAD none [63:59 = 0b10101, 47:47 = 0b0, 41:40 = 0b00, 37:35 = 0b000]
        {58:57 pred, 56:56 src0_high, 55:55 skipinv, 54:54 nosched, 53:53 src1_high, 52:52 src2_high, 51:51 dest_bank_ext,
        50:50 end, 49:49 src1_bank_ext, 48:48 src2_bank_ext, 46:44 repeat_count, 43:43 is_signed, 42:42 is_sat,
        39:38 src2_type, 34:34 src0_bank, 33:32 dest_bank, 31:30 src1_bank, 29:28 src2_bank, 27:21 dest_n, 20:14 src0_n,
        13:7 src1_n, 6:0 src2_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_bank_ext)), field!(dest_n), 7).single(),
            op(Src0, T0, Some(field!(src0_bank)), None, field!(src0_n), 7).single(),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_n), 7).single(),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_bank_ext)), field!(src2_n), 7).single(),
        ]).unit(Unit::Integer).predicated(Predicates::P2, field!(pred)).protects().repeats(field!(repeat_count));
    /// 32 × 32 + 32 integer multiply-add.
    I32MAD2 none [63:59 = 0b11010, 43:42 = 0b00, 38:35 = 0b0000]
        {58:56 pred, 54:54 nosched, 53:52 sn, 51:51 dest_bank_ext, 50:50 end, 49:49 src1_bank_ext, 48:48 src2_bank_ext,
        47:47 src0_bank_ext, 46:44 count, 41:41 is_signed, 40:40 negative_src1, 39:39 negative_src2, 34:34 src0_bank,
        33:32 dest_bank, 31:30 src1_bank, 29:28 src2_bank, 27:21 dest_n, 20:14 src0_n, 13:7 src1_n, 6:0 src2_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_bank_ext)), field!(dest_n), 7).single(),
            op(Src0, T0, Some(field!(src0_bank)), Some(field!(src0_bank_ext)), field!(src0_n), 7).single(),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_n), 7).single()
                .mods(Mods::Neg(field!(negative_src1))),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_bank_ext)), field!(src2_n), 7).single()
                .mods(Mods::Neg(field!(negative_src2))),
        ]).unit(Unit::Integer).predicated(Predicates::P3, field!(pred)).protects().repeats(field!(count));
    /// 16-bit integer multiply-add.
    I16MAD none [63:59 = 0b10100]
        {58:57 pred, 56:56 abs, 55:55 skipinv, 54:54 nosched, 53:53 src2_neg, 52:52 sel1h_upper8, 51:51 dest_bank_ext,
        50:50 end, 49:49 src1_bank_ext, 48:48 src2_bank_ext, 46:44 repeat_count, 43:42 mode, 41:40 src2_format,
        39:38 src1_format, 37:37 sel2h_upper8, 36:35 or_shift, 34:34 src0_bank, 33:32 dest_bank, 31:30 src1_bank,
        29:28 src2_bank, 27:21 dest_n, 20:14 src0_n, 13:7 src1_n, 6:0 src2_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_bank_ext)), field!(dest_n), 7).single(),
            op(Src0, T0, Some(field!(src0_bank)), None, field!(src0_n), 7).single(),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_n), 7).single(),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_bank_ext)), field!(src2_n), 7).single(),
        ]).unit(Unit::Integer).predicated(Predicates::P2, field!(pred)).repeats(field!(repeat_count));
    /// 8-bit integer multiply-add.
    I8MAD none [63:59 = 0b10011]
        {58:57 pred, 56:56 cmod1, 55:55 skipinv, 54:54 nosched, 53:52 csel0, 51:51 dest_bank_ext, 50:50 end,
        49:49 src1_bank_ext, 48:48 src2_bank_ext, 47:47 cmod2, 46:44 repeat_count, 43:43 saturated, 42:42 cmod0, 41:41 asel0,
        40:40 amod2, 39:39 amod1, 38:38 amod0, 37:37 csel1, 36:36 csel2, 35:35 src0_neg, 34:34 src0_bank, 33:32 dest_bank,
        31:30 src1_bank, 29:28 src2_bank, 27:21 dest_num, 20:14 src0_num, 13:7 src1_num, 6:0 src2_num}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_bank_ext)), field!(dest_num), 7).single(),
            op(Src0, T0, Some(field!(src0_bank)), None, field!(src0_num), 7).single(),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_num), 7).single(),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_bank_ext)), field!(src2_num), 7).single(),
        ]).unit(Unit::Integer).predicated(Predicates::P2, field!(pred));
    /// Fixed-point blend of two sources.
    SOP2 none [63:59 = 0b10000]
        {58:57 pred, 56:56 cmod1, 55:55 skipinv, 54:54 nosched, 53:52 asel1, 51:51 dest_bank_ext, 50:50 end,
        49:49 src1_bank_ext, 48:48 src2_bank_ext, 47:47 cmod2, 46:44 count, 43:43 amod1, 42:41 asel2, 40:38 csel1, 37:35 csel2,
        34:34 amod2, 33:32 dest_bank, 31:30 src1_bank, 29:28 src2_bank, 27:21 dest_n, 20:20 src1_mod, 19:18 cop, 17:16 aop,
        15:15 asrc1_mod, 14:14 dest_mod, 13:7 src1_n, 6:0 src2_n}
        row(&[
            op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_bank_ext)), field!(dest_n), 7).single(),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_n), 7).single(),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_bank_ext)), field!(src2_n), 7).single(),
        ]).unit(Unit::Blend).predicated(Predicates::P2, field!(pred));
    /// SOP2 with a write mask.
    SOP2M none [63:59 = 0b10010]
        {58:57 pred, 56:56 mod1, 55:55 skipinv, 54:54 nosched, 53:52 cop, 51:51 destbankext, 50:50 end, 49:49 src1bankext,
        48:48 src2bankext, 47:47 mod2, 46:43 wmask, 42:41 aop, 40:38 sel1, 37:35 sel2, 33:32 destbank, 31:30 src1bank,
        29:28 src2bank, 27:21 destnum, 13:7 src1num, 6:0 src2num}
        row(&[
            op(Dest, TD, Some(field!(destbank)), Some(field!(destbankext)), field!(destnum), 7).single(),
            op(Src1, TS, Some(field!(src1bank)), Some(field!(src1bankext)), field!(src1num), 7).single(),
            op(Src2, TS, Some(field!(src2bank)), Some(field!(src2bankext)), field!(src2num), 7).single(),
        ]).unit(Unit::Blend).predicated(Predicates::P2, field!(pred));
    /// Fixed-point blend of three sources.
    SOP3 none [63:59 = 0b10001]
        {58:57 pred, 56:56 cmod1, 55:55 skipinv, 54:54 nosched, 53:52 cop, 51:51 destbext, 50:50 end, 49:49 src1bext,
        48:48 src2bext, 47:47 cmod2, 46:46 amod1, 45:44 asel1, 43:43 dmod, 42:41 aop, 40:38 csel1, 37:35 csel2, 34:34 src0bank,
        33:32 destbank, 31:30 src1bank, 29:28 src2bank, 27:21 destn, 20:14 src0n, 13:7 src1n, 6:0 src2n}
        row(&[
            op(Dest, TD, Some(field!(destbank)), Some(field!(destbext)), field!(destn), 7).single(),
            op(Src0, T0, Some(field!(src0bank)), None, field!(src0n), 7).single(),
            op(Src1, TS, Some(field!(src1bank)), Some(field!(src1bext)), field!(src1n), 7).single(),
            op(Src2, TS, Some(field!(src2bank)), Some(field!(src2bext)), field!(src2n), 7).single(),
        ]).unit(Unit::Blend).predicated(Predicates::P2, field!(pred));
    /// Texture sample.
    SMP VLDST [63:59 = 0b11100]
        {58:56 pred, 55:55 skipinv, 54:54 nosched, 52:52 syncstart, 51:51 minpack, 50:50 src0_ext, 49:49 src1_ext,
        48:48 src2_ext, 47:46 fconv_type, 45:44 mask_count, 43:42 dim, 41:40 lod_mode, 39:39 dest_use_pa, 38:37 sb_mode,
        36:35 src0_type, 34:34 src0_bank, 33:32 drc_sel, 31:30 src1_bank, 29:28 src2_bank, 27:21 dest_n, 20:14 src0_n,
        13:7 src1_n, 6:0 src2_n}
        row(&[
            op(Src0, T0, Some(field!(src0_bank)), Some(field!(src0_ext)), field!(src0_n), 7),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_ext)), field!(src1_n), 7),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_ext)), field!(src2_n), 7),
        ]).unit(Unit::Fetch).predicated(Predicates::P3, field!(pred)).loses();
    /// Memory load (op1 = 1) and store (op1 = 2).
    VLDST none [63:61 = 0b111]
        {60:59 op1, 58:56 pred, 55:55 skipinv, 54:54 nosched, 53:53 moe_expand, 52:52 sync_start, 51:51 cache_ext,
        50:50 src0_bank_ext, 49:49 src1_bank_ext, 48:48 src2_bank_ext, 47:44 mask_count, 43:42 addr_mode, 41:40 mode,
        39:39 dest_bank_primattr, 38:38 range_enable, 37:36 data_type, 35:35 increment_or_decrement, 34:34 src0_bank,
        33:33 cache_by_pass12, 32:32 drc_sel, 31:30 src1_bank, 29:28 src2_bank, 27:21 dest_n, 20:14 src0_n, 13:7 src1_n,
        6:0 src2_n}
        row(&[
            op(Src0, T0, Some(field!(src0_bank)), Some(field!(src0_bank_ext)), field!(src0_n), 7).single(),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_n), 7).single(),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_bank_ext)), field!(src2_n), 7).single(),
        ]).unit(Unit::Fetch).predicated(Predicates::P3, field!(pred)).loses();
    /// Branch.
    BR VLDST [63:59 = 0b11111, 54:52 = 0b000, 40:39 = 0b00]
        {58:56 pred, 55:55 syncend, 51:51 exception, 45:45 pwait, 44:44 sync_ext, 43:43 nosched, 42:42 br_monitor,
        41:41 save_link, 38:38 br_type, 21:21 any_inst, 20:20 all_inst, 19:0 br_off}
        row(&[]).unit(Unit::Flow).predicated(Predicates::P3, field!(pred)).loses();
    /// Return to the saved link.
    LAPC VLDST [63:59 = 0b11111, 54:52 = 0b000, 40:38 = 0b010]
        {58:56 pred, 55:55 syncend, 51:51 exception, 45:45 pwait, 44:44 sync_ext, 43:43 nosched, 42:42 br_monitor, 41:41 save_link,
        21:21 any_inst, 20:20 all_inst}
        row(&[]).unit(Unit::Flow).predicated(Predicates::P3, field!(pred)).loses();
    /// No operation; carries end and scheduling flags.
    NOP VLDST [63:59 = 0b11111, 54:52 = 0b000, 40:38 = 0b101]
        {55:55 syncend, 50:50 end, 43:43 nosched}
        row(&[]).unit(Unit::Flow).protects().loses();
    /// Wait for the data fence.
    WDF VLDST [63:56 = 0b11111001, 54:52 = 0b010]
        {43:43 nosched, 32:32 drc_sel}
        row(&[]).unit(Unit::Flow).protects().loses();
    /// Emit the vertex and end.
    EMIT VLDST [63:0 = 0xfb27_5000_a020_0000]
        {}
        row(&[]).unit(Unit::Flow).loses();
    /// 32-bit immediate.
    LIMM VLDST [63:56 = 0b11111100, 53:52 = 0b10]
        {55:55 skipinv, 54:54 nosched, 51:51 dest_bank_ext, 50:50 end, 49:44 imm_value_bits26to31, 43:41 pred,
        40:36 imm_value_bits21to25, 33:32 dest_bank, 27:21 dest_num, 20:0 imm_value_first_21bits}
        row(&[op(Dest, TD, Some(field!(dest_bank)), Some(field!(dest_bank_ext)), field!(dest_num), 7).single()]).unit(Unit::Move).predicated(Predicates::P3, field!(pred)).protects();
    /// Drop the pixel.
    KILL VLDST [63:56 = 0b11111001, 53:43 = 0b11000000000, 40:28 = 0b0000001101111]
        {42:41 pred, 13:7 src1_n, 6:0 src2_n}
        row(&[]).unit(Unit::Flow).predicated(Predicates::PK, field!(pred)).loses();
    /// Replace the depth.
    DEPTHF VLDST [63:56 = 0b11111011, 53:52 = 0b11]
        {55:55 sync, 51:51 src0_bank_ext, 50:50 end, 49:49 src1_bank_ext, 48:48 src2_bank_ext, 43:43 nosched, 42:41 pred,
        37:37 two_sided, 36:35 feedback, 34:34 src0_bank, 31:30 src1_bank, 29:28 src2_bank, 27:21 dest_n, 20:14 src0_n,
        13:7 src1_n, 6:0 src2_n}
        row(&[
            op(Src0, T0, Some(field!(src0_bank)), Some(field!(src0_bank_ext)), field!(src0_n), 7).single(),
            op(Src1, TS, Some(field!(src1_bank)), Some(field!(src1_bank_ext)), field!(src1_n), 7).single(),
            op(Src2, TS, Some(field!(src2_bank)), Some(field!(src2_bank_ext)), field!(src2_n), 7).single(),
        ]).unit(Unit::Flow).predicated(Predicates::P2, field!(pred)).loses();
    /// Phase header.
    PHAS VLDST [63:56 = 0b11111010, 54:52 = 0b100]
        {55:55 sprvv, 51:51 end, 50:50 imm, 49:49 src1_bank_ext, 48:48 src2_bank_ext, 45:45 mode, 44:44 rate_hi,
        43:43 rate_lo_or_nosched, 42:40 wait_cond, 39:32 temp_count, 31:30 src1_bank, 29:28 src2_bank, 19:14 exe_addr_high,
        13:7 src1_n_or_exe_addr_mid, 6:0 src2_n_or_exe_addr_low}
        row(&[]).unit(Unit::Flow).loses();
    /// Repeat increments.
    SMLSI VLDST [63:56 = 0b11111010, 53:52 = 0b01]
        {50:50 nosched, 47:44 temp_limit, 43:40 pa_limit, 39:36 sa_limit, 35:35 dest_inc_mode, 34:34 src0_inc_mode,
        33:33 src1_inc_mode, 32:32 src2_inc_mode, 31:24 dest_inc, 23:16 src0_inc, 15:8 src1_inc, 7:0 src2_inc}
        row(&[]).unit(Unit::Flow);
    /// Repeat base offsets.
    SMBO VLDST [63:56 = 0b11111011, 53:52 = 0b01]
        {50:50 nosched, 47:36 dest_offset, 35:24 src0_offset, 23:12 src1_offset, 11:0 src2_offset}
        row(&[]).unit(Unit::Flow);
}

const _: () = form::check(FORMS);

/// The table behind encoder, decoder, listing and documentation.
pub static TABLE: FormTable<&'static Row> = FormTable { target: "usse", spaces: &["code"], forms: FORMS, index: Index::new() };

/// Decodes one word; `None` where no group matches.
pub fn decode(word: u64) -> Option<retroshade_emit::form::Decoded> {
    let d = TABLE.decode(1, 8, word as u128)?;
    match (d.form, word >> 59 & 7) {
        // The general forms leave room for groups that do not exist.
        (VLDST, 0b101 | 0b110) | (VBW, 0b010..=0b110) => Some(d),
        (VLDST | VBW, _) => None,
        _ => Some(d),
    }
}

/// What the table says of a form beside its bits.
pub fn row_of(form: FormId) -> &'static Row {
    TABLE.form(form).ext
}

/// How many instructions a branch goes on; 0 for other words. The field is listed without a sign, as the known answers have it.
pub fn branch_offset(d: &Word) -> i64 {
    ((TABLE.get(d, field!(br_off)).unwrap_or(0) << 44) as i64) >> 44
}
