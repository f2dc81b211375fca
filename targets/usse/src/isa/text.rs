//! Native text of instruction words, in the syntax that the known answers use.
//!
//! The text drops scheduling flags; the field listing is the lossless form. Where an instruction repeats, one reading per
//! iteration is printed, with the repeat state as it is at the start of a program.

use crate::isa::dual;
use crate::isa::forms::{
    BR, DEPTHF, EMIT, I8MAD, I16MAD, I32MAD, I32MAD2, LIMM, NOP, PHAS, SMBO, SMLSI, SMP, SOP2, SOP2M, SOP3, TABLE, V16NMAD, V32NMAD, VBW,
    VCOMP, VDP, VDUAL, VLDST, VMAD, VMAD2, VMOV, VPCK, VTST, VTSTMSK, WDF, branch_offset, field, row_of,
};
use crate::isa::immediate;
use crate::isa::names;
use crate::isa::operands::Role::{self, *};
use crate::isa::operands::{Src, is_unified, operand, read_operand, value};
use crate::isa::registers::{Bank, Reg};
use crate::isa::swizzle::{IDENTITY, Swizzle, letter};
use retroshade_emit::FieldName;
use retroshade_emit::form::Decoded;
use retroshade_emit::form::FormId;

/// The text of a predicate field's value; an empty one is no predicate.
pub fn predicate(form: FormId, code: u64) -> &'static str {
    row_of(form).predicate.and_then(|p| p.0.names().get(code as usize)).unwrap_or(&"")
}

/// Lanes under a mask: letters in place, a dash for lanes below the highest that are off.
fn lanes(sel: Swizzle, mask: u8) -> String {
    let mut s: String = (0..4).map(|k| if mask >> k & 1 == 1 { letter(sel[k]) } else { '-' }).collect();
    s.truncate(s.trim_end_matches('-').len());
    s
}

fn modified(body: String, neg: bool, abs: bool) -> String {
    let body = if neg { format!("-{body}") } else { body };
    if abs { format!("abs({body})") } else { body }
}

fn source(s: &Src, mask: u8) -> String {
    let body = modified(s.reg.to_string(), s.neg, s.abs);
    if s.reg.bank == Bank::Imm { body } else { format!("{body}.{}", lanes(s.sel, mask)) }
}

fn dest(reg: Reg, mask: u8) -> String {
    format!("{reg}.{}", lanes(IDENTITY, mask))
}

/// Lanes that a half-precision unified destination's mask means: bit 0 = xy, bit 2 = zw.
pub fn pair_mask(mask: u8) -> u8 {
    ((mask & 1) * 3) | ((mask >> 2 & 1) * 12)
}

/// Whether a half-precision mask is shown lane by lane: internal registers have it so, indexed ones are shown so.
pub fn by_lane(bank: Bank) -> bool {
    matches!(bank, Bank::I | Bank::Indexed(_))
}

/// VPCK's selector for each lane.
pub fn pack_selectors(d: &Decoded) -> Swizzle {
    let (src, dst, mask) = (value(d, field!(src_fmt)), value(d, field!(dest_fmt)), value(d, field!(dest_mask)));
    let high = if src == 6 { value(d, field!(comp0_sel_bit1)) } else { value(d, field!(src2_n)) & 1 };
    let c = [
        value(d, field!(comp_sel_0_bit0)) | high << 1,
        value(d, field!(comp_sel_1)),
        value(d, field!(comp_sel_2)),
        value(d, field!(comp_sel_3)),
    ]
    .map(|v| v as u8);
    let float = |f| f >= 5;
    if (float(src) && float(dst)) || (value(d, field!(scale)) == 1 && (src == 0 || dst == 0)) {
        return c;
    }
    if (src == 0 || dst == 0) && mask == 15 {
        return [c[0], c[1], c[0], c[1]];
    }
    let (mut out, mut next) = ([0; 4], 0);
    for (k, o) in out.iter_mut().enumerate() {
        if mask >> k & 1 == 1 {
            *o = c[next];
            next += 1;
        }
    }
    out
}

/// How far an operand moves in iteration `k` of a repeat (state as at program start), in registers.
fn step(d: &Decoded, role: Role, reg: Reg, k: u16) -> u16 {
    let name = d.form;
    if name == VMAD || name == VDP {
        let gpi = role == Src0 || role == Src2;
        return match (value(d, field!(repeat_mode)), gpi, reg.bank == Bank::I) {
            (0, false, false) | (2, false, false) => 4 * k,
            (1 | 2, true, _) | (1 | 2, false, true) => k,
            (3, false, false) if role == Dest => 4 * k,
            (3, false, false) if reg.bank == Bank::Const => k,
            (3, false, false) => 2 * k,
            _ => 0,
        };
    }
    let fixed_point = name == VMOV && value(d, field!(move_data_type)) == 3;
    let doubled = !fixed_point && operand(name, role).is_some_and(|o| crate::isa::operands::doubled(d, o));
    match reg.bank {
        // The known answers show the condition of a move, and fixed-point moves, as if they did not come in pairs.
        _ if name == VMOV && role == Src0 => 0,
        Bank::Imm if name != I32MAD => 0,
        b if is_unified(b) && doubled && !(name == VPCK && role == Dest) => 2 * k,
        _ => k,
    }
}

/// Number of extra iterations.
pub fn repeats(d: &Decoded) -> u16 {
    row_of(d.form).repeat.map_or(0, |f| value(d, f)) as u16
}

/// A word's native text.
pub fn native(d: &Decoded) -> String {
    let name = d.form;
    if name == VDUAL {
        return vdual(d);
    }
    let p = match name {
        NOP | WDF | EMIT | PHAS | SMLSI | SMBO | SOP2 | SOP2M | SOP3 => "",
        _ => predicate(name, value(d, field!(pred))),
    };
    let p = if p.is_empty() { String::new() } else { format!("{p} ") };
    let count = match name {
        // The known answers show these once.
        VTST | I32MAD2 => 0,
        VLDST if value(d, field!(op1)) == 2 => value(d, field!(mask_count)) as u16,
        _ => repeats(d),
    };
    let once = |k| {
        let body = iteration(d, name, k);
        match body.strip_prefix(names::SATURATED) {
            Some(rest) => format!("{}{p}{rest}", names::SATURATED),
            None => format!("{p}{body}"),
        }
    };
    (0..=count).map(once).collect::<Vec<_>>().join(" | ")
}

fn vdual(d: &Decoded) -> String {
    let Some(w) = dual::decode(d) else { return "VDUAL (no such pair of operations)".to_string() };
    let p = predicate(VDUAL, w.pred);
    let p = if p.is_empty() { String::new() } else { format!("{p} ") };
    let half = |h: &dual::Half| {
        let read = match h.op {
            o if o.is_vector_store() => h.mask,
            o if o.is_vector() => 7 | if w.four { 8 } else { 0 },
            _ => 1,
        };
        let srcs: Vec<_> = h.src.iter().map(|s| source(s, read)).collect();
        format!("{} {} {}", h.op.name(), dest(h.dest, h.mask), srcs.join(" "))
    };
    format!("{p}{} + {}", half(&w.halves[0]), half(&w.halves[1]))
}

/// Tests by their fields: sign, zero, name for comparisons, name for other operations.
pub const TESTS: [(u64, u64, &str, &str); 7] = [
    (0, 1, "equal", "equalzero"),
    (0, 2, "ne", "nezero"),
    (1, 1, "le", "lezero"),
    (1, 2, "lt", "ltzero"),
    (2, 1, "ge", "gezero"),
    (2, 2, "gt", "gtzero"),
    (0, 0, "ne", "nezero"),
];

/// The mnemonic and type of a test's operation.
pub fn test_op(sel: u64, op: u64, f32: bool) -> (&'static str, &'static str) {
    let ty = match (sel, op) {
        (0, _) => ["f16", "f32"][f32 as usize],
        (1, 6..=8) => "i16",
        (1, 9..=11) => "u16",
        (1, 12 | 14) => "i32",
        (1, _) | (3, _) => "u32",
        _ => "u8",
    };
    let name = match (sel, op, f32) {
        (0, 14, _) | (1, 7 | 10 | 14 | 15, _) | (2, 1 | 3 | 8, _) => "CMP",
        (0, 2, true) => "VADD",
        (0, 2, false) => "VF16ADD",
        (0, 3, true) => "VFRC",
        (0, 3, false) => "VF16FRC",
        (0, 4, _) => "VRCP",
        (0, 5, _) => "VRSQ",
        (0, 6, _) => "VLOG",
        (0, 7, _) => "VEXP",
        (0, 8, true) => "VDP",
        (0, 8, false) => "VF16DP",
        (0, 9, true) => "VMIN",
        (0, 9, false) => "VF16MIN",
        (0, 10, true) => "VMAX",
        (0, 10, false) => "VF16MAX",
        (0, 11, true) => "VDSX",
        (0, 11, false) => "VF16DSX",
        (0, 12, true) => "VDSY",
        (0, 12, false) => "VF16DSY",
        (0, 13, true) => "VMUL",
        (0, 13, false) => "VF16MUL",
        (1, 6, _) => "IADD16",
        (1, 8, _) => "IMUL16",
        (1, 9, _) => "IADDU16",
        (1, 11, _) => "IMULU16",
        (1, 12, _) => "IADD32",
        (1, 13, _) => "IADDU32",
        (2, 0, _) => "IADD8",
        (2, 2, _) => "IADDU8",
        (2, 4, _) => "IMUL8",
        (2, 5, _) => "FPMUL8",
        (2, 6, _) => "IMULU8",
        (2, 7, _) => "FPADD8",
        (3, 0, _) => "AND",
        (3, 1, _) => "OR",
        (3, 2, _) => "XOR",
        (3, 3, _) => "SHL",
        (3, 4, _) => "SHR",
        (3, 5, _) => "ROL",
        (3, 7, _) => "ASR",
        _ => "?",
    };
    (name, ty)
}

fn iteration(d: &Decoded, name: FormId, k: u16) -> String {
    let f = |n: FieldName| value(d, n);
    let get = |role: Role| {
        let mut s = operand(name, role).map_or(Src::new(Reg::r(0)), |o| read_operand(d, o));
        s.reg.n += step(d, role, s.reg, k);
        s
    };
    match name {
        VMAD2 | V32NMAD | V16NMAD => {
            let half = name == V16NMAD || f(field!(dat_fmt)) == 1;
            let to = get(Dest).reg;
            let mut mask = f(field!(dest_mask)) as u8;
            if name == VMAD2 && half && !by_lane(to.bank) {
                mask = pair_mask(mask);
            }
            if name == VMAD2 {
                let op = if half { "VF16MAD2" } else { "VMAD2" };
                return format!(
                    "{op} {} {} {} {}",
                    dest(to, mask),
                    source(&get(Src0), mask),
                    source(&get(Src1), mask),
                    source(&get(Src2), mask)
                );
            }
            let op = names::VECTOR[f(field!(op2)) as usize];
            let read = if op == "DP" { 15 } else { mask };
            format!("V{}{op} {} {} {}", if half { "F16" } else { "" }, dest(to, mask), source(&get(Src1), read), source(&get(Src2), read))
        }
        VMAD => {
            let mask = f(field!(write_mask)) as u8;
            format!(
                "VMAD {} {} {} {}",
                dest(get(Dest).reg, mask),
                source(&get(Src0), mask),
                source(&get(Src1), mask),
                source(&get(Src2), mask)
            )
        }
        VDP => {
            let m = f(field!(write_mask)) as u8;
            let mask = (m << k | m >> (4 - k)) & 15;
            let to = read_operand(d, &row_of(name).operands[0]).reg;
            let read = if f(field!(opcode2)) == 1 { 15 } else { 7 };
            format!("VDP {} {} {}", dest(to, mask), source(&get(Src1), read), source(&get(Src0), read))
        }
        VCOMP => {
            let op = names::COMPLEX[f(field!(op2)) as usize];
            let s = get(Src1);
            let body = modified(s.reg.to_string(), s.neg, s.abs);
            format!("{op} {} {body}.{}", dest(get(Dest).reg, f(field!(write_mask)) as u8), lanes(IDENTITY, 1 << f(field!(src_comp))))
        }
        VMOV => vmov(d, get),
        VPCK => {
            let (from, to, mask) = (f(field!(src_fmt)), f(field!(dest_fmt)), f(field!(dest_mask)) as u8);
            let mut s1 = get(Src1);
            s1.sel = pack_selectors(d);
            let s2 = get(Src2);
            let src = source(&s1, mask);
            let src = if from == 6 && s2.reg.bank != Bank::Imm { format!("({src} {})", source(&s2, 15)) } else { src };
            let scale = if f(field!(scale)) == 1 { "scale" } else { "noscale" };
            format!(
                "VPCK{}{} {} {src} [{scale}]",
                names::Format::NAMES[to as usize],
                names::Format::NAMES[from as usize],
                dest(get(Dest).reg, mask)
            )
        }
        VTST | VTSTMSK => vtst(d, name, get),
        VBW => {
            let op = names::bitwise(f(field!(op1)), f(field!(op2)));
            let s2 = get(Src2);
            let s2 = if s2.reg.bank == Bank::Imm { format!("0x{:X}", immediate::bitwise(d)) } else { source(&s2, 1) };
            format!(
                "{op}{} {} {} {s2}",
                if f(field!(bitwise_partial)) == 1 { "16" } else { "" },
                dest(get(Dest).reg, 1),
                source(&get(Src1), 1)
            )
        }
        I32MAD => {
            // The text names no halves.
            format!("IMAD2 {} {} {} {}", dest(get(Dest).reg, 1), source(&get(Src0), 1), source(&get(Src1), 1), source(&get(Src2), 1))
        }
        I32MAD2 => format!(
            "IMAD {} {} {} {} [sn={}]",
            dest(get(Dest).reg, 1),
            source(&get(Src0), 1),
            source(&get(Src1), 1),
            source(&get(Src2), 1),
            f(field!(sn))
        ),
        I16MAD => {
            let part = |s: &Src, fmt: u64, high: u64| match (fmt, s.reg.bank == Bank::Imm) {
                (0, _) => source(s, 1),
                (_, true) => format!("{}-8bits", s.reg),
                _ if high == 1 => format!("{}.-y-8bits", s.reg),
                _ => format!("{}.x-8bits", s.reg),
            };
            let sat = if f(field!(mode)) & 1 == 1 { names::SATURATED } else { "" };
            format!(
                "{sat}IMAD16 {} {} {} {}",
                dest(get(Dest).reg, 1),
                source(&get(Src0), 1),
                part(&get(Src1), f(field!(src1_format)), f(field!(sel1h_upper8))),
                part(&get(Src2), f(field!(src2_format)), f(field!(sel2h_upper8)))
            )
        }
        I8MAD => {
            let (s0, s1, s2) = (get(Src0), get(Src1), get(Src2));
            let all = |s: &Src, alpha: u64| source(&s.sel(if alpha == 1 { [3; 4] } else { IDENTITY }), 15);
            let colour = match f(field!(csel0)) {
                0 => source(&s0, 7),
                2 => source(&s0.sel([3; 4]), 7),
                _ => source(&s1.sel(if f(field!(csel1)) == 1 { [3; 4] } else { IDENTITY }), 7),
            };
            let alpha = source(if f(field!(asel0)) == 1 { &s1 } else { &s0 }, 8);
            let neg = if f(field!(src0_neg)) == 1 { "-" } else { "" };
            format!(
                "IMA8 {} {} {} {neg}({colour}, {alpha})",
                dest(get(Dest).reg, 15),
                all(&s1, f(field!(csel1))),
                all(&s2, f(field!(csel2)))
            )
        }
        SOP2 | SOP2M | SOP3 => {
            const OP: [&str; 4] = ["FADD", "FSUB", "FMIN", "FMAX"];
            format!("{0}:{1} | {0}:{2}", TABLE.form(name).name, OP[f(field!(cop)) as usize], OP[f(field!(aop)) as usize])
        }
        SMP => {
            let dotted = |s: &str| if s.is_empty() { String::new() } else { format!(".{s}") };
            let op = names::SAMPLES[f(field!(dim)) as usize];
            let to = dotted(names::CONVERSIONS[f(field!(fconv_type)) as usize]);
            let from = names::COORDINATES[f(field!(src0_type)) as usize];
            let mode = dotted(names::SAMPLE_MODES[f(field!(sb_mode)) as usize]);
            let bank = if f(field!(dest_use_pa)) == 1 { Bank::Pa } else { Bank::R };
            let coord = [1, 3, 7, 15][f(field!(dim)) as usize];
            let lod = if f(field!(lod_mode)) == 0 { String::new() } else { format!(" {}", source(&get(Src2), 1)) };
            format!(
                "{op}{to}.{from}{mode} {bank}.x {} {}{lod}",
                source(&get(Src0), coord),
                get(Src1).reg,
                bank = Reg::new(bank, f(field!(dest_n)) as u16)
            )
        }
        VLDST => {
            let size = [4, 2, 1, 0][f(field!(data_type)) as usize];
            let load = f(field!(op1)) == 1;
            let bank = if f(field!(dest_bank_primattr)) == 1 { Bank::Pa } else { Bank::R };
            let data = Reg::new(bank, f(field!(dest_n)) as u16);
            let off = get(Src1);
            let off = if off.reg.bank == Bank::Imm { (off.reg.n * size).to_string() } else { source(&off, 1) };
            if load {
                let bytes = (f(field!(mask_count)) + 1) * size as u64;
                return format!("LDR {data}.? ({} + {off} + {}) [{bytes} bytes]", source(&get(Src0), 1), source(&get(Src2), 1));
            }
            let at = |role| {
                let mut s = operand(name, role).map_or(Src::new(Reg::r(0)), |o| read_operand(d, o));
                if s.reg.bank == Bank::Imm {
                    return (s.reg.n * size + k).to_string();
                }
                s.reg.n += k;
                source(&s, 1)
            };
            format!("STR {} ({} + {} + 0) [4 bytes]", at(Src2), at(Src0), at(Src1))
        }
        LIMM => {
            format!("MOV {} #0x{:X}", dest(get(Dest).reg, 1), immediate::limm(d))
        }
        DEPTHF => format!("DEPTHF {} {} {}", source(&get(Src0), 1), source(&get(Src1), 1), source(&get(Src2), 1)),
        BR => {
            let off = branch_offset(d);
            let op = if f(field!(br_type)) == 1 { "BR" } else { "BA" };
            format!("{op}{} {off:+}", if f(field!(save_link)) == 1 { ".link" } else { "" })
        }
        NOP => {
            let flag = |n: FieldName, s: &'static str| if f(n) == 1 { s } else { "" };
            format!("NOP{}{}{}", flag(field!(syncend), ".syncend"), flag(field!(end), ".end"), flag(field!(nosched), ".nosched"))
        }
        WDF => format!("WDF drc{}{}", f(field!(drc_sel)), if f(field!(nosched)) == 1 { ".nosched" } else { "" }),
        EMIT => "EMIT.vertex.end".to_string(),
        PHAS => format!("PHAS wait={} temps={}", f(field!(wait_cond)), f(field!(temp_count))),
        SMLSI => {
            let inc = |inc: FieldName, mode: FieldName| {
                let v = f(inc);
                if f(mode) == 1 {
                    format!("swizz.({}{}{}{})", v & 3, v >> 2 & 3, v >> 4 & 3, v >> 6 & 3)
                } else {
                    format!(" inc.{}", v as u8 as i8)
                }
            };
            let all = [
                inc(field!(dest_inc), field!(dest_inc_mode)),
                inc(field!(src0_inc), field!(src0_inc_mode)),
                inc(field!(src1_inc), field!(src1_inc_mode)),
                inc(field!(src2_inc), field!(src2_inc_mode)),
            ];
            format!("SMLSI {}", all.join(" "))
        }
        SMBO => {
            format!("SMBO {}, {}, {}, {}", f(field!(dest_offset)), f(field!(src0_offset)), f(field!(src1_offset)), f(field!(src2_offset)))
        }
        _ => TABLE.form(name).name.to_string(),
    }
}

fn vmov(d: &Decoded, get: impl Fn(Role) -> Src) -> String {
    let f = |n: FieldName| value(d, n);
    let ty = names::MOVE_TYPES[f(field!(move_data_type)) as usize];
    let to = get(Dest).reg;
    let mut mask = f(field!(dest_mask)) as u8;
    let (mut s1, mut s2) = (get(Src1), get(Src2));
    match f(field!(move_data_type)) {
        0..=2 => {
            mask = 1;
            (s1.sel, s2.sel) = (IDENTITY, IDENTITY);
        }
        4 if !by_lane(to.bank) => mask = pair_mask(mask),
        _ => {}
    }
    if f(field!(move_type)) == 0 {
        return format!("{}.{ty} {} {}", names::MOVES[0], dest(to, mask), source(&s1, mask));
    }
    let cond = names::RELATIONS[(f(field!(test_bit_2)) << 1 | f(field!(test_bit_1))) as usize];
    let op = names::MOVES[f(field!(move_type)) as usize];
    let s0 = get(Src0);
    format!("{op}.{ty} {} ({} {cond} vec(0)) ? {} : {}", dest(to, mask), source(&s0, mask), source(&s1, mask), source(&s2, mask))
}

fn vtst(d: &Decoded, name: FormId, get: impl Fn(Role) -> Src) -> String {
    let f = |n: FieldName| value(d, n);
    let (op, ty) = test_op(f(field!(alu_sel)), f(field!(alu_op)), f(field!(prec)) == 1);
    let test = TESTS.iter().find(|t| t.0 == f(field!(sign_test)) && t.1 == f(field!(zero_test)));
    let suffix = test.map_or("?", |t| if op == "CMP" { t.2 } else { t.3 });
    let (s1, mut s2) = (get(Src1), get(Src2));
    if name == VTST {
        let lane = f(field!(chan_cc)) & 3;
        let mask = 1u8 << lane;
        s2.sel = if f(field!(src2_vscomp)) == 1 { [0; 4] } else { IDENTITY };
        let s1 = source(&s1.sel(IDENTITY), mask);
        return format!("{op}.{suffix}.{ty} p{} {s1} {}", f(field!(pdst_n)), source(&s2, mask));
    }
    let op = if op == "CMP" { "CMPMSK" } else { op };
    // A float result in lanes, an integer result in one register.
    let mask = if f(field!(alu_sel)) == 0 && (f(field!(tst_mask_type)) == 2 || f(field!(alu_op)) == 8) { 15 } else { 1 };
    s2.sel = if f(field!(src2_vscomp)) == 1 { [0; 4] } else { IDENTITY };
    format!("{op}.{suffix}.{ty}.{ty} {} {} {}", dest(get(Dest).reg, mask), source(&s1, mask), source(&s2, mask))
}
