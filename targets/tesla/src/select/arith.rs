//! Patterns of arithmetic, comparisons' users and conversions: what each IR operation becomes.
//!
//! The first pattern that takes an instruction has it; the list is the order. Values that are named where they are used (constants,
//! sign changes, comparisons, lanes) have no pattern of their own.

use crate::isa::forms::{AddOp, Cond, IntType, LogicOp, Op, QuadLane, QuadOp, Rounding, Ty, Whole, field};
use crate::select::mir::*;
use crate::select::{Accepts, Lower, Mod, signs2};
use retroshade_ir::analysis::Ranges;
use retroshade_ir::analysis::range::Range;
use retroshade_ir::{FloatCC, Imm, Inst, InstData, Opcode, Scalar, Value};
use retroshade_lower::pattern::Pattern;
use retroshade_lower::{CompileError, Reg};

const FULL: Accepts = Accepts { mem: true, c2: true, c3: false, imm: true, swap: true };

/// Whether the pattern took the instruction.
type Taken = Result<bool, CompileError>;

macro_rules! patterns {
    ($($name:literal $doc:literal [$($op:ident)*] $apply:ident;)*) => {
        &[$(Pattern { name: $name, doc: $doc, ops: &[$(Opcode::$op),*], apply: Lower::$apply }),*]
    };
}

impl<'a> Lower<'a> {
    /// The patterns in their order.
    pub(crate) const PATTERNS: &'a [Pattern<Lower<'a>>] = patterns! {
        "fadd" "`fadd`, `fsub`: one addition with sign modifiers" [Fadd Fsub] fadd;
        "fmul" "`fmul`: one product with sign modifiers" [Fmul] fmul;
        "fmad" "`fmad`: one mad, tied to its addend where that dies" [Fmad] fmad;
        "fminmax" "`fmin`, `fmax`" [Fmin Fmax] fminmax;
        "round" "`ffloor`, `fceil`, `ftrunc`, `fround`: a conversion with rounding" [Ffloor Fceil Ftrunc Fround] round;
        "sfu" "`frcp`, `frsqrt`, `flog2` with sign modifiers" [Frcp Frsqrt Flog2] sfu;
        "convert" "a conversion between integers and floats, or a saturation" [F2s F2u S2f U2f Ext] number;
        "half" "`fcvt` between f32 and f16" [Fcvt] half;
        "half.bits" "a half's bits as a word" [Ext] half_bits;
        "range" "the range reductions before sin, cos and ex2" [Ext] range;
        "sine" "sin, cos and ex2 of a reduced argument" [Ext] sine;
        "fmul.rz" "a product rounded towards zero" [Ext] fmul_rz;
        "shift" "a shift, its count a constant or a register" [Ishl Ushr Sshr Ext] shift;
        "ineg" "`ineg`: subtraction from zero" [Ineg] ineg;
        "isum" "`iadd`, `isub` as add, sub or subr" [Iadd Isub] isum;
        "imul.shift" "a product by a power of two: a shift" [Imul] imul_shift;
        "imul.zero" "a product by 0" [Imul] imul_zero;
        "imul.24" "a product of values that are known to have 24 bits" [Imul] imul_24;
        "imul.sum" "a product by 2^n ± 1: a shift and a sum" [Imul] imul_sum;
        "imul.16" "a product by a constant of 16 bits: two pieces" [Imul] imul_16;
        "imul.32" "a product of 32 bits: three pieces" [Imul] imul_32;
        "umulhi" "the upper half of a product, with two carries" [Umulhi] umulhi;
        "iminmax" "integer minimum and maximum" [Umin Umax Smin Smax] iminmax;
        "logic" "`and`, `or`, `xor` of words or masks" [Iand Ior Ixor] logic;
        "not" "`not`: a move of the inverted operand" [Inot] not;
        "select.sign" "`select` on a comparison with 0: slct on the sign" [Select] select_sign;
        "select.value" "`select` by a mask or a predicated move" [Select] select_value;
        "barrier" "`barrier`" [Barrier] barrier;
        "derivative" "`ddx`, `ddy`: quadop with the neighbour" [Ddx Ddy] derivative;
        "discard" "`discard` under its condition" [Discard] discard;
        "emit" "`emit_vertex`" [EmitVertex] emit_vertex;
        "restart" "`end_primitive`" [EndPrimitive] end_primitive;
    };

    fn data(&self, i: Inst) -> &'a InstData {
        &self.func.insts[i]
    }
    /// The name of a machine operation.
    fn machine(d: &InstData) -> &str {
        if let Imm::Ext(name) = &d.imm { name } else { "" }
    }

    fn fadd(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (sat, v) = self.saturated(d.results[0]);
        let mut m = [self.modified(d.args[0], false)?, self.modified(d.args[1], false)?];
        if d.op == Opcode::Fsub {
            match &mut m[1].src {
                Src::Imm(k) => *k ^= 0x8000_0000,
                _ => m[1].neg = !m[1].neg,
            }
        }
        // The long form has its second operand in slot 3.
        self.arrange(&mut m, FULL);
        let dst = self.define(v);
        self.emit(signs2(MInst::new(Op::Fadd, dst, &[m[0].src, m[1].src]), &m).with(field!(sat), sat));
        Ok(true)
    }
    fn fmul(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (sat, v) = if self.chip.sm12 { self.saturated(d.results[0]) } else { (false, d.results[0]) };
        let mut m = [self.modified(d.args[0], false)?, self.modified(d.args[1], false)?];
        self.arrange(&mut m, FULL);
        let dst = self.define(v);
        self.emit(signs2(MInst::new(Op::Fmul, dst, &[m[0].src, m[1].src]), &m).with(field!(sat), sat));
        Ok(true)
    }
    fn fmad(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (sat, v) = self.saturated(d.results[0]);
        let mut m = [self.modified(d.args[0], false)?, self.modified(d.args[1], false)?, self.modified(d.args[2], false)?];
        let tie = self.dies_here(d.args[2], &m[2]);
        self.arrange(&mut m, Accepts { c3: true, imm: tie, ..FULL });
        let imm = matches!(m[1].src, Src::Imm(k) if k != 0);
        let dst = self.define(v);
        let tie = tie && matches!(m[2].src, Src::Reg(..));
        if imm && !tie {
            m[1].src = Src::reg(self.in_register(m[1].src));
        }
        let i = MInst { tie3: tie, ..MInst::new(Op::Fmad, dst, &[m[0].src, m[1].src, m[2].src]) };
        self.emit(i.with(field!(neg1), m[0].neg ^ m[1].neg).with(field!(neg2), m[2].neg).with(field!(sat), sat));
        Ok(true)
    }
    fn fminmax(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let mut m = [self.modified(d.args[0], true)?, self.modified(d.args[1], true)?];
        self.arrange(&mut m, Accepts { imm: false, ..FULL });
        let dst = self.define(d.results[0]);
        let op = if d.op == Opcode::Fmin { Op::Fmin } else { Op::Fmax };
        self.emit(signs2(MInst::new(op, dst, &[m[0].src, m[1].src]), &m));
        Ok(true)
    }
    fn round(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let rnd = match d.op {
            Opcode::Ffloor => Whole::Down,
            Opcode::Fceil => Whole::Up,
            Opcode::Ftrunc => Whole::Zero,
            _ => Whole::Nearest,
        };
        self.note("convert");
        self.convert(Op::CvtInt(Ty::F32, Ty::F32), d, &|i| i.with(field!(rnd), rnd))
    }
    fn sfu(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let m = self.modified(d.args[0], true)?;
        let a = self.in_register(m.src);
        let dst = self.define(d.results[0]);
        let op = match d.op {
            Opcode::Frcp => Op::Rcp,
            Opcode::Frsqrt => Op::Rsqrt,
            _ => Op::Lg2,
        };
        self.emit(MInst::new(op, dst, &[Src::reg(a)]).with(field!(neg1), m.neg).with(field!(abs1), m.abs));
        Ok(true)
    }

    // ---- conversions

    fn number(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        const TO_INT: Op = Op::Cvt(Ty::W, Ty::F32);
        const FROM_INT: Op = Op::Cvt(Ty::F32, Ty::H);
        match (d.op, Self::machine(d)) {
            (Opcode::F2s, _) => self.convert(TO_INT, d, &|i| i.with(field!(rnd), Whole::Zero).with(field!(dty), true)),
            (Opcode::F2u, _) => self.convert(TO_INT, d, &|i| i.with(field!(rnd), Whole::Zero)),
            (Opcode::S2f, _) => self.convert(FROM_INT, d, &|i| i.with(field!(sty), IntType::S32)),
            (Opcode::U2f, _) => self.convert(FROM_INT, d, &|i| i.with(field!(sty), IntType::U32)),
            (_, "tesla.sat") => self.convert(Op::Cvt(Ty::F32, Ty::F32), d, &|i| i.with(field!(sat), true)),
            (_, "tesla.f2u_rn") => self.convert(TO_INT, d, &|i| i),
            (_, "tesla.f2s_rn") => self.convert(TO_INT, d, &|i| i.with(field!(dty), true)),
            (_, "tesla.u2f_rz") => self.convert(FROM_INT, d, &|i| i.with(field!(sty), IntType::U32).with(field!(rnd), Rounding::Zero)),
            _ => Ok(false),
        }
    }
    fn half(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let to_half = self.func.ty(d.results[0]).scalar == Scalar::F16;
        self.note("convert");
        self.convert(if to_half { Op::Cvt(Ty::F16, Ty::F32) } else { Op::Cvt(Ty::F32, Ty::F16) }, d, &|i| i)
    }
    fn convert(&mut self, op: Op, d: &InstData, modify: &dyn Fn(MInst) -> MInst) -> Taken {
        let float_source = matches!(op, Op::Cvt(_, Ty::F32) | Op::CvtInt(_, Ty::F32));
        let mut m = if float_source { self.modified(d.args[0], true)? } else { self.plain(d.args[0])? };
        if matches!(m.src, Src::C(..) | Src::Imm(_)) || !matches!(m.src, Src::Reg(..) | Src::A(_)) {
            m.src = Src::reg(self.in_register(m.src));
        }
        if let (Op::Cvt(_, Ty::F16), Src::Reg(r, _)) = (op, m.src) {
            m.src = Src::Reg(r, Part::Low);
        }
        let v = d.results[0];
        let dst = match op {
            Op::Cvt(Ty::F16, _) => Dst::Half(Reg::Virtual(self.new_value(v))),
            _ => self.define(v),
        };
        self.emit(modify(MInst::new(op, dst, &[m.src]).with(field!(neg1), m.neg).with(field!(abs1), m.abs)));
        Ok(true)
    }
    fn half_bits(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        if Self::machine(d) != "tesla.half_bits" {
            return Ok(false);
        }
        let a = self.register(d.args[0])?;
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(Op::Logic, dst, &[Src::reg(a), Src::Imm(0xffff)]).with(field!(lop), LogicOp::And));
        Ok(true)
    }

    // ---- what only this machine has

    fn range(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let op = match Self::machine(d) {
            "tesla.presin" => Op::Presin,
            "tesla.preex2" => Op::Preex2,
            _ => return Ok(false),
        };
        let mut m = self.modified(d.args[0], true)?;
        m.src = Src::reg(self.in_register(m.src));
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(op, dst, &[m.src]).with(field!(neg1), m.neg).with(field!(abs1), m.abs));
        Ok(true)
    }
    fn sine(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let op = match Self::machine(d) {
            "tesla.sin" => Op::Sin,
            "tesla.cos" => Op::Cos,
            "tesla.ex2" => Op::Ex2,
            _ => return Ok(false),
        };
        let a = self.register(d.args[0])?;
        let (sat, v) = if op == Op::Ex2 { self.saturated(d.results[0]) } else { (false, d.results[0]) };
        let dst = self.define(v);
        self.emit(MInst::new(op, dst, &[Src::reg(a)]).with(field!(sat), sat));
        Ok(true)
    }
    fn fmul_rz(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        if Self::machine(d) != "tesla.fmul_rz" {
            return Ok(false);
        }
        let mut m = [self.modified(d.args[0], false)?, self.modified(d.args[1], false)?];
        self.arrange(&mut m, Accepts { imm: false, ..FULL });
        let dst = self.define(d.results[0]);
        self.emit(signs2(MInst::new(Op::Fmul, dst, &[m[0].src, m[1].src]), &m).with(field!(rnd), Rounding::Zero));
        Ok(true)
    }

    // ---- integers

    fn shift(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (op, arithmetic) = match (d.op, Self::machine(d)) {
            (Opcode::Ishl, _) | (_, "tesla.shl") => (Op::Shl, false),
            (Opcode::Ushr, _) | (_, "tesla.shr") => (Op::Shr, false),
            (Opcode::Sshr, _) | (_, "tesla.sar") => (Op::Shr, true),
            _ => return Ok(false),
        };
        let a = self.register(d.args[0])?;
        let n = match self.bits(d.args[1]) {
            Some(k) => Src::Imm(k.min(127)),
            None => Src::reg(self.register(d.args[1])?),
        };
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(op, dst, &[Src::reg(a), n]).with(field!(sg), arithmetic));
        Ok(true)
    }
    fn ineg(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let a = self.register(d.args[0])?;
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(Op::Add, dst, &[Src::reg(a), Src::Imm(0)]).with(field!(addop), AddOp::Subr));
        Ok(true)
    }
    fn isum(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let mut addop = AddOp::Add;
        let mut m = [self.plain(d.args[0])?, self.plain(d.args[1])?];
        if d.op == Opcode::Isub {
            addop = AddOp::Sub;
            if let Src::Imm(k) = m[1].src {
                m[1].src = Src::Imm(k.wrapping_neg());
                addop = AddOp::Add;
            } else if matches!(m[0].src, Src::Imm(_) | Src::C(..)) {
                // s1 - s2 read the other way round.
                m.swap(0, 1);
                addop = AddOp::Subr;
            }
        }
        self.arrange(&mut m, Accepts { swap: addop == AddOp::Add, ..FULL });
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(Op::Add, dst, &[m[0].src, m[1].src]).with(field!(addop), addop));
        Ok(true)
    }

    /// The factors of a product, a constant last, and that constant.
    fn factors(&self, d: &InstData) -> (Value, Value, Option<u32>) {
        let (x, y) = if self.bits(d.args[0]).is_some() { (d.args[1], d.args[0]) } else { (d.args[0], d.args[1]) };
        (x, y, self.bits(y))
    }
    fn imul_shift(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (x, _, k) = self.factors(d);
        let Some(k) = k.filter(|k| k.is_power_of_two()) else { return Ok(false) };
        let a = self.register(x)?;
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(Op::Shl, dst, &[Src::reg(a), Src::Imm(k.trailing_zeros())]));
        Ok(true)
    }
    fn imul_zero(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        if self.factors(d).2 != Some(0) {
            return Ok(false);
        }
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(Op::Mov, dst, &[Src::Imm(0)]));
        Ok(true)
    }
    fn imul_24(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (x, y, k) = self.factors(d);
        let ranges = self.facts.ranges.get_or_init(|| Ranges::new(self.module, self.func));
        let (rx, ry) = (ranges.range_at(x, self.here.block), ranges.range_at(y, self.here.block));
        let within = |r: Range, lo: i64, hi: i64| r.lo >= lo && r.hi <= hi;
        let unsigned24 = within(rx, 0, 0xff_ffff) && within(ry, 0, 0xff_ffff);
        let signed24 = within(rx, -0x80_0000, 0x7f_ffff) && within(ry, -0x80_0000, 0x7f_ffff);
        if !unsigned24 && !signed24 {
            return Ok(false);
        }
        let a = self.register(x)?;
        let b = match k {
            Some(k) => Src::Imm(k),
            None => Src::reg(self.register(y)?),
        };
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(Op::Mul24, dst, &[Src::reg(a), b]).with(field!(sg), !unsigned24));
        Ok(true)
    }
    fn imul_sum(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (x, _, k) = self.factors(d);
        let Some(k) = k else { return Ok(false) };
        let near = [(k.wrapping_sub(1), AddOp::Add), (k.wrapping_add(1), AddOp::Sub)];
        let Some((n, addop)) = near.into_iter().find(|c| c.0.is_power_of_two()) else { return Ok(false) };
        let a = self.register(x)?;
        let t = self.fresh();
        self.emit(MInst::new(Op::Shl, Dst::Reg(t), &[Src::reg(a), Src::Imm(n.trailing_zeros())]));
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(Op::Add, dst, &[Src::reg(t), Src::reg(a)]).with(field!(addop), addop));
        Ok(true)
    }
    /// a.h × k << 16, plus a.l × k.
    fn imul_16(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (x, _, k) = self.factors(d);
        let Some(k) = k.filter(|k| *k <= 0xffff) else { return Ok(false) };
        let a = self.register(x)?;
        let k = if self.half_immediates { Src::Imm(k) } else { Src::Reg(self.in_register(Src::Imm(k)), Part::Low) };
        let t = self.fresh();
        self.emit(MInst::new(Op::Mul16, Dst::Reg(t), &[Src::Reg(a, Part::High), k]));
        let t2 = self.fresh();
        self.emit(MInst::new(Op::Shl, Dst::Reg(t2), &[Src::reg(t), Src::Imm(16)]));
        let r = Reg::Virtual(self.new_value(d.results[0]));
        self.emit(MInst { tie3: true, ..MInst::new(Op::MadU16, Dst::Reg(r), &[Src::Reg(a, Part::Low), k, Src::reg(t2)]) });
        Ok(true)
    }
    fn imul_32(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (x, y, _) = self.factors(d);
        let (a, b) = (self.register(x)?, self.register(y)?);
        let half = Src::Reg;
        let t = self.fresh();
        self.emit(MInst::new(Op::Mul16, Dst::Reg(t), &[half(a, Part::High), half(b, Part::Low)]));
        let t1 = self.fresh();
        self.emit(MInst { tie3: true, ..MInst::new(Op::MadU16, Dst::Reg(t1), &[half(a, Part::Low), half(b, Part::High), Src::reg(t)]) });
        let t2 = self.fresh();
        self.emit(MInst::new(Op::Shl, Dst::Reg(t2), &[Src::reg(t1), Src::Imm(16)]));
        let r = Reg::Virtual(self.new_value(d.results[0]));
        self.emit(MInst { tie3: true, ..MInst::new(Op::MadU16, Dst::Reg(r), &[half(a, Part::Low), half(b, Part::Low), Src::reg(t2)]) });
        Ok(true)
    }
    fn umulhi(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (a, b) = (self.register(d.args[0])?, self.register(d.args[1])?);
        let half = |r: Reg, p: Part| Src::Reg(r, p);
        let (hi, lo) = (Part::High, Part::Low);
        let t = self.fresh();
        self.emit(MInst::new(Op::Mul16, Dst::Reg(t), &[half(a, hi), half(b, lo)]));
        let (t1, c0) = (self.fresh(), self.fresh_flag());
        self.emit(MInst { cdst: Some(c0), ..MInst::new(Op::MadU16, Dst::Reg(t1), &[half(a, lo), half(b, hi), Src::reg(t)]) });
        let r0 = self.fresh();
        self.emit(MInst::new(Op::Shr, Dst::Reg(r0), &[Src::reg(t1), Src::Imm(16)]));
        let k = self.in_register(Src::Imm(0x1_0000));
        let r1 = self.fresh();
        // Where the middle sum carried, its weight is 2^32.
        self.emit(MInst {
            pred: Some((c0, Cond::Carry)),
            tied: Some(r0),
            ..MInst::new(Op::Add, Dst::Reg(r1), &[Src::reg(r0), Src::reg(k)])
        });
        let t2 = self.fresh();
        self.emit(MInst::new(Op::Shl, Dst::Reg(t2), &[Src::reg(t1), Src::Imm(16)]));
        let c1 = self.fresh_flag();
        self.emit(MInst { cdst: Some(c1), ..MInst::new(Op::MadU16, Dst::Discard, &[half(a, lo), half(b, lo), Src::reg(t2)]) });
        let r = Reg::Virtual(self.new_value(d.results[0]));
        let last = MInst { carry: Some(c1), ..MInst::new(Op::MadU16, Dst::Reg(r), &[half(a, hi), half(b, hi), Src::reg(r1)]) };
        self.emit(last.with(field!(addop), AddOp::Addc));
        Ok(true)
    }
    fn iminmax(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let mut m = [self.plain(d.args[0])?, self.plain(d.args[1])?];
        self.arrange(&mut m, Accepts { imm: false, ..FULL });
        let dst = self.define(d.results[0]);
        let op = if matches!(d.op, Opcode::Umin | Opcode::Smin) { Op::Min } else { Op::Max };
        self.emit(MInst::new(op, dst, &[m[0].src, m[1].src]).with(field!(sg), matches!(d.op, Opcode::Smin | Opcode::Smax)));
        Ok(true)
    }
    fn logic(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (a, b) = if self.func.ty(d.results[0]).scalar == Scalar::I1 {
            (Src::reg(self.mask(d.args[0])?), Src::reg(self.mask(d.args[1])?))
        } else {
            let mut m = [self.plain(d.args[0])?, self.plain(d.args[1])?];
            self.arrange(&mut m, Accepts { mem: false, ..FULL });
            (m[0].src, m[1].src)
        };
        let lop = match d.op {
            Opcode::Iand => LogicOp::And,
            Opcode::Ior => LogicOp::Or,
            _ => LogicOp::Xor,
        };
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(Op::Logic, dst, &[a, b]).with(field!(lop), lop));
        Ok(true)
    }
    /// Flags and comparisons are inverted by their users.
    fn not(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let v = d.results[0];
        let a = if self.func.ty(v).scalar == Scalar::I1 { self.mask(d.args[0])? } else { self.register(d.args[0])? };
        let dst = self.define(v);
        let i = MInst::new(Op::Logic, dst, &[Src::reg(a), Src::reg(a)]);
        self.emit(i.with(field!(lop), LogicOp::Second).with(field!(not2), true));
        Ok(true)
    }

    // ---- selections

    fn select_sign(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (v, c, mut a, mut b) = (d.results[0], self.func.resolve(d.args[0]), d.args[1], d.args[2]);
        let boolean = self.func.ty(v).scalar == Scalar::I1;
        if !boolean
            && let Some(cmp) = self.def(c)
            && cmp.op == Opcode::Fcmp
            && self.bits(cmp.args[1]).is_some_and(|z| z & 0x7fff_ffff == 0)
            && self.func.ty(cmp.args[0]).scalar == Scalar::F32
            && let Imm::FloatCC(cc) = cmp.imm
            && let Some((swap, neg)) = match cc {
                FloatCC::Oge => Some((false, false)),
                FloatCC::Ult => Some((true, false)),
                FloatCC::Ole => Some((false, true)),
                FloatCC::Ugt => Some((true, true)),
                _ => None,
            }
        {
            let x = cmp.args[0];
            if swap {
                std::mem::swap(&mut a, &mut b);
            }
            let mut m = [self.plain(a)?, self.plain(b)?, self.modified(x, false)?];
            self.arrange(&mut m, Accepts { mem: true, c2: true, c3: true, imm: false, swap: false });
            let dst = self.define(v);
            self.emit(MInst::new(Op::Slct, dst, &[m[0].src, m[1].src, m[2].src]).with(field!(neg3), m[2].neg ^ neg));
            return Ok(true);
        }
        Ok(false)
    }
    fn select_value(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let (v, c, a, b) = (d.results[0], self.func.resolve(d.args[0]), d.args[1], d.args[2]);
        let boolean = self.func.ty(v).scalar == Scalar::I1;
        let (sa, sb) = if boolean { (Src::reg(self.mask(a)?), Src::reg(self.mask(b)?)) } else { (self.operand(a)?, self.operand(b)?) };
        // A constant or zero is a masked constant.
        if let (Src::Imm(k), Src::Imm(0)) | (Src::Imm(0), Src::Imm(k)) = (sa, sb)
            && !boolean
            && self.def(c).is_some_and(|d| matches!(d.op, Opcode::Fcmp | Opcode::Icmp))
        {
            self.note("select.mask");
            let m = if matches!(sb, Src::Imm(0)) {
                self.mask(c)?
            } else {
                let r = self.fresh();
                self.compare(c, Dst::Reg(r), None, true)?;
                r
            };
            let dst = self.define(v);
            self.emit(MInst::new(Op::Logic, dst, &[Src::reg(m), Src::Imm(k)]).with(field!(lop), LogicOp::And));
            return Ok(true);
        }
        // One of two constants is a mask that turns one into the other; a constant that is in a register already is cheaper moved.
        if let (Src::Imm(x), Src::Imm(y)) = (sa, sb)
            && !boolean
            && !self.is_constant_loaded(x)
            && !self.is_constant_loaded(y)
            && self.def(c).is_some_and(|d| matches!(d.op, Opcode::Fcmp | Opcode::Icmp))
        {
            self.note("select.mask");
            let m = self.mask(c)?;
            let t = self.fresh();
            self.emit(MInst::new(Op::Logic, Dst::Reg(t), &[Src::reg(m), Src::Imm(x ^ y)]).with(field!(lop), LogicOp::And));
            let dst = self.define(v);
            self.emit(MInst::new(Op::Logic, dst, &[Src::reg(t), Src::Imm(y)]).with(field!(lop), LogicOp::Xor));
            return Ok(true);
        }
        self.note("select.move");
        let (flag, mut code) = self.flag(c)?;
        // The value kept where the condition is false: rather one that dies here, or a constant (loaded fresh anyway).
        let dies = |s: &Self, x: Value| {
            let x = s.func.resolve(x);
            // A load could stand under the predicate itself; a varying or a texel cannot.
            let lane = match s.def(x).map(|d| (&d.imm, d.args.first())) {
                Some((Imm::Lane(l), Some(vec))) => {
                    let place = (s.func.resolve(*vec), *l);
                    let fixed = s.def(place.0).is_some_and(|d| matches!(d.op, Opcode::Input | Opcode::Tex));
                    fixed && s.lanes.contains_key(&place) && s.facts.lane_uses.get(&place) == Some(&1)
                }
                _ => false,
            };
            (s.regs[x].is_some() || lane) && s.facts.uses[x] == 1
        };
        let (mut keep, mut take) = ((b, sb), (a, sa));
        let register = |s: &Src| matches!(s, Src::Reg(..));
        let exchange = (dies(self, a) && !dies(self, b)) || (register(&keep.1) && !register(&take.1) && !dies(self, b));
        if exchange {
            std::mem::swap(&mut keep, &mut take);
            code = code.inverse();
        }
        let old = match keep.1 {
            Src::Reg(r, _) => r,
            s => {
                let r = self.fresh();
                match s {
                    Src::C(..) => self.emit(MInst::new(Op::LdC, Dst::Reg(r), &[s]).with(field!(w), true)),
                    s => self.emit(MInst::new(Op::Mov, Dst::Reg(r), &[s])),
                }
                r
            }
        };
        let take = match take.1 {
            s @ (Src::Reg(..) | Src::A(_) | Src::Imm(0)) => s,
            s => Src::reg(self.in_register(s)),
        };
        let r = Reg::Virtual(self.new_value(v));
        self.emit(MInst { pred: Some((flag, code)), tied: Some(old), ..MInst::new(Op::Mov, Dst::Reg(r), &[take]) });
        Ok(true)
    }

    // ---- effects and neighbours

    fn barrier(&mut self, _: Inst) -> Taken {
        self.emit(MInst { extra: Extra::Bar, ..MInst::new(Op::Bar, Dst::None, &[]) });
        Ok(true)
    }
    fn derivative(&mut self, i: Inst) -> Taken {
        use QuadOp::{Sub, Subr};
        let d = self.data(i);
        let a = self.register(d.args[0])?;
        let dst = self.define(d.results[0]);
        let (lane, ops) = match d.op {
            Opcode::Ddx => (QuadLane::Dx, [Sub, Subr, Sub, Subr]),
            _ => (QuadLane::Dy, [Sub, Sub, Subr, Subr]),
        };
        self.emit(MInst { extra: Extra::Quad(lane, ops), ..MInst::new(Op::Quadop, dst, &[Src::reg(a), Src::reg(a)]) });
        Ok(true)
    }
    fn discard(&mut self, i: Inst) -> Taken {
        let condition = self.data(i).args[0];
        let pred = match self.bits(condition) {
            Some(0) => return Ok(true),
            Some(_) => None,
            None => Some(self.flag(condition)?),
        };
        self.emit(MInst { pred, ..MInst::new(Op::Discard, Dst::None, &[]) });
        Ok(true)
    }
    fn emit_vertex(&mut self, _: Inst) -> Taken {
        self.emit(MInst::new(Op::Emit, Dst::None, &[]));
        Ok(true)
    }
    fn end_primitive(&mut self, _: Inst) -> Taken {
        self.emit(MInst::new(Op::Restart, Dst::None, &[]));
        Ok(true)
    }

    // ---- parts

    /// Whether a result is saturated by its only user; then the user's value is what gets defined.
    fn saturated(&mut self, v: Value) -> (bool, Value) {
        if let Some((u, b)) = self.facts.user[v]
            && Some(b) == self.facts.home[v]
            && matches!(&self.func.insts[u].imm, Imm::Ext(n) if &**n == "tesla.sat")
        {
            self.note("saturate.folded");
            self.covered[u] = true;
            return (true, self.func.insts[u].results[0]);
        }
        (false, v)
    }
    /// Whether a value's register can be reused for the result: its last use is here.
    fn dies_here(&self, v: Value, m: &Mod) -> bool {
        let v = self.func.resolve(v);
        let direct = self.regs[v].is_some();
        matches!(m.src, Src::Reg(..)) && direct && self.facts.uses[v] == 1 && self.facts.home[v] == Some(self.here.block)
    }
}
