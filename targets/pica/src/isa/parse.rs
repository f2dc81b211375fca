//! The statement parser: operands, swizzles, indices, conditions of picasso's language (ISA sheet section 16).
//!
//! It knows single instructions only; names go through [`Names`], so that the file assembler adds its symbols and the
//! line assembler has none. Block structure lives in `asm.rs`.

use crate::isa::forms::{COMPARISONS, Op, mnemonic, sources};
use crate::isa::registers::{COMPONENTS, IDENTITY, Index, Reg, Src};
use crate::isa::word::{Cond, CondOp, Instr};
use retroshade_lower::TextError;

/// What a name stands for in an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// Register (the first one of an array).
    pub reg: Reg,
    /// Index that the alias carries.
    pub index: Index,
    /// Negation that the alias carries.
    pub neg: bool,
    /// Swizzle that the alias carries.
    pub swz: [u8; 4],
}

/// A symbol table.
pub trait Names {
    /// A register name or alias.
    fn register(&self, name: &str) -> Option<Named>;
    /// A boolean (`b`) or integer (`i`) uniform.
    fn uniform(&self, kind: char, name: &str) -> Option<u8>;
}

/// No names at all.
#[derive(Debug)]
pub struct NoNames;

impl Names for NoNames {
    fn register(&self, _: &str) -> Option<Named> {
        None
    }
    fn uniform(&self, _: char, _: &str) -> Option<u8> {
        None
    }
}

/// A parsed instruction; targets are still names.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The instruction without its target.
    pub instr: Instr,
    /// A jump's label.
    pub label: Option<String>,
    /// A call's procedure.
    pub procedure: Option<String>,
}

/// A parse error with a column from 1.
pub type Parsed<T> = Result<T, TextError>;

fn fail<T>(message: impl Into<String>) -> Parsed<T> {
    Err(TextError::new(message))
}

/// Cuts the comment off a line.
pub fn strip_comment(line: &str) -> &str {
    line.split(';').next().unwrap_or("")
}

/// Whether the text is a C identifier (`$` and `.` inside allowed as picasso does for exported names).
pub fn is_name(s: &str) -> bool {
    let mut c = s.chars();
    c.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && c.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}

/// Reads one instruction; `None` for a blank line.
pub fn parse_statement(line: &str, names: &dyn Names) -> Parsed<Option<Statement>> {
    let text = strip_comment(line).trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let lower = word.to_ascii_lowercase();
    let Some(op) = mnemonic(&lower) else { return fail(format!("`{word}` is not an instruction")) };
    let operands: Vec<&str> = if rest.trim().is_empty() { Vec::new() } else { rest.split(',').map(str::trim).collect() };
    let want = |n: usize| -> Parsed<()> {
        if operands.len() == n {
            Ok(())
        } else {
            fail(format!("`{lower}` takes {n} operand{}, found {}", if n == 1 { "" } else { "s" }, operands.len()))
        }
    };
    let mut s = Statement { instr: Instr::new(op), label: None, procedure: None };
    let i = &mut s.instr;
    match op {
        Op::Nop | Op::End | Op::Break | Op::Emit => want(0)?,
        Op::Breakc | Op::Ifc => {
            want(1)?;
            i.cond = cond(operands[0])?;
        }
        Op::Ifu => {
            want(1)?;
            i.uniform = uniform('b', operands[0], names)?;
        }
        Op::For => {
            want(1)?;
            i.uniform = uniform('i', operands[0], names)?;
        }
        Op::Call => {
            want(1)?;
            s.procedure = Some(operands[0].to_string());
        }
        Op::Callc => {
            want(2)?;
            i.cond = cond(operands[0])?;
            s.procedure = Some(operands[1].to_string());
        }
        Op::Callu => {
            want(2)?;
            i.uniform = uniform('b', operands[0], names)?;
            s.procedure = Some(operands[1].to_string());
        }
        Op::Jmpc => {
            want(2)?;
            i.cond = cond(operands[0])?;
            s.label = Some(operands[1].to_string());
        }
        Op::Jmpu => {
            want(2)?;
            let (not, name) = operands[0].strip_prefix('!').map_or((false, operands[0]), |r| (true, r.trim()));
            i.uniform = uniform('b', name, names)?;
            i.num = not as u8;
            s.label = Some(operands[1].to_string());
        }
        Op::Setemit => {
            if operands.is_empty() || operands.len() > 3 {
                return fail("`setemit` takes a vertex number and flags");
            }
            i.emit.0 = operands[0].parse().ok().filter(|v| *v < 3).ok_or_else(|| TextError::new("the vertex of `setemit` is 0, 1 or 2"))?;
            for flag in operands[1..].iter().flat_map(|f| f.split_whitespace()) {
                match flag.to_ascii_lowercase().as_str() {
                    "prim" | "primitive" => i.emit.1 = true,
                    "inv" | "invert" => i.emit.2 = true,
                    _ => return fail(format!("`{flag}` is not a flag of `setemit`")),
                }
            }
        }
        Op::Cmp => {
            want(4)?;
            i.src[0] = source(operands[0], names)?;
            i.src[1] = source(operands[3], names)?;
            for k in 0..2 {
                let o = operands[k + 1].to_ascii_lowercase();
                let code = COMPARISONS.iter().position(|c| *c == o);
                i.cmp[k] = code.ok_or_else(|| TextError::new(format!("`{o}` is not a comparison")))? as u8;
            }
        }
        Op::Mova => {
            want(2)?;
            i.mask = match operands[0].to_ascii_lowercase().as_str() {
                "a0.x" | "a0" => 1,
                "a0.y" | "a1" => 2,
                "a0.xy" | "a0.yx" | "a01" => 3,
                other => return fail(format!("`mova` writes a0.x, a0.y or a0.xy, not `{other}`")),
            };
            i.src[0] = source(operands[1], names)?;
        }
        _ => {
            let n = sources(op);
            want(n + 1)?;
            (i.dst, i.mask) = destination(operands[0], names)?;
            for k in 0..n {
                i.src[k] = source(operands[k + 1], names)?;
            }
        }
    }
    Ok(Some(s))
}

/// A condition.
fn cond(text: &str) -> Parsed<Cond> {
    let flag = |t: &str| -> Parsed<(u8, bool)> {
        let (not, name) = t.trim().strip_prefix('!').map_or((false, t.trim()), |r| (true, r.trim()));
        match name.to_ascii_lowercase().as_str() {
            "cmp.x" => Ok((0, !not)),
            "cmp.y" => Ok((1, !not)),
            _ => fail(format!("`{t}` is not a condition flag")),
        }
    };
    let joined = |op: CondOp, a: &str, b: &str| -> Parsed<Cond> {
        let (a, b) = (flag(a)?, flag(b)?);
        match (a.0, b.0) {
            (0, 1) => Ok(Cond { op, x: a.1, y: b.1 }),
            (1, 0) => Ok(Cond { op, x: b.1, y: a.1 }),
            _ => fail("a condition joins cmp.x and cmp.y"),
        }
    };
    for (sign, op) in [("&&", CondOp::And), ("||", CondOp::Or), ("&", CondOp::And), ("|", CondOp::Or)] {
        if let Some((a, b)) = text.split_once(sign) {
            return joined(op, a, b);
        }
    }
    let (n, want) = flag(text)?;
    Ok(Cond::flag(n, want))
}

/// A boolean (`b`) or integer (`i`) register, by name or number, with an offset.
pub fn uniform(kind: char, text: &str, names: &dyn Names) -> Parsed<u8> {
    let (base, offset) = match text.split_once('[') {
        Some((b, r)) => {
            (b.trim(), r.strip_suffix(']').and_then(number).ok_or_else(|| TextError::new(format!("`{text}` is not a register")))?)
        }
        None => (text, 0),
    };
    let limit = if kind == 'b' { 16 } else { 4 };
    let plain = numbered(base, kind);
    let found = names.uniform(kind, base).or(plain).map(|n| n as i64 + offset);
    match found {
        Some(n) if (0..limit).contains(&n) => Ok(n as u8),
        _ => fail(format!("`{text}` is not {} uniform", if kind == 'b' { "a boolean" } else { "an integer" })),
    }
}

/// `v3` → 3 for the letter `v`.
fn numbered(text: &str, letter: char) -> Option<u8> {
    let t = text.to_ascii_lowercase();
    let digits = t.strip_prefix(letter)?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// A number in C syntax.
pub fn number(text: &str) -> Option<i64> {
    let t = text.trim();
    let (neg, t) = t.strip_prefix('-').map_or((false, t), |r| (true, r));
    let v = match t.strip_prefix("0x").or_else(|| t.strip_prefix("0X")) {
        Some(h) => i64::from_str_radix(h, 16).ok()?,
        None => t.parse::<i64>().ok().filter(|v| *v >= 0)?,
    };
    Some(if neg { -v } else { v })
}

/// A register by its own name.
pub fn plain_register(text: &str) -> Option<Reg> {
    let letter = text.chars().next()?.to_ascii_lowercase();
    let n = numbered(text, letter)?;
    match letter {
        'o' if n < 16 => Some(Reg::O(n)),
        'v' if n < 16 => Some(Reg::V(n)),
        'r' if n < 16 => Some(Reg::R(n)),
        'c' if n < 96 => Some(Reg::C(n)),
        _ => None,
    }
}

fn component(c: char) -> Option<u8> {
    ["xyzw", "rgba", "stpq"].iter().find_map(|set| set.find(c.to_ascii_lowercase())).map(|n| n as u8)
}

/// Components of a swizzle as written; at most four.
pub fn components(text: &str) -> Parsed<Vec<u8>> {
    let c: Option<Vec<u8>> = text.chars().map(component).collect();
    match c {
        Some(c) if (1..=4).contains(&c.len()) => Ok(c),
        _ => fail(format!("`.{text}` is not a swizzle")),
    }
}

/// A full swizzle: the last letter repeats.
pub fn swizzle(text: &str) -> Parsed<[u8; 4]> {
    let c = components(text)?;
    Ok(std::array::from_fn(|i| c[i.min(c.len() - 1)]))
}

/// Name, index and swizzle of an operand; the alias' swizzle is composed.
fn operand(text: &str, names: &dyn Names) -> Parsed<(Src, Option<String>)> {
    let mut t = text.trim();
    let mut neg = false;
    while let Some(r) = t.strip_prefix('-') {
        neg = !neg;
        t = r.trim_start();
    }
    let (head, inside, tail) = match t.find('[') {
        Some(at) => {
            let Some(close) = t.find(']') else { return fail(format!("`{text}`: `]` is missing")) };
            if close < at {
                return fail(format!("`{text}` is not an operand"));
            }
            (t[..at].trim(), Some(&t[at + 1..close]), t[close + 1..].trim())
        }
        None => match t.split_once('.') {
            Some((h, _)) => (h.trim(), None, &t[h.len()..]),
            None => (t, None, ""),
        },
    };
    let named =
        names.register(head).or_else(|| plain_register(head).map(|reg| Named { reg, index: Index::None, neg: false, swz: IDENTITY }));
    let Some(named) = named else { return fail(format!("`{head}` is not a register")) };
    let mut s = Src { reg: named.reg, index: named.index, neg: neg != named.neg, swz: named.swz };
    if let Some(inside) = inside {
        let (index, offset) = index(inside)?;
        if index != Index::None {
            if s.index != Index::None || !s.reg.is_uniform() {
                return fail(format!("`{text}`: only float uniforms can be indexed, once"));
            }
            s.index = index;
        }
        let (Reg::O(n) | Reg::V(n) | Reg::R(n) | Reg::C(n)) = s.reg;
        let limit = if s.reg.is_uniform() { 96 } else { 16 };
        let n = n as i64 + offset;
        if !(0..limit).contains(&n) {
            return fail(format!("`{text}` lies outside the register file"));
        }
        let n = n as u8;
        s.reg = match s.reg {
            Reg::O(_) => Reg::O(n),
            Reg::V(_) => Reg::V(n),
            Reg::R(_) => Reg::R(n),
            Reg::C(_) => Reg::C(n),
        };
    }
    let letters = match tail.trim() {
        "" => None,
        t => match t.strip_prefix('.') {
            Some(l) => Some(l.trim().to_string()),
            None => return fail(format!("`{text}` is not an operand")),
        },
    };
    Ok((s, letters))
}

/// The inside of `[…]`: terms joined by `+`.
fn index(text: &str) -> Parsed<(Index, i64)> {
    let (mut index, mut offset) = (Index::None, 0i64);
    // `aL-0` is `aL+-0`.
    let signed = text.trim().replace('-', "+-");
    for term in signed.trim_start_matches('+').split('+') {
        let term = term.trim();
        let found = match term.to_ascii_lowercase().as_str() {
            "a0.x" | "a0" => Some(Index::A0x),
            "a0.y" | "a1" => Some(Index::A0y),
            "al" | "a2" | "lcnt" => Some(Index::AL),
            _ => None,
        };
        match (found, number(term)) {
            (Some(_), _) if index != Index::None => return fail(format!("`[{text}]` names two index registers")),
            (Some(i), _) => index = i,
            (None, Some(n)) => offset = offset.saturating_add(n),
            _ => return fail(format!("`{term}` is not an index")),
        }
    }
    Ok((index, offset))
}

/// A source operand.
pub fn source(text: &str, names: &dyn Names) -> Parsed<Src> {
    let (s, letters) = operand(text, names)?;
    let own = letters.as_deref().map_or(Ok(IDENTITY), swizzle)?;
    Ok(Src { swz: own.map(|c| s.swz[c as usize]), ..s })
}

/// A destination: register and mask (bit 0 = x).
pub fn destination(text: &str, names: &dyn Names) -> Parsed<(Reg, u8)> {
    let (s, letters) = operand(text, names)?;
    if s.neg || s.index != Index::None {
        return fail(format!("`{text}` cannot be written"));
    }
    let mask = match letters.as_deref() {
        None => mask_of(&s.swz),
        Some("_") => 0,
        Some(l) => components(l)?.iter().fold(0, |m, c| m | 1 << s.swz[*c as usize]),
    };
    Ok((s.reg, mask))
}

/// The set of components that a swizzle mentions.
pub fn mask_of(swz: &[u8]) -> u8 {
    swz.iter().fold(0, |m, c| m | 1 << c)
}

/// Component letters of a mask, for messages.
pub fn letters(mask: u8) -> String {
    (0..4).filter(|i| mask >> i & 1 == 1).map(|i| COMPONENTS[i]).collect()
}
