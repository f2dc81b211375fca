//! Vertices that are made alike share a procedure: what their outputs have in common is computed there, what differs is handed
//! over in temporaries.
//!
//! ```text
//!   a = x - s;  o0 = M a;  o1 = c;  emit          a = x - s;  call p;  emit
//!   b = x + s;  o0 = M b;  o1 = c;  emit    ▶     a = x + s;  call p;  emit        p: o0 = M a;  o1 = c
//! ```

use crate::isa::forms::Op;
use crate::place::lanes::definitions;
use crate::select::mir::*;
use cranelift_entity::EntityRef;
use indexmap::IndexMap;
use retroshade_ir::Block;
use retroshade_lower::structure::{Node as Tree, Structure};
use rustc_hash::FxHashSet;

/// The blocks that belong to no procedure.
fn entry(p: &Program) -> std::ops::Range<usize> {
    0..p.procedures.first().map_or(p.blocks.len(), |q| q.blocks.start)
}

/// Where a block emits vertices, if it emits several and none of them under a condition.
fn emits(b: &MBlock) -> Option<Vec<usize>> {
    let at: Vec<usize> = (0..b.nodes.len()).filter(|n| b.nodes[*n].op == Op::Emit).collect();
    (at.len() > 1 && at.iter().all(|n| b.nodes[*n].test.is_none())).then_some(at)
}

/// Whether a block emits several vertices.
pub fn several(p: &Program) -> bool {
    p.blocks[entry(p)].iter().any(|b| emits(b).is_some())
}

/// Moves what the vertices of each block have in common to procedures.
pub fn share(p: &mut Program, structures: &mut Vec<Structure>) {
    for block in entry(p) {
        let Some(at) = emits(&p.blocks[block]) else { continue };
        let mut outside = FxHashSet::default();
        while let Some(body) = Body::of(p, block, &at, &outside) {
            let elsewhere = body.read_elsewhere();
            if elsewhere.is_empty() {
                if body.worth() {
                    body.apply(structures);
                }
                break;
            }
            outside.extend(elsewhere);
        }
    }
}

/// A component that all vertices write: the moves, and what they move.
struct Stored {
    to: Dest,
    moves: Vec<usize>,
    value: Ref,
}

/// The procedure while it is found.
struct Body<'a> {
    p: &'a mut Program,
    block: usize,
    vertices: usize,
    at: Vec<usize>,
    defs: Vec<Makers>,
    outside: &'a FxHashSet<Tmp>,
    /// What the same place of each vertex reads, and what stands for it in the procedure.
    matched: IndexMap<Vec<Ref>, Ref>,
    /// Parameters: the temporary, and each vertex' own value.
    params: Vec<(Tmp, Vec<Ref>)>,
    nodes: Vec<Node>,
    /// Per vertex: the temporaries that are computed inside.
    inside: Vec<FxHashSet<Tmp>>,
    stored: Vec<Stored>,
}

impl<'a> Body<'a> {
    /// What the vertices that are emitted at `at` have in common, if all write the same outputs.
    fn of(p: &'a mut Program, block: usize, at: &[usize], outside: &'a FxHashSet<Tmp>) -> Option<Body<'a>> {
        let nodes = &p.blocks[block].nodes;
        let mut written: Vec<IndexMap<Dest, usize>> = Vec::new();
        for (k, end) in at.iter().enumerate() {
            let start = k.checked_sub(1).map_or(0, |k| at[k] + 1);
            let stores = (start..*end).filter(|n| matches!(nodes[*n].dests[..], [Dest::Out(..)]));
            let stores: Vec<usize> = stores.collect();
            if stores.iter().any(|n| nodes[*n].op != Op::Mov || nodes[*n].test.is_some()) {
                return None;
            }
            written.push(stores.into_iter().map(|n| (nodes[n].dests[0], n)).collect());
        }
        let first = written[0].clone();
        if written.iter().any(|w| w.len() != first.len() || first.keys().any(|d| !w.contains_key(d))) {
            return None;
        }
        let moves: Vec<(Dest, Vec<usize>)> = first.keys().map(|d| (*d, written.iter().map(|w| w[d]).collect())).collect();
        let defs = definitions(p);
        let mut body = Body {
            p,
            block,
            vertices: at.len(),
            at: at.to_vec(),
            defs,
            outside,
            matched: IndexMap::new(),
            params: Vec::new(),
            nodes: Vec::new(),
            inside: vec![FxHashSet::default(); at.len()],
            stored: Vec::new(),
        };
        for (to, moves) in moves {
            let values: Vec<Ref> = moves.iter().map(|n| body.p.blocks[block].nodes[*n].srcs[0][0]).collect();
            let same = values.iter().all(|v| *v == values[0]);
            // What differs as a whole is stored by each vertex itself.
            if same || body.makers(&values).is_some() {
                let value = body.matching(&values);
                body.stored.push(Stored { to, moves, value });
            }
        }
        Some(body)
    }

    /// The operations that make the same place of each vertex, if they are of one kind.
    fn makers(&self, values: &[Ref]) -> Option<Vec<usize>> {
        let of = |r: &Ref| {
            let t = r.as_tmp().filter(|t| r.neg == values[0].neg && !self.outside.contains(t))?;
            let [(b, n)] = self.defs[t as usize][..] else { return None };
            let node = &self.p.blocks[b].nodes[n];
            (b == self.block && node.test.is_none() && node.dests.len() == 1 && node.op != Op::Call).then_some(n)
        };
        let makers: Vec<usize> = values.iter().map(of).collect::<Option<_>>()?;
        let nodes = &self.p.blocks[self.block].nodes;
        let shape = |n: usize| (nodes[n].op, nodes[n].srcs.iter().map(|s| s.len()).collect::<Vec<_>>());
        makers.iter().all(|n| shape(*n) == shape(makers[0])).then_some(makers)
    }

    /// What stands in the procedure for the same place of all vertices.
    fn matching(&mut self, values: &[Ref]) -> Ref {
        if values.iter().all(|v| *v == values[0]) {
            return values[0];
        }
        if let Some(r) = self.matched.get(values) {
            return *r;
        }
        let span = self.p.blocks[self.block].nodes[self.at[0]].span;
        let result = Ref::tmp(self.p.temp(span));
        match self.makers(values) {
            Some(makers) => {
                let nodes: Vec<Node> = makers.iter().map(|n| self.p.blocks[self.block].nodes[*n].clone()).collect();
                let mut made = nodes[0].clone();
                for (k, s) in made.srcs.iter_mut().enumerate() {
                    for (l, r) in s.iter_mut().enumerate() {
                        *r = self.matching(&nodes.iter().map(|n| n.srcs[k][l]).collect::<Vec<_>>());
                    }
                }
                made.dests = result.as_tmp().map(Dest::Tmp).into_iter().collect();
                self.nodes.push(made);
                self.inside.iter_mut().zip(values).for_each(|(i, v)| i.extend(v.as_tmp()));
                let value = if values[0].neg { result.negated() } else { result };
                self.matched.insert(values.to_vec(), value);
                value
            }
            None => {
                self.params.extend(result.as_tmp().map(|t| (t, values.to_vec())));
                self.matched.insert(values.to_vec(), result);
                result
            }
        }
    }

    /// Temporaries of the procedure that something else reads as well.
    fn read_elsewhere(&self) -> Vec<Tmp> {
        let all: FxHashSet<Tmp> = self.inside.iter().flatten().copied().collect();
        let makes = |n: &Node, k: usize| n.writes().any(|t| self.inside[k].contains(&t));
        let mut found = Vec::new();
        for (b, block) in self.p.blocks.iter().enumerate() {
            for (n, node) in block.nodes.iter().enumerate() {
                let vertex = (b == self.block).then(|| self.at.iter().position(|e| *e > n)).flatten();
                let reads = node.reads().filter_map(Ref::as_tmp).chain(self.p.index_reads(node.reads()).filter_map(Ref::as_tmp));
                for t in reads.filter(|t| all.contains(t)) {
                    let own = (0..self.vertices).find(|k| self.inside[*k].contains(&t) && makes(node, *k));
                    let stored = vertex.is_some_and(|k| self.inside[k].contains(&t) && self.stored.iter().any(|s| s.moves[k] == n));
                    if own.is_none() && !stored {
                        found.push(t);
                    }
                }
            }
            let refs: Vec<Ref> = block.test.iter().flat_map(|t| t.refs()).collect();
            let indices = self.p.index_reads(refs.iter().copied()).filter_map(Ref::as_tmp);
            found.extend(refs.iter().filter_map(|r| r.as_tmp()).chain(indices).filter(|t| all.contains(t)));
        }
        found
    }

    /// Whether the procedure does more than one thing.
    fn worth(&self) -> bool {
        self.nodes.len() + self.stored.len() > 2
    }

    /// Makes the procedure, and calls of it.
    fn apply(self, structures: &mut Vec<Structure>) {
        let Body { p, block, at, params, mut nodes, stored, .. } = self;
        p.fired.note("vertices");
        let number = p.procedures.len();
        let old = std::mem::take(&mut p.blocks[block].nodes);
        for s in &stored {
            nodes.push(Node { srcs: std::iter::once(Tuple::from_slice(&[s.value])).collect(), ..old[s.moves[0]].clone() });
            debug_assert_eq!(nodes.last().map(|n| n.dests[0]), Some(s.to));
        }
        let gone: FxHashSet<usize> = stored.iter().flat_map(|s| s.moves.iter().copied()).collect();
        let bundle = |k: usize| 3_000_000_000 + (block * 4096 + k) as u32;
        for (n, node) in old.into_iter().enumerate() {
            if let Some(k) = at.iter().position(|e| *e == n) {
                for (t, values) in params.iter().filter(|(_, values)| k == 0 || values[k] != values[k - 1]) {
                    let mut set = Node::new(Op::Mov, &[Dest::Tmp(*t)], &[&[values[k]]], node.span);
                    set.bundle = bundle(k);
                    p.blocks[block].nodes.push(set);
                }
                let mut call = Node { span: node.span, ..Node::call(number) };
                call.srcs = params.iter().map(|(t, _)| Tuple::from_slice(&[Ref::tmp(*t)])).collect();
                p.blocks[block].nodes.push(call);
            }
            if !gone.contains(&n) {
                p.blocks[block].nodes.push(node);
            }
        }
        let start = p.blocks.len();
        p.blocks.push(MBlock { nodes, ..MBlock::default() });
        p.procedures.push(Procedure {
            blocks: start..start + 1,
            params: params.into_iter().map(|(t, _)| t).collect(),
            results: Vec::new(),
        });
        p.nesting = p.nesting.max(2);
        structures.push(Structure { nodes: vec![Tree::Block(Block::new(0))] });
    }
}
