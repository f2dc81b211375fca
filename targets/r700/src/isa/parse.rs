//! Reading LLVM's R600 assembly, and the rest of each instruction that this syntax leaves out.
//!
//! LLVM's text does not say everything (an export's target, barriers, unused operands). Listings of whole programs append
//! what is missing in braces, `EXPORT T0.XYZW {ARRAY_BASE=60 TYPE=1}`: a form's name where the mnemonic is ambiguous, and the
//! fields that differ from what the reader here takes the text for. So a listing reads back to the same words by construction.

use crate::isa::forms::{self, FORMS, Format, TABLE};
use crate::isa::text;
use crate::isa::word::{Alu, Word, sel};
use retroshade_emit::Word as Values;
use retroshade_emit::form::{Decoded, FormId};
use retroshade_lower::TextError;
use std::collections::BTreeMap;

/// An instruction by its form and fields.
struct Guess {
    form: FormId,
    fields: BTreeMap<&'static str, u64>,
}

impl Guess {
    fn new(form: FormId, set: &[(&'static str, u64)]) -> Guess {
        Guess { form, fields: set.iter().copied().collect() }
    }
    /// What a word says, every field of it.
    fn of(word: &Decoded) -> Guess {
        Guess { form: word.form, fields: fields(word).collect() }
    }
    fn named(name: &str, set: &[(&'static str, u64)]) -> Option<Guess> {
        Some(Guess::new(TABLE.by_name(name)?, set))
    }
    fn value(&self, field: &str) -> u64 {
        self.fields.get(field).copied().unwrap_or(0)
    }
}

fn error(message: impl Into<String>) -> TextError {
    TextError::new(message)
}

/// A number after a prefix.
fn number(s: &str, prefix: &str) -> Option<u64> {
    s.trim().strip_prefix(prefix)?.parse().ok()
}

fn channel(c: &str) -> Option<u64> {
    ["X", "Y", "Z", "W"].iter().position(|x| *x == c).map(|n| n as u64)
}

/// `T12.X` as register and channel.
fn register(s: &str) -> Option<(u64, u64)> {
    let (r, c) = s.trim().split_once('.')?;
    Some((number(r, "T")?, channel(c)?))
}

/// `T12.XY0_` as register and four selects.
fn swizzled(s: &str, prefix: &str) -> Option<(u64, [u64; 4])> {
    let (r, sel) = s.trim().split_once('.')?;
    let mut out = [0; 4];
    if sel.len() != 4 {
        return None;
    }
    for (o, c) in out.iter_mut().zip(sel.chars()) {
        *o = text::SELECTS.iter().position(|x| *x == c)? as u64;
    }
    Some((number(r, prefix)?, out))
}

const SEL: [&str; 4] = ["SEL_X", "SEL_Y", "SEL_Z", "SEL_W"];
const DST_SEL: [&str; 4] = ["DST_SEL_X", "DST_SEL_Y", "DST_SEL_Z", "DST_SEL_W"];
const SRC_SEL: [&str; 4] = ["SRC_SEL_X", "SRC_SEL_Y", "SRC_SEL_Z", "SRC_SEL_W"];
const COORD_TYPE: [&str; 4] = ["COORD_TYPE_X", "COORD_TYPE_Y", "COORD_TYPE_Z", "COORD_TYPE_W"];

fn zip4(names: [&'static str; 4], values: [u64; 4]) -> impl Iterator<Item = (&'static str, u64)> {
    names.into_iter().zip(values)
}

/// A source operand: select, channel, relative, negated, absolute.
fn source(s: &str) -> Option<[u64; 5]> {
    let (rel, s) = s.strip_suffix('+').map_or((0, s), |s| (1, s));
    if s == "-1" {
        return Some([sel::M_ONE_INT as u64, 0, rel, 0, 0]);
    }
    let (neg, s) = s.strip_prefix('-').map_or((0, s), |s| (1, s));
    let (abs, s) = s.strip_prefix('|').and_then(|s| s.strip_suffix('|')).map_or((0, s), |s| (1, s));
    let inline = match s {
        "0.0" => Some(sel::ZERO),
        "1.0" => Some(sel::ONE),
        "0.5" => Some(sel::HALF),
        "1" => Some(sel::ONE_INT),
        "-1" => Some(sel::M_ONE_INT),
        "PS" => Some(sel::PS),
        _ => None,
    };
    if let Some(x) = inline {
        return Some([x as u64, 0, rel, neg, abs]);
    }
    let (base, c) = s.rsplit_once('.')?;
    let c = channel(&c.to_ascii_uppercase())?;
    let indexed = |prefix: &str| base.strip_prefix(prefix)?.strip_suffix(']')?.parse::<u64>().ok();
    let x = match base {
        "PV" => sel::PV as u64,
        "literal" => sel::LITERAL as u64,
        _ => {
            if let Some(n) = indexed("KC0[") {
                sel::KCACHE0 as u64 + n
            } else if let Some(n) = indexed("KC1[") {
                sel::KCACHE1 as u64 + n
            } else if let Some(n) = number(base, "SEL") {
                n
            } else if let Some(n) = number(base, "C") {
                sel::CFILE as u64 + n
            } else {
                number(base, "T").filter(|n| *n < 128)?
            }
        }
    };
    Some([x, c, rel, neg, abs])
}

/// One ALU operation.
fn alu(line: &str) -> Option<Guess> {
    // The destination follows the mnemonic; what it begins with stands in no mnemonic.
    let digit = |k: usize| line[k..].starts_with(" T") && line.as_bytes().get(k + 2).is_some_and(u8::is_ascii_digit);
    let at = (0..line.len())
        .filter(|k| line.is_char_boundary(*k))
        .find(|k| digit(*k) || line[*k..].starts_with(" ExecMask,") || line[*k..].starts_with(" Pred,"))?;
    let head = line[..at].trim();
    let (last, head) = head.strip_suffix('*').map_or((0, head), |h| (1, h.trim()));
    let (clamp, name) = head.strip_suffix("_SAT").map_or((0, head), |h| (1, h));
    let short = text::SHEET_NAMES.iter().find(|(_, llvm)| *llvm == name).map_or(name, |n| n.0);
    let form = TABLE.by_name(&format!("OP2:{short}")).or_else(|| TABLE.by_name(&format!("OP3:{short}")))?;
    let info = &TABLE.form(form).ext;
    let mut g = Guess::new(form, &[("LAST", last), ("CLAMP", clamp)]);
    let mut rest = line[at..].trim();
    for (text, field) in [("ExecMask,", "UPDATE_EXECUTE_MASK"), ("Pred,", "UPDATE_PRED")] {
        if let Some(r) = rest.strip_prefix(text) {
            g.fields.insert(field, 1);
            rest = r.trim();
        }
    }
    let (dst, mut rest) = rest.split_once(',')?;
    let mut dst = dst.trim();
    for (n, text) in [" * 2.0", " * 4.0", " / 2.0"].iter().enumerate() {
        if let Some(d) = dst.strip_suffix(text) {
            g.fields.insert("OMOD", n as u64 + 1);
            dst = d;
        }
    }
    if let Some(d) = dst.strip_suffix('+') {
        g.fields.insert("DST_REL", 1);
        dst = d;
    }
    let masked = dst.strip_suffix(" (MASKED)");
    let (r, c) = register(masked.unwrap_or(dst))?;
    g.fields.extend([("DST_GPR", r), ("DST_CHAN", c)]);
    if info.format == Format::Op2 {
        g.fields.insert("WRITE_MASK", masked.is_none() as u64);
    }
    let fields = [
        ["SRC0_SEL", "SRC0_CHAN", "SRC0_REL", "SRC0_NEG", "SRC0_ABS"],
        ["SRC1_SEL", "SRC1_CHAN", "SRC1_REL", "SRC1_NEG", "SRC1_ABS"],
        ["SRC2_SEL", "SRC2_CHAN", "SRC2_REL", "SRC2_NEG", "SRC2_ABS"],
    ];
    for names in fields.iter().take(info.alu.srcs as usize) {
        let (s, r) = rest.split_once(',')?;
        g.fields.extend(names.iter().copied().zip(source(s.trim())?));
        rest = r;
    }
    for word in rest.split_whitespace() {
        match word {
            "Pred_sel_zero" => drop(g.fields.insert("PRED_SEL", 2)),
            "Pred_sel_one" => drop(g.fields.insert("PRED_SEL", 3)),
            w => {
                let n = text::BANKS.iter().position(|b| b.trim() == w).filter(|n| *n > 0)?;
                g.fields.insert("BANK_SWIZZLE", n as u64);
            }
        }
    }
    Some(g)
}

/// One instruction of a fetch clause.
fn fetch(line: &str) -> Option<Guess> {
    let (name, rest) = line.split_once(' ')?;
    let parts: Vec<&str> = rest.split([',', ' ']).filter(|p| !p.is_empty()).collect();
    let word = |prefix: &str| parts.iter().find_map(|p| number(p, prefix));
    if let Some(op) = name.strip_prefix("TEX_") {
        let mut g = Guess::named(&format!("TEX:{op}"), &[])?;
        let ((dst, d), (src, s)) = (swizzled(parts.first()?, "T")?, swizzled(parts.get(1)?, "T")?);
        g.fields.extend([("DST_GPR", dst), ("SRC_GPR", src), ("RESOURCE_ID", word("RID:")?), ("SAMPLER_ID", word("SID:")?)]);
        let types = parts.iter().find_map(|p| p.strip_prefix("CT:"))?;
        g.fields.extend(COORD_TYPE.into_iter().zip(types.chars().map(|c| (c == 'N') as u64)));
        g.fields.extend(zip4(DST_SEL, d).chain(zip4(SRC_SEL, s)));
        return Some(g);
    }
    if name == "VTX_SEMANTIC" {
        let ((id, d), (src, c)) = (swizzled(parts.first()?, "S")?, register(parts.get(1)?)?);
        let mut g = Guess::named("VTX_SEM:SEMANTIC", &[("SEMANTIC_ID", id), ("SRC_GPR", src), ("SRC_SEL_X", c)])?;
        g.fields.extend(zip4(DST_SEL, d));
        g.fields.insert("BUFFER_ID", word("RID:")?);
        return Some(g);
    }
    let (dst, d) = swizzled(parts.first()?, "T")?;
    let (at, offset) = parts.get(1)?.split_once('+').map_or((*parts.get(1)?, None), |(a, o)| (a, Some(o)));
    let (src, c) = register(at)?;
    let common = [("DST_GPR", dst), ("SRC_GPR", src), ("SRC_SEL_X", c)];
    let mut g = if name == "VTX_FETCH" {
        let offset = offset?.strip_suffix('b')?.parse().ok()?;
        // What compilers emit: whole words, all of them at once, by index alone.
        let usual = [("MEGA_FETCH", 1), ("FETCH_TYPE", 2), ("NUM_FORMAT_ALL", 1), ("OFFSET", offset), ("BUFFER_ID", word("RID:")?)];
        Guess::named("VTX_GPR:FETCH", &usual)?
    } else {
        let base = u32::try_from(word("BASE:")?).ok()?;
        let mut g = Guess::of(&crate::place::spill::read_word(base, false));
        g.fields.insert("MEM_OP", number(name, "MEM_READ")?);
        g
    };
    g.fields.extend(common);
    g.fields.extend(zip4(DST_SEL, d));
    Some(g)
}

/// A control-flow or export word.
fn control(line: &str) -> Option<Guess> {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let mut g = if name == "EXPORT" {
        let (gpr, sel) = swizzled(rest, "T")?;
        let mut g = Guess::named("EXP_SWIZ:EXPORT", &[("RW_GPR", gpr), ("ELEM_SIZE", 3)])?;
        g.fields.extend(zip4(SEL, sel));
        g
    } else if let Some(form) = TABLE.by_name(&format!("EXP_BUF:{name}")) {
        let (value, base) = rest.split_once(" @")?;
        let (gpr, sel) = swizzled(value, "T")?;
        let mask = sel.iter().enumerate().map(|(c, s)| ((*s < 4) as u64) << c).sum();
        let set = [("RW_GPR", gpr), ("ARRAY_BASE", base.parse().ok()?), ("COMP_MASK", mask), ("ELEM_SIZE", 3), ("ARRAY_SIZE", 0xfff)];
        Guess::new(form, &set)
    } else if let Some(form) = TABLE.by_name(&format!("CF_ALU:{name}")) {
        let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
        let [count, at, k0, k1] = parts[..] else { return None };
        let mut g = Guess::new(form, &[("COUNT", count.parse().ok()?), ("ADDR", number(at, "@")?)]);
        let names = [["KCACHE_BANK0", "KCACHE_MODE0", "KCACHE_ADDR0"], ["KCACHE_BANK1", "KCACHE_MODE1", "KCACHE_ADDR1"]];
        for ((k, text), names) in [("KC0[", k0), ("KC1[", k1)].into_iter().zip(names) {
            let inner = text.strip_prefix(k)?.strip_suffix(']')?;
            if let Some((bank, range)) = inner.split_once(':') {
                let (from, to) = range.split_once('-')?;
                let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
                let mode = if to == from + 16 { 1 } else { 2 };
                g.fields.extend(names.into_iter().zip([number(bank, "CB")?, mode, from / 16]));
            }
        }
        g
    } else {
        let mut words = rest.split_whitespace();
        let mut g = match name {
            "CF_END" => Guess::named("CF:NOP", &[("END_OF_PROGRAM", 1)])?,
            "END_LOOP" => Guess::named("CF:LOOP_END", &[])?,
            "CONTINUE" => Guess::named("CF:LOOP_CONTINUE", &[])?,
            _ => Guess::named(&format!("CF:{name}"), &[])?,
        };
        if forms::fetches(g.form) {
            let n: u64 = words.next()?.parse().ok()?;
            g.fields.extend([("COUNT", n & 7), ("COUNT_3", n >> 3)]);
        }
        for w in words {
            match number(w, "@") {
                Some(at) => drop(g.fields.insert("ADDR", at)),
                None => drop(g.fields.insert("POP_COUNT", number(w, "POP:")?)),
            }
        }
        g
    };
    g.fields.insert("BARRIER", 1);
    Some(g)
}

/// What an instruction's text alone says.
fn guess(space: u32, line: &str) -> Option<Guess> {
    match space {
        forms::ALU => alu(line),
        forms::CF | forms::EXPORT => control(line),
        _ if space & (forms::CF | forms::EXPORT) != 0 => control(line),
        _ => fetch(line),
    }
}

/// The fields of a decoded instruction.
fn fields(d: &Decoded) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    TABLE.form(d.form).fields().zip(&d.values).map(|(f, v)| (f.name, *v))
}

/// What the text of an instruction leaves out, with the blank before it.
fn remainder(d: &Decoded, space: u32, line: &str) -> String {
    let g = guess(space, line);
    let mut parts: Vec<String> = Vec::new();
    if g.as_ref().is_none_or(|g| g.form != d.form) {
        parts.push(TABLE.form(d.form).name.to_string());
    }
    for (name, value) in fields(d) {
        if g.as_ref().map_or(0, |g| g.value(name)) != value {
            parts.push(format!("{name}={value}"));
        }
    }
    if parts.is_empty() { String::new() } else { format!(" {{{}}}", parts.join(" ")) }
}

/// A control-flow, export or fetch word as one complete line.
pub fn word(w: &Word) -> String {
    let line = text::word(w, retroshade_lower::Syntax::Native);
    let rest = remainder(&w.0, TABLE.form(w.0.form).spaces, &line);
    line + &rest
}

/// An ALU operation as one complete line.
pub fn operation(a: &Alu, line: &str) -> String {
    let decoded = a.encode().ok().and_then(|w| TABLE.decode(forms::ALU, 8, w as u128));
    let rest = decoded.map_or(String::new(), |d| remainder(&d, forms::ALU, line));
    format!("{line}{rest}")
}

/// Reads a pair of literals: `1065353216(1.000000e+00), 0(0.000000e+00)`.
fn literals(line: &str) -> Option<Vec<u32>> {
    line.split(',')
        .map(|l| {
            let digits = l.trim().split('(').next()?;
            digits.parse::<i32>().ok().map(|v| v as u32)
        })
        .collect()
}

/// Reads one line of a kind: its words.
pub fn read(space: u32, line: &str) -> Result<Vec<u32>, TextError> {
    if space == forms::ALU && line.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return literals(line).ok_or_else(|| error(format!("`{line}` is not a list of literals")));
    }
    let (body, rest) = match line.rsplit_once(" {") {
        Some((b, r)) => (b, r.strip_suffix('}').ok_or_else(|| error("the braces are not closed"))?),
        None => (line, ""),
    };
    let mut g = guess(space, body.trim()).map(Ok).unwrap_or_else(|| {
        // The form's name may stand in braces for a mnemonic that says nothing.
        let named = rest.split_whitespace().find_map(|w| TABLE.by_name(w));
        named.map(|f| Guess::new(f, &[])).ok_or_else(|| error(format!("`{body}` is not an instruction")))
    })?;
    let mut extra: Vec<(&str, u64)> = Vec::new();
    for w in rest.split_whitespace() {
        match w.split_once('=') {
            Some((name, value)) => {
                let value = value.parse().map_err(|_| error(format!("`{value}` is not a number")))?;
                extra.push((name, value));
            }
            None => g.form = TABLE.by_name(w).ok_or_else(|| error(format!("`{w}` is not a form")))?,
        }
    }
    let form = TABLE.form(g.form);
    let mut all: Vec<(&str, u64)> =
        g.fields.iter().map(|(n, v)| (*n, *v)).filter(|(n, v)| *v != 0 || form.field_index(n).is_some()).collect();
    for (name, value) in extra {
        all.retain(|f| f.0 != name);
        all.push((name, value));
    }
    let mut word = Values::new(FORMS, g.form, &[]);
    for (name, value) in all {
        let at = form.field_index(name).ok_or_else(|| error(format!("form `{}` has no field `{name}`", form.name)))?;
        word.values[at] = value;
    }
    let value = TABLE.encode_word(&word).map_err(|e| error(e.to_string()))?;
    Ok((0..form.size as usize / 4).map(|i| (value >> (32 * i)) as u32).collect())
}

/// The kind of a line in a listing without kinds, by how it begins.
pub fn header(line: &str) -> Option<u32> {
    if line.starts_with("ALU clause starting at") {
        return Some(forms::ALU);
    }
    line.starts_with("Fetch clause starting at").then_some(forms::TEX | forms::VTX)
}
