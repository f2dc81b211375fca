//! Legalisation: what the machine lacks becomes what it has, in the IR, before anything else is decided.
//!
//! Everything that may change a rounding happens here: division by reciprocal, range reduction of sine and cosine, powers,
//! the integer division sequence. The result runs on the interpreter under this target's arithmetic with exactly the
//! results of the code.

pub mod algebra;
mod arms;
mod division;
mod gradients;
pub mod half;
mod ladders;
mod lengths;
pub mod numerics;
mod order;
mod position;
mod scale;
mod signs;
mod splats;
mod texels;

use crate::legal::numerics::NUMERICS;
use cranelift_entity::EntityRef;
use retroshade_ir::analysis::{Cfg, Ranges};
use retroshade_ir::passes::contract::FpContract;
use retroshade_ir::passes::rewrite::{Action, rewrite, rewrite_of, splat_bits};
use retroshade_ir::passes::{self, PassOptions, cleanup, each, sequence};
use retroshade_ir::types::I32;
use retroshade_ir::{Block, Builder, Function, Imm, InstData, IntCC, MemRef, Module, Opcode, Scalar, TexDim, Type, Value};
use retroshade_lower::driver::{Phase, Trace};
use retroshade_lower::legal::{BITS_AND_PACKING, Rule, apply, bits, float, intdiv, level, mul};
use retroshade_lower::structure::{Structure, StructureOptions, structurise};
use retroshade_lower::{CompileError, OptLevel, Options};
use std::collections::BTreeSet;

/// Constant parts of indices are below this, so that they fit every offset.
const MAX_SPLIT: u32 = 64;
/// The same of indices that are nothing but a constant.
const MAX_SHARED: u32 = 1024;
/// How deep branches are nested whose arms fetch and become selects.
const ARM_ROUNDS: usize = 3;
/// Rounds of joining choices: a chain is one shorter after each.
const SPLAT_ROUNDS: usize = 8;
/// The least index that a register's relative address surely takes.
const LEAST_INDEX: i64 = -128;

/// What a compilation may try both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Whether sums of products become dot products; otherwise existing ones of three become sums.
    pub dots: bool,
    /// Instructions that unrolling may make of a loop.
    pub unroll: u32,
    /// What both sides of a branch may cost together to become selects.
    pub select: u32,
    /// Local arrays up to this length become selects where their index is computed.
    pub local: u32,
    /// Whether small arms that fetch become selects.
    pub arms: bool,
    /// Whether constant indices that unrolling leaves read constant registers; else they stay fetches, four words at a time.
    pub indices: bool,
}

/// The least number of products that become a dot product.
const LEAST_DOT: u32 = 3;

/// The usual way.
pub const STANDARD: Choice = Choice { dots: true, unroll: 256, select: 16, local: 8, arms: true, indices: true };

/// The passes' options under a choice.
fn pass_options(options: &Options, choice: Choice) -> PassOptions {
    PassOptions {
        fp_contract: if options.fp_contract { FpContract::Fmad } else { FpContract::None },
        unroll_fuel: choice.unroll,
        if_convert_cost: choice.select,
        convert_discards: true,
        scalarise: true,
        dot: if choice.dots { LEAST_DOT } else { 0 },
        lower_switches: true,
        local_select: choice.local,
        remat: false,
        ..options.passes(&NUMERICS)
    }
}

/// Operations that the machine lacks, by operations of the IR, beside bits and packing.
const RULES: &[(Opcode, Rule)] = &[
    (Opcode::Fma, float::fma_fmad),
    (Opcode::Fdiv, float::fdiv_rcp),
    (Opcode::Fsign, float::fsign),
    (Opcode::Dot, dot2),
    (Opcode::FindUmsb, bits::find_umsb_search),
];

/// Operations that become the machine's own: these come last, because passes do not look into what machine operations compute.
const MACHINE_RULES: &[(Opcode, Rule)] = &[
    (Opcode::Fsin, |b, d, _| Some(turns(b, d.args[0], None, "r700.sin"))),
    (Opcode::Fcos, |b, d, _| Some(turns(b, d.args[0], None, "r700.cos"))),
    (Opcode::Fpow, pow),
    (Opcode::Sdiv, division::divide_power),
    (Opcode::Srem, division::divide_power),
    (Opcode::Udiv, division::divide_constant),
    (Opcode::Urem, division::divide_constant),
    (Opcode::Sdiv, division::divide_constant),
    (Opcode::Srem, division::divide_constant),
    (Opcode::Udiv, |b, d, _| Some(division::unsigned(b, d.args[0], d.args[1]).0)),
    (Opcode::Urem, |b, d, _| Some(division::unsigned(b, d.args[0], d.args[1]).1)),
    (Opcode::Sdiv, |b, d, _| Some(division::signed(b, d.args[0], d.args[1], true))),
    (Opcode::Srem, |b, d, _| Some(division::signed(b, d.args[0], d.args[1], false))),
];

/// What emulators of the Wii U lack beside that; each gives the same result.
const EMULATOR_RULES: &[(Opcode, Rule)] = &[
    (Opcode::Fceil, float::fceil_floor),
    (Opcode::Udiv, intdiv::by_float),
    (Opcode::Urem, intdiv::by_float),
    (Opcode::Sdiv, intdiv::by_float),
    (Opcode::Srem, intdiv::by_float),
    (Opcode::Smulhi, mul::smulhi_umulhi),
    (Opcode::Umulhi, mul::umulhi_imul),
];

/// Whether the code shall keep to what the platform's emulators execute.
pub fn for_emulators(options: &Options) -> bool {
    options.emulators && options.chip.as_deref() == Some(crate::abi::LATTE)
}

/// A dot product of two lanes is a product and a multiply-add: two slots instead of four.
fn dot2(b: &mut Builder<'_>, d: &InstData, _: Type) -> Option<Value> {
    sum_of(b, d, 2)
}

fn sum_of(b: &mut Builder<'_>, d: &InstData, most: u8) -> Option<Value> {
    let lanes = b.func.ty(d.args[0]).lanes;
    if lanes > most {
        return None;
    }
    let mut sum = None;
    for k in 0..lanes {
        let [x, y] = [0, 1].map(|n| match b.func.const_bits(d.args[n]) {
            Some(bits) => b.splat_const(b.func.ty(d.args[n]).lane(), bits[k as usize]),
            None => b.extract(d.args[n], k),
        });
        sum = Some(match sum {
            None => b.ins(Opcode::Fmul, &[x, y]),
            Some(s) => b.ins(Opcode::Fmad, &[x, y, s]),
        });
    }
    sum
}

/// What of a choice matters before [`legalise`]: choices that agree in this share [`prepare`].
pub fn preparation(choice: Choice) -> Choice {
    Choice { dots: false, unroll: choice.unroll, select: choice.select, local: choice.local, ..STANDARD }
}

/// What of it matters before loops are unrolled: choices that agree in this share [`begin`].
pub fn beginning(module: &Module, choice: Choice) -> Choice {
    let switches = has(module, |_, d| d.op == Opcode::Switch);
    Choice { unroll: STANDARD.unroll, select: if switches { choice.select } else { STANDARD.select }, ..preparation(choice) }
}

fn has(module: &Module, is: impl Fn(&Function, &InstData) -> bool) -> bool {
    module.functions.values().any(|f| f.ordered().any(|(_, i)| is(f, &f.insts[i])))
}

/// Operations that the machine lacks, but for its own.
fn expand(m: &mut Module, options: &Options) -> bool {
    let own = if for_emulators(options) { EMULATOR_RULES } else { &[] };
    each(m, |f| {
        // Most programs have none, and these rules are about nearly every operation.
        let halves = f.values.values().any(|(ty, _)| ty.scalar == Scalar::F16);
        apply(f, &[if halves { crate::legal::half::RULES } else { &[] }, RULES, BITS_AND_PACKING, own].concat())
    })
}

/// Optimises up to where loops are unrolled. Texts asked for go to `trace`.
pub fn begin(module: &Module, options: &Options, choice: Choice, trace: &mut Trace<'_>) -> Module {
    let mut m = module.clone();
    // Where an index comes from shows only when calls are gone.
    let pass = pass_options(options, choice);
    sequence(&mut m, &["inline"], &pass);
    let emulators = for_emulators(options);
    if emulators {
        level::from_derivatives(&mut m);
    }
    // The unit wants gradients on a cube's face; emulators have some in two dimensions only.
    level::from_gradients(&mut m, |info, dim, arrayed| dim == TexDim::Cube || emulators && !info.compare && (dim != TexDim::D2 || arrayed));
    position::reciprocal_w(&mut m);
    position::own_sample(&mut m);
    texels::fetch_offsets(&mut m);
    bound_indices(&mut m, if options.opt > OptLevel::O0 { choice.local } else { 0 });
    each(&mut m, whole_quotients);
    expand(&mut m, options);
    passes::before_unrolling(&mut m, &pass, &mut |name, m| trace.pass(name, m));
    m.compact();
    m
}

/// Unrolls loops in what [`begin`] gives; nothing where there are none.
pub fn unroll(m: &Module, options: &Options, choice: Choice, trace: &mut Trace<'_>) -> Option<Module> {
    let mut m = m.clone();
    let unrolled = passes::unrolling(&mut m, &pass_options(options, choice), &mut |name, m| trace.pass(name, m));
    unrolled.then(|| {
        m.compact();
        m
    })
}

/// Optimises what [`unroll`] gives; what depends on how dot products are formed comes later, in [`form`].
pub fn prepare(m: &Module, options: &Options, choice: Choice, trace: &mut Trace<'_>) -> Module {
    let mut m = m.clone();
    let pass = pass_options(options, choice);
    passes::after_unrolling(&mut m, &pass, &mut |name, m| trace.pass(name, m));
    m.compact();
    passes::before_forming(&mut m, &pass, &mut |name, m| trace.pass(name, m));
    m
}

/// Forms the machine's larger operations, dot products above all, in what [`prepare`] gives.
pub fn form(mut m: Module, options: &Options, choice: Choice, trace: &mut Trace<'_>) -> Module {
    let pass = pass_options(options, choice);
    passes::forming(&mut m, &pass, &mut |name, m| trace.pass(name, m));
    m
}

/// What of a choice still matters to [`legalise`] after [`form`]: ways that agree in this and in the module become the same.
pub fn as_it_matters(m: &Module, choice: Choice) -> Choice {
    let f = m.main();
    let all = |op: Opcode| f.ordered().map(|(_, i)| &f.insts[i]).filter(move |d| d.op == op);
    // Those of four products stay either way.
    let dots = all(Opcode::Dot).any(|d| f.ty(d.args[0]).lanes == 3);
    Choice { dots: choice.dots || !dots, unroll: 0, local: 0, ..choice }
}

/// Legalises what [`form`] gives, but for the shape of control flow.
pub fn legalise(mut m: Module, options: &Options, choice: Choice) -> Module {
    let pass = pass_options(options, choice);
    if choice.indices && options.opt > OptLevel::O0 && sequence(&mut m, &["indices"], &pass) {
        cleanup(&mut m, &pass);
    }
    if options.opt > OptLevel::O1 && choice.arms {
        for _ in 0..ARM_ROUNDS {
            if !each(&mut m, |f| arms::run(f, choice.select)) {
                break;
            }
            sequence(&mut m, &["gvn", "if_convert"], &pass);
            cleanup(&mut m, &pass);
        }
    }
    // Passes may have formed what has to be expanded again; machine operations come last.
    let loose = options.fp_contract && options.opt > OptLevel::O0;
    let relaxed = loose
        && each(&mut m, lengths::run)
            | each(&mut m, crate::legal::algebra::run)
            | each(&mut m, crate::legal::algebra::zero_tests)
            | each(&mut m, scale::run);
    let again = expand(&mut m, options)
        | each(&mut m, division::remainders)
        | each(&mut m, |f| apply(f, MACHINE_RULES))
        | texels::cubes(&mut m)
        | texels::far_gathers(&mut m)
        | relaxed;
    let again = if !choice.dots {
        expand_dots(&mut m, |_, lanes| lanes == 3);
        again
    } else {
        again | (loose && each(&mut m, crate::legal::algebra::fourth_lanes))
    };
    costly_dots(&mut m);
    let again = again
        | (options.opt > OptLevel::O0
            && (each(&mut m, crate::legal::algebra::zero_first)
                | each(&mut m, crate::legal::algebra::shifted_sums)
                | each(&mut m, crate::legal::algebra::field_tests)
                | split_indices(&mut m)));
    if again && options.opt > OptLevel::O0 {
        sequence(&mut m, &["simplify", "gvn", "dce"], &pass);
        expand(&mut m, options);
    }
    if options.opt > OptLevel::O0 {
        for _ in 0..SPLAT_ROUNDS {
            if !each(&mut m, splats::run) {
                break;
            }
            sequence(&mut m, &["gvn", "dce"], &pass);
        }
        if each(&mut m, ladders::run) {
            sequence(&mut m, &["dce"], &pass);
        }
    }
    reorder(&mut m, options);
    zero_locals(&mut m);
    m.compact();
    m
}

/// Brings sums and products into the order that pays, where other orders are allowed.
pub fn reorder(m: &mut Module, options: &Options) {
    let pass = pass_options(options, STANDARD);
    if !options.fp_contract || options.opt == OptLevel::O0 {
        return;
    }
    // Equal numbers are one value.
    sequence(m, &["gvn"], &pass);
    if each(m, signs::run) | each(m, order::run) {
        sequence(m, &["relax", "simplify", "gvn", "dce"], &pass);
    }
}

/// Brings control flow into the shape that the machine has.
pub fn structure(m: &mut Module, options: &Options, trace: &mut Trace<'_>) -> Result<Structure, CompileError> {
    let shape = StructureOptions { allow_continue: !for_emulators(options) };
    if options.opt > OptLevel::O0 {
        each(m, gradients::gather);
        idle_cuts(m.main_mut());
    }
    let before = m.main().blocks.len();
    let mut tree = structurise(m.main_mut(), shape)?;
    // What early returns become are truth values that blocks without code pass on: selects do that, and often more of it then.
    if options.opt > OptLevel::O1 && m.main().blocks.len() > before {
        let pass = pass_options(options, STANDARD);
        let mut converted = m.clone();
        if sequence(&mut converted, &["if_convert"], &pass) {
            cleanup(&mut converted, &pass);
            tree = structurise(converted.main_mut(), shape)?;
            *m = converted;
        }
    }
    trace.module(Phase::Legal, m);
    Ok(tree)
}

/// The end of a geometry program ends its strip: nothing has to do so where no vertex follows.
fn idle_cuts(func: &mut Function) {
    if !func.ordered().any(|(_, i)| func.insts[i].op == Opcode::EndPrimitive) {
        return;
    }
    // Blocks from whose beginning a vertex may follow.
    let cfg = Cfg::new(func);
    let emits = |b: &Block| func.blocks[*b].insts.iter().any(|i| func.insts[*i].op == Opcode::EmitVertex);
    let mut work: Vec<Block> = func.layout.iter().copied().filter(emits).collect();
    let mut follows: BTreeSet<Block> = work.iter().copied().collect();
    while let Some(b) = work.pop() {
        work.extend(cfg.preds(b).iter().map(|e| e.from).filter(|p| follows.insert(*p)));
    }
    for b in func.layout.clone() {
        let mut later = func.successors(b).iter().any(|t| follows.contains(&t.block));
        let mut insts = std::mem::take(&mut func.blocks[b].insts);
        let mut kept = Vec::new();
        while let Some(i) = insts.pop() {
            later |= func.insts[i].op == Opcode::EmitVertex;
            let idle = func.insts[i].op == Opcode::EndPrimitive && !later;
            kept.extend((!idle).then_some(i));
        }
        kept.reverse();
        func.blocks[b].insts = kept;
    }
}

/// floor(x / y) where y divides x: the product with the reciprocal may lie just below the whole number. What is left of x
/// then equals y, exactly so for whole numbers, and one is added.
fn whole_quotients(func: &mut Function) -> bool {
    rewrite_of(func, &[Opcode::Ffloor], |b, i| {
        let d = b.func.insts[i].clone();
        let Some(q) = d.args.first().and_then(|v| b.func.def_if(*v, Opcode::Fdiv)).cloned() else { return Action::Keep };
        let (x, y) = (q.args[0], q.args[1]);
        let ty = b.func.ty(x);
        if ty.scalar != Scalar::F32 || b.func.const_bits(y).is_some() {
            return Action::Keep;
        }
        let f = b.ins(Opcode::Ffloor, &[d.args[0]]);
        let n = b.ins(Opcode::Fneg, &[f]);
        let rest = b.ins(Opcode::Fmad, &[n, y, x]);
        let same = b.fcmp(retroshade_ir::FloatCC::Oeq, rest, y);
        let (one, zero) = (b.fconst(ty, 1.0), b.fconst(ty, 0.0));
        let more = b.select(same, one, zero);
        Action::Replace(b.ins(Opcode::Fadd, &[f, more]))
    })
}

/// The dot products of a module, in order.
pub fn dots(m: &Module) -> usize {
    let f = m.main();
    f.ordered().filter(|(_, i)| f.insts[*i].op == Opcode::Dot).count()
}

/// Turns the dot products that `which` names (number, lanes) into sums.
pub fn expand_dots(m: &mut Module, which: impl Fn(usize, u8) -> bool) {
    let mut n = 0;
    rewrite_of(m.main_mut(), &[Opcode::Dot], |b, i| {
        let d = b.func.insts[i].clone();
        n += 1;
        let lanes = b.func.ty(d.args[0]).lanes;
        if !which(n - 1, lanes) {
            return Action::Keep;
        }
        sum_of(b, &d, 4).map_or(Action::Keep, Action::Replace)
    });
}

/// Computed indices into uniforms and local arrays are bounded: a vertex fetch outside of its buffer and a relative register
/// outside of its array would reach what belongs to others.
///
/// Local arrays get two elements more for that: one that is always 0, which loads outside read, and one for stores outside.
/// `small`: arrays up to this length become selects later, which keep to their bounds by themselves.
fn bound_indices(m: &mut Module, small: u32) {
    let uniforms: Vec<u32> = m.uniforms.values().map(|u| u.units()).collect();
    let ids: Vec<_> = m.functions.keys().collect();
    for id in ids {
        let f = &mut m.functions[id];
        let locals: Vec<u32> = f.locals.values().map(|l| l.count).collect();
        // The index's place among the operands, and the element that takes indices outside.
        let place = |d: &InstData| -> Option<(u32, u32, usize)> {
            let Imm::Mem { var, offset } = d.imm else { return None };
            let n = (d.op == Opcode::LocalStore) as usize;
            let last = match var {
                MemRef::Uniform(u) => uniforms[u.index()].saturating_sub(1),
                MemRef::Local(l) if locals[l.index()] > small => locals[l.index()] + n as u32,
                _ => return None,
            };
            (d.args.len() > n).then_some((offset, last, n))
        };
        let mut grown: BTreeSet<usize> = BTreeSet::new();
        rewrite(f, |b, i| {
            let d = b.func.insts[i].clone();
            let Some((mut offset, last, n)) = place(&d) else { return Action::Keep };
            let mut index = d.args[n];
            let ty = b.func.ty(index);
            // What counts is the sum: `w[i + 4]` with a negative i is a good index.
            if offset >= multiple_of(b.func, index) {
                let by = b.iconst(ty, offset);
                index = b.ins(Opcode::Iadd, &[index, by]);
                offset = 0;
            }
            let most = last.saturating_sub(offset);
            if let Imm::Mem { var: MemRef::Local(l), .. } = d.imm {
                grown.insert(l.index());
            }
            let v = if n == 1 {
                // A store outside goes one further than the zero that loads find.
                let count = b.iconst(ty, (last - 1).saturating_sub(offset));
                let inside = b.icmp(IntCC::Ult, index, count);
                let most = b.iconst(ty, most);
                b.select(inside, index, most)
            } else {
                let most = b.iconst(ty, most);
                b.ins(Opcode::Umin, &[index, most])
            };
            let data = &mut b.func.insts[i];
            data.args[n] = v;
            if let Imm::Mem { offset: o, .. } = &mut data.imm {
                *o = offset;
            }
            Action::Changed
        });
        for (k, l) in f.locals.values_mut().enumerate() {
            if grown.contains(&k) {
                l.count += 2;
            }
        }
    }
}

/// A number that divides an integer, as far as its definition shows: rows of a matrix and members of a structure stand behind an
/// index that is one. (A product that wraps around to just below zero is an index outside of every array.)
fn multiple_of(f: &Function, v: Value) -> u32 {
    const MOST: u64 = 1 << 31;
    fn divisor(f: &Function, v: Value, depth: u32) -> u64 {
        if let Some(c) = splat_bits(f, v) {
            return if c == 0 { MOST } else { (c as i32).unsigned_abs() as u64 };
        }
        let Some(d) = f.def_inst(v).map(|i| &f.insts[i]).filter(|_| depth > 0) else { return 1 };
        let arg = |n: usize| divisor(f, d.args[n], depth - 1);
        let d = match d.op {
            Opcode::Ishl => arg(0) << splat_bits(f, d.args[1]).map_or(0, |k| k & 31),
            Opcode::Imul => arg(0) * arg(1),
            Opcode::Iadd | Opcode::Isub => gcd(arg(0), arg(1)),
            Opcode::Iand => 1 << arg(0).trailing_zeros().max(arg(1).trailing_zeros()),
            _ => 1,
        };
        if d > MOST { 1 << d.trailing_zeros().min(31) } else { d }
    }
    const fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    divisor(f, v, 6) as u32
}

/// Constant summands of computed indices become offsets, which cost nothing, where the rest is never negative: the machine
/// checks and clamps the index by itself, as unsigned. A register's index is signed.
fn split_indices(m: &mut Module) -> bool {
    let mut changed = false;
    for id in m.functions.keys().collect::<Vec<_>>() {
        let f = &m.functions[id];
        let indexed = |d: &InstData| matches!(d.imm, Imm::Mem { .. }) && d.args.len() > (d.op == Opcode::LocalStore) as usize;
        if !f
            .ordered()
            .any(|(_, i)| matches!(f.insts[i].op, Opcode::Uniform | Opcode::LocalLoad | Opcode::LocalStore) && indexed(&f.insts[i]))
        {
            continue;
        }
        let ranges = Ranges::new(m, f);
        let scratch = crate::select::in_scratch(f, |_| false);
        changed |= rewrite(&mut m.functions[id], |b, i| {
            let d = b.func.insts[i].clone();
            let Imm::Mem { var, .. } = d.imm else { return Action::Keep };
            let (n, signed) = match (d.op, var) {
                (Opcode::Uniform, _) => (0, false),
                (Opcode::LocalLoad, MemRef::Local(l)) => (0, !scratch[l.index()]),
                (Opcode::LocalStore, MemRef::Local(l)) => (1, !scratch[l.index()]),
                _ => return Action::Keep,
            };
            let Some(index) = d.args.get(n).copied() else { return Action::Keep };
            let block = b.block;
            // x + k where x is at least `least`.
            let sum = |b: &Builder<'_>, v: Value, least: i64| -> Option<(Value, u32)> {
                let d = b.func.def_if(v, Opcode::Iadd)?;
                let (x, k) = [(0, 1), (1, 0)].into_iter().find_map(|(x, k)| Some((d.args[x], splat_bits(b.func, d.args[k])?)))?;
                (k < MAX_SPLIT && (ranges.range_at(x, block).lo >= least || k < multiple_of(b.func, x))).then_some((x, k))
            };
            let def = b.func.def_inst(index).map(|i| b.func.insts[i].clone());
            let ty = b.func.ty(index);
            // Elements by constant indices share one index.
            if let (Opcode::Uniform, Some(k @ 1..MAX_SHARED)) = (d.op, splat_bits(b.func, index)) {
                let zero = b.iconst(ty, 0);
                let data = &mut b.func.insts[i];
                data.args[n] = zero;
                if let Imm::Mem { offset, .. } = &mut data.imm {
                    *offset += k;
                }
                return Action::Changed;
            }
            let constant = |b: &Builder<'_>, v: Value, k: u32| splat_bits(b.func, v).filter(|c| *c >= k).map(|c| c - k);
            let split = match def {
                Some(d) if d.op == Opcode::Iadd => sum(b, index, if signed { LEAST_INDEX } else { 0 }),
                Some(d) if d.op == Opcode::Umin => sum(b, d.args[0], 0).and_then(|(x, k)| {
                    let most = constant(b, d.args[1], k)?;
                    let most = b.iconst(ty, most);
                    Some((b.ins(Opcode::Umin, &[x, most]), k))
                }),
                // Stores: the element that takes those outside.
                Some(d) if d.op == Opcode::Select => sum(b, d.args[1], 0).and_then(|(x, k)| {
                    let test = b.func.def_if(d.args[0], Opcode::Icmp).cloned()?;
                    let (Imm::IntCC(IntCC::Ult), true) = (&test.imm, test.args[0] == d.args[1]) else { return None };
                    let (count, other) = (constant(b, test.args[1], k)?, constant(b, d.args[2], k)?);
                    let (count, other) = (b.iconst(ty, count), b.iconst(ty, other));
                    let inside = b.icmp(IntCC::Ult, x, count);
                    Some((b.select(inside, x, other), k))
                }),
                _ => None,
            };
            let Some((x, k)) = split else { return Action::Keep };
            let data = &mut b.func.insts[i];
            data.args[n] = x;
            if let Imm::Mem { offset, .. } = &mut data.imm {
                *offset += k;
            }
            Action::Changed
        });
    }
    changed
}

/// Local arrays begin as 0: stores of 0 at the start for every element that is not stored there before it may be read.
fn zero_locals(m: &mut Module) {
    let f = m.main_mut();
    let mut stored: BTreeSet<(usize, u32)> = BTreeSet::new();
    let mut read: BTreeSet<usize> = BTreeSet::new();
    let Some(entry) = f.layout.first().copied() else { return };
    for i in &f.blocks[entry].insts {
        let d = &f.insts[*i];
        if let Imm::Mem { var: MemRef::Local(l), offset } = d.imm {
            match d.op {
                Opcode::LocalStore if d.args.len() == 1 && !read.contains(&l.index()) => {
                    stored.insert((l.index(), offset));
                }
                Opcode::LocalLoad => {
                    read.insert(l.index());
                }
                _ => {}
            }
        }
    }
    let used: BTreeSet<usize> = f
        .ordered()
        .filter_map(|(_, i)| match (f.insts[i].op, &f.insts[i].imm) {
            (Opcode::LocalLoad, Imm::Mem { var: MemRef::Local(l), .. }) => Some(l.index()),
            _ => None,
        })
        .collect();
    let missing: Vec<(retroshade_ir::Local, Type, u32)> = f
        .locals
        .iter()
        .filter(|(l, _)| used.contains(&l.index()))
        .flat_map(|(l, d)| (0..d.count).map(move |n| (l, d.ty, n)))
        .filter(|(l, _, n)| !stored.contains(&(l.index(), *n)))
        .collect();
    // Arrays in scratch memory are cleared by a loop where stores would take more code.
    let scratch = crate::select::in_scratch(f, |_| false);
    let many = |l: retroshade_ir::Local| scratch[l.index()] && missing.iter().filter(|m| m.0 == l).count() > 16;
    let loops: BTreeSet<usize> = missing.iter().filter(|m| many(m.0)).map(|m| m.0.index()).collect();
    let missing: Vec<_> = missing.into_iter().filter(|m| !loops.contains(&m.0.index())).collect();
    let mut first = true;
    rewrite(f, |b, _| {
        if std::mem::take(&mut first) {
            for (l, ty, n) in &missing {
                let zero = b.splat_const(*ty, 0);
                b.store(MemRef::Local(*l), *n, zero, None);
            }
        }
        Action::Keep
    });
    let cleared: Vec<(retroshade_ir::Local, Type, u32)> =
        f.locals.iter().filter(|(l, _)| loops.contains(&l.index())).map(|(l, d)| (l, d.ty, d.count)).collect();
    for (l, ty, count) in cleared {
        clear(f, l, ty, count);
    }
}

/// Stores 0 in every element of an array before everything else, in a loop.
fn clear(f: &mut Function, l: retroshade_ir::Local, ty: Type, count: u32) {
    let Some(old) = f.layout.first().copied() else { return };
    let (entry, head) = (f.add_block(), f.add_block());
    f.layout.retain(|b| *b != entry && *b != head);
    f.layout.splice(0..0, [entry, head]);
    let i = f.add_param(head, I32);
    let mut b = Builder::new(f, entry);
    let (first, one, end) = (b.iconst(I32, 0), b.iconst(I32, 1), b.iconst(I32, count));
    let zero = b.splat_const(ty, 0);
    b.jump(head, &[first]);
    b.switch_to(head);
    b.store(MemRef::Local(l), 0, zero, Some(i));
    let next = b.ins(Opcode::Iadd, &[i, one]);
    let more = b.icmp(IntCC::Ult, next, end);
    b.br_if(more, (head, &[next]), (old, &[]));
}

/// A group reads at most two constant register halves and four literals: dot products that ask for more become sums.
fn costly_dots(m: &mut Module) {
    let uniforms: Vec<(u32, u32, u32, u32)> = m.uniforms.values().map(|u| (u.group, u.binding, u.offset, u.unit)).collect();
    rewrite_of(m.main_mut(), &[Opcode::Dot], |b, i| {
        let d = b.func.insts[i].clone();
        let lanes = b.func.ty(d.args[0]).lanes;
        let (mut halves, mut words) = (BTreeSet::new(), BTreeSet::new());
        for a in &d.args {
            for l in 0..lanes {
                let (v, lane) = crate::select::root(b.func, *a, l);
                let Some(def) = b.func.def_inst(v).map(|i| &b.func.insts[i]) else { continue };
                match def.imm {
                    Imm::Mem { var: MemRef::Uniform(u), offset } if def.args.is_empty() => {
                        let (group, binding, base, unit) = uniforms[u.index()];
                        halves.insert((group, binding, ((base + offset * unit) / 4 + lane as u32) / 2));
                    }
                    Imm::Const(bits) if crate::select::mir::inline_constant(bits[lane as usize], true).is_none() => {
                        words.insert(bits[lane as usize] & 0x7fff_ffff);
                    }
                    _ => {}
                }
            }
        }
        if halves.len() <= 2 && words.len() <= 4 {
            return Action::Keep;
        }
        sum_of(b, &d, 4).map_or(Action::Keep, Action::Replace)
    });
}

/// A machine operation on every lane.
fn ext(b: &mut Builder<'_>, name: &str, args: &[Value]) -> Value {
    let ty = b.func.ty(args[0]);
    let lanes: Vec<Value> = (0..ty.lanes)
        .map(|l| {
            let a: Vec<Value> = args.iter().map(|v| b.extract(*v, l)).collect();
            b.typed(Opcode::Ext, ty.lane(), &a, Imm::Ext(name.into()))
        })
        .collect();
    b.build(&lanes)
}

/// Sine and cosine take turns, up to 256 of them; whole turns go away first. `further` are turns that are added.
fn turns(b: &mut Builder<'_>, x: Value, further: Option<Value>, name: &str) -> Value {
    let ty = b.func.ty(x);
    let scale = b.fconst(ty, std::f32::consts::FRAC_1_PI * 0.5);
    let t = b.ins(Opcode::Fmul, &[x, scale]);
    let t = further.map_or(t, |f| b.ins(Opcode::Fadd, &[t, f]));
    let t = b.ins(Opcode::Ffract, &[t]);
    ext(b, name, &[t])
}

/// x to the power y: 2^(y log x), where 0 to the power 0 is 1.
fn pow(b: &mut Builder<'_>, d: &InstData, _: Type) -> Option<Value> {
    let l = b.ins(Opcode::Flog2, &[d.args[0]]);
    let p = ext(b, "r700.mul", &[l, d.args[1]]);
    Some(b.ins(Opcode::Fexp2, &[p]))
}
