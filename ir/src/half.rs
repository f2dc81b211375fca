//! IEEE binary16: conversions, rounded to the nearest and ties to even, straight from the wider format.

/// The bits of the half nearest to a number. Too large is infinity, NaNs stay (quiet) NaNs.
pub fn from_f64(x: f64) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    let fraction = bits & ((1 << 52) - 1);
    match exponent {
        1024 if fraction != 0 => return sign | 0x7e00 | (fraction >> 42) as u16,
        16.. => return sign | 0x7c00,
        ..-25 => return sign,
        _ => {}
    }
    let significand = fraction | 1 << 52;
    // A normal half keeps 10 bits of the fraction, a denormal fewer.
    let dropped = 42 + (-14 - exponent).max(0) as u32;
    let (kept, rest, tie) = (significand >> dropped, significand & ((1 << dropped) - 1), 1 << (dropped - 1));
    let up = rest > tie || rest == tie && kept & 1 == 1;
    // The leading one of a normal half adds to its exponent, and so does a carry.
    let biased = (exponent + 14).max(0) as u64;
    sign | ((biased << 10) + kept + u64::from(up)) as u16
}

/// The bits of the half nearest to a number.
pub fn from_f32(x: f32) -> u16 {
    from_f64(f64::from(x))
}

/// A half's value, which is exact.
pub fn to_f32(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits & 0x8000) << 16, u32::from(bits >> 10 & 31), u32::from(bits & 0x3ff));
    match exponent {
        0 => f32::from_bits(sign | (fraction as f32 / (1 << 24) as f32).to_bits()),
        31 if fraction != 0 => f32::from_bits(sign | 0x7fc0_0000 | fraction << 13),
        31 => f32::from_bits(sign | 0x7f80_0000),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_comes_back() {
        for bits in 0..=u16::MAX {
            let nan = bits & 0x7c00 == 0x7c00 && bits & 0x3ff != 0;
            assert_eq!(from_f32(to_f32(bits)), if nan { bits | 0x200 } else { bits }, "{bits:#x}");
        }
    }

    #[test]
    fn between_two_halves_the_nearer_one_is_taken_and_the_even_one_of_two() {
        for bits in 0..0x7bff_u16 {
            let (low, high) = (f64::from(to_f32(bits)), f64::from(to_f32(bits + 1)));
            let middle = (low + high) / 2.0;
            let even = bits + (bits & 1);
            let nearest = [(middle, even), (middle.next_down(), bits), (middle.next_up(), bits + 1)];
            for (x, want) in nearest {
                assert_eq!((from_f64(x), from_f64(-x)), (want, want | 0x8000), "{x:e}");
            }
        }
    }

    #[test]
    fn ends_of_the_range() {
        let cases = [(65504.0, 0x7bff), (65519.99, 0x7bff), (65520.0, 0x7c00), (1e300, 0x7c00), (f64::INFINITY, 0x7c00), (1e-300, 0)];
        for (x, want) in cases {
            assert_eq!(from_f64(x), want, "{x}");
        }
        assert_eq!((to_f32(1), to_f32(0x3c00), to_f32(0xc000)), (1.0 / 16_777_216.0, 1.0, -2.0));
    }
}
