//! Legalisation: what the machine lacks becomes what it has, in the IR, so that every rounding is visible there.
//!
//! Order: shared passes, structured control flow, integers to floats (where ranges prove them exact), truth values to
//! comparisons or 0/1 floats, expansions, clean-up that leaves the blocks alone. Facts: ISA sheet section 17.

pub mod algebra;
pub mod bits;
pub mod division;
pub mod exact;
pub mod indices;
pub mod integers;
pub mod loose;
pub mod numerics;
pub mod outputs;
pub mod procedures;
pub mod rules;
pub mod tables;
pub mod truths;

use crate::abi;
use crate::legal::exact::{EXACT, f32_like};
use crate::legal::integers::integers;
use crate::legal::numerics::Float24;
use crate::legal::truths::{is_too_much, truth_values};
use cranelift_entity::SecondaryMap;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::passes::{self, PassOptions, sequence};
use retroshade_ir::*;
use retroshade_lower::legal::{apply, streams};
use retroshade_lower::structure::{Structure, StructureOptions, structurise};
use retroshade_lower::{CompileError, OptLevel, Options, Phase, Trace};

/// What legalisation gives: the module and its control flow.
pub struct Legal<'o> {
    /// The module.
    pub module: Module,
    /// Its functions, the entry first, and their control flow.
    pub structures: Vec<(FuncId, Structure)>,
    /// The texts that were asked for.
    pub trace: Trace<'o>,
    /// Whether loops were unrolled, or might have been: without it the fuel makes no difference.
    pub unrolled: bool,
}

/// A module up to where its loops are unrolled. All that depends on how it is compiled is which functions stay procedures.
#[derive(Clone)]
pub struct Begun<'o> {
    module: Module,
    trace: Trace<'o>,
}

/// The passes' options.
fn pass_options(o: &Options, unroll_fuel: u32) -> PassOptions {
    PassOptions {
        unroll_fuel,
        if_convert_cost: 0,
        dot: 0,
        relax: o.fp_contract,
        local_select: 8,
        remat: false,
        inline: passes::inline::InlinePolicy::Keep,
        ..o.passes(&Float24)
    }
}

/// Legalises a verified module.
pub fn legalise(source: &Module, options: &Options) -> Result<Module, CompileError> {
    Ok(legalise_as(begin(source, options, &[], Trace::off())?, source, options, &Variant::of(options))?.module)
}

/// What is tried in several ways because only the finished program tells which is shorter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// Functions that stay procedures.
    pub keep: Vec<String>,
    /// Operations that unrolling may make of a loop.
    pub unroll: u32,
    /// Whether constant arrays with computed indices lie in constant registers.
    pub tables: bool,
    /// Whether float algebra changes the order of operations.
    pub algebra: bool,
    /// Whether matrices that are blended are blended before they are applied.
    pub blend: bool,
    /// Whether temporaries are placed component by component: what fits in no other way.
    pub tight: bool,
    /// Whether values are made where they are used first, across blocks.
    pub late: bool,
}

impl Variant {
    /// The first that is tried.
    pub fn of(o: &Options) -> Variant {
        Variant {
            keep: Vec::new(),
            unroll: if o.opt == OptLevel::Os { 24 } else { 96 },
            tables: true,
            algebra: true,
            blend: false,
            tight: false,
            late: false,
        }
    }
}

/// The first part, with these functions as procedures.
pub fn begin<'o>(source: &Module, options: &Options, keep: &[String], mut trace: Trace<'o>) -> Result<Begun<'o>, CompileError> {
    let mut m = source.clone();
    refuse(&m)?;
    retroshade_lower::legal::level::from_derivatives(&mut m);
    passes::inline::except(&mut m, &|f| keep.contains(&f.name));
    let po = PassOptions { local_select: 0, ..pass_options(options, 0) };
    if m.functions.len() > 1 {
        // What is passed shows where inlined functions have no blocks of their own any more.
        sequence(&mut m, &["simplify_cfg"], &po);
        procedures::simplify(&mut m);
    }
    if m.stage == Stage::Geometry {
        outputs::vertices(&mut m);
    } else {
        outputs::outputs(&mut m);
    }
    // Attributes are at most 16 bits wide unless declared otherwise.
    for d in m.inputs.values_mut().filter(|d| d.ty.scalar == Scalar::I32 && d.range.is_none()) {
        d.range = Some(if matches!(d.binding, Binding::Builtin(_)) || d.source_type.as_deref() == Some("u32") {
            (0, EXACT - 1)
        } else {
            (-EXACT / 2, EXACT / 2 - 1)
        });
    }
    m.functions.values_mut().for_each(round_constants);
    truths_in_floats(&mut m);
    columns_by_choice(&mut m, abi::Layout::of(options));
    // The caller hands an integer uniform over as a float, too.
    for u in m.uniforms.values_mut().filter(|u| u.ty.scalar == Scalar::I32 && u.range.is_none()) {
        u.range = Some(if u.source_type.as_deref() == Some("u32") { (0, EXACT - 1) } else { (-EXACT / 2, EXACT / 2 - 1) });
    }
    passes::before_unrolling(&mut m, &po, &mut |name, m| trace.pass(name, m));
    Ok(Begun { module: m, trace })
}

/// Legalises one variant.
pub fn legalise_as<'o>(begun: Begun<'o>, source: &Module, options: &Options, variant: &Variant) -> Result<Legal<'o>, CompileError> {
    let Begun { module: mut m, mut trace } = begun;
    let po = pass_options(options, variant.unroll);
    let mut log = |name: &str, m: &Module| trace.pass(name, m);
    // Arrays that unrolling leaves with computed indices: constants become tables, small ones selects.
    let plain = PassOptions { local_select: 0, ..po.clone() };
    let mut unrolled = passes::unrolling(&mut m, &plain, &mut log);
    passes::after_unrolling(&mut m, &plain, &mut log);
    passes::finish(&mut m, &plain, &mut log);
    let arrays = |f: &Function| f.ordered().any(|(_, i)| matches!(f.insts[i].op, Opcode::LocalLoad | Opcode::LocalStore));
    if m.functions.values().any(arrays) {
        unrolled = true;
        if variant.tables {
            tables::make(&mut m);
        }
        passes::pipeline(&mut m, &po, &mut log);
    }
    if variant.tables {
        m.functions.values_mut().for_each(tables::choices);
    }
    if variant.algebra && options.fp_contract && options.opt != OptLevel::O0 {
        let mut changed = variant.blend && m.functions.values_mut().fold(false, |any, f| algebra::blend(f) | any);
        if changed {
            sequence(&mut m, &["gvn", "dce"], &po);
        }
        changed |= m.functions.values_mut().fold(false, |any, f| algebra::run(f) | any);
        changed |= sequence(&mut m, &["rows"], &po);
        if changed {
            sequence(&mut m, &["simplify", "gvn", "dce"], &po);
        }
    }
    if procedures::results_from_callers(&mut m) {
        sequence(&mut m, &["simplify", "gvn", "dce"], &po);
    }
    let entry = m.entry;
    let mut structures = Vec::new();
    for id in procedures::callers_first(&m) {
        structures.push((id, structurise(&mut m.functions[id], StructureOptions { allow_continue: false })?));
    }
    let mut known = procedures::ranges(&m);
    for (id, _) in &structures {
        m.entry = *id;
        split_vector_tests(m.main_mut());
        integers(&mut m, std::mem::take(&mut known[*id]))?;
        truth_values(&mut m)?;
        expand(m.main_mut())?;
    }
    m.entry = entry;
    // All that passes between functions is a float now.
    m.functions.values_mut().for_each(|f| f.results.iter_mut().for_each(|t| *t = f32_like(*t)));
    // What one leaves the other may take; a handful of rounds in practice.
    for _ in 0..16 {
        let mut changed = sequence(&mut m, &["simplify", "gvn", "dce"], &po);
        for (id, _) in &structures {
            changed |= expand(&mut m.functions[*id])? | tables::fold(&mut m.functions[*id]);
            // A comparison with a number may have become the truth value behind it, which no other joins.
            if m.functions[*id].ordered().any(|(_, i)| is_too_much(&m.functions[*id], i)) {
                m.entry = *id;
                truth_values(&mut m)?;
                changed = true;
            }
        }
        m.entry = entry;
        if !changed {
            break;
        }
    }
    for (id, _) in &structures {
        polish(&mut m.functions[*id]);
    }
    sequence(&mut m, if variant.late { &["remat", "dce"] } else { &["dce"] }, &po);
    trace.module(Phase::Legal, &m);
    // Ranges were only for the analysis; declarations stay as the source has them.
    for (k, d) in source.inputs.iter() {
        m.inputs[k].range = d.range;
    }
    for (k, u) in source.uniforms.iter() {
        m.uniforms[k].range = u.range;
    }
    Ok(Legal { module: m, structures, trace, unrolled })
}

/// Whole features that the machine lacks.
fn refuse(m: &Module) -> Result<(), CompileError> {
    let mut errors = Vec::new();
    for t in m.textures.values() {
        errors.push(Diagnostic::error("P0002", t.span, format!("programs cannot read textures (`{}`)", t.name)));
    }
    for s in m.storage.values() {
        errors.push(Diagnostic::error("P0003", s.span, format!("there are no storage buffers (`{}`)", s.name)));
    }
    if let Some(g) = &m.geometry
        && g.output != Primitive::TriangleStrip
    {
        // The declaration has no span of its own; what it would make is emitted here.
        let emits = m.functions.values().flat_map(|f| f.ordered().map(move |(_, i)| (f, i)));
        let span = emits.filter(|(f, i)| f.insts[*i].op == Opcode::EmitVertex).map(|(f, i)| f.spans[i]).next();
        errors.push(Diagnostic::error("P0004", span.unwrap_or(Span::NONE), "geometry programs only make triangles"));
    }
    if let Some(span) = streams::beyond_first(m) {
        errors.push(Diagnostic::error("P0004", span, "geometry programs emit to one vertex stream, 0"));
    }
    if m.geometry.is_some_and(|g| g.invocations > 1) {
        errors.push(Diagnostic::error("P0004", m.main().place(), "geometry programs run once for a primitive"));
    }
    if errors.is_empty() { Ok(()) } else { Err(CompileError::Invalid(errors)) }
}

/// Truth values that float registers hold are integers, 0 or 1, which are compared where they are read.
fn truths_in_floats(m: &mut Module) {
    let mut number: SecondaryMap<Uniform, bool> = SecondaryMap::new();
    for (k, u) in m.uniforms.iter_mut() {
        if u.ty.scalar == Scalar::I1 && !abi::is_flag(u) {
            u.ty = u.ty.with_scalar(Scalar::I32);
            u.range = Some((0, 1));
            number[k] = true;
        }
    }
    for f in m.functions.values_mut() {
        rewrite(f, |b, i| {
            let d = b.func.insts[i].clone();
            let (Imm::Mem { var: MemRef::Uniform(k), .. }, Some(r)) = (&d.imm, d.results.first()) else { return Action::Keep };
            let ty = b.func.ty(*r);
            if !number[*k] || ty.scalar != Scalar::I1 {
                return Action::Keep;
            }
            let ty = ty.with_scalar(Scalar::I32);
            let (x, zero) = (b.typed(d.op, ty, &d.args, d.imm.clone()), b.iconst(ty, 0));
            Action::Replace(b.icmp(IntCC::Ne, x, zero))
        });
    }
}

/// Constants are what the machine can hold before anything is computed of them.
fn round_constants(f: &mut Function) {
    for d in f.insts.values_mut().filter(|d| d.op == Opcode::Const) {
        let Some(ty) = d.results.first().map(|r| f.values[*r].0) else { continue };
        if let (Scalar::F32, Imm::Const(bits)) = (ty.scalar, &mut d.imm) {
            bits.iter_mut().for_each(|b| *b = numerics::round(f64::from(f32::from_bits(*b))).to_bits());
        }
    }
}

/// A computed column of a matrix whose rows are registers is chosen among all of them.
fn columns_by_choice(m: &mut Module, layout: abi::Layout) {
    let mut columns: SecondaryMap<Uniform, u32> = SecondaryMap::new();
    for (k, u) in m.uniforms.iter().filter(|(_, u)| abi::transposed(u, layout).is_some()) {
        if let [d] = u.dims[..] {
            columns[k] = d.count;
        }
    }
    for f in m.functions.values_mut() {
        rewrite(f, |b, i| {
            let d = b.func.insts[i].clone();
            let (Opcode::Uniform, Imm::Mem { var: MemRef::Uniform(k), offset }, [x], Some(r)) =
                (d.op, &d.imm, &d.args[..], d.results.first())
            else {
                return Action::Keep;
            };
            let x = b.func.resolve(*x);
            if columns[*k] == 0 || b.func.const_bits(x).is_some() {
                return Action::Keep;
            }
            let ty = b.func.ty(*r);
            let column = |b: &mut Builder, c: u32| b.load(ty, MemRef::Uniform(*k), c, None);
            let last = column(b, columns[*k] - 1);
            let chosen = (0..columns[*k] - 1).rev().fold(last, |v, c| {
                let (here, limit) = (column(b, c), b.iconst(b.func.ty(x), (c + 1).wrapping_sub(*offset)));
                let below = b.icmp(IntCC::Slt, x, limit);
                b.select(below, here, v)
            });
            Action::Replace(chosen)
        });
    }
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
pub fn lane(b: &mut Builder, v: Value, l: u8) -> Value {
    let v = b.func.resolve(v);
    if let Some(d) = b.func.def_if(v, Opcode::Build) {
        return d.args[l as usize];
    }
    if let Some(d) = b.func.def_if(v, Opcode::Splat) {
        return d.args[0];
    }
    b.extract(v, l)
}

/// Operations that the machine does not have become others, as far as they can; whether one did.
fn expand(f: &mut Function) -> Result<bool, CompileError> {
    let changed = apply(f, rules::RULES);
    rules::lacking(f).map_or(Ok(changed), Err)
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
