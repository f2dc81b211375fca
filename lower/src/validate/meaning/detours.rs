//! Places to which no inputs were found: branches are turned until they are reached, in the IR and at the same branches of the code.
//!
//! ```text
//!   a set that reaches a branch, and the side of it that nothing took ─▶ a detour that takes it ─▶ further branches, and so on
//!   programs that take too long ─▶ loops are left after some rounds
//! ```
//! A path that no inputs take is no reason for a fault by itself: code may rely on what holds wherever a path can come. So integers must keep to
//! their known ranges there, and invocations that a barrier binds turn together.

use crate::CompiledShader;
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::{Cfg, DomTree, Loops, Ranges};
use retroshade_ir::interp::{Branch, Detour, Outcome, Visit};
use retroshade_ir::{FuncId, Inst, Module, Opcode, ShaderEnv};
use std::collections::{BTreeMap, BTreeSet};

/// Visits of a branch after which an invocation leaves the loop there.
const ROUNDS: u32 = 3;

/// The branches of a program that its code can be turned at.
pub(super) struct Branches {
    known: BTreeMap<(FuncId, Inst), Branch>,
    /// Those that stand in a loop and lead out of it, by which side.
    leave: Vec<(Branch, u32)>,
}

impl Branches {
    pub fn new(shader: &CompiledShader, legal: &Module) -> Branches {
        let named: BTreeSet<Branch> = shader.branches.iter().map(|b| b.1).collect();
        let (mut known, mut leave) = (BTreeMap::new(), Vec::new());
        for (func, f) in legal.functions.iter() {
            let cfg = Cfg::new(f);
            let loops = Loops::new(&cfg, &DomTree::new(f, &cfg));
            for branch in f.layout.iter().map(|b| Branch { func, block: *b }).filter(|b| named.contains(b)) {
                let Some(last) = f.terminator(branch.block).filter(|i| f.insts[*i].op == Opcode::BrIf) else { continue };
                known.insert((func, last), branch);
                let Some(around) = loops.of(branch.block) else { continue };
                let mut sides = (0..).zip(f.successors(branch.block));
                leave.extend(sides.find(|(_, s)| !loops.contains(around, s.block)).map(|(side, _)| (branch, side)));
            }
        }
        Branches { known, leave }
    }
    /// Whether an outcome is that of one of them.
    pub fn has(&self, outcome: Outcome) -> bool {
        self.known.contains_key(&(outcome.func, outcome.inst))
    }
    /// Leaves every loop after some rounds.
    pub fn briefly(&self) -> Detour {
        let mut detour = Detour::default();
        self.leave.iter().for_each(|(branch, side)| detour.send(*branch, ROUNDS..u32::MAX, *side));
        detour
    }
    /// A detour that goes on from another to an outcome, if that is one of a branch at which code can be turned.
    pub fn towards(&self, outcome: Outcome, from: &Detour) -> Option<Detour> {
        let branch = self.known.get(&(outcome.func, outcome.inst))?;
        let mut detour = from.again();
        detour.send(*branch, 0..1, outcome.which);
        Some(detour)
    }
}

/// What is known of the integers of a module's functions.
pub(super) fn ranges(legal: &Module) -> SecondaryMap<FuncId, Ranges> {
    let mut out = SecondaryMap::new();
    for (id, f) in legal.functions.iter() {
        out[id] = Ranges::new(legal, f);
    }
    out
}

/// Whether all invocations turn at the same visits of the same branches, or none does.
pub(super) fn together(turned: &BTreeSet<Visit>, env: &ShaderEnv, size: [u32; 3]) -> bool {
    let invocations = env.threads_of(size).len();
    let mut by_place: BTreeMap<(Branch, u32), usize> = BTreeMap::new();
    turned.iter().for_each(|v| *by_place.entry((v.branch, v.nth)).or_default() += 1);
    by_place.values().all(|n| *n == invocations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use retroshade_ir::Block;

    #[test]
    fn all_turn_or_none() {
        let branch = Branch { func: FuncId::from_u32(0), block: Block::from_u32(1) };
        let visits =
            |list: &[(u32, u32)]| list.iter().map(|(invocation, nth)| Visit { invocation: *invocation, branch, nth: *nth }).collect();
        let of = |list: &[(u32, u32)]| together(&visits(list), &ShaderEnv::default(), [2, 1, 1]);
        assert!(of(&[]) && of(&[(0, 3), (1, 3)]) && of(&[(0, 3), (1, 3), (0, 4), (1, 4)]));
        assert!(!of(&[(0, 3)]) && !of(&[(0, 3), (1, 4)]) && !of(&[(0, 3), (1, 3), (1, 4)]));
    }
}
