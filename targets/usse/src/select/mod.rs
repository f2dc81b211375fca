//! Selection: legalised IR to macro-operations.
//!
//! Values are lists of lanes that name where they are, so that extracting, shuffling, splatting, building, negating and
//! taking absolute values cost nothing until an operand table refuses them. Conditions become predicates where they are used.

pub mod matrix;
pub mod mir;

use crate::abi::Abi;
use crate::isa::names::Format;
use crate::legal::numerics::UNORM8;
use crate::select::mir::{Base, Bit, Kind, Lane, MBlock, MProgram, Mop, Pred, Rel, TestKind, Vreg};
use cranelift_entity::SecondaryMap;
use retroshade_ir::*;
use retroshade_lower::{ColorFormat, CompileError};
use std::collections::BTreeMap;

/// What selection leaves.
#[derive(Debug, Default)]
pub struct Selected {
    /// The primary program.
    pub primary: MProgram,
    /// The secondary program: one block.
    pub secondary: MProgram,
    /// Fixed places of virtual registers of the primary program.
    pub fixed: BTreeMap<Vreg, crate::isa::registers::Reg>,
    /// Places of the secondary program's results.
    pub hoisted: BTreeMap<Vreg, u16>,
    /// Next free secondary attribute.
    pub free: u16,
    /// Whether the program has two phases.
    pub phases: bool,
}

/// Selects a module.
pub fn select(m: &Module, abi: &Abi, hoist: bool) -> Result<Selected, CompileError> {
    let f = m.main();
    let mut s = Selector {
        m,
        f,
        abi,
        out: Selected { free: abi.free, ..Selected::default() },
        lanes: SecondaryMap::new(),
        index: SecondaryMap::new(),
        uses: f.use_counts(),
        inputs: BTreeMap::new(),
        outputs: BTreeMap::new(),
        texels: BTreeMap::new(),
        at: 0,
        uniform: SecondaryMap::new(),
        in_secondary: false,
        final_colour: None,
        rounds_late: false,
        span: Span::NONE,
    };
    s.run(hoist)?;
    // The secondary program runs first: nothing of the primary one is there yet.
    let early = s.out.secondary.blocks.iter().flat_map(|b| &b.ops).flat_map(|o| o.reads()).next();
    match early {
        Some(v) => Err(CompileError::Internal(format!("the secondary program reads v{} of the primary one", v.0))),
        None => Ok(s.out),
    }
}

struct Selector<'a> {
    m: &'a Module,
    f: &'a Function,
    abi: &'a Abi,
    out: Selected,
    lanes: SecondaryMap<Value, Vec<Lane>>,
    index: SecondaryMap<Block, u32>,
    uses: SecondaryMap<Value, u32>,
    inputs: BTreeMap<(Input, u32), Vreg>,
    outputs: BTreeMap<(Output, u32), Vreg>,
    texels: BTreeMap<(Texture, u8, bool), Vreg>,
    at: usize,
    uniform: SecondaryMap<Value, bool>,
    in_secondary: bool,
    final_colour: Option<(Vec<Lane>, bool)>,
    /// Whether the colour stays f32 until the program's end and is rounded there, since several places write it.
    rounds_late: bool,
    span: Span,
}

impl Selector<'_> {
    fn run(&mut self, hoist: bool) -> Result<(), CompileError> {
        let f = self.f;
        for (n, b) in f.layout.iter().enumerate() {
            self.index[*b] = n as u32;
            self.out.primary.blocks.push(MBlock::default());
            let _ = n;
        }
        self.out.secondary.blocks.push(MBlock::default());
        self.find_uniform(hoist);
        self.place_interface();
        // Parameters first: branches may come before the block.
        for b in &f.layout {
            for p in &f.blocks[*b].params {
                let ty = f.ty(*p);
                let v = self.out.primary.vreg(ty.scalar, ty.lanes, Span::NONE);
                self.lanes[*p] = (0..ty.lanes).map(|k| Lane::new(Base::V(v, k))).collect();
            }
        }
        for (n, b) in f.layout.iter().enumerate() {
            self.at = n;
            for i in &f.blocks[*b].insts {
                self.span = f.spans[*i];
                self.in_secondary = f.result(*i).is_some_and(|v| self.uniform[v]);
                self.inst(*i, *b)?;
            }
            self.in_secondary = false;
        }
        self.initialise_outputs();
        Ok(())
    }

    fn inst_is_free(op: Opcode) -> bool {
        use Opcode::*;
        matches!(op, Const | Undef | Splat | Build | Extract | Insert | Shuffle | Fneg | Fabs | Bitcast | Uniform)
    }

    /// Values that are the same for a whole draw and can be computed before it.
    fn find_uniform(&mut self, hoist: bool) {
        let f = self.f;
        let mut work = 0;
        for (_, i) in f.ordered() {
            let d = &f.insts[i];
            use Opcode::*;
            let own = match d.op {
                Const | Undef | Splat | Build | Extract | Insert | Shuffle | Fneg | Fabs | Bitcast => true,
                Uniform => {
                    d.args.is_empty()
                        && matches!(d.imm, Imm::Mem { var: MemRef::Uniform(u), .. } if self.slot(u).is_some_and(|s| !s.memory))
                }
                Fadd | Fsub | Fmul | Fmad | Fmin | Fmax | Ffract | Frcp | Frsqrt | Fexp2 | Flog2 | Dot | Fcvt => true,
                Iadd | Isub | Imul | Ineg | Iand | Ior | Ixor | Inot | Ishl | Ushr | Sshr => {
                    f.result(i).is_some_and(|r| f.ty(r).scalar == Scalar::I32)
                }
                _ => false,
            };
            // Of f16 only the conversions themselves, so that constants of the program stay what they are.
            let to_half =
                d.op == Fcvt && f.result(i).is_some_and(|r| f.ty(r).scalar == Scalar::F16) && f.ty(d.args[0]).scalar == Scalar::F32;
            let structural = matches!(d.op, Splat | Build | Extract | Insert | Shuffle);
            let half = !to_half
                && !structural
                && d.results.iter().chain(&d.args).any(|v| f.ty(*v).scalar == Scalar::F16 || f.ty(*v).scalar == Scalar::I1);
            let all = hoist && own && !half && d.args.iter().all(|a| self.uniform[*a]);
            if let (true, Some(r)) = (all, f.result(i)) {
                self.uniform[r] = true;
                work += !Self::inst_is_free(d.op) as u32;
            }
        }
        if work < 2 {
            self.uniform.clear();
        }
    }

    fn slot(&self, u: Uniform) -> Option<&crate::abi::UniformSlot> {
        self.abi.uniforms.iter().find(|s| s.uniform == u)
    }

    fn place_interface(&mut self) {
        for s in &self.abi.inputs {
            let ty = self.m.inputs[s.input].ty;
            let scalar = if s.half { Scalar::F16 } else { wide(ty.scalar) };
            let v = self.out.primary.vreg(scalar, s.lanes, self.m.inputs[s.input].span);
            self.out.primary.vregs[v.0 as usize].even = false;
            self.inputs.insert((s.input, s.element), v);
            self.out.fixed.insert(v, crate::isa::registers::Reg::new(crate::isa::registers::Bank::Pa, s.pa));
        }
        for p in &self.abi.preloaded {
            let v = self.out.primary.vreg(if p.half { Scalar::F16 } else { Scalar::F32 }, 4, self.m.textures[p.texture].span);
            self.texels.insert((p.texture, p.coord, p.half), v);
            self.out.fixed.insert(v, crate::isa::registers::Reg::new(crate::isa::registers::Bank::Pa, p.pa));
        }
        self.rounds_late = self.abi.outputs.iter().any(|s| Some(s.output) != self.abi.depth && self.is_rounded_late(s.output));
        for s in &self.abi.outputs {
            let d = &self.m.outputs[s.output];
            let colour = self.abi.half_colour() && Some(s.output) != self.abi.depth && !self.rounds_late;
            let v = self.out.primary.vreg(if colour { Scalar::F16 } else { wide(d.ty.scalar) }, s.lanes, d.span);
            self.outputs.insert((s.output, s.element), v);
            if self.m.stage == Stage::Vertex {
                self.out.primary.vregs[v.0 as usize].even = false;
                self.out.fixed.insert(v, crate::isa::registers::Reg::new(crate::isa::registers::Bank::O, s.reg));
            }
        }
    }

    /// The values that are written to an output.
    fn written(&self, o: Output) -> Vec<Value> {
        let f = self.f;
        let writes = |i: &Inst| matches!(f.insts[*i].imm, Imm::Mem { var: MemRef::Output(x), .. } if x == o);
        f.ordered().map(|(_, i)| i).filter(writes).filter_map(|i| f.insts[i].args.first().copied()).collect()
    }

    /// The f32 that a value was before it was rounded to f16.
    fn unrounded(&self, v: Value) -> Option<Value> {
        let half = self.f.def_if(v, Opcode::Fcvt)?.args[0];
        let full = self.f.def_if(half, Opcode::Fcvt)?.args[0];
        (self.f.ty(full).scalar == Scalar::F32 && self.f.ty(half).scalar == Scalar::F16).then_some(full)
    }

    fn is_rounded_late(&self, o: Output) -> bool {
        let all = self.written(o);
        self.abi.half_colour() && all.len() > 1 && all.iter().all(|v| self.unrounded(*v).is_some())
    }

    /// Whether a value is only rounded for the colour.
    fn only_rounds_colour(&self, d: &InstData) -> bool {
        let f = self.f;
        f.ordered().all(|(_, i)| {
            let user = &f.insts[i];
            !f.reads(i).iter().any(|v| d.results.contains(v)) || (user.op == Opcode::Fcvt && self.only_output(user))
        })
    }

    fn program(&mut self) -> &mut MProgram {
        if self.in_secondary { &mut self.out.secondary } else { &mut self.out.primary }
    }

    fn emit(&mut self, kind: Kind, dst: Option<Vreg>, src: Vec<Vec<Lane>>) {
        let (at, span) = (if self.in_secondary { 0 } else { self.at }, self.span);
        self.program().blocks[at].ops.push(Mop::new(kind, dst, src, span));
    }

    fn emit_under(&mut self, pred: Pred, kind: Kind, dst: Option<Vreg>, src: Vec<Vec<Lane>>) {
        self.emit(kind, dst, src);
        let at = self.at;
        if let Some(op) = self.program().blocks[at].ops.last_mut() {
            op.pred = Some(pred);
        }
    }

    fn fresh(&mut self, ty: Type) -> Vreg {
        let span = self.span;
        self.program().vreg(ty.scalar, ty.lanes, span)
    }

    fn of(v: Vreg, lanes: u8) -> Vec<Lane> {
        (0..lanes).map(|k| Lane::new(Base::V(v, k))).collect()
    }

    /// Emits an operation into a new register and gives its lanes.
    fn make(&mut self, kind: Kind, ty: Type, src: Vec<Vec<Lane>>) -> Vec<Lane> {
        let v = self.fresh(ty);
        self.emit(kind, Some(v), src);
        if self.in_secondary {
            // Results of the secondary program stay in the secondary attributes.
            let at = if ty.lanes > 1 { self.out.free.next_multiple_of(2) } else { self.out.free };
            self.out.hoisted.insert(v, at);
            if ty.scalar == Scalar::F16 {
                self.out.free = at + (ty.lanes as u16).div_ceil(2);
                return (0..ty.lanes as u16).map(|k| Lane::new(Base::SaHalf(at * 2 + k))).collect();
            }
            self.out.free = at + ty.lanes as u16;
            return (0..ty.lanes as u16).map(|k| Lane::new(Base::Sa(at + k))).collect();
        }
        Self::of(v, ty.lanes)
    }

    fn arg(&self, d: &InstData, n: usize) -> Vec<Lane> {
        d.args.get(n).map_or(Vec::new(), |v| self.lanes[*v].clone())
    }

    fn unsupported(&self, what: impl Into<String>) -> CompileError {
        CompileError::unsupported("U0110", self.span, what)
    }

    fn inst(&mut self, i: Inst, b: Block) -> Result<(), CompileError> {
        let f = self.f;
        let d = &f.insts[i];
        let ty = d.results.first().map_or(types::I1, |v| f.ty(*v));
        use Opcode::*;
        let result: Vec<Lane> = match d.op {
            Const => match &d.imm {
                Imm::Const(c) => c[..ty.lanes as usize].iter().map(|b| Lane::c(*b)).collect(),
                _ => return Err(self.unsupported("a constant without bits")),
            },
            // What is never written reads as 0, as on the interpreter.
            Undef => vec![Lane::c(0); ty.lanes as usize],
            Splat => vec![self.arg(d, 0)[0]; ty.lanes as usize],
            Build => (0..d.args.len()).map(|n| self.arg(d, n)[0]).collect(),
            Extract => {
                let Imm::Lane(k) = d.imm else { return Err(self.unsupported("extract without a lane")) };
                vec![self.arg(d, 0)[k as usize]]
            }
            Insert => {
                let Imm::Lane(k) = d.imm else { return Err(self.unsupported("insert without a lane")) };
                let mut v = self.arg(d, 0);
                v[k as usize] = self.arg(d, 1)[0];
                v
            }
            Shuffle => {
                let Imm::Lanes(mask) = &d.imm else { return Err(self.unsupported("shuffle without a mask")) };
                let mut all = self.arg(d, 0);
                all.extend(self.arg(d, 1));
                mask.iter().map(|k| all[*k as usize]).collect()
            }
            Bitcast => {
                let mut v = self.arg(d, 0);
                if v.iter().any(|l| !l.is_plain()) {
                    let from = f.ty(d.args[0]);
                    v = self.make(Kind::Copy, from, vec![v]);
                }
                v
            }
            Fneg => self.arg(d, 0).into_iter().map(|l| self.folded(ty.scalar, l.negated())).collect(),
            Fabs => self.arg(d, 0).into_iter().map(|l| self.folded(ty.scalar, l.absolute())).collect(),
            Fadd | Fmul | Fmin | Fmax | Fmad => {
                let src = (0..d.args.len()).map(|n| self.arg(d, n)).collect();
                self.make(Kind::Float(d.op), ty, src)
            }
            Fsub => {
                let b = self.arg(d, 1).into_iter().map(|l| self.folded(ty.scalar, l.negated())).collect();
                let a = self.arg(d, 0);
                self.make(Kind::Float(Fadd), ty, vec![a, b])
            }
            Ffract | Ddx | Ddy => {
                let a = self.plain(self.arg(d, 0), ty);
                self.make(Kind::Float(d.op), ty, vec![a])
            }
            Dot => {
                let n = f.ty(d.args[0]).lanes;
                if !(3..=4).contains(&n) {
                    return Err(self.unsupported("dot products have three or four lanes here"));
                }
                let src = vec![self.arg(d, 0), self.arg(d, 1)];
                self.make(Kind::Dot, ty, src)
            }
            Frcp | Frsqrt | Fexp2 | Flog2 => {
                let src = vec![self.arg(d, 0)];
                self.make(Kind::Complex(d.op), ty, src)
            }
            Fcvt => {
                let from = f.ty(d.args[0]).scalar;
                let a = self.arg(d, 0);
                match (from, ty.scalar) {
                    (x, y) if x == y => a,
                    // The program's end rounds it.
                    (Scalar::F32, Scalar::F16) if self.rounds_late && self.only_rounds_colour(d) => a,
                    (Scalar::F32, _) => {
                        // An input that is iterated as f16 is one already.
                        let half = a.iter().all(|l| matches!(l.base, Base::V(v, _) if self.out.primary.data(v).ty == Scalar::F16));
                        if half { a } else { self.convert(a, ty, Format::F32, Format::F16) }
                    }
                    // Narrow colours go to the output as they are.
                    _ if self.abi.half_colour() && self.only_output(d) => a,
                    _ => self.convert(a, ty, Format::F16, Format::F32),
                }
            }
            Iadd | Isub | Ineg | Imul => {
                let zero = vec![Lane::c(0); ty.lanes as usize];
                let one = vec![Lane::c(1); ty.lanes as usize];
                let neg = |v: Vec<Lane>| -> Vec<Lane> {
                    v.into_iter().map(|l| if let Base::C(c) = l.base { Lane::c(c.wrapping_neg()) } else { l.negated() }).collect()
                };
                let src = match d.op {
                    Iadd => vec![self.arg(d, 0), one, self.arg(d, 1)],
                    Isub => vec![self.arg(d, 0), one, neg(self.arg(d, 1))],
                    Ineg => vec![zero, one, neg(self.arg(d, 0))],
                    _ => vec![self.arg(d, 0), self.arg(d, 1), zero],
                };
                self.make(Kind::Mad, ty, src)
            }
            Iand | Ior | Ixor | Inot if ty.scalar == Scalar::I1 => {
                // Conditions are combined where they are used; see `materialise`.
                if ty.lanes == 1 && self.is_lazy(i) { Vec::new() } else { self.materialise_inst(i)? }
            }
            Iand | Ior | Ixor | Ishl | Ushr | Sshr => {
                let bit = match d.op {
                    Iand => Bit::And,
                    Ior => Bit::Or,
                    Ixor => Bit::Xor,
                    Ishl => Bit::Shl,
                    Ushr => Bit::Shr,
                    _ => Bit::Asr,
                };
                let src = vec![self.arg(d, 0), self.arg(d, 1)];
                self.make(Kind::Bit(bit), ty, src)
            }
            Inot => {
                let src = vec![self.arg(d, 0), vec![Lane::c(!0); ty.lanes as usize]];
                self.make(Kind::Bit(Bit::Xor), ty, src)
            }
            Fcmp | Icmp => {
                if ty.lanes == 1 && self.is_lazy(i) {
                    Vec::new()
                } else {
                    self.materialise_inst(i)?
                }
            }
            Any | All => self.materialise_inst(i)?,
            Select => self.select_inst(d, ty)?,
            Input => {
                let Imm::Mem { var: MemRef::Input(v), offset } = d.imm else { return Err(self.unsupported("input of nothing")) };
                if !d.args.is_empty() {
                    return Err(self.unsupported("inputs cannot be indexed by a computed value"));
                }
                match self.inputs.get(&(v, offset)).copied() {
                    Some(v) if ty.scalar == Scalar::F16 && self.out.primary.data(v).ty != Scalar::F16 => {
                        self.make(Kind::Convert(Format::F32, Format::F16, false), ty, vec![Self::of(v, ty.lanes)])
                    }
                    Some(v) => Self::of(v, ty.lanes),
                    // Only the coordinate of a texel that is there already.
                    None => vec![Lane::new(Base::Undef); ty.lanes as usize],
                }
            }
            Uniform if ty.scalar == Scalar::F16 => {
                let full = self.uniform_inst(d, ty.with_scalar(Scalar::F32))?;
                self.make(Kind::Convert(Format::F32, Format::F16, false), ty, vec![full])
            }
            Uniform => self.uniform_inst(d, ty)?,
            Tex => {
                if Some(b) == f.entry()
                    && let Some((t, input, element)) = crate::legal::precision::direct_sample(f, i, &self.m.textures, &self.m.inputs)
                    && let Binding::Location(l) = self.m.inputs[input].binding
                    && let Some(v) = self.texels.get(&(t, (l + element) as u8, ty.scalar == Scalar::F16))
                {
                    Self::of(*v, ty.lanes)
                } else {
                    self.tex(d, ty)?
                }
            }
            Ext => {
                let Imm::Ext(name) = &d.imm else { return Err(self.unsupported("a machine operation without a name")) };
                let a = self.arg(d, 0);
                match &**name {
                    "usse.pack16u" | "usse.pack16s" => {
                        let (low, high) = (self.plain(a, types::F32), self.arg(d, 1));
                        let high = self.plain(high, types::F32);
                        self.make(
                            Kind::Convert(Format::F32, if &**name == "usse.pack16u" { Format::U16 } else { Format::S16 }, false),
                            ty,
                            vec![low, high],
                        )
                    }
                    "usse.u16f" => self.convert(a, ty, Format::U16, Format::F32),
                    "usse.u16hf" => self.make(Kind::Convert(Format::U16, Format::F32, false), ty, vec![a, Vec::new()]),
                    "usse.s16hf" => self.make(Kind::Convert(Format::S16, Format::F32, false), ty, vec![a, Vec::new()]),
                    // The conversion that ends the program does it.
                    UNORM8 => a,
                    other => return Err(self.unsupported(format!("unknown machine operation `{other}`"))),
                }
            }
            Output => {
                self.output(d)?;
                return Ok(());
            }
            Discard => {
                // KILL knows !p0, !p1 and p0.
                let p = match f.const_bits(d.args[0]) {
                    Some([0, ..]) => return Ok(()),
                    Some(_) => None,
                    None => Some(self.condition(d.args[0], 0)?),
                };
                self.emit(Kind::Kill(p), None, Vec::new());
                self.out.phases = true;
                return Ok(());
            }
            Jump => {
                let t = &d.targets[0];
                self.edge(t);
                let to = self.index[t.block] as usize;
                self.branch(to, None);
                return Ok(());
            }
            BrIf => {
                let (t, e) = (d.targets[0].block, d.targets[1].block);
                let p = self.condition(d.args[0], 0)?;
                if d.targets.iter().any(|t| !t.args.is_empty()) {
                    return Err(CompileError::Internal("a critical edge carries values".to_string()));
                }
                self.branch(self.index[t] as usize, Some(p));
                self.branch(self.index[e] as usize, None);
                return Ok(());
            }
            Return => {
                self.finish(b)?;
                return Ok(());
            }
            Unreachable => return Ok(()),
            other => return Err(self.unsupported(format!("the machine has no `{}`", other.name()))),
        };
        if let Some(r) = d.results.first() {
            self.lanes[*r] = result;
        }
        Ok(())
    }

    /// Modifiers of constants are folded.
    fn folded(&self, ty: Scalar, l: Lane) -> Lane {
        let sign = if ty == Scalar::F16 { 0x8000 } else { 0x8000_0000u32 };
        match l.base {
            Base::C(c) => {
                let c = if l.abs { c & !sign } else { c };
                Lane::c(if l.neg { c ^ sign } else { c })
            }
            _ => l,
        }
    }

    /// Whether a value only goes to the colour output.
    fn only_output(&self, d: &InstData) -> bool {
        let f = self.f;
        f.ordered().all(|(_, i)| {
            let colour = matches!(f.insts[i].imm, Imm::Mem { var: MemRef::Output(o), .. } if Some(o) != self.abi.depth);
            !f.reads(i).iter().any(|v| d.results.contains(v)) || colour
        })
    }

    /// The value without modifiers.
    fn plain(&mut self, v: Vec<Lane>, ty: Type) -> Vec<Lane> {
        if v.iter().all(|l| l.is_plain()) { v } else { self.make(Kind::Copy, ty, vec![v]) }
    }

    fn convert(&mut self, a: Vec<Lane>, ty: Type, from: Format, to: Format) -> Vec<Lane> {
        let scalar = match from {
            Format::F32 => Scalar::F32,
            Format::F16 => Scalar::F16,
            _ => Scalar::I32,
        };
        let a = self.plain(a, ty.with_scalar(scalar));
        self.make(Kind::Convert(from, to, false), ty, vec![a])
    }

    fn branch(&mut self, to: usize, pred: Option<Pred>) {
        let at = self.at;
        let b = &mut self.out.primary.blocks[at];
        if !b.succs.contains(&to) {
            b.succs.push(to);
        }
        self.emit(Kind::Branch(to, pred), None, Vec::new());
    }

    fn edge(&mut self, t: &BlockCall) {
        let params = self.f.blocks[t.block].params.clone();
        let (mut dst, mut src) = (Vec::new(), Vec::new());
        for (p, a) in params.iter().zip(&t.args) {
            let Some(Lane { base: Base::V(v, _), .. }) = self.lanes[*p].first().copied() else { continue };
            // Nobody needs a value on a path that does not make one.
            let nothing = self.f.def_if(*a, Opcode::Undef).is_some();
            let a = if nothing { vec![Lane::new(Base::Undef); self.f.ty(*a).lanes as usize] } else { self.value_lanes(*a) };
            dst.push(v);
            src.push(a);
        }
        if !dst.is_empty() {
            self.emit(Kind::Parallel(dst), None, src);
        }
    }

    /// The lanes of a value; a lazy condition becomes 0 or 1 here.
    fn value_lanes(&mut self, v: Value) -> Vec<Lane> {
        if self.lanes[v].is_empty()
            && let Some(i) = self.f.def_inst(v)
        {
            return self.materialise_inst(i).unwrap_or_default();
        }
        self.lanes[v].clone()
    }

    /// Whether a condition is only tested (not stored or passed on) in its own block, so that it needs no register.
    fn is_lazy(&self, i: Inst) -> bool {
        let f = self.f;
        let Some(r) = f.result(i) else { return false };
        let Some(home) = f.ordered().find(|(_, x)| *x == i).map(|(b, _)| b) else { return false };
        f.ordered().all(|(b, u)| {
            let d = &f.insts[u];
            if !f.reads(u).contains(&r) {
                return true;
            }
            let simple = match d.op {
                Opcode::BrIf | Opcode::Discard => true,
                Opcode::Select => d.args[0] == r && d.args[1] != r && d.args[2] != r && f.ty(d.args[1]).scalar != Scalar::I1,
                Opcode::Iand | Opcode::Ior | Opcode::Inot => f.ty(r).lanes == 1 && self.is_lazy(u),
                _ => false,
            };
            b == home && simple
        })
    }

    fn relation(cc: FloatCC) -> Option<(Rel, bool)> {
        use FloatCC::*;
        Some(match cc {
            Oeq => (Rel::Eq, false),
            Olt => (Rel::Lt, false),
            Ole => (Rel::Le, false),
            Ogt => (Rel::Gt, false),
            Oge => (Rel::Ge, false),
            Une => (Rel::Ne, false),
            Ult => (Rel::Ge, true),
            Ule => (Rel::Gt, true),
            Ugt => (Rel::Le, true),
            Uge => (Rel::Lt, true),
            _ => return None,
        })
    }

    fn int_relation(cc: IntCC) -> (Rel, TestKind) {
        use IntCC::*;
        match cc {
            Eq => (Rel::Eq, TestKind::Signed),
            Ne => (Rel::Ne, TestKind::Signed),
            Slt => (Rel::Lt, TestKind::Signed),
            Sle => (Rel::Le, TestKind::Signed),
            Sgt => (Rel::Gt, TestKind::Signed),
            Sge => (Rel::Ge, TestKind::Signed),
            Ult => (Rel::Lt, TestKind::Unsigned),
            Ule => (Rel::Le, TestKind::Unsigned),
            Ugt => (Rel::Gt, TestKind::Unsigned),
            Uge => (Rel::Ge, TestKind::Unsigned),
        }
    }

    /// The relation, operands and inversion of one lane of a comparison.
    fn leaf(&mut self, d: &InstData, k: usize) -> Result<(TestKind, Rel, bool, Lane, Lane), CompileError> {
        let at = |v: Vec<Lane>| v.get(k).or(v.first()).copied().unwrap_or(Lane::new(Base::Undef));
        let (a, b) = (self.value_lanes(d.args[0]), self.value_lanes(d.args[1]));
        let (a, b) = (at(a), at(b));
        match &d.imm {
            Imm::FloatCC(cc) => {
                let ty = self.f.ty(d.args[0]).scalar;
                let (rel, inv) = Self::relation(*cc).ok_or_else(|| self.unsupported(format!("no test for `{}`", cc.name())))?;
                Ok((TestKind::Float(ty), rel, inv, a, b))
            }
            Imm::IntCC(cc) => {
                let (rel, kind) = Self::int_relation(*cc);
                Ok((kind, rel, false, a, b))
            }
            _ => Err(self.unsupported("a comparison without a relation")),
        }
    }

    fn test(&mut self, under: Option<Pred>, (kind, rel, a, b): (TestKind, Rel, Lane, Lane), p: u8) {
        let k = Kind::Test(kind, rel, p);
        match under {
            None => self.emit(k, None, vec![vec![a], vec![b]]),
            Some(q) => self.emit_under(q, k, None, vec![vec![a], vec![b]]),
        }
    }

    /// Computes a condition into a predicate from `p` on: which one, and whether inverted.
    fn condition(&mut self, v: Value, p: u8) -> Result<Pred, CompileError> {
        let f = self.f;
        let lazy = self.lanes[v].is_empty();
        if let (true, Some(i)) = (lazy, f.def_inst(v)) {
            let d = &f.insts[i];
            match d.op {
                Opcode::Fcmp | Opcode::Icmp => {
                    let (kind, rel, inv, a, b) = self.leaf(d, 0)?;
                    self.test(None, (kind, rel, a, b), p);
                    return Ok((p, inv));
                }
                Opcode::Inot => {
                    let (p, inv) = self.condition(d.args[0], p)?;
                    return Ok((p, !inv));
                }
                Opcode::Iand | Opcode::Ior => return self.combine(d, d.op == Opcode::Iand, p),
                _ => {}
            }
        }
        let l = self.value_lanes(v)[0];
        self.test(None, (TestKind::Signed, Rel::Ne, l, Lane::c(0)), p);
        Ok((p, false))
    }

    /// `a and b`, `a or b` into predicate `p`: the second test runs only where the first does not settle the matter.
    fn combine(&mut self, d: &InstData, and: bool, p: u8) -> Result<Pred, CompileError> {
        let f = self.f;
        let (mut first, mut second) = (d.args[0], d.args[1]);
        let is_leaf = |s: &Self, v: Value| -> bool {
            !s.lanes[v].is_empty() || f.def_inst(v).is_some_and(|i| matches!(f.insts[i].op, Opcode::Fcmp | Opcode::Icmp))
        };
        if !is_leaf(self, second) {
            std::mem::swap(&mut first, &mut second);
        }
        if !is_leaf(self, second) {
            // Two compound conditions: the second becomes 0 or 1 in a register first.
            let i = f.def_inst(second).ok_or_else(|| self.unsupported("a condition without a definition"))?;
            let v = self.materialise_inst(i)?;
            self.lanes[second] = v;
        }
        let (q, inv) = self.condition(first, p)?;
        // Bring the predicate to the polarity `p = first`.
        if inv {
            self.emit(Kind::SetPred(1, true), None, Vec::new());
            self.emit_under((q, false), Kind::SetPred(1, false), None, Vec::new());
            self.emit(Kind::SetPred(p, false), None, Vec::new());
            self.emit_under((1, false), Kind::SetPred(p, true), None, Vec::new());
        }
        // and: run where p is true; or: run where p is false.
        let under = (p, !and);
        let (kind, rel, inv2, a, b) = if self.lanes[second].is_empty() {
            let i = f.def_inst(second).ok_or_else(|| self.unsupported("a condition without a definition"))?;
            self.leaf(&f.insts[i], 0)?
        } else {
            (TestKind::Signed, Rel::Ne, false, self.lanes[second][0], Lane::c(0))
        };
        if !inv2 {
            self.test(Some(under), (kind, rel, a, b), p);
        } else {
            self.test(None, (kind, rel, a, b), 1);
            // second = !p1: and clears p where p1; or sets p where !p1.
            self.emit_under((1, !and), Kind::SetPred(p, !and), None, Vec::new());
        }
        Ok((p, false))
    }

    /// A condition as 0 or 1 in registers.
    fn materialise_inst(&mut self, i: Inst) -> Result<Vec<Lane>, CompileError> {
        let f = self.f;
        let d = &f.insts[i];
        let ty = d.results.first().map_or(types::I1, |v| f.ty(*v));
        match d.op {
            Opcode::Fcmp | Opcode::Icmp => {
                let mut out = Vec::new();
                for k in 0..ty.lanes as usize {
                    let (kind, rel, inv, a, b) = self.leaf(d, k)?;
                    self.test(None, (kind, rel, a, b), 0);
                    out.extend(self.zero_or_one((0, inv)));
                }
                Ok(out)
            }
            Opcode::Any | Opcode::All => {
                let v = self.value_lanes(d.args[0]);
                let bit = if d.op == Opcode::Any { Bit::Or } else { Bit::And };
                let mut acc = v[0];
                for l in &v[1..] {
                    acc = self.make(Kind::Bit(bit), types::I32, vec![vec![acc], vec![*l]])[0];
                }
                Ok(vec![acc])
            }
            Opcode::Iand | Opcode::Ior | Opcode::Ixor => {
                let bit = match d.op {
                    Opcode::Iand => Bit::And,
                    Opcode::Ior => Bit::Or,
                    _ => Bit::Xor,
                };
                let (a, b) = (self.value_lanes(d.args[0]), self.value_lanes(d.args[1]));
                Ok(self.make(Kind::Bit(bit), ty.with_scalar(Scalar::I32), vec![a, b]))
            }
            Opcode::Inot => {
                let a = self.value_lanes(d.args[0]);
                let one = vec![Lane::c(1); a.len()];
                Ok(self.make(Kind::Bit(Bit::Xor), ty.with_scalar(Scalar::I32), vec![a, one]))
            }
            _ => Ok(self.lanes[d.results[0]].clone()),
        }
    }

    fn zero_or_one(&mut self, p: Pred) -> Vec<Lane> {
        self.make(Kind::Select(p), types::I32, vec![vec![Lane::c(1)], vec![Lane::c(0)]])
    }

    fn select_inst(&mut self, d: &InstData, ty: Type) -> Result<Vec<Lane>, CompileError> {
        let f = self.f;
        let (a, b) = (self.value_lanes(d.args[1]), self.value_lanes(d.args[2]));
        let cond = d.args[0];
        let ty = if ty.scalar == Scalar::I1 { ty.with_scalar(Scalar::I32) } else { ty };
        if f.ty(cond).lanes == 1 {
            if ty.scalar != Scalar::F16
                && ty.lanes <= 2
                && let Some(r) = self.conditional_move(cond, ty, &a, &b)
            {
                return Ok(r);
            }
            let p = self.condition(cond, 0)?;
            return Ok(self.make(Kind::Select(p), ty, vec![a, b]));
        }
        let c = self.value_lanes(cond);
        let mut out = Vec::new();
        for k in 0..ty.lanes as usize {
            self.test(None, (TestKind::Signed, Rel::Ne, c[k], Lane::c(0)), 0);
            out.extend(self.make(Kind::Select((0, false)), ty.lane(), vec![vec![a[k]], vec![b[k]]]));
        }
        Ok(out)
    }

    /// A choice by a truth value in a register, or by a comparison with zero: one word where the operands allow it.
    fn conditional_move(&mut self, cond: Value, ty: Type, a: &[Lane], b: &[Lane]) -> Option<Vec<Lane>> {
        let n = ty.lanes as usize;
        if a.iter().chain(b).any(|l| !l.is_plain()) {
            return None;
        }
        if let Some(c) = self.lanes[cond].first().copied() {
            return matches!(c.base, Base::V(..)).then(|| self.make(Kind::SelectBool, ty, vec![vec![c; n], a.to_vec(), b.to_vec()]));
        }
        let d = self.f.def_if(cond, Opcode::Fcmp)?;
        let (Imm::FloatCC(cc), true) = (&d.imm, self.f.ty(d.args[0]) == types::F32) else { return None };
        let zero = |v: Value| self.f.const_bits(v).is_some_and(|c| c[0] << 1 == 0);
        if !zero(d.args[1]) {
            return None;
        }
        // What is true for a NaN is the opposite of what is false for it.
        use FloatCC::*;
        let (rel, swap) = match cc {
            Oeq => (Rel::Eq, false),
            Une => (Rel::Ne, false),
            Olt => (Rel::Lt, false),
            Ole => (Rel::Le, false),
            Ugt => (Rel::Le, true),
            Uge => (Rel::Lt, true),
            _ => return None,
        };
        let x = *self.lanes[d.args[0]].first()?;
        if !x.is_plain() || !matches!(x.base, Base::V(..)) {
            return None;
        }
        let (yes, no) = if swap { (b, a) } else { (a, b) };
        Some(self.make(Kind::SelectZero(rel), ty, vec![vec![x; n], yes.to_vec(), no.to_vec()]))
    }

    fn uniform_inst(&mut self, d: &InstData, ty: Type) -> Result<Vec<Lane>, CompileError> {
        let Imm::Mem { var: MemRef::Uniform(u), offset } = d.imm else { return Err(self.unsupported("uniform of nothing")) };
        let decl = &self.m.uniforms[u];
        let slot = *self.slot(u).ok_or_else(|| self.unsupported("a uniform without a place"))?;
        if d.args.is_empty() {
            let element = dense(decl, offset);
            let word = slot.element(decl, element);
            if !slot.memory {
                return Ok((0..ty.lanes as u32).map(|k| Lane::new(Base::Sa((word + k) as u16))).collect());
            }
            return Ok(self.load(Lane::c(0), 0, word, ty));
        }
        let index = self.arg(d, 0)[0];
        // An index counts units of the declared layout, which are elements where that is not kept.
        let scale = if slot.declared { decl.unit.max(1) } else { 4 * slot.stride };
        let word = slot.word + offset * scale / 4;
        Ok(self.load(index, scale, word, ty))
    }

    /// Loads words of the uniform buffer: base + index × scale + 4 × word.
    fn load(&mut self, index: Lane, scale: u32, word: u32, ty: Type) -> Vec<Lane> {
        let base = Lane::new(Base::Sa(self.abi.buffer_base.unwrap_or(0)));
        // The offset field counts words up to 127; the rest goes into the address.
        let (near, far) = (word % 128, word / 128 * 512);
        let mut address = base;
        if far != 0 {
            address = self.make(Kind::Mad, types::I32, vec![vec![address], vec![Lane::c(1)], vec![Lane::c(far)]])[0];
        }
        if scale != 0 {
            address = self.make(Kind::Mad, types::I32, vec![vec![index], vec![Lane::c(scale)], vec![address]])[0];
        }
        self.make(Kind::Load { base: 0, offset: near }, ty, vec![vec![address]])
    }

    fn tex(&mut self, d: &InstData, ty: Type) -> Result<Vec<Lane>, CompileError> {
        let Imm::Tex(info) = &d.imm else { return Err(self.unsupported("texture operation without data")) };
        if info.op != TexOp::Sample || info.compare || info.offset != [0; 3] {
            return Err(self.unsupported("the machine samples only: no fetch, gather, size, comparison or texel offset"));
        }
        let dims = match self.m.textures[info.texture].dim {
            TexDim::D1 => 1,
            TexDim::D2 => 2,
            _ => 3,
        };
        let state = self.abi.textures.iter().find(|t| t.0 == info.texture).map_or(0, |t| t.2);
        let coord = self.arg(d, 0);
        let coord = self.contiguous(coord, types::F32.with_lanes(dims));
        let lod = match info.lod {
            TexLod::Implicit => 0,
            TexLod::Bias => 1,
            TexLod::Level | TexLod::Zero => 2,
            TexLod::Grad => 3,
        };
        let mut src = vec![coord];
        match info.lod {
            TexLod::Bias | TexLod::Level => {
                let l = self.arg(d, 1);
                src.push(self.contiguous(l, types::F32));
            }
            TexLod::Zero => {
                let l = self.contiguous(vec![Lane::c(0)], types::F32);
                src.push(l);
            }
            TexLod::Grad => {
                let (mut x, y) = (self.arg(d, 1), self.arg(d, 2));
                if dims == 3 {
                    x.push(Lane::new(Base::Undef));
                }
                x.extend(y);
                let n = x.len() as u8;
                src.push(self.contiguous(x, types::F32.with_lanes(n)));
            }
            TexLod::Implicit => {}
        }
        let kind = Kind::Sample { state, dims, lod, has_lod: src.len() > 1 };
        let full = ty.with_lanes(4);
        let mut r = self.make(kind, full, src);
        r.truncate(ty.lanes as usize);
        Ok(r)
    }

    /// Lanes in order in one virtual register that begins at an even place.
    fn contiguous(&mut self, v: Vec<Lane>, ty: Type) -> Vec<Lane> {
        if let Some(Lane { base: Base::V(r, 0), .. }) = v.first() {
            let in_order = v.iter().enumerate().all(|(k, l)| l.is_plain() && l.base == Base::V(*r, k as u8));
            let data = self.out.primary.data(*r);
            let even = self.out.fixed.get(r).is_none_or(|p| p.n.is_multiple_of(2));
            if in_order && even && data.ty == ty.scalar {
                if !self.out.fixed.contains_key(r) {
                    self.out.primary.vregs[r.0 as usize].even = true;
                }
                return v;
            }
        }
        let span = self.span;
        let r = self.out.primary.vreg(ty.scalar, ty.lanes, span);
        self.out.primary.vregs[r.0 as usize].even = true;
        self.emit(Kind::Copy, Some(r), vec![v]);
        Self::of(r, ty.lanes)
    }

    fn output(&mut self, d: &InstData) -> Result<(), CompileError> {
        let Imm::Mem { var: MemRef::Output(o), offset } = d.imm else { return Err(self.unsupported("output of nothing")) };
        if d.args.len() > 1 {
            return Err(self.unsupported("outputs cannot be indexed by a computed value"));
        }
        let v = *self.outputs.get(&(o, offset)).ok_or_else(|| self.unsupported("an output outside its array"))?;
        let half = self.f.ty(d.args[0]).scalar == Scalar::F16;
        let narrow = self.abi.half_colour() && (half || f16_source(self.f, d.args[0]));
        let from = self.f.def_if(d.args[0], Opcode::Fcvt).map(|c| c.args[0]).filter(|_| narrow && !half);
        let src = self.value_lanes(from.unwrap_or(d.args[0]));
        // The only write, in the last block, happens at the end.
        let writes = self
            .f
            .ordered()
            .filter(|(_, i)| matches!(self.f.insts[*i].imm, Imm::Mem { var: MemRef::Output(x), offset: at } if x == o && at == offset))
            .count();
        let last = self.f.layout[self.at];
        let ends = self.f.terminator(last).is_some_and(|t| self.f.insts[t].op == Opcode::Return);
        let depth = Some(o) == self.abi.depth;
        if writes == 1 && ends && self.m.stage == Stage::Fragment && !depth {
            self.final_colour = Some((src, narrow));
            return Ok(());
        }
        let late = if self.rounds_late && !depth { self.unrounded(d.args[0]) } else { None };
        if let Some(full) = late {
            let src = self.value_lanes(full);
            self.emit(Kind::Copy, Some(v), vec![src]);
        } else if self.out.primary.data(v).ty == Scalar::F16 && !narrow {
            let src = self.plain(src, self.f.ty(d.args[0]));
            self.emit(Kind::Convert(Format::F32, Format::F16, false), Some(v), vec![src]);
        } else if self.out.primary.data(v).ty == Scalar::F32 && half {
            let src = self.plain(src, self.f.ty(d.args[0]));
            self.emit(Kind::Convert(Format::F16, Format::F32, false), Some(v), vec![src]);
        } else {
            self.emit(Kind::Copy, Some(v), vec![src]);
        }
        Ok(())
    }

    fn finish(&mut self, _: Block) -> Result<(), CompileError> {
        if self.m.stage == Stage::Vertex {
            // Outputs stay where they are.
            let keep: Vec<Vec<Lane>> =
                self.abi.outputs.iter().filter_map(|s| self.outputs.get(&(s.output, s.element)).map(|v| Self::of(*v, s.lanes))).collect();
            // Copies to outputs sink to the end, so that values may be computed in place and still be read.
            let at = self.at;
            let outs: Vec<Vreg> = self.outputs.values().copied().collect();
            let ops = std::mem::take(&mut self.out.primary.blocks[at].ops);
            let count = |v: Vreg| ops.iter().filter(|o| o.dst == Some(v)).count();
            let sinks = |o: &Mop| o.kind == Kind::Copy && o.dst.is_some_and(|v| outs.contains(&v) && count(v) == 1);
            let (late, early): (Vec<Mop>, Vec<Mop>) = ops.iter().cloned().partition(sinks);
            self.out.primary.blocks[at].ops = early;
            self.out.primary.blocks[at].ops.extend(late);
            self.emit(Kind::Keep, None, keep);
            return Ok(());
        }
        if let Some(o) = self.abi.depth {
            let v = self.outputs[&(o, 0)];
            // DEPTHF's operand is known for r0 only.
            let r0 = self.out.primary.vreg(Scalar::F32, 1, self.span);
            self.out.fixed.insert(r0, crate::isa::registers::Reg::r(0));
            self.emit(Kind::Copy, Some(r0), vec![Self::of(v, 1)]);
            self.emit(Kind::Depth, None, vec![Self::of(r0, 1)]);
            self.out.phases = true;
        }
        if self.out.phases {
            self.emit(Kind::EndPhase, None, Vec::new());
        }
        let Some(slot) = self.abi.outputs.iter().find(|s| Some(s.output) != self.abi.depth) else { return Ok(()) };
        let (key, lanes) = ((slot.output, slot.element), slot.lanes);
        let (src, narrow) = match self.final_colour.take() {
            Some(v) => v,
            None => (Self::of(self.outputs[&key], lanes), self.abi.half_colour() && !self.rounds_late),
        };
        let from = self.m.outputs[key.0].ty.scalar;
        let to = if self.abi.half_colour() { Scalar::F16 } else { from };
        if self.abi.colour == ColorFormat::U8 {
            // Four bytes in one register.
            let r = self.out.primary.vreg(Scalar::I32, 1, self.span);
            self.out.fixed.insert(r, crate::isa::registers::Reg::new(crate::isa::registers::Bank::Pa, 0));
            let src = self.plain(src, Type::new(from, lanes));
            self.emit(Kind::Convert(Format::F32, Format::U8, true), Some(r), vec![src]);
            self.emit(Kind::Keep, None, vec![Self::of(r, 1)]);
            return Ok(());
        }
        let r = self.out.primary.vreg(to, lanes, self.span);
        self.out.fixed.insert(r, crate::isa::registers::Reg::new(crate::isa::registers::Bank::Pa, 0));
        if to == Scalar::F16 && !narrow {
            let src = self.plain(src, Type::new(from, lanes));
            self.emit(Kind::Convert(Format::F32, Format::F16, false), Some(r), vec![src]);
        } else {
            self.emit(Kind::Copy, Some(r), vec![src]);
        }
        self.emit(Kind::Keep, None, vec![Self::of(r, lanes)]);
        Ok(())
    }

    /// Output variables that some path leaves unwritten begin as zeros.
    fn initialise_outputs(&mut self) {
        let live = crate::place::liveness::live_in(&self.out.primary);
        let Some(entry) = live.first() else { return };
        let unset: Vec<Vreg> = self.outputs.values().copied().filter(|v| entry.contains(v)).collect();
        for v in unset {
            let n = self.out.primary.data(v).lanes as usize;
            let op = Mop::new(Kind::Copy, Some(v), vec![vec![Lane::c(0); n]], Span::NONE);
            self.out.primary.blocks[0].ops.insert(0, op);
        }
        let _ = &self.uses;
    }
}

/// What the interface has for a type: half precision stands there only where the container can say so.
fn wide(s: Scalar) -> Scalar {
    if s == Scalar::F16 { Scalar::F32 } else { s }
}

/// Whether a value is an f16 that was widened for the output.
fn f16_source(f: &Function, v: Value) -> bool {
    f.def_if(v, Opcode::Fcvt).is_some_and(|d| f.ty(d.args[0]).scalar == Scalar::F16)
}

/// The dense element that a unit index names, clamped as the interpreter does.
fn dense(decl: &UniformDecl, index: u32) -> u32 {
    let mut byte = index * decl.unit.max(1);
    let mut element = 0;
    for d in &decl.dims {
        let k = byte.checked_div(d.stride).unwrap_or(0).min(d.count.max(1) - 1);
        byte -= k * d.stride;
        element = element * d.count.max(1) + k;
    }
    element
}
