//! Texture reads and loads one behind the other, so that one wait serves several and their delays pass together.
//!
//! ```text
//!     t = read a                 t = read a
//!     use t                      b = …
//!     b = …              →       u = read b
//!     u = read b                 use t
//!     use u                      use u
//! ```
//!
//! A read whose operands do not depend on what is on its way is made right behind it, together with what computes its operands.

use crate::legal::precision::direct_sample;
use retroshade_ir::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Registers that may be on their way at a time: more would be missed elsewhere.
const MOST: u32 = 24;
/// How far ahead further reads are looked for.
const REACH: usize = 200;

/// Brings the reads of each block of a module's entry function together.
pub fn run(m: &mut Module) {
    let entry = m.entry;
    for b in m.functions[entry].layout.clone() {
        let order = block(m, b);
        m.functions[entry].blocks[b].insts = order;
    }
}

/// Registers that a read brings; none for everything else.
fn brings(m: &Module, i: Inst) -> Option<u32> {
    let f = &m.functions[m.entry];
    let d = &f.insts[i];
    let fetches = match d.op {
        // What is read before the program starts is there.
        Opcode::Tex => direct_sample(f, i, &m.textures, &m.inputs).is_none(),
        Opcode::Uniform => !d.args.is_empty(),
        _ => false,
    };
    let ty = f.ty(*d.results.first()?);
    let lanes = if d.op == Opcode::Tex { 4 } else { u32::from(ty.lanes) };
    fetches.then_some(if ty.scalar == Scalar::F16 { lanes.div_ceil(2) } else { lanes })
}

/// The instructions of a block in their new order.
fn block(m: &Module, b: Block) -> Vec<Inst> {
    let f = &m.functions[m.entry];
    let mut rest: VecDeque<Inst> = f.blocks[b].insts.iter().copied().collect();
    let mut out = Vec::with_capacity(rest.len());
    let moves = |i: Inst| matches!(f.insts[i].op.effect(), Effect::Pure | Effect::Convergent);
    while let Some(i) = rest.pop_front() {
        out.push(i);
        let Some(own) = brings(m, i) else { continue };
        let mut room = MOST.saturating_sub(own);
        let mut flying: BTreeSet<Value> = f.insts[i].results.iter().copied().collect();
        let mut n = 0;
        while n < rest.len().min(REACH) && moves(rest[n]) {
            let wanted = brings(m, rest[n]).filter(|r| *r <= room).and_then(|r| Some((r, needed(m, &rest, n, &flying)?)));
            let Some((registers, places)) = wanted else {
                n += 1;
                continue;
            };
            room -= registers;
            flying.extend(f.insts[rest[n]].results.iter().copied());
            out.extend(places.iter().filter_map(|p| rest.get(*p).copied()));
            let mut at = 0;
            rest.retain(|_| {
                at += 1;
                !places.contains(&(at - 1))
            });
            n = n + 1 - places.len();
        }
    }
    out
}

/// The places up to `n` of what must be made for it, itself included; none where that waits for something on its way.
fn needed(m: &Module, rest: &VecDeque<Inst>, n: usize, flying: &BTreeSet<Value>) -> Option<BTreeSet<usize>> {
    let f = &m.functions[m.entry];
    let made: BTreeMap<Value, usize> =
        rest.iter().take(n).enumerate().flat_map(|(at, i)| f.insts[*i].results.iter().map(move |r| (*r, at))).collect();
    let mut places = BTreeSet::from([n]);
    let mut work = vec![n];
    while let Some(at) = work.pop() {
        for v in f.reads(rest[at]) {
            let v = f.resolve(v);
            if flying.contains(&v) {
                return None;
            }
            if let Some(from) = made.get(&v).filter(|from| places.insert(**from)) {
                if brings(m, rest[*from]).is_some() {
                    return None;
                }
                work.push(*from);
            }
        }
    }
    Some(places)
}
