//! Float algebra that the shading languages allow but that is not exact: infinities, NaNs and signs of zero may be assumed
//! away, products of constants may be combined, quotients become products.
//!
//! Runs only where contraction is allowed, never on `precise`. WGSL and GLSL say: implementations may assume that NaNs and
//! infinities do not occur, ignore the sign of a zero, and rewrite where the result is at least as accurate; division is
//! good to 2.5 ulp.
//!
//! The algebra stands in the table of `algebra`; here is what needs to know more than a pattern sees.

use super::algebra::{Class, Facts, Table};
use super::rewrite::{Action, rewrite};
use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::numerics::{Numerics, to_f32};
use crate::opcode::Opcode;
use cranelift_entity::EntitySet;
use std::sync::LazyLock;

static LOOSE: LazyLock<Table> = LazyLock::new(|| Table::of(&[Class::Close, Class::Finite]));

/// Runs the pass.
pub fn run(func: &mut Function, numerics: &dyn Numerics) -> bool {
    func.resolve_aliases();
    let uses = func.use_counts();
    let facts = Facts { numerics, uses: &uses, lanes_apart: false };
    let whole = whole_numbers(func);
    rewrite(func, |b, i| match rounding(b, i, &whole) {
        Action::Keep => LOOSE.apply(b, i, &facts),
        action => action,
    })
}

/// Whole numbers need no rounding.
fn rounding(b: &mut Builder, i: Inst, whole: &EntitySet<Value>) -> Action {
    use Opcode::*;
    let d = &b.func.insts[i];
    if d.precise || !matches!(d.op, Ffloor | Fceil | Ftrunc | Fround | Ffract) || !whole.contains(d.args[0]) {
        return Action::Keep;
    }
    let (x, op) = (d.args[0], d.op);
    let ty = b.func.ty(x);
    Action::Replace(if op == Ffract { b.splat_const(ty, 0) } else { x })
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
