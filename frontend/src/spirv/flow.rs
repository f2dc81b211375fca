//! The shape of a function's control flow: order, dominators, constructs and loops.
//!
//! Blocks are put into an order in which every construct is one stretch and every definition stands in front of what it dominates: reverse
//! postorder of a walk that takes the merge block first, then the continue target, then the other successors from the last to the first.

use super::binary::{Binary, Func, Id, R, malformed};
use retroshade_ir::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use spirv::Op;

/// Blocks of one function.
const MAX_BLOCKS: usize = 1 << 14;
/// Rounds after which dominators of a graph without such loops have long been found.
const MAX_ROUNDS: usize = 16;

/// A block as a node of the graph; blocks go by their position in the order.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Its place among the function's blocks.
    pub(crate) body: usize,
    /// Where control goes, each target once.
    pub(crate) succs: Vec<usize>,
    /// Where control comes from, each once.
    pub(crate) preds: Vec<usize>,
    /// The block where the construct that it opens ends; whether that is a loop.
    pub(crate) merge: Option<(usize, bool)>,
    /// Whether what is not written between this block and its merge has the same value in both.
    pub(crate) gate: bool,
    /// The header of the innermost loop that it lies in.
    in_loop: Option<usize>,
    /// Loops around it.
    pub(crate) loops: u32,
    /// The header of the innermost selection or switch around it.
    pub(crate) around: Option<usize>,
    idom: usize,
}

/// A function's graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// The blocks that can be reached, in order.
    pub(crate) nodes: Vec<Node>,
    /// Positions by label.
    pub(crate) at: FxHashMap<Id, usize>,
}

/// What is said of a selector that is no word.
pub(crate) const SWITCH_OF_WORDS: &str = "a switch over something else than a 32-bit number exists on none of the machines";

/// The labels that a terminator names; `is_label` tells them from words of literals.
fn targets(b: &Binary<'_>, end: usize, is_label: impl Fn(Id) -> bool) -> R<Vec<Id>> {
    let t = b.inst(end)?;
    Ok(match t.op {
        Op::Branch => vec![t.word(0)?],
        Op::BranchConditional => vec![t.word(1)?, t.word(2)?],
        Op::Switch => {
            let mut all = vec![t.word(1)?];
            let cases = t.rest(2);
            // A 64-bit selector's literals take two words each.
            let labels_every = |n: usize| cases.len().is_multiple_of(n) && cases.chunks_exact(n).all(|c| is_label(c[n - 1]));
            if !labels_every(2) && labels_every(3) {
                return Err(Diagnostic::error("F0114", Span::NONE, format!("{SWITCH_OF_WORDS} (word {end})")));
            }
            all.extend(cases.chunks_exact(2).map(|c| c[1]));
            all
        }
        _ => Vec::new(),
    })
}

impl Flow {
    /// The graph of a function.
    pub(crate) fn new(b: &Binary<'_>, f: &Func) -> R<Flow> {
        if f.blocks.len() > MAX_BLOCKS {
            return Err(Diagnostic::error("L0101", Span::NONE, format!("a function of more than {MAX_BLOCKS} blocks (word {})", f.at)));
        }
        let mut number: FxHashMap<Id, usize> = FxHashMap::default();
        for (n, body) in f.blocks.iter().enumerate() {
            if number.insert(body.label, n).is_some() {
                return Err(malformed(body.words.start, format_args!("%{} labels two blocks", body.label)));
            }
        }
        let find =
            |id: Id, at: usize| number.get(&id).copied().ok_or_else(|| malformed(at, format_args!("%{id} is no block of this function")));
        let mut succs: Vec<Vec<usize>> = Vec::with_capacity(f.blocks.len());
        let mut merges: Vec<Option<(usize, Option<usize>)>> = Vec::with_capacity(f.blocks.len());
        for body in &f.blocks {
            let mut all = Vec::new();
            for t in targets(b, body.end, |id| number.contains_key(&id))? {
                let n = find(t, body.end)?;
                // The entry block has no way back to it.
                if n == 0 {
                    return Err(malformed(body.end, "a branch to a function's first block"));
                }
                if !all.contains(&n) || all.len() > 64 {
                    all.push(n);
                }
            }
            if all.len() > 64 {
                all.sort_unstable();
                all.dedup();
            }
            succs.push(all);
            merges.push(match body.merge {
                None => None,
                Some(at) => {
                    let m = b.inst(at)?;
                    let cont = if m.op == Op::LoopMerge { Some(find(m.word(1)?, at)?) } else { None };
                    Some((find(m.word(0)?, at)?, cont))
                }
            });
        }
        let order = order(&succs, &merges);
        let mut position = vec![usize::MAX; f.blocks.len()];
        for (n, body) in order.iter().enumerate() {
            position[*body] = n;
        }
        let mut nodes: Vec<Node> = order
            .iter()
            .map(|body| Node {
                body: *body,
                succs: succs[*body].iter().map(|s| position[*s]).collect(),
                preds: Vec::new(),
                merge: merges[*body].and_then(|(m, c)| (position[m] != usize::MAX).then_some((position[m], c.is_some()))),
                gate: false,
                in_loop: None,
                loops: 0,
                around: None,
                idom: 0,
            })
            .collect();
        for n in 0..nodes.len() {
            for s in nodes[n].succs.clone() {
                nodes[s].preds.push(n);
            }
        }
        let at = order.iter().enumerate().map(|(n, body)| (f.blocks[*body].label, n)).collect();
        let mut flow = Flow { nodes, at };
        flow.dominators();
        let unstructured = flow.check(f, &merges)?;
        flow.constructs(&merges, unstructured);
        Ok(flow)
    }

    /// Immediate dominators, after Cooper, Harvey and Kennedy.
    fn dominators(&mut self) {
        const NONE: usize = usize::MAX;
        let mut idom = vec![NONE; self.nodes.len()];
        if let Some(first) = idom.first_mut() {
            *first = 0;
        }
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            for n in 1..self.nodes.len() {
                let mut new = NONE;
                for p in &self.nodes[n].preds {
                    if idom[*p] == NONE {
                        continue;
                    }
                    if new == NONE {
                        new = *p;
                        continue;
                    }
                    let (mut x, mut y) = (*p, new);
                    while x != y {
                        while x > y {
                            x = idom[x];
                        }
                        while y > x {
                            y = idom[y];
                        }
                    }
                    new = x;
                }
                if idom[n] != new {
                    idom[n] = new;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        for (n, d) in self.nodes.iter_mut().zip(idom) {
            n.idom = d;
        }
    }

    /// Whether every way to `b` leads through `a`.
    pub(crate) fn dominates(&self, a: usize, mut b: usize) -> bool {
        while b > a {
            b = self.nodes[b].idom;
        }
        a == b
    }

    /// Refuses loops with several entries; gives whether some loop has no merge instruction.
    fn check(&self, f: &Func, merges: &[Option<(usize, Option<usize>)>]) -> R<bool> {
        let mut unstructured = false;
        for (n, node) in self.nodes.iter().enumerate() {
            for s in node.succs.iter().filter(|s| **s <= n) {
                if !self.dominates(*s, n) {
                    let at = f.blocks[node.body].end;
                    let message =
                        format!("control flow with a loop that is entered in several places runs on none of the machines (word {at})");
                    return Err(Diagnostic::error("F0160", Span::NONE, message));
                }
                unstructured |= !matches!(merges[self.nodes[*s].body], Some((_, Some(_))));
            }
        }
        Ok(unstructured)
    }

    /// Finds the loops and selections around each block.
    fn constructs(&mut self, merges: &[Option<(usize, Option<usize>)>], unstructured: bool) {
        // Open constructs: header, where it ends, whether it is a loop.
        let mut open: Vec<(usize, usize, bool)> = Vec::new();
        let mut outer = vec![None; self.nodes.len()];
        for n in 0..self.nodes.len() {
            open.retain(|(_, end, _)| *end > n);
            outer[n] = open.iter().rev().find(|o| o.2).map(|o| o.0);
            let is_loop = matches!(merges[self.nodes[n].body], Some((_, Some(_))));
            if is_loop {
                let end = match self.nodes[n].merge {
                    Some((m, _)) if m > n => m,
                    // Nothing leaves the loop: it lasts as long as its header dominates.
                    _ => (n + 1..self.nodes.len()).find(|k| !self.dominates(n, *k)).unwrap_or(self.nodes.len()),
                };
                open.push((n, end, true));
            }
            self.nodes[n].in_loop = open.iter().rev().find(|o| o.2).map(|o| o.0);
            self.nodes[n].loops = open.iter().filter(|o| o.2).count() as u32 + u32::from(unstructured);
            self.nodes[n].around = open.iter().rev().find(|o| !o.2).map(|o| o.0);
            if let (false, Some((m, _))) = (is_loop, self.nodes[n].merge)
                && m > n
            {
                open.push((n, m, false));
            }
        }
        if unstructured {
            return;
        }
        for n in 0..self.nodes.len() {
            let Some((m, is_loop)) = self.nodes[n].merge else { continue };
            // A merge block lies in the loop that its header lies in, or in the one around the loop that ends.
            let same = outer[m] == if is_loop { outer[n] } else { self.nodes[n].in_loop };
            self.nodes[n].gate = m > n && self.dominates(n, m) && same;
        }
    }
}

/// The order of the blocks that can be reached.
fn order(succs: &[Vec<usize>], merges: &[Option<(usize, Option<usize>)>]) -> Vec<usize> {
    // A merge block or continue target that no branch leads to is left out.
    let mut reached = vec![false; succs.len()];
    let mut work = vec![0];
    while let Some(n) = work.pop() {
        if n < succs.len() && !std::mem::replace(&mut reached[n], true) {
            work.extend(&succs[n]);
        }
    }
    let ways = |n: usize| {
        let (merge, cont) = merges[n].map_or((None, None), |(m, c)| (Some(m), c));
        merge.into_iter().chain(cont).chain(succs[n].iter().rev().copied())
    };
    let mut seen = vec![false; succs.len()];
    let mut post = Vec::with_capacity(succs.len());
    let mut stack: Vec<(usize, usize)> = Vec::new();
    if !succs.is_empty() {
        seen[0] = true;
        stack.push((0, 0));
    }
    while let Some((n, next)) = stack.last_mut() {
        let found = ways(*n).enumerate().skip(*next).find(|(_, s)| reached[*s] && !seen[*s]);
        match found {
            Some((k, s)) => {
                *next = k + 1;
                seen[s] = true;
                stack.push((s, 0));
            }
            None => {
                post.push(*n);
                stack.pop();
            }
        }
    }
    post.reverse();
    post
}
