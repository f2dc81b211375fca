//! What every way from a branch computes is computed once before it: values wanted in both arms, or in an arm and behind the join.
//!
//! Values are numbered by what they compute, whichever block they stand in. A number that is wanted on all ways forward from a
//! branch, at least twice, and whose operands are there is computed before the branch; `gvn` then merges what repeats it.
//! Only pure operations move, and only those that cost something; on vector machines a cheap operation on one lane stays with its
//! neighbours in the arm, which it may share an instruction with.

use super::rewrite::{cost, is_speculatable};
use crate::analysis::{Cfg, DomTree};
use crate::entities::{Block, Inst, Value};
use crate::function::{Function, ValueDef};
use crate::inst::Imm;
use crate::opcode::Opcode;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What a value computes: equal keys compute equal values.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: Opcode,
    ty: Type,
    args: SmallVec<[u32; 4]>,
    imm: Imm,
    precise: bool,
}

/// A value and where it is computed.
#[derive(Clone, Copy)]
struct Place {
    block: Block,
    value: Value,
}

struct Hoist<'a> {
    func: &'a mut Function,
    cfg: Cfg,
    dom: DomTree,
    /// The number of each value.
    number: SecondaryMap<Value, u32>,
    /// Where each number is computed.
    places: Vec<Vec<Place>>,
    /// Numbers that stand in several blocks, in the order of their first places: operands before users.
    candidates: Vec<u32>,
}

/// Runs the pass over what costs more than `free` (see [`cost`]).
pub fn run(func: &mut Function, free: u32) -> bool {
    if func.layout.len() < 3 {
        return false;
    }
    func.resolve_aliases();
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    let mut h = Hoist { func, cfg, dom, number: SecondaryMap::new(), places: Vec::new(), candidates: Vec::new() };
    h.count(free);
    if h.candidates.is_empty() {
        return false;
    }
    let wanted = h.anticipated();
    let mut changed = false;
    for b in h.cfg.rpo().to_vec() {
        if h.func.successors(b).len() > 1 {
            changed |= h.before(b, &wanted[b]);
        }
    }
    changed && {
        super::gvn::run(func);
        true
    }
}

impl Hoist<'_> {
    /// Numbers all values and finds the candidates.
    fn count(&mut self, free: u32) {
        let mut seen: FxHashMap<Key, u32> = FxHashMap::default();
        for b in self.cfg.rpo().to_vec() {
            for p in self.func.blocks[b].params.clone() {
                self.number[p] = self.places.len() as u32;
                self.places.push(vec![Place { block: b, value: p }]);
            }
            for i in self.func.blocks[b].insts.clone() {
                let d = &self.func.insts[i];
                let fresh = self.places.len() as u32;
                let number = match d.results[..] {
                    [r] if is_speculatable(d) => {
                        let mut args: SmallVec<[u32; 4]> = d.args.iter().map(|v| self.number[*v]).collect();
                        if d.op.is_commutative() && args[0] > args[1] {
                            args.swap(0, 1);
                        }
                        let key = Key { op: d.op, ty: self.func.ty(r), args, imm: d.imm.clone(), precise: d.precise };
                        *seen.entry(key).or_insert(fresh)
                    }
                    _ => fresh,
                };
                for (n, r) in self.func.insts[i].results.clone().into_iter().enumerate() {
                    let number = if n == 0 { number } else { self.places.len() as u32 };
                    if number as usize == self.places.len() {
                        self.places.push(Vec::new());
                    }
                    self.number[r] = number;
                    self.places[number as usize].push(Place { block: b, value: r });
                }
            }
        }
        let worth = |places: &Vec<Place>| {
            places.len() > 1
                && places.iter().any(|p| p.block != places[0].block)
                && self.func.def_inst(places[0].value).is_some_and(|i| cost(self.func, i) > free)
        };
        self.candidates = (0..self.places.len() as u32).filter(|n| worth(&self.places[*n as usize])).collect();
    }

    /// For each block the candidates that every way forward from its end computes. What a loop's next round computes does not count:
    /// it is another value then.
    fn anticipated(&self) -> SecondaryMap<Block, FixedBitSet> {
        let count = self.candidates.len();
        let mut own: SecondaryMap<Block, FixedBitSet> = SecondaryMap::with_default(FixedBitSet::with_capacity(count));
        for (n, c) in self.candidates.iter().enumerate() {
            self.places[*c as usize].iter().for_each(|p| own[p.block].insert(n));
        }
        let mut after: SecondaryMap<Block, FixedBitSet> = SecondaryMap::with_default(FixedBitSet::with_capacity(count));
        for b in self.cfg.rpo().iter().rev() {
            let mut all: Option<FixedBitSet> = None;
            for t in self.func.successors(*b) {
                let back = self.cfg.rpo_index(t.block) <= self.cfg.rpo_index(*b);
                let mut there = FixedBitSet::with_capacity(count);
                if !back {
                    there = own[t.block].clone();
                    there.union_with(&after[t.block]);
                }
                match &mut all {
                    Some(set) => set.intersect_with(&there),
                    None => all = Some(there),
                }
            }
            after[*b] = all.unwrap_or_else(|| FixedBitSet::with_capacity(count));
        }
        after
    }

    /// Computes before the branch of `b` what is wanted behind it.
    fn before(&mut self, b: Block, wanted: &FixedBitSet) -> bool {
        let mut changed = false;
        for n in wanted.ones() {
            let number = self.candidates[n];
            let places = &self.places[number as usize];
            if places.iter().any(|p| self.dom.dominates(p.block, b)) {
                continue;
            }
            let below: Vec<Block> = places.iter().map(|p| p.block).filter(|p| self.dom.dominates(b, *p)).collect();
            let meet = below.iter().copied().reduce(|x, y| self.dom.common(x, y).unwrap_or(b));
            if below.len() < 2 || meet != Some(b) {
                continue;
            }
            changed |= self.place(number, b, 0).is_some();
        }
        changed
    }

    /// A value with this number at the end of `b`, computed there if need be; `None` if its operands are not to be had.
    fn place(&mut self, number: u32, b: Block, depth: u32) -> Option<Value> {
        if let Some(p) = self.places[number as usize].iter().find(|p| self.dom.dominates(p.block, b)) {
            return Some(p.value);
        }
        let first = *self.places[number as usize].first()?;
        let ValueDef::Result(i, _) = self.func.def(first.value) else { return None };
        let free = cost(self.func, i) == 0;
        if !is_speculatable(&self.func.insts[i]) || depth > 0 && !free || depth > 4 {
            return None;
        }
        let mut data = self.func.insts[i].clone();
        data.results.clear();
        for a in &mut data.args {
            *a = self.place(self.number[*a], b, depth + 1)?;
        }
        let (ty, span) = (self.func.ty(first.value), self.func.spans[i]);
        let copy: Inst = self.func.make_inst(data, &[ty], span);
        let at = self.func.blocks[b].insts.len() - 1;
        self.func.blocks[b].insts.insert(at, copy);
        let value = self.func.result(copy)?;
        self.number[value] = number;
        // First, so that it is found first.
        self.places[number as usize].insert(0, Place { block: b, value });
        Some(value)
    }
}
