//! Conditions: predicates where they are tested, 0 or 1 in registers where they are stored or passed on.

use super::*;

impl Selector<'_> {
    /// Whether a condition is only tested (not stored or passed on) in its own block, so that it needs no register.
    pub(super) fn is_lazy(&self, i: Inst) -> bool {
        let f = self.f;
        let Some(r) = f.result(i) else { return false };
        let Some(home) = self.home[i].expand() else { return false };
        if f.insts[i].op == Opcode::Select && !self.is_pick(i) {
            return false;
        }
        self.users[r].iter().all(|(b, u)| {
            let d = &f.insts[*u];
            let simple = match d.op {
                Opcode::BrIf | Opcode::Discard => true,
                Opcode::Select if f.ty(d.args[1]) == types::I1 => self.is_pick(*u) && self.is_lazy(*u),
                Opcode::Select => d.args[0] == r && d.args[1] != r && d.args[2] != r && f.ty(d.args[1]).scalar != Scalar::I1,
                Opcode::Iand | Opcode::Ior | Opcode::Inot => f.ty(r).lanes == 1 && self.is_lazy(*u),
                _ => false,
            };
            *b == home && simple
        })
    }

    /// Whether a choice between truth values is one of `legal::kills`: the second test overwrites the rest's predicate where the
    /// first one holds, and a pixel is dropped by the outcome.
    fn is_pick(&self, i: Inst) -> bool {
        let f = self.f;
        let (d, Some(r)) = (&f.insts[i], f.result(i)) else { return false };
        let plain = |v: Value| {
            f.def_inst(v).is_some_and(|t| match (f.insts[t].op, &f.insts[t].imm) {
                (Opcode::Icmp, _) => f.ty(f.insts[t].args[0]) == types::I32,
                (Opcode::Fcmp, Imm::FloatCC(cc)) => Self::relation(*cc).is_some_and(|r| !r.1),
                _ => false,
            })
        };
        let compound = |v: Value| {
            f.def_inst(v).is_some_and(|t| match f.insts[t].op {
                Opcode::Iand | Opcode::Ior => true,
                Opcode::Select => self.is_pick(t),
                _ => false,
            })
        };
        let ends = |u: Inst| match f.insts[u].op {
            Opcode::Select => f.insts[u].args[2] == r && f.insts[u].args[..2].iter().all(|a| *a != r),
            Opcode::Inot => {
                let v = f.result(u);
                v.is_some_and(|v| self.users[v].iter().all(|(_, x)| f.insts[*x].op == Opcode::Discard))
            }
            _ => false,
        };
        f.ty(r) == types::I1
            && plain(d.args[0])
            && plain(d.args[1])
            && (plain(d.args[2]) || compound(d.args[2]))
            && self.users[r].iter().all(|(_, u)| ends(*u))
    }

    fn relation(cc: FloatCC) -> Option<(Rel, bool)> {
        use FloatCC::*;
        Some(match cc {
            Oeq => (Rel::Eq, false),
            Olt => (Rel::Lt, false),
            Ole => (Rel::Le, false),
            Ogt => (Rel::Gt, false),
            Oge => (Rel::Ge, false),
            Une => (Rel::Ne, false),
            Ult => (Rel::Ge, true),
            Ule => (Rel::Gt, true),
            Ugt => (Rel::Le, true),
            Uge => (Rel::Lt, true),
            _ => return None,
        })
    }

    fn int_relation(cc: IntCC) -> (Rel, TestKind) {
        use IntCC::*;
        match cc {
            Eq => (Rel::Eq, TestKind::Signed),
            Ne => (Rel::Ne, TestKind::Signed),
            Slt => (Rel::Lt, TestKind::Signed),
            Sle => (Rel::Le, TestKind::Signed),
            Sgt => (Rel::Gt, TestKind::Signed),
            Sge => (Rel::Ge, TestKind::Signed),
            Ult => (Rel::Lt, TestKind::Unsigned),
            Ule => (Rel::Le, TestKind::Unsigned),
            Ugt => (Rel::Gt, TestKind::Unsigned),
            Uge => (Rel::Ge, TestKind::Unsigned),
        }
    }

    /// The relation, operands and inversion of one lane of a comparison.
    fn leaf(&mut self, d: &InstData, k: usize) -> Result<(TestKind, Rel, bool, Lane, Lane), CompileError> {
        let at = |v: Vec<Lane>| v.get(k).or(v.first()).copied().unwrap_or(Lane::new(Base::Undef));
        let (a, b) = (self.value_lanes(d.args[0]), self.value_lanes(d.args[1]));
        let (a, b) = (at(a), at(b));
        match &d.imm {
            Imm::FloatCC(cc) => {
                let ty = self.f.ty(d.args[0]).scalar;
                let (rel, inv) = Self::relation(*cc).ok_or_else(|| self.unsupported(format!("no test for `{}`", cc.name())))?;
                Ok((TestKind::Float(ty), rel, inv, a, b))
            }
            Imm::IntCC(cc) => {
                let (rel, kind) = Self::int_relation(*cc);
                Ok((kind, rel, false, a, b))
            }
            _ => Err(self.unsupported("a comparison without a relation")),
        }
    }

    pub(super) fn test(&mut self, under: Option<Pred>, (kind, rel, a, b): (TestKind, Rel, Lane, Lane), p: u8) {
        let k = Kind::Test(kind, rel, p);
        match under {
            None => self.emit(k, None, vec![vec![a], vec![b]]),
            Some(q) => self.emit_under(q, k, None, vec![vec![a], vec![b]]),
        }
    }

    /// Computes a condition into a predicate from `p` on: which one, and whether inverted.
    pub(super) fn condition(&mut self, v: Value, p: u8) -> Result<Pred, CompileError> {
        let f = self.f;
        let lazy = self.lanes[v].is_empty();
        if let (true, Some(i)) = (lazy, f.def_inst(v)) {
            let d = &f.insts[i];
            match d.op {
                Opcode::Fcmp | Opcode::Icmp => {
                    let (kind, rel, inv, a, b) = self.leaf(d, 0)?;
                    self.test(None, (kind, rel, a, b), p);
                    return Ok((p, inv));
                }
                Opcode::Inot => {
                    let (p, inv) = self.condition(d.args[0], p)?;
                    return Ok((p, !inv));
                }
                Opcode::Iand | Opcode::Ior => return self.combine(d, d.op == Opcode::Iand, p),
                Opcode::Select => {
                    self.condition(d.args[2], p)?;
                    let when = self.condition(d.args[0], 0)?;
                    let then = f.def_inst(d.args[1]).ok_or_else(|| self.unsupported("a choice without a test"))?;
                    let (kind, rel, _, a, b) = self.leaf(&f.insts[then], 0)?;
                    self.test(Some(when), (kind, rel, a, b), p);
                    return Ok((p, false));
                }
                _ => {}
            }
        }
        let l = self.value_lanes(v)[0];
        self.test(None, (TestKind::Signed, Rel::Ne, l, Lane::c(0)), p);
        Ok((p, false))
    }

    /// Whether [`Selector::condition`] gives the opposite of a predicate for a condition that is in no register.
    pub(super) fn is_inverted(&self, v: Value) -> bool {
        let Some(i) = self.f.def_inst(v).filter(|_| self.lanes[v].is_empty()) else { return false };
        let d = &self.f.insts[i];
        match (d.op, &d.imm) {
            (Opcode::Fcmp, Imm::FloatCC(cc)) => Self::relation(*cc).is_some_and(|r| r.1),
            (Opcode::Inot, _) => !self.is_inverted(d.args[0]),
            _ => false,
        }
    }

    /// `a and b`, `a or b` into predicate `p` (p0 or p1): the second test runs only where the first does not settle the matter. The other
    /// of the two helps: a predicate can be neither copied nor turned over in place.
    fn combine(&mut self, d: &InstData, and: bool, p: u8) -> Result<Pred, CompileError> {
        let f = self.f;
        let other = 1 - p;
        let (mut first, mut second) = (d.args[0], d.args[1]);
        let is_leaf = |s: &Self, v: Value| -> bool {
            !s.lanes[v].is_empty() || f.def_inst(v).is_some_and(|i| matches!(f.insts[i].op, Opcode::Fcmp | Opcode::Icmp))
        };
        if !is_leaf(self, second) {
            std::mem::swap(&mut first, &mut second);
        }
        if !is_leaf(self, second) {
            // Two compound conditions: the second becomes 0 or 1 in a register first.
            let i = f.def_inst(second).ok_or_else(|| self.unsupported("a condition without a definition"))?;
            let v = self.materialise_inst(i)?;
            self.lanes[second] = v;
        }
        let (q, inv) = self.condition(first, p)?;
        // Bring the predicate to the polarity `p = first`.
        if inv {
            self.emit(Kind::SetPred(other, true), None, Vec::new());
            self.emit_under((q, false), Kind::SetPred(other, false), None, Vec::new());
            self.emit(Kind::SetPred(p, false), None, Vec::new());
            self.emit_under((other, false), Kind::SetPred(p, true), None, Vec::new());
        }
        // and: run where p is true; or: run where p is false.
        let under = (p, !and);
        let (kind, rel, inv2, a, b) = if self.lanes[second].is_empty() {
            let i = f.def_inst(second).ok_or_else(|| self.unsupported("a condition without a definition"))?;
            self.leaf(&f.insts[i], 0)?
        } else {
            (TestKind::Signed, Rel::Ne, false, self.lanes[second][0], Lane::c(0))
        };
        if !inv2 {
            self.test(Some(under), (kind, rel, a, b), p);
        } else {
            self.test(None, (kind, rel, a, b), other);
            // second = !other: and clears p where other; or sets p where !other.
            self.emit_under((other, !and), Kind::SetPred(p, !and), None, Vec::new());
        }
        Ok((p, false))
    }

    /// A condition as 0 or 1 in registers.
    pub(super) fn materialise_inst(&mut self, i: Inst) -> Result<Vec<Lane>, CompileError> {
        let f = self.f;
        let d = &f.insts[i];
        let ty = d.results.first().map_or(types::I1, |v| f.ty(*v));
        match d.op {
            Opcode::Fcmp | Opcode::Icmp => {
                let mut out = Vec::new();
                for k in 0..ty.lanes as usize {
                    let (kind, rel, inv, a, b) = self.leaf(d, k)?;
                    self.test(None, (kind, rel, a, b), 0);
                    out.extend(self.zero_or_one((0, inv)));
                }
                Ok(out)
            }
            Opcode::Any | Opcode::All => {
                let v = self.value_lanes(d.args[0]);
                let bit = if d.op == Opcode::Any { Bit::Or } else { Bit::And };
                let mut acc = v[0];
                for l in &v[1..] {
                    acc = self.make(Kind::Bit(bit), types::I32, vec![vec![acc], vec![*l]])[0];
                }
                Ok(vec![acc])
            }
            Opcode::Iand | Opcode::Ior | Opcode::Ixor => {
                let bit = match d.op {
                    Opcode::Iand => Bit::And,
                    Opcode::Ior => Bit::Or,
                    _ => Bit::Xor,
                };
                let (a, b) = (self.value_lanes(d.args[0]), self.value_lanes(d.args[1]));
                Ok(self.make(Kind::Bit(bit), ty.with_scalar(Scalar::I32), vec![a, b]))
            }
            Opcode::Inot => {
                let a = self.value_lanes(d.args[0]);
                let one = vec![Lane::c(1); a.len()];
                Ok(self.make(Kind::Bit(Bit::Xor), ty.with_scalar(Scalar::I32), vec![a, one]))
            }
            _ => Ok(self.lanes[d.results[0]].clone()),
        }
    }

    fn zero_or_one(&mut self, p: Pred) -> Vec<Lane> {
        self.make(Kind::Select(p), types::I32, vec![vec![Lane::c(1)], vec![Lane::c(0)]])
    }

    /// A choice's sides and its type: truth values are integers.
    fn sides(&mut self, i: Inst) -> (Vec<Lane>, Vec<Lane>, Type) {
        let (d, ty) = self.parts(i);
        let (a, b) = (self.value_lanes(d.args[1]), self.value_lanes(d.args[2]));
        (a, b, if ty.scalar == Scalar::I1 { ty.with_scalar(Scalar::I32) } else { ty })
    }

    pub(super) fn select_move(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, ty) = self.parts(i);
        if ty.scalar == Scalar::F16 || ty.lanes > 2 {
            return Ok(false);
        }
        let (a, b, ty) = self.sides(i);
        match self.conditional_move(d.args[0], ty, &a, &b) {
            Some(lanes) => self.set(i, lanes),
            None => Ok(false),
        }
    }

    pub(super) fn select_predicate(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, _) = self.parts(i);
        let (a, b, ty) = self.sides(i);
        let p = self.condition(d.args[0], 0)?;
        let lanes = self.make(Kind::Select(p), ty, vec![a, b]);
        self.set(i, lanes)
    }

    /// A choice by a truth value in a register, or by a comparison with zero: one word where the operands allow it.
    fn conditional_move(&mut self, cond: Value, ty: Type, a: &[Lane], b: &[Lane]) -> Option<Vec<Lane>> {
        let n = ty.lanes as usize;
        if a.iter().chain(b).any(|l| !l.is_plain()) {
            return None;
        }
        if let Some(c) = self.lanes[cond].first().copied() {
            return matches!(c.base, Base::V(..)).then(|| self.make(Kind::SelectBool, ty, vec![vec![c; n], a.to_vec(), b.to_vec()]));
        }
        let d = self.f.def_if(cond, Opcode::Fcmp)?;
        let (Imm::FloatCC(cc), true) = (&d.imm, self.f.ty(d.args[0]) == types::F32) else { return None };
        let zero = |v: Value| self.f.const_bits(v).is_some_and(|c| c[0] << 1 == 0);
        if !zero(d.args[1]) {
            return None;
        }
        // The instruction knows four relations; what is true for a NaN is the opposite of what is false for it.
        let (rel, swap) = Self::relation(*cc).filter(|(rel, _)| matches!(rel, Rel::Eq | Rel::Ne | Rel::Lt | Rel::Le))?;
        let x = *self.lanes[d.args[0]].first()?;
        if !x.is_plain() || !matches!(x.base, Base::V(..)) {
            return None;
        }
        let (yes, no) = if swap { (b, a) } else { (a, b) };
        Some(self.make(Kind::SelectZero(rel), ty, vec![vec![x; n], yes.to_vec(), no.to_vec()]))
    }
}
