//! What no schedule of a piece of code can beat, so that the search for one knows when it is done.

use crate::isa::forms::Unit;
use crate::place::deps::{Facts, Graph, Operand};
use crate::place::sched::{CLAUSE_SLOTS, GROUP_COST, slots};
use crate::place::waves::Wave;
use crate::select::mir::*;
use std::collections::BTreeSet;

/// Groups that hold some operations at least: five slots each, one of them T's.
#[derive(Clone, Copy, Default)]
struct Load {
    slots: u64,
    trans: u64,
}

impl Load {
    fn add(&mut self, op: &Op, facts: &Facts) {
        self.slots += slots(op);
        self.trans += u64::from(facts.unit == Unit::Trans);
    }
    fn groups(self) -> u64 {
        self.slots.div_ceil(5).max(self.trans)
    }
}

/// A cost that no schedule can beat: slots and T operations at five and one a group, halves of constant registers at two, the longest
/// chain, literals paired; and the clauses around fetches, before which everything must have its place that they wait for.
pub fn bound(ops: &[Op], facts: &[Facts], graph: &Graph, waves: &[Wave]) -> u64 {
    // The waves that an operation comes behind, and the wave that it comes before.
    let (mut behind, mut before) = (vec![0; ops.len()], vec![waves.len(); ops.len()]);
    let mut wave = vec![None; ops.len()];
    for (n, w) in waves.iter().enumerate().rev() {
        w.fetches.iter().for_each(|i| wave[*i] = Some(n));
        w.needs.iter().for_each(|i| before[*i] = n);
    }
    for i in 0..ops.len() {
        behind[i] = graph.preds[i].iter().map(|(p, _)| wave[*p].map_or(behind[*p], |n| n + 1)).max().unwrap_or(0);
    }
    // Groups before each operation, and before each wave.
    let mut depth = vec![0u64; ops.len()];
    let (mut groups, mut cuts, mut all) = (0u64, 0u64, Load::default());
    for n in 0..=waves.len() {
        let start = groups;
        let mut between = Load::default();
        for i in (0..ops.len()).filter(|i| behind[*i] == n) {
            let chain = graph.preds[i].iter().map(|(p, lat)| depth[*p] + if facts[*p].alu { u64::from(*lat) } else { 0 });
            depth[i] = chain.max().unwrap_or(0).max(start);
            if facts[i].alu && before[i] == n {
                between.add(&ops[i], &facts[i]);
            }
        }
        for i in (0..ops.len()).filter(|i| facts[*i].alu && before[*i] == n) {
            all.add(&ops[i], &facts[i]);
            groups = groups.max(depth[i] + 1);
        }
        groups = groups.max(start + between.groups()).max(all.groups());
        cuts += u64::from(n < waves.len() && between.slots > 0);
    }
    let (mut words, mut halves) = (BTreeSet::new(), BTreeSet::new());
    for o in facts.iter().filter(|f| f.alu).flat_map(|f| &f.operands) {
        match *o {
            Operand::Literal(b, float) => words.insert(if float { b & 0x7fff_ffff } else { b }),
            Operand::Const(key, ..) => halves.insert(key),
            _ => continue,
        };
    }
    // What only T executes, and what reads constants, stands behind what all of it waits for and before what waits for all of it.
    let between = |of: &dyn Fn(&Facts) -> bool, rows: u64| {
        let those = || (0..ops.len()).filter(|i| facts[*i].alu && of(&facts[*i]));
        let (before, after) = (those().map(|i| depth[i]).min(), those().map(|i| u64::from(graph.groups[i])).min());
        rows + before.unwrap_or(0) + after.unwrap_or(1) - 1
    };
    groups = groups.max(between(&|f| f.unit == Unit::Trans, all.trans));
    groups = groups.max(between(&|f| !f.halves.is_empty(), halves.len().div_ceil(2) as u64));
    let size = all.slots + words.len().div_ceil(2) as u64;
    let clauses = size.div_ceil(CLAUSE_SLOTS as u64);
    8 * (size + waves.len() as u64 + cuts.max(clauses.saturating_sub(1))) + GROUP_COST * groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::{op2, tex};
    use crate::place::deps::{Numbering, facts, graph};
    use crate::place::sched::{Item, schedule};
    use crate::place::waves::waves;
    use retroshade_emit::form::Decoded;

    fn multiply(to: u32, of: u32) -> Op {
        Op::alu(op2::MUL, &[Opnd::web(Web(of)), Opnd::web(Web(of))], Some(Web(to)))
    }
    fn sample(to: u32, at: u32) -> Op {
        let word = Decoded { form: tex::SAMPLE, values: Default::default(), residue: 0 };
        let src = [Coord::Web(Web(at)), Coord::Zero, Coord::Zero, Coord::Zero].into_iter().collect();
        let dst = [Some(Web(to)), None, None, None];
        Op::other(Kind::Fetch(Box::new(Fetch { word, src, quad: None, dst, joined: false, whole_quad: false })))
    }
    fn mir() -> Mir {
        Mir { webs: vec![WebInfo { chan: None, ..WebInfo::default() }; 64], ..Mir::default() }
    }
    fn limit(ops: &[Op]) -> u64 {
        let (mir, mut names) = (mir(), Numbering::default());
        names.start(ops, mir.webs.len());
        let facts = facts(ops, &names);
        let graph = graph(ops, &facts, &mir, &names);
        bound(ops, &facts, &graph, &waves(ops, &facts, &graph, &mir))
    }
    /// What the best schedule costs that is found.
    fn found(ops: &[Op]) -> u64 {
        let found = schedule(ops, &mir(), 10_000, None, &mut Numbering::default(), None);
        let (items, _) = found.expect("fits").expect("it goes on from nothing");
        let cost = |i: &Item| match i {
            Item::Group(g) => GROUP_COST + 8 * (g.slots.len() + g.literals.len().div_ceil(2)) as u64,
            Item::Cut | Item::Fetch(_) => 8,
            Item::Control(_) => 0,
        };
        items.iter().map(cost).sum()
    }

    #[test]
    fn a_chain_through_fetches_needs_all_its_groups_and_clauses() {
        let ops = [multiply(1, 0), sample(2, 1), multiply(3, 2), sample(4, 3), multiply(5, 4)];
        assert_eq!(limit(&ops), 3 * (GROUP_COST + 8) + 2 * 8 + 2 * 8);
        assert_eq!(found(&ops), limit(&ops));
    }

    #[test]
    fn what_no_fetch_waits_for_fills_holes() {
        let mut ops = vec![multiply(1, 0), sample(2, 1), multiply(3, 2)];
        // Room for four beside each of the two that cannot be together.
        ops.extend((10..18).map(|w| multiply(w, 0)));
        assert_eq!(limit(&ops), 2 * GROUP_COST + 8 * 10 + 8 + 8);
        assert_eq!(found(&ops), limit(&ops));
        ops.push(multiply(18, 0));
        assert_eq!(limit(&ops), 3 * GROUP_COST + 8 * 11 + 8 + 8);
        assert_eq!(found(&ops), limit(&ops));
    }

    #[test]
    fn what_only_t_executes_stands_between_what_it_waits_for_and_what_waits_for_it() {
        let sine = |to: u32, of: u32| Op::alu(op2::SIN, &[Opnd::web(Web(of))], Some(Web(to)));
        let mut ops = vec![multiply(1, 0), multiply(2, 0)];
        ops.extend([sine(3, 1), sine(4, 2), sine(5, 1), multiply(6, 3), multiply(7, 4), multiply(8, 5)]);
        assert_eq!(limit(&ops), 5 * GROUP_COST + 8 * 8);
        assert_eq!(found(&ops), limit(&ops));
    }

    #[test]
    fn fetches_that_wait_for_nothing_need_no_clause_before_them() {
        let ops = [sample(1, 0), sample(2, 0), multiply(3, 1), multiply(4, 2)];
        assert_eq!(limit(&ops), GROUP_COST + 8 * 2 + 8);
        assert_eq!(found(&ops), limit(&ops));
    }
}
