//! Numbers that need no literal word. A group with literals is eight bytes longer, or sixteen; products and sums with powers of two
//! often come down to inline constants and an output modifier, with the same result bit for bit.

use crate::isa::forms::{Number, op2, op3};
use crate::select::mir::{Kind, Mir, Op, Opnd, Place, each_leaf, inline_constant, leaves};
use retroshade_emit::form::FormId;
use std::collections::BTreeSet;

/// The sign of a float.
const SIGN: u32 = 0x8000_0000;

/// Output modifiers.
const TWICE: u8 = 1;
const FOUR_TIMES: u8 = 2;
const HALF: u8 = 3;

/// Summands beside which nothing overflows or vanishes that would not in another order.
const MODERATE: std::ops::RangeInclusive<f32> = 1e-30..=1e30;

/// Rewrites the operations of a program that a literal less makes shorter.
pub fn spare(mir: &mut Mir) {
    scale_where_made(mir);
    let mut fixed = BTreeSet::new();
    each_leaf(&mut mir.steps, &mut |ops| {
        for op in ops.iter_mut() {
            if is_plain(op)
                && let Some((form, src, omod)) = without_literal(op)
            {
                (op.form, op.omod) = (form, omod);
                op.src.clear();
                op.src.extend(src.into_iter().flatten());
            }
            if moved(op).is_none() {
                fixed.extend(op.src.iter().filter_map(literal));
            }
        }
    });
    share(mir, fixed);
}

/// Sixteen times a value is four times what its operation makes four times as large, an eighth a quarter of its half.
fn scale_where_made(mir: &mut Mir) {
    let (mut defs, mut reads) = (vec![0u32; mir.webs.len()], vec![0u32; mir.webs.len()]);
    for op in leaves(&mir.steps).into_iter().flatten() {
        op.writes().iter().for_each(|w| defs[w.0 as usize] += 1);
        op.reads().iter().for_each(|w| reads[w.0 as usize] += 1);
    }
    each_leaf(&mut mir.steps, &mut |ops| {
        for k in 0..ops.len() {
            let op = &ops[k];
            let (op2::MUL_IEEE, [x, y], true) = (op.form, &op.src[..], is_plain(op)) else { continue };
            let Some((x, by)) = number(y).map(|by| (*x, by)).or_else(|| number(x).map(|by| (*y, by))) else { continue };
            let omod = match by.abs() {
                16.0 => FOUR_TIMES,
                0.125 => HALF,
                _ => continue,
            };
            let Some(w) = x.as_web().filter(|w| defs[w.0 as usize] == 1 && reads[w.0 as usize] == 1) else { continue };
            let makes = |o: &Op| {
                let float = matches!(o.kind, Kind::Alu | Kind::Reduce) && o.info().result == Number::Float && o.form != op2::MOV;
                o.dst[..] == [w] && float && !o.is_op3() && o.omod == 0 && !o.clamp && o.store.is_none()
            };
            let Some(from) = ops[..k].iter().position(makes) else { continue };
            ops[from].omod = omod;
            ops[k].src[0] = x;
            ops[k].src[1] = Opnd::float(if omod == HALF { 0.25_f32 } else { 4.0 }.copysign(by));
        }
    });
}

/// The number that an operand is.
fn number(o: &Opnd) -> Option<f32> {
    if let Place::Bits(b) = o.place { Some(f32::from_bits(b)) } else { None }
}

/// Whether the operation has room for an output modifier.
fn is_plain(op: &Op) -> bool {
    op.kind == Kind::Alu && op.omod == 0 && op.store.is_none()
}

/// The word of an operand that takes one, without its sign.
fn literal(o: &Opnd) -> Option<u32> {
    match o.place {
        Place::Bits(b) if inline_constant(b, true).is_none() => Some(b & !SIGN),
        _ => None,
    }
}

/// The literal that an operation only puts into a register.
fn moved(op: &Op) -> Option<u32> {
    (is_plain(op) && op.form == op2::MOV).then(|| op.src.first().and_then(literal))?
}

/// Numbers that are moved to registers share a word where one is twice, half or four times another: an output modifier makes it. `fixed`
/// are the words that other operations name.
fn share(mir: &mut Mir, fixed: BTreeSet<u32>) {
    // Scaling is exact where no result is infinite or below the normal numbers; bits of integers come out as well.
    let scaled = |k: u32, by: f32| {
        let (from, x) = (f32::from_bits(k), f32::from_bits(k) / by);
        (from.is_normal() && x.is_normal()).then(|| x.to_bits())
    };
    let mut words = fixed;
    each_leaf(&mut mir.steps, &mut |ops| {
        for op in ops.iter_mut() {
            let Some(k) = moved(op).filter(|k| !words.contains(k)) else { continue };
            let ways = [(2.0, TWICE), (4.0, FOUR_TIMES), (0.5, HALF)];
            let way = ways.into_iter().find_map(|(by, omod)| scaled(k, by).filter(|x| words.contains(x)).map(|x| (x, omod)));
            match (way, op.src[0].place) {
                (Some((x, omod)), Place::Bits(b)) => {
                    op.src[0].place = Place::Bits(x | b & SIGN);
                    op.omod = omod;
                }
                _ => drop(words.insert(k)),
            }
        }
    });
}

/// Another way to compute the same: form, operands, output modifier.
fn without_literal(op: &Op) -> Option<(FormId, [Option<Opnd>; 2], u8)> {
    let signed = |o: Opnd, by: f32| if by < 0.0 { o.negated() } else { o };
    match (op.form, &op.src[..]) {
        (op2::MOV, [x]) => {
            let k = number(x)?;
            let unit = |x: f32| Some(Opnd::float(x.copysign(k)));
            Some(match k.abs() {
                2.0 => (op2::MOV, [unit(1.0), None], TWICE),
                4.0 => (op2::MOV, [unit(1.0), None], FOUR_TIMES),
                8.0 => (op2::ADD, [unit(1.0), unit(1.0)], FOUR_TIMES),
                0.25 => (op2::MOV, [unit(0.5), None], HALF),
                0.75 => (op2::ADD, [unit(1.0), unit(0.5)], HALF),
                1.5 => (op2::ADD, [unit(1.0), unit(0.5)], 0),
                3.0 => (op2::ADD, [unit(1.0), unit(0.5)], TWICE),
                6.0 => (op2::ADD, [unit(1.0), unit(0.5)], FOUR_TIMES),
                _ => return None,
            })
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
