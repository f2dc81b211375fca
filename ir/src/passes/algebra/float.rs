//! Rows about floats.

use super::*;

/// A power of two whose reciprocal is exact and normal in every float type.
fn has_exact_reciprocal(x: f32) -> bool {
    let exponent = (x.to_bits() >> 23 & 0xff) as i32 - 127;
    x.to_bits() & 0x7f_ffff == 0 && exponent.abs() <= 13
}

/// Small enough that a sum of two such loses nothing that the source has.
fn small(x: f32) -> bool {
    x.abs() <= 4096.0
}

/// Positive, with a square that is neither infinite nor tiny.
fn has_square(x: f32) -> bool {
    x > 0.0 && (x * x).is_normal()
}

/// Both normal, and their quotient.
fn has_quotient(x: f32, y: f32) -> bool {
    x.is_normal() && y.is_normal() && (x / y).is_normal()
}

/// A positive factor whose logarithm is small beside what exponents are.
fn is_factor(x: f32) -> bool {
    (1.0 / 64.0..=64.0).contains(&x)
}

fn at_least_one(x: f32) -> bool {
    x >= 1.0
}

/// Not above zero, and not a zero that a maximum would turn into the other one.
fn below_saturation(x: f32) -> bool {
    x < 0.0 || x.to_bits() == 0
}

pub(super) static RULES: &[Rule] = &[
    // Signs.
    rule!(Exact: Fneg(Fneg(a)) => a),
    rule!(Exact: Fabs(Fneg(a)) => Fabs(a)),
    rule!(Exact: Fabs(x @ Fabs(_)) => x),
    rule!(Exact: Fabs(x @ Fsaturate(_)) => x),
    rule!(Exact: Fabs(x @ Fexp2(_)) => x),
    rule!(Exact: Fabs(x @ Fmul(a, a)) => x),
    rule!(Exact: Fneg(~Fmul(a, K)) => Fmul(a, Fneg(K)), if |m| !m.is_precise()),
    rule!(Exact: Fneg(~Fmul(Fneg(a), b)) => Fmul(a, b), if |m| !m.is_precise()),
    rule!(Exact: Fmul(Fneg(a), Fneg(b)) => Fmul(a, b)),
    rule!(Exact: Fmul(Fneg(a), K) => Fmul(a, Fneg(K))),
    rule!(Exact: Fmul(Fabs(a), Fabs(a)) => Fmul(a, a)),
    rule!(Exact: Fdiv(Fneg(a), Fneg(b)) => Fdiv(a, b)),
    rule!(Close: Fcos(Fneg(a)) => Fcos(a)),
    rule!(Close: Fcos(Fabs(a)) => Fcos(a)),
    rule!(Exact: Fsign(x @ Fsign(_)) => x),
    rule!(Finite: Fneg(~Fsub(a, b)) => Fsub(b, a)),
    rule!(Finite: Fmul(Fsign(a), Fabs(a)) => a),
    // Sums.
    rule!(Exact: Fadd(a, -0.0) => a),
    rule!(Exact: Fadd(a, Fneg(b)) => Fsub(a, b)),
    rule!(Exact: Fsub(a, 0.0) => a),
    rule!(Exact: Fsub(-0.0, a) => Fneg(a)),
    rule!(Exact: Fsub(a, Fneg(b)) => Fadd(a, b)),
    rule!(Exact: Fsub(a, K) => Fadd(a, Fneg(K))),
    rule!(Exact: Fsub(a, Ffloor(a)) => Ffract(a), if |m| !m.is_precise()),
    rule!(Finite: Fadd(a, 0.0) => a),
    rule!(Finite: Fsub(a, -0.0) => a),
    rule!(Finite: Fsub(0.0, a) => Fneg(a)),
    rule!(Finite: Fsub(a, a) => 0.0),
    rule!(Finite: Fsub(a, Ffract(a)) => Ffloor(a)),
    rule!(Close: Fadd(~Fadd(a, K), L) => Fadd(a, Fadd(K, L)), if |m| m.floats("K", small) && m.floats("L", small)),
    rule!(Close: Fsub(K, ~Fadd(a, L)) => Fsub(Fsub(K, L), a), if |m| m.floats("K", small) && m.floats("L", small)),
    rule!(Close: Fsub(K, ~Fsub(L, a)) => Fadd(a, Fsub(K, L)), if |m| m.floats("K", small) && m.floats("L", small)),
    rule!(Close: Fadd(~Fsub(K, a), L) => Fsub(Fadd(K, L), a), if |m| m.floats("K", small) && m.floats("L", small)),
    // Products and quotients.
    rule!(Exact: Fmul(a, 1.0) => a),
    rule!(Exact: Fmul(a, -1.0) => Fneg(a)),
    rule!(Exact: Fdiv(a, 1.0) => a),
    rule!(Exact: Fdiv(a, -1.0) => Fneg(a)),
    rule!(Exact: Fdiv(1.0, a) => Frcp(a), if |m| !m.is_precise()),
    rule!(Exact: Fdiv(a, K) => Fmul(a, Frcp(K)), if |m| m.floats("K", has_exact_reciprocal)),
    rule!(Finite: Fmul(a, 0.0) => 0.0, if |m| m.bounded("a")),
    rule!(Finite: Fmul(a, -0.0) => 0.0, if |m| m.bounded("a")),
    rule!(Close: Fmul(~Fmul(a, K), L) => Fmul(a, Fmul(K, L)), if |m| m.float_pairs("K", "L", |k, l| (k * l).is_normal())),
    rule!(Close: Fdiv(a, K) => Fmul(a, Frcp(K)), if |m| m.floats("K", |k| k.is_normal() && k.recip().is_normal())),
    rule!(Close: Fdiv(a, Frcp(b)) => Fmul(a, b)),
    rule!(Close: Fdiv(a, Fsqrt(b)) => Fmul(a, Frsqrt(b))),
    rule!(Close: Fdiv(a, Splat(Fsqrt(b))) => Fmul(a, Splat(Frsqrt(b)))),
    rule!(Close: Fdiv(a, Frsqrt(b)) => Fmul(a, Fsqrt(b))),
    rule!(Close: Fmul(Frsqrt(a), Frsqrt(a)) => Frcp(a)),
    // A number by a number and a product: one of the numbers is left.
    rule!(Close: Fmul(~Frcp(~Fmul(a, L)), K) => Fmul(Frcp(a), Fdiv(K, L)), if |m| m.float_pairs("K", "L", has_quotient)),
    // Products with a sum.
    rule!(Close: Fmul(~Fadd(a, K), L) => Fadd(Fmul(a, L), Fmul(K, L)), if |m| m.floats("L", has_exact_reciprocal) && m.floats("K", small)),
    rule!(Close: Fmul(~Fsub(K, a), L) => Fsub(Fmul(K, L), Fmul(a, L)), if |m| m.floats("L", has_exact_reciprocal) && m.floats("K", small)),
    rule!(Exact: Fma(a, 1.0, c) => Fadd(a, c)),
    rule!(Exact: Fmad(a, 1.0, c) => Fadd(a, c)),
    rule!(Exact: Fma(a, -1.0, c) => Fsub(c, a)),
    rule!(Exact: Fmad(a, -1.0, c) => Fsub(c, a)),
    rule!(Exact: Fma(a, b, -0.0) => Fmul(a, b)),
    rule!(Exact: Fma(Fneg(a), Fneg(b), c) => Fma(a, b, c)),
    rule!(Exact: Fmad(Fneg(a), Fneg(b), c) => Fmad(a, b, c)),
    rule!(Exact: Fma(Fneg(a), K, c) => Fma(a, Fneg(K), c)),
    rule!(Exact: Fmad(Fneg(a), K, c) => Fmad(a, Fneg(K), c)),
    rule!(Finite: Fma(a, 0.0, c) => c, if |m| m.bounded("a")),
    rule!(Finite: Fmad(a, 0.0, c) => c, if |m| m.bounded("a")),
    rule!(Finite: Fma(a, b, 0.0) => Fmul(a, b)),
    rule!(Finite: Fmad(a, b, 0.0) => Fmul(a, b)),
    // Extrema.
    rule!(Exact: Fmin(a, a) => a),
    rule!(Exact: Fmax(a, a) => a),
    rule!(Exact: Fmin(a, x @ Fmin(a, _)) => x),
    rule!(Exact: Fmax(a, x @ Fmax(a, _)) => x),
    rule!(Exact: Fmin(~Fmin(a, K), L) => Fmin(a, Fmin(K, L)), if |m| m.float_pairs("K", "L", |k, l| !k.is_nan() && !l.is_nan())),
    rule!(Exact: Fmax(~Fmax(a, K), L) => Fmax(a, Fmax(K, L)), if |m| m.float_pairs("K", "L", |k, l| !k.is_nan() && !l.is_nan())),
    rule!(Exact: Fmax(Fmin(_, K), L) => L, if |m| m.float_pairs("K", "L", |k, l| k < l)),
    rule!(Exact: Fmin(Fmax(_, K), L) => L, if |m| m.float_pairs("K", "L", |k, l| k > l)),
    rule!(Exact: Fmin(Fneg(a), Fneg(b)) => Fneg(Fmax(a, b))),
    rule!(Exact: Fmax(Fneg(a), Fneg(b)) => Fneg(Fmin(a, b))),
    rule!(Finite: Fmax(a, Fneg(a)) => Fabs(a)),
    rule!(Finite: Fmin(a, Fneg(a)) => Fneg(Fabs(a))),
    rule!(Finite: Fmin(a, Fmax(a, _)) => a),
    rule!(Finite: Fmax(a, Fmin(a, _)) => a),
    rule!(Finite: Fmax(x @ Fabs(_), K) => x, if |m| m.floats("K", |k| k <= 0.0)),
    rule!(Finite: Fmax(x @ Fmul(a, a), K) => x, if |m| m.floats("K", |k| k <= 0.0)),
    rule!(Finite: Fmax(x @ Fsqrt(_), K) => x, if |m| m.floats("K", |k| k <= 0.0)),
    rule!(Finite: Fmax(x @ Fexp2(_), K) => x, if |m| m.floats("K", |k| k <= 0.0)),
    rule!(Finite: Fmax(x @ Ffract(_), K) => x, if |m| m.floats("K", |k| k <= 0.0)),
    // Saturation.
    rule!(Exact: Fmin(Fmax(a, 0.0), 1.0) => Fsaturate(a), if |m| !m.is_precise()),
    rule!(Finite: Fmax(Fmin(a, 1.0), 0.0) => Fsaturate(a)),
    rule!(Exact: Fsaturate(x @ Fsaturate(_)) => x),
    rule!(Exact: Fmin(x @ Fsaturate(_), K) => x, if |m| m.floats("K", at_least_one)),
    rule!(Exact: Fmax(x @ Fsaturate(_), K) => x, if |m| m.floats("K", below_saturation)),
    rule!(Exact: Fsaturate(Fmax(a, K)) => Fsaturate(a), if |m| m.floats("K", |k| k <= 0.0)),
    rule!(Finite: Fsaturate(Fmin(a, K)) => Fsaturate(a), if |m| m.floats("K", at_least_one)),
    rule!(Finite: Fsaturate(x @ Ffract(_)) => x),
    // Rounding.
    rule!(Exact: Ffloor(x @ Ffloor(_)) => x),
    rule!(Exact: Ffloor(x @ Fceil(_)) => x),
    rule!(Exact: Ffloor(x @ Ftrunc(_)) => x),
    rule!(Exact: Ffloor(x @ Fround(_)) => x),
    rule!(Exact: Ffloor(x @ S2f(_)) => x),
    rule!(Exact: Ffloor(x @ U2f(_)) => x),
    rule!(Exact: Fceil(x @ Ffloor(_)) => x),
    rule!(Exact: Fceil(x @ Fceil(_)) => x),
    rule!(Exact: Fceil(x @ Ftrunc(_)) => x),
    rule!(Exact: Fceil(x @ Fround(_)) => x),
    rule!(Exact: Fceil(x @ S2f(_)) => x),
    rule!(Exact: Fceil(x @ U2f(_)) => x),
    rule!(Exact: Ftrunc(x @ Ffloor(_)) => x),
    rule!(Exact: Ftrunc(x @ Fceil(_)) => x),
    rule!(Exact: Ftrunc(x @ Ftrunc(_)) => x),
    rule!(Exact: Ftrunc(x @ Fround(_)) => x),
    rule!(Exact: Ftrunc(x @ S2f(_)) => x),
    rule!(Exact: Ftrunc(x @ U2f(_)) => x),
    rule!(Exact: Fround(x @ Ffloor(_)) => x),
    rule!(Exact: Fround(x @ Fceil(_)) => x),
    rule!(Exact: Fround(x @ Ftrunc(_)) => x),
    rule!(Exact: Fround(x @ Fround(_)) => x),
    rule!(Exact: Fround(x @ S2f(_)) => x),
    rule!(Exact: Fround(x @ U2f(_)) => x),
    // Roots, powers and logarithms.
    rule!(Exact: Frcp(Fsqrt(a)) => Frsqrt(a), if |m| !m.is_precise()),
    rule!(Close: Frcp(Frcp(a)) => a),
    rule!(Close: Frcp(Frsqrt(a)) => Fsqrt(a)),
    rule!(Close: Frcp(Fexp2(a)) => Fexp2(Fneg(a))),
    rule!(Close: Fsqrt(Fmul(a, a)) => Fabs(a)),
    rule!(Finite: Fexp2(Flog2(a)) => a),
    rule!(Finite: Flog2(Fexp2(a)) => a),
    rule!(Finite: Flog2(~Fpow(a, b)) => Fmul(b, Flog2(a))),
    rule!(Finite: Flog2(Fsqrt(a)) => Fmul(Flog2(a), 0.5)),
    rule!(Finite: Flog2(Frcp(a)) => Fneg(Flog2(a))),
    rule!(Finite: Fpow(Fpow(a, b), c) => Fpow(a, Fmul(b, c))),
    rule!(Finite: Fpow(Fexp2(a), b) => Fexp2(Fmul(a, b))),
    rule!(Finite: Fpow(K, b) => Fexp2(Fmul(b, Flog2(K))), if |m| m.floats("K", |k| k > 0.0 && k.is_normal())),
    rule!(Finite: Fpow(a, 0.0) => 1.0),
    rule!(Finite: Fpow(a, 1.0) => a),
    rule!(Finite: Fpow(a, 0.5) => Fsqrt(a)),
    rule!(Finite: Fpow(a, 1.5) => Fmul(a, Fsqrt(a))),
    rule!(Finite: Fpow(a, -1.0) => Frcp(a)),
    rule!(Finite: Fpow(a, -0.5) => Frsqrt(a)),
    rule!(Finite: Fpow(a, -2.0) => Frcp(Fmul(a, a))),
    rule!(Finite: Fpow(a, 2.0) => Fmul(a, a)),
    rule!(Finite: Fpow(a, 3.0) => Fmul(Fmul(a, a), a)),
    rule!(Finite: Fpow(a, 4.0) => Fmul(x @ Fmul(a, a), x)),
    rule!(Finite: Fpow(a, 5.0) => Fmul(Fmul(x @ Fmul(a, a), x), a)),
    rule!(Finite: Fpow(a, 6.0) => Fmul(Fmul(x @ Fmul(a, a), x), x)),
    rule!(Finite: Fpow(a, 8.0) => Fmul(y @ Fmul(x @ Fmul(a, a), x), y)),
    rule!(Finite: Fpow(a, 16.0) => Fmul(z @ Fmul(y @ Fmul(x @ Fmul(a, a), x), y), z)),
    // A factor joins the exponent, which is a product already. (One outside of the power is better off in a sum, if there is one.)
    rule!(Finite: Fpow(~Fmul(a, K), L) => Fexp2(Fadd(Fmul(Flog2(a), L), Fmul(Flog2(K), L))), if |m| m.floats("K", is_factor) && m.floats("L", |l| l != 0.0 && l.abs() <= 64.0)),
    // Comparisons.
    rule!(Exact: Fcmp[any](Fneg(a), Fneg(b)) => Fcmp[swapped](a, b)),
    rule!(Exact: Fcmp[any](Fneg(a), K) => Fcmp[swapped](a, Fneg(K))),
    rule!(Exact: Fcmp[Olt](Fabs(_), K) => 0, if |m| m.floats("K", |k| k <= 0.0)),
    rule!(Exact: Fcmp[Olt](Fsaturate(_), K) => 0, if |m| m.floats("K", |k| k <= 0.0)),
    rule!(Exact: Fcmp[Ogt](Fsaturate(_), K) => 0, if |m| m.floats("K", at_least_one)),
    rule!(Finite: Fcmp[Olt](~Fsub(a, b), 0.0) => Fcmp[Olt](a, b)),
    rule!(Finite: Fcmp[Ole](~Fsub(a, b), 0.0) => Fcmp[Ole](a, b)),
    rule!(Finite: Fcmp[Ogt](~Fsub(a, b), 0.0) => Fcmp[Ogt](a, b)),
    rule!(Finite: Fcmp[Oge](~Fsub(a, b), 0.0) => Fcmp[Oge](a, b)),
    // A sum that is compared with zero. (A product is better off with its summand: both are one operation.)
    rule!(Finite: Fcmp[Olt](~Fadd(a, K), 0.0) => Fcmp[Olt](a, Fneg(K)), if |m| !m.is_product("a")),
    rule!(Finite: Fcmp[Ole](~Fadd(a, K), 0.0) => Fcmp[Ole](a, Fneg(K)), if |m| !m.is_product("a")),
    rule!(Finite: Fcmp[Ogt](~Fadd(a, K), 0.0) => Fcmp[Ogt](a, Fneg(K)), if |m| !m.is_product("a")),
    rule!(Finite: Fcmp[Oge](~Fadd(a, K), 0.0) => Fcmp[Oge](a, Fneg(K)), if |m| !m.is_product("a")),
    rule!(Finite: Fcmp[Olt](~Fsqrt(a), K) => Fcmp[Olt](a, Fmul(K, K)), if |m| m.floats("K", has_square)),
    rule!(Finite: Fcmp[Olt](~Fsqrt(a), ~Fsqrt(b)) => Fcmp[Olt](a, b)),
    rule!(Finite: Fcmp[Ole](~Fsqrt(a), K) => Fcmp[Ole](a, Fmul(K, K)), if |m| m.floats("K", has_square)),
    rule!(Finite: Fcmp[Ole](~Fsqrt(a), ~Fsqrt(b)) => Fcmp[Ole](a, b)),
    rule!(Finite: Fcmp[Ogt](~Fsqrt(a), K) => Fcmp[Ogt](a, Fmul(K, K)), if |m| m.floats("K", has_square)),
    rule!(Finite: Fcmp[Ogt](~Fsqrt(a), ~Fsqrt(b)) => Fcmp[Ogt](a, b)),
    rule!(Finite: Fcmp[Oge](~Fsqrt(a), K) => Fcmp[Oge](a, Fmul(K, K)), if |m| m.floats("K", has_square)),
    rule!(Finite: Fcmp[Oge](~Fsqrt(a), ~Fsqrt(b)) => Fcmp[Oge](a, b)),
    rule!(Finite: Iand(~Fcmp[Olt](a, b), ~Fcmp[Olt](a, c)) => Fcmp[Olt](a, Fmin(b, c))),
    rule!(Finite: Iand(~Fcmp[Olt](a, c), ~Fcmp[Olt](b, c)) => Fcmp[Olt](Fmax(a, b), c)),
    rule!(Finite: Ior(~Fcmp[Olt](a, b), ~Fcmp[Olt](a, c)) => Fcmp[Olt](a, Fmax(b, c))),
    rule!(Finite: Ior(~Fcmp[Olt](a, c), ~Fcmp[Olt](b, c)) => Fcmp[Olt](Fmin(a, b), c)),
    // Sums of choices: mix(a, b, float(c)).
    rule!(Finite: Fmul(a, Select(c, 1.0, 0.0)) => Select(c, a, 0.0), if |m| m.bounded("a")),
    rule!(Finite: Fmul(a, Select(c, 0.0, 1.0)) => Select(c, 0.0, a), if |m| m.bounded("a")),
    rule!(Finite: Fmul(a, Splat(Select(c, 1.0, 0.0))) => Select(c, a, 0.0), if |m| m.bounded("a")),
    rule!(Finite: Fmul(a, Splat(Select(c, 0.0, 1.0))) => Select(c, 0.0, a), if |m| m.bounded("a")),
    rule!(Finite: Fadd(~Select(c, a, 0.0), ~Select(c, 0.0, b)) => Select(c, a, b)),
    rule!(Finite: Fadd(a, ~Select(c, Fsub(b, a), 0.0)) => Select(c, b, a)),
    rule!(Finite: Fadd(a, ~Select(c, 0.0, Fsub(b, a))) => Select(c, a, b)),
    rule!(Finite: Fma(a, Select(c, 1.0, 0.0), b) => Fadd(b, Select(c, a, 0.0)), if |m| m.bounded("a")),
    rule!(Finite: Select(Fcmp[Olt](a, b), a, b) => Fmin(a, b)),
    rule!(Finite: Select(Fcmp[Ole](a, b), a, b) => Fmin(a, b)),
    rule!(Finite: Select(Fcmp[Ogt](a, b), a, b) => Fmax(a, b)),
    rule!(Finite: Select(Fcmp[Oge](a, b), a, b) => Fmax(a, b)),
    rule!(Finite: Select(Fcmp[Olt](a, b), b, a) => Fmax(a, b)),
    rule!(Finite: Select(Fcmp[Ole](a, b), b, a) => Fmax(a, b)),
    rule!(Finite: Select(Fcmp[Ogt](a, b), b, a) => Fmin(a, b)),
    rule!(Finite: Select(Fcmp[Oge](a, b), b, a) => Fmin(a, b)),
    rule!(Finite: Select(Fcmp[Olt](a, 0.0), Fneg(a), a) => Fabs(a)),
    rule!(Finite: Select(Fcmp[Ole](a, 0.0), Fneg(a), a) => Fabs(a)),
    rule!(Finite: Select(Fcmp[Ogt](a, 0.0), a, Fneg(a)) => Fabs(a)),
    rule!(Finite: Select(Fcmp[Oge](a, 0.0), a, Fneg(a)) => Fabs(a)),
    // Dot products.
    rule!(Exact: Dot(Fneg(a), Fneg(b)) => Dot(a, b)),
    rule!(Finite: Dot(a, Fneg(b)) => Fneg(Dot(a, b))),
    // Conversions.
    rule!(Exact: F2s(Ftrunc(a)) => F2s(a)),
    rule!(Exact: F2u(Ftrunc(a)) => F2u(a)),
    rule!(Exact: F2u(Ffloor(a)) => F2u(a)),
    rule!(Exact: F2u(Fmax(a, 0.0)) => F2u(a)),
];
