//! Functions that stay functions, for machines that can call: translated once, called from wherever the source calls them.
//!
//! Only what is worth it and simple: called several times, arguments and result of numbers, truth values, vectors and matrices (or
//! structs and small arrays of them). What an argument points to, and variables of the module, go in as further arguments and come
//! out as further results. A matrix that stands in a uniform, transposed or as a product, is read where it is needed: functions that
//! are called with different ones become several. Everything else is translated in place, as all functions are for the other
//! machines.

use super::binary::{Id, R};
use super::convert::{Converter, Frame};
use super::func::Open;
use super::place::{Mem, Place, Root, Slot, Step};
use super::types::{Kind, Num, Ty};
use super::value::Val;
use crate::ssa::{Ssa, Var};
use retroshade_ir::entities::FuncId;
use retroshade_ir::inst::{Imm, InstData};
use retroshade_ir::types::{I32, Type};
use retroshade_ir::{Block, Function, Inst, Opcode, Span, Value};
use rustc_hash::{FxHashMap, FxHashSet};
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
    constants: FxHashMap<(Block, Type, [u32; 4]), Value>,
    prelude: Vec<Inst>,
    tables: FxHashMap<Vec<(Type, [u32; 4])>, Rc<Mem>>,
    gates: Vec<Open>,
    frames: Vec<Frame>,
    loops: u32,
    span: Span,
}

/// A variable of the module that a function reads: its id, its slot, whether the function writes it.
type Touched = (Id, Slot, bool);

impl<'m> Converter<'m> {
    /// Finds the functions that stay.
    pub(crate) fn choose_kept(&mut self) {
        let used = self.used;
        let mut calls: FxHashMap<Id, u32> = FxHashMap::default();
        for (n, f) in used.functions.iter().enumerate() {
            let times = if n == 0 { 1 } else { calls.get(f).copied().unwrap_or(0) };
            for callee in used.bodies.get(f).map_or(&[][..], |d| &d.calls) {
                let n = calls.entry(*callee).or_insert(0);
                *n = n.saturating_add(times);
            }
        }
        let mut simple: FxHashSet<Id> = FxHashSet::default();
        for f in used.functions.iter().skip(1).rev() {
            let (Some(does), Some(func)) = (used.bodies.get(f), self.b.functions.get(f)) else { continue };
            // A function that calls one that is not simple is not simple.
            if does.acts || does.calls.iter().any(|c| !simple.contains(c)) {
                continue;
            }
            simple.insert(*f);
            let (mut parts, mut results) = (Vec::new(), Vec::new());
            let mut flat = true;
            for (id, ty) in &func.params {
                let (ty, written) = self.param(*id, *ty);
                flat &= self.parts_of(ty, &mut parts) && (!written || self.parts_of(ty, &mut results));
            }
            let result = self.types.shape(func.result).unwrap_or(Ty::Void);
            flat &= result == Ty::Void || self.parts_of(result, &mut results);
            match self.touched(*f) {
                Some(all) => {
                    for (_, slot, written) in all {
                        let types = self.slot_types(&slot);
                        if written {
                            results.extend(&types);
                        }
                        parts.extend(types);
                    }
                }
                None => flat = false,
            }
            // What naga's writer wraps divisions in is worth no call.
            flat &= !self.b.name(*f).is_some_and(|n| n.starts_with("naga_"));
            let small = parts.len() <= MAX_PARTS && (1..=MAX_PARTS).contains(&results.len());
            if flat && small && calls.get(f).is_some_and(|n| *n > 1) {
                self.kept.insert(*f, Vec::new());
            }
        }
    }

    /// The shape of a parameter, or of what it points to; whether the function writes to that.
    fn param(&self, id: Id, ty: Id) -> (Ty, bool) {
        match self.types.pointee(ty) {
            Some(to) => (self.types.shape(to).unwrap_or(Ty::Opaque), self.used.written.contains(&id)),
            None => (self.types.shape(ty).unwrap_or(Ty::Opaque), false),
        }
    }

    /// Variables of the module that a function and those that it calls read or write; none if there are others than plain ones.
    fn touched(&self, function: Id) -> Option<Vec<Touched>> {
        let mut seen = FxHashSet::default();
        let mut work = vec![function];
        let mut all: Vec<(Id, bool)> = Vec::new();
        while let Some(f) = work.pop() {
            let Some(does) = self.used.bodies.get(&f).filter(|_| seen.insert(f)) else { continue };
            work.extend(&does.calls);
            all.extend(does.globals.iter().map(|g| (*g, does.writes.contains(g))));
        }
        all.sort_unstable();
        let mut out: Vec<Touched> = Vec::new();
        for (g, written) in all {
            match self.globals.get(&g)?.0 {
                Root::Uniform(_) | Root::Rows(_) | Root::Constant(_) => {}
                Root::Slot(n) => {
                    let slot = self.slots[n as usize].clone();
                    if !plain(&slot) {
                        return None;
                    }
                    match out.last_mut() {
                        Some(last) if last.0 == g => last.2 |= written,
                        _ => out.push((g, slot, written)),
                    }
                }
                _ => return None,
            }
        }
        Some(out)
    }

    fn slot_types(&self, slot: &Slot) -> Vec<Type> {
        let mut all = Vec::new();
        vars(slot, &mut all);
        all.into_iter().map(|v| self.ssa.ty(v)).collect()
    }

    /// The numbers and vectors that a value of this type is made of; `false` if it is of something else.
    fn parts_of(&self, ty: Ty, out: &mut Vec<Type>) -> bool {
        match ty {
            Ty::Scalar(n) | Ty::Vector(_, n) => match (n.width, ty.ir()) {
                (32, Ok(t)) => {
                    out.push(t);
                    true
                }
                _ => false,
            },
            Ty::Struct(_) | Ty::Array(_) | Ty::Matrix(..) => {
                let n = ty.len(self.types);
                n > 0 && ty.leaves(self.types) <= MAX_PARTS as u64 && (0..n).all(|i| self.parts_of(ty.child(self.types, i), out))
            }
            _ => false,
        }
    }

    /// A value of a type from its parts.
    fn whole(&self, ty: Ty, parts: &mut dyn Iterator<Item = Value>) -> R<Val> {
        if ty.is_leaf() {
            return parts.next().map(Val::Leaf).ok_or_else(|| self.error("F0115", "a part of a value is missing"));
        }
        let members = (0..ty.len(self.types)).map(|i| self.whole(ty.child(self.types, i), parts));
        Ok(Val::agg(members.collect::<R<Vec<Val>>>()?))
    }

    /// Takes an argument apart: the values to pass, and how the function makes it of them.
    fn shape(&mut self, v: &Val, ty: Ty, out: &mut Vec<Value>) -> R<Shape> {
        match v {
            Val::Place(p) if matches!(p.root, Root::Uniform(_) | Root::Rows(_)) && self.has_matrix(p.ty) => {
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
            Ty::Struct(_) => (0..ty.len(self.types)).any(|i| self.has_matrix(ty.child(self.types, i))),
            Ty::Array(_) => self.has_matrix(ty.child(self.types, 0)),
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
                    let float = Num { kind: Kind::Float, width: 32 };
                    (ty.scalar == retroshade_ir::Scalar::F32).then_some(Ty::Matrix(columns.len() as u8, ty.lanes, float))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The types of the values that are passed for an argument.
    fn passed_types(&self, shape: &Shape, ty: Ty, out: &mut Vec<Type>) {
        match shape {
            Shape::Parts => {
                self.parts_of(ty, out);
            }
            Shape::Uniform(_, way, _) => out.extend(way.iter().filter(|s| s.is_none()).map(|_| I32)),
            Shape::Transposed(m, ty) => self.passed_types(m, *ty, out),
            Shape::Product(p) => {
                self.passed_types(&p.0, p.1, out);
                self.passed_types(&p.2, p.3, out);
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
    pub(crate) fn call_kept(&mut self, function: Id, args: &[Val]) -> R<Val> {
        let b = self.b;
        let Some(func) = b.functions.get(&function) else { return Err(self.error("F0130", "a function that does not exist")) };
        let mut parts = Vec::new();
        let mut shapes = Vec::new();
        let mut written: Vec<(Place, Ty)> = Vec::new();
        for (v, (id, ty)) in args.iter().zip(&func.params) {
            let pointer = self.types.pointee(*ty).is_some();
            let (ty, writes) = self.param(*id, *ty);
            shapes.push(match v {
                Val::Place(p) if pointer => {
                    let v = self.load(p)?;
                    if writes {
                        written.push((p.clone(), ty));
                        self.take_apart(&v, &mut parts)?;
                        Shape::Parts
                    } else {
                        self.shape(&v, ty, &mut parts)?
                    }
                }
                _ => self.shape(v, ty, &mut parts)?,
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
        let touched = self.touched(function).unwrap_or_default();
        for (_, slot, _) in &touched {
            let mut all = Vec::new();
            vars(slot, &mut all);
            for v in all {
                parts.push(self.read_var(v));
            }
        }
        let types = self.out.functions[id].results.clone();
        let block = self.block();
        let span = self.span;
        let f = self.func();
        let call = f.make_inst(InstData::new(Opcode::Call, &parts, Imm::Func(id)), &types, span);
        f.blocks[block].insts.push(call);
        let results: Vec<Value> = f.insts[call].results.to_vec();
        let mut results = results.into_iter();
        let ty = self.types.shape(func.result).unwrap_or(Ty::Void);
        let value = if ty == Ty::Void { Val::agg(Vec::new()) } else { self.whole(ty, &mut results)? };
        // In the order in which the function returns them.
        let mut pointed = Vec::new();
        for (p, ty) in written {
            pointed.push((p, self.whole(ty, &mut results)?));
        }
        for (_, slot, _) in touched.iter().filter(|t| t.2) {
            let mut all = Vec::new();
            vars(slot, &mut all);
            for v in all {
                let Some(x) = results.next() else { return Err(self.error("F0115", "a part of a value is missing")) };
                self.write_var(v, x);
            }
        }
        for (p, v) in pointed {
            self.store(&p, &v)?;
        }
        Ok(value)
    }

    fn translate_kept(&mut self, function: Id, shapes: &[Shape]) -> R<FuncId> {
        // glslang appends the types of the parameters to a function's name.
        let wish = self.b.name(function).map_or("f", |n| n.split('(').next().unwrap_or(n)).to_string();
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
            prelude: std::mem::take(&mut self.prelude),
            tables: std::mem::take(&mut self.tables),
            gates: std::mem::take(&mut self.gates),
            frames: std::mem::take(&mut self.frames),
            loops: std::mem::take(&mut self.loops),
            span: self.span,
        };
        let done = self.body_of_kept(function, shapes, &around.ssa);
        self.finish();
        self.out.entry = around.entry;
        self.ssa = around.ssa;
        self.cur = around.cur;
        self.constants = around.constants;
        self.prelude = around.prelude;
        self.tables = around.tables;
        self.gates = around.gates;
        self.frames = around.frames;
        self.loops = around.loops;
        self.span = around.span;
        done.map(|()| id)
    }

    fn body_of_kept(&mut self, function: Id, shapes: &[Shape], outer: &Ssa) -> R<()> {
        let b = self.b;
        let Some(func) = b.functions.get(&function) else { return Err(self.error("F0130", "a function that does not exist")) };
        let first = self.new_block();
        self.start(first);
        self.seal(first);
        let mut args = Vec::new();
        // Its own copies of what arguments point to.
        let mut written = Vec::new();
        for ((id, type_id), shape) in func.params.iter().zip(shapes) {
            let (ty, writes) = self.param(*id, *type_id);
            let mut types = Vec::new();
            self.passed_types(shape, ty, &mut types);
            let parts: Vec<Value> = types.into_iter().map(|t| self.func().add_param(first, t)).collect();
            let v = self.argument(shape, ty, &mut parts.into_iter())?;
            if self.types.pointee(*type_id).is_none() {
                args.push(v);
            } else if writes {
                let name = self.b.name(*id).unwrap_or_default();
                let slot = self.make_slot(name, ty, &(*id, Default::default()), false)?;
                self.store_slot(&slot, &[], &v, ty)?;
                let slot = self.add_slot(slot);
                args.push(Val::Place(Place::of(Root::Slot(slot), ty)));
                written.push((slot, ty));
            } else {
                let held = self.hold(v);
                args.push(Val::Place(Place::of(Root::Held(held), ty)));
            }
        }
        // Its own copies of the module's variables, which hold what the caller passes.
        let touched = self.touched(function).unwrap_or_default();
        let mut before = Vec::new();
        let mut results_of = Vec::new();
        for (g, slot, writes) in touched {
            let copy = self.copy_slot(&slot, outer, first);
            let Some((root, ty)) = self.globals.get(&g).copied() else { continue };
            if writes {
                vars(&copy, &mut results_of);
            }
            let n = self.add_slot(copy);
            before.push((g, root, ty));
            self.globals.insert(g, (Root::Slot(n), ty));
        }
        let done = self.blocks_of_kept(function, args, &written, &results_of);
        for (g, root, ty) in before {
            self.globals.insert(g, (root, ty));
        }
        done
    }

    /// The same variables anew, as parameters of a function.
    fn copy_slot(&mut self, slot: &Slot, outer: &Ssa, first: Block) -> Slot {
        match slot {
            Slot::Leaf(v) => {
                let t = outer.ty(*v);
                let var = self.ssa.var(t);
                let p = self.func().add_param(first, t);
                self.write_var(var, p);
                Slot::Leaf(var)
            }
            Slot::Agg(parts, key) => Slot::Agg(parts.iter().map(|p| self.copy_slot(p, outer, first)).collect(), key.clone()),
            Slot::Mem(m) => Slot::Mem(m.clone()),
        }
    }

    fn blocks_of_kept(&mut self, function: Id, args: Vec<Val>, written: &[(u32, Ty)], touched: &[Var]) -> R<()> {
        let b = self.b;
        let result = b.functions.get(&function).and_then(|f| self.types.shape(f.result)).unwrap_or(Ty::Void);
        let exit = self.new_block();
        let mut out: Vec<(u32, Ty)> = Vec::new();
        if result != Ty::Void {
            let slot = self.make_slot("result", result, &(function, Default::default()), true)?;
            out.push((self.add_slot(slot), result));
        }
        let slot = out.first().map(|s| s.0);
        self.function(function, args, exit, slot)?;
        out.extend(written);
        let mut results = Vec::new();
        for (_, ty) in &out {
            self.parts_of(*ty, &mut results);
        }
        results.extend(touched.iter().map(|v| self.ssa.ty(*v)));
        self.func().results = results;
        self.seal(exit);
        self.start(exit);
        let mut parts = Vec::new();
        for (slot, ty) in out {
            let v = self.load(&Place::of(Root::Slot(slot), ty))?;
            self.take_apart(&v, &mut parts)?;
        }
        for v in touched {
            parts.push(self.read_var(*v));
        }
        self.b().ret(&parts);
        self.cur = None;
        Ok(())
    }
}

/// Whether a slot is made of SSA variables alone.
fn plain(slot: &Slot) -> bool {
    match slot {
        Slot::Leaf(_) => true,
        Slot::Agg(parts, _) => parts.iter().all(plain),
        Slot::Mem(_) => false,
    }
}

/// The variables of a slot.
fn vars(slot: &Slot, out: &mut Vec<Var>) {
    match slot {
        Slot::Leaf(v) => out.push(*v),
        Slot::Agg(parts, _) => parts.iter().for_each(|p| vars(p, out)),
        Slot::Mem(_) => {}
    }
}
