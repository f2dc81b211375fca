//! Natural loops with their nesting, and the test for reducibility.

use super::cfg::{Cfg, Edge};
use super::domtree::DomTree;
use crate::entities::{Block, Inst, Value};
use crate::function::{Function, ValueDef};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap, entity_impl};

/// A natural loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(u32);
entity_impl!(LoopId, "loop");

/// What is known about a loop.
#[derive(Clone, Debug)]
pub struct LoopData {
    /// The block through which it is entered.
    pub header: Block,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// Edges back to the header.
    pub latches: Vec<Edge>,
    /// Place of its blocks (those of inner loops included) in the common list.
    range: std::ops::Range<usize>,
}

/// The loops of a function.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    loops: PrimaryMap<LoopId, LoopData>,
    innermost: SecondaryMap<Block, Option<LoopId>>,
    blocks: Vec<Block>,
    irreducible: Option<Edge>,
}

impl Loops {
    /// Finds all loops; outer loops have smaller numbers than the loops in them.
    pub fn new(cfg: &Cfg, dom: &DomTree) -> Loops {
        let mut me = Loops::default();
        // Back edges, by header in reverse post-order.
        for (n, header) in cfg.rpo().iter().enumerate() {
            let retreating = cfg.preds(*header).iter().copied().filter(|e| cfg.rpo_index(e.from).is_some_and(|k| k >= n));
            let (back, odd): (Vec<Edge>, Vec<Edge>) = retreating.partition(|e| dom.dominates(*header, e.from));
            if me.irreducible.is_none() {
                me.irreducible = odd.first().copied();
            }
            if !back.is_empty() {
                me.loops.push(LoopData { header: *header, parent: None, depth: 0, latches: back, range: 0..0 });
            }
        }
        // Bodies, inner loops first: a block that already belongs to a loop stands for that loop's outermost ancestor so far.
        let mut outer: SecondaryMap<LoopId, Option<LoopId>> = SecondaryMap::new(); // with path compression
        let ids: Vec<LoopId> = me.loops.keys().collect();
        for id in ids.iter().rev().copied() {
            let header = me.loops[id].header;
            let mut stack: Vec<Block> = me.loops[id].latches.iter().map(|e| e.from).collect();
            while let Some(b) = stack.pop() {
                if !dom.dominates(header, b) {
                    continue; // an entry into the side of an irreducible region
                }
                let from = match me.innermost[b] {
                    None => {
                        me.innermost[b] = Some(id);
                        b
                    }
                    Some(inner) => {
                        let top = root(&mut outer, inner);
                        if top == id {
                            continue;
                        }
                        outer[top] = Some(id);
                        me.loops[top].parent = Some(id);
                        me.loops[top].header
                    }
                };
                if from != header {
                    stack.extend(cfg.preds(from).iter().map(|e| e.from));
                }
            }
            // A header whose loop is entered first must count as its own block.
            if me.innermost[header].is_none() {
                me.innermost[header] = Some(id);
            }
        }
        me.number(cfg);
        me
    }

    /// Depths, and the list in which every loop's blocks are contiguous.
    fn number(&mut self, cfg: &Cfg) {
        let mut own: SecondaryMap<LoopId, Vec<Block>> = SecondaryMap::new();
        for b in cfg.rpo() {
            if let Some(l) = self.innermost[*b] {
                own[l].push(*b);
            }
        }
        let mut kids: SecondaryMap<LoopId, Vec<LoopId>> = SecondaryMap::new();
        let mut roots = Vec::new();
        let ids: Vec<LoopId> = self.loops.keys().collect();
        for l in ids {
            match self.loops[l].parent {
                Some(p) => kids[p].push(l),
                None => roots.push(l),
            }
        }
        let mut stack: Vec<(LoopId, usize, u32)> = roots.into_iter().rev().map(|l| (l, 0, 1)).collect();
        while let Some((l, k, depth)) = stack.last().copied() {
            if k == 0 {
                self.loops[l].depth = depth;
                self.loops[l].range.start = self.blocks.len();
                self.blocks.append(&mut own[l]);
            }
            match kids[l].get(k).copied() {
                Some(c) => {
                    if let Some(top) = stack.last_mut() {
                        top.1 += 1;
                    }
                    stack.push((c, 0, depth + 1));
                }
                None => {
                    self.loops[l].range.end = self.blocks.len();
                    stack.pop();
                }
            }
        }
    }
    /// All loops, outer ones before the loops in them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (LoopId, &LoopData)> + '_ {
        self.loops.iter()
    }
    /// Whether there is no loop.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }
    /// A loop's data.
    pub fn data(&self, l: LoopId) -> &LoopData {
        &self.loops[l]
    }
    /// The innermost loop around a block.
    pub fn of(&self, b: Block) -> Option<LoopId> {
        self.innermost[b]
    }
    /// How many loops are around a block.
    pub fn depth(&self, b: Block) -> u32 {
        self.of(b).map_or(0, |l| self.loops[l].depth)
    }
    /// A loop's blocks, the header first, those of inner loops last.
    pub fn blocks(&self, l: LoopId) -> &[Block] {
        &self.blocks[self.loops[l].range.clone()]
    }
    /// Whether a loop contains a block.
    pub fn contains(&self, l: LoopId, b: Block) -> bool {
        // Ranges nest, so comparing the innermost loop's range is enough.
        let outer = &self.loops[l].range;
        self.of(b).is_some_and(|i| outer.start <= self.loops[i].range.start && self.loops[i].range.end <= outer.end)
    }
    /// Whether a loop defines a value; `block_of` as [`inst_blocks`](super::domtree::inst_blocks) gives it. What cannot be told, since
    /// its instruction is not in the layout, counts as defined in every loop.
    pub fn defines(&self, l: LoopId, func: &Function, block_of: &SecondaryMap<Inst, Option<Block>>, v: Value) -> bool {
        match func.def(v) {
            ValueDef::Result(i, _) => block_of[i].is_none_or(|b| self.contains(l, b)),
            ValueDef::Param(b, _) => self.contains(l, b),
            ValueDef::Alias(_) => true,
        }
    }
    /// Edges that leave a loop.
    pub fn exits(&self, func: &Function, l: LoopId) -> Vec<Edge> {
        let mut out = Vec::new();
        for b in self.blocks(l) {
            for (k, t) in func.successors(*b).iter().enumerate() {
                if !self.contains(l, t.block) {
                    out.push(Edge { from: *b, target: k as u32 });
                }
            }
        }
        out
    }
    /// Whether control may come from a block to one of the `wanted` loops that the block is not in.
    pub fn any_ahead(&self, func: &Function, from: Block, wanted: impl Fn(LoopId) -> bool) -> bool {
        let (mut seen, mut work) = (EntitySet::new(), vec![from]);
        while let Some(b) = work.pop() {
            if self.of(b).is_some_and(|l| !self.contains(l, from) && wanted(l)) {
                return true;
            }
            work.extend(func.successors(b).iter().map(|t| t.block).filter(|t| seen.insert(*t)));
        }
        false
    }
    /// Whether every cycle is entered only through its header.
    pub fn is_reducible(&self) -> bool {
        self.irreducible.is_none()
    }
    /// An edge that closes a cycle with several entries, if there is one.
    pub fn irreducible_edge(&self) -> Option<Edge> {
        self.irreducible
    }
}

fn root(outer: &mut SecondaryMap<LoopId, Option<LoopId>>, l: LoopId) -> LoopId {
    let mut top = l;
    while let Some(up) = outer[top] {
        top = up;
    }
    let mut at = l;
    while let Some(up) = outer[at] {
        if up != top {
            outer[at] = Some(top);
        }
        at = up;
    }
    top
}
