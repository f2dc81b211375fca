//! Which values are live where a block begins and ends, and how many at most within it.

use super::cfg::Cfg;
use crate::entities::{Block, Value};
use crate::function::Function;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Live values at block boundaries.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    live_in: SecondaryMap<Block, Vec<Value>>,
    live_out: SecondaryMap<Block, Vec<Value>>,
}

impl Liveness {
    /// Walks back from every use to the definition: work is proportional to the size of the result.
    pub fn new(func: &Function, cfg: &Cfg) -> Liveness {
        let mut me = Liveness::default();
        let mut def_block: SecondaryMap<Value, Option<Block>> = SecondaryMap::new();
        for b in cfg.rpo() {
            for p in &func.blocks[*b].params {
                def_block[*p] = Some(*b);
            }
            for i in &func.blocks[*b].insts {
                for r in &func.insts[*i].results {
                    def_block[*r] = Some(*b);
                }
            }
        }
        // Values that a block reads and does not define, with the block.
        let mut demand: Vec<(Value, Block)> = Vec::new();
        for b in cfg.rpo() {
            for i in &func.blocks[*b].insts {
                let reads = func.reads(*i).into_iter().map(|v| func.resolve(v));
                demand.extend(reads.filter(|v| def_block[*v] != Some(*b)).map(|v| (v, *b)));
            }
        }
        demand.sort_unstable();
        demand.dedup();
        let mut work = Vec::new();
        for (v, b) in demand {
            work.push(b);
            while let Some(b) = work.pop() {
                // Values come in ascending order, so a block has this one already if it has it last.
                if me.live_in[b].last() == Some(&v) {
                    continue;
                }
                me.live_in[b].push(v);
                for e in cfg.preds(b) {
                    if me.live_out[e.from].last() != Some(&v) {
                        me.live_out[e.from].push(v);
                    }
                    if Some(e.from) != def_block[v] {
                        work.push(e.from);
                    }
                }
            }
        }
        me
    }
    /// Values that a block needs from before it, in order of their numbers; its parameters are not among them.
    pub fn live_in(&self, b: Block) -> &[Value] {
        &self.live_in[b]
    }
    /// Values that blocks after this one need, in order of their numbers; arguments of its own branches are not among them.
    pub fn live_out(&self, b: Block) -> &[Value] {
        &self.live_out[b]
    }
    /// The largest number of lanes that are live at once within a block.
    pub fn pressure(&self, func: &Function, b: Block) -> u32 {
        let mut live: EntitySet<Value> = EntitySet::new();
        let mut lanes = 0u32;
        let add = |live: &mut EntitySet<Value>, lanes: &mut u32, v: Value| {
            if live.insert(v) {
                *lanes += u32::from(func.ty(v).lanes);
            }
        };
        for v in self.live_out(b) {
            add(&mut live, &mut lanes, *v);
        }
        let mut most = lanes;
        for i in func.blocks[b].insts.iter().rev() {
            for r in &func.insts[*i].results {
                if live.remove(*r) {
                    lanes -= u32::from(func.ty(*r).lanes);
                }
            }
            for v in func.reads(*i) {
                add(&mut live, &mut lanes, func.resolve(v));
            }
            most = most.max(lanes);
        }
        most
    }
}
