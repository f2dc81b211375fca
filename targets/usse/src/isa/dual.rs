//! VDUAL: two operations in one word, whose operands depend on each other.
//!
//! Facts: the ISA sheet's section 9.

use crate::isa::forms::field;
use crate::isa::operands::{Encoding, Src, value};
use crate::isa::registers::{self, Bank, BankTable, Reg};
use crate::isa::swizzle::{DUAL3, DUAL4, HALF, IDENTITY, Swizzle, Wanted, ZERO};
use retroshade_emit::FieldName;
use retroshade_emit::form::Decoded;
use smallvec::{SmallVec, smallvec};

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
    /// The operation of a mnemonic.
    pub fn named(name: &str) -> Option<DualOp> {
        OPS.into_iter().find(|o| o.name() == name)
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

/// Lanes that a store through the destination of any bank covers.
fn stored(dest: Reg, op: DualOp, f16: bool, four: bool) -> u8 {
    match (dest.bank == Bank::I, op.is_vector_store(), f16) {
        (true, ..) => 7 | if four { 8 } else { 0 },
        (_, true, false) | (_, false, true) => 3,
        (_, true, true) => 15,
        (_, false, false) => 1,
    }
}

/// Reads a dual word; `None` for combinations that do not exist.
pub fn decode(d: &Decoded) -> Option<Dual> {
    let f = |n: FieldName| value(d, n);
    let four = f(field!(comp_count_type)) == 1;
    let x54 = f(field!(dual_op1_ext_vec3_or_has_w_vec4));
    let op1 = *OPS.get((if !four && x54 == 1 { 8 } else { 0 } + f(field!(dual_op1))) as usize)?;
    let op2 = *OPS.get((f(field!(dual_op2_ext)) * 8 + f(field!(dual_op2))) as usize)?;
    if op2 == Vmad {
        return None;
    }
    let set = if four { &DUAL4 } else { &DUAL3 };
    let (b15, b14) = (f(field!(gpi2_slot_num_bit_1)), f(field!(gpi2_slot_num_bit_0_or_unified_store_abs)));
    let single = op1.sources() == 1;
    let config = f(field!(src_config));
    let (s1, s2) = (first(op1.sources(), config)?, second(op1.sources(), op2.sources(), config)?);
    let slot = |s: &Slot, op: DualOp| match s {
        U => Src {
            reg: registers::read(
                BankTable::Plain,
                f(field!(unified_store_slot_bank)),
                0,
                f(field!(unified_store_slot_num)),
                7,
                op.is_vector(),
            ),
            sel: set[f(field!(unified_store_swizz)) as usize + if single && b15 == 1 { 16 } else { 0 }],
            neg: f(field!(unified_store_neg)) == 1,
            abs: single && b14 == 1,
        },
        I0 => Src::new(Reg::i(f(field!(gpi0_slot_num)) as u16)).sel(set[f(field!(gpi0_swizz)) as usize]),
        I1 => Src {
            neg: f(field!(gpi1_neg)) == 1,
            ..Src::new(Reg::i(f(field!(gpi1_slot_num)) as u16)).sel(set[(f(field!(gpi1_swizz)) + 16 * f(field!(gpi1_swizz_ext))) as usize])
        },
        I2 => Src::new(Reg::i(if single { 2 } else { (b15 << 1 | b14) as u16 })).sel(IDENTITY),
    };
    let prim = if f(field!(prim_ustore)) == 1 { op1 } else { op2 };
    let unified = registers::read(BankTable::Dest, f(field!(prim_dest_bank)), 0, f(field!(prim_dest_num)), 7, prim.is_vector_store());
    let f16 = f(field!(type_f16)) == 1;
    let unified_mask = stored(unified, prim, f16, four);
    let gpi_mask = f(field!(write_mask_non_gpi)) as u8 | if four && x54 == 1 { 8 } else { 0 };
    let gpi = Reg::i(f(field!(prim_dest_num_gpi_case)) as u16);
    let half = |op: DualOp, slots: &[Slot], first: bool| {
        let to_unified = first == (f(field!(prim_ustore)) == 1);
        Half {
            op,
            dest: if to_unified { unified } else { gpi },
            mask: if to_unified { unified_mask } else { gpi_mask },
            src: slots.iter().map(|s| slot(s, op)).collect(),
        }
    };
    Some(Dual { pred: f(field!(sv_pred)), f16, four, halves: [half(op1, s1, true), half(op2, s2, false)] })
}

/// A source of an operation that wants to share a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The register; `None` where every lane is a constant of the swizzle sets.
    pub reg: Option<Reg>,
    /// What each lane that is read takes.
    pub lanes: Wanted,
    /// Negated, after the absolute value.
    pub neg: bool,
    /// Absolute value.
    pub abs: bool,
}

/// An operation that wants to share a word.
#[derive(Clone, Debug)]
pub struct Wish {
    /// What.
    pub op: DualOp,
    /// Where to; a scalar operation names the very register.
    pub dest: Reg,
    /// Lanes that must be written.
    pub mask: u8,
    /// Lanes that may be written too, since nobody reads what they hold.
    pub spare: u8,
    /// Sources.
    pub src: Vec<Operand>,
    /// Lanes that a dot product reads.
    pub lanes: usize,
}

/// Whether there may be a word that does both: one of them stores inside, and one source at most stands outside internal registers.
pub fn may_share(a: &Wish, b: &Wish) -> bool {
    let inside = |w: &Wish| w.dest.bank == Bank::I;
    let outside = |w: &Wish| w.src.iter().filter(|s| s.reg.is_some_and(|r| r.bank != Bank::I)).count();
    (inside(a) || inside(b)) && outside(a) + outside(b) <= 1
}

/// The fields of a word that does both, if there is one. The operations must not write what the other one writes.
pub fn encode(a: &Wish, b: &Wish) -> Option<Encoding> {
    if !may_share(a, b) {
        return None;
    }
    for (x, y) in [(a, b), (b, a)] {
        for four in [false, true] {
            for to_unified in [0usize, 1] {
                if let Some(e) = ordered([x, y], four, false, to_unified) {
                    return Some(e);
                }
            }
        }
    }
    None
}

/// A word whose first operation is `w[0]`; `w[unified]` takes the destination that can be any bank, whose type is `f16`.
pub fn ordered(w: [&Wish; 2], four: bool, f16: bool, unified: usize) -> Option<Encoding> {
    let code = |op: DualOp| OPS.iter().position(|o| *o == op).map(|n| n as u64);
    let (op1, op2) = (code(w[0].op)?, code(w[1].op)?);
    // Four lanes leave the first operation half of the list; the second one is never a vector multiply-add.
    if (four && op1 > 7) || w[1].op == Vmad {
        return None;
    }
    let (any, gpi) = (w[unified], w[1 - unified]);
    let full = if four { 15 } else { 7 };
    if w.iter().any(|w| matches!(w.op, Vdp | Vssq) && w.lanes != if four { 4 } else { 3 }) {
        return None;
    }
    // Internal destination: a mask of its own.
    if gpi.dest.bank != Bank::I || gpi.dest.n > 2 || gpi.mask & !full != 0 {
        return None;
    }
    let written = stored(any.dest, any.op, f16, four);
    if any.mask & !written != 0 || written & !(any.mask | any.spare) != 0 || (any.dest.bank == Bank::I && any.dest == gpi.dest) {
        return None;
    }
    let (bank, _, number) = registers::write(BankTable::Dest, false, any.dest, 7, any.op.is_vector_store())?;
    let mut e = sources(w, four, written, unified)?;
    e.extend([
        (field!(comp_count_type), four as u64),
        (field!(type_f16), f16 as u64),
        (field!(dual_op1_ext_vec3_or_has_w_vec4), if four { gpi.mask as u64 >> 3 } else { op1 >> 3 }),
        (field!(dual_op1), op1 & 7),
        (field!(dual_op2_ext), op2 >> 3),
        (field!(dual_op2), op2 & 7),
        (field!(prim_ustore), (unified == 0) as u64),
        (field!(prim_dest_bank), bank),
        (field!(prim_dest_num), number),
        (field!(prim_dest_num_gpi_case), gpi.dest.n as u64),
        (field!(write_mask_non_gpi), gpi.mask as u64 & 7),
    ]);
    Some(e)
}

/// The fields of both operations' sources; `w[unified]` writes the lanes `written`.
fn sources(w: [&Wish; 2], four: bool, written: u8, unified: usize) -> Option<Encoding> {
    let lanes = |n: usize| match w[n].op {
        Vdp | Vssq => {
            if four {
                15
            } else {
                7
            }
        }
        op if op.is_vector_store() && n == unified => written,
        op if op.is_vector_store() => w[1 - unified].mask,
        _ => 1,
    };
    let (left, right) = (orders(w[0]), orders(w[1]));
    for (s1, s2) in left.iter().flat_map(|x| right.iter().map(move |y| (x, y))) {
        for config in 0..4 {
            let (n1, n2) = (w[0].op.sources(), w[1].op.sources());
            let (Some(a), Some(b)) = (first(n1, config), second(n1, n2, config)) else { continue };
            let used = a.iter().zip(s1).map(|(s, o)| (*s, *o, 0)).chain(b.iter().zip(s2).map(|(s, o)| (*s, *o, 1)));
            let parts: Option<SmallVec<[Encoding; 4]>> = used.map(|(s, o, n)| slot(s, &o, w[n].op, lanes(n), four, n1 == 1)).collect();
            if let Some(parts) = parts {
                let mut e: Encoding = parts.into_iter().flatten().collect();
                e.push((field!(src_config), config));
                return Some(e);
            }
        }
    }
    None
}

/// Orders of an operation's sources that give the same result; a sign moves between factors.
fn orders(w: &Wish) -> Vec<Vec<Operand>> {
    let s = &w.src;
    let mut out = match w.op {
        Vmad | Fmad => vec![vec![s[0], s[1], s[2]], vec![s[1], s[0], s[2]]],
        Vdp | Vmul | Vadd | Fadd | Fmul => vec![vec![s[0], s[1]], vec![s[1], s[0]]],
        _ => vec![s.clone()],
    };
    if matches!(w.op, Vmad | Fmad | Vdp | Vmul | Fmul) && !s[0].abs && !s[1].abs && (s[0].neg || s[1].neg) {
        let flip = |o: Operand| Operand { neg: !o.neg, ..o };
        let more: Vec<_> = out.iter().map(|v| v.iter().enumerate().map(|(k, o)| if k < 2 { flip(*o) } else { *o }).collect()).collect();
        out.extend(more);
    }
    out
}

/// The fields that make a slot this operand.
fn slot(s: Slot, o: &Operand, op: DualOp, lanes: u8, four: bool, single: bool) -> Option<Encoding> {
    let set: &[Swizzle] = if four { &DUAL4 } else { &DUAL3 };
    // Lanes that are written for nothing may only read what the others read, since the rest may be lost.
    let wanted: Vec<u8> = o.lanes.iter().flatten().copied().collect();
    let good = |e: &Swizzle| {
        (0..4).all(|k| match o.lanes[k] {
            Some(l) => e[k] == l,
            None => lanes >> k & 1 == 0 || wanted.contains(&e[k]) || (ZERO..=HALF).contains(&e[k]),
        })
    };
    let find = |n: usize| set[..n].iter().position(good).map(|k| k as u64);
    let internal = || match o.reg {
        None => Some(0),
        Some(r) => (r.bank == Bank::I && r.n < 3).then_some(r.n as u64),
    };
    match s {
        I0 => {
            let n = internal()?;
            (!o.neg && !o.abs).then_some(())?;
            Some(smallvec![(field!(gpi0_slot_num), n), (field!(gpi0_swizz), find(16)?)])
        }
        I1 => {
            let (n, k) = (internal()?, find(32)?);
            (!o.abs).then_some(())?;
            Some(smallvec![
                (field!(gpi1_slot_num), n),
                (field!(gpi1_swizz), k & 15),
                (field!(gpi1_swizz_ext), k >> 4),
                (field!(gpi1_neg), o.neg as u64),
            ])
        }
        I2 => {
            let n = internal()?;
            if o.neg || o.abs || o.reg.is_none() || !good(&IDENTITY) || (single && n != 2) {
                return None;
            }
            Some(if single {
                Encoding::new()
            } else {
                smallvec![(field!(gpi2_slot_num_bit_1), n >> 1), (field!(gpi2_slot_num_bit_0_or_unified_store_abs), n & 1)]
            })
        }
        U => {
            let k = find(if single { 32 } else { 16 })?;
            if o.abs && !single {
                return None;
            }
            let reg = o.reg.unwrap_or(Reg::r(0));
            let (bank, _, n) = registers::write(BankTable::Plain, false, reg, 7, op.is_vector())?;
            let mut e: Encoding = smallvec![
                (field!(unified_store_slot_bank), bank),
                (field!(unified_store_slot_num), n),
                (field!(unified_store_swizz), k & 15),
                (field!(unified_store_neg), o.neg as u64),
            ];
            if single {
                e.extend([(field!(gpi2_slot_num_bit_1), k >> 4), (field!(gpi2_slot_num_bit_0_or_unified_store_abs), o.abs as u64)]);
            }
            Some(e)
        }
    }
}
