//! Arithmetic: one operation of the IR becomes one scalar operation a lane; scaling and saturation move into producers.

use super::cond::float_relation;
use super::{Cond, Lower};
use crate::isa::forms::{Number, op2, op3};
use crate::select::mir::*;
use retroshade_emit::form::FormId;
use retroshade_ir::{Imm, Inst, InstData, Opcode, Scalar, Value};
use retroshade_lower::CompileError;
use smallvec::SmallVec;

/// Operations that one operation of the machine performs, operand by operand.
const PLAIN: &[(Opcode, FormId)] = {
    use Opcode::*;
    &[
        (Fadd, op2::ADD),
        (Fmul, op2::MUL_IEEE),
        (Fma, op3::MULADD_IEEE),
        (Fmad, op3::MULADD_IEEE),
        (Fmin, op2::MIN_DX10),
        (Fmax, op2::MAX_DX10),
        (Ffloor, op2::FLOOR),
        (Fceil, op2::CEIL),
        (Ftrunc, op2::TRUNC),
        (Fround, op2::RNDNE),
        (Ffract, op2::FRACT),
        (Frcp, op2::RECIP_IEEE),
        (Frsqrt, op2::RECIPSQRT_IEEE),
        (Fsqrt, op2::SQRT_IEEE),
        (Fexp2, op2::EXP_IEEE),
        (Flog2, op2::LOG_IEEE),
        (Iadd, op2::ADD_INT),
        (Isub, op2::SUB_INT),
        (Imul, op2::MULLO_INT),
        (Umulhi, op2::MULHI_UINT),
        (Smulhi, op2::MULHI_INT),
        (Iand, op2::AND_INT),
        (Ior, op2::OR_INT),
        (Ixor, op2::XOR_INT),
        (Inot, op2::NOT_INT),
        (Ishl, op2::LSHL_INT),
        (Ushr, op2::LSHR_INT),
        (Sshr, op2::ASHR_INT),
        (Umin, op2::MIN_UINT),
        (Umax, op2::MAX_UINT),
        (Smin, op2::MIN_INT),
        (Smax, op2::MAX_INT),
        (S2f, op2::INT_TO_FLT),
        (U2f, op2::UINT_TO_FLT),
    ]
};

impl Lower<'_> {
    pub(super) fn inst(&mut self, i: Inst) {
        let d = self.data(i);
        use Opcode::*;
        match d.op {
            Const | Undef | Build | Splat | Extract | Insert | Shuffle | Bitcast => {}
            Output => self.output(d),
            LocalLoad | LocalStore => self.local(d),
            Uniform => self.uniform(d),
            StorageLoad => self.storage(d),
            Input => self.input(d),
            Tex => crate::select::fetch::texture(self, d),
            Ddx | Ddy => crate::select::fetch::derivative(self, d),
            Discard => self.kill(d.args[0]),
            Dot => self.dot(d),
            Any | All => {
                let mut m: SmallVec<[Opnd; 4]> = self.lanes(d.args[0]);
                let name = if d.op == Any { op2::OR_INT } else { op2::AND_INT };
                let mut acc = m.remove(0);
                for x in m {
                    acc = self.emit(name, &[acc, x]);
                }
                self.set(d.results[0], 0, acc);
            }
            Ext => self.ext(d),
            EmitVertex => self.emit_vertex(d),
            EndPrimitive => self.end_primitive(d),
            Fcmp | Icmp => {
                let r = d.results[0];
                for lane in 0..self.func.ty(r).lanes {
                    let composite = matches!(d.imm, Imm::FloatCC(cc) if float_relation(cc).is_none());
                    if self.used(r, lane) && (composite || self.needs_mask((r, lane))) {
                        self.mask(r, lane);
                    }
                }
            }
            _ => {
                let Some(r) = d.results.first().copied() else {
                    return self.fail(CompileError::unsupported("R0103", self.span, format!("R700 has no `{}`", d.op.name())));
                };
                for lane in 0..self.func.ty(r).lanes {
                    if self.used(r, lane) {
                        self.scalar(d, r, lane);
                    }
                }
            }
        }
    }

    pub(super) fn arg(&mut self, d: &InstData, n: usize, lane: u8) -> Opnd {
        let v = d.args[n];
        self.lane(v, if self.func.ty(v).lanes > 1 { lane } else { 0 })
    }

    pub(super) fn scalar(&mut self, d: &InstData, r: Value, lane: u8) {
        use Opcode::*;
        let ty = self.func.ty(r);
        // A half is its bits: selecting one is all that needs no expansion.
        if ty.scalar == Scalar::F16 && d.op != Select {
            return self.fail(CompileError::unsupported("R0104", self.span, "R700 has no f16 arithmetic"));
        }
        let o = if let Some((_, form)) = PLAIN.iter().find(|p| p.0 == d.op) {
            if d.op == Inot && ty.scalar == Scalar::I1 && !self.needs_mask((r, lane)) {
                return;
            }
            let src: SmallVec<[Opnd; 4]> = (0..d.args.len()).map(|n| self.arg(d, n, lane)).collect();
            if let Some(o) = self.scaled(d, lane, &src) { o } else { self.emit(*form, &src) }
        } else {
            match d.op {
                Fneg => self.arg(d, 0, lane).negated(),
                Fabs => self.arg(d, 0, lane).absolute(),
                Fsub => {
                    let (a, b) = (self.arg(d, 0, lane), self.arg(d, 1, lane));
                    self.emit(op2::ADD, &[a, b.negated()])
                }
                Fsaturate => self.saturated(d, lane),
                Ineg => {
                    let a = self.arg(d, 0, lane);
                    self.emit(op2::SUB_INT, &[Opnd::bits(0), a])
                }
                Iabs => {
                    let a = self.arg(d, 0, lane);
                    let n = self.emit(op2::SUB_INT, &[Opnd::bits(0), a]);
                    self.emit(op2::MAX_INT, &[a, n])
                }
                F2s | F2u => {
                    let a = self.arg(d, 0, lane);
                    let whole = {
                        let (v, _) = self.root(d.args[0], lane);
                        self.func.def_inst(v).is_some_and(|i| matches!(self.data(i).op, Ffloor | Fceil | Ftrunc | Fround))
                    };
                    let t = if whole { a } else { self.emit(op2::TRUNC, &[a]) };
                    self.emit(if d.op == F2s { op2::FLT_TO_INT } else { op2::FLT_TO_UINT }, &[t])
                }
                Select => {
                    let direct = self.direct_select(d.args[0], lane, d.args[1], d.args[2], lane).is_some();
                    let (a, b) = (self.arg(d, 1, lane), self.arg(d, 2, lane));
                    let cl = if self.func.ty(d.args[0]).lanes > 1 { lane } else { 0 };
                    let bits = |o: &Opnd| if let Place::Bits(b) = o.place { Some(b) } else { None };
                    match (direct, bits(&a), bits(&b)) {
                        // 1 or 0, and -1 or 0, are the mask itself.
                        (false, Some(x), Some(0)) if x != 0 => match self.cond_or_mask(d.args[0], cl, false) {
                            (Cond::Mask(m), false) if x == u32::MAX => m,
                            (Cond::Mask(m), false) => self.emit(op2::AND_INT, &[m, a]),
                            _ => self.select(d.args[0], cl, a, b, direct),
                        },
                        _ => self.select(d.args[0], cl, a, b, direct),
                    }
                }
                _ => {
                    return self.fail(CompileError::unsupported("R0103", self.span, format!("R700 has no `{}`", d.op.name())));
                }
            }
        };
        self.set(r, lane, o);
    }

    /// The operation in the current code whose result is only this lane, so that its output may be changed.
    pub(super) fn producer(&mut self, v: Value, lane: u8) -> Option<usize> {
        let r = self.root(v, lane);
        if !self.single_use(r) {
            return None;
        }
        let o = *self.values.get(&r)?;
        let w = o.as_web().filter(|_| !o.modified())?;
        let k = *self.defs.get(&w)?;
        let op = &self.code[k];
        (matches!(op.kind, Kind::Alu | Kind::Reduce)
            && op.dst.len() == 1
            && !op.clamp
            && op.info().result == Number::Float
            && op.dst[0] == w
            && op.store.is_none())
        .then_some(k)
    }

    pub(super) fn saturated(&mut self, d: &InstData, lane: u8) -> Opnd {
        let v = d.args[0];
        let l = if self.func.ty(v).lanes > 1 { lane } else { 0 };
        if let Some(k) = self.producer(v, l) {
            self.code[k].clamp = true;
            return Opnd::web(self.code[k].dst[0]);
        }
        let a = self.lane(v, l);
        let o = self.emit(op2::MOV, &[a]);
        if let Some(op) = self.code.last_mut() {
            op.clamp = true;
        }
        o
    }

    /// A product with 2, 4 or 0.5 moves into the producer of the other factor.
    pub(super) fn scaled(&mut self, d: &InstData, lane: u8, src: &[Opnd]) -> Option<Opnd> {
        if d.op != Opcode::Fmul {
            return None;
        }
        for n in 0..2 {
            let Place::Bits(bits) = src[1 - n].place else { continue };
            let omod = match bits {
                0x4000_0000 => 1,
                0x4080_0000 => 2,
                0x3f00_0000 => 3,
                _ => continue,
            };
            let v = d.args[n];
            let Some(k) = self.producer(v, if self.func.ty(v).lanes > 1 { lane } else { 0 }) else { continue };
            let op = &mut self.code[k];
            if op.form == op3::MULADD_IEEE && !self.abi.emulators {
                op.form = [op.form, op3::MULADD_IEEE_M2, op3::MULADD_IEEE_M4, op3::MULADD_IEEE_D2][omod];
            } else if !op.is_op3() && op.omod == 0 && op.form != op2::MOV {
                op.omod = omod as u8;
            } else {
                continue;
            }
            return Some(Opnd::web(op.dst[0]));
        }
        None
    }

    pub(super) fn dot(&mut self, d: &InstData) {
        let (a, b) = (self.lanes(d.args[0]), self.lanes(d.args[1]));
        let w = self.mir.web();
        let mut src: SmallVec<[Opnd; 8]> = SmallVec::new();
        for k in 0..4 {
            src.push(a.get(k).copied().unwrap_or(Opnd::bits(0)));
            src.push(b.get(k).copied().unwrap_or(Opnd::bits(0)));
        }
        let mut op = Op::alu(op2::DOT4_IEEE, &src, Some(w));
        op.kind = Kind::Reduce;
        self.push(op);
        self.set(d.results[0], 0, Opnd::web(w));
    }

    pub(super) fn ext(&mut self, d: &InstData) {
        let Imm::Ext(name) = &d.imm else { return };
        if &**name == "r700.cube" {
            return self.cube(d);
        }
        if &**name == "r700.cube_direction" {
            for lane in 0..3 {
                let o = self.arg(d, lane as usize, 0);
                self.set(d.results[0], lane, o);
            }
            return;
        }
        if matches!(&**name, "r700.half" | "r700.half_bits") {
            let o = self.arg(d, 0, 0);
            let o = self.plain(o);
            return self.set(d.results[0], 0, o);
        }
        let form = match &**name {
            "r700.sin" => op2::SIN,
            "r700.cos" => op2::COS,
            "r700.recip_uint" => op2::RECIP_UINT,
            "r700.mul" => op2::MUL,
            other => return self.fail(CompileError::Internal(format!("no selection for `{other}`"))),
        };
        let r = d.results[0];
        let src: SmallVec<[Opnd; 4]> = (0..d.args.len()).map(|n| self.arg(d, n, 0)).collect();
        let o = self.emit(form, &src);
        self.set(r, 0, o);
    }

    pub(super) fn cube(&mut self, d: &InstData) {
        let [x, y, z] = [0, 1, 2].map(|n| self.arg(d, n, 0));
        let mut op = Op::alu(op2::CUBE, &[z, y, z, x, x, z, y, z], None);
        op.kind = Kind::Reduce;
        for c in 0..4u8 {
            let w = self.mir.web();
            self.mir.webs[w.0 as usize].chan = Some(c);
            op.dst.push(w);
            self.set(d.results[0], c, Opnd::web(w));
        }
        self.push(op);
    }
}
