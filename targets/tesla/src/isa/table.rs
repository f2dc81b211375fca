//! The rows of the encoding table (see `forms.rs`): arithmetic, memory with conversions, control.
//!
//! Each row: name, operation, stages, base words, further mask bits, template, field groups. The masks of long rows always
//! include bits 1:0, 31:28 and 63:61 unless the row says otherwise (`raw`).

use crate::isa::forms::*;
use Feature::*;
use retroshade_emit::field_in;

type Groups = &'static [&'static [retroshade_emit::Field]];

#[allow(clippy::too_many_arguments)]
const fn row(name: &'static str, op: Op, shape: Shape, spaces: u32, b: u128, mask: u128, text: &'static str, fields: Groups) -> TForm {
    TForm {
        name,
        size: if matches!(shape, Shape::Short) { 4 } else { 8 },
        spaces: if matches!(shape, Shape::Imm) { spaces << IMM_SHIFT } else { spaces },
        mask,
        bits: b,
        fields,
        refines: None,
        doc: op.doc(),
        ext: Syn { op, shape, text, feature: Base, more: None, ignore: 0 },
    }
}

/// Long: `m0`, `m1` are mask bits beyond the opcode fields.
const fn long(
    name: &'static str,
    op: Op,
    spaces: u32,
    (b0, b1): (u32, u32),
    (m0, m1): (u32, u32),
    text: &'static str,
    fields: Groups,
) -> TForm {
    row(name, op, Shape::Long, spaces, ww(b0, b1), ww(0xf000_0003 | m0, 0xe000_0000 | m1), text, fields)
}
/// Long with a mask of its own.
const fn raw(
    name: &'static str,
    op: Op,
    spaces: u32,
    (b0, b1): (u32, u32),
    (m0, m1): (u32, u32),
    text: &'static str,
    fields: Groups,
) -> TForm {
    row(name, op, Shape::Long, spaces, ww(b0, b1), ww(m0, m1), text, fields)
}
const fn short(name: &'static str, op: Op, spaces: u32, b0: u32, m0: u32, text: &'static str, fields: Groups) -> TForm {
    row(name, op, Shape::Short, spaces, ww(b0, 0), ww(m0, 0), text, fields)
}
const fn imm(name: &'static str, op: Op, b0: u32, m0: u32, text: &'static str, fields: Groups) -> TForm {
    row(name, op, Shape::Imm, ANY, ww(b0, 3), ww(m0, 3), text, fields)
}
const fn ctl(
    name: &'static str,
    op: Op,
    spaces: u32,
    (b0, b1): (u32, u32),
    (m0, m1): (u32, u32),
    text: &'static str,
    fields: Groups,
) -> TForm {
    row(name, op, Shape::Control, spaces, ww(b0, b1), ww(0xf000_0003 | m0, 3 | m1), text, fields)
}

const fn on(f: TForm, feature: Feature) -> TForm {
    TForm { ext: Syn { feature, ..f.ext }, ..f }
}
const fn ign(f: TForm, w0: u32, w1: u32) -> TForm {
    TForm { ext: Syn { ignore: ww(w0, w1), ..f.ext }, ..f }
}
/// A value of a field that needs a feature more.
const fn when(f: TForm, field: &str, value: u64, feature: Feature) -> TForm {
    TForm { ext: Syn { more: Some((field_in(f.fields, field), value, feature)), ..f.ext }, ..f }
}

const W: u32 = 0x0400_0000;
/// Predicate and `$c` bits, ignored by unpredicated control instructions.
const PREDBITS: u32 = 0x3f80;

use Op::*;

/// Arithmetic.
#[rustfmt::skip]
pub const ALU: &[TForm] = &[
    // ---- short
    short("s.mov.h", MovH, ANY, 0x1000_0000, 0xf000_8003, "mov sfu?sfu b16 %Dh %Ah", &[SD, SS1, SMEM, SSFU]),
    short("s.mov", Mov, ANY, 0x1000_8000, 0xf000_8003, "mov sfu?sfu b32 %D %A", &[SD, SS1, SMEM, SSFU]),
    short("s.add.h", AddH, ANY, 0x2000_0000, 0xe000_8003, "=addop sat?sat b16 %Dh %Ah %Bh %carry", &[SD, SS1, SS2, SMEM, SSAT, ADDOP]),
    short("s.add", Add, ANY, 0x2000_8000, 0xe000_8003, "=addop sat?sat b32 %D %A %B %carry", &[SD, SS1, SS2, SMEM, SSAT, ADDOP]),
    short("s.mul16", Mul16, ANY, 0x4000_0000, 0xf040_0003, "mul %D =sg1 %Ah =sg2 %Bh", &[SD, SS1, SS2, SMEM, SSG1616]),
    short("s.mul24", Mul24, ANY, 0x4040_0000, 0xf040_0003, "mul %D high?high =sg %A %B", &[SD, SS1, SS2, SMEM, SSG24]),
    short("s.sad.h", SadH, ANY, 0x5000_0000, 0xf000_8003, "sad %D =sg %Ah %Bh %D", &[SD, SS1, SS2, SSG16]),
    short("s.sad", Sad, ANY, 0x5000_8000, 0xf000_8003, "sad %D =sg %A %B %D", &[SD, SS1, SS2, SSG32]),
    short("s.mad.u16", MadU16, ANY, 0x6000_0000, 0xe000_8103, "=addop %D ( mul u16 %Ah %Bh ) %D %carry", &[SD, SS1, SS2, SMEM, ADDOP]),
    short("s.mad.s16", MadS16, ANY, 0x6000_0100, 0xe000_8103, "=addop %D ( mul s16 %Ah %Bh ) %D %carry", &[SD, SS1, SS2, SMEM, ADDOP]),
    short("s.mad.sat.s16", MadSatS16, ANY, 0x6000_8000, 0xe000_8103, "=addop sat %D ( mul s16 %Ah %Bh ) %D %carry", &[SD, SS1, SS2, SMEM, ADDOP]),
    short("s.mad.u24", MadU24, ANY, 0x6000_8100, 0xe000_8103, "=addop %D ( mul u24 %A %B ) %D %carry", &[SD, SS1, SS2, SMEM, ADDOP]),
    short("s.interp", Interp, FP, 0x8000_0000, 0xf200_0103, "interp %D cent?cent %mv4", &[SD, SV]),
    short("s.interp.mul", InterpMul, FP, 0x8200_0000, 0xf200_0103, "interp %D cent?cent %mv4 %Ar", &[SD, SS1, SV]),
    short("s.interp.flat", InterpFlat, FP, 0x8000_0100, 0xf300_0103, "interp %D flat %mv4", &[SD, SV_FLAT]),
    short("s.rcp", Rcp, ANY, 0x9000_0000, 0xf000_0003, "rcp f32 %D neg1?neg abs1?abs %Ar", &[SD, SS1, SNA]),
    short("s.fadd", Fadd, ANY, 0xb000_0000, 0xf000_0003, "add sat?sat f32 %D neg1?neg %A neg2?neg %B", &[SD, SS1, SS2, SMEM, SSAT, SN1, SN2]),
    when(short("s.fmul", Fmul, ANY, 0xc000_0000, 0xf000_0003, "mul sat?sat f32 %D neg1?neg %A neg2?neg %B", &[SD, SS1, SS2, SMEM, SSAT, SN1, SN2]), "sat", 1, Sm12),
    short("s.fmad", Fmad, ANY, 0xe000_0000, 0xf000_0003, "add sat?sat f32 %D neg1?neg ( mul %A %B ) neg2?neg %D", &[SD, SS1, SS2, SMEM, SSAT, SN1, SN2]),
    short("s.texauto", Texauto, ANY, 0xf000_0000, 0xf100_0003, "texauto =live %R4 %tex %smp %args", &[SD, STEX]),
    short("s.texfetch", Texfetch, ANY, 0xf100_0000, 0xf100_0003, "texfetch =live %R4 %tex %smp %args", &[SD, STEX]),
    short("s.trap", Trap, ANY, 0x9000_0002, 0xf000_0003, "trap", &[]),
    on(short("s.brkpt", Brkpt, ANY, 0xb000_0002, 0xf000_0003, "brkpt", &[]), Sm11),
    // ---- immediate
    imm("i.mov.h", MovH, 0x1000_0001, 0xf000_8003, "mov b16 %Dh #imm", &[DR, IMM]),
    imm("i.mov", Mov, 0x1000_8001, 0xf000_8003, "mov b32 %D #imm", &[DR, IMM]),
    imm("i.add.h", AddH, 0x2000_0001, 0xe000_8003, "=addop sat?sat b16 %Dh %Ah #imm %carry", &[SD, SS1, IMM, IMEM, SSAT, ADDOP]),
    imm("i.add", Add, 0x2000_8001, 0xe000_8003, "=addop sat?sat b32 %D %A #imm %carry", &[SD, SS1, IMM, IMEM, SSAT, ADDOP]),
    imm("i.mul16", Mul16, 0x4000_0001, 0xf040_0003, "mul %D =sg1 %Ah =sg2 #imm", &[SD, SS1, IMM, IMEM, SSG1616]),
    imm("i.mul24", Mul24, 0x4040_0001, 0xf040_0003, "mul %D high?high =sg %A #imm", &[SD, SS1, IMM, IMEM, SSG24]),
    imm("i.mad.u16", MadU16, 0x6000_0001, 0xe000_8103, "=addop %D ( mul u16 %Ah #imm ) %D %carry", &[SD, SS1, IMM, IMEM, ADDOP]),
    imm("i.mad.s16", MadS16, 0x6000_0101, 0xe000_8103, "=addop %D ( mul s16 %Ah #imm ) %D %carry", &[SD, SS1, IMM, IMEM, ADDOP]),
    imm("i.mad.sat.s16", MadSatS16, 0x6000_8001, 0xe000_8103, "=addop sat %D ( mul s16 %Ah #imm ) %D %carry", &[SD, SS1, IMM, IMEM, ADDOP]),
    imm("i.mad.u24", MadU24, 0x6000_8101, 0xe000_8103, "=addop %D ( mul u24 %A #imm ) %D %carry", &[SD, SS1, IMM, IMEM, ADDOP]),
    imm("i.fadd", Fadd, 0xb000_0001, 0xf000_0003, "add sat?sat f32 %D neg1?neg %A neg2?neg #imm", &[SD, SS1, IMM, IMEM, SSAT, SN1, SN2]),
    when(imm("i.fmul", Fmul, 0xc000_0001, 0xf000_0003, "mul sat?sat f32 %D neg1?neg %A neg2?neg #imm", &[SD, SS1, IMM, IMEM, SSAT, SN1, SN2]), "sat", 1, Sm12),
    imm("i.logic", Logic, 0xd000_0001, 0xf000_0003, "=lop b32 %D not1?not %A #imm", &[SD, SS1, IMM, IMEM, ILOP]),
    imm("i.fmad", Fmad, 0xe000_0001, 0xf000_0003, "add sat?sat f32 %D neg1?neg ( mul %A #imm ) neg2?neg %D", &[SD, SS1, IMM, IMEM, SSAT, SN1, SN2]),
    // ---- long integer
    long("mov.h", MovH, ANY, (0x1000_0001, 0), (0, W), "mov sfu?sfu b16 %Dh %Ah", &[TAIL, D, S1, MEM, LANES, SFU]),
    long("mov", Mov, ANY, (0x1000_0001, W), (0, W), "mov sfu?sfu b32 %D %A", &[TAIL, D, S1, MEM, LANES, SFU]),
    raw("add.h", AddH, ANY, (0x2000_0001, 0), (0xe000_0003, 0xe400_0000), "=addop b16 sat?sat %C %Dh %Ah %Eh %carry", &[TAIL, WC, D, S1, S3, MEM, CS, ADDOP, SAT59]),
    raw("add", Add, ANY, (0x2000_0001, W), (0xe000_0003, 0xe400_0000), "=addop b32 sat?sat %C %D %A %E %carry", &[TAIL, WC, D, S1, S3, MEM, CS, ADDOP, SAT59]),
    long("set.h", SetH, ANY, (0x3000_0001, 0x6000_0000), (0, W), "set %C %Dh =rel =sg %Ah %Bh", &[TAIL, WC, D, S1, S2, MEM, CS, SG16, REL]),
    long("set", Set, ANY, (0x3000_0001, 0x6400_0000), (0, W), "set %C %D =rel =sg %A %B", &[TAIL, WC, D, S1, S2, MEM, CS, SG32, REL]),
    long("max.h", MaxH, ANY, (0x3000_0001, 0x8000_0000), (0, W), "max =sg %C %Dh %Ah %Bh", &[TAIL, WC, D, S1, S2, MEM, CS, SG16]),
    long("max", Max, ANY, (0x3000_0001, 0x8400_0000), (0, W), "max =sg %C %D %A %B", &[TAIL, WC, D, S1, S2, MEM, CS, SG32]),
    long("min.h", MinH, ANY, (0x3000_0001, 0xa000_0000), (0, W), "min =sg %C %Dh %Ah %Bh", &[TAIL, WC, D, S1, S2, MEM, CS, SG16]),
    long("min", Min, ANY, (0x3000_0001, 0xa400_0000), (0, W), "min =sg %C %D %A %B", &[TAIL, WC, D, S1, S2, MEM, CS, SG32]),
    long("shl.h", ShlH, ANY, (0x3000_0001, 0xc000_0000), (0, W | 1 << 20), "shl b16 %C %Dh %Ah %Bh", &[TAIL, WC, D, S1, S2, MEM, CS]),
    long("shl", Shl, ANY, (0x3000_0001, 0xc400_0000), (0, W | 1 << 20), "shl b32 %C %D %A %B", &[TAIL, WC, D, S1, S2, MEM, CS]),
    long("shr.h", ShrH, ANY, (0x3000_0001, 0xe000_0000), (0, W | 1 << 20), "shr =sg %C %Dh %Ah %Bh", &[TAIL, WC, D, S1, S2, MEM, CS, SG16]),
    long("shr", Shr, ANY, (0x3000_0001, 0xe400_0000), (0, W | 1 << 20), "shr =sg %C %D %A %B", &[TAIL, WC, D, S1, S2, MEM, CS, SG32]),
    long("shl.h.count", ShlH, ANY, (0x3000_0001, 0xc010_0000), (0, W | 1 << 20), "shl b16 %C %Dh %Ah #count", &[TAIL, WC, D, S1, COUNT, MEM]),
    long("shl.count", Shl, ANY, (0x3000_0001, 0xc410_0000), (0, W | 1 << 20), "shl b32 %C %D %A #count", &[TAIL, WC, D, S1, COUNT, MEM]),
    long("shr.h.count", ShrH, ANY, (0x3000_0001, 0xe010_0000), (0, W | 1 << 20), "shr =sg %C %Dh %Ah #count", &[TAIL, WC, D, S1, COUNT, MEM, SG16]),
    long("shr.count", Shr, ANY, (0x3000_0001, 0xe410_0000), (0, W | 1 << 20), "shr =sg %C %D %A #count", &[TAIL, WC, D, S1, COUNT, MEM, SG32]),
    long("mul16", Mul16, ANY, (0x4000_0001, 0), (0, 1 << 16), "mul %C %D =sg1 %Ah =sg2 %Bh", &[TAIL, WC, D, S1, S2, MEM, CS, SG1616]),
    long("mul24", Mul24, ANY, (0x4000_0001, 1 << 16), (0, 1 << 16), "mul %C %D high?high =sg %A %B", &[TAIL, WC, D, S1, S2, MEM, CS, SG24]),
    long("sad.h", SadH, ANY, (0x5000_0001, 0), (0, W), "sad %C %D =sg %Ah %Bh %E", &[TAIL, WC, D, S1, S2, S3, MEM, CS, SG16]),
    long("sad", Sad, ANY, (0x5000_0001, W), (0, W), "sad %C %D =sg %A %B %E", &[TAIL, WC, D, S1, S2, S3, MEM, CS, SG32]),
    long("mad.u16", MadU16, ANY, (0x6000_0001, 0), (0, 0), "=addop %C %D ( mul u16 %Ah %Bh ) %E %carry", &[TAIL, WC, D, S1, S2, S3, MEM, CS, ADDOP_MAD]),
    long("mad.s16", MadS16, ANY, (0x6000_0001, 0x2000_0000), (0, 0), "=addop %C %D ( mul s16 %Ah %Bh ) %E %carry", &[TAIL, WC, D, S1, S2, S3, MEM, CS, ADDOP_MAD]),
    long("mad.sat.s16", MadSatS16, ANY, (0x6000_0001, 0x4000_0000), (0, 0), "=addop sat %C %D ( mul s16 %Ah %Bh ) %E %carry", &[TAIL, WC, D, S1, S2, S3, MEM, CS, ADDOP_MAD]),
    long("mad.u24", MadU24, ANY, (0x6000_0001, 0x6000_0000), (0, 0), "=addop %C %D ( mul u24 %A %B ) %E %carry", &[TAIL, WC, D, S1, S2, S3, MEM, CS, ADDOP_MAD]),
    long("mad.s24", MadS24, ANY, (0x6000_0001, 0x8000_0000), (0, 0), "=addop %C %D ( mul s24 %A %B ) %E %carry", &[TAIL, WC, D, S1, S2, S3, MEM, CS, ADDOP_MAD]),
    long("mad.sat.s24", MadSatS24, ANY, (0x6000_0001, 0xa000_0000), (0, 0), "=addop sat %C %D ( mul s24 %A %B ) %E %carry", &[TAIL, WC, D, S1, S2, S3, MEM, CS, ADDOP_MAD]),
    long("mad.high.u24", MadHighU24, ANY, (0x6000_0001, 0xc000_0000), (0, 0), "=addop %C %D ( mul high u24 %A %B ) %E %carry", &[TAIL, WC, D, S1, S2, S3, MEM, CS, ADDOP_MAD]),
    long("mad.high.s24", MadHighS24, ANY, (0x6000_0001, 0xe000_0000), (0, 0), "=addop %C %D ( mul high s24 %A %B ) %E %carry", &[TAIL, WC, D, S1, S2, S3, MEM, CS, ADDOP_MAD]),
    long("mad.sat.high.s24", MadSatHighS24, ANY, (0x7000_0001, 0), (0, 0), "=addop sat %C %D ( mul high s24 %A %B ) %E %carry", &[TAIL, WC, D, S1, S2, S3, MEM, CS, ADDOP_MAD]),
    long("logic.h", LogicH, ANY, (0xd000_0001, 0), (0, W), "=lop b16 %C %Dh not1?not %Ah not2?not %Bh", &[TAIL, WC, D, S1, S2, MEM, CS, LOP]),
    long("logic", Logic, ANY, (0xd000_0001, W), (0, W), "=lop b32 %C %D not1?not %A not2?not %B", &[TAIL, WC, D, S1, S2, MEM, CS, LOP]),
    // ---- long float
    long("interp", Interp, FP, (0x8000_0001, 0), (0, 7 << 16), "interp %D %mv4", &[TAIL, DR, OFFV, AR]),
    long("interp.cent", InterpCent, FP, (0x8000_0001, 1 << 16), (0, 7 << 16), "interp %D cent %mv4", &[TAIL, DR, OFFV, AR]),
    long("interp.mul", InterpMul, FP, (0x8000_0001, 2 << 16), (0, 7 << 16), "interp %D %mv4 neg1?neg %Ar", &[TAIL, DR, S1, OFFV, AR, N1]),
    long("interp.cent.mul", InterpCentMul, FP, (0x8000_0001, 3 << 16), (0, 7 << 16), "interp %D cent %mv4 neg1?neg %Ar", &[TAIL, DR, S1, OFFV, AR, N1]),
    long("interp.flat", InterpFlat, FP, (0x8000_0001, 4 << 16), (0, 7 << 16), "interp %D flat %mv4", &[TAIL, DR, OFFV, AR]),
    long("rcp", Rcp, ANY, (0x9000_0001, 0), (0, 0), "rcp f32 %D neg1?neg abs1?abs %Ar", &[TAIL, D, S1, NA1]),
    long("rsqrt", Rsqrt, ANY, (0x9000_0001, 0x4000_0000), (0, 0), "rsqrt f32 %D neg1?neg abs1?abs %Ar", &[TAIL, D, S1, NA1]),
    long("lg2", Lg2, ANY, (0x9000_0001, 0x6000_0000), (0, 0), "lg2 f32 %D neg1?neg abs1?abs %Ar", &[TAIL, D, S1, NA1]),
    long("sin", Sin, ANY, (0x9000_0001, 0x8000_0000), (0, 0), "sin f32 %D %Ar", &[TAIL, D, S1]),
    long("cos", Cos, ANY, (0x9000_0001, 0xa000_0000), (0, 0), "cos f32 %D %Ar", &[TAIL, D, S1]),
    long("ex2", Ex2, ANY, (0x9000_0001, 0xc000_0000), (0, 0), "ex2 f32 sat?sat %D %Ar", &[TAIL, D, S1, SAT59]),
    raw("fadd", Fadd, ANY, (0xb000_0001, 0), (0xf000_0003, 0xc000_0000), "add sat?sat =rnd f32 %C %D neg1?neg %A neg2?neg %E", &[TAIL, WC, D, S1, S3, MEM, CS, N1, N2, SAT61, RND_ADD]),
    long("fset", Fset, ANY, (0xb000_0001, 0x6000_0000), (0, 0), "set %C %D =rel f32 neg1?neg abs1?abs %A neg2?neg abs2?abs %B", &[TAIL, WC, D, S1, S2, MEM, CS, FRELS, NA1, NA2]),
    long("fmax", Fmax, ANY, (0xb000_0001, 0x8000_0000), (0, 0), "max f32 %C %D neg1?neg abs1?abs %A neg2?neg abs2?abs %B", &[TAIL, WC, D, S1, S2, MEM, CS, NA1, NA2]),
    long("fmin", Fmin, ANY, (0xb000_0001, 0xa000_0000), (0, 0), "min f32 %C %D neg1?neg abs1?abs %A neg2?neg abs2?abs %B", &[TAIL, WC, D, S1, S2, MEM, CS, NA1, NA2]),
    long("presin", Presin, ANY, (0xb000_0001, 0xc000_0000), (0, 1 << 14), "presin f32 %D neg1?neg abs1?abs %A", &[TAIL, D, S1, MEM, NA1]),
    long("preex2", Preex2, ANY, (0xb000_0001, 0xc000_4000), (0, 1 << 14), "preex2 f32 %D neg1?neg abs1?abs %A", &[TAIL, D, S1, MEM, NA1]),
    when(long("fmul", Fmul, ANY, (0xc000_0001, 0), (0, 0), "mul sat?sat =rnd f32 %C %D neg1?neg %A neg2?neg %B", &[TAIL, WC, D, S1, S2, MEM, CS, N1, N2, SAT52, RND_MUL]), "sat", 1, Sm12),
    raw("slct", Slct, ANY, (0xc000_0001, 0x4000_0000), (0xf000_0003, 0xc000_0000), "slct b32 %C %D %A %B f32 neg3?neg %E", &[TAIL, WC, D, S1, S2, S3, MEM, CS, N61]),
    long("quadop", Quadop, ANY, (0xc000_0001, 0x8000_0000), (0, 0), "quadop f32 =q0 =q1 =q2 =q3 %C %D =lane %Ar %Er", &[TAIL, WC, D, S1, S3, QUAD]),
    raw("fmad", Fmad, ANY, (0xe000_0001, 0), (0xf000_0003, 0xc000_0000), "add sat?sat f32 %C %D neg1?neg ( mul %A %B ) neg2?neg %E", &[TAIL, WC, D, S1, S2, S3, MEM, CS, N1, N2, SAT61]),
    on(long("dfma", Dfma, ANY, (0xe000_0001, 0x4000_0000), (0, 0), "fma =rnd f64 %C %Dd neg1?neg %Ad %Bd neg2?neg %Ed", &[TAIL, WC, DR, S1, S2, S3, N1, N2, RND_DFMA]), Fp64),
    on(long("dadd", Dadd, ANY, (0xe000_0001, 0x6000_0000), (0, 0), "add =rnd f64 %C %Dd neg1?neg %Ad neg2?neg %Ed", &[TAIL, WC, DR, S1, S3, N1, N2, RND_DADD]), Fp64),
    on(long("dmul", Dmul, ANY, (0xe000_0001, 0x8000_0000), (0, 0), "mul =rnd f64 %C %Dd neg1?neg %Ad %Bd", &[TAIL, WC, DR, S1, S2, N1, RND_DMUL]), Fp64),
    on(long("dmin", Dmin, ANY, (0xe000_0001, 0xa000_0000), (0, 0), "min f64 %C %Dd neg1?neg abs1?abs %Ad neg2?neg abs2?abs %Bd", &[TAIL, WC, DR, S1, S2, NA1, NA2]), Fp64),
    on(long("dmax", Dmax, ANY, (0xe000_0001, 0xc000_0000), (0, 0), "max f64 %C %Dd neg1?neg abs1?abs %Ad neg2?neg abs2?abs %Bd", &[TAIL, WC, DR, S1, S2, NA1, NA2]), Fp64),
    on(long("dset", Dset, ANY, (0xe000_0001, 0xe000_0000), (0, 0), "set %C %D =rel f64 neg1?neg abs1?abs %Ad neg2?neg abs2?abs %Bd", &[TAIL, WC, D, S1, S2, FRELS, NA1, NA2]), Fp64),
];

const SV_FLAT: &[retroshade_emit::Field] = &[
    retroshade_emit::Field::new("off", &[retroshade_emit::form::bits(23, 16)]),
    retroshade_emit::Field::new("a", &[retroshade_emit::form::bits(27, 26)]),
];

const fn cvt(name: &'static str, op: Op, w1: u32, m1: u32, text: &'static str, fields: Groups) -> TForm {
    raw(name, op, ANY, (0xa000_0001, w1), (0xf000_0003, 0xc000_0000 | m1), text, fields)
}

const fn red(name: &'static str, op: Op, code: u32, text: &'static str, fields: Groups) -> TForm {
    on(when(long(name, op, CP, (0xd000_0001, 0xc000_0000 | code << 2), (0, 15 << 2), text, fields), "ty", 4, Sm12), Sm11)
}
const fn atom(name: &'static str, op: Op, code: u32, text: &'static str, fields: Groups) -> TForm {
    on(when(long(name, op, CP, (0xd000_0001, 0xe000_0000 | code << 2), (0, 15 << 2), text, fields), "ty", 4, Sm12), Sm11)
}

const F16: Ty = Ty::F16;
const F32: Ty = Ty::F32;
const F64: Ty = Ty::F64;
/// Mask bits of float destinations with a saturation bit: 54, 58, 59.
const M_F: u32 = 0x0c40_0000;
/// The same with the float source's size, 48:46.
const M_FF: u32 = M_F | 0x0001_c000;
/// The same without a saturation bit.
const M_FN: u32 = M_FF | 0x0008_0000;

/// Conversions, memory, system registers.
#[rustfmt::skip]
pub const MEMORY: &[TForm] = &[
    // ---- conversions
    cvt("cvt.f16.f16", Op::Cvt(F16, F16), 0xc000_0000, M_FF | 6 << 16, "cvt neg1?neg abs1?abs sat?sat f16 %C %Dh f16 %Ah", &[TAIL, WC, D, S1, MEM, NA_CVT, SAT51]),
    cvt("cvt.int.f16.f16", CvtInt(F16, F16), 0xc800_0000, M_FF, "cvt neg1?neg abs1?abs sat?sat =rnd f16 %C %Dh f16 %Ah", &[TAIL, WC, D, S1, MEM, NA_CVT, SAT51, RND_CVTI]),
    cvt("cvt.f16.f32", Op::Cvt(F16, F32), 0xc000_4000, M_FF, "cvt neg1?neg abs1?abs sat?sat =rnd f16 %C %Dh f32 %A", &[TAIL, WC, D, S1, MEM, NA_CVT, SAT51, RND_CVT]),
    cvt("cvt.f32.f32", Op::Cvt(F32, F32), 0xc400_4000, M_FF | 6 << 16, "cvt neg1?neg abs1?abs sat?sat f32 %C %D f32 %A", &[TAIL, WC, D, S1, MEM, NA_CVT, SAT51]),
    cvt("cvt.int.f32.f32", CvtInt(F32, F32), 0xcc00_4000, M_FF, "cvt neg1?neg abs1?abs sat?sat =rnd f32 %C %D f32 %A", &[TAIL, WC, D, S1, MEM, NA_CVT, SAT51, RND_CVTI]),
    cvt("cvt.f32.f16", Op::Cvt(F32, F16), 0xc400_0000, M_FF | 6 << 16, "cvt neg1?neg abs1?abs sat?sat f32 %C %D f16 %Ah", &[TAIL, WC, D, S1, MEM, NA_CVT, SAT51]),
    on(cvt("cvt.f32.f64", Op::Cvt(F32, F64), 0xc040_4000, M_FN, "cvt neg1?neg abs1?abs =rnd f32 %C %D f64 %Ad", &[TAIL, WC, D, S1, NA_CVT, RND_CVT]), Fp64),
    on(cvt("cvt.f64.f64", Op::Cvt(F64, F64), 0xc440_4000, M_FN | 6 << 16, "cvt neg1?neg abs1?abs f64 %C %Dd f64 %Ad", &[TAIL, WC, DR, S1, NA_CVT]), Fp64),
    on(cvt("cvt.int.f64.f64", CvtInt(F64, F64), 0xcc40_4000, M_FN, "cvt neg1?neg abs1?abs =rnd f64 %C %Dd f64 %Ad", &[TAIL, WC, DR, S1, NA_CVT, RND_CVTI]), Fp64),
    on(cvt("cvt.f64.f32", Op::Cvt(F64, F32), 0xc440_0000, M_FN | 6 << 16, "cvt neg1?neg abs1?abs f64 %C %Dd f32 %A", &[TAIL, WC, DR, S1, MEM, NA_CVT]), Fp64),
    cvt("cvt.i16.f16", Op::Cvt(Ty::H, F16), 0x8000_0000, 0x0449_c000, "cvt neg1?neg abs1?abs =rnd =dty %C %Dh f16 %Ah", &[TAIL, WC, D, S1, MEM, NA_CVT, RND_CVTI, DTY16]),
    cvt("cvt.i16.f32", Op::Cvt(Ty::H, F32), 0x8000_4000, 0x0449_c000, "cvt neg1?neg abs1?abs =rnd =dty %C %Dh f32 %A", &[TAIL, WC, D, S1, MEM, NA_CVT, RND_CVTI, DTY16]),
    cvt("cvt.i32.f16", Op::Cvt(Ty::W, F16), 0x8400_0000, 0x0449_c000, "cvt neg1?neg abs1?abs =rnd =dty %C %D f16 %Ah", &[TAIL, WC, D, S1, MEM, NA_CVT, RND_CVTI, DTY32]),
    cvt("cvt.i32.f32", Op::Cvt(Ty::W, F32), 0x8400_4000, 0x0449_c000, "cvt neg1?neg abs1?abs =rnd =dty %C %D f32 %A", &[TAIL, WC, D, S1, MEM, NA_CVT, RND_CVTI, DTY32]),
    on(cvt("cvt.i32.f64", Op::Cvt(Ty::W, F64), 0x8040_4000, 0x0449_c000, "cvt neg1?neg abs1?abs =rnd =dty %C %D f64 %Ad", &[TAIL, WC, D, S1, NA_CVT, RND_CVTI, DTY32]), Fp64),
    on(cvt("cvt.i64.f32", Op::Cvt(Ty::I64, F32), 0x8440_0000, 0x0449_c000, "cvt neg1?neg abs1?abs =rnd =dty %C %Dd f32 %A", &[TAIL, WC, DR, S1, MEM, NA_CVT, RND_CVTI, DTY64]), Fp64),
    on(cvt("cvt.i64.f64", Op::Cvt(Ty::I64, F64), 0x8440_4000, 0x0449_c000, "cvt neg1?neg abs1?abs =rnd =dty %C %Dd f64 %Ad", &[TAIL, WC, DR, S1, NA_CVT, RND_CVTI, DTY64]), Fp64),
    cvt("cvt.f16.int", Op::Cvt(F16, Ty::H), 0x4000_0000, M_F, "cvt neg1?neg abs1?abs sat?sat =rnd f16 %C %Dh =sty %Asty", &[TAIL, WC, D, S1, MEM, NA_CVT, SAT51, RND_CVT, STY]),
    cvt("cvt.f32.int", Op::Cvt(F32, Ty::H), 0x4400_0000, M_F, "cvt neg1?neg abs1?abs sat?sat =rnd f32 %C %D =sty %Asty", &[TAIL, WC, D, S1, MEM, NA_CVT, SAT51, RND_CVT, STY]),
    on(cvt("cvt.f64.i32", Op::Cvt(F64, Ty::W), 0x4440_0000, 0x0c40_c000, "cvt neg1?neg abs1?abs sat?sat =rnd f64 %C %Dd =sty %A", &[TAIL, WC, DR, S1, MEM, NA_CVT, SAT51, RND_CVT, STY32]), Fp64),
    on(cvt("cvt.f32.i64", Op::Cvt(F32, Ty::I64), 0x4040_4000, 0x0c40_c000, "cvt neg1?neg abs1?abs sat?sat =rnd f32 %C %D =sty %Ad", &[TAIL, WC, D, S1, NA_CVT, SAT51, RND_CVT, STY64]), Fp64),
    on(cvt("cvt.f64.i64", Op::Cvt(F64, Ty::I64), 0x4440_4000, 0x0c40_c000, "cvt neg1?neg abs1?abs sat?sat =rnd f64 %C %Dd =sty %Ad", &[TAIL, WC, DR, S1, NA_CVT, SAT51, RND_CVT, STY64]), Fp64),
    cvt("cvt.int.h", Op::Cvt(Ty::H, Ty::H), 0, 0x0446_0000, "cvt neg1?neg abs1?abs =dty %C %Dh =sty %Asty", &[TAIL, WC, D, S1, MEM, NA_CVT, DTYH, STY]),
    cvt("cvt.int.w", Op::Cvt(Ty::W, Ty::H), W, 0x0446_0000, "cvt neg1?neg abs1?abs =dty %C %D =sty %Asty", &[TAIL, WC, D, S1, MEM, NA_CVT, DTYW, STY]),
    // ---- system and address registers
    long("mov.from.c", MovFromC, ANY, (1, 0x2000_0000), (0, 0), "mov %D %cc", &[TAIL, DR]),
    long("mov.from.a", MovFromA, ANY, (1, 0x4000_0000), (0, 0), "mov %D %asrc", &[TAIL, DR, AR]),
    when(long("mov.from.sr", MovFromSr, ANY, (1, 0x6000_0000), (0, 0), "mov %D =sr", &[TAIL, DR, SR]), "sr", 8, D3d101),
    ign(long("mov.to.c", MovToC, ANY, (1, 0xa000_0000), (0, 0), "mov %cd %Ar", &[TAIL, CD, S1]), 0, 0x40),
    long("shl.a", ShlA, ANY, (1, 0xc000_0000), (0, 0), "shl %adst %A #count", &[TAIL, DA, S1, COUNT4, MEM]),
    long("add.a", AddA, ANY, (0xd000_0001, 0x2000_0000), (0, 0), "add %adst %asrc #imm", &[TAIL, DA, IMM16, AR]),
    // ---- attributes and outputs
    long("ld.a", LdA, VP | GP, (1, 0x0420_0000), (0, 0x0420_0000), "ld b32 %D %ma4", &[TAIL, D, OFFA, AR, LANES]),
    long("st.o", StO, ANY, (1, 0x80c0_0000), (0, 0x00c0_0000), "st b32 %mo4 %Er", &[TAIL, OFF4, S3, AR]),
    // ---- constants
    ign(long("ld.c.u8", LdC8, ANY, (0x1000_0001, 0x2000_0000), (0, 3 << 14), "ld %Dw u8 %mc1", &[TAIL, D, OFF1, ARI, CS, W58]), 0, 0),
    long("ld.c.u16", LdC16, ANY, (0x1000_0001, 0x2000_4000), (0, 3 << 14), "ld %Dw u16 %mc2", &[TAIL, D, OFF2, ARI, CS, W58]),
    long("ld.c.s16", LdCs16, ANY, (0x1000_0001, 0x2000_8000), (0, 3 << 14), "ld %Dw s16 %mc2", &[TAIL, D, OFF2, ARI, CS, W58]),
    long("ld.c", LdC, ANY, (0x1000_0001, 0x2000_c000), (0, 3 << 14), "ld %Dw b32 %mc4", &[TAIL, D, OFF4, ARI, CS, W58]),
    // ---- shared memory
    on(long("ld.s.u8", LdS8, CP, (0x1000_0001, 0x4000_0000), (0, 3 << 14), "ld %Dw u8 %ms1", &[TAIL, D, OFF1, ARI, W58]), Sm11),
    on(long("ld.s.u16", LdS16, CP, (0x1000_0001, 0x4000_4000), (0, 3 << 14), "ld %Dw u16 %ms2", &[TAIL, D, OFF2, ARI, W58]), Sm11),
    on(long("ld.s.s16", LdSs16, CP, (0x1000_0001, 0x4000_8000), (0, 3 << 14), "ld %Dw s16 %ms2", &[TAIL, D, OFF2, ARI, W58]), Sm11),
    on(long("ld.s", LdS, CP, (0x1000_0001, 0x4000_c000), (0, 0x0080_c000), "ld %Dw b32 %ms4", &[TAIL, D, OFF4, ARI, W58]), Sm11),
    on(long("ld.lock", LdLock, CP, (0x1000_0001, 0x4080_c000), (0, 0x0080_c000), "ld lock %cd %Dw b32 %ms4", &[TAIL, WCV, D, OFF4, ARI, W58]), Sm12),
    long("st.s.b8", StS8, CP, (1, 0xe040_0000), (0, 0x0440_0000), "st b8 %ms1 %Ew", &[TAIL, S3, OFF1, ARI, W53]),
    long("st.s.b16", StS16, CP, (1, 0xe000_0000), (0, 0x0440_0000), "st b16 %ms2 %Ew", &[TAIL, S3, OFF2, ARI, W53]),
    when(long("st.s", StS, CP, (1, 0xe420_0000), (0, 0x0460_0000), "st unlock?unlock b32 %ms4 %Er", &[TAIL, S3, OFF4, ARI, UNLOCK]), "unlock", 1, Sm12),
    // ---- local and global memory
    long("ld.l", LdL, ANY, (0xd000_0001, 0x4000_0000), (0, 0), "ld =ty %Dt %ml1", &[TAIL, DR, OFF1, ARI, MTY]),
    long("st.l", StL, ANY, (0xd000_0001, 0x6000_0000), (0, 0), "st =ty %ml1 %Dt", &[TAIL, DR, OFF1, ARI, MTY]),
    long("ld.g", LdG, CP, (0xd000_0001, 0x8000_0000), (0, 0), "ld =ty %Dt %mg", &[TAIL, DR, S1, GS, MTY]),
    long("st.g", StG, CP, (0xd000_0001, 0xa000_0000), (0, 0), "st =ty %mg %Dt", &[TAIL, DR, S1, GS, MTY]),
    red("red.add", RedAdd, 0, "red add =ty %mg %Dt", &[TAIL, DR, S1, GS, ATY_ADD]),
    red("red.inc", RedInc, 4, "red inc =ty %mg %Dt", &[TAIL, DR, S1, GS, ATY_U]),
    red("red.dec", RedDec, 5, "red dec =ty %mg %Dt", &[TAIL, DR, S1, GS, ATY_U]),
    red("red.max", RedMax, 6, "red max =ty %mg %Dt", &[TAIL, DR, S1, GS, ATY_SG]),
    red("red.min", RedMin, 7, "red min =ty %mg %Dt", &[TAIL, DR, S1, GS, ATY_SG]),
    red("red.and", RedAnd, 10, "red and =ty %mg %Dt", &[TAIL, DR, S1, GS, ATY_B]),
    red("red.or", RedOr, 11, "red or =ty %mg %Dt", &[TAIL, DR, S1, GS, ATY_B]),
    red("red.xor", RedXor, 12, "red xor =ty %mg %Dt", &[TAIL, DR, S1, GS, ATY_B]),
    atom("atom.add", AtomAdd, 0, "ld add =ty %Dt %mg %Bt", &[TAIL, DR, S1, S2, GSA, ATY_ADD]),
    atom("exch", Exch, 1, "exch =ty %Dt %mg %Bt", &[TAIL, DR, S1, S2, GSA, ATY_X]),
    atom("cas", Cas, 2, "cas =ty %Dt %mg %Bt %Et", &[TAIL, DR, S1, S2, S3, GSA, ATY_X]),
    atom("atom.inc", AtomInc, 4, "ld inc =ty %Dt %mg %Bt", &[TAIL, DR, S1, S2, GSA, ATY_U]),
    atom("atom.dec", AtomDec, 5, "ld dec =ty %Dt %mg %Bt", &[TAIL, DR, S1, S2, GSA, ATY_U]),
    atom("atom.max", AtomMax, 6, "ld max =ty %Dt %mg %Bt", &[TAIL, DR, S1, S2, GSA, ATY_SG]),
    atom("atom.min", AtomMin, 7, "ld min =ty %Dt %mg %Bt", &[TAIL, DR, S1, S2, GSA, ATY_SG]),
    atom("atom.and", AtomAnd, 10, "ld and =ty %Dt %mg %Bt", &[TAIL, DR, S1, S2, GSA, ATY_B]),
    atom("atom.or", AtomOr, 11, "ld or =ty %Dt %mg %Bt", &[TAIL, DR, S1, S2, GSA, ATY_B]),
    atom("atom.xor", AtomXor, 12, "ld xor =ty %Dt %mg %Bt", &[TAIL, DR, S1, S2, GSA, ATY_B]),
    // ---- votes
    on(long("vote.any", VoteAny, ANY, (0x1000_0201, 0x6000_0000), (0x0000_fe00, 0), "vote any %cd", &[TAIL, WCV]), Sm12),
    on(long("vote.all", VoteAll, ANY, (0x1000_0401, 0x6000_0000), (0x0000_fe00, 0), "vote all %cd", &[TAIL, WCV]), Sm12),
];

const fn tex(name: &'static str, op: Op, w: (u32, u32), m: (u32, u32), text: &'static str) -> TForm {
    long(name, op, ANY, w, (0x0900_0000 | m.0, m.1), text, &[TAIL, DR, TEX, TEXN, TEXOFF])
}
/// Without texel offsets.
const fn texn(name: &'static str, op: Op, w: (u32, u32), m: (u32, u32), text: &'static str) -> TForm {
    long(name, op, ANY, w, (0x0900_0000 | m.0, m.1), text, &[TAIL, DR, TEX, TEXN])
}

/// Textures, geometry, control flow.
#[rustfmt::skip]
pub const CONTROL: &[TForm] = &[
    tex("texauto", Texauto, (0xf000_0001, 0), (0, 0), "texauto =live deriv?deriv %R %tex %smp %args %offsets"),
    texn("texauto.cube", Texauto, (0xf800_0001, 0), (0, 0), "texauto cube =live deriv?deriv %R %tex %smp %args"),
    tex("texfetch", Texfetch, (0xf100_0001, 0), (0, 0), "texfetch =live deriv?deriv %R %tex %smp %args %offsets"),
    tex("texbias", Texbias, (0xf000_0001, 0x2000_0000), (0, 0), "texbias =live deriv?deriv %R %tex %smp %args %offsets"),
    texn("texbias.cube", Texbias, (0xf800_0001, 0x2000_0000), (0, 0), "texbias cube =live deriv?deriv %R %tex %smp %args"),
    tex("texlod", Texlod, (0xf000_0001, 0x4000_0000), (0, 0), "texlod =live deriv?deriv %R %tex %smp %args %offsets"),
    texn("texlod.cube", Texlod, (0xf800_0001, 0x4000_0000), (0, 0), "texlod cube =live deriv?deriv %R %tex %smp %args"),
    long("texsize", Texsize, ANY, (0xf000_0001, 0x6000_0000), (0x0900_0000, 3 << 16), "texsize =live deriv?deriv %R %tex %smp %arg1", &[TAIL, DR, TEX]),
    on(texn("texprep.cube", Texprep, (0xf800_0001, 0x6001_0000), (0, 3 << 16), "texprep cube =live deriv?deriv %R %tex %smp %args"), D3d101),
    on(texn("texquerylod", Texquerylod, (0xf000_0001, 0x6002_0000), (0, 3 << 16), "texquerylod =live deriv?deriv %R %tex %smp %args"), D3d101),
    on(texn("texquerylod.cube", Texquerylod, (0xf800_0001, 0x6002_0000), (0, 3 << 16), "texquerylod cube =live deriv?deriv %R %tex %smp %args"), D3d101),
    tex("texcsaa", Texcsaa, (0xf000_0001, 0x8000_0000), (0, 0), "texcsaa =live deriv?deriv %R %tex %smp %args %offsets"),
    on(tex("texgather", Texgather, (0xf100_0001, 0x8000_0000), (0, 0), "texgather =live deriv?deriv %R %tex %smp %args %offsets"), D3d101),
    on(texn("texgather.cube", Texgather, (0xf900_0001, 0x8000_0000), (0, 0), "texgather cube =live deriv?deriv %R %tex %smp %args"), D3d101),
    long("emit", Emit, GP, (0xf000_0201, 0xc000_0000), (0x0000_0600, 0), "emit", &[TAIL]),
    long("restart", Restart, GP, (0xf000_0401, 0xc000_0000), (0x0000_0600, 0), "restart", &[TAIL]),
    long("nop", Nop, ANY, (0xf000_0001, 0xe000_0000), (0, 4), "nop", &[TAIL]),
    long("pmevent", Pmevent, ANY, (0xf000_0001, 0xe000_0004), (0, 4), "pmevent #id", &[TAIL, EVENT]),
    ctl("discard", Discard, FP, (3, 0), (0, 0), "discard", &[CPRED]),
    ctl("bra", Bra, ANY, (0x1000_0003, 0), (0, 0), "bra %target", &[CPRED, TARGET]),
    ign(ctl("call", Call, ANY, (0x2000_0003, 0), (0, 0), "call lim?lim %target", &[TARGET, LIM]), 0, PREDBITS),
    ctl("ret", Ret, ANY, (0x3000_0003, 0), (0, 0), "ret", &[CPRED]),
    ign(ctl("prebrk", Prebrk, ANY, (0x4000_0003, 0), (0, 0), "breakaddr %target", &[TARGET]), 0, PREDBITS),
    ctl("brk", Brk, ANY, (0x5000_0003, 0), (0, 0), "break", &[CPRED]),
    ign(ctl("quadon", Quadon, ANY, (0x6000_0003, 0), (0, 0), "quadon", &[]), 0, PREDBITS),
    ign(ctl("quadpop", Quadpop, ANY, (0x7000_0003, 0), (0, 0), "quadpop", &[]), 0, PREDBITS),
    ign(ctl("bar", Bar, ANY, (0x8000_0003, 0x4000), (0, 0x4000), "bar arrive?inc wait?wait #bar all", &[BARRIER]), 0, PREDBITS),
    ign(ctl("bar.warps", BarWarps, ANY, (0x8000_0003, 0), (0, 0x4000), "bar arrive?inc wait?wait #bar #warps", &[BARRIER, WARPS]), 0, PREDBITS),
    ign(ctl("trap", Trap, ANY, (0x9000_0003, 0), (0, 0), "trap", &[]), 0, PREDBITS),
    ign(ctl("joinat", Joinat, ANY, (0xa000_0003, 0), (0, 0), "joinat %target", &[TARGET]), 0, PREDBITS),
    on(ctl("brkpt", Brkpt, ANY, (0xb000_0003, 0), (0, 0), "brkpt", &[CPRED]), Sm11),
    on(ign(ctl("bra.c", BraC, ANY, (0xc000_0003, 0), (0, 0), "bra lim?lim %mc1", &[OFF1, AR, CS, LIM]), 0, PREDBITS), D3d101),
    on(ign(ctl("preret", Preret, ANY, (0xd000_0003, 0), (0, 0), "preret lim?lim %target", &[TARGET, LIM]), 0, PREDBITS), D3d101),
];
