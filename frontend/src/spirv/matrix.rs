//! Products of matrices and vectors. A product of two matrices waits until what it is applied to is known.

use super::binary::{R, malformed};
use super::convert::Converter;
use super::value::Val;
use retroshade_ir::{Opcode, Value};

impl Converter<'_> {
    pub(crate) fn columns(&mut self, v: &Val) -> R<Vec<Value>> {
        let Val::Agg(parts) = self.force(v)? else { return Err(self.error("F0115", "a matrix is needed here")) };
        parts.iter().map(|p| self.leaf(p)).collect()
    }

    pub(crate) fn matrix(columns: Vec<Value>) -> Val {
        Val::agg(columns.into_iter().map(Val::Leaf).collect())
    }

    /// Matrix times column vector: the sum of the columns times the lanes, or rows' dot products of a transpose.
    pub(crate) fn mat_vec(&mut self, m: &Val, v: Value) -> R<Value> {
        if let Val::Transposed(inner) = m {
            return self.vec_mat(v, &inner.clone());
        }
        if let Some((a, b)) = self.product(m) {
            let v = self.mat_vec(&b, v)?;
            return self.mat_vec(&a, v);
        }
        let columns = self.columns(m)?;
        if columns.len() != usize::from(self.func().ty(v).lanes) {
            return Err(malformed(self.at, "a matrix and a vector that do not fit"));
        }
        let mut sum = None;
        for (n, c) in columns.into_iter().enumerate() {
            let lanes = self.func().ty(c).lanes;
            let x = self.lane(v, n as u8);
            let x = self.splat(x, lanes);
            let p = self.op2(Opcode::Fmul, c, x);
            sum = Some(match sum {
                None => p,
                Some(s) => self.op2(Opcode::Fadd, s, p),
            });
        }
        sum.ok_or_else(|| self.error("F0115", "a matrix is needed here"))
    }

    /// The factors of a product that is best applied one after the other. One from outside the current loop is better
    /// computed once there.
    fn product(&self, m: &Val) -> Option<(Val, Val)> {
        match m {
            Val::Product(p) if p.2 == self.loops => Some((p.0.clone(), p.1.clone())),
            _ => None,
        }
    }

    /// Row vector times matrix: a dot product per column.
    pub(crate) fn vec_mat(&mut self, v: Value, m: &Val) -> R<Value> {
        if let Val::Transposed(inner) = m {
            return self.mat_vec(&inner.clone(), v);
        }
        if let Some((a, b)) = self.product(m) {
            let v = self.vec_mat(v, &a)?;
            return self.vec_mat(v, &b);
        }
        let columns = self.columns(m)?;
        let t = self.func().ty(v);
        if columns.iter().any(|c| self.func().ty(*c) != t) {
            return Err(malformed(self.at, "a matrix and a vector that do not fit"));
        }
        let lanes: Vec<Value> = columns.into_iter().map(|c| self.op2(Opcode::Dot, v, c)).collect();
        Ok(self.vector(&lanes))
    }
}
