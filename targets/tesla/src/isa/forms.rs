//! The encoding table of the Tesla shader ISA: every form of every instruction, with its assembly text as a template.
//!
//! Bits are numbered over the whole instruction (bit 32+n = bit n of the second word). The format of a word follows from
//! bits 0, 1 and 33:32; immediate forms live in decode spaces of their own, since bits 33:32 are a field elsewhere.
//! Source: the public envytools tables as collected in the ISA description, sections 2 to 8; text as envydis prints it.
//!
//! What the items of a row's text mean: `operand.rs`.

use crate::isa::table::{ALU, CONTROL, MEMORY};
use retroshade_emit::form::{Bits, Field, Form, FormTable, Index, bits};
use retroshade_emit::{FieldIndex, FormId, form_id, names};

pub use crate::isa::op::{Op, Ty};

/// Decode space of a stage's short, long and control words (bit 0 vertex, 1 geometry, 2 fragment, 3 compute).
pub const VP: u32 = 1;
/// Geometry.
pub const GP: u32 = 2;
/// Fragment.
pub const FP: u32 = 4;
/// Compute.
pub const CP: u32 = 8;
/// Every stage.
pub const ANY: u32 = 15;
/// Shift from a stage's space to the space of its immediate forms.
pub const IMM_SHIFT: u32 = 4;

/// What only some chips have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Every chip.
    Base,
    /// Compute capability 1.1: all but the G80.
    Sm11,
    /// Compute capability 1.2: GT200 and later.
    Sm12,
    /// Double precision: GT200 only.
    Fp64,
    /// Direct3D 10.1 additions: GT21x and MCP89.
    D3d101,
}

/// How a form is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Four bytes, no condition.
    Short,
    /// Eight bytes with a 32-bit constant.
    Imm,
    /// Eight bytes.
    Long,
    /// Control flow.
    Control,
}

/// What Tesla adds to a form.
#[derive(Debug)]
pub struct Syn {
    /// What the instruction does.
    pub op: Op,
    /// How it is written.
    pub shape: Shape,
    /// The text template of everything after exit/join, predicate and lane mask.
    pub text: &'static str,
    /// Which chips have it.
    pub feature: Feature,
    /// A field's value that needs more than `feature`.
    pub more: Option<(FieldIndex, u64, Feature)>,
    /// Bits that the machine ignores.
    pub ignore: u128,
}

/// A Tesla form.
pub type TForm = Form<Syn>;

/// A 64-bit pattern from the two words.
pub const fn ww(w0: u32, w1: u32) -> u128 {
    (w0 as u64 | (w1 as u64) << 32) as u128
}

const fn un(name: &'static str, b: &'static [Bits]) -> Field {
    Field::new(name, b)
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident = [$($f:expr),* $(,)?];)*) => { $($(#[$doc])* pub const $name: &[Field] = &[$($f),*];)* };
}

names! {
    /// A condition over the flags of a `$c`; the first 16 are also the relations of `set` on floats.
    pub enum Cond {
        Never = 0 "never", Less = 1 "l", Equal = 2 "e", LessEqual = 3 "le", Greater = 4 "g", NotEqual = 5 "lg", GreaterEqual = 6 "ge",
        Ordered = 7 "lge", Unordered = 8 "u", LessUnordered = 9 "lu", EqualUnordered = 10 "eu", LessEqualUnordered = 11 "leu",
        GreaterUnordered = 12 "gu", NotEqualUnordered = 13 "lgu", GreaterEqualUnordered = 14 "geu", Always = 15 "always",
        Overflow = 16 "o", Carry = 17 "c", Above = 18 "a", Sign = 19 "s", NoSign = 28 "ns", NotAbove = 29 "na", NoCarry = 30 "nc", NoOverflow = 31 "no",
    }
}

impl Cond {
    /// The condition that holds where this one does not.
    pub const fn inverse(self) -> Cond {
        match Cond::from_raw(self as u64 ^ 0xf) {
            Some(c) => c,
            None => Cond::Never,
        }
    }
}

/// Conditions of `set` on floats: the first 16.
const FREL: &[&str] = Cond::NAMES.split_at(16).0;
/// Conditions of `set` on integers.
const IREL: &[&str] = &["never", "l", "e", "le", "g", "lg", "ge", "always"];

names! {
    /// Which sum an addition is.
    pub enum AddOp { Add = 0 "add", Sub = 1 "sub", Subr = 2 "subr", Addc = 3 "addc" }
}
names! {
    /// A bitwise operation; `Second` gives the second source.
    pub enum LogicOp { And = 0 "and", Or = 1 "or", Xor = 2 "xor", Second = 3 "mov2" }
}
names! {
    /// Rounding.
    pub enum Rounding { Nearest = 0 "rn", Down = 1 "rm", Up = 2 "rp", Zero = 3 "rz" }
}
names! {
    /// Rounding to a whole number.
    pub enum Whole { Nearest = 0 "rni", Down = 1 "rmi", Up = 2 "rpi", Zero = 3 "rzi" }
}
names! {
    /// What a lane of the quad does with another's value x and its own y: x + y, y - x, x - y, y.
    pub enum QuadOp { Add = 0 "add", Subr = 1 "subr", Sub = 2 "sub", Own = 3 "mov2" }
}
names! {
    /// Which other lane of the quad: one by number, or the neighbour.
    pub enum QuadLane { Lane0 = 0 "l0", Lane1 = 1 "l1", Lane2 = 2 "l2", Lane3 = 3 "l3", Dx = 4 "dx", Dy = 5 "dy" }
}
names! {
    /// What is loaded or stored.
    pub enum Access { U8 = 0 "u8", S8 = 1 "s8", U16 = 2 "u16", S16 = 3 "s16", B64 = 4 "b64", B128 = 5 "b128", B32 = 6 "b32", S32 = 7 "s32" }
}
names! {
    /// An integer type that is converted, in a half register or a full one.
    pub enum IntType {
        U16 = 0 "u16", U32 = 1 "u32", U8 = 2 "u8", U8Full = 3 "u8", S16 = 4 "s16", S32 = 5 "s32", S8 = 6 "s8", S8Full = 7 "s8",
    }
}
names! {
    /// A system register.
    pub enum SystemRegister {
        PhysId = 0 "$physid", Clock = 1 "$clock", Sr2 = 2 "$sr2", VStride = 3 "$vstride", Pm0 = 4 "$pm0", Pm1 = 5 "$pm1", Pm2 = 6 "$pm2", Pm3 = 7 "$pm3",
        SampleId = 8 "$sampleid", Sr9 = 9 "$sr9", Sr10 = 10 "$sr10", Sr11 = 11 "$sr11", Sr12 = 12 "$sr12", Sr13 = 13 "$sr13", Sr14 = 14 "$sr14", Sr15 = 15 "$sr15",
    }
}
names! {
    /// What comes with an instruction: nothing, the end of its lanes after it, or the meeting of lanes before it.
    pub enum End { None = 0 "none", Exit = 1 "exit", Join = 2 "join" }
}

const ROUND_RN_RZ: &[&str] = &["rn", "", "", "rz"];
/// The access types of l[] and g[].
const MEMORY_TYPES: &[&str] = Access::NAMES.split_at(7).0;

fields! {
    // ---- long: what every conditional instruction has
    /// Exit/join, predicate and its `$c` register.
    TAIL = [un("end", &[bits(33, 32)]), un("pred", &[bits(43, 39)]).named(Cond::NAMES).or(15), un("cc", &[bits(45, 44)])];
    /// Predicate of control instructions.
    CPRED = [un("pred", &[bits(43, 39)]).named(Cond::NAMES).or(15), un("cc", &[bits(45, 44)])];
    /// `$c` destination.
    WC = [un("cw", &[bits(38, 38)]), un("cd", &[bits(37, 36)])];
    /// `$c` destination of vote and lock, which always write it.
    WCV = [un("cw", &[bits(38, 38)]).or(1), un("cd", &[bits(37, 36)])];
    /// `$c` destination of mov.
    CD = [un("cd", &[bits(37, 36)])];
    /// Destination register or output word.
    D = [un("dst", &[bits(8, 2)]), un("do", &[bits(35, 35)])];
    /// Destination register.
    DR = [un("dst", &[bits(8, 2)])];
    /// `$a` destination.
    DA = [un("dst", &[bits(4, 2)])];
    /// First source.
    S1 = [un("src1", &[bits(15, 9)])];
    /// Second source.
    S2 = [un("src2", &[bits(22, 16)])];
    /// Third source.
    S3 = [un("src3", &[bits(52, 46)])];
    /// Memory operands: s/a in source 1, c in 2 and 3 (both: p in source 1), post-increment, `$a`.
    MEM = [un("m1", &[bits(53, 53)]), un("k2", &[bits(23, 23)]), un("k3", &[bits(24, 24)]), un("inc", &[bits(25, 25)]), un("a", &[bits(27, 26), bits(34, 34)])];
    /// Constant space of a c[] operand.
    CS = [un("cs", &[bits(57, 54)])];
    /// `$a` of an address.
    AR = [un("a", &[bits(27, 26), bits(34, 34)])];
    /// `$a` of an address that may be incremented.
    ARI = [un("inc", &[bits(25, 25)]), un("a", &[bits(27, 26), bits(34, 34)])];
    /// Quad lanes that take part.
    LANES = [un("lanes", &[bits(49, 46)]).or(15)];
    /// Special-function mov.
    SFU = [un("sfu", &[bits(57, 57)])];
    /// Two halves of add/sub/subr/addc.
    ADDOP = [un("addop", &[bits(22, 22), bits(28, 28)]).named(AddOp::NAMES)];
    /// The same of long mad.
    ADDOP_MAD = [un("addop", &[bits(59, 58)]).named(AddOp::NAMES)];
    /// Saturation of long integer add.
    SAT59 = [un("sat", &[bits(59, 59)])];
    /// Saturation of fadd and fmad.
    SAT61 = [un("sat", &[bits(61, 61)])];
    /// Saturation of fmul.
    SAT52 = [un("sat", &[bits(52, 52)])];
    /// 16-bit signedness at 59.
    SG16 = [un("sg", &[bits(59, 59)]).named(&["u16", "s16"])];
    /// 32-bit signedness at 59.
    SG32 = [un("sg", &[bits(59, 59)]).named(&["u32", "s32"])];
    /// 24-bit signedness at 47 and the choice of the high part.
    SG24 = [un("sg", &[bits(47, 47)]).named(&["u24", "s24"]), un("high", &[bits(46, 46)])];
    /// Signedness of both sources of a 16-bit product.
    SG1616 = [un("sg1", &[bits(47, 47)]).named(&["u16", "s16"]), un("sg2", &[bits(46, 46)]).named(&["u16", "s16"])];
    /// Relation of integer set.
    REL = [un("rel", &[bits(48, 46)]).named(IREL)];
    /// Relation of float set.
    FRELS = [un("rel", &[bits(49, 46)]).named(FREL)];
    /// Immediate shift count.
    COUNT = [un("count", &[bits(22, 16)])];
    /// Logic operation and complements.
    LOP = [un("lop", &[bits(47, 46)]).named(LogicOp::NAMES), un("not1", &[bits(48, 48)]), un("not2", &[bits(49, 49)])];
    /// neg/abs of source 1.
    NA1 = [un("neg1", &[bits(58, 58)]), un("abs1", &[bits(52, 52)])];
    /// neg/abs of source 2.
    NA2 = [un("neg2", &[bits(59, 59)]), un("abs2", &[bits(51, 51)])];
    /// neg of source 1.
    N1 = [un("neg1", &[bits(58, 58)])];
    /// neg of the other source.
    N2 = [un("neg2", &[bits(59, 59)])];
    /// neg of slct's condition.
    N61 = [un("neg3", &[bits(61, 61)])];
    /// Rounding of fadd.
    RND_ADD = [un("rnd", &[bits(17, 16)]).named(ROUND_RN_RZ)];
    /// Rounding of fmul.
    RND_MUL = [un("rnd", &[bits(47, 46)]).named(ROUND_RN_RZ)];
    /// Rounding of f64 fma.
    RND_DFMA = [un("rnd", &[bits(55, 54)]).named(Rounding::NAMES)];
    /// Rounding of f64 add.
    RND_DADD = [un("rnd", &[bits(17, 16)]).named(Rounding::NAMES)];
    /// Rounding of f64 mul.
    RND_DMUL = [un("rnd", &[bits(50, 49)]).named(Rounding::NAMES)];
    /// Rounding of conversions.
    RND_CVT = [un("rnd", &[bits(50, 49)]).named(Rounding::NAMES)];
    /// Rounding to an integer.
    RND_CVTI = [un("rnd", &[bits(50, 49)]).named(Whole::NAMES)];
    /// neg/abs of conversions.
    NA_CVT = [un("neg1", &[bits(61, 61)]), un("abs1", &[bits(52, 52)])];
    /// Saturation of conversions.
    SAT51 = [un("sat", &[bits(51, 51)])];
    /// Integer source type of a conversion.
    STY = [un("sty", &[bits(48, 46)]).named(IntType::NAMES)];
    /// 32-bit integer source of a conversion to f64.
    STY32 = [un("sty", &[bits(48, 48)]).named(&["u32", "s32"])];
    /// 64-bit integer source.
    STY64 = [un("sty", &[bits(48, 48)]).named(&["u64", "s64"])];
    /// Integer destination type in a half register.
    DTYH = [un("dty", &[bits(51, 51), bits(59, 59)]).named(&["u16", "u8", "s16", "s8"])];
    /// Integer destination type in a register.
    DTYW = [un("dty", &[bits(51, 51), bits(59, 59)]).named(&["u32", "u8", "s32", "s8"])];
    /// 16-bit integer destination of a float conversion.
    DTY16 = [un("dty", &[bits(59, 59)]).named(&["u16", "s16"])];
    /// 32-bit integer destination of a float conversion.
    DTY32 = [un("dty", &[bits(59, 59)]).named(&["u32", "s32"])];
    /// 64-bit integer destination of a float conversion.
    DTY64 = [un("dty", &[bits(59, 59)]).named(&["u64", "s64"])];
    /// quadop: source lane and the four operations.
    QUAD = [
        un("lane", &[bits(18, 16)]).named(QuadLane::NAMES),
        un("q0", &[bits(59, 58)]).named(QuadOp::NAMES), un("q1", &[bits(57, 56)]).named(QuadOp::NAMES), un("q2", &[bits(55, 54)]).named(QuadOp::NAMES), un("q3", &[bits(21, 20)]).named(QuadOp::NAMES),
    ];
    /// Byte address.
    OFF1 = [un("off", &[bits(24, 9)])];
    /// Half-word address.
    OFF2 = [un("off", &[bits(23, 9)])];
    /// Word address.
    OFF4 = [un("off", &[bits(22, 9)])];
    /// Attribute word.
    OFFA = [un("off", &[bits(15, 9)])];
    /// Varying word.
    OFFV = [un("off", &[bits(23, 16)])];
    /// Full (1) or half (0) destination of a load.
    W58 = [un("w", &[bits(58, 58)])];
    /// Full (1) or half (0) data of a store.
    W53 = [un("w", &[bits(53, 53)])];
    /// Unlocks the word.
    UNLOCK = [un("unlock", &[bits(55, 55)])];
    /// Access type of l[] and g[].
    MTY = [un("ty", &[bits(55, 53)]).named(MEMORY_TYPES)];
    /// Type of an atomic addition.
    ATY_ADD = [un("ty", &[bits(55, 53)]).named(&["", "", "", "", "u64", "", "u32", "s32"]).or(6)];
    /// Type of atomic minima and maxima.
    ATY_SG = [un("ty", &[bits(55, 53)]).named(&["", "", "", "", "", "", "u32", "s32"]).or(6)];
    /// Type of atomic counters.
    ATY_U = [un("ty", &[bits(55, 53)]).named(&["", "", "", "", "", "", "u32"]).or(6)];
    /// Type of atomic bit operations.
    ATY_B = [un("ty", &[bits(55, 53)]).named(&["", "", "", "", "", "", "b32"]).or(6)];
    /// Type of exchanges.
    ATY_X = [un("ty", &[bits(55, 53)]).named(&["", "", "", "", "b64", "", "b32"]).or(6)];
    /// Global space of loads, stores and reductions.
    GS = [un("gs", &[bits(19, 16)])];
    /// Global space of atomics with a result.
    GSA = [un("gs", &[bits(26, 23)])];
    /// System register.
    SR = [un("sr", &[bits(49, 46)]).named(SystemRegister::NAMES)];
    /// `$a` shift count.
    COUNT4 = [un("count", &[bits(19, 16)])];
    /// `$a` addend.
    IMM16 = [un("imm", &[bits(24, 9)])];
    /// Event number.
    EVENT = [un("id", &[bits(13, 10)])];
    /// Argument count less one.
    TEXN = [un("count", &[bits(23, 22)])];
    /// Texture, sampler, result mask, live lanes only, forced derivatives.
    TEX = [
        un("tex", &[bits(16, 9)]), un("smp", &[bits(21, 17)]), un("mask", &[bits(26, 25), bits(47, 46)]),
        un("live", &[bits(34, 34)]).named(&["all", "live"]), un("deriv", &[bits(35, 35)]),
    ];
    /// Texel offsets.
    TEXOFF = [un("x", &[bits(59, 56)]).signed(), un("y", &[bits(55, 52)]).signed(), un("z", &[bits(51, 48)]).signed()];

    // ---- control
    /// Code address in words.
    TARGET = [un("target", &[bits(26, 11), bits(51, 46)])];
    /// Limited call.
    LIM = [un("lim", &[bits(38, 38)])];
    /// Barrier number and what to do with it.
    BARRIER = [un("bar", &[bits(24, 21)]), un("arrive", &[bits(25, 25)]), un("wait", &[bits(26, 26)])];
    /// Number of warps.
    WARPS = [un("warps", &[bits(20, 9)])];

    // ---- short and immediate
    /// Destination.
    SD = [un("dst", &[bits(7, 2)])];
    /// First source.
    SS1 = [un("src1", &[bits(14, 9)])];
    /// Second source.
    SS2 = [un("src2", &[bits(21, 16)])];
    /// Memory operands of short forms: c in source 2, s/a in source 1 (both: p), post-increment, `$a`.
    SMEM = [un("k2", &[bits(23, 23)]), un("m1", &[bits(24, 24)]), un("inc", &[bits(25, 25)]), un("a", &[bits(27, 26)])];
    /// Memory operand of immediate forms.
    IMEM = [un("m1", &[bits(24, 24)]), un("inc", &[bits(25, 25)]), un("a", &[bits(27, 26)])];
    /// The constant.
    IMM = [un("imm", &[bits(21, 16), bits(59, 34)])];
    /// Op flag 1 as saturation.
    SSAT = [un("sat", &[bits(8, 8)])];
    /// Signs of both sources of a 16-bit product.
    SSG1616 = [un("sg1", &[bits(15, 15)]).named(&["u16", "s16"]), un("sg2", &[bits(8, 8)]).named(&["u16", "s16"])];
    /// Signedness of a 24-bit product, and its high part.
    SSG24 = [un("sg", &[bits(15, 15)]).named(&["u24", "s24"]), un("high", &[bits(8, 8)])];
    /// Signedness of short 16-bit sad.
    SSG16 = [un("sg", &[bits(8, 8)]).named(&["u16", "s16"])];
    /// Signedness of short 32-bit sad.
    SSG32 = [un("sg", &[bits(8, 8)]).named(&["u32", "s32"])];
    /// neg of source 1 (fmad: of the product).
    SN1 = [un("neg1", &[bits(15, 15)])];
    /// neg of the other source.
    SN2 = [un("neg2", &[bits(22, 22)])];
    /// neg/abs of short rcp.
    SNA = [un("neg1", &[bits(22, 22)]), un("abs1", &[bits(15, 15)])];
    /// Short special-function mov.
    SSFU = [un("sfu", &[bits(17, 17)])];
    /// Logic of immediate forms.
    ILOP = [un("lop", &[bits(8, 8), bits(15, 15)]).named(LogicOp::NAMES), un("not1", &[bits(22, 22)])];
    /// Varying and centroid of short interp.
    SV = [un("off", &[bits(23, 16)]), un("cent", &[bits(24, 24)]), un("a", &[bits(27, 26)])];
    /// Texture fields of short forms.
    STEX = [un("tex", &[bits(16, 9)]), un("smp", &[bits(21, 17)]), un("count", &[bits(23, 22)]), un("live", &[bits(8, 8)]).named(&["all", "live"])];
}

/// Number of forms.
pub const COUNT_FORMS: usize = ALU.len() + MEMORY.len() + CONTROL.len();

const fn join() -> [TForm; COUNT_FORMS] {
    let mut out = [const { TForm { ..copy(&ALU[0]) } }; COUNT_FORMS];
    let mut i = 0;
    while i < COUNT_FORMS {
        out[i] = copy(if i < ALU.len() {
            &ALU[i]
        } else if i < ALU.len() + MEMORY.len() {
            &MEMORY[i - ALU.len()]
        } else {
            &CONTROL[i - ALU.len() - MEMORY.len()]
        });
        i += 1;
    }
    out
}

const fn copy(f: &TForm) -> TForm {
    Form {
        name: f.name,
        size: f.size,
        spaces: f.spaces,
        mask: f.mask,
        bits: f.bits,
        fields: f.fields,
        refines: f.refines,
        doc: f.doc,
        ext: Syn { op: f.ext.op, shape: f.ext.shape, text: f.ext.text, feature: f.ext.feature, more: f.ext.more, ignore: f.ext.ignore },
    }
}

/// All forms.
pub static FORMS: [TForm; COUNT_FORMS] = join();

#[allow(long_running_const_eval)]
const _: () = retroshade_emit::form::check(&FORMS);

/// A field by name, in a form (`field!(BRA.target)`) or in any (`field!(pred)`).
macro_rules! field { ($($t:tt)*) => { retroshade_emit::field!(&$crate::isa::forms::FORMS, $($t)*) } }
/// A word: `word!(BRA { target: 3 })`.
macro_rules! word { ($($t:tt)*) => { retroshade_emit::word!(&$crate::isa::forms::FORMS, $($t)*) } }
pub(crate) use {field, word};

macro_rules! named_forms {
    ($($(#[$doc:meta])* $name:ident = $form:literal;)*) => { $($(#[$doc])* pub const $name: FormId = form_id(&FORMS, $form);)* };
}
named_forms! {
    /// Branch.
    BRA = "bra";
    /// Break out of a loop.
    BRK = "brk";
    /// Where breaks lead.
    PREBRK = "prebrk";
    /// Where lanes meet.
    JOINAT = "joinat";
    /// End of the lanes.
    RET = "ret";
    /// No results.
    DISCARD = "discard";
    /// Barrier.
    BAR = "bar";
    /// Carrier of exit and join.
    NOP = "nop";
}

/// The table.
pub static TABLE: FormTable<Syn> = FormTable {
    target: "tesla",
    spaces: &[
        "vertex",
        "geometry",
        "fragment",
        "compute",
        "vertex immediate",
        "geometry immediate",
        "fragment immediate",
        "compute immediate",
    ],
    forms: &FORMS,
    index: Index::new(),
};
