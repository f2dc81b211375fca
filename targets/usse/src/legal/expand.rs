//! Expansion: operations that the machine lacks, by rules over the shared library and some of its own.
//!
//! Facts: the ISA sheet's sections 10, 11.2, 12 and 17.5.

use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::*;
use retroshade_lower::legal::{BITS_AND_PACKING, Rule, apply, bits, float, intdiv, mul};

/// The first that fits wins.
const RULES: &[(Opcode, Rule)] = {
    use Opcode::*;
    &[
        (Udiv, intdiv::by_float),
        (Sdiv, intdiv::by_float),
        (Urem, intdiv::by_float),
        (Srem, intdiv::by_float),
        (Umulhi, mul::umulhi_imul),
        (Smulhi, mul::smulhi_umulhi),
        (FindUmsb, bits::find_umsb_float),
        (Umin, bits::int_min_max),
        (Umax, bits::int_min_max),
        (Smin, bits::int_min_max),
        (Smax, bits::int_min_max),
        (Iabs, iabs),
        (Ishl, shift),
        (Ushr, shift),
        (Sshr, shift),
        (Fma, float::fma_fmad),
        (Fmad, product_of_uniforms),
        (Fdiv, float::fdiv_rcp),
        (Fsqrt, float::fsqrt_rcp_rsqrt),
        (Ffloor, float::ffloor_fract),
        (Fceil, float::fceil_floor),
        (Ftrunc, trunc),
        (Fround, round),
        (Fsign, float::fsign),
        (Fsaturate, float::fsaturate_min_max),
        (Fpow, float::fpow),
        (Fsin, wave),
        (Fcos, wave),
        (Dot, dot_of_two),
        (F2s, each_lane),
        (F2s, float_to_integer),
        (F2u, each_lane),
        (F2u, float_to_integer),
        (S2f, each_lane),
        (S2f, integer_to_float),
        (U2f, each_lane),
        (U2f, integer_to_float),
        (Fcmp, each_lane),
        (Fcmp, both_orders),
        (Icmp, each_lane),
        (Icmp, truths),
        (Iand, truths_apart),
        (Ior, truths_apart),
        (Ixor, truths_apart),
        (Inot, truths_apart),
        (Any, any_all),
        (All, any_all),
        (Select, choices_apart),
    ]
};

/// What is done before conversions are expanded.
const CLAMPS: &[(Opcode, Rule)] = {
    use Opcode::*;
    &[(Umin, clamped_float), (Smin, clamped_float), (Umax, clamped_float), (Smax, clamped_float)]
};

/// Expands until nothing changes.
pub fn run(f: &mut Function) {
    unbiased(f);
    whole_quotients(f);
    apply(f, CLAMPS);
    apply(f, &[RULES, BITS_AND_PACKING].concat());
}

/// A bias of 0 is none.
fn unbiased(f: &mut Function) {
    rewrite(f, |b, i| {
        let d = &b.func.insts[i];
        let (Imm::Tex(info), Some(last)) = (&d.imm, d.args.last()) else { return Action::Keep };
        if info.lod != TexLod::Bias || b.func.const_bits(*last).is_none_or(|c| c[0] != 0) {
            return Action::Keep;
        }
        let plain = TexInfo { lod: TexLod::Implicit, ..(**info).clone() };
        b.func.insts[i].imm = Imm::Tex(Box::new(plain));
        b.func.insts[i].args.pop();
        Action::Changed
    });
}

/// Quotients that are rounded to integers, where the last bit decides: one correction by the remainder.
fn whole_quotients(f: &mut Function) {
    use Opcode::*;
    let mut exact = Vec::new();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        if matches!(d.op, Ffloor | Ffract | Ftrunc | Fceil | Fround | F2s | F2u) {
            exact.extend(d.args.iter().copied().filter(|a| f.def_if(*a, Fdiv).is_some()));
        }
    }
    rewrite(f, |b, i| {
        let d = b.func.insts[i].clone();
        if d.op != Fdiv || !d.results.iter().any(|r| exact.contains(r)) {
            return Action::Keep;
        }
        b.precise = d.precise;
        let q0 = b.ins(Frcp, &[d.args[1]]);
        let q = b.ins(Fmul, &[d.args[0], q0]);
        let n = b.ins(Fneg, &[q]);
        let e = b.ins(Fmad, &[n, d.args[1], d.args[0]]);
        Action::Replace(b.ins(Fmad, &[e, q0, q]))
    });
}

/// Factors and terms up to this size may be multiplied out: the sum is off by a few units of its last place at most.
const SMALL: f32 = 64.0;

/// (x + k) m and (k - x) m with constants become one multiply-add. Only where products and sums may be contracted.
pub fn scaled_sums(f: &mut Function) -> bool {
    use Opcode::*;
    let uses = f.use_counts();
    rewrite(f, |b, i| {
        let d = b.func.insts[i].clone();
        let Some(r) = d.results.first().copied().filter(|_| d.op == Fmul && !d.precise) else { return Action::Keep };
        let ty = b.func.ty(r);
        let lanes = ty.lanes as usize;
        let constant = |f: &Function, v: Value| {
            let c = f.const_bits(v)?[..lanes].iter().map(|c| f32::from_bits(*c)).collect::<Vec<_>>();
            c.iter().all(|x| x.is_normal() && x.abs() <= SMALL).then_some(c)
        };
        if ty.scalar != Scalar::F32 {
            return Action::Keep;
        }
        for (sum, factor) in [(d.args[0], d.args[1]), (d.args[1], d.args[0])] {
            let Some(m) = constant(b.func, factor) else { continue };
            let sum = b.func.resolve(sum);
            let Some(s) =
                b.func.def_inst(sum).map(|s| b.func.insts[s].clone()).filter(|s| s.args.len() == 2 && !s.precise && uses[sum] == 1)
            else {
                continue;
            };
            // The unknown and its sign, the constant and its sign.
            let (x, k, minus) = match (s.op, constant(b.func, s.args[0]), s.args.get(1).and_then(|v| constant(b.func, *v))) {
                (Fadd, None, Some(k)) => (s.args[0], k, [1.0, 1.0]),
                (Fadd, Some(k), None) => (s.args[1], k, [1.0, 1.0]),
                (Fsub, Some(k), None) => (s.args[1], k, [-1.0, 1.0]),
                (Fsub, None, Some(k)) => (s.args[0], k, [1.0, -1.0]),
                _ => continue,
            };
            let mut vector = |of: &dyn Fn(usize) -> f32| {
                let bits = std::array::from_fn(|n| if n < lanes { of(n).to_bits() } else { 0 });
                b.typed(Const, ty, &[], Imm::Const(bits))
            };
            let factor = vector(&|n| minus[0] * m[n]);
            let term = vector(&|n| minus[1] * k[n] * m[n]);
            return Action::Replace(b.ins(Fmad, &[x, factor, term]));
        }
        Action::Keep
    })
}

/// Product and sum round separately anyway: a product of uniforms is better made once for the whole draw.
fn product_of_uniforms(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let uniform = |n: usize| is_uniform(b.func, d.args[n], 6);
    if ty.scalar != Scalar::F32 || !uniform(0) || !uniform(1) || uniform(2) {
        return None;
    }
    let p = b.ins(Opcode::Fmul, &d.args[..2]);
    Some(b.ins(Opcode::Fadd, &[p, d.args[2]]))
}

/// Whether a value is made of uniforms and constants alone.
fn is_uniform(f: &Function, v: Value, depth: u32) -> bool {
    use Opcode::*;
    let Some(i) = f.def_inst(v) else { return false };
    let d = &f.insts[i];
    match d.op {
        Const => true,
        Uniform => d.args.is_empty(),
        Splat | Build | Extract | Insert | Shuffle | Fneg | Fabs | Fadd | Fsub | Fmul | Fmad | Fmin | Fmax | Dot | Frcp | Frsqrt => {
            depth > 0 && d.args.iter().all(|a| is_uniform(f, *a, depth - 1))
        }
        _ => false,
    }
}

fn floor(b: &mut Builder, x: Value) -> Value {
    let fr = b.ins(Opcode::Ffract, &[x]);
    b.ins(Opcode::Fsub, &[x, fr])
}

/// A magnitude with the sign bit of `x`.
fn with_sign(b: &mut Builder, magnitude: Value, x: Value, ty: Type) -> Value {
    let int = ty.with_scalar(Scalar::I32);
    let k = b.iconst(int, 0x8000_0000);
    let bits = b.typed(Opcode::Bitcast, int, &[x], Imm::None);
    let sign = b.ins(Opcode::Iand, &[bits, k]);
    let bits = b.typed(Opcode::Bitcast, int, &[magnitude], Imm::None);
    let v = b.ins(Opcode::Ior, &[bits, sign]);
    b.typed(Opcode::Bitcast, ty, &[v], Imm::None)
}

/// The floor of the magnitude with the sign bit put back.
fn trunc(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    if ty.scalar != Scalar::F32 {
        return float::ftrunc_floor(b, d, ty);
    }
    let a = b.ins(Opcode::Fabs, &[d.args[0]]);
    let down = floor(b, a);
    Some(with_sign(b, down, d.args[0], ty))
}

/// Adding and taking away 2^23 rounds a magnitude to even; larger ones are whole already.
fn round(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    if ty.scalar == Scalar::F16 {
        return float::f16_by_f32(b, d, ty);
    }
    let magic = b.fconst(ty, 8_388_608.0);
    let x = b.ins(Opcode::Fabs, &[d.args[0]]);
    let up = b.ins(Opcode::Fadd, &[x, magic]);
    let r = b.ins(Opcode::Fsub, &[up, magic]);
    let c = b.fcmp(FloatCC::Olt, x, magic);
    let r = b.select(c, r, x);
    Some(with_sign(b, r, d.args[0], ty))
}

/// sin(2πt) for t turns: w = fract(t + 1/4) - 1/2, a = 1/4 - |w|, an odd polynomial in a; the cosine a quarter turn on.
fn wave(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let k = b.fconst(ty, 0.159_154_94);
    let s = b.fconst(ty, if d.op == Opcode::Fsin { 0.25 } else { 0.5 });
    let t = b.ins(Opcode::Fmad, &[d.args[0], k, s]);
    let fr = b.ins(Opcode::Ffract, &[t]);
    let half = b.fconst(ty, -0.5);
    let w = b.ins(Opcode::Fadd, &[fr, half]);
    let w = b.ins(Opcode::Fabs, &[w]);
    let quarter = b.fconst(ty, 0.25);
    let a = b.ins(Opcode::Fsub, &[quarter, w]);
    let a2 = b.ins(Opcode::Fmul, &[a, a]);
    // Taylor coefficients of sin(2πa).
    const C: [f32; 5] = [42.058_693, -76.705_86, 81.605_25, -41.341_7, 6.283_185_5];
    let mut p = b.fconst(ty, C[0]);
    for c in &C[1..] {
        let c = b.fconst(ty, *c);
        p = b.ins(Opcode::Fmad, &[p, a2, c]);
    }
    Some(b.ins(Opcode::Fmul, &[p, a]))
}

fn dot_of_two(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    if b.func.ty(d.args[0]).lanes != 2 {
        return None;
    }
    let lane = |b: &mut Builder, n: usize, k: u8| b.extract(d.args[n], k);
    let (x0, y0, x1, y1) = (lane(b, 0, 0), lane(b, 1, 0), lane(b, 0, 1), lane(b, 1, 1));
    let p = b.ins(Opcode::Fmul, &[x0, y0]);
    Some(b.ins(Opcode::Fmad, &[x1, y1, p]))
}

fn ext(b: &mut Builder, name: &str, ty: Type, args: &[Value]) -> Value {
    b.typed(Opcode::Ext, ty, args, Imm::Ext(name.into()))
}

/// VPCK makes 16-bit integers: one half from what is left of the multiples of 65,536, the other from their number.
fn float_to_integer(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let signed = d.op == Opcode::F2s;
    let a = d.args[0];
    let x = if b.func.ty(a).scalar == Scalar::F16 { b.typed(Opcode::Fcvt, F32, &[a], Imm::None) } else { a };
    let x = if signed {
        let size = b.ins(Opcode::Fabs, &[x]);
        let down = floor(b, size);
        with_sign(b, down, x, F32)
    } else {
        let zero = b.fconst(F32, 0.0);
        let x = b.ins(Opcode::Fmax, &[x, zero]);
        floor(b, x)
    };
    let (low, top) = if signed { (-2_147_483_648.0, 2_147_483_648.0) } else { (0.0, 4_294_967_296.0) };
    let lowest = b.fconst(F32, low);
    let t = if signed { b.ins(Opcode::Fmax, &[x, lowest]) } else { x };
    let (scale, back) = (b.fconst(F32, 1.0 / 65536.0), b.fconst(F32, -65536.0));
    let q = b.ins(Opcode::Fmul, &[t, scale]);
    let h = floor(b, q);
    let l = b.ins(Opcode::Fmad, &[h, back, t]);
    let v = ext(b, if signed { "usse.pack16s" } else { "usse.pack16u" }, I32, &[l, h]);
    let limit = b.fconst(F32, top);
    let (most, zero) = (b.iconst(I32, if signed { 0x7fff_ffff } else { !0 }), b.iconst(I32, 0));
    let big = b.fcmp(FloatCC::Oge, x, limit);
    let v = b.select(big, most, v);
    if !signed {
        return Some(v);
    }
    // NaN gives 0.
    let number = b.fcmp(FloatCC::Oeq, a, a);
    Some(b.select(number, v, zero))
}

/// The float behind an integer, and whether it becomes a signed one.
fn converted(b: &mut Builder, v: Value) -> Option<(Value, bool)> {
    let f = &b.func;
    let of = |v: Value| f.def_inst(v).map(|i| &f.insts[i]).filter(|d| matches!(d.op, Opcode::F2s | Opcode::F2u));
    let (from, lane, signed) = match (of(v), f.def_if(v, Opcode::Extract).map(|d| (d.args[0], &d.imm))) {
        (Some(d), _) => (d.args[0], 0, d.op == Opcode::F2s),
        (_, Some((vector, Imm::Lane(k)))) => of(vector).map(|d| (d.args[0], *k, d.op == Opcode::F2s))?,
        _ => return None,
    };
    let x = b.extract(from, lane);
    Some((if b.func.ty(x).scalar == Scalar::F16 { b.typed(Opcode::Fcvt, F32, &[x], Imm::None) } else { x }, signed))
}

/// An integer from a float that is clamped to 16 bits at once, as array indices are: clamped as a float it is one VPCK.
fn clamped_float(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    use Opcode::*;
    let constant = |f: &Function, d: &InstData| {
        let &[a, c] = &d.args[..] else { return None };
        [(a, c), (c, a)].into_iter().find_map(|(v, c)| Some((f.resolve(v), f.const_bits(c)?[0])))
    };
    if ty != I32 {
        return None;
    }
    let (value, k) = constant(b.func, d)?;
    let bound = |f: &Function, v: Value| f.def_inst(v).map(|i| f.insts[i].clone()).and_then(|d| Some((d.op, constant(f, &d)?)));
    let inner = bound(b.func, value).filter(|(op, _)| matches!(op, Umin | Smin | Umax | Smax));
    // The least, the most, and what is clamped; without a least one negative integers count as large.
    let (low, high, value) = match (d.op, inner) {
        (Umin, None) => (None, k, value),
        (Umin | Smin, Some((Smax | Umax, (v, low)))) => (Some(low), k, v),
        (Smax | Umax, Some((Smin | Umin, (v, high)))) => (Some(k), high, v),
        _ => return None,
    };
    let unsigned = |op: Opcode| matches!(op, Umin | Umax);
    if high > 0xffff || low.is_some_and(|low| low > high) {
        return None;
    }
    let (x, signed) = converted(b, value)?;
    // Comparisons are of the conversion's own kind, but for the last one where nothing is negative any more.
    let own = |op: Opcode| unsigned(op) != signed;
    if low.is_some() && !(inner.is_some_and(|i| own(i.0)) && (own(d.op) || d.op == Umin)) {
        return None;
    }
    let (least, most) = (b.fconst(F32, low.unwrap_or(0) as f32), b.fconst(F32, high as f32));
    let at_least = b.ins(Fmax, &[x, least]);
    let small = b.ins(Fmin, &[at_least, most]);
    let zero = b.fconst(F32, 0.0);
    let v = ext(b, "usse.pack16u", I32, &[small, zero]);
    if !signed || low.is_some() {
        return Some(v);
    }
    let minus = b.fconst(F32, -1.0);
    let negative = b.fcmp(FloatCC::Ole, x, minus);
    let last = b.iconst(I32, high);
    Some(b.select(negative, last, v))
}

fn integer_to_float(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let high = ext(b, if d.op == Opcode::S2f { "usse.s16hf" } else { "usse.u16hf" }, F32, &[d.args[0]]);
    let low = ext(b, "usse.u16f", F32, &[d.args[0]]);
    let k = b.fconst(F32, 65536.0);
    let r = b.ins(Opcode::Fmad, &[high, k, low]);
    Some(if ty.scalar == Scalar::F16 { b.typed(Opcode::Fcvt, ty, &[r], Imm::None) } else { r })
}

fn iabs(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let n = b.ins(Opcode::Ineg, &[d.args[0]]);
    let zero = b.iconst(ty, 0);
    let c = b.icmp(IntCC::Slt, d.args[0], zero);
    Some(b.select(c, n, d.args[0]))
}

/// Shifts count modulo 32.
fn shift(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let small = |v: Value| b.func.const_bits(v).is_some_and(|c| c[..ty.lanes as usize].iter().all(|n| *n < 32));
    let masked = b.func.def_if(d.args[1], Opcode::Iand).is_some_and(|m| m.args.iter().any(|x| small(*x)));
    if masked || small(d.args[1]) {
        return None;
    }
    let m = b.iconst(ty, 31);
    let n = b.ins(Opcode::Iand, &[d.args[1], m]);
    Some(b.ins(d.op, &[d.args[0], n]))
}

/// Relations that need two tests; the others are one, or one's opposite.
fn both_orders(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    use FloatCC::*;
    matches!(d.imm, Imm::FloatCC(Ord | Uno | One | Ueq)).then(|| float::fcmp_basic(b, d, ty)).flatten()
}

/// Equality of truth values.
fn truths(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let Imm::IntCC(cc) = d.imm else { return None };
    if b.func.ty(d.args[0]).scalar != Scalar::I1 {
        return None;
    }
    let x = b.ins(Opcode::Ixor, &d.args);
    Some(if cc == IntCC::Eq { b.ins(Opcode::Inot, &[x]) } else { x })
}

fn truths_apart(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    if ty.scalar == Scalar::I1 { each_lane(b, d, ty) } else { None }
}

fn any_all(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let lanes: Vec<Value> = (0..b.func.ty(d.args[0]).lanes).map(|k| b.extract(d.args[0], k)).collect();
    let op = if d.op == Opcode::Any { Opcode::Ior } else { Opcode::Iand };
    lanes.into_iter().reduce(|a, l| b.ins(op, &[a, l]))
}

fn choices_apart(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    if b.func.ty(d.args[0]).lanes > 1 { each_lane(b, d, ty) } else { None }
}

/// The same operation lane by lane.
fn each_lane(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    if ty.lanes < 2 {
        return None;
    }
    let mut out = Vec::new();
    for k in 0..ty.lanes {
        let args: Vec<Value> = d.args.iter().map(|v| b.extract(*v, k)).collect();
        let mut data = InstData::new(d.op, &args, d.imm.clone());
        (data.precise, data.relaxed) = (d.precise, d.relaxed);
        let i = b.push(data, &[ty.lane()]);
        out.push(b.func.insts[i].results[0]);
    }
    Some(b.build(&out))
}
