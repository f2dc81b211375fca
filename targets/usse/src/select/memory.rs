//! Uniforms in registers and in memory, textures.

use super::*;
use crate::abi::UniformSlot;

impl Selector<'_> {
    /// A uniform's slot, its declaration, and the offset that the instruction names.
    fn uniform(&self, d: &InstData) -> Result<(UniformSlot, &UniformDecl, u32), CompileError> {
        let Imm::Mem { var: MemRef::Uniform(u), offset } = d.imm else { return Err(self.unsupported("uniform of nothing")) };
        let slot = *self.slot(u).ok_or_else(|| self.unsupported("a uniform without a place"))?;
        Ok((slot, &self.m.uniforms[u], offset))
    }

    pub(super) fn uniform_half(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, ty) = self.parts(i);
        if ty.scalar != Scalar::F16 {
            return Ok(false);
        }
        let full = self.uniform_lanes(d, ty.with_scalar(Scalar::F32))?;
        let lanes = self.make(Kind::Convert(Format::F32, Format::F16, false), ty, vec![full]);
        self.set(i, lanes)
    }

    pub(super) fn uniform_loaded(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, ty) = self.parts(i);
        if self.uniform(d)?.0.loaded.is_none() {
            return Ok(false);
        }
        let lanes = self.uniform_lanes(d, ty)?;
        self.set(i, lanes)
    }

    pub(super) fn uniform_memory(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, ty) = self.parts(i);
        let lanes = self.uniform_lanes(d, ty)?;
        self.set(i, lanes)
    }

    fn uniform_lanes(&mut self, d: &InstData, ty: Type) -> Result<Vec<Lane>, CompileError> {
        let (slot, decl, offset) = self.uniform(d)?;
        if d.args.is_empty() {
            let word = slot.element(decl, dense(decl, offset));
            if let Some(first) = slot.loaded {
                return Ok((0..ty.lanes as u16).map(|k| Lane::new(Base::Sa(first + word as u16 + k))).collect());
            }
            return Ok(self.load(slot.buffer, Lane::c(0), 0, word, ty));
        }
        // An index counts units of the declared layout, which are elements where that is not kept.
        let scale = if slot.declared { decl.unit.max(1) } else { 4 * slot.stride };
        let (index, factor) = self.scaled(d.args[0]);
        let index = self.value_lanes(index)[0];
        Ok(self.load(slot.buffer, index, scale.wrapping_mul(factor), slot.word + offset * scale / 4, ty))
    }

    /// Whether a product with a constant only names elements of uniforms: the address' own product takes its factor.
    pub(super) fn names_elements(&self, i: Inst) -> bool {
        let f = self.f;
        let Some(r) = f.result(i).filter(|r| matches!(f.insts[i].op, Opcode::Ishl | Opcode::Imul) && self.scaled(*r).0 != *r) else {
            return false;
        };
        let names = |u: Inst| f.insts[u].op == Opcode::Uniform && f.insts[u].args.first().is_some_and(|a| f.resolve(*a) == r);
        self.users[r].iter().all(|(_, u)| names(*u))
    }

    /// A number and the constant that it is multiplied with: one product names an element of an array of matrices.
    fn scaled(&self, v: Value) -> (Value, u32) {
        let f = self.f;
        let d = f.def_inst(v).map(|i| &f.insts[i]);
        let constant = |n: usize| d.and_then(|d| f.const_bits(*d.args.get(n)?)).map(|c| c[0]);
        match d.map(|d| (d.op, &d.args[..])) {
            Some((Opcode::Ishl, [x, _])) if constant(1).is_some_and(|c| c < 32) => (f.resolve(*x), 1 << constant(1).unwrap_or(0)),
            Some((Opcode::Imul, [x, _])) if constant(1).is_some() => (f.resolve(*x), constant(1).unwrap_or(1)),
            _ => (v, 1),
        }
    }

    /// Loads words of a uniform buffer: base + index × scale + 4 × word.
    fn load(&mut self, buffer: u16, index: Lane, scale: u32, word: u32, ty: Type) -> Vec<Lane> {
        let base = Lane::new(Base::Sa(self.abi.uniforms.buffer(buffer).and_then(|b| b.base).unwrap_or(0)));
        // The offset field counts words up to 127; the rest goes into the address.
        let (near, far) = (word % 128, word / 128 * 512);
        let mut address = base;
        if far != 0 {
            address = self.product_and_sum([address, Lane::c(1), Lane::c(far)]);
        }
        if scale != 0 {
            address = self.product_and_sum([index, Lane::c(scale), address]);
        }
        self.make(Kind::Load { base: 0, offset: near }, ty, vec![vec![address]])
    }

    /// a × b + c of integers. A block makes it once: the columns of a matrix differ in the load's own offset only.
    fn product_and_sum(&mut self, args: [Lane; 3]) -> Lane {
        let src = args.map(|l| vec![l]).to_vec();
        let at = self.at;
        let before = if self.in_secondary { &[][..] } else { &self.out.primary.blocks[at].ops };
        let same = before.iter().rfind(|o| o.kind == Kind::Mad && o.pred.is_none() && o.src == src);
        match same.and_then(|o| o.dst) {
            Some(v) => Lane::new(Base::V(v, 0)),
            None => self.make(Kind::Mad, types::I32, src)[0],
        }
    }

    pub(super) fn texture_early(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (_, ty) = self.parts(i);
        let early = self.abi.direct.iter().find(|d| d.inst == i);
        match early.and_then(|d| self.texels.get(&(d.texture, d.coord, d.half))).copied() {
            Some(v) => self.set(i, Self::of(v, ty.lanes)),
            None => Ok(false),
        }
    }

    /// What SMP lacks, if the operation needs it.
    fn lacking(&self, info: &TexInfo) -> Option<&'static str> {
        Some(match info.op {
            TexOp::Sample if info.compare => "SMP compares nothing with a texel",
            TexOp::Sample if info.offset != [0; 3] => "SMP has no texel offsets, and what a texel is depends on the level",
            TexOp::Sample => return None,
            TexOp::Fetch => "texel fetch: SMP reads floats of 1D, 2D and 3D textures",
            TexOp::Gather => "gather: how the machine returns four texels is not known",
            _ => "the machine has no array textures",
        })
    }

    pub(super) fn texture_sample(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, ty) = self.parts(i);
        let Imm::Tex(info) = &d.imm else { return Err(self.unsupported("texture operation without data")) };
        if let Some(what) = self.lacking(info) {
            return Err(self.unsupported(format!("`{}`: {what}", self.m.textures[info.texture].name)));
        }
        let dims = match self.m.textures[info.texture].dim {
            TexDim::D1 => 1,
            TexDim::D2 => 2,
            _ => 3,
        };
        let state = self.abi.textures.iter().find(|t| t.0 == info.texture).map_or(0, |t| t.2);
        let coord = self.arg(d, 0);
        let coord = self.contiguous(coord, types::F32.with_lanes(dims));
        let lod = match info.lod {
            TexLod::Implicit => 0,
            TexLod::Bias => 1,
            TexLod::Level | TexLod::Zero => 2,
            TexLod::Grad => 3,
        };
        let mut src = vec![coord];
        match info.lod {
            TexLod::Bias | TexLod::Level => {
                let l = self.arg(d, 1);
                src.push(self.contiguous(l, types::F32));
            }
            TexLod::Zero => src.push(self.zero_level()),
            TexLod::Grad => {
                let (mut x, y) = (self.arg(d, 1), self.arg(d, 2));
                if dims == 3 {
                    x.push(Lane::new(Base::Undef));
                }
                x.extend(y);
                let n = x.len() as u8;
                src.push(self.contiguous(x, types::F32.with_lanes(n)));
            }
            TexLod::Implicit => {}
        }
        let kind = Kind::Sample { state, dims, lod, has_lod: src.len() > 1 };
        let full = ty.with_lanes(4);
        let mut r = self.make(kind, full, src);
        r.truncate(ty.lanes as usize);
        self.set(i, r)
    }

    /// Level 0, made once a block: the unit takes it from a register.
    fn zero_level(&mut self) -> Vec<Lane> {
        let zero = vec![vec![Lane::c(0)]];
        let at = self.at;
        let before = if self.in_secondary { &[][..] } else { &self.out.primary.blocks[at].ops };
        let made = before.iter().rfind(|o| o.kind == Kind::Copy && o.pred.is_none() && o.src == zero);
        match made.and_then(|o| o.dst).filter(|v| self.out.primary.data(*v).even) {
            Some(v) => Self::of(v, 1),
            None => self.contiguous(vec![Lane::c(0)], types::F32),
        }
    }

    /// Lanes in order in one virtual register that begins at an even place.
    fn contiguous(&mut self, v: Vec<Lane>, ty: Type) -> Vec<Lane> {
        if let Some(Lane { base: Base::V(r, 0), .. }) = v.first() {
            let in_order = v.iter().enumerate().all(|(k, l)| l.is_plain() && l.base == Base::V(*r, k as u8));
            let data = self.out.primary.data(*r);
            let even = self.out.fixed.get(r).is_none_or(|p| p.n.is_multiple_of(2));
            if in_order && even && data.ty == ty.scalar {
                if !self.out.fixed.contains_key(r) {
                    self.out.primary.vregs[r.0 as usize].even = true;
                }
                return v;
            }
        }
        let span = self.span;
        let r = self.out.primary.vreg(ty.scalar, ty.lanes, span);
        self.out.primary.vregs[r.0 as usize].even = true;
        self.emit(Kind::Copy, Some(r), vec![v]);
        Self::of(r, ty.lanes)
    }
}

/// The dense element that a unit index names, clamped as the interpreter does.
fn dense(decl: &UniformDecl, index: u32) -> u32 {
    let mut byte = index * decl.unit.max(1);
    let mut element = 0;
    for d in &decl.dims {
        let k = byte.checked_div(d.stride).unwrap_or(0).min(d.count.max(1) - 1);
        byte -= k * d.stride;
        element = element * d.count.max(1) + k;
    }
    element
}
