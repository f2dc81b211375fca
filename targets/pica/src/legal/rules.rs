//! Operations that the machine lacks, and identities of its arithmetic, as a list of rules: shared ones where they fit, and the
//! machine's own. Facts: ISA sheet sections 9 (arithmetic), 17 (recipes).

use crate::legal::exact::{truncated, unsupported};
use crate::legal::tables::Table;
use crate::legal::truths::truth;
use crate::legal::{algebra, lane};
use retroshade_ir::passes::rewrite::splat_float;
use retroshade_ir::*;
use retroshade_lower::CompileError;
use retroshade_lower::legal::{Rule, float};

/// By operation; of several for one, the first that takes it.
pub const RULES: &[(Opcode, Rule)] = &[
    (Opcode::Fdiv, float::fdiv_rcp),
    (Opcode::Fsqrt, float::fsqrt_rcp_rsqrt),
    (Opcode::Fabs, float::fabs_max),
    (Opcode::Fceil, float::fceil_floor),
    (Opcode::Ffract, float::ffract_floor),
    (Opcode::Fpow, float::fpow),
    (Opcode::Ftrunc, |b, d, _| Some(truncated(b, d.args[0]))),
    (Opcode::Fround, round),
    (Opcode::Fsaturate, saturate),
    (Opcode::Fsign, sign),
    (Opcode::Fsin, |b, d, _| Some(circle(b, d.args[0], true))),
    (Opcode::Fcos, |b, d, _| Some(circle(b, d.args[0], false))),
    (Opcode::Fadd, with_zero),
    (Opcode::Fsub, with_zero),
    (Opcode::Fmul, with_zero),
    (Opcode::Fmad, with_zero),
    (Opcode::Fma, with_zero),
    (Opcode::Fma, float::fma_fmad),
    (Opcode::Dot, dot),
    (Opcode::Frcp, |b, d, _| if d.precise { None } else { algebra::reciprocal(b, d.args[0]) }),
    (Opcode::Fmin, uniform_first),
    (Opcode::Fmax, uniform_first),
    (Opcode::Select, select),
];

/// The first operation that nothing replaces.
pub fn lacking(f: &Function) -> Option<CompileError> {
    f.ordered().find_map(|(_, i)| {
        let what = match f.insts[i].op {
            Opcode::Discard | Opcode::Kill => "only fragment programs can discard".to_string(),
            Opcode::LocalStore | Opcode::LocalLoad => {
                "an array indexed by a computed value needs memory, which the machine lacks".to_string()
            }
            op @ (Opcode::Tex | Opcode::Ddx | Opcode::Ddy) => format!("the machine has no `{}`", op.name()),
            _ => return None,
        };
        Some(unsupported(f.spans[i], what))
    })
}

/// Beyond a half one up, and at a half where the whole part is odd; the fraction is exact, as no sum before a floor would be.
fn round(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let half = b.fconst(ty, 0.5);
    let q = b.ins(Opcode::Ffloor, &[d.args[0]]);
    let f = b.ins(Opcode::Fsub, &[d.args[0], q]);
    let h = b.ins(Opcode::Fmul, &[q, half]);
    let hf = b.ins(Opcode::Ffloor, &[h]);
    let odd = b.ins(Opcode::Fsub, &[h, hf]);
    let two = b.fconst(ty, 2.0);
    let odd = b.ins(Opcode::Fmul, &[odd, two]);
    let above = b.typed(Opcode::Ext, ty, &[half, f], Imm::Ext("pica.slt".into()));
    let tie = b.typed(Opcode::Ext, ty, &[f, half], Imm::Ext("pica.sge".into()));
    let tie = b.ins(Opcode::Fmul, &[tie, odd]);
    let up = b.ins(Opcode::Fmax, &[above, tie]);
    Some(b.ins(Opcode::Fadd, &[q, up]))
}

fn saturate(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let (zero, one) = (b.fconst(ty, 0.0), b.fconst(ty, 1.0));
    let q = b.ins(Opcode::Fmax, &[zero, d.args[0]]);
    Some(b.ins(Opcode::Fmin, &[one, q]))
}

/// One comparison less the other.
fn sign(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let zero = b.fconst(ty, 0.0);
    let p = b.typed(Opcode::Ext, ty, &[zero, d.args[0]], Imm::Ext("pica.slt".into()));
    let n = b.typed(Opcode::Ext, ty, &[d.args[0], zero], Imm::Ext("pica.slt".into()));
    Some(b.ins(Opcode::Fsub, &[p, n]))
}

/// The machine knows no negative zero, and nothing times zero is zero, but for NaN.
fn with_zero(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let zero = |n: usize| is_zero(b.func, d.args[n]);
    match d.op {
        Opcode::Fadd | Opcode::Fsub if zero(1) => Some(d.args[0]),
        Opcode::Fadd if zero(0) => Some(d.args[1]),
        Opcode::Fmul if zero(0) || zero(1) => Some(b.fconst(ty, 0.0)),
        Opcode::Fma | Opcode::Fmad if zero(0) || zero(1) => Some(d.args[2]),
        _ => None,
    }
}

/// The uniform goes where only a uniform can go.
fn uniform_first(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let (x, y) = (d.args[0], d.args[1]);
    (uniform_like(b.func, y) && !uniform_like(b.func, x)).then(|| b.ins(d.op, &[y, x]))
}

/// Whether a value is zero in all lanes.
fn is_zero(f: &Function, v: Value) -> bool {
    splat_float(f, v) == Some(0.0)
}

/// Whether every lane comes from uniforms and constants.
pub fn uniform_like(f: &Function, v: Value) -> bool {
    let Some(d) = f.def_inst(f.resolve(v)).map(|i| &f.insts[i]) else { return false };
    match d.op {
        Opcode::Const | Opcode::Uniform => true,
        Opcode::Ext => Table::of(&d.imm).is_some(),
        Opcode::Build | Opcode::Splat | Opcode::Extract | Opcode::Insert | Opcode::Shuffle | Opcode::Fneg => {
            d.args.iter().all(|a| uniform_like(f, *a))
        }
        _ => false,
    }
}

/// cos(x), or sin(x) = cos(x - π/2): whole turns removed, folded to a quarter, odd polynomial of degree 9.
fn circle(b: &mut Builder, x: Value, sine: bool) -> Value {
    let ty = b.func.ty(x);
    let c = |b: &mut Builder, v: f64| b.fconst(ty, v as f32);
    let turns = c(b, 1.0 / std::f64::consts::TAU);
    let shift = c(b, if sine { -0.25 } else { 0.0 });
    let half = c(b, 0.5);
    let quarter = c(b, 0.25);
    let t = b.ins(Opcode::Fmul, &[x, turns]);
    let t = if sine { b.ins(Opcode::Fadd, &[t, shift]) } else { t };
    let near = b.ins(Opcode::Fadd, &[t, half]);
    let near = b.ins(Opcode::Ffloor, &[near]);
    let f = b.ins(Opcode::Fsub, &[t, near]);
    let n = b.ins(Opcode::Fneg, &[f]);
    let f = b.ins(Opcode::Fmax, &[f, n]);
    let v = b.ins(Opcode::Fsub, &[quarter, f]);
    let s = b.ins(Opcode::Fmul, &[v, v]);
    // Taylor coefficients of sin(2πv); the last one is fitted so that the error at a quarter vanishes.
    let mut p = c(b, 39.710_670);
    for k in [-76.574_980, 81.602_226, -41.341_675, std::f64::consts::TAU] {
        let k = c(b, k);
        p = b.ins(Opcode::Fmad, &[p, s, k]);
    }
    b.ins(Opcode::Fmul, &[p, v])
}

/// Dot products of two become product and sum; zero lanes at the end go away.
fn dot(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let a = &d.args;
    let n = b.func.ty(a[0]).lanes;
    let zero_last = a.iter().any(|v| crate::abi::constant_lane(b.func, *v, n - 1).is_some_and(|c| c & 0x7fff_ffff == 0));
    if zero_last && n > 2 {
        let mask: Vec<u8> = (0..n - 1).collect();
        let parts: Vec<Value> = a.iter().map(|v| b.shuffle(*v, *v, &mask)).collect();
        return Some(b.ins(Opcode::Dot, &parts));
    }
    if n != 2 {
        return None;
    }
    let (x0, y0) = (lane(b, a[0], 0), lane(b, a[1], 0));
    let p = b.ins(Opcode::Fmul, &[x0, y0]);
    let (x1, y1) = (lane(b, a[0], 1), lane(b, a[1], 1));
    Some(b.ins(Opcode::Fmad, &[x1, y1, p]))
}

/// Choices between 0 and 1 are comparisons.
fn select(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
    let (yes, no) = (splat_float(b.func, d.args[1])?, splat_float(b.func, d.args[2])?);
    let c = b.func.def_if(d.args[0], Opcode::Fcmp).cloned()?;
    let Imm::FloatCC(cc) = c.imm else { return None };
    if b.func.ty(d.args[1]).is_vector() || b.func.ty(c.args[0]).is_vector() {
        return None;
    }
    let direct = |cc: FloatCC| matches!(cc, FloatCC::Olt | FloatCC::Ogt | FloatCC::Ole | FloatCC::Oge);
    match (yes, no) {
        (1.0, 0.0) if direct(cc) => Some(truth(b, cc, c.args[0], c.args[1])),
        (0.0, 1.0) if direct(cc.inverse()) => Some(truth(b, cc.inverse(), c.args[0], c.args[1])),
        _ => None,
    }
}
