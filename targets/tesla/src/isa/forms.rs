//! The encoding table of the Tesla shader ISA: every form of every instruction, with its assembly text as a template.
//!
//! Bits are numbered over the whole instruction (bit 32+n = bit n of the second word). The format of a word follows from
//! bits 0, 1 and 33:32; immediate forms live in decode spaces of their own, since bits 33:32 are a field elsewhere.
//! Source: the public envytools tables as collected in the ISA description, sections 2 to 8; text as envydis prints it.
//!
//! A template is a list of blank-separated items: plain text; `field?text` (text where the field is not 0); `=field` (the
//! field's name for its value); `#field` (a hexadecimal number); `%operand` (see `text.rs`).

use crate::isa::table::{ALU, CONTROL, MEMORY};
use retroshade_emit::form::{Bits, Field, Form, FormTable, bits};

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
    /// Field values that need more than `feature`.
    pub more: &'static [(&'static str, u64, Feature)],
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

/// Names of the predicate codes.
pub const PREDICATES: &[&str] = &[
    "never", "l", "e", "le", "g", "lg", "ge", "lge", "u", "lu", "eu", "leu", "gu", "lgu", "geu", "always", "o", "c", "a", "s", "", "", "",
    "", "", "", "", "", "ns", "na", "nc", "no",
];
/// Conditions of `set` on floats: the first 16 predicates.
const FREL: &[&str] = PREDICATES.split_at(16).0;
/// Conditions of `set` on integers.
const IREL: &[&str] = &["never", "l", "e", "le", "g", "lg", "ge", "always"];
const ADDOPS: &[&str] = &["add", "sub", "subr", "addc"];
const LOGIC: &[&str] = &["and", "or", "xor", "mov2"];
const ROUND: &[&str] = &["rn", "rm", "rp", "rz"];
const ROUND_RN_RZ: &[&str] = &["rn", "", "", "rz"];
const ROUND_INT: &[&str] = &["rni", "rmi", "rpi", "rzi"];
const QOPS: &[&str] = &["add", "subr", "sub", "mov2"];
const MEMORY_TYPES: &[&str] = &["u8", "s8", "u16", "s16", "b64", "b128", "b32"];
const INT_SOURCES: &[&str] = &["u16", "u32", "u8", "u8", "s16", "s32", "s8", "s8"];
const SYSTEM: &[&str] = &[
    "$physid",
    "$clock",
    "$sr2",
    "$vstride",
    "$pm0",
    "$pm1",
    "$pm2",
    "$pm3",
    "$sampleid",
    "$sr9",
    "$sr10",
    "$sr11",
    "$sr12",
    "$sr13",
    "$sr14",
    "$sr15",
];

fields! {
    // ---- long: what every conditional instruction has
    /// Exit/join, predicate and its `$c` register.
    TAIL = [un("end", &[bits(33, 32)]), un("pred", &[bits(43, 39)]).named(PREDICATES).or(15), un("cc", &[bits(45, 44)])];
    /// Predicate of control instructions.
    CPRED = [un("pred", &[bits(43, 39)]).named(PREDICATES).or(15), un("cc", &[bits(45, 44)])];
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
    ADDOP = [un("addop", &[bits(22, 22), bits(28, 28)]).named(ADDOPS)];
    /// The same of long mad.
    ADDOP_MAD = [un("addop", &[bits(59, 58)]).named(ADDOPS)];
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
    LOP = [un("lop", &[bits(47, 46)]).named(LOGIC), un("not1", &[bits(48, 48)]), un("not2", &[bits(49, 49)])];
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
    RND_DFMA = [un("rnd", &[bits(55, 54)]).named(ROUND)];
    /// Rounding of f64 add.
    RND_DADD = [un("rnd", &[bits(17, 16)]).named(ROUND)];
    /// Rounding of f64 mul.
    RND_DMUL = [un("rnd", &[bits(50, 49)]).named(ROUND)];
    /// Rounding of conversions.
    RND_CVT = [un("rnd", &[bits(50, 49)]).named(ROUND)];
    /// Rounding to an integer.
    RND_CVTI = [un("rnd", &[bits(50, 49)]).named(ROUND_INT)];
    /// neg/abs of conversions.
    NA_CVT = [un("neg1", &[bits(61, 61)]), un("abs1", &[bits(52, 52)])];
    /// Saturation of conversions.
    SAT51 = [un("sat", &[bits(51, 51)])];
    /// Integer source type of a conversion.
    STY = [un("sty", &[bits(48, 46)]).named(INT_SOURCES)];
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
        un("lane", &[bits(18, 16)]).named(&["l0", "l1", "l2", "l3", "dx", "dy"]),
        un("q0", &[bits(59, 58)]).named(QOPS), un("q1", &[bits(57, 56)]).named(QOPS), un("q2", &[bits(55, 54)]).named(QOPS), un("q3", &[bits(21, 20)]).named(QOPS),
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
    SR = [un("sr", &[bits(49, 46)]).named(SYSTEM)];
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
    BAR = [un("bar", &[bits(24, 21)]), un("arrive", &[bits(25, 25)]), un("wait", &[bits(26, 26)])];
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
    ILOP = [un("lop", &[bits(8, 8), bits(15, 15)]).named(LOGIC), un("not1", &[bits(22, 22)])];
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

static FORMS: [TForm; COUNT_FORMS] = join();

#[allow(long_running_const_eval)]
const _: () = retroshade_emit::form::check(&join());

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
};
