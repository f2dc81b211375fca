//! Rules about blocks, branches and dominance, and about calls.

use super::Verifier;
use crate::analysis::{Cfg, DomTree, Loops};
use crate::diag::Span;
use crate::entities::*;
use crate::function::ValueDef;
use crate::inst::Imm;
use crate::opcode::Opcode;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};

impl Verifier<'_> {
    /// Blocks end with their only terminator, and branches fit their targets (V0001 to V0006).
    pub(super) fn structure(&mut self, id: FuncId) {
        let f = &self.m.functions[id];
        let mut listed: EntitySet<Block> = EntitySet::new();
        for b in &f.layout {
            listed.insert(*b);
        }
        for b in &f.layout {
            let insts = &f.blocks[*b].insts;
            let Some((last, rest)) = insts.split_last() else {
                self.error("V0001", Span::NONE, format!("{b} of {} is empty", self.title(id)));
                continue;
            };
            self.here = Some((id, *last));
            if !f.insts[*last].op.is_terminator() {
                let name = f.insts[*last].op.name();
                self.error("V0001", f.spans[*last], format!("the block ends with `{name}`, which is no terminator"));
            }
            for i in rest {
                self.here = Some((id, *i));
                if f.insts[*i].op.is_terminator() {
                    self.error("V0002", f.spans[*i], format!("`{}` stands before the end of its block", f.insts[*i].op.name()));
                }
            }
            for i in insts {
                let d = &f.insts[*i];
                self.here = Some((id, *i));
                for t in &d.targets {
                    if !f.blocks.is_valid(t.block) || !listed.contains(t.block) {
                        self.error("V0003", f.spans[*i], format!("{} is not a block of {}", t.block, self.title(id)));
                        continue;
                    }
                    if Some(t.block) == f.entry() {
                        self.error("V0006", f.spans[*i], "a branch leads to the first block of the function");
                    }
                    let params = &f.blocks[t.block].params;
                    if params.len() != t.args.len() {
                        let m = format!("the target has {} parameters, not {}", params.len(), t.args.len());
                        self.error("V0004", f.spans[*i], m);
                        continue;
                    }
                    for (n, (p, a)) in params.iter().zip(&t.args).enumerate() {
                        if f.values.is_valid(*a) && f.ty(*p) != f.ty(*a) {
                            let m = format!("argument {n} is {}, but the parameter is {}", f.ty(*a), f.ty(*p));
                            self.error("V0005", f.spans[*i], m);
                        }
                    }
                }
            }
            self.here = None;
        }
    }

    /// Operands are values that the layout defines (V0010).
    pub(super) fn operands_exist(&mut self, id: FuncId) -> bool {
        let f = &self.m.functions[id];
        let mut defined: EntitySet<Value> = EntitySet::new();
        for b in &f.layout {
            for v in f.blocks[*b].params.iter().chain(f.blocks[*b].insts.iter().flat_map(|i| &f.insts[*i].results)) {
                defined.insert(*v);
            }
        }
        let before = self.errors.len();
        for (_, i) in f.ordered() {
            for v in f.reads(i) {
                self.here = Some((id, i));
                if !f.values.is_valid(v) || matches!(f.values[v].1, ValueDef::Alias(_)) || !defined.contains(v) {
                    self.error("V0010", f.spans[i], format!("operand {v} of `{}` is not defined", f.insts[i].op.name()));
                }
            }
        }
        self.here = None;
        self.errors.len() == before
    }

    /// Reachability, reducibility, dominance (V0008, V0009, V0011).
    pub(super) fn flow(&mut self, id: FuncId) {
        let f = &self.m.functions[id];
        let cfg = Cfg::new(f);
        let dom = DomTree::new(f, &cfg);
        for b in &f.layout {
            if !cfg.is_reachable(*b) {
                let span = f.blocks[*b].insts.first().map_or(Span::NONE, |i| f.spans[*i]);
                self.error("V0008", span, "no branch leads to this block");
            }
        }
        if let Some(e) = Loops::new(&cfg, &dom).irreducible_edge() {
            let span = f.terminator(e.from).map_or(Span::NONE, |t| f.spans[t]);
            self.error("V0009", span, "irreducible control flow: this branch enters a loop that has another entry");
        }
        // Where each value is defined: block and position, parameters before all instructions.
        let mut place: SecondaryMap<Value, (u32, u32)> = SecondaryMap::new();
        for b in &f.layout {
            for v in &f.blocks[*b].params {
                place[*v] = (b.as_u32(), 0);
            }
            for (n, i) in f.blocks[*b].insts.iter().enumerate() {
                for v in &f.insts[*i].results {
                    place[*v] = (b.as_u32(), n as u32 + 1);
                }
            }
        }
        for b in &f.layout {
            if !cfg.is_reachable(*b) {
                continue;
            }
            for (n, i) in f.blocks[*b].insts.iter().enumerate() {
                for v in f.reads(*i) {
                    let (def, at) = (Block::from_u32(place[v].0), place[v].1);
                    let good = if def == *b { at < n as u32 + 1 } else { cfg.is_reachable(def) && dom.dominates(def, *b) };
                    if good {
                        continue;
                    }
                    self.here = Some((id, *i));
                    let m = format!("`{}` uses a value that is not defined on every way here", f.insts[*i].op.name());
                    self.error("V0011", f.spans[*i], m);
                    // A block's parameter has no place of its own to point at.
                    if let ValueDef::Result(di, _) = f.values[v].1
                        && let Some(d) = self.errors.pop()
                    {
                        self.errors.push(d.note(f.spans[di], "defined here"));
                    }
                }
            }
        }
    }

    /// Calls name helpers and do not form cycles (V0060, V0061).
    pub(super) fn calls(&mut self) {
        let m = self.m;
        let n = m.functions.len();
        let mut callees: Vec<Vec<(usize, Span)>> = vec![Vec::new(); n];
        for (id, f) in &m.functions {
            for (_, i) in f.ordered() {
                let d = &f.insts[i];
                if let (Opcode::Call, Imm::Func(c)) = (d.op, &d.imm) {
                    self.here = Some((id, i));
                    if !m.functions.is_valid(*c) {
                        self.error("V0060", f.spans[i], "the called function does not exist");
                    } else if *c == m.entry {
                        self.error("V0060", f.spans[i], "the shader's entry cannot be called");
                    } else {
                        callees[id.index()].push((c.index(), f.spans[i]));
                    }
                }
            }
        }
        self.here = None;
        // Depth-first with an explicit stack; 1 = on the way, 2 = done.
        let mut state = vec![0u8; n];
        for root in 0..n {
            if state[root] != 0 {
                continue;
            }
            state[root] = 1;
            let mut stack = vec![(root, 0usize)];
            while let Some((at, next)) = stack.last_mut() {
                match callees[*at].get(*next).copied() {
                    None => {
                        state[*at] = 2;
                        stack.pop();
                    }
                    Some((c, span)) => {
                        *next += 1;
                        match state[c] {
                            0 => {
                                state[c] = 1;
                                stack.push((c, 0));
                            }
                            1 => {
                                let t = self.title(FuncId::from_u32(c as u32));
                                self.error("V0061", span, format!("{t} calls itself; recursion is not possible"));
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }
}
