//! The simulator: executes decoded words on wavefronts of 64 lanes.
//!
//! Control flow follows the state machine of the sheet (active, and inactive by branch, by continue and by break) with a
//! stack of entries; ALU groups read everything before they write; PV and PS hold the previous group's results; fetches go
//! through the texture functions that the interpreter uses.

use crate::abi::{Abi, FETCH_RESOURCE, MAX_BUFFERS, Role, STORAGE_RESOURCE, VERTEX_RESOURCE};
use crate::isa::forms::{Effect, Format, Number, Op, Unit, cf, cf_alu, exp_buf, field, tex};
use crate::isa::program::{Clause, Program, fetch_space};
use crate::isa::word::{Alu, DST_SEL, EXPORT_SEL, Group, KCACHE, SRC_SEL, Src, Word, sel};
use crate::legal::numerics::{self, NUMERICS};
use crate::select::VERTEX_OFFSETS;
use cranelift_entity::EntityRef;
use retroshade_ir::texture::{self, TexArgs, TexQuery};
use retroshade_ir::{
    Binding, Builtin, InvocationInputs, InvocationResult, Module, Scalar, ShaderEnv, ShaderResult, Stage, TexDim, TexLod, TexOp, Texture,
};
use retroshade_lower::SimError;
use std::collections::BTreeMap;

const LANES: usize = 64;
const FUEL: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    Branch,
    Continue,
    Break,
}

#[derive(Clone, Debug)]
enum Entry {
    Branch(Vec<State>),
    Loop(Vec<State>),
}

impl Entry {
    fn states(&self) -> &[State] {
        match self {
            Entry::Branch(s) | Entry::Loop(s) => s,
        }
    }
}

#[derive(Clone)]
struct Lane {
    gpr: Vec<[u32; 4]>,
    ar: [i32; 4],
    pv: [u32; 4],
    ps: u32,
    pred: bool,
    killed: bool,
    gradients: [[u32; 4]; 2],
    /// The layer that SET_CUBEMAP_INDEX left.
    layer: u32,
    exports: BTreeMap<(u8, u16), [u32; 4]>,
    /// Geometry: the input ring, the output ring, vertices emitted, the open strip and the finished ones.
    ring: Vec<u32>,
    written: BTreeMap<u64, u32>,
    emitted: u32,
    /// Scratch memory, by element.
    scratch: BTreeMap<u64, [u32; 4]>,
    strip: Vec<Vec<Vec<u32>>>,
    strips: Vec<Vec<Vec<Vec<u32>>>>,
}

impl Lane {
    fn new(gpr: Vec<[u32; 4]>, ring: Vec<u32>) -> Lane {
        Lane {
            gpr,
            ring,
            ar: [0; 4],
            pv: [0; 4],
            ps: 0,
            pred: false,
            killed: false,
            gradients: [[0; 4]; 2],
            layer: 0,
            exports: BTreeMap::new(),
            written: BTreeMap::new(),
            emitted: 0,
            scratch: BTreeMap::new(),
            strip: Vec::new(),
            strips: Vec::new(),
        }
    }
}

/// What ELSE and POP do to lanes that have left a loop, or wait for its next round, while a branch is open: the manual can be read
/// both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Nothing.
    #[default]
    LeaveAlone,
    /// They become what they were when the branch was opened.
    Revive,
}

struct Machine<'a> {
    reading: Reading,
    program: &'a Program,
    module: &'a Module,
    abi: &'a Abi,
    env: &'a ShaderEnv,
    buffers: Vec<Vec<u32>>,
    lanes: Vec<Lane>,
    state: Vec<State>,
    stack: Vec<Entry>,
    fuel: u64,
    /// The fetch shader, and the vertex buffers by attribute: bytes of an element, and elements by index.
    fetch: Option<&'a Program>,
    attributes: &'a [Attribute],
    /// Whether a write to scratch memory is on its way.
    unacknowledged: bool,
    /// Whether the current instruction leaves killed lanes out (VALID_PIXEL_MODE).
    valid_only: bool,
}

/// The contents of the constant buffers, from the uniforms' values.
fn buffers(module: &Module, abi: &Abi, env: &ShaderEnv) -> Vec<Vec<u32>> {
    let mut out: Vec<Vec<u32>> = vec![Vec::new(); MAX_BUFFERS];
    for (k, u) in module.uniforms.values().enumerate() {
        let buf = &mut out[abi.bank(u.group, u.binding) as usize];
        let lanes = u.ty.lanes as usize;
        for e in 0..u.elements() {
            let at = (u.offset + u.element_offset(e)) as usize / 4;
            if buf.len() < at + lanes {
                buf.resize(at + lanes, 0);
            }
            for l in 0..lanes {
                buf[at + l] = env.uniforms.get(k).and_then(|v| v.get(e as usize * lanes + l)).copied().unwrap_or(0);
            }
        }
    }
    out
}

/// A vertex buffer: elements by their index.
type Attribute = BTreeMap<u32, Vec<u32>>;

/// The vertex buffers that give each invocation its inputs; `None` where two invocations with one index differ in them.
fn attributes(module: &Module, abi: &Abi, env: &ShaderEnv) -> Option<Vec<Attribute>> {
    let mut out: Vec<Attribute> = Vec::new();
    for (n, inv) in env.invocations.iter().enumerate() {
        let index = vertex_index(module, inv, n);
        for (k, d) in module.inputs.values().enumerate() {
            let Some(first) = abi.attributes[k] else { continue };
            for (e, words) in inv.inputs.get(k)?.chunks(d.ty.lanes as usize).enumerate() {
                let at = first as usize + e;
                out.resize_with(out.len().max(at + 1), Attribute::new);
                // A truth value is the sign of a float.
                let sign = |w: &u32| if *w != 0 { 1.0f32 } else { -1.0 }.to_bits();
                let words: Vec<u32> = if d.ty.scalar == Scalar::I1 { words.iter().map(sign).collect() } else { words.to_vec() };
                if *out[at].entry(index).or_insert_with(|| words.clone()) != words {
                    return None;
                }
            }
        }
    }
    Some(out)
}

/// What R0.x holds: the vertex index where the program asks for it, else the invocation's number.
fn vertex_index(module: &Module, inv: &InvocationInputs, n: usize) -> u32 {
    let asked = module.inputs.values().position(|d| d.binding == Binding::Builtin(Builtin::VertexIndex));
    asked.and_then(|k| inv.inputs.get(k)?.first().copied()).unwrap_or(n as u32)
}

/// Executes a program on all invocations. A vertex program's inputs come by its fetch shader where there is one.
pub fn run(program: &Program, fetch: Option<&Program>, module: &Module, abi: &Abi, env: &ShaderEnv) -> Result<ShaderResult, SimError> {
    run_in(Reading::LeaveAlone, program, fetch, module, abi, env)
}

/// As [`run`], in one of the readings.
pub fn run_in(
    reading: Reading,
    program: &Program,
    fetch: Option<&Program>,
    module: &Module,
    abi: &Abi,
    env: &ShaderEnv,
) -> Result<ShaderResult, SimError> {
    let attributes = if module.stage == Stage::Vertex { attributes(module, abi, env) } else { None };
    if attributes.is_none() && abi.role == Role::OwnFetches {
        return Err(SimError::BadEnv("two vertices of one index have different attributes".to_string()));
    }
    let fetched = attributes.is_some() && (fetch.is_some() || abi.role == Role::OwnFetches);
    let slots = abi.export_slots(module);
    let mut number = 0;
    let mut out = ShaderResult { storage: env.storage.clone(), ..ShaderResult::default() };
    for chunk in env.invocations.chunks(LANES) {
        let mut m = Machine {
            reading,
            program,
            module,
            abi,
            env,
            buffers: buffers(module, abi, env),
            lanes: Vec::new(),
            state: vec![State::Active; chunk.len()],
            stack: Vec::new(),
            fuel: FUEL,
            unacknowledged: false,
            valid_only: false,
            fetch: fetch.filter(|_| fetched),
            attributes: attributes.as_deref().unwrap_or(&[]),
        };
        for inv in chunk {
            let mut gpr = vec![[0u32; 4]; 256];
            for (k, d) in module.inputs.values().enumerate() {
                if abi.ring_input(k).is_some() || fetched && abi.attributes[k].is_some() {
                    continue;
                }
                let place = abi.inputs[k];
                let lanes = d.ty.lanes as usize;
                let words = inv.inputs.get(k).ok_or_else(|| SimError::BadEnv(format!("input `{}` has no value", d.name)))?;
                for (n, w) in words.iter().enumerate() {
                    // A truth value arrives as the sign of a float.
                    let w = if d.ty.scalar == Scalar::I1 { if *w != 0 { 1.0f32 } else { -1.0 }.to_bits() } else { *w };
                    gpr[place.gpr as usize + n / lanes][(place.chan as usize + n % lanes) & 3] = w;
                }
            }
            if fetched {
                gpr[0][0] = vertex_index(module, inv, number);
            }
            number += 1;
            if module.stage == Stage::Geometry {
                for (v, (r, c)) in VERTEX_OFFSETS.iter().enumerate() {
                    gpr[*r as usize][*c as usize] = v as u32 * abi.ring_input_size() * 4;
                }
            }
            m.lanes.push(Lane::new(gpr, ring_of(module, abi, &inv.inputs)));
        }
        m.execute()?;
        for lane in m.lanes {
            let mut r = InvocationResult { discarded: lane.killed, ..InvocationResult::default() };
            if module.stage == Stage::Geometry {
                r.primitives = lane.strips;
                r.primitives.extend(Some(lane.strip).filter(|s| !s.is_empty()));
                out.invocations.push(r);
                continue;
            }
            for (k, d) in module.outputs.values().enumerate() {
                let mut words = Vec::new();
                for e in 0..d.count {
                    let (kind, base, chan) = abi.output(module, k, e);
                    let v = match abi.role {
                        Role::ExportStage => {
                            let slot = slots.iter().position(|s| *s == (kind, base)).map(|s| s as u64 * 4);
                            std::array::from_fn(|c| slot.and_then(|s| lane.written.get(&(s + c as u64)).copied()).unwrap_or(0))
                        }
                        _ => lane.exports.get(&(kind, base)).copied().unwrap_or([0; 4]),
                    };
                    for l in 0..d.ty.lanes as usize {
                        words.push(if lane.killed { 0 } else { v[(chan as usize + l) & 3] });
                    }
                }
                r.outputs.push(words);
            }
            out.invocations.push(r);
        }
    }
    Ok(out)
}

/// What a copy program exports of vertices in the output ring, each given as its outputs by declaration.
pub fn copied(program: &Program, module: &Module, abi: &Abi, vertices: &[Vec<Vec<u32>>]) -> Result<Vec<Vec<Vec<u32>>>, SimError> {
    let env = ShaderEnv::default();
    let slots = abi.ring_slots(module);
    let mut out = Vec::new();
    for chunk in vertices.chunks(LANES) {
        let lanes = chunk.iter().enumerate().map(|(n, vertex)| {
            // Vertices of the ring lie one after the other; the upper bits of the offset name a stream.
            let mut ring = vec![0xdead_beef; slots.len() * 4 * (n + 1)];
            for (k, d) in module.outputs.values().enumerate() {
                for (e, words) in vertex.get(k).into_iter().flat_map(|w| w.chunks(d.ty.lanes as usize)).enumerate() {
                    let (kind, base, chan) = abi.output(module, k, e as u32);
                    let slot = slots.iter().position(|s| *s == (kind, base)).unwrap_or(0);
                    for (l, w) in words.iter().enumerate() {
                        ring[(n * slots.len() + slot) * 4 + ((chan as usize + l) & 3)] = *w;
                    }
                }
            }
            let mut gpr = vec![[0u32; 4]; 256];
            gpr[0][0] = (n * slots.len() * 4) as u32 | 0x4000_0000;
            Lane::new(gpr, ring)
        });
        let mut m = Machine {
            reading: Reading::LeaveAlone,
            program,
            module,
            abi,
            env: &env,
            buffers: Vec::new(),
            lanes: lanes.collect(),
            state: vec![State::Active; chunk.len()],
            stack: Vec::new(),
            fuel: FUEL,
            fetch: None,
            attributes: &[],
            unacknowledged: false,
            valid_only: false,
        };
        m.execute()?;
        for lane in m.lanes {
            let value = |k: usize, e: u32, l: u8| {
                let (kind, base, chan) = abi.output(module, k, e);
                lane.exports.get(&(kind, base)).map_or(0, |v| v[(chan + l) as usize & 3])
            };
            let outputs = module.outputs.values().enumerate();
            out.push(
                outputs
                    .map(|(k, d)| (0..d.count).flat_map(|e| (0..d.ty.lanes).map(move |l| (e, l))).map(|(e, l)| value(k, e, l)).collect())
                    .collect(),
            );
        }
    }
    Ok(out)
}

/// The input ring as the vertex stage left it: vertex after vertex, 16 bytes for each input.
fn ring_of(module: &Module, abi: &Abi, inputs: &[Vec<u32>]) -> Vec<u32> {
    let size = abi.ring_input_size() as usize * 4;
    let mut ring = vec![0; size * VERTEX_OFFSETS.len()];
    for (k, d) in module.inputs.values().enumerate() {
        let (Some(slot), lanes) = (abi.ring_input(k), d.ty.lanes as usize) else { continue };
        for (n, w) in inputs.get(k).into_iter().flatten().enumerate() {
            if let Some(x) = ring.get_mut(n / lanes * size + slot as usize * 4 + n % lanes) {
                *x = *w;
            }
        }
    }
    ring
}

impl Machine<'_> {
    fn fault(&self, at: u32, message: impl Into<String>) -> SimError {
        SimError::Fault { at: at * 8, message: message.into() }
    }

    fn active(&self, lane: usize) -> bool {
        self.state[lane] == State::Active && !(self.valid_only && self.lanes[lane].killed)
    }

    fn any_active(&self) -> bool {
        self.state.contains(&State::Active)
    }

    fn pop(&mut self, n: u64, at: u32) -> Result<(), SimError> {
        for _ in 0..n {
            let e = self.stack.pop().ok_or_else(|| self.fault(at, "the stack is empty"))?;
            for (s, old) in self.state.iter_mut().zip(e.states()) {
                if self.reading == Reading::Revive || !matches!(s, State::Break | State::Continue) {
                    *s = *old;
                }
            }
        }
        Ok(())
    }

    fn loop_entry(&self, at: u32) -> Result<usize, SimError> {
        self.stack.iter().rposition(|e| matches!(e, Entry::Loop(_))).ok_or_else(|| self.fault(at, "no loop is open"))
    }

    /// Instructions without BARRIER need not find the results of those before them, nor these their registers as they were: so
    /// a run of them is executed backwards. Where a barrier is missing, that shows.
    fn execute(&mut self) -> Result<(), SimError> {
        let program = self.program;
        let overlaps = |w: &Word| w.form() == cf_alu::ALU || w.info().format == Format::ExpSwiz || fetch_space(w).is_some();
        let mut pc = 0u32;
        loop {
            let Some(list) = program.cf.get(pc as usize..).filter(|l| !l.is_empty()) else {
                return Err(self.fault(pc, "ran past the control-flow list"));
            };
            let more = list[1..].iter().take_while(|w| w.get(field!(BARRIER)) == 0 && overlaps(w)).count();
            let run = if overlaps(&list[0]) { more as u32 + 1 } else { 1 };
            let mut next = pc;
            for at in (pc..pc + run).rev() {
                next = self.step(at)?;
            }
            if list[..run as usize].iter().any(|w| w.get(field!(END_OF_PROGRAM)) == 1) {
                return Ok(());
            }
            pc = if run > 1 { pc + run } else { next };
        }
    }

    /// Executes one control-flow instruction; gives the address of the one to go on with.
    fn step(&mut self, at: u32) -> Result<u32, SimError> {
        let w = &self.program.cf[at as usize];
        self.fuel = self.fuel.checked_sub(1).ok_or(SimError::OutOfFuel(FUEL))?;
        let addr = w.get(field!(ADDR)) as u32;
        let mut pc = at + 1;
        match w.info().format {
            Format::CfAlu => {
                let push = w.form() == cf_alu::ALU_PUSH_BEFORE;
                if push {
                    self.stack.push(Entry::Branch(self.state.clone()));
                }
                let before = self.state.clone();
                if self.any_active() {
                    self.alu_clause(w, addr)?;
                }
                let leave = match w.form() {
                    cf_alu::ALU_BREAK => Some(State::Break),
                    cf_alu::ALU_CONTINUE => Some(State::Continue),
                    _ => None,
                };
                if let Some(to) = leave {
                    for (s, b) in self.state.iter_mut().zip(&before) {
                        if *b == State::Active && *s == State::Branch {
                            *s = to;
                        }
                    }
                }
                match w.form() {
                    cf_alu::ALU_POP_AFTER => self.pop(1, at)?,
                    cf_alu::ALU_POP2_AFTER => self.pop(2, at)?,
                    cf_alu::ALU_ELSE_AFTER => return Err(self.fault(at, "ALU_ELSE_AFTER is not modelled")),
                    _ => {}
                }
            }
            Format::ExpSwiz => self.export(w),
            Format::ExpBuf if w.form() == exp_buf::MEM_RING => self.ring_write(w),
            Format::ExpBuf if w.form() == exp_buf::MEM_SCRATCH => self.scratch_write(w),
            Format::ExpBuf => return Err(self.fault(at, format!("{} is not modelled", w.name()))),
            _ => match w.form() {
                cf::NOP => {}
                cf::CALL_FS => self.call_fetch()?,
                cf::WAIT_ACK => self.unacknowledged = false,
                cf::TEX | cf::VTX | cf::VTX_TC => {
                    if self.any_active() {
                        self.valid_only = w.get(field!(VALID_PIXEL_MODE)) == 1;
                        self.fetch_clause(self.program, addr)?;
                        self.valid_only = false;
                    }
                }
                cf::EMIT_VERTEX => self.emit_vertex(),
                cf::CUT_VERTEX => {
                    for lane in 0..self.lanes.len() {
                        let l = &mut self.lanes[lane];
                        if self.state[lane] == State::Active && !l.strip.is_empty() {
                            let strip = std::mem::take(&mut l.strip);
                            l.strips.push(strip);
                        }
                    }
                }
                cf::PUSH => {
                    if self.any_active() {
                        self.stack.push(Entry::Branch(self.state.clone()));
                    } else {
                        self.pop(w.get(field!(POP_COUNT)), at)?;
                        pc = addr;
                    }
                }
                cf::JUMP => {
                    if !self.any_active() {
                        self.pop(w.get(field!(POP_COUNT)), at)?;
                        pc = addr;
                    }
                }
                cf::ELSE => {
                    let top = self.stack.last().ok_or_else(|| self.fault(at, "the stack is empty"))?.clone();
                    for (s, e) in self.state.iter_mut().zip(top.states()) {
                        if *e == State::Active {
                            *s = match *s {
                                State::Active => State::Branch,
                                State::Branch => State::Active,
                                _ if self.reading == Reading::Revive => State::Active,
                                other => other,
                            };
                        }
                    }
                    if !self.any_active() {
                        self.pop(w.get(field!(POP_COUNT)), at)?;
                        pc = addr;
                    }
                }
                cf::POP => self.pop(w.get(field!(POP_COUNT)), at)?,
                cf::LOOP_START_DX10 => {
                    if self.any_active() {
                        self.stack.push(Entry::Loop(self.state.clone()));
                    } else {
                        self.pop(w.get(field!(POP_COUNT)), at)?;
                        pc = addr;
                    }
                }
                cf::LOOP_BREAK | cf::LOOP_CONTINUE => {
                    let to = if w.form() == cf::LOOP_BREAK { State::Break } else { State::Continue };
                    self.state.iter_mut().filter(|s| **s == State::Active).for_each(|s| *s = to);
                    // The jump is taken only when no lane of the loop is left that could still run.
                    let k = self.loop_entry(at)?;
                    let done = self.stack[k]
                        .states()
                        .iter()
                        .zip(&self.state)
                        .all(|(e, s)| *e != State::Active || matches!(s, State::Break | State::Continue));
                    if done {
                        self.stack.truncate(k + 1);
                        pc = addr;
                    }
                }
                cf::LOOP_END => {
                    let k = self.loop_entry(at)?;
                    if k + 1 != self.stack.len() {
                        return Err(self.fault(at, "a branch is still open at the end of a loop"));
                    }
                    let entry = self.stack[k].clone();
                    for (s, e) in self.state.iter_mut().zip(entry.states()) {
                        if *s == State::Continue && *e == State::Active {
                            *s = State::Active;
                        }
                    }
                    if self.any_active() {
                        pc = addr;
                    } else {
                        self.state.copy_from_slice(entry.states());
                        self.stack.pop();
                    }
                }
                _ => return Err(self.fault(at, format!("{} is not modelled", w.name()))),
            },
        }
        Ok(pc)
    }

    fn scratch_write(&mut self, w: &Word) {
        for lane in 0..self.lanes.len() {
            if !self.active(lane) {
                continue;
            }
            self.unacknowledged = true;
            let l = &mut self.lanes[lane];
            let index = if w.get(field!(TYPE)) & 1 == 1 { l.gpr[w.get(field!(INDEX_GPR)) as usize & 127][0] as u64 } else { 0 };
            for k in 0..=w.get(field!(BURST_COUNT)) {
                let value = l.gpr[(w.get(field!(RW_GPR)) + k) as usize & 127];
                let element = l.scratch.entry(w.get(field!(ARRAY_BASE)) + index + k).or_insert([0xdead_beef; 4]);
                for c in 0..4 {
                    if w.get(field!(COMP_MASK)) >> c & 1 == 1 {
                        element[c] = value[c];
                    }
                }
            }
        }
    }

    fn scratch_read(&mut self, at: u32, w: &Word, results: &mut [Option<[u32; 4]>]) -> Result<(), SimError> {
        if w.get(field!(MEM_OP)) != 0
            || w.get(field!(ELEM_SIZE)) != 3
            || w.get(field!(DATA_FORMAT)) != 34
            || w.get(field!(BURST_COUNT)) != 0
        {
            return Err(self.fault(at, "this memory read is not modelled"));
        }
        if self.unacknowledged {
            return Err(self.fault(at, "scratch memory is read before its writes are acknowledged"));
        }
        for lane in 0..self.lanes.len() {
            if self.active(lane) {
                let l = &self.lanes[lane];
                let index = if w.get(field!(INDEXED)) == 1 {
                    l.gpr[w.get(field!(SRC_GPR)) as usize & 127][w.get(field!(SRC_SEL_X)) as usize & 3]
                } else {
                    0
                };
                let element = w.get(field!(ARRAY_BASE)) + index as u64;
                results[lane] = Some(l.scratch.get(&element).copied().unwrap_or([0xdead_beef; 4]));
            }
        }
        Ok(())
    }

    fn ring_write(&mut self, w: &Word) {
        for lane in 0..self.lanes.len() {
            if !self.active(lane) {
                continue;
            }
            let l = &mut self.lanes[lane];
            let index = if w.get(field!(TYPE)) & 1 == 1 { l.gpr[w.get(field!(INDEX_GPR)) as usize & 127][0] as u64 * 4 } else { 0 };
            for c in 0..4u64 {
                if w.get(field!(COMP_MASK)) >> c & 1 == 1 {
                    l.written.insert(w.get(field!(ARRAY_BASE)) + index + c, l.gpr[w.get(field!(RW_GPR)) as usize & 127][c as usize]);
                }
            }
        }
    }

    /// The next vertex of the output ring joins the open strip, as the copy program would export it.
    fn emit_vertex(&mut self) {
        let slots = self.abi.ring_slots(self.module);
        let most = self.module.geometry.map_or(0, |g| g.max_vertices);
        for lane in 0..self.lanes.len() {
            if !self.active(lane) || self.lanes[lane].emitted >= most {
                continue;
            }
            let l = &mut self.lanes[lane];
            let start = l.emitted as u64 * slots.len() as u64 * 4;
            l.emitted += 1;
            let mut vertex = Vec::new();
            for (k, d) in self.module.outputs.values().enumerate() {
                let mut words = Vec::new();
                for e in 0..d.count {
                    let (kind, base, chan) = self.abi.output(self.module, k, e);
                    let slot = slots.iter().position(|s| *s == (kind, base)).unwrap_or(0) as u64;
                    let at = |c: u64| start + slot * 4 + ((chan as u64 + c) & 3);
                    words.extend((0..d.ty.lanes as u64).map(|c| l.written.get(&at(c)).copied().unwrap_or(0)));
                }
                vertex.push(words);
            }
            l.strip.push(vertex);
        }
    }

    fn export(&mut self, w: &Word) {
        for k in 0..=w.get(field!(BURST_COUNT)) {
            for lane in 0..self.lanes.len() {
                if !self.active(lane) {
                    continue;
                }
                let l = &mut self.lanes[lane];
                let r = l.gpr[(w.get(field!(RW_GPR)) + k) as usize & 127];
                let slot = l.exports.entry((w.get(field!(TYPE)) as u8, (w.get(field!(ARRAY_BASE)) + k) as u16)).or_insert([0; 4]);
                for (c, name) in EXPORT_SEL.into_iter().enumerate() {
                    match w.get(name) {
                        s @ 0..=3 => slot[c] = r[s as usize],
                        4 => slot[c] = 0,
                        5 => slot[c] = 1.0f32.to_bits(),
                        _ => {}
                    }
                }
            }
        }
    }

    // ---- ALU ----

    fn alu_clause(&mut self, w: &Word, addr: u32) -> Result<(), SimError> {
        let program = self.program;
        // Clause temporaries hold nothing when a clause begins.
        for lane in &mut self.lanes {
            lane.gpr[sel::CLAUSE_TEMP as usize..128].fill([0xdead_beef; 4]);
        }
        let Some(Clause::Alu(groups)) = program.clauses.get(&addr) else { return Err(self.fault(addr, "no ALU clause here")) };
        let set = |n: usize| {
            let [bank, mode, line] = KCACHE[n].map(|f| w.get(f));
            (bank as usize, mode, line as usize)
        };
        let sets = [set(0), set(1)];
        for (at, g) in groups {
            self.group(*at, g, &sets)?;
            self.fuel = self.fuel.checked_sub(1).ok_or(SimError::OutOfFuel(FUEL))?;
        }
        Ok(())
    }

    fn source(&self, lane: usize, at: u32, s: &Src, mode: u8, g: &Group, sets: &[(usize, u64, usize); 2]) -> Result<u32, SimError> {
        let l = &self.lanes[lane];
        let c = s.chan as usize & 3;
        let raw = match s.sel {
            0..=127 => {
                let base = s.sel as i32 + if s.rel { l.ar[mode as usize & 3] } else { 0 };
                if (0..128).contains(&base) { l.gpr[base as usize][c] } else { 0 }
            }
            128..=191 => {
                let set = (s.sel >= sel::KCACHE1) as usize;
                let (bank, kmode, line) = sets[set];
                let n = (s.sel - [sel::KCACHE0, sel::KCACHE1][set]) as usize;
                if kmode == 0 || n >= kmode as usize * 16 {
                    return Err(self.fault(at, format!("constant {n} of set {set} is not locked")));
                }
                self.buffers.get(bank).and_then(|b| b.get((line * 16 + n) * 4 + c)).copied().unwrap_or(0)
            }
            sel::ZERO => 0,
            sel::ONE => 1.0f32.to_bits(),
            sel::ONE_INT => 1,
            sel::M_ONE_INT => u32::MAX,
            sel::HALF => 0.5f32.to_bits(),
            sel::LITERAL => g.literals.get(c).copied().ok_or_else(|| self.fault(at, "no such literal"))?,
            sel::PV => l.pv[c],
            sel::PS => l.ps,
            other => return Err(self.fault(at, format!("source select {other} is not modelled"))),
        };
        let raw = if s.abs { raw & 0x7fff_ffff } else { raw };
        Ok(if s.neg { raw ^ 0x8000_0000 } else { raw })
    }

    fn group(&mut self, at: u32, g: &Group, sets: &[(usize, u64, usize); 2]) -> Result<(), SimError> {
        let units = g.units().ok_or_else(|| self.fault(at, "two operations need one unit"))?;
        for lane in 0..self.lanes.len() {
            if !self.active(lane) {
                continue;
            }
            let mut operands = Vec::with_capacity(5);
            for s in &g.slots {
                let mut v = [0u32; 3];
                for (k, x) in s.sources().iter().enumerate() {
                    v[k] = self.source(lane, at, x, s.index_mode, g, sets)?;
                }
                operands.push(v);
            }
            let mut results: Vec<(usize, u32)> = Vec::with_capacity(5);
            let mut reduced: Option<[u32; 4]> = None;
            if let Some(first) = g.slots.iter().find(|s| s.alu().unit == Unit::Reduce) {
                let (mut a, mut b) = ([0u32; 4], [0u32; 4]);
                for (k, s) in g.slots.iter().enumerate().filter(|(_, s)| s.alu().unit == Unit::Reduce) {
                    a[s.chan as usize & 3] = operands[k][0];
                    b[s.chan as usize & 3] = operands[k][1];
                }
                reduced = Some(match first.alu().op {
                    Op::DOT4 => [numerics::dot4(&a, &b, numerics::mul_dx9); 4],
                    Op::DOT4_IEEE => [numerics::dot4(&a, &b, numerics::mul_ieee); 4],
                    Op::CUBE => numerics::cube([a[2], b[0], a[0]]),
                    _ => return Err(self.fault(at, format!("{} is not modelled", first.info().short))),
                });
            }
            let l = &mut self.lanes[lane];
            let pred = l.pred;
            for (k, s) in g.slots.iter().enumerate() {
                let run = match s.pred_sel {
                    2 => !pred,
                    3 => pred,
                    _ => true,
                };
                let info = s.alu();
                let value = if let (Some(r), Unit::Reduce) = (reduced, info.unit) {
                    numerics::output(r[s.chan as usize & 3], s.omod, s.clamp)
                } else {
                    let Some(o) = numerics::alu(info.op, operands[k]) else {
                        return Err(SimError::Fault { at: at * 8, message: format!("{} is not modelled", s.info().short) });
                    };
                    match (info.effect, o.test) {
                        (Effect::Index, _) if run => l.ar[s.chan as usize & 3] = o.value as i32,
                        (Effect::Kill, Some(t)) if run => l.killed |= t,
                        (Effect::Predicate, Some(t)) if run => {
                            if s.update_pred {
                                l.pred = t;
                            }
                            if s.update_exec && !t {
                                self.state[lane] = State::Branch;
                            }
                        }
                        _ => {}
                    }
                    if info.result == Number::Float { numerics::output(o.value, s.omod, s.clamp) } else { o.value }
                };
                results.push((k, value));
            }
            let l = &mut self.lanes[lane];
            for (k, value) in results {
                let s: &Alu = &g.slots[k];
                let run = match s.pred_sel {
                    2 => !pred,
                    3 => pred,
                    _ => true,
                };
                if units[k] == 4 {
                    l.ps = value;
                } else if reduced.is_some() && s.alu().unit == Unit::Reduce && s.alu().op != Op::CUBE {
                    l.pv = [value, 0xffff_dead, 0xffff_dead, 0xffff_dead];
                } else {
                    l.pv[units[k] as usize] = value;
                }
                if s.writes() && run {
                    let base = s.dst as i32 + if s.dst_rel { l.ar[s.index_mode as usize & 3] } else { 0 };
                    if (0..128).contains(&base) {
                        l.gpr[base as usize][s.chan as usize & 3] = value;
                    }
                }
            }
        }
        Ok(())
    }

    // ---- fetches ----

    /// Runs the fetch shader.
    fn call_fetch(&mut self) -> Result<(), SimError> {
        let Some(program) = self.fetch else { return Ok(()) };
        for (at, w) in program.cf.iter().enumerate() {
            match w.form() {
                cf::VTX | cf::VTX_TC => self.fetch_clause(program, w.get(field!(ADDR)) as u32)?,
                cf::RETURN => return Ok(()),
                _ => return Err(self.fault(at as u32, format!("{} in a fetch shader is not modelled", w.name()))),
            }
        }
        Ok(())
    }

    fn fetch_clause(&mut self, program: &Program, addr: u32) -> Result<(), SimError> {
        let own_window = !std::ptr::eq(program, self.program);
        let Some(Clause::Fetch(list)) = program.clauses.get(&addr) else { return Err(self.fault(addr, "no fetch clause here")) };
        for (at, w) in list {
            let (src, dst) = (w.get(field!(SRC_GPR)) as usize & 127, w.get(field!(DST_GPR)) as usize & 127);
            let mut results: Vec<Option<[u32; 4]>> = vec![None; self.lanes.len()];
            match w.info().format {
                Format::Tex => self.texture(*at, w, src, &mut results)?,
                Format::VtxGpr => {
                    for lane in 0..self.lanes.len() {
                        if self.active(lane) {
                            results[lane] = Some(self.buffer(
                                *at,
                                w,
                                lane,
                                own_window,
                                self.lanes[lane].gpr[src][w.get(field!(SRC_SEL_X)) as usize & 3],
                            )?);
                        }
                    }
                }
                Format::MemRd => self.scratch_read(*at, w, &mut results)?,
                _ => return Err(self.fault(*at, "semantic fetches are not modelled")),
            }
            for (lane, r) in results.into_iter().enumerate() {
                let Some(r) = r else { continue };
                let old = &mut self.lanes[lane].gpr[dst];
                for (c, name) in DST_SEL.into_iter().enumerate() {
                    match w.get(name) {
                        s @ 0..=3 => old[c] = r[s as usize],
                        4 => old[c] = 0,
                        5 => old[c] = 1.0f32.to_bits(),
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn buffer(&self, at: u32, w: &Word, lane: usize, own_window: bool, index: u32) -> Result<[u32; 4], SimError> {
        let id = w.get(field!(BUFFER_ID));
        let n = match w.get(field!(DATA_FORMAT)) {
            13 | 14 => 1,
            29 | 30 => 2,
            47 | 48 => 3,
            34 | 35 => 4,
            _ => return Err(self.fault(at, "this data format is not modelled")),
        };
        let first = if own_window { FETCH_RESOURCE } else { VERTEX_RESOURCE };
        if own_window || self.abi.role == Role::OwnFetches && id >= VERTEX_RESOURCE {
            let Some(buffer) = id.checked_sub(first).and_then(|k| self.attributes.get(k as usize)) else {
                return Err(self.fault(at, "no such vertex buffer"));
            };
            let element = buffer.get(&index).map_or(&[][..], |e| e);
            return Ok(std::array::from_fn(|c| if c < n { element.get(c).copied().unwrap_or(0) } else { 0 }));
        }
        let buffers = self.abi.buffer_resource();
        let (words, stride): (&[u32], u64) = if id == self.abi.ring_resource() && self.module.stage == Stage::Geometry {
            (&self.lanes[lane].ring, 4)
        } else if (buffers..buffers + MAX_BUFFERS as u64).contains(&id) {
            (self.buffers.get((id - buffers) as usize).map_or(&[], |v| v), 16)
        } else if id >= STORAGE_RESOURCE {
            (self.env.storage.get((id - STORAGE_RESOURCE) as usize).map_or(&[], |v| v), 4)
        } else {
            return Err(self.fault(at, "no such buffer resource"));
        };
        let start = (index as u64 * stride + w.get(field!(OFFSET))) / 4;
        Ok(std::array::from_fn(|c| if c < n { words.get((start as usize).saturating_add(c)).copied().unwrap_or(0) } else { 0 }))
    }

    fn coordinates(&self, lane: usize, w: &Word, src: usize) -> [u32; 4] {
        SRC_SEL.map(|f| match w.get(f) {
            s @ 0..=3 => self.lanes[lane].gpr[src][s as usize],
            5 => 1.0f32.to_bits(),
            _ => 0,
        })
    }

    fn texture(&mut self, at: u32, w: &Word, src: usize, results: &mut [Option<[u32; 4]>]) -> Result<(), SimError> {
        let active: Vec<usize> = (0..self.lanes.len()).filter(|l| self.active(*l)).collect();
        // A quad's lane that does not run counts as having the reader's own values.
        let neighbour = |me: &Self, lane: usize, k: usize| {
            let n = lane & !3 | k;
            if n < me.lanes.len() && me.active(n) { n } else { lane }
        };
        match w.form() {
            form @ (tex::SET_GRADIENTS_H | tex::SET_GRADIENTS_V) => {
                for lane in active {
                    let c = self.coordinates(lane, w, src);
                    self.lanes[lane].gradients[(form == tex::SET_GRADIENTS_V) as usize] = c;
                }
                return Ok(());
            }
            tex::SET_CUBEMAP_INDEX => {
                for lane in active {
                    let c = self.coordinates(lane, w, src);
                    self.lanes[lane].layer = f32::from_bits(c[0]) as i32 as u32;
                }
                return Ok(());
            }
            form @ (tex::GET_GRADIENTS_H | tex::GET_GRADIENTS_V) => {
                let vertical = form == tex::GET_GRADIENTS_V;
                for lane in active {
                    let quad: [[u32; 4]; 4] = std::array::from_fn(|k| self.coordinates(neighbour(self, lane, k), w, src));
                    results[lane] = Some(std::array::from_fn(|c| {
                        texture::derivative(&NUMERICS, Scalar::F32, [quad[0][c], quad[1][c], quad[2][c], quad[3][c]], lane & 3, vertical)
                    }));
                }
                return Ok(());
            }
            _ => {}
        }
        let unit = w.get(field!(RESOURCE_ID)) as usize;
        if unit >= self.module.textures.len() || unit >= self.env.textures.len() {
            return Err(self.fault(at, "no such texture resource"));
        }
        let decl = &self.module.textures[Texture::new(unit)];
        let tex = &self.env.textures[unit];
        let dims = match decl.dim {
            TexDim::D1 => 1,
            TexDim::D2 => 2,
            _ => 3,
        };
        let (op, lod, compare) = match w.form() {
            tex::LD => (TexOp::Fetch, TexLod::Level, false),
            tex::GET_TEXTURE_RESINFO => (TexOp::Size, TexLod::Level, false),
            tex::FETCH4 => (TexOp::Gather, TexLod::Implicit, false),
            tex::SAMPLE => (TexOp::Sample, TexLod::Implicit, false),
            tex::SAMPLE_L => (TexOp::Sample, TexLod::Level, false),
            tex::SAMPLE_LB => (TexOp::Sample, TexLod::Bias, false),
            tex::SAMPLE_LZ => (TexOp::Sample, TexLod::Zero, false),
            tex::SAMPLE_G => (TexOp::Sample, TexLod::Grad, false),
            tex::SAMPLE_C => (TexOp::Sample, TexLod::Implicit, true),
            tex::SAMPLE_C_L => (TexOp::Sample, TexLod::Level, true),
            tex::SAMPLE_C_LB => (TexOp::Sample, TexLod::Bias, true),
            tex::SAMPLE_C_LZ => (TexOp::Sample, TexLod::Zero, true),
            tex::SAMPLE_C_G => (TexOp::Sample, TexLod::Grad, true),
            _ => return Err(self.fault(at, format!("{} is not modelled", w.name()))),
        };
        let offset = [field!(OFFSET_X), field!(OFFSET_Y), field!(OFFSET_Z)].map(|f| ((w.get(f) as i8) << 3) >> 4);
        let query = TexQuery { op, lod, compare, integer: decl.kind == Scalar::I32, offset, component: 0 };
        let args: Vec<TexArgs> = (0..self.lanes.len())
            .map(|lane| {
                let c = self.coordinates(lane, w, src);
                let mut a = TexArgs { grad: self.lanes[lane].gradients.map(|g| [g[0], g[1], g[2]]), ..TexArgs::default() };
                a.coord[..dims].copy_from_slice(&c[..dims]);
                if decl.dim == TexDim::Cube {
                    a.coord = numerics::cube_direction([c[0], c[1], c[2]]);
                }
                if decl.arrayed && decl.dim == TexDim::Cube {
                    a.layer = self.lanes[lane].layer;
                } else if decl.arrayed && dims < 4 {
                    a.layer = if op == TexOp::Fetch { c[dims] } else { f32::from_bits(c[dims.min(3)]) as i32 as u32 };
                }
                a.lod = if op == TexOp::Size { c[0] } else { c[3] };
                if compare {
                    let moved = matches!(lod, TexLod::Level | TexLod::Bias);
                    a.reference = if moved { c[2] } else { c[3] };
                }
                a
            })
            .collect();
        for lane in active {
            let implicit = if matches!(lod, TexLod::Implicit | TexLod::Bias) && self.module.stage == Stage::Fragment && op == TexOp::Sample
            {
                let coords = std::array::from_fn(|k| args[neighbour(self, lane, k)].coord);
                texture::quad_lod(tex, &coords)
            } else {
                0.0
            };
            let mut r = texture::sample_lane(tex, &query, &args[lane], implicit);
            if op == TexOp::Size {
                if decl.arrayed {
                    let last = match decl.dim {
                        TexDim::D1 => 1,
                        TexDim::D3 => 3,
                        _ => 2,
                    };
                    r[2] = r[last];
                }
                r[3] = tex.levels;
            }
            results[lane] = Some(r);
        }
        Ok(())
    }
}
