//! Algebra that pays on this machine and that the shading languages allow, NaNs and infinities assumed away: bounds that a
//! value respects anyway turn `max` and `min` into CLAMP, and selects of 1.0 and 0.0 into SETcc.
//!
//! Runs where contraction is allowed, never on `precise`.

use retroshade_ir::passes::rewrite::{Action, rewrite, splat_float};
use retroshade_ir::{FloatCC, Function, Imm, Opcode, Value};

/// How far a value's definition is followed.
const DEPTH: u32 = 6;

/// Runs the rules over a function.
pub fn run(func: &mut Function) -> bool {
    rewrite(func, |b, i| {
        let d = b.func.insts[i].clone();
        let Some(r) = d.results.first() else { return Action::Keep };
        if d.precise || !b.func.ty(*r).is_float() {
            return Action::Keep;
        }
        match d.op {
            Opcode::Fmax | Opcode::Fmin => {
                let (limit, fits): (f32, fn(&Function, Value, u32) -> bool) =
                    if d.op == Opcode::Fmax { (0.0, at_most_one) } else { (1.0, not_negative) };
                for (x, y) in [(d.args[0], d.args[1]), (d.args[1], d.args[0])] {
                    if splat_float(b.func, y) == Some(limit) && fits(b.func, x, DEPTH) {
                        return Action::Replace(b.ins(Opcode::Fsaturate, &[x]));
                    }
                }
                Action::Keep
            }
            Opcode::Select => {
                let (x, y) = (splat_float(b.func, d.args[1]), splat_float(b.func, d.args[2]));
                let exchange = match (x, y) {
                    (Some(1.0), Some(0.0)) => false,
                    (Some(0.0), Some(1.0)) => true,
                    _ => return Action::Keep,
                };
                let Some(c) = b.func.def_if(d.args[0], Opcode::Fcmp).cloned() else { return Action::Keep };
                let Imm::FloatCC(cc) = c.imm else { return Action::Keep };
                if c.precise {
                    return Action::Keep;
                }
                let wanted = ordered(if exchange { cc.inverse() } else { cc });
                if wanted == cc && !exchange {
                    return Action::Keep;
                }
                let v = b.fcmp(wanted, c.args[0], c.args[1]);
                let (one, zero) = if exchange { (d.args[2], d.args[1]) } else { (d.args[1], d.args[2]) };
                Action::Replace(b.select(v, one, zero))
            }
            _ => Action::Keep,
        }
    })
}

/// The relation that agrees with this one on numbers and that the machine has.
fn ordered(cc: FloatCC) -> FloatCC {
    match cc {
        FloatCC::Ult => FloatCC::Olt,
        FloatCC::Ule => FloatCC::Ole,
        FloatCC::Ugt => FloatCC::Ogt,
        FloatCC::Uge => FloatCC::Oge,
        FloatCC::Ueq => FloatCC::Oeq,
        FloatCC::One => FloatCC::Une,
        other => other,
    }
}

/// Whether a value is 0 or more.
fn not_negative(f: &Function, v: Value, depth: u32) -> bool {
    use Opcode::*;
    if let Some(x) = splat_float(f, v) {
        return x >= 0.0;
    }
    let Some(d) = f.def_inst(v).map(|i| &f.insts[i]) else { return false };
    if depth == 0 {
        return false;
    }
    let arg = |n: usize| not_negative(f, d.args[n], depth - 1);
    match d.op {
        Fabs | Fsqrt | Frsqrt | Fexp2 | Fsaturate | Ffract | U2f => true,
        Fmul | Dot if d.args[0] == d.args[1] => true,
        Fadd | Fmul | Fmin => arg(0) && arg(1),
        Fmad | Fma => (d.args[0] == d.args[1] || arg(0) && arg(1)) && arg(2),
        Fmax => arg(0) || arg(1),
        Fsub => splat_float(f, d.args[0]).is_some_and(|x| x >= 1.0) && at_most_one(f, d.args[1], depth - 1),
        Select => arg(1) && arg(2),
        _ => false,
    }
}

/// Whether a value is 1 or less.
fn at_most_one(f: &Function, v: Value, depth: u32) -> bool {
    use Opcode::*;
    if let Some(x) = splat_float(f, v) {
        return x <= 1.0;
    }
    let Some(d) = f.def_inst(v).map(|i| &f.insts[i]) else { return false };
    if depth == 0 {
        return false;
    }
    let arg = |n: usize| at_most_one(f, d.args[n], depth - 1);
    let positive = |n: usize| not_negative(f, d.args[n], depth - 1);
    match d.op {
        Fsaturate | Ffract | Fsin | Fcos => true,
        Ext => matches!(&d.imm, Imm::Ext(n) if matches!(&**n, "r700.sin" | "r700.cos")),
        Fneg => positive(0),
        Fsub => arg(0) && positive(1),
        Fmul => arg(0) && arg(1) && positive(0) && positive(1),
        Fmin => arg(0) || arg(1),
        Fmax => arg(0) && arg(1),
        Select => arg(1) && arg(2),
        _ => false,
    }
}
