//! Fetches that do not need each other stand together: before anything shares registers, each piece of code is brought into waves,
//! what the first fetches need, these fetches, what the next ones need, and so on. Coordinates of one wave then live at the same time
//! and keep registers of their own, so that one clause takes them all.

use crate::isa::forms::{TABLE, TEX};
use crate::place::deps::{Facts, Graph, Numbering, facts, graph};
use crate::place::sched::CLAUSE_FETCHES;
use crate::select::mir::*;
use retroshade_regalloc::order::arrange;
use std::collections::BTreeSet;

/// Reorders every piece of code.
pub fn gather(mir: &mut Mir) {
    let mut steps = std::mem::take(&mut mir.steps);
    let mut names = Numbering::default();
    each_leaf(&mut steps, &mut |ops| {
        if let Some(order) = order(ops, mir, &mut names) {
            arrange(ops, &order);
        }
    });
    mir.steps = steps;
}

/// The new order of a piece of code with several fetches; those that must follow another one directly keep all as it is.
fn order(ops: &[Op], mir: &Mir, names: &mut Numbering) -> Option<Vec<usize>> {
    let fetch = |i: usize| if let Kind::Fetch(f) = &ops[i].kind { Some(f) } else { None };
    let fetches: Vec<usize> = (0..ops.len()).filter(|i| fetch(*i).is_some()).collect();
    if fetches.len() < 2 || fetches.iter().any(|i| fetch(*i).is_some_and(|f| f.joined)) {
        return None;
    }
    names.start(ops, mir.webs.len());
    let preds = graph(ops, &facts(ops, names), mir, names).preds;
    // How many fetches stand one behind the other in front of an operation.
    let mut level = vec![0u32; ops.len()];
    for i in 0..ops.len() {
        level[i] = preds[i].iter().map(|(p, _)| level[*p] + fetch(*p).is_some() as u32).max().unwrap_or(0);
    }
    let mut sorted = fetches;
    sorted.sort_by_key(|i| (level[*i], *i));
    let (mut order, mut done) = (Vec::with_capacity(ops.len()), vec![false; ops.len()]);
    for same in sorted.chunk_by(|a, b| level[*a] == level[*b]) {
        for wave in same.chunks(CLAUSE_FETCHES) {
            let mut before: Vec<usize> = Vec::new();
            let mut work = wave.to_vec();
            while let Some(i) = work.pop() {
                for (p, _) in &preds[i] {
                    if !std::mem::replace(&mut done[*p], true) {
                        before.push(*p);
                        work.push(*p);
                    }
                }
            }
            before.sort_unstable();
            order.extend(before);
            order.extend(wave.iter().filter(|i| !std::mem::replace(&mut done[**i], true)));
        }
    }
    order.extend((0..ops.len()).filter(|i| !done[*i]));
    Some(order)
}

/// Fetches of one clause.
pub struct Wave {
    /// They, in their order.
    pub fetches: Vec<usize>,
    /// The ALU operations that they wait for and no wave before did, in ascending order.
    pub needs: Vec<usize>,
}

/// The fetch clauses of a piece of code: each takes all fetches of one kind that wait for no others, as many as fit.
pub fn waves(ops: &[Op], facts: &[Facts], graph: &Graph, mir: &Mir) -> Vec<Wave> {
    let fetches: Vec<usize> = (0..ops.len()).filter(|i| matches!(ops[*i].kind, Kind::Fetch(_))).collect();
    let joined = |i: usize| matches!(&ops[i].kind, Kind::Fetch(f) if f.joined);
    let texture = |i: usize| mir.emulators || TABLE.form(ops[i].fetch_form()).spaces == TEX;
    let mut done = vec![false; ops.len()];
    let mut out = Vec::new();
    loop {
        let mut wave = Wave { fetches: Vec::new(), needs: Vec::new() };
        let left: Vec<usize> = fetches.iter().copied().filter(|i| !done[*i]).collect();
        // A bundle: a fetch and the ones joined to it, which follow it in program order.
        for bundle in left.chunk_by(|_, b| joined(*b)) {
            let mut before: BTreeSet<usize> = BTreeSet::new();
            let mut work = bundle.to_vec();
            while let Some(i) = work.pop() {
                work.extend(graph.preds[i].iter().map(|(p, _)| *p).filter(|p| !done[*p] && !bundle.contains(p) && before.insert(*p)));
            }
            let same_kind = wave.fetches.first().is_none_or(|w| texture(*w) == texture(bundle[0]));
            let independent = before.iter().all(|i| facts[*i].alu);
            if independent && same_kind && wave.fetches.len() + bundle.len() <= CLAUSE_FETCHES {
                wave.fetches.extend(bundle);
                wave.needs.extend(before);
            }
        }
        if wave.fetches.is_empty() {
            return out;
        }
        wave.needs.sort_unstable();
        wave.needs.dedup();
        wave.fetches.iter().chain(&wave.needs).for_each(|i| done[*i] = true);
        out.push(wave);
    }
}
