//! Variables and memory: what a pointer of the source points to, and loads and stores through it.
//!
//! Variables of functions and modules become SSA variables, leaf by leaf. An array that is somewhere indexed by a computed
//! value becomes an IR array per leaf of its element type; which arrays those are is found by translating: a computed index into
//! an array of SSA variables is noted in `demand`, and the translation is repeated with that array in memory.

use super::binary::{Id, R};
use super::convert::Converter;
use super::types::{Num, Ty};
use super::value::Val;
use crate::ssa::Var;
use retroshade_ir::function::LocalDecl;
use retroshade_ir::inst::{Imm, MemRef};
use retroshade_ir::module::SharedDecl;
use retroshade_ir::types::{F16, I1, I32, Scalar, Type};
use retroshade_ir::{Function, IntCC, Opcode, Uniform, Value};
use smallvec::SmallVec;
use std::rc::Rc;

/// One step of an access path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// A constant index or a member.
    Const(u32),
    /// A computed index (i32).
    Dyn(Value),
}

/// Where a pointer points: a variable and a path into it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The variable.
    pub(crate) root: Root,
    /// The way to the part.
    pub(crate) path: SmallVec<[Step; 4]>,
    /// The shape of the part.
    pub(crate) ty: Ty,
}

impl Place {
    /// A whole variable.
    pub(crate) fn of(root: Root, ty: Ty) -> Place {
        Place { root, path: SmallVec::new(), ty }
    }
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Root {
    /// Of a function or of the module, by number of its slot.
    Slot(u32),
    /// A uniform buffer.
    Uniform(Id),
    /// The rows of a matrix in a uniform buffer.
    Rows(Id),
    /// A storage buffer, or workgroup memory that is laid out like one.
    Storage(Id),
    /// Textures and samplers.
    Resource(Id),
    /// A texel of a storage texture, by number.
    Texel(u32),
    /// A variable that holds a constant all the time.
    Constant(Id),
    /// A value that never changes, by number.
    Held(u32),
}

/// An array variable by its place in the module: the variable's id and the path of its outermost array.
pub(crate) type ArrayKey = (Id, SmallVec<[u32; 4]>);

/// How a variable is held.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// One SSA variable.
    Leaf(Var),
    /// Members, elements or columns; arrays know their key.
    Agg(Rc<[Slot]>, Option<Rc<ArrayKey>>),
    /// An IR array per leaf.
    Mem(Rc<Mem>),
}

/// The leaves of something in indexed memory.
#[derive(Clone, Debug)]
pub(crate) enum Mem {
    /// An IR array: each enclosing array level counts into its index.
    Leaf(MemRef, Type),
    /// Members of a struct.
    Struct(Vec<Mem>),
    /// Elements of an array or columns of a matrix: how many.
    Array(u32, Box<Mem>),
    /// Lanes of a vector, which several invocations may write at once.
    Lanes(u8, Box<Mem>),
}

/// Which memory an array lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// The invocation's own.
    Local,
    /// The workgroup's.
    Shared,
    /// The workgroup's, and lanes of its vectors are written one by one.
    SharedLanes,
}

/// A uniform buffer's leaves.
#[derive(Clone, Debug)]
pub(crate) enum UniformTree {
    /// A declaration, its element type and its unit.
    Leaf(Uniform, Type, u32),
    /// Members of a struct.
    Struct(Vec<UniformTree>),
    /// Elements or columns, how many there are and their distance in bytes.
    Array { count: u32, stride: u32, elem: Box<UniformTree> },
    /// A matrix of so many rows that stands row by row: the array of its rows.
    Rows(u8, Box<UniformTree>),
    /// A truth value, which the module takes for an integer.
    Truth(Uniform),
    /// Numbers smaller than a word: the words that hold them, their unit, their type, how many, and where they begin in the first word.
    Small(Rc<[Uniform]>, u32, Num, u8, u32),
    /// No uniform: a texture beside uniforms.
    Nothing,
    /// No uniform: a number in the place of a texture, which only copies of its structure look at.
    Placeholder,
}

/// A level of arrays on the way to a uniform.
#[derive(Clone, Copy)]
struct Level {
    count: u32,
    /// Bytes from element to element.
    stride: u32,
    step: Step,
}

/// Arrays with more leaves than this are never held in SSA variables.
const MAX_SSA_LEAVES: u64 = 256;
/// A value with more leaves than this is refused.
const MAX_VALUE_LEAVES: u64 = 4096;
/// Variables with more leaves than this are refused.
const MAX_VARIABLE_LEAVES: u64 = 1 << 16;
/// Arrays of at most this many elements are indexed by a chain of selects instead of through memory.
pub(crate) const MAX_SELECT: usize = 4;

impl Converter<'_> {
    /// Gives a slot its number.
    pub(crate) fn add_slot(&mut self, slot: Slot) -> u32 {
        self.slots.push(slot);
        self.slots.len() as u32 - 1
    }

    /// Makes the slot for a variable. `memory`: puts it into workgroup memory.
    pub(crate) fn make_slot(&mut self, name: &str, ty: Ty, key: &ArrayKey, in_array: bool) -> R<Slot> {
        if ty.is_leaf() {
            let what = if name.is_empty() { String::new() } else { format!("`{name}`: ") };
            let t = ty.ir().map_err(|m| self.error("F0114", what + &m))?;
            return Ok(Slot::Leaf(self.ssa.var(t)));
        }
        if !in_array && ty.leaves(self.types) > MAX_VARIABLE_LEAVES {
            return Err(self.limit(format!(
                "the variable `{name}` has {} parts; no machine has room for more than {MAX_VARIABLE_LEAVES}",
                ty.leaves(self.types)
            )));
        }
        let mut array_key = None;
        if let Ty::Array(..) = ty {
            if !in_array && (self.demand.contains(key) || ty.leaves(self.types) > MAX_SSA_LEAVES) {
                return Ok(Slot::Mem(Rc::new(self.make_mem(name, ty, 1, Memory::Local)?)));
            }
            array_key = Some(Rc::new(key.clone()));
        }
        if matches!(ty, Ty::Opaque | Ty::Void | Ty::Resource(_)) {
            return Err(self.error("F0110", "a variable of this type cannot be served by any of the machines"));
        }
        let in_array = in_array || array_key.is_some();
        let mut parts = Vec::new();
        for i in 0..ty.len(self.types) {
            let mut k = key.clone();
            if !in_array {
                k.1.push(i);
            }
            let part = self.member_name(name, ty, i);
            parts.push(self.make_slot(&part, ty.child(self.types, i), &k, in_array)?);
        }
        Ok(Slot::Agg(parts.into(), array_key))
    }

    pub(crate) fn member_name(&self, name: &str, ty: Ty, i: u32) -> String {
        match ty {
            Ty::Struct(id) => match self.types.struct_members(id).get(i as usize).and_then(|m| m.name.as_deref()) {
                Some(m) if name.is_empty() => m.to_string(),
                Some(m) => format!("{name}.{m}"),
                None => format!("{name}.{i}"),
            },
            _ => name.to_string(),
        }
    }

    /// Declares IR arrays for something in indexed memory; `outer` is the product of the enclosing array levels.
    pub(crate) fn make_mem(&mut self, name: &str, ty: Ty, outer: u64, shared: Memory) -> R<Mem> {
        if let (Memory::SharedLanes, Ty::Vector(n, s)) = (shared, ty) {
            let lane = self.make_mem(name, Ty::Scalar(s), outer.saturating_mul(n.into()), shared)?;
            return Ok(Mem::Lanes(n, Box::new(lane)));
        }
        if ty.is_leaf() {
            let t = self.ir_ty(ty)?;
            let count = u32::try_from(outer).ok().filter(|n| *n <= 1 << 16);
            let Some(count) = count else {
                return Err(self.limit(format!("the array `{name}` has {outer} elements; no machine has room for more than 65536")));
            };
            let var = if shared != Memory::Local {
                let bits = self.used.float_atomics && t.scalar == Scalar::F32;
                let ty = if bits { t.with_scalar(Scalar::I32) } else { t };
                MemRef::Shared(self.out.shared.push(SharedDecl { name: name.to_string(), ty, count, span: self.span }))
            } else {
                let name = self.unique_local(name);
                MemRef::Local(self.func().locals.push(LocalDecl { name, ty: t, count }))
            };
            return Ok(Mem::Leaf(var, t));
        }
        match ty {
            Ty::Struct(_) => {
                let mut parts = Vec::new();
                for i in 0..ty.len(self.types) {
                    let part = self.member_name(name, ty, i);
                    parts.push(self.make_mem(&part, ty.child(self.types, i), outer, shared)?);
                }
                Ok(Mem::Struct(parts))
            }
            Ty::Array(id) if self.types.array(id).count.is_some() => {
                let n = self.types.array(id).count.unwrap_or(1);
                let elem = self.make_mem(name, ty.child(self.types, 0), outer.saturating_mul(n.into()), shared)?;
                Ok(Mem::Array(n, Box::new(elem)))
            }
            Ty::Matrix(n, ..) => {
                let column = self.make_mem(name, ty.child(self.types, 0), outer.saturating_mul(n.into()), shared)?;
                Ok(Mem::Array(n.into(), Box::new(column)))
            }
            _ => Err(self.error("F0110", "a variable of this type cannot be served by any of the machines")),
        }
    }

    fn unique_local(&mut self, name: &str) -> String {
        let base: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '_' }).collect();
        let base = if base.is_empty() { "array".to_string() } else { base };
        let taken = |f: &Function, n: &str| f.locals.values().any(|l| l.name == n);
        if !taken(self.func(), &base) {
            return base;
        }
        let mut n = 1;
        while taken(self.func(), &format!("{base}_{n}")) {
            n += 1;
        }
        format!("{base}_{n}")
    }

    /// Loads what a place holds; composites in read-only memory stay places.
    pub(crate) fn load(&mut self, place: &Place) -> R<Val> {
        match place.root {
            Root::Slot(n) => {
                let slot = self.slots[n as usize].clone();
                self.load_slot(&slot, &place.path, place.ty)
            }
            Root::Resource(g) => self.resource_at(g, place),
            Root::Texel(n) => self.load_texel(n),
            Root::Constant(c) => self.load_constant(c, place),
            Root::Held(n) => self.load_held(n, place),
            Root::Uniform(g) | Root::Rows(g) => {
                if !place.ty.is_leaf() {
                    return Ok(self.in_rows(place).unwrap_or_else(|| Val::Place(place.clone())));
                }
                self.load_uniform(g, &place.path, matches!(place.root, Root::Rows(_)))
            }
            Root::Storage(g) => {
                if !place.ty.is_leaf() && self.storage.get(&g).is_some_and(|b| b.read_only) {
                    return Ok(Val::Place(place.clone()));
                }
                self.load_storage(place)
            }
        }
    }

    /// A part of a value that never changes.
    fn load_held(&mut self, n: u32, place: &Place) -> R<Val> {
        let mut v = self.held[n as usize].clone();
        for (k, s) in place.path.iter().enumerate() {
            v = match (&v, s) {
                (Val::Place(p), s) => {
                    let part = self.step(p, *s)?;
                    self.in_rows(&part).unwrap_or(Val::Place(part))
                }
                (Val::Leaf(x), s) => Val::Leaf(self.lane_at(*x, *s)),
                (Val::Agg(parts), Step::Const(n)) => self.part(parts, *n)?,
                (Val::Agg(parts), Step::Dyn(index)) if parts.len() <= MAX_SELECT => self.pick(&parts.clone(), *index)?,
                (Val::Agg(parts), Step::Dyn(_)) => return self.table(&parts.clone(), &place.path[k..]),
                (Val::Transposed(_) | Val::Product(_), s) => {
                    let Val::Agg(columns) = self.force(&v)? else { return Err(self.error("F0115", "a matrix is needed here")) };
                    match s {
                        Step::Const(n) => self.part(&columns, *n)?,
                        Step::Dyn(index) => self.pick(&columns, *index)?,
                    }
                }
                (Val::Resource(_), _) => return Err(self.error("F0111", "an index into something that has no parts")),
            };
        }
        match v {
            Val::Place(p) => self.load(&p),
            v => Ok(v),
        }
    }

    /// Makes every part of a value an IR value.
    pub(crate) fn force(&mut self, v: &Val) -> R<Val> {
        match v {
            Val::Place(p) if !p.ty.is_leaf() => {
                let n = p.ty.len(self.types);
                self.value_limit(p.ty.leaves(self.types))?;
                let mut parts = Vec::new();
                for i in 0..n {
                    let part = self.step(p, Step::Const(i))?;
                    let loaded = self.load(&part)?;
                    parts.push(self.force(&loaded)?);
                }
                Ok(Val::agg(parts))
            }
            Val::Place(p) => self.load(p),
            Val::Transposed(m) => {
                let m = self.force(m)?;
                let Val::Agg(columns) = &m else { return Ok(m) };
                let rows = columns.first().map_or(0, |c| match c {
                    Val::Leaf(v) => self.func().ty(*v).lanes,
                    _ => 0,
                });
                let mut out = Vec::new();
                for r in 0..rows {
                    let lanes: Vec<_> = columns.iter().filter_map(|c| if let Val::Leaf(v) = c { Some(*v) } else { None }).collect();
                    let lanes: Vec<Value> = lanes.into_iter().map(|v| self.lane(v, r)).collect();
                    out.push(Val::Leaf(self.vector(&lanes)));
                }
                Ok(Val::agg(out))
            }
            Val::Product(p) => {
                let (a, b) = (&p.0, &p.1);
                let mut out = Vec::new();
                for c in self.columns(b)? {
                    out.push(self.mat_vec(a, c)?);
                }
                Ok(Self::matrix(out))
            }
            _ => Ok(v.clone()),
        }
    }

    /// One step further into a place.
    pub(crate) fn step(&mut self, p: &Place, s: Step) -> R<Place> {
        let index = if let Step::Const(n) = s { n } else { 0 };
        let ty = p.ty.child(self.types, index);
        if matches!(ty, Ty::Opaque | Ty::Void) {
            return Err(self.error("F0111", "an access into something that has no parts"));
        }
        let mut path = p.path.clone();
        path.push(s);
        Ok(Place { root: p.root, path, ty })
    }

    fn load_slot(&mut self, slot: &Slot, path: &[Step], ty: Ty) -> R<Val> {
        match slot {
            Slot::Leaf(var) => {
                let v = self.read_var(*var);
                match path.first() {
                    None => Ok(Val::Leaf(v)),
                    Some(s) => Ok(Val::Leaf(self.lane_at(v, *s))),
                }
            }
            Slot::Agg(parts, key) => match path.split_first() {
                None => {
                    let mut out = Vec::new();
                    for p in parts.iter() {
                        out.push(self.load_slot(p, &[], ty)?);
                    }
                    Ok(Val::agg(out))
                }
                Some((Step::Const(n), rest)) => {
                    let part = self.part(parts, *n)?;
                    self.load_slot(&part, rest, ty)
                }
                Some((Step::Dyn(index), rest)) => {
                    if let Some(key) = key.as_ref().filter(|_| parts.len() > MAX_SELECT) {
                        self.wanted.insert((**key).clone());
                        return self.undef_of(ty);
                    }
                    let mut all = Vec::new();
                    for p in parts.iter() {
                        all.push(self.load_slot(p, rest, ty)?);
                    }
                    self.pick(&all, *index)
                }
            },
            Slot::Mem(m) => self.load_mem(m, path, 0, None),
        }
    }

    fn part<T: Clone>(&self, parts: &[T], n: u32) -> R<T> {
        // Out of range by a constant: any value of the variable will do.
        parts.get(n as usize).or(parts.last()).cloned().ok_or_else(|| self.error("F0111", "an index into something that has no parts"))
    }

    /// Chooses one of several values by a computed index.
    pub(crate) fn pick(&mut self, all: &[Val], index: Value) -> R<Val> {
        let Some((last, rest)) = all.split_last() else { return Err(self.error("F0111", "an index into something that has no parts")) };
        let mut v = last.clone();
        for (n, candidate) in rest.iter().enumerate().rev() {
            let is = self.index_is(index, n as u32);
            v = self.select_val(is, candidate, &v)?;
        }
        Ok(v)
    }

    /// Whether a computed index is `n`.
    pub(crate) fn index_is(&mut self, index: Value, n: u32) -> Value {
        let k = self.iconst(n);
        self.b().icmp(IntCC::Eq, index, k)
    }

    /// `select` on every leaf.
    pub(crate) fn select_val(&mut self, c: Value, a: &Val, b: &Val) -> R<Val> {
        let (a, b) = (self.force(a)?, self.force(b)?);
        match (&a, &b) {
            (Val::Leaf(x), Val::Leaf(y)) => Ok(Val::Leaf(if x == y { *x } else { self.b().select(c, *x, *y) })),
            (Val::Agg(x), Val::Agg(y)) => {
                let mut out = Vec::new();
                for (x, y) in x.iter().zip(y.iter()) {
                    out.push(self.select_val(c, x, y)?);
                }
                Ok(Val::agg(out))
            }
            _ => Err(self.error("F0112", "a choice between values that cannot be held in registers")),
        }
    }

    /// A lane by constant or computed index.
    pub(crate) fn lane_at(&mut self, v: Value, s: Step) -> Value {
        let lanes = self.func().ty(v).lanes;
        match s {
            Step::Const(n) => self.lane(v, (n as u8).min(lanes - 1)),
            Step::Dyn(index) => {
                let mut out = self.lane(v, lanes - 1);
                for n in (0..lanes - 1).rev() {
                    let x = self.lane(v, n);
                    let is = self.index_is(index, n.into());
                    out = self.b().select(is, x, out);
                }
                out
            }
        }
    }

    /// A vector with the lane at a constant or computed index replaced.
    pub(crate) fn with_lane(&mut self, v: Value, s: Step, x: Value) -> Value {
        let lanes = self.func().ty(v).lanes;
        match s {
            Step::Const(n) => self.insert_lane(v, x, (n as u8).min(lanes - 1)),
            Step::Dyn(index) => {
                let at = self.b().splat(index, lanes);
                let ids = self.constant(I32.with_lanes(lanes), [0, 1, 2, 3].map(|n| if n < lanes as u32 { n } else { 0 }));
                let hit = self.b().icmp(IntCC::Eq, at, ids);
                let all = self.b().splat(x, lanes);
                self.b().select(hit, all, v)
            }
        }
    }

    /// Stores a value into a place.
    pub(crate) fn store(&mut self, place: &Place, v: &Val) -> R<()> {
        match place.root {
            Root::Slot(n) => {
                let slot = self.slots[n as usize].clone();
                let v = self.force(v)?;
                self.store_slot(&slot, &place.path, &v, place.ty)
            }
            // It holds the constant already.
            Root::Constant(_) => Ok(()),
            // The one time that it is set.
            Root::Held(n) => self.set_held(n, v.clone()),
            Root::Texel(n) => {
                let v = self.leaf(v)?;
                self.store_texel(n, v)
            }
            Root::Uniform(_) | Root::Rows(_) | Root::Resource(_) => Err(self.error("F0113", "a uniform cannot be written")),
            Root::Storage(_) => {
                let v = self.force(v)?;
                self.store_storage(place, &v)
            }
        }
    }

    /// Stores a value into a variable or a part of it.
    pub(crate) fn store_slot(&mut self, slot: &Slot, path: &[Step], v: &Val, ty: Ty) -> R<()> {
        match slot {
            Slot::Leaf(var) => {
                let x = self.leaf(v)?;
                let new = match path.first() {
                    None => x,
                    Some(s) => {
                        let old = self.read_var(*var);
                        self.with_lane(old, *s, x)
                    }
                };
                self.write_var(*var, new);
                Ok(())
            }
            Slot::Agg(parts, key) => match path.split_first() {
                None => {
                    let v = self.force(v)?;
                    let Val::Agg(values) = &v else { return Err(self.error("F0112", "a store of something that is no composite")) };
                    for (p, x) in parts.iter().zip(values.iter()) {
                        self.store_slot(p, &[], x, ty)?;
                    }
                    Ok(())
                }
                Some((Step::Const(n), rest)) => match parts.get(*n as usize) {
                    Some(p) => self.store_slot(&p.clone(), rest, v, ty),
                    None => Ok(()),
                },
                Some((Step::Dyn(index), rest)) => {
                    if let Some(key) = key.as_ref().filter(|_| parts.len() > MAX_SELECT) {
                        self.wanted.insert((**key).clone());
                        return Ok(());
                    }
                    for (n, p) in parts.iter().enumerate() {
                        let old = self.load_slot(p, rest, ty)?;
                        let is = self.index_is(*index, n as u32);
                        let new = self.select_val(is, v, &old)?;
                        self.store_slot(p, rest, &new, ty)?;
                    }
                    Ok(())
                }
            },
            Slot::Mem(m) => self.store_mem(m, path, 0, None, v),
        }
    }

    /// Adds a step with `scale` to an element index made of a constant and a computed part.
    pub(crate) fn add_index(&mut self, at: (u32, Option<Value>), s: Step, scale: u32) -> (u32, Option<Value>) {
        match s {
            Step::Const(n) => (at.0.wrapping_add(n.wrapping_mul(scale)), at.1),
            Step::Dyn(v) => {
                // A constant part of a computed index goes into the constant offset.
                let (v, k) = self.split_index(v);
                let at = (at.0.wrapping_add(k.wrapping_mul(scale)), at.1);
                let scaled = self.scale_index(v, scale);
                (
                    at.0,
                    Some(match at.1 {
                        None => scaled,
                        Some(w) => self.b().ins(Opcode::Iadd, &[w, scaled]),
                    }),
                )
            }
        }
    }

    /// Where an element of a uniform lies, in its units: the constant part and the computed one.
    fn uniform_index(&mut self, levels: &[Level], unit: u32) -> (u32, Option<Value>) {
        let mut at = (0, None);
        for Level { count, stride, step } in levels.iter().copied() {
            let scale = stride / unit.max(1);
            // The load itself clamps to the last unit, which is not the last element then.
            let alone = levels.len() == 1 && scale == 1 && matches!(step, Step::Dyn(_));
            let step = if alone { step } else { self.within(step, count) };
            at = self.add_index(at, step, scale);
        }
        at
    }

    /// An index clamped, as unsigned, to the last element.
    fn within(&mut self, s: Step, count: u32) -> Step {
        let last = count.saturating_sub(1);
        let v = match s {
            Step::Const(k) => return Step::Const(k.min(last)),
            Step::Dyn(v) => v,
        };
        if last == 0 {
            return Step::Const(0);
        }
        let last = self.iconst(last);
        Step::Dyn(self.b().ins(Opcode::Umin, &[v, last]))
    }

    fn split_index(&mut self, v: Value) -> (Value, u32) {
        let f = self.func();
        let Some(d) = f.def_if(v, Opcode::Iadd) else { return (v, 0) };
        let (x, y) = (d.args[0], d.args[1]);
        // Only small offsets: a wrapped one would not mean the same element.
        if let Some(k) = f.const_bits(y).map(|b| b[0]).filter(|k| *k < 1 << 16) {
            return (x, k);
        }
        if let Some(k) = f.const_bits(x).map(|b| b[0]).filter(|k| *k < 1 << 16) {
            return (y, k);
        }
        (v, 0)
    }

    fn scale_index(&mut self, v: Value, scale: u32) -> Value {
        if scale == 1 {
            return v;
        }
        if scale.is_power_of_two() {
            let k = self.iconst(scale.trailing_zeros());
            return self.b().ins(Opcode::Ishl, &[v, k]);
        }
        let k = self.iconst(scale);
        self.b().ins(Opcode::Imul, &[v, k])
    }

    /// Loads from indexed memory.
    pub(crate) fn load_from(&mut self, m: &Mem, path: &[Step]) -> R<Val> {
        self.load_mem(m, path, 0, None)
    }

    /// A constant beyond the last element is as good as a computed index: code that nobody reaches may name it, once it stands in its caller.
    pub(crate) fn reachable(&mut self, s: Step, count: u32) -> Step {
        match s {
            Step::Const(k) if k >= count => Step::Dyn(self.iconst(k)),
            s => s,
        }
    }

    /// The index of an element one level further in.
    pub(crate) fn mem_index(&mut self, count: u32, at: (u32, Option<Value>), s: Step) -> (u32, Option<Value>) {
        let s = self.reachable(s, count);
        let scaled = (at.0.wrapping_mul(count), at.1.map(|v| self.scale_index(v, count)));
        self.add_index(scaled, s, 1)
    }

    /// The type in which memory holds something: floats under atomics as their bits.
    pub(crate) fn held_as(&self, var: MemRef, ty: Type) -> Type {
        if let MemRef::Shared(s) = var { self.out.shared[s].ty } else { ty }
    }

    fn load_cell(&mut self, var: MemRef, ty: Type, offset: u32, index: Option<Value>) -> Value {
        let held = self.held_as(var, ty);
        let v = self.b().load(held, var, offset, index);
        if held == ty { v } else { self.b().typed(Opcode::Bitcast, ty, &[v], Imm::None) }
    }

    fn load_mem(&mut self, m: &Mem, path: &[Step], offset: u32, index: Option<Value>) -> R<Val> {
        match m {
            Mem::Leaf(var, ty) => {
                let v = self.load_cell(*var, *ty, offset, index);
                Ok(Val::Leaf(match path.first() {
                    None => v,
                    Some(s) => self.lane_at(v, *s),
                }))
            }
            Mem::Struct(parts) => match path.split_first() {
                Some((Step::Const(n), rest)) => {
                    let part = self.part(parts, *n)?;
                    self.load_mem(&part, rest, offset, index)
                }
                Some((Step::Dyn(which), rest)) => {
                    let mut all = Vec::new();
                    for p in parts {
                        all.push(self.load_mem(p, rest, offset, index)?);
                    }
                    self.pick(&all, *which)
                }
                None => {
                    let mut out = Vec::new();
                    for p in parts {
                        out.push(self.load_mem(p, &[], offset, index)?);
                    }
                    Ok(Val::agg(out))
                }
            },
            Mem::Lanes(n, lane) => match path.first() {
                Some(s) => {
                    let (o, i) = self.mem_index((*n).into(), (offset, index), *s);
                    self.load_mem(lane, &[], o, i)
                }
                None => {
                    let mut lanes = Vec::new();
                    for k in 0..*n {
                        let (o, i) = self.mem_index((*n).into(), (offset, index), Step::Const(k.into()));
                        let v = self.load_mem(lane, &[], o, i)?;
                        lanes.push(self.leaf(&v)?);
                    }
                    Ok(Val::Leaf(self.vector(&lanes)))
                }
            },
            Mem::Array(n, elem) => match path.split_first() {
                Some((s, rest)) => {
                    let (o, i) = self.mem_index(*n, (offset, index), *s);
                    self.load_mem(elem, rest, o, i)
                }
                None => {
                    self.value_limit(u64::from(*n))?;
                    let mut out = Vec::new();
                    for k in 0..*n {
                        let (o, i) = self.mem_index(*n, (offset, index), Step::Const(k));
                        out.push(self.load_mem(elem, &[], o, i)?);
                    }
                    Ok(Val::agg(out))
                }
            },
        }
    }

    /// Stores into indexed memory.
    pub(crate) fn store_mem(&mut self, m: &Mem, path: &[Step], offset: u32, index: Option<Value>, v: &Val) -> R<()> {
        match m {
            Mem::Leaf(MemRef::Input(_), _) => Err(self.error("F0113", "an input cannot be written")),
            Mem::Leaf(var, ty) => {
                let x = self.leaf(v)?;
                let new = match path.first() {
                    None => x,
                    Some(s) => {
                        let old = self.load_cell(*var, *ty, offset, index);
                        self.with_lane(old, *s, x)
                    }
                };
                let held = self.held_as(*var, *ty);
                let new = if held == *ty { new } else { self.b().typed(Opcode::Bitcast, held, &[new], Imm::None) };
                self.b().store(*var, offset, new, index);
                Ok(())
            }
            Mem::Struct(parts) => match path.split_first() {
                Some((Step::Const(n), rest)) => {
                    let part = self.part(parts, *n)?;
                    self.store_mem(&part, rest, offset, index, v)
                }
                Some((Step::Dyn(_), _)) => Err(self.error("F0111", "a member chosen by a computed value")),
                None => {
                    let Val::Agg(values) = self.force(v)? else {
                        return Err(self.error("F0112", "a store of something that is no composite"));
                    };
                    for (p, x) in parts.iter().zip(values.iter()) {
                        self.store_mem(p, &[], offset, index, x)?;
                    }
                    Ok(())
                }
            },
            Mem::Lanes(n, lane) => match path.first() {
                Some(s) => {
                    let (o, i) = self.mem_index((*n).into(), (offset, index), *s);
                    self.store_mem(lane, &[], o, i, v)
                }
                None => {
                    let x = self.leaf(v)?;
                    for (k, x) in self.lanes(x).into_iter().enumerate() {
                        let (o, i) = self.mem_index((*n).into(), (offset, index), Step::Const(k as u32));
                        self.store_mem(lane, &[], o, i, &Val::Leaf(x))?;
                    }
                    Ok(())
                }
            },
            Mem::Array(n, elem) => match path.split_first() {
                Some((s, rest)) => {
                    let (o, i) = self.mem_index(*n, (offset, index), *s);
                    self.store_mem(elem, rest, o, i, v)
                }
                None => {
                    let Val::Agg(values) = self.force(v)? else {
                        return Err(self.error("F0112", "a store of something that is no composite"));
                    };
                    for (k, x) in values.iter().enumerate().take(*n as usize) {
                        let (o, i) = self.mem_index(*n, (offset, index), Step::Const(k as u32));
                        self.store_mem(elem, &[], o, i, x)?;
                    }
                    Ok(())
                }
            },
        }
    }

    /// A uniform matrix that stands row by row, as the transpose of what stands there.
    pub(crate) fn in_rows(&self, place: &Place) -> Option<Val> {
        let (Root::Uniform(g), Ty::Matrix(columns, rows, scalar)) = (place.root, place.ty) else { return None };
        let mut node = &**self.uniforms.get(&g)?;
        for s in &place.path {
            node = match (node, s) {
                (UniformTree::Struct(parts), Step::Const(n)) => parts.get(*n as usize)?,
                (UniformTree::Array { elem, .. }, _) => elem,
                _ => return None,
            };
        }
        let UniformTree::Rows(..) = node else { return None };
        let rows = Place { root: Root::Rows(g), path: place.path.clone(), ty: Ty::Matrix(rows, columns, scalar) };
        Some(Val::Transposed(Rc::new(Val::Place(rows))))
    }

    /// Loads a number that stands beside textures.
    pub(crate) fn load_uniform_of(&mut self, variable: Id, place: &Place) -> R<Val> {
        self.load_uniform(variable, &place.path, false)
    }

    /// Loads a scalar or vector of a uniform buffer; `rows`: the path goes into a matrix by its rows.
    fn load_uniform(&mut self, g: Id, path: &[Step], rows: bool) -> R<Val> {
        let Some(tree) = self.uniforms.get(&g).cloned() else { return Err(self.error("F0125", "a variable that was not declared")) };
        self.load_uniform_at(&tree, path, rows, SmallVec::new())
    }

    fn load_uniform_at(&mut self, node: &UniformTree, path: &[Step], rows: bool, mut steps: SmallVec<[Level; 4]>) -> R<Val> {
        let (mut node, mut rest) = (node, path);
        loop {
            match node {
                UniformTree::Leaf(decl, ty, unit) => {
                    let at = self.uniform_index(&steps, *unit);
                    let v = self.b().load(*ty, MemRef::Uniform(*decl), at.0, at.1);
                    if self.relaxed.contains(decl)
                        && let Some(i) = self.func().def_inst(v)
                    {
                        self.func().insts[i].relaxed = true;
                    }
                    return Ok(Val::Leaf(match rest.first() {
                        None => v,
                        Some(s) => self.lane_at(v, *s),
                    }));
                }
                UniformTree::Struct(parts) => match rest.split_first() {
                    Some((Step::Const(n), more)) => {
                        let Some(part) = parts.get(*n as usize) else { return Err(self.error("F0111", "a member that does not exist")) };
                        (node, rest) = (part, more);
                    }
                    // Blocks of an array.
                    Some((Step::Dyn(index), more)) => {
                        let mut all = Vec::new();
                        for p in parts {
                            all.push(self.load_uniform_at(p, more, rows, steps.clone())?);
                        }
                        return self.pick(&all, *index);
                    }
                    None => return Err(self.error("F0111", "a struct used as a single value")),
                },
                UniformTree::Small(words, unit, num, lanes, first) => {
                    let at = self.uniform_index(&steps, *unit);
                    let words: Vec<Value> = words.iter().map(|w| self.b().load(I32, MemRef::Uniform(*w), at.0, at.1)).collect();
                    let mut all = Vec::new();
                    for n in 0..u32::from(*lanes) {
                        let bit = first + n * num.width;
                        all.push(self.number_at(words[(bit / 32) as usize], bit % 32, *num));
                    }
                    let mut v = self.vector(&all);
                    if num.is_half() {
                        v = self.b().typed(Opcode::Fcvt, F16.with_lanes(*lanes), &[v], Imm::None);
                    }
                    return Ok(Val::Leaf(match rest.first() {
                        None => v,
                        Some(s) => self.lane_at(v, *s),
                    }));
                }
                UniformTree::Truth(decl) => {
                    let v = self.b().load(I1, MemRef::Uniform(*decl), 0, None);
                    let (one, zero) = (self.iconst(1), self.iconst(0));
                    return Ok(Val::Leaf(self.b().select(v, one, zero)));
                }
                UniformTree::Placeholder => return Ok(Val::Leaf(self.iconst(0))),
                UniformTree::Nothing => return Err(self.error("F0111", "a texture used as a number")),
                UniformTree::Array { count, stride, elem } => {
                    let Some((s, more)) = rest.split_first() else { return Err(self.error("F0111", "an array used as a single value")) };
                    steps.push(Level { count: *count, stride: *stride, step: *s });
                    (node, rest) = (elem, more);
                }
                UniformTree::Rows(_, inner) if rows => node = inner,
                UniformTree::Rows(count, inner) => {
                    let Some((column, more)) = rest.split_first() else {
                        return Err(self.error("F0111", "a matrix used as a single value"));
                    };
                    // One lane of a row, or of every row.
                    let lane = |c: &mut Self, row: Step| -> R<Value> {
                        let v = c.load_uniform_at(inner, &[row, *column], true, steps.clone())?;
                        c.leaf(&v)
                    };
                    if let Some(row) = more.first() {
                        return Ok(Val::Leaf(lane(self, *row)?));
                    }
                    let mut lanes = Vec::new();
                    for r in 0..u32::from(*count) {
                        lanes.push(lane(self, Step::Const(r))?);
                    }
                    return Ok(Val::Leaf(self.vector(&lanes)));
                }
            }
        }
    }

    /// Refuses values that would flood the program.
    pub(crate) fn value_limit(&self, parts: u64) -> R<()> {
        if parts > MAX_VALUE_LEAVES {
            return Err(self.limit(format!("a value of {parts} parts is too large to be held in registers")));
        }
        Ok(())
    }
}
