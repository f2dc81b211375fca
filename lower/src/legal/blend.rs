//! Blends: `(1 - t) a + t b` is `a + t (b - a)`, one operation less after the two are known. The shading languages allow it
//! where nothing is `precise`; it is not exact, so targets apply it only where products and sums may be contracted.

use Opcode::{Fadd, Fmad, Fmul, Fsub, Splat};
use retroshade_ir::passes::rewrite::splat_float;
use retroshade_ir::{Builder, Function, InstData, Opcode, Type, Value};

/// The `t` of `1 - t`, in one lane or in all.
fn rest(f: &Function, v: Value) -> Option<Value> {
    let m = f.def_if(v, Fsub).filter(|m| !m.precise)?;
    (splat_float(f, m.args[0]) == Some(1.0)).then(|| m.args[1])
}

/// What stands in all lanes of a value, if that is one scalar.
fn scalar(f: &Function, v: Value) -> Option<Value> {
    f.def_if(v, Splat).map(|d| f.resolve(d.args[0]))
}

/// Whether `left` is 1 - `t`, as vectors or as scalars that stand in all lanes.
fn is_rest(f: &Function, left: Value, t: Value) -> bool {
    let (left, t) = (f.resolve(left), f.resolve(t));
    let same = |l: Value, t: Value| rest(f, l).is_some_and(|r| f.resolve(r) == t);
    same(left, t) || scalar(f, left).zip(scalar(f, t)).is_some_and(|(l, t)| same(l, t))
}

/// The other factor of a product with 1 - `t`, or of one with `t`.
fn partner(f: &Function, product: Value, is: impl Fn(Value) -> bool) -> Option<Value> {
    let m = f.def_if(product, Fmul).filter(|m| !m.precise)?;
    [(0, 1), (1, 0)].into_iter().find(|(k, _)| is(m.args[*k])).map(|(_, k)| m.args[k])
}

/// Rewrites a sum of two such products, or of one and `t` or `1 - t` alone.
pub fn blend(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    if d.precise || !ty.is_float() {
        return None;
    }
    let f = &*b.func;
    if d.op == Fadd {
        let whole = is_rest(f, d.args[0], d.args[1]) || is_rest(f, d.args[1], d.args[0]);
        return whole.then(|| b.fconst(ty, 1.0));
    }
    let sum = d.args[2];
    for (x, y) in [(d.args[0], d.args[1]), (d.args[1], d.args[0])] {
        // From a to b by t; where one of them is left out it is 1.
        let (from, to, t) = if is_rest(f, x, sum) {
            (Some(y), None, sum)
        } else if is_rest(f, sum, x) {
            (None, Some(y), x)
        } else if let Some((t, to)) = blended(f, sum, |t| is_rest(f, x, t)) {
            (Some(y), Some(to), t)
        } else if let Some(from) = partner(f, sum, |l| is_rest(f, l, x)) {
            (Some(from), Some(y), x)
        } else {
            continue;
        };
        let from = from.unwrap_or_else(|| b.fconst(ty, 1.0));
        let to = to.unwrap_or_else(|| b.fconst(ty, 1.0));
        let way = b.ins(Fsub, &[to, from]);
        return Some(b.ins(Fmad, &[t, way, from]));
    }
    None
}

/// The factor of a product that is `t`, and the other one.
fn blended(f: &Function, product: Value, is: impl Fn(Value) -> bool) -> Option<(Value, Value)> {
    let m = f.def_if(product, Fmul).filter(|m| !m.precise)?;
    [(0, 1), (1, 0)].into_iter().find(|(k, _)| is(m.args[*k])).map(|(t, k)| (m.args[t], m.args[k]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legal::apply;
    use retroshade_ir::{InvocationInputs, Module, Reference, ShaderEnv, interp, parse};

    /// What a program gives on numbers on which every step is exact.
    fn results(m: &Module) -> Vec<Vec<Vec<u32>>> {
        let bits = |list: &[f32]| list.iter().map(|x| x.to_bits()).collect();
        let row = |t: f32| InvocationInputs { inputs: vec![bits(&[1.0, 2.0, -3.0]), bits(&[5.0, -7.0, 11.0]), bits(&[t])] };
        let invocations = [0.0, 1.0, 0.5, 0.25, -2.0].map(row).to_vec();
        let env = ShaderEnv { invocations, workgroups: [1; 3], ..ShaderEnv::default() };
        interp::run(m, &env, &Reference).unwrap().invocations.into_iter().map(|i| i.outputs).collect()
    }

    /// How many operations are left of a program whose last value is written; it still computes the same.
    fn left(body: &str) -> Vec<Opcode> {
        let text = format!(
            "shader vertex \"blend\"\ninput %a : f32x3 @location(0)\ninput %b : f32x3 @location(1)\ninput %t : f32 @location(2)\n\
             output %o : f32x3 @location(0)\nblock0:\n    v0 = input.f32x3 %a\n    v1 = input.f32x3 %b\n    v2 = input.f32 %t\n    \
             v3 = splat.f32x3 v2\n    v4 = fconst.f32x3 [1.0, 1.0, 1.0]\n{body}    output %o, v9\n    return\n"
        );
        let mut m = parse("blend", &text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let (entry, before) = (m.entry, results(&m));
        let f = &mut m.functions[entry];
        apply(f, &[(Fmad, blend), (Fadd, blend)]);
        retroshade_ir::passes::dce::run(f);
        assert_eq!(results(&m), before, "{text}");
        let f = &m.functions[entry];
        f.ordered().map(|(_, i)| f.insts[i].op).filter(|op| matches!(op, Fadd | Fsub | Fmul | Fmad)).collect()
    }

    #[test]
    fn two_products_become_one_way() {
        let whole = "    v5 = fsub v4, v3\n    v6 = fmul v0, v5\n    v9 = fmad v1, v3, v6\n";
        assert_eq!(left(whole), [Fsub, Fmad]);
        let other = "    v5 = fsub v4, v3\n    v6 = fmul v1, v3\n    v9 = fmad v5, v0, v6\n";
        assert_eq!(left(other), [Fsub, Fmad]);
        // One of the two is 1: it stands there as t or 1 - t alone.
        let from_one = "    v5 = fsub v4, v3\n    v9 = fmad v1, v3, v5\n";
        assert_eq!(left(from_one), [Fsub, Fmad]);
        let to_one = "    v5 = fsub v4, v3\n    v9 = fmad v0, v5, v3\n";
        assert_eq!(left(to_one), [Fsub, Fmad]);
        assert!(left("    v5 = fsub v4, v3\n    v9 = fadd v3, v5\n").is_empty());
        let apart = "    v5 = fsub v4, v0\n    v6 = fmul v1, v5\n    v9 = fmad v1, v3, v6\n";
        assert_eq!(left(apart), [Fsub, Fmul, Fmad]);
    }

    #[test]
    fn what_is_precise_stays() {
        let whole = "    v5 = fsub v4, v3\n    v6 = fmul v0, v5\n    v9 = precise fmad v1, v3, v6\n";
        assert_eq!(left(whole), [Fsub, Fmul, Fmad]);
    }
}
