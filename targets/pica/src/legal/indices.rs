//! Integers that name array elements: constant parts go into the load's offset, and what could miss the array is clamped where it
//! comes from, so that nothing has to be proven of it.
//!
//! Facts: ISA sheet section 7.

use crate::legal::exact::EXACT;
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::domtree::inst_blocks;
use retroshade_ir::analysis::range::{Known, float_bounds};
use retroshade_ir::analysis::{Cfg, DomTree, Ranges};
use retroshade_ir::opcode::Effect;
use retroshade_ir::passes;
use retroshade_ir::passes::rewrite::{Action, rewrite, splat_bits};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::*;
use retroshade_lower::legal::Rule;

/// Folds constant parts of indices into offsets and says which float-to-integer conversions serve only as indices.
pub fn fold_indices(f: &mut Function) -> SecondaryMap<Inst, bool> {
    let indexed: Vec<Inst> = f.ordered().map(|(_, i)| i).filter(|i| matches!(f.insts[*i].op, Opcode::Uniform | Opcode::Input)).collect();
    for i in indexed {
        loop {
            let d = &f.insts[i];
            let (Some(x), Imm::Mem { var, offset }) = (d.args.first().copied(), d.imm.clone()) else { break };
            let x = f.resolve(x);
            if let Some(c) = f.const_bits(x) {
                let total = offset as i64 + c[0] as i32 as i64;
                if total >= 0 {
                    f.insts[i].imm = Imm::Mem { var, offset: total as u32 };
                    f.insts[i].args.clear();
                }
                break;
            }
            let Some(sum) = f.def_if(x, Opcode::Iadd) else { break };
            let (a, b) = (f.resolve(sum.args[0]), f.resolve(sum.args[1]));
            let (rest, c) = match (f.const_bits(a), f.const_bits(b)) {
                (_, Some(c)) => (a, c[0] as i32),
                (Some(c), _) => (b, c[0] as i32),
                _ => break,
            };
            let total = offset as i64 + c as i64;
            if total < 0 {
                break;
            }
            f.insts[i].imm = Imm::Mem { var, offset: total as u32 };
            f.insts[i].args[0] = rest;
        }
    }
    passes::dce::run(f);
    let mut numeric: SecondaryMap<Value, bool> = SecondaryMap::new();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        // An output's conversion back is free, too. A vertex's number is multiplied by its registers before MOVA truncates: it must be whole.
        let is_index = matches!(d.op, Opcode::Uniform | Opcode::Output | Opcode::Ext);
        for v in d.args.iter().chain(d.targets.iter().flat_map(|t| t.args.iter())) {
            if !is_index {
                numeric[f.resolve(*v)] = true;
            }
        }
    }
    let mut only = SecondaryMap::new();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        if matches!(d.op, Opcode::F2s | Opcode::F2u) && d.results.first().is_some_and(|r| !numeric[*r]) {
            only[i] = true;
        }
    }
    only
}

/// What is clamped as unsigned to name an array element is clamped as signed: a number below zero, which names no element, may become
/// the first as well as the last.
pub fn clamp_signed(m: &mut Module) {
    let users = users(m.main());
    let reads = Reads::new(m.main(), &users);
    let mut plan: SecondaryMap<Inst, Option<i32>> = SecondaryMap::new();
    for (_, i) in m.main().ordered() {
        let (f, d) = (m.main(), &m.main().insts[i]);
        let limit = || f.const_bits(f.resolve(*d.args.get(1)?)).map(|c| c[0] as i32).filter(|k| (0..=EXACT as i32).contains(k));
        if d.op == Opcode::Umin && f.ty(d.results[0]) == I32 && chain(m, &users, &reads, d.results[0]).is_some() {
            plan[i] = limit();
        }
    }
    rewrite(m.main_mut(), |b, i| {
        let Some(k) = plan[i].take() else { return Action::Keep };
        let x = b.func.insts[i].args[0];
        let (zero, k) = (b.iconst(I32, 0), b.iconst(I32, k as u32));
        let up = b.ins(Opcode::Smax, &[zero, x]);
        Action::Replace(b.ins(Opcode::Smin, &[k, up]))
    });
}

/// Bits joined where one part has none are a sum.
pub const SUMS: &[(Opcode, Rule)] = &[(Opcode::Ior, disjoint)];

fn disjoint(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let bits = |b: &Builder, v: Value| b.func.const_bits(b.func.resolve(v)).filter(|_| ty.lanes == 1).map(|c| c[0]);
    let (x, c) = [(0, 1), (1, 0)].into_iter().find_map(|(x, c)| Some((d.args[x], bits(b, d.args[c])?)))?;
    let shift = b.func.def_if(b.func.resolve(x), Opcode::Ishl)?.args[1];
    let free = bits(b, shift).filter(|s| *s < 32)?;
    (u64::from(c) < 1 << free).then(|| b.ins(Opcode::Iadd, &d.args))
}

/// What is masked behind a shift to the left is masked in front of it, where the number is smaller.
pub const MASKS: &[(Opcode, Rule)] = &[(Opcode::Iand, mask_before_shift)];

fn mask_before_shift(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let (x, mask) = [(0, 1), (1, 0)].into_iter().find_map(|(x, c)| Some((d.args[x], splat_bits(b.func, d.args[c])?)))?;
    let shifted = b.func.def_if(b.func.resolve(x), Opcode::Ishl)?;
    let (x, count) = (shifted.args[0], shifted.args[1]);
    let by = splat_bits(b.func, count).filter(|s| *s < 32)?;
    let mask = b.iconst(ty, mask >> by);
    let masked = b.ins(Opcode::Iand, &[x, mask]);
    Some(b.ins(Opcode::Ishl, &[masked, count]))
}

/// Limits of a converted float are limits of the float: truncation goes from whole number to whole number.
pub const CLAMPS: &[(Opcode, Rule)] = &[(Opcode::Smax, clamp_before_conversion), (Opcode::Smin, clamp_before_conversion)];

fn clamp_before_conversion(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let (k, x) = [(0, 1), (1, 0)].into_iter().find_map(|(k, x)| {
        let bits = b.func.const_bits(b.func.resolve(d.args[k]))?;
        let limits = bits[..ty.lanes as usize].iter().map(|w| *w as i32);
        limits.clone().all(|v| i64::from(v).abs() <= EXACT).then(|| (limits.map(|v| (v as f32).to_bits()).collect::<Vec<_>>(), d.args[x]))
    })?;
    let x = b.func.def_if(b.func.resolve(x), Opcode::F2s)?.args[0];
    let float = b.func.ty(x);
    let limit = b.constant(float, std::array::from_fn(|l| k.get(l).copied().unwrap_or(0)));
    let clamped = b.ins(if d.op == Opcode::Smax { Opcode::Fmax } else { Opcode::Fmin }, &[limit, x]);
    Some(b.typed(Opcode::F2s, ty, &[clamped], Imm::None))
}

/// The instructions that read each value.
pub fn users(f: &Function) -> SecondaryMap<Value, Vec<Inst>> {
    let mut users: SecondaryMap<Value, Vec<Inst>> = SecondaryMap::new();
    for (_, i) in f.ordered() {
        f.reads(i).iter().for_each(|v| users[f.resolve(*v)].push(i));
    }
    users
}

/// Where a function reads what it names by indices, and whether somebody always wants it.
pub struct Reads {
    block_of: SecondaryMap<Inst, Option<Block>>,
    dom: DomTree,
    /// Values that only arms of choices want: what was read in a branch, before that became a choice.
    chosen: SecondaryMap<Value, bool>,
}

/// Reads that come about together, if they do: those of a block, but for one that is only an arm of a choice.
type Together = (Block, Option<Inst>);

impl Reads {
    /// Those of a function.
    pub fn new(f: &Function, users: &SecondaryMap<Value, Vec<Inst>>) -> Reads {
        let mut chosen: SecondaryMap<Value, bool> = SecondaryMap::new();
        let order: Vec<Inst> = f.ordered().map(|(_, i)| i).collect();
        // Users before what they use.
        for i in order.iter().rev() {
            for r in &f.insts[*i].results {
                let arm = |u: &Inst| {
                    let d = &f.insts[*u];
                    match d.op {
                        Opcode::Select if f.resolve(d.args[0]) != *r => true,
                        op => op.effect() == Effect::Pure && d.results.iter().all(|v| chosen[*v]),
                    }
                };
                chosen[*r] = !users[*r].is_empty() && users[*r].iter().all(arm);
            }
        }
        Reads { block_of: inst_blocks(f), dom: DomTree::new(f, &Cfg::new(f)), chosen }
    }
    /// With which others a read comes about.
    pub fn together(&self, f: &Function, i: Inst) -> Option<Together> {
        let alone = f.insts[i].results.iter().any(|r| self.chosen[*r]);
        Some((self.block_of[i]?, alone.then_some(i)))
    }
    /// The limits of an index that leave all as they are that may come about: what reads outside of its array in front of others need not be
    /// right, but a limit of what is read in a branch says nothing of what is read beside it.
    fn limits(&self, all: &[(Together, (i64, i64))]) -> Option<(i64, i64)> {
        let inside = |k: Together| all.iter().filter(move |x| x.0 == k).map(|x| x.1).reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)));
        let first = all.iter().map(|x| x.0).find(|k| k.1.is_none() && all.iter().all(|(o, _)| self.dom.dominates(k.0, o.0)));
        match first {
            Some(k) => inside(k),
            None => all.iter().filter_map(|x| inside(x.0)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
        }
    }
}

/// How many elements an index can name.
pub fn elements(m: &Module, var: MemRef) -> Option<i64> {
    match var {
        MemRef::Uniform(k) => Some(i64::from(m.uniforms[k].units())),
        MemRef::Input(k) => Some(i64::from(m.inputs[k].count)),
        _ => None,
    }
}

/// What is computed of an integer by products and sums with constants to name array elements.
struct Chain {
    /// The values of the integer for which every element exists.
    bounds: (i64, i64),
    /// The integer and all that is computed of it.
    values: Vec<Value>,
}

/// The chain of an integer; `None` if it is more than an index, or if no value will do.
fn chain(m: &Module, users: &SecondaryMap<Value, Vec<Inst>>, reads: &Reads, from: Value) -> Option<Chain> {
    let f = m.main();
    let mut all = Vec::new();
    // Values that are scale × the integer + shift.
    let mut work = vec![(from, 1i64, 0i64)];
    let mut values = Vec::new();
    while let Some((v, scale, shift)) = work.pop() {
        if scale > EXACT || shift.abs() > EXACT {
            return None;
        }
        values.push(v);
        for u in &users[v] {
            let d = &f.insts[*u];
            let other = |n: usize| d.args.get(n).and_then(|a| f.const_bits(f.resolve(*a))).map(|c| i64::from(c[0] as i32));
            let by = if d.args.first().map(|a| f.resolve(*a)) == Some(v) { other(1) } else { other(0) };
            let first = d.args.first().map(|a| f.resolve(*a)) == Some(v);
            match (d.op, &d.imm, by) {
                (Opcode::Uniform | Opcode::Input, Imm::Mem { var, offset }, _) => {
                    let count = elements(m, *var)?;
                    let (low, high) = (-i64::from(*offset) - shift, count - 1 - i64::from(*offset) - shift);
                    let lo = low.div_euclid(scale) + i64::from(low.rem_euclid(scale) != 0);
                    let hi = high.div_euclid(scale);
                    all.push((reads.together(f, *u)?, (lo.max(-EXACT), hi.min(EXACT))));
                }
                (Opcode::Imul, _, Some(k)) if k > 0 => work.push((d.results[0], scale * k, shift * k)),
                (Opcode::Ishl, _, Some(k)) if first && (0..17).contains(&k) => work.push((d.results[0], scale << k, shift << k)),
                (Opcode::Iadd, _, Some(k)) => work.push((d.results[0], scale, shift + k)),
                (Opcode::Isub, _, Some(k)) if first => work.push((d.results[0], scale, shift - k)),
                _ => return None,
            }
        }
    }
    let bounds = reads.limits(&all).filter(|(lo, hi)| lo <= hi)?;
    Some(Chain { bounds, values })
}

/// Clamps floats that are converted to indices, so that every element that is read exists.
pub fn clamp_conversions(m: &mut Module) {
    let users = users(m.main());
    let reads = Reads::new(m.main(), &users);
    let mut plan: SecondaryMap<Inst, Option<(i64, i64)>> = SecondaryMap::new();
    for (_, i) in m.main().ordered() {
        let f = m.main();
        let d = &f.insts[i];
        let Some(r) = d.results.first().copied().filter(|_| matches!(d.op, Opcode::F2s | Opcode::F2u)) else { continue };
        if f.ty(r).is_vector() {
            continue;
        }
        if let Some(Chain { bounds: (lo, hi), .. }) = chain(m, &users, &reads, r) {
            let known = float_bounds(m, f, d.args[0], 8);
            // Truncation goes toward zero.
            if known.0 <= lo as f64 - f64::from(u8::from(lo <= 0)) || known.1 >= hi as f64 + f64::from(u8::from(hi >= 0)) {
                plan[i] = Some((lo, hi));
            }
        }
    }
    rewrite(m.main_mut(), |b, i| {
        let Some((lo, hi)) = plan[i].take() else { return Action::Keep };
        let x = b.func.insts[i].args[0];
        let (lo, hi) = (b.fconst(F32, lo as f32), b.fconst(F32, hi as f32));
        let up = b.ins(Opcode::Fmax, &[lo, x]);
        let both = b.ins(Opcode::Fmin, &[hi, up]);
        b.func.insts[i].args[0] = both;
        Action::Changed
    });
}

/// Clamps integers that only name array elements, where what is computed of them could leave the exact range.
pub fn clamp_indices(m: &mut Module, known: &Known) {
    let f = m.main();
    let ranges = Ranges::knowing(m, f, known.clone());
    let users = users(f);
    let reads = Reads::new(f, &users);
    let mut covered: SecondaryMap<Value, bool> = SecondaryMap::new();
    let mut plan: Vec<(Value, (i64, i64))> = Vec::new();
    for b in &f.layout {
        let results = f.blocks[*b].insts.iter().flat_map(|i| &f.insts[*i].results);
        for v in f.blocks[*b].params.iter().chain(results).copied().filter(|v| f.ty(*v) == I32) {
            let Some(c) = (if covered[v] { None } else { chain(m, &users, &reads, v) }) else { continue };
            if c.values.iter().any(|v| !ranges.range(*v).within(EXACT)) {
                plan.push((v, c.bounds));
                c.values.iter().for_each(|v| covered[*v] = true);
            }
        }
    }
    let f = m.main_mut();
    for (v, (lo, hi)) in plan {
        clamp(f, v, lo, hi);
    }
}

/// Puts the larger of an integer and `lo`, but `hi` at most, in the place of all its uses.
fn clamp(f: &mut Function, v: Value, lo: i64, hi: i64) {
    let (block, mut at, span) = match f.def_inst(v) {
        Some(i) => match f.ordered().find(|(_, x)| *x == i) {
            Some((b, _)) => (b, f.blocks[b].insts.iter().position(|x| *x == i).map_or(0, |n| n + 1), f.spans[i]),
            None => return,
        },
        None => match f.layout.iter().copied().find(|b| f.blocks[*b].params.contains(&v)) {
            Some(b) => (b, 0, f.place_of(v)),
            None => return,
        },
    };
    let mut put = |f: &mut Function, op, args: &[Value], imm| {
        let i = f.make_inst(InstData::new(op, args, imm), &[I32], span);
        f.blocks[block].insts.insert(at, i);
        at += 1;
        f.insts[i].results[0]
    };
    let low = put(f, Opcode::Const, &[], Imm::Const([lo as i32 as u32, 0, 0, 0]));
    let high = put(f, Opcode::Const, &[], Imm::Const([hi as i32 as u32, 0, 0, 0]));
    let up = put(f, Opcode::Smax, &[low, v], Imm::None);
    let both = put(f, Opcode::Smin, &[high, up], Imm::None);
    for d in f.insts.values_mut().filter(|d| d.results.first() != Some(&up)) {
        let passed = d.targets.iter_mut().flat_map(|t| t.args.iter_mut());
        d.args.iter_mut().chain(passed).filter(|a| **a == v).for_each(|a| *a = both);
    }
}
