//! Textures: one declaration per pair of texture and sampler, and the operations on them.

use crate::convert::{Converter, Lang, R};
use crate::expr::Kind;
use crate::value::Val;
use naga::{Expression, GlobalVariable, Handle, ImageClass, ImageDimension, ImageQuery, SampleLevel, ScalarKind, TypeInner};
use retroshade_ir::inst::{Imm, TexInfo, TexLod, TexOp};
use retroshade_ir::module::{TexDim, TextureDecl};
use retroshade_ir::types::{F32, I32, Scalar, Type};
use retroshade_ir::{Opcode, Texture, Value};

/// What a texture is, from its naga type.
#[derive(Clone, Copy, Debug)]
struct Image {
    dim: TexDim,
    arrayed: bool,
    depth: bool,
    scalar: Scalar,
}

impl Image {
    /// Lanes of its coordinates.
    fn lanes(self) -> u8 {
        match self.dim {
            TexDim::D1 => 1,
            TexDim::D2 => 2,
            TexDim::D3 | TexDim::Cube => 3,
        }
    }
}

impl<'m> Converter<'m> {
    /// Refuses resources that no machine has.
    pub(crate) fn check_resource(&self, g: &GlobalVariable) -> R<()> {
        match &self.nm.types[g.ty].inner {
            TypeInner::Image { .. } => self.image_of(g).map(|_| ()),
            TypeInner::Sampler { .. } => Ok(()),
            TypeInner::BindingArray { .. } => Err(self.error("F0135", "arrays of textures and samplers exist on none of the machines")),
            _ => Err(self.error("F0150", "a resource of this type exists on none of the machines")),
        }
    }

    fn image_of(&self, g: &GlobalVariable) -> R<Image> {
        let name = g.name.as_deref().unwrap_or("?");
        let TypeInner::Image { dim, arrayed, class } = self.nm.types[g.ty].inner else {
            return Err(self.error("F0150", format!("`{name}` is no texture")));
        };
        let dim = match dim {
            ImageDimension::D1 => TexDim::D1,
            ImageDimension::D2 => TexDim::D2,
            ImageDimension::D3 => TexDim::D3,
            ImageDimension::Cube => TexDim::Cube,
        };
        let (depth, kind, multi) = match class {
            ImageClass::Sampled { kind, multi } => (false, kind, multi),
            ImageClass::Depth { multi } => (true, ScalarKind::Float, multi),
            ImageClass::External => return Err(self.error("F0151", format!("`{name}`: external textures exist on none of the machines"))),
            ImageClass::Storage { .. } => {
                return Err(self.error(
                    "F0151",
                    format!("`{name}` is a storage texture: none of the machines can access textures as storage from a program"),
                ));
            }
        };
        if multi {
            return Err(
                self.error("F0151", format!("`{name}` is multisampled: no program of these machines can read single samples of a texture"))
            );
        }
        Ok(Image { dim, arrayed, depth, scalar: if kind == ScalarKind::Float { Scalar::F32 } else { Scalar::I32 } })
    }

    /// The declaration for a texture with a sampler, or without one.
    fn texture(&mut self, image: Handle<GlobalVariable>, sampler: Option<Handle<GlobalVariable>>) -> R<(Texture, Image)> {
        let g = &self.nm.global_variables[image];
        let what = self.image_of(g)?;
        let span = (self.spans)(self.nm.global_variables.get_span(image));
        let (group, binding) = g.binding.map_or((0, 0), |b| (b.group, b.binding));
        let sampler_name = sampler.map(|s| {
            let s = &self.nm.global_variables[s];
            s.name
                .clone()
                .filter(|n| !n.is_empty())
                .unwrap_or_else(|| s.binding.map_or("sampler".into(), |b| format!("sampler{}", b.binding)))
        });
        let name = g.name.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| format!("texture{binding}"));
        let comparison =
            sampler.is_some_and(|s| matches!(self.nm.types[self.nm.global_variables[s].ty].inner, TypeInner::Sampler { comparison: true }));
        let mut first = true;
        for (id, d) in self.out.textures.iter_mut() {
            if (d.group, d.binding) != (group, binding) || d.span != span {
                continue;
            }
            first = false;
            if sampler_name.is_none() || d.sampler == sampler_name {
                return Ok((id, what));
            }
            if d.sampler.is_none() {
                d.sampler = sampler_name;
                d.shadow |= comparison;
                return Ok((id, what));
            }
        }
        let name = match (&sampler_name, first) {
            (Some(s), false) => format!("{name}_{s}"),
            _ => name,
        };
        let signed =
            matches!(self.nm.types[g.ty].inner, TypeInner::Image { class: ImageClass::Sampled { kind: ScalarKind::Sint, .. }, .. });
        let id = self.out.textures.push(TextureDecl {
            sampler: sampler_name,
            arrayed: what.arrayed,
            shadow: comparison,
            kind: what.scalar,
            signed,
            group,
            span,
            ..TextureDecl::new(&name, what.dim, binding)
        });
        Ok((id, what))
    }

    /// The global behind a texture or sampler expression.
    fn resource(&mut self, h: Handle<Expression>) -> R<Handle<GlobalVariable>> {
        match self.expr(h)? {
            Val::Resource(g) => Ok(g),
            _ => Err(self.error("F0150", "a texture chosen by a computed value exists on none of the machines")),
        }
    }

    /// The array layer as a rounded integer.
    fn layer(&mut self, h: Handle<Expression>) -> R<Value> {
        let Some(frame) = self.frames.last() else { return Err(self.error("F0130", "an expression outside a function")) };
        // naga's readers of GLSL and SPIR-V truncate a layer; only WGSL has layers that are integers.
        if self.lang != Lang::Wgsl
            && let Expression::As { expr, kind: ScalarKind::Sint, convert: Some(_) } = frame.func.expressions[h]
            && self.kind(expr) == Kind::Float
        {
            let z = self.expr_leaf(expr)?;
            return Ok(self.b().array_layer(z));
        }
        self.expr_leaf(h)
    }

    fn offset(&mut self, h: Option<Handle<Expression>>) -> R<[i8; 3]> {
        let Some(h) = h else { return Ok([0; 3]) };
        let v = self.expr_leaf(h)?;
        let mut out = [0; 3];
        for n in 0..self.func().ty(v).lanes {
            let lane = self.lane(v, n);
            match self.known(lane) {
                Some(k) if (-128..128).contains(&(k as i32)) => out[n as usize] = k as i32 as i8,
                _ => return Err(self.error("F0152", "a texel offset must be a small constant")),
            }
        }
        Ok(out)
    }

    /// A filtered sample or a gather.
    pub(crate) fn image_sample(&mut self, h: Handle<Expression>) -> R<Val> {
        let Some(frame) = self.frames.last() else { return Err(self.error("F0130", "an expression outside a function")) };
        let f: &'m naga::Function = frame.func;
        let Expression::ImageSample { image, sampler, gather, coordinate, array_index, offset, level, depth_ref, clamp_to_edge } =
            &f.expressions[h]
        else {
            return Err(self.error("F0150", "no sample"));
        };
        let (image, sampler) = (self.resource(*image)?, self.resource(*sampler)?);
        let (texture, what) = self.texture(image, Some(sampler))?;
        let mut coord = self.expr_leaf(*coordinate)?;
        if *clamp_to_edge {
            coord = self.clamp_to_edge(texture, what, coord)?;
        }
        let mut args = vec![coord];
        if let Some(a) = array_index {
            args.push(self.layer(*a)?);
        }
        if let Some(d) = depth_ref {
            args.push(self.expr_leaf(*d)?);
        }
        let lod = match level {
            SampleLevel::Auto => TexLod::Implicit,
            SampleLevel::Zero => TexLod::Zero,
            SampleLevel::Exact(e) => {
                let mut v = self.expr_leaf(*e)?;
                if self.kind(*e) != Kind::Float {
                    v = self.b().typed(Opcode::S2f, F32, &[v], Imm::None);
                }
                args.push(v);
                TexLod::Level
            }
            SampleLevel::Bias(e) => {
                args.push(self.expr_leaf(*e)?);
                TexLod::Bias
            }
            SampleLevel::Gradient { x, y } => {
                args.push(self.expr_leaf(*x)?);
                args.push(self.expr_leaf(*y)?);
                TexLod::Grad
            }
        };
        let compare = depth_ref.is_some();
        let info = TexInfo {
            op: if gather.is_some() { TexOp::Gather } else { TexOp::Sample },
            texture,
            lod: if gather.is_some() { TexLod::Zero } else { lod },
            compare,
            offset: self.offset(*offset)?,
            component: gather.map_or(0, |c| c as u8),
        };
        let one = compare && gather.is_none();
        let ty = Type::new(what.scalar, if one { 1 } else { 4 });
        let v = self.b().tex(ty, info, &args);
        // A depth texture gives one number, also without comparison.
        Ok(Val::Leaf(if what.depth && !one && gather.is_none() { self.lane(v, 0) } else { v }))
    }

    /// Coordinates kept half a texel away from the edges.
    fn clamp_to_edge(&mut self, texture: Texture, what: Image, coord: Value) -> R<Value> {
        let lanes = what.lanes();
        let info = TexInfo { op: TexOp::Size, texture, lod: TexLod::Implicit, compare: false, offset: [0; 3], component: 0 };
        let all = lanes + u8::from(what.arrayed);
        let size = self.b().tex(I32.with_lanes(all), info, &[]);
        let pattern: Vec<u8> = (0..lanes).collect();
        let size = self.swizzle(size, &pattern);
        let ty = F32.with_lanes(lanes);
        let size = self.b().typed(Opcode::U2f, ty, &[size], Imm::None);
        let half = self.fconst(ty, 0.5);
        let low = self.b().ins(Opcode::Fdiv, &[half, size]);
        let one = self.fconst(ty, 1.0);
        let high = self.b().ins(Opcode::Fsub, &[one, low]);
        let c = self.b().ins(Opcode::Fmax, &[coord, low]);
        Ok(self.b().ins(Opcode::Fmin, &[c, high]))
    }

    /// One texel.
    pub(crate) fn image_load(
        &mut self,
        image: Handle<Expression>,
        coordinate: Handle<Expression>,
        array_index: Option<Handle<Expression>>,
        sample: Option<Handle<Expression>>,
        level: Option<Handle<Expression>>,
    ) -> R<Val> {
        let image = self.resource(image)?;
        let (texture, what) = self.texture(image, None)?;
        if sample.is_some() {
            return Err(self.error("F0151", "no program of these machines can read single samples of a texture"));
        }
        let mut args = vec![self.expr_leaf(coordinate)?];
        if let Some(a) = array_index {
            args.push(self.layer(a)?);
        }
        let lod = match level {
            Some(l) => {
                let l = self.expr_leaf(l)?;
                if self.known(l) == Some(0) {
                    TexLod::Zero
                } else {
                    args.push(l);
                    TexLod::Level
                }
            }
            None => TexLod::Zero,
        };
        let info = TexInfo { op: TexOp::Fetch, texture, lod, compare: false, offset: [0; 3], component: 0 };
        let v = self.b().tex(Type::new(what.scalar, 4), info, &args);
        Ok(Val::Leaf(if what.depth { self.lane(v, 0) } else { v }))
    }

    /// Sizes and numbers of levels and layers.
    pub(crate) fn image_query(&mut self, image: Handle<Expression>, query: ImageQuery) -> R<Val> {
        let image = self.resource(image)?;
        let (texture, what) = self.texture(image, None)?;
        // A cube's size is that of a face.
        let dims = if what.dim == TexDim::Cube { 2 } else { what.lanes() };
        let all = dims + u8::from(what.arrayed);
        let mut info = TexInfo { op: TexOp::Size, texture, lod: TexLod::Implicit, compare: false, offset: [0; 3], component: 0 };
        match query {
            ImageQuery::Size { level } => {
                let mut args = Vec::new();
                if let Some(l) = level {
                    let l = self.expr_leaf(l)?;
                    if self.known(l) != Some(0) {
                        args.push(l);
                        info.lod = TexLod::Level;
                    }
                }
                let v = self.b().tex(I32.with_lanes(all), info, &args);
                let pattern: Vec<u8> = (0..dims).collect();
                Ok(Val::Leaf(if all == dims { v } else { self.swizzle(v, &pattern) }))
            }
            ImageQuery::NumLayers => {
                let v = self.b().tex(I32.with_lanes(all), info, &[]);
                Ok(Val::Leaf(self.lane(v, all - 1)))
            }
            ImageQuery::NumLevels => {
                info.op = TexOp::Levels;
                Ok(Val::Leaf(self.b().tex(I32, info, &[])))
            }
            ImageQuery::NumSamples => Err(self.error("F0151", "no program of these machines can read single samples of a texture")),
        }
    }

    /// Declares a texture, so that those that are bound but never sampled are known as well; its sampler is found when one is used.
    pub(crate) fn declare_texture(&mut self, h: Handle<GlobalVariable>) -> R<()> {
        if matches!(self.nm.types[self.nm.global_variables[h].ty].inner, TypeInner::Image { .. }) {
            self.texture(h, None)?;
        }
        Ok(())
    }
}
