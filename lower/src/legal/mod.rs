//! Legalisation: expansions of operations that a machine lacks into operations that it has. IR → IR, lane by lane (they
//! accept vectors wherever the operation does). A target lists the rules that it wants and calls [`apply`].
//!
//! Integer and bit expansions are exact. Float expansions state their bound where they are defined; tests check each
//! against the reference interpreter.

pub mod bits;
pub mod cube;
pub mod float;
pub mod intdiv;
pub mod mul;
pub mod pack;
pub mod trig;

use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::{Builder, Function, InstData, Opcode, Type, Value};

/// Builds the replacement of an instruction's result, or declines.
pub type Rule = fn(&mut Builder, &InstData, Type) -> Option<Value>;

/// Applies rules, and rules to what rules made, until none fits (at most eight times). Returns whether one did.
pub fn apply(func: &mut Function, rules: &[(Opcode, Rule)]) -> bool {
    let mut any = false;
    for _ in 0..8 {
        let changed = rewrite(func, |b, i| {
            let d = b.func.insts[i].clone();
            let [result] = d.results[..] else { return Action::Keep };
            let ty = b.func.ty(result);
            b.precise = d.precise;
            for (op, rule) in rules {
                if *op == d.op
                    && let Some(v) = rule(b, &d, ty)
                {
                    return Action::Replace(v);
                }
            }
            Action::Keep
        });
        any |= changed;
        if !changed {
            break;
        }
    }
    any
}

#[cfg(test)]
mod tests;
