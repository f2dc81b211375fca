//! Text to words: tries the forms in table order (short, immediate, long, control) and takes the first whose template
//! reads the line and whose disassembly gives the line back.

use crate::isa::chip::Chip;
use crate::isa::decode::{Insn, available, encode};
use crate::isa::forms::*;
use crate::isa::text::{Item, S_TYPES, Size, disassemble, memory_size, template};
use retroshade_emit::{Decoded, FormId, Kind};
use smallvec::SmallVec;

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
        let mut p = Parser { tokens: &tokens, at: 0, form, values: form.fields().map(|f| f.default).collect(), parsed: 0 };
        let result = p.line(i).and_then(|()| {
            let insn = Insn { d: Decoded { form: FormId(i as u16), values: p.values.clone(), residue: 0 }, space };
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
    values: SmallVec<[u64; 16]>,
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
    fn set(&mut self, field: &str, v: u64) -> Result<(), String> {
        let i = self.form.field_index(field).ok_or_else(|| format!("`{}` has no {field}", self.form.name))?;
        self.values[i] = v;
        Ok(())
    }
    fn get(&self, field: &str) -> u64 {
        self.form.field_index(field).map_or(0, |i| self.values[i])
    }
    fn has(&self, field: &str) -> bool {
        self.form.field_index(field).is_some()
    }

    fn line(&mut self, form: usize) -> Result<(), String> {
        if self.accept("exit") {
            self.set("end", 1)?;
        } else if self.accept("join") {
            self.set("end", 2)?;
        }
        while self.peek() == "(" && self.ahead(1) != "mul" {
            let name = self.ahead(1).to_string();
            let lanes = name.strip_prefix('l').filter(|r| *r == "none" || (!r.is_empty() && r.bytes().all(|b| b.is_ascii_digit())));
            if let (Some(l), ")") = (lanes, self.ahead(2)) {
                let mask = if l == "none" { 0 } else { l.bytes().fold(0, |m, b| m | 1u64 << (b - b'0').min(8)) };
                self.set("lanes", mask)?;
                self.at += 3;
                continue;
            }
            let code = PREDICATES.iter().position(|p| *p == name).ok_or_else(|| format!("`{name}` is not a condition"))?;
            self.set("pred", code as u64)?;
            self.at += 2;
            if self.peek() != ")" {
                let c = self.c_register()?;
                self.set("cc", c)?;
            }
            self.expect(")")?;
        }
        for it in &template(FormId(form as u16)).items {
            self.item(*it)?;
        }
        if self.at < self.tokens.len() { Err(self.expected("the end of the line")) } else { Ok(()) }
    }

    fn item(&mut self, it: Item) -> Result<(), String> {
        match it {
            Item::Text(t) => self.expect(t),
            Item::Flag(f, t) => {
                if self.accept(t) {
                    self.set(f, 1)?;
                }
                Ok(())
            }
            Item::Number(f) => {
                let v = number(self.peek()).ok_or_else(|| self.expected("a number"))?;
                self.next();
                self.set(f, v)
            }
            Item::Name(f) => {
                let t = self.peek().to_string();
                let field = self.form.fields().find(|x| x.name == f).ok_or("no such field")?;
                let Kind::Names(names) = field.kind else { return Err("no names".into()) };
                let mut hits = names.iter().enumerate().filter(|(_, n)| **n == t && !n.is_empty()).map(|(i, _)| i as u64);
                let first = hits.next().ok_or_else(|| self.expected(&format!("one of {}", names.join(" "))))?;
                // Two codes of one name differ in the register's size.
                let full = self.ahead(1).starts_with("$r") && !self.ahead(1).ends_with(['l', 'h']);
                let v = if f == "sty" && full && first & 1 == 0 { hits.find(|i| i & 1 == 1).unwrap_or(first) } else { first };
                self.next();
                self.set(f, v)
            }
            Item::Operand(o) => self.operand(o),
        }
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
            self.set("a", adr.a)?;
        }
        if adr.inc {
            self.set("inc", 1)?;
        }
        Ok(())
    }
    fn scaled(&self, adr: &Address, scale: u64, width: u32) -> Result<u64, String> {
        let off = adr.off as i64;
        if off % scale as i64 != 0 {
            return Err(format!("{:#x} is not a multiple of {scale}", adr.off));
        }
        let v = off / scale as i64;
        let range = if adr.inc { -(1i64 << (width - 1))..1 << (width - 1) } else { 0..1 << width };
        if range.contains(&v) { Ok(v as u64 & ((1 << width) - 1)) } else { Err(format!("{:#x} is out of reach", adr.off)) }
    }

    fn source1(&mut self, size: Size) -> Result<(), String> {
        let shape = self.form.ext.shape;
        if self.peek().starts_with("$r") {
            let n = self.register(size)?;
            return self.set("src1", n);
        }
        if let Some(ty) = S_TYPES.iter().position(|t| t.0 == self.peek()) {
            self.next();
            let (_, adr) = self.address("s")?;
            let width = if shape == Shape::Long { 5 } else { 4 };
            let off = self.scaled(&adr, S_TYPES[ty].1, width)?;
            self.set("m1", 1)?;
            self.set("src1", (ty as u64) << width | off)?;
            return self.index(&adr);
        }
        let space = if self.peek().starts_with('p') { "p" } else { "a" };
        let (_, adr) = self.address(space)?;
        let off = self.scaled(&adr, 4, if shape == Shape::Long { 7 } else { 6 })?;
        self.set("m1", 1)?;
        self.set("src1", off)?;
        if space == "p" {
            if shape != Shape::Imm {
                self.set("k2", 1)?;
            }
            if shape == Shape::Long {
                self.set("k3", 1)?;
            }
            return self.index(&adr);
        }
        if adr.a != 0 || adr.inc { Err("a[] operands of arithmetic instructions are not indexed".into()) } else { Ok(()) }
    }
    fn source23(&mut self, field: &str, size: Size) -> Result<(), String> {
        if self.peek().starts_with("$r") {
            let n = self.register(size)?;
            return self.set(field, n);
        }
        let (cs, adr) = self.address("c")?;
        let scale = if size == Size::Half { 2 } else { 4 };
        self.set(if field == "src2" { "k2" } else { "k3" }, 1)?;
        if self.form.ext.shape == Shape::Long {
            let off = self.scaled(&adr, scale, 7)?;
            self.set("cs", cs)?;
            self.set(field, off)?;
        } else {
            let off = self.scaled(&adr, scale, 5)?;
            if cs > 1 {
                return Err("short forms reach c0[] and c1[] only".into());
            }
            self.set(field, cs << 5 | off)?;
        }
        self.index(&adr)
    }
    fn destination(&mut self, size: Size) -> Result<(), String> {
        // sad and mad print a tied destination a second time.
        if self.accept("#") {
            self.set("do", 1)?;
            return self.set("dst", 0x7f);
        }
        if self.peek().starts_with("o[") {
            let (_, adr) = self.address("o")?;
            let off = self.scaled(&adr, if size == Size::Half { 2 } else { 4 }, 7)?;
            self.set("do", 1)?;
            return self.set("dst", off);
        }
        let n = self.register(size)?;
        self.set("dst", n)
    }
    fn list(&mut self) -> Vec<Option<u64>> {
        let t = self.next();
        t.split(':').map(|p| p.strip_prefix("$r").and_then(|s| s.parse().ok())).collect()
    }

    fn operand(&mut self, o: &str) -> Result<(), String> {
        let suffix_size = |t: &str| if t.ends_with(['l', 'h']) { Size::Half } else { Size::Word };
        let by_type = memory_size(self.get("ty"));
        match o {
            "D" => self.destination(Size::Word),
            "Dh" => self.destination(Size::Half),
            "Dd" => self.destination(Size::Pair),
            "Dw" => {
                let odd = self.peek().strip_prefix("o[").and_then(|t| number(t.trim_end_matches(']'))).is_some_and(|v| v % 4 != 0);
                let half = odd || self.peek() == "#" || (self.peek().starts_with("$r") && suffix_size(self.peek()) == Size::Half);
                self.set("w", u64::from(!half))?;
                self.destination(if half { Size::Half } else { Size::Word })
            }
            "Dt" => {
                let n = self.register(by_type)?;
                self.set("dst", n)
            }
            "Ar" => {
                let n = self.register(Size::Word)?;
                self.set("src1", n)
            }
            "Ad" | "Bd" | "Ed" => {
                let n = self.register(Size::Pair)?;
                self.set(
                    match o {
                        "Ad" => "src1",
                        "Bd" => "src2",
                        _ => "src3",
                    },
                    n,
                )
            }
            "Er" => {
                let n = self.register(Size::Word)?;
                self.set("src3", n)
            }
            "Ew" => {
                let size = suffix_size(self.peek());
                self.set("w", u64::from(size == Size::Word))?;
                let n = self.register(size)?;
                self.set("src3", n)
            }
            "Bt" | "Et" => {
                let n = self.register(by_type)?;
                self.set(if o == "Bt" { "src2" } else { "src3" }, n)
            }
            "A" => self.source1(Size::Word),
            "Ah" => self.source1(Size::Half),
            "Asty" => self.source1(if self.get("sty") & 1 == 1 { Size::Word } else { Size::Half }),
            "B" => self.source23("src2", Size::Word),
            "Bh" => self.source23("src2", Size::Half),
            "E" => self.source23("src3", Size::Word),
            "Eh" => self.source23("src3", Size::Half),
            "C" => {
                if self.peek().starts_with("$c") {
                    let c = self.c_register()?;
                    self.set("cw", 1)?;
                    self.set("cd", c)?;
                }
                Ok(())
            }
            "cd" => {
                let c = self.c_register()?;
                self.set("cd", c)
            }
            "cc" => {
                let c = self.c_register()?;
                self.set("cc", c)
            }
            "carry" => {
                if self.get("addop") == 3 {
                    let c = self.c_register()?;
                    if self.has("cc") {
                        return self.set("cc", c);
                    }
                }
                Ok(())
            }
            "adst" => {
                let a = self.a_register()?;
                self.set("dst", a)
            }
            "asrc" => {
                let a = self.a_register()?;
                self.set("a", a)
            }
            "target" => {
                let v = number(self.peek()).filter(|v| v % 4 == 0).ok_or_else(|| self.expected("a code address"))?;
                self.next();
                self.set("target", v / 4)
            }
            "mg" => {
                let bad = self.expected("g…[$r…]");
                let t = self.next();
                let parts = t
                    .strip_prefix('g')
                    .and_then(|t| t.split_once("[$r"))
                    .and_then(|(g, r)| Some((g.parse().ok()?, r.strip_suffix(']')?.parse().ok()?)));
                let (g, r): (u64, u64) = parts.ok_or(bad)?;
                self.set("gs", g)?;
                self.set("src1", r)
            }
            "R" | "R4" => {
                let regs = self.list();
                if regs.len() != 4 {
                    return Err("expected four results".into());
                }
                if o == "R" {
                    let mask = regs.iter().enumerate().fold(0, |m, (i, r)| m | u64::from(r.is_some()) << i);
                    self.set("mask", mask)?;
                }
                Ok(())
            }
            "tex" | "smp" => {
                let prefix = if o == "tex" { "$t" } else { "$s" };
                let n = self.peek().strip_prefix(prefix).and_then(|s| s.parse().ok()).ok_or_else(|| self.expected(prefix))?;
                self.next();
                self.set(o, n)
            }
            "args" | "arg1" => {
                let regs = self.list();
                let base = regs.first().copied().flatten().ok_or("expected argument registers")?;
                if o == "args" {
                    self.set("count", regs.len() as u64 - 1)?;
                }
                self.set("dst", base)
            }
            "offsets" => {
                for f in ["x", "y", "z"] {
                    let v = signed(self.peek()).ok_or_else(|| self.expected("a texel offset"))?;
                    self.next();
                    self.set(f, v)?;
                }
                Ok(())
            }
            m if m.starts_with('m') => {
                let (space, scale) = m[1..].split_at(1);
                let scale: u64 = scale.parse().unwrap_or(1);
                let (cs, adr) = self.address(space)?;
                if adr.off % scale != 0 {
                    return Err(format!("{:#x} is not a multiple of {scale}", adr.off));
                }
                if space == "c" {
                    self.set("cs", cs)?;
                }
                self.set("off", adr.off / scale)?;
                self.index(&adr)
            }
            _ => Err(format!("unknown operand item {o}")),
        }
    }
}
