//! regalloc2's checker over anybody's allocation.
//!
//! Machines whose registers are split into lanes, or whose placement is settled together with packing or scheduling, place
//! their scalars themselves. They describe the result here: which *name* each operation reads and writes in which *place*,
//! both plain numbers, one per scalar. A place becomes a spill slot and every operand may be anywhere, so the checker can
//! hold as many places as a machine has lanes; it then proves that every read finds the value that the program means.

use crate::program::ProgramBuilder;
use regalloc2::checker::Checker;
use regalloc2::{
    Allocation, Function, MachineEnv, Operand, OperandConstraint, OperandKind, OperandPos, Output, PRegSet, RegClass, SpillSlot, VReg,
};
use std::collections::BTreeSet;

/// A name in a place.
pub type At = (u32, u32);

/// One operation after allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reads, then writes.
    Op {
        /// Read before anything is written.
        uses: Vec<At>,
        /// Read when the results may be there already.
        late: Vec<At>,
        /// Written.
        defs: Vec<At>,
    },
    /// Copies that cost nothing because both names have the same place: (new, old), all at once.
    Rename(Vec<(u32, u32)>),
}

/// A block after allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Operations in order.
    pub steps: Vec<Step>,
    /// Successors.
    pub succs: Vec<usize>,
}

/// A program after allocation. Block 0 is the entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Blocks.
    pub blocks: Vec<Block>,
    /// What is there at the start, inputs and undefined values alike.
    pub entry: Vec<At>,
}

impl Placed {
    /// Names that a path reads before it writes them: a caller may have to add them to `entry`.
    pub fn live_at_entry(&self) -> BTreeSet<u32> {
        let mut live: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); self.blocks.len()];
        loop {
            let mut changed = false;
            for b in (0..self.blocks.len()).rev() {
                let mut now: BTreeSet<u32> = self.blocks[b].succs.iter().flat_map(|s| live[*s].iter().copied()).collect();
                for step in self.blocks[b].steps.iter().rev() {
                    match step {
                        Step::Op { uses, late, defs } => {
                            defs.iter().for_each(|d| {
                                now.remove(&d.0);
                            });
                            now.extend(uses.iter().chain(late).map(|u| u.0));
                        }
                        Step::Rename(list) => {
                            // Old names are needed only where the new ones are.
                            let wanted: Vec<u32> = list.iter().filter(|(new, _)| now.contains(new)).map(|(_, old)| *old).collect();
                            list.iter().for_each(|(new, _)| {
                                now.remove(new);
                            });
                            now.extend(wanted);
                        }
                    }
                }
                if now != live[b] {
                    live[b] = now;
                    changed = true;
                }
            }
            if !changed {
                return live.into_iter().next().unwrap_or_default();
            }
        }
    }

    /// Blocks that control can get to, in reverse post-order: the checker wants to see a block after one that leads to it.
    fn order(&self) -> Vec<usize> {
        let mut seen = vec![false; self.blocks.len()];
        let mut out = Vec::new();
        // Each entry: a block and how many of its successors were followed.
        let mut work = Vec::new();
        if let Some(first) = seen.first_mut() {
            *first = true;
            work.push((0, 0));
        }
        while let Some((b, n)) = work.pop() {
            match self.blocks[b].succs.get(n) {
                Some(s) => {
                    work.push((b, n + 1));
                    if seen.get(*s) == Some(&false) {
                        seen[*s] = true;
                        work.push((*s, 0));
                    }
                }
                None => out.push(b),
            }
        }
        out.reverse();
        out
    }

    /// Runs the checker. The error says which read finds what. Code that control cannot get to proves nothing and is left out.
    pub fn judge(&self) -> Result<(), String> {
        let order = self.order();
        // Renames are what jumps do with block parameters, so each ends a block.
        // Block 0 is the prologue that defines what is there at the start.
        let mut first = vec![0u32; self.blocks.len()];
        let mut next = 1;
        for b in &order {
            first[*b] = next;
            next += 1 + self.blocks[*b].steps.iter().filter(|s| matches!(s, Step::Rename(_))).count() as u32;
        }
        let vreg = |n: u32| VReg::new(n as usize, RegClass::Int);
        let operand = |n: u32, kind, pos| Operand::new(vreg(n), OperandConstraint::Any, kind, pos);
        let names = self.names();
        let mut p = ProgramBuilder::new(vec![RegClass::Int; names as usize], [1; 3]);
        let mut allocs: Vec<Allocation> = Vec::new();
        let mut offsets: Vec<u32> = Vec::new();
        let mut inst = |p: &mut ProgramBuilder, uses: &[At], late: &[At], defs: &[At], to: Option<Vec<(u32, Vec<VReg>)>>| {
            let lists = [
                (uses, OperandKind::Use, OperandPos::Early),
                (late, OperandKind::Use, OperandPos::Late),
                (defs, OperandKind::Def, OperandPos::Late),
            ];
            offsets.push(allocs.len() as u32);
            let mut operands = Vec::new();
            for (list, kind, pos) in lists {
                operands.extend(list.iter().map(|(n, _)| operand(*n, kind, pos)));
                allocs.extend(list.iter().map(|(_, place)| Allocation::stack(SpillSlot::new(*place as usize))));
            }
            match to {
                Some(to) => p.terminate(&operands, PRegSet::empty(), to),
                None => p.inst(&operands, PRegSet::empty()),
            }
        };
        p.block(Vec::new(), 0);
        inst(&mut p, &[], &[], &self.entry, None);
        inst(&mut p, &[], &[], &[], Some(if self.blocks.is_empty() { Vec::new() } else { vec![(1, Vec::new())] }));
        for b in order {
            let (block, mut at) = (&self.blocks[b], first[b]);
            p.block(Vec::new(), 0);
            for step in &block.steps {
                match step {
                    Step::Op { uses, late, defs } => inst(&mut p, uses, late, defs, None),
                    Step::Rename(list) => {
                        at += 1;
                        inst(&mut p, &[], &[], &[], Some(vec![(at, list.iter().map(|(_, old)| vreg(*old)).collect())]));
                        p.block(list.iter().map(|(new, _)| vreg(*new)).collect(), 0);
                    }
                }
            }
            inst(&mut p, &[], &[], &[], Some(block.succs.iter().map(|s| (first[*s], Vec::new())).collect()));
        }
        let program = p.finish();
        let output = Output { allocs, inst_alloc_offsets: offsets, num_spillslots: self.places() as usize, ..Output::default() };
        let env = MachineEnv {
            preferred_regs_by_class: [PRegSet::empty(); 3],
            non_preferred_regs_by_class: [PRegSet::empty(); 3],
            scratch_by_class: [None; 3],
            fixed_stack_slots: Vec::new(),
        };
        debug_assert_eq!(output.inst_alloc_offsets.len(), program.num_insts());
        let mut checker = Checker::new(&program, &env);
        checker.prepare(&output);
        checker.run().map_err(|e| format!("the checker rejects the placement: {e:?}"))
    }

    fn all(&self) -> impl Iterator<Item = At> + '_ {
        let steps = self.blocks.iter().flat_map(|b| &b.steps).flat_map(|s| match s {
            Step::Op { uses, late, defs } => uses.iter().chain(late).chain(defs).copied().collect::<Vec<At>>(),
            Step::Rename(list) => list.iter().map(|(new, old)| (*new.max(old), 0)).collect(),
        });
        self.entry.iter().copied().chain(steps)
    }
    fn names(&self) -> u32 {
        self.all().map(|a| a.0 + 1).max().unwrap_or(0)
    }
    fn places(&self) -> u32 {
        self.all().map(|a| a.1 + 1).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(uses: &[At], defs: &[At]) -> Step {
        Step::Op { uses: uses.to_vec(), late: Vec::new(), defs: defs.to_vec() }
    }

    /// A loop that adds `1` to `0` in place; the exit reads both.
    fn counter(step: Vec<Step>) -> Placed {
        let body = Block { steps: step, succs: vec![1, 2] };
        let exit = Block { steps: vec![op(&[(0, 0), (1, 1)], &[])], succs: vec![] };
        Placed { blocks: vec![Block { steps: vec![], succs: vec![1] }, body, exit], entry: vec![(0, 0), (1, 1)] }
    }

    #[test]
    fn a_right_placement_passes() {
        assert_eq!(counter(vec![op(&[(0, 0), (1, 1)], &[(0, 0)])]).judge(), Ok(()));
    }

    #[test]
    fn an_overwritten_value_is_found() {
        let wrong = counter(vec![op(&[(0, 0), (1, 1)], &[(2, 1)]), op(&[(2, 1)], &[(0, 0)])]);
        assert!(wrong.judge().is_err());
    }

    #[test]
    fn a_value_lost_on_one_path_is_found() {
        let split = Block { steps: vec![], succs: vec![1, 2] };
        let spoils = Block { steps: vec![op(&[], &[(1, 0)])], succs: vec![2] };
        let reads = Block { steps: vec![op(&[(0, 0)], &[])], succs: vec![] };
        let p = Placed { blocks: vec![split, spoils, reads], entry: vec![(0, 0)] };
        assert!(p.judge().is_err());
    }

    #[test]
    fn a_late_read_must_not_share_the_result_s_place() {
        let late = |place| Placed {
            blocks: vec![Block { steps: vec![Step::Op { uses: vec![], late: vec![(0, 0)], defs: vec![(1, place)] }], succs: vec![] }],
            entry: vec![(0, 0)],
        };
        assert_eq!(late(1).judge(), Ok(()));
        assert!(late(0).judge().is_err());
    }

    #[test]
    fn unreachable_code_is_left_out() {
        let end = Block::default();
        let lost = Block { steps: vec![op(&[(5, 5)], &[])], succs: vec![0] };
        assert_eq!(Placed { blocks: vec![end, lost], entry: vec![] }.judge(), Ok(()));
    }

    #[test]
    fn blocks_may_come_in_any_order() {
        // The exit is listed before the block that leads to it.
        let blocks = vec![
            Block { steps: vec![op(&[], &[(0, 0)])], succs: vec![2] },
            Block { steps: vec![op(&[], &[(1, 1)]), op(&[(0, 0), (1, 1)], &[])], succs: vec![] },
            Block { steps: vec![], succs: vec![1] },
        ];
        assert_eq!(Placed { blocks, entry: vec![] }.judge(), Ok(()));
    }

    #[test]
    fn renamed_values_keep_both_names() {
        let steps = vec![Step::Rename(vec![(1, 0)]), op(&[(0, 0), (1, 0)], &[])];
        let p = Placed { blocks: vec![Block { steps, succs: vec![] }], entry: vec![(0, 0)] };
        assert_eq!(p.judge(), Ok(()));
        assert_eq!(p.live_at_entry(), BTreeSet::from([0]));
    }
}
