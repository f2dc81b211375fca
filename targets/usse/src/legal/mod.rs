//! Legalisation: what the machine lacks becomes what it has, in the IR, where the interpreter sees it.
//!
//! Facts: the ISA sheet's sections 10, 11.2, 12 and 17.5. The order is: optimise, expand, clean up, narrow to f16 where the
//! caller allows it, structure control flow.

pub mod discards;
pub mod numerics;
pub mod pairs;
pub mod precision;

use crate::legal::numerics::UsseNumerics;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::passes::{FpContract, PassOptions, pipeline, sequence};
use retroshade_ir::types::{F32, I1, I32};
use retroshade_ir::*;
use retroshade_lower::legal::{BITS_AND_PACKING, Rule, bits, intdiv, mul};
use retroshade_lower::structure::{StructureOptions, structurise};
use retroshade_lower::{CompileError, OptLevel, Options};

static NUM: UsseNumerics = UsseNumerics;

/// What the pass pipeline is asked for.
pub fn pass_options(o: &Options) -> PassOptions {
    let level = match o.opt {
        OptLevel::O0 => 0,
        OptLevel::O1 => 1,
        _ => 2,
    };
    PassOptions {
        level,
        fp_contract: if o.fp_contract { FpContract::Fmad } else { FpContract::None },
        contract_shared: true,
        unroll_fuel: if level < 2 { 0 } else { 128 },
        if_convert_cost: if level == 0 { 0 } else { 6 },
        robust: o.robust,
        lower_switches: true,
        local_select: ARRAY,
        remat: false,
        numerics: &NUM,
        ..PassOptions::default()
    }
}

/// Integer operations that the shared expansions take care of, beside bits and packing.
static RULES: &[(Opcode, Rule)] = &[
    (Opcode::Udiv, intdiv::by_float),
    (Opcode::Sdiv, intdiv::by_float),
    (Opcode::Urem, intdiv::by_float),
    (Opcode::Srem, intdiv::by_float),
    (Opcode::Umulhi, mul::umulhi_imul),
    (Opcode::Smulhi, mul::smulhi_umulhi),
    (Opcode::FindUmsb, bits::find_umsb_float),
];

/// Rounds of expansion: what one round leaves is made of simpler operations (a power of exp2, log2 and products; those of
/// range reductions), so that few suffice. More mean that two rules undo each other.
const ROUNDS: usize = 16;

/// Expands until nothing changes.
fn expand_all(f: &mut Function) -> Result<(), CompileError> {
    match (0..ROUNDS).any(|_| !expand(f)) {
        true => Ok(()),
        false => Err(CompileError::Internal("expansion does not come to an end".to_string())),
    }
}

/// Optimises and legalises. With `sink`, values are made as late as they can be, which keeps fewer alive at a time; with
/// `narrow`, values may be f16 where the options allow it. `dump` sees the module after each step.
pub fn legalise(
    source: &Module,
    o: &Options,
    sink: bool,
    narrow: bool,
    dump: &mut dyn FnMut(&str, &Module),
) -> Result<Module, CompileError> {
    let mut m = source.clone();
    let mut passes = pass_options(o);
    if sink {
        (passes.unroll_fuel, passes.if_convert_cost, passes.remat) = (0, 0, true);
    }
    let entry = m.entry;
    // An index beyond the end reads the last element, as on the interpreter.
    retroshade_ir::passes::robust::uniforms(&mut m);
    pipeline(&mut m, &passes, &mut |name, m| dump(name, m));
    if !m.functions[entry].locals.is_empty() {
        sequence(&mut m, &["local_select", "promote", "dce"], &passes);
        settle_arrays(&mut m.functions[entry])?;
    }
    if o.opt > OptLevel::O1 && !sink {
        crate::legal::pairs::run(&mut m.functions[entry]);
        dump("pack", &m);
    }
    retroshade_lower::legal::apply(&mut m.functions[entry], &[RULES, BITS_AND_PACKING].concat());
    expand_all(&mut m.functions[entry])?;
    dump("expand", &m);
    sequence(&mut m, &["simplify", "gvn", "dce"], &passes);
    // Simplification may have put together again what was taken apart.
    expand_all(&mut m.functions[entry])?;
    if m.stage == Stage::Fragment {
        precision::run(&mut m, o, narrow);
        sequence(&mut m, &["gvn", "dce"], &passes);
        dump("narrow", &m);
    }
    if m.stage == Stage::Fragment && o.opt > OptLevel::O0 {
        crate::legal::precision::preload(&mut m);
        dump("preload", &m);
    }
    structurise(&mut m.functions[entry], StructureOptions::default())?;
    if o.opt > OptLevel::O1 && m.stage == Stage::Fragment && crate::legal::discards::run(&mut m.functions[entry]) {
        dump("kills", &m);
    }
    if sink {
        sink_values(&mut m.functions[entry]);
    }
    sequence(&mut m, &["dce"], &passes);
    dump("legal", &m);
    Ok(m)
}

/// Moves what has no effect to its first use within its block, so that it is not alive before.
fn sink_values(f: &mut Function) {
    for b in f.layout.clone() {
        let mut insts = f.blocks[b].insts.clone();
        for n in (0..insts.len()).rev() {
            let i = insts[n];
            let d = &f.insts[i];
            let (Some(r), true) = (f.result(i), d.op.effect() == Effect::Pure) else { continue };
            // Neighbours take part in derivatives and implicit levels: those stay in their order.
            if matches!(d.op, Opcode::Tex | Opcode::Ddx | Opcode::Ddy) {
                continue;
            }
            if let Some(first) = insts[n + 1..].iter().position(|u| f.reads(*u).contains(&r)) {
                insts[n..=n + first].rotate_left(1);
            }
        }
        f.blocks[b].insts = insts;
    }
}

/// Elements of a local array with computed indices: each access selects among all of them.
const ARRAY: u32 = 64;

/// Arrays that are only read hold zeros, arrays that are only written hold nothing; the machine has no memory for the rest.
fn settle_arrays(f: &mut Function) -> Result<(), CompileError> {
    let of = |f: &Function, i: Inst| match (f.insts[i].op, &f.insts[i].imm) {
        (Opcode::LocalLoad, Imm::Mem { var: MemRef::Local(l), .. }) => Some((*l, false)),
        (Opcode::LocalStore, Imm::Mem { var: MemRef::Local(l), .. }) => Some((*l, true)),
        _ => None,
    };
    let all: Vec<(Local, bool)> = f.ordered().filter_map(|(_, i)| of(f, i)).collect();
    if all.is_empty() {
        return Ok(());
    }
    let has = |l: Local, store: bool| all.contains(&(l, store));
    rewrite(f, |b, i| match of(b.func, i) {
        Some((l, false)) if !has(l, true) => {
            let ty = b.func.insts[i].results.first().map_or(F32, |r| b.func.ty(*r));
            Action::Replace(b.splat_const(ty, 0))
        }
        Some((l, true)) if !has(l, false) => Action::Remove,
        _ => Action::Keep,
    });
    match f.ordered().find_map(|(_, i)| of(f, i).map(|(l, _)| (l, f.spans[i]))) {
        Some((l, span)) => {
            let d = &f.locals[l];
            let what = format!("the array `{}` is read or written at computed places", d.name);
            Err(CompileError::limit("U0105", span, what, d.count as u64, ARRAY as u64))
        }
        None => Ok(()),
    }
}

fn f32s(ty: Type) -> bool {
    ty.is_float()
}

/// Quotients that are rounded to integers: there the last bit decides.
fn rounded_quotients(f: &Function) -> Vec<Value> {
    use Opcode::*;
    let mut out = Vec::new();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        if matches!(d.op, Ffloor | Ffract | Ftrunc | Fceil | Fround | F2s | F2u) {
            out.extend(d.args.iter().filter(|a| f.def_if(**a, Fdiv).is_some()));
        }
    }
    out
}

/// One round of expansions; true if something changed.
fn expand(f: &mut Function) -> bool {
    let exact = rounded_quotients(f);
    rewrite(f, |b, i| {
        let d = b.func.insts[i].clone();
        let Some(r) = d.results.first().copied() else {
            return Action::Keep;
        };
        let ty = b.func.ty(r);
        b.precise = d.precise;
        // A bias of 0 is none.
        if let Imm::Tex(info) = &d.imm
            && info.lod == TexLod::Bias
            && let Some(last) = d.args.last()
            && b.func.const_bits(*last).is_some_and(|c| c[0] == 0)
        {
            let mut plain = (**info).clone();
            plain.lod = TexLod::Implicit;
            b.func.insts[i].imm = Imm::Tex(Box::new(plain));
            b.func.insts[i].args.pop();
            return Action::Changed;
        }
        if d.op == Opcode::Fdiv && exact.contains(&r) {
            // One correction by the remainder.
            let q0 = b.ins(Opcode::Frcp, &[d.args[1]]);
            let q = b.ins(Opcode::Fmul, &[d.args[0], q0]);
            let n = b.ins(Opcode::Fneg, &[q]);
            let e = b.ins(Opcode::Fmad, &[n, d.args[1], d.args[0]]);
            let v = b.ins(Opcode::Fmad, &[e, q0, q]);
            return Action::Replace(v);
        }
        match expansion(b, &d, ty) {
            Some(v) => Action::Replace(v),
            None => Action::Keep,
        }
    })
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

fn trunc(b: &mut Builder, x: Value, ty: Type) -> Value {
    // floor(|x|) with x's sign.
    let a = b.ins(Opcode::Fabs, &[x]);
    let down = floor(b, a);
    if ty.scalar == Scalar::F32 {
        return with_sign(b, down, x, ty);
    }
    let up = b.ins(Opcode::Fneg, &[down]);
    let zero = b.fconst(ty, 0.0);
    let c = b.fcmp(FloatCC::Olt, x, zero);
    b.select(c, up, down)
}

fn ext(b: &mut Builder, name: &str, ty: Type, args: &[Value]) -> Value {
    b.typed(Opcode::Ext, ty, args, Imm::Ext(name.into()))
}

/// sin(2π(t)) for t in turns, already shifted by the caller: w = fract(t + 1/4) - 1/2, a = 1/4 - |w|, odd polynomial in a.
fn wave(b: &mut Builder, turns: Value, shift: f32, ty: Type) -> Value {
    let s = b.fconst(ty, shift);
    let t = b.ins(Opcode::Fadd, &[turns, s]);
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
    b.ins(Opcode::Fmul, &[p, a])
}

fn lanes_of(b: &mut Builder, v: Value) -> Vec<Value> {
    let n = b.func.ty(v).lanes;
    (0..n).map(|k| b.extract(v, k)).collect()
}

fn expansion(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    use Opcode::*;
    let a = |n: usize| d.args[n];
    Some(match d.op {
        Fma => b.ins(Fmad, &d.args),
        // Product and sum round separately anyway: a product of uniforms is better made once for the whole draw.
        Fmad if ty.scalar == Scalar::F32 && is_uniform(b.func, a(0), 6) && is_uniform(b.func, a(1), 6) && !is_uniform(b.func, a(2), 6) => {
            let p = b.ins(Fmul, &[a(0), a(1)]);
            b.ins(Fadd, &[p, a(2)])
        }
        Fdiv => {
            let r = b.ins(Frcp, &[a(1)]);
            b.ins(Fmul, &[a(0), r])
        }
        Fsqrt => {
            let r = b.ins(Frsqrt, &[a(0)]);
            b.ins(Frcp, &[r])
        }
        Ffloor => floor(b, a(0)),
        Fceil => {
            let n = b.ins(Fneg, &[a(0)]);
            let f = floor(b, n);
            b.ins(Fneg, &[f])
        }
        Ftrunc => trunc(b, a(0), ty),
        Fround if ty.scalar == Scalar::F16 => {
            let x = b.typed(Fcvt, ty.with_scalar(Scalar::F32), &[a(0)], Imm::None);
            let r = b.ins(Fround, &[x]);
            b.typed(Fcvt, ty, &[r], Imm::None)
        }
        Fround => {
            // Adding and taking away 2^23 rounds a magnitude to even; larger ones are integral already.
            let magic = b.fconst(ty, 8_388_608.0);
            let x = b.ins(Fabs, &[a(0)]);
            let up = b.ins(Fadd, &[x, magic]);
            let r = b.ins(Fsub, &[up, magic]);
            let c = b.fcmp(FloatCC::Olt, x, magic);
            let r = b.select(c, r, x);
            with_sign(b, r, a(0), ty)
        }
        Fsign => {
            let (zero, one, minus) = (b.fconst(ty, 0.0), b.fconst(ty, 1.0), b.fconst(ty, -1.0));
            let (p, n) = (b.fcmp(FloatCC::Ogt, a(0), zero), b.fcmp(FloatCC::Olt, a(0), zero));
            let low = b.select(n, minus, zero);
            b.select(p, one, low)
        }
        Fsaturate => {
            let (zero, one) = (b.fconst(ty, 0.0), b.fconst(ty, 1.0));
            let m = b.ins(Fmax, &[a(0), zero]);
            b.ins(Fmin, &[m, one])
        }
        Fpow => {
            let l = b.ins(Flog2, &[a(0)]);
            let m = b.ins(Fmul, &[l, a(1)]);
            b.ins(Fexp2, &[m])
        }
        Fsin | Fcos => {
            let k = b.fconst(ty, 0.159_154_94);
            let t = b.ins(Fmul, &[a(0), k]);
            wave(b, t, if d.op == Fsin { 0.25 } else { 0.5 }, ty)
        }
        Dot => {
            let from = b.func.ty(a(0));
            if from.lanes != 2 {
                return None;
            }
            let (x, y) = (lanes_of(b, a(0)), lanes_of(b, a(1)));
            let p = b.ins(Fmul, &[x[0], y[0]]);
            b.ins(Fmad, &[x[1], y[1], p])
        }
        F2s | F2u if ty.lanes > 1 => each_lane(b, d, ty),
        S2f | U2f if ty.lanes > 1 => each_lane(b, d, ty),
        F2s | F2u => {
            let signed = d.op == F2s;
            let x = if b.func.ty(a(0)).scalar == Scalar::F16 { b.typed(Fcvt, F32, &[a(0)], Imm::None) } else { a(0) };
            let x = if signed {
                trunc(b, x, F32)
            } else {
                let zero = b.fconst(F32, 0.0);
                let x = b.ins(Fmax, &[x, zero]);
                floor(b, x)
            };
            let (low, top) = if signed { (-2_147_483_648.0, 2_147_483_648.0) } else { (0.0, 4_294_967_296.0) };
            let lowest = b.fconst(F32, low);
            let t = if signed { b.ins(Fmax, &[x, lowest]) } else { x };
            let (scale, back) = (b.fconst(F32, 1.0 / 65536.0), b.fconst(F32, -65536.0));
            let q = b.ins(Fmul, &[t, scale]);
            let h = floor(b, q);
            let l = b.ins(Fmad, &[h, back, t]);
            let v = ext(b, if signed { "usse.pack16s" } else { "usse.pack16u" }, I32, &[l, h]);
            let limit = b.fconst(F32, top);
            let (most, zero) = (b.iconst(I32, if signed { 0x7fff_ffff } else { !0 }), b.iconst(I32, 0));
            let big = b.fcmp(FloatCC::Oge, x, limit);
            let v = b.select(big, most, v);
            if !signed {
                return Some(v);
            }
            // NaN gives 0.
            let number = b.fcmp(FloatCC::Oeq, a(0), a(0));
            b.select(number, v, zero)
        }
        S2f | U2f => {
            let high = ext(b, if d.op == S2f { "usse.s16hf" } else { "usse.u16hf" }, F32, &[a(0)]);
            let low = ext(b, "usse.u16f", F32, &[a(0)]);
            let k = b.fconst(F32, 65536.0);
            let r = b.ins(Fmad, &[high, k, low]);
            if ty.scalar == Scalar::F16 { b.typed(Fcvt, ty, &[r], Imm::None) } else { r }
        }
        Iabs => {
            let n = b.ins(Ineg, &[a(0)]);
            let zero = b.iconst(ty, 0);
            let c = b.icmp(IntCC::Slt, a(0), zero);
            b.select(c, n, a(0))
        }
        Umin | Umax | Smin | Smax => {
            let cc = match d.op {
                Umin => IntCC::Ult,
                Umax => IntCC::Ugt,
                Smin => IntCC::Slt,
                _ => IntCC::Sgt,
            };
            let c = b.icmp(cc, a(0), a(1));
            b.select(c, a(0), a(1))
        }
        Ishl | Ushr | Sshr => {
            let safe = b.func.const_bits(a(1)).is_some_and(|c| c[..ty.lanes as usize].iter().all(|n| *n < 32));
            let masked = b.func.def_if(a(1), Iand).is_some_and(|m| {
                m.args.iter().any(|x| b.func.const_bits(*x).is_some_and(|c| c[..ty.lanes as usize].iter().all(|n| *n < 32)))
            });
            if safe || masked {
                return None;
            }
            let m = b.iconst(ty, 31);
            let n = b.ins(Iand, &[a(1), m]);
            b.ins(d.op, &[a(0), n])
        }
        Fcmp => {
            let Imm::FloatCC(cc) = d.imm else { return None };
            if ty.lanes > 1 {
                return Some(each_lane(b, d, ty));
            }
            match cc {
                FloatCC::Ord | FloatCC::Uno => {
                    let (x, y) = (b.fcmp(FloatCC::Oeq, a(0), a(0)), b.fcmp(FloatCC::Oeq, a(1), a(1)));
                    let both = b.ins(Iand, &[x, y]);
                    if cc == FloatCC::Ord { both } else { b.ins(Inot, &[both]) }
                }
                FloatCC::One | FloatCC::Ueq => {
                    let (x, y) = (b.fcmp(FloatCC::Olt, a(0), a(1)), b.fcmp(FloatCC::Ogt, a(0), a(1)));
                    let one = b.ins(Ior, &[x, y]);
                    if cc == FloatCC::One { one } else { b.ins(Inot, &[one]) }
                }
                _ => return None,
            }
        }
        Icmp => {
            if ty.lanes > 1 {
                return Some(each_lane(b, d, ty));
            }
            let Imm::IntCC(cc) = d.imm else { return None };
            if b.func.ty(a(0)).scalar != Scalar::I1 {
                return None;
            }
            // Equality of truth values.
            let x = b.ins(Ixor, &[a(0), a(1)]);
            if cc == IntCC::Eq { b.ins(Inot, &[x]) } else { x }
        }
        Iand | Ior | Ixor | Inot if ty.scalar == Scalar::I1 && ty.lanes > 1 => each_lane(b, d, ty),
        Any | All => {
            let v = lanes_of(b, a(0));
            let op = if d.op == Any { Ior } else { Iand };
            let mut acc = v[0];
            for l in &v[1..] {
                acc = b.ins(op, &[acc, *l]);
            }
            acc
        }
        Select if b.func.ty(a(0)).lanes > 1 => each_lane(b, d, ty),
        PackHalf2x16 | UnpackHalf2x16 => return None,
        _ if f32s(ty) => return None,
        _ => return None,
    })
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

/// The same operation lane by lane.
fn each_lane(b: &mut Builder, d: &InstData, ty: Type) -> Value {
    let mut out = Vec::new();
    for k in 0..ty.lanes {
        let args: Vec<Value> = d.args.iter().map(|v| b.extract(*v, k)).collect();
        let mut data = InstData::new(d.op, &args, d.imm.clone());
        data.precise = d.precise;
        let i = b.push(data, &[ty.lane()]);
        out.push(b.func.insts[i].results[0]);
    }
    let _ = I1;
    b.build(&out)
}
