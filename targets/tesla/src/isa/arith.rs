//! The machine's arithmetic on raw words: one function per operation, used by the simulator and by `numerics.rs`.
//!
//! Source: the ISA description, section 6 (results of the hardware tests of envytools). The transcendental units are modelled
//! by rounding the exact result, which lies within the documented error of the hardware's tables; the range reductions
//! (`presin`, `preex2`) are exact models.

/// The NaN that float instructions make.
pub const NAN: u32 = 0x7fff_ffff;
const INF: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;

/// `$c` bits.
pub mod flag {
    /// Result is zero.
    pub const Z: u8 = 1;
    /// Result is negative.
    pub const S: u8 = 2;
    /// Carry.
    pub const C: u8 = 4;
    /// Overflow.
    pub const O: u8 = 8;
}
use flag::{C, O, S, Z};

/// Rounding modes in the order of their codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Nearest, ties to even.
    Nearest,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// Towards zero.
    Zero,
}

impl Round {
    /// From the code in an instruction.
    pub const fn from_code(c: u64) -> Round {
        match c & 3 {
            0 => Round::Nearest,
            1 => Round::Down,
            2 => Round::Up,
            _ => Round::Zero,
        }
    }
}

const fn is_nan(a: u32) -> bool {
    a & !SIGN > INF
}
const fn is_inf(a: u32) -> bool {
    a & !SIGN == INF
}
/// Flushes a denormal to a zero of its sign.
pub const fn flush(a: u32) -> u32 {
    if a & INF == 0 { a & SIGN } else { a }
}
fn f(a: u32) -> f64 {
    f32::from_bits(a) as f64
}

/// Rounds to 24 bits with unbounded exponent, then flushes what is below the normal range.
fn round(x: f64, mode: Round) -> u32 {
    if x.is_nan() {
        return NAN;
    }
    let sign = if x.is_sign_negative() { SIGN } else { 0 };
    let m = x.abs();
    if m == 0.0 {
        return sign;
    }
    if m.is_infinite() {
        return sign | INF;
    }
    // Far below the normal range the host would round at the wrong place: move up first.
    let low = m < 1.0e-30;
    let scaled = if low { m * 2f64.powi(96) } else { m };
    let near = scaled as f32;
    let away = match mode {
        Round::Nearest => false,
        Round::Zero => false,
        Round::Down => sign != 0,
        Round::Up => sign == 0,
    };
    let r = match mode {
        Round::Nearest => near,
        _ if (near as f64) == scaled => near,
        _ => {
            let below = if near as f64 > scaled || near.is_infinite() { f32::from_bits(near.to_bits() - 1) } else { near };
            if away { f32::from_bits(below.to_bits() + 1) } else { below }
        }
    };
    if low {
        let v = r as f64 / 2f64.powi(96);
        if v < f32::MIN_POSITIVE as f64 { sign } else { sign | (v as f32).to_bits() }
    } else {
        sign | flush(r.to_bits())
    }
}

/// Saturation to 0 … 1; NaN stays.
pub fn fsat(x: u32) -> u32 {
    if is_nan(x) {
        NAN
    } else if x & SIGN != 0 {
        0
    } else {
        x.min(0x3f80_0000)
    }
}

/// Sum, to nearest or towards zero.
pub fn fadd(a: u32, b: u32, mode: Round) -> u32 {
    let (a, b) = (flush(a), flush(b));
    if is_nan(a) || is_nan(b) || (is_inf(a) && is_inf(b) && a != b) {
        return NAN;
    }
    if is_inf(a) {
        return a;
    }
    if is_inf(b) {
        return b;
    }
    let (x, y) = (f(a), f(b));
    let mut s = x + y;
    if mode != Round::Nearest && s != 0.0 {
        // What the binary64 sum lost decides on which side of it the exact sum lies.
        let t = s - x;
        let e = (x - (s - t)) + (y - t);
        if e != 0.0 && (e < 0.0) == (s > 0.0) {
            s = f64::from_bits(s.to_bits() - 1);
        }
    }
    round(s, mode)
}

/// Product.
pub fn fmul(a: u32, b: u32, mode: Round) -> u32 {
    let (a, b) = (flush(a), flush(b));
    if is_nan(a) || is_nan(b) {
        return NAN;
    }
    round(f(a) * f(b), mode)
}

/// a × b + c with the product truncated to 24 bits.
pub fn fmad(a: u32, b: u32, c: u32) -> u32 {
    let (a, b, c) = (flush(a), flush(b), flush(c));
    if is_nan(a) || is_nan(b) || is_nan(c) {
        return NAN;
    }
    if is_inf(a) || is_inf(b) || is_inf(c) {
        let p = f(a) * f(b);
        return if p.is_nan() { NAN } else { round(p + f(c), Round::Nearest) };
    }
    if a & !SIGN == 0 || b & !SIGN == 0 || c & !SIGN == 0 {
        return fadd(fmul(a, b, Round::Nearest), c, Round::Nearest);
    }
    let p = f(a) * f(b);
    let p = f64::from_bits(p.to_bits() & !((1 << 29) - 1));
    round(p + f(c), Round::Nearest)
}

/// Comparison: 0 greater, 1 equal, 2 less, 3 unordered.
pub fn fcmp(a: u32, b: u32) -> u8 {
    let (a, b) = (flush(a), flush(b));
    if is_nan(a) || is_nan(b) {
        3
    } else if f(a) < f(b) {
        2
    } else if f(a) == f(b) {
        1
    } else {
        0
    }
}
/// `$c` of a float result.
pub fn fcc(x: u32) -> u8 {
    fcmp(x, 0)
}
/// `set` on floats: relation bits less, equal, greater, unordered.
pub fn fset(rel: u64, a: u32, b: u32) -> bool {
    let bit = match fcmp(a, b) {
        2 => 0,
        1 => 1,
        0 => 2,
        _ => 3,
    };
    rel >> bit & 1 == 1
}
fn canonical(a: u32) -> u32 {
    if is_nan(a) { NAN } else { flush(a) }
}
/// Minimum; one NaN gives the other operand; -0 is less than +0.
pub fn fmin(a: u32, b: u32) -> u32 {
    let (a, b) = (canonical(a), canonical(b));
    match (is_nan(a), is_nan(b)) {
        (true, _) => b,
        (_, true) => a,
        _ if f(a) < f(b) || (f(a) == f(b) && a & SIGN != 0) => a,
        _ => b,
    }
}
/// Maximum.
pub fn fmax(a: u32, b: u32) -> u32 {
    let (a, b) = (canonical(a), canonical(b));
    match (is_nan(a), is_nan(b)) {
        (true, _) => b,
        (_, true) => a,
        _ if f(a) > f(b) || (f(a) == f(b) && a & SIGN == 0) => a,
        _ => b,
    }
}

/// Reciprocal.
pub fn rcp(a: u32) -> u32 {
    let a = flush(a);
    if is_nan(a) { NAN } else { round(1.0 / f(a), Round::Nearest) }
}
/// Reciprocal square root.
pub fn rsqrt(a: u32) -> u32 {
    let a = flush(a);
    if is_nan(a) || (a & SIGN != 0 && a != SIGN) {
        NAN
    } else if a & !SIGN == 0 {
        a | INF
    } else {
        round(1.0 / libm::sqrt(f(a)), Round::Nearest)
    }
}
/// Binary logarithm.
pub fn lg2(a: u32) -> u32 {
    let a = flush(a);
    if is_nan(a) || (a & SIGN != 0 && a != SIGN) {
        NAN
    } else if a & !SIGN == 0 {
        SIGN | INF
    } else {
        round(libm::log2(f(a)), Round::Nearest)
    }
}
/// Code of a NaN between the reductions and the functions.
const CODE_NAN: u32 = 0x4000_0000;
/// Code of an infinity.
const CODE_INF: u32 = 0x4080_0000;

/// Range reduction of sine and cosine: |x| × 2/π modulo 4 in 2.23 fixed point, sign on top.
pub fn presin(a: u32) -> u32 {
    let a = flush(a);
    if is_nan(a) {
        return CODE_NAN;
    }
    if is_inf(a) {
        return a & SIGN | CODE_INF;
    }
    if a & !SIGN == 0 {
        return a & SIGN;
    }
    let e = (a >> 23 & 0xff) as i32 - 127;
    let m = (a & 0x7f_ffff | 0x80_0000) as u64;
    // 2/π to 24 bits, as the unit has it.
    // Of the product it keeps 32 bits.
    let p = ((m * 0xa2_f983) >> 16) as u32;
    let by = e - 8;
    let v = if by >= 0 { p.checked_shl(by as u32) } else { p.checked_shr(-by as u32) };
    a & SIGN | (v.unwrap_or(0) & 0x1ff_ffff)
}
/// Range reduction of ex2: |x| in 7.23 fixed point, sign on top.
pub fn preex2(a: u32) -> u32 {
    let a = flush(a);
    if is_nan(a) {
        return CODE_NAN;
    }
    let e = (a >> 23 & 0xff) as i32 - 127;
    if e >= 7 {
        return a & SIGN | CODE_INF;
    }
    if a & !SIGN == 0 {
        return a & SIGN;
    }
    let m = a & 0x7f_ffff | 0x80_0000;
    a & SIGN
        | if e >= 0 {
            m << e
        } else if e < -31 {
            0
        } else {
            m >> -e
        }
}
fn angle(v: u32) -> Option<f64> {
    (v & 0x4000_0000 == 0).then(|| (v & 0x1ff_ffff) as f64 / 8_388_608.0 * std::f64::consts::FRAC_PI_2)
}
/// Sine of a reduced angle.
pub fn sin(v: u32) -> u32 {
    angle(v).map_or(NAN, |x| round(libm::sin(x), Round::Nearest) ^ v & SIGN)
}
/// Cosine of a reduced angle.
pub fn cos(v: u32) -> u32 {
    angle(v).map_or(NAN, |x| round(libm::cos(x), Round::Nearest))
}
/// 2 to a reduced exponent.
pub fn ex2(v: u32) -> u32 {
    if v & 0x4000_0000 != 0 {
        return match (v & 0x80_0000 != 0, v & SIGN != 0) {
            (false, _) => NAN,
            (true, false) => INF,
            (true, true) => 0,
        };
    }
    let x = (v & 0x3fff_ffff) as f64 / 8_388_608.0;
    round(libm::exp2(if v & SIGN != 0 { -x } else { x }), Round::Nearest)
}

/// Rounds to an integral value.
pub fn round_int(x: f64, mode: Round) -> f64 {
    match mode {
        Round::Nearest => libm::rint(x),
        Round::Down => libm::floor(x),
        Round::Up => libm::ceil(x),
        Round::Zero => libm::trunc(x),
    }
}
/// f32 → f32, optionally to an integral value: flushes and canonicalises.
pub fn cvt_f32(a: u32, integral: Option<Round>) -> u32 {
    let a = canonical(a);
    match integral {
        Some(m) if !is_nan(a) => {
            let r = round_int(f(a), m) as f32;
            // A zero keeps the operand's sign.
            if r == 0.0 { a & SIGN } else { r.to_bits() }
        }
        _ => a,
    }
}
/// f16 → f32; denormals become normal.
pub fn f16_to_f32(h: u32) -> u32 {
    let (s, e, m) = ((h & 0x8000) << 16, h >> 10 & 31, h & 0x3ff);
    match (e, m) {
        (31, 0) => s | INF,
        (31, _) => NAN,
        _ => s | (if e == 0 { m as f32 / 16_777_216.0 } else { f32::from_bits((e + 112) << 23 | m << 13) }).to_bits(),
    }
}
/// f32 → f16 with a rounding mode; makes denormals, overflows to infinity (or the largest value when rounding inwards).
pub fn f32_to_f16(a: u32, mode: Round) -> u32 {
    let a = flush(a);
    let s = a >> 16 & 0x8000;
    if is_nan(a) {
        return 0x7fff;
    }
    if is_inf(a) {
        return s | 0x7c00;
    }
    let m = f(a & !SIGN);
    if m < 2f64.powi(-33) {
        return s;
    }
    let e = (((a >> 23 & 0xff) as i32) - 127).max(-14);
    let unit = 2f64.powi(e - 10);
    let q = m / unit;
    let r = match mode {
        Round::Nearest => libm::rint(q),
        Round::Zero => libm::floor(q),
        Round::Down if s != 0 => libm::ceil(q),
        Round::Up if s == 0 => libm::ceil(q),
        _ => libm::floor(q),
    };
    let v = r * unit;
    if v > 65504.0 {
        let inwards = match mode {
            Round::Nearest => false,
            Round::Zero => true,
            Round::Down => s == 0,
            Round::Up => s != 0,
        };
        return s | if inwards { 0x7bff } else { 0x7c00 };
    }
    let bits = if v < 2f64.powi(-14) {
        (v / 2f64.powi(-24)) as u32
    } else {
        let e = ((v as f32).to_bits() >> 23) - 112;
        e << 10 | ((v as f32).to_bits() >> 13 & 0x3ff)
    };
    s | bits
}
/// f32 → integer of `bits` bits, clamped; NaN gives 0.
pub fn f32_to_int(a: u32, mode: Round, bits: u32, signed: bool) -> u32 {
    let a = flush(a);
    if is_nan(a) {
        return 0;
    }
    clamp_int(round_int(f(a), mode).clamp(-1.0e18, 1.0e18) as i64, bits, signed)
}
/// Clamps to an integer type and wraps the result to a word.
pub fn clamp_int(v: i64, bits: u32, signed: bool) -> u32 {
    let (lo, hi) = if signed { (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1) } else { (0, (1i64 << bits) - 1) };
    v.clamp(lo, hi) as u32
}
/// Integer → f32.
pub fn int_to_f32(v: i64, mode: Round) -> u32 {
    // Below 2^53 the binary64 value is exact.
    round(v as f64, mode)
}

/// `$c` of an integer result of `bits` bits.
pub fn icc(r: u32, bits: u32) -> u8 {
    (if r & mask(bits) == 0 { Z } else { 0 }) | (if r >> (bits - 1) & 1 == 1 { S } else { 0 })
}
const fn mask(bits: u32) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

/// add, sub, subr, addc (by code) of 16 or 32 bits: result and `$c`.
pub fn add(op: u64, a: u32, b: u32, carry: bool, sat: bool, bits: u32) -> (u32, u8) {
    let m = mask(bits);
    let (x, y, k) = match op {
        0 => (a, b, 0),
        1 => (a, !b, 1),
        2 => (!a, b, 1),
        _ => (a, b, u64::from(carry)),
    };
    let (x, y) = (x & m, y & m);
    let full = x as u64 + y as u64 + k;
    let mut r = full as u32 & m;
    let top = |v: u32| v >> (bits - 1) & 1;
    let overflow = top(x) == top(y) && top(r) != top(x);
    if sat && overflow {
        r = if top(x) == 1 { 1 << (bits - 1) } else { m >> 1 };
    }
    let cc = icc(r, bits) | if full >> bits != 0 { C } else { 0 } | if overflow { O } else { 0 };
    (r, cc)
}
/// Low 16 bits extended.
pub const fn ext16(a: u32, signed: bool) -> u32 {
    if signed { a as i16 as i32 as u32 } else { a & 0xffff }
}
/// Product of 24-bit operands, low or high part.
pub const fn mul24(a: u32, b: u32, signed: bool, high: bool) -> u32 {
    let m = if signed {
        let (x, y) = ((a << 8) as i32 >> 8, (b << 8) as i32 >> 8);
        (x as i64 * y as i64) as u64
    } else {
        (a & 0xff_ffff) as u64 * (b & 0xff_ffff) as u64
    };
    if high { (m >> 16) as u32 } else { m as u32 }
}
/// Shift left: result and `$c`.
pub fn shl(a: u32, count: u32, bits: u32) -> (u32, u8) {
    let a = a & mask(bits);
    let r = if count >= bits { 0 } else { a << count & mask(bits) };
    let c = count > 0 && count < bits && a >> (bits - count) & 1 == 1;
    (r, shift_flags(a, r, count, c, bits))
}
/// Shift right: result and `$c`.
pub fn shr(a: u32, count: u32, signed: bool, bits: u32) -> (u32, u8) {
    let x = if signed { ((a << (32 - bits)) as i32 >> (32 - bits)) as u32 } else { a & mask(bits) };
    let r = if signed { ((x as i32) >> count.min(31)) as u32 } else { x.checked_shr(count).unwrap_or(0) } & mask(bits);
    let c = count > 0 && count < bits && x >> (count - 1) & 1 == 1;
    (r, shift_flags(a & mask(bits), r, count, c, bits))
}
fn shift_flags(a: u32, r: u32, count: u32, c: bool, bits: u32) -> u8 {
    icc(r, bits) | if c { C } else { 0 } | if count == 1 && (a ^ r) >> (bits - 1) & 1 == 1 { O } else { 0 }
}

/// Whether a predicate code holds for a `$c` value.
pub fn predicate(code: u64, cc: u8) -> bool {
    let (z, s, c, o) = (cc & Z != 0, cc & S != 0, cc & C != 0, cc & O != 0);
    match code {
        0x00 => false,
        0x01 => (s && !z) ^ o,
        0x02 => z && !s,
        0x03 => s ^ (z || o),
        0x04 => !z && !(s ^ o),
        0x05 => !z,
        0x06 => !(s ^ o),
        0x07 => !z || !s,
        0x08 => z && s,
        0x09 => s ^ o,
        0x0a => z,
        0x0b => z || (s ^ o),
        0x0c => !s ^ (z || o),
        0x0d => !z || s,
        0x0e => (!s || z) ^ o,
        0x10 => o,
        0x11 => c,
        0x12 => !z && c,
        0x13 => s,
        0x1c => !s,
        0x1d => z || !c,
        0x1e => !c,
        0x1f => !o,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_known_answers() {
        // (op, a, b, carry, sat, bits) -> (result, $c)
        let adds = [
            ((0, 0xffff_ffff, 1, false, false, 32), (0, 5)),
            ((0, 0x7fff_ffff, 1, false, false, 32), (0x8000_0000, 0xa)),
            ((0, 0x7fff_ffff, 1, false, true, 32), (0x7fff_ffff, 8)),
            ((1, 5, 7, false, false, 32), (0xffff_fffe, 2)),
            ((1, 7, 5, false, false, 32), (2, 4)),
            ((1, 5, 5, false, false, 32), (0, 5)),
            ((2, 5, 7, false, false, 32), (2, 4)),
            ((1, 0x8000_0000, 1, false, true, 32), (0x8000_0000, 0xe)),
            ((3, 0xffff_ffff, 0, true, false, 32), (0, 5)),
            ((0, 0x7fff, 1, false, true, 16), (0x7fff, 8)),
            ((2, 0x8000_0000, 0, false, false, 32), (0x8000_0000, 0xa)),
        ];
        for ((op, a, b, c, s, n), want) in adds {
            assert_eq!(add(op, a, b, c, s, n), want, "{op} {a:x} {b:x}");
        }
        let shls =
            [((1, 31, 32), (0x8000_0000, 2)), ((1, 32, 32), (0, 1)), ((2, 31, 32), (0, 5)), ((0xc000_0000, 1, 32), (0x8000_0000, 6))];
        for ((a, n, b), want) in shls {
            assert_eq!(shl(a, n, b), want, "shl {a:x} {n}");
        }
        assert_eq!(shl(0x4000_0000, 1, 32), (0x8000_0000, 0xa));
        assert_eq!(shl(0x8001, 1, 16), (2, 0xc));
        assert_eq!(shr(0x8000_0001, 1, false, 32), (0x4000_0000, 0xc));
        assert_eq!(shr(0x8000_0001, 1, true, 32), (0xc000_0000, 6));
        assert_eq!(shr(0x8000_0000, 40, true, 32), (0xffff_ffff, 2));
        assert_eq!(shr(0xffff_ffff, 32, false, 32), (0, 1));
        assert_eq!(shr(0x8000, 20, true, 16), (0xffff, 2));
    }

    #[test]
    fn fmad_known_answers() {
        for (a, b, c, want) in [
            (0x3f80_0001, 0x3f80_0001, 0xbf80_0000, 0x3480_0000),
            (0x3eaa_aaab, 0x4040_0000, 0xbf80_0000, 0),
            (0x4049_0fdb, 0x402d_f854, 0xc108_9a02, 0x3b0b_e000),
            (0x7f00_0000, 0x4000_0000, 0xff7f_ffff, 0x7380_0000),
            (0x0080_0000, 0x3f00_0000, 0x0080_0000, 0x00c0_0000),
            (0x4b7f_ffff, 0x3f80_0001, 0x3f00_0000, 0x4b80_0000),
            (0x3dcc_cccd, 0x4120_0000, 0xbf80_0000, 0),
        ] {
            assert_eq!(fmad(a, b, c), want, "{a:x} {b:x} {c:x}");
        }
    }

    fn close(got: u32, want: u32, ulps: i64, absolute: f64) -> bool {
        if is_nan(want) || is_inf(want) {
            return got == want;
        }
        (got as i64 - want as i64).abs() <= ulps || (f(got) - f(want)).abs() <= absolute
    }

    #[test]
    fn function_known_answers() {
        // x, rcp, rsqrt, lg2, presin, preex2, sin, cos, ex2
        let table: [[u32; 9]; 13] = [
            [0x3f800000, 0x3f800000, 0x3f800000, 0x00000000, 0x00517cc1, 0x00800000, 0x3f576aa3, 0x3f0a5141, 0x40000000],
            [0xbf800000, 0xbf800000, 0x7fffffff, 0x7fffffff, 0x80517cc1, 0x80800000, 0xbf576aa3, 0x3f0a5141, 0x3f000000],
            [0x40000000, 0x3f000000, 0x3f3504f2, 0x3f800000, 0x00a2f983, 0x01000000, 0x3f68c7b6, 0xbed51130, 0x40800000],
            [0x40400000, 0x3eaaaaab, 0x3f13cd3a, 0x3fcae00d, 0x00f47644, 0x01800000, 0x3e1081bf, 0xbf7d7025, 0x41000000],
            [0x3f000000, 0x40000000, 0x3fb504f2, 0xbf7ffffe, 0x0028be60, 0x00400000, 0x3ef57740, 0x3f60a940, 0x3fb504f3],
            [0x3dcccccd, 0x41200000, 0x404a62c2, 0xc0549a77, 0x00082613, 0x000ccccc, 0x3dcc7566, 0x3f7eb897, 0x3f892fdf],
            [0x40490fdb, 0x3ea2f983, 0x3f106eba, 0x3fd3643a, 0x00ffffff, 0x01921fb6, 0x00000000, 0xbf800000, 0x410d331d],
            [0x41200000, 0x3dcccccd, 0x3ea1e89b, 0x40549a78, 0x012edf8f, 0x05000000, 0xbf0b44f2, 0xbf56cd66, 0x44800000],
            [0x42c80000, 0x3c23d70a, 0x3dcccccd, 0x40d49a78, 0x01d4bb96, 0x32000000, 0xbf01a165, 0x3f5cc0cd, 0x71800000],
            [0x7f7fffff, 0x00000000, 0x1f800000, 0x42ffffff, 0x00000000, 0x40800000, 0x00000000, 0x3f800000, 0x7f800000],
            [0x00800000, 0x7e800000, 0x5f000000, 0xc2fbffff, 0x00000000, 0x00000000, 0x00000000, 0x3f800000, 0x3f800000],
            [0x7f800000, 0x00000000, 0x00000000, 0x7f800000, 0x40800000, 0x40800000, 0x7fffffff, 0x7fffffff, 0x7f800000],
            [0xff800000, 0x80000000, 0x7fffffff, 0x7fffffff, 0xc0800000, 0xc0800000, 0x7fffffff, 0x7fffffff, 0x00000000],
        ];
        for [x, r, rs, l, ps, pe, s, c, e] in table {
            assert!(close(rcp(x), r, 1, 0.0), "rcp {x:x} {:x}", rcp(x));
            assert!(close(rsqrt(x), rs, 2, 0.0), "rsqrt {x:x} {:x}", rsqrt(x));
            assert!(close(lg2(x), l, 2, 2f64.powi(-21)), "lg2 {x:x} {:x}", lg2(x));
            assert_eq!(presin(x), ps, "presin {x:x}");
            assert_eq!(preex2(x), pe, "preex2 {x:x}");
            assert!(close(sin(ps), s, 0, 2f64.powi(-20)), "sin {x:x} {:x}", sin(ps));
            assert!(close(cos(ps), c, 0, 2f64.powi(-20)), "cos {x:x} {:x}", cos(ps));
            assert!(close(ex2(pe), e, 3, 0.0), "ex2 {x:x} {:x}", ex2(pe));
        }
    }

    #[test]
    fn conversions_saturate_and_round() {
        assert_eq!(f32_to_int(0x4f80_0000, Round::Zero, 32, false), 0xffff_ffff);
        assert_eq!(f32_to_int(0xbf80_0000, Round::Zero, 32, false), 0);
        assert_eq!(f32_to_int(0xcf80_0000, Round::Zero, 32, true), 0x8000_0000);
        assert_eq!(f32_to_int(0x3fc0_0000, Round::Nearest, 32, true), 2);
        assert_eq!(f32_to_int(NAN, Round::Zero, 32, true), 0);
        assert_eq!(f32_to_f16(0x3f80_0000, Round::Nearest), 0x3c00);
        assert_eq!(f32_to_f16(0x3380_0000, Round::Nearest), 1);
        assert_eq!(f32_to_f16(0x477f_f000, Round::Nearest), 0x7c00);
        assert_eq!(f32_to_f16(0x477f_f000, Round::Zero), 0x7bff);
        for h in 0..0x7c00u32 {
            assert_eq!(f32_to_f16(f16_to_f32(h), Round::Nearest), h);
        }
        assert_eq!(cvt_f32(0xbe80_0000, Some(Round::Nearest)), 0x8000_0000);
    }
}
