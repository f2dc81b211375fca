//! Sums and products in the order that pays: what is there first is combined first, what many lanes share apart from what they do not
//! (the factors of a product as well as what several sums add),
//! a sum begins with an addend where it has one, so that every product is a multiply-add, and terms of one weight are added before they
//! are weighed. Sums of integers, masks and bounds become trees where they end earlier for it.
//!
//! The shading languages allow other orders; `precise` forbids them, and nothing precise is touched.

use crate::select::mir::inline_constant;
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::Cfg;
use retroshade_ir::passes::rewrite::{Action, rewrite_of, splat_float};
use retroshade_ir::types::F32;
use retroshade_ir::{Block, Builder, Function, Inst, InstData, Opcode, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What an operation counts.
const WHOLE: u32 = 12;
/// Terms of a sum and factors of a product that are looked at together.
const MOST: usize = 24;
/// Products of a factor that are looked at together.
const MOST_PLACES: usize = 64;
/// How often two terms of a sum with a common factor become one.
const ROUNDS: usize = 4;
/// Steps that a fetch is taken to last.
const FETCH: u32 = 10;

/// Runs over a function.
pub fn run(func: &mut Function) -> bool {
    func.resolve_aliases();
    // The facts hold until something changes.
    let mut facts = Facts::new(func);
    let mut changed = products(func, &mut facts);
    if changed {
        retroshade_ir::passes::gvn::run(func);
        facts = Facts::new(func);
    }
    let mut found = Terms::all(func, &facts);
    for _ in 0..ROUNDS {
        if !factors(func, &facts, &found) {
            break;
        }
        retroshade_ir::passes::gvn::run(func);
        facts = Facts::new(func);
        found = Terms::all(func, &facts);
        changed = true;
    }
    if chains(func, &mut facts) {
        facts = Facts::new(func);
        found = Terms::all(func, &facts);
        changed = true;
    }
    sums(func, &mut facts, found) | changed
}

/// Sums of products.
const SUMS: &[Opcode] = &[Opcode::Fadd, Opcode::Fsub, Opcode::Fmad];

/// What the order depends on.
pub(super) struct Facts {
    /// Dependent operations in front of each value.
    pub(super) depth: SecondaryMap<Value, u32>,
    uses: SecondaryMap<Value, u32>,
    /// How many of them multiply the value by a constant.
    weighed: SecondaryMap<Value, u32>,
    block: SecondaryMap<Inst, Option<Block>>,
}

impl Facts {
    pub(super) fn new(f: &Function) -> Facts {
        use Opcode::*;
        let mut depth: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(f.values.len());
        let mut block = SecondaryMap::with_capacity(f.insts.len());
        let mut weighed: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(f.values.len());
        for b in Cfg::new(f).rpo() {
            // One operation of the T unit at a time.
            let mut busy: BTreeSet<u32> = BTreeSet::new();
            for i in &f.blocks[*b].insts {
                block[*i] = Some(*b);
                let d = &f.insts[*i];
                let mut before = d.args.iter().map(|v| depth[f.resolve(*v)]).max().unwrap_or(0);
                if matches!(d.op, Frcp | Frsqrt | Fsqrt | Fexp2 | Flog2 | S2f | U2f | F2s | F2u | Imul | Umulhi | Smulhi | Ext) {
                    before = (before..).find(|t| busy.insert(*t)).unwrap_or(before);
                }
                let own = match d.op {
                    Const | Undef | Input | Build | Splat | Extract | Insert | Shuffle | Bitcast | Fneg | Fabs => 0,
                    Uniform if d.args.is_empty() => 0,
                    Tex | Ddx | Ddy | Uniform | StorageLoad => FETCH,
                    _ => 1,
                };
                d.results.iter().for_each(|r| depth[*r] = before + own);
                if let (Fmul | Fmad, false, [x, y, ..]) = (d.op, d.precise, &d.args[..]) {
                    let constant = |v: Value| Same::of(f, v) == Same::Always;
                    [(x, y), (y, x)].iter().filter(|(_, k)| constant(**k)).for_each(|(v, _)| weighed[**v] += 1);
                }
                for t in &d.targets {
                    for (p, a) in f.blocks[t.block].params.iter().zip(&t.args) {
                        depth[*p] = depth[*p].max(depth[f.resolve(*a)]);
                    }
                }
            }
        }
        Facts { depth, uses: f.use_counts(), weighed, block }
    }

    /// The operation that makes a value for this use alone, in the same block.
    fn inner(&self, f: &Function, v: Value, of: Inst) -> Option<Inst> {
        let i = f.def_inst(v)?;
        (self.uses[v] == 1 && self.block[i].is_some() && self.block[i] == self.block[of] && !f.insts[i].precise).then_some(i)
    }
}

/// Who sees the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Same {
    /// Everybody: it is a constant.
    Always,
    /// All lanes of a primitive.
    Shared,
    /// Nobody else.
    Own,
}

impl Same {
    fn of(f: &Function, v: Value) -> Same {
        let (v, _) = crate::select::root(f, v, 0);
        match f.def_inst(v).map(|i| &f.insts[i]) {
            Some(d) if d.op == Opcode::Const => Same::Always,
            Some(d) if d.op == Opcode::Uniform && d.args.is_empty() => Same::Shared,
            _ => Same::Own,
        }
    }
}

fn is_scalar(f: &Function, i: Inst) -> bool {
    f.result(i).is_some_and(|r| f.ty(r) == F32)
}

/// How an expression is made: what counts, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// Operations, each as [`WHOLE`] parts: those that several expressions share count for each in part.
    ops: u32,
    /// Dependent operations to its end.
    depth: u32,
    /// Operations whose result differs from lane to lane.
    own: u32,
}

impl Shape {
    fn better_than(self, old: Shape) -> bool {
        let shorter = self.ops < old.ops && self.depth <= old.depth + 2;
        shorter || self.ops == old.ops && (self.depth, self.own) < (old.depth, old.own)
    }
}

/// A part of an expression: a value with its sign.
#[derive(Clone, Copy, Debug)]
struct Part {
    value: Value,
    negated: bool,
    depth: u32,
    same: Same,
    /// Whether it is a choice between two constants, made for this use alone.
    choice: bool,
}

impl Part {
    fn new(f: &Function, facts: &Facts, value: Value, negated: bool) -> Part {
        let constant = |v: &Value| f.const_bits(*v).is_some();
        let choice = facts.uses[value] == 1 && f.def_if(value, Opcode::Select).is_some_and(|s| s.args[1..].iter().all(constant));
        Part { value, negated, depth: facts.depth[value], same: Same::of(f, value), choice }
    }
    fn key(&self) -> (u32, Same) {
        (self.depth, self.same)
    }
    /// What an operation on two parts gives, and what it counts: constants are computed here and now.
    fn joined(value: Value, negated: bool, x: &Part, y: &Part, shape: &mut Shape, ops: u32) -> Part {
        let same = x.same.max(y.same);
        if same == Same::Always {
            return Part { value, negated, depth: 0, same, choice: false };
        }
        shape.ops += ops;
        shape.own += (same == Same::Own) as u32;
        Part { value, negated, depth: x.depth.max(y.depth) + 1, same, choice: false }
    }
    fn signed(&self, b: &mut Builder<'_>) -> Value {
        if self.negated { b.ins(Opcode::Fneg, &[self.value]) } else { self.value }
    }
}

/// Takes the parts that are there first.
fn earliest(parts: &mut Vec<Part>) -> Option<Part> {
    let k = (0..parts.len()).min_by_key(|k| parts[*k].key())?;
    Some(parts.remove(k))
}

/// The factors of a product.
struct Factors {
    parts: Vec<Part>,
    negated: bool,
    old: Shape,
    /// A power of two that the output modifier of the last operation takes.
    scale: Option<Value>,
}

/// In which products each factor stands.
type Places = BTreeMap<Value, BTreeSet<Inst>>;
/// In which sums of a block each term stands, by its value and whether it is negated; only those that several have.
type Shared = BTreeMap<(Option<Block>, Value, bool), BTreeSet<Inst>>;

impl Factors {
    /// The factors of a product or of a multiply-add's product, where there are more than two.
    fn of(f: &Function, facts: &Facts, i: Inst) -> Option<Factors> {
        let d = &f.insts[i];
        let ([x, y], last) = match (d.op, &d.args[..]) {
            (Opcode::Fmul, [x, y]) => ([*x, *y], true),
            (Opcode::Fmad, [x, y, _]) => ([*x, *y], false),
            _ => return None,
        };
        if d.precise || !is_scalar(f, i) || facts.block[i].is_none() {
            return None;
        }
        let mut all = Factors { parts: Vec::new(), negated: false, old: Shape { ops: 0, depth: 0, own: 0 }, scale: None };
        let mut own = 0;
        all.add(f, facts, x, i, &mut own);
        all.add(f, facts, y, i, &mut own);
        all.through_shared(f, facts);
        all.old.depth = facts.depth[x].max(facts.depth[y]);
        if all.parts.len() < 3 {
            return None;
        }
        let scale = |p: &Part| matches!(splat_float(f, p.value), Some(2.0 | 4.0 | 0.5));
        if let Some(k) = all.parts.iter().position(scale).filter(|_| last) {
            all.scale = Some(all.parts.remove(k).value);
        }
        Some(all)
    }

    fn add(&mut self, f: &Function, facts: &Facts, v: Value, of: Inst, own: &mut u32) {
        if let Some(i) = facts.inner(f, v, of).filter(|_| self.parts.len() < MOST) {
            let d = &f.insts[i];
            match d.op {
                Opcode::Fneg => {
                    self.negated ^= true;
                    return self.add(f, facts, d.args[0], i, own);
                }
                Opcode::Fmul => {
                    self.old.ops += WHOLE;
                    let mut inner = 0;
                    self.add(f, facts, d.args[0], i, &mut inner);
                    self.add(f, facts, d.args[1], i, &mut inner);
                    self.old.own += (inner > 0) as u32;
                    *own += inner;
                    return;
                }
                _ => {}
            }
        }
        let p = Part::new(f, facts, v, false);
        *own += (p.same == Same::Own) as u32;
        self.parts.push(p);
    }

    /// A constant takes in that of a product that is made for others too: x k, times c, is x times (k c). Either all its uses have a
    /// constant, so that it goes, or x is there anyway and k costs an operation.
    fn through_shared(&mut self, f: &Function, facts: &Facts) {
        if !self.parts.iter().any(|p| p.same == Same::Always) {
            return;
        }
        let product = |p: &Part| {
            let d = f.def_if(p.value, Opcode::Fmul).filter(|d| !d.precise)?;
            let (x, k) = [(0, 1), (1, 0)].into_iter().find_map(|(x, k)| Some((d.args[x], splat_float(f, d.args[k])?)))?;
            let kept = (facts.uses[x] > 1 || facts.depth[x] == 0) && !matches!(k.abs(), 2.0 | 4.0 | 0.5);
            (kept || facts.weighed[p.value] == facts.uses[p.value]).then(|| [d.args[0], d.args[1]])
        };
        if let Some((k, both)) = self.parts.iter().enumerate().find_map(|(k, p)| Some((k, product(p)?))) {
            self.parts.splice(k..=k, both.map(|v| Part::new(f, facts, v, false)));
        }
    }

    /// Combines until `left` factors are left, those first that most products have in common; operations are made only where there
    /// is a builder.
    fn combine(&self, left: usize, places: &Places, mut b: Option<&mut Builder<'_>>) -> (Vec<Part>, Shape) {
        let none = BTreeSet::new();
        let place = |p: &Part| places.get(&p.value).unwrap_or(&none).clone();
        let mut parts: Vec<(Part, BTreeSet<Inst>)> = self.parts.iter().map(|p| (*p, place(p))).collect();
        let mut shape = Shape { ops: 0, depth: 0, own: 0 };
        while parts.len() > left {
            let mut best = None;
            for (k, (x, at)) in parts.iter().enumerate() {
                for (n, (y, with)) in parts[..k].iter().enumerate() {
                    let common = at.intersection(with).count().max(1);
                    let depth = x.depth.max(y.depth);
                    let constant = x.same.max(y.same) == Same::Always;
                    let key = (!constant, std::cmp::Reverse(common), depth, x.key().min(y.key()), x.same.max(y.same), n, k);
                    if best.is_none_or(|b| key < b) {
                        best = Some(key);
                    }
                }
            }
            let Some((_, std::cmp::Reverse(common), .., n, k)) = best else { break };
            let (y, at) = parts.remove(k);
            let (x, with) = parts.remove(n);
            let value = b.as_mut().map_or(x.value, |b| b.ins(Opcode::Fmul, &[x.value, y.value]));
            let part = Part::joined(value, false, &x, &y, &mut shape, WHOLE / common.min(WHOLE as usize) as u32);
            parts.push((part, at.intersection(&with).copied().collect()));
        }
        let parts: Vec<Part> = parts.into_iter().map(|p| p.0).collect();
        shape.depth = parts.iter().map(|p| p.depth).max().unwrap_or(0);
        (parts, shape)
    }
}

/// Reorders the factors of products, those of multiply-adds too.
fn products(func: &mut Function, facts: &mut Facts) -> bool {
    // Factors that many products share are common ones: constants say nothing by themselves.
    let mut places = Places::new();
    let mut found: BTreeMap<Inst, Factors> = BTreeMap::new();
    let mut inner: BTreeSet<Inst> = BTreeSet::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        if matches!(d.op, Opcode::Fmul | Opcode::Fmad) && !d.precise {
            inner.extend(d.args[..2].iter().filter_map(|v| facts.inner(func, *v, i)));
        }
    }
    for (_, i) in func.ordered().filter(|(_, i)| !inner.contains(i)) {
        if let Some(all) = Factors::of(func, facts, i) {
            for p in &all.parts {
                let all = places.entry(p.value).or_default();
                if all.len() < MOST_PLACES {
                    all.insert(i);
                }
            }
            found.insert(i, all);
        }
    }
    if found.is_empty() {
        return false;
    }
    rewrite_of(func, &[Opcode::Fmul, Opcode::Fmad], |b, i| {
        let Some(all) = found.get(&i) else { return Action::Keep };
        let d = b.func.insts[i].clone();
        let left = 2 - all.scale.is_some() as usize;
        let new = all.combine(left, &places, None).1;
        if !new.better_than(all.old) {
            return Action::Keep;
        }
        let mut parts = all.combine(left, &places, Some(b)).0;
        parts.sort_by_key(|p| p.key());
        let mut v: Vec<Value> = parts.iter().map(|p| p.value).chain(all.scale).collect();
        if all.negated {
            v[0] = b.ins(Opcode::Fneg, &[v[0]]);
        }
        let sum = d.args.get(2).copied();
        v.extend(sum);
        let done = b.ins(d.op, &v);
        facts.depth[done] = new.depth.max(sum.map_or(0, |z| facts.depth[z])) + 1;
        Action::Replace(done)
    })
}

/// x a + x b is x (a + b): where several sums have a and b with factors of their own, a + b is computed once; where x is a number that
/// takes a literal word, it is read once.
fn factors(func: &mut Function, facts: &Facts, sums: &BTreeMap<Inst, Terms>) -> bool {
    let mut found: BTreeMap<Inst, Vec<Common>> = BTreeMap::new();
    let mut count: BTreeMap<(Value, Value), u32> = BTreeMap::new();
    for (i, all) in sums {
        let pairs = all.common();
        pairs.iter().for_each(|c| *count.entry(c.rest).or_default() += 1);
        found.extend((!pairs.is_empty()).then_some((*i, pairs)));
    }
    if found.is_empty() {
        return false;
    }
    rewrite_of(func, SUMS, |b, i| {
        let pairs = found.get(&i).map_or(&[][..], |p| p);
        let pays = |c: &&Common| count[&c.rest] > 1 || is_literal(b.func, c.factor);
        let best = pairs.iter().filter(pays).max_by_key(|c| (count[&c.rest], std::cmp::Reverse(c.rest)));
        let Some(c) = best else { return Action::Keep };
        let Some(mut all) = Terms::of(b.func, facts, i) else { return Action::Keep };
        let Some(k) = all.common().iter().find(|d| (d.factor, d.rest) == (c.factor, c.rest)).map(|d| d.terms) else { return Action::Keep };
        all.products.remove(k.1);
        let before = facts.depth[c.rest.0].max(facts.depth[c.rest.1]) + 1;
        all.products[k.0].0.depth = before.max(facts.depth[c.factor]);
        let new = all.combine(&Shared::new(), None).1;
        if new.depth > all.old.depth + 1 {
            return Action::Keep;
        }
        let both = b.ins(Opcode::Fadd, &[c.rest.0, c.rest.1]);
        let (p, y) = &mut all.products[k.0];
        (p.value, *y) = (c.factor, both);
        let Some(sum) = all.combine(&Shared::new(), Some(b)).0 else { return Action::Keep };
        Action::Replace(sum.signed(b))
    })
}

/// A number that takes a literal word.
fn is_literal(f: &Function, v: Value) -> bool {
    splat_float(f, v).is_some_and(|k| inline_constant(k.abs().to_bits(), true).is_none())
}

/// Two products of a sum with a common factor.
struct Common {
    factor: Value,
    /// What it is multiplied with, the smaller number first.
    rest: (Value, Value),
    /// Which products.
    terms: (usize, usize),
}

/// A sum: plain addends, and products.
struct Terms {
    plain: Vec<Part>,
    products: Vec<(Part, Value)>,
    block: Option<Block>,
    old: Shape,
}

impl Terms {
    /// The terms of all sums that no other sum takes in.
    fn all(f: &Function, facts: &Facts) -> BTreeMap<Inst, Terms> {
        let taken = taken(f, facts);
        let sums = f.ordered().filter(|(_, i)| SUMS.contains(&f.insts[*i].op) && !taken[*i]);
        sums.filter_map(|(_, i)| Some((i, Terms::of(f, facts, i)?))).collect()
    }

    /// The terms of a sum, where there are more than two.
    fn of(f: &Function, facts: &Facts, i: Inst) -> Option<Terms> {
        let d = &f.insts[i];
        if d.precise || !matches!(d.op, Opcode::Fadd | Opcode::Fsub | Opcode::Fmad) || !is_scalar(f, i) || facts.block[i].is_none() {
            return None;
        }
        let old = Shape { ops: 0, depth: facts.depth[f.result(i)?], own: 0 };
        let mut all = Terms { plain: Vec::new(), products: Vec::new(), block: facts.block[i], old };
        all.open(f, facts, i, false)?;
        (all.len() > 1).then_some(all)
    }

    /// The pairs of products with a common factor.
    fn common(&self) -> Vec<Common> {
        let mut out = Vec::new();
        for (n, (q, w)) in self.products.iter().enumerate() {
            for (k, (p, y)) in self.products[..n].iter().enumerate().filter(|(_, (p, _))| p.negated == q.negated) {
                for (factor, a) in [(p.value, *y), (*y, p.value)] {
                    let other = if factor == q.value { Some(*w) } else { Some(q.value).filter(|_| factor == *w) };
                    out.extend(other.filter(|b| *b != a).map(|b| Common { factor, rest: (a.min(b), a.max(b)), terms: (k, n) }));
                }
            }
        }
        out
    }

    fn len(&self) -> usize {
        self.plain.len() + self.products.len()
    }

    fn values(&self) -> impl Iterator<Item = Value> {
        self.plain.iter().map(|p| p.value).chain(self.products.iter().flat_map(|(p, y)| [p.value, *y]))
    }

    fn product(&mut self, f: &Function, facts: &Facts, x: Value, y: Value, negated: bool) -> bool {
        let (mut p, q) = (Part::new(f, facts, x, negated), Part::new(f, facts, y, false));
        p.depth = p.depth.max(q.depth);
        p.same = p.same.max(q.same);
        self.products.push((p, y));
        p.same == Same::Own
    }

    /// Adds a term; whether it differs from lane to lane.
    fn add(&mut self, f: &Function, facts: &Facts, v: Value, negated: bool, of: Inst) -> bool {
        if let Some(i) = facts.inner(f, v, of).filter(|_| self.len() < MOST) {
            let d = &f.insts[i];
            if d.op == Opcode::Fneg {
                return self.add(f, facts, d.args[0], !negated, i);
            }
            if d.op == Opcode::Fmul {
                self.old.ops += WHOLE;
                let own = self.product(f, facts, d.args[0], d.args[1], negated);
                self.old.own += own as u32;
                return own;
            }
            if let Some(own) = self.open(f, facts, i, negated) {
                return own;
            }
        }
        let p = Part::new(f, facts, v, negated);
        self.plain.push(p);
        p.same == Same::Own
    }

    /// Takes the operands of a sum.
    fn open(&mut self, f: &Function, facts: &Facts, i: Inst, negated: bool) -> Option<bool> {
        let d = &f.insts[i];
        let own = match (d.op, &d.args[..]) {
            // Twice a value is a product.
            (Opcode::Fadd, [x, y]) if x == y => return None,
            (Opcode::Fadd, [x, y]) => self.add(f, facts, *x, negated, i) | self.add(f, facts, *y, negated, i),
            (Opcode::Fsub, [x, y]) => self.add(f, facts, *x, negated, i) | self.add(f, facts, *y, !negated, i),
            (Opcode::Fmad, [x, y, z]) => self.product(f, facts, *x, *y, negated) | self.add(f, facts, *z, negated, i),
            _ => return None,
        };
        self.old.ops += WHOLE;
        self.old.own += own as u32;
        Some(own)
    }

    /// Sums up; operations are made only where there is a builder. What other sums have as well is added first.
    fn combine(&self, shared: &Shared, mut b: Option<&mut Builder<'_>>) -> (Option<Part>, Shape) {
        let mut sums = self.plain.clone();
        join_choice(&mut sums, b.as_deref_mut());
        let mut products = self.products.clone();
        products.sort_by_key(|p| std::cmp::Reverse(p.0.key()));
        let mut shape = Shape { ops: 0, depth: 0, own: 0 };
        if !shared.is_empty() {
            join_shared(&mut sums, |p| shared.get(&(self.block, p.value, p.negated)), &mut shape, b.as_deref_mut());
        }
        loop {
            let first = earliest(&mut sums);
            let next = (0..sums.len()).min_by_key(|k| sums[*k].key());
            let new = match (first, products.last().copied(), next) {
                // The product that is there first, unless another sum is there before it.
                (Some(x), Some((p, y)), next) if next.is_none_or(|k| p.key() <= sums[k].key()) => {
                    products.pop();
                    let value = b.as_mut().map_or(x.value, |b| {
                        let (m, x) = (p.signed(b), x.signed(b));
                        b.ins(Opcode::Fmad, &[m, y, x])
                    });
                    Part::joined(value, false, &x, &p, &mut shape, WHOLE)
                }
                (Some(x), _, Some(k)) => {
                    let y = sums.remove(k);
                    added(&x, &y, &mut shape, WHOLE, b.as_deref_mut())
                }
                (None, Some((p, y)), _) => {
                    products.pop();
                    let value = b.as_mut().map_or(p.value, |b| b.ins(Opcode::Fmul, &[p.value, y]));
                    Part::joined(value, p.negated, &p, &p, &mut shape, WHOLE)
                }
                (last, ..) => {
                    shape.depth = last.map_or(0, |x| x.depth);
                    return (last, shape);
                }
            };
            sums.push(new);
        }
    }
}

/// The sum of two parts.
fn added(x: &Part, y: &Part, shape: &mut Shape, ops: u32, b: Option<&mut Builder<'_>>) -> Part {
    let value = b.map_or(x.value, |b| match (x.negated, y.negated) {
        (true, false) => b.ins(Opcode::Fsub, &[y.value, x.value]),
        (false, true) => b.ins(Opcode::Fsub, &[x.value, y.value]),
        _ => b.ins(Opcode::Fadd, &[x.value, y.value]),
    });
    Part::joined(value, x.negated && y.negated, x, y, shape, ops)
}

/// Adds what several sums have in common, those terms first that the most have: all of them do so in the same way, and do it once.
fn join_shared<'s>(
    sums: &mut Vec<Part>,
    place: impl Fn(&Part) -> Option<&'s BTreeSet<Inst>>,
    shape: &mut Shape,
    mut b: Option<&mut Builder<'_>>,
) {
    let mut common: Vec<(Part, BTreeSet<Inst>)> = sums.iter().filter_map(|p| Some((*p, place(p)?.clone()))).collect();
    sums.retain(|p| place(p).is_none());
    loop {
        let mut best = None;
        for (k, (x, at)) in common.iter().enumerate() {
            for (n, (y, with)) in common[..k].iter().enumerate() {
                let several = at.intersection(with).count();
                let ends = (x.key().max(y.key()), x.key().min(y.key()));
                let key = (std::cmp::Reverse(several), ends, x.value.min(y.value), x.value.max(y.value), n, k);
                if several > 1 && best.is_none_or(|b| key < b) {
                    best = Some(key);
                }
            }
        }
        let Some((std::cmp::Reverse(several), .., n, k)) = best else { break };
        let (y, at) = common.remove(k);
        let (x, with) = common.remove(n);
        let sum = added(&x, &y, shape, WHOLE / several.min(WHOLE as usize) as u32, b.as_deref_mut());
        common.push((sum, at.intersection(&with).copied().collect()));
    }
    sums.extend(common.into_iter().map(|c| c.0));
}

/// A constant and a choice between constants are a choice between sums, which takes no operation.
fn join_choice(sums: &mut Vec<Part>, b: Option<&mut Builder<'_>>) {
    let constant = sums.iter().position(|p| p.same == Same::Always);
    let (Some(k), Some(c)) = (constant, sums.iter().position(|p| p.choice)) else { return };
    let (x, y) = (sums[c], sums[k]);
    let value = b.map_or(x.value, |b| {
        let (x, y) = (x.signed(b), y.signed(b));
        b.ins(Opcode::Fadd, &[x, y])
    });
    sums[c] = Part { value, negated: false, choice: false, ..x };
    sums.remove(k);
}

/// Sums that another sum takes in: they are looked at there.
fn taken(f: &Function, facts: &Facts) -> SecondaryMap<Inst, bool> {
    let mut taken: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        let terms = match d.op {
            Opcode::Fadd | Opcode::Fsub => &d.args[..],
            Opcode::Fmad => &d.args[2..],
            _ => continue,
        };
        if !d.precise && is_scalar(f, i) && !(d.op == Opcode::Fadd && d.args[0] == d.args[1]) {
            terms.iter().filter_map(|v| facts.inner(f, *v, i)).for_each(|t| taken[t] = true);
        }
    }
    taken
}

/// Reorders sums.
fn sums(func: &mut Function, facts: &mut Facts, mut found: BTreeMap<Inst, Terms>) -> bool {
    // A sum of two terms has but one order, which others may take over.
    let (mut shared, none) = (shared_terms(&found), Shared::new());
    found.retain(|_, all| all.len().max(all.products.len() + 1) > 2);
    if found.is_empty() {
        return false;
    }
    rewrite_of(func, SUMS, |b, i| {
        let Some(mut all) = found.remove(&i) else { return Action::Keep };
        if all.values().any(|v| b.func.resolve(v) != v) {
            // Other terms may be there earlier than those that they replace.
            let Some(new) = Terms::of(b.func, facts, i) else { return Action::Keep };
            all = new;
        }
        let (mut new, mut with) = (all.combine(&none, None).1, &none);
        let common = |p: &&Part| shared.contains_key(&(all.block, p.value, p.negated));
        if !shared.is_empty() && all.plain.iter().filter(common).nth(1).is_some() {
            let together = all.combine(&shared, None).1;
            if together.ops < new.ops && together.better_than(new) {
                (new, with) = (together, &shared);
            }
        }
        if !new.better_than(all.old) {
            return Action::Keep;
        }
        let Some(sum) = all.combine(with, Some(b)).0 else { return Action::Keep };
        let done = sum.signed(b);
        facts.depth[done] = sum.depth;
        for negated in [false, true] {
            if let Some(places) = b.func.result(i).and_then(|r| shared.remove(&(all.block, r, negated))) {
                shared.insert((all.block, done, negated), places);
            }
        }
        Action::Replace(done)
    })
}

/// The terms that several sums of a block have.
fn shared_terms(sums: &BTreeMap<Inst, Terms>) -> Shared {
    let mut all = Shared::new();
    // One addend alone has nothing to be added to before the products.
    for (i, terms) in sums.iter().filter(|(_, t)| t.plain.len() > 1) {
        for p in &terms.plain {
            let places = all.entry((terms.block, p.value, p.negated)).or_default();
            if places.len() < MOST_PLACES {
                places.insert(*i);
            }
        }
    }
    all.retain(|_, places| places.len() > 1);
    // One term alone is added to each of them.
    if all.len() < 2 { Shared::new() } else { all }
}

/// Operations that give the same in every order.
const COMMUTE: &[Opcode] = {
    use Opcode::*;
    &[Iand, Ior, Ixor, Iadd, Umin, Umax, Smin, Smax, Fmin, Fmax]
};

fn commutes(d: &InstData) -> bool {
    COMMUTE.contains(&d.op) && !d.precise
}

/// Reorders sums, bounds and masks of one operation, where they end earlier for it.
fn chains(func: &mut Function, facts: &mut Facts) -> bool {
    let link = |f: &Function, facts: &Facts, v: Value, of: Inst| {
        facts.inner(f, v, of).filter(|i| f.insts[*i].op == f.insts[of].op && commutes(&f.insts[*i]))
    };
    let mut taken: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for (_, i) in func.ordered().filter(|(_, i)| commutes(&func.insts[*i])) {
        func.insts[i].args.iter().filter_map(|v| link(func, facts, *v, i)).for_each(|t| taken[t] = true);
    }
    rewrite_of(func, COMMUTE, |b, i| {
        let Some(r) = b.func.result(i).filter(|r| !taken[i] && b.func.ty(*r).lanes == 1) else { return Action::Keep };
        if !commutes(&b.func.insts[i]) || facts.block[i].is_none() {
            return Action::Keep;
        }
        let (mut parts, mut open) = (Vec::new(), vec![i]);
        while let Some(i) = open.pop() {
            for v in &b.func.insts[i].args {
                match link(b.func, facts, *v, i).filter(|_| parts.len() + open.len() < MOST) {
                    Some(t) => open.push(t),
                    None => parts.push((facts.depth[*v], *v)),
                }
            }
        }
        // The two that are there first, again and again.
        let pair = |parts: &mut Vec<(u32, Value)>| {
            parts.sort_by_key(|p| std::cmp::Reverse(*p));
            parts.pop().zip(parts.pop())
        };
        let mut depths = parts.clone();
        while depths.len() > 1
            && let Some((_, y)) = pair(&mut depths)
        {
            depths.push((y.0 + 1, y.1));
        }
        if depths.first().is_none_or(|(depth, _)| *depth >= facts.depth[r]) {
            return Action::Keep;
        }
        let op = b.func.insts[i].op;
        while parts.len() > 1
            && let Some((x, y)) = pair(&mut parts)
        {
            let v = b.ins(op, &[x.1, y.1]);
            parts.push((y.0 + 1, v));
        }
        let [(depth, done)] = parts[..] else { return Action::Keep };
        facts.depth[done] = depth;
        Action::Replace(done)
    })
}
