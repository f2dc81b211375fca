//! Micro-operations: what a decoded word does, iteration by iteration, for the simulator.
//!
//! Facts: the ISA sheet's sections 8 to 16. Operands come from the operand tables; nothing here knows a bit position.

use crate::isa::dual::{self, DualOp};
use crate::isa::forms::{
    BR, DEPTHF, EMIT, I8MAD, I16MAD, I32MAD, I32MAD2, KILL, LIMM, NOP, PHAS, SMBO, SMLSI, SMP, SOP2, SOP2M, SOP3, TABLE, V16NMAD, V32NMAD,
    VBW, VCOMP, VDP, VDUAL, VLDST, VMAD, VMAD2, VMOV, VPCK, VTST, VTSTMSK, WDF, branch_offset, field,
};
use crate::isa::immediate;
use crate::isa::names;
use crate::isa::operands::Role::{self, *};
use crate::isa::operands::{Src, doubled, is_unified, operand, read_operand, value};
use crate::isa::registers::{Bank, Reg};
use crate::isa::text::{pack_selectors, pair_mask, predicate, repeats};
use retroshade_emit::FieldName;
use retroshade_emit::form::Decoded;
use retroshade_emit::form::FormId;
use retroshade_ir::{Opcode, Scalar};

/// What an operation does to the flow of control and to internal registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Goes on.
    Next,
    /// Goes on; internal registers are lost.
    Clobber,
    /// Branches by this many instructions if the predicate holds.
    Branch(i32),
}

/// A texture read.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Coordinates.
    pub dims: u8,
    /// Their type.
    pub coord: Scalar,
    /// 0 implicit, 1 bias, 2 level, 3 gradients.
    pub lod: u8,
}

/// An integer operation on whole registers.
#[derive(Clone, Debug)]
pub struct IntOp {
    form: FormId,
    word: Decoded,
}

impl IntOp {
    /// Computes it; `old` is what the destination holds.
    pub fn eval(&self, a: [u32; 3], old: u32) -> u32 {
        let f = |n: FieldName| value(&self.word, n);
        let half = |v: u32, high: FieldName, signed: bool| {
            let h = if f(high) == 1 { v >> 16 } else { v & 0xffff };
            if signed { h as u16 as i16 as i32 as u32 } else { h }
        };
        match self.form {
            VBW => {
                let immediate = operand(VBW, Src2).is_some_and(|o| read_operand(&self.word, o).reg.bank == Bank::Imm);
                let b = if immediate { immediate::bitwise(&self.word) } else { immediate::bitwise_source(&self.word, a[1]) };
                let x = a[0];
                let r = match names::bitwise(f(field!(op1)), f(field!(op2))) {
                    "AND" => x & b,
                    "OR" => x | b,
                    "XOR" => x ^ b,
                    "SHL" => x.wrapping_shl(b),
                    "ROL" => x.rotate_left(b & 31),
                    "SHR" => x.wrapping_shr(b),
                    "ASR" => (x as i32).wrapping_shr(b) as u32,
                    _ => x,
                };
                if f(field!(bitwise_partial)) == 1 { old & 0xffff_0000 | r & 0xffff } else { r }
            }
            I32MAD => {
                let signed = f(field!(is_signed)) == 1;
                let c = if f(field!(src2_type)) == 2 { a[2] } else { half(a[2], field!(src2_high), signed) };
                half(a[0], field!(src0_high), signed).wrapping_mul(half(a[1], field!(src1_high), signed)).wrapping_add(c)
            }
            I32MAD2 => a[0].wrapping_mul(a[1]).wrapping_add(a[2]),
            I16MAD => {
                let signed = f(field!(mode)) >= 2;
                let part = |v: u32, fmt: FieldName, high: FieldName| match (f(fmt), f(high) == 1) {
                    (0, _) => v as u16 as u32,
                    (_, h) => {
                        let b = if h { v >> 8 } else { v } as u8;
                        if signed { b as i8 as i32 as u32 } else { b as u32 }
                    }
                };
                let r = (a[0] & 0xffff).wrapping_mul(part(a[1], field!(src1_format), field!(sel1h_upper8)));
                old & 0xffff_0000 | r.wrapping_add(part(a[2], field!(src2_format), field!(sel2h_upper8))) & 0xffff
            }
            SOP2M => {
                let bytes = |v: u32| v.to_le_bytes().map(|b| b as f32 / 255.0);
                let (x, y) = (bytes(a[0]), bytes(a[1]));
                let factor = |sel: u64, k: usize, one: u64| {
                    let v = match sel {
                        2 => x[k],
                        3 => x[3],
                        6 => y[k],
                        7 => y[3],
                        _ => 0.0,
                    };
                    if one == 1 { 1.0 - v } else { v }
                };
                let mut out = old.to_le_bytes();
                for (k, o) in out.iter_mut().enumerate() {
                    let bit = if k == 3 { 0 } else { k + 1 };
                    if f(field!(wmask)) >> bit & 1 == 1 {
                        let (p, q) =
                            (x[k] * factor(f(field!(sel1)), k, f(field!(mod1))), y[k] * factor(f(field!(sel2)), k, f(field!(mod2))));
                        let r = match if k == 3 { f(field!(aop)) } else { f(field!(cop)) } {
                            0 => p + q,
                            1 => p - q,
                            2 => p.min(q),
                            _ => p.max(q),
                        };
                        *o = libm::rintf(r.clamp(0.0, 1.0) * 255.0) as u8;
                    }
                }
                u32::from_le_bytes(out)
            }
            SOP2 | SOP3 => blend(self.form == SOP3, f, a),
            I8MAD => {
                let [x, y, z] = a.map(|v| v.to_le_bytes().map(i32::from));
                let mut out = [0u8; 4];
                for (k, o) in out.iter_mut().enumerate() {
                    // Colours may be replaced by the operand's alpha.
                    let of = |v: [i32; 4], alpha: FieldName| if k < 3 && f(alpha) == 1 { v[3] } else { v[k] };
                    let add = match (k == 3, f(field!(csel0)), f(field!(asel0))) {
                        (true, _, 0) => z[3],
                        (true, ..) => x[3],
                        (_, 0, _) => z[k],
                        (_, 1, _) => x[k],
                        (_, 2, _) => z[3],
                        _ => x[3],
                    };
                    let r = of(x, field!(csel1)) * of(y, field!(csel2)) + if f(field!(src0_neg)) == 1 { -add } else { add };
                    *o = if f(field!(saturated)) == 1 { r.clamp(0, 255) as u8 } else { r as u8 };
                }
                u32::from_le_bytes(out)
            }
            _ => old,
        }
    }
}

/// The fixed-point blends with two or three sources; `a` holds sources 1, 2 and 0. Values are fractions of 255.
fn blend(three: bool, f: impl Fn(FieldName) -> u64, a: [u32; 3]) -> u32 {
    let [x, y, z] = a.map(|v| v.to_le_bytes().map(|b| b as f32 / 255.0));
    // Factors of lane k; lane 3 is alpha.
    let factor = |sel: u64, k: usize| match (three, k == 3, sel) {
        (false, false, 1) => x[k],
        (false, false, 2) => y[k],
        (false, false, 3) | (false, true, 1) => x[3],
        (false, false, 4) | (false, true, 2) => y[3],
        (true, _, 2) => x[k],
        (true, _, 3) => x[3],
        (true, _, 4) => z[k],
        (true, _, 5) => z[3],
        (true, _, 6) => y[k],
        (true, _, 7) => y[3],
        _ => 0.0,
    };
    let first_alpha = |sel: u64| [0.0, z[3], x[3], y[3]][sel as usize & 3];
    let flip = |v: f32, one: u64| if one == 1 { 1.0 - v } else { v };
    let mut out = [0u8; 4];
    for (k, o) in out.iter_mut().enumerate() {
        let base = if three { x[k] } else { flip(x[k], f(field!(src1_mod))) };
        let (p, q, op) = match (k == 3, three) {
            (false, _) => {
                (flip(factor(f(field!(csel1)), k), f(field!(cmod1))), flip(factor(f(field!(csel2)), k), f(field!(cmod2))), f(field!(cop)))
            }
            (true, false) => {
                (flip(factor(f(field!(asel1)), 3), f(field!(amod1))), flip(factor(f(field!(asel2)), 3), f(field!(amod2))), f(field!(aop)))
            }
            (true, true) => {
                (flip(first_alpha(f(field!(asel1))), f(field!(amod1))), flip(factor(f(field!(csel2)), 3), f(field!(cmod2))), f(field!(aop)))
            }
        };
        let (p, q) = (base * p, y[k] * q);
        let r = match op {
            0 => p + q,
            1 => p - q,
            2 => p.min(q),
            _ => p.max(q),
        };
        *o = libm::rintf(r.clamp(0.0, 1.0) * 255.0) as u8;
    }
    u32::from_le_bytes(out)
}

/// What is computed.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Nothing.
    Nothing,
    /// A float operation lane by lane; dot products read the given number of lanes.
    Float(Opcode, u8),
    /// Two operations that read before either stores.
    Pair(Box<[Micro; 2]>),
    /// A move of floats, conditional on source 2: (test, by byte).
    FloatMove(Option<(u8, bool)>),
    /// A move of the low bits of a register.
    IntMove(Option<(u8, bool)>, u32),
    /// A conversion.
    Pack {
        /// Source format.
        from: u8,
        /// Destination format.
        to: u8,
        /// Normalised.
        scale: bool,
    },
    /// A test: (unit, operation); into a predicate or a mask.
    Test {
        /// Unit and operation.
        alu: (u8, u8),
        /// The predicate, if it goes there.
        to: Option<u8>,
    },
    /// An integer operation.
    Int(IntOp),
    /// A constant.
    Immediate(u32),
    /// Drops the pixel.
    Kill,
    /// Replaces the depth.
    Depth,
    /// A texture read.
    Sample(Sample),
    /// A memory load.
    Load {
        /// Bytes per element.
        bytes: u8,
        /// Elements.
        count: u16,
        /// Whether the address is used as it is.
        expand: bool,
    },
}

/// One iteration of one word.
#[derive(Clone, Debug)]
pub struct Micro {
    /// What.
    pub kind: Kind,
    /// Predicate and whether it is inverted.
    pub pred: Option<(u8, bool)>,
    /// Element type of the result.
    pub ty: Scalar,
    /// Element type of the sources.
    pub src_ty: Scalar,
    /// Destination.
    pub dst: Reg,
    /// Lanes written.
    pub mask: u8,
    /// Sources.
    pub src: Vec<Src>,
    /// Scalar operations read lane x for every lane; tests read lane x of source 2.
    pub scalar: bool,
    /// Sign test, zero test, both needed.
    pub tests: (u8, u8, bool),
    /// Kind of a mask result.
    pub mask_type: u8,
    /// Flow.
    pub flow: Flow,
    /// Whether this is a phase header.
    pub phase: bool,
}

impl Micro {
    fn new(kind: Kind) -> Micro {
        Micro {
            kind,
            pred: None,
            ty: Scalar::F32,
            src_ty: Scalar::F32,
            dst: Reg::r(0),
            mask: 1,
            src: Vec::new(),
            scalar: false,
            tests: (0, 0, false),
            mask_type: 0,
            flow: Flow::Next,
            phase: false,
        }
    }
    /// Whether it reads its neighbours.
    pub fn needs_quad(&self) -> bool {
        match &self.kind {
            Kind::Float(Opcode::Ddx | Opcode::Ddy, _) => true,
            Kind::Sample(s) => s.lod < 2,
            _ => false,
        }
    }
}

fn float(f16: bool) -> Scalar {
    if f16 { Scalar::F16 } else { Scalar::F32 }
}

/// How far an operand moves in the iterations of a repeated word, in units: the state that SMLSI sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// So far in each iteration.
    By(i8),
    /// Two bits for each of four iterations.
    Table(u8),
}

impl Advance {
    /// The state at a program's start.
    pub const START: [Advance; 4] = [Advance::By(1); 4];

    fn offset(self, k: i32) -> i32 {
        match self {
            Advance::By(n) => k * n as i32,
            Advance::Table(t) => (t as i32) >> (2 * (k & 3)) & 3,
        }
    }
}

/// Translates one word; `state` is the repeat state, which SMLSI changes.
pub fn translate(d: &Decoded, name: FormId, secondary: bool, state: &mut [Advance; 4]) -> Result<Vec<Micro>, String> {
    if name == SMLSI {
        let fields = [
            (field!(dest_inc), field!(dest_inc_mode)),
            (field!(src0_inc), field!(src0_inc_mode)),
            (field!(src1_inc), field!(src1_inc_mode)),
            (field!(src2_inc), field!(src2_inc_mode)),
        ];
        for (s, (inc, mode)) in state.iter_mut().zip(fields) {
            let byte = value(d, inc) as u8;
            *s = if value(d, mode) == 1 { Advance::Table(byte) } else { Advance::By(byte as i8) };
        }
        return Ok(vec![Micro::new(Kind::Nothing)]);
    }
    let count = repeats(d);
    let mut out = Vec::new();
    for k in 0..=count {
        let mut m = one(d, name, k, state)?;
        if secondary {
            to_attributes(&mut m);
        }
        out.push(m);
    }
    Ok(out)
}

/// In the secondary program both attribute banks are one file.
fn to_attributes(m: &mut Micro) {
    let fix = |r: &mut Reg| {
        if r.bank == Bank::Sa {
            r.bank = Bank::Pa;
        }
    };
    fix(&mut m.dst);
    m.src.iter_mut().for_each(|s| fix(&mut s.reg));
    if let Kind::Pair(p) = &mut m.kind {
        p.iter_mut().for_each(to_attributes);
    }
}

fn step(d: &Decoded, name: FormId, role: Role, reg: Reg, k: u16, state: &[Advance; 4]) -> i32 {
    let k = k as i32;
    // A word that does not repeat knows nothing of the state.
    if reg.bank == Bank::Imm || repeats(d) == 0 {
        return 0;
    }
    let by = state[match role {
        Dest => 0,
        Src0 => 1,
        Src1 => 2,
        Src2 => 3,
    }]
    .offset(k);
    if name == VMAD || name == VDP {
        let gpi = role == Src0 || role == Src2;
        if name == VDP && role == Dest {
            return 0;
        }
        return match (value(d, field!(repeat_mode)), gpi, reg.bank == Bank::I) {
            (0 | 2, false, false) => 4 * k,
            (1 | 2, true, _) | (1 | 2, false, true) => k,
            (3, false, false) if reg.bank == Bank::Const => by,
            (3, false, false) => 2 * by,
            _ => 0,
        };
    }
    let pairs = operand(name, role).is_some_and(|o| doubled(d, o)) && !(name == VPCK && role == Dest);
    if is_unified(reg.bank) && pairs { 2 * by } else { by }
}

fn one(d: &Decoded, name: FormId, k: u16, state: &[Advance; 4]) -> Result<Micro, String> {
    let f = |n: FieldName| value(d, n);
    let get = |role: Role| {
        let mut s = operand(name, role).map_or(Src::new(Reg::r(0)), |o| read_operand(d, o));
        s.reg.n = (s.reg.n as i32 + step(d, name, role, s.reg, k, state)).clamp(0, 0xffff) as u16;
        s
    };
    let mut m = Micro::new(Kind::Nothing);
    m.pred = match predicate(name, f(if name == VDUAL { field!(sv_pred) } else { field!(pred) })) {
        _ if matches!(name, NOP | WDF | EMIT | PHAS | SMBO) => None,
        "" => None,
        "pN" => return Err("the predicate pN is not modelled".to_string()),
        p => {
            let n = p.trim_start_matches(['!', 'p']).parse::<u8>().map_err(|e| e.to_string())?;
            Some((n, p.starts_with('!')))
        }
    };
    if operand(name, Dest).is_some() {
        m.dst = get(Dest).reg;
    }
    match name {
        VMAD2 => {
            m.ty = float(f(field!(dat_fmt)) == 1);
            m.mask = f(field!(dest_mask)) as u8;
            if m.ty == Scalar::F16 && m.dst.bank != Bank::I {
                m.mask = pair_mask(m.mask);
            }
            m.src = vec![get(Src0), get(Src1), get(Src2)];
            m.kind = Kind::Float(Opcode::Fmad, 0);
        }
        V32NMAD | V16NMAD => {
            m.ty = float(name == V16NMAD);
            m.mask = f(field!(dest_mask)) as u8;
            m.src = vec![get(Src1), get(Src2)];
            use Opcode::*;
            let op = [Fmul, Fadd, Ffract, Ddx, Ddy, Fmin, Fmax, Dot][f(field!(op2)) as usize];
            m.kind = Kind::Float(op, 4);
        }
        VMAD => {
            m.mask = f(field!(write_mask)) as u8;
            m.src = vec![get(Src0), get(Src1), get(Src2)];
            m.kind = Kind::Float(Opcode::Fmad, 0);
        }
        VDP => {
            let w = f(field!(write_mask)) as u8;
            m.mask = (w << k | w >> (4 - k)) & 15;
            m.src = vec![get(Src1), get(Src0)];
            m.kind = Kind::Float(Opcode::Dot, 3 + f(field!(opcode2)) as u8);
        }
        VDUAL => {
            let w = dual::decode(d).ok_or("no such pair of operations")?;
            let half = |h: &dual::Half| {
                let mut m = Micro::new(Kind::Nothing);
                m.dst = h.dest;
                m.mask = h.mask;
                m.src = h.src.clone();
                // Stores through the unified destination follow the element type; internal registers keep f32.
                m.ty = float(w.f16 && h.dest.bank != Bank::I);
                m.src_ty = m.ty;
                m.scalar = !h.op.is_vector();
                let op = match h.op {
                    DualOp::Vmad | DualOp::Fmad => Opcode::Fmad,
                    DualOp::Vdp | DualOp::Vssq => Opcode::Dot,
                    DualOp::Vmul | DualOp::Fmul => Opcode::Fmul,
                    DualOp::Vadd | DualOp::Fadd => Opcode::Fadd,
                    DualOp::Vmov => Opcode::Fcvt,
                    DualOp::Frsq => Opcode::Frsqrt,
                    DualOp::Frcp => Opcode::Frcp,
                    DualOp::Fsubflr => Opcode::Ffract,
                    DualOp::Fexp => Opcode::Fexp2,
                    DualOp::Flog => Opcode::Flog2,
                };
                if h.op == DualOp::Vssq {
                    m.src.push(h.src[0]);
                }
                m.kind = Kind::Float(op, if w.four { 4 } else { 3 });
                m
            };
            m.kind = Kind::Pair(Box::new([half(&w.halves[0]), half(&w.halves[1])]));
        }
        VCOMP => {
            let ty = |t: u64| match t {
                0 => Ok(Scalar::F32),
                1 => Ok(Scalar::F16),
                _ => Err("VCOMP on c10 is not modelled".to_string()),
            };
            m.ty = ty(f(field!(dest_type)))?;
            m.src_ty = ty(f(field!(src_type)))?;
            m.mask = f(field!(write_mask)) as u8;
            m.src = vec![get(Src1)];
            m.scalar = true;
            m.kind = Kind::Float([Opcode::Frcp, Opcode::Frsqrt, Opcode::Flog2, Opcode::Fexp2][f(field!(op2)) as usize], 0);
        }
        VMOV => {
            let cond = (f(field!(test_bit_2)) << 1 | f(field!(test_bit_1))) as u8;
            let cond = match f(field!(move_type)) {
                0 => None,
                1 => Some((cond, false)),
                2 => Some((cond, true)),
                _ => return Err("this move type does not exist".to_string()),
            };
            m.mask = f(field!(dest_mask)) as u8;
            let (mut s1, mut s2) = (get(Src1), get(Src2));
            s2.neg = false;
            match f(field!(move_data_type)) {
                t @ 0..=2 => m.kind = Kind::IntMove(cond, 8 << t),
                t @ (4 | 5) => {
                    m.ty = float(t == 4);
                    if t == 4 && m.dst.bank != Bank::I {
                        m.mask = pair_mask(m.mask);
                    }
                    m.kind = Kind::FloatMove(cond);
                }
                _ => return Err("moves of c10 are not modelled".to_string()),
            }
            s1.neg = false;
            m.src = if cond.is_some() { vec![s1, s2, get(Src0)] } else { vec![s1] };
        }
        VPCK => {
            let mut s1 = get(Src1);
            s1.sel = pack_selectors(d);
            m.src = vec![s1, get(Src2)];
            m.mask = f(field!(dest_mask)) as u8;
            m.kind = Kind::Pack { from: f(field!(src_fmt)) as u8, to: f(field!(dest_fmt)) as u8, scale: f(field!(scale)) == 1 };
        }
        VTST | VTSTMSK => {
            m.ty = float(f(field!(prec)) == 0);
            m.scalar = f(field!(src2_vscomp)) == 1;
            let mut s1 = get(Src1);
            if name == VTST {
                s1.sel = [(f(field!(chan_cc)) & 3) as u8; 4];
            }
            m.src = vec![s1, get(Src2)];
            m.tests = (f(field!(sign_test)) as u8, f(field!(zero_test)) as u8, f(field!(test_crcomb_and)) == 1);
            m.mask_type = f(field!(tst_mask_type)) as u8;
            let to = (name == VTST).then(|| f(field!(pdst_n)) as u8);
            m.kind = Kind::Test { alu: (f(field!(alu_sel)) as u8, f(field!(alu_op)) as u8), to };
        }
        SOP3 | I8MAD => {
            m.src = vec![get(Src1), get(Src2), get(Src0)];
            m.kind = Kind::Int(IntOp { form: name, word: d.clone() });
        }
        VBW | SOP2 | SOP2M => {
            m.src = vec![get(Src1), get(Src2)];
            m.kind = Kind::Int(IntOp { form: name, word: d.clone() });
        }
        I32MAD | I32MAD2 | I16MAD => {
            m.src = vec![get(Src0), get(Src1), get(Src2)];
            m.kind = Kind::Int(IntOp { form: name, word: d.clone() });
        }
        SMP => {
            if f(field!(sb_mode)) != 0 {
                return Err("only plain samples are modelled".to_string());
            }
            m.ty = float(f(field!(fconv_type)) == 2);
            m.dst = Reg::new(if f(field!(dest_use_pa)) == 1 { Bank::Pa } else { Bank::R }, f(field!(dest_n)) as u16);
            m.src = vec![get(Src0), get(Src1), get(Src2)];
            let coord = float(f(field!(src0_type)) == 1);
            m.kind = Kind::Sample(Sample { dims: f(field!(dim)) as u8 + 1, coord, lod: f(field!(lod_mode)) as u8 });
            m.flow = Flow::Clobber;
        }
        VLDST => {
            if f(field!(op1)) != 1 {
                return Err("stores to memory are not modelled".to_string());
            }
            m.dst = Reg::new(if f(field!(dest_bank_primattr)) == 1 { Bank::Pa } else { Bank::R }, f(field!(dest_n)) as u16);
            m.src = vec![get(Src0), get(Src1), get(Src2)];
            let bytes = [4, 2, 1, 4][f(field!(data_type)) as usize & 3];
            m.kind = Kind::Load { bytes, count: f(field!(mask_count)) as u16 + 1, expand: f(field!(moe_expand)) == 1 };
            m.flow = Flow::Clobber;
        }
        LIMM => {
            m.kind = Kind::Immediate(immediate::limm(d));
        }
        KILL => {
            m.kind = Kind::Kill;
            m.flow = Flow::Clobber;
        }
        DEPTHF => {
            m.src = vec![get(Src0)];
            m.kind = Kind::Depth;
            m.flow = Flow::Clobber;
        }
        BR => {
            if f(field!(br_type)) == 0 || f(field!(save_link)) == 1 {
                return Err("calls and absolute branches are not modelled".to_string());
            }
            m.flow = Flow::Branch(branch_offset(d) as i32);
        }
        NOP => m.flow = Flow::Clobber,
        WDF | EMIT => m.flow = Flow::Clobber,
        PHAS => {
            m.flow = Flow::Clobber;
            m.phase = true;
        }
        _ => return Err(format!("{} is not modelled", TABLE.form(name).name)),
    }
    if name != VCOMP {
        m.src_ty = m.ty;
    }
    Ok(m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::decode;
    use crate::isa::word::Word;
    use retroshade_ir::Span;

    #[test]
    fn a_table_says_where_each_iteration_goes() {
        let decoded = |form, fields| decode(Word::new(form, fields, Span::NONE).encode().unwrap()).unwrap();
        let mut state = Advance::START;
        let table = vec![(field!(dest_inc_mode), 1), (field!(dest_inc), 0b11_01_10_00), (field!(src1_inc), 1)];
        translate(&decoded(SMLSI, table), SMLSI, false, &mut state).unwrap();
        let fields = vec![(field!(move_data_type), 5), (field!(dest_mask), 3), (field!(repeat_count), 3), (field!(src1_bank_sel), 2)];
        let moves = translate(&decoded(VMOV, fields), VMOV, false, &mut state).unwrap();
        // Pairs of registers, four of them.
        assert_eq!(moves.iter().map(|m| m.dst.n).collect::<Vec<_>>(), [0, 4, 2, 6]);
        assert_eq!(moves.iter().map(|m| m.src[0].reg.n).collect::<Vec<_>>(), [0, 2, 4, 6]);
        // A word that does not repeat stays where it is.
        let once = vec![(field!(move_data_type), 5), (field!(dest_mask), 3), (field!(dest_n), 1)];
        assert_eq!(translate(&decoded(VMOV, once), VMOV, false, &mut state).unwrap()[0].dst.n, 2);
    }
}
