//! Textures, those that programs write as well.

use super::builder::Id;
use super::func::atomic_op;
use super::writer::{R, Writer};
use naga::{
    AtomicFunction, Expression, Handle, ImageClass, ImageDimension, ImageQuery, SampleLevel, Scalar, ScalarKind, StorageFormat, TypeInner,
    VectorSize,
};
use spirv::{ImageFormat, ImageOperands, Op, StorageClass};

/// What a texture is.
#[derive(Clone, Copy)]
struct Image {
    dim: ImageDimension,
    arrayed: bool,
    depth: bool,
    kind: ScalarKind,
    /// What its texels are made of, if programs write it.
    storage: Option<StorageFormat>,
}

impl Image {
    /// Lanes of its coordinates.
    fn lanes(self) -> Option<VectorSize> {
        match self.dim {
            ImageDimension::D1 => None,
            ImageDimension::D2 => Some(VectorSize::Bi),
            ImageDimension::D3 | ImageDimension::Cube => Some(VectorSize::Tri),
        }
    }
}

/// The operands behind the mask of an image instruction, in the order of the mask's bits.
#[derive(Default)]
struct Extra {
    mask: u32,
    ids: Vec<Id>,
}

impl Extra {
    fn add(&mut self, what: ImageOperands, ids: &[Id]) {
        self.mask |= what.bits();
        self.ids.extend_from_slice(ids);
    }

    fn append(self, operands: &mut Vec<u32>) {
        if self.mask != 0 {
            operands.push(self.mask);
            operands.extend(self.ids);
        }
    }
}

impl Writer<'_> {
    fn image_of(&self, h: Handle<Expression>) -> R<Image> {
        let TypeInner::Image { dim, arrayed, class } = *self.inner_of(h) else { return Err(self.error("F0150", "this is no texture")) };
        let (depth, kind, storage) = match class {
            ImageClass::Sampled { kind, .. } => (false, kind, None),
            ImageClass::Depth { .. } => (true, ScalarKind::Float, None),
            ImageClass::Storage { format, .. } => (false, Scalar::from(format).kind, Some(format)),
            ImageClass::External => (false, ScalarKind::Float, None),
        };
        Ok(Image { dim, arrayed, depth, kind, storage })
    }

    /// Coordinates of a kind, and the layer behind them.
    fn coordinates(&mut self, at: Id, lanes: Option<VectorSize>, layer: Option<Handle<Expression>>, kind: Scalar) -> R<Id> {
        let Some(layer) = layer else { return Ok(at) };
        let l = self.value(layer)?;
        let from = self.numeric_of(layer)?.1;
        let ty = self.out.scalar(kind);
        let l = match (from.kind, kind.kind) {
            (a, b) if a == b => l,
            (ScalarKind::Sint, ScalarKind::Float) => self.op(Op::ConvertSToF, ty, &[l]),
            (_, ScalarKind::Float) => self.op(Op::ConvertUToF, ty, &[l]),
            _ => self.op(Op::Bitcast, ty, &[l]),
        };
        let all = self.out.once(Op::TypeVector, &[ty, lanes.map_or(1, |n| n as u32) + 1]);
        Ok(self.op(Op::CompositeConstruct, all, &[at, l]))
    }

    /// The texel's type, and the first lane of it where the texture holds depths.
    fn texel(&mut self, op: Op, what: Image, operands: &[u32]) -> Id {
        let texel = Scalar { kind: what.kind, width: 4 };
        let four = self.out.numeric(Some(VectorSize::Quad), texel);
        let v = self.op(op, four, operands);
        if !what.depth {
            return v;
        }
        let one = self.out.scalar(texel);
        self.op(Op::CompositeExtract, one, &[v, 0])
    }

    /// A filtered sample or a gather.
    pub(super) fn image_sample(&mut self, h: Handle<Expression>) -> R<Id> {
        let func = self.code.func;
        let Expression::ImageSample { image, sampler, gather, coordinate, array_index, offset, level, depth_ref, clamp_to_edge } =
            &func.expressions[h]
        else {
            return Err(self.error("F0150", "no sample"));
        };
        let what = self.image_of(*image)?;
        let TypeInner::Image { dim, arrayed, class } = *self.inner_of(*image) else {
            return Err(self.error("F0150", "this is no texture"));
        };
        let (texture, sampler) = (self.value(*image)?, self.value(*sampler)?);
        let mut at = self.value(*coordinate)?;
        if *clamp_to_edge {
            at = self.clamp_to_edge(texture, what.lanes(), what.arrayed, at);
        }
        let at = self.coordinates(at, what.lanes(), *array_index, Scalar::F32)?;
        let ty = self.image_type(dim, arrayed, class);
        let both = self.out.once(Op::TypeSampledImage, &[ty]);
        let both = self.op(Op::SampledImage, both, &[texture, sampler]);
        let mut operands = vec![both, at];
        let reference = depth_ref.map(|d| self.value(d)).transpose()?;
        let mut extra = Extra::default();
        let mut explicit = true;
        match level {
            SampleLevel::Auto => explicit = false,
            SampleLevel::Zero => extra.add(ImageOperands::LOD, &[self.out.number(Scalar::F32, 0)]),
            SampleLevel::Exact(l) => {
                let mut v = self.value(*l)?;
                let float = self.out.scalar(Scalar::F32);
                match self.numeric_of(*l)?.1.kind {
                    ScalarKind::Float => {}
                    ScalarKind::Sint => v = self.op(Op::ConvertSToF, float, &[v]),
                    _ => v = self.op(Op::ConvertUToF, float, &[v]),
                }
                extra.add(ImageOperands::LOD, &[v]);
            }
            SampleLevel::Bias(b) => {
                explicit = false;
                extra.add(ImageOperands::BIAS, &[self.value(*b)?]);
            }
            SampleLevel::Gradient { x, y } => extra.add(ImageOperands::GRAD, &[self.value(*x)?, self.value(*y)?]),
        }
        if gather.is_some() {
            extra = Extra::default();
        }
        if let Some(o) = offset {
            extra.add(ImageOperands::CONST_OFFSET, &[self.value(*o)?]);
        }
        operands.extend(reference);
        if let (Some(c), None) = (gather, reference) {
            operands.push(self.out.word(*c as u32));
        }
        extra.append(&mut operands);
        let op = match (gather.is_some(), reference.is_some(), explicit) {
            (true, false, _) => Op::ImageGather,
            (true, true, _) => Op::ImageDrefGather,
            (false, false, false) => Op::ImageSampleImplicitLod,
            (false, false, true) => Op::ImageSampleExplicitLod,
            (false, true, false) => Op::ImageSampleDrefImplicitLod,
            (false, true, true) => Op::ImageSampleDrefExplicitLod,
        };
        if gather.is_some() || reference.is_some() {
            let ty = self.type_of(h);
            return Ok(self.op(op, ty, &operands));
        }
        Ok(self.texel(op, what, &operands))
    }

    /// One texel.
    pub(super) fn image_load(&mut self, h: Handle<Expression>) -> R<Id> {
        let func = self.code.func;
        let Expression::ImageLoad { image, coordinate, array_index, sample, level } = &func.expressions[h] else {
            return Err(self.error("F0150", "no load from a texture"));
        };
        let what = self.image_of(*image)?;
        let texture = self.value(*image)?;
        let at = self.texel_place(what, *coordinate, *array_index)?;
        if what.storage.is_some() {
            let v = self.texel(Op::ImageRead, what, &[texture, at]);
            return Ok(self.in_order(what, v));
        }
        let mut extra = Extra::default();
        if let Some(l) = level {
            extra.add(ImageOperands::LOD, &[self.value(*l)?]);
        }
        if let Some(s) = sample {
            extra.add(ImageOperands::SAMPLE, &[self.value(*s)?]);
        }
        let mut operands = vec![texture, at];
        extra.append(&mut operands);
        Ok(self.texel(Op::ImageFetch, what, &operands))
    }

    /// Integer coordinates, and the layer behind them.
    fn texel_place(&mut self, what: Image, coordinate: Handle<Expression>, layer: Option<Handle<Expression>>) -> R<Id> {
        let at = self.value(coordinate)?;
        let kind = self.numeric_of(coordinate)?.1;
        self.coordinates(at, what.lanes(), layer, kind)
    }

    /// A texel in the order of the texture's channels, or of the program's: SPIR-V has no format that begins with blue.
    fn in_order(&mut self, what: Image, v: Id) -> Id {
        if what.storage != Some(StorageFormat::Bgra8Unorm) {
            return v;
        }
        let four = self.out.numeric(Some(VectorSize::Quad), Scalar::F32);
        self.op(Op::VectorShuffle, four, &[v, v, 2, 1, 0, 3])
    }

    /// A store of a texel.
    pub(super) fn image_store(
        &mut self,
        image: Handle<Expression>,
        coordinate: Handle<Expression>,
        layer: Option<Handle<Expression>>,
        value: Handle<Expression>,
    ) -> R<()> {
        let what = self.image_of(image)?;
        let texture = self.value(image)?;
        let at = self.texel_place(what, coordinate, layer)?;
        let v = self.value(value)?;
        let v = self.in_order(what, v);
        self.effect(Op::ImageWrite, &[texture, at, v]);
        Ok(())
    }

    /// An atomic on a texel, whose old value nobody sees.
    pub(super) fn image_atomic(
        &mut self,
        image: Handle<Expression>,
        (coordinate, layer): (Handle<Expression>, Option<Handle<Expression>>),
        fun: &AtomicFunction,
        value: Handle<Expression>,
    ) -> R<()> {
        let what = self.image_of(image)?;
        let texture = self.pointer(image)?;
        let at = self.texel_place(what, coordinate, layer)?;
        let v = self.value(value)?;
        let ty = self.out.scalar(Scalar { kind: what.kind, width: 4 });
        let to = self.out.pointer(StorageClass::Image, ty);
        let zero = self.out.word(0);
        let texel = self.op(Op::ImageTexelPointer, to, &[texture, at, zero]);
        let (scope, order) = (self.out.word(spirv::Scope::Device as u32), zero);
        if let AtomicFunction::Exchange { compare: Some(c) } = fun {
            let c = self.value(*c)?;
            self.op(Op::AtomicCompareExchange, ty, &[texel, scope, order, order, v, c]);
        } else {
            self.op(atomic_op(fun, what.kind), ty, &[texel, scope, order, v]);
        }
        Ok(())
    }

    /// Sizes and numbers of levels, layers and samples.
    pub(super) fn image_query(&mut self, h: Handle<Expression>, image: Handle<Expression>, query: ImageQuery) -> R<Id> {
        let what = self.image_of(image)?;
        let texture = self.value(image)?;
        let ty = self.type_of(h);
        let level = match query {
            ImageQuery::NumLevels => return Ok(self.op(Op::ImageQueryLevels, ty, &[texture])),
            ImageQuery::NumSamples => return Ok(self.op(Op::ImageQuerySamples, ty, &[texture])),
            ImageQuery::Size { level: Some(l) } => self.value(l)?,
            ImageQuery::Size { level: None } | ImageQuery::NumLayers => self.out.word(0),
        };
        // A cube's size is that of a face.
        let dims = if what.dim == ImageDimension::Cube { 2 } else { what.lanes().map_or(1, |n| n as u32) };
        let of_level = (Op::ImageQuerySizeLod, vec![texture, level]);
        let (op, operands) = if what.storage.is_some() { (Op::ImageQuerySize, vec![texture]) } else { of_level };
        if !what.arrayed {
            return Ok(self.op(op, ty, &operands));
        }
        let word = self.out.scalar(Scalar::U32);
        let whole = self.out.once(Op::TypeVector, &[word, dims + 1]);
        let all = self.op(op, whole, &operands);
        Ok(match query {
            ImageQuery::NumLayers => self.op(Op::CompositeExtract, ty, &[all, dims]),
            _ if dims == 1 => self.op(Op::CompositeExtract, ty, &[all, 0]),
            _ => {
                let mut operands = vec![all, all];
                operands.extend(0..dims);
                self.op(Op::VectorShuffle, ty, &operands)
            }
        })
    }
}

/// SPIR-V's name of a format.
pub(super) fn format(f: StorageFormat) -> ImageFormat {
    match f {
        StorageFormat::R8Unorm => ImageFormat::R8,
        StorageFormat::R8Snorm => ImageFormat::R8Snorm,
        StorageFormat::R8Uint => ImageFormat::R8ui,
        StorageFormat::R8Sint => ImageFormat::R8i,
        StorageFormat::R16Uint => ImageFormat::R16ui,
        StorageFormat::R16Sint => ImageFormat::R16i,
        StorageFormat::R16Float => ImageFormat::R16f,
        StorageFormat::Rg8Unorm => ImageFormat::Rg8,
        StorageFormat::Rg8Snorm => ImageFormat::Rg8Snorm,
        StorageFormat::Rg8Uint => ImageFormat::Rg8ui,
        StorageFormat::Rg8Sint => ImageFormat::Rg8i,
        StorageFormat::R32Uint => ImageFormat::R32ui,
        StorageFormat::R32Sint => ImageFormat::R32i,
        StorageFormat::R32Float => ImageFormat::R32f,
        StorageFormat::Rg16Uint => ImageFormat::Rg16ui,
        StorageFormat::Rg16Sint => ImageFormat::Rg16i,
        StorageFormat::Rg16Float => ImageFormat::Rg16f,
        StorageFormat::Rgba8Unorm | StorageFormat::Bgra8Unorm => ImageFormat::Rgba8,
        StorageFormat::Rgba8Snorm => ImageFormat::Rgba8Snorm,
        StorageFormat::Rgba8Uint => ImageFormat::Rgba8ui,
        StorageFormat::Rgba8Sint => ImageFormat::Rgba8i,
        StorageFormat::Rgb10a2Uint => ImageFormat::Rgb10a2ui,
        StorageFormat::Rgb10a2Unorm => ImageFormat::Rgb10A2,
        StorageFormat::Rg11b10Ufloat => ImageFormat::R11fG11fB10f,
        StorageFormat::R64Uint => ImageFormat::R64ui,
        StorageFormat::Rg32Uint => ImageFormat::Rg32ui,
        StorageFormat::Rg32Sint => ImageFormat::Rg32i,
        StorageFormat::Rg32Float => ImageFormat::Rg32f,
        StorageFormat::Rgba16Uint => ImageFormat::Rgba16ui,
        StorageFormat::Rgba16Sint => ImageFormat::Rgba16i,
        StorageFormat::Rgba16Float => ImageFormat::Rgba16f,
        StorageFormat::Rgba32Uint => ImageFormat::Rgba32ui,
        StorageFormat::Rgba32Sint => ImageFormat::Rgba32i,
        StorageFormat::Rgba32Float => ImageFormat::Rgba32f,
        StorageFormat::R16Unorm => ImageFormat::R16,
        StorageFormat::R16Snorm => ImageFormat::R16Snorm,
        StorageFormat::Rg16Unorm => ImageFormat::Rg16,
        StorageFormat::Rg16Snorm => ImageFormat::Rg16Snorm,
        StorageFormat::Rgba16Unorm => ImageFormat::Rgba16,
        StorageFormat::Rgba16Snorm => ImageFormat::Rgba16Snorm,
    }
}
