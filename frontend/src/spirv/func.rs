//! Functions: blocks in order, phis as block parameters, branches, calls (in place unless `keep.rs` keeps them), returns and kills.

use super::binary::{Body, Func, Id, Inst, R, malformed};
use super::consts::Const;
use super::convert::{Converter, Frame};
use super::flow::Flow;
use super::place::{Place, Root};
use super::types::Ty;
use super::value::Val;
use crate::ssa::Gate;
use retroshade_ir::inst::Imm;
use retroshade_ir::{Block, Opcode, Stage, Value};
use rustc_hash::FxHashSet;
use spirv::Op;
use std::rc::Rc;

/// Functions that call each other.
const MAX_CALLS: usize = 64;
/// Messages before a translation stops.
const MAX_ERRORS: usize = 20;

/// A construct whose end has not come yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    /// How many functions are being translated.
    depth: usize,
    header: usize,
    merge: usize,
    gate: Gate,
}

/// A phi: result, type, and pairs of value and predecessor.
struct Phi<'m> {
    ty: Ty,
    pairs: &'m [u32],
}

/// A function while its blocks are translated.
struct Work<'m> {
    func: &'m Func,
    flow: Rc<Flow>,
    /// The IR's block of each node.
    blocks: Vec<Block>,
    /// The block in which each node's terminator stands.
    ends: Vec<Option<Block>>,
    phis: Vec<Vec<Phi<'m>>>,
    /// Predecessors that have not been translated.
    open: Vec<usize>,
}

impl<'m> Work<'m> {
    fn body(&self, n: usize) -> &'m Body {
        &self.func.blocks[self.flow.nodes[n].body]
    }
}

impl<'m> Converter<'m> {
    /// The value of an id: computed before, a constant, or a pointer to a variable of the module.
    pub(crate) fn value(&mut self, id: Id) -> R<Val> {
        if let Some(v) = self.frames.last().and_then(|f| f.vals.get(&id)) {
            return Ok(v.clone());
        }
        if let Some(c) = self.b.constants.get(&id) {
            let Some(ty) = self.types.shape(c.ty) else { return Err(malformed(c.inst.at, "a constant of an unknown type")) };
            let Some(value) = self.consts.get(&id) else { return Err(malformed(c.inst.at, "a constant without a value")) };
            return self.constant_value(value, ty);
        }
        match self.global_place(id)? {
            Some(p) => Ok(Val::Place(p)),
            None => Err(malformed(self.at, format_args!("%{id} is used where it is not defined"))),
        }
    }

    /// The IR value of a scalar or vector id.
    pub(crate) fn value_leaf(&mut self, id: Id) -> R<Value> {
        let v = self.value(id)?;
        self.leaf(&v)
    }

    /// Sets an id.
    pub(crate) fn set(&mut self, id: Id, v: Val) {
        if let Some(f) = self.frames.last_mut() {
            f.vals.insert(id, v);
        }
    }

    /// A constant in a shape.
    pub(crate) fn constant_value(&mut self, c: &Const, ty: Ty) -> R<Val> {
        self.value_limit(ty.leaves(self.types))?;
        let wrong = || malformed(0, "a constant that does not fit its type");
        match (c, ty) {
            (Const::Undef, _) => self.undef_of(ty),
            (Const::Null, _) => self.fill(ty, Some(0)),
            (Const::Bits(b), Ty::Scalar(_)) => {
                let t = self.ir_ty(ty)?;
                Ok(Val::Leaf(self.constant(t, [*b, 0, 0, 0])))
            }
            (Const::Agg(parts), Ty::Vector(n, _)) => {
                if parts.len() != n.into() {
                    return Err(wrong());
                }
                let t = self.ir_ty(ty)?;
                let mut bits = [0; 4];
                for (b, p) in bits.iter_mut().zip(parts.iter()) {
                    *b = p.bits().ok_or_else(wrong)?;
                }
                Ok(Val::Leaf(self.constant(t, bits)))
            }
            (Const::Agg(parts), Ty::Matrix(..) | Ty::Array(_) | Ty::Struct(_)) => {
                if parts.len() != ty.len(self.types) as usize {
                    return Err(wrong());
                }
                let mut out = Vec::new();
                for (n, p) in (0u32..).zip(parts.iter()) {
                    out.push(self.constant_value(p, ty.child(self.types, n))?);
                }
                Ok(Val::agg(out))
            }
            _ => Err(wrong()),
        }
    }

    fn flow(&mut self, id: Id, func: &Func) -> R<Rc<Flow>> {
        if let Some(f) = self.flows.get(&id) {
            return Ok(f.clone());
        }
        let flow = Rc::new(Flow::new(self.b, func)?);
        self.flows.insert(id, flow.clone());
        Ok(flow)
    }

    /// Parameters of a block for a value of any shape.
    fn block_params(&mut self, block: Block, ty: Ty) -> R<Val> {
        if ty.is_leaf() {
            let t = self.ir_ty(ty)?;
            return Ok(Val::Leaf(self.func().add_param(block, t)));
        }
        if !matches!(ty, Ty::Matrix(..) | Ty::Array(_) | Ty::Struct(_)) {
            return Err(self.error("F0112", "a choice between pointers or textures by control flow exists on none of the machines"));
        }
        self.value_limit(ty.leaves(self.types))?;
        let mut parts = Vec::new();
        for n in 0..ty.len(self.types) {
            parts.push(self.block_params(block, ty.child(self.types, n))?);
        }
        Ok(Val::agg(parts))
    }

    /// The leaves of a value.
    pub(crate) fn take_apart(&mut self, v: &Val, out: &mut Vec<Value>) -> R<()> {
        match self.force(v)? {
            Val::Leaf(v) => out.push(v),
            Val::Agg(parts) => {
                for p in parts.iter() {
                    self.take_apart(p, out)?;
                }
            }
            _ => return Err(self.error("F0115", "a value without parts is passed on")),
        }
        Ok(())
    }

    /// Translates a function in place, from the current block to `exit`.
    pub(crate) fn function(&mut self, id: Id, args: Vec<Val>, exit: Block, result: Option<u32>) -> R<()> {
        let b = self.b;
        let Some(func) = b.functions.get(&id) else { return Err(malformed(self.at, format_args!("%{id} is no function"))) };
        if func.blocks.is_empty() {
            return Err(malformed(func.at, "a function without a body"));
        }
        if self.frames.iter().any(|f| f.function == id) {
            return Err(self.error("F0138", "a function that calls itself runs on none of the machines"));
        }
        if self.frames.len() >= MAX_CALLS {
            return Err(self.limit(format!("functions call each other more than {MAX_CALLS} deep")));
        }
        if func.params.len() != args.len() {
            return Err(malformed(self.at, "a call with another number of arguments than the function has"));
        }
        let flow = self.flow(id, func)?;
        let vals = func.params.iter().map(|p| p.0).zip(args).collect();
        self.frames.push(Frame { function: id, vals, exit, result, base_loops: self.loops });
        let mark = self.gates.len();
        let mut work = Work {
            func,
            blocks: flow.nodes.iter().map(|_| self.new_block()).collect(),
            ends: vec![None; flow.nodes.len()],
            phis: Vec::new(),
            open: flow.nodes.iter().map(|n| n.preds.len()).collect(),
            flow,
        };
        let done = self.blocks(&mut work);
        self.gates.truncate(mark);
        if let Some(f) = self.frames.pop() {
            self.loops = f.base_loops;
        }
        done
    }

    fn blocks(&mut self, work: &mut Work<'m>) -> R<()> {
        for n in 0..work.blocks.len() {
            let mut phis = Vec::new();
            for i in self.b.insts(work.body(n).words.clone()) {
                match i.op {
                    Op::Phi => {
                        let Some(ty) = self.types.shape(i.word(0)?) else { return Err(malformed(i.at, "an unknown type")) };
                        let v = self.block_params(work.blocks[n], ty)?;
                        self.set(i.word(1)?, v);
                        phis.push(Phi { ty, pairs: i.rest(2) });
                    }
                    Op::Line | Op::NoLine | Op::Label | Op::ExtInst => {}
                    _ => break,
                }
            }
            work.phis.push(phis);
        }
        if let Some(first) = work.blocks.first().copied() {
            self.jump(first);
        }
        for n in 0..work.blocks.len() {
            self.check_fuel()?;
            if !self.ssa.has_preds(work.blocks[n]) {
                self.ended(work, n);
                continue;
            }
            self.begin(work, n);
            let end = work.body(n).end;
            self.span = retroshade_ir::Span::NONE;
            if let Some(line) = work.body(n).line {
                let line = self.b.inst(line)?;
                self.inst(&line)?;
            }
            for i in self.b.insts(work.body(n).words.start..end) {
                self.at = i.at;
                if self.instruction(&i)?.is_break() {
                    break;
                }
            }
            self.at = end;
            work.ends[n] = self.cur;
            let node = &work.flow.nodes[n];
            if let (Some((merge, false)), true, Some(block)) = (node.merge, node.gate, self.cur) {
                self.gates.push(Open { depth: self.frames.len(), header: n, merge, gate: self.ssa.gate(block) });
            }
            let t = self.b.inst(end)?;
            self.terminator(work, n, &t)?;
            self.cur = None;
            self.ended(work, n);
        }
        Ok(())
    }

    /// Begins a block: closes the construct that ends here, opens a loop.
    fn begin(&mut self, work: &Work<'m>, n: usize) {
        let depth = self.frames.len();
        let block = work.blocks[n];
        if let Some(k) = self.gates.iter().position(|o| o.depth == depth && o.merge == n) {
            let gate = self.gates[k].gate;
            self.gates.truncate(k);
            if work.open[n] == 0 {
                self.ssa.close(gate, &[block]);
            }
        }
        let node = &work.flow.nodes[n];
        if let (Some((merge, true)), true) = (node.merge, node.gate) {
            let mut before = node.preds.iter().filter(|p| **p < n).filter_map(|p| work.ends[*p]);
            if let (Some(end), None) = (before.next(), before.next()) {
                self.gates.push(Open { depth, header: n, merge, gate: self.ssa.gate(end) });
            }
        }
        if work.open[n] == 0 {
            self.seal(block);
        }
        self.start(block);
        self.loops = self.frames.last().map_or(0, |f| f.base_loops) + node.loops;
    }

    /// A block is finished, or left out: those behind it wait for one block less.
    fn ended(&mut self, work: &mut Work<'m>, n: usize) {
        let depth = self.frames.len();
        for s in work.flow.nodes[n].succs.clone() {
            work.open[s] = work.open[s].saturating_sub(1);
            // The way back to the header of a loop.
            if work.open[s] == 0 && s <= n && self.ssa.has_preds(work.blocks[s]) {
                if let Some(k) =
                    self.gates.iter().position(|o| o.depth == depth && o.header == s && work.flow.nodes[s].merge.is_some_and(|m| m.1))
                {
                    self.gates.truncate(k + 1);
                    let gate = self.gates[k].gate;
                    self.ssa.close(gate, &[work.blocks[s]]);
                }
                self.seal(work.blocks[s]);
            }
        }
    }

    /// What a branch from one node to another passes for the phis there.
    fn passed(&mut self, work: &Work<'m>, from: usize, to: usize) -> R<Vec<Value>> {
        let label = work.body(from).label;
        let mut out = Vec::new();
        for phi in &work.phis[to] {
            let Some(pair) = phi.pairs.chunks_exact(2).find(|p| p[1] == label) else {
                return Err(malformed(work.body(to).words.start, format_args!("a phi without a value for %{label}")));
            };
            let v = self.value(pair[0])?;
            let before = out.len();
            self.take_apart(&v, &mut out)?;
            if (out.len() - before) as u64 != self.leaf_count(phi.ty) {
                return Err(malformed(work.body(to).words.start, "a phi with a value of another type"));
            }
        }
        Ok(out)
    }

    /// Leaves of a value, empty structures counted as none.
    fn leaf_count(&self, ty: Ty) -> u64 {
        match ty {
            Ty::Struct(_) | Ty::Array(_) | Ty::Matrix(..) => {
                let n = ty.len(self.types);
                if matches!(ty, Ty::Struct(_)) {
                    (0..n).map(|k| self.leaf_count(ty.child(self.types, k))).sum()
                } else {
                    u64::from(n).saturating_mul(self.leaf_count(ty.child(self.types, 0)))
                }
            }
            _ => 1,
        }
    }

    /// Undefined values for the phis of a node.
    fn passed_nothing(&mut self, work: &Work<'m>, to: usize) -> R<Vec<Value>> {
        let mut out = Vec::new();
        for phi in &work.phis[to] {
            let v = self.undef_of(phi.ty)?;
            self.take_apart(&v, &mut out)?;
        }
        Ok(out)
    }

    fn go(&mut self, work: &Work<'m>, to: usize, args: &[Value]) {
        let (from, to) = (self.block(), work.blocks[to]);
        self.ssa.edge(from, to);
        self.b().jump(to, args);
        self.cur = None;
    }

    fn target(&self, work: &Work<'m>, label: Id) -> R<usize> {
        work.flow.at.get(&label).copied().ok_or_else(|| malformed(self.at, format_args!("%{label} is no block of this function")))
    }

    fn terminator(&mut self, work: &Work<'m>, n: usize, t: &Inst<'m>) -> R<()> {
        match t.op {
            Op::Branch => {
                let to = self.target(work, t.word(0)?)?;
                let args = self.passed(work, n, to)?;
                self.go(work, to, &args);
            }
            Op::BranchConditional => self.branch(work, n, t)?,
            Op::Switch => self.switch(work, n, t)?,
            Op::Return | Op::ReturnValue => {
                let (exit, slot) = self.frames.last().map_or((work.blocks[0], None), |f| (f.exit, f.result));
                if let (Op::ReturnValue, Some(slot)) = (t.op, slot) {
                    let v = self.value(t.word(0)?)?;
                    let ty = self.types.shape(work.func.result).unwrap_or(Ty::Opaque);
                    let slot = self.slots[slot as usize].clone();
                    self.store_slot(&slot, &[], &v, ty)?;
                }
                self.jump(exit);
            }
            Op::Kill | Op::TerminateInvocation => self.kill(work, n)?,
            Op::Unreachable => {
                self.b().branch(Opcode::Unreachable, &[], Imm::None, &[]);
                self.cur = None;
            }
            op => return Err(self.error("F0120", format!("{op:?}: mesh and ray-tracing programs run on none of the machines"))),
        }
        Ok(())
    }

    fn branch(&mut self, work: &Work<'m>, n: usize, t: &Inst<'m>) -> R<()> {
        let c = self.value_leaf(t.word(0)?)?;
        let (yes, no) = (self.target(work, t.word(1)?)?, self.target(work, t.word(2)?)?);
        if self.func().ty(c) != retroshade_ir::types::I1 {
            return Err(malformed(self.at, "a condition that is no truth value"));
        }
        // A branch that only discards becomes a conditional discard, and the other side straight code.
        if self.out.stage == Stage::Fragment && self.loops == 0 && yes != no {
            // Its merge block may be out of reach, where both sides end.
            let merge = work.body(n).merge.and_then(|at| self.b.inst(at).ok());
            let selects = merge.is_some_and(|m| m.op == Op::SelectionMerge);
            for (kills, other, negate) in [(yes, no, false), (no, yes, true)] {
                if selects && self.only_kills(work, kills) {
                    let c = if negate { self.b().ins(Opcode::Inot, &[c]) } else { c };
                    self.discard(c);
                    let args = self.passed(work, n, other)?;
                    self.go(work, other, &args);
                    return Ok(());
                }
            }
        }
        let one = if yes == no { Some(yes) } else { self.known(c).map(|k| if k != 0 { yes } else { no }) };
        if let Some(to) = one {
            let args = self.passed(work, n, to)?;
            self.go(work, to, &args);
            return Ok(());
        }
        let (a, b) = (self.passed(work, n, yes)?, self.passed(work, n, no)?);
        self.jump_if(c, (work.blocks[yes], &a), (work.blocks[no], &b));
        Ok(())
    }

    fn switch(&mut self, work: &Work<'m>, n: usize, t: &Inst<'m>) -> R<()> {
        let v = self.value_leaf(t.word(0)?)?;
        if self.func().ty(v) != retroshade_ir::types::I32 {
            return Err(self.error("F0114", super::flow::SWITCH_OF_WORDS));
        }
        let default = self.target(work, t.word(1)?)?;
        let known = self.known(v);
        let (mut values, mut targets) = (Vec::new(), Vec::new());
        let mut seen = FxHashSet::default();
        for case in t.rest(2).chunks_exact(2) {
            let to = self.target(work, case[1])?;
            if known == Some(case[0]) {
                let args = self.passed(work, n, to)?;
                self.go(work, to, &args);
                return Ok(());
            }
            if seen.insert(case[0]) {
                values.push(case[0]);
                targets.push((to, self.passed(work, n, to)?));
            }
        }
        targets.push((default, self.passed(work, n, default)?));
        if values.is_empty() || known.is_some() {
            let args = targets.pop().map(|t| t.1).unwrap_or_default();
            self.go(work, default, &args);
            return Ok(());
        }
        let from = self.block();
        for (to, _) in &targets {
            self.ssa.edge(from, work.blocks[*to]);
        }
        let calls: Vec<(Block, &[Value])> = targets.iter().map(|(to, args)| (work.blocks[*to], &args[..])).collect();
        self.b().switch(v, &values, &calls);
        self.cur = None;
        Ok(())
    }

    /// Whether a block does nothing but end the invocation.
    fn only_kills(&self, work: &Work<'m>, n: usize) -> bool {
        let body = work.body(n);
        let idle = |op| matches!(op, Op::Line | Op::NoLine | Op::Label | Op::ExtInst | Op::Nop);
        work.flow.nodes[n].preds.len() == 1
            && self.b.insts(body.words.start..body.end).all(|i| idle(i.op))
            && self.b.inst(body.end).is_ok_and(|t| matches!(t.op, Op::Kill | Op::TerminateInvocation))
    }

    /// A discard. Outside loops the invocation goes on as a helper, which leaves straight code; its outputs no longer matter. In a loop it
    /// ends, since the loop might wait for it; in front of one `kills.rs` sees to that.
    fn kill(&mut self, work: &Work<'m>, n: usize) -> R<()> {
        if self.out.stage != Stage::Fragment || self.loops > 0 {
            self.b().branch(Opcode::Kill, &[], Imm::None, &[]);
            self.cur = None;
            return Ok(());
        }
        let yes = self.splat_const(retroshade_ir::types::I1, 1);
        self.discard(yes);
        self.forget_outputs();
        // On to the end of the construct that it lies in.
        let mut around = work.flow.nodes[n].around;
        while let Some(h) = around {
            if let Some((m, _)) = work.flow.nodes[h].merge
                && m > n
                && self.b.inst(work.body(m).end).is_ok_and(|t| t.op != Op::Unreachable)
            {
                let args = self.passed_nothing(work, m)?;
                self.go(work, m, &args);
                return Ok(());
            }
            around = work.flow.nodes[h].around;
        }
        if let Some(exit) = self.frames.last().map(|f| f.exit) {
            self.jump(exit);
        }
        Ok(())
    }

    fn discard(&mut self, c: Value) {
        let i = self.b().effect(Opcode::Discard, &[c], Imm::None);
        self.discards.push(i);
    }

    fn forget_outputs(&mut self) {
        for (var, ..) in self.outputs.clone() {
            let t = self.ssa.ty(var);
            let u = self.undef(t);
            self.write_var(var, u);
        }
    }

    /// An instruction that is no terminator. What cannot be translated is reported, and work goes on.
    fn instruction(&mut self, i: &Inst<'m>) -> R<std::ops::ControlFlow<()>> {
        let outcome = self.inst(i);
        self.precise = false;
        let Err(d) = outcome else { return Ok(std::ops::ControlFlow::Continue(())) };
        let fatal = d.code.starts_with('L') || d.code == "F0012" || self.diags.len() >= MAX_ERRORS;
        if !self.diags.contains(&d) {
            self.diags.push(d.clone());
        }
        if fatal {
            return Err(d);
        }
        if let (Some(Some(ty)), Ok(id)) = (i.operands.first().map(|t| self.types.shape(*t)), i.word(1))
            && matches!(ty, Ty::Scalar(_) | Ty::Vector(..) | Ty::Matrix(..) | Ty::Array(_) | Ty::Struct(_))
            && let Ok(v) = self.undef_of(ty)
        {
            self.set(id, v);
            return Ok(std::ops::ControlFlow::Continue(()));
        }
        // Without a value for what follows only what stands in front is known.
        Err(d)
    }

    /// A call.
    pub(crate) fn call(&mut self, i: &Inst<'m>) -> R<()> {
        let (id, callee) = (i.word(1)?, i.word(2)?);
        let Some(func) = self.b.functions.get(&callee) else { return Err(malformed(i.at, format_args!("%{callee} is no function"))) };
        let mut args = Vec::new();
        for a in i.rest(3) {
            args.push(self.value(*a)?);
        }
        if self.kept.contains_key(&callee) {
            let v = self.call_kept(callee, &args)?;
            self.set(id, v);
            return Ok(());
        }
        let ty = self.types.shape(func.result).unwrap_or(Ty::Opaque);
        let slot = match ty {
            Ty::Void => None,
            _ => {
                let slot = self.make_slot("result", ty, &(callee, Default::default()), true)?;
                Some(self.add_slot(slot))
            }
        };
        let exit = self.new_block();
        let block = self.block();
        let (span, gate) = (self.span, self.ssa.gate(block));
        self.function(callee, args, exit, slot)?;
        self.ssa.close(gate, &[exit]);
        self.seal(exit);
        self.span = span;
        self.at = i.at;
        // Where the function never returns, what follows cannot be reached.
        self.start(exit);
        if let Some(slot) = slot {
            let v = self.load(&Place::of(Root::Slot(slot), ty))?;
            self.set(id, v);
        }
        Ok(())
    }
}
