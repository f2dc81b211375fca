//! Float algebra that the shading languages allow but that is not exact: infinities, NaNs and signs of zero may be assumed
//! away, products of constants may be combined, quotients become products.
//!
//! Runs only where contraction is allowed, never on `precise`. WGSL and GLSL say: implementations may assume that NaNs and
//! infinities do not occur, ignore the sign of a zero, and rewrite where the result is at least as accurate; division is
//! good to 2.5 ulp.

use super::rewrite::{Action, rewrite, splat_float};
use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::numerics::{Numerics, to_f32};
use crate::opcode::Opcode;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Runs the pass.
pub fn run(func: &mut Function, numerics: &dyn Numerics) -> bool {
    func.resolve_aliases();
    let cx = Cx { numerics, uses: func.use_counts(), otherwise: not_divisors(func), whole: whole_numbers(func) };
    rewrite(func, |b, i| visit(b, i, &cx))
}

struct Cx<'a> {
    numerics: &'a dyn Numerics,
    uses: SecondaryMap<Value, u32>,
    otherwise: EntitySet<Value>,
    whole: EntitySet<Value>,
}

fn visit(b: &mut Builder, i: Inst, cx: &Cx) -> Action {
    let (numerics, uses) = (cx.numerics, &cx.uses);
    use Opcode::*;
    let d = b.func.insts[i].clone();
    let [result] = d.results[..] else { return Action::Keep };
    let ty = b.func.ty(result);
    if d.precise || !ty.is_float() {
        return Action::Keep;
    }
    let zero = |f: &Function, v: Value| splat_float(f, v) == Some(0.0);
    let plain = |f: &Function, v: Value, op: Opcode| f.def_if(v, op).filter(|m| !m.precise).map(|m| m.args.clone());
    match d.op {
        Fmul => {
            let (x, y) = (d.args[0], d.args[1]);
            for (p, q) in [(x, y), (y, x)] {
                if zero(b.func, q) && bounded(b.func, p, 6) {
                    return Action::Replace(b.splat_const(ty, 0));
                }
                // (v × c) × k = v × (c k)
                if let (Some(k), Some(m)) = (b.func.const_bits(q), plain(b.func, p, Fmul))
                    && let Some(c) = b.func.const_bits(m[1])
                    && uses[p] <= 1
                {
                    let mut bits = [0; 4];
                    for n in 0..ty.lanes as usize {
                        bits[n] = numerics.binary(Fmul, ty.scalar, c[n], k[n]);
                        if !to_f32(ty.scalar, bits[n]).is_normal() {
                            return Action::Keep;
                        }
                    }
                    let c = b.constant(ty, bits);
                    return Action::Replace(b.ins(Fmul, &[m[0], c]));
                }
            }
        }
        Fadd => {
            for (p, q) in [(d.args[0], d.args[1]), (d.args[1], d.args[0])] {
                if zero(b.func, q) {
                    return Action::Replace(p);
                }
            }
        }
        Fsub => {
            let (x, y) = (d.args[0], d.args[1]);
            if x == y {
                return Action::Replace(b.splat_const(ty, 0));
            }
            if zero(b.func, y) {
                return Action::Replace(x);
            }
            if zero(b.func, x) {
                return Action::Replace(b.ins(Fneg, &[y]));
            }
        }
        Ffloor | Fceil | Ftrunc | Fround if cx.whole.contains(d.args[0]) => return Action::Replace(d.args[0]),
        Ffract if cx.whole.contains(d.args[0]) => return Action::Replace(b.splat_const(ty, 0)),
        Fpow => {
            // A power with a small whole exponent, or a root.
            if let Some(k) = splat_float(b.func, d.args[1]) {
                return power(b, d.args[0], k);
            }
        }
        Fneg => {
            // -(x - y) = y - x where the difference has no other use.
            if let Some(m) = plain(b.func, d.args[0], Fsub).filter(|_| uses[d.args[0]] <= 1) {
                return Action::Replace(b.ins(Fsub, &[m[1], m[0]]));
            }
        }
        Fma | Fmad => {
            let (x, y, z) = (d.args[0], d.args[1], d.args[2]);
            if zero(b.func, x) && bounded(b.func, y, 6) || zero(b.func, y) && bounded(b.func, x, 6) {
                return Action::Replace(z);
            }
            if zero(b.func, z) {
                return Action::Replace(b.ins(Fmul, &[x, y]));
            }
        }
        Fdiv => {
            let (x, y) = (d.args[0], d.args[1]);
            if let Some(bits) = b.func.const_bits(y) {
                let r = bits.map(|w| numerics.unary(Frcp, ty.scalar, w));
                if (0..ty.lanes as usize).all(|n| to_f32(ty.scalar, r[n]).is_normal()) {
                    let mut k = [0; 4];
                    k[..ty.lanes as usize].copy_from_slice(&r[..ty.lanes as usize]);
                    let k = b.constant(ty, k);
                    return Action::Replace(b.ins(Fmul, &[x, k]));
                }
            }
            // x / sqrt(v) = x × rsqrt(v), also where the root stands in all lanes.
            if let Some(v) = root(b, y, cx) {
                let r = b.ins(Frsqrt, &[v]);
                let r = if b.func.ty(r).lanes < ty.lanes { b.splat(r, ty.lanes) } else { r };
                return Action::Replace(b.ins(Fmul, &[x, r]));
            }
        }
        Fmax => {
            // max(min(v, 1), 0) saturates.
            let (x, y) = (d.args[0], d.args[1]);
            if zero(b.func, y)
                && let Some(m) = plain(b.func, x, Fmin)
            {
                for (p, q) in [(m[0], m[1]), (m[1], m[0])] {
                    if splat_float(b.func, q) == Some(1.0) {
                        return Action::Replace(b.ins(Fsaturate, &[p]));
                    }
                }
            }
        }
        _ => {}
    }
    Action::Keep
}

/// x to the k as a few products, where that is shorter than a logarithm and an exponential.
fn power(b: &mut Builder, x: Value, k: f32) -> Action {
    let square = |b: &mut Builder, v: Value| b.ins(Opcode::Fmul, &[v, v]);
    if k == 1.0 {
        return Action::Replace(x);
    }
    if k == 0.5 {
        return Action::Replace(b.ins(Opcode::Fsqrt, &[x]));
    }
    let times = [2.0, 3.0, 4.0, 5.0, 8.0, 16.0].contains(&k).then_some(k as u32);
    let Some(times) = times else { return Action::Keep };
    let mut r = x;
    for _ in 0..times.ilog2() {
        r = square(b, r);
    }
    if !times.is_power_of_two() {
        r = b.ins(Opcode::Fmul, &[r, x]);
    }
    Action::Replace(r)
}

/// Values that are whole numbers in all lanes (or not finite): rounded ones, and what sums, products, extrema and choices
/// make of whole numbers.
fn whole_numbers(func: &Function) -> EntitySet<Value> {
    use Opcode::*;
    let mut whole = EntitySet::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        let all = |whole: &EntitySet<Value>, args: &[Value]| args.iter().all(|a| whole.contains(*a));
        let [r] = d.results[..] else { continue };
        let ty = func.ty(r);
        if !ty.is_float() {
            continue;
        }
        let yes = match d.op {
            Ffloor | Fceil | Ftrunc | Fround | S2f | U2f => true,
            Const => func
                .const_bits(r)
                .is_some_and(|b| b[..ty.lanes as usize].iter().map(|w| to_f32(ty.scalar, *w)).all(|x| x.is_finite() && x.fract() == 0.0)),
            Fadd | Fsub | Fmul | Fneg | Fabs | Fmin | Fmax | Fma | Fmad | Splat | Build | Extract | Insert | Shuffle => {
                all(&whole, &d.args)
            }
            Select => all(&whole, &d.args[1..]),
            _ => false,
        };
        if yes {
            whole.insert(r);
        }
    }
    whole
}

/// Whether a value comes from no operation that makes infinities of ordinary numbers. A divisor of 0 is a thing that
/// programs are given (a size that is not set yet): what is a NaN in the source must not become a number here.
fn bounded(f: &Function, v: Value, depth: u32) -> bool {
    use Opcode::*;
    let Some(i) = f.def_inst(v) else { return true };
    let d = &f.insts[i];
    match d.op {
        Fdiv | Frcp | Frsqrt | Fexp2 | Flog2 | Fpow | Ext => false,
        Fadd | Fsub | Fmul | Fma | Fmad | Fneg | Fabs | Fmin | Fmax | Splat | Build | Extract | Insert | Shuffle | Select | Dot => {
            depth > 0 && d.args.iter().all(|a| bounded(f, *a, depth - 1))
        }
        _ => true,
    }
}

/// The operand of a square root that only divisions use.
fn root(b: &Builder, v: Value, cx: &Cx) -> Option<Value> {
    let v = b.func.def_if(v, Opcode::Splat).map_or(v, |s| s.args[0]);
    let d = b.func.def_if(v, Opcode::Fsqrt)?;
    (!d.precise && !cx.otherwise.contains(v)).then_some(d.args[0])
}

/// Values with a use other than as a divisor, or as the operand of a splat that is only a divisor.
fn not_divisors(func: &Function) -> EntitySet<Value> {
    let mut found = EntitySet::new();
    let mut splats = Vec::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        for (n, v) in d.args.iter().enumerate() {
            match (d.op, n) {
                (Opcode::Fdiv, 1) => {}
                (Opcode::Splat, _) => splats.push((*v, d.results[0])),
                _ => {
                    found.insert(*v);
                }
            }
        }
        for v in d.targets.iter().flat_map(|t| &t.args) {
            found.insert(*v);
        }
    }
    for (v, splat) in splats {
        if found.contains(splat) {
            found.insert(v);
        }
    }
    found
}
