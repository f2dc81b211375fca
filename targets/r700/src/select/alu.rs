//! Arithmetic: one operation of the IR becomes one scalar operation a lane; scaling and saturation move into producers.

use super::cond::float_relation;
use super::{Cond, Lower, fetch};
use crate::isa::forms::{Number, op2, op3};
use crate::select::mir::*;
use retroshade_emit::form::FormId;
use retroshade_ir::{Imm, Inst, InstData, Opcode, Scalar, Value};
use retroshade_lower::CompileError;
use retroshade_lower::pattern::{Matcher, Pattern, one_to_one};
use smallvec::SmallVec;

/// Operations that one operation of the machine performs, operand by operand.
static PLAIN: [Option<FormId>; Opcode::ALL.len()] = {
    use Opcode::*;
    one_to_one(&[
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
        (F2s, op2::FLT_TO_INT),
        (F2u, op2::FLT_TO_UINT),
    ])
};

/// The operations of [`PLAIN`].
const PLAIN_OPS: &[Opcode] = {
    use Opcode::*;
    &[
        Fadd, Fmul, Fma, Fmad, Fmin, Fmax, Ffloor, Fceil, Ftrunc, Fround, Ffract, Frcp, Frsqrt, Fsqrt, Fexp2, Flog2, Iadd, Isub, Imul,
        Umulhi, Smulhi, Iand, Ior, Ixor, Inot, Ishl, Ushr, Sshr, Umin, Umax, Smin, Smax, S2f, U2f, F2s, F2u,
    ]
};

/// Values that are lanes of others, or constants: no code.
const NAMES: [Opcode; 8] = {
    use Opcode::*;
    [Const, Undef, Build, Splat, Extract, Insert, Shuffle, Bitcast]
};

/// Whether the pattern took the instruction.
type Taken = Result<bool, CompileError>;

const fn pattern<'a>(
    name: &'static str,
    doc: &'static str,
    ops: &'static [Opcode],
    apply: fn(&mut Lower<'a>, Inst) -> Taken,
) -> Pattern<Lower<'a>> {
    Pattern { name, doc, ops, apply }
}

impl<'a> Lower<'a> {
    /// The patterns in their order. What they fold into operands and producers is recorded beside them.
    pub(super) const PATTERNS: &'a [Pattern<Lower<'a>>] = {
        use Opcode::*;
        &[
            pattern("output", "a value that an export at the end takes", &[Output], |l, i| l.whole(i, Lower::output)),
            pattern("local", "an array in registers, scratch memory or a constant buffer", &[LocalLoad, LocalStore], |l, i| {
                l.whole(i, Lower::local)
            }),
            pattern("uniform", "a constant as an operand, or fetched where its index is computed", &[Uniform], |l, i| {
                l.whole(i, Lower::uniform)
            }),
            pattern("storage", "a storage buffer's words: a vertex fetch", &[StorageLoad], |l, i| l.whole(i, Lower::storage)),
            pattern("input", "a register that holds a value on entry, or a fetch of it", &[Input], |l, i| l.whole(i, Lower::input)),
            pattern("texture", "a texture fetch", &[Tex], |l, i| l.whole(i, fetch::texture)),
            pattern("derivative", "GET_GRADIENTS", &[Ddx, Ddy], |l, i| l.whole(i, fetch::derivative)),
            pattern("discard", "KILL by the comparison itself", &[Discard], |l, i| {
                l.kill(l.data(i).args[0]);
                Ok(true)
            }),
            pattern("dot", "four lanes of DOT4_IEEE", &[Dot], |l, i| l.whole(i, Lower::dot)),
            pattern("any", "`any`, `all`: masks joined in pairs", &[Any, All], |l, i| l.whole(i, Lower::joined_masks)),
            pattern("ext.names", "a machine operation that only names its operands", &[Ext], Lower::names),
            pattern("ext.cube", "CUBE, four lanes at once", &[Ext], Lower::cube),
            pattern("ext", "a machine operation of one lane", &[Ext], Lower::ext),
            pattern("emit_vertex", "a vertex to the ring", &[EmitVertex], |l, i| l.whole(i, Lower::emit_vertex)),
            pattern("end_primitive", "CUT_VERTEX", &[EndPrimitive], |l, i| l.whole(i, Lower::end_primitive)),
            pattern("compare", "a mask, where somebody reads it as one", &[Fcmp, Icmp], Lower::compare),
            pattern("inot.users", "a complement that its users take by themselves", &[Inot], Lower::complement_of_users),
            pattern("signs", "negation and absolute value: modifiers of operands", &[Fneg, Fabs], |l, i| l.lanes_of(i, Lower::signs)),
            pattern(
                "fadd.product",
                "a sum with a product: MULADD rounds both, as the two operations do",
                &[Fadd, Fsub],
                Lower::summed_product,
            ),
            pattern("fsub", "an addition of the negated operand", &[Fsub], |l, i| {
                l.lanes_of(i, |l, d, lane| {
                    let (a, b) = (l.arg(d, 0, lane), l.arg(d, 1, lane));
                    l.emit(op2::ADD, &[a, b.negated()])
                })
            }),
            pattern("fsaturate", "CLAMP of the producer, or of a move", &[Fsaturate], |l, i| l.lanes_of(i, Lower::saturated)),
            pattern("ineg", "a subtraction from 0", &[Ineg], |l, i| {
                l.lanes_of(i, |l, d, lane| {
                    let a = l.arg(d, 0, lane);
                    l.emit(op2::SUB_INT, &[Opnd::bits(0), a])
                })
            }),
            pattern("iabs", "the larger of the value and its negation", &[Iabs], |l, i| {
                l.lanes_of(i, |l, d, lane| {
                    let a = l.arg(d, 0, lane);
                    let n = l.emit(op2::SUB_INT, &[Opnd::bits(0), a]);
                    l.emit(op2::MAX_INT, &[a, n])
                })
            }),
            pattern("select", "a conditional move by the comparison itself or by a mask", &[Select], |l, i| l.lanes_of(i, Lower::selected)),
            pattern("fmul.omod", "a product with 2, 4 or 0.5: the output modifier of the other factor's producer", &[Fmul], Lower::scaled),
            pattern("plain", "one operation", PLAIN_OPS, |l, i| l.lanes_of(i, Lower::plain_op)),
        ]
    };

    /// Selects an instruction.
    pub(super) fn inst(&mut self, i: Inst, patterns: &Matcher<'a, Lower<'a>>) {
        let op = self.data(i).op;
        match patterns.select(self, op, i) {
            Ok(taken) if taken || NAMES.contains(&op) => {}
            Ok(_) if op == Opcode::StorageLen => {
                let m = "no program on r700 knows how long a storage buffer is, which `--robust` asks for at a computed index, too";
                self.fail(CompileError::unsupported("R0103", self.span, m));
            }
            Ok(_) => self.fail(CompileError::unsupported("R0103", self.span, format!("R700 has no `{}`", op.name()))),
            Err(e) => self.fail(e),
        }
    }

    fn whole(&mut self, i: Inst, f: impl FnOnce(&mut Self, &'a InstData)) -> Taken {
        f(self, self.data(i));
        Ok(true)
    }

    /// Selects every lane of a result that is read.
    fn lanes_of(&mut self, i: Inst, f: impl Fn(&mut Self, &'a InstData, u8) -> Opnd) -> Taken {
        let d = self.data(i);
        let r = d.results[0];
        let ty = self.func.ty(r);
        // A half is its bits: selecting one is all that needs no expansion.
        if ty.scalar == Scalar::F16 && d.op != Opcode::Select {
            return Err(CompileError::unsupported("R0104", self.span, "R700 has no f16 arithmetic"));
        }
        for lane in (0..ty.lanes).filter(|lane| self.used(r, *lane)).collect::<SmallVec<[u8; 4]>>() {
            let o = f(self, d, lane);
            self.set(r, lane, o);
        }
        Ok(true)
    }

    pub(super) fn arg(&mut self, d: &InstData, n: usize, lane: u8) -> Opnd {
        let v = d.args[n];
        self.lane(v, if self.func.ty(v).lanes > 1 { lane } else { 0 })
    }

    fn joined_masks(&mut self, d: &InstData) {
        let mut m: SmallVec<[Opnd; 4]> = self.lanes(d.args[0]);
        let form = if d.op == Opcode::Any { op2::OR_INT } else { op2::AND_INT };
        while m.len() > 1 {
            m = m.chunks(2).map(|p| if let [a, b] = p { self.emit(form, &[*a, *b]) } else { p[0] }).collect();
        }
        self.set(d.results[0], 0, m[0]);
    }

    fn compare(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let r = d.results[0];
        let composite = matches!(d.imm, Imm::FloatCC(cc) if float_relation(cc).is_none());
        for lane in 0..self.func.ty(r).lanes {
            if self.used(r, lane) && (composite || self.needs_mask((r, lane))) {
                self.mask(r, lane);
            }
        }
        Ok(true)
    }

    fn complement_of_users(&mut self, i: Inst) -> Taken {
        let r = self.data(i).results[0];
        let ty = self.func.ty(r);
        Ok(ty.scalar == Scalar::I1 && (0..ty.lanes).all(|lane| !self.used(r, lane) || !self.needs_mask((r, lane))))
    }

    fn signs(&mut self, d: &InstData, lane: u8) -> Opnd {
        let a = self.arg(d, 0, lane);
        if d.op == Opcode::Fneg { a.negated() } else { a.absolute() }
    }

    fn plain_op(&mut self, d: &InstData, lane: u8) -> Opnd {
        let mut src: SmallVec<[Opnd; 4]> = SmallVec::new();
        for n in 0..d.args.len() {
            src.push(self.arg(d, n, lane));
        }
        self.emit(PLAIN[d.op as usize].unwrap_or(op2::NOP), &src)
    }

    /// Takes the sum if each lane that is read has a term that is a product, read by nothing but sums. The passes before leave `precise`
    /// ones apart; here both roundings stay.
    fn summed_product(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let r = d.results[0];
        let lanes: SmallVec<[u8; 4]> = (0..self.func.ty(r).lanes).filter(|lane| self.used(r, *lane)).collect();
        let found: Option<SmallVec<[[Opnd; 3]; 4]>> = lanes.iter().map(|lane| self.product_and_term(d, *lane)).collect();
        let Some(found) = found else { return Ok(false) };
        for (lane, src) in lanes.into_iter().zip(found) {
            let o = self.emit(op3::MULADD_IEEE, &src);
            self.set(r, lane, o);
        }
        Ok(true)
    }

    /// The factors of a product and the other term of a lane's sum.
    fn product_and_term(&mut self, d: &InstData, lane: u8) -> Option<[Opnd; 3]> {
        (0..2).find_map(|n| {
            let v = d.args[n];
            let [x, y] = self.product(v, if self.func.ty(v).lanes > 1 { lane } else { 0 })?;
            let rest = self.arg(d, 1 - n, lane);
            // What is subtracted is the second argument.
            let minus = |o: Opnd, k: usize| if d.op == Opcode::Fsub && k == 1 { o.negated() } else { o };
            let src = [minus(x, n), y, minus(rest, 1 - n)];
            (!src.iter().any(|s| s.abs)).then_some(src)
        })
    }

    /// The factors of a product in the current code that only sums read.
    fn product(&self, v: Value, lane: u8) -> Option<[Opnd; 2]> {
        let r = self.root(v, lane);
        let sums = |i: &Inst| matches!(self.data(*i).op, Opcode::Fadd | Opcode::Fsub);
        let o = self.values.get(&r).filter(|o| !o.modified() && self.uses[&r].iter().all(sums))?;
        let w = o.as_web()?;
        let op = &self.code[*self.defs.get(&w)?];
        let [x, y] = op.src[..] else { return None };
        (op.form == op2::MUL_IEEE && op.omod == 0 && !op.clamp && op.dst[..] == [w]).then_some([x, y])
    }

    fn selected(&mut self, d: &InstData, lane: u8) -> Opnd {
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
            && op.store.is_none()
            && !self.moved.iter().any(|m| m.2.as_web() == Some(w)))
        .then_some(k)
    }

    pub(super) fn saturated(&mut self, d: &InstData, lane: u8) -> Opnd {
        let v = d.args[0];
        let l = if self.func.ty(v).lanes > 1 { lane } else { 0 };
        if let Some(k) = self.producer(v, l) {
            self.mir.fired.note("fsaturate.clamp");
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

    /// Takes the product if all lanes that are read can be scaled in their producers.
    fn scaled(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let r = d.results[0];
        let lanes: SmallVec<[u8; 4]> = (0..self.func.ty(r).lanes).filter(|lane| self.used(r, *lane)).collect();
        let found: Option<SmallVec<[(usize, u8, bool); 4]>> = lanes.iter().map(|lane| self.scale(d, *lane)).collect();
        let Some(found) = found else { return Ok(false) };
        for (lane, (k, omod, negated)) in lanes.into_iter().zip(found) {
            let op = &mut self.code[k];
            if op.form == op3::MULADD_IEEE {
                op.form = [op.form, op3::MULADD_IEEE_M2, op3::MULADD_IEEE_M4, op3::MULADD_IEEE_D2][omod as usize];
            } else {
                op.omod = omod;
            }
            let o = Opnd::web(op.dst[0]);
            self.set(r, lane, if negated { o.negated() } else { o });
        }
        Ok(true)
    }

    /// The operation that can scale its result by a lane's constant factor, the output modifier that does, and whether the factor's sign
    /// is left to who reads the product.
    fn scale(&mut self, d: &InstData, lane: u8) -> Option<(usize, u8, bool)> {
        let bits = |o: Opnd| if let Place::Bits(b) = o.place { Some(b) } else { None };
        let src = [self.arg(d, 0, lane), self.arg(d, 1, lane)];
        (0..2).find_map(|n| {
            let factor = bits(src[1 - n])?;
            let omod = match factor & 0x7fff_ffff {
                0x4000_0000 => 1,
                0x4080_0000 => 2,
                0x3f00_0000 => 3,
                _ => return None,
            };
            let v = d.args[n];
            let k = self.producer(v, if self.func.ty(v).lanes > 1 { lane } else { 0 })?;
            let op = &self.code[k];
            let sum = op.form == op3::MULADD_IEEE && !self.abi.emulators;
            (sum || !op.is_op3() && op.omod == 0 && op.form != op2::MOV).then_some((k, omod, factor != factor & 0x7fff_ffff))
        })
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

    /// Operations that stand for their operands: what a sampler makes of coordinates, a rasteriser of w, the bits of a half.
    fn names(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        match machine(d) {
            "r700.cube_direction" => {
                for lane in 0..3 {
                    let o = self.arg(d, lane as usize, 0);
                    self.set(d.results[0], lane, o);
                }
            }
            "r700.clip_w" | "r700.half" | "r700.half_bits" => {
                let o = self.arg(d, 0, 0);
                let o = self.plain(o);
                self.set(d.results[0], 0, o);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn ext(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        let form = match machine(d) {
            "r700.sin" => op2::SIN,
            "r700.cos" => op2::COS,
            "r700.recip_uint" => op2::RECIP_UINT,
            "r700.mul" => op2::MUL,
            other => return Err(CompileError::Internal(format!("no selection for `{other}`"))),
        };
        let src: SmallVec<[Opnd; 4]> = (0..d.args.len()).map(|n| self.arg(d, n, 0)).collect();
        let o = self.emit(form, &src);
        self.set(d.results[0], 0, o);
        Ok(true)
    }

    fn cube(&mut self, i: Inst) -> Taken {
        let d = self.data(i);
        if machine(d) != "r700.cube" {
            return Ok(false);
        }
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
        Ok(true)
    }
}

/// The name of a machine operation.
fn machine(d: &InstData) -> &str {
    if let Imm::Ext(name) = &d.imm { name } else { "" }
}
