//! Float algebra that the shading languages allow but that is not exact: infinities, NaNs and signs of zero may be assumed
//! away, products of constants may be combined, quotients become products.
//!
//! Runs only where contraction is allowed, never on `precise`. WGSL and GLSL say: implementations may assume that NaNs and
//! infinities do not occur, ignore the sign of a zero, and rewrite where the result is at least as accurate; division is
//! good to 2.5 ulp.
//!
//! The algebra stands in the table of `algebra`; here is what needs to know more than a pattern sees.

use super::algebra::{Class, DEPTH, Facts, Table};
use super::rewrite::{Action, rewrite_chosen};
use super::settled::{Rememberer, Unsettled};
use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::numerics::{Numerics, to_f32};
use crate::opcode::Opcode;
use cranelift_entity::EntitySet;
use std::cell::Cell;
use std::sync::LazyLock;

static LOOSE: LazyLock<Table> = LazyLock::new(|| Table::of(&[Class::Close, Class::Finite]));

/// Runs the pass.
pub fn run(func: &mut Function, numerics: &dyn Numerics) -> bool {
    func.resolve_aliases();
    let uses = func.use_counts();
    let facts = Facts { numerics, uses: &uses, lanes_apart: false, beyond: Cell::new(false) };
    let rounds = func.ordered().any(|(_, i)| is_rounding(func.insts[i].op));
    let whole = if rounds { whole_numbers(func) } else { EntitySet::new() };
    let mut unsettled = Unsettled::new(func, Rememberer::Relax, (numerics.name(), false), &uses, DEPTH, &facts.beyond);
    let changed = rewrite_chosen(func, &mut unsettled, |b, i| {
        if is_rounding(b.func.insts[i].op) {
            facts.beyond.set(true);
            let action = rounding(b, i, &whole);
            if action != Action::Keep {
                return action;
            }
        }
        LOOSE.apply(b, i, &facts)
    });
    unsettled.remember(func);
    changed
}

fn is_rounding(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Ffloor | Fceil | Ftrunc | Fround | Ffract)
}

/// Whole numbers need no rounding.
fn rounding(b: &mut Builder, i: Inst, whole: &EntitySet<Value>) -> Action {
    let d = &b.func.insts[i];
    if d.precise || !whole.contains(d.args[0]) {
        return Action::Keep;
    }
    let (x, op) = (d.args[0], d.op);
    let ty = b.func.ty(x);
    Action::Replace(if op == Opcode::Ffract { b.splat_const(ty, 0) } else { x })
}

/// Values that are whole numbers in all lanes (or not finite): rounded ones, and what sums, products, extrema and choices
/// make of whole numbers.
fn whole_numbers(func: &Function) -> EntitySet<Value> {
    use Opcode::*;
    let mut whole = EntitySet::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        let all = |whole: &EntitySet<Value>, args: &[Value]| args.iter().all(|a| whole.contains(*a));
        let [r] = d.results[..] else { continue };
        let ty = func.ty(r);
        if !ty.is_float() {
            continue;
        }
        let yes = match d.op {
            Ffloor | Fceil | Ftrunc | Fround | S2f | U2f => true,
            Const => func
                .const_bits(r)
                .is_some_and(|b| b[..ty.lanes as usize].iter().map(|w| to_f32(ty.scalar, *w)).all(|x| x.is_finite() && x.fract() == 0.0)),
            Fadd | Fsub | Fmul | Fneg | Fabs | Fmin | Fmax | Fma | Fmad | Splat | Build | Extract | Insert | Shuffle => {
                all(&whole, &d.args)
            }
            Select => all(&whole, &d.args[1..]),
            _ => false,
        };
        if yes {
            whole.insert(r);
        }
    }
    whole
}
