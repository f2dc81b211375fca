//! Predecessors, reachability, reverse post-order, and the splitting of critical edges.

use crate::entities::{Block, Inst};
use crate::function::Function;
use crate::inst::{BlockCall, Imm, InstData};
use crate::opcode::Opcode;
use cranelift_entity::packed_option::ReservedValue;
use cranelift_entity::{EntityRef, SecondaryMap};
use smallvec::SmallVec;

/// A control-flow edge: the block that branches and which of its targets is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The block that branches.
    pub from: Block,
    /// Index into the terminator's targets.
    pub target: u32,
}

/// The control-flow graph of the blocks that the entry reaches.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    rpo: Vec<Block>,
    index: SecondaryMap<Block, u32>,
    /// Edges by the block that they enter, and where each block's begin.
    edges: Vec<Edge>,
    starts: Vec<u32>,
}

impl Cfg {
    /// Walks the function from its entry. Blocks without a terminator count as ends.
    pub fn new(func: &Function) -> Cfg {
        let mut cfg = Cfg { index: SecondaryMap::with_default(u32::MAX), ..Cfg::default() };
        let Some(entry) = func.entry() else { return cfg };
        cfg.index.resize(func.blocks.len());
        cfg.rpo = reverse_post_order(func);
        let mut next = vec![0u32; func.blocks.len() + 1];
        for (n, b) in cfg.rpo.iter().enumerate() {
            cfg.index[*b] = n as u32;
            func.successors(*b).iter().for_each(|t| next[t.block.as_u32() as usize + 1] += 1);
        }
        for n in 1..next.len() {
            next[n] += next[n - 1];
        }
        cfg.starts = next.clone();
        cfg.edges = vec![Edge { from: entry, target: 0 }; next[func.blocks.len()] as usize];
        for b in &cfg.rpo {
            for (k, t) in func.successors(*b).iter().enumerate() {
                let at = &mut next[t.block.as_u32() as usize];
                cfg.edges[*at as usize] = Edge { from: *b, target: k as u32 };
                *at += 1;
            }
        }
        cfg
    }
    /// Reachable blocks in reverse post-order: the entry first, every block after its dominators.
    pub fn rpo(&self) -> &[Block] {
        &self.rpo
    }
    /// A block's position in [`Cfg::rpo`]; `None` if it is not reachable.
    pub fn rpo_index(&self, b: Block) -> Option<usize> {
        Some(self.index[b]).filter(|n| *n != u32::MAX).map(|n| n as usize)
    }
    /// Whether the entry reaches a block.
    pub fn is_reachable(&self, b: Block) -> bool {
        self.index[b] != u32::MAX
    }
    /// Whether some way leads back to a block on it: only then there are loops.
    pub fn has_cycle(&self, func: &Function) -> bool {
        let back = |(n, b): (usize, &Block)| func.successors(*b).iter().any(|t| self.index[t.block] as usize <= n);
        self.rpo.iter().enumerate().any(back)
    }
    /// Edges into a block from reachable blocks; one per branch target, so a block may appear twice.
    pub fn preds(&self, b: Block) -> &[Edge] {
        // Blocks that were made later have none.
        let n = b.as_u32() as usize;
        self.starts.get(n + 1).map_or(&[], |end| &self.edges[self.starts[n] as usize..*end as usize])
    }
    /// The only edge into a block, if there is exactly one.
    pub fn single_pred(&self, b: Block) -> Option<Edge> {
        match self.preds(b) {
            [one] => Some(*one),
            _ => None,
        }
    }
    /// Whether an edge leaves a block with several targets and enters a block with several edges.
    pub fn is_critical(&self, func: &Function, e: Edge) -> bool {
        let targets = func.successors(e.from);
        targets.len() > 1 && targets.get(e.target as usize).is_some_and(|t| self.preds(t.block).len() > 1)
    }
}

/// The blocks that the entry reaches, every block after its dominators.
pub(crate) fn reverse_post_order(func: &Function) -> Vec<Block> {
    // Frequent, and nothing to find.
    if func.layout.len() < 2 {
        return func.layout.clone();
    }
    let mut order = Vec::with_capacity(func.layout.len());
    let mut seen = vec![false; func.blocks.len()];
    // Successors are visited last to first, so that the reverse of the post-order keeps the source's order of branches.
    let visit = |b: Block| (b, func.successors(b));
    let entry = func.layout[0];
    seen[entry.index()] = true;
    let mut stack: Vec<(Block, &[BlockCall])> = vec![visit(entry)];
    while let Some((b, left)) = stack.last_mut() {
        let Some((next, rest)) = left.split_last() else {
            order.push(*b);
            stack.pop();
            continue;
        };
        *left = rest;
        if !std::mem::replace(&mut seen[next.block.index()], true) {
            stack.push(visit(next.block));
        }
    }
    order.reverse();
    order
}

/// Puts a block that only jumps on every critical edge. Returns whether there was one.
pub fn split_critical_edges(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    split_edges(func, |func, e| cfg.is_critical(func, e))
}

/// Puts a block that only jumps on every edge for which `wanted` holds; new blocks stand after the block that branches.
pub fn split_edges(func: &mut Function, wanted: impl Fn(&Function, Edge) -> bool) -> bool {
    let old = std::mem::take(&mut func.layout);
    let mut layout = Vec::with_capacity(old.len());
    let mut changed = false;
    for b in old {
        layout.push(b);
        let Some(term) = func.terminator(b) else { continue };
        for k in 0..func.insts[term].targets.len() {
            if wanted(func, Edge { from: b, target: k as u32 }) {
                layout.push(split_edge(func, term, k));
                changed = true;
            }
        }
    }
    func.layout = layout;
    changed
}

/// Makes a block that passes on the arguments of one branch target and sends the branch there without arguments.
/// The caller puts the block into the layout.
pub fn split_edge(func: &mut Function, term: Inst, target: usize) -> Block {
    let block = func.blocks.push(Default::default());
    let call = std::mem::replace(&mut func.insts[term].targets[target], BlockCall { block, args: SmallVec::new() });
    let mut jump = InstData::new(Opcode::Jump, &[], Imm::None);
    jump.targets.push(call);
    let span = func.spans[term];
    let jump = func.make_inst(jump, &[], span);
    func.blocks[block].insts.push(jump);
    block
}

/// Compressed adjacency lists over dense node numbers.
pub(crate) struct Csr {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Csr {
    /// Lists of `to` by `from`, in the order of the pairs.
    pub(crate) fn new(nodes: usize, edges: &[(u32, u32)]) -> Csr {
        let mut start = vec![0u32; nodes + 1];
        for (from, _) in edges {
            start[*from as usize + 1] += 1;
        }
        for n in 0..nodes {
            start[n + 1] += start[n];
        }
        let mut at = start.clone();
        let mut items = vec![0; edges.len()];
        for (from, to) in edges {
            items[at[*from as usize] as usize] = *to;
            at[*from as usize] += 1;
        }
        Csr { start, items }
    }
    pub(crate) fn of(&self, n: u32) -> &[u32] {
        &self.items[self.start[n as usize] as usize..self.start[n as usize + 1] as usize]
    }
}

/// The numbers of the instructions that read each value, in layout order.
pub(crate) fn users(func: &Function) -> Csr {
    let mut reads = Vec::with_capacity(2 * func.insts.len());
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        for v in d.args.iter().chain(d.targets.iter().flat_map(|t| &t.args)) {
            reads.push((func.resolve(*v).as_u32(), i.as_u32()));
        }
    }
    Csr::new(func.values.len(), &reads)
}

/// Marks a missing block in dense tables.
pub(crate) fn no_block() -> Block {
    Block::reserved_value()
}
