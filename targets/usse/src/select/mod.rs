//! Selection: legalised IR to macro-operations.
//!
//! Values are lists of lanes that name where they are, so that extracting, shuffling, splatting, building, negating and
//! taking absolute values cost nothing until an operand table refuses them. Conditions become predicates where they are used.

mod conditions;
mod flow;
mod keep;
pub mod matrix;
mod memory;
pub mod mir;
mod outputs;
mod patterns;

use crate::abi::Abi;
use crate::isa::names::Format;
use crate::isa::registers::{Bank, Reg};
use crate::legal::numerics::UNORM8;
use crate::select::mir::{Base, Bit, Kind, Lane, MBlock, MProgram, Mop, Pred, Rel, TestKind, Vreg};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use retroshade_ir::*;
use retroshade_lower::{ColorFormat, CompileError, Fired, Matcher, Pattern, Selects};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// What selection leaves.
#[derive(Debug, Default)]
pub struct Selected {
    /// The primary program.
    pub primary: MProgram,
    /// The secondary program: one block.
    pub secondary: MProgram,
    /// Fixed places of virtual registers of the primary program.
    pub fixed: BTreeMap<Vreg, Reg>,
    /// Places of the secondary program's results.
    pub hoisted: BTreeMap<Vreg, u16>,
    /// Next free secondary attribute.
    pub free: u16,
    /// Whether the program has two phases.
    pub phases: bool,
    /// The patterns that made it.
    pub fired: Fired,
}

/// The patterns that none of these texts of `--emit mir` name.
pub fn patterns_without_a_case(texts: &[String]) -> Vec<&'static str> {
    retroshade_lower::pattern::without_a_case(Selector::PATTERNS, &[], texts)
}

/// Selects a module.
pub fn select(m: &Module, abi: &Abi, hoist: bool) -> Result<Selected, CompileError> {
    let f = m.main();
    let (mut users, mut home): (SecondaryMap<Value, Users>, SecondaryMap<Inst, PackedOption<Block>>) = Default::default();
    for (b, i) in f.ordered() {
        home[i] = b.into();
        f.reads(i).iter().for_each(|v| users[*v].push((b, i)));
    }
    let mut s = Selector {
        m,
        f,
        users,
        home,
        abi,
        out: Selected { free: abi.free, ..Selected::default() },
        lanes: SecondaryMap::new(),
        index: SecondaryMap::new(),
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

/// The instructions that read a value, once for each time they do.
type Users = SmallVec<[(Block, Inst); 2]>;

struct Selector<'a> {
    m: &'a Module,
    f: &'a Function,
    users: SecondaryMap<Value, Users>,
    home: SecondaryMap<Inst, PackedOption<Block>>,
    abi: &'a Abi,
    out: Selected,
    lanes: SecondaryMap<Value, Vec<Lane>>,
    index: SecondaryMap<Block, u32>,
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

impl Selects for Selector<'_> {
    fn fired(&mut self) -> &mut Fired {
        &mut self.out.fired
    }
}

impl<'a> Selector<'a> {
    fn run(&mut self, hoist: bool) -> Result<(), CompileError> {
        let f = self.f;
        for (n, b) in f.layout.iter().enumerate() {
            self.index[*b] = n as u32;
            self.out.primary.blocks.push(MBlock::default());
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
        let patterns = Matcher::new(Self::PATTERNS);
        for (n, b) in f.layout.iter().enumerate() {
            self.at = n;
            for i in &f.blocks[*b].insts {
                self.span = f.spans[*i];
                self.in_secondary = f.result(*i).is_some_and(|v| self.uniform[v]);
                let op = f.insts[*i].op;
                if self.names_elements(*i) {
                    continue;
                }
                if !patterns.select(self, op, *i)? {
                    return Err(self.unsupported(format!("the machine has no `{}`", op.name())));
                }
            }
            self.in_secondary = false;
        }
        self.initialise_outputs();
        keep::collect(&mut self.out.primary);
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
                        && matches!(d.imm, Imm::Mem { var: MemRef::Uniform(u), .. } if self.slot(u).is_some_and(|s| s.loaded.is_some()))
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
        if work < 1 {
            self.uniform.clear();
        }
    }

    fn slot(&self, u: Uniform) -> Option<&crate::abi::UniformSlot> {
        self.abi.uniforms.slot(u)
    }

    fn place_interface(&mut self) {
        for s in &self.abi.inputs {
            let ty = self.m.inputs[s.input].ty;
            let scalar = match s.varying {
                _ if s.half => Scalar::F16,
                Some(_) => Scalar::F32,
                None => wide(ty.scalar),
            };
            let v = self.out.primary.vreg(scalar, s.lanes, self.m.inputs[s.input].span);
            self.out.primary.vregs[v.0 as usize].even = false;
            self.inputs.insert((s.input, s.element), v);
            self.out.fixed.insert(v, Reg::new(Bank::Pa, s.pa));
        }
        for p in &self.abi.preloaded {
            let v = self.out.primary.vreg(if p.half { Scalar::F16 } else { Scalar::F32 }, 4, self.m.textures[p.texture].span);
            self.texels.insert((p.texture, p.coord, p.half), v);
            self.out.fixed.insert(v, Reg::new(Bank::Pa, p.pa));
        }
        if let Some(i) = self.abi.blended {
            // Halves, or all bytes in one register.
            let (ty, lanes) = if self.abi.half_colour() { (Scalar::F16, 4) } else { (Scalar::I32, 1) };
            let v = self.out.primary.vreg(ty, lanes, self.m.inputs[i].span);
            self.inputs.insert((i, 0), v);
            self.out.fixed.insert(v, self.frame_register());
        }
        self.rounds_late = self.abi.outputs.iter().any(|s| Some(s.output) != self.abi.depth && self.is_rounded_late(s.output));
        for s in &self.abi.outputs {
            let d = &self.m.outputs[s.output];
            let colour = self.abi.half_colour() && Some(s.output) != self.abi.depth && !self.rounds_late;
            let scalar = match s.varying {
                _ if colour => Scalar::F16,
                Some(_) => Scalar::F32,
                None => wide(d.ty.scalar),
            };
            let v = self.out.primary.vreg(scalar, s.lanes, d.span);
            self.outputs.insert((s.output, s.element), v);
            if self.m.stage == Stage::Vertex {
                self.out.primary.vregs[v.0 as usize].even = false;
                self.out.fixed.insert(v, Reg::new(Bank::O, s.reg));
            }
        }
    }

    /// Where a fragment program's colour leaves.
    fn frame_register(&self) -> Reg {
        Reg::new(if self.abi.native { Bank::O } else { Bank::Pa }, 0)
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

    /// The lanes of a value; a lazy condition becomes 0 or 1 here.
    fn value_lanes(&mut self, v: Value) -> Vec<Lane> {
        if self.lanes[v].is_empty()
            && let Some(i) = self.f.def_inst(v)
        {
            return self.materialise_inst(i).unwrap_or_default();
        }
        self.lanes[v].clone()
    }
}

/// What the interface has for a type: half precision stands there only where the container can say so.
fn wide(s: Scalar) -> Scalar {
    if s == Scalar::F16 { Scalar::F32 } else { s }
}
