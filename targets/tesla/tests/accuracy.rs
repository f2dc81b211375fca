//! Approximated operations: the legalised module against its source, within the bounds of `docs/ir.md`.
#![allow(clippy::unwrap_used)]

use retroshade_ir::{InvocationInputs, Reference, ShaderEnv, interp, parse};
use retroshade_lower::Options;
use retroshade_lower::testing::Rng;

/// Any mantissa, an exponent between two, perhaps negative.
fn float(rng: &mut Rng, low: i32, high: i32, signed: bool) -> f32 {
    let exponent = rng.range(low, high - 1);
    let sign = if signed { rng.bits() & 0x8000_0000 } else { 0 };
    f32::from_bits(sign | ((exponent + 127) as u32) << 23 | rng.bits() & 0x7f_ffff)
}

fn between(rng: &mut Rng, low: f32, high: f32) -> f32 {
    low + (high - low) * (rng.bits() as f32 / u32::MAX as f32)
}

fn ulp(x: f32) -> f64 {
    let e = (x.to_bits() >> 23 & 255).max(1) as i32 - 127 - 23;
    2f64.powi(e)
}

/// Source and legalised results of `o = OP a [, b]` on many values.
fn both(op: &str, values: &[(f32, f32)]) -> Vec<(f32, f32)> {
    let text = format!(
        "shader vertex \"x\"\ninput %a : f32 @location(0)\ninput %b : f32 @location(1)\noutput %o : f32 @location(0)\nblock0:\n    v0 = input.f32 %a\n    v1 = input.f32 %b\n    v2 = {op}\n    output %o, v2\n    return\n"
    );
    let module = parse("accuracy.ir", &text).unwrap_or_else(|e| panic!("{op}: {e}"));
    let isa = retroshade_tesla::isa();
    let legal = isa.legalise(&module, &Options { fp_contract: false, ..Options::default() }).unwrap();
    let invocations = values.iter().map(|(a, b)| InvocationInputs { inputs: vec![vec![a.to_bits()], vec![b.to_bits()]] }).collect();
    let env = ShaderEnv { invocations, ..ShaderEnv::default() };
    let source = interp::run(&module, &env, &Reference).unwrap();
    let machine = interp::run(&legal, &env, isa.numerics()).unwrap();
    let word = |i: &retroshade_ir::InvocationResult| f32::from_bits(i.outputs[0][0]);
    source.invocations.iter().map(word).zip(machine.invocations.iter().map(word)).collect()
}

/// Asserts |machine - source| <= bound(a, b, source).
fn check(op: &str, values: &[(f32, f32)], bound: impl Fn(f32, f32, f32) -> f64) {
    let mut judged = 0;
    for ((a, b), (want, got)) in values.iter().zip(both(op, values)) {
        // Results outside the normal range are flushed or infinite.
        if !want.is_normal() || want.abs() < 1.0e-37 {
            continue;
        }
        judged += 1;
        let (error, allowed) = ((got as f64 - want as f64).abs(), bound(*a, *b, want));
        assert!(error <= allowed, "{op} of {a:e}, {b:e}: {got:e}, not {want:e}: {error:e} > {allowed:e}");
    }
    assert!(judged * 4 >= values.len(), "{op}: only {judged} of {} values judged", values.len());
}

const N: usize = 4000;

#[test]
fn reciprocals_and_quotients() {
    let mut rng = Rng::new(1);
    let values: Vec<_> = (0..N).map(|_| (float(&mut rng, -120, 120, true), 0.0)).collect();
    check("frcp v0", &values, |_, _, w| 2.5 * ulp(w));
    let values: Vec<_> = (0..N).map(|_| (float(&mut rng, -60, 60, true), float(&mut rng, -60, 60, true))).collect();
    check("fdiv v0, v1", &values, |_, _, w| 2.5 * ulp(w));
}

#[test]
fn roots() {
    let mut rng = Rng::new(2);
    let values: Vec<_> = (0..N).map(|_| (float(&mut rng, -120, 120, false), 0.0)).collect();
    check("frsqrt v0", &values, |_, _, w| 2.0 * ulp(w));
    // The reciprocal of a value that is 2 ulp off: 4 ulp of its own at most, and one for its rounding.
    check("fsqrt v0", &values, |_, _, w| 5.0 * ulp(w));
}

#[test]
fn exponentials_and_logarithms() {
    let mut rng = Rng::new(3);
    let values: Vec<_> = (0..N).map(|_| (between(&mut rng, -100.0, 100.0), 0.0)).collect();
    check("fexp2 v0", &values, |a, _, w| (3.0 + 2.0 * a.abs() as f64) * ulp(w));
    let logarithm = |x: f32, w: f32| if (0.5..=2.0).contains(&x) { 2f64.powi(-21) } else { 3.0 * ulp(w) };
    let values: Vec<_> =
        (0..N).map(|n| (if n % 2 == 0 { between(&mut rng, 0.5, 2.0) } else { float(&mut rng, -120, 120, false) }, 0.0)).collect();
    check("flog2 v0", &values, |a, _, w| logarithm(a, w));
    let values: Vec<_> = (0..N).map(|_| (float(&mut rng, -8, 8, false), between(&mut rng, -8.0, 8.0))).collect();
    check("fpow v0, v1", &values, |a, b, w| {
        let l = (a as f64).log2();
        let t = b as f64 * l;
        // What the logarithm and the product are off, as a factor of the result, and the exponential's own bound.
        let off = b.abs() as f64 * logarithm(a, l as f32) + ulp(t as f32);
        (off * std::f64::consts::LN_2 * 1.01) * w.abs() as f64 + (3.0 + 2.0 * t.abs()) * ulp(w)
    });
}

#[test]
fn sines() {
    let mut rng = Rng::new(4);
    let pi = std::f32::consts::PI;
    let values: Vec<_> = (0..N).map(|_| (between(&mut rng, -pi, pi), 0.0)).collect();
    check("fsin v0", &values, |_, _, _| 2f64.powi(-11));
    check("fcos v0", &values, |_, _, _| 2f64.powi(-11));
}

#[test]
fn exact_operations_stay_exact() {
    let mut rng = Rng::new(5);
    let values: Vec<_> = (0..N).map(|_| (float(&mut rng, -20, 30, true), float(&mut rng, -20, 30, true))).collect();
    for op in ["fadd v0, v1", "fsub v0, v1", "fmul v0, v1", "fmin v0, v1", "fmax v0, v1", "fneg v0", "fabs v0", "ffloor v0", "fceil v0"] {
        check(op, &values, |_, _, _| 0.0);
    }
    let near: Vec<_> = values.iter().map(|(a, b)| (a.fract() * 3.0, *b)).collect();
    for op in ["ftrunc v0", "fround v0", "ffract v0", "fsaturate v0", "fsign v0"] {
        check(op, &near, |_, _, _| 0.0);
    }
}
