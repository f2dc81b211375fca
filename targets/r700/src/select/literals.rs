//! Numbers that need no literal word. A group with literals is eight bytes longer, or sixteen; products and sums with powers of two
//! often come down to inline constants and an output modifier, with the same result bit for bit.

use crate::isa::forms::{op2, op3};
use crate::select::mir::{Kind, Mir, Op, Opnd, Place, each_leaf, inline_constant};
use retroshade_emit::form::FormId;

/// Output modifiers.
const TWICE: u8 = 1;
const FOUR_TIMES: u8 = 2;
const HALF: u8 = 3;

/// Summands beside which nothing overflows or vanishes that would not in another order.
const MODERATE: std::ops::RangeInclusive<f32> = 1e-30..=1e30;

/// Rewrites the operations of a program that a literal less makes shorter.
pub fn spare(mir: &mut Mir) {
    each_leaf(&mut mir.steps, &mut |ops| {
        for op in ops.iter_mut().filter(|o| o.kind == Kind::Alu && o.omod == 0 && o.store.is_none()) {
            if let Some((form, src, omod)) = without_literal(op) {
                (op.form, op.omod) = (form, omod);
                op.src.clear();
                op.src.extend(src.into_iter().flatten());
            }
        }
    });
}

/// Another way to compute the same: form, operands, output modifier.
fn without_literal(op: &Op) -> Option<(FormId, [Option<Opnd>; 2], u8)> {
    let number = |o: &Opnd| if let Place::Bits(b) = o.place { Some(f32::from_bits(b)) } else { None };
    let signed = |o: Opnd, by: f32| if by < 0.0 { o.negated() } else { o };
    match (op.form, &op.src[..]) {
        (op2::MOV, [x]) => {
            let k = number(x)?;
            let (unit, omod): (f32, u8) = match k.abs() {
                2.0 => (1.0, TWICE),
                4.0 => (1.0, FOUR_TIMES),
                0.25 => (0.5, HALF),
                _ => return None,
            };
            Some((op2::MOV, [Some(Opnd::float(unit.copysign(k))), None], omod))
        }
        (op2::MUL_IEEE, [x, y]) => {
            let (x, k) = number(y).map(|k| (*x, k)).or_else(|| number(x).map(|k| (*y, k)))?;
            let both = signed(x, k);
            // An array element twice would be two reads.
            if matches!(x.place, Place::Array { .. }) {
                return None;
            }
            match k.abs() {
                2.0 => Some((op2::ADD, [Some(both), Some(both)], 0)),
                4.0 => Some((op2::ADD, [Some(both), Some(both)], TWICE)),
                8.0 => Some((op2::ADD, [Some(both), Some(both)], FOUR_TIMES)),
                0.25 => Some((op2::MUL_IEEE, [Some(x), Some(Opnd::float(0.5_f32.copysign(k)))], HALF)),
                _ => None,
            }
        }
        // k x + c is (x + c/k) k.
        (op3::MULADD_IEEE, [x, y, c]) => {
            let c = number(c).filter(|c| MODERATE.contains(&c.abs()))?;
            let (x, k) = number(y).map(|k| (*x, k)).or_else(|| number(x).map(|k| (*y, k)))?;
            let omod = match k.abs() {
                2.0 => TWICE,
                4.0 => FOUR_TIMES,
                _ => return None,
            };
            let rest = c / k.abs();
            let literal = |x: f32| inline_constant(x.to_bits(), true).is_none();
            (literal(c) || !literal(rest)).then_some((op2::ADD, [Some(signed(x, k)), Some(Opnd::float(rest))], omod))
        }
        _ => None,
    }
}
