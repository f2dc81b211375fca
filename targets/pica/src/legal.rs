//! Legalisation: what the machine lacks becomes what it has, in the IR, so that every rounding is visible there.
//!
//! Order: shared passes, structured control flow, integers to floats (where ranges prove them exact), truth values to
//! comparisons or 0/1 floats, expansions, clean-up that leaves the blocks alone. Facts: ISA sheet section 17.

use crate::numerics::Float24;
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::Ranges;
use retroshade_ir::passes::by_name;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::passes::{self, PassOptions};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::*;
use retroshade_lower::structure::{Structure, StructureOptions, structurise};
use retroshade_lower::{CompileError, OptLevel, Options};

/// Largest magnitude of an integer that lives as a float.
const EXACT: i64 = 1 << 16;

/// What legalisation gives: the module, its control flow, and dumps.
pub struct Legal {
    /// The module.
    pub module: Module,
    /// Its structure.
    pub structure: Structure,
    /// Texts asked for.
    pub dumps: Vec<(String, String)>,
}

/// The passes' options.
fn pass_options(o: &Options) -> PassOptions {
    let level = match o.opt {
        OptLevel::O0 => 0,
        OptLevel::O1 => 1,
        _ => 2,
    };
    PassOptions {
        level,
        unroll_fuel: if o.opt == OptLevel::Os { 24 } else { 96 },
        if_convert_cost: 0,
        dot: 0,
        robust: o.robust,
        local_select: 8,
        remat: false,
        numerics: &Float24,
        ..PassOptions::default()
    }
}

/// Legalises a verified module.
pub fn legalise(source: &Module, options: &Options) -> Result<Legal, CompileError> {
    let mut m = source.clone();
    refuse(&m)?;
    // Attributes are at most 16 bits wide unless declared otherwise.
    for d in m.inputs.values_mut().filter(|d| d.ty.scalar == Scalar::I32 && d.range.is_none()) {
        d.range = Some(if matches!(d.binding, Binding::Builtin(_)) || d.source_type.as_deref() == Some("u32") {
            (0, EXACT - 1)
        } else {
            (-EXACT / 2, EXACT / 2 - 1)
        });
    }
    let mut dumps = Vec::new();
    let po = pass_options(options);
    passes::pipeline(&mut m, &po, &mut |name, m| {
        if options.wants(name) {
            dumps.push((name.to_string(), print(m)));
        }
    });
    let dump = |name: &str, m: &Module, dumps: &mut Vec<(String, String)>| {
        if options.wants(name) {
            dumps.push((name.to_string(), print(m)));
        }
    };
    let structure = structurise(m.main_mut(), StructureOptions { allow_continue: false })?;
    dump("structurise", &m, &mut dumps);
    split_vector_tests(m.main_mut());
    integers(&mut m)?;
    truth_values(&mut m)?;
    expand(m.main_mut())?;
    for _ in 0..3 {
        let mut changed = false;
        for name in ["simplify", "gvn", "dce"] {
            if let Some(p) = by_name(name) {
                changed |= (p.run)(&mut m, &po);
            }
        }
        changed |= expand(m.main_mut())?;
        if !changed {
            break;
        }
    }
    polish(m.main_mut());
    if let Some(p) = by_name("dce") {
        (p.run)(&mut m, &po);
    }
    dump("legalise", &m, &mut dumps);
    // Ranges were only for the analysis; declarations stay as the source has them.
    for (k, d) in source.inputs.iter() {
        m.inputs[k].range = d.range;
    }
    Ok(Legal { module: m, structure, dumps })
}

/// Whole features that the machine lacks.
fn refuse(m: &Module) -> Result<(), CompileError> {
    let mut errors = Vec::new();
    if !matches!(m.stage, Stage::Vertex | Stage::Geometry) {
        errors.push(Diagnostic::error("P0001", Span::NONE, format!("the machine has no {} programs", m.stage.name())));
    }
    for t in m.textures.values() {
        errors.push(Diagnostic::error("P0002", t.span, format!("programs cannot read textures (`{}`)", t.name)));
    }
    for s in m.storage.values() {
        errors.push(Diagnostic::error("P0003", s.span, format!("there are no storage buffers (`{}`)", s.name)));
    }
    if let Some(g) = &m.geometry
        && g.output != Primitive::TriangleStrip
    {
        errors.push(Diagnostic::error("P0004", Span::NONE, "geometry programs only make triangles"));
    }
    if errors.is_empty() { Ok(()) } else { Err(CompileError::Invalid(errors)) }
}

fn unsupported(span: Span, what: impl Into<String>) -> CompileError {
    CompileError::unsupported("P0005", span, what)
}

fn f32_like(ty: Type) -> Type {
    ty.with_scalar(Scalar::F32)
}

/// Comparisons of vectors, and what depends on them lane by lane, become scalar.
fn split_vector_tests(f: &mut Function) {
    rewrite(f, |b, i| {
        let d = b.func.insts[i].clone();
        let Some(r) = d.results.first().copied() else { return Action::Keep };
        let ty = b.func.ty(r);
        let lanes = match d.op {
            Opcode::Fcmp | Opcode::Icmp => ty.lanes,
            Opcode::Iand | Opcode::Ior | Opcode::Ixor | Opcode::Inot if ty.scalar == Scalar::I1 => ty.lanes,
            Opcode::Select if b.func.ty(d.args[0]).is_vector() => ty.lanes,
            Opcode::Any | Opcode::All => {
                let n = b.func.ty(d.args[0]).lanes;
                let op = if d.op == Opcode::Any { Opcode::Ior } else { Opcode::Iand };
                let first = lane(b, d.args[0], 0);
                let v = (1..n).fold(first, |acc, l| {
                    let x = lane(b, d.args[0], l);
                    b.ins(op, &[acc, x])
                });
                return Action::Replace(v);
            }
            _ => return Action::Keep,
        };
        if lanes == 1 {
            return Action::Keep;
        }
        let parts: Vec<Value> = (0..lanes)
            .map(|l| {
                let args: Vec<Value> = d.args.iter().map(|a| lane(b, *a, l)).collect();
                b.typed(d.op, ty.lane(), &args, d.imm.clone())
            })
            .collect();
        Action::Replace(b.build(&parts))
    });
}

/// A lane, through builds.
fn lane(b: &mut Builder, v: Value, l: u8) -> Value {
    let v = b.func.resolve(v);
    if let Some(d) = b.func.def_if(v, Opcode::Build) {
        return d.args[l as usize];
    }
    if let Some(d) = b.func.def_if(v, Opcode::Splat) {
        return d.args[0];
    }
    b.extract(v, l)
}

/// Folds constant parts of indices into offsets and says which float-to-integer conversions serve only as indices.
fn fold_indices(f: &mut Function) -> SecondaryMap<Inst, bool> {
    let indexed: Vec<Inst> = f.ordered().map(|(_, i)| i).filter(|i| matches!(f.insts[*i].op, Opcode::Uniform | Opcode::Input)).collect();
    for i in indexed {
        loop {
            let d = &f.insts[i];
            let (Some(x), Imm::Mem { var, offset }) = (d.args.first().copied(), d.imm.clone()) else { break };
            let x = f.resolve(x);
            if let Some(c) = f.const_bits(x) {
                let total = offset as i64 + c[0] as i32 as i64;
                if total >= 0 {
                    f.insts[i].imm = Imm::Mem { var, offset: total as u32 };
                    f.insts[i].args.clear();
                }
                break;
            }
            let Some(sum) = f.def_if(x, Opcode::Iadd) else { break };
            let (a, b) = (f.resolve(sum.args[0]), f.resolve(sum.args[1]));
            let (rest, c) = match (f.const_bits(a), f.const_bits(b)) {
                (_, Some(c)) => (a, c[0] as i32),
                (Some(c), _) => (b, c[0] as i32),
                _ => break,
            };
            let total = offset as i64 + c as i64;
            if total < 0 {
                break;
            }
            f.insts[i].imm = Imm::Mem { var, offset: total as u32 };
            f.insts[i].args[0] = rest;
        }
    }
    passes::dce::run(f);
    let mut numeric: SecondaryMap<Value, bool> = SecondaryMap::new();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        // An output's conversion back is free, too.
        let is_index = matches!(d.op, Opcode::Uniform | Opcode::Input | Opcode::Output);
        for v in d.args.iter().chain(d.targets.iter().flat_map(|t| t.args.iter())) {
            if !is_index {
                numeric[f.resolve(*v)] = true;
            }
        }
    }
    let mut only = SecondaryMap::new();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        if matches!(d.op, Opcode::F2s | Opcode::F2u) && d.results.first().is_some_and(|r| !numeric[*r]) {
            only[i] = true;
        }
    }
    only
}

/// Integers become floats in place; the result is exact because every value's range is.
fn integers(m: &mut Module) -> Result<(), CompileError> {
    let only_index = fold_indices(m.main_mut());
    let ranges = Ranges::new(m, m.main());
    // Loads and conversions stay integers; everything else changes its type.
    let f = m.main();
    let mut errors = Vec::new();
    let name = |v: Value| format!("{v}");
    for b in &f.layout {
        let params = f.blocks[*b].params.iter().map(|p| (*p, Span::NONE));
        let results = f.blocks[*b].insts.iter().flat_map(|i| f.insts[*i].results.iter().map(|r| (*r, f.spans[*i])));
        for (v, span) in params.chain(results) {
            match f.ty(v).scalar {
                Scalar::F16 => return Err(unsupported(span, "the machine has no f16")),
                Scalar::I32 => {}
                _ => continue,
            }
            if f.def_inst(v).is_some_and(|i| only_index[i] || f.insts[i].op == Opcode::Undef) {
                continue;
            }
            let r = ranges.range(v);
            if (r.lo < -EXACT || r.hi > EXACT) && errors.len() < 20 {
                errors.push(Diagnostic::error(
                    "P0201",
                    span,
                    format!("integer {} cannot be proven to stay within ±65536 (found {} to {}); the machine computes it as a float: declare or clamp its range", name(v), r.lo, r.hi),
                ));
            }
        }
    }
    if !errors.is_empty() {
        return Err(CompileError::Invalid(errors));
    }
    // Computed integers that may miss their array are clamped, as the interpreter does: what lies behind it is not the
    // array's. A float that is truncated to an index is the caller's own register offset and is taken as it is.
    let mut bounds: SecondaryMap<Inst, Option<(i64, i64)>> = SecondaryMap::new();
    for (b, i) in f.ordered() {
        let d = &f.insts[i];
        if let (Opcode::Uniform, Imm::Mem { var: MemRef::Uniform(u), offset }, Some(x)) = (d.op, &d.imm, d.args.first()) {
            let (lo, hi) = (-(*offset as i64), m.uniforms[*u].units() as i64 - 1 - *offset as i64);
            let r = ranges.range_at(f.resolve(*x), b);
            if r.lo < lo || r.hi > hi {
                bounds[i] = Some((lo, hi));
            }
        }
    }
    let mut to_integer: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for (_, i) in f.ordered() {
        if let Imm::Mem { var: MemRef::Output(o), .. } = f.insts[i].imm {
            to_integer[i] = m.outputs[o].ty.scalar == Scalar::I32;
        }
    }
    let nonneg: SecondaryMap<Value, bool> = {
        let mut n = SecondaryMap::new();
        f.values.keys().for_each(|v| n[v] = ranges.range(v).lo >= 0);
        n
    };
    let f = m.main_mut();
    for b in f.layout.clone() {
        for p in f.blocks[b].params.clone() {
            if f.ty(p).scalar == Scalar::I32 {
                f.values[p].0 = f32_like(f.ty(p));
            }
        }
    }
    let mut failed: Option<CompileError> = None;
    rewrite(f, |b, i| match integer_inst(b, i, only_index[i], bounds[i], to_integer[i], &nonneg) {
        Ok(a) => a,
        Err(e) => {
            failed.get_or_insert(e);
            Action::Keep
        }
    });
    failed.map_or(Ok(()), Err)
}

/// Rewrites one instruction; its integer operands are floats already.
fn integer_inst(
    b: &mut Builder,
    i: Inst,
    only_index: bool,
    bounds: Option<(i64, i64)>,
    integer_output: bool,
    nonneg: &SecondaryMap<Value, bool>,
) -> Result<Action, CompileError> {
    let d = b.func.insts[i].clone();
    let span = b.func.spans[i];
    let result = d.results.first().copied();
    let ty = result.map(|r| b.func.ty(r));
    let is_int = ty.is_some_and(|t| t.scalar == Scalar::I32);
    let fty = ty.map_or(F32, f32_like);
    // Indices: the machine truncates a float.
    if matches!(d.op, Opcode::Uniform | Opcode::Input | Opcode::Output) {
        let at = usize::from(d.op == Opcode::Output);
        let mut changed = false;
        let index = d.args.get(at).copied().filter(|x| b.func.ty(*x).is_float());
        if let Some(x) = index {
            let x = match bounds {
                Some((lo, hi)) => {
                    let (lo, hi) = (b.fconst(F32, lo as f32), b.fconst(F32, hi as f32));
                    let up = b.ins(Opcode::Fmax, &[lo, x]);
                    b.ins(Opcode::Fmin, &[hi, up])
                }
                None => x,
            };
            let c = b.typed(Opcode::F2s, I32, &[x], Imm::None);
            b.func.insts[i].args[at] = c;
            changed = true;
        }
        if d.op == Opcode::Output {
            // An integer output: stored through a conversion, which is free.
            let x = d.args[0];
            if integer_output && b.func.ty(x).is_float() {
                let ty = b.func.ty(x).with_scalar(Scalar::I32);
                b.func.insts[i].args[0] = b.typed(Opcode::F2s, ty, &[x], Imm::None);
                changed = true;
            }
            return Ok(if changed { Action::Changed } else { Action::Keep });
        }
        if is_int {
            let (Some(_), Some(t)) = (result, ty) else { return Ok(Action::Keep) };
            let load = b.typed(d.op, t, &b.func.insts[i].args.clone(), d.imm.clone());
            return Ok(Action::Replace(b.typed(Opcode::S2f, fty, &[load], Imm::None)));
        }
        return Ok(if changed { Action::Changed } else { Action::Keep });
    }
    if only_index {
        if d.op == Opcode::F2u {
            // Truncation to an address register is signed.
            let zero = b.fconst(b.func.ty(d.args[0]), 0.0);
            let x = b.ins(Opcode::Fmax, &[zero, d.args[0]]);
            let (Some(t), _) = (ty, span) else { return Ok(Action::Keep) };
            return Ok(Action::Replace(b.typed(Opcode::F2s, t, &[x], Imm::None)));
        }
        return Ok(Action::Keep);
    }
    let power = |b: &Builder, v: Value| -> Option<f32> {
        let bits = passes::rewrite::splat_bits(b.func, v)?;
        let x = f32::from_bits(bits);
        (x > 0.0 && x.log2().fract() == 0.0).then_some(x)
    };
    let floor_scaled = |b: &mut Builder, x: Value, k: f32| {
        let c = b.fconst(fty, k);
        let p = b.ins(Opcode::Fmul, &[x, c]);
        b.ins(Opcode::Ffloor, &[p])
    };
    let replaced = match d.op {
        Opcode::S2f | Opcode::U2f => d.args[0],
        Opcode::F2s | Opcode::F2u => {
            let x = d.args[0];
            truncated(b, x)
        }
        Opcode::Bitcast if b.func.ty(d.args[0]).is_float() && is_int => {
            return Err(unsupported(span, "the bits of a float cannot be read"));
        }
        Opcode::Icmp => {
            let cc = match d.imm {
                Imm::IntCC(cc) => cc,
                _ => return Ok(Action::Keep),
            };
            if !b.func.ty(d.args[0]).is_float() {
                // Truth values: equal is not-xor.
                let x = b.ins(Opcode::Ixor, &[d.args[0], d.args[1]]);
                return Ok(Action::Replace(if cc == IntCC::Eq { b.ins(Opcode::Inot, &[x]) } else { x }));
            }
            let unsigned = matches!(cc, IntCC::Ult | IntCC::Ule | IntCC::Ugt | IntCC::Uge);
            if unsigned && !d.args.iter().all(|a| is_nonneg(b.func, *a, nonneg)) {
                return Err(unsupported(span, "an unsigned comparison of a value that may be negative"));
            }
            let cc = match cc {
                IntCC::Eq => FloatCC::Oeq,
                IntCC::Ne => FloatCC::Une,
                IntCC::Slt | IntCC::Ult => FloatCC::Olt,
                IntCC::Sle | IntCC::Ule => FloatCC::Ole,
                IntCC::Sgt | IntCC::Ugt => FloatCC::Ogt,
                IntCC::Sge | IntCC::Uge => FloatCC::Oge,
            };
            b.fcmp(cc, d.args[0], d.args[1])
        }
        _ if !is_int => return Ok(Action::Keep),
        Opcode::Const => {
            let Imm::Const(bits) = d.imm else { return Ok(Action::Keep) };
            b.constant(fty, std::array::from_fn(|l| if l < fty.lanes as usize { (bits[l] as i32 as f32).to_bits() } else { 0 }))
        }
        Opcode::Undef => b.typed(Opcode::Undef, fty, &[], Imm::None),
        Opcode::Iadd => b.ins(Opcode::Fadd, &d.args),
        Opcode::Isub => b.ins(Opcode::Fsub, &d.args),
        Opcode::Imul => b.ins(Opcode::Fmul, &d.args),
        Opcode::Ineg => b.ins(Opcode::Fneg, &d.args),
        Opcode::Iabs => {
            let n = b.ins(Opcode::Fneg, &d.args);
            b.ins(Opcode::Fmax, &[d.args[0], n])
        }
        Opcode::Smin => b.ins(Opcode::Fmin, &d.args),
        Opcode::Smax => b.ins(Opcode::Fmax, &d.args),
        Opcode::Umin | Opcode::Umax if d.args.iter().all(|a| is_nonneg(b.func, *a, nonneg)) => {
            b.ins(if d.op == Opcode::Umin { Opcode::Fmin } else { Opcode::Fmax }, &d.args)
        }
        Opcode::Ishl => match passes::rewrite::splat_float(b.func, d.args[1]) {
            Some(k) if (0.0..17.0).contains(&k) => {
                let c = b.fconst(fty, (1u32 << k as u32) as f32);
                b.ins(Opcode::Fmul, &[d.args[0], c])
            }
            _ => return Err(unsupported(span, "a shift by a computed count")),
        },
        Opcode::Sshr | Opcode::Ushr => match passes::rewrite::splat_float(b.func, d.args[1]) {
            Some(k) if (0.0..17.0).contains(&k) && (d.op == Opcode::Sshr || is_nonneg(b.func, d.args[0], nonneg)) => {
                floor_scaled(b, d.args[0], 1.0 / (1u32 << k as u32) as f32)
            }
            _ => return Err(unsupported(span, "a shift that floats cannot express")),
        },
        Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem => {
            let Some(k) = power(b, d.args[1]).filter(|_| is_nonneg(b.func, d.args[0], nonneg)) else {
                return Err(unsupported(span, "an integer division other than of a value that is not negative by a power of two"));
            };
            let q = floor_scaled(b, d.args[0], 1.0 / k);
            if matches!(d.op, Opcode::Udiv | Opcode::Sdiv) { q } else { remainder(b, d.args[0], q, k, fty) }
        }
        Opcode::Iand => {
            let mask = d
                .args
                .iter()
                .position(|a| passes::rewrite::splat_float(b.func, *a).is_some_and(|x| x >= 0.0 && (x + 1.0).log2().fract() == 0.0));
            let Some(at) = mask else { return Err(unsupported(span, "bits can only be masked with 2^k - 1")) };
            let k = passes::rewrite::splat_float(b.func, d.args[at]).unwrap_or(0.0) + 1.0;
            let x = d.args[1 - at];
            let q = floor_scaled(b, x, 1.0 / k);
            remainder(b, x, q, k, fty)
        }
        Opcode::Select | Opcode::Splat | Opcode::Build | Opcode::Extract | Opcode::Insert | Opcode::Shuffle => {
            b.typed(d.op, fty, &d.args, d.imm.clone())
        }
        Opcode::Bitcast => d.args[0],
        other => return Err(unsupported(span, format!("the machine has no integers: `{}` cannot be expressed", other.name()))),
    };
    Ok(Action::Replace(replaced))
}

fn is_nonneg(f: &Function, v: Value, nonneg: &SecondaryMap<Value, bool>) -> bool {
    if let Some(x) = passes::rewrite::splat_float(f, v) {
        return x >= 0.0;
    }
    // Values made by this pass stand for the ones they replaced; loads and parameters keep theirs.
    match f.def_if(v, Opcode::S2f).map(|d| d.args[0]) {
        Some(_) => false,
        None => nonneg.get(v).copied().unwrap_or(false),
    }
}

fn remainder(b: &mut Builder, x: Value, q: Value, k: f32, ty: Type) -> Value {
    let c = b.fconst(ty, k);
    let p = b.ins(Opcode::Fmul, &[q, c]);
    b.ins(Opcode::Fsub, &[x, p])
}

/// Toward zero: floor of the positive part minus floor of the negative part.
fn truncated(b: &mut Builder, x: Value) -> Value {
    let ty = b.func.ty(x);
    let zero = b.fconst(ty, 0.0);
    let n = b.ins(Opcode::Fneg, &[x]);
    let up = b.ins(Opcode::Fmax, &[zero, x]);
    let down = b.ins(Opcode::Fmax, &[zero, n]);
    let (up, down) = (b.ins(Opcode::Ffloor, &[up]), b.ins(Opcode::Ffloor, &[down]));
    b.ins(Opcode::Fsub, &[up, down])
}

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

/// Truth values that are more than a test become 0 and 1.
fn truth_values(m: &mut Module) -> Result<(), CompileError> {
    let mut boolean_output: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for (_, i) in m.main().ordered() {
        if let Imm::Mem { var: MemRef::Output(o), .. } = m.main().insts[i].imm {
            boolean_output[i] = m.outputs[o].ty.scalar == Scalar::I1;
        }
    }
    let f = m.main_mut();
    // A value is a number if it is used as one, or is no test by itself.
    let mut number: SecondaryMap<Value, bool> = SecondaryMap::new();
    let is_truth = |f: &Function, v: Value| f.ty(v).scalar == Scalar::I1;
    loop {
        let mut changed = false;
        let mut mark = |v: Value, number: &mut SecondaryMap<Value, bool>| {
            if !number[v] {
                number[v] = true;
                changed = true;
            }
        };
        for b in &f.layout {
            for p in &f.blocks[*b].params {
                if is_truth(f, *p) {
                    mark(*p, &mut number);
                }
            }
            for i in &f.blocks[*b].insts {
                let d = &f.insts[*i];
                let plain = matches!(d.op, Opcode::BrIf | Opcode::Inot | Opcode::Iand | Opcode::Ior);
                for (n, a) in d.args.iter().enumerate() {
                    let a = f.resolve(*a);
                    if is_truth(f, a) && !plain && !(d.op == Opcode::Select && n == 0) {
                        mark(a, &mut number);
                    }
                    // An operand of a number is a number.
                    if is_truth(f, a) && plain && d.results.first().is_some_and(|r| number[*r]) {
                        mark(a, &mut number);
                    }
                }
                for a in d.targets.iter().flat_map(|t| &t.args) {
                    if is_truth(f, f.resolve(*a)) {
                        mark(f.resolve(*a), &mut number);
                    }
                }
                for r in &d.results {
                    if is_truth(f, *r)
                        && (test_size(f, *r, true).is_none() || d.args.iter().any(|a| number[f.resolve(*a)] && is_truth(f, f.resolve(*a))))
                    {
                        mark(*r, &mut number);
                    }
                }
            }
        }
        if !changed {
            break;
        }
    }
    for b in f.layout.clone() {
        for p in f.blocks[b].params.clone() {
            if is_truth(f, p) {
                f.values[p].0 = f32_like(f.ty(p));
            }
        }
    }
    let mut failed = None;
    rewrite(f, |b, i| {
        let d = b.func.insts[i].clone();
        let span = b.func.spans[i];
        // A truth value in an output: the stored number is compared again, which the store undoes.
        if d.op == Opcode::Output && boolean_output[i] && b.func.ty(d.args[0]).is_float() {
            let n = b.func.ty(d.args[0]).lanes;
            let zero = b.fconst(F32, 0.0);
            let parts: Vec<Value> = (0..n)
                .map(|l| {
                    let x = lane(b, d.args[0], l);
                    b.fcmp(FloatCC::Une, x, zero)
                })
                .collect();
            b.func.insts[i].args[0] = b.build(&parts);
            return Action::Changed;
        }
        let number_result = d.results.first().is_some_and(|r| number[*r] && b.func.ty(*r).scalar == Scalar::I1);
        // A number where a test is wanted.
        if matches!(d.op, Opcode::BrIf | Opcode::Select) && b.func.ty(d.args[0]).is_float() {
            let zero = b.fconst(F32, 0.0);
            let t = b.fcmp(FloatCC::Une, d.args[0], zero);
            b.func.insts[i].args[0] = t;
            if !number_result {
                return Action::Changed;
            }
        }
        if !number_result {
            return Action::Keep;
        }
        let (Some(r), args) = (d.results.first().copied(), b.func.insts[i].args.clone()) else { return Action::Keep };
        let ty = f32_like(b.func.ty(r));
        let one = |b: &mut Builder| b.fconst(ty, 1.0);
        let v = match d.op {
            Opcode::Fcmp => {
                let Imm::FloatCC(cc) = d.imm else { return Action::Keep };
                truth(b, cc, args[0], args[1])
            }
            Opcode::Const => {
                let Imm::Const(bits) = d.imm else { return Action::Keep };
                b.constant(ty, std::array::from_fn(|l| if bits[l] & 1 == 1 && l < ty.lanes as usize { 1f32.to_bits() } else { 0 }))
            }
            Opcode::Undef => b.typed(Opcode::Undef, ty, &[], Imm::None),
            Opcode::Inot => {
                let one = one(b);
                b.ins(Opcode::Fsub, &[one, args[0]])
            }
            Opcode::Iand => b.ins(Opcode::Fmul, &args),
            Opcode::Ior => b.ins(Opcode::Fmax, &args),
            Opcode::Ixor => {
                let x = b.ins(Opcode::Fsub, &args);
                b.ins(Opcode::Fmul, &[x, x])
            }
            Opcode::Input => {
                let load = b.typed(Opcode::Input, ty.with_scalar(Scalar::I1), &args, d.imm.clone());
                let (zero, one) = (b.fconst(ty, 0.0), b.fconst(ty, 1.0));
                let _ = (load, zero, one);
                failed.get_or_insert(unsupported(span, "inputs cannot be truth values"));
                return Action::Keep;
            }
            Opcode::Uniform => {
                // A boolean uniform as a number: a select on it.
                let load = b.typed(Opcode::Uniform, ty.with_scalar(Scalar::I1), &args, d.imm.clone());
                let (zero, one) = (b.fconst(ty, 0.0), b.fconst(ty, 1.0));
                b.select(load, one, zero)
            }
            Opcode::Select | Opcode::Splat | Opcode::Build | Opcode::Extract | Opcode::Insert | Opcode::Shuffle => {
                b.typed(d.op, ty, &args, d.imm.clone())
            }
            other => {
                failed.get_or_insert(unsupported(span, format!("`{}` cannot be expressed", other.name())));
                return Action::Keep;
            }
        };
        Action::Replace(v)
    });
    // What takes truth values as numbers: bit masks of them were retyped above; joins of tests stay tests.
    failed.map_or(Ok(()), Err)
}

/// A comparison as 0 or 1.
fn truth(b: &mut Builder, cc: FloatCC, x: Value, y: Value) -> Value {
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

/// Operations that the machine does not have.
fn expand(f: &mut Function) -> Result<bool, CompileError> {
    let mut failed = None;
    let changed = rewrite(f, |b, i| match expand_inst(b, i) {
        Ok(a) => a,
        Err(e) => {
            failed.get_or_insert(e);
            Action::Keep
        }
    });
    failed.map_or(Ok(changed), Err)
}

fn expand_inst(b: &mut Builder, i: Inst) -> Result<Action, CompileError> {
    let d = b.func.insts[i].clone();
    let span = b.func.spans[i];
    let Some(r) = d.results.first().copied() else {
        return match d.op {
            Opcode::Discard | Opcode::Kill => Err(unsupported(span, "only fragment programs can discard")),
            Opcode::LocalStore => Err(unsupported(span, "an array indexed by a computed value needs memory, which the machine lacks")),
            _ => Ok(Action::Keep),
        };
    };
    let ty = b.func.ty(r);
    let a = d.args.clone();
    let v = match d.op {
        Opcode::Fdiv => {
            let q = b.ins(Opcode::Frcp, &[a[1]]);
            b.ins(Opcode::Fmul, &[a[0], q])
        }
        Opcode::Fsqrt => {
            let q = b.ins(Opcode::Frsqrt, &[a[0]]);
            b.ins(Opcode::Frcp, &[q])
        }
        Opcode::Fabs => {
            let n = b.ins(Opcode::Fneg, &[a[0]]);
            b.ins(Opcode::Fmax, &[a[0], n])
        }
        Opcode::Fceil => {
            let n = b.ins(Opcode::Fneg, &[a[0]]);
            let q = b.ins(Opcode::Ffloor, &[n]);
            b.ins(Opcode::Fneg, &[q])
        }
        Opcode::Ftrunc => truncated(b, a[0]),
        Opcode::Fround => {
            // Halfway cases go to the even neighbour: one down where floor(x + 1/2) is exact and odd.
            let half = b.fconst(ty, 0.5);
            let t = b.ins(Opcode::Fadd, &[a[0], half]);
            let q = b.ins(Opcode::Ffloor, &[t]);
            let tie = b.typed(Opcode::Ext, ty, &[q, t], Imm::Ext("pica.sge".into()));
            let h = b.ins(Opcode::Fmul, &[q, half]);
            let hf = b.ins(Opcode::Ffloor, &[h]);
            let odd = b.ins(Opcode::Fsub, &[h, hf]);
            let two = b.fconst(ty, 2.0);
            let odd = b.ins(Opcode::Fmul, &[odd, two]);
            let down = b.ins(Opcode::Fmul, &[tie, odd]);
            b.ins(Opcode::Fsub, &[q, down])
        }
        Opcode::Ffract => {
            let q = b.ins(Opcode::Ffloor, &[a[0]]);
            b.ins(Opcode::Fsub, &[a[0], q])
        }
        Opcode::Fsaturate => {
            let (zero, one) = (b.fconst(ty, 0.0), b.fconst(ty, 1.0));
            let q = b.ins(Opcode::Fmax, &[zero, a[0]]);
            b.ins(Opcode::Fmin, &[one, q])
        }
        Opcode::Fsign => {
            let zero = b.fconst(ty, 0.0);
            let p = b.typed(Opcode::Ext, ty, &[zero, a[0]], Imm::Ext("pica.slt".into()));
            let n = b.typed(Opcode::Ext, ty, &[a[0], zero], Imm::Ext("pica.slt".into()));
            b.ins(Opcode::Fsub, &[p, n])
        }
        Opcode::Fpow => {
            let l = b.ins(Opcode::Flog2, &[a[0]]);
            let p = b.ins(Opcode::Fmul, &[a[1], l]);
            b.ins(Opcode::Fexp2, &[p])
        }
        Opcode::Fsin => circle(b, a[0], true),
        Opcode::Fcos => circle(b, a[0], false),
        Opcode::Fma => b.ins(Opcode::Fmad, &a),
        Opcode::Dot => return Ok(dot(b, &a)),
        // The uniform goes where only a uniform can go.
        Opcode::Fmin | Opcode::Fmax if uniform_like(b.func, a[1]) && !uniform_like(b.func, a[0]) => {
            b.func.insts[i].args.swap(0, 1);
            return Ok(Action::Changed);
        }
        Opcode::Select => return Ok(select(b, i, &d)),
        Opcode::LocalLoad => return Err(unsupported(span, "an array indexed by a computed value needs memory, which the machine lacks")),
        Opcode::Tex | Opcode::Ddx | Opcode::Ddy => return Err(unsupported(span, format!("the machine has no `{}`", d.op.name()))),
        Opcode::Call => return Err(CompileError::Internal("a call was not inlined".to_string())),
        _ => return Ok(Action::Keep),
    };
    Ok(Action::Replace(v))
}

/// Whether every lane comes from uniforms and constants.
fn uniform_like(f: &Function, v: Value) -> bool {
    let Some(d) = f.def_inst(f.resolve(v)).map(|i| &f.insts[i]) else { return false };
    match d.op {
        Opcode::Const | Opcode::Uniform => true,
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
fn dot(b: &mut Builder, a: &[Value]) -> Action {
    let n = b.func.ty(a[0]).lanes;
    let zero_last = a.iter().any(|v| crate::abi::constant_lane(b.func, *v, n - 1).is_some_and(|c| c & 0x7fff_ffff == 0));
    if zero_last && n > 2 {
        let mask: Vec<u8> = (0..n - 1).collect();
        let parts: Vec<Value> = a.iter().map(|v| b.shuffle(*v, *v, &mask)).collect();
        return Action::Replace(b.ins(Opcode::Dot, &parts));
    }
    if n != 2 {
        return Action::Keep;
    }
    let (x0, y0) = (lane(b, a[0], 0), lane(b, a[1], 0));
    let p = b.ins(Opcode::Fmul, &[x0, y0]);
    let (x1, y1) = (lane(b, a[0], 1), lane(b, a[1], 1));
    Action::Replace(b.ins(Opcode::Fmad, &[x1, y1, p]))
}

/// Choices between 0 and 1 are comparisons; on equal arms nothing is chosen.
fn select(b: &mut Builder, i: Inst, d: &InstData) -> Action {
    let _ = i;
    let (yes, no) = (passes::rewrite::splat_float(b.func, d.args[1]), passes::rewrite::splat_float(b.func, d.args[2]));
    let (Some(yes), Some(no)) = (yes, no) else { return Action::Keep };
    let Some(c) = b.func.def_if(d.args[0], Opcode::Fcmp).cloned() else { return Action::Keep };
    let Imm::FloatCC(cc) = c.imm else { return Action::Keep };
    if b.func.ty(d.args[1]).is_vector() || b.func.ty(c.args[0]).is_vector() {
        return Action::Keep;
    }
    let direct = |cc: FloatCC| matches!(cc, FloatCC::Olt | FloatCC::Ogt | FloatCC::Ole | FloatCC::Oge);
    if yes == 1.0 && no == 0.0 && direct(cc) {
        return Action::Replace(truth(b, cc, c.args[0], c.args[1]));
    }
    if yes == 0.0 && no == 1.0 && direct(cc.inverse()) {
        return Action::Replace(truth(b, cc.inverse(), c.args[0], c.args[1]));
    }
    Action::Keep
}

/// Last improvements that may change a NaN, never a number.
fn polish(f: &mut Function) {
    // A stored vector with signs and zeros of one source: a product with a constant is one instruction.
    rewrite(f, |b, i| {
        let d = b.func.insts[i].clone();
        if d.op != Opcode::Output {
            return Action::Keep;
        }
        let v = d.args[0];
        let Some(build) = b.func.def_if(v, Opcode::Build).cloned() else { return Action::Keep };
        let mut source: Option<Value> = None;
        let mut factors = [0u32; 4];
        let mut mask = [0u8; 4];
        let (mut negative, mut positive, mut zeros) = (0, 0, 0);
        for (l, a) in build.args.iter().enumerate() {
            let mut x = b.func.resolve(*a);
            let mut sign = 1.0f32;
            if b.func.const_bits(x).is_some_and(|c| c[0] & 0x7fff_ffff == 0) {
                zeros += 1;
                continue;
            }
            if let Some(n) = b.func.def_if(x, Opcode::Fneg) {
                sign = -1.0;
                x = b.func.resolve(n.args[0]);
            }
            let Some(e) = b.func.def_if(x, Opcode::Extract) else { return Action::Keep };
            let Imm::Lane(k) = e.imm else { return Action::Keep };
            let s = b.func.resolve(e.args[0]);
            if source.is_some_and(|o| o != s) {
                return Action::Keep;
            }
            source = Some(s);
            mask[l] = k;
            factors[l] = sign.to_bits();
            if sign < 0.0 { negative += 1 } else { positive += 1 }
        }
        let kinds = usize::from(negative > 0) + usize::from(positive > 0) + usize::from(zeros > 0);
        let Some(s) = source.filter(|_| kinds > 1 && negative > 0) else { return Action::Keep };
        let n = build.args.len();
        let ty = Type::new(Scalar::F32, n as u8);
        let c = b.constant(ty, factors);
        let x = b.shuffle(s, s, &mask[..n]);
        let p = b.ins(Opcode::Fmul, &[c, x]);
        b.func.insts[i].args[0] = p;
        Action::Changed
    });
}
