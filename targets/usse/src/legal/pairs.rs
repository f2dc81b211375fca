//! Lane packing: pairs of like scalar operations become one operation on two lanes, pairs of those one on four.
//!
//! The machine stores two f32 lanes per word, and four in an internal register, so two scalar operations in different words
//! are one too many. Within a block, an operation is paired with an earlier one of the same kind if neither needs the other
//! and their operands can be read as pairs: the same value, two constants, or the two halves of a pair made before. Sines and
//! cosines, which are ten words each, are worth bringing their operands together. The block is then put into an order in
//! which pairs come after everything they need.

use retroshade_ir::*;
use std::collections::{BTreeMap, BTreeSet};

fn packable(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Fadd | Fsub | Fmul | Fma | Fmad | Fmin | Fmax | Ffract | Ffloor | Fceil | Fsin | Fcos | Fneg | Fabs | Fsaturate)
}

/// Whether an operation is so long that any two are worth a pair.
fn is_long(op: Opcode) -> bool {
    matches!(op, Opcode::Fsin | Opcode::Fcos)
}

/// Packs operations on so many lanes in every block of a function; true if something changed.
pub fn run(f: &mut Function, lanes: u8) -> bool {
    let mut changed = false;
    for b in f.layout.clone() {
        changed |= block(f, b, lanes);
    }
    if changed {
        f.resolve_aliases();
    }
    changed
}

/// The nodes (places in a block) that each node needs.
type Needs = Vec<Vec<usize>>;

/// Whether `from` reaches `to` through what it needs, packs counting as one node.
fn reaches(needs: &Needs, from: &[usize], to: &BTreeSet<usize>, members: &BTreeMap<usize, usize>) -> bool {
    let mut seen = BTreeSet::new();
    let mut work: Vec<usize> = from.to_vec();
    while let Some(n) = work.pop() {
        for d in &needs[n] {
            if to.contains(d) {
                return true;
            }
            for x in std::iter::once(*d).chain(members.get(d).copied()) {
                if seen.insert(x) {
                    if to.contains(&x) {
                        return true;
                    }
                    work.push(x);
                }
            }
        }
    }
    false
}

/// What each instruction of a block needs, and where each value is made.
fn needs(f: &Function, insts: &[Inst]) -> (Needs, BTreeMap<Value, usize>) {
    let mut at: BTreeMap<Value, usize> = BTreeMap::new();
    let (mut out, mut last_effect) = (Needs::new(), None);
    for (n, i) in insts.iter().enumerate() {
        let mut needs: Vec<usize> = f.reads(*i).iter().filter_map(|v| at.get(v).copied()).collect();
        if f.insts[*i].op.effect() != Effect::Pure {
            needs.extend(last_effect);
            last_effect = Some(n);
        }
        out.push(needs);
        for r in &f.insts[*i].results {
            at.insert(*r, n);
        }
    }
    (out, at)
}

/// How well the operands of two operations go together; none where they do not.
fn score(f: &Function, x: &InstData, y: &InstData, is_pair: impl Fn(Value, Value) -> bool, long: bool) -> Option<u32> {
    let (mut score, mut distinct) = (u32::from(long), false);
    for (a, c) in x.args.iter().zip(&y.args) {
        let constants = f.const_bits(*a).is_some() && f.const_bits(*c).is_some();
        let lanes = match (f.def_if(*a, Opcode::Extract), f.def_if(*c, Opcode::Extract)) {
            (Some(m), Some(n)) => m.args == n.args && a != c,
            _ => false,
        };
        match is_pair(*a, *c) {
            true => score += 4,
            false if constants || a == c || lanes => score += 1,
            false if long => {}
            false => return None,
        }
        distinct |= a != c;
    }
    (distinct && score > 0).then_some(score)
}

/// The pairs of a block: both members, the earlier one first.
fn partners(f: &Function, insts: &[Inst], lanes: u8) -> (Needs, BTreeMap<usize, usize>) {
    let (needs, at) = needs(f, insts);
    // The terminator comes last anyway.
    let mut mate: BTreeMap<usize, usize> = BTreeMap::new();
    let fits = |n: usize| {
        let d = &f.insts[insts[n]];
        packable(d.op) && d.results.first().is_some_and(|r| f.ty(*r) == types::F32.with_lanes(lanes))
    };
    // What finds no partner with operands like its own may still have one as long as it is.
    for long in [false, true] {
        for q in 0..insts.len() {
            if !fits(q) || mate.contains_key(&q) || long && !is_long(f.insts[insts[q]].op) {
                continue;
            }
            let mut best: Option<(u32, usize)> = None;
            for p in (q.saturating_sub(120)..q).rev() {
                if mate.contains_key(&p) || !fits(p) {
                    continue;
                }
                let (x, y) = (&f.insts[insts[p]], &f.insts[insts[q]]);
                if x.op != y.op || x.precise != y.precise {
                    continue;
                }
                let is_pair =
                    |a: Value, c: Value| matches!((at.get(&a), at.get(&c)), (Some(m), Some(n)) if mate.get(m) == Some(n) && m < n);
                let Some(score) = score(f, x, y, is_pair, long) else { continue };
                if score > best.map_or(0, |s| s.0) && !reaches(&needs, &[p, q], &[p, q].into(), &mate) {
                    best = Some((score, p));
                }
            }
            if let Some((_, p)) = best {
                mate.insert(p, q);
                mate.insert(q, p);
            }
        }
    }
    (needs, mate)
}

fn block(f: &mut Function, b: Block, lanes: u8) -> bool {
    let insts = f.blocks[b].insts.clone();
    if insts.len() > 600 {
        return false;
    }
    let (needs, mate) = partners(f, &insts, lanes);
    if mate.is_empty() {
        return false;
    }
    let Some(order) = order(&needs, &mate) else { return false };
    // Only now is anything changed.
    let mut result: Vec<Inst> = Vec::new();
    for n in order {
        match mate.get(&n) {
            None => result.push(insts[n]),
            Some(m) if *m < n => {}
            Some(m) => join(f, insts[n], insts[*m], lanes, &mut result),
        }
    }
    f.blocks[b].insts = result;
    f.resolve_aliases();
    true
}

/// An order of the nodes, the earliest first; a pair is ready when both are. None where pairs need each other in a circle.
fn order(needs: &Needs, mate: &BTreeMap<usize, usize>) -> Option<Vec<usize>> {
    let count = needs.len();
    let mut done = vec![false; count];
    let mut out = Vec::with_capacity(count);
    while out.len() < count {
        let ready = |n: usize| needs[n].iter().all(|d| done[*d]);
        let next =
            |n: &usize| !done[*n] && ready(*n) && mate.get(n).is_none_or(|m| ready(*m)) && (*n + 1 < count || out.len() + 1 == count);
        let n = (0..count).find(next)?;
        let both = [Some(n), mate.get(&n).copied()];
        for n in both.into_iter().flatten() {
            done[n] = true;
            out.push(n);
        }
    }
    Some(out)
}

/// The operand that two operands become.
fn operand(f: &mut Function, a: Value, c: Value, lanes: u8, span: Span, out: &mut Vec<Inst>) -> Value {
    let (a, c) = (f.resolve(a), f.resolve(c));
    let wide = types::F32.with_lanes(2 * lanes);
    // The halves of a pair made before.
    let half = |f: &Function, v: Value, upper: bool| {
        let d = f.def_inst(v).map(|i| &f.insts[i])?;
        let whole = d.args.first().copied().filter(|w| f.ty(*w) == wide)?;
        let is = match (d.op, &d.imm) {
            (Opcode::Extract, Imm::Lane(k)) => lanes == 1 && *k == u8::from(upper),
            (Opcode::Shuffle, Imm::Lanes(m)) => lanes == 2 && m[..] == if upper { [2, 3] } else { [0, 1] },
            _ => false,
        };
        is.then_some(whole)
    };
    if let (Some(v), Some(w)) = (half(f, a, false), half(f, c, true))
        && v == w
    {
        return v;
    }
    let data = match (f.const_bits(a), f.const_bits(c)) {
        (Some(m), Some(n)) if lanes == 1 => InstData::new(Opcode::Const, &[], Imm::Const([m[0], n[0], 0, 0])),
        (Some(m), Some(n)) => InstData::new(Opcode::Const, &[], Imm::Const([m[0], m[1], n[0], n[1]])),
        _ if a == c && lanes == 1 => InstData::new(Opcode::Splat, &[a], Imm::None),
        _ if lanes == 1 => InstData::new(Opcode::Build, &[a, c], Imm::None),
        _ => InstData::new(Opcode::Shuffle, &[a, c], Imm::Lanes([0, 1, 2, 3][..].into())),
    };
    let n = f.make_inst(data, &[wide], span);
    out.push(n);
    f.insts[n].results[0]
}

/// Two operations as one.
fn join(f: &mut Function, i: Inst, j: Inst, lanes: u8, out: &mut Vec<Inst>) {
    let (x, y) = (f.insts[i].clone(), f.insts[j].clone());
    let span = f.spans[i];
    let args: Vec<Value> = x.args.iter().zip(&y.args).map(|(a, c)| operand(f, *a, *c, lanes, span, out)).collect();
    let mut data = InstData::new(x.op, &args, x.imm.clone());
    (data.precise, data.relaxed) = (x.precise, x.relaxed && y.relaxed);
    let n = f.make_inst(data, &[types::F32.with_lanes(2 * lanes)], span);
    out.push(n);
    let v = f.insts[n].results[0];
    for (k, old) in [(0u8, x.results[0]), (1, y.results[0])] {
        let part = match lanes {
            1 => InstData::new(Opcode::Extract, &[v], Imm::Lane(k)),
            _ => InstData::new(Opcode::Shuffle, &[v, v], Imm::Lanes([2 * k, 2 * k + 1][..].into())),
        };
        let e = f.make_inst(part, &[types::F32.with_lanes(lanes)], span);
        out.push(e);
        let new = f.insts[e].results[0];
        f.replace(old, new);
    }
}
