//! Numbers of the text form: integers of 32 bits, floats that round-trip exactly.

use crate::numerics::to_f32;
use crate::types::Scalar;

/// Prints a float word: the shortest decimal that reads back as the same bits, hex bits for a NaN.
pub fn format_float(ty: Scalar, bits: u32) -> String {
    let x = to_f32(ty, bits);
    if x.is_nan() || (ty == Scalar::F16 && bits > 0xffff) {
        let digits = if ty == Scalar::F16 { 4 } else { 8 };
        return format!("{bits:#0w$x}", w = digits + 2);
    }
    if ty == Scalar::F16 && x.is_finite() {
        for digits in 0..6 {
            let s = format!("{x:.digits$e}");
            if parse_float(ty, &s) == Some(bits) {
                return s.parse::<f32>().map_or(s, |y| format!("{y:?}"));
            }
        }
    }
    format!("{x:?}")
}

/// Reads a float literal as a word: decimal, `inf`, `nan`, or `0x…` for the bits themselves.
pub fn parse_float(ty: Scalar, s: &str) -> Option<u32> {
    if let Some(h) = s.strip_prefix("0x") {
        let digits = if ty == Scalar::F16 { 4 } else { 8 };
        return if h.len() <= digits { u32::from_str_radix(h, 16).ok() } else { None };
    }
    let body = s.strip_prefix('-').unwrap_or(s);
    let special = matches!(body, "inf" | "nan");
    if !special && !body.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    let word = match ty {
        Scalar::F16 => u32::from(crate::half::from_f64(s.parse().ok()?)),
        _ => s.parse::<f32>().ok()?.to_bits(),
    };
    // A decimal that overflows is a mistake, not an infinity.
    (special || to_f32(ty, word).is_finite()).then_some(word)
}

/// Reads an integer of 32 bits, signed or unsigned, decimal or hex.
pub(super) fn parse_int(s: &str) -> Option<u32> {
    let v = parse_wide(s)?;
    if v >= 0 { u32::try_from(v).ok() } else { i32::try_from(v).ok().map(|v| v as u32) }
}

/// Reads an integer of up to 64 bits.
pub(super) fn parse_wide(s: &str) -> Option<i64> {
    if let Some(h) = s.strip_prefix("-0x") {
        return i64::from_str_radix(h, 16).ok()?.checked_neg();
    }
    if let Some(h) = s.strip_prefix("0x") {
        return if h.starts_with(['+', '-']) { None } else { i64::from_str_radix(h, 16).ok() };
    }
    s.parse().ok()
}
