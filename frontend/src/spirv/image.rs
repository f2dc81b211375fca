//! Textures: one declaration per pair of texture and sampler, and the operations on them.

use super::binary::{Id, Inst, R, malformed};
use super::convert::Converter;
use super::place::{Place, Step};
use super::storage_image::is_memory;
use super::types::{ImageDef, Kind, ResourceDef, Ty};
use super::value::{Part, Resource, Val};
use retroshade_ir::inst::{Imm, MemRef, TexInfo, TexLod, TexOp};
use retroshade_ir::module::{Builtin, IoDecl, TexDim, TextureDecl};
use retroshade_ir::types::{F32, I32, Scalar, Type};
use retroshade_ir::{Opcode, Stage, Texture, Value};
use spirv::{Dim, ImageOperands, Op};
use std::rc::Rc;

/// Textures that one computed index chooses among.
const MAX_CHOICE: usize = 32;

/// A declared texture and what it was declared for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    /// Variable and number of the texture.
    image: (Id, u32),
    /// Those of the sampler, once it is known.
    sampler: Option<(Id, u32)>,
    /// The declaration.
    texture: Texture,
    /// Whether coordinates count texels.
    rect: bool,
}

/// What a texture is in the IR.
#[derive(Clone, Copy, Debug)]
struct Image {
    dim: TexDim,
    arrayed: bool,
    scalar: Scalar,
    multi: bool,
    rect: bool,
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

/// The operands behind the mask of an image operation.
#[derive(Default)]
pub(crate) struct Extra {
    bias: Option<Value>,
    lod: Option<Value>,
    grad: Option<(Value, Value)>,
    offset: Option<Value>,
    offsets: Option<Val>,
    /// The sample of a texel.
    pub(crate) sample: Option<Value>,
}

impl<'m> Converter<'m> {
    fn image_def(&self, ty: Id) -> Option<ImageDef> {
        match self.types.resource(ty) {
            ResourceDef::Image(d) | ResourceDef::Sampled(d) => Some(d),
            _ => None,
        }
    }

    /// What a texture is; refuses what no machine has.
    fn image_of(&self, name: &str, d: ImageDef) -> R<Image> {
        let refuse = |what: &str| Err(self.error("F0151", format!("`{name}` {what}")));
        let dim = match d.dim {
            Dim::Dim1D => TexDim::D1,
            Dim::Dim2D | Dim::DimRect | Dim::DimSubpassData => TexDim::D2,
            Dim::Dim3D => TexDim::D3,
            Dim::DimCube => TexDim::Cube,
            _ => return refuse("is a texture of a kind that exists on none of the machines"),
        };
        let Some(num) = d.num else { return refuse("holds something else than numbers") };
        let scalar = match num.ir() {
            Ok(Scalar::I32) if !num.is_small() => Scalar::I32,
            Ok(Scalar::F32 | Scalar::F16) => Scalar::F32,
            _ => return refuse("holds numbers of a width that exists on none of the machines"),
        };
        Ok(Image { dim, arrayed: d.arrayed, scalar, multi: d.multi, rect: d.dim == Dim::DimRect })
    }

    /// Calls something for every texture and sampler in a type, with its name.
    fn each_resource(&self, ty: Ty, name: &str, visit: &mut dyn FnMut(&str, Id) -> R<()>) -> R<()> {
        match ty {
            Ty::Resource(id) => visit(name, id),
            Ty::Array(id) => {
                let a = self.types.array(id);
                if !a.elem.has_resource(self.types) {
                    return Ok(());
                }
                let Some(n) = a.count else {
                    let m = "has no length: the machines bind each texture by itself, so there must be a number (`{name}[8]`)";
                    return Err(self.error("F0135", format!("the array of textures `{name}` {}", m.replace("{name}", name))));
                };
                if n as usize > 1024 {
                    return Err(self.limit(format!("`{name}` is an array of {n} textures; no machine has room for them")));
                }
                (0..n).try_for_each(|k| self.each_resource(a.elem, &format!("{name}[{k}]"), visit))
            }
            Ty::Struct(_) if ty.has_resource(self.types) => (0..ty.len(self.types)).try_for_each(|k| {
                let part = self.member_name(name, ty, k);
                self.each_resource(ty.child(self.types, k), &part, visit)
            }),
            _ => Ok(()),
        }
    }

    /// Textures and samplers in a type.
    pub(crate) fn resources(&self, ty: Ty) -> u32 {
        match ty {
            Ty::Resource(_) => 1,
            Ty::Array(id) => {
                let a = self.types.array(id);
                a.count.unwrap_or(1).saturating_mul(self.resources(a.elem))
            }
            Ty::Struct(_) if ty.has_resource(self.types) => {
                (0..ty.len(self.types)).fold(0, |n, k| n.saturating_add(self.resources(ty.child(self.types, k))))
            }
            _ => 0,
        }
    }

    /// Declares the textures of a variable, so that those that are bound but never sampled are known as well.
    pub(crate) fn declare_textures(&mut self, variable: Id, ty: Ty, name: &str) -> R<()> {
        let (group, binding) = self.bindings.get(&variable).copied().unwrap_or_default();
        let mut found: Vec<(String, Id)> = Vec::new();
        self.each_resource(ty, name, &mut |name, id| {
            if found.len() >= 1024 {
                return Err(self.limit("more than 1024 textures; no machine has room for them"));
            }
            found.push((name.to_string(), id));
            Ok(())
        })?;
        for (n, (name, id)) in (0u32..).zip(found) {
            match self.types.resource(id) {
                ResourceDef::Image(_) | ResourceDef::Sampled(_) => {}
                ResourceDef::Sampler => continue,
                ResourceDef::Refused(why) => return Err(self.error("F0150", format!("`{name}`: {why}"))),
            }
            let Some(d) = self.image_def(id) else { continue };
            let name = if name.is_empty() { format!("texture{binding}") } else { name };
            if is_memory(d) {
                self.declare_texels((variable, n), &name, d)?;
                continue;
            }
            let what = self.image_of(&name, d)?;
            let combined = matches!(self.types.resource(id), ResourceDef::Sampled(_));
            let texture = self.out.textures.push(TextureDecl {
                sampler: None,
                arrayed: what.arrayed,
                shadow: combined && d.depth,
                multisampled: what.multi,
                kind: what.scalar,
                signed: d.num.is_some_and(|n| n.kind == Kind::Signed),
                group,
                span: self.span,
                ..TextureDecl::new(&name, what.dim, binding.saturating_add(n))
            });
            let image = (variable, n);
            self.textures.push(Declared { image, sampler: None, texture, rect: what.rect });
        }
        Ok(())
    }

    /// A texture or sampler, or a part of a variable that holds some.
    pub(crate) fn resource_at(&mut self, variable: Id, place: &Place) -> R<Val> {
        let Ty::Resource(ty) = place.ty else {
            if place.ty.is_leaf() {
                return self.load_uniform_of(variable, place);
            }
            return Ok(Val::Place(place.clone()));
        };
        let Some(mut at) = self.globals.get(&variable).map(|g| g.1) else {
            return Err(self.error("F0125", "a variable that was not declared"));
        };
        let mut leaves = vec![0u32];
        let mut index: Option<Value> = None;
        for s in &place.path {
            let each = self.resources(at.child(self.types, 0));
            match (at, s) {
                (Ty::Struct(_), Step::Const(n)) => {
                    let before = (0..*n).fold(0, |k, m| self.resources(at.child(self.types, m)) + k);
                    leaves.iter_mut().for_each(|l| *l += before);
                    at = at.child(self.types, *n);
                }
                (_, Step::Const(n)) => {
                    let last = at.len(self.types).saturating_sub(1);
                    leaves.iter_mut().for_each(|l| *l += each * (*n).min(last));
                    at = at.child(self.types, 0);
                }
                (_, Step::Dyn(v)) => {
                    let n = at.len(self.types);
                    if leaves.len() * n as usize > MAX_CHOICE {
                        return Err(self.error(
                            "F0135",
                            format!("a computed choice among more than {MAX_CHOICE} textures exists on none of the machines"),
                        ));
                    }
                    leaves = leaves.iter().flat_map(|l| (0..n).map(move |k| l + each * k)).collect();
                    index = Some(match index {
                        None => *v,
                        Some(outer) => {
                            let k = self.iconst(n);
                            let scaled = self.op2(Opcode::Imul, outer, k);
                            self.op2(Opcode::Iadd, scaled, *v)
                        }
                    });
                    at = at.child(self.types, 0);
                }
            }
        }
        let part = Part { variable, leaves, index };
        Ok(Val::Resource(Rc::new(match self.types.resource(ty) {
            ResourceDef::Sampler => Resource { image: None, sampler: Some(part) },
            ResourceDef::Image(_) => Resource { image: Some(part), sampler: None },
            ResourceDef::Sampled(_) => Resource { image: Some(part.clone()), sampler: Some(part) },
            ResourceDef::Refused(why) => return Err(self.error("F0150", why)),
        })))
    }

    /// The user's name of a sampler.
    fn sampler_name(&self, sampler: (Id, u32)) -> String {
        let (variable, leaf) = sampler;
        let base = self.b.name(variable).unwrap_or_default();
        let mut name = None;
        let mut n = 0;
        if let Some((_, ty)) = self.globals.get(&variable).copied() {
            let _ = self.each_resource(ty, base, &mut |part, _| {
                if n == leaf {
                    name = Some(part.to_string());
                }
                n += 1;
                Ok(())
            });
        }
        let binding = self.bindings.get(&variable).map_or(0, |b| b.1);
        name.filter(|n| !n.is_empty()).unwrap_or_else(|| format!("sampler{binding}"))
    }

    /// The declaration for a texture with a sampler, or without one.
    fn texture(&mut self, image: (Id, u32), sampler: Option<(Id, u32)>, compare: bool) -> R<(Texture, Image)> {
        let mut first = None;
        let mut found = None;
        let mut rect = false;
        for d in self.textures.iter_mut().filter(|d| d.image == image) {
            first = first.or(Some(d.texture));
            rect = d.rect;
            if sampler.is_none() || d.sampler.is_none() || d.sampler == sampler {
                let new = d.sampler.is_none() && sampler.is_some();
                d.sampler = d.sampler.or(sampler);
                found = Some((d.texture, new));
                break;
            }
        }
        let Some(base) = first else { return Err(self.error("F0150", "a texture that was not declared")) };
        let name = match sampler {
            // Both in one: the sampler goes by the texture's name.
            Some(s) if s == image => Some(format!("{}_sampler", self.out.textures[base].name)),
            Some(s) => Some(self.sampler_name(s)),
            None => None,
        };
        let texture = match found {
            Some((t, new)) => {
                if new {
                    self.out.textures[t].sampler = name;
                }
                t
            }
            None => {
                let decl = self.out.textures[base].clone();
                let both = format!("{}_{}", decl.name, name.as_deref().unwrap_or("sampler"));
                let t = self.out.textures.push(TextureDecl { name: both, sampler: name, shadow: false, ..decl });
                self.textures.push(Declared { image, sampler, texture: t, rect });
                t
            }
        };
        let d = &mut self.out.textures[texture];
        d.shadow |= compare;
        Ok((texture, Image { dim: d.dim, arrayed: d.arrayed, scalar: d.kind, multi: d.multisampled, rect }))
    }

    /// Does something with every texture that a value may mean, and chooses.
    fn with_textures(&mut self, r: &Resource, compare: bool, f: &mut dyn FnMut(&mut Self, Texture, Image) -> R<Val>) -> R<Val> {
        let Some(image) = &r.image else { return Err(malformed(self.at, "a sampler where a texture is needed")) };
        let mut all = Vec::new();
        for (n, leaf) in image.leaves.iter().enumerate() {
            let sampler = match &r.sampler {
                None => None,
                Some(s) if s.leaves.len() == 1 => Some((s.variable, s.leaves[0])),
                Some(s) if s.index == image.index && s.leaves.len() == image.leaves.len() => Some((s.variable, s.leaves[n])),
                Some(_) => {
                    return Err(self.error("F0135", "a sampler chosen by a computed value of its own exists on none of the machines"));
                }
            };
            let (texture, what) = self.texture((image.variable, *leaf), sampler, compare)?;
            all.push(f(self, texture, what)?);
        }
        match image.index {
            Some(index) if all.len() > 1 => self.pick(&all, index),
            _ => all.into_iter().next().ok_or_else(|| malformed(self.at, "a choice among no textures")),
        }
    }

    pub(crate) fn resource(&mut self, id: Id) -> R<Rc<Resource>> {
        match self.value(id)? {
            Val::Resource(r) => Ok(r),
            _ => Err(malformed(self.at, format_args!("%{id} is no texture"))),
        }
    }

    /// An operation on textures.
    pub(crate) fn image(&mut self, i: &Inst<'m>, ty: Ty) -> R<Val> {
        match i.op {
            Op::SampledImage => {
                let (image, sampler) = (self.resource(i.word(2)?)?, self.resource(i.word(3)?)?);
                Ok(Val::Resource(Rc::new(Resource { image: image.image.clone(), sampler: sampler.sampler.clone() })))
            }
            Op::Image => {
                let r = self.resource(i.word(2)?)?;
                Ok(Val::Resource(Rc::new(Resource { image: r.image.clone(), sampler: None })))
            }
            Op::ImageFetch => self.image_fetch(i, ty),
            Op::ImageQuerySizeLod | Op::ImageQuerySize | Op::ImageQueryLevels => self.image_query(i, ty),
            Op::ImageQueryLod => self.image_query_lod(i, ty),
            Op::ImageQuerySamples => self.image_query_samples(i),
            Op::ImageRead => self.image_read(i, ty),
            Op::ImageTexelPointer => self.texel_pointer(i),
            Op::ImageSampleImplicitLod
            | Op::ImageSampleExplicitLod
            | Op::ImageSampleDrefImplicitLod
            | Op::ImageSampleDrefExplicitLod
            | Op::ImageSampleProjImplicitLod
            | Op::ImageSampleProjExplicitLod
            | Op::ImageSampleProjDrefImplicitLod
            | Op::ImageSampleProjDrefExplicitLod
            | Op::ImageGather
            | Op::ImageDrefGather => self.image_sample(i, ty),
            op => Err(self.refused(op)),
        }
    }

    pub(crate) fn operands_of_image(&mut self, i: &Inst<'m>, first: usize) -> R<Extra> {
        let mut extra = Extra::default();
        let Some(mask) = i.operands.get(first).copied() else { return Ok(extra) };
        let mask = ImageOperands::from_bits_retain(mask);
        let mut next = first + 1;
        let mut id = || -> R<Id> {
            next += 1;
            i.word(next - 1)
        };
        if mask.contains(ImageOperands::BIAS) {
            extra.bias = Some(self.wide(id()?)?);
        }
        if mask.contains(ImageOperands::LOD) {
            extra.lod = Some(self.wide(id()?)?);
        }
        if mask.contains(ImageOperands::GRAD) {
            extra.grad = Some((self.wide(id()?)?, self.wide(id()?)?));
        }
        for bit in [ImageOperands::CONST_OFFSET, ImageOperands::OFFSET] {
            if mask.contains(bit) {
                extra.offset = Some(self.value_leaf(id()?)?);
            }
        }
        if mask.intersects(ImageOperands::CONST_OFFSETS | ImageOperands::OFFSETS) {
            extra.offsets = Some(self.value(id()?)?);
        }
        if mask.contains(ImageOperands::SAMPLE) {
            extra.sample = Some(self.value_leaf(id()?)?);
        }
        if mask.contains(ImageOperands::MIN_LOD) {
            return Err(self.error("F0154", "a sample with a least level exists on none of the machines"));
        }
        Ok(extra)
    }

    fn offset(&mut self, v: Option<Value>, op: TexOp) -> R<[i8; 3]> {
        let range = op.offsets();
        let mut out = [0; 3];
        let Some(v) = v else { return Ok(out) };
        for n in 0..self.func().ty(v).lanes.min(3) {
            let lane = self.lane(v, n);
            match self.known(lane) {
                Some(k) => match i8::try_from(k as i32).ok().filter(|k| range.contains(k)) {
                    Some(k) => out[n as usize] = k,
                    None => {
                        let m = format!("a texel offset of {}: it must be {} to {}", k as i32, range.start(), range.end());
                        return Err(self.error("F0152", m));
                    }
                },
                None => return Err(self.error("F0152", "a texel offset must be a constant")),
            }
        }
        Ok(out)
    }

    /// Coordinates, and the layer where there is one.
    fn coordinates(&mut self, what: Image, v: Value) -> R<Vec<Value>> {
        let need = what.lanes() + u8::from(what.arrayed);
        let has = self.func().ty(v).lanes;
        if has < need {
            return Err(malformed(self.at, format_args!("{has} coordinates where the texture needs {need}")));
        }
        let pattern: Vec<u8> = (0..what.lanes()).collect();
        let coord = if has == what.lanes() { v } else { self.swizzle(v, &pattern) };
        let mut args = vec![coord];
        if what.arrayed {
            let l = self.lane(v, what.lanes());
            let float = self.func().ty(l).is_float();
            args.push(if float { self.layer(l) } else { l });
        }
        Ok(args)
    }

    /// The layer that a number means: of one that was an integer, that.
    fn layer(&mut self, l: Value) -> Value {
        let f = self.func();
        match f.def_if(l, Opcode::S2f).or(f.def_if(l, Opcode::U2f)).map(|d| d.args[0]) {
            Some(n) => n,
            None => self.b().array_layer(l),
        }
    }

    /// A filtered sample or a gather.
    fn image_sample(&mut self, i: &Inst<'m>, ty: Ty) -> R<Val> {
        let name = format!("{:?}", i.op);
        let (proj, dref) = (name.contains("Proj"), name.contains("Dref"));
        let gather = matches!(i.op, Op::ImageGather | Op::ImageDrefGather);
        let r = self.resource(i.word(2)?)?;
        let coord = self.wide(i.word(3)?)?;
        let mut first = 4;
        let mut reference = None;
        let mut component = 0;
        if dref {
            reference = Some(self.wide(i.word(4)?)?);
            first = 5;
        } else if gather {
            let c = self.value_leaf(i.word(4)?)?;
            component = match self.known(c) {
                Some(n @ 0..=3) => n as u8,
                _ => return Err(self.error("F0152", "the component of a gather must be a constant from 0 to 3")),
            };
            first = 5;
        }
        let extra = self.operands_of_image(i, first)?;
        if r.sampler.is_none() {
            return Err(malformed(i.at, "a sample of a texture without a sampler"));
        }
        if !self.func().ty(coord).is_float() {
            return Err(malformed(i.at, "a sample at coordinates that are no floats"));
        }
        let op = if gather { TexOp::Gather } else { TexOp::Sample };
        // A gather may have an offset that is computed, too.
        let lanes = extra.offset.map(|o| (o, self.lanes(o)));
        let far = lanes.filter(|(_, lanes)| gather && lanes.iter().any(|l| self.known(*l).is_none())).map(|(o, _)| o);
        let offsets = match &extra.offsets {
            Some(v) => match self.force(v)? {
                Val::Agg(parts) if parts.len() == 4 => {
                    let all = parts.iter().map(|p| {
                        let v = self.leaf(p)?;
                        self.offset(Some(v), op)
                    });
                    all.collect::<R<Vec<_>>>()?
                }
                _ => return Err(malformed(i.at, "a gather with other than four offsets")),
            },
            None if far.is_some() => vec![[0; 3]],
            None => vec![self.offset(extra.offset, op)?],
        };
        let fragment = self.out.stage == Stage::Fragment;
        self.with_textures(&r, dref, &mut |c, texture, what| {
            let mut reference = reference;
            let mut coord = coord;
            if proj {
                let last = c.func_lanes(coord).min(what.lanes() + 1) - 1;
                let q = c.lane(coord, last);
                let pattern: Vec<u8> = (0..what.lanes()).collect();
                let plain = c.swizzle(coord, &pattern);
                let all = c.splat(q, what.lanes());
                coord = c.op2(Opcode::Fdiv, plain, all);
                if let Some(d) = reference {
                    reference = Some(c.op2(Opcode::Fdiv, d, q));
                }
            }
            if what.rect {
                coord = c.in_texels(texture, coord)?;
            }
            let mut args = c.coordinates(what, coord)?;
            if let Some(offset) = far {
                if what.dim != TexDim::D2 {
                    return Err(c.error("F0152", "a texel offset must be a constant"));
                }
                args[0] = c.offset_gather(texture, what.arrayed, args[0], offset);
            }
            args.extend(reference);
            let lod = if gather {
                TexLod::Zero
            } else if let Some((x, y)) = extra.grad
                && dref
                && c.is_const(x, 0)
                && c.is_const(y, 0)
            {
                TexLod::Zero
            } else if extra.lod.is_some_and(|l| c.is_const(l, 0)) {
                TexLod::Zero
            } else if let Some((x, y)) = extra.grad {
                args.extend([x, y]);
                TexLod::Grad
            } else if let Some(l) = extra.lod {
                let float = c.func_ty(l).is_float();
                args.push(if float { l } else { c.b().typed(Opcode::S2f, F32, &[l], Imm::None) });
                TexLod::Level
            } else if let Some(b) = extra.bias {
                args.push(b);
                if fragment { TexLod::Bias } else { TexLod::Level }
            } else if fragment {
                TexLod::Implicit
            } else {
                TexLod::Zero
            };
            let one = dref && !gather;
            let t = Type::new(what.scalar, if one { 1 } else { 4 });
            let mut all = Vec::new();
            for offset in &offsets {
                let info = TexInfo { op, texture, lod, compare: dref, offset: *offset, component };
                all.push(c.b().tex(t, info, &args));
            }
            let v = if let [v] = all[..] {
                v
            } else {
                // Of each gather, the texel at the offset itself.
                let lanes: Vec<Value> = all.iter().map(|v| c.lane(*v, 3)).collect();
                c.vector(&lanes)
            };
            // A depth texture may give one number, also without comparison.
            let scalar = matches!(ty, Ty::Scalar(_)) && !one;
            let v = if scalar { c.lane(v, 0) } else { v };
            Ok(Val::Leaf(c.narrow(v, ty)?))
        })
    }

    /// An operand of a texture operation: halves as floats, which is what texture units take.
    pub(crate) fn wide(&mut self, id: Id) -> R<Value> {
        let v = self.value_leaf(id)?;
        let t = self.func().ty(v);
        Ok(if t.scalar == Scalar::F16 { self.b().typed(Opcode::Fcvt, t.with_scalar(Scalar::F32), &[v], Imm::None) } else { v })
    }

    /// Texels in the precision of the source.
    pub(crate) fn narrow(&mut self, v: Value, ty: Ty) -> R<Value> {
        let t = self.func().ty(v);
        let half = t.scalar == Scalar::F32 && ty.num().is_some_and(|n| n.ir() == Ok(Scalar::F16));
        Ok(if half { self.b().typed(Opcode::Fcvt, t.with_scalar(Scalar::F16), &[v], Imm::None) } else { v })
    }

    /// Coordinates in texels, as parts of the texture.
    fn in_texels(&mut self, texture: Texture, coord: Value) -> R<Value> {
        let info = TexInfo { op: TexOp::Size, texture, lod: TexLod::Implicit, compare: false, offset: [0; 3], component: 0 };
        let size = self.b().tex(I32.with_lanes(2), info, &[]);
        let size = self.b().typed(Opcode::S2f, F32.with_lanes(2), &[size], Imm::None);
        let place = self.swizzle(coord, &[0, 1]);
        Ok(self.op2(Opcode::Fdiv, place, size))
    }

    /// Where a gather reads without an offset what it reads at a place with one.
    fn offset_gather(&mut self, texture: Texture, arrayed: bool, coord: Value, offset: Value) -> Value {
        let two = F32.with_lanes(2);
        let info = TexInfo { op: TexOp::Size, texture, lod: TexLod::Implicit, compare: false, offset: [0; 3], component: 0 };
        let size = self.b().tex(I32.with_lanes(2 + u8::from(arrayed)), info, &[]);
        let size = self.swizzle(size, &[0, 1]);
        let [size, away] = [size, offset].map(|v| self.b().typed(Opcode::S2f, two, &[v], Imm::None));
        let one = self.fconst(two, 1.0);
        let beyond = self.op2(Opcode::Fadd, away, one);
        let corner = self.b().gather_corner(coord, size, beyond);
        self.op2(Opcode::Fdiv, corner, size)
    }

    /// What an earlier pass left at a place relative to this pixel: the target of that pass is bound as a texture.
    pub(crate) fn input_attachment(&mut self, i: &Inst<'m>, r: &Resource, coord: Value, ty: Ty) -> R<Val> {
        if self.out.stage != Stage::Fragment {
            return Err(malformed(i.at, "a read of a texture that only samplers read"));
        }
        let extra = self.operands_of_image(i, 4)?;
        let here = self.builtin_input(IoDecl::builtin(F32.with_lanes(4), Builtin::Position));
        let here = self.swizzle(here, &[0, 1]);
        let here = self.b().typed(Opcode::F2s, I32.with_lanes(2), &[here], Imm::None);
        if self.func().ty(coord) != I32.with_lanes(2) {
            return Err(malformed(i.at, "a place that is no two integers"));
        }
        let at = self.op2(Opcode::Iadd, here, coord);
        self.fetch(&Resource { image: r.image.clone(), sampler: None }, at, extra, ty)
    }

    fn func_lanes(&mut self, v: Value) -> u8 {
        self.func().ty(v).lanes
    }

    fn func_ty(&mut self, v: Value) -> Type {
        self.func().ty(v)
    }

    /// One texel.
    fn image_fetch(&mut self, i: &Inst<'m>, ty: Ty) -> R<Val> {
        let r = self.resource(i.word(2)?)?;
        let r = Resource { image: r.image.clone(), sampler: None };
        let coord = self.value_leaf(i.word(3)?)?;
        if self.func().ty(coord).scalar != Scalar::I32 {
            return Err(malformed(i.at, "a fetch at coordinates that are no integers"));
        }
        let extra = self.operands_of_image(i, 4)?;
        if self.is_texels(&r) {
            return self.texel_read(&r, coord, extra.sample, ty);
        }
        self.fetch(&r, coord, extra, ty)
    }

    fn fetch(&mut self, r: &Resource, coord: Value, extra: Extra, ty: Ty) -> R<Val> {
        self.with_textures(r, false, &mut |c, texture, what| {
            let mut args = c.coordinates(what, coord)?;
            if let Some(o) = extra.offset {
                let lanes = what.lanes();
                if c.func_lanes(o) != lanes {
                    return Err(malformed(c.at, "an offset of other dimensions than the texture's"));
                }
                args[0] = c.op2(Opcode::Iadd, args[0], o);
            }
            let lod = match extra.lod {
                Some(l) if c.known(l) != Some(0) => {
                    args.push(l);
                    TexLod::Level
                }
                _ => TexLod::Zero,
            };
            if what.multi {
                let Some(n) = extra.sample else { return Err(malformed(c.at, "a multisampled texture without a sample")) };
                args.push(n);
            }
            let info = TexInfo { op: TexOp::Fetch, texture, lod, compare: false, offset: [0; 3], component: 0 };
            let v = c.b().tex(Type::new(what.scalar, 4), info, &args);
            let v = if matches!(ty, Ty::Scalar(_)) { c.lane(v, 0) } else { v };
            Ok(Val::Leaf(c.narrow(v, ty)?))
        })
    }

    /// The number of samples, which the host sets: a machine that fetches samples does not tell programs how many there are.
    fn image_query_samples(&mut self, i: &Inst<'m>) -> R<Val> {
        let r = self.resource(i.word(2)?)?;
        let r = Resource { image: r.image.clone(), sampler: None };
        if self.is_texels(&r) {
            return self.texel_samples(&r);
        }
        self.with_textures(&r, false, &mut |c, texture, _| {
            let name = format!("{}.samples", c.out.textures[texture].name);
            let u = c.extra_uniform(&name, I32, Some("u32"));
            Ok(Val::Leaf(c.b().load(I32, MemRef::Uniform(u), 0, None)))
        })
    }

    /// The level that a sample would take: as it would be accessed, and as it is computed.
    fn image_query_lod(&mut self, i: &Inst<'m>, ty: Ty) -> R<Val> {
        let r = self.resource(i.word(2)?)?;
        let coord = self.wide(i.word(3)?)?;
        if self.out.stage != Stage::Fragment || !self.func().ty(coord).is_float() {
            return Err(malformed(i.at, "the level of a sample outside a fragment program, or at a place that is no floats"));
        }
        self.with_textures(&r, false, &mut |c, texture, what| {
            if c.func_lanes(coord) < what.lanes() {
                return Err(malformed(c.at, "fewer coordinates than the texture needs"));
            }
            let pattern: Vec<u8> = (0..what.lanes()).collect();
            let place = c.swizzle(coord, &pattern);
            let info = TexInfo { op: TexOp::Lod, texture, lod: TexLod::Implicit, compare: false, offset: [0; 3], component: 0 };
            let both = c.b().tex(F32.with_lanes(2), info, &[place]);
            Ok(Val::Leaf(c.narrow(both, ty)?))
        })
    }

    /// Sizes and numbers of levels and layers.
    fn image_query(&mut self, i: &Inst<'m>, ty: Ty) -> R<Val> {
        let r = self.resource(i.word(2)?)?;
        let r = Resource { image: r.image.clone(), sampler: None };
        if self.is_texels(&r) && i.op != Op::ImageQueryLevels {
            return self.texel_extent(&r, ty);
        }
        let level = match i.op {
            Op::ImageQuerySizeLod => Some(self.value_leaf(i.word(3)?)?),
            _ => None,
        };
        let want = self.ir_ty(ty)?.lanes;
        self.with_textures(&r, false, &mut |c, texture, what| {
            let mut info = TexInfo { op: TexOp::Size, texture, lod: TexLod::Implicit, compare: false, offset: [0; 3], component: 0 };
            if i.op == Op::ImageQueryLevels {
                info.op = TexOp::Levels;
                return Ok(Val::Leaf(c.b().tex(I32, info, &[])));
            }
            let mut args = Vec::new();
            if let Some(l) = level
                && c.known(l) != Some(0)
            {
                args.push(l);
                info.lod = TexLod::Level;
            }
            // A cube's size is that of a face.
            let all = if what.dim == TexDim::Cube { 2 } else { what.lanes() } + u8::from(what.arrayed);
            if want != all {
                return Err(malformed(c.at, "a size of other dimensions than the texture's"));
            }
            Ok(Val::Leaf(c.b().tex(I32.with_lanes(all), info, &args)))
        })
    }
}
