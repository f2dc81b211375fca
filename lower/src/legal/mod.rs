//! Legalisation: expansions of operations that a machine lacks into operations that it has. IR → IR, lane by lane (they
//! accept vectors wherever the operation does). A target lists the rules that it wants and calls [`apply`].
//!
//! Integer and bit expansions are exact. Float expansions state their bound where they are defined; tests check each
//! against the reference interpreter.

pub mod bits;
pub mod blend;
pub mod cube;
pub mod float;
pub mod intdiv;
pub mod level;
pub mod mul;
pub mod pack;
pub mod streams;
pub mod trig;

use retroshade_ir::passes::rewrite::{Action, rewrite_of};
use retroshade_ir::{Builder, Function, InstData, Opcode, Type, Value};

/// Builds the replacement of an instruction's result, or declines.
pub type Rule = fn(&mut Builder, &InstData, Type) -> Option<Value>;

/// Bit fields, counts and packing from shifts, masks and conversions: what a machine with plain integer arithmetic wants.
/// For a target's own rules as well: `apply(func, &[RULES, BITS_AND_PACKING].concat())`.
pub const BITS_AND_PACKING: &[(Opcode, Rule)] = &[
    (Opcode::Bitcount, bits::bitcount),
    (Opcode::Bitrev, bits::bitrev),
    (Opcode::FindSmsb, bits::find_smsb),
    (Opcode::FindLsb, bits::find_lsb),
    (Opcode::Ubfe, bits::bfe),
    (Opcode::Sbfe, bits::bfe),
    (Opcode::Bfi, bits::bfi),
    (Opcode::PackUnorm4x8, pack::pack_norm),
    (Opcode::PackSnorm4x8, pack::pack_norm),
    (Opcode::PackUnorm2x16, pack::pack_norm),
    (Opcode::PackSnorm2x16, pack::pack_norm),
    (Opcode::UnpackUnorm4x8, pack::unpack_norm),
    (Opcode::UnpackSnorm4x8, pack::unpack_norm),
    (Opcode::UnpackUnorm2x16, pack::unpack_norm),
    (Opcode::UnpackSnorm2x16, pack::unpack_norm),
    (Opcode::PackHalf2x16, pack::pack_half_int),
    (Opcode::UnpackHalf2x16, pack::unpack_half_int),
];

/// Applies rules, and rules to what rules made, until none fits (at most eight times). Returns whether one did.
pub fn apply(func: &mut Function, rules: &[(Opcode, Rule)]) -> bool {
    let ops: Vec<Opcode> = rules.iter().map(|(op, _)| *op).collect();
    let mut any = false;
    for _ in 0..8 {
        let changed = rewrite_of(func, &ops, |b, i| {
            let d = b.func.insts[i].clone();
            let [result] = d.results[..] else { return Action::Keep };
            let ty = b.func.ty(result);
            b.precise = d.precise;
            // An approximation in several steps may need more bits on the way than its result has.
            let (relaxed, before) = (std::mem::take(&mut b.relaxed), b.func.insts.len());
            for (op, rule) in rules {
                if *op == d.op
                    && let Some(v) = rule(b, &d, ty)
                {
                    if let Some(made) = b.func.def_inst(v).filter(|i| i.as_u32() as usize >= before) {
                        b.func.insts[made].relaxed = relaxed;
                    }
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
