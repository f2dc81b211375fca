//! Legalisation: scalars only, and only operations that the machine has (or that selection expands without rounding).
//!
//! One walk rebuilds the entry function. Vectors survive where an instruction needs several words at once: memory loads
//! and stores, inputs, uniforms, outputs, textures; `build` and `extract` around them cost nothing in selection.
//! Machine operations appear as `ext` (`numerics.rs` computes them). Expansions follow the ISA description, section 10.

pub(crate) mod converge;
pub mod expand;
mod instances;
pub mod numerics;
mod quads;
mod texture;

use crate::isa::chip::Chip;
use crate::legal::expand::Expand;
use cranelift_entity::{EntitySet, SecondaryMap};
use retroshade_ir::analysis::Uniformity;
use retroshade_ir::passes::rewrite::{Action, rewrite, rewrite_of, splat_bits};
use retroshade_ir::passes::{self, PassOptions};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::{
    Binding, Block, BlockCall, Builtin, FloatCC, Function, Imm, Inst, InstData, IntCC, Module, Opcode, Output, Scalar, Span, Type, Value,
};
use retroshade_ir::{MemRef, Primitive, Reference, Stage, TexLod};
use retroshade_lower::driver::{Phase, Trace};
use retroshade_lower::legal;
use retroshade_lower::structure::{Structure, StructureOptions, structurise_with};
use retroshade_lower::{CompileError, Options};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// What becomes of operations that need nothing of this machine; the rest is in `expand.rs`.
const RULES: &[(Opcode, legal::Rule)] = &[
    (Opcode::Bitrev, legal::bits::bitrev),
    (Opcode::FindSmsb, legal::bits::find_smsb),
    (Opcode::FindLsb, legal::bits::find_lsb),
    (Opcode::Iabs, legal::bits::iabs),
    (Opcode::Smulhi, legal::mul::smulhi_umulhi),
];

/// What else becomes of integer operations where a chip lacks minimum and maximum, carries and floats.
const PLAIN_RULES: &[(Opcode, legal::Rule)] = &[
    (Opcode::Umin, legal::bits::int_min_max),
    (Opcode::Umax, legal::bits::int_min_max),
    (Opcode::Smin, legal::bits::int_min_max),
    (Opcode::Smax, legal::bits::int_min_max),
    (Opcode::Umulhi, legal::mul::umulhi_imul),
    (Opcode::FindUmsb, legal::bits::find_umsb_search),
    (Opcode::Bfi, legal::bits::bfi),
    (Opcode::Ubfe, legal::bits::bfe),
    (Opcode::Sbfe, legal::bits::bfe),
    (Opcode::Udiv, legal::intdiv::bit_by_bit),
    (Opcode::Urem, legal::intdiv::bit_by_bit),
    (Opcode::Sdiv, legal::intdiv::bit_by_bit),
    (Opcode::Srem, legal::intdiv::bit_by_bit),
];

/// Lanes of a value in the new function.
pub(crate) type Lanes = SmallVec<[Value; 4]>;

/// Options of the expansion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LegalOptions {
    /// Whether products and sums may be contracted.
    pub contract: bool,
    /// The chip, which decides what texture operations there are.
    pub chip: &'static Chip,
}

/// A module that selection accepts.
pub(crate) struct Prepared {
    /// The module.
    pub module: Module,
    /// The tree of its blocks.
    pub structure: Structure,
}

/// The whole way from a source module to one that selection accepts; `fuel` is the number of instructions that the copies of a loop's
/// body may have.
pub(crate) fn prepare(source: &Module, options: &Options, fuel: u32, trace: &mut Trace) -> Result<Prepared, CompileError> {
    let mut m = front(source, options, trace)?;
    unroll(&mut m, options, fuel, trace);
    shape(m, options, trace)
}

/// The passes as this machine wants them; operations that it lacks are still there: the numerics are the reference's.
fn pass_options(options: &Options, fuel: u32) -> PassOptions {
    PassOptions {
        scalarise: true,
        lower_switches: true,
        local_select: 4,
        keep_tables: true,
        remat: false,
        unroll_fuel: fuel,
        relax: options.fp_contract,
        ..options.passes(&Reference)
    }
}

/// The part of [`prepare`] before loops are unrolled.
pub(crate) fn front(source: &Module, options: &Options, trace: &mut Trace) -> Result<Module, CompileError> {
    if source.geometry.is_some_and(|g| g.input == Primitive::Patch) {
        let m = "geometry programs of these machines read points, lines and triangles, no patches";
        return Err(CompileError::unsupported("T0024", Span::NONE, m));
    }
    if let Some(span) = legal::streams::beyond_first(source) {
        return Err(CompileError::unsupported("T0024", span, "geometry programs emit to one vertex stream, 0"));
    }
    let chip = crate::isa::chip::of_options(options)?;
    if chip.flexgrip && source.stage != Stage::Compute {
        let m = format!("{} runs compute programs only, and this is a {} program", chip.name, source.stage.name());
        return Err(CompileError::unsupported("T0044", Span::NONE, m));
    }
    let mut m = source.clone();
    // An index beyond the array reads the last element, as on the interpreter, and not what happens to lie behind it.
    passes::robust::uniforms(&mut m);
    legal::level::from_derivatives(&mut m);
    flat_axes(&mut m);
    if !chip.d3d101 {
        drop_sample_masks(&mut m);
    }
    passes::before_unrolling(&mut m, &pass_options(options, 0), &mut |name, m| trace.pass(name, m));
    Ok(m)
}

/// The part of [`prepare`] that unrolls loops; whether there was one to unroll.
pub(crate) fn unroll(m: &mut Module, options: &Options, fuel: u32, trace: &mut Trace) -> bool {
    passes::unrolling(m, &pass_options(options, fuel), &mut |name, m| trace.pass(name, m))
}

/// The part of [`prepare`] behind the unrolling of loops.
pub(crate) fn shape(mut m: Module, options: &Options, trace: &mut Trace) -> Result<Prepared, CompileError> {
    let chip = crate::isa::chip::of_options(options)?;
    let passes = pass_options(options, 0);
    let mut dump = |name: &str, m: &Module| trace.pass(name, m);
    passes::after_unrolling(&mut m, &passes, &mut dump);
    passes::finish(&mut m, &passes, &mut dump);
    passes::each(&mut m, |f| {
        passes::dce::drop_unreachable(f);
        f.resolve_aliases();
        true
    });
    instances::run(&mut m)?;
    // What the source leaves open is 0, but in outputs. What structurising leaves open is never read.
    define_undefined(&mut m);
    let mut main = std::mem::take(m.main_mut());
    let structure =
        structurise_with(&mut main, StructureOptions::default(), &|f, nodes| converge::break_over_join(&m, f, nodes, chip.flexgrip));
    *m.main_mut() = main;
    let structure = structure?;
    if m.stage == Stage::Fragment {
        initialise_outputs(&mut m);
        passes::promote::outputs(&mut m);
    }
    // Here, and not before: loops whose bounds they show are not unrolled for it.
    declare_ranges(&mut m);
    m.main_mut().resolve_aliases();
    quads::hoist(&mut m);
    if chip.flexgrip {
        legal::apply(m.main_mut(), &[RULES, PLAIN_RULES].concat());
    } else {
        zero_exponents(m.main_mut());
        legal::apply(m.main_mut(), RULES);
    }
    legalise(&mut m, LegalOptions { contract: options.fp_contract, chip })?;
    let clean = PassOptions { numerics: &crate::legal::numerics::TeslaNumerics, ..passes };
    if passes.level > 0 {
        passes::sequence(&mut m, &["gvn", "dce"], &clean);
    } else {
        m.main_mut().resolve_aliases();
        crate::legal::expand::sweep(m.main_mut());
    }
    trace.module(Phase::Legal, &m);
    Ok(Prepared { module: m, structure })
}

/// Components of the local index along which the workgroup has one thread are 0, which the passes may know.
fn flat_axes(m: &mut Module) {
    let size = m.workgroup_size;
    if m.stage != Stage::Compute || size.iter().all(|n| *n > 1) {
        return;
    }
    let local: BTreeSet<_> =
        m.inputs.iter().filter(|(_, d)| d.binding == Binding::Builtin(Builtin::LocalInvocationId)).map(|(i, _)| i).collect();
    for f in m.functions.values_mut() {
        for b in f.layout.clone() {
            let mut insts = Vec::new();
            for i in std::mem::take(&mut f.blocks[b].insts) {
                if matches!(f.insts[i].imm, Imm::Mem { var: MemRef::Input(n), .. } if local.contains(&n)) {
                    flatten(f, i, size, &mut insts);
                }
                insts.push(i);
            }
            f.blocks[b].insts = insts;
        }
    }
}

/// Where the sample mask is declared, of a program whose chip does not take it.
pub(crate) fn sample_mask(m: &Module) -> Option<(Output, Span)> {
    m.outputs.iter().find(|(_, d)| d.binding == Binding::Builtin(Builtin::SampleMask)).map(|(o, d)| (o, d.span))
}

/// The chips before GT215 take no sample mask; its register would be taken for the depth.
fn drop_sample_masks(m: &mut Module) {
    let Some((mask, _)) = sample_mask(m) else { return };
    for f in m.functions.values_mut() {
        rewrite(f, |b, i| match b.func.insts[i].imm {
            Imm::Mem { var: MemRef::Output(o), .. } if o == mask => Action::Remove,
            _ => Action::Keep,
        });
    }
}

/// Makes the input `i` a vector of the lanes of another one, put in front of it, and zeros.
fn flatten(f: &mut Function, i: Inst, size: [u32; 3], before: &mut Vec<Inst>) {
    let (data, span) = (f.insts[i].clone(), f.spans[i]);
    let ty = f.ty(data.results[0]);
    let input = f.make_inst(InstData { results: SmallVec::new(), ..data }, &[ty], span);
    before.push(input);
    let whole = f.insts[input].results[0];
    f.insts[i].args.clear();
    for (lane, threads) in (0u8..).zip(size) {
        let part = match threads {
            0 | 1 => InstData::new(Opcode::Const, &[], Imm::Const([0; 4])),
            _ => InstData::new(Opcode::Extract, &[whole], Imm::Lane(lane)),
        };
        let part = f.make_inst(part, &[I32], span);
        before.push(part);
        let part = f.insts[part].results[0];
        f.insts[i].args.push(part);
    }
    (f.insts[i].op, f.insts[i].imm) = (Opcode::Build, Imm::None);
}

/// What the launch of a compute program says about its inputs: numbers of workgroups are half-words.
fn declare_ranges(m: &mut Module) {
    if m.stage != Stage::Compute {
        return;
    }
    let size = m.workgroup_size.map(|n| i64::from(n.max(1)));
    let (longest, threads) = (size.into_iter().max().unwrap_or(1), size.into_iter().product::<i64>());
    for d in m.inputs.values_mut().filter(|d| d.range.is_none()) {
        let most = match d.binding {
            Binding::Builtin(Builtin::WorkgroupId | Builtin::NumWorkgroups) => GROUPS,
            Binding::Builtin(Builtin::LocalInvocationId) => longest - 1,
            Binding::Builtin(Builtin::LocalInvocationIndex) => threads - 1,
            Binding::Builtin(Builtin::GlobalInvocationId) => GROUPS * longest + longest - 1,
            _ => continue,
        };
        d.range = Some((0, most));
    }
}

/// The most workgroups along an axis.
const GROUPS: i64 = 0xffff;

/// Whether a number's exponent is 0 is whether it is zero: what is below the normal ones is zero to the machine.
fn zero_exponents(f: &mut Function) {
    rewrite_of(f, &[Opcode::Icmp], |b, i| {
        let d = &b.func.insts[i];
        let cc = match d.imm {
            Imm::IntCC(IntCC::Eq) => FloatCC::Oeq,
            Imm::IntCC(IntCC::Ne) => FloatCC::Une,
            _ => return Action::Keep,
        };
        let number = |f: &Function| {
            let field = f.def_if(d.args[0], Opcode::Ubfe).filter(|_| splat_bits(f, d.args[1]) == Some(0))?;
            let place = (splat_bits(f, field.args[1])?, splat_bits(f, field.args[2])?);
            let number = f.def_if(field.args[0], Opcode::Bitcast)?.args[0];
            Some(number).filter(|v| place == (23, 8) && f.ty(*v).scalar == Scalar::F32 && f.ty(*v).lanes == f.ty(field.args[0]).lanes)
        };
        let Some(v) = number(b.func) else { return Action::Keep };
        let zero = b.fconst(b.func.ty(v), 0.0);
        Action::Replace(b.fcmp(cc, v, zero))
    });
}

/// Makes undefined values zero. Lanes of outputs in o[] stay undefined: nothing need write their words.
fn define_undefined(m: &mut Module) {
    let mut open: EntitySet<Inst> = EntitySet::new();
    if m.stage != Stage::Fragment {
        rewrite_of(m.main_mut(), &[Opcode::Output], |b, i| {
            let [whole] = b.func.insts[i].args[..] else { return Action::Keep };
            let undefined = |v: &Value| b.func.def_if(*v, Opcode::Undef).is_some();
            let lanes: SmallVec<[Option<Value>; 4]> = match b.func.def_if(whole, Opcode::Build) {
                Some(d) => d.args.iter().map(|v| Some(*v).filter(|v| !undefined(v))).collect(),
                None if undefined(&whole) => (0..b.func.ty(whole).lanes).map(|_| None).collect(),
                None => return Action::Keep,
            };
            if lanes.iter().all(Option::is_some) {
                return Action::Keep;
            }
            // Values of their own: others may be the same undefined one.
            let lane = b.func.ty(whole).lane();
            let mut own = |v: Option<Value>| {
                v.unwrap_or_else(|| {
                    let v = b.typed(Opcode::Undef, lane, &[], Imm::None);
                    if let Some(i) = b.func.def_inst(v) {
                        open.insert(i);
                    }
                    v
                })
            };
            let lanes: SmallVec<[Value; 4]> = lanes.into_iter().map(&mut own).collect();
            b.func.insts[i].args[0] = b.build(&lanes);
            Action::Changed
        });
    }
    for (i, d) in m.main_mut().insts.iter_mut().filter(|(_, d)| d.op == Opcode::Undef) {
        if !open.contains(i) {
            (d.op, d.imm) = (Opcode::Const, Imm::Const([0; 4]));
        }
    }
}

/// Gives fragment outputs that are stored before the last block a first value, so that promotion makes them values there.
fn initialise_outputs(m: &mut Module) {
    let f = m.main();
    let Some(entry) = f.entry() else { return };
    let last = f.layout.iter().copied().find(|b| f.terminator(*b).is_some_and(|t| f.insts[t].op == Opcode::Return));
    let mut wanted: BTreeSet<(retroshade_ir::Output, u32)> = BTreeSet::new();
    for (b, i) in f.ordered() {
        if let (Opcode::Output, Imm::Mem { var: MemRef::Output(o), offset }) = (f.insts[i].op, &f.insts[i].imm)
            && Some(b) != last
        {
            wanted.insert((*o, *offset));
        }
    }
    let types: Vec<Type> = wanted.iter().map(|(o, _)| m.outputs[*o].ty).collect();
    let f = m.main_mut();
    let mut at = 0;
    for ((o, offset), ty) in wanted.into_iter().zip(types) {
        let zero = f.make_inst(InstData::new(Opcode::Const, &[], Imm::Const([0; 4])), &[ty], Span::NONE);
        let v = f.insts[zero].results[0];
        let store = f.make_inst(InstData::new(Opcode::Output, &[v], Imm::Mem { var: MemRef::Output(o), offset }), &[], Span::NONE);
        f.blocks[entry].insts.insert(at, zero);
        f.blocks[entry].insts.insert(at + 1, store);
        at += 2;
    }
}

/// Rewrites the entry function of a module whose calls are inlined.
pub(crate) fn legalise(module: &mut Module, options: LegalOptions) -> Result<(), CompileError> {
    let asks = |d: &InstData| matches!(&d.imm, Imm::Tex(t) if t.lod == TexLod::Bias);
    let uniformity = module.main().insts.values().any(asks).then(|| Uniformity::new(module, module.main()));
    let old = std::mem::take(module.main_mut());
    let mut s = Scalarise {
        old: &old,
        module,
        chip: options.chip,
        uniformity,
        ex: Expand::new(Function::new(&old.name), options.contract),
        map: SecondaryMap::new(),
        blocks: SecondaryMap::new(),
    };
    s.map.resize(old.values.len());
    s.run()?;
    let mut new = s.ex.finish();
    new.locals = old.locals;
    *module.main_mut() = new;
    Ok(())
}

pub(crate) struct Scalarise<'a> {
    pub(crate) old: &'a Function,
    pub(crate) module: &'a Module,
    pub(crate) chip: &'static Chip,
    /// Of the source, where biases ask for it.
    uniformity: Option<Uniformity>,
    pub(crate) ex: Expand,
    pub(crate) map: SecondaryMap<Value, Lanes>,
    blocks: SecondaryMap<Block, Option<Block>>,
}

impl Scalarise<'_> {
    /// Whether lanes may have different values of a bias.
    pub(crate) fn is_divergent(&self, bias: Value) -> bool {
        self.uniformity.as_ref().is_none_or(|u| u.is_divergent(bias))
    }
    fn run(&mut self) -> Result<(), CompileError> {
        // Blocks keep their numbers: the structure tree names them.
        for _ in self.old.blocks.keys() {
            self.ex.func.blocks.push(Default::default());
        }
        self.ex.func.layout = self.old.layout.clone();
        for b in &self.old.layout {
            let nb = *b;
            self.blocks[*b] = Some(nb);
            for p in &self.old.blocks[*b].params {
                let ty = self.old.ty(*p);
                let lanes: Lanes = (0..ty.lanes).map(|_| self.ex.param(nb, ty.lane())).collect();
                self.map[*p] = lanes;
            }
        }
        // Definitions come before uses in a walk along the dominator tree.
        let cfg = retroshade_ir::analysis::Cfg::new(self.old);
        let order = cfg.rpo().to_vec();
        for b in order.iter().copied() {
            let Some(nb) = self.blocks[b] else { continue };
            self.ex.block = nb;
            for i in &self.old.blocks[b].insts {
                self.ex.span = self.old.spans[*i];
                self.ex.precise = self.old.insts[*i].precise;
                self.inst(*i)?;
            }
        }
        Ok(())
    }

    pub(crate) fn lanes(&self, v: Value) -> Lanes {
        self.map[self.old.resolve(v)].clone()
    }
    fn lane(&self, v: Value, n: usize) -> Result<Value, CompileError> {
        let l = &self.map[self.old.resolve(v)];
        l.get(n).copied().ok_or_else(|| CompileError::Internal(format!("lane {n} of {v} is missing")))
    }
    fn call(&self, t: &BlockCall) -> Result<BlockCall, CompileError> {
        let block = self.blocks[t.block].ok_or_else(|| CompileError::Internal("a branch leaves the layout".into()))?;
        Ok(BlockCall { block, args: t.args.iter().flat_map(|v| self.lanes(*v)).collect() })
    }
    /// A vector of the lanes of a value (the value itself if scalar).
    pub(crate) fn whole(&mut self, v: Value) -> Value {
        let l = self.lanes(v);
        self.ex.build(&l)
    }
    /// A constant index as part of the offset, where it stays within the variable.
    fn fold_index(&mut self, d: &InstData, args: &[Value], at: usize) -> Option<InstData> {
        let k = self.ex.func.const_bits(*args.get(at)?)?[0];
        let Imm::Mem { var, offset } = d.imm else { return None };
        let count = match var {
            MemRef::Input(i) => self.module.inputs[i].count,
            MemRef::Output(o) => self.module.outputs[o].count,
            MemRef::Uniform(u) => self.module.uniforms[u].units(),
            MemRef::Local(l) => self.old.locals[l].count,
            MemRef::Shared(s) => self.module.shared[s].count,
            MemRef::Storage(_) => u32::MAX / 8,
        };
        let offset = offset.checked_add(k).filter(|n| *n < count)?;
        Some(InstData { imm: Imm::Mem { var, offset }, args: args[..at].into(), ..d.clone() })
    }
    /// As [`Self::keep`], with a constant index folded away.
    fn keep_memory(&mut self, i: Inst, args: &[Value], at: usize) {
        let old = self.old;
        let d = &old.insts[i];
        match self.fold_index(d, args, at) {
            None => self.keep(i, args),
            Some(data) => {
                let ty = d.results.first().map(|r| self.old.ty(*r));
                let r = self.ex.push(InstData { targets: Vec::new(), results: SmallVec::new(), ..data }, ty);
                if let (Some(r), Some(old)) = (r, d.results.first()) {
                    self.map[*old] = self.ex.lanes_of(r);
                }
            }
        }
    }
    /// Keeps an instruction as it is, with mapped operands; its lanes by extraction.
    fn keep(&mut self, i: Inst, args: &[Value]) {
        let d = &self.old.insts[i];
        let ty = d.results.first().map(|r| self.old.ty(*r));
        let data = InstData { args: args.into(), targets: Vec::new(), results: SmallVec::new(), ..d.clone() };
        let r = self.ex.push(data, ty);
        if let (Some(r), Some(old)) = (r, d.results.first()) {
            self.map[*old] = self.ex.lanes_of(r);
        }
    }

    fn inst(&mut self, i: Inst) -> Result<(), CompileError> {
        use Opcode::*;
        let old = self.old;
        let (d, span) = (&old.insts[i], old.spans[i]);
        let result = d.results.first().copied();
        let ty = result.map_or(I32, |r| self.old.ty(r));
        let set = |s: &mut Self, l: Lanes| {
            if let Some(r) = result {
                s.map[r] = l;
            }
        };
        match d.op {
            Const => {
                let Imm::Const(bits) = d.imm else { return Err(CompileError::Internal("a constant without bits".into())) };
                let l = (0..ty.lanes as usize).map(|n| self.ex.constant(ty.lane(), bits[n])).collect();
                set(self, l);
            }
            Undef => {
                let l = (0..ty.lanes).map(|_| self.ex.typed(Opcode::Undef, ty.lane(), &[], Imm::None)).collect();
                set(self, l);
            }
            Splat => {
                let v = self.lane(d.args[0], 0)?;
                set(self, (0..ty.lanes).map(|_| v).collect());
            }
            Build => {
                let l = d.args.iter().map(|a| self.lane(*a, 0)).collect::<Result<_, _>>()?;
                set(self, l);
            }
            Extract => {
                let Imm::Lane(n) = d.imm else { return Err(CompileError::Internal("extract without a lane".into())) };
                let v = self.lane(d.args[0], n as usize)?;
                set(self, [v].into_iter().collect());
            }
            Insert => {
                let Imm::Lane(n) = d.imm else { return Err(CompileError::Internal("insert without a lane".into())) };
                let mut l = self.lanes(d.args[0]);
                let v = self.lane(d.args[1], 0)?;
                if let Some(slot) = l.get_mut(n as usize) {
                    *slot = v;
                }
                set(self, l);
            }
            Shuffle => {
                let Imm::Lanes(mask) = &d.imm else { return Err(CompileError::Internal("shuffle without a mask".into())) };
                let both: Vec<Value> = self.lanes(d.args[0]).into_iter().chain(self.lanes(d.args[1])).collect();
                let l = mask.iter().map(|m| both.get(*m as usize).copied()).collect::<Option<Lanes>>();
                set(self, l.ok_or_else(|| CompileError::Internal("a shuffle mask is out of range".into()))?);
            }
            Dot => {
                let (a, b) = (self.lanes(d.args[0]), self.lanes(d.args[1]));
                let v = self.ex.dot(self.old.ty(d.args[0]).scalar, &a, &b);
                set(self, [v].into_iter().collect());
            }
            Any | All => {
                let l = self.lanes(d.args[0]);
                let op = if d.op == Any { Ior } else { Iand };
                let mut v = l[0];
                for x in &l[1..] {
                    v = self.ex.bin(op, v, *x);
                }
                set(self, [v].into_iter().collect());
            }
            Select => {
                let c = self.lanes(d.args[0]);
                let (a, b) = (self.lanes(d.args[1]), self.lanes(d.args[2]));
                let l = (0..a.len()).map(|n| self.ex.select(c[if c.len() > 1 { n } else { 0 }], a[n], b[n])).collect();
                set(self, l);
            }
            Bitcast => {
                let from = self.old.ty(d.args[0]);
                let l = self.lanes(d.args[0]);
                let r = self.ex.bitcast(from, ty, &l);
                set(self, r);
            }
            PackUnorm4x8 | PackSnorm4x8 | PackUnorm2x16 | PackSnorm2x16 | PackHalf2x16 => {
                let l = self.lanes(d.args[0]);
                let v = self.ex.pack(d.op, &l);
                set(self, [v].into_iter().collect());
            }
            UnpackUnorm4x8 | UnpackSnorm4x8 | UnpackUnorm2x16 | UnpackSnorm2x16 | UnpackHalf2x16 => {
                let v = self.lane(d.args[0], 0)?;
                let l = self.ex.unpack(d.op, v);
                set(self, l);
            }
            Input | Uniform | LocalLoad | SharedLoad | StorageLoad | StorageLen => {
                let args: Vec<Value> = d.args.iter().map(|a| self.lane(*a, 0)).collect::<Result<_, _>>()?;
                self.keep_memory(i, &args, 0);
            }
            Output | LocalStore | SharedStore | StorageStore => {
                let mut args: Vec<Value> = vec![self.whole(d.args[0])];
                for a in &d.args[1..] {
                    args.push(self.lane(*a, 0)?);
                }
                self.keep_memory(i, &args, 1);
            }
            Atomic | Barrier | Discard | EmitVertex | EndPrimitive | Ext => {
                let args: Vec<Value> = d.args.iter().map(|a| self.lane(*a, 0)).collect::<Result<_, _>>()?;
                self.keep(i, &args);
            }
            Ddx | Ddy => {
                let l = self.lanes(d.args[0]);
                let half = ty.scalar == Scalar::F16;
                let mut out = Lanes::new();
                for v in l {
                    let v = if half { self.ex.to_f32(v) } else { v };
                    let r = self.ex.typed(d.op, F32, &[v], d.imm.clone());
                    out.push(if half { self.ex.to_f16(r) } else { r });
                }
                set(self, out);
            }
            Tex => self.texture(d, span)?,
            Call => return Err(CompileError::unsupported("T0010", span, "a call remains that could not be inlined")),
            Jump | BrIf | Switch | Return | Kill | Unreachable => {
                let args: SmallVec<[Value; 4]> = d.args.iter().flat_map(|a| self.lanes(*a)).collect();
                let targets = d.targets.iter().map(|t| self.call(t)).collect::<Result<_, _>>()?;
                let data = InstData { args, targets, results: SmallVec::new(), ..d.clone() };
                self.ex.push(data, None);
            }
            _ => {
                let lanes = ty.lanes as usize;
                let mut out = Lanes::new();
                for n in 0..lanes {
                    let lane = |v: &Value| {
                        let l = &self.map[old.resolve(*v)];
                        l[if l.len() > 1 { n } else { 0 }]
                    };
                    let a: SmallVec<[Value; 4]> = d.args.iter().map(lane).collect();
                    let from = d.args.first().map_or(ty.lane(), |v| self.old.ty(*v).lane());
                    let v = self.ex.operation(d.op, &d.imm, from, ty.lane(), &a, span)?;
                    out.push(v);
                }
                set(self, out);
            }
        }
        Ok(())
    }
}
