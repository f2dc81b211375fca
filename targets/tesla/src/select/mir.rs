//! Machine instructions over virtual registers: one flat shape for all, since the forms decide what may be combined.
//!
//! `mods` holds form fields (`neg1`, `sat`, `rel` …): the emitter copies them into whichever form it chooses, and
//! a form without such a field is simply not eligible.

use crate::isa::forms::{Access, Cond, Op, QuadLane, QuadOp};
use retroshade_emit::{FieldName, FieldValue};
use retroshade_ir::AtomicOp;
use retroshade_lower::{MachInst, OperandVisitor, PReg, Reg, RegClass};
use smallvec::SmallVec;
use std::fmt::Write;

/// Which part of a register an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All 32 bits.
    Full,
    /// Bits 15:0.
    Low,
    /// Bits 31:16.
    High,
}

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Src {
    /// Absent.
    None,
    /// A register.
    Reg(Reg, Part),
    /// Constant memory: space, byte offset; whether `$a` (the instruction's index) is added.
    C(u8, u32, bool),
    /// Vertex attribute, byte offset.
    A(u32),
    /// Geometry: attribute of the vertex whose address is in `$a`, byte offset.
    P(u32),
    /// Shared memory: operand type (0 u8, 1 u16, 2 s16, 3 b32), byte offset.
    S(u8, u32),
    /// A constant.
    Imm(u32),
}

impl Src {
    /// A full register.
    pub fn reg(r: Reg) -> Src {
        Src::Reg(r, Part::Full)
    }
}

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dst {
    /// Absent.
    None,
    /// A register.
    Reg(Reg),
    /// The low half of a register; its high half keeps garbage.
    Half(Reg),
    /// An output word, byte offset.
    Out(u32),
    /// Nowhere: only `$c` is wanted.
    Discard,
}

/// Where `$a` comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Index {
    /// No index.
    None,
    /// Register shifted left.
    Reg(Reg, u8),
    /// Geometry: the address of an input vertex, an attribute word.
    Vertex(u32),
}

/// A texture operation's parts.
#[derive(Clone, Debug, PartialEq)]
pub struct TexOp {
    /// First register of the block; `place::blocks` chooses it unless it is `pinned`.
    pub base: u8,
    /// Whether the texels are the fragment's results, which have their registers.
    pub pinned: bool,
    /// Arguments.
    pub args: SmallVec<[Reg; 4]>,
    /// Results, one per set mask bit.
    pub results: SmallVec<[Reg; 4]>,
    /// Result mask.
    pub mask: u8,
    /// Texture and sampler unit.
    pub unit: u8,
    /// Texel offsets.
    pub offset: [i8; 3],
    /// Cube coordinates.
    pub cube: bool,
    /// A `$c` with the lane's number in its quad: the level may differ, so that each lane samples alone.
    pub apart: Option<Reg>,
}

/// A load or store of two or four words; the address is a multiple of their size.
#[derive(Clone, Debug, PartialEq)]
pub struct Wide {
    /// Byte offset.
    pub off: u32,
    /// Global space.
    pub space: u8,
    /// First register, a multiple of their number: chosen by `place::blocks`.
    pub base: u8,
    /// What is loaded or stored.
    pub regs: SmallVec<[Reg; 4]>,
    /// Whether it is loaded.
    pub load: bool,
}

impl Wide {
    /// Its type.
    pub fn access(&self) -> Access {
        if self.regs.len() == 2 { Access::B64 } else { Access::B128 }
    }
}

/// An atomic operation on a word of s[]. Its sources are read in every round, after the old value has been loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    /// What becomes of the word.
    pub op: AtomicOp,
    /// Byte offset.
    pub off: u32,
    /// The new value.
    pub temp: Reg,
    /// Whether the lock was taken.
    pub taken: Reg,
    /// Compare and swap: whether the word is as expected.
    pub equal: Reg,
}

/// What does not fit the common shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Extra {
    /// Nothing.
    None,
    /// An address: byte offset, type, global space.
    Mem {
        /// Byte offset.
        off: u32,
        /// Type, where the instruction has a choice.
        ty: Access,
        /// Global space.
        space: u8,
    },
    /// Two or four words of l[] or g[] at once.
    Wide(Box<Wide>),
    /// A texture operation.
    Tex(Box<TexOp>),
    /// quadop: which other lane, and the four operations.
    Quad(QuadLane, [QuadOp; 4]),
    /// A barrier.
    Bar,
    /// A value that no path reads: its register may hold anything.
    Undefined,
    /// Values that are in given registers at entry.
    Entry(Vec<(Reg, u8)>),
    /// Results in given registers, then the end.
    Exit(Vec<(Reg, u8)>),
    /// Branch to one of the block's two targets by a `$c`.
    Branch(Reg, Cond),
    /// Go on with the block's only target.
    Jump,
    /// An atomic operation on s[]: a loop that takes the word's lock.
    Lock(Box<Lock>),
}

/// An instruction.
#[derive(Debug, PartialEq)]
pub struct MInst {
    /// What it does; `Nop` for pure control.
    pub op: Op,
    /// Result.
    pub dst: Dst,
    /// Sources.
    pub src: [Src; 3],
    /// Form fields.
    pub mods: SmallVec<[(FieldName, u64); 2]>,
    /// `$c` written.
    pub cdst: Option<Reg>,
    /// Predicate: `$c` and condition code.
    pub pred: Option<(Reg, Cond)>,
    /// Carry in.
    pub carry: Option<Reg>,
    /// What the destination held before: kept where the predicate is false.
    pub tied: Option<Reg>,
    /// The destination takes the register of source 3.
    pub tie3: bool,
    /// Address register.
    pub index: Index,
    /// The rest.
    pub extra: Extra,
}

// By hand: the fields are copied at once, which the derived implementation does one by one.
impl Clone for MInst {
    fn clone(&self) -> MInst {
        MInst { mods: SmallVec::from_slice(&self.mods), extra: self.extra.clone(), ..*self }
    }
}

/// `$r` class.
pub const GPR: RegClass = RegClass::Float;
/// `$c` class.
pub const CC: RegClass = RegClass::Int;

impl MInst {
    /// An instruction without modifiers.
    pub fn new(op: Op, dst: Dst, src: &[Src]) -> MInst {
        let mut s = [Src::None; 3];
        s[..src.len()].copy_from_slice(src);
        MInst {
            op,
            dst,
            src: s,
            mods: SmallVec::new(),
            cdst: None,
            pred: None,
            carry: None,
            tied: None,
            tie3: false,
            index: Index::None,
            extra: Extra::None,
        }
    }
    /// Adds a modifier unless it is 0.
    pub fn with(mut self, field: FieldName, v: impl FieldValue) -> MInst {
        self.modify(field, v);
        self
    }
    /// Sets a modifier, or takes it away where the value is 0.
    pub fn modify(&mut self, field: FieldName, v: impl FieldValue) {
        let v = v.raw();
        self.mods.retain(|m| m.0 != field);
        if v != 0 {
            self.mods.push((field, v));
        }
    }
    /// A modifier's value.
    pub fn modifier(&self, field: FieldName) -> u64 {
        self.mods.iter().find(|(f, _)| *f == field).map_or(0, |m| m.1)
    }
    /// Whether an operand is a word of s[] that stores can change: all but the half-words of the header.
    pub(crate) fn reads_shared(&self) -> bool {
        match self.src[0] {
            Src::S(3, _) => true,
            Src::S(..) => self.index != Index::None,
            _ => false,
        }
    }
    /// Whether some operand is only encodable in the low half of the register file.
    fn wants_low(&self) -> bool {
        self.op != Op::Mov && self.src.iter().any(|s| matches!(s, Src::Imm(v) if *v != 0)) && !matches!(self.op, Op::Shl | Op::Shr)
    }
}

impl MachInst for MInst {
    fn visit<V: OperandVisitor>(&mut self, v: &mut V) {
        if let Extra::Lock(l) = &mut self.extra {
            for s in &mut self.src {
                if let Src::Reg(r, _) = s {
                    v.use_late(r);
                }
            }
            if let Index::Reg(r, _) = &mut self.index {
                v.use_late(r);
            }
            v.def_reg(&mut l.temp);
            v.def_reg(&mut l.taken);
            v.def_reg(&mut l.equal);
            if let Dst::Reg(r) = &mut self.dst {
                v.def_reg(r);
            }
            return;
        }
        if let Extra::Wide(w) = &mut self.extra {
            // The address may not lie among the registers that are loaded.
            if let Src::Reg(r, _) = &mut self.src[0] {
                v.use_late(r);
            }
            if let Index::Reg(r, _) = &mut self.index {
                v.use_any(r);
            }
            for (k, r) in w.regs.iter_mut().enumerate() {
                let p = PReg::new(w.base as usize + k, GPR);
                if w.load { v.def_fixed(r, p) } else { v.use_fixed(r, p) }
            }
            return;
        }
        let low = self.wants_low();
        let mut n = 0;
        let mut third = None;
        for (k, s) in self.src.iter_mut().enumerate() {
            if let Src::Reg(r, part) = s {
                if k == 2 {
                    third = Some(n);
                }
                if low || *part != Part::Full {
                    v.use_reg(r)
                } else {
                    v.use_any(r)
                }
                n += 1;
            }
        }
        if let Index::Reg(r, _) = &mut self.index {
            v.use_any(r);
            n += 1;
        }
        let mut tied = None;
        if let Some(r) = &mut self.tied {
            tied = Some(n);
            v.use_any(r);
        }
        if let Some((c, _)) = &mut self.pred {
            v.use_reg(c);
        }
        if let Some(c) = &mut self.carry {
            v.use_reg(c);
        }
        match &mut self.extra {
            Extra::Tex(t) => {
                for (k, r) in t.args.iter_mut().enumerate() {
                    v.use_fixed(r, PReg::new(t.base as usize + k, GPR));
                }
                if let Some(c) = &mut t.apart {
                    v.use_reg(c);
                }
                for (k, r) in t.results.iter_mut().enumerate() {
                    v.def_fixed(r, PReg::new(t.base as usize + k, GPR));
                }
            }
            Extra::Entry(regs) => regs.iter_mut().for_each(|(r, n)| v.def_fixed(r, PReg::new(*n as usize, GPR))),
            Extra::Exit(regs) => regs.iter_mut().for_each(|(r, n)| v.use_fixed(r, PReg::new(*n as usize, GPR))),
            Extra::Branch(c, _) => v.use_reg(c),
            _ => {}
        }
        if let Some(c) = &mut self.cdst {
            v.def_reg(c);
        }
        match &mut self.dst {
            Dst::Reg(r) => match (tied, third) {
                (Some(t), _) => v.def_reuse(r, t),
                (None, Some(t)) if self.tie3 => v.def_reuse(r, t),
                _ if low => v.def_reg(r),
                _ => v.def_any(r),
            },
            Dst::Half(r) => v.def_reg(r),
            _ => {}
        }
    }
    fn is_rematerialisable(&self) -> bool {
        if self.extra == Extra::Undefined {
            return true;
        }
        let constant = |s: &Src| matches!(s, Src::Imm(_) | Src::C(_, _, false) | Src::A(_) | Src::None);
        matches!(self.op, Op::Mov | Op::LdC | Op::LdA)
            && matches!(self.dst, Dst::Reg(_))
            && self.src.iter().all(constant)
            && self.pred.is_none()
            && self.tied.is_none()
            && self.index == Index::None
    }
    fn text(&self) -> String {
        let mut out = String::new();
        if let Some((c, code)) = &self.pred {
            let _ = write!(out, "({} {c}) ", code.text());
        }
        let _ = write!(out, "{:?}", self.op);
        for (f, v) in &self.mods {
            let _ = write!(out, " {}={v}", f.name());
        }
        if let Some(c) = &self.cdst {
            let _ = write!(out, " {c}");
        }
        match &self.dst {
            Dst::None => {}
            d => {
                let _ = write!(out, " {d:?}");
            }
        }
        for s in self.src.iter().filter(|s| **s != Src::None) {
            let _ = write!(out, " {s:?}");
        }
        if self.index != Index::None {
            let _ = write!(out, " {:?}", self.index);
        }
        if self.extra != Extra::None {
            let _ = write!(out, " {:?}", self.extra);
        }
        out
    }
}
