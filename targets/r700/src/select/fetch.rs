//! Selection of fetches: textures, derivatives and buffers read by index.

use crate::abi::{Abi, Platform};
use crate::isa::forms::{DataFormat, FORMS, FetchType, TABLE, field, op2, tex, vtx, word};
use crate::legal::numerics::FETCH4;
use crate::select::Lower;
use crate::select::mir::*;
use cranelift_entity::EntityRef;
use retroshade_emit::Word;
use retroshade_emit::form::FormId;
use retroshade_ir::{Imm, InstData, Opcode, Scalar, TexDim, TexInfo, TexLod, TexOp, Type, Value};
use retroshade_lower::CompileError;
use smallvec::{SmallVec, smallvec};

/// The data format of so many raw words.
pub fn format(lanes: u8) -> DataFormat {
    [DataFormat::Word, DataFormat::Words2, DataFormat::Words3, DataFormat::Words4][(lanes as usize).clamp(1, 4) - 1]
}

/// A vertex fetch from a buffer: resource, byte offset, bytes - 1, data format.
pub fn from_buffer(resource: u64, offset: u32, bytes: u64, format: DataFormat) -> Word {
    word!(vtx::FETCH {
        FETCH_TYPE: FetchType::Plain,
        BUFFER_ID: resource,
        MEGA_FETCH_COUNT: bytes,
        DATA_FORMAT: format,
        NUM_FORMAT_ALL: 1,
        OFFSET: offset,
        MEGA_FETCH: 1,
    })
}

/// A fetch from a ring, whose stride is a word. GX2's resources have the format of four words.
pub fn from_ring(abi: &Abi, offset: u32, lanes: u8) -> Word {
    match abi.platform {
        Platform::Object => from_buffer(abi.ring_resource(), offset, lanes as u64 * 4 - 1, format(lanes)),
        Platform::WiiU => {
            let mut word = from_buffer(abi.ring_resource(), offset, 15, DataFormat::Words4);
            word[field!(vtx::FETCH.USE_CONST_FIELDS)] = 1;
            word
        }
    }
}

/// The fetch of an attribute: its format follows from its type, the host's buffer has the stride.
pub fn attribute(resource: u64, ty: Type) -> Word {
    let float = ty.is_float() || ty.scalar == Scalar::I1;
    let lanes = ty.lanes as usize;
    let floats = [DataFormat::Float, DataFormat::Floats2, DataFormat::Floats3, DataFormat::Floats4];
    word!(vtx::FETCH {
        FETCH_TYPE: FetchType::Vertex,
        BUFFER_ID: resource,
        MEGA_FETCH_COUNT: lanes as u64 * 4 - 1,
        DATA_FORMAT: if float { floats[lanes.clamp(1, 4) - 1] } else { format(ty.lanes) },
        NUM_FORMAT_ALL: !float,
        MEGA_FETCH: 1,
    })
}

/// A fetch of `value`'s lanes from a buffer; result component `shift + lane` is lane `lane`.
pub fn buffer(l: &mut Lower<'_>, value: Value, index: Opnd, word: Word, shift: u8) {
    if word[field!(vtx::FETCH.OFFSET)] > 0xffff {
        let span = l.span();
        return l.fail(CompileError::limit("R0305", span, "the buffer offset does not fit the fetch", 1 << 17, 1 << 16));
    }
    let index = l.plain(index);
    // A fetch cannot take 0.0 or 1.0 as its index, so constants are moved to a register here.
    let w = l.mir.web();
    l.emit_to(op2::MOV, &[index], w);
    let quad = l.quad(vec![w]);
    let mut dst = [None; 4];
    for lane in 0..l.func.ty(value).lanes {
        if l.wants(value, lane) {
            dst[(shift + lane) as usize & 3] = Some(lane);
        }
    }
    let src = smallvec![Coord::Web(w)];
    finish(l, value, Access::plain(word, src, quad), dst);
}

/// A fetch of four whole words.
pub fn whole(l: &mut Lower<'_>, index: Opnd, word: Word) -> [Web; 4] {
    let w = l.mir.web();
    l.emit_to(op2::MOV, &[index], w);
    let quad = l.quad(vec![w]);
    let webs: [Web; 4] = std::array::from_fn(|k| {
        let w = l.mir.web();
        l.mir.webs[w.0 as usize].chan = Some(k as u8);
        w
    });
    l.quad(webs.to_vec());
    Access::plain(word, smallvec![Coord::Web(w)], quad).push(l, webs.map(Some));
    webs
}

/// A read of `value`'s lanes from scratch memory.
pub fn memory(l: &mut Lower<'_>, value: Value, word: Word, src: SmallVec<[Coord; 4]>, quad: Option<Quad>) {
    let dst = result_lanes(l, value);
    finish(l, value, Access::plain(word, src, quad), dst);
}

/// A fetch without its results.
struct Access {
    word: Word,
    src: SmallVec<[Coord; 4]>,
    quad: Option<Quad>,
    /// Must directly follow the previous one in its clause.
    joined: bool,
    /// Compares the lanes of a quad.
    whole_quad: bool,
}

impl Access {
    fn plain(word: Word, src: SmallVec<[Coord; 4]>, quad: Option<Quad>) -> Access {
        Access { word, src, quad, joined: false, whole_quad: false }
    }
    fn push(self, l: &mut Lower<'_>, dst: [Option<Web>; 4]) {
        let Access { word, src, quad, joined, whole_quad } = self;
        l.push(Op::other(Kind::Fetch(Box::new(Fetch { word, src, quad, dst, joined, whole_quad }))));
    }
}

/// Pushes a fetch whose result component `k` is lane `dst[k]` of `value`.
fn finish(l: &mut Lower<'_>, value: Value, access: Access, dst: [Option<u8>; 4]) {
    // A texel's only lane lies wherever its readers want it; what comes out of a vertex or a ring is read as it lies elsewhere too.
    let free = access.word.form != vtx::FETCH && dst.iter().flatten().count() == 1;
    let mut webs = [None; 4];
    let mut members = Vec::new();
    for k in 0..4 {
        if dst[k].is_some() {
            let w = l.mir.web();
            l.mir.webs[w.0 as usize].chan = (!free).then_some(k as u8);
            webs[k] = Some(w);
            members.push(w);
        }
    }
    l.quad(members);
    let attribute = access.word.form == vtx::FETCH && access.word[field!(vtx::FETCH.FETCH_TYPE)] == FetchType::Vertex as u64;
    access.push(l, webs);
    for (lane, w) in dst.iter().zip(webs) {
        if let (Some(lane), Some(w)) = (lane, w) {
            let o = Opnd::web(w);
            let o = if l.is_bool(value) && !attribute { l.emit(op2::SETNE_INT, &[o, Opnd::bits(0)]) } else { o };
            l.set(value, *lane, o);
        }
    }
}

fn result_lanes(l: &Lower<'_>, value: Value) -> [Option<u8>; 4] {
    let n = l.func.ty(value).lanes;
    std::array::from_fn(|k| ((k as u8) < n && l.wants(value, k as u8)).then_some(k as u8))
}

/// `ddx` and `ddy`: GET_GRADIENTS_H and _V.
pub fn derivative(l: &mut Lower<'_>, d: &InstData) {
    let r = d.results[0];
    let lanes = l.func.ty(r).lanes;
    let mut src: SmallVec<[Opnd; 4]> = (0..lanes).map(|k| if l.wants(r, k) { l.lane(d.args[0], k) } else { Opnd::bits(0) }).collect();
    for (k, o) in src.iter_mut().enumerate() {
        if l.wants(r, k as u8) {
            hold(l, o);
        }
    }
    let (src, quad) = l.tuple(&src);
    let form = if d.op == Opcode::Ddx { tex::GET_GRADIENTS_H } else { tex::GET_GRADIENTS_V };
    let dst = result_lanes(l, r);
    finish(l, r, Access { whole_quad: true, ..Access::plain(texture_word(form, 0, 0), src, quad) }, dst);
}

/// A texture fetch of a unit; coordinates are normalised by bit of `normal`.
fn texture_word(form: FormId, unit: u64, normal: u8) -> Word {
    let bit = |k: u8| u64::from(normal >> k & 1);
    Word::new(
        FORMS,
        form,
        &[
            (field!(tex::SAMPLE.RESOURCE_ID), unit),
            (field!(tex::SAMPLE.SAMPLER_ID), unit),
            (field!(tex::SAMPLE.COORD_TYPE_X), bit(0)),
            (field!(tex::SAMPLE.COORD_TYPE_Y), bit(1)),
            (field!(tex::SAMPLE.COORD_TYPE_Z), bit(2)),
            (field!(tex::SAMPLE.COORD_TYPE_W), bit(3)),
        ],
    )
}

/// An array layer as the float that samples take. The rounding is done before: the unit gets a whole number.
fn layer_number(l: &mut Lower<'_>, layer: Value) -> Opnd {
    let (v, _) = l.root(layer, 0);
    if let Some(c) = l.func.def_if(v, Opcode::F2s) {
        let (whole, lane) = l.root(c.args[0], 0);
        if l.func.def_if(whole, Opcode::Ffloor).is_some() {
            return l.lane(whole, lane);
        }
    }
    let o = l.lane(layer, 0);
    l.emit(op2::INT_TO_FLT, &[o])
}

/// Puts 0.0 and 1.0 into registers where emulators take them from nowhere else: selects of coordinates.
fn hold(l: &mut Lower<'_>, o: &mut Opnd) {
    if l.abi.emulators && matches!(o.place, Place::Bits(_)) {
        let w = l.mir.web();
        l.emit_to(op2::MOV, &[*o], w);
        *o = Opnd::web(w);
    }
}

/// A texture operation.
pub fn texture(l: &mut Lower<'_>, d: &InstData) {
    let Imm::Tex(info) = &d.imm else { return };
    let r = d.results[0];
    let span = l.span();
    let decl = &l.module.textures[info.texture];
    let unit = match l.abi.unit(info.texture.index(), span) {
        Ok(unit) => unit,
        Err(e) => return l.fail(e),
    };
    let mut args = d.args.iter().copied();
    if matches!(info.op, TexOp::Size | TexOp::Levels) {
        let level = match args.next() {
            Some(v) => l.lane(v, 0),
            None => Opnd::bits(0),
        };
        let (src, quad) = l.tuple(&[level]);
        // The number of layers stands behind the sizes, of textures of one dimension in Y.
        let dst = if info.op == TexOp::Levels { [None, None, None, Some(0)] } else { result_lanes(l, r) };
        return finish(l, r, Access::plain(texture_word(tex::GET_TEXTURE_RESINFO, unit, 0), src, quad), dst);
    }
    let dims = match decl.dim {
        TexDim::D1 => 1,
        TexDim::D2 => 2,
        TexDim::D3 | TexDim::Cube => 3,
    };
    let coords = args.next();
    let layer = if decl.arrayed && info.op != TexOp::Lod { args.next() } else { None };
    let reference = if info.compare { args.next() } else { None };
    let mut xyzw: SmallVec<[Opnd; 4]> = smallvec![Opnd::bits(0); 4];
    let fetch = info.op == TexOp::Fetch;
    let mut normal = 0u8;
    if let Some(c) = coords {
        for k in 0..dims {
            xyzw[k] = l.lane(c, k as u8);
            normal |= (!fetch as u8) << k;
        }
    }
    let cube = decl.dim == TexDim::Cube;
    if cube {
        normal = 0xf;
    }
    let mut joined = false;
    if let (true, Some(v)) = (cube, layer) {
        // The layer of a cube map has an instruction of its own.
        let mut o = layer_number(l, v);
        hold(l, &mut o);
        let (src, quad) = l.tuple(&[o]);
        Access::plain(texture_word(tex::SET_CUBEMAP_INDEX, unit, 0), src, quad).push(l, [None; 4]);
        joined = true;
    } else if let Some(v) = layer {
        xyzw[dims] = if fetch { l.lane(v, 0) } else { layer_number(l, v) };
        if dims == 1 {
            // Drivers of open source give the layer in Z, emulators read it in Y.
            xyzw[2] = xyzw[1];
        }
    }
    let taken_z = dims > 2 || decl.arrayed && dims == 2;
    let form = match info.op {
        TexOp::Fetch => {
            let level = if info.lod == TexLod::Level { args.next().map(|v| l.lane(v, 0)) } else { None };
            // Where a texel has several samples there is one level, and W is the sample's number.
            let sample = if decl.multisampled { args.next().map(|v| l.lane(v, 0)) } else { level };
            xyzw[3] = sample.unwrap_or(Opnd::bits(0));
            tex::LD
        }
        TexOp::Lod => tex::GET_LOD,
        TexOp::Gather => {
            if info.component != 0 && !info.compare {
                return l.fail(CompileError::unsupported(
                    "R0110",
                    span,
                    "FETCH4 delivers the first component only: no gather of others on r700",
                ));
            }
            if let Some(v) = reference {
                xyzw[3] = l.lane(v, 0);
                return l.fail(CompileError::unsupported("R0110", span, "FETCH4 does not compare: no comparison gather on r700"));
            }
            tex::FETCH4
        }
        _ => match select_sample(l, info, &mut args, reference, &mut xyzw, taken_z) {
            Ok(form) => form,
            Err(()) => {
                return l.fail(CompileError::unsupported(
                    "R0111",
                    span,
                    "R700 has no coordinate left for both reference and level of detail of this texture",
                ));
            }
        },
    };
    let mut word = texture_word(form, unit, normal);
    if let (tex::SAMPLE_LB, Some(bias)) = (form, sixteenths(&xyzw[3])) {
        word[field!(tex::SAMPLE.LOD_BIAS)] = bias;
        xyzw[3] = Opnd::bits(0);
    }
    // Offsets count halves of texels.
    let offsets = [field!(tex::SAMPLE.OFFSET_X), field!(tex::SAMPLE.OFFSET_Y), field!(tex::SAMPLE.OFFSET_Z)];
    for (at, texels) in offsets.into_iter().zip(info.offset) {
        word[at] = (texels as i64 * 2) as u64 & 31;
    }
    if info.lod == TexLod::Grad && info.op == TexOp::Sample {
        for (n, v) in [(tex::SET_GRADIENTS_H, args.next()), (tex::SET_GRADIENTS_V, args.next())] {
            let Some(v) = v else { continue };
            let mut g: SmallVec<[Opnd; 4]> = (0..l.func.ty(v).lanes).map(|k| l.lane(v, k)).collect();
            g.iter_mut().for_each(|o| hold(l, o));
            if l.abi.emulators {
                // They want four coordinates, whatever the texture has.
                g.resize(4, g[0]);
            }
            let (src, quad) = l.tuple(&g);
            Access { joined, ..Access::plain(texture_word(n, unit, normal), src, quad) }.push(l, [None; 4]);
            joined = true;
        }
    }
    let whole = info.op == TexOp::Lod || info.op == TexOp::Sample && matches!(info.lod, TexLod::Implicit | TexLod::Bias);
    let moved = matches!(form, tex::SAMPLE_C_L | tex::SAMPLE_C_LB);
    for (k, o) in xyzw.iter_mut().enumerate() {
        let level = k == 3 && matches!(form, tex::SAMPLE_L | tex::SAMPLE_C_L | tex::SAMPLE_C_LB);
        let asked = k < dims || layer.is_some() && !cube && k == dims || reference.is_some() && k == if moved { 2 } else { 3 };
        if asked || level {
            hold(l, o);
        }
    }
    let (mut src, quad) = l.tuple(&xyzw);
    while src.last() == Some(&Coord::Zero) && src.len() > 1 {
        src.pop();
    }
    let mut dst = result_lanes(l, r);
    if info.op == TexOp::Gather {
        dst = FETCH4.map(|lane| dst[lane]);
    }
    finish(l, r, Access { word, src, quad, joined, whole_quad: whole }, dst);
}

/// A constant bias as the field LOD_BIAS has it: seven bits, sixteenths of a level, added to the one in W.
fn sixteenths(bias: &Opnd) -> Option<u64> {
    let Place::Bits(bits) = bias.place else { return None };
    let x = f32::from_bits(bits) * 16.0;
    ((-64.0..64.0).contains(&x) && x == x.trunc()).then_some(x as i64 as u64 & 0x7f)
}

/// The sample opcode; puts reference, bias and level into their coordinates.
fn select_sample(
    l: &mut Lower<'_>,
    info: &TexInfo,
    args: &mut impl Iterator<Item = Value>,
    reference: Option<Value>,
    xyzw: &mut SmallVec<[Opnd; 4]>,
    taken_z: bool,
) -> Result<FormId, ()> {
    let reference = reference.map(|v| l.lane(v, 0));
    let mut operand = |l: &mut Lower<'_>| args.next().map_or(Opnd::bits(0), |v| l.lane(v, 0));
    Ok(match (info.lod, reference) {
        (TexLod::Implicit, None) => tex::SAMPLE,
        (TexLod::Zero, None) => tex::SAMPLE_LZ,
        (TexLod::Grad, None) => tex::SAMPLE_G,
        (TexLod::Bias, None) => {
            xyzw[3] = operand(l);
            tex::SAMPLE_LB
        }
        (TexLod::Level, None) => {
            let lod = operand(l);
            if lod == Opnd::bits(0) {
                return Ok(tex::SAMPLE_LZ);
            }
            xyzw[3] = lod;
            tex::SAMPLE_L
        }
        (lod, Some(reference)) => {
            let extra = match lod {
                TexLod::Bias | TexLod::Level => Some(operand(l)),
                _ => None,
            };
            match (lod, extra) {
                (TexLod::Level, Some(e)) if e != Opnd::bits(0) => {
                    if taken_z {
                        return Err(());
                    }
                    (xyzw[2], xyzw[3]) = (reference, e);
                    tex::SAMPLE_C_L
                }
                (TexLod::Bias, Some(e)) => {
                    if taken_z {
                        return Err(());
                    }
                    (xyzw[2], xyzw[3]) = (reference, e);
                    tex::SAMPLE_C_LB
                }
                _ => {
                    xyzw[3] = reference;
                    match lod {
                        TexLod::Implicit => tex::SAMPLE_C,
                        TexLod::Grad => tex::SAMPLE_C_G,
                        _ => tex::SAMPLE_C_LZ,
                    }
                }
            }
        }
    })
}

/// Fetches whose results reach the coordinates of a fetch that compares its quad's lanes fetch for lanes that do not run, too.
pub fn whole_quads(mir: &mut Mir) {
    let (mut needed, mut arrays) = (vec![false; mir.webs.len()], vec![false; mir.locals.len()]);
    let mut found = false;
    for op in leaves(&mir.steps).into_iter().flatten() {
        if matches!(&op.kind, Kind::Fetch(f) if f.whole_quad) {
            op.reads().iter().for_each(|w| needed[w.0 as usize] = true);
            found = true;
        }
    }
    while std::mem::take(&mut found) {
        each_leaf(&mut mir.steps, &mut |ops| {
            for op in ops.iter_mut().rev() {
                let wanted = op.writes().iter().any(|w| needed[w.0 as usize]) || op.store.is_some_and(|s| arrays[s.0 as usize]);
                if !wanted {
                    continue;
                }
                if let Kind::Fetch(f) = &mut op.kind
                    && let Some(at) = TABLE.position(f.word.form, field!(FETCH_WHOLE_QUAD))
                {
                    f.word[at] = 1;
                }
                for w in op.reads() {
                    found |= !std::mem::replace(&mut needed[w.0 as usize], true);
                }
                for s in &op.src {
                    if let Place::Array { local, .. } = s.place {
                        found |= !std::mem::replace(&mut arrays[local as usize], true);
                    }
                }
            }
        });
    }
}
