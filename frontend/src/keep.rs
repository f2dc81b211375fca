//! Functions that stay functions, for machines that can call: translated once, called from wherever the source calls them.
//!
//! Only what is worth it and simple: called several times, arguments and result of numbers and vectors (or structs and small arrays of
//! them). Variables of the module go in and come out as further arguments and results. Everything else is translated in place, as all functions are for the other machines.

use crate::convert::{Converter, Flow, R};
use crate::place::{Mem, Place, Root};
use crate::ssa::Ssa;
use crate::types::Ty;
use crate::value::Val;
use naga::valid::GlobalUse;
use naga::{AddressSpace, GlobalVariable, Handle, ScalarKind, Statement};
use retroshade_ir::entities::FuncId;
use retroshade_ir::inst::{Imm, InstData};
use retroshade_ir::types::Type;
use retroshade_ir::{Block, Function, Inst, Opcode, Span, Value};
use std::collections::HashMap;
use std::rc::Rc;

/// Most numbers and vectors that go in, or come out.
const MAX_PARTS: usize = 16;

/// What belongs to the function under construction.
struct Around {
    entry: FuncId,
    ssa: Ssa,
    cur: Option<Block>,
    constants: HashMap<(Block, Type, [u32; 4]), Value>,
    flow: Vec<Flow>,
    prelude: Vec<Inst>,
    tables: HashMap<Vec<(Type, [u32; 4])>, Rc<Mem>>,
    loops: u32,
    span: Span,
}

impl<'m> Converter<'m> {
    /// Finds the functions that stay, from the entry's body.
    pub(crate) fn choose_kept(&mut self, entry: &naga::Function) {
        let nm = self.nm;
        let mut calls: HashMap<Handle<naga::Function>, u32> = HashMap::new();
        let mut simple: HashMap<Handle<naga::Function>, bool> = HashMap::new();
        let sites = |body: &naga::Block, times: u32, calls: &mut HashMap<Handle<naga::Function>, u32>| {
            let mut plain = true;
            walk(body, &mut |s| match s {
                Statement::Call { function, .. } => {
                    let n = calls.entry(*function).or_insert(0);
                    *n = n.saturating_add(times);
                }
                Statement::Kill
                | Statement::ControlBarrier(_)
                | Statement::MemoryBarrier(_)
                | Statement::Atomic { .. }
                | Statement::ImageStore { .. }
                | Statement::WorkGroupUniformLoad { .. } => plain = false,
                _ => {}
            });
            plain
        };
        sites(&entry.body, 1, &mut calls);
        // Callers come after their callees.
        let all: Vec<_> = nm.functions.iter().collect();
        for (h, f) in all.iter().rev() {
            let times = calls.get(h).copied().unwrap_or(0);
            let plain = sites(&f.body, times, &mut calls);
            simple.insert(*h, plain);
        }
        for (h, f) in all {
            let mut ok = simple.get(&h).copied().unwrap_or(false);
            ok &= !matches!(f.name.as_deref(), Some("EmitVertex" | "EndPrimitive"));
            // A function that calls one that is not simple is not simple.
            walk(&f.body, &mut |s| {
                if let Statement::Call { function, .. } = s {
                    ok &= simple.get(function).copied().unwrap_or(false);
                }
            });
            simple.insert(h, ok);
            let mut parts = Vec::new();
            let mut flat = f.arguments.iter().all(|a| self.parts_of(Ty::of(nm, a.ty), &mut parts));
            let mut results = Vec::new();
            flat &= f.result.as_ref().is_none_or(|r| self.parts_of(Ty::of(nm, r.ty), &mut results));
            for (g, v) in nm.global_variables.iter().filter(|(g, _)| !self.info[h][*g].is_empty() && !self.is_uniform(*g)) {
                let ty = Ty::of(nm, v.ty);
                flat &= v.space == AddressSpace::Private && self.parts_of(ty, &mut parts);
                flat &= !self.info[h][g].contains(GlobalUse::WRITE) || self.parts_of(ty, &mut results);
            }
            let small = parts.len() <= MAX_PARTS && (1..=MAX_PARTS).contains(&results.len());
            if ok && flat && small && calls.get(&h).is_some_and(|n| *n > 1) {
                self.kept.insert(h, None);
            }
        }
    }

    fn is_uniform(&self, g: Handle<GlobalVariable>) -> bool {
        self.hidden.contains_key(&g) || self.nm.global_variables[g].space == AddressSpace::Uniform
    }

    /// Variables of the module that a function reads or writes, with their slots; whether it writes them.
    fn touched(&self, function: Handle<naga::Function>) -> Vec<(Handle<GlobalVariable>, u32, Ty, bool)> {
        let used = &self.info[function];
        let all = self.nm.global_variables.iter().filter(|(g, _)| !used[*g].is_empty() && !self.is_uniform(*g));
        all.filter_map(|(g, v)| Some((g, self.private.get(&g).copied()?, Ty::of(self.nm, v.ty), used[g].contains(GlobalUse::WRITE))))
            .collect()
    }

    /// The numbers and vectors that a value of this type is made of; `false` if it is of something else.
    fn parts_of(&self, ty: Ty, out: &mut Vec<Type>) -> bool {
        match ty {
            Ty::Scalar(s) | Ty::Vector(_, s) => match (s.kind, s.width, ty.ir()) {
                (ScalarKind::Float | ScalarKind::Sint | ScalarKind::Uint, 4, Ok(t)) => {
                    out.push(t);
                    true
                }
                _ => false,
            },
            Ty::Struct(_) | Ty::Array(_, Some(_), _) => {
                ty.leaves(self.nm) <= MAX_PARTS as u64 && (0..ty.len(self.nm)).all(|i| self.parts_of(ty.child(self.nm, i), out))
            }
            _ => false,
        }
    }

    /// A value of a type from its parts.
    fn whole(&self, ty: Ty, parts: &mut dyn Iterator<Item = Value>) -> R<Val> {
        if ty.is_leaf() {
            return parts.next().map(Val::Leaf).ok_or_else(|| self.error("F0115", "a part of a value is missing"));
        }
        let members = (0..ty.len(self.nm)).map(|i| self.whole(ty.child(self.nm, i), parts));
        Ok(Val::agg(members.collect::<R<Vec<Val>>>()?))
    }

    fn take_apart(&mut self, v: &Val, out: &mut Vec<Value>) -> R<()> {
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

    /// Calls a function that stays one.
    pub(crate) fn call_kept(&mut self, function: Handle<naga::Function>, args: &[Val]) -> R<Option<Val>> {
        let id = match self.kept.get(&function).copied().flatten() {
            Some(id) => id,
            None => {
                let id = self.translate_kept(function)?;
                self.kept.insert(function, Some(id));
                id
            }
        };
        let mut parts = Vec::new();
        for a in args {
            self.take_apart(a, &mut parts)?;
        }
        let touched = self.touched(function);
        for (_, slot, ty, _) in &touched {
            let v = self.load(&Place { root: Root::Slot(*slot), path: Default::default(), ty: *ty })?;
            self.take_apart(&v, &mut parts)?;
        }
        let types = self.out.functions[id].results.clone();
        let call = self.b().push(InstData::new(Opcode::Call, &parts, Imm::Func(id)), &types);
        let results: Vec<Value> = self.func().insts[call].results.iter().copied().collect();
        let mut results = results.into_iter();
        let value = match &self.nm.functions[function].result {
            Some(r) => Some(self.whole(Ty::of(self.nm, r.ty), &mut results)?),
            None => None,
        };
        for (_, slot, ty, _) in touched.iter().filter(|t| t.3) {
            let v = self.whole(*ty, &mut results)?;
            let slot = self.slots[*slot as usize].clone();
            self.store_slot(&slot, &[], &v, *ty)?;
        }
        Ok(value)
    }

    fn translate_kept(&mut self, function: Handle<naga::Function>) -> R<FuncId> {
        let wish = self.nm.functions[function].name.clone().unwrap_or_else(|| "f".to_string());
        let mut name = wish.clone();
        let mut n = 2;
        while self.out.functions.values().any(|f| f.name == name) {
            name = format!("{wish}.{n}");
            n += 1;
        }
        let id = self.out.functions.push(Function::new(&name));
        let around = Around {
            entry: std::mem::replace(&mut self.out.entry, id),
            ssa: std::mem::take(&mut self.ssa),
            cur: self.cur.take(),
            constants: std::mem::take(&mut self.constants),
            flow: std::mem::take(&mut self.flow),
            prelude: std::mem::take(&mut self.prelude),
            tables: std::mem::take(&mut self.tables),
            loops: std::mem::take(&mut self.loops),
            span: self.span,
        };
        let done = self.body_of_kept(function);
        self.finish();
        self.out.entry = around.entry;
        self.ssa = around.ssa;
        self.cur = around.cur;
        self.constants = around.constants;
        self.flow = around.flow;
        self.prelude = around.prelude;
        self.tables = around.tables;
        self.loops = around.loops;
        self.span = around.span;
        done.map(|()| id)
    }

    fn body_of_kept(&mut self, function: Handle<naga::Function>) -> R<()> {
        let func = &self.nm.functions[function];
        let first = self.new_block();
        self.start(first);
        self.seal(first);
        let mut args = Vec::new();
        for a in &func.arguments {
            let ty = Ty::of(self.nm, a.ty);
            let mut types = Vec::new();
            self.parts_of(ty, &mut types);
            let parts: Vec<Value> = types.into_iter().map(|t| self.func().add_param(first, t)).collect();
            args.push(self.whole(ty, &mut parts.into_iter())?);
        }
        // Its own copies of the module's variables, which hold what the caller passes.
        let touched = self.touched(function);
        for (g, _, ty, _) in &touched {
            let mut types = Vec::new();
            self.parts_of(*ty, &mut types);
            let parts: Vec<Value> = types.into_iter().map(|t| self.func().add_param(first, t)).collect();
            let v = self.whole(*ty, &mut parts.into_iter())?;
            let slot = self.make_slot("", *ty, &(None, g.index() as u32, Default::default()), true)?;
            self.store_slot(&slot, &[], &v, *ty)?;
            self.slots.push(slot);
            self.private.insert(*g, self.slots.len() as u32 - 1);
        }
        let done = self.statements_of_kept(function, args, &touched);
        for (g, slot, ..) in &touched {
            self.private.insert(*g, *slot);
        }
        done
    }

    fn statements_of_kept(
        &mut self,
        function: Handle<naga::Function>,
        args: Vec<Val>,
        touched: &[(Handle<GlobalVariable>, u32, Ty, bool)],
    ) -> R<()> {
        let (func, info, id) = (&self.nm.functions[function], &self.info[function], function.index() as u32);
        let exit = self.new_block();
        let mut out: Vec<(u32, Ty)> = Vec::new();
        if let Some(r) = &func.result {
            let ty = Ty::of(self.nm, r.ty);
            let slot = self.make_slot("result", ty, &(Some(id), u32::MAX, Default::default()), true)?;
            self.slots.push(slot);
            out.push((self.slots.len() as u32 - 1, ty));
        }
        self.push_frame(func, info, id, args, exit, out.first().map(|s| s.0))?;
        let done = self.stmts(&func.body);
        self.jump(exit);
        self.frames.pop();
        done?;
        out.extend(touched.iter().filter(|t| t.3).filter_map(|(g, _, ty, _)| Some((self.private.get(g).copied()?, *ty))));
        let mut results = Vec::new();
        for (_, ty) in &out {
            self.parts_of(*ty, &mut results);
        }
        self.func().results = results;
        if self.ssa.has_preds(exit) {
            self.start(exit);
            self.seal(exit);
            let mut parts = Vec::new();
            for (slot, ty) in out {
                let v = self.load(&Place { root: Root::Slot(slot), path: Default::default(), ty })?;
                self.take_apart(&v, &mut parts)?;
            }
            self.b().ret(&parts);
        }
        self.cur = None;
        Ok(())
    }
}

/// Every statement of a body.
fn walk(body: &naga::Block, visit: &mut dyn FnMut(&Statement)) {
    for s in body {
        visit(s);
        match s {
            Statement::Block(b) => walk(b, visit),
            Statement::If { accept, reject, .. } => {
                walk(accept, visit);
                walk(reject, visit);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|c| walk(&c.body, visit)),
            Statement::Loop { body, continuing, .. } => {
                walk(body, visit);
                walk(continuing, visit);
            }
            _ => {}
        }
    }
}
