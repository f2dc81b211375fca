//! Constants in registers. A group reads two halves of constant registers, so operations that name two of them by themselves fill few
//! of its slots: a matrix that is inverted, say. Where many operations do, those of their constants that several name are copied first.

use crate::isa::forms::op2;
use crate::select::mir::*;
use std::collections::{BTreeMap, BTreeSet};

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

/// Halves of constant registers that an operation reads.
fn halves(op: &Op) -> usize {
    constants(op).map(|(bank, n, c)| (bank, n, c >> 1)).collect::<BTreeSet<_>>().len()
}

fn constants(op: &Op) -> impl Iterator<Item = (u8, u16, u8)> {
    let read = op.src.iter().filter(|_| op.is_alu());
    read.filter_map(|s| if let Place::Const(bank, n, c) = s.place { Some((bank, n, c)) } else { None })
}

/// Copies the constants of a piece of code that serve the most operations, until one half is left to each.
fn copy(ops: &mut Vec<Op>, webs: &mut Vec<WebInfo>) {
    loop {
        let mut readers: BTreeMap<(u8, u16, u8), usize> = BTreeMap::new();
        for op in ops.iter().filter(|o| halves(o) > 1) {
            constants(op).collect::<BTreeSet<_>>().into_iter().for_each(|c| *readers.entry(c).or_default() += 1);
        }
        let best = readers.iter().max_by_key(|(c, n)| (**n, std::cmp::Reverse(**c)));
        let Some(((bank, n, c), _)) = best.filter(|(_, n)| **n >= READERS) else { return };
        let place = Place::Const(*bank, *n, *c);
        let to = Web(webs.len() as u32);
        webs.push(WebInfo::default());
        let mut first = None;
        for (k, op) in ops.iter_mut().enumerate().filter(|(_, o)| halves(o) > 1) {
            for s in op.src.iter_mut().filter(|s| s.place == place) {
                s.place = Place::Web(to);
                first.get_or_insert(k);
            }
        }
        let Some(at) = first else { return };
        let mut copy = Op::alu(op2::MOV, &[Opnd { place, neg: false, abs: false }], Some(to));
        copy.span = ops[at].span;
        ops.insert(at, copy);
    }
}
