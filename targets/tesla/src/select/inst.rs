//! Selection patterns, one per IR operation, largest first.

use crate::isa::op::{Op, Ty};
use crate::select::mir::*;
use crate::select::{Accepts, Lower, Mod, signs2};
use retroshade_ir::{Binding, Builtin, FloatCC, Imm, Inst, InstData, Interpolation, MemRef, Opcode, Sampling, Scalar, Stage, Value};
use retroshade_lower::{CompileError, Reg};
use smallvec::SmallVec;

const FULL: Accepts = Accepts { mem: true, c2: true, c3: false, imm: true, swap: true };

fn internal(what: impl Into<String>) -> CompileError {
    CompileError::Internal(what.into())
}

impl Lower<'_> {
    /// Selects one instruction that is no terminator.
    pub(crate) fn inst(&mut self, i: Inst) -> Result<(), CompileError> {
        use Opcode::*;
        if self.covered[i] {
            return Ok(());
        }
        let d = self.func.insts[i].clone();
        if d.op.is_removable() && d.results.iter().all(|r| self.uses[*r] == 0) {
            return Ok(());
        }
        let result = d.results.first().copied();
        match d.op {
            // Named where they are used.
            Const | Undef | Fneg | Fabs | Fcmp | Icmp | Build | Extract | Bitcast | Splat | Insert | Shuffle => Ok(()),
            Uniform if d.args.is_empty() => Ok(()),
            Input => self.input(&d),
            Ext => self.machine_operation(&d),
            Fadd | Fsub => {
                self.fired("fadd");
                let (sat, v) = self.saturated(result);
                let mut m = [self.modified(d.args[0], false)?, self.modified(d.args[1], false)?];
                if d.op == Fsub {
                    match &mut m[1].src {
                        Src::Imm(k) => *k ^= 0x8000_0000,
                        _ => m[1].neg = !m[1].neg,
                    }
                }
                // The long form has its second operand in slot 3.
                self.arrange(&mut m, FULL);
                let dst = self.define(v);
                self.emit(signs2(MInst::new(Op::Fadd, dst, &[m[0].src, m[1].src]), &m).with("sat", sat));
                Ok(())
            }
            Fmul => {
                self.fired("fmul");
                let (sat, v) = if self.chip.sm12 { self.saturated(result) } else { (0, result.ok_or_else(|| internal("fmul"))?) };
                let mut m = [self.modified(d.args[0], false)?, self.modified(d.args[1], false)?];
                self.arrange(&mut m, FULL);
                let dst = self.define(v);
                self.emit(signs2(MInst::new(Op::Fmul, dst, &[m[0].src, m[1].src]), &m).with("sat", sat));
                Ok(())
            }
            Fmad => {
                self.fired("fmad");
                let (sat, v) = self.saturated(result);
                let mut m = [self.modified(d.args[0], false)?, self.modified(d.args[1], false)?, self.modified(d.args[2], false)?];
                let tie = self.dies_here(d.args[2], &m[2]);
                self.arrange(&mut m, Accepts { c3: true, imm: tie, ..FULL });
                let imm = matches!(m[1].src, Src::Imm(k) if k != 0);
                let dst = self.define(v);
                let tie = tie && matches!(dst, Dst::Reg(_)) && matches!(m[2].src, Src::Reg(..));
                if imm && !tie {
                    m[1].src = Src::reg(self.in_register(m[1].src));
                }
                let i = MInst { tie3: tie, ..MInst::new(Op::Fmad, dst, &[m[0].src, m[1].src, m[2].src]) };
                self.emit(i.with("neg1", (m[0].neg ^ m[1].neg) as u8).with("neg2", m[2].neg as u8).with("sat", sat));
                Ok(())
            }
            Fmin | Fmax => {
                self.fired("fminmax");
                let mut m = [self.modified(d.args[0], true)?, self.modified(d.args[1], true)?];
                self.arrange(&mut m, Accepts { imm: false, ..FULL });
                let dst = self.define(result.ok_or_else(|| internal("min"))?);
                let op = if d.op == Fmin { Op::Fmin } else { Op::Fmax };
                self.emit(signs2(MInst::new(op, dst, &[m[0].src, m[1].src]), &m));
                Ok(())
            }
            Ffloor | Fceil | Ftrunc | Fround => {
                self.fired("round");
                let rnd = match d.op {
                    Ffloor => 1,
                    Fceil => 2,
                    Ftrunc => 3,
                    _ => 0,
                };
                self.convert(Op::CvtInt(Ty::F32, Ty::F32), &d, &[("rnd", rnd)])
            }
            Frcp | Frsqrt | Flog2 => {
                self.fired("sfu");
                let m = self.modified(d.args[0], true)?;
                let a = self.in_register(m.src);
                let dst = self.define(result.ok_or_else(|| internal("rcp"))?);
                let op = match d.op {
                    Frcp => Op::Rcp,
                    Frsqrt => Op::Rsqrt,
                    _ => Op::Lg2,
                };
                self.emit(MInst::new(op, dst, &[Src::reg(a)]).with("neg1", m.neg as u8).with("abs1", m.abs as u8));
                Ok(())
            }
            F2s | F2u => self.convert(Op::Cvt(Ty::W, Ty::F32), &d, &[("rnd", 3), ("dty", (d.op == F2s) as u8)]),
            S2f | U2f => self.convert(Lower::F32_FROM_INT, &d, &[("sty", Lower::int_source(d.op == S2f))]),
            Fcvt => {
                self.fired("half");
                let to = self.func.ty(result.ok_or_else(|| internal("fcvt"))?).scalar;
                if to == Scalar::F16 {
                    self.convert(Op::Cvt(Ty::F16, Ty::F32), &d, &[])
                } else {
                    self.convert(Op::Cvt(Ty::F32, Ty::F16), &d, &[])
                }
            }
            Iadd | Isub | Ineg => self.integer_sum(&d),
            Imul => self.product(&d),
            Umulhi => self.high_product(&d),
            Iand | Ior | Ixor if self.func.ty(result.ok_or_else(|| internal("logic"))?).scalar == Scalar::I1 => {
                let (a, b) = (self.mask(d.args[0])?, self.mask(d.args[1])?);
                self.logic(&d, Src::reg(a), Src::reg(b))
            }
            Iand | Ior | Ixor => {
                let mut m = [self.plain(d.args[0])?, self.plain(d.args[1])?];
                self.arrange(&mut m, Accepts { imm: true, swap: true, ..Accepts::default() });
                self.logic(&d, m[0].src, m[1].src)
            }
            Inot => {
                self.fired("not");
                let v = result.ok_or_else(|| internal("not"))?;
                let boolean = self.func.ty(v).scalar == Scalar::I1;
                // Flags and comparisons are inverted by their users.
                let a = if boolean { self.mask(d.args[0])? } else { self.register(d.args[0])? };
                let dst = self.define(v);
                self.emit(MInst::new(Op::Logic, dst, &[Src::reg(a), Src::reg(a)]).with("lop", 3).with("not2", 1));
                Ok(())
            }
            Ishl => self.shift(&d, Op::Shl, 0),
            Ushr => self.shift(&d, Op::Shr, 0),
            Sshr => self.shift(&d, Op::Shr, 1),
            Umin | Umax | Smin | Smax => {
                self.fired("iminmax");
                let mut m = [self.plain(d.args[0])?, self.plain(d.args[1])?];
                self.arrange(&mut m, Accepts { imm: false, ..FULL });
                let dst = self.define(result.ok_or_else(|| internal("min"))?);
                let op = if matches!(d.op, Umin | Smin) { Op::Min } else { Op::Max };
                self.emit(MInst::new(op, dst, &[m[0].src, m[1].src]).with("sg", matches!(d.op, Smin | Smax) as u8));
                Ok(())
            }
            Select => self.choose(&d),
            Output => self.output(&d),
            Uniform | LocalLoad | LocalStore | SharedLoad | SharedStore | StorageLoad | StorageStore | StorageLen | Atomic => {
                self.memory(&d)
            }
            Barrier => {
                self.fired("barrier");
                self.abi_barrier();
                self.emit(MInst { extra: Extra::Bar, ..MInst::new(Op::Bar, Dst::None, &[]) });
                Ok(())
            }
            Ddx | Ddy => {
                self.fired("derivative");
                let a = self.register(d.args[0])?;
                let dst = self.define(result.ok_or_else(|| internal("derivative"))?);
                // 1 = own minus other, 2 = other minus own.
                let (lane, ops) = if d.op == Ddx { (4, [2, 1, 2, 1]) } else { (5, [2, 2, 1, 1]) };
                self.emit(MInst { extra: Extra::Quad(lane, ops), ..MInst::new(Op::Quadop, dst, &[Src::reg(a), Src::reg(a)]) });
                Ok(())
            }
            Discard => {
                self.fired("discard");
                let always = self.bits(d.args[0]);
                if always == Some(0) {
                    return Ok(());
                }
                let pred = if always.is_some() { None } else { Some(self.flag(d.args[0])?) };
                self.emit(MInst { pred, ..MInst::new(Op::Discard, Dst::None, &[]) });
                Ok(())
            }
            EmitVertex => {
                self.fired("emit");
                self.emit(MInst::new(Op::Emit, Dst::None, &[]));
                Ok(())
            }
            EndPrimitive => {
                self.fired("restart");
                self.emit(MInst::new(Op::Restart, Dst::None, &[]));
                Ok(())
            }
            Tex => self.texture(&d),
            _ => Err(CompileError::unsupported("T0012", self.span, format!("`{}` is not available on this machine", d.op.name()))),
        }
    }

    fn abi_barrier(&mut self) {}

    /// Whether a result is saturated by its only user; then the user's value is what gets defined.
    fn saturated(&mut self, result: Option<Value>) -> (u8, Value) {
        let v = result.unwrap_or(Value::from_u32(0));
        if let Some((u, b)) = self.user[v]
            && Some(b) == self.home[v]
            && matches!(&self.func.insts[u].imm, Imm::Ext(n) if &**n == "tesla.sat")
        {
            self.fired("saturate.folded");
            self.covered[u] = true;
            return (1, self.func.insts[u].results[0]);
        }
        (0, v)
    }
    /// Whether a value's register can be reused for the result: its last use is here.
    fn dies_here(&self, v: Value, m: &Mod) -> bool {
        let v = self.func.resolve(v);
        let direct = self.regs[v].is_some();
        matches!(m.src, Src::Reg(..)) && direct && self.uses[v] == 1 && self.home[v] == Some(self.block)
    }

    fn convert(&mut self, op: Op, d: &InstData, mods: &[(&'static str, u8)]) -> Result<(), CompileError> {
        self.fired("convert");
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
        let mut i = MInst::new(op, dst, &[m.src]).with("neg1", m.neg as u8).with("abs1", m.abs as u8);
        for (f, x) in mods {
            i = i.with(f, *x);
        }
        self.emit(i);
        Ok(())
    }
    fn logic(&mut self, d: &InstData, a: Src, b: Src) -> Result<(), CompileError> {
        self.fired("logic");
        let lop = match d.op {
            Opcode::Iand => 0,
            Opcode::Ior => 1,
            _ => 2,
        };
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(Op::Logic, dst, &[a, b]).with("lop", lop));
        Ok(())
    }
    fn shift(&mut self, d: &InstData, op: Op, sg: u8) -> Result<(), CompileError> {
        self.fired("shift");
        let a = self.register(d.args[0])?;
        let n = match self.bits(d.args[1]) {
            Some(k) => Src::Imm(k.min(127)),
            None => Src::reg(self.register(d.args[1])?),
        };
        let dst = self.define(d.results[0]);
        self.emit(MInst::new(op, dst, &[Src::reg(a), n]).with("sg", sg));
        Ok(())
    }

    fn integer_sum(&mut self, d: &InstData) -> Result<(), CompileError> {
        let v = d.results[0];
        if d.op == Opcode::Ineg {
            self.fired("ineg");
            let a = self.register(d.args[0])?;
            let dst = self.define(v);
            self.emit(MInst::new(Op::Add, dst, &[Src::reg(a), Src::Imm(0)]).with("addop", 2));
            return Ok(());
        }
        self.fired("isum");
        let mut addop = 0;
        let mut m = [self.plain(d.args[0])?, self.plain(d.args[1])?];
        if d.op == Opcode::Isub {
            addop = 1;
            if let Src::Imm(k) = m[1].src {
                m[1].src = Src::Imm(k.wrapping_neg());
                addop = 0;
            } else if matches!(m[0].src, Src::Imm(_) | Src::C(..)) {
                // s1 - s2 read the other way round.
                m.swap(0, 1);
                addop = 2;
            }
        }
        self.arrange(&mut m, Accepts { swap: addop == 0, ..FULL });
        let dst = self.define(v);
        self.emit(MInst::new(Op::Add, dst, &[m[0].src, m[1].src]).with("addop", addop));
        Ok(())
    }

    /// A 32-bit product from 16-bit pieces, or one instruction where the operands are known to be short.
    fn product(&mut self, d: &InstData) -> Result<(), CompileError> {
        let (mut x, mut y) = (d.args[0], d.args[1]);
        if self.bits(x).is_some() {
            std::mem::swap(&mut x, &mut y);
        }
        let v = d.results[0];
        if let Some(k) = self.bits(y) {
            if k.is_power_of_two() {
                self.fired("imul.shift");
                let a = self.register(x)?;
                let dst = self.define(v);
                self.emit(MInst::new(Op::Shl, dst, &[Src::reg(a), Src::Imm(k.trailing_zeros())]));
                return Ok(());
            }
            if k == 0 {
                self.fired("imul.zero");
                let dst = self.define(v);
                self.emit(MInst::new(Op::Mov, dst, &[Src::Imm(0)]));
                return Ok(());
            }
        }
        let (rx, ry) = (self.ranges.range_at(x, self.block), self.ranges.range_at(y, self.block));
        let within = |r: retroshade_ir::analysis::range::Range, lo: i64, hi: i64| r.lo >= lo && r.hi <= hi;
        let unsigned16 = within(rx, 0, 0xffff) && within(ry, 0, 0xffff);
        let unsigned24 = within(rx, 0, 0xff_ffff) && within(ry, 0, 0xff_ffff);
        let signed24 = within(rx, -0x80_0000, 0x7f_ffff) && within(ry, -0x80_0000, 0x7f_ffff);
        let a = self.register(x)?;
        if unsigned24 || signed24 {
            self.fired("imul.24");
            let b = match self.bits(y) {
                Some(k) => Src::Imm(k),
                None => Src::reg(self.register(y)?),
            };
            let dst = self.define(v);
            let i = if unsigned16 && !matches!(b, Src::Imm(_)) {
                MInst::new(Op::Mul24, dst, &[Src::reg(a), b])
            } else {
                MInst::new(Op::Mul24, dst, &[Src::reg(a), b]).with("sg", u8::from(!unsigned24))
            };
            self.emit(i);
            return Ok(());
        }
        // 2^n ± 1 times: a shift and a sum.
        if let Some(k) = self.bits(y)
            && let Some((n, addop)) = [(k.wrapping_sub(1), 0), (k.wrapping_add(1), 1)].into_iter().find(|c| c.0.is_power_of_two())
        {
            self.fired("imul.sum");
            let t = self.fresh();
            self.emit(MInst::new(Op::Shl, Dst::Reg(t), &[Src::reg(a), Src::Imm(n.trailing_zeros())]));
            let dst = self.define(v);
            self.emit(MInst::new(Op::Add, dst, &[Src::reg(t), Src::reg(a)]).with("addop", addop));
            return Ok(());
        }
        let half = |r: Reg, p: Part| Src::Reg(r, p);
        if let Some(k) = self.bits(y).filter(|k| *k <= 0xffff) {
            // a.h × k << 16, plus a.l × k.
            self.fired("imul.16");
            let k = if self.half_immediates { Src::Imm(k) } else { half(self.in_register(Src::Imm(k)), Part::Low) };
            let t = self.fresh();
            self.emit(MInst::new(Op::Mul16, Dst::Reg(t), &[half(a, Part::High), k]));
            let t2 = self.fresh();
            self.emit(MInst::new(Op::Shl, Dst::Reg(t2), &[Src::reg(t), Src::Imm(16)]));
            let r = Reg::Virtual(self.new_value(v));
            self.emit(MInst { tie3: true, ..MInst::new(Op::MadU16, Dst::Reg(r), &[half(a, Part::Low), k, Src::reg(t2)]) });
            return Ok(());
        }
        let b = self.register(y)?;
        self.fired("imul.32");
        let t = self.fresh();
        self.emit(MInst::new(Op::Mul16, Dst::Reg(t), &[half(a, Part::High), half(b, Part::Low)]));
        let t1 = self.fresh();
        self.emit(MInst { tie3: true, ..MInst::new(Op::MadU16, Dst::Reg(t1), &[half(a, Part::Low), half(b, Part::High), Src::reg(t)]) });
        let t2 = self.fresh();
        self.emit(MInst::new(Op::Shl, Dst::Reg(t2), &[Src::reg(t1), Src::Imm(16)]));
        let r = Reg::Virtual(self.new_value(v));
        self.emit(MInst { tie3: true, ..MInst::new(Op::MadU16, Dst::Reg(r), &[half(a, Part::Low), half(b, Part::Low), Src::reg(t2)]) });
        Ok(())
    }
    /// The upper half of an unsigned product, with two carries.
    fn high_product(&mut self, d: &InstData) -> Result<(), CompileError> {
        self.fired("umulhi");
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
        self.emit(MInst { pred: Some((c0, 0x11)), tied: Some(r0), ..MInst::new(Op::Add, Dst::Reg(r1), &[Src::reg(r0), Src::reg(k)]) });
        let t2 = self.fresh();
        self.emit(MInst::new(Op::Shl, Dst::Reg(t2), &[Src::reg(t1), Src::Imm(16)]));
        let c1 = self.fresh_flag();
        self.emit(MInst { cdst: Some(c1), ..MInst::new(Op::MadU16, Dst::Discard, &[half(a, lo), half(b, lo), Src::reg(t2)]) });
        let r = Reg::Virtual(self.new_value(d.results[0]));
        let last = MInst { carry: Some(c1), ..MInst::new(Op::MadU16, Dst::Reg(r), &[half(a, hi), half(b, hi), Src::reg(r1)]) };
        self.emit(last.with("addop", 3));
        Ok(())
    }

    fn machine_operation(&mut self, d: &InstData) -> Result<(), CompileError> {
        let Imm::Ext(name) = &d.imm else { return Err(internal("ext without a name")) };
        let v = d.results[0];
        match &**name {
            "tesla.mask" | "tesla.half_from" => Ok(()),
            "tesla.presin" | "tesla.preex2" => {
                self.fired("range");
                let mut m = self.modified(d.args[0], true)?;
                m.src = Src::reg(self.in_register(m.src));
                let dst = self.define(v);
                let op = if &**name == "tesla.presin" { Op::Presin } else { Op::Preex2 };
                self.emit(MInst::new(op, dst, &[m.src]).with("neg1", m.neg as u8).with("abs1", m.abs as u8));
                Ok(())
            }
            "tesla.sin" | "tesla.cos" | "tesla.ex2" => {
                self.fired("sine");
                let a = self.register(d.args[0])?;
                let op = match &**name {
                    "tesla.sin" => Op::Sin,
                    "tesla.cos" => Op::Cos,
                    _ => Op::Ex2,
                };
                let (sat, v) = if op == Op::Ex2 { self.saturated(Some(v)) } else { (0, v) };
                let dst = self.define(v);
                self.emit(MInst::new(op, dst, &[Src::reg(a)]).with("sat", sat));
                Ok(())
            }
            "tesla.sat" => self.convert(Op::Cvt(Ty::F32, Ty::F32), d, &[("sat", 1)]),
            "tesla.fmul_rz" => {
                self.fired("fmul.rz");
                let mut m = [self.modified(d.args[0], false)?, self.modified(d.args[1], false)?];
                self.arrange(&mut m, Accepts { imm: false, ..FULL });
                let dst = self.define(v);
                self.emit(signs2(MInst::new(Op::Fmul, dst, &[m[0].src, m[1].src]), &m).with("rnd", 3));
                Ok(())
            }
            "tesla.f2u_rn" => self.convert(Op::Cvt(Ty::W, Ty::F32), d, &[]),
            "tesla.f2s_rn" => self.convert(Op::Cvt(Ty::W, Ty::F32), d, &[("dty", 1)]),
            "tesla.u2f_rz" => self.convert(Lower::F32_FROM_INT, d, &[("sty", 1), ("rnd", 3)]),
            "tesla.shl" => self.shift(d, Op::Shl, 0),
            "tesla.shr" => self.shift(d, Op::Shr, 0),
            "tesla.sar" => self.shift(d, Op::Shr, 1),
            "tesla.half_bits" => {
                self.fired("half.bits");
                let a = self.register(d.args[0])?;
                let dst = self.define(v);
                self.emit(MInst::new(Op::Logic, dst, &[Src::reg(a), Src::Imm(0xffff)]).with("lop", 0));
                Ok(())
            }
            other => Err(internal(format!("no instruction for `{other}`"))),
        }
    }

    /// `select`: sign select, masked constant, or a predicated move.
    fn choose(&mut self, d: &InstData) -> Result<(), CompileError> {
        let v = d.results[0];
        let (c, mut a, mut b) = (self.func.resolve(d.args[0]), d.args[1], d.args[2]);
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
            self.fired("select.sign");
            if swap {
                std::mem::swap(&mut a, &mut b);
            }
            let mut m = [self.plain(a)?, self.plain(b)?, self.modified(x, false)?];
            self.arrange(&mut m, Accepts { mem: true, c2: true, c3: true, imm: false, swap: false });
            let dst = self.define(v);
            self.emit(MInst::new(Op::Slct, dst, &[m[0].src, m[1].src, m[2].src]).with("neg3", (m[2].neg ^ neg) as u8));
            return Ok(());
        }
        // Of two truth values, one of them the condition: both, or either.
        let same = |s: &Self, x: Value| s.func.resolve(x) == s.func.resolve(c);
        if boolean && (same(self, a) || same(self, b)) {
            self.fired("select.logic");
            let (other, lop) = if same(self, b) { (a, 0) } else { (b, 1) };
            let (x, y) = (self.mask(c)?, self.mask(other)?);
            let dst = self.define(v);
            self.emit(MInst::new(Op::Logic, dst, &[Src::reg(x), Src::reg(y)]).with("lop", lop));
            return Ok(());
        }
        let (sa, sb) = if boolean { (Src::reg(self.mask(a)?), Src::reg(self.mask(b)?)) } else { (self.operand(a)?, self.operand(b)?) };
        // A constant or zero is a masked constant.
        if let (Src::Imm(k), Src::Imm(0)) | (Src::Imm(0), Src::Imm(k)) = (sa, sb)
            && !boolean
            && self.def(c).is_some_and(|d| matches!(d.op, Opcode::Fcmp | Opcode::Icmp))
        {
            self.fired("select.mask");
            let m = if matches!(sb, Src::Imm(0)) {
                self.mask(c)?
            } else {
                let r = self.fresh();
                self.compare(c, Dst::Reg(r), None, true)?;
                r
            };
            let dst = self.define(v);
            self.emit(MInst::new(Op::Logic, dst, &[Src::reg(m), Src::Imm(k)]).with("lop", 0));
            return Ok(());
        }
        // One of two constants is a mask that turns one into the other; a constant that is in a register already is cheaper moved.
        if let (Src::Imm(x), Src::Imm(y)) = (sa, sb)
            && !boolean
            && !self.is_constant_loaded(x)
            && !self.is_constant_loaded(y)
            && self.def(c).is_some_and(|d| matches!(d.op, Opcode::Fcmp | Opcode::Icmp))
        {
            self.fired("select.mask");
            let m = self.mask(c)?;
            let t = self.fresh();
            self.emit(MInst::new(Op::Logic, Dst::Reg(t), &[Src::reg(m), Src::Imm(x ^ y)]).with("lop", 0));
            let dst = self.define(v);
            self.emit(MInst::new(Op::Logic, dst, &[Src::reg(t), Src::Imm(y)]).with("lop", 2));
            return Ok(());
        }
        self.fired("select.move");
        let (flag, mut code) = self.flag(c)?;
        // The value kept where the condition is false: rather one that dies here, or a constant (loaded fresh anyway).
        let dies = |s: &Self, x: Value| {
            let x = s.func.resolve(x);
            s.regs[x].is_some() && s.uses[x] == 1
        };
        let (mut keep, mut take) = ((b, sb), (a, sa));
        let register = |s: &Src| matches!(s, Src::Reg(..));
        let exchange = (dies(self, a) && !dies(self, b)) || (register(&keep.1) && !register(&take.1) && !dies(self, b));
        if exchange {
            std::mem::swap(&mut keep, &mut take);
            code ^= 0xf;
        }
        let old = match keep.1 {
            Src::Reg(r, _) => r,
            s => {
                let r = self.fresh();
                match s {
                    Src::C(..) => self.emit(MInst::new(Op::LdC, Dst::Reg(r), &[s]).with("w", 1)),
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
        Ok(())
    }

    // ---- interface

    fn input(&mut self, d: &InstData) -> Result<(), CompileError> {
        let Imm::Mem { var: MemRef::Input(n), offset } = d.imm else { return Err(internal("input without a variable")) };
        let decl = self.module.inputs[n].clone();
        let v = d.results[0];
        let lanes = self.func.ty(v).lanes;
        let used = self.used_lanes(v);
        let n = n.as_u32();
        match self.module.stage {
            Stage::Vertex if d.args.is_empty() => Ok(()),
            Stage::Vertex => {
                self.fired("input.indexed");
                let words = decl.ty.lanes as u32;
                let base = self.abi.input_offset(n, offset, 0).ok_or_else(|| internal("an input without a place"))?;
                let index = self.address(d.args[0], words * 4)?;
                for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
                    let r = self.lane_register(v, l);
                    self.emit(MInst {
                        index,
                        extra: Extra::Mem { off: base + 4 * l as u32, ty: 0, space: 0 },
                        ..MInst::new(Op::LdA, Dst::Reg(r), &[])
                    });
                }
                Ok(())
            }
            Stage::Geometry => {
                if decl.binding == Binding::Builtin(Builtin::PrimitiveIndex) {
                    self.fired("input.primitive");
                    let r = self.lane_register(v, 0);
                    self.emit(MInst::new(Op::Mov, Dst::Reg(r), &[Src::A(0x18)]));
                    return Ok(());
                }
                self.fired("input.vertex");
                // The vertex's address stands in a[]; a computed vertex number needs it in a register first.
                let vertex = match d.args.first() {
                    None => Index::Vertex(offset),
                    Some(v) => {
                        let index = self.address(*v, 4)?;
                        let r = self.fresh();
                        self.emit(MInst {
                            index,
                            extra: Extra::Mem { off: 4 * offset, ty: 0, space: 0 },
                            ..MInst::new(Op::LdA, Dst::Reg(r), &[])
                        });
                        Index::Reg(r, 0)
                    }
                };
                for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
                    let off = self.abi.input_offset(n, 0, l as u32).ok_or_else(|| internal("an input without a place"))?;
                    let r = self.lane_register(v, l);
                    self.emit(MInst { index: vertex, ..MInst::new(Op::Mov, Dst::Reg(r), &[Src::P(off)]) });
                }
                Ok(())
            }
            Stage::Fragment => {
                let index = match d.args.first() {
                    Some(a) => self.address(*a, decl.ty.lanes as u32 * 4)?,
                    None => Index::None,
                };
                self.varying(v, n, offset, &decl, (lanes, used), index)
            }
            Stage::Compute => self.compute_input(v, &decl, lanes, used),
        }
    }
    /// Which lanes of a value are read.
    pub(crate) fn used_lanes(&self, v: Value) -> u8 {
        if self.func.ty(v).is_vector() { self.read_lanes[v] } else { 1 }
    }
    /// The register of a lane that is being defined.
    pub(crate) fn lane_register(&mut self, v: Value, lane: u8) -> Reg {
        if !self.func.ty(v).is_vector() {
            return Reg::Virtual(self.new_value(v));
        }
        let r = self.fresh();
        self.lanes.insert((v, lane), r);
        r
    }
    fn varying(
        &mut self,
        v: Value,
        n: u32,
        element: u32,
        decl: &retroshade_ir::IoDecl,
        (lanes, used): (u8, u8),
        index: Index,
    ) -> Result<(), CompileError> {
        let v4 = |off: u32| Extra::Mem { off, ty: 0, space: 0 };
        match decl.binding {
            Binding::Builtin(Builtin::Position) => {
                for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
                    self.fired("varying.position");
                    let off = self.abi.position_offset(l as u32);
                    let r = self.lane_register(v, l);
                    self.emit(MInst { extra: v4(off), ..MInst::new(Op::Interp, Dst::Reg(r), &[]) });
                }
                return Ok(());
            }
            Binding::Builtin(Builtin::FrontFacing) => {
                self.fired("varying.facing");
                let r = self.lane_register(v, 0);
                self.emit(MInst { extra: v4(0x3fc), ..MInst::new(Op::InterpFlat, Dst::Reg(r), &[]) });
                return Ok(());
            }
            Binding::Builtin(Builtin::SampleIndex) => {
                self.fired("varying.sample");
                if !self.chip.d3d101 {
                    return Err(CompileError::unsupported("T0031", self.span, format!("{} has no sample index", self.chip.name)));
                }
                let r = self.lane_register(v, 0);
                self.emit(MInst::new(Op::MovFromSr, Dst::Reg(r), &[]).with("sr", 8));
                return Ok(());
            }
            _ => {}
        }
        self.fired("varying");
        let w = match decl.interpolation {
            Interpolation::Perspective => Some(self.perspective()),
            _ => None,
        };
        for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
            let off = self.abi.input_offset(n, element, l as u32).ok_or_else(|| internal("a varying without a place"))?;
            let r = self.lane_register(v, l);
            let cent = u8::from(decl.sampling != Sampling::Center);
            let i = match (decl.interpolation, w) {
                (Interpolation::Flat, _) => MInst::new(Op::InterpFlat, Dst::Reg(r), &[]),
                (_, Some(w)) if cent == 1 => MInst::new(Op::InterpCentMul, Dst::Reg(r), &[Src::reg(w)]),
                (_, Some(w)) => MInst::new(Op::InterpMul, Dst::Reg(r), &[Src::reg(w)]),
                _ if cent == 1 => MInst::new(Op::InterpCent, Dst::Reg(r), &[]),
                _ => MInst::new(Op::Interp, Dst::Reg(r), &[]),
            };
            if decl.ty.scalar == Scalar::I1 {
                // An interface word 0 or 1 becomes a mask.
                let t = self.fresh();
                self.emit(MInst { extra: v4(off), index, dst: Dst::Reg(t), ..i });
                self.mask_of(Src::reg(t), r);
                continue;
            }
            self.emit(MInst { extra: v4(off), index, ..i });
        }
        Ok(())
    }
    /// 1 / v[w], once per block.
    fn perspective(&mut self) -> Reg {
        let key = (Value::from_u32(u32::MAX - 1), self.cur.min(255) as u8);
        if let Some(r) = self.lanes.get(&key) {
            return *r;
        }
        let w = self.fresh();
        let off = self.abi.position_offset(3);
        self.emit(MInst { extra: Extra::Mem { off, ty: 0, space: 0 }, ..MInst::new(Op::Interp, Dst::Reg(w), &[]) });
        let r = self.fresh();
        self.emit(MInst::new(Op::Rcp, Dst::Reg(r), &[Src::reg(w)]));
        if self.cur < 255 {
            self.lanes.insert(key, r);
        }
        r
    }
    fn compute_input(&mut self, v: Value, decl: &retroshade_ir::IoDecl, lanes: u8, used: u8) -> Result<(), CompileError> {
        self.fired("compute.builtin");
        let Binding::Builtin(b) = decl.binding else {
            return Err(CompileError::unsupported("T0032", self.span, "a compute program has no user inputs"));
        };
        let size = self.module.workgroup_size;
        for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
            let dst = self.lane_register(v, l);
            match b {
                Builtin::LocalInvocationId => self.local_id(dst, l)?,
                Builtin::WorkgroupId => self.group_id(dst, l),
                Builtin::NumWorkgroups => {
                    let off = [8, 10, crate::abi::GRID_Z][l as usize % 3];
                    self.header(dst, off);
                }
                Builtin::GlobalInvocationId => {
                    let (g, t) = (self.fresh(), self.fresh());
                    self.group_id(g, l);
                    self.local_id(t, l)?;
                    let p = self.fresh();
                    self.emit(MInst::new(Op::Mul24, Dst::Reg(p), &[Src::reg(g), Src::Imm(size[l as usize % 3])]));
                    self.emit(MInst::new(Op::Add, Dst::Reg(dst), &[Src::reg(p), Src::reg(t)]));
                }
                Builtin::LocalInvocationIndex if size[1] <= 1 && size[2] <= 1 => self.local_id(dst, 0)?,
                Builtin::LocalInvocationIndex => {
                    // x + size.x × (y + size.y × z)
                    let (x, mut y) = (self.fresh(), self.fresh());
                    self.local_id(x, 0)?;
                    self.local_id(y, 1)?;
                    if size[2] > 1 {
                        let (z, a, s) = (self.fresh(), self.fresh(), self.fresh());
                        self.local_id(z, 2)?;
                        self.emit(MInst::new(Op::Mul24, Dst::Reg(a), &[Src::reg(z), Src::Imm(size[1].max(1))]));
                        self.emit(MInst::new(Op::Add, Dst::Reg(s), &[Src::reg(a), Src::reg(y)]));
                        y = s;
                    }
                    let c = self.fresh();
                    self.emit(MInst::new(Op::Mul24, Dst::Reg(c), &[Src::reg(y), Src::Imm(size[0].max(1))]));
                    self.emit(MInst::new(Op::Add, Dst::Reg(dst), &[Src::reg(c), Src::reg(x)]));
                }
                _ => {
                    return Err(CompileError::unsupported(
                        "T0033",
                        self.span,
                        format!("`{}` is not available in compute programs", b.name()),
                    ));
                }
            }
        }
        Ok(())
    }
    fn local_id(&mut self, dst: Reg, axis: u8) -> Result<(), CompileError> {
        let tid = self.thread_id.ok_or_else(|| internal("no thread id"))?;
        let size = self.module.workgroup_size;
        match axis {
            _ if size[axis as usize % 3] <= 1 => self.emit(MInst::new(Op::Mov, Dst::Reg(dst), &[Src::Imm(0)])),
            // Nothing but x is in the register then.
            0 if size[1] <= 1 && size[2] <= 1 => self.emit(MInst::new(Op::Mov, Dst::Reg(dst), &[Src::reg(tid)])),
            0 => self.emit(MInst::new(Op::Logic, Dst::Reg(dst), &[Src::reg(tid), Src::Imm(0xffff)]).with("lop", 0)),
            1 => {
                let t = self.fresh();
                self.emit(MInst::new(Op::Shr, Dst::Reg(t), &[Src::reg(tid), Src::Imm(16)]));
                self.emit(MInst::new(Op::Logic, Dst::Reg(dst), &[Src::reg(t), Src::Imm(0x3ff)]).with("lop", 0));
            }
            _ => self.emit(MInst::new(Op::Shr, Dst::Reg(dst), &[Src::reg(tid), Src::Imm(26)])),
        }
        Ok(())
    }
    fn group_id(&mut self, dst: Reg, axis: u8) {
        self.header(dst, [0xc, 0xe, crate::abi::GRID_Z + 2][axis as usize % 3]);
    }
    /// A 16-bit word of the workgroup's header.
    fn header(&mut self, dst: Reg, off: u32) {
        self.emit(MInst::new(Op::Mov, Dst::Reg(dst), &[Src::S(1, off)]));
    }

    fn output(&mut self, d: &InstData) -> Result<(), CompileError> {
        let Imm::Mem { var: MemRef::Output(o), offset } = d.imm else { return Err(internal("output without a variable")) };
        let o = o.as_u32();
        let ty = self.func.ty(d.args[0]);
        let parts: SmallVec<[Value; 4]> = match self.def(d.args[0]) {
            Some(b) if b.op == Opcode::Build => b.args.iter().copied().collect(),
            _ if ty.lanes == 1 => [d.args[0]].into_iter().collect(),
            _ => SmallVec::new(),
        };
        for lane in 0..ty.lanes as u32 {
            let part = parts.get(lane as usize).copied();
            if self.module.stage == Stage::Fragment {
                if d.args.len() > 1 {
                    return Err(CompileError::unsupported("T0034", self.span, "fragment outputs take constant indices only"));
                }
                let word = crate::abi::Word { decl: o, element: offset, lane };
                let Some((reg, _)) = self.abi.results.iter().find(|r| r.1 == word).cloned() else { continue };
                self.fired("result");
                self.results.insert(reg, part.map_or((d.args[0], Some(lane as u8)), |v| (v, None)));
                continue;
            }
            if let Some(v) = part
                && self.direct.contains(&self.func.resolve(v))
            {
                // Written where it was computed.
                self.fired("output.direct");
                continue;
            }
            let src = match part {
                Some(v) if matches!(self.func.ty(v).scalar, Scalar::I1 | Scalar::F16) => Src::reg(self.result_register(v)?),
                Some(v) => self.operand(v)?,
                None => self.lane(d.args[0], lane as u8)?,
            };
            let off = self.abi.output_offset(o, offset, lane).ok_or_else(|| internal("an output without a place"))?;
            if d.args.len() > 1 {
                let r = self.in_register(src);
                self.fired("output.indexed");
                let decl = &self.module.outputs[retroshade_ir::Output::from_u32(o)];
                let index = self.address(d.args[1], decl.ty.lanes as u32 * 4)?;
                self.emit(MInst {
                    index,
                    extra: Extra::Mem { off, ty: 0, space: 0 },
                    ..MInst::new(Op::StO, Dst::None, &[Src::None, Src::None, Src::reg(r)])
                });
                continue;
            }
            self.fired("output.move");
            match src {
                Src::C(..) => self.emit(MInst::new(Op::LdC, Dst::Out(off), &[src]).with("w", 1)),
                Src::Imm(k) if k != 0 => {
                    let r = self.in_register(src);
                    self.emit(MInst::new(Op::Mov, Dst::Out(off), &[Src::reg(r)]));
                }
                s => self.emit(MInst::new(Op::Mov, Dst::Out(off), &[s])),
            }
        }
        Ok(())
    }
    /// `$a` for an index counted in units of `unit` bytes.
    pub(crate) fn address(&mut self, index: Value, unit: u32) -> Result<Index, CompileError> {
        let r = self.register(index)?;
        if unit.is_power_of_two() && unit.trailing_zeros() < 16 {
            self.fired("address.shift");
            return Ok(Index::Reg(r, unit.trailing_zeros() as u8));
        }
        self.fired("address.product");
        let key = (self.cur, self.func.resolve(index), unit);
        if let Some(t) = self.products.get(&key) {
            return Ok(Index::Reg(*t, 0));
        }
        let t = self.fresh();
        self.emit(MInst::new(Op::Mul24, Dst::Reg(t), &[Src::reg(r), Src::Imm(unit)]));
        self.products.insert(key, t);
        Ok(Index::Reg(t, 0))
    }
}
