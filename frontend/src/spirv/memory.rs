//! Constant tables, and workgroup memory that starts as zero.

use super::binary::{Id, R};
use super::consts::Const;
use super::convert::Converter;
use super::place::{MAX_SELECT, Mem, Place, Slot, Step};
use super::types::Ty;
use super::value::Val;
use retroshade_ir::inst::MemRef;
use retroshade_ir::module::{Builtin, IoDecl};
use retroshade_ir::types::{I32, Type};
use retroshade_ir::{IntCC, Opcode, Value};
use std::rc::Rc;

/// Elements that are set to zero one by one; more take a loop.
const MOST_STORES: u32 = 16;

impl Converter<'_> {
    /// A part of a constant that a variable holds all the time.
    pub(crate) fn load_constant(&mut self, id: Id, place: &Place) -> R<Val> {
        let (Some(c), Some(ty)) = (self.consts.get(&id), self.b.constants.get(&id).and_then(|c| self.types.shape(c.ty))) else {
            return Err(self.error("F0125", "a constant that was not declared"));
        };
        self.constant_part(c, ty, &place.path)
    }

    fn constant_part(&mut self, c: &Const, ty: Ty, path: &[Step]) -> R<Val> {
        let Some((step, rest)) = path.split_first() else { return self.constant_value(c, ty) };
        match (step, ty) {
            (_, Ty::Scalar(_) | Ty::Void | Ty::Resource(_) | Ty::Opaque) => {
                Err(self.error("F0111", "an index into something that has no parts"))
            }
            (Step::Const(n), _) => {
                // Out of range by a constant: any value of the variable will do.
                let n = (*n).min(ty.len(self.types).saturating_sub(1));
                let Some(part) = c.part(n as usize) else { return Err(self.error("F0111", "a part that does not exist")) };
                self.constant_part(&part, ty.child(self.types, n), rest)
            }
            (s @ Step::Dyn(_), Ty::Vector(..)) => {
                let v = self.constant_value(c, ty)?;
                let v = self.leaf(&v)?;
                Ok(Val::Leaf(self.lane_at(v, *s)))
            }
            (Step::Dyn(index), _) => {
                let Val::Agg(parts) = self.constant_value(c, ty)? else {
                    return Err(self.error("F0111", "an index into something that has no parts"));
                };
                if parts.len() <= MAX_SELECT {
                    let mut all = Vec::new();
                    for n in 0..parts.len() {
                        let Some(part) = c.part(n) else { return Err(self.error("F0111", "a part that does not exist")) };
                        all.push(self.constant_part(&part, ty.child(self.types, n as u32), rest)?);
                    }
                    return self.pick(&all, *index);
                }
                self.table(&parts, path)
            }
        }
    }

    /// Sets an array to zero.
    pub(crate) fn zero_mem(&mut self, m: &Mem) -> R<()> {
        let mut leaves = Vec::new();
        all_leaves(m, &mut leaves);
        for (var, ty) in leaves {
            let MemRef::Local(id) = var else { continue };
            let count = self.func().locals[id].count;
            if count > MOST_STORES {
                let (start, step) = (self.iconst(0), self.iconst(1));
                self.zero_loop(var, ty, count, start, step);
                continue;
            }
            let zero = self.splat_const(ty, 0);
            for n in 0..count {
                self.b().store(var, n, zero, None);
            }
        }
        Ok(())
    }

    /// Workgroup memory starts as zero: the invocations share the work.
    pub(crate) fn zero_shared(&mut self, slot: &Slot) -> R<()> {
        let Slot::Mem(m) = slot else { return Ok(()) };
        let mut leaves = Vec::new();
        all_leaves(m, &mut leaves);
        let size: u32 = self.out.workgroup_size.iter().fold(1, |a, b| a.saturating_mul(*b));
        let index = self.local_index();
        for (var, ty) in leaves {
            let MemRef::Shared(id) = var else { continue };
            let count = self.out.shared[id].count;
            let step = self.iconst(size);
            let ty = self.held_as(var, ty);
            self.zero_loop(var, ty, count, index, step);
        }
        Ok(())
    }

    /// An IR array that holds constants (made once, filled at the start) or other values, indexed by a computed value.
    pub(crate) fn table(&mut self, parts: &[Val], path: &[Step]) -> R<Val> {
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
        self.load_from(&mem, path)
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
                    if let super::value::Lane::Bits(b) = super::value::trace_lane(self.func(), *x, n) {
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
                        match super::value::trace_lane(self.func(), *x, n) {
                            super::value::Lane::Bits(b) => bits[n as usize] = b,
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

    fn zero_loop(&mut self, var: MemRef, ty: Type, count: u32, start: Value, step: Value) {
        let i = self.ssa.var(I32);
        self.write_var(i, start);
        let (header, body, exit) = (self.new_block(), self.new_block(), self.new_block());
        self.jump(header);
        self.start(header);
        let at = self.read_var(i);
        let n = self.iconst(count);
        let more = self.b().icmp(IntCC::Ult, at, n);
        self.jump_if(more, (body, &[]), (exit, &[]));
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

    /// The number of the invocation in its workgroup.
    pub(crate) fn local_index(&mut self) -> Value {
        self.builtin_input(IoDecl { source_type: Some("u32".into()), ..IoDecl::builtin(I32, Builtin::LocalInvocationIndex) })
    }

    /// An input of the machine that the source need not have declared.
    pub(crate) fn builtin_input(&mut self, decl: IoDecl) -> Value {
        let ty = decl.ty;
        let id = match self.out.inputs.iter().find(|(_, d)| d.binding == decl.binding) {
            Some((id, _)) => id,
            None => self.out.inputs.push(decl),
        };
        self.b().load(ty, MemRef::Input(id), 0, None)
    }
}

/// The arrays that something in memory is made of.
fn all_leaves(m: &Mem, out: &mut Vec<(MemRef, Type)>) {
    match m {
        Mem::Leaf(var, ty) => out.push((*var, *ty)),
        Mem::Struct(parts) => parts.iter().for_each(|p| all_leaves(p, out)),
        Mem::Array(_, elem) | Mem::Lanes(_, elem) => all_leaves(elem, out),
    }
}
