//! What the toy makes of the IR: the passes, and rules for the operations that it lacks.

use retroshade_ir::passes::{PassOptions, pipeline, robust, sequence};
use retroshade_ir::{Builder, Function, Imm, InstData, Module, Opcode, Reference, Type, Value};
use retroshade_lower::legal::{BITS_AND_PACKING, Rule, apply, bits, float, intdiv, mul, trig};
use retroshade_lower::structure::{StructureOptions, structurise};
use retroshade_lower::{CompileError, Options, Phase, Trace};

/// Operations in terms of others, all but one from the shared library.
const RULES: &[(Opcode, Rule)] = &[
    (Opcode::Fsub, float::fsub_add),
    (Opcode::Fdiv, float::fdiv_newton),
    (Opcode::Fma, float::fma_fmad),
    (Opcode::Fceil, float::fceil_floor),
    (Opcode::Ffract, float::ffract_floor),
    (Opcode::Fsqrt, float::fsqrt_rcp_rsqrt),
    (Opcode::Fpow, float::fpow),
    (Opcode::Fsin, trig::fsin_poly),
    (Opcode::Fcos, trig::fcos_poly),
    (Opcode::Fsaturate, float::fsaturate_min_max),
    (Opcode::Fsign, float::fsign),
    (Opcode::Udiv, intdiv::by_mulhi),
    (Opcode::Sdiv, intdiv::by_mulhi),
    (Opcode::Urem, intdiv::by_mulhi),
    (Opcode::Srem, intdiv::by_mulhi),
    (Opcode::Umulhi, mul::umulhi_imul),
    (Opcode::Smulhi, mul::smulhi_umulhi),
    (Opcode::FindUmsb, bits::find_umsb_search),
    (Opcode::Umin, bits::int_min_max),
    (Opcode::Umax, bits::int_min_max),
    (Opcode::Smin, bits::int_min_max),
    (Opcode::Smax, bits::int_min_max),
    (Opcode::Iabs, bits::iabs),
    (Opcode::Ineg, bits::ineg_sub),
    (Opcode::Inot, inverse),
];

/// A truth value is the word 0 or 1: its inverse differs in one bit, that of an integer in all.
fn inverse(b: &mut Builder, d: &InstData, ty: Type) -> Option<Value> {
    let ones = b.splat_const(ty, if ty.scalar == retroshade_ir::Scalar::I1 { 1 } else { !0 });
    Some(b.ins(Opcode::Ixor, &[d.args[0], ones]))
}

/// Optimises and legalises.
pub fn legalise(source: &Module, options: &Options, trace: &mut Trace) -> Result<Module, CompileError> {
    let mut m = source.clone();
    let passes = PassOptions { scalarise: true, lower_switches: true, local_select: 64, ..options.passes(&Reference) };
    robust::uniforms(&mut m);
    pipeline(&mut m, &passes, &mut |name, m| trace.pass(name, m));
    let rules = [RULES, BITS_AND_PACKING].concat();
    apply(m.main_mut(), &rules);
    sequence(&mut m, &["scalarise", "gvn", "dce"], &passes);
    structurise(m.main_mut(), StructureOptions::default())?;
    // Structured control flow steers by truth values of its own.
    apply(m.main_mut(), &rules);
    define_undefined(m.main_mut());
    sequence(&mut m, &["dce"], &passes);
    trace.module(Phase::Legal, &m);
    Ok(m)
}

/// What the source leaves open is 0, as on the interpreter.
fn define_undefined(f: &mut Function) {
    for d in f.insts.values_mut().filter(|d| d.op == Opcode::Undef) {
        (d.op, d.imm) = (Opcode::Const, Imm::Const([0; 4]));
    }
}
