//! One invocation: frames, registers, and the instructions that touch anything else than registers.

use super::open::{Touches, Who, open};
use super::ops::{self, Word4, float_to};
use super::watch::{Choice, Regs, from_case};
use super::{Branch, InterpError, Limits, Observers};
use crate::analysis::{LoopId, Loops};
use crate::entities::*;
use crate::env::ShaderEnv;
use crate::function::Function;
use crate::inst::{Imm, InstData, MemRef, TexInfo, TexLod, TexOp};
use crate::module::{Module, Stage};
use crate::numerics::{Numerics, to_f32};
use crate::opcode::{Effect, Opcode};
use crate::texture::{TexArgs, TexQuery, sample_lane};
use crate::types::{Scalar, Type};
use cranelift_entity::{EntityRef, SecondaryMap};
use smallvec::SmallVec;
use std::collections::HashSet;

/// What all invocations share and none changes.
pub(super) struct Cx<'a> {
    pub module: &'a Module,
    pub env: &'a ShaderEnv,
    pub num: &'a dyn Numerics,
    pub limits: &'a Limits,
    /// Place of each block in its function's layout.
    pub order: SecondaryMap<FuncId, SecondaryMap<Block, u32>>,
    /// The loops of each function, where quads ask for them.
    pub loops: SecondaryMap<FuncId, Loops>,
}

/// What invocations change together.
#[derive(Default)]
pub(super) struct Memory<'w> {
    pub storage: Vec<Vec<u32>>,
    pub shared: Vec<Vec<Word4>>,
    /// Instructions that they have executed.
    pub spent: u64,
    /// What they have touched, where that counts.
    pub touches: Touches,
    /// Who has a say in what is chosen, or wants to know it.
    pub observers: Observers<'w>,
}

/// Why an invocation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It has ended.
    Done,
    /// It waits at a barrier, which it has already passed.
    Barrier,
    /// It needs its quad at the current instruction.
    Quad,
}

struct Frame {
    func: FuncId,
    block: Block,
    pc: usize,
    regs: Vec<Word4>,
    locals: Vec<Vec<Word4>>,
    /// Elements of local arrays that were written, where that counts.
    written: HashSet<(Local, u32)>,
    /// How often each loop came round since it was entered.
    rounds: SecondaryMap<LoopId, u32>,
}

impl Frame {
    fn reg(&self, v: Value) -> Word4 {
        self.regs.get(v.index()).copied().unwrap_or([0; 4])
    }

    /// Executes an instruction that [`computes`].
    fn compute(&mut self, cx: &Cx, f: &Function, d: &InstData) -> Result<(), InterpError> {
        let Some(result) = d.results.first() else { return Err(InterpError::Malformed(format!("`{}` has no result", d.op.name()))) };
        let mut few = [[0; 4]; 4];
        let many: Vec<Word4>;
        let args = match few.get_mut(..d.args.len()) {
            Some(few) => {
                few.iter_mut().zip(&d.args).for_each(|(x, v)| *x = self.reg(*v));
                &*few
            }
            None => {
                many = d.args.iter().map(|v| self.reg(*v)).collect();
                &many
            }
        };
        let ty = d.args.first().map(|v| f.ty(*v));
        let Some(r) = ops::eval(cx.num, d.op, &d.imm, f.ty(*result), ty.as_slice(), args) else {
            return Err(match &d.imm {
                Imm::Ext(name) => InterpError::UnknownExt { name: name.to_string(), numerics: cx.num.name().to_string() },
                _ => InterpError::Malformed(format!("`{}` with the wrong payload", d.op.name())),
            });
        };
        if let Some(x) = self.regs.get_mut(result.index()) {
            *x = r;
        }
        self.pc += 1;
        Ok(())
    }
}

/// Whether an operation touches nothing but registers: [`ops::eval`] knows it, and it is never open.
fn computes(cx: &Cx, op: Opcode) -> bool {
    let reads = matches!(op, Opcode::Input | Opcode::Uniform | Opcode::StorageLen) || op == Opcode::Undef && cx.limits.closed;
    op.effect() == Effect::Pure && !reads
}

/// An invocation.
pub(super) struct Lane {
    frames: Vec<Frame>,
    inputs: Vec<Vec<u32>>,
    pub outputs: Vec<Vec<u32>>,
    /// Whether the results are dropped.
    pub discarded: bool,
    /// Whether stores have no effect.
    helper: bool,
    /// Open strip of each vertex stream, and finished strips.
    open: [Vec<Vec<Vec<u32>>>; 4],
    pub strips: Vec<Vec<Vec<Vec<u32>>>>,
    emitted: u32,
    fuel: u64,
    who: Who,
}

/// Where an invocation stands: for each frame the loops around it with their rounds, the outermost first, then the instruction. Earlier
/// is less: a round of a loop comes before the next.
pub(super) type Place = SmallVec<[(u32, u32); 2]>;

impl Lane {
    pub fn new(cx: &Cx, inputs: Vec<Vec<u32>>, helper: bool, who: Who) -> Result<Lane, InterpError> {
        let outputs = cx.module.outputs.values().map(|o| vec![0; o.count.max(1) as usize * o.ty.lanes as usize]).collect();
        let mut lane = Lane {
            frames: Vec::new(),
            inputs,
            outputs,
            discarded: false,
            helper,
            open: Default::default(),
            strips: Vec::new(),
            emitted: 0,
            fuel: cx.limits.fuel,
            who,
        };
        lane.enter(cx, cx.module.entry, &[])?;
        Ok(lane)
    }

    fn enter(&mut self, cx: &Cx, func: FuncId, args: &[Word4]) -> Result<(), InterpError> {
        if self.frames.len() >= cx.limits.calls {
            return Err(InterpError::CallDepth(cx.limits.calls));
        }
        let f = cx.module.functions.get(func).ok_or_else(|| InterpError::Malformed(format!("no function {func}")))?;
        let block = f.entry().ok_or_else(|| InterpError::Malformed(format!("function @{} has no block", f.name)))?;
        let words: u64 = f.locals.values().map(|l| l.count as u64 * 4).sum();
        if words > cx.limits.memory {
            return Err(InterpError::TooLarge { what: format!("local memory of @{}", f.name), words, limit: cx.limits.memory });
        }
        let mut regs = vec![[0; 4]; f.values.len()];
        for (p, a) in f.blocks[block].params.iter().zip(args) {
            regs[p.index()] = *a;
        }
        let locals = f.locals.values().map(|l| vec![[0; 4]; l.count as usize]).collect();
        self.frames.push(Frame { func, block, pc: 0, regs, locals, written: HashSet::new(), rounds: SecondaryMap::new() });
        Ok(())
    }

    /// Where the invocation stands.
    pub fn place(&self, cx: &Cx) -> Place {
        let mut place = Place::new();
        for f in &self.frames {
            let (order, loops, start) = (&cx.order[f.func], &cx.loops[f.func], place.len());
            let mut around = loops.of(f.block);
            while let Some(l) = around {
                place.push((order[loops.data(l).header], f.rounds[l]));
                around = loops.data(l).parent;
            }
            place[start..].reverse();
            place.push((order[f.block], f.pc as u32));
        }
        place
    }

    /// Runs until the invocation ends or has to wait.
    pub fn run(&mut self, cx: &Cx, mem: &mut Memory) -> Result<Stop, InterpError> {
        let bound = mem.observers.detour.as_ref().is_some_and(|d| d.is_bound());
        loop {
            if self.fuel == 0 {
                return Err(InterpError::OutOfFuel(cx.limits.fuel));
            }
            if mem.spent >= cx.limits.total {
                return Err(InterpError::OutOfFuel(cx.limits.total));
            }
            self.fuel -= 1;
            mem.spent += 1;
            let Some(frame) = self.frames.last_mut() else { return Ok(Stop::Done) };
            let f = &cx.module.functions[frame.func];
            let Some(inst) = f.blocks[frame.block].insts.get(frame.pc).copied() else {
                return Err(InterpError::Malformed(format!("{} of @{} has no terminator", frame.block, f.name)));
            };
            let d = &f.insts[inst];
            if bound && let Some(detour) = &mem.observers.detour {
                detour.keeps(Branch { func: frame.func, block: frame.block }, f, d, &|v| frame.reg(v))?;
            }
            if computes(cx, d.op) {
                frame.compute(cx, f, d)?;
                if d.op == Opcode::Select && mem.observers.watch.is_some() {
                    self.selects(cx, mem, f, inst);
                }
            } else if let Some(stop) = self.step(cx, mem, f, inst)? {
                return Ok(stop);
            }
        }
    }

    fn reg(&self, v: Value) -> Word4 {
        self.frames.last().map_or([0; 4], |f| f.reg(v))
    }

    fn set(&mut self, v: Value, x: Word4) {
        if let Some(r) = self.frames.last_mut().and_then(|f| f.regs.get_mut(v.index())) {
            *r = x;
        }
    }

    fn advance(&mut self) {
        if let Some(f) = self.frames.last_mut() {
            f.pc += 1;
        }
    }

    /// Sets the result of the current instruction and goes on behind it.
    pub fn complete(&mut self, cx: &Cx, result: Word4) {
        if let Some(v) = self.current(cx).and_then(|(_, d)| d.results.first().copied()) {
            self.set(v, result);
        }
        self.advance();
    }

    /// The current instruction.
    pub fn current<'a>(&self, cx: &Cx<'a>) -> Option<(&'a Function, &'a InstData)> {
        let frame = self.frames.last()?;
        let f = &cx.module.functions[frame.func];
        Some((f, &f.insts[*f.blocks[frame.block].insts.get(frame.pc)?]))
    }

    /// The operand `n` of the current instruction.
    pub fn operand(&self, d: &InstData, n: usize) -> Word4 {
        d.args.get(n).map_or([0; 4], |v| self.reg(*v))
    }

    fn branch(&mut self, cx: &Cx, f: &Function, d: &InstData, n: usize) -> Result<(), InterpError> {
        let Some(t) = d.targets.get(n) else { return Err(InterpError::Malformed(format!("`{}` lacks target {n}", d.op.name()))) };
        let values: SmallVec<[Word4; 8]> = t.args.iter().map(|v| self.reg(*v)).collect();
        for (p, x) in f.blocks[t.block].params.iter().zip(values) {
            self.set(*p, x);
        }
        if let Some(frame) = self.frames.last_mut() {
            let loops = &cx.loops[frame.func];
            if let Some(l) = loops.of(t.block).filter(|l| loops.data(*l).header == t.block) {
                frame.rounds[l] = if loops.contains(l, frame.block) { frame.rounds[l] + 1 } else { 0 };
            }
            frame.block = t.block;
            frame.pc = 0;
        }
        Ok(())
    }

    fn step(&mut self, cx: &Cx, mem: &mut Memory, f: &Function, inst: Inst) -> Result<Option<Stop>, InterpError> {
        let d = &f.insts[inst];
        match d.op {
            Opcode::Jump => self.branch(cx, f, d, 0)?,
            Opcode::BrIf => {
                let says = u32::from(self.operand(d, 0)[0] & 1 == 0);
                let side = self.detour(cx, mem, says);
                self.chooses(cx, mem, f, inst, side);
                self.branch(cx, f, d, side as usize)?;
            }
            Opcode::Switch => {
                let x = self.operand(d, 0)[0];
                let cases: &[u32] = if let Imm::Cases(c) = &d.imm { c } else { &[] };
                let n = cases.iter().position(|c| *c == x).unwrap_or(d.targets.len().saturating_sub(1));
                self.chooses(cx, mem, f, inst, n as u32);
                self.branch(cx, f, d, n)?;
            }
            Opcode::Return => {
                let values: SmallVec<[Word4; 4]> = d.args.iter().map(|v| self.reg(*v)).collect();
                self.frames.pop();
                let Some((_, call)) = self.current(cx) else { return Ok(Some(self.end(cx))) };
                for (v, x) in call.results.iter().zip(values) {
                    self.set(*v, x);
                }
                self.advance();
            }
            Opcode::Kill => {
                self.discarded = true;
                self.frames.clear();
                return Ok(Some(self.end(cx)));
            }
            Opcode::Undef | Opcode::Unreachable if cx.limits.closed => return open("what is undefined or unreachable is executed"),
            Opcode::Unreachable => {
                self.frames.clear();
                return Ok(Some(self.end(cx)));
            }
            Opcode::Call => {
                let Imm::Func(callee) = d.imm else { return Err(InterpError::Malformed("`call` without a callee".to_string())) };
                let args: SmallVec<[Word4; 4]> = d.args.iter().map(|v| self.reg(*v)).collect();
                self.enter(cx, callee, &args)?;
            }
            Opcode::Barrier => {
                self.who.barriers += 1;
                self.advance();
                return Ok(Some(Stop::Barrier));
            }
            Opcode::Ddx | Opcode::Ddy => {
                if cx.module.stage == Stage::Fragment {
                    return Ok(Some(Stop::Quad));
                }
                self.complete(cx, [0; 4]);
            }
            Opcode::Tex => {
                let Imm::Tex(info) = &d.imm else { return Err(InterpError::Malformed("`tex` without its payload".to_string())) };
                if cx.module.stage == Stage::Fragment && needs_quad(info) {
                    return Ok(Some(Stop::Quad));
                }
                let args = self.tex_args(cx, f, d, info);
                let r = texture(cx, f, d, info, &args, 0.0);
                self.complete(cx, r);
            }
            Opcode::Discard => {
                let drops = self.operand(d, 0)[0] & 1 == 1;
                self.chooses(cx, mem, f, inst, u32::from(!drops));
                if drops {
                    self.discarded = true;
                    self.helper = true;
                }
                self.advance();
            }
            Opcode::EmitVertex => {
                if self.emitted < cx.module.geometry.map_or(u32::MAX, |g| g.max_vertices) {
                    self.emitted += 1;
                    self.open[stream(d)].push(self.outputs.clone());
                } else if cx.limits.closed {
                    return open("more vertices are emitted than were declared");
                }
                self.advance();
            }
            Opcode::EndPrimitive => {
                self.close(stream(d));
                self.advance();
            }
            Opcode::Input
            | Opcode::Output
            | Opcode::Uniform
            | Opcode::LocalLoad
            | Opcode::LocalStore
            | Opcode::SharedLoad
            | Opcode::SharedStore
            | Opcode::StorageLoad
            | Opcode::StorageStore
            | Opcode::StorageLen
            | Opcode::Atomic => {
                let r = self.memory(cx, mem, f, d)?;
                self.complete(cx, r);
            }
            _ => return Err(InterpError::Malformed(format!("`{}` is executed", d.op.name()))),
        }
        Ok(None)
    }

    /// Tells who watches what the lanes of a `select` have chosen, which has been executed.
    fn selects(&self, cx: &Cx, mem: &mut Memory, f: &Function, inst: Inst) {
        let Some(condition) = f.insts[inst].args.first() else { return };
        for lane in 0..u32::from(f.ty(*condition).lanes) {
            let first = self.reg(*condition)[lane as usize] & 1 == 1;
            self.chooses(cx, mem, f, inst, 2 * lane + u32::from(!first));
        }
    }

    /// Tells who watches which outcome of an instruction comes about, and how far the others are.
    fn chooses(&self, cx: &Cx, mem: &mut Memory, f: &Function, inst: Inst, which: u32) {
        let (Some(watch), Some(frame)) = (mem.observers.watch.as_deref_mut(), self.frames.last()) else { return };
        let d = &f.insts[inst];
        let among = match d.op {
            Opcode::Switch => 0..d.targets.len() as u32,
            Opcode::Select => which & !1..(which | 1) + 1,
            _ => 0..2,
        };
        let distance = |other: u32| match (&d.imm, d.args.first()) {
            (Imm::Cases(cases), _) => from_case(cases, self.operand(d, 0)[0], other),
            (_, Some(condition)) => {
                let regs = Regs { f, read: &|v| self.reg(v) };
                regs.distance(*condition, other as usize / 2, other & 1 == 0)
            }
            _ => f64::INFINITY,
        };
        watch.decide(frame.func, inst, Choice { which, among }, self.number(cx), &distance);
    }

    /// The side of the branch that ends the current block, which `says` one itself.
    fn detour(&self, cx: &Cx, mem: &mut Memory, says: u32) -> u32 {
        let (Some(detour), Some(frame)) = (mem.observers.detour.as_deref_mut(), self.frames.last()) else { return says };
        let invocation = if cx.module.stage == Stage::Compute { self.who.lane } else { self.number(cx) };
        detour.side(invocation, Branch { func: frame.func, block: frame.block }, says)
    }

    /// The invocation's number in the environment; in a compute program that of its workgroup.
    fn number(&self, cx: &Cx) -> u32 {
        if cx.module.stage == Stage::Fragment { 4 * self.who.group + self.who.lane } else { self.who.group }
    }

    /// Closes open strips when the program ends.
    fn end(&mut self, cx: &Cx) -> Stop {
        if cx.module.stage == Stage::Geometry {
            (0..self.open.len()).for_each(|s| self.close(s));
        }
        Stop::Done
    }

    fn close(&mut self, stream: usize) {
        let strip = std::mem::take(&mut self.open[stream]);
        if !strip.is_empty() {
            self.strips.push(strip);
        }
    }

    /// Executes a load, store or atomic and gives its result.
    fn memory(&mut self, cx: &Cx, mem: &mut Memory, f: &Function, d: &InstData) -> Result<Word4, InterpError> {
        let (var, offset) = match d.imm {
            Imm::Mem { var, offset } | Imm::Atomic { var, offset, .. } => (var, offset),
            _ => return Err(InterpError::Malformed(format!("`{}` names no variable", d.op.name()))),
        };
        let ty = d.results.first().map_or(Type::new(Scalar::I32, 1), |r| f.ty(*r));
        let lanes = ty.lanes as usize;
        let stored = d.args.first().map_or(ty, |v| f.ty(*v));
        let value_operands = match (d.op, &d.imm) {
            (Opcode::Atomic, Imm::Atomic { op: crate::inst::AtomicOp::Cas, .. }) => 2,
            (Opcode::Atomic | Opcode::Output | Opcode::LocalStore | Opcode::SharedStore | Opcode::StorageStore, _) => 1,
            _ => 0,
        };
        let index = d.args.get(value_operands).map_or(0, |v| self.reg(*v)[0]);
        let at = offset.wrapping_add(index);
        let value = self.operand(d, 0);
        if cx.limits.closed {
            self.closed(cx, mem, d.op, var, at, if value_operands == 0 { lanes } else { stored.lanes as usize })?;
        }
        let mut r = [0; 4];
        let load_float = |r: &mut Word4| {
            if ty.is_float() {
                for w in r.iter_mut().take(lanes) {
                    *w = cx.num.load(ty.scalar, *w);
                }
            }
        };
        match (d.op, var) {
            (Opcode::Input, MemRef::Input(i)) => {
                let decl = &cx.module.inputs[i];
                let n = decl.ty.lanes as usize;
                let first = at.min(decl.count.max(1) - 1) as usize * n;
                copy(&mut r, self.inputs.get(i.index()).map(|w| &w[..]), first, n.min(lanes));
                load_float(&mut r);
            }
            (Opcode::Uniform, MemRef::Uniform(u)) => {
                let decl = &cx.module.uniforms[u];
                let n = decl.ty.lanes as usize;
                let first = decl.element(at).saturating_mul(n as u64);
                let words = cx.env.uniform(cx.module, u);
                copy(&mut r, words.as_deref(), usize::try_from(first).unwrap_or(usize::MAX), n.min(lanes));
                load_float(&mut r);
            }
            (Opcode::Output, MemRef::Output(o)) => {
                let n = cx.module.outputs[o].ty.lanes as usize;
                if let Some(words) = self.outputs.get_mut(o.index()) {
                    for (k, w) in value.iter().enumerate().take(n.min(stored.lanes as usize)) {
                        if let Some(slot) = (at as usize).checked_mul(n).and_then(|a| words.get_mut(a + k)) {
                            *slot = *w;
                        }
                    }
                }
            }
            (Opcode::LocalLoad, MemRef::Local(l)) => r = self.local(l, at).map_or([0; 4], |w| *w),
            (Opcode::LocalStore, MemRef::Local(l)) => {
                if let Some(w) = self.local(l, at) {
                    *w = value;
                }
            }
            (Opcode::SharedLoad, MemRef::Shared(s)) => {
                r = mem.shared.get(s.index()).and_then(|v| v.get(at as usize)).copied().unwrap_or([0; 4]);
            }
            (Opcode::SharedStore, MemRef::Shared(s)) => {
                if let Some(w) = mem.shared.get_mut(s.index()).and_then(|v| v.get_mut(at as usize)) {
                    *w = value;
                }
            }
            (Opcode::StorageLoad, MemRef::Storage(s)) => copy(&mut r, mem.storage.get(s.index()).map(|w| &w[..]), at as usize, lanes),
            (Opcode::StorageStore, MemRef::Storage(s)) => {
                if !self.helper
                    && let Some(words) = mem.storage.get_mut(s.index())
                {
                    for (k, w) in value.iter().enumerate().take(stored.lanes as usize) {
                        if let Some(slot) = words.get_mut(at as usize + k) {
                            *slot = *w;
                        }
                    }
                }
            }
            (Opcode::StorageLen, MemRef::Storage(s)) => r[0] = mem.storage.get(s.index()).map_or(0, |w| w.len() as u32),
            (Opcode::Atomic, _) => {
                let Imm::Atomic { op, .. } = d.imm else { return Ok(r) };
                let slot = match var {
                    MemRef::Shared(s) => mem.shared.get_mut(s.index()).and_then(|v| v.get_mut(at as usize)).map(|w| &mut w[0]),
                    MemRef::Storage(s) => mem.storage.get_mut(s.index()).and_then(|v| v.get_mut(at as usize)),
                    _ => None,
                };
                if let Some(w) = slot {
                    r[0] = *w;
                    if !self.helper {
                        *w = ops::atomic(op, *w, value[0], self.operand(d, 1)[0]);
                    }
                }
            }
            _ => return Err(InterpError::Malformed(format!("`{}` with the wrong kind of variable", d.op.name()))),
        }
        Ok(r)
    }

    /// Refuses an access that the IR leaves open: out of range, of what was never written, in no order with another's.
    fn closed(&mut self, cx: &Cx, mem: &mut Memory, op: Opcode, var: MemRef, at: u32, lanes: usize) -> Result<(), InterpError> {
        let stores = matches!(op, Opcode::LocalStore | Opcode::SharedStore | Opcode::StorageStore | Opcode::Atomic);
        let (elements, each) = match var {
            _ if op == Opcode::StorageLen => return Ok(()),
            MemRef::Input(i) => (cx.module.inputs[i].count.max(1) as usize, 1),
            MemRef::Output(o) => (cx.module.outputs[o].count.max(1) as usize, 1),
            MemRef::Uniform(u) => (cx.module.uniforms[u].units() as usize, 1),
            MemRef::Local(l) => (self.frames.last().and_then(|f| f.locals.get(l.index())).map_or(0, Vec::len), 1),
            MemRef::Shared(s) => (cx.module.shared[s].count as usize, 1),
            MemRef::Storage(s) => (mem.storage.get(s.index()).map_or(0, Vec::len), lanes),
        };
        if at as usize + each > elements {
            return open("an index is out of range");
        }
        let written = match (var, self.frames.last_mut()) {
            (MemRef::Local(l), Some(f)) if stores => {
                f.written.insert((l, at));
                true
            }
            (MemRef::Local(l), Some(f)) => f.written.contains(&(l, at)),
            (MemRef::Shared(_) | MemRef::Storage(_), _) => {
                let mut all = true;
                for n in at as usize..at as usize + each {
                    if stores && !self.helper {
                        mem.touches.store(var, n, self.who)?;
                    } else {
                        all &= mem.touches.load(var, n, self.who)?;
                    }
                }
                // A buffer holds something at the start.
                all || stores || matches!(var, MemRef::Storage(_))
            }
            _ => true,
        };
        if written { Ok(()) } else { open("an element is read that was never written") }
    }

    fn local(&mut self, l: Local, at: u32) -> Option<&mut Word4> {
        self.frames.last_mut()?.locals.get_mut(l.index())?.get_mut(at as usize)
    }

    /// The operands of the texture instruction at which the invocation stands.
    pub fn tex_args(&self, cx: &Cx, f: &Function, d: &InstData, info: &TexInfo) -> TexArgs {
        let decl = &cx.module.textures[info.texture];
        let mut values = d.args.iter().map(|v| {
            let (ty, mut w) = (f.ty(*v), self.reg(*v));
            if ty.scalar == Scalar::F16 {
                w = w.map(|x| to_f32(Scalar::F16, x).to_bits());
            }
            w
        });
        let mut next = |wanted: bool| if wanted { values.next().unwrap_or([0; 4]) } else { [0; 4] };
        let three = |w: Word4| [w[0], w[1], w[2]];
        let sized = matches!(info.op, TexOp::Size | TexOp::Levels);
        let coord = three(next(!sized));
        let layer = next(!sized && decl.arrayed && info.op != TexOp::Lod)[0];
        let reference = next(info.compare)[0];
        let lod = next(matches!(info.lod, TexLod::Bias | TexLod::Level))[0];
        let grad = info.lod == TexLod::Grad;
        let grad = [three(next(grad)), three(next(grad))];
        // The samples of a texel are images of their own.
        let layer = if decl.multisampled && info.op == TexOp::Fetch { next(true)[0] } else { layer };
        TexArgs { coord, layer, reference, lod, grad }
    }
}

fn stream(d: &InstData) -> usize {
    if let Imm::Stream(s) = d.imm { s as usize & 3 } else { 0 }
}

/// Whether a texture operation asks for its neighbours' coordinates.
pub(super) fn needs_quad(info: &TexInfo) -> bool {
    info.op == TexOp::Lod || info.op == TexOp::Sample && matches!(info.lod, TexLod::Implicit | TexLod::Bias)
}

/// Executes a texture instruction and rounds its result as the machine loads texels.
pub(super) fn texture(cx: &Cx, f: &Function, d: &InstData, info: &TexInfo, args: &TexArgs, implicit: f32) -> Word4 {
    let decl = &cx.module.textures[info.texture];
    let Some(data) = cx.env.textures.get(info.texture.index()) else { return [0; 4] };
    let mut r = sample_lane(data, &TexQuery::of(info, decl), args, implicit);
    let ty = d.results.first().map_or(Type::new(Scalar::F32, 4), |v| f.ty(*v));
    for w in r.iter_mut().skip(ty.lanes as usize) {
        *w = 0;
    }
    if ty.is_float() {
        for w in r.iter_mut().take(ty.lanes as usize) {
            *w = cx.num.load(ty.scalar, float_to(Scalar::F32, ty.scalar, *w));
        }
    }
    r
}

fn copy(r: &mut Word4, words: Option<&[u32]>, first: usize, n: usize) {
    let Some(words) = words else { return };
    for (k, w) in r.iter_mut().enumerate().take(n) {
        *w = first.checked_add(k).and_then(|at| words.get(at)).copied().unwrap_or(0);
    }
}
