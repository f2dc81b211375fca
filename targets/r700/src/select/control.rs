//! Control flow: the tree of blocks becomes steps, branch arguments become copies.

use super::Lower;
use crate::isa::forms::op2;
use crate::select::mir::*;
use retroshade_ir::{Block, Opcode};
use retroshade_lower::CompileError;
use retroshade_lower::structure::Node;

impl Lower<'_> {
    pub(super) fn nodes(&mut self, nodes: &[Node]) -> Result<Vec<Step>, CompileError> {
        let mut out = Vec::new();
        for n in nodes {
            match n {
                Node::Block(b) => {
                    self.block(*b);
                    out.append(&mut self.pieces);
                }
                Node::If { from, cond, then, other } => {
                    self.branch_copies(*from);
                    let leaves = |n: &[Node]| n.iter().any(|x| matches!(x, Node::Break | Node::Continue));
                    let exchange = leaves(then) && !leaves(other) || self.trivial(then) && !leaves(other);
                    let (then, other) = if exchange { (other, then) } else { (then, other) };
                    let swapped = self.predicate(*from, *cond, exchange, leaves(other) && !leaves(then));
                    let (then, other) = if swapped { (other, then) } else { (then, other) };
                    out.push(Step::Code(self.take_code()));
                    let then = self.arm(then)?;
                    let other = self.arm(other)?;
                    out.push(Step::If { then, other });
                }
                Node::Loop { header, body } => {
                    out.push(Step::Code(self.take_code()));
                    let latch = body.iter().rev().find_map(|n| if let Node::Block(b) = n { Some(*b) } else { None });
                    self.latches.extend(latch);
                    let body = self.arm(body)?;
                    if latch.is_some() {
                        self.latches.pop();
                    }
                    out.push(Step::Loop(body, *header));
                }
                Node::Break | Node::Continue => {
                    if let (Node::Continue, Some(latch)) = (n, self.latches.last().copied()) {
                        self.branch_copies(latch);
                    }
                    out.push(Step::Code(self.take_code()));
                    out.push(if matches!(n, Node::Break) { Step::Break } else { Step::Continue });
                }
            }
        }
        Ok(out)
    }

    /// Whether nodes hold no code and no copies.
    pub(super) fn trivial(&self, nodes: &[Node]) -> bool {
        nodes.iter().all(|n| match n {
            Node::Block(b) => {
                let insts = &self.func.blocks[*b].insts;
                insts.len() <= 1 && self.func.successors(*b).iter().all(|t| t.args.is_empty())
            }
            _ => false,
        })
    }

    pub(super) fn arm(&mut self, nodes: &[Node]) -> Result<Vec<Step>, CompileError> {
        self.depth += 1;
        self.held.clear();
        let mut out = self.nodes(nodes)?;
        self.held.clear();
        self.depth -= 1;
        let last = self.take_code();
        if !last.is_empty() {
            out.push(Step::Code(last));
        }
        Ok(out)
    }

    pub(super) fn block(&mut self, b: Block) {
        let insts = &self.func.blocks[b].insts;
        let patterns = self.patterns.clone();
        for i in insts {
            self.span = self.func.spans[*i];
            let d = self.data(*i);
            if d.op.is_terminator() {
                if d.op == Opcode::Jump {
                    self.branch_copies(b);
                }
                continue;
            }
            let used = d.results.first().is_none_or(|r| (0..self.func.ty(*r).lanes).any(|l| self.used(*r, l)));
            if used || !d.op.is_removable() {
                self.inst(*i, &patterns);
            }
        }
    }

    /// The copies that the branch arguments of a block's terminator ask for, as if done all at once.
    pub(super) fn branch_copies(&mut self, b: Block) {
        let Some(t) = self.func.terminator(b) else { return };
        let mut copies: Vec<(Web, Opnd)> = Vec::new();
        for call in &self.data(t).targets {
            for (p, a) in self.func.blocks[call.block].params.iter().zip(&call.args) {
                for lane in 0..self.func.ty(*p).lanes {
                    if self.used(*p, lane) {
                        let src = self.lane(*a, lane);
                        if let Some(dst) = self.lane(*p, lane).as_web()
                            && src != Opnd::web(dst)
                        {
                            copies.push((dst, src));
                        }
                    }
                }
            }
        }
        while !copies.is_empty() {
            let free = copies.iter().position(|(d, _)| !copies.iter().any(|(e, s)| e != d && s.as_web() == Some(*d)));
            match free {
                Some(k) => {
                    let (d, s) = copies.remove(k);
                    self.emit_to(op2::MOV, &[s], d);
                }
                None => {
                    // A cycle: keep the old value of one destination aside.
                    let d = copies[0].0;
                    let t = self.emit(op2::MOV, &[Opnd::web(d)]);
                    for (_, s) in &mut copies {
                        if s.as_web() == Some(d) {
                            s.place = t.place;
                        }
                    }
                }
            }
        }
    }
}
