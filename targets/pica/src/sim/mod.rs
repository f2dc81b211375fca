//! The simulator: decoded words, float24 arithmetic, the three control-flow stacks, geometry emission.
//!
//! It refuses what freezes the chip. Facts: ISA sheet sections 7, 9, 10, 12.

use crate::abi::{self, Abi, Place};
use crate::compile;
use crate::container::{Constant, Shbin};
use crate::isa::dis::decode_all;
use crate::isa::forms::Op;
use crate::isa::lint;
use crate::isa::registers::{Index, Reg, Src};
use crate::isa::word::Instr;
use crate::legal::numerics as f24;
use retroshade_ir::{InvocationInputs, InvocationResult, Module, Scalar, ShaderEnv, ShaderResult, Stage};
use retroshade_lower::{CompiledShader, Course, SimError};
use std::collections::VecDeque;

/// Instructions after which a program counts as endless.
const FUEL: u64 = 1_000_000;
/// Largest offset that the address calculation takes; beyond it the offset counts as 0.
const OFFSET: std::ops::RangeInclusive<i64> = -128..=127;

/// The machine's state.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Inputs.
    pub v: [[f32; 4]; 16],
    /// Temporaries.
    pub r: [[f32; 4]; 16],
    /// Outputs.
    pub o: [[f32; 4]; 16],
    /// Which output components were written since the last emit.
    pub written: [u8; 16],
    /// Which have a meaning, so that they must be written once: empty if nobody says.
    pub configured: [u8; 16],
    /// Whether vertices leave by EMIT, not at the end.
    pub geometry: bool,
    /// A component with a meaning that was written twice.
    twice: bool,
    /// Float uniforms.
    pub c: [[f32; 4]; 96],
    /// Integer uniforms.
    pub i: [[u8; 4]; 4],
    /// Boolean uniforms.
    pub b: [bool; 16],
    /// Address registers.
    pub a0: [i32; 2],
    /// Loop counter.
    pub al: i64,
    /// Condition flags.
    pub cmp: [bool; 2],
    /// Emitted vertices: outputs, slot, whether a triangle was sent, whether reversed.
    pub emitted: Vec<([[f32; 4]; 16], u8, bool, bool)>,
    /// Instructions executed.
    pub executed: u64,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            v: [[0.0, 0.0, 0.0, 1.0]; 16],
            // Undefined at start: a program that reads them shows it.
            r: [[f32::NAN; 4]; 16],
            o: [[0.0; 4]; 16],
            written: [0; 16],
            configured: [0; 16],
            geometry: false,
            twice: false,
            c: [[0.0; 4]; 96],
            i: [[0; 4]; 4],
            b: [false; 16],
            a0: [0; 2],
            al: 0,
            cmp: [false; 2],
            emitted: Vec::new(),
            executed: 0,
        }
    }
}

#[derive(Clone, Copy)]
struct CallEntry {
    at: usize,
    go: usize,
}

#[derive(Clone, Copy)]
struct LoopEntry {
    at: usize,
    start: usize,
    count: u8,
    inc: u8,
    old: i64,
}

/// Pushing onto a full stack drops the oldest entry.
fn push<T>(stack: &mut VecDeque<T>, entry: T, depth: usize) {
    if stack.len() == depth {
        stack.pop_front();
    }
    stack.push_back(entry);
}

fn fault<T>(pc: usize, message: impl Into<String>) -> Result<T, SimError> {
    Err(SimError::Fault { at: 4 * pc as u32, message: message.into() })
}

impl Machine {
    fn read(&self, s: &Src) -> [f32; 4] {
        let reg = match s.reg {
            Reg::V(n) => self.v[n as usize & 15],
            Reg::R(n) => self.r[n as usize & 15],
            Reg::O(n) => self.o[n as usize & 15],
            Reg::C(n) => {
                let a = match s.index {
                    Index::None => 0,
                    Index::A0x => self.a0[0] as i64,
                    Index::A0y => self.a0[1] as i64,
                    Index::AL => self.al,
                };
                let a = if OFFSET.contains(&a) { a } else { 0 };
                self.c.get(((n as i64 + a) & 0x7f) as usize).copied().unwrap_or([1.0; 4])
            }
        };
        s.swz.map(|c| if s.neg { f24::neg(reg[c as usize & 3]) } else { reg[c as usize & 3] })
    }

    fn write(&mut self, i: &Instr, value: [f32; 4]) {
        let reg = match i.dst {
            Reg::O(n) => {
                self.twice |= self.written[n as usize & 15] & self.configured[n as usize & 15] & i.mask != 0;
                self.written[n as usize & 15] |= i.mask;
                &mut self.o[n as usize & 15]
            }
            Reg::R(n) => &mut self.r[n as usize & 15],
            _ => return,
        };
        for c in (0..4).filter(|c| i.mask >> c & 1 == 1) {
            reg[c] = value[c];
        }
    }

    fn arithmetic(&mut self, i: &Instr) {
        let s: [[f32; 4]; 3] = std::array::from_fn(|n| if n < i.sources().len() { self.read(&i.src[n]) } else { [0.0; 4] });
        let zip = |op: fn(f32, f32) -> f32| std::array::from_fn(|c| op(s[0][c], s[1][c]));
        let value = match i.op {
            Op::Add => zip(f24::add),
            Op::Mul => zip(f24::mul),
            Op::Max => zip(f24::max),
            Op::Min => zip(f24::min),
            Op::Sge => zip(f24::sge),
            Op::Slt => zip(f24::slt),
            Op::Mad => std::array::from_fn(|c| f24::mad(s[0][c], s[1][c], s[2][c])),
            Op::Dp3 => [f24::dot(&s[0][..3], &s[1][..3]); 4],
            Op::Dp4 => [f24::dot(&s[0], &s[1]); 4],
            Op::Dph => [f24::dot(&[s[0][0], s[0][1], s[0][2], 1.0], &s[1]); 4],
            Op::Dst => [1.0, f24::mul(s[0][1], s[1][1]), s[0][2], s[1][3]],
            Op::Flr => s[0].map(f24::floor),
            Op::Rcp => [f24::rcp(s[0][0]); 4],
            Op::Rsq => [f24::rsq(s[0][0]); 4],
            Op::Ex2 => [f24::ex2(s[0][0]); 4],
            Op::Lg2 => [f24::lg2(s[0][0]); 4],
            Op::Litp => {
                self.cmp = [s[0][0] >= 0.0, s[0][3] >= 0.0];
                let limit = 127.996_09;
                [f24::max(s[0][0], 0.0), f24::max(f24::min(s[0][1], limit), -limit), 0.0, f24::max(s[0][3], 0.0)]
            }
            _ => s[0],
        };
        self.write(i, value);
    }

    fn compare(&mut self, i: &Instr) {
        let (a, b) = (self.read(&i.src[0]), self.read(&i.src[1]));
        for k in 0..2 {
            self.cmp[k] = match i.cmp[k] {
                0 => a[k] == b[k],
                1 => a[k] != b[k],
                2 => a[k] < b[k],
                3 => a[k] <= b[k],
                4 => a[k] > b[k],
                5 => a[k] >= b[k],
                _ => true,
            };
        }
    }

    /// Whether the condition of a flow instruction holds.
    fn holds(&self, i: &Instr) -> bool {
        let uniform = self.b[i.uniform as usize & 15];
        match i.op {
            Op::Ifu | Op::Callu => uniform,
            Op::Jmpu => uniform != (i.num & 1 == 1),
            Op::Ifc | Op::Callc | Op::Jmpc | Op::Breakc => i.cond.holds(self.cmp[0], self.cmp[1]),
            _ => true,
        }
    }

    /// Runs a program from `entry` to END.
    pub fn run(&mut self, code: &[Instr], entry: usize) -> Result<(), SimError> {
        self.run_turned(code, entry, |_| false)
    }

    /// As [`Machine::run`], but a condition is turned at the words of which `turns` says so; asked whenever the run comes to one.
    fn run_turned(&mut self, code: &[Instr], entry: usize, mut turns: impl FnMut(usize) -> bool) -> Result<(), SimError> {
        let mut calls: VecDeque<CallEntry> = VecDeque::new();
        let mut ifs: VecDeque<CallEntry> = VecDeque::new();
        let mut loops: VecDeque<LoopEntry> = VecDeque::new();
        let mut pc = entry;
        let mut after_mova = false;
        let mut set_up: Option<(u8, bool, bool)> = None;
        for _ in 0..FUEL {
            let Some(i) = code.get(pc) else { return fault(pc, "execution runs past the last word: END is missing") };
            self.executed += 1;
            let next = pc + 1;
            let (t, num) = (i.target as usize, i.num as usize);
            let mut new_pc = next;
            let mut broke = false;
            let mut holds = self.holds(i);
            if turns(pc) {
                holds = !holds;
                if matches!(i.op, Op::Ifc | Op::Jmpc | Op::Breakc) {
                    // Who asks the flags once more gets the same answer.
                    self.cmp = i.cond.flags(holds);
                }
            }
            if i.op == Op::Mova && after_mova {
                return fault(pc, "two MOVA in a row freeze the chip");
            }
            after_mova = i.op == Op::Mova;
            match i.op {
                Op::Nop => {}
                Op::End if self.geometry => return Ok(()),
                Op::End => return self.check_outputs(pc),
                Op::Mova => {
                    let s = self.read(&i.src[0]);
                    for k in (0..2).filter(|k| i.mask >> k & 1 == 1) {
                        self.a0[k] = f24::truncate(s[k]);
                    }
                }
                Op::Cmp => self.compare(i),
                Op::Ifc | Op::Ifu => {
                    if holds {
                        push(&mut ifs, CallEntry { at: t, go: t + num }, lint::IF_DEPTH);
                    } else {
                        new_pc = t;
                    }
                }
                Op::Call | Op::Callc | Op::Callu => {
                    if holds {
                        if calls.len() == lint::CALL_DEPTH {
                            return fault(pc, "calls nest deeper than the stack holds");
                        }
                        push(&mut calls, CallEntry { at: t + num, go: next }, lint::CALL_DEPTH);
                        new_pc = t;
                    }
                }
                Op::For => {
                    if loops.len() == lint::LOOP_DEPTH {
                        return fault(pc, "loops nest deeper than the stack holds");
                    }
                    let n = self.i[i.uniform as usize & 3];
                    push(&mut loops, LoopEntry { at: t + 1, start: next, count: n[0], inc: n[2], old: self.al }, lint::LOOP_DEPTH);
                    self.al = n[1] as i64;
                }
                Op::Break | Op::Breakc => {
                    if holds {
                        if loops.is_empty() {
                            return fault(pc, "BREAK without a loop hangs the chip");
                        }
                        broke = true;
                    }
                }
                Op::Jmpc | Op::Jmpu if holds => new_pc = t,
                Op::Jmpc | Op::Jmpu => {}
                Op::Setemit => set_up = Some(i.emit),
                Op::Emit => {
                    let Some((slot, prim, inv)) = set_up.take() else { return fault(pc, "EMIT without SETEMIT") };
                    self.check_outputs(pc)?;
                    self.emitted.push((self.o, slot, prim, inv));
                    self.written = [0; 16];
                }
                _ => self.arithmetic(i),
            }
            // Ends of blocks are recognised by walking into them.
            let mut n = next;
            for round in 1..=4 {
                match calls.back().copied() {
                    Some(c) if c.at == n => {
                        calls.pop_back();
                        if round < 4 {
                            new_pc = c.go;
                            n = c.go;
                        }
                    }
                    _ => break,
                }
            }
            if let Some(c) = ifs.back().copied()
                && c.at == next
            {
                new_pc = c.go;
                ifs.pop_back();
            }
            if let Some(l) = loops.back_mut()
                && (l.at == next || broke)
            {
                self.al += l.inc as i64;
                if !broke && l.count != 0 {
                    l.count -= 1;
                    new_pc = l.start;
                } else {
                    new_pc = l.at;
                    let old = l.old;
                    loops.pop_back();
                    if !loops.is_empty() {
                        self.al = old;
                    }
                }
            }
            pc = new_pc;
        }
        Err(SimError::OutOfFuel(FUEL))
    }

    /// Every component with a meaning is written once, else the chip may freeze.
    fn check_outputs(&self, pc: usize) -> Result<(), SimError> {
        if self.twice {
            return fault(pc, "an output component was written twice");
        }
        match (0..16).find(|n| self.configured[*n] & !self.written[*n] != 0) {
            Some(n) => fault(pc, format!("a component of o{n} has a meaning but was not written")),
            None => Ok(()),
        }
    }

    /// Loads a program's constants.
    pub fn load_constants(&mut self, constants: &[Constant]) {
        for c in constants {
            match c {
                Constant::Bool(n, v) => self.b[*n as usize & 15] = *v,
                Constant::Int(n, v) => self.i[*n as usize & 3] = *v,
                Constant::Float(n, v) => {
                    if let Some(r) = self.c.get_mut(*n as usize) {
                        *r = v.map(f24::from_bits24);
                    }
                }
            }
        }
    }
}

fn to_register(scalar: Scalar, signed: bool, w: u32) -> f32 {
    match scalar {
        Scalar::I32 if signed => f24::round(w as i32 as f64),
        Scalar::I32 => f24::round(w as f64),
        Scalar::I1 => (w & 1) as f32,
        _ => f24::round(f32::from_bits(w) as f64),
    }
}

fn from_register(scalar: Scalar, x: f32) -> u32 {
    match scalar {
        Scalar::I32 => x as i32 as u32,
        Scalar::I1 => (x != 0.0) as u32,
        _ => x.to_bits(),
    }
}

/// A compiled shader, read for any number of environments.
pub struct Loaded<'s> {
    shader: &'s CompiledShader,
    code: Vec<Instr>,
    entry: usize,
    abi: Abi,
    start: Machine,
}

impl<'s> Loaded<'s> {
    /// Reads it from its container.
    pub fn new(shader: &'s CompiledShader) -> Result<Loaded<'s>, SimError> {
        let bad = |m: String| SimError::BadEnv(m);
        let bin = Shbin::read(&shader.container).map_err(|e| bad(e.to_string()))?;
        let code = decode_all(&bin).map_err(|e| bad(e.to_string()))?;
        if let Some(f) = lint::program(&code).into_iter().next() {
            return Err(SimError::Fault { at: f.error.offset.unwrap_or(0) as u32, message: f.error.message });
        }
        let exe = bin.executables.first().ok_or_else(|| bad("no entry point".to_string()))?;
        let layout = abi::Layout {
            rows: !shader.stats.detail.contains_key(compile::COLUMNS),
            packed: shader.stats.detail.contains_key(compile::PACKED),
        };
        let abi = abi::assign(&shader.legal, layout).map_err(|e| bad(e.to_string()))?;
        let mut start = Machine { configured: lint::configured(exe), geometry: exe.geometry, ..Machine::default() };
        start.load_constants(&exe.constants);
        Ok(Loaded { shader, code, entry: exe.entry as usize, abi, start })
    }

    /// Runs it on every invocation of an environment.
    pub fn run(&self, env: &ShaderEnv, course: Course) -> Result<ShaderResult, SimError> {
        let Loaded { shader, abi, .. } = self;
        let m = &shader.legal;
        let mut start = self.start.clone();
        load_uniforms(m, abi, env, &mut start)?;
        load_loops(m, shader, env, &mut start);
        if course.turns.is_some() {
            // How often outputs are written is a matter of paths that can be taken.
            start.configured = [0; 16];
        }
        let mut turning = course.turning();
        let mut out = ShaderResult::default();
        for (inv, number) in env.invocations.iter().zip(0..) {
            let mut machine = start.clone();
            load_inputs(m, abi, inv, &mut machine)?;
            machine.run_turned(&self.code, self.entry, |word| turning.turns(number, 4 * word as u32))?;
            let mut result = InvocationResult::default();
            if m.stage == Stage::Geometry {
                result.primitives = primitives(m, abi, &machine);
            } else {
                result.outputs = outputs(m, abi, &machine.o);
            }
            out.invocations.push(result);
        }
        Ok(out)
    }
}

fn load_inputs(m: &Module, abi: &Abi, inv: &InvocationInputs, machine: &mut Machine) -> Result<(), SimError> {
    let bad = |m: String| SimError::BadEnv(m);
    for (k, d) in m.inputs.iter() {
        let words = inv.inputs.get(abi::number(k)).ok_or_else(|| bad(format!("input `{}` is missing", d.name)))?;
        let lanes = d.ty.lanes as usize;
        if words.len() < d.count as usize * lanes {
            return Err(bad(format!("input `{}` has {} words, {} are needed", d.name, words.len(), d.count as usize * lanes)));
        }
        let signed = d.source_type.as_deref() != Some("u32");
        for e in 0..d.count {
            let reg = match abi::input_place(m, abi, k, e) {
                abi::InputPlace::Register(n) => &mut machine.v[n as usize & 15],
                abi::InputPlace::Uniform(n) => &mut machine.c[(n as usize).min(95)],
            };
            for l in 0..lanes {
                reg[l] = to_register(d.ty.scalar, signed, words[e as usize * lanes + l]);
            }
            // The number of vertices stands in all components.
            if d.binding == retroshade_ir::Binding::Builtin(retroshade_ir::Builtin::VertexCount) {
                *reg = [reg[0]; 4];
            }
        }
    }
    Ok(())
}

fn load_uniforms(m: &Module, abi: &Abi, env: &ShaderEnv, machine: &mut Machine) -> Result<(), SimError> {
    for (k, u) in m.uniforms.iter() {
        let n = abi::number(k);
        let words = env.uniforms.get(n).ok_or_else(|| SimError::BadEnv(format!("uniform `{}` is missing", u.name)))?;
        let lanes = u.ty.lanes as usize;
        if words.len() < u.elements() as usize * lanes {
            return Err(SimError::BadEnv(format!("uniform `{}` has too few words", u.name)));
        }
        if let Place::Bool(b) = abi.uniforms[k] {
            machine.b[b as usize & 15] = words[0] != 0;
            continue;
        }
        let signed = u.source_type.as_deref() != Some("u32");
        for e in 0..u.elements() {
            for l in 0..lanes {
                let Some((reg, comp)) = abi::component(u, abi.uniforms[k], e, l as u32) else { continue };
                if let Some(r) = machine.c.get_mut(reg as usize) {
                    r[comp as usize & 3] = to_register(u.ty.scalar, signed, words[e as usize * lanes + l]);
                }
            }
        }
    }
    Ok(())
}

/// Integer registers and their guards, as the interface tells the caller to set them.
fn load_loops(m: &Module, shader: &CompiledShader, env: &ShaderEnv, machine: &mut Machine) {
    let number = |r: &str| r.get(1..).and_then(|n| n.parse::<usize>().ok());
    for (k, u) in m.uniforms.iter() {
        let Some(value) = env.uniforms.get(abi::number(k)).and_then(|w| w.first()) else { continue };
        let loops = shader.reflection.uniforms.iter().filter(|r| r.name == u.name).flat_map(|r| &r.loops);
        for l in loops {
            let less_one = l.add + l.sign * i64::from(*value as i32);
            if let Some(r) = number(&l.register).and_then(|n| machine.i.get_mut(n)) {
                *r = [less_one.clamp(0, 255) as u8, l.first, l.step, 0];
            }
            if let Some(b) = l.guard.as_deref().and_then(number).and_then(|n| machine.b.get_mut(n)) {
                *b = less_one >= 0;
            }
        }
    }
}

fn outputs(m: &Module, abi: &Abi, o: &[[f32; 4]; 16]) -> Vec<Vec<u32>> {
    let lanes = |(k, d): (retroshade_ir::Output, &retroshade_ir::IoDecl)| {
        let reg = &o[abi.outputs[k] as usize & 15];
        (0..d.ty.lanes as usize).map(|l| abi.dead[k][l].unwrap_or_else(|| from_register(d.ty.scalar, reg[l]))).collect()
    };
    m.outputs.iter().map(lanes).collect()
}

/// Triangles back to the strips that the program meant: a strip begins in slot 0 with a vertex that sends nothing.
fn primitives(m: &Module, abi: &Abi, machine: &Machine) -> Vec<Vec<Vec<Vec<u32>>>> {
    let mut strips: Vec<Vec<Vec<Vec<u32>>>> = Vec::new();
    for (o, slot, prim, _) in &machine.emitted {
        if !prim && *slot == 0 || strips.is_empty() {
            strips.push(Vec::new());
        }
        if let Some(s) = strips.last_mut() {
            s.push(outputs(m, abi, o));
        }
    }
    strips
}
