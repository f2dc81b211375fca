//! Products of 32-bit integers from smaller ones. All exact.

use retroshade_ir::{Builder, InstData, IntCC, Opcode, Type, Value};

/// A machine's product of two values below 2^16 (its operands' upper halves are zero), exact to 32 bits.
pub type Mul16<'a> = &'a mut dyn FnMut(&mut Builder, Value, Value) -> Value;

struct Halves {
    low: Value,
    high: Value,
}

fn halves(b: &mut Builder, v: Value) -> Halves {
    let ty = b.func.ty(v);
    let mask = b.iconst(ty, 0xffff);
    let sixteen = b.iconst(ty, 16);
    Halves { low: b.ins(Opcode::Iand, &[v, mask]), high: b.ins(Opcode::Ushr, &[v, sixteen]) }
}

/// The low 32 bits of a product from three 16-bit ones.
pub fn imul16(b: &mut Builder, x: Value, y: Value, mul: Mul16) -> Value {
    let ty = b.func.ty(x);
    let (p, q) = (halves(b, x), halves(b, y));
    let low = mul(b, p.low, q.low);
    let m1 = mul(b, p.high, q.low);
    let m2 = mul(b, p.low, q.high);
    let middle = b.ins(Opcode::Iadd, &[m1, m2]);
    let sixteen = b.iconst(ty, 16);
    let up = b.ins(Opcode::Ishl, &[middle, sixteen]);
    b.ins(Opcode::Iadd, &[up, low])
}

/// The high 32 bits of an unsigned product from four 16-bit ones.
pub fn umulhi16(b: &mut Builder, x: Value, y: Value, mul: Mul16) -> Value {
    let ty = b.func.ty(x);
    let (p, q) = (halves(b, x), halves(b, y));
    let ll = mul(b, p.low, q.low);
    let hl = mul(b, p.high, q.low);
    let lh = mul(b, p.low, q.high);
    let hh = mul(b, p.high, q.high);
    let sixteen = b.iconst(ty, 16);
    let mask = b.iconst(ty, 0xffff);
    // Neither sum can overflow: (2^16 - 1)² + 2 × (2^16 - 1) < 2^32.
    let carry = b.ins(Opcode::Ushr, &[ll, sixteen]);
    let t = b.ins(Opcode::Iadd, &[hl, carry]);
    let t_low = b.ins(Opcode::Iand, &[t, mask]);
    let t_high = b.ins(Opcode::Ushr, &[t, sixteen]);
    let u = b.ins(Opcode::Iadd, &[lh, t_low]);
    let u_high = b.ins(Opcode::Ushr, &[u, sixteen]);
    let sum = b.ins(Opcode::Iadd, &[hh, t_high]);
    b.ins(Opcode::Iadd, &[sum, u_high])
}

fn plain(b: &mut Builder, x: Value, y: Value) -> Value {
    b.ins(Opcode::Imul, &[x, y])
}

/// `umulhi` with ordinary low products of 16-bit halves, for machines that have only `imul`.
pub fn umulhi_imul(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    Some(umulhi16(b, d.args[0], d.args[1], &mut plain))
}

/// `smulhi` from `umulhi`: each negative operand counted 2^32 too much of the other.
pub fn smulhi_umulhi(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let (x, y) = (d.args[0], d.args[1]);
    let hi = b.ins(Opcode::Umulhi, &[x, y]);
    let last = b.iconst(ty, 31);
    let sx = b.ins(Opcode::Sshr, &[x, last]);
    let sy = b.ins(Opcode::Sshr, &[y, last]);
    let cy = b.ins(Opcode::Iand, &[sx, y]);
    let cx = b.ins(Opcode::Iand, &[sy, x]);
    let t = b.ins(Opcode::Isub, &[hi, cy]);
    Some(b.ins(Opcode::Isub, &[t, cx]))
}

/// `imul` as shifts and adds: only for machines without any integer product. A constant factor gives one addition per set
/// bit; an unknown one takes all 32 steps.
pub fn imul_shift_add(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let (x, y) = (d.args[0], d.args[1]);
    let constant = retroshade_ir::passes::rewrite::splat_bits(b.func, y);
    let zero = b.iconst(ty, 0);
    let one = b.iconst(ty, 1);
    let mut sum: Option<Value> = None;
    for n in 0..32 {
        if constant.is_some_and(|c| c >> n & 1 == 0) {
            continue;
        }
        let k = b.iconst(ty, n);
        let mut part = if n == 0 { x } else { b.ins(Opcode::Ishl, &[x, k]) };
        if constant.is_none() {
            let bit = b.ins(Opcode::Ushr, &[y, k]);
            let bit = b.ins(Opcode::Iand, &[bit, one]);
            let set = b.icmp(IntCC::Ne, bit, zero);
            part = b.select(set, part, zero);
        }
        sum = Some(match sum {
            None => part,
            Some(s) => b.ins(Opcode::Iadd, &[s, part]),
        });
    }
    Some(sum.unwrap_or(zero))
}
