//! Legalisation: what the machine lacks becomes what it has, in the IR, where the interpreter sees it.
//!
//! Facts: the ISA sheet's sections 10, 11.2, 12 and 17.5. The order is: optimise, expand, clean up, narrow to f16 where the
//! caller allows it, structure control flow.

pub mod discards;
mod expand;
mod fetches;
mod kept;
pub mod kills;
pub mod numerics;
pub mod pairs;
pub mod precision;
pub mod sizes;

use crate::legal::numerics::UsseNumerics;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::passes::{FpContract, PassOptions, cleanup, pipeline, sequence};
use retroshade_ir::types::F32;
use retroshade_ir::*;
use retroshade_lower::legal::blend::blend;
use retroshade_lower::legal::{Rule, apply};
use retroshade_lower::structure::{StructureOptions, structurise};
use retroshade_lower::{CompileError, OptLevel, Options, Phase, Trace};

static NUM: UsseNumerics = UsseNumerics;

/// What the pass pipeline is asked for.
fn pass_options(o: &Options) -> PassOptions {
    let passes = o.passes(&NUM);
    PassOptions {
        fp_contract: if o.fp_contract { FpContract::Fmad } else { FpContract::None },
        contract_shared: true,
        rows: o.fp_contract && passes.level > 1,
        unroll_fuel: if passes.level < 2 { 0 } else { 128 },
        if_convert_cost: if passes.level == 0 { 0 } else { 6 },
        lower_switches: true,
        local_select: ARRAY,
        remat: false,
        ..passes
    }
}

/// What contraction may make of sums of products.
const BLENDS: &[(Opcode, Rule)] = &[(Opcode::Fmad, blend), (Opcode::Fadd, blend)];

/// Optimises and legalises. With `sink`, values are made as late as they can be, which keeps fewer alive at a time; with
/// `narrow`, values may be f16 where the options allow it.
pub fn legalise(source: &Module, o: &Options, sink: bool, narrow: bool, trace: &mut Trace) -> Result<Module, CompileError> {
    narrowed(front(source, o, sink, trace)?, o, sink, narrow, trace)
}

/// The passes as the room wants them.
fn passes_in(o: &Options, sink: bool) -> PassOptions {
    let passes = pass_options(o);
    if sink { PassOptions { unroll_fuel: 0, if_convert_cost: 0, remat: true, ..passes } } else { passes }
}

/// The part of [`legalise`] that does not depend on `narrow`.
pub fn front(source: &Module, o: &Options, sink: bool, trace: &mut Trace) -> Result<Module, CompileError> {
    let mut m = source.clone();
    let passes = passes_in(o, sink);
    let entry = m.entry;
    // An index beyond the end reads the last element, as on the interpreter.
    retroshade_ir::passes::robust::uniforms(&mut m);
    retroshade_lower::legal::level::from_derivatives(&mut m);
    pipeline(&mut m, &passes, &mut |name, m| trace.pass(name, m));
    if sizes::run(&mut m) {
        sequence(&mut m, &["simplify", "gvn", "dce"], &passes);
    }
    // What unrolled loops read at constant places stands in registers.
    if o.opt > OptLevel::O0 && sequence(&mut m, &["indices"], &passes) {
        cleanup(&mut m, &passes);
    }
    if !m.functions[entry].locals.is_empty() {
        sequence(&mut m, &["local_select", "promote", "dce"], &passes);
        settle_arrays(&mut m.functions[entry])?;
    }
    if o.opt > OptLevel::O1 && o.fp_contract {
        let f = &mut m.functions[entry];
        if apply(f, BLENDS) | expand::scaled_sums(f) {
            sequence(&mut m, &["simplify", "gvn", "dce"], &passes);
        }
    }
    let packs = o.opt > OptLevel::O1 && !sink;
    if packs {
        pack(&mut m, &passes);
        trace.module(Phase::Pack, &m);
    }
    expand::run(&mut m.functions[entry]);
    // A sine and a cosine, say, are different operations only until here.
    if packs {
        pack(&mut m, &passes);
    }
    // Expansions leave products and sums behind.
    let again: &[&str] =
        if o.fp_contract && o.opt > OptLevel::O1 { &["contract", "simplify", "gvn", "dce"] } else { &["simplify", "gvn", "dce"] };
    sequence(&mut m, again, &passes);
    // Simplification may have put together again what was taken apart.
    expand::run(&mut m.functions[entry]);
    Ok(m)
}

/// Like operations become lanes of one: two, then four.
fn pack(m: &mut Module, passes: &PassOptions) {
    let entry = m.entry;
    if pairs::run(&mut m.functions[entry], 1) {
        sequence(m, &["gvn", "dce"], passes);
        pairs::run(&mut m.functions[entry], 2);
    }
}

/// The rest of it.
pub fn narrowed(mut m: Module, o: &Options, sink: bool, narrow: bool, trace: &mut Trace) -> Result<Module, CompileError> {
    let (passes, entry) = (passes_in(o, sink), m.entry);
    if m.stage == Stage::Fragment {
        precision::run(&mut m, o, narrow);
        sequence(&mut m, &["gvn", "dce"], &passes);
    }
    if m.stage == Stage::Fragment && o.opt > OptLevel::O0 {
        crate::legal::precision::preload(&mut m);
    }
    if o.opt > OptLevel::O1 {
        kept::run(&mut m.functions[entry]);
    }
    structurise(&mut m.functions[entry], StructureOptions::default())?;
    return_last(&mut m.functions[entry]);
    if o.opt > OptLevel::O1 && m.stage == Stage::Fragment {
        discards::run(&mut m.functions[entry]);
        kills::run(&mut m.functions[entry]);
    }
    if sink {
        sink_values(&mut m.functions[entry]);
    } else if o.opt > OptLevel::O1 {
        fetches::run(&mut m);
    }
    sequence(&mut m, &["dce"], &passes);
    trace.module(Phase::Legal, &m);
    Ok(m)
}

/// The program ends where its code does: what returns is laid out behind arms that never do.
fn return_last(f: &mut Function) {
    let returns = |b: &Block| f.terminator(*b).is_some_and(|t| f.insts[t].op == Opcode::Return);
    if let Some(n) = f.layout.iter().position(returns) {
        f.layout[n..].rotate_left(1);
    }
}

/// Moves what has no effect to its first use within its block, so that it is not alive before.
fn sink_values(f: &mut Function) {
    for b in f.layout.clone() {
        let mut insts = f.blocks[b].insts.clone();
        for n in (0..insts.len()).rev() {
            let i = insts[n];
            let effect = f.insts[i].op.effect();
            let (Some(r), Effect::Pure | Effect::Convergent) = (f.result(i), effect) else { continue };
            let Some(first) = insts[n + 1..].iter().position(|u| f.reads(*u).contains(&r)) else { continue };
            // Neighbours take part in derivatives and implicit levels: all of them must still be there.
            let discards = |u: &Inst| f.insts[*u].op == Opcode::Discard;
            if effect == Effect::Pure || !insts[n + 1..n + 1 + first].iter().any(discards) {
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
