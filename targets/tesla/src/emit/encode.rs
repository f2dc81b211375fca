//! A placed instruction in a given form: fills the form's fields from the instruction's parts, or says that it does not fit.
//!
//! The form's own template says which part goes where, so nothing here knows a bit position.

use crate::isa::forms::{Op, Shape, TABLE, TForm};
use crate::isa::text::{Item, template};
use crate::select::mir::{Dst, Extra, Index, MInst, Part, Src};
use retroshade_emit::FormId;
use retroshade_lower::{PlacedReg, Reg};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The zero register of long forms: beyond every allocation.
pub const ZERO: u64 = 127;
/// The zero register of short forms, where the allocation leaves it free.
pub const SHORT_ZERO: u64 = 63;

/// An encoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The form.
    pub form: FormId,
    /// The bits.
    pub bits: u64,
}

/// The hardware number of a placed register (`$r` or `$c`); `None` in memory or before placement.
pub fn number(r: Reg) -> Option<u64> {
    match r.placed()? {
        PlacedReg::Reg { index, .. } => Some(index as u64),
        PlacedReg::Slot { bank: 0, hw } => Some(hw as u64),
        PlacedReg::Slot { .. } => None,
    }
}

/// Forms of an operation by shape.
pub fn forms_of(op: Op, shape: Shape) -> &'static [FormId] {
    static MAP: OnceLock<BTreeMap<(Op, u8), Vec<FormId>>> = OnceLock::new();
    let map = MAP.get_or_init(|| {
        let mut m: BTreeMap<(Op, u8), Vec<FormId>> = BTreeMap::new();
        for (n, f) in TABLE.forms.iter().enumerate() {
            m.entry((f.ext.op, f.ext.shape as u8)).or_default().push(FormId(n as u16));
        }
        m
    });
    map.get(&(op, shape as u8)).map_or(&[], Vec::as_slice)
}

/// What the emitter may use besides the instruction.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Stage as a decode space.
    pub space: u32,
    /// Whether `$r63` lies outside the allocation.
    pub short_zero: bool,
    /// Which `$a` holds the instruction's index.
    pub a: u8,
}

/// The instruction in any form of a shape.
pub fn encode(i: &MInst, shape: Shape, s: &Setting) -> Option<Word> {
    forms_of(i.op, shape).iter().find_map(|f| fill(i, *f, s).map(|bits| Word { form: *f, bits }))
}

struct Fill<'a> {
    form: &'static TForm,
    values: SmallVec<[u64; 32]>,
    s: &'a Setting,
    used_mods: usize,
    memory: bool,
    constant: bool,
}

impl Fill<'_> {
    fn set(&mut self, field: &str, v: u64) -> Option<()> {
        let i = self.form.field_index(field)?;
        self.values[i] = v;
        Some(())
    }
    fn register(&self, r: Reg, part: Part, half: bool) -> Option<u64> {
        let n = number(r)?;
        match (half, part) {
            (false, Part::Full) => Some(n),
            (true, Part::Low) => Some(2 * n),
            (true, Part::High) => Some(2 * n + 1),
            // A full value in a 16-bit slot is a mistake of selection.
            _ => None,
        }
    }
    fn zero(&self, half: bool) -> Option<u64> {
        match (self.form.ext.shape, half) {
            (Shape::Long, false) => Some(ZERO),
            (Shape::Short | Shape::Imm, false) if self.s.short_zero => Some(SHORT_ZERO),
            _ => None,
        }
    }
    /// Source 1, 2 or 3 into field `srcN`.
    fn source(&mut self, slot: usize, src: Src, half: bool, registers_only: bool) -> Option<()> {
        let field = ["src1", "src2", "src3"][slot];
        let shape = self.form.ext.shape;
        let long = shape == Shape::Long;
        match src {
            Src::Reg(r, part) => {
                let v = self.register(r, part, half)?;
                self.set(field, v)
            }
            Src::Imm(0) => {
                let z = self.zero(half)?;
                self.set(field, z)
            }
            _ if registers_only => None,
            Src::C(space, off, indexed) => {
                if slot == 0 || self.constant || (self.memory && !long) {
                    return None;
                }
                self.constant = true;
                let scale = if half { 2 } else { 4 };
                if !off.is_multiple_of(scale) || (indexed && self.s.space == crate::isa::forms::CP) {
                    return None;
                }
                let n = (off / scale) as u64;
                self.set(if slot == 1 { "k2" } else { "k3" }, 1)?;
                if long {
                    self.set("cs", space as u64)?;
                    self.set(field, n)?;
                } else {
                    if space > 1 || n > 31 {
                        return None;
                    }
                    self.set(field, (space as u64) << 5 | n)?;
                }
                if indexed { self.set("a", self.s.a as u64) } else { Some(()) }
            }
            Src::A(off) => {
                if slot != 0 || shape == Shape::Imm || (self.constant && !long) {
                    return None;
                }
                self.memory = true;
                self.set("m1", 1)?;
                self.set(field, (off / 4) as u64)
            }
            Src::P(off) => {
                if slot != 0 || self.constant {
                    return None;
                }
                self.memory = true;
                // With p[] no c[] operand is possible: it would be read as one.
                self.constant = true;
                self.set("m1", 1)?;
                if shape != Shape::Imm {
                    self.set("k2", 1)?;
                }
                if long {
                    self.set("k3", 1)?;
                }
                self.set("a", self.s.a as u64)?;
                self.set(field, (off / 4) as u64)
            }
            Src::S(ty, off) => {
                if slot != 0 || (self.constant && !long) {
                    return None;
                }
                self.memory = true;
                let (_, size) = crate::isa::text::S_TYPES[ty as usize & 3];
                let width = if long { 5 } else { 4 };
                let n = off as u64 / size;
                if n >> width != 0 || !(off as u64).is_multiple_of(size) {
                    return None;
                }
                self.set("m1", 1)?;
                if self.s.a != 0 {
                    self.set("a", self.s.a as u64)?;
                }
                self.set(field, (ty as u64) << width | n)
            }
            Src::None | Src::Imm(_) => None,
        }
    }
}

fn fill(i: &MInst, id: FormId, s: &Setting) -> Option<u64> {
    let form = TABLE.form(id);
    let spaces = if form.ext.shape == Shape::Imm { form.spaces >> crate::isa::forms::IMM_SHIFT } else { form.spaces };
    if spaces & s.space == 0 {
        return None;
    }
    let template = template(id);
    let mut f = Fill { form, values: SmallVec::from_slice(&template.defaults), s, used_mods: 0, memory: false, constant: false };
    for (name, v) in &i.mods {
        f.set(name, *v as u64)?;
        f.used_mods += 1;
    }
    if let Some((c, code)) = i.pred {
        f.set("pred", code as u64)?;
        f.set("cc", number(c)?)?;
    }
    if let Extra::Quad(lane, ops) = i.extra {
        f.set("lane", lane as u64)?;
        for (n, name) in ["q0", "q1", "q2", "q3"].iter().enumerate() {
            f.set(name, ops[n] as u64)?;
        }
    }
    if i.cdst.is_some() && form.field_index("cd").is_none() {
        return None;
    }
    let items = &template.items;
    let has = |o: &str| items.iter().any(|x| matches!(x, Item::Operand(n) if *n == o));
    // Long additions have their second operand in slot 3.
    let third = if has("B") || has("Bh") || !has("E") && !has("Eh") { 2 } else { 1 };
    let immediate = items.iter().any(|x| matches!(x, Item::Number("imm")));
    let mut dst_seen = false;
    for it in items {
        match *it {
            Item::Text("cube") if !matches!(&i.extra, Extra::Tex(t) if t.cube) => return None,
            Item::Number("imm") => {
                let k = if matches!(i.op, Op::Mov | Op::MovH) { i.src[0] } else { i.src[1] };
                let Src::Imm(k) = k else { return None };
                f.set("imm", k as u64)?;
            }
            Item::Number("count") => {
                let Src::Imm(k) = i.src[1] else { return None };
                f.set("count", k as u64)?;
            }
            Item::Operand(o) => operand(i, o, &mut f, third, &mut dst_seen)?,
            _ => {}
        }
    }
    // Parts that the template did not ask for must be absent.
    if let Extra::Tex(t) = &i.extra {
        if t.cube && !items.contains(&Item::Text("cube")) && !matches!(i.op, Op::Texfetch | Op::Texsize) {
            return None;
        }
        if (t.offset != [0; 3]) && !has("offsets") {
            return None;
        }
    }
    if matches!(i.src[1], Src::Imm(k) if k != 0) && !immediate && !items.contains(&Item::Number("count")) {
        return None;
    }
    TABLE.encode_values(id, &f.values).ok().map(|w| w as u64)
}

fn operand(i: &MInst, o: &str, f: &mut Fill, third: usize, dst_seen: &mut bool) -> Option<()> {
    let mem = |f: &mut Fill, scale: u32| -> Option<()> {
        let off = match &i.extra {
            Extra::Mem { off, .. } => *off,
            Extra::Wide(w) => w.off,
            _ => return None,
        };
        if !off.is_multiple_of(scale) {
            return None;
        }
        f.set("off", (off / scale) as u64)?;
        if i.index != Index::None { f.set("a", f.s.a as u64) } else { Some(()) }
    };
    match o {
        "D" | "Dh" | "Dw" | "Dd" => {
            if std::mem::replace(dst_seen, true) {
                // Two-address: the third source is the destination itself.
                let (Src::Reg(r, Part::Full), Dst::Reg(d)) = (i.src[2], i.dst) else { return None };
                return (number(r)? == number(d)?).then_some(());
            }
            match i.dst {
                Dst::Reg(r) if o == "Dh" => f.set("dst", number(r)? * 2),
                Dst::Half(r) => {
                    if o != "Dh" {
                        return None;
                    }
                    f.set("dst", number(r)? * 2)
                }
                Dst::Reg(r) => f.set("dst", number(r)?),
                Dst::Out(off) => {
                    f.set("do", 1)?;
                    f.set("dst", (off / 4) as u64).filter(|_| off / 4 < 0x7f)
                }
                Dst::Discard => {
                    f.set("do", 1)?;
                    f.set("dst", 0x7f)
                }
                Dst::None => None,
            }
        }
        "Dt" => {
            if let Extra::Wide(w) = &i.extra {
                f.set("ty", w.ty() as u64)?;
                return f.set("dst", w.base as u64);
            }
            let r = match (i.op, i.dst) {
                (Op::StL, _) => match i.src[0] {
                    Src::Reg(r, _) => r,
                    _ => return None,
                },
                (_, Dst::Reg(r)) => r,
                (_, Dst::None) => match i.src[1] {
                    Src::Reg(r, _) => r,
                    _ => return None,
                },
                _ => return None,
            };
            let Extra::Mem { ty, .. } = i.extra else { return None };
            f.set("ty", ty as u64)?;
            f.set("dst", number(r)?)
        }
        "A" | "Ah" => f.source(0, i.src[0], o == "Ah", false),
        "Asty" => f.source(0, i.src[0], i.modifier("sty") & 1 == 0, false),
        "Ar" => f.source(0, i.src[0], false, true),
        "B" | "Bh" => f.source(1, i.src[1], o == "Bh", false),
        "E" | "Eh" => f.source(2, i.src[third], o == "Eh", false),
        "Er" if i.op == Op::Quadop => f.source(2, i.src[1], false, true),
        "Er" | "Ew" => {
            if o == "Ew" {
                f.set("w", 1)?;
            }
            // Stores cannot use the zero register.
            let Src::Reg(r, Part::Full) = i.src[2] else { return None };
            f.set("src3", number(r)?)
        }
        "Bt" | "Et" => {
            let n = if o == "Bt" { 1 } else { 2 };
            let Src::Reg(r, Part::Full) = i.src[n] else { return None };
            f.set(["", "src2", "src3"][n], number(r)?)
        }
        "C" => match i.cdst {
            Some(c) => {
                f.set("cw", 1)?;
                f.set("cd", number(c)?)
            }
            None => Some(()),
        },
        "cd" => f.set("cd", number(i.cdst?)?),
        "cc" => {
            let Src::Reg(c, _) = i.src[0] else { return None };
            f.set("cc", number(c)?)
        }
        "carry" => match (i.modifier("addop"), i.carry) {
            (3, Some(c)) if f.form.field_index("cc").is_some() => f.set("cc", number(c)?),
            (3, Some(c)) => (number(c)? == 0).then_some(()),
            (3, None) => None,
            _ => Some(()),
        },
        "adst" => f.set("dst", f.s.a as u64),
        "mg" => {
            let space = match &i.extra {
                Extra::Mem { space, .. } => *space,
                Extra::Wide(w) => w.space,
                _ => return None,
            };
            f.set("gs", space as u64)?;
            f.source(0, i.src[0], false, true)
        }
        "mc1" | "mc2" | "mc4" => {
            let Src::C(space, off, indexed) = i.src[0] else { return None };
            let scale: u32 = o[2..].parse().ok()?;
            if !off.is_multiple_of(scale) {
                return None;
            }
            f.set("cs", space as u64)?;
            f.set("off", (off / scale) as u64)?;
            if indexed { f.set("a", f.s.a as u64) } else { Some(()) }
        }
        "R" | "R4" => {
            let Extra::Tex(t) = &i.extra else { return None };
            if o == "R" {
                f.set("mask", t.mask as u64)?;
            } else if t.mask != 15 {
                return None;
            }
            f.set("dst", t.base as u64)
        }
        "tex" | "smp" => {
            let Extra::Tex(t) = &i.extra else { return None };
            f.set(o, t.unit as u64)
        }
        "args" => {
            let Extra::Tex(t) = &i.extra else { return None };
            f.set("count", t.args.len() as u64 - 1)
        }
        "arg1" => Some(()),
        "offsets" => {
            let Extra::Tex(t) = &i.extra else { return None };
            for (n, name) in ["x", "y", "z"].iter().enumerate() {
                f.set(name, t.offset[n] as i64 as u64)?;
            }
            Some(())
        }
        "target" => Some(()),
        m if m.starts_with('m') => {
            let scale: u32 = m[2..].parse().ok()?;
            mem(f, scale)
        }
        _ => None,
    }
}

/// Sets named fields of an encoded word.
pub fn with_fields(w: Word, fields: &[(&str, u64)]) -> Option<Word> {
    let form = TABLE.form(w.form);
    let mut values: SmallVec<[u64; 16]> = form.fields().map(|x| x.get(w.bits as u128)).collect();
    for (name, v) in fields {
        values[form.field_index(name)?] = *v;
    }
    TABLE.encode_values(w.form, &values).ok().map(|b| Word { bits: b as u64, ..w })
}

/// A word by form name and field values.
pub fn by_name(name: &str, fields: &[(&str, u64)]) -> Option<Word> {
    let form = TABLE.by_name(name)?;
    TABLE.encode(form, fields).ok().map(|b| Word { form, bits: b as u64 })
}
