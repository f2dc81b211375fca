//! Signs: an operand has one for all its lanes, so an operation whose lanes differ in it is one instruction for each sign. Where a value
//! is made the other way round, those that read it may agree.
//!
//! ```text
//!   n = d s                                   m.x = -d.y s,  m.y = d.x s
//!   (-n.y w + p.x,  n.x w + p.y)        ▶     m w + p
//!   ( n.y w + p.x, -n.x w + p.y)             -m w + p
//! ```

use crate::isa::forms::Op;
use crate::place::lanes::{definitions, push_negation};
use crate::select::mir::*;
use indexmap::IndexMap;

/// Most temporaries that are offered: each is a trial.
const MOST: usize = 8;

/// The operation that makes a temporary, if the negated value could be made and read in its place.
fn maker(p: &Program, defs: &[Makers], t: Tmp) -> Option<(usize, usize)> {
    let [(b, n)] = defs[t as usize][..] else { return None };
    let node = &p.blocks[b].nodes[n];
    (node.dests.len() == 1 && node.test.is_none() && push_negation(&mut node.clone())).then_some((b, n))
}

/// Whether only operands of operations read a temporary, not tests, indices or procedures.
fn only_operands(p: &Program, t: Tmp) -> bool {
    let r = Ref::tmp(t);
    let tested = |t: &Test| t.refs().iter().any(|x| x.leaf == r.leaf);
    let elsewhere = |n: &Node| n.test.as_ref().is_some_and(tested) || n.op == Op::Call && n.reads().any(|x| x.leaf == r.leaf);
    let procedures = p.procedures.iter().any(|q| q.params.contains(&t) || q.results.contains(&t));
    let blocks = p.blocks.iter().any(|b| b.keeps.contains(&t) || b.test.as_ref().is_some_and(tested) || b.nodes.iter().any(elsewhere));
    !procedures && !blocks && p.indices.iter().all(|i| i.leaf != r.leaf)
}

/// Temporaries that stand negated beside others that do not in operands of one vector operation.
pub fn mixed(p: &Program) -> Vec<Tmp> {
    let defs = definitions(p);
    let mut found: Vec<Tmp> = Vec::new();
    for b in &p.blocks {
        let mut operands: IndexMap<(u32, Op, usize), Vec<Ref>> = IndexMap::new();
        for n in b.nodes.iter().filter(|n| n.elementwise() && n.op != Op::Mov && n.bundle != u32::MAX) {
            for (k, s) in n.srcs.iter().enumerate() {
                operands.entry((n.bundle, n.op, k)).or_default().extend(s.iter().filter(|r| r.as_tmp().is_some()));
            }
        }
        for lanes in operands.values() {
            let mixed = lanes.iter().any(|r| r.neg) && lanes.iter().any(|r| !r.neg);
            found.extend(lanes.iter().filter(|r| mixed && r.neg).filter_map(|r| r.as_tmp()));
        }
    }
    found.sort();
    found.dedup();
    found.retain(|t| maker(p, &defs, *t).is_some() && only_operands(p, *t));
    found.truncate(MOST);
    found
}

/// Makes a temporary's negated value, and negates it wherever it is read.
pub fn negate(p: &mut Program, t: Tmp) {
    let Some((b, n)) = maker(p, &definitions(p), t) else { return };
    push_negation(&mut p.blocks[b].nodes[n]);
    for r in p.blocks.iter_mut().flat_map(|b| &mut b.nodes).flat_map(|n| &mut n.srcs).flatten() {
        if r.as_tmp() == Some(t) {
            *r = r.negated();
        }
    }
    p.fired.note("signs.negate");
}
