//! Lines and files of assembly text: both syntaxes in, words out; words in, both syntaxes out.
//!
//! The native text drops scheduling and a few operand flags, so the native disassembly prints each word's field listing behind
//! a semicolon, which the assembler prefers; without one it reads the text itself (`native.rs`).

use crate::isa::forms::{TABLE, decode};
use crate::isa::{parse as native, text};
use retroshade_emit::listing::Show;
use retroshade_lower::{AsmOutput, Syntax, TextError, TextOptions};

/// The text of one word.
pub fn word_text(word: u64, syntax: Syntax) -> Result<String, TextError> {
    let d = decode(word).ok_or_else(|| TextError::new(format!("{word:016x} is no instruction")))?;
    if d.residue != 0 {
        return Err(TextError::new(format!("{word:016x}: unnamed bits are set ({:016x})", d.residue)));
    }
    Ok(match syntax {
        Syntax::Native => text::native(&d),
        Syntax::Fields => TABLE.listing(&d, Show::All),
    })
}

/// One line of hex to text.
pub fn dis_line(line: &str, options: &TextOptions) -> Result<String, TextError> {
    let digits: String = line.split_whitespace().collect();
    let digits = digits.strip_prefix("0x").unwrap_or(&digits);
    if digits.len() != 16 {
        return Err(TextError::new(format!("expected 16 hex digits, found `{}`", line.trim())));
    }
    let word = u64::from_str_radix(digits, 16).map_err(|_| TextError::new(format!("`{digits}` is not a hex number")))?;
    word_text(word, options.syntax)
}

/// Whether a text is a field listing: a form's name, then nothing but fields.
fn is_listing(text: &str) -> bool {
    let mut tokens = text.split_whitespace();
    let Some(form) = tokens.next().and_then(|name| TABLE.by_name(name)) else { return false };
    let mut fields = tokens.peekable();
    match fields.peek() {
        None => TABLE.form(form).fields().count() == 0,
        Some(_) => fields.all(|t| t.split_once('=').is_some_and(|(f, _)| !matches!(f, "wait" | "temps"))),
    }
}

/// The word of one line: a field listing, native text, or native text with the listing behind a semicolon.
pub fn parse(line: &str) -> Result<u64, TextError> {
    let body = match line.split_once(';') {
        Some((_, listing)) if is_listing(listing) => listing.trim(),
        Some((before, _)) => before.trim(),
        None => line.trim(),
    };
    if !is_listing(body) {
        return native::parse(body);
    }
    let d = TABLE.parse_listing(body).map_err(|e| TextError::new(e.to_string()))?;
    let word = TABLE.encode_values(d.form, &d.values).map_err(|e| TextError::new(e.to_string()))? as u64;
    decode(word).map(|_| word).ok_or_else(|| TextError::new(format!("{word:016x} is no instruction")))
}

/// Assembles a file: one instruction a line; blank lines, `//` and `#` comments and labels' lines are skipped.
pub fn assemble(source: &str) -> Result<AsmOutput, Vec<TextError>> {
    let (mut code, mut errors) = (Vec::new(), Vec::new());
    let mut data = None;
    for (n, line) in source.lines().enumerate() {
        let t = line.trim();
        // What `dis` says about a container: where the word stands that KILL names.
        data = data.or_else(|| t.strip_prefix("# container 19 (data) sa")?.split(' ').next()?.parse::<u64>().ok());
        if t.is_empty() || t.starts_with("//") || t.starts_with('#') || t.starts_with('.') {
            continue;
        }
        // The disassembler's address column.
        let t = t.split_once(": ").map_or(t, |(at, rest)| if at.chars().all(|c| c.is_ascii_hexdigit()) { rest } else { t });
        match data.and_then(|d| native::kill(t, d)).map_or_else(|| parse(t), Ok) {
            Ok(w) => code.extend_from_slice(&w.to_le_bytes()),
            Err(e) => errors.push(TextError::at(n as u32 + 1, 1, e.message)),
        }
    }
    if errors.is_empty() { Ok(AsmOutput { code, ..AsmOutput::default() }) } else { Err(errors) }
}

/// Disassembles code words: address, text and, in native syntax, the listing.
pub fn disassemble_code(code: &[u8], syntax: Syntax, out: &mut String) {
    for (n, bytes) in code.chunks(8).enumerate() {
        let Ok(b) = <[u8; 8]>::try_from(bytes) else {
            out.push_str(&format!("error: {} bytes are left over\n", bytes.len()));
            return;
        };
        let word = u64::from_le_bytes(b);
        let line = match (word_text(word, syntax), word_text(word, Syntax::Fields)) {
            (Ok(t), Ok(l)) if syntax == Syntax::Native => format!("{t} ; {l}"),
            (Ok(t), _) => t,
            (Err(e), _) => format!("error: {e}"),
        };
        out.push_str(&format!("{:04x}: {line}\n", n * 8));
    }
}
