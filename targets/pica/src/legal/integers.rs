//! Integers become floats, where their ranges prove that a float24 holds every value exactly.
//!
//! Conversions from floats that serve as indices are clamped to what the arrays have; where declared ranges or constants
//! prove that nothing can miss, nothing is added. Facts: ISA sheet sections 7 (indices), 8 (exact integers).

use crate::legal::bits;
use crate::legal::division::{Division, remainder};
use crate::legal::exact::{EXACT, f32_like, retype_calls, truncated, unsupported};
use crate::legal::indices::{CLAMPS, MASKS, Reads, SUMS, clamp_conversions, clamp_indices, clamp_signed, elements, fold_indices, users};
use crate::legal::lane;
use crate::legal::loose::Loose;
use crate::legal::tables::Table;
use cranelift_entity::SecondaryMap;
use indexmap::IndexMap;
use retroshade_ir::analysis::range::{Known, float_bounds};
use retroshade_ir::analysis::{Range, Ranges};
use retroshade_ir::passes;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::*;
use retroshade_lower::CompileError;

/// What is said of an integer that may leave the exact range, with the variables whose range would tell more.
fn unproven(m: &Module, f: &Function, users: &SecondaryMap<Value, Vec<Inst>>, v: Value, r: Range) -> String {
    let mut names: Vec<&str> = Vec::new();
    // The first one that `--range` takes.
    let mut help = None;
    let mut seen: SecondaryMap<Value, bool> = SecondaryMap::new();
    let mut work = vec![v];
    while let Some(v) = work.pop().map(|v| f.resolve(v)).filter(|_| names.len() < 4) {
        if std::mem::replace(&mut seen[v], true) {
            continue;
        }
        let Some(d) = f.def_inst(v).map(|i| &f.insts[i]) else {
            // What goes round in a loop: all that comes in, and what its tests compare it with.
            let param = |b: Block| f.blocks[b].params.iter().position(|p| *p == v).map(|n| (b, n));
            let Some((block, n)) = f.layout.iter().find_map(|b| param(*b)) else { continue };
            let into = f.insts.values().flat_map(|d| &d.targets).filter(|t| t.block == block);
            work.extend(into.filter_map(|t| t.args.get(n)));
            work.extend(users[v].iter().filter(|i| f.insts[**i].op == Opcode::Icmp).flat_map(|i| &f.insts[*i].args));
            continue;
        };
        let (name, ty) = match d.imm {
            Imm::Mem { var: MemRef::Input(k), .. } => (&m.inputs[k].name, m.inputs[k].ty),
            Imm::Mem { var: MemRef::Uniform(k), .. } => (&m.uniforms[k].name, m.uniforms[k].ty),
            _ => {
                work.extend(&d.args);
                continue;
            }
        };
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
        if ty.scalar == Scalar::I32 {
            help = help.or(Some(name));
        }
    }
    let what = if names.is_empty() { "an integer".to_string() } else { format!("an integer made of `{}`", names.join("`, `")) };
    let help = help.map_or(String::new(), |n| format!(", or declare a range, as with `--range {n}=0..19`"));
    format!(
        "{what} cannot be proven to stay within ±65536 (found {} to {}); the machine computes it as a float: clamp it{help}",
        r.lo, r.hi
    )
}

/// What is known of one instruction before integers become floats.
#[derive(Clone, Copy, Default)]
struct Facts {
    /// A conversion that serves only as an index.
    only_index: bool,
    /// Limits of a uniform's index that may miss its array.
    bounds: Option<(i64, i64)>,
    /// Whether the index can be below the lower limit, or above the upper, anywhere.
    sides: (bool, bool),
    /// Whether a table needs a row of zeros before and behind its own.
    guards: (bool, bool),
    /// A store to an integer output.
    integer_output: bool,
    /// A conversion of something that may be beyond the exact range.
    of_loose: bool,
    /// A conversion of a float that is not negative.
    of_positive: bool,
    /// Whether no bit can be set in both operands.
    apart: bool,
    /// What the first two operands can be, where those are integers.
    operands: [Range; 2],
}

/// Integers become floats in place; the result is exact because every value's range is. `known` are the ranges of parameters, and
/// of what calls return.
pub fn integers(m: &mut Module, mut known: Known) -> Result<(), CompileError> {
    // What is not defined is never looked at: it says nothing against what else a variable can be.
    for (_, i) in m.main().ordered().filter(|(_, i)| m.main().insts[*i].op == Opcode::Undef) {
        known[m.main().insts[i].results[0]] = Some(Range::one(0));
    }
    clamp_signed(m);
    retroshade_lower::legal::apply(m.main_mut(), SUMS);
    retroshade_lower::legal::apply(m.main_mut(), CLAMPS);
    retroshade_lower::legal::apply(m.main_mut(), MASKS);
    clamp_conversions(m);
    clamp_indices(m, &known);
    let only_index = fold_indices(m.main_mut());
    let ranges = Ranges::knowing(m, m.main(), known);
    let users = users(m.main());
    // Loads and conversions stay integers; everything else changes its type.
    let f = m.main();
    let mut errors = Vec::new();
    let mut judge = Loose::new(f, &ranges, &users);
    let mut loose: SecondaryMap<Value, bool> = SecondaryMap::new();
    for b in &f.layout {
        let params = f.blocks[*b].params.iter().map(|p| (*p, None));
        let results = f.blocks[*b].insts.iter().flat_map(|i| f.insts[*i].results.iter().map(|r| (*r, Some(*i))));
        for (v, made) in params.chain(results) {
            let span = || made.map_or_else(|| f.place_of(v), |i| f.spans[i]);
            match f.ty(v).scalar {
                Scalar::F16 => return Err(unsupported(span(), "the machine has no f16")),
                Scalar::I32 => {}
                _ => continue,
            }
            if f.def_inst(v).is_some_and(|i| only_index[i] || f.insts[i].op == Opcode::Undef) {
                continue;
            }
            let r = ranges.range(v);
            if r.within(EXACT) {
                continue;
            }
            if judge.harmless(v) {
                loose[v] = !judge.whole(v);
            } else if let Some(d) = f.def_inst(v).map(|i| &f.insts[i]).filter(|d| d.op == Opcode::Bitcast)
                && f.ty(d.args[0]).is_float()
            {
                return Err(unsupported(span(), "the bits of a float cannot be read"));
            } else if errors.len() < 20 {
                // One for each place: what is wrong with a part is wrong with the whole.
                let span = span();
                if errors.iter().all(|e: &Diagnostic| e.span != span) {
                    errors.push(Diagnostic::error("P0201", span, unproven(m, f, &users, v, r)));
                }
            }
        }
    }
    if !errors.is_empty() {
        return Err(CompileError::Invalid(errors));
    }
    let mut facts: SecondaryMap<Inst, Facts> = SecondaryMap::new();
    // Computed integers that may miss their array are clamped: what lies behind it is not the array's. Elements beside each
    // other that are read together are clamped together, so that they share the index.
    let mut together: IndexMap<_, (i64, i64)> = IndexMap::new();
    let reads = Reads::new(f, &users);
    let limits = |i: Inst| {
        let d = &f.insts[i];
        let (Imm::Mem { var, offset }, Some(x)) = (&d.imm, d.args.first()) else { return None };
        let count = elements(m, *var).filter(|_| matches!(d.op, Opcode::Uniform | Opcode::Input))?;
        Some((*var, f.resolve(*x), -i64::from(*offset), count - 1 - i64::from(*offset)))
    };
    for (b, i) in f.ordered() {
        if let Some((u, x, lo, hi)) = limits(i) {
            let r = ranges.range_at(x, b);
            if r.lo < lo || r.hi > hi {
                facts[i].bounds = Some((lo, hi));
                let both = together.entry((u, x, reads.together(f, i))).or_insert((lo, hi));
                *both = (both.0.max(lo), both.1.min(hi));
            }
        }
        if let (Some(t), Some(x)) = (Table::of(&f.insts[i].imm), f.insts[i].args.first()) {
            let r = ranges.range_at(f.resolve(*x), b);
            let t = Table { guards: (r.lo < 0, r.hi >= t.rows.len() as i64), ..t };
            let (lo, hi) = t.bounds();
            facts[i].guards = t.guards;
            facts[i].bounds = (r.lo < lo || r.hi > hi).then_some((lo, hi));
        }
    }
    for (b, i) in f.ordered() {
        let d = &f.insts[i];
        if let (true, Some((u, x, ..))) = (facts[i].bounds.is_some(), limits(i)) {
            facts[i].bounds = together.get(&(u, x, reads.together(f, i))).copied().filter(|(lo, hi)| lo <= hi).or(facts[i].bounds);
        }
        if let (Some((lo, hi)), Some(x)) = (facts[i].bounds, d.args.first()) {
            // The same for all that name this index, so that they share it.
            let r = ranges.range(f.resolve(*x));
            facts[i].sides = (r.lo < lo, r.hi > hi);
        }
        if let Imm::Mem { var: MemRef::Output(o), .. } = d.imm {
            facts[i].integer_output = m.outputs[o].ty.scalar == Scalar::I32;
        }
        facts[i].only_index = only_index[i];
        facts[i].apart = matches!(d.op, Opcode::Ior | Opcode::Ixor) && bits::are_apart(f, d, |v| ranges.range_at(v, b));
        for (operand, arg) in facts[i].operands.iter_mut().zip(&d.args) {
            if f.ty(*arg).scalar == Scalar::I32 {
                *operand = ranges.range_at(f.resolve(*arg), b);
            }
        }
        facts[i].of_loose = matches!(d.op, Opcode::S2f | Opcode::U2f) && loose[f.resolve(d.args[0])];
        facts[i].of_positive = matches!(d.op, Opcode::F2s | Opcode::F2u) && float_bounds(m, f, d.args[0], 8).0 >= 0.0;
    }
    let f = m.main_mut();
    for b in f.layout.clone() {
        for p in f.blocks[b].params.clone() {
            if f.ty(p).scalar == Scalar::I32 {
                f.values[p].0 = f32_like(f.ty(p));
            }
        }
    }
    retype_calls(f, Scalar::I32);
    let mut failed: Option<CompileError> = None;
    rewrite(f, |b, i| {
        integer_inst(b, i, facts[i]).unwrap_or_else(|e| {
            failed.get_or_insert(e);
            Action::Keep
        })
    });
    failed.map_or(Ok(()), Err)
}

/// Rewrites one instruction; its integer operands are floats already.
fn integer_inst(b: &mut Builder, i: Inst, facts: Facts) -> Result<Action, CompileError> {
    let d = b.func.insts[i].clone();
    let span = b.func.spans[i];
    let result = d.results.first().copied();
    let ty = result.map(|r| b.func.ty(r));
    let is_int = ty.is_some_and(|t| t.scalar == Scalar::I32);
    let fty = ty.map_or(F32, f32_like);
    // Indices: the machine truncates a float.
    let table = Table::of(&d.imm);
    if matches!(d.op, Opcode::Uniform | Opcode::Input | Opcode::Output) || table.is_some() {
        let at = usize::from(d.op == Opcode::Output);
        let mut changed = false;
        // A conversion that only serves as an index is still one: what it converts can be clamped as well.
        let converted = |x: Value| match b.func.def_if(x, Opcode::F2s) {
            Some(c) if facts.bounds.is_some() => c.args[0],
            _ => x,
        };
        let index = d.args.get(at).map(|x| converted(*x)).filter(|x| b.func.ty(*x).is_float());
        if let Some(x) = index {
            let x = match facts.bounds {
                Some((lo, hi)) => {
                    let (lo, hi) = (b.fconst(F32, lo as f32), b.fconst(F32, hi as f32));
                    let up = if facts.sides.0 { b.ins(Opcode::Fmax, &[lo, x]) } else { x };
                    if facts.sides.1 { b.ins(Opcode::Fmin, &[hi, up]) } else { up }
                }
                None => x,
            };
            let c = b.typed(Opcode::F2s, I32, &[x], Imm::None);
            b.func.insts[i].args[at] = c;
            changed = true;
        }
        if let Some(t) = table {
            b.func.insts[i].imm = Table { guards: facts.guards, ..t }.name();
            return Ok(Action::Changed);
        }
        if d.op == Opcode::Output {
            // An integer output: stored through a conversion, which is free.
            let x = d.args[0];
            if facts.integer_output && b.func.ty(x).is_float() {
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
    if facts.only_index {
        if d.op == Opcode::F2u && !facts.of_positive {
            // Truncation to an address register is signed.
            let zero = b.fconst(b.func.ty(d.args[0]), 0.0);
            let x = b.ins(Opcode::Fmax, &[zero, d.args[0]]);
            let (Some(t), _) = (ty, span) else { return Ok(Action::Keep) };
            return Ok(Action::Replace(b.typed(Opcode::F2s, t, &[x], Imm::None)));
        }
        return Ok(Action::Keep);
    }
    let replaced = match d.op {
        // The conversion saturates where nothing else bounds the value.
        Opcode::S2f | Opcode::U2f if facts.of_loose => {
            let ty = b.func.ty(d.args[0]);
            let (lo, hi) = (b.fconst(ty, i32::MIN as f32), b.fconst(ty, i32::MAX as f32));
            let up = b.ins(Opcode::Fmax, &[lo, d.args[0]]);
            b.ins(Opcode::Fmin, &[hi, up])
        }
        Opcode::S2f | Opcode::U2f => d.args[0],
        Opcode::F2s | Opcode::F2u if facts.of_positive => b.ins(Opcode::Ffloor, &[d.args[0]]),
        Opcode::F2u => {
            let zero = b.fconst(b.func.ty(d.args[0]), 0.0);
            let x = b.ins(Opcode::Fmax, &[zero, d.args[0]]);
            b.ins(Opcode::Ffloor, &[x])
        }
        Opcode::F2s => {
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
            if unsigned && !facts.operands.iter().all(|r| r.is_non_negative()) {
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
        op if let Some(layout) = layout_of(op) => unpack(b, d.args[0], facts.operands[0], layout),
        Opcode::UnpackHalf2x16 => return Err(unsupported(span, "the bits of a float cannot be read")),
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
        Opcode::Umin | Opcode::Umax if facts.operands.iter().all(|r| r.is_non_negative()) => {
            b.ins(if d.op == Opcode::Umin { Opcode::Fmin } else { Opcode::Fmax }, &d.args)
        }
        Opcode::Ishl => {
            let scale = power(b, d.args[1], (facts.operands[1], 16), |k| (1u32 << k) as f32);
            let scale = scale.ok_or_else(|| unsupported(span, "a shift by a count that is not proven to lie within 0 and 16"))?;
            b.ins(Opcode::Fmul, &[d.args[0], scale])
        }
        Opcode::Sshr | Opcode::Ushr => {
            let scale = power(b, d.args[1], (facts.operands[1], 31), |k| 1.0 / (1u32 << k) as f32);
            let Some(scale) = scale.filter(|_| d.op == Opcode::Sshr || facts.operands[0].is_non_negative()) else {
                return Err(unsupported(span, "a shift that floats cannot express"));
            };
            let p = b.ins(Opcode::Fmul, &[d.args[0], scale]);
            b.ins(Opcode::Ffloor, &[p])
        }
        Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem => {
            let signed = matches!(d.op, Opcode::Sdiv | Opcode::Srem);
            if !signed && !facts.operands.iter().all(|r| r.is_non_negative()) {
                return Err(unsupported(span, "an integer division of unsigned values that may be negative"));
            }
            let divided = Division::new(b, d.args[0], d.args[1], facts.operands);
            if matches!(d.op, Opcode::Udiv | Opcode::Sdiv) { divided.quotient(b) } else { divided.remainder(b) }
        }
        Opcode::Ior | Opcode::Ixor if facts.apart => b.ins(Opcode::Fadd, &d.args),
        Opcode::Iand | Opcode::Ior | Opcode::Ixor => {
            let constant = |n: usize| passes::rewrite::constant_lanes(b.func, d.args[n]).map(|k| (d.args[1 - n], k));
            let Some((x, bits)) = constant(0).or_else(|| constant(1)) else {
                return Err(unsupported(
                    span,
                    format!("`{}` of integers that are both computed, and may have bits in common", d.op.name()),
                ));
            };
            let one = |b: &mut Builder, x: Value, bits: i64| match d.op {
                Opcode::Iand => bits::masked(b, x, bits),
                _ => bits::joined(b, x, bits, d.op == Opcode::Ixor),
            };
            let bits = bits.map(|k| f32::from_bits(k) as i64);
            let lanes = fty.lanes as usize;
            if bits[..lanes].iter().all(|k| *k == bits[0]) {
                one(b, x, bits[0])
            } else {
                let parts = (0u8..).zip(&bits[..lanes]).map(|(l, k)| {
                    let x = lane(b, x, l);
                    one(b, x, *k)
                });
                let parts: Vec<Value> = parts.collect();
                b.build(&parts)
            }
        }
        Opcode::Inot => {
            let minus_one = b.fconst(fty, -1.0);
            b.ins(Opcode::Fsub, &[minus_one, d.args[0]])
        }
        Opcode::Select | Opcode::Splat | Opcode::Build | Opcode::Extract | Opcode::Insert | Opcode::Shuffle => {
            b.typed(d.op, fty, &d.args, d.imm.clone())
        }
        Opcode::Bitcast => d.args[0],
        other => return Err(unsupported(span, format!("the machine has no integers: `{}` cannot be expressed", other.name()))),
    };
    Ok(Action::Replace(replaced))
}

/// Fields of an unpack operation: how many, their bits, and whether they are signed.
fn layout_of(op: Opcode) -> Option<(u32, u32, bool)> {
    match op {
        Opcode::UnpackUnorm4x8 => Some((4, 8, false)),
        Opcode::UnpackSnorm4x8 => Some((4, 8, true)),
        Opcode::UnpackUnorm2x16 => Some((2, 16, false)),
        Opcode::UnpackSnorm2x16 => Some((2, 16, true)),
        _ => None,
    }
}

/// A power of two whose exponent is an integer within a range, which may be no larger than this: of a constant one a constant, otherwise a row of a
/// table, which is exact where `ex2` need not be.
fn power(b: &mut Builder, k: Value, (range, most): (Range, i64), of: fn(u32) -> f32) -> Option<Value> {
    let ty = b.func.ty(k);
    if range.lo < 0 || range.hi > most {
        return None;
    }
    if let Some(k) = passes::rewrite::splat_float(b.func, k) {
        return Some(b.fconst(ty, of(k as u32)));
    }
    let rows = (0..=range.hi as u32).map(|k| vec![of(k).to_bits()]).collect();
    let table = Table { rows, outside: vec![0], guards: (false, false) }.name();
    let lanes: Vec<Value> = (0..ty.lanes)
        .map(|l| {
            let k = lane(b, k, l);
            let k = b.typed(Opcode::F2s, I32, &[k], Imm::None);
            b.typed(Opcode::Ext, F32, &[k], table.clone())
        })
        .collect();
    Some(b.build(&lanes))
}

/// The fields of an exact integer, scaled to what a normalised number is.
fn unpack(b: &mut Builder, x: Value, range: Range, (count, bits, signed): (u32, u32, bool)) -> Value {
    let size = 1i64 << bits;
    let parts: Vec<Value> = (0..count)
        .map(|n| {
            // Shifted right, within these limits.
            let limit = |v: i64| v >> (n * bits);
            let (lo, hi) = (limit(range.lo), limit(range.hi));
            let down = |b: &mut Builder, v: Value, by: f32, add: f32| {
                let c = b.fconst(F32, add);
                let v = if add == 0.0 { v } else { b.ins(Opcode::Fadd, &[v, c]) };
                let c = b.fconst(F32, by);
                let v = b.ins(Opcode::Fmul, &[v, c]);
                b.ins(Opcode::Ffloor, &[v])
            };
            let shifted = match (n, lo == hi) {
                (_, true) => b.fconst(F32, lo as f32),
                (0, _) => x,
                _ => down(b, x, 1.0 / (1u64 << (n * bits)) as f32, 0.0),
            };
            let (first, last) = if signed { (-size / 2, size / 2 - 1) } else { (0, size - 1) };
            let field = if lo >= first && hi <= last {
                shifted
            } else {
                let q = down(b, shifted, 1.0 / size as f32, -first as f32);
                remainder(b, shifted, q, size as f32)
            };
            let scale = b.fconst(F32, 1.0 / last as f32);
            let scaled = b.ins(Opcode::Fmul, &[field, scale]);
            if !signed {
                return scaled;
            }
            let least = b.fconst(F32, -1.0);
            b.ins(Opcode::Fmax, &[least, scaled])
        })
        .collect();
    b.build(&parts)
}
