//! Float operations in terms of others.

use retroshade_ir::numerics::from_f32;
use retroshade_ir::{Builder, FloatCC, Imm, InstData, Opcode, Scalar, Type, Value};

fn k(b: &mut Builder, ty: Type, x: f32) -> Value {
    b.fconst(ty, x)
}

/// `a / b` = a × rcp(b). With a reciprocal good to 1 ulp the result is within 2 ulp where rcp(b) is normal, as WGSL asks
/// (2.5 ulp for |b| in 2^-126 … 2^126).
pub fn fdiv_rcp(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let r = b.ins(Opcode::Frcp, &[d.args[1]]);
    Some(b.ins(Opcode::Fmul, &[d.args[0], r]))
}

/// `a / b` with one correction step by `fma`: within 1 ulp where nothing overflows; infinite and zero divisors keep the
/// uncorrected quotient (the correction would be NaN).
pub fn fdiv_newton(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let (x, y) = (d.args[0], d.args[1]);
    let r = b.ins(Opcode::Frcp, &[y]);
    let q = b.ins(Opcode::Fmul, &[x, r]);
    let n = b.ins(Opcode::Fneg, &[y]);
    let e = b.ins(Opcode::Fma, &[n, q, x]);
    let better = b.ins(Opcode::Fma, &[e, r, q]);
    // e × r is NaN exactly where the quotient is 0, infinite or NaN already.
    let size = b.ins(Opcode::Fabs, &[better]);
    let inf = k(b, ty, f32::INFINITY);
    let fine = b.fcmp(FloatCC::Olt, size, inf);
    Some(b.select(fine, better, q))
}

/// `sqrt(x)` = rcp(rsqrt(x)): right at 0 and infinity without a test; 2 ulp with 1-ulp functions.
pub fn fsqrt_rcp_rsqrt(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let r = b.ins(Opcode::Frsqrt, &[d.args[0]]);
    Some(b.ins(Opcode::Frcp, &[r]))
}

/// `sqrt(x)` = x × rsqrt(x), for machines on which 0 × inf = 0; 1.5 ulp with a 1-ulp function; infinity gives 0 there.
pub fn fsqrt_mul_rsqrt(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let r = b.ins(Opcode::Frsqrt, &[d.args[0]]);
    Some(b.ins(Opcode::Fmul, &[d.args[0], r]))
}

/// `rsqrt(x)` = rcp(sqrt(x)).
pub fn frsqrt_rcp_sqrt(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let r = b.ins(Opcode::Fsqrt, &[d.args[0]]);
    Some(b.ins(Opcode::Frcp, &[r]))
}

/// `x` to the `y` = exp2(y × log2(x)): the definition in WGSL, so its error is inherited.
pub fn fpow(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let l = b.ins(Opcode::Flog2, &[d.args[0]]);
    let p = b.ins(Opcode::Fmul, &[d.args[1], l]);
    Some(b.ins(Opcode::Fexp2, &[p]))
}

/// `sign` by two selects; exact.
pub fn fsign(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let x = d.args[0];
    let (zero, one, minus) = (k(b, ty, 0.0), k(b, ty, 1.0), k(b, ty, -1.0));
    let below = b.fcmp(FloatCC::Olt, x, zero);
    let above = b.fcmp(FloatCC::Ogt, x, zero);
    let other = b.select(below, minus, zero);
    Some(b.select(above, one, other))
}

/// `saturate` = min(max(x, 0), 1); exact (NaN gives 0 where max returns the number).
pub fn fsaturate_min_max(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let (zero, one) = (k(b, ty, 0.0), k(b, ty, 1.0));
    let m = b.ins(Opcode::Fmax, &[d.args[0], zero]);
    Some(b.ins(Opcode::Fmin, &[m, one]))
}

/// `fract(x)` = x - floor(x); exact.
pub fn ffract_floor(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let f = b.ins(Opcode::Ffloor, &[d.args[0]]);
    Some(b.ins(Opcode::Fsub, &[d.args[0], f]))
}

/// `floor(x)` = x - fract(x); exact where the machine's fract is (not for tiny negative x, where fract rounds to 1).
pub fn ffloor_fract(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let f = b.ins(Opcode::Ffract, &[d.args[0]]);
    Some(b.ins(Opcode::Fsub, &[d.args[0], f]))
}

/// `floor(x)` from trunc: one less where truncation went up. Exact but for the sign of a zero.
pub fn ffloor_trunc(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let x = d.args[0];
    let t = b.ins(Opcode::Ftrunc, &[x]);
    let above = b.fcmp(FloatCC::Ogt, t, x);
    let minus = k(b, ty, -1.0);
    let less = b.ins(Opcode::Fadd, &[t, minus]);
    Some(b.select(above, less, t))
}

/// `ceil(x)` = -floor(-x); exact.
pub fn fceil_floor(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let n = b.ins(Opcode::Fneg, &[d.args[0]]);
    let f = b.ins(Opcode::Ffloor, &[n]);
    Some(b.ins(Opcode::Fneg, &[f]))
}

/// `trunc(x)`: floor of the magnitude with the sign put back. Exact but for the sign of a zero where `x` is -0 or in (-1, 0).
pub fn ftrunc_floor(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let x = d.args[0];
    let a = b.ins(Opcode::Fabs, &[x]);
    let f = b.ins(Opcode::Ffloor, &[a]);
    let n = b.ins(Opcode::Fneg, &[f]);
    let zero = k(b, ty, 0.0);
    let negative = b.fcmp(FloatCC::Olt, x, zero);
    Some(b.select(negative, n, f))
}

/// `round(x)` (ties to even) by adding and subtracting 1.5 × 2^23 (f16: 1.5 × 2^10), for machines whose adder rounds to
/// nearest even in that precision. Exact but for the sign of a zero.
pub fn fround_magic(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let x = d.args[0];
    let bits = if ty.scalar == Scalar::F16 { 10 } else { 23 };
    let unit = (1u32 << bits) as f32;
    let magic = k(b, ty, 1.5 * unit);
    let was = std::mem::replace(&mut b.precise, true);
    let up = b.ins(Opcode::Fadd, &[x, magic]);
    let down = k(b, ty, -1.5 * unit);
    let r = b.ins(Opcode::Fadd, &[up, down]);
    b.precise = was;
    let a = b.ins(Opcode::Fabs, &[x]);
    let limit = k(b, ty, unit / 2.0);
    let small = b.fcmp(FloatCC::Olt, a, limit);
    Some(b.select(small, r, x)).map(|v| half_range(b, x, v, a, limit, ty))
}

/// Between 2^22 and 2^23 a float has a half as its last bit: there the floor decides by parity.
fn half_range(b: &mut Builder, x: Value, rounded: Value, size: Value, limit: Value, ty: Type) -> Value {
    let two = k(b, ty, 2.0);
    let top = b.ins(Opcode::Fmul, &[limit, two]);
    let big = b.fcmp(FloatCC::Oge, size, limit);
    let whole = b.fcmp(FloatCC::Olt, size, top);
    let between = b.ins(Opcode::Iand, &[big, whole]);
    let even = ties_to_even(b, x, ty);
    b.select(between, even, rounded)
}

/// `round(x)` (ties to even) from floor; works for every magnitude. Exact but for the sign of a zero.
pub fn fround_floor(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    Some(ties_to_even(b, d.args[0], ty))
}

fn ties_to_even(b: &mut Builder, x: Value, ty: Type) -> Value {
    let was = std::mem::replace(&mut b.precise, true);
    let (half, one, two) = (k(b, ty, 0.5), k(b, ty, 1.0), k(b, ty, 2.0));
    let f = b.ins(Opcode::Ffloor, &[x]);
    let rest = b.ins(Opcode::Fsub, &[x, f]);
    let up = b.ins(Opcode::Fadd, &[f, one]);
    // An odd floor is not twice the floor of its half.
    let h = b.ins(Opcode::Fmul, &[f, half]);
    let hf = b.ins(Opcode::Ffloor, &[h]);
    let twice = b.ins(Opcode::Fmul, &[hf, two]);
    let odd = b.fcmp(FloatCC::One, twice, f);
    let above = b.fcmp(FloatCC::Ogt, rest, half);
    let tie = b.fcmp(FloatCC::Oeq, rest, half);
    let tie_up = b.ins(Opcode::Iand, &[tie, odd]);
    let go_up = b.ins(Opcode::Ior, &[above, tie_up]);
    b.precise = was;
    b.select(go_up, up, f)
}

/// `a - b` = a + (-b); exact.
pub fn fsub_add(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let n = b.ins(Opcode::Fneg, &[d.args[1]]);
    Some(b.ins(Opcode::Fadd, &[d.args[0], n]))
}

/// `-x` = x × -1 for machines without a sign modifier; exact but for NaN.
pub fn fneg_mul(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let m = k(b, ty, -1.0);
    Some(b.ins(Opcode::Fmul, &[d.args[0], m]))
}

/// `|x|` = max(x, -x); exact.
pub fn fabs_max(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let n = b.ins(Opcode::Fneg, &[d.args[0]]);
    Some(b.ins(Opcode::Fmax, &[d.args[0], n]))
}

/// `fma` as `fmad`, for machines without a fused one: source IR allows either rounding.
pub fn fma_fmad(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    Some(b.ins(Opcode::Fmad, &d.args))
}

/// `fma` and `fmad` as a product and a sum.
pub fn fma_mul_add(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let p = b.ins(Opcode::Fmul, &[d.args[0], d.args[1]]);
    Some(b.ins(Opcode::Fadd, &[p, d.args[2]]))
}

/// An f16 operation computed in f32 and rounded: right for sums, products, quotients and roots, since f32 has more than
/// twice the bits (fused multiply-add excepted).
pub fn f16_by_f32(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let wide = |t: Type| t.with_scalar(Scalar::F32);
    if !d.args.iter().any(|a| b.func.ty(*a).scalar == Scalar::F16) {
        return None;
    }
    let args: Vec<Value> = d
        .args
        .iter()
        .map(|a| {
            let t = b.func.ty(*a);
            if t.scalar == Scalar::F16 { b.typed(Opcode::Fcvt, wide(t), &[*a], Imm::None) } else { *a }
        })
        .collect();
    if ty.scalar != Scalar::F16 {
        return Some(b.typed(d.op, ty, &args, d.imm.clone()));
    }
    let r = b.typed(d.op, wide(ty), &args, d.imm.clone());
    Some(b.typed(Opcode::Fcvt, ty, &[r], Imm::None))
}

/// Ordered-and-unordered relations by the ordered ones: for machines that compare only with `olt ole ogt oge oeq une`.
/// Exact.
pub fn fcmp_basic(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    use FloatCC::*;
    let Imm::FloatCC(cc) = d.imm else { return None };
    let (x, y) = (d.args[0], d.args[1]);
    match cc {
        Olt | Ole | Ogt | Oge | Oeq | Une => None,
        Ult | Ule | Ugt | Uge => {
            let c = b.fcmp(cc.inverse(), x, y);
            Some(b.ins(Opcode::Inot, &[c]))
        }
        One | Ueq => {
            let less = b.fcmp(Olt, x, y);
            let more = b.fcmp(Ogt, x, y);
            let either = b.ins(Opcode::Ior, &[less, more]);
            Some(if cc == One { either } else { b.ins(Opcode::Inot, &[either]) })
        }
        Ord | Uno => {
            let p = b.fcmp(Oeq, x, x);
            let q = b.fcmp(Oeq, y, y);
            let both = b.ins(Opcode::Iand, &[p, q]);
            Some(if cc == Ord { both } else { b.ins(Opcode::Inot, &[both]) })
        }
    }
}

/// `f2u` from `f2s` for machines with only the signed conversion: values from 2^31 up are converted 2^31 lower. Exact.
pub fn f2u_f2s(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let x = d.args[0];
    let ft = b.func.ty(x);
    if ft.scalar == Scalar::F16 {
        // All halves fit; the negative ones become 0.
        let zero = k(b, ft, 0.0);
        let inf = k(b, ft, f32::INFINITY);
        let endless = b.fcmp(FloatCC::Oeq, x, inf);
        let p = b.ins(Opcode::Fmax, &[x, zero]);
        let s = b.typed(Opcode::F2s, ty, &[p], Imm::None);
        let ones = b.iconst(ty, u32::MAX);
        return Some(b.select(endless, ones, s));
    }
    let zero = k(b, ft, 0.0);
    let half = k(b, ft, 2_147_483_648.0);
    let top = k(b, ft, 4_294_967_296.0);
    let p = b.ins(Opcode::Fmax, &[x, zero]);
    let big = b.fcmp(FloatCC::Oge, p, half);
    let over = b.fcmp(FloatCC::Oge, p, top);
    let lower = b.ins(Opcode::Fsub, &[p, half]);
    let y = b.select(big, lower, p);
    let s = b.typed(Opcode::F2s, ty, &[y], Imm::None);
    let bit = b.iconst(ty, 0x8000_0000);
    let none = b.iconst(ty, 0);
    let add = b.select(big, bit, none);
    let sum = b.ins(Opcode::Iadd, &[s, add]);
    let ones = b.iconst(ty, u32::MAX);
    Some(b.select(over, ones, sum))
}

/// `u2f` from `s2f`: halved (with the lost bit kept sticky) where the top bit is set, then doubled. Exact.
pub fn u2f_s2f(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    if ty.scalar != Scalar::F32 {
        return None;
    }
    let x = d.args[0];
    let it = b.func.ty(x);
    let one = b.iconst(it, 1);
    let zero = b.iconst(it, 0);
    let small = b.typed(Opcode::S2f, ty, &[x], Imm::None);
    let h = b.ins(Opcode::Ushr, &[x, one]);
    let low = b.ins(Opcode::Iand, &[x, one]);
    let h = b.ins(Opcode::Ior, &[h, low]);
    let big = b.typed(Opcode::S2f, ty, &[h], Imm::None);
    let big = b.ins(Opcode::Fadd, &[big, big]);
    let top = b.icmp(retroshade_ir::IntCC::Slt, x, zero);
    Some(b.select(top, big, small))
}

/// The bits of a float constant of a type, for rules that need them.
pub fn bits_of(ty: Type, x: f32) -> u32 {
    from_f32(ty.scalar, x)
}
