//! Operands that the machine takes: one register and one sign per operand, one uniform and one input per instruction,
//! uniforms only in the wide field. What does not fit is split by lanes, reordered, or copied to temporaries once.
//!
//! Facts: ISA sheet section 6.

use crate::isa::forms::Op;
use crate::select::mir::*;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// Register that a copy was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Bank {
    In(u8),
    Uni(u8, Option<u32>),
    Const,
}

fn bank(r: Ref) -> Option<Bank> {
    match r.leaf {
        Leaf::Tmp(_) => None,
        Leaf::In(v, _) => Some(Bank::In(v)),
        Leaf::Uni { reg, index, .. } => Some(Bank::Uni(reg, index)),
        Leaf::Const(_) => Some(Bank::Const),
    }
}

fn is_uniform(t: &Tuple) -> bool {
    matches!(t.first().map(|r| r.key()), Some(Key::Uni(..) | Key::Const))
}

fn input_of(t: &Tuple) -> Option<u8> {
    match t.first().map(|r| r.key()) {
        Some(Key::In(v, _)) => Some(v),
        _ => None,
    }
}

struct Preparer {
    p: Program,
    /// How often each bank stands in an instruction that it cannot share.
    demand: FxHashMap<Bank, u32>,
    /// Copies per block: (source without sign) → temporary.
    copies: Vec<FxHashMap<Leaf, Tmp>>,
    /// Mixed operands per block, and what they were gathered to.
    gathered: Vec<FxHashMap<Tuple, Tuple>>,
    /// Whether a temporary has one definition, so that what it holds never changes.
    fixed: Vec<bool>,
    out: Vec<Node>,
    at: usize,
    /// Whether a copy serves more than one operation.
    share: bool,
    /// Per block: what later blocks copy, which a move here may take along.
    later: Vec<Vec<Leaf>>,
}

/// Makes every operation one instruction, up to the placement of its temporaries. Without `share` each operation that needs
/// a uniform or input in a temporary gets a copy of its own, which is dead at once: longer, but nothing stays alive for it.
pub fn prepare(p: &Program, share: bool) -> Program {
    prepared(p, share, Vec::new()).p
}

/// The program with shared copies, and with copies made as early as a move of the same register stands, for blocks behind it, where that
/// saves a move.
pub fn prepare_shared(p: &Program) -> (Program, Option<Program>) {
    let shared = prepared(p, true, Vec::new());
    let later = shared.later_copies();
    if later.iter().all(Vec::is_empty) {
        return (shared.p, None);
    }
    let early = prepared(p, true, later).p;
    let size = |p: &Program| p.blocks.iter().map(|b| b.nodes.len()).sum::<usize>();
    let shorter = size(&early) < size(&shared.p);
    (shared.p, shorter.then_some(early))
}

fn prepared(p: &Program, share: bool, later: Vec<Vec<Leaf>>) -> Preparer {
    let mut s = Preparer {
        p: p.clone(),
        demand: FxHashMap::default(),
        copies: vec![FxHashMap::default(); p.blocks.len()],
        gathered: vec![FxHashMap::default(); p.blocks.len()],
        fixed: Vec::new(),
        out: Vec::new(),
        at: 0,
        share,
        later,
    };
    s.count_demand();
    s.fixed = single_definitions(p);
    for b in 0..p.blocks.len() {
        s.at = b;
        s.out = Vec::with_capacity(s.p.blocks[b].nodes.len());
        for mut n in std::mem::take(&mut s.p.blocks[b].nodes) {
            if let Some(t) = n.test.take() {
                n.test = Some(s.test(t, n.span));
            }
            for part in s.split(n) {
                s.fix(part);
            }
        }
        if let Some(t) = s.p.blocks[b].test.take() {
            let span = s.p.blocks[b].span;
            let t = s.test(t, span);
            s.p.blocks[b].test = Some(t);
        }
        s.p.blocks[b].nodes = std::mem::take(&mut s.out);
    }
    s
}

/// Which temporaries are written by one operation only.
fn single_definitions(p: &Program) -> Vec<bool> {
    let mut n = vec![0u32; p.temps as usize];
    p.blocks.iter().flat_map(|b| &b.nodes).flat_map(Node::writes).for_each(|t| n[t as usize] += 1);
    n.into_iter().map(|n| n == 1).collect()
}

impl Preparer {
    fn count_demand(&mut self) {
        for n in self.p.blocks.iter().flat_map(|b| &b.nodes) {
            let banks: Vec<Bank> = n.srcs.iter().filter_map(|s| s.first().copied().and_then(bank)).collect();
            let uniforms = banks.iter().filter(|b| !matches!(b, Bank::In(_))).count();
            let mut inputs: Vec<Bank> = banks.iter().filter(|b| matches!(b, Bank::In(_))).copied().collect();
            inputs.sort();
            inputs.dedup();
            for b in banks {
                if match b {
                    Bank::In(_) => inputs.len() > 1,
                    _ => uniforms > 1,
                } {
                    *self.demand.entry(b).or_insert(0) += 1;
                }
            }
            // Constants beside other components are copied in any case.
            let constant = |r: &Ref| matches!(r.leaf, Leaf::Const(_));
            let mixed = |s: &Tuple| s.iter().any(constant) && !s.iter().all(constant);
            if self.p.copies && !n.elementwise() && n.srcs.iter().any(mixed) {
                *self.demand.entry(Bank::Const).or_insert(0) += 1;
            }
        }
    }

    fn demand(&self, t: &Tuple) -> u32 {
        t.first().copied().and_then(bank).and_then(|b| self.demand.get(&b).copied()).unwrap_or(0)
    }

    /// Whether all lanes of a tuple already have copies.
    fn has_copy(&self, t: &Tuple) -> bool {
        t.iter().all(|r| self.find_copy(r.leaf).is_some())
    }

    fn find_copy(&self, leaf: Leaf) -> Option<Tmp> {
        let mut b = Some(self.at);
        while let Some(n) = b {
            if let Some(t) = self.copies[n].get(&leaf) {
                return Some(*t);
            }
            b = self.p.blocks[n].idom;
        }
        None
    }

    /// For each block what is copied in blocks that it dominates.
    fn later_copies(&self) -> Vec<Vec<Leaf>> {
        let mut out: Vec<Vec<Leaf>> = vec![Vec::new(); self.copies.len()];
        for (b, copies) in self.copies.iter().enumerate() {
            let mut leaves: Vec<Leaf> = copies.keys().copied().collect();
            leaves.sort();
            let mut above = self.p.blocks[b].idom;
            while let Some(a) = above {
                let new = leaves.iter().filter(|l| !out[a].contains(l)).copied().collect::<Vec<_>>();
                out[a].extend(new);
                above = self.p.blocks[a].idom;
            }
        }
        out
    }

    /// Lanes with operands of the same kinds stay together.
    fn split(&mut self, n: Node) -> Vec<Node> {
        if !n.elementwise() {
            let mut n = n;
            for k in 0..n.srcs.len() {
                let first = n.srcs[k][0].key();
                if n.srcs[k].iter().any(|r| r.key() != first) {
                    n.srcs[k] = self.gather(&n.srcs[k], n.span);
                }
            }
            return vec![n];
        }
        let mut parts: Vec<Node> = Vec::new();
        for l in 0..n.dests.len() {
            let lane: SmallVec<[Ref; 3]> = n.srcs.iter().map(|s| s[l]).collect();
            // Other ways to write the same lane: factors exchanged, signs moved between factors.
            let mut ways = vec![lane.clone()];
            if matches!(n.op, Op::Mul | Op::Mad) {
                let mut w = lane.clone();
                (w[0], w[1]) = (w[0].negated(), w[1].negated());
                ways.push(w);
            }
            if matches!(n.op, Op::Add | Op::Mul | Op::Mad) {
                for w in ways.clone() {
                    let mut w = w;
                    w.swap(0, 1);
                    ways.push(w);
                }
            }
            let found = parts.iter().enumerate().find_map(|(k, part)| {
                let way = ways.iter().find(|w| part.srcs.iter().zip(w.iter()).all(|(s, r)| s[0].key() == r.key()))?;
                Some((k, way.clone()))
            });
            match found {
                Some((k, way)) => {
                    parts[k].dests.push(n.dests[l]);
                    for (s, r) in parts[k].srcs.iter_mut().zip(way) {
                        s.push(r);
                    }
                }
                None => {
                    let srcs = lane.iter().map(|r| smallvec![*r]).collect();
                    parts.push(Node { dests: smallvec![n.dests[l]], srcs, ..n.clone() });
                }
            }
        }
        parts
    }

    /// Copies the lanes of a mixed tuple into temporaries; lanes that already are such stay. The same tuple is gathered once.
    fn gather(&mut self, t: &Tuple, span: retroshade_ir::Span) -> Tuple {
        let lasts = |r: &Ref| r.as_tmp().is_none_or(|t| self.fixed.get(t as usize) == Some(&true));
        let share = self.share && t.iter().all(lasts);
        let mut b = Some(self.at).filter(|_| share);
        while let Some(n) = b {
            if let Some(found) = self.gathered[n].get(t) {
                return found.clone();
            }
            b = self.p.blocks[n].idom;
        }
        let out = self.gather_anew(t, span);
        if share {
            self.gathered[self.at].insert(t.clone(), out.clone());
        }
        out
    }

    fn gather_anew(&mut self, t: &Tuple, span: retroshade_ir::Span) -> Tuple {
        let mut out = t.clone();
        let mut keys: Vec<Key> = t.iter().map(|r| r.key()).filter(|k| *k != Key::Tmp(false)).collect();
        keys.sort();
        keys.dedup();
        for k in keys {
            let lanes: Vec<usize> = (0..t.len()).filter(|l| t[*l].key() == k).collect();
            // Equal scalars need one copy.
            let mut made: Vec<(Ref, Tmp)> = Vec::new();
            for l in &lanes {
                let tmp = match made.iter().find(|m| m.0 == t[*l]) {
                    Some(m) => m.1,
                    None => {
                        let x = self.p.temp(span);
                        made.push((t[*l], x));
                        x
                    }
                };
                out[*l] = Ref::tmp(tmp);
            }
            let together = k == Key::Const && self.p.copies && self.share;
            let at = if together { self.copy_of(Bank::Const, made.len(), span) } else { self.new_copy(u32::MAX, span) };
            self.out[at].dests.extend(made.iter().map(|m| Dest::Tmp(m.1)));
            self.out[at].srcs[0].extend(made.iter().map(|m| m.0));
        }
        out
    }

    fn new_copy(&mut self, bundle: u32, span: retroshade_ir::Span) -> usize {
        self.out.push(Node { bundle, ..Node::new(Op::Mov, &[], &[&[]], span) });
        self.out.len() - 1
    }

    /// A move in this block that more lanes of a register can join: one that was made before, if copies are shared.
    fn copy_of(&mut self, of: Bank, lanes: usize, span: retroshade_ir::Span) -> usize {
        let same = |n: &Node| {
            n.op == Op::Mov
                && n.test.is_none()
                && n.bundle == COPY
                && n.dests.len() + lanes <= 4
                && n.srcs[0].first().copied().and_then(bank) == Some(of)
        };
        let made = self.out.iter().rposition(same).filter(|_| self.share);
        made.unwrap_or_else(|| self.new_copy(COPY, span))
    }

    /// The tuple through temporaries, made once per dominating block.
    fn copied(&mut self, t: &Tuple, span: retroshade_ir::Span) -> Tuple {
        if !self.share {
            self.copies.iter_mut().for_each(FxHashMap::clear);
        }
        let mut missing: Vec<Leaf> = t.iter().map(|r| r.leaf).filter(|l| self.find_copy(*l).is_none()).collect();
        missing.sort();
        missing.dedup();
        if let Some(of) = missing.first().and_then(|leaf| bank(Ref { leaf: *leaf, neg: false })) {
            let at = self.copy_of(of, missing.len(), span);
            let room = 4usize.saturating_sub(self.out[at].dests.len() + missing.len());
            let same = |l: &Leaf| bank(Ref { leaf: *l, neg: false }) == Some(of) && !missing.contains(l) && self.find_copy(*l).is_none();
            let along: Vec<Leaf> = self.later.get(self.at).into_iter().flatten().copied().filter(same).take(room).collect();
            for leaf in missing.into_iter().chain(along) {
                let x = self.p.temp(span);
                self.copies[self.at].insert(leaf, x);
                self.out[at].dests.push(Dest::Tmp(x));
                self.out[at].srcs[0].push(Ref { leaf, neg: false });
            }
        }
        t.iter().map(|r| Ref { leaf: Leaf::Tmp(self.find_copy(r.leaf).unwrap_or(0)), neg: r.neg }).collect()
    }

    /// One uniform, one input, uniforms where the wide field is.
    fn fix(&mut self, mut n: Node) {
        loop {
            let uniforms: Vec<usize> = (0..n.srcs.len()).filter(|k| is_uniform(&n.srcs[*k])).collect();
            if uniforms.len() < 2 {
                break;
            }
            let wanted = |k: &usize| (self.has_copy(&n.srcs[*k]), self.demand(&n.srcs[*k]), std::cmp::Reverse(*k));
            let k = match n.op {
                // Their second operand has no wide field, and they cannot be turned round.
                Op::Max | Op::Min => 1,
                _ => uniforms.iter().copied().max_by_key(wanted).unwrap_or(uniforms[0]),
            };
            // Product and sum apart cost as much as one copy that nobody shares.
            if n.op == Op::Mad
                && uniforms.contains(&2)
                && uniforms.len() == 2
                && !self.has_copy(&n.srcs[k])
                && self.demand(&n.srcs[k]) < 2
                && n.test.is_none()
            {
                let product: SmallVec<[Dest; 4]> = n.dests.iter().map(|_| Dest::Tmp(self.p.temp(n.span))).collect();
                let factors: SmallVec<[Tuple; 3]> = n.srcs[..2].iter().cloned().collect();
                let sum: Tuple = product.iter().map(|d| if let Dest::Tmp(t) = d { Ref::tmp(*t) } else { Ref::constant(0) }).collect();
                let addend = n.srcs[2].clone();
                self.fix(Node { op: Op::Mul, dests: product, srcs: factors, ..n.clone() });
                self.fix(Node { op: Op::Add, srcs: smallvec![addend, sum], ..n });
                return;
            }
            n.srcs[k] = self.copied(&n.srcs[k].clone(), n.span);
        }
        let mut inputs: Vec<u8> = n.srcs.iter().filter_map(input_of).collect();
        inputs.sort();
        inputs.dedup();
        while inputs.len() > 1 {
            let cost = |v: &u8| {
                let t = n.srcs.iter().find(|s| input_of(s) == Some(*v));
                t.map_or((false, 0), |t| (self.has_copy(t), self.demand(t)))
            };
            let v = inputs.iter().copied().max_by_key(cost).unwrap_or(inputs[0]);
            for k in 0..n.srcs.len() {
                if input_of(&n.srcs[k]) == Some(v) {
                    n.srcs[k] = self.copied(&n.srcs[k].clone(), n.span);
                }
            }
            inputs.retain(|x| *x != v);
        }
        match n.op {
            Op::Add | Op::Mul | Op::Dp3 | Op::Dp4 if is_uniform(&n.srcs[1]) => n.srcs.swap(0, 1),
            Op::Mad if is_uniform(&n.srcs[0]) => n.srcs.swap(0, 1),
            Op::Max | Op::Min if is_uniform(&n.srcs[1]) => n.srcs[1] = self.copied(&n.srcs[1].clone(), n.span),
            _ => {}
        }
        self.out.push(n);
    }

    /// A test whose two comparisons share registers.
    fn test(&mut self, t: Test, span: retroshade_ir::Span) -> Test {
        let Test::Flags(mut c, cond) = t else { return t };
        const MIRROR: [u8; 8] = [0, 1, 4, 5, 2, 3, 6, 7];
        if c.len() == 2 {
            let (k0, k1) = ((c[0].0.key(), c[0].2.key()), (c[1].0.key(), c[1].2.key()));
            if k0 != k1 && k0 == (k1.1, k1.0) {
                let (a, op, b) = c[1];
                c[1] = (b, MIRROR[op as usize & 7], a);
            }
        }
        let mut sides: [Tuple; 2] = [c.iter().map(|x| x.0).collect(), c.iter().map(|x| x.2).collect()];
        for s in &mut sides {
            if s.iter().any(|r| r.key() != s[0].key()) {
                *s = self.gather(&s.clone(), span);
            }
        }
        // Comparisons do not load address registers.
        for s in &mut sides {
            if matches!(s[0].key(), Key::Uni(_, Some(_), _)) {
                *s = self.copied(&s.clone(), span);
            }
        }
        if is_uniform(&sides[0]) && is_uniform(&sides[1]) {
            let k = usize::from(self.demand(&sides[1]) >= self.demand(&sides[0]));
            sides[k] = self.copied(&sides[k].clone(), span);
        }
        if let (Some(a), Some(b)) = (input_of(&sides[0]), input_of(&sides[1]))
            && a != b
        {
            sides[1] = self.copied(&sides[1].clone(), span);
        }
        for (k, x) in c.iter_mut().enumerate() {
            *x = (sides[0][k], x.1, sides[1][k]);
        }
        // The wide field is the first source's.
        if is_uniform(&sides[1]) {
            for x in &mut c {
                *x = (x.2, MIRROR[x.1 as usize & 7], x.0);
            }
        }
        Test::Flags(c, cond)
    }
}

/// Bundle number of shared copies.
const COPY: u32 = u32::MAX - 1;
