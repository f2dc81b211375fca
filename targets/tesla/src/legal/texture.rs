//! Legalisation of texture operations: what the unit does not take is computed before.
//!
//! Cube coordinates become as long as the unit wants them, gradients and biases that differ within a quad become levels,
//! a gather on a chip without one becomes four samples at the centres of the texels. Facts: the ISA description, section 8.

use crate::isa::chip::{MOST_ARGUMENTS, MOST_LAYERS};
use crate::legal::{Lanes, Scalarise};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::{Imm, InstData, Opcode, Scalar, Span, Stage, TexDim, TexInfo, TexLod, TexOp, TextureDecl, Type, Value};
use retroshade_lower::CompileError;
use smallvec::SmallVec;

impl Scalarise<'_> {
    /// The level of detail that two gradients ask for: half the logarithm of the longer one's squared length in texels.
    fn gradient_level(&mut self, (dx, dy): (&Lanes, &Lanes), info: &TexInfo, shrink: Option<Value>) -> Result<Value, CompileError> {
        let decl = &self.module.textures[info.texture];
        let dims = dx.len();
        let zero = self.ex.constant(I32, 0);
        let ask = TexInfo { op: TexOp::Size, lod: TexLod::Level, compare: false, offset: [0; 3], component: 0, texture: info.texture };
        let lanes = if decl.dim == retroshade_ir::TexDim::Cube { 2 } else { dims };
        let arrayed = usize::from(decl.arrayed);
        let ty = Type::new(Scalar::I32, (lanes + arrayed) as u8);
        let data = InstData::new(Opcode::Tex, &[zero], Imm::Tex(Box::new(ask)));
        let size = self.ex.push(data, Some(ty)).ok_or_else(|| CompileError::Internal("texture size".into()))?;
        let size = self.ex.lanes_of(size);
        let length = |s: &mut Self, g: &[Value]| {
            let mut sum = None;
            for (k, v) in g.iter().enumerate() {
                let mut w = s.ex.typed(Opcode::S2f, F32, &[size[k.min(lanes - 1)]], Imm::None);
                if let Some(r) = shrink {
                    // A face spans two units at distance 1.
                    let half = s.ex.constant(F32, 0.5f32.to_bits());
                    w = s.ex.bin(Opcode::Fmul, w, half);
                    w = s.ex.bin(Opcode::Fmul, w, r);
                }
                let p = s.ex.bin(Opcode::Fmul, *v, w);
                let sq = s.ex.bin(Opcode::Fmul, p, p);
                sum = Some(match sum {
                    None => sq,
                    Some(t) => s.ex.bin(Opcode::Fadd, t, sq),
                });
            }
            sum.unwrap_or(g[0])
        };
        let (a, b) = (length(self, dx), length(self, dy));
        let m = self.ex.bin(Opcode::Fmax, a, b);
        let l = self.ex.typed(Opcode::Flog2, F32, &[m], Imm::None);
        let half = self.ex.constant(F32, 0.5f32.to_bits());
        Ok(self.ex.bin(Opcode::Fmul, l, half))
    }

    /// Texture operations: what the unit does not take is computed before.
    pub(crate) fn texture(&mut self, d: &InstData, span: Span) -> Result<(), CompileError> {
        let Imm::Tex(info) = &d.imm else { return Err(CompileError::Internal("a texture operation without details".into())) };
        let decl = &self.module.textures[info.texture];
        if decl.multisampled {
            return Err(CompileError::unsupported("T0020", span, "this machine has no multisampled textures"));
        }
        let mut info: TexInfo = (**info).clone();
        let mut args: SmallVec<[Value; 4]> = d.args.iter().map(|a| self.whole(*a)).collect();
        if decl.arrayed && matches!(info.op, TexOp::Sample | TexOp::Gather | TexOp::Fetch) {
            args[1] = self.within_layers(args[1]);
        }
        let mut shrink = None;
        if decl.dim == retroshade_ir::TexDim::Cube && matches!(info.op, TexOp::Sample | TexOp::Gather) {
            // The unit wants the longest coordinate to be 1.
            let l = self.lanes(d.args[0]);
            let abs: Vec<Value> = l.iter().map(|v| self.ex.typed(Opcode::Fabs, F32, &[*v], Imm::None)).collect();
            let m = self.ex.bin(Opcode::Fmax, abs[0], abs[1]);
            let m = self.ex.bin(Opcode::Fmax, m, abs[2]);
            let r = self.ex.typed(Opcode::Frcp, F32, &[m], Imm::None);
            let scaled: Vec<Value> = l.iter().map(|v| self.ex.bin(Opcode::Fmul, *v, r)).collect();
            args[0] = self.ex.build(&scaled);
            shrink = Some(r);
        }
        // Words have room for the offsets of samples.
        let far = info.offset.iter().any(|o| !TexOp::Sample.offsets().contains(o));
        if info.op == TexOp::Gather && (!self.chip.d3d101 || far || (info.component != 0 && !info.compare)) {
            return self.gather(d, &args, &info, span);
        }
        if info.op == TexOp::Sample {
            self.level(d, &mut info, &mut args, shrink, span)?;
        }
        if matches!(info.op, TexOp::Fetch | TexOp::Size) && info.lod != TexLod::Level {
            info.lod = TexLod::Level;
            let zero = self.ex.constant(I32, 0);
            args.push(zero);
        }
        let ty = d.results.first().map_or(Type::new(Scalar::F32, 4), |r| self.old.ty(*r));
        let data = InstData { args: args.as_slice().into(), imm: Imm::Tex(Box::new(info)), results: SmallVec::new(), ..d.clone() };
        let r = self.ex.push(data, Some(ty));
        if let (Some(r), Some(old)) = (r, d.results.first()) {
            self.map[*old] = self.ex.lanes_of(r);
        }
        Ok(())
    }

    /// How a sample says its level: by itself, by an argument, or not at all.
    fn level(
        &mut self,
        d: &InstData,
        info: &mut TexInfo,
        args: &mut SmallVec<[Value; 4]>,
        shrink: Option<Value>,
        span: Span,
    ) -> Result<(), CompileError> {
        let decl = &self.module.textures[info.texture];
        let fragment = self.module.stage == Stage::Fragment;
        // Arrays of cubes whose direction becomes an image have room for one argument more.
        let cubes = decl.dim == TexDim::Cube && decl.arrayed;
        let full = if cubes { info.compare } else { arguments(decl, info) == MOST_ARGUMENTS };
        let last = d.args.len() - 1;
        let zero_level = info.lod == TexLod::Level && self.constant_of(d.args[last]).is_some_and(|k| f32::from_bits(k) <= 0.0);
        match info.lod {
            // Outside fragment programs the implicit level is 0.
            TexLod::Zero if !fragment => info.lod = TexLod::Implicit,
            TexLod::Bias if !fragment => info.lod = TexLod::Level,
            // There is no room for a bias then.
            TexLod::Bias if full => {
                args.pop();
                info.lod = TexLod::Implicit;
            }
            TexLod::Level if full && zero_level => {
                args.pop();
                info.lod = if fragment { TexLod::Zero } else { TexLod::Implicit };
            }
            TexLod::Zero if full => {}
            TexLod::Zero => {
                info.lod = TexLod::Level;
                args.push(self.ex.constant(F32, 0));
            }
            TexLod::Grad => {
                let (dx, dy) = (self.lanes(d.args[last - 1]), self.lanes(d.args[last]));
                let level = self.gradient_level((&dx, &dy), info, shrink)?;
                args.truncate(args.len() - 2);
                args.push(level);
                info.lod = TexLod::Level;
            }
            // The unit takes one bias per quad: where they differ, the level is computed for each lane.
            TexLod::Bias if cubes || self.is_divergent(d.args[last]) => {
                let coordinates = self.lanes(d.args[0]);
                let mut slope = |op| -> Lanes { coordinates.iter().map(|c| self.ex.typed(op, F32, &[*c], Imm::Hint(0))).collect() };
                let (dx, dy) = (slope(Opcode::Ddx), slope(Opcode::Ddy));
                let level = self.gradient_level((&dx, &dy), info, shrink)?;
                let bias = self.lanes(d.args[last])[0];
                args.pop();
                args.push(self.ex.bin(Opcode::Fadd, level, bias));
                info.lod = TexLod::Level;
            }
            _ => {}
        }
        if cubes && info.compare && fragment && info.lod == TexLod::Implicit {
            let m = "comparisons with arrays of cube textures take level 0 on this machine: the implicit one has no argument left";
            return Err(CompileError::unsupported("T0021", span, m));
        }
        if full && fragment && info.lod == TexLod::Zero && !cubes {
            // All lanes of the quad will take one lane's coordinates through an addition of 0, which must change nothing.
            let zero = self.ex.constant(F32, 0);
            let c: Lanes = self.ex.lanes_of(args[0]).iter().map(|x| self.ex.typed(Opcode::Fadd, F32, &[*x, zero], Imm::None)).collect();
            args[0] = self.ex.build(&c);
        }
        Ok(())
    }

    fn constant_of(&self, v: Value) -> Option<u32> {
        self.ex.func.const_bits(*self.lanes(v).first()?).map(|b| b[0])
    }

    /// A layer as the unit takes it, which looks at nine bits: from the first to the last that a texture may have.
    fn within_layers(&mut self, layer: Value) -> Value {
        let most = self.ex.constant(I32, MOST_LAYERS - 1);
        if self.ex.func.const_bits(layer).is_some_and(|k| k[0] < MOST_LAYERS) {
            return layer;
        }
        let float = self.ex.func.def_if(layer, Opcode::F2s).map(|d| d.args[0]);
        let layer = match float {
            // To unsigned numbers, what is negative becomes 0.
            Some(x) => self.ex.typed(Opcode::F2u, I32, &[x], Imm::None),
            None => {
                let zero = self.ex.constant(I32, 0);
                self.ex.bin(Opcode::Smax, layer, zero)
            }
        };
        self.ex.bin(Opcode::Umin, layer, most)
    }

    /// A gather as four samples of level 0 at the centres of the texels around the place.
    fn gather(&mut self, d: &InstData, given: &[Value], info: &TexInfo, span: Span) -> Result<(), CompileError> {
        let decl = &self.module.textures[info.texture];
        if decl.dim != TexDim::D2 {
            let what =
                if self.chip.d3d101 { "gather anything but the first component of a cube texture" } else { "gather from a cube texture" };
            return Err(CompileError::unsupported("T0022", span, format!("{} cannot {what}", self.chip.name)));
        }
        let fragment = self.module.stage == Stage::Fragment;
        let precise = std::mem::replace(&mut self.ex.precise, true);
        let level = self.ex.constant(I32, 0);
        let ask = TexInfo { op: TexOp::Size, lod: TexLod::Level, compare: false, offset: [0; 3], component: 0, texture: info.texture };
        let ty = Type::new(Scalar::I32, 2 + u8::from(decl.arrayed));
        let size = self.ex.push(InstData::new(Opcode::Tex, &[level], Imm::Tex(Box::new(ask))), Some(ty));
        let size = size.ok_or_else(|| CompileError::Internal("texture size".into()))?;
        let size = self.ex.lanes_of(size);
        let at = self.lanes(d.args[0]);
        let mut centre = Lanes::new();
        for k in 0..2 {
            let w = self.ex.typed(Opcode::S2f, F32, &[size[k]], Imm::None);
            let texels = self.ex.bin(Opcode::Fmul, at[k], w);
            let minus = self.ex.constant(F32, (-0.5f32).to_bits());
            let low = self.ex.bin(Opcode::Fadd, texels, minus);
            let low = self.ex.typed(Opcode::Ffloor, F32, &[low], Imm::None);
            let middle = self.ex.constant(F32, (0.5 + info.offset[k] as f32).to_bits());
            let middle = self.ex.bin(Opcode::Fadd, low, middle);
            let r = self.ex.typed(Opcode::Frcp, F32, &[w], Imm::None);
            centre.push(self.ex.bin(Opcode::Fmul, middle, r));
        }
        let mut sample = TexInfo { op: TexOp::Sample, offset: [0; 3], component: 0, lod: TexLod::Level, ..info.clone() };
        let full = arguments(decl, &sample) == MOST_ARGUMENTS;
        let mut args: SmallVec<[Value; 4]> = SmallVec::new();
        if full && fragment {
            sample.lod = TexLod::Zero;
            let zero = self.ex.constant(F32, 0);
            centre = centre.iter().map(|x| self.ex.typed(Opcode::Fadd, F32, &[*x, zero], Imm::None)).collect();
        }
        args.push(self.ex.build(&centre));
        args.extend_from_slice(&given[1..]);
        if !fragment {
            sample.lod = TexLod::Implicit;
        } else if !full {
            args.push(self.ex.constant(F32, 0));
        }
        self.ex.precise = precise;
        let ty = if info.compare { F32 } else { d.results.first().map_or(Type::new(Scalar::F32, 4), |r| self.old.ty(*r)) };
        let mut out = Lanes::new();
        for [x, y] in [[0, 1], [1, 1], [1, 0], [0, 0]] {
            let one = TexInfo { offset: [x, y, 0], ..sample.clone() };
            let t = self.ex.push(InstData::new(Opcode::Tex, &args, Imm::Tex(Box::new(one))), Some(ty));
            let t = t.ok_or_else(|| CompileError::Internal("a texel".into()))?;
            let lanes = self.ex.lanes_of(t);
            out.push(lanes[usize::from(info.component).min(lanes.len() - 1)]);
        }
        if let Some(r) = d.results.first() {
            self.map[*r] = out;
        }
        Ok(())
    }
}

/// Arguments of a sample or gather besides a level or bias.
pub(super) fn arguments(decl: &TextureDecl, info: &TexInfo) -> usize {
    let coordinates = match decl.dim {
        TexDim::D1 => 1,
        TexDim::D2 => 2,
        TexDim::D3 | TexDim::Cube => 3,
    };
    coordinates + usize::from(decl.arrayed) + usize::from(info.compare)
}
