//! VDUAL: two operations in one word, whose operands depend on each other.
//!
//! Facts: the ISA sheet's section 9.

use crate::operands::{Src, field};
use crate::regs::{self, Bank, BankTable, Reg};
use crate::swizzle::{DUAL3, DUAL4, IDENTITY};
use retroshade_emit::form::Decoded;

/// An operation of a dual word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DualOp {
    /// Multiply-add.
    Vmad,
    /// Dot product.
    Vdp,
    /// Sum of squares.
    Vssq,
    /// Product.
    Vmul,
    /// Sum.
    Vadd,
    /// Move.
    Vmov,
    /// Reciprocal square root.
    Frsq,
    /// Reciprocal.
    Frcp,
    /// Scalar multiply-add.
    Fmad,
    /// Scalar sum.
    Fadd,
    /// Scalar product.
    Fmul,
    /// s0 - floor(s1).
    Fsubflr,
    /// 2 to the x.
    Fexp,
    /// log2.
    Flog,
}

use DualOp::*;
const OPS: [DualOp; 14] = [Vmad, Vdp, Vssq, Vmul, Vadd, Vmov, Frsq, Frcp, Fmad, Fadd, Fmul, Fsubflr, Fexp, Flog];

impl DualOp {
    /// Number of sources.
    pub fn sources(self) -> usize {
        match self {
            Vmad | Fmad => 3,
            Vdp | Vmul | Vadd | Fadd | Fmul | Fsubflr => 2,
            _ => 1,
        }
    }
    /// Whether it works lane by lane and stores a vector.
    pub fn is_vector_store(self) -> bool {
        matches!(self, Vmad | Vmul | Vadd | Vmov)
    }
    /// Whether it reads vectors.
    pub fn is_vector(self) -> bool {
        self.is_vector_store() || matches!(self, Vdp | Vssq)
    }
    /// The mnemonic.
    pub fn name(self) -> &'static str {
        match self {
            Vmad => "VMAD",
            Vdp => "VDP",
            Vssq => "VSSQ",
            Vmul => "VMUL",
            Vadd => "VADD",
            Vmov => "VMOV",
            Frsq => "FRSQ",
            Frcp => "FRCP",
            Fmad => "FMAD",
            Fadd => "FADD",
            Fmul => "FMUL",
            Fsubflr => "FSUBFLR",
            Fexp => "FEXP",
            Flog => "FLOG",
        }
    }
}

/// One half of a dual word.
#[derive(Clone, Debug)]
pub struct Half {
    /// Operation.
    pub op: DualOp,
    /// Destination.
    pub dest: Reg,
    /// Lanes written.
    pub mask: u8,
    /// Sources.
    pub src: Vec<Src>,
}

/// A dual word.
#[derive(Clone, Debug)]
pub struct Dual {
    /// Predicate code (P2V).
    pub pred: u64,
    /// Whether unified operands are f16.
    pub f16: bool,
    /// Whether vectors have four lanes.
    pub four: bool,
    /// Both operations.
    pub halves: [Half; 2],
}

#[derive(Clone, Copy)]
enum Slot {
    U,
    I0,
    I1,
    I2,
}
use Slot::*;

/// Operands of the first operation by its number of sources and the source configuration.
fn first(n: usize, config: u64) -> Option<&'static [Slot]> {
    Some(match (n, config) {
        (1, 0) => &[U],
        (1, 1) => &[I0],
        (1, 2) => &[I1],
        (1, 3) => &[I2],
        (2, 0) => &[U, I1],
        (2, 1) => &[I0, U],
        (2, 2) => &[I0, I1],
        (3, 0) => &[U, I1, I2],
        (3, 1) => &[I0, U, I2],
        (3, 2) => &[I0, I1, U],
        (3, 3) => &[I0, I1, I2],
        _ => return None,
    })
}

/// Operands of the second operation.
fn second(a: usize, b: usize, config: u64) -> Option<&'static [Slot]> {
    Some(match (a, b, config) {
        (1, 1, 0) => &[I0],
        (1, 1, _) => &[U],
        (1, 2, 0) => &[I0, I1],
        (1, 2, 1) => &[U, I1],
        (1, 2, 2) => &[I0, U],
        (1, 2, 3) => &[I1, U],
        (1, 3, 0) => &[I0, I1, I2],
        (1, 3, 1) => &[U, I1, I2],
        (1, 3, 2) => &[I0, U, I2],
        (1, 3, 3) => &[I0, U, I1],
        (2, 1, 0) => &[I0],
        (2, 1, 1) => &[I1],
        (2, 1, 2) => &[U],
        (2, 2, 0) => &[I0, I2],
        (2, 2, 1) => &[I1, I2],
        (2, 2, 2) => &[I2, U],
        (3, 1, 0) => &[I0],
        (3, 1, 1) => &[I1],
        (3, 1, 2) => &[I2],
        (3, 1, 3) => &[U],
        _ => return None,
    })
}

/// Reads a dual word; `None` for combinations that do not exist.
pub fn decode(d: &Decoded) -> Option<Dual> {
    let f = |n| field(d, n);
    let four = f("comp_count_type") == 1;
    let x54 = f("dual_op1_ext_vec3_or_has_w_vec4");
    let op1 = *OPS.get((if !four && x54 == 1 { 8 } else { 0 } + f("dual_op1")) as usize)?;
    let op2 = *OPS.get((f("dual_op2_ext") * 8 + f("dual_op2")) as usize)?;
    if op2 == Vmad {
        return None;
    }
    let set = if four { &DUAL4 } else { &DUAL3 };
    let (b15, b14) = (f("gpi2_slot_num_bit_1"), f("gpi2_slot_num_bit_0_or_unified_store_abs"));
    let single = op1.sources() == 1;
    let config = f("src_config");
    let (s1, s2) = (first(op1.sources(), config)?, second(op1.sources(), op2.sources(), config)?);
    let slot = |s: &Slot, op: DualOp| match s {
        U => Src {
            reg: regs::read(BankTable::Plain, f("unified_store_slot_bank"), 0, f("unified_store_slot_num"), 7, op.is_vector()),
            sel: set[f("unified_store_swizz") as usize + if single && b15 == 1 { 16 } else { 0 }],
            neg: f("unified_store_neg") == 1,
            abs: single && b14 == 1,
        },
        I0 => Src::new(Reg::i(f("gpi0_slot_num") as u16)).sel(set[f("gpi0_swizz") as usize]),
        I1 => Src {
            neg: f("gpi1_neg") == 1,
            ..Src::new(Reg::i(f("gpi1_slot_num") as u16)).sel(set[(f("gpi1_swizz") + 16 * f("gpi1_swizz_ext")) as usize])
        },
        I2 => Src::new(Reg::i(if single { 2 } else { (b15 << 1 | b14) as u16 })).sel(IDENTITY),
    };
    let prim = if f("prim_ustore") == 1 { op1 } else { op2 };
    let unified = regs::read(BankTable::Dest, f("prim_dest_bank"), 0, f("prim_dest_num"), 7, prim.is_vector_store());
    let f16 = f("type_f16") == 1;
    let unified_mask = match (unified.bank == Bank::I, prim.is_vector_store(), f16) {
        (true, ..) => 7 | if four { 8 } else { 0 },
        (_, true, false) | (_, false, true) => 3,
        (_, true, true) => 15,
        (_, false, false) => 1,
    };
    let gpi_mask = f("write_mask_non_gpi") as u8 | if four && x54 == 1 { 8 } else { 0 };
    let gpi = Reg::i(f("prim_dest_num_gpi_case") as u16);
    let half = |op: DualOp, slots: &[Slot], first: bool| {
        let to_unified = first == (f("prim_ustore") == 1);
        Half {
            op,
            dest: if to_unified { unified } else { gpi },
            mask: if to_unified { unified_mask } else { gpi_mask },
            src: slots.iter().map(|s| slot(s, op)).collect(),
        }
    };
    Some(Dual { pred: f("sv_pred"), f16, four, halves: [half(op1, s1, true), half(op2, s2, false)] })
}
