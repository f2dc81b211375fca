//! The simulator: executes decoded words of a primary and a secondary program for quads of instances.
//!
//! Facts: the ISA sheet's sections 5 to 17; arithmetic comes from `num.rs`. Words are translated once into micro-operations
//! (repeats unrolled), then each instance runs on its own until it needs its quad (derivatives, implicit levels of detail).
//! In strict mode the lifetime rule of internal registers (section 17.4) is enforced: a lane that was lost cannot be read.

pub mod load;

use crate::isa::forms::{EMIT, PHAS, TABLE, VDUAL, VMOV, decode, field};
use crate::isa::operands::Src;
use crate::isa::operation::{Advance, Flow, Kind, Micro, Sample, translate};
use crate::isa::registers::{Bank, Reg};
use crate::legal::numerics::{UsseNumerics, pack_int, pack_norm};
use retroshade_emit::FieldName;
use retroshade_ir::numerics::{from_f32, to_f32};
use retroshade_ir::texture::{self, TexArgs, TexQuery};
use retroshade_ir::{FloatCC, Numerics, Opcode, Scalar, TexLod, TextureData};
use retroshade_lower::{SimError, Turning};

/// The arithmetic in force.
static NUM: UsseNumerics = UsseNumerics;
/// Instructions that one instance may execute.
const FUEL: u64 = 4_000_000;
/// Registers per bank.
const SIZE: usize = 256;

/// A program ready to run.
#[derive(Debug, Default)]
pub struct Code {
    /// Micro-operations of each word.
    words: Vec<Vec<Micro>>,
    /// Per word: whether it carries `nosched` (or acts as if), whether it ends.
    flags: Vec<(bool, bool)>,
    /// The byte of the shader's code at which it begins.
    pub first: u32,
}

impl Code {
    /// Decodes words; `secondary` reads `pa` as `sa`.
    pub fn new(words: &[u64], secondary: bool) -> Result<Code, SimError> {
        let mut code = Code::default();
        let mut state = Advance::START;
        for (n, w) in words.iter().enumerate() {
            let fault = |message: String| SimError::Fault { at: n as u32 * 8, message };
            let d = decode(*w).ok_or_else(|| fault(format!("{w:016x} is no instruction")))?;
            let name = d.form;
            let ops = translate(&d, name, secondary, &mut state).map_err(fault)?;
            let f = |x: FieldName| TABLE.get(&d, x).unwrap_or(0) == 1;
            code.words.push(ops);
            let end = (name != PHAS && f(field!(end)))
                || (name == VMOV && f(field!(end_or_src0_bank_ext)) && TABLE.get(&d, field!(move_type)) == Some(0));
            code.flags.push((name == VDUAL || f(field!(nosched)), end || name == EMIT));
        }
        Ok(code)
    }
    /// Whether something in it needs the other instances of its quad.
    pub fn reads_neighbours(&self) -> bool {
        self.words.iter().flatten().any(Micro::needs_quad)
    }
}

/// Registers of one instance.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Temporaries.
    pub r: Vec<u32>,
    /// Primary attributes.
    pub pa: Vec<u32>,
    /// Outputs.
    pub o: Vec<u32>,
    /// Which of the draw's it is.
    pub number: u32,
    i: [[u32; 4]; 4],
    valid: [u8; 4],
    p: [bool; 4],
    idx: [u32; 3],
    pc: usize,
    step: usize,
    /// Whether the pixel was dropped.
    pub killed: bool,
    /// Replaced depth.
    pub depth: Option<u32>,
    done: bool,
    fuel: u64,
}

impl Default for Instance {
    fn default() -> Instance {
        Instance {
            r: vec![0; SIZE],
            pa: vec![0; SIZE],
            o: vec![0; SIZE],
            number: 0,
            i: [[0; 4]; 4],
            valid: [0; 4],
            p: [false; 4],
            idx: [0; 3],
            pc: 0,
            step: 0,
            killed: false,
            depth: None,
            done: false,
            fuel: FUEL,
        }
    }
}

/// What all instances of a draw share.
#[derive(Debug)]
pub struct Draw<'a> {
    /// Secondary attributes.
    pub sa: Vec<u32>,
    /// Texture behind each group of four secondary attributes: (first register, texture).
    pub samplers: Vec<(u16, &'a TextureData)>,
    /// Memory: (address, contents in bytes).
    pub memory: Vec<(u32, Vec<u8>)>,
    /// Whether lost internal registers may not be read.
    pub strict: bool,
    /// Whether instances form quads.
    pub quads: bool,
    /// Which branches are turned.
    pub turning: Turning<'a>,
}

enum Stop {
    Done,
    Quad,
}

impl Draw<'_> {
    /// Runs the secondary program once.
    pub fn run_secondary(&mut self, code: &Code) -> Result<(), SimError> {
        if code.words.is_empty() {
            return Ok(());
        }
        let mut one = Instance { pa: std::mem::take(&mut self.sa), ..Instance::default() };
        one.pa.resize(SIZE, 0);
        // In the secondary program both attribute banks are one file; translation has mapped sa to pa.
        self.sa = vec![0; SIZE];
        let r = self.run(code, &mut one);
        self.sa = one.pa;
        r.map(|_| ())
    }

    /// Runs the primary program for a quad (or for a single instance).
    pub fn run_primary(&mut self, code: &Code, lanes: &mut [Instance]) -> Result<(), SimError> {
        let mut runnable = vec![true; lanes.len()];
        let mut waiting = vec![false; lanes.len()];
        loop {
            for (n, lane) in lanes.iter_mut().enumerate() {
                if runnable[n] {
                    waiting[n] = matches!(self.run(code, lane)?, Stop::Quad);
                    runnable[n] = false;
                }
            }
            let place = |l: &Instance| (l.pc, l.step);
            let Some(first) = (0..lanes.len()).filter(|n| waiting[*n]).map(|n| place(&lanes[n])).min() else { return Ok(()) };
            let here: Vec<bool> = (0..lanes.len()).map(|n| waiting[n] && place(&lanes[n]) == first).collect();
            self.together(code, lanes, &here)?;
            for n in 0..lanes.len() {
                if here[n] {
                    waiting[n] = false;
                    runnable[n] = true;
                }
            }
        }
    }

    /// Runs one instance until it ends or needs its quad.
    fn run(&mut self, code: &Code, l: &mut Instance) -> Result<Stop, SimError> {
        while !l.done {
            let Some(ops) = code.words.get(l.pc) else {
                l.done = true;
                break;
            };
            if l.step < ops.len() {
                let op = &ops[l.step];
                if op.needs_quad() && self.quads && self.predicate(l, op.pred) {
                    return Ok(Stop::Quad);
                }
                self.execute(op, l, None)?;
                l.step += 1;
                if l.step < ops.len() {
                    continue;
                }
            }
            self.advance(code, l)?;
        }
        Ok(Stop::Done)
    }

    /// Goes on to the next word: turned tests, branches, ends, loss of internal registers.
    fn advance(&mut self, code: &Code, l: &mut Instance) -> Result<(), SimError> {
        let at = l.pc;
        let fault = |message: &str| SimError::Fault { at: at as u32 * 8, message: message.to_string() };
        l.fuel = l.fuel.checked_sub(1).ok_or(SimError::OutOfFuel(FUEL))?;
        l.step = 0;
        l.pc += 1;
        let mut clobber = !(at > 0 && code.flags[at - 1].0);
        for op in &code.words[at] {
            if let Kind::Test { to: Some(p), .. } = op.kind {
                l.p[p as usize & 3] ^= self.turning.turns(l.number, code.first + 8 * at as u32);
            }
            match op.flow {
                Flow::Branch(off) => {
                    clobber = true;
                    if self.predicate(l, op.pred) {
                        l.pc = usize::try_from(at as i64 + off as i64).map_err(|_| fault("a branch leaves the program"))?;
                        if l.pc > code.words.len() {
                            return Err(fault("a branch leaves the program"));
                        }
                    }
                }
                Flow::Clobber => clobber = true,
                Flow::Next => {}
            }
        }
        if clobber {
            l.valid = [0; 4];
        }
        if code.flags[at].1 && !matches!(code.words.get(l.pc).and_then(|w| w.first()), Some(m) if m.phase) {
            l.done = true;
        }
        Ok(())
    }

    fn together(&mut self, code: &Code, lanes: &mut [Instance], here: &[bool]) -> Result<(), SimError> {
        let before: Vec<Instance> = lanes.to_vec();
        for n in 0..lanes.len() {
            if !here[n] {
                continue;
            }
            // A neighbour that is elsewhere counts as having the reader's own value.
            let quad: [&Instance; 4] = std::array::from_fn(|k| if here.get(k) == Some(&true) { &before[k] } else { &before[n] });
            let (pc, step) = (lanes[n].pc, lanes[n].step);
            self.execute(&code.words[pc][step], &mut lanes[n], Some((n, quad)))?;
            lanes[n].step += 1;
            if lanes[n].step >= code.words[pc].len() {
                self.advance(code, &mut lanes[n])?;
            }
        }
        Ok(())
    }

    fn predicate(&self, l: &Instance, pred: Option<(u8, bool)>) -> bool {
        pred.is_none_or(|(p, inverted)| l.p[p as usize & 3] != inverted)
    }

    /// A 32-bit register.
    fn word(&self, l: &Instance, reg: Reg) -> Result<u32, SimError> {
        let n = reg.n as usize;
        Ok(match reg.bank {
            Bank::R => l.r.get(n).copied(),
            Bank::O => l.o.get(n).copied(),
            Bank::Pa => l.pa.get(n).copied(),
            Bank::Sa => self.sa.get(n).copied(),
            Bank::Imm => Some(reg.n as u32),
            Bank::I => {
                self.check(l, reg, 0)?;
                Some(l.i[n & 3][0])
            }
            Bank::Const => constant(n, 0).into(),
            Bank::Indexed(k) => {
                let bank = [Bank::R, Bank::O, Bank::Pa, Bank::Sa][n >> 14 & 3];
                let n = l.idx[k as usize].wrapping_mul(2).wrapping_add(n as u32 & 0x3fff);
                return self.word(l, Reg::new(bank, (n & 0xff) as u16));
            }
            Bank::Global | Bank::Index => Some(0),
        }
        .unwrap_or(0))
    }

    fn check(&self, l: &Instance, reg: Reg, lane: usize) -> Result<(), SimError> {
        if self.strict && l.valid[reg.n as usize & 3] >> lane & 1 == 0 {
            let message = format!("i{} lane {lane} is read after it was lost or before it was written", reg.n);
            return Err(SimError::Fault { at: l.pc as u32 * 8, message });
        }
        Ok(())
    }

    /// Lane `k` of a float operand as a word of type `ty`.
    fn float(&self, l: &Instance, s: &Src, k: usize, ty: Scalar) -> Result<u32, SimError> {
        let sel = s.sel[k];
        let w = match sel {
            4 | 8 => 0,
            5 => from_f32(ty, 1.0),
            6 => from_f32(ty, 2.0),
            7 => from_f32(ty, 0.5),
            lane => self.lane(l, s.reg, lane as usize, ty)?,
        };
        let sign = if ty == Scalar::F16 { 0x8000 } else { 0x8000_0000 };
        let w = if s.abs { w & !sign } else { w };
        Ok(if s.neg { w ^ sign } else { w })
    }

    fn lane(&self, l: &Instance, reg: Reg, lane: usize, ty: Scalar) -> Result<u32, SimError> {
        Ok(match (reg.bank, ty) {
            (Bank::I, _) => {
                self.check(l, reg, lane)?;
                let v = l.i[reg.n as usize & 3][lane];
                if ty == Scalar::F16 { from_f32(ty, f32::from_bits(v)) } else { v }
            }
            (Bank::Imm, _) => from_f32(ty, reg.n as f32),
            (Bank::Const, Scalar::F16) => constant(reg.n as usize, lane / 2) >> (16 * (lane & 1)) & 0xffff,
            (Bank::Const, _) => constant(reg.n as usize, lane),
            (_, Scalar::F16) => self.word(l, Reg::new(reg.bank, reg.n + lane as u16 / 2))? >> (16 * (lane & 1)) & 0xffff,
            _ => self.word(l, Reg::new(reg.bank, reg.n + lane as u16))?,
        })
    }

    fn put(&self, l: &mut Instance, reg: Reg, v: u32) {
        let n = reg.n as usize & (SIZE - 1);
        match reg.bank {
            Bank::R => l.r[n] = v,
            Bank::O => l.o[n] = v,
            Bank::Pa => l.pa[n] = v,
            Bank::I => {
                l.i[n & 3][0] = v;
                l.valid[n & 3] |= 1;
            }
            Bank::Index => l.idx[n.min(2)] = v,
            _ => {}
        }
    }

    fn put_lane(&self, l: &mut Instance, reg: Reg, lane: usize, ty: Scalar, v: u32) {
        match (reg.bank, ty) {
            (Bank::I, _) => {
                l.i[reg.n as usize & 3][lane] = if ty == Scalar::F16 { to_f32(ty, v).to_bits() } else { v };
                l.valid[reg.n as usize & 3] |= 1 << lane;
            }
            (_, Scalar::F16) => {
                let at = Reg::new(reg.bank, reg.n + lane as u16 / 2);
                let old = self.word(l, at).unwrap_or(0);
                let shift = 16 * (lane & 1);
                self.put(l, at, old & !(0xffff << shift) | (v & 0xffff) << shift);
            }
            _ => self.put(l, Reg::new(reg.bank, reg.n + lane as u16), v),
        }
    }

    /// Executes one micro-operation.
    fn execute(&self, op: &Micro, l: &mut Instance, quad: Option<(usize, [&Instance; 4])>) -> Result<(), SimError> {
        if !self.predicate(l, op.pred) {
            return Ok(());
        }
        use crate::isa::operation::Kind::*;
        let s = &op.src;
        let lanes: Vec<usize> = (0..4).filter(|k| op.mask >> k & 1 == 1).collect();
        let ty = op.ty;
        match &op.kind {
            Nothing => {}
            Float(what, n) => {
                let mut out = [0; 4];
                let n = *n as usize;
                match what {
                    Opcode::Dot => {
                        let mut a = [[0; 4]; 2];
                        for k in 0..n {
                            a[0][k] = self.float(l, &s[0], k, ty)?;
                            a[1][k] = self.float(l, &s[1], k, ty)?;
                        }
                        out = [NUM.dot(ty, &a[0][..n], &a[1][..n]); 4];
                    }
                    Opcode::Ddx | Opcode::Ddy => {
                        for &k in &lanes {
                            let v = match quad {
                                Some((_, q)) => {
                                    let mut v = [0; 4];
                                    for (m, other) in q.iter().enumerate() {
                                        v[m] = self.float(other, &s[0], k, ty)?;
                                    }
                                    v
                                }
                                None => [self.float(l, &s[0], k, ty)?; 4],
                            };
                            let at = quad.map_or(0, |q| q.0);
                            out[k] = texture::derivative(&NUM, ty, v, at, *what == Opcode::Ddy);
                        }
                    }
                    _ => {
                        for &k in &lanes {
                            // Scalar operations read lane x whatever lane they write.
                            let at = if op.scalar { 0 } else { k };
                            let a = self.float(l, &s[0], at, op.src_ty)?;
                            out[k] = match s.len() {
                                1 => convert(what, op.src_ty, ty, a),
                                2 => binary(what, ty, a, self.float(l, &s[1], at, ty)?),
                                _ => NUM.ternary(Opcode::Fmad, ty, a, self.float(l, &s[1], at, ty)?, self.float(l, &s[2], at, ty)?),
                            };
                        }
                    }
                }
                for &k in &lanes {
                    self.put_lane(l, op.dst, k, ty, out[k]);
                }
            }
            Pair(halves) => {
                // Both halves read before either stores.
                let before = l.clone();
                for h in halves.iter() {
                    let mut copy = before.clone();
                    self.execute(h, &mut copy, None)?;
                    for k in (0..4).filter(|k| h.mask >> k & 1 == 1) {
                        let v = self.lane(&copy, h.dst, k, h.ty)?;
                        self.put_lane(l, h.dst, k, h.ty, v);
                    }
                }
            }
            FloatMove(cond) => {
                let mut out = [0; 4];
                for &k in &lanes {
                    let from = match cond {
                        None => &s[0],
                        Some((test, byte)) => {
                            let v = if *byte {
                                self.word(l, Reg::new(s[2].reg.bank, s[2].reg.n))? & 0xff
                            } else {
                                self.float(l, &s[2], k, ty)?
                            };
                            let yes = if *byte { int_test(*test, v as i32) } else { float_test(*test, to_f32(ty, v)) };
                            if yes { &s[0] } else { &s[1] }
                        }
                    };
                    out[k] = self.float(l, from, k, ty)?;
                }
                for &k in &lanes {
                    self.put_lane(l, op.dst, k, ty, out[k]);
                }
            }
            IntMove(cond, bits) => {
                let from = match cond {
                    None => &s[0],
                    Some((test, byte)) => {
                        let v = self.word(l, s[2].reg)?;
                        let v = if *byte { v as u8 as i32 } else { sign_extend(v, *bits) };
                        if int_test(*test, v) { &s[0] } else { &s[1] }
                    }
                };
                let v = self.word(l, from.reg)?;
                let keep = if *bits == 32 { 0 } else { self.word(l, op.dst)? & !((1u32 << bits) - 1) };
                let low = if *bits == 32 { v } else { v & ((1 << bits) - 1) };
                self.put(l, op.dst, keep | low);
            }
            Pack { from, to, scale } => {
                let mut out = [0; 4];
                for &k in &lanes {
                    let sel = s[0].sel[k] as usize;
                    let raw = match from {
                        6 if s[1].reg.bank != Bank::Imm => self.lane(l, s[sel >> 1].reg, sel & 1, Scalar::F32)?,
                        5 => self.lane(l, s[0].reg, sel, Scalar::F16)?,
                        6 => self.lane(l, s[0].reg, sel, Scalar::F32)?,
                        7 => self.word(l, s[0].reg)? >> (10 * sel.min(2)) & 0x3ff,
                        3 | 4 if s[0].reg.bank != Bank::I => {
                            self.word(l, Reg::new(s[0].reg.bank, s[0].reg.n + sel as u16 / 2))? >> (16 * (sel & 1)) & 0xffff
                        }
                        3 | 4 => self.word(l, s[0].reg)? >> (16 * (sel & 1)) & 0xffff,
                        _ => self.word(l, s[0].reg)? >> (8 * sel) & 0xff,
                    };
                    out[k] = pack(*from, *to, *scale, raw);
                }
                for &k in &lanes {
                    let (reg, shift, bits) = match to {
                        5 => {
                            self.put_lane(l, op.dst, k, Scalar::F16, out[k]);
                            continue;
                        }
                        6 => {
                            self.put_lane(l, op.dst, k, Scalar::F32, out[k]);
                            continue;
                        }
                        3 | 4 => (op.dst.n + k as u16 / 2, 16 * (k & 1), 16),
                        7 => (op.dst.n, 10 * k.min(2), 10),
                        _ => (op.dst.n, 8 * k, 8),
                    };
                    let at = Reg::new(op.dst.bank, reg);
                    let mask = ((1u32 << bits) - 1) << shift;
                    let old = if at.bank == Bank::I { l.i[at.n as usize & 3][0] } else { self.word(l, at)? };
                    self.put(l, at, old & !mask | out[k] << shift & mask);
                }
            }
            Test { alu, to } => {
                match to {
                    Some(p) => {
                        l.p[*p as usize] = self.test_value(l, op, *alu, s[0].sel[0] as usize)?;
                    }
                    None => {
                        // Mask results: type 2 in the operand's own precision, type 0 as bytes.
                        let n = if alu.0 == 0 { 4 } else { 1 };
                        let mut bytes = 0u32;
                        let mut out = [false; 4];
                        for (k, o) in out.iter_mut().enumerate().take(n) {
                            *o = self.test_value(l, op, *alu, k)?;
                            bytes |= (*o as u32 * 0xff) << (8 * k);
                        }
                        if op.mask_type == 0 {
                            self.put(l, op.dst, bytes);
                        } else if alu.0 == 0 {
                            let shown = if op.dst.bank == Bank::I || ty == Scalar::F16 { 4 } else { 2 };
                            for (k, o) in out.iter().enumerate().take(shown) {
                                self.put_lane(l, op.dst, k, ty, from_f32(ty, *o as u8 as f32));
                            }
                        } else {
                            self.put(l, op.dst, if out[0] { 0x7fff_ffff } else { 0 });
                        }
                    }
                }
            }
            Int(f) => {
                let mut a = [0; 3];
                for (v, x) in a.iter_mut().zip(s.iter()) {
                    *v = self.word(l, x.reg)?;
                    if x.neg {
                        *v = v.wrapping_neg();
                    }
                }
                let old = if op.dst.bank == Bank::I { 0 } else { self.word(l, op.dst)? };
                self.put(l, op.dst, f.eval(a, old));
            }
            Immediate(v) => self.put(l, op.dst, *v),
            Kill => l.killed = true,
            Depth => l.depth = Some(self.lane(l, s[0].reg, 0, Scalar::F32)?),
            Sample(q) => self.sample(op, q, l, quad)?,
            Load { bytes, count, expand } => {
                let base = self.word(l, s[0].reg)?;
                let off = if s[1].reg.bank == Bank::Imm { s[1].reg.n as u32 * *bytes as u32 } else { self.word(l, s[1].reg)? };
                let extra = self.word(l, s[2].reg)?;
                let mut at = base.wrapping_add(off).wrapping_add(extra).wrapping_add(if *expand { 0 } else { 4 });
                for k in 0..*count {
                    let mut v = 0u32;
                    for b in 0..*bytes as u32 {
                        v |= (self.byte(at.wrapping_add(b)) as u32) << (8 * b);
                    }
                    self.put(l, Reg::new(op.dst.bank, op.dst.n + k), v);
                    at = at.wrapping_add(*bytes as u32);
                }
            }
        }
        Ok(())
    }

    fn byte(&self, at: u32) -> u8 {
        self.memory.iter().find_map(|(base, m)| at.checked_sub(*base).and_then(|o| m.get(o as usize))).copied().unwrap_or(0)
    }

    /// The outcome of a test in lane `k`.
    fn test_value(&self, l: &Instance, op: &Micro, alu: (u8, u8), k: usize) -> Result<bool, SimError> {
        let (s1, s2, ty) = (&op.src[0], &op.src[1], op.ty);
        // Reciprocals and the like are computed once, of lane x, for a mask too.
        let scalar = alu.0 == 0 && (4..=7).contains(&alu.1) && !matches!(op.kind, Kind::Test { to: Some(_), .. });
        let k = if scalar { 0 } else { k };
        let cmp = |neg: bool, pos: bool, zero: bool| {
            let sign = [true, neg, pos, true][op.tests.0 as usize & 3];
            let z = [true, zero, !zero, true][op.tests.1 as usize & 3];
            if op.tests.2 { sign && z } else { sign || z }
        };
        if alu.0 == 0 {
            let sign = if ty == Scalar::F16 { 0x8000 } else { 0x8000_0000 };
            let a = self.lane(l, s1.reg, k, ty)? ^ if s1.neg { sign } else { 0 };
            let b = self.lane(l, s2.reg, if op.scalar { 0 } else { k }, ty)?;
            if alu.1 == 14 {
                // A subtraction in a test is a comparison: exact, also for infinities.
                let (lt, gt) = (NUM.fcmp(FloatCC::Olt, ty, a, b), NUM.fcmp(FloatCC::Ogt, ty, a, b));
                return Ok(cmp(lt, gt, NUM.fcmp(FloatCC::Oeq, ty, a, b)));
            }
            let r = match alu.1 {
                2 => binary(&Opcode::Fadd, ty, a, b),
                3 => binary(&Opcode::Ffract, ty, a, b),
                4 => convert(&Opcode::Frcp, ty, ty, a),
                5 => convert(&Opcode::Frsqrt, ty, ty, a),
                6 => convert(&Opcode::Flog2, ty, ty, a),
                7 => convert(&Opcode::Fexp2, ty, ty, a),
                9 => binary(&Opcode::Fmin, ty, a, b),
                10 => binary(&Opcode::Fmax, ty, a, b),
                13 => binary(&Opcode::Fmul, ty, a, b),
                _ => a,
            };
            let r = to_f32(ty, r);
            return Ok(cmp(r < 0.0, r > 0.0, r == 0.0));
        }
        let (mut a, b) = (self.word(l, s1.reg)?, self.word(l, s2.reg)?);
        if s1.neg {
            a = a.wrapping_neg();
        }
        let wide = |signed: bool, bits: u32, v: u32| -> i64 {
            let m = if bits == 32 { v } else { v & ((1 << bits) - 1) };
            if signed { sign_extend(m, bits) as i64 } else { m as i64 }
        };
        let two = |signed, bits, f: fn(i64, i64) -> i64| f(wide(signed, bits, a), wide(signed, bits, b));
        let (add, sub, mul): (fn(i64, i64) -> i64, fn(i64, i64) -> i64, fn(i64, i64) -> i64) =
            (|x, y| x + y, |x, y| x - y, |x, y| x.wrapping_mul(y));
        let r = match (alu.0, alu.1) {
            (1, 6) => two(true, 16, add),
            (1, 7) => two(true, 16, sub),
            (1, 8) => two(true, 16, mul),
            (1, 9) => two(false, 16, add),
            (1, 10) => two(false, 16, sub),
            (1, 11) => two(false, 16, mul),
            (1, 12) => two(true, 32, add),
            (1, 13) => two(false, 32, add),
            (1, 14) => two(true, 32, sub),
            (1, 15) => two(false, 32, sub),
            (2, 0) => two(true, 8, add),
            (2, 1) => two(true, 8, sub),
            (2, 2 | 7) => two(false, 8, add),
            (2, 3 | 8) => two(false, 8, sub),
            (2, 4) => two(true, 8, mul),
            (2, _) => two(false, 8, mul),
            (3, 0) => (a & b) as i32 as i64,
            (3, 1) => (a | b) as i32 as i64,
            (3, 2) => (a ^ b) as i32 as i64,
            (3, 3) => a.wrapping_shl(b) as i32 as i64,
            (3, 4) => a.wrapping_shr(b) as i32 as i64,
            (3, 5) => a.rotate_left(b & 31) as i32 as i64,
            _ => (a as i32).wrapping_shr(b) as i64,
        };
        Ok(cmp(r < 0, r > 0, r == 0))
    }

    fn sample(&self, op: &Micro, q: &Sample, l: &mut Instance, quad: Option<(usize, [&Instance; 4])>) -> Result<(), SimError> {
        let fault = |m: String| SimError::Fault { at: l.pc as u32 * 8, message: m };
        let state = op.src[1].reg;
        let Some((_, tex)) = self.samplers.iter().find(|(n, _)| *n == state.n && state.bank == Bank::Sa) else {
            return Err(fault(format!("no texture state at {state}")));
        };
        let coords = |who: &Instance| -> Result<[u32; 3], SimError> {
            let mut c = [0; 3];
            for (k, v) in c.iter_mut().enumerate().take(q.dims as usize) {
                let w = self.lane(who, op.src[0].reg, k, q.coord)?;
                *v = to_f32(q.coord, w).to_bits();
            }
            Ok(c)
        };
        let mut args = TexArgs { coord: coords(l)?, ..TexArgs::default() };
        let lod = [TexLod::Implicit, TexLod::Bias, TexLod::Level, TexLod::Grad][q.lod as usize & 3];
        let extra = op.src[2].reg;
        match lod {
            TexLod::Bias | TexLod::Level => args.lod = self.lane(l, extra, 0, Scalar::F32)?,
            TexLod::Grad => {
                let n = q.dims as usize;
                let second = if n == 3 { (Reg::new(extra.bank, extra.n + 4), 0) } else { (extra, n) };
                for k in 0..n {
                    args.grad[0][k] = self.lane(l, extra, k, Scalar::F32)?;
                    args.grad[1][k] = self.lane(l, second.0, second.1 + k, Scalar::F32)?;
                }
            }
            _ => {}
        }
        let implicit = match quad {
            Some((_, lanes)) => {
                let mut c = [[0; 3]; 4];
                for (k, who) in lanes.iter().enumerate() {
                    c[k] = coords(who)?;
                }
                texture::quad_lod(tex, &c)
            }
            None => 0.0,
        };
        let texel = texture::sample_lane(tex, &TexQuery::sample(lod), &args, implicit);
        for (k, w) in texel.iter().enumerate() {
            let v = from_f32(op.ty, f32::from_bits(*w));
            self.put_lane(l, op.dst, k, op.ty, v);
        }
        Ok(())
    }
}

/// The hardware constant table: entry `n`, 32-bit lane `lane`.
pub fn constant(n: usize, lane: usize) -> u32 {
    crate::isa::constants::CONSTANTS.get(n).and_then(|c| c.get(lane)).copied().unwrap_or(0)
}

fn sign_extend(v: u32, bits: u32) -> i32 {
    ((v << (32 - bits)) as i32) >> (32 - bits)
}

fn int_test(test: u8, v: i32) -> bool {
    match test {
        0 => v == 0,
        1 => v != 0,
        2 => v < 0,
        _ => v <= 0,
    }
}

fn float_test(test: u8, v: f32) -> bool {
    match test {
        0 => v == 0.0,
        1 => v != 0.0,
        2 => v < 0.0,
        _ => v <= 0.0,
    }
}

fn binary(op: &Opcode, ty: Scalar, a: u32, b: u32) -> u32 {
    if *op == Opcode::Ffract {
        // s1 - floor(s2)
        return NUM.binary(Opcode::Fsub, ty, a, NUM.unary(Opcode::Ffloor, ty, b));
    }
    NUM.binary(*op, ty, a, b)
}

fn convert(op: &Opcode, from: Scalar, to: Scalar, a: u32) -> u32 {
    let a = if from == to { a } else { from_f32(to, to_f32(from, a)) };
    if *op == Opcode::Fcvt { a } else { NUM.unary(*op, to, a) }
}

/// VPCK's conversion of one lane.
fn pack(from: u8, to: u8, scale: bool, raw: u32) -> u32 {
    if from == to {
        return raw;
    }
    let factor = |f: u8| [255.0, 127.0, 255.0, 65535.0, 32767.0, 1.0, 1.0, 255.0][f as usize & 7];
    if from < 5 && to < 5 {
        return raw;
    }
    let x = match from {
        0 | 2 | 3 => raw as f32,
        1 => raw as u8 as i8 as f32,
        4 => raw as u16 as i16 as f32,
        5 => to_f32(Scalar::F16, raw),
        6 => f32::from_bits(raw),
        _ => sign_extend(raw, 10) as f32 / 255.0,
    };
    let x = if scale && from < 5 { (x / factor(from)).max(-1.0) } else { x };
    match to {
        5 => from_f32(Scalar::F16, x),
        6 => x.to_bits(),
        7 => libm::rintf((x * 255.0).clamp(-512.0, 511.0)) as i32 as u32 & 0x3ff,
        t if scale => pack_norm(x, if t == 1 || t == 4 { -1.0 } else { 0.0 }, factor(t)),
        1 => pack_int(x, -128.0, 127.0),
        3 => pack_int(x, 0.0, 65535.0),
        4 => pack_int(x, -32768.0, 32767.0),
        _ => pack_int(x, 0.0, 255.0),
    }
}
