//! Lane packing: pairs of like scalar operations become one operation on two lanes.
//!
//! The machine stores two f32 lanes per word, so two scalar operations in different words are one too many. Within a block,
//! an operation is paired with an earlier one of the same kind if neither needs the other and their operands can be read as
//! pairs: the same value, two constants, or the two halves of a pair made before. The block is then put into an order in
//! which pairs come after everything they need.

use retroshade_ir::*;
use std::collections::{BTreeMap, BTreeSet};

fn packable(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Fadd | Fsub | Fmul | Fma | Fmad | Fmin | Fmax | Ffract | Ffloor | Fceil | Fsin | Fcos | Fneg | Fabs | Fsaturate)
}

/// Packs every block of a function; true if something changed.
pub fn run(f: &mut Function) -> bool {
    let mut changed = false;
    for b in f.layout.clone() {
        changed |= block(f, b);
    }
    if changed {
        f.resolve_aliases();
    }
    changed
}

/// The graph of a block: who must come before whom.
struct Graph {
    /// For each node (place in the block) the nodes that it needs.
    needs: Vec<Vec<usize>>,
    /// The node that a packed node has joined.
    leader: Vec<usize>,
}

impl Graph {
    /// Whether `from` reaches `to` through what it needs, packs counting as one node.
    fn reaches(&self, from: &[usize], to: &BTreeSet<usize>, members: &BTreeMap<usize, usize>) -> bool {
        let mut seen = BTreeSet::new();
        let mut work: Vec<usize> = from.to_vec();
        while let Some(n) = work.pop() {
            for d in &self.needs[n] {
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
}

fn block(f: &mut Function, b: Block) -> bool {
    let insts = f.blocks[b].insts.clone();
    if insts.len() > 600 {
        return false;
    }
    let mut at: BTreeMap<Value, usize> = BTreeMap::new();
    let mut g = Graph { needs: Vec::new(), leader: (0..insts.len()).collect() };
    let mut last_effect = None;
    for (n, i) in insts.iter().enumerate() {
        let mut needs: Vec<usize> = f.reads(*i).iter().filter_map(|v| at.get(v).copied()).collect();
        if f.insts[*i].op.effect() != Effect::Pure {
            needs.extend(last_effect);
            last_effect = Some(n);
        }
        g.needs.push(needs);
        for r in &f.insts[*i].results {
            at.insert(*r, n);
        }
    }
    // The terminator comes last anyway.
    let mut mate: BTreeMap<usize, usize> = BTreeMap::new();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let single = |f: &Function, n: usize| {
        let d = &f.insts[insts[n]];
        packable(d.op) && d.results.first().is_some_and(|r| f.ty(*r) == types::F32)
    };
    for q in 0..insts.len() {
        if !single(f, q) || mate.contains_key(&q) {
            continue;
        }
        let mut best: Option<(u32, usize)> = None;
        for p in (q.saturating_sub(120)..q).rev() {
            if mate.contains_key(&p) || !single(f, p) {
                continue;
            }
            let (x, y) = (&f.insts[insts[p]], &f.insts[insts[q]]);
            if x.op != y.op || x.precise != y.precise {
                continue;
            }
            let mut score = 0;
            let mut good = true;
            let mut distinct = false;
            for (a, c) in x.args.iter().zip(&y.args) {
                let paired = matches!((at.get(a), at.get(c)), (Some(m), Some(n)) if mate.get(m) == Some(n) && m < n);
                let constants = f.const_bits(*a).is_some() && f.const_bits(*c).is_some();
                let lanes = match (f.def_if(*a, Opcode::Extract), f.def_if(*c, Opcode::Extract)) {
                    (Some(m), Some(n)) => m.args == n.args && a != c,
                    _ => false,
                };
                score += if paired { 4 } else { (constants || a == c || lanes) as u32 };
                good &= paired || constants || a == c || lanes;
                distinct |= a != c;
            }
            if good && distinct && score > best.map_or(0, |s| s.0) {
                let both: BTreeSet<usize> = [p, q].into();
                if !g.reaches(&[p, q], &both, &mate) {
                    best = Some((score, p));
                }
            }
        }
        if let Some((_, p)) = best {
            mate.insert(p, q);
            mate.insert(q, p);
            g.leader[q] = p;
            pairs.push((p, q));
        }
    }
    if pairs.is_empty() {
        return false;
    }
    // Kahn's order, the earliest first; a pair is ready when both are.
    let mut done = vec![false; insts.len()];
    let mut out: Vec<Inst> = Vec::new();
    let mut left = insts.len();
    while left > 0 {
        let ready = |n: usize, done: &[bool]| g.needs[n].iter().all(|d| done[*d]);
        let Some(n) = (0..insts.len())
            .find(|n| !done[*n] && ready(*n, &done) && mate.get(n).is_none_or(|m| ready(*m, &done)) && (*n + 1 < insts.len() || left == 1))
        else {
            return false;
        };
        match mate.get(&n) {
            None => {
                done[n] = true;
                left -= 1;
                out.push(insts[n]);
            }
            Some(m) => {
                let (p, q) = (n.min(*m), n.max(*m));
                done[p] = true;
                done[q] = true;
                left -= 2;
                out.push(insts[p]);
                out.push(insts[q]);
            }
        }
    }
    // Only now is anything changed.
    let mut result: Vec<Inst> = Vec::new();
    let leaders: BTreeMap<Inst, Inst> = pairs.iter().map(|(p, q)| (insts[*p], insts[*q])).collect();
    let followers: BTreeSet<Inst> = pairs.iter().map(|(_, q)| insts[*q]).collect();
    for i in out {
        if followers.contains(&i) {
            continue;
        }
        let Some(j) = leaders.get(&i) else {
            result.push(i);
            continue;
        };
        let (x, y) = (f.insts[i].clone(), f.insts[*j].clone());
        let span = f.spans[i];
        let two = types::F32.with_lanes(2);
        let mut args = Vec::new();
        for (a, c) in x.args.iter().zip(&y.args) {
            let (a, c) = (f.resolve(*a), f.resolve(*c));
            let lane = |f: &Function, v: Value, k: u8| {
                f.def_if(v, Opcode::Extract).filter(|d| d.imm == Imm::Lane(k) && f.ty(d.args[0]) == two).map(|d| d.args[0])
            };
            let data = if let (Some(m), Some(n)) = (f.const_bits(a), f.const_bits(c)) {
                InstData::new(Opcode::Const, &[], Imm::Const([m[0], n[0], 0, 0]))
            } else if a == c {
                InstData::new(Opcode::Splat, &[a], Imm::None)
            } else if let (Some(v), Some(w)) = (lane(f, a, 0), lane(f, c, 1))
                && v == w
            {
                args.push(v);
                continue;
            } else {
                InstData::new(Opcode::Build, &[a, c], Imm::None)
            };
            let n = f.make_inst(data, &[two], span);
            result.push(n);
            args.push(f.insts[n].results[0]);
        }
        let mut data = InstData::new(x.op, &args, x.imm.clone());
        (data.precise, data.relaxed) = (x.precise, x.relaxed && y.relaxed);
        let n = f.make_inst(data, &[two], span);
        result.push(n);
        let v = f.insts[n].results[0];
        for (k, old) in [(0u8, x.results[0]), (1, y.results[0])] {
            let e = f.make_inst(InstData::new(Opcode::Extract, &[v], Imm::Lane(k)), &[types::F32], span);
            result.push(e);
            let new = f.insts[e].results[0];
            f.replace(old, new);
        }
    }
    f.blocks[b].insts = result;
    f.resolve_aliases();
    let _ = &g.leader;
    true
}
