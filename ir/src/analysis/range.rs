//! Ranges of integers: from constants, declared bounds, masks, comparisons that guard a block, and loop bounds.
//!
//! A range is an interval of the value read as a signed 32-bit number, over all lanes. The analysis climbs from "nothing"
//! with widening where a loop closes, then descends twice to regain what the loop's own test promises.

use super::cfg::{Cfg, Edge};
use super::domtree::DomTree;
use crate::entities::{Block, Inst, Value};
use crate::function::{Function, ValueDef};
use crate::inst::{Imm, IntCC, MemRef};
use crate::module::Module;
use crate::opcode::Opcode;
use crate::types::Scalar;
use cranelift_entity::SecondaryMap;

/// An interval, both ends included, of signed 32-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Smallest value.
    pub lo: i64,
    /// Largest value.
    pub hi: i64,
}

impl Default for Range {
    /// Nothing is known.
    fn default() -> Range {
        Range::FULL
    }
}

impl Range {
    /// Every 32-bit number.
    pub const FULL: Range = Range { lo: i32::MIN as i64, hi: i32::MAX as i64 };
    /// One number.
    pub const fn one(x: i64) -> Range {
        Range { lo: x, hi: x }
    }
    /// The interval, or everything if it does not fit 32 bits.
    pub fn new(lo: i64, hi: i64) -> Range {
        if lo < Range::FULL.lo || hi > Range::FULL.hi || lo > hi { Range::FULL } else { Range { lo, hi } }
    }
    /// The smallest interval with both.
    pub fn union(self, o: Range) -> Range {
        Range { lo: self.lo.min(o.lo), hi: self.hi.max(o.hi) }
    }
    fn intersect(self, o: Range) -> Range {
        let r = Range { lo: self.lo.max(o.lo), hi: self.hi.min(o.hi) };
        if r.lo > r.hi { self } else { r }
    }
    /// Whether no value is negative.
    pub const fn is_non_negative(self) -> bool {
        self.lo >= 0
    }
    /// Whether every value's magnitude is at most `limit`.
    pub const fn within(self, limit: i64) -> bool {
        self.lo >= -limit && self.hi <= limit
    }
}

/// Ranges of a function's integer values.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    ranges: SecondaryMap<Value, Option<Range>>,
    /// What the branch into a block promises, for blocks with one predecessor.
    promises: SecondaryMap<Block, Vec<(Value, IntCC, Value)>>,
    up: SecondaryMap<Block, Option<Block>>,
    /// What is known from elsewhere.
    known: Known,
}

/// Ranges that the function alone does not show: of its parameters, of what its callees return, and of what is not defined.
pub type Known = SecondaryMap<Value, Option<Range>>;

/// How a loop's values climb.
#[derive(Clone, Copy)]
struct Widen<'a> {
    /// Whether they leap rather than step.
    now: bool,
    /// Whether they leap to the end.
    fully: bool,
    /// Where leaps stop before.
    steps: &'a [i64],
}

/// Rounds of climbing, and the round from which leaps go to the end.
const ROUNDS: usize = 18;
const FULLY: usize = 9;

/// Numbers that comparisons name, and their neighbours: a loop's own test stops its counter there, before it would wrap.
fn thresholds(module: &Module, func: &Function) -> Vec<i64> {
    let mut out = Vec::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        if d.op != Opcode::Icmp {
            continue;
        }
        for a in &d.args {
            let Some(d) = func.def_inst(func.resolve(*a)).map(|i| &func.insts[i]) else { continue };
            let bounds = match (&d.op, &d.imm) {
                (Opcode::Const, Imm::Const(bits)) => Some((i64::from(bits[0] as i32), i64::from(bits[0] as i32))),
                (Opcode::Input, Imm::Mem { var: MemRef::Input(n), .. }) => module.inputs.get(*n).and_then(|io| io.range),
                (Opcode::Uniform, Imm::Mem { var: MemRef::Uniform(n), .. }) => module.uniforms.get(*n).and_then(|u| u.range),
                _ => None,
            };
            if let Some((lo, hi)) = bounds {
                out.extend([lo - 1, lo, lo + 1, hi - 1, hi, hi + 1]);
            }
        }
    }
    out.sort();
    out.dedup();
    out
}

/// Conditions that branches hand on, which are followed from one edge.
const WAYS: usize = 4;
/// How far up the dominator tree guards are looked for.
const GUARDS: usize = 24;

impl Ranges {
    /// Analyses a function.
    pub fn new(module: &Module, func: &Function) -> Ranges {
        Ranges::knowing(module, func, Known::new())
    }

    /// Analyses a function whose parameters and calls give what is known of them.
    pub fn knowing(module: &Module, func: &Function, known: Known) -> Ranges {
        let cfg = Cfg::new(func);
        let dom = DomTree::new(func, &cfg);
        let mut me = Ranges { known, ..Ranges::default() };
        for b in cfg.rpo() {
            me.up[*b] = dom.idom(*b);
            if let Some(e) = cfg.single_pred(*b) {
                me.promises[*b] = promise(func, &cfg, e);
            }
        }
        let mut changes: SecondaryMap<Value, u8> = SecondaryMap::new();
        let steps = thresholds(module, func);
        for round in 0..ROUNDS {
            let mut changed = false;
            for b in cfg.rpo() {
                changed |= me.params(func, &cfg, *b, Some(&mut changes), Widen { now: round >= 3, fully: round >= FULLY, steps: &steps });
                for i in &func.blocks[*b].insts {
                    for r in &func.insts[*i].results {
                        let new = me.transfer(module, func, *b, *i, *r);
                        if me.ranges[*r] != new {
                            me.ranges[*r] = new;
                            changed = true;
                        }
                    }
                }
            }
            if !changed {
                break;
            }
            if round == ROUNDS - 1 {
                // No fixpoint within the limit: promise nothing that depends on a parameter.
                for b in cfg.rpo() {
                    for p in &func.blocks[*b].params {
                        me.ranges[*p] = Some(Range::FULL);
                    }
                }
                for b in cfg.rpo() {
                    for i in &func.blocks[*b].insts {
                        for r in &func.insts[*i].results {
                            me.ranges[*r] = me.transfer(module, func, *b, *i, *r);
                        }
                    }
                }
                return me;
            }
        }
        // Descending: every step from a sound state stays sound.
        for _ in 0..2 {
            for b in cfg.rpo() {
                me.params(func, &cfg, *b, None, Widen { now: false, fully: false, steps: &[] });
                for i in &func.blocks[*b].insts {
                    for r in &func.insts[*i].results {
                        me.ranges[*r] = me.transfer(module, func, *b, *i, *r);
                    }
                }
            }
        }
        me
    }

    /// Joins the arguments of a block's parameters; with `climb`, only upwards and widened after some changes.
    fn params(&mut self, func: &Function, cfg: &Cfg, b: Block, mut climb: Option<&mut SecondaryMap<Value, u8>>, widen: Widen<'_>) -> bool {
        let mut changed = false;
        for (n, p) in func.blocks[b].params.iter().enumerate() {
            if func.ty(*p).is_float() {
                continue;
            }
            let mut joined: Option<Range> = if cfg.preds(b).is_empty() { Some(self.known[*p].unwrap_or(initial(func, *p))) } else { None };
            for e in cfg.preds(b) {
                let Some(arg) = func.successors(e.from)[e.target as usize].args.get(n) else { continue };
                let mut r = self.at(func.resolve(*arg), e.from);
                if let (Some(range), true) = (r, func.successors(e.from).len() > 1) {
                    r = Some(self.refine(func.resolve(*arg), range, &promise(func, cfg, *e), e.from));
                }
                joined = match (joined, r) {
                    (Some(a), Some(b)) => Some(a.union(b)),
                    (a, b) => a.or(b),
                };
            }
            let old = self.ranges[*p];
            let mut new = joined;
            if let Some(changes) = climb.as_deref_mut() {
                if let (Some(o), Some(mut n)) = (old, new) {
                    n = n.union(o);
                    if n != o && (widen.now || changes[*p] >= 3) {
                        let all = initial(func, *p);
                        // To the next number that something is compared with, in the end to the last of all.
                        if n.lo < o.lo {
                            let next = widen.steps.iter().rev().copied().find(|s| *s <= n.lo && !widen.fully);
                            n.lo = next.unwrap_or(all.lo).max(all.lo);
                        }
                        if n.hi > o.hi {
                            let next = widen.steps.iter().copied().find(|s| *s >= n.hi && !widen.fully);
                            n.hi = next.unwrap_or(all.hi).min(all.hi);
                        }
                    }
                    new = Some(n);
                }
                if new != old {
                    changes[*p] = changes[*p].saturating_add(1);
                }
            }
            if new != old {
                self.ranges[*p] = new;
                changed = true;
            }
        }
        changed
    }

    /// A value's range wherever it is defined; everything for floats.
    pub fn range(&self, v: Value) -> Range {
        self.ranges[v].unwrap_or(Range::FULL)
    }
    /// A value's range in a block, with what the branches on the way there promise.
    pub fn range_at(&self, v: Value, block: Block) -> Range {
        self.at(v, block).unwrap_or(Range::FULL)
    }

    fn at(&self, v: Value, block: Block) -> Option<Range> {
        let mut r = self.ranges[v]?;
        let mut b = Some(block);
        for _ in 0..GUARDS {
            let Some(here) = b else { break };
            if !self.promises[here].is_empty() {
                r = self.refine(v, r, &self.promises[here], here);
            }
            b = self.up[here];
        }
        Some(r)
    }

    fn refine(&self, v: Value, mut r: Range, promises: &[(Value, IntCC, Value)], _at: Block) -> Range {
        for (a, cc, b) in promises {
            let (cc, other) = if *a == v {
                (*cc, *b)
            } else if *b == v {
                (cc.swapped(), *a)
            } else {
                continue;
            };
            let Some(o) = self.ranges[other] else { continue };
            let both_non_negative = r.is_non_negative() && o.is_non_negative();
            let bound = match cc {
                IntCC::Eq => o,
                IntCC::Slt => Range { lo: Range::FULL.lo, hi: o.hi - 1 },
                IntCC::Sle => Range { lo: Range::FULL.lo, hi: o.hi },
                IntCC::Sgt => Range { lo: o.lo + 1, hi: Range::FULL.hi },
                IntCC::Sge => Range { lo: o.lo, hi: Range::FULL.hi },
                IntCC::Ult if o.is_non_negative() => Range { lo: 0, hi: o.hi - 1 },
                IntCC::Ule if o.is_non_negative() => Range { lo: 0, hi: o.hi },
                IntCC::Ugt if both_non_negative => Range { lo: o.lo + 1, hi: Range::FULL.hi },
                IntCC::Uge if both_non_negative => Range { lo: o.lo, hi: Range::FULL.hi },
                IntCC::Ne if o.lo == o.hi && r.lo == o.lo => Range { lo: r.lo + 1, hi: r.hi },
                IntCC::Ne if o.lo == o.hi && r.hi == o.hi => Range { lo: r.lo, hi: r.hi - 1 },
                _ => continue,
            };
            r = r.intersect(bound);
        }
        r
    }

    /// `None` while an operand is still unknown (not reached yet).
    fn transfer(&self, module: &Module, func: &Function, block: Block, i: Inst, result: Value) -> Option<Range> {
        use Opcode::*;
        let d = &func.insts[i];
        let ty = func.ty(result);
        if ty.is_float() {
            return Some(Range::FULL);
        }
        let all = if ty.scalar == Scalar::I1 { Range { lo: 0, hi: 1 } } else { Range::FULL };
        let arg = |n: usize| d.args.get(n).and_then(|v| self.at(func.resolve(*v), block));
        let fold = |r: Range| Some(if r == Range::FULL { all } else { r });
        match d.op {
            Const => {
                let Imm::Const(bits) = &d.imm else { return Some(all) };
                let lanes = bits[..ty.lanes as usize].iter().map(|b| i64::from(*b as i32));
                fold(Range { lo: lanes.clone().min().unwrap_or(0), hi: lanes.max().unwrap_or(0) })
            }
            Input | Uniform => {
                let Imm::Mem { var, .. } = &d.imm else { return Some(all) };
                let declared = match var {
                    MemRef::Input(n) => module.inputs.get(*n).and_then(|io| io.range),
                    MemRef::Uniform(n) => module.uniforms.get(*n).and_then(|u| u.range),
                    _ => None,
                };
                Some(declared.map_or(all, |(lo, hi)| Range::new(lo, hi).intersect(all)))
            }
            _ if ty.scalar == Scalar::I1 => Some(all),
            Call | Undef => Some(self.known[result].unwrap_or(all)),
            Splat | Extract => fold(arg(0)?),
            Build | Insert => {
                let mut r = arg(0)?;
                for n in 1..d.args.len() {
                    r = r.union(arg(n)?);
                }
                Some(r)
            }
            Shuffle => Some(arg(0)?.union(arg(1)?)),
            Select => Some(arg(1)?.union(arg(2)?)),
            Bitcount => Some(Range { lo: 0, hi: 32 }),
            FindLsb | FindUmsb | FindSmsb => Some(Range { lo: -1, hi: 31 }),
            StorageLen => Some(Range { lo: 0, hi: 1 << 30 }),
            Ineg | Iabs => {
                let a = arg(0)?;
                if a.lo == Range::FULL.lo {
                    return Some(all);
                }
                Some(match d.op {
                    Ineg => Range { lo: -a.hi, hi: -a.lo },
                    _ if a.lo >= 0 => a,
                    _ => Range { lo: if a.hi < 0 { -a.hi } else { 0 }, hi: a.hi.max(-a.lo) },
                })
            }
            Inot => {
                let a = arg(0)?;
                Some(Range { lo: !a.hi, hi: !a.lo })
            }
            Iadd | Isub | Imul | Iand | Ior | Ixor | Ishl | Ushr | Sshr | Smin | Smax | Umin | Umax | Udiv | Sdiv | Urem | Srem => {
                Some(binary(d.op, arg(0)?, arg(1)?))
            }
            Ubfe => {
                let n = arg(2)?;
                Some(if n.lo >= 0 && n.hi < 32 { Range { lo: 0, hi: (1 << n.hi) - 1 } } else { all })
            }
            Sbfe => {
                let n = arg(2)?;
                Some(if n.lo >= 1 && n.hi < 32 { Range { lo: -(1 << (n.hi - 1)), hi: (1 << (n.hi - 1)) - 1 } } else { all })
            }
            // Truncated toward zero; NaN becomes 0.
            F2s | F2u => {
                let (lo, hi) = float_bounds(module, func, d.args[0], FLOAT_DEPTH);
                let int = |x: f64| x.trunc().clamp(Range::FULL.lo as f64, Range::FULL.hi as f64) as i64;
                if d.op == F2u && hi > Range::FULL.hi as f64 {
                    return Some(all);
                }
                let r = Range { lo: int(lo), hi: int(hi) }.union(Range::one(0));
                Some(if d.op == F2u { Range { lo: 0, hi: r.hi } } else { r })
            }
            _ => Some(all),
        }
    }
}

/// How far float bounds are looked for.
const FLOAT_DEPTH: u32 = 8;

/// Bounds of a float value, NaN aside, over all lanes: from constants, clamps, and conversions of bounded integers.
pub fn float_bounds(module: &Module, func: &Function, v: Value, depth: u32) -> (f64, f64) {
    use Opcode::*;
    let v = func.resolve(v);
    let none = (f64::NEG_INFINITY, f64::INFINITY);
    let Some(d) = func.def_inst(v).map(|i| &func.insts[i]).filter(|_| depth > 0) else { return none };
    let ty = func.ty(v);
    let arg = |n: usize| float_bounds(module, func, d.args[n], depth - 1);
    let union = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
    match (d.op, &d.imm) {
        (Const, Imm::Const(bits)) if ty.scalar == Scalar::F32 => bits[..ty.lanes as usize]
            .iter()
            .map(|b| f64::from(f32::from_bits(*b)))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |r, x| if x.is_nan() { none } else { union(r, (x, x)) }),
        (Fmin, _) => {
            let (a, b) = (arg(0), arg(1));
            (a.0.min(b.0), a.1.min(b.1))
        }
        (Fmax, _) => {
            let (a, b) = (arg(0), arg(1));
            (a.0.max(b.0), a.1.max(b.1))
        }
        (Fsaturate, _) => (0.0, 1.0),
        (Ffract, _) => (0.0, 1.0),
        (Ffloor, _) => {
            let a = arg(0);
            (a.0.floor(), a.1)
        }
        (Fneg, _) => {
            let a = arg(0);
            (-a.1, -a.0)
        }
        (Fabs, _) => {
            let a = arg(0);
            (0.0, a.1.max(-a.0))
        }
        // A product or sum may be rounded past the exact bound: leave room for that.
        (Fmul | Fadd, _) => {
            let (a, b) = (arg(0), arg(1));
            let (lo, hi) = if d.op == Fadd {
                (a.0 + b.0, a.1 + b.1)
            } else {
                let p = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
                (p.iter().copied().fold(f64::INFINITY, f64::min), p.iter().copied().fold(f64::NEG_INFINITY, f64::max))
            };
            if lo.is_finite() && hi.is_finite() {
                let room = |x: f64| if x == 0.0 { 0.0 } else { x.abs() / 512.0 };
                (lo - room(lo), hi + room(hi))
            } else {
                none
            }
        }
        (S2f | U2f, _) => {
            let source = func.resolve(d.args[0]);
            let Some(load) = func.def_inst(source).map(|i| &func.insts[i]) else { return none };
            let declared = match (&load.op, &load.imm) {
                (Input, Imm::Mem { var: MemRef::Input(n), .. }) => module.inputs.get(*n).and_then(|io| io.range),
                (Uniform, Imm::Mem { var: MemRef::Uniform(n), .. }) => module.uniforms.get(*n).and_then(|u| u.range),
                _ => None,
            };
            declared.filter(|(lo, _)| *lo >= 0 || d.op == S2f).map_or(none, |(lo, hi)| (lo as f64, hi as f64))
        }
        (Splat | Extract, _) => arg(0),
        (Build, _) => (1..d.args.len()).fold(arg(0), |r, n| union(r, arg(n))),
        (Shuffle, _) => union(arg(0), arg(1)),
        _ => none,
    }
}

fn initial(func: &Function, v: Value) -> Range {
    if func.ty(v).scalar == Scalar::I1 { Range { lo: 0, hi: 1 } } else { Range::FULL }
}

/// Whether the machines shift by all of these as they are.
fn is_count(b: Range) -> bool {
    b.lo >= 0 && b.hi < 32
}

fn binary(op: Opcode, a: Range, b: Range) -> Range {
    use Opcode::*;
    let products = |f: &dyn Fn(i64, i64) -> i64| {
        let all = [f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)];
        let (mut lo, mut hi) = (all[0], all[0]);
        for x in all {
            lo = lo.min(x);
            hi = hi.max(x);
        }
        Range::new(lo, hi)
    };
    let non_negative = a.is_non_negative() && b.is_non_negative();
    match op {
        Iadd => Range::new(a.lo + b.lo, a.hi + b.hi),
        Isub => Range::new(a.lo - b.hi, a.hi - b.lo),
        Imul => products(&|x, y| x * y),
        Iand if non_negative => Range { lo: 0, hi: a.hi.min(b.hi) },
        Iand if a.is_non_negative() => Range { lo: 0, hi: a.hi },
        Iand if b.is_non_negative() => Range { lo: 0, hi: b.hi },
        Ior | Ixor if non_negative => {
            Range { lo: if op == Ior { a.lo.max(b.lo) } else { 0 }, hi: ((a.hi.max(b.hi) as u64 + 1).next_power_of_two() - 1) as i64 }
        }
        // What has few bits beside its sign has as few afterwards.
        Iand | Ior | Ixor => {
            let size = [-a.lo, a.hi + 1, -b.lo, b.hi + 1].into_iter().max().unwrap_or(0).max(1) as u64;
            let size = size.next_power_of_two() as i64;
            Range::new(-size, size - 1)
        }
        Ishl if is_count(b) => products(&|x, y| x << y),
        Ushr if is_count(b) && a.is_non_negative() => products(&|x, y| x >> y),
        Ushr if is_count(b) && b.lo > 0 => Range { lo: 0, hi: i64::from(u32::MAX >> b.lo) },
        Ushr if a.is_non_negative() => Range { lo: 0, hi: a.hi },
        Sshr if is_count(b) => products(&|x, y| x >> y),
        Sshr => Range { lo: a.lo.min(0), hi: a.hi.max(0) }.union(a),
        Smin => Range { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) },
        Smax => Range { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) },
        Umin if non_negative => Range { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) },
        Umin if b.is_non_negative() => Range { lo: 0, hi: b.hi },
        Umin if a.is_non_negative() => Range { lo: 0, hi: a.hi },
        Umax if non_negative => Range { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) },
        Udiv if non_negative && b.lo > 0 => Range { lo: a.lo / b.hi, hi: a.hi / b.lo },
        Sdiv if b.lo > 0 || b.hi < 0 => products(&|x, y| x / y),
        Urem if b.lo > 0 => Range { lo: 0, hi: if a.is_non_negative() { a.hi.min(b.hi - 1) } else { b.hi - 1 } },
        Srem if b.lo > 0 || b.hi < 0 => {
            let most = b.lo.abs().max(b.hi.abs()) - 1;
            Range { lo: a.lo.clamp(-most, 0), hi: a.hi.clamp(0, most) }
        }
        _ => Range::FULL,
    }
}

/// What an edge promises about integer comparisons: the condition, its negation, the parts of an `and` / `or`, and, of a condition that the branches before
/// have handed on, what the only way promises on which it can be so.
fn promise(func: &Function, cfg: &Cfg, edge: Edge) -> Vec<(Value, IntCC, Value)> {
    let mut out = Vec::new();
    let (mut edges, mut ways) = (vec![edge], 0);
    while let Some(e) = edges.pop() {
        let Some(t) = func.terminator(e.from) else { continue };
        let d = &func.insts[t];
        let mut stack = Vec::new();
        if d.op == Opcode::BrIf && d.targets.len() == 2 && d.targets[0].block != d.targets[1].block {
            stack.push((func.resolve(d.args[0]), e.target == 0));
        }
        while let Some((c, holds)) = stack.pop() {
            let i = match func.def(c) {
                ValueDef::Result(i, _) => i,
                ValueDef::Param(b, n) if b == e.from && ways < WAYS => {
                    ways += 1;
                    if let Some(way) = only_way(func, cfg, b, n, holds) {
                        let arg = func.successors(way.from)[way.target as usize].args[usize::from(n)];
                        stack.push((func.resolve(arg), holds));
                        // How this way was entered holds, too.
                        edges.push(way);
                        edges.extend(cfg.single_pred(way.from));
                    }
                    continue;
                }
                _ => continue,
            };
            let d = &func.insts[i];
            match (&d.imm, d.op) {
                (Imm::IntCC(cc), Opcode::Icmp) if func.ty(d.args[0]).lanes == 1 => {
                    out.push((func.resolve(d.args[0]), if holds { *cc } else { cc.inverse() }, func.resolve(d.args[1])));
                }
                (_, Opcode::Inot) => stack.push((func.resolve(d.args[0]), !holds)),
                (_, Opcode::Iand) if holds && out.len() < 8 => stack.extend(d.args.iter().map(|v| (func.resolve(*v), true))),
                (_, Opcode::Ior) if !holds && out.len() < 8 => stack.extend(d.args.iter().map(|v| (func.resolve(*v), false))),
                _ => {}
            }
        }
    }
    out
}

/// The only edge into a block by which its parameter `n` can be `holds`, if there is one and it goes around no loop, where values change.
fn only_way(func: &Function, cfg: &Cfg, block: Block, n: u16, holds: bool) -> Option<Edge> {
    let mut possible = cfg.preds(block).iter().filter(|way| handed(func, cfg, **way, n).is_none_or(|is| is == holds));
    let way = possible.next().filter(|way| cfg.rpo_index(way.from) < cfg.rpo_index(block))?;
    possible.next().is_none().then_some(*way)
}

/// What a truth value that an edge hands on to a parameter is, where that is known: a constant, or what was branched on before.
fn handed(func: &Function, cfg: &Cfg, edge: Edge, n: u16) -> Option<bool> {
    let arg = func.resolve(*func.successors(edge.from).get(edge.target as usize)?.args.get(usize::from(n))?);
    if let Some(bits) = func.const_bits(arg) {
        return Some(bits[0] & 1 == 1);
    }
    let mut e = edge;
    for _ in 0..2 {
        let d = &func.insts[func.terminator(e.from)?];
        if d.op == Opcode::BrIf && func.resolve(d.args[0]) == arg && d.targets[0].block != d.targets[1].block {
            return Some(e.target == 0);
        }
        // The edge may have a block of its own.
        e = cfg.single_pred(e.from).filter(|_| d.op == Opcode::Jump)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reference;
    use crate::types::I32;

    #[test]
    fn what_operations_give_lies_within_what_is_said_of_it() {
        use Opcode::*;
        const ENDS: [i64; 10] = [i32::MIN as i64, -9, -8, -1, 0, 1, 7, 8, 31, i32::MAX as i64];
        let ranges: Vec<Range> =
            ENDS.iter().flat_map(|lo| ENDS.iter().filter(move |hi| lo <= *hi).map(|hi| Range::new(*lo, *hi))).collect();
        let inside = |r: Range| ENDS.into_iter().filter(move |x| r.lo <= *x && *x <= r.hi);
        for op in [Iadd, Isub, Imul, Iand, Ior, Ixor, Ishl, Ushr, Sshr, Smin, Smax, Umin, Umax, Udiv, Sdiv, Urem, Srem] {
            let value = |x: i64, y: i64| {
                let words = [x, y].map(|w| [w as u32, 0, 0, 0]);
                crate::interp::eval(&Reference, op, &Imm::None, I32, &[I32; 2], &words).map(|w| i64::from(w[0] as i32))
            };
            for (a, b) in ranges.iter().flat_map(|a| ranges.iter().map(move |b| (*a, *b))) {
                let all = binary(op, a, b);
                for (x, y) in inside(a).flat_map(|x| inside(b).map(move |y| (x, y))) {
                    let r = value(x, y);
                    assert!(r.is_none_or(|r| all.lo <= r && r <= all.hi), "{op:?} {x} {y}: {r:?}, of {a:?} and {b:?} {all:?}");
                }
            }
        }
    }
}
