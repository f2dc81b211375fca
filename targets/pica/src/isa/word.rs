//! Instructions as values: what the assembler, the disassembler, the simulator and the code generator share.
//!
//! An [`Instr`] carries its own swizzles, negations and mask; [`encode`] splits them into the word and the operand
//! descriptor, [`decode`] joins them again. Facts: ISA sheet sections 3, 5 and 6.

use crate::isa::forms::{CODE, FORMS, Format, OPERAND, OPERANDS, Op, TABLE, field, sources, word};
use crate::isa::registers::{Index, Reg, Src};
use retroshade_emit::FieldName;
use retroshade_emit::form::{EncodeError, FormId, Word};
use thiserror::Error;

/// How the two condition flags are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CondOp {
    /// Either flag as wanted.
    #[default]
    Or,
    /// Both flags as wanted.
    And,
    /// Only cmp.x.
    X,
    /// Only cmp.y.
    Y,
}

/// A condition on the flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cond {
    /// Which flags count.
    pub op: CondOp,
    /// Wanted value of cmp.x.
    pub x: bool,
    /// Wanted value of cmp.y.
    pub y: bool,
}

impl Cond {
    /// Flag x (0) or y (1) with a wanted value.
    pub const fn flag(n: u8, want: bool) -> Cond {
        if n == 0 { Cond { op: CondOp::X, x: want, y: true } } else { Cond { op: CondOp::Y, x: true, y: want } }
    }
    /// The condition that holds exactly when this one does not.
    pub const fn not(self) -> Cond {
        match self.op {
            CondOp::Or => Cond { op: CondOp::And, x: !self.x, y: !self.y },
            CondOp::And => Cond { op: CondOp::Or, x: !self.x, y: !self.y },
            CondOp::X => Cond { x: !self.x, ..self },
            CondOp::Y => Cond { y: !self.y, ..self },
        }
    }
    /// Flags with which it holds, or does not.
    pub const fn flags(self, holds: bool) -> [bool; 2] {
        [self.x == holds, self.y == holds]
    }
    /// Whether it holds.
    pub const fn holds(self, x: bool, y: bool) -> bool {
        match self.op {
            CondOp::Or => x == self.x || y == self.y,
            CondOp::And => x == self.x && y == self.y,
            CondOp::X => x == self.x,
            CondOp::Y => y == self.y,
        }
    }
}

/// One instruction. Fields that the operation does not have keep their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instr {
    /// Operation.
    pub op: Op,
    /// Destination.
    pub dst: Reg,
    /// Write mask, bit 0 = x; for `mova` the address registers.
    pub mask: u8,
    /// Sources.
    pub src: [Src; 3],
    /// Comparison codes of `cmp`.
    pub cmp: [u8; 2],
    /// Condition of the flow instructions.
    pub cond: Cond,
    /// Boolean or integer uniform.
    pub uniform: u8,
    /// Target word.
    pub target: u16,
    /// Length; for `jmpu` bit 0 means "if false".
    pub num: u8,
    /// `setemit`: vertex, primitive flag, winding flag.
    pub emit: (u8, bool, bool),
}

impl Instr {
    /// An instruction with defaults.
    pub const fn new(op: Op) -> Instr {
        Instr {
            op,
            dst: Reg::O(0),
            mask: 0,
            src: [Src::new(Reg::V(0)); 3],
            cmp: [0; 2],
            cond: Cond { op: CondOp::Or, x: false, y: false },
            uniform: 0,
            target: 0,
            num: 0,
            emit: (0, false, false),
        }
    }
    /// An arithmetic instruction.
    pub fn alu(op: Op, dst: Reg, mask: u8, src: &[Src]) -> Instr {
        let mut i = Instr { dst, mask, ..Instr::new(op) };
        i.src[..src.len()].copy_from_slice(src);
        i
    }
    /// The sources that exist.
    pub fn sources(&self) -> &[Src] {
        &self.src[..sources(self.op)]
    }
    /// Whether the word has a descriptor.
    pub fn has_descriptor(&self) -> bool {
        sources(self.op) > 0
    }
    /// Whether a destination register is written.
    pub fn writes_register(&self) -> bool {
        self.has_descriptor() && !matches!(self.op, Op::Cmp | Op::Mova)
    }
    /// Which result components of source `n` are looked at (bit 0 = x), before the swizzle is applied.
    pub fn source_lanes(&self, n: usize) -> u8 {
        match (self.op, n) {
            (Op::Dp3, _) | (Op::Dph, 0) => 0b0111,
            (Op::Dp4, _) | (Op::Dph, _) => 0b1111,
            (Op::Dst, 0) => self.mask & 0b0110,
            (Op::Dst, _) => self.mask & 0b1010,
            (Op::Rcp | Op::Rsq | Op::Ex2 | Op::Lg2, _) => 0b0001,
            (Op::Litp, _) => self.mask | 0b1001,
            (Op::Mova, _) => self.mask & 0b0011,
            (Op::Cmp, _) => 0b0011,
            _ => self.mask,
        }
    }
}

/// Why an instruction cannot be written as a word.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstrError {
    /// A field is too small.
    #[error(transparent)]
    Field(#[from] EncodeError),
    /// The destination cannot be written.
    #[error("{0} cannot be written")]
    Destination(Reg),
    /// The source cannot be read.
    #[error("{0} cannot be read")]
    Source(Reg),
    /// A float uniform where only the narrow field is.
    #[error("source {0} of this instruction cannot be a float uniform")]
    NarrowUniform(usize),
    /// More than one float uniform.
    #[error("an instruction can read only one float uniform")]
    TwoUniforms,
    /// Two different inputs.
    #[error("an instruction can read only one input register")]
    TwoInputs,
    /// An index on something that is not a float uniform.
    #[error("only float uniforms can be indexed")]
    Index,
    /// No such form.
    #[error("the word is not an instruction")]
    NoForm,
}

/// An encoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The word, with descriptor index 0.
    pub word: u32,
    /// The descriptor and the bits of it that this instruction looks at.
    pub desc: Option<Pattern>,
}

/// A descriptor with don't-care bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern {
    /// The bits; 0 where they do not matter.
    pub value: u32,
    /// 1 where a bit matters.
    pub care: u32,
    /// Whether only the first 32 entries can be named (mad).
    pub low: bool,
}

const SEL: [FieldName; 3] = [field!(SEL1), field!(SEL2), field!(SEL3)];
const NEG: [FieldName; 3] = [field!(NEG1), field!(NEG2), field!(NEG3)];
const SRC: [FieldName; 3] = [field!(SRC1), field!(SRC2), field!(SRC3)];

/// Mask with bit 0 = x to the descriptor's order (bit 3 = x), and back.
pub fn reverse_mask(m: u8) -> u8 {
    (m & 1) << 3 | (m & 2) << 1 | (m & 4) >> 1 | (m & 8) >> 3
}

fn selector(swz: [u8; 4]) -> u64 {
    swz.iter().fold(0, |s, c| s << 2 | (*c as u64 & 3))
}

fn unselector(s: u64) -> [u8; 4] {
    [(s >> 6 & 3) as u8, (s >> 4 & 3) as u8, (s >> 2 & 3) as u8, (s & 3) as u8]
}

/// Selector bits of the result components in `lanes`.
fn selector_care(lanes: u8) -> u64 {
    (0..4).filter(|i| lanes >> i & 1 == 1).fold(0, |m, i| m | 3 << (6 - 2 * i))
}

/// The form that fits the instruction's operands.
fn choose(i: &Instr) -> Result<FormId, InstrError> {
    let wide: Vec<usize> = i.sources().iter().enumerate().filter(|(_, s)| s.reg.is_uniform()).map(|(n, _)| n).collect();
    if wide.len() > 1 {
        return Err(InstrError::TwoUniforms);
    }
    let want = match (i.op, wide.first()) {
        (Op::Mad, Some(2)) => Some(Format::F5i),
        (Op::Mad, Some(0)) => return Err(InstrError::NarrowUniform(1)),
        (Op::Mad, _) => Some(Format::F5),
        (Op::Dph | Op::Dst | Op::Sge | Op::Slt, Some(1)) => Some(Format::F1i),
        (Op::Dph | Op::Dst | Op::Sge | Op::Slt, _) => Some(Format::F1),
        (_, Some(1)) => return Err(InstrError::NarrowUniform(2)),
        _ => None,
    };
    let found = TABLE.forms.iter().position(|f| f.ext.op == i.op && want.is_none_or(|w| f.ext.format == w));
    found.map(|n| FormId(n as u16)).ok_or(InstrError::NoForm)
}

/// Encodes an instruction in its canonical form.
pub fn encode(i: &Instr) -> Result<Encoded, InstrError> {
    let desc = descriptor(i);
    Ok(Encoded { word: encode_with(i, 0)?, desc })
}

/// The word of an instruction that names a descriptor, which those without one ignore.
pub fn encode_with(i: &Instr, descriptor: u8) -> Result<u32, InstrError> {
    let id = choose(i)?;
    let mut w = Word::new(FORMS, id, &[]);
    let mut set = |field: FieldName, value: u64| TABLE.set(&mut w, field, value);
    match TABLE.form(id).ext.format {
        Format::F2 => {
            // A call without condition has none of its fields set.
            if i.op != Op::Call {
                set(field!(REFX), i.cond.x as u64)?;
                set(field!(REFY), i.cond.y as u64)?;
                set(field!(CONDOP), i.cond.op as u64)?;
            }
            set(field!(DST), i.target as u64)?;
            set(field!(NUM), i.num as u64)?;
        }
        Format::F3 => {
            set(field!(UNIFORM), i.uniform as u64)?;
            set(field!(DST), i.target as u64)?;
            set(field!(NUM), i.num as u64)?;
        }
        Format::F4 => {
            set(field!(VTXID), i.emit.0 as u64)?;
            set(field!(PRIM), i.emit.1 as u64)?;
            set(field!(INV), i.emit.2 as u64)?;
        }
        _ => {}
    }
    if i.has_descriptor() {
        let mut input = None;
        let mut index = Index::None;
        for (n, s) in i.sources().iter().enumerate() {
            set(SRC[n], s.reg.src_field().ok_or(InstrError::Source(s.reg))?)?;
            if let Reg::V(k) = s.reg
                && input.replace(k).is_some_and(|old| old != k)
            {
                return Err(InstrError::TwoInputs);
            }
            if s.index != Index::None {
                if !s.reg.is_uniform() {
                    return Err(InstrError::Index);
                }
                index = s.index;
            }
        }
        set(field!(IDX), index.field())?;
        match i.op {
            Op::Cmp => {
                set(field!(CMPX), i.cmp[0] as u64)?;
                set(field!(CMPY), i.cmp[1] as u64)?;
            }
            Op::Mova => set(field!(DST), 0)?,
            _ => set(field!(DST), i.dst.dst_field().ok_or(InstrError::Destination(i.dst))?)?,
        }
        set(field!(DESC), descriptor as u64)?;
    }
    Ok(TABLE.encode_word(&w)? as u32)
}

/// The descriptor that an instruction needs, if it has one.
pub fn descriptor(i: &Instr) -> Option<Pattern> {
    i.has_descriptor().then(|| pattern(i))
}

fn pattern(i: &Instr) -> Pattern {
    // Asked for each instruction of each program that is compared: the fields are put where they belong, without a list of them.
    let form = TABLE.form(OPERANDS);
    let mut out = Pattern { value: form.bits as u32, care: form.bits as u32, low: i.op == Op::Mad };
    let mut put = |name: FieldName, value: u64, care: u64| {
        if let Some(f) = TABLE.position(OPERANDS, name).and_then(|at| form.field(at)) {
            out.value |= f.put(value) as u32;
            out.care |= f.put(care) as u32;
        }
    };
    if i.op != Op::Cmp {
        put(field!(MASK), reverse_mask(i.mask) as u64, 15);
    }
    for (n, s) in i.sources().iter().enumerate() {
        let lanes = selector_care(i.source_lanes(n));
        put(SEL[n], selector(s.swz) & lanes, lanes);
        put(NEG[n], s.neg as u64, 1);
    }
    out
}

/// The descriptor as an assembler writes it that shares nothing: every selector of the present sources filled in.
pub fn full_descriptor(i: &Instr) -> Result<u32, InstrError> {
    let mut value = word!(OPERANDS {});
    if i.op != Op::Cmp {
        value[field!(OPERANDS.MASK)] = reverse_mask(i.mask) as u64;
    }
    for (n, s) in i.sources().iter().enumerate() {
        TABLE.set(&mut value, SEL[n], selector(s.swz))?;
        TABLE.set(&mut value, NEG[n], s.neg as u64)?;
    }
    Ok(TABLE.encode_word(&value)? as u32)
}

/// Gives selector pairs that nobody looks at the value that reads best: identity if all others are, else the neighbour's.
pub fn fill_selectors(value: u32, care: u32) -> u32 {
    let (Some(v), Some(c)) = (TABLE.decode(OPERAND, 4, value as u128), TABLE.decode(OPERAND, 4, care as u128)) else { return value };
    let mut out = v.clone();
    for name in SEL {
        let (Some(sel), Some(used)) = (TABLE.get(&v, name), TABLE.get(&c, name)) else { continue };
        let (mut sel, used) = (unselector(sel), unselector(used));
        let fixed = |k: usize| used[k] != 0;
        if !(0..4).any(fixed) {
            continue;
        }
        if (0..4).all(|k| !fixed(k) || sel[k] == k as u8) {
            sel = crate::isa::registers::IDENTITY;
        } else {
            let mut last = (0..4).find(|k| fixed(*k)).map_or(0, |k| sel[k]);
            for (k, s) in sel.iter_mut().enumerate() {
                if used[k] != 0 { last = *s } else { *s = last }
            }
        }
        if TABLE.set(&mut out, name, selector(sel)).is_err() {
            return value;
        }
    }
    TABLE.encode_word(&out).map_or(value, |w| w as u32)
}

/// The descriptor index that a word names, if it has one.
pub fn descriptor_index(word: u32) -> Option<u8> {
    let d = TABLE.decode(CODE, 4, word as u128)?;
    TABLE.get(&d, field!(DESC)).map(|v| v as u8)
}

/// Decodes a word with its descriptor (0 where it has none).
pub fn decode(word: u32, desc: u32) -> Result<Instr, InstrError> {
    let d = TABLE.decode(CODE, 4, word as u128).ok_or(InstrError::NoForm)?;
    let form = TABLE.form(d.form);
    let get = |d: &Word, n: FieldName| TABLE.get(d, n).unwrap_or(0);
    let mut i = Instr::new(form.ext.op);
    match form.ext.format {
        Format::F2 => {
            let op = [CondOp::Or, CondOp::And, CondOp::X, CondOp::Y][(get(&d, field!(CONDOP)) & 3) as usize];
            i.cond = Cond { op, x: get(&d, field!(REFX)) == 1, y: get(&d, field!(REFY)) == 1 };
            (i.target, i.num) = (get(&d, field!(DST)) as u16, get(&d, field!(NUM)) as u8);
        }
        Format::F3 => {
            (i.uniform, i.target, i.num) = (get(&d, field!(UNIFORM)) as u8, get(&d, field!(DST)) as u16, get(&d, field!(NUM)) as u8);
        }
        Format::F4 => i.emit = (get(&d, field!(VTXID)) as u8, get(&d, field!(PRIM)) == 1, get(&d, field!(INV)) == 1),
        _ => {}
    }
    if i.has_descriptor() {
        let o = TABLE.decode(OPERAND, 4, desc as u128).ok_or(InstrError::NoForm)?;
        i.mask = reverse_mask(get(&o, field!(MASK)) as u8);
        i.dst = Reg::from_dst(get(&d, field!(DST)));
        if i.op == Op::Cmp {
            i.cmp = [get(&d, field!(CMPX)) as u8, get(&d, field!(CMPY)) as u8];
        }
        let index = Index::from_field(get(&d, field!(IDX)));
        for n in 0..sources(i.op) {
            let reg = Reg::from_src(get(&d, SRC[n]));
            let index = if reg.is_uniform() { index } else { Index::None };
            i.src[n] = Src { reg, index, neg: get(&o, NEG[n]) == 1, swz: unselector(get(&o, SEL[n])) };
        }
    }
    Ok(i)
}
