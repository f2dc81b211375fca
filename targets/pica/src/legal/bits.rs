//! Bits of integers that live as floats: floor takes away those below, and what is left of a floor those above.
//!
//! ```text
//!   bits 4 to 7 of x:  q = floor(x / 16)    q - 16 floor(q / 16)    times 16
//!   x | c = x + c - (x & c)      x ^ c = x + c - 2 (x & c)      x & -c = x - (x & (c - 1))
//! ```
//!
//! All of these are whole numbers up to 2^17, which a float24 has, and factors are powers of two: nothing is rounded. Negative numbers have the
//! bits of two's complement, since floor goes down. Facts: ISA sheet section 8 (exact integers).

use crate::legal::division::remainder;
use retroshade_ir::analysis::Range;
use retroshade_ir::passes::rewrite::splat_bits;
use retroshade_ir::*;

/// Whether an operation's operands have no bit in common: one is shifted beyond all that the other has.
pub fn are_apart(f: &Function, d: &InstData, range: impl Fn(Value) -> Range) -> bool {
    let below = |x: Value, y: Value| {
        let count = f.def_if(f.resolve(x), Opcode::Ishl).and_then(|s| splat_bits(f, s.args[1])).filter(|k| *k < 32);
        let other = range(f.resolve(y));
        count.is_some_and(|k| other.lo >= 0 && other.hi < 1 << k)
    };
    below(d.args[0], d.args[1]) || below(d.args[1], d.args[0])
}

fn scaled(b: &mut Builder, x: Value, by: f32) -> Value {
    if by == 1.0 {
        return x;
    }
    let by = b.fconst(b.func.ty(x), by);
    b.ins(Opcode::Fmul, &[x, by])
}

fn floor_scaled(b: &mut Builder, x: Value, by: f32) -> Value {
    if by == 1.0 {
        return x;
    }
    let p = scaled(b, x, by);
    b.ins(Opcode::Ffloor, &[p])
}

/// x & mask.
pub fn masked(b: &mut Builder, x: Value, mask: i64) -> Value {
    if mask < 0 {
        let rest = masked(b, x, !mask);
        return b.ins(Opcode::Fsub, &[x, rest]);
    }
    let mut sum = None;
    let mut left = mask as u64;
    while left != 0 {
        let low = left.trailing_zeros();
        let count = (left >> low).trailing_ones();
        left &= !(((1u64 << count) - 1) << low);
        let q = floor_scaled(b, x, 1.0 / (1u64 << low) as f32);
        let size = (1u64 << count) as f32;
        let above = floor_scaled(b, q, 1.0 / size);
        let run = remainder(b, q, above, size);
        let run = scaled(b, run, (1u64 << low) as f32);
        sum = Some(match sum {
            Some(sum) => b.ins(Opcode::Fadd, &[sum, run]),
            None => run,
        });
    }
    sum.unwrap_or_else(|| b.fconst(b.func.ty(x), 0.0))
}

/// x | bits, or x ^ bits.
pub fn joined(b: &mut Builder, x: Value, bits: i64, exclusive: bool) -> Value {
    let constant = b.fconst(b.func.ty(x), bits as f32);
    let sum = b.ins(Opcode::Fadd, &[x, constant]);
    let both = masked(b, x, bits);
    let both = scaled(b, both, if exclusive { 2.0 } else { 1.0 });
    b.ins(Opcode::Fsub, &[sum, both])
}
