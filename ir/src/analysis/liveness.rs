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
        // Uses per value as blocks: where a block reads a value that it does not define.
        let mut uses: SecondaryMap<Value, Vec<Block>> = SecondaryMap::new();
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
        for b in cfg.rpo() {
            for i in &func.blocks[*b].insts {
                for v in func.reads(*i) {
                    let v = func.resolve(v);
                    if def_block[v] != Some(*b) && uses[v].last() != Some(b) {
                        uses[v].push(*b);
                    }
                }
            }
        }
        let mut seen: EntitySet<Block> = EntitySet::new();
        let mut out_seen: EntitySet<Block> = EntitySet::new();
        for v in func.values.keys() {
            if uses[v].is_empty() {
                continue;
            }
            let def = def_block[v];
            let mut stack = std::mem::take(&mut uses[v]);
            let mut touched = Vec::new();
            while let Some(b) = stack.pop() {
                if !seen.insert(b) {
                    continue;
                }
                touched.push(b);
                me.live_in[b].push(v);
                for e in cfg.preds(b) {
                    if out_seen.insert(e.from) {
                        touched.push(e.from);
                        me.live_out[e.from].push(v);
                    }
                    if Some(e.from) != def {
                        stack.push(e.from);
                    }
                }
            }
            for b in touched {
                seen.remove(b);
                out_seen.remove(b);
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
