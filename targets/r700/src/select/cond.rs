//! Conditions: comparisons become predicates, kills, conditional moves or masks, whichever their uses allow.

use super::{Cond, Lane, Lower};
use crate::select::mir::*;
use retroshade_ir::types::I1;
use retroshade_ir::{FloatCC, Imm, IntCC, Opcode, Scalar, Value};

impl Lower<'_> {
    pub(super) fn cond(&mut self, v: Value, lane: u8) -> (Cond, bool) {
        let (v, lane) = self.root(v, lane);
        if let Some(i) = self.func.def_inst(v) {
            let d = self.data(i);
            match (d.op, &d.imm) {
                (Opcode::Inot, _) => {
                    let (c, inv) = self.cond(d.args[0], lane);
                    return (c, !inv);
                }
                (Opcode::Fcmp, Imm::FloatCC(cc)) => {
                    if let Some((suffix, swap, inv)) = float_relation(*cc) {
                        let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                        let (a, b) = if swap { (b, a) } else { (a, b) };
                        return (Cond::Compare(suffix, a, b), inv);
                    }
                    let m = self.lane(v, lane);
                    return (Cond::Mask(m), false);
                }
                (Opcode::Icmp, Imm::IntCC(cc)) => {
                    let (suffix, swap) = int_relation(*cc);
                    let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                    let (a, b) = if swap { (b, a) } else { (a, b) };
                    return (Cond::Compare(suffix, a, b), false);
                }
                _ => {}
            }
        }
        (Cond::Mask(self.lane(v, lane)), false)
    }

    /// The mask of a comparison, computed at most once.
    pub(super) fn mask(&mut self, v: Value, lane: u8) -> Opnd {
        if let Some(o) = self.values.get(&(v, lane)) {
            return *o;
        }
        let Some(i) = self.func.def_inst(v) else { return Opnd::bits(0) };
        let d = self.data(i);
        let o = match &d.imm {
            Imm::FloatCC(cc) => {
                let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                match cc {
                    FloatCC::One | FloatCC::Ueq => {
                        let (x, y) = (self.emit("OP2:SETGT_DX10", &[a, b]), self.emit("OP2:SETGT_DX10", &[b, a]));
                        let m = self.emit("OP2:OR_INT", &[x, y]);
                        if *cc == FloatCC::Ueq { self.emit("OP2:NOT_INT", &[m]) } else { m }
                    }
                    FloatCC::Ord => {
                        let (x, y) = (self.emit("OP2:SETE_DX10", &[a, a]), self.emit("OP2:SETE_DX10", &[b, b]));
                        self.emit("OP2:AND_INT", &[x, y])
                    }
                    FloatCC::Uno => {
                        let (x, y) = (self.emit("OP2:SETNE_DX10", &[a, a]), self.emit("OP2:SETNE_DX10", &[b, b]));
                        self.emit("OP2:OR_INT", &[x, y])
                    }
                    _ => {
                        let (suffix, swap, inv) = float_relation(*cc).unwrap_or(("E", false, false));
                        let (a, b) = if swap { (b, a) } else { (a, b) };
                        let m = self.emit(&format!("OP2:SET{suffix}_DX10"), &[a, b]);
                        if inv { self.emit("OP2:NOT_INT", &[m]) } else { m }
                    }
                }
            }
            Imm::IntCC(cc) => {
                let (suffix, swap) = int_relation(*cc);
                let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                let (a, b) = if swap { (b, a) } else { (a, b) };
                self.emit(&format!("OP2:SET{suffix}"), &[a, b])
            }
            _ => Opnd::bits(0),
        };
        self.values.insert((v, lane), o);
        o
    }

    /// Emits PRED_SET for a condition; returns whether the arms must be exchanged. `keep`: they must not.
    pub(super) fn predicate(&mut self, v: Value, inverted: bool, keep: bool) -> bool {
        if let Some([a, b]) = self.both(v, inverted) {
            let mut op = Op::alu("OP2:PRED_SETGT_INT", &[a, b], None);
            op.kind = Kind::Pred;
            self.push(op);
            return false;
        }
        let (c, inv) = self.cond(v, 0);
        let inv = inv ^ inverted;
        let (name, src, swap) = match c {
            Cond::Compare(s, a, b) => {
                // Integer relations and equality invert exactly; the others only by exchanging the arms or through a mask.
                let exact = match s {
                    "E" if inv => Some(("NE", a, b)),
                    "NE" if inv => Some(("E", a, b)),
                    "E_INT" if inv => Some(("NE_INT", a, b)),
                    "NE_INT" if inv => Some(("E_INT", a, b)),
                    "GT_INT" if inv => Some(("GE_INT", b, a)),
                    "GE_INT" if inv => Some(("GT_INT", b, a)),
                    "GT_UINT" if inv => Some(("GE_UINT", b, a)),
                    "GE_UINT" if inv => Some(("GT_UINT", b, a)),
                    _ if inv => None,
                    _ => Some((s, a, b)),
                };
                match exact {
                    Some((s, a, b)) => (format!("OP2:PRED_SET{s}"), [a, b], false),
                    None if keep => {
                        let m = self.emit(&format!("OP2:SET{s}_DX10"), &[a, b]);
                        ("OP2:PRED_SETE_INT".to_string(), [m, Opnd::bits(0)], false)
                    }
                    None => (format!("OP2:PRED_SET{s}"), [a, b], true),
                }
            }
            Cond::Mask(m) => ((if inv { "OP2:PRED_SETE_INT" } else { "OP2:PRED_SETNE_INT" }).to_string(), [m, Opnd::bits(0)], false),
        };
        let src = self.operands(&name, &src);
        let mut op = Op::alu(&name, &src, None);
        op.kind = Kind::Pred;
        self.push(op);
        swap
    }

    /// A conjunction as one comparison of masks: 0 > -1 holds exactly where the first is false and the second true.
    pub(super) fn both(&mut self, v: Value, inverted: bool) -> Option<[Opnd; 2]> {
        let (mut v, mut inv) = (self.root(v, 0).0, inverted);
        let d = loop {
            let d = self.data(self.func.def_inst(v)?);
            if d.op != Opcode::Inot {
                break d;
            }
            (v, inv) = (self.root(d.args[0], 0).0, !inv);
        };
        if !matches!((d.op, inv), (Opcode::Iand, false) | (Opcode::Ior, true)) || self.func.ty(v) != I1 {
            return None;
        }
        // The first mask is wanted as the complement of its factor, the second as the factor itself.
        for (x, y) in [(d.args[0], d.args[1]), (d.args[1], d.args[0])] {
            let complement = if d.op == Opcode::Iand { x } else { y };
            if let Some((form, a, b)) = self.complement(complement) {
                let c = self.emit(&form, &[a, b]);
                return Some(if d.op == Opcode::Iand { [c, self.lane(y, 0)] } else { [self.lane(x, 0), c] });
            }
        }
        None
    }

    /// The comparison that gives the complement of a truth value, where that is exact.
    pub(super) fn complement(&mut self, v: Value) -> Option<(String, Opnd, Opnd)> {
        let (v, lane) = self.root(v, 0);
        let d = self.data(self.func.def_inst(v)?);
        let int = matches!(d.op, Opcode::Icmp);
        let (cc, swap) = match &d.imm {
            Imm::IntCC(cc) => int_relation(cc.inverse()),
            Imm::FloatCC(cc) => match float_relation(cc.inverse()) {
                Some((s, swap, false)) => (s, swap),
                _ => return None,
            },
            _ => return None,
        };
        let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
        let (a, b) = if swap { (b, a) } else { (a, b) };
        Some((if int { format!("OP2:SET{cc}") } else { format!("OP2:SET{cc}_DX10") }, a, b))
    }

    pub(super) fn kill(&mut self, v: Value) {
        let (c, inv) = self.cond(v, 0);
        let (name, src) = match c {
            Cond::Compare(s, a, b) if !inv => (format!("OP2:KILL{s}"), [a, b]),
            Cond::Compare("E", a, b) => ("OP2:KILLNE".to_string(), [a, b]),
            Cond::Compare("NE", a, b) => ("OP2:KILLE".to_string(), [a, b]),
            Cond::Compare(s, a, b) => {
                let set = if s.ends_with("INT") { format!("OP2:SET{s}") } else { format!("OP2:SET{s}_DX10") };
                ("OP2:KILLE_INT".to_string(), [self.emit(&set, &[a, b]), Opnd::bits(0)])
            }
            Cond::Mask(m) => ((if inv { "OP2:KILLE_INT" } else { "OP2:KILLNE_INT" }).to_string(), [m, Opnd::bits(0)]),
        };
        let src = self.operands(&name, &src);
        let mut op = Op::alu(&name, &src, None);
        op.kind = Kind::Kill;
        self.push(op);
    }

    /// A select that needs no mask: a comparison with zero, or 1.0 and 0.0 as arms.
    pub(super) fn direct_select(&self, c: Value, lane: u8, a: Value, b: Value, at: u8) -> Option<()> {
        let (v, lane) = self.root(c, if self.func.ty(c).lanes > 1 { lane } else { 0 });
        let i = self.func.def_inst(v)?;
        let d = self.data(i);
        let constant = |v: Value, l: u8| {
            let (v, l) = self.root(v, l);
            self.func.const_bits(v).map(|b| b[l as usize])
        };
        match (d.op, &d.imm) {
            (Opcode::Inot, _) => self.direct_select(d.args[0], lane, b, a, at),
            (Opcode::Fcmp, Imm::FloatCC(cc)) => {
                let (_, _, inv) = float_relation(*cc)?;
                let (x, y) = (constant(a, at), constant(b, at));
                let unit = if inv { x == Some(0) && y == Some(0x3f80_0000) } else { x == Some(0x3f80_0000) && y == Some(0) };
                let zero = |v: Value| constant(v, lane).is_some_and(|b| b & 0x7fff_ffff == 0);
                (unit || zero(d.args[0]) || zero(d.args[1])).then_some(())
            }
            (Opcode::Icmp, Imm::IntCC(cc)) => {
                let zero = |v: Value| constant(v, lane) == Some(0);
                let i32s = self.func.ty(d.args[0]).scalar == Scalar::I32;
                let unsigned = matches!(cc, IntCC::Ult | IntCC::Ule | IntCC::Ugt | IntCC::Uge);
                (i32s && !unsigned && (zero(d.args[0]) || zero(d.args[1]))).then_some(())
            }
            _ => None,
        }
    }

    pub(super) fn select(&mut self, cond: Value, cond_lane: u8, a: Opnd, b: Opnd, direct: bool) -> Opnd {
        let (c, inv) = self.cond_or_mask(cond, cond_lane, direct);
        let (a, b) = if inv { (b, a) } else { (a, b) };
        let zero = |o: &Opnd| matches!(o.place, Place::Bits(b) if b & 0x7fff_ffff == 0);
        match c {
            Cond::Compare(s, x, y) => {
                if !s.contains("INT") && a == Opnd::float(1.0) && b == Opnd::float(0.0) {
                    return self.emit(&format!("OP2:SET{s}"), &[x, y]);
                }
                // With zero on the left the relation turns round: 0 > y is y < 0, the complement of y >= 0 except for NaN.
                let (name, x, a, b) = match (s, zero(&y)) {
                    ("E", true) => ("OP3:CNDE", x, a, b),
                    ("NE", true) => ("OP3:CNDE", x, b, a),
                    ("GT", true) => ("OP3:CNDGT", x, a, b),
                    ("GE", true) => ("OP3:CNDGE", x, a, b),
                    ("E", false) => ("OP3:CNDE", y, a, b),
                    ("NE", false) => ("OP3:CNDE", y, b, a),
                    ("GT", false) => ("OP3:CNDGT", y.negated(), a, b),
                    ("GE", false) => ("OP3:CNDGE", y.negated(), a, b),
                    ("E_INT", true) => ("OP3:CNDE_INT", x, a, b),
                    ("NE_INT", true) => ("OP3:CNDE_INT", x, b, a),
                    ("GT_INT", true) => ("OP3:CNDGT_INT", x, a, b),
                    ("GE_INT", true) => ("OP3:CNDGE_INT", x, a, b),
                    ("E_INT", false) => ("OP3:CNDE_INT", y, a, b),
                    ("NE_INT", false) => ("OP3:CNDE_INT", y, b, a),
                    ("GT_INT", false) => ("OP3:CNDGE_INT", y, b, a),
                    _ => ("OP3:CNDGT_INT", y, b, a),
                };
                self.emit(name, &[x, a, b])
            }
            Cond::Mask(m) => self.emit("OP3:CNDE_INT", &[m, b, a]),
        }
    }

    pub(super) fn cond_or_mask(&mut self, v: Value, lane: u8, direct: bool) -> (Cond, bool) {
        if direct {
            return self.cond(v, lane);
        }
        // Without a direct form, an inverted relation costs nothing: the arms change places.
        let (v, lane) = self.root(v, lane);
        if let Some(i) = self.func.def_inst(v) {
            let d = self.data(i);
            if d.op == Opcode::Inot {
                let (c, inv) = self.cond_or_mask(d.args[0], lane, false);
                return (c, !inv);
            }
            if let (Opcode::Fcmp, Imm::FloatCC(cc), false) = (d.op, &d.imm, self.values.contains_key(&(v, lane)))
                && let (Some((s, swap, true)), true) = (float_relation(*cc), self.single_use((v, lane)))
            {
                let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                let (a, b) = if swap { (b, a) } else { (a, b) };
                return (Cond::Mask(self.emit(&format!("OP2:SET{s}_DX10"), &[a, b])), true);
            }
        }
        (Cond::Mask(self.lane(v, lane)), false)
    }

    /// Whether a comparison's mask will be read; otherwise every user performs the comparison itself.
    pub(super) fn needs_mask(&self, r: Lane) -> bool {
        self.uses.get(&r).is_some_and(|users| {
            users.iter().any(|i| {
                let d = self.data(*i);
                match d.op {
                    Opcode::BrIf | Opcode::Discard => false,
                    Opcode::Inot => d.results.first().is_some_and(|v| self.needs_mask((*v, r.1))),
                    Opcode::Select if self.root(d.args[0], r.1) == r || self.root(d.args[0], 0) == r => {
                        let v = d.results[0];
                        (0..self.func.ty(v).lanes)
                            .any(|l| self.used(v, l) && self.direct_select(d.args[0], l, d.args[1], d.args[2], l).is_none())
                            && (users.len() != 1)
                    }
                    _ => true,
                }
            })
        })
    }
}

/// The SET suffix for a float relation: (suffix, exchange operands, the relation is the complement).
pub(super) fn float_relation(cc: FloatCC) -> Option<(&'static str, bool, bool)> {
    use FloatCC::*;
    Some(match cc {
        Oeq => ("E", false, false),
        Une => ("NE", false, false),
        Ogt => ("GT", false, false),
        Oge => ("GE", false, false),
        Olt => ("GT", true, false),
        Ole => ("GE", true, false),
        Ult => ("GE", false, true),
        Ule => ("GT", false, true),
        Ugt => ("GE", true, true),
        Uge => ("GT", true, true),
        Ord | Uno | One | Ueq => return None,
    })
}

fn int_relation(cc: IntCC) -> (&'static str, bool) {
    use IntCC::*;
    match cc {
        Eq => ("E_INT", false),
        Ne => ("NE_INT", false),
        Sgt => ("GT_INT", false),
        Sge => ("GE_INT", false),
        Slt => ("GT_INT", true),
        Sle => ("GE_INT", true),
        Ugt => ("GT_UINT", false),
        Uge => ("GE_UINT", false),
        Ult => ("GT_UINT", true),
        Ule => ("GE_UINT", true),
    }
}
