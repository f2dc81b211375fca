//! Whole programs as text: one instruction per line, with addresses where branches lead.

use crate::isa::chip;
use crate::isa::decode::{decode, size_of, space};
use crate::isa::forms::{CP, FP, GP, TABLE, VP};
use crate::isa::text;
use retroshade_emit::listing::Show;
use retroshade_lower::{Syntax, TextError, TextOptions};

/// The decode spaces to try, in order.
pub(crate) fn spaces(options: &TextOptions) -> Vec<u32> {
    options.stage.map_or_else(|| vec![CP, VP, GP, FP], |s| vec![space(s)])
}

/// Text of one word in the first space where it means something.
pub(crate) fn word_text(word: u64, options: &TextOptions) -> Result<String, TextError> {
    let chip = chip::of_text(options)?;
    let mut error = None;
    for s in spaces(options) {
        let r = decode(word, s, &chip).and_then(|i| match options.syntax {
            Syntax::Native => text::disassemble(&i),
            Syntax::Fields => Ok(TABLE.listing(&i.d, Show::NonZero)),
        });
        match r {
            Ok(t) => return Ok(t),
            Err(e) => error = error.or(Some(e)),
        }
    }
    Err(TextError::new(error.unwrap_or_default()))
}

/// The instructions of a program: byte offset, word, size.
pub fn words(bytes: &[u8]) -> Result<Vec<(u32, u64, u8)>, TextError> {
    let mut out = Vec::new();
    let mut at = 0usize;
    while at < bytes.len() {
        let cut = || TextError { offset: Some(at as u64), ..TextError::new("the code ends within an instruction") };
        let w0 = bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).ok_or_else(cut)?;
        let size = size_of(w0) as usize;
        let b = bytes.get(at..at + size).ok_or_else(cut)?;
        let mut raw = [0u8; 8];
        raw[..size].copy_from_slice(b);
        out.push((at as u32, u64::from_le_bytes(raw), size as u8));
        at += size;
    }
    Ok(out)
}

/// Assembly text of a program; it assembles back to the same bytes.
pub fn listing(bytes: &[u8], options: &TextOptions) -> Result<String, TextError> {
    let mut out = String::new();
    for (at, word, size) in words(bytes)? {
        let t = word_text(word, options).map_err(|e| TextError { offset: Some(at as u64), ..e })?;
        // The text alone does not tell a short from a long form.
        let mark = if size == 4 { "s" } else { "l" };
        out.push_str(&format!("{t:<56} // {at:04x} {mark}\n"));
    }
    Ok(out)
}

/// The words of a program in hexadecimal, one instruction a line.
pub fn hex(bytes: &[u8]) -> String {
    let Ok(all) = words(bytes) else { return String::new() };
    let line = |w: u64, size: u8| if size == 4 { format!("{:08x}\n", w as u32) } else { format!("{:08x} {:08x}\n", w as u32, w >> 32) };
    all.into_iter().map(|(_, w, s)| line(w, s)).collect()
}
