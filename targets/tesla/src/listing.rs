//! Whole programs as text: one instruction per line, with addresses where branches lead.

use crate::decode::size_of;
use retroshade_lower::{TextError, TextOptions};

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
        let t = crate::target::word_text(word, options).map_err(|e| TextError { offset: Some(at as u64), ..e })?;
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
