//! Instructions as picasso text, one at a time, in the canonical spelling of `docs/targets/pica.md`.
//!
//! Targets print as `l_N` (word N) and `p_S_L` (procedure of L words from word S); structured blocks carry their fields
//! in a comment, because one line cannot show where a block ends.

use crate::isa::forms::{COMPARISONS, Op, TABLE, name};
use crate::isa::parse::{NoNames, Statement, parse_statement};
use crate::isa::registers::mask_text;
use crate::isa::word::{Cond, CondOp, Instr, decode, descriptor_index, encode, full_descriptor};
use retroshade_emit::listing::Show;
use retroshade_lower::{Syntax, TextError, TextOptions};

/// A condition as picasso writes it.
pub fn condition(c: Cond) -> String {
    let (x, y) = (if c.x { "cmp.x" } else { "!cmp.x" }, if c.y { "cmp.y" } else { "!cmp.y" });
    match c.op {
        CondOp::Or => format!("{x} || {y}"),
        CondOp::And => format!("{x} && {y}"),
        CondOp::X => x.to_string(),
        CondOp::Y => y.to_string(),
    }
}

/// The text of an instruction; `label` names a jump's target, `procedure` a call's.
pub fn instruction(i: &Instr, label: &dyn Fn(u16) -> String, procedure: &dyn Fn(u16, u8) -> String) -> String {
    let n = name(i.op);
    match i.op {
        Op::Nop | Op::End | Op::Break | Op::Emit => n.to_string(),
        Op::Breakc | Op::Ifc => format!("{n} {}", condition(i.cond)),
        Op::Ifu => format!("{n} b{}", i.uniform),
        Op::For => format!("{n} i{}", i.uniform),
        Op::Call => format!("{n} {}", procedure(i.target, i.num)),
        Op::Callc => format!("{n} {}, {}", condition(i.cond), procedure(i.target, i.num)),
        Op::Callu => format!("{n} b{}, {}", i.uniform, procedure(i.target, i.num)),
        Op::Jmpc => format!("{n} {}, {}", condition(i.cond), label(i.target)),
        Op::Jmpu => format!("{n} {}b{}, {}", if i.num & 1 == 1 { "!" } else { "" }, i.uniform, label(i.target)),
        Op::Setemit => {
            let flags = match (i.emit.1, i.emit.2) {
                (false, false) => "",
                (true, false) => ", prim",
                (false, true) => ", inv",
                (true, true) => ", prim inv",
            };
            format!("{n} {}{flags}", i.emit.0)
        }
        Op::Cmp => {
            let op = |k: usize| COMPARISONS[(i.cmp[k] & 7) as usize];
            format!("{n} {}, {}, {}, {}", i.src[0], op(0), op(1), i.src[1])
        }
        Op::Mova => format!("{n} a0{}, {}", mask_text(i.mask & 3), i.src[0]),
        _ => {
            let sources: Vec<String> = i.sources().iter().map(ToString::to_string).collect();
            format!("{n} {}{}, {}", i.dst, mask_text(i.mask), sources.join(", "))
        }
    }
}

/// The text of a lone instruction, with numeric targets.
pub fn lone(i: &Instr) -> String {
    let text = instruction(i, &|t| format!("l_{t}"), &|s, l| format!("p_{s}_{l}"));
    match i.op {
        Op::Ifc | Op::Ifu => format!("{text} ; dst={} num={}", i.target, i.num),
        Op::For => format!("{text} ; dst={}", i.target),
        _ => text,
    }
}

fn hex(s: &str) -> Result<u32, TextError> {
    u32::from_str_radix(s.trim_start_matches("0x"), 16).map_err(|_| TextError::new(format!("`{s}` is not a hexadecimal word")))
}

/// One line of `dis --hex`: the word, then its descriptor where it has one.
pub fn dis_line(line: &str, options: &TextOptions) -> Result<String, TextError> {
    let words = line.split_whitespace().map(hex).collect::<Result<Vec<_>, _>>()?;
    let (word, desc) = match words[..] {
        [] => return Ok(String::new()),
        [w] => (w, None),
        [w, d] => (w, Some(d)),
        _ => return Err(TextError::new("a line holds one instruction word and at most one descriptor")),
    };
    let needs = descriptor_index(word).is_some();
    if needs && desc.is_none() {
        return Err(TextError::new("this instruction needs its operand descriptor as a second word"));
    }
    if options.syntax == Syntax::Fields {
        return fields(word, desc).ok_or_else(|| TextError::new(format!("{word:08x} is not an instruction")));
    }
    decode(word, desc.unwrap_or(0)).map(|i| lone(&i)).map_err(|_| TextError::new(format!("{word:08x} is not an instruction")))
}

fn fields(word: u32, desc: Option<u32>) -> Option<String> {
    let mut out = TABLE.listing(&TABLE.decode(crate::isa::forms::CODE, 4, word as u128)?, Show::NonZero);
    if let Some(d) = desc {
        out.push_str(&format!(" ; {}", TABLE.listing(&TABLE.decode(crate::isa::forms::OPERAND, 4, d as u128)?, Show::NonZero)));
    }
    Some(out)
}

/// One line of `asm --emit hex`.
pub fn asm_line(line: &str, options: &TextOptions) -> Result<String, TextError> {
    if options.syntax == Syntax::Fields {
        let mut words = Vec::new();
        for part in line.split(';') {
            let d = TABLE.parse_listing(part).map_err(|e| TextError::new(e.to_string()))?;
            let w = TABLE.encode_values(d.form, &d.values).map_err(|e| TextError::new(e.to_string()))?;
            words.push(format!("{w:08x}"));
        }
        return Ok(words.join(" "));
    }
    let Some(Statement { instr: mut i, label, procedure, .. }) = parse_statement(line, &NoNames)? else { return Ok(String::new()) };
    if let Some(name) = label {
        i.target = numbered(&name, "l_").and_then(|v| v.first().copied()).ok_or_else(|| TextError::new(unknown(&name)))?;
    }
    if let Some(name) = procedure {
        match numbered(&name, "p_").as_deref() {
            Some([s, l]) if *l < 256 => (i.target, i.num) = (*s, *l as u8),
            _ => return Err(TextError::new(unknown(&name))),
        }
    }
    // Blocks and loops carry their fields in the comment that `dis` prints.
    for word in line.split_once(';').map_or("", |(_, c)| c).split_whitespace() {
        match word.split_once('=').map(|(k, v)| (k, v.parse::<u16>())) {
            Some(("dst", Ok(v))) => i.target = v,
            Some(("num", Ok(v))) => i.num = u8::try_from(v).map_err(|_| TextError::new("num is at most 255"))?,
            _ => {}
        }
    }
    let e = encode(&i).map_err(|e| TextError::new(e.to_string()))?;
    Ok(match e.desc {
        None => format!("{:08x}", e.word),
        Some(_) => format!("{:08x} {:08x}", e.word, full_descriptor(&i).map_err(|e| TextError::new(e.to_string()))?),
    })
}

fn unknown(name: &str) -> String {
    format!("`{name}` is not known here; a single line takes l_N and p_START_LENGTH")
}

fn numbered(name: &str, prefix: &str) -> Option<Vec<u16>> {
    name.strip_prefix(prefix)?.split('_').map(|n| n.parse().ok()).collect()
}
