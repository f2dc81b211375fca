//! Fetches that do not need each other stand together: before anything shares registers, each piece of code is brought into waves,
//! what the first fetches need, these fetches, what the next ones need, and so on. Coordinates of one wave then live at the same time
//! and keep registers of their own, so that one clause takes them all.

use crate::place::deps::{facts, graph};
use crate::place::sched::CLAUSE_FETCHES;
use crate::select::mir::*;

/// Reorders every piece of code.
pub fn gather(mir: &mut Mir) {
    let mut steps = std::mem::take(&mut mir.steps);
    let all: Vec<u32> = (0..mir.webs.len() as u32).collect();
    each_leaf(&mut steps, &mut |ops| {
        if let Some(order) = waves(ops, mir, &all) {
            let mut old: Vec<Option<Op>> = std::mem::take(ops).into_iter().map(Some).collect();
            ops.extend(order.into_iter().filter_map(|i| old[i].take()));
        }
    });
    mir.steps = steps;
}

/// The new order of a piece of code with several fetches; those that must follow another one directly keep all as it is.
fn waves(ops: &[Op], mir: &Mir, webs: &[u32]) -> Option<Vec<usize>> {
    let fetch = |i: usize| if let Kind::Fetch(f) = &ops[i].kind { Some(f) } else { None };
    let fetches: Vec<usize> = (0..ops.len()).filter(|i| fetch(*i).is_some()).collect();
    if fetches.len() < 2 || fetches.iter().any(|i| fetch(*i).is_some_and(|f| f.joined)) {
        return None;
    }
    let preds = graph(ops, &facts(ops, webs), mir).preds;
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
