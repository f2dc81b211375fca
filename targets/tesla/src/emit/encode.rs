//! A placed instruction in a given form: fills the form's fields from the instruction's parts, or says that it does not fit.
//!
//! The form's own template says which part goes where, so nothing here knows a bit position.

use crate::isa::chip::Chip;
use crate::isa::decode::Insn;
use crate::isa::forms::{AddOp, COUNT_FORMS, CP, FORMS, IMM_SHIFT, Op, Shape, TABLE, TForm, field};
use crate::isa::operand::{Item, MOST, Operand, Reach, S_TYPES, SOURCES, Size, Width, template};
use crate::select::mir::{Dst, Extra, Index, MInst, Part, Src};
use retroshade_emit::{FieldIndex, FieldName, FieldValue, FormId, Word};
use retroshade_lower::{PlacedReg, Reg};

/// The zero register of long forms: beyond every allocation.
pub const ZERO: u64 = 127;
/// The zero register of short forms, where the allocation leaves it free.
pub const SHORT_ZERO: u64 = 63;

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
    let at = place_of(op, shape);
    &FORMS_OF.order[FORMS_OF.starts[at] as usize..FORMS_OF.starts[at + 1] as usize]
}

const SHAPES: usize = Shape::Control as usize + 1;

const fn place_of(op: Op, shape: Shape) -> usize {
    op.number() * SHAPES + shape as usize
}

/// All forms by operation and shape, and where those of each begin.
struct FormsOf {
    order: [FormId; COUNT_FORMS],
    starts: [u16; Op::COUNT * SHAPES + 1],
}

static FORMS_OF: FormsOf = {
    let mut of = FormsOf { order: [FormId(0); COUNT_FORMS], starts: [0; Op::COUNT * SHAPES + 1] };
    let mut n = 0;
    while n < COUNT_FORMS {
        of.starts[place_of(FORMS[n].ext.op, FORMS[n].ext.shape) + 1] += 1;
        n += 1;
    }
    let mut at = 0;
    while at < Op::COUNT * SHAPES {
        of.starts[at + 1] += of.starts[at];
        at += 1;
    }
    let mut next = of.starts;
    n = 0;
    while n < COUNT_FORMS {
        let at = place_of(FORMS[n].ext.op, FORMS[n].ext.shape);
        of.order[next[at] as usize] = FormId(n as u16);
        next[at] += 1;
        n += 1;
    }
    of
};

/// What the emitter may use besides the instruction.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Stage as a decode space.
    pub space: u32,
    /// Whether `$r63` lies outside the allocation.
    pub short_zero: bool,
    /// Which `$a` holds the instruction's index.
    pub a: u8,
    /// The chip, which may lack forms.
    pub chip: &'static Chip,
}

impl Setting {
    /// Whether the chip executes a word right.
    fn takes(&self, word: impl FnOnce() -> Word) -> bool {
        !self.chip.flexgrip || self.chip.lacks(&Insn { d: word(), space: self.space }).is_none()
    }
}

/// An instruction as it is encoded.
#[derive(Clone, Copy, Debug)]
pub struct Encoded {
    /// Its form.
    pub form: FormId,
    /// The word.
    pub bits: u64,
}

/// The instruction in any form of a shape.
pub fn encode(i: &MInst, shape: Shape, s: &Setting) -> Option<Encoded> {
    // No short form stands under a predicate.
    if shape == Shape::Short && i.pred.is_some() {
        return None;
    }
    // In short forms the centroid is a field of the other interpolations.
    if let (Shape::Short, Op::InterpCent | Op::InterpCentMul) = (shape, i.op) {
        let op = if i.op == Op::InterpCent { Op::Interp } else { Op::InterpMul };
        let i = MInst { op, ..i.clone() }.with(field!(cent), true);
        return forms_of(op, shape).iter().find_map(|f| fill(&i, *f, s));
    }
    // No short form loads from c[], but a sum with zero does.
    if let (Shape::Short, Op::LdC, word @ Src::C(_, _, false)) = (shape, i.op, i.src[0])
        && i.pred.is_none()
        && i.mods[..] == [(field!(w), 1)]
    {
        return encode(&MInst::new(Op::Add, i.dst, &[Src::Imm(0), word]).with(field!(addop), AddOp::Add), shape, s);
    }
    forms_of(i.op, shape).iter().find_map(|f| fill(i, *f, s))
}

struct Fill<'a> {
    id: FormId,
    form: &'static TForm,
    /// The values of fields that are set, which have a bit each there; others have the usual one.
    values: [u64; MOST],
    set: u64,
    s: &'a Setting,
    memory: bool,
    constant: bool,
    dst_seen: bool,
}

impl Fill<'_> {
    fn set(&mut self, field: FieldName, v: impl FieldValue) -> Option<()> {
        self.put(TABLE.position(self.id, field)?, v.raw());
        Some(())
    }
    fn put(&mut self, at: FieldIndex, v: u64) {
        self.values[at.0 as usize] = v;
        self.set |= 1 << at.0;
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
        let field = SOURCES[slot];
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
                if !off.is_multiple_of(scale) || (indexed && self.s.space == CP) {
                    return None;
                }
                let n = (off / scale) as u64;
                self.set(if slot == 1 { field!(k2) } else { field!(k3) }, 1u8)?;
                let reach = Reach::constant(shape);
                let above = if reach.above.is_some() {
                    space as u64
                } else {
                    self.set(field!(cs), space)?;
                    0
                };
                self.set(field, reach.join(n, above)?)?;
                if indexed { self.set(field!(a), self.s.a as u64) } else { Some(()) }
            }
            Src::A(off) => {
                if slot != 0 || shape == Shape::Imm || (self.constant && !long) {
                    return None;
                }
                self.memory = true;
                self.set(field!(m1), 1u8)?;
                self.set(field, (off / 4) as u64)
            }
            Src::P(off) => {
                if slot != 0 || self.constant {
                    return None;
                }
                self.memory = true;
                // With p[] no c[] operand is possible: it would be read as one.
                self.constant = true;
                self.set(field!(m1), 1u8)?;
                if shape != Shape::Imm {
                    self.set(field!(k2), 1u8)?;
                }
                if long {
                    self.set(field!(k3), 1u8)?;
                }
                self.set(field!(a), self.s.a as u64)?;
                self.set(field, (off / 4) as u64)
            }
            Src::S(ty, off) => {
                if slot != 0 || (self.constant && !long) {
                    return None;
                }
                self.memory = true;
                let (_, size) = S_TYPES[ty as usize & 3];
                if !(off as u64).is_multiple_of(size) {
                    return None;
                }
                let raw = Reach::shared(shape).join(off as u64 / size, ty as u64)?;
                self.set(field!(m1), 1u8)?;
                if self.s.a != 0 {
                    self.set(field!(a), self.s.a as u64)?;
                }
                self.set(field, raw)
            }
            Src::None | Src::Imm(_) => None,
        }
    }
}

fn fill(i: &MInst, id: FormId, s: &Setting) -> Option<Encoded> {
    let form = TABLE.form(id);
    let spaces = if form.ext.shape == Shape::Imm { form.spaces >> IMM_SHIFT } else { form.spaces };
    if spaces & s.space == 0 {
        return None;
    }
    let template = template(id);
    let mut f = Fill { id, form, values: [0; MOST], set: 0, s, memory: false, constant: false, dst_seen: false };
    for (name, v) in &i.mods {
        f.set(*name, *v)?;
    }
    if let Some((c, code)) = i.pred {
        f.set(field!(pred), code)?;
        f.set(field!(cc), number(c)?)?;
    }
    if let Extra::Quad(lane, ops) = i.extra {
        f.set(field!(lane), lane)?;
        for (name, op) in [field!(q0), field!(q1), field!(q2), field!(q3)].into_iter().zip(ops) {
            f.set(name, op)?;
        }
    }
    if i.cdst.is_some() && TABLE.position(id, field!(cd)).is_none() {
        return None;
    }
    // Long additions have their second operand in slot 3.
    let third = if template.has_third() { 2 } else { 1 };
    let (mut cube, mut constant) = (false, false);
    for it in template.items() {
        match *it {
            Item::Text("cube") => cube = true,
            Item::Number(at) => {
                let k = match i.op {
                    Op::Mov | Op::MovH => i.src[0],
                    _ => i.src[1],
                };
                let Src::Imm(k) = k else { return None };
                f.put(at, k.into());
                constant = true;
            }
            Item::Operand(o) => operand(i, o, &mut f, third)?,
            _ => {}
        }
    }
    // Parts that the template did not ask for must be absent.
    match &i.extra {
        Extra::Tex(t) => {
            let plain = matches!(i.op, Op::Texfetch | Op::Texsize);
            if t.cube != cube && !(t.cube && plain) || t.offset != [0; 3] && !template.has(|o| o == Operand::Offsets) {
                return None;
            }
        }
        _ if cube => return None,
        _ => {}
    }
    if matches!(i.src[1], Src::Imm(k) if k != 0) && !constant {
        return None;
    }
    // A value that does not fit its field asks for another form.
    let bits = TABLE.encode_over(id, template.word().into(), &f.values, f.set).ok()? as u64;
    let word = || {
        let value = |(k, usual): (usize, &u64)| if f.set >> k & 1 == 1 { f.values[k] } else { *usual };
        Word { form: id, values: template.defaults().iter().enumerate().map(value).collect(), residue: 0 }
    };
    debug_assert_eq!(TABLE.encode_word(&word()), Ok(bits.into()));
    s.takes(word).then_some(Encoded { form: id, bits })
}

fn full(s: Src) -> Option<u64> {
    match s {
        Src::Reg(r, Part::Full) => number(r),
        _ => None,
    }
}

fn destination(i: &MInst, width: Width, f: &mut Fill) -> Option<()> {
    let half = width == Width::Is(Size::Half);
    if std::mem::replace(&mut f.dst_seen, true) {
        // Two-address: the third source is the destination itself.
        let Dst::Reg(d) = i.dst else { return None };
        return (full(i.src[2])? == number(d)?).then_some(());
    }
    match i.dst {
        Dst::Reg(r) => f.set(field!(dst), number(r)? * if half { 2 } else { 1 }),
        Dst::Half(r) if half => f.set(field!(dst), number(r)? * 2),
        Dst::Half(_) | Dst::None => None,
        Dst::Out(off) if off / 4 < 0x7f => {
            f.set(field!(do), 1u8)?;
            f.set(field!(dst), off / 4)
        }
        Dst::Out(_) => None,
        Dst::Discard => {
            f.set(field!(do), 1u8)?;
            f.set(field!(dst), 0x7fu8)
        }
    }
}

/// Data of l[] and g[]: loaded, or what a store or a reduction takes.
fn data(i: &MInst, f: &mut Fill) -> Option<()> {
    if let Extra::Wide(w) = &i.extra {
        f.set(field!(ty), w.access())?;
        return f.set(field!(dst), w.base);
    }
    let r = match (i.op, i.dst) {
        (Op::StL, _) => i.src[0],
        (_, Dst::Reg(r)) => Src::reg(r),
        (_, Dst::None) => i.src[1],
        _ => return None,
    };
    let (Extra::Mem { ty, .. }, Src::Reg(r, _)) = (&i.extra, r) else { return None };
    f.set(field!(ty), *ty)?;
    f.set(field!(dst), number(r)?)
}

/// An address: an offset in units, and an index where there is one.
fn address(off: u32, scale: u32, indexed: bool, f: &mut Fill) -> Option<()> {
    if !off.is_multiple_of(scale) {
        return None;
    }
    f.set(field!(off), off / scale)?;
    if indexed { f.set(field!(a), f.s.a) } else { Some(()) }
}

fn operand(i: &MInst, o: Operand, f: &mut Fill, third: usize) -> Option<()> {
    let texture = || if let Extra::Tex(t) = &i.extra { Some(t) } else { None };
    match o {
        Operand::Destination(Width::Access) => data(i, f),
        Operand::Destination(width) => destination(i, width, f),
        Operand::Source(0, width, memory) => {
            let half = width.size(|f| i.modifier(f)) == Size::Half;
            f.source(0, i.src[0], half, !memory)
        }
        Operand::Source(slot, width, true) => {
            let n = if slot == 1 { 1 } else { third };
            f.source(slot as usize, i.src[n], width == Width::Is(Size::Half), false)
        }
        Operand::Source(..) if i.op == Op::Quadop => f.source(2, i.src[1], false, true),
        Operand::Source(slot, width, false) => {
            if width == Width::Full {
                f.set(field!(w), 1u8)?;
            }
            // Stores cannot use the zero register.
            f.set(SOURCES[slot as usize], full(i.src[slot as usize])?)
        }
        Operand::Flags => match i.cdst {
            Some(c) => {
                f.set(field!(cw), 1u8)?;
                f.set(field!(cd), number(c)?)
            }
            None => Some(()),
        },
        Operand::FlagsTo => f.set(field!(cd), number(i.cdst?)?),
        Operand::FlagsFrom => {
            let Src::Reg(c, _) = i.src[0] else { return None };
            f.set(field!(cc), number(c)?)
        }
        Operand::Carry => match (i.modifier(field!(addop)) == AddOp::Addc.raw(), i.carry) {
            (true, Some(c)) if TABLE.position(f.id, field!(cc)).is_some() => f.set(field!(cc), number(c)?),
            (true, Some(c)) => (number(c)? == 0).then_some(()),
            (true, None) => None,
            (false, _) => Some(()),
        },
        Operand::AddressTo => f.set(field!(dst), f.s.a),
        Operand::AddressFrom => None,
        Operand::Global => {
            let space = match &i.extra {
                Extra::Mem { space, .. } => *space,
                Extra::Wide(w) => w.space,
                _ => return None,
            };
            f.set(field!(gs), space)?;
            f.source(0, i.src[0], false, true)
        }
        Operand::Memory('c', scale) => {
            let Src::C(space, off, indexed) = i.src[0] else { return None };
            f.set(field!(cs), space)?;
            address(off, scale, indexed, f)
        }
        Operand::Memory(_, scale) => {
            let off = match &i.extra {
                Extra::Mem { off, .. } => *off,
                Extra::Wide(w) => w.off,
                _ => return None,
            };
            address(off, scale, i.index != Index::None, f)
        }
        Operand::Results(masked) => {
            let t = texture()?;
            if masked {
                f.set(field!(mask), t.mask)?;
            } else if t.mask != 15 {
                return None;
            }
            f.set(field!(dst), t.base)
        }
        Operand::Texture => f.set(field!(tex), texture()?.unit),
        // What is read as it lies needs no sampler: the first is there for it.
        Operand::Sampler if matches!(i.op, Op::Texfetch | Op::Texsize) => f.set(field!(smp), 0u8),
        Operand::Sampler => f.set(field!(smp), texture()?.unit),
        Operand::Arguments(true) => f.set(field!(count), texture()?.args.len() - 1),
        Operand::Offsets => {
            for (name, n) in [field!(x), field!(y), field!(z)].into_iter().zip(texture()?.offset) {
                f.set(name, i64::from(n))?;
            }
            Some(())
        }
        Operand::Arguments(false) | Operand::Target => Some(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::chip::EVERYTHING;
    use crate::isa::forms::FP;
    use crate::select::mir::GPR;

    #[test]
    fn short_forms_stand_under_no_predicate() {
        let short = (0..).map(FormId).zip(TABLE.forms).filter(|(_, f)| f.ext.shape == Shape::Short);
        short.for_each(|(id, f)| assert!(TABLE.position(id, field!(pred)).is_none(), "{}", f.name));
    }

    #[test]
    fn an_instruction_reads_one_constant() {
        let r = |index| Reg::Placed(PlacedReg::Reg { class: GPR as u8, index });
        let setting = Setting { space: FP, short_zero: true, a: 0, chip: &EVERYTHING };
        let takes = |src: [Src; 3]| encode(&MInst::new(Op::Fmad, Dst::Reg(r(0)), &src), Shape::Long, &setting).is_some();
        let c = |word: u32| Src::C(0, 4 * word, false);
        assert!(takes([Src::reg(r(1)), c(2), Src::reg(r(0))]) && takes([Src::reg(r(1)), Src::reg(r(2)), c(3)]));
        assert!(!takes([Src::reg(r(1)), c(2), c(3)]) && !takes([c(2), Src::reg(r(1)), Src::reg(r(2))]));
    }
}
