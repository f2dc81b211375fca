//! Assembly text: the items of a form's template with the operands of the instruction at hand. `parse.rs` reads it back.

use crate::isa::decode::Insn;
use crate::isa::forms::*;
use crate::isa::operand::{Item, Operand, Reach, S_TYPES, SOURCES, Size, Width, template};
use retroshade_emit::{FieldIndex, FieldName, Kind};
use std::cell::Cell;

/// A register operand's text.
pub fn register(n: u64, size: Size) -> String {
    match size {
        Size::Half => format!("$r{}{}", n >> 1, if n & 1 == 0 { 'l' } else { 'h' }),
        Size::Word => format!("$r{n}"),
        Size::Pair => format!("$r{n}d"),
        Size::Quad => format!("$r{n}q"),
    }
}

fn address(space: &str, off: u64, a: u64, inc: bool) -> String {
    match (inc, a, off) {
        (true, 0, _) => format!("{space}[0x0++{off:#x}]"),
        (true, _, _) => format!("{space}[$a{a}++{off:#x}]"),
        (false, 0, _) => format!("{space}[{off:#x}]"),
        (false, _, 0) => format!("{space}[$a{a}]"),
        (false, _, _) => format!("{space}[$a{a}+{off:#x}]"),
    }
}

/// What a source operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register (raw field value).
    Reg(u64),
    /// Shared memory: type index and byte offset (sign-extended for post-increment).
    S(usize, i64),
    /// Attribute: byte offset.
    A(u64),
    /// Vertex data: byte offset.
    P(u64),
    /// Constant: space and byte offset (sign-extended for post-increment).
    C(u64, i64),
}

/// Interprets the operand fields of an instruction; remembers which were needed.
pub struct Operands<'a> {
    insn: &'a Insn,
    used: Cell<u32>,
}

const M1: u32 = 1;
const K2: u32 = 2;
const K3: u32 = 4;
const INC: u32 = 8;
const ADR: u32 = 16;
const CSP: u32 = 32;

impl<'a> Operands<'a> {
    /// Starts on an instruction.
    pub fn new(insn: &'a Insn) -> Operands<'a> {
        Operands { insn, used: Cell::new(0) }
    }
    fn mark(&self, bits: u32) {
        self.used.set(self.used.get() | bits);
    }
    fn flag(&self, f: FieldName) -> bool {
        self.insn.get(f) != 0
    }
    fn shape(&self) -> Shape {
        self.insn.form().ext.shape
    }
    fn is_p(&self) -> bool {
        match self.shape() {
            Shape::Long => self.flag(field!(k2)) && self.flag(field!(k3)),
            Shape::Short => self.flag(field!(k2)) && self.flag(field!(m1)),
            Shape::Imm => self.insn.space == GP && self.flag(field!(m1)),
            Shape::Control => false,
        }
    }
    /// Whether source 1 is s[].
    fn is_s(&self) -> bool {
        self.insn.space == CP && self.flag(field!(m1)) && !self.is_p()
    }
    /// Source 1.
    pub fn source1(&self) -> Result<Source, String> {
        let raw = self.insn.get(field!(src1));
        if self.is_p() {
            if self.insn.space != GP {
                return Err("p[] exists only in geometry programs".into());
            }
            self.mark(M1 | K2 | K3 | ADR);
            let registers = self.insn.has(field!(src2)) || self.insn.has(field!(src3));
            if self.shape() == Shape::Long && registers && !self.flag(field!(m1)) {
                return Err("a p[] operand beside registers needs bit 53".into());
            }
            return Ok(Source::P(raw * 4));
        }
        if !self.flag(field!(m1)) {
            return Ok(Source::Reg(raw));
        }
        self.mark(M1);
        match self.insn.space {
            CP => {
                self.mark(ADR | INC);
                let reach = Reach::shared(self.shape());
                let (off, ty) = reach.split(raw);
                Ok(Source::S(ty as usize, reach.extended(off, self.flag(field!(inc))) * S_TYPES[ty as usize].1 as i64))
            }
            VP | GP if self.shape() != Shape::Imm => Ok(Source::A(raw * 4)),
            _ => Err("no memory operand of this kind in this stage".into()),
        }
    }
    fn constant(&self, raw: u64, size: Size, slot: u64) -> Source {
        let long = self.shape() == Shape::Long;
        let reach = Reach::constant(self.shape());
        let (off, above) = reach.split(raw);
        let cs = if long { self.insn.get(field!(cs)) } else { above };
        self.mark(CSP);
        let mut inc = false;
        if !self.is_s() {
            self.mark(ADR | INC);
            // The decoder reads bit 25 as nothing for a 32-bit c[] in source 2 of compute programs.
            inc = self.flag(field!(inc)) && !(long && self.insn.space == CP && slot == 2 && size == Size::Word);
        }
        Source::C(cs, reach.extended(off, inc) * if size == Size::Half { 2 } else { 4 })
    }
    /// Source 2.
    pub fn source2(&self, size: Size) -> Source {
        let raw = self.insn.get(field!(src2));
        if self.flag(field!(k2)) && !self.is_p() {
            self.mark(K2);
            return self.constant(raw, size, 2);
        }
        Source::Reg(raw)
    }
    /// Source 3.
    pub fn source3(&self, size: Size) -> Source {
        let raw = self.insn.get(field!(src3));
        if self.flag(field!(k3)) && !self.is_p() && self.insn.has(field!(cs)) {
            self.mark(K3);
            return self.constant(raw, size, 3);
        }
        Source::Reg(raw)
    }
    /// The `$a` number and post-increment flag of a memory operand.
    pub fn index(&self, s: Source) -> (u64, bool) {
        let (a, inc) = (self.insn.get(field!(a)), self.flag(field!(inc)));
        match s {
            Source::Reg(_) | Source::A(_) => (0, false),
            Source::S(..) => (a, inc),
            Source::P(_) => (a, inc),
            Source::C(..) if self.is_s() => (0, false),
            Source::C(..) => (a, inc && self.used.get() & INC != 0),
        }
    }
    /// An error if a field that selects memory operands is set without meaning.
    pub fn finish(&self) -> Result<(), String> {
        let selectors = [(field!(m1), M1), (field!(k2), K2), (field!(k3), K3), (field!(inc), INC), (field!(a), ADR), (field!(cs), CSP)];
        for (f, bit) in selectors {
            if self.used.get() & bit == 0 && self.flag(f) {
                return Err(format!("`{}`: field `{}` is set without meaning", self.insn.form().name, f.name()));
            }
        }
        Ok(())
    }
    fn text(&self, s: Source, size: Size, slot: u64) -> String {
        let (a, mut inc) = self.index(s);
        match s {
            Source::Reg(n) => register(n, size),
            Source::S(ty, off) => format!("{} {}", S_TYPES[ty].0, address("s", off as u64, a, inc)),
            Source::A(off) => address("a", off, 0, false),
            Source::P(off) => address("p", off, a, inc),
            Source::C(cs, off) => {
                inc = inc && !(self.shape() == Shape::Long && self.insn.space == CP && slot == 2 && size == Size::Word);
                address(&format!("c{cs}"), off as u64, a, inc)
            }
        }
    }
}

/// Disassembles one instruction.
pub fn disassemble(insn: &Insn) -> Result<String, String> {
    let ops = Operands::new(insn);
    let mut out: Vec<String> = Vec::new();
    if let Some(end @ (End::Exit | End::Join)) = End::from_raw(insn.get(field!(end))) {
        out.push(end.text().to_string());
    }
    if insn.has(field!(pred)) {
        let p = insn.get(field!(pred));
        match Cond::from_raw(p) {
            Some(Cond::Always) => {}
            Some(Cond::Never) => out.push("(never)".into()),
            Some(c) => out.push(format!("({} $c{})", c.text(), insn.get(field!(cc)))),
            None => return Err(format!("predicate {p:#x} is not defined")),
        }
    }
    if insn.has(field!(lanes)) && insn.get(field!(lanes)) != 15 {
        let l = insn.get(field!(lanes));
        let digits: String = (0..4).filter(|i| l >> i & 1 == 1).map(|i| char::from(b'0' + i as u8)).collect();
        out.push(if l == 0 { "(lnone)".into() } else { format!("(l{digits})") });
    }
    for it in template(insn.d.form).items() {
        let s = match *it {
            Item::Text(t) => t.to_string(),
            Item::Flag(f, t) => {
                if insn.d[f] != 0 {
                    t.to_string()
                } else {
                    continue;
                }
            }
            Item::Name(f) => name_of(insn, f)?.to_string(),
            Item::Number(f) => format!("{:#x}", insn.d[f]),
            Item::Operand(o) => match operand(insn, &ops, o)? {
                Some(s) => s,
                None => continue,
            },
        };
        match (s.as_str(), out.last_mut()) {
            (")", Some(last)) => last.push(')'),
            (_, Some(last)) if last == "(" => last.push_str(&s),
            _ => out.push(s),
        }
    }
    // A word-sized destination that is discarded does not use the size bit.
    ops.mark(if insn.has(field!(off)) || insn.op() == Op::MovFromA || insn.op() == Op::AddA { ADR | INC | CSP } else { 0 });
    ops.finish()?;
    Ok(out.join(" "))
}

fn name_of(insn: &Insn, at: FieldIndex) -> Result<&'static str, String> {
    let form = insn.form();
    let v = insn.d[at];
    let f = form.fields().nth(at.0 as usize).ok_or("a form without the field")?;
    match f.kind {
        Kind::Names(n) => n.get(v as usize).copied().filter(|s| !s.is_empty()),
        _ => None,
    }
    .ok_or_else(|| format!("`{}`: `{}` = {v} is not defined", form.name, f.name))
}

fn destination(insn: &Insn, size: Size) -> String {
    let n = insn.get(field!(dst));
    match (insn.get(field!(do)), n) {
        (0, _) => register(n, size),
        (_, 0x7f) => "#".to_string(),
        _ => format!("o[{:#x}]", n * if size == Size::Half { 2 } else { 4 }),
    }
}

fn source(insn: &Insn, ops: &Operands, slot: u8, width: Width) -> Result<String, String> {
    let size = width.size(|f| insn.get(f));
    let s = match slot {
        0 => ops.source1()?,
        1 => ops.source2(size),
        _ => ops.source3(size),
    };
    if width == Width::SourceType && insn.get(field!(sty)) & 3 == 3 && !matches!(s, Source::Reg(_)) {
        return Err("an 8-bit source in a full register cannot be in memory".into());
    }
    Ok(ops.text(s, size, slot as u64 + 1))
}

fn operand(insn: &Insn, ops: &Operands, o: Operand) -> Result<Option<String>, String> {
    let flags = |f: FieldName| format!("$c{}", insn.get(f));
    let address_register = |f: FieldName| match insn.get(f) {
        0 => "0x0".to_string(),
        n => format!("$a{n}"),
    };
    Ok(Some(match o {
        Operand::Destination(width) => destination(insn, width.size(|f| insn.get(f))),
        Operand::Source(slot, width, true) => source(insn, ops, slot, width)?,
        Operand::Source(slot, width, false) => register(insn.get(SOURCES[slot as usize]), width.size(|f| insn.get(f))),
        Operand::Flags if insn.get(field!(cw)) == 0 => return Ok(None),
        Operand::Flags | Operand::FlagsTo => flags(field!(cd)),
        Operand::Carry if insn.get(field!(addop)) != AddOp::Addc as u64 => return Ok(None),
        Operand::Carry | Operand::FlagsFrom => flags(field!(cc)),
        Operand::AddressTo => address_register(field!(dst)),
        Operand::AddressFrom => address_register(field!(a)),
        Operand::Target => format!("{:#x}", insn.get(field!(target)) * 4),
        Operand::Global => format!("g{}[$r{}]", insn.get(field!(gs)), insn.get(field!(src1))),
        Operand::Results(masked) => {
            let mask = if masked { insn.get(field!(mask)) } else { 15 };
            let mut n = insn.get(field!(dst));
            let mut part = |i: u64| {
                if mask >> i & 1 == 0 {
                    return "#".to_string();
                }
                n += 1;
                format!("$r{}", n - 1)
            };
            (0..4).map(&mut part).collect::<Vec<_>>().join(":")
        }
        Operand::Texture => format!("$t{}", insn.get(field!(tex))),
        Operand::Sampler => format!("$s{}", insn.get(field!(smp))),
        Operand::Arguments(counted) => {
            let last = if counted { insn.get(field!(count)) } else { 0 };
            (0..=last).map(|i| format!("$r{}", insn.get(field!(dst)) + i)).collect::<Vec<_>>().join(":")
        }
        Operand::Offsets => {
            let part = |f: FieldName| {
                let v = insn.signed(f);
                if v < 0 { format!("-{:#x}", -v) } else { format!("{v:#x}") }
            };
            [field!(x), field!(y), field!(z)].map(part).join(" ")
        }
        Operand::Memory(space, scale) => {
            let name = if space == 'c' { format!("c{}", insn.get(field!(cs))) } else { space.to_string() };
            address(&name, insn.get(field!(off)) * u64::from(scale), insn.get(field!(a)), insn.get(field!(inc)) != 0)
        }
    }))
}
