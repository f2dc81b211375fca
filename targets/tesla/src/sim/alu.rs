//! Instructions other than control flow and textures, on all lanes that take part.

use super::control::Warp;
use super::memory::{load, store};
use super::{LANES, Lane, Launch, SHARED_HEADER, Step, V_FACING};
use crate::isa::arith::{self, Round, flag};
use crate::isa::decode::Insn;
use crate::isa::forms::{Op, Ty, field};
use crate::isa::operand::Size;
use retroshade_emit::FieldName;
use retroshade_ir::Stage;
use retroshade_lower::SimError;

/// Which of the three sources are 16-bit halves.
pub(crate) fn halves(op: Op, insn: &Insn) -> [bool; 3] {
    use Op::*;
    match op {
        MovH | AddH | SetH | MaxH | MinH | ShlH | ShrH | LogicH => [true; 3],
        Mul16 | MadU16 | MadS16 | MadSatS16 | SadH => [true, true, false],
        Cvt(_, Ty::F16) | CvtInt(_, Ty::F16) => [true, false, false],
        Cvt(_, Ty::H) => [insn.get(field!(sty)) & 1 == 0, false, false],
        StS8 | StS16 => [false, false, insn.get(field!(w)) == 0],
        _ => [false; 3],
    }
}

fn sign(on: bool) -> u32 {
    (on as u32) << 31
}

/// abs, then neg.
fn modified(x: u32, neg: bool, abs: bool) -> u32 {
    (if abs { x & 0x7fff_ffff } else { x }) ^ sign(neg)
}

impl Warp {
    pub(crate) fn execute(&mut self, s: &Step, on: u32, launch: &mut Launch, shared: &mut [u8]) -> Result<(), SimError> {
        match s.op {
            Op::Quadop => return self.quadop(s, on, launch, shared),
            Op::VoteAny | Op::VoteAll => {
                // The predicate is the input; every active thread gets the answer.
                let yes = if s.op == Op::VoteAny { on != 0 } else { on == self.active };
                for l in (0..LANES).filter(|l| self.active >> l & 1 == 1) {
                    self.lanes[l].c[s.f.cd] = if yes { flag::S } else { flag::Z };
                }
                return Ok(());
            }
            Op::Texauto | Op::Texfetch | Op::Texbias | Op::Texlod | Op::Texsize | Op::Texgather | Op::Texquerylod | Op::Texprep => {
                return self.texture(s, on, launch);
            }
            _ => {}
        }
        for l in (0..LANES).filter(|l| on >> l & 1 == 1 && s.f.lanes >> (l & 3) & 1 == 1) {
            self.lanes[l].execute(s, launch, shared)?;
        }
        Ok(())
    }

    /// Each lane combines another lane's value with its own.
    fn quadop(&mut self, s: &Step, on: u32, launch: &Launch, shared: &[u8]) -> Result<(), SimError> {
        let select = s.insn.get(field!(lane)) as usize;
        let ops = [field!(q0), field!(q1), field!(q2), field!(q3)].map(|q| s.insn.get(q));
        let x: Vec<u32> = self.lanes.iter_mut().map(|l| l.source(s.s1, s.index[0], Size::Word, launch, shared)).collect();
        for l in (0..LANES).filter(|l| on >> l & 1 == 1) {
            let from = match select {
                4 => l ^ 1,
                5 => l ^ 2,
                n => l & !3 | n & 3,
            };
            // A lane that does not take part has no value to give (undefined on the hardware): the reader's own counts.
            let from = if on >> from & 1 == 1 { from } else { l };
            let lane = &mut self.lanes[l];
            let y = lane.source(s.s3, s.index[2], Size::Word, launch, shared);
            let outside = select >= 4 && launch.stage != Stage::Fragment;
            let r = match (outside, ops[l & 3]) {
                (true, _) => 0,
                (_, 0) => arith::fadd(x[from], y, Round::Nearest),
                (_, 1) => arith::fadd(y, x[from] ^ sign(true), Round::Nearest),
                (_, 2) => arith::fadd(x[from], y ^ sign(true), Round::Nearest),
                _ => arith::fadd(y, 0, Round::Nearest),
            };
            if s.f.cw {
                lane.c[s.f.cd] = arith::fcc(r);
            }
            lane.result(s, Size::Word, r, launch)?;
        }
        Ok(())
    }
}

impl Lane {
    fn execute(&mut self, s: &Step, launch: &mut Launch, shared: &mut [u8]) -> Result<(), SimError> {
        use Op::*;
        let f = &s.f;
        let size = |k: usize| if halves(s.op, &s.insn)[k] { Size::Half } else { Size::Word };
        // Memory operands are read once and in order, since reading may advance an address register.
        let a = if s.insn.has(field!(src1)) { self.source(s.s1, s.index[0], size(0), launch, shared) } else { 0 };
        let b = match s.imm {
            Some(v) => v,
            None if s.insn.has(field!(count)) => s.insn.get(field!(count)) as u32,
            None if s.insn.has(field!(src2)) => self.source(s.s2, s.index[1], size(1), launch, shared),
            None => 0,
        };
        // Long two-operand additions have their second operand in source 3.
        let has3 = s.insn.has(field!(src3)) || matches!(s.op, Fmad | MadU16 | MadS16 | MadSatS16 | MadU24 | SadH | Sad);
        let e = if has3 { self.source(s.s3, s.index[2], size(2), launch, shared) } else { 0 };
        let other = if s.insn.has(field!(src2)) || s.imm.is_some() { b } else { e };
        let carry = self.c[f.cc] & flag::C != 0;
        let word = |v: u32| (v, Size::Word, None);
        let (value, at, cc): (u32, Size, Option<u8>) = match s.op {
            Mov => word(if s.imm.is_some() { b } else { a }),
            MovH => (if s.imm.is_some() { b & 0xffff } else { a }, Size::Half, None),
            Add | AddH => {
                let bits = if s.op == Add { 32 } else { 16 };
                let (r, c) = arith::add(f.addop, a, other, carry, f.sat, bits);
                (r, if bits == 32 { Size::Word } else { Size::Half }, Some(c))
            }
            Mul16 => {
                let ext = |v: u32, n: FieldName| arith::ext16(v, s.insn.get(n) != 0);
                let r = ext(a, field!(sg1)).wrapping_mul(ext(b, field!(sg2)));
                (r, Size::Word, Some(arith::icc(r, 32)))
            }
            Mul24 => {
                let r = arith::mul24(a, b, f.signed, s.insn.get(field!(high)) != 0);
                (r, Size::Word, Some(arith::icc(r, 32)))
            }
            MadU16 | MadS16 | MadSatS16 | MadU24 | MadS24 | MadSatS24 | MadHighU24 | MadHighS24 | MadSatHighS24 => {
                let m = match s.op {
                    MadU16 => arith::ext16(a, false).wrapping_mul(arith::ext16(b, false)),
                    MadS16 | MadSatS16 => arith::ext16(a, true).wrapping_mul(arith::ext16(b, true)),
                    MadU24 => arith::mul24(a, b, false, false),
                    MadS24 | MadSatS24 => arith::mul24(a, b, true, false),
                    MadHighU24 => arith::mul24(a, b, false, true),
                    _ => arith::mul24(a, b, true, true),
                };
                let sat = matches!(s.op, MadSatS16 | MadSatS24 | MadSatHighS24);
                let (r, c) = arith::add(f.addop, m, e, carry, sat, 32);
                (r, Size::Word, Some(c))
            }
            Sad | SadH => {
                let (x, y) = match (s.op, f.signed) {
                    (Sad, true) => (a as i32 as i64, b as i32 as i64),
                    (Sad, false) => (a as i64, b as i64),
                    (_, true) => (a as i16 as i64, b as i16 as i64),
                    _ => ((a & 0xffff) as i64, (b & 0xffff) as i64),
                };
                let (r, c) = arith::add(0, (x - y).unsigned_abs() as u32, e, false, false, 32);
                (r, Size::Word, Some(c))
            }
            Set | SetH | Max | MaxH | Min | MinH => {
                let half = matches!(s.op, SetH | MaxH | MinH);
                let key = |v: u32| match (half, f.signed) {
                    (false, true) => v as i32 as i64,
                    (false, false) => v as i64,
                    (true, true) => v as i16 as i64,
                    (true, false) => (v & 0xffff) as i64,
                };
                let (bits, at) = if half { (16, Size::Half) } else { (32, Size::Word) };
                match s.op {
                    Set | SetH => {
                        let bit = match key(a).cmp(&key(b)) {
                            std::cmp::Ordering::Less => 0,
                            std::cmp::Ordering::Equal => 1,
                            std::cmp::Ordering::Greater => 2,
                        };
                        let yes = f.rel >> bit & 1 == 1;
                        (if yes { u32::MAX } else { 0 }, at, Some(if yes { flag::S } else { flag::Z }))
                    }
                    _ => {
                        let first = if matches!(s.op, Max | MaxH) { key(a) >= key(b) } else { key(a) <= key(b) };
                        let r = if first { a } else { b };
                        (r, at, Some(arith::icc(r, bits)))
                    }
                }
            }
            Shl | ShlH | Shr | ShrH => {
                let (bits, at) = if matches!(s.op, ShlH | ShrH) { (16, Size::Half) } else { (32, Size::Word) };
                let (r, c) = if matches!(s.op, Shl | ShlH) { arith::shl(a, b, bits) } else { arith::shr(a, b, f.signed, bits) };
                (r, at, Some(c))
            }
            Logic | LogicH => {
                let (x, y) = (if f.not[0] { !a } else { a }, if f.not[1] { !b } else { b });
                let r = match s.insn.get(field!(lop)) {
                    0 => x & y,
                    1 => x | y,
                    2 => x ^ y,
                    _ => y,
                };
                let (bits, at) = if s.op == LogicH { (16, Size::Half) } else { (32, Size::Word) };
                (r, at, Some(arith::icc(r, bits)))
            }
            ShlA => {
                self.a[f.dst & 7] = a.checked_shl(b).unwrap_or(0) & 0xffff;
                return Ok(());
            }
            AddA => {
                let from = s.insn.get(field!(a)) as usize & 7;
                let base = if from == 0 { 0 } else { self.a[from] };
                self.a[f.dst & 7] = (base + s.insn.get(field!(imm)) as u32) & 0xffff;
                return Ok(());
            }
            MovFromC => word(self.c[f.cc] as u32),
            MovToC => {
                self.c[f.cd] = (a & 15) as u8;
                return Ok(());
            }
            MovFromA => word(self.a[s.insn.get(field!(a)) as usize & 7]),
            MovFromSr => word(match s.insn.get(field!(sr)) {
                // One warp at a time, on one multiprocessor: only the lane's number counts.
                0 => self.index,
                3 => launch.vertex_stride,
                _ => 0,
            }),
            LdA => {
                let at = self.memory_address(s, 4);
                word(self.input.attributes.get(at / 4).copied().unwrap_or(0))
            }
            StO => {
                let at = self.memory_address(s, 4);
                return self.output(s, at / 4, e, u32::MAX);
            }
            LdC8 | LdC16 | LdCs16 | LdC => {
                let (bytes, sx) = access(s.op);
                let at = self.memory_address(s, bytes as i64);
                let v = launch.constants.get(s.insn.get(field!(cs)) as usize).map_or(0, |m| load(m, at, bytes));
                (if sx { v as i16 as i32 as u32 } else { v }, self.loaded(s), None)
            }
            LdS8 | LdS16 | LdSs16 | LdS | LdLock => {
                let (bytes, sx) = access(s.op);
                let at = self.memory_address(s, bytes as i64);
                if s.op == LdLock {
                    self.c[f.cd] = if launch.locked.insert(at) { flag::S } else { flag::Z };
                }
                let v = load(shared, at, bytes);
                (if sx { v as i16 as i32 as u32 } else { v }, self.loaded(s), None)
            }
            StS8 | StS16 | StS => {
                let bytes = match s.op {
                    StS8 => 1,
                    StS16 => 2,
                    _ => 4,
                };
                let at = self.memory_address(s, bytes as i64);
                if at < SHARED_HEADER {
                    return Err(SimError::Fault { at: s.pc, message: "a store into the header of s[]".into() });
                }
                store(shared, at, bytes, e);
                if s.insn.get(field!(unlock)) != 0 {
                    launch.locked.remove(&at);
                }
                return Ok(());
            }
            LdL | StL => {
                let at = self.memory_address(s, 1);
                let mut memory = std::mem::take(&mut self.local);
                let r = self.transfer(s, &mut memory, at, s.op == LdL, launch);
                self.local = memory;
                return r;
            }
            LdG | StG => {
                let gs = s.insn.get(field!(gs)) as usize;
                let mut memory = launch.global.get_mut(gs).map(std::mem::take).unwrap_or_default();
                let r = self.transfer(s, &mut memory, a as usize, s.op == LdG, launch);
                if let Some(g) = launch.global.get_mut(gs) {
                    *g = memory;
                }
                return r;
            }
            RedAdd | RedInc | RedDec | RedMax | RedMin | RedAnd | RedOr | RedXor => {
                let data = self.read(f.dst, launch);
                self.atomic(s, a as usize, data, 0, launch);
                return Ok(());
            }
            AtomAdd | AtomInc | AtomDec | AtomMax | AtomMin | AtomAnd | AtomOr | AtomXor | Exch | Cas => {
                if s.insn.get(field!(ty)) == 4 {
                    return Err(SimError::Fault { at: s.pc, message: "64-bit atomics have no model".into() });
                }
                let old = self.atomic(s, a as usize, b, e, launch);
                self.write(f.dst, old, launch);
                return Ok(());
            }
            Interp | InterpCent | InterpFlat => {
                let word_at = self.varying(s);
                let v = match word_at {
                    V_FACING => self.input.facing,
                    n => self.input.varyings.get(n).copied().unwrap_or(0),
                };
                // Without a factor the plane's value comes out divided by w, but for linear and flat varyings and 1/w itself.
                word(v)
            }
            InterpMul | InterpCentMul => {
                let n = self.varying(s);
                let v = self.input.varyings.get(n).copied().unwrap_or(0);
                let factor = f32::from_bits(modified(a, f.neg[0], false));
                // The plane's value is v / w; times w the machine gives v back. What a unit of last place in the
                // reciprocal does to it is not documented, so that a factor of w is exact here.
                let w = self.input.w;
                let exact = factor.to_bits() == w.to_bits() || ((factor - w) / w).abs() < 1.0e-6;
                word(if exact { v } else { ((f32::from_bits(v) as f64 / w as f64 * factor as f64) as f32).to_bits() })
            }
            Rcp => word(arith::rcp(modified(a, f.neg[0], f.abs[0]))),
            Rsqrt => word(arith::rsqrt(modified(a, f.neg[0], f.abs[0]))),
            Lg2 => word(arith::lg2(modified(a, f.neg[0], f.abs[0]))),
            Presin => word(arith::presin(modified(a, f.neg[0], f.abs[0]))),
            Preex2 => word(arith::preex2(modified(a, f.neg[0], f.abs[0]))),
            Sin => word(arith::sin(a)),
            Cos => word(arith::cos(a)),
            Ex2 => {
                let r = arith::ex2(a);
                word(if f.sat { arith::fsat(r) } else { r })
            }
            Fadd => {
                let r = arith::fadd(a ^ sign(f.neg[0]), other ^ sign(f.neg[1]), Round::from_code(f.rnd));
                float(r, f.sat)
            }
            Fmul => float(arith::fmul(a ^ sign(f.neg[0]), b ^ sign(f.neg[1]), Round::from_code(f.rnd)), f.sat),
            Fmad => float(arith::fmad(a ^ sign(f.neg[0]), b, e ^ sign(f.neg[1])), f.sat),
            Fset => {
                let yes = arith::fset(f.rel, modified(a, f.neg[0], f.abs[0]), modified(b, f.neg[1], f.abs[1]));
                (if yes { u32::MAX } else { 0 }, Size::Word, Some(if yes { flag::S } else { flag::Z }))
            }
            Fmax => float(arith::fmax(modified(a, f.neg[0], f.abs[0]), modified(b, f.neg[1], f.abs[1])), false),
            Fmin => float(arith::fmin(modified(a, f.neg[0], f.abs[0]), modified(b, f.neg[1], f.abs[1])), false),
            Slct => {
                let r = if arith::fcmp(e ^ sign(f.neg[2]), 0) <= 1 { a } else { b };
                let cc = if r & 0x7fff_ffff == 0 { flag::Z } else { (r >> 31) as u8 * flag::S };
                (r, Size::Word, Some(cc))
            }
            Cvt(to, from) => self.convert(s, to, from, a, None)?,
            CvtInt(to, from) => self.convert(s, to, from, a, Some(Round::from_code(f.rnd)))?,
            _ => return Err(SimError::Fault { at: s.pc, message: format!("`{}` has no model", s.insn.form().name) }),
        };
        if let (true, Some(cc)) = (f.cw, cc) {
            self.c[f.cd] = cc;
        }
        self.result(s, at, value, launch)
    }

    /// The v[] word of an interpolation.
    fn varying(&mut self, s: &Step) -> usize {
        self.memory_address(s, 4) / 4
    }

    /// Where a constant or shared load puts its value.
    fn loaded(&self, s: &Step) -> Size {
        if s.insn.get(field!(w)) == 1 { Size::Word } else { Size::Half }
    }

    fn transfer(&mut self, s: &Step, memory: &mut [u8], at: usize, load_it: bool, launch: &Launch) -> Result<(), SimError> {
        let (bytes, words) = match s.insn.get(field!(ty)) {
            0 | 1 => (1, 1),
            2 | 3 => (2, 1),
            4 => (4, 2),
            5 => (4, 4),
            _ => (4, 1),
        };
        if !at.is_multiple_of(bytes * words) {
            return Err(SimError::Fault { at: s.pc, message: format!("address {at:#x} is not a multiple of {}", bytes * words) });
        }
        for k in 0..words {
            let (n, at) = (s.f.dst + k, at + 4 * k);
            if load_it {
                let v = load(memory, at, bytes);
                let v = match s.insn.get(field!(ty)) {
                    1 => v as i8 as i32 as u32,
                    3 => v as i16 as i32 as u32,
                    _ => v,
                };
                self.write(n, v, launch);
            } else {
                store(memory, at, bytes, self.read(n, launch));
            }
        }
        Ok(())
    }

    fn atomic(&mut self, s: &Step, at: usize, data: u32, swap: u32, launch: &mut Launch) -> u32 {
        use Op::*;
        let signed = s.insn.get(field!(ty)) == 7;
        let Some(memory) = launch.global.get_mut(s.insn.get(field!(gs)) as usize) else { return 0 };
        let old = load(memory, at, 4);
        let less = |x: u32, y: u32| if signed { (x as i32) < (y as i32) } else { x < y };
        let new = match s.op {
            RedAdd | AtomAdd => old.wrapping_add(data),
            Exch => data,
            Cas => {
                if old == data {
                    swap
                } else {
                    old
                }
            }
            RedInc | AtomInc => {
                if old >= data {
                    0
                } else {
                    old + 1
                }
            }
            RedDec | AtomDec => {
                if old == 0 || old.wrapping_sub(1) > data {
                    data
                } else {
                    old - 1
                }
            }
            RedMax | AtomMax => {
                if less(old, data) {
                    data
                } else {
                    old
                }
            }
            RedMin | AtomMin => {
                if less(data, old) {
                    data
                } else {
                    old
                }
            }
            RedAnd | AtomAnd => old & data,
            RedOr | AtomOr => old | data,
            _ => old ^ data,
        };
        store(memory, at, 4, new);
        old
    }

    /// Conversions of 8 to 32 bits: abs, neg, saturate, round, clamp.
    fn convert(&self, s: &Step, to: Ty, from: Ty, a: u32, integral: Option<Round>) -> Result<(u32, Size, Option<u8>), SimError> {
        let f = &s.f;
        let round = Round::from_code(f.rnd);
        let no_model = || SimError::Fault { at: s.pc, message: format!("`{}` has no model", s.insn.form().name) };
        if matches!(from, Ty::F64 | Ty::I64) || matches!(to, Ty::F64 | Ty::I64) || (from == Ty::W) {
            return Err(no_model());
        }
        // Integer source: sign and magnitude, so that nothing wraps.
        if from == Ty::H {
            let sty = s.insn.get(field!(sty));
            let v = match sty {
                0 => (a & 0xffff) as i64,
                1 => a as i64,
                2 | 3 => (a & 0xff) as i64,
                4 => a as i16 as i64,
                5 => a as i32 as i64,
                _ => a as i8 as i64,
            };
            let v = if f.abs[0] { v.abs() } else { v };
            let v = if f.neg[0] { -v } else { v };
            return Ok(match to {
                Ty::F32 => float(arith::int_to_f32(v, round), f.sat),
                Ty::F16 => {
                    let x = arith::int_to_f32(v, round);
                    let x = if f.sat { arith::fsat(x) } else { x };
                    (arith::f32_to_f16(x, round), Size::Half, Some(arith::fcc(x)))
                }
                _ => {
                    let dty = s.insn.get(field!(dty));
                    let wide = to == Ty::W;
                    let bits = match (dty & 1 == 1, wide) {
                        (true, _) => 8,
                        (false, true) => 32,
                        (false, false) => 16,
                    };
                    let r = arith::clamp_int(v, bits, dty >> 1 == 1);
                    if wide { (r, Size::Word, Some(arith::icc(r, 32))) } else { (r & 0xffff, Size::Half, Some(arith::icc(r & 0xffff, 16))) }
                }
            });
        }
        let x = if from == Ty::F16 { arith::f16_to_f32(a) } else { arith::flush(a) };
        let x = modified(x, f.neg[0], f.abs[0]);
        Ok(match to {
            Ty::F32 => {
                let r = arith::cvt_f32(x, integral);
                float(r, f.sat)
            }
            Ty::F16 => {
                let x = arith::cvt_f32(x, integral);
                let x = if f.sat { arith::fsat(x) } else { x };
                let round = if integral.is_some() || from == Ty::F16 { Round::Nearest } else { round };
                (arith::f32_to_f16(x, round), Size::Half, Some(arith::fcc(x)))
            }
            _ => {
                let signed = s.insn.get(field!(dty)) == 1;
                if to == Ty::W {
                    let r = arith::f32_to_int(x, round, 32, signed);
                    (r, Size::Word, Some(arith::icc(r, 32)))
                } else {
                    let r = arith::f32_to_int(x, round, 16, signed) & 0xffff;
                    (r, Size::Half, Some(arith::icc(r, 16)))
                }
            }
        })
    }
}

fn float(r: u32, sat: bool) -> (u32, Size, Option<u8>) {
    let r = if sat { arith::fsat(r) } else { r };
    (r, Size::Word, Some(arith::fcc(r)))
}

/// Bytes and sign extension of a constant or shared load.
fn access(op: Op) -> (usize, bool) {
    match op {
        Op::LdC8 | Op::LdS8 => (1, false),
        Op::LdC16 | Op::LdS16 => (2, false),
        Op::LdCs16 | Op::LdSs16 => (2, true),
        _ => (4, false),
    }
}
