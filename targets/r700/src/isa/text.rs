//! Text: LLVM's R600 assembly as native syntax, and the lossless field listing, in both directions.
//!
//! A line of hex or text may begin with its kind (`alu:`, `cf:`, `export:`, `tex:`, `vtx:`), since the bits alone do not tell.

use crate::isa::forms::{self, Format, TABLE, cf, field, op2};
use crate::isa::word::{Alu, COORD_TYPE, DST_SEL, EXPORT_SEL, Group, KCACHE, SRC_SEL, Src, Word, sel};
use retroshade_emit::FieldName;
use retroshade_emit::listing::Show;
use retroshade_lower::{Syntax, TextError};

/// The kinds of lines, with their decode spaces.
pub const KINDS: [(&str, u32); 5] =
    [("cf", forms::CF), ("export", forms::EXPORT), ("alu", forms::ALU), ("tex", forms::TEX), ("vtx", forms::VTX)];

const CHANNELS: [char; 4] = ['X', 'Y', 'Z', 'W'];
/// What a select picks, by its number.
pub const SELECTS: [char; 8] = ['X', 'Y', 'Z', 'W', '0', '1', '?', '_'];
/// Bank swizzles as LLVM prints them.
pub const BANKS: [&str; 6] = ["", " BS:VEC_021/SCL_122", " BS:VEC_120/SCL_212", " BS:VEC_102/SCL_221", " BS:VEC_201", " BS:VEC_210"];

/// Splits a kind prefix off a line.
pub fn split_kind(line: &str) -> (Option<u32>, &str) {
    if let Some((head, rest)) = line.split_once(':')
        && let Some((_, space)) = KINDS.iter().find(|(k, _)| *k == head.trim())
    {
        return (Some(*space), rest.trim());
    }
    (None, line.trim())
}

/// One line of `dis --hex`.
pub fn dis_line(line: &str, syntax: Syntax) -> Result<String, TextError> {
    let (space, rest) = split_kind(line);
    if rest.is_empty() {
        return Ok(String::new());
    }
    let mut words = Vec::new();
    for w in rest.split_whitespace() {
        words.push(
            u32::from_str_radix(w.trim_start_matches("0x"), 16)
                .map_err(|_| TextError::new(format!("`{w}` is not a 32-bit word in hex")))?,
        );
    }
    let space = space.ok_or_else(|| TextError::new("the line needs its kind: alu:, cf:, export:, tex: or vtx:"))?;
    if space == forms::ALU {
        let (g, used) = Group::decode(&words).ok_or_else(|| TextError::new("not a group of ALU operations"))?;
        if used != words.len() {
            return Err(TextError::new(format!("the group ends after {used} of {} words", words.len())));
        }
        return Ok(group(&g, syntax));
    }
    let size = if space == forms::CF || space == forms::EXPORT { 2 } else { 4 };
    if words.len() != size {
        return Err(TextError::new(format!("expected {size} words, found {}", words.len())));
    }
    let value = words.iter().rev().fold(0u128, |a, x| a << 32 | *x as u128);
    let w = Word::decode(space, size as u8 * 4, value).ok_or_else(|| TextError::new("no instruction has these bits"))?;
    Ok(word(&w, syntax))
}

/// One line of `asm --emit hex`: a field listing, with or without its kind, or LLVM's text behind its kind.
pub fn asm_line(line: &str) -> Result<Vec<u32>, TextError> {
    let (space, rest) = split_kind(line);
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(space) = space.filter(|_| !is_listing(rest)) {
        let lines = rest.split(" \\n ").map(|l| crate::isa::parse::read(space, l.trim()));
        return Ok(lines.collect::<Result<Vec<_>, _>>()?.concat());
    }
    let mut out = Vec::new();
    let mut ended = false;
    for part in rest.split(" | ") {
        let part = part.trim();
        if let Some(list) = part.strip_prefix("LIT") {
            for w in list.split_whitespace() {
                out.push(u32::from_str_radix(w, 16).map_err(|_| TextError::new(format!("`{w}` is not a literal word in hex")))?);
            }
            continue;
        }
        if ended {
            return Err(TextError::new("an operation follows the one with LAST=1"));
        }
        let mut text = part.to_string();
        if let Some(tail) = part.strip_prefix("MEM_RD:MEM_OP") {
            let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
            text = format!("MEM_RD:MEM_OP{}", &tail[digits..]);
            if digits > 0 && !tail.contains("MEM_OP=") {
                text.push_str(&format!(" MEM_OP={}", &tail[..digits]));
            }
        }
        let d = TABLE.parse_listing(&text).map_err(|e| TextError::new(e.to_string()))?;
        let value = TABLE.encode_word(&d).map_err(|e| TextError::new(e.to_string()))?;
        let form = TABLE.form(d.form);
        ended = form.spaces == forms::ALU && d[field!(op2::MOV.LAST)] == 1;
        out.extend((0..form.size as usize / 4).map(|i| (value >> (32 * i)) as u32));
    }
    Ok(out)
}

/// Whether a line begins with a form's name, as field listings do.
pub fn is_listing(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or("");
    first.starts_with("MEM_RD:MEM_OP") || first == "LIT" || TABLE.by_name(first).is_some()
}

/// Words as a line of hex.
pub fn hex(words: &[u32]) -> String {
    words.iter().map(|w| format!("{w:08x}")).collect::<Vec<_>>().join(" ")
}

/// A group in either syntax, on one line.
pub fn group(g: &Group, syntax: Syntax) -> String {
    match syntax {
        Syntax::Fields => group_fields(g),
        Syntax::Native => group_lines(g).join(" \\n "),
    }
}

fn group_fields(g: &Group) -> String {
    let mut parts = Vec::new();
    for s in &g.slots {
        let text = s.encode().ok().and_then(|w| TABLE.decode(forms::ALU, 8, w as u128)).map(|d| TABLE.listing(&d, Show::NonZero));
        parts.push(text.unwrap_or_default());
    }
    if !g.literals.is_empty() {
        parts.push(format!("LIT {}", hex(&g.literals)));
    }
    parts.join(" | ")
}

/// A group in native syntax: a line per operation and per pair of literals.
pub fn group_lines(g: &Group) -> Vec<String> {
    lines(g, alu)
}

/// As [`group_lines`], with everything that the syntax leaves out.
pub fn complete_lines(g: &Group) -> Vec<String> {
    lines(g, |a| crate::isa::parse::operation(a, &alu(a)))
}

fn lines(g: &Group, one: impl Fn(&Alu) -> String) -> Vec<String> {
    let mut out: Vec<String> = g.slots.iter().map(one).collect();
    for pair in g.literals.chunks(2) {
        let one = |w: u32| format!("{}({})", w as i32, exponent(f32::from_bits(w)));
        out.push(pair.iter().map(|w| one(*w)).collect::<Vec<_>>().join(", "));
    }
    out
}

/// A float as C's `%e` prints it.
fn exponent(x: f32) -> String {
    if x.is_nan() {
        return "nan".to_string();
    }
    if x.is_infinite() {
        return if x < 0.0 { "-INF" } else { "INF" }.to_string();
    }
    let s = format!("{:.6e}", x as f64);
    match s.split_once('e') {
        Some((m, e)) => {
            let (sign, digits) = e.strip_prefix('-').map_or(('+', e), |d| ('-', d));
            format!("{m}e{sign}{digits:0>2}")
        }
        None => s,
    }
}

fn source(s: &Src) -> String {
    let c = CHANNELS[s.chan as usize & 3];
    let base = match s.sel {
        0..=127 => format!("T{}.{c}", s.sel),
        128..=159 => format!("KC0[{}].{c}", s.sel - sel::KCACHE0),
        160..=191 => format!("KC1[{}].{c}", s.sel - sel::KCACHE1),
        sel::ZERO => "0.0".to_string(),
        sel::ONE => "1.0".to_string(),
        sel::ONE_INT => "1".to_string(),
        sel::M_ONE_INT => "-1".to_string(),
        sel::HALF => "0.5".to_string(),
        sel::LITERAL => format!("literal.{}", c.to_ascii_lowercase()),
        sel::PV => format!("PV.{c}"),
        sel::PS => "PS".to_string(),
        256.. => format!("C{}.{c}", s.sel - sel::CFILE),
        other => format!("SEL{other}.{c}"),
    };
    let bar = if s.abs { "|" } else { "" };
    format!("{}{bar}{base}{bar}{}", if s.neg { "-" } else { "" }, if s.rel { "+" } else { "" })
}

/// The name that LLVM prints, where it differs from the sheet's.
fn llvm_name(short: &str) -> &str {
    // LLVM prints the opcode of PRED_SETGT_INT under its neighbour's name.
    if short == "PRED_SETGT_INT" {
        return "PRED_SETGE_INT";
    }
    SHEET_NAMES.iter().find(|(sheet, _)| *sheet == short).map_or(short, |n| n.1)
}

/// Opcodes that LLVM calls something else: the manual's name and LLVM's.
pub const SHEET_NAMES: [(&str, &str); 5] =
    [("MUL", "MUL NON-IEEE"), ("ASHR_INT", "ASHR"), ("LSHR_INT", "LSHR"), ("LSHL_INT", "LSHL"), ("MULHI_UINT", "MULHI")];

/// One ALU operation in native syntax.
fn alu(a: &Alu) -> String {
    let info = a.info();
    let mut s = llvm_name(info.short).to_string();
    if a.clamp {
        s.push_str("_SAT");
    }
    s.push_str(if a.last { " * " } else { " " });
    if a.update_exec {
        s.push_str("ExecMask,");
    }
    if a.update_pred {
        s.push_str("Pred,");
    }
    s.push_str(&format!("T{}.{}", a.dst, CHANNELS[a.chan as usize & 3]));
    if !a.writes() {
        s.push_str(" (MASKED)");
    }
    if a.dst_rel {
        s.push('+');
    }
    s.push_str(["", " * 2.0", " * 4.0", " / 2.0"][a.omod as usize & 3]);
    s.push(',');
    for x in a.sources() {
        s.push_str(&format!(" {},", source(x)));
    }
    s.push_str(match a.pred_sel {
        2 => " Pred_sel_zero",
        3 => " Pred_sel_one",
        _ => "",
    });
    s.push_str(BANKS.get(a.bank as usize).unwrap_or(&" BS:?"));
    s
}

/// A control-flow, export or fetch word in either syntax.
pub fn word(w: &Word, syntax: Syntax) -> String {
    match syntax {
        Syntax::Fields => {
            let s = TABLE.listing(&w.0, Show::NonZero);
            match s.strip_prefix("MEM_RD:MEM_OP") {
                Some(rest) => format!("MEM_RD:MEM_OP{}{rest}", w.get(field!(MEM_OP))),
                None => s,
            }
        }
        Syntax::Native => native_word(w),
    }
}

fn selects(w: &Word, fields: [FieldName; 4]) -> String {
    fields.into_iter().map(|f| SELECTS[w.get(f) as usize & 7]).collect()
}

fn native_word(w: &Word) -> String {
    let (addr, pop) = (w.get(field!(ADDR)), w.get(field!(POP_COUNT)));
    match w.info().format {
        Format::CfAlu => {
            let set = |n: usize| {
                let [bank, mode, line] = KCACHE[n].map(|f| w.get(f));
                match mode {
                    0 => format!("KC{n}[]"),
                    mode => {
                        let from = line * 16;
                        format!("KC{n}[CB{bank}:{from}-{}]", from + if mode == 1 { 16 } else { 32 })
                    }
                }
            };
            format!("{} {}, @{addr}, {}, {}", w.name(), w.get(field!(COUNT)), set(0), set(1))
        }
        Format::Cf => match w.form() {
            cf::NOP if w.get(field!(END_OF_PROGRAM)) == 1 => "CF_END".to_string(),
            form if forms::fetches(form) => format!("{} {} @{addr}", w.name(), w.get(field!(COUNT)) | w.get(field!(COUNT_3)) << 3),
            cf::JUMP | cf::ELSE | cf::POP | cf::PUSH | cf::POP_JUMP | cf::POP_PUSH | cf::POP_PUSH_ELSE => {
                format!("{} @{addr} POP:{pop}", w.name())
            }
            cf::LOOP_END => format!("END_LOOP @{addr}"),
            cf::LOOP_CONTINUE => format!("CONTINUE @{addr}"),
            cf::LOOP_START | cf::LOOP_START_DX10 | cf::LOOP_START_NO_AL | cf::LOOP_BREAK | cf::PUSH_ELSE | cf::CALL => {
                format!("{} @{addr}", w.name())
            }
            _ => w.name().to_string(),
        },
        Format::ExpSwiz => format!("EXPORT T{}.{}", w.get(field!(RW_GPR)), selects(w, EXPORT_SEL)),
        Format::ExpBuf => {
            let mask: String =
                CHANNELS.iter().enumerate().map(|(c, x)| if w.get(field!(COMP_MASK)) >> c & 1 == 1 { *x } else { '_' }).collect();
            format!("{} T{}.{mask} @{}", w.name(), w.get(field!(RW_GPR)), w.get(field!(ARRAY_BASE)))
        }
        Format::Tex => {
            let types: String = COORD_TYPE.into_iter().map(|f| if w.get(f) == 1 { 'N' } else { 'U' }).collect();
            format!(
                "TEX_{} T{}.{}, T{}.{} RID:{} SID:{} CT:{types}",
                w.name(),
                w.get(field!(DST_GPR)),
                selects(w, DST_SEL),
                w.get(field!(SRC_GPR)),
                selects(w, SRC_SEL),
                w.get(field!(RESOURCE_ID)),
                w.get(field!(SAMPLER_ID)),
            )
        }
        _ => {
            let src = format!("T{}.{}", w.get(field!(SRC_GPR)), CHANNELS[w.get(field!(SRC_SEL_X)) as usize & 3]);
            let dst = format!("T{}.{}", w.get(field!(DST_GPR)), selects(w, DST_SEL));
            match w.info().format {
                Format::VtxSem => {
                    format!("VTX_SEMANTIC S{}.{}, {src} RID:{}", w.get(field!(SEMANTIC_ID)), selects(w, DST_SEL), w.get(field!(BUFFER_ID)))
                }
                Format::MemRd => format!("MEM_READ{} {dst}, {src} BASE:{}", w.get(field!(MEM_OP)), w.get(field!(ARRAY_BASE))),
                _ => format!("VTX_FETCH {dst}, {src}+{}b RID:{}", w.get(field!(OFFSET)), w.get(field!(BUFFER_ID))),
            }
        }
    }
}
