//! Bit operations by shifts, masks and float conversion. All exact.

use retroshade_ir::{Builder, FloatCC, Imm, InstData, IntCC, Opcode, Scalar, Type, Value};

fn masked_shift(b: &mut Builder, x: Value, mask: u32, shift: u32) -> (Value, Value) {
    let ty = b.func.ty(x);
    let (m, s) = (b.iconst(ty, mask), b.iconst(ty, shift));
    let low = b.ins(Opcode::Iand, &[x, m]);
    let up = b.ins(Opcode::Ushr, &[x, s]);
    (low, b.ins(Opcode::Iand, &[up, m]))
}

/// `bitcount` by pairwise sums; the last sum by a product where the machine has one.
pub fn bitcount(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let mut x = d.args[0];
    for (mask, shift) in [(0x5555_5555, 1), (0x3333_3333, 2), (0x0f0f_0f0f, 4), (0x00ff_00ff, 8), (0x0000_ffff, 16)] {
        let (low, high) = masked_shift(b, x, mask, shift);
        x = b.ins(Opcode::Iadd, &[low, high]);
    }
    Some(x)
}

/// `bitrev` by exchanging ever larger neighbours.
pub fn bitrev(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let mut x = d.args[0];
    for (mask, shift) in [(0x5555_5555, 1), (0x3333_3333, 2), (0x0f0f_0f0f, 4), (0x00ff_00ff, 8)] {
        let (low, high) = masked_shift(b, x, mask, shift);
        let s = b.iconst(ty, shift);
        let up = b.ins(Opcode::Ishl, &[low, s]);
        x = b.ins(Opcode::Ior, &[up, high]);
    }
    let s = b.iconst(ty, 16);
    let (up, down) = (b.ins(Opcode::Ishl, &[x, s]), b.ins(Opcode::Ushr, &[x, s]));
    Some(b.ins(Opcode::Ior, &[up, down]))
}

/// `find_umsb` from the exponent of the number as a float. Clearing every bit below a set one first keeps the conversion
/// from rounding up to the next power of two.
pub fn find_umsb_float(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let x = d.args[0];
    let ft = ty.with_scalar(Scalar::F32);
    let one = b.iconst(ty, 1);
    let h = b.ins(Opcode::Ushr, &[x, one]);
    let n = b.ins(Opcode::Inot, &[h]);
    let top = b.ins(Opcode::Iand, &[x, n]);
    let f = b.typed(Opcode::U2f, ft, &[top], Imm::None);
    let bits = b.typed(Opcode::Bitcast, ty, &[f], Imm::None);
    let s = b.iconst(ty, 23);
    let e = b.ins(Opcode::Ushr, &[bits, s]);
    let bias = b.iconst(ty, 0u32.wrapping_sub(127));
    let r = b.ins(Opcode::Iadd, &[e, bias]);
    let none = b.iconst(ty, u32::MAX);
    Some(b.ins(Opcode::Smax, &[r, none]))
}

/// `find_umsb` by halving the word five times, for machines without float conversions of integers.
pub fn find_umsb_search(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let mut x = d.args[0];
    let zero = b.iconst(ty, 0);
    let none = b.iconst(ty, u32::MAX);
    let empty = b.icmp(IntCC::Eq, x, zero);
    let mut at = zero;
    for n in [16u32, 8, 4, 2, 1] {
        let k = b.iconst(ty, n);
        let high = b.ins(Opcode::Ushr, &[x, k]);
        let more = b.icmp(IntCC::Ne, high, zero);
        x = b.select(more, high, x);
        let up = b.ins(Opcode::Iadd, &[at, k]);
        at = b.select(more, up, at);
    }
    Some(b.select(empty, none, at))
}

/// `find_smsb` = find_umsb of the number with its sign folded away.
pub fn find_smsb(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let s = b.iconst(ty, 31);
    let sign = b.ins(Opcode::Sshr, &[d.args[0], s]);
    let x = b.ins(Opcode::Ixor, &[d.args[0], sign]);
    Some(b.ins(Opcode::FindUmsb, &[x]))
}

/// `find_lsb` = find_umsb of the lowest set bit alone.
pub fn find_lsb(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let n = b.ins(Opcode::Ineg, &[d.args[0]]);
    let x = b.ins(Opcode::Iand, &[d.args[0], n]);
    Some(b.ins(Opcode::FindUmsb, &[x]))
}

/// Offset and count clamped to the word as WGSL has it.
fn clamped(b: &mut Builder, offset: Value, count: Value) -> (Value, Value) {
    let ty = b.func.ty(offset);
    let word = b.iconst(ty, 32);
    let o = b.ins(Opcode::Umin, &[offset, word]);
    let room = b.ins(Opcode::Isub, &[word, o]);
    (o, b.ins(Opcode::Umin, &[count, room]))
}

/// `ubfe` and `sbfe`: shifted to the top, then down; an empty field gives 0.
pub fn bfe(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let (o, c) = clamped(b, d.args[1], d.args[2]);
    let word = b.iconst(ty, 32);
    let zero = b.iconst(ty, 0);
    let used = b.ins(Opcode::Iadd, &[o, c]);
    let left = b.ins(Opcode::Isub, &[word, used]);
    let down = b.ins(Opcode::Isub, &[word, c]);
    let x = b.ins(Opcode::Ishl, &[d.args[0], left]);
    let x = b.ins(if d.op == Opcode::Sbfe { Opcode::Sshr } else { Opcode::Ushr }, &[x, down]);
    let empty = b.icmp(IntCC::Eq, c, zero);
    Some(b.select(empty, zero, x))
}

/// `bfi` by a mask.
pub fn bfi(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let (o, c) = clamped(b, d.args[2], d.args[3]);
    let (zero, one, ones, word) = (b.iconst(ty, 0), b.iconst(ty, 1), b.iconst(ty, u32::MAX), b.iconst(ty, 32));
    let _ = zero;
    let p = b.ins(Opcode::Ishl, &[one, c]);
    let m = b.ins(Opcode::Iadd, &[p, ones]);
    let full = b.icmp(IntCC::Eq, c, word);
    let m = b.select(full, ones, m);
    let m = b.ins(Opcode::Ishl, &[m, o]);
    let keep = b.ins(Opcode::Inot, &[m]);
    let base = b.ins(Opcode::Iand, &[d.args[0], keep]);
    let new = b.ins(Opcode::Ishl, &[d.args[1], o]);
    let new = b.ins(Opcode::Iand, &[new, m]);
    Some(b.ins(Opcode::Ior, &[base, new]))
}

/// `min`/`max` of integers by a comparison and a select.
pub fn int_min_max(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let cc = match d.op {
        Opcode::Umin => IntCC::Ult,
        Opcode::Umax => IntCC::Ugt,
        Opcode::Smin => IntCC::Slt,
        Opcode::Smax => IntCC::Sgt,
        _ => return None,
    };
    let c = b.icmp(cc, d.args[0], d.args[1]);
    Some(b.select(c, d.args[0], d.args[1]))
}

/// `iabs` = max(x, -x).
pub fn iabs(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let n = b.ins(Opcode::Ineg, &[d.args[0]]);
    Some(b.ins(Opcode::Smax, &[d.args[0], n]))
}

/// `-x` = 0 - x.
pub fn ineg_sub(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let zero = b.iconst(ty, 0);
    Some(b.ins(Opcode::Isub, &[zero, d.args[0]]))
}

/// `not x` = x xor -1 (on i1: xor 1).
pub fn inot_xor(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let ones = b.iconst(ty, if ty.scalar == Scalar::I1 { 1 } else { u32::MAX });
    Some(b.ins(Opcode::Ixor, &[d.args[0], ones]))
}

/// Unsigned comparisons by signed ones with both top bits flipped.
pub fn icmp_signed(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let Imm::IntCC(cc) = d.imm else { return None };
    let cc = match cc {
        IntCC::Ult => IntCC::Slt,
        IntCC::Ule => IntCC::Sle,
        IntCC::Ugt => IntCC::Sgt,
        IntCC::Uge => IntCC::Sge,
        _ => return None,
    };
    let ty = b.func.ty(d.args[0]);
    let bit = b.iconst(ty, 0x8000_0000);
    let x = b.ins(Opcode::Ixor, &[d.args[0], bit]);
    let y = b.ins(Opcode::Ixor, &[d.args[1], bit]);
    Some(b.icmp(cc, x, y))
}

/// A select of floats whose condition compares floats, for machines that select on a float's sign: unchanged otherwise.
pub fn is_float_compare(b: &Builder, c: Value) -> Option<FloatCC> {
    match b.func.def_if(c, Opcode::Fcmp)?.imm {
        Imm::FloatCC(cc) => Some(cc),
        _ => None,
    }
}
