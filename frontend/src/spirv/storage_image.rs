//! Storage textures and buffer textures: linear storage buffers of texels, with their sizes beside them (docs/binding.md).
//!
//! No machine writes textures from a program, so a texture that a program writes is memory. A texel outside reads as zeros, a store or an
//! atomic there does nothing.

use super::binary::{Id, Inst, R, malformed};
use super::convert::Converter;
use super::place::{Place, Root};
use super::texel::Format;
use super::types::{ImageDef, Ty};
use super::value::{Resource, Val};
use retroshade_ir::inst::{AtomicOp, Imm, MemRef};
use retroshade_ir::module::{Access, StorageDecl, UniformDecl};
use retroshade_ir::types::{I32, Scalar, Type};
use retroshade_ir::{IntCC, Opcode, Storage, Uniform, Value};
use spirv::{Decoration, Dim};

/// A declared storage or buffer texture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texels {
    decl: Storage,
    /// Width, height, depth or layers, words from one row to the next.
    size: Uniform,
    /// How many samples a texel has, if it has any.
    samples: Option<Uniform>,
    format: Format,
    def: ImageDef,
}

/// A texel: its buffer, the word where it begins, whether it exists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texel {
    image: Texels,
    at: Value,
    inside: Value,
}

/// Whether a texture is memory rather than something that a sampler reads.
pub(crate) fn is_memory(d: ImageDef) -> bool {
    d.storage && d.dim != Dim::DimSubpassData || d.dim == Dim::DimBuffer
}

impl<'m> Converter<'m> {
    /// A uniform of the block for what the source has and the machines have not: sizes of storage textures, parameters of a draw.
    pub(crate) fn extra_uniform(&mut self, name: &str, ty: Type, source_type: Option<&str>) -> Uniform {
        if let Some((id, _)) = self.out.uniforms.iter().find(|(_, u)| u.name == name && u.binding == self.extra.0) {
            return id;
        }
        let (binding, offset) = self.extra;
        self.extra.1 += 16;
        self.out.uniforms.push(UniformDecl {
            name: name.to_string(),
            ty,
            dims: Vec::new(),
            matrix: false,
            rows: false,
            unit: u32::from(ty.lanes) * 4,
            group: 0,
            binding,
            offset,
            range: None,
            source_type: source_type.map(str::to_string),
            size_of: None,
            span: self.span,
        })
    }

    /// Declares one.
    pub(crate) fn declare_texels(&mut self, image: (Id, u32), name: &str, d: ImageDef) -> R<()> {
        let refuse = |what: &str| Err(self.error("F0151", format!("`{name}` {what}")));
        let num = match d.num {
            Some(n) if n.width == 32 || n.ir() == Ok(Scalar::F16) => n,
            _ => return refuse("holds numbers of a width that exists on none of the machines"),
        };
        let Some(format) = Format::new(d.format, num) else {
            return refuse("has texels of 64 bits a channel, which exist on none of the machines");
        };
        let (group, binding) = self.bindings.get(&image.0).copied().unwrap_or_default();
        let access = match (self.b.has(image.0, Decoration::NonWritable) || !d.storage, self.b.has(image.0, Decoration::NonReadable)) {
            (true, _) => Access::Read,
            (false, true) => Access::Write,
            _ => Access::ReadWrite,
        };
        let dim = match d.dim {
            Dim::Dim1D => "1d",
            Dim::Dim3D => "3d",
            Dim::DimCube => "cube",
            Dim::DimBuffer => "buffer",
            _ => "2d",
        };
        let kind = if d.storage { "storage" } else { "buffer" };
        let kind = if d.dim == Dim::DimBuffer { "texel".to_string() } else { format!("texture_{kind}") };
        let multi = if d.multi { "multisampled_" } else { "" };
        let source_type = format!("{kind}_{multi}{dim}{}<{}>", if d.arrayed { "_array" } else { "" }, format.name);
        let decl = self.out.storage.push(StorageDecl {
            name: name.to_string(),
            head: Vec::new(),
            repeat: vec![format.scalar()],
            source_type,
            access,
            group,
            binding: binding.saturating_add(image.1),
            span: self.span,
        });
        let size = self.extra_uniform(&format!("{name}.size"), I32.with_lanes(4), Some("u32"));
        let samples = d.multi.then(|| self.extra_uniform(&format!("{name}.samples"), I32, Some("u32")));
        self.texels.insert(image, Texels { decl, size, samples, format, def: d });
        Ok(())
    }

    /// The textures that a value may mean, each with the condition under which it does.
    fn chosen_texels(&mut self, r: &Resource) -> R<Option<Vec<(Texels, Option<Value>)>>> {
        let Some(part) = &r.image else { return Ok(None) };
        let mut out = Vec::new();
        for (n, leaf) in part.leaves.iter().enumerate() {
            let Some(t) = self.texels.get(&(part.variable, *leaf)).copied() else { return Ok(None) };
            let is = match part.index {
                Some(index) if part.leaves.len() > 1 => Some(self.index_is(index, n as u32)),
                _ => None,
            };
            out.push((t, is));
        }
        Ok(Some(out))
    }

    /// Whether a value means textures in memory.
    pub(crate) fn is_texels(&self, r: &Resource) -> bool {
        r.image.as_ref().is_some_and(|p| p.leaves.iter().any(|l| self.texels.contains_key(&(p.variable, *l))))
    }

    fn size_of_texels(&mut self, t: Texels) -> Vec<Value> {
        let v = self.b().load(I32.with_lanes(4), MemRef::Uniform(t.size), 0, None);
        self.lanes(v)
    }

    fn samples_of_texel(&mut self, t: Texels) -> Value {
        match t.samples {
            Some(u) => self.b().load(I32, MemRef::Uniform(u), 0, None),
            None => self.iconst(1),
        }
    }

    /// The texel at integer coordinates, or one of its samples.
    fn texel_at(&mut self, t: Texels, coord: Value, sample: Option<Value>) -> R<Texel> {
        let given = self.lanes(coord);
        // Column, row, slice: which of them the texture has.
        let (row, slice) = match (t.def.dim, t.def.arrayed) {
            (Dim::Dim1D | Dim::DimBuffer, false) => (None, None),
            (Dim::Dim1D, true) => (None, Some(1)),
            (Dim::Dim3D | Dim::DimCube, _) | (_, true) => (Some(1), Some(2)),
            _ => (Some(1), None),
        };
        let need = 1 + usize::from(row.is_some()) + usize::from(slice.is_some());
        if given.len() < need || self.func().ty(coord).scalar != I32.scalar {
            return Err(malformed(self.at, format_args!("a texel at coordinates that are no {need} integers")));
        }
        let size = self.size_of_texels(t);
        let (row, slice) = (row.map(|n: usize| given[n]), slice.map(|n: usize| given[n]));
        let mut ok = self.b().icmp(IntCC::Ult, given[0], size[0]);
        for (at, limit) in [(row, size[1]), (slice, size[2])] {
            if let Some(at) = at {
                let is = self.b().icmp(IntCC::Ult, at, limit);
                ok = self.op2(Opcode::Iand, ok, is);
            }
        }
        let mut address = given[0];
        if t.samples.is_some() {
            let Some(n) = sample.filter(|n| self.out.functions[self.out.entry].ty(*n) == I32) else {
                return Err(malformed(self.at, "a multisampled texture without a sample"));
            };
            let count = self.samples_of_texel(t);
            let is = self.b().icmp(IntCC::Ult, n, count);
            ok = self.op2(Opcode::Iand, ok, is);
            address = self.op2(Opcode::Imul, address, count);
            address = self.op2(Opcode::Iadd, address, n);
        }
        if t.format.words() > 1 {
            let k = self.iconst(t.format.words());
            address = self.op2(Opcode::Imul, address, k);
        }
        let rows = match (slice, row) {
            (Some(s), Some(r)) => {
                let before = self.op2(Opcode::Imul, s, size[1]);
                Some(self.op2(Opcode::Iadd, before, r))
            }
            (one, other) => one.or(other),
        };
        if let Some(rows) = rows {
            let start = self.op2(Opcode::Imul, rows, size[3]);
            address = self.op2(Opcode::Iadd, start, address);
        }
        Ok(Texel { image: t, at: address, inside: ok })
    }

    /// Reads a texel.
    pub(crate) fn texel_read(&mut self, r: &Resource, coord: Value, sample: Option<Value>, ty: Ty) -> R<Val> {
        let Some(all) = self.chosen_texels(r)? else { return Err(self.error("F0150", "a texture that was not declared")) };
        let want = self.ir_ty(ty)?;
        let mut found: Option<Value> = None;
        for (t, is) in all.into_iter().rev() {
            let x = self.texel_at(t, coord, sample)?;
            let v = self.texel_words(x);
            let lanes = self.unpack_texel(t.format, &v);
            let lanes: Vec<Value> = lanes.into_iter().take(want.lanes.into()).collect();
            let v = self.vector(&lanes);
            let v = self.narrow(v, ty)?;
            let zero = self.splat_const(want, 0);
            if self.func().ty(v) != want {
                return Err(malformed(self.at, "a texel of another type than the texture's"));
            }
            let v = self.b().select(x.inside, v, zero);
            found = Some(match (found, is) {
                (Some(other), Some(is)) => self.b().select(is, v, other),
                _ => v,
            });
        }
        found.map(Val::Leaf).ok_or_else(|| malformed(self.at, "a choice among no textures"))
    }

    fn texel_words(&mut self, x: Texel) -> Vec<Value> {
        let ty = Type::new(x.image.format.scalar(), x.image.format.words() as u8);
        let v = self.b().load(ty, MemRef::Storage(x.image.decl), 0, Some(x.at));
        self.lanes(v)
    }

    /// `OpImageWrite`.
    pub(crate) fn texel_write(&mut self, i: &Inst<'m>) -> R<()> {
        let r = self.resource(i.word(0)?)?;
        let (coord, v) = (self.value_leaf(i.word(1)?)?, self.wide(i.word(2)?)?);
        let sample = self.operands_of_image(i, 3)?.sample;
        let Some(all) = self.chosen_texels(&r)? else { return Err(self.error("F0136", "a store to a texture that only samplers read")) };
        for (t, is) in all {
            let x = self.texel_at(t, coord, sample)?;
            let channels = self.lanes(v);
            if channels.iter().any(|c| self.func().ty(*c).is_float() != t.format.is_float()) {
                return Err(malformed(i.at, "a texel of another type than the texture's"));
            }
            let c = match is {
                Some(is) => self.op2(Opcode::Iand, x.inside, is),
                None => x.inside,
            };
            let words = self.pack_texel(t.format, &channels);
            let words = self.vector(&words);
            self.when(c, &mut |c| {
                c.b().store(MemRef::Storage(t.decl), 0, words, Some(x.at));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Width, height, depth or layers.
    pub(crate) fn texel_extent(&mut self, r: &Resource, ty: Ty) -> R<Val> {
        let Some(all) = self.chosen_texels(r)? else { return Err(self.error("F0150", "a texture that was not declared")) };
        let want = usize::from(self.ir_ty(ty)?.lanes);
        let mut found: Option<Value> = None;
        for (t, is) in all.into_iter().rev() {
            let mut size = self.size_of_texels(t);
            if t.def.dim == Dim::DimCube {
                let six = self.iconst(6);
                size[2] = self.op2(Opcode::Udiv, size[2], six);
            }
            let of = match (t.def.dim, t.def.arrayed) {
                (Dim::Dim1D | Dim::DimBuffer, false) => &[0][..],
                (Dim::Dim1D, true) => &[0, 2],
                (Dim::Dim3D, _) | (_, true) => &[0, 1, 2],
                _ => &[0, 1],
            };
            if of.len() != want {
                return Err(malformed(self.at, "a size of other dimensions than the texture's"));
            }
            let lanes: Vec<Value> = of.iter().map(|n| size[*n]).collect();
            let v = self.vector(&lanes);
            found = Some(match (found, is) {
                (Some(other), Some(is)) => self.b().select(is, v, other),
                _ => v,
            });
        }
        found.map(Val::Leaf).ok_or_else(|| malformed(self.at, "a choice among no textures"))
    }

    /// How many samples a texel has.
    pub(crate) fn texel_samples(&mut self, r: &Resource) -> R<Val> {
        let Some(all) = self.chosen_texels(r)? else { return Err(self.error("F0150", "a texture that was not declared")) };
        let mut found: Option<Value> = None;
        for (t, is) in all.into_iter().rev() {
            let v = self.samples_of_texel(t);
            found = Some(match (found, is) {
                (Some(other), Some(is)) => self.b().select(is, v, other),
                _ => v,
            });
        }
        found.map(Val::Leaf).ok_or_else(|| malformed(self.at, "a choice among no textures"))
    }

    /// `OpImageTexelPointer`: what atomics on texels point to.
    pub(crate) fn texel_pointer(&mut self, i: &Inst<'m>) -> R<Val> {
        let p = self.pointer(i.word(2)?)?;
        let Val::Resource(r) = self.load(&p)? else { return Err(malformed(i.at, "a texel of something that is no texture")) };
        let (coord, sample) = (self.value_leaf(i.word(3)?)?, self.value_leaf(i.word(4)?)?);
        let ty = self.types.pointee(i.word(0)?).and_then(|t| self.types.shape(t)).unwrap_or(Ty::Opaque);
        match self.chosen_texels(&r)?.as_deref() {
            Some([(t, None)]) if t.format.is_integer_word() || t.format.is_float_word() => {
                let x = self.texel_at(*t, coord, Some(sample))?;
                self.texel_places.push(x);
                Ok(Val::Place(Place::of(Root::Texel(self.texel_places.len() as u32 - 1), ty)))
            }
            Some([(_, None)]) => {
                Err(self.error("F0137", "atomics on texels of other formats than r32i, r32ui and r32f exist on none of the machines"))
            }
            Some(_) => Err(self.error("F0135", "atomics on a texture that a computed index chooses exist on none of the machines")),
            None => Err(self.error("F0137", "an atomic on a texture that only samplers read")),
        }
    }

    /// Loads through a pointer to a texel.
    pub(crate) fn load_texel(&mut self, n: u32) -> R<Val> {
        let x = self.texel_places[n as usize];
        let v = self.texel_words(x)[0];
        let zero = self.splat_const(Type::new(x.image.format.scalar(), 1), 0);
        Ok(Val::Leaf(self.b().select(x.inside, v, zero)))
    }

    /// Stores through a pointer to a texel.
    pub(crate) fn store_texel(&mut self, n: u32, v: Value) -> R<()> {
        let x = self.texel_places[n as usize];
        self.when(x.inside, &mut |c| {
            c.b().store(MemRef::Storage(x.image.decl), 0, v, Some(x.at));
            Ok(())
        })
    }

    /// An atomic on a texel: nothing happens outside, and 0 comes of it.
    pub(crate) fn atomic_texel(&mut self, n: u32, args: &[Value], op: AtomicOp) -> R<Value> {
        let x = self.texel_places[n as usize];
        let old = self.ssa.var(I32);
        let zero = self.iconst(0);
        self.write_var(old, zero);
        self.when(x.inside, &mut |c| {
            let mut args = args.to_vec();
            args.push(x.at);
            let v = c.b().typed(Opcode::Atomic, I32, &args, Imm::Atomic { var: MemRef::Storage(x.image.decl), offset: 0, op });
            c.write_var(old, v);
            Ok(())
        })?;
        Ok(self.read_var(old))
    }

    /// Does something only where a condition holds.
    pub(crate) fn when(&mut self, c: Value, then: &mut dyn FnMut(&mut Self) -> R<()>) -> R<()> {
        match self.known(c) {
            Some(0) => return Ok(()),
            Some(_) => return then(self),
            None => {}
        }
        let (body, after) = (self.new_block(), self.new_block());
        self.jump_if(c, (body, &[]), (after, &[]));
        self.seal(body);
        self.start(body);
        then(self)?;
        self.jump(after);
        self.seal(after);
        self.start(after);
        Ok(())
    }

    /// `OpImageRead` of what is no texture in memory: the colour of an earlier pass at this pixel.
    pub(crate) fn image_read(&mut self, i: &Inst<'m>, ty: Ty) -> R<Val> {
        let r = self.resource(i.word(2)?)?;
        let coord = self.value_leaf(i.word(3)?)?;
        if self.is_texels(&r) {
            let sample = self.operands_of_image(i, 4)?.sample;
            return self.texel_read(&r, coord, sample, ty);
        }
        self.input_attachment(i, &r, coord, ty)
    }
}
