//! Float algebra that the shading languages allow and that this machine's operands reward: one uniform and one input per
//! instruction, a sum that takes in a product for nothing, dot products of registers. Never where a result is `precise`, nor
//! where products and sums must not be contracted.
//!
//! ```text
//!   (u k) x                     (u x) k                       two uniforms meet nowhere
//!   a (1 - t) + b t             a + (b - a) t                 where nothing has to be copied for it
//!   (in + in' x) + r y          (in + r y) + in' x            each product joins its sum
//!   o + a x + b c x             o + (a + b c) x               Horner
//!   1 - (x k + k')              (1 - k') - x k                constants meet
//!   (u + u' x) + k              (k + u' x) + u                a constant may be at hand
//!   1 + v·(w s)                 1 + (v·w) s                   the factor joins the sum
//!   1 / (k x), 1 / (1 / x)      (1 / k) (1 / x), x
//!   A v s + B v t               (A s + B t) v                 [`blend`], where several vectors share the matrices
//! ```

use crate::legal::rules::uniform_like;
use cranelift_entity::SecondaryMap;
use retroshade_ir::passes;
use retroshade_ir::passes::rewrite::{Action, rewrite, splat_float};
use retroshade_ir::*;
use smallvec::{SmallVec, smallvec};

/// Applies everything but [`blend`].
pub fn run(f: &mut Function) -> bool {
    let mut any = false;
    for _ in 0..4 {
        // What was replaced must not count as a use.
        passes::dce::run(f);
        let (uses, lanes) = (f.use_counts(), only_lanes(f));
        let changed = rewrite(f, |b, i| {
            let d = b.func.insts[i].clone();
            let Some(r) = d.results.first().copied().filter(|_| !d.precise) else { return Action::Keep };
            if !b.func.ty(r).is_float() {
                return Action::Keep;
            }
            let ty = b.func.ty(r);
            if let Some(v) = Affine::of(b.func, &d, &uses, &lanes).and_then(|a| a.shorter(b, ty)) {
                return Action::Replace(v);
            }
            let new = match d.op {
                Opcode::Fmul => uniform_last(b, &d, &uses),
                Opcode::Fadd => {
                    let mixed = mixed(b, &d, &uses);
                    mixed
                        .or_else(|| common_factor(b, &d, &uses))
                        .or_else(|| product_that_joins(b, &d, &uses))
                        .or_else(|| scaled_dot(b, &d, &uses))
                }
                Opcode::Fsub => scaled_dot(b, &d, &uses),
                _ => None,
            };
            new.map_or(Action::Keep, Action::Replace)
        });
        any |= changed;
        if !changed {
            break;
        }
    }
    any | constants_first(f)
}

type Uses = SecondaryMap<Value, u32>;

/// The operands of an operation that nothing else needs.
fn only(f: &Function, v: Value, op: Opcode, uses: &Uses) -> Option<SmallVec<[Value; 4]>> {
    let v = f.resolve(v);
    f.def_if(v, op).filter(|d| !d.precise && uses[v] == 1).map(|d| d.args.iter().map(|a| f.resolve(*a)).collect())
}

/// (u k) x = (u x) k.
fn uniform_last(b: &mut Builder, d: &InstData, uses: &Uses) -> Option<Value> {
    [(0, 1), (1, 0)].into_iter().find_map(|(p, other)| {
        let x = d.args[other];
        let m = only(b.func, d.args[p], Opcode::Fmul, uses)?;
        let constants = m.iter().filter(|v| b.func.const_bits(**v).is_some()).count();
        if !m.iter().all(|v| uniform_like(b.func, *v)) || uniform_like(b.func, x) || constants == 2 {
            return None;
        }
        let (u, k) = if b.func.const_bits(m[0]).is_some() { (m[1], m[0]) } else { (m[0], m[1]) };
        let ux = b.ins(Opcode::Fmul, &[u, x]);
        Some(b.ins(Opcode::Fmul, &[ux, k]))
    })
}

/// The input or uniform that a value's lanes come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bank {
    Uniform,
    Input(Input),
}

fn bank(f: &Function, v: Value) -> Option<Bank> {
    if uniform_like(f, v) {
        return Some(Bank::Uniform);
    }
    let d = f.insts.get(f.def_inst(f.resolve(v))?)?;
    match (d.op, &d.imm) {
        (Opcode::Input, Imm::Mem { var: MemRef::Input(k), .. }) => Some(Bank::Input(*k)),
        (Opcode::Splat | Opcode::Extract | Opcode::Fneg, _) => bank(f, d.args[0]),
        (Opcode::Shuffle, _) if f.resolve(d.args[0]) == f.resolve(d.args[1]) => bank(f, d.args[0]),
        _ => None,
    }
}

/// Whether a sum of this value and a product would not be one instruction: two uniforms, or two inputs.
fn apart(f: &Function, o: Value, product: &[Value]) -> bool {
    let clash = |x: &Value| match (bank(f, o), bank(f, *x)) {
        (Some(Bank::Uniform), Some(Bank::Uniform)) => true,
        (Some(Bank::Input(a)), Some(Bank::Input(b))) => a != b,
        _ => false,
    };
    product.iter().any(clash)
}

/// Whether two values in one instruction cost a copy.
fn clash(f: &Function, a: Value, b: Value) -> bool {
    apart(f, a, &[b])
}

/// What 1 - t is made of, if a value is that, lane by lane or of a scalar.
fn complement(f: &Function, v: Value) -> Option<Value> {
    let v = f.resolve(v);
    let v = f.def_if(v, Opcode::Splat).map_or(v, |d| f.resolve(d.args[0]));
    let d = f.def_if(v, Opcode::Fsub).filter(|d| !d.precise)?;
    (splat_float(f, d.args[0])? == 1.0).then(|| f.resolve(d.args[1]))
}

/// a (1 - t) + b t = a + (b - a) t: a sum and a product that joins a sum, where nothing needs a copy for it.
fn mixed(b: &mut Builder, d: &InstData, uses: &Uses) -> Option<Value> {
    let f = &b.func;
    let (x, y) = (only(f, d.args[0], Opcode::Fmul, uses)?, only(f, d.args[1], Opcode::Fmul, uses)?);
    let scalar = |v: Value| f.def_if(v, Opcode::Splat).map_or(v, |d| f.resolve(d.args[0]));
    let ways = [(&x, &y), (&y, &x)].into_iter().flat_map(|(p, q)| [(p, q, 0, 1), (p, q, 1, 0)]);
    let (a, rest, t, c) = ways.flat_map(|(p, q, a, w)| [(p[a], p[w], q[0], q[1]), (p[a], p[w], q[1], q[0])]).find_map(|(a, w, t, c)| {
        let whole = complement(f, w)?;
        (scalar(whole) == scalar(t)).then_some((a, w, t, c))
    })?;
    let alone = uses[f.resolve(rest)] == 1;
    // The sum of 1 and -t is shared, or needs a copy of its own beside a uniform.
    let shared = if alone { 1 + usize::from(bank(f, t) == Some(Bank::Uniform)) } else { 0 };
    let before = 2 + shared + usize::from(clash(f, c, t));
    let after = 2 + usize::from(clash(f, c, a)) + usize::from(clash(f, a, t));
    if after > before || after == before && alone {
        return None;
    }
    let difference = b.ins(Opcode::Fsub, &[c, a]);
    let part = b.ins(Opcode::Fmul, &[difference, t]);
    Some(b.ins(Opcode::Fadd, &[a, part]))
}

/// (o + p) + q = (o + q) + p, where q joins o in one instruction and p does not.
fn product_that_joins(b: &mut Builder, d: &InstData, uses: &Uses) -> Option<Value> {
    [(0, 1), (1, 0)].into_iter().find_map(|(s, other)| {
        let q = d.args[other];
        let factors = only(b.func, q, Opcode::Fmul, uses)?;
        let inner = only(b.func, d.args[s], Opcode::Fadd, uses)?;
        let (o, p) = [(0, 1), (1, 0)].into_iter().map(|(o, p)| (inner[o], inner[p])).find(|(o, p)| {
            let product = only(b.func, *p, Opcode::Fmul, uses);
            bank(b.func, *o).is_some() && product.is_some_and(|m| apart(b.func, *o, &m)) && !apart(b.func, *o, &factors)
        })?;
        let oq = b.ins(Opcode::Fadd, &[o, q]);
        Some(b.ins(Opcode::Fadd, &[oq, p]))
    })
}

/// (u + u' x) + k = (k + u' x) + u: a constant may stand in a temporary already, beside which the product is one instruction.
fn constants_first(f: &mut Function) -> bool {
    passes::dce::run(f);
    let uses = f.use_counts();
    rewrite(f, |b, i| {
        let d = b.func.insts[i].clone();
        if d.op != Opcode::Fadd || d.precise {
            return Action::Keep;
        }
        let with = |b: &mut Builder, (k, sum): (usize, usize)| {
            let c = b.func.resolve(d.args[k]);
            b.func.const_bits(c)?;
            let (rest, last) = started_with(b, d.args[sum], c, &uses)?;
            Some(b.ins(Opcode::Fadd, &[rest, last]))
        };
        [(0, 1), (1, 0)].into_iter().find_map(|way| with(b, way)).map_or(Action::Keep, Action::Replace)
    })
}

/// A sum with a constant in the place of the uniform that it starts with, and that uniform.
fn started_with(b: &mut Builder, sum: Value, c: Value, uses: &Uses) -> Option<(Value, Value)> {
    let args = only(b.func, sum, Opcode::Fadd, uses)?;
    [(0, 1), (1, 0)].into_iter().find_map(|(k, other)| {
        let (o, p) = (args[k], args[other]);
        let product = only(b.func, p, Opcode::Fmul, uses);
        let starts = uniform_like(b.func, o) && product.is_some_and(|m| m.iter().any(|v| uniform_like(b.func, *v)));
        if starts {
            return b.func.const_bits(o).is_none().then(|| (b.ins(Opcode::Fadd, &[c, p]), o));
        }
        let (inner, last) = started_with(b, o, c, uses)?;
        Some((b.ins(Opcode::Fadd, &[inner, p]), last))
    })
}

/// The operands of a tree of one operation, as far as nothing else needs its inner parts; a value itself where it is none.
fn operands(f: &Function, v: Value, op: Opcode, uses: &Uses, out: &mut SmallVec<[Value; 4]>) {
    match only(f, v, op, uses).filter(|_| out.len() < 8) {
        Some(m) => m.iter().for_each(|x| operands(f, *x, op, uses, out)),
        None => out.push(f.resolve(v)),
    }
}

/// Whether two values are the same in all lanes, splats of one scalar included.
fn same(f: &Function, a: Value, b: Value) -> bool {
    let scalar = |v: Value| f.def_if(v, Opcode::Splat).map_or(v, |d| f.resolve(d.args[0]));
    a == b || scalar(a) == scalar(b) && f.ty(a) == f.ty(b)
}

/// Terms of a sum at most.
const TERMS: usize = 6;

/// o + a x + b c x = o + (a + b c) x: what several terms have in common is one factor.
fn common_factor(b: &mut Builder, d: &InstData, uses: &Uses) -> Option<Value> {
    let f = &b.func;
    let mut sum = SmallVec::new();
    d.args.iter().for_each(|a| operands(f, *a, Opcode::Fadd, uses, &mut sum));
    // Long sums keep their order: what is added later lives longer.
    if sum.len() > TERMS {
        return None;
    }
    let terms: SmallVec<[SmallVec<[Value; 4]>; 4]> = sum
        .iter()
        .map(|t| {
            let mut factors = SmallVec::new();
            operands(f, *t, Opcode::Fmul, uses, &mut factors);
            factors
        })
        .collect();
    let has = |t: &SmallVec<[Value; 4]>, x: Value| t.len() > 1 && t.iter().any(|y| same(f, *y, x));
    // Instructions less: a product of three loses one, the first term of two needs none, two uniforms no longer meet; the new
    // product is one more.
    let gain = |x: Value| {
        let group = || terms.iter().filter(|t| has(t, x));
        let meets = |t: &&SmallVec<[Value; 4]>| t.len() == 2 && t.iter().all(|y| uniform_like(f, *y));
        let (long, met) = (group().filter(|t| t.len() > 2).count(), group().filter(meets).count());
        let starts = group().any(|t| t.len() == 2 && !meets(&t));
        if group().count() < 2 { 0 } else { (long + met + usize::from(starts)).saturating_sub(1) }
    };
    let x = terms.iter().flatten().copied().filter(|x| gain(*x) > 0).max_by_key(|x| gain(*x))?;
    let (mut inside, mut outside): (SmallVec<[SmallVec<[Value; 4]>; 4]>, SmallVec<[Value; 4]>) = Default::default();
    for (t, v) in terms.iter().zip(&sum) {
        match t.iter().position(|y| t.len() > 1 && same(f, *y, x)) {
            Some(k) => {
                let mut rest = t.clone();
                rest.remove(k);
                // Constants last, so that they meet no uniform.
                rest.sort_by_key(|v| (f.const_bits(*v).is_some(), !uniform_like(f, *v)));
                inside.push(rest);
            }
            None => outside.push(*v),
        }
    }
    // A uniform without factor joins no product with another one.
    inside.sort_by_key(|t| (t.len() == 1) == uniform_like(f, t[0]));
    let product = |b: &mut Builder, t: &[Value]| t[1..].iter().fold(t[0], |p, v| b.ins(Opcode::Fmul, &[p, *v]));
    let first = product(b, &inside[0]);
    let inner = inside[1..].iter().fold(first, |s, t| {
        let p = product(b, t);
        b.ins(Opcode::Fadd, &[s, p])
    });
    let scaled = b.ins(Opcode::Fmul, &[inner, x]);
    let Some((first, rest)) = outside.split_first() else { return Some(scaled) };
    let sum = rest.iter().fold(*first, |s, v| b.ins(Opcode::Fadd, &[s, *v]));
    Some(b.ins(Opcode::Fadd, &[sum, scaled]))
}

/// A value as scale × base + offset, lane by lane.
struct Affine {
    base: Value,
    /// The lane of the base, where the value is a scalar of a vector.
    lane: Option<u8>,
    scale: [f64; 4],
    offset: [f64; 4],
    /// Operations with constants that make it so.
    steps: usize,
}

impl Affine {
    /// A value as it stands.
    fn plain(base: Value) -> Affine {
        Affine { base, lane: None, scale: [1.0; 4], offset: [0.0; 4], steps: 0 }
    }
    /// The value that an operation with constants makes, `only_lanes` being those that are taken apart altogether.
    fn of(f: &Function, d: &InstData, uses: &Uses, only_lanes: &SecondaryMap<Value, bool>) -> Option<Affine> {
        let constant = |v: Value| f.const_bits(f.resolve(v)).map(|c| c.map(|w| f64::from(f32::from_bits(w))));
        let inner = |v: Value| {
            let v = f.resolve(v);
            let of = |v: Value| f.def_inst(v).map(|i| &f.insts[i]).filter(|d| !d.precise).and_then(|d| Affine::of(f, d, uses, only_lanes));
            let taken = f.def_if(v, Opcode::Extract).filter(|_| uses[v] == 1).and_then(|e| {
                let (Imm::Lane(l), x) = (&e.imm, f.resolve(e.args[0])) else { return None };
                let a = of(x).filter(|a| only_lanes[x] && a.lane.is_none())?;
                Some(Affine { lane: Some(*l), scale: [a.scale[*l as usize]; 4], offset: [a.offset[*l as usize]; 4], ..a })
            });
            taken.or_else(|| if uses[v] == 1 { of(v) } else { None }).unwrap_or(Affine::plain(v))
        };
        if d.op == Opcode::Fneg {
            let a = inner(d.args[0]);
            return (a.steps > 0).then(|| Affine { scale: a.scale.map(|x| -x), offset: a.offset.map(|x| -x), ..a });
        }
        if !matches!(d.op, Opcode::Fadd | Opcode::Fsub | Opcode::Fmul) {
            return None;
        }
        let (k, c, first) = match (constant(d.args[0]), constant(d.args[1])) {
            (None, Some(c)) => (d.args[0], c, true),
            (Some(c), None) => (d.args[1], c, false),
            _ => return None,
        };
        let mut a = inner(k);
        a.steps += 1;
        for n in 0..4 {
            (a.scale[n], a.offset[n]) = match (d.op, first) {
                (Opcode::Fmul, _) => (a.scale[n] * c[n], a.offset[n] * c[n]),
                (Opcode::Fadd, _) => (a.scale[n], a.offset[n] + c[n]),
                (_, true) => (a.scale[n], a.offset[n] - c[n]),
                (_, false) => (-a.scale[n], c[n] - a.offset[n]),
            };
        }
        Some(a)
    }
    /// The value anew, if that takes fewer operations.
    fn shorter(&self, b: &mut Builder, ty: Type) -> Option<Value> {
        let n = ty.lanes as usize;
        let bits = |x: &[f64; 4]| std::array::from_fn(|l| if l < n { crate::legal::numerics::round(x[l]).to_bits() } else { 0 });
        let all = |x: &[f64; 4], v: f64| x[..n].iter().all(|x| *x == v);
        let (plain, back, added) = (all(&self.scale, 1.0), all(&self.scale, -1.0), !all(&self.offset, 0.0));
        let finite = self.scale[..n].iter().chain(&self.offset[..n]).all(|x| x.is_finite());
        if !finite || self.steps <= usize::from(!plain && !back) + usize::from(added) {
            return None;
        }
        let x = self.lane.map_or(self.base, |l| b.extract(self.base, l));
        let offset = b.constant(ty, bits(&self.offset));
        if back && added {
            return Some(b.ins(Opcode::Fsub, &[offset, x]));
        }
        let scaled = match (plain, back) {
            (true, _) => x,
            (_, true) => b.ins(Opcode::Fneg, &[x]),
            _ => {
                let scale = b.constant(ty, bits(&self.scale));
                b.ins(Opcode::Fmul, &[x, scale])
            }
        };
        Some(if added { b.ins(Opcode::Fadd, &[scaled, offset]) } else { scaled })
    }
}

/// Vectors that are read lane by lane only.
fn only_lanes(f: &Function) -> SecondaryMap<Value, bool> {
    let mut out: SecondaryMap<Value, bool> = SecondaryMap::with_default(true);
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        let whole = d.args.iter().filter(|_| d.op != Opcode::Extract).chain(d.targets.iter().flat_map(|t| &t.args));
        whole.for_each(|v| out[f.resolve(*v)] = false);
    }
    out
}

/// v·(w s) = (v·w) s, where a sum takes in the product.
fn scaled_dot(b: &mut Builder, d: &InstData, uses: &Uses) -> Option<Value> {
    [1, 0].into_iter().find_map(|k| {
        let dot = only(b.func, d.args[k], Opcode::Dot, uses)?;
        [(0, 1), (1, 0)].into_iter().find_map(|(n, other)| {
            let m = only(b.func, dot[n], Opcode::Fmul, uses)?;
            let scalar = |v: Value| b.func.def_if(v, Opcode::Splat).map(|s| b.func.resolve(s.args[0]));
            let (w, s) = [(0, 1), (1, 0)].into_iter().find_map(|(w, s)| Some((m[w], scalar(m[s])?)))?;
            let plain = b.ins(Opcode::Dot, &[dot[other], w]);
            let scaled = b.ins(Opcode::Fmul, &[plain, s]);
            let mut args = d.args.clone();
            args[k] = scaled;
            Some(b.ins(d.op, &args))
        })
    })
}

/// The reciprocal of a product with a constant, or of a reciprocal.
pub fn reciprocal(b: &mut Builder, x: Value) -> Option<Value> {
    let d = b.func.def_inst(b.func.resolve(x)).map(|i| b.func.insts[i].clone()).filter(|d| !d.precise)?;
    match d.op {
        Opcode::Frcp => Some(d.args[0]),
        Opcode::Fmul => [(0, 1), (1, 0)].into_iter().find_map(|(k, other)| {
            let c = splat_float(b.func, d.args[k])?;
            let inverse = crate::legal::numerics::round(1.0 / f64::from(c));
            if !inverse.is_normal() {
                return None;
            }
            let ty = b.func.ty(x);
            let r = b.ins(Opcode::Frcp, &[d.args[other]]);
            let c = b.fconst(ty, inverse);
            Some(b.ins(Opcode::Fmul, &[r, c]))
        }),
        _ => None,
    }
}

/// A sum of columns times scalars, the matrix product of the shading languages: (column, factor), the last perhaps without one.
type Linear = SmallVec<[(Value, Option<Value>); 4]>;

/// A vector as such a sum, if its columns are uniforms or sums of uniforms.
fn linear(f: &Function, v: Value, depth: u32) -> Option<Linear> {
    let v = f.resolve(v);
    let d = f.insts.get(f.def_inst(v)?).filter(|d| !d.precise && depth > 0)?;
    let scalar = |v: Value| f.def_if(f.resolve(v), Opcode::Splat).map(|s| f.resolve(s.args[0]));
    match d.op {
        Opcode::Fmul => {
            let (c, s) = [(0, 1), (1, 0)].into_iter().find_map(|(c, s)| Some((f.resolve(d.args[c]), scalar(d.args[s])?)))?;
            blended(f, c, 8).then(|| smallvec![(c, Some(s))])
        }
        Opcode::Fadd => {
            let last = f.resolve(d.args[1]);
            let mut out = linear(f, d.args[0], depth - 1)?;
            let end = match linear(f, last, 1) {
                Some(one) => *one.first()?,
                None => blended(f, last, 8).then_some((last, None))?,
            };
            out.push(end);
            (out.len() <= 4).then_some(out)
        }
        _ => None,
    }
}

/// Whether a column is a uniform, or a sum of uniforms times scalars that [`blend`] has made.
fn blended(f: &Function, v: Value, depth: u32) -> bool {
    let v = f.resolve(v);
    let Some(d) = f.def_inst(v).map(|i| &f.insts[i]).filter(|_| depth > 0 && f.ty(v).is_vector()) else { return false };
    match d.op {
        _ if uniform_like(f, v) => true,
        Opcode::Fadd => d.args.iter().all(|a| blended(f, *a, depth - 1)),
        Opcode::Fmul => {
            d.args.iter().any(|a| blended(f, *a, depth - 1)) && d.args.iter().any(|a| f.def_if(f.resolve(*a), Opcode::Splat).is_some())
        }
        _ => false,
    }
}

/// A v s + B v t = (A s + B t) v: the matrices are blended before they are applied. Longer for one vector, shorter for several.
pub fn blend(f: &mut Function) -> bool {
    let mut any = false;
    for _ in 0..8 {
        passes::dce::run(f);
        let uses = f.use_counts();
        let changed = rewrite(f, |b, i| {
            let d = b.func.insts[i].clone();
            if d.op != Opcode::Fadd || d.precise || !b.func.ty(d.results[0]).is_vector() {
                return Action::Keep;
            }
            let weighted = |f: &Function, v: Value| -> Option<(Linear, Option<Value>)> {
                let product = only(f, v, Opcode::Fmul, &uses);
                let found = product.and_then(|m| {
                    let scalar = |v: Value| f.def_if(v, Opcode::Splat).is_some();
                    [(0, 1), (1, 0)].into_iter().find_map(|(l, s)| Some((linear(f, m[l], 5)?, m[s])).filter(|(_, s)| scalar(*s)))
                });
                match found {
                    Some((l, s)) => Some((l, Some(s))),
                    None => Some((linear(f, v, 5)?, None)),
                }
            };
            let (Some((x, s)), Some((y, t))) = (weighted(b.func, d.args[0]), weighted(b.func, d.args[1])) else { return Action::Keep };
            let factors = |l: &Linear| l.iter().map(|c| c.1).collect::<SmallVec<[_; 4]>>();
            if x.len() < 3 || factors(&x) != factors(&y) || s.is_none() && t.is_none() {
                return Action::Keep;
            }
            let mut sum: Option<Value> = None;
            for ((cx, factor), (cy, _)) in x.iter().zip(&y) {
                let mut times = |c: Value, w: Option<Value>| w.map_or(c, |w| b.ins(Opcode::Fmul, &[c, w]));
                let (p, q) = (times(*cx, s), times(*cy, t));
                let column = b.ins(Opcode::Fadd, &[p, q]);
                let term = match factor {
                    Some(v) => {
                        let v = b.splat(*v, b.func.ty(column).lanes);
                        b.ins(Opcode::Fmul, &[column, v])
                    }
                    None => column,
                };
                sum = Some(sum.map_or(term, |s| b.ins(Opcode::Fadd, &[s, term])));
            }
            sum.map_or(Action::Keep, Action::Replace)
        });
        any |= changed;
        if !changed {
            break;
        }
    }
    any
}
