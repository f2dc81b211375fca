//! Division of integers: by powers of two and other constants, and by multiplication with the reciprocal that RECIP_UINT estimates.
//!
//! Remainders of signed numbers by what is no constant go without magnitudes: the high half of a signed product rounds down, so that
//! what is left is the floored remainder, give or take one divisor. GLSL's `%` wants just that, with the divisor's sign.

use super::ext;
use retroshade_ir::passes::rewrite::{Action, rewrite, splat_bits};
use retroshade_ir::{Builder, Function, Imm, Inst, InstData, IntCC, Opcode, Type, Value};
use retroshade_lower::legal::intdiv;
use std::collections::{BTreeMap, BTreeSet};

/// Signed remainders by what is no constant, with either sign. Where the quotient is wanted, too, both come from one division.
pub fn remainders(func: &mut Function) -> bool {
    func.resolve_aliases();
    if !func.ordered().any(|(_, i)| func.insts[i].op == Opcode::Srem) {
        return false;
    }
    let insts: Vec<Inst> = func.ordered().map(|(_, i)| i).collect();
    let operands = |i: &Inst| (func.insts[*i].args[0], func.insts[*i].args[1]);
    let divided: BTreeSet<(Value, Value)> = insts.iter().filter(|i| func.insts[**i].op == Opcode::Sdiv).map(operands).collect();
    let parts: BTreeSet<Value> =
        insts.iter().filter(|i| floored_remainder(func, &func.insts[**i]).is_some()).map(|i| func.insts[*i].args[2]).collect();
    // What has the divisor's sign, by its value: its divisor and its floored remainder.
    let mut floored: BTreeMap<Value, (Value, Value)> = BTreeMap::new();
    rewrite(func, |b, i| {
        let d = b.func.insts[i].clone();
        if d.op == Opcode::Srem {
            let (x, y) = (d.args[0], d.args[1]);
            if d.results.iter().any(|r| parts.contains(r))
                || b.func.ty(x).lanes > 1
                || splat_bits(b.func, y).is_some()
                || divided.contains(&(x, y))
            {
                return Action::Keep;
            }
            return Action::Replace(with_dividends_sign(b, x, y));
        }
        let Some((x, y)) = floored_remainder(b.func, &d) else { return Action::Keep };
        if b.func.ty(x).lanes > 1 || splat_bits(b.func, y).is_some() || divided.contains(&(x, y)) {
            return Action::Keep;
        }
        // The remainder of a remainder and one divisor.
        let inner = sum(b.func, x, y).and_then(|t| floored.get(&t).filter(|f| f.0 == y).map(|f| (t, f.1)));
        let (v, w) = match inner {
            Some((t, w)) => (one_more(b, (t, w), x, y), w),
            None => {
                let w = floor_remainder(b, x, y);
                (with_divisors_sign(b, w, y), w)
            }
        };
        floored.insert(v, (y, w));
        Action::Replace(v)
    })
}

/// The other summand.
fn sum(f: &Function, v: Value, y: Value) -> Option<Value> {
    let d = f.def_if(v, Opcode::Iadd)?;
    (0..2).find(|n| d.args[1 - n] == y).map(|n| d.args[n])
}

/// What a remainder with the divisor's sign is made of: `select((r ^ y) < 0 and r != 0, r + y, r)` of `r = srem x, y`.
fn floored_remainder(f: &Function, d: &InstData) -> Option<(Value, Value)> {
    if d.op != Opcode::Select {
        return None;
    }
    let (test, up, r) = (d.args[0], d.args[1], d.args[2]);
    let [x, y] = f.def_if(r, Opcode::Srem)?.args[..] else { return None };
    let zero = |v: Value| splat_bits(f, v) == Some(0);
    let compares =
        |v: Value, cc: IntCC| f.def_if(v, Opcode::Icmp).filter(|c| c.imm == Imm::IntCC(cc) && zero(c.args[1])).map(|c| c.args[0]);
    let signs = |v: Value| {
        let differ = compares(v, IntCC::Slt).and_then(|s| f.def_if(s, Opcode::Ixor));
        differ.is_some_and(|s| s.args[..] == [r, y] || s.args[..] == [y, r])
    };
    let both = f.def_if(test, Opcode::Iand)?;
    let fits = (0..2).any(|n| signs(both.args[n]) && compares(both.args[1 - n], IntCC::Ne) == Some(r));
    (fits && sum(f, up, y) == Some(r)).then_some((x, y))
}

/// x minus the multiple of |y| that is not above it. By zero: anything.
///
/// With 2^32 / |y| - 2 < r <= 2^32 / |y| the high half of x r is the floor of x / |y| or one below it for x >= 0, one above it for
/// x < 0; what is left is the remainder, or one divisor more or less, and as unsigned numbers the least of the three is the one in
/// 0 … |y| - 1. A divisor of one has no such r; its remainder is cut off.
fn floor_remainder(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let ty = b.func.ty(x);
    let by = b.ins(Opcode::Iabs, &[y]);
    let r = ext(b, "r700.recip_uint", &[by]);
    // One step of Newton's, rounded up; then one less, and within what a signed number holds.
    let error = b.ins(Opcode::Imul, &[r, by]);
    let error = b.ins(Opcode::Smulhi, &[error, r]);
    let r = b.ins(Opcode::Isub, &[r, error]);
    let (minus, most) = (b.iconst(ty, u32::MAX), b.iconst(ty, i32::MAX as u32));
    let r = b.ins(Opcode::Iadd, &[r, minus]);
    let r = b.ins(Opcode::Umin, &[r, most]);
    let q = b.ins(Opcode::Smulhi, &[x, r]);
    let m = b.ins(Opcode::Imul, &[q, by]);
    let left = b.ins(Opcode::Isub, &[x, m]);
    let (up, down) = (b.ins(Opcode::Iadd, &[left, by]), b.ins(Opcode::Isub, &[left, by]));
    let other = b.ins(Opcode::Umin, &[up, down]);
    let w = b.ins(Opcode::Umin, &[left, other]);
    let last = b.ins(Opcode::Iadd, &[by, minus]);
    b.ins(Opcode::Umin, &[w, last])
}

/// `or` where a value is not zero, else zero.
fn unless_zero(b: &mut Builder<'_>, v: Value, or: Value) -> Value {
    let zero = b.iconst(b.func.ty(v), 0);
    let none = b.icmp(IntCC::Eq, v, zero);
    b.select(none, zero, or)
}

/// The remainder with the divisor's sign from the floored one by its magnitude.
fn with_divisors_sign(b: &mut Builder<'_>, w: Value, y: Value) -> Value {
    let zero = b.iconst(b.func.ty(w), 0);
    let by = b.ins(Opcode::Smin, &[y, zero]);
    let moved = b.ins(Opcode::Iadd, &[w, by]);
    unless_zero(b, w, moved)
}

/// The remainder with the dividend's sign.
fn with_dividends_sign(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let w = floor_remainder(b, x, y);
    let by = b.ins(Opcode::Iabs, &[y]);
    let below = b.ins(Opcode::Isub, &[w, by]);
    let zero = b.iconst(b.func.ty(x), 0);
    let positive = b.icmp(IntCC::Sge, x, zero);
    let v = b.select(positive, w, below);
    unless_zero(b, w, v)
}

/// The remainder of `sum` = t + y by y, where t is itself a remainder with y's sign and w its floored one: t again, unless the sum
/// wrapped around, which only divisors beyond 2^30 can make it do. Then its sign is the other one, and two or three divisors lead back.
fn one_more(b: &mut Builder<'_>, (t, w): (Value, Value), sum: Value, y: Value) -> Value {
    let zero = b.iconst(b.func.ty(y), 0);
    let two = b.ins(Opcode::Iadd, &[y, y]);
    let three = b.ins(Opcode::Iadd, &[two, y]);
    let (near, far) = (b.ins(Opcode::Iadd, &[w, two]), b.ins(Opcode::Iadd, &[w, three]));
    let wrapped = b.ins(Opcode::Umin, &[near, far]);
    let wrapped = with_divisors_sign(b, wrapped, y);
    let signs = b.ins(Opcode::Ixor, &[sum, y]);
    let same = b.icmp(IntCC::Sge, signs, zero);
    b.select(same, t, wrapped)
}

/// Unsigned quotient and remainder by the reciprocal and two corrections.
pub fn unsigned(b: &mut Builder<'_>, x: Value, y: Value) -> (Value, Value) {
    let ty = b.func.ty(x);
    let (zero, one) = (b.iconst(ty, 0), b.iconst(ty, 1));
    let r = ext(b, "r700.recip_uint", &[y]);
    let lo = b.ins(Opcode::Imul, &[r, y]);
    let hi = b.ins(Opcode::Umulhi, &[r, y]);
    let small = b.icmp(IntCC::Eq, hi, zero);
    let minus = b.ins(Opcode::Isub, &[zero, lo]);
    let e = b.select(small, minus, lo);
    let d = b.ins(Opcode::Umulhi, &[e, r]);
    let (up, down) = (b.ins(Opcode::Iadd, &[r, d]), b.ins(Opcode::Isub, &[r, d]));
    let r = b.select(small, up, down);
    let q = b.ins(Opcode::Umulhi, &[r, x]);
    let m = b.ins(Opcode::Imul, &[q, y]);
    let rem = b.ins(Opcode::Isub, &[x, m]);
    let ge = b.icmp(IntCC::Uge, rem, y);
    let ok = b.icmp(IntCC::Uge, x, m);
    let q1 = b.ins(Opcode::Iadd, &[q, one]);
    let q2 = b.ins(Opcode::Isub, &[q, one]);
    let t = b.select(ge, q1, q);
    let quotient = b.select(ok, t, q2);
    let r1 = b.ins(Opcode::Isub, &[rem, y]);
    let r2 = b.ins(Opcode::Iadd, &[rem, y]);
    let t = b.select(ge, r1, rem);
    let remainder = b.select(ok, t, r2);
    (quotient, remainder)
}

/// The exponent of a divisor that is a power of two.
fn power(b: &Builder<'_>, y: Value) -> Option<u32> {
    splat_bits(b.func, y).filter(|c| *c >= 2 && *c < 1 << 31 && c.is_power_of_two()).map(u32::trailing_zeros)
}

/// A quotient or remainder by a power of two.
pub fn divide_power(b: &mut Builder<'_>, d: &InstData, _: Type) -> Option<Value> {
    let k = power(b, d.args[1])?;
    Some(signed_power(b, d.args[0], k, d.op == Opcode::Sdiv))
}

/// A quotient or remainder by any other constant.
pub fn divide_constant(b: &mut Builder<'_>, d: &InstData, _: Type) -> Option<Value> {
    splat_bits(b.func, d.args[1]).filter(|c| *c != 0)?;
    let ty = b.func.ty(d.args[0]);
    intdiv::by_mulhi(b, d, ty)
}

/// x / 2^k or its remainder: rounds towards zero, so negative x first grow by 2^k - 1.
fn signed_power(b: &mut Builder<'_>, x: Value, k: u32, quotient: bool) -> Value {
    let ty = b.func.ty(x);
    let (top, rest, by) = (b.iconst(ty, 31), b.iconst(ty, 32 - k), b.iconst(ty, k));
    let bias = if k == 1 {
        b.ins(Opcode::Ushr, &[x, top])
    } else {
        let s = b.ins(Opcode::Sshr, &[x, top]);
        b.ins(Opcode::Ushr, &[s, rest])
    };
    let t = b.ins(Opcode::Iadd, &[x, bias]);
    if quotient {
        return b.ins(Opcode::Sshr, &[t, by]);
    }
    let whole = b.iconst(ty, 0u32.wrapping_sub(1 << k));
    let t = b.ins(Opcode::Iand, &[t, whole]);
    b.ins(Opcode::Isub, &[x, t])
}

/// Signed quotient or remainder of magnitudes.
pub fn signed(b: &mut Builder<'_>, x: Value, y: Value, quotient: bool) -> Value {
    let ty = b.func.ty(x);
    let shift = b.iconst(ty, 31);
    let (ax, ay) = (b.ins(Opcode::Iabs, &[x]), b.ins(Opcode::Iabs, &[y]));
    let (q, r) = unsigned(b, ax, ay);
    let sign_of = if quotient { b.ins(Opcode::Ixor, &[x, y]) } else { x };
    let s = b.ins(Opcode::Sshr, &[sign_of, shift]);
    let v = if quotient { q } else { r };
    // (v ^ s) - s negates where s is all ones.
    let t = b.ins(Opcode::Ixor, &[v, s]);
    b.ins(Opcode::Isub, &[t, s])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legal::numerics::NUMERICS;
    use retroshade_ir::types::I32;

    /// What a block of operations on two numbers gives.
    fn run(make: impl Fn(&mut Builder<'_>, Value, Value) -> Value) -> impl Fn(i32, i32) -> i32 {
        let mut f = Function::new("remainder");
        let block = f.add_block();
        let (x, y) = (f.add_param(block, I32), f.add_param(block, I32));
        let v = make(&mut Builder::new(&mut f, block), x, y);
        remainders(&mut f);
        let v = f.resolve(v);
        move |p: i32, q: i32| {
            let mut values: BTreeMap<Value, [u32; 4]> = [(x, [p as u32; 4]), (y, [q as u32; 4])].into();
            for i in &f.blocks[block].insts {
                let d = &f.insts[*i];
                let args: Vec<[u32; 4]> = d.args.iter().map(|a| values[&f.resolve(*a)]).collect();
                let types: Vec<Type> = d.args.iter().map(|a| f.ty(*a)).collect();
                let bits = match &d.imm {
                    Imm::Const(bits) => Some(*bits),
                    Imm::Ext(name) => retroshade_ir::Numerics::ext(&NUMERICS, name, &args),
                    imm => retroshade_ir::interp::eval(&NUMERICS, d.op, imm, f.ty(d.results[0]), &types, &args),
                };
                values.insert(d.results[0], bits.unwrap_or_default());
            }
            values[&v][0] as i32
        }
    }

    /// As front ends write it.
    fn floored(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
        let r = b.ins(Opcode::Srem, &[x, y]);
        let zero = b.iconst(I32, 0);
        let signs = b.ins(Opcode::Ixor, &[r, y]);
        let (differ, some) = (b.icmp(IntCC::Slt, signs, zero), b.icmp(IntCC::Ne, r, zero));
        let test = b.ins(Opcode::Iand, &[differ, some]);
        let up = b.ins(Opcode::Iadd, &[r, y]);
        b.select(test, up, r)
    }

    fn floor_mod(x: i32, y: i32) -> i32 {
        let r = x.wrapping_rem(y);
        if r != 0 && (r < 0) != (y < 0) { r + y } else { r }
    }

    #[test]
    fn remainders_are_exact() {
        let edges =
            [0, 1, 2, 3, 5, 7, 1 << 15, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, 1431655765, 1431655766, 1717986918, i32::MAX - 1, i32::MAX];
        let mut numbers: Vec<i32> = edges.iter().flat_map(|n| [*n, -*n]).chain([i32::MIN, i32::MIN + 1]).collect();
        let mut rng = retroshade_lower::testing::Rng::new(5);
        numbers.extend((0..150).map(|n| (rng.bits() >> (n % 32)) as i32));
        let signed = run(|b, x, y| b.ins(Opcode::Srem, &[x, y]));
        let with_divisor = run(floored);
        let twice = run(|b, x, y| {
            let t = floored(b, x, y);
            let sum = b.ins(Opcode::Iadd, &[t, y]);
            floored(b, sum, y)
        });
        for x in &numbers {
            for y in numbers.iter().filter(|y| **y != 0) {
                assert_eq!(signed(*x, *y), x.wrapping_rem(*y), "{x} rem {y}");
                let t = floor_mod(*x, *y);
                assert_eq!(with_divisor(*x, *y), t, "{x} mod {y}");
                assert_eq!(twice(*x, *y), floor_mod(t.wrapping_add(*y), *y), "{x} mod {y}, and once more");
            }
        }
    }
}
