//! Dot products of scaled vectors: (a s)·b is (a·b) s. Where every reader of the scaled vector is such a product, the scaling of each
//! lane goes away, and normalising waits for nobody: lengths and products are computed side by side.

use crate::select::{Lane, root};
use cranelift_entity::SecondaryMap;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::types::F32;
use retroshade_ir::{Builder, Function, Imm, Inst, InstData, Opcode, Value};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// Rounds: a product has two vectors.
const ROUNDS: usize = 3;

/// Runs over a function.
pub fn run(func: &mut Function) -> bool {
    let mut any = false;
    for _ in 0..ROUNDS {
        func.resolve_aliases();
        let found = candidates(func);
        if found.is_empty() {
            break;
        }
        any |= rewrite(func, |b, i| match found.get(&i) {
            Some(c) => Action::Replace(c.build(b)),
            None => Action::Keep,
        });
    }
    any
}

/// A sum of products, from a dot product or a chain of multiply-adds.
struct Sum {
    dot: bool,
    products: Vec<(Lane, Lane)>,
    /// The instructions that read the factors.
    readers: Vec<Inst>,
}

/// A sum whose products all have a factor that is scaled by the same value.
struct Scaled {
    dot: bool,
    /// The factors without the scale.
    products: Vec<(Lane, Lane)>,
    by: Value,
}

impl Scaled {
    fn build(&self, b: &mut Builder<'_>) -> Value {
        // A lane may have been found behind a change of its type.
        let mut lane = |(v, l): Lane| {
            let v = if b.func.ty(v).lanes > 1 { b.extract(v, l) } else { v };
            if b.func.ty(v) == F32 { v } else { b.typed(Opcode::Bitcast, F32, &[v], Imm::None) }
        };
        let products: Vec<(Value, Value)> = self.products.iter().map(|(x, y)| (lane(*x), lane(*y))).collect();
        let sum = if self.dot {
            let (x, y): (Vec<Value>, Vec<Value>) = products.into_iter().unzip();
            let (x, y) = (b.build(&x), b.build(&y));
            b.ins(Opcode::Dot, &[x, y])
        } else {
            let mut all = products.into_iter();
            let Some((x, y)) = all.next() else { return self.by };
            let first = b.ins(Opcode::Fmul, &[x, y]);
            all.fold(first, |sum, (x, y)| b.ins(Opcode::Fmad, &[x, y, sum]))
        };
        b.ins(Opcode::Fmul, &[sum, self.by])
    }
}

/// Who reads each value.
type Readers = SecondaryMap<Value, SmallVec<[Inst; 2]>>;

/// Who reads a lane, through everything that only renames lanes.
fn readers(f: &Function) -> Readers {
    use Opcode::*;
    let mut out = Readers::new();
    out.resize(f.values.len());
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        if matches!(d.op, Build | Splat | Extract | Insert | Shuffle) {
            continue;
        }
        for v in d.args.iter().chain(d.targets.iter().flat_map(|t| &t.args)) {
            if f.ty(*v).lanes == 1 {
                out[root(f, *v, 0).0].push(i);
                continue;
            }
            let mut lanes: SmallVec<[Value; 4]> = (0..f.ty(*v).lanes).map(|l| root(f, *v, l).0).collect();
            lanes.sort_unstable();
            lanes.dedup();
            lanes.into_iter().for_each(|v| out[v].push(i));
        }
    }
    out
}

fn sum(f: &Function, i: Inst, read: &Readers) -> Option<Sum> {
    let d = &f.insts[i];
    if d.precise {
        return None;
    }
    if d.op == Opcode::Dot {
        let lanes = 0..f.ty(d.args[0]).lanes;
        let products = lanes.map(|l| (root(f, d.args[0], l), root(f, d.args[1], l))).collect();
        return Some(Sum { dot: true, products, readers: vec![i] });
    }
    let (mut at, mut products, mut readers) = (i, Vec::new(), Vec::new());
    loop {
        let d = &f.insts[at];
        if d.precise || !matches!(d.op, Opcode::Fmad | Opcode::Fmul) || f.ty(d.args[0]) != F32 {
            return None;
        }
        products.push((root(f, d.args[0], 0), root(f, d.args[1], 0)));
        readers.push(at);
        if d.op == Opcode::Fmul {
            products.reverse();
            return (products.len() > 1).then_some(Sum { dot: false, products, readers });
        }
        let rest = f.resolve(d.args[2]);
        if read[rest].len() != 1 {
            return None;
        }
        at = f.def_inst(rest)?;
    }
}

/// The sums that lose their scale: all readers of a scaled lane are among them, and not more than there are lanes.
fn candidates(f: &Function) -> BTreeMap<Inst, Scaled> {
    let product = |(v, _): Lane| f.def_if(v, Opcode::Fmul).filter(|m| !m.precise && f.ty(v) == F32);
    // Each product needs a factor that is one itself: before all readers are found, which takes much longer.
    let is_scaled =
        |d: &InstData| matches!(d.op, Opcode::Dot | Opcode::Fmad) && d.args[..2].iter().any(|v| product(root(f, *v, 0)).is_some());
    if !f.ordered().any(|(_, i)| is_scaled(&f.insts[i])) {
        return BTreeMap::new();
    }
    let read = readers(f);
    // By scale and scaled lanes: the sums.
    let mut groups: BTreeMap<(Value, Vec<Value>), Vec<(Inst, Sum)>> = BTreeMap::new();
    // Sums within a longer one are not looked at by themselves.
    let inner = |i: Inst| {
        let only = f.result(i).map(|r| &read[r]).filter(|r| r.len() == 1).map(|r| &f.insts[r[0]]);
        only.is_some_and(|d| d.op == Opcode::Fmad && !d.precise && f.def_inst(f.resolve(d.args[2])) == Some(i))
    };
    for (_, i) in f.ordered() {
        if !matches!(f.insts[i].op, Opcode::Dot | Opcode::Fmad) || inner(i) {
            continue;
        }
        let Some(s) = sum(f, i, &read) else { continue };
        let Some(first) = s.products.first() else { continue };
        let scales: BTreeSet<Value> =
            [first.0, first.1].into_iter().filter_map(product).flat_map(|m| [f.resolve(m.args[0]), f.resolve(m.args[1])]).collect();
        for by in scales {
            let scaled = |v: Lane| product(v).is_some_and(|m| m.args.iter().any(|a| f.resolve(*a) == by));
            let lanes: Vec<Value> = s.products.iter().filter_map(|(x, y)| [*x, *y].into_iter().find(|v| scaled(*v)).map(|v| v.0)).collect();
            let one_each = s.products.iter().all(|(x, y)| x != y && !(scaled(*x) && scaled(*y)));
            let mut key = lanes.clone();
            key.sort_unstable();
            key.dedup();
            if lanes.len() == s.products.len() && key.len() == lanes.len() && one_each {
                let copy = Sum { dot: s.dot, products: s.products.clone(), readers: s.readers.clone() };
                groups.entry((by, key)).or_default().push((i, copy));
            }
        }
    }
    let mut out: BTreeMap<Inst, Scaled> = BTreeMap::new();
    // Values that an accepted group reads or makes stay as they are for this round.
    let mut busy: BTreeSet<Inst> = BTreeSet::new();
    for ((by, lanes), sums) in groups {
        let own: BTreeSet<Inst> = sums.iter().flat_map(|s| &s.1.readers).copied().collect();
        let all = lanes.iter().all(|v| read[*v].iter().all(|i| own.contains(i)));
        if !all || sums.len() > lanes.len() || own.iter().any(|i| busy.contains(i)) {
            continue;
        }
        busy.extend(&own);
        for (i, s) in sums {
            let strip = |v: Lane| {
                let m = product(v).filter(|_| lanes.contains(&v.0))?;
                let [x, y] = [f.resolve(m.args[0]), f.resolve(m.args[1])];
                Some(root(f, if y == by { x } else { y }, 0))
            };
            let products = s.products.iter().map(|(x, y)| (strip(*x).unwrap_or(*x), strip(*y).unwrap_or(*y))).collect();
            out.insert(i, Scaled { dot: s.dot, products, by });
        }
    }
    out
}
