//! Integer division on a machine that has floats only: a product with the reciprocal, which may miss, and a look at what remains.
//!
//! ```text
//!   q = floor(x · 1/k)    r = x - q k    q misses by one at most:  q += (r >= k) - (r < 0)
//! ```
//!
//! The reciprocal of a constant is the nearest float24. That of a computed divisor is whatever the machine's RCP gives, which is known to some
//! eleven bits: where the quotient may be large, what remains is divided once more. Facts: ISA sheet sections 7 (accuracy), 8 (exact integers).

use retroshade_ir::analysis::Range;
use retroshade_ir::passes::rewrite::splat_float;
use retroshade_ir::*;

/// Quotients below this one are missed by one at most, though RCP may be wrong by 2^-11 of what it gives.
const ONCE: i64 = 1 << 10;

/// A division whose operands are whole floats, with the quotient and the remainder of their magnitudes.
pub struct Division {
    operands: [Value; 2],
    positive: [bool; 2],
    magnitudes: [Value; 2],
    quotient: Value,
}

impl Division {
    /// Divides `x` by `k`, which can be this.
    pub fn new(b: &mut Builder, x: Value, k: Value, ranges: [Range; 2]) -> Division {
        let positive = ranges.map(Range::is_non_negative);
        let magnitudes = [magnitude(b, x, positive[0]), magnitude(b, k, positive[1])];
        let quotient = match splat_float(b.func, magnitudes[1]).filter(|k| *k != 0.0) {
            Some(k) => by_constant(b, magnitudes[0], k),
            None => {
                let most = |r: Range| r.lo.abs().max(r.hi.abs());
                let least = if ranges[1].lo > 0 { ranges[1].lo } else { 1 };
                by_computed(b, magnitudes, most(ranges[0]) / least >= ONCE)
            }
        };
        Division { operands: [x, k], positive, magnitudes, quotient }
    }
    /// Rounded towards zero.
    pub fn quotient(&self, b: &mut Builder) -> Value {
        let [x, k] = self.operands;
        let q = if self.positive[0] { self.quotient } else { with_sign(b, self.quotient, x) };
        match splat_float(b.func, k) {
            Some(k) if k < 0.0 => b.ins(Opcode::Fneg, &[q]),
            None if !self.positive[1] => with_sign(b, q, k),
            _ => q,
        }
    }
    /// With the sign of the dividend.
    pub fn remainder(&self, b: &mut Builder) -> Value {
        let [x, k] = self.magnitudes;
        let r = less(b, x, self.quotient, k);
        if self.positive[0] { r } else { with_sign(b, r, self.operands[0]) }
    }
}

fn magnitude(b: &mut Builder, x: Value, positive: bool) -> Value {
    if positive {
        return x;
    }
    if let Some(k) = splat_float(b.func, x) {
        return b.fconst(b.func.ty(x), k.abs());
    }
    let n = b.ins(Opcode::Fneg, &[x]);
    b.ins(Opcode::Fmax, &[x, n])
}

/// floor(x / k) for whole 0 ≤ x ≤ 131070, x < 2^15 k: exact for powers of two; otherwise the reciprocal's error may miss by one.
fn by_constant(b: &mut Builder, x: Value, k: f32) -> Value {
    let ty = b.func.ty(x);
    let (reciprocal, by) = (b.fconst(ty, 1.0 / k), b.fconst(ty, k));
    let p = b.ins(Opcode::Fmul, &[x, reciprocal]);
    let q = b.ins(Opcode::Ffloor, &[p]);
    if k.log2().fract() == 0.0 { q } else { corrected(b, x, q, by) }
}

/// floor(x / k) for whole 0 ≤ x ≤ 65536, 1 ≤ k ≤ 65536; `twice` where x / k may reach [`ONCE`].
fn by_computed(b: &mut Builder, [x, k]: [Value; 2], twice: bool) -> Value {
    let reciprocal = b.ins(Opcode::Frcp, &[k]);
    let divided = |b: &mut Builder, x: Value| {
        let p = b.ins(Opcode::Fmul, &[x, reciprocal]);
        b.ins(Opcode::Ffloor, &[p])
    };
    let mut q = divided(b, x);
    if twice {
        let rest = less(b, x, q, k);
        let more = divided(b, rest);
        q = b.ins(Opcode::Fadd, &[q, more]);
    }
    corrected(b, x, q, k)
}

/// A quotient that misses by one at most.
fn corrected(b: &mut Builder, x: Value, q: Value, k: Value) -> Value {
    let ty = b.func.ty(x);
    let r = less(b, x, q, k);
    let zero = b.fconst(ty, 0.0);
    let above = b.typed(Opcode::Ext, ty, &[r, k], Imm::Ext("pica.sge".into()));
    let below = b.typed(Opcode::Ext, ty, &[r, zero], Imm::Ext("pica.slt".into()));
    let q = b.ins(Opcode::Fadd, &[q, above]);
    b.ins(Opcode::Fsub, &[q, below])
}

/// x - q k.
fn less(b: &mut Builder, x: Value, q: Value, k: Value) -> Value {
    let p = b.ins(Opcode::Fmul, &[q, k]);
    b.ins(Opcode::Fsub, &[x, p])
}

/// x - q k of a constant.
pub fn remainder(b: &mut Builder, x: Value, q: Value, k: f32) -> Value {
    let k = b.fconst(b.func.ty(x), k);
    less(b, x, q, k)
}

/// A magnitude with the sign of another value.
fn with_sign(b: &mut Builder, x: Value, of: Value) -> Value {
    let ty = b.func.ty(x);
    let (zero, minus_two) = (b.fconst(ty, 0.0), b.fconst(ty, -2.0));
    let negative = b.typed(Opcode::Ext, ty, &[of, zero], Imm::Ext("pica.slt".into()));
    let twice = b.ins(Opcode::Fmul, &[negative, x]);
    let twice = b.ins(Opcode::Fmul, &[twice, minus_two]);
    b.ins(Opcode::Fadd, &[twice, x])
}

#[cfg(test)]
mod tests {
    use super::ONCE;
    use crate::legal::legalise;
    use crate::legal::numerics::{Float24, add, floor, mul, neg, rcp, sge, slt};
    use retroshade_ir::interp::{Limits, run_with};
    use retroshade_ir::{FloatCC, InvocationInputs, Numerics, Opcode, Scalar, ShaderEnv, parse};
    use retroshade_lower::Options;

    fn less(x: f32, q: f32, k: f32) -> f32 {
        add(x, neg(mul(q, k)))
    }

    fn corrected(x: f32, q: f32, k: f32) -> f32 {
        let r = less(x, q, k);
        add(add(q, sge(r, k)), neg(slt(r, 0.0)))
    }

    /// What `by_constant` computes, with another rounding of the reciprocal and of the product.
    fn by_constant(x: f32, k: f32, rounded: fn(f32) -> f32) -> f32 {
        corrected(x, floor(rounded(mul(x, rounded(mul(1.0, 1.0 / k))))), k)
    }

    /// What `by_computed` computes, with a reciprocal that is wrong by this part.
    fn by_computed(x: f32, k: f32, wrong: f32, twice: bool) -> f32 {
        let reciprocal = mul(rcp(k), 1.0 + wrong);
        let mut q = floor(mul(x, reciprocal));
        if twice {
            q = add(q, floor(mul(less(x, q, k), reciprocal)));
        }
        corrected(x, q, k)
    }

    /// The machine with reciprocals that are wrong by a part.
    struct Wrong(f32);

    impl Numerics for Wrong {
        fn unary(&self, op: Opcode, ty: Scalar, a: u32) -> u32 {
            let r = Float24.unary(op, ty, a);
            if op == Opcode::Frcp { mul(f32::from_bits(r), 1.0 + self.0).to_bits() } else { r }
        }
        fn binary(&self, op: Opcode, ty: Scalar, a: u32, b: u32) -> u32 {
            Float24.binary(op, ty, a, b)
        }
        fn ternary(&self, op: Opcode, ty: Scalar, a: u32, b: u32, c: u32) -> u32 {
            Float24.ternary(op, ty, a, b, c)
        }
        fn fcmp(&self, cc: FloatCC, ty: Scalar, a: u32, b: u32) -> bool {
            Float24.fcmp(cc, ty, a, b)
        }
        fn convert(&self, op: Opcode, from: Scalar, to: Scalar, a: u32) -> u32 {
            Float24.convert(op, from, to, a)
        }
        fn load(&self, ty: Scalar, a: u32) -> u32 {
            Float24.load(ty, a)
        }
        fn ext(&self, name: &str, args: &[[u32; 4]]) -> Option<[u32; 4]> {
            Float24.ext(name, args)
        }
    }

    /// The code that is made divides once or twice by what the operands can be: the simulator's reciprocal, which is the nearest, does not ask for that.
    #[test]
    fn what_is_divided_once_may_be() {
        for (most, least) in [(65536_u32, 1), (65536, 9), (65536, 63), (65536, 64), (40000, 2), (1023, 1), (1024, 1)] {
            let text = format!(
                "shader vertex \"divided\"\ninput %x : i32 @location(0) @range(0, {most})\ninput %k : i32 @location(1) @range({least}, 65536)\n\
                 output %position : f32x4 @position\nblock0:\n    v0 = input.i32 %x\n    v1 = input.i32 %k\n    v2 = udiv v0, v1\n    \
                 v3 = urem v0, v1\n    v4 = build v2, v3, v2, v3\n    v5 = s2f.f32x4 v4\n    output %position, v5\n    return\n"
            );
            let legal = legalise(&parse("divided.ir", &text).expect("reads"), &Options::default()).expect("compiles");
            for k in [least, least + 1, 2 * least + 1, 3 * least + 2] {
                let quotients = [most / k, most / k - 1, most / k / 2 + 1].into_iter().map(|q| q * k);
                let pairs: Vec<[u32; 2]> =
                    quotients.flat_map(|x| [x.saturating_sub(1), x, x + 1]).filter(|x| *x <= most).map(|x| [x, k]).collect();
                let invocations = pairs.iter().map(|p| InvocationInputs { inputs: p.iter().map(|w| vec![*w]).collect() }).collect();
                let env = ShaderEnv { invocations, ..ShaderEnv::default() };
                for wrong in [0.0, 1.0 / 2048.0, -1.0 / 2048.0] {
                    let got = run_with(&legal, &env, &Wrong(wrong), &Limits::default()).expect("runs");
                    for ([x, k], got) in pairs.iter().zip(&got.invocations) {
                        let want = [x / k, x % k].map(|n| (n as f32).to_bits());
                        assert_eq!(got.outputs[0][..2], want, "{x} / {k} of {most} / {least}");
                    }
                }
            }
        }
    }

    /// The float24 below, unless there is none.
    fn below(x: f32) -> f32 {
        f32::from_bits(x.to_bits().saturating_sub(1 << 7))
    }

    /// Whole numbers beside the multiples of `k`, up to `most`.
    fn beside_multiples(k: u32, most: u32) -> impl Iterator<Item = u32> {
        (0..=most).step_by(k as usize).flat_map(move |m| m.saturating_sub(2)..=(m + 2).min(most))
    }

    #[test]
    fn quotients_near_multiples_are_exact_however_the_machine_rounds() {
        for k in 3..0x1fffe_u32 {
            for x in beside_multiples(k, 0x1fffe.min((k << 15) - 1)) {
                for rounded in [|x| x, below] {
                    assert_eq!(by_constant(x as f32, k as f32, rounded), (x / k) as f32, "{x} / {k}");
                }
            }
        }
    }

    #[test]
    fn quotients_by_computed_divisors_are_exact_however_bad_the_reciprocal_is() {
        for k in 1..=0x10000_u32 {
            for x in beside_multiples(k, 0x10000) {
                for wrong in [0.0, 1.0 / 2048.0, -1.0 / 2048.0] {
                    assert_eq!(by_computed(x as f32, k as f32, wrong, true), (x / k) as f32, "{x} / {k}");
                    if i64::from(x / k) < ONCE {
                        assert_eq!(by_computed(x as f32, k as f32, wrong, false), (x / k) as f32, "{x} / {k}");
                    }
                }
            }
        }
    }
}
