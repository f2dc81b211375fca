//! Native text to words: the inverse of `text.rs`, as far as a text determines its word.
//!
//! Operands go through the same tables as everything else (`fits`). What the text does not say — scheduling flags, ends, types
//! of VCOMP, halves of I32MAD — is 0 or what compilers write there; every word is printed again and must give the text.
//! Texts that leave out operands (KILL, the fixed-point blends) are refused: the field listing says them.

use crate::isa::dual::{self, DualOp, Wish};
use crate::isa::forms::{
    BR, DEPTHF, EMIT, I8MAD, I16MAD, I32MAD, I32MAD2, KILL, LAPC, LIMM, NOP, PHAS, SMBO, SMLSI, SMP, V16NMAD, V32NMAD, VBW, VCOMP, VDP,
    VDUAL, VLDST, VMAD, VMAD2, VMOV, VPCK, VTST, VTSTMSK, WDF, decode, field,
};
use crate::isa::immediate;
use crate::isa::names;
use crate::isa::operands::Role::{self, *};
use crate::isa::operands::{Encoding, Want, fits, operand};
use crate::isa::registers::{Bank, Reg};
use crate::isa::swizzle::{HALF, ONE, Sel, TWO, UNDEF, Wanted, ZERO};
use crate::isa::text;
use crate::isa::word::Word;
use retroshade_emit::FieldName;
use retroshade_emit::form::FormId;
use retroshade_ir::Span;
use retroshade_lower::TextError;

/// The word whose native text this is.
pub fn parse(source: &str) -> Result<u64, TextError> {
    let want = source.split_whitespace().collect::<Vec<_>>().join(" ");
    for w in words(&want) {
        let Ok(bits) = w.encode() else { continue };
        let printed = decode(bits).map(|d| text::native(&d).split_whitespace().collect::<Vec<_>>().join(" "));
        if printed.as_deref() == Some(&want) {
            return Ok(bits);
        }
    }
    let name = want.split(' ').find(|t| !t.trim_start_matches('!').starts_with('p') || t.len() > 3).unwrap_or("");
    let partial = ["KILL", "SOP2:", "SOP2M:", "SOP3:"].iter().any(|p| name.starts_with(p));
    Err(TextError::new(if partial {
        format!("the native text of {} leaves out its operands: give the field listing", name.split(':').next().unwrap_or(name))
    } else {
        format!("`{want}` is no instruction")
    }))
}

/// KILL, whose text leaves out the register that a container puts first into its data: `data`.
pub fn kill(source: &str, data: u64) -> Option<u64> {
    let (pred, name) = source.trim().split_once(' ').unwrap_or(("", source.trim()));
    let code = (0..4).find(|c| text::predicate(KILL, *c) == pred).filter(|_| name == "KILL")?;
    Word::new(KILL, vec![(field!(pred), code), (field!(src1_n), data), (field!(src2_n), data)], Span::NONE).encode().ok()
}

/// A source or destination as written.
#[derive(Clone, Copy, Debug)]
struct Arg {
    reg: Reg,
    lanes: Wanted,
    neg: bool,
    abs: bool,
}

impl Arg {
    fn mask(&self) -> u8 {
        (0..4).fold(0, |m, k| m | (self.lanes[k].is_some() as u8) << k)
    }
    fn want(&self) -> Want {
        Want { reg: self.reg, lanes: self.lanes, neg: self.neg, abs: self.abs }
    }
}

fn register(s: &str) -> Option<Reg> {
    if let Some((bank, rest)) = s.split_once("[idx") {
        let (k, offset) = rest.strip_suffix(']')?.split_once("*2+")?;
        let at = ["r", "o", "pa", "sa"].iter().position(|b| *b == bank)? as u16;
        let offset: u16 = offset.parse().ok().filter(|n| *n < 0x4000)?;
        return Some(Reg::new(Bank::Indexed(k.parse().ok()?), at << 14 | offset));
    }
    let digits = s.find(|c: char| c.is_ascii_digit())?;
    let n: u16 = s[digits..].parse().ok()?;
    Some(match &s[..digits] {
        "" => Reg::imm(n),
        "r" => Reg::new(Bank::R, n),
        "o" => Reg::new(Bank::O, n),
        "pa" => Reg::new(Bank::Pa, n),
        "sa" => Reg::new(Bank::Sa, n),
        "i" => Reg::new(Bank::I, n),
        "c" => Reg::new(Bank::Const, n),
        "g" => Reg::new(Bank::Global, n),
        "idx" => Reg::new(Bank::Index, n),
        _ => return None,
    })
}

fn selectors(s: &str) -> Option<Wanted> {
    let mut out = [None; 4];
    if s.len() > 4 {
        return None;
    }
    for (k, c) in s.chars().enumerate() {
        let sel: Option<Sel> = Some(match c {
            '-' => continue,
            'x' => 0,
            'y' => 1,
            'z' => 2,
            'w' => 3,
            '0' => ZERO,
            '1' => ONE,
            '2' => TWO,
            'H' => HALF,
            '?' => UNDEF,
            _ => return None,
        });
        out[k] = sel;
    }
    Some(out)
}

/// `r4.xy`, `-sa2.x`, `abs(pa0).xyz`, `abs(-i1).x`, `5`.
fn arg(s: &str) -> Option<Arg> {
    let (body, lanes) = match s.rsplit_once('.') {
        Some((b, l)) => (b, selectors(l)?),
        None => (s, [None; 4]),
    };
    let (body, abs) = match body.strip_prefix("abs(").and_then(|b| b.strip_suffix(')')) {
        Some(b) => (b, true),
        None => (body, false),
    };
    let (body, neg) = body.strip_prefix('-').map_or((body, false), |b| (b, true));
    Some(Arg { reg: register(body)?, lanes, neg, abs })
}

/// Fields of a form's operands, under some fields that are settled.
struct Fields {
    form: FormId,
    list: Encoding,
}

impl Fields {
    fn new(form: FormId, list: &[(FieldName, u64)]) -> Fields {
        Fields { form, list: list.into() }
    }
    fn put(mut self, fields: &[(FieldName, u64)]) -> Fields {
        self.list.extend_from_slice(fields);
        self
    }
    /// An operand; fields that two operands share must agree.
    fn operand(mut self, role: Role, a: &Arg) -> Option<Fields> {
        let o = operand(self.form, role)?;
        let want = if role == Dest { Want { lanes: [None; 4], ..a.want() } } else { a.want() };
        for (f, v) in fits(o, &want, &self.list)? {
            match self.list.iter().find(|x| x.0 == f) {
                Some(x) if x.1 != v => return None,
                Some(_) => {}
                None => self.list.push((f, v)),
            }
        }
        Some(self)
    }
    fn word(self) -> Word {
        Word::new(self.form, self.list, Span::NONE)
    }
}

/// A name that forms with static names are found under.
fn position<T: PartialEq + ?Sized>(list: &[&T], x: &T) -> Option<u64> {
    list.iter().position(|t| *t == x).map(|n| n as u64)
}

/// Words that the text could be.
fn words(source: &str) -> Vec<Word> {
    if let Some(all) = dual_words(source) {
        return all;
    }
    let plain = source.replace(" * 2 + ", "*2+");
    let saturated = plain.strip_prefix(names::SATURATED);
    let body = saturated.unwrap_or(&plain);
    let times = body.split(" | ").count() as u64 - 1;
    let first = body.split(" | ").next().unwrap_or("");
    let mut tokens: Vec<&str> = first.split(' ').collect();
    let pred = tokens.first().copied().filter(|t| matches!(*t, "p0" | "p1" | "p2" | "p3" | "!p0" | "!p1" | "!p2" | "pN"));
    if pred.is_some() {
        tokens.remove(0);
    }
    let Some((&name, args)) = tokens.split_first() else { return Vec::new() };
    let mut out = Vec::new();
    for w in one(name, args, saturated.is_some()).unwrap_or_default() {
        for mode in 0..4 {
            let mut w = w.clone();
            if let Some(p) = pred {
                let Some(code) = (1..8).find(|c| text::predicate(w.form(), *c) == p) else { continue };
                w.set(field!(pred), code);
            }
            if times > 0 {
                let count = [field!(repeat_count), field!(count), field!(mask_count)].into_iter().find(|f| w.has(*f));
                let Some(count) = count else { continue };
                w.set(count, times);
                if w.has(field!(repeat_mode)) {
                    w.set(field!(repeat_mode), mode);
                }
            }
            out.push(w);
            // Only two forms have several ways to repeat.
            if times == 0 || !matches!(name, "VMAD" | "VDP") {
                break;
            }
        }
    }
    out
}

/// Words of one iteration without predicate.
fn one(name: &str, args: &[&str], saturated: bool) -> Option<Vec<Word>> {
    let (head, tail) = name.split_once('.').map_or((name, ""), |(h, t)| (h, t));
    let a: Vec<Option<Arg>> = args.iter().map(|s| arg(s)).collect();
    let at = |n: usize| a.get(n).copied().flatten();
    match head {
        "VMAD2" | "VF16MAD2" => {
            let half = (head == "VF16MAD2") as u64;
            let d = at(0)?;
            let f = Fields::new(VMAD2, &[(field!(dat_fmt), half), (field!(dest_mask), mask(&d, half == 1))]);
            let f = f.operand(Dest, &d)?.operand(Src0, &at(1)?)?.operand(Src1, &at(2)?)?.operand(Src2, &at(3)?)?;
            Some(vec![f.word()])
        }
        "VMAD" => {
            let d = at(0)?;
            let with = |lanes: u64| {
                let f = Fields::new(VMAD, &[(field!(opcode2), lanes), (field!(write_mask), d.mask() as u64), (field!(repeat_mode), 3)]);
                Some(f.operand(Dest, &d)?.operand(Src0, &at(1)?)?.operand(Src1, &at(2)?)?.operand(Src2, &at(3)?)?.word())
            };
            Some([0, 1].into_iter().filter_map(with).collect())
        }
        "VDP" if tail.is_empty() => {
            let (d, x, y) = (at(0)?, at(1)?, at(2)?);
            let dot = |lanes: u64| {
                let f = Fields::new(VDP, &[(field!(opcode2), lanes), (field!(write_mask), d.mask() as u64), (field!(repeat_mode), 3)]);
                Some(f.operand(Dest, &d)?.operand(Src1, &x)?.operand(Src0, &y)?.word())
            };
            let mut out: Vec<Word> = [0, 1].into_iter().filter_map(dot).collect();
            out.extend(vector(V32NMAD, 7, &d, &x, &y));
            Some(out)
        }
        _ if names::COMPLEX.contains(&head) && tail.is_empty() => {
            let op = position(&names::COMPLEX, head)?;
            let d = at(0)?;
            let f = Fields::new(VCOMP, &[(field!(op2), op), (field!(write_mask), d.mask() as u64)]);
            Some(vec![f.operand(Dest, &d)?.operand(Src1, &at(1)?)?.word()])
        }
        "VMOV" | "VMOVC" | "VMOVCU8" => moves(head, tail, args),
        _ if head.starts_with("VPCK") => pack(head, args),
        _ if head.starts_with('V') && tail.is_empty() && args.len() == 3 => {
            let op = head.strip_prefix("VF16").or(head.strip_prefix('V'))?;
            let code = position(&names::VECTOR, op)?;
            let form = if head.starts_with("VF16") { V16NMAD } else { V32NMAD };
            Some(vec![vector(form, code, &at(0)?, &at(1)?, &at(2)?)?])
        }
        "IMAD" => {
            let sn = args.get(4)?.strip_prefix("[sn=")?.strip_suffix(']')?.parse().ok()?;
            Some(vec![three(I32MAD2, &[(field!(sn), sn)], &a)?])
        }
        "IMAD2" => Some(vec![three(I32MAD, &[(field!(src2_type), 2)], &a)?, three(I32MAD, &[], &a)?]),
        "IMAD16" => {
            // An operand of eight bits says so: the low or the high byte.
            let byte = |n: usize| -> Option<(Arg, u64, u64)> {
                let t = args.get(n)?;
                Some(match t.strip_suffix("-8bits") {
                    None => (arg(t)?, 0, 0),
                    Some(t) => match t.strip_suffix(".-y") {
                        Some(r) => (arg(&format!("{r}.x"))?, 1, 1),
                        None => (arg(t)?, 1, 0),
                    },
                })
            };
            let ((b, fb, hb), (c, fc, hc)) = (byte(2)?, byte(3)?);
            let fields = [
                (field!(src1_format), fb),
                (field!(src2_format), fc),
                (field!(sel1h_upper8), hb),
                (field!(sel2h_upper8), hc),
                (field!(mode), saturated as u64),
            ];
            Some(vec![three(I16MAD, &fields, &[at(0), at(1), Some(b), Some(c)])?])
        }
        "IMA8" => bytes(args),
        _ if head.starts_with("SMP") => sample(head, tail, args),
        "LDR" | "STR" => memory(head, args),
        "MOV" => {
            let v = u32::from_str_radix(args.get(1)?.strip_prefix("#0x")?, 16).ok()?;
            Some(vec![Fields::new(LIMM, &immediate::limm_fields(v)).operand(Dest, &at(0)?)?.word()])
        }
        "DEPTHF" => {
            let f = Fields::new(DEPTHF, &[]).operand(Src0, &at(0)?)?;
            Some(vec![f.operand(Src1, &at(1)?)?.operand(Src2, &at(2)?)?.word()])
        }
        "BR" | "BA" => {
            let off: i64 = args.first()?.parse().ok().filter(|n: &i64| (-(1 << 19)..1 << 19).contains(n))?;
            let flags = [
                (field!(br_type), (head == "BR") as u64),
                (field!(save_link), (tail == "link") as u64),
                (field!(br_off), off as u64 & 0xf_ffff),
            ];
            Some(vec![Fields::new(BR, &flags).word()])
        }
        "LAPC" => Some(vec![Fields::new(LAPC, &[]).word()]),
        "NOP" => {
            let mut f = Fields::new(NOP, &[]);
            for t in tail.split('.').filter(|t| !t.is_empty()) {
                f = f.put(&[([field!(syncend), field!(end), field!(nosched)].into_iter().find(|x| x.name() == t)?, 1)]);
            }
            Some(vec![f.word()])
        }
        "WDF" => {
            let (drc, flag) = args.first()?.split_once('.').unwrap_or((args.first()?, ""));
            let drc = drc.strip_prefix("drc")?.parse().ok()?;
            Some(vec![Fields::new(WDF, &[(field!(drc_sel), drc), (field!(nosched), (flag == "nosched") as u64)]).word()])
        }
        "EMIT" => Some(vec![Fields::new(EMIT, &[]).word()]),
        "PHAS" => {
            let value = |n: usize, key: &str| args.get(n)?.strip_prefix(key)?.parse::<u64>().ok();
            Some(vec![
                Fields::new(PHAS, &[(field!(imm), 1), (field!(wait_cond), value(0, "wait=")?), (field!(temp_count), value(1, "temps=")?)])
                    .word(),
            ])
        }
        "SMLSI" => {
            let mut f = Fields::new(SMLSI, &[]);
            let names = [
                (field!(dest_inc), field!(dest_inc_mode)),
                (field!(src0_inc), field!(src0_inc_mode)),
                (field!(src1_inc), field!(src1_inc_mode)),
                (field!(src2_inc), field!(src2_inc_mode)),
            ];
            for (t, (inc, mode)) in args.iter().zip(names) {
                if let Some(n) = t.strip_prefix("inc.") {
                    f = f.put(&[(inc, n.parse::<i8>().ok()? as u8 as u64)]);
                } else {
                    let digits = t.strip_prefix("swizz.(")?.strip_suffix(')')?;
                    let v = digits.chars().rev().try_fold(0, |v, c| c.to_digit(4).map(|d| v << 2 | d as u64))?;
                    f = f.put(&[(inc, v), (mode, 1)]);
                }
            }
            Some(vec![f.word()])
        }
        "SMBO" => {
            let v: Vec<u64> = args.iter().map(|t| t.trim_end_matches(',').parse().ok()).collect::<Option<_>>()?;
            let [d, x, y, z] = v[..] else { return None };
            Some(vec![
                Fields::new(
                    SMBO,
                    &[(field!(dest_offset), d), (field!(src0_offset), x), (field!(src1_offset), y), (field!(src2_offset), z)],
                )
                .word(),
            ])
        }
        _ if !tail.is_empty() => test(head, tail, args),
        _ => bitwise(head, args),
    }
}

/// The mask field of a destination: half-precision ones outside internal registers count pairs.
fn mask(d: &Arg, half: bool) -> u64 {
    let m = d.mask() as u64;
    if half && !text::by_lane(d.reg.bank) { m & 1 | (m >> 2 & 1) << 2 } else { m }
}

fn vector(form: FormId, op: u64, d: &Arg, x: &Arg, y: &Arg) -> Option<Word> {
    let f = Fields::new(form, &[(field!(op2), op), (field!(dest_mask), d.mask() as u64)]);
    Some(f.operand(Dest, d)?.operand(Src1, x)?.operand(Src2, y)?.word())
}

/// Integer multiply-adds.
fn three(form: FormId, fields: &[(FieldName, u64)], a: &[Option<Arg>]) -> Option<Word> {
    let at = |n: usize| a.get(n).copied().flatten();
    let f = Fields::new(form, fields).operand(Dest, &at(0)?)?;
    Some(f.operand(Src0, &at(1)?)?.operand(Src1, &at(2)?)?.operand(Src2, &at(3)?)?.word())
}

/// `VMOV.f32 d s`, `VMOVC.f32 d (c != vec(0)) ? a : b`.
fn moves(head: &str, ty: &str, args: &[&str]) -> Option<Vec<Word>> {
    let code = position(&names::MOVE_TYPES[..6], ty)?;
    let d = arg(args.first()?)?;
    let m = if code < 3 { 15 } else { mask(&d, code == 4) };
    let kind = position(&names::MOVES, head)?;
    let mut f = Fields::new(VMOV, &[(field!(move_data_type), code), (field!(move_type), kind), (field!(dest_mask), m)]);
    let whole = |a: Arg| if code < 3 { Arg { lanes: [None; 4], ..a } } else { a };
    if code < 3 {
        f = f.put(&[(field!(src0_swiz), 4)]);
    }
    let read = |s: &str| arg(s).map(whole);
    let get = |f: Fields, role: Role, a: Arg| {
        // Whole registers and immediates have no lanes to choose.
        let o = operand(VMOV, role)?;
        let mut f = f;
        for (name, v) in fits(o, &a.want(), &f.list)? {
            match f.list.iter().find(|x| x.0 == name) {
                Some(_) if a.lanes == [None; 4] && name == field!(src0_swiz) => {}
                Some(x) if x.1 != v => return None,
                Some(_) => {}
                None => f.list.push((name, v)),
            }
        }
        Some(f)
    };
    f = f.operand(Dest, &d)?;
    if kind == 0 {
        return Some(vec![get(f, Src1, read(args.get(1)?)?)?.word()]);
    }
    let [_, cond, relation, _, "?", a, ":", b] = args[..] else { return None };
    let test = position(&names::RELATIONS, relation)?;
    let cond = arg(cond.strip_prefix('(')?)?;
    f = f.put(&[(field!(test_bit_2), test >> 1), (field!(test_bit_1), test & 1)]);
    f = f.operand(Src0, &Arg { lanes: [None; 4], ..cond })?;
    let mut sides = [(Src1, read(a)?), (Src2, read(b)?)];
    // The one with lanes chooses the swizzle of both.
    sides.sort_by_key(|(_, a)| a.lanes == [None; 4]);
    for (role, a) in sides {
        f = get(f, role, a)?;
    }
    Some(vec![f.word()])
}

/// `VPCKF16F32 d (a b) [noscale]`.
fn pack(head: &str, args: &[&str]) -> Option<Vec<Word>> {
    const FORMATS: &[&str] = names::Format::NAMES;
    let formats = head.strip_prefix("VPCK")?;
    let to = (0..8).find(|k| formats.starts_with(FORMATS[*k]) && FORMATS.contains(&&formats[FORMATS[*k].len()..]))?;
    let from = position(FORMATS, &formats[FORMATS[to].len()..])?;
    let to = to as u64;
    let d = arg(args.first()?)?;
    let scale = match *args.last()? {
        "[scale]" => 1,
        "[noscale]" => 0,
        _ => return None,
    };
    let (a, b) = match args {
        [_, a, _] => (arg(a)?, None),
        [_, a, b, _] => (arg(a.strip_prefix('(')?)?, Some(arg(b.strip_suffix(')')?)?)),
        _ => return None,
    };
    // Selectors by lane, or in the order of the lanes that are written.
    let by_lane = (from >= 5 && to >= 5) || (scale == 1 && (from == 0 || to == 0));
    let mut c = [0u64; 4];
    let sel = |k: usize| a.lanes[k].filter(|s| *s < 4).map(u64::from);
    if by_lane || ((from == 0 || to == 0) && d.mask() == 15) {
        for k in 0..4 {
            c[k] = sel(k).unwrap_or(0);
        }
    } else {
        for (n, k) in (0..4).filter(|k| d.mask() >> k & 1 == 1).enumerate() {
            c[n] = sel(k)?;
        }
    }
    let mut f =
        Fields::new(VPCK, &[(field!(src_fmt), from), (field!(dest_fmt), to), (field!(dest_mask), d.mask() as u64), (field!(scale), scale)]);
    f = f.put(&[(field!(comp_sel_0_bit0), c[0] & 1), (field!(comp_sel_1), c[1]), (field!(comp_sel_2), c[2]), (field!(comp_sel_3), c[3])]);
    let none = [None; 4];
    f = f.operand(Dest, &d)?.operand(Src1, &Arg { lanes: none, ..a })?;
    f = match b {
        Some(b) => f.operand(Src2, &Arg { lanes: none, ..b })?,
        None => f.put(&[(field!(src2_bank_sel), 2), (field!(src2_bank_ext), 1), (field!(src2_n), if from == 6 { 0 } else { c[0] >> 1 })]),
    };
    if from == 6 {
        f = f.put(&[(field!(comp0_sel_bit1), c[0] >> 1)]);
    }
    Some(vec![f.word()])
}

/// `CMP.lt.f32 p0 a b`, `CMPMSK.ne.f32.f32 d a b`, `AND.equalzero.u32 p1 a b`.
fn test(head: &str, tail: &str, args: &[&str]) -> Option<Vec<Word>> {
    let parts: Vec<&str> = tail.split('.').collect();
    let (suffix, ty, is_mask) = match parts[..] {
        [s, t] => (s, t, false),
        [s, t, u] if t == u => (s, t, true),
        _ => return None,
    };
    let op = if is_mask && head == "CMPMSK" { "CMP" } else { head };
    let row = text::TESTS.iter().find(|t| suffix == if op == "CMP" { t.2 } else { t.3 })?;
    let (sign, zero) = (row.0, row.1);
    // An ordered relation that includes equality is either of its parts.
    let both = (sign == 0 || zero == 2) as u64;
    let (a, mut b) = (arg(args.get(1)?)?, arg(args.get(2)?)?);
    let lane = (0..4).find(|k| a.lanes[*k].is_some()).unwrap_or(0);
    let scalar = b.lanes.iter().enumerate().any(|(k, l)| k > 0 && *l == Some(0));
    b.lanes = [None; 4];
    let mut out = Vec::new();
    for (sel, code, prec) in (0..4).flat_map(|s| (0..16).flat_map(move |o| [1u64, 0].map(|p| (s, o, p)))) {
        if text::test_op(sel, code, prec == 1) != (op, ty) || (sel != 0 && prec == 1) {
            continue;
        }
        let common = [
            (field!(alu_sel), sel),
            (field!(alu_op), code),
            (field!(prec), prec),
            (field!(sign_test), sign),
            (field!(zero_test), zero),
            (field!(test_crcomb_and), both),
            (field!(src2_vscomp), scalar as u64),
        ];
        let word = if is_mask {
            let d = arg(args.first()?)?;
            let kind = if d.mask() == 15 { 2 } else { 0 };
            let f = Fields::new(VTSTMSK, &common).put(&[(field!(test_wben), 1), (field!(tst_mask_type), kind)]);
            f.operand(Dest, &d).and_then(|f| f.operand(Src1, &Arg { lanes: [None; 4], ..a }))
        } else {
            let p = args.first()?.strip_prefix('p')?.parse().ok()?;
            let f = Fields::new(VTST, &common).put(&[
                (field!(pdst_n), p),
                (field!(dest_ext), 1),
                (field!(dest_bank), 1),
                (field!(chan_cc), lane as u64),
            ]);
            f.operand(Src1, &a)
        };
        out.extend(word.and_then(|f| f.operand(Src2, &b)).map(Fields::word));
    }
    Some(out)
}

/// `OR d a 0xFF`, `SHL16 d a b`.
fn bitwise(head: &str, args: &[&str]) -> Option<Vec<Word>> {
    let (name, half) = head.strip_suffix("16").map_or((head, 0), |n| (n, 1));
    let code = names::bitwise_code(name)?;
    let [d, a, b] = args[..] else { return None };
    let f = Fields::new(VBW, &code).put(&[(field!(bitwise_partial), half)]).operand(Dest, &arg(d)?)?.operand(Src1, &arg(a)?)?;
    let Some(digits) = b.strip_prefix("0x") else { return Some(vec![f.operand(Src2, &arg(b)?)?.word()]) };
    let v = u32::from_str_radix(digits, 16).ok()?;
    let with = |fields: Encoding| Fields { form: f.form, list: f.list.clone() }.put(&fields).word();
    Some(immediate::bitwise_fields(v, half == 1).map(with).collect())
}

/// `IMA8 d a b -(colour, alpha)`.
fn bytes(args: &[&str]) -> Option<Vec<Word>> {
    let [d, a, b, colour, alpha] = args[..] else { return None };
    let (neg, colour) = colour.strip_prefix('-').map_or((0, colour), |c| (1, c));
    let colour = arg(colour.strip_prefix('(')?.strip_suffix(',')?)?;
    let alpha = arg(alpha.strip_suffix(')')?)?;
    let (d, a, b) = (arg(d)?, arg(a)?, arg(b)?);
    let all = |x: &Arg| (x.lanes == [Some(3); 4]) as u64;
    let plain = |x: Arg| Arg { lanes: [None; 4], ..x };
    let mut out = Vec::new();
    // The addend is source 0 unless one of its parts names another register.
    for (c, w) in (0..4).flat_map(|c| [(c, 0u64), (c, 1)]) {
        let zero = [(c == 0 || c == 2).then_some(colour), (w == 0).then_some(alpha)].into_iter().flatten().next();
        let f = Fields::new(
            I8MAD,
            &[(field!(csel0), c), (field!(asel0), w), (field!(src0_neg), neg), (field!(csel1), all(&a)), (field!(csel2), all(&b))],
        );
        let f = f.operand(Dest, &plain(d)).and_then(|f| f.operand(Src1, &plain(a))).and_then(|f| f.operand(Src2, &plain(b)));
        let f = match zero {
            Some(z) => f.and_then(|f| f.operand(Src0, &plain(z))),
            None => f,
        };
        out.extend(f.map(Fields::word));
    }
    Some(out)
}

/// `SMP2d.f16.f32 pa0.x coord state lod`.
fn sample(head: &str, tail: &str, args: &[&str]) -> Option<Vec<Word>> {
    let dim = position(&names::SAMPLES, head)?;
    let mut rest = tail;
    let modes = names::SAMPLE_MODES.iter().enumerate().skip(1).rev();
    let mode = modes.filter_map(|(m, n)| Some((m as u64, rest.strip_suffix(n)?))).next().map_or(0, |(mode, before)| {
        rest = before.trim_end_matches('.');
        mode
    });
    let (to, from) = rest.split_once('.').unwrap_or(("", rest));
    let to = position(&names::CONVERSIONS, to)?;
    let from = position(&names::COORDINATES, from)?;
    let d = arg(args.first()?)?;
    let pa = match d.reg.bank {
        Bank::Pa => 1,
        Bank::R => 0,
        _ => return None,
    };
    let bare = |s: &str| arg(s).map(|a| Arg { lanes: [None; 4], ..a });
    let mut out = Vec::new();
    for lod in if args.len() > 3 { 1..4 } else { 0..1 } {
        let f = Fields::new(
            SMP,
            &[(field!(dim), dim), (field!(fconv_type), to), (field!(src0_type), from), (field!(sb_mode), mode), (field!(lod_mode), lod)],
        );
        let f = f.put(&[(field!(dest_use_pa), pa), (field!(dest_n), d.reg.n as u64)]);
        let f = f.operand(Src0, &bare(args.get(1)?)?)?.operand(Src1, &bare(args.get(2)?)?)?;
        out.push(match args.get(3) {
            Some(l) => f.operand(Src2, &bare(l)?)?.word(),
            None => f.put(&[(field!(src2_bank), 2), (field!(src2_ext), 1)]).word(),
        });
    }
    Some(out)
}

/// `LDR d.? (base + offset + more) [n bytes]`, `STR data (base + offset + 0) [4 bytes]`.
fn memory(head: &str, args: &[&str]) -> Option<Vec<Word>> {
    let [d, base, "+", off, "+", more, n, "bytes]"] = args[..] else { return None };
    let (base, more) = (arg(base.strip_prefix('(')?)?, more.strip_suffix(')')?);
    let count: u64 = n.strip_prefix('[')?.parse().ok()?;
    let bare = |a: Arg| Arg { lanes: [None; 4], ..a };
    let with = |(code, size): (u64, u64)| {
        let load = head == "LDR";
        // An immediate offset is printed in bytes.
        let mut off = bare(arg(off)?);
        if off.reg.bank == Bank::Imm {
            (off.reg.n as u64).is_multiple_of(size).then_some(())?;
            off.reg.n /= size as u16;
        }
        let f = Fields::new(VLDST, &[(field!(op1), if load { 1 } else { 2 }), (field!(data_type), code)]);
        let f = f.operand(Src0, &bare(base))?.operand(Src1, &off)?;
        if !load {
            return Some(f.operand(Src2, &bare(arg(d)?))?.word());
        }
        (count.is_multiple_of(size) && count > 0).then_some(())?;
        let to = register(d.strip_suffix(".?")?)?;
        let place = [
            (field!(mask_count), count / size - 1),
            (field!(dest_bank_primattr), (to.bank == Bank::Pa) as u64),
            (field!(dest_n), to.n as u64),
        ];
        Some(f.operand(Src2, &bare(arg(more)?))?.put(&place).word())
    };
    Some([(0, 4), (1, 2), (2, 1)].into_iter().filter_map(with).collect())
}

/// `VMUL i0.xyz i1.xyz i2.xyz + FRCP pa0.x i1.x`, with a predicate.
fn dual_words(source: &str) -> Option<Vec<Word>> {
    let (pred, body) = match source.split_once(' ') {
        Some((p @ ("p0" | "!p0" | "pN"), rest)) => ((1..4).find(|c| text::predicate(VDUAL, *c) == p)?, rest),
        _ => (0, source),
    };
    let halves: Vec<Vec<&str>> = body.split(" + ").map(|h| h.split(' ').collect()).collect();
    let [a, b] = &halves[..] else { return None };
    let half = |t: &[&str], four: bool| -> Option<Wish> {
        let (name, args) = t.split_first()?;
        let op = DualOp::named(name)?;
        let d = arg(args.first()?)?;
        let src: Vec<dual::Operand> = args[1..]
            .iter()
            .map(|s| arg(s).map(|a| dual::Operand { reg: Some(a.reg), lanes: a.lanes, neg: a.neg, abs: a.abs }))
            .collect::<Option<_>>()?;
        (src.len() == op.sources()).then_some(())?;
        Some(Wish { op, dest: d.reg, mask: d.mask(), spare: 0, src, lanes: if four { 4 } else { 3 } })
    };
    let mut out = Vec::new();
    for (four, half_precision, unified) in
        [false, true].into_iter().flat_map(|f| [(f, false, 0), (f, false, 1), (f, true, 0), (f, true, 1)])
    {
        if let Some(mut e) = dual::ordered([&half(a, four)?, &half(b, four)?], four, half_precision, unified) {
            e.push((field!(sv_pred), pred));
            out.push(Word::new(VDUAL, e, Span::NONE));
        }
    }
    Some(out)
}
