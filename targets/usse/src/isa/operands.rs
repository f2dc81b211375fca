//! What each operand of each form can be: bank codes, number scaling, swizzle sets, modifiers — as data.
//!
//! Selection, allocation, the assembler and the simulator ask the same question of it: [`fits`], "can this operand be
//! written with this swizzle, bank and modifier here?". Facts: the ISA sheet's sections 3, 5, 7 and 8 to 14.

use crate::isa::forms::TABLE;
use crate::isa::registers::{self, Bank, BankTable, Reg};
use crate::isa::swizzle::*;
use retroshade_emit::form::{Decoded, FormId};

/// An operand's place in its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Destination.
    Dest,
    /// Source 0 (also `gpi0`).
    Src0,
    /// Source 1.
    Src1,
    /// Source 2 (also `gpi1`).
    Src2,
}

/// Fields that together hold one number: (field, shift).
pub type Pieces = &'static [(&'static str, u8)];

/// How an operand's lanes are chosen.
#[derive(Clone, Copy, Debug)]
pub enum Lanes {
    /// One entry of a table. A second table applies where the named field is 1 (three or four lanes).
    Set(&'static [Swizzle], Pieces),
    /// One of two tables by a field: 0 the first, 1 the second.
    SetBy(&'static str, &'static [Swizzle], &'static [Swizzle], Pieces),
    /// Any selector per lane: one number, three bits a lane.
    Free(Pieces),
    /// No choice: lanes in order.
    Fixed,
}

/// How an operand is negated or made absolute.
#[derive(Clone, Copy, Debug)]
pub enum Mods {
    /// Not at all.
    None,
    /// Two bits: negate, absolute.
    Two(&'static str),
    /// Absolute only.
    Abs(&'static str),
    /// Negate only.
    Neg(&'static str),
    /// A bit each: negate, absolute.
    Both(&'static str, &'static str),
}

/// Whether an operand's number counts pairs of registers.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// Pairs.
    Pairs,
    /// Single registers.
    Single,
    /// Pairs where the field's value is in the mask.
    PairsIf(&'static str, u32),
}

/// An operand of a form.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Which one.
    pub role: Role,
    /// Bank codes.
    pub table: BankTable,
    /// Bank field and extension field; empty where there is none.
    pub bank: &'static str,
    /// Extension field.
    pub ext: &'static str,
    /// Number field.
    pub num: &'static str,
    /// Bits of the number.
    pub bits: u32,
    /// Scaling.
    pub scale: Scale,
    /// Lanes.
    pub lanes: Lanes,
    /// Modifiers.
    pub mods: Mods,
}

const fn op(role: Role, table: BankTable, bank: &'static str, ext: &'static str, num: &'static str, bits: u32) -> Operand {
    Operand { role, table, bank, ext, num, bits, scale: Scale::Pairs, lanes: Lanes::Fixed, mods: Mods::None }
}
impl Operand {
    const fn lanes(self, lanes: Lanes) -> Operand {
        Operand { lanes, ..self }
    }
    const fn mods(self, mods: Mods) -> Operand {
        Operand { mods, ..self }
    }
    const fn single(self) -> Operand {
        Operand { scale: Scale::Single, ..self }
    }
    const fn scale(self, scale: Scale) -> Operand {
        Operand { scale, ..self }
    }
}

use BankTable::{Dest as TD, Gpi, Src as TS, Src0 as T0};
use Role::*;

static VMAD2: &[Operand] = &[
    op(Dest, TD, "dest_bank", "", "dest_n", 6),
    op(Src0, T0, "src0_bank", "", "src0_n", 6)
        .lanes(Lanes::Set(&MAD2_SRC0, &[("src0_swiz_bits01", 0), ("src0_swiz_bits2", 2)]))
        .mods(Mods::Abs("src0_abs")),
    op(Src1, TS, "src1_bank", "src1_bank_ext", "src1_n", 6)
        .lanes(Lanes::Set(&MAD2_SRC1, &[("src1_swiz_bits01", 0), ("src1_swiz_bit2", 2)]))
        .mods(Mods::Two("src1_mod")),
    op(Src2, TS, "src2_bank", "src2_bank_ext", "src2_n", 6).lanes(Lanes::Set(&MAD2_SRC2, &[("src2_swiz", 0)])).mods(Mods::Two("src2_mod")),
];
static VNMAD: &[Operand] = &[
    op(Dest, TD, "dest_bank_sel", "dest_bank_ext", "dest_n", 6),
    op(Src1, TS, "src1_bank_sel", "src1_bank_ext", "src1_n", 6)
        .lanes(Lanes::Free(&[("src1_swiz_0_6", 0), ("src1_swiz_7_8", 7), ("src1_swiz_9", 9), ("src1_swiz_10_11", 10)]))
        .mods(Mods::Two("src1_mod")),
    op(Src2, TS, "src2_bank_sel", "src2_bank_ext", "src2_n", 6).lanes(Lanes::Set(&VEC4, &[("src2_swiz", 0)])).mods(Mods::Abs("src2_mod")),
];
static VMAD: &[Operand] = &[
    op(Dest, TD, "dest_bank", "dest_use_bank_ext", "dest_n", 6),
    op(Src0, Gpi, "", "", "gpi0_n", 2)
        .lanes(Lanes::SetBy("opcode2", &VEC3_EXT, &VEC4_EXT, &[("gpi0_swiz", 0), ("gpi0_swiz_ext", 4)]))
        .mods(Mods::Both("gpi0_neg", "gpi0_abs")),
    op(Src1, TS, "src1_bank", "src1_bank_ext", "src1_n", 6)
        .lanes(Lanes::SetBy("opcode2", &VEC3_EXT, &VEC4_EXT, &[("src1_swiz", 0), ("src1_swiz_ext", 4)]))
        .mods(Mods::Both("src1_neg", "src1_abs")),
    op(Src2, Gpi, "", "", "gpi1_n", 2)
        .lanes(Lanes::SetBy("opcode2", &VEC3_EXT, &VEC4_EXT, &[("gpi1_swiz", 0), ("gpi1_swiz_ext", 4)]))
        .mods(Mods::Both("gpi1_neg", "gpi1_abs")),
];
static VDP: &[Operand] = &[
    op(Dest, TD, "dest_bank", "dest_use_bank_ext", "dest_n", 6),
    op(Src1, TS, "src1_bank", "src1_bank_ext", "src1_n", 6)
        .lanes(Lanes::Free(&[("src1_swiz_x", 0), ("src1_swiz_y", 3), ("src1_swiz_z", 6), ("src1_swiz_w", 9)]))
        .mods(Mods::Both("src1_neg", "src1_abs")),
    op(Src0, Gpi, "", "", "gpi0_n", 2).lanes(Lanes::SetBy("opcode2", &VEC3, &VEC4, &[("gpi0_swiz", 0)])).mods(Mods::Abs("gpi0_abs")),
];
static VCOMP: &[Operand] = &[
    op(Dest, TD, "dest_bank", "dest_bank_ext", "dest_n", 7),
    op(Src1, TS, "src1_bank", "src1_bank_ext", "src1_n", 7).lanes(Lanes::Set(&LANE, &[("src_comp", 0)])).mods(Mods::Two("src1_mod")),
];
/// VMOV's float types: pairs and swizzles.
const FLOAT_MOVES: u32 = 1 << 3 | 1 << 4 | 1 << 5;
static VMOV: &[Operand] = &[
    op(Dest, TD, "dest_bank_sel", "dest_bank_ext", "dest_n", 6).scale(Scale::PairsIf("move_data_type", FLOAT_MOVES)),
    op(Src0, T0, "src0_bank_sel", "end_or_src0_bank_ext", "src0_n", 6).scale(Scale::PairsIf("move_data_type", FLOAT_MOVES)),
    op(Src1, TS, "src1_bank_sel", "src1_bank_ext", "src1_n", 6)
        .scale(Scale::PairsIf("move_data_type", FLOAT_MOVES))
        .lanes(Lanes::Set(&VEC4, &[("src0_swiz", 0)])),
    op(Src2, TS, "src2_bank_sel", "src2_bank_ext", "src2_n", 6)
        .scale(Scale::PairsIf("move_data_type", FLOAT_MOVES))
        .lanes(Lanes::Set(&VEC4, &[("src0_swiz", 0)])),
];
/// VPCK's source formats whose registers come in pairs.
const FLOAT_FORMATS: u32 = 1 << 5 | 1 << 6 | 1 << 7;
static VPCK: &[Operand] = &[
    op(Dest, TD, "dest_bank_sel", "dest_bank_ext", "dest_n", 7).single(),
    // An integer source has one more bit below the number; see `read_operand`.
    op(Src1, TS, "src1_bank_sel", "src1_bank_ext", "src1_n", 6).scale(Scale::PairsIf("src_fmt", FLOAT_FORMATS)),
    op(Src2, TS, "src2_bank_sel", "src2_bank_ext", "src2_n", 6),
];
static VTST: &[Operand] = &[
    op(Dest, TD, "dest_bank", "dest_ext", "dest_n", 7).scale(Scale::PairsIf("alu_sel", 1)),
    op(Src1, TS, "src1_bank", "src1_ext", "src1_n", 7)
        .scale(Scale::PairsIf("alu_sel", 1))
        .lanes(Lanes::Set(&LANE, &[("chan_cc", 0)]))
        .mods(Mods::Neg("src1_neg")),
    op(Src2, TS, "src2_bank", "src2_ext", "src2_n", 7).scale(Scale::PairsIf("alu_sel", 1)),
];
static VTSTMSK: &[Operand] = &[
    op(Dest, TD, "dest_bank", "dest_ext", "dest_n", 7).scale(Scale::PairsIf("alu_sel", 1)),
    op(Src1, TS, "src1_bank", "src1_ext", "src1_n", 7).scale(Scale::PairsIf("alu_sel", 1)).mods(Mods::Neg("test_flag_2")),
    op(Src2, TS, "src2_bank", "src2_ext", "src2_n", 7).scale(Scale::PairsIf("alu_sel", 1)),
];
static VBW: &[Operand] = &[
    op(Dest, TD, "dest_bank", "dest_ext", "dest_n", 7).single(),
    op(Src1, TS, "src1_bank", "src1_ext", "src1_n", 7).single(),
    op(Src2, TS, "src2_bank", "src2_ext", "src2_n", 7).single(),
];
static IMAD: &[Operand] = &[
    op(Dest, TD, "dest_bank", "dest_bank_ext", "dest_n", 7).single(),
    op(Src0, T0, "src0_bank", "", "src0_n", 7).single(),
    op(Src1, TS, "src1_bank", "src1_bank_ext", "src1_n", 7).single(),
    op(Src2, TS, "src2_bank", "src2_bank_ext", "src2_n", 7).single(),
];
static I32MAD2: &[Operand] = &[
    op(Dest, TD, "dest_bank", "dest_bank_ext", "dest_n", 7).single(),
    op(Src0, T0, "src0_bank", "src0_bank_ext", "src0_n", 7).single(),
    op(Src1, TS, "src1_bank", "src1_bank_ext", "src1_n", 7).single().mods(Mods::Neg("negative_src1")),
    op(Src2, TS, "src2_bank", "src2_bank_ext", "src2_n", 7).single().mods(Mods::Neg("negative_src2")),
];
static I8MAD: &[Operand] = &[
    op(Dest, TD, "dest_bank", "dest_bank_ext", "dest_num", 7).single(),
    op(Src0, T0, "src0_bank", "", "src0_num", 7).single(),
    op(Src1, TS, "src1_bank", "src1_bank_ext", "src1_num", 7).single(),
    op(Src2, TS, "src2_bank", "src2_bank_ext", "src2_num", 7).single(),
];
static SOP2: &[Operand] = &[
    op(Dest, TD, "dest_bank", "dest_bank_ext", "dest_n", 7).single(),
    op(Src1, TS, "src1_bank", "src1_bank_ext", "src1_n", 7).single(),
    op(Src2, TS, "src2_bank", "src2_bank_ext", "src2_n", 7).single(),
];
static SOP2M: &[Operand] = &[
    op(Dest, TD, "destbank", "destbankext", "destnum", 7).single(),
    op(Src1, TS, "src1bank", "src1bankext", "src1num", 7).single(),
    op(Src2, TS, "src2bank", "src2bankext", "src2num", 7).single(),
];
static SOP3: &[Operand] = &[
    op(Dest, TD, "destbank", "destbext", "destn", 7).single(),
    op(Src0, T0, "src0bank", "", "src0n", 7).single(),
    op(Src1, TS, "src1bank", "src1bext", "src1n", 7).single(),
    op(Src2, TS, "src2bank", "src2bext", "src2n", 7).single(),
];
static SMP: &[Operand] = &[
    op(Src0, T0, "src0_bank", "src0_ext", "src0_n", 7),
    op(Src1, TS, "src1_bank", "src1_ext", "src1_n", 7),
    op(Src2, TS, "src2_bank", "src2_ext", "src2_n", 7),
];
static VLDST: &[Operand] = &[
    op(Src0, T0, "src0_bank", "src0_bank_ext", "src0_n", 7).single(),
    op(Src1, TS, "src1_bank", "src1_bank_ext", "src1_n", 7).single(),
    op(Src2, TS, "src2_bank", "src2_bank_ext", "src2_n", 7).single(),
];
static DEPTHF: &[Operand] = &[
    op(Src0, T0, "src0_bank", "src0_bank_ext", "src0_n", 7).single(),
    op(Src1, TS, "src1_bank", "src1_bank_ext", "src1_n", 7).single(),
    op(Src2, TS, "src2_bank", "src2_bank_ext", "src2_n", 7).single(),
];
static LIMM: &[Operand] = &[op(Dest, TD, "dest_bank", "dest_bank_ext", "dest_num", 7).single()];

/// The operands of a form, destination first. VDUAL's depend on each other and are described in `dual.rs`.
pub fn operands(form: &str) -> &'static [Operand] {
    match form {
        "VMAD2" => VMAD2,
        "V32NMAD" | "V16NMAD" => VNMAD,
        "VMAD" => VMAD,
        "VDP" => VDP,
        "VCOMP" => VCOMP,
        "VMOV" => VMOV,
        "VPCK" => VPCK,
        "VTST" => VTST,
        "VTSTMSK" => VTSTMSK,
        "VBW" => VBW,
        "I32MAD" | "I16MAD" => IMAD,
        "I32MAD2" => I32MAD2,
        "I8MAD" => I8MAD,
        "SOP2" => SOP2,
        "SOP2M" => SOP2M,
        "SOP3" => SOP3,
        "SMP" => SMP,
        "VLDST" => VLDST,
        "DEPTHF" => DEPTHF,
        "LIMM" => LIMM,
        _ => &[],
    }
}

/// One operand of a form by role.
pub fn operand(form: &str, role: Role) -> Option<&'static Operand> {
    operands(form).iter().find(|o| o.role == role)
}

/// A source (or destination) as read: register, selectors, modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Src {
    /// Register.
    pub reg: Reg,
    /// Selector of each lane.
    pub sel: Swizzle,
    /// Negated, after the absolute value.
    pub neg: bool,
    /// Absolute value.
    pub abs: bool,
}

impl Src {
    /// A register, lanes in order.
    pub const fn new(reg: Reg) -> Src {
        Src { reg, sel: IDENTITY, neg: false, abs: false }
    }
    /// With other selectors.
    pub const fn sel(self, sel: Swizzle) -> Src {
        Src { sel, ..self }
    }
}

/// A field's value by name; 0 where the form has no such field.
pub fn field(d: &Decoded, name: &str) -> u64 {
    TABLE.value(d, name).unwrap_or(0)
}

fn gather(d: &Decoded, pieces: Pieces) -> u64 {
    pieces.iter().map(|(f, s)| field(d, f) << s).sum()
}

/// Whether the operand's number counts pairs in this word.
pub fn doubled(d: &Decoded, o: &Operand) -> bool {
    match o.scale {
        Scale::Pairs => true,
        Scale::Single => false,
        Scale::PairsIf(f, mask) => mask >> field(d, f) & 1 == 1,
    }
}

/// Reads an operand out of a decoded word.
pub fn read_operand(d: &Decoded, o: &Operand) -> Src {
    let ext = if o.ext.is_empty() { 0 } else { field(d, o.ext) };
    let pairs = doubled(d, o);
    let (mut n, mut bits) = (field(d, o.num), o.bits);
    if !pairs && o.role == Src1 && TABLE.form(d.form).name == "VPCK" {
        (n, bits) = (n << 1 | field(d, "comp0_sel_bit1"), 7);
    }
    let reg = registers::read(o.table, field(d, o.bank), ext, n, bits, pairs);
    let sel = match o.lanes {
        Lanes::Fixed => IDENTITY,
        Lanes::Set(set, p) => set[gather(d, p) as usize % set.len()],
        Lanes::SetBy(f, a, b, p) => {
            let set = if field(d, f) == 0 { a } else { b };
            set[gather(d, p) as usize % set.len()]
        }
        Lanes::Free(p) => {
            let e = gather(d, p);
            std::array::from_fn(|k| (e >> (3 * k) & 7) as u8)
        }
    };
    let (neg, abs) = match o.mods {
        Mods::None => (false, false),
        Mods::Two(f) => (field(d, f) & 1 != 0, field(d, f) & 2 != 0),
        Mods::Abs(f) => (false, field(d, f) != 0),
        Mods::Neg(f) => (field(d, f) != 0, false),
        Mods::Both(n, a) => (field(d, n) != 0, field(d, a) != 0),
    };
    Src { reg, sel, neg, abs }
}

/// What an operand needs.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    /// The register; for a pair, its even number.
    pub reg: Reg,
    /// The lanes that are read.
    pub lanes: Wanted,
    /// Negated.
    pub neg: bool,
    /// Absolute.
    pub abs: bool,
}

/// Field values that write an operand: (field, value).
pub type Encoding = Vec<(&'static str, u64)>;

/// Can this operand be written with this register, swizzle and modifiers? The fields that do it, if so.
///
/// `context` holds the fields already chosen that the answer depends on (types, three or four lanes).
pub fn fits(o: &Operand, want: &Want, context: &[(&'static str, u64)]) -> Option<Encoding> {
    let ctx = |f: &str| context.iter().find(|(n, _)| *n == f).map_or(0, |(_, v)| *v);
    let pairs = match o.scale {
        Scale::Pairs => true,
        Scale::Single => false,
        Scale::PairsIf(f, mask) => mask >> ctx(f) & 1 == 1,
    };
    let mut out = Encoding::new();
    let wide = !pairs && o.role == Src1 && matches!(o.scale, Scale::PairsIf("src_fmt", _));
    let (code, ext, n) = registers::write(o.table, !o.ext.is_empty(), want.reg, if wide { 7 } else { o.bits }, pairs)?;
    if !o.bank.is_empty() {
        out.push((o.bank, code));
    }
    if !o.ext.is_empty() {
        out.push((o.ext, ext));
    }
    if wide {
        out.push((o.num, n >> 1));
        out.push(("comp0_sel_bit1", n & 1));
    } else {
        out.push((o.num, n));
    }
    let mut put = |pieces: Pieces, v: u64| {
        for (i, (f, s)) in pieces.iter().enumerate() {
            let upto = pieces.get(i + 1).map_or(63, |p| p.1) - s;
            out.push((f, v >> s & ((1 << upto) - 1)));
        }
    };
    match o.lanes {
        Lanes::Fixed => {
            if (0..4).any(|k| want.lanes[k].is_some_and(|l| l as usize != k)) {
                return None;
            }
        }
        Lanes::Set(set, p) => put(p, find(set, want.lanes)? as u64),
        Lanes::SetBy(f, a, b, p) => put(p, find(if ctx(f) == 0 { a } else { b }, want.lanes)? as u64),
        Lanes::Free(p) => {
            let first = want.lanes.iter().flatten().next().copied().unwrap_or(0);
            let v = (0..4).map(|k| (want.lanes[k].unwrap_or(first) as u64) << (3 * k)).sum();
            put(p, v);
        }
    }
    match o.mods {
        Mods::None if want.neg || want.abs => return None,
        Mods::Abs(_) if want.neg => return None,
        Mods::Neg(_) if want.abs => return None,
        Mods::None => {}
        Mods::Two(f) => out.push((f, want.neg as u64 | (want.abs as u64) << 1)),
        Mods::Abs(f) => out.push((f, want.abs as u64)),
        Mods::Neg(f) => out.push((f, want.neg as u64)),
        Mods::Both(n, a) => {
            out.push((n, want.neg as u64));
            out.push((a, want.abs as u64));
        }
    }
    Some(out)
}

/// The id of a form that the table is known to have.
pub fn form(name: &str) -> FormId {
    TABLE.by_name(name).unwrap_or(FormId(0))
}

/// Whether a bank holds 32-bit registers that come in sequence.
pub fn is_unified(b: Bank) -> bool {
    matches!(b, Bank::R | Bank::O | Bank::Pa | Bank::Sa)
}
