//! Dominator and post-dominator trees.
//!
//! Algorithm: semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems"): semidominators by
//! path compression, then the nearest common ancestor on the tree built so far. It stays fast where the simple iterative
//! scheme is quadratic (a long chain whose every block also leaves for one common exit).

use super::cfg::{Cfg, Csr, no_block};
use crate::entities::{Block, Inst};
use crate::function::Function;
use cranelift_entity::SecondaryMap;

const NONE: u32 = u32::MAX;

/// Immediate dominators of dense nodes from `root`; `NONE` for the root and for nodes that it does not reach.
fn semi_nca(nodes: usize, root: u32, succs: &Csr, preds: &Csr) -> Vec<u32> {
    // Depth-first numbering.
    let mut order: Vec<u32> = Vec::with_capacity(nodes);
    let mut number = vec![NONE; nodes];
    let mut parent = vec![NONE; nodes]; // by number
    let mut stack: Vec<(u32, u32)> = vec![(root, NONE)];
    while let Some((n, p)) = stack.pop() {
        if number[n as usize] != NONE {
            continue;
        }
        let me = order.len() as u32;
        number[n as usize] = me;
        parent[me as usize] = p;
        order.push(n);
        stack.extend(succs.of(n).iter().rev().filter(|s| number[**s as usize] == NONE).map(|s| (*s, me)));
    }
    let count = order.len();
    let mut semi: Vec<u32> = (0..count as u32).collect();
    let mut label = semi.clone();
    let mut ancestor = vec![NONE; count];
    let mut path = Vec::new();
    for i in (1..count as u32).rev() {
        let mut best = parent[i as usize];
        for p in preds.of(order[i as usize]) {
            let p = number[*p as usize];
            if p == NONE {
                continue;
            }
            best = best.min(semi[eval(p, &mut ancestor, &mut label, &semi, &mut path) as usize]);
        }
        semi[i as usize] = best;
        ancestor[i as usize] = parent[i as usize];
    }
    let mut idom = parent.clone();
    for i in 1..count {
        while idom[i] > semi[i] {
            idom[i] = idom[idom[i] as usize];
        }
    }
    let mut out = vec![NONE; nodes];
    for i in 1..count {
        out[order[i] as usize] = order[idom[i] as usize];
    }
    out
}

/// The node with the least semidominator on the linked path above `v`, compressing that path.
fn eval(v: u32, ancestor: &mut [u32], label: &mut [u32], semi: &[u32], path: &mut Vec<u32>) -> u32 {
    if ancestor[v as usize] == NONE {
        return label[v as usize];
    }
    path.clear();
    let mut at = v;
    while ancestor[ancestor[at as usize] as usize] != NONE {
        path.push(at);
        at = ancestor[at as usize];
    }
    for n in path.iter().rev() {
        let a = ancestor[*n as usize];
        if semi[label[a as usize] as usize] < semi[label[*n as usize] as usize] {
            label[*n as usize] = label[a as usize];
        }
        ancestor[*n as usize] = ancestor[a as usize];
    }
    label[v as usize]
}

/// Entry and exit times of a depth-first walk over a tree: `a` is above `b` if its interval contains `b`'s.
#[derive(Clone, Debug, Default)]
struct Tree {
    children: Vec<Vec<u32>>,
    enter: Vec<u32>,
    leave: Vec<u32>,
    preorder: Vec<u32>,
}

impl Tree {
    fn new(nodes: usize, root: u32, up: &[u32]) -> Tree {
        let mut t = Tree { children: vec![Vec::new(); nodes], enter: vec![NONE; nodes], leave: vec![0; nodes], preorder: Vec::new() };
        for (n, u) in up.iter().enumerate() {
            if *u != NONE {
                t.children[*u as usize].push(n as u32);
            }
        }
        let mut stack = vec![(root, 0usize)];
        let mut clock = 0;
        while let Some((n, k)) = stack.last_mut() {
            if *k == 0 {
                t.enter[*n as usize] = clock;
                t.preorder.push(*n);
                clock += 1;
            }
            if let Some(c) = t.children[*n as usize].get(*k) {
                *k += 1;
                stack.push((*c, 0));
            } else {
                t.leave[*n as usize] = clock;
                stack.pop();
            }
        }
        t
    }
    fn above(&self, a: usize, b: usize) -> bool {
        self.enter[a] != NONE && self.enter[b] != NONE && self.enter[a] <= self.enter[b] && self.enter[b] < self.leave[a]
    }
}

/// Which block every path from the entry passes before another.
#[derive(Clone, Debug, Default)]
pub struct DomTree {
    blocks: Vec<Block>,
    index: SecondaryMap<Block, u32>,
    idom: Vec<u32>,
    tree: Tree,
}

impl DomTree {
    /// Computes the tree of the reachable blocks.
    pub fn new(func: &Function, cfg: &Cfg) -> DomTree {
        let n = cfg.rpo().len();
        let mut index = SecondaryMap::with_default(NONE);
        for (k, b) in cfg.rpo().iter().enumerate() {
            index[*b] = k as u32;
        }
        let edges = edges(func, cfg);
        let idom = if n == 0 { Vec::new() } else { semi_nca(n, 0, &Csr::new(n, &edges), &Csr::new(n, &flipped(&edges))) };
        let tree = if n == 0 { Tree::default() } else { Tree::new(n, 0, &idom) };
        DomTree { blocks: cfg.rpo().to_vec(), index, idom, tree }
    }
    fn number(&self, b: Block) -> Option<usize> {
        Some(self.index[b]).filter(|n| *n != NONE).map(|n| n as usize)
    }
    /// The immediate dominator; `None` for the entry and for unreachable blocks.
    pub fn idom(&self, b: Block) -> Option<Block> {
        let up = self.idom[self.number(b)?];
        (up != NONE).then(|| self.blocks[up as usize])
    }
    /// Whether `a` dominates `b` (every block dominates itself). False if either is unreachable.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        match (self.number(a), self.number(b)) {
            (Some(a), Some(b)) => self.tree.above(a, b),
            _ => false,
        }
    }
    /// Blocks whose immediate dominator is `b`, in reverse post-order.
    pub fn children(&self, b: Block) -> impl Iterator<Item = Block> + '_ {
        let kids: &[u32] = self.number(b).map_or(&[], |n| &self.tree.children[n]);
        kids.iter().map(|c| self.blocks[*c as usize])
    }
    /// The tree's blocks, every block after its immediate dominator and before that one's next child.
    pub fn preorder(&self) -> impl Iterator<Item = Block> + '_ {
        self.tree.preorder.iter().map(|n| self.blocks[*n as usize])
    }
    /// The nearest block that dominates both; `None` if either is unreachable.
    pub fn common(&self, a: Block, b: Block) -> Option<Block> {
        let (mut a, b) = (self.number(a)?, self.number(b)?);
        while !self.tree.above(a, b) {
            a = self.idom[a] as usize;
        }
        Some(self.blocks[a])
    }
    /// Distance from the entry in the tree's preorder: dominators have smaller numbers.
    pub fn preorder_number(&self, b: Block) -> Option<u32> {
        self.number(b).map(|n| self.tree.enter[n])
    }
}

/// Which block every path to the end passes after another. Loops without an exit are treated as if they could end.
#[derive(Clone, Debug, Default)]
pub struct PostDomTree {
    blocks: Vec<Block>,
    index: SecondaryMap<Block, u32>,
    ipdom: Vec<u32>,
    tree: Tree,
}

impl PostDomTree {
    /// Computes the tree of the reachable blocks.
    pub fn new(func: &Function, cfg: &Cfg) -> PostDomTree {
        let n = cfg.rpo().len();
        let mut index = SecondaryMap::with_default(NONE);
        for (k, b) in cfg.rpo().iter().enumerate() {
            index[*b] = k as u32;
        }
        let end = n as u32; // the virtual end
        let mut edges = flipped(&edges(func, cfg));
        let back = Csr::new(n, &edges);
        let mut reached = vec![false; n];
        let mut stack = Vec::new();
        let ends = (0..n).filter(|k| func.successors(cfg.rpo()[*k]).is_empty());
        let mut roots: Vec<usize> = ends.collect();
        let mut late = (0..n).rev();
        loop {
            for r in roots.drain(..) {
                edges.push((end, r as u32));
                stack.push(r as u32);
                reached[r] = true;
            }
            while let Some(b) = stack.pop() {
                for p in back.of(b) {
                    if !std::mem::replace(&mut reached[*p as usize], true) {
                        stack.push(*p);
                    }
                }
            }
            match late.by_ref().find(|k| !reached[*k]) {
                Some(k) => roots.push(k),
                None => break,
            }
        }
        let ipdom = semi_nca(n + 1, end, &Csr::new(n + 1, &edges), &Csr::new(n + 1, &flipped(&edges)));
        let tree = Tree::new(n + 1, end, &ipdom);
        PostDomTree { blocks: cfg.rpo().to_vec(), index, ipdom, tree }
    }
    fn number(&self, b: Block) -> Option<usize> {
        Some(self.index[b]).filter(|n| *n != NONE).map(|n| n as usize)
    }
    /// The immediate post-dominator; `None` where only the end itself follows every path.
    pub fn ipdom(&self, b: Block) -> Option<Block> {
        let up = self.ipdom[self.number(b)?];
        self.blocks.get(up as usize).copied()
    }
    /// Whether every path from `b` to the end passes `a` (every block post-dominates itself).
    pub fn post_dominates(&self, a: Block, b: Block) -> bool {
        match (self.number(a), self.number(b)) {
            (Some(a), Some(b)) => self.tree.above(a, b),
            _ => false,
        }
    }
    /// Blocks that run or not depending on which way `b` branches: those on a path from `b` before its immediate post-dominator.
    pub fn influence(&self, func: &Function, b: Block) -> Vec<Block> {
        let stop = self.ipdom(b).unwrap_or(no_block());
        let mut seen = cranelift_entity::EntitySet::new();
        let mut found = Vec::new();
        let mut stack: Vec<Block> = func.successors(b).iter().map(|t| t.block).collect();
        while let Some(s) = stack.pop() {
            if s != stop && seen.insert(s) {
                found.push(s);
                stack.extend(func.successors(s).iter().map(|t| t.block));
            }
        }
        found
    }
}

fn edges(func: &Function, cfg: &Cfg) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for (k, b) in cfg.rpo().iter().enumerate() {
        for t in func.successors(*b) {
            if let Some(to) = cfg.rpo_index(t.block) {
                edges.push((k as u32, to as u32));
            }
        }
    }
    edges
}

fn flipped(edges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    edges.iter().map(|(a, b)| (*b, *a)).collect()
}

/// Whether the definition at `(block, position)` is available at another place: earlier in the same block or in a dominator.
pub fn available_at(dom: &DomTree, def: (Block, usize), at: (Block, usize)) -> bool {
    if def.0 == at.0 { def.1 < at.1 } else { dom.dominates(def.0, at.0) }
}

/// The block of every instruction in the layout.
pub fn inst_blocks(func: &Function) -> SecondaryMap<Inst, Option<Block>> {
    let mut m = SecondaryMap::new();
    m.resize(func.insts.len());
    for (b, i) in func.ordered() {
        m[i] = Some(b);
    }
    m
}
