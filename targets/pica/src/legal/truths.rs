//! Truth values: what branches and selects can test stays a comparison, all else becomes 0 and 1.

use super::exact::{f32_like, retype_calls, unsupported};
use super::lane;
use cranelift_entity::SecondaryMap;
use retroshade_ir::passes;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::types::{F32, I1};
use retroshade_ir::*;
use retroshade_lower::CompileError;

/// Which truth values can stay tests: up to two comparisons, used by branches and selects only.
fn test_size(f: &Function, v: Value, uniform_ok: bool) -> Option<u32> {
    let d = &f.insts[f.def_inst(v)?];
    match (d.op, &d.imm) {
        (Opcode::Fcmp, Imm::FloatCC(FloatCC::One | FloatCC::Ueq | FloatCC::Ord | FloatCC::Uno)) => Some(2),
        (Opcode::Fcmp, _) => Some(1),
        (Opcode::Inot, _) => test_size(f, f.resolve(d.args[0]), uniform_ok),
        (Opcode::Iand | Opcode::Ior, _) => {
            let n = test_size(f, f.resolve(d.args[0]), false)? + test_size(f, f.resolve(d.args[1]), false)?;
            (n <= 2).then_some(n)
        }
        (Opcode::Uniform, Imm::Mem { .. }) if d.args.is_empty() && uniform_ok => Some(0),
        _ => None,
    }
}

/// Whether an instruction joins more than one test has room for.
pub fn is_too_much(f: &Function, i: Inst) -> bool {
    let is_join = matches!(f.insts[i].op, Opcode::Iand | Opcode::Ior);
    is_join && f.result(i).is_some_and(|r| f.ty(r) == I1 && test_size(f, r, false).is_none())
}

fn is_truth(f: &Function, v: Value) -> bool {
    f.ty(v).scalar == Scalar::I1
}

/// The truth values that are numbers: used as one, or no test by themselves.
fn numbers(f: &Function) -> SecondaryMap<Value, bool> {
    let mut number: SecondaryMap<Value, bool> = SecondaryMap::new();
    loop {
        let mut changed = false;
        let mut mark = |v: Value, number: &mut SecondaryMap<Value, bool>| {
            if !number[v] {
                number[v] = true;
                changed = true;
            }
        };
        for b in &f.layout {
            for p in f.blocks[*b].params.iter().filter(|p| is_truth(f, **p)) {
                mark(*p, &mut number);
            }
            for i in &f.blocks[*b].insts {
                let d = &f.insts[*i];
                let plain = matches!(d.op, Opcode::BrIf | Opcode::Inot | Opcode::Iand | Opcode::Ior);
                let of_number = plain && d.results.first().is_some_and(|r| number[*r]);
                for (n, a) in d.args.iter().enumerate() {
                    let a = f.resolve(*a);
                    let tested = plain || d.op == Opcode::Select && n == 0;
                    // An operand of a number is a number.
                    if is_truth(f, a) && (!tested || of_number) {
                        mark(a, &mut number);
                    }
                }
                for a in d.targets.iter().flat_map(|t| &t.args).map(|a| f.resolve(*a)).filter(|a| is_truth(f, *a)) {
                    mark(a, &mut number);
                }
                let takes_number =
                    |number: &SecondaryMap<Value, bool>| d.args.iter().map(|a| f.resolve(*a)).any(|a| number[a] && is_truth(f, a));
                for r in d.results.iter().filter(|r| is_truth(f, **r)) {
                    if test_size(f, *r, true).is_none() || takes_number(&number) {
                        mark(*r, &mut number);
                    }
                }
            }
        }
        if !changed {
            return number;
        }
    }
}

/// Truth values that are more than a test become 0 and 1.
pub fn truth_values(m: &mut Module) -> Result<(), CompileError> {
    let mut boolean_output: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for (_, i) in m.main().ordered() {
        if let Imm::Mem { var: MemRef::Output(o), .. } = m.main().insts[i].imm {
            boolean_output[i] = m.outputs[o].ty.scalar == Scalar::I1;
        }
    }
    let f = m.main_mut();
    let number = numbers(f);
    let params: Vec<Value> = f.layout.iter().flat_map(|b| &f.blocks[*b].params).copied().collect();
    for p in params {
        if is_truth(f, p) {
            f.values[p].0 = f32_like(f.ty(p));
        }
    }
    retype_calls(f, Scalar::I1);
    let mut failed = None;
    rewrite(f, |b, i| {
        let d = b.func.insts[i].clone();
        // A truth value in an output: the stored number is compared again, which the store undoes.
        if d.op == Opcode::Output && boolean_output[i] && b.func.ty(d.args[0]).is_float() {
            b.func.insts[i].args[0] = tested_lanes(b, d.args[0]);
            return Action::Changed;
        }
        let is_number = d.results.first().is_some_and(|r| number[*r] && is_truth(b.func, *r));
        // A number where a test is wanted.
        if matches!(d.op, Opcode::BrIf | Opcode::Select) && b.func.ty(d.args[0]).is_float() {
            if let Some(v) = itself(b, &d) {
                return Action::Replace(v);
            }
            let zero = b.fconst(F32, 0.0);
            b.func.insts[i].args[0] = b.fcmp(FloatCC::Une, d.args[0], zero);
            if !is_number {
                return Action::Changed;
            }
        }
        if !is_number {
            return Action::Keep;
        }
        match as_number(b, i) {
            Ok(Some(v)) => Action::Replace(v),
            Ok(None) => Action::Keep,
            Err(e) => {
                failed.get_or_insert(e);
                Action::Keep
            }
        }
    });
    // What takes truth values as numbers: bit masks of them were retyped above; joins of tests stay tests.
    failed.map_or(Ok(()), Err)
}

/// Each lane of a number as a test.
fn tested_lanes(b: &mut Builder, v: Value) -> Value {
    let zero = b.fconst(F32, 0.0);
    let parts: Vec<Value> = (0..b.func.ty(v).lanes)
        .map(|l| {
            let x = lane(b, v, l);
            b.fcmp(FloatCC::Une, x, zero)
        })
        .collect();
    b.build(&parts)
}

/// A choice between 1 and 0 by a number: the number itself, or what it lacks of 1.
fn itself(b: &mut Builder, select: &InstData) -> Option<Value> {
    let arm = |n: usize| select.args.get(n).and_then(|a| passes::rewrite::splat_float(b.func, *a));
    let (yes, no) = (arm(1)?, arm(2)?);
    let r = select.results.first().filter(|_| select.op == Opcode::Select)?;
    if b.func.ty(*r) != b.func.ty(select.args[0]) {
        return None;
    }
    match (yes, no) {
        (1.0, 0.0) => Some(select.args[0]),
        (0.0, 1.0) => {
            let one = b.fconst(F32, 1.0);
            Some(b.ins(Opcode::Fsub, &[one, select.args[0]]))
        }
        _ => None,
    }
}

/// An instruction whose truth value is a number, computed as one.
fn as_number(b: &mut Builder, i: Inst) -> Result<Option<Value>, CompileError> {
    let (d, span) = (b.func.insts[i].clone(), b.func.spans[i]);
    let Some(r) = d.results.first().copied() else { return Ok(None) };
    let (ty, args) = (f32_like(b.func.ty(r)), &d.args);
    Ok(Some(match (d.op, &d.imm) {
        (Opcode::Fcmp, Imm::FloatCC(cc)) => truth(b, *cc, args[0], args[1]),
        (Opcode::Const, Imm::Const(bits)) => {
            b.constant(ty, std::array::from_fn(|l| if bits[l] & 1 == 1 && l < ty.lanes as usize { 1f32.to_bits() } else { 0 }))
        }
        (Opcode::Undef, _) => b.typed(Opcode::Undef, ty, &[], Imm::None),
        (Opcode::Inot, _) => {
            let one = b.fconst(ty, 1.0);
            b.ins(Opcode::Fsub, &[one, args[0]])
        }
        (Opcode::Iand, _) => b.ins(Opcode::Fmul, args),
        (Opcode::Ior, _) => b.ins(Opcode::Fmax, args),
        (Opcode::Ixor, _) => {
            let x = b.ins(Opcode::Fsub, args);
            b.ins(Opcode::Fmul, &[x, x])
        }
        (Opcode::Input, _) => return Err(unsupported(span, "inputs cannot be truth values")),
        (Opcode::Uniform, _) => {
            // A boolean uniform as a number: a select on it.
            let load = b.typed(Opcode::Uniform, ty.with_scalar(Scalar::I1), args, d.imm.clone());
            let (zero, one) = (b.fconst(ty, 0.0), b.fconst(ty, 1.0));
            b.select(load, one, zero)
        }
        (Opcode::Select | Opcode::Splat | Opcode::Build | Opcode::Extract | Opcode::Insert | Opcode::Shuffle, _) => {
            b.typed(d.op, ty, args, d.imm.clone())
        }
        (other, _) => return Err(unsupported(span, format!("`{}` cannot be expressed", other.name()))),
    }))
}

/// A comparison as 0 or 1.
pub fn truth(b: &mut Builder, cc: FloatCC, x: Value, y: Value) -> Value {
    let ty = b.func.ty(x);
    let ext = |b: &mut Builder, name: &str, x: Value, y: Value| b.typed(Opcode::Ext, ty, &[x, y], Imm::Ext(name.into()));
    let not = |b: &mut Builder, v: Value| {
        let one = b.fconst(ty, 1.0);
        b.ins(Opcode::Fsub, &[one, v])
    };
    match cc {
        FloatCC::Olt => ext(b, "pica.slt", x, y),
        FloatCC::Ogt => ext(b, "pica.slt", y, x),
        FloatCC::Oge => ext(b, "pica.sge", x, y),
        FloatCC::Ole => ext(b, "pica.sge", y, x),
        FloatCC::Oeq => {
            let (p, q) = (ext(b, "pica.sge", x, y), ext(b, "pica.sge", y, x));
            b.ins(Opcode::Fmul, &[p, q])
        }
        FloatCC::One => {
            let (p, q) = (ext(b, "pica.slt", x, y), ext(b, "pica.slt", y, x));
            b.ins(Opcode::Fmax, &[p, q])
        }
        FloatCC::Ord => {
            let (p, q) = (ext(b, "pica.sge", x, x), ext(b, "pica.sge", y, y));
            b.ins(Opcode::Fmul, &[p, q])
        }
        other => {
            let v = truth(b, other.inverse(), x, y);
            not(b, v)
        }
    }
}
