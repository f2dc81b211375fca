//! Text to words: tries the forms in table order (short, immediate, long, control) and takes the first whose template
//! reads the line and whose disassembly gives the line back.

use crate::isa::chip::Chip;
use crate::isa::decode::{Insn, available, encode};
use crate::isa::forms::*;
use crate::isa::operand::{Item, Operand, Reach, S_TYPES, SOURCES, Size, Width, template};
use crate::isa::text::disassemble;
use retroshade_emit::{FieldIndex, FieldName, FormId, Kind, Word};

/// The words of one line; the size in bytes comes second.
pub fn assemble_line(line: &str, space: u32, chip: &Chip) -> Result<(u64, u8), String> {
    let tokens = tokenize(line);
    if tokens.is_empty() {
        return Err("expected an instruction".into());
    }
    let wanted = tokens.concat();
    let mut best: Option<(usize, String)> = None;
    for i in 0..TABLE.forms.len() {
        let form = &TABLE.forms[i];
        let spaces = if form.ext.shape == Shape::Imm { form.spaces >> IMM_SHIFT } else { form.spaces };
        if spaces & space == 0 {
            continue;
        }
        let word = Word { form: FormId(i as u16), values: template(FormId(i as u16)).defaults().into(), residue: 0 };
        let mut p = Parser { tokens: &tokens, at: 0, form, word, parsed: 0 };
        let result = p.line().and_then(|()| {
            let insn = Insn { d: p.word.clone(), space };
            let word = encode(insn.d.form, &insn.d.values)?;
            available(&insn, chip)?;
            let text = disassemble(&insn)?;
            if tokenize(&text).concat() != wanted {
                return Err(format!("this would read back as `{text}`"));
            }
            Ok((word, form.size))
        });
        match result {
            Ok(done) => return Ok(done),
            Err(e) => {
                if best.as_ref().is_none_or(|(n, _)| p.parsed > *n) {
                    best = Some((p.parsed, e));
                }
            }
        }
    }
    Err(match best {
        Some((read, e)) if read > 0 => e,
        _ => format!("no instruction of this stage begins with `{}`", tokens[0]),
    })
}

/// Splits a line into tokens; parentheses stand alone.
fn tokenize(line: &str) -> Vec<String> {
    line.replace('(', " ( ").replace(')', " ) ").split_whitespace().map(str::to_string).collect()
}

fn number(s: &str) -> Option<u64> {
    match s.strip_prefix("0x") {
        Some(h) => u64::from_str_radix(h, 16).ok(),
        None => s.parse().ok(),
    }
}

fn signed(s: &str) -> Option<u64> {
    match s.strip_prefix('-') {
        Some(p) => number(p).map(|v| (v as i64).wrapping_neg() as u64),
        None => number(s),
    }
}

struct Address {
    off: u64,
    a: u64,
    inc: bool,
}

struct Parser<'a> {
    tokens: &'a [String],
    at: usize,
    form: &'static TForm,
    word: Word,
    /// How far any attempt came, for the choice of the error message.
    parsed: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }
    fn ahead(&self, n: usize) -> &str {
        self.tokens.get(self.at + n).map_or("", String::as_str)
    }
    fn next(&mut self) -> String {
        let t = self.peek().to_string();
        self.at += 1;
        self.parsed = self.parsed.max(self.at);
        t
    }
    fn accept(&mut self, s: &str) -> bool {
        let hit = self.peek() == s;
        if hit {
            self.next();
        }
        hit
    }
    fn expect(&mut self, s: &str) -> Result<(), String> {
        if self.accept(s) { Ok(()) } else { Err(self.expected(&format!("`{s}`"))) }
    }
    fn expected(&self, what: &str) -> String {
        match self.peek() {
            "" => format!("expected {what}, found the end of the line"),
            t => format!("expected {what}, found `{t}`"),
        }
    }
    fn set(&mut self, field: FieldName, v: u64) -> Result<(), String> {
        let at = self.form.position(field).ok_or_else(|| format!("`{}` has no {}", self.form.name, field.name()))?;
        self.word[at] = v;
        Ok(())
    }
    fn get(&self, field: FieldName) -> u64 {
        TABLE.get(&self.word, field).unwrap_or(0)
    }
    fn has(&self, field: FieldName) -> bool {
        self.form.position(field).is_some()
    }

    fn line(&mut self) -> Result<(), String> {
        if self.accept("exit") {
            self.set(field!(end), End::Exit as u64)?;
        } else if self.accept("join") {
            self.set(field!(end), End::Join as u64)?;
        }
        while self.peek() == "(" && self.ahead(1) != "mul" {
            let name = self.ahead(1).to_string();
            let lanes = name.strip_prefix('l').filter(|r| *r == "none" || (!r.is_empty() && r.bytes().all(|b| b.is_ascii_digit())));
            if let (Some(l), ")") = (lanes, self.ahead(2)) {
                let mask = if l == "none" { 0 } else { l.bytes().fold(0, |m, b| m | 1u64 << (b - b'0').min(8)) };
                self.set(field!(lanes), mask)?;
                self.at += 3;
                continue;
            }
            let code = Cond::ALL.iter().find(|c| c.text() == name).ok_or_else(|| format!("`{name}` is not a condition"))?;
            self.set(field!(pred), *code as u64)?;
            self.at += 2;
            if self.peek() != ")" {
                let c = self.c_register()?;
                self.set(field!(cc), c)?;
            }
            self.expect(")")?;
        }
        for it in template(self.word.form).items() {
            self.item(*it)?;
        }
        if self.at < self.tokens.len() { Err(self.expected("the end of the line")) } else { Ok(()) }
    }

    fn item(&mut self, it: Item) -> Result<(), String> {
        match it {
            Item::Text(t) => self.expect(t),
            Item::Flag(at, t) => {
                if self.accept(t) {
                    self.word[at] = 1;
                }
                Ok(())
            }
            Item::Number(at) => {
                let v = number(self.peek()).ok_or_else(|| self.expected("a number"))?;
                self.next();
                self.word[at] = v;
                Ok(())
            }
            Item::Name(at) => self.name(at),
            Item::Operand(o) => self.operand(o),
        }
    }

    fn name(&mut self, at: FieldIndex) -> Result<(), String> {
        let field = self.form.fields().nth(at.0 as usize).ok_or("no such field")?;
        let Kind::Names(names) = field.kind else { return Err("no names".into()) };
        let mut hits = names.iter().enumerate().filter(|(_, n)| **n == self.peek() && !n.is_empty()).map(|(i, _)| i as u64);
        let first = hits.next().ok_or_else(|| self.expected(&format!("one of {}", names.join(" "))))?;
        // Two codes of one name differ in the register's size.
        let full = self.ahead(1).starts_with("$r") && !self.ahead(1).ends_with(['l', 'h']);
        let source_type = self.form.position(field!(sty)) == Some(at);
        let v = if source_type && full && first & 1 == 0 { hits.find(|i| i & 1 == 1).unwrap_or(first) } else { first };
        self.next();
        self.word[at] = v;
        Ok(())
    }

    fn c_register(&mut self) -> Result<u64, String> {
        let n = self.peek().strip_prefix("$c").and_then(|s| s.parse::<u64>().ok()).filter(|n| *n < 4);
        let n = n.ok_or_else(|| self.expected("$c0 to $c3"))?;
        self.next();
        Ok(n)
    }
    fn a_register(&mut self) -> Result<u64, String> {
        if self.accept("0x0") {
            return Ok(0);
        }
        let n = self.peek().strip_prefix("$a").and_then(|s| s.parse::<u64>().ok()).filter(|n| *n < 8);
        let n = n.ok_or_else(|| self.expected("an address register"))?;
        self.next();
        Ok(n)
    }
    fn register(&mut self, size: Size) -> Result<u64, String> {
        let (n, s) = self.any_register()?;
        if s != size { Err(format!("`{}` has the wrong size", self.tokens[self.at - 1])) } else { Ok(n) }
    }
    fn any_register(&mut self) -> Result<(u64, Size), String> {
        let t = self.peek().strip_prefix("$r").ok_or_else(|| self.expected("a register"))?;
        let digits = t.trim_end_matches(['l', 'h', 'd', 'q']);
        let n: u64 = digits.parse().map_err(|_| self.expected("a register"))?;
        let r = match &t[digits.len()..] {
            "" => (n, Size::Word),
            "l" => (n * 2, Size::Half),
            "h" => (n * 2 + 1, Size::Half),
            "d" => (n, Size::Pair),
            "q" => (n, Size::Quad),
            _ => return Err(self.expected("a register")),
        };
        self.next();
        Ok(r)
    }
    /// `X[…]` where X is given; the space's number where it has one.
    fn address(&mut self, space: &str) -> Result<(u64, Address), String> {
        let bad = || format!("expected {space}[…], found `{}`", self.peek());
        let rest = self.peek().strip_prefix(space).ok_or_else(bad)?;
        let (n, inner) = rest.split_once('[').and_then(|(n, r)| Some((n, r.strip_suffix(']')?))).ok_or_else(bad)?;
        let n = if n.is_empty() { 0 } else { n.parse().map_err(|_| bad())? };
        let reg = |s: &str| if s == "0x0" { Some(0) } else { s.strip_prefix("$a").and_then(|s| s.parse::<u64>().ok()).filter(|n| *n < 8) };
        let adr = if let Some((a, off)) = inner.split_once("++") {
            reg(a).zip(number(off)).map(|(a, off)| Address { off, a, inc: true })
        } else if let Some((a, off)) = inner.split_once('+') {
            reg(a).zip(number(off)).map(|(a, off)| Address { off, a, inc: false })
        } else if inner.starts_with("$a") {
            reg(inner).map(|a| Address { off: 0, a, inc: false })
        } else {
            number(inner).map(|off| Address { off, a: 0, inc: false })
        }
        .ok_or_else(bad)?;
        self.next();
        Ok((n, adr))
    }
    fn index(&mut self, adr: &Address) -> Result<(), String> {
        if adr.a != 0 {
            self.set(field!(a), adr.a)?;
        }
        if adr.inc {
            self.set(field!(inc), 1)?;
        }
        Ok(())
    }
    /// An address in units, as the bits of a source field's offset.
    fn scaled(&self, adr: &Address, scale: u64, reach: Reach) -> Result<u64, String> {
        let off = adr.off as i64;
        if off % scale as i64 != 0 {
            return Err(format!("{:#x} is not a multiple of {scale}", adr.off));
        }
        let v = off / scale as i64;
        let width = reach.offset.width;
        let range = if adr.inc { -(1i64 << (width - 1))..1 << (width - 1) } else { 0..1 << width };
        if range.contains(&v) { Ok(v as u64 & ((1 << width) - 1)) } else { Err(format!("{:#x} is out of reach", adr.off)) }
    }

    fn source1(&mut self, size: Size) -> Result<(), String> {
        let shape = self.form.ext.shape;
        if self.peek().starts_with("$r") {
            let n = self.register(size)?;
            return self.set(field!(src1), n);
        }
        if let Some(ty) = S_TYPES.iter().position(|t| t.0 == self.peek()) {
            self.next();
            let (_, adr) = self.address("s")?;
            let off = self.scaled(&adr, S_TYPES[ty].1, Reach::shared(shape))?;
            self.set(field!(m1), 1)?;
            self.set(field!(src1), Reach::shared(shape).join(off, ty as u64).ok_or("s[] out of reach")?)?;
            return self.index(&adr);
        }
        let space = if self.peek().starts_with('p') { "p" } else { "a" };
        let (_, adr) = self.address(space)?;
        let off = self.scaled(&adr, 4, Reach::attribute(shape))?;
        self.set(field!(m1), 1)?;
        self.set(field!(src1), off)?;
        if space == "p" {
            if shape != Shape::Imm {
                self.set(field!(k2), 1)?;
            }
            if shape == Shape::Long {
                self.set(field!(k3), 1)?;
            }
            return self.index(&adr);
        }
        if adr.a != 0 || adr.inc { Err("a[] operands of arithmetic instructions are not indexed".into()) } else { Ok(()) }
    }
    fn source23(&mut self, slot: u8, size: Size) -> Result<(), String> {
        let field = SOURCES[slot as usize];
        if self.peek().starts_with("$r") {
            let n = self.register(size)?;
            return self.set(field, n);
        }
        let (cs, adr) = self.address("c")?;
        let reach = Reach::constant(self.form.ext.shape);
        let off = self.scaled(&adr, if size == Size::Half { 2 } else { 4 }, reach)?;
        self.set(if slot == 1 { field!(k2) } else { field!(k3) }, 1)?;
        let above = if reach.above.is_some() {
            cs
        } else {
            self.set(field!(cs), cs)?;
            0
        };
        self.set(field, reach.join(off, above).ok_or("short forms reach c0[] and c1[] only")?)?;
        self.index(&adr)
    }
    fn destination(&mut self, size: Size) -> Result<(), String> {
        // sad and mad print a tied destination a second time.
        if self.accept("#") {
            self.set(field!(do), 1)?;
            return self.set(field!(dst), 0x7f);
        }
        if self.peek().starts_with("o[") {
            let (_, adr) = self.address("o")?;
            let off = self.scaled(&adr, if size == Size::Half { 2 } else { 4 }, Reach::attribute(Shape::Long))?;
            self.set(field!(do), 1)?;
            return self.set(field!(dst), off);
        }
        let n = self.register(size)?;
        self.set(field!(dst), n)
    }
    fn list(&mut self) -> Vec<Option<u64>> {
        let t = self.next();
        t.split(':').map(|p| p.strip_prefix("$r").and_then(|s| s.parse().ok())).collect()
    }

    /// The size of an operand; where the field `w` says it, by what is written.
    fn size(&mut self, width: Width) -> Result<Size, String> {
        if width == Width::Full {
            let t = self.peek();
            let odd = t.strip_prefix("o[").and_then(|t| number(t.trim_end_matches(']'))).is_some_and(|v| v % 4 != 0);
            let half = odd || t == "#" || t.starts_with("$r") && t.ends_with(['l', 'h']);
            self.set(field!(w), u64::from(!half))?;
        }
        Ok(width.size(|f| self.get(f)))
    }
    fn numbered(&mut self, prefix: &str, field: FieldName) -> Result<(), String> {
        let n = self.peek().strip_prefix(prefix).and_then(|s| s.parse().ok()).ok_or_else(|| self.expected(prefix))?;
        self.next();
        self.set(field, n)
    }
    fn flags(&mut self, field: FieldName) -> Result<(), String> {
        let c = self.c_register()?;
        self.set(field, c)
    }

    fn operand(&mut self, o: Operand) -> Result<(), String> {
        match o {
            Operand::Destination(width) => {
                let size = self.size(width)?;
                self.destination(size)
            }
            Operand::Source(slot, width, memory) => {
                let size = self.size(width)?;
                match (slot, memory) {
                    (0, true) => self.source1(size),
                    (_, true) => self.source23(slot, size),
                    _ => {
                        let n = self.register(size)?;
                        self.set(SOURCES[slot as usize], n)
                    }
                }
            }
            Operand::Flags if !self.peek().starts_with("$c") => Ok(()),
            Operand::Flags => {
                self.set(field!(cw), 1)?;
                self.flags(field!(cd))
            }
            Operand::FlagsTo => self.flags(field!(cd)),
            Operand::FlagsFrom => self.flags(field!(cc)),
            Operand::Carry if self.get(field!(addop)) != AddOp::Addc as u64 => Ok(()),
            Operand::Carry if self.has(field!(cc)) => self.flags(field!(cc)),
            Operand::Carry => self.c_register().map(drop),
            Operand::AddressTo | Operand::AddressFrom => {
                let a = self.a_register()?;
                self.set(if o == Operand::AddressTo { field!(dst) } else { field!(a) }, a)
            }
            Operand::Target => {
                let v = number(self.peek()).filter(|v| v % 4 == 0).ok_or_else(|| self.expected("a code address"))?;
                self.next();
                self.set(field!(target), v / 4)
            }
            Operand::Global => {
                let bad = self.expected("g…[$r…]");
                let t = self.next();
                let parts = t
                    .strip_prefix('g')
                    .and_then(|t| t.split_once("[$r"))
                    .and_then(|(g, r)| Some((g.parse().ok()?, r.strip_suffix(']')?.parse().ok()?)));
                let (g, r): (u64, u64) = parts.ok_or(bad)?;
                self.set(field!(gs), g)?;
                self.set(field!(src1), r)
            }
            Operand::Results(masked) => {
                let regs = self.list();
                if regs.len() != 4 {
                    return Err("expected four results".into());
                }
                if masked {
                    let mask = regs.iter().enumerate().fold(0, |m, (i, r)| m | u64::from(r.is_some()) << i);
                    self.set(field!(mask), mask)?;
                }
                Ok(())
            }
            Operand::Texture => self.numbered("$t", field!(tex)),
            Operand::Sampler => self.numbered("$s", field!(smp)),
            Operand::Arguments(counted) => {
                let regs = self.list();
                let base = regs.first().copied().flatten().ok_or("expected argument registers")?;
                if counted {
                    self.set(field!(count), regs.len() as u64 - 1)?;
                }
                self.set(field!(dst), base)
            }
            Operand::Offsets => {
                for f in [field!(x), field!(y), field!(z)] {
                    let v = signed(self.peek()).ok_or_else(|| self.expected("a texel offset"))?;
                    self.next();
                    self.set(f, v)?;
                }
                Ok(())
            }
            Operand::Memory(space, scale) => {
                let (cs, adr) = self.address(&space.to_string())?;
                if adr.off % u64::from(scale) != 0 {
                    return Err(format!("{:#x} is not a multiple of {scale}", adr.off));
                }
                if space == 'c' {
                    self.set(field!(cs), cs)?;
                }
                self.set(field!(off), adr.off / u64::from(scale))?;
                self.index(&adr)
            }
        }
    }
}
