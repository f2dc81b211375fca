//! What the parts of legalisation share: the exact range of integers that live as floats, and how types change.

use retroshade_ir::*;
use retroshade_lower::CompileError;

/// Largest magnitude of an integer that lives as a float.
pub const EXACT: i64 = 1 << 16;

/// A refusal of what the machine cannot express.
pub fn unsupported(span: Span, what: impl Into<String>) -> CompileError {
    CompileError::unsupported("P0005", span, what)
}

/// The float type with as many lanes.
pub fn f32_like(ty: Type) -> Type {
    ty.with_scalar(Scalar::F32)
}

/// What calls return of a kind of value comes as floats.
pub fn retype_calls(f: &mut Function, of: Scalar) {
    let calls: Vec<Inst> = f.ordered().map(|(_, i)| i).filter(|i| f.insts[*i].op == Opcode::Call).collect();
    for r in calls.into_iter().flat_map(|i| f.insts[i].results.clone()) {
        if f.ty(r).scalar == of {
            f.values[r].0 = f32_like(f.ty(r));
        }
    }
}

/// Toward zero: floor of the positive part minus floor of the negative part.
pub fn truncated(b: &mut Builder, x: Value) -> Value {
    let ty = b.func.ty(x);
    let zero = b.fconst(ty, 0.0);
    let n = b.ins(Opcode::Fneg, &[x]);
    let up = b.ins(Opcode::Fmax, &[zero, x]);
    let down = b.ins(Opcode::Fmax, &[zero, n]);
    let (up, down) = (b.ins(Opcode::Ffloor, &[up]), b.ins(Opcode::Ffloor, &[down]));
    b.ins(Opcode::Fsub, &[up, down])
}
