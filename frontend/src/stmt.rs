//! Statements: control flow, stores, calls (inlined unless `keep.rs` keeps them), atomics, barriers; and the variables of functions.

use crate::convert::{Converter, Flow, Frame, Lang, R};
use crate::place::{Mem, Place, Root, Slot, Step};
use crate::types::Ty;
use crate::value::Val;
use naga::valid::FunctionInfo;
use naga::{Expression, Handle, Statement, SwitchValue};
use retroshade_ir::inst::{AtomicOp, Imm, MemRef};
use retroshade_ir::types::{I32, Type};
use retroshade_ir::{Block, IntCC, Opcode, Span, Value};
use std::rc::Rc;

impl<'m> Converter<'m> {
    /// Enters a function: its local variables get slots and first values.
    pub(crate) fn push_frame(
        &mut self,
        func: &'m naga::Function,
        info: &'m FunctionInfo,
        id: u32,
        args: Vec<Val>,
        exit: Block,
        result: Option<u32>,
    ) -> R<()> {
        let mut locals = Vec::new();
        for (h, v) in func.local_variables.iter() {
            self.span = (self.spans)(func.local_variables.get_span(h));
            let name = v.name.clone().unwrap_or_default();
            let slot = self.make_slot(&name, Ty::of(self.nm, v.ty), &(Some(id), h.index() as u32, Default::default()), false)?;
            locals.push(self.add_slot(slot));
        }
        self.frames.push(Frame { func, info, args, exprs: Default::default(), locals: locals.clone(), exit, result });
        for ((h, v), slot) in func.local_variables.iter().zip(locals) {
            self.span = (self.spans)(func.local_variables.get_span(h));
            let ty = Ty::of(self.nm, v.ty);
            match v.init {
                Some(init) => {
                    let value = self.expr(init)?;
                    let slot = self.slots[slot as usize].clone();
                    self.store_slot(&slot, &[], &value, ty)?;
                }
                None if matches!(self.slots[slot as usize], Slot::Mem(_)) && first_use_fills(func, h) => {}
                None => self.start_value(slot, ty)?,
            }
        }
        Ok(())
    }

    /// Statements in order, until control ends.
    pub(crate) fn stmts(&mut self, block: &'m naga::Block) -> R<()> {
        for (s, span) in block.span_iter() {
            if self.cur.is_none() {
                return Ok(());
            }
            self.check_fuel()?;
            self.span = (self.spans)(*span);
            if let Err(d) = self.stmt(s) {
                // What cannot be translated is reported, and work goes on with the next statement.
                let fatal = d.code.starts_with('L') || self.diags.len() >= 20;
                if !self.diags.contains(&d) {
                    self.diags.push(d.clone());
                }
                if fatal {
                    return Err(d);
                }
            }
        }
        Ok(())
    }

    fn stmt(&mut self, s: &'m Statement) -> R<()> {
        match s {
            Statement::Emit(range) => {
                for h in range.clone() {
                    let Some(frame) = self.frames.last() else { break };
                    let span = (self.spans)(frame.func.expressions.get_span(h));
                    let outer = self.span;
                    if !span.is_none() {
                        self.span = span;
                    }
                    let v = match self.eval(h) {
                        Ok(v) => v,
                        Err(d) if d.code.starts_with('L') => return Err(d),
                        Err(d) => {
                            if !self.diags.contains(&d) {
                                self.diags.push(d);
                            }
                            let ty = self.expr_ty(h);
                            self.undef_of(ty)?
                        }
                    };
                    self.span = outer;
                    if let Some(f) = self.frames.last_mut() {
                        f.exprs.insert(h, v);
                    }
                }
                Ok(())
            }
            Statement::Block(b) => self.stmts(b),
            Statement::If { condition, accept, reject } => self.if_(*condition, accept, reject),
            Statement::Switch { selector, cases } => self.switch(*selector, cases),
            Statement::Loop { body, continuing, break_if } => self.loop_(body, continuing, *break_if),
            Statement::Break => {
                if let Some(f) = self.flow.last().copied() {
                    self.jump(f.exit);
                }
                Ok(())
            }
            Statement::Continue => {
                if let Some(c) = self.flow.iter().rev().find_map(|f| f.cont) {
                    self.jump(c);
                }
                Ok(())
            }
            Statement::Return { value } => {
                if let Some(v) = value {
                    let v = self.expr(*v)?;
                    let slot = self.frames.last().and_then(|f| f.result);
                    if let Some(slot) = slot {
                        let slot = self.slots[slot as usize].clone();
                        let ty = self.expr_ty_of_result();
                        self.store_slot(&slot, &[], &v, ty)?;
                    }
                }
                if let Some(exit) = self.frames.last().map(|f| f.exit) {
                    self.jump(exit);
                }
                Ok(())
            }
            Statement::Kill => {
                self.kill();
                Ok(())
            }
            Statement::ControlBarrier(_) => {
                self.b().effect(Opcode::Barrier, &[], Imm::None);
                Ok(())
            }
            // Memory of one invocation is always in order, and other invocations only look after a control barrier.
            Statement::MemoryBarrier(_) => Ok(()),
            Statement::Store { pointer, value } => {
                let v = self.expr(*value)?;
                match self.expr(*pointer)? {
                    Val::Place(p) => self.store(&p, &v),
                    _ => Err(self.error("F0113", "a store to something that cannot be written")),
                }
            }
            Statement::Atomic { pointer, fun, value, result } => self.atomic(*pointer, fun, *value, *result),
            Statement::WorkGroupUniformLoad { pointer, result } => {
                self.b().effect(Opcode::Barrier, &[], Imm::None);
                let Val::Place(p) = self.expr(*pointer)? else { return Err(self.error("F0113", "a load from something without a place")) };
                let v = self.load(&p)?;
                let v = self.force(&v)?;
                self.b().effect(Opcode::Barrier, &[], Imm::None);
                self.set(*result, v);
                Ok(())
            }
            Statement::Call { function, arguments, result } => self.call(*function, arguments, *result),
            Statement::ImageStore { .. } | Statement::ImageAtomic { .. } => {
                Err(self.error("F0136", "a store to a texture: none of the machines can write textures from a program"))
            }
            Statement::SubgroupBallot { .. } | Statement::SubgroupGather { .. } | Statement::SubgroupCollectiveOperation { .. } => {
                Err(self.error("F0133", "subgroup operations exist on none of the machines"))
            }
            Statement::CooperativeStore { .. } => Err(self.error("F0133", "cooperative matrices exist on none of the machines")),
            Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => {
                Err(self.error("F0120", "ray tracing exists on none of the machines"))
            }
        }
    }

    fn expr_ty_of_result(&self) -> Ty {
        self.frames.last().and_then(|f| f.func.result.as_ref()).map_or(Ty::Opaque, |r| Ty::of(self.nm, r.ty))
    }

    fn set(&mut self, h: Handle<Expression>, v: Val) {
        if let Some(f) = self.frames.last_mut() {
            f.exprs.insert(h, v);
        }
    }

    /// A discard. Outside loops the invocation goes on as a helper, as WGSL has it, which leaves straight code; its outputs no
    /// longer matter. In a loop it ends, since the loop might wait for it.
    fn kill(&mut self) {
        if self.out.stage != retroshade_ir::Stage::Fragment || self.loops > 0 {
            self.b().branch(Opcode::Kill, &[], Imm::None, &[]);
            self.cur = None;
            return;
        }
        let yes = self.splat_const(retroshade_ir::types::I1, 1);
        self.b().effect(Opcode::Discard, &[yes], Imm::None);
        self.forget_outputs();
    }

    fn forget_outputs(&mut self) {
        for n in self.output_slots.clone() {
            let slot = self.slots[n as usize].clone();
            self.forget(&slot);
        }
    }

    fn forget(&mut self, slot: &Slot) {
        match slot {
            Slot::Leaf(var) => {
                let t = self.ssa.ty(*var);
                let u = self.undef(t);
                self.write_var(*var, u);
            }
            Slot::Agg(parts, _) => {
                for p in parts.iter() {
                    self.forget(p);
                }
            }
            Slot::Mem(_) => {}
        }
    }

    fn if_(&mut self, condition: Handle<Expression>, accept: &'m naga::Block, reject: &'m naga::Block) -> R<()> {
        let c = self.expr_leaf(condition)?;
        // A branch that only discards becomes a conditional discard, and the other side straight code.
        if self.out.stage == retroshade_ir::Stage::Fragment && self.loops == 0 {
            if only_kills(accept) && !has_loop(reject) {
                self.b().effect(Opcode::Discard, &[c], Imm::None);
                return self.stmts(reject);
            }
            if only_kills(reject) && !has_loop(accept) {
                let not = self.b().ins(Opcode::Inot, &[c]);
                self.b().effect(Opcode::Discard, &[not], Imm::None);
                return self.stmts(accept);
            }
        }
        match self.known(c) {
            Some(0) => return self.stmts(reject),
            Some(_) => return self.stmts(accept),
            None => {}
        }
        let (yes, no, merge) = (self.new_block(), self.new_block(), self.new_block());
        let gate = self.gate();
        self.br_if(c, yes, no);
        for (b, body) in [(yes, accept), (no, reject)] {
            self.seal(b);
            self.start(b);
            self.stmts(body)?;
            self.jump(merge);
        }
        self.ssa.close(gate, &[merge]);
        self.seal(merge);
        if self.ssa.has_preds(merge) {
            self.start(merge);
        }
        Ok(())
    }

    fn switch(&mut self, selector: Handle<Expression>, cases: &'m [naga::SwitchCase]) -> R<()> {
        let v = self.expr_leaf(selector)?;
        let exit = self.new_block();
        let bodies: Vec<Block> = cases.iter().map(|_| self.new_block()).collect();
        let entries: Vec<Block> = cases.iter().map(|_| self.new_block()).collect();
        let mut values = Vec::new();
        let mut targets: Vec<(Block, &[Value])> = Vec::new();
        let mut default = exit;
        let mut has_default = false;
        for (n, c) in cases.iter().enumerate() {
            match c.value {
                SwitchValue::I32(k) => {
                    values.push(k as u32);
                    targets.push((entries[n], &[]));
                }
                SwitchValue::U32(k) => {
                    values.push(k);
                    targets.push((entries[n], &[]));
                }
                SwitchValue::Default => {
                    default = entries[n];
                    has_default = true;
                }
            }
        }
        let spare = self.new_block();
        if !has_default {
            default = spare;
        }
        targets.push((default, &[]));
        let Some(from) = self.cur else { return Ok(()) };
        let gate = self.gate();
        for (t, _) in &targets {
            self.ssa.edge(from, *t);
        }
        if values.is_empty() {
            self.b().jump(default, &[]);
        } else {
            self.b().switch(v, &values, &targets);
        }
        self.cur = None;
        if !has_default {
            self.seal(spare);
            self.start(spare);
            self.jump(exit);
        }
        self.flow.push(Flow { exit, cont: None });
        for (n, c) in cases.iter().enumerate() {
            self.seal(entries[n]);
            self.start(entries[n]);
            self.jump(bodies[n]);
            self.seal(bodies[n]);
            self.start(bodies[n]);
            let done = self.stmts(&c.body);
            if let Err(d) = done {
                self.flow.pop();
                return Err(d);
            }
            match bodies.get(n + 1) {
                Some(next) if c.fall_through => self.jump(*next),
                _ => self.jump(exit),
            }
        }
        self.flow.pop();
        self.ssa.close(gate, &[exit]);
        self.seal(exit);
        if self.ssa.has_preds(exit) {
            self.start(exit);
        }
        Ok(())
    }

    fn loop_(&mut self, body: &'m naga::Block, continuing: &'m naga::Block, break_if: Option<Handle<Expression>>) -> R<()> {
        let (header, cont, exit) = (self.new_block(), self.new_block(), self.new_block());
        let gate = self.gate();
        self.jump(header);
        self.start(header);
        self.flow.push(Flow { exit, cont: Some(cont) });
        self.loops += 1;
        let done = self.stmts(body).and_then(|()| {
            self.jump(cont);
            self.seal(cont);
            if !self.ssa.has_preds(cont) {
                return Ok(());
            }
            self.start(cont);
            self.stmts(continuing)?;
            match break_if {
                Some(c) => {
                    let c = self.expr_leaf(c)?;
                    let (leave, again) = (self.new_block(), self.new_block());
                    self.br_if(c, leave, again);
                    self.seal(leave);
                    self.start(leave);
                    self.jump(exit);
                    self.seal(again);
                    self.start(again);
                    self.jump(header);
                }
                None => self.jump(header),
            }
            Ok(())
        });
        self.loops -= 1;
        self.flow.pop();
        self.ssa.close(gate, &[header, exit]);
        self.seal(header);
        self.seal(exit);
        done?;
        self.cur = None;
        if self.ssa.has_preds(exit) {
            self.start(exit);
        }
        Ok(())
    }

    fn call(&mut self, function: Handle<naga::Function>, arguments: &[Handle<Expression>], result: Option<Handle<Expression>>) -> R<()> {
        let func = &self.nm.functions[function];
        let info = &self.info[function];
        let mut args = Vec::new();
        for a in arguments {
            args.push(self.expr(*a)?);
        }
        if self.kept.contains_key(&function) {
            let v = self.call_kept(function, &args)?;
            if let (Some(h), Some(v)) = (result, v) {
                self.set(h, v);
            }
            return Ok(());
        }
        if self.frames.len() > 200 {
            return Err(self.limit("functions call each other more than 200 deep"));
        }
        let exit = self.new_block();
        let id = function.index() as u32;
        let slot = match &func.result {
            Some(r) => {
                let slot = self.make_slot("result", Ty::of(self.nm, r.ty), &(Some(id), u32::MAX, Default::default()), true)?;
                Some(self.add_slot(slot))
            }
            None => None,
        };
        let span = self.span;
        let flow = std::mem::take(&mut self.flow);
        let gate = self.gate();
        self.push_frame(func, info, id, args, exit, slot)?;
        let done = self.stmts(&func.body);
        self.jump(exit);
        self.ssa.close(gate, &[exit]);
        self.seal(exit);
        self.frames.pop();
        self.flow = flow;
        self.span = span;
        done?;
        self.cur = None;
        if !self.ssa.has_preds(exit) {
            return Ok(());
        }
        self.start(exit);
        if let (Some(h), Some(slot)) = (result, slot) {
            let ty = self.expr_ty(h);
            let v = self.load(&Place::of(Root::Slot(slot), ty))?;
            self.set(h, v);
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: &naga::AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> R<()> {
        let Val::Place(p) = self.expr(pointer)? else { return Err(self.error("F0113", "an atomic on something without a place")) };
        let Some(scalar) = p.ty.scalar() else { return Err(self.error("F0137", "an atomic on something that is no number")) };
        let signed = scalar.kind == naga::ScalarKind::Sint;
        if self.ir_ty(Ty::Scalar(scalar))? != I32 {
            return Err(self.error("F0137", "atomics on floats exist on none of the machines"));
        }
        let (var, (offset, index)) = self.atomic_address(&p)?;
        let mut v = self.expr_leaf(value)?;
        let mut args = Vec::new();
        let mut compare = None;
        let op = match fun {
            naga::AtomicFunction::Add => AtomicOp::Add,
            naga::AtomicFunction::Subtract => {
                v = self.b().ins(Opcode::Ineg, &[v]);
                AtomicOp::Add
            }
            naga::AtomicFunction::And => AtomicOp::And,
            naga::AtomicFunction::InclusiveOr => AtomicOp::Or,
            naga::AtomicFunction::ExclusiveOr => AtomicOp::Xor,
            naga::AtomicFunction::Min if signed => AtomicOp::Smin,
            naga::AtomicFunction::Min => AtomicOp::Umin,
            naga::AtomicFunction::Max if signed => AtomicOp::Smax,
            naga::AtomicFunction::Max => AtomicOp::Umax,
            naga::AtomicFunction::Exchange { compare: None } => AtomicOp::Xchg,
            naga::AtomicFunction::Exchange { compare: Some(c) } => {
                let c = self.expr_leaf(*c)?;
                compare = Some(c);
                args.push(c);
                AtomicOp::Cas
            }
        };
        args.push(v);
        args.extend(index);
        let old = self.b().typed(Opcode::Atomic, I32, &args, Imm::Atomic { var, offset, op });
        if let Some(h) = result {
            let is_struct = matches!(self.expr_ty(h), Ty::Struct(_));
            let v = match compare {
                Some(c) if is_struct => {
                    let same = self.b().icmp(IntCC::Eq, old, c);
                    Val::agg(vec![Val::Leaf(old), Val::Leaf(same)])
                }
                _ => Val::Leaf(old),
            };
            self.set(h, v);
        }
        Ok(())
    }

    fn atomic_address(&mut self, p: &Place) -> R<(MemRef, (u32, Option<Value>))> {
        match p.root {
            Root::Storage(_) => {
                let crate::place::Address { decl, at, .. } = self.storage_address(p)?;
                Ok((MemRef::Storage(decl), at))
            }
            Root::Slot(n) => {
                let Slot::Mem(m) = self.slots[n as usize].clone() else {
                    return Err(self.error("F0137", "an atomic on a variable that is not shared"));
                };
                let mut node: &Mem = &m;
                let mut at = (0u32, None);
                for s in &p.path {
                    match (node, s) {
                        (Mem::Struct(parts), Step::Const(k)) => match parts.get(*k as usize) {
                            Some(x) => node = x,
                            None => return Err(self.error("F0111", "a member that does not exist")),
                        },
                        (Mem::Array(count, elem), s) => {
                            at = self.mem_index(*count, at, *s);
                            node = elem;
                        }
                        _ => return Err(self.error("F0137", "an atomic on a part of a vector")),
                    }
                }
                match node {
                    Mem::Leaf(var, _) => Ok((*var, at)),
                    _ => Err(self.error("F0137", "an atomic on a composite")),
                }
            }
            Root::Uniform(_) => Err(self.error("F0113", "a uniform cannot be written")),
        }
    }

    /// An IR array that holds constants (made once, filled at the start) or other values, indexed by a computed value.
    pub(crate) fn table(&mut self, parts: &[Val], index: Value) -> R<Val> {
        let mut leaves = Vec::new();
        let constant = self.constant_leaves(parts, &mut leaves);
        let known = if constant { self.tables.get(&leaves).cloned() } else { None };
        let mem = match known {
            Some(m) => m,
            None => {
                let elem = self.mem_like(&parts[0], parts.len() as u32)?;
                let m = Rc::new(Mem::Array(parts.len() as u32, Box::new(elem)));
                let value = Val::agg(parts.to_vec());
                if constant {
                    self.fill_in_prelude(&m, &value)?;
                    self.tables.insert(leaves, m.clone());
                } else {
                    self.store_mem(&m, &[], 0, None, &value)?;
                }
                m
            }
        };
        self.load_from(&mem, &[Step::Dyn(index)])
    }

    /// Stores that fill a constant table go to the start of the entry block, so that they run once and dominate all uses.
    fn fill_in_prelude(&mut self, m: &Mem, value: &Val) -> R<()> {
        let (cur, span) = (self.cur, self.span);
        let scratch = self.new_block();
        self.cur = Some(scratch);
        self.seal(scratch);
        // Constants are made anew in the scratch block, since those of the current block do not dominate it.
        let value = self.rebuild_constants(value)?;
        let done = self.store_mem(m, &[], 0, None, &value);
        self.cur = cur;
        self.span = span;
        let moved = std::mem::take(&mut self.func().blocks[scratch].insts);
        self.prelude.extend(moved);
        done
    }

    fn rebuild_constants(&mut self, v: &Val) -> R<Val> {
        match v {
            Val::Leaf(x) => {
                let ty = self.func().ty(*x);
                let mut bits = [0; 4];
                for n in 0..ty.lanes {
                    if let crate::value::Lane::Bits(b) = crate::value::trace_lane(self.func(), *x, n) {
                        bits[n as usize] = b;
                    }
                }
                Ok(Val::Leaf(self.constant(ty, bits)))
            }
            Val::Agg(parts) => {
                let mut out = Vec::new();
                for p in parts.iter() {
                    out.push(self.rebuild_constants(p)?);
                }
                Ok(Val::agg(out))
            }
            other => Ok(other.clone()),
        }
    }

    fn constant_leaves(&mut self, parts: &[Val], out: &mut Vec<(Type, [u32; 4])>) -> bool {
        for p in parts {
            match p {
                Val::Leaf(x) => {
                    let ty = self.func().ty(*x);
                    let mut bits = [0; 4];
                    for n in 0..ty.lanes {
                        match crate::value::trace_lane(self.func(), *x, n) {
                            crate::value::Lane::Bits(b) => bits[n as usize] = b,
                            _ => return false,
                        }
                    }
                    out.push((ty, bits));
                }
                Val::Agg(inner) => {
                    if !self.constant_leaves(&inner.clone(), out) {
                        return false;
                    }
                }
                _ => return false,
            }
        }
        true
    }

    /// IR arrays shaped like a value.
    fn mem_like(&mut self, v: &Val, outer: u32) -> R<Mem> {
        match self.force(v)? {
            Val::Leaf(x) => {
                let ty = self.func().ty(x);
                let n = self.func().locals.len();
                let var = self.func().locals.push(retroshade_ir::function::LocalDecl { name: format!("table{n}"), ty, count: outer });
                Ok(Mem::Leaf(MemRef::Local(var), ty))
            }
            Val::Agg(parts) => {
                let same = parts.iter().all(|p| matches!((p, &parts[0]), (Val::Leaf(_), Val::Leaf(_))));
                let leaf_types: Vec<Option<Type>> =
                    parts.iter().map(|p| if let Val::Leaf(x) = p { Some(self.func().ty(*x)) } else { None }).collect();
                if same && parts.len() > 1 && leaf_types.iter().all(|t| *t == leaf_types[0]) {
                    let inner = self.mem_like(&parts[0].clone(), outer * parts.len() as u32)?;
                    return Ok(Mem::Array(parts.len() as u32, Box::new(inner)));
                }
                let mut out = Vec::new();
                for p in parts.iter() {
                    out.push(self.mem_like(p, outer)?);
                }
                Ok(Mem::Struct(out))
            }
            _ => Err(self.error("F0112", "a value that cannot be held in memory")),
        }
    }

    /// Sets indexed memory to zero; `outer` elements have been multiplied in by enclosing levels.
    pub(crate) fn zero_mem(&mut self, m: &Mem, outer: u32) -> R<()> {
        match m {
            Mem::Struct(parts) => parts.iter().try_for_each(|p| self.zero_mem(p, outer)),
            Mem::Array(n, elem) => self.zero_mem(elem, outer.saturating_mul(*n)),
            Mem::Leaf(var, ty) if outer <= 16 => {
                let zero = self.splat_const(*ty, 0);
                for i in 0..outer {
                    self.b().store(*var, i, zero, None);
                }
                Ok(())
            }
            Mem::Leaf(var, ty) => {
                let (start, step) = (self.iconst(0), self.iconst(1));
                self.zero_loop(*var, *ty, outer, start, step);
                Ok(())
            }
        }
    }

    fn zero_loop(&mut self, var: MemRef, ty: Type, count: u32, start: Value, step: Value) {
        let i = self.ssa.var(I32);
        self.write_var(i, start);
        let (header, body, exit) = (self.new_block(), self.new_block(), self.new_block());
        self.jump(header);
        self.start(header);
        let at = self.read_var(i);
        let n = self.iconst(count);
        let more = self.b().icmp(IntCC::Ult, at, n);
        self.br_if(more, body, exit);
        self.seal(body);
        self.start(body);
        let zero = self.splat_const(ty, 0);
        let at = self.read_var(i);
        self.b().store(var, 0, zero, Some(at));
        let next = self.b().ins(Opcode::Iadd, &[at, step]);
        self.write_var(i, next);
        self.jump(header);
        self.seal(header);
        self.seal(exit);
        self.start(exit);
    }

    /// Workgroup memory starts as zero in WGSL: the invocations share the work.
    pub(crate) fn zero_shared(&mut self) -> R<()> {
        if self.lang != Lang::Wgsl || self.out.shared.is_empty() {
            return Ok(());
        }
        self.span = Span::NONE;
        let index = self.local_index();
        let size: u32 = self.out.workgroup_size.iter().product();
        for (id, count, ty) in self.out.shared.iter().map(|(id, d)| (id, d.count, d.ty)).collect::<Vec<_>>() {
            let step = self.iconst(size);
            self.zero_loop(MemRef::Shared(id), ty, count, index, step);
        }
        self.b().effect(Opcode::Barrier, &[], Imm::None);
        Ok(())
    }

    fn local_index(&mut self) -> Value {
        use retroshade_ir::module::{Binding, Builtin, IoDecl};
        let want = Binding::Builtin(Builtin::LocalInvocationIndex);
        let id = match self.out.inputs.iter().find(|(_, d)| d.binding == want) {
            Some((id, _)) => id,
            None => self.out.inputs.push(IoDecl { source_type: Some("u32".into()), ..IoDecl::builtin(I32, Builtin::LocalInvocationIndex) }),
        };
        self.b().load(I32, MemRef::Input(id), 0, None)
    }
}

/// Whether a block does nothing but discard.
fn only_kills(b: &naga::Block) -> bool {
    let mut kills = false;
    for s in b.iter() {
        match s {
            Statement::Emit(_) => {}
            Statement::Kill => kills = true,
            Statement::Block(b) if only_kills(b) => kills = true,
            _ => return false,
        }
    }
    kills
}

fn has_loop(b: &naga::Block) -> bool {
    b.iter().any(|s| match s {
        Statement::Loop { .. } | Statement::Call { .. } => true,
        Statement::Block(b) => has_loop(b),
        Statement::If { accept, reject, .. } => has_loop(accept) || has_loop(reject),
        Statement::Switch { cases, .. } => cases.iter().any(|c| has_loop(&c.body)),
        _ => false,
    })
}

/// Whether the first thing that a function does with a variable, outside all control flow, is to set it as a whole.
fn first_use_fills(f: &naga::Function, v: Handle<naga::LocalVariable>) -> bool {
    let is_var = |e: Handle<Expression>| matches!(f.expressions[e], Expression::LocalVariable(x) if x == v);
    for s in f.body.iter() {
        match s {
            Statement::Store { pointer, .. } if is_var(*pointer) => return true,
            Statement::Emit(r) => {
                for h in r.clone() {
                    let named = match &f.expressions[h] {
                        Expression::Load { pointer } => root(f, *pointer) == Some(v),
                        _ => false,
                    };
                    if named {
                        return false;
                    }
                }
            }
            Statement::Store { pointer, .. } => {
                if root(f, *pointer) == Some(v) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    false
}

fn root(f: &naga::Function, mut e: Handle<Expression>) -> Option<Handle<naga::LocalVariable>> {
    loop {
        match &f.expressions[e] {
            Expression::LocalVariable(v) => return Some(*v),
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => e = *base,
            _ => return None,
        }
    }
}
