//! Straight-line statements of random programs: one function per group of operations.

use super::random::{Gen, OWN_WORDS};
use retroshade_ir::types::{F16, F32, I1, I32};
use retroshade_ir::*;

/// Operations whose legalised results may differ from the reference.
pub(super) fn is_approximate(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        Fma | Fmad
            | Fdiv
            | Frcp
            | Frsqrt
            | Fsqrt
            | Fexp2
            | Flog2
            | Fsin
            | Fcos
            | Fpow
            | Dot
            | UnpackUnorm4x8
            | UnpackSnorm4x8
            | UnpackUnorm2x16
            | UnpackSnorm2x16
    )
}

impl Gen<'_> {
    fn allowed(&self, op: Opcode) -> bool {
        (self.p.allow)(op) && !(self.exact && is_approximate(op))
    }

    /// One of the operations that this program may use.
    fn choose(&mut self, ops: &[Opcode]) -> Option<Opcode> {
        let list: Vec<Opcode> = ops.iter().copied().filter(|o| self.allowed(*o)).collect();
        (!list.is_empty()).then(|| self.rng.of(&list))
    }

    /// Appends an operation and makes its result known.
    fn put(&mut self, op: Opcode, args: &[Value]) -> Value {
        self.put_imm(op, args, Imm::None)
    }
    fn put_imm(&mut self, op: Opcode, args: &[Value], imm: Imm) -> Value {
        let v = self.at().ins_imm(op, args, imm);
        self.define(v);
        v
    }
    fn put_typed(&mut self, op: Opcode, ty: Type, args: &[Value], imm: Imm) -> Value {
        let v = self.at().typed(op, ty, args, imm);
        self.define(v);
        v
    }

    /// A value of a type: one that nothing uses yet if possible, else any, else a new one.
    pub fn pick(&mut self, ty: Type) -> Value {
        let fit: Vec<usize> = (0..self.scope.len()).filter(|n| self.f.ty(self.scope[*n]) == ty).collect();
        let fresh: Vec<usize> = fit.iter().copied().filter(|n| self.uses[*n] == 0).collect();
        let n = match self.rng.below(10) {
            0..=5 if !fresh.is_empty() => fresh[fresh.len() - 1 - self.rng.below(fresh.len().min(3))],
            0..=8 if !fit.is_empty() => self.rng.of(&fit),
            _ => return self.make(ty),
        };
        self.uses[n] = self.uses[n].saturating_add(1);
        self.scope[n]
    }

    /// A new value of a type: a constant, a part of another value, or a conversion.
    fn make(&mut self, ty: Type) -> Value {
        if ty.lanes > 1 && self.rng.chance(50) {
            let have: Vec<Value> = self.scope.iter().copied().filter(|v| self.f.ty(*v).scalar == ty.scalar).collect();
            if !have.is_empty() {
                return self.assemble(ty, &have);
            }
        }
        if ty.lanes == 1 && self.rng.chance(75) {
            let wide: Vec<Value> =
                self.scope.iter().copied().filter(|v| self.f.ty(*v).scalar == ty.scalar && self.f.ty(*v).lanes > 1).collect();
            if !wide.is_empty() {
                let v = self.rng.of(&wide);
                let lane = self.rng.below(self.f.ty(v).lanes as usize) as u8;
                return self.at().extract(v, lane);
            }
        }
        if ty.scalar == Scalar::I1 && self.rng.chance(80) {
            let of = F32.with_lanes(ty.lanes);
            let (a, b) = (self.pick(of), self.pick(of));
            let cc = self.rng.of(FloatCC::ALL);
            return self.at().fcmp(cc, a, b);
        }
        if ty == I32.with_lanes(ty.lanes) && self.p.ints && self.rng.chance(40) {
            let x = self.pick(F32.with_lanes(ty.lanes));
            return self.at().typed(Opcode::F2s, ty, &[x], Imm::None);
        }
        if ty.scalar == Scalar::F16 && self.rng.chance(70) {
            let x = self.pick(F32.with_lanes(ty.lanes));
            return self.at().typed(Opcode::Fcvt, ty, &[x], Imm::None);
        }
        self.constant(ty)
    }

    /// A vector made of parts of others.
    fn assemble(&mut self, ty: Type, have: &[Value]) -> Value {
        let a = self.rng.of(have);
        let from = self.f.ty(a);
        if from.lanes == 1 {
            if self.rng.chance(50) {
                return self.at().splat(a, ty.lanes);
            }
            let scalars: Vec<Value> = have.iter().copied().filter(|v| self.f.ty(*v).lanes == 1).collect();
            let parts: Vec<Value> = (0..ty.lanes).map(|_| self.rng.of(&scalars)).collect();
            return self.at().build(&parts);
        }
        let same: Vec<Value> = have.iter().copied().filter(|v| self.f.ty(*v) == from).collect();
        let b = self.rng.of(&same);
        let mask: Vec<u8> = (0..ty.lanes).map(|_| self.rng.below(2 * from.lanes as usize) as u8).collect();
        self.at().shuffle(a, b, &mask)
    }

    pub fn constant(&mut self, ty: Type) -> Value {
        let mut bits = [0; 4];
        for w in bits.iter_mut().take(ty.lanes as usize) {
            *w = match ty.scalar {
                Scalar::I1 => self.rng.below(2) as u32,
                Scalar::I32 if self.p.small_ints => self.rng.below(9) as u32,
                Scalar::I32 => self.rng.int(),
                s => numerics::from_f32(s, self.rng.float()),
            };
        }
        self.at().constant(ty, bits)
    }

    /// A condition that some lanes may see otherwise than others.
    pub fn fresh_bool(&mut self) -> Value {
        if self.rng.chance(30) {
            return self.pick(I1);
        }
        if self.p.ints && self.rng.chance(30) {
            let (a, b) = (self.pick(I32), self.pick(I32));
            let cc = self.rng.of(IntCC::ALL);
            return self.at().icmp(cc, a, b);
        }
        let (a, b) = (self.pick(F32), self.pick(F32));
        let cc = self.rng.of(FloatCC::ALL);
        self.at().fcmp(cc, a, b)
    }

    /// A condition that never holds, which no folding of comparisons alone finds out.
    pub fn never(&mut self) -> Value {
        let x = self.pick(F32);
        let mut b = self.at();
        let (a, m) = (b.ins(Opcode::Fabs, &[x]), b.fconst(F32, -1.0));
        b.fcmp(FloatCC::Olt, a, m)
    }

    /// Keeps floats that go round a loop small.
    pub fn damp(&mut self, v: Value) -> Value {
        let ty = self.f.ty(v);
        if !ty.is_float() {
            return v;
        }
        match self.rng.below(3) {
            0 => self.at().ins(Opcode::Fsaturate, &[v]),
            1 => {
                let mut b = self.at();
                let (low, high) = (b.fconst(ty, -8.0), b.fconst(ty, 8.0));
                let x = b.ins(Opcode::Fmax, &[v, low]);
                b.ins(Opcode::Fmin, &[x, high])
            }
            _ => {
                let mut b = self.at();
                let half = b.fconst(ty, 0.5);
                b.ins(Opcode::Fmul, &[v, half])
            }
        }
    }

    /// One statement of a random group.
    pub fn statement(&mut self) {
        let (p, stage) = (self.p, self.m.stage);
        let ints = p.ints;
        let together = self.uniform_flow && !self.helper;
        let on = |c: bool, w: u32| if c { w } else { 0 };
        let weights = [
            30,
            on(ints, 20),
            7,
            7,
            6,
            on(ints, 7),
            on(ints, 5),
            12,
            8,
            5,
            on(!self.locals.is_empty(), 7),
            on(p.textures, 6),
            on(p.derivatives && together && stage == Stage::Fragment, 6),
            on(!self.helper && stage != Stage::Compute, 3),
            on(!self.helpers.is_empty(), 4),
            on(p.discard && !self.helper && stage == Stage::Fragment, 2),
            1,
            on(self.own.is_some(), 8),
            on(self.own.is_some(), 5),
            on(self.own.is_some() && together, 3),
            on(stage == Stage::Geometry && !self.helper, 4),
            on(p.f16, 3),
            on(p.small_ints, 12),
        ];
        match self.rng.weighted(&weights) {
            0 => self.float_op(),
            1 => self.int_op(),
            2 => self.compare(),
            3 => self.select(),
            4 => self.logic(),
            5 => self.convert(),
            6 => self.packing(),
            7 => self.vector(),
            8 => self.load(),
            9 => {
                let ty = self.any_type();
                let v = self.constant(ty);
                self.define(v);
            }
            10 => self.local(),
            11 => self.texture(),
            12 => self.derivative(),
            13 => self.output(),
            14 => self.call(),
            15 => {
                let (a, b) = (self.fresh_bool(), self.fresh_bool());
                let c = self.at().ins(Opcode::Iand, &[a, b]);
                self.at().effect(Opcode::Discard, &[c], Imm::None);
            }
            16 => {
                // An undefined value that no result depends on.
                let ty = self.any_type();
                let (c, x) = (self.never(), self.pick(ty));
                let u = self.at().typed(Opcode::Undef, ty, &[], Imm::None);
                self.put(Opcode::Select, &[c, u, x]);
            }
            17 => self.storage(),
            18 => self.atomic(),
            19 => self.exchange(),
            20 => self.emit_vertex(),
            21 => self.half(),
            _ => self.small_int(),
        }
    }

    fn float_op(&mut self) {
        use Opcode::*;
        let ty = self.float_type();
        let ops = [
            Fadd, Fadd, Fsub, Fsub, Fmul, Fmul, Fmul, Fmin, Fmax, Fneg, Fabs, Ffloor, Fceil, Ftrunc, Fround, Ffract, Fsaturate, Fsign, Fma,
            Fma, Fmad, Fdiv, Frcp, Frsqrt, Fsqrt, Fexp2, Flog2, Fsin, Fcos, Fpow, Dot, Dot,
        ];
        let Some(op) = self.choose(&ops) else { return };
        let ty = if op == Dot { ty.with_lanes(ty.lanes.max(2)) } else { ty };
        let mut a = self.pick(ty);
        let guarded = self.rng.chance(85);
        match op {
            Fsqrt | Flog2 | Frsqrt if guarded => a = self.at().ins(Fabs, &[a]),
            Fexp2 if guarded => {
                let mut b = self.at();
                let (low, high) = (b.fconst(ty, -9.0), b.fconst(ty, 9.0));
                let x = b.ins(Fmax, &[a, low]);
                a = b.ins(Fmin, &[x, high]);
            }
            Fpow if guarded => {
                let y = self.pick(ty);
                let mut b = self.at();
                let (x, y) = (b.ins(Fabs, &[a]), b.ins(Fsaturate, &[y]));
                self.put(Fpow, &[x, y]);
                return;
            }
            _ => {}
        }
        match op.arity() {
            1 => self.put(op, &[a]),
            2 => {
                let b = self.pick(ty);
                self.put(op, &[a, b])
            }
            _ => {
                let (b, c) = (self.pick(ty), self.pick(ty));
                self.put(op, &[a, b, c])
            }
        };
    }

    fn int_op(&mut self) {
        use Opcode::*;
        let ty = I32.with_lanes(self.lanes());
        let ops = [
            Iadd, Iadd, Iadd, Isub, Isub, Imul, Imul, Umulhi, Smulhi, Udiv, Sdiv, Urem, Srem, Ineg, Iabs, Iand, Ior, Ixor, Inot, Ishl,
            Ushr, Sshr, Umin, Umax, Smin, Smax, Bitcount, Bitrev, FindUmsb, FindSmsb, FindLsb, Ubfe, Sbfe, Bfi,
        ];
        let Some(op) = self.choose(&ops) else { return };
        let a = self.pick(ty);
        let small = |g: &mut Self| {
            let (x, m) = (g.pick(ty), g.rng.of(&[15, 31, 63]));
            let m = g.at().iconst(ty, m);
            g.at().ins(Iand, &[x, m])
        };
        match op {
            Udiv | Urem => {
                let (x, one) = (self.pick(ty), self.at().iconst(ty, 1));
                let y = self.at().ins(Ior, &[x, one]);
                self.put(op, &[a, y]);
            }
            // Positive divisors: neither by zero nor the least value by -1.
            Sdiv | Srem => {
                let (x, one, mask) = (self.pick(ty), self.at().iconst(ty, 1), self.at().iconst(ty, 0x7fff_ffff));
                let y = self.at().ins(Ior, &[x, one]);
                let y = self.at().ins(Iand, &[y, mask]);
                self.put(op, &[a, y]);
            }
            Ubfe | Sbfe => {
                let (o, c) = (small(self), small(self));
                self.put(op, &[a, o, c]);
            }
            Bfi => {
                let (b, o, c) = (self.pick(ty), small(self), small(self));
                self.put(op, &[a, b, o, c]);
            }
            _ if op.arity() == 1 => {
                self.put(op, &[a]);
            }
            _ => {
                let b = self.pick(ty);
                self.put(op, &[a, b]);
            }
        }
    }

    fn bool_lanes(&mut self) -> u8 {
        if self.p.bool_vectors { self.lanes() } else { 1 }
    }

    fn compare(&mut self) {
        let lanes = self.bool_lanes();
        if self.p.ints && self.rng.chance(45) {
            let (a, b) = (self.pick(I32.with_lanes(lanes)), self.pick(I32.with_lanes(lanes)));
            let cc = self.rng.of(IntCC::ALL);
            self.put_imm(Opcode::Icmp, &[a, b], Imm::IntCC(cc));
        } else {
            let ty = self.float_type().with_lanes(lanes);
            let (a, b) = (self.pick(ty), self.pick(ty));
            let cc = self.rng.of(FloatCC::ALL);
            self.put_imm(Opcode::Fcmp, &[a, b], Imm::FloatCC(cc));
        }
    }

    fn select(&mut self) {
        let ty = self.any_type();
        let per_lane = ty.lanes > 1 && self.p.bool_vectors && self.rng.chance(50);
        let c = if per_lane { self.pick(I1.with_lanes(ty.lanes)) } else { self.fresh_bool() };
        let (a, b) = (self.pick(ty), self.pick(ty));
        self.put(Opcode::Select, &[c, a, b]);
    }

    fn logic(&mut self) {
        use Opcode::*;
        let wide = I1.with_lanes(self.bool_lanes());
        let op = self.rng.of(&[Iand, Ior, Ixor, Inot, Any, All]);
        match op {
            Any | All if !self.p.bool_vectors => {}
            Any | All => {
                let lanes = 2 + self.rng.below(3) as u8;
                let a = self.pick(I1.with_lanes(lanes));
                self.put(op, &[a]);
            }
            Inot => {
                let a = self.pick(wide);
                self.put(op, &[a]);
            }
            _ => {
                let (a, b) = (self.pick(wide), self.pick(wide));
                self.put(op, &[a, b]);
            }
        }
    }

    fn convert(&mut self) {
        use Opcode::*;
        let lanes = self.lanes();
        let (int, float) = (I32.with_lanes(lanes), F32.with_lanes(lanes));
        let op = self.rng.of(&[F2s, F2u, S2f, U2f, Bitcast]);
        match op {
            F2s | F2u => {
                let a = self.pick(float);
                self.put_typed(op, int, &[a], Imm::None);
            }
            S2f | U2f => {
                let (a, m) = (self.pick(int), self.rng.of(&[0xff, 0xffff, u32::MAX]));
                let m = self.at().iconst(int, m);
                let a = self.at().ins(Iand, &[a, m]);
                self.put_typed(op, float, &[a], Imm::None);
            }
            _ if self.rng.chance(50) => {
                let a = self.pick(float);
                self.put_typed(Bitcast, int, &[a], Imm::None);
            }
            _ => {
                // Any mantissa between 1 and 2, of either sign.
                let a = self.pick(int);
                let mut b = self.at();
                let (mask, one) = (b.iconst(int, 0x807f_ffff), b.iconst(int, 0x3f80_0000));
                let x = b.ins(Iand, &[a, mask]);
                let x = b.ins(Ior, &[x, one]);
                self.put_typed(Bitcast, float, &[x], Imm::None);
            }
        }
    }

    fn packing(&mut self) {
        use Opcode::*;
        let ops = [
            PackUnorm4x8,
            PackSnorm4x8,
            PackUnorm2x16,
            PackSnorm2x16,
            PackHalf2x16,
            UnpackUnorm4x8,
            UnpackSnorm4x8,
            UnpackUnorm2x16,
            UnpackSnorm2x16,
            UnpackHalf2x16,
        ];
        let Some(op) = self.choose(&ops) else { return };
        let lanes = if matches!(op, PackUnorm4x8 | PackSnorm4x8 | UnpackUnorm4x8 | UnpackSnorm4x8) { 4 } else { 2 };
        let float = F32.with_lanes(lanes);
        if matches!(op, PackUnorm4x8 | PackSnorm4x8 | PackUnorm2x16 | PackSnorm2x16 | PackHalf2x16) {
            let a = self.pick(float);
            self.put_typed(op, I32, &[a], Imm::None);
        } else {
            let mut a = self.pick(I32);
            if op == UnpackHalf2x16 {
                // Halves between 1 and 2: neither NaN nor denormal.
                let mut b = self.at();
                let (mask, one) = (b.iconst(I32, 0x83ff_83ff), b.iconst(I32, 0x3c00_3c00));
                let x = b.ins(Iand, &[a, mask]);
                a = b.ins(Ior, &[x, one]);
            }
            self.put_typed(op, float, &[a], Imm::None);
        }
    }

    fn vector(&mut self) {
        let scalar = match self.rng.below(8) {
            0..=1 if self.p.ints => Scalar::I32,
            2 if self.p.bool_vectors => Scalar::I1,
            3 if self.p.f16 => Scalar::F16,
            _ => Scalar::F32,
        };
        let lanes = 2 + self.rng.below(3) as u8;
        let ty = Type::new(scalar, lanes);
        match self.rng.below(5) {
            0 => {
                let a = self.pick(ty.lane());
                self.put_typed(Opcode::Splat, ty, &[a], Imm::None);
            }
            1 => {
                let parts: Vec<Value> = (0..lanes).map(|_| self.pick(ty.lane())).collect();
                self.put(Opcode::Build, &parts);
            }
            2 => {
                let (a, l) = (self.pick(ty), self.rng.below(lanes as usize) as u8);
                self.put_imm(Opcode::Extract, &[a], Imm::Lane(l));
            }
            3 => {
                let (a, x, l) = (self.pick(ty), self.pick(ty.lane()), self.rng.below(lanes as usize) as u8);
                self.put_imm(Opcode::Insert, &[a, x], Imm::Lane(l));
            }
            _ => {
                let (a, b) = (self.pick(ty), self.pick(ty));
                let n = 1 + self.rng.below(4);
                let mask: Vec<u8> = (0..n).map(|_| self.rng.below(2 * lanes as usize) as u8).collect();
                self.put_imm(Opcode::Shuffle, &[a, b], Imm::Lanes(mask.as_slice().into()));
            }
        }
    }

    /// A value from 0 to `count - 1`; `count` is a power of two.
    fn index(&mut self, count: u32) -> Value {
        if self.p.ints && self.rng.chance(70) {
            let x = self.pick(I32);
            let mut b = self.at();
            let m = b.iconst(I32, count - 1);
            return b.ins(Opcode::Iand, &[x, m]);
        }
        let x = self.pick(F32);
        let mut b = self.at();
        let s = b.ins(Opcode::Fsaturate, &[x]);
        let n = b.fconst(F32, count as f32 - 0.5);
        let y = b.ins(Opcode::Fmul, &[s, n]);
        b.typed(Opcode::F2s, I32, &[y], Imm::None)
    }

    /// An index with a constant part of its own: what is computed may be negative, the sum never is.
    fn apart(&mut self, index: Value) -> (Value, u32) {
        if !self.p.index_offsets || !self.rng.chance(40) {
            return (index, 0);
        }
        let k = 1 + self.rng.below(9) as u32;
        let mut b = self.at();
        let by = b.iconst(I32, k.wrapping_neg());
        (b.ins(Opcode::Iadd, &[index, by]), k)
    }

    fn load(&mut self) {
        if self.rng.chance(30) && self.m.stage != Stage::Compute && !self.helper {
            let n = self.rng.below(self.m.inputs.len());
            let i = Input::from_u32(n as u32);
            let (ty, count) = (self.m.inputs[i].ty, self.m.inputs[i].count);
            let index = (count == 2 && self.p.io_arrays && self.rng.chance(60)).then(|| self.index(2));
            let at = if index.is_some() { 0 } else { self.rng.below(count as usize) as u32 };
            self.put_typed(Opcode::Input, ty, index.as_slice(), Imm::Mem { var: MemRef::Input(i), offset: at });
            return;
        }
        let n = self.rng.below(self.m.uniforms.len());
        let u = Uniform::from_u32(n as u32);
        let (ty, dims, unit) = (self.m.uniforms[u].ty, self.m.uniforms[u].dims.clone(), self.m.uniforms[u].unit);
        let Some(dim) = dims.first().copied() else {
            self.put_typed(Opcode::Uniform, ty, &[], Imm::Mem { var: MemRef::Uniform(u), offset: 0 });
            return;
        };
        let step = dim.stride / unit;
        if self.p.dynamic_uniforms && self.rng.chance(50) {
            let mut i = self.index(dim.count);
            if step > 1 && !self.p.ints {
                return;
            }
            if step > 1 {
                let mut b = self.at();
                let s = b.iconst(I32, step);
                i = b.ins(Opcode::Imul, &[i, s]);
            }
            let (i, offset) = self.apart(i);
            self.put_typed(Opcode::Uniform, ty, &[i], Imm::Mem { var: MemRef::Uniform(u), offset });
        } else {
            let k = self.rng.below(dim.count as usize) as u32 * step;
            self.put_typed(Opcode::Uniform, ty, &[], Imm::Mem { var: MemRef::Uniform(u), offset: k });
        }
    }

    fn local(&mut self) {
        let (l, ty, count) = self.rng.of(&self.locals.clone());
        let var = MemRef::Local(l);
        let index = self.rng.chance(60).then(|| self.index(count));
        let (index, offset) = match index {
            Some(i) => {
                let (i, offset) = self.apart(i);
                (Some(i), offset)
            }
            None => (None, self.rng.below(count as usize) as u32),
        };
        if self.rng.chance(55) {
            let x = self.pick(ty);
            self.at().store(var, offset, x, index);
        } else {
            let v = self.at().load(ty, var, offset, index);
            self.define(v);
        }
    }

    fn texture(&mut self) {
        let n = self.rng.below(self.m.textures.len());
        let t = Texture::from_u32(n as u32);
        let d = self.m.textures[t].clone();
        let rich = self.p.rich_textures;
        let others = rich && !self.p.samples_only;
        let together = self.uniform_flow && !self.helper && self.m.stage == Stage::Fragment;
        let op = match self.rng.below(8) {
            0 if others && d.dim == TexDim::D2 => TexOp::Gather,
            1 if others && self.p.ints && d.dim != TexDim::Cube && !d.shadow => TexOp::Fetch,
            2 if others && self.p.ints => TexOp::Size,
            3 if others && self.p.levels && together => TexOp::Lod,
            _ => TexOp::Sample,
        };
        if d.kind == Scalar::I32 && op == TexOp::Sample {
            return;
        }
        let compare = d.shadow && matches!(op, TexOp::Sample | TexOp::Gather);
        let lod = match op {
            TexOp::Sample => match self.rng.below(6) {
                0 if together && !compare => TexLod::Bias,
                1 => TexLod::Level,
                2 if rich && !compare => TexLod::Grad,
                _ if together => TexLod::Implicit,
                _ => TexLod::Zero,
            },
            TexOp::Fetch | TexOp::Size => TexLod::Level,
            _ => TexLod::Implicit,
        };
        let dims = match d.dim {
            TexDim::D1 => 1,
            TexDim::D2 => 2,
            _ => 3,
        };
        let coord = F32.with_lanes(dims);
        let mut args = Vec::new();
        if op == TexOp::Fetch {
            let x = self.pick(I32.with_lanes(dims));
            let m = self.at().iconst(I32.with_lanes(dims), 3);
            let x = self.at().ins(Opcode::Iand, &[x, m]);
            args.push(x);
        } else if op != TexOp::Size {
            let x = self.pick(coord);
            args.push(x);
        }
        if d.arrayed && !matches!(op, TexOp::Size | TexOp::Lod) {
            let l = self.index(2);
            args.push(l);
        }
        if compare {
            let r = self.pick(F32);
            args.push(r);
        }
        match (op, lod) {
            (TexOp::Fetch | TexOp::Size, _) => {
                let l = self.index(2);
                args.push(l);
            }
            (_, TexLod::Bias | TexLod::Level) => {
                let x = self.pick(F32);
                let x = self.at().ins(Opcode::Fsaturate, &[x]);
                args.push(x);
            }
            (_, TexLod::Grad) => {
                let (x, y) = (self.pick(coord), self.pick(coord));
                args.extend([x, y]);
            }
            _ => {}
        }
        let offset = others && d.dim == TexDim::D2 && matches!(op, TexOp::Sample | TexOp::Gather) && self.rng.chance(20);
        let offset = if offset { [self.rng.range(-4, 4) as i8, self.rng.range(-4, 4) as i8, 0] } else { [0; 3] };
        let component = if op == TexOp::Gather && !compare { self.rng.below(4) as u8 } else { 0 };
        let ty = match op {
            TexOp::Size => I32.with_lanes(
                match d.dim {
                    TexDim::D1 => 1,
                    TexDim::D2 | TexDim::Cube => 2,
                    TexDim::D3 => 3,
                } + u8::from(d.arrayed),
            ),
            TexOp::Sample if compare => F32,
            TexOp::Lod => F32.with_lanes(2),
            _ => Type::new(d.kind, 4),
        };
        let v = self.at().tex(ty, TexInfo { op, texture: t, lod, compare, offset, component }, &args);
        self.define(v);
    }

    fn derivative(&mut self) {
        let ty = F32.with_lanes(self.lanes());
        let op = self.rng.of(&[Opcode::Ddx, Opcode::Ddy]);
        let (a, hint) = (self.pick(ty), self.rng.below(3) as u8);
        self.put_imm(op, &[a], Imm::Hint(hint));
    }

    fn output(&mut self) {
        let n = self.rng.below(self.m.outputs.len());
        self.write_output(Output::from_u32(n as u32));
    }

    fn write_output(&mut self, o: Output) {
        let (ty, count) = (self.m.outputs[o].ty, self.m.outputs[o].count);
        let mut v = self.result(ty);
        if o == Output::from_u32(0) && ty.is_float() {
            v = self.with_held(v);
        }
        let index = (count == 2 && self.rng.chance(50)).then(|| self.index(2));
        let at = if index.is_some() { 0 } else { self.rng.below(count as usize) as u32 };
        self.at().store(MemRef::Output(o), at, v, index);
    }

    /// A value for an output, gathered from several others; mostly tame, so that a NaN does not hide the rest.
    fn result(&mut self, ty: Type) -> Value {
        let mut sum = self.pick(ty);
        for _ in 0..2 + self.rng.below(3) {
            let x = self.pick(ty);
            let mut x = x;
            if ty.is_float() && self.rng.chance(50) {
                x = self.at().ins(Opcode::Fsaturate, &[x]);
            }
            let op = match ty.scalar {
                Scalar::I32 | Scalar::I1 => Opcode::Ixor,
                _ => self.rng.of(&[Opcode::Fadd, Opcode::Fsub]),
            };
            sum = self.at().ins(op, &[sum, x]);
        }
        sum
    }

    /// A value and everything that was held for it, the latest first.
    fn with_held(&mut self, v: Value) -> Value {
        let (mut sum, to) = (v, self.f.ty(v));
        for (k, h) in self.held.clone().into_iter().enumerate().rev() {
            let from = self.f.ty(h);
            let lane = |l: u8| (l + k as u8 % from.lanes) % from.lanes;
            let mut b = self.at();
            let h = if from.scalar == to.scalar { h } else { b.typed(Opcode::Fcvt, to.with_lanes(from.lanes), &[h], Imm::None) };
            let x = match (from.lanes, to.lanes) {
                (1, n) => b.splat(h, n),
                (_, 1) => b.extract(h, lane(0)),
                (_, n) => b.shuffle(h, h, &(0..n).map(lane).collect::<Vec<u8>>()),
            };
            sum = b.ins(if k % 2 == 0 { Opcode::Fadd } else { Opcode::Fsub }, &[sum, x]);
        }
        sum
    }

    /// What every program ends with: all outputs, a vertex, or the invocation's own words.
    pub fn write_results(&mut self) {
        if self.m.stage == Stage::Compute {
            for _ in 0..2 {
                self.own_store();
            }
            return;
        }
        for n in 0..self.m.outputs.len() {
            self.write_output(Output::from_u32(n as u32));
        }
        if self.m.stage == Stage::Geometry {
            self.emit_vertex();
        }
    }

    fn emit_vertex(&mut self) {
        if self.rng.chance(70) {
            self.output();
        }
        self.at().effect(Opcode::EmitVertex, &[], Imm::Stream(0));
        if self.rng.chance(25) {
            self.at().effect(Opcode::EndPrimitive, &[], Imm::Stream(0));
        }
    }

    fn call(&mut self) {
        let n = self.rng.below(self.helpers.len());
        self.call_helper(n);
    }

    /// Calls one of the helper functions.
    pub fn call_helper(&mut self, n: usize) {
        let (id, params, results) = self.helpers[n].clone();
        let args: Vec<Value> = params.iter().map(|t| self.pick(*t)).collect();
        let i = self.at().push(InstData::new(Opcode::Call, &args, Imm::Func(id)), &results);
        for v in self.f.insts[i].results.clone() {
            self.define(v);
        }
    }

    /// Integers whose ranges are plain to see.
    fn small_int(&mut self) {
        use Opcode::*;
        let (low, high) = (self.at().iconst(I32, -8i32 as u32), self.at().iconst(I32, 8));
        match self.rng.below(8) {
            0 => {
                let x = self.pick(F32);
                let mut b = self.at();
                let (low, high) = (b.fconst(F32, -8.0), b.fconst(F32, 8.0));
                let x = b.ins(Fmax, &[x, low]);
                let x = b.ins(Fmin, &[x, high]);
                self.put_typed(F2s, I32, &[x], Imm::None);
            }
            1 => {
                let x = self.pick(I32);
                self.put_typed(S2f, F32, &[x], Imm::None);
            }
            2 => {
                let (x, y) = (self.pick(I32), self.pick(I32));
                let cc = self.rng.of(&[IntCC::Eq, IntCC::Ne, IntCC::Slt, IntCC::Sge]);
                let v = self.at().icmp(cc, x, y);
                self.define(v);
            }
            3 => {
                let i = self.pick(I32);
                let mut b = self.at();
                let (first, last) = (b.iconst(I32, 0), b.iconst(I32, 7));
                let i = b.ins(Smax, &[i, first]);
                let i = b.ins(Smin, &[i, last]);
                let table = MemRef::Uniform(retroshade_ir::Uniform::from_u32(1));
                self.put_typed(Uniform, F32.with_lanes(4), &[i], Imm::Mem { var: table, offset: 0 });
            }
            4 => {
                // Whole numbers of all sizes, by divisors that are not known.
                let (x, y) = (self.pick(I32), self.pick(I32));
                let (times, of) = (self.rng.of(&[1, 7, 1000, 8191]), self.rng.of(&[1, 3, 50, 8191]));
                let (op, below) = (self.rng.of(&[Sdiv, Srem]), self.rng.chance(30));
                let mut b = self.at();
                let (times, of) = (b.iconst(I32, times), b.iconst(I32, of));
                let x = b.ins(Imul, &[x, times]);
                let nearest = b.iconst(I32, if below { -1i32 as u32 } else { 1 });
                let y = b.ins(if below { Smin } else { Smax }, &[y, nearest]);
                let y = b.ins(Imul, &[y, of]);
                let x = b.ins(op, &[x, y]);
                let x = b.ins(Smax, &[x, low]);
                self.put(Smin, &[x, high]);
            }
            5 => {
                let (x, n) = (self.pick(I32), self.pick(I32));
                let op = self.rng.of(&[Ishl, Sshr]);
                let mut b = self.at();
                let (first, last) = (b.iconst(I32, 0), b.iconst(I32, 12));
                let n = b.ins(Smax, &[n, first]);
                let n = b.ins(Smin, &[n, last]);
                let x = b.ins(op, &[x, n]);
                let x = b.ins(Smax, &[x, low]);
                self.put(Smin, &[x, high]);
            }
            6 => {
                let x = self.pick(I32);
                let (op, bits) = (self.rng.of(&[Iand, Ior, Ixor]), self.rng.below(1 << 12) as u32);
                let bits = if self.rng.chance(20) { !bits } else { bits };
                let mut b = self.at();
                let bits = b.iconst(I32, bits);
                let x = b.ins(op, &[x, bits]);
                let x = b.ins(Smax, &[x, low]);
                self.put(Smin, &[x, high]);
            }
            _ => {
                let (x, y) = (self.pick(I32), self.pick(I32));
                let op = self.rng.of(&[Iadd, Isub, Smin, Smax]);
                let x = self.at().ins(op, &[x, y]);
                let x = self.at().ins(Smax, &[x, low]);
                self.put(Smin, &[x, high]);
            }
        }
    }

    /// Some f16 arithmetic.
    fn half(&mut self) {
        use Opcode::*;
        let lanes = self.lanes();
        let (h, f) = (F16.with_lanes(lanes), F32.with_lanes(lanes));
        if self.rng.chance(30) {
            let a = self.pick(h);
            self.put_typed(Fcvt, f, &[a], Imm::None);
            return;
        }
        let (a, b) = (self.pick(h), self.pick(h));
        let Some(op) = self.choose(&[Fadd, Fsub, Fmul, Fmin, Fmax, Fneg, Fabs, Fsaturate, Ffloor]) else { return };
        let args = [a, b];
        self.put(op, &args[..op.arity() as usize]);
    }

    fn own_store(&mut self) {
        let Some(own) = self.own else { return };
        let float = self.rng.chance(60);
        let wide = self.rng.below(3) as u8;
        let lanes = [1, 2, 4][wide as usize];
        let ty = if float { F32.with_lanes(lanes) } else { I32.with_lanes(lanes) };
        let v = self.result(ty);
        let at = self.rng.below((OWN_WORDS - lanes as u32 + 1) as usize) as u32;
        let s = Storage::from_u32(u32::from(float));
        self.at().store(MemRef::Storage(s), at, v, Some(own));
    }

    fn storage(&mut self) {
        let Some(own) = self.own else { return };
        match self.rng.below(6) {
            0 | 1 => self.own_store(),
            2 => {
                let float = self.rng.chance(50);
                let lanes = self.rng.of(&[1, 2, 4]);
                let at = self.rng.below((OWN_WORDS - lanes as u32 + 1) as usize) as u32;
                let ty = if float { F32.with_lanes(lanes) } else { I32.with_lanes(lanes) };
                let v = self.at().load(ty, MemRef::Storage(Storage::from_u32(u32::from(float))), at, Some(own));
                self.define(v);
            }
            3 => {
                let s = Storage::from_u32(self.rng.below(4) as u32);
                self.put_typed(Opcode::StorageLen, I32, &[], Imm::Mem { var: MemRef::Storage(s), offset: 0 });
            }
            _ => {
                let i = self.index(32);
                let v = self.at().load(F32, MemRef::Storage(Storage::from_u32(2)), 0, Some(i));
                self.define(v);
            }
        }
    }

    /// Atomics: on the invocation's own word the old value may be used; on shared words every operation has a word to itself.
    fn atomic(&mut self) {
        let Some(own) = self.own else { return };
        let n = self.rng.below(AtomicOp::ALL.len());
        let op = AtomicOp::ALL[n];
        let x = self.pick(I32);
        if matches!(op, AtomicOp::Xchg | AtomicOp::Cas) || self.rng.chance(50) {
            let var = MemRef::Storage(Storage::from_u32(0));
            let offset = self.rng.below(OWN_WORDS as usize) as u32;
            let mut args = vec![x];
            if op == AtomicOp::Cas {
                let y = self.pick(I32);
                args.push(y);
            }
            args.push(own);
            self.put_typed(Opcode::Atomic, I32, &args, Imm::Atomic { var, offset, op });
            return;
        }
        let shared = self.rng.chance(50);
        let var = if shared { MemRef::Shared(Shared::from_u32(2)) } else { MemRef::Storage(Storage::from_u32(3)) };
        self.at().typed(Opcode::Atomic, I32, &[x], Imm::Atomic { var, offset: n as u32, op });
    }

    /// Every invocation writes its element of workgroup memory, all wait, and each reads another's.
    fn exchange(&mut self) {
        let threads = self.m.workgroup_size.iter().product::<u32>();
        let local = Input::from_u32(0);
        let wide = self.rng.chance(40);
        let (n, ty) = if wide { (1, I32.with_lanes(2)) } else { (0, F32) };
        let var = MemRef::Shared(Shared::from_u32(n));
        let x = self.pick(ty);
        let shift = 1 + self.rng.below(threads as usize - 1) as u32;
        let mut b = self.at();
        let i = b.load(I32, MemRef::Input(local), 0, None);
        b.store(var, 0, x, Some(i));
        b.effect(Opcode::Barrier, &[], Imm::None);
        let (s, m) = (b.iconst(I32, shift), b.iconst(I32, threads - 1));
        let j = b.ins(Opcode::Iadd, &[i, s]);
        let j = b.ins(Opcode::Iand, &[j, m]);
        let v = b.load(ty, var, 0, Some(j));
        b.effect(Opcode::Barrier, &[], Imm::None);
        self.define(v);
        if self.rng.chance(40) {
            let totals = MemRef::Shared(Shared::from_u32(2));
            let at = self.rng.below(AtomicOp::ALL.len()) as u32;
            let mut b = self.at();
            b.effect(Opcode::Barrier, &[], Imm::None);
            let v = b.load(I32, totals, at, None);
            b.effect(Opcode::Barrier, &[], Imm::None);
            self.define(v);
        }
    }
}
