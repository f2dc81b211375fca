//! Pure operations on values: what the interpreter computes and what constant folding may compute.
//!
//! Semantics are those of `opcode.rs`; floats go through [`Numerics`], everything else is the same on all machines.

use crate::inst::{AtomicOp, Imm};
use crate::numerics::{Numerics, from_f32, to_f32};
use crate::opcode::Opcode;
use crate::types::{Scalar, Type};
use smallvec::SmallVec;

/// A value: one raw word per lane, unused lanes 0.
pub type Word4 = [u32; 4];

/// Evaluates an operation without effects and without access to variables; `None` for all others (and for unknown machine operations).
pub fn eval(num: &dyn Numerics, op: Opcode, imm: &Imm, result: Type, types: &[Type], args: &[Word4]) -> Option<Word4> {
    use Opcode::*;
    let arg = |n: usize| args.get(n).copied().unwrap_or([0; 4]);
    let ty = types.first().copied().unwrap_or(result);
    let lanes = result.lanes.min(4) as usize;
    let (a, b, c) = (arg(0), arg(1), arg(2));
    let each = |f: &dyn Fn(usize) -> u32| {
        let mut r = [0; 4];
        for (n, w) in r.iter_mut().enumerate().take(lanes) {
            *w = f(n);
        }
        r
    };
    Some(match op {
        Const => match imm {
            Imm::Const(bits) if result.is_float() => each(&|n| num.load(result.scalar, bits[n])),
            Imm::Const(bits) => each(&|n| bits[n]),
            _ => return None,
        },
        Undef => [0; 4],
        Fneg | Fabs | Ffloor | Fceil | Ftrunc | Fround | Ffract | Frcp | Frsqrt | Fsqrt | Fexp2 | Flog2 | Fsin | Fcos | Fsaturate
        | Fsign => each(&|n| num.unary(op, ty.scalar, a[n])),
        Fadd | Fsub | Fmul | Fdiv | Fmin | Fmax | Fpow => each(&|n| num.binary(op, ty.scalar, a[n], b[n])),
        Fma | Fmad => each(&|n| num.ternary(op, ty.scalar, a[n], b[n], c[n])),
        Dot => {
            let n = ty.lanes.clamp(1, 4) as usize;
            [num.dot(ty.scalar, &a[..n], &b[..n]), 0, 0, 0]
        }
        Iadd | Isub | Imul | Umulhi | Smulhi | Udiv | Sdiv | Urem | Srem | Iand | Ior | Ixor | Ishl | Ushr | Sshr | Umin | Umax | Smin
        | Smax => each(&|n| int_binary(op, a[n], b[n])),
        Inot if ty.scalar == Scalar::I1 => each(&|n| a[n] ^ 1),
        Ineg | Iabs | Inot | Bitcount | Bitrev | FindUmsb | FindSmsb | FindLsb => each(&|n| int_unary(op, a[n])),
        Ubfe => each(&|n| extract_bits(a[n], b[n], c[n], false)),
        Sbfe => each(&|n| extract_bits(a[n], b[n], c[n], true)),
        Bfi => {
            let d = arg(3);
            each(&|n| insert_bits(a[n], b[n], c[n], d[n]))
        }
        Fcmp => match imm {
            Imm::FloatCC(cc) => each(&|n| num.fcmp(*cc, ty.scalar, a[n], b[n]) as u32),
            _ => return None,
        },
        Icmp => match imm {
            Imm::IntCC(cc) => each(&|n| cc.eval(a[n], b[n]) as u32),
            _ => return None,
        },
        Select => {
            let per_lane = ty.lanes > 1;
            each(&|n| if a[if per_lane { n } else { 0 }] & 1 == 1 { b[n] } else { c[n] })
        }
        Any => [a.iter().take(ty.lanes as usize).any(|w| w & 1 == 1) as u32, 0, 0, 0],
        All => [a.iter().take(ty.lanes as usize).all(|w| w & 1 == 1) as u32, 0, 0, 0],
        F2s | F2u | S2f | U2f | Fcvt => each(&|n| num.convert(op, ty.scalar, result.scalar, a[n])),
        Bitcast => bitcast(ty, result, a),
        PackUnorm4x8 | PackSnorm4x8 | PackUnorm2x16 | PackSnorm2x16 | PackHalf2x16 => [pack(num, op, a), 0, 0, 0],
        UnpackUnorm4x8 | UnpackSnorm4x8 | UnpackUnorm2x16 | UnpackSnorm2x16 | UnpackHalf2x16 => unpack(num, op, a[0]),
        Splat => each(&|_| a[0]),
        Build => each(&|n| arg(n)[0]),
        Extract => match imm {
            Imm::Lane(l) => [a.get(*l as usize).copied().unwrap_or(0), 0, 0, 0],
            _ => return None,
        },
        Insert => match imm {
            Imm::Lane(l) => each(&|n| if n == *l as usize { b[0] } else { a[n] }),
            _ => return None,
        },
        Shuffle => match imm {
            Imm::Lanes(mask) => {
                let width = ty.lanes as usize;
                let pick = |m: usize| if m < width { a[m & 3] } else { b[(m - width) & 3] };
                each(&|n| mask.get(n).map_or(0, |m| pick(*m as usize)))
            }
            _ => return None,
        },
        Ext => match imm {
            Imm::Ext(name) => {
                let args: SmallVec<[Word4; 4]> = args.into();
                let r = num.ext(name, &args)?;
                each(&|n| r[n])
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// One-operand integer operations.
pub fn int_unary(op: Opcode, a: u32) -> u32 {
    use Opcode::*;
    match op {
        Ineg => a.wrapping_neg(),
        Iabs => (a as i32).wrapping_abs() as u32,
        Inot => !a,
        Bitcount => a.count_ones(),
        Bitrev => a.reverse_bits(),
        FindUmsb => 31u32.wrapping_sub(a.leading_zeros()),
        FindSmsb => 31u32.wrapping_sub((if (a as i32) < 0 { !a } else { a }).leading_zeros()),
        FindLsb if a == 0 => u32::MAX,
        FindLsb => a.trailing_zeros(),
        _ => a,
    }
}

/// Two-operand integer operations. A quotient by zero is the dividend, a remainder 0, as in WGSL.
pub fn int_binary(op: Opcode, a: u32, b: u32) -> u32 {
    use Opcode::*;
    let (x, y) = (a as i32, b as i32);
    match op {
        Iadd => a.wrapping_add(b),
        Isub => a.wrapping_sub(b),
        Imul => a.wrapping_mul(b),
        Umulhi => ((a as u64 * b as u64) >> 32) as u32,
        Smulhi => ((x as i64 * y as i64) >> 32) as u32,
        Udiv => a.checked_div(b).unwrap_or(a),
        Sdiv => x.checked_div(y).unwrap_or(x) as u32,
        Urem => a.checked_rem(b).unwrap_or(0),
        Srem => x.checked_rem(y).unwrap_or(0) as u32,
        Iand => a & b,
        Ior => a | b,
        Ixor => a ^ b,
        Ishl => a << (b & 31),
        Ushr => a >> (b & 31),
        Sshr => (x >> (b & 31)) as u32,
        Umin => a.min(b),
        Umax => a.max(b),
        Smin => x.min(y) as u32,
        Smax => x.max(y) as u32,
        _ => 0,
    }
}

/// WGSL's extractBits.
pub fn extract_bits(a: u32, offset: u32, count: u32, signed: bool) -> u32 {
    let offset = offset.min(32);
    let count = count.min(32 - offset);
    if count == 0 {
        return 0;
    }
    let left = a << (32 - offset - count);
    if signed { ((left as i32) >> (32 - count)) as u32 } else { left >> (32 - count) }
}

/// WGSL's insertBits.
pub fn insert_bits(base: u32, insert: u32, offset: u32, count: u32) -> u32 {
    let offset = offset.min(32);
    let count = count.min(32 - offset);
    if count == 0 {
        return base;
    }
    let mask = (u32::MAX >> (32 - count)) << offset;
    base & !mask | insert << offset & mask
}

/// The new contents of a word after an atomic operation; `extra` is the replacement of `cas`.
pub fn atomic(op: AtomicOp, old: u32, value: u32, extra: u32) -> u32 {
    match op {
        AtomicOp::Add => old.wrapping_add(value),
        AtomicOp::Umin => old.min(value),
        AtomicOp::Umax => old.max(value),
        AtomicOp::Smin => (old as i32).min(value as i32) as u32,
        AtomicOp::Smax => (old as i32).max(value as i32) as u32,
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::Xchg => value,
        AtomicOp::Cas => {
            if old == value {
                extra
            } else {
                old
            }
        }
    }
}

/// Bits under another type; two halves share a word where one side is f16 and the other is not.
fn bitcast(from: Type, to: Type, a: Word4) -> Word4 {
    match (from.scalar == Scalar::F16, to.scalar == Scalar::F16) {
        (true, false) if from.lanes == 2 * to.lanes => [a[0] & 0xffff | a[1] << 16, a[2] & 0xffff | a[3] << 16, 0, 0],
        (false, true) if to.lanes == 2 * from.lanes => [a[0] & 0xffff, a[0] >> 16, a[1] & 0xffff, a[1] >> 16],
        _ => a,
    }
}

/// Clamps to a range and scales; NaN counts as the lower bound clamped to 0.
fn normalised(word: u32, low: f32, scale: f32) -> i32 {
    let x = f32::from_bits(word);
    let x = if x >= 1.0 {
        1.0
    } else if x > low {
        x
    } else if x <= low {
        low
    } else {
        0.0
    };
    libm::rintf(x * scale) as i32
}

fn pack(num: &dyn Numerics, op: Opcode, a: Word4) -> u32 {
    let (low, scale, bits) = match op {
        Opcode::PackUnorm4x8 => (0.0, 255.0, 8),
        Opcode::PackSnorm4x8 => (-1.0, 127.0, 8),
        Opcode::PackUnorm2x16 => (0.0, 65535.0, 16),
        Opcode::PackSnorm2x16 => (-1.0, 32767.0, 16),
        _ => {
            let half = |w| num.convert(Opcode::Fcvt, Scalar::F32, Scalar::F16, w) & 0xffff;
            return half(a[0]) | half(a[1]) << 16;
        }
    };
    let mask = u32::MAX >> (32 - bits);
    (0..32 / bits).fold(0, |r, n| r | (normalised(a[n as usize], low, scale) as u32 & mask) << (n * bits))
}

fn unpack(num: &dyn Numerics, op: Opcode, a: u32) -> Word4 {
    let unsigned = |n: u32, bits: u32| ((a >> (n * bits) & (u32::MAX >> (32 - bits))) as f32 / (u32::MAX >> (32 - bits)) as f32).to_bits();
    let signed = |n: u32, bits: u32| {
        let x = extract_bits(a, n * bits, bits, true) as i32 as f32 / (u32::MAX >> (33 - bits)) as f32;
        (if x < -1.0 { -1.0f32 } else { x }).to_bits()
    };
    match op {
        Opcode::UnpackUnorm4x8 => [0, 1, 2, 3].map(|n| unsigned(n, 8)),
        Opcode::UnpackSnorm4x8 => [0, 1, 2, 3].map(|n| signed(n, 8)),
        Opcode::UnpackUnorm2x16 => [unsigned(0, 16), unsigned(1, 16), 0, 0],
        Opcode::UnpackSnorm2x16 => [signed(0, 16), signed(1, 16), 0, 0],
        _ => {
            let single = |w| num.convert(Opcode::Fcvt, Scalar::F16, Scalar::F32, w);
            [single(a & 0xffff), single(a >> 16), 0, 0]
        }
    }
}

/// A float word under another float type.
pub fn float_to(from: Scalar, to: Scalar, a: u32) -> u32 {
    if from == to { a } else { from_f32(to, to_f32(from, a)) }
}
