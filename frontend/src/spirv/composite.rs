//! Composites: values put together, taken apart, changed in part, shuffled and chosen.

use super::binary::{Inst, R, malformed};
use super::convert::Converter;
use super::place::Step;
use super::types::Ty;
use super::value::Val;
use retroshade_ir::Value;

impl Converter<'_> {
    /// A part of a value by a constant index.
    pub(crate) fn part_of(&mut self, v: &Val, n: u32) -> R<Val> {
        match v {
            Val::Place(p) => {
                let part = self.step(p, Step::Const(n))?;
                self.load(&part)
            }
            Val::Leaf(x) => {
                if n >= u32::from(self.func().ty(*x).lanes) {
                    return Err(malformed(self.at, "a lane that does not exist"));
                }
                Ok(Val::Leaf(self.lane(*x, n as u8)))
            }
            Val::Agg(parts) => parts.get(n as usize).cloned().ok_or_else(|| malformed(self.at, "a part that does not exist")),
            Val::Transposed(_) | Val::Product(_) => {
                let m = self.force(v)?;
                self.part_of(&m, n)
            }
            Val::Resource(_) => Err(malformed(self.at, "a part of a texture")),
        }
    }

    pub(crate) fn insert_part(&mut self, whole: &Val, path: &[u32], part: &Val) -> R<Val> {
        let Some((n, rest)) = path.split_first() else { return self.force(part) };
        match self.force(whole)? {
            Val::Leaf(v) => {
                if *n >= u32::from(self.func().ty(v).lanes) || !rest.is_empty() {
                    return Err(malformed(self.at, "a lane that does not exist"));
                }
                let x = self.leaf(part)?;
                Ok(Val::Leaf(self.insert_lane(v, x, *n as u8)))
            }
            Val::Agg(parts) => {
                let Some(old) = parts.get(*n as usize) else { return Err(malformed(self.at, "a part that does not exist")) };
                let new = self.insert_part(old, rest, part)?;
                let mut all = parts.to_vec();
                all[*n as usize] = new;
                Ok(Val::agg(all))
            }
            _ => Err(malformed(self.at, "a part of something without parts")),
        }
    }

    pub(crate) fn vector_shuffle(&mut self, i: &Inst<'_>) -> R<Val> {
        let (a, b) = (self.value_leaf(i.word(2)?)?, self.value_leaf(i.word(3)?)?);
        let mask = i.rest(4);
        let first = u32::from(self.func().ty(a).lanes);
        let all = first + u32::from(self.func().ty(b).lanes);
        if !(2..=4).contains(&mask.len()) || mask.iter().any(|m| *m >= all && *m != u32::MAX) {
            return Err(malformed(i.at, "a shuffle of lanes that do not exist"));
        }
        if mask.iter().all(|m| *m < first) {
            let pattern: Vec<u8> = mask.iter().map(|m| *m as u8).collect();
            return Ok(Val::Leaf(self.swizzle(a, &pattern)));
        }
        if mask.iter().all(|m| *m >= first && *m != u32::MAX) {
            let pattern: Vec<u8> = mask.iter().map(|m| (*m - first) as u8).collect();
            return Ok(Val::Leaf(self.swizzle(b, &pattern)));
        }
        // A vector with some lanes replaced.
        if mask.len() == first as usize && mask.iter().zip(0..).any(|(m, n)| *m == n) {
            let mut v = a;
            for (n, m) in (0u32..).zip(mask) {
                if *m == n || *m == u32::MAX {
                    continue;
                }
                let x = if *m < first { self.lane(a, *m as u8) } else { self.lane(b, (*m - first) as u8) };
                v = self.insert_lane(v, x, n as u8);
            }
            return Ok(Val::Leaf(v));
        }
        let mut lanes = Vec::new();
        for m in mask {
            let m = if *m == u32::MAX { 0 } else { *m };
            lanes.push(if m < first { self.lane(a, m as u8) } else { self.lane(b, (m - first) as u8) });
        }
        Ok(Val::Leaf(self.vector(&lanes)))
    }

    /// Puts parts together.
    pub(crate) fn compose(&mut self, ty: Ty, parts: Vec<Val>) -> R<Val> {
        if let Ty::Vector(n, _) = ty {
            let mut lanes = Vec::new();
            for p in &parts {
                let v = self.leaf(p)?;
                lanes.extend(self.lanes(v));
            }
            if lanes.len() != usize::from(n) {
                return Err(malformed(self.at, "a vector of another number of lanes than its type says"));
            }
            let lane = self.func().ty(lanes[0]);
            if lanes.iter().any(|l| self.func().ty(*l) != lane) {
                return Err(malformed(self.at, "a vector of lanes of different types"));
            }
            return Ok(Val::Leaf(self.vector(&lanes)));
        }
        if !matches!(ty, Ty::Matrix(..) | Ty::Array(_) | Ty::Struct(_)) || parts.len() != ty.len(self.types) as usize {
            return Err(malformed(self.at, "a composite of other parts than its type says"));
        }
        let mut out = Vec::new();
        for (n, p) in (0u32..).zip(&parts) {
            let v = self.force(p)?;
            let child = ty.child(self.types, n);
            if let (true, Val::Leaf(x)) = (child.is_leaf(), &v) {
                let t = self.ir_ty(child)?;
                if self.func().ty(*x) != t {
                    return Err(malformed(self.at, "a composite with a part of another type than it says"));
                }
            }
            out.push(v);
        }
        Ok(Val::agg(out))
    }

    /// `select` on every leaf; the condition is one truth value or one per lane.
    pub(crate) fn choose(&mut self, c: Value, a: &Val, b: &Val) -> R<Val> {
        if let (Val::Leaf(x), Val::Leaf(y)) = (a, b) {
            let (x, y, lanes) = (*x, *y, self.func().ty(c).lanes);
            let (tx, ty) = (self.func().ty(x), self.func().ty(y));
            if tx != ty || self.func().ty(c).scalar != retroshade_ir::Scalar::I1 || lanes != 1 && lanes != tx.lanes {
                return Err(malformed(self.at, "a choice between values of different types"));
            }
        }
        if let Some(k) = self.known(c) {
            return Ok(if k != 0 { a.clone() } else { b.clone() });
        }
        self.select_val(c, a, b)
    }

    /// Applies something to every leaf.
    pub(crate) fn map(&mut self, v: &Val, f: &mut dyn FnMut(&mut Self, Value) -> R<Value>) -> R<Val> {
        match self.force(v)? {
            Val::Leaf(x) => Ok(Val::Leaf(f(self, x)?)),
            Val::Agg(parts) => {
                let mut out = Vec::new();
                for p in parts.iter() {
                    out.push(self.map(p, f)?);
                }
                Ok(Val::agg(out))
            }
            _ => Err(self.error("F0115", "a number is needed here")),
        }
    }
}
