//! Choices by where a value stands among constants: `x > 3 ? a : x > 2 ? b : x > 1 ? c : d`. Who keeps a bound keeps all behind it, so one
//! in the middle tells which of the others decide: the chain becomes a tree of as many operations, which ends earlier.

use crate::legal::order::Facts;
use retroshade_ir::passes::rewrite::{Action, rewrite_of, splat_bits, splat_float};
use retroshade_ir::{Builder, FloatCC, Function, Imm, IntCC, Opcode, Value};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Bounds that a ladder has at least, and those that are looked at together.
const LEAST: usize = 3;
const MOST: usize = 16;

/// Runs over a function.
pub fn run(func: &mut Function) -> bool {
    let selects = || func.ordered().filter(|(_, i)| func.insts[*i].op == Opcode::Select).filter_map(|(_, i)| func.result(i));
    if selects().count() < LEAST {
        return false;
    }
    let uses = func.use_counts();
    let next = |f: &Function, s: &Rung| Rung::of(f, s.rest).filter(|n| uses[s.rest] == 1 && s.bound.implies(&n.bound));
    let ladder = |f: &Function, v: Value| {
        let mut all = vec![Rung::of(f, v)?];
        while all.len() < MOST
            && let Some(n) = next(f, &all[all.len() - 1])
        {
            all.push(n);
        }
        (all.len() >= LEAST).then_some(all)
    };
    if !selects().any(|v| ladder(func, v).is_some()) {
        return false;
    }
    let inner: BTreeSet<Value> = selects().filter_map(|v| next(func, &Rung::of(func, v)?).map(|n| n.value)).collect();
    let facts = Facts::new(func);
    rewrite_of(func, &[Opcode::Select], |b, i| {
        let Some(r) = b.func.result(i).filter(|r| !inner.contains(r)) else { return Action::Keep };
        let Some(all) = ladder(b.func, r) else { return Action::Keep };
        let plan = Plan::new(&all, &facts);
        if plan.depth(0, all.len()) >= facts.depth[r] {
            return Action::Keep;
        }
        Action::Replace(plan.build(b, &all, 0, all.len()))
    })
}

/// A comparison of a value with a constant.
#[derive(Clone, Copy, Debug)]
struct Bound {
    value: Value,
    kind: Kind,
    /// Whether the value is above it, and whether it may not be equal.
    above: bool,
    strict: bool,
    at: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
}

impl Bound {
    fn of(f: &Function, condition: Value) -> Option<Bound> {
        let d = f.def_inst(condition).map(|i| &f.insts[i])?;
        let (kind, above, strict) = match (d.op, &d.imm) {
            (Opcode::Fcmp, Imm::FloatCC(FloatCC::Ogt)) => (Kind::Float, true, true),
            (Opcode::Fcmp, Imm::FloatCC(FloatCC::Oge)) => (Kind::Float, true, false),
            (Opcode::Fcmp, Imm::FloatCC(FloatCC::Olt)) => (Kind::Float, false, true),
            (Opcode::Fcmp, Imm::FloatCC(FloatCC::Ole)) => (Kind::Float, false, false),
            (Opcode::Icmp, Imm::IntCC(IntCC::Sgt)) => (Kind::Signed, true, true),
            (Opcode::Icmp, Imm::IntCC(IntCC::Sge)) => (Kind::Signed, true, false),
            (Opcode::Icmp, Imm::IntCC(IntCC::Slt)) => (Kind::Signed, false, true),
            (Opcode::Icmp, Imm::IntCC(IntCC::Sle)) => (Kind::Signed, false, false),
            (Opcode::Icmp, Imm::IntCC(IntCC::Ugt)) => (Kind::Unsigned, true, true),
            (Opcode::Icmp, Imm::IntCC(IntCC::Uge)) => (Kind::Unsigned, true, false),
            (Opcode::Icmp, Imm::IntCC(IntCC::Ult)) => (Kind::Unsigned, false, true),
            (Opcode::Icmp, Imm::IntCC(IntCC::Ule)) => (Kind::Unsigned, false, false),
            _ => return None,
        };
        let number = |v: Value| match kind {
            Kind::Float => splat_float(f, v).map(f64::from).filter(|k| !k.is_nan()),
            Kind::Signed => splat_bits(f, v).map(|k| f64::from(k as i32)),
            Kind::Unsigned => splat_bits(f, v).map(f64::from),
        };
        let [x, y] = d.args[..] else { return None };
        match (number(x), number(y)) {
            (None, Some(at)) => Some(Bound { value: f.resolve(x), kind, above, strict, at }),
            (Some(at), None) => Some(Bound { value: f.resolve(y), kind, above: !above, strict, at }),
            _ => None,
        }
    }

    /// Whether what keeps this bound keeps the other.
    fn implies(&self, other: &Bound) -> bool {
        let closer = if self.above { self.at.partial_cmp(&other.at) } else { other.at.partial_cmp(&self.at) };
        let tighter = closer == Some(Ordering::Greater) || closer == Some(Ordering::Equal) && self.strict >= other.strict;
        (self.value, self.kind, self.above) == (other.value, other.kind, other.above) && tighter
    }
}

/// A choice by a bound.
struct Rung {
    value: Value,
    condition: Value,
    bound: Bound,
    taken: Value,
    rest: Value,
}

impl Rung {
    fn of(f: &Function, v: Value) -> Option<Rung> {
        let value = f.resolve(v);
        let d = f.def_if(value, Opcode::Select)?;
        Some(Rung { value, condition: d.args[0], bound: Bound::of(f, d.args[0])?, taken: f.resolve(d.args[1]), rest: f.resolve(d.args[2]) })
    }
}

/// The bound that decides first in each stretch of a ladder, and where it ends: by its first value and its last.
struct Plan(Vec<Vec<(u32, usize)>>);

impl Plan {
    fn new(all: &[Rung], facts: &Facts) -> Plan {
        let n = all.len();
        let leaf = |k: usize| facts.depth[all.get(k).map_or(all[n - 1].rest, |r| r.taken)];
        let mut plan = Plan(vec![vec![(0, 0); n + 1]; n + 1]);
        for first in (0..=n).rev() {
            plan.0[first][first] = (leaf(first), first);
            for last in first + 1..=n {
                let ends = |m: usize| facts.depth[all[m].condition].max(plan.depth(first, m)).max(plan.depth(m + 1, last)) + 1;
                let best = (first..last).map(|m| (ends(m), m.abs_diff((first + last) / 2), m)).min();
                plan.0[first][last] = best.map_or((0, first), |(depth, _, m)| (depth, m));
            }
        }
        plan
    }

    fn depth(&self, first: usize, last: usize) -> u32 {
        self.0[first][last].0
    }

    fn build(&self, b: &mut Builder<'_>, all: &[Rung], first: usize, last: usize) -> Value {
        if first == last {
            return all.get(first).map_or(all[all.len() - 1].rest, |r| r.taken);
        }
        let m = self.0[first][last].1;
        let (kept, not) = (self.build(b, all, first, m), self.build(b, all, m + 1, last));
        b.select(all[m].condition, kept, not)
    }
}
