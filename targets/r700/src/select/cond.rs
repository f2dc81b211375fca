//! Conditions: comparisons become predicates, kills, conditional moves or masks, whichever their uses allow.

use super::{Cond, Lane, Lower};
use crate::isa::forms::{op2, op3};
use crate::select::mir::*;
use retroshade_emit::form::FormId;
use retroshade_ir::types::I1;
use retroshade_ir::{Block, FloatCC, Imm, IntCC, Opcode, Scalar, Value};

/// A relation that the machine compares by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    E,
    Gt,
    Ge,
    Ne,
    EInt,
    GtInt,
    GeInt,
    NeInt,
    GtUint,
    GeUint,
}

/// The opcodes that compare by a relation.
struct Forms {
    /// All ones or zero.
    mask: FormId,
    /// 1.0 or 0.0 (floats).
    one: Option<FormId>,
    predicate: FormId,
    kill: FormId,
}

impl Relation {
    const fn forms(self) -> Forms {
        const fn row(mask: FormId, one: Option<FormId>, predicate: FormId, kill: FormId) -> Forms {
            Forms { mask, one, predicate, kill }
        }
        match self {
            Relation::E => row(op2::SETE_DX10, Some(op2::SETE), op2::PRED_SETE, op2::KILLE),
            Relation::Gt => row(op2::SETGT_DX10, Some(op2::SETGT), op2::PRED_SETGT, op2::KILLGT),
            Relation::Ge => row(op2::SETGE_DX10, Some(op2::SETGE), op2::PRED_SETGE, op2::KILLGE),
            Relation::Ne => row(op2::SETNE_DX10, Some(op2::SETNE), op2::PRED_SETNE, op2::KILLNE),
            Relation::EInt => row(op2::SETE_INT, None, op2::PRED_SETE_INT, op2::KILLE_INT),
            Relation::GtInt => row(op2::SETGT_INT, None, op2::PRED_SETGT_INT, op2::KILLGT_INT),
            Relation::GeInt => row(op2::SETGE_INT, None, op2::PRED_SETGE_INT, op2::KILLGE_INT),
            Relation::NeInt => row(op2::SETNE_INT, None, op2::PRED_SETNE_INT, op2::KILLNE_INT),
            Relation::GtUint => row(op2::SETGT_UINT, None, op2::PRED_SETGT_UINT, op2::KILLGT_UINT),
            Relation::GeUint => row(op2::SETGE_UINT, None, op2::PRED_SETGE_UINT, op2::KILLGE_UINT),
        }
    }
    /// The exact complement, and whether the operands change places; order relations of floats have none, because of NaN.
    const fn complement(self) -> Option<(Relation, bool)> {
        match self {
            Relation::E => Some((Relation::Ne, false)),
            Relation::Ne => Some((Relation::E, false)),
            Relation::EInt => Some((Relation::NeInt, false)),
            Relation::NeInt => Some((Relation::EInt, false)),
            Relation::GtInt => Some((Relation::GeInt, true)),
            Relation::GeInt => Some((Relation::GtInt, true)),
            Relation::GtUint => Some((Relation::GeUint, true)),
            Relation::GeUint => Some((Relation::GtUint, true)),
            Relation::Gt | Relation::Ge => None,
        }
    }
}

/// Predicates and kills that emulators lack, and the comparisons that give the same as a mask.
const MASKED: [(FormId, FormId); 6] = [
    (op2::PRED_SETGT_UINT, op2::SETGT_UINT),
    (op2::PRED_SETGE_UINT, op2::SETGE_UINT),
    (op2::KILLNE, op2::SETNE_DX10),
    (op2::KILLGE_INT, op2::SETGE_INT),
    (op2::KILLGT_UINT, op2::SETGT_UINT),
    (op2::KILLGE_UINT, op2::SETGE_UINT),
];

fn exchanged<T>((a, b): (T, T), exchange: bool) -> (T, T) {
    if exchange { (b, a) } else { (a, b) }
}

impl Lower<'_> {
    pub(super) fn cond(&mut self, v: Value, lane: u8) -> (Cond, bool) {
        let (v, lane) = self.root(v, lane);
        if let Some(o) = self.signs.get(&(v, lane)) {
            return (Cond::Compare(Relation::Gt, *o, Opnd::bits(0)), false);
        }
        if let Some(i) = self.func.def_inst(v) {
            let d = self.data(i);
            match (d.op, &d.imm) {
                (Opcode::Inot, _) => {
                    let (c, inv) = self.cond(d.args[0], lane);
                    return (c, !inv);
                }
                (Opcode::Fcmp, Imm::FloatCC(cc)) => {
                    if let Some((relation, swap, inv)) = float_relation(*cc) {
                        let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                        let (a, b) = exchanged((a, b), swap);
                        return (Cond::Compare(relation, a, b), inv);
                    }
                    let m = self.lane(v, lane);
                    return (Cond::Mask(m), false);
                }
                (Opcode::Icmp, Imm::IntCC(cc)) => {
                    let (relation, swap) = int_relation(*cc);
                    let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                    let (a, b) = exchanged((a, b), swap);
                    return (Cond::Compare(relation, a, b), false);
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
            Imm::Mem { .. } => {
                let sign = self.signs.get(&(v, lane)).copied().unwrap_or(Opnd::bits(0));
                self.emit(Relation::Gt.forms().mask, &[sign, Opnd::bits(0)])
            }
            Imm::FloatCC(cc) => {
                let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                match cc {
                    FloatCC::One | FloatCC::Ueq => {
                        let (x, y) = (self.emit(op2::SETGT_DX10, &[a, b]), self.emit(op2::SETGT_DX10, &[b, a]));
                        let m = self.emit(op2::OR_INT, &[x, y]);
                        if *cc == FloatCC::Ueq { self.emit(op2::NOT_INT, &[m]) } else { m }
                    }
                    FloatCC::Ord => {
                        let (x, y) = (self.emit(op2::SETE_DX10, &[a, a]), self.emit(op2::SETE_DX10, &[b, b]));
                        self.emit(op2::AND_INT, &[x, y])
                    }
                    FloatCC::Uno => {
                        let (x, y) = (self.emit(op2::SETNE_DX10, &[a, a]), self.emit(op2::SETNE_DX10, &[b, b]));
                        self.emit(op2::OR_INT, &[x, y])
                    }
                    _ => {
                        let (relation, swap, inv) = float_relation(*cc).unwrap_or((Relation::E, false, false));
                        let (a, b) = exchanged((a, b), swap);
                        let m = self.emit(relation.forms().mask, &[a, b]);
                        if inv { self.emit(op2::NOT_INT, &[m]) } else { m }
                    }
                }
            }
            Imm::IntCC(cc) => {
                let (relation, swap) = int_relation(*cc);
                let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                let (a, b) = exchanged((a, b), swap);
                self.emit(relation.forms().mask, &[a, b])
            }
            _ => Opnd::bits(0),
        };
        self.values.insert((v, lane), o);
        o
    }

    /// Emits PRED_SET for the condition of a block's branch; returns whether the arms must be exchanged. `keep`: they must not.
    pub(super) fn predicate(&mut self, from: Block, v: Value, inverted: bool, keep: bool) -> bool {
        if let Some([a, b]) = self.both(v, inverted) {
            let mut op = Op::alu(op2::PRED_SETGT_INT, &[a, b], None);
            op.kind = Kind::Pred(Some(from));
            self.push(op);
            return false;
        }
        let (c, inv) = self.cond(v, 0);
        let inv = inv ^ inverted;
        let (form, src, swap) = match c {
            // Without an exact complement: exchange the arms, or compare with a mask.
            Cond::Compare(relation, a, b) => match (inv, relation.complement()) {
                (false, _) => (relation.forms().predicate, [a, b], false),
                (true, Some((other, swap))) => (other.forms().predicate, exchanged((a, b), swap).into(), false),
                (true, None) if keep => {
                    let m = self.emit(relation.forms().mask, &[a, b]);
                    (op2::PRED_SETE_INT, [m, Opnd::bits(0)], false)
                }
                (true, None) => (relation.forms().predicate, [a, b], true),
            },
            Cond::Mask(m) => (if inv { op2::PRED_SETE_INT } else { op2::PRED_SETNE_INT }, [m, Opnd::bits(0)], false),
        };
        let (form, src) = self.known_to_emulators(form, src, op2::PRED_SETNE_INT);
        let src = self.operands(form, &src);
        let mut op = Op::alu(form, &src, None);
        op.kind = Kind::Pred(Some(from));
        self.push(op);
        swap
    }

    /// A comparison, or that of its mask with zero where emulators lack the first.
    fn known_to_emulators(&mut self, form: FormId, src: [Opnd; 2], of_mask: FormId) -> (FormId, [Opnd; 2]) {
        match MASKED.iter().find(|m| self.abi.emulators && m.0 == form) {
            Some((_, mask)) => (of_mask, [self.emit(*mask, &src), Opnd::bits(0)]),
            None => (form, src),
        }
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
                let c = self.emit(form, &[a, b]);
                return Some(if d.op == Opcode::Iand { [c, self.lane(y, 0)] } else { [self.lane(x, 0), c] });
            }
        }
        None
    }

    /// The comparison that gives the complement of a truth value, where that is exact.
    pub(super) fn complement(&mut self, v: Value) -> Option<(FormId, Opnd, Opnd)> {
        let (v, lane) = self.root(v, 0);
        let d = self.data(self.func.def_inst(v)?);
        let (relation, swap) = match &d.imm {
            Imm::IntCC(cc) => int_relation(cc.inverse()),
            Imm::FloatCC(cc) => match float_relation(cc.inverse()) {
                Some((s, swap, false)) => (s, swap),
                _ => return None,
            },
            _ => return None,
        };
        let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
        let (a, b) = exchanged((a, b), swap);
        Some((relation.forms().mask, a, b))
    }

    pub(super) fn kill(&mut self, v: Value) {
        if let Some(both) = self.both(v, false) {
            let mut op = Op::alu(op2::KILLGT_INT, &both, None);
            op.kind = Kind::Kill;
            return self.push(op);
        }
        let (c, inv) = self.cond(v, 0);
        let (form, src) = match c {
            Cond::Compare(relation, a, b) => match (inv, relation.complement()) {
                (false, _) => (relation.forms().kill, [a, b]),
                (true, Some((other, swap))) => {
                    self.mir.fired.note("discard.complement");
                    (other.forms().kill, exchanged((a, b), swap).into())
                }
                (true, None) => (op2::KILLE_INT, [self.emit(relation.forms().mask, &[a, b]), Opnd::bits(0)]),
            },
            Cond::Mask(m) => (if inv { op2::KILLE_INT } else { op2::KILLNE_INT }, [m, Opnd::bits(0)]),
        };
        let (form, src) = self.known_to_emulators(form, src, op2::KILLNE_INT);
        let src = self.operands(form, &src);
        let mut op = Op::alu(form, &src, None);
        op.kind = Kind::Kill;
        self.push(op);
    }

    /// A select that needs no mask: a comparison with zero, or 1.0 and 0.0 as arms.
    pub(super) fn direct_select(&self, c: Value, lane: u8, a: Value, b: Value, at: u8) -> Option<()> {
        let (v, lane) = self.root(c, if self.func.ty(c).lanes > 1 { lane } else { 0 });
        if self.signs.contains_key(&(v, lane)) {
            return Some(());
        }
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
                if let (Some(form), true) = (s.forms().one, a == Opnd::float(1.0) && b == Opnd::float(0.0)) {
                    self.mir.fired.note("select.one");
                    return self.emit(form, &[x, y]);
                }
                use Relation::*;
                // With zero on the left the relation turns round: 0 > y is y < 0, the complement of y >= 0 except for NaN.
                let (form, x, a, b) = match (s, zero(&y)) {
                    (E, true) => (op3::CNDE, x, a, b),
                    (Ne, true) => (op3::CNDE, x, b, a),
                    (Gt, true) => (op3::CNDGT, x, a, b),
                    (Ge, true) => (op3::CNDGE, x, a, b),
                    (E, false) => (op3::CNDE, y, a, b),
                    (Ne, false) => (op3::CNDE, y, b, a),
                    (Gt, false) => (op3::CNDGT, y.negated(), a, b),
                    (Ge, false) => (op3::CNDGE, y.negated(), a, b),
                    (EInt, true) => (op3::CNDE_INT, x, a, b),
                    (NeInt, true) => (op3::CNDE_INT, x, b, a),
                    (GtInt, true) => (op3::CNDGT_INT, x, a, b),
                    (GeInt, true) => (op3::CNDGE_INT, x, a, b),
                    (EInt, false) => (op3::CNDE_INT, y, a, b),
                    (NeInt, false) => (op3::CNDE_INT, y, b, a),
                    (GtInt, false) => (op3::CNDGE_INT, y, b, a),
                    (GeInt, false) => (op3::CNDGT_INT, y, b, a),
                    // `direct_select` takes no unsigned relations.
                    (GtUint | GeUint, _) => {
                        let m = self.emit(s.forms().mask, &[x, y]);
                        (op3::CNDE_INT, m, b, a)
                    }
                };
                self.mir.fired.note("select.compare");
                self.emit(form, &[x, a, b])
            }
            Cond::Mask(m) => {
                self.mir.fired.note("select.mask");
                self.emit(op3::CNDE_INT, &[m, b, a])
            }
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
                let (a, b) = exchanged((a, b), swap);
                return (Cond::Mask(self.emit(s.forms().mask, &[a, b])), true);
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
                        let lanes = 0..self.func.ty(v).lanes;
                        let arm = lanes.clone().any(|l| d.args[1..].iter().any(|a| self.root(*a, l) == r));
                        let mut read =
                            lanes.filter(|l| self.used(v, *l) && self.direct_select(d.args[0], *l, d.args[1], d.args[2], *l).is_none());
                        arm || users.len() != 1 && read.next().is_some()
                    }
                    _ => true,
                }
            })
        })
    }
}

/// The relation for a float comparison: (relation, exchange operands, it is the complement).
pub(super) fn float_relation(cc: FloatCC) -> Option<(Relation, bool, bool)> {
    use FloatCC::*;
    Some(match cc {
        Oeq => (Relation::E, false, false),
        Une => (Relation::Ne, false, false),
        Ogt => (Relation::Gt, false, false),
        Oge => (Relation::Ge, false, false),
        Olt => (Relation::Gt, true, false),
        Ole => (Relation::Ge, true, false),
        Ult => (Relation::Ge, false, true),
        Ule => (Relation::Gt, false, true),
        Ugt => (Relation::Ge, true, true),
        Uge => (Relation::Gt, true, true),
        Ord | Uno | One | Ueq => return None,
    })
}

fn int_relation(cc: IntCC) -> (Relation, bool) {
    use IntCC::*;
    match cc {
        Eq => (Relation::EInt, false),
        Ne => (Relation::NeInt, false),
        Sgt => (Relation::GtInt, false),
        Sge => (Relation::GeInt, false),
        Slt => (Relation::GtInt, true),
        Sle => (Relation::GeInt, true),
        Ugt => (Relation::GtUint, false),
        Uge => (Relation::GeUint, false),
        Ult => (Relation::GtUint, true),
        Ule => (Relation::GeUint, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complements_hold_where_their_relations_do_not() {
        let holds = |r: Relation, a: u32, b: u32| match r {
            Relation::EInt => a == b,
            Relation::NeInt => a != b,
            Relation::GtInt => a as i32 > b as i32,
            Relation::GeInt => a as i32 >= b as i32,
            Relation::GtUint => a > b,
            Relation::GeUint => a >= b,
            Relation::E => f32::from_bits(a) == f32::from_bits(b),
            Relation::Ne => f32::from_bits(a) != f32::from_bits(b),
            Relation::Gt => f32::from_bits(a) > f32::from_bits(b),
            Relation::Ge => f32::from_bits(a) >= f32::from_bits(b),
        };
        use Relation::*;
        let numbers = [0, 1, 2, 0x3f80_0000, 0x7fc0_0000, 0x8000_0000, u32::MAX];
        for r in [E, Ne, Gt, Ge, EInt, NeInt, GtInt, GeInt, GtUint, GeUint] {
            let Some((other, exchange)) = r.complement() else { continue };
            for (a, b) in numbers.into_iter().flat_map(|a| numbers.map(|b| (a, b))) {
                let (x, y) = exchanged((a, b), exchange);
                assert_eq!(holds(other, x, y), !holds(r, a, b), "{a:#x} {b:#x}");
            }
        }
    }
}
