//! Functions that stay functions, for machines that can call: translated once, called from wherever the source calls them.
//!
//! Only what is worth it and simple: called several times, arguments and result of numbers, truth values, vectors and matrices (or
//! structs and small arrays of them). What an argument points to, and variables of the module, go in as further arguments and come
//! out as further results. A matrix that stands in a uniform, transposed or as a product, is read where it is needed: functions that
//! are called with different ones become several. Everything else is translated in place, as all functions are for the other
//! machines.

use crate::convert::{Converter, Flow, R};
use crate::place::{Mem, Place, Root, Step};
use crate::ssa::Ssa;
use crate::types::Ty;
use crate::value::Val;
use naga::valid::GlobalUse;
use naga::{AddressSpace, GlobalVariable, Handle, ScalarKind, Statement, TypeInner};
use retroshade_ir::entities::FuncId;
use retroshade_ir::inst::{Imm, InstData};
use retroshade_ir::types::{I32, Type};
use retroshade_ir::{Block, Function, Inst, Opcode, Span, Value};
use std::collections::HashMap;
use std::rc::Rc;

/// Most numbers and vectors that go in, or come out.
const MAX_PARTS: usize = 16;

/// How an argument reaches its function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Value by value.
    Parts,
    /// The function loads it itself: constant steps of the way are its own, computed ones are passed.
    Uniform(Root, Vec<Option<u32>>, Ty),
    /// The transpose of another matrix.
    Transposed(Box<Shape>, Ty),
    /// The product of two others.
    Product(Box<(Shape, Ty, Shape, Ty)>),
}

/// A function that stays one: once for each way of passing its arguments.
pub(crate) type Copies = Vec<(Vec<Shape>, FuncId)>;

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
            let mut results = Vec::new();
            let mut flat = f.arguments.iter().all(|a| match self.pointee(a.ty) {
                Some(ty) => self.parts_of(ty, &mut parts) && self.parts_of(ty, &mut results),
                None => self.parts_of(Ty::of(nm, a.ty), &mut parts),
            });
            flat &= f.result.as_ref().is_none_or(|r| self.parts_of(Ty::of(nm, r.ty), &mut results));
            for (g, v) in nm.global_variables.iter().filter(|(g, _)| !self.info[h][*g].is_empty() && !self.is_uniform(*g)) {
                let ty = Ty::of(nm, v.ty);
                flat &= v.space == AddressSpace::Private && self.parts_of(ty, &mut parts);
                flat &= !self.info[h][g].contains(GlobalUse::WRITE) || self.parts_of(ty, &mut results);
            }
            let small = parts.len() <= MAX_PARTS && (1..=MAX_PARTS).contains(&results.len());
            if ok && flat && small && calls.get(&h).is_some_and(|n| *n > 1) {
                self.kept.insert(h, Vec::new());
            }
        }
    }

    /// What an argument of a type points to, if it is a pointer to a variable of a function or the module.
    fn pointee(&self, ty: Handle<naga::Type>) -> Option<Ty> {
        match self.nm.types[ty].inner {
            TypeInner::Pointer { base, space: AddressSpace::Function | AddressSpace::Private } => Some(Ty::of(self.nm, base)),
            _ => None,
        }
    }

    fn is_uniform(&self, g: Handle<GlobalVariable>) -> bool {
        self.nm.global_variables[g].space == AddressSpace::Uniform
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
                (ScalarKind::Bool, _, Ok(t)) | (ScalarKind::Float | ScalarKind::Sint | ScalarKind::Uint, 4, Ok(t)) => {
                    out.push(t);
                    true
                }
                _ => false,
            },
            Ty::Struct(_) | Ty::Array(_, Some(_), _) | Ty::Matrix(..) => {
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

    /// Takes an argument apart: the values to pass, and how the function makes it of them.
    fn shape(&mut self, v: &Val, ty: Ty, out: &mut Vec<Value>) -> R<Shape> {
        match v {
            Val::Place(p) if matches!(p.root, Root::Uniform(_)) && self.has_matrix(p.ty) => {
                let way = p.path.iter().map(|s| match s {
                    Step::Const(n) => Some(*n),
                    Step::Dyn(index) => {
                        out.push(*index);
                        None
                    }
                });
                Ok(Shape::Uniform(p.root, way.collect(), p.ty))
            }
            Val::Transposed(m) => {
                let inner = self.transposed(ty);
                Ok(Shape::Transposed(Box::new(self.shape(m, inner, out)?), inner))
            }
            // Computed once if it stands outside a loop that the call is in.
            Val::Product(p) if p.2 == self.loops => {
                let (Some(a), Some(b)) = (self.matrix_ty(&p.0), self.matrix_ty(&p.1)) else {
                    self.take_apart(v, out)?;
                    return Ok(Shape::Parts);
                };
                let left = self.shape(&p.0, a, out)?;
                let right = self.shape(&p.1, b, out)?;
                Ok(Shape::Product(Box::new((left, a, right, b))))
            }
            _ => {
                self.take_apart(v, out)?;
                Ok(Shape::Parts)
            }
        }
    }

    fn has_matrix(&self, ty: Ty) -> bool {
        match ty {
            Ty::Matrix(..) => true,
            Ty::Struct(_) => (0..ty.len(self.nm)).any(|i| self.has_matrix(ty.child(self.nm, i))),
            Ty::Array(..) => self.has_matrix(ty.child(self.nm, 0)),
            _ => false,
        }
    }

    fn transposed(&self, ty: Ty) -> Ty {
        if let Ty::Matrix(columns, rows, s) = ty { Ty::Matrix(rows, columns, s) } else { ty }
    }

    /// The type of a matrix by its value.
    fn matrix_ty(&mut self, v: &Val) -> Option<Ty> {
        match v {
            Val::Place(p) => Some(p.ty),
            Val::Transposed(m) => self.matrix_ty(m).map(|t| self.transposed(t)),
            Val::Product(p) => match (self.matrix_ty(&p.0), self.matrix_ty(&p.1)) {
                (Some(Ty::Matrix(_, rows, s)), Some(Ty::Matrix(columns, ..))) => Some(Ty::Matrix(columns, rows, s)),
                _ => None,
            },
            Val::Agg(columns) => match columns.first() {
                Some(Val::Leaf(c)) => {
                    let ty = self.func().ty(*c);
                    let float = naga::Scalar { kind: ScalarKind::Float, width: 4 };
                    (ty.scalar == retroshade_ir::Scalar::F32).then_some(Ty::Matrix(columns.len() as u8, ty.lanes, float))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The types of the values that are passed for an argument.
    fn passed(&self, shape: &Shape, ty: Ty, out: &mut Vec<Type>) {
        match shape {
            Shape::Parts => {
                self.parts_of(ty, out);
            }
            Shape::Uniform(_, way, _) => out.extend(way.iter().filter(|s| s.is_none()).map(|_| I32)),
            Shape::Transposed(m, ty) => self.passed(m, *ty, out),
            Shape::Product(p) => {
                self.passed(&p.0, p.1, out);
                self.passed(&p.2, p.3, out);
            }
        }
    }

    /// The argument inside its function.
    fn argument(&self, shape: &Shape, ty: Ty, parts: &mut dyn Iterator<Item = Value>) -> R<Val> {
        Ok(match shape {
            Shape::Parts => self.whole(ty, parts)?,
            Shape::Uniform(root, way, ty) => {
                let missing = || self.error("F0115", "a part of a value is missing");
                let step = |s: &Option<u32>| s.map_or_else(|| parts.next().map(Step::Dyn).ok_or_else(missing), |n| Ok(Step::Const(n)));
                Val::Place(Place { root: *root, path: way.iter().map(step).collect::<R<_>>()?, ty: *ty })
            }
            Shape::Transposed(m, ty) => Val::Transposed(self.argument(m, *ty, parts)?.into()),
            Shape::Product(p) => {
                let left = self.argument(&p.0, p.1, parts)?;
                Val::Product((left, self.argument(&p.2, p.3, parts)?, 0).into())
            }
        })
    }

    /// Calls a function that stays one.
    pub(crate) fn call_kept(&mut self, function: Handle<naga::Function>, args: &[Val]) -> R<Option<Val>> {
        let func = &self.nm.functions[function];
        let mut parts = Vec::new();
        let mut shapes = Vec::new();
        let mut written = Vec::new();
        for (v, a) in args.iter().zip(&func.arguments) {
            shapes.push(match (self.pointee(a.ty), v) {
                (Some(_), Val::Place(p)) => {
                    let v = self.load(p)?;
                    self.take_apart(&v, &mut parts)?;
                    written.push(p.clone());
                    Shape::Parts
                }
                _ => self.shape(v, Ty::of(self.nm, a.ty), &mut parts)?,
            });
        }
        let found = self.kept.get(&function).and_then(|c| c.iter().find(|(s, _)| *s == shapes)).map(|c| c.1);
        let id = match found {
            Some(id) => id,
            None => {
                let id = self.translate_kept(function, &shapes)?;
                self.kept.entry(function).or_default().push((shapes, id));
                id
            }
        };
        let touched = self.touched(function);
        for (_, slot, ty, _) in &touched {
            let v = self.load(&Place::of(Root::Slot(*slot), *ty))?;
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
        // What is pointed to is written last: where a variable of the module is also passed, the argument's copy counts.
        let mut pointed: Vec<Vec<Value>> = Vec::new();
        for p in &written {
            let mut types = Vec::new();
            self.parts_of(p.ty, &mut types);
            pointed.push(results.by_ref().take(types.len()).collect());
        }
        for (_, slot, ty, _) in touched.iter().filter(|t| t.3) {
            let v = self.whole(*ty, &mut results)?;
            let slot = self.slots[*slot as usize].clone();
            self.store_slot(&slot, &[], &v, *ty)?;
        }
        for (p, parts) in written.iter().zip(pointed) {
            let v = self.whole(p.ty, &mut parts.into_iter())?;
            self.store(p, &v)?;
        }
        Ok(value)
    }

    fn translate_kept(&mut self, function: Handle<naga::Function>, shapes: &[Shape]) -> R<FuncId> {
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
        let done = self.body_of_kept(function, shapes);
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

    fn body_of_kept(&mut self, function: Handle<naga::Function>, shapes: &[Shape]) -> R<()> {
        let func = &self.nm.functions[function];
        let first = self.new_block();
        self.start(first);
        self.seal(first);
        let mut args = Vec::new();
        // Its own copies of what arguments point to.
        let mut written = Vec::new();
        for (n, (a, shape)) in func.arguments.iter().zip(shapes).enumerate() {
            let pointee = self.pointee(a.ty);
            let ty = pointee.unwrap_or_else(|| Ty::of(self.nm, a.ty));
            let mut types = Vec::new();
            self.passed(shape, ty, &mut types);
            let parts: Vec<Value> = types.into_iter().map(|t| self.func().add_param(first, t)).collect();
            let v = self.argument(shape, ty, &mut parts.into_iter())?;
            if pointee.is_none() {
                args.push(v);
                continue;
            }
            let key = (Some(function.index() as u32), u32::MAX - 1 - n as u32, Default::default());
            let slot = self.make_slot(a.name.as_deref().unwrap_or_default(), ty, &key, false)?;
            self.store_slot(&slot, &[], &v, ty)?;
            let slot = self.add_slot(slot);
            args.push(Val::Place(Place::of(Root::Slot(slot), ty)));
            written.push((slot, ty));
        }
        // Its own copies of the module's variables, which hold what the caller passes.
        let touched = self.touched(function);
        for (g, _, ty, _) in &touched {
            let mut types = Vec::new();
            self.parts_of(*ty, &mut types);
            let parts: Vec<Value> = types.into_iter().map(|t| self.func().add_param(first, t)).collect();
            let v = self.whole(*ty, &mut parts.into_iter())?;
            let slot = self.make_slot("", *ty, &(None, g.index() as u32, Default::default()), false)?;
            self.store_slot(&slot, &[], &v, *ty)?;
            let slot = self.add_slot(slot);
            self.private.insert(*g, slot);
        }
        let done = self.statements_of_kept(function, args, &written, &touched);
        for (g, slot, ..) in &touched {
            self.private.insert(*g, *slot);
        }
        done
    }

    fn statements_of_kept(
        &mut self,
        function: Handle<naga::Function>,
        args: Vec<Val>,
        written: &[(u32, Ty)],
        touched: &[(Handle<GlobalVariable>, u32, Ty, bool)],
    ) -> R<()> {
        let (func, info, id) = (&self.nm.functions[function], &self.info[function], function.index() as u32);
        let exit = self.new_block();
        let mut out: Vec<(u32, Ty)> = Vec::new();
        if let Some(r) = &func.result {
            let ty = Ty::of(self.nm, r.ty);
            let slot = self.make_slot("result", ty, &(Some(id), u32::MAX, Default::default()), true)?;
            out.push((self.add_slot(slot), ty));
        }
        self.push_frame(func, info, id, args, exit, out.first().map(|s| s.0))?;
        let done = self.stmts(&func.body);
        self.jump(exit);
        self.frames.pop();
        done?;
        out.extend(written);
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
                let v = self.load(&Place::of(Root::Slot(slot), ty))?;
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
