//! Constants in registers. A group reads two halves of constant registers, so operations that name two of them by themselves fill few
//! of its slots: a matrix that is inverted, say. Where many operations do, those of their constants that several name are copied first.

use crate::isa::forms::op2;
use crate::select::mir::*;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Operations with two halves below which nothing is copied.
const FEW: usize = 6;
/// Operations of a program above which it is not placed twice for this.
const LARGE: usize = 600;
/// Operations that a copy must serve.
const READERS: usize = 2;

/// The code with copies, where there may be something to gain.
pub fn copied(mir: &Mir) -> Option<Mir> {
    let all = leaves(&mir.steps);
    let large = all.iter().map(|l| l.len()).sum::<usize>() > LARGE;
    let most = all.into_iter().map(|l| l.iter().filter(|o| halves(o) > 1).count()).max();
    if large || most.is_none_or(|n| n < FEW) {
        return None;
    }
    let mut mir = mir.clone();
    let mut webs = std::mem::take(&mut mir.webs);
    each_leaf(&mut mir.steps, &mut |ops| copy(ops, &mut webs));
    mir.webs = webs;
    Some(mir)
}

/// A constant register's channel: (buffer, register, channel).
type Constant = (u8, u16, u8);

/// Halves of constant registers that an operation reads, 0 where it is one at most.
fn halves(op: &Op) -> usize {
    if several(op) { distinct_halves(&constants(op)) } else { 0 }
}

/// Whether an operation has constants that may be of several halves.
fn several(op: &Op) -> bool {
    op.src.iter().filter(|s| matches!(s.place, Place::Const(..))).count() > 1
}

/// The constants that an operation reads, in order.
fn constants(op: &Op) -> SmallVec<[Constant; 8]> {
    let read = op.src.iter().filter(|_| op.is_alu());
    let mut out: SmallVec<[Constant; 8]> =
        read.filter_map(|s| if let Place::Const(bank, n, c) = s.place { Some((bank, n, c)) } else { None }).collect();
    out.sort_unstable();
    out.dedup();
    out
}

fn distinct_halves(constants: &[Constant]) -> usize {
    let half = |(bank, n, c): &Constant| (*bank, *n, *c >> 1);
    constants.chunk_by(|x, y| half(x) == half(y)).count()
}

/// Copies the constants of a piece of code that serve the most operations, until one half is left to each.
fn copy(ops: &mut Vec<Op>, webs: &mut Vec<WebInfo>) {
    // The operations that still read two halves, and what they read.
    let mut crowded: Vec<(usize, SmallVec<[Constant; 8]>)> = ops
        .iter()
        .enumerate()
        .filter(|(_, o)| several(o))
        .map(|(k, o)| (k, constants(o)))
        .filter(|(_, c)| distinct_halves(c) > 1)
        .collect();
    // Copies, and the operations that they stand before.
    let mut copies: Vec<(usize, Op)> = Vec::new();
    let mut readers: BTreeMap<Constant, usize> = BTreeMap::new();
    crowded.iter().flat_map(|(_, all)| all).for_each(|c| *readers.entry(*c).or_default() += 1);
    loop {
        let best = readers.iter().max_by_key(|(c, n)| (**n, Reverse(**c))).filter(|(_, n)| **n >= READERS);
        let Some(best) = best.map(|(c, _)| *c) else { break };
        readers.remove(&best);
        let place = Place::Const(best.0, best.1, best.2);
        let to = Web(webs.len() as u32);
        webs.push(WebInfo::default());
        let mut first = None;
        for (k, all) in crowded.iter_mut().filter(|(_, all)| all.contains(&best)) {
            all.retain(|c| *c != best);
            ops[*k].src.iter_mut().filter(|s| s.place == place).for_each(|s| s.place = Place::Web(to));
            first.get_or_insert(*k);
        }
        crowded.retain(|(_, all)| {
            let still = distinct_halves(all) > 1;
            if !still {
                for c in all {
                    readers.entry(*c).and_modify(|n| *n -= 1);
                }
            }
            still
        });
        let Some(at) = first else { break };
        let mut copy = Op::alu(op2::MOV, &[Opnd { place, neg: false, abs: false }], Some(to));
        copy.span = ops[at].span;
        copies.push((at, copy));
    }
    if copies.is_empty() {
        return;
    }
    copies.sort_by_key(|(at, _)| *at);
    let mut copies = copies.into_iter().peekable();
    for (k, op) in std::mem::take(ops).into_iter().enumerate() {
        ops.extend(std::iter::from_fn(|| copies.next_if(|(at, _)| *at == k)).map(|(_, copy)| copy));
        ops.push(op);
    }
}
