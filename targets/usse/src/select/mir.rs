//! Macro-operations: what selection makes of the IR, on virtual registers, before registers and words are chosen.
//!
//! A macro-operation covers all lanes of a value. After allocation it is split into words (`expand.rs`), two f32 or four f16
//! lanes at a time, asking the operand tables which words exist.

use crate::isa::names::Format;
use retroshade_ir::{Opcode, Scalar, Span};

/// A virtual register: some lanes in consecutive registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Vreg(pub u32);

/// What a virtual register holds.
#[derive(Clone, Debug)]
pub struct VregData {
    /// Element type; `I1` values are held as `I32`.
    pub ty: Scalar,
    /// Lanes (up to 8 for gradients).
    pub lanes: u8,
    /// Must begin at an even register.
    pub even: bool,
    /// Where it came from.
    pub span: Span,
}

impl VregData {
    /// 32-bit registers that it takes.
    pub fn regs(&self) -> u16 {
        if self.ty == Scalar::F16 { (self.lanes as u16).div_ceil(2) } else { self.lanes as u16 }
    }
}

/// Where one lane of a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// A lane of a virtual register.
    V(Vreg, u8),
    /// A constant's bits.
    C(u32),
    /// A secondary attribute (uniforms and what the secondary program left).
    Sa(u16),
    /// A half of a secondary attribute: twice the register plus the half.
    SaHalf(u16),
    /// Anything.
    Undef,
}

/// One lane of a value with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    /// Where.
    pub base: Base,
    /// Negated, after the absolute value.
    pub neg: bool,
    /// Absolute value.
    pub abs: bool,
}

impl Lane {
    /// A lane as it is.
    pub const fn new(base: Base) -> Lane {
        Lane { base, neg: false, abs: false }
    }
    /// A constant.
    pub const fn c(bits: u32) -> Lane {
        Lane::new(Base::C(bits))
    }
    /// Negated.
    pub fn negated(self) -> Lane {
        Lane { neg: !self.neg, ..self }
    }
    /// Its absolute value.
    pub fn absolute(self) -> Lane {
        Lane { neg: false, abs: true, ..self }
    }
    /// Whether it carries modifiers.
    pub fn is_plain(self) -> bool {
        !self.neg && !self.abs
    }
}

/// A predicate and whether it is inverted.
pub type Pred = (u8, bool);

/// A test's relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rel {
    /// a == b
    Eq,
    /// a != b
    Ne,
    /// a < b
    Lt,
    /// a <= b
    Le,
    /// a > b
    Gt,
    /// a >= b
    Ge,
}

impl Rel {
    /// VTST's fields: sign test, zero test, both.
    pub fn fields(self) -> (u64, u64, u64) {
        match self {
            Rel::Eq => (0, 1, 1),
            Rel::Ne => (0, 2, 1),
            Rel::Lt => (1, 2, 1),
            Rel::Le => (1, 1, 0),
            Rel::Gt => (2, 2, 1),
            Rel::Ge => (2, 1, 0),
        }
    }
    /// With exchanged operands.
    pub fn swapped(self) -> Rel {
        match self {
            Rel::Lt => Rel::Gt,
            Rel::Gt => Rel::Lt,
            Rel::Le => Rel::Ge,
            Rel::Ge => Rel::Le,
            same => same,
        }
    }
}

/// What a test subtracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestKind {
    /// Floats of this type.
    Float(Scalar),
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
}

/// Bitwise and shift operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bit {
    /// And.
    And,
    /// Or.
    Or,
    /// Exclusive or.
    Xor,
    /// Shift left.
    Shl,
    /// Shift right.
    Shr,
    /// Arithmetic shift right.
    Asr,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Float operation lane by lane: fmad, fmul, fadd, fmin, fmax, ffract, ddx, ddy.
    Float(Opcode),
    /// Dot product of 3 or 4 lanes.
    Dot,
    /// Dot products of source 0 with each of the other sources, a lane of the result each.
    Rows,
    /// rcp, rsq, log2, exp2 lane by lane.
    Complex(Opcode),
    /// Copy of lanes; modifiers allowed on floats.
    Copy,
    /// Bitwise operation.
    Bit(Bit),
    /// a × b + c on 32-bit integers.
    Mad,
    /// VPCK conversion lane by lane: source format, destination format, scaled.
    Convert(Format, Format, bool),
    /// 16-bit unsigned conversion of lane 0 into the low, signed of lane 1 into the high half of one register.
    Test(TestKind, Rel, u8),
    /// Sets a predicate to a constant.
    SetPred(u8, bool),
    /// Source 0 under the predicate, else source 1.
    Select(Pred),
    /// Source 0 (a float) compared with zero per lane ? source 1 : source 2.
    SelectZero(Rel),
    /// Source 0 (an integer) not zero per lane ? source 1 : source 2.
    SelectBool,
    /// Texture read: coordinates in source 0, level or gradients in source 1.
    Sample {
        /// Texture state.
        state: u16,
        /// Dimensions.
        dims: u8,
        /// 0 implicit, 1 bias, 2 level, 3 gradients.
        lod: u8,
        /// Whether a level operand exists.
        has_lod: bool,
    },
    /// Memory load of the destination's words: base register in `sa`, word offset; a byte offset in source 0.
    Load {
        /// Secondary attribute that holds the base.
        base: u16,
        /// Offset in words.
        offset: u32,
    },
    /// Drops the pixel where the predicate holds, or always.
    Kill(Option<Pred>),
    /// Replaces the depth.
    Depth,
    /// Goes to a block, under a predicate.
    Branch(usize, Option<Pred>),
    /// Ends the first phase.
    EndPhase,
    /// Keeps sources alive (outputs in place).
    Keep,
    /// All copies of one edge, executed together: destination k takes source k.
    Parallel(Vec<Vreg>),
}

/// A macro-operation.
#[derive(Clone, Debug)]
pub struct Mop {
    /// What.
    pub kind: Kind,
    /// Under a predicate.
    pub pred: Option<Pred>,
    /// Destination.
    pub dst: Option<Vreg>,
    /// Sources, a list of lanes each.
    pub src: Vec<Vec<Lane>>,
    /// Where it came from.
    pub span: Span,
}

impl Kind {
    /// The source that is still read after the destination was written: what is moved under a predicate.
    pub fn late(&self) -> Option<usize> {
        match self {
            Kind::Select(_) => Some(0),
            Kind::SelectZero(_) | Kind::SelectBool => Some(1),
            _ => None,
        }
    }
}

impl Mop {
    /// An operation without predicate.
    pub fn new(kind: Kind, dst: Option<Vreg>, src: Vec<Vec<Lane>>, span: Span) -> Mop {
        Mop { kind, pred: None, dst, src, span }
    }
    /// All virtual registers that it reads.
    pub fn reads(&self) -> impl Iterator<Item = Vreg> + '_ {
        self.src.iter().flatten().filter_map(|l| match l.base {
            Base::V(v, _) => Some(v),
            _ => None,
        })
    }
    /// All virtual registers that it writes.
    pub fn writes(&self) -> impl Iterator<Item = Vreg> + '_ {
        let more: &[Vreg] = if let Kind::Parallel(d) = &self.kind { d } else { &[] };
        self.dst.into_iter().chain(more.iter().copied())
    }
}

/// A block of macro-operations.
#[derive(Clone, Debug, Default)]
pub struct MBlock {
    /// In order.
    pub ops: Vec<Mop>,
    /// Successors.
    pub succs: Vec<usize>,
}

/// A program of macro-operations.
#[derive(Clone, Debug, Default)]
pub struct MProgram {
    /// Blocks in layout order.
    pub blocks: Vec<MBlock>,
    /// Virtual registers.
    pub vregs: Vec<VregData>,
}

impl MProgram {
    /// A new virtual register.
    pub fn vreg(&mut self, ty: Scalar, lanes: u8, span: Span) -> Vreg {
        let ty = if ty == Scalar::I1 { Scalar::I32 } else { ty };
        self.vregs.push(VregData { ty, lanes, even: false, span });
        Vreg(self.vregs.len() as u32 - 1)
    }
    /// Its data.
    pub fn data(&self, v: Vreg) -> &VregData {
        &self.vregs[v.0 as usize]
    }
    /// Text for `--emit mir`.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (n, b) in self.blocks.iter().enumerate() {
            out.push_str(&format!("block{n}:\n"));
            for op in &b.ops {
                let dst = op.dst.map_or(String::new(), |d| format!("v{}:{:?}x{} = ", d.0, self.data(d).ty, self.data(d).lanes));
                let lane = |l: &Lane| {
                    let b = match l.base {
                        Base::V(v, k) => format!("v{}.{k}", v.0),
                        Base::C(c) => format!("#{c:x}"),
                        Base::Sa(n) => format!("sa{n}"),
                        Base::SaHalf(n) => format!("sa{}.{}", n / 2, n % 2),
                        Base::Undef => "_".to_string(),
                    };
                    let b = if l.abs { format!("|{b}|") } else { b };
                    if l.neg { format!("-{b}") } else { b }
                };
                let src: Vec<String> = op.src.iter().map(|s| format!("({})", s.iter().map(lane).collect::<Vec<_>>().join(" "))).collect();
                let pred = op.pred.map_or(String::new(), |(p, i)| format!("{}p{p} ", if i { "!" } else { "" }));
                let line = format!("    {dst}{pred}{:?} {}", op.kind, src.join(" "));
                out.push_str(line.trim_end());
                out.push('\n');
            }
        }
        out
    }
}
