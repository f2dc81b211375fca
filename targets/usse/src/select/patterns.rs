//! What selection makes of each operation: the list, and a short function for each entry.

use super::*;
use Opcode::*;

type Selects = Result<bool, CompileError>;

impl<'a> Selector<'a> {
    /// The first that applies wins.
    pub(crate) const PATTERNS: &'a [Pattern<Selector<'a>>] = &[
        Pattern {
            name: "lanes.constant",
            doc: "constants and what is never written, which is 0",
            ops: &[Const, Undef],
            apply: Self::constant,
        },
        Pattern {
            name: "lanes.arranged",
            doc: "other orders of lanes cost nothing",
            ops: &[Splat, Build, Extract, Insert, Shuffle],
            apply: Self::arranged,
        },
        Pattern { name: "lanes.bits", doc: "the same bits; modifiers are applied first", ops: &[Bitcast], apply: Self::bits },
        Pattern { name: "float.modifier", doc: "a modifier of whoever reads it", ops: &[Fneg, Fabs], apply: Self::modifier },
        Pattern { name: "float.lanes", doc: "V32NMAD, V16NMAD, VMAD2, VMAD", ops: &[Fadd, Fmul, Fmin, Fmax, Fmad], apply: Self::float },
        Pattern { name: "float.subtract", doc: "a sum with a negated term", ops: &[Fsub], apply: Self::subtract },
        Pattern { name: "float.plain", doc: "operands without modifiers", ops: &[Ffract, Ddx, Ddy], apply: Self::plain_float },
        Pattern { name: "float.dot", doc: "VDP, or V32NMAD's dot product", ops: &[Dot], apply: Self::dot },
        Pattern { name: "float.scalar", doc: "VCOMP, lane by lane", ops: &[Frcp, Frsqrt, Fexp2, Flog2], apply: Self::scalar },
        Pattern { name: "convert.late", doc: "the program's end rounds the colour", ops: &[Fcvt], apply: Self::convert_late },
        Pattern { name: "convert.iterated", doc: "what is iterated as f16 is that already", ops: &[Fcvt], apply: Self::convert_iterated },
        Pattern { name: "convert.colour", doc: "halves go to the colour as they are", ops: &[Fcvt], apply: Self::convert_colour },
        Pattern { name: "convert.pack", doc: "VPCK between f32 and f16", ops: &[Fcvt], apply: Self::convert_pack },
        Pattern {
            name: "integer.mad",
            doc: "I32MAD2 with a factor of 1 or a term of 0",
            ops: &[Iadd, Isub, Ineg, Imul],
            apply: Self::integer,
        },
        Pattern {
            name: "condition.lazy",
            doc: "a predicate where it is tested",
            ops: &[Iand, Ior, Ixor, Inot, Fcmp, Icmp, Select],
            apply: Self::lazy_condition,
        },
        Pattern {
            name: "condition.value",
            doc: "0 or 1 in a register",
            ops: &[Iand, Ior, Ixor, Inot, Fcmp, Icmp, Any, All],
            apply: Self::condition_value,
        },
        Pattern { name: "integer.bits", doc: "VBW", ops: &[Iand, Ior, Ixor, Ishl, Ushr, Sshr], apply: Self::bitwise },
        Pattern { name: "integer.not", doc: "VBW: exclusive or with all ones", ops: &[Inot], apply: Self::not },
        Pattern { name: "select.move", doc: "one conditional VMOV a lane", ops: &[Select], apply: Self::select_move },
        Pattern {
            name: "select.predicate",
            doc: "two moves, one of them under a predicate",
            ops: &[Select],
            apply: Self::select_predicate,
        },
        Pattern { name: "input.bytes", doc: "the frame buffer's bytes, unpacked", ops: &[Input], apply: Self::input_bytes },
        Pattern { name: "input.half", doc: "an f16 that comes as f32", ops: &[Input], apply: Self::input_half },
        Pattern {
            name: "input.halves",
            doc: "an integer that comes as two floats: VPCK of both",
            ops: &[Input],
            apply: Self::input_halves,
        },
        Pattern { name: "input.place", doc: "attributes and iterated values in their registers", ops: &[Input], apply: Self::input_place },
        Pattern { name: "uniform.half", doc: "an f16 that the buffer holds as f32", ops: &[Uniform], apply: Self::uniform_half },
        Pattern { name: "uniform.loaded", doc: "a secondary attribute", ops: &[Uniform], apply: Self::uniform_loaded },
        Pattern { name: "uniform.memory", doc: "VLDST", ops: &[Uniform], apply: Self::uniform_memory },
        Pattern { name: "texture.early", doc: "a texel that is there at the start", ops: &[Tex], apply: Self::texture_early },
        Pattern { name: "texture.sample", doc: "SMP", ops: &[Tex], apply: Self::texture_sample },
        Pattern { name: "ext.pack", doc: "VPCK of two 16-bit halves", ops: &[Ext], apply: Self::ext_pack },
        Pattern { name: "ext.unpack", doc: "VPCK from a 16-bit half", ops: &[Ext], apply: Self::ext_unpack },
        Pattern { name: "ext.unorm8", doc: "rounding that a conversion of the colour does", ops: &[Ext], apply: Self::ext_unorm8 },
        Pattern { name: "output.last", doc: "the colour's only write, made at the end", ops: &[Output], apply: Self::output_last },
        Pattern { name: "output.halves", doc: "an integer that leaves as two floats", ops: &[Output], apply: Self::output_halves },
        Pattern { name: "output.place", doc: "a copy or a conversion to the output", ops: &[Output], apply: Self::output_place },
        Pattern { name: "flow.discard", doc: "KILL", ops: &[Discard], apply: Self::discard },
        Pattern { name: "flow.jump", doc: "copies of the edge, and BR", ops: &[Jump], apply: Self::jump },
        Pattern { name: "flow.branch", doc: "BR under a predicate, and BR", ops: &[BrIf], apply: Self::branch_if },
        Pattern { name: "flow.return", doc: "the outputs to their places", ops: &[Return], apply: Self::finish },
        Pattern { name: "flow.unreachable", doc: "nothing", ops: &[Unreachable], apply: Self::nothing },
    ];

    /// The instruction's result is these lanes.
    pub(super) fn set(&mut self, i: Inst, lanes: Vec<Lane>) -> Selects {
        if let Some(r) = self.f.insts[i].results.first() {
            self.lanes[*r] = lanes;
        }
        Ok(true)
    }

    /// An instruction and the type of its result.
    pub(super) fn parts(&self, i: Inst) -> (&'a InstData, Type) {
        let d = &self.f.insts[i];
        (d, d.results.first().map_or(types::I1, |v| self.f.ty(*v)))
    }

    fn args(&self, d: &InstData) -> Vec<Vec<Lane>> {
        (0..d.args.len()).map(|n| self.arg(d, n)).collect()
    }

    fn constant(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let bits = if let Imm::Const(c) = &d.imm { *c } else { [0; 4] };
        self.set(i, bits[..ty.lanes as usize].iter().map(|b| Lane::c(*b)).collect())
    }

    fn arranged(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let first = self.arg(d, 0);
        let lanes = match (d.op, &d.imm) {
            (Splat, _) => vec![first[0]; ty.lanes as usize],
            (Build, _) => (0..d.args.len()).map(|n| self.arg(d, n)[0]).collect(),
            (Extract, Imm::Lane(k)) => vec![first[*k as usize]],
            (Insert, Imm::Lane(k)) => {
                let mut v = first;
                v[*k as usize] = self.arg(d, 1)[0];
                v
            }
            (_, Imm::Lanes(mask)) => {
                let all = [first, self.arg(d, 1)].concat();
                mask.iter().map(|k| all[*k as usize]).collect()
            }
            _ => return Err(self.unsupported("an arrangement of lanes without a mask")),
        };
        self.set(i, lanes)
    }

    fn bits(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let from = self.f.ty(d.args[0]);
        if (from.scalar == Scalar::F16) != (ty.scalar == Scalar::F16) {
            return Err(self.unsupported("halves taken for words, or words for halves: they are placed lane by lane"));
        }
        let lanes = self.plain(self.arg(d, 0), from);
        self.set(i, lanes)
    }

    fn modifier(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let apply = if d.op == Fneg { Lane::negated } else { Lane::absolute };
        let lanes = self.arg(d, 0).into_iter().map(|l| self.folded(ty.scalar, apply(l))).collect();
        self.set(i, lanes)
    }

    fn float(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let lanes = self.make(Kind::Float(d.op), ty, self.args(d));
        self.set(i, lanes)
    }

    fn subtract(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let b = self.arg(d, 1).into_iter().map(|l| self.folded(ty.scalar, l.negated())).collect();
        let lanes = self.make(Kind::Float(Fadd), ty, vec![self.arg(d, 0), b]);
        self.set(i, lanes)
    }

    fn plain_float(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let a = self.plain(self.arg(d, 0), ty);
        let lanes = self.make(Kind::Float(d.op), ty, vec![a]);
        self.set(i, lanes)
    }

    fn dot(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        if !(3..=4).contains(&self.f.ty(d.args[0]).lanes) {
            return Ok(false);
        }
        let lanes = self.make(Kind::Dot, ty, self.args(d));
        self.set(i, lanes)
    }

    fn scalar(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let lanes = self.make(Kind::Complex(d.op), ty, self.args(d));
        self.set(i, lanes)
    }

    /// The operand of a conversion, its type and the result's.
    fn conversion(&self, i: Inst) -> (Vec<Lane>, Scalar, Scalar) {
        let (d, ty) = self.parts(i);
        (self.arg(d, 0), self.f.ty(d.args[0]).scalar, ty.scalar)
    }

    fn convert_late(&mut self, i: Inst) -> Selects {
        let (a, from, to) = self.conversion(i);
        let late = (from, to) == (Scalar::F32, Scalar::F16) && self.rounds_late && self.only_rounds_colour(&self.f.insts[i]);
        if late { self.set(i, a) } else { Ok(false) }
    }

    fn convert_iterated(&mut self, i: Inst) -> Selects {
        let (a, from, _) = self.conversion(i);
        let half = |l: &Lane| matches!(l.base, Base::V(v, _) if self.out.primary.data(v).ty == Scalar::F16);
        if from == Scalar::F32 && a.iter().all(half) { self.set(i, a) } else { Ok(false) }
    }

    fn convert_colour(&mut self, i: Inst) -> Selects {
        let (a, from, _) = self.conversion(i);
        let as_is = from == Scalar::F16 && self.abi.half_colour() && self.only_output(&self.f.insts[i]);
        if as_is { self.set(i, a) } else { Ok(false) }
    }

    fn convert_pack(&mut self, i: Inst) -> Selects {
        let (a, from, _) = self.conversion(i);
        let (_, ty) = self.parts(i);
        let (from, to) = if from == Scalar::F32 { (Format::F32, Format::F16) } else { (Format::F16, Format::F32) };
        let lanes = self.convert(a, ty, from, to);
        self.set(i, lanes)
    }

    fn integer(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let all = |c: u32| vec![Lane::c(c); ty.lanes as usize];
        let minus = |v: Vec<Lane>| -> Vec<Lane> {
            v.into_iter().map(|l| if let Base::C(c) = l.base { Lane::c(c.wrapping_neg()) } else { l.negated() }).collect()
        };
        let (a, b) = (self.arg(d, 0), self.arg(d, 1));
        let src = match d.op {
            Iadd => vec![a, all(1), b],
            Isub => vec![a, all(1), minus(b)],
            Ineg => vec![all(0), all(1), minus(a)],
            _ => vec![a, b, all(0)],
        };
        let lanes = self.make(Kind::Mad, ty, src);
        self.set(i, lanes)
    }

    /// Conditions are combined where they are used; see `condition`.
    fn lazy_condition(&mut self, i: Inst) -> Selects {
        let (_, ty) = self.parts(i);
        if ty == types::I1 && self.is_lazy(i) { self.set(i, Vec::new()) } else { Ok(false) }
    }

    fn condition_value(&mut self, i: Inst) -> Selects {
        let (_, ty) = self.parts(i);
        if ty.scalar != Scalar::I1 {
            return Ok(false);
        }
        let lanes = self.materialise_inst(i)?;
        self.set(i, lanes)
    }

    fn bitwise(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let bit = match d.op {
            Iand => Bit::And,
            Ior => Bit::Or,
            Ixor => Bit::Xor,
            Ishl => Bit::Shl,
            Ushr => Bit::Shr,
            _ => Bit::Asr,
        };
        let lanes = self.make(Kind::Bit(bit), ty, self.args(d));
        self.set(i, lanes)
    }

    fn not(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let lanes = self.make(Kind::Bit(Bit::Xor), ty, vec![self.arg(d, 0), vec![Lane::c(!0); ty.lanes as usize]]);
        self.set(i, lanes)
    }

    fn input_bytes(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let Imm::Mem { var: MemRef::Input(v), .. } = d.imm else { return Ok(false) };
        let Some(bytes) = self.inputs.get(&(v, 0)).copied() else { return Ok(false) };
        if self.abi.blended != Some(v) || self.abi.half_colour() {
            return Ok(false);
        }
        let lanes = self.make(Kind::Convert(Format::U8, Format::F32, true), ty, vec![Self::of(bytes, 1)]);
        self.set(i, lanes)
    }

    /// The register of an input, if it has one.
    fn input(&self, d: &InstData) -> Result<Option<Vreg>, CompileError> {
        match d.imm {
            Imm::Mem { var: MemRef::Input(v), offset } if d.args.is_empty() => Ok(self.inputs.get(&(v, offset)).copied()),
            _ => Err(self.unsupported("inputs cannot be indexed by a computed value")),
        }
    }

    fn input_half(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let Some(v) = self.input(d)? else { return Ok(false) };
        if ty.scalar != Scalar::F16 || self.out.primary.data(v).ty == Scalar::F16 {
            return Ok(false);
        }
        let lanes = self.make(Kind::Convert(Format::F32, Format::F16, false), ty, vec![Self::of(v, ty.lanes)]);
        self.set(i, lanes)
    }

    fn input_halves(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let Some(v) = self.input(d)? else { return Ok(false) };
        if ty.scalar != Scalar::I32 || self.out.primary.data(v).ty != Scalar::F32 {
            return Ok(false);
        }
        // VPCK cuts off what interpolation has added to or taken from a whole number.
        let n = 2 * ty.lanes;
        let half = vec![Lane::c(0.5f32.to_bits()); n as usize];
        let sums = self.make(Kind::Float(Fadd), types::F32.with_lanes(n), vec![Self::of(v, n), half]);
        let mut lanes = Vec::new();
        for pair in sums.chunks(2) {
            let (low, high) = (vec![pair[0]], vec![pair[1]]);
            lanes.extend(self.make(Kind::Convert(Format::F32, Format::U16, false), types::I32, vec![low, high]));
        }
        self.set(i, lanes)
    }

    fn input_place(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        // Without a register it is only the coordinate of a texel that is there already.
        let lanes = self.input(d)?.map_or(vec![Lane::new(Base::Undef); ty.lanes as usize], |v| Self::of(v, ty.lanes));
        self.set(i, lanes)
    }

    /// The name of one of the machine's own operations.
    fn ext(&self, i: Inst) -> &'a str {
        if let Imm::Ext(name) = &self.f.insts[i].imm { name } else { "" }
    }

    fn ext_pack(&mut self, i: Inst) -> Selects {
        let to = match self.ext(i) {
            "usse.pack16u" => Format::U16,
            "usse.pack16s" => Format::S16,
            _ => return Ok(false),
        };
        let (d, ty) = self.parts(i);
        let low = self.plain(self.arg(d, 0), types::F32);
        let high = self.plain(self.arg(d, 1), types::F32);
        let lanes = self.make(Kind::Convert(Format::F32, to, false), ty, vec![low, high]);
        self.set(i, lanes)
    }

    fn ext_unpack(&mut self, i: Inst) -> Selects {
        let (d, ty) = self.parts(i);
        let a = self.arg(d, 0);
        // A second, empty source stands for the high half.
        let lanes = match self.ext(i) {
            "usse.u16f" => self.convert(a, ty, Format::U16, Format::F32),
            "usse.u16hf" => self.make(Kind::Convert(Format::U16, Format::F32, false), ty, vec![a, Vec::new()]),
            "usse.s16hf" => self.make(Kind::Convert(Format::S16, Format::F32, false), ty, vec![a, Vec::new()]),
            _ => return Ok(false),
        };
        self.set(i, lanes)
    }

    /// The conversion that ends the program does it, and the frame buffer has bytes.
    fn ext_unorm8(&mut self, i: Inst) -> Selects {
        if self.ext(i) != UNORM8 {
            return Ok(false);
        }
        let (d, _) = self.parts(i);
        self.set(i, self.arg(d, 0))
    }

    fn nothing(&mut self, _: Inst) -> Selects {
        Ok(true)
    }
}
