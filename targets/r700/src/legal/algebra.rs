//! Algebra that pays on this machine and that the shading languages allow, NaNs and infinities assumed away: bounds that a
//! value respects anyway turn `max` and `min` into CLAMP, and selects of 1.0 and 0.0 into SETcc.
//!
//! Runs where contraction is allowed, never on `precise`.

use cranelift_entity::SecondaryMap;
use retroshade_ir::passes::rewrite::{Action, rewrite_of, splat_bits, splat_float};
use retroshade_ir::passes::simplify::equality;
use retroshade_ir::types::F32;
use retroshade_ir::{Builder, FloatCC, Function, Imm, InstData, IntCC, Opcode, Scalar, Value};
use retroshade_lower::legal::blend::blend;
use std::collections::BTreeSet;

/// The exponent of a number among its bits.
const EXPONENT: u32 = 0x7f80_0000;
/// How far a value's definition is followed.
const DEPTH: u32 = 6;

/// Runs the rules over a function.
pub fn run(func: &mut Function) -> bool {
    let uses = func.use_counts();
    use Opcode::*;
    rewrite_of(func, &[Fmul, Fmad, Fadd, Fmax, Fmin, Select], |b, i| {
        let d = b.func.insts[i].clone();
        let Some(r) = d.results.first() else { return Action::Keep };
        let ty = b.func.ty(*r);
        if d.precise || !ty.is_float() {
            return Action::Keep;
        }
        match d.op {
            Opcode::Fmad | Opcode::Fadd => match blend(b, &d, ty).or_else(|| doubled(b, &d, |v| uses[v] == 1)) {
                Some(v) => Action::Replace(v),
                None => Action::Keep,
            },
            Opcode::Fmax | Opcode::Fmin => {
                let (limit, fits): (f32, fn(&Function, Value, u32) -> bool) =
                    if d.op == Opcode::Fmax { (0.0, at_most_one) } else { (1.0, not_negative) };
                for (x, y) in [(d.args[0], d.args[1]), (d.args[1], d.args[0])] {
                    if splat_float(b.func, y) == Some(limit) && fits(b.func, x, DEPTH) {
                        return Action::Replace(b.ins(Opcode::Fsaturate, &[x]));
                    }
                }
                Action::Keep
            }
            Opcode::Fmul => match sixteenth_power(b.func, &d, &uses) {
                Some(x) => {
                    let (log, by) = (b.ins(Opcode::Flog2, &[x]), b.fconst(ty, 16.0));
                    let exponent = b.ins(Opcode::Fmul, &[log, by]);
                    Action::Replace(b.ins(Opcode::Fexp2, &[exponent]))
                }
                None => Action::Keep,
            },
            Opcode::Select => {
                if let Some(v) = sine_or_cosine(b, &d, |v| uses[v] == 1) {
                    return Action::Replace(v);
                }
                let (x, y) = (splat_float(b.func, d.args[1]), splat_float(b.func, d.args[2]));
                let exchange = match (x, y) {
                    (Some(1.0), Some(0.0)) => false,
                    (Some(0.0), Some(1.0)) => true,
                    _ => return Action::Keep,
                };
                let Some(c) = b.func.def_if(d.args[0], Opcode::Fcmp).cloned() else { return Action::Keep };
                let Imm::FloatCC(cc) = c.imm else { return Action::Keep };
                if c.precise {
                    return Action::Keep;
                }
                let wanted = ordered(if exchange { cc.inverse() } else { cc });
                if wanted == cc && !exchange {
                    return Action::Keep;
                }
                let v = b.fcmp(wanted, c.args[0], c.args[1]);
                let (one, zero) = if exchange { (d.args[2], d.args[1]) } else { (d.args[1], d.args[2]) };
                Action::Replace(b.select(v, one, zero))
            }
            _ => Action::Keep,
        }
    })
}

/// Whether a field of a word is 0 shows without moving it: (x << a >> b) == 0 is (x & mask) == 0.
pub fn field_tests(func: &mut Function) -> bool {
    let uses = func.use_counts();
    rewrite_of(func, &[Opcode::Icmp], |b, i| {
        let d = b.func.insts[i].clone();
        if !matches!(d.imm, Imm::IntCC(IntCC::Eq | IntCC::Ne)) || splat_bits(b.func, d.args[1]) != Some(0) {
            return Action::Keep;
        }
        let shift = |f: &Function, v: Value, op: Opcode| {
            let s = f.def_if(v, op)?;
            Some((s.args[0], splat_bits(f, s.args[1]).filter(|k| *k < 32)?))
        };
        let Some((x, right)) = shift(b.func, d.args[0], Opcode::Ushr) else { return Action::Keep };
        let inner = shift(b.func, x, Opcode::Ishl);
        let mask = |left: u32| (u32::MAX << left >> right << right) >> left;
        // Whether a number's exponent is 0 is whether it is zero: what is below the normal ones is zero to the machine.
        let exponent = |(x, left): (Value, u32)| b.func.def_if(x, Opcode::Bitcast).filter(|_| mask(left) == EXPONENT).map(|c| c.args[0]);
        if let Some(v) = inner.and_then(exponent).filter(|v| b.func.ty(*v) == F32) {
            let zero = b.fconst(F32, 0.0);
            let equal = matches!(d.imm, Imm::IntCC(IntCC::Eq));
            return Action::Replace(b.fcmp(if equal { FloatCC::Oeq } else { FloatCC::Une }, v, zero));
        }
        if uses[d.args[0]] > 1 {
            return Action::Keep;
        }
        let (x, left) = inner.filter(|_| uses[x] == 1).unwrap_or((x, 0));
        let ty = b.func.ty(x);
        let mask = b.iconst(ty, mask(left));
        let field = b.ins(Opcode::Iand, &[x, mask]);
        b.func.insts[i].args[0] = field;
        Action::Changed
    })
}

/// Whether two values are both 0 is whether the larger of their magnitudes is, or the union of their bits, and that takes no comparison to
/// choose by; so it is with whether one of them is not 0.
pub fn zero_tests(func: &mut Function) -> bool {
    let uses = func.use_counts();
    rewrite_of(func, &[Opcode::Iand, Opcode::Ior], |b, i| {
        let d = b.func.insts[i].clone();
        let (floats, integers) = if d.op == Opcode::Iand { (FloatCC::Oeq, IntCC::Eq) } else { (FloatCC::Une, IntCC::Ne) };
        let tested = |f: &Function, v: Value| {
            let t = f.def_inst(v).map(|i| &f.insts[i]).filter(|t| !t.precise && uses[v] < 2)?;
            let wanted = match t.imm {
                Imm::FloatCC(cc) => cc == floats && splat_float(f, t.args[1]) == Some(0.0),
                Imm::IntCC(cc) => cc == integers && splat_bits(f, t.args[1]) == Some(0),
                _ => false,
            };
            wanted.then(|| (t.args[0], f.ty(t.args[0])))
        };
        match (tested(b.func, d.args[0]), tested(b.func, d.args[1])) {
            (Some((x, ty)), Some((y, other))) if ty == other && ty.scalar == Scalar::F32 => {
                let (x, y) = (b.ins(Opcode::Fabs, &[x]), b.ins(Opcode::Fabs, &[y]));
                let (largest, zero) = (b.ins(Opcode::Fmax, &[x, y]), b.fconst(ty, 0.0));
                Action::Replace(b.fcmp(floats, largest, zero))
            }
            (Some((x, ty)), Some((y, other))) if ty == other && ty.scalar == Scalar::I32 => {
                let (both, zero) = (b.ins(Opcode::Ior, &[x, y]), b.iconst(ty, 0));
                Action::Replace(b.icmp(integers, both, zero))
            }
            _ => Action::Keep,
        }
    })
}

/// x + (x << k) is one product.
pub fn shifted_sums(func: &mut Function) -> bool {
    let uses = func.use_counts();
    rewrite_of(func, &[Opcode::Iadd], |b, i| {
        let d = b.func.insts[i].clone();
        let shift = |f: &Function, v: Value, x: Value| {
            let s = f.def_if(v, Opcode::Ishl).filter(|s| s.args[0] == x && uses[v] == 1)?;
            splat_bits(f, s.args[1]).filter(|k| *k < 32)
        };
        let found = [(0, 1), (1, 0)].into_iter().find_map(|(x, s)| {
            let (x, s) = (d.args[x], d.args[s]);
            shift(b.func, s, x).map(|k| (x, k))
        });
        let Some((x, k)) = found else { return Action::Keep };
        let ty = b.func.ty(x);
        let by = b.iconst(ty, (1u32 << k).wrapping_add(1));
        Action::Replace(b.ins(Opcode::Imul, &[x, by]))
    })
}

/// a + a + c is a multiply-add.
fn doubled(b: &mut Builder<'_>, d: &InstData, only: impl Fn(Value) -> bool) -> Option<Value> {
    if d.op != Opcode::Fadd {
        return None;
    }
    let twice = |f: &Function, v: Value| {
        let m = f.def_if(v, Opcode::Fadd).filter(|m| !m.precise && m.args[0] == m.args[1] && only(v))?;
        Some(m.args[0])
    };
    let (a, c) = [(0, 1), (1, 0)].into_iter().find_map(|(x, c)| Some((twice(b.func, d.args[x])?, d.args[c])))?;
    let ty = b.func.ty(a);
    let two = b.fconst(ty, 2.0);
    Some(b.ins(Opcode::Fmad, &[a, two, c]))
}

/// A sine or a cosine of one angle is the sine of that angle or a quarter turn further: T, which alone makes them, makes one.
fn sine_or_cosine(b: &mut Builder<'_>, d: &InstData, only: impl Fn(Value) -> bool) -> Option<Value> {
    let of = |f: &Function, v: Value, op: Opcode| {
        let d = f.def_if(v, op).filter(|d| !d.precise && only(v) && f.ty(v) == F32)?;
        Some(f.resolve(d.args[0]))
    };
    let (angle, cosine) = [(1, 2), (2, 1)].into_iter().find_map(|(x, y)| {
        let angle = of(b.func, d.args[x], Opcode::Fsin)?;
        (of(b.func, d.args[y], Opcode::Fcos)? == angle).then_some((angle, y))
    })?;
    let mut further = [b.fconst(F32, 0.0); 2];
    further[cosine - 1] = b.fconst(F32, 0.25);
    let further = b.select(d.args[0], further[0], further[1]);
    Some(super::turns(b, angle, Some(further), "r700.sin"))
}

/// What is squared four times and is not negative: a logarithm, a product and an exponential are done a group earlier, in one operation less.
fn sixteenth_power(f: &Function, d: &InstData, uses: &SecondaryMap<Value, u32>) -> Option<Value> {
    let squared = |d: &InstData| (d.op == Opcode::Fmul && !d.precise && d.args[0] == d.args[1]).then(|| d.args[0]);
    let mut x = squared(d)?;
    for _ in 0..3 {
        x = squared(f.def_if(x, Opcode::Fmul).filter(|_| uses[x] == 2)?)?;
    }
    (f.ty(x) == F32 && not_negative(f, x, DEPTH)).then_some(x)
}

/// What is added to a dot product of three lanes takes the fourth: a product, or a value and 1.
pub fn fourth_lanes(func: &mut Function) -> bool {
    let uses = func.use_counts();
    rewrite_of(func, &[Opcode::Fmad, Opcode::Fadd], |b, i| {
        let d = b.func.insts[i].clone();
        let free = |b: &Builder<'_>, v: Value| {
            let dot = b.func.def_if(v, Opcode::Dot).filter(|m| !m.precise && uses[v] == 1)?;
            (b.func.ty(dot.args[0]).lanes == 3).then(|| (dot.args[0], dot.args[1]))
        };
        let found = match d.op {
            Opcode::Fmad => free(b, d.args[2]).map(|dot| (dot, d.args[0], d.args[1])),
            Opcode::Fadd => [(0, 1), (1, 0)].into_iter().find_map(|(dot, x)| {
                let dot = free(b, d.args[dot])?;
                let ty = b.func.ty(d.args[x]);
                Some((dot, d.args[x], b.fconst(ty, 1.0)))
            }),
            _ => None,
        };
        let Some(((x, y), last_x, last_y)) = found.filter(|_| !d.precise) else { return Action::Keep };
        let mut with = |v: Value, last: Value| {
            let lanes = [b.extract(v, 0), b.extract(v, 1), b.extract(v, 2), last];
            b.build(&lanes)
        };
        let (x, y) = (with(x, last_x), with(y, last_y));
        Action::Replace(b.ins(Opcode::Dot, &[x, y]))
    })
}

/// In a chain of selects by whether one value is this or that constant, the order of the tests does not matter. A test
/// with 0 needs no comparison, so it goes to the end that is computed first.
pub fn zero_first(func: &mut Function) -> bool {
    let uses = func.use_counts();
    let link = |f: &Function, v: Value| {
        let s = f.def_if(v, Opcode::Select)?;
        let (tested, k) = equality(f, s.args[0])?;
        Some((s.args[0], s.args[1], s.args[2], tested, k))
    };
    rewrite_of(func, &[Opcode::Select], |b, i| {
        let d = b.func.insts[i].clone();
        let Some(r) = d.results.first().copied() else { return Action::Keep };
        let Some((c, x, mut rest, tested, 0)) = link(b.func, r) else { return Action::Keep };
        let (mut chain, mut seen) = (Vec::new(), BTreeSet::from([0]));
        while uses[rest] == 1
            && let Some((c, x, next, v, k)) = link(b.func, rest)
            && v == tested
            && seen.insert(k)
        {
            chain.push((c, x));
            rest = next;
        }
        if chain.is_empty() {
            return Action::Keep;
        }
        let mut v = b.select(c, x, rest);
        for (c, x) in chain.into_iter().rev() {
            v = b.select(c, x, v);
        }
        Action::Replace(v)
    })
}

/// The relation that agrees with this one on numbers and that the machine has.
fn ordered(cc: FloatCC) -> FloatCC {
    match cc {
        FloatCC::Ult => FloatCC::Olt,
        FloatCC::Ule => FloatCC::Ole,
        FloatCC::Ugt => FloatCC::Ogt,
        FloatCC::Uge => FloatCC::Oge,
        FloatCC::Ueq => FloatCC::Oeq,
        FloatCC::One => FloatCC::Une,
        other => other,
    }
}

/// Whether a value is 0 or more.
fn not_negative(f: &Function, v: Value, depth: u32) -> bool {
    use Opcode::*;
    if let Some(x) = splat_float(f, v) {
        return x >= 0.0;
    }
    let Some(d) = f.def_inst(v).map(|i| &f.insts[i]) else { return false };
    if depth == 0 {
        return false;
    }
    let arg = |n: usize| not_negative(f, d.args[n], depth - 1);
    match d.op {
        Fabs | Fsqrt | Frsqrt | Fexp2 | Fsaturate | Ffract | U2f => true,
        Fmul | Dot if d.args[0] == d.args[1] => true,
        Fadd | Fmul | Fmin => arg(0) && arg(1),
        Fmad | Fma => (d.args[0] == d.args[1] || arg(0) && arg(1)) && arg(2),
        Fmax => arg(0) || arg(1),
        Fsub => splat_float(f, d.args[0]).is_some_and(|x| x >= 1.0) && at_most_one(f, d.args[1], depth - 1),
        Select => arg(1) && arg(2),
        _ => false,
    }
}

/// The products that a value sums: of a dot product, or of multiply-adds one after the other.
fn products(f: &Function, v: Value) -> Vec<(Value, Value)> {
    let mut out = Vec::new();
    let mut at = v;
    loop {
        let Some(d) = f.def_inst(at).map(|i| &f.insts[i]) else { return Vec::new() };
        match d.op {
            Opcode::Dot => {
                let parts = |v: Value| f.def_if(v, Opcode::Build).map(|b| b.args.to_vec());
                let (Some(x), Some(y)) = (parts(d.args[0]), parts(d.args[1])) else { return Vec::new() };
                out.extend(x.into_iter().zip(y));
                return out;
            }
            Opcode::Fmad => {
                out.push((d.args[0], d.args[1]));
                at = d.args[2];
            }
            Opcode::Fmul => {
                out.push((d.args[0], d.args[1]));
                return out;
            }
            _ => return Vec::new(),
        }
    }
}

/// Whether a value is the dot product of two vectors of length 1, so at most 1 but for rounding.
fn unit_product(f: &Function, v: Value) -> bool {
    let (x, y): (Vec<Value>, Vec<Value>) = products(f, v).into_iter().unzip();
    x.len() > 1 && is_unit(f, &x) && is_unit(f, &y) || normalised_product(f, v)
}

/// Whether a vector is normalised or the reflection of one that is at one that is.
fn is_unit(f: &Function, lanes: &[Value]) -> bool {
    is_normalised(f, lanes) || is_reflection(f, lanes)
}

/// A factor x × r of a normalised vector, by what r is.
fn normalised_parts(f: &Function, v: Value) -> Option<(Value, Value)> {
    let m = f.def_if(v, Opcode::Fmul)?;
    [(0, 1), (1, 0)].into_iter().find(|(_, r)| f.def_if(m.args[*r], Opcode::Frsqrt).is_some()).map(|(x, r)| (m.args[x], m.args[r]))
}

fn is_normalised(f: &Function, lanes: &[Value]) -> bool {
    let Some(parts) = lanes.iter().map(|v| normalised_parts(f, *v)).collect::<Option<Vec<_>>>() else { return false };
    let r = parts[0].1;
    let Some(q) = f.def_if(r, Opcode::Frsqrt).map(|d| d.args[0]) else { return false };
    let xs: Vec<Value> = parts.iter().map(|(x, _)| *x).collect();
    parts.iter().all(|(_, s)| *s == r) && are_squared(f, &xs, q)
}

/// Whether values are different lanes of a vector whose squares another value sums: the same lane twice may be longer than the vector.
fn are_squared(f: &Function, lanes: &[Value], q: Value) -> bool {
    let roots: Vec<_> = lanes.iter().map(|v| crate::select::root(f, *v, 0)).collect();
    let squares = square_lanes(f, q);
    roots.iter().enumerate().all(|(k, x)| squares.contains(x) && !roots[..k].contains(x))
}

/// 2 (n·l) n - l, or l - 2 (n·l) n, lane by lane.
fn is_reflection(f: &Function, lanes: &[Value]) -> bool {
    let lane = |v: &Value| {
        let d = f.def_if(*v, Opcode::Fmad)?;
        let minus = f.def_if(d.args[2], Opcode::Fneg).map(|n| n.args[0]);
        // What all lanes share is the factor.
        Some(([d.args[0], d.args[1]], minus.unwrap_or(d.args[2]), minus.is_some()))
    };
    let Some(parts) = lanes.iter().map(lane).collect::<Option<Vec<_>>>() else { return false };
    let (first, _, minus) = parts[0];
    let Some(by) = first.into_iter().find(|v| parts.iter().all(|p| p.0.contains(v) && p.2 == minus)) else { return false };
    let negated = f.def_if(by, Opcode::Fneg).map(|n| n.args[0]);
    let Some(m) = f.def_if(negated.unwrap_or(by), Opcode::Fmul) else { return false };
    let twice = if minus == negated.is_none() { 2.0 } else { -2.0 };
    let Some(dot) = [(0, 1), (1, 0)].into_iter().find(|(_, k)| splat_float(f, m.args[*k]) == Some(twice)).map(|(x, _)| m.args[x]) else {
        return false;
    };
    let (n, l): (Vec<Value>, Vec<Value>) = parts.iter().map(|(p, l, _)| (if p[0] == by { p[1] } else { p[0] }, *l)).unzip();
    let all = products(f, dot);
    let meets = |x: Value, y: Value| all.contains(&(x, y)) || all.contains(&(y, x));
    all.len() == n.len() && n.iter().zip(&l).all(|(x, y)| meets(*x, *y)) && is_normalised(f, &n) && is_normalised(f, &l)
}

/// Whether a value is the dot product of two vectors that are normalised, however their factors are exchanged.
fn normalised_product(f: &Function, v: Value) -> bool {
    let mut vectors: Vec<(Value, Vec<Value>)> = Vec::new();
    let all = products(f, v);
    for (a, b) in &all {
        let (Some(a), Some(b)) = (normalised_parts(f, *a), normalised_parts(f, *b)) else { return false };
        for (x, r) in [a, b] {
            match vectors.iter_mut().find(|(s, _)| *s == r) {
                Some((_, xs)) => xs.push(x),
                None => vectors.push((r, vec![x])),
            }
        }
    }
    vectors.len() == 2
        && vectors.iter().all(|(r, xs)| {
            let q = f.def_if(*r, Opcode::Frsqrt).map(|d| d.args[0]);
            xs.len() == all.len() && q.is_some_and(|q| are_squared(f, xs, q))
        })
}

/// The lanes whose squares a value sums; none where it sums anything else.
pub(super) fn square_lanes(f: &Function, q: Value) -> Vec<(Value, u8)> {
    let pairs: Vec<_> = if let Some(d) = f.def_if(q, Opcode::Dot) {
        let lane = |k: usize, l: u8| crate::select::root(f, d.args[k], l);
        (0..f.ty(d.args[0]).lanes).map(|l| (lane(0, l), lane(1, l))).collect()
    } else {
        let root = |v: Value| crate::select::root(f, v, 0);
        products(f, q).into_iter().map(|(a, b)| (root(a), root(b))).collect()
    };
    let squares = pairs.iter().all(|(a, b)| a == b);
    pairs.into_iter().filter(|_| squares).map(|(a, _)| a).collect()
}

/// Whether a value is 1 or less.
fn at_most_one(f: &Function, v: Value, depth: u32) -> bool {
    use Opcode::*;
    if let Some(x) = splat_float(f, v) {
        return x <= 1.0;
    }
    let Some(d) = f.def_inst(v).map(|i| &f.insts[i]) else { return false };
    if depth == 0 {
        return false;
    }
    let arg = |n: usize| at_most_one(f, d.args[n], depth - 1);
    let positive = |n: usize| not_negative(f, d.args[n], depth - 1);
    match d.op {
        Fsaturate | Ffract | Fsin | Fcos => true,
        Dot | Fmad if unit_product(f, v) => true,
        Ext => matches!(&d.imm, Imm::Ext(n) if matches!(&**n, "r700.sin" | "r700.cos")),
        Fneg => positive(0),
        Fsub => arg(0) && positive(1),
        Fmul => arg(0) && arg(1) && positive(0) && positive(1),
        Fmin => arg(0) || arg(1),
        Fmax => arg(0) && arg(1),
        Select => arg(1) && arg(2),
        _ => false,
    }
}
