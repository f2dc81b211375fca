//! Packing and unpacking of normalised and half floats by arithmetic and shifts.

use retroshade_ir::{Builder, FloatCC, Imm, InstData, IntCC, Opcode, Scalar, Type, Value, types::F32, types::I32};

struct Layout {
    lanes: u8,
    bits: u32,
    signed: bool,
}

fn layout(op: Opcode) -> Option<Layout> {
    Some(match op {
        Opcode::PackUnorm4x8 | Opcode::UnpackUnorm4x8 => Layout { lanes: 4, bits: 8, signed: false },
        Opcode::PackSnorm4x8 | Opcode::UnpackSnorm4x8 => Layout { lanes: 4, bits: 8, signed: true },
        Opcode::PackUnorm2x16 | Opcode::UnpackUnorm2x16 => Layout { lanes: 2, bits: 16, signed: false },
        Opcode::PackSnorm2x16 | Opcode::UnpackSnorm2x16 => Layout { lanes: 2, bits: 16, signed: true },
        _ => return None,
    })
}

fn scale(l: &Layout) -> f32 {
    if l.signed { ((1u32 << (l.bits - 1)) - 1) as f32 } else { ((1u32 << l.bits) - 1) as f32 }
}

/// The four `pack_…norm` operations: clamp, scale, round to even, convert, mask and join. Exact where the machine's
/// product, rounding and conversion are.
pub fn pack_norm(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let l = layout(d.op)?;
    let mut word: Option<Value> = None;
    for n in 0..l.lanes {
        let x = b.extract(d.args[0], n);
        let x = if l.signed {
            let (low, one, zero) = (b.fconst(F32, -1.0), b.fconst(F32, 1.0), b.fconst(F32, 0.0));
            // A NaN packs as 0, so the clamp must not turn it into -1.
            let ordered = b.fcmp(FloatCC::Oeq, x, x);
            let x = b.select(ordered, x, zero);
            let m = b.ins(Opcode::Fmax, &[x, low]);
            b.ins(Opcode::Fmin, &[m, one])
        } else {
            b.ins(Opcode::Fsaturate, &[x])
        };
        let s = b.fconst(F32, scale(&l));
        let was = std::mem::replace(&mut b.precise, true);
        let x = b.ins(Opcode::Fmul, &[x, s]);
        b.precise = was;
        let x = b.ins(Opcode::Fround, &[x]);
        let mut i = b.typed(Opcode::F2s, I32, &[x], Imm::None);
        if l.signed && n + 1 < l.lanes {
            let mask = b.iconst(I32, (1u32 << l.bits) - 1);
            i = b.ins(Opcode::Iand, &[i, mask]);
        }
        if n > 0 {
            let k = b.iconst(I32, u32::from(n) * l.bits);
            i = b.ins(Opcode::Ishl, &[i, k]);
        }
        word = Some(match word {
            None => i,
            Some(w) => b.ins(Opcode::Ior, &[w, i]),
        });
    }
    word
}

/// The four `unpack_…norm` operations. Division by the scale is a product with its reciprocal: within 1 ulp.
pub fn unpack_norm(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let l = layout(d.op)?;
    let lanes: Vec<Value> = (0..u32::from(l.lanes))
        .map(|n| {
            let (up, down) = (32 - (n + 1) * l.bits, 32 - l.bits);
            let mut x = d.args[0];
            if up > 0 {
                let k = b.iconst(I32, up);
                x = b.ins(Opcode::Ishl, &[x, k]);
            }
            let k = b.iconst(I32, down);
            x = b.ins(if l.signed { Opcode::Sshr } else { Opcode::Ushr }, &[x, k]);
            let f = b.typed(Opcode::S2f, F32, &[x], Imm::None);
            let r = b.fconst(F32, 1.0 / scale(&l));
            let f = b.ins(Opcode::Fmul, &[f, r]);
            if l.signed {
                let low = b.fconst(F32, -1.0);
                b.ins(Opcode::Fmax, &[f, low])
            } else {
                f
            }
        })
        .collect();
    Some(b.build(&lanes))
}

/// `pack_half2x16` by conversion and bitcast, for machines with f16 conversion.
pub fn pack_half_cvt(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let h = b.typed(Opcode::Fcvt, Type::new(Scalar::F16, 2), &[d.args[0]], Imm::None);
    Some(b.typed(Opcode::Bitcast, ty, &[h], Imm::None))
}

/// `unpack_half2x16` by bitcast and conversion.
pub fn unpack_half_cvt(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let h = b.typed(Opcode::Bitcast, Type::new(Scalar::F16, 2), &[d.args[0]], Imm::None);
    Some(b.typed(Opcode::Fcvt, ty, &[h], Imm::None))
}

/// The bits of an f32 (as i32) rounded to binary16, in integers: nearest even, denormals, infinities; a NaN stays one. Exact.
pub fn half_bits(b: &mut Builder, bits: Value) -> Value {
    let k = |b: &mut Builder, x: u32| b.iconst(I32, x);
    let (sign_mask, magnitude) = (k(b, 0x8000), k(b, 0x7fff_ffff));
    let sixteen = k(b, 16);
    let s = b.ins(Opcode::Ushr, &[bits, sixteen]);
    let s = b.ins(Opcode::Iand, &[s, sign_mask]);
    let m = b.ins(Opcode::Iand, &[bits, magnitude]);
    // Normal: rebias, add just under half a unit plus the last bit, drop 13 bits.
    let (thirteen, one) = (k(b, 13), k(b, 1));
    let last = b.ins(Opcode::Ushr, &[m, thirteen]);
    let last = b.ins(Opcode::Iand, &[last, one]);
    let bias = k(b, 0u32.wrapping_sub(112 << 23).wrapping_add(0xfff));
    let n = b.ins(Opcode::Iadd, &[m, bias]);
    let n = b.ins(Opcode::Iadd, &[n, last]);
    let normal = b.ins(Opcode::Ushr, &[n, thirteen]);
    // Denormal: the significand shifted right by 126 - exponent, rounded the same way.
    let (e23, hidden, fraction) = (k(b, 23), k(b, 0x80_0000), k(b, 0x7f_ffff));
    let e = b.ins(Opcode::Ushr, &[m, e23]);
    let f = b.ins(Opcode::Iand, &[m, fraction]);
    let f = b.ins(Opcode::Ior, &[f, hidden]);
    let c126 = k(b, 126);
    let sh = b.ins(Opcode::Isub, &[c126, e]);
    let most = k(b, 25);
    let sh = b.ins(Opcode::Umin, &[sh, most]);
    let d = b.ins(Opcode::Ushr, &[f, sh]);
    let ones = k(b, u32::MAX);
    let below = b.ins(Opcode::Iadd, &[sh, ones]);
    let half = b.ins(Opcode::Ishl, &[one, below]);
    let unit = b.ins(Opcode::Ishl, &[one, sh]);
    let mask = b.ins(Opcode::Iadd, &[unit, ones]);
    let rest = b.ins(Opcode::Iand, &[f, mask]);
    let odd = b.ins(Opcode::Iand, &[d, one]);
    let rest = b.ins(Opcode::Iadd, &[rest, odd]);
    let up = b.icmp(IntCC::Ugt, rest, half);
    let d1 = b.ins(Opcode::Iadd, &[d, one]);
    let denormal = b.select(up, d1, d);
    // Which case.
    let small = k(b, 113 << 23);
    let is_small = b.icmp(IntCC::Ult, m, small);
    let r = b.select(is_small, denormal, normal);
    let (over, inf) = (k(b, 0x4780_0000), k(b, 0x7c00));
    let r = b.ins(Opcode::Umin, &[r, inf]);
    let is_over = b.icmp(IntCC::Uge, m, over);
    let r = b.select(is_over, inf, r);
    let (finf, nan) = (k(b, 0x7f80_0000), k(b, 0x7e00));
    let is_nan = b.icmp(IntCC::Ugt, m, finf);
    let r = b.select(is_nan, nan, r);
    b.ins(Opcode::Ior, &[r, s])
}

/// `pack_half2x16` in integers.
pub fn pack_half_int(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let mut halves = [d.args[0]; 2];
    for (n, h) in halves.iter_mut().enumerate() {
        let x = b.extract(d.args[0], n as u8);
        let bits = b.typed(Opcode::Bitcast, I32, &[x], Imm::None);
        *h = half_bits(b, bits);
    }
    let k = b.iconst(I32, 16);
    let up = b.ins(Opcode::Ishl, &[halves[1], k]);
    Some(b.ins(Opcode::Ior, &[up, halves[0]]))
}

/// The f32 that the low 16 bits of a word stand for as binary16: the exponent is set right by a product with 2^112, which
/// also makes denormals normal. Exact where products do not flush a denormal operand; otherwise half denormals become 0.
pub fn float_of_half(b: &mut Builder, word: Value) -> Value {
    let k = |b: &mut Builder, x: u32| b.iconst(I32, x);
    let (magnitude, sign, thirteen, sixteen) = (k(b, 0x7fff), k(b, 0x8000), k(b, 13), k(b, 16));
    let m = b.ins(Opcode::Iand, &[word, magnitude]);
    let s = b.ins(Opcode::Iand, &[word, sign]);
    let s = b.ins(Opcode::Ishl, &[s, sixteen]);
    let inf = k(b, 0x7c00);
    let special = b.icmp(IntCC::Uge, m, inf);
    let wide = b.ins(Opcode::Ishl, &[m, thirteen]);
    // Denormals as an integer times 2^-24, normals by rebiasing: no denormal f32 ever arises.
    let least = k(b, 0x400);
    let tiny = b.icmp(IntCC::Ult, m, least);
    let i = b.typed(Opcode::S2f, F32, &[m], Imm::None);
    let scale = b.fconst(F32, f32::from_bits((127 - 24) << 23));
    let was = std::mem::replace(&mut b.precise, true);
    let small = b.ins(Opcode::Fmul, &[i, scale]);
    b.precise = was;
    let small = b.typed(Opcode::Bitcast, I32, &[small], Imm::None);
    let bias = k(b, 112 << 23);
    let normal = b.ins(Opcode::Iadd, &[wide, bias]);
    let top = k(b, 0x7f80_0000);
    let huge = b.ins(Opcode::Ior, &[wide, top]);
    let r = b.select(tiny, small, normal);
    let r = b.select(special, huge, r);
    let r = b.ins(Opcode::Ior, &[r, s]);
    b.typed(Opcode::Bitcast, F32, &[r], Imm::None)
}

/// `unpack_half2x16` in integers; exact.
pub fn unpack_half_int(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let low = float_of_half(b, d.args[0]);
    let k = b.iconst(I32, 16);
    let up = b.ins(Opcode::Ushr, &[d.args[0], k]);
    let high = float_of_half(b, up);
    Some(b.build(&[low, high]))
}
