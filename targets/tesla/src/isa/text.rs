//! Assembly text by template: one description per form serves the disassembler (here) and the assembler (`asm.rs`).
//!
//! Operand items: `%D %Dh %Dd %Dw %Dt` destination (full, half, pair, by the `w` field, by the memory type) · `%A %B %E`
//! sources 1, 2, 3 with memory operands, suffix `h` or `d` for the size, `r` for registers only, `sty` by the source type ·
//! `%C` optional `$c` destination · `%cd %cc` `$c` registers · `%carry` of addc · `%adst %asrc` address registers ·
//! `%m` + space + scale: an address · `%target` · `%R %R4 %tex %smp %args %arg1 %offsets` of textures.

use crate::isa::decode::Insn;
use crate::isa::forms::*;
use retroshade_emit::FormId;
use std::cell::Cell;
use std::sync::OnceLock;

/// One item of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// Plain text.
    Text(&'static str),
    /// Text where a field is set: (field, text).
    Flag(&'static str, &'static str),
    /// A field's name.
    Name(&'static str),
    /// A number.
    Number(&'static str),
    /// An operand.
    Operand(&'static str),
}

/// What encoding and text want of a form at hand.
pub struct Template {
    /// Its text.
    pub items: Vec<Item>,
    /// The usual values of its fields.
    pub defaults: Vec<u64>,
}

/// The template of a form, made when it is first asked for: most programs use few forms.
pub fn template(id: FormId) -> &'static Template {
    static ALL: [OnceLock<Template>; COUNT_FORMS] = [const { OnceLock::new() }; COUNT_FORMS];
    ALL[id.0 as usize].get_or_init(|| {
        let form = TABLE.form(id);
        Template { items: form.ext.text.split(' ').map(item).collect(), defaults: form.fields().map(|f| f.default).collect() }
    })
}

fn item(s: &'static str) -> Item {
    if let Some(n) = s.strip_prefix('=') {
        Item::Name(n)
    } else if let Some(n) = s.strip_prefix('#') {
        Item::Number(n)
    } else if let Some(n) = s.strip_prefix('%') {
        Item::Operand(n)
    } else if let Some((f, t)) = s.split_once('?') {
        Item::Flag(f, t)
    } else {
        Item::Text(s)
    }
}

/// Size of a data operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
    /// 64 bits.
    Pair,
    /// 128 bits.
    Quad,
}

/// Size of a memory access type of l[] and g[].
pub const fn memory_size(ty: u64) -> Size {
    match ty {
        4 => Size::Pair,
        5 => Size::Quad,
        _ => Size::Word,
    }
}

/// A register operand's text.
pub fn register(n: u64, size: Size) -> String {
    match size {
        Size::Half => format!("$r{}{}", n >> 1, if n & 1 == 0 { 'l' } else { 'h' }),
        Size::Word => format!("$r{n}"),
        Size::Pair => format!("$r{n}d"),
        Size::Quad => format!("$r{n}q"),
    }
}

/// Names, access sizes and fields of the s[] operand types of arithmetic instructions.
pub const S_TYPES: [(&str, u64); 4] = [("u8", 1), ("u16", 2), ("s16", 2), ("b32", 4)];

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
    fn flag(&self, f: &str) -> bool {
        self.insn.get(f) != 0
    }
    fn shape(&self) -> Shape {
        self.insn.form().ext.shape
    }
    fn is_p(&self) -> bool {
        match self.shape() {
            Shape::Long => self.flag("k2") && self.flag("k3"),
            Shape::Short => self.flag("k2") && self.flag("m1"),
            Shape::Imm => self.insn.space == GP && self.flag("m1"),
            Shape::Control => false,
        }
    }
    /// Whether source 1 is s[].
    fn is_s(&self) -> bool {
        self.insn.space == CP && self.flag("m1") && !self.is_p()
    }
    /// Source 1.
    pub fn source1(&self) -> Result<Source, String> {
        let raw = self.insn.get("src1");
        if self.is_p() {
            if self.insn.space != GP {
                return Err("p[] exists only in geometry programs".into());
            }
            self.mark(M1 | K2 | K3 | ADR);
            let registers = self.insn.has("src2") || self.insn.has("src3");
            if self.shape() == Shape::Long && registers && !self.flag("m1") {
                return Err("a p[] operand beside registers needs bit 53".into());
            }
            return Ok(Source::P(raw * 4));
        }
        if !self.flag("m1") {
            return Ok(Source::Reg(raw));
        }
        self.mark(M1);
        match self.insn.space {
            CP => {
                self.mark(ADR | INC);
                let width = if self.shape() == Shape::Long { 5 } else { 4 };
                let (ty, off) = ((raw >> width) as usize, raw & ((1 << width) - 1));
                let off = if self.flag("inc") { ((off << (64 - width)) as i64) >> (64 - width) } else { off as i64 };
                Ok(Source::S(ty & 3, off * S_TYPES[ty & 3].1 as i64))
            }
            VP | GP if self.shape() != Shape::Imm => Ok(Source::A(raw * 4)),
            _ => Err("no memory operand of this kind in this stage".into()),
        }
    }
    fn constant(&self, raw: u64, size: Size, slot: u64) -> Source {
        let long = self.shape() == Shape::Long;
        let width = if long { 7 } else { 5 };
        let cs = if long { self.insn.get("cs") } else { raw >> 5 & 1 };
        self.mark(CSP);
        let mut inc = false;
        if !self.is_s() {
            self.mark(ADR | INC);
            // The decoder reads bit 25 as nothing for a 32-bit c[] in source 2 of compute programs.
            inc = self.flag("inc") && !(long && self.insn.space == CP && slot == 2 && size == Size::Word);
        }
        let off = raw & ((1 << width) - 1);
        let off = if inc { ((off << (64 - width)) as i64) >> (64 - width) } else { off as i64 };
        Source::C(cs, off * if size == Size::Half { 2 } else { 4 })
    }
    /// Source 2.
    pub fn source2(&self, size: Size) -> Source {
        let raw = self.insn.get("src2");
        if self.flag("k2") && !self.is_p() {
            self.mark(K2);
            return self.constant(raw, size, 2);
        }
        Source::Reg(raw)
    }
    /// Source 3.
    pub fn source3(&self, size: Size) -> Source {
        let raw = self.insn.get("src3");
        if self.flag("k3") && !self.is_p() && self.insn.has("cs") {
            self.mark(K3);
            return self.constant(raw, size, 3);
        }
        Source::Reg(raw)
    }
    /// The `$a` number and post-increment flag of a memory operand.
    pub fn index(&self, s: Source) -> (u64, bool) {
        let (a, inc) = (self.insn.get("a"), self.flag("inc"));
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
        for (f, bit) in [("m1", M1), ("k2", K2), ("k3", K3), ("inc", INC), ("a", ADR), ("cs", CSP)] {
            if self.used.get() & bit == 0 && self.flag(f) {
                return Err(format!("`{}`: field `{f}` is set without meaning", self.insn.form().name));
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
    match insn.get("end") {
        1 => out.push("exit".into()),
        2 => out.push("join".into()),
        _ => {}
    }
    if insn.has("pred") {
        match insn.get("pred") {
            15 => {}
            0 => out.push("(never)".into()),
            p => {
                let name = PREDICATES[p as usize];
                if name.is_empty() {
                    return Err(format!("predicate {p:#x} is not defined"));
                }
                out.push(format!("({name} $c{})", insn.get("cc")));
            }
        }
    }
    if insn.has("lanes") && insn.get("lanes") != 15 {
        let l = insn.get("lanes");
        let digits: String = (0..4).filter(|i| l >> i & 1 == 1).map(|i| char::from(b'0' + i as u8)).collect();
        out.push(if l == 0 { "(lnone)".into() } else { format!("(l{digits})") });
    }
    for it in &template(insn.d.form).items {
        let s = match *it {
            Item::Text(t) => t.to_string(),
            Item::Flag(f, t) => {
                if insn.get(f) != 0 {
                    t.to_string()
                } else {
                    continue;
                }
            }
            Item::Name(f) => name_of(insn, f)?.to_string(),
            Item::Number(f) => format!("{:#x}", insn.get(f)),
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
    ops.mark(if insn.has("off") || insn.op() == Op::MovFromA || insn.op() == Op::AddA { ADR | INC | CSP } else { 0 });
    ops.finish()?;
    Ok(out.join(" "))
}

fn name_of(insn: &Insn, field: &str) -> Result<&'static str, String> {
    let form = insn.form();
    let v = insn.get(field);
    let f = form.fields().find(|f| f.name == field).ok_or_else(|| format!("template names `{field}`"))?;
    match f.kind {
        retroshade_emit::Kind::Names(n) => n.get(v as usize).copied().filter(|s| !s.is_empty()),
        _ => None,
    }
    .ok_or_else(|| format!("`{}`: `{field}` = {v} is not defined", form.name))
}

fn operand(insn: &Insn, ops: &Operands, o: &str) -> Result<Option<String>, String> {
    let dst = |size: Size| {
        let n = insn.get("dst");
        if insn.get("do") == 0 {
            register(n, size)
        } else if n == 0x7f {
            "#".to_string()
        } else {
            format!("o[{:#x}]", n * if size == Size::Half { 2 } else { 4 })
        }
    };
    let by_w = if insn.get("w") == 1 { Size::Word } else { Size::Half };
    Ok(Some(match o {
        "D" => dst(Size::Word),
        "Dh" => dst(Size::Half),
        "Dd" => dst(Size::Pair),
        "Dw" => dst(by_w),
        "Dt" => register(insn.get("dst"), memory_size(insn.get("ty"))),
        "Ar" => register(insn.get("src1"), Size::Word),
        "Ad" => register(insn.get("src1"), Size::Pair),
        "Bd" => register(insn.get("src2"), Size::Pair),
        "Ed" => register(insn.get("src3"), Size::Pair),
        "Er" => register(insn.get("src3"), Size::Word),
        "Ew" => register(insn.get("src3"), by_w),
        "Bt" => register(insn.get("src2"), memory_size(insn.get("ty"))),
        "Et" => register(insn.get("src3"), memory_size(insn.get("ty"))),
        "A" | "Ah" | "Asty" => {
            let size = match o {
                "A" => Size::Word,
                "Ah" => Size::Half,
                _ if insn.get("sty") & 1 == 1 => Size::Word,
                _ => Size::Half,
            };
            let s = ops.source1()?;
            if o == "Asty" && insn.get("sty") & 3 == 3 && !matches!(s, Source::Reg(_)) {
                return Err("an 8-bit source in a full register cannot be in memory".into());
            }
            ops.text(s, size, 1)
        }
        "B" => ops.text(ops.source2(Size::Word), Size::Word, 2),
        "Bh" => ops.text(ops.source2(Size::Half), Size::Half, 2),
        "E" => ops.text(ops.source3(Size::Word), Size::Word, 3),
        "Eh" => ops.text(ops.source3(Size::Half), Size::Half, 3),
        "C" if insn.get("cw") == 0 => return Ok(None),
        "C" | "cd" => format!("$c{}", insn.get("cd")),
        "cc" => format!("$c{}", insn.get("cc")),
        "carry" if insn.get("addop") != 3 => return Ok(None),
        "carry" => format!("$c{}", insn.get("cc")),
        "adst" | "asrc" => match insn.get(if o == "adst" { "dst" } else { "a" }) {
            0 => "0x0".to_string(),
            n => format!("$a{n}"),
        },
        "target" => format!("{:#x}", insn.get("target") * 4),
        "mg" => format!("g{}[$r{}]", insn.get("gs"), insn.get("src1")),
        "R" | "R4" => {
            let mask = if o == "R4" { 15 } else { insn.get("mask") };
            let mut n = insn.get("dst");
            let parts: Vec<String> = (0..4)
                .map(|i| {
                    if mask >> i & 1 == 0 {
                        return "#".to_string();
                    }
                    n += 1;
                    format!("$r{}", n - 1)
                })
                .collect();
            parts.join(":")
        }
        "tex" => format!("$t{}", insn.get("tex")),
        "smp" => format!("$s{}", insn.get("smp")),
        "args" => (0..=insn.get("count")).map(|i| format!("$r{}", insn.get("dst") + i)).collect::<Vec<_>>().join(":"),
        "arg1" => format!("$r{}", insn.get("dst")),
        "offsets" => {
            let part = |f: &str| {
                let v = insn.signed(f);
                if v < 0 { format!("-{:#x}", -v) } else { format!("{v:#x}") }
            };
            format!("{} {} {}", part("x"), part("y"), part("z"))
        }
        m if m.starts_with('m') => {
            let (space, scale) = m[1..].split_at(1);
            let scale: u64 = scale.parse().unwrap_or(1);
            let space = if space == "c" { format!("c{}", insn.get("cs")) } else { space.to_string() };
            address(&space, insn.get("off") * scale, insn.get("a"), insn.get("inc") == 1)
        }
        _ => return Err(format!("unknown operand item {o}")),
    }))
}
